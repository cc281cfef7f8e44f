//! One program for all tests of the crate.

mod broken;
mod changed;
mod clean;
mod damage;
mod detection;
mod page;
#[cfg(feature = "repair")]
mod repair;
mod resumed;
mod support;
