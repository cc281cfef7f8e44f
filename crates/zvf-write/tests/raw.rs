//! A reader of 0.8.1 that shares no code with the workspace: files, JSON and byte offsets, written from the format specification alone.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use serde_json::Value;

/// The files of a store.
pub(crate) struct Raw(pub(crate) BTreeMap<String, Vec<u8>>);

/// Cells by their key.
pub(crate) type Cells = BTreeMap<Vec<i64>, Vec<u8>>;

/// One record: chunk and row of each end, in the order of the application.
pub(crate) type Record = Vec<(Vec<i64>, i64)>;

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

pub(crate) fn i64s(bytes: &[u8]) -> Vec<i64> {
    assert_eq!(bytes.len() % 8, 0);
    (0..bytes.len() / 8)
        .map(|at| u64_at(bytes, at * 8) as i64)
        .collect()
}

/// Decodes all codecs except the first one.
fn undo(codecs: &Value, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for codec in codecs.as_array().unwrap().iter().skip(1).rev() {
        bytes = match codec["name"].as_str().unwrap() {
            "zstd" => zstd::stream::decode_all(&bytes[..]).unwrap(),
            "gzip" => {
                let mut out = Vec::new();
                let mut gzip = flate2::read::GzDecoder::new(&bytes[..]);
                gzip.read_to_end(&mut out).unwrap();
                out
            }
            other => panic!("codec {other}"),
        };
    }
    bytes
}

/// The elements of a chunk of byte strings (§2).
fn vlen(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut at = 4;
    let mut found = Vec::new();
    for _ in 0..u32_at(bytes, 0) {
        let size = u32_at(bytes, at);
        found.push(bytes[at + 4..at + 4 + size].to_vec());
        at += 4 + size;
    }
    assert_eq!(at, bytes.len());
    found
}

/// Rows of a fragment index that has only ranges (§7).
pub(crate) fn ranges(bytes: &[u8]) -> Vec<(i64, i64)> {
    assert_eq!(bytes[..8], [0x47, 0x46, 0x56, 0x5a, 1, 0, 0, 0]);
    let count = u32_at(bytes, 8);
    assert_eq!(u32_at(bytes, 12), count);
    if count == 0 {
        assert_eq!(bytes.len(), 16);
        return Vec::new();
    }
    let start = 16 + count.div_ceil(64) * 8;
    let pairs = i64s(&bytes[start..start + 16 * count]);
    assert_eq!(bytes[start + 16 * count..], [0; 4]);
    pairs.chunks(2).map(|pair| (pair[0], pair[1])).collect()
}

/// For each stored end its number in the order of the application (§9.2).
fn placement(code: i64, width: usize) -> Vec<usize> {
    let mut free: Vec<usize> = (0..width).collect();
    let mut all: i64 = (1..=width as i64).product();
    assert!((0..all).contains(&code));
    let mut rest = code;
    let mut found = Vec::new();
    for at in 0..width {
        all /= (width - at) as i64;
        found.push(free.remove((rest / all) as usize));
        rest %= all;
    }
    found
}

impl Raw {
    pub(crate) fn has(&self, path: &str) -> bool {
        self.0.contains_key(&format!("{path}/zarr.json"))
    }

    pub(crate) fn document(&self, path: &str) -> Value {
        let key = format!("{path}/zarr.json");
        let bytes = self.0.get(key.trim_start_matches('/'));
        serde_json::from_slice(bytes.unwrap_or_else(|| panic!("no {key}"))).unwrap()
    }

    pub(crate) fn attributes(&self, path: &str) -> Value {
        self.document(path)["attributes"].clone()
    }

    /// The names of all entries directly below a path.
    pub(crate) fn below(&self, path: &str) -> BTreeSet<String> {
        let prefix = format!("{path}/");
        let inside = self.0.keys().filter_map(|key| key.strip_prefix(&prefix));
        inside
            .filter(|rest| *rest != "zarr.json")
            .map(|rest| rest.split('/').next().unwrap().to_owned())
            .collect()
    }

