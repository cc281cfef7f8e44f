//! The views of the bundled stores, compared with the input of the stores.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::client::Served;

fn served(case: &str) -> Result<(zvf_testkit::TempStore, Served)> {
    let store = zvf_testkit::unpack(case)?;
    let served = Served::start(&[store.path().display().to_string()])?;
    Ok((store, served))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32> {
    let four = bytes.get(at..at + 4).context("cut")?;
    Ok(u32::from_le_bytes(four.try_into()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64> {
    let eight = bytes.get(at..at + 8).context("cut")?;
    Ok(u64::from_le_bytes(eight.try_into()?))
}

fn usize_of(value: &Value) -> Result<usize> {
    Ok(usize::try_from(value.as_u64().context("a number")?)?)
}

/// Bits of the coordinates of points, and the number of points with these coordinates.
type Points = BTreeMap<Vec<u32>, usize>;

fn truth_points(case: &str) -> Result<Points> {
    let truth = zvf_testkit::truth(case)?;
    let dims = truth.positions.shape[1];
    let mut points = Points::new();
    for point in truth.positions.f64s()?.chunks(dims) {
        #[expect(clippy::cast_possible_truncation, reason = "the format has float32")]
        let bits = point.iter().map(|p| (*p as f32).to_bits()).collect();
        *points.entry(bits).or_default() += 1;
    }
    Ok(points)
}

/// Bytes of the properties of one annotation.
fn property_bytes(info: &Value) -> usize {
    let sizes = info["properties"].as_array().into_iter().flatten();
    let sizes = sizes.map(|one| match one["type"].as_str().unwrap_or_default() {
        "uint8" | "int8" => 1,
        "uint16" | "int16" => 2,
        "rgb" => 3,
        _ => 4,
    });
    sizes.sum::<usize>().next_multiple_of(4)
}

/// Every cell of every spatial level.
fn cells(info: &Value) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for level in info["spatial"].as_array().context("levels")? {
        let key = level["key"].as_str().context("a key")?;
        let mut names = vec![String::new()];
        for cells in level["grid_shape"].as_array().context("a shape")? {
            let mut next = Vec::new();
            for name in &names {
                for at in 0..usize_of(cells)? {
                    let gap = if name.is_empty() { "" } else { "_" };
                    next.push(format!("{name}{gap}{at}"));
                }
            }
            names = next;
        }
        found.extend(names.into_iter().map(|name| format!("{key}/{name}")));
    }
    Ok(found)
}

fn points_of(case: &str) -> Result<(Value, usize)> {
    let (_store, served) = served(case)?;
    let base = "/precomputed/store/points";
    let info = served.json(&format!("{base}/info"))?;
    let dims = info["lower_bound"].as_array().context("bounds")?.len();
    let row = 4 * dims + property_bytes(&info);
    let (mut points, mut ids) = (Points::new(), BTreeSet::new());
    let mut sample = None;
    for cell in cells(&info)? {
        let bytes = served.bytes(&format!("{base}/{cell}"))?;
        let count = usize::try_from(u64_at(&bytes, 0)?)?;
        assert_eq!(bytes.len(), 8 + count * (row + 8), "{case} {cell}");
        for number in 0..count {
            let at = 8 + number * row;
            let mut bits = Vec::new();
            for axis in 0..dims {
                let value = u32_at(&bytes, at + 4 * axis)?;
                bits.push(value);
            }
            *points.entry(bits).or_default() += 1;
            let id = u64_at(&bytes, 8 + count * row + 8 * number)?;
            assert!(ids.insert(id), "{case}: {id} twice");
            sample = Some((id, bytes[at..at + row].to_vec()));
        }
    }
    assert_eq!(points, truth_points(case)?, "{case}");
    let (id, encoded) = sample.context("a point")?;
    let alone = served.bytes(&format!("{base}/by_id/{id}"))?;
    assert_eq!(&alone[..row], encoded, "{case}");
    let related = info["relationships"].as_array().map(Vec::len);
    assert_eq!(alone.len() > row, related == Some(1), "{case}");
    if related == Some(1) && u32_at(&alone, row)? > 0 {
        let owner = u64_at(&alone, row + 4)?;
        let list = served.bytes(&format!("{base}/by_object/{owner}"))?;
        let found = list.windows(8).any(|eight| eight == id.to_le_bytes());
        assert!(found, "{case}: {id} is not among the points of {owner}");
    }
    Ok((info, ids.len()))
}

#[test]
fn every_point_is_in_one_cell_of_one_level() -> Result<()> {
    for case in [
        "points_2d_f8",
        "points_bins",
        "points_ids",
        "points_4d_sharded",
        "real_synapses",
        "0.9.4/additive_points",
        "0.9.4/dense_points",
    ] {
        let (info, count) = points_of(case)?;
        assert_eq!(info["annotation_type"], "POINT", "{case}");
        assert!(count > 0, "{case}");
    }
    Ok(())
}

/// One annotation of polylines: id and points.
fn polylines(served: &Served) -> Result<(Value, BTreeMap<u64, Vec<u8>>)> {
    let base = "/precomputed/store/lines";
    let info = served.json(&format!("{base}/info"))?;
    let dims = info["lower_bound"].as_array().context("bounds")?.len();
    let properties = property_bytes(&info);
    let line = info["annotation_type"] == "LINE";
    let mut found = BTreeMap::new();
    for cell in cells(&info)? {
        let bytes = served.bytes(&format!("{base}/{cell}"))?;
        let count = usize::try_from(u64_at(&bytes, 0)?)?;
        let mut at = 8;
        let mut lines = Vec::new();
        for _ in 0..count {
            let points = match line {
                true => 2,
                false => {
                    at += 4;
                    usize::try_from(u32_at(&bytes, at - 4)?)?
                }
            };
            let length = points * dims * 4;
            lines.push(bytes.get(at..at + length).context("cut")?.to_vec());
            at += length + properties;
        }
        assert_eq!(bytes.len(), at + 8 * count);
        for (number, line) in lines.into_iter().enumerate() {
            let id = u64_at(&bytes, at + 8 * number)?;
            assert!(found.insert(id, line).is_none(), "{id} twice");
        }
    }
    Ok((info, found))
}

#[test]
fn every_line_is_drawn_once_with_all_its_points() -> Result<()> {
    for (case, kind) in [
        ("lines", "LINE"),
        ("streamlines", "POLYLINE"),
        ("real_tractogram", "POLYLINE"),
    ] {
        let (_store, served) = served(case)?;
        let (info, found) = polylines(&served)?;
        assert_eq!(info["annotation_type"], kind, "{case}");
        let mut points = Points::new();
        for line in found.values() {
            for point in line.chunks(12) {
                let bits = point
                    .chunks(4)
                    .map(|four| u32_at(four, 0))
                    .collect::<Result<Vec<_>>>()?;
                *points.entry(bits).or_default() += 1;
            }
        }
        assert_eq!(points, truth_points(case)?, "{case}");
        // The same line by its id, and as a skeleton.
        let (id, line) = found.iter().next().context("a line")?;
        let alone = served.bytes(&format!("/precomputed/store/lines/by_id/{id}"))?;
        let from = if kind == "LINE" { 0 } else { 4 };
        assert_eq!(
            alone.get(from..from + line.len()),
            Some(line.as_slice()),
            "{case}"
        );
        let skeleton = served.bytes(&format!("/precomputed/store/skeletons/{id}"))?;
        assert_eq!(u32_at(&skeleton, 0)? as usize * 12, line.len());
        assert_eq!(
            skeleton.get(8..8 + line.len()),
            Some(line.as_slice()),
            "{case}"
        );
        assert_eq!(u32_at(&skeleton, 4)?, u32_at(&skeleton, 0)? - 1);
    }
    Ok(())
}

#[test]
fn skeletons_have_the_edges_that_went_in() -> Result<()> {
    for case in ["real_skeleton", "skeleton", "graph"] {
        let (_store, served) = served(case)?;
        let truth = zvf_testkit::truth(case)?;
        let info = served.json("/precomputed/store/skeletons/info")?;
        let properties = served.json("/precomputed/store/skeletons/properties/info")?;
        let ids = properties["inline"]["ids"].as_array().context("ids")?;
        assert!(!ids.is_empty(), "{case}");
        let mut row = 0;
        for attribute in info["vertex_attributes"].as_array().context("attributes")? {
            let size = match attribute["data_type"].as_str().unwrap_or_default() {
                "uint8" | "int8" => 1,
                "uint16" | "int16" => 2,
                _ => 4,
            };
            row += size * usize_of(&attribute["num_components"])?;
        }
        let (mut edges, mut points) = (0, Points::new());
        for id in ids {
            let id = id.as_str().context("an id")?;
            let bytes = served.bytes(&format!("/precomputed/store/skeletons/{id}"))?;
            let (vertices, links) = (u32_at(&bytes, 0)? as usize, u32_at(&bytes, 4)? as usize);
            assert_eq!(
                bytes.len(),
                8 + vertices * (12 + row) + links * 8,
                "{case} {id}"
            );
            edges += links;
            for point in bytes[8..8 + 12 * vertices].chunks(12) {
                let bits = point
                    .chunks(4)
                    .map(|four| u32_at(four, 0))
                    .collect::<Result<Vec<_>>>()?;
                *points.entry(bits).or_default() += 1;
            }
        }
        assert_eq!(points, truth_points(case)?, "{case}");
        assert_eq!(edges, truth.edges.context("edges")?.shape[0], "{case}");
        assert_eq!(
            served.get("/precomputed/store/skeletons/123456789")?.status,
            404
        );
    }
    Ok(())
}

#[test]
fn meshes_have_the_faces_that_went_in() -> Result<()> {
    for case in ["mesh", "real_mesh"] {
        let (_store, served) = served(case)?;
        let faces = zvf_testkit::truth(case)?.faces.context("faces")?;
        assert_eq!(
            served.json("/precomputed/store/meshes/info")?["@type"],
            "neuroglancer_legacy_mesh"
        );
        let properties = served.json("/precomputed/store/meshes/properties/info")?;
        let mut triangles = 0;
        for id in properties["inline"]["ids"].as_array().context("ids")? {
            let id = id.as_str().context("an id")?;
            let manifest = served.json(&format!("/precomputed/store/meshes/{id}:0"))?;
            for fragment in manifest["fragments"].as_array().context("fragments")? {
                let fragment = fragment.as_str().context("a name")?;
                let bytes = served.bytes(&format!("/precomputed/store/meshes/{fragment}"))?;
                let vertices = u32_at(&bytes, 0)? as usize;
                assert_eq!((bytes.len() - 4 - 12 * vertices) % 12, 0);
                triangles += (bytes.len() - 4 - 12 * vertices) / 12;
            }
        }
        assert_eq!(triangles, faces.shape[0], "{case}");
    }
    Ok(())
}

#[test]
fn a_store_that_changes_is_read_again() -> Result<()> {
    let (store, served) = served("skeleton")?;
    let path = "/precomputed/store/skeletons/info";
    let first = served.get(path)?;
    let etag = first.header("etag").context("an etag")?.to_owned();
    let other = served.ask("GET", path, &[("If-Match", "\"other\"")])?;
    assert_eq!(other.status, 412);
    let held = served.ask("GET", path, &[("If-Match", &etag)])?;
    assert_eq!(held.status, 200);
    let same = served.ask("GET", path, &[("If-None-Match", &etag)])?;
    assert_eq!(same.status, 304);
    let any = served.ask("GET", path, &[("If-None-Match", "*")])?;
    assert_eq!(any.status, 304);
    // A condition counts only where the file exists.
    let missing = "/precomputed/store/skeletons/none";
    for tag in ["*", etag.as_str()] {
        let reply = served.ask("GET", missing, &[("If-None-Match", tag)])?;
        assert_eq!(reply.status, 404, "{tag}");
    }
    let head = served.ask("HEAD", path, &[("Range", "bytes=0-3")])?;
    let length = first.body.len().to_string();
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some(length.as_str())),
        "only GET has ranges"
    );
    let root = store.path().join("zarr.json");
    let text = std::fs::read_to_string(&root)?;
    std::fs::remove_file(&root)?;
    std::fs::write(&root, format!("{text}\n"))?;
    let again = served.ask("GET", path, &[("If-None-Match", &etag)])?;
    assert_eq!(again.status, 200);
    let second = again.header("etag").context("an etag")?;
    assert_ne!(second, etag);
    // A client without a cached answer gets the new state, too.
    std::fs::remove_file(&root)?;
    std::fs::write(&root, format!("{text}\n\n"))?;
    let fresh = served.get(path)?;
    assert_ne!(fresh.header("etag"), Some(second));
    Ok(())
}
