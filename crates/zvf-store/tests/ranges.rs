//! Rows of chunks that are decoded in parts, compared with whole cells: every codec, in shards and alone, on disk and in memory.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use zvf_codec::Compression;
use zvf_format::vlen::VlenBuilder;
use zvf_store::{
    ChunkCoord, ChunkParts, Level, Need, OpenChunk, RowSet, RowValues, Store, StoreError,
    WantedCells,
};

use crate::support::{Files, edit, grid_document, on_disk, open_memory, small};

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        u32::try_from((self.0 >> 33) % u64::from(end.max(1))).unwrap()
    }

    /// A few runs of rows, mostly short ones; now and then none, or all.
    fn rows(&mut self, of: u32) -> RowSet {
        match self.below(20) {
            0 => RowSet::default(),
            1 => RowSet::new(std::iter::once(0..of)),
            _ => RowSet::new((0..=self.below(4)).map(|_| {
                let start = self.below(of);
                start..of.min(start + 1 + self.below(30))
            })),
        }
    }
}

fn blosc(cname: &str, shuffle: &str, typesize: u32, blocksize: u32) -> Value {
    json!([{"name": "blosc", "configuration": {
        "cname": cname, "clevel": 5, "shuffle": shuffle, "typesize": typesize, "blocksize": blocksize
    }}])
}

/// Lists of codecs, and whether ranges are decoded without the rest.
fn chains() -> Vec<(Value, bool)> {
    let mut checked = blosc("lz4", "shuffle", 4, 256);
    checked
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "crc32c"}));
    vec![
        (json!([]), true),
        (json!([{"name": "crc32c"}]), false),
        (
            json!([{"name": "zstd", "configuration": {"level": 0, "checksum": false}}]),
            false,
        ),
        (
            json!([{"name": "gzip", "configuration": {"level": 5}}]),
            false,
        ),
        (blosc("lz4", "shuffle", 4, 256), true),
        (blosc("zstd", "bitshuffle", 4, 500), true),
        (blosc("zlib", "noshuffle", 1, 333), true),
        (blosc("blosclz", "shuffle", 12, 1200), true),
        (checked, true),
    ]
}

/// Two chunks of some rows: positions of two numbers that compress, one attribute with three values per row.
struct Made {
    files: Files,
    /// Positions and attribute of both chunks.
    cells: [[Vec<u8>; 2]; 2],
    rows: u32,
}

fn cell(rows: u32, width: u32, seed: u32) -> Vec<u8> {
    (0..rows * width)
        .flat_map(|i| (seed + i / 3 + (i % 97 * seed) % 5).to_le_bytes())
        .collect()
}

