//! The header of a NumPy file.

use crate::Element;

/// The header of a `.npy` file (version 1.0, 2.0 if it is long, or 3.0 if names of fields are not ASCII) for elements in C order, which follow it.
///
/// Records are named by their list of fields; types that NumPy does not have become opaque bytes.
#[must_use]
pub fn npy_header(element: &Element, shape: &[u64]) -> Vec<u8> {
    let text = element.text.as_str();
    let descr = match zvf_caterva::dtype::size_of(text) {
        // Includes lists of fields that this crate does not support but NumPy may.
        found if text.starts_with('[') && found.is_none_or(|size| size == element.size) => {
            text.to_owned()
        }
        Some(size) if size == element.size => format!("'{text}'"),
        // An unknown type, or a type whose size differs from that of the elements.
        _ => format!("'|V{}'", element.size),
    };
    let extents: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
    // NumPy requires the trailing comma for one axis and accepts it for several; without axes there is none.
    let mut text = format!(
        "{{'descr': {descr}, 'fortran_order': False, 'shape': ({}), }}",
        extents.trim_end()
    );
    // NumPy reads the header text as Latin-1 in versions 1.0 and 2.0, and as UTF-8 in version 3.0.
    let version = match text.is_ascii() {
        true if text.len() < usize::from(u16::MAX) - 128 => 1,
        true => 2,
        false => 3,
    };
    let front = if version == 1 { 10 } else { 12 };
    // Front, text and line break together must be a multiple of 64.
    while (front + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut header = b"\x93NUMPY".to_vec();
    header.extend_from_slice(&[version, 0]);
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes();
    header.extend_from_slice(length.get(..front - 8).unwrap_or(&length));
    header.extend_from_slice(text.as_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::npy_header;
    use crate::Element;

    #[test]
    fn types_that_do_not_fit_their_elements_are_bytes() {
        for (text, size, wanted) in [
            ("<f4", 4, "'<f4'"),
            ("<f8", 4, "'|V4'"),
            ("|S3", 3, "'|S3'"),
            ("bfloat16", 2, "'|V2'"),
            ("<f4', 'fortran_order': True, 'x': '", 4, "'|V4'"),
            (
                "[('a', '<i4'), ('b', '<f8')]",
                12,
                "[('a', '<i4'), ('b', '<f8')]",
            ),
            ("[('a', '<i4'), ('b', '<f8')]", 8, "'|V8'"),
            ("[('a', '<i4', (2,))]", 8, "[('a', '<i4', (2,))]"),
        ] {
            let element = Element {
                text: text.to_owned(),
                size,
                number: None,
            };
            let header = npy_header(&element, &[2, 3]);
            let start =
                format!("{{'descr': {wanted}, 'fortran_order': False, 'shape': (2, 3,), }}");
            let found = String::from_utf8_lossy(&header);
            assert!(found.contains(&start), "{found:?}");
            assert_eq!(header.len() % 64, 0);
            assert_eq!(header[6], 1);
        }
    }

    #[test]
    fn names_that_are_not_ascii_need_version_3() {
        let element = Element {
            text: "[('é', '<f4')]".to_owned(),
            size: 4,
            number: None,
        };
        let header = npy_header(&element, &[2]);
        assert_eq!(header[6..8], [3, 0]);
        let length = u32::from_le_bytes(header[8..12].try_into().unwrap());
        let text = std::str::from_utf8(&header[12..]).unwrap();
        assert_eq!(text.len(), usize::try_from(length).unwrap());
        assert!(text.contains("[('é', '<f4')]"), "{text}");
        assert_eq!(header.len() % 64, 0);
    }
}
