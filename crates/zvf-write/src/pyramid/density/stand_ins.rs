//! What stands for the vertices of a level that is not held: found out in parts of whole bins.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;
use zvf_meta::Kind;

use super::contract::Members;
use super::ends::{Block, Find};
use super::net::{Fine, Net};
use super::pieces::{Piece, Pieces};
use super::points::{Point, Thinner};
use super::sheet::{Marks, Parts, Scatter, Scattered, Sheet, word};
use super::simplify::{neighbours, simplify};
use super::thin;
use crate::bucket::Bucket;
use crate::int::{index, narrow, wide};
use crate::pyramid::bins::{NONE, bin_of};
use crate::pyramid::meter::Counted;
use crate::spill::SpillFile;
use crate::{WriteError, parallel};

/// What was found out of a level.
#[derive(Debug)]
pub(super) struct StandIns {
    pub(super) stays: Stays,
    /// The square of the largest distance of a vertex from what stands for it; none where that is not measured.
    pub(super) moved: Option<f64>,
}

/// Which vertices stay.
#[derive(Debug)]
pub(super) enum Stays {
    /// These. What stands for each vertex, if that is asked for.
    Marked(Marks, Option<Sheet>),
    /// What links and faces say, by what stands for each vertex.
    Linked(Sheet),
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

pub(super) fn push_pair(scatter: &mut Scatter, pair: [u32; 2]) -> Result<(), WriteError> {
    let [place, _] = pair;
    let pair = pair.map(u32::to_le_bytes);
    scatter.push(place, |out| out.extend_from_slice(pair.as_flattened()))
}

/// What stands for the vertices of a part: pairs of places, and the square of the largest distance.
type Stands = (Vec<[u32; 2]>, f64);

impl Net<'_> {
    /// Finds out what stands for each vertex, part by part.
    fn stand_ins<J: Send>(
        &self,
        fine: &Fine,
        parts: impl Iterator<Item = J> + Send,
        work: impl Fn(J) -> Result<Stands, WriteError> + Sync,
    ) -> Result<StandIns, WriteError> {
        let desk = self.finest.desk();
        let mut scatter = Scatter::new(&desk);
        let mut moved = 0.0_f64;
        parallel::each(desk.means.threads, parts, work, |(pairs, far)| {
            moved = moved.max(far);
            pairs
                .into_iter()
                .try_for_each(|pair| push_pair(&mut scatter, pair))
        })?;
        Ok(StandIns {
            stays: Stays::Linked(self.sheet(fine, &scatter.finish())?),
            moved: Some(moved),
        })
    }

