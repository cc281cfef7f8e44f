//! What stands between stored objects and cells: decoders, which name what to read and take its bytes.
//!
//! A decoder does no I/O. [`Disk`](super::local_disk::Disk) and [`remote`](super::remote) get the bytes, for decoders of
//! every container alike.

use bytes::Bytes;

use super::Plan;
use super::request::{Get, Part};
use super::shard::Head;
use crate::StoreError;
use crate::layout::Shard;
use zvf_format::int::wide;
use zvf_io::{Cap, Kv};

/// Turns the bytes of one or a few stored objects into the cells that want them.
///
/// Calls come in this order: the index of a shard, where there is one; all requests; for each of them in turn its bytes,
/// if they are still needed; the end.
pub(super) trait Decoder: std::fmt::Debug + Send + Sync {
    /// The shard whose index tells what to request.
    fn shard(&self) -> Option<(&str, Shard)> {
        None
    }

    /// Takes the index of that shard.
    ///
    /// # Errors
    /// Malformed: an index that cannot be right, or that lacks cells which a presence list names.
    fn take_head(&mut self, _head: Head, _cap: Cap) -> Result<(), StoreError> {
        Ok(())
    }

    /// What to read. The requests are independent of each other.
    ///
    /// # Errors
    /// Bug, misuse.
    fn requests(&self, kv: &Kv) -> Result<Vec<Get>, StoreError>;

    /// Whether the bytes of a request are needed after those of the requests before it.
    fn needs(&self, _request: usize) -> bool {
        true
    }

    /// Takes the bytes of a request; `None` where the object does not exist.
    ///
    /// # Errors
    /// Malformed; unsupported; limit.
    fn take(
        &mut self,
        request: usize,
        part: Option<Part<'_>>,
        cells: &mut Cells,
    ) -> Result<(), StoreError>;

    /// Hands to the cells what could not be handed to them before all bytes were there.
    ///
    /// # Errors
    /// Malformed; unsupported; limit.
    fn finish(self: Box<Self>, _cells: &mut Cells) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The cells of one batch, and the limits on what is decoded for them.
#[derive(Debug)]
pub(super) struct Cells {
    cells: Vec<Option<Bytes>>,
    pub(super) cap: Cap,
    spent: u64,
    /// Most decoded bytes of the batch.
    most: Cap,
}

impl Cells {
    /// The cells of a plan: what need not be read stands there already.
    pub(super) fn new(plan: &Plan, kv: &Kv) -> Result<Self, StoreError> {
        let mut cells = Self {
            cells: vec![None; plan.cells],
            cap: Cap::cell(kv.limits()),
            spent: 0,
            most: Cap::batch(kv.limits()),
        };
        for (want, bytes) in &plan.ready {
            *cells.slot(*want)? = Some(bytes.clone());
        }
        Ok(cells)
    }

    /// The place of a cell. Wants were numbered when the batch was planned, so it exists.
    pub(super) fn slot(&mut self, want: usize) -> Result<&mut Option<Bytes>, StoreError> {
        self.cells
            .get_mut(want)
            .ok_or_else(|| StoreError::misuse("a cell was numbered beyond its batch"))
    }

    /// Counts decoded bytes.
    ///
    /// # Errors
    /// Limit: more than [`Limits::batch_bytes`](crate::Limits::batch_bytes).
    pub(super) fn spend(&mut self, key: &str, bytes: usize) -> Result<(), StoreError> {
        let bytes = wide(bytes);
        self.spent = self.spent.saturating_add(bytes);
        Ok(self.most.check(key, self.spent)?)
    }

    /// The first `asked` cells.
    pub(super) fn into_asked(mut self, asked: usize) -> Vec<Option<Bytes>> {
        self.cells.truncate(asked);
        self.cells
    }
}
