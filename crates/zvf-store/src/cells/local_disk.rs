//! Cells of a local disk: files are opened, read and decoded in one task. All functions block.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::decoder::{BatchCells, Decoder};
use super::request::{Get, RequestBytes, SizeAndTag};
use super::shard::{self, FoundHead, ShardCache, ShardHead};
use crate::StoreError;
use crate::layout::ShardLayout;
use zvf_codec::{CodecError, Data, StoredBytes};
use zvf_format::int::wide;
use zvf_io::{Ask, Folder, IoError, Kv, Method, Object, local};

/// One batch's view of the disk.
pub(super) struct Disk<'a> {
    pub(super) kv: &'a Kv,
    pub(super) root: &'a Folder,
    pub(super) shards: &'a ShardCache,
}

/// Most bytes of a file or range that is read at once: this is as fast as two reads of a block.
const WHOLE: u64 = 32 << 10;

/// An open file, and its state.
type OpenedFile = (Arc<local::OpenFile>, SizeAndTag);

impl Disk<'_> {
    /// Reads and decodes the objects that a decoder requests.
    pub(super) fn read(
        &self,
        mut decoder: Box<dyn Decoder>,
        cells: &mut BatchCells,
    ) -> Result<(), StoreError> {
        let (mut next, mut opened) = (None, None);
        if let Some((key, shard)) = decoder.shard() {
            let head = match self.shards.heads.ready(key) {
                Some(head) => head,
                None => {
                    // Only the index gives the position of a chunk: reads after it belong to the next round.
                    next = Some(self.kv.in_round(self.kv.round().saturating_add(1)));
                    self.read_head(key, shard)?
                }
            };
            opened = self.shards.files.get(key).map(|file| (file, None));
            decoder.take_head(head, Vec::new(), cells.cap)?;
        }
        let kv = next.as_ref().unwrap_or(self.kv);
        for (request, get) in decoder.requests(kv)?.into_iter().enumerate() {
            if !decoder.needs(request) {
                continue;
            }
            if let Ask::Range(range) = &get.ask {
                if opened.is_none() {
                    opened = self.open(&get.key, decoder.shard().is_some())?;
                }
                if get.in_ranges
                    && range.end.saturating_sub(range.start) > WHOLE
                    && let Some((file, state)) = opened.as_mut()
                {
                    let stored = source(kv, &get.key, Arc::clone(file), range.clone());
                    decoder.take_source(request, (stored, state.take()), cells)?;
                    continue;
                }
                let part = range_of(kv, &get.key, range, opened.as_mut())?;
                decoder.take(request, part, cells)?;
            } else if get.in_ranges {
                match self.source(&get)? {
                    Some(stored) => decoder.take_source(request, (stored, None), cells)?,
                    None => decoder.take(request, None, cells)?,
                }
            } else if self
                .whole(&get, |part| decoder.take(request, Some(part), cells))?
                .is_none()
            {
                decoder.take(request, None, cells)?;
            }
        }
        decoder.finish(cells)
    }

    /// Reads a whole file and passes its bytes to `use_bytes`; `Ok(None)` if it does not exist.
    fn whole<R>(
        &self,
        get: &Get,
        use_bytes: impl FnOnce(RequestBytes<'_>) -> Result<R, StoreError>,
    ) -> Result<Option<R>, StoreError> {
        let start = self.kv.trace().start();
        let mut size = None;
        let result = local::with_file(self.root, &get.key, get.cap, |contents| {
            size = Some(wide(contents.len()));
            use_bytes(RequestBytes {
                data: match contents {
                    Cow::Borrowed(bytes) => Data::Borrowed(bytes),
                    Cow::Owned(bytes) => Data::Shared(bytes.into()),
                },
                start: 0,
                state: None,
            })
        })?;
        let asked = (None, None);
        self.kv.record(start, Method::Read, &get.key, asked, size);
        Ok(result)
    }

    /// Opens a file for later reads of ranges; reads a small one at once. `Ok(None)` if it does not exist.
    fn source(&self, get: &Get) -> Result<Option<StoredBytes>, StoreError> {
        let (kv, key) = (self.kv, &get.key);
        let start = kv.trace().start();
        let Some(file) = local::OpenFile::open(self.root, key)? else {
            kv.record(start, Method::Read, key, (None, None), None);
            return Ok(None);
        };
        let size = file.size(key)?;
        get.cap.check(key, size)?;
        if size <= WHOLE {
            let bytes = file.at(key, 0, size)?;
            kv.record(
                start,
                Method::Read,
                key,
                (None, None),
                Some(wide(bytes.len())),
            );
            return Ok(Some(StoredBytes::Memory(bytes.into())));
        }
        Ok(Some(source(kv, key, Arc::new(file), 0..size)))
    }

    /// Opens a file for ranges; `None` when it does not exist.
    fn open(&self, key: &str, keep: bool) -> Result<Option<OpenedFile>, StoreError> {
        let start = self.kv.trace().start();
        let Some(file) = local::OpenFile::open(self.root, key)? else {
            self.kv.record(start, Method::Read, key, (None, None), None);
            return Ok(None);
        };
        let (size, state) = file.state(key)?;
        let file = Arc::new(file);
        if keep {
            self.shards.files.keep(key, Arc::clone(&file));
        }
        Ok(Some((file, Some((size, Some(state))))))
    }

    /// Reads the index of a shard, with the bytes next to it.
    fn read_head(&self, key: &str, shard: ShardLayout) -> Result<FoundHead, StoreError> {
        let start = self.kv.trace().start();
        let Some((file, state)) = self.open(key, true)? else {
            self.shards.heads.insert(key.to_owned(), None);
            return Ok(None);
        };
        let (size, etag) = state.unwrap_or_default();
        let Range { start: from, end } = shard::first_ask(shard, self.kv.merge().gap).of(size);
        let bytes: Bytes = file.at(key, from, end.saturating_sub(from))?.into();
        let read = Some(wide(bytes.len()));
        self.kv.record(start, Method::Read, key, (None, None), read);
        let object = Object {
            bytes,
            start: from,
            size,
            etag,
        };
        let head = Some(Arc::new(ShardHead::parse(key, shard, object)?));
        self.shards.heads.insert(key.to_owned(), head.clone());
        Ok(head)
    }
}

