//! Damages one object of a store at random.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::decode::{Objects, array_of, elements, is_plain};
use crate::files::unpacked;
use crate::random::Random;

/// The kind of a damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DamageKind {
    /// An object ends early.
    Truncate,
    /// One bit of an object is flipped.
    BitFlip,
    /// The contents of two objects are swapped.
    Swap,
    /// An object is deleted.
    Delete,
    /// An object is in an older state: a cell lacks its last bytes, a document lacks a member or the last item of a list.
    Stale,
    /// The compression of an object differs from the codecs of its array.
    WrongCodec,
    /// A number is overwritten with a huge one.
    HugeCount,
    /// A member of a document has an impossible value or another JSON type.
    Absurd,
    /// A name contains path syntax, or a folder is renamed.
    PathTrick,
}

impl DamageKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Truncate,
        Self::BitFlip,
        Self::Swap,
        Self::Delete,
        Self::Stale,
        Self::WrongCodec,
        Self::HugeCount,
        Self::Absurd,
        Self::PathTrick,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Truncate => "truncate",
            Self::BitFlip => "bit flip",
            Self::Swap => "swap",
            Self::Delete => "delete",
            Self::Stale => "stale copy",
            Self::WrongCodec => "wrong codec",
            Self::HugeCount => "huge count",
            Self::Absurd => "absurd metadata",
            Self::PathTrick => "path trick",
        }
    }
}

/// One damage of a store: its description, and the objects that differ.
#[derive(Debug, Clone)]
pub struct Damage {
    /// Its kind.
    pub kind: DamageKind,
    /// The object that was chosen.
    pub key: String,
    /// A description of the change.
    pub what: String,
    /// The objects that differ; `None` for removed ones.
    pub changes: BTreeMap<String, Option<Vec<u8>>>,
}

impl Damage {
    /// Whether a document was damaged, not data.
    #[must_use]
    pub fn is_metadata(&self) -> bool {
        self.key.ends_with("zarr.json")
    }

    /// Returns the objects of the damaged store.
    #[must_use]
    pub fn apply(&self, objects: &Objects) -> Objects {
        let mut after = objects.clone();
        for (key, bytes) in &self.changes {
            match bytes {
                Some(bytes) => {
                    after.insert(key.clone(), bytes.clone());
                }
                None => {
                    after.remove(key);
                }
            }
        }
        after
    }
}

/// Damages a store once, at random. The same seed gives the same damage.
///
/// Documents and data are chosen equally often, and so are the kinds of arrays within each.
pub fn damage(objects: &Objects, random: &mut Random) -> Damage {
    loop {
        let metadata = random.below(2) == 0;
        let mut groups: BTreeMap<String, Vec<&String>> = BTreeMap::new();
        for key in objects
            .keys()
            .filter(|key| key.ends_with("zarr.json") == metadata)
        {
            groups.entry(class(key)).or_default().push(key);
        }
        let groups: Vec<Vec<&String>> = groups.into_values().collect();
        let Some(key) = random.choose(&groups).and_then(|keys| random.choose(keys)) else {
            continue;
        };
        let Some(kind) = random.choose(&DamageKind::ALL).copied() else {
            continue;
        };
        let done = if metadata {
            document(objects, key, kind, random)
        } else {
            data(objects, key, kind, random)
        };
        let Some((what, changes)) = done else {
            continue;
        };
        let same = changes
            .iter()
            .all(|(key, bytes)| objects.get(key) == bytes.as_ref());
        if !same {
            return Damage {
                kind,
                key: (*key).clone(),
                what,
                changes,
            };
        }
    }
}

/// The kind of array that a key belongs to: its first folder inside the level.
fn class(key: &str) -> String {
    let mut parts = key.split('/');
    let first = parts.next().unwrap_or_default();
    let second = parts.next().unwrap_or_default();
    if first.parse::<u32>().is_ok() {
        second.to_owned()
    } else {
        first.to_owned()
    }
}

type Done = Option<(String, BTreeMap<String, Option<Vec<u8>>>)>;

fn one(key: &str, what: impl Into<String>, bytes: Option<Vec<u8>>) -> Done {
    Some((what.into(), BTreeMap::from([(key.to_owned(), bytes)])))
}

