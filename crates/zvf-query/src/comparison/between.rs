//! Compares links between levels.

use std::collections::{BTreeSet, HashMap};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use zvf_store::{Deltas, Need, Store};

use super::hashes::{self, Of, RowSets, hash};
use super::{Comparison, Pair, ids, schemas, text, whole_level};
use crate::error::OrBug;
use crate::prepare::may_be_unowned;
use crate::{Column, Outputs, Query, QueryError, Table, list_links, numbers};

/// The identity of each row of a level, by a hash of its chunk and its number in the chunk.
type Identities = HashMap<u64, u64>;

impl Pair<'_> {
    /// Compares links to other levels: families by their level delta, records by the identity of their ends and by their attributes.
    pub(super) async fn between(&mut self, found: &mut Comparison) -> Result<(), QueryError> {
        let [(_, old), (_, new)] = self.stores;
        let old = families_of(old, self.level).await?;
        let new = families_of(new, self.level).await?;
        for delta in old.union(&new).copied() {
            let to = i64::from(self.level) + i64::from(delta);
            let noun = format!("links to level {to}");
            let place = format!("level {}, {noun}", self.level);
            if !new.contains(&delta) {
                found.add(place, "in the first store only");
                continue;
            }
            if !old.contains(&delta) {
                found.add(place, "in the second store only");
                continue;
            }
            let both = self.stores.map(|(_, store)| store.levels());
            let to = u32::try_from(to).ok();
            let to = to.filter(|to| both.iter().all(|levels| levels.contains(to)));
            // A level that only one store has is reported separately.
            if let Some(to) = to {
                self.family(found, (delta, to), &noun).await?;
            }
        }
        Ok(())
    }

    async fn family(
        &mut self,
        found: &mut Comparison,
        (delta, to): (i32, u32),
        noun: &str,
    ) -> Result<(), QueryError> {
        let ends = [
            self.identities(self.level).await?,
            self.identities(to).await?,
        ];
        let mut sets = RowSets::new();
        let mut first = true;
        loop {
            let mut answers = Vec::new();
            for (of, store) in self.stores {
                answers.push((of, list_links(store, self.level, delta, true).await?));
            }
            let schemas = schemas(&answers, Table::Links);
            let mut ignored = Comparison::default();
            let report = if first { &mut *found } else { &mut ignored };
            let mut columns = self.columns(report, noun, &schemas);
            columns.retain(|name| name != "chunks" && name != "rows");
            for (of, mut answer) in answers {
                let [here, there] = ends.each_ref().map(|[old, new]| match of {
                    Of::Old => old,
                    Of::New => new,
                });
                while let Some((_, batch)) = answer.next().await? {
                    (self.progress)(hashes::length(&batch));
                    let values = hashes::rows(&batch, &columns)?;
                    let records = places(&batch, "chunks", "rows")?;
                    let width = records.len().checked_div(values.len()).unwrap_or(0);
                    let records = records.chunks(width.max(1)).zip(values).enumerate();
                    for (row, (record, values)) in records {
                        // The first end is at this level.
                        let ends: Vec<Option<&u64>> = record
                            .iter()
                            .enumerate()
                            .map(|(which, end)| if which == 0 { here } else { there }.get(end))
                            .collect();
                        sets.add(of, hash(&(ends, values)), || {
                            let names = ["chunks", "rows"].map(str::to_owned);
                            (String::new(), text(&batch, row, &names))
                        })?;
                    }
                }
            }
            match first && !sets.same() {
                true => {
                    sets.begin_second_pass();
                    first = false;
                }
                false => break,
            }
        }
        match sets.same() {
            true => Ok(()),
            false => found.rows(sets, self.level, noun),
        }
    }

    /// Identifies the rows of a level of both stores: by the objects that have the row and its number in each object, or by its values if it belongs
    /// to no object.
    async fn identities(&mut self, level: u32) -> Result<[Identities; 2], QueryError> {
        let (mut answers, mut unowned) = (Vec::new(), Vec::new());
        for (of, store) in self.stores {
            let whole = whole_level(store, level).await?;
            let own = [Column::Chunk, Column::Row];
            let query = Query {
                // These columns are first, because an attribute may have the same name.
                columns: own.into_iter().chain(whole.columns).collect(),
                outputs: Outputs {
                    links: false,
                    ..whole.outputs
                },
                ..whole
            };
            // A query by objects does not return vertices of no object.
            let rest = match query.objects.is_some() && may_be_unowned(store.kind()) {
                true => {
                    let all = Query {
                        objects: None,
                        ..query.clone()
                    };
                    Some(crate::query(store, all).await?)
                }
                false => None,
            };
            unowned.push(rest);
            answers.push((of, crate::query(store, query).await?));
        }
        let schemas = schemas(&answers, Table::Vertices);
        let mut columns = self.columns(&mut Comparison::default(), "vertices", &schemas);
        columns.retain(|name| !["chunk", "row", "object_id"].contains(&name.as_str()));
        let mut both = Vec::new();
        for ((_, mut answer), rest) in answers.into_iter().zip(unowned) {
            let mut found = Identities::new();
            let mut object = (None, 0_u64);
            while let Some((_, batch)) = answer.next().await? {
                (self.progress)(hashes::length(&batch));
                let ids = match batch.column_by_name("object_id") {
                    Some(_) => ids(&batch)?,
                    None => vec![None; batch.num_rows()],
                };
                let values = hashes::rows(&batch, &columns)?;
                let places = places(&batch, "chunk", "row")?;
                for ((place, values), id) in places.into_iter().zip(values).zip(ids) {
                    object = match id == object.0 && id.is_some() {
                        true => (id, object.1 + 1),
                        false => (id, 0),
                    };
                    let one = id.map_or(values, |_| hash(&object));
                    // Several objects may have a row; a sum does not depend on their order.
                    let identity = found.entry(place).or_insert(0);
                    *identity = identity.wrapping_add(one);
                }
            }
            let Some(mut rest) = rest else {
                both.push(found);
                continue;
            };
            while let Some((_, batch)) = rest.next().await? {
                (self.progress)(hashes::length(&batch));
                let values = hashes::rows(&batch, &columns)?;
                let places = places(&batch, "chunk", "row")?;
                let rows = places.into_iter().zip(values).zip(ids(&batch)?);
                for ((place, values), _) in rows.filter(|(_, id)| id.is_none()) {
                    found.entry(place).or_insert(values);
                }
            }
            both.push(found);
        }
        let both = <[Identities; 2]>::try_from(both).ok();
        both.or_bug("two stores without two answers")
    }
}

