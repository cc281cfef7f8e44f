//! Separated values: records of a file, each bounded.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use csv::{ErrorKind, Reader, ReaderBuilder, StringRecord};
use flate2::read::MultiGzDecoder;

use super::rows::Rows;
use crate::error::{ConvertError, Place};
use crate::format::unpacked;
use crate::options::Options;

/// Reads until so many bytes came without a record: a quote that is never closed would take the whole file into memory.
#[derive(Debug)]
struct Metered {
    file: Unpacked,
    left: Rc<Cell<u64>>,
}

/// A file, or what it unpacks to.
#[derive(Debug)]
enum Unpacked {
    Plain(File),
    Packed(Box<MultiGzDecoder<BufReader<File>>>),
}

impl Unpacked {
    /// Files whose names end in `.gz` are packed.
    fn open(path: &Path) -> Result<Self, ConvertError> {
        let file = zvf_store::open_file(path).map_err(|error| ConvertError::io(path, error))?;
        Ok(match unpacked(path) {
            Some(_) => Self::Packed(Box::new(MultiGzDecoder::new(BufReader::new(file)))),
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

/// What separates the columns of a file, by its ending; of `.txt` by its first line.
fn delimiter(path: &Path) -> Result<u8, ConvertError> {
    let ending = unpacked(path).unwrap_or(path).extension();
    let is = |name: &str| ending.is_some_and(|ending| ending.eq_ignore_ascii_case(name));
    if !is("txt") {
        return Ok(if is("tsv") { b'\t' } else { b',' });
    }
    let mut head = Vec::new();
    let read = Unpacked::open(path)?.take(1 << 16).read_to_end(&mut head);
    read.map_err(|error| ConvertError::io(path, error))?;
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let usual = [b'\t', b',', b';', b' '];
    Ok(usual
        .into_iter()
        .find(|one| line.contains(one))
        .unwrap_or(b','))
}

/// What a meter says when it is used up.
const SPENT: &str = "a record without end";

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read(buffer)?;
        let bytes = u64::try_from(got).unwrap_or(u64::MAX);
        match self.left.get().checked_sub(bytes) {
            Some(left) => self.left.set(left),
            None => return Err(io::Error::other(SPENT)),
        }
        Ok(got)
    }
}

/// The records of a file.
#[derive(Debug)]
pub(super) struct Separated {
    path: PathBuf,
    reader: Reader<Metered>,
    names: Vec<String>,
    record: StringRecord,
    left: Rc<Cell<u64>>,
    most: u64,
}

/// Bytes that the parser reads at once: what it has read ahead is no part of a record.
const AHEAD: usize = 1 << 16;

impl Separated {
    /// Opens a file and reads its header, the first record.
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self, ConvertError> {
        let file = Unpacked::open(path)?;
        let most = options.limits.line.saturating_add(2 * AHEAD as u64);
        let left = Rc::new(Cell::new(most));
        let delimiter = match options.delimiter {
            Some(delimiter) => delimiter,
            None => delimiter(path)?,
        };
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .delimiter(delimiter)
            .buffer_capacity(AHEAD)
            .from_reader(Metered {
                file,
                left: Rc::clone(&left),
            });
        let mut rows = Self {
            path: path.to_owned(),
            reader,
            names: Vec::new(),
            record: StringRecord::new(),
            left,
            most,
        };
        if !rows.step()? {
            let expected = "a line of column names";
            return Err(ConvertError::malformed(
                path,
                Place::Whole,
                "nothing",
                expected,
            ));
        }
        let limit = options.limits.columns;
        if rows.record.len() as u64 > limit {
            return Err(ConvertError::limit(path, rows.place(), "columns", limit));
        }
        let names = rows.record.iter().enumerate().map(|(at, name)| {
            let name = if at == 0 {
                name.trim_start_matches('\u{feff}')
            } else {
                name
            };
            name.trim().to_owned()
        });
        rows.names = names.collect();
        Ok(rows)
    }

    #[cold]
    fn failed(&self, error: csv::Error) -> ConvertError {
        let line = error.position().map(csv::Position::line);
        let place = line.map_or_else(|| Place::Line(self.reader.position().line()), Place::Line);
        match error.into_kind() {
            ErrorKind::Io(_) if self.left.get() < AHEAD as u64 => {
                let limit = self.most.saturating_sub(2 * AHEAD as u64);
                ConvertError::limit(&self.path, place, "bytes in a record", limit)
            }
            ErrorKind::Io(error) => ConvertError::io(&self.path, error),
            ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => {
                let expected = format!("{expected_len}, as in the header");
                ConvertError::malformed(&self.path, place, format!("{len} fields"), expected)
            }
            ErrorKind::Utf8 { .. } => {
                ConvertError::malformed(&self.path, place, "bytes that are no UTF-8", "text")
            }
            other => ConvertError::malformed(&self.path, place, format!("{other:?}"), "a record"),
        }
    }
}

impl Rows for Separated {
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
        self.left.set(self.most);
        match self.reader.read_record(&mut self.record) {
            Ok(more) => Ok(more),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// A field that is empty is no value.
    fn value(&self, at: usize) -> Option<&str> {
        let field = self.record.get(at)?;
        (!field.trim().is_empty()).then_some(field)
    }

    fn place(&self) -> Place {
        self.record
            .position()
            .map_or(Place::Whole, |position| Place::Line(position.line()))
    }
}
