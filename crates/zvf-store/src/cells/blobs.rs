//! Cells of blob groups: a document and a chunk for each, or parts of a pack.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::try_join_all;
use futures::join;
use zvf_meta::ArrayDoc;

use super::local_disk::Disk;
use super::unit::slot;
use super::{Budget, Plan};
use crate::container::blob::{Blob, CHUNK};
use crate::container::blobs::{Blobs, Pack, Slot};
use crate::container::{Container, GridArray};
use crate::{ChunkCoord, StoreError};
use zvf_codec::Data;
use zvf_io::IoError;
use zvf_io::Method;
use zvf_io::{Ask, Cap, Kv, local};

/// One blob that is wanted, and for which cells.
#[derive(Debug)]
pub(super) struct BlobWant {
    pub(super) path: String,
    /// Whether a listing named the blob.
    pub(super) listed: bool,
    pub(super) wants: Vec<usize>,
}

/// The wanted parts of one pack.
#[derive(Debug)]
pub(super) struct PackWant {
    pub(super) array: Arc<GridArray>,
    pub(super) pack: usize,
    pub(super) parts: Vec<Part>,
}

/// One cell inside a pack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) want: usize,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// Sorts wants by the blobs and packs they lie in. Equal wants share their bytes.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    blobs: HashMap<String, usize>,
    packs: HashMap<(String, usize), usize>,
}

impl Sorter {
    /// Adds a wanted cell. A chunk that the array's presence lacks has none.
    pub(super) fn add(
        &mut self,
        want: usize,
        (array, chunk): (&Arc<GridArray>, &ChunkCoord),
        group: &Blobs,
        plan: &mut Plan,
    ) {
        let Some(at) = array.presence().position(chunk) else {
            return;
        };
        match group.slot(at) {
            Slot::Plain => {
                let path = format!("{}/{chunk}", array.path());
                match self.blobs.get(&path).and_then(|at| plan.blobs.get_mut(*at)) {
                    Some(blob) => blob.wants.push(want),
                    None => {
                        self.blobs.insert(path.clone(), plan.blobs.len());
                        plan.blobs.push(BlobWant {
                            path,
                            listed: group.listed,
                            wants: vec![want],
                        });
                    }
                }
            }
            Slot::Packed(pack, offset, length) => {
                let part = Part {
                    want,
                    offset,
                    length,
                };
                let key = (array.path().to_owned(), pack);
                match self.packs.get(&key).and_then(|at| plan.packs.get_mut(*at)) {
                    Some(pack) => pack.parts.push(part),
                    None => {
                        self.packs.insert(key, plan.packs.len());
                        plan.packs.push(PackWant {
                            array: Arc::clone(array),
                            pack,
                            parts: vec![part],
                        });
                    }
                }
            }
        }
    }
}

/// What was fetched of a blob; `None` = there is no such blob.
#[derive(Debug)]
pub(super) struct BlobUnit {
    want: BlobWant,
    found: Option<(Bytes, Option<Bytes>)>,
}

/// What was fetched of a pack; `None` = its chunk is not stored.
#[derive(Debug)]
pub(super) struct PackUnit {
    want: PackWant,
    found: Option<Vec<(u64, Bytes)>>,
}

/// The blob that a document describes.
fn parse(path: &str, document: &[u8]) -> Result<Blob, StoreError> {
    let doc = ArrayDoc::parse(document)
        .map_err(|e| StoreError::document(format!("{path}/zarr.json"), e))?;
    Blob::new(path, &doc)
}

impl BlobWant {
    /// Hands the bytes of the blob to the cells that want them.
    fn give(
        &self,
        bytes: &Bytes,
        out: &mut [Option<Bytes>],
        budget: &mut Budget,
    ) -> Result<(), StoreError> {
        budget.spend(&self.path, bytes.len())?;
        for want in &self.wants {
            *slot(out, *want)? = (!bytes.is_empty()).then(|| bytes.clone());
        }
        Ok(())
    }

    /// Nothing lies where a blob was looked for: the chunk has none, unless a listing has named it.
    fn absent(&self) -> Result<(), StoreError> {
        if !self.listed {
            return Ok(());
        }
        Err(StoreError::malformed(
            format!("{}/zarr.json", self.path),
            "the folder is listed, but the document is not there",
        ))
    }

