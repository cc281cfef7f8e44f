//! Files of a local disk that a store keeps open between reads.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use zvf_io::local::OpenFile;
use zvf_io::open_file_limit;

/// How many files the stores of this process keep open together: a quarter of what the system allows the process, at most 512.
static PROCESS: LazyLock<OpenFileCount> = LazyLock::new(|| {
    let allowed = open_file_limit().unwrap_or(u64::MAX) / 4;
    OpenFileCount::new(usize::try_from(allowed).unwrap_or(usize::MAX).min(512))
});

/// The number of files that several stores keep open together, with its limit.
#[derive(Debug)]
struct OpenFileCount {
    open: AtomicUsize,
    most: usize,
}

impl OpenFileCount {
    fn new(most: usize) -> Self {
        let open = AtomicUsize::new(0);
        Self { open, most }
    }

    /// Counts one more file; returns `false`, without counting it, if the limit is reached.
    fn take(&self) -> bool {
        let fits = self.open.fetch_add(1, Ordering::Relaxed) < self.most;
        if !fits {
            self.give_back(1);
        }
        fits
    }

    fn give_back(&self, files: usize) {
        self.open.fetch_sub(files, Ordering::Relaxed);
    }
}

/// The open files of one store, by key. At the limit of all stores together, a new file replaces the one that this store opened first; a store
/// without open files then keeps none.
#[derive(Debug)]
pub(super) struct KeptFiles<F = OpenFile> {
    count: &'static OpenFileCount,
    kept: Mutex<Kept<F>>,
}

#[derive(Debug)]
struct Kept<F> {
    files: HashMap<String, Arc<F>>,
    /// The keys in the order in which they were opened.
    order: VecDeque<String>,
}

impl KeptFiles {
    pub(super) fn new() -> Self {
        Self::counted_by(&PROCESS)
    }
}

impl<F> KeptFiles<F> {
    fn counted_by(count: &'static OpenFileCount) -> Self {
        let kept = Mutex::new(Kept {
            files: HashMap::new(),
            order: VecDeque::new(),
        });
        Self { count, kept }
    }

    /// A file, if it is open.
    pub(super) fn get(&self, key: &str) -> Option<Arc<F>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.files.get(key).map(Arc::clone)
    }

    /// Keeps a file open. If another thread has opened the same key meanwhile, the new file replaces the kept one, because the file on disk may have
    /// been replaced.
    pub(super) fn keep(&self, key: &str, file: Arc<F>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.files.get_mut(key) {
            *known = file;
            return;
        }
        if !self.count.take() {
            let Some(first) = kept.order.pop_front() else {
                return;
            };
            kept.files.remove(&first);
        }
        kept.order.push_back(key.to_owned());
        kept.files.insert(key.to_owned(), file);
    }
}

impl<F> Drop for KeptFiles<F> {
    fn drop(&mut self) {
        let kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.count.give_back(kept.files.len());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{KeptFiles, OpenFileCount};

    fn kept(store: &KeptFiles<()>, keys: &str) -> String {
        let open = keys.chars();
        open.filter(|key| store.get(&key.to_string()).is_some())
            .collect()
    }

    #[test]
    fn stores_share_the_number_of_files_that_stay_open() {
        let count = Box::leak(Box::new(OpenFileCount::new(3)));
        let (one, two) = (KeptFiles::counted_by(count), KeptFiles::counted_by(count));
        for key in ["a", "b", "c", "a"] {
            one.keep(key, Arc::new(()));
        }
        // The first store has all files that may stay open, and the second one has none to close.
        two.keep("a", Arc::new(()));
        assert_eq!(kept(&two, "a"), "");
        one.keep("d", Arc::new(()));
        assert_eq!(kept(&one, "abcd"), "bcd");
        drop(one);
        two.keep("a", Arc::new(()));
        assert_eq!(kept(&two, "a"), "a");
    }
}
