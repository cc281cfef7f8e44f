//! Points as annotations, in a spatial index with additive levels that together are level 0 of the store.
//!
//! Cells of the index are chunks of the store. Each chunk is cut into bands by a pseudo-random number of each row. Band *k* of
//! all chunks is spatial level *k*: a sample of every chunk at the same density. A viewer that needs few points reads only the
//! first bands, and a viewer that needs all points reads every band. No point is in two bands. If the store itself has additive
//! levels, each of them is cut into bands in this way, coarse levels first. Levels that replace each other are not used: their
//! points are repeated from finer levels, or are in no finer level.

use std::collections::BTreeSet;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use zvf_query::{ChunkRange, Column, Query, Table, query};
use zvf_store::Level;

use super::content::{ViewContent, check_size};
use crate::columns::{Properties, positions, single};
use crate::error::{Result, ViewError};
use crate::plan::grid::cell;
use crate::plan::number;
use crate::plan::points::AnnotatedLevel;
use crate::precomputed::{
    AnnotationInfo, AnnotationKind, AnnotationList, SpatialLevel, annotation_info,
};
use crate::viewed_store::{VERTICES, ViewedStore};

/// Bits of an id for the row, then for the chunk, then for the level.
const ROW_BITS: u32 = 32;
const CHUNK_BITS: u32 = 26;

/// The document `info`.
///
/// # Errors
/// The errors of the store.
pub(crate) async fn info(opened: &ViewedStore) -> Result<ViewContent> {
    let plan = opened.points().await?;
    let attributes = opened.attributes().await?;
    let properties = Properties::of(&attributes.shown);
    let size = |lower: &f64, upper: &f64| upper - lower;
    let mut spatial = Vec::new();
    for source in &plan.sources {
        for band in &source.bands {
            let (grid_shape, chunk_size) = match &source.cells {
                Some((_, shape)) => (shape.clone(), source.grid.chunk.clone()),
                None => (
                    vec![1; plan.lower.len()],
                    plan.lower
                        .iter()
                        .zip(&plan.upper)
                        .map(|(a, b)| size(a, b))
                        .collect(),
                ),
            };
            spatial.push(SpatialLevel {
                key: format!("s{}", spatial.len()),
                grid_shape,
                chunk_size,
                limit: band.points,
            });
        }
    }
    let mut document = annotation_info(&AnnotationInfo {
        dimensions: opened.dimensions.clone(),
        lower_bound: plan.lower.clone(),
        upper_bound: plan.upper.clone(),
        geometry: AnnotationKind::Point,
        properties: properties.described,
        relationships: relationships(plan.has_objects),
        spatial,
    });
    document["zvf"] = attributes.remarks(true);
    Ok(ViewContent::Document(document))
}

/// A cell with content, and a run of the bands of its source.
#[derive(Debug, Clone)]
pub(crate) struct CellRun {
    /// The number of the source.
    source: usize,
    /// The cell, by its place in the grid.
    pub(crate) cell: Vec<u64>,
    /// Cells of the grid on each axis.
    pub(crate) shape: Vec<u64>,
    /// Bands of the source.
    bands: Range<usize>,
    /// The spatial level of the first band.
    pub(crate) spatial: usize,
}

/// The files of a run: the cell in each of its spatial levels, and each point by its id.
#[derive(Debug, Default)]
pub(crate) struct CellFiles {
    pub(crate) bands: Vec<Vec<u8>>,
    pub(crate) by_id: Vec<(u64, Vec<u8>)>,
}

