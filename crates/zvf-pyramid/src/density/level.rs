//! One level in files, and which of its vertices are kept.

use super::Metric;
use super::paged::{BitSet, MemoryContext, PagedRecords, word, words};
use super::points::PointVertex;
use zvf_encode::WriteError;
use zvf_encode::error::OrBug;
use zvf_format::int::index;

/// A level.
#[derive(Debug)]
pub(super) struct LevelRecords {
    /// The points in their order, with their places in level 0.
    pub(super) vertices: PagedRecords,
    /// The number in level 0 and the ends of each link, in the order of these numbers; in trees, in the order of objects.
    pub(super) links: PagedRecords,
}

/// Which vertices are kept.
#[derive(Debug)]
pub(super) enum KeptVertices {
    /// The marked vertices; also the representative of each vertex, if requested.
    Marked(BitSet, Option<PagedRecords>),
    /// Vertices that links and faces need; the representative of each vertex.
    Linked(PagedRecords),
}

impl LevelRecords {
    /// Applies `take` to all vertices in order, with their places in this level.
    pub(super) fn each_point(
        &self,
        dims: usize,
        mut take: impl FnMut(u32, PointVertex) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        self.vertices
            .each(|place, record| take(place, PointVertex::take(&mut &*record, dims)?))
    }

    /// For each of `objects` objects, whether it has vertices.
    pub(super) fn has_vertices(&self, objects: usize) -> Result<Vec<bool>, WriteError> {
        let mut found = vec![false; objects];
        self.vertices.each(|_, record| {
            let object = word(record, 1)?;
            let one = found.get_mut(index(object));
            *one.or_bug(format_args!("no object {object}"))? = true;
            Ok(())
        })?;
        Ok(found)
    }

    /// Marks the vertices of some objects.
    pub(super) fn of_objects(&self, kept: &[bool]) -> Result<BitSet, WriteError> {
        let mut marks = BitSet::new(self.vertices.len());
        self.vertices.each(|place, record| {
            let object = word(record, 1)?;
            if *kept
                .get(index(object))
                .or_bug(format_args!("no object {object}"))?
            {
                marks.set(place)?;
            }
            Ok(())
        })?;
        marks.count();
        Ok(marks)
    }

    /// The marked vertices, with the links between them; the number of their objects, and the mean distance of consecutive vertices of an object.
    pub(super) fn keep(
        &self,
        stays: &BitSet,
        links: &PagedRecords,
        (dims, metric): (usize, Metric),
        context: &MemoryContext<'_>,
    ) -> Result<(Self, u64, f64), WriteError> {
        let mut vertices = self.vertices.like(context);
        let mut objects = 0_u64;
        let mut last: Option<PointVertex> = None;
        let (mut sum, mut steps) = (0.0_f64, 0.0_f64);
        self.vertices.each(|place, record| {
            if !stays.has(place)? {
                return Ok(());
            }
            let point = PointVertex::take(&mut &*record, dims)?;
            match &last {
                Some(last) if last.object == point.object => {
                    sum += metric.square(&last.position, &point.position).sqrt();
                    steps += 1.0;
                }
                _ => objects += 1,
            }
            last = Some(point);
            vertices.push(record)
        })?;
        let mut kept = self.links.like(context);
        let mut link = Vec::new();
        links.each(|_, record| {
            link.clear();
            link.extend_from_slice(&word(record, 0)?.to_le_bytes());
            for end in words(record).skip(1) {
                let end = stays.rank(end)?;
                let end = end.or_bug("a link to a vertex that is not kept")?;
                link.extend_from_slice(&end.to_le_bytes());
            }
            kept.push(&link)
        })?;
        let links = kept;
        let step = if steps > 0.0 { sum / steps } else { 0.0 };
        Ok((Self { vertices, links }, objects, step))
    }
}

/// The vertices of the finer level whose representative is not kept.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Vanished {
    pub(crate) vertices: u64,
    /// Objects with such vertices.
    pub(crate) objects: u64,
    /// The square of the largest distance of such a vertex from a kept vertex of its object.
    pub(super) square: f64,
}
