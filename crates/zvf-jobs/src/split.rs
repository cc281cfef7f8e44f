//! The job `split`: a store or a file for each part of a store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use zvf_convert::export::{ExportOptions, Exported};
use zvf_convert::{Format, SplitBy, SplitPart, SplitParts, named_parts, region_notes, split_parts};
use zvf_query::{QuerySpec, Select};
use zvf_store::{Need, Store};

use crate::checks::check_outside;
use crate::error::Result;
use crate::file_export::{remarks, write_file};
use crate::local_files::url;
use crate::selection::of_member;
use crate::values::pairs;
use crate::{Context, JobError, JobEvent, SelectionOptions};

/// The ending of stores.
const STORE: &str = "zarrvectors";

options! {
    /// Splits a store into stores or files: one for each group, attribute value or region, or parts of equal size
    SplitJob {
        /// Path or URL of the store
        store: String,
        /// The directory of the parts, which is created; a URL for parts that are stores
        #[arg(value_name = "DIR")]
        #[schemars(extend("format" = "path"))]
        folder: PathBuf,
        /// How the store is split: by group, by attribute NAME, by region (one part for each --named), or by count into N parts
        #[arg(long, num_args = 1..=2, required = true, value_names = ["group|attribute|region|count", "NAME|N"])]
        #[serde(deserialize_with = "words")]
        #[schemars(extend("type" = ["string", "array"]))]
        by: Vec<String>,
        /// With --by region: the name and the region of a part, in the form of --region, e.g. left='box(x=:0)'; repeatable, and parts may overlap
        #[arg(long, value_name = "NAME=REGION", value_parser = crate::parse_pair::<String>)]
        #[serde(with = "pairs")]
        #[schemars(with = "BTreeMap<String, String>")]
        named: Vec<(String, String)>,
        /// Files of this format instead of stores, by its ending, e.g. swc, trk, csv
        #[arg(long, value_name = "FORMAT")]
        format: Option<String>,
        /// Which objects or vertices are split
        #[command(flatten)]
        #[serde(flatten)]
        terms: SelectionOptions,
        /// Removes what an interrupted writer left of a part; a finished store is never touched
        #[arg(long)]
        clear_leftovers: bool,
    }
}

/// A text, or a list of texts and numbers, as a list of texts.
fn words<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Vec<String>, D::Error> {
    let expected = || D::Error::custom("expected a text, or a list of a text and a text or number");
    let word = |value| match value {
        Value::String(word) => Ok(word),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(expected()),
    };
    match Value::deserialize(from)? {
        Value::Array(items) => items.into_iter().map(word).collect(),
        one => word(one).map(|word| vec![word]),
    }
}

impl SplitJob {
    /// How the store is divided; `None`: by the regions of `named`.
    fn by(&self) -> Result<Option<SplitBy>> {
        let words: Vec<&str> = self.by.iter().map(String::as_str).collect();
        Ok(Some(match words.as_slice() {
            ["region"] => return Ok(None),
            ["group"] => SplitBy::Group,
            ["attribute", name] => SplitBy::Attribute((*name).to_owned()),
            ["count", count] => match count.parse() {
                Ok(count) if count > 0 => SplitBy::Count(count),
                _ => {
                    let found = format!("count {count:?}");
                    return Err(JobError::option("by", found, "a number above 0"));
                }
            },
            other => {
                let found = format!("{:?}", other.join(" "));
                let expected = "group, attribute NAME, region, or count N";
                return Err(JobError::option("by", found, expected));
            }
        }))
    }

    /// The selection, restricted to a region.
    fn within(&self, region: &str) -> SelectionOptions {
        let mut terms = self.terms.clone();
        terms.place.region = Some(match &self.terms.place.region {
            Some(own) => format!("({own}) and ({region})"),
            None => region.to_owned(),
        });
        terms
    }

