//! Levels in files: the vertices of each in order, with object and position, and its links as pairs or faces of these vertices.
//!
//! Representatives of vertices are computed chain by chain, or in parts of whole bins of whole objects that fit in memory. The vertex data that links
//! need is joined to them one block of vertices at a time. The marks of kept vertices take at most half a byte of memory per vertex.

use std::hash::BuildHasher;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_select::concat::concat_batches;
use rustc_hash::{FxBuildHasher, FxHashSet};
use zvf_meta::{Kind, LevelDoc, Metric};

use super::contract::Joining;
use super::endpoints::{EndpointLookup, VertexBlock};
use super::finest::{FinestLevel, LevelPick, numbers};
use super::level::{KeptVertices, LevelRecords, Vanished};
use super::metadata::{LevelMetadata, column};
use super::paged::{BitSet, MemoryContext, PagedRecords, Partitions, Shuffle, word, words};
use super::points::PointVertex;
use super::write::{LevelTarget, Writing, WrittenLevel};
use super::{ComputedLevel, Numbered, Reading, drawn};
use crate::base;
use crate::base::{ChosenBins, beside_space};
use crate::bins::NONE;
use crate::median::Squares;
use crate::meter::MeteredBytes;
use crate::plan::{PlannedLevel, Sampling};
use crate::reference::ObjectColumn;
use zvf_encode::error::{OrBug, narrow};
use zvf_encode::records::Bucket;
use zvf_encode::{WriteError, arrow, parallel, records};
use zvf_format::int::{index, wide};

/// Links that are passed to the writer together.
const BATCH: usize = 1 << 14;

/// The levels of one store.
#[derive(Debug)]
pub(crate) struct LevelBuilder<'n> {
    pub(super) finest: FinestLevel<'n>,
    /// Level 0.
    pub(super) base: LevelRecords,
    /// The computed levels, each from the one before.
    made: Vec<LevelRecords>,
    error: Option<f64>,
}

impl<'n> LevelBuilder<'n> {
    /// Reads the vertices and links of level 0.
    ///
    /// # Errors
    /// Misuse: data that this method does not support; the message names it. Malformed data. I/O.
    pub(crate) fn new(from: Reading<'n>) -> Result<Self, WriteError> {
        let metadata = LevelMetadata::read(from.store, from.handle)?;
        let mut finest = FinestLevel::new(from, metadata)?;
        let (context, dims) = (finest.context(), finest.dims());
        let mut vertices = PagedRecords::new(PointVertex::size(dims), &context);
        let mut record = Vec::new();
        finest.points(|point| {
            record.clear();
            point.write(dims, &mut record);
            vertices.push(&record)
        })?;
        let width = finest.metadata.spec.links.width;
        let mut links = PagedRecords::new(link_size(width), &context);
        let trees = finest.metadata.spec.kind == Kind::Skeleton;
        // The child of each edge is its first end, so that edges in the order of children are in the order of objects.
        let mut of_trees = Shuffle::new(&context);
        if finest.metadata.spec.takes_links() {
            finest.links(|first, batch| {
                let ends = column(batch, "vertices")?;
                let (ends, width) = arrow::elements(&ends)?;
                let ends = ends.as_primitive::<UInt64Type>().values();
                for (number, link) in (first..).zip(ends.chunks_exact(width.max(1))) {
                    record.clear();
                    record.extend_from_slice(&number.to_le_bytes());
                    for &end in link {
                        let known = u32::try_from(end).ok().filter(|end| *end < vertices.len());
                        let end = known.ok_or_else(|| {
                            let expected = format!("below {}", vertices.len());
                            WriteError::data("links", format!("vertex {end}"), expected)
                        })?;
                        record.extend_from_slice(&end.to_le_bytes());
                    }
                    match trees {
                        true => {
                            let child = word(&record, 1)?;
                            of_trees.push(child, |out| out.extend_from_slice(&record))?;
                        }
                        false => links.push(&record)?,
                    }
                }
                Ok(())
            })?;
        }
        let of_trees = of_trees.finish();
        for block in 0..vertices.blocks() {
            let mut some: Vec<([u32; 2], Vec<u8>)> = Vec::new();
            for piece in of_trees.pieces(block) {
                for link in records::records(&piece?, link_size(width))? {
                    some.push(([word(link, 1)?, word(link, 0)?], link.to_vec()));
                }
            }
            some.sort_unstable_by_key(|(child, _)| *child);
            some.iter().try_for_each(|(_, link)| links.push(link))?;
        }
        // Distances in several units have no bound in any of them.
        let one_unit = Metric::of_lengths(&finest.metadata.spec.axes).is_ok();
        Ok(Self {
            finest,
            base: LevelRecords { vertices, links },
            made: Vec::new(),
            error: one_unit.then_some(0.0),
        })
    }

