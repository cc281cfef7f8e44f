//! Point clouds: number types, bins, objects, shards, compression.

use serde_json::json;
use zvf_query::Query;
use zvf_write::{Compression, Kind, NumberType, Outside, StoreSpec, StoreWriter};

use crate::model::Model;
use crate::support::{ADDRESS, Memory, ask};

/// Points on a coarse lattice, many of them exactly on the borders of chunks and bins.
fn lattice(dims: usize, count: usize, low: f64, step: f64) -> Vec<Vec<f64>> {
    (0..count)
        .map(|n| {
            (0..dims)
                .map(|axis| low + step * ((n * (axis * 7 + 3) + n / 11) % 13) as f64)
                .collect()
        })
        .collect()
}

#[tokio::test]
async fn every_number_type_in_one_to_four_dimensions() {
    for (at, number) in NumberType::ALL
        .iter()
        .copied()
        .filter(|number| *number != NumberType::Bool)
        .enumerate()
    {
        let dims = at % 4 + 1;
        let signed = number.is_float() || number.to_string().starts_with("int");
        let low = if signed { -18.0 } else { 0.0 };
        let spec = StoreSpec::new(Kind::PointCloud, vec![10.0; dims]).with_positions(number);
        let boxes = [
            (vec![low; dims], vec![low + 12.0; dims]),
            (vec![-3.0; dims], vec![10.0; dims]),
        ];
        Model::new(spec, lattice(dims, 200, low, 3.0))
            .round_trip(&boxes)
            .await;
    }
}

/// Codecs that only the `zarrs` crate supports.
fn pipelines() -> Vec<Compression> {
    if !cfg!(feature = "zarrs") {
        return Vec::new();
    }
    [
        json!([{"name": "numcodecs.zlib", "configuration": {"level": 5}}]),
        json!([{"name": "numcodecs.bz2", "configuration": {"level": 9}}, "crc32c"]),
        json!([{"name": "zstd", "configuration": {"level": 3, "checksum": true}}]),
        json!([
            {"name": "blosc", "configuration":
                {"typesize": 8, "cname": "lz4", "clevel": 9, "shuffle": "shuffle", "blocksize": 0}},
            {"name": "numcodecs.fletcher32"},
            {"name": "gzip", "configuration": {"level": 1}},
        ]),
    ]
    .map(|codecs| Compression::from_codecs(codecs).unwrap())
    .to_vec()
}

#[tokio::test]
async fn every_compression_with_and_without_shards() {
    let kinds = [
        Compression::None,
        Compression::Zstd,
        Compression::ZstdLevel(19),
        Compression::Gzip(6),
        Compression::Checksum(Box::new(Compression::Zstd)),
    ];
    let blosc = Some(Compression::Blosc(4)).filter(|_| cfg!(feature = "zarrs"));
    for compression in kinds.into_iter().chain(blosc).chain(pipelines()) {
        for shards in [None, Some(vec![2, 3, 1])] {
            let mut spec =
                StoreSpec::new(Kind::PointCloud, [4.0; 3]).with_compression(compression.clone());
            spec.shard_shape = shards.into();
            Model::new(spec, lattice(3, 300, -9.0, 1.5))
                .round_trip(&[(vec![-4.0; 3], vec![4.0; 3])])
                .await;
        }
    }
}

#[tokio::test]
async fn empty_bins_are_fragments_too() {
    // The worked example of 0.9 §10.2: eight fragments of sizes 0 0 0 0 1 1 1 0.
    let memory = Memory::default();
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3])
        .with_bin_shape([5.0; 3])
        .with_compression(Compression::None);
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let rows = [8.1_f32, 4.0, 1.8, 6.7, 3.0, 9.0, 6.0, 8.4, 0.6];
    writer.push(&zvf_write::Batch::new(&rows[..])).unwrap();
    writer.finish().await.unwrap();
    let files = memory.files().await;
    let blob = &files["0/vertex_fragments/c/0/0/0"][8..];
    let counts: Vec<u8> = (0..8).map(|at| blob[24 + at * 16 + 8]).collect();
    assert_eq!(counts, [0, 0, 0, 0, 1, 1, 1, 0]);
}

#[tokio::test]
async fn objects_in_any_order_and_with_awkward_ids() {
    let awkward = [0, -4, 7, 1 << 62, i64::MIN, i64::MAX, 3];
    let spec = StoreSpec::new(Kind::PointCloud, [5.0; 3]).with_objects();
    let mut model = Model::new(spec, lattice(3, 400, -20.0, 2.5));
    model.ids = Some(
        (0..400)
            .map(|n| awkward[(n * n + n / 3) % awkward.len()])
            .collect(),
    );
    model.cuts = vec![1, 50, 51, 300];
    model.budget = 0;
    model.round_trip(&[(vec![-10.0; 3], vec![0.0; 3])]).await;
}

#[tokio::test]
async fn bounds_are_kept_or_grow() {
    for (outside, wanted) in [
        (Outside::Refuse, [[-50.0, -50.0], [60.0, 60.0]]),
        (Outside::Grow, [[-50.0, -50.0], [60.0, 99.0]]),
    ] {
        let memory = Memory::default();
        let high = if outside == Outside::Grow { 99.0 } else { 9.0 };
        let spec =
            StoreSpec::new(Kind::PointCloud, [10.0; 2]).with_bounds([-50.0; 2], [60.0; 2], outside);
        let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
            .await
            .unwrap();
        writer
            .push(&zvf_write::Batch::new(vec![1.0_f32, high]))
            .unwrap();
        writer.finish().await.unwrap();
        let root: serde_json::Value =
            serde_json::from_slice(&memory.files().await["zarr.json"]).unwrap();
        assert_eq!(
            root["attributes"]["zarr_vectors"]["bounds"],
            serde_json::json!(wanted)
        );
        assert_eq!(
            ask(&memory.open().await, Query::default())
                .await
                .vertices
                .num_rows(),
            1
        );
    }
}

#[tokio::test]
async fn a_store_without_points_has_arrays_and_no_cells() {
    for kind in [
        Kind::PointCloud,
        Kind::Polyline,
        Kind::Graph,
        Kind::Mesh,
        Kind::Skeleton,
    ] {
        let memory = Memory::default();
        let spec =
            StoreSpec::new(kind, [10.0; 2]).with_bounds([-50.0; 2], [60.0; 2], Outside::Refuse);
        let writer = StoreWriter::create(ADDRESS, spec, memory.options())
            .await
            .unwrap();
        writer.finish().await.unwrap();
        let files = memory.files().await;
        crate::support::check_documents(&files);
        assert!(!files.keys().any(|key| key.contains("vertices/c/")));
        let level: serde_json::Value = serde_json::from_slice(&files["0/zarr.json"]).unwrap();
        assert_eq!(
            level["attributes"]["zarr_vectors_level"].get("fragments_tile"),
            None
        );
        assert_eq!(
            ask(&memory.open().await, Query::default())
                .await
                .vertices
                .num_rows(),
            0
        );
    }
}
