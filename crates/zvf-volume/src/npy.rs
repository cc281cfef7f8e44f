//! The header of a NumPy file.

use crate::Element;

/// The header of a `.npy` file (version 1.0, or 2.0 where the text is long) of elements in C order; they follow it.
///
/// Plain types are named as they are, records by their list of fields; what is no type of NumPy is opaque bytes.
#[must_use]
pub fn npy_header(element: &Element, shape: &[u64]) -> Vec<u8> {
    let descr = match element.text.as_str() {
        list if list.starts_with('[') => list.to_owned(),
        text if text.starts_with(['<', '>', '|']) => format!("'{text}'"),
        _ => format!("'|V{}'", element.size),
    };
    let extents: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
    // One axis needs its comma, several do not mind it, none has none.
    let mut text = format!(
        "{{'descr': {descr}, 'fortran_order': False, 'shape': ({}), }}",
        extents.trim_end()
    );
    let short = text.len() < usize::from(u16::MAX) - 128;
    let front = if short { 10 } else { 12 };
    // Front, text and line break together are a multiple of 64.
    while (front + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut header = b"\x93NUMPY".to_vec();
    header.extend_from_slice(if short { &[1, 0] } else { &[2, 0] });
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes();
    header.extend_from_slice(length.get(..front - 8).unwrap_or(&length));
    header.extend_from_slice(text.as_bytes());
    header
}
