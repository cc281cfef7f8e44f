//! Lines, graphs and meshes that are larger than the memory budget.
//!
//! A level waits in files: its vertices in their order, with object and position, and its links as pairs or faces of these.
//! What stands for a vertex is found out in parts of whole bins of whole objects, small enough to be held; what a link
//! needs to know of its ends is brought to it by way of the block of vertices that each end lies in. Of each vertex two
//! bits are held, whether it stays. Then level 0 is read with all that belongs to it, and what stays goes on to the writer.

use std::hash::BuildHasher;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use rustc_hash::{FxBuildHasher, FxHashSet};
use zvf_meta::{Kind, LevelDoc};

use super::about::{About, column};
use super::contract::{Joining, Members};
use super::ends::{Block, Find};
use super::finest::Finest;
use super::points::Point;
use super::sheet::{Desk, Marks, Parts, Records, Scatter, Sheet, word, words};
use super::write::{Target, Writing};
use super::{Coarse, Numbered, Reading, Thinning, draw_flags, square, tables, thin};
use crate::bucket::Bucket;
use crate::int::{index, narrow, wide};
use crate::pyramid::base::{self, ChosenBins};
use crate::pyramid::bins::{NONE, bin_of};
use crate::pyramid::median::Squares;
use crate::pyramid::meter::Counted;
use crate::pyramid::plan::Planned;
use crate::pyramid::reference::ObjectColumn;
use crate::spill::SpillFile;
use crate::{WriteError, parallel};

/// Links that go to the writer at a time.
const BATCH: usize = 1 << 14;

/// Vertices and links that are not held.
#[derive(Debug)]
pub(super) struct Net<'n> {
    finest: Finest<'n>,
    fine: Fine,
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
        let made = self.thin(step)?;
        let budget = to.budget / 2;
        let mut writing = Writing::new(&self.finest.about, Target { budget, ..to })?;
        self.write(&mut writing)?;
        Ok(Coarse {
            before: u64::from(made.before),
            objects: made.objects,
            error: self.error,
            stand_ins: made.stand_ins,
            written: writing.finish(&self.finest.about, columns, doc)?,
        })
    }

    fn most_held(&self) -> u64 {
        wide(self.finest.meter.most())
    }
}

