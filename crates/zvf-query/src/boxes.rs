//! Bounds of the rows of chunks, for callers that skip chunks by their own conditions.

use futures::future::BoxFuture;
use serde_json::Value;
use zvf_store::{Names, Store};

use crate::prepare::prepare;
use crate::{Outputs, Query, QueryError};

/// The listed chunks of the levels of a query, and the boxes of their rows.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ChunkBoxes {
    /// Components of a coordinate: one for each axis, preceded by one if an attribute divides the chunks.
    pub rank: usize,
    /// Number of axes.
    pub dims: usize,
    /// Coordinates, `rank` numbers for each chunk; in lexicographic order within a level.
    pub chunks: Vec<i64>,
    /// Lower corners in world coordinates, `dims` numbers for each chunk. Rows with a NaN coordinate may be in any chunk.
    pub low: Vec<f64>,
    /// Upper corners.
    pub high: Vec<f64>,
    /// The attribute that divides the chunks, and its value for each number of the first component, from 0; `None` unless all levels agree on them.
    pub key: Option<(String, Vec<Value>)>,
}

/// Returns the listed chunks of the levels of a query, regardless of its box and condition, and the boxes of their rows. The boxes follow from the
/// chunk keys: if these are wrong (trap T12), rows may be outside of them.
///
/// # Cost
///
/// The documents of the level, or of all its levels if it is additive. No cells.
///
/// # Errors
///
/// Misuse: no such level. I/O; malformed or unsupported documents.
pub fn chunk_boxes<'a>(
    store: &'a Store,
    query: &'a Query,
) -> BoxFuture<'a, Result<ChunkBoxes, QueryError>> {
    Box::pin(async move {
        let asked = Query {
            level: query.level,
            own_level_only: query.own_level_only,
            attributes: Names::None,
            outputs: Outputs {
                vertices: true,
                links: false,
                objects: false,
            },
            ..Query::default()
        };
        let mut found = ChunkBoxes::default();
        for (number, p) in prepare(store, asked).await?.iter().enumerate() {
            let doc = p.level.doc();
            (found.rank, found.dims) = (p.level.key_rank(), p.level.dims());
            let split = found.rank > found.dims;
            let name = doc.chunk_attribute_name.clone().filter(|_| split);
            let key = name.zip(doc.chunk_attribute_values.clone());
            if number == 0 {
                found.key = key;
            } else if found.key != key {
                found.key = None;
            }
            for chunk in p.level.vertices().presence().iter() {
                found.chunks.extend_from_slice(chunk);
                let places = chunk.iter().skip(found.rank.saturating_sub(found.dims));
                for (axis, at) in places.enumerate() {
                    let world = &p.reader.position.world;
                    let (low, high) = p.reader.grid.span(axis, *at, world);
                    found.low.push(low);
                    found.high.push(high);
                }
            }
        }
        Ok(found)
    })
}
