//! Decodes cells: positions of vertices, fragment indexes, manifests.

use serde_json::Value;

use crate::decode::{Objects, array_of, elements};

/// The properties of a level that determine the valid positions of vertices.
pub(super) struct Places {
    pub(super) dims: usize,
    wide: bool,
    pub(super) sizes: Vec<f64>,
    pub(super) bounds: Option<(Vec<f64>, Vec<f64>)>,
    pub(super) bins: Option<Vec<f64>>,
}

impl Places {
    pub(super) fn of(objects: &Objects, path: &str) -> Option<Self> {
        let root: Value = serde_json::from_slice(objects.get("zarr.json")?).ok()?;
        let level = path.split('/').next()?;
        let document: Value =
            serde_json::from_slice(objects.get(&format!("{level}/zarr.json"))?).ok()?;
        let vertices: Value =
            serde_json::from_slice(objects.get(&format!("{level}/vertices/zarr.json"))?).ok()?;
        let block = &root["attributes"]["zarr_vectors"];
        let numbers = |value: &Value| -> Option<Vec<f64>> {
            value.as_array()?.iter().map(Value::as_f64).collect()
        };
        let sizes = numbers(&document["attributes"]["zarr_vectors_level"]["chunk_shape"])
            .or_else(|| numbers(&block["chunk_shape"]))?;
        let dtype = vertices["attributes"]["dtype"]
            .as_str()
            .or_else(|| vertices["attributes"]["zv_dtype"].as_str())
            .unwrap_or("float32");
        let wide = match dtype {
            "float32" => false,
            "float64" => true,
            _ => return None,
        };
        let fine = level == "0" && block["coordinate_offset"].is_null();
        Some(Self {
            dims: sizes.len().max(1),
            wide,
            bounds: numbers(&block["bounds"][0])
                .zip(numbers(&block["bounds"][1]))
                .filter(|_| fine),
            bins: numbers(&block["base_bin_shape"]).filter(|_| {
                fine && block["geometry_types"][0] == "point_cloud"
                    && !objects.contains_key("0/object_index/zarr.json")
            }),
            sizes,
        })
    }

    /// The coordinates in a decoded cell.
    pub(super) fn rows(&self, bytes: &[u8]) -> Vec<f64> {
        if self.wide {
            bytes
                .chunks_exact(8)
                .filter_map(|one| Some(f64::from_le_bytes(*one.first_chunk()?)))
                .collect()
        } else {
            bytes
                .chunks_exact(4)
                .filter_map(|one| Some(f64::from(f32::from_le_bytes(*one.first_chunk()?))))
                .collect()
        }
    }

    /// The chunk coordinates of the cell at `key`; `None` if the array is sharded.
    pub(super) fn chunk(&self, objects: &Objects, path: &str, key: &str) -> Option<Vec<f64>> {
        let (array, document) = array_of(objects, key)?;
        if document["codecs"][0]["name"] == "sharding_indexed" {
            return None;
        }
        let parts: Vec<f64> = if array.split('/').count() == 2 {
            let origin = document["attributes"]["chunk_grid_origin"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let place = key.strip_prefix(path)?.strip_prefix("/c/")?;
            let part = |(axis, part): (usize, &str)| {
                Some(
                    part.parse::<f64>().ok()?
                        + origin.get(axis).and_then(Value::as_f64).unwrap_or(0.0),
                )
            };
            place
                .split('/')
                .enumerate()
                .map(part)
                .collect::<Option<_>>()?
        } else {
            array
                .rsplit('/')
                .next()?
                .split('.')
                .map(|part| part.parse().ok())
                .collect::<Option<_>>()?
        };
        // If chunks are also divided by an attribute, the number of its value precedes the coordinates.
        Some(parts.get(parts.len().checked_sub(self.dims)?..)?.to_vec())
    }
}

/// The bounding box of all vertices of level 0; `None` if one of its cells cannot be decoded here.
pub(super) fn extent(objects: &Objects) -> Option<(Vec<f64>, Vec<f64>)> {
    let places = Places::of(objects, "0/vertices")?;
    let (mut low, mut high) = (
        vec![f64::INFINITY; places.dims],
        vec![f64::NEG_INFINITY; places.dims],
    );
    for (key, bytes) in objects.range("0/vertices/".to_owned().."0/vertices0".to_owned()) {
        if key.ends_with("zarr.json") {
            continue;
        }
        let (_, document) = array_of(objects, key)?;
        for cell in elements(&document, bytes).ok()? {
            for row in places.rows(&cell).chunks_exact(places.dims) {
                for ((one, low), high) in row.iter().zip(&mut low).zip(&mut high) {
                    *low = low.min(*one);
                    *high = high.max(*one);
                }
            }
        }
    }
    Some((low, high))
}

/// The number of rows of the largest chunk of a level; cells that cannot be decoded here are skipped. `u64::MAX` if the documents of the level do
/// not describe its vertices.
pub(super) fn rows_of_largest_chunk(objects: &Objects, level: &str) -> u64 {
    let mut most = 0;
    let Some(places) = Places::of(objects, &format!("{level}/vertices")) else {
        return u64::MAX;
    };
    for (key, bytes) in objects.range(format!("{level}/vertices/")..format!("{level}/vertices0")) {
        let cells = array_of(objects, key)
            .filter(|_| !key.ends_with("zarr.json"))
            .and_then(|(_, document)| elements(&document, bytes).ok());
        for cell in cells.into_iter().flatten() {
            most =
                most.max(u64::try_from(places.rows(&cell).len() / places.dims).unwrap_or(u64::MAX));
        }
    }
    most
}

/// A fragment index: the rows of each fragment (0.9 §9.1).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FragmentRows {
    pub(super) rows: Vec<Vec<i64>>,
    ranges: Vec<bool>,
}

