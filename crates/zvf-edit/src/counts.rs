//! Counts that documents state, as they are after an edit.

use zvf_write::WriteError;

/// What a document counts after an edit that took `gone` things away and put `added` there.
///
/// # Errors
/// Malformed data: the document at `path` counts fewer than the edit takes away; what else it counts wrong is unknown.
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
            let found = format!("{name} {stated}, fewer than the {gone} that are there");
            WriteError::data(path, found, "a right count: zvf repair counts anew")
        })
}

#[cfg(test)]
mod tests {
    use super::recount;

    #[test]
    fn a_count_that_is_too_small_is_refused() {
        assert_eq!(recount("0", "num_links", 7, 3, 5).ok(), Some(9));
        assert_eq!(recount("0", "num_links", 3, 3, 0).ok(), Some(0));
        let refused = recount("0/links/0", "num_links", 2, 3, 5).map_err(|error| error.to_string());
        let text = refused.expect_err("fewer than there are");
        assert!(
            text.contains("0/links/0") && text.contains("num_links 2"),
            "{text}"
        );
    }
}
