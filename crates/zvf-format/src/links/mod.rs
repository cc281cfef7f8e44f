//! Link cells: edges, faces and references between rows of chunks.
//!
//! `spec/zvf-0.9.md` section 13.

mod cell;
mod elem;
pub mod legacy;
pub mod lehmer;
mod place;
mod rows;
#[cfg(all(test, feature = "alloc"))]
mod tests;
#[cfg(feature = "alloc")]
mod write;

pub use cell::{CellForm, LinkCell, LinkRecord};
pub use elem::Elem;
pub use place::{Endpoint, anchor, canonical_order, duplicate_order, endpoint_chunks};
pub use rows::{LinkRowIter, LinkRows, RowView};
#[cfg(feature = "alloc")]
pub use write::LinkCellBuilder;
