//! Open a store, and print its version and kind.

use zvf_store::Store;
use zvf_store::blocking::Runtime;

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = Runtime::new()?.wait(Store::open("tracts.zarrvectors"))?;
    println!("version {}", store.root().zarr_vectors.zv_version);
    println!("kind {}", store.kind());
    Ok(())
}
