//! Checks the values of cells and tables: dates and times are in the range of their unit, texts have valid code points.

use zvf_format::dtype::{DType, DTypeKind};
use zvf_format::int::wide;
use zvf_meta::moments::Moments;

use crate::check::Check;
use crate::finding::{Findings, Place};

/// Checks the values of a cell or of rows of a table; reports the first invalid value. `bytes` are the rows from `first` on, each with `width` elements of
/// `dtype`.
pub(crate) fn check(
    findings: &mut Findings,
    place: impl Fn() -> Place,
    unit: Option<&str>,
    (dtype, width): (DType, usize),
    (first, bytes): (u64, &[u8]),
) {
    let row = |at: usize| first.saturating_add(wide(at / width.max(1)));
    if let Some((at, code)) = dtype.first_odd_text(bytes) {
        let found = format!("{code:#x}");
        findings.add(
            Check::TextCodePoints,
            place().row(row(at)),
            found,
            "a code point",
        );
    }
    let moments = unit.and_then(Moments::of_unit);
    if let Some(moments) = moments.filter(|_| dtype.kind == DTypeKind::I64) {
        let count = bytes.len() / dtype.size();
        let numbers = (0..count).map(|at| dtype.integer_at(bytes, at).unwrap_or(0));
        if let Some((at, number)) = moments.first_odd(numbers) {
            let place = place().row(row(at));
            findings.add(Check::MomentRange, place, number, moments.expected());
        }
    }
}
