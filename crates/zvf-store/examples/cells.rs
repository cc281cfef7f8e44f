//! Measures reading 10 648 small cells from the local disk, warm: plain file reads, this crate, an object store's
//! disk backend, and `zarrs`.
//!
//! ```sh
//! cargo run --release -p zvf-store --features zarrs --example cells
//! ```
//!
//! Arguments after `--` select the lines that contain all of them. Prints a table of microseconds per cell, median and best of the rounds, for cells
//! that are zstd or raw, one object per cell or sharded. All readers read the same cells in the same random order, and their sums are compared.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a program for developers"
)]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use object_store::local::LocalFileSystem;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::{Value, json};
use zarrs::array::{Array, ArrayBytes, ArraySubset};
use zarrs::filesystem::FilesystemStore;
use zvf_store::format::vlen::{VlenBuilder, VlenChunk};
use zvf_store::{CellWant, GridArray, Need, OpenOptions, Store};

const SIDE: u64 = 22;
const SHARD: u64 = 8;
const BATCH: usize = 64;
const ROUNDS: usize = 7;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    println!("| cells | way | µs a cell, median | best |");
    println!("|---|---|---|---|");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    for sharded in [false, true] {
        for zstd in [true, false] {
            let folder = tempfile::tempdir()?;
            write(folder.path(), zstd, sharded)?;
            measure(&runtime, folder.path(), zstd, sharded)?;
        }
    }
    Ok(())
}

/// About 92 points of three floats: 1.1 KB, which zstd hardly compresses.
fn payload(cell: u64) -> Vec<u8> {
    let mut x = cell.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::new();
    for _ in 0..(85 + cell % 15) * 3 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        let value = (x % 100_000) as f32 / 100.0;
        bytes.extend(value.to_le_bytes());
    }
    bytes
}

fn write(root: &Path, zstd: bool, sharded: bool) -> Result<(), Error> {
    let encode = |cell| -> Result<Vec<u8>, Error> {
        let framed = VlenBuilder::cell(&payload(cell))?;
        Ok(if zstd {
            ::zstd::bulk::compress(&framed, 3)?
        } else {
            framed
        })
    };
    let keys: Vec<String> = (0..SIDE.pow(3))
        .map(|c| split(c).map(|i| i.to_string()).join("."))
        .collect();
    let inner: Vec<Value> = [json!({"name": "vlen-bytes"})]
        .into_iter()
        .chain(
            zstd.then(|| json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}})),
        )
        .collect();
    let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let (chunk, codecs) = if sharded {
        let sharding = json!({"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 1, 1], "codecs": inner,
            "index_codecs": [little, {"name": "crc32c"}], "index_location": "end"}});
        ([SHARD; 3], json!([sharding]))
    } else {
        ([1; 3], json!(inner))
    };
    let document = json!({
        "shape": [SIDE, SIDE, SIDE], "data_type": "variable_length_bytes",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": "", "codecs": codecs, "attributes": {"nonempty_chunks": keys, "dtype": "float32"},
        "zarr_format": 3, "node_type": "array", "storage_transformers": []
    });
    let put = |key: String, bytes: &[u8]| -> Result<(), Error> {
        let path = root.join(key);
        std::fs::create_dir_all(path.parent().ok_or("no folder")?)?;
        Ok(std::fs::write(path, bytes)?)
    };
    put("zarr.json".into(), root_document().to_string().as_bytes())?;
    put(
        "0/zarr.json".into(),
        level_document().to_string().as_bytes(),
    )?;
    put(
        "0/vertices/zarr.json".into(),
        document.to_string().as_bytes(),
    )?;
    if !sharded {
        for cell in 0..SIDE.pow(3) {
            put(
                format!(
                    "0/vertices/c/{}",
                    split(cell).map(|i| i.to_string()).join("/")
                ),
                &encode(cell)?,
            )?;
        }
        return Ok(());
    }
    let shards = SIDE.div_ceil(SHARD);
    for shard in 0..shards.pow(3) {
        let at = [
            shard / shards / shards,
            shard / shards % shards,
            shard % shards,
        ];
        let (mut body, mut index) = (Vec::new(), Vec::new());
        for inside in 0..SHARD.pow(3) {
            let c = [
                at[0] * SHARD + inside / SHARD / SHARD,
                at[1] * SHARD + inside / SHARD % SHARD,
                at[2] * SHARD + inside % SHARD,
            ];
            if c.iter().any(|i| *i >= SIDE) {
                index.extend([0xFF; 16]);
                continue;
            }
            let bytes = encode((c[0] * SIDE + c[1]) * SIDE + c[2])?;
            index.extend((body.len() as u64).to_le_bytes());
            index.extend((bytes.len() as u64).to_le_bytes());
            body.extend(bytes);
        }
        let checksum = crc32c::crc32c(&index);
        body.extend(index);
        body.extend(checksum.to_le_bytes());
        put(
            format!("0/vertices/c/{}", at.map(|i| i.to_string()).join("/")),
            &body,
        )?;
    }
    Ok(())
}

