//! Small stores written byte by byte from the format's pages (`zvf-0.9`), without the code under
//! test. Three axes, float32 positions, no compression.

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub(crate) type Coord = [i64; 3];

/// One chunk: rows, fragments as row lists, attribute cells.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chunk {
    pub(crate) rows: Vec<[f32; 3]>,
    pub(crate) fragments: Vec<Vec<i64>>,
    pub(crate) attributes: BTreeMap<String, Vec<u8>>,
}

/// One array of a link family: segment, and cells.
#[derive(Debug, Clone, Default)]
pub(crate) struct Links {
    pub(crate) directed: bool,
    pub(crate) store: &'static str,
    pub(crate) width: usize,
    pub(crate) arrays: BTreeMap<String, BTreeMap<Coord, Vec<u8>>>,
}

/// A line: its id and its vertices in order.
pub(crate) type Line = (i64, Vec<[f32; 3]>);

/// A manifest: chunks and fragment numbers, in order.
pub(crate) type Manifest = Vec<(Coord, i64)>;

/// A whole store of one level.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub(crate) kind: &'static str,
    pub(crate) convention: &'static str,
    pub(crate) chunk_shape: f64,
    pub(crate) chunks: BTreeMap<Coord, Chunk>,
    /// Ids with manifests, in row order.
    pub(crate) objects: Option<Vec<(i64, Manifest)>>,
    pub(crate) links: Option<Links>,
    /// Attribute documents by name: the members in addition to `zv_array`.
    pub(crate) attributes: BTreeMap<String, Value>,
    /// Further members of the root's `zarr_vectors`.
    pub(crate) root: Value,
    pub(crate) bounds: Option<(Vec<f64>, Vec<f64>)>,
    /// Number of axes, and of the stored numbers of a row. With two, chunk keys begin with an attribute's bin.
    pub(crate) dims: usize,
    /// Further members of the level's block.
    pub(crate) level: Value,
    /// Number of cells by which attribute grids begin earlier than the grid of `vertices` (trap T6).
    pub(crate) shift: i64,
}

impl Made {
    pub(crate) fn new(kind: &'static str) -> Self {
        let convention = match kind {
            "graph" | "mesh" => "explicit",
            "skeleton" => "implicit_sequential_with_branches",
            _ => "implicit_sequential",
        };
        Self {
            kind,
            convention,
            chunk_shape: 10.0,
            chunks: BTreeMap::new(),
            objects: None,
            links: None,
            attributes: BTreeMap::new(),
            root: json!({}),
            bounds: None,
            dims: 3,
            level: json!({}),
            shift: 0,
        }
    }

    /// Chunk of a position, in chunks of `size`.
    pub(crate) fn chunk_of(position: [f32; 3], size: f64) -> Coord {
        position.map(|p| (f64::from(p) / size).floor() as i64)
    }

    /// Points without ids: one fragment for each chunk. Attribute `n` is the number of the point.
    pub(crate) fn points(positions: &[[f32; 3]]) -> Self {
        Self::placed(positions, 10.0)
    }

    /// Like [`Self::points`], with cells placed by another chunk size.
    pub(crate) fn placed(positions: &[[f32; 3]], size: f64) -> Self {
        let mut made = Self::new("point_cloud");
        made.attributes
            .insert("n".into(), json!({"dtype": "int32", "row_shape": []}));
        for (number, position) in (0_i32..).zip(positions) {
            let chunk = made
                .chunks
                .entry(Self::chunk_of(*position, size))
                .or_default();
            chunk.rows.push(*position);
            chunk
                .attributes
                .entry("n".into())
                .or_default()
                .extend(number.to_le_bytes());
        }
        for chunk in made.chunks.values_mut() {
            chunk.fragments = vec![(0..chunk.rows.len() as i64).collect()];
        }
        made
    }