impl FragmentRows {
    pub(super) fn parse(blob: &[u8]) -> Option<Self> {
        let word = |at: usize| {
            blob.get(at..)
                .and_then(|rest| rest.first_chunk::<4>())
                .map(|one| u32::from_le_bytes(*one))
        };
        let wide = |at: usize| {
            blob.get(at..)
                .and_then(|rest| rest.first_chunk::<8>())
                .map(|one| i64::from_le_bytes(*one))
        };
        if word(0)? != 0x5A56_4647 || word(4)? != 1 {
            return None;
        }
        let (count, ranges) = (
            usize::try_from(word(8)?).ok()?,
            usize::try_from(word(12)?).ok()?,
        );
        if count == 0 {
            return (ranges == 0).then(|| Self {
                rows: Vec::new(),
                ranges: Vec::new(),
            });
        }
        let lists = count.checked_sub(ranges)?;
        let bitmap = blob.get(16..16 + count.div_ceil(8))?;
        let table = 16 + count.div_ceil(8).next_multiple_of(8);
        let offsets = table.checked_add(ranges.checked_mul(16)?)?;
        let values = offsets.checked_add((lists + 1).checked_mul(4)?)?;
        let (mut range, mut list) = (0, 0);
        let mut index = Self {
            rows: Vec::new(),
            ranges: Vec::new(),
        };
        for fragment in 0..count {
            let is_range = bitmap.get(fragment / 8)? >> (fragment % 8) & 1 == 1;
            index.ranges.push(is_range);
            if is_range {
                if range >= ranges {
                    return None;
                }
                let (start, rows) = (wide(table + 16 * range)?, wide(table + 16 * range + 8)?);
                range += 1;
                if start < 0 || !(0..1 << 24).contains(&rows) || start > 1 << 40 {
                    return None;
                }
                index.rows.push((start..start + rows).collect());
            } else {
                let (from, to) = (word(offsets + 4 * list)?, word(offsets + 4 * list + 4)?);
                list += 1;
                if list > lists || from > to {
                    return None;
                }
                let rows = (from..to)
                    .map(|at| wide(values + 8 * usize::try_from(at).ok()?))
                    .collect::<Option<Vec<i64>>>()?;
                if rows.iter().any(|row| *row < 0) {
                    return None;
                }
                index.rows.push(rows);
            }
        }
        (range == ranges && word(offsets)? == 0).then_some(index)
    }

    /// Whether all fragments are ranges that follow each other from row 0 without gaps.
    pub(super) fn tiles(&self) -> bool {
        let mut next = 0;
        self.ranges.iter().zip(&self.rows).all(|(range, rows)| {
            let fits = rows.first().is_none_or(|first| *first == next);
            next += i64::try_from(rows.len()).unwrap_or(0);
            *range && fits
        })
    }
}

/// The blocks of a manifest (0.9 §11.3), each as a list of its numbers: chunk coordinates, then fragments as stored.
pub(super) fn manifest(blob: &[u8], rank: usize) -> Option<Vec<Vec<i64>>> {
    let mut rest = blob;
    let wide = |rest: &mut &[u8]| -> Option<i64> {
        let (one, tail) = rest.split_first_chunk::<8>()?;
        *rest = tail;
        Some(i64::from_le_bytes(*one))
    };
    let (count, tail) = rest.split_first_chunk::<4>()?;
    rest = tail;
    let mut blocks = Vec::new();
    for _ in 0..u32::from_le_bytes(*count) {
        let mut block = Vec::new();
        for _ in 0..rank {
            block.push(wide(&mut rest)?);
        }
        let (mode, tail) = rest.split_first()?;
        rest = tail;
        let numbers = match mode {
            0 => 1,
            1 => 2,
            2 => {
                let (count, tail) = rest.split_first_chunk::<4>()?;
                rest = tail;
                u32::from_le_bytes(*count)
            }
            _ => return None,
        };
        for _ in 0..numbers {
            block.push(wide(&mut rest)?);
        }
        blocks.push(block);
    }
    rest.is_empty().then_some(blocks)
}
