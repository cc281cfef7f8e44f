//! The job `export`: a selection as a file of another format, or as a file for each object.

use std::path::{Path, PathBuf};

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zvf_convert::export::{ExportOptions, chained};
use zvf_convert::{Format, is_template, object_parts};
use zvf_encode::Kind;
use zvf_encode::error::OrBug;
use zvf_neuroglancer::{View, export_precomputed};
use zvf_query::{PieceOf, Query, QuerySpec, Select};
use zvf_store::{Need, Store};

use crate::checks::{at_most_one, check_outside, needs};
use crate::error::Result;
use crate::file_export::{remarks, write_file};
use crate::selection::{of_member, opened, set};
use crate::{
    Context, JobError, LevelOptions, Output, PieceText, SelectName, SelectionOptions, SplitReport,
    Staged, Term, ViewShards,
};

options! {
    /// Writes a selection of a store as a file of another format, by its ending
    ExportJob {
        /// Path or URL of the store
        store: String,
        /// The file to write; an existing file is replaced
        #[arg(skip)]
        #[schemars(extend("format" = "path"))]
        file: PathBuf,
        /// Which rows are used
        #[command(flatten)]
        #[serde(flatten)]
        terms: SelectionOptions,
        /// What is kept: rows inside, whole objects with a vertex inside, or whole chunks that meet the box [default: objects
        /// for lines, polylines and streamlines, else vertices]
        #[arg(long, value_enum)]
        select: Option<SelectName>,
        /// Which level is read
        #[command(flatten)]
        #[serde(flatten)]
        at: LevelOptions,
        /// Only piece I of the N pieces of the selection, I from 0: cut by object if the file has whole objects, else by chunk; with the @TAG that `zvf splits` lists, a store that was edited since is refused
        #[arg(long, value_name = "I/N[@TAG]", conflicts_with = "limit")]
        split: Option<PieceText>,
        /// The first N vertices; whole objects are written only as long as they fit
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
        /// Attributes of vertices to write: all, none, or names
        #[arg(long, value_name = "all|none|NAME,..", default_value = "all")]
        attributes: Term = Term::all(),
        /// .trk, .tck, .trx: writes positions as they are stored, in any frame
        #[arg(long)]
        keep_frame: bool,
        /// Tables: another table for the edges of a graph or skeleton
        #[arg(long, value_name = "FILE", conflicts_with = "faces")]
        #[schemars(extend("format" = "path"))]
        edges: Option<PathBuf>,
        /// Tables: another table for the faces of a mesh
        #[arg(long, value_name = "FILE")]
        #[schemars(extend("format" = "path"))]
        faces: Option<PathBuf>,
        /// Writes the views of the whole store for Neuroglancer instead, as files in the folder FILE
        #[arg(long, value_enum)]
        format: Option<FolderFormat>,
        /// With --format: whether the objects of a view are combined into shards, a few large files. auto: shards if there would
        /// be more than 10000 files; none: a file for each object; BITS: 2 to the power of BITS shards, BITS at most 20. Legacy
        /// meshes have no shards
        #[arg(long, value_name = "auto|none|BITS", default_value = "auto", requires = "format")]
        shards: ViewShards = ViewShards::default(),
    }
}

/// Formats that are folders of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum FolderFormat {
    /// Neuroglancer's precomputed annotations, skeletons and meshes
    Precomputed,
}

/// Decoded bytes of one query of a view, unless the context has a budget.
const VIEW_BUDGET: u64 = 64 << 20;

impl ExportJob {
    /// The template for a file of each object, if the name of the file is a template.
    fn template(&self) -> Option<&str> {
        self.file.to_str().filter(|path| is_template(path))
    }

