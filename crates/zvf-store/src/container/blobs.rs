//! A group of blobs: one child for each chunk, named by the chunk's key.
//!
//! ```text
//! <path>/zarr.json                      group, with the attributes of the array
//! <path>/0.1.2/zarr.json, c/0           the blob of chunk 0.1.2, see `blob.rs`
//! <path>/__shard_000000/zarr.json, c/0  blobs of several chunks back to back; attributes.shard_index =
//!                                       {"0.0.0": [offset, length], ...} in decoded bytes
//! ```
//!
//! A group may be packed in part. A chunk with a separate child is read from that child, also if a pack has it.
//!
//! Source: specification 0.7, sections 2.1 and 2.6; 0.8, section 3.1.

use std::collections::HashSet;

use serde_json::Value;
use zvf_format::keys::parse_key;
use zvf_meta::{ArrayDoc, JsonObject};

use super::blob::Blob;
use crate::presence::Presence;
use crate::{ChunkCoord, StoreError};
use zvf_format::int::wide;
use zvf_io::Cap;

/// The places of the blobs of a group.
#[derive(Debug, Clone, Default)]
pub(crate) struct Blobs {
    /// Whether the children were listed: a listed child that is missing is an error.
    pub(crate) listed: bool,
    packs: Vec<Pack>,
    /// For each chunk, in the order of the array's presence; empty when no chunk is packed.
    slots: Vec<BlobSlot>,
}

/// Blobs of several chunks in one.
#[derive(Debug, Clone)]
pub(crate) struct Pack {
    /// Path of the packed blob.
    pub(crate) path: String,
    pub(crate) blob: Blob,
}

/// The place of the blob of one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlobSlot {
    /// In a separate child.
    Plain,
    /// In a pack: its number, then offset and length in the decoded bytes.
    Packed(usize, u64, u64),
}

/// Whether a child is a pack, by its name: the number has six digits or more.
pub(crate) fn is_pack(name: &str) -> bool {
    name.strip_prefix("__shard_")
        .is_some_and(|n| n.len() >= 6 && n.bytes().all(|b| b.is_ascii_digit()))
}

impl Blobs {
    /// Blobs that each have a separate child.
    pub(crate) fn plain(listed: bool) -> Self {
        Self {
            listed,
            ..Self::default()
        }
    }

    /// Sorts the children that a listing found; `packs` are the documents of those that [`is_pack`] names.
    ///
    /// Other names are ignored. Names that look like keys but do not have `rank` components, and packs without a document, are
    /// reported as problems of the presence.
    ///
    /// # Errors
    /// A pack whose index violates section 2.6, or refers to bytes beyond the pack.
    pub(crate) fn from_listing(
        path: &str,
        rank: usize,
        names: &[String],
        packs: Vec<(String, ArrayDoc)>,
        cap: Cap,
    ) -> Result<(Self, Presence), StoreError> {
        let keys = names
            .iter()
            .map(String::as_str)
            .filter(|name| !is_pack(name) && looks_like_key(name));
        let plain = Presence::from_names(keys, rank);
        let known: HashSet<&str> = packs.iter().map(|(name, _)| name.as_str()).collect();
        let lost: Vec<String> = names
            .iter()
            .filter(|name| is_pack(name) && !known.contains(name.as_str()))
            .map(|name| format!("{name}/zarr.json is missing: the chunks in it cannot be read"))
            .collect();
        let plain = plain.with_problems(&lost);
        if packs.is_empty() {
            return Ok((Self::plain(true), plain));
        }
        let mut cells: Vec<(ChunkCoord, BlobSlot)> = plain
            .iter()
            .map(|coord| (ChunkCoord::new(coord), BlobSlot::Plain))
            .collect();
        let mut found = Vec::with_capacity(packs.len());
        for (name, doc) in packs {
            let path = format!("{path}/{name}");
            let blob = Blob::new(&path, &doc)?;
            index(&path, &doc, &blob, found.len(), rank, &mut cells)?;
            cap.check(&path, wide(cells.len()))?;
            found.push(Pack { path, blob });
        }
        // A stable sort: if a chunk has a separate child, that child comes first.
        cells.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut kept: Vec<(ChunkCoord, BlobSlot)> = Vec::with_capacity(cells.len());
        for (coord, slot) in cells {
            match kept.last() {
                Some((last, BlobSlot::Plain)) if *last == coord => {}
                Some((last, BlobSlot::Packed(..))) if *last == coord => {
                    return Err(StoreError::malformed(
                        path,
                        format!("chunk {coord} is in more than one pack"),
                    ));
                }
                _ => kept.push((coord, slot)),
            }
        }
        let flat = kept.iter().flat_map(|(c, _)| c.iter().copied()).collect();
        let presence = Presence::from_listing(rank, flat).with_problems(plain.problems());
        let blobs = Self {
            listed: true,
            packs: found,
            slots: kept.into_iter().map(|(_, slot)| slot).collect(),
        };
        Ok((blobs, presence))
    }

