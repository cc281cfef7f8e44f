//! Tests the cells that a selection intersects.

use std::collections::BTreeSet;

use proptest::prelude::*;
use zvf_grid::{Axis, Dims, GridError, Selection};

use crate::naive;

proptest! {
    /// The cells are those of the selected elements, each once, in C order; their parts hold every element
    /// once.
    #[test]
    fn cells_are_those_of_the_elements((shape, cell, axes) in naive::cases()) {
        let selection = Selection::new(&axes, &shape).unwrap();
        let wanted: BTreeSet<Vec<u64>> = naive::coords(&selection.shape())
            .iter()
            .map(|at| {
                at.iter()
                    .zip(&axes)
                    .zip(&cell)
                    .map(|((k, axis), cell)| (axis.start + k * axis.step) / cell)
                    .collect()
            })
            .collect();
        let cells = selection.cells(&cell).unwrap();
        prop_assert_eq!(cells.total(), Some(wanted.len() as u64));
        let found: Vec<_> = cells.collect();
        let coords: Vec<Vec<u64>> = found.iter().map(|part| part.coord().to_vec()).collect();
        prop_assert_eq!(coords, wanted.into_iter().collect::<Vec<_>>());
        let elements: u64 = found.iter().map(|part| part.count().unwrap()).sum();
        prop_assert_eq!(Some(elements), selection.count());
    }

    /// Blocks inside chunks: the two levels together put every element in its place.
    #[test]
    fn blocks_inside_chunks_take_every_element(
        (shape, chunk, axes) in naive::cases(),
        blocks in prop::collection::vec(1u64..5, 5),
    ) {
        let selection = Selection::new(&axes, &shape).unwrap();
        let block = &blocks[..shape.len()];
        let mut result = vec![None; usize::try_from(selection.count().unwrap()).unwrap()];
        for outer in selection.cells(&chunk).unwrap() {
            for inside in outer.inner().cells(block).unwrap() {
                let runs = outer.nested(&inside);
                let counts: Vec<u64> = runs[..shape.len()].iter().map(|run| run.count).collect();
                for at in naive::coords(&counts) {
                    let mut from = Vec::new();
                    let mut to = Vec::new();
                    for (axis, k) in at.iter().enumerate() {
                        from.push(
                            outer.coord()[axis] * chunk[axis]
                                + inside.coord()[axis] * block[axis]
                                + runs[axis].src
                                + k * runs[axis].step,
                        );
                        to.push(runs[axis].dst + k);
                    }
                    let slot = &mut result[naive::position(&to, &selection.shape())];
                    prop_assert!(slot.is_none(), "an element comes twice");
                    *slot = Some(naive::position(&from, &shape));
                }
            }
        }
        let found: Option<Vec<usize>> = result.into_iter().collect();
        prop_assert_eq!(found, Some(naive::selected(&axes, &shape)));
    }

    /// Slabs, concatenated, are the whole selection; no cell is in two.
    #[test]
    fn slabs_follow_each_other((shape, cell, axes) in naive::cases(), most in 1u64..6) {
        let selection = Selection::new(&axes, &shape).unwrap();
        let mut all = Vec::new();
        let mut cells = BTreeSet::new();
        let slabs: Vec<_> = selection.slabs(&cell, most).collect();
        prop_assert!(slabs.len() as u64 <= most);
        for slab in slabs {
            all.extend(naive::selected(slab.axes(), &shape));
            for part in slab.cells(&cell).unwrap() {
                prop_assert!(cells.insert(part.coord().to_vec()), "a cell is in two slabs");
            }
        }
        prop_assert_eq!(all, naive::selected(&axes, &shape));
    }
}

#[test]
fn a_scalar_has_one_cell_and_one_element() {
    let selection = Selection::all(&[]).unwrap();
    assert_eq!(selection.count(), Some(1));
    assert_eq!(selection.cells(&[]).unwrap().count(), 1);
    assert_eq!(selection.slabs(&[], 4).count(), 1);
}

#[test]
fn a_column_of_a_grid_of_2_to_60_cells_is_found_at_once() {
    let shape = [1 << 60, 8];
    let selection = Selection::new(&[Axis::new(5, 1 << 60, 1 << 58), Axis::at(3)], &shape).unwrap();
    let cells = selection.cells(&[1, 4]).unwrap();
    assert_eq!(cells.total(), Some(4));
    assert_eq!(
        cells.map(|part| part.coord()[0]).collect::<Vec<_>>(),
        [5, 5 + (1 << 58), 5 + (1 << 59), 5 + 3 * (1 << 58)]
    );
}

#[test]
fn extents_of_64_bits_do_not_overflow() {
    let shape = [u64::MAX, u64::MAX];
    let all = Selection::all(&shape).unwrap();
    assert_eq!(all.count(), None);
    assert_eq!(all.cells(&[u64::MAX, 1]).unwrap().total(), Some(u64::MAX));
    assert_eq!(all.cells(&[1, 1]).unwrap().total(), None);
    let last = Selection::new(
        &[Axis::at(u64::MAX - 1), Axis::new(0, u64::MAX, u64::MAX)],
        &shape,
    );
    let parts: Vec<_> = last.unwrap().cells(&[7, 7]).unwrap().collect();
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0].coord()[0], (u64::MAX - 1) / 7);
    // A third of the axis, rounded up to borders of cells, twice.
    assert_eq!(all.slabs(&[1 << 62, 1], 3).count(), 2);
}

#[test]
fn ranges_outside_the_array_are_refused() {
    for (range, extent) in [
        (Axis::new(0, 5, 1), 4),
        (Axis::new(3, 2, 1), 4),
        (Axis::new(0, 4, 0), 4),
    ] {
        let refused = Selection::new(&[range], &[extent]);
        assert!(
            matches!(refused, Err(GridError::BadRange { axis: 0, .. })),
            "{range:?}"
        );
    }
    assert_eq!(
        Selection::all(&[1; 17]),
        Err(GridError::TooManyAxes { found: 17 })
    );
    assert_eq!(
        Selection::new(&[Axis::all(1)], &[1, 1]),
        Err(GridError::RankMismatch {
            found: 1,
            expected: 2
        })
    );
    let cells = Selection::all(&[3, 3]).unwrap().cells(&[1, 0]);
    assert_eq!(cells.err(), Some(GridError::EmptyCell { axis: 1 }));
}

#[test]
fn shapes_of_cells_and_grids() {
    assert_eq!(&Dims::grid(&[5, 7, 0], &[3, 4, 0]).unwrap()[..], &[2, 2, 0]);
    assert_eq!(
        Dims::grid(&[5], &[0]),
        Err(GridError::EmptyCell { axis: 0 })
    );
    assert_eq!(
        &Dims::clipped(&[1, 1, 9], &[3, 4, 2], &[5, 7, 4]).unwrap()[..],
        &[2, 3, 0]
    );
    let shape = Dims::new(&[3, 4]).unwrap();
    assert_eq!(shape.position(&[2, 3]), Some(11));
    assert_eq!(shape.position(&[2, 4]), None);
    assert_eq!(
        Dims::new(&[u64::MAX, u64::MAX, 0]).unwrap().count(),
        Some(0)
    );
    assert_eq!(format!("{shape:?}"), "[3, 4]");
}

#[test]
fn a_whole_cell_is_recognised() {
    let parts: Vec<_> = Selection::all(&[4, 6])
        .unwrap()
        .cells(&[4, 4])
        .unwrap()
        .collect();
    assert!(parts[0].is_whole(&[4, 4]));
    assert!(!parts[1].is_whole(&[4, 4]));
    assert!(parts[1].is_whole(&[4, 2]));
}
