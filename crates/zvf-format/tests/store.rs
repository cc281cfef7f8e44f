//! Reads the complete minimal store of `spec/zvf-0.9.md`, appendix A, cell by cell.

use zvf_format::dtype::DType;
use zvf_format::fragments::{FragmentIndex, FragmentIndexBuilder};
use zvf_format::keys::{cmp_ascii, format_key, parse_key};
use zvf_format::vlen::{VlenBuilder, VlenChunk};

/// Points (1,2,3) (4,5,6) (0.5,0.25,0.125), chunk 0.0.0.
const VERTICES: [u8; 44] = [
    1, 0, 0, 0, 0x24, 0, 0, 0, //
    0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, //
    0, 0, 0x80, 0x40, 0, 0, 0xa0, 0x40, 0, 0, 0xc0, 0x40, //
    0, 0, 0, 0x3f, 0, 0, 0x80, 0x3e, 0, 0, 0, 0x3e,
];

#[test]
fn a_chunk_is_its_fragments_of_its_rows() {
    let payload = VlenChunk::parse_cell(&VERTICES).unwrap();
    let dtype = DType::parse("float32").unwrap();
    let rows = payload.len() / (3 * dtype.size());
    assert_eq!(rows, 3);

    let mut builder = FragmentIndexBuilder::new();
    builder.push_range(0, 3).unwrap();
    let cell = VlenBuilder::cell(&builder.finish()).unwrap();
    assert_eq!(cell.len(), 52);
    assert_eq!(cell[..8], [1, 0, 0, 0, 0x2c, 0, 0, 0]);
    let index = FragmentIndex::parse(VlenChunk::parse_cell(&cell).unwrap()).unwrap();
    index.check(3).unwrap();
    assert!(index.tiles(3));

    let xs = index
        .iter()
        .flat_map(|fragment| fragment.rows())
        .map(|row| {
            let at = usize::try_from(row).unwrap() * 12;
            f32::from_le_bytes(payload[at..at + 4].try_into().unwrap())
        });
    assert_eq!(xs.collect::<Vec<_>>(), [1.0, 4.0, 0.5]);
}

#[test]
fn presence_is_listed_in_the_order_of_the_text() {
    let listed = ["-1.0", "-2.-1", "0.0", "1.-1", "1.0"];
    let keys = listed.map(|text| {
        let mut key = [0; 2];
        assert_eq!(parse_key(text, &mut key), Ok(2));
        assert_eq!(format_key(&key).to_string(), text);
        key
    });
    assert!(keys.is_sorted_by(|a, b| cmp_ascii(a, b).is_lt()));
}

#[cfg(feature = "std")]
#[test]
fn errors_become_those_of_std() {
    use std::io::ErrorKind;

    let kind = |bytes: &[u8]| {
        let error = std::io::Error::from(FragmentIndex::parse(bytes).unwrap_err());
        assert!(
            error
                .get_ref()
                .is_some_and(|inner| inner.is::<zvf_format::DecodeError>())
        );
        error.kind()
    };
    assert_eq!(kind(&[0x47]), ErrorKind::UnexpectedEof);
    assert_eq!(kind(&[0; 16]), ErrorKind::InvalidData);
}
