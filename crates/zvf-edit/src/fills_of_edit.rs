//! The fills of an edit: looks them up, sets them, gives them to objects without a value, and records them in the root.

use futures::future::BoxFuture;
use serde_json::{Value, json};
use zvf_meta::{FILL, JsonObject, RootDoc};

use super::edit::Edit;
use super::fill::{RecordedFill, everywhere, value};
use super::matching::Scope;
use super::tables::described_by;
use zvf_encode::error::OrBug;
use zvf_encode::{AttributeSpec, WriteError, documents};

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

    /// Adds the fills of this edit to the declared attributes. If none were declared, all attributes are declared, because readers that cannot list
    /// would otherwise find only those with a fill.
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
