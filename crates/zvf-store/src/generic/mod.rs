//! The generic Zarr reader, for layouts and codecs that this crate does not read itself.
//!
//! It is the `zarrs` crate on a storage adapter of this crate, so that keys, limits on objects, the trace and the
//! classes of errors stay the same. On damaged bytes and odd documents it may panic: it is isolated ([`crate::isolate`]). It is slower than this
//! crate's own reader, and never used for cells that this crate's reader supports.

#[cfg(feature = "zarrs")]
mod adapter;
#[cfg(feature = "zarrs")]
mod read;

#[cfg(feature = "zarrs")]
pub(crate) use read::{read_box, read_cell, read_ragged_chunk, read_rows};

#[cfg(not(feature = "zarrs"))]
pub(crate) use without::{read_cell, read_ragged_chunk, read_rows};

/// The replacement if the feature is off. Arrays are then never passed to this module.
#[cfg(not(feature = "zarrs"))]
mod without {
    use std::ops::Range;

    use bytes::Bytes;
    use zvf_meta::ArrayDoc;

    use crate::StoreError;
    use crate::container::GridArray;
    use zvf_io::Kv;

    const WHAT: &str = "a layout that needs the feature \"zarrs\"";

    pub(crate) async fn read_cell(
        _: &Kv,
        array: &GridArray,
        _: &[i64],
    ) -> Result<Option<Bytes>, StoreError> {
        Err(StoreError::unsupported(array.path(), WHAT))
    }

    pub(crate) async fn read_ragged_chunk(
        _: &Kv,
        path: &str,
        _: &ArrayDoc,
        _: Range<u64>,
    ) -> Result<Option<(Bytes, u64)>, StoreError> {
        Err(StoreError::unsupported(path, WHAT))
    }

    pub(crate) async fn read_rows(
        _: &Kv,
        path: &str,
        _: &ArrayDoc,
        _: Range<u64>,
        _: u64,
    ) -> Result<Bytes, StoreError> {
        Err(StoreError::unsupported(path, WHAT))
    }
}
