//! `zvf edit`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use zvf_jobs::{ColumnOptions, FillValue, PlaceOptions, RegionOptions, TableOptions};

/// `zvf edit`
#[derive(Debug, Args)]
#[command(after_help = "\
An edit is atomic: readers see all of it or nothing, also after an interruption. Ids of objects never change. Coarse levels are not
changed; the root lists the chunks that they are out of date for as `zvf_stale`. If chunks are divided by an attribute
(`zvf import --chunk-by`), tables of new vertices need its column; setting the attribute moves vertices to other chunks.

Points that belong to no object are deleted by --where, --bbox and regions (--sphere, --near, --polygon, --mesh, --mask, --region, see `zvf query --help`), which
combine with AND; --dry-run counts them. In stores with objects, --select objects deletes every object with such a vertex, and
--inside, --starting or --ending every object with this relation to the region.

FILE is a table as `zvf query -o FILE` writes it, or another that `zvf import` reads (.csv, .tsv, .txt, .csv.gz, .ndjson, .arrow, .feather,
.parquet, .npz): one column an axis (or lists `position`), `object_id`, one column an attribute (`NAME_0`, `NAME_1`, … for several channels, or lists NAME).

The vertex of a row is found in the first of these ways that the table allows:
  1. --key id            by attributes whose values identify a vertex (--key sample,cell: several together)
  2. chunk, row          as `zvf query --columns chunk,row,..` writes them; or `object_id` and `vertex` (the place in the object, from 0);
                         or `vertex` alone (the place in the answer of `zvf query STORE`)
  3. x, y, z             positions, compared as the store has them, and `object_id` where the table has it
  4. --by-order          all vertices, in the order of `zvf query STORE`
Columns that contradict each other are refused, and rows that are not in the store, unless --ignore-missing leaves them out. Vertices
without a row keep their value; of a new attribute they have --fill VALUE, else none.

Objects are addressed by `object_id`, by --key, or --by-order (that of `zvf objects`); an id that the store does not have is an error,
unless --new makes the object. Links are addressed by their ends: `vertices_0`, `vertices_1`, … (lists `vertices`: places in the answer of
`zvf query STORE`, as its links.arrow has them), `chunks_0`, … and `rows_0`, … (as `zvf links` writes them), or `object_id` and `vertex_0`, `vertex_1`, …, in the order in which queries return them (in
any order where that says which link is meant); ends that come again mean the next link between them; or by --key, or --by-order (that of
`zvf links STORE`).

Examples:
  zvf edit brain.zarrvectors delete 7 42
  zvf edit brain.zarrvectors delete 0-9,12
  zvf edit points.zarrvectors delete --where 'confidence < 0.2' --bbox 0,0,0:100,100,50
  zvf edit tracts.zarrvectors delete --near z=0,5 --inside
  zvf edit tracts.zarrvectors append continued.csv          # new files and objects: zvf append
  zvf edit brain.zarrvectors move --from moved.ndjson
  zvf edit points.zarrvectors set-attribute cell --type int64 --from cells.parquet --key transcript_id
  zvf edit brain.zarrvectors set-attribute label --from labels.csv
  zvf edit points.zarrvectors set-attribute land --fill unknown      # for all later appends
  zvf edit brain.zarrvectors set-attribute volume --object --type float32 --from volumes.csv
  zvf edit brain.zarrvectors set-attribute weight --link --from weights.csv
  zvf edit plants.zarrvectors set-attribute height --from field.csv --delimiter ';' --decimal , --rename Höhe=height
  zvf edit tracts.zarrvectors group add AF_left 3-9 17
  zvf edit tracts.zarrvectors group rename 0 CST_right
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
    /// Deletes objects with their vertices and links (`zvf vacuum` drops their rows later), or points that belong to no object
    Delete {
        /// Ids of objects, ranges such as 0-9, lists such as 0-9,12, or @FILE with those; one that begins with the range -9--5 follows --
        #[arg(
            value_name = "ID",
            required_unless_present_any = ["filter", "bbox", "sphere", "near", "polygon", "mesh", "mask", "region", "passing"],
            conflicts_with_all = [
                "filter", "bbox", "sphere", "near", "polygon", "plane", "mesh", "mask", "region", "passing", "touching", "inside", "starting", "ending"
            ],
            allow_negative_numbers = true
        )]
        ids: Vec<String>,
        /// Ids that the store does not have are left out instead of being an error: 0-1000000 then means the objects with these ids
        #[arg(long, requires = "ids")]
        ignore_missing: bool,
        /// Other selections of the vertices to delete
        #[command(flatten)]
        terms: DeleteArgs,
    },
    /// Adds vertices: new objects, or more vertices of existing points, polylines and streamlines
    Append {
        /// A table of vertices
        file: PathBuf,
        /// A table of links: one column an end (a row of the table of vertices, from 0), then one a link attribute
        #[arg(long, value_name = "FILE")]
        links: Option<PathBuf>,
        #[command(flatten)]
        columns: ColumnOptions,
        #[command(flatten)]
        place: PlaceOptions,
        /// What new vertices have that FILE gives no value of the attribute NAME; repeatable
        #[arg(long, value_name = "NAME=VALUE", value_parser = zvf_jobs::parse_pair::<FillValue>, allow_hyphen_values = true)]
        fill: Vec<(String, FillValue)>,
    },
    /// Stores which object each fragment belongs to, beside the fragments, so that a box reads no manifests; new stores have it
    AddOwners,
    /// Moves vertices to new positions
    Move {
        /// A table of positions
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
        /// How its columns are read
        #[command(flatten)]
        columns: TableOptions,
        /// How its rows find their vertices
        #[command(flatten)]
        matching: MatchArgs,
    },
    /// Replaces values of an attribute, or adds one
    SetAttribute {
        /// The attribute
        name: String,
        /// A table of values, or values alone: .npy, track scalars (.tsf), a text of numbers without a header line
        #[arg(long, value_name = "FILE", required_unless_present = "fill")]
        from: Option<PathBuf>,
        /// How its columns are read
        #[command(flatten)]
        columns: TableOptions,
        /// How its rows find their vertices, objects or links
        #[command(flatten)]
        matching: MatchArgs,
        /// An attribute of objects, by `object_id`, not of vertices
        #[arg(long)]
        object: bool,
        /// An attribute of links, by their ends, not of vertices
        #[arg(long, conflicts_with = "object")]
        link: bool,
        /// Adds the attribute, with this type: float32, int64, …, or text
        #[arg(long = "type", value_name = "TYPE")]
        type_: Option<String>,
        /// The value for rows without one in the table, recorded for vertices and links that are appended later without one
        #[arg(
            long,
            value_name = "VALUE",
            conflicts_with = "object",
            allow_hyphen_values = true
        )]
        fill: Option<String>,
        /// With --object: makes objects that the store does not have, without vertices
        #[arg(long = "new", requires = "object")]
        new_objects: bool,
    },
    /// Changes groups of objects
    #[command(subcommand)]
    Group(GroupWhat),
    /// Finishes an interrupted edit, or reverts it if it was not committed; its writer must be dead
    Resume,
}

