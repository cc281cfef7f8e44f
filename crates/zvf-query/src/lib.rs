//! Objects, boxes, links and filters of Zarr Vectors stores, as Arrow record batches.
//!
//! A [`Query`] selects from one level of a store by a box, object ids, groups, a condition on vertices and objects ([`Filter`]) and a limit; all
//! conditions combine with *and*. A [`QuerySpec`] is its serializable form, from texts or JSON, with groups by name. [`query`] plans the reads from
//! the documents of the level, sends all independent requests at once, and returns an [`Answer`]: up to three tables, each a stream of record
//! batches.
//!
//! ```
//! use std::sync::Arc;
//! use zvf_query::{BBox, Query, Table, query};
//! use zvf_store::{OpenOptions, Store, blocking::Runtime};
//!
//! # async fn bundled() -> Result<Store, Box<dyn std::error::Error>> {
//! #     use object_store::{ObjectStoreExt, memory::InMemory, path::Path};
//! #     let backend = InMemory::new();
//! #     for (key, bytes) in zvf_testkit::files("streamlines")? {
//! #         backend.put(&Path::parse(key)?, bytes.into()).await?;
//! #     }
//! #     let options = OpenOptions::new().with_object_store(Arc::new(backend));
//! #     Ok(Store::open_with("memory:///", options).await?)
//! # }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! Runtime::new()?.wait(async {
//!     let store = bundled().await?; // or Store::open("s3://bucket/tracts.zarrvectors")
//!     let bbox = BBox::parse("0,0,0:150,150,150")?;
//!     let mut answer = query(&store, Query { bbox: Some(bbox), ..Query::default() }).await?;
//!     while let Some((table, batch)) = answer.next().await? {
//!         if table == Table::Vertices {
//!             assert!(batch.column_by_name("position").is_some());
//!         }
//!     }
//!     assert!(answer.summary().vertices > 0);
//!     Ok(())
//! })
//! # }
//! ```
//!
//! # Result tables
//!
//! | table | rows | columns |
//! |---|---|---|
//! | [`Table::Vertices`] | one for each vertex | `position`, attributes; on request `chunk`, `row`, `fragment`, `object_id`, `object_ids`, axes by name, `geometry` (see [`Column`]) |
//! | [`Table::Links`] | one for each link whose ends are all in the vertex table | `vertices`: rows of the vertex table; link attributes |
//! | [`Table::Objects`] | one for each object | `object_id`; `start` and `length`, or `vertices`; object attributes |
//!
//! Positions are world coordinates, `coordinate_offset` included, in the stored number type; the box test is
//! `lo <= p <= hi` on exactly the value that is returned. Axis names and units are in the schema metadata (`zvf.axes`,
//! `zvf.units`, `zvf.crs` where the store states one, `zvf.kind`, `zvf.level`, `zvf.order` (`chunk` or `object`), `zvf.version`); units and descriptions of attributes in the metadata of
//! their fields. An attribute with the name of one of the table's own columns is called `attribute:NAME`. Columns with the place of a row, such
//! as `chunk` or `start`, have `zvf.column` = `place` in the metadata of their fields.
//!
//! Without objects the rows are in chunk order: chunks by coordinate, rows as stored, each once. With object ids,
//! groups or [`Select::Objects`] they are grouped by object, each object in the order of its manifest; a vertex that
//! two objects share is returned once for each.
//!
//! # Links
//!
//! Links of graphs and meshes are stored. Rows of lines, polylines and streamlines are linked to the next row of
//! their object, fragment by fragment in the order of its manifest. A row of a skeleton is linked to its parent: the row
//! before it in its fragment, unless a stored record names another one, even one outside the box. (`zvf-0.9`, section 14.)
//!
//! # Additive levels
//!
//! A level whose document has `refinement: "add"` stores only what the next coarser level lacks. Queries of it, and the
//! lists of objects and links, return its complete content: its own rows, then those of the levels that complete it, finest
//! first; [`Summary::levels`] lists them. An object is one row of the object table and one run of the vertex table,
//! regardless of the levels that store it; no link connects two levels. An attribute that a level lacks is null there, with a warning; if
//! types differ, the wider one is used. A limit applies to all levels together; [`Select::Chunks`] includes the overlapping chunks of the coarser
//! grids. [`Query::own_level_only`] reads a single level.
//!
//! # Rounds and memory
//!
//! After the documents, a box needs one round of requests; objects need two (manifests, then cells), and so do whole objects of a box. Groups of
//! chunks are read, decoded, filtered and gathered on worker threads, several at a time within [`Query::memory_budget`]. Nothing is read until
//! the next batch is requested. Until the end of the answer, eight bytes for each fragment, four bytes for each returned row of partly returned
//! chunks, and the manifests of these chunks are in memory. Additive levels share the budget; each needs this memory until its links are returned.
//!
//! Objects are gathered one after another. If that would read many chunks again, each chunk is read once, in chunk order, and the rows are
//! written to a temporary file until their object is returned. Results by object need 12 bytes for each requested fragment (16 if manifests name
//! ranges of them), and 48 more with a limit, or if links are stored or have attributes.
//!
//! At the end of every answer, before its last batch, `Store::verify` checks that the store did not change;
//! a change is an error of the answer.
//!
//! # Statistics, measures, differences
//!
//! [`StatisticsScan`] computes ranges, means, quantiles, counts and histograms of the columns of an answer, [`Measures`] lengths, branches, surfaces and
//! volumes of whole objects, and [`compare`] the differences between two stores, each from the batches of queries.
//!
//! # Errors
//!
//! [`QueryError::class`] distinguishes I/O, malformed data, misuse and limits. Parts of a store that contradict each
//! other are malformed, with level, array, chunk and object; missing data is a warning in the
//! [`Summary`] and null or absent in the answer. Nothing panics on input.