    /// Points with ids: one fragment for each id, ids ascending.
    pub(crate) fn points_with_ids(positions: &[[f32; 3]], ids: &[i64]) -> Self {
        let mut made = Self::new("point_cloud");
        let mut sorted: Vec<i64> = ids.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut manifests: BTreeMap<i64, Manifest> = BTreeMap::new();
        let mut chunks: BTreeMap<Coord, Vec<(i64, [f32; 3])>> = BTreeMap::new();
        for (position, id) in positions.iter().zip(ids) {
            chunks
                .entry(Self::chunk_of(*position, 10.0))
                .or_default()
                .push((*id, *position));
        }
        for (coord, mut rows) in chunks {
            rows.sort_by_key(|(id, _)| *id);
            let mut chunk = Chunk::default();
            for (row, (id, position)) in (0_i64..).zip(rows) {
                chunk.rows.push(position);
                let manifest = manifests.entry(id).or_default();
                if manifest.last().map(|(chunk, _)| *chunk) != Some(coord) {
                    manifest.push((coord, chunk.fragments.len() as i64));
                    chunk.fragments.push(Vec::new());
                }
                chunk.fragments.last_mut().unwrap().push(row);
            }
            made.chunks.insert(coord, chunk);
        }
        made.objects = Some(manifests.into_iter().collect());
        made
    }

    /// Streamlines: one fragment for each run of vertices in one chunk. Attribute `s` is the number along the line.
    pub(crate) fn streamlines(lines: &[(i64, Vec<[f32; 3]>)]) -> Self {
        let mut made = Self::new("streamline");
        made.attributes
            .insert("s".into(), json!({"dtype": "int32", "row_shape": []}));
        let mut objects = Vec::new();
        for (id, line) in lines {
            let mut manifest: Manifest = Vec::new();
            for (number, position) in (0_i32..).zip(line) {
                let coord = Self::chunk_of(*position, 10.0);
                let chunk = made.chunks.entry(coord).or_default();
                if manifest.last().map(|(chunk, _)| *chunk) != Some(coord) {
                    manifest.push((coord, chunk.fragments.len() as i64));
                    chunk.fragments.push(Vec::new());
                }
                let row = chunk.rows.len() as i64;
                chunk.rows.push(*position);
                chunk
                    .attributes
                    .entry("s".into())
                    .or_default()
                    .extend(number.to_le_bytes());
                chunk.fragments.last_mut().unwrap().push(row);
            }
            objects.push((*id, manifest));
        }
        made.objects = Some(objects);
        made
    }

