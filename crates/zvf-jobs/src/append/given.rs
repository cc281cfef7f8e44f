//! Reads or opens the sources of an append before the store is marked as being changed.

use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use arrow_array::RecordBatch;
use zvf_convert::{Format, Import, Options, Whole, check_joinable, in_chains, read_groups};
use zvf_encode::parallel::blocking;
use zvf_encode::{Groups, Kind};
use zvf_query::Query;
use zvf_store::{Need, Store};

use super::options::AppendJob;
use crate::error::Result;
use crate::input_files::expanded;
use crate::local_files::{LocalFiles, check_endings, format_of, is_store_url};
use crate::tables::{EditPlace, EditTable, EditTables};
use crate::{Context, JobError, PartOptions};

/// The sources of an append.
pub(super) enum AppendSource {
    Tables(Vec<Answered>),
    Import(Box<Import>),
}

/// The tables of one source: a file, a folder that a query wrote, or a whole store.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) tables: EditTables,
    pub(super) objects: Option<EditTable>,
    pub(super) groups: Option<Groups>,
    pub(super) notes: Vec<String>,
    /// Whether the source is a store that may have attributes with unknown names, which are not read.
    pub(super) names_unknown: bool,
}

impl From<EditTables> for Answered {
    fn from(tables: EditTables) -> Self {
        Self {
            tables,
            objects: None,
            groups: None,
            notes: Vec::new(),
            names_unknown: false,
        }
    }
}

impl AppendJob {
    /// Reads the sources. Files at URLs are replaced in this job by temporary ones.
    ///
    /// # Errors
    ///
    /// Misuse: files that do not fit the store or the options; the errors of the files and of the storage.
    pub(super) async fn given(
        &mut self,
        local: &mut LocalFiles,
        context: &Context,
    ) -> Result<AppendSource> {
        let format = self.format.as_ref().and_then(|format| format.as_str());
        let format = format.map(|name| name.trim_start_matches('.').to_ascii_lowercase());
        let store = opened(&self.store, Need::nothing(), context).await?;
        self.files = expanded(&self.files, format.is_some(), context).await?;
        let table = |file: &PathBuf| is_table(file, format.as_deref());
        let answer = |file: &PathBuf| is_answer(file) || (format.is_none() && is_store(file));
        let (tables, answers) = (self.files.iter().all(table), self.files.iter().all(answer));
        self.check_options(tables, answers)?;
        let stop = Some(context.write.open.io.stop.clone());
        let mut read = Options::default();
        read.stop.clone_from(&stop);
        read.format = self.format.as_ref().map(|format| *format.value());
        self.points.apply(&mut read);
        check_endings(&self.links)?;
        if !answers && format.is_none() {
            check_endings(&self.files)?;
        }
        let named = [&mut self.links, &mut self.place.map.affine];
        let named = named.into_iter().flatten().collect();
        local.fetch(named, &Options::default(), context).await?;
        if !answers {
            let files = self.files.iter_mut().collect();
            local.fetch(files, &read, context).await?;
        }
        let place = EditPlace::of(&store, &self.place).await?;
        let mut options = Options::default();
        options.stop = stop;
        self.columns.apply(&mut options, context.memory_budget);
        if answers {
            let place = Arc::new(place);
            let mut all = Vec::new();
            for file in &self.files {
                all.push(match is_answer(file) {
                    true => {
                        let (file, links) = (file.clone(), self.links.clone());
                        let (options, place, kind) =
                            (options.clone(), Arc::clone(&place), store.kind());
                        let read = move || of_folder(&file, links, &options, kind, &place);
                        blocking(move || Ok(read())).await??
                    }
                    false => of_store(file, &store, &place, context).await?,
                });
            }
            return Ok(AppendSource::Tables(all));
        }
        if tables {
            let (files, links) = (self.files.clone(), self.links.clone());
            let (object, position) = (self.object_column.clone(), self.position.clone());
            let placed = move |mut tables: EditTables| -> Result<Answered> {
                tables
                    .vertices
                    .name_columns(object.as_deref(), position.as_deref())?;
                let mut notes = place.new_vertices(&mut tables)?;
                notes.extend(place.unstated_frame(&tables));
                Ok(Answered {
                    notes,
                    ..Answered::from(tables)
                })
            };
            let read = move || {
                let links = links.as_deref();
                let read =
                    |file: &PathBuf| EditTables::read(file, format.as_deref(), links, &options);
                let tables = files.iter().map(read).collect::<Result<Vec<_>>>()?;
                EditTables::check_named(&tables, &options)?;
                tables.into_iter().map(placed).collect::<Result<Vec<_>>>()
            };
            return Ok(AppendSource::Tables(blocking(move || Ok(read())).await??));
        }
        let mut options = place.options();
        options.kind = Some(store.kind());
        options.format = read.format;
        options.ids = self.ids.rule(1);
        options.object_column.clone_from(&self.object_column);
        options.position.clone_from(&self.position);
        self.columns.apply(&mut options, context.memory_budget);
        self.points.apply(&mut options);
        let files = self.files.clone();
        let import = blocking(move || Ok(Import::open(&files, &options))).await??;
        Ok(AppendSource::Import(Box::new(import)))
    }

