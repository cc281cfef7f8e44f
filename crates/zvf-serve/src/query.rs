//! `/query`: answers of queries as Arrow or JSON.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use axum::body::Body;
use axum::extract::{Query as Parameters, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use bytes::Bytes;
use tokio::sync::mpsc;
use zvf_convert::output::{Style, batch_with_times, with_times, write_json_str, write_value};
use zvf_query::{BBox, Column, Filter, Outputs, Query, Select, Table, group_numbers, query};
use zvf_store::Names;

use crate::http_error::{Answer, HttpError};
use crate::opened::Opened;
use crate::reply::{check_match, with_tag};
use crate::sources::{Source, Sources};

/// How long a client may take to accept a batch.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a query is begun, of a store that changes meanwhile.
const TRIES: u32 = 5;

/// Bytes of an answer that are made before any are sent: a shorter one is known to be of one state of the store by then.
const HELD: usize = 1 << 20;

const KNOWN: &str =
    "store, level, bbox, objects, groups, where, select, limit, attributes, columns, table, format";

/// The format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// The Arrow IPC streaming format.
    Arrow,
    /// One JSON array of objects.
    Json,
    /// One JSON object on each line.
    Lines,
}

type Given = BTreeMap<String, String>;

/// Answers GET and HEAD.
pub(crate) async fn answer(
    State(sources): State<Arc<Sources>>,
    headers: HeaderMap,
    given: Result<Parameters<Given>, axum::extract::rejection::QueryRejection>,
) -> Answer {
    check_match(&headers, None)?;
    let Parameters(given) =
        given.map_err(|_| HttpError::bad_request("found a query string that cannot be read"))?;
    if let Some(unknown) = given
        .keys()
        .find(|name| !KNOWN.split(", ").any(|known| known == *name))
    {
        return Err(HttpError::bad_request(format!(
            "found the parameter {unknown:?}, expected some of {KNOWN}"
        )));
    }
    let source = source(&sources, &given)?;
    let (table, format) = (table(&given)?, format(&given)?);
    let mut wanted = wanted(&given, table)?;
    wanted.memory_budget = sources.budget;
    let permit = sources.permit().await?;
    let mut tries = 1;
    let (begun, opened) = loop {
        let opened = source.opened().await?;
        match begin(&opened, &given, wanted.clone(), (table, format)).await {
            Err(error) if error.is_changed() && tries < TRIES => {
                tries += 1;
                source.forget(&opened).await;
            }
            begun => break (begun?, opened),
        }
    };
    let body = match begun {
        Begun::Whole(bytes) => Body::from(bytes),
        Begun::Part(rest) => {
            let (mut answer, mut text) = *rest;
            let (sender, receiver) = mpsc::channel::<Result<Bytes, std::io::Error>>(1);
            tokio::spawn(async move {
                // The store stays open and the permit taken until the client has everything.
                let _held = (permit, opened);
                let outcome = send(&mut answer, table, &mut text, &sender).await;
                if let Err(error) = outcome {
                    let _ = tokio::time::timeout(PATIENCE, sender.send(Err(error))).await;
                }
            });
            let pieces = futures::stream::unfold(receiver, async |mut receiver| {
                let piece = receiver.recv().await?;
                Some((piece, receiver))
            });
            Body::from_stream(pieces)
        }
    };
    let mut response = with_tag(StatusCode::OK, None, body);
    let kind = match format {
        Format::Arrow => "application/vnd.apache.arrow.stream",
        Format::Json => "application/json",
        Format::Lines => "application/x-ndjson",
    };
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}

fn source<'s>(sources: &'s Sources, given: &Given) -> Answer<&'s Source> {
    match given.get("store") {
        Some(name) => sources.find(name),
        None => {
            let mut all = sources.iter();
            match (all.next(), all.next()) {
                (Some(only), None) => Ok(only),
                _ => Err(HttpError::bad_request(
                    "several stores are served: say store=NAME",
                )),
            }
        }
    }
}

