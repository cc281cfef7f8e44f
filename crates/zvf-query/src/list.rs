//! Lists of the objects and links of a store.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};
use zvf_store::format::keys::format_delta;
use zvf_store::format::manifest::Manifest;
use zvf_store::{CellWant, ChunkCoord, Deltas, Endpoint, Level, LinkFamily, Names, Need, Store};

use crate::QueryError;
use crate::answer::{Answer, Emit, Schemas, Summary, Table};
use crate::columns::arrow;
use crate::columns::attribute::Column;
use crate::columns::gather::Rows;
use crate::error::Place;
use crate::fragments::Fragments;
use crate::links::records::{Family, LinkCellRef};
use crate::objects::Form;
use crate::plan::chunks::{ChunkTable, Slot};
use crate::prepare::chain;
use crate::scan::plan::{Load, Pace};
use crate::stale::stale_level;
use crate::union::objects::{ObjectUnion, Sums};
use crate::union::schema::{self, Source, fitted};
use zvf_store::format::int;

/// Rows of one batch.
const BATCH: usize = 1 << 14;

/// Largest number of manifest chunks that remain cached.
const FEW: u64 = 2;

/// Lists the objects of a level, in the order of the object index, as table [`Table::Objects`] of an answer:
/// `object_id`, `vertices`, `chunks`, `fragments`, then object attributes. Objects without vertices are listed too, deleted
/// ones are not.
///
/// For an additive level the complete content is listed, unless `own_level_only` is set: counts are sums over the levels of the chain, and
/// objects that only coarser levels have are last.
///
/// # Shape
///
/// `vertices` is the number of rows of the object's fragments, including repeated fragments; `chunks` the number of different chunks in its
/// manifest; `fragments` the number of entries of the manifest.
///
/// # Cost
///
/// Reads the table of ids, all manifests, fragment indexes and object attributes, but no vertices. Memory: eight bytes for each fragment, and for an
/// additive level some fifty bytes for each object.
///
/// # Errors
///
/// Misuse: a level that does not exist. I/O; malformed manifests and fragment indexes. Source: `zvf-0.9`,
/// section 11.
pub fn list_objects<'a>(
    store: &'a Store,
    level: u32,
    own_level_only: bool,
) -> BoxFuture<'a, Result<Answer, QueryError>> {
    list_chosen(store, (level, own_level_only), None)
}

/// Lists the objects with some ids, or all objects, like [`list_objects`]. Reads only the manifests and attributes of these objects.
pub(crate) fn list_chosen(
    store: &Store,
    (level, own_level_only): (u32, bool),
    chosen: Option<Arc<HashSet<i64>>>,
) -> BoxFuture<'_, Result<Answer, QueryError>> {
    Box::pin(async move {
        let need = Need {
            object_attributes: Names::All,
            objects: true,
            ..Need::default()
        };
        let levels = chain(store, level, own_level_only, &need).await?;
        let store = store.clone();
        Answer::start(|mut emit| async move {
            let last = levels.iter().map(Level::next_round).max().unwrap_or(0);
            let run = objects(levels, chosen.as_deref(), &mut emit).await;
            emit.end(run, &store, last.saturating_add(2)).await
        })
        .await
    })
}

/// The warning of [`stale_level`] for the requested level, the first one of its chain.
fn stale_first(level: Option<&Level>) -> Vec<String> {
    let warning = level.and_then(|level| stale_level(level.store(), level.number()));
    Vec::from_iter(warning)
}

/// The metadata of a table: the number of the listed level.
fn of_level(number: u32) -> HashMap<String, String> {
    HashMap::from([("zvf.level".to_owned(), number.to_string())])
}

