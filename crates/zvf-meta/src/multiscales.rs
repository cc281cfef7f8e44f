//! The `multiscales` member, the only source of axes and of level bin shapes.

use serde_json::Value;

use crate::document::{Defaulted, Optional, Required, document};
use crate::error::MetaError;
use crate::json::{Builder, FromJson, JsonObject, Members, Pointer, ToJson};

/// The `multiscales` list. The reference writes exactly one entry.
///
/// Source: 0.9 §5.2.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Multiscales {
    /// The entries in document order.
    pub entries: Vec<Multiscale>,
}

impl Multiscales {
    /// Returns the axes of entry 0; axes of other entries are ignored.
    #[must_use]
    pub fn axes(&self) -> &[Axis] {
        self.entries.first().map_or(&[], |entry| &entry.axes)
    }

    /// Returns the first dataset, in all entries, whose path is the level's number.
    #[must_use]
    pub fn dataset(&self, level: u32) -> Option<&Dataset> {
        let path = level.to_string();
        self.entries
            .iter()
            .flat_map(|entry| &entry.datasets)
            .find(|dataset| dataset.path == path)
    }

    /// Returns the transforms of a level.
    #[must_use]
    pub fn transform(&self, level: u32) -> Option<LevelTransform<'_>> {
        self.dataset(level).map(Dataset::transform)
    }
}

document! {
    /// One entry of [`Multiscales`].
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Multiscale {
        /// NGFF version; the reference writes `0.4`.
        pub version: Option<String> = Optional("version"),
        /// A name; the reference writes `default`.
        pub name: Option<String> = Optional("name"),
        /// The axes, in the order of coordinates in rows and of components in chunk keys. Only the axes of entry 0 are used.
        pub axes: Vec<Axis> = Defaulted("axes"),
        /// One entry for each level, sorted by number: scale = bin shape / bin shape of level 0, translation = bin shape / 2.
        pub datasets: Vec<Dataset> = Defaulted("datasets"),
        /// `metadata`; the reference writes `{"format": "zarr_vectors"}`.
        pub metadata: Option<Value> = Optional("metadata"),
    }
}

document! {
    /// One coordinate axis. Its index in the list is its column in `vertices` and its component in every chunk key.
    ///
    /// Source: 0.9 §5.2.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Axis {
        /// Name, such as `x`.
        pub name: String = Required("name"),
        /// Type: `space`, `time`, `channel` or another text; absent means `space`.
        pub type_: Option<String> = Optional("type"),
        /// Unit of positions along the axis, such as `micrometer`; absent if unknown.
        pub unit: Option<String> = Optional("unit"),
    }
}

impl Axis {
    /// Creates an axis without a unit.
    #[must_use]
    pub fn new(name: impl Into<String>, type_: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            type_: Some(type_.into()),
            unit: None,
            extra: JsonObject::new(),
        }
    }

    /// Returns the axis type, `space` if the document states none.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.type_.as_deref().unwrap_or("space")
    }
}

document! {
    /// The entry of one level.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Dataset {
        /// The level's number as text.
        pub path: String = Required("path"),
        /// Scale and translation. Other transforms are kept but not interpreted.
        pub transforms: Vec<Transform> = Defaulted("coordinateTransformations"),
    }
}

impl Dataset {
    /// Returns the first scale and the first translation.
    #[must_use]
    pub fn transform(&self) -> LevelTransform<'_> {
        let scale = self.transforms.iter().find_map(|one| match one {
            Transform::Scale { scale, .. } => Some(scale.as_slice()),
            _ => None,
        });
        let translation = self.transforms.iter().find_map(|one| match one {
            Transform::Translation { translation, .. } => Some(translation.as_slice()),
            _ => None,
        });
        LevelTransform { scale, translation }
    }
}

/// One coordinate transformation.
#[derive(Clone, Debug, PartialEq)]
pub enum Transform {
    /// `{"type": "scale", "scale": [..]}`.
    Scale {
        /// One factor for each axis.
        scale: Vec<f64>,
        /// Unknown members.
        extra: JsonObject,
    },
    /// `{"type": "translation", "translation": [..]}`.
    Translation {
        /// One distance for each axis, in world units.
        translation: Vec<f64>,
        /// Unknown members.
        extra: JsonObject,
    },
    /// Any other transformation, kept as it is.
    Other(JsonObject),
}

