//! Changes an existing store: appends, deletes, moves, sets attributes, replaces documents.
//!
//! An [`Edit`] changes level 0 as a whole or not at all: new objects are staged in a folder, and the root then names it. Readers use that folder
//! until the objects are copied to their final keys. [`vacuum`] removes the remains of edits. `docs/editing.md` describes which data is preserved,
//! which edits are refused, and what other readers see.
//!
//! ```
//! use zvf_store::blocking::Runtime;
//! use zvf_write::{Batch, Kind, StoreSpec, StoreWriter, WriteOptions};
//! use zvf_edit::{At, Edit};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let address = folder.path().join("tracts.zarrvectors").to_string_lossy().into_owned();
//! Runtime::new()?.wait(async {
//!     let spec = StoreSpec::new(Kind::Streamline, [10.0; 3]);
//!     let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
//!     writer.push(&Batch::new(&[1.0_f32, 1.0, 1.0, 9.0, 2.0, 1.0][..]).with_object_runs(&[(7, 2)][..]))?;
//!     writer.finish().await?;
//!
//!     let mut edit = Edit::open(&address, WriteOptions::new()).await?;
//!     // Streamline 7 is extended by a vertex, and its first vertex moves.
//!     edit.append(&Batch::new(&[12.0_f32, 2.0, 1.0][..]).with_object_ids(&[7][..])).await?;
//!     edit.move_vertices(At::Objects(&[(7, 0)]), &(&[2.0_f32, 1.0, 1.0][..]).into()).await?;
//!     let summary = edit.commit().await?;
//!     assert_eq!((summary.vertices, summary.objects, summary.chunks), (1, 1, 2));
//!     Ok(())
//! })
//! # }
//! ```

mod append;
mod assign;
mod attribute_columns;
mod attributes;
mod between;
mod column;
mod commit;
mod counts;
mod documents;
mod edit;
mod fill;
mod fills_of_edit;
mod fit;
mod grid;
mod group_table;
mod groups;
mod index;
mod keys;
mod link_values;
mod links;
mod matching;
mod moves;
mod object_columns;
mod opened;
mod ops;
mod owner_column;
mod records;
mod replace;
mod rows;
mod scan;
mod spec;
mod state;
mod tables;
mod tabular;
mod vacuum;
mod vertex;

pub use assign::{Matched, SetAttribute};
pub use column::{ChunkPositions, ColumnEdit};
pub use edit::{At, Edit, EditSummary, Resumed};
pub use fit::{Fitted, NotGiven};
pub use groups::AddedGroups;
pub use matching::{Matching, Scope};
pub use replace::{DocumentChange, backup_address, replace_documents, restore_documents};
pub use tabular::axis_columns;
pub use vacuum::{VacuumSummary, find_leftovers, vacuum};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
