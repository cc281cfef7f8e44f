//! Converts batches and tables that were made for another store to the types of this one.

use std::collections::BTreeSet;

use super::edit::Edit;
use super::fill;
use super::matching::Scope;
use zvf_encode::batches::Owners;
use zvf_encode::{AttributeSpec, Batch, Values, WriteError};
use zvf_format::int::wide;

/// A converted batch, and the attributes that did not fit.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Fitted {
    /// The batch with the attributes of the store, in its types.
    pub batch: Batch,
    /// Attributes that the store does not have; they are left out.
    pub unknown: BTreeSet<String>,
    /// Attributes of vertices without given values.
    pub vertices: NotGiven,
    /// Attributes of links without given values.
    pub links: NotGiven,
}

/// Attributes of the store that were not given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotGiven {
    /// Attributes that are stored as missing values (NaN, or no text).
    pub missing: BTreeSet<String>,
    /// Attributes that are stored as their [fill](Edit::fill).
    pub filled: BTreeSet<String>,
}

impl Edit {
    /// The existing objects, in the order of the object index.
    pub fn object_ids(&self) -> impl Iterator<Item = i64> + '_ {
        self.index.iter().flat_map(|index| {
            let all = index.ids.iter().copied();
            all.filter(|id| !index.deleted.contains(id))
        })
    }

    /// The number of existing objects.
    #[must_use]
    pub fn object_count(&self) -> u64 {
        let index = self.index.as_ref();
        index.map_or(0, |index| {
            wide(index.ids.len().saturating_sub(index.deleted.len()))
        })
    }

    /// Whether an object exists.
    #[must_use]
    pub fn has_object(&self, id: i64) -> bool {
        let index = self.index.as_ref();
        index.is_some_and(|index| index.row(id).is_some() && !index.deleted.contains(&id))
    }

    /// Converts a batch to the types of the store. Numbers keep their value exactly, except that floats are rounded to shorter floats. `id` returns
    /// the object for each id of the batch; a batch without ids is object 0.
    ///
    /// # Errors
    /// Misuse: a number that the type of the store cannot represent; an attribute without given values, whose type has no value that means missing.
    pub fn fit(&self, batch: &Batch, mut id: impl FnMut(i64) -> i64) -> Result<Fitted, WriteError> {
        let spec = &self.state.spec;
        let rows = batch.positions.len() / spec.dims().max(1);
        let mut fitted = Fitted {
            batch: Batch::new(self.positions(&batch.positions)?),
            unknown: BTreeSet::new(),
            vertices: NotGiven::default(),
            links: NotGiven::default(),
        };
        fitted.batch.numbering = batch.numbering;
        fitted.batch.links = batch.links.clone();
        fitted.batch.objects = match &batch.objects {
            _ if !spec.has_objects() => Owners::None,
            Owners::None => Owners::Runs(vec![(id(0), rows)]),
            Owners::Each(ids) => Owners::Each(ids.iter().map(|one| id(*one)).collect()),
            Owners::Runs(runs) => {
                Owners::Runs(runs.iter().map(|(one, rows)| (id(*one), *rows)).collect())
            }
        };
        let wanted = self.vertex_attributes();
        let of = (Scope::Vertex, &*wanted);
        let attributes = self.columns(of, &batch.attributes, rows, &mut fitted.vertices)?;
        fitted.batch.attributes = attributes;
        let links = batch.links.len() / spec.links.width.max(1);
        let of = (Scope::Link, &*spec.links.attributes);
        let given = &batch.link_attributes;
        fitted.batch.link_attributes = self.columns(of, given, links, &mut fitted.links)?;
        let unknown = |given: &[(String, Values)], known: &[AttributeSpec]| {
            let names = given.iter().map(|(name, _)| name);
            let names = names.filter(|name| known.iter().all(|one| one.name != **name));
            names.cloned().collect::<BTreeSet<String>>()
        };
        fitted.unknown = unknown(&batch.attributes, &wanted);
        let mut of_links = unknown(&batch.link_attributes, &spec.links.attributes);
        fitted.unknown.append(&mut of_links);
        Ok(fitted)
    }

    /// The `wanted` attributes, in their types: the given ones, and fills or missing values of the others.
    fn columns(
        &self,
        (scope, wanted): (Scope, &[AttributeSpec]),
        given: &[(String, Values)],
        rows: usize,
        lacking: &mut NotGiven,
    ) -> Result<Vec<(String, Values)>, WriteError> {
        let mut columns = Vec::new();
        for one in wanted {
            let fill = self.fill(scope, &one.name);
            let fill = fill.map(|text| fill::value(one, text)).transpose()?;
            let values = match (given.iter().find(|(name, _)| *name == one.name), fill) {
                (Some((_, values)), fill) => fill::gaps(values.fitted(one)?, fill),
                (None, _) if rows == 0 => Values::texts::<&str>([]).fitted(one)?,
                (None, Some(fill)) => {
                    lacking.filled.insert(one.name.clone());
                    fill::everywhere(one, &fill, rows)?
                }
                (None, None) => {
                    lacking.missing.insert(one.name.clone());
                    Values::absent(one, rows * one.channels).map_err(|_none| {
                        let (name, kind) = (&one.name, one.values.name());
                        let of = match scope {
                            Scope::Link => " --link",
                            Scope::Vertex | Scope::Object => "",
                        };
                        let expected = format!(
                            "values: {kind} cannot be missing (--fill {name}=VALUE sets one value for all, set-attribute {name}{of} --fill VALUE records it \
                             for later)"
                        );
                        WriteError::input(format!("attribute {name}"), "none", expected)
                    })?
                }
            };
            columns.push((one.name.clone(), values));
        }
        Ok(columns)
    }

    /// Positions in the type of the store.
    pub(super) fn positions(&self, given: &Values) -> Result<Values, WriteError> {
        let number = self.state.spec.positions;
        let wrong = || WriteError::input("positions", given.type_name(), number.to_string());
        given.exactly(number).ok_or_else(wrong)
    }
}
