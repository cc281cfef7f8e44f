//! Writes the answer of a query as a file of another format.
//!
//! ```
//! use zvf_convert::export::{ExportOptions, export};
//! use zvf_convert::{Format, Import, Options};
//! use zvf_store::{Store, blocking::Runtime};
//! use zvf_write::{StoreWriter, WriteOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let address = folder.path().join("made.zarrvectors").to_string_lossy().into_owned();
//! # let swc = folder.path().join("7.swc");
//! # std::fs::write(&swc, "1 1 0.5 0 0 2 -1\n2 3 4 0 0 1.5 1\n")?;
//! # let import = Import::open(&[swc], &Options::default())?;
//! let out = folder.path().join("out.swc");
//! Runtime::new()?.wait(async {
//! #   let mut writer = StoreWriter::create(&address, import.spec().clone(), WriteOptions::new()).await?;
//! #   import.read(&mut writer)?;
//! #   writer.finish().await?;
//!     let store = Store::open(&address).await?;
//!     let done = export(&store, Format::of(&out)?, &out, &ExportOptions::default()).await?;
//!     assert_eq!(done.vertices, 2);
//!     Ok::<_, Box<dyn std::error::Error>>(())
//! })?;
//! assert!(std::fs::read_to_string(&out)?.ends_with("1 1 0.5 0.0 0.0 2.0 -1\n2 3 4.0 0.0 0.0 1.5 1\n"));
//! # Ok(())
//! # }
//! ```
//!
//! # What a format holds
//!
//! | format | kinds | order | attributes | memory |
//! |---|---|---|---|---|
//! | CSV, TSV | all | by object for lines, polylines and streamlines, else by chunk | of vertices, `object_id` | a batch |
//! | Arrow, Parquet | all | the same | the same, typed | a batch; of Parquet a row group |
//! | NPY | all | the same | none | a batch |
//! | NPZ | all | the same | numbers, `object_id`; `edges` or `faces` | a batch, and temporary files |
//! | SWC | skeleton, graph without cycles | by `node_id`, else parents first | `type`, `radius`, `node_id` | 40 bytes a node, and temporary files |
//! | OBJ | mesh; edges and chains as `l` | as CSV | `color` of three channels | a batch |
//! | PLY | all | as CSV; faces, or edges | numbers, `object_id` where there are several | a batch |
//! | LAS, LAZ | points | by chunk | numbers, `object_id` where there are several; read twice | a batch, a chunk for each core |
//! | STL | mesh | faces as stored | none | all positions |
//! | TRK | line, polyline, streamline | by object | numbers, as float32 | an object table |
//! | TCK | line, polyline, streamline | by object | none | an object table |
//! | TRX | line, polyline, streamline | by object | numbers, of their type | an object table, and temporary files |
//!
//! Tables may have a table of links beside them: [`ExportOptions::links`].
//!
//! Positions and numbers are written as they are stored, with two exceptions: LAS has multiples of a scale, and tractograms have a frame
//! (scanner millimetres in TCK and TRX, the frame of the header in TRK), to which positions are converted. Text has the fewest digits that
//! read back as the same number. [`Exported::notes`] lists all data that the format cannot store, and all rounded columns.

pub(crate) mod chains;
pub(crate) mod job;
pub(crate) mod links;
mod options;
mod run;
pub(crate) mod schemas;

pub use links::LinksFile;
pub use options::{ExportOptions, ExportProgress, Exported, chained};
pub use run::export;
