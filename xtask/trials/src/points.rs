//! A store of points that is made, of any size: cells are computed one by one.
//!
//! `side` to the third chunks of 10 units; each holds the same number of vertices with random positions inside and two
//! attributes, `intensity` (float32) and `label` (int32). No compression: what is measured is the reader.

use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use zvf_format::fragments::FragmentIndexBuilder;

use crate::altered::Files;
use zvf_testkit::text::float;

/// Length of a chunk on every axis.
pub const CHUNK: f64 = 10.0;

/// In which form the chunks are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// 0.9: one variable-length array a chunk array, with the list of its chunks.
    Grid,
    /// 0.7: one group a chunk array, one byte array a chunk.
    Blobs,
}

/// What is made.
#[derive(Debug, Clone, Copy)]
pub struct Points {
    /// Chunks along each of the three axes.
    pub side: u16,
    /// Vertices of each chunk.
    pub rows: u32,
    /// Where the random numbers begin.
    pub seed: u64,
    /// How it is stored.
    pub form: Form,
}

/// The chunk arrays.
const ARRAYS: [&str; 4] = [
    "0/vertices",
    "0/vertex_fragments",
    "0/vertex_attributes/intensity",
    "0/vertex_attributes/label",
];

impl Points {
    /// Vertices of the whole store.
    #[must_use]
    pub fn vertices(&self) -> u64 {
        u64::from(self.side).pow(3) * u64::from(self.rows)
    }

