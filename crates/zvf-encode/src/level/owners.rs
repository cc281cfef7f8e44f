//! The owner column: the object of each fragment, stored next to the fragments (0.9 §11.7).

use std::collections::BTreeSet;
use std::path::Path;

use zerocopy::{FromBytes, Immutable, IntoBytes};
use zvf_meta::ArrayAttributes;
use zvf_store::owners::{NOBODY, OWNER_COLUMN, SEVERAL, state_owners_of};

use crate::documents::nodes::Nodes;
use crate::error::{OrBug, internal};
use crate::level::fragment_values;
use crate::level::shard::{CellContainer, LevelCells};
use crate::records::sorter::{Sorted, Sorter};
use crate::spec::store::AttributeSpec;
use crate::target::{Below, Payloads};
use crate::values::number::NumberType;
use crate::{WriteError, documents};
use zvf_format::int::index;

/// Most cells of a shard of the column. Its cells are small, and one file per cell would add a third to the files of a level. A shard of 128 cells has an
/// index of 2 KiB, which a reader of a single cell also reads.
const SHARD: u64 = 128;

/// A fragment and its object. Sorted by chunk and fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct Owned {
    /// Number of the chunk, in lexicographic order.
    chunk: u32,
    /// Number of the fragment in its chunk.
    fragment: u32,
    /// Id of its object.
    object: i64,
}

/// Collects the objects of fragments in bounded memory, and writes the column.
#[derive(Debug)]
pub struct OwnerCollector {
    sorter: Sorter<Owned>,
    /// Whether every id differs from [`NOBODY`] and [`SEVERAL`].
    distinct: bool,
}

/// The path of the column in its level.
#[must_use]
pub fn path() -> String {
    format!("fragment_attributes/{OWNER_COLUMN}")
}

/// The attributes of the column.
#[must_use]
pub fn attributes() -> ArrayAttributes {
    let column = AttributeSpec::number(OWNER_COLUMN, NumberType::I64);
    fragment_values::document(&column.with_description("object of the fragment"))
}

/// Whether the column can state this id as an owner. It uses [`NOBODY`] and [`SEVERAL`] for fragments without one owner.
#[must_use]
pub fn is_distinct(id: i64) -> bool {
    !matches!(id, NOBODY | SEVERAL)
}

/// Where the cells of the column are stored, given the places of the cells of vertices. If these are objects of their own or in shards of an array,
/// the column has shards of up to 128 cells that are consecutive in the order of chunks.
#[must_use]
pub fn cells_of(cells: &LevelCells) -> LevelCells {
    if cells.container == CellContainer::Blobs {
        return cells.clone();
    }
    let mut shards = vec![1; cells.grid.shape.len()];
    let mut room = SHARD;
    // If a shard covers only a part of an axis, it covers one chunk along each axis before it, so that no two shards overlap in lexicographic order.
    for (cells, &extent) in shards.iter_mut().zip(&cells.grid.shape).rev() {
        *cells = extent.clamp(1, room.max(1));
        room = if *cells < extent { 0 } else { room / *cells };
    }
    let mut column = cells.clone();
    column.shards = Some(shards);
    column
}

/// Encodes one cell: an owner for each fragment up to the last one with an owner.
#[must_use]
pub fn payload(owners: &[i64]) -> Vec<u8> {
    owners.iter().flat_map(|id| id.to_le_bytes()).collect()
}

/// Sets the owner of a fragment in the owners of its chunk.
pub fn enter(owners: &mut Vec<i64>, fragment: u32, object: i64) {
    let at = index(fragment);
    if owners.len() <= at {
        owners.resize(at + 1, NOBODY);
    }
    if let Some(owner) = owners.get_mut(at) {
        *owner = match *owner {
            NOBODY => object,
            same if same == object => object,
            _ => SEVERAL,
        };
    }
}

impl OwnerCollector {
    /// An empty collector, which uses about `budget` bytes of memory, and temporary files in `folder` for the rest.
    pub fn new(budget: usize, folder: &Path) -> Self {
        Self {
            sorter: Sorter::new(budget, folder),
            distinct: true,
        }
    }

