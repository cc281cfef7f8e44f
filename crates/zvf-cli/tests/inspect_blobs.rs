//! `zvf inspect` on the containers of versions before 0.9.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::run::{Home, STORE, blessed};

/// A group node.
fn group(attributes: &Value) -> Vec<u8> {
    json!({ "zarr_format": 3, "node_type": "group", "attributes": attributes })
        .to_string()
        .into_bytes()
}

/// The node of a blob of `length` bytes, without compression.
fn blob(length: usize, attributes: &Value) -> Vec<u8> {
    json!({
        "shape": [length], "data_type": "uint8", "fill_value": 0, "zarr_format": 3, "node_type": "array",
        "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": [length.max(1)] } },
        "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
        "codecs": [{ "name": "bytes" }], "attributes": attributes, "storage_transformers": [],
    })
    .to_string()
    .into_bytes()
}

/// The root of a store of two axes.
fn root() -> Vec<u8> {
    group(&json!({
        "zarr_vectors": { "zv_version": "0.7.0", "chunk_shape": [10.0, 10.0], "bounds": [[0.0, 0.0], [30.0, 10.0]],
            "geometry_types": ["graph"] },
        "multiscales": [{ "version": "0.4", "axes": [{ "name": "x", "type": "space" }, { "name": "y", "type": "space" }],
            "datasets": [{ "path": "0" }] }],
    }))
}

fn bytes_of<const N: usize>(numbers: impl IntoIterator<Item = [u8; N]>) -> Vec<u8> {
    numbers.into_iter().flatten().collect()
}

fn floats(values: &[f32]) -> Vec<u8> {
    bytes_of(values.iter().map(|value| value.to_le_bytes()))
}

fn ints(values: &[i64]) -> Vec<u8> {
    bytes_of(values.iter().map(|value| value.to_le_bytes()))
}

/// Puts a blob and its node into a list of files.
fn put(files: &mut Vec<(String, Vec<u8>)>, path: &str, bytes: Vec<u8>) {
    files.push((format!("{path}/zarr.json"), blob(bytes.len(), &json!({}))));
    files.push((format!("{path}/c/0"), bytes));
}

