//! Tables: attributes of objects and groups, one typed array each, with one row per object or group (0.9 §11.4).
//!
//! Rows may lack a value. They are stored as the fill of the array, and the document declares that the fill means absence; a value equal to the fill
//! cannot be distinguished from it (trap T24). For writers, edits, copies and pyramids, [`EncodedRows::absence`] chooses the fill and whether it
//! means absence; [`Absence`] is the result. If every candidate occurs as a value, writers and edits refuse integers, and copies report the loss.

use std::collections::{BTreeSet, HashSet};

use zvf_format::dtype::DTypeKind;
use zvf_format::int::{index, wide};
use zvf_meta::moments::{MISSING, Moments};
use zvf_meta::{ArrayAttributes, ArrayDoc};
use zvf_store::TypedValues;

use crate::WriteError;
use crate::error::{OrBug, internal, narrow};
use crate::records::record::row_of;
use crate::spec::store::{AttributeSpec, AttributeType};
use crate::spec::target_version::IdsIn;
use crate::tables::typed::{ElementType, ROWS, Typed};
use crate::target::Below;
use crate::values::column::Values;
use crate::values::number::{Fill, NumberType};
use zvf_codec::Compression;

/// Most bytes of one attribute of objects or groups, which is encoded in memory as a whole.
const MOST_BYTES: u64 = 1 << 34;

/// Columns of texts with more bytes than this must not be mostly padding: see [`PADDING`].
const MOST_PADDED: u64 = 512 << 20;

/// The largest ratio of the bytes of such a column to the bytes of its texts.
const PADDING: u64 = 32;

/// The owners of a table's attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableOf {
    /// Objects: `object_attributes`.
    Objects,
    /// Groups: `group_attributes`.
    Groups,
}

impl TableOf {
    /// Returns the path of a table in its level.
    pub fn path(self, name: &str) -> String {
        let folder = match self {
            Self::Objects => "object_attributes",
            Self::Groups => "group_attributes",
        };
        format!("{folder}/{name}")
    }
}

/// How rows without a value are stored: the result of [`EncodedRows::absence`].
#[derive(Debug, Clone, PartialEq)]
pub enum Absence {
    /// The fill means absence: no row with a value is equal to it.
    Distinct(Fill),
    /// Rows lack a value, and every candidate occurs as a value: stored as the first candidate, they cannot be distinguished from the value of `row`.
    Ambiguous {
        /// The first candidate.
        fill: Fill,
        /// The first row with an equal value.
        row: usize,
    },
    /// Every row has a value, and every tested candidate occurs as a value: the fill is a zero without meaning.
    Unused(Fill),
    /// Rows lack a value, and there is no candidate: no element of the type can mean absence.
    Impossible,
}

/// Encoded rows of a table, before the element that means absence is chosen.
#[derive(Debug)]
pub struct EncodedRows {
    element: ElementType,
    /// The shape of a row; empty if a row is one element.
    inner: Vec<u64>,
    /// Bytes of a row.
    width: usize,
    bytes: Vec<u8>,
    rows: usize,
    /// Rows without a value, ascending.
    missing: Vec<usize>,
    /// Whether the values are dates, times or durations. Their smallest number means "missing".
    moments: bool,
}

impl EncodedRows {
    /// A table without rows; each row that is pushed must have `width` bytes.
    pub fn new(element: ElementType, inner: Vec<u64>, width: usize) -> Self {
        Self {
            element,
            inner,
            width,
            bytes: Vec::new(),
            rows: 0,
            missing: Vec::new(),
            moments: false,
        }
    }

    /// Sets the unit of the attribute. If it makes the numbers dates, times or durations, rows with only the number for "missing" count as rows
    /// without a value.
    #[must_use]
    pub fn of_unit(mut self, unit: Option<&str>) -> Self {
        let whole = matches!(self.element, ElementType::Number(NumberType::I64));
        self.moments = whole && unit.and_then(Moments::of_unit).is_some();
        self
    }

