//! The job `query`: writes an answer to files, or summarizes it.

mod digest;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use zvf_convert::{Format, SourceHeader, groups_of, groups_table};
use zvf_query::{Outputs, Query, QuerySpec, Select, Table};
use zvf_store::format::int;
use zvf_store::{IoCounts, Need, Store};

use crate::checks::{at_most_one, needs};
use crate::error::Result;
use crate::export::ExportTarget;
use crate::output::{AnswerPlace, AnswerSink, GROUPS};
use crate::rows::warnings_of;
use crate::selection::{opened, set, set_columns};
use crate::{
    Context, FileExported, JobError, JobEvent, LevelOptions, Output, PieceText, SelectName,
    SelectionOptions, TableFormat, TableRows, Term, is_packed,
};
use digest::Digest;

options! {
    /// The output of a query
    ResultOptions {
        /// Which level is read
        #[command(flatten)]
        #[serde(flatten)]
        at: LevelOptions,
        /// The first N vertices; `zvf query --select objects` keeps whole objects while they fit
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
        /// Attributes to read: all, none, or names (which also work if the storage cannot list)
        #[arg(long, value_name = "all|none|NAME,..", default_value = "all")]
        attributes: Term = Term::all(),
        /// Columns of the vertex table: position, chunk, row, fragment, object_id, object_ids, names of attributes or axes (x,y,z: a column each), geometry (points in well-known binary)
        #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
        columns: Vec<String>,
        /// Where the result goes: a file of the format of its ending, or a directory if the name has no ending or ends with a slash
        #[arg(short, long, value_name = "OUT")]
        #[schemars(extend("format" = "path"))]
        output: Option<PathBuf>,
        /// Format of the vertex table, on stdout unless -o is given
        #[arg(long, value_enum, value_name = "F")]
        format: Option<TableFormat>,
    }
}

options! {
    /// Selects vertices, links and objects by box, object, group or attribute
    QueryJob {
        /// Path or URL of the store
        store: String,
        /// Which rows are used
        #[command(flatten)]
        #[serde(flatten)]
        terms: SelectionOptions,
        /// What is kept: rows inside, whole objects with a vertex inside, or whole chunks that meet the box
        /// [default: vertices; objects in files of lines, polylines and streamlines]
        #[arg(long, value_enum)]
        select: Option<SelectName>,
        /// Only piece I of the N pieces that `zvf splits --count N` lists, I from 0; with the @TAG that it lists, a store that was edited since is refused, so that all pieces are of one state
        #[arg(long, value_name = "I/N[@TAG]", conflicts_with = "limit")]
        split: Option<PieceText>,
        /// The output
        #[command(flatten)]
        #[serde(flatten)]
        result: ResultOptions,
    }
}

/// The destination of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerTarget {
    /// Only a summary.
    Summary,
    /// The vertex table.
    Table(TableFormat),
    /// A file as `export` writes it.
    Export(Format),
    /// All tables in a directory.
    Tables,
}

impl ResultOptions {
    /// The destination for `output` and `format`; with both, the vertex table goes to the file in that format.
    fn target(&self) -> Result<AnswerTarget> {
        let path = match (&self.output, self.format) {
            (None, None) => return Ok(AnswerTarget::Summary),
            (Some(path), Some(_)) if is_packed(path) => {
                return Err(JobError::usage(format!(
                    "{}: found .gz and --format, expected no --format: .csv.gz and .tsv.gz are compressed without it",
                    path.display()
                )));
            }
            (_, Some(format)) => return Ok(AnswerTarget::Table(format)),
            (Some(path), None) => path,
        };
        if is_directory_name(path) {
            return Ok(AnswerTarget::Tables);
        }
        if let Some(format) = TableFormat::of_vertices(path) {
            return Ok(AnswerTarget::Table(format));
        }
        let format = export_format(path)?;
        #[cfg(feature = "parquet")]
        if format == Format::Parquet && !self.columns.is_empty() {
            return Ok(AnswerTarget::Table(TableFormat::Parquet));
        }
        if !self.columns.is_empty() {
            let found = format!("some for {}", path.display());
            let expected = "none: they are for .arrow, .csv, .ndjson, .parquet and directories; `attributes` chooses attributes";
            return Err(JobError::option("columns", found, expected));
        }
        Ok(AnswerTarget::Export(format))
    }