async fn objects(
    levels: Vec<Level>,
    chosen: Option<&HashSet<i64>>,
    emit: &mut Emit,
) -> Result<Summary, QueryError> {
    let mut summary = Summary {
        levels: levels.iter().map(Level::number).collect(),
        warnings: stale_first(levels.first()),
        ..Summary::default()
    };
    let number = levels.first().map_or(0, Level::number);
    let metadata = of_level(number);
    let table = ObjectUnion::new(&levels, Form::Listed, &metadata, &mut summary.warnings)?;
    emit.schemas(Schemas {
        objects: table.as_ref().map(|table| Arc::clone(&table.schema)),
        ..Schemas::default()
    })
    .await;
    let Some(table) = table else {
        return Ok(summary);
    };
    let round = levels.iter().map(Level::next_round).max().unwrap_or(0);
    // Objects of a single level are sent as they are counted; for several levels they are sent at the end.
    let streamed = levels.len() == 1;
    let mut sums = Sums::default();
    for (at, level) in levels.iter().enumerate() {
        let Some(index) = level.object_index() else {
            continue;
        };
        let (ids, lengths) = futures::join!(index.ids_in(round), lengths(level, round));
        let (ids, (chunks, lengths, cells)) = (ids?, lengths?);
        summary.cells_read = summary.cells_read.saturating_add(cells);
        // The manifest chunks with chosen objects.
        let parts: Option<HashSet<u64>> = chosen.map(|chosen| {
            let rows = ids.objects().filter(|(_, id)| chosen.contains(id));
            rows.map(|(row, _)| index.chunk_of(row)).collect()
        });
        let is_listed =
            |row: &u64| ids.has(*row) && chosen.is_none_or(|chosen| chosen.contains(&ids.id(*row)));
        for number in 0..index.manifest_chunks() {
            if parts.as_ref().is_some_and(|parts| !parts.contains(&number)) {
                continue;
            }
            let part = index.manifest_chunk_in(round, number).await?;
            let (first, end) = (
                part.first_slot(),
                part.first_slot().saturating_add(int::wide(part.len())),
            );
            for start in (first..end).step_by(BATCH) {
                let rows = start..start.saturating_add(int::wide(BATCH)).min(end);
                for row in rows.filter(is_listed) {
                    let id = ids.id(row);
                    sums.add(at, id, count(level, part.blob(row), &chunks, &lengths, id)?);
                }
                if streamed {
                    let done = std::mem::take(&mut sums);
                    summary.objects += table.send(&done.rows, round, BATCH, 0, emit).await?;
                }
            }
            drop(part);
            if index.manifest_chunks() > FEW {
                index.forget_manifests();
            }
        }
    }
    summary.objects += table.send(&sums.rows, round, BATCH, 64 << 20, emit).await?;
    Ok(summary)
}

/// Number of rows of the largest chunk of a level, from the fragment indexes; `None` if the level has none.
///
/// # Cost
///
/// Reads the fragment index of every chunk.
///
/// # Errors
///
/// I/O; malformed indexes. Limit: too many chunks.
pub fn largest_chunk(level: &Level) -> BoxFuture<'_, Result<Option<u64>, QueryError>> {
    Box::pin(async move {
        if level.vertex_fragments().is_none() {
            return Ok(None);
        }
        let (_, chunks, _) = lengths(level, level.next_round()).await?;
        let rows = chunks
            .iter()
            .map(|fragments| fragments.iter().copied().map(u64::from).sum());
        Ok(rows.max())
    })
}

/// Row counts of every fragment, by chunk.
async fn lengths(
    level: &Level,
    round: u32,
) -> Result<(Arc<ChunkTable>, Vec<Vec<u32>>, u64), QueryError> {
    let number = level.number();
    let Some(array) = level.vertex_fragments() else {
        return Ok((Arc::default(), Vec::new(), 0));
    };
    let table = ChunkTable::new(level.key_rank(), array.presence().iter()).ok_or_else(|| {
        let place = Place::array(number, "vertex_fragments");
        QueryError::limit(
            place,
            "chunks",
            int::wide(array.presence().len()),
            u64::from(Slot::MAX - 1),
        )
    })?;
    let chunks = u32::try_from(table.len()).unwrap_or(Slot::MAX);
    let load = Load {
        rows_per_chunk: 1,
        row_bytes: 1 << 16,
        batch_rows: 1 << 16,
        budget: 64 << 20,
        limit: None,
    };
    let pace = Pace::new(chunks, load);
    let table = Arc::new(table);
    let groups = pace.groups.into_iter().map(|slots: Range<Slot>| {
        let wants = slots
            .clone()
            .map(|slot| CellWant {
                array: Arc::clone(array),
                chunk: ChunkCoord::from(table.get(slot)),
            })
            .collect();
        let table = Arc::clone(&table);
        level.store().fetch_map(round, wants, move |cells| {
            slots
                .zip(cells)
                .map(|(slot, cell)| {
                    let Some(cell) = cell else {
                        return Ok(Vec::new());
                    };
                    // The number of rows is not known here, so rows outside the chunk are not detected.
                    let fragments = Fragments::decode(&cell, u32::MAX).map_err(|source| {
                        QueryError::decode(
                            Place::cell(number, "vertex_fragments", table.get(slot)),
                            source,
                        )
                    })?;
                    Ok(fragments
                        .iter()
                        .map(|(_, rows)| u32::try_from(rows.len()).unwrap_or(u32::MAX))
                        .collect())
                })
                .collect::<Result<Vec<Vec<u32>>, QueryError>>()
        })
    });
    let mut groups = stream::iter(groups).buffered(pace.window);
    let mut lengths = Vec::with_capacity(table.len());
    while let Some(part) = groups.try_next().await? {
        lengths.extend(part?);
    }
    drop(groups);
    let cells = int::wide(lengths.len());
    Ok((table, lengths, cells))
}

