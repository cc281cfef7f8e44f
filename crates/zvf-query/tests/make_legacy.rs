//! Small stores in the layouts of 0.7 and 0.8, written byte by byte from the format's pages (`zvf-0.7`, `zvf-0.8`). The
//! input is a [`Made`] and links. The code under test is not used.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::make::{Coord, Made, flat, fragment_index, group, lehmer, manifest_blob, vlen};

pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// A link: chunk and row of each end.
pub(crate) type Record = Vec<(Coord, i64)>;

/// How links between chunks are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crossing {
    /// One blob of records (0.7, section 9.4).
    Data,
    /// One blob for each tuple of chunks (0.8, section 9.1): sorted ends, or as given; once, or once for each chunk.
    Cells { directed: bool, duplicate: bool },
}

/// A store of one level in an older layout.
#[derive(Debug, Clone)]
pub(crate) struct Legacy {
    pub(crate) made: Made,
    pub(crate) version: &'static str,
    pub(crate) crossing: Crossing,
    pub(crate) records: Vec<Record>,
    /// Link attribute `w` of every record; 0.7 stores no values for links between chunks.
    pub(crate) weights: Option<Vec<f32>>,
    /// Manifests as `data` and `offsets` (0.7, section 10.2).
    pub(crate) split: bool,
    /// Blobs of zeros without a chunk file (0.7, section 2.3).
    pub(crate) sparse: bool,
}

impl Legacy {
    /// A 0.7 store.
    pub(crate) fn v7(made: Made) -> Self {
        Self {
            made,
            version: "0.7.0",
            crossing: Crossing::Data,
            records: Vec::new(),
            weights: None,
            split: false,
            sparse: false,
        }
    }

    /// A 0.8.1 store with undirected links, each stored once.
    pub(crate) fn v8(made: Made) -> Self {
        Self {
            version: "0.8.1",
            crossing: Crossing::Cells {
                directed: false,
                duplicate: false,
            },
            ..Self::v7(made)
        }
    }

    pub(crate) fn with_links(mut self, records: &[Record]) -> Self {
        self.records = records.to_vec();
        self
    }

    /// Every file of the store.
    pub(crate) fn files(&self) -> Files {
        let made = self.made.files();
        let mut files = Files::new();
        let mut root: Value = serde_json::from_slice(&made["zarr.json"]).unwrap();
        root["attributes"]["zarr_vectors"]["zv_version"] = json!(self.version);
        files.insert("zarr.json".into(), root.to_string().into());
        files.insert("0/zarr.json".into(), made["0/zarr.json"].clone());
        let dims = self.made.dims;
        let document = json!({"zv_array": "vertices", "dtype": "float32", "encoding": "raw"});
        group(&mut files, "0/vertices", document);
        let document = json!({"zv_array": "vertex_fragments", "encoding": "fragment_index_v1"});
        group(&mut files, "0/vertex_fragments", document);
        for (name, document) in &self.made.attributes {
            let mut document = document.clone();
            document["zv_array"] = json!("attribute");
            document["name"] = json!(name);
            group(&mut files, &format!("0/vertex_attributes/{name}"), document);
        }
        for (coord, chunk) in &self.made.chunks {
            let key = key(coord);
            let rows = chunk.rows.iter().flat_map(|row| &row[..dims]);
            let rows: Vec<u8> = rows.flat_map(|p| p.to_le_bytes()).collect();
            self.blob(&mut files, "0/vertices", &key, rows);
            let index = fragment_index(&chunk.fragments);
            self.blob(&mut files, "0/vertex_fragments", &key, index);
            for (name, bytes) in &chunk.attributes {
                let path = format!("0/vertex_attributes/{name}");
                self.blob(&mut files, &path, &key, bytes.clone());
            }
        }
        if let Some(objects) = &self.made.objects {
            self.object_index(&mut files, objects);
        }
        if !self.records.is_empty() {
            self.links(&mut files);
        }
        files
    }

