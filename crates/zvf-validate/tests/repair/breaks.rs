//! Documents that are broken in one way each, which a repair can correct.
//!
//! The expected result is the good store, never the output of a repair: the repair must undo the change of each line.

use serde_json::{Value, json};

use super::support::{BY_LABEL, Files, Outcome};

/// A way to break a good store.
pub(crate) struct Break {
    /// The bundled store.
    pub(crate) case: &'static str,
    /// The name of the check that finds it.
    pub(crate) check: &'static str,
    pub(crate) run: fn(&mut Files) -> Outcome,
}

const fn of(case: &'static str, check: &'static str, run: fn(&mut Files) -> Outcome) -> Break {
    Break { case, check, run }
}

const LIST: &str = "/attributes/nonempty_chunks";
const DATASETS: &str = "/attributes/multiscales/0/datasets";
const VERTICES: &str = "0/vertices/zarr.json";
const INDEX: &str = "0/object_index/zarr.json";
const INTRA: &str = "0/links/0/0.0.0/zarr.json";
const FAMILY: &str = "0/links/0/zarr.json";
const TABLE: &str = "0/object_attributes/score/zarr.json";

fn level(member: &str) -> String {
    format!("/attributes/zarr_vectors_level/{member}")
}

fn root(member: &str) -> String {
    format!("/attributes/zarr_vectors/{member}")
}

/// Sets an attribute.
fn attribute(files: &mut Files, key: &str, name: &str, value: Value) -> Outcome {
    files.set(key, &format!("/attributes/{name}"), value)
}

/// The location of a transform of a dataset.
fn transform(files: &Files, at: usize, kind: &str) -> Outcome<String> {
    let document = files.document("zarr.json")?;
    let at = format!("{DATASETS}/{at}/coordinateTransformations");
    let list = document.pointer(&at).and_then(Value::as_array);
    let mut list = list.ok_or("no transforms")?.iter();
    let place = list.position(|one| one["type"] == kind);
    Ok(format!("{at}/{}", place.ok_or("no such transform")?))
}

fn set_transform(files: &mut Files, at: usize, kind: &str, numbers: Value) -> Outcome {
    let place = transform(files, at, kind)?;
    files.set("zarr.json", &format!("{place}/{kind}"), numbers)
}

/// Removes a transform of a dataset.
fn drop_transform(files: &mut Files, at: usize, kind: &str) -> Outcome {
    let list = format!("{DATASETS}/{at}/coordinateTransformations");
    files.list("zarr.json", &list, |list| {
        list.retain(|one| one["type"] != kind);
    })
}

/// Makes the break for a check from the table of broken stores.
fn bundled(check: &str, files: &mut Files) -> Outcome {
    let mut breaks = zvf_badstores::breaks();
    let one = breaks.find(|one| one.check == check);
    one.ok_or("no such break")?.apply(files)
}

