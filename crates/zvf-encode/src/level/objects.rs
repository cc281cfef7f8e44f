//! Objects: manifests, ids, and object tables from callers (0.9 §11).

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use zvf_format::manifest::ManifestBuilder;
use zvf_meta::{ArrayAttributes, Kind, ObjectIndexDoc};

use crate::WriteError;
use crate::batches::batch::{Groups, ObjectTable};
use crate::documents::array;
use crate::documents::build::Docs;
use crate::error::OrBug;
use crate::level::manifests::ManifestArray;
use crate::level::owners::OwnerCollector;
use crate::level::progress::StepProgress;
use crate::links::LinkPlacer;
use crate::records::sorter::{PlacedRows, Sorted};
use crate::spec::names::check_name;
use crate::spec::store::{AttributeSpec, StoreSpec};
use crate::spec::target_version::{ID_IS_ROW, IdsIn};
use crate::tables::column::{HeldColumn, TableOf, column, described, gapped_column, plain_column};
use crate::tables::typed::Typed;
use crate::target::Below;
use crate::values::column::Values;
use zvf_format::int::{index, signed, wide};

/// Fragments between two reports of progress.
const REPORTED: u64 = 4096;

/// The rows of object tables that were pushed, one per object.
#[derive(Debug)]
pub struct PushedObjectTables {
    ids: Vec<i64>,
    seen: HashSet<i64>,
    columns: Vec<HeldColumn>,
    /// The rows without a value of each column of numbers.
    absent: Vec<BTreeSet<usize>>,
    /// The ids of objects, if records identify objects by number; empty if records have the ids.
    named: Vec<i64>,
}

impl PushedObjectTables {
    /// No rows, with the object attributes of the specification.
    pub fn new(spec: &StoreSpec) -> Self {
        let columns = spec.object_attributes.iter();
        let columns = columns.map(|one| HeldColumn::new(one.values));
        Self {
            ids: Vec::new(),
            seen: HashSet::new(),
            columns: columns.collect(),
            absent: vec![BTreeSet::new(); spec.object_attributes.len()],
            named: Vec::new(),
        }
    }

    /// Tables of objects that vertices identify by number, from 0: rows of the index are in the order of these numbers, regardless of their ids.
    /// There are no attributes.
    pub fn numbered(ids: Vec<i64>) -> Self {
        Self {
            ids: (0..).take(ids.len()).collect(),
            seen: HashSet::new(),
            columns: Vec::new(),
            absent: Vec::new(),
            named: ids,
        }
    }

    /// The id of an object, from its key in records.
    fn id(&self, known_by: i64) -> i64 {
        // If the list of ids is empty, or too short for the key, the key is the id.
        let number = usize::try_from(known_by).ok();
        let id = number.and_then(|number| self.named.get(number));
        id.copied().unwrap_or(known_by)
    }

    /// All rows as one table.
    pub fn table(&self, spec: &StoreSpec) -> ObjectTable {
        let columns = self.columns.iter().zip(&self.absent);
        let columns = spec.object_attributes.iter().zip(columns);
        columns.fold(ObjectTable::new(&*self.ids), |table, (one, column)| {
            let (held, absent) = column;
            table.with_gaps(&one.name, held.values(), absent.clone())
        })
    }

    /// The ids of the rows, in the order in which they were pushed.
    pub fn ids(&self) -> &[i64] {
        &self.ids
    }

    /// Checks that the rows can be stored, regardless of the objects of other writers.
    ///
    /// # Cost
    /// Builds the column of each attribute in memory, one at a time.
    ///
    /// # Errors
    /// Misuse: a text that cannot be stored. Limit: a column that is too large.
    pub fn check(&self, spec: &StoreSpec) -> Result<(), WriteError> {
        attribute_columns(spec, self, &self.ids).try_for_each(|column| column.map(drop))
    }

