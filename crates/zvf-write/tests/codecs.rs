//! Codecs chosen from the data: the same for any number of threads, no larger than zstd, kept by appends.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use zvf_edit::Edit;
use zvf_migrate::{MigrateOptions, migrate};
use zvf_query::{Filter, Outputs, Query, Select};
use zvf_store::Store;
use zvf_testkit::sample::Sample;
use zvf_validate::{Depth, ValidateOptions, validate};
use zvf_write::{
    AttributeSpec, Batch, Compression, Kind, NumberType, StoreSpec, StoreWriter, TargetVersion,
    WriteOptions,
};

/// All files of a store, by their paths.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(one) = folders.pop() {
        for entry in std::fs::read_dir(one).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let key = path.strip_prefix(folder).unwrap().to_string_lossy();
                found.insert(key.into_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// The last codec of each array of a level that has cells: its name, and the size of its elements.
fn codecs(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, (String, Value)> {
    let mut found = BTreeMap::new();
    for (key, bytes) in files.iter().filter(|(key, _)| key.ends_with("zarr.json")) {
        let document: Value = serde_json::from_slice(bytes).unwrap();
        let Some(codecs) = document["codecs"].as_array() else {
            continue;
        };
        let inner = codecs[0]["configuration"]["codecs"].as_array();
        let codec = inner.unwrap_or(codecs).last().unwrap();
        let name = codec["name"].as_str().unwrap().to_owned();
        found.insert(key.clone(), (name, codec["configuration"].clone()));
    }
    found
}

fn bytes(files: &BTreeMap<String, Vec<u8>>) -> usize {
    files.values().map(Vec::len).sum()
}

/// Smooth lines of 50 points with an attribute of few values, in several chunks of about ten thousand points.
fn lines(count: u16) -> (Vec<f32>, Vec<i32>, Vec<(i64, usize)>) {
    let (mut positions, mut labels, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    for line in 0..count {
        let mut at = [
            f32::from(line % 37),
            f32::from(line % 23),
            f32::from(line % 11),
        ];
        for step in 0..50_u16 {
            at[0] += 0.7 + f32::from((line * 7 + step * 13) % 17) / 64.0;
            at[1] += f32::from((line + step * 5) % 29) / 128.0;
            at[2] += 0.01;
            positions.extend(at);
            labels.push(i32::from(line % 5));
        }
        runs.push((i64::from(line), 50));
    }
    (positions, labels, runs)
}

fn spec() -> StoreSpec {
    StoreSpec::new(Kind::Streamline, [40.0; 3])
        .with_vertex_attribute(AttributeSpec::number("label", NumberType::I32))
}

async fn write(folder: &Path, spec: StoreSpec, options: WriteOptions) {
    let url = folder.to_str().unwrap();
    let mut writer = StoreWriter::create(url, spec, options).await.unwrap();
    let (positions, labels, runs) = lines(900);
    let batch = Batch::new(&positions[..])
        .with_object_runs(&runs[..])
        .with_attribute("label", &labels[..]);
    writer.push(&batch).unwrap();
    writer.finish().await.unwrap();
}

#[tokio::test]
async fn chosen_codecs_do_not_depend_on_threads_and_are_smaller_than_zstd() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let options = || WriteOptions::new().with_durable(false);
    for (name, threads) in [("one", 1), ("four", 4), ("again", 4)] {
        write(&path(name), spec(), options().with_threads(threads)).await;
    }
    let zstd = spec().with_compression(Compression::Zstd);
    write(&path("zstd"), zstd, options()).await;
    let names = ["one", "four", "again", "zstd"];
    let [one, four, again, zstd] = names.map(|name| files(&path(name)));
    // The document of the root contains the name of the store.
    let cells = |files: &BTreeMap<String, Vec<u8>>| {
        let below = files.iter().filter(|(key, _)| key.starts_with("0/"));
        let below = below.map(|(key, bytes)| (key.clone(), bytes.clone()));
        below.collect::<BTreeMap<_, _>>()
    };
    assert_eq!(cells(&one), cells(&four));
    assert_eq!(cells(&four), cells(&again));
    assert!(
        bytes(&four) < bytes(&zstd),
        "{} and {}",
        bytes(&four),
        bytes(&zstd)
    );
    assert!(four.keys().eq(zstd.keys()));
    let chosen = codecs(&four);
    let (name, configuration) = &chosen["0/vertices/zarr.json"];
    assert_eq!(name, "blosc");
    assert_eq!(configuration["shuffle"], "shuffle");
    let zstd = codecs(&zstd);
    assert!(zstd.values().all(|(name, _)| name == "zstd"), "{zstd:?}");
}

/// The first job in the order of chunks has one vertex a chunk, from which zstd would be chosen.
#[tokio::test]
async fn codecs_are_chosen_from_large_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let options = WriteOptions::new().with_durable(false);
    let url = path.to_str().unwrap();
    let mut writer = StoreWriter::create(url, spec(), options).await.unwrap();
    let (positions, labels, runs) = lines(900);
    let alone = |n: u16| [f32::from(n) * 40.0 - 16_000.0, -500.0, -500.0];
    let corner: Vec<f32> = (0..300).flat_map(alone).collect();
    let each: Vec<(i64, usize)> = (1000..1300).map(|id| (id, 1)).collect();
    for (positions, labels, runs) in [
        (&corner[..], &[7; 300][..], &each[..]),
        (&positions, &labels, &runs),
    ] {
        let batch = Batch::new(positions)
            .with_object_runs(runs)
            .with_attribute("label", labels);
        writer.push(&batch).unwrap();
    }
    writer.finish().await.unwrap();
    let chosen = codecs(&files(&path));
    let (name, configuration) = &chosen["0/vertices/zarr.json"];
    assert_eq!(name, "blosc");
    assert_eq!(configuration["shuffle"], "shuffle");
}

#[tokio::test]
async fn appends_keep_the_codec_of_each_array_and_old_versions_have_zstd() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    write(&path, spec(), WriteOptions::new()).await;
    let before = codecs(&files(&path));
    let url = path.to_str().unwrap();
    let mut edit = Edit::open(url, WriteOptions::new()).await.unwrap();
    let (positions, labels, _) = lines(4);
    let batch = Batch::new(&positions[..])
        .with_object_runs(vec![(5000, 100), (5001, 100)])
        .with_attribute("label", &labels[..]);
    edit.append(&batch).await.unwrap();
    edit.commit().await.unwrap();
    let mut edit = Edit::open(url, WriteOptions::new()).await.unwrap();
    edit.delete(&[3, 5001]).await.unwrap();
    edit.commit().await.unwrap();
    assert_eq!(codecs(&files(&path)), before);
    let options = ValidateOptions::new(Depth::Multiscale);
    let report = validate(url, &options).await.unwrap();
    assert!(report.is_ok(), "{report:?}");

    let path = folder.path().join("older");
    let older = spec().with_target(TargetVersion::V0_8_1);
    write(
        &path,
        older.with_shard_shape([2, 2, 2]),
        WriteOptions::new(),
    )
    .await;
    let found = codecs(&files(&path));
    assert!(found.values().all(|(name, _)| name == "zstd"), "{found:?}");
}

