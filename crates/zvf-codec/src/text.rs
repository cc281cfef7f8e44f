//! Parses compressions from user input.

use std::str::FromStr;

use crate::{CodecError, Compression};

/// The accepted texts, for messages.
const EXPECTED: &str = "auto, none, zstd, zstd:LEVEL (at most 22), gzip, gzip:LEVEL (0 to 9), blosc, or a list of codecs in JSON";

/// Parses `auto`, `none`, `zstd`, `zstd:LEVEL`, `gzip`, `gzip:LEVEL`, `blosc`, or a list of codecs in JSON as
/// [`Compression::from_codecs`] accepts it. The libraries' default levels apply.
///
/// # Errors
/// [`CodecError::Specification`]: another text, an invalid level, or a codec that this build does not have.
impl FromStr for Compression {
    type Err = CodecError;

    fn from_str(text: &str) -> Result<Self, CodecError> {
        let bad = || CodecError::specification(format!("{text:?}"), EXPECTED);
        if text.trim_start().starts_with(['[', '{']) {
            let codecs = serde_json::from_str(text).map_err(|error| {
                CodecError::specification(error.to_string(), "a list of codecs in JSON")
            })?;
            return Self::from_codecs(codecs);
        }
        let (name, level) = match text.split_once(':') {
            None => (text, None),
            Some((name, level)) => (name, Some(level.parse::<i32>().map_err(|_| bad())?)),
        };
        let found = match (name, level) {
            ("auto", None) => Self::Auto,
            ("none", None) => Self::None,
            ("zstd", None) => Self::Zstd,
            ("zstd", Some(level)) => Self::ZstdLevel(level),
            ("gzip", level) => Self::Gzip(u32::try_from(level.unwrap_or(6)).map_err(|_| bad())?),
            // Coordinates have four bytes in most stores; writers replace this size by the item size of each array.
            ("blosc", None) => Self::Blosc(4),
            _ => return Err(bad()),
        };
        found.check().map(|()| found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressions_have_names() {
        for (text, wanted) in [
            ("auto", Compression::Auto),
            ("none", Compression::None),
            ("zstd", Compression::Zstd),
            ("zstd:19", Compression::ZstdLevel(19)),
            ("zstd:-3", Compression::ZstdLevel(-3)),
            ("gzip", Compression::Gzip(6)),
            ("gzip:0", Compression::Gzip(0)),
            (" [\"gzip\"]", Compression::Gzip(6)),
            ("[]", Compression::None),
        ] {
            assert_eq!(text.parse::<Compression>().unwrap(), wanted, "{text}");
        }
        for text in [
            "", "zstd:23", "zstd:x", "gzip:10", "gzip:-1", "none:1", "lz4", "[", "{}",
        ] {
            assert!(text.parse::<Compression>().is_err(), "{text}");
        }
        assert!(matches!("blosc".parse(), Ok(Compression::Blosc(_))));
    }
}
