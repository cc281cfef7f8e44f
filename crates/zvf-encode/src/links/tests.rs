//! The worked examples of 0.8 §19, byte for byte; and what is refused.

use std::collections::BTreeMap;

use zvf_meta::space::Grid;
use zvf_meta::{ArrayAttributes, Kind, LinkStore};
use zvf_store::OpenOptions;

use super::{ArrayKey, FamilySpec, LinkCellSink, LinkColumn, LinkEnd, LinkPlacer, Policy, split};
use crate::WriteError;
use crate::level::shard::{CellContainer, LevelCells};
use crate::spec::shard_shape::of_links;
use crate::spec::store::StoreSpec;
use crate::spec::target_version::LinksBy;
use crate::target::Target;
use zvf_codec::Compression;

type Ends = [LinkEnd<'static>];

const A: &[i64] = &[0, 0, 0];
const B: &[i64] = &[1, 0, 0];
const C: &[i64] = &[1, 1, 0];
const D: &[i64] = &[0, 1, 0];

fn policy(width: usize, directed: bool, store: LinkStore) -> Policy {
    Policy {
        width,
        directed,
        store,
        ..Policy::pairs(3, false, LinksBy::Chunks)
    }
}

/// The files of a family, by their path, blobs as numbers.
fn written(policy: Policy, links: &[&Ends]) -> BTreeMap<String, Vec<i64>> {
    let folder = tempfile::tempdir().unwrap();
    let address = folder.path().to_string_lossy().into_owned();
    let target = Target::new(&address, &OpenOptions::new(), false).unwrap();
    let below = target.below("0");
    let grid = Grid {
        origin: Vec::new(),
        shape: Vec::new(),
    };
    let cells = LevelCells::new(grid, None, Compression::None, CellContainer::Blobs);
    let family = FamilySpec::new(policy, Vec::new());
    let mut placer = LinkPlacer::new(family, 1 << 20, folder.path());
    for ends in links {
        placer.push(ends, &[]).unwrap();
    }
    let sink = LinkCellSink {
        cells: &cells,
        target: &below,
        threads: 1,
    };
    placer.write(sink, None, &|_, _, _| {}, |_| {}).unwrap();
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.path().join("0")];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("c/0") {
                let bytes = std::fs::read(&path).unwrap();
                let numbers = bytes.as_chunks::<8>().0.iter();
                let name = path.strip_prefix(folder.path()).unwrap();
                let name = name.to_string_lossy().replace('\\', "/");
                files.insert(
                    name.strip_suffix("/c/0").unwrap().to_owned(),
                    numbers.map(|number| i64::from_le_bytes(*number)).collect(),
                );
            }
        }
    }
    files
}

fn cell(files: &BTreeMap<String, Vec<i64>>, key: &str) -> Vec<i64> {
    let path = format!("0/cross_chunk_links/{key}");
    files
        .get(&path)
        .unwrap_or_else(|| panic!("no {path} in {files:?}"))
        .clone()
}

const FOUR: [&Ends; 4] = [
    &[(A, 2), (B, 0)],
    &[(B, 1), (A, 0)],
    &[(A, 7), (A, 3)],
    &[(B, 5), (A, 9)],
];

#[test]
fn four_edges_by_every_policy() {
    // 0.8 §19.1; an edge inside one chunk is a row of that chunk.
    let files = written(policy(2, false, LinkStore::Canonical), &FOUR);
    let ascending = [3, 0, 24, 48, 0, 2, 0, 1, 0, 1, 1, 9, 5];
    assert_eq!(cell(&files, "0/0.0.0.1.0.0"), ascending);
    assert_eq!(files["0/links/0/0.0.0"], [7, 3]);
    assert_eq!(files.len(), 3, "{files:?}");

    let files = written(policy(2, true, LinkStore::Canonical), &FOUR);
    assert_eq!(cell(&files, "0/0.0.0.1.0.0"), [1, 0, 0, 2, 0]);
    assert_eq!(cell(&files, "0/1.0.0.0.0.0"), [2, 0, 24, 0, 1, 0, 0, 5, 9]);
    for directed in [false, true] {
        let files = written(policy(2, directed, LinkStore::Duplicate), &FOUR);
        assert_eq!(cell(&files, "0/0.0.0.1.0.0"), ascending);
        assert_eq!(
            cell(&files, "0/1.0.0.0.0.0"),
            [3, 0, 24, 48, 1, 0, 2, 0, 1, 0, 0, 5, 9]
        );
    }
}

