//! `/query`: answers of queries as Arrow or JSON.

use std::collections::BTreeSet;
use std::io::Write;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use axum::body::Body;
use axum::extract::{Query as Parameters, RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use bytes::Bytes;
use futures::Stream;
use percent_encoding::percent_decode_str;
use tokio::sync::mpsc;
use zvf_convert::output::{Style, batch_with_times, with_times, write_json_str, write_value};
use zvf_query::{Outputs, QuerySpec, Table, UniqueJson};

use crate::http_error::{HandlerResult, HttpError};
use crate::opened::OpenedStore;
use crate::reply::{check_match, with_tag};
use crate::sources::{Permit, ServedStore, Sources};

/// How long a client may take to accept a batch.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a client may take to accept a batch before its answer makes room for others.
const PAUSE: Duration = Duration::from_secs(1);

/// Bytes of an answer that are encoded before any are sent. A shorter answer is checked to be from one state of the store.
const HELD: usize = 1 << 20;

/// Members of [`QuerySpec`] that the server sets itself.
const OURS: [&str; 4] = ["tables", "owners", "batch_rows", "memory_budget"];

/// Members that may be given several times, as on the command line; all of the conditions apply.
const REPEATABLE: [&str; 1] = ["passing"];

/// The format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerFormat {
    /// The Arrow IPC streaming format.
    Arrow,
    /// One JSON array of objects.
    Json,
    /// One JSON object on each line.
    Lines,
}

/// The query of a request.
#[derive(Debug, Clone)]
struct Asked {
    store: Option<String>,
    table: Table,
    format: AnswerFormat,
    spec: QuerySpec,
}

/// Answers GET and HEAD: the parameters have the text form of the members of [`QuerySpec`].
pub(crate) async fn answer(
    State(sources): State<Arc<Sources>>,
    RawQuery(text): RawQuery,
    headers: HeaderMap,
    given: Result<Parameters<Vec<(String, String)>>, axum::extract::rejection::QueryRejection>,
) -> HandlerResult {
    let Parameters(given) =
        given.map_err(|_| HttpError::bad_request("found a query string that cannot be read"))?;
    // `given` has U+FFFD in place of bytes that are not UTF-8, which would be compared with texts of the store.
    if percent_decode_str(&text.unwrap_or_default())
        .decode_utf8()
        .is_err()
    {
        let found = "query: found an escape such as %F6 that is not UTF-8, expected UTF-8";
        return Err(HttpError::bad_request(found));
    }
    let mut own = ServerMembers::default();
    let mut spec = QuerySpec::new();
    let mut seen = BTreeSet::new();
    for (member, text) in &given {
        if !seen.insert(member) && !REPEATABLE.contains(&member.as_str()) {
            let found = format!("{member}: found it twice, expected it once");
            return Err(HttpError::bad_request(found));
        }
        if !own.take(member, Some(text))? {
            spec.set(member, text)?;
        }
    }
    spec.check()?;
    reply(&sources, &headers, own.asked(spec)).await
}

