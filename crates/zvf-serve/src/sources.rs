//! The stores that are served, by name.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use zvf_store::{OpenOptions, RawStore, Store, StoreError};

use crate::opened::Opened;
use crate::path::encoded;
use crate::refusal::{Answer, Refusal};

/// Bytes of each cache of a store: manifests, indexes of shards. They spare the requests that follow each other, not all of them.
const CACHE: u64 = 32 << 20;

/// One store.
#[derive(Debug)]
pub(crate) struct Source {
    name: String,
    address: String,
    options: OpenOptions,
    raw: RawStore,
    opened: Mutex<Option<Arc<Opened>>>,
    /// As [`Opened::scans`].
    scans: Arc<Mutex<()>>,
}

/// All stores, and what they share.
#[derive(Debug)]
pub(crate) struct Sources {
    list: Vec<Source>,
    /// Views and queries that are computed at one time.
    work: Arc<Semaphore>,
    /// Decoded bytes of one of them.
    pub(crate) budget: u64,
}

impl Sources {
    /// Names the stores; nothing is read.
    ///
    /// # Errors
    /// Misuse for an address that no backend knows.
    pub(crate) fn new(
        addresses: &[String],
        options: &OpenOptions,
        work: usize,
        budget: u64,
    ) -> Result<Self, StoreError> {
        let mut options = options.clone();
        options.limits.cache_bytes = options.limits.cache_bytes.min(CACHE);
        let scans = Arc::default();
        let mut list: Vec<Source> = Vec::new();
        for address in addresses {
            let base = base_name(address);
            let mut name = base.clone();
            let mut number = 1;
            while list.iter().any(|one| one.name == name) {
                number += 1;
                name = format!("{base}-{number}");
            }
            list.push(Source {
                name,
                address: address.clone(),
                options: options.clone(),
                raw: RawStore::open(address, &options)?,
                opened: Mutex::default(),
                scans: Arc::clone(&scans),
            });
        }
        Ok(Self {
            list,
            work: Arc::new(Semaphore::new(work.max(1))),
            budget,
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Source> {
        self.list.iter()
    }

    /// The store of a name.
    ///
    /// # Errors
    /// 404.
    pub(crate) fn find(&self, name: &str) -> Answer<&Source> {
        self.list
            .iter()
            .find(|one| one.name == name)
            .ok_or_else(|| Refusal::not_found("no such store"))
    }

    /// Waits for the right to compute.
    ///
    /// # Errors
    /// 503 while the server stops.
    pub(crate) async fn permit(&self) -> Answer<OwnedSemaphorePermit> {
        Arc::clone(&self.work).acquire_owned().await.map_err(|_| {
            Refusal::new(
                axum::http::StatusCode::SERVICE_UNAVAILABLE,
                "the server stops",
            )
        })
    }
}

impl Source {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn raw(&self) -> &RawStore {
        &self.raw
    }

    /// The store, opened once.
    ///
    /// # Errors
    /// As the store says.
    pub(crate) async fn opened(&self) -> Answer<Arc<Opened>> {
        let mut held = self.opened.lock().await;
        if let Some(opened) = held.as_ref() {
            return Ok(Arc::clone(opened));
        }
        let store = Store::open_with(&self.address, self.options.clone()).await?;
        let opened = Arc::new(Opened::new(store, Arc::clone(&self.scans)));
        *held = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Drops a snapshot that is not the store's state any more; the next request opens the store again.
    pub(crate) async fn forget(&self, stale: &Arc<Opened>) {
        let mut held = self.opened.lock().await;
        if held.as_ref().is_some_and(|held| Arc::ptr_eq(held, stale)) {
            *held = None;
        }
    }
}

/// The last segment of an address without the ending of stores, made of characters that need no encoding.
fn base_name(address: &str) -> String {
    let path = address.split(['?', '#']).next().unwrap_or(address);
    let last = path
        .trim_end_matches(['/', '\\'])
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or("");
    let stem = [".zarrvectors", ".zarr", ".zv"]
        .iter()
        .find_map(|ending| last.strip_suffix(ending))
        .unwrap_or(last);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name: String = stem
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect();
    match name.trim_matches('.') {
        "" => "store".to_owned(),
        _ => encoded(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_addresses() {
        assert_eq!(base_name("data/brain.zarrvectors/"), "brain");
        assert_eq!(base_name("s3://bucket/a/b c.zarr"), "b_c");
        assert_eq!(base_name("points.zv"), "points");
        assert_eq!(base_name("https://host/x?token=1"), "x");
        for none in ["", ".", "..", "/"] {
            assert_eq!(base_name(none), "store", "{none}");
        }
        let twice = ["a/x.zarrvectors", "b/x.zarrvectors"].map(str::to_owned);
        let sources = Sources::new(&twice, &OpenOptions::new(), 1, 1).unwrap();
        let names: Vec<&str> = sources.iter().map(Source::name).collect();
        assert_eq!(names, ["x", "x-2"]);
    }
}
