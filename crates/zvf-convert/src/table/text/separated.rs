//! Separated values: the records of a file, whose length is limited.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use csv::{ErrorKind, Reader, ReaderBuilder, StringRecord};

use super::rows::TextRows;
use crate::Format;
use crate::error::{ConvertError, InFile, shown};
use crate::format::unpacked;
use crate::gzip::GzipMembers;
use crate::options::Options;
use crate::records::rename::renamed;

/// The input of the parser: the file, followed by a sentinel record. If the parser does not return the sentinel, a quote was never closed.
/// The input also ends after a limited number of bytes without the end of a record, so that an unclosed quote does not load the whole file
/// into memory.
struct ParserInput {
    file: Box<dyn Read>,
    state: Rc<ParserState>,
}

/// How far the parser has read.
#[derive(Debug)]
struct ParserState {
    /// Bytes that may be read until the next record.
    left: Cell<u64>,
    /// Bytes that were read.
    total: Cell<u64>,
    /// Whether the sentinel was returned.
    ended: Cell<bool>,
    /// The only field of the sentinel.
    mark: u8,
    /// The byte between columns.
    delimiter: u8,
    /// The state after the last byte that was read.
    quotes: Cell<Quotes>,
    /// The position of the first text after the closing quote of a field.
    loose: Cell<Option<u64>>,
}

/// The state of a parser of quotes. It exists because the CSV parser joins text after a closing quote to the field, even across lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    /// At the beginning of a field.
    Start,
    /// In a field without quotes.
    Plain,
    Inside,
    /// After a quote that closes a field or is the first of a doubled quote.
    Closed,
    /// In the blanks after the closing quote of a field.
    Behind,
}

impl Quotes {
    /// The state after these bytes, and the index of the first text after a closing quote.
    fn after(self, bytes: &[u8], delimiter: u8) -> (Self, Option<usize>) {
        let ends = |byte: u8| byte == delimiter || matches!(byte, b'\n' | b'\r');
        if matches!(self, Self::Start | Self::Plain) && !bytes.contains(&b'"') {
            let last = bytes.last().map(|last| match ends(*last) {
                true => Self::Start,
                false => Self::Plain,
            });
            return (last.unwrap_or(self), None);
        }
        let mut now = self;
        for (at, &byte) in bytes.iter().enumerate() {
            now = match (now, byte) {
                (Self::Inside, b'"') => Self::Closed,
                (Self::Inside, _) | (Self::Start | Self::Closed, b'"') => Self::Inside,
                (_, byte) if ends(byte) => Self::Start,
                (Self::Closed | Self::Behind, b' ' | b'\t') => Self::Behind,
                (Self::Closed | Self::Behind, _) => return (Self::Plain, Some(at)),
                (Self::Start | Self::Plain, _) => Self::Plain,
            };
        }
        (now, None)
    }
}

impl std::fmt::Debug for ParserInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParserInput")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Read for ParserInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut got = self.file.read(buffer)?;
        let state = &self.state;
        if state.loose.get().is_none() {
            let bytes = buffer.get(..got);
            let bytes = bytes.ok_or_else(|| io::Error::other("more bytes were read than fit"))?;
            let (quotes, loose) = state.quotes.get().after(bytes, state.delimiter);
            state.quotes.set(quotes);
            let place = |at: usize| state.total.get().saturating_add(at as u64);
            state.loose.set(loose.map(place));
        }
        if got == 0
            && !buffer.is_empty()
            && !state.ended.replace(true)
            && let Some(last) = buffer.get_mut(..2)
        {
            last.copy_from_slice(&[b'\n', state.mark]);
            got = 2;
        }
        let bytes = u64::try_from(got).unwrap_or(u64::MAX);
        state.total.set(state.total.get().saturating_add(bytes));
        match state.left.get().checked_sub(bytes) {
            Some(left) => state.left.set(left),
            None => return Err(io::Error::other(SPENT)),
        }
        Ok(got)
    }
}

/// A file, decompressed if it is compressed.
#[derive(Debug)]
enum Unpacked {
    Plain(File),
    Packed(Box<GzipMembers<BufReader<File>>>),
}

impl Unpacked {
    /// Opens a file; names that end in `.gz` are decompressed.
    fn open(path: &Path) -> Result<Self, ConvertError> {
        let file = zvf_store::open_file(path).map_err(|error| ConvertError::io(path, error))?;
        Ok(match unpacked(path) {
            Some(_) => Self::Packed(Box::new(GzipMembers::new(BufReader::new(file)))),
            None => Self::Plain(file),
        })
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buffer),
            Self::Packed(file) => file.read(buffer),
        }
    }
}

