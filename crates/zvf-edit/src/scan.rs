//! Reads the keys of all vertices chunk by chunk, without holding the chunks in memory.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use zvf_store::GridArray;

use super::edit::Edit;
use super::matching::copy_into_keys;
use super::state::{EditState, FragmentAt, values_of_every_row};
use zvf_encode::batches::row_size;
use zvf_encode::error::OrBug;
use zvf_encode::{NumberType, WriteError};
use zvf_format::int::wide;

/// Number of chunks whose cells are read together.
const BATCH: usize = 32;

/// The source of a part of a vertex's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeySource {
    Position,
    /// By its number in the specification.
    Attribute(usize),
    /// The id of its object, int64.
    Owner,
    /// The rank of the value that splits chunks, int64.
    Rank,
}

impl Edit {
    /// Number type and bytes of a part of a key.
    fn part(&self, stored: KeySource) -> Result<(NumberType, usize), WriteError> {
        let spec = &self.state.spec;
        Ok(match stored {
            KeySource::Position => (spec.positions, spec.positions.size() * spec.dims()),
            KeySource::Owner | KeySource::Rank => (NumberType::I64, 8),
            KeySource::Attribute(at) => {
                let one = spec.vertex_attributes.get(at).or_bug("no such attribute")?;
                let number = one.values.number().or_bug("texts without codes")?;
                (number, row_size(one))
            }
        })
    }

    /// The number of rows before each chunk, in the order of query results, with the slots; and the number of all rows.
    pub(super) async fn first_rows(&mut self) -> Result<(Vec<(u64, u32)>, u64), WriteError> {
        self.rows_before(|state, slot| wide(state.sizes(slot).iter().sum()))
            .await
    }

    /// Like [`first_rows`](Self::first_rows), with the number of rows of each chunk as `count` returns it.
    pub(super) async fn rows_before(
        &mut self,
        count: fn(&EditState, u32) -> u64,
    ) -> Result<(Vec<(u64, u32)>, u64), WriteError> {
        let slots = self.state.all_slots()?;
        self.state.measure(slots.iter().copied()).await?;
        let mut first = 0;
        let mut rows = Vec::with_capacity(slots.len());
        for slot in slots {
            rows.push((first, slot));
            first += count(&self.state, slot);
        }
        Ok((rows, first))
    }

    /// The object of each fragment.
    async fn fragment_owners(&mut self) -> Result<HashMap<FragmentAt, i64>, WriteError> {
        let Some(index) = &mut self.index else {
            return Ok(HashMap::new());
        };
        let rows: BTreeSet<usize> = (0..index.ids.len()).collect();
        index.peek_apart(&mut self.state, &rows).await?;
        let mut owners = HashMap::new();
        for (&row, id) in rows.iter().zip(&index.ids) {
            owners.extend(index.blocks(row).iter().map(|block| (*block, *id)));
        }
        Ok(owners)
    }

    /// Passes on the key of every vertex with its number, in the order of query results. If `only` is given (ascending), only these vertices, without
    /// reading other chunks. A vertex has no key if it lacks an object that is a part of the key, or if its key contains NaN.
    ///
    /// # Cost
    /// Reads the cells of the parts, and the fragment indexes; holds 32 chunks of them. With [`KeySource::Owner`] also reads and holds all manifests.
    ///
    /// # Errors
    /// I/O; malformed cells; the errors of `take`.
    pub(super) async fn scan(
        &mut self,
        parts: &[KeySource],
        only: Option<&[u64]>,
        mut take: impl FnMut(u64, &[u8]) -> Result<(), WriteError> + Send,
    ) -> Result<(), WriteError> {
        let owners = match parts.contains(&KeySource::Owner) {
            true => self.fragment_owners().await?,
            false => HashMap::new(),
        };
        let (firsts, total) = self.first_rows().await?;
        let ends = firsts.iter().skip(1).map(|(first, _)| *first);
        let ends: Vec<u64> = ends.chain(std::iter::once(total)).collect();
        let wanted = |first: u64, end: u64| match only {
            None => first < end,
            Some(rows) => {
                let at = rows.partition_point(|row| *row < first);
                rows.get(at).is_some_and(|row| *row < end)
            }
        };
        let slots = firsts.iter().zip(ends);
        let slots: Vec<(u64, u32)> = slots
            .filter(|((first, _), end)| wanted(*first, *end))
            .map(|(slot, _)| *slot)
            .collect();
        let level = self.state.level.clone();
        let mut arrays: Vec<&Arc<GridArray>> = Vec::new();
        for part in parts {
            match part {
                KeySource::Position => arrays.push(level.vertices()),
                // The level does not have attributes that this edit added.
                KeySource::Attribute(at) => {
                    arrays.extend(level.vertex_attributes().get(*at).map(|one| &one.array));
                }
                KeySource::Owner | KeySource::Rank => {}
            }
        }
        for some in slots.chunks(BATCH) {
            let unread = some.iter().map(|(_, slot)| *slot);
            let unread: Vec<u32> = unread
                .filter(|slot| self.state.chunk(*slot).is_none())
                .collect();
            let chunks = unread.iter().map(|slot| self.state.coord(*slot));
            let chunks = chunks.collect::<Result<Vec<_>, _>>()?;
            let cells = level.cells(&arrays, &chunks, |array, chunk| array.in_grid(chunk));
            let cells = cells.await?;
            let mut cells: HashMap<u32, Vec<Option<Bytes>>> =
                unread.iter().copied().zip(cells).collect();
            for (first, slot) in some {
                let cells = cells.remove(slot);
                self.keys_of_chunk(parts, (*first, *slot), cells, &owners, &mut take)?;
            }
        }
        Ok(())
    }