/// A store with one of each blob.
fn small() -> Result<Home> {
    let mut files = vec![("zarr.json".to_owned(), root())];
    let vertices = group(&json!({ "zv_array": "vertices", "dtype": "float32", "encoding": "raw" }));
    files.push(("0/vertices/zarr.json".into(), vertices));
    put(
        &mut files,
        "0/vertices/-1.0",
        floats(&[-1.5, 2.0, -3.0, 4.0]),
    );
    // Zeros are not stored, and an empty blob has no chunk file either.
    files.push(("0/vertices/0.0/zarr.json".into(), blob(16, &json!({}))));
    files.push(("0/vertices/5.5/zarr.json".into(), blob(0, &json!({}))));
    let packed = blob(
        24,
        &json!({ "shard_index": { "1.0": [0, 8], "2.0": [8, 16] } }),
    );
    files.push(("0/vertices/__shard_000007/zarr.json".into(), packed));
    files.push((
        "0/vertices/__shard_000007/c/0".into(),
        floats(&[11.0, 1.0, 21.0, 2.0, 22.0, 3.0]),
    ));
    // Three columns, whose number is declared nowhere.
    let normal = json!({ "zv_array": "attribute", "name": "normal", "dtype": "float32" });
    files.push((
        "0/vertex_attributes/normal/zarr.json".into(),
        group(&normal),
    ));
    put(
        &mut files,
        "0/vertex_attributes/normal/-1.0",
        floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    );
    let records = json!({ "zv_array": "cross_chunk_links", "level_delta": 1, "link_width": 2, "num_links": 2, "sid_ndim": 2 });
    files.push(("0/cross_chunk_links/+1/zarr.json".into(), group(&records)));
    put(
        &mut files,
        "0/cross_chunk_links/+1/data",
        ints(&[2, 0, 7, 1, 0, 3, -1, 0, 1, 0, 0, 9]),
    );
    // A cell of 0.8: from row 7 of the fine chunk (2,3) to row 3 of the coarse chunk (1,1), sorted by the chunk numbers of two grids.
    let cells = json!({ "zv_array": "cross_chunk_links", "level_delta": 1, "link_width": 2, "sid_ndim": 2 });
    files.push(("1/cross_chunk_links/+1/zarr.json".into(), group(&cells)));
    put(
        &mut files,
        "1/cross_chunk_links/+1/1.1.2.3",
        ints(&[1, 0, 1, 3, 7]),
    );
    let index = json!({ "zv_array": "object_index", "num_objects": 3, "sid_ndim": 2 });
    files.push(("0/object_index/zarr.json".into(), group(&index)));
    let mut manifests = bytes_of([1u32.to_le_bytes()]);
    manifests.extend(ints(&[1, 0]));
    manifests.push(0);
    manifests.extend(ints(&[5]));
    let first = manifests.len() as i64;
    manifests.extend([0; 4]);
    let second = manifests.len() as i64;
    manifests.extend(bytes_of([1u32.to_le_bytes()]));
    manifests.extend(ints(&[2, 0]));
    manifests.push(1);
    manifests.extend(ints(&[6, 2]));
    put(&mut files, "0/object_index/data", manifests);
    put(
        &mut files,
        "0/object_index/offsets",
        ints(&[0, first, second]),
    );
    put(&mut files, "0/groups/data", ints(&[40, 42, 41]));
    put(&mut files, "0/groups/offsets", ints(&[0, 16, 16]));
    let score = json!({ "zv_array": "object_attribute", "name": "score", "dtype": "float32", "num_channels": 1,
        "shape": [3, 2], "has_present_mask": true });
    files.push(("0/object_attributes/score/zarr.json".into(), group(&score)));
    put(
        &mut files,
        "0/object_attributes/score/data",
        floats(&[1.0, 2.0, 0.0, 0.0, 3.0, 4.0]),
    );
    put(
        &mut files,
        "0/object_attributes/score/present_mask",
        vec![1, 0, 1],
    );
    put(
        &mut files,
        "parametric/names/data",
        b"p0\nsphere_1".to_vec(),
    );
    let files: Vec<_> = files
        .iter()
        .map(|(key, bytes)| (key.as_str(), bytes.clone()))
        .collect();
    Home::made(&files)
}

/// The dump of a blob, as lines with single blanks.
fn shown(home: &Home, path: &[&str]) -> Result<String> {
    let mut args = vec!["inspect", STORE];
    args.extend(path);
    let text = home.text(&args)?;
    let squeeze = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(text.lines().map(squeeze).collect::<Vec<_>>().join("\n"))
}