/// A part of an open file, for later reads of ranges.
fn source(kv: &Kv, key: &str, file: Arc<local::OpenFile>, part: Range<u64>) -> StoredBytes {
    let (kv, key) = (kv.clone(), key.to_owned());
    let length = part.end.saturating_sub(part.start);
    let read = move |range: Range<u64>| {
        let (start, length) = (kv.trace().start(), range.end.saturating_sub(range.start));
        let first = part.start.saturating_add(range.start);
        let bytes = file.at(&key, first, length);
        let bytes = bytes.map_err(|error: IoError| CodecError::Library(io::Error::other(error)))?;
        let (asked, read) = ((Some(first), Some(length)), Some(wide(bytes.len())));
        kv.record(start, Method::Read, &key, asked, read);
        Ok(bytes.into())
    };
    StoredBytes::Source(length, Box::new(read))
}

/// Reads a range of an open file. Only the first one returns the state of the file.
fn range_of<'b>(
    kv: &Kv,
    key: &str,
    range: &Range<u64>,
    opened: Option<&mut OpenedFile>,
) -> Result<Option<RequestBytes<'b>>, StoreError> {
    let Some((file, state)) = opened else {
        return Ok(None);
    };
    let (start, length) = (kv.trace().start(), range.end.saturating_sub(range.start));
    let bytes: Bytes = file.at(key, range.start, length)?.into();
    let (asked, read) = ((Some(range.start), Some(length)), Some(wide(bytes.len())));
    kv.record(start, Method::Read, key, asked, read);
    Ok(Some(RequestBytes {
        data: Data::Shared(bytes),
        start: range.start,
        state: state.take(),
    }))
}
