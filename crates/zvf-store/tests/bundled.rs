//! The bundled stores: everything in them is read, through every backend alike.

use zvf_store::format::fragments::FragmentIndex;
use zvf_store::format::manifest::Manifest;
use zvf_store::{Endpoint, Need, Store};

use crate::support::{all_cells, bundled, dump, open_memory};

fn cases() -> Vec<String> {
    let cases = zvf_testkit::cases().unwrap();
    assert!(cases.len() >= 13, "{cases:?}");
    cases
}

#[tokio::test(flavor = "multi_thread")]
async fn disk_and_memory_give_the_same_cells() {
    for case in zvf_testkit::all_cases().unwrap() {
        let unpacked = zvf_testkit::unpacked(&case).unwrap();
        let local = Store::open(&unpacked.url().unwrap()).await.unwrap();
        let memory = open_memory(&bundled(&case)).await;
        assert!(local.is_local() && !memory.is_local());
        let (a, b) = (dump(&local).await, dump(&memory).await);
        assert!(!a.is_empty(), "{case}");
        assert_eq!(a.len(), b.len(), "{case}");
        for (key, cell) in &a {
            // Only 0.9 lists the existing cells; before it, a chunk may have no links, or only rows of fill.
            let listed = case.starts_with("0.9/");
            assert!(
                cell.is_some() || !listed,
                "{case}: {key:?} is listed but empty"
            );
            assert_eq!(b.get(key), Some(cell), "{case}: {key:?}");
        }
        assert_eq!(local.warnings(), memory.warnings(), "{case}");
        let warned = zvf_testkit::case(&case).unwrap().warnings;
        assert!(
            local.warnings().is_empty() || !warned.is_empty(),
            "{case}: {:?}",
            local.warnings()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fragments_manifests_links_and_tables_are_whole() {
    for case in cases() {
        let store = open_memory(&bundled(&case)).await;
        for number in store.levels() {
            let level = store.level(*number, &Need::all()).await.unwrap();
            let size = level.vertices().dtype().size() * level.dims();
            let mut vertices = 0u64;
            for cell in store
                .fetch(3, all_cells(level.vertices()))
                .await
                .unwrap()
                .into_iter()
                .flatten()
            {
                assert_eq!(cell.len() % size, 0, "{case}");
                vertices += (cell.len() / size) as u64;
            }
            assert_eq!(vertices, level.doc().vertex_count, "{case} level {number}");
            for cell in store
                .fetch(3, all_cells(level.vertex_fragments().unwrap()))
                .await
                .unwrap()
            {
                FragmentIndex::parse(&cell.unwrap())
                    .unwrap()
                    .verify()
                    .unwrap();
            }
            if let Some(index) = level.object_index() {
                let ids = index.ids().await.unwrap();
                assert_eq!(ids.len(), index.len(), "{case}");
                for chunk in 0..index.manifest_chunks() {
                    let chunk = index.manifest_chunk(chunk).await.unwrap();
                    for slot in (chunk.first_slot()..).take(chunk.len()) {
                        Manifest::parse(chunk.blob(slot), index.key_rank()).unwrap();
                        assert_eq!(ids.slot(ids.id(slot)), Some(slot));
                        assert_eq!(index.manifests(&[slot]).await.unwrap()[0], chunk.blob(slot));
                    }
                }
                for table in level.object_attributes() {
                    let values = table.read().await.unwrap();
                    assert_eq!(values.rows as u64, index.len(), "{case} {}", table.name());
                    assert_eq!(values.bytes.len(), values.rows * values.row_size());
                    if values.rows > 2 {
                        let part = table.read_rows(1..values.rows as u64 - 1).await.unwrap();
                        assert_eq!(
                            part.bytes,
                            values
                                .bytes
                                .slice(values.row_size()..values.bytes.len() - values.row_size())
                        );
                    }
                }
            }
            if let Some(groups) = level.groups() {
                for g in 0..groups.len() {
                    groups.members(g).await.unwrap();
                }
                assert!(groups.members(groups.len()).await.is_err());
            }
            for family in level.link_families() {
                let mut records = 0;
                for link in family.arrays() {
                    for want in all_cells(&link.array) {
                        let source = want.chunk.clone();
                        let cell = store.fetch(3, vec![want]).await.unwrap().remove(0).unwrap();
                        let mut chunks = Vec::new();
                        link.endpoint_chunks(&source, &mut chunks).unwrap();
                        assert_eq!(chunks.len(), family.width() * level.key_rank());
                        let view = link.decode(&source, &cell).unwrap();
                        let mut record = vec![Endpoint::default(); family.width()];
                        for i in 0..view.len() {
                            assert!(view.record(i, &mut record));
                            assert!(
                                record
                                    .iter()
                                    .all(|e| e.row >= 0 && e.which < family.width())
                            );
                        }
                        assert!(!view.record(view.len(), &mut record));
                        records += view.len() as u64;
                    }
                }
                if let Some(stated) = family.doc().num_physical_records {
                    assert_eq!(records, stated, "{case} delta {}", family.delta());
                }
            }
        }
    }
}