    /// Whether any chunk is packed.
    pub(crate) fn is_packed(&self) -> bool {
        !self.packs.is_empty()
    }

    /// The place of the blob of the `at`-th chunk of the presence.
    pub(crate) fn slot(&self, at: usize) -> BlobSlot {
        self.slots.get(at).copied().unwrap_or(BlobSlot::Plain)
    }

    pub(crate) fn pack(&self, number: usize) -> Option<&Pack> {
        self.packs.get(number)
    }
}

/// Whether a name consists of the characters of keys.
fn looks_like_key(name: &str) -> bool {
    name.bytes()
        .all(|b| b.is_ascii_digit() || b == b'.' || b == b'-')
}

/// The index of a pack: the place of the blob of each key.
pub(crate) fn shard_index(doc: &ArrayDoc) -> Option<&JsonObject> {
    doc.attributes.extra.get("shard_index")?.as_object()
}

/// Offset and length of a blob, from an entry of the index of a pack.
pub(crate) fn packed_part(value: &Value) -> Option<(u64, u64)> {
    match value.as_array().map(Vec::as_slice) {
        Some([offset, length]) => offset.as_u64().zip(length.as_u64()),
        _ => None,
    }
}

/// Adds the chunks of one pack.
fn index(
    path: &str,
    doc: &ArrayDoc,
    blob: &Blob,
    number: usize,
    rank: usize,
    cells: &mut Vec<(ChunkCoord, BlobSlot)>,
) -> Result<(), StoreError> {
    let wrong = |what: String| StoreError::malformed(format!("{path}/zarr.json"), what);
    let Some(entries) = shard_index(doc) else {
        return Err(wrong("no shard_index, expected an object".to_owned()));
    };
    let mut coord = vec![0i64; rank];
    let mut ranges = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        match parse_key(key, &mut coord) {
            Ok(n) if n == rank => {}
            Ok(n) => {
                return Err(wrong(format!(
                    "shard_index: key {key:?} has {n} components, expected {rank}"
                )));
            }
            Err(error) => {
                return Err(wrong(format!(
                    "shard_index: key {key:?} cannot be read: {error}"
                )));
            }
        }
        let Some((offset, length)) = packed_part(value) else {
            return Err(wrong(format!(
                "shard_index: {key:?} is {value}, expected offset and length"
            )));
        };
        if offset
            .checked_add(length)
            .is_none_or(|end| end > blob.length)
        {
            return Err(wrong(format!(
                "shard_index: {key:?} claims {length} bytes at {offset}, the pack has {}",
                blob.length
            )));
        }
        ranges.push((offset, length, key));
        cells.push((
            ChunkCoord::new(&coord),
            BlobSlot::Packed(number, offset, length),
        ));
    }
    // Blobs follow each other without gaps (section 2.6): bytes without a key mean that a key is lost.
    ranges.sort_unstable();
    let mut end = 0;
    let mut last = None;
    for (offset, length, key) in ranges {
        if offset < end {
            let other = last.unwrap_or(key);
            return Err(wrong(format!(
                "shard_index: the bytes of {other:?} and {key:?} overlap"
            )));
        }
        if offset > end {
            return Err(wrong(format!(
                "shard_index: no key names the bytes {end}..{offset}: a chunk is lost"
            )));
        }
        // No overflow: the sum was checked above.
        end = offset + length;
        last = Some(key);
    }
    if end < blob.length {
        return Err(wrong(format!(
            "shard_index: no key names the bytes {end}..{}: a chunk is lost",
            blob.length
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use zvf_meta::ArrayDoc;

    use super::{BlobSlot, Blobs, is_pack};

    fn pack(length: u64, index: &str) -> ArrayDoc {
        let text = format!(
            r#"{{"shape":[{length}],"data_type":"uint8","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{length}]}}}},
            "chunk_key_encoding":{{"name":"default","configuration":{{"separator":"/"}}}},"fill_value":0,"codecs":[{{"name":"bytes"}}],
            "attributes":{{"shard_index":{index}}},"zarr_format":3,"node_type":"array","storage_transformers":[]}}"#
        );
        ArrayDoc::parse(text.as_bytes()).unwrap()
    }

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|n| (*n).to_owned()).collect()
    }

    fn listed(
        list: &[&str],
        packs: Vec<(&str, ArrayDoc)>,
    ) -> Result<(Blobs, crate::Presence), crate::StoreError> {
        let packs = packs.into_iter().map(|(n, d)| (n.to_owned(), d)).collect();
        let cap = zvf_io::Cap {
            what: "cells_per_query",
            most: 100,
        };
        Blobs::from_listing("0/x", 2, &names(list), packs, cap)
    }

    #[test]
    fn shard_names_may_have_more_than_six_digits() {
        assert!(is_pack("__shard_000000") && is_pack("__shard_2147483647"));
        assert!(!is_pack("__shard_") && !is_pack("__shard_00000") && !is_pack("__shard_00000x"));
    }

    #[test]
    fn union_with_plain_winning() {
        let first = pack(60, r#"{"0.0":[0,36],"10.0":[36,24]}"#);
        let second = pack(10, r#"{"-1.3":[0,10]}"#);
        let (blobs, presence) = listed(
            &["0.0", "2.0", "__shard_000000", "__shard_1000000", "data"],
            vec![("__shard_000000", first), ("__shard_1000000", second)],
        )
        .unwrap();
        let order: Vec<&[i64]> = presence.iter().collect();
        assert_eq!(order, [[-1, 3], [0, 0], [2, 0], [10, 0]]);
        let slots: Vec<BlobSlot> = (0..4).map(|at| blobs.slot(at)).collect();
        assert_eq!(
            slots,
            [
                BlobSlot::Packed(1, 0, 10),
                BlobSlot::Plain,
                BlobSlot::Plain,
                BlobSlot::Packed(0, 36, 24)
            ]
        );
        assert_eq!(blobs.pack(1).unwrap().path, "0/x/__shard_1000000");
    }

    #[test]
    fn a_wrong_index_is_refused() {
        for lie in [
            r#"{"0.0":[0,61]}"#,
            r#"{"0.0":[0,59]}"#,
            r#"{"0.0":[1,59]}"#,
            r#"{"0.0":[0,30],"0.1":[31,29]}"#,
            r#"{"0.0":[0,31],"0.1":[30,30]}"#,
            r#"{}"#,
            r#"{"0.0":[18446744073709551615,2]}"#,
            r#"{"0.0":[-1,2]}"#,
            r#"{"0.0":[1]}"#,
            r#"{"0.0":"x"}"#,
            r#"{"0.0.0":[0,1]}"#,
            r#"{"-0.0":[0,1]}"#,
            r#"{"01.0":[0,1]}"#,
            r#"[]"#,
        ] {
            let found = listed(&[], vec![("__shard_000000", pack(60, lie))]);
            let error = found.expect_err(lie).to_string();
            assert!(
                error.starts_with("0/x/__shard_000000/zarr.json: "),
                "{error}"
            );
        }
        let twice = listed(
            &[],
            vec![
                ("__shard_000000", pack(60, r#"{"0.0":[0,60]}"#)),
                ("__shard_000001", pack(60, r#"{"0.0":[0,60]}"#)),
            ],
        );
        assert!(
            twice
                .unwrap_err()
                .to_string()
                .contains("more than one pack")
        );
    }

    #[test]
    fn a_pack_without_document_is_reported() {
        let (_, presence) = listed(&["0.0", "__shard_000000"], vec![]).unwrap();
        assert_eq!(presence.len(), 1);
        let [problem] = presence.problems() else {
            panic!("{:?}", presence.problems());
        };
        assert!(problem.contains("__shard_000000/zarr.json"), "{problem}");
    }

    #[test]
    fn names_that_are_no_chunks_of_this_array_are_reported() {
        let (_, presence) = listed(&["0.0", "-0.1", "01.0", "1.2.3", "c", "data"], vec![]).unwrap();
        assert_eq!(presence.len(), 1);
        assert_eq!(presence.problems().len(), 3, "{:?}", presence.problems());
    }
}
