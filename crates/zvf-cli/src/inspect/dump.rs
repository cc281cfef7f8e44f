//! What a dump is made of, and the cursor that makes it.

/// One field of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// First byte, counted from the start of the section's bytes; none for remarks that are not bytes.
    pub(crate) at: Option<u64>,
    /// Bytes shown.
    pub(crate) bytes: Vec<u8>,
    /// How many bytes the field has.
    pub(crate) length: u64,
    /// Its name in the format's words.
    pub(crate) name: String,
    /// Its value.
    pub(crate) value: String,
    /// What the value means.
    pub(crate) meaning: String,
}

/// Fields that belong together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Section {
    /// What they are.
    pub(crate) title: String,
    /// The fields in stored order.
    pub(crate) fields: Vec<Field>,
}

/// What is wrong, and at which byte of the section it is in.
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

/// A field could not be read; the fault stands in the dump.
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

    /// Says what is wrong; the first fault is kept.
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

/// A cursor over the bytes of one blob that writes down what it reads.
#[derive(Debug)]
pub(crate) struct Walk<'d, 'a> {
    dump: &'d mut Dump,
    bytes: &'a [u8],
    at: usize,
}

impl<'d, 'a> Walk<'d, 'a> {
    /// A cursor at the first byte.
    pub(crate) fn new(dump: &'d mut Dump, bytes: &'a [u8]) -> Self {
        Self { dump, bytes, at: 0 }
    }

    /// The dump.
    pub(crate) fn dump(&mut self) -> &mut Dump {
        self.dump
    }

    /// Where the cursor stands.
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

    /// What is left.
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

    /// Says what is wrong at the cursor.
    #[cold]
    pub(crate) fn fault_here(&mut self, message: impl Into<String>) -> Stopped {
        let at = self.at();
        self.dump.fault(at, message)
    }

    /// Says what is wrong with the last `back` bytes read.
    #[cold]
    pub(crate) fn fault_back(&mut self, back: u64, message: impl Into<String>) -> Stopped {
        let at = self.at().saturating_sub(back);
        self.dump.fault(at, message)
    }

    /// Takes the next `length` bytes without writing them down, or says that they are cut short.
    pub(crate) fn take(&mut self, length: u64, name: &str) -> Result<&'a [u8], Stopped> {
        let rest = self.rest();
        let taken = usize::try_from(length)
            .ok()
            .and_then(|length| rest.split_at_checked(length));
        match taken {
            Some((taken, _)) => {
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

    /// Writes down the last `length` bytes read.
    pub(crate) fn note(
        &mut self,
        length: u64,
        name: &str,
        value: impl Into<String>,
        meaning: impl Into<String>,
    ) {
        let start = self
            .at
            .saturating_sub(usize::try_from(length).unwrap_or(usize::MAX));
        let bytes = self.bytes.get(start..self.at).unwrap_or_default();
        let field = self.field(start, bytes, name, value, meaning);
        self.dump.push(field);
    }

    /// Skips `length` bytes and says how many rows they hold.
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

    /// Reads an unsigned 16-bit field.
    pub(crate) fn u16(&mut self, name: &str) -> Result<u16, Stopped> {
        let bytes = self.take(2, name)?;
        Ok(bytes.first_chunk().map_or(0, |b| u16::from_le_bytes(*b)))
    }

    /// Reads an unsigned 32-bit field.
    pub(crate) fn u32(&mut self, name: &str) -> Result<u32, Stopped> {
        let bytes = self.take(4, name)?;
        Ok(bytes.first_chunk().map_or(0, |b| u32::from_le_bytes(*b)))
    }

    /// Reads a signed 64-bit field.
    pub(crate) fn i64(&mut self, name: &str) -> Result<i64, Stopped> {
        let bytes = self.take(8, name)?;
        Ok(bytes.first_chunk().map_or(0, |b| i64::from_le_bytes(*b)))
    }

    /// Reads an unsigned 64-bit field.
    pub(crate) fn u64(&mut self, name: &str) -> Result<u64, Stopped> {
        let bytes = self.take(8, name)?;
        Ok(bytes.first_chunk().map_or(0, |b| u64::from_le_bytes(*b)))
    }

    /// Writes down bytes after the end of what the format describes.
    pub(crate) fn trailing(&mut self, meaning: &str) {
        let left = self.left();
        if left > 0 && self.take(left, "trailing bytes").is_ok() {
            self.note(left, "trailing", format!("{left} bytes"), meaning);
        }
    }
}
