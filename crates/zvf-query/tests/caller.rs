//! Stores whose objects the caller fetches, without a runtime: the same answers from the same requests as with a backend that cannot list.

use std::collections::BTreeMap;
use std::sync::Arc;

use zvf_query::{BBox, Query, Select};
use zvf_store::{
    CallerStep, CallerStore, IoError, IoTrace, Merge, Method, Object, ObjectFetch, OpenOptions,
    Request, Store,
};
use zvf_testkit::sample::Sample;

use crate::rounds::Slow;
use crate::support::{Got, ask, column};

type Files = BTreeMap<String, Vec<u8>>;

/// A request: round, object, offset, length, received bytes.
type Asked = (u32, String, Option<u64>, Option<u64>, Option<u64>);

/// Exactly the requested part of a file.
fn part(files: &Files, one: &ObjectFetch) -> Option<Object> {
    let bytes = files.get(&one.key)?;
    let size = bytes.len() as u64;
    let range = one.ask.of(size);
    let found = &bytes[range.start as usize..range.end as usize];
    Some(Object::new(found.to_vec(), range.start, size))
}

fn options(trace: &IoTrace) -> OpenOptions {
    OpenOptions::new()
        .with_trace(trace.clone())
        .with_verify(false)
        .with_concurrency(4096)
        .with_merge(Merge::BUCKET)
}

fn gets(trace: &IoTrace) -> Vec<Asked> {
    let requests = trace.take().into_iter();
    let gets = requests.filter(|one| one.method == Method::Get);
    let told = |r: Request| (r.round, r.key, r.offset, r.length, r.bytes);
    let mut gets: Vec<Asked> = gets.map(told).collect();
    gets.sort();
    gets
}

/// Answers all requests of a step together. Returns the result and the number of steps with requests.
fn stepwise<T>(caller: &CallerStore, files: &Files, work: impl Future<Output = T>) -> (T, u32) {
    let mut run = caller.run(work).unwrap();
    let mut steps = 0;
    loop {
        match run.step().unwrap() {
            CallerStep::Done(value) => return (value, steps),
            CallerStep::Fetch(wanted) => {
                assert!(!wanted.is_empty(), "nothing is asked for, and nothing done");
                steps += 1;
                // Requests are answered in reverse order.
                for one in wanted.iter().rev() {
                    run.answer(one.id, Ok(part(files, one))).unwrap();
                }
            }
        }
    }
}

/// All columns of all tables, by name.
type Columns = Vec<(String, Vec<String>)>;

fn texts(got: &Got) -> Columns {
    let mut columns = Columns::new();
    for batch in [&got.vertices, &got.links, &got.objects]
        .into_iter()
        .flatten()
    {
        let schema = batch.schema();
        let names = schema.fields().iter().map(|field| field.name());
        columns.extend(names.map(|name| (name.clone(), column(batch, name))));
    }
    assert!(!columns.is_empty());
    columns
}

async fn native(files: &Files, query: Query) -> (Columns, Vec<Asked>) {
    let trace = IoTrace::on();
    let backend = Arc::new(Slow::of(files.clone(), false).await);
    let options = options(&trace).with_object_store(backend);
    let store = Store::open_with("memory:///", options).await.unwrap();
    let got = ask(&store, query).await.unwrap();
    (texts(&got), gets(&trace))
}

/// Queries a store whose files the caller has.
fn called(files: &Files, query: Query) -> (Columns, Vec<Asked>, u32) {
    let (trace, caller) = (IoTrace::on(), CallerStore::new());
    let options = options(&trace).with_caller_store(caller.clone());
    let (got, steps) = stepwise(&caller, files, async {
        let store = Store::open_with("files", options).await.unwrap();
        ask(&store, query).await.unwrap()
    });
    let gets = gets(&trace);
    (texts(&got), gets, steps)
}

/// Runs a query both ways; returns the number of steps with requests, and the number of rounds.
async fn check(name: &str, files: &Files, query: Query) -> (u32, u32) {
    let (rows, requests) = native(files, query.clone()).await;
    let (found, sent, steps) = called(files, query);
    assert_eq!(found, rows, "{name}");
    assert_eq!(sent, requests, "{name}");
    (steps, sent.iter().map(|one| one.0).max().unwrap_or(0))
}

