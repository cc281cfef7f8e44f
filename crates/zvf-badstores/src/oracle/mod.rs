//! Decides without the validator whether a damage breaks a rule: nothing that readers use changed, or only values without a rule, or a rule is broken.
//!
//! The data before and after the damage is decoded and compared; the rules for a difference follow from the kind of the array and the valid range
//! of its numbers. Documents are compared member by member, and each difference is checked against the rules of the format pages.
//!
//! If the oracle cannot show that no rule applies to a change, it reports a broken rule. So if the validator finds nothing, this report may be the
//! error; but a change for which the oracle reports no broken rule breaks none.

mod arrays;
mod documents;
mod parts;
mod payloads;

use serde_json::Value;

use crate::damage::Damage;
use crate::decode::{Objects, array_of, elements};

/// The effect of a damage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing that readers use changed, for this reason.
    Nothing(&'static str),
    /// No rule applies to the change, for this reason.
    NoRule(&'static str),
    /// A rule is broken: a description of the rule or of the violation.
    Broken(&'static str),
}

/// Judges a damage to a store with these objects.
#[must_use]
pub fn judge(before: &Objects, damage: &Damage) -> Verdict {
    let after = damage.apply(before);
    let store = Both {
        ruled: version(before).is_some_and(|one| one >= (0, 9)),
        before,
        after: &after,
    };
    damage
        .changes
        .keys()
        .map(|key| store.one(key))
        .max()
        .unwrap_or(Verdict::Nothing("no object changed"))
}

/// The members that differ, as keys with JSON pointers, of documents that can be parsed before and after.
#[must_use]
pub fn members(before: &Objects, damage: &Damage) -> Vec<String> {
    let mut all = Vec::new();
    for (key, bytes) in damage
        .changes
        .iter()
        .filter(|(key, _)| key.ends_with("zarr.json"))
    {
        let parse = |bytes: Option<&Vec<u8>>| {
            bytes.and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok())
        };
        if let (Some(old), Some(new)) = (parse(before.get(key)), parse(bytes.as_ref())) {
            let mut changed = Vec::new();
            documents::differences(&old, &new, "", &mut changed);
            all.extend(changed.into_iter().map(|at| format!("{key}#{at}")));
        }
    }
    all
}

/// Major and minor version of a store.
fn version(objects: &Objects) -> Option<(u32, u32)> {
    let root: Value = serde_json::from_slice(objects.get("zarr.json")?).ok()?;
    let text = root
        .pointer("/attributes/zarr_vectors/zv_version")?
        .as_str()?;
    let mut parts = text.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

/// A store before and after a damage.
struct Both<'a> {
    before: &'a Objects,
    after: &'a Objects,
    /// Whether the store has version 0.9 or later, which have rules about documents of arrays.
    ruled: bool,
}

impl Both<'_> {
    fn one(&self, key: &str) -> Verdict {
        if key.ends_with("zarr.json") {
            return self.document(key);
        }
        if key
            .split('/')
            .skip(1)
            .take(2)
            .eq(["cross_chunk_links", "c"])
        {
            return Verdict::NoRule("links by global numbers, whose encoding is not published");
        }
        let Some((path, document)) =
            array_of(self.before, key).or_else(|| array_of(self.after, key))
        else {
            return Verdict::Nothing("an object outside of all arrays");
        };
        let read = |objects: &Objects| match objects.get(key) {
            Some(bytes) => elements(&document, bytes).map(Some),
            None => Ok(None),
        };
        let (before, after) = match (read(self.before), read(self.after)) {
            (Ok(before), Ok(after)) => (before, after),
            (Err(_), _) => return Verdict::Nothing("an object that did not decode before"),
            (_, Err(_)) => return Verdict::Broken("an object does not decode"),
        };
        let is_absent = |list: &Option<Vec<Vec<u8>>>| list.iter().flatten().all(Vec::is_empty);
        if before == after || (is_absent(&before) && is_absent(&after)) {
            return Verdict::Nothing("the decoded elements are the same");
        }
        let empty = |list: &Option<Vec<Vec<u8>>>, like: &Option<Vec<Vec<u8>>>| {
            list.clone()
                .unwrap_or_else(|| fill(&document, like.as_deref().unwrap_or_default()))
        };
        let (old, new) = (empty(&before, &after), empty(&after, &before));
        if old == new {
            return Verdict::Nothing("absent elements have the same values");
        }
        if old.len() != new.len() {
            return Verdict::Broken("another number of elements");
        }
        if document["data_type"] != "variable_length_bytes"
            && document["codecs"][0]["name"] == "bytes"
            && !path.starts_with("parametric/")
            && old.iter().map(Vec::len).sum::<usize>() != new.iter().map(Vec::len).sum::<usize>()
        {
            return Verdict::Broken("another number of values than the array has");
        }
        self.payloads(&path, &document, key, &old, &new)
    }
}

/// The value of an absent object: the fill value, or empty elements.
fn fill(document: &Value, like: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let value = &document["fill_value"];
    let one = match document["data_type"].as_str().unwrap_or_default() {
        "float32" => number(value).map(|one| {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the fill value of an array of this type"
            )]
            let one = one as f32;
            one.to_le_bytes().to_vec()
        }),
        "float64" => number(value).map(|one| one.to_le_bytes().to_vec()),
        "variable_length_bytes" => return vec![Vec::new(); like.len()],
        _ => None,
    };
    let zeros = |bytes: &Vec<u8>| match &one {
        Some(one) => one.iter().copied().cycle().take(bytes.len()).collect(),
        None => vec![0; bytes.len()],
    };
    like.iter().map(zeros).collect()
}

fn number(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("NaN") => Some(f64::NAN),
        _ => value.as_f64(),
    }
}
