//! Matches rows of a table with vertices, objects or links: compares keys of equal width, in stored form.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use zvf_encode::arrow::{column_type, elements, texts, values};
use zvf_encode::error::{OrBug, narrow};
use zvf_encode::{NumberType, Values, WriteError};
use zvf_format::int::index;

/// Largest number of keys in a message.
const LISTED: usize = 5;

/// The owner of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Vertices.
    Vertex,
    /// Objects.
    Object,
    /// Stored links.
    Link,
}

impl Scope {
    /// The name by which the root declares attributes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vertex => "vertex",
            Self::Object => "object",
            Self::Link => "link",
        }
    }

    /// The plural.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Vertex => "vertices",
            Self::Object => "objects",
            Self::Link => "links",
        }
    }
}

/// How the rows of a table are matched with vertices, objects or links. The first possible way is used:
///
/// 1. [`key`](Self::key), if it is given;
/// 2. for vertices, [`by_order`](Self::by_order) or [`by_object_order`](Self::by_object_order);
/// 3. columns that locate a row: `chunk` and `row`, or `vertex` and `object_id`, or `vertex` alone, for vertices; `object_id` for objects; the ends
///    `vertices`, or `chunks` and `rows`, or `object_id` and a list `vertex`, for links;
/// 4. the positions of vertices (`position`, or a column per axis), and their `object_id` if the table has it, compared in the number type of
///    the store;
/// 5. for objects and links, [`by_order`](Self::by_order).
///
/// `chunk` and `row`, `vertex` alone, vertex numbers of link ends and the order of rows refer to the store before the edit, even after the edit has
/// added, deleted or moved vertices. After such an edit, `vertex` with `object_id` (except for polylines and streamlines) and the order of objects are
/// refused.
///
/// A table without any of these is refused. So are columns that locate other rows than the way that is used, unless it is a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Matching {
    /// Attributes that identify each vertex, object or link by their values or combination of values. They are compared with the columns of the same
    /// names in the table. `object_id` may be one.
    pub key: Vec<String>,
    /// Row i is for vertex, object or link i, in the order in which queries return them. The table has exactly as many rows.
    pub by_order: bool,
    /// Only vertices: rows list the vertices object by object, in the order of the object index. Files that accompany a tractogram have this order.
    /// The table has exactly one row for each vertex.
    pub by_object_order: bool,
    /// Rows that are not in the store are left out instead of refused.
    pub ignore_missing: bool,
    /// Objects that are not in the store are created, without vertices, instead of refused.
    pub new_objects: bool,
}

