//! The shapes of chunks and bins of a copy, and the check that they can be.

use zvf_meta::Kind;
use zvf_meta::space::Grid;
use zvf_store::{ChunkCoord, Level};

use super::source::Source;
use super::{Job, new_level};
use zvf_codec::Compression;
use zvf_format::int::wide;
use zvf_write::WriteError;
use zvf_write::shard::Cells;

impl Job {
    /// The grid of a level over the store's bounds, with room for its chunks.
    pub(super) fn grid(
        &self,
        source: &Source,
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

    /// Where the cells of a level lie whose chunks are others than when it was staged.
    pub(super) fn cells(
        &self,
        before: &Cells,
        grid: Grid,
        chunks: &[ChunkCoord],
    ) -> Result<Cells, WriteError> {
        let (shards, compression) = (before.shards.clone(), before.compression.clone());
        let chunks = chunks.iter().map(ChunkCoord::as_slice);
        self.form().cells(grid, shards, compression, chunks)
    }

    /// How a level is compressed: as asked for, or as the old one where the new one can be read so.
    ///
    /// # Errors
    /// Misuse: codecs that were asked for, and that the new one cannot have.
    pub(super) fn compression(
        &self,
        stored: Option<Compression>,
        sharded: bool,
    ) -> Result<Compression, WriteError> {
        if let Some(asked) = &self.options.compression {
            self.form().check_codecs(asked, sharded)?;
            return Ok(asked.clone());
        }
        let stored = stored.filter(|one| self.form().check_codecs(one, sharded).is_ok());
        Ok(stored.unwrap_or_default())
    }

    /// The shards of a level: those asked for, or those of the old one where the new one can have them.
    pub(super) fn shards(&self, source: &Source, shards: Option<Vec<u64>>) -> Option<Vec<u64>> {
        let mut chunks = source.chunks.iter().map(ChunkCoord::as_slice);
        if self.options.shard_shape.is_some() || self.form().takes_shards(&mut chunks) {
            return shards;
        }
        if shards.is_some() {
            let path = source.level.vertices().path();
            self.notes.note(format!(
                "{path}: chunks on both sides of 0 have no place in shards of {}: each cell is an array of its own",
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

    /// World size of a chunk of a new level: as many of level 0 as before.
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

    /// World size of a bin of the new level 0, where it is not the chunk.
    pub(super) fn base_bins(&self) -> Option<Vec<f64>> {
        if self.options.bin_shape.is_some() {
            return self.options.bin_shape.clone();
        }
        let old = self.store.root().zarr_vectors.base_bin_shape.clone()?;
        if divides(&old, &self.base_shape()) {
            return Some(old);
        }
        self.notes.note(format!(
            "bins of {old:?} are no whole part of the new chunk: there are none"
        ));
        None
    }

    /// Checks the shapes that were asked for.
    pub(super) fn check_shapes(&self) -> Result<(), WriteError> {
        let dims = self.store.root().dims();
        let of = |member: &str, shape: &Option<Vec<f64>>| match shape {
            Some(shape) if shape.len() != dims => {
                let found = format!("{} numbers", shape.len());
                Err(WriteError::spec(
                    member,
                    found,
                    format!("{dims}, one an axis"),
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
            .filter(|cells| !cells.is_empty())
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
        }
        let Some(bins) = &self.options.bin_shape else {
            return Ok(());
        };
        let chunk = self.base_shape();
        if !divides(bins, &chunk) {
            let expected = format!("a whole part of the chunk's {chunk:?}");
            return Err(WriteError::spec("bin_shape", format!("{bins:?}"), expected));
        }
        let of_objects = self
            .levels
            .iter()
            .any(|level| level.number() == 0 && level.object_index().is_some());
        if self.store.kind() == Kind::PointCloud && of_objects {
            // Released readers take fragment numbers for bin numbers (trap T1).
            let expected = "none where points have objects, which are their fragments then";
            return Err(WriteError::spec("bin_shape", format!("{bins:?}"), expected));
        }
        Ok(())
    }

    /// A chunk of a coarser level is a whole multiple of its bin, where it is not smaller (0.9 §6).
    fn check_coarse_bins(&self) -> Result<(), WriteError> {
        for level in self.levels.iter().filter(|level| level.number() > 0) {
            let chunk = self.chunk_shape(level);
            for (axis, (bin, chunk)) in level
                .bin_shape()
                .into_iter()
                .flatten()
                .zip(&chunk)
                .enumerate()
            {
                let count = chunk / bin;
                if *bin <= *chunk && (count - count.round()).abs() > 1e-9 {
                    let number = level.number();
                    let found = format!("{chunk} on axis {axis} of level {number}");
                    let expected =
                        format!("a whole multiple of the level's bin {bin}, or less than it");
                    return Err(WriteError::spec("chunk_shape", found, expected));
                }
            }
        }
        Ok(())
    }

    /// Whether the fragments of a level are bins of another shape than before.
    pub(super) fn cuts_bins(&self, source: &Source) -> bool {
        let new = self.base_bins().unwrap_or_else(|| self.base_shape());
        is_binned(&source.level) && new != self.store.root().base_bin_shape()
    }
}

/// Whether the fragments of a level are bins (0.9 §10.2).
pub(super) fn is_binned(level: &Level) -> bool {
    level.number() == 0
        && level.store().kind() == Kind::PointCloud
        && level.object_index().is_none()
        && level.key_rank() == level.dims()
}

/// Whether bins are a whole part of a chunk on each axis.
fn divides(bins: &[f64], chunk: &[f64]) -> bool {
    bins.len() == chunk.len()
        && bins.iter().zip(chunk).all(|(bin, chunk)| {
            let count = (chunk / bin).round();
            (1.0..=65536.0).contains(&count) && (chunk / bin - count).abs() <= 1e-9
        })
}
