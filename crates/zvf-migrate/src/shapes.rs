//! The shapes of chunks and bins of a copy, and their checks.

use zvf_meta::Kind;
use zvf_meta::space::Grid;
use zvf_store::{ChunkCoord, Level};

use super::migration_run::{LevelCopy, MigrationRun};
use super::new_level;
use super::source::SourceLevel;
use zvf_codec::Compression;
use zvf_encode::level::{LevelCells, arrays_of_vertices, most_links};
use zvf_encode::spec::check_bin_count;
use zvf_encode::{ShardShape, WriteError};
use zvf_format::int::wide;

impl MigrationRun {
    /// The grid of a level over the bounds of the store, extended to contain its chunks.
    pub(super) fn grid(
        &self,
        source: &SourceLevel,
        chunk_shape: &[f64],
        chunks: &[ChunkCoord],
    ) -> Result<Grid, WriteError> {
        let bounds = &self.store.root().zarr_vectors.bounds;
        let mut grid = zvf_meta::space::grid_for((&bounds.0, &bounds.1), chunk_shape)?;
        if source.level.key_rank() > chunk_shape.len() {
            let values = source.level.doc().chunk_attribute_values.as_ref();
            grid = grid.with_bins(values.map_or(1, |values| wide(values.len()).max(1)));
        }
        new_level::with_room(grid, chunks.iter().map(ChunkCoord::as_slice))
    }

    /// The storage of the cells of a level whose chunks changed after staging.
    pub(super) fn cells(
        &self,
        stage: &LevelCopy,
        grid: Grid,
        chunks: &[ChunkCoord],
    ) -> Result<LevelCells, WriteError> {
        let before = &stage.cells;
        let shards = match self.options.shard_shape {
            Some(ShardShape::Auto) => {
                self.chosen_shards(&grid, stage.chunk_shape.len(), &stage.source, chunks)
            }
            _ => before.shards.clone(),
        };
        let compression = before.compression.clone();
        let chunks = chunks.iter().map(ChunkCoord::as_slice);
        let cells = self.rules().cells(grid, shards, compression, chunks)?;
        let chosen = self.options.shard_shape == Some(ShardShape::Auto);
        Ok(cells.with_link_shards(chosen || before.has_link_shards()))
    }

    /// The compression of a level: as requested, or as in the old level if the version of the new store allows it, else chosen from the data.
    ///
    /// # Errors
    /// Misuse: requested codecs that the new store cannot have.
    pub(super) fn compression(
        &self,
        stored: Option<Compression>,
        sharded: bool,
    ) -> Result<Compression, WriteError> {
        if let Some(asked) = &self.options.compression {
            self.rules().check_codecs(asked, sharded)?;
            return Ok(asked.clone());
        }
        let stored = stored.filter(|one| self.rules().check_codecs(one, sharded).is_ok());
        Ok(stored.unwrap_or(Compression::Auto))
    }

    /// The automatic choice of shards for a level with `dims` axes and these chunks, by their mean size.
    pub(super) fn chosen_shards(
        &self,
        grid: &Grid,
        dims: usize,
        source: &SourceLevel,
        chunks: &[ChunkCoord],
    ) -> Option<Vec<u64>> {
        let all = source
            .chunk_bytes()
            .saturating_mul(wide(source.chunks.len()));
        // Without chunks there are no shards.
        let bytes = all.checked_div(wide(chunks.len())).unwrap_or(0);
        let chunks = chunks.iter().map(|chunk| (chunk.as_slice(), bytes));
        let level = &source.level;
        let (arrays, links) = (arrays_of_vertices(level), most_links(level));
        self.rules()
            .shards(&ShardShape::Auto, grid, dims, arrays, links, chunks)
    }

    /// The shards of a level: as requested, or as in the old level if the version of the new store allows them.
    pub(super) fn shards(
        &self,
        source: &SourceLevel,
        shards: Option<Vec<u64>>,
    ) -> Option<Vec<u64>> {
        let mut chunks = source.chunks.iter().map(ChunkCoord::as_slice);
        if self.options.shard_shape.is_some() || self.rules().takes_shards(&mut chunks) {
            return shards;
        }
        if shards.is_some() {
            let path = source.level.vertices().path();
            self.notes.note(format!(
                "{path}: there are chunks with negative coordinates, which shards of {} cannot hold: each cell becomes an array of its own",
                self.options.target.version()
            ));
        }
        None
    }

