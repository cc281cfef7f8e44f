//! Every truncation and every single-bit flip of every blob of the bundled stores: a value or an error, never a panic.
//!
//! Blobs are what the cells hold after decompression: fragment indexes, manifests, link cells. Equal blobs are damaged
//! once. (What compressed objects and documents do when damaged is in `damage`.)

use std::collections::HashSet;

use zvf_store::blocking::Runtime;
use zvf_store::format::fragments::FragmentIndex;
use zvf_store::format::links::{CellForm, LinkCell};
use zvf_store::format::manifest::Manifest;
use zvf_store::{CellWant, Deltas, GridArray, Need, Store};
use zvf_testkit::sample::{self, Sample};

/// Longest blobs of other generations than 0.9 that are damaged: they are encoded as blobs of 0.9, all of which are damaged, and the work grows with
/// the square of the length.
const OLDER: usize = 512;

/// Damaged link cells of up to this number of bytes are read whole; in longer ones, only the records near the damage.
const WALK: usize = 2048;

/// The blobs of all bundled stores.
#[derive(Default)]
struct Blobs {
    fragments: HashSet<Vec<u8>>,
    manifests: HashSet<(usize, Vec<u8>)>,
    links: HashSet<(CellForm, Vec<u8>)>,
}

fn cells(runtime: &Runtime, store: &Store, array: &std::sync::Arc<GridArray>) -> Vec<Vec<u8>> {
    let wants = array
        .presence()
        .iter()
        .map(|chunk| CellWant::new(array, chunk))
        .collect();
    let cells = runtime.wait(store.fetch(3, wants)).unwrap();
    cells
        .into_iter()
        .flatten()
        .map(|cell| cell.to_vec())
        .collect()
}

fn collect() -> Blobs {
    let runtime = Runtime::new().unwrap();
    let mut blobs = Blobs::default();
    let need = Need {
        objects: true,
        link_deltas: Deltas::All,
        ..Need::default()
    };
    for case in zvf_testkit::all_cases().unwrap() {
        let longest = if case.starts_with("0.9/") {
            usize::MAX
        } else {
            OLDER
        };
        let short = |blob: &Vec<u8>| blob.len() <= longest;
        let unpacked = zvf_testkit::unpacked(&case).unwrap();
        let store = runtime
            .wait(Store::open(unpacked.path().to_str().unwrap()))
            .unwrap();
        for number in store.levels().to_vec() {
            let level = runtime.wait(store.level(number, &need)).unwrap();
            if let Some(array) = level.vertex_fragments() {
                let cells = cells(&runtime, &store, array).into_iter();
                blobs.fragments.extend(cells.filter(short));
            }
            for family in level.link_families() {
                for array in family.arrays() {
                    let cells = cells(&runtime, &store, &array.array).into_iter();
                    blobs
                        .links
                        .extend(cells.filter(short).map(|cell| (array.form(), cell)));
                }
            }
            if let Some(index) = level.object_index() {
                let slots: Vec<u64> = (0..index.len()).collect();
                let manifests = runtime.wait(index.manifests(&slots)).unwrap();
                let rank = index.key_rank();
                let manifests = manifests.into_iter().map(|blob| blob.to_vec());
                blobs
                    .manifests
                    .extend(manifests.filter(short).map(|blob| (rank, blob)));
            }
        }
    }
    blobs
}

/// Calls `read` on the blob, on truncations and on single-bit flips (a sample of them), with the byte that was changed.
fn damage(blob: &[u8], mut read: impl FnMut(&[u8], usize)) -> u64 {
    let mut tried = 0;
    let sample = Sample::new("bytes of bundled blobs");
    for end in sample.some(0..blob.len(), 4) {
        read(&blob[..end], end);
        tried += 1;
    }
    let mut bad = blob.to_vec();
    for at in sample.some(0..blob.len(), 6) {
        for bit in 0..8 {
            bad[at] ^= 1 << bit;
            read(&bad, at);
            bad[at] ^= 1 << bit;
            tried += 1;
        }
    }
    tried
}

#[test]
fn every_truncation_and_every_flip_of_every_bundled_blob_is_a_value_or_an_error() {
    let blobs = collect();
    assert!(blobs.fragments.len() > 100 && blobs.manifests.len() > 100 && blobs.links.len() > 100);
    let mut tried = 0;
    for blob in &blobs.fragments {
        let good = FragmentIndex::parse(blob).unwrap();
        let rows = good.extent().unwrap();
        good.check(rows).unwrap();
        tried += damage(blob, |bad, _| {
            let Ok(index) = FragmentIndex::parse(bad) else {
                return;
            };
            if index.check_rows(rows).is_ok() {
                let inside = index
                    .iter()
                    .flat_map(|fragment| fragment.rows())
                    .all(|row| row >= 0 && row.unsigned_abs() < rows);
                assert!(inside, "a row outside the buffer passed the check");
            }
        });
    }
    for (rank, blob) in &blobs.manifests {
        Manifest::parse(blob, *rank).unwrap();
        tried += damage(blob, |bad, _| {
            let Ok(manifest) = Manifest::parse(bad, *rank) else {
                return;
            };
            for block in manifest.blocks() {
                assert_eq!(block.chunk.len(), *rank);
                if block.fragments.check(1000).is_none() {
                    assert!(
                        block
                            .fragments
                            .iter()
                            .all(|fragment| (0..1000).contains(&fragment))
                    );
                }
            }
        });
    }
    for (form, blob) in &blobs.links {
        let good = LinkCell::parse(blob, *form).unwrap();
        good.check().unwrap();
        let row = good
            .form()
            .row_width()
            .saturating_mul(form.dtype.size())
            .max(1);
        let mut ends = vec![0; form.link_width];
        tried += damage(blob, |bad, at| {
            let Ok(cell) = LinkCell::parse(bad, *form) else {
                return;
            };
            if bad.len() <= WALK {
                let sound = cell.check().is_ok();
                for record in cell.iter() {
                    assert!(
                        record.restore(&mut ends).is_ok() || !sound,
                        "a record of a checked cell"
                    );
                }
            } else {
                let near = at / row;
                for i in near.saturating_sub(3)..near.saturating_add(2) {
                    let _ = cell.record(i).map(|record| record.restore(&mut ends));
                }
            }
        });
    }
    // Nothing was skipped: nine tries per byte.
    let bytes: usize = blobs.fragments.iter().map(Vec::len).sum::<usize>()
        + blobs
            .manifests
            .iter()
            .map(|(_, blob)| blob.len())
            .sum::<usize>()
        + blobs
            .links
            .iter()
            .map(|(_, blob)| blob.len())
            .sum::<usize>();
    if sample::is_whole() {
        assert_eq!(tried, 9 * bytes as u64);
    } else {
        assert!(tried > bytes as u64, "{tried} of {bytes} bytes");
    }
}
