//! A table of two blobs: the rows, and one byte per row that states whether it has a value.
//!
//! ```text
//! <name>/zarr.json            a group: dtype, shape [n] or [n, C], has_present_mask
//! <name>/data                 a blob: the rows
//! <name>/present_mask         a blob, if has_present_mask: 1 = the row has a value
//! ```
//!
//! `shape` states the numbers of rows and channels; `num_channels` is 1 in every store and is ignored.
//!
//! Source: specification 0.7, sections 10.3 and 10.5; 0.8, section 10.6.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use zvf_format::dtype::{ByteOrder, DType};
use zvf_meta::ArrayAttributes;

use super::{RowSource, TypedArray, TypedValues, row_width};
use crate::StoreError;
use crate::blob_array::BlobArray;
use crate::codec::little_endian;
use crate::types::stated_dtype;
use zvf_format::int::wide;
use zvf_io::{Cap, Kv};

/// The two blobs of a table.
#[derive(Debug, Clone)]
pub(super) struct Masked {
    pub(super) attributes: Arc<ArrayAttributes>,
    data: Arc<BlobArray>,
    mask: Option<Arc<BlobArray>>,
    /// Byte order of `data`.
    order: ByteOrder,
}

impl TypedArray {
    /// A table of blobs. `attributes` belong to the group at `path`.
    ///
    /// # Errors
    /// An invalid dtype; blobs with lengths that do not fit the rows; a limit.
    pub(crate) fn of_blobs(
        kv: &Kv,
        path: String,
        name: String,
        attributes: ArrayAttributes,
        data: BlobArray,
        mask: Option<BlobArray>,
    ) -> Result<Self, StoreError> {
        let key = || format!("{path}/zarr.json");
        let Some(stated) = stated_dtype(&path, &attributes)? else {
            return Err(StoreError::malformed(key(), "dtype is missing"));
        };
        let size = wide(stated.size()).max(1);
        let (rows, width) = match attributes.shape.as_deref().map(<[u64]>::split_first) {
            Some(Some((rows, rest))) => (*rows, row_width(&path, rest)?),
            Some(None) => return Err(StoreError::malformed(key(), "shape is empty")),
            None => (data.length() / size, 1),
        };
        Cap::rows(kv.limits()).check(&key(), rows)?;
        let expected = rows.checked_mul(width).and_then(|n| n.checked_mul(size));
        if expected != Some(data.length()) {
            return Err(StoreError::malformed(
                data.path(),
                format!(
                    "{} bytes found, expected those of {rows} rows of {width} {stated}",
                    data.length()
                ),
            ));
        }
        if let Some(mask) = mask.as_ref().filter(|mask| mask.length() != rows) {
            return Err(StoreError::malformed(
                mask.path(),
                format!(
                    "{} bytes found, expected one for each of {rows} rows",
                    mask.length()
                ),
            ));
        }
        let masked = Masked {
            attributes: Arc::new(attributes),
            data: Arc::new(data),
            mask: mask.map(Arc::new),
            order: stated.order,
        };
        Ok(Self {
            kv: kv.clone(),
            path,
            name,
            source: RowSource::Blobs(masked),
            dtype: DType::little(stated.kind),
            rows,
            width,
            fill: vec![0; stated.size()].into(),
        })
    }
}

impl Masked {
    /// Reads a range of rows. The first call reads the blobs whole; they are cached.
    pub(super) async fn rows(
        &self,
        table: &TypedArray,
        kv: &Kv,
        rows: Range<u64>,
    ) -> Result<TypedValues, StoreError> {
        let mask = async {
            match &self.mask {
                Some(mask) => mask.load(kv).await.map(Some),
                None => Ok(None),
            }
        };
        let (data, mask) = futures::try_join!(self.data.load(kv), mask)?;
        let size = table.dtype.size();
        let index = |n: u64| usize::try_from(n).ok();
        let cut = |bytes: &Bytes, row: usize| -> Option<Bytes> {
            let from = index(rows.start)?.checked_mul(row)?;
            let to = index(rows.end)?.checked_mul(row)?;
            (from <= to && to <= bytes.len()).then(|| bytes.slice(from..to))
        };
        let row = index(table.width).and_then(|width| Some((width, width.checked_mul(size)?)));
        let (Some((width, row)), Some(count)) = (row, index(rows.end - rows.start)) else {
            let cap = Cap::cell(table.kv.limits());
            return Err(cap.exceeded(&table.path, u64::MAX).into());
        };
        let short = || StoreError::malformed(table.path.clone(), "the rows end early");
        let stored = DType {
            order: self.order,
            ..table.dtype
        };
        let bytes = little_endian(stored, cut(&data, row).ok_or_else(short)?);
        let mask = match mask {
            Some(mask) => Some(cut(&mask, 1).ok_or_else(short)?),
            None => None,
        };
        Ok(TypedValues {
            dtype: table.dtype,
            width,
            rows: count,
            bytes,
            sentinel: None,
            mask,
        })
    }
}
