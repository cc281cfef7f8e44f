//! Results in chunk order.

pub(crate) mod job;
pub(crate) mod owners;
pub(crate) mod pace;
pub(crate) mod plan;
pub(crate) mod requests;
pub(crate) mod run;
pub(crate) mod scan;
