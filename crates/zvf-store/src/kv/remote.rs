//! Requests to an `object_store` backend.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, GetResultPayload, ObjectStore};

use super::{Ask, Cap, Kv, Object, Question, Reply};
use crate::StoreError;
use crate::raw::Usage;
use crate::trace::Method;

/// A prefix of an object store.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    store: Arc<dyn ObjectStore>,
    prefix: Arc<str>,
    pub(crate) lists: bool,
}

impl Remote {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, prefix: String, lists: bool) -> Self {
        Self {
            store,
            prefix: prefix.into(),
            lists,
        }
    }

    /// The backend's path of a key. `Path::parse` keeps every character; `Path::from` would escape some.
    fn path(&self, key: &str) -> Result<Path, StoreError> {
        let full = match (self.prefix.is_empty(), key.is_empty()) {
            (true, _) => Path::parse(key),
            (false, true) => Path::parse(&self.prefix),
            (false, false) => Path::parse(format!("{}/{key}", self.prefix)),
        };
        full.map_err(|e| StoreError::misuse(format!("{key:?} cannot be a key: {e}")))
    }

    pub(crate) async fn get(
        &self,
        kv: &Kv,
        round: u32,
        key: &str,
        ask: Ask,
        cap: Cap,
    ) -> Result<Option<Object>, StoreError> {
        let slot = kv.slot().await?;
        let start = kv.trace.start();
        let range = match &ask {
            Ask::Whole => (None, None),
            Ask::Suffix(n) => (None, Some(*n)),
            Ask::Range(r) => (Some(r.start), Some(r.end.saturating_sub(r.start))),
        };
        let result = match self.request(kv, key, &ask, cap).await {
            // Some web servers know no ranges: the whole object answers too.
            Err(StoreError::NotSupported { .. }) if ask != Ask::Whole => {
                let whole = self.request(kv, key, &Ask::Whole, cap).await;
                whole.map(|object| object.map(|object| object.part(&ask)))
            }
            other => other,
        };
        drop(slot);
        if kv.trace.is_on() {
            let bytes = match &result {
                Ok(Some(object)) => u64::try_from(object.bytes.len()).ok(),
                _ => None,
            };
            kv.trace
                .record(start, round, Method::Get, key, range, bytes);
        }
        result
    }

    async fn request(
        &self,
        kv: &Kv,
        key: &str,
        ask: &Ask,
        cap: Cap,
    ) -> Result<Option<Object>, StoreError> {
        let options = match ask {
            Ask::Whole => GetOptions::new(),
            Ask::Suffix(n) => GetOptions::new().with_range(Some(GetRange::Suffix(*n))),
            Ask::Range(r) => GetOptions::new().with_range(Some(GetRange::Bounded(r.clone()))),
        };
        let result = match self.store.get_opts(&self.path(key)?, options).await {
            Ok(result) => result,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(refused(key, error)),
        };
        let length = result.range.end.saturating_sub(result.range.start);
        cap.check(key, length)?;
        let room = kv.room(length).await?;
        let (start, size, etag) = (
            result.range.start,
            result.meta.size,
            result.meta.e_tag.clone(),
        );
        let bytes = match result.payload {
            GetResultPayload::Stream(stream) => collect(stream, length, key).await?,
            // Only the local file backend answers so, and only when a caller injects it.
            _ => result.bytes().await.map_err(|e| refused(key, e))?,
        };
        drop(room);
        Ok(Some(Object {
            bytes,
            start,
            size,
            etag,
        }))
    }

    pub(crate) async fn answer(
        &self,
        kv: &Kv,
        round: u32,
        question: &Question,
    ) -> Result<Reply, StoreError> {
        match question {
            Question::Document(key) => self
                .get(kv, round, key, Ask::Whole, Cap::document(&kv.limits))
                .await
                .map(Reply::Document),
            Question::Names(_) | Question::Cells(_) | Question::Keys(_) if !self.lists => {
                Ok(Reply::Names(None))
            }
            Question::Names(prefix) | Question::Cells(prefix) | Question::Keys(prefix) => {
                let slot = kv.slot().await?;
                let start = kv.trace.start();
                let result = match question {
                    Question::Keys(_) => self.keys(prefix, kv.limits.cells_per_query).await,
                    Question::Cells(_) => {
                        let limit = ("cells_per_query", kv.limits.cells_per_query);
                        self.names(prefix, limit).await
                    }
                    _ => {
                        let limit = ("listed_names", kv.limits.listed_names);
                        self.names(prefix, limit).await
                    }
                };
                drop(slot);
                let count = result
                    .as_ref()
                    .ok()
                    .and_then(Option::as_ref)
                    .and_then(|n| u64::try_from(n.len()).ok());
                kv.trace
                    .record(start, round, Method::List, prefix, (None, None), count);
                result.map(Reply::Names)
            }
        }
    }

    /// Adds up the objects below a prefix; `None` when the backend cannot list.
    pub(crate) async fn usage(&self, kv: &Kv, prefix: &str) -> Result<Option<Usage>, StoreError> {
        if !self.lists {
            return Ok(None);
        }
        let limit = kv.limits.cells_per_query;
        let path = self.path(prefix)?;
        let mut list = self.store.list((!path.is_root()).then_some(&path));
        let mut usage = Usage::default();
        loop {
            match list.try_next().await {
                Ok(Some(meta)) => usage.add(prefix, meta.size, limit)?,
                Ok(None) | Err(Error::NotFound { .. }) => return Ok(Some(usage)),
                Err(Error::NotSupported { .. } | Error::NotImplemented { .. }) => return Ok(None),
                Err(error) => return Err(refused(prefix, error)),
            }
        }
    }

    async fn names(
        &self,
        prefix: &str,
        (what, limit): (&'static str, u64),
    ) -> Result<Option<Vec<String>>, StoreError> {
        let path = self.path(prefix)?;
        let listing = match self
            .store
            .list_with_delimiter((!path.is_root()).then_some(&path))
            .await
        {
            Ok(listing) => listing,
            Err(Error::NotFound { .. }) => return Ok(Some(Vec::new())),
            Err(Error::NotSupported { .. } | Error::NotImplemented { .. }) => return Ok(None),
            Err(error) => return Err(refused(prefix, error)),
        };
        let found = u64::try_from(listing.common_prefixes.len()).unwrap_or(u64::MAX);
        if found > limit {
            return Err(StoreError::limit(prefix, what, found, limit));
        }
        let mut names: Vec<String> = listing
            .common_prefixes
            .iter()
            .filter_map(|p| p.filename())
            .map(str::to_owned)
            .collect();
        names.sort_unstable();
        Ok(Some(names))
    }

    async fn keys(&self, prefix: &str, limit: u64) -> Result<Option<Vec<String>>, StoreError> {
        let path = self.path(prefix)?;
        let mut list = self.store.list(Some(&path));
        let mut keys = Vec::new();
        loop {
            let meta = match list.try_next().await {
                Ok(Some(meta)) => meta,
                Ok(None) => return Ok(Some(keys)),
                Err(Error::NotFound { .. }) => return Ok(Some(keys)),
                Err(Error::NotSupported { .. } | Error::NotImplemented { .. }) => return Ok(None),
                Err(error) => return Err(refused(prefix, error)),
            };
            let location = meta.location.as_ref();
            if let Some(key) = location
                .strip_prefix(path.as_ref())
                .map(|k| k.trim_start_matches('/'))
            {
                keys.push(key.to_owned());
            }
            let found = u64::try_from(keys.len()).unwrap_or(u64::MAX);
            if found > limit {
                return Err(StoreError::limit(prefix, "cells_per_query", found, limit));
            }
        }
    }
}

