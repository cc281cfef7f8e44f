//! Joins data of vertices to links, without holding either of them in memory.

use super::level::LevelRecords;
use super::paged::{MemoryContext, PagedRecords, Shuffle, Shuffled, word, words};
use super::points::PointVertex;
use crate::meter::MeteredBytes;
use zvf_encode::WriteError;
use zvf_encode::error::OrBug;
use zvf_encode::records::{records, row_of};
use zvf_format::int::index;

/// Bytes of the record of an end: vertex, link, index of the end in the link, and the first vertex of the link that is another one (the same vertex
/// if there is none).
const END: usize = 13;

/// Some consecutive vertices.
#[derive(Debug)]
pub(super) struct VertexBlock<'b> {
    pub(super) number: u32,
    /// The number of the first vertex.
    pub(super) first: u32,
    /// The vertices, as records of [`PointVertex`].
    pub(super) vertices: &'b [u8],
    ends: Option<&'b Shuffled>,
}

impl VertexBlock<'_> {
    /// The number of neighbours of each vertex. Several links between the same two vertices count once: graphs may have each edge in both directions.
    pub(super) fn degrees(&self, dims: usize) -> Result<Vec<u32>, WriteError> {
        let many = self.vertices.len() / PointVertex::size(dims);
        let mut neighbours: Vec<[u32; 2]> = Vec::new();
        for piece in self
            .ends
            .into_iter()
            .flat_map(|ends| ends.pieces(self.number))
        {
            for end in records(&piece?, END)? {
                let other = end.last_chunk().or_bug("an end is cut short")?;
                let pair = [word(end, 0)?, u32::from_le_bytes(*other)];
                if pair.first() != pair.last() {
                    neighbours.push(pair);
                }
            }
        }
        neighbours.sort_unstable();
        neighbours.dedup();
        let mut degrees = vec![0_u32; many];
        for [vertex, _] in neighbours {
            let at = vertex.checked_sub(self.first).map(index);
            let degree = at.and_then(|at| degrees.get_mut(at));
            *degree.or_bug("an end in another block")? += 1;
        }
        Ok(degrees)
    }
}

/// Joins values of vertices to links.
#[derive(Debug)]
pub(super) struct EndpointLookup<'f> {
    pub(super) context: &'f MemoryContext<'f>,
    /// Bytes of a value.
    pub(super) size: usize,
}

impl EndpointLookup<'_> {
    /// Applies `take` to all vertices, block by block.
    pub(super) fn blocks(
        &self,
        vertices: &PagedRecords,
        ends: Option<&Shuffled>,
        mut take: impl FnMut(&VertexBlock<'_>) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let (mut bytes, mut held) = (Vec::new(), MeteredBytes::new(&self.context.meter));
        (0..vertices.blocks()).try_for_each(|number| {
            let first = vertices.read(number, &mut bytes)?;
            held.set(bytes.capacity());
            take(&VertexBlock {
                number,
                first,
                vertices: &bytes,
                ends,
            })
        })
    }

    /// Applies `take` to all links in their order, each with the values of its ends. `of` appends the values of the vertices of a block; it is called
    /// once per block, in order.
    ///
    /// # Cost
    /// Every end is written and read twice; records beyond the memory budget are spilled to a file.
    pub(super) fn ends(
        &self,
        fine: &LevelRecords,
        mut of: impl FnMut(&VertexBlock<'_>, &mut Vec<u8>) -> Result<(), WriteError>,
        mut take: impl FnMut(&[u8], &[u8]) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let mut asked = Shuffle::new(self.context);
        fine.links.each(|link, record| {
            for (which, end) in (0_u8..).zip(words(record).skip(1)) {
                let mut others = words(record).skip(1).filter(|other| *other != end);
                let other = others.next().unwrap_or(end);
                asked.push(end, |out| {
                    out.extend_from_slice([end, link].map(u32::to_le_bytes).as_flattened());
                    out.push(which);
                    out.extend_from_slice(&other.to_le_bytes());
                })?;
            }
            Ok(())
        })?;
        let asked = asked.finish();
        let mut answers = Shuffle::new(self.context);
        let (mut values, mut held) = (Vec::new(), MeteredBytes::new(&self.context.meter));
        self.blocks(&fine.vertices, Some(&asked), |block| {
            values.clear();
            of(block, &mut values)?;
            held.set(values.capacity());
            for piece in asked.pieces(block.number) {
                for end in records(&piece?, END)? {
                    let value = row_of(&values, place(end, block.first)?, self.size);
                    let value = value.or_bug("an end without a value")?;
                    let head = end.get(4..END - 4).or_bug("an end is cut short")?;
                    answers.push(word(end, 1)?, |out| {
                        out.extend_from_slice(head);
                        out.extend_from_slice(value);
                    })?;
                }
            }
            Ok(())
        })?;
        drop(asked);
        self.answers(&fine.links, &answers.finish(), &mut take)
    }

    /// Combines the values of each link.
    fn answers(
        &self,
        links: &PagedRecords,
        answers: &Shuffled,
        take: &mut impl FnMut(&[u8], &[u8]) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let (mut bytes, mut held) = (Vec::new(), MeteredBytes::new(&self.context.meter));
        let record = links.width();
        // The first word of a link is its number, the others are its ends.
        let size = (record / 4 - 1) * self.size;
        for block in 0..links.blocks() {
            let first = links.read(block, &mut bytes)?;
            let links = records(&bytes, record)?;
            let mut all = vec![0; links.len() * size];
            held.set(bytes.capacity() + all.len());
            for piece in answers.pieces(block) {
                for answer in records(&piece?, self.size + 5)? {
                    let (head, value) = answer.split_at(5);
                    let which = usize::from(*head.last().or_bug("an answer to no end")?);
                    let at = place(head, first)? * size + which * self.size;
                    let slot = all.get_mut(at..at + self.size);
                    slot.or_bug("an answer to no link")?.copy_from_slice(value);
                }
            }
            let mut both = links.zip(all.chunks_exact(size.max(1)));
            both.try_for_each(|(link, values)| take(link, values))?;
        }
        Ok(())
    }
}

/// The index within its block of the item whose number a record begins with; `first` is the number of the first item in the block.
fn place(record: &[u8], first: u32) -> Result<usize, WriteError> {
    let number = word(record, 0)?;
    let place = number.checked_sub(first);
    Ok(index(place.or_bug(format_args!(
        "{number} is in a block before {first}"
    ))?))
}
