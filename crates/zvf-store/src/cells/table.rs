//! Chunks of one-dimensional tables of variable-length rows: a stored object is a chunk, or a shard of chunks.

use std::sync::Arc;

use zvf_codec::Data;
use zvf_io::{Ask, Cap, Kv, Object};

use super::decoder::{BatchCells, Decoder};
use super::request::{Get, RequestBytes};
use super::shard::{FoundHead, Guess, ShardRead, WantedCell};
use crate::layout::{CellLayout, ShardLayout};
use crate::{StoreError, codec};

/// A request for one whole chunk.
#[derive(Debug, Clone)]
pub(crate) struct ChunkWant {
    /// The key of its object.
    pub(crate) key: String,
    /// Its number in the object.
    pub(crate) entry: u64,
}

/// How the objects of a table are stored.
#[derive(Debug)]
pub(crate) struct TableObjects {
    pub(crate) layout: CellLayout,
    /// The lengths of the chunks of large shards, by the key of the shard below the array.
    pub(crate) lengths: Option<zvf_meta::JsonObject>,
    pub(crate) path: String,
}

/// A stored object and the wanted chunks in it.
#[derive(Debug)]
pub(super) struct TableWant {
    table: Arc<TableObjects>,
    key: String,
    pub(super) cells: Vec<WantedCell>,
    read: Option<ShardRead>,
}

impl TableWant {
    /// The object at `key`, without chunks yet.
    pub(super) fn new(table: Arc<TableObjects>, key: &str) -> Self {
        Self {
            table,
            key: key.to_owned(),
            cells: Vec::new(),
            read: None,
        }
    }

    fn decode(
        &self,
        name: &str,
        data: Data<'_>,
        wants: &[WantedCell],
        cells: &mut BatchCells,
    ) -> Result<(), StoreError> {
        let data = codec::decode(&self.table.layout.chain, name, data, cells.cap)?;
        cells.spend(name, data.as_slice().len())?;
        let bytes = data.into_bytes();
        for cell in wants {
            *cells.slot(cell.want)? = Some(bytes.clone());
        }
        Ok(())
    }
}

impl Decoder for TableWant {
    fn shard(&self) -> Option<(&str, ShardLayout)> {
        Some((&self.key, self.table.layout.shard?))
    }

    fn guess(&self, cap: Cap) -> Option<Guess> {
        let shard = self.table.layout.shard.filter(|shard| shard.at_end)?;
        let key = self.key.strip_prefix(&self.table.path)?;
        let text = self
            .table
            .lengths
            .as_ref()?
            .get(key.strip_prefix('/')?)?
            .as_str()?;
        Guess::of(text, &[shard.entries], &self.cells, |size| {
            cap.check(&self.key, size).is_ok()
        })
    }

    fn take_head(
        &mut self,
        head: FoundHead,
        beside: Vec<Object>,
        cap: Cap,
    ) -> Result<(), StoreError> {
        if let Some(head) = head {
            let mut read = ShardRead::new(&self.key, head, &self.cells, cap)?;
            read.take_beside(&self.key, beside);
            self.read = Some(read);
        }
        Ok(())
    }

    fn requests(&self, kv: &Kv) -> Result<Vec<Get>, StoreError> {
        Ok(match (&self.read, self.table.layout.shard) {
            (Some(read), _) => read.requests(&self.key, kv),
            (None, Some(_)) => Vec::new(),
            (None, None) => vec![Get::new(&self.key, Ask::Whole, Cap::cell(kv.limits()))],
        })
    }

    fn take(
        &mut self,
        _: usize,
        part: Option<RequestBytes<'_>>,
        cells: &mut BatchCells,
    ) -> Result<(), StoreError> {
        match (&mut self.read, part) {
            (Some(read), part) => read.take(&self.key, part),
            (None, Some(part)) => self.decode(&self.key, part.data, &self.cells, cells),
            (None, None) => Ok(()),
        }
    }

    fn finish(self: Box<Self>, cells: &mut BatchCells) -> Result<(), StoreError> {
        let chunks = self
            .read
            .iter()
            .flat_map(|read| read.chunks().iter().map(move |chunk| (read, chunk)));
        for (read, chunk) in chunks {
            let data = Data::Shared(read.bytes_of(&self.key, chunk)?);
            self.decode(&chunk.name(&self.key), data, &chunk.cells, cells)?;
        }
        Ok(())
    }
}
