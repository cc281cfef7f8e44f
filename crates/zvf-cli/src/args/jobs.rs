//! Arguments of the commands that run a job of `zvf-jobs`, and of `zvf run` and `zvf schema`.

use std::path::PathBuf;

use clap::Args;
use zvf_jobs::Job;

/// The arguments of a command that runs one job.
#[derive(Debug, Args)]
pub(crate) struct JobArgs<J: Args> {
    /// The options.
    #[command(flatten)]
    pub(crate) job: J,
    /// Prints the job as JSON for `zvf run`, and runs nothing. Common options are no part of it: give them to `zvf run`
    #[arg(long)]
    pub(crate) print_job: bool,
}

impl<J: Args + Clone + Into<Job>> JobArgs<J> {
    /// The job, and whether it is printed only.
    pub(crate) fn job(&self) -> (Job, bool) {
        (self.job.clone().into(), self.print_job)
    }
}

/// `zvf run`
#[derive(Debug, Args)]
#[command(after_help = "\
A job is an object with the name of the command as `job`, the stores, and the options by the names of `zvf schema`; --print-job of a \
command prints the job that it is. All jobs of a list are checked before the first one runs. \
They run one after the other; a failure ends the list, findings of a validation do not. Relative paths are relative to the working directory. A \
file may name any store and file, as a command line may: run only files that you trust. Exit codes are those of the commands; 1, too, if a \
validation found errors. With --json the report is printed, or the list of reports.

Examples:
  zvf run coarser.json
  zvf pyramid brain.zarrvectors --factors 2,2 --print-job | zvf run -
  zvf run nightly.json --json --memory-budget 1GiB")]
pub(crate) struct RunArgs {
    /// A file with a job, or a list of them, in JSON; `-`: stdin
    #[arg(value_name = "JOB.json")]
    pub(crate) file: PathBuf,
}

/// `zvf schema`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zvf schema > jobs.schema.json
  zvf schema pyramid | jq .properties")]
pub(crate) struct SchemaArgs {
    /// The job; without it, any job or list of them
    #[arg(value_name = "JOB", value_parser = Job::NAMES)]
    pub(crate) job: Option<String>,
}

/// The text after the options in the help of `zvf vacuum`.
pub(crate) const VACUUM: &str = "\
Removes the rows of deleted objects from the index, the object attributes and the groups, and files that no reader uses:
cells that are in no presence list, folders of edits, and temporary files of writers that have ended. An edit whose writer has ended is
completed first; if another writer is at work, the exit code is 75. No writer may start meanwhile: files that it has written but not yet listed look unused.

Examples:
  zvf vacuum brain.zarrvectors
  zvf vacuum s3://bucket/brain.zarrvectors --json | jq .leftovers";

/// The text after the options in the help of `zvf create`.
pub(crate) const CREATE: &str = "\
The store has one level, no vertex and no object. Kind, axes, bounds, chunks and types cannot be changed later.
NAME:TYPE is an attribute: int8 to int64, uint8 to uint64, float16 to float64, bool, or category (texts with few different values; for objects: text).
NAME:TYPE:3 has three channels, NAME:TYPE:r,g,b has three with names.

Examples:
  zvf create spots.zarrvectors --kind point_cloud --chunk-shape 100,100,100 --bounds 0,0,0:1000,1000,500
  zvf create tracts.zarrvectors --kind streamline --chunk-shape 32,32,32 --bounds -90,-126,-72:90,90,108 --unit millimeter \\
      --attribute fa:float32 --attribute color:uint8:r,g,b --object-attribute bundle:text
  zvf create plane.zarrvectors --kind graph --axes y,x --chunk-shape 64,64 --bounds 0,0:512,512 --dtype float64 --codec none";