    /// Sets the level, the limit, and the tables and columns to be written in the description of a query.
    fn set(&self, spec: &mut QuerySpec, target: AnswerTarget) -> Result<()> {
        self.at.set(spec);
        spec.limit = self.limit;
        set_columns(spec, &self.columns)?;
        set(spec, "attributes", Some(&self.attributes))?;
        if matches!(target, AnswerTarget::Table(_)) {
            spec.tables = Outputs {
                vertices: true,
                links: false,
                objects: false,
            };
        }
        // NPY has only positions, and exports choose their columns.
        spec.owners = match target {
            AnswerTarget::Table(format) => format != TableFormat::Npy,
            AnswerTarget::Tables => true,
            AnswerTarget::Summary | AnswerTarget::Export(_) => false,
        };
        Ok(())
    }
}

/// Whether a name has no ending, or a slash at its end.
fn is_directory_name(path: &Path) -> bool {
    let slash = path
        .as_os_str()
        .to_string_lossy()
        .ends_with(['/', std::path::MAIN_SEPARATOR]);
    slash || path.extension().is_none()
}

/// The format of `export` for an ending.
fn export_format(path: &Path) -> Result<Format> {
    Format::of_output(path).map_err(|_| {
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let known = Format::written_endings().chain(["ndjson", "jsonl"]);
        let known: Vec<String> = known.map(|one| format!(".{one}")).collect();
        JobError::usage(format!(
            "{}: found .{ending}, expected {}, or for a directory a name without an ending or with a slash at its end",
            path.display(),
            known.join(", ")
        ))
    })
}

impl QueryJob {
    pub(crate) fn check(&self) -> Result<()> {
        self.terms.check()?;
        SelectName::check(self.select, self.terms.place.relation())?;
        let result = &self.result;
        let limit = ("limit", result.limit.is_some());
        at_most_one(&[("split", self.split.is_some()), limit])?;
        let output = ("output", result.output.is_some());
        needs(("format", result.format.is_some()), &[output])?;
        result.set(&mut QuerySpec::new(), result.target()?)
    }

    async fn spec(&self, target: AnswerTarget, context: &Context) -> Result<QuerySpec> {
        let mut spec = self.terms.read(&self.store, context).await?;
        spec.select = self.select.map_or(Select::Vertices, Select::from);
        self.result.set(&mut spec, target)?;
        Ok(spec)
    }

