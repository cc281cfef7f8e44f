//! One encoded chunk and the wanted cells in it.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use zvf_format::vlen::VlenChunk;

use super::{Budget, Cell, ObjectWant};
use crate::container::GridArray;
use crate::layout::Layout;
use crate::{StoreError, codec};
use zvf_codec::Data;
use zvf_io::Cap;

/// An encoded chunk that was fetched.
#[derive(Debug)]
pub(super) struct Unit {
    array: Arc<GridArray>,
    key: String,
    bytes: Bytes,
    cells: Vec<Cell>,
}

impl Unit {
    pub(super) fn new(object: &ObjectWant, bytes: Bytes, cells: Vec<Cell>) -> Self {
        Self {
            array: Arc::clone(&object.array),
            key: object.key.clone(),
            bytes,
            cells,
        }
    }

    /// Names the chunk in messages, where the object's key is not enough.
    pub(super) fn with_name(mut self, name: String) -> Self {
        self.key = name;
        self
    }

    /// Decodes the chunk and hands its elements to the cells that want them.
    pub(super) fn decode(
        self,
        out: &mut [Option<Bytes>],
        cap: Cap,
        budget: &mut Budget,
    ) -> Result<(), StoreError> {
        match self.array.layout() {
            Some(layout) => decode(
                &self.key,
                layout,
                Data::Shared(self.bytes),
                &self.cells,
                out,
                cap,
                budget,
            ),
            None => Ok(()),
        }
    }
}

/// Decodes a chunk and hands its elements to the cells that want them.
pub(super) fn decode(
    key: &str,
    layout: &Layout,
    data: Data<'_>,
    cells: &[Cell],
    out: &mut [Option<Bytes>],
    cap: Cap,
    budget: &mut Budget,
) -> Result<(), StoreError> {
    let data = codec::decode(&layout.chain, key, data, cap)?;
    budget.spend(key, data.as_slice().len())?;
    if let ([cell], 1) = (cells, layout.elements) {
        let element = single(key, data)?;
        *slot(out, cell.want)? = element;
        return Ok(());
    }
    let bytes = data.into_bytes();
    let chunk =
        VlenChunk::parse(&bytes, layout.elements).map_err(|e| StoreError::decode(key, e))?;
    for cell in cells {
        let element = u32::try_from(cell.element)
            .ok()
            .and_then(|i| chunk.get(i))
            .unwrap_or_default();
        *slot(out, cell.want)? = (!element.is_empty()).then(|| bytes.slice_ref(element));
    }
    Ok(())
}

/// The only element of a chunk: a count of 1, a length, the bytes. Without a copy where the bytes are shared.
fn single(key: &str, data: Data<'_>) -> Result<Option<Bytes>, StoreError> {
    let length = VlenChunk::parse_cell(data.as_slice())
        .map_err(|e| StoreError::decode(key, e))?
        .len();
    if length == 0 {
        return Ok(None);
    }
    match data {
        Data::Shared(mut bytes) if bytes.len() >= length.saturating_add(8) => {
            bytes.advance(8);
            bytes.truncate(length);
            Ok(Some(bytes))
        }
        data => Ok(data.slice(8..length.saturating_add(8))),
    }
}

/// The place of a result. Wants were numbered when the batch was planned, so it exists.
pub(super) fn slot(
    out: &mut [Option<Bytes>],
    want: usize,
) -> Result<&mut Option<Bytes>, StoreError> {
    out.get_mut(want)
        .ok_or_else(|| StoreError::misuse("a cell was numbered beyond its batch"))
}
