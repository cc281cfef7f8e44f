//! Reads and writes objects by key below an address: a folder, a bucket or a web server.
//!
//! All readers and writers of this workspace send their requests through this crate: stores through [`Kv`], single files of other formats
//! through [`FileLocation`], writers through [`WriteRequests`]. It moves bytes and depends on none of the formats.
//!
//! ```
//! # use std::sync::Arc;
//! # use object_store::{ObjectStore, ObjectStoreExt, memory::InMemory, path::Path};
//! use zvf_io::{Ask, Cap, IoOptions, IoTrace, Kv};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let bucket = InMemory::new();
//! # bucket.put(&Path::parse("data/a")?, vec![1, 2, 3, 4].into()).await?;
//! # let options = IoOptions::new().with_object_store(Arc::new(bucket) as Arc<dyn ObjectStore>);
//! let trace = IoTrace::on();
//! // "data", "s3://bucket/data", "https://host/data", …
//! let kv = Kv::open("memory:///data", &options.with_trace(trace.clone()))?;
//! let cap = Cap::cell(kv.limits());
//! let part = kv.get("a", Ask::Suffix(2), cap).await?.ok_or("no object")?;
//! assert_eq!((part.bytes.as_ref(), part.size), ([3, 4].as_slice(), 4));
//! assert!(kv.get("b", Ask::Whole, cap).await?.is_none());
//! assert_eq!(trace.take().len(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! | task | file |
//! |---|---|
//! | resolve an address to a backend | `location.rs`; answers of web servers: `web_answers.rs`, `xml_answers.rs` |
//! | state shared by requests: slots, bytes in flight, limits, trace, round | `context.rs` |
//! | send one request in a form that the backend supports; single-flight for concurrent callers | `remote.rs`, `single_flight.rs` |
//! | retry a failed request; classify failures | `retry.rs`, `classify.rs` |
//! | read files | `local.rs`, `folder.rs` |
//! | run short work on few threads | `task.rs`, `worker_pool.rs` |
//! | have the caller fetch objects, without a runtime | `caller.rs`, `caller_objects.rs`, `tasks.rs` |
//! | read single objects at positions, for other formats | `single_object.rs` |
//! | state, ranges and listings of single objects | `single_state.rs` |
//! | detect changes while reading | `versions.rs`, `verify.rs` |
//! | test suite for authors of backends (feature `contract`) | `contract.rs` |
//! | read objects under an overlay of replacements | `overlay.rs`, [`IoOptions::drafts`] |
//!
//! # Requests
//!
//! Requests with a transient failure are retried ([`Retry`]) by this crate, and by no layer below it. An attempt
//! without progress is abandoned ([`IoOptions::request_timeout`]); every attempt is in the trace. One limit bounds the number of requests in
//! flight, another their bytes. A missing feature of a backend is detected when the backend first refuses it: suffix ranges (replaced by a HEAD request and a
//! range), any ranges (replaced by the whole object), listings.
//!
//! Snapshots are consistent. An object that is read again with another ETag, time or size, or that is newer than the snapshot, causes the error
//! [`IoError::SourceChanged`]. [`Kv::verify`] checks the documents again at the end of an answer.
//!
//! # Features
//!
//! `backends` (default): every backend of `object_store`, the runtime of tokio, uploads. `http`: web servers, with TLS by rustls and ring
//! (`use_ring`); `cloud`: web servers, S3, Google Cloud Storage and Azure. `contract`: the module with this name, a test suite for authors of
//! backends.
//!
//! Without `backends` there is neither `object_store` nor a runtime: the calling program fetches objects ([`CallerStore`]), also on
//! `wasm32-unknown-unknown`, or they are read from local files. Of tokio, only the module `sync` is then used, which needs no operating system.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod caller;
mod caller_objects;
#[cfg(feature = "backends")]
mod classify;
mod context;
#[cfg(any(feature = "contract", all(test, feature = "backends")))]
pub mod contract;
mod error;
mod folder;
mod kv;
mod limits;
#[cfg(feature = "backends")]
mod list;
pub mod local;
mod location;
mod once;
mod options;
mod overlay;
#[cfg(feature = "backends")]
mod remote;
mod request;
#[cfg(feature = "backends")]
mod retry;
mod single_flight;
#[cfg(feature = "backends")]
mod single_object;
mod single_state;
mod stop;
mod task;
mod tasks;
#[cfg(feature = "http")]
mod tls;
mod trace;
#[cfg(feature = "backends")]
mod upload;
mod verify;
mod versions;
#[cfg(feature = "http")]
mod web_answers;
#[cfg(feature = "backends")]
mod worker_pool;
#[cfg(feature = "http")]
mod xml_answers;

pub use caller::{CallerRun, CallerStep, CallerStore, ObjectFetch};
pub use caller_objects::CallerObjects;
pub use context::Context;
pub use error::{CELL_BYTES, Class, IoError, Source};
pub use folder::Folder;
pub use kv::{Backend, Kv, Replies};
pub use limits::Limits;
pub use once::Once;
pub use options::{IoOptions, Retry};
pub use overlay::{Overlay, STAGING};
#[cfg(feature = "backends")]
pub use remote::{Remote, SaveProgress};
pub use request::{Ask, Cap, Object, Question, Reply, Usage, is_segment};
#[cfg(feature = "backends")]
pub use retry::{BackendAnswer, WriteRequests};
#[cfg(feature = "backends")]
pub use single_object::{FileLocation, ObjectFile, ObjectFolder, ObjectLocation};
pub use single_state::{Listing, ObjectPart, ObjectState, ObjectStates};
pub use stop::Stop;
pub use task::{Handover, blocking, driven, on_worker};
pub use tasks::is_caller_run;
#[cfg(feature = "http")]
pub use tls::use_ring;
pub use trace::{IoCounts, IoTrace, Method, Request};
#[cfg(feature = "backends")]
pub use upload::{WriteLocation, put_file};
pub use versions::Versions;
pub use zvf_grid::Merge;
pub use zvf_sys::regular_file::{open_file, open_file_limit, special};

/// Compiles the example of the README.
#[cfg(all(doctest, feature = "backends"))]
#[doc = include_str!("../README.md")]
mod readme {}
