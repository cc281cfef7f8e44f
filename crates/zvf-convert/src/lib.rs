//! Converts files of other formats to Zarr Vectors stores ([`Import`]) and stores to files ([`export`]).
//!
//! [`Import::open`] reads the files once and returns the specification of a store for them: a [`zvf_encode::StoreSpec`] with kind, axes, number
//! types, attributes and a chunk size chosen from the data. [`Import::read`] reads them again and pushes batches; [`Import::record_batches`]
//! returns them as Arrow record batches, for programs that need no store. Both hold at most one batch, one skeleton, or the vertices of one STL
//! file in memory.
//!
//! ```
//! use zvf_convert::{Import, Options};
//! use zvf_store::blocking::Runtime;
//! use zvf_write::{StoreWriter, WriteOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let file = folder.path().join("spots.csv");
//! std::fs::write(&file, "x,y,z,intensity\n1,2,3,0.5\n4,5,6,0.25\n")?;
//! let import = Import::open(&[file], &Options::default())?;
//! assert_eq!(import.vertices(), 2);
//!
//! let address = folder.path().join("spots.zarrvectors").to_string_lossy().into_owned();
//! let summary = Runtime::new()?.wait(async {
//!     let mut writer = StoreWriter::create(&address, import.spec().clone(), WriteOptions::new()).await?;
//!     import.read(&mut writer)?;
//!     Ok::<_, Box<dyn std::error::Error>>(writer.finish().await?)
//! })?;
//! assert_eq!(summary.vertices, 2);
//! # Ok(())
//! # }
//! ```
//!
//! # Formats
//!
//! | extension | kind | objects | vertex attributes |
//! |---|---|---|---|
//! | `.swc` | skeleton, or graph | one per file | `radius`, `type`, `node_id` |
//! | `.csv`, `.tsv`, `.txt`, also compressed: `.csv.gz` | points; polylines or streamlines with an object column | by the object column, or one per file | all other columns |
//! | `.xyz`: rows of numbers without a header line | the same | the same | columns after x, y and z: `extra_0`, `extra_1`, … |
//! | `.ndjson`, `.jsonl`: one JSON object per line | the same | the same | all other columns; a list is one column for each of its values |
//! | `.arrow`, `.feather`, `.ipc`, `.arrows`: files or streams | the same | the same | all other columns; dictionaries and texts are categories |
//! | `.parquet` | the same | the same | the same; with the feature `parquet` |
//! | `.npy` | points | none, or one per file | none: the array is positions, `(N, D)` |
//! | `.npz` | by its arrays | by `object_id` | all other arrays with one row per vertex; see [`Format::Npz`] |
//! | `.ply` | mesh, graph or points, by its elements | one per file, none for points of one file | all other properties of vertices |
//! | `.las`, `.laz` | points | one per file, none for points of one file | fields, extra bytes |
//! | `.obj` | mesh of triangles or quads | one per file | `color` where vertices have one |
//! | `.stl` | mesh of triangles | one per file | none |
//! | `.trk` | streamline, or polyline | one per streamline, with its properties | scalars |
//! | `.tck` | streamline, or polyline | one per streamline | none |
//! | `.trx` | streamline, or polyline | one per streamline, with `dps` | `dpv` |
//! | a folder with `info`: [`Format::Precomputed`] | by its content | one per segment or line, with segment properties | attributes of skeletons, properties of points |
//!
//! A table of vertices may have a table of edges or faces beside it ([`Options::edges`], [`Options::faces`]): a graph, a skeleton or a
//! mesh. Further columns of numbers are attributes of the links.
//!
//! # Numbers
//!
//! Timestamps, dates, times and durations become int64 with a unit ([`time_number`]); [`Nulls`] decides about missing values.
//! Decimals in text become float32 if it preserves all digits of all values of the column, else float64. Whole numbers in
//! text become int32, int64 or uint64. Binary numbers keep their type.
//!
//! # Frames
//!
//! Positions of tractograms are stored as scanner millimetres, as nibabel loads them, unless [`Options::space`] selects another frame. The
//! header (affine, voxel size, voxel order) and the map that was applied are kept as JSON in the store's `headers/<format>`, see
//! [`Import::frame`] and [`SourceHeader`]; [`export`] uses them to restore the frame of the file. Positions of all other formats are stored
//! unchanged, unless [`Options::affine`], [`Options::scale`] or a number before the unit transform them. All maps are applied in float64,
//! and rounded once.
//!
//! # Errors
//!
//! An error names the first line (or byte) that violates the format, with the value found and the value expected. Invalid data is never
//! skipped or replaced by a default. [`Import::notes`] lists data that a store cannot represent. No input causes a panic.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod affine;
mod answered;
mod archive;
mod axes;
mod bytes;
mod error;
pub mod export;
mod format;
mod found;
mod frame;
mod gzip;
mod ids;
mod import;
mod imported;
mod isolate;
#[cfg(feature = "volumes")]
mod label_pairs;
mod las;
#[cfg(feature = "volumes")]
mod masks;
mod names;
mod npy;
mod npz;
mod numbers;
mod obj;
mod options;
pub mod output;
mod placement;
mod ply;
mod precomputed;
mod records;
mod regions;
mod shape;
mod sink;
mod stl;
mod store_frame;
mod stores;
mod swc;
mod table;
mod tck;
mod text;
mod time;
mod tracks;
mod trackvis;
mod transform;
mod trk;
mod trx;

pub use affine::{parse_affine, read_affine, stated_affine};
pub use answered::{GroupsFound, Whole, groups_of, groups_table, in_chains, read_groups};
pub use axes::{check as check_axes, set_units};
pub use error::{ConvertError, InFile};
pub use format::Format;
pub use frame::{SourceHeader, Space};
pub use ids::{IdMap, ObjectIds};
pub use import::Import;
pub use imported::Imported;
#[cfg(feature = "volumes")]
pub use label_pairs::{EndLabels, LabelPair, LabelPairs, label_pairs};
pub use las::fetch::fetch_part;
#[cfg(feature = "volumes")]
pub use masks::{mask_of_runs, mask_region};
pub use numbers::{Floats, floats, shape};
pub use options::{FileLimits, Nulls, Options};
pub use output::text_of_number as time_text;
pub use records::alone::AttributeFile;
pub use records::chosen::unread_type;
pub use records::links::link_ends;
pub use records::nodes::{NodeIds, check_rows as check_node_rows};
pub use records::open::read_table;
pub use records::rename::{check_named, held_names};
pub use records::values::with_plain_columns;
pub use regions::{
    MaskSource, RegionSource, hull_region, mesh_region, object_places, polygon_region, region,
};
pub use sink::Sink;
pub use store_frame::{PositionConversion, StoreFrame};
pub use stores::arc_length::NewPoints;
pub use stores::merge::{MergeOptions, Merged, check_joinable, merge};
pub use stores::resample::{ResampleOptions, Resampled, resample};
pub use stores::split::{
    SplitBy, SplitPart, SplitParts, is_template, named_parts, object_parts, region_notes,
    split_parts,
};
pub use stores::{SelectionWritten, write_selection};
pub use table::arrow::{decoded, decoded_schema};
pub use table::text::fields::Fields;
pub use time::{moments_as_numbers, number_of_text as time_number, with_moments_as_numbers};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
