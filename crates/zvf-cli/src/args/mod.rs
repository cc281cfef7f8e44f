//! The command line: every command, its flags and the examples in its `--help`.
//!
//! Names and meanings here are a contract with scripts. Add to them; do not change them.

/// The text after the options in the help of a command, without the line break at the end of its file.
macro_rules! help {
    ($command:literal) => {
        include_str!(concat!("../help/", $command, ".txt")).trim_ascii_end()
    };
}

mod common;
mod completions;
mod edit;
mod export;
mod import;
mod inspect;
mod jobs;
mod man;
mod merge;
mod on_demand;
#[cfg(feature = "plot")]
mod plot;
mod query;
mod repair;
#[cfg(feature = "serve")]
mod serve;
mod validate;
mod version;
#[cfg(feature = "volumes")]
mod volume;

use std::ffi::OsString;
use std::sync::LazyLock;

use clap::{CommandFactory, Parser, Subcommand};
use zvf_jobs::{
    AppendJob, CopyJob, CreateJob, DiffJob, DoctorJob, HeadJob, InfoJob, Job, LinksJob, MeasureJob,
    MigrateJob, ObjectsJob, PyramidJob, QueryJob, RechunkJob, ResampleJob, SampleRowsJob,
    SimplifyJob, SplitJob, SplitsJob, StatsJob, TailJob, VacuumJob,
};

pub(crate) use common::{Common, ProgressArg};
pub(crate) use completions::CompletionsArgs;
pub(crate) use edit::EditArgs;
pub(crate) use export::ExportArgs;
pub(crate) use import::ImportArgs;
pub(crate) use inspect::{BlobArg, InspectArgs};
pub(crate) use jobs::{JobArgs, RunArgs, SchemaArgs};
pub(crate) use man::ManArgs;
pub(crate) use merge::MergeArgs;
use on_demand::OnDemand;
#[cfg(feature = "plot")]
pub(crate) use plot::{PlotArgs, ShowArg};
pub(crate) use query::{GetArgs, QueryArgs};
pub(crate) use repair::{PlanFormat, RepairArgs};
#[cfg(feature = "serve")]
pub(crate) use serve::ServeArgs;
pub(crate) use validate::{ReportFormat, ValidateArgs};
pub(crate) use version::Version;
#[cfg(feature = "volumes")]
pub(crate) use volume::VolumeArgs;

/// The text of `--version`.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| Version::new().text());

/// Looks at, queries and takes apart Zarr Vectors stores.
///
/// STORE is a path or a URL: file://, s3://, gs://, az://, http(s)://, memory://. Credentials and endpoints are read from
/// the usual environment variables of each cloud; for S3 also from the files of AWS profiles.
#[derive(Debug, Parser)]
#[command(
    name = "zvf",
    version,
    long_version = LONG_VERSION.as_str(),
    propagate_version = true,
    max_term_width = 110,
    after_help = help!("zvf")
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Flags that every command takes.
    #[command(flatten)]
    pub(crate) common: Common,
}

impl Cli {
    /// All commands with their arguments. [`clap::CommandFactory::command`] returns commands without arguments, see [`OnDemand`].
    pub(crate) fn described() -> clap::Command {
        let mut program = Self::command();
        program.build();
        program
    }