fn split(cell: u64) -> [u64; 3] {
    [cell / SIDE / SIDE, cell / SIDE % SIDE, cell % SIDE]
}

fn root_document() -> Value {
    json!({"zarr_format": 3, "node_type": "group", "attributes": {
        "zarr_vectors": {"zv_version": "0.9.2", "chunk_shape": [10, 10, 10], "bounds": [[0, 0, 0], [219, 219, 219]],
            "geometry_types": ["point_cloud"], "format_capabilities": []},
        "multiscales": [{"version": "0.4", "name": "default", "datasets": [],
            "axes": [{"name": "x", "type": "space"}, {"name": "y", "type": "space"}, {"name": "z", "type": "space"}]}]}})
}

fn level_document() -> Value {
    json!({"zarr_format": 3, "node_type": "group", "attributes": {"zarr_vectors_level": {"level": 0, "vertex_count": 0,
        "arrays_present": [], "object_sparsity": 1.0, "coarsening_method": "none", "parent_level": null}}})
}

/// All cells in a random order that is the same in every run.
fn order() -> Vec<u64> {
    let mut cells: Vec<u64> = (0..SIDE.pow(3)).collect();
    let mut x = 88_172_645_463_325_252u64;
    for i in (1..cells.len()).rev() {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        cells.swap(i, (x % (i as u64 + 1)) as usize);
    }
    cells
}

/// A number that changes if a cell is missing.
fn sum(cell: &[u8]) -> u64 {
    cell.len() as u64 + u64::from(cell[cell.len() / 2])
}

fn report(name: &str, way: &str, mut run: impl FnMut() -> u64) {
    if !std::env::args()
        .skip(1)
        .all(|word| name.contains(&word) || way.contains(&word))
    {
        return;
    }
    let expected: u64 = (0..SIDE.pow(3)).map(|c| sum(&payload(c))).sum();
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let found = black_box(run());
            let time = start.elapsed().as_secs_f64() * 1e6 / SIDE.pow(3) as f64;
            assert_eq!(found, expected, "{way} reads something else");
            time
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!(
        "| {name} | {way} | {:.2} | {:.2} |",
        times[ROUNDS / 2],
        times[0]
    );
}

fn wants(array: &Arc<GridArray>, cells: &[u64]) -> Vec<CellWant> {
    cells
        .iter()
        .map(|c| CellWant::new(array, split(*c).map(|i| i as i64)))
        .collect()
}

