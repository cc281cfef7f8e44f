//! Lines, polylines, streamlines.

use zvf_write::{AttributeSpec, Batch, Kind, NumberType, StoreSpec, StoreWriter, WriteError};

use crate::model::Model;
use crate::support::{ADDRESS, Memory};

/// A walk that leaves chunks and returns.
fn walk(count: usize, seed: usize) -> Vec<Vec<f64>> {
    (0..count)
        .map(|n| {
            let t = (n + seed * 17) as f64;
            vec![
                (t * 0.7).sin() * 20.0,
                (t * 0.31).cos() * 15.0,
                t % 9.0 - 4.0,
            ]
            .into_iter()
            .map(|p| f64::from(p as f32))
            .collect()
        })
        .collect()
}

#[tokio::test]
async fn streamlines_keep_their_order_through_batches_and_chunks() {
    let sizes = [(5, 40), (-3, 1), (1 << 40, 120), (2, 7), (0, 33)];
    let spec = StoreSpec::new(Kind::Streamline, [6.0, 10.0, 4.0])
        .with_object_attribute(AttributeSpec::number("size", NumberType::F32));
    let positions: Vec<Vec<f64>> = sizes
        .iter()
        .enumerate()
        .flat_map(|(at, (_, size))| walk(*size, at))
        .collect();
    let mut model = Model::new(spec, positions);
    model.ids = Some(
        sizes
            .iter()
            .flat_map(|(id, size)| std::iter::repeat_n(*id, *size))
            .collect(),
    );
    for (cuts, budget, shards) in [
        (vec![], 1 << 20, None),
        (vec![3, 41, 42, 100, 160, 161], 0, Some(vec![2, 2, 2])),
    ] {
        model.cuts = cuts;
        model.budget = budget;
        model.spec.shard_shape = shards.into();
        let all = (vec![-100.0; 3], vec![100.0; 3]);
        model
            .round_trip(&[all, (vec![-5.0, -10.0, -4.0], vec![5.0, 10.0, 4.0])])
            .await;
    }
}

#[tokio::test]
async fn lines_are_numbered_where_nobody_names_them() {
    let positions = walk(60, 1);
    let mut model = Model::new(StoreSpec::new(Kind::Line, [7.0; 3]), positions.clone());
    model.ids = Some((0..60).map(|n| n / 2).collect());
    model.round_trip(&[(vec![-10.0; 3], vec![10.0; 3])]).await;

    let memory = Memory::default();
    let mut writer = StoreWriter::create(
        ADDRESS,
        StoreSpec::new(Kind::Line, [7.0; 3]),
        memory.options(),
    )
    .await
    .unwrap();
    for part in positions.chunks(20) {
        let flat: Vec<f32> = part.concat().iter().map(|p| *p as f32).collect();
        writer.push(&Batch::new(flat)).unwrap();
    }
    assert_eq!(writer.finish().await.unwrap().objects, 30);
    let ids = memory.open().await;
    let got = crate::support::ask(&ids, zvf_query::Query::default()).await;
    let ids: Vec<String> = (0..30).map(|id| id.to_string()).collect();
    assert_eq!(
        crate::support::sorted(crate::support::column(&got.objects.unwrap(), "object_id")),
        crate::support::sorted(ids)
    );
}

#[tokio::test]
async fn a_chain_in_pieces_is_refused_before_the_store_exists() {
    let memory = Memory::default();
    let spec = StoreSpec::new(Kind::Polyline, [10.0; 2]);
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let runs = [(7, 2), (8, 1), (7, 1)];
    writer
        .push(&Batch::new(vec![1.0_f32; 8]).with_object_runs(&runs[..]))
        .unwrap();
    let error = writer.finish().await.unwrap_err();
    assert!(
        matches!(&error, WriteError::Input { what, .. } if what == "object 7"),
        "{error}"
    );
    assert!(memory.files().await.is_empty());
}
