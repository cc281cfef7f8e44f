//! Objects, boxes, links and filters of Zarr Vectors stores, as Arrow record batches.
//!
//! A [`Query`] selects from one level of a store by a box, object ids, groups, a condition on vertices and objects ([`Filter`]) and a limit; all
//! conditions must hold (AND). A [`QuerySpec`] is its serializable form, from texts or JSON, with groups by name. [`query`] plans the reads from
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
//! `lo <= p <= hi` on the returned values. Axis names and units are in the schema metadata (`zvf.axes`,
//! `zvf.units`, `zvf.crs` where the store states one, `zvf.kind`, `zvf.level`, `zvf.order` (`chunk` or `object`), `zvf.selected` if the query selects
//! vertices, `zvf.version`); units and descriptions of attributes in the metadata of
//! their fields. An attribute whose name is also one of the table's own columns is called `attribute:NAME`. Columns with the place of a row, such
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
//! After the documents, a query by box needs one round of requests. Queries by objects, and of whole objects in a box, need two: manifests, then cells. Groups of
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
//! Some results are computed from the batches of queries: [`StatisticsScan`] returns ranges, means, quantiles, counts and histograms of the
//! columns of an answer, [`Measures`] lengths, branches, surfaces and volumes of whole objects, and [`compare`] the differences between two stores.
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
mod entry;
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
mod last_rows;
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
mod row_ids;
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
pub use entry::query;
pub use error::{Place, QueryError};
pub use explain::LevelPlan;
pub use expression::{ComputedColumn, Expression, VertexExpression};
pub use filter::Filter;
pub use groups::group_numbers;
pub use last_rows::last_rows;
pub use list::{check_links_found, largest_chunk, list_links, list_objects};
pub use measures::Measures;
pub use object_listing::{ListedObjects, ObjectListing, SortKey};
pub use plan::bbox::BBox;
pub use query::{ChunkRange, Column, Outputs, Query, Select};
pub use region::{ObjectPlaces, ObjectRelation, Region, RegionFile};
pub use row_samples::{RowSample, sample_rows};
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

/// Compiles the example of the README.
#[cfg(all(doctest, feature = "backends"))]
#[doc = include_str!("../README.md")]
mod readme {}
