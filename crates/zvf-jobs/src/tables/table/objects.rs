//! Tables of objects, which may lack values.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::{RecordBatch, UInt32Array};
use arrow_select::take::take_record_batch;
use zvf_encode::arrow::with_nulls;
use zvf_encode::error::OrBug;
use zvf_write::AttributeSpec;

use super::{EditColumn, EditTable};
use crate::error::Result;

impl EditTable {
    /// The values of an attribute of objects, as [`given`](Self::given); whole numbers without a value or a fill are null, since objects may lack them.
    pub(crate) fn given_of_objects(
        &self,
        one: &AttributeSpec,
        fill: Option<&str>,
    ) -> Result<EditColumn> {
        if fill.is_some() || !one.is_whole() {
            return self.given(one, fill);
        }
        let (name, column) = self.given(one, Some("0"))?;
        let mut valid = vec![true; column.len()];
        for texts in self.own_columns(one).iter().map(|at| self.texts(*at)) {
            for (valid, text) in valid.iter_mut().zip(texts) {
                *valid &= self.fields.value(text.as_deref(), false).is_some();
            }
        }
        Ok((name, with_nulls(&column, Some(valid.into()))?))
    }

    /// Tables of objects, one for each set of missing attributes: columns of numbers and booleans cannot express a missing value, so rows that lack the
    /// same attributes form a table without them. Floats are missing if all of their channels are, other values if one channel is.
    pub(crate) fn object_tables(
        &self,
        ids: EditColumn,
        known: &[AttributeSpec],
        fill: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<RecordBatch>> {
        let mut lacking = vec![Vec::new(); self.batch.num_rows()];
        let mut partial = BTreeSet::new();
        let attributes = known.iter().filter(|one| self.has(one));
        for (at, one) in (1_usize..).zip(attributes) {
            let number = one.values.number().filter(|_| !one.has_moments());
            let Some(number) = number.filter(|_| fill(&one.name).is_none()) else {
                continue;
            };
            let columns = self.own_columns(one);
            let mut missing = vec![0; lacking.len()];
            for texts in columns.iter().map(|column| self.texts(*column)) {
                let rows = missing.iter_mut().zip(texts);
                rows.for_each(|(missing, text)| *missing += usize::from(text.is_none()));
            }
            let most = if number.is_float() { columns.len() } else { 1 };
            for (row, missing) in lacking.iter_mut().zip(missing) {
                if missing >= most {
                    row.push(at);
                    if !number.is_float() {
                        partial.insert(one.name.clone());
                    }
                }
            }
        }
        // A placeholder: rows without a value go to tables without the column.
        let stand_in = |name: &str| partial.contains(name).then(|| "0".to_owned());
        let all = self.records(vec![ids], known, |name| {
            fill(name).or_else(|| stand_in(name))
        })?;
        if lacking.iter().all(Vec::is_empty) {
            return Ok(vec![all]);
        }
        let mut rows: BTreeMap<Vec<usize>, Vec<u32>> = BTreeMap::new();
        for (row, lacks) in (0..).zip(lacking) {
            rows.entry(lacks).or_default().push(row);
        }
        let table = |(lacks, rows): (Vec<usize>, Vec<u32>)| {
            let rows = take_record_batch(&all, &UInt32Array::from(rows));
            let rows = rows.or_bug("a row after the end of its table")?;
            let held = (0..rows.num_columns()).filter(|at| !lacks.contains(at));
            let held: Vec<usize> = held.collect();
            Ok(rows
                .project(&held)
                .or_bug("a column that its table does not have")?)
        };
        rows.into_iter().map(table).collect()
    }
}
