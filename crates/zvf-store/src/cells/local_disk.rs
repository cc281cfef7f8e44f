//! Cells of a local disk: opened, read and decoded in one go. Everything here blocks.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::shard::{self, Head, ShardCache, ShardHead};
use super::{Budget, ObjectWant, unit};
use crate::StoreError;
use crate::layout::Shard;
use zvf_codec::Data;
use zvf_io::Method;
use zvf_io::{Ask, Cap, Folder, Kv, Object, local};

/// One batch's view of the disk.
pub(super) struct Disk<'a> {
    pub(super) kv: &'a Kv,
    pub(super) root: &'a Folder,
    pub(super) shards: &'a ShardCache,
}

impl Disk<'_> {
    /// Reads and decodes the cells of one file.
    pub(super) fn read(
        &self,
        object: &ObjectWant,
        cells: &mut [Option<Bytes>],
        budget: &mut Budget,
    ) -> Result<(), StoreError> {
        let Some(layout) = object.array.layout() else {
            return Ok(());
        };
        if let Some(shard) = layout.shard {
            return self.read_shard(object, shard, cells, budget);
        }
        let (key, cap) = (object.key.as_str(), Cap::cell(self.kv.limits()));
        let found = self.whole(key, cap, |data| {
            unit::decode(key, layout, data, &object.cells, cells, cap, budget)
        })?;
        match found {
            Some(()) => Ok(()),
            None => object.absent(self.kv, |_| true),
        }
    }

    /// Reads a whole file and hands its bytes to `use_bytes`; `Ok(None)` when it does not exist.
    pub(super) fn whole<R>(
        &self,
        key: &str,
        cap: Cap,
        use_bytes: impl FnOnce(Data<'_>) -> Result<R, StoreError>,
    ) -> Result<Option<R>, StoreError> {
        let trace = self.kv.trace();
        let start = trace.start();
        let mut size = None;
        let result = local::with_file(self.root, key, cap, |contents| {
            size = u64::try_from(contents.len()).ok();
            use_bytes(match contents {
                Cow::Borrowed(bytes) => Data::Borrowed(bytes),
                Cow::Owned(bytes) => Data::Shared(bytes.into()),
            })
        })?;
        if trace.is_on() {
            self.kv.record(start, Method::Read, key, (None, None), size);
        }
        Ok(result)
    }

    /// Reads and decodes the cells of one shard: the index once, then merged ranges.
    fn read_shard(
        &self,
        object: &ObjectWant,
        shard: Shard,
        cells: &mut [Option<Bytes>],
        budget: &mut Budget,
    ) -> Result<(), StoreError> {
        let Some(layout) = object.array.layout() else {
            return Ok(());
        };
        let (key, cap, trace) = (
            object.key.as_str(),
            Cap::cell(self.kv.limits()),
            self.kv.trace(),
        );
        // Where a chunk lies is known only from the index: what is read after it belongs to the next round.
        let (head, round) = match self.shards.ready(key) {
            Some(head) => (head, self.kv.round()),
            None => (
                self.read_head(key, shard)?,
                self.kv.round().saturating_add(1),
            ),
        };
        let Some(head) = head else {
            return object.absent(self.kv, |_| true);
        };
        let chunks = shard::chunks(key, &head, &object.cells, cap)?;
        object.absent_from(self.kv, &chunks)?;
        let missing: Vec<Range<u64>> = chunks
            .iter()
            .filter(|c| c.bytes.is_none())
            .map(|c| c.range.clone())
            .collect();
        let mut parts = Vec::new();
        let requests = self.kv.requests(missing);
        if !requests.is_empty() {
            let file = self.file(key, &head)?;
            let kv = self.kv.in_round(round);
            for range in requests {
                let start = trace.start();
                let bytes: Bytes = file.at(key, range.start, range.end - range.start)?.into();
                if trace.is_on() {
                    let asked = (Some(range.start), Some(range.end - range.start));
                    let read = u64::try_from(bytes.len()).ok();
                    kv.record(start, Method::Read, key, asked, read);
                }
                parts.push((range.start, bytes));
            }
        }
        for chunk in chunks {
            let bytes = shard::cut(key, &chunk, &parts)?;
            unit::decode(
                key,
                layout,
                Data::Shared(bytes),
                &chunk.cells,
                cells,
                cap,
                budget,
            )
            .map_err(|e| e.renamed(chunk.name(key)))?;
        }
        Ok(())
    }

    /// Reads the index of a shard, with the bytes beside it.
    fn read_head(&self, key: &str, shard: Shard) -> Result<Head, StoreError> {
        let trace = self.kv.trace();
        let start = trace.start();
        let Some(file) = local::OpenFile::open(self.root, key)? else {
            self.kv.record(start, Method::Read, key, (None, None), None);
            self.shards.insert(key, None);
            return Ok(None);
        };
        let (size, state) = file.state(key)?;
        let (from, to) = match shard::first_ask(shard, self.kv.merge().gap) {
            Ask::Suffix(n) => (size.saturating_sub(n), size),
            Ask::Prefix(n) => (0, size.min(n)),
            Ask::Range(r) => (r.start.min(size), r.end.min(size)),
            Ask::Whole => (0, size),
        };
        let bytes: Bytes = file.at(key, from, to.saturating_sub(from))?.into();
        let read = u64::try_from(bytes.len()).ok();
        self.kv.record(start, Method::Read, key, (None, None), read);
        let object = Object {
            bytes,
            start: from,
            size,
            etag: Some(state),
        };
        let head = Some(Arc::new(ShardHead::parse(key, shard, object)?));
        self.shards.insert(key, head.clone());
        self.shards.keep_file(key, Arc::new(file));
        Ok(head)
    }

    /// The open file of a shard; a new one has to be in the state that the index was read from.
    fn file(&self, key: &str, head: &ShardHead) -> Result<Arc<local::OpenFile>, StoreError> {
        if let Some(file) = self.shards.open_file(key) {
            return Ok(file);
        }
        let Some(file) = local::OpenFile::open(self.root, key)? else {
            return Err(StoreError::malformed(
                key,
                "the shard vanished while it was read",
            ));
        };
        let (size, state) = file.state(key)?;
        head.check_same(
            key,
            &Object {
                bytes: Bytes::new(),
                start: 0,
                size,
                etag: Some(state),
            },
        )?;
        let file = Arc::new(file);
        self.shards.keep_file(key, Arc::clone(&file));
        Ok(file)
    }
}
