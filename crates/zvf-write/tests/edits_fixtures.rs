//! Edits of stores of the released writers: other content stays, and links between levels follow their vertices.

use std::collections::{BTreeMap, HashMap, HashSet};

use zvf_edit::{At, Edit};
use zvf_query::{Query, Select};
use zvf_store::{CellWant, Endpoint, Need, Store};
use zvf_write::{Kind, Values, WriteOptions};

use crate::support::{ask, column, sorted};

/// Every link between level 0 and another level: the position at level 0, and chunk and row at the other level.
async fn between(store: &Store) -> Vec<(Vec<u8>, String)> {
    let mut all = Vec::new();
    let ground = store.level(0, &Need::all()).await.unwrap();
    let mut positions = HashMap::new();
    for &number in store.levels() {
        let level = store.level(number, &Need::all()).await.unwrap();
        for family in level.link_families() {
            let first = number == 0 && family.delta() != 0;
            let others = number > 0 && i64::from(number) + i64::from(family.delta()) == 0;
            if !first && !others {
                continue;
            }
            for array in family.arrays() {
                for source in array.array.presence().iter() {
                    let want = vec![CellWant::new(&array.array, source)];
                    let cell = store.fetch(9, want).await.unwrap().remove(0).unwrap();
                    let mut ends = Vec::new();
                    array.endpoint_chunks(source, &mut ends).unwrap();
                    let ends: Vec<&[i64]> = ends.chunks(array.chunk_rank()).collect();
                    let cell = array.decode(source, &cell).unwrap();
                    let mut record = vec![Endpoint::default(); array.width()];
                    for at in 0..cell.len() {
                        assert!(cell.record(at, &mut record));
                        let (own, other) = if first { (0, 1) } else { (1, 0) };
                        let chunk = ends[record[own].which];
                        if !positions.contains_key(chunk) {
                            let want = vec![CellWant::new(ground.vertices(), chunk)];
                            let cell = store.fetch(9, want).await.unwrap().remove(0).unwrap();
                            positions.insert(chunk.to_vec(), cell);
                        }
                        let rows = &positions[chunk];
                        let size = ground.dims() * ground.vertices().dtype().size();
                        let row = usize::try_from(record[own].row).unwrap();
                        let end = record[other];
                        all.push((
                            rows[row * size..(row + 1) * size].to_vec(),
                            format!(
                                "{number} {:+} {:?} {}",
                                family.delta(),
                                ends[end.which],
                                end.row
                            ),
                        ));
                    }
                }
            }
        }
    }
    sorted(all)
}

/// The positions of each object, or of everything.
async fn objects(store: &Store) -> BTreeMap<String, Vec<String>> {
    let level = store.level(0, &Need::all()).await.unwrap();
    let Some(index) = level.object_index() else {
        let got = ask(store, Query::default()).await;
        return BTreeMap::from([("all".to_owned(), sorted(column(&got.vertices, "position")))]);
    };
    let mut all = BTreeMap::new();
    // Some of them are enough: each takes a query.
    for (_, id) in index.ids().await.unwrap().objects().take(40) {
        let asked = Query {
            objects: Some(vec![id]),
            select: Select::Objects,
            ..Query::default()
        };
        let got = ask(store, asked).await;
        all.insert(id.to_string(), column(&got.vertices, "position"));
    }
    all
}

#[tokio::test]
async fn stores_of_the_released_writers_are_edited() {
    let (mut edited, mut linked) = (0, 0);
    for case in zvf_testkit::cases().unwrap() {
        let unpacked = zvf_testkit::unpack(&case).unwrap();
        let address = unpacked.path().to_string_lossy().into_owned();
        let before = Store::open(&address).await.unwrap();
        let (was, links) = (objects(&before).await, between(&before).await);
        let kind = before.kind();
        let mut edit = match Edit::open(&address, WriteOptions::new()).await {
            Ok(edit) => edit,
            Err(error) => {
                // The streamed form of skeletons, and cells of Draco: nothing was changed.
                assert!(
                    matches!(
                        error,
                        zvf_write::WriteError::Unsupported { .. }
                            | zvf_write::WriteError::Spec { .. }
                    ),
                    "{case}: {error}"
                );
                assert_eq!(objects(&Store::open(&address).await.unwrap()).await, was);
                continue;
            }
        };
        let first = was.keys().next().unwrap().clone();
        let many = was.len() > 1;
        let done = if many {
            edit.delete(&[first.parse().unwrap()]).await
        } else {
            let dims = edit.spec().dims();
            let positions = Values::from(vec![0.25_f64; dims]);
            edit.move_vertices(At::Rows(&[0]), &positions).await
        };
        if let Err(error) = done {
            // For example an owner of each fragment, or shared fragments in several chunks.
            assert!(
                matches!(error, zvf_write::WriteError::Unsupported { .. }),
                "{case}: {error}"
            );
            edit.abandon().await.unwrap();
            assert_eq!(objects(&Store::open(&address).await.unwrap()).await, was);
            continue;
        }
        edit.commit().await.unwrap();
        edited += 1;
        let after = Store::open(&address).await.unwrap();
        assert_eq!(after.kind(), kind);
        let mut now = objects(&after).await;
        if many {
            assert!(!now.contains_key(&first), "{case}");
            // An object beyond the first forty may have moved up.
            now.retain(|id, _| was.contains_key(id));
            let rest: BTreeMap<_, _> = was.into_iter().filter(|(id, _)| *id != first).collect();
            assert_eq!(now, rest, "{case}");
        } else {
            let (a, b) = (now.values().next().unwrap(), was.values().next().unwrap());
            assert_eq!(a.len(), b.len(), "{case}");
            let moved = a.iter().filter(|position| !b.contains(position)).count();
            assert!(moved <= 1, "{case}: {moved} moved");
        }
        let left = between(&after).await;
        if !links.is_empty() {
            linked += 1;
            let known: HashSet<_> = links.iter().collect();
            let kept: HashSet<_> = left.iter().collect();
            let lost = links.iter().filter(|link| !kept.contains(link)).count();
            let new = left.iter().filter(|link| !known.contains(link)).count();
            assert!(new <= 2, "{case}");
            // The only object of a skeleton, or the only chain, is split again when one of its vertices leaves its chunk.
            let anew = !many && !matches!(kind, Kind::PointCloud | Kind::Graph | Kind::Mesh);
            assert!(anew || lost < links.len(), "{case}");
            assert!(after.root().extra.contains_key("zvf_stale"), "{case}");
        }
        // Deleted objects are dropped if no coarse level keeps their rows.
        let vacuumed = zvf_edit::vacuum(&address, WriteOptions::new()).await;
        match vacuumed {
            Ok(done) => assert_eq!(done.rows, u64::from(many), "{case}"),
            Err(error) => assert!(
                error.to_string().contains("`zvf pyramid STORE --remove`"),
                "{case}: {error}"
            ),
        }
    }
    println!("{edited} edited, {linked} with links between levels");
    assert!(edited >= 8 && linked >= 2, "{edited} {linked}");
}
