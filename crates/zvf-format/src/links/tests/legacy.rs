//! The records of 0.7.

use std::vec::Vec;

use crate::links::legacy::FlatRecords;

#[test]
fn the_flat_records_of_0_7() {
    // Edges (2,3) and (4,0) of the graph of `spec/zvf-0.7.md` 20.5.
    let values = [0_i64, 0, 0, 2, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0];
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    assert_eq!(bytes.len(), 128);
    let records = FlatRecords::parse(&bytes, 2, 3).unwrap();
    let endpoint = |i, e| {
        let (chunk, row) = records.endpoint(i, e)?;
        Some((
            chunk
                .iter()
                .map(|component| component.get())
                .collect::<Vec<_>>(),
            row,
        ))
    };
    assert_eq!(records.len(), 2);
    assert_eq!(endpoint(0, 0), Some((std::vec![0, 0, 0], 2)));
    assert_eq!(endpoint(1, 0), Some((std::vec![1, 0, 0], 1)));
    assert_eq!(endpoint(1, 1), Some((std::vec![0, 0, 0], 0)));
    assert_eq!(
        [endpoint(0, 2), endpoint(2, 0), endpoint(usize::MAX, 0)],
        [None, None, None]
    );
    let error = FlatRecords::parse(&bytes[..100], 2, 3).unwrap_err();
    assert_eq!(
        std::format!("{error}"),
        "link records length at byte 0: found 100, expected 64"
    );
    assert!(FlatRecords::parse(&bytes, 0, 3).unwrap_err().is_limit());
    assert!(
        FlatRecords::parse(&bytes, 2, usize::MAX)
            .unwrap_err()
            .is_limit()
    );
    assert!(FlatRecords::parse(&[], 2, 3).unwrap().is_empty());
}
