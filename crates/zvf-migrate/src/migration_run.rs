//! The state of a running copy.

use tokio::runtime::Handle;
use zvf_encode::level::LevelCells;
use zvf_store::{Level, Store};

use super::options::MigrateOptions;
use super::report::Notes;
use super::source::SourceLevel;

/// One copy.
pub(crate) struct MigrationRun {
    pub(crate) store: Store,
    pub(crate) levels: Vec<Level>,
    pub(crate) address: String,
    pub(crate) handle: Handle,
    pub(crate) options: MigrateOptions,
    pub(crate) notes: Notes,
}

/// A level while it is copied.
pub(crate) struct LevelCopy {
    pub(crate) source: SourceLevel,
    pub(crate) cells: LevelCells,
    pub(crate) chunk_shape: Vec<f64>,
    /// Whether rows move to other chunks or fragments.
    pub(crate) moves: bool,
    /// The new bins, if fragments are bins. Used only if rows move.
    pub(crate) bins: Option<Vec<f64>>,
}
