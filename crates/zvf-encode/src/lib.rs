//! Encodes Zarr Vectors stores: everything between rows in memory and the objects of a store.
//!
//! A [`StoreSpec`] describes a store, a [`Batch`] contains vertices and links, and objects are put into a [`Target`](target::Target).
//!
//! The crates `zvf-write` (new stores), `zvf-edit` (changes), `zvf-migrate` (copies) and `zvf-pyramid` (coarse levels) are built on it. Programs that
//! have batches of vertices use those crates. Use this crate directly for cells that were computed elsewhere, for derived attributes, and for levels
//! made by another method.
//!
//! | module | contents |
//! |---|---|
//! | [`spec`] | [`StoreSpec`]: the description of a store; [`VersionRules`](spec::VersionRules): what depends on its format version |
//! | [`values`] | [`NumberType`], [`Values`]: columns of numbers and texts |
//! | [`arrow`] | Arrow record batches as columns and batches, and back |
//! | [`batches`] | [`Batch`]es of vertices, checked and divided into records by chunk: [`Router`](batches::Router) |
//! | [`records`] | records outside memory: [`Buckets`](records::Buckets) by key, [`Sorter`](records::Sorter), [`Spool`](records::Spool) |
//! | [`level`] | cells of chunks ([`ChunkEncoder`](level::ChunkEncoder)), where they are stored ([`LevelCells`](level::LevelCells)), manifests, a level from batches ([`write_arrays`](level::write_arrays)) |
//! | [`links`] | links between rows: [`LinkPlacer`](links::LinkPlacer) |
//! | [`tables`] | attributes of objects and groups, and their values for missing rows: [`EncodedRows`](tables::EncodedRows) |
//! | [`documents`] | the documents of arrays, levels and the root: [`Nodes`](documents::Nodes) |
//! | [`target`] | where objects are put: [`Target`](target::Target), a folder or a prefix of a bucket |
//! | [`transaction`] | how changes become visible: [`new_store`](transaction::new_store), [`Transaction`](transaction::Transaction), [`Change`](transaction::Change), [`RecordLog`](transaction::record_log::RecordLog) |
//! | [`parallel`] | work on several threads in bounded memory |
//!
//! # A level by hand
//!
//! Three points in two chunks: first the cells, then the documents, and last the root, which makes the store exist.
//!
//! ```
//! use serde_json::json;
//! use zvf_encode::documents::{self, Nodes};
//! use zvf_encode::level::fragment_index;
//! use zvf_encode::target::Target;
//! use zvf_encode::transaction::new_store;
//! use zvf_encode::{Kind, StaleFiles, StoreSpec};
//! use zvf_meta::LevelDoc;
//! use zvf_store::{ChunkParts, Need, OpenOptions, Store, blocking::Runtime};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let address = folder.path().join("points.zarrvectors").to_string_lossy().into_owned();
//! let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2]);
//! spec.check()?;
//! let bounds = (vec![1.0, 2.0], vec![11.0, 5.0]);
//! let chunks: [(&[i64], Vec<f32>); 2] = [(&[0, 0], vec![1.0, 2.0, 3.0, 4.0]), (&[1, 0], vec![11.0, 5.0])];
//! let keys = || chunks.iter().map(|(chunk, _)| *chunk);
//!
//! // The marker prevents other programs from writing here until the store exists.
//! let target = Target::new(&address, &OpenOptions::new(), true)?;
//! let mark = new_store::begin(&target, &address, StaleFiles::Refuse, json!({}))?;
//! let level = target.below("0").unseen();
//!
//! // Cells: positions, and one fragment with all rows of the chunk.
//! let grid = documents::grid(&bounds, &spec.chunk_shape)?;
//! let cells = spec.target.rules().cells(grid, None, spec.compression.clone(), keys())?;
//! let (mut positions, mut fragments) = (Vec::new(), Vec::new());
//! for (chunk, numbers) in &chunks {
//!     positions.push((*chunk, numbers.iter().flat_map(|number| number.to_le_bytes()).collect()));
//!     fragments.push((*chunk, fragment_index("vertex_fragments", [numbers.len() / 2])?));
//! }
//! level.put(cells.of_items(4).objects("vertices", positions)?)?;
//! level.put(cells.of_items(documents::INDEX).objects("vertex_fragments", fragments)?)?;
//!
//! // Documents of the arrays, the level and the root. The store exists once the root is written.
//! let present = documents::presence(keys())?;
//! let mut nodes = Nodes::default();
//! nodes.cells(&cells, "vertices", present.clone(), documents::vertices(&spec));
//! nodes.cells(&cells, "vertex_fragments", present, documents::fragments("vertex_fragments"));
//! let families = nodes.families().into_iter().map(str::to_owned).collect();
//! nodes.put(&level)?;
//! let document = LevelDoc {
//!     vertex_count: 3,
//!     arrays_present: families,
//!     object_sparsity: 1.0,
//!     coarsening_method: Some("none".to_owned()),
//!     fragments_tile: true,
//!     ..LevelDoc::default()
//! };
//! level.put(vec![("zarr.json".to_owned(), document.to_json().into_bytes())])?;
//! let root = documents::root(&spec, bounds, "points");
//! new_store::commit(&target, &address, root.to_json(), &mark, None)?;
//!
//! // Read it back.
//! Runtime::new()?.wait(async {
//!     let store = Store::open(&address).await?;
//!     let level = store.level(0, &Need::all()).await?;
//!     assert_eq!(level.doc().vertex_count, 3);
//!     let reader = level.chunks(ChunkParts::all_of(&level))?;
//!     let read = reader.read(&[&[0, 0], &[1, 0]]).await?;
//!     for (found, (chunk, numbers)) in read.iter().zip(&chunks) {
//!         let stored: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
//!         assert_eq!((found.coord.as_slice(), found.fragments.len()), (*chunk, 1));
//!         assert_eq!(found.positions.blocks().collect::<Vec<_>>().concat(), stored);
//!     }
//!     Ok(())
//! })
//! # }
//! ```
//!
//! # Memory and threads
//!
//! Calls block on disks or requests: async programs call them through [`parallel::blocking`]. Functions with a budget and a folder hold about that many
//! bytes in memory, and the rest in unnamed temporary files in the folder, which the system removes when the program ends.
//!
//! # Errors
//!
//! All errors are [`WriteError`]s, whose [class](WriteError::class) distinguishes misuse, malformed data, limits, I/O and conflicts with other writers.
//! Contradictions between records or payloads of the calling program are errors of the class *bug*, never panics.

pub mod arrow;
pub mod batches;
pub mod documents;
pub mod error;
pub mod level;
pub mod links;
mod lock;
mod options;
pub mod parallel;
pub mod records;
pub mod spec;
pub mod tables;
pub mod target;
pub mod transaction;
pub mod values;

pub use batches::{Batch, Groups, ObjectTable};
pub use documents::{name_of as store_name, renew_ome};
pub use error::WriteError;
pub use level::{Progress, Step, Summary};
pub use options::WriteOptions;
pub use spec::{
    AttributeSpec, AttributeType, ChunkBy, LinkSpec, Outside, Parametric, ParametricType,
    ShardShape, StoreSpec, TargetVersion, is_name,
};
pub use transaction::{Holder, StaleFiles};
pub use values::{NumberType, TextSet, Values, decimal, narrow};
pub use zvf_codec::Compression;
pub use zvf_meta::{Axis, JsonObject, Kind, LinkStore};
pub use zvf_store::Class;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
