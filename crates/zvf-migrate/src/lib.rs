//! Copies of stores: into another version, and into other chunks, bins and shards.
//!
//! [`migrate`] copies, [`MigrateOptions`] describe the new store, and a [`MigrationReport`] lists lost content and the result of the comparison.
//!
//! [`copy`] copies every object byte for byte instead, to any other place.
//!
//! ```text
//! vertices   chunk for chunk, of all levels         cells
//! objects    manifests, ids, values, groups         objects, tables
//! links      record for record, to all levels       family
//! the rest   headers, parametric objects, …         extras
//! documents  unknown members are kept               documents
//! ── the root is written last ──
//! both stores are read again and compared           verify
//! ```
//!
//! A chunk keeps its rows and its fragments in their order, so that every query returns the same result from both stores. Rows move only if the shape
//! of chunks or of bins changes (`destinations.rs`); even then, objects keep the order of their vertices.
//!
//! ```
//! use zvf_migrate::{MigrateOptions, migrate};
//! use zvf_store::{Store, blocking::Runtime};
//! use zvf_write::{Batch, Kind, StoreSpec, StoreWriter, WriteOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let place = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
//! # let (old, new) = (place("old.zarrvectors"), place("new.zarrvectors"));
//! Runtime::new()?.wait(async {
//!     let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2]);
//!     let mut writer = StoreWriter::create(&old, spec, WriteOptions::new()).await?;
//!     writer.push(&Batch::new((0..2000).map(|n| (n % 97) as f32).collect::<Vec<f32>>()))?;
//!     writer.finish().await?;
//!
//!     // The same points in larger chunks, compared with the old ones.
//!     let options = MigrateOptions::new().with_chunk_shape([25.0; 2]);
//!     let report = migrate(&Store::open(&old).await?, &new, options).await?;
//!     assert!(report.losses.is_empty());
//!     assert_eq!(report.verified.map(|same| same.vertices), Some(1000));
//!     Ok(())
//! })
//! # }
//! ```

mod cells;
mod destinations;
mod documents;
mod extras;
mod family;
mod journal;
mod migration;
mod migration_run;
mod new_level;
mod objects;
mod options;
mod order;
mod reading;
mod rechunk;
mod report;
mod rows;
mod shapes;
mod source;
mod tables;
mod verbatim;
mod verify;

pub use migration::{compare, migrate};
pub use options::{MigrateOptions, MigrateProgress};
pub use report::{LevelCounts, Loss, MigrationReport, Repair, Verified};
pub use verbatim::{CopiedFiles, CopyOptions, CopyProgress, copy};
pub use zvf_encode::ShardShape;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