    /// What stands for each vertex, in their order, of pairs of places.
    pub(super) fn sheet(&self, fine: &Fine, pairs: &Scattered) -> Result<Sheet, WriteError> {
        let desk = self.finest.desk();
        let mut all = Sheet::new(4, &desk);
        let (mut bytes, mut held) = (Vec::new(), Counted::new(&desk.meter));
        for block in 0..fine.vertices.blocks() {
            let first = fine.vertices.read(block, &mut bytes)?;
            let many = bytes.len() / Point::size(self.finest.dims());
            let mut kept = vec![NONE; many];
            for piece in pairs.pieces(block) {
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
        Ok(all)
    }

    /// Everything stays.
    pub(super) fn all(&self, fine: &Fine) -> Result<StandIns, WriteError> {
        let mut stays = Marks::new(fine.vertices.len());
        let mut kept = Sheet::new(4, &self.finest.desk());
        for place in 0..fine.vertices.len() {
            stays.set(place);
            kept.push(&place.to_le_bytes())?;
        }
        Ok(StandIns {
            stays: Stays::Marked(stays, Some(kept)),
            moved: Some(0.0),
        })
    }

    /// Points: one a bin. Parts are of bins.
    pub(super) fn points(&self, fine: &Fine, bins: &[f64]) -> Result<StandIns, WriteError> {
        let (desk, dims) = (self.finest.desk(), self.finest.dims());
        let placed = self.finest.from.placed;
        let bytes = u64::from(fine.vertices.len()).saturating_mul(wide(Point::size(dims)));
        let mut parts = Parts::new(bytes, &desk)?;
        fine.vertices.each(|place, record| {
            Point::read_all(record, dims).try_for_each(|point| {
                let bin = bin_of(point.position.get(..dims).unwrap_or_default(), bins)?;
                let point = Point { place, ..point };
                parts.push(FxBuildHasher.hash_one(bin), |out| point.write(dims, out))
            })
        })?;
        let (parts, file, held) = parts.finish();
        let thinner = Thinner {
            dims,
            bins,
            paired: placed,
            file: &file,
            meter: &desk.meter,
        };
        let mut marks = Marks::new(fine.vertices.len());
        let (mut pairs, mut moved) = (Scatter::new(&desk), 0.0_f64);
        let work = |part: Bucket| thinner.thin(&part);
        parallel::each(desk.means.threads, parts.into_iter(), work, |found| {
            moved = moved.max(found.moved);
            found.stays.iter().for_each(|point| marks.set(point.place));
            found
                .pairs
                .into_iter()
                .try_for_each(|pair| push_pair(&mut pairs, pair))
        })?;
        drop(held);
        self.marked(fine, marks, pairs, Some(moved))
    }

    /// What stays, and what stands for each vertex where that is asked for.
    pub(super) fn marked(
        &self,
        fine: &Fine,
        stays: Marks,
        pairs: Scatter,
        moved: Option<f64>,
    ) -> Result<StandIns, WriteError> {
        let kept = match self.finest.from.placed {
            true => Some(self.sheet(fine, &pairs.finish())?),
            false => None,
        };
        Ok(StandIns {
            stays: Stays::Marked(stays, kept),
            moved,
        })
    }

    /// Chains: piece by piece.
    pub(super) fn chains(&self, fine: &Fine, bins: &[f64]) -> Result<StandIns, WriteError> {
        let desk = self.finest.desk();
        let tolerance = bins.iter().copied().fold(f64::INFINITY, f64::min) / 2.0;
        let dims = self.finest.dims();
        let pieces = Pieces::new(&fine.vertices, dims);
        let placed = self.finest.from.placed;
        let mut marks = Marks::new(fine.vertices.len());
        let (mut pairs, mut moved) = (Scatter::new(&desk), 0.0_f64);
        let work = |piece: Result<Piece, WriteError>| {
            let piece = piece?;
            let (mut kept, mut pairs, mut moved) = (Vec::new(), Vec::new(), 0.0_f64);
            for (mut place, line) in piece.lines(dims) {
                let mut stays = vec![false; line.len()];
                moved = moved.max(simplify(&line, tolerance * tolerance, &mut stays));
                if placed {
                    for (at, stand_in) in neighbours(&line, &stays).enumerate() {
                        let [at, stand_in] =
                            [narrow("vertices", at)?, narrow("vertices", stand_in)?];
                        pairs.push([place.saturating_add(at), place.saturating_add(stand_in)]);
                    }
                }
                for stays in stays {
                    kept.extend(stays.then_some(place));
                    place = place.saturating_add(1);
                }
            }
            Ok((kept, pairs, moved))
        };
        parallel::each(desk.means.threads, pieces, work, |(kept, some, far)| {
            moved = moved.max(far);
            kept.into_iter().for_each(|place| marks.set(place));
            some.into_iter()
                .try_for_each(|pair| push_pair(&mut pairs, pair))
        })?;
        self.marked(fine, marks, pairs, Some(moved))
    }

    /// Lines: parts are of pairs of bins.
    pub(super) fn lines(&self, fine: &Fine, bins: &[f64]) -> Result<StandIns, WriteError> {
        let (desk, dims) = (self.finest.desk(), self.finest.dims());
        let size = Point::size(dims);
        let bytes = u64::from(fine.vertices.len()).saturating_mul(wide(size));
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
        fine.vertices.each(|place, record| {
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
        let found = self.stand_ins(fine, parts.into_iter(), work);
        drop(held);
        found
    }

    /// Graphs and meshes: parts are of bins of objects.
    pub(super) fn contract(
        &self,
        fine: &Fine,
        kind: Kind,
        bins: &[f64],
    ) -> Result<StandIns, WriteError> {
        let (desk, dims) = (self.finest.desk(), self.finest.dims());
        let size = Point::size(dims).saturating_add(4);
        let bytes = u64::from(fine.vertices.len()).saturating_mul(wide(size));
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
            find.blocks(&fine.vertices, None, |block| spread(block, &mut Vec::new()))?;
        } else {
            find.ends(fine, spread, |link, values| {
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
        let found = self.stand_ins(fine, parts, work);
        drop((of_vertices, of_links));
        found
    }
}
