//! The parts of a dump, and the cursor that writes them.

use std::fmt::Display;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use zvf_format::DecodeError;
use zvf_format::layout::{self, Layout, Wire};

use crate::output::table::joined;

/// One field of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// First byte, counted from the start of the blob that the section describes; `None` for remarks, which have no bytes.
    pub(crate) at: Option<u64>,
    /// The bytes that are shown.
    pub(crate) bytes: Vec<u8>,
    /// Number of bytes of the field.
    pub(crate) length: u64,
    /// Its name in the format.
    pub(crate) name: String,
    /// Its value.
    pub(crate) value: String,
    /// The meaning of the value.
    pub(crate) meaning: String,
}

/// Fields that belong together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Section {
    /// The title.
    pub(crate) title: String,
    /// The fields in stored order.
    pub(crate) fields: Vec<Field>,
}

/// An error, with its byte in the blob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Fault {
    /// Byte, counted as in the last section.
    pub(crate) at: u64,
    /// Found and expected.
    pub(crate) message: String,
}

/// An annotated dump; serialized, it is the JSON document.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Dump {
    /// The origin of the blob, and its description: names and texts.
    #[serde(rename = "source", serialize_with = "members")]
    pub(crate) head: Vec<(String, String)>,
    /// The kind of blob.
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
    /// Bytes of the stored object.
    pub(crate) length: u64,
    /// Sections in reading order.
    pub(crate) sections: Vec<Section>,
    /// One-line conclusions about the whole blob.
    pub(crate) conclusions: Vec<String>,
    /// The first error.
    #[serde(rename = "error")]
    pub(crate) fault: Option<Fault>,
    /// Rows shown of a table.
    #[serde(skip)]
    pub(crate) rows: usize,
    /// Whether the current item of a table is hidden: only errors are recorded.
    #[serde(skip)]
    hidden: bool,
}

/// Reading stopped at an error, which the dump or the blob's decoder reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stopped;

/// Most bytes of one field that a dump shows.
const SHOWN: usize = 32;

impl Dump {
    /// An empty dump that shows this many rows of a table.
    pub(crate) fn new(rows: usize) -> Self {
        Self {
            rows: rows.max(1),
            ..Self::default()
        }
    }

    /// Adds a line to the description.
    pub(crate) fn say(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.head.push((name.into(), text.into()));
    }

    /// Begins a section.
    pub(crate) fn section(&mut self, title: impl Display) {
        self.sections.push(Section {
            title: title.to_string(),
            fields: Vec::new(),
        });
    }

    /// Adds a field to the current section.
    pub(crate) fn push(&mut self, field: Field) {
        if self.hidden {
            return;
        }
        if self.sections.is_empty() {
            self.section("");
        }
        if let Some(section) = self.sections.last_mut() {
            section.fields.push(field);
        }
    }

    /// Adds a remark without bytes.
    pub(crate) fn remark(
        &mut self,
        name: impl Display,
        value: impl Display,
        meaning: impl Display,
    ) {
        self.push(Field::new(None, &[], name, value, meaning));
    }

    /// Records an error; only the first one is kept.
    #[cold]
    pub(crate) fn fault(&mut self, at: u64, message: impl Into<String>) -> Stopped {
        if self.fault.is_none() {
            self.fault = Some(Fault {
                at,
                message: message.into(),
            });
        }
        Stopped
    }

    /// Adds a conclusion.
    pub(crate) fn conclude(&mut self, text: impl Into<String>) {
        self.conclusions.push(text.into());
    }
}

impl Field {
    fn new(
        at: Option<u64>,
        bytes: &[u8],
        name: impl Display,
        value: impl Display,
        meaning: impl Display,
    ) -> Self {
        Self {
            at,
            bytes: bytes.iter().copied().take(SHOWN).collect(),
            length: bytes.len() as u64,
            name: name.to_string(),
            value: value.to_string(),
            meaning: meaning.to_string(),
        }
    }
}

/// A cursor over the bytes of one blob that records the fields it reads.
#[derive(Debug)]
pub(crate) struct Walk<'d, 'a> {
    /// The dump.
    pub(crate) dump: &'d mut Dump,
    bytes: &'a [u8],
    at: usize,
    /// The start of the last bytes that were taken.
    from: usize,
    /// The error of the blob's decoder.
    error: Option<DecodeError>,
    /// The requested element of a container.
    pub(crate) element: Option<&'a [u8]>,
}

impl<'d, 'a> Walk<'d, 'a> {
    /// A cursor at the first byte.
    pub(crate) fn new(dump: &'d mut Dump, bytes: &'a [u8]) -> Self {
        dump.hidden = false;
        Self {
            dump,
            bytes,
            at: 0,
            from: 0,
            error: None,
            element: None,
        }
    }

    /// Keeps the error of the blob's decoder, which determines whether and where the blob is damaged; otherwise returns its value.
    pub(crate) fn judge<T>(&mut self, verdict: Result<T, DecodeError>) -> Option<T> {
        verdict.map_err(|error| self.error = Some(error)).ok()
    }

