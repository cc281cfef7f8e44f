//! Lists the reads of a query before it runs.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use zvf_store::{CellWant, Store};

use crate::jobs::link_wants;
use crate::prepare::{Prepared, prepare};
use crate::scan::plan::{Ask, OfObjects, Pass, plan_pass};
use crate::{Query, QueryError, Select, gather, object_relation, owner_cells, scan};
use zvf_store::format::int;

/// The reads of a query on one level, as known from its documents. Made by [`Query::plan`]; running the query makes the same reads.
#[derive(Debug)]
pub struct LevelPlan {
    prepared: Prepared,
    /// The pass that the query begins with.
    pass: Option<Pass>,
    by_object: bool,
    manifests: bool,
    /// Whether the owner column is read.
    owners: bool,
}

impl Query {
    /// Plans the query: one plan for each level that takes part, finest first.
    ///
    /// # Cost
    ///
    /// The documents of the levels, as for [`query`](crate::query), but no cells and manifests. Conditions on objects and relations of objects are
    /// evaluated first, at their cost in a query.
    ///
    /// # Errors
    ///
    /// The errors of [`query`](crate::query) that can be found from documents alone: names and levels that do not exist, boxes of other dimensions, limits.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use zvf_query::{BBox, Query};
    /// use zvf_store::{OpenOptions, Store, blocking::Runtime};
    ///
    /// # async fn bundled() -> Result<Store, Box<dyn std::error::Error>> {
    /// #     use object_store::{ObjectStoreExt, memory::InMemory, path::Path};
    /// #     let backend = InMemory::new();
    /// #     for (key, bytes) in zvf_testkit::files("streamlines")? {
    /// #         backend.put(&Path::parse(key)?, bytes.into()).await?;
    /// #     }
    /// #     let options = OpenOptions::new().with_object_store(Arc::new(backend));
    /// #     Ok(Store::open_with("memory:///", options).await?)
    /// # }
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// Runtime::new()?.wait(async {
    ///     let store = bundled().await?; // or Store::open("s3://bucket/tracts.zarrvectors")
    ///     let bbox = BBox::parse("0,0,0:150,150,150")?;
    ///     let query = Query { bbox: Some(bbox), ..Query::default() };
    ///     for level in query.plan(&store).await? {
    ///         let chunks = level.chunks().count();
    ///         println!("level {}: {chunks} of {} chunks", level.level(), level.listed());
    ///         for (array, cells) in level.cells() {
    ///             println!("  {array}: {cells} cells");
    ///         }
    ///     }
    ///     Ok(())
    /// })
    /// # }
    /// ```
    pub fn plan<'a>(
        &'a self,
        store: &'a Store,
    ) -> BoxFuture<'a, Result<Vec<LevelPlan>, QueryError>> {
        Box::pin(async move {
            let resolved = object_relation::resolve(store, self.clone(), &mut Vec::new()).await?;
            let levels = Box::pin(prepare(store, resolved)).await?;
            levels.into_iter().map(LevelPlan::new).collect()
        })
    }

    /// The largest number of vertices, if the limit must not cut objects.
    pub(crate) fn limit_of_whole(&self) -> Option<u64> {
        let whole = self.select == Select::Objects && !self.limit_cuts_objects;
        self.limit.filter(|_| whole)
    }

    /// Whether the answer is grouped by object.
    pub(crate) fn is_by_object(&self) -> bool {
        self.objects.is_some()
            || self.groups.is_some()
            || self.select == Select::Objects
            || self.relation.is_some()
            || self.passing.is_some()
    }

    /// Whether the answer may lack vertices of its level.
    pub(crate) fn is_selective(&self) -> bool {
        self.is_by_object()
            || self.bbox.is_some()
            || self.region.is_some()
            || self.filter.is_some()
            || self.limit.is_some()
            || self.chunks.is_some()
            || self.within.is_some()
    }
}

/// Whether a pass begins with the owner column.
fn uses_owners(p: &Prepared, ask: &Ask) -> bool {
    ask.objects_by > OfObjects::Nothing && p.level.owner_column().current().is_some()
}

/// Whether a pass reads manifests.
fn reads_manifests(p: &Prepared, ask: &Ask) -> bool {
    match ask.objects_by {
        OfObjects::Nothing => false,
        OfObjects::Order => true,
        OfObjects::Owners | OfObjects::Rows => !uses_owners(p, ask),
    }
}

