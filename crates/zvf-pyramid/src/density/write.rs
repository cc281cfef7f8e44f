//! Writes a level.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use zvf_meta::{Kind, LevelDoc};

use super::metadata::{LevelMetadata, Numbered, attribute, column};
use super::tables;
use crate::reference::{ObjectColumn, write_column};
use zvf_encode::batches::{Corners, Router};
use zvf_encode::error::narrow;
use zvf_encode::level::{
    LevelCells, LevelInput, PushedObjectTables, Watch, checked_groups, write_arrays,
};
use zvf_encode::target::{Below, node};
use zvf_encode::{Batch, Groups, Outside, StoreSpec, Summary, WriteError, documents};

/// Where and how a level is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LevelTarget<'t> {
    pub(crate) below: &'t Below<'t>,
    pub(crate) bounds: &'t Corners,
    pub(crate) cells: &'t LevelCells,
    pub(crate) chunk_shape: &'t [f64],
    /// Bins of level 0, by which cells of points are divided, because some readers take fragments for these bins.
    pub(crate) bins: Option<&'t [f64]>,
    pub(crate) budget: usize,
    pub(crate) threads: usize,
    pub(crate) folder: &'t Path,
    /// Whether the places of the vertices are requested.
    pub(crate) placed: bool,
}

impl LevelTarget<'_> {
    /// The same target with its share of the budget. The levels share half of it; level 0, which is read while they are written, takes the other half.
    pub(super) fn beside_reading(self, levels: usize) -> Self {
        let budget = self.budget / 2 / levels.max(1);
        Self { budget, ..self }
    }
}

/// A level that is being written.
#[derive(Debug)]
pub(super) struct Writing<'t> {
    spec: StoreSpec,
    router: Router,
    to: LevelTarget<'t>,
}

impl<'t> Writing<'t> {
    pub(super) fn new(metadata: &LevelMetadata, to: LevelTarget<'t>) -> Result<Self, WriteError> {
        let mut spec = metadata.spec.clone();
        spec.chunk_shape = to.chunk_shape.to_vec();
        spec.compression = to.cells.compression.clone();
        spec.shard_shape = to.cells.shards.clone().into();
        spec.outside = Outside::Grow;
        if spec.kind == Kind::PointCloud && !spec.objects {
            spec.bin_shape = to.bins.map(<[f64]>::to_vec);
            // The package accepts bins that do not divide a chunk (trap T13): cells are not divided by them.
            if spec.check().is_err() {
                spec.bin_shape = None;
            }
        }
        spec.check()?;
        let mut router = Router::new(&spec, to.budget, to.folder).with_threads(to.threads);
        if to.placed {
            router = router.with_trace();
        }
        Ok(Self { spec, router, to })
    }

    /// A batch of vertices: rows of a query result, with the object of each run of them.
    fn batch(
        &self,
        vertices: &RecordBatch,
        rows: &[u32],
        runs: Vec<(i64, usize)>,
    ) -> Result<Batch, WriteError> {
        let position = column(vertices, "position")?;
        let mut batch = Batch::new(tables::rows("position", &position, rows)?);
        if self.spec.has_objects() {
            batch = batch.with_object_runs(runs);
        }
        for one in self.spec.batch_attributes() {
            let values = attribute(vertices, &one.name)?;
            let values = tables::rows(&one.name, &values, rows)?;
            batch = batch.with_attribute(&one.name, values);
        }
        Ok(batch)
    }

    /// Adds vertices, which are rows of a query result, with the object of each run of them; links may follow.
    pub(super) fn push_vertices(
        &mut self,
        metadata: &LevelMetadata,
        vertices: &RecordBatch,
        rows: &[u32],
        runs: Vec<(i64, usize)>,
    ) -> Result<(), WriteError> {
        let batch = self.batch(vertices, rows, runs)?;
        self.push(batch, (&metadata.no_links, &[]))
    }

