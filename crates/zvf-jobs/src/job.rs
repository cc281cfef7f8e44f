//! Any job, by its name.

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::{Map, Value};
use tracing::Instrument;

use crate::history;
use crate::members::{of_options, options, shown};
use crate::{
    AppendJob, AppendReport, Context, CopyJob, CopyReport, CreateJob, CreateReport, DiffJob,
    DiffReport, DoctorJob, DoctorReport, EditAddOwnersJob, EditAppendJob, EditDeleteJob,
    EditGroupAddJob, EditGroupDeleteJob, EditGroupRemoveJob, EditGroupRenameJob, EditMoveJob,
    EditReport, EditResumeJob, EditSetAttributeJob, ExportJob, ExportReport, HeadJob, ImportJob,
    ImportReport, InfoJob, InfoReport, JobError, LinksJob, LinksReport, MeasureJob, MeasureReport,
    MergeJob, MergeReport, MigrateJob, ObjectsJob, ObjectsReport, PyramidJob, PyramidJobReport,
    QueryJob, QueryReport, RechunkJob, RepairJob, RepairReport, ResampleJob, ResampleReport,
    RowsReport, SampleRowsJob, SimplifyJob, SplitJob, SplitReport, SplitsJob, SplitsReport,
    StatsJob, StatsReport, TailJob, VacuumJob, VacuumReport, ValidateJob, ValidateReport,
    VerbatimReport,
};

#[cfg(feature = "volumes")]
use crate::{
    GroupJob, GroupReport, SampleJob, SampleReport, VolumeConvertJob, VolumeConvertReport,
    VolumeInfoJob, VolumeInfoReport, VolumeSliceJob, VolumeSliceReport,
};
#[cfg(feature = "plot")]
use crate::{PlotJob, PlotReport};

