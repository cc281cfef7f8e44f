//! Object stores: the same answers, with few requests.

use std::sync::Arc;

use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use zvf_tet::{
    Axis, Class, DType, DatasetSpec, Error, OpenOptions, Profile, RemoteOptions, RemoteTet,
    TetWriter, WriteOptions,
};

use crate::support::{axes, bytes, files, sha256};

async fn put(name: &str, bytes: Vec<u8>) -> (Arc<dyn ObjectStore>, Path) {
    let (store, path) = (Arc::new(InMemory::new()), Path::parse(name).unwrap());
    store.put(&path, bytes.into()).await.unwrap();
    (store, path)
}

#[tokio::test]
async fn good_files_give_the_slices_of_the_manifest() {
    for entry in files("manifest.json") {
        let name = entry["file"].as_str().unwrap();
        let (store, path) = put(name, bytes(name)).await;
        for (first, gap) in [(40, 0), (64 << 10, 1 << 20)] {
            let mut remote = RemoteOptions::default();
            remote.first = first;
            remote.merge.gap = gap;
            let file = RemoteTet::open_with(store.clone(), &path, OpenOptions::default(), remote)
                .await
                .unwrap();
            for (dataset, expected) in file
                .datasets()
                .iter()
                .zip(entry["datasets"].as_array().unwrap())
            {
                for slice in expected["selections"].as_array().unwrap() {
                    let selection = dataset.select(&axes(&slice["start_stop_step"])).unwrap();
                    let (found, stats) = file.read(dataset, &selection).await.unwrap();
                    assert_eq!(sha256(&found), slice["le_sha256"], "{name}");
                    assert_eq!(stats.tiles, slice["touched_count"]);
                    if gap > 0 {
                        assert!(stats.requests <= stats.tiles);
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn changed_files_get_their_verdict() {
    for entry in files("derived/manifest.json") {
        let name = entry["file"].as_str().unwrap();
        let (store, path) = put(name, bytes(name)).await;
        for profile in [Profile::Strict, Profile::Lenient] {
            let options = OpenOptions::default().with_profile(profile);
            let opened =
                RemoteTet::open_with(store.clone(), &path, options, RemoteOptions::default()).await;
            let judged = match opened {
                Err(error) => Err(error),
                Ok(file) => {
                    let mut answer = Ok(());
                    for dataset in file.datasets() {
                        if let Err(error) = file.read(dataset, &dataset.all()).await {
                            answer = Err(error);
                        }
                    }
                    answer
                }
            };
            let refused = entry["verdict"] == "reject"
                || (entry["verdict"] == "reject_strict" && profile == Profile::Strict);
            assert_eq!(judged.is_err(), refused, "{name}");
            if let Err(error) = judged {
                assert_eq!(
                    error.class().map(Class::name),
                    entry["class"].as_str(),
                    "{name}: {error}"
                );
            }
        }
    }
}

#[tokio::test]
async fn neighbouring_tiles_are_one_request() {
    let spec = DatasetSpec::new("a", DType::U8, &[64, 64], &[8, 8]);
    let mut writer = TetWriter::new(
        std::io::Cursor::new(Vec::new()),
        vec![spec],
        WriteOptions::default(),
    )
    .unwrap();
    let elements: Vec<u8> = (0..4096_u32).map(|n| n as u8).collect();
    writer.write_array(&elements).unwrap();
    let (store, path) = put("a.tet", writer.finish_into().unwrap().into_inner()).await;
    let mut remote = RemoteOptions::default();
    remote.merge.gap = 0;
    let file = RemoteTet::open_with(store.clone(), &path, OpenOptions::default(), remote)
        .await
        .unwrap();
    let dataset = file.dataset("a").unwrap();
    let (all, stats) = file.read(dataset, &dataset.all()).await.unwrap();
    assert_eq!((all, stats.requests, stats.bytes), (elements, 1, 4096));
    // Two rows of tiles, the middle two of each.
    let middle = dataset
        .select(&[Axis::new(8, 24, 1), Axis::new(24, 40, 1)])
        .unwrap();
    let (_, stats) = file.read(dataset, &middle).await.unwrap();
    assert_eq!((stats.tiles, stats.requests, stats.bytes), (4, 2, 256));

    // Another file in its place is not mixed with the first one.
    store.put(&path, bytes("empty.tet").into()).await.unwrap();
    let error = file.read(dataset, &middle).await.unwrap_err();
    assert!(matches!(error, Error::Changed { .. }), "{error}");
    let absent = RemoteTet::open(store, &Path::parse("absent").unwrap())
        .await
        .unwrap_err();
    assert!(absent.is_io());
}

#[tokio::test]
async fn a_column_asks_for_little_where_gaps_are_worth_requests() {
    let spec = DatasetSpec::new("a", DType::U32, &[256, 8192], &[64, 8192]);
    let writer = std::io::Cursor::new(Vec::new());
    let mut writer = TetWriter::new(writer, vec![spec], WriteOptions::default()).unwrap();
    let elements: Vec<u8> = (0..256 * 8192_u32).flat_map(u32::to_le_bytes).collect();
    writer.write_array(&elements).unwrap();
    let (store, path) = put("a.tet", writer.finish_into().unwrap().into_inner()).await;
    // Four tiles whole, or 64 elements of each.
    for (gap, requests, bytes) in [(256 << 10, 4, 4 * 64 * 8192 * 4), (0, 256, 1024)] {
        let mut remote = RemoteOptions::default();
        (remote.merge.gap, remote.merge.most) = (gap, 0);
        let file = RemoteTet::open_with(store.clone(), &path, OpenOptions::default(), remote)
            .await
            .unwrap();
        let dataset = file.dataset("a").unwrap();
        let column = dataset.select(&[Axis::all(256), Axis::at(5)]).unwrap();
        let (found, stats) = file.read(dataset, &column).await.unwrap();
        let expected = (0..256_u32).flat_map(|row| (row * 8192 + 5).to_le_bytes());
        assert!(expected.eq(found));
        assert_eq!(
            (stats.tiles, stats.requests, stats.bytes),
            (4, requests, bytes)
        );
    }
}

#[tokio::test]
async fn reads_can_move_between_threads() {
    fn movable<T: Send>(task: T) -> T {
        task
    }
    let (store, path) = put("a.tet", bytes("f32_1d_edge_raw.tet")).await;
    let file = movable(RemoteTet::open(store, &path)).await.unwrap();
    let dataset = file.dataset("x").unwrap();
    let (all, _) = movable(file.read(dataset, &dataset.all())).await.unwrap();
    assert_eq!(all.len(), 40);
}
