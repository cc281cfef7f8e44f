//! Computes the requests that read a part of an image whose tiles are stored consecutively in one object. Nearby tiles are fetched
//! together; the storage determines which gaps are small enough.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use zvf_grid::{Axis, Dims, GridError, Merge, Selection};

fn main() -> Result<(), GridError> {
    let (shape, tile) = ([1000, 1000], [100, 100]);
    let bytes_of_a_tile = 100 * 100 * 2; // uint16, uncompressed
    let wanted = Selection::new(&[Axis::new(150, 350, 1), Axis::new(0, 250, 1)], &shape)?;

    let grid = Dims::grid(&shape, &tile)?;
    let mut ranges = Vec::new();
    for cell in wanted.cells(&tile)? {
        let number = grid.position(&cell.coord()).ok_or(GridError::TooLarge)?;
        ranges.push(number * bytes_of_a_tile..(number + 1) * bytes_of_a_tile);
    }
    for (storage, merge) in [("disk", Merge::DISK), ("bucket", Merge::BUCKET)] {
        println!("{storage}:");
        for (request, tiles) in merge.requests(ranges.iter().cloned()) {
            println!(
                "  bytes {} to {}: {tiles} tiles",
                request.start, request.end
            );
        }
    }
    Ok(())
}
