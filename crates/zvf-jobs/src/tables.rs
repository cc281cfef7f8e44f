//! Input tables of edits, converted to the columns, types, axes and units of a store.

mod both;
mod place;
mod table;

pub use both::edit_remarks;
pub(crate) use both::{EditTables, fill_text, set_fills};
pub(crate) use place::EditPlace;
pub(crate) use table::EditTable;