/// How the rows of a table find theirs in a store.
#[derive(Debug, Args)]
pub(crate) struct MatchArgs {
    /// Attributes that no two vertices (objects, links) have the same values of: columns of the same names in the table are compared
    #[arg(
        long,
        value_name = "COLUMN[,COLUMN..]",
        value_delimiter = ',',
        conflicts_with = "by_order"
    )]
    pub(crate) key: Vec<String>,
    /// One row for each vertex (object, link), in the order of `zvf query STORE` (`zvf objects`, `zvf links`)
    #[arg(long)]
    pub(crate) by_order: bool,
    /// Of vertices: one row for each, object after object in the order of `zvf objects`, and along each, as files beside a tractogram have them
    #[arg(long, conflicts_with_all = ["key", "by_order"])]
    pub(crate) by_object_order: bool,
    /// Leaves out rows that are not in the store
    #[arg(long)]
    pub(crate) ignore_missing: bool,
}

/// The edits of groups. GROUP is a name or a number; name:WORD or number:N if the name of a group is the number of another one.
#[derive(Debug, Subcommand)]
pub(crate) enum GroupWhat {
    /// Adds objects to a group, which is made if it is not there
    Add {
        /// The name or number of the group
        #[arg(value_name = "GROUP")]
        group: String,
        /// Ids of objects, ranges such as 3-9, @FILE, or names of objects; none makes an empty group
        #[arg(value_name = "ID", allow_hyphen_values = true)]
        members: Vec<String>,
    },
    /// Takes objects out of a group
    Remove {
        /// The name or number of the group
        #[arg(value_name = "GROUP")]
        group: String,
        /// Ids of objects, ranges such as 3-9, @FILE, or names of objects
        #[arg(value_name = "ID", required = true, allow_hyphen_values = true)]
        members: Vec<String>,
    },
    /// Gives a group another name
    Rename {
        /// The name or number of the group
        #[arg(value_name = "GROUP")]
        group: String,
        /// Its new name
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Deletes a group, not its objects; later groups get the number before theirs
    Delete {
        /// The name or number of the group
        #[arg(value_name = "GROUP")]
        group: String,
    },
}

/// The selection of `zvf edit STORE delete` without ids.
#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// Points that fulfil this condition, as in `zvf query --where`
    #[arg(long = "where", value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) filter: Option<String>,
    /// Points inside this box, both ends included: 0,0,0:9,9,9, or ranges of some axes such as x=0:10,y=5:
    #[arg(long, value_name = "LO:HI|AXIS=LO:HI,..", allow_hyphen_values = true)]
    pub(crate) bbox: Option<String>,
    /// Other parts of space; --touching, --inside, --starting and --ending delete whole objects
    #[command(flatten)]
    pub(crate) region: RegionOptions,
    /// Stores with objects: whole objects with at least one vertex that is meant
    #[arg(long, value_enum, value_name = "objects")]
    pub(crate) select: Option<DeleteSelect>,
    /// Prints what would be deleted, and changes nothing
    #[arg(long, conflicts_with = "ids")]
    pub(crate) dry_run: bool,
}

/// The unit of deletion for a selected vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeleteSelect {
    /// Its whole object
    Objects,
}

/// The words of the edits.
const VERBS: [&str; 5] = ["append", "delete", "move", "set-attribute", "resume"];

/// `zvf edit append STORE FILE` as `zvf edit STORE append FILE`.
pub(super) fn store_first(mut line: Vec<OsString>) -> Vec<OsString> {
    let is_verb = |word: &OsString| VERBS.iter().any(|verb| word == verb);
    let swapped = match &*line {
        [_, edit, verb, store, ..] => {
            edit == "edit"
                && is_verb(verb)
                && !is_verb(store)
                && !store.to_string_lossy().starts_with('-')
        }
        _ => false,
    };
    if swapped {
        line.swap(2, 3);
    }
    line
}
