//! What needs files, threads and a heap: reading, verifying, writing.

mod budget;
mod catalog;
mod decode;
mod file;
mod history;
mod plan;
mod read;
#[cfg(feature = "object_store")]
mod remote;
mod rules;
mod source;
mod span;
mod spec;
mod trouble;
mod verify;
#[cfg(feature = "object_store")]
mod wanted;
mod write;

pub use budget::{Budget, available_memory};
pub use catalog::{Catalog, Dataset, OpenOptions};
pub use file::TetFile;
pub use history::{Coords, DatasetMetadata, FileMetadata, Footer, HistoryRow, Metadata};
pub use plan::{Plan, PlannedTile};
pub use read::ReadStats;
#[cfg(feature = "object_store")]
pub use remote::{RemoteOptions, RemoteTet};
pub use span::RawSpan;
pub use spec::DatasetSpec;
pub use trouble::Error;
pub use verify::{Finding, Report, Severity, verify};
pub use write::{TetWriter, WriteOptions, WriteTarget};