    /// World size of a chunk of the new level 0.
    pub(super) fn base_shape(&self) -> Vec<f64> {
        let old = &self.store.root().zarr_vectors.chunk_shape;
        self.options
            .chunk_shape
            .clone()
            .unwrap_or_else(|| old.clone())
    }

    /// World size of a chunk of a new level: the same multiple of level 0 as before.
    pub(super) fn chunk_shape(&self, level: &Level) -> Vec<f64> {
        let old = &self.store.root().zarr_vectors.chunk_shape;
        match &self.options.chunk_shape {
            None => level.chunk_shape().to_vec(),
            Some(new) => {
                let axes = level.chunk_shape().iter().zip(old).zip(new);
                axes.map(|((own, base), new)| (own / base).round().max(1.0) * new)
                    .collect()
            }
        }
    }

    /// World size of a bin of the new level 0, if it is not the chunk.
    pub(super) fn base_bins(&self) -> Option<Vec<f64>> {
        if self.options.bin_shape.is_some() {
            return self.options.bin_shape.clone();
        }
        let old = self.store.root().zarr_vectors.base_bin_shape.clone()?;
        if divides(&old, &self.base_shape()) {
            return Some(old);
        }
        self.notes.note(format!(
            "bins of {old:?} do not divide the new chunk: the copy has no bins"
        ));
        None
    }

    /// Checks the requested shapes.
    pub(super) fn check_shapes(&self) -> Result<(), WriteError> {
        let dims = self.store.root().dims();
        let of = |member: &str, shape: &Option<Vec<f64>>| match shape {
            Some(shape) if shape.len() != dims => {
                let found = format!("{} numbers", shape.len());
                Err(WriteError::spec(
                    member,
                    found,
                    format!("{dims}, one per axis"),
                ))
            }
            Some(shape) if !shape.iter().all(|size| size.is_finite() && *size > 0.0) => Err(
                WriteError::spec(member, format!("{shape:?}"), "sizes above 0"),
            ),
            _ => Ok(()),
        };
        of("chunk_shape", &self.options.chunk_shape)?;
        of("bin_shape", &self.options.bin_shape)?;
        if let Some(cells) = self
            .options
            .shard_shape
            .as_ref()
            .and_then(ShardShape::cells)
        {
            let all = cells
                .iter()
                .try_fold(1_u64, |all, &cells| all.checked_mul(cells));
            if cells.len() != dims || !all.is_some_and(|all| (1..=1 << 24).contains(&all)) {
                let expected = format!("{dims} numbers above 0, at most 2^24 cells in all");
                return Err(WriteError::spec(
                    "shard_shape",
                    format!("{cells:?}"),
                    expected,
                ));
            }
        }
        if let Some(compression) = &self.options.compression {
            compression.check()?;
        }
        if self.options.chunk_shape.is_some() {
            self.check_coarse_bins()?;
            self.check_kept_bins()?;
        }
        let Some(bins) = &self.options.bin_shape else {
            return Ok(());
        };
        let chunk = self.base_shape();
        if !divides(bins, &chunk) {
            let expected = format!("sizes that divide the chunk's {chunk:?}");
            return Err(WriteError::spec("bin_shape", format!("{bins:?}"), expected));
        }
        let of_objects = self
            .levels
            .iter()
            .any(|level| level.number() == 0 && level.object_index().is_some());
        if self.store.kind() == Kind::PointCloud && of_objects {
            // Released readers take fragment numbers for bin numbers (trap T1).
            let expected =
                "none: points with objects have a fragment for each object instead of bins";
            return Err(WriteError::spec("bin_shape", format!("{bins:?}"), expected));
        }
        check_bin_count(&chunk, bins)
    }

    /// Refuses new chunks that hold too many of the bins that level 0 keeps.
    fn check_kept_bins(&self) -> Result<(), WriteError> {
        let Some(level) = self.levels.iter().find(|level| is_binned(level)) else {
            return Ok(());
        };
        let chunk = self.base_shape();
        match level.bin_shape().filter(|bins| divides(bins, &chunk)) {
            Some(bins) if self.options.bin_shape.is_none() => check_bin_count(&chunk, bins),
            _ => Ok(()),
        }
    }