#[test]
fn every_blob_is_explained_with_what_was_put_in() -> Result<()> {
    let home = small()?;
    let cases: [(&[&str], &[&str]); 17] = [
        (
            &["0/vertices/-1.0"],
            &[
                "chunk -1.0",
                "x = -1.5, y = 2.0",
                "x = -3.0, y = 4.0",
                "= 2 rows",
            ],
        ),
        (&["0/vertices", "-1.0"], &["x = -1.5, y = 2.0"]),
        (
            &["0/vertices/0.0"],
            &[
                "stored none: the blob is 16 zero bytes",
                "x = 0.0, y = 0.0",
                "= 2 rows",
            ],
        ),
        (
            &["0/vertices/5.5"],
            &["stored none: the blob is empty", "= 0 rows"],
        ),
        (
            &["0/vertices/__shard_000007"],
            &["1.0 8 bytes at 0", "2.0 16 bytes at 8", "= 2 packed chunks"],
        ),
        (
            &["0/vertices/__shard_000007", "2.0"],
            &["x = 21.0, y = 2.0", "x = 22.0, y = 3.0"],
        ),
        (
            &["0/vertices/1.0"],
            &[
                "0/vertices/__shard_000007",
                "1.0 8 bytes at 0 decoded below",
                "x = 11.0, y = 1.0",
            ],
        ),
        (
            &["0/vertex_attributes/normal/-1.0"],
            &["3 x float32 a row", "1.0, 2.0, 3.0", "4.0, 5.0, 6.0"],
        ),
        (
            &["0/cross_chunk_links/+1/data"],
            &[
                "record 0, endpoint 0: row 7 of chunk 2.0 of level 0",
                "record 0, endpoint 1: row 3 of chunk 1.0 of level 1",
                "record 1, endpoint 0: row 1 of chunk -1.0 of level 0",
                "= 2 records",
            ],
        ),
        (
            &["1/cross_chunk_links/+1/1.1.2.3"],
            &[
                "Lehmer code: the columns are endpoints 1, 0 of the record",
                "record 0, endpoint 1: row 3 of chunk 1.1 of level 2",
                "record 0, endpoint 0: row 7 of chunk 2.3 of level 1",
            ],
        ),
        (
            &["0/object_index/data"],
            &[
                "fragment 5 of chunk 1.0",
                "fragments 6..8 of chunk 2.0",
                "= 3 manifests",
            ],
        ),
        (&["0/object_index", "2"], &["fragments 6..8 of chunk 2.0"]),
        (
            &["0/object_index/offsets"],
            &["row 1 begins here; row 0 has 29 bytes", "= 3 offsets"],
        ),
        (
            &["0/groups/data"],
            &[
                "group 0",
                "member 0 40",
                "group 2",
                "member 2 41",
                "= 3 objects",
            ],
        ),
        (
            &["0/object_attributes/score", "2"],
            &["2 x float32 a row", "row 2 3.0, 4.0"],
        ),
        (
            &["0/object_attributes/score/present_mask"],
            &["row 1 0 absent", "= 2 of 3 rows have a value"],
        ),
        (
            &["parametric/names/data"],
            &["\"p0\"", "\"sphere_1\"", "= 2 names"],
        ),
    ];
    for (path, says) in cases {
        let text = shown(&home, path)?;
        for words in says {
            assert!(text.contains(words), "{path:?}: {words:?} in\n{text}");
        }
        let mut args = vec!["inspect", STORE, "--json"];
        args.extend(path);
        assert!(home.json(&args)?["error"].is_null(), "{path:?}");
    }
    // Row 2 of the groups is only the third group.
    let text = shown(&home, &["0/groups", "2"])?;
    assert!(
        text.contains("member 2 41") && !text.contains("member 0"),
        "{text}"
    );
    let document = shown(&home, &["0/vertices/-1.0/zarr.json"])?;
    assert!(document.contains("uint8"), "{document}");
    Ok(())
}

