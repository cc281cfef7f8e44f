//! Test support: bundled stores, each broken in one named way, with the check that must report it.
//!
//! A line of the table defines how a store is broken. The expected check is a rule of the format's pages and never taken from
//! the validator's output. [`damage()`] damages a store at random, and [`judge`] decides without the validator whether this breaks a rule.
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
