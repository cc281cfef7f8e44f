//! Edits on moto: what was changed is read, one of several editors wins, programs that die, readers meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::{join, join_all};
use object_store::ObjectStore;
use zvf_edit::{At, Edit, EditSummary, Resumed, vacuum};
use zvf_query::{Column, Query, QueryError, Table, query};
use zvf_store::{Class, OpenOptions, Retry, Store};
use zvf_testkit::faults::Dying;
use zvf_testkit::sample::Sample;
use zvf_testkit::text::column;
use zvf_write::{
    AttributeSpec, Batch, Kind, NumberType, StoreSpec, StoreWriter, Values, WriteError,
    WriteOptions,
};

use crate::support::{client, signed};

/// Vertices of each object: on a line over several chunks, each linked with the next.
const VERTICES: i32 = 5;

/// What a store says: a line for each vertex, and one for each link.
type Told = BTreeSet<String>;

fn x(n: i32) -> f32 {
    n as f32 * 3.0
}

fn numbers(id: i64) -> impl Iterator<Item = i32> {
    let first = id as i32 * 10;
    first..first + VERTICES
}

fn batch(ids: &[i64]) -> Batch {
    let n: Vec<i32> = ids.iter().flat_map(|id| numbers(*id)).collect();
    let owners = ids.iter().flat_map(|id| numbers(*id).map(|_| *id));
    let linked = |at: &u64| !at.is_multiple_of(VERTICES as u64);
    let later: Vec<u64> = (0..n.len() as u64).filter(linked).collect();
    let weights: Vec<i32> = later.iter().map(|at| n[*at as usize]).collect();
    Batch::new(n.iter().flat_map(|n| [x(*n), 1.0]).collect::<Vec<f32>>())
        .with_object_ids(owners.collect::<Vec<i64>>())
        .with_links(
            later
                .iter()
                .flat_map(|at| [at - 1, *at])
                .collect::<Vec<u64>>(),
        )
        .with_link_attribute("w", weights)
        .with_attribute("n", n)
}

/// What a store of such objects says.
fn plain(ids: &[i64]) -> Told {
    let vertices = ids.iter().flat_map(|id| {
        let line = move |n| format!("vertex {n} of {id} at {:?} 1.0", x(n));
        numbers(*id).map(line)
    });
    let links = ids.iter().flat_map(|id| {
        let later = numbers(*id).skip(1);
        later.map(|n| format!("link {} {n} is {n}", n - 1))
    });
    vertices.chain(links).collect()
}

async fn told(address: &str) -> Result<Told, QueryError> {
    let store = Store::open_with(address, signed()).await?;
    let asked = Query {
        columns: vec![Column::Position, Column::Attributes, Column::ObjectId],
        ..Query::default()
    };
    let all = query(&store, asked).await?.collect().await?;
    let vertices = all.table(Table::Vertices).unwrap().unwrap();
    let of = |name: &str| column(&vertices, name).unwrap();
    let (n, ids, positions) = (of("n"), of("object_id"), of("position"));
    let mut lines: Vec<String> = Vec::new();
    for ((n, id), at) in n.iter().zip(ids).zip(positions) {
        lines.push(format!("vertex {n} of {id} at {at}"));
    }
    if let Some(links) = all.table(Table::Links).unwrap() {
        let ends = column(&links, "vertices").unwrap();
        for (ends, w) in ends.iter().zip(column(&links, "w").unwrap()) {
            let ends: Vec<usize> = ends.split(' ').map(|end| end.parse().unwrap()).collect();
            lines.push(format!("link {} {} is {w}", n[ends[0]], n[ends[1]]));
        }
    }
    let count = lines.len();
    let lines: Told = lines.into_iter().collect();
    assert_eq!(lines.len(), count, "something comes twice");
    Ok(lines)
}

async fn make(address: &str) {
    let spec = StoreSpec::new(Kind::Graph, [10.0; 2])
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32))
        .with_link_attribute(AttributeSpec::number("w", NumberType::I32));
    let options = WriteOptions::new().with_open(signed());
    let mut writer = StoreWriter::create(address, spec, options).await.unwrap();
    writer.push(&batch(&[1, 2, 3, 4])).unwrap();
    writer.finish().await.unwrap();
}

fn options(open: OpenOptions) -> WriteOptions {
    WriteOptions::new().with_open(open).with_threads(1)
}

/// An edit of every sort.
async fn change(address: &str, open: OpenOptions) -> Result<EditSummary, WriteError> {
    let mut edit = Edit::open(address, options(open)).await?;
    edit.delete(&[2]).await?;
    edit.append(&batch(&[9])).await?;
    let far = Values::from(vec![200.0_f32, -40.0]);
    edit.move_vertices(At::Objects(&[(3, 0)]), &far).await?;
    let number = Values::from(vec![1044]);
    edit.set_vertex_attribute("n", At::Objects(&[(4, 4)]), &number)
        .await?;
    let ends = At::Objects(&[(4, 0), (4, 1)]);
    edit.set_link_attribute("w", ends, &Values::from(vec![7]))
        .await?;
    edit.commit().await
}

