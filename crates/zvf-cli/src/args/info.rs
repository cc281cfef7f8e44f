//! `zvf info`, `zvf objects` and `zvf links`.

use clap::Args;

/// `zvf info`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zvf info brain.zarrvectors
  zvf info brain.zarrvectors --json | jq '.levels[].vertices'
  zvf info brain.zarrvectors --sizes
  zvf info https://example.org/brain.zarrvectors --count")]
pub(crate) struct InfoArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// Count vertices from the data instead of trusting the metadata
    #[arg(long)]
    pub(crate) count: bool,
    /// Files and bytes of each level, and codec and ratio of each array, which lists the whole store
    #[arg(long)]
    pub(crate) sizes: bool,
}

/// The text after the options in the help of `zvf objects`.
pub(crate) const OBJECTS: &str = "\
Conditions are on attributes of objects, object_id, count(), length(), start.x and end.x, and on their groups: group.name, group.number, group.NAME (an attribute). \
Sorted objects have to fit --memory-budget; with --limit N about 2 N of them.

Examples:
  zvf objects brain.zarrvectors
  zvf objects brain.zarrvectors --level 1 --limit 20
  zvf objects tracts.zarrvectors --where 'count() > 100' --sort=-vertices --limit 20
  zvf objects neurons.zarrvectors --sort cell_type,-vertices -o objects.csv";

/// What the help of `zvf links` says after its options.
pub(crate) const LINKS: &str = "\
The endpoints of a record have the order that the application gave them, each as chunk:row. Edges that follow from the geometry are
not stored and not listed; `zvf query` returns them.

Examples:
  zvf links brain.zarrvectors
  zvf links brain.zarrvectors --delta +1 --limit 20
  zvf links brain.zarrvectors --level 1 --delta -1 --json";
