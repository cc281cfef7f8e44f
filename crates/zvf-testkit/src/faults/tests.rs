use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use object_store::path::Path;
use object_store::{Error, GetOptions, ObjectStore, ObjectStoreExt};

use super::{Ask, Bucket, Fault, Faulty, Rule, Swap};

fn bucket(text: &str) -> Arc<Bucket> {
    let files = ["a/b", "a/c/d", "e"].map(|key| (key.to_owned(), format!("{text} {key}").into()));
    Arc::new(Bucket::new(BTreeMap::from(files)))
}

async fn text(store: &dyn ObjectStore, key: &str) -> object_store::Result<String> {
    let bytes = store.get(&Path::parse(key)?).await?.bytes().await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[tokio::test]
async fn a_bucket_answers_ranges_conditions_and_listings() {
    let store = bucket("one");
    let path = Path::parse("a/b").unwrap();
    assert_eq!(store.get_range(&path, 1..3).await.unwrap(), "ne");
    let tag = store.head(&path).await.unwrap().e_tag;
    let same = GetOptions::new().with_if_none_match(tag.clone());
    let error = store.get_opts(&path, same).await.unwrap_err();
    assert!(matches!(error, Error::NotModified { .. }), "{error}");
    store.write("a/b", b"other".to_vec());
    assert_ne!(store.head(&path).await.unwrap().e_tag, tag);
    let listing = store
        .list_with_delimiter(Some(&Path::parse("a").unwrap()))
        .await
        .unwrap();
    assert_eq!(
        listing.common_prefixes,
        [Path::parse("a/c").unwrap()],
        "folders"
    );
    assert_eq!(listing.objects.len(), 1);
    assert_eq!(
        store.list_with_delimiter(None).await.unwrap().objects[0]
            .location
            .as_ref(),
        "e"
    );
    let missing = text(store.as_ref(), "a").await.unwrap_err();
    assert!(matches!(missing, Error::NotFound { .. }));
}

#[tokio::test]
async fn equal_objects_of_two_buckets_have_equal_tags() {
    let (a, b) = (bucket("one"), bucket("one"));
    let path = Path::parse("e").unwrap();
    assert_eq!(
        a.head(&path).await.unwrap().e_tag,
        b.head(&path).await.unwrap().e_tag
    );
    let other = bucket("two").head(&path).await.unwrap().e_tag;
    assert_ne!(a.head(&path).await.unwrap().e_tag, other);
}

#[tokio::test(start_paused = true)]
async fn waiting_is_on_the_clock_of_the_runtime() {
    let start = tokio::time::Instant::now();
    let store = Faulty::new(bucket("one"), 0).latency(Duration::from_secs(50));
    assert_eq!(text(&store, "e").await.unwrap(), "one e");
    assert_eq!(start.elapsed(), Duration::from_secs(50));
    let slow = Fault::SlowBody {
        piece: 2,
        pause: Duration::from_secs(1),
    };
    let store = Faulty::new(bucket("one"), 0).rule(Rule::new(slow));
    assert_eq!(text(&store, "e").await.unwrap(), "one e");
    assert_eq!(start.elapsed(), Duration::from_secs(53));
    for fault in [Fault::Hang, Fault::EndlessBody] {
        let store = Faulty::new(bucket("one"), 0).rule(Rule::new(fault));
        let day = Duration::from_secs(86_400);
        assert!(tokio::time::timeout(day, text(&store, "e")).await.is_err());
    }
}

#[tokio::test]
async fn the_seed_decides_what_fails_and_repeating_helps() {
    let failing = |seed| async move {
        let store = Faulty::new(bucket("one"), seed)
            .rule(Rule::new(Fault::Unavailable).share(0.5).of(Ask::Get));
        let mut failed = Vec::new();
        for number in 0..64 {
            failed.push(text(&store, ["e", "a/b"][number % 2]).await.is_err());
        }
        let count = failed.iter().filter(|failed| **failed).count() as u64;
        assert_eq!((store.counts().gets, store.counts().faults), (64, count));
        failed
    };
    let first = failing(7).await;
    assert!(first.contains(&true) && first.contains(&false));
    assert_eq!(first, failing(7).await);
    assert_ne!(first, failing(8).await);
    let store = Faulty::new(bucket("one"), 0).rule(Rule::new(Fault::Reset).at("e").times(2));
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(text(&store, "e").await.is_ok());
    }
    assert_eq!(answers, [false, false, true]);
    assert!(text(&store, "a/b").await.is_ok());
}

#[tokio::test]
async fn bodies_break_off_end_early_and_run_over() {
    let path = Path::parse("e").unwrap();
    for (fault, length) in [
        (Fault::BrokenBody, None),
        (Fault::ShortBody, Some(2)),
        (Fault::LongBody, Some(32)),
        (Fault::WrongLength(3), Some(5)),
    ] {
        let store = Faulty::new(bucket("one"), 0).rule(Rule::new(fault.clone()));
        let result = store.get(&path).await.unwrap();
        let announced = if matches!(fault, Fault::WrongLength(_)) {
            8
        } else {
            5
        };
        assert_eq!(result.meta.size, announced, "{fault:?}");
        let found = result.bytes().await.ok().map(|bytes| bytes.len());
        assert_eq!(found, length, "{fault:?}");
    }
}

#[tokio::test]
async fn a_swap_replaces_from_a_request_on_and_stamps_the_time() {
    let path = Path::parse("e").unwrap();
    let store = Faulty::new(bucket("one"), 0).swap(Swap::new(2, bucket("two")));
    let old = store.head(&path).await.unwrap();
    assert_eq!(text(&store, "e").await.unwrap(), "one e");
    assert_eq!(text(&store, "e").await.unwrap(), "two e");
    let new = store.head(&path).await.unwrap();
    assert!(new.last_modified > old.last_modified);
    assert_eq!(store.head(&path).await.unwrap(), new);
    let since = GetOptions::new().with_if_modified_since(Some(old.last_modified));
    assert!(store.get_opts(&path, since).await.is_ok());
    let store = Faulty::new(bucket("one"), 0)
        .swap(Swap::new(0, bucket("two")).at_keys(|key| key.starts_with("a/")));
    assert_eq!(text(&store, "e").await.unwrap(), "one e");
    assert_eq!(text(&store, "a/b").await.unwrap(), "two a/b");
    let stale = Faulty::new(bucket("two"), 0).rule(Rule::new(Fault::Stale(bucket("one"))).at("e"));
    assert_eq!(text(&stale, "e").await.unwrap(), "one e");
    assert_eq!(text(&stale, "a/b").await.unwrap(), "two a/b");
}
