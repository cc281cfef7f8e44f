//! The values of vertices, links and objects that are appended without a value: set by the caller, or recorded in the store with the attribute.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use zvf_meta::{FILL, JsonObject, RootDoc};

use super::Edit;
use super::matching::{Scope, TableValues};
use super::tables::described_by;
use zvf_encode::error::OrBug;
use zvf_encode::{AttributeSpec, NumberType, Values, WriteError, decimal, documents};

/// Fills as texts, by the name of the attribute.
pub(super) type Fills = BTreeMap<String, String>;

/// The value of `text` in the type of an attribute, once for each channel.
///
/// # Errors
/// Misuse: a text that is not such a value.
pub(super) fn value(one: &AttributeSpec, text: &str) -> Result<Values, WriteError> {
    let Some(number) = one.values.number() else {
        return Ok(Values::texts(vec![text; one.channels]));
    };
    macro_rules! parsed {
        ($type:ty) => {
            text.trim()
                .parse::<$type>()
                .ok()
                .map(|value| Values::from(vec![value; one.channels]))
        };
    }
    let found = match number {
        NumberType::Bool => match text.trim() {
            "1" => Some(Values::from(vec![true; one.channels])),
            "0" => Some(Values::from(vec![false; one.channels])),
            text => {
                let value = text.to_ascii_lowercase().parse::<bool>();
                value
                    .ok()
                    .map(|value| Values::from(vec![value; one.channels]))
            }
        },
        NumberType::I8 => parsed!(i8),
        NumberType::I16 => parsed!(i16),
        NumberType::I32 => parsed!(i32),
        NumberType::I64 => parsed!(i64),
        NumberType::U8 => parsed!(u8),
        NumberType::U16 => parsed!(u16),
        NumberType::U32 => parsed!(u32),
        NumberType::U64 => parsed!(u64),
        NumberType::F16 | NumberType::F32 | NumberType::F64 => decimal::float(text.trim(), number)
            .and_then(|value| {
                let values = Values::from(vec![value; one.channels]);
                let bytes = values.bytes_as(number)?;
                Some(Values::of_bytes(number, &bytes))
            }),
    };
    let found = found.ok_or_else(|| {
        let what = format!("fill of attribute {}", one.name);
        WriteError::input(what, format!("{text:?}"), number.to_string())
    })?;
    one.check_values("fill of attribute", &found)?;
    Ok(found)
}

/// An empty column of the type of an attribute.
pub(super) fn none(one: &AttributeSpec) -> Values {
    match one.values.number() {
        Some(number) => Values::of_bytes(number, &[]),
        None => Values::texts::<&str>([]),
    }
}

/// `rows` rows with the value of one row.
pub(super) fn everywhere(
    one: &AttributeSpec,
    fill: &Values,
    rows: usize,
) -> Result<Values, WriteError> {
    let given = TableValues::new(fill, one.channels)?;
    given.take(std::iter::repeat_n(Some(0), rows), None)
}

/// Fills gaps in texts, if there is a fill for them.
pub(super) fn gaps(values: Values, fill: Option<Values>) -> Values {
    match (values, fill) {
        (Values::Text(texts), Some(Values::Text(fill))) => {
            let fill = fill.iter().next().flatten();
            Values::optional_texts(texts.iter().map(|text| text.or(fill)))
        }
        (values, _) => values,
    }
}

/// The declared fills of the root for some scopes.
pub(super) fn declared(root: &RootDoc, scopes: &[Scope]) -> Fills {
    let mut fills = Fills::new();
    let Some(specs) = &root.zarr_vectors.attribute_specs else {
        return fills;
    };
    for scope in scopes {
        let names = specs.get(scope.name()).and_then(Value::as_object);
        for (name, member) in names.into_iter().flatten() {
            match member.get(FILL) {
                Some(Value::String(text)) => fills.insert(name.clone(), text.clone()),
                Some(other) if other.is_number() || other.is_boolean() => {
                    fills.insert(name.clone(), other.to_string())
                }
                _ => None,
            };
        }
    }
    fills
}

/// A fill that this edit records.
#[derive(Debug, Clone)]
pub(super) struct RecordedFill {
    scope: Scope,
    spec: AttributeSpec,
    text: String,
}

impl Edit {
    /// Sets a fill, which the commit records; it is used from now on.
    pub(super) fn record_fill(&mut self, scope: Scope, one: &AttributeSpec, text: &str) {
        let fills = match scope {
            Scope::Object => &mut self.object_fills,
            Scope::Vertex | Scope::Link => &mut self.fills,
        };
        fills.insert(one.name.clone(), text.to_owned());
        self.recorded.push(RecordedFill {
            scope,
            spec: one.clone(),
            text: text.to_owned(),
        });
    }