    pub(crate) fn check(&self) -> Result<()> {
        let (format, _) = self.ending()?;
        if format.is_some() && url(&self.folder).is_some() {
            let expected =
                "a local directory, since `format` makes files; stores can be made in a bucket";
            return Err(JobError::option("folder", "a URL", expected));
        }
        if self.by()?.is_some() {
            if !self.named.is_empty() {
                let expected = "none: they are for `by` region";
                return Err(JobError::option("named", "regions", expected));
            }
            return self.terms.check();
        }
        if self.named.is_empty() {
            let expected = "the name and the region of each part";
            return Err(JobError::option("named", "nothing", expected));
        }
        for (at, (name, region)) in self.named.iter().enumerate() {
            if self.named.iter().take(at).any(|(other, _)| other == name) {
                let found = format!("{name:?} twice");
                return Err(JobError::option("named", found, "a name for each part"));
            }
            let checked = self.within(region).check();
            checked.map_err(|error| of_region(name, error))?;
        }
        Ok(())
    }

    /// The format of the parts that are files, and the ending of all.
    fn ending(&self) -> Result<(Option<Format>, &str)> {
        let Some(ending) = self.format.as_deref() else {
            return Ok((None, STORE));
        };
        let ending = ending.trim_start_matches('.');
        let format = Format::of(Path::new(&format!("part.{ending}")))?;
        Ok((Some(format), ending))
    }

    async fn parts(&self, store: &Store, context: &Context) -> Result<SplitParts> {
        let resolve = async |spec: QuerySpec| {
            spec.check().map_err(of_member)?;
            let query = spec.resolve(store).await;
            query.map_err(JobError::query(&self.store))
        };
        if let Some(by) = self.by()? {
            let all = self.terms.read(&self.store, context).await?;
            let found = split_parts(store, &resolve(all).await?, &by).await;
            return found.map_err(|error| JobError::from(error).at(&self.store));
        }
        let mut regions = Vec::new();
        for (name, region) in &self.named {
            let spec = self.within(region).read(&self.store, context).await;
            let query = match spec {
                Ok(spec) => resolve(spec).await,
                Err(error) => Err(error),
            };
            let query = query.map_err(|error| of_region(name, error))?;
            regions.push((name.clone(), query));
        }
        let mut found = named_parts(regions);
        let all = self.terms.read(&self.store, context).await?;
        let all = resolve(all.without_unneeded()).await?;
        let notes = region_notes(store, &all, &found).await;
        found.notes = notes.map_err(|error| JobError::from(error).at(&self.store))?;
        Ok(found)
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<SplitReport>> {
        async move {
            let (format, ending) = self.ending()?;
            let store = context.open(&self.store, 0, Need::all()).await?;
            let links = zvf_query::check_links_found(&store, 0).await;
            links.map_err(JobError::query(&self.store))?;
            let found = self.parts(&store, context).await?;
            if url(&self.folder).is_none() {
                check_outside(&self.folder)?;
                std::fs::create_dir_all(&self.folder)
                    .map_err(JobError::file("create the directory", &self.folder))?;
            }
            let mut report = SplitReport::new(&self.store);
            report.note(&found.notes);
            for (done, part) in found.parts.iter().enumerate() {
                let path = self.folder.join(format!("{}.{ending}", part.name));
                let written = self.write(&store, part, (&path, format), (&mut report, context));
                if let Err(error) = written.await {
                    let (folder, all) = (self.folder.display(), found.parts.len());
                    context.event(&JobEvent::Note(&format!(
                        "{folder}: {done} of {all} parts are finished; when run again, this command writes only the others"
                    )));
                    return Err(error);
                }
            }
            Ok(report)
        }
        .boxed()
    }

    /// Writes a part, unless it exists.
    async fn write(
        &self,
        store: &Store,
        part: &SplitPart,
        (path, format): (&Path, Option<Format>),
        (report, context): (&mut SplitReport, &Context),
    ) -> Result<()> {
        match format {
            Some(format) if !path.exists() => {
                let done = report.export(store, (path, format), part, false).await?;
                if done.vertices == 0 {
                    std::fs::remove_file(path).map_err(JobError::file("remove", path))?;
                }
                report.made(path, part, (done.vertices, done.objects), context);
            }
            None if !is_store(path, context).await? => {
                let address = path.display().to_string();
                let write = context.writing(self.clear_leftovers);
                let made = zvf_convert::write_selection(store, &part.query, &address, write).await;
                let made = made.map_err(|error| JobError::from(error).at(&address))?;
                report.note(&made.notes);
                report.made(path, part, (made.vertices, made.objects), context);
            }
            _ => {
                let shown = path.display();
                context.event(&JobEvent::Note(&format!(
                    "{shown}: exists already, left unchanged"
                )));
                report.add(path, part, (0, 0), true);
            }
        }
        Ok(())
    }
}

/// Whether there is a store at a path or URL.
async fn is_store(path: &Path, context: &Context) -> Result<bool> {
    let Some(url) = url(path) else {
        return Ok(path.join("zarr.json").exists());
    };
    match context.open(url, 0, Need::nothing()).await {
        Ok(_) => Ok(true),
        Err(JobError::Store { source, .. }) if source.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Replaces `region` in the path of an error by the member of this named region.
fn of_region(name: &str, error: JobError) -> JobError {
    match error {
        JobError::Option { path, what } => JobError::Option {
            path: match path.strip_prefix("region") {
                Some(place) => format!("named.{name}{place}"),
                None => path,
            },
            what,
        },
        other => other,
    }
}

/// The parts of a store, as stores or files.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SplitReport {
    /// The store.
    pub store: String,
    /// Its parts.
    pub parts: Vec<PartWritten>,
    /// The number of existing parts, which were left unchanged.
    pub skipped: u64,
    /// Vertices of all parts that were written.
    pub vertices: u64,
    /// Objects of all parts that were written.
    pub objects: u64,
    /// Notes about data that is in no part, data that parts cannot hold, and violations of the format in the store.
    pub notes: Vec<String>,
}

/// A part of a store.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PartWritten {
    /// Its file, or its store.
    pub file: String,
    /// The name of the group or region, the value, the number of the part, or the id of the object.
    pub of: String,
    /// Its vertices; 0 if it existed already.
    pub vertices: u64,
    /// Its objects; 0 if it existed already.
    pub objects: u64,
    /// Whether it existed already and was left unchanged.
    pub skipped: bool,
}

impl SplitReport {
    pub(crate) fn new(store: &str) -> Self {
        Self {
            store: store.to_owned(),
            parts: Vec::new(),
            skipped: 0,
            vertices: 0,
            objects: 0,
            notes: Vec::new(),
        }
    }

