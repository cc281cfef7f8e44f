//! The keys of objects that record the parts of an unfinished store, and the content of its marker.
//!
//! ```text
//! zvf-unfinished.json                     the specification, the id of this distributed write, the names of required parts
//! zvf-unfinished/ID/begun/NAME-OWNER    put when a program begins a part: the program and its round; OWNER is a random number of the program
//! zvf-unfinished/ID/claims/NAME-OWNER   the objects that it will write
//! zvf-unfinished/ID/work/NAME-OWNER/    its cells, dictionaries and note
//! zvf-unfinished/ID/parts/NAME@ROUND    put if absent: the owner whose work is used for the part; --redo puts the next round
//! zvf-unfinished/ID/commits/N[.done]    see `log.rs`
//! ```
//!
//! All keys are below the id of one distributed write, so that a late program cannot interfere with another one.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::WriteError;
use crate::error::OrBug;
use crate::target::{SeenObject, Target, unique};
use crate::transaction::holder::Holder;
use crate::transaction::leftovers::check_leftovers;
pub use crate::transaction::marker::NOTES;
use crate::transaction::marker::{MARKER, ROOT};

/// The member of the marker of a store whose parts are being discarded.
const DISCARDED: &str = "discarded";

/// Digits of an owner or of an id.
const DIGITS: usize = 16;

/// Most parts that are named in a message.
const NAMED: usize = 12;

/// A random number, unique to this program, as a name.
pub fn owner() -> String {
    format!("{:016x}", unique())
}

fn is_owner(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Names for a message, shortened if there are many.
pub fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let mut text = names
        .iter()
        .take(NAMED)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    if let Some(more) = names.len().checked_sub(NAMED).filter(|more| *more > 0) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// The folder of one distributed write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionFolder(String);

impl PartitionFolder {
    fn of(id: &str) -> Self {
        Self(format!("{NOTES}/{id}"))
    }

    /// The key of an object in the folder.
    pub fn below(&self, what: &str) -> String {
        format!("{}/{what}", self.0)
    }

    /// The group of parts that were begun.
    pub fn begun(&self) -> String {
        self.below("begun")
    }

    /// The group of claims.
    pub fn claims(&self) -> String {
        self.below("claims")
    }

    fn finished(&self) -> String {
        self.below("parts")
    }

    /// The record that a program began a part.
    pub fn begun_by(&self, name: &str, owner: &str) -> String {
        format!("{}/{name}-{owner}", self.begun())
    }

    /// The record of the objects that a program will write for a part.
    pub fn claim_of(&self, name: &str, owner: &str) -> String {
        format!("{}/{name}-{owner}", self.claims())
    }

    /// The folder of the cells, texts and note of a part.
    pub fn work(&self, name: &str, owner: &str) -> String {
        format!("{}/{name}-{owner}", self.below("work"))
    }

    /// The key of the record that names the owner whose work is used for a part.
    pub fn decision(&self, name: &str, round: u32) -> String {
        format!("{}/{name}@{round}", self.finished())
    }

    /// The records in a group, each as the name of its part and its owner.
    pub fn owners(target: &Target, group: &str) -> Result<Vec<(String, String)>, WriteError> {
        let names = target.names(group)?;
        let split = |name: &String| {
            let (name, owner) = name.rsplit_once('-')?;
            is_owner(owner).then(|| (name.to_owned(), owner.to_owned()))
        };
        Ok(names.iter().filter_map(split).collect())
    }

    /// The record that a program began a part; `None` if it was removed or cannot be parsed.
    pub fn begun_part(
        &self,
        target: &Target,
        (name, owner): (&str, &str),
    ) -> Result<Option<BegunPart>, WriteError> {
        let bytes = target.read(&self.begun_by(name, owner))?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// The finished parts, with their last rounds.
    pub fn rounds(&self, target: &Target) -> Result<BTreeMap<String, u32>, WriteError> {
        let mut rounds = BTreeMap::new();
        for name in target.names(&self.finished())? {
            let Some((name, round)) = name.rsplit_once('@') else {
                continue;
            };
            if let Ok(round) = round.parse::<u32>() {
                let last: &mut u32 = rounds.entry(name.to_owned()).or_insert(round);
                *last = round.max(*last);
            }
        }
        Ok(rounds)
    }

    /// The note of a finished part; `None` if it was removed.
    pub fn note(
        &self,
        target: &Target,
        address: &str,
        (name, round): (&str, u32),
    ) -> Result<Option<FinishedPart>, WriteError> {
        let Some(bytes) = target.read(&self.decision(name, round))? else {
            return Ok(None);
        };
        match serde_json::from_slice::<FinishedPart>(&bytes) {
            Ok(note) if is_owner(&note.owner) => Ok(Some(note)),
            _ => {
                let what = format!("the note of part {name} cannot be read");
                Err(WriteError::exists(address, what))
            }
        }
    }
}

/// The record that a program began a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BegunPart {
    /// The program, and when it began.
    #[serde(flatten)]
    pub by: Holder,
    /// The round in which it can finish the part: greater than the round of a finished part that it replaces.
    #[serde(default)]
    pub round: u32,
}

/// The content of a finished part, and its writer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedPart {
    /// The random number of the program that wrote it.
    pub owner: String,
    /// The program, and when it began.
    pub by: Holder,
    /// Vertices.
    pub vertices: u64,
    /// Chunks with vertices.
    pub chunks: u64,
    /// Objects with vertices.
    pub objects: u64,
    /// Links that are stored.
    pub links: u64,
    /// Facts about the input that the caller supplies, such as checksums of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// How many objects were put below the level.
    pub put: u64,
    /// A checksum of all objects that were put.
    pub sum: u64,
}

