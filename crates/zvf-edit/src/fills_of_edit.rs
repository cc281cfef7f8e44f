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
    /// Sets a fill for this edit, which the commit also records.
    pub(super) fn record_fill(&mut self, scope: Scope, one: &AttributeSpec, text: &str) {
        self.fills
            .insert((scope, one.name.clone()), text.to_owned());
        self.recorded.push(RecordedFill {
            scope,
            spec: one.clone(),
            text: text.to_owned(),
        });
    }

    /// The value of vertices, links or objects that are appended without a value of an attribute: the fill that the store records with the attribute, or
    /// the one that was [set](Self::set_fill).
    #[must_use]
    pub fn fill(&self, scope: Scope, name: &str) -> Option<&str> {
        self.fills
            .get(&(scope, name.to_owned()))
            .map(String::as_str)
    }

    /// Sets the value for vertices, links or objects that this edit appends without a value of an attribute. It is not recorded.
    ///
    /// # Cost
    /// For objects, reads all of their attributes, once.
    ///
    /// # Errors
    /// Misuse: no such attribute; a text that is not a value of its type. I/O.
    pub fn set_fill<'a>(
        &'a mut self,
        scope: Scope,
        name: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            let known = match scope {
                Scope::Vertex => self.vertex_attributes(),
                Scope::Link => self.spec().links.attributes.clone(),
                Scope::Object => self.object_attributes().await?,
            };
            let Some(one) = known.iter().find(|one| one.name == name) else {
                let expected = format!("an attribute of the {} of this store", scope.plural());
                let what = format!("fill of attribute {name}");
                return Err(WriteError::input(what, "nothing", expected));
            };
            value(one, text)?;
            self.fills.insert((scope, name.to_owned()), text.to_owned());
            Ok(())
        })
    }

    /// Sets the attributes of objects, given by their rows, to their fills if they have no value.
    pub(super) fn fill_objects(
        &mut self,
        rows: impl Iterator<Item = usize> + Clone,
    ) -> Result<(), WriteError> {
        for ((scope, name), text) in &self.fills {
            let Some(table) = self
                .tables
                .get_mut(name)
                .filter(|_| *scope == Scope::Object)
            else {
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

    /// Adds the fills of this edit to the declared attributes. If none were declared, all attributes are declared, because readers of a store that
    /// cannot be listed would otherwise find only those with a fill.
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