    /// Refuses options that do not apply to `format`: views have the whole store.
    fn check_views(&self) -> Result<()> {
        let plain = Self {
            store: self.store.clone(),
            file: self.file.clone(),
            format: self.format,
            shards: self.shards.clone(),
            ..Self::default()
        };
        let members = |job: &Self| {
            let members = serde_json::to_value(job);
            members.map_err(|error| JobError::option("job", error, "texts of Unicode"))
        };
        let (given, plain) = (members(self)?, members(&plain)?);
        let mut given = given.as_object().into_iter().flatten();
        match given.find(|(member, value)| plain.get(member.as_str()) != Some(value)) {
            Some((member, _)) => Err(JobError::option(
                member,
                "it with `format`",
                "none: the views have the whole store",
            )),
            None => Ok(()),
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.format.is_some() {
            return self.check_views();
        }
        let shards = ("shards", self.shards != ViewShards::default());
        needs(shards, &[("format", false)])?;
        self.terms.check()?;
        SelectName::check(self.select, self.terms.place.relation())?;
        set(&mut QuerySpec::new(), "attributes", Some(&self.attributes))?;
        let edges = ("edges", self.edges.is_some());
        let faces = ("faces", self.faces.is_some());
        let split = ("split", self.split.is_some());
        let limit = ("limit", self.limit.is_some());
        at_most_one(&[edges, faces])?;
        at_most_one(&[split, limit])?;
        let is_url = self.file.to_string_lossy().contains("://");
        if !is_url {
            Format::of_output(&self.file)?;
        }
        if self.template().is_none() {
            return Ok(());
        }
        let level = ("level", self.at.level != 0);
        let select = self.select.is_some_and(|one| one != SelectName::Objects);
        for (member, given) in [edges, faces, split, limit, level, ("select", select)] {
            if given {
                let found = "it with a template of file names";
                let expected = "none: each object of level 0 becomes a file";
                return Err(JobError::option(member, found, expected));
            }
        }
        if is_url {
            let expected = "a path: each object becomes a file";
            return Err(JobError::option("file", "a URL", expected));
        }
        Ok(())
    }

    async fn spec(&self, context: &Context) -> Result<QuerySpec> {
        let mut spec = self.terms.read(&self.store, context).await?;
        self.at.set(&mut spec);
        spec.limit = self.limit;
        set(&mut spec, "attributes", Some(&self.attributes))?;
        Ok(spec)
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<ExportReport>> {
        async move {
            match (self.format, self.template()) {
                (Some(FolderFormat::Precomputed), _) => {
                    self.views(context).await.map(ExportReport::Views)
                }
                (None, Some(template)) => {
                    let done = self.each_object(template, context).await;
                    done.map(ExportReport::Objects)
                }
                (None, None) => self.whole(context).await.map(ExportReport::File),
            }
        }
        .boxed()
    }

    async fn whole(&self, context: &Context) -> Result<FileExported> {
        let output = |given: &Path| Output::of(given, &self.store, &context.write.open.io);
        let links = self.edges.as_deref().or(self.faces.as_deref());
        let target = ExportTarget {
            output: output(&self.file)?,
            links: links.map(output).transpose()?,
            faces: self.faces.is_some(),
            select: self.select.map(Select::from),
            keep_frame: self.keep_frame,
        };
        let split = self.split.as_ref().map(|split| *split.value());
        let spec = self.spec(context).await?;
        target.write(&self.store, &spec, split, context).await
    }

    async fn views(&self, context: &Context) -> Result<ViewsExported> {
        let budget = context.memory_budget.unwrap_or(VIEW_BUDGET);
        let store = context.open(&self.store, 0, Need::all()).await?;
        // An earlier export of the same views is replaced; views of other stores are not.
        let views = View::of(store.kind()).iter().map(|view| view.name());
        let staged = Staged::directory(&self.file, &views.collect::<Vec<_>>())?;
        let done = export_precomputed(store, staged.path(), budget, *self.shards.value()).await;
        let done = done.map_err(|error| {
            let (what, class) = (error.to_string(), error.class());
            JobError::Table { what, class }.at(&self.store)
        })?;
        let folder = staged.commit()?;
        let left_out = (done.left_out.iter()).map(|name| match name.strip_prefix("axis ") {
            Some(axis) => format!("axis {axis} is left out: views have three axes of space"),
            None => format!("attribute {name} is left out: no view has values of its type"),
        });
        let rounded = done.rounded.iter().map(|name| {
            format!(
                "attribute {name} is written as float32: numbers with more digits, such as whole numbers above 16,777,216, are rounded, and those beyond 3.4e38 become infinite (0 in segment properties)"
            )
        });
        let warnings = left_out.chain(rounded).chain(done.notes.iter().cloned());
        Ok(ViewsExported {
            store: self.store.clone(),
            folder: folder.display().to_string(),
            format: Format::Precomputed.name(),
            warnings: warnings.collect(),
            views: done.views,
            files: done.files,
            bytes: done.bytes,
        })
    }

    async fn each_object(&self, template: &str, context: &Context) -> Result<SplitReport> {
        let spec = self.spec(context).await?;
        spec.check().map_err(of_member)?;
        let store = context.open(&self.store, 0, Need::all()).await?;
        let query = spec.resolve(&store).await;
        let query = query.map_err(JobError::query(&self.store))?;
        let found = object_parts(&store, &query, template).await;
        let found = found.map_err(|error| JobError::from(error).at(&self.store))?;
        let format = Format::of_output(&self.file)?;
        let mut report = SplitReport::new(&self.store);
        report.note(&found.notes);
        for part in &found.parts {
            check_outside(Path::new(&part.name))?;
        }
        for part in &found.parts {
            let path = PathBuf::from(&part.name);
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)
                    .map_err(JobError::file("create the directory", folder))?;
            }
            let file = (path.as_path(), format);
            let done = report.export(&store, file, part, self.keep_frame).await?;
            report.add(&path, part, (done.vertices, done.objects), false);
        }
        Ok(report)
    }
}

