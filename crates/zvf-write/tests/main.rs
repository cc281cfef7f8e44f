//! What is written to a store can be read from it: compared with the input, never with what was written.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod answers;
mod attribute_columns;
mod chains;
mod codecs;
mod compare;
mod crash;
mod cuts;
mod differences;
mod edited;
mod edited_draw;
mod edited_keys;
mod edited_links;
mod edited_points;
mod edits;
mod edits_broken;
mod edits_deleted;
mod edits_fixtures;
mod edits_keyed;
mod edits_opened;
mod ids;
mod journal;
mod killed;
mod link_groups;
mod link_shards;
mod links;
mod local;
mod mainline;
mod manifests;
mod minimal;
mod model;
mod odd;
#[cfg(unix)]
mod outside;
mod owners;
mod parted;
mod parted_refused;
mod points;
mod pyramid;
mod pyramid_again;
mod pyramid_bins;
mod pyramid_budget;
mod pyramid_crash;
mod pyramid_crash_again;
mod pyramid_density;
mod pyramid_links;
mod random;
mod raw;
mod records;
mod refused;
mod resumed;
mod sendable;
mod shards;
mod side;
mod support;
mod tables;
mod taken_over;
mod traps;
mod unsteady;
