//! Test support: bundled stores that are broken in one named way each, with the check that has to say so.
//!
//! What is wrong with a store is what its line of the table does to it. What a line expects is a rule of the format's pages;
//! nothing here asks the validator.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let broken = zvf_badstores::breaks().find(|one| one.check == "bounds-order").ok_or("none")?;
//! let files = broken.files()?;
//! assert!(files.objects.contains_key("zarr.json"));
//! # Ok(())
//! # }
//! ```

mod breaks;
mod damage;
mod decode;
mod files;
mod made;
mod oracle;
mod random;
mod steps;

pub use breaks::{Break, breaks};
pub use damage::{Damage, DamageKind, damage};
pub use decode::{Objects, array_of, is_plain};
pub use files::{Files, Outcome};
pub use oracle::{Verdict, judge, members};
pub use random::Random;