/// What `export` wrote.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ExportReport {
    /// One file.
    File(FileExported),
    /// A file for each object.
    Objects(SplitReport),
    /// A folder of views.
    Views(ViewsExported),
}

/// Views that were written for Neuroglancer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ViewsExported {
    /// The store.
    pub store: String,
    /// The folder.
    pub folder: String,
    /// The format of the folder.
    pub format: &'static str,
    /// The folders of the views, in that folder.
    pub views: Vec<&'static str>,
    /// Number of files.
    pub files: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Data that the views lack or change.
    pub warnings: Vec<String>,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FileExported {
    /// The store.
    pub store: String,
    /// The file.
    pub file: String,
    /// Its format.
    pub format: &'static str,
    /// The second table.
    pub links_file: Option<String>,
    /// The file and the second table.
    pub files: Vec<String>,
    /// The level.
    pub level: u32,
    /// Vertices of the file.
    pub vertices: u64,
    /// Edges or faces in the files.
    pub links: u64,
    /// Objects of the selection.
    pub objects: u64,
    /// Data that the format cannot hold, and automatic choices.
    pub notes: Vec<String>,
    /// Violations of the format.
    pub warnings: Vec<String>,
    /// Warnings and notes.
    #[serde(skip)]
    pub remarks: Vec<String>,
}

/// The output of an export, and how it is written.
#[derive(Debug)]
pub(crate) struct ExportTarget {
    pub(crate) output: Output,
    /// Another table for the links, and whether they are faces.
    pub(crate) links: Option<Output>,
    pub(crate) faces: bool,
    pub(crate) select: Option<Select>,
    /// Whether positions of tractograms are written as they are stored.
    pub(crate) keep_frame: bool,
}

impl ExportTarget {
    /// Writes the result of a query, or one piece of it.
    pub(crate) async fn write(
        self,
        url: &str,
        spec: &QuerySpec,
        split: Option<PieceOf>,
        context: &Context,
    ) -> Result<FileExported> {
        let file = self.output.path().to_owned();
        if self
            .links
            .as_ref()
            .is_some_and(|links| links.is_at(&self.output))
        {
            return Err(JobError::usage(format!(
                "{}: found the same file for vertices and links, expected two",
                file.display()
            )));
        }
        let format = Format::of_output(&file)?;
        let (store, mut query) = opened(spec, url, context).await?;
        if let Some(split) = split {
            query = self.piece(&store, query, format, split).await?;
        }
        let level = query.level;
        // A table of vertices does not need the links, so it is no error if they cannot be found.
        if self.links.is_some() || !format.is_table() {
            let found = zvf_query::check_links_found(&store, level).await;
            found.map_err(JobError::query(url))?;
        }
        let mut options = ExportOptions::default();
        options.query = query;
        options.select = self.select;
        options.keep_frame = self.keep_frame;
        options.progress = context.exported();
        let links = self.links.as_ref().map(|second| second.path().to_owned());
        let second = links.as_deref().map(|links| (links, self.faces));
        let done = write_file(&store, (&file, format), second, options).await?;
        let mut files = self.output.send(vec![file], context).await?;
        if let (Some(second), Some(links)) = (self.links, links) {
            files.extend(second.send(vec![links], context).await?);
        }
        let files: Vec<String> = files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        let file = files.first().cloned();
        Ok(FileExported {
            store: url.to_owned(),
            file: file.or_bug("an export without a file")?,
            format: format.name(),
            links_file: files.get(1).cloned(),
            files,
            level,
            vertices: done.vertices,
            links: done.links,
            objects: done.objects,
            remarks: remarks(&done),
            notes: done.notes,
            warnings: done.warnings,
        })
    }

    /// The query of one piece. Pieces are cut by object if the selection, the format or the kind requires whole objects, otherwise by chunk.
    async fn piece(
        &self,
        store: &Store,
        mut query: Query,
        format: Format,
        split: PieceOf,
    ) -> Result<Query> {
        let kind = store.kind();
        let whole = match self.select {
            _ if query.relation.is_some() || query.passing.is_some() => true,
            Some(select) => select == Select::Objects,
            None => {
                let objects = [
                    Format::Swc,
                    Format::Obj,
                    Format::Stl,
                    Format::Trk,
                    Format::Tck,
                    Format::Trx,
                ];
                chained(kind) || objects.contains(&format)
            }
        };
        let holds_links = self.links.is_some() || matches!(format, Format::Ply | Format::Npz);
        if holds_links && !whole && kind != Kind::PointCloud {
            return Err(JobError::usage(format!(
                "--split: pieces of a {kind} are cut by chunk, and a file of {} would lack the links between them, expected --select objects",
                format.name()
            )));
        }
        query.select = match (whole, self.select) {
            (true, _) => Select::Objects,
            (false, select) => select.unwrap_or(Select::Vertices),
        };
        let piece = query.piece(store, split).await;
        piece.map_err(JobError::query(store.url()))
    }
}
