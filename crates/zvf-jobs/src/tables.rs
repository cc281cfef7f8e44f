//! Input tables of edits, converted to the columns, types, axes and units of a store.

mod both;
mod fills;
mod place;
mod table;

pub(crate) use both::EditTables;
pub use both::edit_remarks;
pub(crate) use both::{FILES_LACK, remarks_since};
pub use fills::{fill_text, set_fill};
pub(crate) use fills::{set_fills, shown_fill};
pub(crate) use place::EditPlace;
pub(crate) use table::EditTable;
