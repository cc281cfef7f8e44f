//! Jobs on whole stores: a [`Job`] holds the options, a [`Context`] the access to storage and the limits, a [`JobReport`] the result.
//!
//! The options of a job are one struct that is read from JSON, printed as JSON, described by JSON Schema and, with the feature `clap`, read from
//! a command line. The program `zvf` and the Python package run jobs with this crate.
//!
//! ```
//! use zvf_jobs::{Job, VacuumJob};
//!
//! let job = Job::from_json(serde_json::json!({"job": "vacuum", "store": "brain.zarrvectors"}))?;
//! assert!(matches!(&job, Job::Vacuum(VacuumJob { store, .. }) if store == "brain.zarrvectors"));
//!
//! let wrong = Job::from_json(serde_json::json!({"job": "pyramid", "store": "a.zv", "factors": [2, "x"]}));
//! assert_eq!(wrong.unwrap_err().to_string(), "factors[1]: found \"x\", expected a number");
//! # Ok::<(), zvf_jobs::JobError>(())
//! ```
//!
//! A job file is trusted like a command line: it can name any store and file. Relative paths are relative to the working directory. Credentials,
//! limits and other options of the storage are not part of a job but of its [`Context`].

#[macro_use]
mod options;

mod access;
mod append;
mod checks;
mod chunk_size;
mod context;
mod copy;
mod create;
mod diff;
mod doctor;
mod edit;
mod error;
mod error_facts;
mod export;
mod file_export;
mod files;
#[cfg(feature = "volumes")]
mod group;
mod history;
mod import;
mod info;
mod input_files;
mod job;
mod links;
mod local_files;
mod measure;
mod members;
mod merge;
mod objects;
mod output;
#[cfg(feature = "plot")]
mod plot;
mod progress_lines;
mod pyramid;
mod query;
mod read;
mod repair;
mod resample;
mod rows;
#[cfg(feature = "volumes")]
mod sample;
mod schema;
mod selection;
mod some_rows;
mod split;
mod splits;
mod stats;
mod tables;
mod vacuum;
mod validate;
mod values;
mod verbatim;
#[cfg(feature = "volumes")]
mod volume;
pub mod words;

pub use access::Access;
pub use append::{AppendJob, AppendReport};
pub use checks::check_outside;
pub use chunk_size::small_chunks;
pub use context::{Context, JobEvent, JobEvents, JobLog, JobProgress};
pub use copy::{CopyReport, MigrateJob, RechunkJob};
pub use create::{CreateJob, CreateReport};
pub use diff::{DiffJob, DiffReport};
pub use doctor::{Advice, DoctorJob, DoctorReport};
pub use edit::{
    DeleteSelect, EditAddOwnersJob, EditAppendJob, EditDeleteJob, EditDone, EditDryRun,
    EditGroupAddJob, EditGroupDeleteJob, EditGroupRemoveJob, EditGroupRenameJob, EditMoveJob,
    EditReport, EditResumeJob, EditResumed, EditSetAttributeJob, MatchOptions, MatchedRows,
    ResumedEdit, existing_ids,
};
pub use error::JobError;
pub use error_facts::ErrorFacts;
pub use export::{ExportJob, ExportReport, FileExported, FolderFormat, ViewsExported};
pub use files::{ColumnOptions, IdOptions, MapOptions, PartOptions, PlaceOptions, TableOptions};
#[cfg(feature = "volumes")]
pub use group::{EndsGrouped, GroupJob, GroupReport};
pub use import::{AttributeImported, ImportJob, ImportReport, StoreImported};
pub use info::{
    ArrayInfo, ArraySize, AxisFacts, InfoJob, InfoReport, LevelInfo, LinkInfo, ObjectIndexInfo,
    PartsInfo, RefusedInfo, StoreInfo,
};
pub use job::{Job, JobReport, run};
pub use links::{LinkRecord, LinkRows, LinksJob, LinksReport};
pub use measure::{MeasureJob, MeasureReport, MeasuredAttributes, MeasuredTable, set_measures};
pub use merge::{MergeJob, MergeReport, StoreMerged};
pub use objects::{ObjectsJob, ObjectsReport};
pub use output::{
    Output, Staged, TableFile, TableFormat, TemporaryFolder, is_packed, is_special, remove_path,
    table_writer, unfinished_files,
};
#[cfg(feature = "plot")]
pub use plot::{
    ColorRange, ColorText, ColormapName, DrawnLevel, Ground, PictureFormat, PictureSize,
    PlotCamera, PlotJob, PlotLayer, PlotPicture, PlotReport, UpText,
};
pub use progress_lines::ProgressLines;
pub use pyramid::{MethodName, PyramidJob, PyramidJobReport, StoredCrossLinks};
pub use query::{QueryAnswered, QueryJob, QueryReport, ResultOptions, Traffic};
pub use read::{Jobs, parse};
pub use repair::{RepairJob, RepairReport, adds_root};
pub use resample::{ResampleJob, ResampleReport, SimplifyJob};
pub use rows::{Listing, RowSink, TableRows, json_row, json_value, table_target, warnings_of};
#[cfg(feature = "volumes")]
pub use sample::{OrderName, SampleJob, SampleReport};
pub use schema::schema;
#[cfg(feature = "volumes")]
pub use selection::mask_of_array;
pub use selection::{LevelOptions, RegionOptions, SelectName, SelectionOptions, Term, read_ids};
pub use some_rows::{FoundRows, HeadJob, RowOptions, RowsReport, SampleRowsJob, TailJob};
pub use split::{PartWritten, SplitJob, SplitReport};
pub use splits::{SplitsJob, SplitsReport};
pub use stats::{StatsJob, StatsReport, exact_text};
pub use tables::{edit_remarks, fill_text, set_fill};
pub use vacuum::{VacuumJob, VacuumReport};
pub use validate::{ProfileName, ValidateJob, ValidateReport};
pub use values::{
    AttributeText, CheckName, ChunkScale, CodecChoice, ColumnName, ColumnType, Corners,
    DecimalMark, Delimiter, DeltaText, FillValue, FormatName, KindName, NewVersion, NullsName,
    NumberName, OutsideNumber, OutsideValue, PieceText, ShardChoice, SpaceBox, SpaceName,
    StatisticsUnit, ViewShards,
};
#[cfg(feature = "clap")]
pub use values::{parse_pair, parse_size};
pub use verbatim::{CopyJob, VerbatimReport};
#[cfg(feature = "volumes")]
pub use volume::{
    VolumeConvertJob, VolumeConvertReport, VolumeInfoJob, VolumeInfoReport, VolumeSliceJob,
    VolumeSliceReport,
};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
