//! Tests of `zvf-volume`.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod forms;
mod images;
mod kept;
mod ranges;
mod samples;
