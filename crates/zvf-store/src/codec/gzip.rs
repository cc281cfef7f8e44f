//! gzip members.

use flate2::read::MultiGzDecoder;

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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::decode;
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
}
