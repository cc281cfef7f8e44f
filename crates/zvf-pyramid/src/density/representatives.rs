//! Representatives for the vertices of a level that does not fit in memory, computed in parts of whole bins.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;
use zvf_meta::Kind;

use super::builder::LevelBuilder;
use super::contract::ContractedBins;
use super::endpoints::{EndpointLookup, VertexBlock};
use super::level::{KeptVertices, LevelRecords};
use super::paged::{BitSet, PagedRecords, Partitions, Shuffle, Shuffled, word};
use super::pieces::{ChainRun, ChainRuns};
use super::points::{PointVertex, Thinner};
use super::simplify::neighbours;
use super::thin;
use crate::base::beside_space;
use crate::bin::bin_of;
use crate::bins::NONE;
use crate::meter::MeteredBytes;
use zvf_encode::error::{OrBug, internal, narrow};
use zvf_encode::records::{Bucket, SpillFile, records, take_array};
use zvf_encode::{WriteError, parallel};
use zvf_format::int::{index, wide};

/// The representatives of a level.
#[derive(Debug)]
pub(super) struct Representatives {
    pub(super) stays: KeptVertices,
    /// The square of the largest distance of a vertex from its representative; `None` if it is not measured.
    pub(super) moved: Option<f64>,
}

/// Bytes held for a vertex in addition to its point: for lines bin and representative, twice; for graphs and meshes bin, object, set and choice.
const LINE: usize = 64;
const MEMBER: usize = 160;

/// The records of a part, each converted by `read`.
pub(super) fn read_part<T>(
    part: &Bucket,
    file: &SpillFile,
    size: usize,
    read: impl Fn(&[u8]) -> Result<T, WriteError>,
) -> Result<Vec<T>, WriteError> {
    let mut all = Vec::new();
    for piece in part.pieces(file) {
        for record in records(&piece?, size)? {
            all.push(read(record)?);
        }
    }
    Ok(all)
}

pub(super) fn push_pair(shuffle: &mut Shuffle, pair: [u32; 2]) -> Result<(), WriteError> {
    let [place, _] = pair;
    let pair = pair.map(u32::to_le_bytes);
    shuffle.push(place, |out| out.extend_from_slice(pair.as_flattened()))
}

/// The representatives of a part: pairs of places, and the square of the largest distance.
type PartRepresentatives = (Vec<[u32; 2]>, f64);