/// Declares the jobs: type of the options, name, members without a default, unit of the progress, feature that it requires.
macro_rules! jobs {
    ($($(#[$doc:meta])* $variant:ident($options:ident) -> $report:ident: $name:literal, $required:expr, $unit:literal $(, $feature:literal)?;)*) => {
        /// A job, with its options.
        #[allow(clippy::large_enum_variant, reason = "a program has few jobs at once; with the feature plot two of them are large")]
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum Job {
            $($(#[$doc])* $(#[cfg(feature = $feature)])? $variant($options),)*
        }

        $($(#[cfg(feature = $feature)])?
        impl From<$options> for Job {
            fn from(options: $options) -> Self {
                Self::$variant(options)
            }
        })*

        impl Job {
            /// The names of all jobs.
            pub const NAMES: [&str; [$($(#[cfg(feature = $feature)])? $name),*].len()] = [$($(#[cfg(feature = $feature)])? $name),*];

            /// The name of the job, which is also the name of its command.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$variant(_) => $name,)*
                }
            }

            /// What the progress of the job counts.
            #[must_use]
            pub fn unit(&self) -> &'static str {
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$variant(_) => $unit,)*
                }
            }

            fn of_members(name: &str, members: Map<String, Value>) -> Result<Option<Self>, JobError> {
                Ok(match name {
                    $($(#[cfg(feature = $feature)])? $name => Some(Self::$variant(options(members, &$required)?)),)*
                    _ => None,
                })
            }

            pub(crate) fn schema_of(name: &str) -> Option<Map<String, Value>> {
                match name {
                    $($(#[cfg(feature = $feature)])? $name => Some(of_options::<$options>($name, &$required)),)*
                    _ => None,
                }
            }

            fn members(&self) -> Result<Value, serde_json::Error> {
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$variant(options) => serde_json::to_value(options),)*
                }
            }

            /// Checks the restrictions that the types do not express: ranges, and options that are given together. Nothing is read.
            ///
            /// # Errors
            ///
            /// Misuse: the first member that is wrong, with what was found and expected.
            pub fn check(&self) -> Result<(), JobError> {
                for (member, address) in self.addresses() {
                    if address.is_empty() {
                        return Err(JobError::option(member, "\"\"", "a path or URL"));
                    }
                }
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$variant(options) => options.check(),)*
                }
            }
        }

        /// Runs a job, in a span `job` of `tracing`; its requests are events of the level debug.
        ///
        /// # Cost
        ///
        /// The cost of the library function that does the work, such as [`zvf_convert::Import`], [`zvf_edit::vacuum`], [`zvf_validate::validate`],
        /// [`zvf_pyramid::build_pyramid`], [`zvf_migrate::migrate`] and [`zvf_migrate::copy`].
        ///
        /// # Errors
        ///
        /// Misuse: wrong options, before anything is read. Otherwise the errors of the library function. A damaged store is a finding of `validate`,
        /// not an error.
        pub fn run<'a>(job: &'a Job, context: &'a Context) -> BoxFuture<'a, Result<JobReport, JobError>> {
            if let Err(error) = job.check() {
                return Box::pin(std::future::ready(Err(error)));
            }
            let span = tracing::info_span!("job", name = job.name());
            let run: BoxFuture<'a, _> = match job {
                $($(#[cfg(feature = $feature)])? Job::$variant(options) => {
                    Box::pin(async move {
                        let context = context.recording(job.recorded());
                        options.run(&context).await.map(JobReport::$report)
                    })
                })*
            };
            // Without a subscriber, the job is not wrapped.
            match span.is_disabled() {
                true => run,
                false => Box::pin(run.instrument(span)),
            }
        }
    };
}

jobs! {
    /// Adds objects or points of files to a store.
    Append(AppendJob) -> Append: "append", ["store", "files"], "";
    /// Makes a new store from files.
    Import(ImportJob) -> Import: "import", ["files", "store"], "vertices";
    /// Removes the rows of deleted objects, and files that no reader uses.
    Vacuum(VacuumJob) -> Vacuum: "vacuum", ["store"], "";
    /// Deletes objects, or points that belong to none.
    EditDelete(EditDeleteJob) -> Edit: "edit-delete", ["store"], "";
    /// Adds vertices of a table.
    EditAppend(EditAppendJob) -> Edit: "edit-append", ["store", "file"], "";
    /// Stores which object each fragment belongs to.
    EditAddOwners(EditAddOwnersJob) -> Edit: "edit-add-owners", ["store"], "";
    /// Moves vertices.
    EditMove(EditMoveJob) -> Edit: "edit-move", ["store", "from"], "";
    /// Replaces values of an attribute, or adds one.
    EditSetAttribute(EditSetAttributeJob) -> Edit: "edit-set-attribute", ["store", "name"], "";
    /// Adds objects to a group.
    EditGroupAdd(EditGroupAddJob) -> Edit: "edit-group-add", ["store", "group"], "";
    /// Removes objects from a group.
    EditGroupRemove(EditGroupRemoveJob) -> Edit: "edit-group-remove", ["store", "group", "objects"], "";
    /// Gives a group another name.
    EditGroupRename(EditGroupRenameJob) -> Edit: "edit-group-rename", ["store", "group", "new_name"], "";
    /// Deletes a group.
    EditGroupDelete(EditGroupDeleteJob) -> Edit: "edit-group-delete", ["store", "group"], "";
    /// Finishes or reverts an interrupted edit.
    EditResume(EditResumeJob) -> Edit: "edit-resume", ["store"], "";
    /// Checks a store for errors.
    Validate(ValidateJob) -> Validate: "validate", ["store"], "cells";
    /// Adds, replaces, refreshes or removes coarse levels.
    Pyramid(PyramidJob) -> Pyramid: "pyramid", ["store"], "vertices coarsened";
    /// Copies a store into chunks, bins or shards of another shape.
    Rechunk(RechunkJob) -> Copy: "rechunk", ["source", "target"], "vertices";
    /// Copies a store into one of another version.
    Migrate(MigrateJob) -> Copy: "migrate", ["source", "target"], "vertices";
    /// Copies a store byte for byte.
    Copy(CopyJob) -> Verbatim: "copy", ["source", "target"], "bytes";
    /// Makes one store of several.
    Merge(MergeJob) -> Merge: "merge", ["sources", "target"], "";
    /// Makes a store with other points along the same lines.
    Resample(ResampleJob) -> Resample: "resample", ["source", "target"], "";
    /// Makes a store of lines or skeletons with fewer vertices.
    Simplify(SimplifyJob) -> Resample: "simplify", ["source", "target", "tolerance"], "";
    /// Corrects the documents of a store from its cells.
    Repair(RepairJob) -> Repair: "repair", ["store"], "cells";
    /// Makes a store without any vertex.
    Create(CreateJob) -> Create: "create", ["store", "kind", "chunk_shape", "bounds"], "";
    /// Measures what would make a store smaller or faster.
    Doctor(DoctorJob) -> Doctor: "doctor", ["store"], "";
    /// Stores the value of a volume at every vertex as a vertex attribute.
    Sample(SampleJob) -> Sample: "sample", ["store", "volume", "name"], "vertices", "volumes";
    /// Adds objects to a group, or groups lines by the labels at their ends.
    Group(GroupJob) -> Group: "group", ["store", "group"], "objects", "volumes";
    /// The contents of a file or image with dense volumes.
    VolumeInfo(VolumeInfoJob) -> VolumeInfo: "volume-info", ["volume"], "", "volumes";
    /// A box of a volume as a NumPy file, or as bare elements.
    VolumeSlice(VolumeSliceJob) -> VolumeSlice: "volume-slice", ["volume", "output"], "bytes", "volumes";
    /// A volume in another container.
    VolumeConvert(VolumeConvertJob) -> VolumeConvert: "volume-convert", ["volume", "output"], "chunks", "volumes";
    /// Draws one or several stores as a picture.
    Plot(PlotJob) -> Plot: "plot", ["stores", "output"], "", "plot";
    /// Ranges, means, quantiles, counts and histograms of axes and attributes.
    Stats(StatsJob) -> Stats: "stats", ["store"], "vertices";
    /// Lengths, branches, surfaces, volumes, bounds and means of attributes of objects.
    Measure(MeasureJob) -> Measure: "measure", ["store"], "objects";
    /// The contents of a store: version, kind, axes, bounds, levels, arrays, codecs and layout.
    Info(InfoJob) -> Info: "info", ["store"], "vertices";
    /// The objects of a level, with their sizes and attributes.
    Objects(ObjectsJob) -> Objects: "objects", ["store"], "objects";
    /// The differences of two stores.
    Diff(DiffJob) -> Diff: "diff", ["first", "second"], "vertices";
    /// A selection as a file of another format, or as a file for each object.
    Export(ExportJob) -> Export: "export", ["store", "file"], "vertices";
    /// An answer in files, or summed up.
    Query(QueryJob) -> Query: "query", ["store"], "vertices";
    /// The first rows of a store or a selection.
    Head(HeadJob) -> Rows: "head", ["store"], "rows";
    /// The last rows of a store or a selection.
    Tail(TailJob) -> Rows: "tail", ["store"], "";
    /// Rows of a store or a selection, drawn at random.
    SampleRows(SampleRowsJob) -> Rows: "sample-rows", ["store"], "";
    /// The stored records of a link family.
    Links(LinksJob) -> Links: "links", ["store"], "rows";
    /// Stores or files: one for each group, attribute value or region, or parts of equal size.
    Split(SplitJob) -> Split: "split", ["store", "folder", "by"], "";
    /// The pieces of a query.
    Splits(SplitsJob) -> Splits: "splits", ["store"], "";
}

impl Job {
    /// Reads a job: an object with the name of the job as `job`, and its options. It is [checked](Self::check).
    ///
    /// # Errors
    ///
    /// Misuse: the first member that is wrong, by its path, with what was found and expected.
    pub fn from_json(value: Value) -> Result<Self, JobError> {
        let expected = || format!("one of {}", Self::NAMES.join(", "));
        let Value::Object(mut members) = value else {
            return Err(JobError::option(
                "job",
                shown(&value),
                "an object with the member job",
            ));
        };
        let name = match members.shift_remove("job") {
            Some(Value::String(name)) => name,
            Some(other) => return Err(JobError::option("job", shown(&other), &expected())),
            None => return Err(JobError::option("job", "nothing", &expected())),
        };
        let job = Self::of_members(&name, members)?;
        let job = job.ok_or_else(|| JobError::option("job", format!("{name:?}"), &expected()))?;
        job.check()?;
        Ok(job)
    }

    /// The job as JSON, from which [`from_json`](Self::from_json) makes the same job: its name, and the options that differ from the default.
    ///
    /// # Errors
    ///
    /// Misuse: a path that is not Unicode text, which JSON cannot hold. Bug.
    pub fn to_json(&self) -> Result<Value, JobError> {
        let members = self
            .members()
            .map_err(|error| JobError::option("job", error, "texts of Unicode"))?;
        let schema = Self::schema_of(self.name());
        let is_default = |name: &str, value: &Value| {
            let properties = schema.as_ref().and_then(|schema| schema.get("properties"));
            properties.and_then(|all| all.get(name)?.get("default")) == Some(value)
        };
        let mut document = Map::from_iter([("job".to_owned(), Value::from(self.name()))]);
        if let Value::Object(members) = members {
            let given = members
                .into_iter()
                .filter(|(name, value)| !is_default(name, value));
            document.extend(given);
        }
        Ok(document.into())
    }

    /// The entry for the history of the store that the job changes. If a path of the job is not Unicode text, the entry has only the name of the job.
    fn recorded(&self) -> Option<Value> {
        let own = self.changes()?;
        let members = match self.to_json() {
            Ok(Value::Object(members)) => members,
            _ => Map::from_iter([("job".to_owned(), self.name().into())]),
        };
        Some(history::entry(members, own))
    }

    /// The members that are addresses of stores or volumes.
    fn addresses(&self) -> Vec<(&'static str, &str)> {
        match self {
            Self::Vacuum(VacuumJob { store, .. })
            | Self::Append(AppendJob { store, .. })
            | Self::Import(ImportJob { store, .. })
            | Self::Validate(ValidateJob { store, .. })
            | Self::Stats(StatsJob { store, .. })
            | Self::Info(InfoJob { store, .. })
            | Self::Objects(ObjectsJob { store, .. })
            | Self::Measure(MeasureJob { store, .. })
            | Self::Export(ExportJob { store, .. })
            | Self::Query(QueryJob { store, .. })
            | Self::Links(LinksJob { store, .. })
            | Self::Split(SplitJob { store, .. })
            | Self::Splits(SplitsJob { store, .. })
            | Self::Pyramid(PyramidJob { store, .. })
            | Self::Repair(RepairJob { store, .. })
            | Self::Create(CreateJob { store, .. })
            | Self::EditDelete(EditDeleteJob { store, .. })
            | Self::EditAppend(EditAppendJob { store, .. })
            | Self::EditAddOwners(EditAddOwnersJob { store })
            | Self::EditMove(EditMoveJob { store, .. })
            | Self::EditSetAttribute(EditSetAttributeJob { store, .. })
            | Self::EditGroupAdd(EditGroupAddJob { store, .. })
            | Self::EditGroupRemove(EditGroupRemoveJob { store, .. })
            | Self::EditGroupRename(EditGroupRenameJob { store, .. })
            | Self::EditGroupDelete(EditGroupDeleteJob { store, .. })
            | Self::EditResume(EditResumeJob { store })
            | Self::Doctor(DoctorJob { store }) => vec![("store", store)],
            Self::Head(HeadJob { asked })
            | Self::Tail(TailJob { asked })
            | Self::SampleRows(SampleRowsJob { asked, .. }) => vec![("store", &asked.store)],
            #[cfg(feature = "volumes")]
            Self::Sample(SampleJob { store, .. }) | Self::Group(GroupJob { store, .. }) => {
                vec![("store", store)]
            }
            #[cfg(feature = "volumes")]
            Self::VolumeInfo(VolumeInfoJob { volume })
            | Self::VolumeSlice(VolumeSliceJob { volume, .. })
            | Self::VolumeConvert(VolumeConvertJob { volume, .. }) => vec![("volume", volume)],
            #[cfg(feature = "plot")]
            Self::Plot(PlotJob { stores, .. }) => {
                let stores = stores.iter();
                stores.map(|store| ("stores", store.as_str())).collect()
            }
            Self::Rechunk(RechunkJob { source, target, .. })
            | Self::Copy(CopyJob { source, target, .. })
            | Self::Resample(ResampleJob { source, target, .. })
            | Self::Simplify(SimplifyJob { source, target, .. })
            | Self::Migrate(MigrateJob { source, target, .. }) => {
                vec![("source", source), ("target", target)]
            }
            Self::Merge(MergeJob {
                sources, target, ..
            }) => {
                let sources = sources.iter().map(|source| ("sources", source.as_str()));
                sources.chain([("target", target.as_str())]).collect()
            }
            Self::Diff(DiffJob { first, second, .. }) => {
                vec![("first", first), ("second", second)]
            }
        }
    }

    /// The store that the job makes or changes, or the folder of several; `None` if it only reads.
    #[must_use]
    pub fn changes(&self) -> Option<&str> {
        match self {
            Self::Validate(_)
            | Self::Stats(_)
            | Self::Info(_)
            | Self::Objects(_)
            | Self::Diff(_)
            | Self::Export(_)
            | Self::Query(_)
            | Self::Head(_)
            | Self::Links(_)
            | Self::Tail(_)
            | Self::SampleRows(_)
            | Self::Splits(_)
            | Self::Doctor(_) => None,
            #[cfg(feature = "plot")]
            Self::Plot(_) => None,
            #[cfg(feature = "volumes")]
            Self::VolumeInfo(_) | Self::VolumeSlice(_) | Self::VolumeConvert(_) => None,
            Self::Import(job) if job.status => None,
            Self::Split(job) if job.format.is_some() => None,
            Self::Split(job) => job.folder.to_str(),
            Self::Measure(job) if job.attributes.is_empty() => None,
            Self::EditDelete(job) if job.dry_run => None,
            Self::Repair(job) if !job.apply && job.undo.is_none() => None,
            _ => self.addresses().last().map(|(_, address)| *address),
        }
    }
}

/// What a job did.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum JobReport {
    /// The report of `append`.
    Append(AppendReport),
    /// The report of `import`.
    Import(ImportReport),
    /// The report of `vacuum`.
    Vacuum(VacuumReport),
    /// The report of the jobs `edit-…`.
    Edit(EditReport),
    /// The report of `validate`.
    Validate(ValidateReport),
    /// The report of `pyramid`.
    Pyramid(PyramidJobReport),
    /// The report of `rechunk` and `migrate`.
    Copy(CopyReport),
    /// The report of `copy`.
    Verbatim(VerbatimReport),
    /// The report of `merge`.
    Merge(MergeReport),
    /// The report of `resample` and `simplify`.
    Resample(ResampleReport),
    /// The report of `repair`.
    Repair(RepairReport),
    /// The report of `create`.
    Create(CreateReport),
    /// The report of `doctor`.
    Doctor(DoctorReport),
    /// The report of `sample`.
    #[cfg(feature = "volumes")]
    Sample(SampleReport),
    /// The report of `group`.
    #[cfg(feature = "volumes")]
    Group(GroupReport),
    /// The report of `volume-info`.
    #[cfg(feature = "volumes")]
    VolumeInfo(VolumeInfoReport),
    /// The report of `volume-slice`.
    #[cfg(feature = "volumes")]
    VolumeSlice(VolumeSliceReport),
    /// The report of `volume-convert`.
    #[cfg(feature = "volumes")]
    VolumeConvert(VolumeConvertReport),
    /// The report of `plot`.
    #[cfg(feature = "plot")]
    Plot(PlotReport),
    /// The report of `stats`.
    Stats(StatsReport),
    /// The report of `measure`.
    Measure(MeasureReport),
    /// The report of `info`.
    Info(InfoReport),
    /// The report of `objects`.
    Objects(ObjectsReport),
    /// The report of `diff`.
    Diff(DiffReport),
    /// The report of `export`.
    Export(ExportReport),
    /// The report of `query`.
    Query(QueryReport),
    /// The report of `head`, `tail` and `sample-rows`.
    Rows(RowsReport),
    /// The report of `links`.
    Links(LinksReport),
    /// The report of `split`.
    Split(SplitReport),
    /// The report of `splits`.
    Splits(SplitsReport),
}

impl JobReport {
    /// The warnings of a report for users: violations of the format in the stores that were read, and data that was left out or not judged.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        match self {
            Self::Stats(done) => &done.warnings,
            Self::Measure(MeasureReport::Table(done)) => &done.warnings,
            Self::Measure(MeasureReport::Attributes(done)) => &done.warnings,
            Self::Info(InfoReport::Store(done)) => &done.warnings,
            Self::Objects(done) => &done.warnings,
            Self::Diff(done) => &done.warnings,
            Self::Edit(EditReport::Done(done)) => &done.warnings,
            Self::Edit(EditReport::DryRun(done)) => &done.warnings,
            Self::Export(ExportReport::File(done)) | Self::Query(QueryReport::File(done)) => {
                &done.remarks
            }
            Self::Query(QueryReport::Answer(done)) => &done.warnings,
            Self::Export(ExportReport::Objects(done)) | Self::Split(done) => &done.notes,
            Self::Export(ExportReport::Views(done)) => &done.warnings,
            Self::Rows(done) => &done.warnings,
            Self::Links(done) => &done.warnings,
            Self::Merge(done) => &done.notes,
            Self::Resample(done) => &done.report.notes,
            Self::Doctor(done) => &done.notes,
            #[cfg(feature = "volumes")]
            Self::Sample(done) => &done.warnings,
            #[cfg(feature = "volumes")]
            Self::Group(GroupReport::Ends(done)) => &done.warnings,
            #[cfg(feature = "volumes")]
            Self::VolumeConvert(done) => &done.warnings,
            #[cfg(feature = "plot")]
            Self::Plot(done) => &done.warnings,
            _ => &[],
        }
    }

    /// The file with the result, the number of its rows or pairs, and the noun for them.
    #[must_use]
    pub fn written(&self) -> Option<(&str, u64, &'static str)> {
        let (files, (count, what)) = match self {
            Self::Stats(done) => (&done.files, done.counted()),
            Self::Measure(MeasureReport::Table(done)) => (&done.files, (done.rows, "object")),
            Self::Objects(done) => (&done.files, (done.count, "object")),
            #[cfg(feature = "volumes")]
            Self::Group(GroupReport::Ends(done)) => {
                return Some((done.matrix.as_deref()?, done.groups, "pair"));
            }
            Self::Links(done) => (&done.files, (done.count, "record")),
            _ => return None,
        };
        files.first().map(|file| (file.as_str(), count, what))
    }
}