/// The marker of an unfinished distributed write.
#[derive(Debug, Clone)]
pub struct BegunStore {
    seen: SeenObject,
    marker: Map<String, Value>,
    /// The version of the library and the specification.
    pub(crate) spec: Value,
    /// The folder of the records; `None` for a version that had one folder for all.
    pub folder: Option<PartitionFolder>,
    /// Names of the required parts.
    pub names: Option<Vec<String>>,
    /// Whether the parts are being discarded.
    pub discarded: bool,
}

impl BegunStore {
    /// Reads the marker; `None` if there is none, or if it belongs to another kind of writer.
    pub fn read(target: &Target) -> Result<Option<Self>, WriteError> {
        Ok(target.see(MARKER)?.and_then(Self::of))
    }

    fn of(seen: SeenObject) -> Option<Self> {
        let marker: Map<String, Value> = serde_json::from_slice(&seen.bytes).ok()?;
        let details = marker.get("details")?;
        let id = details.get("id").and_then(Value::as_str);
        let names = details.get("names").and_then(Value::as_array);
        let text = |name: &Value| name.as_str().map(str::to_owned);
        Some(Self {
            spec: details.get("parts")?.clone(),
            folder: id.filter(|id| is_owner(id)).map(PartitionFolder::of),
            names: names.map(|names| names.iter().filter_map(text).collect()),
            discarded: details.get(DISCARDED).is_some(),
            marker,
            seen,
        })
    }

    /// The details of the marker of a new distributed write.
    pub fn details(spec: &Value, names: Option<&[String]>) -> Value {
        let mut details = json!({"parts": spec, "id": owner()});
        if let (Some(names), Some(details)) = (names, details.as_object_mut()) {
            details.insert("names".to_owned(), json!(names));
        }
        details
    }

    /// The program that began the distributed write; `None` if the marker does not state it.
    pub fn by(&self) -> Option<Holder> {
        Holder::of_marker(&self.seen.bytes)
    }

    /// The folder of the parts.
    ///
    /// # Errors
    /// Bug: the marker has no valid id, as in versions that had one folder for all.
    pub fn folder(&self) -> Result<&PartitionFolder, WriteError> {
        self.folder
            .as_ref()
            .or_bug("the marker of a distributed write has no id")
    }

    /// The names of finished parts, including parts that an earlier version recorded elsewhere.
    pub fn finished(&self, target: &Target) -> Result<BTreeSet<String>, WriteError> {
        match &self.folder {
            Some(folder) => Ok(folder.rounds(target)?.into_keys().collect()),
            None => Ok(target
                .names(&format!("{NOTES}/parts"))?
                .into_iter()
                .collect()),
        }
    }

    /// Whether the same distributed write is still running here.
    pub fn is_there(&self, target: &Target) -> Result<bool, WriteError> {
        let now = Self::read(target)?;
        let same = now.is_some_and(|now| now.folder == self.folder && !now.discarded);
        // The root is checked last, since the marker is removed after the root is put.
        Ok(same && !target.exists(ROOT)?)
    }

