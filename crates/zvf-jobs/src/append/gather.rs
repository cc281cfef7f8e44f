//! Converts the input of an append to the types of the store.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use zvf_convert::{Import, ObjectIds, Sink};
use zvf_edit::{Edit, Fitted, NotGiven, Scope};
use zvf_encode::arrow::check_unit;
use zvf_encode::error::OrBug;
use zvf_encode::{AttributeSpec, Batch, Groups, Kind, ObjectTable, StoreSpec, WriteError};

use super::given::{Answered, AppendSource};
use super::numbers::ObjectNumbering;
use crate::JobError;
use crate::error::Result;
use crate::tables::{EditTables, shown_fill};

/// Whether faces of four corners are cut into triangles, because the store has triangles.
///
/// # Errors
///
/// Usage: faces of three corners for a store with faces of four.
fn cut_quads(import: &Import, spec: &StoreSpec) -> Result<bool> {
    let (theirs, own) = (import.spec().links.width, spec.links.width);
    if spec.kind != Kind::Mesh || theirs == own || import.links() == 0 {
        return Ok(false);
    }
    match (theirs, own) {
        (4, 3) => Ok(true),
        _ => Err(JobError::usage(format!(
            "faces: found {theirs} corners, expected {own} as in the store; `zvf import` makes a store of triangles of all files together"
        ))),
    }
}

/// Notes on attributes of dates, times and durations whose numbers have a unit in the store and none in the files. Only for files that are not tables.
fn unstated(theirs: &[AttributeSpec], own: &[AttributeSpec]) -> Vec<String> {
    let note = |own: &AttributeSpec| {
        let unit = own.unit.as_deref().filter(|_| own.has_moments())?;
        let theirs = theirs.iter().find(|one| one.name == own.name)?;
        let numbers = theirs.values.number().is_some() && theirs.unit.is_none();
        let name = &own.name;
        numbers.then(|| {
            format!("attribute {name}: the files state no unit: its numbers are taken as {unit}")
        })
    };
    own.iter().filter_map(note).collect()
}

/// Refuses an attribute whose unit differs from its unit in the store.
fn same_units(theirs: &[AttributeSpec], own: &[AttributeSpec]) -> Result<()> {
    for theirs in theirs {
        if let Some(own) = own.iter().find(|one| one.name == theirs.name) {
            check_unit(theirs.unit.as_deref(), own)?;
        }
    }
    Ok(())
}

/// Cuts faces of four corners into two triangles each, from their first corner.
fn triangles(quads: &[u64]) -> Vec<u64> {
    let (quads, _) = quads.as_chunks::<4>();
    let cut = |&[a, b, c, d]: &[u64; 4]| [a, b, c, a, c, d];
    quads.iter().flat_map(cut).collect()
}

/// The converted input of an append.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) batches: Vec<Batch>,
    pub(super) objects: Vec<ObjectTable>,
    pub(super) groups: Vec<Groups>,
    /// Attributes that only the files have.
    pub(super) unknown: BTreeSet<String>,
    /// Attributes of vertices that only the store has.
    pub(super) vertices: NotGiven,
    /// Attributes of links that only the store has.
    pub(super) links: NotGiven,
    /// Attributes of objects that only the store has, and that have no fill.
    pub(super) lacking: BTreeSet<String>,
    /// Attributes of objects that only the store has, with their [fill](Edit::fill) in messages.
    pub(super) object_filled: BTreeMap<String, String>,
}

impl Taken {
    /// Records object attributes that a file lacks.
    fn lacks(&mut self, attributes: Vec<&AttributeSpec>, edit: &Edit) {
        for one in attributes {
            let name = one.name.clone();
            match edit.fill(Scope::Object, &name) {
                Some(fill) => {
                    self.object_filled.insert(name, shown_fill(Some(one), fill));
                }
                None => {
                    self.lacking.insert(name);
                }
            }
        }
    }

    fn batch(&mut self, fitted: Fitted) {
        self.batches.push(fitted.batch);
        self.unknown.extend(fitted.unknown);
        for (own, new) in [
            (&mut self.vertices, fitted.vertices),
            (&mut self.links, fitted.links),
        ] {
            own.missing.extend(new.missing);
            own.filled.extend(new.filled);
        }
    }
}

