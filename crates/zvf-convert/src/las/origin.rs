//! Members of a stored header that are not fields of points, such as GUID and date: read from files at import, written to files at export.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use chrono::{Datelike, NaiveDate};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value, json};

use super::layout::{ExtraBytes, PublicHeader, text};
use super::steps::ScaleOffset;

/// Names of members of a stored header.
pub(super) const SOURCE_ID: &str = "file_source_id";
pub(super) const GUID: &str = "guid";
pub(super) const SYSTEM: &str = "system_identifier";
pub(super) const SOFTWARE: &str = "generating_software";
pub(super) const CREATED: &str = "created";
pub(super) const CLASSES: &str = "classes";
pub(super) const EXTRA_BYTES: &str = "extra_bytes";
/// Bytes of the name of a class.
const CLASS_NAME: usize = 15;

/// The source of a file and the names of its classes. Zeros and empty texts are missing members.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Origin {
    pub(super) source_id: u16,
    pub(super) guid: [u8; 16],
    pub(super) system: String,
    pub(super) software: String,
    /// Day of the year, and year.
    pub(super) created: [u16; 2],
    /// Names that the file gives to classes.
    pub(super) classes: BTreeMap<u8, String>,
}

impl Origin {
    pub(super) fn of(head: &PublicHeader) -> Self {
        Self {
            source_id: head.source.get(),
            guid: head.guid,
            system: text(&head.system),
            software: text(&head.software),
            created: head.created.map(|one| one.get()),
            classes: BTreeMap::new(),
        }
    }

    /// Adds the stated members to a stored header.
    pub(super) fn add_to(&self, members: &mut Map<String, Value>) {
        let mut add = |name: &str, is_stated: bool, value: Value| {
            if is_stated {
                members.insert(name.to_owned(), value);
            }
        };
        add(SOURCE_ID, self.source_id != 0, json!(self.source_id));
        add(GUID, self.guid != [0; 16], json!(guid_text(self.guid)));
        add(SYSTEM, !self.system.is_empty(), json!(self.system));
        add(SOFTWARE, !self.software.is_empty(), json!(self.software));
        if let Some(date) = date(self.created) {
            add(CREATED, true, json!(date.to_string()));
        }
        add(CLASSES, !self.classes.is_empty(), json!(self.classes));
    }

    /// The data of the record with the names of classes.
    pub(super) fn class_record(&self) -> Vec<u8> {
        let entries = self.classes.iter().flat_map(|(class, name)| {
            let mut entry = [0; 1 + CLASS_NAME];
            let bytes = std::iter::once(*class).chain(name.bytes());
            entry
                .iter_mut()
                .zip(bytes)
                .for_each(|(to, byte)| *to = byte);
            entry
        });
        entries.collect()
    }
}

/// The names in a record of classes.
pub(super) fn classes(record: &[u8]) -> BTreeMap<u8, String> {
    let entries = record.as_chunks::<{ 1 + CLASS_NAME }>().0.iter();
    let entries = entries.map(|[class, name @ ..]| (*class, text(name)));
    entries.filter(|(_, name)| !name.is_empty()).collect()
}

/// The names of classes of a stored header.
pub(super) fn stored_classes(value: &Value) -> Option<BTreeMap<u8, String>> {
    let classes: BTreeMap<u8, String> = serde_json::from_value(value.clone()).ok()?;
    let fits = |name: &String| name.len() <= CLASS_NAME;
    classes.values().all(fits).then_some(classes)
}

/// A stored text, if it has at most 32 bytes, the size of the fields of a file.
pub(super) fn short_text(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| text.len() <= 32)?;
    Some(text.to_owned())
}

fn date([day, year]: [u16; 2]) -> Option<NaiveDate> {
    NaiveDate::from_yo_opt(i32::from(year), u32::from(day)).filter(|_| year > 0)
}

/// Day of the year and year of a stored date.
pub(super) fn day_and_year(value: &Value) -> Option<[u16; 2]> {
    let date: NaiveDate = value.as_str()?.parse().ok()?;
    let day = u16::try_from(date.ordinal()).ok()?;
    Some([day, u16::try_from(date.year()).ok()?])
}

/// Reverses the bytes of the first three groups of a GUID, which a file stores in little-endian order and a text in big-endian order.
fn swapped(mut guid: [u8; 16]) -> [u8; 16] {
    let [a, b, c, d, e, f, g, h, ..] = &mut guid;
    std::mem::swap(a, d);
    std::mem::swap(b, c);
    std::mem::swap(e, f);
    std::mem::swap(g, h);
    guid
}

