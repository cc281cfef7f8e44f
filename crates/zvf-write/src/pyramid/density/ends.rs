//! What links need to know of the vertices that they lead to, where neither are held.

use super::net::Fine;
use super::points::Point;
use super::sheet::{Desk, Scatter, Scattered, Sheet, word, words};
use crate::WriteError;
use crate::int::index;
use crate::pyramid::meter::Counted;

/// Bytes of an end on its way to its vertex: vertex, link, which end, whether the link leads to itself.
const END: usize = 10;

/// Some vertices that follow each other.
#[derive(Debug)]
pub(super) struct Block<'b> {
    pub(super) number: u32,
    /// The place of the first of them.
    pub(super) first: u32,
    /// Points.
    pub(super) vertices: &'b [u8],
    ends: Option<&'b Scattered>,
}

impl Block<'_> {
    /// For each vertex how many links lead from it to another one.
    pub(super) fn degrees(&self, dims: usize) -> Result<Vec<u32>, WriteError> {
        let many = self.vertices.len() / Point::size(dims);
        let mut degrees = vec![0_u32; many];
        for piece in self
            .ends
            .into_iter()
            .flat_map(|ends| ends.pieces(self.number))
        {
            for end in piece?
                .chunks_exact(END)
                .filter(|end| end.last() == Some(&0))
            {
                let place = word(end, 0).saturating_sub(self.first);
                if let Some(degree) = degrees.get_mut(index(place)) {
                    *degree = degree.saturating_add(1);
                }
            }
        }
        Ok(degrees)
    }
}

/// Brings values of vertices to links.
#[derive(Debug)]
pub(super) struct Find<'f> {
    pub(super) desk: &'f Desk<'f>,
    /// Bytes of a value.
    pub(super) size: usize,
}

impl Find<'_> {
    /// Applies `take` to all vertices, block by block.
    pub(super) fn blocks(
        &self,
        vertices: &Sheet,
        ends: Option<&Scattered>,
        mut take: impl FnMut(&Block<'_>) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let (mut bytes, mut held) = (Vec::new(), Counted::new(&self.desk.meter));
        (0..vertices.blocks()).try_for_each(|number| {
            let first = vertices.read(number, &mut bytes)?;
            held.set(bytes.capacity());
            take(&Block {
                number,
                first,
                vertices: &bytes,
                ends,
            })
        })
    }

    /// Applies `take` to all links in their order, each with the values of its ends. `of` appends the values of the vertices of a
    /// block; it gets each block once, in order.
    ///
    /// # Cost
    /// Every end goes through a file twice.
    pub(super) fn ends(
        &self,
        fine: &Fine,
        mut of: impl FnMut(&Block<'_>, &mut Vec<u8>) -> Result<(), WriteError>,
        mut take: impl FnMut(&[u8], &[u8]) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let mut asked = Scatter::new(self.desk);
        fine.links.each(|link, record| {
            let mut ends = words(record).skip(1);
            let first = ends.next();
            let itself = u8::from(ends.all(|end| Some(end) == first));
            for (which, end) in (0_u8..).zip(words(record).skip(1)) {
                asked.push(end, |out| {
                    out.extend_from_slice([end, link].map(u32::to_le_bytes).as_flattened());
                    out.extend_from_slice(&[which, itself]);
                })?;
            }
            Ok(())
        })?;
        let asked = asked.finish();
        let mut answers = Scatter::new(self.desk);
        let (mut values, mut held) = (Vec::new(), Counted::new(&self.desk.meter));
        self.blocks(&fine.vertices, Some(&asked), |block| {
            values.clear();
            of(block, &mut values)?;
            held.set(values.capacity());
            for piece in asked.pieces(block.number) {
                for end in piece?.chunks_exact(END) {
                    let place = index(word(end, 0).saturating_sub(block.first));
                    let value = part(&values, place, self.size);
                    answers.push(word(end, 1), |out| {
                        out.extend_from_slice(end.get(4..END - 1).unwrap_or_default());
                        out.extend_from_slice(value);
                    })?;
                }
            }
            Ok(())
        })?;
        drop(asked);
        self.answers(&fine.links, &answers.finish(), &mut take)
    }

    /// Puts the values of each link together.
    fn answers(
        &self,
        links: &Sheet,
        answers: &Scattered,
        take: &mut impl FnMut(&[u8], &[u8]) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let (mut bytes, mut held) = (Vec::new(), Counted::new(&self.desk.meter));
        let record = links.width();
        let size = (record / 4).saturating_sub(1).saturating_mul(self.size);
        for block in 0..links.blocks() {
            let first = links.read(block, &mut bytes)?;
            let mut all = vec![0; (bytes.len() / record.max(1)).saturating_mul(size)];
            held.set(bytes.capacity().saturating_add(all.len()));
            for piece in answers.pieces(block) {
                for answer in piece?.chunks_exact(self.size.saturating_add(5)) {
                    let link = index(word(answer, 0).saturating_sub(first));
                    let which = answer.get(4).map_or(0, |which| usize::from(*which));
                    let at = link.saturating_mul(size);
                    let at = at.saturating_add(which.saturating_mul(self.size));
                    let slot = all.get_mut(at..at.saturating_add(self.size));
                    if let (Some(slot), Some(value)) = (slot, answer.get(5..)) {
                        slot.copy_from_slice(value);
                    }
                }
            }
            let links = bytes.chunks_exact(record.max(1));
            let mut both = links.zip(all.chunks_exact(size.max(1)));
            both.try_for_each(|(link, values)| take(link, values))?;
        }
        Ok(())
    }
}

fn part(values: &[u8], at: usize, size: usize) -> &[u8] {
    let start = at.saturating_mul(size);
    values
        .get(start..start.saturating_add(size))
        .unwrap_or_default()
}
