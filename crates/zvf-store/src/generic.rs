//! The generic Zarr reader, for layouts and codecs that this crate does not read itself.

use std::ops::Range;

use bytes::Bytes;
use zvf_meta::ArrayDoc;

use crate::grid::GridArray;
use crate::kv::Kv;
use crate::StoreError;

pub(crate) async fn read_cell(
    _kv: &Kv,
    _round: u32,
    array: &GridArray,
    _chunk: &[i64],
) -> Result<Option<Bytes>, StoreError> {
    Err(StoreError::unsupported(array.path(), "this layout"))
}

pub(crate) async fn read_ragged_chunk(
    _kv: &Kv,
    _round: u32,
    path: &str,
    _doc: &ArrayDoc,
    _number: u64,
) -> Result<Option<(Bytes, u64)>, StoreError> {
    Err(StoreError::unsupported(path, "this layout"))
}

pub(crate) async fn read_rows(
    _kv: &Kv,
    _round: u32,
    path: &str,
    _doc: &ArrayDoc,
    _rows: Range<u64>,
    _total: u64,
) -> Result<Bytes, StoreError> {
    Err(StoreError::unsupported(path, "this layout"))
}
