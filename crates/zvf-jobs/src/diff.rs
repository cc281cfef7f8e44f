//! The job `diff`.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Serialize, Serializer};
use serde_json::json;
use zvf_query::{Comparison, compare};
use zvf_store::Need;

use crate::error::Result;
use crate::rows::warnings_of;
use crate::{Context, JobError};

options! {
    /// Compares the contents of two stores: documents, vertices, objects, links and groups
    DiffJob {
        /// Path or URL of the first store
        #[arg(value_name = "A")]
        first: String,
        /// Path or URL of the second store
        #[arg(value_name = "B")]
        second: String,
        /// Differences to print
        #[arg(long, value_name = "N", default_value_t = 10)]
        limit: usize = 10,
    }
}

impl DiffJob {
    pub(crate) fn check(&self) -> Result<()> {
        Ok(())
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<DiffReport>> {
        async move {
            let first = context.open(&self.first, 0, Need::nothing()).await?;
            let second = context.open(&self.second, 0, Need::nothing()).await?;
            let progress = context.progress();
            let mut read = |rows| progress(rows);
            let found = compare(&first, &second, self.limit, &mut read).await;
            let mut warnings = warnings_of(&first, &[]);
            warnings.extend(second.warnings());
            Ok(DiffReport {
                comparison: found.map_err(JobError::query(""))?,
                stores: [self.first.clone(), self.second.clone()],
                warnings,
            })
        }
        .boxed()
    }
}

/// The result of `diff`. Serialized as [`Comparison::to_json`], with a member `stores`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiffReport {
    /// The differences.
    pub comparison: Comparison,
    /// The two stores.
    pub stores: [String; 2],
    /// Violations of the format in either store.
    pub warnings: Vec<String>,
}

impl Serialize for DiffReport {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let mut document = self.comparison.to_json();
        if let Some(members) = document.as_object_mut() {
            members.insert("stores".to_owned(), json!(self.stores));
        }
        document.serialize(to)
    }
}
