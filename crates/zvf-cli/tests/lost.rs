//! Changes of stores in which something is lost.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::run::{Home, STORE, files};

/// `a.zv`: lines of ten points with an attribute; and rows to append, `more.csv`.
pub(crate) fn lines() -> Result<Home> {
    let mut text = "x,y,z,o,v\n".to_owned();
    for row in 0..120 {
        text += &format!("{row},{},{},{},{}.5\n", row % 7, row % 3, row / 10, row);
    }
    let more = "object_id,x,y,z,v\n500,1,1,1,7\n500,2,2,2,8\n";
    let home = Home::made(&[
        ("../lines.csv", text.into_bytes()),
        ("../more.csv", more.into()),
    ])?;
    home.text(&[
        "import",
        "lines.csv",
        "a.zv",
        "--kind",
        "polyline",
        "--object-column",
        "o",
        "--chunk-shape",
        "20,20,20",
    ])?;
    Ok(home)
}

/// Checks that no command changes the store, and that each error has the reason and the name of the store.
pub(crate) fn refused(home: &Home, commands: &[&[&str]], says: &str) -> Result<()> {
    let before = files(&home.file("a.zv"))?;
    for command in commands {
        let ran = home.zvf(command)?;
        ensure!(ran.code == 4, "{command:?}: {} {}", ran.code, ran.stderr);
        ensure!(ran.stderr.contains(says), "{command:?}: {}", ran.stderr);
        ensure!(ran.stderr.contains("a.zv: "), "{command:?}: {}", ran.stderr);
        ensure!(files(&home.file("a.zv"))? == before, "{command:?}");
    }
    Ok(())
}

pub(crate) const CHANGES: &[&[&str]] = &[
    &["edit", "a.zv", "delete", "1"],
    &["edit", "a.zv", "append", "more.csv"],
    &["append", "a.zv", "more.csv"],
    &["vacuum", "a.zv"],
    &["pyramid", "a.zv", "--factors", "2"],
    &["rechunk", "a.zv", "b.zv", "--chunk-shape", "40,40,40"],
];

#[test]
fn a_level_that_lost_an_attribute_is_not_changed() -> Result<()> {
    let home = lines()?;
    let attribute = home.file("a.zv/0/vertex_attributes/v");
    let (document, aside) = (attribute.join("zarr.json"), home.file("aside"));
    std::fs::rename(&document, &aside)?;
    refused(&home, CHANGES, "0/vertex_attributes/v")?;
    std::fs::rename(&aside, &document)?;

    std::fs::rename(&attribute, &aside)?;
    refused(&home, CHANGES, "named by attribute_specs")?;
    let ran = home.zvf(&["query", "a.zv"])?;
    ensure!(
        ran.stderr.contains("0/vertex_attributes/v"),
        "{}",
        ran.stderr
    );
    ensure!(home.zvf(&["validate", "a.zv"])?.code == 1);
    std::fs::rename(&aside, &attribute)?;
    // With the complete store, the edit works, and no unfinished edit remains.
    home.text(&["edit", "a.zv", "delete", "1"])?;
    home.text(&["validate", "a.zv", "--level", "5"])?;
    Ok(())
}

/// Sets a member of a document, which may not exist yet.
pub(crate) fn set(path: &Path, pointer: &str, value: Value) -> Result<()> {
    let mut document: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let (parent, name) = pointer.rsplit_once('/').context("no pointer")?;
    match document.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.insert(name.to_owned(), value);
        }
        Some(Value::Array(elements)) => {
            *elements
                .get_mut(name.parse::<usize>()?)
                .context("no element")? = value;
        }
        _ => bail!("{}: no {parent}", path.display()),
    }
    Ok(std::fs::write(path, document.to_string())?)
}

#[test]
fn a_vacuum_keeps_cells_that_a_damaged_list_lacks() -> Result<()> {
    let home = lines()?;
    let path = home.file("a.zv/0/vertex_attributes/v/zarr.json");
    set(&path, "/attributes/nonempty_chunks", json!([]))?;
    refused(&home, &[&["vacuum", "a.zv"]], "nonempty_chunks")
}

