//! Neuroglancer's precomputed formats.
//!
//! | module, function | contents |
//! |---|---|
//! | [`precomputed`] | encoders of annotations, skeletons, meshes and segment properties: values in, bytes and JSON out |
//! | [`shards`] | the sharded layout of their folders: its description, keys and places, and a writer |
//! | [`content`] | one file of a view of a store, made on demand |
//! | [`export_precomputed`] | all files of all views of a store, as files or shards |
//!
//! ```
//! use std::sync::Arc;
//!
//! use zvf_neuroglancer::{View, ViewContent, ViewedStore, content};
//! use zvf_store::{Store, blocking::Runtime};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let unpacked = zvf_testkit::unpack("points_ids")?;
//! # let address = unpacked.path().display().to_string();
//! Runtime::new()?.wait(async {
//!     let store = Arc::new(ViewedStore::new(Store::open(&address).await?));
//!     assert_eq!(View::of(store.kind()), [View::Points]);
//!     let ViewContent::Document(info) = content(&store, 1 << 20, &["points", "info"]).await? else {
//!         return Err("no document".into());
//!     };
//!     assert_eq!(info["@type"], "neuroglancer_annotations_v1");
//!     Ok(())
//! })
//! # }
//! ```
//!
//! This crate does no networking; `zvf-serve` sends the results of [`content`].

mod columns;
mod error;
mod export;
mod plan;
pub mod precomputed;
pub mod shards;
mod units;
mod viewed_store;
mod views;

pub use error::ViewError;
pub use export::{ExportError, ExportedFolder, Shards, export_precomputed};
pub use viewed_store::ViewedStore;
pub use views::{View, ViewContent, content, is_made};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
