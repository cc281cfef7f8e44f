//! gzip members, and streams of zlib.

use flate2::read::{MultiGzDecoder, ZlibDecoder};

use super::read_bounded;
use crate::StoreError;
use crate::kv::Cap;

/// Decompresses one member, or several in a row.
pub(super) fn decode(key: &str, data: &[u8], cap: Cap) -> Result<Vec<u8>, StoreError> {
    read_bounded(
        key,
        "gzip",
        MultiGzDecoder::new(data),
        data.len().saturating_mul(2),
        cap,
    )
}

/// Decompresses one stream of zlib.
pub(super) fn decode_zlib(key: &str, data: &[u8], cap: Cap) -> Result<Vec<u8>, StoreError> {
    let hint = data.len().saturating_mul(2);
    read_bounded(key, "zlib", ZlibDecoder::new(data), hint, cap)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{decode, decode_zlib};
    use crate::kv::Cap;

    #[test]
    fn members_are_read_and_bombs_refused() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&vec![3u8; 100_000]).unwrap();
        let bytes = encoder.finish().unwrap();
        assert_eq!(
            decode(
                "k",
                &bytes,
                Cap {
                    what: "cell_bytes",
                    bytes: 1 << 20
                }
            )
            .unwrap(),
            vec![3u8; 100_000]
        );
        let small = Cap {
            what: "cell_bytes",
            bytes: 1000,
        };
        assert_eq!(
            decode("k", &bytes, small).unwrap_err().class(),
            crate::Class::Limit
        );
        for end in 0..bytes.len() {
            assert!(
                decode(
                    "k",
                    &bytes[..end],
                    Cap {
                        what: "cell_bytes",
                        bytes: 1 << 20
                    }
                )
                .is_err()
            );
        }
    }

    #[test]
    fn streams_of_zlib_are_read_and_bombs_refused() {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&vec![3u8; 100_000]).unwrap();
        let bytes = encoder.finish().unwrap();
        let cap = |bytes| Cap {
            what: "cell_bytes",
            bytes,
        };
        let decoded = decode_zlib("k", &bytes, cap(1 << 20)).unwrap();
        assert_eq!(decoded, vec![3u8; 100_000]);
        let told = decode_zlib("k", &bytes, cap(1000)).unwrap_err();
        assert_eq!(told.class(), crate::Class::Limit);
        for end in 0..bytes.len() {
            assert!(decode_zlib("k", &bytes[..end], cap(1 << 20)).is_err());
        }
    }
}
