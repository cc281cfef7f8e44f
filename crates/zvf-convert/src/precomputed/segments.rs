//! Segment properties: labels, texts and numbers, which become attributes of objects, and tags, which become groups.

use std::collections::HashMap;

use serde_json::Value;
use zvf_write::{AttributeSpec, Groups, NumberType, ObjectTable, Values};

use super::info::{JsonFile, number_type};
use super::source::number;
use crate::error::{ConvertError, shown};

/// The values of one property, one row for each segment.
#[derive(Debug)]
enum SegmentColumn {
    Text(Vec<Option<String>>),
    Number(NumberType, Vec<f64>),
}

/// Properties of segments.
#[derive(Debug, Default)]
pub(super) struct SegmentTable {
    rows: HashMap<u64, usize>,
    columns: Vec<(AttributeSpec, SegmentColumn)>,
    /// Names of tags, and the tags of each row.
    tags: Option<(Vec<String>, Vec<Vec<usize>>)>,
}

impl SegmentTable {
    /// Reads the document in the folder that `info` names; `None` if `info` names no folder.
    ///
    /// # Errors
    /// Malformed documents; I/O.
    pub(super) fn of(info: &JsonFile) -> Result<Option<Self>, ConvertError> {
        let Some(folder) = info
            .value
            .get("segment_properties")
            .filter(|one| !one.is_null())
        else {
            return Ok(None);
        };
        let folder = folder.as_str();
        let folder = folder.ok_or_else(|| {
            info.bad(
                "segment_properties that is not a text",
                "the name of a folder",
            )
        })?;
        let document = JsonFile::read(&info.below(folder)?.join("info"))?;
        Self::parse(&document).map(Some)
    }

    fn parse(document: &JsonFile) -> Result<Self, ConvertError> {
        let missing = Value::Null;
        let inline = document.value.get("inline").unwrap_or(&missing);
        let mut found = Self::default();
        for (row, id) in document.list(inline, "ids")?.iter().enumerate() {
            let id = id.as_str().and_then(number);
            let id = id.ok_or_else(|| document.bad("an id", "a number of 64 bits, as a text"))?;
            if found.rows.insert(id, row).is_some() {
                return Err(document.bad(format!("a second segment {id}"), "different ids"));
            }
        }
        for property in document.list(inline, "properties")? {
            found.property(document, property)?;
        }
        // The format has no missing texts: an export of zvf writes empty texts instead, and lists their rows here.
        let lists = document.value.pointer("/zvf/missing_texts");
        let lists = lists.and_then(Value::as_array).into_iter().flatten();
        lists.for_each(|list| found.remove_texts(list));
        Ok(found)
    }

    /// Removes the empty texts of a property that are listed as missing.
    fn remove_texts(&mut self, list: &Value) {
        let name = match list.get("id").and_then(Value::as_str) {
            Some("label") => Some("name"),
            other => other,
        };
        let mut columns = self.columns.iter_mut();
        let column = columns.find(|(spec, _)| Some(spec.name.as_str()) == name);
        let Some((_, SegmentColumn::Text(texts))) = column else {
            return;
        };
        let rows = list.get("segments").and_then(Value::as_array);
        for row in rows.into_iter().flatten().filter_map(Value::as_u64) {
            let text = usize::try_from(row).ok().and_then(|row| texts.get_mut(row));
            if let Some(text) = text.filter(|text| text.as_deref() == Some("")) {
                *text = None;
            }
        }
    }

    fn property(&mut self, document: &JsonFile, property: &Value) -> Result<(), ConvertError> {
        let name = document.text(property, "id")?;
        let kind = document.text(property, "type")?;
        let values = document.list(property, "values")?;
        if values.len() != self.rows.len() {
            let found = format!("{} values of {}", values.len(), shown(name));
            let expected = format!("{}, one for each id", self.rows.len());
            return Err(document.bad(found, expected));
        }
        let wrong = |expected: &str| document.bad(format!("a value of {}", shown(name)), expected);
        let column = match kind {
            "label" | "description" | "string" => {
                let texts = values
                    .iter()
                    .map(|value| Some(Some(value.as_str()?.to_owned())));
                let texts = texts.collect::<Option<Vec<_>>>();
                SegmentColumn::Text(texts.ok_or_else(|| wrong("a text"))?)
            }
            "number" => {
                let kind = document.text(property, "data_type")?;
                let kind = number_type(kind).ok_or_else(|| {
                    document.bad(
                        format!("numbers of the type {}", shown(kind)),
                        "float32 or at most 32 bits",
                    )
                })?;
                let numbers = values.iter().map(|value| match value {
                    Value::Null if kind == NumberType::F32 => Some(f64::NAN),
                    value => value.as_f64().filter(|one| holds(kind, *one)),
                });
                let numbers = numbers.collect::<Option<Vec<_>>>();
                SegmentColumn::Number(kind, numbers.ok_or_else(|| wrong("a number of its type"))?)
            }
            "tags" => {
                let tags = document.list(property, "tags")?.iter();
                let tags = tags.map(|tag| tag.as_str().map(str::to_owned));
                let tags = tags.collect::<Option<Vec<String>>>();
                let tags = tags.ok_or_else(|| wrong("texts as tags"))?;
                let row = |value: &Value| {
                    let numbers = value.as_array()?.iter();
                    let numbers = numbers.map(|one| usize::try_from(one.as_u64()?).ok());
                    let numbers = numbers.collect::<Option<Vec<usize>>>()?;
                    numbers
                        .iter()
                        .all(|one| *one < tags.len())
                        .then_some(numbers)
                };
                let rows = values.iter().map(row).collect::<Option<Vec<_>>>();
                let rows = rows.ok_or_else(|| wrong("numbers of tags"))?;
                if self.tags.replace((tags, rows)).is_some() {
                    return Err(document.bad("a second property of tags", "one property of tags"));
                }
                return Ok(());
            }
            other => {
                let expected = "label, description, string, tags or number";
                return Err(
                    document.bad(format!("a property of the type {}", shown(other)), expected)
                );
            }
        };
        // In stores, the property of the type `label` is the attribute `name`.
        let name = if kind == "label" { "name" } else { name };
        if self.columns.iter().any(|(spec, _)| spec.name == name) {
            return Err(document.bad(
                format!("a second property {}", shown(name)),
                "different names",
            ));
        }
        let mut spec = match &column {
            SegmentColumn::Text(_) => AttributeSpec::text(name),
            SegmentColumn::Number(number, _) => AttributeSpec::number(name, *number),
        };
        if let Some(text) = property.get("description").and_then(Value::as_str) {
            spec = spec.with_description(text);
        }
        self.columns.push((spec, column));
        Ok(())
    }

