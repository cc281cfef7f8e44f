//! A list of cells, with a list of their keys.
//!
//! ```text
//! <path>/zarr.json    one axis, variable-length elements; attributes.layout = "packed_sharded",
//!                     attributes.cell_keys = the key of each element
//! ```
//!
//! Source: specification 0.8, section 9.8.

use serde_json::Value;
use zvf_meta::ArrayDoc;

use crate::layout::{self, CellLayout, ChunkDecoding};
use crate::presence::Presence;
use crate::{Limits, StoreError};
use zvf_format::int::wide;
use zvf_io::Cap;

/// The value of `layout` that marks a list of cells.
const LAYOUT: &str = "packed_sharded";

/// A list of cells.
#[derive(Debug, Clone)]
pub(crate) struct PackedCells {
    pub(crate) reader: ChunkDecoding<CellLayout>,
    /// The element of each cell, in the order of the array's presence.
    elements: Vec<u64>,
}

/// Whether an array states that it is a list of cells.
pub(crate) fn is_packed(doc: &ArrayDoc) -> bool {
    doc.attributes
        .extra
        .get("layout")
        .is_some_and(|word| word == LAYOUT)
}

/// The stated key of element `at` of a list of cells: `Some(None)` if it is not a string; `None` past the last key, and if the array has no keys.
pub(crate) fn cell_key(doc: &ArrayDoc, at: usize) -> Option<Option<&str>> {
    let [length] = *doc.shape.as_slice() else {
        return None;
    };
    let keys = doc.attributes.extra.get("cell_keys")?.as_array()?;
    (wide(at) < length).then(|| keys.get(at).map(Value::as_str))?
}

impl PackedCells {
    /// Reads the document of a list of cells with keys of `rank` components.
    ///
    /// # Errors
    /// The number of keys differs from the number of elements; a key is invalid, has another rank, or occurs twice.
    pub(super) fn new(
        path: &str,
        doc: &ArrayDoc,
        rank: usize,
        limits: &Limits,
    ) -> Result<(Self, Presence), StoreError> {
        let wrong = |what: String| StoreError::malformed(format!("{path}/zarr.json"), what);
        let [length] = doc.shape.as_slice() else {
            return Err(wrong(format!(
                "shape is {:?}, expected one number",
                doc.shape
            )));
        };
        let keys = match doc.attributes.extra.get("cell_keys") {
            Some(Value::Array(keys)) => keys.as_slice(),
            _ => return Err(wrong("no cell_keys, expected an array of keys".to_owned())),
        };
        let count = wide(keys.len());
        if count != *length {
            return Err(wrong(format!(
                "cell_keys has {count} keys, expected {length}, one for each element"
            )));
        }
        Cap::cells(limits).check(path, count)?;
        let texts: Vec<&str> = keys
            .iter()
            .map(|key| key.as_str().unwrap_or_default())
            .collect();
        let presence = Presence::from_known_names(texts.iter().copied(), rank);
        if let Some(problem) = presence.problems().first() {
            return Err(wrong(format!("cell_keys: {problem}")));
        }
        let mut elements = vec![0; presence.len()];
        let mut coord = vec![0i64; rank];
        for (at, text) in (0u64..).zip(texts) {
            let place = zvf_format::keys::parse_key(text, &mut coord)
                .ok()
                .and_then(|_| presence.position(&coord));
            if let Some(element) = place.and_then(|place| elements.get_mut(place)) {
                *element = at;
            }
        }
        let reader = layout::reader(path, doc, limits)?;
        Ok((Self { reader, elements }, presence))
    }

    /// The element of the `at`-th cell of the presence list.
    pub(crate) fn element(&self, at: usize) -> Option<u64> {
        self.elements.get(at).copied()
    }
}
