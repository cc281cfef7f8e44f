//! Lines, polylines and streamlines as annotations: every object once, in a fixed random order.
//!
//! The spatial index has one cell. Its levels are runs of that order, small ones first, so that a viewer draws an even sample
//! of the objects until it has requested all of them. No object is cut or drawn twice.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use zvf_query::{Column, Outputs, Query, Table, query};

use super::content::{ViewContent, check_size};
use super::points::relationships;
use crate::columns::{positions, single};
use crate::error::{Result, ViewError};
use crate::plan::grid::cell;
use crate::plan::lines::LinesPlan;
use crate::plan::objects::ObjectSegments;
use crate::plan::{number, scrambled};
use crate::precomputed::{AnnotationInfo, AnnotationList, SpatialLevel, annotation_info};
use crate::viewed_store::ViewedStore;

/// The document `info`.
///
/// # Errors
/// As [`ViewedStore::lines`].
pub(crate) async fn info(opened: &ViewedStore) -> Result<ViewContent> {
    let plan = opened.lines().await?;
    let sizes = plan.lower.iter().zip(&plan.upper);
    let size: Vec<f64> = sizes.map(|(lower, upper)| upper - lower).collect();
    let levels = plan.levels.iter().enumerate();
    let spatial = levels.map(|(number, objects)| SpatialLevel {
        key: format!("s{number}"),
        grid_shape: vec![1; plan.lower.len()],
        chunk_size: size.clone(),
        limit: (objects.len() as u64).max(1),
    });
    let mut document = annotation_info(&AnnotationInfo {
        dimensions: opened.dimensions.clone(),
        lower_bound: plan.lower.clone(),
        upper_bound: plan.upper.clone(),
        geometry: plan.geometry,
        properties: plan.properties.described.clone(),
        relationships: relationships(true),
        spatial: spatial.collect(),
    });
    document["zvf"] = plan.attributes.remarks(true);
    Ok(ViewContent::Document(document))
}

/// Number of levels.
///
/// # Errors
/// As [`ViewedStore::lines`].
pub(crate) async fn levels(opened: &ViewedStore) -> Result<usize> {
    Ok(opened.lines().await?.levels.len())
}

/// The files of one level: its only cell, and for each object its segment, its file by id and the list of its related annotations.
#[derive(Debug, Default)]
pub(crate) struct LevelFiles {
    pub(crate) cell: Vec<u8>,
    pub(crate) objects: Vec<(u64, Vec<u8>, Vec<u8>)>,
}

/// Encodes the files of one level.
///
/// # Errors
/// As [`list`].
pub(crate) async fn level_files(
    opened: &ViewedStore,
    budget: u64,
    level: usize,
) -> Result<LevelFiles> {
    let plan = opened.lines().await?;
    let objects = opened.objects().await?;
    let wanted = members(&plan, &objects, level)?;
    let list = lines(opened, &plan, &objects, budget, wanted).await?;
    let mut found = LevelFiles::default();
    for (segment, encoded) in list.each() {
        let mut single = encoded.to_vec();
        AnnotationList::relate(&mut single, &[vec![segment]])?;
        let related = AnnotationList::of_one(segment, encoded);
        found.objects.push((segment, single, related));
    }
    found.cell = list.finish_by(scrambled);
    Ok(found)
}

/// The ids of the objects of a level, in the order of the object index, so that each stored chunk of manifests is read once.
fn members(plan: &LinesPlan, objects: &ObjectSegments, level: usize) -> Result<Vec<i64>> {
    let numbers = plan.levels.get(level);
    let numbers = numbers.ok_or_else(|| ViewError::not_found("no such spatial level"))?;
    let mut numbers = numbers.clone();
    numbers.sort_unstable();
    let ids = numbers.into_iter();
    Ok(ids.filter_map(|number| objects.id(number)).collect())
}

/// One file of the view: a level, or one object.
///
/// # Errors
/// Not found; Limit for an answer that is too large; the errors of the query.
pub(crate) async fn list(
    opened: &ViewedStore,
    budget: u64,
    folder: &str,
    key: &str,
) -> Result<ViewContent> {
    let plan = opened.lines().await?;
    let objects = opened.objects().await?;
    let wanted: Vec<i64> = match folder {
        "by_id" | "by_object" => vec![objects.find(number(key)?)?],
        folder => {
            cell(key, &vec![1; plan.lower.len()])?;
            let level = folder.strip_prefix('s').map(number).transpose()?;
            let level = level.and_then(|level| usize::try_from(level).ok());
            let level = level.ok_or_else(|| ViewError::not_found("no such spatial level"))?;
            members(&plan, &objects, level)?
        }
    };
    let single_id = folder == "by_id";
    let related = match (single_id, wanted.as_slice()) {
        (true, [id]) => vec![objects.segment_of(*id).into_iter().collect()],
        _ => Vec::new(),
    };
    let list = lines(opened, &plan, &objects, budget, wanted).await?;
    match single_id {
        true if list.is_empty() => Err(ViewError::not_found("the object has no line")),
        true => Ok(list.single(&related)?.into()),
        false => Ok(list.finish_by(scrambled).into()),
    }
}

/// Whole objects as annotations.
async fn lines(
    opened: &ViewedStore,
    plan: &LinesPlan,
    objects: &ObjectSegments,
    budget: u64,
    wanted: Vec<i64>,
) -> Result<AnnotationList> {
    let mut list = plan.list();
    if wanted.is_empty() {
        return Ok(list);
    }
    let dims = opened.dims();
    let one = Query {
        objects: Some(wanted),
        columns: vec![Column::Position],
        outputs: Outputs {
            vertices: true,
            links: false,
            objects: true,
        },
        memory_budget: budget,
        ..Query::default()
    };
    let mut coordinates: Vec<f32> = Vec::new();
    let mut answer = query(&opened.store, one).await?;
    while let Some((table, batch)) = answer.next().await? {
        match table {
            Table::Vertices => {
                coordinates.extend(single(&positions(&batch, dims)?));
                check_size(coordinates.len().saturating_mul(4))?;
            }
            Table::Objects => {
                let values = plan.properties.values(&plan.attributes.shown, &batch)?;
                let ids = batch.column_by_name("object_id");
                let ids = ids.and_then(|column| column.as_primitive_opt::<Int64Type>());
                let ids = ids.ok_or_else(|| ViewError::malformed("the object table has no ids"))?;
                let starts = whole(&batch, "start")?;
                let lengths = whole(&batch, "length")?;
                let rows = ids.values().iter().zip(&starts).zip(&lengths).enumerate();
                for (row, ((id, start), length)) in rows {
                    if *length < 2 {
                        continue;
                    }
                    let end = start.saturating_add(*length).saturating_mul(dims);
                    let points = coordinates.get(start.saturating_mul(dims)..end);
                    let (Some(points), Some(id)) = (points, objects.segment_of(*id)) else {
                        return Err(ViewError::malformed("an object outside of its own answer"));
                    };
                    list.push(id, points, &values, row)?;
                }
                check_size(list.bytes())?;
            }
            Table::Links => {}
        }
    }
    Ok(list)
}

/// A column of whole numbers of the object table.
fn whole(batch: &RecordBatch, name: &str) -> Result<Vec<usize>> {
    let wrong = || ViewError::malformed(format!("the object table has no column {name}"));
    let column = batch.column_by_name(name).ok_or_else(wrong)?;
    if let Some(column) = column.as_primitive_opt::<UInt64Type>() {
        let values = column.values().iter().map(|value| usize::try_from(*value));
        return values.collect::<Result<_, _>>().map_err(|_| wrong());
    }
    Err(wrong())
}