fn guid_text(guid: [u8; 16]) -> String {
    let digits = swapped(guid).map(|byte| format!("{byte:02x}"));
    let mut text = String::new();
    for (at, byte) in digits.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(byte);
    }
    text
}

/// The bytes of a stored GUID.
pub(super) fn guid_bytes(value: &Value) -> Option<[u8; 16]> {
    let text: String = value.as_str()?.chars().filter(|one| *one != '-').collect();
    let number = (text.len() == 32).then(|| u128::from_str_radix(&text, 16).ok());
    let mut bytes = number??.to_le_bytes();
    bytes.reverse();
    Some(swapped(bytes))
}

/// The description of extra bytes that a store keeps besides their name and values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ExtraDoc {
    pub(super) name: String,
    pub(super) data_type: u8,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) description: String,
    /// Stored numbers times these, plus the offsets, are the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) scale: Option<[f64; 3]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) offset: Option<[f64; 3]>,
    /// The stored numbers that mark a missing value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) no_data: Option<[Number; 3]>,
    /// Whether the entry states its lowest and highest number. The numbers depend on the points of a file and are not kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) range: bool,
}

/// The descriptions of extra bytes of a stored header.
pub(super) fn stored_described(value: &Value) -> Option<Vec<ExtraDoc>> {
    let all: Vec<ExtraDoc> = serde_json::from_value(value.clone()).ok()?;
    let fits = |one: &ExtraDoc| one.data_type <= LAST_TYPE && one.description.len() <= 32;
    all.iter().all(fits).then_some(all)
}

/// The last type of extra bytes: three float64.
const LAST_TYPE: u8 = 30;

/// Bits of the options of extra bytes.
const NO_DATA: u8 = 1;
pub(super) const MIN: u8 = 2;
pub(super) const MAX: u8 = 4;
pub(super) const SCALED: u8 = 8;
pub(super) const OFFSET: u8 = 16;

impl ExtraBytes {
    /// Whether a number marks missing values.
    pub(super) fn states_no_data(&self) -> bool {
        self.data_type != 0 && self.options & NO_DATA != 0
    }
}

impl ExtraDoc {
    /// The description that extra bytes state besides name and type; `None` if they state none.
    pub(super) fn of(extra: &ExtraBytes) -> Option<Self> {
        let is_number = extra.data_type != 0;
        let has = |bit: u8| is_number && extra.options & bit != 0;
        let list = |bit: u8, list: [zerocopy::little_endian::F64; 3]| {
            let list = list.map(|one| one.get());
            (has(bit) && list.iter().all(|one| one.is_finite())).then_some(list)
        };
        let kind = extra.kind();
        let no_data = extra.no_data.map(|one| any(kind, one.get().to_le_bytes()));
        let found = Self {
            name: extra.name(),
            data_type: extra.data_type,
            description: text(&extra.description),
            scale: list(SCALED, extra.scale),
            offset: list(OFFSET, extra.offset),
            no_data: match no_data {
                [Some(a), Some(b), Some(c)] if has(NO_DATA) => Some([a, b, c]),
                _ => None,
            },
            range: has(MIN | MAX),
        };
        let is_stated = !found.description.is_empty()
            || found.scale.is_some()
            || found.offset.is_some()
            || found.no_data.is_some()
            || found.range;
        is_stated.then_some(found)
    }

    /// Writes the description into the entry of extra bytes of the same type. Only marks a range: its numbers are known after
    /// the last point.
    pub(super) fn put(&self, extra: &mut ExtraBytes) {
        let kind = extra.kind();
        let to = extra.description.iter_mut();
        to.zip(self.description.bytes())
            .for_each(|(to, byte)| *to = byte);
        if let Some(scale) = self.scale {
            extra.options |= SCALED;
            extra.scale = scale.map(Into::into);
        }
        if let Some(offset) = self.offset {
            extra.options |= OFFSET;
            extra.offset = offset.map(Into::into);
        }
        let no_data = self.no_data.as_ref();
        let no_data = no_data.map(|all| all.each_ref().map(|number| bytes(kind, number)));
        if let Some([Some(a), Some(b), Some(c)]) = no_data {
            extra.options |= NO_DATA;
            extra.no_data = [a, b, c].map(|one| u64::from_le_bytes(one).into());
        }
        if self.range {
            extra.options |= MIN | MAX;
        }
    }

