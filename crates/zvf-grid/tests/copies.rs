//! Elements are copied to the positions that a simple indexer computes, and nothing else changes.

use proptest::prelude::*;
use zvf_grid::{GridError, Run, Selection, copy, fill};

use crate::naive;

/// `count` elements of `item` bytes, with different bytes.
fn elements(count: usize, item: usize) -> Vec<u8> {
    (0..count * item)
        .map(|k| (k % 251) as u8 ^ (k / 251) as u8)
        .collect()
}

/// One axis of a copy between two buffers: run, extent of the source, extent of the target.
fn axis() -> impl Strategy<Value = (Run, u64, u64)> {
    (0u64..4, 1u64..4, 0u64..4, 0u64..5, 0u64..3, 0u64..3).prop_map(
        |(src, step, dst, count, more_src, more_dst)| {
            let far = src + count.saturating_sub(1) * step + 1;
            let run = Run {
                src,
                step,
                dst,
                count,
            };
            (run, far + more_src, dst + count + more_dst)
        },
    )
}

proptest! {
    #[test]
    fn every_element_arrives_and_nothing_else_moves(
        axes in prop::collection::vec(axis(), 0..5),
        item in prop::sample::select(vec![1usize, 2, 3, 4, 7, 8, 16, 19]),
    ) {
        let runs: Vec<Run> = axes.iter().map(|a| a.0).collect();
        let src_shape: Vec<u64> = axes.iter().map(|a| a.1).collect();
        let dst_shape: Vec<u64> = axes.iter().map(|a| a.2).collect();
        let size = |shape: &[u64]| usize::try_from(shape.iter().product::<u64>()).unwrap();
        let src = elements(size(&src_shape), item);
        let mut wanted = vec![0xEE; size(&dst_shape) * item];
        let mut found = wanted.clone();
        let value = elements(1, item);
        let mut filled = wanted.clone();
        let mut wanted_filled = wanted.clone();

        let counts: Vec<u64> = runs.iter().map(|run| run.count).collect();
        for at in naive::coords(&counts) {
            let from: Vec<u64> = at.iter().zip(&runs).map(|(k, r)| r.src + k * r.step).collect();
            let to: Vec<u64> = at.iter().zip(&runs).map(|(k, r)| r.dst + k).collect();
            let from = naive::position(&from, &src_shape) * item;
            let to = naive::position(&to, &dst_shape) * item;
            wanted[to..to + item].copy_from_slice(&src[from..from + item]);
            wanted_filled[to..to + item].copy_from_slice(&value);
        }
        copy(item, &src, &src_shape, &mut found, &dst_shape, &runs).unwrap();
        prop_assert_eq!(&found, &wanted);
        fill(&value, &mut filled, &dst_shape, &runs).unwrap();
        prop_assert_eq!(&filled, &wanted_filled);
    }

    /// A whole read: copies every cell of a grid, stored clipped, into the result.
    #[test]
    fn cells_together_give_the_selection(
        (shape, cell, axes) in naive::cases(),
        item in prop::sample::select(vec![1usize, 2, 4, 5, 8]),
    ) {
        let array = elements(usize::try_from(shape.iter().product::<u64>()).unwrap(), item);
        let selection = Selection::new(&axes, &shape).unwrap();
        let mut found = vec![0; usize::try_from(selection.count().unwrap()).unwrap() * item];
        let mut placed = found.clone();
        for part in selection.cells(&cell).unwrap() {
            let extent = zvf_grid::Dims::clipped(&part.coord(), &cell, &shape).unwrap();
            let mut stored = Vec::new();
            for at in naive::coords(&extent) {
                let place: Vec<u64> = at
                    .iter()
                    .zip(part.coord().iter())
                    .zip(&cell)
                    .map(|((k, c), cell)| c * cell + k)
                    .collect();
                let from = naive::position(&place, &shape) * item;
                stored.extend_from_slice(&array[from..from + item]);
            }
            copy(item, &stored, &extent, &mut found, &selection.shape(), part.runs()).unwrap();
            // The same in two steps: the part as a separate result, then to its place.
            let mut alone = vec![0; usize::try_from(part.count().unwrap()).unwrap() * item];
            copy(item, &stored, &extent, &mut alone, &part.shape(), part.alone().runs()).unwrap();
            part.place(item, &alone, &mut placed, &selection.shape()).unwrap();
        }
        prop_assert_eq!(&placed, &found);
        let wanted: Vec<u8> = naive::selected(&axes, &shape)
            .into_iter()
            .flat_map(|from| array[from * item..(from + 1) * item].to_vec())
            .collect();
        prop_assert_eq!(found, wanted);
    }
}

#[test]
fn copies_out_of_their_buffers_are_refused() {
    let run = |src, step, dst, count| Run {
        src,
        step,
        dst,
        count,
    };
    let mut dst = [0; 4];
    let mut try_one = |run| copy(1, &[0; 8], &[8], &mut dst, &[4], &[run]);
    assert_eq!(try_one(run(0, 2, 0, 4)), Ok(()));
    for bad in [
        run(1, 2, 1, 4),
        run(2, 2, 0, 4),
        run(0, u64::MAX, 0, 2),
        run(u64::MAX, 1, 0, 2),
        run(0, 1, u64::MAX, 2),
        run(0, 0, 0, 2),
    ] {
        assert_eq!(
            try_one(bad),
            Err(GridError::OutOfBuffer { axis: 0 }),
            "{bad:?}"
        );
    }
    assert_eq!(
        copy(2, &[0; 8], &[8], &mut dst, &[2], &[run(0, 1, 0, 1)]),
        Err(GridError::BufferLength {
            found: 8,
            expected: 16
        })
    );
    assert_eq!(
        copy(
            1,
            &[],
            &[u64::MAX, u64::MAX],
            &mut dst,
            &[2, 2],
            &[run(0, 1, 0, 1); 2]
        ),
        Err(GridError::TooLarge)
    );
}
