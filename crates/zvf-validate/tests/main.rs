//! One program for all tests of the crate.

mod broken;
mod changed;
mod clean;
mod damage;
mod detection;
mod page;
mod resumed;
mod support;
