//! The fragment index.

use zvf_format::fragments::{Fragment, FragmentIndex, FragmentIndexBuilder, RankDirectory};

use crate::split::parameters;

/// A valid magic number, version and flags, put before an input so that the fuzzer reaches the code after their checks.
const HEAD: [u8; 8] = [0x47, 0x46, 0x56, 0x5a, 1, 0, 0, 0];

/// Most rows of one fragment that are visited; a range may claim 2^63.
const WALK: usize = 64;

/// Parses, checks and iterates a fragment index.
///
/// Parameters: whether a valid head is put before the input (bit 0 of byte 0), rows of the vertex buffer (bytes 1 and 2).
///
/// # Panics
///
/// When the views disagree or a rewritten index decodes to something else.
pub fn fragment_index(data: &[u8]) {
    let ([options, low, high], rest) = parameters(data);
    let rows = u64::from(u16::from_le_bytes([low, high]));
    if options & 1 == 0 {
        return walk(rest, rows);
    }
    let mut blob = HEAD.to_vec();
    blob.extend_from_slice(rest);
    walk(&blob, rows);
}

fn walk(blob: &[u8], rows: u64) {
    let Ok(index) = FragmentIndex::parse(blob) else {
        return;
    };
    let sound = index.verify().is_ok();
    let inside = index.check_rows(rows).is_ok();
    assert!(
        sound || !inside,
        "rows were checked in an index that does not verify"
    );
    assert!(
        inside || index.check(rows).is_err(),
        "all invariants hold but a row is outside"
    );
    let _ = index.tiles(rows);
    let directory = RankDirectory::build(&index);
    let mut walked = 0;
    for (f, fragment) in (0_u32..).zip(index.iter()) {
        walked += 1;
        if sound {
            assert_eq!(
                index.get(f),
                Some(fragment),
                "fragment {f} by number and in order"
            );
            assert_eq!(
                directory.get(&index, f),
                Some(fragment),
                "fragment {f} by directory"
            );
        }
        assert_eq!(
            index.is_range(f),
            Some(matches!(fragment, Fragment::Range { .. }))
        );
        for row in fragment.rows().take(WALK) {
            assert!(
                !inside || (0..i64::from(u16::MAX)).contains(&row),
                "row {row} of fragment {f}"
            );
        }
    }
    assert!(
        !sound || walked == index.len(),
        "{walked} of {} fragments",
        index.len()
    );
    assert_eq!(index.get(index.len()), None);
    if inside {
        assert!(index.extent().is_ok_and(|extent| extent <= rows));
        rewrite(&index);
    }
}

/// Writes the fragments unchanged, and reads them back.
fn rewrite(index: &FragmentIndex<'_>) {
    let mut builder = FragmentIndexBuilder::new();
    for fragment in index.iter() {
        builder
            .push_verbatim(fragment)
            .expect("a checked fragment can be written");
    }
    let blob = builder.finish();
    let again = FragmentIndex::parse(&blob).expect("a written index parses");
    assert!(index.iter().eq(again.iter()));
    assert!(again.verify().is_ok());
}