/// The level deltas of the families of links to other levels.
async fn families_of(store: &Store, level: u32) -> Result<BTreeSet<i32>, QueryError> {
    let need = Need {
        link_deltas: Deltas::All,
        ..Need::nothing()
    };
    let level = store.level(level, &need).await?;
    let read = level.link_families().iter().filter(|one| one.width() > 0);
    let refused = level.refused().iter().filter_map(|one| one.delta);
    let all = read.map(|one| one.delta()).chain(refused);
    Ok(all.filter(|delta| *delta != 0).collect())
}

/// Hashes of chunks and rows: of each row of a table of vertices, or of each end of each record.
fn places(batch: &RecordBatch, chunks: &str, rows: &str) -> Result<Vec<u64>, QueryError> {
    let column = |name: &str| {
        let column = batch.column_by_name(name);
        let column = column.or_bug(format_args!("rows without {name}"))?;
        Ok::<_, QueryError>(numbers::elements(column).0)
    };
    let (chunks, rows) = (column(chunks)?, column(rows)?);
    let chunks = chunks.as_primitive_opt::<Int64Type>();
    let chunks = chunks.or_bug("chunks that are not Int64")?.values();
    let rows = rows.as_primitive_opt::<UInt64Type>();
    let rows = rows.or_bug("rows that are not UInt64")?.values();
    let rank = chunks.len().checked_div(rows.len()).unwrap_or(0);
    let places = chunks.chunks(rank.max(1)).zip(rows);
    Ok(places.map(|place| hash(&place)).collect())
}