    /// Adds the rows of a table, or none of them if one is wrong.
    ///
    /// # Errors
    /// Misuse: columns that do not match the specification, an object that already has a row.
    pub fn push(&mut self, spec: &StoreSpec, table: &ObjectTable) -> Result<(), WriteError> {
        if !spec.has_objects() {
            return Err(WriteError::input(
                "objects",
                "a table",
                "none, as the specification states",
            ));
        }
        let rows = table.ids.len();
        for (name, _) in &table.attributes {
            if !spec.object_attributes.iter().any(|one| one.name == *name) {
                let what = format!("object attribute {name}");
                return Err(WriteError::input(
                    what,
                    "values",
                    "none: the specification has no such name",
                ));
            }
        }
        for (name, absent) in &table.absent {
            let known = table.attributes.iter().any(|(own, _)| own == name);
            if !known || absent.last().is_some_and(|row| *row >= rows) {
                let found = "missing values in rows or attributes that the table does not have";
                return Err(WriteError::input(
                    format!("object attribute {name}"),
                    found,
                    format!("an attribute of the table, and rows below {rows}"),
                ));
            }
        }
        let mut new = Vec::new();
        for one in &spec.object_attributes {
            let what = || format!("object attribute {}", one.name);
            let mut given = table
                .attributes
                .iter()
                .filter(|(name, _)| *name == one.name)
                .map(|(_, values)| values);
            let (Some(values), None) = (given.next(), given.next()) else {
                return Err(WriteError::input(what(), "no column or several", "one"));
            };
            if Some(values.len()) != rows.checked_mul(one.channels) {
                let expected = format!("{} per row for {rows} rows", one.channels);
                return Err(WriteError::input(
                    what(),
                    format!("{} values", values.len()),
                    expected,
                ));
            }
            one.check_values("object attribute", values)?;
            let mut held = HeldColumn::new(one.values);
            if !held.push(values) {
                let (found, expected) = (values.type_name(), one.values.name());
                return Err(WriteError::input(what(), found, expected));
            }
            new.push(held);
        }
        let mut here = HashSet::new();
        let twice = table
            .ids
            .iter()
            .find(|id| self.seen.contains(id) || !here.insert(**id));
        if let Some(id) = twice {
            return Err(WriteError::input(format!("object {id}"), "two rows", "one"));
        }
        if let Some(id) = spec.target.rules().bad_id(&table.ids) {
            return Err(WriteError::input("object", id.to_string(), ID_IS_ROW));
        }
        self.seen.extend(here);
        let before = self.ids.len();
        for (one, absent) in spec.object_attributes.iter().zip(&mut self.absent) {
            let new = table.absent.get(&one.name).into_iter().flatten();
            absent.extend(new.map(|row| before.saturating_add(*row)));
        }
        self.ids.extend_from_slice(&table.ids);
        for (held, new) in self.columns.iter_mut().zip(new) {
            held.append(new)?;
        }
        Ok(())
    }
}

/// Checks groups against a specification, and returns a copy of them.
///
/// # Errors
/// Misuse: groups in a store without objects; names or values that do not match the number of groups; an attribute twice, or with an invalid name.
pub fn checked_groups(spec: &StoreSpec, groups: &Groups) -> Result<Groups, WriteError> {
    let count = groups.members.len();
    let bad = |what: String, found: String, expected: String| {
        Err(WriteError::input(what, found, expected))
    };
    if !spec.has_objects() {
        return bad(
            "groups".into(),
            format!("{count} groups"),
            "none in a store without objects".into(),
        );
    }
    if !groups.names.is_empty() && groups.names.len() != count {
        return bad(
            "group names".into(),
            format!("{} names", groups.names.len()),
            format!("{count} or none"),
        );
    }
    for (name, rows) in &groups.absent {
        let is_known = groups.attributes.iter().any(|(own, _)| own == name);
        if !is_known || rows.last().is_some_and(|row| *row >= count) {
            return bad(
                format!("group attribute {name}"),
                "missing values in rows or attributes that the groups do not have".into(),
                format!("an attribute of the groups, and rows below {count}"),
            );
        }
    }
    for (at, (name, values)) in groups.attributes.iter().enumerate() {
        let what = format!("group attribute {name}");
        check_name(&what, name)?;
        let mut before = groups.attributes.iter().take(at);
        if before.any(|(other, _)| other == name) {
            return bad(what, "two columns".into(), "one".into());
        }
        if values.is_empty() || !values.len().is_multiple_of(count) {
            return bad(
                what,
                format!("{} values", values.len()),
                format!("rows for {count} groups"),
            );
        }
    }
    Ok(groups.clone())
}