/// Writers that race lose entries of the lists; manifests still name the chunk.
#[test]
fn chunks_that_lists_lost_are_neither_removed_nor_written_over() -> Result<()> {
    for all in [false, true] {
        let home = lines()?;
        let arrays = ["vertices", "vertex_fragments", "vertex_attributes/v"];
        for array in arrays.iter().take(if all { 3 } else { 1 }) {
            let path = home.file(&format!("a.zv/0/{array}/zarr.json"));
            let left = json!(["1.0.0", "2.0.0", "3.0.0", "4.0.0", "5.0.0"]);
            set(&path, "/attributes/nonempty_chunks", left)?;
        }
        let commands: &[&[&str]] = &[&["vacuum", "a.zv"], &["append", "a.zv", "more.csv"]];
        refused(&home, commands, "`zvf repair` restores the list")?;
        home.text(&["repair", "a.zv", "--apply"])?;
        home.text(&["append", "a.zv", "more.csv"])?;
        home.validates("a.zv")?;
        let info = home.json(&["info", "a.zv", "--json"])?;
        ensure!(info["levels"][0]["vertices"] == 122, "{info}");
    }
    Ok(())
}

/// The folders of one folder.
pub(crate) fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[test]
fn lost_links_are_warned_of_and_not_copied() -> Result<()> {
    let home = Home::to_damage("graph")?;
    let level = home.file(STORE).join("0");
    let arrays = folders(&level.join("links/0"))?;
    ensure!(arrays.len() > 1, "{arrays:?}");
    let lost = arrays.first().context("an array of links")?;
    let offsets = lost.file_name().context("a name")?;
    std::fs::remove_dir_all(lost)?;
    for attribute in folders(&level.join("link_attributes"))? {
        std::fs::remove_dir_all(attribute.join("0").join(offsets))?;
    }
    for command in [&["query", STORE][..], &["links", STORE]] {
        let ran = home.zvf(command)?;
        ensure!(ran.code == 0, "{command:?}: {} {}", ran.code, ran.stderr);
        ensure!(
            ran.stderr.contains("0/links/0: num_links is"),
            "{command:?}: {}",
            ran.stderr
        );
    }
    for command in [
        &["rechunk", STORE, "b.zv", "--chunk-shape", "40,40,40"][..],
        &["rechunk", STORE, "b.zv", "--codec", "zstd"],
    ] {
        let ran = home.zvf(command)?;
        ensure!(ran.code == 4, "{command:?}: {} {}", ran.code, ran.stderr);
        ensure!(ran.stderr.contains("num_links"), "{}", ran.stderr);
    }
    ensure!(home.zvf(&["validate", STORE])?.code == 1);
    let ran = home.zvf(&["repair", STORE, "--apply"])?;
    ensure!(ran.code == 1, "{} {}", ran.code, ran.stderr);
    ensure!(home.zvf(&["validate", STORE])?.code == 1);
    home.text(&["repair", STORE, "--apply", "--accept-loss"])?;
    home.text(&["validate", STORE])?;
    Ok(())
}

#[test]
fn a_level_without_fragments_is_no_valid_one() -> Result<()> {
    let home = lines()?;
    std::fs::remove_dir_all(home.file("a.zv/0/vertex_fragments"))?;
    ensure!(home.zvf(&["validate", "a.zv"])?.code == 1);
    Ok(())
}

#[test]
fn a_large_chunk_that_takes_more_than_the_budget_is_noted() -> Result<()> {
    let home = lines()?;
    let rechunk = |out: &str, budget: &str| {
        let shape = ["--chunk-shape", "400,400,400", "--memory-budget", budget];
        home.zvf(&[&["rechunk", "a.zv", out][..], &shape].concat())
    };
    let ran = rechunk("b.zv", "8K")?;
    ensure!(ran.code == 0, "{} {}", ran.code, ran.stderr);
    let said = [ran.stderr, String::from_utf8(ran.stdout)?].concat();
    ensure!(said.contains("more than the budget"), "{said}");
    let ran = rechunk("c.zv", "64M")?;
    let said = [ran.stderr, String::from_utf8(ran.stdout)?].concat();
    ensure!(!said.contains("more than the budget"), "{said}");
    Ok(())
}