    /// Adds a part that was written. For a part without vertices, only reports a note.
    fn made(&mut self, path: &Path, part: &SplitPart, counts: (u64, u64), context: &Context) {
        match counts {
            (0, objects) => {
                let what = match objects {
                    0 => "no objects or vertices".to_owned(),
                    1 => "one object, without vertices".to_owned(),
                    more => format!("{more} objects, without vertices"),
                };
                let note = format!("{}: has {what}, so there is no part", part.of);
                context.event(&JobEvent::Note(&note));
            }
            counts => self.add(path, part, counts, false),
        }
    }

    /// Writes a part as a file.
    pub(crate) async fn export(
        &mut self,
        store: &Store,
        (file, format): (&Path, Format),
        part: &SplitPart,
        keep_frame: bool,
    ) -> Result<Exported> {
        let mut options = ExportOptions::default();
        options.query = part.query.clone();
        let need = Need {
            objects: true,
            ..Need::nothing()
        };
        let level = store.level(0, &need).await?;
        options.select = level.object_index().map(|_| Select::Objects);
        options.keep_frame = keep_frame;
        let done = write_file(store, (file, format), None, options).await?;
        self.note(&remarks(&done));
        Ok(done)
    }

    /// Adds notes that the report does not have.
    pub(crate) fn note(&mut self, notes: &[String]) {
        for note in notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
    }

    pub(crate) fn add(
        &mut self,
        path: &Path,
        part: &SplitPart,
        (vertices, objects): (u64, u64),
        skipped: bool,
    ) {
        self.vertices += vertices;
        self.objects += objects;
        self.skipped += u64::from(skipped);
        self.parts.push(PartWritten {
            file: path.display().to_string(),
            of: part.of.clone(),
            vertices,
            objects,
            skipped,
        });
    }
}