    /// Refuses options that do not apply to the files. `tables`: all of them are tables. `answers`: all of them are stores, or folders that queries
    /// wrote.
    fn check_options(&self, tables: bool, answers: bool) -> Result<()> {
        if self.points != PartOptions::default() && (tables || answers) {
            return Err(JobError::usage(
                "--bbox, --resolution: found one of them, expected files of LAS or LAZ: `zvf query STORE -o FILE` writes a part of a store",
            ));
        }
        if answers {
            let one_folder = matches!(&self.files[..], [file] if is_answer(file));
            if self.links.is_some() && !one_folder {
                let expected = "one folder that a query wrote: stores have links of their own";
                return Err(JobError::option("links", "a table", expected));
            }
            let named = [
                ("object_column", self.object_column.is_some()),
                ("position", self.position.is_some()),
            ];
            return match named.iter().find(|(_, is_given)| *is_given) {
                Some((member, _)) => {
                    let expected = "tables of vertices: stores and answers of queries have columns of known names";
                    Err(JobError::option(member, "a column", expected))
                }
                None => Ok(()),
            };
        }
        if tables {
            return match self.links.is_some() && self.files.len() > 1 {
                true => {
                    let found = format!("{} tables of vertices", self.files.len());
                    Err(JobError::option("links", found, "one"))
                }
                false => Ok(()),
            };
        }
        match self.links.is_some() {
            true => Err(JobError::usage(
                "--links: found one, expected tables of vertices: .csv, .tsv, .ndjson, .arrow or .parquet",
            )),
            false => Ok(()),
        }
    }
}

/// Opens a store.
async fn opened(address: &str, need: Need, context: &Context) -> Result<Store> {
    let open = context.write.open.clone().with_prefetch(0, need);
    let store = Store::open_with(address, open).await;
    store.map_err(JobError::store(address))
}

/// Whether a path is a store, or could be the address of one.
fn is_store(path: &Path) -> bool {
    path.join("zarr.json").is_file() || is_store_url(path)
}

/// Whether a path is a folder that a query wrote.
fn is_answer(path: &Path) -> bool {
    path.is_dir() && path.join("vertices.arrow").exists()
}

/// Reads a folder that a query wrote.
fn of_folder(
    folder: &Path,
    links: Option<PathBuf>,
    options: &Options,
    kind: Kind,
    place: &EditPlace,
) -> Result<Answered> {
    let there = |name: &str| Some(folder.join(name)).filter(|file| file.exists());
    let links = links.or_else(|| there("links.arrow"));
    let file = folder.join("vertices.arrow");
    let mut tables = EditTables::read(&file, None, links.as_deref(), options)?;
    EditTables::check_named(slice::from_ref(&tables), options)?;
    if let (true, Some(links)) = (is_chain(kind), &tables.links) {
        let sorted = in_chains(&file, tables.vertices.batch(), links.batch())?;
        tables.vertices = EditTable::of(tables.vertices.name(), sorted)?;
    }
    let objects = there("objects.arrow");
    let objects = objects
        .map(|file| EditTable::read_as(&file, None, &Options::default()))
        .transpose()?;
    let groups = there("groups.arrow");
    let groups = groups.map(|file| read_groups(&file)).transpose()?;
    let groups = groups.as_ref().map(Groups::from_records).transpose()?;
    let mut notes = place.new_vertices(&mut tables)?;
    notes.extend(place.unstated_frame(&tables));
    Ok(Answered {
        tables,
        objects,
        groups,
        notes,
        names_unknown: false,
    })
}

/// Reads another store, of the same kind and axes.
async fn of_store(
    path: &Path,
    own: &Store,
    place: &EditPlace,
    context: &Context,
) -> Result<Answered> {
    let url = path.to_string_lossy().into_owned();
    let budget = context.write.memory_budget as u64;
    let store = opened(&url, Query::default().need(), context).await?;
    check_joinable(&store, own).await?;
    let whole = Whole::read(&store, budget).await?;
    let table = |batch: RecordBatch| EditTable::of(&url, batch);
    let mut tables = EditTables {
        vertices: table(whole.vertices)?,
        links: whole.links.map(table).transpose()?,
        ids: None,
    };
    let mut notes = whole.notes;
    notes.extend(place.new_vertices(&mut tables)?);
    Ok(Answered {
        tables,
        objects: whole.objects.map(table).transpose()?,
        groups: whole.groups,
        notes,
        names_unknown: !store.names_unknown().is_empty(),
    })
}

/// Whether the links of stores of this kind follow from the order of the vertices.
fn is_chain(kind: Kind) -> bool {
    matches!(kind, Kind::Line | Kind::Polyline | Kind::Streamline)
}

/// Whether a file is a table: CSV, XYZ, NDJSON, Arrow or Parquet. Its columns are converted to the types of the store.
fn is_table(file: &Path, format: Option<&str>) -> bool {
    let known = match format {
        Some(name) => Format::from_name(name),
        None => format_of(file),
    };
    matches!(
        known,
        Some(Format::Csv | Format::Xyz | Format::Ndjson | Format::Arrow | Format::Parquet)
    )
}
