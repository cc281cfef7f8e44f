//! Stores behind backends that fail.

use std::sync::Arc;

use object_store::ObjectStore;
use zvf_store::{OpenOptions, Store};
use zvf_testkit::faults::{Bucket, Faulty};

/// Address of everything that lies in memory.
pub(crate) const MEMORY: &str = "memory:///";

/// A bundled store in memory.
pub(crate) fn bucket(case: &str) -> Arc<dyn ObjectStore> {
    Arc::new(Bucket::of(case).unwrap())
}

/// Options that read through a wrapper, which can be asked afterwards.
pub(crate) fn through(faulty: Faulty) -> (Arc<Faulty>, OpenOptions) {
    let faulty = Arc::new(faulty);
    let backend: Arc<dyn ObjectStore> = Arc::<Faulty>::clone(&faulty);
    (faulty, OpenOptions::new().with_object_store(backend))
}

/// A store in memory without faults.
pub(crate) async fn whole(case: &str) -> Store {
    let options = OpenOptions::new().with_object_store(bucket(case));
    Store::open_with(MEMORY, options).await.unwrap()
}

/// The stores that were written by a release of a generation, by their full names: every generation has the same ones.
pub(crate) fn cases(generation: &str) -> Vec<String> {
    let all = zvf_testkit::cases().unwrap();
    all.iter()
        .map(|case| format!("{generation}/{case}"))
        .collect()
}