    /// One blob: an array of bytes (0.7, section 2.1).
    pub(crate) fn blob(&self, files: &mut Files, path: &str, key: &str, bytes: Vec<u8>) {
        let length = bytes.len();
        let document = json!({
            "shape": [length], "data_type": "uint8",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [length.max(1)]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": 0,
            "codecs": [{"name": "bytes"}], "attributes": {}, "zarr_format": 3, "node_type": "array",
            "storage_transformers": []
        });
        files.insert(
            format!("{path}/{key}/zarr.json"),
            document.to_string().into(),
        );
        let zeros = bytes.iter().all(|byte| *byte == 0);
        if length > 0 && !(self.sparse && zeros) {
            files.insert(format!("{path}/{key}/c/0"), bytes);
        }
    }

    fn object_index(&self, files: &mut Files, objects: &[(i64, crate::make::Manifest)]) {
        let count = objects.len();
        let mut document = json!({"zv_array": "object_index", "num_objects": count, "sid_ndim": 3});
        let blobs: Vec<Vec<u8>> = objects
            .iter()
            .map(|(_, manifest)| manifest_blob(manifest))
            .collect();
        for (place, (id, _)) in (0_i64..).zip(objects) {
            assert_eq!(place, *id, "ids are positions");
        }
        if self.split {
            group(files, "0/object_index", document);
            let mut at = 0_i64;
            let mut offsets = Vec::new();
            for blob in &blobs {
                offsets.extend(at.to_le_bytes());
                at += blob.len() as i64;
            }
            self.blob(files, "0/object_index", "data", blobs.concat());
            self.blob(files, "0/object_index", "offsets", offsets);
            return;
        }
        document["layout"] = json!("vlen_manifests_v1");
        group(files, "0/object_index", document);
        let array = json!({
            "shape": [count], "data_type": "variable_length_bytes",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [count]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": "",
            "codecs": [{"name": "vlen-bytes", "configuration": {}}], "attributes": {}, "zarr_format": 3,
            "node_type": "array", "storage_transformers": []
        });
        files.insert(
            "0/object_index/manifests/zarr.json".into(),
            array.to_string().into(),
        );
        files.insert("0/object_index/manifests/c/0".into(), vlen(&blobs));
    }