/// Answers POST: the body is the JSON of [`QuerySpec`], with `store`, `table` and `format` beside its members.
pub(crate) async fn answer_body(
    State(sources): State<Arc<Sources>>,
    RawQuery(parameters): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> HandlerResult {
    if parameters.is_some_and(|parameters| !parameters.is_empty()) {
        let found = "query: found parameters beside a body, expected them as members of the body";
        return Err(HttpError::bad_request(found));
    }
    let UniqueJson(mut given) = serde_json::from_slice(&body).map_err(|error| {
        HttpError::bad_request(match error.is_data() {
            true => format!("query: found {error}"),
            false => format!("query: found no JSON: {error}"),
        })
    })?;
    let mut own = ServerMembers::default();
    if let Some(members) = given.as_object_mut() {
        let mut rest = serde_json::Map::new();
        for (member, value) in std::mem::take(members) {
            if !own.take(&member, value.as_str())? {
                rest.insert(member, value);
            }
        }
        *members = rest;
    }
    reply(&sources, &headers, own.asked(QuerySpec::from_json(&given)?)).await
}

/// The members of a request that are not members of [`QuerySpec`].
#[derive(Debug, Default)]
struct ServerMembers {
    store: Option<String>,
    table: Option<Table>,
    format: Option<AnswerFormat>,
}

impl ServerMembers {
    /// Takes a member if it is one of these; returns whether it is.
    ///
    /// # Errors
    /// 400: a value that is not valid, or a member that the server sets itself.
    fn take(&mut self, member: &str, text: Option<&str>) -> HandlerResult<bool> {
        let wrong = |expected: &str| {
            let found = text.map_or_else(|| "no text".to_owned(), |text| format!("{text:?}"));
            HttpError::bad_request(format!("{member}: found {found}, expected {expected}"))
        };
        match (member, text) {
            ("store", Some(name)) => self.store = Some(name.to_owned()),
            ("table", Some("vertices")) => self.table = Some(Table::Vertices),
            ("table", Some("links")) => self.table = Some(Table::Links),
            ("table", Some("objects")) => self.table = Some(Table::Objects),
            ("format", Some("arrow")) => self.format = Some(AnswerFormat::Arrow),
            ("format", Some("json")) => self.format = Some(AnswerFormat::Json),
            ("format", Some("ndjson")) => self.format = Some(AnswerFormat::Lines),
            ("store", None) => return Err(wrong("the name of a store")),
            ("table", _) => return Err(wrong("vertices, links or objects")),
            ("format", _) => return Err(wrong("arrow, json or ndjson")),
            (other, _) if OURS.contains(&other) => {
                return Err(HttpError::bad_request(format!(
                    "{member}: found a member that the server sets itself, expected none"
                )));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn asked(self, mut spec: QuerySpec) -> Asked {
        let table = self.table.unwrap_or(Table::Vertices);
        spec.tables = Outputs {
            vertices: table == Table::Vertices,
            links: table == Table::Links,
            objects: table == Table::Objects,
        };
        // As in tables of vertices that `zvf query` writes.
        spec.owners = table == Table::Vertices;
        Asked {
            store: self.store,
            table,
            format: self.format.unwrap_or(AnswerFormat::Arrow),
            spec,
        }
    }
}

async fn reply(sources: &Arc<Sources>, headers: &HeaderMap, mut asked: Asked) -> HandlerResult {
    check_match(headers, None)?;
    let source = source(sources, asked.store.as_deref())?;
    let (table, format) = (asked.table, asked.format);
    asked.spec.memory_budget = sources.budget;
    let permit = sources.permit().await?;
    if let Some(split) = asked.spec.split {
        // Checked before the query, because reopening the store does not bring the state of the split back.
        let opened = source.opened().await?;
        split.check(opened.store()).map_err(|error| {
            HttpError::new(StatusCode::PRECONDITION_FAILED, format!("split: {error}"))
        })?;
    }
    let begun = source.with_current(|opened| begin(opened, &asked));
    let (begun, opened) = begun.await?;
    let body = match begun {
        BegunAnswer::Whole(bytes, warnings) => {
            sources.warn(source, &opened, &warnings);
            Body::from(bytes)
        }
        BegunAnswer::Part(rest) => {
            let (mut answer, mut text) = *rest;
            let (sender, receiver) = mpsc::channel(1);
            let (sources, name) = (Arc::clone(sources), source.name().to_owned());
            tokio::spawn(async move {
                // The store stays open until the client has received everything.
                let mut delivery = Delivery {
                    sources: &sources,
                    permit: Some(permit),
                    sender,
                };
                let outcome = delivery.send(&mut answer, table, &mut text).await;
                if let Ok(source) = sources.find(&name) {
                    sources.warn(source, &opened, &answer.summary().warnings);
                }
                if let Err(error) = outcome {
                    // If the client does not read, the channel is full and this error is dropped; the body then ends with another error.
                    let _ = delivery.sender.try_send(Err(error));
                }
            });
            Body::from_stream(body(receiver))
        }
    };
    let mut response = with_tag(StatusCode::OK, None, body);
    let kind = match format {
        AnswerFormat::Arrow => "application/vnd.apache.arrow.stream",
        AnswerFormat::Json => "application/json",
        AnswerFormat::Lines => "application/x-ndjson",
    };
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}

/// A piece of an answer; `None` after the last one.
type Piece = std::io::Result<Option<Bytes>>;

/// The pieces of an answer. If the sender is dropped before the last piece, because the client did not read or because of a panic, the body ends
/// with an error, so that the client does not mistake it for the whole answer.
fn body(receiver: mpsc::Receiver<Piece>) -> impl Stream<Item = std::io::Result<Bytes>> {
    futures::stream::unfold(Some(receiver), async |receiver| {
        let mut receiver = receiver?;
        let error = match receiver.recv().await {
            Some(Ok(Some(bytes))) => return Some((Ok(bytes), Some(receiver))),
            Some(Ok(None)) => return None,
            Some(Err(error)) => error,
            None => std::io::ErrorKind::BrokenPipe.into(),
        };
        Some((Err(error), None))
    })
}

fn source<'s>(sources: &'s Sources, name: Option<&str>) -> HandlerResult<&'s ServedStore> {
    match name {
        Some(name) => sources.find(name),
        None => {
            let mut all = sources.iter();
            match (all.next(), all.next()) {
                (Some(only), None) => Ok(only),
                _ => Err(HttpError::bad_request(
                    "several stores are served: select one with store=NAME",
                )),
            }
        }
    }
}

/// The beginning of an answer, before anything is sent to the client.
enum BegunAnswer {
    /// The whole answer, and its warnings.
    Whole(Bytes, Vec<String>),
    /// More than [`HELD`] bytes: the rest of the answer, and the encoded beginning.
    Part(Box<(zvf_query::Answer, TableText)>),
}

/// Encodes an answer until it ends or has [`HELD`] bytes.
///
/// # Errors
/// 404 if the store has no such table; the errors of the query; malformed data if a batch cannot be encoded.
async fn begin(opened: Arc<OpenedStore>, asked: &Asked) -> HandlerResult<BegunAnswer> {
    let (table, format) = (asked.table, asked.format);
    let mut answer = asked.spec.run(opened.store()).await?;
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
                let warnings = answer.summary().warnings.clone();
                return Ok(BegunAnswer::Whole(text.take(), warnings));
            }
        }
    }
    Ok(BegunAnswer::Part(Box::new((answer, text))))
}

