//! Tests of `zvf-grid`, against an indexer that takes one element at a time.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod copies;
mod merges;
mod naive;
mod selections;
