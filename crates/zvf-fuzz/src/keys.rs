//! Texts of the format: chunk keys, deltas, offsets, level names, number types.

use zvf_format::dtype::DType;
use zvf_format::keys::{
    format_delta, format_key, format_offsets, parse_cell_key, parse_delta, parse_key, parse_level,
    parse_offsets,
};

use crate::split::parameters;

/// Parses any text as every kind of key. Parameters: key rank and link width.
///
/// # Panics
///
/// When a parsed key, written again, parses to something else.
pub fn keys(data: &[u8]) {
    let ([rank, width], bytes) = parameters(data);
    let (rank, width) = (usize::from(rank % 9), usize::from(width % 9));
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut numbers = [0; 64];
    if let Ok(found) = parse_key(text, &mut numbers) {
        let again = format_key(&numbers[..found]).to_string();
        let mut numbers_again = [0; 64];
        assert_eq!(parse_key(&again, &mut numbers_again).ok(), Some(found));
        assert_eq!(numbers, numbers_again);
    }
    let _ = parse_cell_key(text, rank, width, &mut numbers);
    if let Ok(delta) = parse_delta(text) {
        assert_eq!(
            parse_delta(&format_delta(delta).to_string()).ok(),
            Some(delta)
        );
    }
    let mut offsets = [0; 64];
    if let Ok(found) = parse_offsets(text, rank, width, &mut offsets) {
        assert_eq!(found, rank * width.saturating_sub(1));
        let again = format_offsets(&offsets[..found], rank).to_string();
        let mut offsets_again = [0; 64];
        assert_eq!(
            parse_offsets(&again, rank, width, &mut offsets_again).ok(),
            Some(found)
        );
        assert_eq!(offsets, offsets_again);
    }
    if let Some(level) = parse_level(text) {
        assert_eq!(level.to_string(), text);
    }
}

/// Parses any text as a number type.
///
/// # Panics
///
/// When a type, written in its canonical form, parses to something else.
pub fn dtype(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(found) = DType::parse(text) {
        assert_eq!(DType::parse(&found.to_string()).ok(), Some(found), "{text}");
        assert!(found.number_size() <= found.size().max(found.number_size()));
    }
}
