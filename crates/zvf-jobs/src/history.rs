//! Entries about jobs in the history of a store.

use serde_json::{Map, Value, json};

/// Members about journals, backups and stale files, which do not describe the store.
const PLACES: [&str; 4] = ["journal", "resume", "backup", "clear_leftovers"];

/// Members that may be the address of the store that a job writes.
const OWN: [&str; 3] = ["store", "target", "folder"];

/// The entry of a job with these members: the version of the program, and the job without the address of its `own` store. Of URLs, absolute paths
/// and paths that begin with `~/` or `../`, only the last component is kept, so that the entry does not depend on where files are.
pub(crate) fn entry(members: Map<String, Value>, own: &str) -> Value {
    let kept = members.into_iter().filter(|(name, value)| {
        let is_own = OWN.contains(&name.as_str()) && value == own;
        !PLACES.contains(&name.as_str()) && !is_own
    });
    let kept: Map<String, Value> = kept
        .map(|(name, value)| (name, without_places(value)))
        .collect();
    json!({"zvf": env!("CARGO_PKG_VERSION"), "job": kept})
}

/// Removes paths of this machine and credentials from the texts of a value.
fn without_places(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(shortened(&text)),
        Value::Array(list) => list.into_iter().map(without_places).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            let members = members.map(|(name, value)| (name, without_places(value)));
            Value::Object(members.collect())
        }
        other => other,
    }
}

/// Replaces each path and URL in a text as [`name`] does.
fn shortened(text: &str) -> String {
    // A text that begins with a path is one path, which may have spaces; in an expression, paths are arguments.
    if is_place(text) {
        return name(text);
    }
    let is_apart = |letter: char| letter.is_whitespace() || "(),;\"'".contains(letter);
    // URLs may have commas and semicolons.
    let ends_url = |letter: char| is_apart(letter) && !",;".contains(letter);
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = rest.find(is_apart).unwrap_or(rest.len());
        if rest.get(..end).is_some_and(|word| word.contains("://")) {
            end = rest.find(ends_url).unwrap_or(rest.len());
        }
        let (word, after) = rest.split_at(end);
        short += &name(word);
        let next = after.chars().next().map_or(0, char::len_utf8);
        let (between, after) = after.split_at(next);
        short += between;
        rest = after;
    }
    short
}

/// The text after the `@` that marks a file with ids.
fn unmarked(word: &str) -> (&'static str, &str) {
    match word.strip_prefix('@') {
        Some(path) => ("@", path),
        None => ("", word),
    }
}

/// Whether a text begins as an absolute path does, or a path that begins with `~/` or `../`.
fn is_rooted(path: &str) -> bool {
    let letter = |at: usize| path.as_bytes().get(at).is_some_and(u8::is_ascii_alphabetic);
    let drive = letter(0) && (path.get(1..3) == Some(":\\") || path.get(1..3) == Some(":/"));
    let above = ["~/", "../", "..\\", "\\\\"]
        .iter()
        .any(|root| path.starts_with(root));
    // `/2` in `x /2` is a division, not a path.
    let after = path.strip_prefix('/');
    drive || above || after.is_some_and(|rest| rest.contains('/') || letter(1))
}

/// Whether a text begins with a path or with the scheme of a URL.
fn is_place(text: &str) -> bool {
    let (_, path) = unmarked(text);
    let scheme = path.split_once("://").map(|(scheme, _)| scheme);
    let is_scheme = |text: &str| {
        let known = |letter: u8| letter.is_ascii_alphanumeric() || b"+-.".contains(&letter);
        !text.is_empty() && text.bytes().all(known)
    };
    is_rooted(path) || scheme.is_some_and(is_scheme)
}

/// The last component of a URL, of an absolute path, or of a path that begins with `~/` or `../`; other words are unchanged.
fn name(word: &str) -> String {
    let (mark, path) = unmarked(word);
    let url = path.split_once("://").map(|(scheme, rest)| {
        let key = rest.split(['?', '#']).next().unwrap_or_default();
        (scheme, key.split_once('/').map_or("", |(_, key)| key))
    });
    let (whole, path) = match url {
        Some((scheme, key)) => (scheme, key),
        None if is_rooted(path) => (path, path),
        None => return word.to_owned(),
    };
    let mut names = path.rsplit(['/', '\\']).filter(|name| !name.is_empty());
    format!("{mark}{}", names.next().unwrap_or(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_credentials_are_left_out() {
        for (text, short) in [
            ("/data/ada/sub-01/a.trk", "a.trk"),
            ("C:\\data\\a.trk", "a.trk"),
            ("~/a.trk", "a.trk"),
            ("../../private/a.trk", "a.trk"),
            ("sub-01/a.trk", "sub-01/a.trk"),
            ("s3://bucket/sub-01/a.trk", "a.trk"),
            ("https://ada:secret@host/a.zv/?X-Signature=7#1", "a.zv"),
            ("http://ada:secret@host:80", "http"),
            ("file:///data/ada/a.trk", "a.trk"),
            ("@/data/ada/ids.txt", "@ids.txt"),
            ("/data/Ada Lovelace/private/a b.trk", "a b.trk"),
            ("\\\\server\\share\\a.trk", "a.trk"),
            ("..\\private\\a.trk", "a.trk"),
            (
                "https://host/a.csv?X-Amz-SignedHeaders=host;range&X-Amz-Signature=S",
                "a.csv",
            ),
            ("https://ada:se,cret@host/a.csv", "a.csv"),
            (
                "mesh(https://ada:se,cret@host/roi.obj?a=b;c=d) or x < 2",
                "mesh(roi.obj) or x < 2",
            ),
            (
                "mesh(/data/ada/roi.obj) and not sphere(0,0,0,1)",
                "mesh(roi.obj) and not sphere(0,0,0,1)",
            ),
            ("x / 2 > y/3 and x /2 > 1", "x / 2 > y/3 and x /2 > 1"),
            ("EPSG:25832", "EPSG:25832"),
            ("µm, nm", "µm, nm"),
        ] {
            assert_eq!(shortened(text), short, "{text}");
        }
    }

    #[test]
    fn the_own_store_is_not_named() {
        let job = json!({"job": "import", "files": ["/data/a.csv"], "store": "/data/b.zv", "journal": "/data/j"});
        let entry = entry(job.as_object().unwrap().clone(), "/data/b.zv");
        assert_eq!(entry["job"], json!({"job": "import", "files": ["a.csv"]}));
    }
}
