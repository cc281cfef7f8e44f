//! The job `copy`: copies a store byte for byte.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use zvf_migrate::CopyOptions;

use crate::Context;
use crate::copy::copy_error;
use crate::error::Result;

options! {
    /// Copies a store byte for byte, from any place to any other one
    CopyJob {
        /// Path or URL of the store
        #[arg(value_name = "SRC")]
        source: String,
        /// Path or URL of the copy; it must not exist, except for files of an interrupted copy
        #[arg(value_name = "DST")]
        target: String,
        /// Reads every file of the copy back, and compares its checksum with that of SRC
        #[arg(long = "verify")]
        read_back: bool,
        /// Removes what an interrupted writer left at DST, instead of continuing or refusing; a finished store is never touched
        #[arg(long)]
        clear_leftovers: bool,
    }
}

impl CopyJob {
    pub(crate) fn check(&self) -> Result<()> {
        Ok(())
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<VerbatimReport> {
        let (reported, before) = (context.clone(), AtomicU64::new(0));
        let options = CopyOptions::new()
            .with_write(context.writing(self.clear_leftovers))
            .with_read_back(self.read_back)
            .with_progress(Arc::new(move |done, total| {
                reported.total(total);
                let before = before.swap(done, Ordering::Relaxed);
                reported.progress()(done.saturating_sub(before));
            }));
        let done = zvf_migrate::copy(&self.source, &self.target, options).await;
        let report = done.map_err(|error| copy_error(&self.source, &self.target, error))?;
        Ok(VerbatimReport {
            source: self.source.clone(),
            target: self.target.clone(),
            report,
        })
    }
}

/// What `copy` copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VerbatimReport {
    /// The store.
    pub source: String,
    /// The copy.
    pub target: String,
    /// Files and bytes.
    #[serde(flatten)]
    pub report: zvf_migrate::CopiedFiles,
}