/// Vertices, chunks and fragments of one manifest.
fn count(
    level: &Level,
    blob: &[u8],
    table: &ChunkTable,
    lengths: &[Vec<u32>],
    id: i64,
) -> Result<[u64; 3], QueryError> {
    let place = || Place::array(level.number(), "object_index/manifests").of(Some(id));
    let manifest = Manifest::parse(blob, level.key_rank())
        .map_err(|source| QueryError::decode(place(), source))?;
    let (mut vertices, mut fragments) = (0_u64, 0_u64);
    let mut slots = Vec::new();
    let mut chunk = vec![0_i64; level.key_rank()];
    for block in manifest.blocks() {
        chunk
            .iter_mut()
            .zip(block.chunk)
            .for_each(|(into, part)| *into = part.get());
        let known = table
            .slot(&chunk)
            .and_then(|slot| Some((slot, lengths.get(int::index(slot))?)));
        let Some((slot, lengths)) = known else {
            let place = Place {
                chunk: Some(chunk),
                ..place()
            };
            return Err(QueryError::malformed(
                place,
                "the manifest names a chunk that has no vertices",
            ));
        };
        slots.push(slot);
        for fragment in block.fragments.iter() {
            let length = usize::try_from(fragment)
                .ok()
                .and_then(|fragment| lengths.get(fragment));
            let Some(length) = length else {
                let place = Place {
                    chunk: Some(chunk),
                    ..place()
                };
                let what = format!(
                    "the manifest names fragment {fragment}, the chunk has {}",
                    lengths.len()
                );
                return Err(QueryError::malformed(place, what));
            };
            vertices = vertices.saturating_add(u64::from(*length));
            fragments += 1;
        }
    }
    slots.sort_unstable();
    slots.dedup();
    Ok([vertices, int::wide(slots.len()), fragments])
}

/// Checks that all links of a level are found, for jobs that need all of them. For an additive level, checks the links of its chain.
///
/// # Cost
///
/// Reads the documents of the level. If the backend cannot list, so that the names of the arrays of links are guessed, also reads every link once.
///
/// # Errors
///
/// Links whose arrays cannot be found; the errors of [`list_links`].
pub fn check_links_found(store: &Store, level: u32) -> BoxFuture<'_, Result<(), QueryError>> {
    Box::pin(async move {
        let need = Need {
            link_deltas: Deltas::List(vec![0]),
            ..Need::nothing()
        };
        let levels = chain(store, level, false, &need).await?;
        let is_guessed = |level: &Level| level.links(0).is_some_and(LinkFamily::is_guessed);
        if levels.iter().any(is_guessed) {
            let mut all = list_links(store, level, 0, false).await?;
            while all.next().await?.is_some() {}
        }
        Ok(())
    })
}

/// Checks that all links of a level are read, for measures of objects: as [`check_links_found`], and that no family of links was left out.
pub(crate) async fn check_links_read(store: &Store, level: u32) -> Result<(), QueryError> {
    let need = Need {
        link_deltas: Deltas::List(vec![0]),
        ..Need::nothing()
    };
    for opened in chain(store, level, false, &need).await? {
        let mut refused = opened.refused().iter();
        if let Some(refused) = refused.find(|refused| refused.delta == Some(0)) {
            let what = format!("measuring objects without some of their links ({refused})");
            let place = Place::array(opened.number(), "links");
            return Err(QueryError::unsupported(place, what));
        }
    }
    check_links_found(store, level).await
}