/// The written objects.
#[derive(Debug, Default)]
pub(crate) struct WrittenObjects {
    /// Documents of arrays.
    pub(crate) arrays: Docs,
    /// Ids of objects, ascending.
    pub(crate) ids: Vec<i64>,
    /// Ids in row order: the ids of the objects and, if ids are row numbers, the unused ones between them.
    pub(crate) rows: Vec<i64>,
    /// Rows with vertices.
    pub(crate) present: u64,
}

/// Where the manifests, links and owners of objects are written.
#[derive(Debug)]
pub(crate) struct ManifestSinks<'s> {
    /// Takes the links between consecutive fragments of an object in different chunks.
    pub(crate) placer: &'s mut LinkPlacer,
    /// Collects the owners of fragments, if the column is written.
    pub(crate) owners: Option<&'s mut OwnerCollector>,
    /// Takes manifests and ids.
    pub(crate) target: &'s Below<'s>,
    /// Whether manifests are put in shards.
    pub(crate) sharded: bool,
}

/// Writes manifests and ids, and passes links between fragments and the owners of fragments to `sinks`.
pub(crate) fn write_manifests(
    spec: &StoreSpec,
    chunks: &[&[i64]],
    mut sorted: Sorted<PlacedRows>,
    mut steps: StepProgress<'_>,
    tables: &PushedObjectTables,
    mut sinks: ManifestSinks<'_>,
) -> Result<WrittenObjects, WriteError> {
    let mut declared = tables.ids.clone();
    declared.sort_unstable();
    let mut declared = declared.into_iter().peekable();
    let mut written = WrittenObjects::default();
    let form = spec.target.rules().ids;
    let sharded = sinks.sharded && form == IdsIn::Table;
    let mut array = ManifestArray::new(&spec.settled_compression(), sharded, sinks.target);
    let mut parts = Vec::new();
    let mut waiting = 0_u64;
    while let Some(known_by) = sorted
        .peek()
        .into_iter()
        .chain(declared.peek().copied())
        .min()
    {
        declared.next_if_eq(&known_by);
        sorted.take(known_by, &mut parts)?;
        let id = tables.id(known_by);
        waiting += wide(parts.len());
        if waiting >= REPORTED {
            steps.add(std::mem::take(&mut waiting));
        }
        if spec.kind.is_chain() {
            check_chain(spec.kind, id, &parts)?;
            for pair in parts.windows(2) {
                // Parts that are consecutive inside a chunk are linked by the manifest alone (0.9 §14.2).
                if let [a, b] = pair
                    && a.chunk != b.chunk
                {
                    let last = a.row + a.rows;
                    let last = last.checked_sub(1).or_bug("a fragment without rows")?;
                    sinks
                        .placer
                        .push_rows(chunks, &[(a.chunk, last), (b.chunk, b.row)], &[])?;
                }
            }
        }
        let failed = |source| WriteError::encode(format!("manifest of object {id}"), source);
        let mut manifest = ManifestBuilder::new(spec.key_rank()).map_err(failed)?;
        for part in &parts {
            let chunk = chunks
                .get(index(part.chunk))
                .or_bug("a fragment of no chunk")?;
            manifest
                .push(chunk, i64::from(part.fragment))
                .map_err(failed)?;
            if let Some(owners) = &mut sinks.owners {
                owners.push(part.chunk, part.fragment, id)?;
            }
        }
        if form == IdsIn::Rows {
            // Ids without an object get empty rows (0.8 §10.1).
            while wide(written.rows.len()) < id.unsigned_abs() {
                array.push(&[0; 4])?;
                written.rows.push(signed(written.rows.len()));
            }
        }
        array.push(&manifest.finish())?;
        written.rows.push(id);
        written.present += u64::from(!parts.is_empty());
        written.ids.push(id);
    }
    steps.add(waiting);
    written.ids.sort_unstable();
    written.arrays = array.finish_in(form, &written.rows)?;
    Ok(written)
}

