//! `zvf split` and `zvf merge`: stores of parts of a store, and one of several.

use clap::Args;
use zvf_jobs::{Job, MergeJob};

use super::JobArgs;

/// What the help of `zvf split` says after its options.
pub(crate) const SPLIT: &str = "\
DIR gets a store for each part, or with --format a file of that format: NAME.zarrvectors, NAME.swc. NAME is that of the group, the value of the \
attribute or region, or a number; characters that some system does not allow become _, and equal names get -2, -3 and so on.

--by group: the objects of each group; one of several groups is in several parts. --by attribute NAME: by the values of an attribute of objects, or of \
vertices if the store has no objects: texts, whole numbers, truth values. --by count N: N parts of about as many vertices, each object in one of \
them. A warning names what is in no part. --by region: the vertices in each --named region, or whole objects with a vertex in it; --inside, \
--starting and --ending are as in `zvf query`. Parts may overlap, and empty ones are not made; what is in no region is in no part. The other \
options select what is split.

Parts have whole objects if the store has objects, attributes, units, groups of their objects, headers, and links inside the part; level 0 alone. \
Each part is written completely or not at all, and existing parts are kept. After an interruption the same command continues; add \
--clear-leftovers if it stopped while it wrote a store.

Examples:
  zvf split tracts.zarrvectors bundles --by group
  zvf split tracts.zarrvectors bundles --by group --format trk
  zvf split neurons.zarrvectors by-type --by attribute cell_type --format swc
  zvf split points.zarrvectors quarters --by count 4
  zvf split tracts.zarrvectors sides --by region --named left='box(x=:0)' --named right='box(x=0:)' --inside
  zvf split points.zarrvectors areas --by region --named cortex='mask(@aparc.nii.gz, 1022)' --named core='sphere(1,2,3,4)' --format csv
  zvf split synapses.zarrvectors sure --by attribute type --where 'confidence > 0.9'";

/// `zvf merge`
#[derive(Debug, Args)]
#[command(after_help = "\
OUT gets level 0 of all stores, which have the same kind, the same axes, and the same frame if they state one. Positions are converted to the units of the first \
store; its chunks, headers and frame are those of OUT. Attributes of the same name become one, of a type that holds all \
values. Vertices of a store without the attribute get NaN or no text; if it has whole numbers, this is an error. Categories are united, and groups of \
the same name are joined.

Objects keep their ids; an id that two stores have is an error, which --new-ids (from 0, store after store) and --id-offset (K times N for store K, from 0) \
avoid. OUT is written completely or not at all; memory is bounded by --memory-budget and the tables of objects.

Examples:
  zvf merge left.zarrvectors right.zarrvectors both.zarrvectors
  zvf merge subject-*.zarrvectors all.zarrvectors --id-offset 1000000
  zvf merge a.zarrvectors b.zarrvectors s3://bucket/ab.zarrvectors --new-ids --json | jq .vertices")]
pub(crate) struct MergeArgs {
    /// Paths or URLs of the stores, and of the new one at the end
    #[arg(value_name = "STORE", required = true, num_args = 3..)]
    paths: Vec<String>,
    /// How they are merged.
    #[command(flatten)]
    of_job: JobArgs<MergeJob>,
}

impl MergeArgs {
    /// The job, and whether it is printed only.
    pub(crate) fn job(&self) -> (Job, bool) {
        let mut job = self.of_job.job.clone();
        if let Some((target, sources)) = self.paths.split_last() {
            (job.target, job.sources) = (target.clone(), sources.to_vec());
        }
        (job.into(), self.of_job.print_job)
    }
}
