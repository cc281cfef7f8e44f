//! Results in chunk order.

pub(crate) mod counts;
pub(crate) mod owners;
pub(crate) mod pass;
pub(crate) mod plan;
pub(crate) mod requests;
pub(crate) mod run;