/// Lists the stored links of a family in the order of their record numbers, as table [`Table::Links`] of an answer.
///
/// # Shape
///
/// `chunks` (`FixedSizeList<Int64, L * K>`): the absolute chunk of each end, one after another; `rows`
/// (`FixedSizeList<UInt64, L>`): the row of each end in its chunk's buffer; then link attributes. Ends are in the
/// order of the application. For a family between levels (`delta` not 0) the first end is at `level`, the others at
/// `level + delta`. Duplicate families give each record once.
///
/// For an additive level the links of all levels of its chain are listed, finest first, unless `own_level_only` is
/// set; a first column `level` (`UInt32`) is the level of the chunks and rows.
///
/// The metadata of the schema states the level as `zvf.level`, and `delta` as `zvf.delta` (`0`, `+1`, `-1`).
///
/// # Cost
///
/// Reads every cell of the family, in batches.
///
/// # Errors
///
/// Misuse: a level or family that does not exist. Unsupported: links in a form that this crate does not read. I/O; malformed cells. Source: `zvf-0.9`,
/// section 13.
pub fn list_links<'a>(
    store: &'a Store,
    level: u32,
    delta: i32,
    own_level_only: bool,
) -> BoxFuture<'a, Result<Answer, QueryError>> {
    Box::pin(async move {
        let need = Need {
            link_attributes: Names::All,
            link_deltas: Deltas::List(vec![delta]),
            ..Need::default()
        };
        let levels = chain(store, level, own_level_only, &need).await?;
        let mut lists = Vec::new();
        for opened in &levels {
            if let Some(refused) = opened
                .refused()
                .iter()
                .find(|refused| refused.delta == Some(delta))
            {
                let place = Place::array(opened.number(), &refused.path);
                return Err(QueryError::unsupported(place, refused.why.clone()));
            }
            let family = opened.links(delta).filter(|family| family.width() > 0);
            if let Some(family) = family.cloned() {
                lists.push(LinkList::new(opened, family, levels.len() > 1));
            }
        }
        if lists.is_empty() {
            return Err(QueryError::misuse(format!(
                "level {level} has no links of delta {delta}"
            )));
        }
        let numbers = levels.iter().map(Level::number).collect();
        let last = levels.iter().map(Level::next_round).max().unwrap_or(0);
        let store = store.clone();
        Answer::start(|mut emit| async move {
            let run = links(lists, numbers, &mut emit).await;
            emit.end(run, &store, last.saturating_add(2)).await
        })
        .await
    })
}

/// The state of a list of one family of a level.
struct LinkList {
    level: Level,
    family: Arc<Family>,
    schema: SchemaRef,
    /// Whether the table has a column with the level.
    numbered: bool,
}

impl LinkList {
    fn new(level: &Level, family: LinkFamily, numbered: bool) -> Self {
        let (width, delta) = (family.width(), format_delta(family.delta()));
        let family = Arc::new(Family::new(family, level.number()));
        let mut fields = Vec::new();
        if numbered {
            fields.push(Field::new("level", DataType::UInt32, false));
        }
        let chunks = width.saturating_mul(level.key_rank());
        fields.push(Field::new(
            "chunks",
            arrow::fixed_list(DataType::Int64, chunks),
            false,
        ));
        fields.push(Field::new(
            "rows",
            arrow::fixed_list(DataType::UInt64, width),
            false,
        ));
        for column in &family.columns {
            fields.extend(column.field(column.declared.unwrap_or(1)));
        }
        let mut metadata = of_level(level.number());
        metadata.insert("zvf.delta".to_owned(), delta.to_string());
        Self {
            level: level.clone(),
            family,
            schema: Arc::new(Schema::new(fields).with_metadata(metadata)),
            numbered,
        }
    }
}

/// Bytes in flight while links are listed.
const BUDGET: u64 = 64 << 20;

