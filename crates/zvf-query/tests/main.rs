//! Queries against the bundled stores, against stores made here from the format's pages, and against damage.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod additive;
mod additive_random;
mod caller;
mod changing;
mod comparison;
mod conditions;
mod exact_names;
mod fixtures;
mod gather;
mod graphs;
mod hostile;
mod joint;
mod kinds;
mod legacy;
mod legacy_links;
mod legacy_stale;
mod link_groups;
mod made;
mod make;
mod make_legacy;
mod masks;
mod measures;
mod migrated;
mod parts;
mod plans;
mod properties;
mod regions;
mod rounds;
mod selections;
mod sharded_objects;
mod some_rows;
mod splits;
mod support;
mod traps;