    /// Ends the dump with the error of the decoder. Returns the requested element of a container that is not damaged.
    pub(crate) fn finish(self) -> Option<&'a [u8]> {
        if let Some(error) = self.error {
            if self.refused().is_some() {
                self.dump.fault = None;
            }
            self.dump.fault(error.at(), reason(&error));
        }
        self.element.filter(|_| self.dump.fault.is_none())
    }

    /// The byte that the decoder refuses; nothing after its field is taken. `None` for missing or superfluous bytes, which are detected at the end.
    fn refused(&self) -> Option<u64> {
        let at_end = |error: &DecodeError| error.is_truncated() || error.what().ends_with("length");
        let error = self.error.filter(|error| !at_end(error))?;
        Some(error.at())
    }

    /// The position of the cursor.
    pub(crate) fn at(&self) -> u64 {
        self.at as u64
    }

    /// Bytes left.
    pub(crate) fn left(&self) -> u64 {
        self.rest().len() as u64
    }

    /// The remaining bytes.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Records an error at the cursor.
    #[cold]
    pub(crate) fn fault_here(&mut self, message: impl Into<String>) -> Stopped {
        let at = self.at();
        self.dump.fault(at, message)
    }

    /// Records an error in the bytes that were read last.
    #[cold]
    pub(crate) fn fault_last(&mut self, message: impl Into<String>) -> Stopped {
        self.dump.fault(self.from as u64, message)
    }

    /// Fails if the decoder refuses a byte before the cursor.
    fn accepted(&self) -> Result<(), Stopped> {
        match self.refused() {
            Some(byte) if byte < self.at() => Err(Stopped),
            _ => Ok(()),
        }
    }

    /// Takes the next `length` bytes without recording them; records an error if there are fewer.
    pub(crate) fn take(&mut self, length: u64, name: &str) -> Result<&'a [u8], Stopped> {
        self.accepted()?;
        let rest = self.rest();
        let wanted = usize::try_from(length).ok();
        self.from = self.at;
        if let Some((taken, _)) = wanted.and_then(|wanted| rest.split_at_checked(wanted)) {
            self.at += taken.len();
            return Ok(taken);
        }
        self.dump.hidden = false;
        if !rest.is_empty() {
            let field = Field::new(Some(self.at()), rest, name, "", "cut short");
            self.dump.push(field);
        }
        let found = rest.len();
        Err(self.fault_here(format!(
            "{name} cut short: found {found} bytes, expected {length}"
        )))
    }

    /// Records the last bytes that were taken as a field.
    pub(crate) fn note(&mut self, name: impl Display, value: impl Display, meaning: impl Display) {
        let bytes = self.bytes.get(self.from..self.at).unwrap_or_default();
        let at = Some(self.from as u64);
        self.dump.push(Field::new(at, bytes, name, value, meaning));
    }

    /// Takes a table of `count` items, or of all remaining items if there is no count. `item` records the items from `first` on, as many as the dump
    /// shows, and the item `wanted`; the other items are counted, with the description `what`.
    pub(crate) fn table(
        &mut self,
        count: impl Into<Option<u64>>,
        (first, wanted): (u64, Option<u64>),
        what: &str,
        mut item: impl FnMut(&mut Self, u64) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        let (count, shown) = (count.into(), self.dump.rows as u64);
        let (around, mut skipped, mut i) = (self.dump.hidden, 0, 0);
        while count.map_or(self.left() > 0, |count| i < count) {
            self.dump.hidden = around;
            if (i >= first && i - first < shown) || wanted == Some(i) {
                self.more(std::mem::take(&mut skipped), what)?;
            } else {
                self.dump.hidden = true;
                skipped += 1;
            }
            item(self, i)?;
            i += 1;
        }
        self.dump.hidden = around;
        self.more(skipped, what)
    }

    /// Records the number of items that were taken and not shown, unless the decoder refuses one of them.
    fn more(&mut self, count: u64, what: &str) -> Result<(), Stopped> {
        self.accepted()?;
        if count > 0 {
            self.dump.remark("…", format_args!("{count} more"), what);
        }
        Ok(())
    }

    /// Takes `count` rows of `row_bytes`; records some of them, from `first` on, with `row`, and skips the others.
    pub(crate) fn rows(
        &mut self,
        (count, row_bytes): (u64, u64),
        first: u64,
        what: &str,
        mut row: impl FnMut(&mut Self, u64) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        let first = first.min(count);
        let end = first.saturating_add(self.dump.rows as u64).min(count);
        self.skip(first, row_bytes, what)?;
        for i in first..end {
            row(self, i)?;
        }
        self.skip(count - end, row_bytes, what)
    }

    /// Skips rows and records how many they are.
    fn skip(&mut self, rows: u64, row_bytes: u64, what: &str) -> Result<(), Stopped> {
        if rows > 0 && row_bytes > 0 {
            let length = rows.saturating_mul(row_bytes);
            self.take(length, what)?;
            let (at, value) = (Some(self.from as u64), format!("{rows} more"));
            let field = Field::new(at, &[], "…", value, "not shown, see --rows");
            self.dump.push(Field { length, ..field });
        }
        Ok(())
    }

    /// Ends a table of `count` rows: adds `conclusion`, or records an error if bytes remain, which are less than a row.
    pub(crate) fn whole(
        &mut self,
        table: &str,
        row: &str,
        (count, row_bytes): (u64, u64),
        conclusion: impl Into<String>,
    ) -> Result<(), Stopped> {
        let left = self.left();
        if left == 0 {
            self.dump.conclude(conclusion);
            return Ok(());
        }
        let stopped = self.fault_here(format!(
            "{table}: found {left} bytes after {count} {row}s, expected {row}s of {row_bytes} bytes"
        ));
        self.trailing(&format!("less than a whole {row}"))?;
        Err(stopped)
    }

    /// Takes one number or structure without recording it.
    pub(crate) fn value<T: Wire>(&mut self, name: &str) -> Result<&'a T, Stopped> {
        let bytes = self.take(size_of::<T>() as u64, name)?;
        T::ref_from_bytes(bytes).map_err(|_| Stopped)
    }

    /// Takes `count` numbers or structures without recording them.
    pub(crate) fn values<T: Wire>(&mut self, count: u64, name: &str) -> Result<&'a [T], Stopped> {
        let whole = self.rest().len() / size_of::<T>().max(1);
        let values = usize::try_from(count).ok();
        match values.and_then(|count| T::several(self.rest(), count)) {
            Some(values) => {
                self.take(size_of_val(values) as u64, name)?;
                Ok(values)
            }
            None => {
                self.at += whole.saturating_mul(size_of::<T>());
                self.value::<T>(name)?;
                Err(Stopped)
            }
        }
    }

    /// Takes a structure and records its fields. `explain` changes values and meanings.
    pub(crate) fn structure<T: Layout>(
        &mut self,
        explain: impl Fn(&T, &mut Field),
    ) -> Result<&'a T, Stopped> {
        let start = self.at;
        let whole = T::ref_from_prefix(self.rest()).ok();
        for field in T::FIELDS {
            self.at = start.saturating_add(field.at);
            let bytes = self.take(field.width as u64, field.name)?;
            let (at, value) = (Some(self.from as u64), text(field, bytes));
            let mut shown = Field::new(at, bytes, field.name, value, field.rule);
            if let Some((whole, _)) = whole {
                explain(whole, &mut shown);
            }
            self.dump.push(shown);
        }
        whole.map(|(whole, _)| whole).ok_or(Stopped)
    }

    /// Adds a conclusion about a blob that its decoder accepts.
    pub(crate) fn conclude(&mut self, text: impl Into<String>) -> Result<(), Stopped> {
        if self.error.is_some() {
            return Err(Stopped);
        }
        self.dump.conclude(text);
        Ok(())
    }

    /// Records bytes beyond the end of the format.
    pub(crate) fn trailing(&mut self, meaning: &str) -> Result<(), Stopped> {
        let left = self.left();
        self.take(left, "trailing bytes")?;
        if left > 0 {
            self.note("trailing", format_args!("{left} bytes"), meaning);
        }
        Ok(())
    }
}