    /// Numbers of a value.
    pub(super) fn count(&self) -> usize {
        usize::from(self.data_type.saturating_sub(1) / 10) + 1
    }

    /// Bytes of a number.
    pub(super) fn size(&self) -> usize {
        ExtraBytes::named([0; 32], self.data_type, 0)
            .size()
            .checked_div(self.count())
            .unwrap_or(1)
    }

    pub(super) fn is_scaled(&self) -> bool {
        self.scale.is_some() || self.offset.is_some()
    }

    /// Factors and summands of the numbers of a value.
    pub(super) fn steps(&self) -> [ScaleOffset; 3] {
        let (scale, offset) = (
            self.scale.unwrap_or([1.0; 3]),
            self.offset.unwrap_or_default(),
        );
        let [a, b, c] = scale;
        let [x, y, z] = offset;
        [(a, x), (b, y), (c, z)].map(|(scale, offset)| ScaleOffset { scale, offset })
    }

    /// For integer types, the lowest and the highest number, cut to ±2^53, the range in which float64 is exact.
    pub(super) fn range(&self) -> Option<RangeInclusive<f64>> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        Some(match self.data_type.checked_sub(1)? % 10 + 1 {
            1 => 0.0..=f64::from(u8::MAX),
            2 => f64::from(i8::MIN)..=f64::from(i8::MAX),
            3 => 0.0..=f64::from(u16::MAX),
            4 => f64::from(i16::MIN)..=f64::from(i16::MAX),
            5 => 0.0..=f64::from(u32::MAX),
            6 => f64::from(i32::MIN)..=f64::from(i32::MAX),
            7 => 0.0..=EXACT,
            8 => -EXACT..=EXACT,
            _ => return None,
        })
    }

    /// The stored integers of values, `count` for each row; `None` if a value is not exactly a scaled integer.
    #[expect(clippy::cast_precision_loss, reason = "the range has exact numbers")]
    pub(super) fn numbers(&self, values: &[f64]) -> Option<Vec<i64>> {
        let (range, steps) = (self.range()?, self.steps());
        let steps = steps.iter().take(self.count()).cycle();
        let numbers = values.iter().zip(steps).map(|(value, steps)| {
            let number = steps.whole(*value, range.clone())?;
            let back = number as f64 * steps.scale + steps.offset;
            (back == *value).then_some(number)
        });
        numbers.collect()
    }

    /// The description without scale and offset, and without values for missing data if the type or the scale changes.
    pub(super) fn without_scale(&self, data_type: u8) -> Self {
        let is_same = self.data_type == data_type && !self.is_scaled();
        Self {
            scale: None,
            offset: None,
            no_data: self.no_data.clone().filter(|_| is_same),
            // For opaque bytes, the options are the number of bytes.
            range: self.range && data_type != 0,
            ..self.clone()
        }
    }

    /// The description of the attribute: the description of the extra bytes, and their value for missing data.
    pub(super) fn text(&self) -> Option<String> {
        let mut parts = Vec::new();
        if !self.description.is_empty() {
            parts.push(self.description.clone());
        }
        if let Some(no_data) = &self.no_data {
            let numbers = no_data.iter().zip(self.steps()).take(self.count());
            let values = numbers.map(|(number, steps)| match number.as_f64() {
                Some(one) if self.is_scaled() => (one * steps.scale + steps.offset).to_string(),
                _ => number.to_string(),
            });
            let values: Vec<String> = values.collect();
            parts.push(format!("{} is a missing value", values.join(", ")));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// A number from eight bytes, which hold an unsigned integer, a signed integer or a float64.
fn any(kind: u8, bytes: [u8; 8]) -> Option<Number> {
    match kind {
        1 | 3 | 5 | 7 => Some(u64::from_le_bytes(bytes).into()),
        2 | 4 | 6 | 8 => Some(i64::from_le_bytes(bytes).into()),
        _ => Number::from_f64(f64::from_le_bytes(bytes)),
    }
}

/// The inverse of [`any`].
fn bytes(kind: u8, number: &Number) -> Option<[u8; 8]> {
    match kind {
        1 | 3 | 5 | 7 => number.as_u64().map(u64::to_le_bytes),
        2 | 4 | 6 | 8 => number.as_i64().map(i64::to_le_bytes),
        _ => number.as_f64().map(f64::to_le_bytes),
    }
}
