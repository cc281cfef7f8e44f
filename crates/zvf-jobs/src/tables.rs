//! Tables that edits take: read, brought to the columns and types of a store, and to its axes and units.

mod both;
mod place;
mod table;

pub use both::{EditTables, edit_remarks, set_fills};
pub use place::EditPlace;
pub use table::{EditColumn, EditTable, fill_text};
