//! Copies of every bundled store in the newest version: they answer every query with the input, and all documents
//! follow the rules of the format.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use zvf_meta::rules::Severity;
use zvf_migrate::{MigrateOptions, MigrationReport, migrate};
use zvf_store::{Need, OpenOptions, Store};
use zvf_write::{TargetVersion, WriteError};

use zvf_query::Query;

use crate::make::Made;
use crate::support::{ask, bundled};
use zvf_testkit::sample::Sample;

const ADDRESS: &str = "memory:///new/copy.zarrvectors";

/// Copies a store to memory; returns the copy with its report and its files.
pub(crate) async fn copy(
    store: &Store,
    options: MigrateOptions,
) -> Result<(Store, MigrationReport, BTreeMap<String, Vec<u8>>), WriteError> {
    let memory = Arc::new(InMemory::new());
    let open = OpenOptions::new().with_object_store(Arc::clone(&memory) as Arc<dyn ObjectStore>);
    let mut write = options.write.clone();
    write.open = open.clone();
    let report = migrate(store, ADDRESS, options.with_write(write.with_threads(2))).await?;
    let mut files = BTreeMap::new();
    let all: Vec<_> = memory.list(None).try_collect().await.unwrap();
    for meta in all {
        let bytes = memory
            .get(&meta.location)
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap();
        let key = meta.location.as_ref().strip_prefix("new/copy.zarrvectors/");
        files.insert(key.unwrap().to_owned(), bytes.to_vec());
    }
    Ok((
        Store::open_with(ADDRESS, open).await.unwrap(),
        report,
        files,
    ))
}

/// Checks that all documents follow the rules.
fn check_documents(name: &str, files: &BTreeMap<String, Vec<u8>>) {
    let root = String::from_utf8_lossy(&files["zarr.json"]);
    let older = root.contains("\"zv_version\": \"0.8.1\"");
    let checked = zvf_meta::rules::check_documents(files);
    assert!(
        checked.unreadable.is_empty(),
        "{name}: {:?}",
        checked.unreadable
    );
    let problems = checked
        .problems
        .iter()
        .filter(|one| one.severity != Severity::Note)
        // Roots are checked with the rules of 0.9, whatever their version; older roots lack this node.
        .filter(|one| !older || !one.to_string().contains("ome-present"));
    let problems: Vec<String> = problems.map(ToString::to_string).collect();
    assert!(problems.is_empty(), "{name}: {problems:#?}");
}

async fn check(name: &str, target: TargetVersion) {
    let old = bundled(name).await;
    let (new, report, files) = copy(&old, MigrateOptions::new().with_target(target))
        .await
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(new.root().zarr_vectors.zv_version, target.version());
    assert_eq!(report.levels.len(), old.levels().len());
    crate::fixtures::check_store(name, &new, true).await;
    check_documents(name, &files);
    let verified = report.verified.unwrap();
    let vertices: u64 = report.levels.iter().map(|level| level.vertices).sum();
    assert_eq!(verified.vertices, vertices, "{name}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_bundled_store_answers_right_after_migration() {
    let sample = Sample::new("migration");
    for name in sample.some(zvf_testkit::all_cases().unwrap(), 4) {
        check(&name, TargetVersion::V0_9_2).await;
    }
}

/// In 0.8.1 ids are row numbers: a store with other ids is refused with the first such id, and nothing is written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_bundled_store_answers_right_as_0_8_1() {
    let mut refused = Vec::new();
    for name in zvf_testkit::all_cases().unwrap() {
        let old = bundled(&name).await;
        let mut ids = Vec::new();
        for &number in old.levels() {
            let level = old.level(number, &Need::all()).await.unwrap();
            if let Some(index) = level.object_index() {
                ids.extend(index.ids().await.unwrap().iter());
            }
        }
        if ids.iter().all(|id| (0..1 << 26).contains(id)) {
            check(&name, TargetVersion::V0_8_1).await;
            continue;
        }
        let options = MigrateOptions::new().with_target(TargetVersion::V0_8_1);
        let told = copy(&old, options).await.unwrap_err().to_string();
        assert!(told.contains("the number of its row"), "{name}: {told}");
        refused.push(name);
    }
    assert_eq!(
        refused,
        ["0.9.4/additive_streamlines", "0.9.4/dense_points"]
    );
}

