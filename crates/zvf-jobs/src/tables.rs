//! Input tables of edits, converted to the columns, types, axes and units of a store.

mod both;
mod place;
mod table;

pub use both::{EditTables, edit_remarks, set_fills};
pub use place::EditPlace;
pub use table::{EditColumn, EditTable, fill_text};