    /// All cells of a family, of rank `rank`, in either container (§3.1, §3.4).
    pub(crate) fn cells(&self, path: &str, rank: usize) -> Cells {
        let doc = self.document(path);
        if doc["node_type"] == "array" {
            return self.grid(path, &doc, rank);
        }
        let mut cells = Cells::new();
        for name in self.below(path) {
            let key: Vec<i64> = name.split('.').map(|part| part.parse().unwrap()).collect();
            assert_eq!(key.len(), rank, "{path}/{name}");
            let blob = format!("{path}/{name}");
            let doc = self.document(&blob);
            assert_eq!(
                (&doc["node_type"], &doc["data_type"]),
                (&"array".into(), &"uint8".into())
            );
            assert_eq!(doc["codecs"][0]["name"], "bytes");
            assert_eq!(
                doc["chunk_grid"]["configuration"]["chunk_shape"],
                doc["shape"]
            );
            let bytes = undo(&doc["codecs"], &self.0[&format!("{blob}/c/0")]);
            assert_eq!(doc["shape"], serde_json::json!([bytes.len()]));
            assert!(!bytes.is_empty());
            cells.insert(key, bytes);
        }
        cells
    }

    fn grid(&self, path: &str, doc: &Value, rank: usize) -> Cells {
        assert_eq!(doc["data_type"], "variable_length_bytes");
        assert!(doc["attributes"].get("chunk_grid_origin").is_none());
        let numbers = |value: &Value| -> Vec<i64> {
            let list = value.as_array().unwrap().iter();
            list.map(|number| number.as_i64().unwrap()).collect()
        };
        let (shape, shard) = (
            numbers(&doc["shape"]),
            numbers(&doc["chunk_grid"]["configuration"]["chunk_shape"]),
        );
        assert_eq!((shape.len(), shard.len()), (rank, rank));
        let sharding = &doc["codecs"][0];
        assert_eq!(sharding["name"], "sharding_indexed");
        let inner = &sharding["configuration"];
        assert_eq!(numbers(&inner["chunk_shape"]), vec![1; rank]);
        assert_eq!(inner["index_location"], "end");
        let count = shard.iter().product::<i64>() as usize;
        let prefix = format!("{path}/c/");
        let mut cells = Cells::new();
        for (key, bytes) in self.0.iter().filter(|(key, _)| key.starts_with(&prefix)) {
            let place = key[prefix.len()..].split('/');
            let place: Vec<i64> = place.map(|part| part.parse().unwrap()).collect();
            let index = bytes.len() - 4 - 16 * count;
            for at in 0..count {
                let entry = [index + 16 * at, index + 16 * at + 8].map(|at| u64_at(bytes, at));
                if entry == [u64::MAX; 2] {
                    continue;
                }
                let (mut rest, mut inside) = (at as i64, vec![0; rank]);
                for (slot, size) in inside.iter_mut().zip(&shard).rev() {
                    *slot = rest % size;
                    rest /= size;
                }
                let cell = place.iter().zip(&shard).zip(&inside);
                let cell: Vec<i64> = cell.map(|((p, size), at)| p * size + at).collect();
                assert!(cell.iter().zip(&shape).all(|(at, size)| at < size));
                let [start, size] = entry.map(|number| number as usize);
                let chunk = undo(&inner["codecs"], &bytes[start..start + size]);
                let elements = vlen(&chunk);
                assert_eq!(elements.len(), 1);
                cells.insert(cell, elements[0].clone());
            }
        }
        let mut listed: Vec<String> = cells.keys().map(|key| text(key)).collect();
        listed.sort();
        assert_eq!(
            doc["attributes"]["nonempty_chunks"],
            serde_json::json!(listed)
        );
        cells
    }

    /// The elements of a ragged array (§3.3).
    pub(crate) fn ragged(&self, path: &str) -> Vec<Vec<u8>> {
        let doc = self.document(path);
        let rows = doc["shape"][0].as_u64().unwrap() as usize;
        let chunk = doc["chunk_grid"]["configuration"]["chunk_shape"][0].as_u64();
        let chunk = chunk.unwrap() as usize;
        let mut found = Vec::new();
        for at in 0..rows.div_ceil(chunk) {
            match self.0.get(&format!("{path}/c/{at}")) {
                Some(bytes) => found.extend(vlen(&undo(&doc["codecs"], bytes))),
                None => found.extend(vec![Vec::new(); chunk]),
            }
        }
        found.truncate(rows);
        found
    }

