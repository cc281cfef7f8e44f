//! Decoded data that differs: what kind of array it is of, and where its numbers may lie.

use serde_json::Value;

use super::{Both, Verdict};
use crate::decode::{Objects, array_of, elements};

use Verdict::{Broken, NoRule};

impl Both<'_> {
    pub(super) fn payloads(
        &self,
        path: &str,
        document: &Value,
        key: &str,
        before: &[Vec<u8>],
        after: &[Vec<u8>],
    ) -> Verdict {
        let parts: Vec<&str> = path.split('/').collect();
        let longer = before.iter().zip(after).any(|(a, b)| a.len() != b.len());
        // Arrays of rows that are filled up have chunks of several axes; 0.7 and 0.8 have them beside others.
        if !self.ruled
            && document["shape"]
                .as_array()
                .is_some_and(|shape| shape.len() > 2)
            && document["data_type"] != "variable_length_bytes"
        {
            return NoRule("rows of a padded array, which are not taken apart here");
        }
        match parts.get(1).copied().unwrap_or_default() {
            "vertices" if longer => Broken("another number of vertices"),
            "vertices" => self.vertices(path, key, before, after),
            one if one.starts_with("vertices_") || one.starts_with("links_") => {
                if longer {
                    Broken("another number of rows")
                } else {
                    NoRule("numbers of a further kind of geometry")
                }
            }
            "vertex_fragments" | "link_fragments" => self.fragments(&parts, before, after),
            "vertex_attributes"
            | "object_attributes"
            | "group_attributes"
            | "fragment_attributes"
            | "link_attributes"
            | "cross_chunk_link_attributes" => {
                // Before 0.9 an attribute may end early, since points are appended without theirs (0.7 §17.4).
                let shorter = before.iter().zip(after).all(|(a, b)| b.len() <= a.len());
                if longer && parts.get(1) == Some(&"vertex_attributes") && !self.ruled && shorter {
                    NoRule("an attribute that ends early, as appending leaves it")
                } else if longer {
                    Broken("another number of values")
                } else if document["attributes"]["encoding"] == "dictionary"
                    || parts.last() == Some(&"object_id")
                {
                    Broken("codes and owners")
                } else {
                    NoRule("values of an attribute")
                }
            }
            "cross_chunk_links" if !longer && !self.ruled && self.is_chain() => {
                NoRule("rows of links that no reader of lines uses (0.7 §12.3)")
            }
            "links" | "cross_chunk_links" if longer => Broken("another number of links"),
            "links" | "cross_chunk_links" => self.links(&parts, before, after),
            "object_index" => self.objects(&parts, before, after),
            "groups" => {
                let whole = after.iter().all(|one| one.len() % 8 == 0)
                    && document["data_type"] == "variable_length_bytes";
                let starts = |list: &[Vec<u8>]| -> Vec<i64> {
                    let words = list.iter().flat_map(|one| one.chunks_exact(8));
                    words
                        .filter_map(|one| Some(i64::from_le_bytes(*one.first_chunk()?)))
                        .collect()
                };
                let cut = starts(after);
                if parts.last() == Some(&"offsets")
                    && cut.is_sorted()
                    && cut.first() == Some(&0)
                    && cut.iter().all(|one| one % 8 == 0)
                    && cut.last() <= starts(before).last()
                {
                    return NoRule("another cut of the same members");
                }
                if parts.first() == Some(&"parametric") {
                    NoRule("numbers beside the levels")
                } else if parts.last() == Some(&"offsets") || (longer && !whole) {
                    Broken("members that do not add up")
                } else {
                    self.members(&parts, after)
                }
            }
            _ if !longer || parts.first() == Some(&"parametric") => {
                NoRule("numbers beside the levels")
            }
            _ => Broken("another number of rows"),
        }
    }

    fn vertices(&self, path: &str, key: &str, before: &[Vec<u8>], after: &[Vec<u8>]) -> Verdict {
        let Some(places) = Places::of(self.before, path) else {
            return NoRule("vertices of a store whose shape is not read here");
        };
        let chunk = places.chunk(self.before, path, key);
        for (old, new) in before.iter().zip(after) {
            let (old, new) = (places.rows(old), places.rows(new));
            for (old, new) in old
                .chunks_exact(places.dims)
                .zip(new.chunks_exact(places.dims))
            {
                if old == new {
                    continue;
                }
                if !new.iter().all(|one| one.is_finite()) {
                    return Broken("a coordinate that is no finite number");
                }
                let Some(chunk) = &chunk else {
                    return NoRule("a coordinate of a shard");
                };
                for (axis, &at) in new.iter().enumerate() {
                    let edge = |list: &[f64]| list.get(axis).copied().unwrap_or(f64::NAN);
                    let size = edge(&places.sizes);
                    let low = edge(chunk) * size;
                    // One step of 32 bits is what rounding at an edge costs.
                    let slack = 1.2e-7 * low.abs().max((low + size).abs());
                    if at < low - slack || at > low + size + slack {
                        return Broken("a vertex outside of its chunk");
                    }
                    if let Some((from, to)) = &places.bounds {
                        let slack = 1.2e-7 * edge(from).abs().max(edge(to).abs());
                        if at < edge(from) - slack || at > edge(to) + slack {
                            return Broken("a vertex outside of the bounds");
                        }
                    }
                    if let Some(bins) = &places.bins {
                        let bin = edge(bins);
                        let was = old.get(axis).copied().unwrap_or(at);
                        if (at / bin).floor() != (was / bin).floor() {
                            return Broken("a vertex in another bin");
                        }
                    }
                }
            }
        }
        NoRule("a coordinate that stays in its chunk, its bin and the bounds")
    }

    /// Fragment indexes: same, or another cut of the same rows.
    fn fragments(&self, parts: &[&str], before: &[Vec<u8>], after: &[Vec<u8>]) -> Verdict {
        let mut worst = Verdict::Nothing("padding of a fragment index");
        for (old, new) in before.iter().zip(after).filter(|(old, new)| old != new) {
            let Some(old) = Index::parse(old) else {
                continue;
            };
            let Some(new) = Index::parse(new) else {
                return Broken("a fragment index that does not parse");
            };
            if old == new {
                continue;
            }
            let rows = old
                .rows
                .iter()
                .flatten()
                .map(|row| row + 1)
                .max()
                .unwrap_or(0);
            let mut named = vec![false; usize::try_from(rows).unwrap_or(0)];
            for &row in new.rows.iter().flatten() {
                match usize::try_from(row).ok().and_then(|row| named.get_mut(row)) {
                    Some(place) => *place = true,
                    None => return Broken("a row that is not there"),
                }
            }
            if named.contains(&false) {
                return Broken("a row of no fragment");
            }
            if new.rows.len() != old.rows.len() {
                return Broken("another number of fragments");
            }
            let level: Option<Value> = parts.first().and_then(|level| {
                serde_json::from_slice(self.before.get(&format!("{level}/zarr.json"))?).ok()
            });
            let tiles = level.as_ref().is_some_and(|level| {
                level["attributes"]["zarr_vectors_level"]["fragments_tile"] == true
            });
            if tiles && !new.tiles() {
                return Broken("fragments that do not tile");
            }
            worst = worst.max(NoRule("another cut of the same rows"));
        }
        worst
    }

    /// Links: rows that are there, of a number that is right.
    fn links(&self, parts: &[&str], before: &[Vec<u8>], after: &[Vec<u8>]) -> Verdict {
        let (Some(level), Some(delta)) = (parts.first(), parts.get(2)) else {
            return NoRule("links of another layout");
        };
        if *delta != "0" && delta.starts_with(['+', '-']) {
            let (number, step): (i64, i64) =
                (level.parse().unwrap_or(0), delta.parse().unwrap_or(0));
            let back = if step < 0 {
                format!("+{}", -step)
            } else {
                format!("-{step}")
            };
            if self
                .before
                .contains_key(&format!("{}/links/{back}/zarr.json", number + step))
            {
                return Broken("links between levels that are not those back");
            }
        }
        let vertices = rows_of_largest_chunk(self.before, level);
        for (old, new) in before.iter().zip(after) {
            for (old, new) in old.chunks(8).zip(new.chunks(8)) {
                if old == new {
                    continue;
                }
                let Some(new) = new.first_chunk::<8>().map(|one| i64::from_le_bytes(*one)) else {
                    return Broken("half a number");
                };
                if new < 0 || u64::try_from(new).is_ok_and(|new| new >= vertices) {
                    return Broken("a link to a row that no chunk has, or a head that is wrong");
                }
            }
        }
        NoRule("a link to another row of some chunk")
    }

    /// The object index: ids, and manifests as far as they decode.
    fn objects(&self, parts: &[&str], before: &[Vec<u8>], after: &[Vec<u8>]) -> Verdict {
        match parts.get(2).copied().unwrap_or_default() {
            "object_ids" => {
                let ids = |list: &[Vec<u8>]| -> Vec<i64> {
                    list.iter()
                        .flat_map(|bytes| bytes.chunks_exact(8))
                        .filter_map(|one| Some(i64::from_le_bytes(*one.first_chunk()?)))
                        .collect()
                };
                let (old, new) = (ids(before), ids(after));
                let unique: std::collections::BTreeSet<i64> = new.iter().copied().collect();
                if unique.len() != new.len() || old.len() != new.len() {
                    return Broken("an id of two objects");
                }
                if !new.is_sorted() && old.is_sorted() {
                    return Broken("ids that do not ascend");
                }
                if self
                    .before
                    .keys()
                    .any(|key| key.starts_with("1/") || key.contains("/groups/"))
                {
                    return Broken("an id that others name");
                }
                NoRule("another id")
            }
            "offsets" => Broken("manifests that do not begin where they should"),
            "manifests"
                if !self.ruled
                    && parts.first() != Some(&"0")
                    && after.iter().all(Vec::is_empty) =>
            {
                NoRule("a coarse level of a store before 0.9 whose objects have no fragments")
            }
            "manifests" => {
                for (old, new) in before.iter().zip(after).filter(|(old, new)| old != new) {
                    let (Some(old), Some(new)) = (
                        manifest(old, 3)
                            .or_else(|| manifest(old, 4))
                            .or_else(|| manifest(old, 2)),
                        manifest(new, 3)
                            .or_else(|| manifest(new, 4))
                            .or_else(|| manifest(new, 2)),
                    ) else {
                        return Broken("a manifest that does not parse");
                    };
                    if old.len() != new.len() || parts.first() == Some(&"0") {
                        return Broken("fragments of no object, or of another one");
                    }
                    let far = |blocks: &[Vec<i64>]| {
                        blocks
                            .iter()
                            .flatten()
                            .map(|one| one.unsigned_abs())
                            .max()
                            .unwrap_or(0)
                    };
                    if far(&new) > 4 * far(&old).max(64) {
                        return Broken("a chunk or fragment that is not there");
                    }
                }
                NoRule("another fragment of a coarse level, where fragments are shared")
            }
            _ => Broken("tables of manifests"),
        }
    }

    /// Whether the store is of lines, which are read by their manifests.
    fn is_chain(&self) -> bool {
        let root = self
            .before
            .get("zarr.json")
            .and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok());
        let kind = root
            .as_ref()
            .and_then(|root| root["attributes"]["zarr_vectors"]["geometry_types"][0].as_str());
        matches!(kind, Some("line" | "polyline" | "streamline"))
    }

    /// Members of groups are ids of objects.
    fn members(&self, parts: &[&str], after: &[Vec<u8>]) -> Verdict {
        let level = parts.first().copied().unwrap_or("0");
        let array = format!("{level}/object_index/object_ids");
        let ids: Option<Vec<i64>> = self.before.get(&format!("{array}/c/0")).and_then(|bytes| {
            let document =
                serde_json::from_slice(self.before.get(&format!("{array}/zarr.json"))?).ok()?;
            let list = elements(&document, bytes).ok()?;
            Some(
                list.iter()
                    .flat_map(|bytes| bytes.chunks_exact(8))
                    .filter_map(|one| Some(i64::from_le_bytes(*one.first_chunk()?)))
                    .collect(),
            )
        });
        let count = self
            .before
            .get(&format!("{level}/object_index/zarr.json"))
            .and_then(|bytes| {
                let index: Value = serde_json::from_slice(bytes).ok()?;
                index["attributes"]["num_objects"].as_i64()
            });
        for bytes in after {
            if bytes.len() % 8 != 0 {
                return Broken("half a member");
            }
            for id in bytes
                .chunks_exact(8)
                .filter_map(|one| Some(i64::from_le_bytes(*one.first_chunk()?)))
            {
                let known = match (&ids, count) {
                    (Some(ids), _) => ids.contains(&id),
                    (None, Some(count)) => (0..count).contains(&id),
                    (None, None) => true,
                };
                if !known {
                    return Broken("a member that is no object");
                }
            }
        }
        NoRule("another member of a group")
    }
}

