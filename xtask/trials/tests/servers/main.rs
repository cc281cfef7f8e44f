//! The reader against servers that other people wrote. Run by `cargo xtask test`, which makes them ready.

mod changed;
mod s3;
mod support;
mod unlucky;
mod web;
