//! Writes Zarr Vectors stores from batches of any size: every chunk is written once, and the store is complete or absent.
//!
//! A [`StoreSpec`] specifies the store; a [`StoreWriter`] takes any number of [`Batch`]es of vertices, and tables
//! of objects and groups; [`finish`](StoreWriter::finish) writes the store. All seven kinds of geometry, one to four
//! dimensions, any number type, coordinates on both sides of zero.
//!
//! ```
//! use zvf_query::{BBox, Query, query};
//! use zvf_store::{Store, blocking::Runtime};
//! use zvf_write::{AttributeSpec, Batch, Kind, NumberType, ObjectTable, StoreSpec, StoreWriter, Values, WriteOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let address = folder.path().join("tracts.zarrvectors").to_string_lossy().into_owned();
//! Runtime::new()?.wait(async {
//!     let spec = StoreSpec::new(Kind::Streamline, [10.0; 3])
//!         .with_unit("millimeter")
//!         .with_vertex_attribute(AttributeSpec::number("fa", NumberType::F32))
//!         .with_object_attribute(AttributeSpec::text("bundle"));
//!     let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
//!
//!     // Two streamlines, of three vertices and of two.
//!     let positions = [1.0_f32, 1.0, 1.0, 9.0, 2.0, 1.0, 12.0, 2.0, 1.0, -3.0, 0.0, 0.0, -4.0, 0.0, 0.0];
//!     let batch = Batch::new(&positions[..])
//!         .with_object_runs(&[(7, 3), (9, 2)][..])
//!         .with_attribute("fa", &[0.5_f32, 0.6, 0.7, 0.1, 0.2][..]);
//!     writer.push(&batch)?;
//!     let names = ObjectTable::new(&[7_i64, 9][..]).with_attribute("bundle", Values::texts(["CST", "AF"]));
//!     writer.push_objects(&names)?;
//!     let summary = writer.finish().await?;
//!     assert_eq!((summary.vertices, summary.objects, summary.chunks), (5, 2, 3));
//!
//!     let store = Store::open(&address).await?;
//!     let bbox = Some(BBox::parse("0,0,0:10,10,10")?);
//!     let answer = query(&store, Query { bbox, ..Query::default() }).await?.collect().await?;
//!     assert_eq!(answer.summary.vertices, 2);
//!     Ok(())
//! })
//! # }
//! ```
//!
//! # From batch to store
//!
//! ```text
//! batch ── check ── route ──▶ a bucket per chunk ── spill over the budget      prepare, block, route, bucket, spill
//!                    └─────▶ queue of links
//! finish:
//!   1  each bucket: sort by (bin or object, order) ─▶ fragments, cells         cell, shard   several threads
//!   2  fragments of all chunks, sorted by object  ─▶ manifests, ids            sorter, objects
//!   3  links: vertex ─▶ (chunk, row) ─▶ array and cell                         places, links  several threads
//!   4  documents: arrays, level, root                                          documents, new_store
//! ```
//!
//! Nothing is written to the store's address before `finish`, and `finish` reads only whether the address is free.
//! `docs/writing.md` describes the placement of vertices, the order of rows and fragments, and the choices that the format
//! leaves to writers.
//!
//! # After a crash
//!
//! There is no store, or a complete one. `zarr.json` of the root is written last, and only if none exists; everything else is durable before it. A
//! marker, `zvf-unfinished.json`, exists from the first write to the last: it shows the next writer that a write was interrupted, and with
//! [`StaleFiles::Remove`] that writer then removes everything at this address. Without a marker, it removes only files that an interrupted writer can have
//! left.
//!
//! [`WriteOptions::journal`] records pushed batches, so that a writer can continue after its last one.
//!
//! Each protocol, here and in [`zvf_encode::transaction`], has one guarantee:
//!
//! | file | guarantee |
//! |---|---|
//! | `new_store.rs` | a new store appears as a whole, and only at an empty address |
//! | `parts/` | no two programs write the same object of a new store, and each part has one writer; a commit includes every finished part |
//! | `lease.rs` | of several writers of an existing store, only one has the marker; the marker of a dead writer expires |
//! | `change.rs` | the root of an existing store is replaced only if it was not changed; new coarse levels need only this |
//! | `redo.rs`, `target/stage.rs` | objects that readers use change together with the root; `settle` finishes or rolls back any interrupted change |
//! | `record_log.rs` | an appended record is complete or discarded: journals of imports and of copies |
//!
//! # Several programs
//!
//! [`PartedStore`]: each program writes some chunks of one store, and one program commits them.
//!
//! # Existing stores
//!
//! `zvf-edit` changes them, `zvf-migrate` copies them to other versions and chunks, `zvf-pyramid` adds coarse levels. Like this crate, they use
//! `zvf-encode`.
//!
//! # Memory
//!
//! [`WriteOptions::memory_budget`] bounds buffered data; the rest is written to temporary files that are removed with the writer. Additional memory:
//! for every thread the records and cells of one chunk, or of one shard; a few dozen bytes for each chunk and 8 for each object; the pushed tables of
//! objects; the ids of skeletons.
//!
//! # Errors
//!
//! [`WriteError::class`] distinguishes I/O, malformed data, misuse, limits, and stores that another program is changing. Errors of a specification name
//! its member, errors of a batch its column and row; a refused batch has no effect. No input causes a panic.
//!
//! # Features
//!
//! `zarrs`: [`Compression::Pipeline`], any bytes-to-bytes codec of the `zarrs` crate. The features `http` and `cloud` of `zvf-store` decide which
//! backends an address can name; writing needs no other features for them.

mod finish;
mod journal;
mod parts;
mod writer;

pub use parts::part::PartOptions;
pub use parts::status::{Attempt, PartStatus, PartsStage, PartsStatus};
pub use parts::{ABSENT_PARTS, Committed, PartStart, PartedStore};
pub use writer::StoreWriter;
// Types in the public interface of this crate.
pub use zvf_encode::transaction::partition::FinishedPart;
pub use zvf_encode::{
    AttributeSpec, AttributeType, Axis, Batch, ChunkBy, Class, Compression, Groups, Holder,
    JsonObject, Kind, LinkSpec, LinkStore, NumberType, ObjectTable, Outside, Parametric,
    ParametricType, Progress, ShardShape, StaleFiles, Step, StoreSpec, Summary, TargetVersion,
    TextSet, Values, WriteError, WriteOptions, arrow, decimal, is_name, narrow, renew_ome,
    store_name,
};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