impl Matching {
    /// Matches by columns of the table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Matches by the values of attributes.
    #[must_use]
    pub fn by_key<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Self {
        Self {
            key: names.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Matches by the order of a query without selections.
    #[must_use]
    pub fn by_order() -> Self {
        Self {
            by_order: true,
            ..Self::default()
        }
    }

    /// Matches by the order of the vertices along one object after another.
    #[must_use]
    pub fn by_object_order() -> Self {
        Self {
            by_object_order: true,
            ..Self::default()
        }
    }

    /// Sets whether rows that are not in the store are left out.
    #[must_use]
    pub fn with_ignore_missing(mut self, ignore_missing: bool) -> Self {
        self.ignore_missing = ignore_missing;
        self
    }

    /// Sets whether objects that are not in the store are created.
    #[must_use]
    pub fn with_new_objects(mut self, new_objects: bool) -> Self {
        self.new_objects = new_objects;
        self
    }
}

/// One value of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TableElement<'a> {
    Missing,
    Whole(i128),
    Float(f64),
    Truth(bool),
    Text(&'a str),
}

impl TableElement<'_> {
    /// The value, for messages.
    pub(crate) fn show(&self) -> String {
        match self {
            Self::Missing => "nothing".to_owned(),
            Self::Whole(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Truth(value) => value.to_string(),
            Self::Text(text) => text.chars().take(40).collect(),
        }
    }
}

/// Calls `take` with the index and value of every element of a column; the elements of a row are consecutive.
///
/// # Errors
/// Misuse: a column that is neither numbers, booleans nor text. The errors of `take`.
pub(crate) fn each(
    name: &str,
    column: &ArrayRef,
    mut take: impl FnMut(usize, TableElement<'_>) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    if let Some(list) = texts(column) {
        let mut all = list.iter().enumerate();
        return all.try_for_each(|(at, text)| match text {
            Some(text) => take(at, TableElement::Text(text)),
            None => take(at, TableElement::Missing),
        });
    }
    let (items, width) = elements(column)?;
    let holes = column.null_count() > 0 || items.null_count() > 0;
    let absent = |at: usize| {
        let row = at.checked_div(width);
        holes && (items.is_null(at) || row.is_some_and(|row| column.is_null(row)))
    };
    macro_rules! numbers {
        ($type:ty, $element:expr) => {
            for (at, one) in items.as_primitive::<$type>().values().iter().enumerate() {
                match absent(at) {
                    true => take(at, TableElement::Missing)?,
                    false => take(at, $element(*one))?,
                }
            }
        };
    }
    macro_rules! whole {
        ($type:ty) => {
            numbers!($type, |one| TableElement::Whole(i128::from(one)))
        };
    }
    use arrow_array::types::ArrowPrimitiveType;
    match items.data_type() {
        kind if *kind == Int8Type::DATA_TYPE => whole!(Int8Type),
        kind if *kind == Int16Type::DATA_TYPE => whole!(Int16Type),
        kind if *kind == Int32Type::DATA_TYPE => whole!(Int32Type),
        kind if *kind == Int64Type::DATA_TYPE => whole!(Int64Type),
        kind if *kind == UInt8Type::DATA_TYPE => whole!(UInt8Type),
        kind if *kind == UInt16Type::DATA_TYPE => whole!(UInt16Type),
        kind if *kind == UInt32Type::DATA_TYPE => whole!(UInt32Type),
        kind if *kind == UInt64Type::DATA_TYPE => whole!(UInt64Type),
        kind if *kind == Float16Type::DATA_TYPE => {
            numbers!(Float16Type, |one| TableElement::Float(f64::from(one)));
        }
        kind if *kind == Float32Type::DATA_TYPE => {
            numbers!(Float32Type, |one| TableElement::Float(f64::from(one)));
        }
        kind if *kind == Float64Type::DATA_TYPE => numbers!(Float64Type, TableElement::Float),
        _ => {
            let Some(list) = items.as_boolean_opt() else {
                let found = column.data_type().to_string();
                let expected = "numbers, booleans or text";
                return Err(WriteError::input(format!("column {name}"), found, expected));
            };
            for (at, one) in list.values().iter().enumerate() {
                match absent(at) {
                    true => take(at, TableElement::Missing)?,
                    false => take(at, TableElement::Truth(one))?,
                }
            }
        }
    }
    Ok(())
}

/// The state of the key of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyState {
    /// The store may have the key.
    Given,
    /// A part of the key is missing.
    Missing,
    /// The store cannot have the key: a number beyond the type, a text that is not a category.
    Unknown,
}

/// How the store encodes the values of a part of a key.
#[derive(Debug)]
pub(crate) enum Coding {
    Number(NumberType),
    /// Texts as codes of a number type.
    Words(HashMap<String, i64>, NumberType),
}

impl Coding {
    pub(crate) fn number(&self) -> NumberType {
        match self {
            Self::Number(number) | Self::Words(_, number) => *number,
        }
    }

