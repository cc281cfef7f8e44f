//! Answers queries by object, one object after another: whole objects, or the rows of each that satisfy the conditions.

pub(crate) mod assemble;
pub(crate) mod batches;
pub(crate) mod deliver;
pub(crate) mod fetch;
pub(crate) mod fold;
pub(crate) mod hits;
pub(crate) mod joint;
pub(crate) mod links;
pub(crate) mod outlet;
pub(crate) mod plan;
pub(crate) mod row_index;
pub(crate) mod run;
pub(crate) mod scatter;
pub(crate) mod select;
pub(crate) mod step;