    /// Adds a fragment of an object, by the number of its chunk.
    pub fn push(&mut self, chunk: u32, fragment: u32, object: i64) -> Result<(), WriteError> {
        self.distinct &= is_distinct(object);
        self.sorter.push(Owned {
            chunk,
            fragment,
            object,
        })
    }

    /// Writes the cells. Returns the node of the column, which states that it was made from this document of the object index, if all ids are distinct
    /// from [`NOBODY`] and [`SEVERAL`].
    pub fn write(
        self,
        chunks: &[&[i64]],
        cells: &LevelCells,
        index_document: &str,
        target: &Below<'_>,
    ) -> Result<Nodes, WriteError> {
        let (path, distinct) = (path(), self.distinct);
        let mut sorted = self.sorter.finish()?;
        let mut next = sorted.pop()?;
        let mut present: Vec<&[i64]> = Vec::new();
        let mut shard = None;
        let mut done = BTreeSet::new();
        let mut together: Payloads<'_> = Vec::new();
        let put = |together: Payloads<'_>| -> Result<(), WriteError> {
            target.put(cells.of_items(size_of::<i64>()).objects(&path, together)?)
        };
        while let Some(first) = next.take() {
            let owners = of_chunk(first, &mut sorted, &mut next)?;
            let chunk = chunks.get(index(first.chunk)).copied();
            let chunk = chunk.or_bug("a fragment of no chunk")?;
            let object = Some(cells.object_index(chunk)?);
            if object != shard {
                put(std::mem::take(&mut together))?;
                internal!(done.insert(object.clone()), "a shard of owners twice");
                shard = object;
            }
            present.push(chunk);
            together.push((chunk, payload(&owners)));
        }
        put(together)?;
        let mut attributes = attributes();
        if distinct {
            state_owners_of(&mut attributes, index_document.as_bytes());
        }
        let mut nodes = Nodes::default();
        nodes.cells(cells, path, documents::presence(present)?, attributes);
        Ok(nodes)
    }
}

/// Takes the owners of the fragments of one chunk from `sorted`. `first` is the first entry of the chunk; `next` becomes the first entry of the next
/// chunk.
fn of_chunk(
    first: Owned,
    sorted: &mut Sorted<Owned>,
    next: &mut Option<Owned>,
) -> Result<Vec<i64>, WriteError> {
    let mut owners = Vec::new();
    enter(&mut owners, first.fragment, first.object);
    loop {
        *next = sorted.pop()?;
        match next {
            Some(one) if one.chunk == first.chunk => {
                enter(&mut owners, one.fragment, one.object);
            }
            _ => return Ok(owners),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zvf_codec::Compression;
    use zvf_meta::space::Grid;

    fn shards(shape: &[u64]) -> Vec<u64> {
        let grid = Grid {
            origin: vec![0; shape.len()],
            shape: shape.to_vec(),
        };
        let cells = LevelCells::new(grid, None, Compression::None, CellContainer::Grid);
        cells_of(&cells).shards.unwrap()
    }

    #[test]
    fn shards_are_runs_of_chunks_in_lex_order() {
        assert_eq!(shards(&[5, 5, 5]), [5, 5, 5]);
        assert_eq!(shards(&[6, 6, 6]), [3, 6, 6]);
        assert_eq!(shards(&[34, 34, 34]), [1, 3, 34]);
        assert_eq!(shards(&[2, 3, 900]), [1, 1, 128]);
        assert_eq!(shards(&[4, 1, 1, 128]), [1, 1, 1, 128]);
        assert_eq!(shards(&[3, 0, 2]), [3, 1, 2]);
    }

    #[test]
    fn owners_are_told_from_nobody_and_several() {
        let mut owners = Vec::new();
        for (fragment, object) in [(2, 7), (0, 5), (2, 7), (3, 1), (3, 2)] {
            enter(&mut owners, fragment, object);
        }
        assert_eq!(owners, [5, NOBODY, 7, SEVERAL]);
        enter(&mut owners, 3, 2);
        assert_eq!(owners[3], SEVERAL);
        assert!(is_distinct(-3) && !is_distinct(NOBODY) && !is_distinct(SEVERAL));
    }
}