    /// Writes a value in its stored form; `None` if it cannot be compared with values of this type.
    pub(crate) fn put(&self, element: TableElement<'_>, out: &mut [u8]) -> Option<KeyState> {
        let number = self.number();
        let state = |done: bool| match done {
            true => Some(KeyState::Given),
            false => Some(KeyState::Unknown),
        };
        if let TableElement::Missing = element {
            return Some(KeyState::Missing);
        }
        if let Self::Words(words, _) = self {
            let word = |text: &str| words.get(text).copied();
            let code = match element {
                TableElement::Text(text) => word(text),
                TableElement::Whole(whole) => word(&whole.to_string()),
                TableElement::Truth(value) => word(&value.to_string()),
                TableElement::Float(_) | TableElement::Missing => return None,
            };
            return state(code.is_some_and(|code| put_whole(number, i128::from(code), out)));
        }
        match (number, element) {
            (NumberType::Bool, TableElement::Truth(value)) => {
                out.copy_from_slice(&[u8::from(value)]);
                Some(KeyState::Given)
            }
            (NumberType::Bool, TableElement::Text(text)) => {
                let value: bool = text.trim().to_ascii_lowercase().parse().ok()?;
                self.put(TableElement::Truth(value), out)
            }
            (NumberType::Bool, TableElement::Whole(whole @ (0 | 1))) => {
                self.put(TableElement::Truth(whole == 1), out)
            }
            (NumberType::Bool, _) | (_, TableElement::Truth(_)) => None,
            (_, TableElement::Text(text)) => {
                let text = text.trim();
                match text.parse::<i128>() {
                    Ok(whole) => self.put(TableElement::Whole(whole), out),
                    Err(_) => self.put(TableElement::Float(text.parse().ok()?), out),
                }
            }
            (_, TableElement::Float(float)) if float.is_nan() => Some(KeyState::Missing),
            (float, TableElement::Float(value)) if float.is_float() => {
                state(put_float(float, value, out))
            }
            (float, TableElement::Whole(whole)) if float.is_float() => {
                let exact = whole.unsigned_abs() <= 1 << 53;
                state(exact && put_float(float, float_of(whole), out))
            }
            (_, TableElement::Float(value)) => {
                let whole = whole_of(value);
                state(whole.is_some_and(|whole| put_whole(number, whole, out)))
            }
            (_, TableElement::Whole(whole)) => state(put_whole(number, whole, out)),
            (_, TableElement::Missing) => Some(KeyState::Missing),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "at most 53 bits")]
fn float_of(whole: i128) -> f64 {
    whole as f64
}

/// The whole number that a float is equal to; `None` if there is none, and from 2^53 on, where several whole numbers have the same float.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a whole number below the limit"
)]
fn whole_of(value: f64) -> Option<i128> {
    const LIMIT: f64 = 9_007_199_254_740_992.0;
    (value.fract() == 0.0 && value.abs() < LIMIT).then_some(value as i128)
}

/// Writes a whole number in the bytes of the type; `false` if the type cannot represent it.
pub(crate) fn put_whole(number: NumberType, whole: i128, out: &mut [u8]) -> bool {
    macro_rules! put {
        ($type:ty) => {
            match <$type>::try_from(whole) {
                Ok(whole) => {
                    out.copy_from_slice(&whole.to_le_bytes());
                    true
                }
                Err(_) => false,
            }
        };
    }
    match number {
        NumberType::I8 => put!(i8),
        NumberType::I16 => put!(i16),
        NumberType::I32 => put!(i32),
        NumberType::I64 => put!(i64),
        NumberType::U8 => put!(u8),
        NumberType::U16 => put!(u16),
        NumberType::U32 => put!(u32),
        NumberType::U64 => put!(u64),
        NumberType::Bool | NumberType::F16 | NumberType::F32 | NumberType::F64 => false,
    }
}

/// Writes a float, rounded to the type; -0.0 as 0.0. Returns `false` for NaN, numbers beyond the type, and other types than floats.
fn put_float(number: NumberType, value: f64, out: &mut [u8]) -> bool {
    let one = Values::from(vec![value]);
    match one.bytes_as(number) {
        Some(bytes) if one.first_beyond(number).is_none() => out.copy_from_slice(&bytes),
        _ => return false,
    }
    normalize(number, out)
}