    /// Bytes of the cells of vertices and attributes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.vertices() * 20
    }

    /// The places inside a box, as text, sorted: computed from the cells as they are written.
    ///
    /// # Errors
    ///
    /// For sizes that no cell can have.
    pub fn inside(&self, low: &[f64], high: &[f64]) -> Result<Vec<String>> {
        let mut inside = Vec::new();
        let axis = || 0..self.side;
        for chunk in axis().flat_map(|x| axis().flat_map(move |y| axis().map(move |z| [x, y, z]))) {
            let [rows, ..] = self.cells(chunk)?;
            for row in rows.as_chunks::<12>().0 {
                let numbers = row.as_chunks::<4>().0.iter();
                let place: Vec<f64> = numbers
                    .map(|at| f64::from(f32::from_le_bytes(*at)))
                    .collect();
                let mut sides = place.iter().zip(low.iter().zip(high));
                if sides.all(|(at, (low, high))| (low..=high).contains(&at)) {
                    let text: Vec<String> = place.iter().map(|at| float(*at)).collect();
                    inside.push(text.join(" "));
                }
            }
        }
        inside.sort();
        Ok(inside)
    }

    /// Every file, in memory.
    ///
    /// # Errors
    ///
    /// For sizes that no cell can have.
    pub fn files(&self) -> Result<Files> {
        let mut files = Files::new();
        self.each(|key, bytes| {
            files.insert(key, bytes);
            Ok(())
        })?;
        Ok(files)
    }

    /// Writes every file below a folder.
    ///
    /// # Errors
    ///
    /// When the disk is full or the folder cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        self.each(|key, bytes| {
            let path = folder.join(&key);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            let mut file = BufWriter::new(std::fs::File::create(&path)?);
            file.write_all(&bytes)?;
            file.flush().with_context(|| path.display().to_string())
        })
    }

    fn each(&self, mut put: impl FnMut(String, Vec<u8>) -> Result<()>) -> Result<()> {
        for (key, document) in self.documents() {
            put(key, document.to_string().into_bytes())?;
        }
        for x in 0..self.side {
            for y in 0..self.side {
                for z in 0..self.side {
                    let chunk = [x, y, z];
                    for (array, cell) in ARRAYS.iter().zip(self.cells(chunk)?) {
                        self.cell(array, chunk, cell, &mut put)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Stores one cell.
    fn cell(
        &self,
        array: &str,
        [x, y, z]: [u16; 3],
        cell: Vec<u8>,
        put: &mut impl FnMut(String, Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        match self.form {
            Form::Grid => {
                let mut bytes = Vec::with_capacity(cell.len() + 8);
                bytes.extend(1_u32.to_le_bytes());
                bytes.extend(u32::try_from(cell.len())?.to_le_bytes());
                bytes.extend(cell);
                put(format!("{array}/c/{x}/{y}/{z}"), bytes)
            }
            Form::Blobs => {
                let document = json!({
                    "shape": [cell.len()], "data_type": "uint8", "chunk_grid": regular(&[cell.len()]),
                    "chunk_key_encoding": keys(), "fill_value": 0, "codecs": [{"name": "bytes"}], "attributes": {},
                    "zarr_format": 3, "node_type": "array", "storage_transformers": []
                });
                let child = format!("{array}/{x}.{y}.{z}");
                put(
                    format!("{child}/zarr.json"),
                    document.to_string().into_bytes(),
                )?;
                put(format!("{child}/c/0"), cell)
            }
        }
    }

    /// The cells of one chunk, in the order of [`ARRAYS`].
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "random numbers are cut to what is needed"
    )]
    fn cells(&self, [x, y, z]: [u16; 3]) -> Result<[Vec<u8>; 4]> {
        let rows = usize::try_from(self.rows)?;
        let mut state = self.seed ^ (u64::from(x) << 32 | u64::from(y) << 16 | u64::from(z));
        let mut random = || {
            // splitmix64
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut word = state;
            word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            word ^ (word >> 31)
        };
        let mut positions = Vec::with_capacity(rows * 12);
        let mut intensity = Vec::with_capacity(rows * 4);
        let mut label = Vec::with_capacity(rows * 4);
        let unit = |bits: u64| (bits & 0x1F_FFFF) as f64 / f64::from(1 << 21);
        for _ in 0..rows {
            let word = random();
            for (axis, chunk) in [x, y, z].into_iter().enumerate() {
                let inside = unit(word >> (21 * axis)) * CHUNK;
                // Rounding to single precision must not reach the next chunk.
                let lowest = f64::from(chunk) * CHUNK;
                let value = (lowest + inside.min(CHUNK - 0.001)) as f32;
                positions.extend(value.to_le_bytes());
            }
            let word = random();
            intensity.extend((unit(word) as f32).to_le_bytes());
            label.extend(((word >> 40) as i32 % 1000).to_le_bytes());
        }
        let mut fragments = FragmentIndexBuilder::new();
        fragments.push_range(0, i64::from(self.rows))?;
        Ok([positions, fragments.finish(), intensity, label])
    }

    fn documents(&self) -> Vec<(String, Value)> {
        let far = f64::from(self.side) * CHUNK;
        let version = match self.form {
            Form::Grid => "0.9.2",
            Form::Blobs => "0.7.0",
        };
        let axes: Vec<Value> = ["x", "y", "z"]
            .iter()
            .map(|name| json!({"name": name, "type": "space"}))
            .collect();
        let mut all = vec![
            group(
                "zarr.json",
                &json!({
                    "zarr_vectors": {
                        "zv_version": version, "format_capabilities": [], "chunk_shape": vec![CHUNK; 3],
                        "bounds": [vec![0.0; 3], vec![far; 3]], "geometry_types": ["point_cloud"],
                        "base_bin_shape": vec![CHUNK; 3], "links_convention": "implicit_sequential",
                        "object_index_convention": "standard", "cross_chunk_strategy": "explicit_links"
                    },
                    "multiscales": [{"version": "0.4", "name": "default", "axes": axes, "datasets": [
                        {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": vec![1.0; 3]}]}
                    ]}]
                }),
            ),
            group(
                "0/zarr.json",
                &json!({"zarr_vectors_level": {
                    "level": 0, "vertex_count": self.vertices(), "arrays_present": ["vertices", "vertex_attributes"],
                    "object_sparsity": 1.0, "coarsening_method": "none", "parent_level": null
                }}),
            ),
            group("0/vertex_attributes/zarr.json", &json!({})),
        ];
        let attributes = [
            json!({"zv_array": "vertices", "dtype": "float32", "encoding": "raw"}),
            json!({"zv_array": "vertex_fragments", "encoding": "fragment_index_v1"}),
            json!({"zv_array": "attribute", "name": "intensity", "dtype": "float32"}),
            json!({"zv_array": "attribute", "name": "label", "dtype": "int32"}),
        ];
        for (array, mut attributes) in ARRAYS.iter().zip(attributes) {
            let key = format!("{array}/zarr.json");
            if self.form == Form::Blobs {
                all.push(group(&key, &attributes));
                continue;
            }
            attributes["nonempty_chunks"] = self.keys().into();
            all.push((key, json!({
                "shape": vec![self.side; 3], "data_type": "variable_length_bytes", "chunk_grid": regular(&[1, 1, 1]),
                "chunk_key_encoding": keys(), "fill_value": "",
                "codecs": [{"name": "vlen-bytes", "configuration": {}}], "attributes": attributes,
                "zarr_format": 3, "node_type": "array", "storage_transformers": []
            })));
        }
        all
    }

    /// Every chunk key, as text in ascending order.
    fn keys(&self) -> Vec<String> {
        let axis = || 0..self.side;
        let plane = |x: u16| axis().map(move |y| (x, y));
        let all = axis().flat_map(plane);
        let mut keys: Vec<String> = all
            .flat_map(|(x, y)| axis().map(move |z| format!("{x}.{y}.{z}")))
            .collect();
        keys.sort();
        keys
    }
}

fn regular(chunk: &[usize]) -> Value {
    json!({"name": "regular", "configuration": {"chunk_shape": chunk}})
}

fn keys() -> Value {
    json!({"name": "default", "configuration": {"separator": "/"}})
}

fn group(key: &str, attributes: &Value) -> (String, Value) {
    let document = json!({"zarr_format": 3, "node_type": "group", "attributes": attributes});
    (key.to_owned(), document)
}