    /// Asks for the document and the chunk at once.
    pub(super) async fn fetch(self, kv: &Kv) -> Result<BlobUnit, StoreError> {
        let (document, chunk) = (
            format!("{}/zarr.json", self.path),
            format!("{}/{CHUNK}", self.path),
        );
        let (document, chunk) = join!(
            kv.get_polled(&document, Ask::Whole, Cap::document(kv.limits())),
            kv.get_polled(&chunk, Ask::Whole, Cap::cell(kv.limits())),
        );
        let document = match document {
            // A bucket that may not be listed answers "denied" for what does not exist, and there chunks are tried.
            Err(IoError::Denied { .. }) if !self.listed && !kv.can_list() => None,
            document => document?,
        };
        if document.is_none() {
            return Ok(BlobUnit {
                want: self,
                found: None,
            });
        }
        let chunk = chunk?;
        let found = document.map(|document| (document.bytes, chunk.map(|chunk| chunk.bytes)));
        Ok(BlobUnit { want: self, found })
    }
}

impl BlobUnit {
    pub(super) fn decode(
        self,
        out: &mut [Option<Bytes>],
        cap: Cap,
        budget: &mut Budget,
    ) -> Result<(), StoreError> {
        let Some((document, chunk)) = self.found else {
            return self.want.absent();
        };
        let path = &self.want.path;
        let bytes = parse(path, &document)?.decode(path, chunk.map(Data::Shared), cap)?;
        self.want.give(&bytes, out, budget)
    }
}

impl PackWant {
    fn pack(&self) -> Result<&Pack, StoreError> {
        match self.array.contents() {
            Container::Blobs(blobs) => blobs.pack(self.pack),
            _ => None,
        }
        .ok_or_else(|| StoreError::misuse("a cell was sought in a pack that is not there"))
    }

    /// The requests that cover the wanted parts: ranges where the pack is stored as it is, else all of it.
    fn requests(&self, blob: &Blob, kv: &Kv) -> Vec<Range<u64>> {
        let ranges = self
            .parts
            .iter()
            .map(|part| part.offset..part.offset.saturating_add(part.length));
        let requests = kv.requests(ranges.collect());
        if blob.is_plain() || requests.is_empty() {
            requests
        } else {
            std::iter::once(0..blob.length).collect()
        }
    }

    /// Asks for the parts.
    pub(super) async fn fetch(self, kv: &Kv) -> Result<PackUnit, StoreError> {
        let Pack { path, blob } = self.pack()?;
        let (key, plain) = (format!("{path}/{CHUNK}"), blob.is_plain());
        let (cap, key) = (Cap::cell(kv.limits()), key.as_str());
        let requests = self.requests(blob, kv).into_iter().map(|range| async move {
            let start = range.start;
            let ask = if plain { Ask::Range(range) } else { Ask::Whole };
            let Some(object) = kv.get_polled(key, ask, cap).await? else {
                return Ok(None);
            };
            if plain {
                check_size(key, blob, object.size)?;
            }
            Ok::<_, StoreError>(Some((start, object.bytes)))
        });
        let found = try_join_all(requests).await?.into_iter().collect();
        Ok(PackUnit { want: self, found })
    }

    /// Cuts the cells out of what was read.
    fn give(
        &self,
        found: Option<&[(u64, Bytes)]>,
        out: &mut [Option<Bytes>],
        cap: Cap,
        budget: &mut Budget,
    ) -> Result<(), StoreError> {
        let Pack { path, blob } = self.pack()?;
        for part in &self.parts {
            cap.check(path, part.length)?;
            let length = usize::try_from(part.length)
                .map_err(|_| StoreError::limit(path, cap.what, part.length, cap.bytes))?;
            budget.spend(path, length)?;
            let bytes = match found {
                _ if length == 0 => Some(Bytes::new()),
                None => Some(blob.absent(length)),
                Some(found) => cut(found, part.offset, length),
            };
            let bytes = bytes.ok_or_else(|| {
                StoreError::malformed(
                    format!("{path}/{CHUNK}"),
                    format!(
                        "ends before byte {}, where a chunk should end",
                        part.offset.saturating_add(part.length)
                    ),
                )
            })?;
            *slot(out, part.want)? = (!bytes.is_empty()).then_some(bytes);
        }
        Ok(())
    }
}

