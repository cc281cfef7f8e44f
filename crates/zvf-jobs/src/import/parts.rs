//! Steps of an import by several programs, each of which writes a part; the list and the removal of parts.

use std::path::PathBuf;

use zvf_convert::Import;
use zvf_encode::parallel::blocking;
use zvf_encode::{Groups, Outside, StoreSpec, WriteError};
use zvf_write::{PartOptions, PartStart, PartedStore, PartsStage};

use super::{ImportJob, ImportReport};
use crate::local_files::read_list;
use crate::words::counted;
use crate::{Context, JobError, JobEvent, PartsInfo};

/// A note on how to give objects of different parts different ids.
const NUMBERED: &str = "objects without ids in the files are numbered from 0 in each part, but ids of parts must differ: use a column object_id (--object-column), files named by numbers, --id-from-file, or another --id-offset in each part";

/// Most parts that may be declared.
const MOST: usize = 1_000_000;

impl ImportJob {
    /// Lists or removes the parts of the store.
    pub(super) async fn of_parts(&self, context: &Context) -> Result<ImportReport, JobError> {
        let failed = || JobError::write(&self.store);
        let write = context.writing(false);
        let status = PartedStore::status(&self.store, &write).await;
        let status = status.map_err(failed())?;
        if self.status {
            let Some(status) = status else {
                return Err(JobError::usage(format!(
                    "{}: no store in parts was begun there, or it was committed; `zvf info` shows what is there",
                    self.store
                )));
            };
            return Ok(ImportReport::Status(PartsInfo::new(&self.store, status)));
        }
        if let Some(status) = status {
            let names = status.names("finished");
            // The parts of a committed store cannot be discarded.
            if !names.is_empty() && status.stage != PartsStage::Committed {
                let count = counted(names.len() as u64, "finished part");
                let note = format!("{}: removing {count}: {}", self.store, names.join(", "));
                context.event(&JobEvent::Note(&note));
            }
        }
        let finished = PartedStore::discard(&self.store, write).await;
        Ok(ImportReport::Discarded {
            store: self.store.clone(),
            step: "discarded",
            finished: finished.map_err(failed())?,
        })
    }

    /// Runs one step. All steps describe the store by the same options and by files with the same columns. `inputs` are all local files
    /// that the step reads; `notes` are those of the reader.
    pub(super) async fn step(
        &self,
        import: Import,
        mut spec: StoreSpec,
        inputs: Vec<PathBuf>,
        notes: Vec<String>,
        context: &Context,
    ) -> Result<ImportReport, JobError> {
        let bounds = self.bounds.as_ref().map(|corners| corners.value());
        let dims = bounds.map_or(0, |bounds| bounds.dims());
        if dims != spec.axes.len() {
            let expected = spec.axes.len().to_string();
            return Err(JobError::option(
                "bounds",
                format!("{dims} axes"),
                &expected,
            ));
        }
        spec.bounds = bounds.map(|bounds| (bounds.lo().to_vec(), bounds.hi().to_vec()));
        spec.outside = Outside::Refuse;
        // The name must not depend on the files, which differ between parts.
        spec.name = None;
        let failed = || JobError::write(&self.store);
        let write = context.writing(self.clear_leftovers);
        if self.begin {
            let parts = match &self.parts {
                Some(given) => Some(part_names(given, context).await?),
                None => None,
            };
            let begun = PartedStore::begin_parts(&self.store, spec, parts.clone(), write).await;
            return Ok(ImportReport::Begun {
                store: self.store.clone(),
                step: "begun",
                begun_before: begun.map_err(failed())?.was_begun_before(),
                parts,
            });
        }
        let numbered = spec.has_objects() && !import.names_objects();
        let parted = PartedStore::join(&self.store, spec, write).await;
        let parted = parted.map_err(failed())?;
        match &self.part {
            Some(name) => {
                if numbered {
                    context.event(&JobEvent::Note(NUMBERED));
                }
                self.write_part(name, import, inputs, notes, &parted, context)
                    .await
            }
            None => self.commit_parts(parted, context).await,
        }
    }