    fn links(&self, files: &mut Files) {
        let width = self.records[0].len();
        let inside = |record: &Record| record.iter().all(|end| end.0 == record[0].0);
        let weight = |at: usize| self.weights.as_ref().map(|all| all[at].to_le_bytes());
        let document =
            json!({"zv_array": "links", "dtype": "int64", "link_width": width, "level_delta": 0});
        // Rows, and their weights, by chunk.
        let mut own: BTreeMap<Coord, (Vec<i64>, Vec<u8>)> = BTreeMap::new();
        for (at, record) in self
            .records
            .iter()
            .enumerate()
            .filter(|(_, record)| inside(record))
        {
            let (rows, weights) = own.entry(record[0].0).or_default();
            rows.extend(record.iter().map(|end| end.1));
            weights.extend(weight(at).into_iter().flatten());
        }
        if !own.is_empty() {
            group(files, "0/links/0", document);
            group(files, "0/link_fragments", json!({}));
        }
        let attribute = json!({"zv_array": "link_attribute", "name": "w", "dtype": "float32", "level_delta": 0});
        if self.weights.is_some() && !own.is_empty() {
            group(files, "0/link_attributes/w/0", attribute);
        }
        for (coord, (rows, weights)) in own {
            let count = (rows.len() / width) as i64;
            self.blob(files, "0/links/0", &key(&coord), flat(&[&rows]));
            let index = fragment_index(&[(0..count).collect()]);
            self.blob(files, "0/link_fragments", &key(&coord), index);
            if self.weights.is_some() {
                self.blob(files, "0/link_attributes/w/0", &key(&coord), weights);
            }
        }
        let crossing: Vec<(usize, &Record)> = self
            .records
            .iter()
            .enumerate()
            .filter(|(_, record)| !inside(record))
            .collect();
        let mut document =
            json!({"zv_array": "cross_chunk_links", "level_delta": 0, "link_width": 2});
        if crossing.is_empty() {
            // The array was created but not written to: it declares two ends, also for meshes (0.7, section 9.4).
            return group(files, "0/cross_chunk_links/0", document);
        }
        document["link_width"] = json!(width);
        document["num_links"] = json!(crossing.len());
        document["sid_ndim"] = json!(3);
        let Crossing::Cells {
            directed,
            duplicate,
        } = self.crossing
        else {
            group(files, "0/cross_chunk_links/0", document);
            let values = crossing.iter().flat_map(|(_, record)| record.iter());
            let values: Vec<i64> = values
                .flat_map(|(chunk, row)| [chunk[0], chunk[1], chunk[2], *row])
                .collect();
            return self.blob(files, "0/cross_chunk_links/0", "data", flat(&[&values]));
        };
        // For each cell its rows, one group for each record, and the numbers of the records.
        let mut cells: BTreeMap<String, (Vec<Vec<i64>>, Vec<usize>)> = BTreeMap::new();
        for (at, record) in &crossing {
            for order in placements(record, directed, duplicate) {
                let name: Vec<String> = order.iter().map(|end| key(&record[*end].0)).collect();
                let mut row = vec![lehmer(&order)];
                row.extend(order.iter().map(|end| record[*end].1));
                let (rows, records) = cells.entry(name.join(".")).or_default();
                rows.push(row);
                records.push(*at);
            }
        }
        let physical: usize = cells.values().map(|(rows, _)| rows.len()).sum();
        document["num_physical_records"] = json!(physical);
        document["directed"] = json!(directed);
        document["store"] = json!(if duplicate { "duplicate" } else { "canonical" });
        group(files, "0/cross_chunk_links/0", document);
        let path = "0/cross_chunk_link_attributes/w/0";
        if self.weights.is_some() {
            let document = json!({"zv_array": "cross_chunk_link_attribute", "name": "w", "dtype": "float32",
                "level_delta": 0, "num_links": crossing.len(), "row_shape": []});
            group(files, path, document);
        }
        for (name, (rows, records)) in cells {
            let mut bytes = (rows.len() as i64).to_le_bytes().to_vec();
            let mut offset = 0_i64;
            for row in &rows {
                bytes.extend(offset.to_le_bytes());
                offset += 8 * row.len() as i64;
            }
            bytes.extend(rows.iter().flatten().flat_map(|value| value.to_le_bytes()));
            self.blob(files, "0/cross_chunk_links/0", &name, bytes);
            if self.weights.is_some() {
                let weights = records
                    .iter()
                    .filter_map(|at| weight(*at))
                    .flatten()
                    .collect();
                self.blob(files, path, &name, weights);
            }
        }
    }
}

/// The orders of ends in which a record is stored (0.8, section 9.3).
fn placements(record: &Record, directed: bool, duplicate: bool) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..record.len()).collect();
    let mut sorted = all.clone();
    sorted.sort_by_key(|end| record[*end]);
    if !duplicate {
        return vec![if directed { all } else { sorted }];
    }
    let mut seen = BTreeSet::new();
    let leads = sorted.into_iter().filter(|end| seen.insert(record[*end].0));
    leads
        .map(|lead| {
            let rest = all.iter().copied().filter(|end| *end != lead);
            std::iter::once(lead).chain(rest).collect()
        })
        .collect()
}

/// The name of a chunk.
pub(crate) fn key(coord: &Coord) -> String {
    coord.map(|part| part.to_string()).join(".")
}

/// The files of level 0 as files of another level, without a root; `edit` changes the level's block.
pub(crate) fn as_level(files: &Files, number: u32, edit: impl Fn(&mut Value)) -> Files {
    let mut moved = Files::new();
    for (key, bytes) in files {
        let Some(rest) = key.strip_prefix("0/") else {
            continue;
        };
        let mut bytes = bytes.clone();
        if rest == "zarr.json" {
            let mut document: Value = serde_json::from_slice(&bytes).unwrap();
            let block = &mut document["attributes"]["zarr_vectors_level"];
            block["level"] = json!(number);
            if number > 0 {
                block["parent_level"] = json!(number - 1);
            }
            edit(block);
            bytes = document.to_string().into();
        }
        moved.insert(format!("{number}/{rest}"), bytes);
    }
    moved
}