    /// Every file of the store.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        let (lo, hi) = self.extent();
        let bounds = self.bounds.clone().unwrap_or_else(|| self.data_bounds());
        let mut block = json!({
            "zv_version": "0.9.2", "format_capabilities": [], "chunk_shape": vec![self.chunk_shape; self.dims],
            "bounds": [&bounds.0[..self.dims], &bounds.1[..self.dims]], "geometry_types": [self.kind], "links_convention": self.convention,
        });
        block
            .as_object_mut()
            .unwrap()
            .extend(self.root.as_object().unwrap().clone());
        let axes: Vec<Value> = ["x", "y", "z"]
            .iter()
            .take(self.dims)
            .map(|name| json!({"name": name, "type": "space"}))
            .collect();
        let datasets = json!([{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": vec![1.0; self.dims]}]}]);
        let multiscales =
            json!([{"version": "0.4", "name": "default", "axes": axes, "datasets": datasets}]);
        group(
            &mut files,
            "",
            json!({"zarr_vectors": block, "multiscales": multiscales}),
        );
        let rows: usize = self.chunks.values().map(|chunk| chunk.rows.len()).sum();
        let mut level = json!({"level": 0, "vertex_count": rows, "arrays_present": ["vertices"], "object_sparsity": 1.0,
            "coarsening_method": "none", "parent_level": null});
        level
            .as_object_mut()
            .unwrap()
            .extend(self.level.as_object().unwrap().clone());
        group(&mut files, "0", json!({"zarr_vectors_level": level}));
        let cells = |of: &dyn Fn(&Chunk) -> Option<Vec<u8>>| -> BTreeMap<Coord, Vec<u8>> {
            self.chunks
                .iter()
                .filter_map(|(coord, chunk)| Some((*coord, of(chunk)?)))
                .collect()
        };
        let vertices = cells(&|chunk| {
            Some(
                chunk
                    .rows
                    .iter()
                    .flat_map(|row| &row[..self.dims])
                    .flat_map(|p| p.to_le_bytes())
                    .collect(),
            )
        });
        grid(
            &mut files,
            "0/vertices",
            (lo, hi),
            json!({"zv_array": "vertices", "dtype": "float32", "encoding": "raw"}),
            &vertices,
        );
        let fragments = cells(&|chunk| Some(fragment_index(&chunk.fragments)));
        let encoding = json!({"zv_array": "vertex_fragments", "encoding": "fragment_index_v1"});
        grid(
            &mut files,
            "0/vertex_fragments",
            (lo, hi),
            encoding,
            &fragments,
        );
        if !self.attributes.is_empty() {
            group(&mut files, "0/vertex_attributes", json!({}));
        }
        for (name, document) in &self.attributes {
            let mut document = document.clone();
            document["zv_array"] = json!("attribute");
            document["name"] = json!(name);
            let cells = cells(&|chunk| chunk.attributes.get(name).cloned());
            let from = lo.map(|at| at - self.shift);
            grid(
                &mut files,
                &format!("0/vertex_attributes/{name}"),
                (from, hi),
                document,
                &cells,
            );
        }
        if let Some(objects) = &self.objects {
            self.object_index(&mut files, objects);
        }
        if let Some(links) = &self.links {
            group(&mut files, "0/links", json!({}));
            let family = json!({"zv_array": "links_family", "level_delta": 0, "link_width": links.width,
                "directed": links.directed, "store": links.store, "sid_ndim": 3});
            group(&mut files, "0/links/0", family);
            for (segment, cells) in &links.arrays {
                let document = json!({"zv_array": "links", "dtype": "int64", "link_width": links.width, "level_delta": 0});
                grid(
                    &mut files,
                    &format!("0/links/0/{segment}"),
                    (lo, hi),
                    document,
                    cells,
                );
            }
        }
        files
    }

    fn object_index(&self, files: &mut BTreeMap<String, Vec<u8>>, objects: &[(i64, Manifest)]) {
        let count = objects.len();
        let document = json!({"zv_array": "object_index", "num_objects": count, "num_present": count, "sid_ndim": 3,
            "layout": "vlen_manifests_v2"});
        group(files, "0/object_index", document);
        let manifests: Vec<Vec<u8>> = objects
            .iter()
            .map(|(_, manifest)| manifest_blob(manifest))
            .collect();
        let array = json!({
            "shape": [count], "data_type": "variable_length_bytes",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [count.max(1)]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": "",
            "codecs": [{"name": "vlen-bytes", "configuration": {}}], "attributes": {}, "zarr_format": 3,
            "node_type": "array", "storage_transformers": []
        });
        files.insert(
            "0/object_index/manifests/zarr.json".into(),
            array.to_string().into_bytes(),
        );
        files.insert("0/object_index/manifests/c/0".into(), vlen(&manifests));
        let array = json!({
            "shape": [count], "data_type": "int64",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [count.max(1)]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": 0,
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {}, "zarr_format": 3,
            "node_type": "array", "storage_transformers": []
        });
        files.insert(
            "0/object_index/object_ids/zarr.json".into(),
            array.to_string().into_bytes(),
        );
        let ids = objects
            .iter()
            .flat_map(|(id, _)| id.to_le_bytes())
            .collect();
        files.insert("0/object_index/object_ids/c/0".into(), ids);
    }

    fn extent(&self) -> (Coord, Coord) {
        let mut keys = self.chunks.keys();
        let first = keys.next().copied().unwrap_or_default();
        keys.fold((first, first), |(lo, hi), key| {
            (
                std::array::from_fn(|a| lo[a].min(key[a])),
                std::array::from_fn(|a| hi[a].max(key[a])),
            )
        })
    }

    fn data_bounds(&self) -> (Vec<f64>, Vec<f64>) {
        let rows: Vec<[f32; 3]> = self
            .chunks
            .values()
            .flat_map(|chunk| chunk.rows.iter().copied())
            .collect();
        let of = |axis: usize, pick: fn(f64, f64) -> f64, start: f64| {
            let found = rows
                .iter()
                .map(|row| f64::from(row[axis]))
                .filter(|p| p.is_finite())
                .fold(start, pick);
            if found.is_finite() { found } else { 0.0 }
        };
        (
            (0..3).map(|a| of(a, f64::min, f64::INFINITY)).collect(),
            (0..3).map(|a| of(a, f64::max, f64::NEG_INFINITY)).collect(),
        )
    }
}

/// Places records (section 13.3): undirected canonical, or directed.
pub(crate) fn place(records: &[Vec<(Coord, i64)>], directed: bool) -> Links {
    let width = records.first().map_or(2, Vec::len);
    let zero = vec!["0.0.0"; width - 1].join("_");
    let mut rows: BTreeMap<String, BTreeMap<Coord, Vec<i64>>> = BTreeMap::new();
    rows.entry(zero.clone()).or_default();
    for record in records {
        let one_chunk = record.iter().all(|end| end.0 == record[0].0);
        let mut order: Vec<usize> = (0..width).collect();
        if !one_chunk && !directed {
            order.sort_by_key(|at| record[*at]);
        }
        let source = record[order[0]].0;
        let step = |at: &usize| {
            let parts = (0..3).map(|axis| match record[*at].0[axis] - source[axis] {
                0 => "0".to_owned(),
                step => format!("{step:+}"),
            });
            parts.collect::<Vec<_>>().join(".")
        };
        let segment = order[1..].iter().map(step).collect::<Vec<_>>().join("_");
        let cell = rows
            .entry(segment.clone())
            .or_default()
            .entry(source)
            .or_default();
        if segment != zero && !directed {
            cell.push(lehmer(&order));
        }
        cell.extend(order.iter().map(|at| record[*at].1));
    }
    let mut arrays = BTreeMap::new();
    for (segment, cells) in rows {
        let bytes = |values: Vec<i64>| {
            if segment == zero {
                flat(&[&values])
            } else {
                ragged(&[&values])
            }
        };
        let cells = cells
            .into_iter()
            .map(|(source, values)| (source, bytes(values)))
            .collect();
        arrays.insert(segment, cells);
    }
    Links {
        directed,
        store: "canonical",
        width,
        arrays,
    }
}

/// The code of a permutation (section 13.3).
pub(crate) fn lehmer(order: &[usize]) -> i64 {
    let mut left: Vec<usize> = (0..order.len()).collect();
    let mut code = 0;
    for at in order {
        let rank = left.iter().position(|value| value == at).unwrap();
        left.remove(rank);
        let rest: i64 = (1..=left.len() as i64).product();
        code += rank as i64 * rest;
    }
    code
}

/// A group document.
pub(crate) fn group(files: &mut BTreeMap<String, Vec<u8>>, path: &str, attributes: Value) {
    let key = if path.is_empty() {
        "zarr.json".to_owned()
    } else {
        format!("{path}/zarr.json")
    };
    let document = json!({"zarr_format": 3, "node_type": "group", "attributes": attributes});
    files.insert(key, document.to_string().into_bytes());
}

/// A chunk-grid array (sections 4.2 and 7).
pub(crate) fn grid(
    files: &mut BTreeMap<String, Vec<u8>>,
    path: &str,
    (lo, hi): (Coord, Coord),
    mut attributes: Value,
    cells: &BTreeMap<Coord, Vec<u8>>,
) {
    let mut keys: Vec<String> = cells
        .keys()
        .map(|c| format!("{}.{}.{}", c[0], c[1], c[2]))
        .collect();
    keys.sort();
    attributes["nonempty_chunks"] = json!(keys);
    if lo != [0; 3] {
        attributes["chunk_grid_origin"] = json!(lo);
    }
    let shape: Vec<i64> = (0..3).map(|a| hi[a] - lo[a] + 1).collect();
    let document = json!({
        "shape": shape, "data_type": "variable_length_bytes",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 1, 1]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": "",
        "codecs": [{"name": "vlen-bytes", "configuration": {}}], "attributes": attributes, "zarr_format": 3,
        "node_type": "array", "storage_transformers": []
    });
    files.insert(
        format!("{path}/zarr.json"),
        document.to_string().into_bytes(),
    );
    for (coord, bytes) in cells {
        let at: Vec<String> = (0..3).map(|a| (coord[a] - lo[a]).to_string()).collect();
        files.insert(
            format!("{path}/c/{}", at.join("/")),
            vlen(std::slice::from_ref(bytes)),
        );
    }
}

/// A chunk of variable-length elements.
pub(crate) fn vlen(elements: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = (elements.len() as u32).to_le_bytes().to_vec();
    for element in elements {
        bytes.extend((element.len() as u32).to_le_bytes());
        bytes.extend(element);
    }
    bytes
}

/// A fragment index (section 9.1): rising runs become ranges.
pub(crate) fn fragment_index(fragments: &[Vec<i64>]) -> Vec<u8> {
    let is_range =
        |rows: &Vec<i64>| !rows.is_empty() && rows.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let ranges = fragments.iter().filter(|rows| is_range(rows)).count();
    let mut bytes = 0x5A56_4647_u32.to_le_bytes().to_vec();
    bytes.extend([1, 0, 0, 0]);
    bytes.extend((fragments.len() as u32).to_le_bytes());
    bytes.extend((ranges as u32).to_le_bytes());
    if fragments.is_empty() {
        return bytes;
    }
    let mut bitmap = vec![0_u8; fragments.len().div_ceil(64) * 8];
    for (number, _) in fragments
        .iter()
        .enumerate()
        .filter(|(_, rows)| is_range(rows))
    {
        bitmap[number / 8] |= 1 << (number % 8);
    }
    bytes.extend(bitmap);
    for rows in fragments.iter().filter(|rows| is_range(rows)) {
        bytes.extend(rows[0].to_le_bytes());
        bytes.extend((rows.len() as i64).to_le_bytes());
    }
    let mut end = 0_u32;
    bytes.extend(end.to_le_bytes());
    for rows in fragments.iter().filter(|rows| !is_range(rows)) {
        end += rows.len() as u32;
        bytes.extend(end.to_le_bytes());
    }
    for rows in fragments.iter().filter(|rows| !is_range(rows)) {
        bytes.extend(rows.iter().flat_map(|row| row.to_le_bytes()));
    }
    bytes
}

/// A manifest of mode-0 blocks (section 11.3).
pub(crate) fn manifest_blob(manifest: &Manifest) -> Vec<u8> {
    let mut bytes = (manifest.len() as u32).to_le_bytes().to_vec();
    for (chunk, fragment) in manifest {
        bytes.extend(chunk.iter().flat_map(|at| at.to_le_bytes()));
        bytes.push(0);
        bytes.extend(fragment.to_le_bytes());
    }
    bytes
}

/// A flat cell of link rows (section 13.4).
pub(crate) fn flat(rows: &[&[i64]]) -> Vec<u8> {
    rows.iter()
        .flat_map(|row| row.iter())
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// A cell of link rows in one group (section 13.4).
pub(crate) fn ragged(rows: &[&[i64]]) -> Vec<u8> {
    let mut bytes = 1_i64.to_le_bytes().to_vec();
    bytes.extend(0_i64.to_le_bytes());
    bytes.extend(flat(rows));
    bytes
}