#[test]
fn a_level_with_another_number_of_vertices_is_warned_of() -> Result<()> {
    let home = lines()?;
    let document = home.file("a.zv/0/zarr.json");
    let count = "/attributes/zarr_vectors_level/vertex_count";
    for (stated, lost) in [(121, true), (119, false)] {
        set(&document, count, json!(stated))?;
        let ran = home.zvf(&["query", "a.zv"])?;
        let says = format!("vertex_count is {stated}, but 120 vertices were read");
        ensure!(ran.stderr.contains(&says), "{}", ran.stderr);
        ensure!(ran.stderr.contains("are lost") == lost, "{}", ran.stderr);
        // A selection of a level may have any number of rows.
        let ran = home.zvf(&["query", "a.zv", "--limit", "7"])?;
        ensure!(!ran.stderr.contains("vertex_count"), "{}", ran.stderr);
    }
    for sound in [0, 120] {
        set(&document, count, json!(sound))?;
        let ran = home.zvf(&["query", "a.zv"])?;
        ensure!(!ran.stderr.contains("vertex_count"), "{}", ran.stderr);
    }
    Ok(())
}

#[test]
fn an_edit_keeps_a_vertex_count_of_0_beside_vertices() -> Result<()> {
    let home = lines()?;
    let document = home.file("a.zv/0/zarr.json");
    let count = "/attributes/zarr_vectors_level/vertex_count";
    set(&document, count, json!(0))?;
    home.text(&["append", "a.zv", "more.csv"])?;
    home.text(&["edit", "a.zv", "delete", "1"])?;
    let stated = |at: &Path| -> Result<Option<u64>> {
        let document: Value = serde_json::from_slice(&std::fs::read(at)?)?;
        Ok(document.pointer(count).and_then(Value::as_u64))
    };
    ensure!(stated(&document)? == Some(0));
    let ran = home.zvf(&["query", "a.zv"])?;
    ensure!(!ran.stderr.contains("vertex_count"), "{}", ran.stderr);
    // A count that is too small is not trusted.
    set(&document, count, json!(3))?;
    refused(&home, &[&["edit", "a.zv", "delete", "2"]], "vertex_count 3")?;

    // If everything on a level was deleted, the level is counted, and its 0 is correct.
    set(&document, count, json!(112))?;
    let ids: Vec<String> = (0..12)
        .filter(|id| *id != 1)
        .map(|id| id.to_string())
        .collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    home.text(&[&["edit", "a.zv", "delete", "500"][..], &ids].concat())?;
    ensure!(stated(&document)? == Some(0));
    home.text(&["append", "a.zv", "more.csv"])?;
    ensure!(stated(&document)? == Some(2));
    Ok(())
}

#[test]
fn an_edit_refuses_a_level_that_counts_fewer_links_than_it_takes_away() -> Result<()> {
    let home = Home::to_damage("graph")?;
    let family = home.file(STORE).join("0/links/0/zarr.json");
    set(&family, "/attributes/num_links", json!(0))?;
    let before = files(&home.file(STORE))?;
    let ran = home.zvf(&["edit", STORE, "delete", "0"])?;
    ensure!(ran.code == 4, "{} {}", ran.code, ran.stderr);
    ensure!(ran.stderr.contains("num_links 0"), "{}", ran.stderr);
    ensure!(files(&home.file(STORE))? == before);
    Ok(())
}

#[test]
fn a_pack_of_chunks_that_lost_some_is_told() -> Result<()> {
    const PACK: &str = "0/vertices/__shard_000000/zarr.json";
    let index = "/attributes/shard_index";
    let asks: [&[&str]; 2] = [&["query", STORE], &["validate", STORE]];
    let fewer = |home: &Home, keep: usize| -> Result<Value> {
        let document: Value = serde_json::from_slice(&std::fs::read(home.file(STORE).join(PACK))?)?;
        let keys = document.pointer(index).and_then(Value::as_object);
        let keys = keys.context("no index")?;
        Ok(Value::Object(keys.clone().into_iter().take(keep).collect()))
    };
    for keep in [0, 1] {
        let home = Home::to_damage("0.7/packed_points")?;
        set(&home.file(STORE).join(PACK), index, fewer(&home, keep)?)?;
        for command in asks {
            let ran = home.zvf(command)?;
            let said = [&ran.stderr, &*String::from_utf8_lossy(&ran.stdout)].concat();
            ensure!(ran.code != 0, "{keep} {command:?}: {said}");
            ensure!(said.contains("a chunk is lost"), "{command:?}: {said}");
        }
    }
    let home = Home::to_damage("0.7/packed_points")?;
    std::fs::remove_file(home.file(STORE).join(PACK))?;
    for command in asks {
        let ran = home.zvf(command)?;
        let said = [&ran.stderr, &*String::from_utf8_lossy(&ran.stdout)].concat();
        let told = ran.code == 1 || said.contains("__shard_000000/zarr.json is missing");
        ensure!(told, "{command:?}: {} {said}", ran.code);
    }
    Ok(())
}

