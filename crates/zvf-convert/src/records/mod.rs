//! Vertices as typed columns: tables of text, Arrow and Parquet tables, NumPy arrays, PLY. A reader of a format is a
//! [`TableSource`](source::TableSource) of record batches; this module decides how the columns are stored.

pub(crate) mod alone;
pub(crate) mod attribute;
mod chains;
pub(crate) mod chosen;
pub(crate) mod columns;
pub(crate) mod geometry;
pub(crate) mod layout;
pub(crate) mod links;
pub(crate) mod lists;
pub(crate) mod nodes;
pub(crate) mod open;
pub(crate) mod read;
pub(crate) mod rename;
pub(crate) mod source;
mod survey;
pub(crate) mod tally;
pub(crate) mod values;
mod widths;
