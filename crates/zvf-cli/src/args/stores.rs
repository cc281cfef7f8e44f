//! `zvf split`, `zvf merge` and `zvf resample`: stores of parts of a store, one of several, one of other points.

use std::path::PathBuf;

use clap::Args;

use zvf_jobs::{IdOptions, SelectionOptions};

/// `zvf split`
#[derive(Debug, Args)]
#[command(after_help = "\
DIR gets a store for each part, or with --format a file of that format: NAME.zarrvectors, NAME.swc. NAME is that of the group, the value of the \
attribute, or a number; characters that some system does not allow become _, and equal names get -2, -3 and so on.

--by group: the objects of each group; one of several groups is in several parts. --by attribute NAME: by the values of an attribute of objects, or of \
vertices if the store has no objects: texts, whole numbers, truth values. --by count N: N parts of about as many vertices, each object in one of \
them. What is in no part is named in a warning. The other options select what is split.

Parts have whole objects if the store has objects, attributes, units, groups of their objects, headers, and links inside the part; level 0 alone. \
Each part is written completely or not at all, and existing parts are kept. After an interruption the same command continues; add \
--clear-leftovers if it stopped while it wrote a store.

Examples:
  zvf split tracts.zarrvectors bundles --by group
  zvf split tracts.zarrvectors bundles --by group --format trk
  zvf split neurons.zarrvectors by-type --by attribute cell_type --format swc
  zvf split points.zarrvectors quarters --by count 4
  zvf split synapses.zarrvectors sure --by attribute type --where 'confidence > 0.9'")]
pub(crate) struct SplitArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// The directory of the parts; it is created
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// What parts have in common: group, attribute NAME, or count N
    #[arg(long, num_args = 1..=2, required = true, value_names = ["group|attribute|count", "NAME|N"])]
    pub(crate) by: Vec<String>,
    /// Files of this format instead of stores, by its ending, e.g. swc, trk, csv
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Which objects or vertices are split
    #[command(flatten)]
    pub(crate) terms: SelectionOptions,
    /// Removes what an interrupted writer left of a part; a finished store is never touched
    #[arg(long)]
    pub(crate) clear_leftovers: bool,
}

/// `zvf merge`
#[derive(Debug, Args)]
#[command(after_help = "\
OUT gets level 0 of all stores, which have the same kind, the same axes, and the same frame if they state one. Positions are converted to the units of the first \
store; its chunks, headers and frame are those of OUT. Attributes are united by name: their type becomes one that holds all values, a store without one has \
NaN or no text; whole numbers of vertices that a store lacks are an error. Categories are united, groups are joined by name.

Objects keep their ids; an id that two stores have is an error, which --new-ids (from 0, store after store) and --id-offset (K times N for store K, from 0) \
avoid. OUT is there as a whole or not at all; memory is bounded by --memory-budget and the tables of objects.

Examples:
  zvf merge left.zarrvectors right.zarrvectors both.zarrvectors
  zvf merge subject-*.zarrvectors all.zarrvectors --id-offset 1000000
  zvf merge a.zarrvectors b.zarrvectors s3://bucket/ab.zarrvectors --new-ids --json | jq .vertices")]
pub(crate) struct MergeArgs {
    /// Paths or URLs of the stores, and of the new one at the end
    #[arg(value_name = "STORE", required = true, num_args = 3..)]
    pub(crate) stores: Vec<String>,
    /// Which ids objects get
    #[command(flatten)]
    pub(crate) ids: IdOptions,
    /// Removes what an interrupted writer left at OUT; a finished store is never touched
    #[arg(long)]
    pub(crate) clear_leftovers: bool,
}

/// `zvf simplify`
#[derive(Debug, Args)]
#[command(after_help = "\
DST gets the objects of level 0 of SRC with fewer vertices (algorithm of Ramer, Douglas and Peucker): each vertex that is left out is at most T from the segment between its kept neighbours. \
The ends of a line are kept; in skeletons the roots, branching points and tips. SRC has polylines, streamlines or skeletons. Distances are in the units of the axes and count every axis.

Kept vertices keep all their values. Ids, object attributes, groups, units, axes, chunk shape, headers and frame are copied. Object attributes that were computed from all vertices, such as \
length, are copied unchanged. Coarse levels are left out (`zvf pyramid` makes them). DST is there as a whole or not at all; memory is as for `zvf resample`.

Examples:
  zvf simplify tracts.zarrvectors small.zarrvectors --tolerance 0.1
  zvf simplify neurons.zarrvectors s3://bucket/small.zarrvectors --tolerance 50 --json | jq '.vertices / .vertices_before'")]
pub(crate) struct SimplifyArgs {
    /// Path or URL of the store
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    /// Path or URL of the new store
    #[arg(value_name = "DST")]
    pub(crate) target: String,
    /// How far a vertex that is left out may be from the new line, in the units of the axes
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) tolerance: f64,
    /// Removes what an interrupted writer left at DST; a finished store is never touched
    #[arg(long)]
    pub(crate) clear_leftovers: bool,
}

/// `zvf resample`
#[derive(Debug, Args)]
#[command(after_help = "\
DST gets the objects of level 0 of SRC with other points along the same lines: --points N at equal arc length, or --step S from the first point on; then the \
last segment may be shorter. Arc length is in the units of the axes and counts every axis. End points are kept exactly. SRC has polylines, streamlines or skeletons. Skeletons \
take --step only: roots, branching points and tips are kept, and each path between two of them is resampled, starting at the end nearer to the root.

Floating-point vertex attributes are interpolated linearly. Whole numbers, truth values, dates and texts are taken from the nearest vertex on the line, in a tie from the first. \
Ids, groups, units, axes, chunk shape, headers and frame are copied from SRC, and so are object attributes, including those computed from the old points (`zvf measure DST --as length` computes them again). Objects of one vertex stay as they are. Left out: coarse levels (`zvf pyramid` makes them), node_id of skeletons.

DST is there as a whole or not at all. Memory is bounded by --memory-budget, the tables of objects, and the largest object.

Examples:
  zvf resample tracts.zarrvectors tracts20.zarrvectors --points 20
  zvf resample tracts.zarrvectors tracts1mm.zarrvectors --step 1
  zvf resample neurons.zarrvectors s3://bucket/even.zarrvectors --step 0.5 --json | jq '.length / .length_before'")]
pub(crate) struct ResampleArgs {
    /// Path or URL of the store
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    /// Path or URL of the new store
    #[arg(value_name = "DST")]
    pub(crate) target: String,
    /// Points of each line, 2 or more
    #[arg(
        long,
        value_name = "N",
        required_unless_present = "step",
        conflicts_with = "step"
    )]
    pub(crate) points: Option<u32>,
    /// Arc length from each point to the next, in the units of the axes
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) step: Option<f64>,
    /// Removes what an interrupted writer left at DST; a finished store is never touched
    #[arg(long)]
    pub(crate) clear_leftovers: bool,
}
