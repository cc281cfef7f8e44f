//! Bytes that are passed between codecs, and bounded reading of them.

use bytes::Bytes;

use crate::CodecError;
#[cfg(any(feature = "zstd", feature = "gzip", feature = "zarrs", test))]
use crate::error::check;

/// Bytes that are borrowed from a buffer, or shared.
#[derive(Debug, Clone)]
pub enum Data<'b> {
    /// In a buffer of the caller.
    Borrowed(&'b [u8]),
    /// Reference-counted.
    Shared(Bytes),
}

impl<'b> Data<'b> {
    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }

    /// A range of the bytes; `None` if it ends after them.
    #[must_use]
    pub fn slice(self, range: std::ops::Range<usize>) -> Option<Bytes> {
        match self {
            Self::Borrowed(bytes) => bytes.get(range).map(Bytes::copy_from_slice),
            Self::Shared(bytes) => {
                (range.start <= range.end && range.end <= bytes.len()).then(|| bytes.slice(range))
            }
        }
    }

    /// The bytes; copied if they are borrowed.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Borrowed(bytes) => Bytes::copy_from_slice(bytes),
            Self::Shared(bytes) => bytes,
        }
    }

    pub(crate) fn without_last(self, n: usize) -> Self {
        let keep = self.as_slice().len().saturating_sub(n);
        match self {
            Self::Borrowed(bytes) => Self::Borrowed(bytes.get(..keep).unwrap_or(bytes)),
            Self::Shared(bytes) => Self::Shared(bytes.slice(..keep)),
        }
    }
}

/// Compares the last four bytes with a checksum of the rest, and removes them.
pub(crate) fn summed<'b>(
    name: &str,
    sum: impl Fn(&[u8]) -> u32,
    data: Data<'b>,
) -> Result<Data<'b>, CodecError> {
    let Some((body, stored)) = data.as_slice().split_last_chunk::<4>() else {
        let count = data.as_slice().len();
        let what =
            format!("{name}: {count} bytes found, expected at least 4, the length of the checksum");
        return Err(CodecError::malformed(what));
    };
    let (stored, found) = (u32::from_le_bytes(*stored), sum(body));
    if stored != found {
        let what =
            format!("{name}: the bytes have the checksum {found:#010x}, expected {stored:#010x}");
        return Err(CodecError::malformed(what));
    }
    Ok(data.without_last(4))
}

/// Reads all bytes of `reader`, at most `limit`.
#[cfg(any(feature = "zstd", feature = "gzip", feature = "zarrs", test))]
pub(crate) fn read_bounded(
    codec: &'static str,
    reader: impl std::io::Read,
    hint: usize,
    limit: u64,
) -> Result<Vec<u8>, CodecError> {
    use std::io::Read;

    use crate::isolate::isolate;

    let mut bytes = Vec::with_capacity(hint.min(usize::try_from(limit).unwrap_or(usize::MAX)));
    let wrong = |what: String| CodecError::malformed(format!("{codec}: {what}"));
    let mut reader = reader.take(limit.saturating_add(1));
    isolate(|| reader.read_to_end(&mut bytes))
        .map_err(wrong)?
        .map_err(|error| wrong(error.to_string()))?;
    check(u64::try_from(bytes.len()).unwrap_or(u64::MAX), limit)?;
    Ok(bytes)
}

/// Reads all `whole` bytes of `reader`, and keeps the first `keep` of them. Memory is allocated for these
/// only.
#[cfg(any(feature = "zstd", feature = "gzip", feature = "zarrs", test))]
pub(crate) fn read_first(
    codec: &'static str,
    reader: impl std::io::Read,
    keep: usize,
    whole: u64,
) -> Result<Vec<u8>, CodecError> {
    use std::io::Read;

    use crate::isolate::isolate;

    let wrong = |what: String| CodecError::malformed(format!("{codec}: {what}"));
    // Reads one byte more than expected, to detect superfluous bytes.
    let mut reader = reader.take(whole.saturating_add(1));
    let read = isolate(|| {
        let mut bytes = Vec::new();
        let first = u64::try_from(keep).unwrap_or(u64::MAX);
        (&mut reader).take(first).read_to_end(&mut bytes)?;
        let rest = std::io::copy(&mut reader, &mut std::io::sink())?;
        Ok::<_, std::io::Error>((bytes, rest))
    });
    let (bytes, rest) = read
        .map_err(wrong)?
        .map_err(|error| wrong(error.to_string()))?;
    let found = u64::try_from(bytes.len())
        .unwrap_or(u64::MAX)
        .saturating_add(rest);
    if found != whole {
        let found = if found > whole {
            format!("more than {whole}")
        } else {
            found.to_string()
        };
        return Err(wrong(format!("{found} bytes found, expected {whole}")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #[cfg(any(feature = "zstd", feature = "gzip", feature = "zarrs", test))]
    #[test]
    fn a_decoder_that_panics_is_malformed_data() {
        struct Panics;
        impl std::io::Read for Panics {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                panic!("index out of bounds")
            }
        }
        let error = super::read_bounded("gzip", Panics, 0, 1 << 20).unwrap_err();
        assert!(matches!(error, crate::CodecError::Malformed(_)));
        assert_eq!(error.to_string(), "gzip: index out of bounds");
    }
}