/// The separator of the columns of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    Byte(u8),
    /// Any number of blanks and tabs.
    Blanks,
}

impl Separator {
    /// Determined by the options, by the format, by the ending of the file name and by the first line.
    fn of(path: &Path, format: Format, options: &Options, line: &[u8]) -> Self {
        match options.delimiter {
            Some(b' ') if format == Format::Xyz => return Self::Blanks,
            Some(delimiter) => return Self::Byte(delimiter),
            None => {}
        }
        let ending = unpacked(path).unwrap_or(path).extension();
        let is = |name: &str| ending.is_some_and(|ending| ending.eq_ignore_ascii_case(name));
        let usual: &[u8] = match format {
            Format::Xyz => b",; ",
            _ if is("tsv") => b"\t",
            _ if is("txt") => b"\t,; ",
            _ => b",;\t",
        };
        // With a decimal comma, commas in the first line may be part of numbers.
        let has = |byte: &u8| line.contains(byte) && !(options.decimal_comma && *byte == b',');
        match usual.iter().copied().find(has) {
            Some(b' ') => Self::Blanks,
            Some(byte) => Self::Byte(byte),
            None if format == Format::Xyz => Self::Blanks,
            None if is("tsv") => Self::Byte(b'\t'),
            None => Self::Byte(b','),
        }
    }

    /// The byte that separates columns for the parser.
    const fn byte(self) -> u8 {
        match self {
            Self::Byte(byte) => byte,
            Self::Blanks => b' ',
        }
    }

    /// The fields of a line without quotes.
    fn split(self, line: &str) -> Vec<String> {
        let owned = |text: &str| text.trim().to_owned();
        match self {
            Self::Byte(byte) => line.split(char::from(byte)).map(owned).collect(),
            Self::Blanks => line.split_whitespace().map(owned).collect(),
        }
    }
}

/// The lines of a file before its first record: comments, which begin with `#` or `//`, and empty ones.
struct LeadingLines {
    /// Number of these lines.
    skipped: u64,
    /// The comment directly before the first record, without its mark; it may have the names of the columns.
    comment: Option<String>,
    /// The first line after these lines, or its beginning.
    line: Vec<u8>,
    rest: BufReader<Unpacked>,
}

impl LeadingLines {
    fn read(path: &Path, most: u64) -> Result<Self, ConvertError> {
        let mut head = Self {
            skipped: 0,
            comment: None,
            line: Vec::new(),
            rest: BufReader::with_capacity(AHEAD, Unpacked::open(path)?),
        };
        loop {
            head.line.clear();
            let read = (&mut head.rest)
                .take(most)
                .read_until(b'\n', &mut head.line);
            read.map_err(|error| ConvertError::io(path, error))?;
            if head.skipped == 0 && head.line.starts_with(BOM) {
                head.line.drain(..BOM.len());
            }
            let line = head.line.trim_ascii();
            let comment = line.strip_prefix(b"#").or_else(|| line.strip_prefix(b"//"));
            if head.line.is_empty() || comment.is_none() && !line.is_empty() {
                return Ok(head);
            }
            head.comment = comment.map(|text| {
                let text = String::from_utf8_lossy(text);
                text.trim_start_matches(['#', '/']).trim().to_owned()
            });
            head.skipped = head.skipped.saturating_add(1);
        }
    }
}

/// The byte order mark of UTF-8, which some editors write.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The internal error for too many bytes without the end of a record.
const SPENT: &str = "a record without end";

/// Replaces several blanks by one, and removes blanks at both ends of lines; blanks in quotes are unchanged.
struct Blanks<R> {
    inner: R,
    /// Whether only blanks were read from the line.
    start: bool,
    /// Whether a blank is pending.
    held: bool,
    quoted: bool,
}