impl LevelPlan {
    fn new(mut prepared: Prepared) -> Result<Self, QueryError> {
        let query = &prepared.query;
        let by_object = query.is_by_object();
        let conditions = query.bbox.is_some() || query.filter.is_some();
        let ask = if !by_object {
            Some(scan::run::ask(&mut prepared)?)
        } else if query.select == Select::Objects && conditions {
            Some(gather::hits::ask(&prepared))
        } else {
            None
        };
        let pass = match &ask {
            Some(ask) => Some(plan_pass(&prepared, ask, true)?),
            None => None,
        };
        Ok(Self {
            manifests: ask
                .as_ref()
                .is_none_or(|ask| reads_manifests(&prepared, ask)),
            owners: ask.as_ref().is_some_and(|ask| uses_owners(&prepared, ask)),
            prepared,
            pass,
            by_object,
        })
    }

    /// Number of the level.
    #[must_use]
    pub fn level(&self) -> u32 {
        self.prepared.query.level
    }

    /// The coordinates of the chunks that are read first. Empty for a query by object without a box or a filter, whose chunks are determined by
    /// manifests.
    pub fn chunks(&self) -> impl Iterator<Item = &[i64]> {
        let pass = self.pass.iter();
        pass.flat_map(|pass| pass.vertices.reader.table.iter())
    }

    /// The number of chunks with vertices in the level.
    #[must_use]
    pub fn listed(&self) -> u64 {
        int::wide(self.prepared.level.vertices().presence().len())
    }

    /// Whether the answer is grouped by object. If so, the cells of the objects are read after the cells of the plan.
    #[must_use]
    pub const fn by_object(&self) -> bool {
        self.by_object
    }

    /// Whether manifests of objects are read: together with the cells of chunks, or first if the plan has no chunks.
    #[must_use]
    pub const fn manifests(&self) -> bool {
        self.manifests
    }

    /// Rows of the chunks, as known from documents, before any condition is tested.
    ///
    /// # Units
    ///
    /// Vertices, estimated by the mean of chunks.
    #[must_use]
    pub fn rows(&self) -> u64 {
        let chunks = int::wide(self.chunks().count());
        let pass = self.pass.as_ref();
        pass.map_or(0, |pass| chunks.saturating_mul(pass.load.rows_per_chunk))
    }

    /// Decoded bytes of these rows: positions and the attributes that are read.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let pass = self.pass.as_ref();
        pass.map_or(0, |pass| self.rows().saturating_mul(pass.load.row_bytes))
    }

    /// The cells of each step, which are requested together. [`in_flight`](Self::in_flight) steps run concurrently. Chunks come first, in the
    /// order of their coordinates; then the cells of links; then the owners of fragments, which are requested concurrently with all others.
    pub fn steps(&self) -> impl Iterator<Item = Vec<CellWant>> {
        self.pass.iter().flat_map(|pass| {
            let groups = pass.pace.groups.iter();
            let chunks = groups.map(|slots| pass.vertices.cells(slots));
            let (family, links) = self.prepared.link_parts(pass.links.clone());
            let links = links.into_iter();
            let links = links.filter_map(move |cells| Some(link_wants(family.as_ref()?, &cells)));
            let owners = self.owners.then(|| {
                let wants = owner_cells::wants(&self.prepared.level, &pass.vertices.reader.table);
                let wants = wants.unwrap_or_default().into_iter();
                wants.map(|(_, want)| want).collect()
            });
            chunks.chain(links).chain(owners)
        })
    }

    /// Most concurrent steps, by [`Query::memory_budget`].
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.pass.as_ref().map_or(0, |pass| pass.pace.window)
    }

    /// The plan as JSON: `level`, `chunks`, `chunks_of_level`, `vertices`, `bytes`, `cells` by array, `steps`, `steps_in_flight`,
    /// `by_object`, `manifests`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "level": self.level(),
            "chunks": self.chunks().count(),
            "chunks_of_level": self.listed(),
            "vertices": self.rows(),
            "bytes": self.bytes(),
            "cells": self.cells(),
            "steps": self.steps().count(),
            "steps_in_flight": self.in_flight(),
            "by_object": self.by_object(),
            "manifests": self.manifests(),
        })
    }

    /// The number of cells that all steps read, by the path of the array.
    #[must_use]
    pub fn cells(&self) -> BTreeMap<String, u64> {
        let mut cells = BTreeMap::new();
        for want in self.steps().flatten() {
            *cells.entry(want.array.path().to_owned()).or_insert(0) += 1;
        }
        cells
    }
}
