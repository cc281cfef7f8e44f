//! Batches and tables that were made for another store, brought to the types of this one.

use std::borrow::Cow;
use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use futures::future::BoxFuture;

use super::Edit;
use zvf_write::WriteError;
use zvf_write::batch::{Batch, ObjectTable, Owners};
use zvf_write::spec::{AttributeSpec, AttributeType};
use zvf_write::values::Values;

/// A batch that fits, and what did not.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Fitted {
    /// With the attributes of the store, in its types. It borrows nothing.
    pub batch: Batch<'static>,
    /// Attributes that the store does not have; they are left out.
    pub unknown: BTreeSet<String>,
    /// Attributes of the store that were not given; they are missing: NaN, or no text.
    pub missing: BTreeSet<String>,
}

impl Edit {
    /// The objects that are there.
    pub fn object_ids(&self) -> impl Iterator<Item = i64> + '_ {
        self.index.iter().flat_map(|index| {
            let all = index.ids.iter().copied();
            all.filter(|id| !index.deleted.contains(id))
        })
    }

    /// Adds vertices of a table as queries return it, and their links of another one, brought to the types of the store; see
    /// [`zvf_write::arrow`] for the columns. Returns what was appended, and which attributes did not fit.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow_array::{ArrayRef, FixedSizeListArray, Int64Array, RecordBatch, types::Float64Type};
    /// use zvf_edit::Edit;
    /// use zvf_store::blocking::Runtime;
    /// use zvf_write::{Kind, StoreSpec, StoreWriter, WriteOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let address = folder.path().join("tracts.zarrvectors").to_string_lossy().into_owned();
    /// let places = [Some(vec![Some(1.0), Some(1.0)]), Some(vec![Some(2.0), Some(1.0)])];
    /// let columns: [(&str, ArrayRef); 3] = [
    ///     ("position", Arc::new(FixedSizeListArray::from_iter_primitive::<Float64Type, _, _>(places, 2))),
    ///     ("object_id", Arc::new(Int64Array::from(vec![7, 7]))),
    ///     ("other", Arc::new(Int64Array::from(vec![1, 2]))),
    /// ];
    /// let table = RecordBatch::try_from_iter(columns)?;
    /// Runtime::new()?.wait(async {
    ///     let spec = StoreSpec::new(Kind::Streamline, [10.0; 2]);
    ///     let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
    ///     writer.push_records(&table.project(&[0, 1])?)?;
    ///     writer.finish().await?;
    ///     let mut edit = Edit::open(&address, WriteOptions::new()).await?;
    ///     let appended = edit.append_records(&table, None).await?;
    ///     assert!(appended.unknown.contains("other"));
    ///     edit.put_object_records(&table.project(&[1])?.slice(0, 1)).await?;
    ///     assert_eq!(edit.commit().await?.vertices, 2);
    ///     Ok(())
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Batch::from_records`], [`fit`](Self::fit) and [`append`](Self::append).
    pub fn append_records<'a>(
        &'a mut self,
        vertices: &'a RecordBatch,
        links: Option<&'a RecordBatch>,
    ) -> BoxFuture<'a, Result<Fitted, WriteError>> {
        Box::pin(async move {
            let mut batch = Batch::from_records(vertices)?;
            if let Some(links) = links {
                batch = batch.with_link_records(links)?;
            }
            let fitted = self.fit(&batch, |id| id)?;
            self.append(&fitted.batch).await?;
            Ok(fitted)
        })
    }

    /// Adds objects, or sets their attributes, from a table as queries return it: one row an object.
    ///
    /// # Errors
    /// As [`ObjectTable::from_records`] and [`put_objects`](Self::put_objects).
    pub fn put_object_records<'a>(
        &'a mut self,
        objects: &'a RecordBatch,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            let table = ObjectTable::from_records(objects)?;
            self.put_objects(&table).await
        })
    }

    /// Brings a batch to the types of the store. Numbers keep their value exactly, but for floats, which are rounded to shorter
    /// floats. `id` gives the object for each id of the batch; a batch without ids is object 0 there.
    ///
    /// # Errors
    /// Misuse: a number that the type of the store does not hold; an attribute that is not given, of a type without a value for
    /// that.
    pub fn fit(&self, batch: &Batch<'_>, id: impl Fn(i64) -> i64) -> Result<Fitted, WriteError> {
        let spec = &self.state.spec;
        let rows = batch.positions.len() / spec.dims().max(1);
        let Some(positions) = batch.positions.exactly(spec.positions) else {
            let found = batch.positions.type_name();
            return Err(WriteError::input(
                "positions",
                found,
                spec.positions.to_string(),
            ));
        };
        let mut fitted = Fitted {
            batch: Batch::new(positions),
            unknown: BTreeSet::new(),
            missing: BTreeSet::new(),
        };
        fitted.batch.numbering = batch.numbering;
        fitted.batch.links = Cow::Owned(batch.links.to_vec());
        fitted.batch.objects = match &batch.objects {
            _ if !spec.has_objects() => Owners::None,
            Owners::None => Owners::Runs(vec![(id(0), rows)].into()),
            Owners::Each(ids) => Owners::Each(ids.iter().map(|one| id(*one)).collect()),
            Owners::Runs(runs) => {
                Owners::Runs(runs.iter().map(|(one, rows)| (id(*one), *rows)).collect())
            }
        };
        let wanted: Vec<AttributeSpec> = spec.batch_attributes().cloned().collect();
        fitted.batch.attributes =
            self.columns(&wanted, &batch.attributes, rows, &mut fitted.missing)?;
        let links = batch.links.len() / spec.links.width.max(1);
        let wanted = &spec.links.attributes;
        let given = &batch.link_attributes;
        fitted.batch.link_attributes = self.columns(wanted, given, links, &mut fitted.missing)?;
        let known = |name: &&String| {
            let mut all = spec.batch_attributes().chain(&spec.links.attributes);
            !all.any(|one| one.name == **name)
        };
        let given = batch.attributes.iter().chain(&batch.link_attributes);
        fitted.unknown = given.map(|(name, _)| name).filter(known).cloned().collect();
        Ok(fitted)
    }

    fn columns(
        &self,
        wanted: &[AttributeSpec],
        given: &[(String, Values<'_>)],
        rows: usize,
        missing: &mut BTreeSet<String>,
    ) -> Result<Vec<(String, Values<'static>)>, WriteError> {
        let mut columns = Vec::new();
        for one in wanted {
            let texts =
                self.is_categorical(&one.name) || !matches!(one.values, AttributeType::Number(_));
            let values = match given.iter().find(|(name, _)| *name == one.name) {
                Some((_, values)) => values.fit(one, texts),
                None if rows == 0 => {
                    Ok(Values::Text(Vec::new())).and_then(|none: Values<'_>| none.fit(one, texts))
                }
                None => {
                    missing.insert(one.name.clone());
                    let rows = rows * one.channels;
                    Values::absent(one, texts, rows)
                }
            };
            columns.push((one.name.clone(), values?));
        }
        Ok(columns)
    }
}
