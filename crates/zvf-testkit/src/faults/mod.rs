//! Backends that fail, wait, lie and change: what happens between a reader and a store that lies far away.
//!
//! [`Faulty`] stands before any backend and does what its [`Rule`]s say, the same for the same seed: which request fails is
//! decided by the seed, the key, the range and how often it was asked for, not by the order in which concurrent
//! requests happen to arrive. Waiting is on tokio's clock, so a paused runtime skips it.
//!
//! [`Bucket`] is a backend in memory that behaves like a bucket where it matters here: an ETag is made of the content, so
//! that equal objects of two stores have equal ones; conditional requests are right; the time of writing is set.
//!
//! [`Dying`] is a backend of a program that ends at one of its writes.
//!
//! ```
//! # async fn example() -> anyhow::Result<()> {
//! use std::sync::Arc;
//! use zvf_testkit::faults::{Bucket, Fault, Faulty, Rule};
//!
//! let bucket = Bucket::of("streamlines")?;
//! let backend = Faulty::new(Arc::new(bucket), 1).rule(Rule::new(Fault::Unavailable).share(0.05));
//! // OpenOptions::new().with_object_store(Arc::new(backend))
//! # let _ = backend;
//! # Ok(())
//! # }
//! ```

mod body;
mod bucket;
mod dying;
mod faulty;
mod rule;
mod unsteady;

pub use bucket::{Bucket, Tags};
pub use dying::Dying;
pub use faulty::{Counts, Faulty, Seen};
pub use rule::{Ask, Fault, Rule, Swap};
pub use unsteady::{Sort, Trouble, Unsteady};

#[cfg(test)]
mod tests;