/// Overwrites the largest cell of positions but for its first blocks: only queries that use positions fail.
#[tokio::test]
async fn queries_without_positions_decode_only_the_lengths_of_their_cells() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    write(&path, spec(), WriteOptions::new()).await;
    let all = files(&path);
    let cells = all
        .iter()
        .filter(|(key, _)| key.starts_with("0/vertices/c/"));
    let (key, bytes) = cells.max_by_key(|(_, bytes)| bytes.len()).unwrap();
    let mut damaged = bytes.clone();
    assert!(damaged.len() > 20_000, "{} bytes", damaged.len());
    damaged[20_000..].fill(0xff);
    std::fs::write(path.join(key), damaged).unwrap();
    let store = Store::open(path.to_str().unwrap()).await.unwrap();
    let only = |column: &str| Query {
        columns: vec![column.parse().unwrap()],
        outputs: Outputs {
            vertices: true,
            links: false,
            objects: false,
        },
        ..Query::default()
    };
    for (column, select) in [
        ("label", Select::Vertices),
        ("object_id", Select::Vertices),
        ("label", Select::Objects),
    ] {
        let query = Query {
            select,
            ..only(column)
        };
        let found = zvf_query::query(&store, query).await.unwrap();
        let found = found.collect().await.unwrap();
        assert_eq!(found.summary.vertices, 45_000, "{column}");
    }
    let condition = Filter::parse("label == 3").unwrap();
    let query = Query {
        filter: Some(condition),
        ..only("label")
    };
    let found = zvf_query::query(&store, query).await.unwrap();
    assert_eq!(found.collect().await.unwrap().summary.vertices, 9_000);
    for (column, condition) in [
        ("position", "label == 3"),
        ("x", "label == 3"),
        ("label", "x > 0"),
    ] {
        let query = Query {
            filter: Some(Filter::parse(condition).unwrap()),
            ..only(column)
        };
        let found = zvf_query::query(&store, query).await;
        let found = match found {
            Ok(found) => found.collect().await.map(|_| ()),
            Err(error) => Err(error),
        };
        let error = found.unwrap_err().to_string();
        assert!(error.contains("vertices"), "{column}, {condition}: {error}");
    }
}

/// Copies of all bundled stores: with chosen codecs they have as many files as with zstd, and no more bytes.
#[tokio::test(flavor = "multi_thread")]
async fn copies_of_bundled_stores_are_no_larger_than_with_zstd() {
    let cases = zvf_testkit::all_cases().unwrap();
    let mut smaller = 0;
    for case in Sample::new("codecs of copies").some(cases, 4) {
        let source = zvf_testkit::unpacked(&case).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut sizes = Vec::new();
        for (name, compression) in [("auto", Compression::Auto), ("zstd", Compression::Zstd)] {
            let url = folder.path().join(name);
            let options = MigrateOptions::new().with_compression(compression);
            let url = url.to_str().unwrap();
            let store = Store::open(&source.url().unwrap()).await.unwrap();
            migrate(&store, url, options).await.unwrap();
            sizes.push(files(Path::new(url)));
        }
        let [auto, zstd] = [&sizes[0], &sizes[1]];
        assert_eq!(auto.len(), zstd.len(), "{case}");
        // The names of both stores have the same length, since the document of the root contains the name.
        assert!(
            bytes(auto) <= bytes(zstd),
            "{case}: {} and {}",
            bytes(auto),
            bytes(zstd)
        );
        smaller += usize::from(bytes(auto) < bytes(zstd));
    }
    assert!(smaller > 0);
}
