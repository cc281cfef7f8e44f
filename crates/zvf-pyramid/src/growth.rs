//! Chunks that grow from level to level.

use rustc_hash::FxHashSet;
use tokio::runtime::Handle;
use zvf_meta::{Kind, ZarrVectors};
use zvf_store::{Need, Store};

use super::base::beside_space;
use super::density::ComputedLevel;
use super::plan::{PlannedLevel, Sampling, holds_bins};
use zvf_encode::WriteError;
use zvf_encode::error::OrBug;
use zvf_format::int::wide;

/// The largest factor by which chunks grow.
const MOST: i64 = 1 << 20;
/// The least width of a chunk of a kind with chains, as a multiple of the mean distance of consecutive vertices; for graphs, skeletons and meshes, of the
/// largest bin if that is larger.
const STEPS: f64 = 4.0;

/// The chunks of level 0, from which the chunk shapes of coarse levels are chosen.
#[derive(Debug)]
pub(crate) struct Growth {
    kind: Kind,
    /// Chunks of level 0 with vertices.
    chunks: Vec<Vec<i64>>,
    vertices: u64,
    chunk_shape: Vec<f64>,
    bin_shape: Vec<f64>,
    /// For each axis, whether it is not an axis of space.
    beside: Vec<bool>,
}

impl Growth {
    /// # Errors
    /// The errors of reading level 0.
    pub(crate) fn new(
        store: &Store,
        handle: &Handle,
        vertices: u64,
        about: &ZarrVectors,
    ) -> Result<Self, WriteError> {
        let level = handle.block_on(store.level(0, &Need::nothing()))?;
        let lead = level.key_rank().checked_sub(level.dims());
        let lead = lead.or_bug("keys of chunks with fewer components than axes")?;
        let presence = level.vertices().presence();
        let chunks = presence.iter();
        let bins = about.base_bin_shape.as_ref();
        Ok(Self {
            kind: store.kind(),
            chunks: chunks
                .map(|chunk| chunk.iter().copied().skip(lead).collect())
                .collect(),
            vertices,
            beside: beside_space(store.root().axes()),
            chunk_shape: about.chunk_shape.clone(),
            bin_shape: bins.unwrap_or(&about.chunk_shape).clone(),
        })
    }

    /// Sets the smallest chunk shape of a level with which chunks have about as many vertices as those of level 0, are wider than most steps between
    /// consecutive vertices, and are a multiple of the level's bins.
    pub(crate) fn grow(&self, step: &mut PlannedLevel, found: &ComputedLevel) {
        let sampled = step.sampling == Sampling::Curve;
        let free = sampled && matches!(self.kind, Kind::PointCloud | Kind::Line);
        let wide_enough = match self.kind {
            Kind::PointCloud | Kind::Line => 0.0,
            Kind::Polyline | Kind::Streamline => found.step * STEPS,
            _ => found.step.max(self.largest(&step.bin_shape)) * STEPS,
        };
        let narrowest = self
            .of_space(&self.chunk_shape)
            .fold(f64::INFINITY, f64::min);
        let fits = |times: i64| {
            let bins = self.chunk_shape.iter().zip(&step.bin_shape);
            let mut bins = bins.map(|(chunk, bin)| holds_bins(chunk * times as f64, *bin));
            free || bins.all(|fits| fits)
        };
        let far = self.chunks.iter().flatten().map(|axis| axis.unsigned_abs());
        // At most `MOST`, regardless of the farthest chunk.
        let far = far.fold(0, u64::max).min(MOST.unsigned_abs()).cast_signed();
        let mut times = 1_i64;
        // Beyond twice the farthest chunk, no more chunks are combined.
        while times < (far * 2).min(MOST)
            && (self.sparse(times, found.vertices) || narrowest * (times as f64) < wide_enough)
        {
            times *= 2;
        }
        let times = (1..=16).map(|part| times * part);
        let times = times.into_iter().find(|times| fits(*times)).unwrap_or(1);
        let scaled = |shape: &[f64], times: i64| -> Vec<f64> {
            shape.iter().map(|size| size * times as f64).collect()
        };
        step.chunk_shape = scaled(&self.chunk_shape, times);
        if free {
            let grown = scaled(&self.bin_shape, self.bins(times, found));
            let axes = self.bin_shape.iter().zip(grown).zip(&self.beside);
            let axes = axes.map(|((bin, grown), time)| if *time { *bin } else { grown });
            step.bin_shape = axes.collect();
        }
    }

    /// The sizes along the axes of space.
    fn of_space<'s>(&'s self, shape: &'s [f64]) -> impl Iterator<Item = f64> + 's {
        let axes = shape.iter().zip(&self.beside);
        axes.filter(|(_, time)| !**time).map(|(size, _)| *size)
    }

    fn largest(&self, shape: &[f64]) -> f64 {
        self.of_space(shape).fold(0.0, f64::max)
    }

    /// Whether chunks of this size have clearly fewer vertices than chunks of level 0.
    fn sparse(&self, times: i64, vertices: u64) -> bool {
        let chunks = self.chunks.iter();
        let chunks: FxHashSet<Vec<i64>> = chunks
            .map(|chunk| chunk.iter().map(|axis| axis.div_euclid(times)).collect())
            .collect();
        let one = |vertices: u64, chunks: usize| vertices as f64 / wide(chunks.max(1)) as f64;
        one(vertices, chunks.len()) < 0.7 * one(self.vertices, self.chunks.len())
    }

    /// The factor by which the bins of a sample grow: about that of the distance between points, such that bins divide chunks.
    fn bins(&self, times: i64, found: &ComputedLevel) -> i64 {
        let fewer = self.vertices as f64 / found.vertices.max(1) as f64;
        let axes = wide(self.of_space(&self.chunk_shape).count().max(1)) as f64;
        #[expect(clippy::cast_possible_truncation, reason = "a root of a count")]
        let least = fewer.powf(1.0 / axes).round().max(1.0) as i64;
        let parts = self
            .of_space(&self.chunk_shape)
            .zip(self.of_space(&self.bin_shape));
        let parts: Vec<f64> = parts
            .map(|(chunk, bin)| (chunk * times as f64 / bin).round())
            .collect();
        let divides = |many: &i64| {
            let many = *many as f64;
            parts
                .iter()
                .all(|parts| many > *parts || parts % many == 0.0)
        };
        (least..).take(1 << 16).find(divides).unwrap_or(least)
    }
}
