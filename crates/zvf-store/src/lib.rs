//! Reads Zarr Vectors stores from disks, buckets and web servers.
//!
//! [`Store::open`] returns a [`Store`], [`Store::level`] a [`Level`] with its arrays, [`Store::fetch_map`] their cells.
//!
//! A store is a tree of Zarr v3 arrays: for each resolution level one array of positions, one of fragment indexes,
//! attributes, links, objects. This crate turns an address into a snapshot of its documents, and requested chunks into
//! decoded cells. It handles the storage and encoding of cells; it has no notion of streamlines or meshes.
//!
//! ```
//! # use std::sync::Arc;
//! # use object_store::{ObjectStore, ObjectStoreExt, memory::InMemory, path::Path};
//! use zvf_store::{CellWant, Need, OpenOptions, Store};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let backend = InMemory::new();
//! # let put = async |key: &str, bytes: Vec<u8>| backend.put(&Path::parse(key)?, bytes.into()).await;
//! # put("zarr.json", br#"{"zarr_format": 3, "node_type": "group", "attributes": {
//! #   "zarr_vectors": {"zv_version": "0.9.2", "chunk_shape": [10, 10], "bounds": [[0, 0], [19, 9]],
//! #     "geometry_types": ["point_cloud"], "format_capabilities": []},
//! #   "multiscales": [{"axes": [{"name": "x", "type": "space"}, {"name": "y", "type": "space"}], "datasets": []}]
//! # }}"#.to_vec()).await?;
//! # put("0/zarr.json", br#"{"zarr_format": 3, "node_type": "group", "attributes": {"zarr_vectors_level": {
//! #   "level": 0, "vertex_count": 1, "arrays_present": ["vertices"], "object_sparsity": 1.0,
//! #   "coarsening_method": "none", "parent_level": null}}}"#.to_vec()).await?;
//! # put("0/vertices/zarr.json", br#"{"shape": [2, 1], "data_type": "variable_length_bytes",
//! #   "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 1]}},
//! #   "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": "",
//! #   "codecs": [{"name": "vlen-bytes"}], "attributes": {"nonempty_chunks": ["1.0"], "dtype": "float32"},
//! #   "zarr_format": 3, "node_type": "array"}"#.to_vec()).await?;
//! # let mut cell = vec![1, 0, 0, 0, 8, 0, 0, 0];
//! # cell.extend([12.5f32, 3.0].map(f32::to_le_bytes).as_flattened());
//! # put("0/vertices/c/1/0", cell).await?;
//! # let options = OpenOptions::new().with_object_store(Arc::new(backend) as Arc<dyn ObjectStore>);
//! // "points.zarrvectors", "s3://bucket/points.zarrvectors", …
//! let store = Store::open_with("memory:///", options).await?;
//! let level = store.level(0, &Need::nothing()).await?;
//!
//! // The chunks with content inside a box, and their cells.
//! let chunks: Vec<_> = level.vertices().presence().in_box(&[0, 0], &[1, 0]).collect();
//! assert_eq!(chunks, [[1, 0]]);
//! let wants = chunks.iter().map(|chunk| CellWant::new(level.vertices(), *chunk)).collect();
//! let count = store.fetch_map(level.next_round(), wants, |cells| cells.iter().flatten().map(|c| c.len() / 8).sum::<usize>());
//! assert_eq!(count.await?, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Reading in rounds
//!
//! [`Store::open`] requests the root together with every document and listing of level 0 whose key is the same in
//! every store: one round of requests. [`Store::level`] requests the documents that these refer to: the
//! second. [`Store::fetch_map`] is the third. Documents are cached and never read again. Cells are not cached (callers can do that), except for rows
//! and fragments of chunks that are read in parts. [`IoTrace`] records every request with its round.
//!
//! Names of attributes and link arrays are in no document, so they are listed, one level deep and in the first round.
//! If a backend cannot list, they are taken from [`KnownNames`] or `attribute_specs`. Cells are never listed if
//! an array has its list `nonempty_chunks`.
//!
//! # Cells
//! This crate reads the framing of cells, zstd, gzip, crc32c and shards itself, with maintained codec crates; `zvf-blosc` reads blosc. Uncompressed
//! data is not copied, each thread has one decompression context, a small shard is one request, and ranges of a large one are merged. On a local disk
//! a batch is one blocking task that opens, reads, decodes and runs the caller's function; batches of about 64 cells are efficient. The `zarrs` crate
//! reads any other layout, and tables of other types, if the feature of that name is on; otherwise reading them fails with an error that names the codec.
//!
//! # Requests
//!
//! [`zvf_io`] sends all requests. It retries requests with a transient failure ([`Retry`]), limits how many are in flight, sends equal
//! concurrent requests once, and records them. A snapshot is consistent: if the store changes, reading fails with [`IoError::SourceChanged`]. [`Store::verify`] reads the
//! state of the documents again after a query.
//!
//! # Errors
//!
//! Every count in a file is untrusted and is charged to [`Limits`]. A [`StoreError`] has a class
//! ([`Class`]): I/O, malformed, misuse, limit. Absence is not a failure: an absent cell is `None`, while denied access and
//! failed requests are errors. Nothing panics on input.
//!
//! # Features
//!
//! `zstd`, `gzip`, `blosc` (default): codecs. `http`: web servers; `cloud`: web servers, S3, Google Cloud Storage and Azure.
//! `zarrs`: the generic reader. `pure`: the codecs without C code.
//!
//! `backends` (default): opens addresses, with `object_store` and the tokio runtime. Without this feature, and on `wasm32-unknown-unknown`, the same
//! functions read a [`CallerStore`], whose objects the calling program fetches: no runtime, no threads.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod blob_array;
#[cfg(feature = "backends")]
pub mod blocking;
mod cells;
pub mod chunks;
mod codec;
mod container;
mod coord;
mod elements;
mod error;
mod extras;
mod generic;
mod groups;
mod key_attribute;
mod layout;
mod level;
mod level_cells;
mod links;
mod located;
mod missing;
mod objects;
mod once_cache;
mod options;
mod ordered;
pub mod owners;
mod presence;
mod ragged;
mod raw;
mod redo;
mod rows;
mod snapshot;
mod store;
mod typed;
mod types;
mod warnings;
pub mod writing;

