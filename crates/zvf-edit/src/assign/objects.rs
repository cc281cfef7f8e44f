//! Matches the rows of a table with objects: by id, by a key, or in order.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use arrow_array::RecordBatch;
use zvf_encode::error::{OrBug, to_index};
use zvf_encode::tables::HeldColumn;
use zvf_encode::{NumberType, ObjectTable, Values, WriteError};
use zvf_format::int::wide;

use super::stated::check_level;
use super::{
    Matched, PairedRows, Search, by_rows, exclusive, ignored, in_order, key_column, no_way,
    not_a_key,
};
use crate::edit::Edit;
use crate::matching::{Coding, Matching, Scope, TableKeys, normalize};
use crate::tables::AttributeTable;
use crate::{ops, tabular};

impl Edit {
    /// Sets values of several attributes of objects; `gaps` are the rows without a value, by attribute.
    pub(crate) async fn put_object_columns(
        &mut self,
        table: &RecordBatch,
        how: &Matching,
        given: &[(String, Values)],
        gaps: &BTreeMap<String, BTreeSet<usize>>,
    ) -> Result<Matched, WriteError> {
        let columns = by_rows(table, given)?;
        let same = |a: usize, b: usize| {
            columns.iter().all(|(_, given)| given.same(a, b))
                && gaps
                    .values()
                    .all(|gaps| gaps.contains(&a) == gaps.contains(&b))
        };
        let (ids, from, matched) = self.match_objects(table, how, same).await?;
        let mut objects = ObjectTable::new(ids);
        for (name, given) in &columns {
            let taken = given.take(from.iter().copied().map(Some), None)?;
            let gaps = gaps.get(*name).or_bug("an attribute without its gaps")?;
            objects = objects.with_gaps(name.as_str(), taken, taken_gaps(&from, gaps));
        }
        self.put_objects(&objects).await?;
        Ok(matched)
    }

    /// Matches the rows of a table with objects.
    pub(crate) async fn match_objects(
        &mut self,
        table: &RecordBatch,
        how: &Matching,
        same: impl Fn(usize, usize) -> bool + Send,
    ) -> Result<(Vec<i64>, Vec<usize>, Matched), WriteError> {
        exclusive(Scope::Object, how)?;
        self.load_tables().await?;
        let rows = table.num_rows();
        let index = self.index.as_ref().ok_or_else(ops::no_objects)?;
        let live = index.ids.iter().copied().enumerate();
        let live: Vec<(usize, i64)> = live.filter(|(_, id)| !index.deleted.contains(id)).collect();
        let of = wide(live.len());
        let by_id = how.key.is_empty() || how.key == ["object_id"];
        let column = tabular::plain(table, "object_id").filter(|_| by_id);
        let pairs = match column {
            Some(column) => {
                let given = tabular::wholes("object_id", &column)?;
                let mut known: HashMap<i64, usize> = HashMap::new();
                known.extend(live.iter().map(|(_, id)| *id).zip(0..));
                let (mut all, mut unknown, mut fresh) = (Vec::new(), Vec::new(), Vec::new());
                for (row, id) in given.iter().enumerate() {
                    let id = id.and_then(|id| i64::try_from(id).ok());
                    match id.map(|id| (id, known.get(&id))) {
                        Some((_, Some(at))) => all.push((wide(*at), row)),
                        Some((id, None)) if how.new_objects => {
                            known.insert(id, live.len() + fresh.len());
                            all.push((wide(live.len() + fresh.len()), row));
                            fresh.push(id);
                        }
                        _ => unknown.push(row),
                    }
                }
                let show = |row: usize| match given.get(row) {
                    Some(Some(id)) => format!("object {id}"),
                    _ => format!("no id in row {row}"),
                };
                let expected = "objects of this store (--new adds the others, --ignore-missing leaves them out)";
                let ignored = ignored(("column object_id", "", expected), &unknown, show, how)?;
                let ids: Vec<i64> = live.iter().map(|(_, id)| *id).chain(fresh).collect();
                let id = |row| usize::try_from(row).ok().and_then(|row| ids.get(row));
                let id = |row| id(row).map_or_else(String::new, i64::to_string);
                let by = ("object_id".to_owned(), of);
                let mut pairs = PairedRows::named(all, Scope::Object, by, same, id)?;
                pairs.matched.ignored = ignored;
                if how.by_order && (rows != live.len() || !pairs.from.is_sorted()) {
                    let expected = "the objects in the order of the store";
                    return Err(WriteError::input(
                        "column object_id",
                        "another order",
                        expected,
                    ));
                }
                return named(&ids, pairs);
            }
            None if !how.key.is_empty() => self.search_objects(table, how, &live)?,
            None if how.by_order => {
                check_level(table, "order")?;
                self.check_unmoved("the order of objects")?;
                in_order(Scope::Object, rows, of)?
            }
            None => return Err(no_way(Scope::Object, rows)),
        };
        let ids: Vec<i64> = live.iter().map(|(_, id)| *id).collect();
        named(&ids, pairs)
    }

