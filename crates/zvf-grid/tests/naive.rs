//! A slow reference implementation: one element at a time, by its coordinates.

use proptest::prelude::*;
use zvf_grid::Axis;

/// Every coordinate of an array of `shape`, in C order.
pub(crate) fn coords(shape: &[u64]) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new()];
    for extent in shape {
        all = all
            .into_iter()
            .flat_map(|at: Vec<u64>| {
                (0..*extent).map(move |c| {
                    let mut next = at.clone();
                    next.push(c);
                    next
                })
            })
            .collect();
    }
    all
}

/// Position of `at` in C order.
pub(crate) fn position(at: &[u64], shape: &[u64]) -> usize {
    let mut place = 0;
    for (c, extent) in at.iter().zip(shape) {
        place = place * extent + c;
    }
    usize::try_from(place).unwrap()
}

/// The elements of a selection as positions in the array, in C order of the result.
pub(crate) fn selected(axes: &[Axis], shape: &[u64]) -> Vec<usize> {
    let extents: Vec<u64> = axes
        .iter()
        .map(|axis| {
            (axis.start..axis.stop)
                .step_by(usize::try_from(axis.step).unwrap())
                .count() as u64
        })
        .collect();
    coords(&extents)
        .iter()
        .map(|at| {
            let place: Vec<u64> = at
                .iter()
                .zip(axes)
                .map(|(k, axis)| axis.start + k * axis.step)
                .collect();
            position(&place, shape)
        })
        .collect()
}

/// An array's shape, cells for it and a selection of it; up to five axes, small.
pub(crate) fn cases() -> impl Strategy<Value = (Vec<u64>, Vec<u64>, Vec<Axis>)> {
    prop::collection::vec(
        (0u64..7, 1u64..9).prop_flat_map(|(extent, cell)| {
            (Just(extent), Just(cell), 0..=extent, 0..=extent, 1u64..9)
        }),
        0..5,
    )
    .prop_map(|axes| {
        let shape = axes.iter().map(|a| a.0).collect();
        let cells = axes.iter().map(|a| a.1).collect();
        let ranges = axes
            .iter()
            .map(|a| Axis::new(a.2.min(a.3), a.2.max(a.3), a.4))
            .collect();
        (shape, cells, ranges)
    })
}
