//! Cells of padded arrays: whole blocks, and what tells their rows.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::try_join_all;

use super::local_disk::Disk;
use super::unit::slot;
use super::{Budget, CellWant, Plan};
use crate::StoreError;
use crate::container::padded::{Count, Padded, Source};
use crate::container::{Container, GridArray};
use crate::coord::Dotted;
use crate::layout::object_key;
use zvf_codec::Data;
use zvf_io::{Ask, Cap, Kv};

/// The block of one chunk, and the cells that want it.
#[derive(Debug)]
pub(super) struct BlockWant {
    array: Arc<GridArray>,
    keys: Vec<String>,
    wants: Vec<usize>,
}

/// A block that becomes a cell when its rows are known.
#[derive(Debug)]
pub(super) struct Trim {
    want: usize,
    cell: CellWant,
    /// The place of the companion's cell.
    companion: Option<usize>,
}

/// What was fetched of a block: one for each of its objects.
#[derive(Debug)]
pub(super) struct BlockUnit {
    want: BlockWant,
    found: Vec<Option<Bytes>>,
}

/// Sorts wants by the blocks they are in.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    blocks: HashMap<String, usize>,
    /// Cells that are wanted because others are: they stand behind the asked ones.
    pub(super) more: Vec<CellWant>,
}

impl Sorter {
    /// Adds a wanted cell; `next` is the place of the first cell of `more`.
    pub(super) fn add(
        &mut self,
        (want, next): (usize, usize),
        cell: CellWant,
        padded: &Padded,
        index: &[u64],
        plan: &mut Plan,
    ) -> Result<(), StoreError> {
        let companion = padded
            .count
            .companion()
            .filter(|other| other.in_grid(&cell.chunk) && other.presence().contains(&cell.chunk))
            .map(|other| {
                self.more.push(CellWant::new(other, cell.chunk.clone()));
                next.saturating_add(self.more.len() - 1)
            });
        plan.trims.push(Trim {
            want,
            cell: cell.clone(),
            companion,
        });
        let Some(doc) = cell.array.doc() else {
            return Ok(());
        };
        match &padded.source {
            Source::Own { .. } => {}
            Source::Generic => {
                plan.generic.push((want, cell));
                return Ok(());
            }
            Source::Unsupported(what) => {
                return Err(StoreError::unsupported(cell.array.path(), what.clone()));
            }
        }
        let keys: Vec<String> = padded
            .pieces(doc, index)
            .iter()
            .map(|index| object_key(cell.array.path(), doc, index))
            .collect();
        let Some(first) = keys.first() else {
            return Ok(());
        };
        let known = self.blocks.get(first);
        match known.and_then(|at| plan.blocks.get_mut(*at)) {
            Some(block) => block.wants.push(want),
            None => {
                self.blocks.insert(first.clone(), plan.blocks.len());
                plan.blocks.push(BlockWant {
                    array: cell.array,
                    keys,
                    wants: vec![want],
                });
            }
        }
        Ok(())
    }
}

/// The container of an array that is known to be padded.
fn padded(array: &GridArray) -> Result<&Padded, StoreError> {
    match array.contents() {
        Container::Padded(padded) => Ok(padded),
        _ => Err(StoreError::misuse(
            "a block was sought in an array without padding",
        )),
    }
}

impl BlockWant {
    /// Asks for all objects of the block at once.
    pub(super) async fn fetch(self, kv: &Kv) -> Result<BlockUnit, StoreError> {
        let cap = Cap::cell(kv.limits());
        let found = self.keys.iter().map(|key| async move {
            let object = kv.get_polled(key, Ask::Whole, cap).await?;
            Ok::<_, StoreError>(object.map(|object| object.bytes))
        });
        let found = try_join_all(found).await?;
        Ok(BlockUnit { want: self, found })
    }

    fn give(
        &self,
        pieces: Vec<Option<Bytes>>,
        out: &mut [Option<Bytes>],
        budget: &mut Budget,
    ) -> Result<(), StoreError> {
        let block = padded(&self.array)?.join(pieces);
        let key = self.keys.first().map(String::as_str).unwrap_or_default();
        budget.spend(key, block.as_ref().map_or(0, Bytes::len))?;
        for want in &self.wants {
            (*slot(out, *want)?).clone_from(&block);
        }
        Ok(())
    }
}

impl BlockUnit {
    pub(super) fn decode(
        self,
        out: &mut [Option<Bytes>],
        cap: Cap,
        budget: &mut Budget,
    ) -> Result<(), StoreError> {
        let container = padded(&self.want.array)?;
        let pieces: Result<Vec<_>, _> = self
            .found
            .into_iter()
            .zip(&self.want.keys)
            .map(|(bytes, key)| {
                bytes
                    .map(|bytes| container.decode(key, Data::Shared(bytes), cap))
                    .transpose()
            })
            .collect();
        self.want.give(pieces?, out, budget)
    }
}

impl Disk<'_> {
    /// Reads and decodes one block.
    pub(super) fn read_block(
        &self,
        want: &BlockWant,
        out: &mut [Option<Bytes>],
        budget: &mut Budget,
    ) -> Result<(), StoreError> {
        let (container, cap) = (padded(&want.array)?, Cap::cell(self.kv.limits()));
        let pieces: Result<Vec<_>, _> = want
            .keys
            .iter()
            .map(|key| self.whole(key, cap, |data| container.decode(key, data, cap)))
            .collect();
        want.give(pieces?, out, budget)
    }
}

/// Cuts the padding off, now that the companions are there; those that count by another padded array come last.
pub(super) fn trim(
    trims: &[Trim],
    out: &mut [Option<Bytes>],
    cap: Cap,
    budget: &mut Budget,
) -> Result<(), StoreError> {
    for late in [false, true] {
        for trim in trims {
            let container = padded(&trim.cell.array)?;
            if matches!(container.count, Count::Rows(_)) != late {
                continue;
            }
            let name = || format!("{} at {}", trim.cell.array.path(), Dotted(&trim.cell.chunk));
            let told = match trim.companion {
                Some(place) => slot(out, place)?.clone(),
                None => None,
            };
            let block = slot(out, trim.want)?.take();
            let made = block.is_none();
            let cell = container.trim(&name, block, told.as_ref())?;
            if made && let Some(cell) = &cell {
                cap.check(&name(), u64::try_from(cell.len()).unwrap_or(u64::MAX))?;
                budget.spend(&name(), cell.len())?;
            }
            *slot(out, trim.want)? = cell;
        }
    }
    Ok(())
}
