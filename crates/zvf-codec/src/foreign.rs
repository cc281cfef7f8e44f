//! Codecs that the `zarrs` crate decodes, one at a time. Their output is never larger than their input.
//!
//! They are not called through arrays of `zarrs`: its partial decoders fail on the checksum of cells inside shards (0.23.14), and do not support
//! cells that are arrays of their own.

use std::borrow::Cow;
use std::sync::Arc;

use zarrs::array::{BytesRepresentation, BytesToBytesCodecTraits, Codec as Made, CodecOptions};
use zarrs::metadata::v3::MetadataV3;
use zvf_meta::Codec;

use crate::CodecError;
use crate::isolate::isolate;

/// The names of these codecs.
pub(crate) const NAMES: [&str; 2] = ["numcodecs.adler32", "numcodecs.shuffle"];

/// One of these codecs.
#[derive(Debug, Clone)]
pub(crate) struct Foreign {
    codec: Codec,
    made: Arc<dyn BytesToBytesCodecTraits>,
}

/// Codecs are equal if their documents are.
impl PartialEq for Foreign {
    fn eq(&self, other: &Self) -> bool {
        self.codec == other.codec
    }
}

impl Eq for Foreign {}

impl Foreign {
    /// # Errors
    /// The name of a codec that cannot be created, and why.
    pub(crate) fn new(codec: &Codec) -> Result<Self, String> {
        Ok(Self {
            made: make(codec)?,
            codec: codec.clone(),
        })
    }

    /// Decodes bytes that this codec encoded.
    pub(crate) fn decode(&self, data: &[u8]) -> Result<Vec<u8>, CodecError> {
        let told = |why: &dyn std::fmt::Display| {
            CodecError::malformed(format!("{}: {why}", self.codec.name))
        };
        let decoded = isolate(|| {
            let unknown = BytesRepresentation::UnboundedSize;
            let decoded = self
                .made
                .decode(Cow::Borrowed(data), &unknown, &CodecOptions::default());
            decoded.map(Cow::into_owned)
        });
        match decoded {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) => Err(told(&error)),
            Err(panic) => Err(told(&panic)),
        }
    }
}

/// Creates a bytes-to-bytes codec of the `zarrs` crate.
///
/// # Errors
/// The name of the codec, and why it cannot be created.
pub(crate) fn make(codec: &Codec) -> Result<Arc<dyn BytesToBytesCodecTraits>, String> {
    let told = |why: &dyn std::fmt::Display| format!("{}: {why}", codec.name);
    let metadata: MetadataV3 =
        serde_json::from_value(codec.to_value()).map_err(|error| told(&error))?;
    // bz2 panics on a level of 0.
    let made = isolate(|| Made::from_metadata(&metadata));
    match made.map_err(|panic| {
        told(&format!(
            "the codec's library fails with this configuration ({panic})"
        ))
    })? {
        Ok(Made::BytesToBytes(made)) => Ok(made),
        Ok(Made::ArrayToArray(_) | Made::ArrayToBytes(_)) => {
            Err(told(&"it does not encode bytes as bytes"))
        }
        Err(error) => Err(told(&error)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn codec(name: &str, configuration: serde_json::Value) -> Codec {
        Codec {
            configuration,
            ..Codec::named(name)
        }
    }

    #[test]
    fn encoded_bytes_decode_and_damage_is_an_error() {
        let text: Vec<u8> = (7..500_u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        for one in [
            codec(NAMES[0], json!({})),
            codec(NAMES[1], json!({"elementsize": 4})),
        ] {
            let foreign = Foreign::new(&one).unwrap();
            let encoded = foreign
                .made
                .encode(text.clone().into(), &CodecOptions::default())
                .unwrap();
            assert_eq!(foreign.decode(&encoded).unwrap(), text, "{one:?}");
            for end in 0..encoded.len().min(40) {
                // In a shuffled cell, only the length can be wrong.
                let found = foreign.decode(&encoded[..end]);
                assert!(found.is_err() || one.name == NAMES[1], "{one:?} {end}");
            }
            let mut flipped = encoded.to_vec();
            flipped[100] ^= 1;
            let found = foreign.decode(&flipped);
            assert!(found.is_err() || one.name == NAMES[1], "{one:?}");
        }
    }

    #[test]
    fn bytes_are_those_of_numcodecs() {
        let by = |name, configuration, bytes: Vec<u8>| {
            let foreign = Foreign::new(&codec(name, configuration)).unwrap();
            let encoded = foreign.made.encode(bytes.into(), &CodecOptions::default());
            encoded.unwrap().into_owned()
        };
        // numcodecs 0.16.6.
        let sum = [0x1d, 0, 0x5b, 0, 1, 2, 3, 4, 5, 6, 7];
        assert_eq!(by(NAMES[0], json!({}), (1..8).collect()), sum);
        let planes = [0, 4, 1, 5, 2, 6, 3, 7];
        let elements = json!({"elementsize": 4});
        assert_eq!(by(NAMES[1], elements, (0..8).collect()), planes);
    }

    #[test]
    fn codecs_that_cannot_be_created_are_errors() {
        for one in [
            codec("numcodecs.bz2", json!({"level": 0})),
            codec("numcodecs.shuffle", json!({})),
            codec("transpose", json!({"order": [0]})),
            codec("lzma9000", json!({})),
        ] {
            let error = make(&one).unwrap_err();
            assert!(error.contains(&one.name), "{error}");
        }
    }
}