    async fn write_part(
        &self,
        name: &str,
        import: Import,
        inputs: Vec<PathBuf>,
        notes: Vec<String>,
        parted: &PartedStore,
        context: &Context,
    ) -> Result<ImportReport, JobError> {
        let failed = || JobError::write(&self.store);
        let report = |written, vertices, chunks, objects, notes| ImportReport::Part {
            store: self.store.clone(),
            step: format!("part {name}"),
            written,
            vertices,
            chunks,
            objects,
            notes,
        };
        let options = PartOptions::new().with_redo(self.redo);
        let named = blocking(move || options.with_input_files(inputs.iter().map(PathBuf::as_path)));
        let mut options = named.await.map_err(failed())?;
        if let Some(files) = &options.input {
            options.input = Some(format!("{files} {}", self.reading()?));
        }
        let writer = match parted.part(name, options).await.map_err(failed())? {
            PartStart::Writer(writer) => writer,
            PartStart::Finished(found) => {
                let none = Vec::new();
                return Ok(report(
                    false,
                    found.vertices,
                    found.chunks,
                    found.objects,
                    none,
                ));
            }
        };
        for note in &notes {
            context.event(&JobEvent::Note(note));
        }
        let (_, writer, read) = self.read(import, writer, context).await?;
        if let Err(error) = read {
            writer.abandon().await;
            return Err(error.into());
        }
        context.event(&JobEvent::Writing);
        let done = writer.finish().await.map_err(failed())?;
        Ok(report(
            true,
            done.vertices,
            done.chunks,
            done.objects,
            notes,
        ))
    }

    /// The options that decide which rows and ids a part gets from its files, as JSON. They may differ between parts. A part that is written again
    /// with other options counts as a different part.
    fn reading(&self) -> Result<String, JobError> {
        let reading = Self {
            files: Vec::new(),
            store: String::new(),
            journal: None,
            clear_leftovers: false,
            begin: false,
            parts: None,
            part: None,
            redo: false,
            commit: false,
            allow_missing: false,
            ..self.clone()
        };
        let text = serde_json::to_string(&reading);
        text.map_err(|error| JobError::write(&self.store)(WriteError::bug(error.to_string())))
    }

    async fn commit_parts(
        &self,
        parted: PartedStore,
        context: &Context,
    ) -> Result<ImportReport, JobError> {
        let groups = Groups::default();
        let done = parted.commit_with(&groups, self.allow_missing).await;
        let done = done.map_err(JobError::write(&self.store))?;
        if !done.absent.is_empty() {
            let absent = done.absent.join(", ");
            context.warn(&format!(
                "{}: committed without the parts {absent}; the root of the store names them",
                self.store
            ));
        }
        if !done.begun_again.is_empty() {
            let again = done.begun_again.join(", ");
            context.warn(&format!(
                "{}: the store has the earlier data of the parts {again}, which were begun again and not finished",
                self.store
            ));
        }
        Ok(ImportReport::Committed {
            store: self.store.clone(),
            step: "committed",
            vertices: done.summary.map(|one| one.vertices),
            chunks: done.summary.map(|one| one.chunks),
            objects: done.summary.map(|one| one.objects),
            links: done.summary.map(|one| one.links),
            parts: done.parts,
            absent: done.absent,
            begun_again: done.begun_again,
        })
    }
}

/// The names of parts: from their count, from a list, or from the lines of a file at a path or URL.
async fn part_names(given: &[String], context: &Context) -> Result<Vec<String>, JobError> {
    let too_many = |found: String| JobError::option("parts", found, &format!("{MOST} at most"));
    let names = match given {
        [one] if one.starts_with('@') => {
            let file = one.strip_prefix('@').unwrap_or(one);
            let text = read_list(file, "read names of parts from", context).await?;
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            lines.map(str::to_owned).collect()
        }
        [one] if !one.is_empty() && one.bytes().all(|byte| byte.is_ascii_digit()) => {
            let count = one.parse::<usize>().ok().filter(|count| *count <= MOST);
            let count = count.ok_or_else(|| too_many(one.clone()))?;
            (0..count).map(|number| number.to_string()).collect()
        }
        names => names.to_vec(),
    };
    match names.len() {
        count if count > MOST => Err(too_many(count.to_string())),
        _ => Ok(names),
    }
}
