//! The stores of a history: what is written into them, and what is read.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use zvf_query::{Column, Query, QueryError, Table, query};
use zvf_store::{OpenOptions, Retry, Store};
use zvf_testkit::text::column;
use zvf_write::{
    AttributeSpec, Batch, Kind, NumberType, Outside, StaleFiles, StoreSpec, StoreWriter,
    WriteError, WriteOptions,
};

/// How long the marker of a writer that is gone keeps others away.
pub(super) const LEASE: Duration = Duration::from_secs(3);

/// The object whose value says which edit was the last one.
pub(super) const REGISTER: i64 = 0;

/// Ids that objects may have beside the register.
pub(super) const IDS: std::ops::RangeInclusive<i64> = 1..=12;

/// Vertices of every object, which all have its value: one in each of as many chunks.
pub(super) const VERTICES: usize = 2;

/// The objects of a store, and the value of each.
pub(super) type State = BTreeMap<i64, i64>;

/// What every store of edits holds at first.
pub(super) fn first() -> State {
    (REGISTER..=4).map(|id| (id, 0)).collect()
}

/// What a store holds that was made by writer `token`.
pub(super) fn made(token: i64) -> State {
    (REGISTER..=6).map(|id| (id, token)).collect()
}

/// How a store is opened; `endpoint` is that of a bucket.
pub(super) fn open(endpoint: &str) -> OpenOptions {
    let pauses = (Duration::from_millis(5), Duration::from_millis(200));
    let mut options = OpenOptions::new()
        .with_retry(Retry::default().with_pauses(pauses.0, pauses.1))
        .with_request_timeout(Duration::from_secs(10))
        .with_concurrency(8);
    if !endpoint.is_empty() {
        for (name, value) in [
            ("endpoint", endpoint),
            ("region", "us-east-1"),
            ("access_key_id", "test"),
            ("secret_access_key", "test"),
        ] {
            options = options.with_backend_option(name, value);
        }
    }
    options
}

pub(super) fn write_options(endpoint: &str) -> WriteOptions {
    WriteOptions::new()
        .with_open(open(endpoint))
        .with_threads(1)
        .with_durable(false)
        .with_lease(LEASE)
}

/// The vertices of objects, with their values.
#[allow(clippy::cast_precision_loss, reason = "ids are small")]
pub(super) fn batch(state: &State) -> Batch {
    let mut rows = (Vec::new(), Vec::new(), Vec::new());
    for (id, value) in state {
        for at in 0..VERTICES {
            rows.0
                .extend([*id as f32 * 3.0 + 1.0, at as f32 * 10.0 + 1.0]);
            rows.1.push(*id);
            rows.2.push(*value);
        }
    }
    Batch::new(rows.0)
        .with_object_ids(rows.1)
        .with_attribute("n", rows.2)
}

/// Writes a store.
pub(super) async fn make(
    address: &str,
    endpoint: &str,
    state: &State,
    stale_files: StaleFiles,
) -> Result<(), WriteError> {
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2])
        .with_objects()
        .with_bounds([0.0; 2], [49.0, 19.0], Outside::Refuse)
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I64));
    let options = write_options(endpoint).with_stale_files(stale_files);
    let mut writer = StoreWriter::create(address, spec, options).await?;
    writer.push(&batch(state))?;
    writer.finish().await.map(|_| ())
}

/// Reads a whole store. The inner error says that it holds what no writer ever wrote.
pub(super) async fn read(address: &str, endpoint: &str) -> Result<Result<State>, QueryError> {
    let store = Store::open_with(address, open(endpoint)).await?;
    let asked = Query {
        columns: vec![Column::Attributes, Column::ObjectId],
        ..Query::default()
    };
    let answer = query(&store, asked).await?.collect().await?;
    let vertices = answer.table(Table::Vertices)?;
    Ok((|| {
        let vertices = vertices.context("no vertices")?;
        let values = column(&vertices, "n")?;
        let mut found: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for (id, value) in column(&vertices, "object_id")?.iter().zip(values) {
            found.entry(id.parse()?).or_default().push(value.parse()?);
        }
        let one = |(id, values): (i64, Vec<i64>)| {
            let first = values.first().copied().unwrap_or(0);
            let same = values.iter().all(|value| *value == first);
            ensure!(
                values.len() == VERTICES && same,
                "object {id} has the values {values:?}, expected one value, {VERTICES} times"
            );
            Ok((id, first))
        };
        found.into_iter().map(one).collect()
    })())
}