fn table(given: &Given) -> Answer<Table> {
    match given.get("table").map(String::as_str) {
        None | Some("vertices") => Ok(Table::Vertices),
        Some("links") => Ok(Table::Links),
        Some("objects") => Ok(Table::Objects),
        Some(other) => Err(HttpError::bad_request(format!(
            "table: found {other:?}, expected vertices, links or objects"
        ))),
    }
}

fn format(given: &Given) -> Answer<Format> {
    match given.get("format").map(String::as_str) {
        None | Some("arrow") => Ok(Format::Arrow),
        Some("json") => Ok(Format::Json),
        Some("ndjson") => Ok(Format::Lines),
        Some(other) => Err(HttpError::bad_request(format!(
            "format: found {other:?}, expected arrow, json or ndjson"
        ))),
    }
}

/// The query that the parameters describe.
///
/// # Errors
/// 400.
fn wanted(given: &Given, table: Table) -> Answer<Query> {
    let number = |name: &'static str| {
        given
            .get(name)
            .map(|text| text.parse::<u64>())
            .transpose()
            .map_err(|_| HttpError::bad_request(format!("{name}: expected a whole number")))
    };
    let level = number("level")?.unwrap_or(0);
    let level = u32::try_from(level).map_err(|_| HttpError::not_found("no such level"))?;
    let select = match given.get("select").map(String::as_str) {
        None | Some("vertices") => Select::Vertices,
        Some("objects") => Select::Objects,
        Some("chunks") => Select::Chunks,
        Some(other) => {
            return Err(HttpError::bad_request(format!(
                "select: found {other:?}, expected vertices, objects or chunks"
            )));
        }
    };
    let attributes = match given.get("attributes").map(String::as_str) {
        None | Some("all") => Names::All,
        Some("none") => Names::None,
        Some(list) => Names::List(list.split(',').map(str::to_owned).collect()),
    };
    let columns = given.get("columns").map(|list| {
        let columns = list.split(',').map(str::parse::<Column>);
        columns.collect::<Result<Vec<_>, _>>()
    });
    Ok(Query {
        level,
        bbox: given
            .get("bbox")
            .map(|text| BBox::parse(text))
            .transpose()?,
        objects: numbers(given, "objects")?,
        // They may be names, which need the store.
        groups: None,
        filter: given
            .get("where")
            .map(|text| Filter::parse(text))
            .transpose()?,
        limit: number("limit")?,
        select,
        attributes,
        columns: columns.transpose()?.unwrap_or_default(),
        outputs: Outputs {
            vertices: table == Table::Vertices,
            links: table == Table::Links,
            objects: table == Table::Objects,
        },
        ..Query::default()
    })
}

/// Comma-separated numbers.
fn numbers<T: std::str::FromStr>(given: &Given, name: &str) -> Answer<Option<Vec<T>>> {
    let Some(list) = given.get(name) else {
        return Ok(None);
    };
    let numbers = list.split(',').map(str::parse::<T>);
    numbers
        .collect::<Result<Vec<_>, _>>()
        .map(Some)
        .map_err(|_| {
            HttpError::bad_request(format!("{name}: expected whole numbers between commas"))
        })
}

/// The beginning of an answer, before anything is sent to the client.
enum Begun {
    /// The whole answer.
    Whole(Bytes),
    /// More than [`HELD`] bytes: the rest of the answer, and the text that was made of its beginning.
    Part(Box<(zvf_query::Answer, TableText)>),
}

/// Makes an answer up to [`HELD`] bytes.
///
/// # Errors
/// 404 without such a table; the errors of the query.
async fn begin(
    opened: &Opened,
    given: &Given,
    mut wanted: Query,
    (table, format): (Table, Format),
) -> Answer<Begun> {
    if let Some(words) = given.get("groups") {
        let words: Vec<String> = words.split(',').map(str::to_owned).collect();
        wanted.groups = Some(group_numbers(opened.store(), wanted.level, &words).await?);
    }
    let mut answer = query(opened.store(), wanted).await?;
    let schema = answer.schema(table);
    let schema = schema.ok_or_else(|| HttpError::not_found("the store has no such table"))?;
    let unwritable = |error: std::io::Error| HttpError::malformed(error.to_string());
    let mut text = TableText::new(schema, format).map_err(unwritable)?;
    while text.bytes() < HELD {
        match answer.next().await? {
            Some((found, batch)) if found == table => text.batch(&batch).map_err(unwritable)?,
            Some(_) => {}
            None => {
                text.finish().map_err(unwritable)?;
                return Ok(Begun::Whole(text.take()));
            }
        }
    }
    Ok(Begun::Part(Box::new((answer, text))))
}

