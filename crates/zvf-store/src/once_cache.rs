//! Things that are loaded once by number, shared, and forgotten by age when they are many.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use crate::StoreError;
use zvf_io::Once;
use zvf_io::driven;

/// A cache with a limit on the weight of what it holds.
#[derive(Debug)]
pub(crate) struct OnceCache<T> {
    state: Mutex<State<T>>,
    limit: u64,
}

#[derive(Debug)]
struct State<T> {
    cells: HashMap<u64, Arc<Once<Arc<T>, StoreError>>>,
    order: VecDeque<(u64, u64)>,
    weight: u64,
}

impl<T: Send + Sync + 'static> OnceCache<T> {
    /// An empty cache that keeps things of `limit` bytes, and at least the last one.
    pub(crate) fn new(limit: u64) -> Self {
        let state = State {
            cells: HashMap::new(),
            order: VecDeque::new(),
            weight: 0,
        };
        Self {
            state: Mutex::new(state),
            limit,
        }
    }

    /// The item with that number, loaded by the first caller. Loading continues while no caller polls it,
    /// since others may wait for it.
    ///
    /// # Errors
    /// Those of `load`; the next who asks tries again.
    pub(crate) async fn get<F>(
        self: &Arc<Self>,
        number: u64,
        weight: fn(&T) -> u64,
        load: F,
    ) -> Result<Arc<T>, StoreError>
    where
        F: Future<Output = Result<Arc<T>, StoreError>> + Send + 'static,
    {
        let cell = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(state.cells.entry(number).or_default())
        };
        if let Some(thing) = cell.get() {
            return Ok(thing);
        }
        let cache = Arc::clone(self);
        driven(async move {
            let mut loaded = false;
            let thing = cell
                .get_or_load(async {
                    loaded = true;
                    load.await
                })
                .await?;
            if loaded {
                cache.account(number, weight(&thing));
            }
            Ok(thing)
        })
        .await
    }

    /// Forgets what is loaded; what others still hold lives on.
    pub(crate) fn clear(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let known = std::mem::take(&mut state.order);
        for (number, weight) in known {
            state.weight = state.weight.saturating_sub(weight);
            state.cells.remove(&number);
        }
    }

    fn account(&self, number: u64, weight: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.weight = state.weight.saturating_add(weight);
        state.order.push_back((number, weight));
        while state.weight > self.limit && state.order.len() > 1 {
            let Some((old, freed)) = state.order.pop_front() else {
                break;
            };
            state.weight = state.weight.saturating_sub(freed);
            state.cells.remove(&old);
        }
    }
}
