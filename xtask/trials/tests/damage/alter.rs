//! One change of one member of one document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use zvf_badstores::Random;

/// Most elements of a list that are changed one by one.
const ELEMENTS: usize = 4;

/// A changed document.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) key: String,
    pub(crate) pointer: String,
    pub(crate) what: String,
    /// `None`: the document is gone.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}#{} {}", self.key, self.pointer, self.what)
    }
}

/// All changes of all documents of a store. Of arrays that differ only in their place, as the arrays of a family of links
/// and the blobs of chunks, one is drawn for each change.
pub(crate) fn cases(files: &BTreeMap<String, Vec<u8>>, random: &mut Random) -> Vec<Case> {
    let mut roles: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    for key in files.keys().filter(|key| key.ends_with("zarr.json")) {
        roles.entry(role(key)).or_default().push(key);
    }
    let mut all = Vec::new();
    for keys in roles.values() {
        let mut seen = BTreeSet::new();
        // The members of one of them, and what another one has besides.
        for first in [keys.first(), keys.last()].into_iter().flatten() {
            let Some(document) = parse(files, first) else {
                continue;
            };
            let mut pointers = Vec::new();
            walk(&document, String::new(), &mut pointers);
            for pointer in pointers {
                if seen.insert(pointer.clone()) {
                    for at in 0.. {
                        let key = *random.choose(keys).unwrap_or(first);
                        let drawn = parse(files, key).filter(|one| one.pointer(&pointer).is_some());
                        let (key, document) = match drawn {
                            Some(document) => (key, document),
                            None => (*first, document.clone()),
                        };
                        let Some((what, changed)) = change(&document, &pointer, at) else {
                            break;
                        };
                        let Some(changed) = changed.filter(|one| *one != document) else {
                            continue;
                        };
                        all.push(Case {
                            key: key.clone(),
                            pointer: pointer.clone(),
                            what,
                            bytes: Some(changed.to_string().into_bytes()),
                        });
                    }
                }
            }
        }
        for key in [keys.first(), keys.last()].into_iter().flatten() {
            let bytes = &files[*key];
            let whole = |what: &str, bytes| Case {
                key: (*key).clone(),
                pointer: String::new(),
                what: what.to_owned(),
                bytes,
            };
            all.push(whole("is gone", None));
            all.push(whole("is cut", Some(bytes[..bytes.len() / 2].to_vec())));
            all.push(whole("is empty", Some(b"{}".to_vec())));
        }
    }
    all
}

fn parse(files: &BTreeMap<String, Vec<u8>>, key: &str) -> Option<Value> {
    serde_json::from_slice(files.get(key)?).ok()
}

/// The key of a document with chunks and offsets left out.
fn role(key: &str) -> String {
    let parts = key.split('/').enumerate().map(|(at, part)| {
        let placed = part.bytes().any(|b| b.is_ascii_digit())
            && part
                .bytes()
                .all(|b| b.is_ascii_digit() || b".+-_".contains(&b))
            && part.contains('.');
        if at > 0 && placed { "*" } else { part }
    });
    parts.collect::<Vec<_>>().join("/")
}

fn walk(value: &Value, at: String, all: &mut Vec<String>) {
    if !at.is_empty() {
        all.push(at.clone());
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                walk(member, format!("{at}/{name}"), all);
            }
        }
        Value::Array(list) => {
            for (index, element) in list.iter().enumerate().take(ELEMENTS) {
                walk(element, format!("{at}/{index}"), all);
            }
        }
        _ => {}
    }
}

