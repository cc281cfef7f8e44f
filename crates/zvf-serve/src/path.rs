//! Paths of requests: split, then decoded once, by segment.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::http_error::{HandlerResult, HttpError};

/// Characters that are encoded in a segment of a link.
const SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'\'')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'\\')
    .add(b'`')
    .add(b'{')
    .add(b'}');

/// The decoded path after a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecodedPath {
    /// Non-empty segments, none of them `.` or `..`, without slashes, backslashes or control characters.
    pub(crate) names: Vec<String>,
    /// Whether the path ends with a slash.
    pub(crate) folder: bool,
}

/// Largest number of segments of a path.
const MOST: usize = 64;

/// Splits the encoded path that follows `prefix`.
///
/// # Errors
/// 400 for anything but a plain path that leads downwards.
pub(crate) fn segments(path: &str, prefix: &str) -> HandlerResult<DecodedPath> {
    let wrong = || HttpError::bad_request("found a path with empty, illegal or too many segments");
    let rest = path.strip_prefix(prefix).ok_or_else(wrong)?;
    let (rest, folder) = match rest.strip_suffix('/') {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let mut names = Vec::new();
    for encoded in rest.split('/') {
        let name = percent_decode_str(encoded)
            .decode_utf8()
            .map_err(|_| wrong())?;
        let plain = !name.is_empty()
            && name != "."
            && name != ".."
            && !name.contains(['/', '\\'])
            && !name.contains(char::is_control);
        if !plain || names.len() >= MOST {
            return Err(wrong());
        }
        names.push(name.into_owned());
    }
    Ok(DecodedPath { names, folder })
}

/// A segment, encoded for a link.
pub(crate) fn encoded(segment: &str) -> String {
    utf8_percent_encode(segment, SEGMENT).to_string()
}

/// A text, escaped for HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &str) -> Option<Vec<String>> {
        segments(path, "/store/").ok().map(|found| found.names)
    }

    #[test]
    fn paths_lead_downwards_only() {
        assert_eq!(
            names("/store/a/0/zarr.json"),
            Some(vec!["a".into(), "0".into(), "zarr.json".into()])
        );
        assert_eq!(
            names("/store/a%20b/%C3%BC"),
            Some(vec!["a b".into(), "ü".into()])
        );
        // Decoded once: the result is a name with a percent sign.
        assert_eq!(names("/store/%252e%252e"), Some(vec!["%2e%2e".into()]));
        for wrong in [
            "/store/",
            "/store//a",
            "/store/a/../b",
            "/store/a/..",
            "/store/%2e%2e/b",
            "/store/.%2E/b",
            "/store/a/./b",
            "/store/a%2fb",
            "/store/a%5c..%5cb",
            "/store/a%00",
            "/store/a%0a",
            "/store/%ff",
            "/other/a",
        ] {
            assert_eq!(names(wrong), None, "{wrong}");
        }
        assert_eq!(names(&format!("/store/{}", vec!["a"; 65].join("/"))), None);
        assert!(segments("/store/a/", "/store/").unwrap().folder);
    }
}
