//! Additive levels: one answer from the requested level and those that complete it.
//!
//! A level whose `refinement` is `add` stores only what the next coarser level does not. Every level of the chain is queried by
//! itself, with the code for a single level. This module combines the answers: rows of the finest level
//! first, links renumbered, objects of one id joined. A level waits before its second batch of links until the vertices of the
//! other levels are sent, so that memory has no more than each level's data for its links.
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