#[test]
fn packed_cells_of_link_attributes_are_not_taken_for_lost() -> Result<()> {
    for case in ["0.7/graph", "0.8/graph", "0.8/packed_graph"] {
        let home = Home::to_damage(case)?;
        set(
            &home.file(STORE).join("zarr.json"),
            "/attributes/shard_layout",
            json!("octree"),
        )?;
        let ran = home.zvf(&["validate", STORE])?;
        let said = String::from_utf8(ran.stdout)?;
        ensure!(!said.contains("values are missing"), "{case}: {said}");
    }
    Ok(())
}

/// Removes a member of a document, or with an empty pointer the file.
fn remove(path: &Path, pointer: &str) -> Result<()> {
    if pointer.is_empty() {
        return Ok(std::fs::remove_file(path)?);
    }
    let mut document: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let (parent, name) = pointer.rsplit_once('/').context("no pointer")?;
    let parent = document.pointer_mut(parent).and_then(Value::as_object_mut);
    parent
        .and_then(|parent| parent.remove(name))
        .with_context(|| format!("no {pointer}"))?;
    Ok(std::fs::write(path, document.to_string())?)
}

#[test]
fn what_contradicts_itself_in_older_stores_is_told() -> Result<()> {
    let query = &["query", STORE][..];
    let links = &["links", STORE][..];
    let coarse = &["links", STORE, "--level", "1", "--delta", "-1"][..];
    let objects = &["objects", STORE][..];
    let group = &["query", STORE, "--groups", "0"][..];
    let validate = &["validate", STORE][..];
    let (list, chunk) = (
        "/attributes/nonempty_chunks",
        "/chunk_grid/configuration/chunk_shape",
    );
    let separator = "/chunk_key_encoding/configuration/separator";
    let mask = "/attributes/has_present_mask";
    let pair = "0/cross_chunk_link_attributes/pair/0/zarr.json";
    let score = "0/object_attributes/score/zarr.json";
    let data = "0/object_attributes/score/data/zarr.json";
    let manifests = "0/object_index/manifests/zarr.json";
    let index = "0/object_index/zarr.json";
    for (case, key, pointer, value, command, says) in [
        (
            "0.8/native_graph",
            pair,
            "/shape/2",
            Some(json!(0)),
            links,
            "outside the grid",
        ),
        (
            "0.8/native_graph",
            "0/links/0/zarr.json",
            list,
            Some(json!([])),
            links,
            "values are missing",
        ),
        (
            "0.7/graph_attributes",
            "0/link_attributes/pair/0/zarr.json",
            "",
            None,
            links,
            "values of links are null",
        ),
        (
            "0.8/graph_080",
            "0/link_attributes/weight/0/zarr.json",
            "",
            None,
            links,
            "values of links are null",
        ),
        (
            "0.8/sentinels",
            "0/object_attributes/a_int8/zarr.json",
            separator,
            Some(json!(".")),
            objects,
            "chunk_key_encoding",
        ),
        (
            "padded/streamlines",
            "0/groupings/zarr.json",
            separator,
            Some(json!(".")),
            validate,
            "chunk_key_encoding",
        ),
        (
            "padded/streamlines",
            "0/groupings/zarr.json",
            "/shape/1",
            Some(json!(1)),
            group,
            "values beyond the shape",
        ),
        (
            "0.7/real_skeleton",
            "1/links/-1/2.4.3/zarr.json",
            "/shape/0",
            Some(json!(1)),
            coarse,
            "one chunk of as many bytes",
        ),
        (
            "0.8/points_bins",
            "1/links/-1/zarr.json",
            "/attributes/link_width",
            Some(json!(1)),
            coarse,
            "expected 2 to 255",
        ),
        ("0.6/points", data, "", None, objects, "left out"),
        (
            "0.8/graph_080",
            score,
            mask,
            None,
            objects,
            "has_present_mask is missing",
        ),
        (
            "0.8/sentinels",
            "0/object_attributes/gone/zarr.json",
            "/attributes",
            Some(json!({})),
            validate,
            "no dtype",
        ),
        (
            "0.8/sentinels",
            "0/object_attributes/vector/zarr.json",
            "/shape/1",
            Some(json!(0)),
            objects,
            "rows of no elements",
        ),
        (
            "padded/mesh",
            "0/links/0/zarr.json",
            "/shape/1",
            Some(json!(0)),
            links,
            "are not chunks of an array",
        ),
        (
            "padded/mesh",
            "0/vertices/zarr.json",
            separator,
            Some(json!(".")),
            query,
            "are not chunks of an array",
        ),
        (
            "padded/zeros",
            "0/vertices/zarr.json",
            separator,
            Some(json!(".")),
            query,
            "chunk_key_encoding",
        ),
        (
            "padded/points",
            "0/vertices/zarr.json",
            chunk,
            Some(json!([3, 17, 1, 1, 1])),
            query,
            "one cell per chunk",
        ),
        (
            "padded/points_bare",
            "0/vertex_attributes/mass/zarr.json",
            chunk,
            Some(json!([14, 1, 1])),
            query,
            "one cell per chunk",
        ),
        (
            "0.8/native_mesh",
            "0/links/0/zarr.json",
            list,
            Some(json!([])),
            links,
            "links are lost",
        ),
        (
            "0.8/directed_graph",
            "0/link_attributes/weight/0/0.0.0/zarr.json",
            "",
            None,
            links,
            "some links have no values",
        ),
        (
            "0.9.4/dense_points",
            "0/object_index/object_ids/zarr.json",
            "/shape/0",
            Some(json!(0)),
            validate,
            "the ids of 5 are lost",
        ),
        (
            "padded/skeleton",
            "zarr.json",
            "/attributes/zarr_vectors/links_convention",
            Some(json!("explicitx")),
            query,
            "links_convention",
        ),
        (
            "0.7/forest",
            manifests,
            "/shape/0",
            Some(json!(1)),
            validate,
            "the number of manifests",
        ),
        (
            "0.8/directed_graph",
            index,
            "/attributes/num_objects",
            Some(json!(0)),
            validate,
            "the number of manifests",
        ),
    ] {
        let home = Home::to_damage(case)?;
        let sound = home.zvf(command)?;
        ensure!(sound.code == 0, "{case}: {}", sound.stderr);
        let said = [&sound.stderr, &*String::from_utf8_lossy(&sound.stdout)].concat();
        ensure!(!said.contains(says), "{case}: {said}");
        let path = home.file(STORE).join(key);
        match value {
            None => remove(&path, pointer)?,
            Some(value) => set(&path, pointer, value)?,
        }
        let ran = home.zvf(command)?;
        let said = [&ran.stderr, &*String::from_utf8_lossy(&ran.stdout)].concat();
        ensure!(
            said.contains(says),
            "{case} {key} {pointer}: {} {said}",
            ran.code
        );
        let counted = says == "the number of manifests";
        ensure!(!counted || ran.code == 1, "{case}: {}", ran.code);
    }
    Ok(())
}

