//! Maps each vertex to its chunk and row.

use std::path::Path;

use zerocopy::IntoBytes;

use crate::WriteError;
use crate::error::{OrBug, to_index};
use crate::records::bucket::Buckets;
use crate::records::record::typed;
use crate::records::spill::{SpillFile, SpillRange};
use zvf_format::int::{halves, wide};

/// A table of the chunk and row of each vertex, in the order of their numbers, for links between vertices. It is in memory, or in a file of which a few
/// blocks are cached.
#[derive(Debug)]
pub struct VertexPlaces {
    table: Vec<u64>,
    blocks: Option<PlaceBlocks>,
}

/// Entries of one block of the file. A block has 512 KiB.
const BLOCK: usize = 1 << 16;

#[derive(Debug)]
struct PlaceBlocks {
    /// The recorded places by block, until `seal` writes them to the file.
    incoming: Option<Buckets<u64>>,
    parts: Vec<Option<SpillRange>>,
    file: SpillFile,
    /// Blocks in memory, by number; the block of the last lookup is the first.
    cached: Vec<(usize, Vec<u64>)>,
    most_cached: usize,
}

impl VertexPlaces {
    /// A table of `count` vertices: in memory if it fits in `budget` bytes, else in a file in `folder`.
    pub fn new(count: u64, budget: usize, folder: &Path) -> Result<Self, WriteError> {
        let entries = to_index("vertices", count)?;
        if entries <= budget / 8 {
            return Ok(Self {
                table: vec![u64::MAX; entries],
                blocks: None,
            });
        }
        let blocks = PlaceBlocks {
            incoming: Some(Buckets::new(budget, folder)),
            parts: vec![None; entries.div_ceil(BLOCK)],
            file: SpillFile::new(folder),
            cached: Vec::new(),
            most_cached: (budget / (8 * BLOCK)).max(2),
        };
        Ok(Self {
            table: Vec::new(),
            blocks: Some(blocks),
        })
    }

    /// Records the rows of one chunk: `vertices` has the number of the vertex of each row.
    pub fn note(&mut self, chunk: u32, vertices: &[u64]) -> Result<(), WriteError> {
        for (row, &vertex) in (0_u64..).zip(vertices) {
            let place = (u64::from(chunk) << 32) | row;
            match self
                .blocks
                .as_mut()
                .and_then(|blocks| blocks.incoming.as_mut())
            {
                Some(incoming) => {
                    let number = incoming.number(&(vertex / wide(BLOCK)), |&block| block);
                    incoming.push(number, |out| {
                        out.extend_from_slice([vertex, place].as_bytes());
                    })?;
                    // One chunk may have more rows than the budget holds.
                    incoming.relieve()?;
                }
                None => {
                    let slot = self.table.get_mut(to_index("vertices", vertex)?);
                    *slot.or_bug(format_args!("no vertex {vertex}"))? = place;
                }
            }
        }
        Ok(())
    }

    /// Writes the blocks to the file. Must be called after the last [`note`](Self::note), and before the first [`get`](Self::get).
    pub fn seal(&mut self) -> Result<(), WriteError> {
        let Some(blocks) = &mut self.blocks else {
            return Ok(());
        };
        let Some(incoming) = blocks.incoming.take() else {
            return Ok(());
        };
        let (all, file) = incoming.finish();
        for (block, bucket) in all {
            let bytes = bucket.read(&file)?;
            let mut entries = vec![u64::MAX; BLOCK];
            for record in typed(&bytes)? {
                let [vertex, place] = record?;
                let slot = entries.get_mut(to_index("vertices", vertex % wide(BLOCK))?);
                *slot.or_bug("a vertex of no block")? = place;
            }
            let part = blocks.file.append(entries.as_bytes())?;
            let slot = blocks.parts.get_mut(to_index("vertices", block)?);
            *slot.or_bug(format_args!("no block {block} of vertices"))? = Some(part);
        }
        Ok(())
    }

    /// Chunk and row of a vertex; `None` if it was not recorded.
    pub fn get(&mut self, vertex: u64) -> Result<Option<(u32, u32)>, WriteError> {
        let at = to_index("vertices", vertex)?;
        let entry = match &mut self.blocks {
            None => self.table.get(at).copied(),
            Some(blocks) => blocks.get(at)?,
        };
        let entry = entry.filter(|&entry| entry != u64::MAX).map(halves);
        Ok(entry.map(|[chunk, row]| (chunk, row)))
    }
}

impl PlaceBlocks {
    fn get(&mut self, at: usize) -> Result<Option<u64>, WriteError> {
        let (block, inside) = (at / BLOCK, at % BLOCK);
        if let Some(found) = self.cached.iter().position(|(number, _)| *number == block) {
            self.cached.swap(0, found);
        } else {
            let Some(part) = self.parts.get(block).copied().flatten() else {
                return Ok(None);
            };
            let mut bytes = Vec::new();
            self.file.read(part, &mut bytes)?;
            let entries = typed(&bytes)?.collect::<Result<_, _>>()?;
            if self.cached.len() >= self.most_cached {
                self.cached.pop();
            }
            self.cached.insert(0, (block, entries));
        }
        Ok(self
            .cached
            .first()
            .and_then(|(_, entries)| entries.get(inside))
            .copied())
    }
}

#[cfg(test)]
mod tests {
    use super::VertexPlaces;
    use crate::WriteError;

    #[test]
    fn places_are_found_in_memory_and_in_a_file() {
        let count = 300_000;
        for budget in [0, 1 << 30] {
            let mut places = VertexPlaces::new(count, budget, &std::env::temp_dir()).unwrap();
            for chunk in 0..10_u32 {
                let vertices: Vec<u64> = (0..count - 1)
                    .filter(|v| v % 10 == u64::from(chunk))
                    .collect();
                places.note(chunk, &vertices).unwrap();
            }
            places.seal().unwrap();
            for vertex in [0, 1, 65_535, 65_536, 123_456, 299_998, 7, 200_000] {
                let wanted = Some(((vertex % 10) as u32, (vertex / 10) as u32));
                assert_eq!(places.get(vertex).unwrap(), wanted);
            }
            assert_eq!(places.get(count - 1).unwrap(), None);
        }
    }

    #[test]
    fn a_vertex_that_there_is_not_has_no_place() {
        let folder = std::env::temp_dir();
        let mut places = VertexPlaces::new(3, 1 << 20, &folder).unwrap();
        assert!(matches!(
            places.note(0, &[2, 3]),
            Err(WriteError::Bug { .. })
        ));
        // With a file, only `seal` detects a vertex of no block.
        let mut places = VertexPlaces::new(3, 0, &folder).unwrap();
        places.note(0, &[2, 1 << 40]).unwrap();
        assert!(matches!(places.seal(), Err(WriteError::Bug { .. })));
    }
}
