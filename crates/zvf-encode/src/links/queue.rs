//! Links between vertices, queued until the rows of all vertices are known.

use crate::WriteError;
use crate::batches::layout::row_size;
use crate::records::record::take;
use crate::spec::store::StoreSpec;

/// Marks the child of a queued link of a skeleton if the values of fragments put it in another fragment than its parent: such a link is stored even
/// if its rows are in one chunk. Numbers of vertices stay below 2^62.
pub(crate) const CUT: u64 = 1 << 63;

/// The endpoints and attributes of a queued link.
pub fn split(mut record: &[u8], width: usize) -> Result<(Vec<u64>, &[u8]), WriteError> {
    let ends = take(&mut record, width * 8)?;
    Ok((
        ends.as_chunks::<8>()
            .0
            .iter()
            .map(|end| u64::from_le_bytes(*end))
            .collect(),
        record,
    ))
}

/// Bytes of a queued link.
pub fn queued_size(spec: &StoreSpec) -> usize {
    let values = spec.links.attributes.iter().map(row_size);
    spec.links.width * 8 + values.sum::<usize>()
}
