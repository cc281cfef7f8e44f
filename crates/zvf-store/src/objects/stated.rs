//! What a table of ids states about its ids, so that readers need not read all of it.

use zvf_meta::ArrayAttributes;

/// The attribute of a table of ids which states that ids are row numbers, so that the table need not be read, or the first id of each chunk, so that ids
/// can be [looked up](super::lookup). Other writers of the table replace the array, and its attributes with it.
pub(super) const IDS: &str = "zvf_ids";
pub(super) const ROWS: &str = "rows";

/// The member of the attribute with the first ids of the chunks.
pub(super) const FIRST: &str = "first";

/// States in the attributes of a table of ids that these ids are row numbers, or, if they ascend and fill several chunks of `rows` rows, the first id of
/// each chunk. Removes an earlier statement otherwise.
pub fn state_ids(attributes: &mut ArrayAttributes, ids: &[i64], rows: usize) {
    let ascending = || ids.is_sorted_by(|a, b| a < b);
    if are_rows(ids) {
        attributes.extra.insert(IDS.to_owned(), ROWS.into());
    } else if ids.len() > rows && ascending() {
        let first = ids.chunks(rows.max(1)).filter_map(<[i64]>::first);
        let stated = serde_json::json!({FIRST: Vec::from_iter(first)});
        attributes.extra.insert(IDS.to_owned(), stated);
    } else {
        attributes.extra.remove(IDS);
    }
}

/// Whether ids are row numbers, and there are some.
pub fn are_rows(ids: &[i64]) -> bool {
    // Not `eq(0..)`: an unbounded range is never equal to a list.
    !ids.is_empty() && ids.iter().zip(0..).all(|(id, row)| *id == row)
}

#[cfg(test)]
mod tests {
    use zvf_meta::ArrayAttributes;

    use super::state_ids;

    #[test]
    fn ids_that_are_row_numbers_are_stated() {
        for (ids, expected) in [
            (&[0, 1, 2][..], true),
            (&[0], true),
            (&[], false),
            (&[1, 2], false),
            (&[0, 2, 1], false),
        ] {
            // An earlier statement is removed if it is no longer true.
            for before in [true, false] {
                let mut attributes = ArrayAttributes::default();
                if before {
                    state_ids(&mut attributes, &[0], 9);
                }
                state_ids(&mut attributes, ids, 9);
                let stated = attributes
                    .extra
                    .get("zvf_ids")
                    .is_some_and(|one| one == "rows");
                assert_eq!(stated, expected, "{ids:?}");
            }
        }
    }

    #[test]
    fn ascending_ids_of_several_chunks_are_stated_by_the_first_of_each() {
        let stated = |ids: &[i64]| {
            let mut attributes = ArrayAttributes::default();
            state_ids(&mut attributes, ids, 2);
            attributes.extra.get("zvf_ids").cloned()
        };
        let first = serde_json::json!({"first": [-4, 7, 9]});
        assert_eq!(stated(&[-4, 0, 7, 8, 9]), Some(first));
        assert_eq!(stated(&[-4, 0]), None, "one chunk");
        assert_eq!(stated(&[-4, 0, 0, 8]), None, "not ascending");
    }
}
