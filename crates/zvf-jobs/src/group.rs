//! The job `group`: objects of a group, or groups of lines by the labels at their ends.

use std::path::PathBuf;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use zvf_convert::{EndLabels, LabelPairs, label_pairs};
use zvf_edit::Edit;
use zvf_store::Need;
use zvf_store::format::int;

use crate::checks::{at_most_one, needs};
use crate::edit::{EditReport, add_to_group, begin, check_group, end, or_abandon};
use crate::error::Result;
use crate::rows::{RowSink, check_output};
use crate::selection::listed;
use crate::{Context, JobError, JobEvent, Term};

options! {
    /// Adds objects to a group, or groups lines by the labels of a volume at their ends
    GroupJob {
        /// Path or URL of the store
        store: String,
        /// The name of the group, or with --ends the prefix of the names of groups
        #[arg(value_name = "NAME")]
        group: String,
        /// Ids of objects, ranges such as 3-9, @FILE, or names of objects
        #[arg(long, value_name = "ID", num_args = 1.., required_unless_present = "ends", allow_negative_numbers = true,
            conflicts_with_all = ["ends", "affine", "mean", "matrix", "replace"])]
        #[serde(deserialize_with = "listed")]
        #[schemars(with = "Option<Term>")]
        add: Option<Vec<Term>>,
        /// Leaves out ids that the store does not have, instead of failing
        #[arg(long, requires = "add")]
        ignore_missing: bool,
        /// File, folder or URL of a volume of labels; #NAME or #@N selects one of several datasets or levels
        #[arg(long, value_name = "VOLUME")]
        ends: Option<String>,
        /// Map from element indices to the world: numbers by rows, a file with them, or a NIfTI or MGH image
        #[arg(long, value_name = "NUMBERS|FILE", allow_hyphen_values = true)]
        affine: Option<String>,
        /// Adds the mean of these vertex attributes to the table
        #[arg(long, value_name = "NAME,..", value_delimiter = ',', requires = "matrix")]
        mean: Vec<String>,
        /// Writes counts, lengths and means of each pair of labels, by the ending: .csv, .ndjson, .arrow or .parquet
        #[arg(long, value_name = "FILE")]
        #[schemars(extend("format" = "path"))]
        matrix: Option<PathBuf>,
        /// Deletes existing groups NAME/.. first
        #[arg(long)]
        replace: bool,
    }
}

