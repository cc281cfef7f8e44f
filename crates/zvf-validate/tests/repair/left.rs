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
    assert_eq!(why(&plan, "ome-present"), ["it was not requested"]);
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