/// Converts all batches of a reader, or tables, to the types of the store.
#[derive(Debug)]
pub(super) struct BatchConverter {
    pub(super) edit: Edit,
    pub(super) numbers: ObjectNumbering,
    pub(super) taken: Taken,
    /// The number of the table that is read.
    file: usize,
    rule: ObjectIds,
    /// The object attributes of the store.
    known: Vec<AttributeSpec>,
    /// How many faces of four corners were cut into triangles; `None` if they are not cut.
    quads: Option<u64>,
}

impl BatchConverter {
    /// A converter for an edit, without input yet; `known` are the object attributes of its store.
    pub(super) fn new(
        edit: Edit,
        numbers: ObjectNumbering,
        rule: ObjectIds,
        known: Vec<AttributeSpec>,
    ) -> Self {
        Self {
            edit,
            numbers,
            taken: Taken::default(),
            file: 0,
            rule,
            known,
            quads: None,
        }
    }

    /// Converts the whole input; returns notes.
    ///
    /// # Errors
    ///
    /// Misuse: data that does not fit the store; the errors of the files.
    pub(super) fn take(&mut self, given: &AppendSource) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        match given {
            AppendSource::Tables(list) => {
                for (file, one) in list.iter().enumerate() {
                    self.file = file;
                    // New ids follow the order of the table of objects, not of chunks.
                    self.described(one, &mut notes)?;
                    self.table(&one.tables, &mut notes)?;
                    notes.extend(one.notes.iter().cloned());
                }
            }
            AppendSource::Import(import) => {
                self.quads = cut_quads(import, self.edit.spec())?.then_some(0);
                let (theirs, own) = (import.spec(), self.edit.spec());
                same_units(&theirs.vertex_attributes, &own.vertex_attributes)?;
                same_units(&theirs.links.attributes, &own.links.attributes)?;
                same_units(&theirs.object_attributes, &self.known)?;
                notes.extend(unstated(&theirs.vertex_attributes, &own.vertex_attributes));
                notes.extend(unstated(&theirs.object_attributes, &self.known));
                import.read(self)?;
                let tables = &self.taken.objects;
                let given = |known: &AttributeSpec| {
                    let has = |table: &ObjectTable| {
                        table.attributes().any(|(name, _)| name == known.name)
                    };
                    !tables.is_empty() && tables.iter().all(has)
                };
                let lacking = self.known.iter().filter(|known| !given(known));
                let lacking = lacking.collect();
                self.taken.lacks(lacking, &self.edit);
            }
        }
        let cut = self.quads.filter(|quads| *quads > 0);
        notes.extend(cut.map(|quads| {
            let faces = if quads == 1 { "face" } else { "faces" };
            format!(
                "{quads} {faces} of four corners were cut into triangles from their first corner, because the store has triangles"
            )
        }));
        Ok(notes)
    }

    /// Converts a table of vertices with its links.
    fn table(&mut self, tables: &EditTables, notes: &mut Vec<String>) -> Result<()> {
        let (edit, spec) = (&self.edit, self.edit.spec());
        notes.extend(tables.vertices.unstated_units(&spec.vertex_attributes));
        let vertices = tables.vertices.vertices(edit)?;
        let mut batch = Batch::from_records(&vertices)?;
        let rows = vertices.num_rows();
        let named = vertices.column_by_name("object_id").is_some();
        let mut attributes = spec.vertex_attributes.iter();
        let owner_is_attribute = attributes.any(|one| one.name == "object_id");
        if spec.has_objects() && !named {
            // Without ids: one object, or one for each line of two vertices.
            let size = match spec.kind {
                Kind::Line => 2,
                _ => rows.max(1),
            };
            let mut ids = Vec::with_capacity(rows);
            let mut last = (None, 0);
            for row in 0..rows {
                let at = i64::try_from(row / size).or_bug("more objects than ids")?;
                if last.0 != Some(at) {
                    last = (Some(at), self.numbers.of_unnamed(self.file, at, self.rule));
                }
                ids.push(last.1);
            }
            batch = batch.with_object_ids(ids);
        } else if !spec.has_objects() && tables.vertices.has_objects() && !owner_is_attribute {
            notes.push(
                "left out: the object of each vertex, since the store has no objects".to_owned(),
            );
        }
        let links = tables.links.as_ref().filter(|_| spec.takes_links());
        if links.is_none() && tables.links.is_some() && spec.kind == Kind::PointCloud {
            notes.push("left out: links, since points have none".to_owned());
        }
        if let Some(links) = links {
            self.taken.unknown.extend(links.unknown_of_links(spec)?);
        }
        let ids = tables.ids.as_ref();
        let links = links.map(|links| links.links(edit, ids)).transpose()?;
        if let Some(links) = &links {
            batch = batch.with_link_records(links)?;
        }
        let file = self.file;
        let numbers = &mut self.numbers;
        let fitted = match named {
            true => edit.fit(&batch, |id| numbers.of_file(file, id))?,
            false => edit.fit(&batch, |id| id)?,
        };
        let unknown = tables.vertices.unknown(spec);
        self.taken.batch(fitted);
        self.taken.unknown.extend(unknown);
        Ok(())
    }

    /// Converts the tables of objects and groups of an answer.
    fn described(&mut self, one: &Answered, notes: &mut Vec<String>) -> Result<()> {
        let lacks = |known: &AttributeSpec| {
            let objects = one.objects.as_ref();
            objects.is_none_or(|objects| !objects.has(known))
        };
        let lacking = self.known.iter().filter(|known| lacks(known));
        let lacking: Vec<&AttributeSpec> = lacking.collect();
        self.taken.lacks(lacking, &self.edit);
        if let Some(objects) = &one.objects
            && self.edit.spec().has_objects()
            && let Some(ids) = objects.ids()?
        {
            self.taken
                .unknown
                .extend(objects.unknown_of_objects(&self.known));
            notes.extend(objects.unstated_units(&self.known));
            let fill = |name: &str| self.edit.fill(Scope::Object, name).map(str::to_owned);
            let given = Arc::clone(&ids.1);
            let tables = objects.object_tables(ids, &self.known, fill)?;
            let tables = tables.iter().map(ObjectTable::from_records);
            let tables: Vec<ObjectTable> = tables.collect::<std::result::Result<_, _>>()?;
            if tables.len() > 1 {
                // New ids follow the order of the file.
                let given = given.as_primitive_opt::<Int64Type>();
                let given = given.or_bug("ids that are not int64")?.values();
                let file = self.file;
                given.iter().for_each(|id| {
                    self.numbers.of_file(file, *id);
                });
            }
            tables.iter().try_for_each(|table| self.objects(table))?;
        }
        if let Some(groups) = &one.groups {
            self.groups(groups)?;
        }
        Ok(())
    }
}

