//! The parts of a dump, and the cursor that writes them.

use zvf_format::DecodeError;
use zvf_format::layout::{self, Layout, Wire};

/// One field of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// First byte, counted from the start of the section's bytes; none for remarks that are not bytes.
    pub(crate) at: Option<u64>,
    /// Bytes shown.
    pub(crate) bytes: Vec<u8>,
    /// How many bytes the field has.
    pub(crate) length: u64,
    /// Its name in the format.
    pub(crate) name: String,
    /// Its value.
    pub(crate) value: String,
    /// The meaning of the value.
    pub(crate) meaning: String,
}

/// Fields that belong together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Section {
    /// The title.
    pub(crate) title: String,
    /// The fields in stored order.
    pub(crate) fields: Vec<Field>,
}

/// An error, with its byte in the section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Byte, counted as in the section before it.
    pub(crate) at: u64,
    /// Found and expected.
    pub(crate) message: String,
}

/// An annotated dump.
#[derive(Debug, Default)]
pub(crate) struct Dump {
    /// Sections in reading order.
    pub(crate) sections: Vec<Section>,
    /// Damage; nothing is read after it.
    pub(crate) fault: Option<Fault>,
    /// One-line conclusions about the whole blob.
    pub(crate) conclusions: Vec<String>,
    /// Rows shown of a table.
    pub(crate) rows: usize,
}

