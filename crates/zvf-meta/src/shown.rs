//! Quotes text from files in messages.

/// Quotes a text for a message; cuts it after 60 characters.
#[must_use]
pub fn shown(text: &str) -> String {
    const MOST: usize = 60;
    if text.chars().nth(MOST).is_none() {
        return format!("{text:?}");
    }
    let head: String = text.chars().take(MOST).collect();
    format!("{head:?}…")
}