/// The change with this number; `None` behind the last one, no document where it does not apply.
fn change(document: &Value, pointer: &str, number: usize) -> Option<(String, Option<Value>)> {
    let old = document.pointer(pointer)?;
    let mut new = document.clone();
    if number == 0 {
        let (parent, name) = pointer.rsplit_once('/')?;
        let removed = match new.pointer_mut(parent)? {
            Value::Object(members) => {
                let name = name.replace("~1", "/").replace("~0", "~");
                members.shift_remove(&name).is_some()
            }
            Value::Array(list) => {
                list.remove(name.parse().ok()?);
                true
            }
            _ => false,
        };
        return Some(("is removed".to_owned(), removed.then_some(new)));
    }
    let mut values = others(old);
    if number > values.len() {
        return None;
    }
    let value = values.swap_remove(number - 1);
    let mut what = format!("becomes {value}");
    what.truncate(what.floor_char_boundary(60));
    *new.pointer_mut(pointer)? = value;
    Some((what, Some(new)))
}

/// Other values: of another type, and plausible ones that contradict the old one.
fn others(old: &Value) -> Vec<Value> {
    match old {
        Value::Null => vec![json!(1), json!("x")],
        Value::Bool(one) => vec![json!(!one), json!("x"), json!(null)],
        Value::Number(number) => {
            let mut all = vec![json!(number.to_string()), json!(null)];
            if let Some(whole) = number.as_i64() {
                let others = [
                    0,
                    1,
                    whole.saturating_add(1),
                    whole.saturating_sub(1),
                    whole.saturating_mul(2),
                    whole.saturating_neg(),
                ];
                all.extend(others.map(Value::from));
            } else if let Some(real) = number.as_f64() {
                all.extend([real + 1.0, real * 2.0, -real, 0.0].map(Value::from));
            }
            all
        }
        Value::String(text) => {
            let mut all = vec![json!(1), json!(null), json!(""), json!(format!("{text}x"))];
            all.extend(words(text).iter().map(|word| json!(word)));
            all
        }
        Value::Array(list) => {
            let mut all = vec![json!({}), json!("x"), json!([]), json!(null)];
            let mut turned = list.clone();
            turned.reverse();
            all.push(Value::Array(turned));
            if let Some(last) = list.last() {
                let mut longer = list.clone();
                longer.push(last.clone());
                all.push(Value::Array(longer));
            } else {
                all.push(json!([3]));
            }
            all
        }
        Value::Object(_) => vec![json!([]), json!("x"), json!({}), json!(null)],
    }
}

/// Words that may stand where another one of them does.
fn words(text: &str) -> Vec<&'static str> {
    const SETS: &[&[&str]] = &[
        &[
            "float32", "float64", "int32", "int64", "uint8", "float16", ">f4", "object",
        ],
        &["/", "."],
        &["default", "v2"],
        &["little", "big"],
        &["start", "end"],
        &["array", "group"],
        &["raw", "draco", "fragment_index_v1", "dictionary"],
        &["canonical", "duplicate"],
        &[
            "explicit",
            "implicit_sequential",
            "implicit_sequential_with_branches",
            "none",
            "implicit",
        ],
        &["standard", "identity"],
        &["explicit_links", "boundary_deduplication", "both"],
        &[
            "point_cloud",
            "line",
            "polyline",
            "streamline",
            "graph",
            "skeleton",
            "mesh",
        ],
        &[
            "vlen_manifests_v1",
            "vlen_manifests_v2",
            "dense_v1",
            "dense",
        ],
        &[
            "links",
            "links_family",
            "cross_chunk_links",
            "vertices",
            "attribute",
            "object_index",
        ],
        &[
            "vlen-bytes",
            "zstd",
            "gzip",
            "blosc",
            "crc32c",
            "bytes",
            "transpose",
            "sharding_indexed",
        ],
        &["variable_length_bytes", "bytes", "uint8", "string"],
        &["add", "replace"],
        &[
            "0.9.2", "0.9.0", "0.8.1", "0.8", "0.7.2", "0.6", "0.10", "1.0.0",
        ],
        &["absent", "nan"],
        &["scale", "translation"],
    ];
    let mut all = Vec::new();
    for set in SETS.iter().filter(|set| set.contains(&text)) {
        all.extend(set.iter().copied().filter(|word| *word != text));
    }
    all.sort_unstable();
    all.dedup();
    all
}
