//! Manifests as two blobs: all manifests back to back, and the byte offset of each.
//!
//! ```text
//! object_index/data       the manifests
//! object_index/offsets    n or n + 1 x i64: byte offset of each manifest in data; the last one ends with data
//! ```
//!
//! Source: specification 0.7, section 10.2; page "Chunk arrays".

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::OnceCell;

use crate::StoreError;
use crate::blob_array::BlobArray;
use crate::elements::Elements;
use zvf_io::{Kv, blocking};

/// The two blobs, and the manifests once they are loaded.
#[derive(Debug)]
pub(crate) struct SplitManifests {
    data: Arc<BlobArray>,
    offsets: Arc<BlobArray>,
    rows: u64,
    cut: OnceCell<Arc<Elements>>,
}

impl SplitManifests {
    /// Compares the lengths with the number of objects.
    ///
    /// # Errors
    /// Offsets that are not `n` or `n + 1` numbers.
    pub(crate) fn new(
        data: BlobArray,
        offsets: BlobArray,
        objects: u64,
    ) -> Result<Self, StoreError> {
        let count = offsets.length() / 8;
        let one_more = count.checked_sub(1);
        if !offsets.length().is_multiple_of(8) || (count != objects && one_more != Some(objects)) {
            return Err(StoreError::malformed(
                offsets.path(),
                format!(
                    "{} bytes found, expected 8 for each of {objects} objects",
                    offsets.length()
                ),
            ));
        }
        Ok(Self {
            data: Arc::new(data),
            offsets: Arc::new(offsets),
            rows: objects,
            cut: OnceCell::new(),
        })
    }

    pub(super) fn path(&self) -> &str {
        self.data.path()
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// All manifests. Sends two requests, only once.
    pub(super) async fn load(self: &Arc<Self>, kv: &Kv) -> Result<Arc<Elements>, StoreError> {
        if let Some(cut) = self.cut.get() {
            return Ok(Arc::clone(cut));
        }
        let (data, offsets) = futures::join!(self.data.load(kv), self.offsets.load(kv));
        // If both are damaged, the data is reported, regardless of which was read first.
        let (data, offsets) = (data?, offsets?);
        let split = Arc::clone(self);
        let cut = blocking(move || split.parse(data, &offsets)).await??;
        Ok(Arc::clone(self.cut.get_or_init(|| async { cut }).await))
    }

    fn parse(&self, data: Bytes, offsets: &[u8]) -> Result<Arc<Elements>, StoreError> {
        let rows = usize::try_from(self.rows).unwrap_or(usize::MAX);
        let mut starts: Vec<usize> = Vec::new();
        let (numbers, _) = offsets.as_chunks::<8>();
        for (i, number) in numbers.iter().enumerate().take(rows.saturating_add(1)) {
            let offset = i64::from_le_bytes(*number);
            let before = starts.last().copied().unwrap_or(0);
            let legal = usize::try_from(offset)
                .ok()
                .filter(|at| (before..=data.len()).contains(at));
            let Some(at) = legal else {
                return Err(StoreError::malformed(
                    self.offsets.path(),
                    format!(
                        "offset {i} is {offset}, expected {before} to {} bytes",
                        data.len()
                    ),
                ));
            };
            starts.push(at);
        }
        // The table of byte offsets may lack the end of the last manifest.
        if starts.len() == rows {
            starts.push(data.len());
        }
        if starts.last().is_some_and(|end| *end != data.len()) {
            return Err(StoreError::malformed(
                self.offsets.path(),
                format!(
                    "the last of {rows} manifests ends at {}, expected {} bytes",
                    starts.last().copied().unwrap_or_default(),
                    data.len()
                ),
            ));
        }
        Ok(Arc::new(Elements::new(data, starts, 0)))
    }
}
