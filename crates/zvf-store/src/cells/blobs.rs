//! Cells of blob groups: a document and a chunk for each, or parts of a pack.

use std::sync::Arc;

use bytes::Bytes;
use zvf_meta::ArrayDoc;

use super::decoder::{BatchCells, Decoder};
use super::request::{Get, RequestBytes};
use super::shard::cut_of;
use crate::StoreError;
use crate::container::blob::{Blob, CHUNK};
use crate::container::blobs::Pack;
use crate::container::{Container, GridArray};
use zvf_io::{Ask, Cap, Kv};

/// One requested blob, and the cells that it is for.
#[derive(Debug)]
pub(super) struct BlobWant {
    path: String,
    /// Whether a listing named the blob.
    listed: bool,
    pub(super) wants: Vec<usize>,
    /// Its document, once it is read.
    blob: Option<Blob>,
    bytes: Option<Bytes>,
}

impl BlobWant {
    /// The blob at `path`, `listed` if a listing named it.
    pub(super) fn new(path: &str, listed: bool) -> Self {
        Self {
            path: path.to_owned(),
            listed,
            wants: Vec::new(),
            blob: None,
            bytes: None,
        }
    }

    fn document(&self) -> String {
        format!("{}/zarr.json", self.path)
    }
}

impl Decoder for BlobWant {
    /// The requests for the document and the chunk, which are sent together.
    fn requests(&self, kv: &Kv) -> Result<Vec<Get>, StoreError> {
        let (document, chunk) = (self.document(), format!("{}/{CHUNK}", self.path));
        Ok(vec![
            Get {
                // A bucket that forbids listing answers "denied" for objects that do not exist, and unlisted chunks are requested there anyway.
                denied_is_absent: !self.listed && !kv.can_list(),
                ..Get::new(document, Ask::Whole, Cap::document(kv.limits()))
            },
            Get {
                depends: true,
                ..Get::new(chunk, Ask::Whole, Cap::cell(kv.limits()))
            },
        ])
    }

    fn needs(&self, request: usize) -> bool {
        request == 0 || self.blob.as_ref().is_some_and(|blob| blob.length > 0)
    }

    fn take(
        &mut self,
        _: usize,
        part: Option<RequestBytes<'_>>,
        cells: &mut BatchCells,
    ) -> Result<(), StoreError> {
        match (&self.blob, part) {
            (Some(blob), part) => {
                let data = part.map(|part| part.data);
                self.bytes = Some(blob.decode(&self.path, data, cells.cap)?);
            }
            (None, Some(document)) => {
                let doc = ArrayDoc::parse(document.data.as_slice())
                    .map_err(|e| StoreError::document(self.document(), e))?;
                self.blob = Some(Blob::new(&self.path, &doc)?);
            }
            // The chunk has no blob, unless a listing has named it.
            (None, None) if !self.listed => {}
            (None, None) => {
                let what = "the folder is listed, but the document is not there";
                return Err(StoreError::malformed(self.document(), what));
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>, cells: &mut BatchCells) -> Result<(), StoreError> {
        let bytes = self.bytes.filter(|bytes| !bytes.is_empty());
        cells.spend(&self.path, bytes.as_ref().map_or(0, Bytes::len))?;
        for want in self.wants {
            cells.slot(want)?.clone_from(&bytes);
        }
        Ok(())
    }
}

/// The requested parts of one pack.
#[derive(Debug)]
pub(super) struct PackWant {
    array: Arc<GridArray>,
    pack: usize,
    pub(super) parts: Vec<PackPart>,
    /// The ranges that were read, by their place in the pack; `None` = its chunk is not stored.
    found: Option<Vec<(u64, Bytes)>>,
}

/// One cell inside a pack.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackPart {
    pub(super) want: usize,
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl PackWant {
    /// Pack number `pack` of an array, without cells yet.
    pub(super) fn new(array: Arc<GridArray>, pack: usize) -> Self {
        Self {
            array,
            pack,
            parts: Vec::new(),
            found: Some(Vec::new()),
        }
    }

    fn pack(&self) -> Result<&Pack, StoreError> {
        match self.array.contents() {
            Container::Blobs(blobs) => blobs.pack(self.pack),
            _ => None,
        }
        .ok_or_else(|| {
            StoreError::misuse("a cell was requested from a pack that this array does not have")
        })
    }
}

impl Decoder for PackWant {
    /// Ranges if the pack is stored without a codec, else all of it.
    fn requests(&self, kv: &Kv) -> Result<Vec<Get>, StoreError> {
        let Pack { path, blob } = self.pack()?;
        let (key, cap) = (format!("{path}/{CHUNK}"), Cap::cell(kv.limits()));
        let mut ranges = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            if blob.is_plain() {
                cap.check(&key, part.length)?;
            }
            ranges.push(part.offset..part.offset.saturating_add(part.length));
        }
        let mut requests = kv.requests(ranges);
        Ok(if blob.is_plain() {
            let get = |range| Get::new(&key, Ask::Range(range), cap);
            requests.into_iter().map(get).collect()
        } else {
            requests.truncate(1);
            let get = |_| Get::new(&key, Ask::Whole, cap);
            requests.into_iter().map(get).collect()
        })
    }

    fn needs(&self, _: usize) -> bool {
        self.found.is_some()
    }

    fn take(
        &mut self,
        _: usize,
        part: Option<RequestBytes<'_>>,
        cells: &mut BatchCells,
    ) -> Result<(), StoreError> {
        let Pack { path, blob } = self.pack()?;
        let key = format!("{path}/{CHUNK}");
        let Some(part) = part else {
            self.found = None;
            return Ok(());
        };
        let bytes = if blob.is_plain() {
            match part.state {
                // A pack without codec must have the size that its document states.
                Some((size, _)) if size != blob.stored() => {
                    let what = format!("{size} bytes found, expected {}", blob.stored());
                    return Err(StoreError::malformed(key, what));
                }
                _ => part.data.into_bytes(),
            }
        } else {
            blob.decode(path, Some(part.data), cells.cap)?
        };
        self.found.get_or_insert_default().push((part.start, bytes));
        Ok(())
    }

    fn finish(self: Box<Self>, cells: &mut BatchCells) -> Result<(), StoreError> {
        let Pack { path, blob } = self.pack()?;
        let cap = cells.cap;
        for part in &self.parts {
            cap.check(path, part.length)?;
            let length =
                usize::try_from(part.length).map_err(|_| cap.exceeded(path, part.length))?;
            cells.spend(path, length)?;
            let end = part.offset.saturating_add(part.length);
            let bytes = match &self.found {
                _ if length == 0 => Some(Bytes::new()),
                None => Some(blob.absent(path, length)?),
                Some(found) => cut_of(found, &(part.offset..end)),
            };
            let bytes = bytes.ok_or_else(|| {
                StoreError::malformed(
                    format!("{path}/{CHUNK}"),
                    format!("ends before byte {end}, where a chunk should end"),
                )
            })?;
            *cells.slot(part.want)? = (!bytes.is_empty()).then_some(bytes);
        }
        Ok(())
    }
}
