//! The map that an image states.

use zvf_meta::Affine;

use crate::AxisInfo;

/// The map that an image states for its axes of space. `order` says, for each of them, which axis of the world it is.
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
    // Numbers that are not finite map nothing: then there is no map either.
    Affine::from_rows(&rows, axes.len())
        .unwrap_or_else(|_| Affine::of_scale(&vec![0.0; axes.len()]))
}
