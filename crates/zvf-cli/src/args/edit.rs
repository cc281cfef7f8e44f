//! `zvf edit` and `zvf vacuum`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `zvf edit`
#[derive(Debug, Args)]
#[command(after_help = "\
Every edit is made at once: readers see all of it or nothing, whatever is interrupted. Ids of objects never change. Coarse levels
stay as they are; the chunks they are out of date for are listed in the root's `zvf_stale`. Where chunks are cut by an attribute
(`zvf import --chunk-by`), a table of new vertices has its column, too; setting it brings vertices to other chunks.

FILE is a table as `zvf query -o FILE` writes it, by its ending .csv, .tsv, .ndjson or .arrow: one column an axis (or lists
`position`), `object_id`, one column an attribute (`NAME_0`, `NAME_1`, … for several channels, or lists NAME).

Vertices are addressed by `object_id` and `vertex` (their place in the object, from 0), by `vertex` alone (their place in
the answer of `zvf query STORE`), or without both columns, all of them in that order. Links are addressed by their ends:
`vertices_0`, `vertices_1`, … (lists `vertices`: places in the answer of `zvf query STORE`, as its links.arrow has them), or
`object_id` and `vertex_0`, `vertex_1`, …; ends that come again mean the next link between them; without these columns, all
links in the order of `zvf links STORE`.

Examples:
  zvf edit brain.zarrvectors delete 7 42
  zvf edit brain.zarrvectors append new.csv
  zvf edit brain.zarrvectors append other/vertices.arrow --links other/links.arrow
  zvf edit brain.zarrvectors move --from moved.ndjson
  zvf edit brain.zarrvectors set-attribute label --from labels.csv
  zvf edit brain.zarrvectors set-attribute volume --object --type float32 --from volumes.csv
  zvf edit brain.zarrvectors set-attribute weight --link --from weights.csv
  zvf edit brain.zarrvectors resume")]
pub(crate) struct EditArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// What to do
    #[command(subcommand)]
    pub(crate) what: EditWhat,
}

/// The edits.
#[derive(Debug, Subcommand)]
pub(crate) enum EditWhat {
    /// Deletes objects with their vertices and links; `zvf vacuum` drops their rows later
    Delete {
        /// Ids of objects
        #[arg(value_name = "ID", required = true, allow_negative_numbers = true)]
        ids: Vec<i64>,
    },
    /// Adds vertices: new objects, or more of points, polylines and streamlines that are there
    Append {
        /// A table of vertices
        file: PathBuf,
        /// A table of links: one column an end (a row of the table of vertices, from 0), then one a link attribute
        #[arg(long, value_name = "FILE")]
        links: Option<PathBuf>,
    },
    /// Moves vertices to new positions
    Move {
        /// A table of positions
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
    },
    /// Replaces values of an attribute, or adds one
    SetAttribute {
        /// The attribute
        name: String,
        /// A table of values
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
        /// An attribute of objects, by `object_id`, not of vertices
        #[arg(long)]
        object: bool,
        /// An attribute of links, by their ends, not of vertices
        #[arg(long, conflicts_with = "object")]
        link: bool,
        /// Adds the attribute, with this type: float32, int64, …, or text
        #[arg(long = "type", value_name = "TYPE")]
        type_: Option<String>,
    },
    /// Finishes an edit that was interrupted, or takes it back where it did not count yet; its writer must be dead
    Resume,
}

/// `zvf vacuum`
#[derive(Debug, Args)]
#[command(after_help = "\
Drops the rows of deleted objects from the index, the object attributes and the groups, and removes what no reader asks
for: cells beyond presence lists, folders of edits and temporary files of writers that are gone. An edit that was interrupted
is finished first. Nobody may write meanwhile: what another writer has put, but not listed yet, looks like a leftover.

Examples:
  zvf vacuum brain.zarrvectors
  zvf vacuum s3://bucket/brain.zarrvectors --json | jq .leftovers")]
pub(crate) struct VacuumArgs {
    /// Path or URL of the store
    pub(crate) store: String,
}