#[test]
fn damage_of_blobs_is_malformed_and_wrong_names_are_usage() -> Result<()> {
    let home = small()?;
    let store = home.file(STORE);
    fs::write(store.join("0/vertices/-1.0/c/0"), [0; 15])?;
    let mut records = fs::read(store.join("0/cross_chunk_links/+1/data/c/0"))?;
    records[16] = 0xff;
    records[23] = 0xff;
    fs::write(store.join("0/cross_chunk_links/+1/data/c/0"), &records)?;
    fs::write(store.join("0/object_index/offsets/c/0"), ints(&[0, 28, 33]))?;
    let wrong = json!({ "shard_index": { "1.0": [0, 8], "2.0": [8, 17] } });
    fs::write(
        store.join("0/vertices/__shard_000007/zarr.json"),
        blob(24, &wrong),
    )?;
    for (path, code, says) in [
        (&["0/vertices/-1.0"][..], 4, "found 15 bytes, expected 16"),
        (
            &["0/cross_chunk_links/+1/data"],
            4,
            "row number of record 0",
        ),
        (&["0/object_index/data"], 4, "manifest of row 1"),
        (&["0/vertices/2.0"], 4, "found 17 bytes at 8"),
        (&["0/vertices/9.9"], 2, "nothing called"),
        (
            &["0/vertices", "9.9"],
            2,
            "no array \"0/vertices\" with \"9.9\"",
        ),
        (
            &["0/vertices/__shard_000007", "9.9"],
            2,
            "has no key \"9.9\"",
        ),
        (
            &["0/object_attributes/score/data", "x"],
            2,
            "expected a row number",
        ),
    ] {
        let mut args = vec!["inspect", STORE];
        args.extend(path);
        let ran = home.zvf(&args)?;
        assert_eq!(ran.code, code, "{path:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{path:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
    Ok(())
}

/// For the bundled blobs, the dump of positions has the numbers of the uncompressed file.
#[test]
fn bundled_blobs_show_the_bytes_of_their_files() -> Result<()> {
    for case in ["0.7/graph", "0.8/graph"] {
        let home = Home::new(case)?;
        let file = "store.zarrvectors/0/vertices/-1.-1.-1/c/0";
        let stored = fs::read(home.file(file))?;
        let (numbers, rest) = stored.as_chunks::<4>();
        assert!(rest.is_empty() && numbers.len() > 6);
        let numbers: Vec<f32> = numbers.iter().map(|n| f32::from_le_bytes(*n)).collect();
        let by_path = home.text(&["inspect", STORE, "0/vertices/-1.-1.-1"])?;
        let by_file = home.text(&["inspect", file])?;
        for row in numbers.chunks(3).take(12) {
            let line = format!("x = {:?}, y = {:?}, z = {:?}", row[0], row[1], row[2]);
            assert!(by_path.contains(&line), "{case}: {line}");
            assert!(by_file.contains(&line), "{case}: {line}");
        }
    }
    Ok(())
}

#[test]
fn dumps_of_bundled_blobs_are_as_blessed() -> Result<()> {
    let cases: [(&str, &str, &[&str]); 5] = [
        (
            "0.7/graph",
            "records",
            &["0/cross_chunk_links/0/data", "--rows", "2"],
        ),
        ("0.7/points_ids", "offsets", &["0/groups/offsets"]),
        ("0.7/points_ids", "groups", &["0/groups/data"]),
        (
            "0.8/mesh",
            "cell",
            &["0/cross_chunk_links/0/-1.-1.-2.-1.-1.-2.-1.0.-2"],
        ),
        (
            "0.8/graph",
            "blob-fragments",
            &["0/vertex_fragments", "-1.-1.-1"],
        ),
    ];
    for (case, name, path) in cases {
        let home = Home::new(case)?;
        let mut args = vec!["inspect", STORE];
        args.extend(path);
        blessed(&format!("inspect-{name}.txt"), &home.text(&args)?)?;
    }
    Ok(())
}

/// The records of a 0.7 store and the cells of a 0.8 store of the same graph name the same pairs of vertices.
#[test]
fn records_and_cells_name_the_same_vertices() -> Result<()> {
    let pairs = |document: &Value| -> Result<Vec<[String; 2]>> {
        let mut ends = Vec::new();
        for section in document["sections"].as_array().context("sections")? {
            for field in section["fields"].as_array().context("fields")? {
                let meaning = field["meaning"].as_str().unwrap_or_default();
                if let Some((head, place)) = meaning.split_once(": row ") {
                    ends.push((head.to_owned(), place.to_owned()));
                }
            }
        }
        ends.sort();
        Ok(ends
            .chunks_exact(2)
            .map(|pair| [pair[0].1.clone(), pair[1].1.clone()])
            .collect())
    };
    let old = Home::new("0.7/graph")?;
    let records = old.json(&[
        "inspect",
        STORE,
        "0/cross_chunk_links/0/data",
        "--rows",
        "9999",
        "--json",
    ])?;
    let new = Home::new("0.8/graph")?;
    let cell = "-1.-1.-1.-1.-1.0";
    let cell = new.json(&[
        "inspect",
        STORE,
        &format!("0/cross_chunk_links/0/{cell}"),
        "--json",
    ])?;
    let (records, cell) = (pairs(&records)?, pairs(&cell)?);
    assert_eq!((records.len(), cell.len()), (876, 2));
    for pair in &cell {
        assert!(records.contains(pair), "{pair:?}");
    }
    Ok(())
}
