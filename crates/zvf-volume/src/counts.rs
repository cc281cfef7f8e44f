//! The cost of reads.

/// The cost of reads of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Tiles or chunks that were read.
    pub chunks: u64,
    /// Decoded blocks, if chunks have blocks that can be decoded one at a time.
    pub blocks: u64,
    /// Bytes that were read; 0 if the container does not count them.
    pub bytes: u64,
    /// Reads of a file, or requests; 0 if the container does not count them.
    pub requests: u64,
}

impl Counts {
    /// Adds the cost of another read.
    pub fn add(&mut self, other: Self) {
        self.chunks = self.chunks.saturating_add(other.chunks);
        self.blocks = self.blocks.saturating_add(other.blocks);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.requests = self.requests.saturating_add(other.requests);
    }
}