pub use zvf_format as format;
pub use zvf_io as io;
pub use zvf_meta as meta;

#[cfg(feature = "backends")]
pub use zvf_io::FileLocation;
#[cfg(feature = "http")]
pub use zvf_io::use_ring;
pub use zvf_io::{
    CallerRun, CallerStep, CallerStore, Class, IoCounts, IoError, IoOptions, IoTrace, Limits,
    Listing, Merge, Method, Object, ObjectFetch, ObjectPart, ObjectState, ObjectStates, Request,
    Retry, Source, Stop, Usage, open_file,
};

pub use cells::{CellWant, ReadCell};
pub use chunks::{
    CellFault, CheckedFragment, CheckedFragments, ChunkCell, ChunkColumn, ChunkExaminer,
    ChunkFault, ChunkParts, ChunkReader, DecodedChunk, ExaminedChunk, FragmentFault, OpenChunk,
    RowValues, WantedCells,
};
pub use container::{ContainerKind, GridArray};
pub use coord::ChunkCoord;
pub use error::StoreError;
pub use extras::{Composite, Header, Packing, Parametric, ParametricType, SideGroups};
pub use groups::{Groups, group_of};
pub use key_attribute::KeyAttribute;
pub use layout::ElementPlace;
pub use level::{Refused, VertexAttribute};
pub use links::{
    Chunks, DecodedLinks, Endpoint, LinkArray, LinkAttribute, LinkBatch, LinkCell, LinkFamily,
    LinkReader, Placement, StoredLink, Touch,
};
pub use located::{CellFacts, CellKind, Located, LocatedObject, store_around};
pub use objects::{IdTable, ManifestChunk, ObjectIndex, are_rows, state_ids};
pub use options::{Deltas, KnownNames, Names, Need, OpenOptions};
pub use presence::{InBox, Presence};
pub use raw::{RawStore, undo_codecs};
pub use rows::RowSet;
pub use snapshot::chunk_factors;
pub use store::{Level, Store};
pub use typed::{TypedArray, TypedValues};
pub use types::{half::nearest_f16, stored_type};
pub use warnings::Warning;

/// Compiles the example of the README.
#[cfg(all(doctest, feature = "backends"))]
#[doc = include_str!("../README.md")]
mod readme {}