    /// Appends a row, with or without a value.
    ///
    /// # Errors
    /// Bug: a row of another width.
    pub fn push(&mut self, row: Option<&[u8]>) -> Result<(), WriteError> {
        let missing = |row: &&[u8]| {
            let (moments, rest) = row.as_chunks();
            self.moments
                && rest.is_empty()
                && moments.iter().all(|one| *one == MISSING.to_le_bytes())
        };
        match row.filter(|row| !missing(row)) {
            Some(row) => {
                internal!(row.len() == self.width, "a row of {} bytes", row.len());
                self.bytes.extend_from_slice(row);
            }
            None => {
                self.missing.push(self.rows);
                self.bytes.resize(self.bytes.len() + self.width, 0);
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// The type of the elements.
    pub fn element(&self) -> &ElementType {
        &self.element
    }

    /// Number of rows without a value.
    pub fn missing(&self) -> usize {
        self.missing.len()
    }

    /// The rows whose channels are all equal, with that value. A row means absence if all its channels do, so only these rows could be confused with
    /// an absent one.
    fn uniform(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let size = self.element.size().max(1);
        let mut missing = self.missing.iter().copied().peekable();
        let rows = self.bytes.chunks_exact(self.width.max(1)).enumerate();
        let present = rows.filter(move |(row, _)| missing.next_if_eq(row).is_none());
        present.filter_map(move |(row, value)| {
            let (first, rest) = value.split_at_checked(size)?;
            let same = rest.chunks(size).all(|one| one == first);
            same.then_some((row, first))
        })
    }

    /// The first row with a value in which every channel is equal to `fill`.
    fn row_like(&self, fill: &Fill) -> Option<usize> {
        let mut rows = self.uniform();
        rows.find(|(_, value)| *value == fill.0).map(|(row, _)| row)
    }

    /// Chooses how rows without a value are stored. The first of `candidates` means absence if no row with a value is equal to it. Another one is
    /// used only if rows lack a value, or if `always`, for readers that only look at the fill.
    ///
    /// # Cost
    /// One pass over the rows; a second one with a set of the distinct values if the first candidate occurs as a value.
    pub fn absence(&self, candidates: &[Fill], always: bool) -> Absence {
        let Some((usual, others)) = candidates.split_first() else {
            return match self.missing.is_empty() {
                true => Absence::Unused(self.element.zero()),
                false => Absence::Impossible,
            };
        };
        let Some(row) = self.row_like(usual) else {
            return Absence::Distinct(usual.clone());
        };
        if always || !self.missing.is_empty() {
            let taken: HashSet<&[u8]> = self.uniform().map(|(_, value)| value).collect();
            if let Some(free) = others.iter().find(|fill| !taken.contains(&*fill.0)) {
                return Absence::Distinct(free.clone());
            }
        }
        match self.missing.is_empty() {
            true => Absence::Unused(self.element.zero()),
            false => Absence::Ambiguous {
                fill: usual.clone(),
                row,
            },
        }
    }

    /// Returns the table as a typed array: rows without a value are stored as `fill`, which means absence if `absent`.
    pub fn finish(mut self, fill: Fill, absent: bool, chunk_rows: Option<u64>) -> Typed {
        for row in &self.missing {
            let bytes = self.bytes.iter_mut().skip(row * self.width);
            bytes
                .zip(fill.0.iter().cycle())
                .take(self.width)
                .for_each(|(byte, fill)| *byte = *fill);
        }
        let shape = std::iter::once(wide(self.rows)).chain(self.inner);
        Typed {
            element: self.element,
            shape: shape.collect(),
            chunk_rows,
            fill,
            absent,
            bytes: self.bytes,
        }
    }
}

/// A column of a table in memory.
#[derive(Debug)]
pub enum HeldColumn {
    /// Numbers, little-endian, all channels of a row together.
    Numbers(NumberType, Vec<u8>),
    /// Texts; `None` is missing.
    Texts(Vec<Option<String>>),
}

impl HeldColumn {
    /// A column without rows.
    pub fn new(values: AttributeType) -> Self {
        match values {
            AttributeType::Number(number) => Self::Numbers(number, Vec::new()),
            AttributeType::Category | AttributeType::Text => Self::Texts(Vec::new()),
        }
    }

    /// The column of a caller's values.
    pub(crate) fn of(values: &Values) -> Result<Self, WriteError> {
        let number = values.number_type();
        let mut held = Self::new(number.map_or(AttributeType::Text, AttributeType::Number));
        internal!(held.push(values), "a column of another type");
        Ok(held)
    }

    /// A column of a stored table; `None` for types that are not written.
    pub fn stored(values: &TypedValues) -> Option<Self> {
        let DTypeKind::Utf32 { chars } = values.dtype.kind else {
            let number = NumberType::from_kind(values.dtype.kind)?;
            return Some(Self::Numbers(number, values.bytes.to_vec()));
        };
        let text = |bytes: &[u8]| {
            let points = bytes.as_chunks::<4>().0.iter();
            let points = points.map(|point| char::from_u32(u32::from_le_bytes(*point)));
            let text = points.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
            Some(text.collect::<String>().trim_end_matches('\0').to_owned())
        };
        let size = (index(chars) * 4).max(1);
        Some(Self::Texts(
            values.bytes.chunks_exact(size).map(text).collect(),
        ))
    }

    /// Appends values; `false`: they are of another type, and nothing was appended.
    pub fn push(&mut self, values: &Values) -> bool {
        match (self, values) {
            (Self::Numbers(number, all), values) => match values.bytes_as(*number) {
                Some(bytes) => all.extend_from_slice(&bytes),
                None => return false,
            },
            (Self::Texts(all), Values::Text(texts)) => {
                all.extend(texts.iter().map(|text| text.map(str::to_owned)));
            }
            _ => return false,
        }
        true
    }

    /// Appends a column of the same type.
    pub(crate) fn append(&mut self, more: Self) -> Result<(), WriteError> {
        match (self, more) {
            (Self::Numbers(_, all), Self::Numbers(_, mut more)) => all.append(&mut more),
            (Self::Texts(all), Self::Texts(mut more)) => all.append(&mut more),
            _ => return Err(WriteError::bug("a column of another type")),
        }
        Ok(())
    }

    /// Number of values: rows times channels.
    pub fn count(&self) -> usize {
        match self {
            Self::Numbers(number, bytes) => bytes.len() / number.size(),
            Self::Texts(texts) => texts.len(),
        }
    }

    /// The column as [`Values`].
    pub fn values(&self) -> Values {
        match self {
            Self::Numbers(number, bytes) => Values::of_bytes(*number, bytes),
            Self::Texts(texts) => Values::optional_texts(texts.iter().map(Option::as_deref)),
        }
    }

    /// The texts of some rows; empty for numbers.
    fn texts(
        &self,
        channels: usize,
        rows: impl Iterator<Item = Option<usize>>,
    ) -> impl Iterator<Item = Option<&str>> {
        let all = match self {
            Self::Numbers(..) => &[],
            Self::Texts(texts) => &**texts,
        };
        let rows = rows.flatten();
        let texts = rows.filter_map(move |row| row_of(all, row, channels));
        texts.flatten().map(Option::as_deref)
    }
}

/// Makes the array of an attribute of objects. For each object, `rows` has the row of `held` with its value, if it has one, and `ids` has its id.
///
/// The usual fill of the type means absence, unless some value is equal to it. In that case:
///
/// - If every object has a value, the document states that the fill has no meaning.
/// - If an object has no value, another fill means absence.
///
/// In the version whose ids are row numbers, the array has one chunk, and the fill always means absence (0.8 §10.2). There, if a value is equal to the
/// usual fill:
///
/// - If every object has a value, another fill is used.
/// - If an object has no value, a number that is equal to the usual fill is refused, except for NaN, which means "no value" anyway.
///
/// No bool means absence, so every object must have a value of a bool attribute.
pub fn column(
    what: &str,
    one: &AttributeSpec,
    held: &HeldColumn,
    (rows, ids): (&[Option<usize>], &[i64]),
    form: IdsIn,
) -> Result<Typed, WriteError> {
    let (channels, unit) = (one.channels, one.unit.as_deref());
    let of_row = |row: usize| match ids.get(row) {
        Some(id) => format!("object {id}"),
        None => format!("row {row}"),
    };
    let table = table_rows(what, (channels, unit), held, rows.iter().copied(), &of_row)?;
    let element = table.element().clone();
    let any = form == IdsIn::Rows;
    let is_float = matches!(&element, ElementType::Number(number) if number.is_float());
    let several = match (&element, table.missing()) {
        (ElementType::Text(_), _) => true,
        (_, 0) => any,
        (element, _) => !any && *element != ElementType::Number(NumberType::Bool),
    };
    let candidates: Vec<Fill> = match several {
        true => element.fills(),
        false => element.absent().into_iter().collect(),
    };
    let (fill, absent) = match table.absence(&candidates, any) {
        Absence::Distinct(fill) => (fill, true),
        Absence::Ambiguous { fill, row } => {
            if let Some(id) = ids.get(row).filter(|_| !is_float) {
                let found = format!("{} for object {id}", fill.1);
                let expected = "another value: this one means that the value is missing";
                return Err(WriteError::input(what, found, expected));
            }
            (fill, true)
        }
        Absence::Unused(zero) => (zero, false),
        Absence::Impossible => {
            let expected = "a value for every object: bool has no value that means missing (--fill gives them one)";
            return Err(WriteError::input(what, "objects without a value", expected));
        }
    };
    let chunk_rows = (form == IdsIn::Table).then_some(ROWS);
    Ok(table.finish(fill, absent, chunk_rows))
}

/// Refuses a column of texts that is mostly padding, because one text is much longer than all others. `lengths` has the numbers
/// of characters of the texts of each row, `size` is the number of bytes of the column.
fn check_padding(
    what: &str,
    size: u64,
    lengths: impl Iterator<Item = Vec<u64>>,
    of_row: &dyn Fn(usize) -> String,
) -> Result<(), WriteError> {
    if size <= MOST_PADDED {
        return Ok(());
    }
    let (mut all, mut rows) = (0_u64, 0_u64);
    // The longest text and its row, and the longest one of other rows.
    let (mut longest, mut place, mut second) = (0, 0, 0);
    for (row, texts) in lengths.enumerate() {
        rows += 1;
        all = all.saturating_add(texts.iter().sum());
        let most = texts.into_iter().max().unwrap_or(0);
        if most > longest {
            (second, longest, place) = (longest, most, row);
        } else {
            second = second.max(most);
        }
    }
    let texts = all.max(rows).saturating_mul(4);
    if size <= MOST_BYTES && size <= texts.saturating_mul(PADDING) {
        return Ok(());
    }
    let found = format!(
        "a text of {longest} characters of {}, and texts of at most {second} in all other rows",
        of_row(place)
    );
    let expected = format!(
        "texts of similar length, since each of {rows} rows is stored as wide as the longest one, {size} bytes in all: shorten that text, or leave out the attribute"
    );
    Err(WriteError::input(what, found, expected))
}

/// Encodes the rows of a column; `None` is an object without a value. `of_row` names the owner of a row in errors.
fn table_rows(
    what: &str,
    (channels, unit): (usize, Option<&str>),
    held: &HeldColumn,
    rows: impl ExactSizeIterator<Item = Option<usize>> + Clone,
    of_row: &dyn Fn(usize) -> String,
) -> Result<EncodedRows, WriteError> {
    let texts = || held.texts(channels, rows.clone()).flatten();
    let element = match held {
        HeldColumn::Numbers(number, _) => ElementType::Number(*number),
        HeldColumn::Texts(_) => {
            let lengths = texts().map(|text| text.chars().count());
            ElementType::Text(lengths.fold(1, usize::max))
        }
    };
    narrow("bytes of a text", element.size())?;
    if let Some(text) = texts().find(|text| text.ends_with('\0')) {
        let expected = "texts that do not end with NUL";
        return Err(WriteError::input(what, format!("{text:?}"), expected));
    }
    // Every text is stored as wide as the longest one, so the column may need far more memory than the texts that were pushed.
    let width = element.size().checked_mul(channels);
    let size = width.and_then(|width| wide(width).checked_mul(wide(rows.len())));
    if let HeldColumn::Texts(all) = held {
        // A size beyond 64 bits is also too large.
        let size = size.unwrap_or(u64::MAX);
        let lengths = rows.clone().map(|row| {
            let row = row.and_then(|row| row_of(all, row, channels));
            let texts = row.into_iter().flatten().flatten();
            texts.map(|text| wide(text.chars().count())).collect()
        });
        check_padding(what, size, lengths, of_row)?;
    }
    let (Some(width), true) = (width, size.is_some_and(|size| size <= MOST_BYTES)) else {
        let found = size.unwrap_or(u64::MAX);
        return Err(WriteError::limit("bytes of a column", found, MOST_BYTES));
    };
    let inner = (channels != 1).then(|| wide(channels));
    let mut table =
        EncodedRows::new(element.clone(), inner.into_iter().collect(), width).of_unit(unit);
    let mut stored = Vec::new();
    for row in rows {
        let Some(row) = row else {
            table.push(None)?;
            continue;
        };
        let value = match held {
            HeldColumn::Numbers(_, all) => row_of(all, row, width).map(Some),
            HeldColumn::Texts(all) => row_of(all, row, channels).map(|texts| {
                // If a row lacks only some of its channels, the missing ones are stored as empty texts.
                if texts.iter().all(Option::is_none) {
                    return None;
                }
                stored.clear();
                let texts = texts.iter().map(|text| text.as_deref().unwrap_or_default());
                texts.for_each(|text| element.text(text, &mut stored));
                Some(&*stored)
            }),
        };
        table.push(value.or_bug("a row after the end of its column")?)?;
    }
    Ok(table)
}

/// A column in one chunk, as in [`plain_column`]; the rows in `absent`, and rows of missing texts, have no value.
pub(crate) fn gapped_column(
    what: &str,
    values: &Values,
    (rows, absent): (usize, &BTreeSet<usize>),
    form: IdsIn,
) -> Result<Typed, WriteError> {
    let channels = channels_of(values, rows);
    let one = match values.number_type() {
        Some(number) => AttributeSpec::number(what, number),
        None => AttributeSpec::text(what),
    };
    let one = one.with_channels(channels);
    let kept = (0..rows).map(|row| (!absent.contains(&row)).then_some(row));
    let (kept, numbers): (Vec<_>, Vec<i64>) = kept.zip(0..).unzip();
    let typed = column(
        what,
        &one,
        &HeldColumn::of(values)?,
        (&kept, &numbers),
        form,
    )?;
    Ok(Typed {
        chunk_rows: None,
        ..typed
    })
}

/// The number of values in each row of a column.
fn channels_of(values: &Values, rows: usize) -> usize {
    let channels = values.len().checked_div(rows);
    channels.map_or(1, |channels| channels.max(1))
}

/// A column in one chunk, with the same number of values in every row, and none missing.
pub(crate) fn plain_column(what: &str, values: &Values, rows: usize) -> Result<Typed, WriteError> {
    let channels = channels_of(values, rows);
    let table = table_rows(
        what,
        (channels, None),
        &HeldColumn::of(values)?,
        (0..rows).map(Some),
        &|row| format!("row {row}"),
    )?;
    let fill = table.element().zero();
    Ok(table.finish(fill, false, None))
}

/// Makes the attributes of a table from its specification: unit, description and names of channels.
pub fn described(spec: &AttributeSpec) -> ArrayAttributes {
    ArrayAttributes {
        unit: spec.unit.clone(),
        description: spec.description.clone(),
        channel_names: spec.channel_names.clone(),
        ..ArrayAttributes::default()
    }
}

impl Typed {
    /// The attributes of the document of a table: `given` describes its values.
    pub fn attributes(&self, of: TableOf, name: &str, given: ArrayAttributes) -> ArrayAttributes {
        let word = match of {
            TableOf::Objects => "object_attribute",
            TableOf::Groups => "groupings_attribute",
        };
        ArrayAttributes {
            zv_array: Some(word.to_owned()),
            name: Some(name.to_owned()),
            dtype: Some(self.element.dtype()),
            shape: Some(self.shape.clone()),
            fill_sentinel_meaning: self.absent.then(|| "absent".to_owned()),
            ..given
        }
    }

    /// Writes the chunks of a table; returns its path in the level and its document.
    pub fn write(
        &self,
        of: TableOf,
        name: &str,
        given: ArrayAttributes,
        compression: &Compression,
        target: &Below<'_>,
    ) -> Result<(String, ArrayDoc), WriteError> {
        let path = of.path(name);
        let attributes = self.attributes(of, name, given);
        let (doc, objects) = self.objects(&path, compression, attributes)?;
        target.put(objects)?;
        Ok((path, doc))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Absence, EncodedRows};
    use crate::tables::typed::ElementType;
    use crate::values::number::{Fill, NumberType};

    fn rows(channels: usize, rows: &[Option<&[u8]>]) -> EncodedRows {
        let element = ElementType::Number(NumberType::U8);
        let mut table = EncodedRows::new(element, vec![], channels);
        rows.iter().for_each(|row| table.push(*row).unwrap());
        table
    }

    fn fill(value: u8) -> Fill {
        (vec![value], json!(value))
    }

    #[test]
    fn the_usual_element_means_absence_unless_a_row_has_it() {
        let (is, all) = (
            |value| Absence::Distinct(fill(value)),
            [fill(9), fill(8), fill(7)],
        );
        let full = rows(1, &[Some(&[1]), Some(&[8])]);
        assert_eq!(full.absence(&all, false), is(9));
        assert_eq!(full.absence(&[], false), Absence::Unused(fill(0)));
        let taken = rows(1, &[Some(&[9]), Some(&[8])]);
        assert_eq!(taken.absence(&all, false), Absence::Unused(fill(0)));
        assert_eq!(taken.absence(&all, true), is(7));
        let missing = rows(1, &[Some(&[9]), None, Some(&[8])]);
        assert_eq!(missing.absence(&all, false), is(7));
        let ambiguous = Absence::Ambiguous {
            fill: fill(9),
            row: 0,
        };
        assert_eq!(missing.absence(&all[..2], false), ambiguous);
        assert_eq!(missing.absence(&[], true), Absence::Impossible);
        assert_eq!(missing.finish(fill(7), true, None).bytes, [9, 7, 8]);
    }

    #[test]
    fn a_row_is_mistaken_for_none_only_where_all_its_channels_are() {
        let all = [fill(9), fill(8)];
        let table = rows(2, &[Some(&[9, 8]), None, Some(&[8, 9])]);
        assert_eq!(table.absence(&all, false), Absence::Distinct(fill(9)));
        let table = rows(2, &[Some(&[9, 9]), None]);
        assert_eq!(table.absence(&all, false), Absence::Distinct(fill(8)));
        assert_eq!(table.finish(fill(8), true, None).bytes, [9, 9, 8, 8]);
        let wrong = rows(1, &[]).push(Some(&[1, 2]));
        assert!(matches!(wrong, Err(crate::WriteError::Bug { .. })));
        // Texts without characters have no bytes that could be confused.
        let none: Fill = (Vec::new(), json!(""));
        let mut table = EncodedRows::new(ElementType::Text(0), vec![], 0);
        table.push(Some(&[])).unwrap();
        assert_eq!(
            table.absence(std::slice::from_ref(&none), false),
            Absence::Distinct(none)
        );
    }
}
