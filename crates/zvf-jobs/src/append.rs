//! The job `append`: more objects or points from files.

mod gather;
mod given;
mod numbers;
mod options;

use std::collections::BTreeSet;

use serde::Serialize;
use zvf_convert::ObjectIds;
use zvf_edit::Edit;
use zvf_encode::AttributeSpec;
use zvf_encode::parallel::blocking;

use crate::chunk_size::small_chunks;
use crate::edit::{begin, or_abandon};
use crate::error::Result;
use crate::local_files::LocalFiles;
use crate::tables::{FILES_LACK, remarks_since, set_fills};
use crate::{Context, JobError, JobEvent};
use gather::{BatchConverter, Taken};
use given::AppendSource;
use numbers::{ObjectNumbering, listed};
pub use options::AppendJob;

/// The ids of the new objects, and the notes for the user.
type IdsAndNotes = (Vec<i64>, Vec<String>);

impl AppendJob {
    pub(crate) async fn run(&self, context: &Context) -> Result<AppendReport> {
        let mut local = LocalFiles::default();
        let made = self.make(&mut local, context).await;
        made.map_err(|error| local.named(error))
    }

    async fn make(&self, local: &mut LocalFiles, context: &Context) -> Result<AppendReport> {
        // The files are read first, so that a file that cannot be read does not leave the store marked as being changed.
        let mut job = self.clone();
        let given = job.given(local, context).await?;
        let edit = begin(&self.store, context).await?;
        let made = job.append(edit, given).await;
        let (edit, (ids, notes)) = made.map_err(|error| JobError::Change {
            place: self.store.clone(),
            source: Box::new(error),
        })?;
        let small = small_chunks(&edit, &self.store);
        if let Some(note) = &small {
            context.event(&JobEvent::Note(note));
        }
        let done = edit.commit().await.map_err(JobError::write(&self.store))?;
        let mut notes = local.named_notes(&notes);
        for note in &notes {
            context.event(&JobEvent::Note(note));
        }
        notes.extend(small);
        Ok(AppendReport {
            store: self.store.clone(),
            files: self
                .files
                .iter()
                .map(|file| file.display().to_string())
                .collect(),
            vertices: done.vertices,
            links_stored: done.links,
            objects: ids.len(),
            ids,
            chunks: done.chunks,
            put: done.put,
            removed: done.removed,
            notes,
        })
    }

    /// Adds the input to an edit; abandons the edit on an error. Returns the edit, the ids of the new objects and the notes.
    async fn append(&self, mut edit: Edit, given: AppendSource) -> Result<(Edit, IdsAndNotes)> {
        let begun = self.begin(&mut edit, &given).await;
        let (edit, (numbers, known)) = or_abandon(edit, begun).await?;
        let mut gathered = BatchConverter::new(edit, numbers, self.ids.rule(1), known);
        let read = blocking(move || {
            let notes = gathered.take(&given);
            Ok((gathered, given, notes))
        });
        let (gathered, given, notes) = read.await?;
        let BatchConverter {
            mut edit,
            numbers,
            taken,
            ..
        } = gathered;
        let put = match notes {
            Ok(notes) => put(&mut edit, numbers, taken, notes, &given).await,
            Err(error) => Err(error),
        };
        or_abandon(edit, put).await
    }

    /// Sets the fill values of the edit. Returns the numbering of the new objects, and the object attributes of the store.
    async fn begin(
        &self,
        edit: &mut Edit,
        given: &AppendSource,
    ) -> Result<(ObjectNumbering, Vec<AttributeSpec>)> {
        set_fills(edit, &self.fill).await?;
        let numbers = match given {
            // The reader already gave objects of different files different ids.
            AppendSource::Import(import) => {
                let mut numbers = ObjectNumbering::of(edit, ObjectIds::Kept, &[])?;
                numbers.keep = import.names_objects() && !self.ids.new_ids;
                if !import.names_objects() {
                    numbers.follow();
                }
                numbers
            }
            AppendSource::Tables(_) => ObjectNumbering::of(edit, self.ids.rule(1), &self.files)?,
        };
        let known = match edit.spec().has_objects() {
            true => edit.object_attributes().await?,
            false => Vec::new(),
        };
        Ok((numbers, known))
    }
}

/// Adds the collected tables to an edit. Returns the ids of the new objects and the notes.
async fn put(
    edit: &mut Edit,
    mut numbers: ObjectNumbering,
    taken: Taken,
    mut notes: Vec<String>,
    given: &AppendSource,
) -> Result<IdsAndNotes> {
    numbers.check()?;
    edit.append_all(&taken.batches).await?;
    for table in &taken.objects {
        edit.put_objects(table).await?;
    }
    let mut left = BTreeSet::new();
    if edit.spec().has_objects() {
        for one in &taken.groups {
            let added = edit.add_groups(one).await?;
            left.extend(added.unknown);
            notes.extend(added.kept);
        }
    } else if !taken.groups.is_empty() {
        notes.push("left out: groups of the files, since the store has no objects".to_owned());
    }
    let unknown = match given {
        AppendSource::Tables(all) => all.iter().any(|one| one.names_unknown),
        AppendSource::Import(_) => false,
    };
    let why = match unknown {
        true => "no such attribute is found in the files and stores",
        false => FILES_LACK,
    };
    let mut remarks = remarks_since(edit, &taken.unknown, [&taken.vertices, &taken.links], why);
    if !taken.lacking.is_empty() && !numbers.ids().is_empty() {
        let names = taken.lacking.iter().cloned().collect::<Vec<_>>().join(", ");
        remarks.push(format!("missing for the new objects, since {why}: {names}"));
    }
    if !numbers.ids().is_empty() {
        remarks.extend(
            taken
                .object_filled
                .iter()
                .map(|(name, fill)| format!("{fill:?} for the new objects, since {why}: {name}")),
        );
    }
    if !left.is_empty() {
        let list = left.into_iter().collect::<Vec<_>>().join(", ");
        remarks.push(format!(
            "left out, since groups of the store have no such attribute: {list}"
        ));
    }
    if let AppendSource::Import(import) = given {
        notes.extend_from_slice(import.placement());
    }
    notes.dedup();
    remarks.extend(notes);
    Ok((numbers.ids(), remarks))
}

/// What `append` added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AppendReport {
    /// The store.
    pub store: String,
    /// The files.
    pub files: Vec<String>,
    /// Vertices.
    pub vertices: i64,
    /// Links that are stored.
    pub links_stored: i64,
    /// Objects.
    pub objects: usize,
    /// The ids that objects got.
    pub ids: Vec<i64>,
    /// Chunks with new vertices.
    pub chunks: u64,
    /// Objects of the storage that the edit replaced or added.
    pub put: u64,
    /// Objects of the storage that the edit removed.
    pub removed: u64,
    /// Notes about data that was not stored, and about automatic choices.
    pub notes: Vec<String>,
}

impl AppendReport {
    /// The ids as text for users. Consecutive ids are written as `3-9`; a long list is cut.
    #[must_use]
    pub fn listed_ids(&self) -> String {
        listed(&self.ids)
    }
}