#[test]
fn what_older_stores_lack_is_warned_of() -> Result<()> {
    let [list, dtype] = ["nonempty_chunks", "dtype"].map(|name| format!("/attributes/{name}"));
    let query = &["query", STORE][..];
    let coarse = &["links", STORE, "--level", "1", "--delta", "-1"][..];
    let gone = ("0/object_index/manifests/c/0", None);
    let cells = "0/cross_chunk_link_attributes/weight/0/zarr.json";
    let crossing = "0/cross_chunk_links/0/zarr.json";
    let links = "1/links/-1/zarr.json";
    let fewer = |case: &str, key: &str| -> Result<Value> {
        let home = Home::new(case)?;
        let document: Value = serde_json::from_slice(&std::fs::read(home.file(STORE).join(key))?)?;
        let cells = document.pointer(&list).and_then(Value::as_array);
        let cells = cells.with_context(|| format!("{case}: {key} without a list"))?;
        Ok(json!(cells.iter().skip(1).collect::<Vec<_>>()))
    };
    let shorter = fewer("0.8/native_graph", cells)?;
    let fewer_links = fewer("0.8/native_graph", crossing)?;
    for (case, (key, change), command, says) in [
        ("0.8/skeleton", gone, query, "have no vertices"),
        (
            "0.8/native_graph",
            (cells, Some((&list, shorter))),
            query,
            "values are missing",
        ),
        (
            "0.8/native_graph",
            (crossing, Some((&list, fewer_links))),
            query,
            "links are lost",
        ),
        (
            "0.8/points_bins",
            (links, Some((&dtype, json!("int32")))),
            coarse,
            "write only int64",
        ),
    ] {
        let sound = Home::new(case)?.zvf(command)?;
        ensure!(!sound.stderr.contains(says), "{case}: {}", sound.stderr);
        let home = Home::to_damage(case)?;
        let path = home.file(STORE).join(key);
        match change {
            None => std::fs::remove_file(&path)?,
            Some((pointer, value)) => set(&path, pointer, value)?,
        }
        let ran = home.zvf(command)?;
        ensure!(
            ran.stderr.contains(says),
            "{case} {key}: {} {}",
            ran.code,
            ran.stderr
        );
    }
    Ok(())
}

