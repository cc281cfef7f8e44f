//! Changes of single members of documents, and the changed documents.

use std::collections::BTreeMap;

use crate::Check;
use bytes::Bytes;
use serde_json::Value;

/// The phase in which an edit is made, and whether it may be omitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Needed to read the store, a level or a list. Other edits wait for the next validation.
    Opening,
    /// Values that are derived from documents, or from how cells are encoded.
    Derived,
    /// Numbers that are counted in cells. They wait until no other edit changes how cells are found or read.
    Counted,
    /// Adds unlisted cells to a list.
    Listing,
    /// Removes missing cells from a list.
    Dropping,
}

/// The new value of a member.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fix {
    /// Key of the document.
    pub(crate) key: String,
    /// JSON pointer of the member.
    pub(crate) pointer: String,
    /// Its value; `None` removes the member.
    pub(crate) value: Option<Value>,
    /// The checks whose findings it resolves.
    pub(crate) checks: Vec<Check>,
    /// The source of the value, in words.
    pub(crate) why: String,
    pub(crate) tier: Tier,
}

impl Fix {
    pub(crate) fn set(
        key: &str,
        pointer: &str,
        value: impl Into<Value>,
        check: Check,
        why: impl Into<String>,
    ) -> Self {
        Self {
            key: key.to_owned(),
            pointer: pointer.to_owned(),
            value: Some(value.into()),
            checks: vec![check],
            why: why.into(),
            tier: Tier::Derived,
        }
    }

    pub(crate) fn remove(key: &str, pointer: &str, check: Check, why: impl Into<String>) -> Self {
        Self {
            value: None,
            ..Self::set(key, pointer, Value::Null, check, why)
        }
    }

    pub(crate) fn tier(self, tier: Tier) -> Self {
        Self { tier, ..self }
    }
}

/// The documents of a store with some of them changed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drafts {
    pub(crate) changed: BTreeMap<String, Bytes>,
}

impl Drafts {
    /// Makes edits; returns those that changed a document. `documents` are the current ones, including drafts.
    pub(crate) fn make(
        &mut self,
        documents: &BTreeMap<String, Bytes>,
        edits: Vec<Fix>,
    ) -> Vec<Fix> {
        let mut by_key: BTreeMap<String, Vec<Fix>> = BTreeMap::new();
        for edit in edits {
            by_key.entry(edit.key.clone()).or_default().push(edit);
        }
        let mut made = Vec::new();
        for (key, edits) in by_key {
            let Some(bytes) = documents.get(&key) else {
                continue;
            };
            let Ok(mut document) = serde_json::from_slice::<Value>(bytes) else {
                continue;
            };
            let before = made.len();
            for edit in edits {
                if put(&mut document, &edit.pointer, edit.value.as_ref()) {
                    made.push(edit);
                }
            }
            if made.len() > before {
                // Keeps the layout of the document: one line or many.
                let text = if bytes.contains(&b'\n') {
                    format!("{document:#}")
                } else {
                    document.to_string()
                };
                self.changed.insert(key, text.into());
            }
        }
        made
    }
}

/// Sets or removes a member. Returns whether the document changed.
fn put(document: &mut Value, pointer: &str, value: Option<&Value>) -> bool {
    let Some((parent, name)) = pointer.rsplit_once('/') else {
        return false;
    };
    let Some(Value::Object(members)) = document.pointer_mut(parent) else {
        return false;
    };
    match value {
        Some(value) if members.get(name) == Some(value) => false,
        Some(value) => {
            members.insert(name.to_owned(), value.clone());
            true
        }
        None => members.shift_remove(name).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::put;
    use serde_json::json;

    #[test]
    fn members_come_change_and_go() {
        let mut document = json!({"a": {"b": 1, "c": 2}});
        assert!(!put(&mut document, "/a/b", Some(&json!(1))));
        assert!(put(&mut document, "/a/b", Some(&json!([3]))));
        assert!(put(&mut document, "/a/d", Some(&json!(null))));
        assert!(put(&mut document, "/a/c", None));
        assert!(!put(&mut document, "/a/c", None));
        assert!(!put(&mut document, "/x/y", Some(&json!(0))));
        assert_eq!(document, json!({"a": {"b": [3], "d": null}}));
    }
}
