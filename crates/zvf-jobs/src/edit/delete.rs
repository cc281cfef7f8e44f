//! The job `edit-delete`: objects by their ids, or points and objects by a selection.

use std::collections::BTreeSet;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zvf_edit::Edit;
use zvf_encode::arrow::{column, numbers};
use zvf_query::{Column, IdRanges, ObjectRelation, Outputs, Query, QueryError, Select, Table};
use zvf_store::Names;
use zvf_store::format::int;

use super::{EditDryRun, EditNotes, EditReport, begin, done, or_abandon, report};
use crate::checks::{at_most_one, needs};
use crate::error::Result;
use crate::selection::{check_ids, ids_of, listed, of_member};
use crate::{Context, JobError, RegionOptions, SelectionOptions, Term};

/// The unit of deletion for a selected vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum DeleteSelect {
    /// The whole object of a selected vertex
    Objects,
}

edit_options! {
    /// Deletes objects with their vertices and links (`zvf vacuum` drops their rows later), or points that belong to no object
    EditDeleteJob {
        /// Ids of objects, ranges such as 0-9, lists such as 0-9,12, or @FILE (a path or URL) of ids and ranges; put -- before an id that begins with a range of negative ids such as -9--5
        #[arg(
            value_name = "ID",
            required_unless_present_any = ["where", "bbox", "sphere", "near", "polygon", "mesh", "mask", "region", "passing"],
            conflicts_with_all = [
                "where", "bbox", "sphere", "near", "polygon", "plane", "mesh", "mask", "region", "passing", "touching", "inside", "starting", "ending"
            ],
            allow_negative_numbers = true
        )]
        #[serde(deserialize_with = "listed")]
        #[schemars(with = "Option<Term>")]
        objects: Option<Vec<Term>>,
        /// Leaves out ids that the store does not have, instead of failing: 0-1000000 then means all objects with ids in this range
        #[arg(long, requires = "objects")]
        ignore_missing: bool,
        /// Points that fulfil this condition, as in `zvf query --where`
        #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
        r#where: Option<String>,
        /// Points inside this box, both ends included: 0,0,0:9,9,9, or ranges of some axes such as x=0:10,y=5:
        #[arg(long, value_name = "LO:HI|AXIS=LO:HI,..", allow_hyphen_values = true)]
        bbox: Option<Term>,
        /// Other parts of space; --touching, --inside, --starting and --ending delete whole objects
        #[command(flatten)]
        #[serde(flatten)]
        place: RegionOptions,
        /// Stores with objects: deletes whole objects with at least one selected vertex
        #[arg(long, value_enum, value_name = "objects")]
        select: Option<DeleteSelect>,
        /// Prints what would be deleted, and changes nothing
        #[arg(long, conflicts_with = "objects")]
        dry_run: bool,
    }
}

/// The rows or objects to delete, as the query found them.
#[derive(Debug, Default)]
struct Hits {
    /// The chunk of each row, and the row in the chunk.
    rows: Vec<(Vec<i64>, u64)>,
    ids: BTreeSet<i64>,
    warnings: Vec<String>,
}

