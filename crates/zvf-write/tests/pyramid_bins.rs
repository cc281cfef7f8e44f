//! Bins of level 0 for stores that do not declare bins.

use zvf_pyramid::{BaseBins, BinReason, Existing, LevelStep, Method, PyramidSpec};
use zvf_query::{BBox, Query};
use zvf_write::{Kind, StoreSpec, WriteError};

use crate::model::Model;
use crate::pyramid_again::{build, contents, refresh, remove};
use crate::support::{Memory, ask, check_documents, sorted};

/// Straight lines with steps of 0.75, in chunks of 12 by 8.
fn lines() -> Model {
    let mut model = Model::new(StoreSpec::new(Kind::Streamline, [12.0, 8.0]), Vec::new());
    let mut ids = Vec::new();
    for line in 0..10 {
        for step in 0..50 {
            model
                .positions
                .push(vec![f64::from(step) * 0.75, f64::from(line) * 2.0]);
            ids.push(i64::from(line));
        }
    }
    model.ids = Some(ids);
    model
}

fn spec() -> PyramidSpec {
    PyramidSpec::new([2.0, 2.0].map(LevelStep::new)).with_base(BaseBins::Data)
}

#[tokio::test]
async fn bins_of_lines_are_about_a_step_and_are_declared() {
    let memory = Memory::default();
    lines().write(memory.options()).await;
    let report = build(&memory, &spec()).await.unwrap();
    let chosen = report.chosen.unwrap();
    assert_eq!(chosen.reason, BinReason::Step(0.75));
    // 12 / 16 is exactly the step; 8 / 8 is the smallest power-of-two fraction of 8 that is not below the step.
    assert_eq!(chosen.shape, [0.75, 1.0]);
    let shapes: Vec<_> = report.levels.iter().map(|one| &one.bin_shape).collect();
    assert_eq!(shapes, [&[1.5, 2.0], &[3.0, 4.0]]);
    // A straight line is reduced to its ends.
    assert_eq!(report.levels[0].vertices, 20);
    let files = memory.files().await;
    check_documents(&files);
    let store = memory.open().await;
    let root = &store.root().zarr_vectors;
    assert_eq!(root.base_bin_shape.as_deref(), Some(&[0.75, 1.0][..]));
    // Level 0 is unchanged.
    lines()
        .check(&store, &[(vec![3.0, 1.0], vec![9.0, 7.0])])
        .await;
    // Other bins are possible, since chunks are not divided into these.
    let other = spec()
        .with_base(BaseBins::Given(vec![3.0, 2.0]))
        .with_existing(Existing::Replace);
    let report = build(&memory, &other).await.unwrap();
    assert_eq!(
        (report.chosen, &report.levels[0].bin_shape),
        (None, &vec![6.0, 4.0])
    );
    check_documents(&memory.files().await);
}

#[tokio::test]
async fn bins_of_points_are_not_declared_since_no_chunk_is_cut_by_them() {
    let memory = Memory::default();
    // One point in the middle of each unit square.
    let positions = (0..400).map(|n| vec![f64::from(n % 20) + 0.5, f64::from(n / 20) + 0.5]);
    let mut model = Model::new(
        StoreSpec::new(Kind::PointCloud, [8.0; 2]),
        positions.collect(),
    );
    model.write(memory.options()).await;
    let before = contents(&memory).await;
    let report = build(&memory, &spec()).await.unwrap();
    let chosen = report.chosen.unwrap();
    assert_eq!(
        (chosen.reason, chosen.shape),
        (BinReason::Spacing, vec![1.0, 1.0])
    );
    let counts: Vec<u64> = report.levels.iter().map(|one| one.vertices).collect();
    assert_eq!(counts, [100, 25]);
    check_documents(&memory.files().await);
    let store = memory.open().await;
    assert_eq!(store.root().zarr_vectors.base_bin_shape, None);
    model.spec.bin_shape = None;
    model.check(&store, &[]).await;
    // A box on a coarse level finds its content.
    let query = Query {
        level: 1,
        bbox: Some(BBox::new(vec![0.0, 0.0], vec![7.9, 3.9]).unwrap()),
        ..Query::default()
    };
    let inside = ask(&store, query).await.numbers();
    let bins: Vec<(usize, usize)> = inside.iter().map(|n| (n % 20 / 2, n / 40)).collect();
    let wanted: Vec<(usize, usize)> = (0..4).flat_map(|x| (0..2).map(move |y| (x, y))).collect();
    assert_eq!(sorted(bins), wanted);
    remove(&memory).await.unwrap();
    assert_eq!(contents(&memory).await, before);
}

#[tokio::test]
async fn bins_are_given_once() {
    let memory = Memory::default();
    lines().write(memory.options()).await;
    let given = |bins: [f64; 2]| spec().with_base(BaseBins::Given(bins.to_vec()));
    let refused =
        |error: WriteError| matches!(error, WriteError::Spec { member, .. } if member == "base");
    // Sizes that do not divide the chunk.
    assert!(refused(
        build(&memory, &given([5.0, 4.0])).await.unwrap_err()
    ));
    build(&memory, &given([4.0, 4.0]).with_method(Method::Reference))
        .await
        .unwrap();
    check_documents(&memory.files().await);
    remove(&memory).await.unwrap();
    // Now the store has bins.
    assert!(refused(
        build(&memory, &given([2.0, 4.0])).await.unwrap_err()
    ));
    let report = build(&memory, &spec()).await.unwrap();
    assert_eq!(
        (report.chosen, &report.levels[0].bin_shape),
        (None, &vec![8.0, 8.0])
    );
    assert_eq!(refresh(&memory).await.unwrap().levels, []);
}
