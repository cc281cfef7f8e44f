//! Decodes stored objects with the codecs of their arrays; errors name the object.

use bytes::Bytes;
use zvf_codec::{Chain, CodecError, Data};
use zvf_format::dtype::{ByteOrder, DType};
use zvf_io::{Cap, IoError};
use zvf_meta::Codec;

use crate::StoreError;

/// Decodes the bytes of an object.
///
/// # Errors
/// Malformed, for bytes that the codecs did not write; limit, for more decoded bytes than `cap`.
pub(crate) fn decode<'b>(
    chain: &Chain,
    key: &str,
    data: Data<'b>,
    cap: Cap,
) -> Result<Data<'b>, StoreError> {
    let decoded = chain.decode(data, cap.most);
    decoded.map_err(|error| failed(key, cap, error))
}

/// At least the first `keep` of the `whole` bytes of an object; all of them if the limit allows it.
///
/// # Errors
/// As [`decode`]; an object of another length than `whole`, if it is longer than `cap`.
pub(crate) fn decode_first<'b>(
    chain: &Chain,
    key: &str,
    data: Data<'b>,
    size: (usize, u64),
    cap: Cap,
) -> Result<Data<'b>, StoreError> {
    let decoded = chain.decode_first(data, size, cap.most);
    decoded.map_err(|error| failed(key, cap, error))
}

/// Values of type `dtype` with the least significant byte first.
pub(crate) fn little_endian(dtype: DType, values: Bytes) -> Bytes {
    let number = dtype.number_size();
    if dtype.order == ByteOrder::Little || number < 2 {
        return values;
    }
    let mut values = Vec::from(values);
    values.chunks_exact_mut(number).for_each(<[u8]>::reverse);
    values.into()
}

/// The error for bytes that a codec cannot decode.
#[cold]
pub(crate) fn failed(key: &str, cap: Cap, error: CodecError) -> StoreError {
    match error {
        CodecError::Limit { bytes } => cap.exceeded(key, bytes).into(),
        CodecError::Unsupported(what) => StoreError::unsupported(key, what),
        CodecError::Library(source) => IoError::file(key, source).into(),
        other => StoreError::malformed(key, other.to_string()),
    }
}

/// The byte order that a codec `bytes` states; `None` if the value is unknown.
pub(crate) fn byte_order(codec: &Codec) -> Option<ByteOrder> {
    match codec.configuration.get("endian").and_then(|e| e.as_str()) {
        None | Some("little") => Some(ByteOrder::Little),
        Some("big") => Some(ByteOrder::Big),
        Some(_) => None,
    }
}

/// Whether the index of a shard has a checksum.
///
/// # Errors
/// The names of its codecs, if they are not the two that are supported.
pub(crate) fn index_checksum(codecs: &[Codec]) -> Result<bool, Vec<&str>> {
    let names: Vec<&str> = codecs.iter().map(|codec| codec.name.as_str()).collect();
    match names.as_slice() {
        ["bytes"] => Ok(false),
        ["bytes", "crc32c"] => Ok(true),
        _ => Err(names),
    }
}