/// Converts stored numbers to a form in which equal numbers have equal bytes; `false` if one is NaN.
pub(crate) fn normalize(number: NumberType, bytes: &mut [u8]) -> bool {
    macro_rules! float {
        ($type:ty, $bits:ty, $infinite:expr) => {{
            let (all, _) = bytes.as_chunks_mut::<{ size_of::<$type>() }>();
            all.iter_mut().all(|one| {
                let size = <$bits>::from_le_bytes(*one) & (<$bits>::MAX >> 1);
                if size == 0 {
                    *one = [0; size_of::<$type>()];
                }
                size <= $infinite
            })
        }};
    }
    match number {
        NumberType::F16 => float!(u16, u16, 0x7c00),
        NumberType::F32 => float!(f32, u32, 0x7f80_0000),
        NumberType::F64 => float!(f64, u64, 0x7ff0_0000_0000_0000),
        _ => true,
    }
}

/// A part of a key: columns of the table, and the encoding of their values in the store.
#[derive(Debug)]
pub(crate) struct KeyColumn {
    pub(crate) name: String,
    /// Columns of numbers or lists; together they have all numbers of this part.
    pub(crate) columns: Vec<ArrayRef>,
    pub(crate) coding: Coding,
}

impl KeyColumn {
    /// Numbers per row.
    fn numbers(&self) -> Result<usize, WriteError> {
        let mut all = 0;
        for column in &self.columns {
            all += elements(column)?.1;
        }
        Ok(all)
    }

    /// Bytes per row.
    pub(crate) fn width(&self) -> Result<usize, WriteError> {
        Ok(self.numbers()? * self.coding.number().size())
    }

    /// The values of a column in their stored form; `None` if they must be converted one by one.
    fn stored(&self, column: &ArrayRef) -> Option<Vec<u8>> {
        let Coding::Number(number) = self.coding else {
            return None;
        };
        let (items, _) = elements(column).ok()?;
        let numbers = column_type(column.data_type())?.0.number().is_some();
        let whole = numbers && column.null_count() == 0 && items.null_count() == 0;
        if !whole {
            return None;
        }
        let values = values(&self.name, column).ok()?;
        let values = values.exactly(number)?;
        values.bytes_as(number).map(std::borrow::Cow::into_owned)
    }

    fn show(&self, row: usize) -> String {
        show(&self.name, &self.columns, row)
    }
}

/// A row of some columns, for messages.
pub(crate) fn show(name: &str, columns: &[ArrayRef], row: usize) -> String {
    let mut shown = Vec::new();
    for column in columns.iter().filter(|column| row < column.len()) {
        // Columns that cannot be shown were refused before.
        let _done = each(name, &column.slice(row, 1), |_, element| {
            shown.push(element.show());
            Ok(())
        });
    }
    format!("{name} {}", shown.join(","))
}

/// The keys of a table, in stored form.
#[derive(Debug)]
pub(crate) struct TableKeys {
    parts: Vec<KeyColumn>,
    width: usize,
    bytes: Vec<u8>,
    states: Vec<KeyState>,
    /// Rows by their key.
    found: HashTable<u32>,
    /// Random, so that a table with colliding keys cannot be constructed.
    hasher: RandomState,
}

/// Copies the stored values of one part of a key, one per row, into the keys of all rows. A key has `width` bytes; values are
/// copied to the range `part` of each. Calls `missing` for each row whose value is NaN.
///
/// # Errors
/// Bug: a range outside of the key.
pub(crate) fn copy_into_keys(
    keys: &mut [u8],
    (width, part): (usize, Range<usize>),
    number: NumberType,
    values: &[u8],
    mut missing: impl FnMut(usize),
) -> Result<(), WriteError> {
    let keys = keys.chunks_exact_mut(width.max(1));
    let values = values.chunks_exact(part.len().max(1));
    for (row, (key, value)) in keys.zip(values).enumerate() {
        let part = key.get_mut(part.clone()).or_bug("a part of a key")?;
        part.copy_from_slice(value);
        if !normalize(number, part) {
            missing(row);
        }
    }
    Ok(())
}

