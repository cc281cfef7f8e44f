//! Compares decoded data by the kind of the array and the valid range of its numbers.

use serde_json::Value;

use super::parts::{FragmentRows, Places, manifest, rows_of_largest_chunk};
use super::{Both, Verdict};
use crate::decode::elements;

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
        // Padded arrays have more than two axes; 0.7 and 0.8 have them besides other layouts.
        if !self.ruled
            && document["shape"]
                .as_array()
                .is_some_and(|shape| shape.len() > 2)
            && document["data_type"] != "variable_length_bytes"
        {
            return NoRule("rows of a padded array, which the oracle does not decode");
        }
        match parts.get(1).copied().unwrap_or_default() {
            "vertices" if longer => Broken("another number of vertices"),
            "vertices" => self.vertices(path, key, before, after),
            one if one.starts_with("vertices_") || one.starts_with("links_") => {
                if longer {
                    Broken("another number of rows")
                } else {
                    NoRule("numbers of an additional geometry kind")
                }
            }
            "vertex_fragments" | "link_fragments" => self.fragments(&parts, before, after),
            "vertex_attributes"
            | "object_attributes"
            | "group_attributes"
            | "fragment_attributes"
            | "link_attributes"
            | "cross_chunk_link_attributes" => {
                // Before 0.9 an attribute may end early, because points may be appended without attribute values (0.7 §17.4).
                let shorter = before.iter().zip(after).all(|(a, b)| b.len() <= a.len());
                if longer && parts.get(1) == Some(&"vertex_attributes") && !self.ruled && shorter {
                    NoRule("an attribute that ends early, as after an append")
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
                    return NoRule("other offsets into the same members");
                }
                if parts.first() == Some(&"parametric") {
                    NoRule("numbers outside of the levels")
                } else if parts.last() == Some(&"offsets") || (longer && !whole) {
                    Broken("members that do not match their offsets")
                } else {
                    self.members(&parts, after)
                }
            }
            _ if !longer || parts.first() == Some(&"parametric") => {
                NoRule("numbers outside of the levels")
            }
            _ => Broken("another number of rows"),
        }
    }

    fn vertices(&self, path: &str, key: &str, before: &[Vec<u8>], after: &[Vec<u8>]) -> Verdict {
        let Some(places) = Places::of(self.before, path) else {
            return NoRule("vertices whose chunk shape or dtype is not read here");
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
                    return Broken("a coordinate that is not finite");
                }
                let Some(chunk) = &chunk else {
                    return NoRule("a coordinate in a sharded array");
                };
                for (axis, &at) in new.iter().enumerate() {
                    let edge = |list: &[f64]| list.get(axis).copied().unwrap_or(f64::NAN);
                    let size = edge(&places.sizes);
                    let low = edge(chunk) * size;
                    // Allows for one float32 rounding step at the edges.
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

    /// Judges fragment indexes: the number of fragments must be the same, and each row must be in a fragment.
    fn fragments(&self, parts: &[&str], before: &[Vec<u8>], after: &[Vec<u8>]) -> Verdict {
        let mut worst = Verdict::Nothing("padding of a fragment index");
        for (old, new) in before.iter().zip(after).filter(|(old, new)| old != new) {
            let Some(old) = FragmentRows::parse(old) else {
                continue;
            };
            let Some(new) = FragmentRows::parse(new) else {
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
                    None => return Broken("a row that does not exist"),
                }
            }
            if named.contains(&false) {
                return Broken("a row in no fragment");
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
            worst = worst.max(NoRule("other fragments of the same rows"));
        }
        worst
    }

    /// Judges links: each endpoint must be a row of some chunk.
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
                return Broken("links between levels that differ from the links back");
            }
        }
        let vertices = rows_of_largest_chunk(self.before, level);
        for (old, new) in before.iter().zip(after) {
            for (old, new) in old.chunks(8).zip(new.chunks(8)) {
                if old == new {
                    continue;
                }
                let Some(new) = new.first_chunk::<8>().map(|one| i64::from_le_bytes(*one)) else {
                    return Broken("a truncated number");
                };
                if new < 0 || u64::try_from(new).is_ok_and(|new| new >= vertices) {
                    return Broken("a link to a row that no chunk has, or a wrong head");
                }
            }
        }
        NoRule("a link to another row of some chunk")
    }

    /// Judges the object index: ids, and manifests that can be decoded.
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
                    return Broken("a duplicate id, or another number of ids");
                }
                if !new.is_sorted() && old.is_sorted() {
                    return Broken("ids that do not ascend");
                }
                if self
                    .before
                    .keys()
                    .any(|key| key.starts_with("1/") || key.contains("/groups/"))
                {
                    return Broken("an id that groups or coarse levels refer to");
                }
                NoRule("another id")
            }
            "offsets" => Broken("wrong offsets of manifests"),
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
                        return Broken("a chunk or fragment that does not exist");
                    }
                }
                NoRule("another fragment of a coarse level, where fragments are shared")
            }
            _ => Broken("tables of manifests"),
        }
    }

    /// Whether the store holds lines, which are read through their manifests.
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

    /// Judges the members of groups, which must be ids of objects.
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
                return Broken("a truncated member");
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
                    return Broken("a member that is not the id of an object");
                }
            }
        }
        NoRule("another member of a group")
    }
}