    /// Parses a command line, which begins with the program's name.
    ///
    /// # Errors
    ///
    /// The errors of clap. The texts of `--help` and `--version` are errors, too.
    pub(crate) fn of(line: Vec<OsString>) -> Result<Self, clap::Error> {
        let mut cli = Self::try_parse_from(edit::store_first(line))?;
        if let Command::Import(args) = &mut cli.command {
            args.settle()?;
        }
        Ok(cli)
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows the contents of a store: version, kind, axes, bounds, levels, arrays, codecs and layout
    #[command(after_help = help!("info"))]
    Info(OnDemand<JobArgs<InfoJob>>),
    /// Selects vertices, links and objects by box, object, group or attribute
    Query(OnDemand<QueryArgs>),
    /// Cuts a query into pieces for several programs, each vertex in exactly one of them
    #[command(after_help = help!("splits"))]
    Splits(OnDemand<JobArgs<SplitsJob>>),
    /// Reads whole objects by id, in the given order
    Get(OnDemand<GetArgs>),
    /// Lists the objects of a level with their sizes and attributes
    #[command(after_help = help!("objects"))]
    Objects(OnDemand<JobArgs<ObjectsJob>>),
    /// Lists the stored records of a link family, endpoint by endpoint
    #[command(after_help = help!("links"))]
    Links(OnDemand<JobArgs<LinksJob>>),
    /// Shows the first rows of a store or a selection
    #[command(after_help = help!("head"))]
    Head(OnDemand<JobArgs<HeadJob>>),
    /// Shows the last rows of a store or a selection
    #[command(after_help = help!("tail"))]
    Tail(OnDemand<JobArgs<TailJob>>),
    /// Draws rows of a store or a selection at random
    #[command(after_help = help!("sample-rows"))]
    SampleRows(OnDemand<JobArgs<SampleRowsJob>>),
    /// Shows ranges, means, quantiles, counts and histograms of axes and attributes
    #[command(after_help = help!("stats"))]
    Stats(OnDemand<JobArgs<StatsJob>>),
    /// Measures whole objects: length, branches, surface, volume, bounds, means of attributes
    #[command(after_help = help!("measure"))]
    Measure(OnDemand<JobArgs<MeasureJob>>),
    /// Compares the contents of two stores: documents, vertices, objects, links and groups
    #[command(after_help = help!("diff"))]
    Diff(OnDemand<JobArgs<DiffJob>>),
    /// Measures what would make a store smaller or faster, and names the commands for it
    #[command(after_help = help!("doctor"))]
    Doctor(OnDemand<JobArgs<DoctorJob>>),
    /// Takes one blob apart byte by byte and explains every field
    Inspect(OnDemand<InspectArgs>),
    /// Makes a new store from files: SWC, CSV, Arrow, Parquet, NPY, NPZ, LAS, LAZ, OBJ, PLY, STL, TRK, TCK or TRX
    Import(OnDemand<ImportArgs>),
    /// Makes a new store without any vertex
    #[command(after_help = help!("create"))]
    Create(OnDemand<JobArgs<CreateJob>>),
    /// Writes a selection of a store as a file of another format, by its ending
    Export(OnDemand<ExportArgs>),
    /// Draws one or several stores as a picture: PNG, SVG, or in the terminal
    #[cfg(feature = "plot")]
    Plot(OnDemand<PlotArgs>),
    /// Copies a store byte for byte, from any place to any other one
    #[command(after_help = help!("copy"))]
    Copy(OnDemand<JobArgs<CopyJob>>),
    /// Splits a store into stores or files: one for each group, attribute value or region, or parts of equal size
    #[command(after_help = help!("split"))]
    Split(OnDemand<JobArgs<SplitJob>>),
    /// Makes one new store of several of the same kind
    Merge(OnDemand<MergeArgs>),
    /// Makes a new store with other points along the same lines: a fixed number for each line, or points at a fixed distance
    #[command(after_help = help!("resample"))]
    Resample(OnDemand<JobArgs<ResampleJob>>),
    /// Makes a new store of lines or skeletons with fewer vertices, within a tolerance of the old lines
    #[command(after_help = help!("simplify"))]
    Simplify(OnDemand<JobArgs<SimplifyJob>>),
    /// Copies a store of any version into a new one of 0.9.2 or 0.8.1, and compares the two
    #[command(after_help = help!("migrate"))]
    Migrate(OnDemand<JobArgs<MigrateJob>>),
    /// Copies a store into chunks, bins or shards of another shape, and compares the two
    #[command(after_help = help!("rechunk"))]
    Rechunk(OnDemand<JobArgs<RechunkJob>>),
    /// Adds coarse levels: thinned points, simplified lines, contracted graphs, decimated meshes
    #[command(after_help = help!("pyramid"))]
    Pyramid(OnDemand<JobArgs<PyramidJob>>),
    /// Adds objects or points to a store, from files of any format that `zvf import` reads
    #[command(after_help = help!("append"))]
    Append(OnDemand<JobArgs<AppendJob>>),
    /// Changes a store: appends, deletes or moves vertices, sets attributes; an edit is applied as a whole or not at all
    Edit(OnDemand<EditArgs>),
    /// Adds objects to a group, or groups lines by the labels of a volume at their ends
    #[cfg(feature = "volumes")]
    #[command(after_help = help!("group"))]
    Group(OnDemand<JobArgs<zvf_jobs::GroupJob>>),
    /// Removes the rows of deleted objects, and files that no reader uses
    #[command(after_help = help!("vacuum"))]
    Vacuum(OnDemand<JobArgs<VacuumJob>>),
    /// Checks a store for errors: structure, documents, cells, meaning, levels
    Validate(OnDemand<ValidateArgs>),
    /// Corrects the documents of a store that follow from its cells; prints the plan first
    Repair(OnDemand<RepairArgs>),
    /// Samples a dense volume at every vertex and stores the values as a vertex attribute
    #[cfg(feature = "volumes")]
    #[command(after_help = help!("sample"))]
    Sample(OnDemand<JobArgs<zvf_jobs::SampleJob>>),
    /// Reads and converts dense volumes: TET files, Caterva and b2nd frames, Zarr images
    #[cfg(feature = "volumes")]
    Volume(OnDemand<VolumeArgs>),
    /// Serves stores over HTTP, as they are and as views of Neuroglancer
    #[cfg(feature = "serve")]
    Serve(OnDemand<ServeArgs>),
    /// Runs jobs from a file, such as those that commands print with --print-job
    Run(OnDemand<RunArgs>),
    /// Prints the JSON Schema of jobs: the options of each, with documentation and default
    Schema(OnDemand<SchemaArgs>),
    /// Prints a completion script for a shell
    Completions(OnDemand<CompletionsArgs>),
    /// Writes manual pages, one for the program and one for each command
    Man(OnDemand<ManArgs>),
}

impl Command {
    /// The job of the command, and whether it is only printed; `None` if the command is not a job.
    pub(crate) fn job(&self) -> Option<(Job, bool)> {
        match self {
            Self::Migrate(args) => Some(args.job()),
            Self::Rechunk(args) => Some(args.job()),
            Self::Copy(args) => Some(args.job()),
            Self::Merge(args) => Some(args.job()),
            Self::Resample(args) => Some(args.job()),
            Self::Simplify(args) => Some(args.job()),
            Self::Create(args) => Some(args.job()),
            Self::Doctor(args) => Some(args.job()),
            #[cfg(feature = "volumes")]
            Self::Sample(args) => Some(args.job()),
            #[cfg(feature = "volumes")]
            Self::Volume(args) => Some(args.job()),
            #[cfg(feature = "plot")]
            Self::Plot(args) => Some(args.job()),
            Self::Repair(args) => Some(args.of_job.job()),
            Self::Pyramid(args) => Some(args.job()),
            Self::Vacuum(args) => Some(args.job()),
            Self::Validate(args) => args.job(),
            Self::Import(args) => Some(args.of_job.job()),
            Self::Append(args) => Some(args.job()),
            Self::Edit(args) => Some(args.job()),
            #[cfg(feature = "volumes")]
            Self::Group(args) => Some(args.job()),
            Self::Stats(args) => Some(args.job()),
            Self::Measure(args) => Some(args.job()),
            Self::Info(args) => Some(args.job()),
            Self::Objects(args) => Some(args.job()),
            Self::Diff(args) => Some(args.job()),
            Self::Export(args) => args.job(),
            Self::Split(args) => Some(args.job()),
            Self::Splits(args) => Some(args.job()),
            Self::Links(args) => Some(args.job()),
            Self::Head(args) => Some(args.job()),
            Self::Tail(args) => Some(args.job()),
            Self::SampleRows(args) => Some(args.job()),
            Self::Query(args) => Some(as_job(args.job())),
            Self::Get(args) => Some(as_job(args.job())),
            _ => None,
        }
    }
}

/// The command of a job, which may be a subcommand: the job `edit-move` is the command `zvf edit move`.
pub(crate) fn command_of<'c>(of: &'c clap::Command, job: &str) -> Option<&'c clap::Command> {
    of.get_subcommands().find_map(|command| {
        let rest = job.strip_prefix(command.get_name())?;
        match rest.strip_prefix('-') {
            Some(inner) => command_of(command, inner),
            None => rest.is_empty().then_some(command),
        }
    })
}

