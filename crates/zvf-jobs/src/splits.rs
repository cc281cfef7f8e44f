//! The job `splits`: a query cut into pieces.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use zvf_query::{QuerySpec, Select, Split, StateTag, Target};
use zvf_store::Names;

use crate::checks::at_most_one;
use crate::error::Result;
use crate::selection::{opened_with, set};
use crate::{Context, JobError, LevelOptions, SelectName, SelectionOptions, Term};

/// Decoded bytes of a piece, unless a size is given.
const BYTES: u64 = 64 << 20;

options! {
    /// Cuts a query into pieces for several programs, each vertex in exactly one of them
    SplitsJob {
        /// Path or URL of the store
        store: String,
        /// Which rows are used
        #[command(flatten)]
        #[serde(flatten)]
        terms: SelectionOptions,
        /// What is kept: rows inside, whole objects with a vertex inside, or whole chunks that meet the box [default: vertices]
        #[arg(long, value_enum)]
        select: Option<SelectName>,
        /// Which level is read
        #[command(flatten)]
        #[serde(flatten)]
        at: LevelOptions,
        /// Attributes to read: all, none, or names
        #[arg(long, value_name = "all|none|NAME,..", default_value = "all")]
        attributes: Term = Term::all(),
        /// Number of pieces
        #[arg(long, value_name = "N", group = "size")]
        count: Option<u32>,
        /// Pieces with about this many rows
        #[arg(long, value_name = "N", group = "size")]
        rows: Option<u64>,
        /// Pieces with about this many decoded bytes [default: 64 MiB]
        #[arg(long, value_name = "N", group = "size")]
        bytes: Option<u64>,
    }
}

impl SplitsJob {
    pub(crate) fn check(&self) -> Result<()> {
        self.terms.check()?;
        SelectName::check(self.select, self.terms.place.relation())?;
        let sizes = [
            ("count", self.count.map(u64::from)),
            ("rows", self.rows),
            ("bytes", self.bytes),
        ];
        at_most_one(&sizes.map(|(member, size)| (member, size.is_some())))?;
        if let Some((member, _)) = sizes.iter().find(|(_, size)| *size == Some(0)) {
            return Err(JobError::option(member, 0, "a number above 0"));
        }
        set(&mut QuerySpec::new(), "attributes", Some(&self.attributes))
    }

    fn target(&self) -> Target {
        match (self.count, self.rows) {
            (Some(count), _) => Target::Count(count),
            (_, Some(rows)) => Target::Rows(rows),
            _ => Target::Bytes(self.bytes.unwrap_or(BYTES)),
        }
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<SplitsReport>> {
        async move {
            let mut spec = self.terms.read(&self.store, context).await?;
            self.at.set(&mut spec);
            spec.select = self.select.map_or(Select::Vertices, Select::from);
            set(&mut spec, "attributes", Some(&self.attributes))?;
            // The estimates do not include object attributes.
            let opened = opened_with(&spec, &self.store, context, |need| {
                need.object_attributes = Names::None;
            });
            let (store, query) = opened.await?;
            let splits = query.splits(&store, self.target()).await;
            Ok(SplitsReport {
                store: self.store.clone(),
                level: self.at.level,
                tag: StateTag::of(&store).to_string(),
                splits: splits.map_err(JobError::query(&self.store))?,
            })
        }
        .boxed()
    }
}

/// The report of `splits`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SplitsReport {
    /// The store.
    pub store: String,
    /// The level.
    pub level: u32,
    /// The tag of the state of the store: `--split I/N@TAG` refuses another state.
    pub tag: String,
    /// The pieces; each can be run elsewhere.
    pub splits: Vec<Split>,
}