/// What the store says after it.
fn changed() -> Told {
    let replaced = |line: String| match line.as_str() {
        "vertex 30 of 3 at 90.0 1.0" => "vertex 30 of 3 at 200.0 -40.0".to_owned(),
        "vertex 44 of 4 at 132.0 1.0" => "vertex 1044 of 4 at 132.0 1.0".to_owned(),
        "link 43 44 is 44" => "link 43 1044 is 44".to_owned(),
        "link 40 41 is 41" => "link 40 41 is 7".to_owned(),
        _ => line,
    };
    plain(&[1, 3, 4, 9]).into_iter().map(replaced).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_store_in_a_bucket_is_what_was_asked_for() {
    let address = "s3://edits-0/graph.zarrvectors";
    make(address).await;
    assert_eq!(told(address).await.unwrap(), plain(&[1, 2, 3, 4]));
    let done = change(address, signed()).await.unwrap();
    assert_eq!((done.vertices, done.links), (0, 0));
    assert_eq!(told(address).await.unwrap(), changed());
    let resumed = Edit::resume(address, options(signed())).await.unwrap();
    assert_eq!(resumed, Resumed::Nothing);
    let done = vacuum(address, options(signed())).await.unwrap();
    assert_eq!((done.rows, done.leftovers), (1, 0));
    assert_eq!(told(address).await.unwrap(), changed());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_editors_one_wins_and_the_others_are_told() {
    let address = "s3://edits-1/raced.zarrvectors";
    make(address).await;
    let append = |id: i64| async move {
        let mut edit = Edit::open(address, options(signed())).await?;
        edit.append(&batch(&[id])).await?;
        edit.commit().await.map(|_| id)
    };
    let mut ids = vec![1, 2, 3, 4];
    for one in join_all((20..26).map(append)).await {
        match one {
            Ok(id) => ids.push(id),
            Err(error) => {
                let is_told = matches!(error, WriteError::Busy { .. } | WriteError::Changed { .. });
                assert!(is_told, "{error}");
            }
        }
    }
    assert!(ids.len() > 4, "nobody won");
    assert_eq!(told(address).await.unwrap(), plain(&ids));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_dies_counts_or_does_not_and_is_resumed() {
    let bucket: Arc<dyn ObjectStore> = Arc::new(client("edits-2").build().unwrap());
    let (mut old, mut new) = (0, 0);
    let sample = Sample::new("writes of an edit in a bucket");
    for at in sample.some((1..).step_by(7), 20) {
        let address = format!("s3://edits-2/dies-{at}.zarrvectors");
        make(&address).await;
        let dying = Dying::new(bucket.clone(), at, at % 2 == 0);
        let mut open = OpenOptions::new().with_object_store(Arc::new(dying));
        open.io.retry = Retry::never();
        // Nothing of a dead program is still under way.
        open.io.concurrency = 1;
        let done = change(&address, open).await;
        let found = told(&address).await.unwrap();
        let counts = found == changed();
        assert!(counts || found == plain(&[1, 2, 3, 4]), "{at}: {found:?}");
        match &done {
            Ok(_) => assert!(counts),
            Err(error) => assert!(counts || !error.is_committed(), "{error}"),
        }
        let resumed = Edit::resume(&address, options(signed())).await.unwrap();
        match resumed {
            Resumed::Finished => assert!(counts),
            Resumed::TakenBack => assert!(!counts || done.is_err()),
            _ => {}
        }
        assert_eq!(told(&address).await.unwrap(), found, "{at}: {resumed:?}");
        if done.is_ok() {
            break;
        }
        (old, new) = (old + i32::from(!counts), new + i32::from(counts));
    }
    assert!(
        !sample.is_whole() || old > 1 && new > 1,
        "{old} old stores, {new} new ones"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_see_the_old_store_or_the_new_one() {
    let address = "s3://edits-3/read.zarrvectors";
    make(address).await;
    let (without, with) = (plain(&[1, 2, 3, 4]), plain(&[1, 2, 3, 4, 9]));
    let over = AtomicBool::new(false);
    let reading = async {
        let mut seen = 0;
        while !over.load(Ordering::Relaxed) {
            match told(address).await {
                Ok(found) => {
                    assert!(found == without || found == with, "a mixture: {found:?}");
                    seen += 1;
                }
                // Who reads while the store changes may be told so, and moto fails to list a bucket that changes.
                Err(error) => assert_eq!(error.class(), Class::Io, "{error}"),
            }
        }
        seen
    };
    let editing = async {
        for round in 0..4 {
            let mut edit = Edit::open(address, options(signed())).await.unwrap();
            if round % 2 == 0 {
                edit.append(&batch(&[9])).await.unwrap();
            } else {
                edit.delete(&[9]).await.unwrap();
            }
            edit.commit().await.unwrap();
            let found = told(address).await.unwrap();
            assert_eq!(&found, if round % 2 == 0 { &with } else { &without });
        }
        over.store(true, Ordering::Relaxed);
    };
    let (seen, ()) = join(reading, editing).await;
    assert!(seen > 0);
}
