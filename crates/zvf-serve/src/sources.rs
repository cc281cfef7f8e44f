//! The served stores, by name.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use zvf_store::{OpenOptions, RawStore, Store, StoreError};

use crate::http_error::{HandlerResult, HttpError};
use crate::log::Log;
use crate::opened::OpenedStore;
use crate::path::encoded;

/// Most bytes of each cache of a store: manifests, shard indexes. The caches speed up consecutive requests and need not hold everything.
const CACHE: u64 = 32 << 20;

/// How many times an answer is started again because the store changed meanwhile. One change replaces the root document twice.
const RETRIES: u32 = 5;

/// Bytes of a unit of work.
const UNIT: u64 = 1 << 20;

/// Largest number of units of the semaphore.
const MOST_UNITS: u32 = 1 << 20;

/// Bytes of the list or the object of an answer, besides the decoded bytes of a query.
const LIST: u64 = 8 << 20;

/// Most answers that wait for a slow client without a permit. Each holds its decoded bytes.
const ASIDE: usize = 16;

/// One store.
#[derive(Debug)]
pub(crate) struct ServedStore {
    name: String,
    address: String,
    options: OpenOptions,
    raw: RawStore,
    opened: Mutex<Option<Arc<OpenedStore>>>,
}

/// All stores, and their shared state.
pub(crate) struct Sources {
    list: Vec<ServedStore>,
    /// Memory for the views and queries that are computed at one time, in units of [`UNIT`].
    work: Arc<Semaphore>,
    /// Total number of units.
    units: u32,
    /// Locks for answers that take much memory: one of each kind is computed at a time, over all stores.
    scans: Arc<Mutex<()>>,
    meshes: Arc<Mutex<()>>,
    /// Permits for answers that wait for a slow client without a [`Permit`].
    aside: Arc<Semaphore>,
    /// Decoded bytes of one answer.
    pub(crate) budget: u64,
    /// Receives warnings.
    pub(crate) warn: Option<Log>,
}

/// The kind of an answer, which determines its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    /// One query, and one list or object.
    Query,
    /// A mesh in all its levels of detail, and its encoded form.
    Mesh,
    /// Objects from most chunks of a store, which are read on all cores.
    Scan,
}

/// The permit to compute, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    _units: OwnedSemaphorePermit,
    _turn: Option<OwnedMutexGuard<()>>,
}