fn made(codecs: &Value, sharded: bool, rows: u32) -> Made {
    let compression = Compression::from_codecs(codecs.clone()).unwrap();
    let mut files = small(2, "point_cloud");
    let cells = [
        [cell(rows, 2, 11), cell(rows, 3, 3)],
        [cell(rows, 2, 7), cell(rows, 3, 5)],
    ];
    let arrays = ["0/vertices", "0/vertex_attributes/a"];
    for (at, path) in arrays.into_iter().enumerate() {
        let chunks: Vec<Vec<u8>> = cells
            .iter()
            .map(|cells| {
                let chunk = VlenBuilder::cell(&cells[at]).unwrap();
                compression.encode(chunk).unwrap()
            })
            .collect();
        let document = grid_document(&[2, 1], &[0, 0], &[vec![0, 0], vec![1, 0]]);
        files.insert(
            format!("{path}/zarr.json"),
            document.to_string().into_bytes(),
        );
        let mut inner = vec![json!({"name": "vlen-bytes", "configuration": {}})];
        inner.extend(codecs.as_array().unwrap().iter().cloned());
        edit(&mut files, &format!("{path}/zarr.json"), |document| {
            if !sharded {
                document["codecs"] = json!(inner);
                return;
            }
            document["chunk_grid"]["configuration"]["chunk_shape"] = json!([2, 1]);
            document["codecs"] = json!([{"name": "sharding_indexed", "configuration": {
                "chunk_shape": [1, 1], "codecs": inner, "index_location": "end", "index_codecs": [
                    {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
            }}]);
        });
        if sharded {
            let mut shard = chunks.concat();
            let lengths = chunks.iter().map(Vec::len);
            let index: Vec<u8> = [(0, chunks[0].len()), (chunks[0].len(), chunks[1].len())]
                .into_iter()
                .flat_map(|(start, length)| [start, length])
                .flat_map(|number| (number as u64).to_le_bytes())
                .collect();
            assert_eq!(lengths.sum::<usize>(), shard.len());
            shard.extend(&index);
            shard.extend(crc32c::crc32c(&index).to_le_bytes());
            files.insert(format!("{path}/c/0/0"), shard);
        } else {
            for (number, chunk) in chunks.into_iter().enumerate() {
                files.insert(format!("{path}/c/{number}/0"), chunk);
            }
        }
    }
    Made { files, cells, rows }
}

/// Reads both chunks, some rows of each.
async fn read(
    level: &Level,
    rows: [RowSet; 2],
    here: bool,
) -> Result<Vec<[RowValues; 2]>, StoreError> {
    let reader = level.chunks(ChunkParts::all_of(level)).unwrap();
    let wanted = WantedCells {
        positions: true,
        fragments: false,
        columns: vec![true],
    };
    let chunks = [0, 1].map(|x| (ChunkCoord::from(&[x, 0][..]), wanted.clone()));
    let take = move |chunks: Vec<OpenChunk>| {
        let chunks = chunks.into_iter().zip(rows);
        let read = chunks.map(|(mut chunk, rows)| {
            let (count, rows) = (chunk.rows()?, Arc::new(rows));
            let positions = chunk.positions(Some(&rows))?;
            let column = chunk.column(0, count, Some(&rows))?;
            Ok([positions, column.unwrap_or_default()])
        });
        read.collect::<Result<Vec<_>, StoreError>>()
    };
    reader.open_map(3, chunks.to_vec(), here, take).await?
}

/// Compares all wanted rows with those of whole cells; returns whether any cell was decoded in part.
fn compare(name: &str, made: &Made, rows: &[RowSet; 2], found: &[[RowValues; 2]]) -> bool {
    let mut parts = false;
    for ((cells, rows), found) in made.cells.iter().zip(rows).zip(found) {
        for (cell, found) in cells.iter().zip(found) {
            let whole = RowValues::new(
                cell.len() / made.rows as usize,
                Bytes::copy_from_slice(cell),
            );
            for run in rows.ranges() {
                assert!(found.range(run.clone()).is_some(), "{name} {run:?}");
                assert_eq!(
                    found.range(run.clone()),
                    whole.range(run.clone()),
                    "{name} {run:?}"
                );
                assert_eq!(found.row(run.start), whole.row(run.start), "{name}");
            }
            parts |= found.is_picked();
        }
    }
    parts
}

async fn level(store: &Store) -> Level {
    store.level(0, &Need::all()).await.unwrap()
}

async fn check(made: &Made, level: &Level, name: &str, sets: usize, numbers: &mut Numbers) -> bool {
    let mut parts = false;
    for at in 0..sets {
        let rows = [numbers.rows(made.rows), numbers.rows(made.rows)];
        let found = read(level, rows.clone(), at % 2 == 0).await.unwrap();
        parts |= compare(name, made, &rows, &found);
    }
    parts
}

/// 10,000 sets of rows of two cells of two chunks each.
#[tokio::test]
async fn any_rows_of_any_codec_are_those_of_the_whole_cell() {
    let mut numbers = Numbers(1);
    for (codecs, in_parts) in chains() {
        for sharded in [false, true] {
            let name = format!("{codecs} sharded {sharded}");
            let made = made(&codecs, sharded, 600);
            let store = open_memory(&made.files).await;
            let parts = check(&made, &level(&store).await, &name, 280, &mut numbers).await;
            // Plain bytes in memory are shared without a copy.
            assert_eq!(parts, in_parts && codecs != json!([]), "{name}");
            let folder = on_disk(&made.files);
            let local = Store::open(folder.path().to_str().unwrap()).await.unwrap();
            check(&made, &level(&local).await, &name, 280, &mut numbers).await;
        }
    }
}

/// Files and chunks of shards that are large enough to be read in parts.
#[tokio::test]
async fn large_files_are_read_in_parts() {
    let mut numbers = Numbers(2);
    for (codecs, in_parts) in chains() {
        for sharded in [false, true] {
            let made = made(&codecs, sharded, 9000);
            let folder = on_disk(&made.files);
            let trace = zvf_store::IoTrace::on();
            let options = zvf_store::OpenOptions::new().with_trace(trace.clone());
            let url = folder.path().to_str().unwrap();
            let local = Store::open_with(url, options).await.unwrap();
            let level = level(&local).await;
            let name = format!("{codecs} sharded {sharded}");
            check(&made, &level, &name, 6, &mut numbers).await;
            drop(trace.take());
            let few = [
                RowSet::new(std::iter::once(8000..8005)),
                RowSet::new(std::iter::once(17..18)),
            ];
            let found = read(&level, few.clone(), true).await.unwrap();
            assert_eq!(compare(&name, &made, &few, &found), in_parts, "{name}");
            // The index of a shard is read together with bytes next to it.
            if codecs == json!([]) && !sharded {
                // The lengths of four cells, and rows of each.
                let read: Option<Vec<u64>> = trace.take().iter().map(|one| one.bytes).collect();
                assert_eq!(
                    read.unwrap().into_iter().sum::<u64>(),
                    4 * 8 + 6 * 8 + 6 * 12,
                    "{name}"
                );
            }
        }
    }
}

/// A block table with any entry changed is an error or gives the same rows, never others.
#[tokio::test]
async fn damaged_block_tables_never_give_other_rows() {
    let mut numbers = Numbers(3);
    let mut refused = 0;
    for (codecs, _) in chains() {
        if codecs[0]["name"] != "blosc" || codecs.as_array().unwrap().len() > 1 {
            continue;
        }
        let good = made(&codecs, false, 600);
        for _ in 0..150 {
            let mut files = good.files.clone();
            let key =
                ["0/vertices/c/0/0", "0/vertex_attributes/a/c/1/0"][numbers.below(2) as usize];
            let frame = files.get_mut(key).unwrap();
            let [nbytes, blocksize] =
                [4, 8].map(|at| u32::from_le_bytes(frame[at..at + 4].try_into().unwrap()));
            let blocks = nbytes.div_ceil(blocksize);
            let at = 16 + 4 * numbers.below(blocks) as usize;
            let other = 16 + 4 * numbers.below(blocks) as usize;
            match numbers.below(3) {
                0 => frame.copy_within(other..other + 4, at),
                1 => frame[at] ^= 1 << numbers.below(8),
                _ => frame[at + 1] ^= 1 << numbers.below(4),
            }
            let store = open_memory(&files).await;
            let level = level(&store).await;
            for _ in 0..4 {
                let rows = [numbers.rows(600), numbers.rows(600)];
                match read(&level, rows.clone(), true).await {
                    Ok(found) => {
                        compare("damaged", &good, &rows, &found);
                    }
                    Err(error) => {
                        assert_eq!(error.class(), zvf_store::Class::Malformed, "{error}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(refused > 200, "{refused}");
}

/// A checksum covers the stored bytes, and is compared before a part of them is decoded.
#[tokio::test]
async fn a_checksum_is_checked_also_where_few_rows_are_read() {
    let (codecs, _) = chains().pop().unwrap();
    let mut made = made(&codecs, false, 600);
    let last = made.files.get_mut("0/vertices/c/0/0").unwrap();
    let at = last.len() - 5;
    last[at] ^= 1;
    let store = open_memory(&made.files).await;
    let first = [RowSet::new(std::iter::once(0..1)), RowSet::default()];
    let error = read(&level(&store).await, first, false).await.unwrap_err();
    assert!(error.to_string().contains("crc32c"), "{error}");
}
