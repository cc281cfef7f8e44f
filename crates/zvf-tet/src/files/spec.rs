//! The description of a dataset to be written, and its record.

use std::format;
use std::string::String;
use std::vec::Vec;

use zerocopy::IntoBytes;
use zvf_grid::{Dims, GridError};

use super::error::Error;
use super::rules::TEXT;
use crate::DType;
use crate::layout::{MAX_RANK, RecordHead, TileCodec};
use crate::record::DatasetGeometry;
use zvf_grid::int::wide;

/// The description of one dataset to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetSpec {
    /// Its name: not empty, at most 1024 bytes, unique in the file.
    pub name: String,
    /// Type of the elements.
    pub dtype: DType,
    /// Extents, each at least 1; 1 to 8 axes.
    pub shape: Vec<u64>,
    /// Extents of a tile, each at least 1.
    pub chunk_shape: Vec<u64>,
    /// How tiles are stored.
    pub codec: TileCodec,
    /// Zstandard level; 3 by default.
    pub level: i32,
}

impl DatasetSpec {
    /// Describes a dataset of uncompressed tiles.
    #[must_use]
    pub fn new(name: impl Into<String>, dtype: DType, shape: &[u64], chunk_shape: &[u64]) -> Self {
        Self {
            name: name.into(),
            dtype,
            shape: shape.to_vec(),
            chunk_shape: chunk_shape.to_vec(),
            codec: TileCodec::Raw,
            level: 3,
        }
    }

    /// The same description with another codec.
    #[must_use]
    pub fn with_codec(mut self, codec: TileCodec) -> Self {
        self.codec = codec;
        self
    }

    /// The same description with another Zstandard level.
    #[must_use]
    pub fn with_level(mut self, level: i32) -> Self {
        self.level = level;
        self
    }

    /// Checks the shapes.
    pub(super) fn geometry(&self) -> Result<DatasetGeometry, Error> {
        let bad = |why: &str| Error::misuse("dataset", format!("{:?}: {why}", self.name));
        if self.name.is_empty() || self.name.len() > TEXT {
            return Err(bad("a name has 1 to 1024 bytes"));
        }
        let (shape, chunk_shape) = (Dims::new(&self.shape)?, Dims::new(&self.chunk_shape)?);
        if !(1..=MAX_RANK).contains(&shape.len()) || shape.len() != chunk_shape.len() {
            return Err(bad("shape and chunk shape have the same 1 to 8 axes"));
        }
        if shape.contains(&0) || chunk_shape.contains(&0) {
            return Err(bad("every extent is at least 1"));
        }
        let grid = Dims::grid(&shape, &chunk_shape)?;
        let bytes = shape
            .count()
            .and_then(|count| count.checked_mul(wide(self.dtype.size())));
        Ok(DatasetGeometry {
            dtype: self.dtype,
            shape,
            chunk_shape,
            grid,
            bytes: bytes.ok_or(GridError::TooLarge)?,
            tiles: grid.count().ok_or(GridError::TooLarge)?,
        })
    }
}

/// The directory record of a dataset. [`DatasetSpec::geometry`] must have accepted the description.
pub(super) fn record(spec: &DatasetSpec) -> Vec<u8> {
    let head = RecordHead {
        name_len: u32::try_from(spec.name.len()).unwrap_or(u32::MAX).into(),
        dtype: spec.dtype.tag().into(),
        ndim: u32::try_from(spec.shape.len()).unwrap_or(u32::MAX).into(),
        reserved: 0.into(),
    };
    let mut bytes = head.as_bytes().to_vec();
    bytes.extend_from_slice(spec.name.as_bytes());
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    for extent in spec.shape.iter().chain(&spec.chunk_shape) {
        bytes.extend_from_slice(&extent.to_le_bytes());
    }
    bytes
}