#[tokio::test(start_paused = true)]
async fn a_caller_is_asked_for_what_a_backend_is() {
    let sample = Sample::new("caller");
    for name in sample.some(zvf_testkit::cases().unwrap(), 4) {
        let (files, case) = (
            zvf_testkit::files(&name).unwrap(),
            zvf_testkit::case(&name).unwrap(),
        );
        if let Some(asked) = case.queries.first() {
            let query = Query {
                bbox: Some(BBox::new(asked.lo.clone(), asked.hi.clone()).unwrap()),
                level: asked.level,
                ..Query::default()
            };
            // All requests of a round are made in one step.
            let (steps, rounds) = check(&name, &files, query).await;
            assert_eq!(steps, rounds, "{name}");
        }
        if let Some(id) = case.objects.keys().next() {
            let query = Query {
                objects: Some(vec![*id]),
                ..Query::default()
            };
            let (steps, rounds) = check(&name, &files, query).await;
            assert_eq!(steps, rounds, "{name}, an object");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn steps_that_need_threads_elsewhere_are_made_on_one() {
    for name in ["streamlines", "graph"] {
        let files = zvf_testkit::files(name).unwrap();
        // With little memory, objects are gathered in two passes, with a temporary file.
        for memory_budget in [1, 4096, 1 << 30] {
            let query = Query {
                select: Select::Objects,
                memory_budget,
                ..Query::default()
            };
            check(name, &files, query).await;
        }
    }
}

#[test]
fn an_answer_is_read_batch_by_batch() {
    let files = zvf_testkit::files("streamlines").unwrap();
    let (caller, trace) = (CallerStore::new(), IoTrace::off());
    let options = options(&trace).with_caller_store(caller.clone());
    let fetch = |one: &ObjectFetch| Ok(part(&files, one));
    let store = caller.wait(Store::open_with("files", options), fetch);
    let store = store.unwrap().unwrap();
    let query = Query {
        batch_rows: 100,
        ..Query::default()
    };
    let all = caller.wait(ask(&store, query.clone()), fetch);
    let answer = caller.wait(zvf_query::query(&store, query), fetch);
    let (mut answer, mut rows) = (answer.unwrap().unwrap(), 0);
    while let Some((_, batch)) = caller.wait(answer.next(), fetch).unwrap().unwrap() {
        assert!(batch.num_rows() <= 100);
        rows += batch.num_rows() as u64;
    }
    let summary = all.unwrap().unwrap().all.summary;
    assert_eq!(rows, summary.vertices + summary.links + summary.objects);
    assert_eq!(answer.summary(), &summary);
}

#[test]
fn a_local_folder_is_read_without_a_runtime() {
    let folder = zvf_testkit::unpack("streamlines").unwrap();
    let files = zvf_testkit::files("streamlines").unwrap();
    let path = folder.path();
    let path = path.to_str().unwrap();
    let nothing = |one: &ObjectFetch| Err(IoError::misuse(format!("{} is a file", one.key)));
    let got = CallerStore::new().wait(
        async {
            let store = Store::open(path).await.unwrap();
            ask(&store, Query::default()).await.unwrap()
        },
        nothing,
    );
    let (rows, ..) = called(&files, Query::default());
    // A folder is listed, so that attributes that only listings show are found, too.
    let place = |columns: Columns| -> Columns {
        let mut columns = columns.into_iter();
        columns
            .by_ref()
            .filter(|(name, _)| name == "position")
            .collect()
    };
    assert_eq!(place(texts(&got.unwrap())), place(rows));
}

#[test]
fn a_store_that_changes_is_an_error_at_the_end() {
    let files = zvf_testkit::files("streamlines").unwrap();
    for key in ["zarr.json", "0/vertices/zarr.json"] {
        let caller = CallerStore::new();
        let options = OpenOptions::new().with_caller_store(caller.clone());
        let fetch = |one: &ObjectFetch| Ok(part(&files, one));
        let store = caller.wait(Store::open_with("files", options), fetch);
        let store = store.unwrap().unwrap();
        assert!(
            caller
                .wait(ask(&store, Query::default()), fetch)
                .unwrap()
                .is_ok()
        );
        let mut changed = files.clone();
        changed.get_mut(key).unwrap().push(b'\n');
        let store_now = |one: &ObjectFetch| Ok(part(&changed, one));
        let query = Query {
            limit: Some(3),
            ..Query::default()
        };
        let answer = caller.wait(ask(&store, query), store_now).unwrap();
        let error = answer.err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.starts_with(key) && error.contains("changed")));
    }
}

/// A store of 0.8 has no list of its chunks.
#[tokio::test(start_paused = true)]
async fn chunks_that_nothing_lists_are_not_called_listed() {
    let files = zvf_testkit::files("0.8/real_synapses").unwrap();
    let backend = Arc::new(Slow::of(files, false).await);
    let options = OpenOptions::new().with_object_store(backend);
    let store = Store::open_with("memory:///", options).await.unwrap();
    let got = ask(&store, Query::default()).await.unwrap();
    let warnings = got.all.summary.warnings.join("\n");
    assert!(got.all.summary.vertices > 0);
    assert!(!warnings.contains("have no object"), "{warnings}");
}
