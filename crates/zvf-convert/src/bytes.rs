//! Binary files, or parts of them, read forwards.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::error::{ConvertError, InFile};

/// Most bytes that are reserved because of a length stated in a file.
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

    /// Reads `bytes`, the unpacked bytes of the file at `path` or of a part of it.
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

    /// Takes `N` bytes; `None` if the file ends before the first one. If it ends before the last one, the error states how many bytes of `what` there
    /// are.
    pub(crate) fn maybe<const N: usize>(
        &mut self,
        what: &str,
    ) -> Result<Option<[u8; N]>, ConvertError> {
        let mut buffer = [0; N];
        let got = self.fill(&mut buffer)?;
        if got == 0 && N > 0 {
            return Ok(None);
        }
        if got < N {
            return Err(self.short(self.at, got, what, N));
        }
        self.at += N as u64;
        Ok(Some(buffer))
    }

    /// Fills a buffer until the file ends, and returns the number of bytes read.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ConvertError> {
        let mut got = 0;
        while let Some(rest) = buffer.get_mut(got..).filter(|rest| !rest.is_empty()) {
            match self.reader.read(rest) {
                Ok(0) => break,
                Ok(more) => got += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(got)
    }

    /// Replaces `block` by the next `count` bytes, or by fewer at the end of the file. The caller bounds `count`.
    pub(crate) fn block(&mut self, count: usize, block: &mut Vec<u8>) -> Result<(), ConvertError> {
        block.resize(count, 0);
        let got = self.fill(block)?;
        block.truncate(got);
        self.at += got as u64;
        Ok(())
    }

    pub(crate) fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N], ConvertError> {
        match self.maybe(what)? {
            Some(bytes) => Ok(bytes),
            None => Err(self.short(self.at, 0, what, N)),
        }
    }

    /// Takes `count` bytes.
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

    /// Takes the bytes of a line of at most `most` bytes, without the `\n` at its end; `None` at the end of the file.
    pub(crate) fn line(&mut self, most: u64) -> Result<Option<Vec<u8>>, ConvertError> {
        let mut bytes = Vec::new();
        let got = (&mut self.reader)
            .take(most.saturating_add(1))
            .read_until(b'\n', &mut bytes)
            .map_err(|error| self.failed(error))?;
        if got as u64 > most {
            let place = InFile::Byte(self.at);
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

    /// Skips `count` bytes.
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

    /// The error for a failed read: I/O, or malformed if the bytes cannot be unpacked.
    #[cold]
    fn failed(&self, error: std::io::Error) -> ConvertError {
        match error.kind() {
            std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput => {
                self.bad(error.to_string(), "bytes that can be decompressed")
            }
            _ => ConvertError::io(&self.path, error),
        }
    }

    /// The error for a file that ends `got` bytes after byte `at`, where `what` of `need` bytes begins.
    #[cold]
    pub(crate) fn short(&self, at: u64, got: usize, what: &str, need: usize) -> ConvertError {
        let found = match got {
            0 => "the end of the file".to_owned(),
            got => format!("the end of the file after {got} bytes"),
        };
        let expected = format!("{what}, {need} bytes");
        ConvertError::malformed(&self.path, InFile::Byte(at), found, expected)
    }

    #[cold]
    pub(crate) fn bad(
        &self,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> ConvertError {
        ConvertError::malformed(&self.path, InFile::Byte(self.at), found, expected)
    }
}
