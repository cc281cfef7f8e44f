//! Plans of the views, from the documents and the list of objects of a store: grids, bands, orders.

pub(crate) mod grid;
pub(crate) mod lines;
pub(crate) mod objects;
pub(crate) mod points;

use zvf_store::{Names, Need};

use crate::error::{Result, ViewError};

/// The parts of a level that are loaded.
pub(crate) fn need() -> Need {
    Need {
        vertex_attributes: Names::All,
        objects: true,
        ..Need::default()
    }
}

/// Parses a number in canonical form: digits without a sign or leading zeros.
///
/// # Errors
/// Not found.
pub(crate) fn number(text: &str) -> Result<u64> {
    text.parse::<u64>()
        .ok()
        .filter(|number| number.to_string() == text)
        .ok_or_else(|| ViewError::not_found("expected a number"))
}

/// A deterministic pseudo-random number: the finalizer of SplitMix64.
pub(crate) fn scrambled(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