/// Collects a body of `length` bytes: without a copy when it comes in one piece.
async fn collect(
    mut stream: futures::stream::BoxStream<'static, object_store::Result<Bytes>>,
    length: u64,
    key: &str,
) -> Result<Bytes, StoreError> {
    let first = match stream.next().await {
        None => return Ok(Bytes::new()),
        Some(first) => first.map_err(|e| refused(key, e))?,
    };
    if u64::try_from(first.len()).is_ok_and(|n| n >= length) {
        return Ok(first);
    }
    let mut whole = BytesMut::with_capacity(usize::try_from(length).unwrap_or(0));
    whole.extend_from_slice(&first);
    while let Some(piece) = stream.next().await {
        whole.extend_from_slice(&piece.map_err(|e| refused(key, e))?);
        if u64::try_from(whole.len()).is_ok_and(|n| n > length) {
            return Err(StoreError::backend(
                key,
                format!("more than the announced {length} bytes arrived"),
            ));
        }
    }
    Ok(whole.freeze())
}

/// Sorts a backend's errors.
#[cold]
fn refused(key: &str, error: Error) -> StoreError {
    match error {
        Error::PermissionDenied { source, .. } | Error::Unauthenticated { source, .. } => {
            StoreError::Denied {
                key: key.to_owned(),
                source,
            }
        }
        error @ (Error::NotSupported { .. } | Error::NotImplemented { .. }) => {
            StoreError::NotSupported {
                key: key.to_owned(),
                what: error.to_string(),
            }
        }
        error => StoreError::backend(key, error),
    }
}
