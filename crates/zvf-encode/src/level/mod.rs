//! One level: cells of chunks, shards, manifests and tables of objects.

pub(crate) mod blobs;
pub(crate) mod cell;
pub(crate) mod finish;
pub(crate) mod fragment_values;
pub(crate) mod objects;
pub mod part_texts;
pub(crate) mod progress;
pub(crate) mod shard;

pub use cell::{Encoded, Encoder, bin_of, fragment_index};
pub use finish::{
    Documents, Level, LevelInput, RowsWritten, Summary, Trace, by_chunk, dictionaries, write_arrays,
};
pub use objects::{ManifestArray, Tables, check_chain, checked_groups, index_doc, index_of_rows};
pub use progress::{Progress, Step, Steps, Watch};
pub use shard::{Cells, Container, object_key, stored_as};