#[test]
fn the_mesh_keeps_its_winding() {
    // 0.8 §19.4.
    let faces: [&Ends; 3] = [
        &[(A, 1), (B, 0), (C, 0)],
        &[(A, 2), (D, 0), (C, 0)],
        &[(B, 0), (C, 0), (A, 1)],
    ];
    let files = written(policy(3, false, LinkStore::Canonical), &faces);
    assert_eq!(cell(&files, "0/0.0.0.0.1.0.1.1.0"), [1, 0, 0, 2, 0, 0]);
    assert_eq!(
        cell(&files, "0/0.0.0.1.0.0.1.1.0"),
        [2, 0, 32, 0, 1, 0, 0, 4, 1, 0, 0]
    );
    let files = written(policy(3, false, LinkStore::Duplicate), &faces);
    assert_eq!(cell(&files, "0/1.0.0.0.0.0.1.1.0"), [1, 0, 2, 0, 1, 0]);
    assert_eq!(cell(&files, "0/1.1.0.0.0.0.1.0.0"), [1, 0, 4, 0, 1, 0]);
    let cells = files.values().map(|cell| cell[0]);
    assert_eq!((files.len(), cells.sum::<i64>()), (8, 9));
}

#[test]
fn quads_and_links_between_levels() {
    // 0.8 §19.5.
    let quad: &Ends = &[(B, 0), (A, 3), (A, 1), (B, 1)];
    let files = written(policy(4, false, LinkStore::Canonical), &[quad]);
    assert_eq!(
        cell(&files, "0/0.0.0.0.0.0.1.0.0.1.0.0"),
        [1, 0, 14, 1, 3, 0, 1]
    );
    let mut up = policy(2, false, LinkStore::Canonical);
    up.delta = 1;
    let links: [&Ends; 2] = [&[(&[2, 3, 1], 7), (&[1, 1, 0], 3)], &[(C, 4), (C, 9)]];
    let files = written(up, &links);
    assert_eq!(cell(&files, "+1/1.1.0.2.3.1"), [1, 0, 1, 3, 7]);
    // Two ends with the same key: one group of rows, no permutation (0.8 §8.5).
    assert_eq!(files["0/links/+1/1.1.0"], [1, 0, 4, 9]);
}

#[test]
fn records_that_do_not_fit_their_family_are_bugs() -> Result<(), WriteError> {
    let column = |size| LinkColumn {
        name: "a".to_owned(),
        size,
        absent: None,
        complete: true,
        attributes: ArrayAttributes::default(),
    };
    let family = FamilySpec::new(
        policy(2, false, LinkStore::Canonical),
        vec![column(2), column(1)],
    );
    let mut placer = LinkPlacer::new(family, 1 << 20, &std::env::temp_dir());
    let ends: &Ends = &[(B, 9), (A, 7)];
    let full: [Option<&[u8]>; 2] = [Some(b"ab"), None];
    let none: [Option<&[u8]>; 2] = [None; 2];
    placer.push(ends, &full)?;
    placer.push(ends, &none)?;
    for (ends, values) in [
        (&ends[..1], &full[..]),
        (ends, &full[..1]),
        (ends, &[Some(b"abc"), None]),
    ] {
        let failed = placer.push(ends, values);
        assert!(matches!(failed, Err(WriteError::Bug { .. })), "{failed:?}");
    }
    let (_, all, file) = placer.finish();
    let head = [1, 0, 7, 0, 0, 0, 9, 0, 0, 0];
    let expected = [&head[..], &[1, b'a', b'b', 0, 0], &head, &[0, 0, 0, 0, 0]].concat();
    assert_eq!(all.len(), 1);
    for (_, bucket) in all {
        assert_eq!(bucket.read(&file)?, expected);
    }
    Ok(())
}