    pub(super) fn specs(&self) -> impl Iterator<Item = &AttributeSpec> {
        self.columns.iter().map(|(spec, _)| spec)
    }

    pub(super) fn contains(&self, key: u64) -> bool {
        self.rows.contains_key(&key)
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The properties of these objects as a table; objects without properties are left out.
    pub(super) fn table(&self, ids: &[i64]) -> ObjectTable {
        let row = |id: &i64| self.rows.get(&u64::try_from(*id).ok()?).copied();
        let found: Vec<(i64, usize)> = ids.iter().filter_map(|id| Some((*id, row(id)?))).collect();
        let ids: Vec<i64> = found.iter().map(|(id, _)| *id).collect();
        let mut table = ObjectTable::new(ids);
        for (spec, column) in &self.columns {
            let rows = found.iter().map(|(_, row)| *row);
            let values = match column {
                SegmentColumn::Text(list) => {
                    Values::optional_texts(rows.filter_map(|row| list.get(row).cloned()))
                }
                SegmentColumn::Number(kind, list) => {
                    let numbers = rows.filter_map(|row| list.get(row).copied());
                    Values::of_bytes(*kind, &bytes(*kind, numbers))
                }
            };
            table = table.with_attribute(spec.name.clone(), values);
        }
        table
    }

    /// Tags as groups of the objects for which `exists` is true.
    pub(super) fn groups(&self, exists: impl Fn(u64) -> bool) -> Option<Groups> {
        let (names, tags) = self.tags.as_ref().filter(|(names, _)| !names.is_empty())?;
        let mut ids: Vec<(u64, usize)> = self.rows.iter().map(|(id, row)| (*id, *row)).collect();
        ids.sort_unstable_by_key(|(_, row)| *row);
        let mut members = vec![Vec::new(); names.len()];
        for (id, row) in ids {
            let (Ok(object), true) = (i64::try_from(id), exists(id)) else {
                continue;
            };
            for tag in tags.get(row).into_iter().flatten() {
                if let Some(members) = members.get_mut(*tag) {
                    members.push(object);
                }
            }
        }
        Some(Groups::new(members).with_names(names.iter().cloned()))
    }
}

/// Whether a type represents the number.
fn holds(kind: NumberType, number: f64) -> bool {
    let between = |low: f64, high: f64| number.fract() == 0.0 && (low..=high).contains(&number);
    match kind {
        NumberType::U8 => between(0.0, f64::from(u8::MAX)),
        NumberType::I8 => between(f64::from(i8::MIN), f64::from(i8::MAX)),
        NumberType::U16 => between(0.0, f64::from(u16::MAX)),
        NumberType::I16 => between(f64::from(i16::MIN), f64::from(i16::MAX)),
        NumberType::U32 => between(0.0, f64::from(u32::MAX)),
        NumberType::I32 => between(f64::from(i32::MIN), f64::from(i32::MAX)),
        // Stored as float32, in which larger numbers would be infinite.
        _ => !number.is_finite() || rounded(number).is_finite(),
    }
}

/// Rounds a number to float32.
#[expect(clippy::cast_possible_truncation, reason = "float32 rounds numbers")]
fn rounded(number: f64) -> f32 {
    number as f32
}

/// The bytes of numbers for which [`holds`] is true, in this type.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole numbers were checked to fit"
)]
fn bytes(kind: NumberType, numbers: impl Iterator<Item = f64>) -> Vec<u8> {
    let mut out = Vec::new();
    for number in numbers {
        match kind {
            NumberType::U8 => out.push(number as u8),
            NumberType::I8 => out.extend((number as i8).to_le_bytes()),
            NumberType::U16 => out.extend((number as u16).to_le_bytes()),
            NumberType::I16 => out.extend((number as i16).to_le_bytes()),
            NumberType::U32 => out.extend((number as u32).to_le_bytes()),
            NumberType::I32 => out.extend((number as i32).to_le_bytes()),
            _ => out.extend(rounded(number).to_le_bytes()),
        }
    }
    out
}
