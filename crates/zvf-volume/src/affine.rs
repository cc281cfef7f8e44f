//! The affine of an image.

use zvf_meta::Affine;

use crate::AxisInfo;

/// The affine of an image from its axes of space to world axes. `order` holds the index of the world
/// axis of each of them. If an offset or a scale is not finite, the affine maps everything to 0.
#[must_use]
pub fn affine_of_axes(axes: &[&AxisInfo], order: &[usize]) -> Affine {
    let width = axes.len().saturating_add(1);
    let mut rows = vec![0.0; axes.len().saturating_mul(width)];
    for (column, (axis, &row)) in axes.iter().zip(order).enumerate() {
        let (offset, scale) = axis.place.unwrap_or((0.0, 1.0));
        for (at, value) in [(column, scale), (axes.len(), offset)] {
            let place = row.saturating_mul(width).saturating_add(at);
            if let Some(one) = rows.get_mut(place) {
                *one = value;
            }
        }
    }
    // `from_rows` refuses numbers that are not finite.
    Affine::from_rows(&rows, axes.len())
        .unwrap_or_else(|_| Affine::of_scale(&vec![0.0; axes.len()]))
}