impl<R: Read> Read for Blanks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Leaves space for the pending blank.
        let most = buffer.len().saturating_sub(1);
        let mut bytes = vec![0; most];
        loop {
            let got = self.inner.read(&mut bytes)?;
            if got == 0 {
                return Ok(0);
            }
            let mut at = 0;
            let mut put = |byte: u8| {
                if let Some(slot) = buffer.get_mut(at) {
                    *slot = byte;
                    at += 1;
                }
            };
            for &byte in bytes.iter().take(got) {
                match byte {
                    b' ' | b'\t' if !self.quoted => self.held = !self.start,
                    b'\n' | b'\r' if !self.quoted => {
                        (self.start, self.held) = (true, false);
                        put(byte);
                    }
                    _ => {
                        if byte == b'"' {
                            self.quoted = !self.quoted && (self.start || self.held);
                        }
                        if std::mem::take(&mut self.held) {
                            put(b' ');
                        }
                        self.start = false;
                        put(byte);
                    }
                }
            }
            if at > 0 {
                return Ok(at);
            }
        }
    }
}

/// The records of a file.
#[derive(Debug)]
pub(super) struct Separated {
    path: PathBuf,
    reader: Reader<ParserInput>,
    names: Vec<String>,
    record: StringRecord,
    /// Whether the first record is a row, because the file has no header line.
    ready: bool,
    /// Lines before the first record.
    skipped: u64,
    /// Whether lines end in a carriage return and a line feed.
    carriage: bool,
    state: Rc<ParserState>,
    most: u64,
    notes: Vec<String>,
}

/// Read size of the parser. Limits allow for it, because bytes that are read ahead do not belong to the record.
const AHEAD: usize = 1 << 16;

impl Separated {
    /// Opens a file and reads its first record: its header, unless the names of the columns are given.
    pub(super) fn open(
        path: &Path,
        format: Format,
        options: &Options,
    ) -> Result<Self, ConvertError> {
        let most = options.limits.line.saturating_add(2 * AHEAD as u64);
        let head = LeadingLines::read(path, options.limits.line)?;
        let between = Separator::of(path, format, options, &head.line);
        let state = Rc::new(ParserState {
            left: Cell::new(most),
            total: Cell::new(0),
            ended: Cell::new(false),
            mark: if between.byte() == 2 { 3 } else { 2 },
            delimiter: between.byte(),
            quotes: Cell::new(Quotes::Start),
            loose: Cell::new(None),
        });
        let carriage = head.line.ends_with(b"\r\n");
        let file = io::Cursor::new(head.line).chain(head.rest);
        let file: Box<dyn Read> = match between {
            Separator::Byte(_) => Box::new(file),
            Separator::Blanks => Box::new(Blanks {
                inner: file,
                start: true,
                held: false,
                quoted: false,
            }),
        };
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(between.byte())
            .buffer_capacity(AHEAD)
            .from_reader(ParserInput {
                file,
                state: Rc::clone(&state),
            });
        let mut rows = Self {
            path: path.to_owned(),
            reader,
            names: Vec::new(),
            record: StringRecord::new(),
            ready: false,
            skipped: head.skipped,
            carriage,
            state,
            most,
            notes: Vec::new(),
        };
        if !rows.next()? {
            let expected = match options.columns_in.is_some() {
                true => "rows",
                false => "a line of column names",
            };
            return Err(ConvertError::malformed(
                path,
                InFile::Whole,
                "nothing",
                expected,
            ));
        }
        let limit = options.limits.columns;
        if rows.record.len() as u64 > limit {
            return Err(ConvertError::limit(path, rows.place(), "columns", limit));
        }
        let is_number = |field: &str| {
            let field = field.trim();
            let field = match options.decimal_comma {
                true => field.replace(',', "."),
                false => field.to_owned(),
            };
            field.parse::<f64>().is_ok()
        };
        let comment = head.comment.map(|comment| between.split(&comment));
        let comment = comment.filter(|names| {
            names.len() == rows.record.len() && !names.iter().any(|name| is_number(name))
        });
        if let Some(names) = &options.columns_in {
            rows.names.clone_from(names);
            rows.ready = true;
        } else if let Some(names) = comment.filter(|_| rows.record.iter().any(is_number)) {
            rows.names = names;
            rows.ready = true;
        } else if format == Format::Xyz && rows.record.iter().all(is_number) {
            let axes = ["x", "y", "z"].map(str::to_owned).into_iter();
            let more = (0_usize..).map(|at| format!("extra_{at}"));
            rows.names = axes.chain(more).take(rows.record.len()).collect();
            rows.ready = true;
            if let Some(more) = rows.names.get(3..).filter(|more| !more.is_empty()) {
                rows.notes.push(format!(
                    "columns after x, y and z have no names, and become {} (--columns-in gives names to all)",
                    more.join(", ")
                ));
            }
        } else {
            let names = rows.record.iter();
            rows.names = names.map(|name| name.trim().to_owned()).collect();
        }
        rows.names = renamed(&rows.names, options);
        if rows.ready {
            rows.check()?;
        }
        Ok(rows)
    }

