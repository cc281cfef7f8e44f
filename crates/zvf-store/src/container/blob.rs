//! One blob stored as a separate array: one-dimensional, `uint8`, one chunk.
//!
//! ```text
//! <path>/zarr.json    shape [N], chunk_shape [N]; N = 0: shape [0], chunk_shape [1]
//! <path>/c/0          the N encoded bytes; absent: N bytes of the fill value, normally 0
//! ```
//!
//! Each blob has its own codecs: they usually differ between the blobs of a store.
//!
//! Source: specification 0.7, sections 2.1 to 2.3; 0.8, section 3.1.

use bytes::Bytes;
use serde_json::Value;
use zvf_meta::ArrayDoc;

use crate::StoreError;
use crate::codec::decode;
use crate::layout::lost;
use zvf_codec::{Chain, Data};
use zvf_io::Cap;

/// Key of the only chunk of a blob, below its path.
pub(crate) const CHUNK: &str = "c/0";

/// The document of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blob {
    /// Bytes of the blob.
    pub(crate) length: u64,
    fill: u8,
    chain: Chain,
    /// The number of chunks that are recorded as stored.
    recorded: Option<u64>,
}

impl Blob {
    /// Reads the document of the blob at `path`.
    ///
    /// # Errors
    /// A document of anything but one `uint8` array of one axis and at most one chunk; a codec that is not read.
    pub(crate) fn new(path: &str, doc: &ArrayDoc) -> Result<Self, StoreError> {
        let key = || format!("{path}/zarr.json");
        if doc.data_type.name != "uint8" {
            return Err(StoreError::malformed(
                key(),
                format!("data_type is {:?}, expected \"uint8\"", doc.data_type.name),
            ));
        }
        let ([length], [chunk]) = (doc.shape.as_slice(), doc.chunk_shape.as_slice()) else {
            return Err(StoreError::malformed(
                key(),
                format!("shape is {:?}, expected one number", doc.shape),
            ));
        };
        let (length, chunk) = (*length, *chunk);
        if chunk != length.max(1) {
            return Err(StoreError::malformed(
                key(),
                format!(
                    "shape is [{length}] in chunks of [{chunk}], expected one chunk of as many bytes"
                ),
            ));
        }
        if doc.key_encoding.object_key(&[0]) != CHUNK {
            return Err(StoreError::unsupported(
                key(),
                format!(
                    "a blob with the chunk key {:?}",
                    doc.key_encoding.object_key(&[0])
                ),
            ));
        }
        if let Some(transformer) = doc.storage_transformers.first() {
            return Err(StoreError::unsupported(
                key(),
                format!("storage transformer {transformer}"),
            ));
        }
        let fill = match &doc.fill_value {
            Value::Null => Some(0),
            value => value.as_u64().and_then(|n| u8::try_from(n).ok()),
        };
        let Some(fill) = fill else {
            return Err(StoreError::malformed(
                key(),
                format!("fill_value is {}, expected 0 to 255", doc.fill_value),
            ));
        };
        let chain = match doc.codecs.split_first() {
            Some((first, rest)) if first.name == "bytes" => Chain::new(rest),
            Some((first, _)) => Err(first.name.clone()),
            None => {
                return Err(StoreError::malformed(key(), "the codec list is empty"));
            }
        };
        let chain =
            chain.map_err(|name| StoreError::unsupported(key(), format!("codec {name}")))?;
        Ok(Self {
            length,
            fill,
            chain,
            recorded: doc.attributes.stored_chunks,
        })
    }

    /// Bytes of the decoded chunk: the length of the blob, or 1 if the blob is empty.
    pub(crate) fn stored(&self) -> u64 {
        self.length.max(1)
    }

    /// A range of a blob whose chunk is not stored, as fill values. The caller has checked `length` against the limits.
    ///
    /// # Errors
    /// Malformed: a chunk that is recorded as stored.
    pub(crate) fn absent(&self, path: &str, length: usize) -> Result<Bytes, StoreError> {
        match lost(&format!("{path}/{CHUNK}"), 0, self.recorded) {
            Some(error) => Err(error),
            None => Ok(vec![self.fill; length].into()),
        }
    }

    /// Whether the chunk's bytes are the blob's bytes, so that a part can be read by range.
    pub(crate) fn is_plain(&self) -> bool {
        self.chain == Chain::default()
    }

