//! `zvf group`.

use std::path::PathBuf;

use clap::Args;

/// `zvf group`
#[derive(Debug, Args)]
#[command(after_help = "\
--add puts objects into the group NAME, as `zvf edit STORE group add NAME ID..`.

--ends makes groups NAME/A-B of lines, polylines or streamlines by the labels A <= B of a volume at their first and last vertex, in one edit. VOLUME is everything that
`zvf sample` reads, and is placed the same way: NIfTI and MGH by their header, others by --affine or the image itself; an end has the label of the element that contains it.
Label 0 and everything outside of the volume is background: lines with such an end are in none of these groups, and are counted. Existing groups NAME/.. are an error, unless
--replace deletes them first.

--matrix writes a table with a row for each pair of labels: label_a, label_b, count (of lines), mean_length (in units of the axes), and for each --mean the column mean_NAME: the mean over the
lines of the means of their vertices.

The vertices are read once, the part of the volume around the ends once for each 131,072 lines.

Examples:
  zvf group tracts.zarrvectors AF_left --add 3-9 17
  zvf group tracts.zarrvectors aparc --ends aparc.nii.gz --matrix connectome.csv --mean fa
  zvf group tracts.zarrvectors lobes --ends lobes.tet --affine 2,0,0,-90,0,2,0,-126,0,0,2,-72 --replace --json
  zvf query tracts.zarrvectors --groups aparc/1022-2022 -o precentral.trk")]
pub(crate) struct GroupArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// The name of the group, or what the names of groups begin with
    pub(crate) name: String,
    /// Ids of objects, ranges such as 3-9, @FILE, or names of objects
    #[arg(long, value_name = "ID", num_args = 1.., required_unless_present = "ends", allow_negative_numbers = true,
        conflicts_with_all = ["ends", "affine", "mean", "matrix", "replace"])]
    pub(crate) add: Vec<String>,
    /// File, folder or URL of a volume of labels; #NAME or #@N picks
    #[arg(long, value_name = "VOLUME")]
    pub(crate) ends: Option<String>,
    /// Map from element indices to the world: numbers by rows, a file with them, or a NIfTI or MGH image
    #[arg(long, value_name = "NUMBERS|FILE", allow_hyphen_values = true)]
    pub(crate) affine: Option<String>,
    /// Vertex attributes whose means the table has
    #[arg(
        long,
        value_name = "NAME,..",
        value_delimiter = ',',
        requires = "matrix"
    )]
    pub(crate) mean: Vec<String>,
    /// Writes counts, lengths and means of each pair of labels, by the ending: .csv, .ndjson, .arrow or .parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) matrix: Option<PathBuf>,
    /// Deletes the groups NAME/.. that are there
    #[arg(long)]
    pub(crate) replace: bool,
}