impl PackUnit {
    pub(super) fn decode(
        self,
        out: &mut [Option<Bytes>],
        cap: Cap,
        budget: &mut Budget,
    ) -> Result<(), StoreError> {
        let Pack { path, blob } = self.want.pack()?;
        let found = match self.found {
            Some(mut parts) if !blob.is_plain() => match parts.pop() {
                Some((_, stored)) => Some(vec![(
                    0,
                    blob.decode(path, Some(Data::Shared(stored)), cap)?,
                )]),
                None => Some(parts),
            },
            found => found,
        };
        self.want.give(found.as_deref(), out, cap, budget)
    }
}

/// The bytes at `offset`, out of parts in rising order.
fn cut(parts: &[(u64, Bytes)], offset: u64, length: usize) -> Option<Bytes> {
    let after = parts.partition_point(|(start, _)| *start <= offset);
    let (start, bytes) = parts.get(after.checked_sub(1)?)?;
    let from = usize::try_from(offset.checked_sub(*start)?).ok()?;
    let to = from.checked_add(length)?;
    (to <= bytes.len()).then(|| bytes.slice(from..to))
}

/// A pack that is stored as it is has the bytes that its document says.
fn check_size(key: &str, blob: &Blob, found: u64) -> Result<(), StoreError> {
    if found == blob.stored() {
        return Ok(());
    }
    Err(StoreError::malformed(
        key,
        format!("{found} bytes found, expected {}", blob.stored()),
    ))
}

impl Disk<'_> {
    /// Reads and decodes one blob: two files.
    pub(super) fn read_blob(
        &self,
        want: &BlobWant,
        out: &mut [Option<Bytes>],
        budget: &mut Budget,
    ) -> Result<(), StoreError> {
        let document = format!("{}/zarr.json", want.path);
        let cap = Cap::document(self.kv.limits());
        let Some(blob) = self.whole(&document, cap, |data| parse(&want.path, data.as_slice()))?
        else {
            return want.absent();
        };
        let cap = Cap::cell(self.kv.limits());
        let bytes = if blob.length == 0 {
            None
        } else {
            let key = format!("{}/{CHUNK}", want.path);
            self.whole(&key, cap, |data| blob.decode(&want.path, Some(data), cap))?
        };
        let bytes = match bytes {
            Some(bytes) => bytes,
            None => blob.decode(&want.path, None, cap)?,
        };
        want.give(&bytes, out, budget)
    }

    /// Reads the wanted parts of one pack.
    pub(super) fn read_pack(
        &self,
        want: &PackWant,
        out: &mut [Option<Bytes>],
        budget: &mut Budget,
    ) -> Result<(), StoreError> {
        let Pack { path, blob } = want.pack()?;
        let (key, cap) = (format!("{path}/{CHUNK}"), Cap::cell(self.kv.limits()));
        if !blob.is_plain() {
            let whole = self.whole(&key, cap, |data| blob.decode(path, Some(data), cap))?;
            let found = whole.map(|bytes| vec![(0, bytes)]);
            return want.give(found.as_deref(), out, cap, budget);
        }
        let requests = want.requests(blob, self.kv);
        let trace = self.kv.trace();
        let start = trace.start();
        let Some(file) = local::OpenFile::open(self.root, &key)? else {
            self.kv
                .record(start, Method::Read, &key, (None, None), None);
            return want.give(None, out, cap, budget);
        };
        check_size(&key, blob, file.size(&key)?)?;
        let mut found = Vec::with_capacity(requests.len());
        for range in requests {
            let start = trace.start();
            let length = range.end - range.start;
            cap.check(&key, length)?;
            let bytes: Bytes = file.at(&key, range.start, length)?.into();
            let read = u64::try_from(bytes.len()).ok();
            let asked = (Some(range.start), Some(length));
            self.kv.record(start, Method::Read, &key, asked, read);
            found.push((range.start, bytes));
        }
        want.give(Some(&found), out, cap, budget)
    }
}