#[test]
fn no_link_is_left_out() {
    let spec = StoreSpec::new(Kind::Graph, [10.0; 1]);
    let chunks: [&[i64]; 2] = [&[0], &[1]];
    let mut placer = LinkPlacer::new(FamilySpec::of(&spec), 1 << 20, &std::env::temp_dir());
    placer.push_rows(&chunks, &[(0, 3), (1, 4)], &[]).unwrap();
    let bug = |found: Result<usize, WriteError>| matches!(found, Err(WriteError::Bug { .. }));
    let mut wrong = |ends: &[(u32, u32)], values: &[u8]| {
        let found = placer.push_rows(&chunks, ends, values);
        assert!(bug(found.map(|()| 0)), "{ends:?}");
    };
    wrong(&[(0, 3), (2, 4)], &[]);
    wrong(&[(0, 3), (1, 4)], &[0]);
    let (stored, cells, file) = placer.finish();
    let family = stored.family;
    let [(key, bucket)] = <[_; 1]>::try_from(cells).unwrap();
    let array = (ArrayKey::Offsets(&[1]), &[0][..]);
    assert_eq!(family.array(&key).unwrap(), array);
    let records = bucket.read(&file).unwrap();
    let cell = |bytes: &[u8]| {
        let cell = family.cell(key.clone(), bytes, None, &|_, _, _| {})?;
        Ok(usize::try_from(cell.records).unwrap())
    };
    assert_eq!(cell(&records).unwrap(), 1);
    assert!(bug(cell(&records[1..])));
    assert!(bug(family.array(&[]).map(|(_, chunk)| chunk.len())));
    assert!(bug(split(&[0; 15], 2).map(|(ends, _)| ends.len())));
}

#[test]
fn shards_of_links_grow_up_to_their_bounds() {
    let chosen = |extent: u64, level: [u64; 3], bytes: u64| {
        let grid = Grid {
            origin: vec![0; 3],
            shape: vec![extent; 3],
        };
        let place = |at: u64| vec![at / extent / extent, at / extent % extent, at % extent];
        let chunks: Vec<_> = (0..extent.pow(3)).map(|at| (place(at), bytes)).collect();
        of_links(&grid, &level, &chunks)
    };
    // All cells in one shard, or 2048 cells.
    assert_eq!(chosen(4, [2, 2, 2], 1), [4, 4, 4]);
    assert_eq!(chosen(11, [2, 2, 4], 1), [11, 11, 11]);
    assert_eq!(chosen(28, [4, 8, 8], 500), [8, 16, 16]);
    // Larger shards would cost an edit more than fewer files gain; and at most 8 MiB of links.
    assert_eq!(chosen(28, [4, 8, 8], 4096), [8, 8, 16]);
    assert_eq!(chosen(28, [2, 2, 2], 1 << 17), [4, 4, 4]);
    assert_eq!(chosen(28, [2, 2, 2], (1 << 17) + 1), [2, 4, 4]);
    // Never fewer than the level has.
    assert_eq!(chosen(28, [16, 16, 16], 1 << 20), [16, 16, 16]);
    assert_eq!(chosen(1, [1, 1, 1], 1), [1, 1, 1]);
    let grid = Grid {
        origin: vec![0],
        shape: vec![u64::MAX],
    };
    let far = [(vec![0], 1), (vec![u64::MAX - 1], 1)];
    // A larger shard would join no cells.
    assert_eq!(of_links(&grid, &[1], &far), [1]);
    assert_eq!(of_links(&grid, &[u64::MAX / 2], &far), [u64::MAX / 2]);
}
