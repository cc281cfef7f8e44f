//! Parts that no store can have, parts that were begun again, and commits that are repeated.

use std::collections::BTreeMap;

use zvf_write::{
    AttributeSpec, Batch, Class, Groups, Kind, NumberType, ObjectTable, Outside, PartOptions,
    PartStart, PartedStore, StoreSpec, Values, WriteError, WriteOptions,
};

use crate::parted::{NAMES, numbers, points, spec, with_a_part};
use crate::support::{ADDRESS, Memory};

/// One part of chains: vertices side by side at the left of its chunks, with these objects.
async fn chain(
    store: &PartedStore,
    name: &str,
    options: PartOptions,
    (objects, tables): (&[i64], &[ObjectTable]),
) -> Result<(), WriteError> {
    let PartStart::Writer(mut writer) = store.part(name, options).await? else {
        panic!("{name} is finished");
    };
    let at = NAMES.iter().position(|known| *known == name).unwrap();
    let positions: Vec<f64> = (0..objects.len())
        .flat_map(|n| [at as f64 * 30.0 + n as f64, 1.0])
        .collect();
    for table in tables {
        writer.push_objects(table)?;
    }
    let batch = Batch::new(positions)
        .with_object_ids(objects.to_vec())
        .with_attribute("n", vec![0; objects.len()]);
    writer.push(&batch)?;
    writer.finish().await.map(drop)
}

#[tokio::test]
async fn a_part_that_no_store_can_have_is_refused_when_it_is_written() {
    let (new, no_table) = (PartOptions::new, &[][..]);
    for (kind, objects, says) in [
        (
            Kind::Polyline,
            &[1, 2, 1, 2][..],
            "object 1: found vertices of others between its own",
        ),
        (
            Kind::Line,
            &[5, 5, 5, 5],
            "line 5: found 4 vertices, expected 2",
        ),
    ] {
        let memory = Memory::default();
        let store = PartedStore::begin(ADDRESS, spec(kind), memory.options())
            .await
            .unwrap();
        chain(&store, "left", new(), (&[7, 7], no_table))
            .await
            .unwrap();
        let before = memory.files().await;
        let told = chain(&store, "middle", new(), (objects, no_table)).await;
        let told = told.unwrap_err();
        assert_eq!(told.class(), Class::Misuse);
        assert!(told.to_string().contains(says), "{told}");
        let table = ObjectTable::new(vec![9]).with_attribute("name", Values::texts(["nine\0"]));
        let told = chain(&store, "middle", new(), (&[9, 9], &[table])).await;
        let told = told.unwrap_err().to_string();
        assert!(told.contains("texts that do not end with NUL"), "{told}");
        assert_eq!(memory.files().await, before, "nothing of them is left");
        chain(&store, "middle", new(), (&[1, 1], no_table))
            .await
            .unwrap();
        let done = store.commit(&Groups::default()).await.unwrap();
        assert_eq!(done.parts, ["left", "middle"]);
        assert_eq!(done.summary.unwrap().vertices, 4);
        memory.check_sound().await;
    }
}

#[tokio::test]
async fn after_a_refused_commit_parts_can_be_added_and_replaced() {
    let memory = Memory::default();
    let spec = || {
        let rank = AttributeSpec::number("rank", NumberType::Bool);
        StoreSpec::new(Kind::Streamline, [10.0; 2])
            .with_bounds([0.0; 2], [89.0, 30.0], Outside::Refuse)
            .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32))
            .with_object_attribute(rank)
    };
    PartedStore::begin(ADDRESS, spec(), memory.options())
        .await
        .unwrap();
    let join = async || {
        let joined = PartedStore::join(ADDRESS, spec(), memory.options()).await;
        joined.unwrap()
    };
    let rank = |object: i64, rank: bool| {
        let ranks = Values::from(vec![rank]);
        [ObjectTable::new(vec![object]).with_attribute("rank", ranks)]
    };
    let (new, redo) = (PartOptions::new(), PartOptions::new().with_redo(true));
    // The object 9 of another part has no value, which booleans cannot express.
    let store = join().await;
    chain(&store, "left", new.clone(), (&[7, 7], &rank(7, true)))
        .await
        .unwrap();
    chain(&store, "middle", new.clone(), (&[9, 9], &[]))
        .await
        .unwrap();
    let told = join().await.commit(&Groups::default()).await;
    let told = told.unwrap_err().to_string();
    assert!(
        told.contains("object attribute rank: found objects without a value"),
        "{told}"
    );
    chain(&store, "middle", redo, (&[9, 9], &rank(9, false)))
        .await
        .unwrap();
    // The object 100 of a group is in a part that is not written yet.
    let groups = Groups::new(vec![vec![7, 100]]).with_names(["both"]);
    let told = join().await.commit(&groups).await.unwrap_err().to_string();
    assert!(told.contains("group 0: found object 100"), "{told}");
    // Nor is any part decided by attributes of groups that cannot be stored.
    let bad = Groups::new(vec![vec![7]]).with_attribute("word", Values::texts(["seven\0"]));
    let told = join().await.commit(&bad).await.unwrap_err().to_string();
    assert!(
        told.contains("group attribute word") && told.contains("NUL"),
        "{told}"
    );
    let status = PartedStore::status(ADDRESS, &memory.options()).await;
    let status = status.unwrap().unwrap();
    assert_eq!(status.stage, zvf_write::PartsStage::Begun);
    chain(&store, "right", new, (&[100, 100], &rank(100, true)))
        .await
        .unwrap();
    let done = store.commit(&groups).await.unwrap();
    assert_eq!(done.parts, ["left", "middle", "right"]);
    assert_eq!(done.summary.unwrap().vertices, 6);
    memory.check_clean().await;
}

