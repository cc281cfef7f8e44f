//! The warning for coarse levels that were made before the last edits.

use zvf_store::Store;
use zvf_store::meta::STALE;

/// The warning for a coarse level that was made before the last edits of level 0; `None` for other levels. [`query`](crate::query) and the lists
/// of objects and links include it; a caller that reads a level in another way must add it.
///
/// # Cost
///
/// No requests: the root document has this information.
#[must_use]
pub fn stale_level(store: &Store, level: u32) -> Option<String> {
    let stale = level > 0 && store.root().extra.contains_key(STALE);
    stale.then(|| {
        format!(
            "level {level} was made before the last edits of level 0: `zvf pyramid {} --refresh` makes it again",
            store.url()
        )
    })
}
