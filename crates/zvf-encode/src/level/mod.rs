//! One level: cells of chunks, the objects that hold them, manifests, and a whole level from batches.
//!
//! [`ChunkEncoder`] makes the cells of a chunk from its records; [`LevelCells`] maps them to objects: one each, in shards, or the groups of 0.8.1.
//! [`ManifestArray`] writes the index of objects. [`write_arrays`] does all of this for the content of a [`Router`](crate::batches::Router);
//! [`LevelWriter`] has the single steps, for a level that several programs write.

pub(crate) mod blobs;
pub(crate) mod cell;
pub(crate) mod finish;
pub(crate) mod fragment_values;
pub(crate) mod manifests;
pub(crate) mod objects;
pub mod owners;
pub mod part_texts;
pub(crate) mod progress;
pub(crate) mod shard;

pub use cell::{ChunkEncoder, EncodedChunk, bin_of, fragment_index};
pub use finish::{
    LevelDocuments, LevelInput, LevelWriter, RowsWritten, Summary, Trace, by_chunk, dictionaries,
    write_arrays,
};
pub use manifests::{EncodedManifests, ManifestArray, ManifestLayout};
pub use objects::{
    PushedObjectTables, check_chain, check_chains, check_objects, checked_groups, index_doc,
    index_of_rows,
};
pub use progress::{Progress, Step, StepProgress, Watch};
pub use shard::{
    CellContainer, EncodedCells, LevelCells, ShardTexts, arrays_of_vertices, is_written,
    most_links, object_key, stored_as, stored_link_shards,
};
