//! `zvf info`.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::run::{Home, STORE, blessed};

#[test]
fn text_and_documents_are_as_blessed() -> Result<()> {
    for case in ["real_skeleton", "points_4d_sharded", "points_ids", "graph"] {
        let home = Home::new(case)?;
        blessed(&format!("info-{case}.txt"), &home.text(&["info", STORE])?)?;
        blessed(
            &format!("info-{case}.json"),
            &home.text(&["info", STORE, "--json"])?,
        )?;
    }
    Ok(())
}

#[test]
fn small_chunks_and_many_files_are_hinted_at() -> Result<()> {
    let points = (0..1200).map(|at| format!("{at}.5,0.5,0.5\n"));
    let table = format!("x,y,z\n{}", points.collect::<String>());
    let home = Home::made(&[("../p.csv", table.into())])?;
    let import = |store: &str, more: &[&str]| {
        let line = ["import", "p.csv", store, "-q", "--chunk-shape"];
        home.text(&[&line[..], more].concat())
    };
    import("files.zv", &["1,1,1", "--shard-shape", "none"])?;
    import("shards.zv", &["1,1,1", "--shard-shape", "100,1,1"])?;
    import("few.zv", &["10,1,1", "--shard-shape", "none"])?;
    let hints = |store: &str| -> Result<Vec<String>> {
        let told = home.json(&["info", store, "--json"])?;
        let hints: Vec<String> = serde_json::from_value(told["hints"].clone())?;
        let text = home.text(&["info", store])?;
        let lines = text.lines().filter(|line| line.starts_with("hint "));
        assert_eq!(lines.count(), hints.len(), "{text}");
        assert!(hints.iter().all(|hint| text.contains(hint)), "{text}");
        Ok(hints)
    };
    let chunks = "1 200 chunks with 1 vertex each on average are small: `zvf doctor";
    let files = "1 200 chunks in files of their own: `zvf rechunk";
    let both = hints("files.zv")?;
    assert!(
        both.len() == 2 && both[0].starts_with(chunks) && both[1].starts_with(files),
        "{both:?}"
    );
    let one = hints("shards.zv")?;
    assert!(one.len() == 1 && one[0].starts_with(chunks), "{one:?}");
    assert_eq!(hints("few.zv")?, Vec::<String>::new());
    Ok(())
}

/// A store is listed completely only for sizes; names of link families take one listing each.
#[test]
fn a_store_is_listed_only_for_its_sizes() -> Result<()> {
    let home = Home::new("graph")?;
    let listed = |flags: &[&str]| -> Result<u64> {
        let trace = home.file("trace.ndjson");
        let trace = trace.to_str().context("a path")?;
        home.text(&[&["info", STORE, "--trace-io", trace][..], flags].concat())?;
        let text = std::fs::read_to_string(trace)?;
        let mut names = 0;
        for line in text.lines() {
            let request: Value = serde_json::from_str(line)?;
            if request["method"] == "LIST" {
                names += request["bytes"].as_u64().unwrap_or(0);
            }
        }
        Ok(names)
    };
    let (plain, sized) = (listed(&[])?, listed(&["--sizes"])?);
    assert!(
        plain < 200 && sized > plain + 400,
        "{plain} and {sized} names"
    );
    let text = home.text(&["info", STORE, "--sizes"])?;
    let level = text
        .lines()
        .find(|line| line.trim_start().starts_with("0 "));
    let level = level.context("no level")?;
    assert!(
        level.contains(" KiB ") && level.contains(" 628 "),
        "{level}"
    );
    Ok(())
}

/// The bundled stores that can be read, of every generation.
fn readable() -> Result<Vec<String>> {
    let mut cases = zvf_testkit::all_cases()?;
    cases.retain(|case| !case.starts_with("refused/"));
    Ok(cases)
}

/// A document of a bundled store, as it is in the archive.
fn document(case: &str, key: &str) -> Result<Value> {
    let files = zvf_testkit::files(case)?;
    let (_, bytes) = files
        .iter()
        .find(|(found, _)| found.as_str() == key)
        .context("no such file")?;
    Ok(serde_json::from_slice(bytes)?)
}

