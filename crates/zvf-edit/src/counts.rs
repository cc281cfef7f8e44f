//! Updates counts in documents after an edit.

use zvf_encode::WriteError;

/// The count in a document after an edit that removed `gone` items and added `added`.
///
/// # Errors
/// Malformed data: the document at `path` counts fewer items than the edit removes, or the new count exceeds 64 bits.
pub(crate) fn recount(
    path: &str,
    name: &str,
    stated: u64,
    gone: u64,
    added: u64,
) -> Result<u64, WriteError> {
    stated
        .checked_sub(gone)
        .and_then(|rest| rest.checked_add(added))
        .ok_or_else(|| {
            let expected = format!(
                "a count from which an edit can take {gone} and to which it can add {added}; `zvf repair` corrects it"
            );
            WriteError::data(path, format!("{name} {stated}"), expected)
        })
}

#[cfg(test)]
mod tests {
    use super::recount;

    #[test]
    fn a_count_that_is_too_small_is_refused() {
        assert_eq!(recount("0", "num_links", 7, 3, 5).ok(), Some(9));
        assert_eq!(recount("0", "num_links", 3, 3, 0).ok(), Some(0));
        assert!(recount("0", "num_links", u64::MAX, 0, 1).is_err());
        let refused = recount("0/links/0", "num_links", 2, 3, 5).map_err(|error| error.to_string());
        let text = refused.expect_err("fewer than there are");
        assert!(
            text.contains("0/links/0") && text.contains("num_links 2"),
            "{text}"
        );
    }
}
