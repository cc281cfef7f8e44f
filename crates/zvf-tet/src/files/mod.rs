//! Reading, verifying and writing files: the part that needs files, threads and a heap.

mod borrow;
mod budget;
mod catalog;
mod error;
mod file;
mod history;
mod opening;
mod plan;
mod read;
mod remote;
mod requests;
mod rules;
mod spec;
mod tile;
mod verify;
mod write;

pub use borrow::RawSpan;
pub use budget::{Budget, available_memory};
pub use catalog::{Catalog, Dataset, OpenOptions};
pub use error::Error;
pub use file::TetFile;
pub use history::{Coords, DatasetMetadata, FileMetadata, Footer, HistoryRow, Metadata};
pub use plan::{PlannedTile, TilePlan};
pub use read::ReadStats;
pub use spec::DatasetSpec;
pub use verify::{VerifyFinding, VerifyReport, VerifySeverity, verify};
pub use write::{TetWriter, WriteOptions, WriteTarget};
