//! Limits on the cost of a hostile or damaged store.

/// Upper bounds on the allocations and requests that one store may cause.
///
/// Every count in a file is untrusted. A count beyond a limit causes [`IoError::Limit`](crate::IoError::Limit)
/// before memory is allocated for it. It is not malformed data: a larger limit may make the same store readable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one cell, or of one chunk of a typed array, before and after decompression. Default 1 GiB.
    pub cell_bytes: u64,
    /// Bytes of one `zarr.json`. Default 512 MiB: presence lists of millions of chunks are allowed.
    pub document_bytes: u64,
    /// Bytes in flight from a backend. Default 256 MiB.
    pub in_flight_bytes: u64,
    /// Decoded bytes of one call of `zvf_store::Store::fetch_map`. Default 8 GiB.
    pub batch_bytes: u64,
    /// Cells of one query. Default 16 Mi.
    pub cells_per_query: u64,
    /// Bytes kept in each cache: manifests, shard indexes, and fragments of chunks (at most 32 MiB). Default 256 MiB.
    pub cache_bytes: u64,
    /// Rows of an object table or a group. Default 2^32 - 1: the format has no bound since 0.9.3, and results use 32-bit row
    /// numbers. A table that is read as a whole is also bounded by [`cell_bytes`](Self::cell_bytes).
    pub object_rows: u64,
    /// Entries of a shard's index. Default 4 Mi (64 MiB of index).
    pub shard_entries: u64,
    /// Names of one listing: attributes, segments, levels. Default 100 000.
    pub listed_names: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cell_bytes: 1 << 30,
            document_bytes: 512 << 20,
            in_flight_bytes: 256 << 20,
            batch_bytes: 8 << 30,
            cells_per_query: 16 << 20,
            cache_bytes: 256 << 20,
            object_rows: u64::from(u32::MAX),
            shard_entries: 4 << 20,
            listed_names: 100_000,
        }
    }
}

impl Limits {
    /// Replaces [`cell_bytes`](Self::cell_bytes).
    #[must_use]
    pub fn with_cell_bytes(mut self, bytes: u64) -> Self {
        self.cell_bytes = bytes;
        self
    }

    /// Replaces [`document_bytes`](Self::document_bytes).
    #[must_use]
    pub fn with_document_bytes(mut self, bytes: u64) -> Self {
        self.document_bytes = bytes;
        self
    }

    /// Replaces [`batch_bytes`](Self::batch_bytes).
    #[must_use]
    pub fn with_batch_bytes(mut self, bytes: u64) -> Self {
        self.batch_bytes = bytes;
        self
    }

    /// Replaces [`cells_per_query`](Self::cells_per_query).
    #[must_use]
    pub fn with_cells_per_query(mut self, cells: u64) -> Self {
        self.cells_per_query = cells;
        self
    }
}
