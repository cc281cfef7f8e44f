//! Integration tests of `zvf-meta`: real stores, broken documents, arbitrary input.

mod base;
mod broken;
mod stores;