    /// Adds links between vertices that were added: their ends by number, and rows of a query result with their attributes.
    pub(super) fn push_links(
        &mut self,
        metadata: &LevelMetadata,
        ends: Vec<u64>,
        links: (&RecordBatch, &[u32]),
    ) -> Result<(), WriteError> {
        let batch = self.batch(&metadata.no_vertices, &[], Vec::new())?;
        self.push(batch.with_links_between_batches(ends), links)
    }

    /// Adds whole trees: all rows of a query result, and the links between them, with their attributes.
    pub(super) fn push_trees(
        &mut self,
        vertices: &RecordBatch,
        runs: Vec<(i64, usize)>,
        ends: Vec<u64>,
        links: (&RecordBatch, &[u32]),
    ) -> Result<(), WriteError> {
        let rows: Vec<u32> = (0..narrow("vertices", vertices.num_rows())?).collect();
        let batch = self.batch(vertices, &rows, runs)?;
        self.push(batch.with_links(ends), links)
    }

    /// Adds a batch; the attributes of its links are rows of a query result.
    fn push(
        &mut self,
        mut batch: Batch,
        (links, rows): (&RecordBatch, &[u32]),
    ) -> Result<(), WriteError> {
        for one in &self.spec.links.attributes {
            let values = tables::rows(&one.name, &attribute(links, &one.name)?, rows)?;
            batch = batch.with_link_attribute(&one.name, values);
        }
        self.router.push(&self.spec, &batch)
    }

    /// Bytes of vertices that wait in memory.
    pub(super) fn memory(&self) -> usize {
        self.router.rows.memory()
    }

    /// Writes the level except for its document, which is returned.
    pub(super) fn finish(
        self,
        metadata: &LevelMetadata,
        columns: &mut [ObjectColumn],
        doc: LevelDoc,
    ) -> Result<WrittenLevel, WriteError> {
        let Self { spec, router, to } = self;
        let held = if spec.has_objects() {
            PushedObjectTables::numbered(metadata.ids.clone())
        } else {
            PushedObjectTables::new(&spec)
        };
        let groups = if spec.has_objects() {
            checked_groups(&spec, &metadata.groups)?
        } else {
            Groups::default()
        };
        let input = LevelInput {
            spec: Arc::new(spec),
            link_shards: to.cells.has_link_shards(),
            router,
            tables: held,
            groups,
            folder: to.folder.to_owned(),
            budget: to.budget,
            threads: to.threads,
            watch: Watch::default(),
        };
        let (mut doc, summary, trace) = write_arrays(input, to.bounds, to.below, doc)?;
        write_columns(metadata, columns, &mut doc, to)?;
        let places = trace.map(|trace| Numbered::new(trace.chunks, &trace.places));
        Ok(WrittenLevel {
            doc,
            summary,
            places: places.transpose()?,
        })
    }
}

/// A level that is written except for its document.
#[derive(Debug)]
pub(crate) struct WrittenLevel {
    pub(crate) doc: LevelDoc,
    pub(crate) summary: Summary,
    /// The places of its vertices, if requested.
    pub(crate) places: Option<Numbered>,
}

/// Writes attributes of objects in the order of the index, as in level 0.
fn write_columns(
    metadata: &LevelMetadata,
    columns: &mut [ObjectColumn],
    doc: &mut LevelDoc,
    to: LevelTarget<'_>,
) -> Result<(), WriteError> {
    if columns.is_empty() {
        return Ok(());
    }
    // Every object keeps its values, even if none of its vertices remains.
    let kept = &metadata.index_rows;
    let mut objects = vec![node("object_attributes", documents::plain_group())];
    for column in columns {
        let (path, one) = write_column(column, kept, kept, to.cells, to.below)?;
        objects.push(node(path, one.to_json()));
    }
    to.below.put(objects)?;
    let family = "object_attributes".to_owned();
    if !doc.arrays_present.contains(&family) {
        doc.arrays_present.push(family);
    }
    Ok(())
}