    /// Records in the marker that the parts are being discarded.
    pub fn mark_discarded(&mut self, target: &Target, address: &str) -> Result<(), WriteError> {
        if self.discarded {
            return Ok(());
        }
        let mut marker = self.marker.clone();
        let details = marker.get_mut("details").and_then(Value::as_object_mut);
        let details = details.or_bug("the marker of parts has no details")?;
        details.insert(DISCARDED.to_owned(), Value::from(true));
        let bytes = Value::Object(marker.clone()).to_string().into_bytes();
        let Some(seen) = target.replace(MARKER, &self.seen, bytes)? else {
            return Err(WriteError::changed(address));
        };
        (self.seen, self.marker, self.discarded) = (seen, marker, true);
        Ok(())
    }

    /// Removes everything, the marker last.
    pub fn clear(&self, target: &Target, address: &str) -> Result<(), WriteError> {
        check_leftovers(target, address, &self.seen.bytes)?;
        target.clear_others(MARKER)?;
        target.remove_own(MARKER, &self.seen.bytes)?;
        target.unmake();
        Ok(())
    }

    /// The marker in the state in which it was read.
    pub fn bytes(&self) -> &[u8] {
        &self.seen.bytes
    }

    /// Checks that a specification equals the one of the marker; the error names the difference.
    pub fn check(&self, address: &str, spec: &Value) -> Result<(), WriteError> {
        if self.spec != *spec {
            // The first element is the version.
            let member = |spec, path| Value::pointer(spec, path).unwrap_or(&Value::Null);
            let of = |spec| member(spec, "/1/headers");
            let positions = |spec| member(spec, "/1/positions");
            let what = match (self.spec.get(0), spec.get(0)) {
                (found, wanted) if found != wanted => {
                    "another version of this library is writing parts there".to_owned()
                }
                _ if of(&self.spec) != of(spec) => format!(
                    "files of other parts have another header: {}; one `zvf import` of all files keeps what their headers share",
                    difference(of(&self.spec), of(spec), &mut vec!["headers".to_owned()])
                ),
                _ if positions(&self.spec) != positions(spec) => format!(
                    "files of other parts have another type of positions: {} there and {} here; one `zvf import` of all files takes the type that holds \
                     both, and columns of Parquet and Arrow files have a stated type",
                    positions(&self.spec),
                    positions(spec)
                ),
                _ => format!(
                    "parts with other options are being written there: {}; all parts need the same options and types of columns: \
                     --attribute-type NAME=TYPE gives a column of text one type in all, and --nulls NUMBER keeps whole numbers that are missing in some",
                    difference(&self.spec, spec, &mut Vec::new())
                ),
            };
            return Err(WriteError::exists(address, what));
        }
        if self.discarded {
            let what =
                "the parts are being discarded: `zvf import STORE --discard-parts` finishes that";
            return Err(WriteError::exists(address, what));
        }
        self.folder().map(drop)
    }
}

/// The first difference of two specifications.
fn difference(there: &Value, here: &Value, path: &mut Vec<String>) -> String {
    let none = Value::Null;
    match (there, here) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                let (a, b) = (a.get(name).unwrap_or(&none), b.get(name).unwrap_or(&none));
                if a != b {
                    path.push(name.clone());
                    return difference(a, b, path);
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let differ = a.iter().zip(b).enumerate().find(|(_, (a, b))| a != b);
            if let Some((at, (a, b))) = differ {
                // The first element of the whole is the version; the second one is not numbered.
                let named = a.get("name").filter(|name| b.get("name") == Some(name));
                if !path.is_empty() || at != 1 {
                    path.push(match named.and_then(Value::as_str) {
                        Some(name) => name.to_owned(),
                        None => at.to_string(),
                    });
                }
                return difference(a, b, path);
            }
        }
        _ => {}
    }
    let mut place = path.join("/");
    if place.is_empty() {
        place.push_str("the specification");
    }
    format!("{place} is {there} there and {here} here")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{difference, listed};

    #[test]
    fn the_first_difference_is_named() {
        let spec = |kind: &str, number: &str| json!(["1", {"kind": kind, "vertex_attributes": [{"name": "n", "values": number}]}]);
        let found = difference(&spec("a", "I32"), &spec("a", "F32"), &mut Vec::new());
        assert_eq!(
            found,
            "vertex_attributes/n/values is \"I32\" there and \"F32\" here"
        );
        let found = difference(&spec("a", "I32"), &spec("b", "F32"), &mut Vec::new());
        assert_eq!(found, "kind is \"a\" there and \"b\" here");
    }

    #[test]
    fn a_few_names_are_listed() {
        let names: Vec<String> = (0..15).map(|n| n.to_string()).collect();
        let found = listed(names.iter().map(String::as_str));
        assert_eq!(found, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 3 more");
    }
}