impl Sources {
    /// Gives each store a unique name, without reading the stores.
    ///
    /// # Errors
    /// Misuse for an address without a backend.
    pub(crate) fn new(
        addresses: &[String],
        options: &OpenOptions,
        work: usize,
        budget: u64,
    ) -> Result<Self, StoreError> {
        let mut options = options.clone();
        options.io.limits.cache_bytes = options.io.limits.cache_bytes.min(CACHE);
        let mut list: Vec<ServedStore> = Vec::new();
        for address in addresses {
            let base = base_name(address);
            let mut name = base.clone();
            let mut number = 1;
            while list.iter().any(|one| one.name == name) {
                number += 1;
                name = format!("{base}-{number}");
            }
            list.push(ServedStore {
                name,
                address: address.clone(),
                options: options.clone(),
                raw: RawStore::open(address, &options.io)?,
                opened: Mutex::default(),
            });
        }
        let one = estimate(AnswerKind::Query, budget);
        let work = u32::try_from(work.max(1)).unwrap_or(u32::MAX);
        let units = one.saturating_mul(work).min(MOST_UNITS);
        let count = usize::try_from(units).unwrap_or(usize::MAX);
        Ok(Self {
            list,
            work: Arc::new(Semaphore::new(count)),
            units,
            scans: Arc::default(),
            meshes: Arc::default(),
            aside: Arc::new(Semaphore::new(ASIDE)),
            budget,
            warn: None,
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ServedStore> {
        self.list.iter()
    }

    /// The store with this name.
    ///
    /// # Errors
    /// 404.
    pub(crate) fn find(&self, name: &str) -> HandlerResult<&ServedStore> {
        self.list
            .iter()
            .find(|one| one.name == name)
            .ok_or_else(|| HttpError::not_found("no such store"))
    }

    /// Passes on the warnings of a store and of an answer from it, each once.
    pub(crate) fn warn(&self, source: &ServedStore, opened: &OpenedStore, answer: &[String]) {
        if let Some(warn) = &self.warn {
            for warning in opened.new_warnings(answer) {
                warn(&format!("{}: {warning}", source.name));
            }
        }
    }

    /// The permit for an answer to wait for a slow client after it gives up its [`Permit`]; `None` if [`ASIDE`] answers already wait.
    pub(crate) fn step_aside(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.aside).try_acquire_owned().ok()
    }

    /// Waits for a permit to compute one query.
    ///
    /// # Errors
    /// 503 while the server is shutting down.
    pub(crate) async fn permit(&self) -> HandlerResult<Permit> {
        self.permit_for(AnswerKind::Query).await
    }

    /// Waits for a permit to compute an answer. An answer that waits for others of its kind holds no units, so that it does not block other kinds.
    ///
    /// # Errors
    /// 503 while the server is shutting down.
    pub(crate) async fn permit_for(&self, work: AnswerKind) -> HandlerResult<Permit> {
        let turns = match work {
            AnswerKind::Query => None,
            AnswerKind::Mesh => Some(&self.meshes),
            AnswerKind::Scan => Some(&self.scans),
        };
        let turn = match turns {
            Some(turns) => Some(Arc::clone(turns).lock_owned().await),
            None => None,
        };
        let units = estimate(work, self.budget).min(self.units);
        let units = Arc::clone(&self.work).acquire_many_owned(units).await;
        let units = units.map_err(|_| {
            HttpError::new(
                axum::http::StatusCode::SERVICE_UNAVAILABLE,
                "the server is shutting down",
            )
        })?;
        Ok(Permit {
            _units: units,
            _turn: turn,
        })
    }
}

/// The memory of an answer in units, for queries that decode `budget` bytes at a time.
fn estimate(work: AnswerKind, budget: u64) -> u32 {
    let bytes = match work {
        AnswerKind::Query => budget.saturating_add(LIST),
        AnswerKind::Mesh => budget.saturating_add(4 * LIST),
        // A scan also decodes the manifests of all objects.
        AnswerKind::Scan => budget.saturating_mul(3).saturating_add(2 * LIST),
    };
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

impl ServedStore {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The address without what may be secret: user, password, and the signature of a signed URL.
    pub(crate) fn shown_address(&self) -> String {
        shown(&self.address)
    }

    pub(crate) fn raw(&self) -> &RawStore {
        &self.raw
    }

    /// The current snapshot of the store. The store is opened once, and again after it was changed, moved or replaced. Each call compares the
    /// root document, because all other data of a request may come from memory.
    ///
    /// # Errors
    /// The errors of the store.
    pub(crate) async fn opened(&self) -> HandlerResult<Arc<OpenedStore>> {
        let held = self.opened.lock().await.clone();
        if let Some(opened) = held {
            // A folder that was moved away is still open, and unchanged.
            let here = opened.store().raw().is_at_its_path().await?;
            match opened.store().verify(1).await {
                Ok(()) if here => return Ok(opened),
                Ok(()) => self.forget(&opened).await,
                Err(error) if error.is_changed() || !here => self.forget(&opened).await,
                Err(error) => return Err(error.into()),
            }
        }
        let mut held = self.opened.lock().await;
        // Another request opened the store after this one began.
        if let Some(opened) = held.as_ref() {
            return Ok(Arc::clone(opened));
        }
        let store = Store::open_with(&self.address, self.options.clone()).await;
        let store = store.map_err(|error| match error {
            StoreError::NoStore { what, .. } => {
                let store = self.shown_address();
                StoreError::NoStore { store, what }
            }
            error => error,
        })?;
        let opened = Arc::new(OpenedStore::new(store));
        *held = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Calls `make` with the current snapshot; returns its result and the snapshot. Calls `make` again, up to [`RETRIES`] times, if the store changes
    /// meanwhile.
    ///
    /// # Errors
    /// The errors of `make` and of [`opened`](Self::opened); 503 if the store keeps changing.
    pub(crate) async fn with_current<T, Made: Future<Output = HandlerResult<T>>>(
        &self,
        make: impl Fn(Arc<OpenedStore>) -> Made,
    ) -> HandlerResult<(T, Arc<OpenedStore>)> {
        let mut retries = 0;
        loop {
            let made = match self.opened().await {
                Ok(opened) => match make(Arc::clone(&opened)).await {
                    Ok(made) => return Ok((made, opened)),
                    Err(error) => {
                        let error = or_changed(&opened, error).await;
                        if error.is_changed() {
                            self.forget(&opened).await;
                        }
                        error
                    }
                },
                Err(error) => error,
            };
            if !made.is_changed() || retries == RETRIES {
                return Err(made);
            }
            retries += 1;
        }
    }

    /// Drops a stale snapshot; the next request opens the store again.
    async fn forget(&self, stale: &Arc<OpenedStore>) {
        let mut held = self.opened.lock().await;
        if held.as_ref().is_some_and(|held| Arc::ptr_eq(held, stale)) {
            *held = None;
        }
    }
}

/// Returns the error; if a change of the store may be its cause and the store did change, returns the error about the change instead.
async fn or_changed(opened: &OpenedStore, error: HttpError) -> HttpError {
    if !error.is_doubtful() {
        return error;
    }
    match opened.store().verify(1).await {
        Err(changed) if changed.is_changed() => changed.into(),
        _ => error,
    }
}

/// An address without user, password, query and fragment, if it is a URL.
fn shown(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else {
        return address.to_owned();
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// The last segment of an address without the extension of a store; characters that would need encoding in a URL are replaced by `_`.
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
    fn a_scan_that_waits_for_another_does_not_block_queries() {
        let runtime = zvf_store::blocking::Runtime::new().unwrap();
        runtime.wait(async {
            let sources = Sources::new(&[], &OpenOptions::new(), 4, 16 << 20).unwrap();
            let first = sources.permit_for(AnswerKind::Scan).await.unwrap();
            let mut second = Box::pin(sources.permit_for(AnswerKind::Scan));
            assert!(futures::poll!(second.as_mut()).is_pending());
            let one = sources.permit().await.unwrap();
            // A scan and a query leave too few units for another query.
            let mut other = Box::pin(sources.permit());
            assert!(futures::poll!(other.as_mut()).is_pending());
            drop(one);
            let other = other.await.unwrap();
            drop(first);
            drop(second.await.unwrap());
            drop(other);
            // An answer can be computed even if it needs more units than there are.
            let small = Sources::new(&[], &OpenOptions::new(), 1, 1).unwrap();
            drop(small.permit_for(AnswerKind::Scan).await.unwrap());
        });
    }

    /// Replaces the root of a store during each of the first `changes` attempts; the first `damaged` attempts end with an error about damage. Returns the
    /// number of attempts, and the result.
    fn attempts(changes: usize, damaged: usize) -> (usize, HandlerResult<()>) {
        let store = zvf_testkit::unpack("skeleton").unwrap();
        let root = store.path().join("zarr.json");
        let text = std::fs::read_to_string(&root).unwrap();
        let address = store.path().display().to_string();
        let sources = Sources::new(&[address], &OpenOptions::new(), 1, 1 << 20).unwrap();
        let source = sources.iter().next().unwrap();
        let count = std::sync::atomic::AtomicUsize::new(0);
        let runtime = zvf_store::blocking::Runtime::new().unwrap();
        let made = runtime.wait(source.with_current(|opened| {
            let at = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if at < changes {
                std::fs::write(&root, text.clone() + &" ".repeat(at + 1)).unwrap();
            }
            async move {
                if at < damaged {
                    return Err(HttpError::malformed("a chunk is missing"));
                }
                Ok(opened.store().verify(1).await?)
            }
        }));
        (count.into_inner(), made.map(|_| ()))
    }

    #[test]
    fn an_answer_begins_again_when_the_store_changes() {
        for changes in 0..=5 {
            for damaged in [0, changes] {
                let (count, made) = attempts(changes, damaged);
                assert_eq!(count, changes + 1);
                made.unwrap();
            }
        }
        for damaged in [0, usize::MAX] {
            let (count, made) = attempts(usize::MAX, damaged);
            assert_eq!(count, 6);
            let error = made.unwrap_err();
            assert!(error.is_changed());
            let status = axum::response::IntoResponse::into_response(error).status();
            assert_eq!(status, axum::http::StatusCode::SERVICE_UNAVAILABLE);
        }
    }

    #[test]
    fn damage_of_a_store_that_has_not_changed_is_an_error_at_once() {
        let (count, made) = attempts(0, 1);
        assert_eq!(count, 1);
        let status = axum::response::IntoResponse::into_response(made.unwrap_err()).status();
        assert_eq!(status, axum::http::StatusCode::INTERNAL_SERVER_ERROR);
    }

    #[test]
    fn secrets_of_addresses_are_not_shown() {
        for (address, expected) in [
            ("/data/a?b@c.zv", "/data/a?b@c.zv"),
            ("https://me:pw@h:1/a@b.zv?sig=x/y#z", "https://h:1/a@b.zv"),
            ("https://h?sig=a@b", "https://h"),
            ("s3://bucket/a.zv", "s3://bucket/a.zv"),
        ] {
            assert_eq!(shown(address), expected);
        }
    }

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
        let names: Vec<&str> = sources.iter().map(ServedStore::name).collect();
        assert_eq!(names, ["x", "x-2"]);
    }
}