    /// Returns the blob from the bytes of its chunk. `None` = no chunk is stored.
    ///
    /// # Errors
    /// More than `cap` bytes; damaged bytes; a length that differs from the document.
    pub(crate) fn decode(
        &self,
        path: &str,
        data: Option<Data<'_>>,
        cap: Cap,
    ) -> Result<Bytes, StoreError> {
        cap.check(path, self.length)?;
        let length = usize::try_from(self.length).map_err(|_| cap.exceeded(path, self.length))?;
        if length == 0 {
            return Ok(Bytes::new());
        }
        let Some(data) = data else {
            return self.absent(path, length);
        };
        let key = format!("{path}/{CHUNK}");
        let data = decode(&self.chain, &key, data, cap)?;
        let found = data.as_slice().len();
        if found != length {
            return Err(StoreError::malformed(
                key,
                format!("{found} bytes found, expected {length}"),
            ));
        }
        Ok(data.into_bytes())
    }
}

/// Decodes one blob: `doc` is its document at `path`, `data` the bytes of its only chunk, `None` = no chunk is stored.
///
/// # Errors
/// As [`Blob::new`] and [`Blob::decode`].
pub(crate) fn decode_child(
    path: &str,
    doc: &ArrayDoc,
    data: Option<Data<'_>>,
    cap: Cap,
) -> Result<Bytes, StoreError> {
    Blob::new(path, doc)?.decode(path, data, cap)
}

#[cfg(test)]
mod tests {
    use zvf_meta::ArrayDoc;

    use super::decode_child;
    use zvf_codec::Data;
    use zvf_io::Cap;

    const CAP: Cap = Cap {
        what: zvf_io::CELL_BYTES,
        most: 1 << 20,
    };

    fn doc(shape: &str, chunk: &str, more: &str) -> ArrayDoc {
        let text = format!(
            r#"{{"shape":{shape},"data_type":"uint8","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{chunk}}}}},
            "chunk_key_encoding":{{"name":"default","configuration":{{"separator":"/"}}}},"fill_value":0,
            {more}"attributes":{{}},"zarr_format":3,"node_type":"array","storage_transformers":[]}}"#
        );
        ArrayDoc::parse(text.as_bytes()).unwrap()
    }

    const BYTES: &str = r#""codecs":[{"name":"bytes"}],"#;

    #[test]
    fn missing_c_0_is_zeros() {
        let found = decode_child("a", &doc("[5]", "[5]", BYTES), None, CAP).unwrap();
        assert_eq!(&found[..], [0; 5]);
    }

    #[test]
    fn an_empty_blob_has_no_chunk() {
        let doc = doc("[0]", "[1]", BYTES);
        assert!(decode_child("a", &doc, None, CAP).unwrap().is_empty());
        // A chunk that is stored nevertheless has only padding.
        let some = Some(Data::Borrowed(&[7]));
        assert!(decode_child("a", &doc, some, CAP).unwrap().is_empty());
    }

    #[test]
    fn codecs_are_taken_from_the_child() {
        let plain = Some(Data::Borrowed(b"hello"));
        let found = decode_child("a", &doc("[5]", "[5]", BYTES), plain, CAP).unwrap();
        assert_eq!(&found[..], b"hello");
        let checked =
            r#""codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}],"#;
        let mut stored = b"hello".to_vec();
        stored.extend(crc32c::crc32c(b"hello").to_le_bytes());
        let found = decode_child(
            "a",
            &doc("[5]", "[5]", checked),
            Some(Data::Borrowed(&stored)),
            CAP,
        );
        assert_eq!(&found.unwrap()[..], b"hello");
        let strange = doc(
            "[5]",
            "[5]",
            r#""codecs":[{"name":"bytes"},{"name":"pcodec"}],"#,
        );
        let error = decode_child("a", &strange, None, CAP).unwrap_err();
        assert!(error.to_string().contains("pcodec"), "{error}");
    }

    #[test]
    fn what_is_no_blob_is_refused() {
        let short = Some(Data::Borrowed(b"hell"));
        let error = decode_child("a", &doc("[5]", "[5]", BYTES), short, CAP).unwrap_err();
        assert!(
            error.to_string().contains("4 bytes found, expected 5"),
            "{error}"
        );
        let huge = decode_child(
            "a",
            &doc("[99999999999999]", "[99999999999999]", BYTES),
            None,
            CAP,
        );
        assert!(huge.unwrap_err().to_string().contains("cell_bytes"));
        for (shape, chunk) in [("[5,1]", "[5,1]"), ("[]", "[]"), ("[5]", "[2]")] {
            assert!(
                decode_child("a", &doc(shape, chunk, BYTES), None, CAP).is_err(),
                "{shape}"
            );
        }
        let text = doc("[5]", "[5]", BYTES)
            .to_json()
            .replace("\"fill_value\": 0", "\"fill_value\": 256");
        assert!(decode_child("a", &ArrayDoc::parse(text.as_bytes()).unwrap(), None, CAP).is_err());
    }
}