mod answer;
mod axes;
mod bits;
mod boxes;
mod by_slot;
mod columns;
mod comparison;
mod condition_columns;
mod error;
mod explain;
mod expression;
mod filter;
mod fragments;
mod gaps;
mod gather;
mod group_terms;
mod groups;
mod jobs;
mod link_batches;
mod links;
mod list;
mod manifests;
mod measures;
pub mod numbers;
mod object_counts;
mod object_ids;
mod object_listing;
mod object_relation;
mod object_terms;
mod objects;
mod owner_cells;
mod passing;
mod plan;
mod prepare;
mod query;
mod reader;
mod region;
mod row_map;
mod row_samples;
mod scan;
mod spec;
mod splits;
mod spool;
mod stale;
mod statistics;
mod stored_rows;
mod union;
mod vertex_table;
mod whole_objects;
mod workers;

pub use answer::{Answer, Collected, Summary, Table};
pub use boxes::{ChunkBoxes, chunk_boxes};
pub use columns::arrow::is_placed;
pub use comparison::{Comparison, Difference, compare};
pub use error::{Place, QueryError};
pub use explain::LevelPlan;
pub use expression::{ComputedColumn, Expression, VertexExpression};
pub use filter::Filter;
pub use groups::group_numbers;
pub use list::{check_links_found, largest_chunk, list_links, list_objects};
pub use measures::Measures;
pub use object_listing::{ListedObjects, ObjectListing, SortKey};
pub use plan::bbox::BBox;
pub use query::{ChunkRange, Column, Outputs, Query, Select};
pub use region::{ObjectPlaces, ObjectRelation, Region, RegionFile};
pub use row_samples::{RowSample, last_rows, sample_rows};
pub use spec::{GroupRef, IdRanges, PieceOf, QuerySpec, StateTag, UniqueJson, label_ranges};
pub use splits::{Split, Target};
pub use stale::stale_level;
pub use statistics::{
    CategoryCounts, ColumnStatistics, NumberStatistics, StatisticValue, StatisticsBy,
    StatisticsKey, StatisticsOf, StatisticsScan, StatisticsSection, StatisticsSpec, StatisticsStep,
    StatisticsTable,
};
pub use whole_objects::length_metric;
pub use zvf_store::{Class, Names};

/// Runs a query.
///
/// Returns as soon as the schemas are known, after the first cells were read: the width of an attribute follows from its bytes (trap T8). The
/// rest is read when batches are requested.
///
/// # Cost
///
/// One round of requests for documents that are not loaded yet; one for a box, two for objects. Cells are read twice only in these cases: objects
/// need more chunks at a time than fit the memory budget (at most half of the chunks; then the rest is read in one pass); the first cells show that
/// chunk keys are unusable, so that all chunks are read (trap T12); objects share most of their rows and are larger than the budget. Conditions on
/// objects are evaluated first, with the table of ids, with the fragment indexes for attributes and `count()`, and with the vertices of the
/// remaining objects for lengths and ends.
///
/// # Errors
///
/// Misuse: a level, attribute, object id or group that does not exist, a box of other dimensions, objects where there
/// is no object index, a filter that does not fit. I/O; malformed or unsupported data; a limit.
///
/// # Examples
///
/// See the crate's page.
pub fn query<'a>(
    store: &'a zvf_store::Store,
    query: Query,
) -> futures::future::BoxFuture<'a, Result<Answer, QueryError>> {
    Box::pin(async move {
        let mut remarks = Vec::new();
        let named = query.objects.is_some() || query.groups.is_some();
        let query = object_relation::resolve(store, query, &mut remarks).await?;
        let by_object = query.is_by_object();
        let empty_objects = query.select != Select::Objects && (named || !query.has_conditions());
        let alone = !query.outputs.links && !query.outputs.objects;
        let some = query.chunks.is_some() || query.within.is_some();
        if some && (by_object || !alone) {
            return Err(QueryError::misuse(
                "a range or list of chunks (a split) has the vertex table alone, and no whole objects: with --select objects splits are cut by object",
            ));
        }
        let prepared = Box::pin(prepare::prepare(store, query)).await;
        // The documents of a level are the second round of requests.
        let mut levels = answer::or_changed(prepared, store, 2).await?;
        for level in &mut levels {
            level.empty_objects = empty_objects;
        }
        let only = if levels.len() == 1 {
            levels.pop()
        } else {
            None
        };
        let first = levels.iter().chain(&only).map(|p| p.round).max();
        // Cells are one round, by object manifests are one before them.
        let reading = 1 + u32::from(by_object);
        let (store, last) = (store.clone(), first.unwrap_or(0).saturating_add(reading));
        Answer::start(|mut emit| async move {
            let run = match (only, by_object) {
                (Some(prepared), true) => gather::run::run(prepared, &mut emit).await,
                (Some(prepared), false) => scan::run::run(prepared, &mut emit).await,
                (None, true) => union::by_object::run(levels, &mut emit).await,
                (None, false) => union::in_chunk_order::run(levels, &mut emit).await,
            };
            emit.end(run, &store, last).await
        })
        .await
        .map(|mut answer| {
            answer.by_object = by_object;
            answer.with_remarks(remarks)
        })
    })
}

/// Compiles the example of the README.
#[cfg(all(doctest, feature = "backends"))]
#[doc = include_str!("../README.md")]
mod readme {}
