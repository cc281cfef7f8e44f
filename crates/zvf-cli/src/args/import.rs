//! `zvf import`.

use std::path::PathBuf;

use clap::Args;
use clap::error::ErrorKind;
use zvf_jobs::ImportJob;

use super::JobArgs;

/// `zvf import`
#[derive(Debug, Args)]
#[command(
    override_usage = "zvf import [OPTIONS] <FILE>... <STORE>",
    after_help = help!("import")
)]
pub(crate) struct ImportArgs {
    /// Files of one format (paths or URLs) or one folder with `info`, then the path or URL of the new store, which must not exist
    #[arg(value_names = ["FILE", "STORE"], required = true, num_args = 1..)]
    paths: Vec<PathBuf>,
    /// What is imported, and how.
    #[command(flatten)]
    pub(crate) of_job: JobArgs<ImportJob>,
}

impl ImportArgs {
    /// Separates the paths. They are one argument, because options may be between them.
    ///
    /// # Errors
    ///
    /// Fewer than two paths; several paths where only the store is expected; a path of the store that is not UTF-8.
    pub(super) fn settle(&mut self) -> Result<(), clap::Error> {
        let mut paths = std::mem::take(&mut self.paths);
        let alone = self.of_job.job.is_about_parts();
        let store = paths.pop().filter(|_| paths.is_empty() == alone);
        let store = store.map(|store| store.into_os_string().into_string());
        if let Some(Ok(store)) = store {
            let job = &mut self.of_job.job;
            (job.files, job.store) = (paths, store);
            return Ok(());
        }
        let (kind, what) = match store {
            None if alone => (
                ErrorKind::TooManyValues,
                "found several paths, expected the store alone",
            ),
            None => (
                ErrorKind::MissingRequiredArgument,
                "found one path, expected files and then the store",
            ),
            Some(_) => (ErrorKind::InvalidUtf8, "the path of the store is not UTF-8"),
        };
        let mut program = super::Cli::described();
        Err(match program.find_subcommand_mut("import") {
            Some(import) => import.error(kind, what),
            None => program.error(kind, what),
        })
    }
}
