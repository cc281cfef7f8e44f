//! Findings that a repair does not resolve, and the stated reasons.

use serde_json::json;
use zvf_store::Class;
use zvf_validate::repair::{RepairError, apply, plan};
use zvf_validate::{Check, Severity};

use super::support::{ADDRESS, Files, Memory, Outcome};

/// The reasons why findings of a check remain.
fn why(plan: &zvf_validate::repair::RepairPlan, title: &str) -> Vec<String> {
    let left = plan.left.iter();
    left.filter(|one| one.finding.check.info().title == title)
        .map(|one| one.why.clone())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cell_that_is_lost_stays_listed() -> Outcome {
    let mut files = Files::of("0.9/lines")?;
    let first = files
        .objects
        .keys()
        .find(|key| key.starts_with("0/vertices/c/"));
    let lost = first.ok_or("no cell")?.clone();
    files.objects.remove(&lost);
    let memory = Memory::with(&files).await?;
    let plan = plan(ADDRESS, &memory.options()).await?;
    // The fragments exist and manifests name them: without the key nothing would show that the vertices are lost.
    let changed: Vec<&str> = plan
        .changes
        .iter()
        .map(|one| one.pointer.as_str())
        .collect();
    assert!(
        !changed.contains(&"/attributes/nonempty_chunks"),
        "{changed:?}"
    );
    let reasons = why(&plan, "cell-empty");
    assert!(
        reasons.iter().any(|why| why.contains("stays listed")),
        "{reasons:?}"
    );
    Ok(())
}

/// Adversarial B1: the chunk has vertices and fragments, so its attribute was lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_cell_of_an_attribute_stays_an_error_until_the_loss_is_accepted() -> Outcome {
    for (case, array) in [
        ("0.9/graph", "0/vertex_attributes/r"),
        ("0.9/graph", "0/links/0/0.0.0"),
        ("0.9/graph", "0/link_attributes/weight/0/0.0.0"),
        ("0.9/points_bins", "0/vertices"),
        ("0.9/points_bins", "0/vertex_fragments"),
    ] {
        let mut files = Files::of(case)?;
        let cells = format!("{array}/c/");
        let lost = files.objects.keys().find(|key| key.starts_with(&cells));
        let lost = lost.ok_or("no cell")?.clone();
        files.objects.remove(&lost);
        let memory = Memory::with(&files).await?;
        let kept = plan(ADDRESS, &memory.options()).await?;
        assert!(kept.changes.is_empty(), "{array}: {:?}", kept.changes);
        assert!(!kept.after.is_clean(Severity::Error), "{array}");
        assert!(kept.given_up.is_empty(), "{array}");
        if array.contains("/vertex_attributes/") {
            let options = memory.options().with_accept_loss(true);
            let given_up = plan(ADDRESS, &options).await?;
            assert_eq!(given_up.given_up.len(), 1, "{array}");
            assert_eq!(given_up.given_up[0].place.path, array);
            assert!(given_up.after.is_clean(Severity::Error), "{array}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cell_that_does_not_fit_is_not_listed() -> Outcome {
    let mut files = Files::of("0.9/graph")?;
    // Another program left a cell of another length in a chunk that the attribute does not list.
    let key = "0/vertex_attributes/r/zarr.json";
    let keys = files.objects.keys().cloned().collect::<Vec<String>>();
    let object = keys
        .iter()
        .find(|key| key.starts_with("0/vertex_attributes/r/c/"));
    let object = object.ok_or("no cell")?.clone();
    let list = "/attributes/nonempty_chunks";
    files.plain(&object, |plain| {
        plain.clear();
        plain.extend([1, 0, 0, 0, 3, 0, 0, 0, 7, 7, 7]);
        Ok(())
    })?;
    let origin = files.document(key)?["attributes"]["chunk_grid_origin"].clone();
    let origin = origin.as_array().cloned().unwrap_or_default();
    let place = object
        .trim_start_matches("0/vertex_attributes/r/c/")
        .split('/');
    let chunk: Vec<String> = place
        .enumerate()
        .map(|(axis, part)| {
            let origin = origin.get(axis).and_then(serde_json::Value::as_i64);
            Ok((part.parse::<i64>()? + origin.unwrap_or(0)).to_string())
        })
        .collect::<Outcome<_>>()?;
    let place = chunk.join(".");
    files.list(key, list, |list| list.retain(|one| *one != json!(place)))?;
    let memory = Memory::with(&files).await?;
    let plan = plan(ADDRESS, &memory.options()).await?;
    assert!(plan.changes.is_empty(), "{:?}", plan.changes);
    assert_eq!(why(&plan, "cell-listed").len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_was_asked_for_changes() -> Outcome {
    let mut files = Files::of("0.9/graph")?;
    let count = "/attributes/zarr_vectors_level/vertex_count";
    files.set("0/zarr.json", count, json!(5))?;
    files.unset("zarr.json", "/attributes/ome")?;
    let memory = Memory::with(&files).await?;
    let options = memory.options().with_only([Check::VertexCount]);
    let plan = plan(ADDRESS, &options).await?;
    let changed: Vec<&str> = plan
        .changes
        .iter()
        .map(|one| one.pointer.as_str())
        .collect();
    assert_eq!(changed, [count]);
    assert_eq!(why(&plan, "ome-present"), ["its check was not selected"]);
    // The number of vertices of the graph, counted in its cells, which have three numbers of 4 bytes per vertex.
    let truth = zvf_testkit::truth("0.9/graph")?;
    assert_eq!(plan.changes[0].new, Some(json!(truth.positions.shape[0])));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn bounds_are_only_widened() -> Outcome {
    let mut files = Files::of("0.9/lines")?;
    let bounds = "/attributes/zarr_vectors/bounds";
    let corners = files
        .document("zarr.json")?
        .pointer(bounds)
        .cloned()
        .ok_or("")?;
    files.set("zarr.json", &format!("{bounds}/0/1"), json!(-1e6))?;
    files.set("zarr.json", &format!("{bounds}/1/0"), json!(0.5))?;
    let memory = Memory::with(&files).await?;
    let plan = plan(ADDRESS, &memory.options()).await?;
    apply(&plan, None, &memory.options()).await?;
    let root = memory.files().await?.document("zarr.json")?;
    let mended = root.pointer(bounds).ok_or("")?;
    assert_eq!(mended[0][1], json!(-1e6));
    let (right, found) = (corners[1][0].as_f64(), mended[1][0].as_f64());
    let (right, found) = right.zip(found).ok_or("no number")?;
    assert!(
        (right - found).abs() <= right.abs() * 1e-6,
        "{found} {right}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_put_into_documents_stays() -> Outcome {
    let mut files = Files::of("0.9/points_bins")?;
    files.set(
        "zarr.json",
        "/attributes/ome/mine",
        json!({"a": [1.1, null]}),
    )?;
    files.list("zarr.json", "/attributes/ome/nodes", |list| {
        list.clear();
        list.push(json!({"type": "image", "name": "other", "path": "i.zarr"}));
    })?;
    files.set("zarr.json", "/attributes/foreign", json!(0.1))?;
    let memory = Memory::with(&files).await?;
    let plan = plan(ADDRESS, &memory.options()).await?;
    apply(&plan, None, &memory.options()).await?;
    let root = memory.files().await?.document("zarr.json")?;
    let ome = &root["attributes"]["ome"];
    assert_eq!(ome["mine"], json!({"a": [1.1, null]}));
    assert_eq!(root["attributes"]["foreign"], json!(0.1));
    assert_eq!(
        ome["nodes"],
        json!([{"type": "zv:level", "name": "0"}, {"type": "zv:level", "name": "1"},
            {"type": "image", "name": "other", "path": "i.zarr"}])
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn older_stores_and_unfinished_ones_are_refused() -> Outcome {
    let memory =
        Memory::with(&Files::of("0.8/streamlines").or_else(|_| Files::of("0.8/lines"))?).await?;
    let refused = plan(ADDRESS, &memory.options()).await;
    let Err(error @ RepairError::Version { .. }) = refused else {
        return Err("an old version was not refused".into());
    };
    assert_eq!(error.class(), Class::Misuse);
    assert!(error.to_string().contains("zvf migrate"), "{error}");

    let memory = Memory::with(&Files::of("0.9/graph")?).await?;
    memory.put("zvf-unfinished.json", b"{}".to_vec()).await?;
    let refused = plan(ADDRESS, &memory.options()).await;
    let Err(error @ RepairError::Unfinished { .. }) = refused else {
        return Err("an unfinished store was not refused".into());
    };
    assert_eq!(error.class(), Class::Busy);
    assert!(error.to_string().contains("try again"), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_at_all_is_left_alone() -> Outcome {
    let mut files = Files::of("0.9/graph")?;
    files.objects.insert("zarr.json".to_owned(), b"{".to_vec());
    let memory = Memory::with(&files).await?;
    let plan = plan(ADDRESS, &memory.options()).await?;
    assert!(plan.changes.is_empty() && plan.documents.is_empty());
    assert_eq!(why(&plan, "store-opens").len(), 1);
    Ok(())
}

/// The planned changes as words: document and member.
fn changed(plan: &zvf_validate::repair::RepairPlan) -> Vec<String> {
    let changes = plan.changes.iter();
    changes
        .map(|one| format!("{}#{}", one.document, one.pointer))
        .collect()
}

/// Expects that a damage leaves the finding of a check, and that nothing is changed without accepting a loss.
async fn stays(files: &Files, title: &str) -> Outcome<Memory> {
    let memory = Memory::with(files).await?;
    let plan = plan(ADDRESS, &memory.options()).await?;
    assert!(plan.changes.is_empty(), "{title}: {:?}", plan.changes);
    let left = why(&plan, title);
    assert!(!left.is_empty(), "{title}: {:?}", plan.left);
    Ok(memory)
}

const NAMES: &str = "/attributes/group_names";
const GROUPS: &str = "0/groups/zarr.json";
const SCORE: &str = "0/object_attributes/score/zarr.json";

#[tokio::test(flavor = "multi_thread")]
async fn vertices_that_are_gone_with_their_keys_stay_counted() -> Outcome {
    let mut files = Files::of("0.9/points_bins")?;
    let list = "/attributes/nonempty_chunks";
    for array in ["1/vertices", "1/vertex_fragments"] {
        let key = format!("{array}/zarr.json");
        let document = files.document(&key)?;
        let origin: Vec<i64> = document["attributes"]["chunk_grid_origin"]
            .as_array()
            .map(|all| all.iter().filter_map(serde_json::Value::as_i64).collect())
            .unwrap_or_default();
        let chunk = document["attributes"]["nonempty_chunks"][0]
            .as_str()
            .ok_or("no key")?
            .to_owned();
        let at: Vec<String> = chunk
            .split('.')
            .enumerate()
            .map(|(axis, part)| {
                let origin = origin.get(axis).copied().unwrap_or(0);
                Ok((part.parse::<i64>()? - origin).to_string())
            })
            .collect::<Outcome<_>>()?;
        files.list(&key, list, |list| {
            list.remove(0);
        })?;
        let object = format!("{array}/c/{}", at.join("/"));
        files.objects.remove(&object).ok_or("no cell")?;
    }
    let memory = Memory::with(&files).await?;
    let kept = plan(ADDRESS, &memory.options()).await?;
    assert!(
        !changed(&kept)
            .iter()
            .any(|one| one.contains("vertex_count")),
        "{:?}",
        kept.changes
    );
    assert!(!why(&kept, "vertex-count").is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_are_not_given_up_without_a_third_number() -> Outcome {
    // A damaged shape: nothing but the number of groups tells that there is another one.
    let mut files = Files::of("0.9/points_ids")?;
    files.set(GROUPS, "/shape", json!([1]))?;
    let memory = stays(&files, "group-count").await?;
    let options = memory.options().with_accept_loss(true);
    let accepted = plan(ADDRESS, &options).await?;
    assert_eq!(
        changed(&accepted),
        ["0/groups/zarr.json#/attributes/num_groups"]
    );
    // A longer shape is no better witness.
    let mut files = Files::of("0.9/points_ids")?;
    files.set(GROUPS, "/shape", json!([9]))?;
    stays(&files, "group-count").await?;
    // Names for all groups of the shape decide.
    let mut files = Files::of("0.9/points_ids")?;
    files.set(GROUPS, NAMES, json!(["a", "b"]))?;
    files.set(GROUPS, "/attributes/num_groups", json!(1))?;
    let memory = Memory::with(&files).await?;
    let settled = plan(ADDRESS, &memory.options()).await?;
    assert_eq!(
        changed(&settled),
        ["0/groups/zarr.json#/attributes/num_groups"]
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_data_type_does_not_replace_the_right_one() -> Outcome {
    let specs = "/attributes/zarr_vectors/attribute_specs";
    for (dtype, fill, damaged) in [
        ("int64", json!(i64::MIN), "float64"),
        ("uint64", json!(0), "float64"),
        ("uint32", json!(u32::MAX), "float32"),
        ("float64", json!("NaN"), "float32"),
    ] {
        let mut files = Files::of("0.9/points_ids")?;
        files.unset("zarr.json", specs).ok();
        files.set(SCORE, "/attributes/dtype", json!(dtype))?;
        files.set(SCORE, "/fill_value", fill)?;
        files.set(SCORE, "/data_type", json!(damaged))?;
        let memory = Memory::with(&files).await?;
        let plan = plan(ADDRESS, &memory.options()).await?;
        assert!(plan.changes.is_empty(), "{dtype}: {:?}", plan.changes);
        assert!(!why(&plan, "typed-dtype").is_empty(), "{dtype}");
    }
    // The declaration of the root decides, whatever the fill value is.
    let mut files = Files::of("0.9/points_ids")?;
    files.set(
        "zarr.json",
        specs,
        json!({"object": {"score": {"dtype": "float32"}}}),
    )?;
    files.set(SCORE, "/attributes/dtype", json!("float64"))?;
    let memory = Memory::with(&files).await?;
    let settled = plan(ADDRESS, &memory.options()).await?;
    assert_eq!(changed(&settled), [format!("{SCORE}#/attributes/dtype")]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_shape_of_a_table_does_not_replace_the_stated_one() -> Outcome {
    let mut files = Files::of("0.9/points_ids")?;
    files.set(SCORE, "/shape", json!([3]))?;
    stays(&files, "typed-shape").await?;
    Ok(())
}

/// A smaller shape or another origin puts right keys outside the grid.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_grid_drops_no_keys() -> Outcome {
    for case in ["0.9/graph", "0.9/points_bins", "0.9/lines"] {
        let vertices = "0/vertices/zarr.json";
        let shape = Files::of(case)?.document(vertices)?["shape"].clone();
        let axes = shape.as_array().ok_or("no shape")?.len();
        let damages = [
            ("/shape", json!(vec![1; axes])),
            ("/shape", json!(vec![1; axes - 1])),
            ("/attributes/chunk_grid_origin", json!(vec![1; axes])),
        ];
        for (pointer, value) in damages {
            let mut files = Files::of(case)?;
            files.set(vertices, pointer, value.clone())?;
            let memory = Memory::with(&files).await?;
            let plan = plan(ADDRESS, &memory.options()).await?;
            assert!(
                plan.changes.is_empty(),
                "{case} {pointer} {value}: {:?}",
                plan.changes
            );
            assert!(
                !plan.after.is_clean(Severity::Error),
                "{case} {pointer} {value}"
            );
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn links_of_a_damaged_grid_keep_their_keys() -> Outcome {
    let mut files = Files::of("0.9/graph")?;
    let key = "0/links/0/0.0.0/zarr.json";
    files.set(key, "/shape", json!([1, 1, 1]))?;
    let memory = Memory::with(&files).await?;
    let plan = plan(ADDRESS, &memory.options()).await?;
    assert!(plan.changes.is_empty(), "{:?}", plan.changes);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn links_without_a_stated_number_keep_the_keys_of_lost_cells() -> Outcome {
    let mut files = Files::of("0.9/graph")?;
    let weights: Vec<String> = files
        .objects
        .keys()
        .filter(|key| key.starts_with("0/link_attributes"))
        .cloned()
        .collect();
    for key in weights {
        files.objects.remove(&key);
    }
    files.unset("0/links/0/zarr.json", "/attributes/num_links")?;
    files.unset("0/links/0/zarr.json", "/attributes/num_physical_records")?;
    let cell = files
        .objects
        .keys()
        .find(|key| key.starts_with("0/links/0/0.0.0/c/"))
        .cloned();
    files.objects.remove(&cell.ok_or("no cell")?);
    let memory = Memory::with(&files).await?;
    let plan = plan(ADDRESS, &memory.options()).await?;
    let lists = changed(&plan);
    assert!(
        !lists.iter().any(|one| one.contains("nonempty_chunks")),
        "{lists:?}"
    );
    assert!(!why(&plan, "cell-empty").is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_level_that_is_gone_stays_named() -> Outcome {
    let mut files = Files::of("0.9/points_bins")?;
    files.objects.retain(|key, _| !key.starts_with("1/"));
    let memory = Memory::with(&files).await?;
    let kept = plan(ADDRESS, &memory.options()).await?;
    let changes = changed(&kept);
    assert!(
        !changes.iter().any(|one| one.contains("datasets")),
        "{changes:?}"
    );
    assert!(
        !changes.iter().any(|one| one.contains("/ome")),
        "{changes:?}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn different_datasets_of_a_level_are_both_kept() -> Outcome {
    let mut files = Files::of("0.9/points_bins")?;
    let datasets = "/attributes/multiscales/0/datasets";
    files.set("zarr.json", &format!("{datasets}/1/path"), json!("0"))?;
    let memory = Memory::with(&files).await?;
    let plan = plan(ADDRESS, &memory.options()).await?;
    let changes = changed(&plan);
    assert!(
        !changes.iter().any(|one| one.contains("datasets")),
        "{changes:?}"
    );
    assert!(!why(&plan, "dataset-unique").is_empty());
    Ok(())
}

/// A lost manifest: the numbers of index and tables agree on fewer rows than objects are counted.
#[tokio::test(flavor = "multi_thread")]
async fn more_objects_than_rows_are_lowered_only_if_the_rows_are_certain() -> Outcome {
    let mut files = Files::of("0.9/points_ids")?;
    for table in ["manifests", "object_ids"] {
        let key = format!("0/object_index/{table}/zarr.json");
        files.set(&key, "/shape", json!([4]))?;
    }
    let attributes: Vec<String> = files
        .objects
        .keys()
        .filter(|key| key.starts_with("0/object_attributes"))
        .cloned()
        .collect();
    for key in attributes {
        files.objects.remove(&key);
    }
    let memory = Memory::with(&files).await?;
    let plan = plan(ADDRESS, &memory.options()).await?;
    let changes = changed(&plan);
    assert!(
        !changes.iter().any(|one| one.contains("num_")),
        "{changes:?}"
    );
    Ok(())
}

/// The claim that fragments tile is the only sign that a fragment is too short or too long.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_fragment_keeps_the_claim_and_warns_readers() -> Outcome {
    for step in [-1_i64, 1] {
        let mut files = Files::of("0.9/points_ids")?;
        let key = files.first("0/vertex_fragments", 24 + 2 * 16)?;
        files.plain(&key, |index| {
            // After the heads of chunk and index there are a bit for each fragment, and the ranges: start and count.
            let count = &mut index[8 + 24 + 8..][..8];
            let more = i64::from_le_bytes(<[u8; 8]>::try_from(&*count)?) + step;
            count.copy_from_slice(&more.to_le_bytes());
            Ok(())
        })?;
        let memory = stays(&files, "fragments-tile").await?;
        let options = memory.options().with_accept_loss(true);
        let accepted = plan(ADDRESS, &options).await?;
        let claim = "0/zarr.json#/attributes/zarr_vectors_level/fragments_tile";
        assert_eq!(changed(&accepted), [claim], "{step}");
        let open = memory.options().write.open;
        let store = zvf_store::Store::open_with(ADDRESS, open).await?;
        zvf_query::query(&store, zvf_query::Query::default())
            .await?
            .collect()
            .await?;
        let warned = store
            .warnings()
            .into_iter()
            .any(|one| one.contains("do not tile"));
        assert!(warned, "{step}: {:?}", store.warnings());
    }
    Ok(())
}

/// The folders of two attributes are swapped: with corrected names, no finding would show it.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_another_attribute_has_is_kept() -> Outcome {
    let mut files = Files::of("0.9/points_ids")?;
    for (name, other) in [("count", "intensity"), ("intensity", "count")] {
        let key = format!("0/vertex_attributes/{name}/zarr.json");
        files.set(&key, "/attributes/name", json!(other))?;
    }
    let memory = Memory::with(&files).await?;
    let plan = plan(ADDRESS, &memory.options()).await?;
    assert!(plan.changes.is_empty(), "{:?}", plan.changes);
    let reasons = why(&plan, "attribute-name");
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    let says = "their folders may be swapped";
    assert!(reasons.iter().all(|why| why.contains(says)), "{reasons:?}");
    Ok(())
}
