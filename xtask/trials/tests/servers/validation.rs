//! Validation on moto: how many requests it makes, and that a damaged store is told from a sound one over there as well.

use object_store::ObjectStoreExt;
use zvf_store::{IoTrace, OpenOptions};
use zvf_trials::points::{Form, Points};
use zvf_validate::{Depth, Report, ValidateOptions, validate};
use zvf_write::{
    AttributeSpec, Batch, Kind, NumberType, ObjectTable, StoreSpec, StoreWriter, WriteOptions,
};

use crate::support::{client, signed};

/// Streamlines of three vertices, one in each chunk of a row of `chunks`.
async fn write(address: &str, chunks: i64) {
    let spec = StoreSpec::new(Kind::Streamline, [10.0; 2])
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I64))
        .with_object_attribute(AttributeSpec::number("size", NumberType::F32));
    let options = WriteOptions::new().with_open(signed()).with_threads(1);
    let mut writer = StoreWriter::create(address, spec, options).await.unwrap();
    let rows = 0..chunks * 3;
    let positions: Vec<f32> = rows
        .clone()
        .flat_map(|n| [(n / 3 * 10 + n % 3) as f32, 1.0])
        .collect();
    let batch = Batch::new(positions)
        .with_object_ids(rows.clone().map(|n| n / 3).collect::<Vec<i64>>())
        .with_attribute("n", rows.collect::<Vec<i64>>());
    writer.push(&batch).unwrap();
    let sizes = ObjectTable::new(vec![0_i64]).with_attribute("size", vec![0.5_f32]);
    writer.push_objects(&sizes).unwrap();
    writer.finish().await.unwrap();
}

/// The report, and how many requests it took.
async fn ask(address: &str, open: OpenOptions, depth: Depth) -> (Report, usize) {
    let trace = IoTrace::on();
    let options = ValidateOptions::new(depth).with_open(open.with_trace(trace.clone()));
    let report = validate(address, &options).await.unwrap();
    (report, trace.take().len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_are_checked_with_as_many_requests_whatever_the_number_of_chunks() {
    let mut counts = Vec::new();
    for chunks in [2, 80] {
        let address = format!("s3://edits-4/lines-{chunks}.zarrvectors");
        write(&address, chunks).await;
        for depth in [Depth::Structure, Depth::Metadata] {
            let (report, requests) = ask(&address, signed(), depth).await;
            assert_eq!(report.findings, []);
            counts.push(requests);
        }
        let (report, requests) = ask(&address, signed(), Depth::Multiscale).await;
        assert_eq!(report.findings, []);
        assert_eq!(report.seen.vertices, chunks as u64 * 3);
        assert!(
            requests as i64 > chunks,
            "the deepest level reads every cell"
        );
    }
    let [few, more] = counts.as_chunks::<2>().0 else {
        panic!("{counts:?}");
    };
    assert_eq!(few, more);
    assert!(few[1] < 80, "{counts:?}");
}

/// Before 0.8.1 a chunk is a node with a document of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_with_a_node_a_chunk_are_listed_and_not_asked_chunk_by_chunk() {
    let backend = client("edits-5").build().unwrap();
    let mut counts = Vec::new();
    for side in [1, 3] {
        let points = Points {
            side,
            rows: 4,
            seed: 1,
            form: Form::Blobs,
        };
        for (key, bytes) in points.files().unwrap() {
            let path = format!("points-{side}.zarrvectors/{key}");
            backend.put(&path.into(), bytes.into()).await.unwrap();
        }
        let address = format!("s3://edits-5/points-{side}.zarrvectors");
        let (report, requests) = ask(&address, signed(), Depth::Metadata).await;
        assert!(report.is_ok(), "{:?}", report.findings);
        counts.push(requests);
    }
    assert_eq!(counts[0], counts[1], "{counts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_gone_or_changed_on_the_server_is_found() {
    let address = "s3://edits-6/damaged.zarrvectors";
    write(address, 3).await;
    let backend = client("edits-6").build().unwrap();
    let cell = "damaged.zarrvectors/0/vertices/c/1/0".into();
    let bytes = backend.get(&cell).await.unwrap().bytes().await.unwrap();
    backend
        .put(&cell, bytes.slice(..bytes.len() / 2).into())
        .await
        .unwrap();
    let (report, _) = ask(address, signed(), Depth::Consistency).await;
    assert!(!report.is_ok());
    let named = report
        .findings
        .iter()
        .any(|finding| finding.to_string().contains("0/vertices"));
    assert!(named, "{:?}", report.findings);
    backend.delete(&cell).await.unwrap();
    let (report, _) = ask(address, signed(), Depth::Consistency).await;
    assert!(!report.is_ok());
}