impl TableKeys {
    /// Converts the keys of a table to stored form.
    ///
    /// # Cost
    /// The bytes of a key and one byte for each row; 6 to 12 more when they are [indexed](Self::index).
    ///
    /// # Errors
    /// Misuse: values that cannot be compared with the values of the store.
    pub(crate) fn new(parts: Vec<KeyColumn>, rows: usize) -> Result<Self, WriteError> {
        let mut width = 0;
        for part in &parts {
            width += part.width()?;
        }
        let mut bytes = vec![0; rows * width];
        let mut states = vec![KeyState::Given; rows];
        let mut offset = 0;
        for part in &parts {
            let size = part.coding.number().size();
            for column in &part.columns {
                let (_, numbers) = elements(column)?;
                if let Some(stored) = part.stored(column) {
                    let place = (width, offset..offset + size * numbers);
                    let kind = part.coding.number();
                    let mut missing = Vec::new();
                    copy_into_keys(&mut bytes, place, kind, &stored, |row| missing.push(row))?;
                    for row in missing {
                        *states
                            .get_mut(row)
                            .or_bug("a row past the end of its table")? = KeyState::Missing;
                    }
                    offset += size * numbers;
                    continue;
                }
                each(&part.name, column, |at, element| {
                    let row = at.checked_div(numbers).or_bug("a list of no elements")?;
                    let start = row * width + offset + (at % numbers) * size;
                    let out = bytes.get_mut(start..start + size).or_bug("a key's bytes")?;
                    let state = states
                        .get_mut(row)
                        .or_bug("a row after the end of its table")?;
                    let Some(found) = part.coding.put(element, out) else {
                        let what = format!("column {}, row {row}", part.name);
                        let expected = match &part.coding {
                            Coding::Number(number) => number.to_string(),
                            Coding::Words(..) => "text".to_owned(),
                        };
                        let found = format!("{:?}", element.show());
                        return Err(WriteError::input(what, found, expected));
                    };
                    if *state == KeyState::Given || found == KeyState::Missing {
                        *state = found;
                    }
                    Ok(())
                })?;
                offset += size * numbers;
            }
        }
        Ok(Self {
            parts,
            width,
            bytes,
            states,
            found: HashTable::new(),
            hasher: RandomState::default(),
        })
    }

    /// The key of a row, and its state.
    pub(crate) fn row(&self, row: usize) -> Option<(KeyState, &[u8])> {
        let key = self.bytes.get(row * self.width..(row + 1) * self.width)?;
        Some((*self.states.get(row)?, key))
    }

    /// Rows with this state.
    pub(crate) fn rows(&self, state: KeyState) -> impl Iterator<Item = usize> {
        let all = self.states.iter().enumerate();
        all.filter(move |(_, one)| **one == state)
            .map(|(row, _)| row)
    }

    /// Indexes the rows by key; returns the pairs of rows with the same key for which `same` returns false.
    pub(crate) fn index(
        &mut self,
        same: impl Fn(usize, usize) -> bool,
    ) -> Result<Vec<(usize, usize)>, WriteError> {
        let rows = narrow("rows of a table", self.states.len())?;
        let mut all = HashTable::with_capacity(index(rows));
        let mut twice = Vec::new();
        for row in 0..rows {
            let Some((KeyState::Given, key)) = self.row(index(row)) else {
                continue;
            };
            let same_key = |other: &u32| self.key(*other) == Some(key);
            let hash = |other: &u32| self.hasher.hash_one(self.key(*other));
            match all.entry(self.hasher.hash_one(Some(key)), same_key, hash) {
                Entry::Vacant(place) => {
                    place.insert(row);
                }
                Entry::Occupied(first) => {
                    let (first, row) = (index(*first.get()), index(row));
                    if !same(first, row) {
                        twice.push((first, row));
                    }
                }
            }
        }
        self.found = all;
        Ok(twice)
    }