/// Copies to an older version and back: levels and the links between them remain.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_of_copies_keep_levels_and_links_between_them() {
    for name in ["0.7/pyramid", "0.8/pyramid_cells"] {
        let to = MigrateOptions::new().with_target(TargetVersion::V0_8_1);
        let (older, ..) = copy(&bundled(name).await, to).await.unwrap();
        crate::made::check_levels(name, &older).await;
        let (newer, report, _) = copy(&older, MigrateOptions::new()).await.unwrap();
        crate::made::check_levels(name, &newer).await;
        assert_eq!(report.losses, []);
    }
}

async fn copied(name: &str) -> Store {
    copy(&bundled(name).await, MigrateOptions::new())
        .await
        .unwrap()
        .0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn absence_stays_absence() {
    for (name, told) in [("0.7/masks", "masked"), ("0.8/sentinels", "sentinels")] {
        let case = zvf_testkit::case(name).unwrap();
        crate::made::check_object_columns(name, &copied(name).await, &case.document[told]).await;
    }
}

/// Chunks smaller and larger than before, with another factor on every axis, as plain chunks and in shards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_bundled_store_answers_right_in_chunks_of_another_shape() {
    let sample = Sample::new("chunks of another shape");
    for name in sample.some(zvf_testkit::all_cases().unwrap(), 8) {
        // In such a store, the old chunks determine which links lost their values.
        if zvf_testkit::case(&name).unwrap().link_weight_incomplete {
            continue;
        }
        let old = bundled(&name).await;
        for factors in [
            [2.0, 3.0, 1.5, 4.0],
            [0.4, 0.5, 0.7, 0.3],
            [64.0, 64.0, 64.0, 64.0],
        ] {
            // Thousands of chunks test nothing more than dozens.
            if name.contains("real_") && factors[0] < 1.0 {
                continue;
            }
            let shape = old.root().zarr_vectors.chunk_shape.iter().zip(factors);
            let shape: Vec<f64> = shape.map(|(size, factor)| size * factor).collect();
            let dims = shape.len();
            let options = MigrateOptions::new().with_chunk_shape(shape);
            let options = options.with_shard_shape(vec![2; dims]);
            let (new, report, files) = match copy(&old, options).await {
                Ok(copied) => copied,
                // With some shapes, a chunk does not contain whole bins of every coarser level.
                Err(error)
                    if old.levels().len() > 1
                        && error.to_string().contains("multiples of their bins") =>
                {
                    continue;
                }
                Err(error) => panic!("{name}: {error}"),
            };
            crate::fixtures::check_store(&name, &new, true).await;
            check_documents(&name, &files);
            assert!(report.verified.is_some());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_between_levels_join_the_same_vertices() {
    for name in ["0.7/pyramid", "0.8/pyramid_cells"] {
        crate::made::check_levels(name, &copied(name).await).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_read_is_told_and_the_rest_is_carried() {
    for name in zvf_testkit::refused_cases().unwrap() {
        let case = zvf_testkit::case(&name).unwrap();
        if case.queries.is_empty() {
            continue;
        }
        let old = bundled(&name).await;
        let (new, report, _) = copy(&old, MigrateOptions::new()).await.unwrap();
        crate::fixtures::check_store(&name, &new, true).await;
        let told: Vec<String> = report
            .losses
            .iter()
            .map(|loss| format!("{}: {}", loss.place, loss.what))
            .collect();
        for wanted in &case.expect {
            let place = wanted.split(':').next().unwrap();
            assert!(
                told.iter().any(|text| text.contains(place)),
                "{name}: no {wanted} in {told:?}"
            );
        }
        let error = copy(&old, MigrateOptions::new().with_strict(true))
            .await
            .unwrap_err();
        assert_eq!(error.class(), zvf_store::Class::Malformed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn known_defects_are_repaired_and_counted() {
    let repaired = |report: &MigrationReport, place: &str, words: &str| {
        let found = report
            .repairs
            .iter()
            .find(|one| one.place == place && one.what.contains(words));
        found
            .unwrap_or_else(|| panic!("no {words} of {place} in {report:#?}"))
            .count
    };
    let copied = async |files: BTreeMap<String, Vec<u8>>| {
        let old = crate::support::memory(&files).await;
        let mut all = Vec::new();
        for options in [
            MigrateOptions::new(),
            MigrateOptions::new().with_chunk_shape([4.0, 30.0, 30.0]),
        ] {
            let (new, report, files) = copy(&old, options).await.unwrap();
            check_documents("made", &files);
            all.push((new, report));
        }
        all
    };
    // T5: the one record between chunks goes from parent to child.
    for (new, report) in copied(crate::traps::streamed().files()).await {
        crate::traps::check_streamed(&new).await;
        assert_eq!(repaired(&report, "0/links/0", "were reversed"), 1);
        assert!(
            !new.level(0, &Need::all())
                .await
                .unwrap()
                .links(0)
                .unwrap()
                .directed()
        );
    }
    // T8: two columns are declared as one.
    let made = crate::traps::two_columns(serde_json::json!({"dtype": "int16", "row_shape": []}));
    for (new, report) in copied(made.files()).await {
        assert_eq!(
            repaired(&report, "0/vertex_attributes/v", "declared width"),
            1
        );
        let level = new.level(0, &Need::all()).await.unwrap();
        assert_eq!(
            level.vertex_attributes().last().unwrap().declared_width,
            Some(2)
        );
        let got = ask(&new, Query::default()).await.unwrap();
        assert_eq!(got.column("v"), ["1 2", "3 4", "5 6"]);
    }
    // T31: the second manifest has no bytes.
    let line = vec![[1.0, 1.0, 1.0], [1.0, 2.0, 1.0]];
    let mut files = Made::streamlines(&[(4, line.clone()), (6, line)]).files();
    let blob = crate::make::manifest_blob(&vec![([0, 0, 0], 0)]);
    let manifests = crate::make::vlen(&[blob, Vec::new()]);
    files.insert("0/object_index/manifests/c/0".into(), manifests);
    for (new, report) in copied(files).await {
        assert_eq!(
            repaired(&report, "0/object_index/manifests", "zero bytes"),
            1
        );
        let got = ask(
            &new,
            Query {
                objects: Some(vec![6, 4]),
                ..Query::default()
            },
        )
        .await
        .unwrap();
        assert_eq!(
            crate::support::column(got.objects.as_ref().unwrap(), "length"),
            ["0", "2"]
        );
    }
}

/// T10: integers cannot mark a missing value. A missing cell remains missing, and the report states this.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_repaired_stays_and_is_told() {
    let mut made = Made::points(&[[1.0, 1.0, 1.0], [11.0, 1.0, 1.0], [21.0, 1.0, 1.0]]);
    made.chunks.get_mut(&[1, 0, 0]).unwrap().attributes.clear();
    let old = crate::support::memory(&made.files()).await;
    let (new, report, _) = copy(&old, MigrateOptions::new()).await.unwrap();
    assert_eq!(report.losses.len(), 1, "{report:#?}");
    assert_eq!(report.losses[0].place, "0/vertex_attributes/n");
    let got = ask(&new, Query::default()).await.unwrap();
    assert_eq!(got.column("n"), ["0", "null", "2"]);
}

/// The links of a store as pairs of positions.
async fn joined(store: &Store) -> Vec<Vec<String>> {
    let got = ask(store, Query::default()).await.unwrap();
    let positions = got.column("position");
    let links = got.links().into_iter();
    let mut links: Vec<Vec<String>> = links
        .map(|ends| ends.iter().map(|row| positions[*row].clone()).collect())
        .collect();
    links.sort();
    links
}

/// The convention determines whether links follow from the order of rows or are stored: here lines with explicit links, and a skeleton with a
/// convention that differs from the default of its kind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_of_another_convention_stay_in_chunks_of_another_shape() {
    let (a, b) = ([0, 0, 0], [1, 0, 0]);
    let line = [1.0, 4.0, 9.0, 12.0].map(|x| [x, 1.0, 1.0]).to_vec();
    let mut lines = Made::streamlines(&[(4, line)]);
    lines.convention = "explicit";
    let records = [vec![(a, 0), (a, 2)], vec![(a, 1), (b, 0)]];
    lines.links = Some(crate::make::place(&records, false));
    let mut skeleton = crate::traps::streamed();
    skeleton.convention = "implicit_sequential";
    for (made, count) in [(lines, 2), (skeleton, 7)] {
        let old = crate::support::memory(&made.files()).await;
        let wanted = joined(&old).await;
        assert_eq!(wanted.len(), count, "{wanted:?}");
        for shape in [4.0, 30.0] {
            let options = MigrateOptions::new().with_chunk_shape([shape; 3]);
            let (new, report, _) = copy(&old, options).await.unwrap();
            assert_eq!(joined(&new).await, wanted, "{report:#?}");
        }
    }
}

/// The verification does not use queries, because queries refuse, round or leave out data that a copy keeps and reports.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_are_verified_of_sources_that_queries_refuse_or_round() {
    let options = || {
        let options = MigrateOptions::new();
        [options.clone(), options.with_chunk_shape([4.0, 30.0, 30.0])]
    };
    // A manifest names a fragment that does not exist.
    let line = vec![[1.0, 1.0, 1.0], [1.0, 2.0, 1.0], [5.0, 1.0, 1.0]];
    let mut made = Made::streamlines(&[(4, line)]);
    made.objects = Some(vec![(4, vec![([0, 0, 0], 0), ([0, 0, 0], 7)])]);
    let old = crate::support::memory(&made.files()).await;
    let objects = Query {
        objects: Some(vec![4]),
        ..Query::default()
    };
    assert!(ask(&old, objects).await.is_err());
    for options in options() {
        let (_, report, _) = copy(&old, options).await.unwrap();
        assert_eq!(report.losses.len(), 1);
        assert_eq!(report.verified.unwrap().vertices, 3);
    }

    // A code without a category.
    let mut made = Made::points(&[[1.0, 1.0, 1.0]]);
    let words = serde_json::json!({"dtype": "int8", "categories": ["x"], "encoding": "dictionary", "_FillValue": -1});
    made.attributes.insert("word".into(), words);
    let chunk = made.chunks.get_mut(&[0, 0, 0]).unwrap();
    chunk.attributes.insert("word".into(), vec![7]);
    let old = crate::support::memory(&made.files()).await;
    assert!(ask(&old, Query::default()).await.is_err());
    for options in options() {
        let (_, report, _) = copy(&old, options).await.unwrap();
        assert_eq!(report.verified.unwrap().vertices, 1);
    }

    // Two different stored positions that are equal after the offset is added in their type.
    let mut opened = Vec::new();
    for x in [1.0, f32::from_bits(1_f32.to_bits() + 1)] {
        let mut made = Made::points(&[[x, 1.0, 1.0]]);
        made.root = serde_json::json!({"coordinate_offset": [1e6, 0.0, 0.0]});
        opened.push(crate::support::memory(&made.files()).await);
    }
    let mut answers = Vec::new();
    for store in &opened {
        answers.push(ask(store, Query::default()).await.unwrap().rows());
    }
    assert_eq!(answers[0], answers[1]);
    for options in options() {
        let (new, ..) = copy(&opened[0], options).await.unwrap();
        zvf_migrate::compare(&opened[0], &new).await.unwrap();
        zvf_migrate::compare(&opened[1], &new).await.unwrap_err();
    }
}