#[test]
fn an_older_store_with_too_high_a_number_of_links_is_copied_and_says_so() -> Result<()> {
    let home = Home::to_damage("0.8/native_graph")?;
    let family = home.file(STORE).join("0/cross_chunk_links/0/zarr.json");
    set(&family, "/attributes/num_links", json!(9000))?;
    let ran = home.zvf(&["migrate", "--to", "0.9.2", STORE, "new.zv"])?;
    ensure!(ran.code == 0, "{} {}", ran.code, ran.stderr);
    let said = [ran.stderr, String::from_utf8(ran.stdout)?].concat();
    ensure!(said.contains("num_links is 9000"), "{said}");
    home.text(&["validate", "new.zv"])?;
    Ok(())
}

#[test]
fn an_array_that_calls_itself_a_group_is_refused() -> Result<()> {
    let home = lines()?;
    let document = home.file("a.zv/0/vertex_attributes/v/zarr.json");
    set(&document, "/node_type", json!("group"))?;
    refused(&home, CHANGES, "node_type")?;
    let ran = home.zvf(&["query", "a.zv"])?;
    ensure!(ran.code == 4, "{} {}", ran.code, ran.stderr);
    ensure!(home.zvf(&["validate", "a.zv"])?.code == 1);
    Ok(())
}

#[test]
fn a_box_is_warned_of_where_documents_contradict_the_chunk_shape() -> Result<()> {
    let (root, level) = ("/attributes/zarr_vectors", "/attributes/zarr_vectors_level");
    let base = ["query", STORE, "--bbox"];
    for (case, key, pointer, value, bbox, at) in [
        (
            "0.6/points",
            "zarr.json",
            format!("{root}/chunk_shape/1"),
            json!(11.0),
            "-5,-4,0:9,10.9,9",
            "0",
        ),
        (
            "0.9/points_bins",
            "zarr.json",
            format!("{root}/chunk_shape/2"),
            json!(90.0),
            "0,0,0:30,30,30",
            "0",
        ),
        (
            "0.8/real_skeleton",
            "zarr.json",
            format!("{root}/chunk_shape/0"),
            json!(4400.0),
            "0,0,0:9000,9000,9000",
            "1",
        ),
        (
            "0.8/pyramid_cells",
            "1/zarr.json",
            format!("{level}/chunk_shape/1"),
            json!(25.0),
            "0,0,0:9,9,9",
            "1",
        ),
    ] {
        let home = Home::to_damage(case)?;
        let boxed = [&base[..], &[bbox, "--level", at]].concat();
        let sound = home.zvf(&boxed)?;
        ensure!(sound.code == 0, "{case}: {}", sound.stderr);
        ensure!(!sound.stderr.contains("chunk_shape"), "{}", sound.stderr);
        set(&home.file(STORE).join(key), &pointer, value)?;
        let says = format!("level {at}: chunk_shape is [");
        let ran = home.zvf(&boxed)?;
        ensure!(ran.stderr.contains(&says), "{case}: {}", ran.stderr);
        // No chunk shape is needed to read a whole level.
        let ran = home.zvf(&["query", STORE, "--level", at])?;
        ensure!(!ran.stderr.contains(&says), "{case}: {}", ran.stderr);
    }
    Ok(())
}

