//! A real server behind a line that fails now and then.

use std::sync::Arc;
use std::time::Duration;

use object_store::{ObjectStore, RetryConfig};
use zvf_store::{OpenOptions, Retry};
use zvf_testkit::faults::{Ask, Fault, Faulty, Rule};
use zvf_trials::answers::ask_cold;
use zvf_trials::questions::questions;
use zvf_trials::truth::Known;

use crate::support::client;

#[tokio::test(flavor = "multi_thread")]
async fn answers_from_a_bucket_are_right_though_requests_fail() {
    let (mut asked, mut faults) = (0, 0);
    for name in [
        "0.7/skeleton",
        "0.8/points_bins",
        "0.9/real_tractogram",
        "0.9/points_4d_sharded",
    ] {
        let known = Known::of(name).unwrap();
        for question in questions(&known.case, 10) {
            // One layer tries again: ours.
            let once = RetryConfig {
                max_retries: 0,
                ..RetryConfig::default()
            };
            let bucket: Arc<dyn ObjectStore> =
                Arc::new(client("data").with_retry(once).build().unwrap());
            let backend = Faulty::new(bucket, asked)
                .rule(Rule::new(Fault::Unavailable).share(0.02))
                .rule(Rule::new(Fault::Reset).share(0.01))
                .rule(Rule::new(Fault::BrokenBody).share(0.01).of(Ask::Get))
                .rule(Rule::new(Fault::ShortBody).share(0.01).of(Ask::Get));
            let backend = Arc::new(backend);
            let pauses =
                Retry::default().with_pauses(Duration::from_millis(5), Duration::from_millis(50));
            let options = OpenOptions::new()
                .with_object_store(Arc::<Faulty>::clone(&backend))
                .with_retry(pauses);
            let address = format!("memory:///{name}");
            let told = ask_cold(&address, options, question.query().unwrap()).await;
            match told {
                Ok(told) => known.check(&question, &told).unwrap(),
                Err(error) => panic!("{name}, {question:?}: {}", error.full()),
            }
            asked += 1;
            faults += backend.counts().faults;
        }
    }
    assert!(
        asked >= 28 && faults >= 28,
        "{faults} faults in {asked} queries"
    );
}
