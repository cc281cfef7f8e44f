//! The job `merge`: makes one store of several.

use serde::Serialize;
use zvf_convert::MergeOptions;
use zvf_store::Need;

use crate::error::Result;
use crate::{Context, IdOptions, JobError, JobEvent};

options! {
    /// Makes one new store of several of the same kind
    MergeJob {
        /// Paths or URLs of the stores, two or more
        #[arg(skip)]
        sources: Vec<String>,
        /// Path or URL of the new store; it must not exist
        #[arg(skip)]
        target: String,
        /// Which ids objects get.
        #[command(flatten)]
        #[serde(flatten)]
        ids: IdOptions,
        /// Removes what an interrupted writer left at OUT; a finished store is never touched
        #[arg(long)]
        clear_leftovers: bool,
    }
}

impl MergeJob {
    pub(crate) fn check(&self) -> Result<()> {
        if self.sources.len() < 2 {
            let found = format!("{} of them", self.sources.len());
            return Err(JobError::option("sources", found, "two stores at least"));
        }
        self.ids.check()
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<MergeReport> {
        let mut stores = Vec::new();
        for source in &self.sources {
            stores.push(context.open(source, 0, Need::all()).await?);
        }
        context.event(&JobEvent::Writing);
        let mut options = MergeOptions::default();
        options.write = context.writing(self.clear_leftovers);
        options.ids = self.ids.rule(0);
        options.query_budget = context.memory_budget;
        let done = zvf_convert::merge(&stores, &self.target, options).await?;
        let each = self.sources.iter().zip(&done.vertices).zip(&done.objects);
        let each = each.map(|((store, vertices), objects)| StoreMerged {
            store: store.clone(),
            vertices: *vertices,
            objects: *objects,
        });
        Ok(MergeReport {
            store: self.target.clone(),
            stores: each.collect(),
            vertices: done.vertices.iter().sum(),
            objects: done.objects.iter().sum(),
            groups: done.groups,
            notes: done.notes,
        })
    }
}

/// The report of `merge`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MergeReport {
    /// The new store.
    pub store: String,
    /// Counts of each source.
    pub stores: Vec<StoreMerged>,
    /// Vertices of the new store.
    pub vertices: u64,
    /// Objects of the new store.
    pub objects: u64,
    /// Groups of the new store.
    pub groups: u64,
    /// Notes about data that was not carried over, and about conversions.
    pub notes: Vec<String>,
}

/// Counts of one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoreMerged {
    /// The store.
    pub store: String,
    /// Its vertices.
    pub vertices: u64,
    /// Its objects.
    pub objects: u64,
}