/// Sends the text that was made, then that of each batch. The next batch is read when the client has received the last one.
async fn send(
    answer: &mut zvf_query::Answer,
    table: Table,
    text: &mut TableText,
    sender: &mpsc::Sender<Result<Bytes, std::io::Error>>,
) -> std::io::Result<()> {
    put(sender, text.take()).await?;
    while let Some((found, batch)) = answer.next().await.map_err(std::io::Error::other)? {
        if found == table {
            text.batch(&batch)?;
            put(sender, text.take()).await?;
        }
    }
    text.finish()?;
    put(sender, text.take()).await
}

async fn put(
    sender: &mpsc::Sender<Result<Bytes, std::io::Error>>,
    bytes: Bytes,
) -> std::io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    match tokio::time::timeout(PATIENCE, sender.send(Ok(bytes))).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(std::io::ErrorKind::BrokenPipe.into()),
    }
}

/// A table being written.
enum TableText {
    Arrow(Box<StreamWriter<Vec<u8>>>),
    Json {
        heads: Vec<String>,
        text: Vec<u8>,
        array: bool,
        rows: u64,
    },
}

impl TableText {
    fn new(schema: &SchemaRef, format: Format) -> std::io::Result<Self> {
        if format == Format::Arrow {
            let writer =
                StreamWriter::try_new(Vec::new(), schema).map_err(std::io::Error::other)?;
            return Ok(Self::Arrow(Box::new(writer)));
        }
        let schema = with_times(schema);
        let heads = schema.fields().iter().enumerate().map(|(number, field)| {
            let mut head = String::from(if number == 0 { "{" } else { "," });
            write_json_str(&mut head, field.name());
            head.push(':');
            head
        });
        let array = format == Format::Json;
        Ok(Self::Json {
            heads: heads.collect(),
            text: if array { b"[".to_vec() } else { Vec::new() },
            array,
            rows: 0,
        })
    }

    fn batch(&mut self, batch: &RecordBatch) -> std::io::Result<()> {
        match self {
            Self::Arrow(writer) => writer.write(batch).map_err(std::io::Error::other),
            Self::Json {
                heads,
                text,
                array,
                rows,
            } => {
                let batch = batch_with_times(batch)?;
                let mut line = String::new();
                for row in 0..batch.num_rows() {
                    line.clear();
                    if *array {
                        line.push_str(if *rows == 0 { "\n" } else { ",\n" });
                    }
                    for (head, column) in heads.iter().zip(batch.columns()) {
                        line.push_str(head);
                        write_value(&mut line, column.as_ref(), row, Style::Json);
                    }
                    line.push_str(if heads.is_empty() { "{}" } else { "}" });
                    if !*array {
                        line.push('\n');
                    }
                    *rows = rows.saturating_add(1);
                    text.write_all(line.as_bytes())?;
                }
                Ok(())
            }
        }
    }

    fn finish(&mut self) -> std::io::Result<()> {
        match self {
            Self::Arrow(writer) => writer.finish().map_err(std::io::Error::other),
            Self::Json {
                text, array: true, ..
            } => text.write_all(b"\n]\n"),
            Self::Json { .. } => Ok(()),
        }
    }

    /// Bytes written since the last [`take`](Self::take).
    fn bytes(&self) -> usize {
        match self {
            Self::Arrow(writer) => writer.get_ref().len(),
            Self::Json { text, .. } => text.len(),
        }
    }

    /// The bytes written since the last call.
    fn take(&mut self) -> Bytes {
        match self {
            Self::Arrow(writer) => std::mem::take(writer.get_mut()).into(),
            Self::Json { text, .. } => std::mem::take(text).into(),
        }
    }
}