/// The cells with content, source by source.
///
/// # Errors
/// The errors of the store.
pub(crate) async fn runs(opened: &ViewedStore, most: u64) -> Result<Vec<CellRun>> {
    let plan = opened.points().await?;
    let mut found = Vec::new();
    let mut spatial = 0_usize;
    for (number, source) in plan.sources.iter().enumerate() {
        let presence = source.level.vertices().presence();
        let skip = presence.rank().saturating_sub(opened.dims());
        let mut cells = BTreeSet::new();
        for chunk in presence.iter() {
            cells.insert(match &source.cells {
                Some((first, _)) => {
                    let here = chunk.iter().skip(skip).zip(first);
                    let cell = here.map(|(at, first)| u64::try_from(at.saturating_sub(*first)));
                    let cell: Result<Vec<u64>, _> = cell.collect();
                    cell.map_err(|_| ViewError::malformed("a chunk before the first one"))?
                }
                None => vec![0; plan.lower.len()],
            });
        }
        let shape = match &source.cells {
            Some((_, shape)) => shape.clone(),
            None => vec![1; plan.lower.len()],
        };
        let runs = source.runs(plan.row, most);
        for cell in cells {
            found.extend(runs.iter().map(|bands| CellRun {
                source: number,
                cell: cell.clone(),
                shape: shape.clone(),
                bands: bands.clone(),
                spatial: spatial.saturating_add(bands.start),
            }));
        }
        spatial = spatial.saturating_add(source.bands.len());
    }
    Ok(found)
}

/// Cells on each axis and cells with content, of each spatial level.
///
/// # Errors
/// The errors of the store.
pub(crate) async fn shapes(opened: &ViewedStore) -> Result<Vec<(Vec<u64>, u64)>> {
    let plan = opened.points().await?;
    let mut found = Vec::new();
    for source in &plan.sources {
        let chunks = u64::try_from(source.level.vertices().presence().len()).unwrap_or(u64::MAX);
        let one = match &source.cells {
            Some((_, shape)) => (shape.clone(), chunks),
            None => (vec![1; plan.lower.len()], 1),
        };
        found.extend(source.bands.iter().map(|_| one.clone()));
    }
    Ok(found)
}

/// The number of points of all shown levels.
///
/// # Errors
/// The errors of the store.
pub(crate) async fn count(opened: &ViewedStore) -> Result<u64> {
    let plan = opened.points().await?;
    let counts = plan.sources.iter();
    Ok(counts.map(|source| source.level.doc().vertex_count).sum())
}

/// Encodes the files of one run.
///
/// # Errors
/// Limit for more than 64 MiB; the errors of the query.
pub(crate) async fn run_files(
    opened: &ViewedStore,
    budget: u64,
    run: &CellRun,
) -> Result<CellFiles> {
    let plan = opened.points().await?;
    let lost = || ViewError::malformed("no such bands");
    let source = plan.sources.get(run.source).ok_or_else(lost)?;
    let bands = source.bands.get(run.bands.clone()).ok_or_else(lost)?;
    let objects = match plan.has_objects {
        true => Some(opened.objects().await?),
        false => None,
    };
    let mut maker = AnnotationBuilder::new(opened, budget)
        .await?
        .with_lists(bands.len());
    maker.owners = plan.has_objects;
    let cell: Result<Vec<i64>, _> = run.cell.iter().map(|at| i64::try_from(*at)).collect();
    let wanted = source.chunk_of(&cell.map_err(|_| lost())?);
    let held = |id: u64| {
        let number = bands.iter().position(|band| band.holds(id))?;
        Some((id, number))
    };
    maker
        .cell(run.source, source, wanted.as_deref(), held)
        .await?;
    let mut found = CellFiles::default();
    for OwnedAnnotations { list, owners } in maker.lists {
        let mut owners = owners.into_iter();
        found.by_id.reserve(list.len());
        for (id, encoded) in list.each() {
            let mut file = encoded.to_vec();
            if let Some(objects) = &objects {
                let segments = owners.next().into_iter().flatten();
                let segments = segments.filter_map(|id| objects.segment_of(id)).collect();
                AnnotationList::relate(&mut file, &[segments])?;
            }
            found.by_id.push((id, file));
        }
        found.bands.push(list.finish());
    }
    Ok(found)
}

/// The relationships of annotations to objects.
pub(crate) fn relationships(has_objects: bool) -> Vec<String> {
    match has_objects {
        true => vec!["object".to_owned()],
        false => Vec::new(),
    }
}