/// The messages of `zvf links` and `zvf validate` for a store, and the exit code of the latter.
fn told(home: &Home, store: &str) -> Result<(String, i32)> {
    let listed = home.zvf(&["links", store])?;
    ensure!(listed.code == 0, "{}", listed.stderr);
    let queried = home.zvf(&["query", store])?;
    let validated = home.zvf(&["validate", store])?;
    Ok(([listed.stderr, queried.stderr].concat(), validated.code))
}

#[test]
fn lost_values_of_links_are_warned_of() -> Result<()> {
    const SAYS: &str = "link attribute weight: some links have no values";
    let list = "/attributes/nonempty_chunks";
    for case in ["0.9/graph", "0.9.4/additive_graph"] {
        for whole in [false, true] {
            let home = Home::to_damage(case)?;
            let (said, code) = told(&home, STORE)?;
            ensure!(!said.contains(SAYS) && code == 0, "{case}: {code} {said}");
            let values = home.file(STORE).join("0/link_attributes/weight/0");
            let arrays = folders(&values)?;
            ensure!(arrays.len() > 1, "{case}: {arrays:?}");
            let array = arrays.last().context("an array of values")?;
            if whole {
                std::fs::remove_dir_all(array)?;
            } else {
                let path = array.join("zarr.json");
                let document: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
                let cells = document.pointer(list).and_then(Value::as_array);
                let rest: Vec<&Value> = cells.context("no list")?.iter().skip(1).collect();
                set(&path, list, json!(rest))?;
            }
            let (said, code) = told(&home, STORE)?;
            ensure!(said.matches(SAYS).count() == 2, "{case} {whole}: {said}");
            ensure!(code == 1, "{case} {whole}: {code}");
            let rechunk = ["rechunk", STORE, "b.zv", "--chunk-shape", "80,80,80"];
            let ran = home.zvf(&[&rechunk[..], &["--strict"]].concat())?;
            ensure!(ran.code == 4, "{case}: {} {}", ran.code, ran.stderr);
        }
    }
    Ok(())
}

#[test]
fn copies_state_that_links_without_values_are_meant() -> Result<()> {
    const SAYS: &str = "some links have no values";
    for case in ["0.7/graph", "0.8/graph"] {
        let home = Home::to_damage(case)?;
        home.text(&["migrate", "--to", "0.9.2", STORE, "new.zv"])?;
        // The copy can be copied again.
        let shape = ["--chunk-shape", "80,80,80"];
        home.text(&[&["rechunk", "new.zv", "again.zv"][..], &shape].concat())?;
        for copy in ["new.zv", "again.zv"] {
            let (said, code) = told(&home, copy)?;
            ensure!(
                !said.contains(SAYS) && code == 0,
                "{case} {copy}: {code} {said}"
            );
        }
        let mut stated = 0;
        for array in folders(&home.file("new.zv/0/link_attributes/weight/0"))? {
            remove(&array.join("zarr.json"), "/attributes/links_without_values")?;
            stated += 1;
        }
        ensure!(stated > 0, "{case}");
        let (said, code) = told(&home, "new.zv")?;
        ensure!(said.contains(SAYS) && code == 1, "{case}: {code} {said}");
    }
    // If every link has a value, there is no such statement.
    let home = Home::to_damage("0.9/graph")?;
    home.text(&["migrate", "--to", "0.9.2", STORE, "new.zv"])?;
    for array in folders(&home.file("new.zv/0/link_attributes/weight/0"))? {
        let document = std::fs::read_to_string(array.join("zarr.json"))?;
        ensure!(!document.contains("links_without_values"), "{document}");
    }
    Ok(())
}

#[test]
fn lost_values_of_links_between_chunks_are_warned_of_in_older_stores() -> Result<()> {
    const SAYS: &str = "0/cross_chunk_link_attributes/pair/0/zarr.json: the document is missing";
    let home = Home::to_damage("0.8/native_graph")?;
    let (said, code) = told(&home, STORE)?;
    ensure!(!said.contains(SAYS) && code == 0, "{code} {said}");
    let pair = home.file(STORE).join("0/cross_chunk_link_attributes/pair");
    std::fs::remove_file(pair.join("0/zarr.json"))?;
    let (said, _) = told(&home, STORE)?;
    ensure!(said.contains(SAYS), "{said}");
    Ok(())
}
