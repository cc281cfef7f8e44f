//! `zvf export`.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::ValueEnum;
use zvf_jobs::{ExportJob, Job};
use zvf_neuroglancer::Shards;

use super::JobArgs;

/// `zvf export`
#[derive(Debug, Args)]
#[command(after_help = help!("export"))]
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
    /// Writes the views of the whole store for Neuroglancer instead, as files in the folder FILE
    #[arg(long, value_enum, conflicts_with_all = [
        "bbox", "sphere", "near", "polygon", "mesh", "mask", "region", "passing", "touching", "inside", "starting", "ending", "objects",
        "groups", "where",
        "select", "limit", "keep_frame", "edges", "faces", "own_level_only", "split", "print_job", "attributes", "ignore_missing",
        "plane", "hull", "labels", "mask_affine"
    ])]
    pub(crate) format: Option<FolderFormat>,
    /// With --format: whether the objects of a view are combined into shards, a few large files. auto: shards if there would
    /// be more than 10000 files; none: a file for each object; BITS: 2 to the power of BITS shards, BITS at most 20. Legacy
    /// meshes have no shards
    #[arg(long, value_name = "auto|none|BITS", value_parser = shards, default_value = "auto", requires = "format")]
    pub(crate) shards: Shards,
}

impl ExportArgs {
    /// The file to write.
    pub(crate) fn file(&self) -> &Path {
        let given = self.file.as_deref().or(self.output.as_deref());
        given.unwrap_or_else(|| Path::new(""))
    }

    /// The options, without the file.
    pub(crate) fn options(&self) -> &ExportJob {
        &self.of_job.job
    }

    /// The job, and whether it is only printed; `None` if views are written.
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