impl GroupJob {
    pub(crate) fn check(&self) -> Result<()> {
        let (add, ends) = (("add", self.add.is_some()), ("ends", self.ends.is_some()));
        at_most_one(&[add, ends])?;
        if !add.1 && !ends.1 {
            return Err(JobError::option("add", "nothing", "ids, or `ends`"));
        }
        let matrix = ("matrix", self.matrix.is_some());
        let others = [
            ("affine", self.affine.is_some()),
            ("mean", !self.mean.is_empty()),
            matrix,
            ("replace", self.replace),
        ];
        for other in others {
            needs(other, &[ends])?;
        }
        needs(("ignore_missing", self.ignore_missing), &[add])?;
        needs(("mean", !self.mean.is_empty()), &[matrix])?;
        check_output(self.matrix.as_deref()).map_err(|error| match error {
            JobError::Option { what, .. } => JobError::Option {
                path: "matrix".to_owned(),
                what,
            },
            other => other,
        })?;
        check_group(("group", &self.group), ("add", self.add.as_deref()))
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<GroupReport>> {
        async move {
            match &self.ends {
                Some(volume) => {
                    let done = self.by_ends(volume, context).await;
                    done.map(GroupReport::Ends)
                }
                None => {
                    let objects = ("add", self.add.as_deref());
                    let done = add_to_group(
                        &self.store,
                        &self.group,
                        objects,
                        self.ignore_missing,
                        context,
                    )
                    .await;
                    done.map(GroupReport::Edit)
                }
            }
        }
        .boxed()
    }

    /// Finds the labels at all ends, and begins the table of pairs if a file is named for it.
    async fn found(
        &self,
        volume: &str,
        context: &Context,
    ) -> Result<(LabelPairs, Option<RowSink>)> {
        let store = context.open(&self.store, 0, Need::nothing()).await?;
        let source = EndLabels {
            volume: volume.to_owned(),
            affine: self.affine.clone(),
            means: self.mean.clone(),
        };
        let progress = context.progress();
        let found = label_pairs(&store, &source, &context.write.open.io, &*progress).await;
        let found = found.map_err(|error| JobError::from(error).at(&self.store))?;
        let sink = match &self.matrix {
            Some(path) => {
                let table = found.table()?;
                let mut sink = RowSink::new(Some(path), &table.schema(), None)?;
                sink.push(&table)?;
                Some(sink)
            }
            None => None,
        };
        Ok((found, sink))
    }

    /// Adds the groups of the pairs of labels. Returns how many groups were deleted first.
    async fn make(&self, edit: &mut Edit, found: &LabelPairs) -> Result<u64> {
        let start = format!("{}/", self.group);
        let mut replaced = 0;
        if self.replace {
            replaced = edit.delete_groups_below(&start).await?;
        } else {
            let there = edit.groups().await?;
            let mut there = there.names().iter().filter(|name| name.starts_with(&start));
            if let Some(there) = there.next() {
                return Err(JobError::usage(format!(
                    "{}: found the group {there}, expected no group {start}..: delete them first with --replace, or choose another NAME",
                    self.group
                )));
            }
        }
        let groups = found.groups(&self.group);
        if !groups.members().is_empty() {
            edit.add_groups(&groups).await?;
        }
        Ok(replaced)
    }

    async fn by_ends(&self, volume: &str, context: &Context) -> Result<EndsGrouped> {
        // The edit is opened before the query runs, so that no other writer changes the store in between.
        let edit = begin(&self.store, context).await?;
        let found = self.found(volume, context).await;
        let (mut edit, (found, sink)) = or_abandon(edit, found).await?;
        let made = self.make(&mut edit, &found).await;
        // The table is completed before the commit: a failure after the commit would force the user to repeat the command with --replace, while the
        // table is correct even if the commit fails.
        let made = made.and_then(|replaced| Ok((replaced, sink.map(RowSink::finish).transpose()?)));
        let (done, (groups_replaced, files)) = end(edit, &self.store, made).await?;
        for remark in &found.remarks {
            context.event(&JobEvent::Note(remark));
        }
        let mut warnings = Vec::new();
        if found.objects > 0 && found.outside == found.objects.saturating_mul(2) {
            warnings.push("every end lies outside of the volume: is the affine right?".to_owned());
        }
        Ok(EndsGrouped {
            store: self.store.clone(),
            name: self.group.clone(),
            volume: volume.to_owned(),
            objects: found.objects,
            grouped: found.objects.saturating_sub(found.unpaired),
            background: found.unpaired,
            ends_outside: found.outside,
            groups: int::wide(found.pairs.len()),
            groups_replaced,
            matrix: files.and_then(|(_, files, _)| files.into_iter().next()),
            notes: found.remarks,
            warnings,
            put: done.put,
            removed: done.removed,
        })
    }
}

/// What `group` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum GroupReport {
    /// Objects were added to a group.
    Edit(EditReport),
    /// Lines were grouped by the labels at their ends.
    Ends(EndsGrouped),
}

/// Lines that were grouped by the labels at their ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EndsGrouped {
    /// The store.
    pub store: String,
    /// The prefix of the names of the groups.
    pub name: String,
    /// The volume of labels.
    pub volume: String,
    /// All lines.
    pub objects: u64,
    /// Lines in one of the groups.
    pub grouped: u64,
    /// Lines with an end at label 0 or outside of the volume, and lines without vertices.
    pub background: u64,
    /// Ends outside of the volume.
    pub ends_outside: u64,
    /// Groups that were added.
    pub groups: u64,
    /// Groups that were deleted first.
    pub groups_replaced: u64,
    /// The table that was written.
    pub matrix: Option<String>,
    /// How the volume was placed.
    pub notes: Vec<String>,
    /// Possible errors in the result.
    pub warnings: Vec<String>,
    /// Objects of the storage that the edit replaced or added.
    pub put: u64,
    /// Objects of the storage that the edit removed.
    pub removed: u64,
}
