//! What streamline files have in common: numbers in bytes, and chains that become batches.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use zvf_write::{AttributeSpec, Batch, NumberType, ObjectTable};

use crate::Sink;
use crate::error::{ConvertError, Place};

/// Most bytes that are reserved because a file says that they follow.
const RESERVED: usize = 1 << 20;

/// A binary file, or a part of one, read forwards.
pub(crate) struct Bytes {
    pub(crate) path: PathBuf,
    reader: BufReader<Box<dyn Read>>,
    at: u64,
}

impl Bytes {
    pub(crate) fn open(path: &Path) -> Result<Self, ConvertError> {
        let file = zvf_store::open_file(path).map_err(|error| ConvertError::io(path, error))?;
        Ok(Self::of(path, Box::new(file)))
    }

    /// A part of the file at `path`, unpacked.
    pub(crate) fn of(path: &Path, bytes: Box<dyn Read>) -> Self {
        Self {
            path: path.to_owned(),
            reader: BufReader::with_capacity(1 << 17, bytes),
            at: 0,
        }
    }

    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Fills the buffer, or says how much of `what` there was. `None` where the file ends before the first byte.
    pub(crate) fn maybe<const N: usize>(
        &mut self,
        what: &str,
    ) -> Result<Option<[u8; N]>, ConvertError> {
        let mut buffer = [0; N];
        let mut got = 0;
        while let Some(rest) = buffer.get_mut(got..).filter(|rest| !rest.is_empty()) {
            match self.reader.read(rest) {
                Ok(0) => break,
                Ok(more) => got += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        if got == 0 && N > 0 {
            return Ok(None);
        }
        if got < N {
            return Err(self.bad(
                format!("the end of the file after {got} bytes"),
                format!("{what}, {N} bytes"),
            ));
        }
        self.at += N as u64;
        Ok(Some(buffer))
    }

    pub(crate) fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N], ConvertError> {
        match self.maybe(what)? {
            Some(bytes) => Ok(bytes),
            None => Err(self.bad("the end of the file", format!("{what}, {N} bytes"))),
        }
    }

    /// Takes so many bytes.
    pub(crate) fn take_some(&mut self, count: usize, what: &str) -> Result<Vec<u8>, ConvertError> {
        let mut bytes = Vec::with_capacity(count.min(RESERVED));
        let got = (&mut self.reader)
            .take(count as u64)
            .read_to_end(&mut bytes)
            .map_err(|error| self.failed(error))?;
        if got < count {
            let found = format!("the end of the file after {got} bytes");
            return Err(self.bad(found, format!("{what}, {count} bytes")));
        }
        self.at += count as u64;
        Ok(bytes)
    }

    /// Takes the bytes of a line, without its end; `None` at the end of the file.
    pub(crate) fn line(&mut self, most: u64) -> Result<Option<Vec<u8>>, ConvertError> {
        let mut bytes = Vec::new();
        let got = (&mut self.reader)
            .take(most.saturating_add(1))
            .read_until(b'\n', &mut bytes)
            .map_err(|error| self.failed(error))?;
        if got as u64 > most {
            let place = Place::Byte(self.at);
            return Err(ConvertError::limit(
                &self.path,
                place,
                "bytes in a line",
                most,
            ));
        }
        self.at += got as u64;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        Ok((got > 0).then_some(bytes))
    }

    /// Passes over so many bytes.
    pub(crate) fn skip(&mut self, count: u64, what: &str) -> Result<(), ConvertError> {
        let mut taken = (&mut self.reader).take(count);
        let got =
            std::io::copy(&mut taken, &mut std::io::sink()).map_err(|error| self.failed(error))?;
        if got < count {
            return Err(self.bad("the end of the file", what.to_owned()));
        }
        self.at += count;
        Ok(())
    }

    /// A failure to read: bytes that cannot be unpacked are the file's fault.
    #[cold]
    fn failed(&self, error: std::io::Error) -> ConvertError {
        match error.kind() {
            std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput => {
                self.bad(error.to_string(), "bytes that can be unpacked")
            }
            _ => ConvertError::io(&self.path, error),
        }
    }

    #[cold]
    pub(crate) fn bad(
        &self,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> ConvertError {
        ConvertError::malformed(&self.path, Place::Byte(self.at), found, expected)
    }
}

/// Columns of numbers that make one attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) name: String,
    pub(crate) count: usize,
}

impl Columns {
    pub(crate) fn spec(&self) -> AttributeSpec {
        AttributeSpec::number(&self.name, NumberType::F32).with_channels(self.count)
    }
}

/// What is done with the points of a file, one after another.
pub(crate) trait Visit {
    /// A point of the chain that is open.
    fn point(&mut self, position: [f64; 3], scalars: &[f32]) -> Result<(), ConvertError>;