    /// The bytes of a plain array of one chunk (§3.2); `None` if all values are the fill value.
    pub(crate) fn plain(&self, path: &str) -> Option<Vec<u8>> {
        let doc = self.document(path);
        assert_eq!(
            doc["chunk_grid"]["configuration"]["chunk_shape"],
            doc["shape"]
        );
        let dims = doc["shape"].as_array().unwrap().len();
        let key = format!("{path}/c{}", "/0".repeat(dims));
        self.0.get(&key).map(|bytes| undo(&doc["codecs"], bytes))
    }

    /// The content of every object: chunks and fragments in order (§10.1).
    pub(crate) fn manifests(&self, rank: usize) -> Vec<Vec<(Vec<i64>, i64)>> {
        let index = self.attributes("0/object_index");
        assert_eq!(index["layout"], "vlen_manifests_v1");
        let count = index["num_objects"].as_u64().unwrap() as usize;
        if count == 0 {
            assert!(!self.has("0/object_index/manifests"));
            return Vec::new();
        }
        assert_eq!(
            self.below("0/object_index"),
            BTreeSet::from(["manifests".to_owned()])
        );
        let blobs = self.ragged("0/object_index/manifests");
        assert_eq!(blobs.len(), count);
        let entries = |blob: &Vec<u8>| {
            let size = 8 * rank + 9;
            assert_eq!(blob.len(), 4 + size * u32_at(blob, 0));
            let blocks = blob[4..].chunks(size);
            blocks
                .map(|block| {
                    assert_eq!(block[8 * rank], 0);
                    (i64s(&block[..8 * rank]), i64s(&block[8 * rank + 1..])[0])
                })
                .collect()
        };
        blobs.iter().map(entries).collect()
    }

    /// The links inside chunks, each with its row number in its chunk (§8.4).
    pub(crate) fn inside(&self, rank: usize) -> Vec<(Record, usize)> {
        let mut found = Vec::new();
        if !self.has("0/links/0") {
            return found;
        }
        let width = self.attributes("0/links/0")["link_width"].as_u64().unwrap() as usize;
        let fragments = self.cells("0/link_fragments", rank);
        let cells = self.cells("0/links/0", rank);
        assert!(fragments.keys().eq(cells.keys()));
        for (chunk, bytes) in cells {
            let rows = i64s(&bytes);
            let count = rows.len() / width;
            assert_eq!(ranges(&fragments[&chunk]), [(0, count as i64)]);
            for (at, row) in rows.chunks(width).enumerate() {
                found.push((row.iter().map(|row| (chunk.clone(), *row)).collect(), at));
            }
        }
        found
    }

    /// The links between chunks: record, key of the cell, and row number in it; including copies (§9).
    pub(crate) fn across(&self, rank: usize) -> Vec<(Record, Vec<i64>, usize)> {
        let path = "0/cross_chunk_links/0";
        let mut found = Vec::new();
        if !self.has(path) {
            return found;
        }
        let family = self.attributes(path);
        assert_eq!(family["zv_array"], "cross_chunk_links");
        assert_eq!(family["sid_ndim"], rank);
        let width = family["link_width"].as_u64().unwrap() as usize;
        let canonical = family["store"] == "canonical" && family["directed"] == false;
        for (key, bytes) in self.cells(path, rank * width) {
            let numbers = i64s(&bytes);
            let count = numbers[0] as usize;
            assert_eq!(numbers.len(), 1 + count + count * (1 + width));
            for at in 0..count {
                assert_eq!(numbers[1 + at], (at * 8 * (1 + width)) as i64);
                let row = &numbers[1 + count + at * (1 + width)..][..1 + width];
                let stored: Record = key
                    .chunks(rank)
                    .map(<[i64]>::to_vec)
                    .zip(row[1..].iter().copied())
                    .collect();
                if canonical {
                    assert!(stored.is_sorted());
                }
                let mut record = stored.clone();
                for (end, to) in stored.into_iter().zip(placement(row[0], width)) {
                    record[to] = end;
                }
                found.push((record, key.clone(), at));
            }
        }
        assert_eq!(family["num_physical_records"], found.len());
        found
    }
}

/// The text of a key (§4).
pub(crate) fn text(key: &[i64]) -> String {
    let parts: Vec<String> = key.iter().map(ToString::to_string).collect();
    parts.join(".")
}