    pub(crate) fn metadata(&self) -> &LevelMetadata {
        &self.finest.metadata
    }

    /// How distances are measured.
    pub(super) fn metric(&self) -> Metric {
        Metric::of(&self.metadata().spec.axes)
    }

    /// The number of vertices in level 0.
    pub(crate) fn vertices(&self) -> u64 {
        u64::from(self.base.vertices.len())
    }

    /// The places of the vertices of level 0, if requested; returned once.
    pub(crate) fn places(&mut self) -> Option<Numbered> {
        self.finest.places.take()
    }

    /// Largest number of bytes of vertices and links that were in memory at the same time.
    pub(crate) fn most_held(&self) -> u64 {
        wide(self.finest.meter.most())
    }

    fn joining(&self) -> Joining {
        let spec = &self.finest.metadata.spec;
        Joining {
            kind: spec.kind,
            width: spec.links.width,
            directed: spec.links.directed,
        }
    }

    /// Chooses bins of level 0.
    ///
    /// # Errors
    /// Malformed data: a position that is not finite, or beyond the range of bin numbers. I/O.
    pub(crate) fn choose(&self, chunk_shape: &[f64]) -> Result<ChosenBins, WriteError> {
        let (context, dims) = (self.finest.context(), self.finest.dims());
        let axes = &self.metadata().spec.axes;
        let (metric, beside) = (self.metric(), beside_space(axes));
        let mut squares = Squares::new(context.means.budget / 8, context.means.folder);
        if matches!(self.metadata().spec.kind, Kind::Polyline | Kind::Streamline) {
            let mut last: Option<PointVertex> = None;
            self.base.each_point(dims, |_, point| {
                let before = last
                    .replace(point)
                    .filter(|last| last.object == point.object);
                let step = before.map(|before| metric.square(&before.position, &point.position));
                match step.filter(base::is_step) {
                    Some(step) => squares.push(step),
                    None => Ok(()),
                }
            })?;
        }
        let size = dims * 8;
        let positions = |block: &VertexBlock<'_>, values: &mut Vec<u8>| {
            for record in records::records(block.vertices, PointVertex::size(dims))? {
                values.extend_from_slice(record.get(8..).or_bug("a vertex without a position")?);
            }
            Ok(())
        };
        let find = EndpointLookup {
            context: &context,
            size,
        };
        if self.base.links.len() > 0 {
            find.ends(&self.base, positions, |_, values| {
                let numbers = |bytes: &[u8]| {
                    let numbers = bytes.as_chunks::<8>().0.iter();
                    numbers.map(|number| f64::from_le_bytes(*number)).collect()
                };
                let ends: Vec<Vec<f64>> = values.chunks_exact(size).map(numbers).collect();
                let steps = ends.iter().zip(ends.iter().skip(1));
                let steps = steps.map(|(a, b)| metric.square(a, b));
                let mut steps = steps.filter(base::is_step);
                steps.try_for_each(|step| squares.push(step))
            })?;
        }
        if let Some(square) = squares.median()? {
            return Ok(base::of_step(square.sqrt(), chunk_shape, &beside));
        }
        let each = |take: base::TakePosition<'_>| {
            self.base
                .each_point(dims, |_, point| take(point.axes(dims)))
        };
        base::spacing(each, dims, chunk_shape, &beside)
    }

    /// Writes the computed levels except for their documents, which are returned.
    ///
    /// # Errors
    /// I/O.
    pub(crate) fn write(
        self,
        levels: Vec<(LevelTarget<'_>, LevelDoc)>,
        columns: &mut [ObjectColumn],
    ) -> Result<Vec<WrittenLevel>, WriteError> {
        let metadata = &self.finest.metadata;
        let trees = metadata.spec.kind == Kind::Skeleton;
        let with_attributes = !metadata.spec.links.attributes.is_empty();
        let table = match trees && with_attributes {
            true => Some(self.link_table()?),
            false => None,
        };
        let many = levels.len();
        let mut picks = Vec::with_capacity(many);
        for (fine, (to, _)) in self.made.iter().zip(&levels) {
            picks.push(LevelPick::new(
                fine.vertices.records(),
                fine.links.records(),
                table.as_ref(),
                Writing::new(metadata, to.beside_reading(many))?,
            ));
        }
        self.finest.pick(&mut picks)?;
        if metadata.spec.takes_links() && !trees {
            match with_attributes {
                true => self.links_with_attributes(&mut picks)?,
                false => picks.iter_mut().try_for_each(|pick| self.links(pick))?,
            }
        }
        let picks = picks.into_iter().zip(levels);
        picks
            .map(|(pick, (_, doc))| pick.writing.finish(metadata, columns, doc))
            .collect()
    }

    /// All links of level 0 with their attributes.
    fn link_table(&self) -> Result<RecordBatch, WriteError> {
        let mut batches = Vec::new();
        self.finest.links(|_, batch| {
            batches.push(batch.clone());
            Ok(())
        })?;
        let schema = self.finest.metadata.no_links.schema();
        let schema = batches.first().map_or(schema, RecordBatch::schema);
        concat_batches(&schema, &batches).map_err(|error| {
            WriteError::data("level 0", error.to_string(), "batches of one schema")
        })
    }

    fn links(&self, pick: &mut LevelPick<'_, '_>) -> Result<(), WriteError> {
        let metadata = &self.finest.metadata;
        let mut ends = Vec::new();
        while let Some(record) = pick.links.peek()? {
            ends.extend(words(record).skip(1).map(u64::from));
            pick.links.next();
            if ends.len() >= BATCH {
                let some = std::mem::take(&mut ends);
                pick.writing
                    .push_links(metadata, some, (&metadata.no_links, &[]))?;
            }
        }
        pick.writing
            .push_links(metadata, ends, (&metadata.no_links, &[]))
    }

    fn links_with_attributes(&self, picks: &mut [LevelPick<'_, '_>]) -> Result<(), WriteError> {
        let metadata = &self.finest.metadata;
        self.finest.links(|first, batch| {
            let end = first + narrow("links", batch.num_rows())?;
            for pick in &mut *picks {
                let (mut rows, mut ends) = (Vec::new(), Vec::new());
                numbers(&mut pick.links, first..end, |row, record| {
                    rows.push(row);
                    ends.extend(words(record).skip(1).map(u64::from));
                    Ok(())
                })?;
                if !rows.is_empty() {
                    pick.writing.push_links(metadata, ends, (batch, &rows))?;
                }
            }
            Ok(())
        })
    }

    /// Computes the next level from the last one.
    ///
    /// # Errors
    /// Malformed data: a position that is not finite, or beyond the range of bin numbers. I/O.
    pub(crate) fn thin(&mut self, step: &PlannedLevel) -> Result<ComputedLevel, WriteError> {
        let (context, dims) = (self.finest.context(), self.finest.dims());
        let metric = self.metric();
        let (kind, placed) = (self.finest.metadata.spec.kind, self.finest.from.placed);
        let mut fine = self.made.last().unwrap_or(&self.base);
        let before = fine.vertices.len();
        let mut held = MeteredBytes::new(&context.meter);
        let mut dropped: Option<BitSet> = None;
        let sparse;
        if let Some(kept) = self.objects(fine, step)? {
            let marks = fine.of_objects(&kept)?;
            let mut links = PagedRecords::new(self.link_size(), &context);
            fine.links.each(|_, record| {
                for end in words(record).skip(1) {
                    if !marks.has(end)? {
                        return Ok(());
                    }
                }
                links.push(record)
            })?;
            sparse = fine.keep(&marks, &links, (dims, metric), &context)?.0;
            fine = &sparse;
            held.set(marks.memory());
            dropped = Some(marks);
        }
        let bins = &step.bin_shape;
        let sampled = step.sampling == Sampling::Curve;
        let found = match kind {
            Kind::PointCloud if sampled => self.sample_points(fine, step.share)?,
            Kind::PointCloud => self.points(fine, bins)?,
            Kind::Line if sampled => self.all(fine)?,
            Kind::Line => self.lines(fine, bins)?,
            Kind::Polyline | Kind::Streamline => self.chains(fine, bins)?,
            kind => self.contract(fine, kind, bins)?,
        };
        let mut vanished = Vanished::default();
        let (links, mut stays, kept) = match found.stays {
            KeptVertices::Marked(stays, kept) => {
                (PagedRecords::new(self.link_size(), &context), stays, kept)
            }
            KeptVertices::Linked(kept) => {
                let (links, mut stays) = self.left(fine, &kept, &context)?;
                self.mark(fine, &kept, &mut stays)?;
                if kind == Kind::Mesh {
                    vanished = self.vanished(fine, &kept, (&stays, bins))?;
                }
                (links, stays, Some(kept))
            }
        };
        let add = |moved: f64| {
            self.error
                .map(|error| error + moved.max(vanished.square).sqrt())
        };
        let error = found.moved.and_then(add);
        stays.count();
        let of_dropped = dropped.as_ref().map_or(0, BitSet::memory);
        held.set(of_dropped + stays.memory());
        let mut representatives = Vec::new();
        if let Some(kept) = kept.filter(|_| placed) {
            let mut second = Vec::with_capacity(index(fine.vertices.len()));
            kept.each(|_, kept| {
                second.push(stays.rank(word(kept, 0)?)?.unwrap_or(NONE));
                Ok(())
            })?;
            representatives = match &dropped {
                Some(dropped) => {
                    let first = |place| match dropped.rank(place)? {
                        Some(place) => {
                            let second = second.get(index(place)).copied();
                            second.or_bug(format_args!("no representative of vertex {place}"))
                        }
                        None => Ok(NONE),
                    };
                    (0..before).map(first).collect::<Result<_, WriteError>>()?
                }
                None => second,
            };
        }
        let (next, objects, step) = fine.keep(&stays, &links, (dims, metric), &context)?;
        let vertices = u64::from(next.vertices.len());
        self.made.push(next);
        self.error = error;
        Ok(ComputedLevel {
            before: u64::from(before),
            vertices,
            objects,
            error,
            vanished,
            step,
            representatives,
        })
    }

    /// The objects that a step keeps; `None` for all of them.
    fn objects(
        &self,
        fine: &LevelRecords,
        step: &PlannedLevel,
    ) -> Result<Option<Vec<bool>>, WriteError> {
        let objects = self.finest.metadata.ids.len();
        match step.sampling {
            _ if step.share >= 1.0 => Ok(None),
            // Without object index there are no ids.
            Sampling::Drawn(_) if objects <= 1 => Ok(None),
            Sampling::Drawn(seed) => {
                drawn(&fine.has_vertices(objects)?, step.share, seed).map(Some)
            }
            Sampling::Curve if self.finest.metadata.spec.kind == Kind::PointCloud => Ok(None),
            Sampling::Curve => self.sample_objects(fine, step.share).map(Some),
        }
    }

    fn link_size(&self) -> usize {
        link_size(self.finest.metadata.spec.links.width)
    }

    /// The remaining links, each once, in their order, with representatives as ends; and marks of these ends, if they decide which vertices are kept.
    fn left(
        &self,
        fine: &LevelRecords,
        representatives: &PagedRecords,
        context: &MemoryContext<'_>,
    ) -> Result<(PagedRecords, BitSet), WriteError> {
        let (joining, size) = (self.joining(), self.link_size());
        let mut stays = BitSet::new(fine.vertices.len());
        let mut links = PagedRecords::new(size, context);
        if fine.links.len() == 0 {
            return Ok((links, stays));
        }
        // Links with the same key are in one part, with their places among all links, by which they are sorted again.
        let bytes = u64::from(fine.links.len()) * wide(size + 4);
        let mut parts = Partitions::new(bytes, context)?;
        let mut place = 0_u32;
        let kept = |block: &VertexBlock<'_>, values: &mut Vec<u8>| {
            representatives.read(block.number, values)?;
            Ok(())
        };
        let find = EndpointLookup { context, size: 4 };
        find.ends(fine, kept, |link, values| {
            if let Some(left) = joining.link(words(values).collect()) {
                let number = word(link, 0)?;
                parts.push(FxBuildHasher.hash_one(&left.key), |out| {
                    for word in [place, number].iter().chain(&left.ends) {
                        out.extend_from_slice(&word.to_le_bytes());
                    }
                })?;
            }
            place += 1;
            Ok(())
        })?;
        let (parts, file, held) = parts.finish();
        let mut order = Shuffle::new(context);
        let work = |part: Bucket| {
            let mut records = part.read(&file)?;
            let mut seen = FxHashSet::default();
            let mut kept = 0;
            let size = size + 4;
            records::check_records(&records, size)?;
            for at in (0..records.len()).step_by(size) {
                let record = at..at + size;
                let ends = records.get(record.clone()).or_bug("a link is cut short")?;
                let ends = words(ends).skip(2);
                if joining
                    .link(ends.collect())
                    .is_some_and(|left| seen.insert(left.key))
                {
                    records.copy_within(record, kept);
                    kept += size;
                }
            }
            records.truncate(kept);
            Ok(records)
        };
        parallel::each(context.means.threads, parts.into_iter(), work, |records| {
            for record in records::records(&records, size + 4)? {
                if joining.kind == Kind::Mesh {
                    words(record).skip(2).try_for_each(|end| stays.set(end))?;
                }
                order.push(word(record, 0)?, |out| out.extend_from_slice(record))?;
            }
            Ok(())
        })?;
        drop(held);
        let order = order.finish();
        let mut of_block = MeteredBytes::new(&context.meter);
        for block in 0..fine.links.blocks() {
            let mut records: Vec<(u32, Vec<u8>)> = Vec::new();
            for piece in order.pieces(block) {
                for mut record in records::records(&piece?, size + 4)? {
                    let number = u32::from_le_bytes(records::take_array(&mut record)?);
                    records.push((number, record.to_vec()));
                }
            }
            of_block.set(records.len() * (size + 32));
            records.sort_unstable_by_key(|(number, _)| *number);
            for (_, record) in &records {
                links.push(record)?;
            }
        }
        Ok((links, stays))
    }

    /// Marks the kept vertices, which are their own representatives. The corners of the remaining faces of a mesh are marked already; marks one more
    /// vertex for each object without remaining faces.
    fn mark(
        &self,
        fine: &LevelRecords,
        representatives: &PagedRecords,
        stays: &mut BitSet,
    ) -> Result<(), WriteError> {
        if self.finest.metadata.spec.kind != Kind::Mesh {
            return representatives.each(|place, kept| {
                if word(kept, 0)? == place {
                    stays.set(place)?;
                }
                Ok(())
            });
        }
        let mut object = (NONE, true);
        let mut first = 0;
        let mut lost = BitSet::new(fine.vertices.len());
        let mut held = MeteredBytes::new(&self.finest.meter);
        held.set(lost.memory());
        fine.vertices.each(|place, record| {
            let owner = word(record, 1)?;
            if owner != object.0 {
                if !object.1 {
                    lost.set(first)?;
                }
                (object, first) = ((owner, false), place);
            }
            object.1 |= stays.has(place)?;
            Ok(())
        })?;
        if !object.1 {
            lost.set(first)?;
        }
        representatives.each(|place, kept| {
            if lost.has(place)? {
                stays.set(word(kept, 0)?)?;
            }
            Ok(())
        })
    }
}

/// Bytes of a link's record.
fn link_size(width: usize) -> usize {
    (width + 1) * 4
}
