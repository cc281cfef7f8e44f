//! Tables that edits take: read, brought to the columns and types of a store, and to its axes and units.

mod both;
mod place;
mod table;

pub use both::edit_remarks;
pub(crate) use both::{EditTables, set_fills};
pub(crate) use place::EditPlace;
pub(crate) use table::{EditTable, fill_text};
