//! Prints the positions of the rows of one fragment, from the bytes of two cells of a chunk. Nothing is allocated: the index and its
//! rows are views of these bytes.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use zvf_format::fragments::FragmentIndex;

/// A fragment index: fragment 0 has the rows 0 to 2, fragment 1 the rows 5, 3 and 4.
#[rustfmt::skip]
static FRAGMENTS: [u8; 72] = [
    0x47, 0x46, 0x56, 0x5A, 1, 0, 0, 0,              // magic, version 1, flags 0
    2, 0, 0, 0, 1, 0, 0, 0,                          // two fragments, one of them a range
    0b01, 0, 0, 0, 0, 0, 0, 0,                       // bitmap: fragment 0 is the range
    0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,  // from row 0, three rows
    0, 0, 0, 0, 3, 0, 0, 0,                          // the only list is 0 .. 3 of:
    5, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0,
];

/// Positions of six rows, x and y as uint8.
static VERTICES: [u8; 12] = [0, 0, 10, 0, 20, 5, 7, 7, 7, 9, 7, 8];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (positions, _) = VERTICES.as_chunks::<2>();
    let index = FragmentIndex::parse(&FRAGMENTS)?;
    index.check_rows(positions.len() as u64)?;
    for (fragment, rows) in index.iter().enumerate() {
        for row in rows.rows() {
            let [x, y] = positions.get(usize::try_from(row)?).ok_or("no such row")?;
            println!("fragment {fragment}, row {row}: ({x}, {y})");
        }
    }
    Ok(())
}