#[test]
fn counting_agrees_with_the_input() -> Result<()> {
    for case in readable()? {
        let home = Home::new(&case)?;
        let rows = zvf_testkit::truth(&case)?.positions.rows() as u64;
        let info = home.json(&["info", STORE, "--json", "--count", "--sizes", "-q"])?;
        let level = &info["levels"][0];
        let levels = level["complete_with"]
            .as_array()
            .context("complete_with")?
            .len();
        // The table of rows of these two cases has the vertices of both levels.
        let pyramid = ["0.7/pyramid", "0.8/pyramid_cells"].contains(&case.as_str());
        if levels == 0 && !pyramid {
            assert_eq!(level["vertices"], rows, "{case}");
        } else {
            // Additive levels together have the rows of the input.
            let all = info["levels"].as_array().context("levels")?;
            let all = all
                .iter()
                .take(if pyramid { usize::MAX } else { levels + 1 })
                .map(|level| level["vertices"].as_u64());
            assert_eq!(all.sum::<Option<u64>>(), Some(rows), "{case}");
        }
        assert_eq!(level["vertices_counted"], true);
        assert!(level["bytes"].as_u64() > Some(1000), "{case}");
        let root = document(&case, "zarr.json")?;
        assert_eq!(
            info["version"], root["attributes"]["zarr_vectors"]["zv_version"],
            "{case}"
        );
        assert_eq!(
            info["kind"].as_str(),
            Some(zvf_testkit::case(&case)?.kind.as_str()),
            "{case}"
        );
        if case.starts_with("0.9/") {
            assert_eq!(info["warnings"], json!([]), "{case}");
        }
    }
    Ok(())
}

/// The container of an array, by its path.
fn container<'i>(info: &'i Value, path: &str) -> Option<&'i str> {
    let levels = info["levels"].as_array()?;
    let arrays = levels.iter().flat_map(|level| level["arrays"].as_array());
    let array = arrays.flatten().find(|array| array["path"] == path)?;
    array["container"].as_str()
}

#[test]
fn containers_are_named() -> Result<()> {
    for (case, path, wanted) in [
        ("0.9/graph", "0/vertices", "grid"),
        ("0.9/points_4d_sharded", "0/vertices", "sharded grid"),
        ("0.6/points", "0/vertices", "blobs"),
        ("0.7/graph", "0/vertices", "blobs"),
        ("0.7/packed_points", "0/vertices", "blobs"),
        ("0.7/graph", "0/cross_chunk_links/0/data", "records"),
        ("0.8/graph", "0/vertices", "blobs"),
        ("0.8/graph", "0/cross_chunk_links/0", "blobs"),
        ("0.8/native_graph", "0/vertices", "sharded grid"),
        ("0.8/packed_graph", "0/cross_chunk_links/0", "packed"),
        ("padded/points", "0/vertices", "padded"),
        ("padded/mesh", "0/links/0", "padded"),
    ] {
        let info = Home::new(case)?.json(&["info", STORE, "--json", "-q"])?;
        assert_eq!(container(&info, path), Some(wanted), "{case}: {path}");
    }
    Ok(())
}

/// In older forms, every chunk with vertices is one file or entry of a bundled store.
#[test]
fn chunks_of_blob_groups_are_counted() -> Result<()> {
    for case in ["0.7/graph", "0.7/points_ids", "0.8/mesh", "0.8/streamlines"] {
        let prefix = "0/vertices/";
        let files = zvf_testkit::files(case)?;
        let nodes = files.iter().filter(|(key, _)| {
            key.strip_prefix(prefix)
                .is_some_and(|rest| rest.ends_with("/zarr.json"))
        });
        let info = Home::new(case)?.json(&["info", STORE, "--json"])?;
        assert_eq!(info["levels"][0]["chunks"], nodes.count() as u64, "{case}");
    }
    Ok(())
}