/// A field could not be read; the dump names the fault.
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

    /// Begins a section.
    pub(crate) fn section(&mut self, title: impl Into<String>) {
        self.sections.push(Section {
            title: title.into(),
            fields: Vec::new(),
        });
    }

    /// Adds a field to the current section.
    pub(crate) fn push(&mut self, field: Field) {
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
        name: &str,
        value: impl Into<String>,
        meaning: impl Into<String>,
    ) {
        self.push(Field {
            at: None,
            bytes: Vec::new(),
            length: 0,
            name: name.into(),
            value: value.into(),
            meaning: meaning.into(),
        });
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

/// A cursor over the bytes of one blob that records the fields it reads.
#[derive(Debug)]
pub(crate) struct Walk<'d, 'a> {
    dump: &'d mut Dump,
    bytes: &'a [u8],
    at: usize,
    /// The start of the last bytes that were taken.
    from: usize,
    /// The error of the blob's decoder.
    error: Option<DecodeError>,
}

impl<'d, 'a> Walk<'d, 'a> {
    /// A cursor at the first byte.
    pub(crate) fn new(dump: &'d mut Dump, bytes: &'a [u8]) -> Self {
        Self {
            dump,
            bytes,
            at: 0,
            from: 0,
            error: None,
        }
    }

    /// Dumps a blob with `body`, up to the field that its decoder refuses, or to missing bytes.
    pub(crate) fn judged<T>(
        mut self,
        verdict: Result<T, DecodeError>,
        body: impl FnOnce(&mut Self) -> Result<(), Stopped>,
    ) {
        self.error = verdict.err();
        let _ = body(&mut self);
        if let Some(error) = self.error {
            if self.refused().is_some() {
                self.dump.fault = None;
            }
            self.dump.fault(error.at(), reason(&error));
        }
    }

    /// The byte that the decoder refuses; nothing after its field is taken. `None` for missing or superfluous bytes, which are detected at the end.
    fn refused(&self) -> Option<u64> {
        let at_end = |error: &DecodeError| error.is_truncated() || error.what().ends_with("length");
        let error = self.error.filter(|error| !at_end(error))?;
        Some(error.at())
    }

    /// The dump.
    pub(crate) fn dump(&mut self) -> &mut Dump {
        self.dump
    }

    /// The position of the cursor.
    pub(crate) fn at(&self) -> u64 {
        self.at as u64
    }

    /// Bytes in all.
    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Bytes left.
    pub(crate) fn left(&self) -> u64 {
        self.rest().len() as u64
    }

    /// The remaining bytes.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Rows shown of a table.
    pub(crate) fn shown(&self) -> u64 {
        self.dump.rows as u64
    }

    /// Begins a section.
    pub(crate) fn section(&mut self, title: impl Into<String>) {
        self.dump.section(title);
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

    /// Whether the decoder accepts everything before the cursor.
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
        let taken = usize::try_from(length)
            .ok()
            .and_then(|length| rest.split_at_checked(length));
        match taken {
            Some((taken, _)) => {
                self.from = self.at;
                self.at += taken.len();
                Ok(taken)
            }
            None => {
                if !rest.is_empty() {
                    let field = self.field(self.at, rest, name, "", "cut short");
                    self.dump.push(field);
                }
                Err(self.fault_here(format!(
                    "{name} cut short: found {} bytes, expected {length}",
                    rest.len()
                )))
            }
        }
    }

    /// Records the last bytes that were taken as a field.
    pub(crate) fn note(
        &mut self,
        name: &str,
        value: impl Into<String>,
        meaning: impl Into<String>,
    ) {
        let bytes = self.bytes.get(self.from..self.at).unwrap_or_default();
        let field = self.field(self.from, bytes, name, value, meaning);
        self.dump.push(field);
    }

    /// Skips `length` bytes and records their number of rows.
    pub(crate) fn skip_rows(&mut self, length: u64, rows: u64, what: &str) -> Result<(), Stopped> {
        if length == 0 {
            return Ok(());
        }
        let bytes = self.take(length, what)?;
        let at = self.at.saturating_sub(bytes.len()) as u64;
        self.dump.push(Field {
            at: Some(at),
            bytes: Vec::new(),
            length,
            name: "…".into(),
            value: format!("{rows} more"),
            meaning: "not shown, see --rows".into(),
        });
        Ok(())
    }

    /// Takes `count` rows; records some of them, from `first` on, with `row`.
    pub(crate) fn rows(
        &mut self,
        count: u64,
        row_bytes: u64,
        first: u64,
        mut row: impl FnMut(&mut Self, u64) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        let first = first.min(count);
        self.skip_rows(first.saturating_mul(row_bytes), first, "rows")?;
        let end = first.saturating_add(self.shown()).min(count);
        for i in first..end {
            row(self, i)?;
        }
        let rest = count.saturating_sub(end);
        self.skip_rows(rest.saturating_mul(row_bytes), rest, "rows")
    }

    /// Records an error if less than a row remains after `count` rows of a table.
    pub(crate) fn whole(
        &mut self,
        table: &str,
        count: u64,
        row: &str,
        row_bytes: u64,
    ) -> Result<(), Stopped> {
        let left = self.left();
        if left == 0 {
            return Ok(());
        }
        let stopped = self.fault_here(format!(
            "{table}: found {left} bytes after {count} {row}s, expected {row}s of {row_bytes} bytes"
        ));
        self.trailing(&format!("less than a whole {row}"))?;
        Err(stopped)
    }

    fn field(
        &self,
        at: usize,
        bytes: &[u8],
        name: &str,
        value: impl Into<String>,
        meaning: impl Into<String>,
    ) -> Field {
        Field {
            at: Some(at as u64),
            bytes: bytes.iter().copied().take(SHOWN).collect(),
            length: bytes.len() as u64,
            name: name.into(),
            value: value.into(),
            meaning: meaning.into(),
        }
    }

    /// Takes one number or structure without recording it.
    pub(crate) fn value<T: Wire>(&mut self, name: &str) -> Result<&'a T, Stopped> {
        let bytes = self.take(size_of::<T>() as u64, name)?;
        T::ref_from_bytes(bytes).map_err(|_| Stopped)
    }

    /// Takes `count` numbers or structures without recording them.
    pub(crate) fn values<T: Wire>(&mut self, count: u64, name: &str) -> Result<&'a [T], Stopped> {
        let there = self.rest().len() / size_of::<T>().max(1);
        let values = usize::try_from(count).ok();
        match values.and_then(|count| T::several(self.rest(), count)) {
            Some(values) => {
                self.take(size_of_val(values) as u64, name)?;
                Ok(values)
            }
            None => {
                self.at += there.saturating_mul(size_of::<T>());
                self.value::<T>(name)?;
                Err(Stopped)
            }
        }
    }

    /// Skips `count` numbers or structures, and records the number.
    pub(crate) fn pass<T: Wire>(
        &mut self,
        count: u64,
        name: &str,
        what: impl Into<String>,
    ) -> Result<(), Stopped> {
        self.values::<T>(count, name)?;
        self.more(count, what)
    }

    /// Records the number of items that were taken and not shown, unless the decoder refuses one of them.
    pub(crate) fn more(&mut self, count: u64, what: impl Into<String>) -> Result<(), Stopped> {
        self.accepted()?;
        if count > 0 {
            self.dump.remark("…", format!("{count} more"), what);
        }
        Ok(())
    }

    /// Takes a structure, and records its fields if they are to be shown. `explain` returns the meaning of a field.
    pub(crate) fn structure<T: Layout>(
        &mut self,
        show: bool,
        explain: impl Fn(&T, &mut Field),
    ) -> Result<&'a T, Stopped> {
        let start = self.at;
        let whole = T::ref_from_prefix(self.rest()).ok();
        for field in T::FIELDS {
            self.at = start.saturating_add(field.at);
            let bytes = self.take(field.width as u64, field.name)?;
            if !show {
                continue;
            }
            let value = text(field, bytes);
            let mut shown = self.field(self.from, bytes, field.name, value, field.rule);
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
            self.note("trailing", format!("{left} bytes"), meaning);
        }
        Ok(())
    }
}

/// The value that a decoder found, without its byte offset.
pub(crate) fn reason(error: &DecodeError) -> String {
    let at = format!(" at byte {}", error.at());
    error.to_string().replacen(&at, "", 1)
}

/// The value of a field: its numbers, or the letters that a magic consists of.
fn text(field: &layout::Field, bytes: &[u8]) -> String {
    let letters = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    if field.numbers.width == 1 && letters.len() > 2 && letters.iter().all(u8::is_ascii_graphic) {
        return String::from_utf8_lossy(letters).into_owned();
    }
    let numbers: Vec<_> = field
        .numbers(bytes)
        .map(|number| number.to_string())
        .collect();
    numbers.join(" ")
}
