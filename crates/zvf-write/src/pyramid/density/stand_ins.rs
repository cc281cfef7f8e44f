//! What stands for the vertices of a level that is not held: found out in parts of whole bins.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;
use zvf_meta::Kind;

use super::contract::Members;
use super::ends::{Block, Find};
use super::net::Net;
use super::points::Point;
use super::sheet::{Parts, Scatter, Sheet, word};
use super::thin;
use crate::bucket::Bucket;
use crate::int::{index, narrow, wide};
use crate::pyramid::bins::{NONE, bin_of};
use crate::pyramid::meter::Counted;
use crate::spill::SpillFile;
use crate::{WriteError, parallel};

/// What stands for each vertex.
#[derive(Debug)]
pub(super) struct StandIns {
    /// Its place, or none.
    pub(super) kept: Sheet,
    /// The square of the largest distance.
    pub(super) moved: f64,
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
    ) -> Result<StandIns, WriteError> {
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
        let mut all = Sheet::new(4, &desk);
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
                .try_for_each(|kept| all.push(&kept.to_le_bytes()))?;
        }
        Ok(StandIns { kept: all, moved })
    }

    /// Lines: parts are of pairs of bins.
    pub(super) fn lines(&self, bins: &[f64]) -> Result<StandIns, WriteError> {
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
    pub(super) fn contract(&self, kind: Kind, bins: &[f64]) -> Result<StandIns, WriteError> {
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