/// What there is to know about places of vertices.
struct Places {
    dims: usize,
    wide: bool,
    sizes: Vec<f64>,
    bounds: Option<(Vec<f64>, Vec<f64>)>,
    bins: Option<Vec<f64>>,
}

impl Places {
    fn of(objects: &Objects, path: &str) -> Option<Self> {
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

    fn rows(&self, bytes: &[u8]) -> Vec<f64> {
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

    /// The chunk of an object; `None` in shards.
    fn chunk(&self, objects: &Objects, path: &str, key: &str) -> Option<Vec<f64>> {
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
        // Behind the number of a chunk attribute, if there is one.
        Some(parts.get(parts.len().checked_sub(self.dims)?..)?.to_vec())
    }
}

/// The corners of all vertices of level 0, where they are decoded here.
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

/// The most rows that any chunk of a level has.
fn rows_of_largest_chunk(objects: &Objects, level: &str) -> u64 {
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
struct Index {
    rows: Vec<Vec<i64>>,
    ranges: Vec<bool>,
}

impl Index {
    fn parse(blob: &[u8]) -> Option<Self> {
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

    fn tiles(&self) -> bool {
        let mut next = 0;
        self.ranges.iter().zip(&self.rows).all(|(range, rows)| {
            let fits = rows.first().is_none_or(|first| *first == next);
            next += i64::try_from(rows.len()).unwrap_or(0);
            *range && fits
        })
    }
}

/// The blocks of a manifest (0.9 §11.3): chunk and fragments as numbers.
fn manifest(blob: &[u8], rank: usize) -> Option<Vec<Vec<i64>>> {
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
