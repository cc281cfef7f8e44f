//! What depends on the target version: four choices, and the checks and the default compression that follow from them. Other modules use
//! [`VersionRules`] and do not compare versions.
//!
//! | choice | 0.9.2 | 0.8.1 |
//! |---|---|---|
//! | container of cells | one array, grid from the chunk of the lower bound | a group with one array per cell; if sharded, one array, grid from chunk 0 |
//! | links between chunks | one array per offset between the chunks | one cell per tuple of chunks |
//! | ids of objects | in a table | row numbers |
//! | members of documents | all | without OME metadata and `fragments_tile` |

use zvf_meta::space::Grid;

use crate::WriteError;
use crate::level::shard::{CellContainer, LevelCells};
use crate::spec::shard_shape::ShardShape;
use crate::spec::store::{StoreSpec, TargetVersion};
use zvf_codec::{Compression, names};

/// One more than the largest id of 0.8.1, where ids are row numbers.
pub const ID_END: u64 = 1 << 26;

/// Most rows of an object index: readers number them with 32 bits.
pub const MOST_ROWS: u64 = u32::MAX as u64;

/// How links between chunks are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinksBy {
    /// One array for each set of offsets (0.9 §13).
    Offsets,
    /// One cell for each tuple of chunks (0.8 §9).
    Chunks,
}

/// How the id of an object is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdsIn {
    /// Any integer, stored in a table next to the manifests (0.9 §11.2).
    Table,
    /// The row number of the object; ids are not stored (0.8 §10.1).
    Rows,
}

/// Which members documents have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentMembers {
    /// All known members.
    All,
    /// Without OME metadata and `fragments_tile`, which readers of 0.8.1 do not use.
    Early,
}

/// The choices of a format version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionRules {
    /// How cells outside shards are stored.
    container: CellContainer,
    /// How links between chunks are found.
    pub links: LinksBy,
    /// How the id of an object is stored.
    pub ids: IdsIn,
    /// Which members documents have.
    pub members: DocumentMembers,
}

impl TargetVersion {
    /// Returns the choices of the version.
    pub const fn rules(self) -> VersionRules {
        match self {
            Self::V0_9_2 => VersionRules {
                container: CellContainer::Grid,
                links: LinksBy::Offsets,
                ids: IdsIn::Table,
                members: DocumentMembers::All,
            },
            Self::V0_8_1 => VersionRules {
                container: CellContainer::Blobs,
                links: LinksBy::Chunks,
                ids: IdsIn::Rows,
                members: DocumentMembers::Early,
            },
        }
    }
}

impl VersionRules {
    /// Whether grids begin at chunk 0, so that shards cannot contain chunks with negative coordinates (0.8 §3.4).
    fn begins_at_zero(self) -> bool {
        self.container == CellContainer::Blobs
    }

    /// Returns the shard shape of a level in cells, as [`ShardShape::of_level`] does, except that [`ShardShape::Auto`] chooses no shards for 0.8.1:
    /// readers of that version expect each cell as a separate array.
    pub fn shards<'c>(
        self,
        asked: &ShardShape,
        grid: &Grid,
        dims: usize,
        arrays: usize,
        links: u64,
        chunks: impl Iterator<Item = (&'c [i64], u64)>,
    ) -> Option<Vec<u64>> {
        match asked {
            ShardShape::Auto if self.begins_at_zero() => None,
            asked => asked.of_level(grid, dims, arrays, links, chunks),
        }
    }

