//! The objects of one store, and the ways to change them.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Read, Write};
use std::path::Path;

use serde_json::{Value, json};

/// The result of a change; callers only print the error.
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
    /// The case is unknown, or its archive is damaged.
    pub fn of(case: &str) -> Outcome<Self> {
        Ok(Self {
            objects: zvf_testkit::files(case)?,
        })
    }

    /// Writes the objects below a folder.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn write(&self, folder: &Path) -> Outcome {
        for (key, bytes) in &self.objects {
            let path = folder.join(key);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(path, bytes)?;
        }
        Ok(())
    }

    /// The document of a key.
    ///
    /// # Errors
    ///
    /// The key does not exist, or its object is not JSON.
    pub fn document(&self, key: &str) -> Outcome<Value> {
        let bytes = self.objects.get(key).ok_or_else(|| format!("no {key}"))?;
        Ok(serde_json::from_slice(bytes)?)
    }

    /// All objects except documents.
    #[must_use]
    pub fn payloads(&self) -> BTreeMap<&str, &[u8]> {
        let objects = self.objects.iter();
        let payloads =
            objects.filter(|(key, _)| *key != "zarr.json" && !key.ends_with("/zarr.json"));
        payloads
            .map(|(key, bytes)| (key.as_str(), &bytes[..]))
            .collect()
    }

    /// Sets a member of a document, or an item of a list.
    ///
    /// # Errors
    ///
    /// The parent does not exist, is not an object or list, or the list has no such item.
    pub fn set(&mut self, key: &str, pointer: &str, value: Value) -> Outcome {
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
                    *list.get_mut(at).ok_or("an index beyond the list")? = value;
                }
                Value::Object(members) => {
                    members.insert(name.to_owned(), value);
                }
                _ => return Err("the parent is not an object or list".into()),
            }
            Ok(())
        })
    }

    /// Removes a member of a document.
    ///
    /// # Errors
    ///
    /// There is no such member.
    pub fn unset(&mut self, key: &str, pointer: &str) -> Outcome {
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
    ///
    /// # Errors
    ///
    /// The errors of [`Self::document`] and of the function.
    pub fn edit(&mut self, key: &str, f: impl FnOnce(&mut Value) -> Outcome) -> Outcome {
        let mut document = self.document(key)?;
        f(&mut document)?;
        let bytes = serde_json::to_vec(&document)?;
        self.objects.insert(key.to_owned(), bytes);
        Ok(())
    }

    /// Changes a list in a document.
    ///
    /// # Errors
    ///
    /// There is no such list.
    pub fn list(&mut self, key: &str, pointer: &str, f: impl FnOnce(&mut Vec<Value>)) -> Outcome {
        self.edit(key, |document| {
            f(list(document, pointer)?);
            Ok(())
        })
    }

    /// Changes the elements of a stored chunk of variable-length bytes, compressed or not.
    pub(crate) fn payloads_of(
        &mut self,
        key: &str,
        f: impl FnOnce(&mut Vec<Vec<u8>>) -> Outcome,
    ) -> Outcome {
        self.plain(key, |plain| {
            let mut elements = Vec::new();
            let mut rest = plain.get(4..).ok_or("a chunk without a head")?;
            while let Some((head, tail)) = rest.split_first_chunk::<4>() {
                let length = usize::try_from(u32::from_le_bytes(*head))?;
                let (element, tail) = tail.split_at_checked(length).ok_or("a truncated element")?;
                elements.push(element.to_vec());
                rest = tail;
            }
            f(&mut elements)?;
            plain.clear();
            plain.extend(u32::try_from(elements.len())?.to_le_bytes());
            for element in elements {
                plain.extend(u32::try_from(element.len())?.to_le_bytes());
                plain.extend(element);
            }
            Ok(())
        })
    }

    /// Changes the decompressed bytes of an object.
    ///
    /// # Errors
    ///
    /// The object does not exist, its compression is damaged, or the function fails.
    pub fn plain(&mut self, key: &str, f: impl FnOnce(&mut Vec<u8>) -> Outcome) -> Outcome {
        let bytes = self
            .objects
            .get_mut(key)
            .ok_or_else(|| format!("no {key}"))?;
        let (mut plain, packed) = unpacked(bytes)?;
        f(&mut plain)?;
        *bytes = packed.pack(&plain)?;
        Ok(())
    }

    /// Changes the blob in an array of bytes, which stores before 0.9 have for each chunk, and the shape of the array.
    pub(crate) fn blob(&mut self, path: &str, f: impl FnOnce(&mut Vec<u8>) -> Outcome) -> Outcome {
        let mut length = 0;
        self.plain(&format!("{path}/c/0"), |bytes| {
            f(bytes)?;
            length = bytes.len();
            Ok(())
        })?;
        let key = format!("{path}/zarr.json");
        self.set(&key, "/shape", json!([length]))?;
        self.set(
            &key,
            "/chunk_grid/configuration/chunk_shape",
            json!([length]),
        )
    }

    /// Makes an array of variable-length bytes with the grid of another array, without cells.
    pub(crate) fn array_like(&mut self, model: &str, array: &str, attributes: Value) -> Outcome {
        let bytes = self
            .objects
            .get(&format!("{model}/zarr.json"))
            .cloned()
            .ok_or("no such model")?;
        let key = format!("{array}/zarr.json");
        self.objects.insert(key.clone(), bytes);
        self.edit(&key, |document| {
            document["codecs"] = json!([{"name": "vlen-bytes", "configuration": {}}]);
            let old = document["attributes"]["chunk_grid_origin"].take();
            document["attributes"] = attributes;
            document["attributes"]["nonempty_chunks"] = json!([]);
            if !old.is_null() {
                document["attributes"]["chunk_grid_origin"] = old;
            }
            Ok(())
        })
    }

    /// Adds an uncompressed cell to an array from [`Files::array_like`], in the chunk of the cell `object` of another array.
    pub(crate) fn cell_like(
        &mut self,
        model: &str,
        array: &str,
        object: &str,
        payload: &[u8],
    ) -> Outcome {
        let place = object
            .strip_prefix(model)
            .ok_or("an object of another array")?;
        let mut plain = 1_u32.to_le_bytes().to_vec();
        plain.extend(u32::try_from(payload.len())?.to_le_bytes());
        plain.extend(payload);
        self.objects.insert(format!("{array}{place}"), plain);
        let name = self.chunk_of(model, object)?;
        self.list(
            &format!("{array}/zarr.json"),
            "/attributes/nonempty_chunks",
            |list| {
                list.push(name.into());
                list.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
            },
        )
    }

    /// Removes the cell of an object, from the presence list too.
    pub(crate) fn unlist(&mut self, object: &str) -> Outcome {
        let (array, _) = object.split_once("/c/").ok_or("no cell")?;
        let name = self.chunk_of(array, object)?;
        self.gone(object)?;
        self.list(
            &format!("{array}/zarr.json"),
            "/attributes/nonempty_chunks",
            |list| list.retain(|one| *one != name.as_str()),
        )
    }

    /// The chunk key of an object `ARRAY/c/1/0`, as presence lists name it.
    fn chunk_of(&self, array: &str, object: &str) -> Outcome<String> {
        let document = self.document(&format!("{array}/zarr.json"))?;
        let place = object
            .strip_prefix(array)
            .and_then(|rest| rest.strip_prefix("/c/"));
        let origin = document["attributes"]["chunk_grid_origin"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let mut parts = Vec::new();
        for (axis, part) in place
            .ok_or("not an object of the array")?
            .split('/')
            .enumerate()
        {
            let part: i64 = part.parse()?;
            let origin = origin.get(axis).and_then(Value::as_i64).unwrap_or(0);
            parts.push((part + origin).to_string());
        }
        Ok(parts.join("."))
    }

    /// The first object of an array whose cell has a decompressed payload of at least this length.
    ///
    /// # Errors
    ///
    /// There is no such object.
    pub fn first(&self, array: &str, least: usize) -> Outcome<String> {
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

    /// Removes all objects with this prefix.
    pub(crate) fn gone(&mut self, prefix: &str) -> Outcome {
        let before = self.objects.len();
        self.objects.retain(|key, _| !key.starts_with(prefix));
        if self.objects.len() == before {
            return Err(format!("nothing below {prefix}").into());
        }
        Ok(())
    }

    /// Copies all objects with the prefix `from` to the prefix `to`.
    pub(crate) fn copy(&mut self, from: &str, to: &str) -> Outcome {
        let copies: Vec<(String, Vec<u8>)> = self
            .objects
            .iter()
            .filter_map(|(key, bytes)| {
                Some((format!("{to}{}", key.strip_prefix(from)?), bytes.clone()))
            })
            .collect();
        if copies.is_empty() {
            return Err(format!("nothing below {from}").into());
        }
        self.objects.extend(copies);
        Ok(())
    }

    /// Moves all objects with the prefix `from` to the prefix `to`.
    pub(crate) fn rename(&mut self, from: &str, to: &str) -> Outcome {
        self.copy(from, to)?;
        self.gone(from)
    }

    /// The keys with this prefix.
    pub(crate) fn below(&self, prefix: &str) -> Vec<String> {
        let keys = self.objects.keys();
        keys.filter(|key| key.starts_with(prefix))
            .cloned()
            .collect()
    }
}

/// A list in a document.
pub(crate) fn list<'a>(document: &'a mut Value, pointer: &str) -> Outcome<&'a mut Vec<Value>> {
    let list = document.pointer_mut(pointer).and_then(Value::as_array_mut);
    list.ok_or_else(|| format!("no list at {pointer}").into())
}