/// The kinds of damage that documents and data share.
fn any(objects: &Objects, key: &str, kind: DamageKind, random: &mut Random) -> Done {
    let mut bytes = objects.get(key)?.clone();
    let at = random.below(bytes.len());
    match kind {
        DamageKind::Truncate => {
            bytes.truncate(at);
            one(key, format!("cut to {at} bytes"), Some(bytes))
        }
        DamageKind::BitFlip => {
            let bit = random.below(8);
            *bytes.get_mut(at)? ^= 1 << bit;
            one(key, format!("bit {bit} of byte {at} flipped"), Some(bytes))
        }
        DamageKind::Swap => {
            let class_of = |one: &str| (class(one), one.ends_with("zarr.json"));
            let others: Vec<&String> = objects
                .keys()
                .filter(|other| *other != key && class_of(other) == class_of(key))
                .collect();
            let other = (*random.choose(&others)?).clone();
            let there = objects.get(&other)?.clone();
            let changes =
                BTreeMap::from([(key.to_owned(), Some(there)), (other.clone(), Some(bytes))]);
            Some((format!("swapped with {other}"), changes))
        }
        DamageKind::Delete => one(key, "deleted", None),
        _ => None,
    }
}

fn data(objects: &Objects, key: &str, kind: DamageKind, random: &mut Random) -> Done {
    let bytes = objects.get(key)?;
    match kind {
        DamageKind::WrongCodec => {
            let (plain, packing) = unpacked(bytes).ok()?;
            if packing == crate::files::Packing::None {
                let packed = crate::files::Packing::Zstd.pack(bytes).ok()?;
                one(
                    key,
                    "compressed with zstd, which is not a codec of the array",
                    Some(packed),
                )
            } else {
                one(
                    key,
                    "not compressed, unlike the codecs of the array",
                    Some(plain),
                )
            }
        }
        DamageKind::Stale => {
            let (_, document) = array_of(objects, key)?;
            let (plain, packing) = unpacked(bytes).ok()?;
            let vlen = document["codecs"][0]["name"] == "vlen-bytes";
            let mut elements = elements(&document, bytes).ok()?;
            let rows = [4, 8, 12, 16, 24];
            let less = *random.choose(&rows)?;
            let at = random.below(elements.len());
            let element = elements.get_mut(at)?;
            element.truncate(element.len().checked_sub(less)?);
            let mut stale = Vec::new();
            if vlen {
                stale.extend(plain.get(..4)?);
                for element in &elements {
                    stale.extend(u32::try_from(element.len()).ok()?.to_le_bytes());
                    stale.extend(element);
                }
            } else if document["codecs"][0]["name"] == "bytes" {
                stale.clone_from(element);
            } else {
                return None;
            }
            one(
                key,
                format!("an element without its last {less} bytes, compressed again"),
                Some(packing.pack(&stale).ok()?),
            )
        }
        DamageKind::HugeCount => {
            let (_, document) = array_of(objects, key)?;
            let (mut plain, packing) = unpacked(bytes).ok()?;
            let words = plain.len() / 4;
            let at = 4 * random.below(words);
            let width = if random.below(2) == 0 { 4 } else { 8 };
            let value: u8 = if random.below(2) == 0 { 0xff } else { 0x7f };
            plain
                .get_mut(at..)?
                .iter_mut()
                .take(width)
                .for_each(|byte| *byte = value);
            if packing == crate::files::Packing::None && !is_plain(&document) {
                return None;
            }
            one(
                key,
                format!("{width} bytes of {value:#x} at {at} of the decompressed bytes"),
                Some(packing.pack(&plain).ok()?),
            )
        }
        _ => any(objects, key, kind, random),
    }
}

/// JSON pointers of the members and elements of a document, without the document itself.
fn pointers(value: &Value, at: &str, into: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                into.push(format!("{at}/{name}"));
                pointers(member, &format!("{at}/{name}"), into);
            }
        }
        Value::Array(list) => {
            // The first elements of a long list are enough.
            for (number, element) in list.iter().enumerate().take(8) {
                into.push(format!("{at}/{number}"));
                pointers(element, &format!("{at}/{number}"), into);
            }
        }
        _ => {}
    }
}

