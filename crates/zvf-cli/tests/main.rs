//! Tests of the `zvf` program as users run it: the real binary on the bundled stores.
//!
//! Blessed texts are in `tests/blessed`; run with `ZVF_BLESS=1` to rewrite them, then review the difference.

mod absent;
mod additive;
mod append;
mod appended;
#[cfg(target_os = "linux")]
mod beside;
mod budget;
mod chunk_by;
mod codecs;
mod copy;
mod create;
mod damaged;
mod dates;
mod diff;
mod doctor;
#[cfg(feature = "plot")]
mod documented;
mod edit;
mod errors;
mod export;
mod expressions;
#[cfg(feature = "laz")]
mod fetched;
mod formats;
mod frames;
mod generations;
mod group;
mod head;
mod help;
mod identity;
mod import;
mod info;
mod inspect;
mod inspect_blobs;
mod inspect_volumes;
mod interrupt;
mod jobs;
mod killed;
mod link_shards;
mod linked;
mod links;
mod look_alikes;
mod lost;
mod lost_nodes;
mod marked;
mod masks;
mod matching;
mod measure;
mod merged_stores;
mod migrate;
mod missing_names;
mod objects;
mod odd_web;
#[cfg(unix)]
mod outside;
#[cfg(all(feature = "plot", feature = "serve", feature = "volumes"))]
mod page;
mod parts;
mod parts_of_files;
mod past;
mod patterns;
mod places;
mod plot;
mod programs;
mod pyramid;
mod pyramid_levels;
mod query;
mod regions;
mod remote;
mod repair;
mod resample;
mod resumed;
mod run;
mod sendable;
#[cfg(feature = "serve")]
mod serve;
mod server;
mod shared_names;
#[cfg(unix)]
mod simplify;
mod special;
mod stats;
mod stores;
mod told;
mod unit_formats;
mod units;
mod upload;
mod validate;
mod volume;
