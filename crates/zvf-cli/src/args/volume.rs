//! `zvf volume`.

use clap::{Args, Subcommand};
use zvf_jobs::{Job, VolumeConvertJob, VolumeInfoJob, VolumeSliceJob};

use super::JobArgs;

/// `zvf volume`
#[derive(Debug, Args)]
#[command(after_help = help!("volume"))]
pub(crate) struct VolumeArgs {
    /// What to do
    #[command(subcommand)]
    command: VolumeCommand,
}

/// What `zvf volume` does.
#[derive(Debug, Subcommand)]
enum VolumeCommand {
    /// Shows the contents of a file or image: datasets, types, shapes, chunks, blocks, codecs, filters, axes
    Info(JobArgs<VolumeInfoJob>),
    /// Reads a box, with strides, into a NumPy file or as bare elements
    #[command(after_help = help!("volume-slice"))]
    Slice(JobArgs<VolumeSliceJob>),
    /// Writes a volume in another form: .tet, .b2nd or .zarr, by the ending of OUT
    #[command(after_help = help!("volume-convert"))]
    Convert(JobArgs<VolumeConvertJob>),
}

impl VolumeArgs {
    /// The job, and whether it is only printed.
    pub(crate) fn job(&self) -> (Job, bool) {
        match &self.command {
            VolumeCommand::Info(args) => args.job(),
            VolumeCommand::Slice(args) => args.job(),
            VolumeCommand::Convert(args) => args.job(),
        }
    }
}
