//! A cache of items that are loaded once by key and shared; the oldest are removed when it is full.

use std::borrow::Borrow;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::StoreError;
use zvf_io::Once;
use zvf_io::driven;

/// A cache with a limit on the weight of its items.
#[derive(Debug)]
pub(crate) struct OnceCache<K, V> {
    state: Mutex<OnceCacheState<K, V>>,
    weight: fn(&V) -> u64,
    limit: u64,
}

#[derive(Debug)]
struct OnceCacheState<K, V> {
    cells: HashMap<K, Arc<Once<V, StoreError>>>,
    order: VecDeque<(K, u64)>,
    weight: u64,
}

impl<K: Clone + Eq + Hash, V: Clone> OnceCache<K, V> {
    /// An empty cache of up to `limit` bytes; the newest item is kept even if it is larger. `weight` returns the bytes of an item.
    pub(crate) fn new(limit: u64, weight: fn(&V) -> u64) -> Self {
        let state = OnceCacheState {
            cells: HashMap::new(),
            order: VecDeque::new(),
            weight: 0,
        };
        Self {
            state: Mutex::new(state),
            weight,
            limit,
        }
    }

    fn state(&self) -> MutexGuard<'_, OnceCacheState<K, V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The item, if it is already loaded.
    pub(crate) fn ready<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.state().cells.get(key)?.get()
    }

    /// Adds an item.
    pub(crate) fn insert(&self, key: K, thing: V) {
        let weight = (self.weight)(&thing);
        let cell = Arc::new(Once::ready(thing));
        self.state().cells.insert(key.clone(), cell);
        self.account(key, weight);
    }

    /// The item, loaded by the first caller while the others wait for it. Only for callers that are polled to completion:
    /// see [`driven`].
    ///
    /// # Errors
    /// The errors of `load`; a later caller tries again.
    pub(crate) async fn get_polled(
        &self,
        key: K,
        load: impl Future<Output = Result<V, StoreError>>,
    ) -> Result<V, StoreError> {
        let cell = Arc::clone(self.state().cells.entry(key.clone()).or_default());
        let mut loaded = false;
        let thing = cell
            .get_or_load(async {
                loaded = true;
                load.await
            })
            .await?;
        if loaded {
            self.account(key, (self.weight)(&thing));
        }
        Ok(thing)
    }

    /// Removes all loaded items. Clones that callers have stay valid.
    pub(crate) fn clear(&self) {
        let mut state = self.state();
        let known = std::mem::take(&mut state.order);
        for (key, weight) in known {
            state.weight = state.weight.saturating_sub(weight);
            state.cells.remove(&key);
        }
    }

    fn account(&self, key: K, weight: u64) {
        let mut state = self.state();
        state.weight = state.weight.saturating_add(weight);
        state.order.push_back((key, weight));
        while state.weight > self.limit && state.order.len() > 1 {
            let Some((old, freed)) = state.order.pop_front() else {
                break;
            };
            state.weight = state.weight.saturating_sub(freed);
            state.cells.remove(&old);
        }
    }
}

impl<K, V> OnceCache<K, V>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Like [`get_polled`](Self::get_polled), for any caller: loading continues while no caller polls it.
    ///
    /// # Errors
    /// The errors of `load`; a later caller tries again.
    pub(crate) async fn get(
        self: &Arc<Self>,
        key: K,
        load: impl Future<Output = Result<V, StoreError>> + Send + 'static,
    ) -> Result<V, StoreError> {
        if let Some(thing) = self.ready(&key) {
            return Ok(thing);
        }
        let cache = Arc::clone(self);
        driven(async move { cache.get_polled(key, load).await }).await
    }
}