    /// The chain ends; it may have had no point.
    fn end(&mut self, properties: &[f32]) -> Result<(), ConvertError>;
}

/// Chains on their way into a sink.
pub(crate) struct Chains<'s> {
    sink: &'s mut dyn Sink,
    rows: usize,
    next: i64,
    open: usize,
    positions: Vec<f64>,
    runs: Vec<(i64, usize)>,
    scalars: Vec<(Columns, Vec<f32>)>,
    ids: Vec<i64>,
    properties: Vec<(Columns, Vec<f32>)>,
}

impl<'s> Chains<'s> {
    pub(crate) fn new(
        sink: &'s mut dyn Sink,
        rows: usize,
        scalars: &[Columns],
        properties: &[Columns],
    ) -> Self {
        let empty = |columns: &[Columns]| {
            columns
                .iter()
                .map(|one| (one.clone(), Vec::new()))
                .collect()
        };
        Self {
            sink,
            rows,
            next: 0,
            open: 0,
            positions: Vec::new(),
            runs: Vec::new(),
            scalars: empty(scalars),
            ids: Vec::new(),
            properties: empty(properties),
        }
    }

    /// Begins a file whose first chain has this id.
    pub(crate) fn begin(&mut self, first: i64) {
        self.next = first;
    }

    /// Refuses a file whose last chain does not have the id before this one.
    pub(crate) fn check(&self, file: &Path, end: i64) -> Result<(), ConvertError> {
        match self.next == end {
            true => Ok(()),
            false => {
                let expected = "those of when the file was looked at";
                Err(ConvertError::malformed(
                    file,
                    Place::Whole,
                    "other streamlines",
                    expected,
                ))
            }
        }
    }

    /// Hands over what is held.
    pub(crate) fn flush(&mut self) -> Result<(), ConvertError> {
        if self.open > 0 {
            self.runs.push((self.next, self.open));
            self.open = 0;
        }
        if !self.runs.is_empty() {
            let mut batch = Batch::new(&self.positions).with_object_runs(&self.runs[..]);
            for (columns, values) in &self.scalars {
                batch = batch.with_attribute(&columns.name, values);
            }
            self.sink.batch(&batch)?;
            self.positions.clear();
            self.runs.clear();
            self.scalars
                .iter_mut()
                .for_each(|(_, values)| values.clear());
        }
        if !self.ids.is_empty() {
            let mut table = ObjectTable::new(&self.ids[..]);
            for (columns, values) in &self.properties {
                table = table.with_attribute(&columns.name, values);
            }
            self.sink.objects(&table)?;
            self.ids.clear();
            self.properties
                .iter_mut()
                .for_each(|(_, values)| values.clear());
        }
        Ok(())
    }
}

/// Deals the numbers of a row out to the attributes.
fn deal(columns: &mut [(Columns, Vec<f32>)], row: &[f32]) {
    let mut rest = row;
    for (columns, values) in columns {
        let (own, more) = rest.split_at_checked(columns.count).unwrap_or((rest, &[]));
        values.extend_from_slice(own);
        rest = more;
    }
}

impl Visit for Chains<'_> {
    fn point(&mut self, position: [f64; 3], scalars: &[f32]) -> Result<(), ConvertError> {
        self.positions.extend(position);
        deal(&mut self.scalars, scalars);
        self.open += 1;
        if self.positions.len() / 3 >= self.rows {
            self.flush()?;
        }
        Ok(())
    }

    fn end(&mut self, properties: &[f32]) -> Result<(), ConvertError> {
        if self.open > 0 {
            self.runs.push((self.next, self.open));
            self.open = 0;
        }
        self.ids.push(self.next);
        deal(&mut self.properties, properties);
        self.next = self.next.saturating_add(1);
        if self.ids.len() >= self.rows {
            self.flush()?;
        }
        Ok(())
    }
}

/// Counts of a first reading.
#[derive(Debug)]
pub(crate) struct Census<'a> {
    pub(crate) extent: &'a mut crate::shape::Extent,
    pub(crate) chains: u64,
    pub(crate) limit: u64,
    pub(crate) path: &'a Path,
}

impl<'a> Census<'a> {
    /// Nothing counted yet of the file at `path`; `limit` is on the vertices of all files.
    pub(crate) fn of(path: &'a Path, extent: &'a mut crate::shape::Extent, limit: u64) -> Self {
        Self {
            extent,
            chains: 0,
            limit,
            path,
        }
    }
}

impl Visit for Census<'_> {
    fn point(&mut self, position: [f64; 3], _: &[f32]) -> Result<(), ConvertError> {
        self.extent.add(&position);
        if self.extent.count() > self.limit {
            return Err(ConvertError::limit(
                self.path,
                Place::Whole,
                "vertices",
                self.limit,
            ));
        }
        Ok(())
    }

    fn end(&mut self, _: &[f32]) -> Result<(), ConvertError> {
        self.chains += 1;
        Ok(())
    }
}
