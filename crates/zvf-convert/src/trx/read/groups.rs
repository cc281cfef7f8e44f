//! Groups of streamlines, `groups/NAME.uint32`, and their attributes, `dpg/GROUP/NAME.TYPE`.
//!
//! A store has one table of attributes for all groups. Missing floats are NaN; other numbers cannot be missing, so such an attribute is left
//! out if only some groups have it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use zvf_encode::error::OrBug;
use zvf_write::{AttributeType, Groups, Values};

use super::columns::TrxArray;
use super::open::Open;
use crate::error::{ConvertError, InFile, shown};
use crate::numbers::whole;
use crate::options::Options;
use crate::records::values;

/// Groups of one or several archives; groups of one name are merged.
#[derive(Debug, Default)]
pub(super) struct TrxGroups {
    names: Vec<String>,
    places: HashMap<String, usize>,
    members: Vec<Vec<i64>>,
    fields: Vec<GroupAttribute>,
    /// The number of members of all groups.
    held: u64,
    notes: Vec<String>,
}

/// An attribute of groups, with the values read so far.
#[derive(Debug)]
struct GroupAttribute {
    name: String,
    kind: DataType,
    rows: HashMap<usize, ArrayRef>,
}

impl TrxGroups {
    /// Adds the groups of an archive; its first streamline is object `first`.
    pub(super) fn add(
        &mut self,
        path: &Path,
        open: &Open,
        first: i64,
        options: &Options,
    ) -> Result<(), ConvertError> {
        let lines = i64::try_from(open.ends.len()).unwrap_or(i64::MAX);
        for group in &open.groups {
            self.held = self.held.saturating_add(group.array.rows);
            if self.held > options.limits.held {
                let limit = options.limits.held;
                return Err(ConvertError::limit(
                    path,
                    InFile::Whole,
                    "members of groups",
                    limit,
                ));
            }
            let column = one(open, group)?;
            let numbers = whole(&column).unwrap_or_default();
            let wrong = numbers.iter().find(|line| !(0..lines).contains(*line));
            if wrong.is_some() || numbers.len() as u64 != group.array.rows {
                let found = wrong.map_or_else(
                    || "members that are not whole numbers".to_owned(),
                    ToString::to_string,
                );
                return Err(ConvertError::malformed(
                    path,
                    InFile::Whole,
                    format!("{found} in group {}", shown(&group.name)),
                    format!("streamlines from 0, below {lines}"),
                ));
            }
            let next = self.names.len();
            let place = *self.places.entry(group.name.clone()).or_insert(next);
            if place == next {
                self.names.push(group.name.clone());
                self.members.push(Vec::new());
            }
            let members = self.members.get_mut(place);
            let members = members.or_bug("a group without members")?;
            for line in &numbers {
                let id = first.checked_add(*line);
                members.push(id.or_bug("an id beyond 64 bits")?);
            }
        }
        for (group, column) in &open.group_attributes {
            let what = || format!("dpg {} of group {}", shown(&column.name), shown(group));
            let Some(&place) = self.places.get(group) else {
                self.note(format!("{} is not kept: there is no such group", what()));
                continue;
            };
            let kind = column.array.column();
            if !matches!(values::kind(&kind), Some((AttributeType::Number(_), _))) {
                continue;
            }
            let row = one(open, column)?;
            let known = self
                .fields
                .iter()
                .position(|field| field.name == column.name);
            let at = known.unwrap_or_else(|| {
                self.fields.push(GroupAttribute {
                    name: column.name.clone(),
                    kind: kind.clone(),
                    rows: HashMap::new(),
                });
                self.fields.len().saturating_sub(1)
            });
            let field = self.fields.get_mut(at);
            let field = field.or_bug("a field that is not there")?;
            if field.kind != kind {
                self.note(format!(
                    "{} is not kept: it has another type in another group",
                    what()
                ));
                continue;
            }
            let before = match field.rows.entry(place) {
                Entry::Vacant(free) => {
                    free.insert(row);
                    false
                }
                Entry::Occupied(_) => true,
            };
            if before {
                self.note(format!(
                    "{} is not kept: a member of the same name was read before it",
                    what()
                ));
            }
        }
        Ok(())
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The groups, if there are any, and remarks on data of the archives that is left out.
    pub(super) fn finish(mut self) -> (Option<Groups>, Vec<String>) {
        if self.names.is_empty() {
            return (None, self.notes);
        }
        let count = self.names.len();
        let mut groups =
            Groups::new(std::mem::take(&mut self.members)).with_names(self.names.iter().cloned());
        for field in std::mem::take(&mut self.fields) {
            match field.column(count) {
                Some(values) => groups = groups.with_attribute(&field.name, values),
                None => self.note(format!(
                    "dpg {} is not kept: {} of {count} groups have it, and whole numbers cannot be missing",
                    shown(&field.name),
                    field.rows.len()
                )),
            }
        }
        (Some(groups), self.notes)
    }
}

impl GroupAttribute {
    /// The rows of all groups; `None` if a group has no value and the type cannot represent this.
    fn column(&self, groups: usize) -> Option<Values> {
        let missing = new_null_array(&self.kind, 1);
        let rows = (0..groups).map(|group| self.rows.get(&group).unwrap_or(&missing).as_ref());
        let rows: Vec<&dyn Array> = rows.collect();
        values::values(&concat(&rows).ok()?)
    }
}

/// All rows of an array.
fn one(open: &Open, column: &TrxArray) -> Result<ArrayRef, ConvertError> {
    let rows = usize::try_from(column.array.rows).unwrap_or(usize::MAX);
    let mut bytes = open.archive.read(&column.member)?;
    column.array.take(&mut bytes, rows)
}