/// The text after the options in the help of `zvf copy`.
pub(crate) const COPY: &str = "\
Every file of the store is copied byte for byte between folders and buckets, or from a web server that lists files; several \
files at once (--concurrency). The copy gets its zarr.json last, so that no reader opens an incomplete one. After an \
interruption or a failure of the storage the same command continues; complete files are not copied again. Lengths are compared; \
--verify also reads all bytes back. A source that changes meanwhile is an error (exit code 3; 75 if a change is running at the \
start). `zvf migrate` and `zvf rechunk` make copies in another version or with other chunks.

Examples:
  zvf copy brain.zarrvectors s3://bucket/brain.zarrvectors
  zvf copy s3://bucket/brain.zarrvectors gs://other/brain.zarrvectors --concurrency 64
  zvf copy s3://bucket/brain.zarrvectors brain.zarrvectors --anonymous --verify
  zvf copy brain.zarrvectors /backup/brain.zarrvectors --json | jq .bytes";

/// The text after the options in the help of `zvf resample`.
pub(crate) const RESAMPLE: &str = "\
DST gets the objects of level 0 of SRC with other points along the same lines: --points N at equal arc length, or --step S from the first point on; then the \
last segment may be shorter. Arc length is in the units of the axes and counts every axis. End points are kept exactly. SRC has polylines, streamlines or skeletons. Skeletons \
take --step only: roots, branching points and tips are kept, and each path between two of them is resampled, starting at the end nearer to the root.

Floating-point vertex attributes are interpolated linearly. Whole numbers, truth values, dates and texts are taken from the nearest vertex on the line, in a tie from the first. \
Ids, groups, units, axes, chunk shape, headers and frame are copied from SRC, and so are object attributes, including those computed from the old points (`zvf measure DST --as length` computes them again). Objects of one vertex stay as they are. Left out: coarse levels (`zvf pyramid` makes them), node_id of skeletons.

DST is written completely or not at all. Memory is bounded by --memory-budget, the tables of objects, and the largest object.

Examples:
  zvf resample tracts.zarrvectors tracts20.zarrvectors --points 20
  zvf resample tracts.zarrvectors tracts1mm.zarrvectors --step 1
  zvf resample neurons.zarrvectors s3://bucket/even.zarrvectors --step 0.5 --json | jq '.length / .length_before'";

/// The text after the options in the help of `zvf simplify`.
pub(crate) const SIMPLIFY: &str = "\
DST gets the objects of level 0 of SRC with fewer vertices (algorithm of Ramer, Douglas and Peucker): each vertex that is left out is at most T from the segment between its kept neighbours. \
The ends of a line are kept; in skeletons the roots, branching points and tips. SRC has polylines, streamlines or skeletons. Distances are in the units of the axes and count every axis.

Kept vertices keep all their values. Ids, object attributes, groups, units, axes, chunk shape, headers and frame are copied. Object attributes that were computed from all vertices, such as \
length, are copied unchanged. Coarse levels are left out (`zvf pyramid` makes them). DST is there as a whole or not at all; memory is as for `zvf resample`.

Examples:
  zvf simplify tracts.zarrvectors small.zarrvectors --tolerance 0.1
  zvf simplify neurons.zarrvectors s3://bucket/small.zarrvectors --tolerance 50 --json | jq '.vertices / .vertices_before'";

/// The text after the options in the help of `zvf doctor`.
pub(crate) const DOCTOR: &str = "\
A finding states a value measured on this store, the value after a change, and the command for the change; replace NEW in it by the address of the copy. doctor itself changes nothing.

  codec         bytes of level 0: up to 16 cells of each array are encoded again by the codec that suits it; reported from 5 % on
  shards        files: level 0 has 1,000 chunks or more, each with files of its own
  chunk-shape   vertices of a chunk: the median of up to 256 is below 1,000; longer chunks with 5,000 or more on average are suggested
  owners        bytes of the object index that every box query reads because the owner column is missing or out of date
  stale-levels  chunks that were edited since the coarse levels were made
  deleted       deleted objects that the object index still has a row of
  leftovers     files that no reader uses; no other program may write the store meanwhile

`zvf validate` finds errors in a store, `zvf doctor` what makes it slow or large.

