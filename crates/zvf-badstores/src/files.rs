//! The objects of one store, and the ways to change them.

use std::collections::BTreeMap;
use std::error::Error;

use serde_json::Value;

/// What a change returns; the message is for a person.
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The objects of a store by key, relative to its root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// Key to content, such as `0/vertices/c/0/0/0`.
    pub objects: BTreeMap<String, Vec<u8>>,
}

impl Files {
    /// The objects of a bundled store.
    ///
    /// # Errors
    ///
    /// For an unknown case or a damaged archive.
    pub fn of(case: &str) -> Outcome<Self> {
        Ok(Self {
            objects: zvf_testkit::files(case)?,
        })
    }

    /// Changes a member of a document.
    pub(crate) fn set(&mut self, key: &str, pointer: &str, value: Value) -> Outcome {
        self.edit(key, |document| {
            let (parent, name) = pointer
                .rsplit_once('/')
                .ok_or("a pointer without a slash")?;
            let parent = document
                .pointer_mut(parent)
                .ok_or_else(|| format!("{key} has no {parent}"))?;
            match parent {
                Value::Array(list) => {
                    let at: usize = name.parse()?;
                    *list.get_mut(at).ok_or("a place beyond the list")? = value;
                }
                Value::Object(members) => {
                    members.insert(name.to_owned(), value);
                }
                _ => return Err("no place for a member".into()),
            }
            Ok(())
        })
    }

    /// Removes a member of a document.
    pub(crate) fn unset(&mut self, key: &str, pointer: &str) -> Outcome {
        self.edit(key, |document| {
            let (parent, name) = pointer
                .rsplit_once('/')
                .ok_or("a pointer without a slash")?;
            let parent = document.pointer_mut(parent).and_then(Value::as_object_mut);
            let removed = parent.ok_or("no such parent")?.shift_remove(name);
            removed
                .map(|_| ())
                .ok_or_else(|| format!("{key} has no {pointer}").into())
        })
    }

    /// Changes a document.
    pub(crate) fn edit(&mut self, key: &str, f: impl FnOnce(&mut Value) -> Outcome) -> Outcome {
        let bytes = self
            .objects
            .get_mut(key)
            .ok_or_else(|| format!("no {key}"))?;
        let mut document: Value = serde_json::from_slice(bytes)?;
        f(&mut document)?;
        *bytes = serde_json::to_vec(&document)?;
        Ok(())
    }

    /// Changes the payload of a cell: one element of variable length, compressed or not.
    pub(crate) fn cell(&mut self, key: &str, f: impl FnOnce(&mut Vec<u8>)) -> Outcome {
        let bytes = self
            .objects
            .get_mut(key)
            .ok_or_else(|| format!("no {key}"))?;
        let (mut payload, packed) = payload(bytes)?;
        f(&mut payload);
        let mut plain = 1_u32.to_le_bytes().to_vec();
        plain.extend(u32::try_from(payload.len())?.to_le_bytes());
        plain.extend(payload);
        *bytes = if packed {
            zstd::encode_all(&plain[..], 3)?
        } else {
            plain
        };
        Ok(())
    }

    /// The first object of an array whose first payload is at least so long.
    pub(crate) fn first(&self, array: &str, least: usize) -> Outcome<String> {
        let prefix = format!("{array}/c/");
        let key = self.objects.iter().find(|(key, bytes)| {
            key.starts_with(&prefix)
                && payload(bytes).is_ok_and(|(payload, _)| payload.len() >= least)
        });
        Ok(key
            .ok_or_else(|| format!("{array} has no such cell"))?
            .0
            .clone())
    }

    /// Removes an object.
    pub(crate) fn remove(&mut self, key: &str) -> Outcome {
        self.objects
            .remove(key)
            .map(|_| ())
            .ok_or_else(|| format!("no {key}").into())
    }
}

/// What a cell holds behind its head, and whether it is compressed.
pub(crate) fn payload(bytes: &[u8]) -> Outcome<(Vec<u8>, bool)> {
    let packed = bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    let plain = if packed {
        zstd::decode_all(bytes)?
    } else {
        bytes.to_vec()
    };
    Ok((
        plain.get(8..).ok_or("a cell without a head")?.to_vec(),
        packed,
    ))
}

/// Puts a number of 64 bits into a cell.
pub(crate) fn put(payload: &mut [u8], at: usize, number: i64) {
    if let Some(place) = payload.get_mut(at..at + 8) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

/// Puts a number of 32 bits into a cell.
pub(crate) fn put32(payload: &mut [u8], at: usize, bytes: [u8; 4]) {
    if let Some(place) = payload.get_mut(at..at + 4) {
        place.copy_from_slice(&bytes);
    }
}