    /// Passes on the keys of one chunk. `cells` are its stored cells; `None` if its rows are in memory.
    fn keys_of_chunk(
        &self,
        parts: &[KeySource],
        (first, slot): (u64, u32),
        cells: Option<Vec<Option<Bytes>>>,
        owners: &HashMap<FragmentAt, i64>,
        take: &mut impl FnMut(u64, &[u8]) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let sizes = self.state.sizes(slot);
        let count: usize = sizes.iter().sum();
        let stored = self.state.level.vertex_attributes().len();
        let mut cells = cells.map(Vec::into_iter);
        let mut columns: Vec<(NumberType, usize, Vec<u8>)> = Vec::new();
        let mut orphans = vec![false; count];
        for part in parts {
            let (number, width) = self.part(*part)?;
            let column = match part {
                KeySource::Owner => {
                    let mut ids = Vec::with_capacity(count * 8);
                    for (fragment, size) in (0_u32..).zip(&sizes) {
                        let id = owners.get(&(slot, fragment));
                        let rows = orphans.iter_mut().skip(ids.len() / 8).take(*size);
                        rows.for_each(|orphan| *orphan = id.is_none());
                        let id = id.copied().unwrap_or(0).to_le_bytes();
                        ids.extend(std::iter::repeat_n(id, *size).flatten());
                    }
                    ids
                }
                KeySource::Rank => {
                    let rank = self.state.lead(slot)?.or_bug("a chunk without a value")?;
                    rank.to_le_bytes().repeat(count)
                }
                KeySource::Position | KeySource::Attribute(_) => {
                    let at = match part {
                        KeySource::Attribute(at) => at + 1,
                        _ => 0,
                    };
                    match &mut cells {
                        Some(cells) => {
                            let cell = match at <= stored {
                                true => cells.next().or_bug("fewer cells than arrays")?,
                                false => None,
                            };
                            match self.state.attribute_columns.get(slot, at) {
                                Some(changed) => changed.to_vec(),
                                None => cell.unwrap_or_default().to_vec(),
                            }
                        }
                        None => {
                            let chunk = self.state.chunk(slot).or_bug("a chunk without cells")?;
                            self.state.column(chunk, at)?
                        }
                    }
                }
            };
            let path = match part {
                KeySource::Attribute(at) => {
                    let one = self.state.spec.vertex_attributes.get(*at);
                    let name = one.map(|one| one.name.as_str()).unwrap_or_default();
                    format!("0/vertex_attributes/{name}")
                }
                _ => self.state.level.vertices().path().to_owned(),
            };
            let place = (path.as_str(), self.state.coord(slot)?);
            values_of_every_row(place, column.len(), count, width)?;
            columns.push((number, width, column));
        }
        let width = columns.iter().map(|(_, width, _)| width).sum();
        let mut keys = vec![0; count * width];
        let mut offset = 0;
        for (number, size, column) in columns {
            let place = (width, offset..offset + size);
            let mut missing = Vec::new();
            copy_into_keys(&mut keys, place, number, &column, |row| missing.push(row))?;
            for row in missing {
                *orphans
                    .get_mut(row)
                    .or_bug("a row past the end of its chunk")? = true;
            }
            offset += size;
        }
        for (row, (key, orphan)) in (first..).zip(keys.chunks_exact(width.max(1)).zip(orphans)) {
            if !orphan {
                take(row, key)?;
            }
        }
        Ok(())
    }
}
