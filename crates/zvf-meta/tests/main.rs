//! Integration tests of `zvf-meta`: real stores, broken documents, arbitrary input.

mod arbitrary;
mod base;
mod broken;
mod stores;
