//! Additive levels: combines the requested level and the levels that complete it in one answer.
//!
//! A level with the `refinement` `add` stores only what the next coarser level lacks. Every level of the chain is queried separately, with the code
//! for a single level. This module combines the answers: rows of the finest level first, renumbered links, one row for each object id. A level
//! waits before its second batch of links until the vertices of the other levels are sent, so that each level holds only the data for its links in
//! memory.
//!
//! Source: upstream's page on additive refinement (format capability `additive_levels`).

pub(crate) mod by_object;
pub(crate) mod in_chunk_order;
mod level_answer;
mod links;
pub(crate) mod objects;
pub(crate) mod schema;
mod tables;
mod widen;