Examples:
  zvf doctor brain.zarrvectors
  zvf doctor s3://bucket/brain.zarrvectors --json | jq -r '.advice[].command'";

/// The text after the options in the help of `zvf migrate`.
pub(crate) const MIGRATE: &str = "\
Everything is copied: all levels, objects with their ids and order, attributes, links in their direction, groups, axes, headers, \
and unknown members. Chunks keep their rows. Known defects of old releases are repaired and counted; what cannot be copied is \
listed, and with --strict is an error. Then both stores are read and compared (not with --no-verify). DST is written completely \
or not at all. With --journal an interrupted copy is resumed, if SRC has not changed.

In 0.8.1 the id of an object is the number of its row: ids below 0 or above 67108863 are an error, and unused ids become objects \
without vertices. Shards cannot have chunks with coordinates below 0.

Examples:
  zvf migrate old.zarrvectors new.zarrvectors --to 0.9.2
  zvf migrate s3://bucket/old.zarrvectors new.zarrvectors --to 0.9.2 --strict
  zvf migrate new.zarrvectors for-old-tools.zarrvectors --to 0.8.1
  zvf migrate old.zarrvectors s3://bucket/new.zarrvectors --to 0.9.2 --journal copy.journal
  zvf migrate old.zarrvectors new.zarrvectors --to 0.9.2 --shard-shape 8,8,8 --codec zstd --json | jq .losses";

/// The text after the options in the help of `zvf rechunk`.
pub(crate) const RECHUNK: &str = "\
The shapes of chunks and bins, the shards and the compression stay as they are unless an option changes them. The chunks of a \
coarser level stay the same multiple of those of level 0. Objects keep their ids and the order of their vertices, and links keep \
their vertices; the order of rows and the fragments change. Both stores are read and compared (not with --no-verify). SRC can be \
of any version; DST is of 0.9.2 and is written completely or not at all. With --journal an interrupted copy is resumed.

Examples:
  zvf rechunk tracts.zarrvectors coarse.zarrvectors --chunk-shape 100,100,100
  zvf rechunk points.zarrvectors binned.zarrvectors --bin-shape 12.5,12.5,12.5
  zvf rechunk brain.zarrvectors s3://bucket/brain.zarrvectors --shard-shape 8,8,8 --codec zstd";

/// The text after the options in the help of `zvf pyramid`.
pub(crate) const PYRAMID: &str = "\
Without --factors the data determine the levels: each is 4 to 8 times smaller than the finer one, and the last has about 10000
vertices (--levels-until states another number). Of points and lines, every nth along a space-filling curve is kept, so a level is
as dense as level 0 everywhere. Other kinds are simplified by the method below; where that would leave few vertices of each object,
whole objects are left out, evenly by place and length. Chunks grow with levels, so that they hold about as many vertices as those
of level 0.

With --factors the bins of a level are larger than those of the finer one by the factor: --factors 2,2,4 makes levels 1, 2 and 3
with bins of 2, 4 and 16 times the size of level 0's. Those of level 0 are as long as the median step between neighbouring vertices,
or hold one or two points each; --bin-shape states another size. All levels appear at once when everything is written. An
interrupted run leaves the store unchanged; --clear-leftovers removes its files, or completes levels that are committed.

Existing levels change only with --add, --replace, --refresh or --remove, all at once.

Methods:
  density    keeps vertices of level 0, with attributes, objects, groups and links. Points: one per bin. Lines: one for each pair
             of bins with their ends. Polylines and streamlines: simplified, with their ends. Graphs and skeletons:
             connected vertices of a bin become one, edges stay. Meshes: vertices of a bin become one.
             The error bound is the largest distance by which anything moved.
  reference  as the Python package does: the vertices of a bin become one at their mean; vertex attributes, groups and
             links are lost

A level that is hardly smaller than the finer one, or more than 32 times smaller, is a warning.