/// One file of the view: a cell, an annotation by its id, the annotations of an object.
///
/// # Errors
/// Not found; Limit for an answer that is too large; the errors of the query.
pub(crate) async fn list(
    opened: &ViewedStore,
    budget: u64,
    folder: &str,
    key: &str,
) -> Result<ViewContent> {
    match folder {
        "by_id" => by_id(opened, budget, number(key)?).await,
        "by_object" => by_object(opened, budget, number(key)?).await,
        folder => {
            let spatial = folder
                .strip_prefix('s')
                .ok_or_else(|| ViewError::not_found("no such index"))?;
            in_cell(opened, budget, number(spatial)?, key).await
        }
    }
}

async fn in_cell(
    opened: &ViewedStore,
    budget: u64,
    spatial: u64,
    key: &str,
) -> Result<ViewContent> {
    let plan = opened.points().await?;
    let missing = || ViewError::not_found("no such spatial level");
    let (number, source, band) = plan.spatial(spatial).ok_or_else(missing)?;
    let mut maker = AnnotationBuilder::new(opened, budget).await?;
    let shape = match &source.cells {
        Some((_, shape)) => shape.clone(),
        None => vec![1; plan.lower.len()],
    };
    let wanted = source.chunk_of(&cell(key, &shape)?);
    let held = |id: u64| band.holds(id).then_some((id, 0));
    maker.cell(number, source, wanted.as_deref(), held).await?;
    Ok(maker.only()?.list.finish().into())
}

async fn by_id(opened: &ViewedStore, budget: u64, id: u64) -> Result<ViewContent> {
    let plan = opened.points().await?;
    let missing = || ViewError::not_found("no such annotation");
    let part = |shift: u32, bits: u32| (id >> shift) & ((1u64 << bits) - 1);
    let of = |number: u64| usize::try_from(number).ok();
    let number = of(id >> (ROW_BITS + CHUNK_BITS)).ok_or_else(missing)?;
    let source = plan.sources.get(number).ok_or_else(missing)?;
    let ordinal = of(part(ROW_BITS, CHUNK_BITS)).ok_or_else(missing)?;
    let chunk = source.level.vertices().presence().get(ordinal);
    let chunk = chunk.ok_or_else(missing)?;
    let row = part(0, ROW_BITS);
    let mut maker = AnnotationBuilder::new(opened, budget).await?;
    maker.owners = plan.has_objects;
    maker
        .chunk(source.level.number(), chunk, |found| {
            (found == row).then_some((id, 0))
        })
        .await?;
    let made = maker.only()?;
    if made.list.is_empty() {
        return Err(missing());
    }
    let mut related = Vec::new();
    if plan.has_objects {
        let objects = opened.objects().await?;
        let owners = made.owners.iter().flatten();
        related.push(owners.filter_map(|id| objects.segment_of(*id)).collect());
    }
    Ok(made.list.single(&related)?.into())
}

async fn by_object(opened: &ViewedStore, budget: u64, segment: u64) -> Result<ViewContent> {
    let plan = opened.points().await?;
    if !plan.has_objects {
        return Err(ViewError::not_found("the store has no objects"));
    }
    let object = opened.objects().await?.find(segment)?;
    let mut maker = AnnotationBuilder::new(opened, budget).await?;
    for (number, source) in plan.sources.iter().enumerate() {
        if source.level.object_index().is_some() {
            maker.object(number, &source.level, object).await?;
        }
    }
    Ok(maker.only()?.list.finish().into())
}

/// The bits of an id for the level and the chunk.
fn base(level: usize, ordinal: usize) -> Result<u64> {
    let fits = |number: usize, bits: u32| {
        let number = u64::try_from(number).ok()?;
        (number < 1u64 << bits).then_some(number)
    };
    match (
        fits(level, 64 - ROW_BITS - CHUNK_BITS),
        fits(ordinal, CHUNK_BITS),
    ) {
        (Some(level), Some(chunk)) => Ok(level << (ROW_BITS + CHUNK_BITS) | chunk << ROW_BITS),
        _ => Err(ViewError::too_large("more chunks than ids have room for")),
    }
}

/// A list of annotations.
#[derive(Debug, Clone)]
struct OwnedAnnotations {
    list: AnnotationList,
    /// The owners of each annotation, if they are collected.
    owners: Vec<Vec<i64>>,
}