#[tokio::test]
async fn a_part_that_lost_a_cell_is_written_again() {
    let memory = Memory::default();
    let store = with_a_part(&memory).await;
    let files = memory.files().await;
    let of_cells = |key: &&String| key.contains("work/left-") && key.contains("/0/vertices/");
    let lost = files.keys().find(of_cells).unwrap();
    memory.remove(lost).await;
    let again = PartedStore::join(ADDRESS, spec(Kind::PointCloud), memory.options()).await;
    let told = again.unwrap().commit(&Groups::default()).await;
    let told = told.unwrap_err().to_string();
    assert!(
        told.contains("of part left") && told.contains("--redo"),
        "{told}"
    );
    let redo = PartOptions::new().with_redo(true);
    assert!(points(&store, "left", redo, 2).await.unwrap());
    store.commit(&Groups::default()).await.unwrap();
    assert_eq!(numbers(&memory).await, BTreeMap::from([(2, 24)]));
    memory.check_clean().await;
}

#[tokio::test]
async fn a_part_that_was_begun_again_is_not_finished() {
    let redo = || PartOptions::new().with_redo(true);
    for allowed in [false, true] {
        let memory = Memory::default();
        let store = with_a_part(&memory).await;
        // A program that is killed drops its writer. The first one of a part that another program finishes does not matter any more.
        drop(store.part("middle", PartOptions::new()).await.unwrap());
        assert!(
            points(&store, "middle", PartOptions::new(), 2)
                .await
                .unwrap()
        );
        drop(store.part("left", redo()).await.unwrap());
        let status = PartedStore::status(ADDRESS, &memory.options()).await;
        let status = status.unwrap().unwrap();
        let begun: Vec<usize> = status.parts.iter().map(|part| part.begun.len()).collect();
        assert_eq!(begun, [1, 0]);
        let join = || PartedStore::join(ADDRESS, spec(Kind::PointCloud), memory.options());
        let told = join().await.unwrap().commit(&Groups::default()).await;
        let told = told.unwrap_err().to_string();
        assert!(
            told.contains("1 finished; begun again and not finished: left,")
                && told.contains("--allow-missing"),
            "{told}"
        );
        let (done, left) = if allowed {
            let done = store.commit_with(&Groups::default(), true).await.unwrap();
            assert_eq!(done.begun_again, ["left"]);
            (done, 1)
        } else {
            assert!(points(&store, "left", redo(), 3).await.unwrap());
            let done = store.commit(&Groups::default()).await.unwrap();
            assert!(done.begun_again.is_empty());
            (done, 3)
        };
        assert_eq!(done.parts, ["left", "middle"]);
        assert!(done.absent.is_empty());
        let numbers = numbers(&memory).await;
        assert_eq!(numbers, BTreeMap::from([(left, 24), (2, 24)]));
        memory.check_clean().await;
    }
}

/// A temporary file of a commit that was killed does not stay in the store that the next one completes.
#[tokio::test]
async fn a_repeated_commit_removes_temporary_files() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("s.zv");
    let address = place.to_str().unwrap();
    let options = || WriteOptions::new().with_durable(false);
    let spec = || spec(Kind::PointCloud);
    let store = PartedStore::begin(address, spec(), options())
        .await
        .unwrap();
    points(&store, "left", PartOptions::new(), 1).await.unwrap();
    // A file in the place of the level's folder: the commit fails after its decision.
    std::fs::write(place.join("0"), "").unwrap();
    store.commit(&Groups::default()).await.unwrap_err();
    let status = PartedStore::status(address, &options()).await.unwrap();
    assert_eq!(status.unwrap().stage, zvf_write::PartsStage::Committing);
    std::fs::remove_file(place.join("0")).unwrap();
    let left = place.join("0/vertices/c/.zvf-0000000000000001-3");
    std::fs::create_dir_all(left.parent().unwrap()).unwrap();
    std::fs::write(&left, "half a cell").unwrap();
    let again = PartedStore::join(address, spec(), options()).await.unwrap();
    let done = again.commit(&Groups::default()).await.unwrap();
    assert_eq!(done.summary.unwrap().vertices, 24);
    assert!(!left.exists());
}
