//! Every array of every bundled store, read by `zarrs` from the disk and by this crate: the same elements. In the older generations, every blob that
//! is a separate array and every padded row.

use std::path::Path;
use std::sync::Arc;

use zarrs::array::{Array, ArrayBytes};
use zarrs::filesystem::FilesystemStore;
use zvf_store::{CellWant, ContainerKind, Need, Store};

use crate::support::grids;

/// All elements of an array in C order: of variable length, or as bytes.
enum Elements {
    Variable(Vec<Vec<u8>>),
    Fixed(Vec<u8>),
}

fn read_with_zarrs(root: &Path, path: &str) -> Elements {
    let storage = Arc::new(FilesystemStore::new(root).unwrap());
    let array = Array::open(storage, &format!("/{path}")).unwrap();
    let bytes: ArrayBytes<'static> = array.retrieve_array_subset(&array.subset_all()).unwrap();
    match bytes {
        ArrayBytes::Variable(elements) => {
            let (bytes, offsets) = elements.into_parts();
            Elements::Variable(
                offsets
                    .windows(2)
                    .map(|w| bytes[w[0]..w[1]].to_vec())
                    .collect(),
            )
        }
        ArrayBytes::Fixed(bytes) => Elements::Fixed(bytes.into_owned()),
        ArrayBytes::Optional(_) => panic!("{path}: an array of optional elements"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn zarrs_reads_the_same() {
    for case in zvf_testkit::cases().unwrap() {
        let unpacked = zvf_testkit::unpacked(&case).unwrap();
        let root = unpacked.path();
        let store = Store::open(&unpacked.url().unwrap()).await.unwrap();
        let mut arrays = 0;
        for number in store.levels() {
            let level = store.level(*number, &Need::all()).await.unwrap();
            for array in grids(&level) {
                let Elements::Variable(theirs) = read_with_zarrs(&root, array.path()) else {
                    panic!()
                };
                // Every cell of the grid, present or not.
                let mut wants = Vec::new();
                let mut index = vec![0u64; array.key_rank()];
                for _ in 0..theirs.len() {
                    let chunk: Vec<i64> = index
                        .iter()
                        .zip(array.origin())
                        .map(|(i, o)| *i as i64 + o)
                        .collect();
                    wants.push(CellWant::new(&array, chunk.as_slice()));
                    for (i, n) in index.iter_mut().zip(array.shape().unwrap()).rev() {
                        *i += 1;
                        if *i < *n {
                            break;
                        }
                        *i = 0;
                    }
                }
                let ours = store.fetch(3, wants).await.unwrap();
                for (ours, theirs) in ours.iter().zip(&theirs) {
                    assert_eq!(
                        ours.as_deref().unwrap_or_default(),
                        theirs,
                        "{case} {}",
                        array.path()
                    );
                }
                arrays += 1;
            }
            for table in level
                .object_attributes()
                .iter()
                .chain(level.group_attributes())
            {
                let Elements::Fixed(theirs) = read_with_zarrs(&root, table.path()) else {
                    panic!()
                };
                assert_eq!(
                    table.read().await.unwrap().bytes,
                    theirs,
                    "{case} {}",
                    table.path()
                );
                arrays += 1;
            }
            if let Some(index) = level.object_index() {
                let Elements::Variable(theirs) =
                    read_with_zarrs(&root, &format!("{number}/object_index/manifests"))
                else {
                    panic!()
                };
                let slots: Vec<u64> = (0..index.len()).collect();
                assert_eq!(index.manifests(&slots).await.unwrap(), theirs, "{case}");
                let Elements::Fixed(ids) =
                    read_with_zarrs(&root, &format!("{number}/object_index/object_ids"))
                else {
                    panic!()
                };
                let ids: Vec<i64> = ids
                    .as_chunks::<8>()
                    .0
                    .iter()
                    .map(|b| i64::from_le_bytes(*b))
                    .collect();
                assert_eq!(
                    index.ids().await.unwrap().iter().collect::<Vec<_>>(),
                    ids,
                    "{case}"
                );
                arrays += 2;
            }
        }
        assert!(arrays >= 2, "{case}");
    }
}

/// The elements of one chunk of a numeric array, padding included.
fn padded_with_zarrs(root: &Path, path: &str, chunk: &[i64]) -> Vec<u8> {
    let storage = Arc::new(FilesystemStore::new(root).unwrap());
    let array = Array::open(storage, &format!("/{path}")).unwrap();
    let mut index: Vec<u64> = chunk.iter().map(|c| u64::try_from(*c).unwrap()).collect();
    index.resize(array.shape().len(), 0);
    let bytes: ArrayBytes<'static> = array.retrieve_chunk(&index).unwrap();
    bytes.into_fixed().unwrap().into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn zarrs_reads_the_same_blobs_and_padded_rows() {
    let (mut blobs, mut packed, mut rows) = (0, 0, 0);
    for case in zvf_testkit::all_cases().unwrap() {
        if case.starts_with("0.9/") {
            continue;
        }
        let unpacked = zvf_testkit::unpacked(&case).unwrap();
        let root = unpacked.path();
        let store = Store::open(&unpacked.url().unwrap()).await.unwrap();
        for number in store.levels() {
            let level = store.level(*number, &Need::all()).await.unwrap();
            for array in grids(&level) {
                let wants: Vec<CellWant> = array
                    .presence()
                    .iter()
                    .map(|chunk| CellWant::new(&array, chunk))
                    .collect();
                let chunks: Vec<Vec<i64>> = wants.iter().map(|want| want.chunk.to_vec()).collect();
                let ours = store.fetch(3, wants).await.unwrap();
                for (chunk, ours) in chunks.iter().zip(ours) {
                    let ours = ours.unwrap_or_default();
                    let key: Vec<String> = chunk.iter().map(i64::to_string).collect();
                    let child = format!("{}/{}", array.path(), key.join("."));
                    if root.join(&child).join("zarr.json").is_file() {
                        let Elements::Fixed(theirs) = read_with_zarrs(&root, &child) else {
                            panic!("{case} {child}")
                        };
                        assert_eq!(ours, theirs, "{case} {child}");
                        blobs += 1;
                    } else if array.container() == ContainerKind::Padded {
                        let theirs = padded_with_zarrs(&root, array.path(), chunk);
                        let (kept, padding) = theirs.split_at(ours.len());
                        assert_eq!(ours, kept, "{case} {} {key:?}", array.path());
                        assert!(
                            padding.iter().all(|byte| *byte == padding[0]),
                            "{case} {}",
                            array.path()
                        );
                        rows += 1;
                    } else {
                        packed += 1;
                    }
                }
            }
        }
    }
    assert!(
        blobs > 1000 && packed > 10 && rows > 20,
        "{blobs} {packed} {rows}"
    );
}
