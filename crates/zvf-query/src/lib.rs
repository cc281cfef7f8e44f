//! Objects, boxes, links and filters of Zarr Vectors stores as Arrow record batches.

mod answer;
mod columns;
mod error;
mod filter;
mod flat;
mod fragments;
mod grouped;
mod int;
mod kept;
mod links;
mod list;
mod objects;
mod plan;
mod prepare;
mod query;
mod reader;
mod resolve;
mod vertex_table;
mod walk;

pub use answer::{Answer, Collected, Summary, Table};
pub use error::{Place, QueryError};
pub use filter::Filter;
pub use list::{list_links, list_objects};
pub use plan::bbox::BBox;
pub use query::{Column, Outputs, Query, Select};
pub use zvf_store::{Class, Names};

/// Runs a query.
pub async fn query(store: &zvf_store::Store, query: Query) -> Result<Answer, QueryError> {
    let prepared = prepare::prepare(store, query).await?;
    let asked = &prepared.query;
    let by_object =
        asked.objects.is_some() || asked.groups.is_some() || asked.select == Select::Objects;
    if by_object {
        return Answer::start(|emit| grouped::run::run(prepared, emit)).await;
    }
    Answer::start(|emit| flat::run::run(prepared, emit)).await
}
