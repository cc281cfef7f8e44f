//! Link cells: edges, faces and references between rows of chunks.
//!
//! `spec/zvf-0.9.md` section 13. A record has L endpoints, each a row of a chunk. The array's path
//! states the offsets between the chunks, the cell's coordinate is the chunk of the first stored
//! endpoint, and the bytes hold rows:
//!
//! ```text
//! links/0/0.0.0        flat: M rows                       ┌────┬────┬─────┐
//!                                                         │ v0 │ v1 │ …   │  W = L columns
//!                                                         └────┴────┴─────┘
//! links/0/+1.0.0       a ragged blob; each group          ┌──────┬────┬────┬─────┐
//!                      holds rows of this layout          │ perm │ v0 │ v1 │ …   │  W = L + 1
//!                                                         └──────┴────┴────┴─────┘
//! links/-1/0.0.0       a ragged blob of rows of L columns: levels differ, endpoints are not reordered
//! ```
//!
//! A column is an integer of the array's `dtype`. If an undirected record crosses chunks, its writer
//! sorted the endpoints. `perm` is the [Lehmer code](lehmer) of that order, and reading restores the
//! original order:
//!
//! ```text
//! stored endpoint i is endpoint s[i] of the application      original[s[i]] = placed[i]
//! ```
//!
//! | type | content |
//! |---|---|
//! | [`CellForm`] | flat or ragged, with or without `perm`: [derived](CellForm::derive) from the policy |
//! | [`LinkCell`], [`LinkRecord`] | records, back in the order of the application |
//! | [`LinkRows`], [`RowView`] | the bare matrix, `perm` column included |
//! | [`anchor`], [`endpoint_chunks`] | the chunks of a record |
//! | [`canonical_order`], [`duplicate_order`] | the placement of a record by a writer |
//! | [`legacy`] | the records of 0.7 |

mod cell;
pub mod legacy;
pub mod lehmer;
mod place;
mod rows;
#[cfg(feature = "alloc")]
#[cfg(test)]
mod tests;
#[cfg(feature = "alloc")]
mod write;

pub use cell::{CellForm, LinkCell, LinkRecord};
pub use place::{Endpoint, anchor, canonical_order, duplicate_order, endpoint_chunks};
pub use rows::{LinkRowIter, LinkRows, RowView};
#[cfg(feature = "alloc")]
pub use write::LinkCellBuilder;
