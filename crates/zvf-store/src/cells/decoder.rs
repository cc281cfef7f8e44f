//! Decoders between stored objects and cells: they name the bytes to read and receive them.
//!
//! A decoder does no I/O. [`Disk`](super::local_disk::Disk) and [`remote`](super::remote) get the bytes, for decoders of
//! every container alike.

use std::sync::Arc;

use bytes::Bytes;
use zvf_codec::StoredBytes;

use super::later::{FetchedCell, Spent, StoredCell};
use super::request::{Get, RequestBytes, SizeAndTag};
use super::shard::{FoundHead, Guess};
use crate::StoreError;
use crate::layout::ShardLayout;
use zvf_io::{Cap, Kv, Object};

/// Decodes the bytes of one or a few stored objects into requested cells.
///
/// Methods are called in this order: for the index of a shard, if there is one; for the requests; for the bytes of each request in turn, if they are
/// still needed; at the end.
pub(super) trait Decoder: std::fmt::Debug + Send + Sync {
    /// The shard whose index determines the requests.
    fn shard(&self) -> Option<(&str, ShardLayout)> {
        None
    }

    /// Where the wanted parts of that shard are expected, before its index is known.
    fn guess(&self, _cap: Cap) -> Option<Guess> {
        None
    }

    /// Takes the index of that shard, and parts of the shard that were read together with it.
    ///
    /// # Errors
    /// Malformed: an invalid index, or one that lacks cells which a presence list names.
    fn take_head(
        &mut self,
        _head: FoundHead,
        _beside: Vec<Object>,
        _cap: Cap,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    /// The requests for the bytes to read. They are independent of each other.
    ///
    /// # Errors
    /// Bug, misuse.
    fn requests(&self, kv: &Kv) -> Result<Vec<Get>, StoreError>;

    /// Whether the bytes of a request are still needed, now that earlier requests are decoded.
    fn needs(&self, _request: usize) -> bool {
        true
    }

    /// Takes the bytes of a request; `None` if the object does not exist.
    ///
    /// # Errors
    /// Malformed; unsupported; limit.
    fn take(
        &mut self,
        request: usize,
        part: Option<RequestBytes<'_>>,
        cells: &mut BatchCells,
    ) -> Result<(), StoreError>;

    /// Takes a reader of the bytes of a request with ranges that may be read later ([`Get::in_ranges`]).
    ///
    /// # Errors
    /// Bug: a decoder that did not request a reader.
    fn take_source(
        &mut self,
        _request: usize,
        (_stored, _state): (StoredBytes, SizeAndTag),
        _cells: &mut BatchCells,
    ) -> Result<(), StoreError> {
        Err(StoreError::bug("ranges that were not requested"))
    }

    /// Fills the cells that need the bytes of all requests.
    ///
    /// # Errors
    /// Malformed; unsupported; limit.
    fn finish(self: Box<Self>, _cells: &mut BatchCells) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The cells of one batch, and the limits on what is decoded for them.
#[derive(Debug)]
pub(super) struct BatchCells {
    cells: Vec<Option<Bytes>>,
    /// Cells that are decoded when they are used, with their places.
    later: Vec<(usize, StoredCell)>,
    pub(super) cap: Cap,
    pub(super) spent: Arc<Spent>,
}

impl BatchCells {
    /// `count` cells; those in `ready` are already filled.
    pub(super) fn new(count: usize, ready: &[(usize, Bytes)], kv: &Kv) -> Result<Self, StoreError> {
        let mut cells = Self {
            cells: vec![None; count],
            later: Vec::new(),
            cap: Cap::cell(kv.limits()),
            spent: Arc::new(Spent::new(Cap::batch(kv.limits()))),
        };
        for (want, bytes) in ready {
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
        self.spent.add(key, bytes)
    }

    /// Stores a cell that is decoded later.
    pub(super) fn put_later(&mut self, want: usize, cell: StoredCell) {
        self.later.push((want, cell));
    }

    /// The cells that the caller requested, without companions.
    pub(super) fn into_asked(self, asked: usize) -> Vec<Option<FetchedCell>> {
        let cells = self.cells.into_iter().take(asked);
        let mut cells: Vec<_> = cells.map(|cell| cell.map(FetchedCell::Decoded)).collect();
        for (want, cell) in self.later {
            if let Some(place) = cells.get_mut(want) {
                *place = Some(FetchedCell::Stored(Box::new(cell)));
            }
        }
        cells
    }
}