/// Builds lists of annotations.
struct AnnotationBuilder<'o> {
    opened: &'o ViewedStore,
    attributes: std::sync::Arc<crate::columns::ShownAttributes>,
    properties: Properties,
    lists: Vec<OwnedAnnotations>,
    budget: u64,
    /// Whether the owners of annotations are collected.
    owners: bool,
}

impl<'o> AnnotationBuilder<'o> {
    async fn new(opened: &'o ViewedStore, budget: u64) -> Result<Self> {
        let attributes = opened.attributes().await?;
        let properties = Properties::of(&attributes.shown);
        let list = AnnotationList::new(AnnotationKind::Point, opened.dims(), properties.types());
        let lists = vec![OwnedAnnotations {
            list,
            owners: Vec::new(),
        }];
        Ok(Self {
            opened,
            attributes,
            properties,
            lists,
            budget,
            owners: false,
        })
    }

    /// The same with `count` empty lists.
    fn with_lists(mut self, count: usize) -> Self {
        if let Some(first) = self.lists.first().cloned() {
            self.lists = vec![first; count];
        }
        self
    }

    /// The only list.
    ///
    /// # Errors
    /// Another number of lists.
    fn only(self) -> Result<OwnedAnnotations> {
        let wrong = || ViewError::malformed("a bug in zvf: not one list; please report it");
        let [made] = <[OwnedAnnotations; 1]>::try_from(self.lists).map_err(|_| wrong())?;
        Ok(made)
    }

    /// Appends rows of the chunks of a cell, or of all chunks if there is one cell: only those rows to which `held` assigns an id and a list.
    async fn cell(
        &mut self,
        number: usize,
        source: &AnnotatedLevel,
        wanted: Option<&[i64]>,
        held: impl Fn(u64) -> Option<(u64, usize)>,
    ) -> Result<()> {
        let presence = source.level.vertices().presence();
        let skip = presence.rank().saturating_sub(self.opened.dims());
        if let (0, Some(wanted)) = (skip, wanted) {
            let Some(ordinal) = presence.position(wanted) else {
                return Ok(());
            };
            let base = base(number, ordinal)?;
            let level = source.level.number();
            return self.chunk(level, wanted, |row| held(base | row)).await;
        }
        for (ordinal, chunk) in presence.iter().enumerate() {
            if wanted.is_none_or(|wanted| chunk.get(skip..) == Some(wanted)) {
                let base = base(number, ordinal)?;
                let level = source.level.number();
                self.chunk(level, chunk, |row| held(base | row)).await?;
            }
        }
        Ok(())
    }

    fn query(&self, level: u32, columns: &[Column]) -> Query {
        let mut all = vec![Column::Position, Column::Row];
        all.extend_from_slice(columns);
        // The shown attributes are attributes of level 0; other additive levels have attributes of their own.
        all.push(Column::Attributes);
        Query {
            level,
            own_level_only: true,
            columns: all,
            outputs: VERTICES,
            memory_budget: self.budget,
            ..Query::default()
        }
    }

    /// Appends rows of one chunk: only those rows to which `id` assigns an id and a list.
    async fn chunk(
        &mut self,
        level: u32,
        chunk: &[i64],
        id: impl Fn(u64) -> Option<(u64, usize)>,
    ) -> Result<()> {
        let owners: &[Column] = match self.owners {
            true => &[Column::ObjectIds],
            false => &[],
        };
        let mut one = self.query(level, owners);
        one.chunks = Some(ChunkRange {
            from: Some(chunk.to_vec()),
            until: after(chunk),
        });
        let mut answer = query(&self.opened.store, one).await?;
        while let Some(item) = answer.next().await? {
            let (Table::Vertices, batch) = item else {
                continue;
            };
            let rows = rows(&batch)?;
            let ids: Vec<Option<(u64, usize)>> = rows.iter().map(|row| id(*row)).collect();
            if ids.iter().any(Option::is_some) {
                self.append(&batch, &ids)?;
            }
        }
        Ok(())
    }