const TRICKS: &[&str] = &[
    "..", "../0", "/", "0/../1", "%2e%2e", "a\u{0}b", "CON", "0 ", "\u{ff10}", "",
];

fn document(objects: &Objects, key: &str, kind: DamageKind, random: &mut Random) -> Done {
    let bytes = objects.get(key)?;
    let mut document: Value = serde_json::from_slice(bytes).ok()?;
    let mut all = Vec::new();
    pointers(&document, "", &mut all);
    let what = match kind {
        DamageKind::HugeCount => {
            all.retain(|at| document.pointer(at).is_some_and(Value::is_number));
            let at = random.choose(&all)?;
            *document.pointer_mut(at)? = json!(99_999_999_999_u64);
            format!("{at} is 99999999999")
        }
        DamageKind::Absurd => {
            let at = random.choose(&all)?;
            let level = class(key);
            let values = [
                json!(null),
                json!(-1),
                json!(1e308),
                json!(""),
                json!([]),
                json!({}),
                json!(true),
                json!(u64::MAX),
                json!([[[[[[[[]]]]]]]]),
                json!(level),
            ];
            let value = random.choose(&values)?.clone();
            let what = format!("{at} is {value}");
            *document.pointer_mut(at)? = value;
            what
        }
        DamageKind::PathTrick => {
            all.retain(|at| document.pointer(at).is_some_and(Value::is_string));
            if random.below(3) > 0 && !all.is_empty() {
                let at = random.choose(&all)?;
                let trick = *random.choose(TRICKS)?;
                *document.pointer_mut(at)? = json!(trick);
                format!("{at} is {trick:?}")
            } else {
                return renamed(objects, key, random);
            }
        }
        DamageKind::Stale => {
            let lists: Vec<&String> = all
                .iter()
                .filter(|at| {
                    document
                        .pointer(at)
                        .and_then(Value::as_array)
                        .is_some_and(|list| !list.is_empty())
                })
                .collect();
            if random.below(2) == 0 && !lists.is_empty() {
                let at = (*random.choose(&lists)?).clone();
                document.pointer_mut(&at)?.as_array_mut()?.pop();
                format!("{at} without its last element")
            } else {
                all.retain(|at| {
                    document
                        .pointer(at.rsplit_once('/').map_or("", |(parent, _)| parent))
                        .is_some_and(Value::is_object)
                });
                let at = random.choose(&all)?;
                let (parent, name) = at.rsplit_once('/')?;
                document
                    .pointer_mut(parent)?
                    .as_object_mut()?
                    .shift_remove(&name.replace("~1", "/").replace("~0", "~"));
                format!("{at} is removed")
            }
        }
        DamageKind::WrongCodec => {
            let codecs = document.pointer_mut("/codecs")?.as_array_mut()?;
            if codecs.len() > 1 {
                codecs.pop();
            } else {
                codecs.push(
                    json!({"name": "zstd", "configuration": {"level": 0, "checksum": false}}),
                );
            }
            format!("/codecs is {}", document["codecs"])
        }
        _ => return any(objects, key, kind, random),
    };
    one(key, what, Some(serde_json::to_vec(&document).ok()?))
}

/// Renames the folder of a document.
fn renamed(objects: &Objects, key: &str, random: &mut Random) -> Done {
    let folder = key.strip_suffix("/zarr.json")?;
    let (parent, name) = folder
        .rsplit_once('/')
        .map_or(("", folder), |(parent, name)| (parent, name));
    let names = [
        name.to_uppercase(),
        format!("0{name}"),
        format!("+{name}"),
        format!("{name} "),
        format!("{name}.bak"),
        format!("{name}\u{301}"),
    ];
    let other = random.choose(&names)?;
    if other == name {
        return None;
    }
    let to = if parent.is_empty() {
        other.clone()
    } else {
        format!("{parent}/{other}")
    };
    let mut changes = BTreeMap::new();
    for (key, bytes) in objects {
        if let Some(rest) = key
            .strip_prefix(folder)
            .filter(|rest| rest.starts_with('/'))
        {
            changes.insert(key.clone(), None);
            changes.insert(format!("{to}{rest}"), Some(bytes.clone()));
        }
    }
    Some((format!("{folder} is renamed to {to}"), changes))
}
