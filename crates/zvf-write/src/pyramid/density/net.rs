//! Lines, graphs and meshes that are larger than the memory budget.
//!
//! A level waits in files: its vertices in their order, with object and position, and its links as pairs or faces of these.
//! What stands for a vertex is found out in parts of whole bins of whole objects, small enough to be held; what a link
//! needs to know of its ends is brought to it by way of the block of vertices that each end lies in. Of each vertex half
//! a byte is held at the most: whether it stays. Then level 0 is read with all that belongs to it, and what stays goes on to the writer.

use std::hash::BuildHasher;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use rustc_hash::{FxBuildHasher, FxHashSet};
use zvf_meta::{Kind, LevelDoc};

use super::about::{About, column};
use super::contract::Joining;
use super::ends::{Block, Find};
use super::finest::Finest;
use super::points::Point;
use super::sheet::{Desk, Marks, Parts, Records, Scatter, Sheet, word, words};
use super::write::{Target, Writing};
use super::{Coarse, Found, Numbered, Reading, Thinning, draw_flags, square, tables};
use crate::bucket::Bucket;
use crate::int::{index, narrow, wide};
use crate::pyramid::base::{self, ChosenBins};
use crate::pyramid::bins::NONE;
use crate::pyramid::median::Squares;
use crate::pyramid::meter::Counted;
use crate::pyramid::plan::Planned;
use crate::pyramid::reference::ObjectColumn;
use crate::{WriteError, parallel};

/// Links that go to the writer at a time.
const BATCH: usize = 1 << 14;

/// Vertices and links that are not held.
#[derive(Debug)]
pub(super) struct Net<'n> {
    pub(super) finest: Finest<'n>,
    pub(super) fine: Fine,
    error: f64,
}

/// A level.
#[derive(Debug)]
pub(super) struct Fine {
    /// Points, whose places are those in level 0, in their order.
    pub(super) vertices: Sheet,
    /// The number in level 0 and the ends of each link, in the order of these numbers.
    pub(super) links: Sheet,
}

impl<'n> Net<'n> {
    pub(super) fn new(from: Reading<'n>, about: About) -> Result<Self, WriteError> {
        let mut finest = Finest::new(from, about)?;
        let (desk, dims) = (finest.desk(), finest.dims());
        let mut vertices = Sheet::new(Point::size(dims), &desk);
        let mut record = Vec::new();
        finest.points(|point| {
            record.clear();
            point.write(dims, &mut record);
            vertices.push(&record)
        })?;
        let width = finest.about.spec.links.width;
        let mut links = Sheet::new(link_size(width), &desk);
        if finest.about.spec.takes_links() {
            finest.links(|first, batch| {
                let (ends, width) = tables::elements(&column(batch, "vertices")?);
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
                    links.push(&record)?;
                }
                Ok(())
            })?;
        }
        Ok(Self {
            finest,
            fine: Fine { vertices, links },
            error: 0.0,
        })
    }

    fn joining(&self) -> Joining {
        let spec = &self.finest.about.spec;
        Joining {
            kind: spec.kind,
            width: spec.links.width,
            directed: spec.links.directed,
        }
    }
}

/// Bytes of a link's record.
fn link_size(width: usize) -> usize {
    width.saturating_add(1).saturating_mul(4)
}