    fn key(&self, row: u32) -> Option<&[u8]> {
        let start = index(row) * self.width;
        self.bytes.get(start..start + self.width)
    }

    /// The row with a key.
    pub(crate) fn find(&self, key: &[u8]) -> Option<usize> {
        let same = |other: &u32| self.key(*other) == Some(key);
        let row = self.found.find(self.hasher.hash_one(Some(key)), same)?;
        Some(index(*row))
    }

    /// The key of a row, for messages.
    pub(crate) fn show(&self, row: usize) -> String {
        let parts = self.parts.iter().map(|part| part.show(row));
        parts.collect::<Vec<_>>().join(", ")
    }

    /// The names of its parts.
    pub(crate) fn names(&self) -> String {
        let names = self.parts.iter().map(|part| part.name.as_str());
        names.collect::<Vec<_>>().join(", ")
    }
}

/// The first few items, and how many more there are.
pub(crate) fn listed(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(LISTED);
    let mut shown: Vec<String> = all.take(LISTED).collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join("; ")
}

/// The values of the rows of a table, to be returned in another order.
#[derive(Debug)]
pub(crate) enum TableValues<'v> {
    Numbers {
        number: NumberType,
        bytes: std::borrow::Cow<'v, [u8]>,
        /// Bytes of a row.
        width: usize,
    },
    Texts(Vec<Option<&'v str>>),
}

impl<'v> TableValues<'v> {
    /// Values with `channels` per row.
    pub(crate) fn new(values: &'v Values, channels: usize) -> Result<Self, WriteError> {
        if let Values::Text(texts) = values {
            return Ok(Self::Texts(texts.iter().collect()));
        }
        let number = values.number_type().or_bug("numbers without a type")?;
        let bytes = values.bytes_as(number).or_bug("numbers without bytes")?;
        Ok(Self::Numbers {
            number,
            bytes,
            width: number.size() * channels,
        })
    }

    fn bytes(&self, row: usize) -> &[u8] {
        match self {
            Self::Numbers { bytes, width, .. } => {
                let range: Range<usize> = row * width..(row + 1) * width;
                bytes.get(range).unwrap_or(&[])
            }
            Self::Texts(_) => &[],
        }
    }

    /// Whether two rows have the same value.
    pub(crate) fn same(&self, a: usize, b: usize) -> bool {
        match self {
            Self::Numbers { .. } => self.bytes(a) == self.bytes(b),
            Self::Texts(texts) => texts.get(a) == texts.get(b),
        }
    }

