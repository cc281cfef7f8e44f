//! Repairs of documents.

mod breaks;
mod crash;
mod kept;
mod left;
mod repaired;
mod support;
mod swept;