impl Thinning for Net<'_> {
    fn about(&self) -> &About {
        &self.finest.about
    }

    fn places(&mut self) -> Result<Option<Numbered>, WriteError> {
        self.finest.places()
    }

    fn choose(&mut self, chunk_shape: &[f64]) -> Result<ChosenBins, WriteError> {
        let (desk, dims) = (self.finest.desk(), self.finest.dims());
        let mut squares = Squares::new(desk.means.budget / 8, desk.means.folder);
        let size = dims.saturating_mul(8);
        let positions = |block: &Block<'_>, values: &mut Vec<u8>| {
            let records = block.vertices.chunks_exact(Point::size(dims));
            records
                .for_each(|record| values.extend_from_slice(record.get(8..).unwrap_or_default()));
            Ok(())
        };
        let find = Find { desk: &desk, size };
        find.ends(&self.fine, positions, |_, values| {
            let numbers = |bytes: &[u8]| {
                let numbers = bytes.as_chunks::<8>().0.iter();
                numbers.map(|number| f64::from_le_bytes(*number)).collect()
            };
            let ends: Vec<Vec<f64>> = values.chunks_exact(size.max(1)).map(numbers).collect();
            let steps = ends.iter().zip(ends.iter().skip(1));
            let steps = steps.map(|(a, b)| square(a, b));
            let mut steps = steps.filter(base::is_step);
            steps.try_for_each(|step| squares.push(step))
        })?;
        if let Some(square) = squares.median()? {
            return Ok(base::of_step(square.sqrt(), chunk_shape));
        }
        let each = |take: base::Take<'_>| {
            self.fine.vertices.each(|_, record| {
                let mut points = Point::read_all(record, dims);
                points.try_for_each(|point| take(point.position.get(..dims).unwrap_or_default()))
            })
        };
        base::spacing(each, dims, chunk_shape)
    }

    fn coarsen(
        &mut self,
        step: &Planned,
        columns: &mut [ObjectColumn],
        doc: LevelDoc,
        to: Target<'_>,
    ) -> Result<Coarse, WriteError> {
        let found = self.thin(step)?;
        let mut writing = Writing::new(&self.finest.about, to.beside_reading())?;
        self.write(&mut writing)?;
        let written = writing.finish(&self.finest.about, columns, doc)?;
        Ok(found.written(self.error, written))
    }

    fn most_held(&self) -> u64 {
        wide(self.finest.meter.most())
    }
}

