//! The `ome` member: a derived, additive description of the store for other tools.

use serde_json::Value;

use crate::error::MetaError;
use crate::json::{Builder, FromJson, JsonObject, Members, Pointer, ToJson};
use crate::multiscales::Axis;

/// `attributes.ome`: an OME-Zarr collection node. Readers of the format do not use it.
///
/// Source: 0.9 §5.3.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ome {
    /// The reference writes `0.6`.
    pub version: Option<String>,
    /// The reference writes `collection`.
    pub type_: Option<String>,
    /// Name of the store.
    pub name: Option<String>,
    /// `attributes`: the scene with its coordinate systems, and foreign entries.
    pub attributes: Option<JsonObject>,
    /// One node for each level, in increasing order.
    pub nodes: Vec<OmeNode>,
    /// Unknown members.
    pub extra: JsonObject,
}

/// One entry of [`Ome::nodes`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OmeNode {
    /// `zv:level` for a level.
    pub type_: Option<String>,
    /// Group name of the level.
    pub name: Option<String>,
    /// Unknown members.
    pub extra: JsonObject,
}

impl Ome {
    /// Returns the names of the nodes that are levels, in document order.
    pub fn level_names(&self) -> impl Iterator<Item = &str> {
        self.nodes
            .iter()
            .filter(|node| node.type_.as_deref() == Some("zv:level"))
            .filter_map(|node| node.name.as_deref())
    }

    /// Returns the node as a JSON value.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.to_json()
    }

    /// Returns the axes of the first coordinate system of the scene, or `None` if they are absent or malformed.
    #[must_use]
    pub fn scene_axes(&self) -> Option<Vec<Axis>> {
        let scene = self.attributes.as_ref()?.get("scene")?;
        let axes = scene.pointer("/coordinateSystems/0/axes")?;
        FromJson::from_json(axes.clone(), &Pointer::Prefix("/attributes/ome")).ok()
    }
}

impl FromJson for Ome {
    const EXPECTED: &'static str = "an object";

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
        let mut members = Members::of(value, at)?;
        Ok(Self {
            version: members.optional("version")?,
            type_: members.optional("type")?,
            name: members.optional("name")?,
            attributes: members.optional("attributes")?,
            nodes: members.optional("nodes")?.unwrap_or_default(),
            extra: members.rest(),
        })
    }
}

impl FromJson for OmeNode {
    const EXPECTED: &'static str = "an object";

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
        let mut members = Members::of(value, at)?;
        Ok(Self {
            type_: members.optional("type")?,
            name: members.optional("name")?,
            extra: members.rest(),
        })
    }
}

impl ToJson for Ome {
    fn to_json(&self) -> Value {
        let mut map = Builder::default();
        map.put_some("version", self.version.as_ref())
            .put_some("type", self.type_.as_ref())
            .put_some("name", self.name.as_ref())
            .put_some("attributes", self.attributes.as_ref())
            .put("nodes", &self.nodes);
        Value::Object(map.finish(&self.extra))
    }
}

impl ToJson for OmeNode {
    fn to_json(&self) -> Value {
        let mut map = Builder::default();
        map.put_some("type", self.type_.as_ref())
            .put_some("name", self.name.as_ref());
        Value::Object(map.finish(&self.extra))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn levels_and_axes_are_found() -> Result<(), MetaError> {
        let value = json!({"version": "0.6", "type": "collection", "name": "s",
            "attributes": {"scene": {"coordinateSystems": [{"name": "world", "axes": [{"name": "x", "type": "space"}]}],
                "coordinateTransformations": []}, "mine": 1},
            "nodes": [{"type": "zv:level", "name": "0"}, {"type": "image", "name": "i", "path": "i.zarr"},
                {"type": "zv:level", "name": "1"}], "foreign": []});
        let ome = Ome::from_json(value.clone(), &Pointer::Prefix("/attributes/ome"))?;
        assert_eq!(ome.level_names().collect::<Vec<_>>(), ["0", "1"]);
        assert_eq!(ome.scene_axes(), Some(vec![Axis::new("x", "space")]));
        assert_eq!(ome.to_json(), value);
        Ok(())
    }
}