    /// Checks that a chunk of a coarser level is a whole multiple of the level's bin, or smaller than it (0.9 §6).
    fn check_coarse_bins(&self) -> Result<(), WriteError> {
        let old = &self.store.root().zarr_vectors.chunk_shape;
        let coarse: Vec<&Level> = (self.levels.iter())
            .filter(|level| level.number() > 0)
            .collect();
        let asked = self.options.chunk_shape.iter().flatten();
        for (axis, (size, base)) in asked.zip(old).enumerate() {
            // The size of a chunk in chunks of level 0, and the bin of the level.
            let levels: Vec<(f64, Option<f64>)> = coarse
                .iter()
                .map(|level| {
                    let own = level.chunk_shape().get(axis).unwrap_or(base);
                    ((own / base).round().max(1.0), bin_on(level, axis))
                })
                .collect();
            let fits = |size: f64| levels.iter().all(|(n, bin)| holds_bins(n * size, *bin));
            if fits(*size) {
                continue;
            }
            let step = levels
                .iter()
                .filter_map(|(n, bin)| Some((*bin)? / n))
                .fold(0.0, f64::max);
            let number = coarse.iter().zip(&levels);
            let number = number.filter(|(_, (n, bin))| !holds_bins(n * size, *bin));
            let bins = number.map(|(level, (_, bin))| {
                format!("{} on level {}", bin.unwrap_or_default(), level.number())
            });
            let bins: Vec<String> = bins.collect();
            let near = nearest(*size, step, fits);
            let near = match near.as_slice() {
                [] => "another size".to_owned(),
                near => near.join(" or "),
            };
            let expected = format!(
                "{near}, since chunks of coarse levels are whole multiples of their bins (axis {axis}: {}); a store without coarse levels \
                 (`zvf pyramid STORE --remove`) takes any size",
                bins.join(", ")
            );
            let found = format!("{size} on axis {axis}");
            return Err(WriteError::spec("chunk_shape", found, expected));
        }
        Ok(())
    }

    /// Whether the fragments of a level are bins, and the shape of bins changes.
    pub(super) fn cuts_bins(&self, source: &SourceLevel) -> bool {
        let new = self.base_bins().unwrap_or_else(|| self.base_shape());
        is_binned(&source.level) && new != self.store.root().base_bin_shape()
    }
}

/// Size of a bin of a level on an axis.
fn bin_on(level: &Level, axis: usize) -> Option<f64> {
    level.bin_shape().and_then(|bins| bins.get(axis)).copied()
}

/// Whether a chunk of this size is a whole multiple of a level's bin, or smaller than it (0.9 §6).
fn holds_bins(chunk: f64, bin: Option<f64>) -> bool {
    bin.is_none_or(|bin| {
        let bins = chunk / bin;
        bins < 1.0 || (bins - bins.round()).abs() <= 1e-9
    })
}

/// The nearest multiples of `step` below and above a size that satisfy `fits`.
fn nearest(size: f64, step: f64, fits: impl Fn(f64) -> bool) -> Vec<String> {
    if !(step.is_finite() && step > 0.0) {
        return Vec::new();
    }
    let first = (size / step).floor();
    let below = (0..64).map(|away| (first - f64::from(away)) * step);
    let above = (1..64).map(|away| (first + f64::from(away)) * step);
    let below = below.into_iter().find(|size| *size > 0.0 && fits(*size));
    let above = above.into_iter().find(|size| fits(*size));
    let found = below.into_iter().chain(above);
    found.map(|size| size.to_string()).collect()
}

/// Whether the fragments of a level are bins (0.9 §10.2).
pub(super) fn is_binned(level: &Level) -> bool {
    level.number() == 0
        && level.store().kind() == Kind::PointCloud
        && level.object_index().is_none()
        && level.key_rank() == level.dims()
}

/// Whether bins divide a chunk on each axis.
fn divides(bins: &[f64], chunk: &[f64]) -> bool {
    bins.len() == chunk.len()
        && bins.iter().zip(chunk).all(|(bin, chunk)| {
            let count = (chunk / bin).round();
            (1.0..=65536.0).contains(&count) && (chunk / bin - count).abs() <= 1e-9
        })
}