/// The message of a decoder's error, without the byte offset, which a dump shows separately.
pub(crate) fn reason(error: &DecodeError) -> String {
    let at = format!(" at byte {}", error.at());
    error.to_string().replacen(&at, "", 1)
}

/// The value of a field: its numbers, or the letters of a magic.
fn text(field: &layout::Field, bytes: &[u8]) -> String {
    let letters = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    if field.numbers.width == 1 && letters.len() > 2 && letters.iter().all(u8::is_ascii_graphic) {
        return String::from_utf8_lossy(letters).into_owned();
    }
    joined(field.numbers(bytes), " ")
}

/// Bytes as pairs of hexadecimal digits with blanks between.
pub(crate) fn hex(bytes: &[u8]) -> String {
    joined(bytes.iter().map(|byte| format!("{byte:02x}")), " ")
}

/// Names and texts as an object.
fn members<S: Serializer>(head: &[(String, String)], to: S) -> Result<S::Ok, S::Error> {
    let members: Map<String, Value> = head
        .iter()
        .map(|(name, text)| (name.clone(), text.as_str().into()))
        .collect();
    members.serialize(to)
}

impl Serialize for Field {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let member = json!({
            "offset": self.at,
            "length": self.at.map(|_| self.length),
            "bytes": self.at.map(|_| hex(&self.bytes)),
            "field": self.name.trim(),
            "value": self.value,
            "meaning": self.meaning,
        });
        member.serialize(to)
    }
}
