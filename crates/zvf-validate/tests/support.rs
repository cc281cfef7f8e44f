//! Stores in memory, validated at all levels.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use zvf_store::{Limits, OpenOptions};
use zvf_validate::{Depth, Profile, Report, ValidateOptions, validate};

/// Validates the store of these objects.
pub(crate) async fn checked(
    files: &BTreeMap<String, Vec<u8>>,
    limits: Limits,
) -> Result<Report, Box<dyn Error>> {
    run(files, limits, everything()).await
}

/// Also checks that every vertex has a parent.
pub(crate) async fn covered(files: &BTreeMap<String, Vec<u8>>) -> Result<Report, Box<dyn Error>> {
    run(files, Limits::default(), everything().with_coverage(true)).await
}

/// Also checks whether viewers can show the store.
pub(crate) async fn viewed(files: &BTreeMap<String, Vec<u8>>) -> Result<Report, Box<dyn Error>> {
    let options = everything().with_profile(Profile::Viewer);
    run(files, Limits::default(), options).await
}

fn everything() -> ValidateOptions {
    // So that an additional finding is visible among many.
    ValidateOptions::new(Depth::Multiscale).with_most(1 << 16)
}

async fn run(
    files: &BTreeMap<String, Vec<u8>>,
    limits: Limits,
    options: ValidateOptions,
) -> Result<Report, Box<dyn Error>> {
    let open = opened(files).await?.with_limits(limits);
    Ok(validate("memory:///", &options.with_open(open)).await?)
}

/// A store in memory.
pub(crate) async fn opened(
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<OpenOptions, Box<dyn Error>> {
    let memory = InMemory::new();
    for (key, bytes) in files {
        memory
            .put(&key.as_str().into(), bytes.clone().into())
            .await?;
    }
    let memory: Arc<dyn ObjectStore> = Arc::new(memory);
    Ok(OpenOptions::new().with_object_store(memory))
}