impl LevelBuilder<'_> {
    /// Computes the representative of each vertex, part by part.
    fn representatives<J: Send>(
        &self,
        fine: &LevelRecords,
        parts: impl Iterator<Item = J> + Send,
        work: impl Fn(J) -> Result<PartRepresentatives, WriteError> + Sync,
    ) -> Result<Representatives, WriteError> {
        let context = self.finest.context();
        let mut shuffle = Shuffle::new(&context);
        let mut moved = 0.0_f64;
        parallel::each(context.means.threads, parts, work, |(pairs, far)| {
            moved = moved.max(far);
            pairs
                .into_iter()
                .try_for_each(|pair| push_pair(&mut shuffle, pair))
        })?;
        Ok(Representatives {
            stays: KeptVertices::Linked(self.by_vertex(fine, &shuffle.finish())?),
            moved: Some(moved),
        })
    }

    /// Sorts pairs of places into the representative of each vertex, in the order of vertices.
    pub(super) fn by_vertex(
        &self,
        fine: &LevelRecords,
        pairs: &Shuffled,
    ) -> Result<PagedRecords, WriteError> {
        let context = self.finest.context();
        let mut all = PagedRecords::new(4, &context);
        let (mut bytes, mut held) = (Vec::new(), MeteredBytes::new(&context.meter));
        for block in 0..fine.vertices.blocks() {
            let first = fine.vertices.read(block, &mut bytes)?;
            let many = bytes.len() / PointVertex::size(self.finest.dims());
            let mut kept = vec![NONE; many];
            for piece in pairs.pieces(block) {
                for pair in records(&piece?, 8)? {
                    let place = word(pair, 0)?.checked_sub(first);
                    let slot = place.and_then(|place| kept.get_mut(index(place)));
                    *slot.or_bug("a representative of a vertex in another block")? = word(pair, 1)?;
                }
            }
            held.set(bytes.len() + size_of_val(&*kept));
            kept.iter()
                .try_for_each(|kept| all.push(&kept.to_le_bytes()))?;
        }
        Ok(all)
    }

    /// Keeps all vertices of the chosen objects. The distance of the other vertices has no bound.
    pub(super) fn all(&self, fine: &LevelRecords) -> Result<Representatives, WriteError> {
        let mut stays = BitSet::new(fine.vertices.len());
        let mut kept = PagedRecords::new(4, &self.finest.context());
        for place in 0..fine.vertices.len() {
            stays.set(place)?;
            kept.push(&place.to_le_bytes())?;
        }
        Ok(Representatives {
            stays: KeptVertices::Marked(stays, Some(kept)),
            moved: None,
        })
    }

    /// Points: one per bin. Parts have whole bins.
    pub(super) fn points(
        &self,
        fine: &LevelRecords,
        bins: &[f64],
    ) -> Result<Representatives, WriteError> {
        let (context, dims) = (self.finest.context(), self.finest.dims());
        let placed = self.finest.from.placed;
        let bytes = u64::from(fine.vertices.len()) * wide(PointVertex::size(dims));
        let mut parts = Partitions::new(bytes, &context)?;
        fine.each_point(dims, |place, point| {
            let bin = bin_of(point.axes(dims), bins)?;
            let point = PointVertex { place, ..point };
            parts.push(FxBuildHasher.hash_one(bin), |out| point.write(dims, out))
        })?;
        let (parts, file, held) = parts.finish();
        let thinner = Thinner {
            dims,
            bins,
            metric: self.metric(),
            paired: placed,
            file: &file,
            meter: &context.meter,
        };
        let mut marks = BitSet::new(fine.vertices.len());
        let (mut pairs, mut moved) = (Shuffle::new(&context), 0.0_f64);
        let work = |part: Bucket| thinner.thin(&part);
        parallel::each(context.means.threads, parts.into_iter(), work, |found| {
            moved = moved.max(found.moved);
            found
                .stays
                .iter()
                .try_for_each(|point| marks.set(point.place))?;
            found
                .pairs
                .into_iter()
                .try_for_each(|pair| push_pair(&mut pairs, pair))
        })?;
        drop(held);
        self.marked(fine, marks, pairs, Some(moved))
    }

    /// The kept vertices, and the representative of each vertex if requested.
    pub(super) fn marked(
        &self,
        fine: &LevelRecords,
        stays: BitSet,
        pairs: Shuffle,
        moved: Option<f64>,
    ) -> Result<Representatives, WriteError> {
        let kept = match self.finest.from.placed {
            true => Some(self.by_vertex(fine, &pairs.finish())?),
            false => None,
        };
        Ok(Representatives {
            stays: KeptVertices::Marked(stays, kept),
            moved,
        })
    }

    /// Chains: piece by piece.
    pub(super) fn chains(
        &self,
        fine: &LevelRecords,
        bins: &[f64],
    ) -> Result<Representatives, WriteError> {
        let context = self.finest.context();
        let spec = &self.finest.metadata.spec;
        let metric = self.metric();
        let of_space = bins.iter().zip(beside_space(&spec.axes));
        let of_space = of_space.filter(|(_, time)| !time).map(|(bin, _)| *bin);
        let tolerance = of_space.fold(f64::INFINITY, f64::min) / 2.0;
        let dims = self.finest.dims();
        let pieces = ChainRuns::new(&fine.vertices, dims);
        let placed = self.finest.from.placed;
        let mut marks = BitSet::new(fine.vertices.len());
        let (mut pairs, mut moved) = (Shuffle::new(&context), 0.0_f64);
        let work = |piece: Result<ChainRun, WriteError>| {
            let piece = piece?;
            let (mut kept, mut pairs, mut moved) = (Vec::new(), Vec::new(), 0.0_f64);
            for (mut place, line) in piece.lines(dims) {
                let mut stays = vec![false; line.len()];
                moved = moved.max(metric.simplify(&line, tolerance * tolerance, &mut stays));
                if placed {
                    for (at, representative) in neighbours(&line, &stays, metric).enumerate() {
                        let at = narrow("vertices", at)?;
                        let representative = narrow("vertices", representative)?;
                        pairs.push([place + at, place + representative]);
                    }
                }
                for stays in stays {
                    kept.extend(stays.then_some(place));
                    place += 1;
                }
            }
            Ok((kept, pairs, moved))
        };
        parallel::each(context.means.threads, pieces, work, |(kept, some, far)| {
            moved = moved.max(far);
            kept.into_iter().try_for_each(|place| marks.set(place))?;
            some.into_iter()
                .try_for_each(|pair| push_pair(&mut pairs, pair))
        })?;
        self.marked(fine, marks, pairs, Some(moved))
    }

    /// Lines: parts have whole pairs of bins.
    pub(super) fn lines(
        &self,
        fine: &LevelRecords,
        bins: &[f64],
    ) -> Result<Representatives, WriteError> {
        let (context, dims) = (self.finest.context(), self.finest.dims());
        let metric = self.metric();
        let size = PointVertex::size(dims);
        let bytes = u64::from(fine.vertices.len()) * wide(size);
        let mut parts = Partitions::new(bytes, &context)?;
        let mut push = |line: &[PointVertex]| {
            let [a, b] = line else { return Ok(()) };
            let ends = [a, b].map(|end| end.axes(dims));
            let pair = thin::pair_of(ends, bins)?;
            parts.push(FxBuildHasher.hash_one(pair), |out| {
                line.iter().for_each(|end| end.write(dims, out));
            })
        };
        // An object with three vertices is not a line, so more are not collected.
        let mut line: Vec<PointVertex> = Vec::with_capacity(3);
        fine.each_point(dims, |place, point| {
            if line.last().is_some_and(|last| last.object != point.object) {
                push(&line)?;
                line.clear();
            }
            if line.len() < 3 {
                line.push(PointVertex { place, ..point });
            }
            Ok(())
        })?;
        push(&line)?;
        let (parts, file, held) = parts.finish();
        let work = |part: Bucket| {
            let points = read_part(&part, &file, size, |mut record| {
                PointVertex::take(&mut record, dims)
            })?;
            internal!(
                points.len().is_multiple_of(2),
                "{} ends of lines",
                points.len()
            );
            let mut held = MeteredBytes::new(&context.meter);
            held.set(points.len() * (size_of::<PointVertex>() + LINE));
            // Both ends of each line are among the points.
            let lines: Vec<[&[f64]; 2]> = points
                .as_chunks::<2>()
                .0
                .iter()
                .map(|ends| ends.each_ref().map(|end| end.axes(dims)))
                .collect();
            let mut ends = Vec::with_capacity(points.len());
            let far = thin::pairs(&lines, (bins, metric), |end, kept| ends.push([end, kept]))?;
            let place = |end: usize| -> Result<u32, WriteError> {
                let point = points.get(end).or_bug(format_args!("no end {end}"))?;
                Ok(point.place)
            };
            let pairs = ends
                .into_iter()
                .map(|[end, kept]| Ok([place(end)?, place(kept)?]));
            Ok((pairs.collect::<Result<_, WriteError>>()?, far))
        };
        let found = self.representatives(fine, parts.into_iter(), work);
        drop(held);
        found
    }

    /// Graphs and meshes: parts have whole bins of objects.
    pub(super) fn contract(
        &self,
        fine: &LevelRecords,
        kind: Kind,
        bins: &[f64],
    ) -> Result<Representatives, WriteError> {
        let (context, dims) = (self.finest.context(), self.finest.dims());
        let metric = self.metric();
        let size = PointVertex::size(dims) + 4;
        let bytes = u64::from(fine.vertices.len()) * wide(size);
        let mut vertices = Partitions::new(bytes, &context)?;
        let mut links = Partitions::of(vertices.len(), &context)?;
        let mut spread = |block: &VertexBlock<'_>, values: &mut Vec<u8>| {
            let degrees = block.degrees(dims)?;
            let points = PointVertex::read_all(block.vertices, dims)?;
            for ((point, place), degree) in points.zip(block.first..).zip(degrees) {
                let point = point?;
                let bin = bin_of(point.axes(dims), bins)?;
                let hash = FxBuildHasher.hash_one((point.object, bin));
                values.extend_from_slice(&hash.to_le_bytes());
                let point = PointVertex { place, ..point };
                vertices.push(hash, |out| {
                    point.write(dims, out);
                    out.extend_from_slice(&degree.to_le_bytes());
                })?;
            }
            Ok(())
        };
        let find = EndpointLookup {
            context: &context,
            size: 8,
        };
        if kind == Kind::Mesh {
            // Faces do not influence representatives.
            find.blocks(&fine.vertices, None, |block| spread(block, &mut Vec::new()))?;
        } else {
            find.ends(fine, spread, |link, values| {
                // Only links with two ends merge their ends.
                let ([a, b], []) = values.as_chunks::<8>() else {
                    return Ok(());
                };
                if a != b {
                    return Ok(());
                }
                let ends = link.get(4..).or_bug("a link is cut short")?;
                links.push(u64::from_le_bytes(*a), |out| out.extend_from_slice(ends))
            })?;
        }
        let (vertices, vertex_file, of_vertices) = vertices.finish();
        let (links, link_file, of_links) = links.finish();
        let work = |(vertices, links): (Bucket, Bucket)| {
            let some = read_part(&vertices, &vertex_file, size, |mut record| {
                let point = PointVertex::take(&mut record, dims)?;
                Ok((point, u32::from_le_bytes(take_array(&mut record)?)))
            })?;
            let (points, degrees): (Vec<PointVertex>, Vec<u32>) = some.into_iter().unzip();
            let mut held = MeteredBytes::new(&context.meter);
            held.set(points.len() * (size_of::<PointVertex>() + MEMBER));
            let owner = points.iter().map(|point| point.object).collect();
            // A number without a member has no bin; the look-up of bins reports it.
            let position = |at: u32| {
                points
                    .get(index(at))
                    .map_or(&[][..], |point| point.axes(dims))
            };
            let members = ContractedBins::new(owner, position, (bins, metric))?;
            let kept = match kind {
                Kind::Mesh => members.clustered(dims)?,
                _ => {
                    let at = |place: u32| {
                        let at = points.binary_search_by_key(&place, |point| point.place);
                        let at = at.map_err(|_| WriteError::bug("an end in another part"))?;
                        narrow("vertices", at)
                    };
                    let links = read_part(&links, &link_file, 8, |link| {
                        Ok([at(word(link, 0)?)?, at(word(link, 1)?)?])
                    })?;
                    members.connected(&degrees, links.into_iter(), bins)?
                }
            };
            let far = members.moved(&kept);
            let pairs = points.iter().zip(kept).map(|(point, kept)| {
                let kept = points
                    .get(index(kept))
                    .or_bug(format_args!("no member {kept}"))?;
                Ok([point.place, kept.place])
            });
            Ok((pairs.collect::<Result<_, WriteError>>()?, far))
        };
        let parts = vertices.into_iter().zip(links);
        let found = self.representatives(fine, parts, work);
        drop((of_vertices, of_links));
        found
    }
}
