//! The made store of a thousand chunks: it is what it says, and a small box of it is cheap.

use std::sync::Arc;
use std::time::Duration;

use zvf_query::{BBox, Query};
use zvf_store::{IoTrace, Method, OpenOptions};
use zvf_testkit::faults::{Bucket, Faulty};
use zvf_testkit::text::column;
use zvf_trials::answers::ask_cold;
use zvf_trials::points::{CHUNK, Form, Points};

use crate::support::{MEMORY, through};

const LATENCY: Duration = Duration::from_millis(50);

fn made(form: Form) -> Points {
    Points {
        side: 10,
        rows: 20,
        seed: 5,
        form,
    }
}

#[tokio::test(start_paused = true)]
async fn a_cold_box_of_one_percent_takes_less_than_five_round_trips() {
    for form in [Form::Grid, Form::Blobs] {
        let points = made(form);
        let bucket = Arc::new(Bucket::new(points.files().unwrap()));
        let (low, high) = (vec![31.0; 3], vec![31.0 + 21.544; 3]);
        let bbox = BBox::new(low.clone(), high.clone()).unwrap();
        let asked = Query {
            bbox: Some(bbox),
            ..Query::default()
        };
        let trace = IoTrace::on();
        let (_, options) = through(Faulty::new(bucket, 0).latency(LATENCY));
        let options = options.with_trace(trace.clone()).with_concurrency(256);
        let start = tokio::time::Instant::now();
        let told = ask_cold(MEMORY, options, asked).await.unwrap();
        // Root; documents; cells; a last look at the documents. 0.7 has to list its chunks, which comes with the
        // documents, and to look at one chunk before the others: its number type may be told wrongly.
        let rounds = match form {
            Form::Grid => 4,
            Form::Blobs => 5,
        };
        assert_eq!(start.elapsed(), rounds * LATENCY, "{form:?}");
        assert_eq!(trace.counts().rounds, rounds, "{form:?}");
        // Three chunks an axis, of vertices, fragments and two attributes.
        let requests = trace.take();
        let cells = requests
            .iter()
            .filter(|r| r.method == Method::Get && r.key.contains("/c/"))
            .count();
        assert!(cells <= 27 * 4, "{form:?}: {cells} cells");
        let expected = points.inside(&low, &high).unwrap();
        let mut found = column(told.vertices.as_ref().unwrap(), "position").unwrap();
        found.sort();
        assert!(!expected.is_empty());
        assert_eq!(found, expected, "{form:?}");
    }
}

#[tokio::test]
async fn the_made_store_is_whole() {
    for form in [Form::Grid, Form::Blobs] {
        let points = made(form);
        let bucket = Arc::new(Bucket::new(points.files().unwrap()));
        let options = OpenOptions::new().with_object_store(bucket);
        let told = ask_cold(MEMORY, options, Query::default()).await.unwrap();
        assert_eq!(told.warnings, Vec::<String>::new(), "{form:?}");
        let batch = told.vertices.unwrap();
        assert_eq!(batch.num_rows() as u64, points.vertices());
        for (row, place) in column(&batch, "position").unwrap().iter().enumerate() {
            let chunk = row / points.rows as usize;
            let expected = [chunk / 100, chunk / 10 % 10, chunk % 10];
            for (at, chunk) in place.split(' ').zip(expected) {
                let at = at.parse::<f64>().unwrap() / CHUNK;
                assert_eq!(at.floor() as usize, chunk, "{form:?}, row {row}");
            }
        }
        assert!(
            column(&batch, "intensity").unwrap().len() > column(&batch, "label").unwrap().len() / 2
        );
    }
}