/// All breaks.
pub(crate) const BREAKS: &[Break] = &[
    of("0.9/lines", "store-opens", |files| {
        files.unset("zarr.json", &root("bounds"))
    }),
    of("0.9/lines", "document-reads", |files| {
        files.unset("0/zarr.json", &level("vertex_count"))?;
        files.set("0/zarr.json", &level("level"), json!("zero"))?;
        files.unset("0/zarr.json", &level("arrays_present"))
    }),
    of("0.9/graph", "document-reads", |files| {
        files.set(VERTICES, LIST, json!({"0.0.0": true}))
    }),
    of("0.9/lines", "cell-listed", |files| {
        for array in ["vertices", "vertex_fragments"] {
            let key = format!("0/{array}/zarr.json");
            files.list(&key, LIST, |list| {
                list.remove(0);
            })?;
        }
        Ok(())
    }),
    // Shards contain several cells.
    of("0.9/points_4d_sharded", "cell-listed", |files| {
        files.list(VERTICES, LIST, |list| {
            list.retain(|key| key.as_str().is_some_and(|key| key.len() % 2 == 0));
        })
    }),
    of("0.9/graph", "cell-empty", |files| {
        let key = "0/links/0/0.0.+1/zarr.json";
        let all = files.document(VERTICES)?["attributes"]["nonempty_chunks"].clone();
        let listed = files.document(key)?["attributes"]["nonempty_chunks"].clone();
        let (all, listed) = (all.as_array().ok_or("")?, listed.as_array().ok_or("")?);
        let empty = all.iter().find(|key| !listed.contains(key)).ok_or("none")?;
        files.list(key, LIST, |list| {
            list.push(empty.clone());
            list.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        })
    }),
    of("0.9/lines", "vertex-count", |files| {
        files.set("0/zarr.json", &level("vertex_count"), json!(7))
    }),
    of("0.9/points_ids", "fragments-tile", |files| {
        // Swaps two fragments of one chunk: after the heads of chunk and index there are a bit for each fragment, and the ranges.
        let key = files.first("0/vertex_fragments", 24 + 2 * 16)?;
        files.plain(&key, |index| {
            let (first, rest) = index[8 + 24..].split_at_mut(16);
            first.swap_with_slice(&mut rest[..16]);
            Ok(())
        })
    }),
    of("0.9/graph", "link-count", |files| {
        attribute(files, FAMILY, "num_links", json!(3))
    }),
    of("0.9/graph", "present-count", |files| {
        attribute(files, INDEX, "num_present", json!(0))
    }),
    of("0.9/lines", "object-ids-sorted", |files| {
        // Swaps the ids of the first two rows.
        let key = files.first("0/object_index/object_ids", 8)?;
        files.plain(&key, |ids| {
            let (first, rest) = ids.split_at_mut(8);
            first.swap_with_slice(&mut rest[..8]);
            Ok(())
        })
    }),
    of("0.9/lines", "vertex-bounds", |files| {
        files.set("zarr.json", &root("bounds/1/0"), json!(0.5))
    }),
    of("0.9/points_bins", "cross-capability", |files| {
        files.list("zarr.json", &root("format_capabilities"), |list| {
            list.retain(|one| one != "multiscale_links");
        })
    }),
    of("0.9/lines", "shared-capability", |files| {
        files.set("0/zarr.json", &level("shared_fragments"), json!(true))
    }),
    of("0.9/graph", "link-group-capability", |files| {
        bundled("link-group-capability", files)
    }),
    of("0.9/graph", "link-group-count", |files| {
        bundled("link-group-count", files)
    }),
    of("0.9/graph", "link-group-rows", |files| {
        bundled("link-group-rows", files)
    }),
    of("0.9/graph", "link-group-fragment", |files| {
        bundled("link-group-fragment", files)
    }),
    of("0.9/lines", "bounds-length", |files| {
        files.list("zarr.json", &root("bounds/0"), |list| {
            list.pop();
        })
    }),
    of("0.9/skeleton", "bounds-order", |files| {
        files.list("zarr.json", &root("bounds"), |list| list.reverse())
    }),
    of("0.9/points_bins", "dataset-path", |files| {
        files.list("zarr.json", DATASETS, |list| {
            list.push(json!({"path": "level-7", "coordinateTransformations": []}));
        })
    }),
    of("0.9/points_bins", "dataset-unique", |files| {
        files.list("zarr.json", DATASETS, |list| {
            list.extend(list.first().cloned());
        })
    }),
    of("0.9/points_bins", "dataset-order", |files| {
        files.list("zarr.json", DATASETS, |list| list.reverse())
    }),
    of("0.9/points_bins", "dataset-present", |files| {
        files.list("zarr.json", DATASETS, |list| {
            list.remove(0);
        })
    }),
    of("0.9/points_bins", "dataset-stale", |files| {
        files.list("zarr.json", DATASETS, |list| {
            let mut other = list[1].clone();
            other["path"] = json!("7");
            list.push(other);
        })
    }),
    of("0.9/points_bins", "scale-base", |files| {
        set_transform(files, 0, "scale", json!([2.0, 2.0, 2.0]))
    }),
    of("0.9/points_bins", "translation-base", |files| {
        set_transform(files, 0, "translation", json!([1e3, 1.0, 1.0]))
    }),
    of("0.9/points_bins", "transform-length", |files| {
        set_transform(files, 1, "scale", json!([2.0]))
    }),
    of("0.9/points_bins", "scale-positive", |files| {
        set_transform(files, 1, "scale", json!([0.0, -1.0, 2.0]))
    }),
    of("0.9/points_bins", "translation-coarse", |files| {
        set_transform(files, 1, "translation", json!([0.0, 0.0, 0.0]))
    }),
    of("0.9/points_bins", "scale-matches-bins", |files| {
        let place = transform(files, 1, "translation")?;
        let half = files.document("zarr.json")?;
        let half = half.pointer(&format!("{place}/translation")).ok_or("")?;
        let half = half.as_array().ok_or("")?.iter();
        let bins: Vec<f64> = half.filter_map(|one| Some(one.as_f64()? * 2.0)).collect();
        files.set("1/zarr.json", &level("bin_shape"), json!(bins))?;
        set_transform(files, 1, "scale", json!([16.0, 16.0, 16.0]))
    }),
    of("0.9/points_bins", "level-bins-known", |files| {
        drop_transform(files, 1, "translation")
    }),
    of("0.9/lines", "ome-present", |files| {
        files.unset("zarr.json", "/attributes/ome")
    }),
    of("0.9/lines", "ome-type", |files| {
        files.set("zarr.json", "/attributes/ome/type", json!("scene"))
    }),
    of("0.9/lines", "ome-axes", |files| {
        let at = "/attributes/ome/attributes/scene/coordinateSystems/0/axes/0/name";
        files.set("zarr.json", at, json!("w"))
    }),
    of("0.9/points_bins", "ome-levels", |files| {
        files.list("zarr.json", "/attributes/ome/nodes", |list| {
            list.pop();
        })
    }),
    of("0.9/points_bins", "level-number", |files| {
        files.set("1/zarr.json", &level("level"), json!(4))
    }),
    of("0.9/lines", "level-parent-absent", |files| {
        files.set("0/zarr.json", &level("parent_level"), json!(0))
    }),
    of("0.9/lines", "level-preserves-ids", |files| {
        files.set("0/zarr.json", &level("preserves_object_ids"), json!(true))
    }),
    of(BY_LABEL, "level-split-dims", |files| {
        files.unset("0/zarr.json", &level("chunk_dims"))
    }),
    of("0.9/lines", "level-zero-bins", |files| {
        let root = files.document("zarr.json")?;
        let shape = &root["attributes"]["zarr_vectors"]["chunk_shape"];
        let bins = &root["attributes"]["zarr_vectors"]["base_bin_shape"];
        let bins = if bins.is_null() { shape } else { bins }.clone();
        files.set("0/zarr.json", &level("bin_shape"), bins)
    }),
    of("0.9/lines", "grid-origin-zero", |files| {
        let origin = files.document(VERTICES)?["attributes"]["chunk_grid_origin"].clone();
        if !origin.is_null() {
            return Err("an origin that is not zero".into());
        }
        attribute(files, VERTICES, "chunk_grid_origin", json!([0, 0, 0]))
    }),
    of("0.9/lines", "presence-there", |files| {
        files.unset(VERTICES, LIST)
    }),
    of("0.9/points_4d_sharded", "presence-there", |files| {
        files.unset("0/vertex_fragments/zarr.json", LIST)
    }),
    of("0.9/lines", "presence-keys", |files| {
        files.list(VERTICES, LIST, |list| list[0] = json!("0,0,0"))
    }),
    of("0.9/lines", "presence-order", |files| {
        files.list(VERTICES, LIST, |list| list.reverse())
    }),
    of("0.9/lines", "presence-unique", |files| {
        files.list(VERTICES, LIST, |list| list.insert(0, list[0].clone()))
    }),
    of("0.9/lines", "presence-in-grid", |files| {
        files.list(VERTICES, LIST, |list| list.push(json!("999.0.0")))
    }),
    of("0.9/graph", "discriminator", |files| {
        attribute(files, VERTICES, "zv_array", json!("links"))
    }),
    of("0.9/graph", "discriminator-there", |files| {
        files.unset(FAMILY, "/attributes/zv_array")?;
        files.unset(INDEX, "/attributes/zv_array")?;
        files.unset(
            "0/link_attributes/weight/0/zarr.json",
            "/attributes/zv_array",
        )
    }),
    of("0.9/graph", "attribute-name", |files| {
        let key = "0/link_attributes/weight/0/zarr.json";
        attribute(files, key, "name", json!("mass"))?;
        let key = "0/vertex_attributes/r/zarr.json";
        files.unset(key, "/attributes/name")
    }),
    of("0.9/lines", "vlen-fill", |files| {
        files.set(VERTICES, "/fill_value", json!("AAAA"))
    }),
    of("0.9/points_bins", "link-delta", |files| {
        attribute(files, "0/links/+1/zarr.json", "level_delta", json!(2))
    }),
    of("0.9/graph", "link-offsets", |files| {
        let key = "0/links/0/0.0.+1/zarr.json";
        attribute(files, key, "offsets", json!([[0, 1, 0]]))
    }),
    of("0.9/graph", "link-perm", |files| {
        attribute(files, INTRA, "has_perm", json!(true))
    }),
    of("0.9/graph", "link-width", |files| {
        attribute(files, INTRA, "link_width", json!(3))
    }),
    of("0.9/graph", "family-policy", |files| {
        files.unset(FAMILY, "/attributes/link_width")?;
        files.unset(FAMILY, "/attributes/sid_ndim")
    }),
    of("0.9/graph", "family-rank", |files| {
        attribute(files, FAMILY, "sid_ndim", json!(2))
    }),
    of("0.9/points_bins", "family-directed", |files| {
        attribute(files, "0/links/+1/zarr.json", "directed", json!(false))
    }),
    of("0.9/graph", "family-counts", |files| {
        attribute(files, FAMILY, "num_physical_records", json!(9000))
    }),
    of("0.9/graph", "encoding", |files| {
        let key = "0/vertex_fragments/zarr.json";
        attribute(files, key, "encoding", json!("raw"))
    }),
    of("0.9/points_ids", "dtype-there", |files| {
        files.unset(TABLE, "/attributes/dtype")
    }),
    of("0.9/points_ids", "typed-dtype", |files| {
        attribute(files, TABLE, "dtype", json!("int16"))
    }),
    of("0.9/points_ids", "typed-shape", |files| {
        attribute(files, TABLE, "shape", json!([1]))
    }),
    of("0.9/points_ids", "group-count", |files| {
        let key = "0/groups/zarr.json";
        attribute(files, key, "group_names", json!(["a", "b"]))?;
        attribute(files, key, "num_groups", json!(99))
    }),
    of("0.9/points_ids", "row-shape", |files| {
        let key = "0/vertex_attributes/intensity/zarr.json";
        attribute(files, key, "channel_names", json!(["only"]))?;
        attribute(files, key, "row_shape", json!([1, 1]))
    }),
    of("0.9/points_ids", "index-rank", |files| {
        attribute(files, INDEX, "sid_ndim", json!(2))
    }),
    of("0.9/points_ids", "index-counts", |files| {
        attribute(files, INDEX, "num_present", json!(4096))
    }),
    of("0.9/points_ids", "object-ids", |files| {
        attribute(files, INDEX, "num_objects", json!(1))?;
        attribute(files, INDEX, "num_present", json!(1))
    }),
    of("0.9/points_ids", "manifests", |files| {
        attribute(files, INDEX, "num_objects", json!(4096))
    }),
];