impl Net<'_> {
    /// Hands the level on to the writer: vertices, then links.
    fn write(&mut self, writing: &mut Writing<'_>) -> Result<(), WriteError> {
        let mut vertices = self.fine.vertices.records();
        let below = |first: u32, rows: usize, out: &mut Vec<u32>| {
            let end = first.saturating_add(narrow("vertices", rows)?);
            out.clear();
            numbers(&mut vertices, end, |record| {
                out.push(word(record, 0).saturating_sub(first));
            })
        };
        self.finest.pick(below, writing)?;
        let about = &self.finest.about;
        let mut links = self.fine.links.records();
        let mut held = Counted::new(&self.finest.meter);
        if about.spec.links.attributes.is_empty() {
            let mut ends = Vec::new();
            while let Some(record) = links.peek()? {
                ends.extend(words(record).skip(1).map(u64::from));
                links.next();
                if ends.len() >= BATCH {
                    writing.push_links(about, std::mem::take(&mut ends), (&about.no_links, &[]))?;
                    held.set(writing.memory());
                }
            }
            return writing.push_links(about, ends, (&about.no_links, &[]));
        }
        self.finest.links(|first, batch| {
            let end = first.saturating_add(narrow("links", batch.num_rows())?);
            let (mut rows, mut ends) = (Vec::new(), Vec::new());
            numbers(&mut links, end, |record| {
                rows.push(word(record, 0).saturating_sub(first));
                ends.extend(words(record).skip(1).map(u64::from));
            })?;
            if rows.is_empty() {
                return Ok(());
            }
            writing.push_links(about, ends, (batch, &rows))?;
            held.set(writing.memory());
            Ok(())
        })
    }

    /// Makes the next level.
    fn thin(&mut self, step: &Planned) -> Result<Found, WriteError> {
        let (desk, before) = (self.finest.desk(), self.fine.vertices.len());
        let mut held = Counted::new(&desk.meter);
        let mut drawn = Marks::default();
        let some = draw_flags(self.finest.about.ids.len(), step)?;
        if let Some(kept) = &some {
            drawn = self.fine.of_objects(kept)?;
            let all = |end: u32| drawn.has(end);
            let mut links = Sheet::new(self.link_size(), &desk);
            self.fine
                .links
                .each(|_, record| match words(record).skip(1).all(all) {
                    true => links.push(record),
                    false => Ok(()),
                })?;
            self.fine = self.fine.keep(&drawn, &links, &desk)?.0;
            held.set(drawn.memory());
        }
        let bins = &step.bin_shape;
        let of = match self.finest.about.spec.kind {
            Kind::Line => self.lines(bins)?,
            kind => self.contract(kind, bins)?,
        };
        self.error += of.moved.sqrt();
        let (links, mut stays) = self.left(&of.kept, &desk)?;
        self.mark(&of.kept, &mut stays)?;
        stays.count();
        held.set(drawn.memory().saturating_add(stays.memory()));
        let mut stand_ins = Vec::new();
        if self.finest.from.placed {
            let mut second = Vec::with_capacity(index(self.fine.vertices.len()));
            of.kept.each(|_, kept| {
                second.push(stays.rank(word(kept, 0)).unwrap_or(NONE));
                Ok(())
            })?;
            let first = |place| {
                let place = drawn.rank(place).and_then(|place| second.get(index(place)));
                place.copied().unwrap_or(NONE)
            };
            stand_ins = match some {
                Some(_) => (0..before).map(first).collect(),
                None => second,
            };
        }
        let objects;
        (self.fine, objects) = self.fine.keep(&stays, &links, &desk)?;
        Ok(Found {
            before: u64::from(before),
            objects,
            stand_ins,
        })
    }

    fn link_size(&self) -> usize {
        link_size(self.finest.about.spec.links.width)
    }

    /// The links that are left, each once, in their order, with ends that stand for others; and marks for what they lead to, where
    /// that says what stays.
    fn left(&self, stand_ins: &Sheet, desk: &Desk<'_>) -> Result<(Sheet, Marks), WriteError> {
        let (joining, size) = (self.joining(), self.link_size());
        let mut stays = Marks::new(self.fine.vertices.len());
        let mut links = Sheet::new(size, desk);
        if self.fine.links.len() == 0 {
            return Ok((links, stays));
        }
        // Links of one key in one part, with their places among the links, which go on in this order.
        let bytes = u64::from(self.fine.links.len()).saturating_mul(wide(size.saturating_add(4)));
        let mut parts = Parts::new(bytes, desk)?;
        let mut place = 0_u32;
        let kept = |block: &Block<'_>, values: &mut Vec<u8>| {
            stand_ins.read(block.number, values)?;
            Ok(())
        };
        let find = Find { desk, size: 4 };
        find.ends(&self.fine, kept, |link, values| {
            if let Some(left) = joining.link(words(values).collect()) {
                let number = word(link, 0);
                parts.push(FxBuildHasher.hash_one(&left.key), |out| {
                    for word in [place, number].iter().chain(&left.ends) {
                        out.extend_from_slice(&word.to_le_bytes());
                    }
                })?;
            }
            place = place.saturating_add(1);
            Ok(())
        })?;
        let (parts, file, held) = parts.finish();
        let mut order = Scatter::new(desk);
        let work = |part: Bucket| {
            let mut records = part.read(&file)?;
            let mut seen = FxHashSet::default();
            let mut kept = 0;
            let size = size.saturating_add(4);
            for at in (0..records.len()).step_by(size) {
                let record = at..at.saturating_add(size);
                let ends = words(records.get(record.clone()).unwrap_or_default()).skip(2);
                if joining
                    .link(ends.collect())
                    .is_some_and(|left| seen.insert(left.key))
                {
                    records.copy_within(record, kept);
                    kept = kept.saturating_add(size);
                }
            }
            records.truncate(kept);
            Ok(records)
        };
        parallel::each(desk.means.threads, parts.into_iter(), work, |records| {
            for record in records.chunks_exact(size.saturating_add(4)) {
                if joining.kind == Kind::Mesh {
                    words(record).skip(2).for_each(|end| stays.set(end));
                }
                order.push(word(record, 0), |out| out.extend_from_slice(record))?;
            }
            Ok(())
        })?;
        drop(held);
        let order = order.finish();
        let mut of_block = Counted::new(&desk.meter);
        for block in 0..self.fine.links.blocks() {
            let mut records: Vec<Vec<u8>> = Vec::new();
            for piece in order.pieces(block) {
                let piece = piece?;
                let some = piece.chunks_exact(size.saturating_add(4));
                records.extend(some.map(<[u8]>::to_vec));
            }
            of_block.set(records.len().saturating_mul(size.saturating_add(32)));
            records.sort_unstable_by_key(|record| word(record, 0));
            for record in &records {
                links.push(record.get(4..).unwrap_or_default())?;
            }
        }
        Ok((links, stays))
    }

    /// Marks what stays: of meshes one vertex of each object that no face is left of, else what stands for itself.
    fn mark(&self, stand_ins: &Sheet, stays: &mut Marks) -> Result<(), WriteError> {
        if self.finest.about.spec.kind != Kind::Mesh {
            return stand_ins.each(|place, kept| {
                if word(kept, 0) == place {
                    stays.set(place);
                }
                Ok(())
            });
        }
        let mut object = (NONE, true);
        let mut first = 0;
        let mut lost = Marks::new(self.fine.vertices.len());
        let mut held = Counted::new(&self.finest.meter);
        held.set(lost.memory());
        self.fine.vertices.each(|place, record| {
            let owner = word(record, 1);
            if owner != object.0 {
                if !object.1 {
                    lost.set(first);
                }
                (object, first) = ((owner, false), place);
            }
            object.1 |= stays.has(place);
            Ok(())
        })?;
        if !object.1 {
            lost.set(first);
        }
        stand_ins.each(|place, kept| {
            if lost.has(place) {
                stays.set(word(kept, 0));
            }
            Ok(())
        })
    }
}