    /// The values of some rows; `None` means the first row of `other`.
    ///
    /// # Errors
    /// Bug: a row does not exist.
    pub(crate) fn take(
        &self,
        rows: impl Iterator<Item = Option<usize>>,
        other: Option<&TableValues<'_>>,
    ) -> Result<Values, WriteError> {
        match self {
            Self::Numbers {
                number,
                bytes,
                width,
            } => {
                let mut all = Vec::with_capacity(rows.size_hint().0 * width);
                for row in rows {
                    let one = match (row, other) {
                        (Some(row), _) => bytes.get(row * width..(row + 1) * width),
                        (None, Some(other)) => Some(other.bytes(0)),
                        (None, None) => None,
                    };
                    let one = one.filter(|one| one.len() == *width);
                    all.extend_from_slice(one.or_bug("a row without a value")?);
                }
                Ok(Values::of_bytes(*number, &all))
            }
            Self::Texts(texts) => {
                let mut all = Vec::with_capacity(rows.size_hint().0);
                for row in rows {
                    let one = match (row, other) {
                        (Some(row), _) => texts.get(row),
                        (None, Some(TableValues::Texts(other))) => other.first(),
                        (None, _) => None,
                    };
                    all.push(*one.or_bug("a row without a value")?);
                }
                Ok(Values::optional_texts(all))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, Int64Array, StringArray};

    use super::*;

    fn keys(column: ArrayRef, coding: Coding) -> TableKeys {
        let rows = column.len();
        let part = KeyColumn {
            name: "k".to_owned(),
            columns: vec![column],
            coding,
        };
        TableKeys::new(vec![part], rows).unwrap()
    }

    #[test]
    fn keys_are_compared_as_they_are_stored() {
        let floats = Float64Array::from(vec![Some(0.1), Some(-0.0), None, Some(f64::NAN)]);
        let mut found = keys(Arc::new(floats), Coding::Number(NumberType::F32));
        assert_eq!(found.index(|_, _| false).unwrap(), []);
        assert_eq!(found.find(&0.1_f32.to_le_bytes()), Some(0));
        assert_eq!(found.find(&0.0_f32.to_le_bytes()), Some(1));
        assert_eq!(found.find(&0.2_f32.to_le_bytes()), None);
        assert_eq!(found.rows(KeyState::Missing).collect::<Vec<_>>(), [2, 3]);
        let floats = Float64Array::from(vec![Some(1e300), Some(f64::INFINITY), None]);
        let mut found = keys(Arc::new(floats), Coding::Number(NumberType::F32));
        assert_eq!(found.index(|_, _| false).unwrap(), []);
        assert_eq!(found.find(&f32::INFINITY.to_le_bytes()), Some(1));
        assert_eq!(found.rows(KeyState::Unknown).collect::<Vec<_>>(), [0]);
        // A column that cannot be converted as a whole: an integral float is still compared as that integer.
        let floats = Float64Array::from(vec![5.0, 5.5, 300.0, 5.0]);
        let mut found = keys(Arc::new(floats), Coding::Number(NumberType::U8));
        assert_eq!(found.index(|_, _| false).unwrap(), [(0, 3)]);
        assert_eq!(found.find(&[5]), Some(0));
        let unknown: Vec<usize> = found.rows(KeyState::Unknown).collect();
        assert_eq!(unknown, [1, 2]);
        assert_eq!(found.show(2), "k 300");
    }

    #[test]
    fn texts_are_compared_by_their_codes() {
        let words: HashMap<String, i64> = [("a".to_owned(), 0), ("7".to_owned(), 1)].into();
        let texts = StringArray::from(vec![Some("7"), Some("b"), None]);
        let mut found = keys(
            Arc::new(texts),
            Coding::Words(words.clone(), NumberType::U8),
        );
        found.index(|_, _| false).unwrap();
        assert_eq!(found.find(&[1]), Some(0));
        assert_eq!(found.find(&[0]), None);
        assert_eq!(found.rows(KeyState::Unknown).count(), 1);
        let numbers = Int64Array::from(vec![7]);
        let mut found = keys(Arc::new(numbers), Coding::Words(words, NumberType::U8));
        found.index(|_, _| false).unwrap();
        assert_eq!(found.find(&[1]), Some(0));
        let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
        let part = KeyColumn {
            name: "k".to_owned(),
            columns: vec![text],
            coding: Coding::Number(NumberType::I32),
        };
        assert!(TableKeys::new(vec![part], 1).is_err());
    }

    #[test]
    fn values_are_handed_out_in_another_order() {
        let values = Values::from(vec![1_i16, 2, 3, 4]);
        let given = TableValues::new(&values, 2).unwrap();
        let fill = Values::from(vec![9_i16, 9]);
        let fill = TableValues::new(&fill, 2).unwrap();
        let taken = given.take([Some(1), None, Some(0)].into_iter(), Some(&fill));
        assert_eq!(taken.unwrap(), Values::from(vec![3_i16, 4, 9, 9, 1, 2]));
        assert!(given.take([None].into_iter(), None).is_err());
        assert!(!given.same(0, 1) && given.same(1, 1));
    }
}