    /// Returns where the cells of a level are stored. `grid` covers the bounds of the level, `shards` is the shard shape in cells, and `chunks` are
    /// the coordinates of all chunks.
    ///
    /// # Errors
    /// Misuse: shards and a chunk with a negative coordinate, if grids begin at chunk 0. Limit: too many cells along an axis of such a grid.
    pub fn cells<'c>(
        self,
        grid: Grid,
        shards: Option<Vec<u64>>,
        compression: Compression,
        mut chunks: impl Iterator<Item = &'c [i64]>,
    ) -> Result<LevelCells, WriteError> {
        let (mut grid, mut container) = (grid, self.container);
        if shards.is_some() && self.begins_at_zero() {
            container = CellContainer::Grid;
            if let Some(chunk) = chunks.find(|chunk| chunk.iter().any(|&at| at < 0)) {
                return Err(WriteError::input(
                    format!("chunk {chunk:?}"),
                    "a negative coordinate",
                    NO_ORIGIN,
                ));
            }
            for (shape, origin) in grid.shape.iter_mut().zip(&mut grid.origin) {
                let end = i128::from(std::mem::take(origin)) + i128::from(*shape);
                *shape = u64::try_from(end.max(1)).map_err(|_| {
                    WriteError::limit("cells along an axis", u64::MAX, i64::MAX.unsigned_abs())
                })?;
            }
        }
        Ok(LevelCells::new(
            grid,
            shards,
            self.compression(&compression),
            container,
        ))
    }

    /// The compression of a store of the version, given the requested one. [`Compression::Auto`] may choose Blosc, which readers of 0.8.1 may not
    /// support: for that version it becomes zstd.
    #[must_use]
    pub fn compression(self, asked: &Compression) -> Compression {
        match asked {
            Compression::Auto if self.members == DocumentMembers::Early => Compression::Zstd,
            asked => asked.clone(),
        }
    }

    /// Whether cells outside shards are stored as a group with one array per cell.
    pub fn takes_blobs(self) -> bool {
        self.container == CellContainer::Blobs
    }

    /// Whether the cells of these chunks can be stored in shards.
    pub fn takes_shards<'c>(self, mut chunks: impl Iterator<Item = &'c [i64]>) -> bool {
        !self.begins_at_zero() || chunks.all(|chunk| chunk.iter().all(|&at| at >= 0))
    }

    /// Checks that the version can represent the store.
    pub(crate) fn check(self, spec: &StoreSpec) -> Result<(), WriteError> {
        if self.members == DocumentMembers::Early && spec.coordinate_offset.is_some() {
            // 0.8 §5.1.
            let expected = "none: readers of 0.8.1 interpret stored positions as world coordinates";
            return Err(WriteError::spec("coordinate_offset", "an offset", expected));
        }
        self.check_codecs(&spec.compression, spec.shard_shape.cells().is_some())?;
        if let Some((low, _)) = &spec.bounds {
            self.check_corner(spec, low).map_err(|(axis, found)| {
                WriteError::spec(format!("bounds/0/{axis}"), found, NO_ORIGIN)
            })?;
        }
        Ok(())
    }

    /// Refuses codecs that readers of the version cannot decode.
    ///
    /// # Errors
    /// Misuse: codecs that readers of 0.8.1 cannot decode, if each cell is a separate array.
    pub fn check_codecs(self, compression: &Compression, sharded: bool) -> Result<(), WriteError> {
        if sharded || !self.takes_blobs() || compression.is_plain() {
            return Ok(());
        }
        let found = names(&compression.codecs());
        let expected = "zstd, gzip, blosc or crc32c: readers of 0.8.1 decode cells outside of shards only with these";
        Err(WriteError::spec("compression", found, expected))
    }

    /// Refuses a negative lower bound if the store is sharded and grids begin at chunk 0. The error is the axis and its lower bound.
    pub(crate) fn check_corner(self, spec: &StoreSpec, low: &[f64]) -> Result<(), (usize, String)> {
        if spec.shard_shape.cells().is_none() || !self.begins_at_zero() {
            return Ok(());
        }
        match low.iter().enumerate().find(|(_, low)| **low < 0.0) {
            Some((axis, low)) => Err((axis, low.to_string())),
            None => Ok(()),
        }
    }

    /// The first id that no object of the version can have.
    pub(crate) fn bad_id(self, ids: &[i64]) -> Option<i64> {
        let fits = |id: i64| u64::try_from(id).is_ok_and(|id| id < ID_END);
        match self.ids {
            IdsIn::Table => None,
            IdsIn::Rows => ids.iter().copied().find(|id| !fits(*id)),
        }
    }
}

/// The `expected` text of errors about negative coordinates in shards of 0.8.1.
pub(crate) const NO_ORIGIN: &str =
    "0 or more: shards of 0.8.1 begin at chunk 0; chunks below 0 need a store without shards";

/// The `expected` text of errors about object ids of 0.8.1.
pub const ID_IS_ROW: &str = "0 to 67108863: in 0.8.1 the id of an object is the number of its row";

#[cfg(test)]
mod tests {
    use zvf_meta::Kind;
    use zvf_meta::space::Grid;

    use super::*;
    use crate::spec::store::Outside;

    fn cells(origin: i64, shape: u64, chunk: i64) -> Result<LevelCells, WriteError> {
        let grid = Grid {
            origin: vec![origin],
            shape: vec![shape],
        };
        let chunk = [chunk];
        let chunks = [&chunk[..]];
        let rules = TargetVersion::V0_8_1.rules();
        rules.cells(grid, Some(vec![2]), Compression::None, chunks.into_iter())
    }

    #[test]
    fn a_sharded_grid_without_an_origin_reaches_from_zero_to_the_upper_bound() {
        for (origin, shape, wanted) in [(3, 2, 5), (0, 4, 4), (-2, 5, 3), (-9, 2, 1)] {
            let cells = cells(origin, shape, 0).unwrap();
            assert_eq!(cells.grid.origin, [0]);
            assert_eq!(cells.grid.shape, [wanted]);
        }
        let error = cells(-2, 5, -1).unwrap_err();
        assert!(error.to_string().contains("chunk [-1]"), "{error}");
    }

    #[test]
    fn what_0_8_1_cannot_hold_is_refused_by_its_member() {
        let mut spec = StoreSpec::new(Kind::PointCloud, [10.0; 2]);
        spec.target = TargetVersion::V0_8_1;
        assert!(spec.check().is_ok());
        let offset = spec.clone().with_coordinate_offset([1.0, 2.0]);
        let told = offset.check().unwrap_err().to_string();
        assert!(
            told.starts_with("coordinate_offset: found an offset"),
            "{told}"
        );
        let mut shards = spec
            .with_bounds([0.0, -1.0], [9.0, 9.0], Outside::Grow)
            .with_shard_shape([2, 2]);
        let told = shards.check().unwrap_err().to_string();
        assert!(told.starts_with("bounds/0/1: found -1"), "{told}");
        shards.target = TargetVersion::V0_9_2;
        assert!(shards.check().is_ok());
    }
}