    /// Opens the store and resolves the query, for targets other than files that `export` writes.
    ///
    /// # Errors
    ///
    /// Misuse; the errors of the store and of [`Query::piece`].
    pub fn open<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<(Store, Query)>> {
        async move {
            SelectName::check(self.select, self.terms.place.relation())?;
            let spec = self.spec(self.result.target()?, context).await?;
            let (store, query) = opened(&spec, &self.store, context).await?;
            let Some(split) = &self.split else {
                return Ok((store, query));
            };
            let piece = query.piece(&store, *split.value()).await;
            let piece = piece.map_err(JobError::query(&self.store))?;
            Ok((store, piece))
        }
        .boxed()
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<QueryReport>> {
        async move {
            let given = self.result.output.as_deref();
            let output = given.map(|given| Output::of(given, &self.store, &context.write.open.io));
            let output = output.transpose()?;
            let target = self.result.target()?;
            let Some(output) = output else {
                let done = self.answer(AnswerPlace::Nowhere, context).await;
                return done.map(QueryReport::Answer);
            };
            let path = output.path().to_owned();
            let place = match target {
                AnswerTarget::Export(_) => {
                    let target = ExportTarget {
                        output,
                        links: None,
                        faces: false,
                        select: self.select.map(Select::from),
                        keep_frame: false,
                    };
                    let split = self.split.as_ref().map(|split| *split.value());
                    SelectName::check(self.select, self.terms.place.relation())?;
                    let spec = self.spec(AnswerTarget::Summary, context).await?;
                    let done = target.write(&self.store, &spec, split, context).await;
                    return done.map(QueryReport::File);
                }
                AnswerTarget::Table(format) => AnswerPlace::File(path, format),
                AnswerTarget::Tables => AnswerPlace::Directory(path),
                AnswerTarget::Summary => AnswerPlace::Nowhere,
            };
            let mut done = self.answer(place, context).await?;
            let files = done.files.iter().map(PathBuf::from).collect();
            let sent = output.send(files, context).await?;
            done.files = sent.iter().map(|file| file.display().to_string()).collect();
            Ok(QueryReport::Answer(done))
        }
        .boxed()
    }

    /// Writes the table of vertices to `out`, in the format that the options state.
    ///
    /// # Errors
    ///
    /// Misuse: no format. The errors of the store, the query and the writer.
    pub fn write_table<'a>(
        &'a self,
        out: Box<dyn Write + Send>,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<QueryAnswered>> {
        async move {
            let format = self.result.format;
            let format = format
                .ok_or_else(|| JobError::option("format", "nothing", "the format of a table"))?;
            self.answer(AnswerPlace::Writer(out, format), context).await
        }
        .boxed()
    }

    async fn answer(&self, place: AnswerPlace, context: &Context) -> Result<QueryAnswered> {
        let mut context = context.clone();
        let trace = context.write.open.io.trace.counting();
        context.write.open.io.trace = trace.clone();
        let (store, query) = self.open(&context).await?;
        let failed = || JobError::query(&self.store);
        let level = query.level;
        let selects = query.has_conditions() || query.objects.is_some() || query.groups.is_some();
        let takes_all = level == 0 && !selects && query.limit.is_none() && self.split.is_none();
        if self.split.is_none() {
            context.total_of(&store, &query).await?;
        }
        let answer = zvf_query::query(&store, query).await;
        let mut answer = answer.map_err(failed())?;
        let [has_links, has_objects] =
            [Table::Links, Table::Objects].map(|table| answer.schema(table).is_some());
        let grouped = has_objects && matches!(place, AnswerPlace::Directory(_));
        let framed = if place.states_frames() {
            let header = SourceHeader::of_store(&store).await?;
            let vertices = answer.schema(Table::Vertices);
            let pair = header.as_ref().zip(vertices);
            pair.map(|(header, schema)| header.in_schema(schema))
        } else {
            None
        };
        let mut sink = AnswerSink::open(place, |table| match (&framed, table) {
            (Some(framed), Table::Vertices) => Some(framed),
            _ => answer.schema(table).map(AsRef::as_ref),
        })?;
        let mut digest = Digest::default();
        let progress = context.progress();
        let mut members = BTreeSet::new();
        while let Some((table, batch)) = answer.next().await.map_err(failed())? {
            digest.look(table, &batch);
            if grouped && table == Table::Objects {
                let ids = batch.column_by_name("object_id");
                let ids = ids.and_then(|ids| ids.as_primitive_opt::<Int64Type>());
                members.extend(ids.iter().flat_map(|ids| ids.values().iter().copied()));
            }
            if table == Table::Vertices {
                progress(int::wide(batch.num_rows()));
            }
            sink.write(table, &batch)?;
        }
        let mut groups = 0;
        if grouped && takes_all {
            let need = Need {
                objects: true,
                ..Need::nothing()
            };
            let found = store.level(0, &need).await?;
            let all = match found.object_index() {
                Some(index) => index.ids().await?.count(),
                None => 0,
            };
            let bare = all.saturating_sub(int::wide(members.len()));
            if bare > 0 {
                context.event(&JobEvent::Note(&format!(
                    "objects without vertices: {bare}; they are in no table (`zvf append`, `zvf merge` and `zvf rechunk` of the store keep them)"
                )));
            }
        }
        if grouped {
            let at = |error| JobError::from(error).at(&self.store);
            let found = groups_of(&store, level, Some(&members)).await;
            let found = found.map_err(at)?;
            if let Some((found, notes)) = found.filter(|(found, _)| !found.members().is_empty()) {
                sink.groups(&groups_table(&found, &store).map_err(at)?)?;
                groups = int::wide(found.members().len());
                for note in &notes {
                    context.event(&JobEvent::Note(note));
                }
            }
        }
        let files = sink.finish()?;
        let summary = answer.summary();
        if let Some(limit) = self.result.limit
            && (summary.truncated, summary.vertices) == (true, 0)
            && limit > 0
        {
            context.event(&JobEvent::Note(&format!(
                "no row: the first object has more than {limit} vertices (--limit), and whole objects are not cut"
            )));
        }
        Ok(QueryAnswered {
            store: self.store.clone(),
            level,
            levels: summary.levels.clone(),
            kind: store.kind().to_string(),
            vertices: summary.vertices,
            links: has_links.then_some(summary.links),
            objects: has_objects.then_some(summary.objects),
            truncated: summary.truncated,
            bounds: digest.bounds(),
            chunks_read: summary.chunks_read,
            cells_read: summary.cells_read,
            traffic: trace.counts().into(),
            files: files
                .iter()
                .map(|file| file.display().to_string())
                .collect(),
            warnings: warnings_of(&store, &summary.warnings),
            groups,
            first_vertices: digest.vertices,
            first_objects: digest.objects,
        })
    }
}

/// What `query` found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum QueryReport {
    /// The summary of the answer.
    Answer(QueryAnswered),
    /// The file, written as `export` writes it.
    File(FileExported),
}

