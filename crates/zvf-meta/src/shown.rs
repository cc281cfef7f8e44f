//! Shows texts of files in messages.

/// A text for messages: quoted, and cut if it is long.
#[must_use]
pub fn shown(text: &str) -> String {
    const MOST: usize = 60;
    if text.chars().nth(MOST).is_none() {
        return format!("{text:?}");
    }
    let head: String = text.chars().take(MOST).collect();
    format!("{head:?}…")
}