impl EditDeleteJob {
    /// The selection without ids.
    fn terms(&self) -> SelectionOptions {
        SelectionOptions {
            bbox: self.bbox.clone(),
            place: self.place.clone(),
            r#where: self.r#where.clone(),
            ..SelectionOptions::default()
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        let place = &self.place;
        let terms = [
            ("where", self.r#where.is_some()),
            ("bbox", self.bbox.is_some()),
            ("sphere", place.sphere.is_some()),
            ("near", place.near.is_some()),
            ("polygon", place.polygon.is_some()),
            ("mesh", place.mesh.is_some()),
            ("mask", place.mask.is_some()),
            ("region", place.region.is_some()),
            ("passing", !place.passing.is_empty()),
        ];
        let Some(objects) = &self.objects else {
            if !terms.iter().any(|(_, given)| *given) {
                let names = terms.map(|(name, _)| name).join(", ");
                let expected = format!("ids, or one of {names}");
                return Err(JobError::option("objects", "nothing", &expected));
            }
            needs(
                ("ignore_missing", self.ignore_missing),
                &[("objects", false)],
            )?;
            return self.terms().check();
        };
        let relation = place.relation();
        let others = [
            ("plane", place.plane.is_some()),
            (
                relation.map_or("", ObjectRelation::name),
                relation.is_some(),
            ),
            ("dry_run", self.dry_run),
        ];
        for other in terms.into_iter().chain(others) {
            at_most_one(&[("objects", true), other])?;
        }
        // Members that belong to others, such as labels of a mask.
        if self.place != RegionOptions::default() || self.select.is_some() {
            let found = "ids and parts of a selection";
            return Err(JobError::option("objects", found, "one of the two"));
        }
        check_ids(objects, ("objects", 0))
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<EditReport>> {
        async move {
            let Some(objects) = &self.objects else {
                return self.selected(context).await;
            };
            let ids = ids_of(objects, ("objects", 0), context).await?;
            let mut edit = begin(&self.store, context).await?;
            let made = match existing_ids(&edit, &ids, self.ignore_missing) {
                Ok(ids) => done(edit.delete(&ids).await),
                Err(error) => Err(JobError::query("")(error)),
            };
            report(edit, &self.store, made, context).await
        }
        .boxed()
    }

    /// Deletes the selected objects or vertices.
    async fn selected(&self, context: &Context) -> Result<EditReport> {
        let mut spec = self.terms().read(&self.store, context).await?;
        spec.attributes = Names::None;
        spec.own_level_only = true;
        let query = spec.plain().map_err(of_member)?;
        let only_passing = query.passing.is_some() && !query.is_spatial() && query.filter.is_none();
        let whole = self.select.is_some() || spec.relation.is_some() || only_passing;
        if self.dry_run {
            let hits = self.find(query, whole, context).await?;
            return Ok(EditReport::DryRun(EditDryRun {
                store: self.store.clone(),
                dry_run: true,
                vertices: int::wide(hits.rows.len()),
                objects: whole.then(|| hits.ids.into_iter().collect()),
                warnings: hits.warnings,
            }));
        }
        // The edit is opened before the query runs, so that no other writer changes the store between the two.
        let edit = begin(&self.store, context).await?;
        let found = self.find(query, whole, context).await;
        let (mut edit, hits) = or_abandon(edit, found).await?;
        let made = match whole {
            true => edit.delete(&hits.ids.into_iter().collect::<Vec<_>>()).await,
            false => edit.delete_points(&hits.rows).await,
        };
        let made = made.map(|()| EditNotes {
            warnings: hits.warnings,
            ..EditNotes::default()
        });
        report(edit, &self.store, made.map_err(JobError::from), context).await
    }

    /// Queries the rows to delete; with `whole`, the objects to delete.
    async fn find(&self, mut query: Query, whole: bool, context: &Context) -> Result<Hits> {
        let store = &self.store;
        if whole {
            query.select = Select::Objects;
        } else {
            query.columns = vec![Column::Chunk, Column::Row];
        }
        query.outputs = Outputs {
            vertices: !whole,
            links: false,
            objects: whole,
        };
        let opened = context.open(store, 0, query.need()).await?;
        let level = opened.level(0, &query.need()).await;
        let level = level.map_err(JobError::store(store))?;
        if level.object_index().is_some() != whole {
            let (found, expected) = match whole {
                true => ("whole objects", "vertices: this store has no objects"),
                false => (
                    "vertices that belong to objects",
                    "ids of objects, or --select objects, which deletes every object with such a vertex as a whole",
                ),
            };
            return Err(JobError::usage(format!(
                "{store}: found {found}, expected {expected}"
            )));
        }
        let answer = zvf_query::query(&opened, query).await;
        let mut answer = answer.map_err(JobError::query(store))?;
        let mut hits = Hits::default();
        while let Some((table, batch)) = answer.next().await.map_err(JobError::query(store))? {
            match table {
                Table::Vertices => {
                    let chunks = numbers::<i64>("chunk", column(&batch, "chunk")?)?;
                    let rows = numbers::<u64>("row", column(&batch, "row")?)?;
                    let axes = chunks.len().checked_div(rows.len()).unwrap_or(0);
                    let chunks = chunks.chunks_exact(axes.max(1)).map(<[i64]>::to_vec);
                    hits.rows.extend(chunks.zip(rows.iter().copied()));
                }
                Table::Objects => {
                    let ids = numbers::<i64>("object_id", column(&batch, "object_id")?)?;
                    hits.ids.extend(ids.iter());
                }
                _ => {}
            }
        }
        hits.warnings.clone_from(&answer.summary().warnings);
        Ok(hits)
    }
}

/// The objects of the store with these ids; none for a store without objects, which the edit refuses.
///
/// # Errors
///
/// Misuse: an id that no object has, unless `ignore_missing`. Limit: more than 100 million ids.
pub fn existing_ids(
    edit: &Edit,
    ids: &IdRanges,
    ignore_missing: bool,
) -> std::result::Result<Vec<i64>, QueryError> {
    if !edit.spec().has_objects() {
        return Ok(Vec::new());
    }
    let (count, has) = (edit.object_count(), |id| edit.has_object(id));
    ids.among(count, has, || edit.object_ids(), ignore_missing)
}