/// The delivery of an answer in pieces.
struct Delivery<'s> {
    sources: &'s Sources,
    /// Held while the next piece is computed.
    permit: Option<Permit>,
    sender: mpsc::Sender<Piece>,
}

impl Delivery<'_> {
    /// Sends the encoded beginning, then each batch. The next batch is read after the client has accepted the previous one.
    async fn send(
        &mut self,
        answer: &mut zvf_query::Answer,
        table: Table,
        text: &mut TableText,
    ) -> std::io::Result<()> {
        self.put(Some(text.take())).await?;
        while let Some((found, batch)) = answer.next().await.map_err(std::io::Error::other)? {
            if found == table {
                text.batch(&batch)?;
                self.put(Some(text.take())).await?;
            }
        }
        text.finish()?;
        self.put(Some(text.take())).await?;
        self.put(None).await
    }

    /// Sends a piece that is not empty, or the end. While the client does not accept it, other answers are computed, as far as there is
    /// memory for what this one holds.
    async fn put(&mut self, piece: Option<Bytes>) -> std::io::Result<()> {
        if piece.as_ref().is_some_and(Bytes::is_empty) {
            return Ok(());
        }
        let gone = |_| std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let sender = self.sender.clone();
        let mut sent = pin!(sender.send(Ok(piece)));
        if let Ok(sent) = tokio::time::timeout(PAUSE, &mut sent).await {
            return sent.map_err(gone);
        }
        // Held until the next permit is granted.
        let aside = self.sources.step_aside();
        if aside.is_some() {
            self.permit = None;
        }
        let sent = tokio::time::timeout(PATIENCE, sent).await;
        let sent = sent.map_err(|_| std::io::ErrorKind::BrokenPipe)?;
        sent.map_err(gone)?;
        if self.permit.is_none() {
            let permit = self.sources.permit().await;
            self.permit = Some(permit.map_err(|_| std::io::ErrorKind::BrokenPipe)?);
        }
        Ok(())
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
    fn new(schema: &SchemaRef, format: AnswerFormat) -> std::io::Result<Self> {
        let schema = with_times(schema);
        if format == AnswerFormat::Arrow {
            let writer =
                StreamWriter::try_new(Vec::new(), &schema).map_err(std::io::Error::other)?;
            return Ok(Self::Arrow(Box::new(writer)));
        }
        let heads = schema.fields().iter().enumerate().map(|(number, field)| {
            let mut head = String::from(if number == 0 { "{" } else { "," });
            write_json_str(&mut head, field.name());
            head.push(':');
            head
        });
        let array = format == AnswerFormat::Json;
        Ok(Self::Json {
            heads: heads.collect(),
            text: if array { b"[".to_vec() } else { Vec::new() },
            array,
            rows: 0,
        })
    }

    fn batch(&mut self, batch: &RecordBatch) -> std::io::Result<()> {
        let batch = batch_with_times(batch)?;
        match self {
            Self::Arrow(writer) => writer.write(&batch).map_err(std::io::Error::other),
            Self::Json {
                heads,
                text,
                array,
                rows,
            } => {
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::StreamExt;
    use tokio::sync::mpsc;

    use super::body;

    #[tokio::test]
    async fn only_a_body_with_its_end_is_complete() {
        for (ends, complete) in [(true, true), (false, false)] {
            let (sender, receiver) = mpsc::channel(2);
            sender
                .send(Ok(Some(Bytes::from_static(b"rows"))))
                .await
                .unwrap();
            if ends {
                sender.send(Ok(None)).await.unwrap();
            }
            drop(sender);
            let pieces: Vec<_> = body(receiver).collect().await;
            assert_eq!(pieces[0].as_ref().unwrap(), "rows");
            assert_eq!(pieces.iter().all(Result::is_ok), complete);
            assert_eq!(pieces.len(), if complete { 1 } else { 2 });
        }
    }
}