#[test]
fn refused_families_are_named_with_the_reason() -> Result<()> {
    let padded = Home::new("padded/graph")?.text(&["info", STORE, "-q"])?;
    assert!(padded.contains("not read: 0/cross_chunk_links"), "{padded}");
    for case in [
        "refused/k_dialect",
        "refused/leaf_dialect",
        "refused/two_forms",
    ] {
        let home = Home::new(case)?;
        let wanted = zvf_testkit::case(case)?;
        let info = home.json(&["info", STORE, "--json", "-q"])?;
        let refused = info["levels"][0]["refused"].as_array().context("refused")?;
        let paths: Vec<&Value> = refused.iter().map(|refused| &refused["path"]).collect();
        let document = wanted.document["refused"]
            .as_array()
            .context("no refusals in the case")?;
        assert_eq!(paths, document.iter().collect::<Vec<_>>(), "{case}");
        let text = home.text(&["info", STORE, "-q"])?;
        for word in &wanted.expect {
            assert!(text.contains(word.as_str()), "{case}: {word:?} in\n{text}");
        }
        assert!(
            text.contains("not read: 0/cross_chunk_links/0"),
            "{case}:\n{text}"
        );
    }
    Ok(())
}

#[test]
fn refinement_and_demands_are_shown() -> Result<()> {
    let home = Home::new("0.9.4/additive_graph")?;
    let info = home.json(&["info", STORE, "--json"])?;
    assert_eq!(info["levels"][0]["refinement"], "add");
    assert_eq!(info["levels"][0]["complete_with"], json!([1]));
    assert_eq!(info["levels"][1]["refinement"], "replace");
    assert_eq!(info["required_capabilities"], json!(["additive_levels"]));
    let text = home.text(&["info", STORE])?;
    assert!(
        text.contains("level 0: additive, complete with level 1"),
        "{text}"
    );
    let info = Home::new("0.9.4/dense_points")?.json(&["info", STORE, "--json"])?;
    let root = document("0.9.4/dense_points", "zarr.json")?;
    let stated = &root["attributes"]["zarr_vectors"]["manifest_layout"];
    assert_eq!(&info["manifest_layout"], stated);
    assert_eq!(
        info["levels"][0]["object_index"]["layout"],
        "dense_manifests_v1"
    );
    let info = Home::new("0.6/points")?.json(&["info", STORE, "--json", "-q"])?;
    assert_eq!(
        info["levels"][0]["object_index"]["layout"],
        "data and offsets"
    );
    Ok(())
}

#[test]
fn what_else_lies_in_a_store_is_shown() -> Result<()> {
    let case = "0.7/sides";
    let home = Home::new(case)?;
    let info = home.json(&["info", STORE, "--json", "-q"])?;
    let wanted = &zvf_testkit::case(case)?.document["sides"];
    assert_eq!(info["side"]["parametric"]["objects"], wanted["parametric"]);
    assert_eq!(info["headers"], wanted["headers"]);
    let kinds: Vec<&Value> = info["side"]["composite"]
        .as_array()
        .context("composite")?
        .iter()
        .map(|kind| &kind["kind"])
        .collect();
    assert_eq!(
        kinds,
        wanted["composite"]
            .as_array()
            .context("composite")?
            .iter()
            .collect::<Vec<_>>()
    );
    assert_eq!(info["side"]["unknown"], json!([]));
    let text = home.text(&["info", STORE, "-q"])?;
    for words in [
        "parametric   3 objects",
        "composite    level 0 also holds mesh",
        "header       trk: ",
    ] {
        assert!(text.contains(words), "{words:?} in\n{text}");
    }
    let packed = Home::new("0.7/packed_points")?.json(&["info", STORE, "--json", "-q"])?;
    let root = document("0.7/packed_points", "zarr.json")?;
    assert_eq!(
        packed["side"]["packing"]["layout"],
        root["attributes"]["shard_layout"]
    );
    assert_eq!(
        packed["side"]["packing"]["size"],
        root["attributes"]["shard_size"]
    );
    Ok(())
}

#[test]
fn a_file_url_is_a_store_too() -> Result<()> {
    let home = Home::new("graph")?;
    let url = format!("file://{}", home.file(STORE).display());
    let text = home.text(&["info", &url])?;
    assert_eq!(text.replace(&url, STORE), home.text(&["info", STORE])?);
    Ok(())
}
