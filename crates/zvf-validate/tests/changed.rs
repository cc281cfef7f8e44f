//! A store that another writer changes during its validation must not be reported as damaged.

use std::error::Error;
use std::sync::Arc;

use object_store::ObjectStore;
use zvf_store::{Class, OpenOptions};
use zvf_testkit::faults::{Bucket, Faulty, Swap};
use zvf_validate::{Depth, Severity, ValidateOptions, validate};

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_not_damage() -> Result<(), Box<dyn Error>> {
    let before = zvf_testkit::files("streamlines")?;
    // The next state has other cells and another root. They do not match, so that a reader of a mix of both states finds damage.
    let mut after = before.clone();
    after.retain(|key, _| !key.contains("vertices/c/"));
    let root = after.get_mut("zarr.json").ok_or("no root")?;
    root.push(b'\n');
    let run = async |swap: Option<u64>| {
        let next: Arc<dyn ObjectStore> = Arc::new(Bucket::new(after.clone()));
        let mut store = Faulty::new(Arc::new(Bucket::new(before.clone())), 0);
        if let Some(requests) = swap {
            store = store.swap(Swap::new(requests, next));
        }
        let store = Arc::new(store);
        let shared: Arc<dyn ObjectStore> = Arc::clone(&store) as _;
        let open = OpenOptions::new().with_object_store(shared);
        let options = ValidateOptions::new(Depth::Multiscale).with_open(open);
        let outcome = validate("memory:///", &options).await;
        (outcome, store.seen().len())
    };
    let (whole, requests) = run(None).await;
    assert_eq!(whole?.count(Severity::Error), 0);
    let (mut changed, mut damaged) = (0, 0);
    for number in (0..u64::try_from(requests)?).step_by(5) {
        match run(Some(number)).await.0 {
            Ok(report) if report.count(Severity::Error) == 0 => {}
            // Nothing of the first state was read.
            Ok(_) if number == 0 => damaged += 1,
            Ok(report) => return Err(format!("{number}: {:?}", report.findings).into()),
            Err(error) => {
                assert_eq!(error.class(), Class::Io, "{number}: {error}");
                changed += 1;
            }
        }
    }
    assert!(changed > 0 && damaged > 0, "{changed} {damaged}");
    Ok(())
}