/// Checks the fragments of one object, in their order: a chain must be pushed without vertices of other objects between its own, and
/// a line must have two vertices, or none.
///
/// # Errors
/// Misuse: vertices of other objects in between, or a line with another number of vertices.
pub fn check_chain(kind: Kind, id: i64, parts: &[PlacedRows]) -> Result<(), WriteError> {
    let torn = parts
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.order + u64::from(a.rows) != b.order));
    if torn {
        let expected = "consecutive vertices";
        return Err(WriteError::input(
            format!("object {id}"),
            "vertices of others between its own",
            expected,
        ));
    }
    let rows: u64 = parts.iter().map(|part| u64::from(part.rows)).sum();
    if kind == Kind::Line && !matches!(rows, 0 | 2) {
        return Err(WriteError::input(
            format!("line {id}"),
            format!("{rows} vertices"),
            "2",
        ));
    }
    Ok(())
}

/// Checks the fragments of several objects, sorted by object, as [`check_chain`] does; other kinds have no such rule.
///
/// # Errors
/// As [`check_chain`].
pub fn check_chains(kind: Kind, placed: &[PlacedRows]) -> Result<(), WriteError> {
    if !kind.is_chain() {
        return Ok(());
    }
    let mut objects = placed.chunk_by(|a, b| a.object == b.object);
    objects.try_for_each(|parts| match parts.first() {
        Some(first) => check_chain(kind, first.object, parts),
        None => Ok(()),
    })
}

/// Checks that the tables and groups of a level can be stored, before anything is written. `ids` are the ids of all objects, ascending.
///
/// # Cost
/// Builds the column of each attribute in memory, one at a time.
///
/// # Errors
/// Misuse: members of groups that are not objects, values that cannot be stored. Limit: a column that is too large.
pub fn check_objects(
    spec: &StoreSpec,
    tables: &PushedObjectTables,
    groups: &Groups,
    ids: &[i64],
) -> Result<(), WriteError> {
    check_members(groups, ids)?;
    attribute_columns(spec, tables, ids).try_for_each(|column| column.map(drop))?;
    group_columns(spec, groups).try_for_each(|column| column.map(drop))
}

/// Returns the document of an object index: `ids` has one id per row, `present` counts rows with vertices.
pub fn index_doc(rank: usize, ids: &[i64], present: u64) -> ObjectIndexDoc {
    ObjectIndexDoc {
        num_present: Some(present),
        layout: Some("vlen_manifests_v2".to_owned()),
        object_ids_sorted: Some(ids.is_sorted()),
        ..index_of_rows(rank, wide(ids.len()))
    }
}

/// Returns the document of an object index with row numbers as ids (0.8 §10.1).
pub fn index_of_rows(rank: usize, count: u64) -> ObjectIndexDoc {
    ObjectIndexDoc {
        zv_array: Some("object_index".to_owned()),
        num_objects: Some(count),
        sid_ndim: u32::try_from(rank).ok(),
        layout: Some("vlen_manifests_v1".to_owned()),
        ..ObjectIndexDoc::default()
    }
}

