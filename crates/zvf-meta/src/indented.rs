//! Writes documents with long presence lists: indented, except for the presence list, which is on one line.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};

/// Writes a document indented by two blanks, and its list `nonempty_chunks` without blanks.
///
/// With one key a line, half of the list would be indentation.
///
/// `RawValue` of serde_json would need fewer lines of code, but its feature changes how every document is parsed: a member with a
/// certain name would be parsed as JSON inside JSON.
pub(crate) fn write<W: io::Write>(writer: W, document: &impl Serialize) -> serde_json::Result<()> {
    let formatter = Indented {
        inner: PrettyFormatter::new(),
        name: Name::Other,
        on_one_line: 0,
    };
    document.serialize(&mut serde_json::Serializer::with_formatter(
        writer, formatter,
    ))
}

struct Indented {
    inner: PrettyFormatter<'static>,
    name: Name,
    /// Depth of nested lists on one line. Above 1 only for lists inside a presence list, which are malformed.
    on_one_line: usize,
}

/// The name of a member.
enum Name {
    /// The name is being written.
    Begun,
    /// The name was `nonempty_chunks`; its value comes next.
    Presence,
    Other,
}

impl Formatter for Indented {
    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.name = Name::Begun;
        self.inner.begin_object_key(writer, first)
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if matches!(self.name, Name::Begun) {
            self.name = match fragment {
                "nonempty_chunks" => Name::Presence,
                _ => Name::Other,
            };
        }
        writer.write_all(fragment.as_bytes())
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.name = Name::Other;
        self.inner.end_object_value(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.name = Name::Other;
        self.inner.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.end_object(writer)
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let listed = matches!(self.name, Name::Presence) || self.on_one_line > 0;
        self.name = Name::Other;
        if !listed {
            return self.inner.begin_array(writer);
        }
        self.on_one_line += 1;
        writer.write_all(b"[")
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        match (self.on_one_line, first) {
            (0, _) => self.inner.begin_array_value(writer, first),
            (_, true) => Ok(()),
            (_, false) => writer.write_all(b","),
        }
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.on_one_line {
            0 => self.inner.end_array_value(writer),
            _ => Ok(()),
        }
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.on_one_line == 0 {
            return self.inner.end_array(writer);
        }
        self.on_one_line -= 1;
        writer.write_all(b"]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn text(document: &Value) -> String {
        let mut bytes = Vec::new();
        write(&mut bytes, document).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn only_presence_lists_are_one_line() {
        let document = json!({
            "shape": [2, 3],
            "attributes": {"nonempty_chunks": ["0.0", "-1.\"2"], "names": ["nonempty_chunks", "a"], "empty": [], "none": {}},
            "last": {"nonempty_chunks": []},
        });
        let expected = "{\n  \"shape\": [\n    2,\n    3\n  ],\n  \"attributes\": {\n    \
            \"nonempty_chunks\": [\"0.0\",\"-1.\\\"2\"],\n    \
            \"names\": [\n      \"nonempty_chunks\",\n      \"a\"\n    ],\n    \"empty\": [],\n    \"none\": {}\n  },\n  \
            \"last\": {\n    \"nonempty_chunks\": []\n  }\n}";
        assert_eq!(text(&document), expected);
        assert_eq!(serde_json::from_str::<Value>(expected).unwrap(), document);
    }

    #[test]
    fn other_documents_are_those_of_serde_json() {
        let document = json!({
            "nonempty_chunks": 3, "a": ["x", ["y", {"nonempty_chunks": {"b": [1, "c"]}}, []]],
            "": {"e": null},
        });
        assert_eq!(text(&document), format!("{document:#}"));
    }

    #[test]
    fn lists_that_are_no_presence_lists_come_back() {
        let document = json!({"nonempty_chunks": [[1, {"a": [[], [2]], "nonempty_chunks": ["b"]}], 3], "c": [4]});
        let text = text(&document);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
        assert!(text.ends_with("\n  \"c\": [\n    4\n  ]\n}"), "{text}");
    }
}