/// The compression of an object, detected from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Zstd,
    Gzip,
}

impl Packing {
    /// Compresses bytes.
    pub(crate) fn pack(self, plain: &[u8]) -> Outcome<Vec<u8>> {
        Ok(match self {
            Self::None => plain.to_vec(),
            Self::Zstd => zstd::encode_all(plain, 3)?,
            Self::Gzip => {
                let mut packed =
                    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                packed.write_all(plain)?;
                packed.finish()?
            }
        })
    }
}

/// The decompressed bytes of an object, and its compression. Blosc is not supported.
pub(crate) fn unpacked(bytes: &[u8]) -> Outcome<(Vec<u8>, Packing)> {
    Ok(match bytes {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => (zstd::decode_all(bytes)?, Packing::Zstd),
        [0x1f, 0x8b, ..] => {
            let mut plain = Vec::new();
            flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain)?;
            (plain, Packing::Gzip)
        }
        _ => (bytes.to_vec(), Packing::None),
    })
}

/// The decompressed payload of a cell, without the head, and its compression.
pub(crate) fn payload(bytes: &[u8]) -> Outcome<(Vec<u8>, Packing)> {
    let (plain, packed) = unpacked(bytes)?;
    Ok((
        plain.get(8..).ok_or("a cell without a head")?.to_vec(),
        packed,
    ))
}

/// Overwrites the bytes at a position.
pub(crate) fn put(bytes: &mut [u8], at: usize, new: &[u8]) -> Outcome {
    let place = bytes.get_mut(at..at + new.len());
    place.ok_or("beyond the end")?.copy_from_slice(new);
    Ok(())
}