async fn links(
    lists: Vec<LinkList>,
    levels: Vec<u32>,
    emit: &mut Emit,
) -> Result<Summary, QueryError> {
    let sources: Vec<Source<'_>> = lists
        .iter()
        .map(|list| Source::new(list.level.number(), &list.schema))
        .collect();
    let Some(schema) = schema::schema("links", &sources)? else {
        return Ok(Summary::default());
    };
    emit.schemas(Schemas {
        links: Some(Arc::clone(&schema)),
        ..Schemas::default()
    })
    .await;
    let mut summary = Summary {
        levels,
        warnings: stale_first(lists.first().map(|list| &list.level)),
        ..Summary::default()
    };
    for list in &lists {
        let (family, round) = (&list.family, list.level.next_round());
        let rank = list.level.key_rank();
        let cells = family.all_cells();
        summary.cells_read = summary.cells_read.saturating_add(int::wide(cells.len()));
        let batches = family.parts(cells, BUDGET).into_iter().map(|cells| {
            let mut wants = Vec::new();
            for cell in &cells {
                family.wants(cell, &mut wants);
            }
            let (family, schema) = (Arc::clone(family), Arc::clone(&list.schema));
            let numbered = list.numbered;
            let done = list.level.store().fetch_map(round, wants, move |bytes| {
                batch(
                    &family,
                    &schema,
                    (rank, numbered),
                    cells,
                    &mut bytes.into_iter(),
                )
            });
            async move { done.await? }
        });
        let mut batches = stream::iter(batches).buffered(8);
        while let Some(batch) = batches.try_next().await? {
            let batch = fitted(list.level.number(), "links", &schema, &batch)?;
            summary.links += emit.send(Table::Links, &batch, 1 << 16).await;
        }
        let read = list.family.rows_read();
        summary.link_rows_read = summary.link_rows_read.saturating_add(read);
        list.family.check_found()?;
        summary.warnings.extend(list.family.warnings());
    }
    Ok(summary)
}

fn batch(
    family: &Family,
    schema: &Arc<Schema>,
    (rank, numbered): (usize, bool),
    cells: Vec<LinkCellRef>,
    bytes: &mut impl Iterator<Item = Option<bytes::Bytes>>,
) -> Result<RecordBatch, QueryError> {
    let width = family.width();
    let (mut chunks, mut rows): (Vec<i64>, Vec<u64>) = (Vec::new(), Vec::new());
    let mut columns: Vec<Column> = family.columns.iter().map(|_| Column::default()).collect();
    let mut record = vec![Endpoint::default(); width];
    let mut ends = Vec::new();
    for cell in cells {
        let place = Place::cell(family.level, &family.path(cell.array), &cell.source);
        family
            .each(&cell, bytes, &mut ends, &mut record, |ends, record| {
                for end in record {
                    // If a chunk were missing here, the column would be too short for its batch, which is an error.
                    let start = end.which.saturating_mul(rank);
                    chunks.extend_from_slice(
                        ends.get(start..start.saturating_add(rank)).unwrap_or(&[]),
                    );
                    rows.push(u64::try_from(end.row).unwrap_or(u64::MAX));
                }
            })?
            .into_iter()
            .zip(&mut columns)
            .try_for_each(|((values, count), column)| {
                column
                    .push(&values, Rows::Range { start: 0, count })?
                    .map_err(|what| QueryError::malformed(place.clone(), what))
            })?;
    }
    let wrong = |error: arrow_schema::ArrowError| {
        QueryError::malformed(Place::array(family.level, "links"), error.to_string())
    };
    let count = rows.len().checked_div(width).unwrap_or(0);
    let list = |item: DataType, width: usize, items: ArrayRef| {
        arrow::list(Field::new("item", item, false), width, items, count, None).map_err(wrong)
    };
    let mut arrays: Vec<ArrayRef> = Vec::new();
    if numbered {
        arrays.push(Arc::new(UInt32Array::from(vec![family.level; count])));
    }
    let chunks: ArrayRef = Arc::new(Int64Array::from(chunks));
    arrays.push(list(DataType::Int64, width.saturating_mul(rank), chunks)?);
    arrays.push(list(
        DataType::UInt64,
        width,
        Arc::new(UInt64Array::from(rows)),
    )?);
    for (column, spec) in columns.into_iter().zip(&family.columns) {
        arrays.push(
            spec.finish(column, spec.declared.unwrap_or(1), count)
                .map_err(wrong)?,
        );
    }
    RecordBatch::try_new(Arc::clone(schema), arrays).map_err(wrong)
}