Examples:
  zvf pyramid cells.zarrvectors
  zvf pyramid cells.zarrvectors --factors 2,2,2
  zvf pyramid tracts.zarrvectors --factors 2 --sparsity 4 --levels-until 100000
  zvf pyramid brain.zarrvectors --factors 2,2 --method reference --seed 7 --cross-links explicit --cross-depth 2
  zvf pyramid cells.zarrvectors --add --factors 4
  zvf edit cells.zarrvectors delete 7 && zvf pyramid cells.zarrvectors --refresh
  zvf pyramid cells.zarrvectors --replace --factors 3,3 --bin-shape 2,2,2
  zvf pyramid cells.zarrvectors --remove";

#[cfg(test)]
mod tests {
    use clap::Arg;
    use serde_json::Value;

    use super::Job;
    use crate::args::{Cli, command_of};

    /// The default of an argument, as text.
    fn default(argument: &Arg) -> String {
        match argument.get_default_values() {
            [] if !argument.get_action().takes_values() => "false".to_owned(),
            values => values.iter().map(|one| one.to_string_lossy()).collect(),
        }
    }

    #[test]
    fn every_option_of_a_job_is_a_flag_with_its_default_and_documentation() {
        let program = Cli::described();
        for name in Job::NAMES {
            let command = command_of(&program, name).unwrap();
            let outer = program.find_subcommand("edit").unwrap();
            let outer = match name.starts_with("edit-") {
                true => outer.get_arguments().collect(),
                false => Vec::new(),
            };
            let schema = zvf_jobs::schema(Some(name)).unwrap();
            let members = schema["properties"].as_object().unwrap();
            for (member, of) in members.iter().filter(|(member, _)| *member != "job") {
                let id = match (name, member.as_str()) {
                    // `version` is the flag of every command.
                    ("import" | "create", "version") => "target",
                    (_, "version") => "to",
                    // Options may be between the files and the store.
                    ("import", "files" | "store") | ("merge", "sources" | "target") => "paths",
                    (_, member) => member,
                };
                let mut all = command.get_arguments().chain(outer.iter().copied());
                let found = all.find(|one| one.get_id() == id);
                let argument = found.unwrap_or_else(|| panic!("{name}: no flag for {member}"));
                let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                let help = argument.get_help().map(|help| words(&help.to_string()));
                let documented = of["description"].as_str().map(words);
                let help = match (name, id) {
                    // A program has a stdout, too.
                    ("plot", "output") => help.map(|help| help.replace(", or - for stdout", "")),
                    _ => help,
                };
                assert!(id == "paths" || help == documented, "{name}: {member}");
                let expected = match of.get("default") {
                    None => {
                        let required = argument.is_positional() || argument.is_required_set();
                        // A picture may be shown instead of written.
                        let shown = (name, id) == ("plot", "output");
                        assert!(required || shown, "{name}: {member}");
                        continue;
                    }
                    Some(Value::Null) => String::new(),
                    Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
                    Some(Value::Object(none)) if none.is_empty() => String::new(),
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                };
                assert_eq!(default(argument), expected, "{name}: {member}");
            }
            // Those that clap adds to every command.
            let added = |one: &Arg| {
                one.is_global_set() || ["help", "version"].contains(&one.get_id().as_str())
            };
            let own = |one: &&Arg| !added(one);
            let flags = command.get_arguments().filter(own);
            let flags = flags.map(|one| one.get_id().as_str());
            let more: Vec<&str> = flags
                .filter(|id| !members.contains_key(*id))
                .filter(|id| !["to", "target", "paths", "print_job"].contains(id))
                .collect();
            let about_the_report = ["fail_on", "explain", "format", "output", "list_checks"];
            let expected: &[&str] = match name {
                "validate" => &about_the_report,
                "import" => &["status", "discard_parts"],
                "repair" => &["format"],
                // The same as FILE, and views.
                "export" => &["output", "format", "shards"],
                "query" => &["explain"],
                "plot" => &["show"],
                _ => &[],
            };
            assert_eq!(more, expected, "{name}");
        }
    }
}