/// Scale and translation of one level. In this format they state bin sizes and do not map coordinates.
///
/// Source: 0.9 §5.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelTransform<'a> {
    scale: Option<&'a [f64]>,
    translation: Option<&'a [f64]>,
}

impl<'a> LevelTransform<'a> {
    /// Returns the scale: bin shape of the level divided by bin shape of level 0, a ratio without unit.
    #[must_use]
    pub fn scale(&self) -> Option<&'a [f64]> {
        self.scale
    }

    /// Returns the translation in world units: half a bin. On level 0 of a store with a `coordinate_offset`, the
    /// translation is that offset instead (trap T35), so the bins of level 0 are never derived from it.
    #[must_use]
    pub fn translation(&self) -> Option<&'a [f64]> {
        self.translation
    }

    /// Returns the ratio of the level's bins to the bins of level 0: the same numbers as [`scale`](Self::scale).
    #[must_use]
    pub fn bin_ratio(&self) -> Option<&'a [f64]> {
        self.scale
    }

    /// Returns the bin shape in world units, twice the translation; `None` if the translation is absent.
    /// Meaningful at levels above 0 only.
    #[must_use]
    pub fn bin_shape(&self) -> Option<Vec<f64>> {
        Some(self.translation?.iter().map(|half| 2.0 * half).collect())
    }
}

impl FromJson for Multiscales {
    const EXPECTED: &'static str = "an array";

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
        Ok(Self {
            entries: FromJson::from_json(value, at)?,
        })
    }
}

impl FromJson for Transform {
    const EXPECTED: &'static str = "an object";

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
        let map = JsonObject::from_json(value, at)?;
        let kind = map.get("type").and_then(Value::as_str).map(str::to_owned);
        match kind.as_deref() {
            // A scale that names a path instead of numbers is kept as `Other`.
            Some("scale") if map.contains_key("scale") => {
                let mut members = Members::new(map, at);
                members.required::<String>("type")?;
                Ok(Self::Scale {
                    scale: members.required("scale")?,
                    extra: members.rest(),
                })
            }
            Some("translation") if map.contains_key("translation") => {
                let mut members = Members::new(map, at);
                members.required::<String>("type")?;
                Ok(Self::Translation {
                    translation: members.required("translation")?,
                    extra: members.rest(),
                })
            }
            _ => Ok(Self::Other(map)),
        }
    }
}

impl ToJson for Multiscales {
    fn to_json(&self) -> Value {
        self.entries.to_json()
    }
}

impl ToJson for Transform {
    fn to_json(&self) -> Value {
        let mut map = Builder::default();
        match self {
            Self::Scale { scale, extra } => {
                map.put("type", "scale").put("scale", scale);
                Value::Object(map.finish(extra))
            }
            Self::Translation { translation, extra } => {
                map.put("type", "translation")
                    .put("translation", translation);
                Value::Object(map.finish(extra))
            }
            Self::Other(members) => Value::Object(members.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(value: Value) -> Multiscales {
        Multiscales::from_json(value, &Pointer::Prefix("/attributes/multiscales"))
            .expect("multiscales")
    }

    #[test]
    fn the_first_matching_path_wins_and_axes_come_from_entry_0() {
        let list = parse(json!([
            {"axes": [{"name": "x", "type": "space"}], "datasets": []},
            {"axes": [{"name": "q"}], "datasets": [
                {"path": "1", "coordinateTransformations": [
                    {"type": "scale", "scale": [2]}, {"type": "translation", "translation": [5.0]}]},
                {"path": "1", "coordinateTransformations": [{"type": "translation", "translation": [7.0]}]}]},
        ]));
        assert_eq!(list.axes(), [Axis::new("x", "space")]);
        let transform = list.transform(1).expect("level 1");
        assert_eq!(transform.bin_ratio(), Some(&[2.0][..]));
        assert_eq!(transform.bin_shape(), Some(vec![10.0]));
        assert!(list.transform(0).is_none());
    }

    #[test]
    fn foreign_transforms_are_kept() {
        let value = json!([{"axes": [], "datasets": [{"path": "0", "coordinateTransformations": [
            {"type": "identity"}, {"type": "scale", "path": "p"}, {"type": "scale", "scale": [1.0], "note": 3}]}]}]);
        let list = parse(value.clone());
        assert_eq!(list.to_json(), value);
        assert_eq!(
            list.transform(0).and_then(|one| one.scale()),
            Some(&[1.0][..])
        );
    }
}