    /// Appends the points of one object in one level.
    async fn object(&mut self, number: usize, level: &Level, object: i64) -> Result<()> {
        let mut one = self.query(level.number(), &[Column::Chunk]);
        one.objects = Some(vec![object]);
        one.ignore_missing = true;
        let presence = level.vertices().presence();
        let mut answer = query(&self.opened.store, one).await?;
        while let Some(item) = answer.next().await? {
            let (Table::Vertices, batch) = item else {
                continue;
            };
            let mut ids = Vec::with_capacity(batch.num_rows());
            let chunks = chunks(&batch)?;
            for (row, chunk) in rows(&batch)?.into_iter().zip(chunks) {
                let ordinal = presence
                    .position(&chunk)
                    .ok_or_else(|| ViewError::malformed("an object in a chunk without content"))?;
                ids.push(Some((base(number, ordinal)? | row, 0)));
            }
            self.append(&batch, &ids)?;
        }
        Ok(())
    }

    fn append(&mut self, batch: &RecordBatch, ids: &[Option<(u64, usize)>]) -> Result<()> {
        let dims = self.opened.dims();
        let positions = single(&positions(batch, dims)?);
        let values = self.properties.values(&self.attributes.shown, batch)?;
        for (row, (id, point)) in ids.iter().zip(positions.chunks(dims)).enumerate() {
            let Some((id, list)) = id else { continue };
            let made = self.lists.get_mut(*list);
            let made = made.ok_or_else(|| ViewError::malformed("a bug in zvf: no such list"))?;
            made.list.push(*id, point, &values, row)?;
            if self.owners {
                made.owners.push(owners(batch, row)?);
            }
        }
        check_size(self.lists.iter().map(|made| made.list.bytes()).sum())
    }
}

/// The exclusive end of a range in lexicographic order that contains only this chunk; it may have fewer components. `None`: unbounded.
fn after(chunk: &[i64]) -> Option<Vec<i64>> {
    let mut next = chunk.to_vec();
    while let Some(last) = next.pop() {
        if let Some(more) = last.checked_add(1) {
            next.push(more);
            return Some(next);
        }
    }
    None
}

/// The column of rows, each below 2^32.
fn rows(batch: &RecordBatch) -> Result<Vec<u64>> {
    let column = batch.column_by_name("row");
    let column = column.and_then(|column| column.as_primitive_opt::<UInt64Type>());
    let column = column.ok_or_else(|| ViewError::malformed("the answer has no rows"))?;
    match column.values().iter().all(|row| *row < 1 << ROW_BITS) {
        true => Ok(column.values().to_vec()),
        false => Err(ViewError::too_large("more rows than ids have room for")),
    }
}

/// The chunks of the rows of a batch.
///
/// # Errors
/// Malformed: the batch does not have the column.
pub(crate) fn chunks(batch: &RecordBatch) -> Result<Vec<Vec<i64>>> {
    let column = batch.column_by_name("chunk");
    let list = column.and_then(|column| column.as_fixed_size_list_opt());
    let list = list.ok_or_else(|| ViewError::malformed("the answer has no chunks"))?;
    (0..list.len())
        .map(|row| {
            let chunk = list.value(row);
            let chunk = chunk.as_primitive_opt::<Int64Type>();
            chunk
                .map(|chunk| chunk.values().to_vec())
                .ok_or_else(|| ViewError::malformed("the answer has no chunks"))
        })
        .collect()
}

fn owners(batch: &RecordBatch, row: usize) -> Result<Vec<i64>> {
    let column = batch.column_by_name("object_ids");
    let list = column.and_then(|column| column.as_list_opt::<i32>());
    let list = list.ok_or_else(|| ViewError::malformed("the answer has no owners"))?;
    let owners = list.value(row);
    let owners = owners.as_primitive_opt::<Int64Type>();
    Ok(owners
        .map(|owners| owners.values().to_vec())
        .unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_end_behind_their_chunk() {
        assert_eq!(after(&[1, 2]), Some(vec![1, 3]));
        assert_eq!(after(&[1, i64::MAX]), Some(vec![2]));
        assert_eq!(after(&[i64::MAX]), None);
    }
}