    /// The value of vertices and links that are appended without a value of an attribute: the fill that the store records with the attribute, or the
    /// one that was [set](Self::set_fill).
    #[must_use]
    pub fn fill(&self, name: &str) -> Option<&str> {
        self.fills.get(name).map(String::as_str)
    }

    /// The value of new objects for which no table has a value of this attribute; see [`fill`](Self::fill).
    #[must_use]
    pub fn object_fill(&self, name: &str) -> Option<&str> {
        self.object_fills.get(name).map(String::as_str)
    }

    /// Sets the value for vertices, links and objects that this edit appends without a value, in each attribute with this name. It is not recorded.
    ///
    /// # Cost
    /// Reads all object attributes, once.
    ///
    /// # Errors
    /// Misuse: no attribute has this name; a text that is not a value of its type. I/O.
    pub fn set_fill<'a>(
        &'a mut self,
        name: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            let mut known = self.vertex_attributes();
            known.extend(self.state.spec.links.attributes.iter().cloned());
            let objects = match self.spec().has_objects() {
                true => self.object_attributes().await?,
                false => Vec::new(),
            };
            let mut found = false;
            let lists = [(known, &mut self.fills), (objects, &mut self.object_fills)];
            for (attributes, fills) in lists {
                for one in attributes.iter().filter(|one| one.name == name) {
                    value(one, text)?;
                    fills.insert(name.to_owned(), text.to_owned());
                    found = true;
                }
            }
            if !found {
                let expected = "an attribute of the vertices, links or objects of this store";
                let what = format!("fill of attribute {name}");
                return Err(WriteError::input(what, "nothing", expected));
            }
            Ok(())
        })
    }

    /// Sets the attributes of objects, given by their rows, to their fills if they have no value.
    pub(super) fn fill_objects(
        &mut self,
        rows: impl Iterator<Item = usize> + Clone,
    ) -> Result<(), WriteError> {
        for (name, text) in &self.object_fills {
            let Some(table) = self.tables.get_mut(name) else {
                continue;
            };
            let gaps = rows.clone().filter(|row| table.place(*row).is_none());
            let gaps: Vec<usize> = gaps.collect();
            if !gaps.is_empty() {
                let fill = value(&table.spec, text)?;
                let values = everywhere(&table.spec, &fill, gaps.len())?;
                table.set(&gaps, &values)?;
            }
        }
        Ok(())
    }

    /// Adds the fills of this edit to the declared attributes. If none are declared, all attributes are: readers that cannot list would take those
    /// with a fill for all of them.
    ///
    /// # Errors
    /// Unsupported: attributes of objects that are neither numbers nor texts.
    pub(super) fn declare_fills(&self, root: &mut RootDoc) -> Result<(), WriteError> {
        if !self.recorded.is_empty() && root.zarr_vectors.attribute_specs.is_none() {
            let objects = self.state.level.object_attributes().iter();
            let mut all = vec![
                (Scope::Vertex, self.vertex_attributes()),
                (Scope::Link, self.spec().links.attributes.clone()),
                (
                    Scope::Object,
                    objects.map(described_by).collect::<Result<_, _>>()?,
                ),
            ];
            for added in &self.added {
                let same = all.iter_mut().find(|(scope, _)| *scope == added.scope);
                same.or_bug("a scope without attributes")?
                    .1
                    .push(added.spec.clone());
            }
            let mut scopes = JsonObject::new();
            for (scope, list) in all.into_iter().filter(|(_, list)| !list.is_empty()) {
                let one = |one: &AttributeSpec| (one.name.clone(), documents::declared(one));
                let names: JsonObject = list.iter().map(one).collect();
                scopes.insert(scope.name().to_owned(), Value::Object(names));
            }
            root.zarr_vectors.attribute_specs = Some(scopes);
        }
        for one in &self.recorded {
            let specs = root.zarr_vectors.attribute_specs.get_or_insert_default();
            let scope = specs.entry(one.scope.name()).or_insert_with(|| json!({}));
            let Value::Object(names) = scope else {
                continue;
            };
            let member = names.entry(one.spec.name.clone());
            let member = member.or_insert_with(|| documents::declared(&one.spec));
            let number = one.spec.values.number();
            let fill = serde_json::from_str(&one.text);
            let fill = fill.ok().filter(|_: &Value| number.is_some());
            if let Value::Object(member) = member {
                let fill = fill.unwrap_or_else(|| Value::from(one.text.as_str()));
                member.insert(FILL.to_owned(), fill);
            }
        }
        Ok(())
    }
}