fn as_job((job, print): (QueryJob, bool)) -> (Job, bool) {
    (job.into(), print)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zvf_jobs::Term;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn values_with_a_leading_minus_are_values() -> Result<(), clap::Error> {
        let cli = Cli::try_parse_from([
            "zvf",
            "query",
            "s",
            "--bbox",
            "-10,-10:5,5",
            "--objects",
            "-4,7",
        ])?;
        let Command::Query(query) = cli.command else {
            panic!("query")
        };
        let term = |text: &str| text.parse::<Term>().ok();
        let (query, _) = query.job();
        assert_eq!(query.terms.bbox, term("-10,-10:5,5"));
        assert_eq!(query.terms.objects, term("-4,7"));
        let cli = Cli::try_parse_from(["zvf", "get", "s", "-4", "7", "--json", "-o", "x"])?;
        assert!(cli.common.json);
        let Command::Get(get) = cli.command else {
            panic!("get")
        };
        assert_eq!(get.ids, ["-4", "7"]);
        let cli = Cli::try_parse_from(["zvf", "inspect", "s", "0/vertices", "-1.0.2"])?;
        let Command::Inspect(inspect) = cli.command else {
            panic!("inspect")
        };
        assert_eq!(
            (inspect.path.as_deref(), inspect.key.as_deref()),
            (Some("0/vertices"), Some("-1.0.2"))
        );
        let cli = Cli::try_parse_from([
            "zvf",
            "inspect",
            "s",
            "0/vertices",
            "1.0.2",
            "--json",
            "--rows",
            "3",
        ])?;
        assert!(cli.common.json);
        let cli = Cli::try_parse_from(["zvf", "inspect", "s", "--json"])?;
        assert!(cli.common.json);
        let cli = Cli::try_parse_from(["zvf", "inspect", "s", "p", "--json"])?;
        assert!(cli.common.json);
        Ok(())
    }

    #[test]
    fn options_stand_anywhere() -> Result<(), clap::Error> {
        let of = |line: &str| Cli::of(line.split(' ').map(OsString::from).collect());
        for line in [
            "zvf import a.swc b.swc u.zv --unit nanometer",
            "zvf import a.swc b.swc --unit nanometer u.zv",
            "zvf import a.swc --unit nanometer b.swc u.zv",
            "zvf import --unit nanometer a.swc b.swc u.zv",
        ] {
            let Command::Import(args) = of(line)?.command else {
                panic!("import")
            };
            let job = &args.of_job.job;
            assert_eq!(job.files, ["a.swc", "b.swc"].map(std::path::PathBuf::from));
            assert_eq!(
                (&*job.store, job.unit.as_deref()),
                ("u.zv", Some("nanometer"))
            );
        }
        for line in [
            "zvf import",
            "zvf import a.swc",
            "zvf import a.swc --unit um",
        ] {
            let error = of(line).err().map(|error| error.kind());
            assert_eq!(
                error,
                Some(clap::error::ErrorKind::MissingRequiredArgument),
                "{line}"
            );
        }
        for line in ["zvf edit s.zv delete -4 7", "zvf edit delete s.zv -4 7"] {
            let Command::Edit(args) = of(line)?.command else {
                panic!("edit")
            };
            assert_eq!(args.store, "s.zv");
            let edit::EditWhat::Delete(job) = &args.what else {
                panic!("delete")
            };
            let ids = ["-4", "7"].map(|id| id.parse::<Term>().unwrap());
            assert_eq!(job.objects.as_deref(), Some(&ids[..]));
        }
        Ok(())
    }

    #[test]
    fn every_command_has_examples() {
        for command in Cli::described().get_subcommands() {
            if command.get_name() == "help" {
                continue;
            }
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(help.contains("Examples:\n  zvf "), "{}", command.get_name());
        }
    }
}