impl Sink for BatchConverter {
    fn batch(&mut self, batch: &Batch) -> std::result::Result<(), WriteError> {
        let (file, numbers) = (self.file, &mut self.numbers);
        let mut batch = Cow::Borrowed(batch);
        if let Some(quads) = &mut self.quads {
            let cut = triangles(&batch.links);
            *quads = quads.saturating_add(cut.len() as u64 / 6);
            batch.to_mut().links = cut.into();
        }
        let fitted = self.edit.fit(&batch, |id| numbers.of_file(file, id))?;
        self.taken.batch(fitted);
        Ok(())
    }

    fn objects(&mut self, table: &ObjectTable) -> std::result::Result<(), WriteError> {
        let (file, numbers) = (self.file, &mut self.numbers);
        let ids = table.ids().iter().map(|id| numbers.of_file(file, *id));
        let mut fitted = ObjectTable::new(ids.collect::<Vec<_>>());
        for (name, values) in table.attributes() {
            match self.known.iter().find(|one| one.name == name) {
                Some(one) => {
                    fitted = fitted.with_gaps(name, values.fitted(one)?, table.gaps(name));
                }
                None => {
                    self.taken.unknown.insert(name.to_owned());
                }
            }
        }
        if self.edit.spec().has_objects() {
            self.taken.objects.push(fitted);
        }
        Ok(())
    }

    fn groups(&mut self, groups: &Groups) -> std::result::Result<(), WriteError> {
        let (file, numbers) = (self.file, &mut self.numbers);
        let members = groups.members().iter();
        let members = members.map(|ids| ids.iter().map(|id| numbers.of_file(file, *id)).collect());
        self.taken.groups.push(Groups {
            members: members.collect(),
            ..groups.clone()
        });
        Ok(())
    }
}