    /// Finds the objects with the key of a row, among the objects of the index.
    fn search_objects(
        &self,
        table: &RecordBatch,
        how: &Matching,
        live: &[(usize, i64)],
    ) -> Result<PairedRows, WriteError> {
        let mut columns = Vec::new();
        let mut stored: Vec<Vec<Option<Vec<u8>>>> = Vec::new();
        for name in &how.key {
            if name == "object_id" && !self.tables.contains_key(name) {
                columns.push(key_column(table, name, Coding::Number(NumberType::I64), 1)?);
                let ids = live.iter().map(|(_, id)| Some(id.to_le_bytes().to_vec()));
                stored.push(ids.collect());
                continue;
            }
            let Some(of) = self.tables.get(name) else {
                let known: Vec<&str> = self.tables.keys().map(String::as_str).collect();
                return Err(not_a_key(Scope::Object, name, &known));
            };
            let mut codes: HashMap<String, i64> = HashMap::new();
            let mut values = Vec::with_capacity(live.len());
            for (row, _) in live {
                let value = of.value(*row);
                values.push(match value {
                    Some(ObjectValue::Number(bytes)) => Some(bytes.to_vec()),
                    Some(ObjectValue::Text(text)) => {
                        let next = zvf_format::int::signed(codes.len());
                        let code = *codes.entry(text.to_owned()).or_insert(next);
                        Some(code.to_le_bytes().to_vec())
                    }
                    None => None,
                });
            }
            let coding = match of.spec.values.number() {
                Some(number) => Coding::Number(number),
                None => Coding::Words(codes, NumberType::I64),
            };
            columns.push(key_column(table, name, coding, of.spec.channels)?);
            stored.push(values);
        }
        let numbers: Vec<NumberType> = columns.iter().map(|one| one.coding.number()).collect();
        let keys = TableKeys::new(columns, table.num_rows())?.checked(|_, _| false)?;
        let mut search = Search::new(&keys, table.num_rows());
        let mut key = Vec::new();
        for at in 0..live.len() {
            key.clear();
            let mut is_key = true;
            for (values, number) in stored.iter().zip(&numbers) {
                let start = key.len();
                match values.get(at) {
                    Some(Some(value)) => key.extend_from_slice(value),
                    _ => is_key = false,
                }
                let part = key.get_mut(start..).or_bug("a part of a key")?;
                is_key &= normalize(*number, part);
            }
            if is_key {
                search.take(wide(at), &key)?;
            }
        }
        search.finish(Scope::Object, false, wide(live.len()), how)
    }
}

/// A value of an object.
#[derive(Debug, Clone, Copy)]
enum ObjectValue<'t> {
    Number(&'t [u8]),
    Text(&'t str),
}

impl AttributeTable {
    /// The value of the object of a row.
    fn value(&self, row: usize) -> Option<ObjectValue<'_>> {
        let place = self.place(row)?;
        match self.held() {
            HeldColumn::Numbers(number, bytes) => {
                let width = number.size() * self.spec.channels;
                bytes
                    .get(place * width..(place + 1) * width)
                    .map(ObjectValue::Number)
            }
            HeldColumn::Texts(texts) => texts.get(place)?.as_deref().map(ObjectValue::Text),
        }
    }
}

/// The indices in `from` of rows that have a gap.
pub(super) fn taken_gaps(from: &[usize], gaps: &BTreeSet<usize>) -> BTreeSet<usize> {
    let rows = from.iter().enumerate();
    let rows = rows.filter(|(_, row)| gaps.contains(*row));
    rows.map(|(at, _)| at).collect()
}

/// Returns the ids of the paired objects instead of their numbers, in the order of the pairs.
fn named(ids: &[i64], pairs: PairedRows) -> Result<(Vec<i64>, Vec<usize>, Matched), WriteError> {
    let mut found = Vec::with_capacity(pairs.rows.len());
    for row in &pairs.rows {
        let id = ids.get(to_index("objects", *row)?);
        found.push(*id.or_bug("an object without an id")?);
    }
    Ok((found, pairs.from, pairs.matched))
}