    /// Reads the next record; false at the end.
    fn next(&mut self) -> Result<bool, ConvertError> {
        self.state.left.set(self.most);
        match self.reader.read_record(&mut self.record) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => return Err(self.failed(error)),
        }
        let read = self.reader.position().byte();
        if self.state.loose.get().is_some_and(|at| at < read) {
            return Err(ConvertError::malformed(
                &self.path,
                self.place(),
                "text after the closing quote of a field",
                "the end of the field; a quote in a field with quotes is written twice",
            ));
        }
        if !(self.state.ended.get() && self.reader.position().byte() == self.state.total.get()) {
            return Ok(true);
        }
        let mark = [self.state.mark];
        if self.record.len() == 1 && self.record.get(0).map(str::as_bytes) == Some(&mark[..]) {
            return Ok(false);
        }
        // The sentinel is inside the last field.
        let field = self.record.iter().next_back().unwrap_or_default();
        let lines = field.bytes().filter(|byte| *byte == b'\n').count() as u64;
        let line = self.reader.position().line().saturating_sub(lines);
        let line = line.saturating_add(self.skipped);
        let start = field.lines().next().unwrap_or_default();
        Err(ConvertError::malformed(
            &self.path,
            InFile::Line(line),
            format!("a quote before {} that is never closed", shown(start)),
            "a quote at the end of the field",
        ))
    }

    /// The line on which the record begins.
    fn line(&self) -> u64 {
        let position = self.reader.position();
        let text = self.record.as_slice().bytes();
        let inside = text.filter(|byte| *byte == b'\n').count() as u64;
        // The parser ends a record at a carriage return, and the line feed after it belongs to the next record. At the end of the file this line feed
        // may belong to the sentinel.
        let ended =
            self.state.ended.get() && position.byte().saturating_add(1) == self.state.total.get();
        let end = u64::from(!self.carriage || ended);
        let line = position.line().saturating_sub(inside + end);
        line.saturating_add(self.skipped)
    }

    /// Refuses a record whose number of fields differs from the number of columns.
    fn check(&self) -> Result<(), ConvertError> {
        let (found, wanted) = (self.record.len(), self.names.len());
        if found == wanted {
            return Ok(());
        }
        let expected = match self.ready {
            true => format!("{wanted}, one for each column name"),
            false => format!("{wanted}, as in the header"),
        };
        Err(ConvertError::malformed(
            &self.path,
            self.place(),
            format!("{found} fields"),
            expected,
        ))
    }

    #[cold]
    fn failed(&self, error: csv::Error) -> ConvertError {
        let position = error.position().unwrap_or_else(|| self.reader.position());
        let place = InFile::Line(position.line().saturating_add(self.skipped));
        match error.into_kind() {
            ErrorKind::Io(_) if self.state.left.get() < AHEAD as u64 => {
                let limit = self.most.saturating_sub(2 * AHEAD as u64);
                ConvertError::limit(&self.path, place, "bytes in a record", limit)
            }
            ErrorKind::Io(error) => ConvertError::io(&self.path, error),
            ErrorKind::Utf8 { .. } => ConvertError::malformed(
                &self.path,
                InFile::Line(self.line()),
                "bytes that are not UTF-8",
                "text",
            ),
            other => ConvertError::malformed(&self.path, place, format!("{other:?}"), "a record"),
        }
    }
}

impl TextRows for Separated {
    fn path(&self) -> &Path {
        &self.path
    }

    fn columns(&self) -> &[String] {
        &self.names
    }

    fn has_header(&self) -> bool {
        true
    }

    fn find_columns(&mut self) -> Result<(), ConvertError> {
        Ok(())
    }

    fn step(&mut self) -> Result<bool, ConvertError> {
        if std::mem::take(&mut self.ready) {
            return Ok(true);
        }
        if !self.next()? {
            return Ok(false);
        }
        self.check()?;
        Ok(true)
    }

    /// An empty field is a missing value.
    fn value(&self, at: usize) -> Option<&str> {
        self.record.get(at).filter(|field| !field.is_empty())
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn place(&self) -> InFile {
        InFile::Line(self.line())
    }
}