/// The records below a number, which is their first word.
fn numbers(
    records: &mut Records<'_>,
    end: u32,
    mut take: impl FnMut(&[u8]),
) -> Result<(), WriteError> {
    while let Some(record) = records.peek()?.filter(|record| word(record, 0) < end) {
        take(record);
        records.next();
    }
    Ok(())
}

impl Fine {
    /// Marks the vertices of some objects.
    fn of_objects(&self, kept: &[bool]) -> Result<Marks, WriteError> {
        let mut marks = Marks::new(self.vertices.len());
        self.vertices.each(|place, record| {
            if kept.get(index(word(record, 1))) == Some(&true) {
                marks.set(place);
            }
            Ok(())
        })?;
        marks.count();
        Ok(marks)
    }

    /// The vertices that are marked, with links between them; and how many objects they have.
    fn keep(
        &self,
        stays: &Marks,
        links: &Sheet,
        desk: &Desk<'_>,
    ) -> Result<(Self, u64), WriteError> {
        let mut vertices = self.vertices.like(desk);
        let (mut objects, mut last) = (0_u64, None);
        self.vertices.each(|place, record| {
            if !stays.has(place) {
                return Ok(());
            }
            let owner = Some(word(record, 1));
            objects = objects.saturating_add(u64::from(owner != last));
            last = owner;
            vertices.push(record)
        })?;
        let mut kept = self.links.like(desk);
        let mut link = Vec::new();
        links.each(|_, record| {
            link.clear();
            link.extend_from_slice(&word(record, 0).to_le_bytes());
            for end in words(record).skip(1) {
                let end = stays.rank(end).unwrap_or(NONE);
                link.extend_from_slice(&end.to_le_bytes());
            }
            kept.push(&link)
        })?;
        let links = kept;
        Ok((Self { vertices, links }, objects))
    }
}
