//! A `zarrs` storage that reads objects through this crate.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::StreamExt;
use futures::future::try_join_all;
use zarrs_storage::byte_range::{ByteRange, ByteRangeIterator};
use zarrs_storage::{
    AsyncMaybeBytesIterator, AsyncReadableStorageTraits, MaybeBytes, StorageError, StoreKey,
};

use crate::StoreError;
use zvf_io::{Ask, Cap, Kv, Object};

/// Reads objects for `zarrs`: no HEAD requests, neighbouring ranges merged, errors kept in their own type.
#[derive(Debug)]
pub(super) struct Adapter {
    kv: Kv,
    /// The first failure; an error of `zarrs` has only its text.
    failed: Arc<Mutex<Option<StoreError>>>,
}

impl Adapter {
    pub(super) fn new(kv: &Kv) -> Self {
        Self {
            kv: kv.clone(),
            failed: Arc::default(),
        }
    }

    /// The slot for the first failure.
    pub(super) fn failed(&self) -> Arc<Mutex<Option<StoreError>>> {
        Arc::clone(&self.failed)
    }

    async fn fetch(&self, key: &StoreKey, ask: Ask) -> Result<Option<Object>, StorageError> {
        let result = self
            .kv
            .get_polled(key.as_str(), ask, Cap::cell(self.kv.limits()))
            .await;
        result.map_err(|error| {
            let text = error.to_string();
            self.failed
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_or_insert(error.into());
            StorageError::Other(text)
        })
    }

    /// The bytes of each range, `None` when the object does not exist.
    async fn ranges(
        &self,
        key: &StoreKey,
        asked: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StorageError> {
        let bounded: Option<Vec<Range<u64>>> = asked
            .iter()
            .map(|range| match range {
                ByteRange::FromStart(start, Some(length)) => {
                    Some(*start..start.checked_add(*length)?)
                }
                _ => None,
            })
            .collect();
        if let Some(ranges) = bounded {
            let requests = self.kv.requests(ranges.clone());
            let fetched = requests.into_iter().map(|r| async move {
                Ok::<_, StorageError>((
                    r.start,
                    self.fetch(key, Ask::Range(r)).await?.map(|o| o.bytes),
                ))
            });
            let mut parts = Vec::new();
            for (start, bytes) in try_join_all(fetched).await? {
                let Some(bytes) = bytes else { return Ok(None) };
                parts.push((start, bytes));
            }
            return ranges
                .iter()
                .map(|r| cut(&parts, r))
                .collect::<Result<Vec<_>, _>>()
                .map(Some);
        }
        if let [ByteRange::Suffix(length)] = asked {
            return Ok(self
                .fetch(key, Ask::Suffix(*length))
                .await?
                .map(|o| vec![o.bytes]));
        }
        let Some(whole) = self.fetch(key, Ask::Whole).await? else {
            return Ok(None);
        };
        let size = whole.size;
        let part = [(0, whole.bytes)];
        asked
            .iter()
            .map(|range| match range {
                ByteRange::FromStart(start, None) => cut(&part, &(*start..size)),
                ByteRange::FromStart(start, Some(length)) => {
                    cut(&part, &(*start..start.saturating_add(*length)))
                }
                ByteRange::Suffix(length) => cut(&part, &(size.saturating_sub(*length)..size)),
            })
            .collect::<Result<Vec<_>, _>>()
            .map(Some)
    }
}

fn cut(parts: &[(u64, Bytes)], range: &Range<u64>) -> Result<Bytes, StorageError> {
    if range.is_empty() {
        return Ok(Bytes::new());
    }
    let after = parts.partition_point(|(start, _)| *start <= range.start);
    after
        .checked_sub(1)
        .and_then(|at| parts.get(at))
        .and_then(|(start, bytes)| {
            let from = usize::try_from(range.start.checked_sub(*start)?).ok()?;
            let to = usize::try_from(range.end.checked_sub(*start)?).ok()?;
            (from <= to && to <= bytes.len()).then(|| bytes.slice(from..to))
        })
        .ok_or_else(|| {
            StorageError::Other(format!(
                "bytes {}..{} lie past the end",
                range.start, range.end
            ))
        })
}

#[async_trait::async_trait]
impl AsyncReadableStorageTraits for Adapter {
    async fn get(&self, key: &StoreKey) -> Result<MaybeBytes, StorageError> {
        Ok(self.fetch(key, Ask::Whole).await?.map(|o| o.bytes))
    }

    async fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        byte_ranges: ByteRangeIterator<'a>,
    ) -> Result<AsyncMaybeBytesIterator<'a>, StorageError> {
        let asked: Vec<ByteRange> = byte_ranges.collect();
        let parts = self.ranges(key, &asked).await?;
        Ok(parts.map(|parts| futures::stream::iter(parts.into_iter().map(Ok)).boxed()))
    }

    async fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        Ok(self.fetch(key, Ask::Suffix(1)).await?.map(|o| o.size))
    }

    fn supports_get_partial(&self) -> bool {
        true
    }
}
