//! `zvf export`.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::ValueEnum;
use zvf_jobs::{ExportJob, Job};
use zvf_neuroglancer::Shards;

use super::JobArgs;

/// `zvf export`
#[derive(Debug, Args)]
#[command(after_help = "\
The format follows from the ending of FILE:
  .csv .tsv     every kind: a row a vertex, with its attributes and its object
  .arrow .parquet
                the same, typed
  .npy          every kind: positions alone, (N, D)
  .npz          every kind: positions, numbers by name, edges or faces, object_id where there are several
  .swc          skeleton, or graph without rings: type, radius, node_id
  .obj          mesh; edges and chains as lines: colours
  .ply          every kind: numbers as properties, faces or edges, object_id where there are several
  .stl          mesh: triangles, binary
  .las .laz     points of x, y and z: fields and point format of the file imported, other numbers as extra bytes
  .trk          line, polyline, streamline: numbers as scalars and properties, the header of the file imported
  .tck          line, polyline, streamline: the header of the file imported
  .trx          line, polyline, streamline: numbers of their type as dpv and dps, groups with dpg, the frame of the file imported

--edges or --faces writes the links of a graph, skeleton or mesh to a second table: rows of the first table, counted from 0, and the
attributes of the links. `zvf import` reads both.

Coordinates and numbers are written as stored. Tractograms are converted: .tck and .trx get scanner RAS+ millimetres, .trk gets
the frame of its header. A warning names what the format cannot hold. Lines, polylines and streamlines are written as whole objects.
FILE is written completely or not at all.

If FILE contains braces, each object of the selection is written to a file of its own: {id} is its id, {NAME} the value of an attribute of
objects. Equal names of two files are an error before anything is written.

Examples:
  zvf export neurons.zarrvectors 1734350788.swc --objects 1734350788
  zvf export mesh.zarrvectors mesh.obj
  zvf export tracks.zarrvectors bundle.trk --bbox 60,80,60:80,90,70
  zvf export tracks.zarrvectors from.trk --sphere 92,82,80,10 --starting
  zvf export synapses.zarrvectors sure.csv --where 'confidence > 0.9' --attributes type,confidence
  zvf export vessels.zarrvectors nodes.parquet --edges edges.parquet
  zvf export tracks.zarrvectors part-3.trk --split 3/16
  zvf export neurons.zarrvectors -o 'swc/{id}.swc'
  zvf export neurons.zarrvectors -o '{name}-{id}.swc' --groups 'tufted cells'
  zvf export brain.zarrvectors brain --format precomputed
  zvf export brain.zarrvectors brain --format precomputed --shards 4")]
pub(crate) struct ExportArgs {
    /// The options.
    #[command(flatten)]
    of_job: JobArgs<ExportJob>,
    /// The file to write; an existing file is replaced
    #[arg(required_unless_present = "output")]
    file: Option<PathBuf>,
    /// The same as FILE
    #[arg(short, long = "output", value_name = "FILE", conflicts_with = "file")]
    output: Option<PathBuf>,
    /// Writes the views of the whole store for Neuroglancer instead, as the files of a folder: FILE
    #[arg(long, value_enum, conflicts_with_all = [
        "bbox", "sphere", "near", "polygon", "mesh", "mask", "region", "passing", "touching", "inside", "starting", "ending", "objects",
        "groups", "where",
        "select", "limit", "keep_frame", "edges", "faces", "own_level_only", "split", "print_job"
    ])]
    pub(crate) format: Option<FolderFormat>,
    /// With --format: whether the objects of a view are combined into shards, a few large files. auto: if there are more than
    /// 10000 files otherwise; none: a file each; or 2 to the power of BITS shards, at most 20. Legacy meshes have no shards
    #[arg(long, value_name = "auto|none|BITS", value_parser = shards, default_value = "auto", requires = "format")]
    pub(crate) shards: Shards,
}

impl ExportArgs {
    /// The file to write.
    pub(crate) fn file(&self) -> &Path {
        let given = self.file.as_deref().or(self.output.as_deref());
        given.unwrap_or_else(|| Path::new(""))
    }

    /// The options, but for the file.
    pub(crate) fn options(&self) -> &ExportJob {
        &self.of_job.job
    }

    /// The job, and whether it is printed only; `None` if views are written.
    pub(crate) fn job(&self) -> Option<(Job, bool)> {
        if self.format.is_some() {
            return None;
        }
        let mut job = self.options().clone();
        job.file = self.file().to_owned();
        Some((job.into(), self.of_job.print_job))
    }
}

/// Formats that are folders of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FolderFormat {
    /// Neuroglancer's precomputed annotations, skeletons and meshes
    Precomputed,
}

/// The value of `--shards`.
fn shards(text: &str) -> Result<Shards, String> {
    const MOST: u32 = 20;
    let bits = |text: &str| text.parse().ok().filter(|bits| *bits <= MOST);
    match text {
        "auto" => Ok(Shards::Auto),
        "none" => Ok(Shards::None),
        text => bits(text).map(Shards::Bits).ok_or_else(|| {
            format!("found {text:?}, expected auto, none, or a number of bits up to {MOST}")
        }),
    }
}

#[cfg(all(test, feature = "serve"))]
mod tests {
    use super::*;

    #[test]
    fn shards_are_words_or_bits() {
        assert_eq!(shards("auto"), Ok(Shards::Auto));
        assert_eq!(shards("none"), Ok(Shards::None));
        assert_eq!(shards("0"), Ok(Shards::Bits(0)));
        assert_eq!(shards("20"), Ok(Shards::Bits(20)));
        for wrong in ["21", "-1", "", "many", "4294967296"] {
            assert!(shards(wrong).is_err(), "{wrong}");
        }
    }
}
