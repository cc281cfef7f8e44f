//! Validate a store, damage it, and validate it again.

use zvf_store::blocking::Runtime;
use zvf_validate::{Depth, ValidateOptions, validate};

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = Runtime::new()?;
    let options = ValidateOptions::new(Depth::Multiscale);
    let check = || {
        let report = runtime.wait(validate("tracts.zarrvectors", &options))?;
        println!("{}", if report.is_ok() { "valid" } else { "damaged" });
        Ok::<_, Box<dyn std::error::Error>>(())
    };
    check()?;
    for cell in std::fs::read_dir("tracts.zarrvectors/0/object_index/manifests/c")? {
        std::fs::remove_file(cell?.path())?;
    }
    check()
}