/// The summary of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct QueryAnswered {
    /// The store.
    pub store: String,
    /// The level.
    pub level: u32,
    /// The levels that were read.
    pub levels: Vec<u32>,
    /// The kind of the store.
    pub kind: String,
    /// Vertices.
    pub vertices: u64,
    /// Links, if the answer has them.
    pub links: Option<u64>,
    /// Objects, if the answer has them.
    pub objects: Option<u64>,
    /// Whether the limit left out rows.
    pub truncated: bool,
    /// The smallest and the largest coordinate on each axis, if there is any vertex.
    pub bounds: Option<[Vec<f64>; 2]>,
    /// Chunks that were read.
    pub chunks_read: u64,
    /// Cells that were read.
    pub cells_read: u64,
    /// Requests to the storage.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// The files that were written.
    pub files: Vec<String>,
    /// Violations of the format.
    pub warnings: Vec<String>,
    /// Groups of the objects, in a directory.
    #[serde(skip)]
    pub groups: u64,
    /// The first vertices.
    #[serde(skip)]
    pub first_vertices: Option<TableRows>,
    /// The first objects.
    #[serde(skip)]
    pub first_objects: Option<TableRows>,
}

impl QueryAnswered {
    /// The number of rows of a file of the answer, and what one of them is.
    #[must_use]
    pub fn counted(&self, file: &str) -> (u64, &'static str) {
        match Path::new(file).file_name().and_then(|name| name.to_str()) {
            Some("links.arrow") => (self.links.unwrap_or(0), "link"),
            Some("objects.arrow") => (self.objects.unwrap_or(0), "object"),
            Some(GROUPS) => (self.groups, "group"),
            _ => (self.vertices, "vertex"),
        }
    }
}

/// Counts of the requests to the storage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Requests.
    pub requests: u64,
    /// Rounds of requests that waited for each other.
    pub rounds: u32,
    /// Bytes received.
    pub bytes: u64,
}

impl From<IoCounts> for Traffic {
    fn from(counts: IoCounts) -> Self {
        let IoCounts {
            requests,
            rounds,
            bytes,
        } = counts;
        Self {
            requests,
            rounds,
            bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: Option<&str>, format: Option<TableFormat>) -> Result<AnswerTarget> {
        let output = name.map(PathBuf::from);
        let options = ResultOptions {
            output,
            format,
            ..ResultOptions::default()
        };
        options.target()
    }

    #[test]
    fn endings_decide() {
        let table = |name: &str| target(Some(name), None).unwrap();
        assert_eq!(table("a/b.CSV"), AnswerTarget::Table(TableFormat::Csv));
        for (name, format) in [
            ("a.parquet", Format::Parquet),
            ("n.swc", Format::Swc),
            ("a.TSV", Format::Csv),
            ("b/t.trk", Format::Trk),
        ] {
            assert_eq!(table(name), AnswerTarget::Export(format));
        }
        for name in ["out", "out/", "out.csv/", "a.b/out", "..", "."] {
            assert_eq!(table(name), AnswerTarget::Tables);
        }
        for name in ["box.docx", "box.json", "box.results", "v1.5"] {
            let error = target(Some(name), None).unwrap_err().to_string();
            for part in [name, ".swc", ".parquet", ".ndjson", "directory"] {
                assert!(error.contains(part), "{part:?} in {error}");
            }
        }
        for name in [None, Some("x")] {
            let found = target(name, Some(TableFormat::Npy)).unwrap();
            assert_eq!(found, AnswerTarget::Table(TableFormat::Npy));
        }
        assert_eq!(target(None, None).unwrap(), AnswerTarget::Summary);
    }
}