fn measure(
    runtime: &tokio::runtime::Runtime,
    root: &Path,
    zstd: bool,
    sharded: bool,
) -> Result<(), Error> {
    let name = format!(
        "{}, {}",
        if zstd { "zstd" } else { "raw" },
        if sharded { "8³ a shard" } else { "one a file" }
    );
    let cells = order();
    let mut context = ::zstd::bulk::Decompressor::new()?;
    let mut decode = move |bytes: Vec<u8>| -> u64 {
        let bytes = if zstd {
            context.decompress(&bytes, 1 << 20).unwrap()
        } else {
            bytes
        };
        sum(VlenChunk::parse_cell(&bytes).unwrap())
    };
    if !sharded {
        report(&name, "plain file reads, one thread", || {
            let mut total = 0;
            for cell in &cells {
                let path = root.join(format!(
                    "0/vertices/c/{}",
                    split(*cell).map(|i| i.to_string()).join("/")
                ));
                total += decode(std::fs::read(path).unwrap());
            }
            total
        });
    }

    let url = root.to_str().ok_or("path")?;
    let store = runtime.block_on(Store::open(url))?;
    let level = runtime.block_on(store.level(0, &Need::default()))?;
    let batches = |tasks: usize| {
        runtime.block_on(async {
            let mut total = 0;
            let requests = cells.chunks(BATCH).map(|batch| {
                store.fetch_map(1, wants(level.vertices(), batch), |cells| {
                    cells.iter().flatten().map(|c| sum(c)).sum()
                })
            });
            let mut running =
                futures::StreamExt::buffer_unordered(futures::stream::iter(requests), tasks);
            while let Some(part) = futures::StreamExt::next(&mut running).await {
                let part: u64 = part.unwrap();
                total += part;
            }
            total
        })
    };
    report(&name, "zvf-store, batches of 64, one at a time", || {
        batches(1)
    });
    report(&name, "zvf-store, batches of 64, two at a time", || {
        batches(2)
    });

    let backend: Arc<dyn ObjectStore> = Arc::new(LocalFileSystem::new_with_prefix(root)?);
    if !sharded {
        report(
            &name,
            "object_store `LocalFileSystem`, 32 at a time",
            || {
                runtime.block_on(async {
                    let gets = cells.iter().map(|cell| {
                        let (key, backend) = (
                            split(*cell).map(|i| i.to_string()).join("/"),
                            Arc::clone(&backend),
                        );
                        async move {
                            let path =
                                object_store::path::Path::parse(format!("0/vertices/c/{key}"))
                                    .unwrap();
                            backend.get(&path).await.unwrap().bytes().await.unwrap()
                        }
                    });
                    let mut running =
                        futures::StreamExt::buffer_unordered(futures::stream::iter(gets), 32);
                    let mut total = 0;
                    while let Some(bytes) = futures::StreamExt::next(&mut running).await {
                        total += decode(bytes.into());
                    }
                    total
                })
            },
        );
    }
    let options = OpenOptions::new().with_object_store(backend);
    let remote = runtime.block_on(Store::open_with("memory:///", options))?;
    let far = runtime.block_on(remote.level(0, &Need::default()))?;
    report(
        &name,
        "zvf-store over `LocalFileSystem`, batches of 64",
        || {
            runtime.block_on(async {
                let mut total = 0;
                for batch in cells.chunks(BATCH) {
                    let wants = wants(far.vertices(), batch);
                    let part: u64 = remote
                        .fetch_map(1, wants, |cells| {
                            cells.iter().flatten().map(|c| sum(c)).sum()
                        })
                        .await
                        .unwrap();
                    total += part;
                }
                total
            })
        },
    );

    let array = Array::open(Arc::new(FilesystemStore::new(root)?), "/0/vertices")?;
    let some: &[u64] = if sharded { &[] } else { &cells };
    if !some.is_empty() {
        report(&name, "zarrs, cell by cell", || {
            some.iter()
                .map(|cell| {
                    let bytes: ArrayBytes<'static> = array.retrieve_chunk(&split(*cell)).unwrap();
                    let (bytes, _) = bytes.into_variable().unwrap().into_parts();
                    sum(&bytes)
                })
                .sum()
        });
    }
    report(&name, "zarrs, whole array", || {
        let bytes: ArrayBytes<'static> = array
            .retrieve_array_subset(&ArraySubset::new_with_shape(vec![SIDE; 3]))
            .unwrap();
        let (bytes, offsets) = bytes.into_variable().unwrap().into_parts();
        offsets.windows(2).map(|w| sum(&bytes[w[0]..w[1]])).sum()
    });
    Ok(())
}