/// What was found out about a level.
#[derive(Debug)]
struct Made {
    before: u32,
    objects: u64,
    stand_ins: Vec<u32>,
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
    fn thin(&mut self, step: &Planned) -> Result<Made, WriteError> {
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
        let found = match self.finest.about.spec.kind {
            Kind::Line => self.lines(bins)?,
            kind => self.contract(kind, bins)?,
        };
        self.error += found.moved.sqrt();
        let (links, mut stays) = self.left(&found.stand_ins, &desk)?;
        self.mark(&found.stand_ins, &mut stays)?;
        stays.count();
        held.set(drawn.memory().saturating_add(stays.memory()));
        let mut stand_ins = Vec::new();
        if self.finest.from.placed {
            let mut second = Vec::with_capacity(index(self.fine.vertices.len()));
            found.stand_ins.each(|_, kept| {
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
        Ok(Made {
            before,
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

/// What stands for each vertex.
#[derive(Debug)]
struct Found {
    /// Its place, or none.
    stand_ins: Sheet,
    /// The square of the largest distance.
    moved: f64,
}

/// Bytes that are held of a vertex beside its point: of a line pair of bins and stand-in; of others bin, object, set, choice.
const LINE: usize = 64;
const MEMBER: usize = 160;

/// The records of a part that `read` makes something of.
fn read_part<T>(
    part: &Bucket,
    file: &SpillFile,
    size: usize,
    read: impl Fn(&[u8]) -> Option<T>,
) -> Result<Vec<T>, WriteError> {
    let mut all = Vec::new();
    for piece in part.pieces(file) {
        all.extend(piece?.chunks_exact(size).filter_map(&read));
    }
    Ok(all)
}

/// What stands for the vertices of a part: pairs of places, and the square of the largest distance.
type Stands = (Vec<[u32; 2]>, f64);

impl Net<'_> {
    /// Finds out what stands for each vertex, part by part.
    fn stand_ins<J: Send>(
        &self,
        parts: impl Iterator<Item = J> + Send,
        work: impl Fn(J) -> Result<Stands, WriteError> + Sync,
    ) -> Result<Found, WriteError> {
        let desk = self.finest.desk();
        let mut scatter = Scatter::new(&desk);
        let mut moved = 0.0_f64;
        parallel::each(desk.means.threads, parts, work, |(pairs, far)| {
            moved = moved.max(far);
            pairs.into_iter().try_for_each(|pair| {
                let pair: [[u8; 4]; 2] = pair.map(u32::to_le_bytes);
                let place = u32::from_le_bytes(pair[0]);
                scatter.push(place, |out| out.extend_from_slice(pair.as_flattened()))
            })
        })?;
        let scattered = scatter.finish();
        let mut stand_ins = Sheet::new(4, &desk);
        let (mut bytes, mut held) = (Vec::new(), Counted::new(&desk.meter));
        for block in 0..self.fine.vertices.blocks() {
            let first = self.fine.vertices.read(block, &mut bytes)?;
            let many = bytes.len() / Point::size(self.finest.dims());
            let mut kept = vec![NONE; many];
            for piece in scattered.pieces(block) {
                for pair in piece?.as_chunks::<8>().0 {
                    let place = index(word(pair, 0).saturating_sub(first));
                    kept.get_mut(place)
                        .into_iter()
                        .for_each(|slot| *slot = word(pair, 1));
                }
            }
            held.set(bytes.len().saturating_add(size_of_val(&*kept)));
            kept.iter()
                .try_for_each(|kept| stand_ins.push(&kept.to_le_bytes()))?;
        }
        Ok(Found { stand_ins, moved })
    }

    /// Lines: parts are of pairs of bins.
    fn lines(&self, bins: &[f64]) -> Result<Found, WriteError> {
        let (desk, dims) = (self.finest.desk(), self.finest.dims());
        let size = Point::size(dims);
        let bytes = u64::from(self.fine.vertices.len()).saturating_mul(wide(size));
        let mut parts = Parts::new(bytes, &desk)?;
        let mut push = |line: &[Point]| {
            let [a, b] = line else { return Ok(()) };
            let ends = [a, b].map(|end| end.position.get(..dims).unwrap_or_default());
            let pair = thin::pair_of(ends, bins)?;
            parts.push(FxBuildHasher.hash_one(pair), |out| {
                line.iter().for_each(|end| end.write(dims, out));
            })
        };
        // Only the first vertices of an object are looked at: of three it is no line.
        let mut line: Vec<Point> = Vec::with_capacity(3);
        self.fine.vertices.each(|place, record| {
            for point in Point::read_all(record, dims) {
                if line.last().is_some_and(|last| last.object != point.object) {
                    push(&line)?;
                    line.clear();
                }
                if line.len() < 3 {
                    line.push(Point { place, ..point });
                }
            }
            Ok(())
        })?;
        push(&line)?;
        let (parts, file, held) = parts.finish();
        let work = |part: Bucket| {
            let points = read_part(&part, &file, size, |record| {
                Point::read_all(record, dims).next()
            })?;
            let mut held = Counted::new(&desk.meter);
            held.set(points.len().saturating_mul(size_of::<Point>() + LINE));
            let position = |end: u32| {
                let point: Option<&Point> = points.get(index(end));
                point
                    .and_then(|point| point.position.get(..dims))
                    .unwrap_or_default()
            };
            let place = |end: u32| points.get(index(end)).map_or(NONE, |point| point.place);
            let mut pairs = Vec::with_capacity(points.len());
            let lines = (0..narrow("vertices", points.len())?).step_by(2);
            let far = thin::pairs(lines, position, bins, |end, kept| {
                pairs.push([place(end), place(kept)]);
            })?;
            Ok((pairs, far))
        };
        let found = self.stand_ins(parts.into_iter(), work);
        drop(held);
        found
    }

    /// Graphs and meshes: parts are of bins of objects.
    fn contract(&self, kind: Kind, bins: &[f64]) -> Result<Found, WriteError> {
        let (desk, dims) = (self.finest.desk(), self.finest.dims());
        let size = Point::size(dims).saturating_add(4);
        let bytes = u64::from(self.fine.vertices.len()).saturating_mul(wide(size));
        let mut vertices = Parts::new(bytes, &desk)?;
        let mut links = Parts::of(vertices.len(), &desk)?;
        let mut spread = |block: &Block<'_>, values: &mut Vec<u8>| {
            let degrees = block.degrees(dims)?;
            let points = Point::read_all(block.vertices, dims);
            for ((point, place), degree) in points.zip(block.first..).zip(degrees) {
                let bin = bin_of(point.position.get(..dims).unwrap_or_default(), bins)?;
                let hash = FxBuildHasher.hash_one((point.object, bin));
                values.extend_from_slice(&hash.to_le_bytes());
                let point = Point { place, ..point };
                vertices.push(hash, |out| {
                    point.write(dims, out);
                    out.extend_from_slice(&degree.to_le_bytes());
                })?;
            }
            Ok(())
        };
        let find = Find {
            desk: &desk,
            size: 8,
        };
        if kind == Kind::Mesh {
            // Faces have no say in what stands for a vertex.
            find.blocks(&self.fine.vertices, None, |block| {
                spread(block, &mut Vec::new())
            })?;
        } else {
            find.ends(&self.fine, spread, |link, values| {
                let ([a, b], []) = values.as_chunks::<8>() else {
                    return Ok(());
                };
                if a != b {
                    return Ok(());
                }
                let ends = link.get(4..).unwrap_or_default();
                links.push(u64::from_le_bytes(*a), |out| out.extend_from_slice(ends))
            })?;
        }
        let (vertices, vertex_file, of_vertices) = vertices.finish();
        let (links, link_file, of_links) = links.finish();
        let work = |(vertices, links): (Bucket, Bucket)| {
            let some = read_part(&vertices, &vertex_file, size, |record| {
                let point = Point::read_all(record, dims).next()?;
                Some((
                    point,
                    record
                        .last_chunk::<4>()
                        .map_or(0, |last| u32::from_le_bytes(*last)),
                ))
            })?;
            let (points, degrees): (Vec<Point>, Vec<u32>) = some.into_iter().unzip();
            let mut held = Counted::new(&desk.meter);
            held.set(points.len().saturating_mul(size_of::<Point>() + MEMBER));
            let owner = points.iter().map(|point| point.object).collect();
            let position = |at: u32| {
                let point = points.get(index(at));
                point
                    .and_then(|point| point.position.get(..dims))
                    .unwrap_or_default()
            };
            let members = Members::new(owner, position, bins)?;
            let kept = match kind {
                Kind::Mesh => members.clustered(dims)?,
                _ => {
                    let at = |place: u32| {
                        let at = points
                            .binary_search_by_key(&place, |point| point.place)
                            .ok()?;
                        u32::try_from(at).ok()
                    };
                    let links = read_part(&links, &link_file, 8, |link| {
                        Some([at(word(link, 0))?, at(word(link, 1))?])
                    })?;
                    members.connected(&degrees, links.into_iter(), bins)?
                }
            };
            let far = members.moved(&kept);
            let place = |kept: u32| points.get(index(kept)).map_or(NONE, |point| point.place);
            let pairs = points
                .iter()
                .zip(kept)
                .map(|(point, kept)| [point.place, place(kept)]);
            Ok((pairs.collect(), far))
        };
        let parts = vertices.into_iter().zip(links);
        let found = self.stand_ins(parts, work);
        drop((of_vertices, of_links));
        found
    }
}
