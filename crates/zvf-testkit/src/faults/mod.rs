//! Backends that fail, delay, return wrong data and change, as remote stores may.
//!
//! [`Faulty`] wraps any backend and applies its [`Rule`]s. Which requests fail depends on the seed, the kind, key and range of
//! a request and how often it was repeated, not on the order in which concurrent requests arrive. Delays use tokio's
//! clock, so a paused runtime skips them.
//!
//! [`Bucket`] is an in-memory backend that behaves like a bucket: ETags are computed from the content, so equal objects of
//! two stores have equal ETags; conditional requests are evaluated; objects have a modification time.
//!
//! [`Unsteady`] wraps a backend and fails some requests of one kind, including writes. [`Dying`] fails from one of its writes
//! on, as if the program had been killed there.
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