/// The columns of the object attributes, built one at a time; rows are in the order of `ids`.
fn attribute_columns<'c>(
    spec: &'c StoreSpec,
    tables: &'c PushedObjectTables,
    ids: &'c [i64],
) -> impl Iterator<Item = Result<(&'c AttributeSpec, Typed), WriteError>> {
    let mut by_id: Vec<(i64, usize)> = tables.ids.iter().copied().zip(0..).collect();
    by_id.sort_unstable();
    let row_of = |id: &i64| {
        let at = by_id.binary_search_by_key(id, |(id, _)| *id).ok()?;
        by_id.get(at).map(|(_, row)| *row)
    };
    let rows: Vec<Option<usize>> = ids.iter().map(row_of).collect();
    let form = spec.target.rules().ids;
    let columns = tables.columns.iter().zip(&tables.absent);
    let columns = spec.object_attributes.iter().zip(columns);
    columns.map(move |(one, (held, absent))| {
        let what = format!("object attribute {}", one.name);
        let mut rows = Cow::Borrowed(&rows);
        if !absent.is_empty() {
            let gaps = rows.to_mut().iter_mut();
            let gaps = gaps.filter(|row| row.is_some_and(|row| absent.contains(&row)));
            gaps.for_each(|row| *row = None);
        }
        let typed = column(&what, one, held, (&rows, ids), form);
        typed.map(|typed| (one, typed))
    })
}

/// Writes the object attributes, rows in the order of the index.
pub(crate) fn write_attributes(
    spec: &StoreSpec,
    tables: &PushedObjectTables,
    ids: &[i64],
    target: &Below<'_>,
) -> Result<Docs, WriteError> {
    let compression = spec.settled_compression();
    let mut docs = Vec::new();
    for column in attribute_columns(spec, tables, ids) {
        let (one, typed) = column?;
        let (of, given) = (TableOf::Objects, described(one));
        docs.push(typed.write(of, &one.name, given, &compression, target)?);
    }
    Ok(docs)
}

/// Checks that the members of groups are objects. `ids` are the ids of all objects, ascending.
fn check_members(groups: &Groups, ids: &[i64]) -> Result<(), WriteError> {
    for (number, members) in groups.members.iter().enumerate() {
        if let Some(id) = members.iter().find(|id| ids.binary_search(id).is_err()) {
            return Err(WriteError::input(
                format!("group {number}"),
                format!("object {id}"),
                "objects of this store",
            ));
        }
    }
    Ok(())
}

/// The columns of the attributes of groups, built one at a time.
fn group_columns<'c>(
    spec: &'c StoreSpec,
    groups: &'c Groups,
) -> impl Iterator<Item = Result<(&'c String, Typed), WriteError>> {
    let (rows, ids) = (groups.members.len(), spec.target.rules().ids);
    groups.attributes.iter().map(move |(name, values)| {
        let what = format!("group attribute {name}");
        let typed = match groups.absent.get(name) {
            Some(absent) => gapped_column(&what, values, (rows, absent), ids),
            None if matches!(values, Values::Text(texts) if texts.iter().any(|text| text.is_none())) => {
                gapped_column(&what, values, (rows, &BTreeSet::new()), ids)
            }
            None => plain_column(&what, values, rows),
        };
        typed.map(|typed| (name, typed))
    })
}

/// Writes groups and their attributes.
pub(crate) fn write_groups(
    spec: &StoreSpec,
    groups: &Groups,
    ids: &[i64],
    target: &Below<'_>,
) -> Result<Docs, WriteError> {
    if groups.members.is_empty() {
        return Ok(Vec::new());
    }
    check_members(groups, ids)?;
    let attributes = ArrayAttributes {
        group_names: (!groups.names.is_empty()).then(|| groups.names.clone()),
        ..ArrayAttributes::default()
    };
    let members = groups.members.iter().map(Ok);
    let compression = spec.settled_compression();
    let (doc, objects) = array::groups(members, &compression, attributes)?;
    target.put(objects)?;
    let mut docs = vec![("groups".to_owned(), doc)];
    for column in group_columns(spec, groups) {
        let (name, typed) = column?;
        let given = ArrayAttributes::default();
        docs.push(typed.write(TableOf::Groups, name, given, &compression, target)?);
    }
    Ok(docs)
}
