//! The record of one vertex between the batch and its cell.
//!
//! ```text
//! ┌────────┬─────────────┬───────────┬───────────┬──────────────┬──────────────────────────┐
//! │ number │ object      │ root      │ position  │ attributes … │ attributes of fragments… │
//! │ u64    │ i64         │ u8        │ D numbers │              │                          │
//! │        │ if objects  │ skeletons │           │              │                          │
//! └────────┴─────────────┴───────────┴───────────┴──────────────┴──────────────────────────┘
//! ```
//!
//! The number counts vertices in the order in which they were pushed; in skeletons in depth-first order. Categories are codes of 32 bits here.

use std::ops::Range;

use zvf_format::dtype::DType;
use zvf_meta::Kind;

use crate::WriteError;
use crate::error::{OrBug, to_index};
use crate::spec::store::{AttributeSpec, AttributeType, StoreSpec};
use zvf_format::int::wide;

/// The layout of the record of a vertex: byte ranges of its parts.
#[derive(Debug, Clone)]
pub struct VertexLayout {
    /// Offset of the object id, 8 bytes; none if vertices belong to no objects.
    pub(crate) object: Option<usize>,
    /// Offset of the root flag, 1 byte; skeletons only.
    pub(crate) root: Option<usize>,
    /// Bytes of the position.
    pub position: Range<usize>,
    /// Bytes of the vertex attributes, in the order of the specification.
    pub attributes: Vec<Range<usize>>,
    /// Bytes of the fragment attributes, in the order of the specification.
    pub(crate) fragment_attributes: Vec<Range<usize>>,
    /// Bytes of one record.
    pub(crate) width: usize,
}

/// Bytes of one row of an attribute in records.
pub fn row_size(attribute: &AttributeSpec) -> usize {
    let one = match attribute.values {
        AttributeType::Number(number) => number.size(),
        AttributeType::Category | AttributeType::Text => 4,
    };
    one * attribute.channels
}

/// Largest size of a row of an attribute in bytes: more than any writer produces.
const MOST_ROW: u64 = 1 << 24;

/// Bytes of a row of `width` values; a width of 0 counts as 1.
///
/// # Errors
/// Limit: a row of more than 16 MiB, which a damaged document may state.
pub fn row_bytes(what: &'static str, width: u64, dtype: DType) -> Result<usize, WriteError> {
    let most = MOST_ROW / wide(dtype.size()).max(1);
    if width > most {
        return Err(WriteError::limit(what, width, most));
    }
    Ok(to_index(what, width.max(1))? * dtype.size())
}

impl VertexLayout {
    /// The layout of the records of a store.
    pub fn new(spec: &StoreSpec) -> Self {
        let mut end = 8_usize;
        let mut take = |size: usize| {
            let start = end;
            end = start + size;
            start..end
        };
        let object = spec.has_objects().then(|| take(8).start);
        let root = (spec.kind == Kind::Skeleton).then(|| take(1).start);
        let position = take(spec.dims() * spec.positions.size());
        let mut each = |list: &[AttributeSpec]| -> Vec<Range<usize>> {
            list.iter().map(|one| take(row_size(one))).collect()
        };
        let attributes = each(&spec.vertex_attributes);
        let fragment_attributes = each(&spec.fragment_attributes);
        Self {
            object,
            root,
            position,
            attributes,
            fragment_attributes,
            width: end,
        }
    }

    /// The number of the vertex.
    pub(crate) fn number(record: &[u8]) -> Result<u64, WriteError> {
        let bytes = record.first_chunk().or_bug("a record without a number")?;
        Ok(u64::from_le_bytes(*bytes))
    }

    /// The object of the vertex; 0 if vertices belong to no objects.
    pub(crate) fn object(&self, record: &[u8]) -> Result<i64, WriteError> {
        let Some(at) = self.object else {
            return Ok(0);
        };
        let bytes = record.get(at..).and_then(<[u8]>::first_chunk);
        Ok(i64::from_le_bytes(
            *bytes.or_bug("a record without an object")?,
        ))
    }

    /// The bytes of all fragment attributes of the vertex.
    pub(crate) fn fragment<'r>(&self, record: &'r [u8]) -> Result<&'r [u8], WriteError> {
        let Some(first) = self.fragment_attributes.first() else {
            return Ok(&[]);
        };
        let values = record.get(first.start..);
        values.or_bug("a record without the attributes of its fragment")
    }

    /// Whether the vertex is the root of a tree.
    pub(crate) fn is_root(&self, record: &[u8]) -> Result<bool, WriteError> {
        let Some(at) = self.root else {
            return Ok(false);
        };
        Ok(*record.get(at).or_bug("a record without a flag of roots")? != 0)
    }
}

#[cfg(test)]
mod tests {
    use zvf_meta::Kind;

    use super::{VertexLayout, row_bytes};
    use crate::WriteError;
    use crate::spec::store::StoreSpec;
    use zvf_format::dtype::{DType, DTypeKind};

    #[test]
    fn what_a_record_lacks_is_a_bug() {
        let layout = VertexLayout::new(&StoreSpec::new(Kind::Skeleton, [10.0; 3]));
        let record = vec![1; layout.width];
        assert_eq!(layout.object(&record).unwrap(), 0x0101_0101_0101_0101);
        assert!(layout.is_root(&record).unwrap());
        let bug = |found: Result<i64, WriteError>| matches!(found, Err(WriteError::Bug { .. }));
        assert!(bug(VertexLayout::number(&record[..7]).map(u64::cast_signed)));
        assert!(bug(layout.object(&record[..15])));
        assert!(bug(layout.is_root(&record[..16]).map(i64::from)));
    }

    #[test]
    fn a_row_of_a_document_has_a_limit() {
        let floats = DType::little(DTypeKind::F64);
        assert_eq!(row_bytes("values", 0, floats).unwrap(), 8);
        assert_eq!(row_bytes("values", 3, floats).unwrap(), 24);
        assert!(matches!(
            row_bytes("values", 1 << 61, floats),
            Err(WriteError::Limit { .. })
        ));
    }
}
