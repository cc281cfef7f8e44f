//! Mesh vertices without a representative, because all faces of their part of the mesh collapsed to zero area.

use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::builder::LevelBuilder;
use super::level::{LevelRecords, Vanished};
use super::paged::{BitSet, PagedRecords, Partitions, word};
use super::points::PointVertex;
use super::representatives::read_part;
use crate::bin::{Bin, bin_of};
use crate::meter::MeteredBytes;
use zvf_encode::error::{OrBug, internal};
use zvf_encode::records::Bucket;
use zvf_encode::{WriteError, parallel};
use zvf_format::int::wide;

/// Bytes of memory for a vertex in addition to its point: two copies of its bin and object.
const VERTEX: usize = 96;

/// How often bins are doubled. Doubling never merges the bins on both sides of 0; a last pass with infinite bins puts each object into one bin.
const DOUBLED: i32 = 20;

impl LevelBuilder<'_> {
    /// Measures the distance of each vertex without a representative from the nearest kept vertex of its object in the same bin. Bins are doubled
    /// until they hold a kept vertex.
    ///
    /// # Cost
    /// Writes these vertices and the kept ones to a file; for each doubling, writes the vertices that are left and one kept vertex per bin.
    pub(super) fn vanished(
        &self,
        fine: &LevelRecords,
        representatives: &PagedRecords,
        (stays, bins): (&BitSet, &[f64]),
    ) -> Result<Vanished, WriteError> {
        let (context, dims, metric) = (self.finest.context(), self.finest.dims(), self.metric());
        let size = PointVertex::size(dims);
        let mut found = Vanished::default();
        let mut record = Vec::new();
        let mut push = |to: &mut PagedRecords, point: &PointVertex| {
            record.clear();
            point.write(dims, &mut record);
            to.push(&record)
        };
        let mut left = PagedRecords::new(size, &context);
        let mut representatives = representatives.records();
        let mut last = None;
        fine.each_point(dims, |place, point| {
            let representative = representatives.peek()?;
            let representative = word(representative.or_bug("a vertex without a record")?, 0)?;
            representatives.next();
            let vanished = !stays.has(representative)?;
            if vanished {
                found.vertices += 1;
                let other = last.replace(point.object) != Some(point.object);
                found.objects += u64::from(other);
            }
            match vanished || stays.has(place)? {
                true => push(&mut left, &PointVertex { place, ..point }),
                false => Ok(()),
            }
        })?;
        let mut open = found.vertices;
        for doubled in 1..=DOUBLED + 1 {
            if open == 0 {
                break;
            }
            let scale = match doubled {
                1..=DOUBLED => f64::from(doubled).exp2(),
                _ => f64::INFINITY,
            };
            let bins: Vec<f64> = bins.iter().map(|bin| bin * scale).collect();
            let key = |point: &PointVertex| -> Result<(u32, Bin), WriteError> {
                Ok((point.object, bin_of(point.axes(dims), &bins)?))
            };
            let mut parts = Partitions::new(u64::from(left.len()) * wide(size), &context)?;
            left.each(|_, record| {
                let point = PointVertex::take(&mut &*record, dims)?;
                let hash = FxBuildHasher.hash_one(key(&point)?);
                parts.push(hash, |out| out.extend_from_slice(record))
            })?;
            let (parts, file, held) = parts.finish();
            let work = |part: Bucket| {
                let points = read_part(&part, &file, size, |mut record| {
                    PointVertex::take(&mut record, dims)
                })?;
                let mut held = MeteredBytes::new(&context.meter);
                held.set(points.len() * (size_of::<PointVertex>() + VERTEX));
                let mut kept: FxHashMap<(u32, Bin), Vec<PointVertex>> = FxHashMap::default();
                let (mut lost, mut left, mut square) = (Vec::new(), Vec::new(), 0.0_f64);
                for point in points {
                    match stays.has(point.place)? {
                        true => kept.entry(key(&point)?).or_default().push(point),
                        false => lost.push(point),
                    }
                }
                for point in lost {
                    let near = kept.get(&key(&point)?).into_iter().flatten();
                    let near = near.map(|kept| metric.square(&kept.position, &point.position));
                    match near.min_by(f64::total_cmp) {
                        Some(near) => square = square.max(near),
                        None => left.push(point),
                    }
                }
                let open = left.len();
                // The first kept vertex of each bin, so that the result does not depend on the partition.
                let kept = kept.into_values();
                left.extend(kept.filter_map(|kept| kept.into_iter().min_by_key(|kept| kept.place)));
                Ok((left, wide(open), square))
            };
            open = 0;
            let mut next = left.like(&context);
            parallel::each(context.means.threads, parts.into_iter(), work, |part| {
                let (points, lost, square) = part;
                open += lost;
                found.square = found.square.max(square);
                points.iter().try_for_each(|point| push(&mut next, point))
            })?;
            drop(held);
            left = next;
        }
        internal!(
            open == 0,
            "{open} vertices of objects without a kept vertex"
        );
        Ok(found)
    }
}
