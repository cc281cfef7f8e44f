//! Texts in distributed writes: each part has its own dictionary, and the commit recodes the texts of all parts with one joined dictionary.
//!
//! ```text
//! work/NAME-OWNER/texts                 the texts of each attribute of categories, sorted
//! work/NAME-OWNER/0/codes/ATTRIBUTE/…   at the keys of the final cells: codes into the texts of the part, 32 bits each
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::batches::categories::{Dictionary, Recoded};
use crate::error::OrBug;
use crate::level::shard::LevelCells;
use crate::spec::store::{AttributeType, StoreSpec};
use crate::target::{Below, ObjectPut, Payloads, Target};
use crate::transaction::record_log::{from_bytes, to_bytes};
use crate::values::column::packed;
use crate::values::text_list::{TextList, Union};
use crate::{WriteError, parallel};

/// The group of the codes of a part.
pub const CODES: &str = "codes";

/// The texts of one attribute of a part.
#[derive(Debug, Serialize, Deserialize)]
struct AttributeTexts<T> {
    texts: T,
    missing: bool,
}

/// The codes of one chunk.
#[derive(Debug, Serialize, Deserialize)]
struct Coded<'c> {
    #[serde(with = "packed")]
    chunk: Cow<'c, [i64]>,
    #[serde(with = "packed")]
    codes: Cow<'c, [u32]>,
}

/// The texts of a part, by attribute; `None` for numbers.
pub fn of_part(dictionaries: &[Option<Dictionary>]) -> Result<Vec<u8>, WriteError> {
    let mut all: Vec<Option<AttributeTexts<&TextList>>> = Vec::new();
    for one in dictionaries {
        all.push(one.as_ref().map(|one| AttributeTexts {
            texts: &*one.texts,
            missing: one.missing,
        }));
    }
    to_bytes(&all)
}

fn read(target: &Target, key: &str) -> Result<Vec<Option<AttributeTexts<TextList>>>, WriteError> {
    let bytes = target.read(key)?;
    let texts = bytes.and_then(|bytes| from_bytes::<Vec<Option<AttributeTexts<TextList>>>>(&bytes));
    texts
        .filter(|all| all.iter().flatten().all(|one| one.texts.is_sorted()))
        .ok_or_else(|| WriteError::data(key, "bytes that cannot be read", "the texts of a part"))
}

/// Whether a specification has categorical attributes, whose codes depend on the texts of all parts.
pub fn has_texts(spec: &StoreSpec) -> bool {
    spec.vertex_attributes
        .iter()
        .any(|one| one.values == AttributeType::Category)
}

/// The joined dictionaries of all parts, whose texts are at `keys`; they equal the dictionaries of a single writer.
///
/// # Cost
/// Memory: all texts once (4 more bytes each), and the texts of one part.
pub fn joined(
    spec: &StoreSpec,
    target: &Target,
    keys: &[String],
) -> Result<Vec<Option<Dictionary>>, WriteError> {
    let mut all: Vec<Option<(Union, bool)>> = spec
        .vertex_attributes
        .iter()
        .map(|one| (one.values == AttributeType::Category).then(Default::default))
        .collect();
    if has_texts(spec) {
        for key in keys {
            for (all, part) in all.iter_mut().zip(read(target, key)?) {
                let (Some((texts, missing)), Some(part)) = (all, part) else {
                    continue;
                };
                *missing |= part.missing;
                texts.add(part.texts)?;
            }
        }
    }
    let join = |(texts, missing): (Union, bool)| Dictionary::joined(texts.finish()?, missing);
    all.into_iter()
        .map(|one| one.map(join).transpose())
        .collect()
}

/// The objects with the codes of chunks, at the keys of the final cells.
pub fn objects(
    cells: &LevelCells,
    path: &str,
    column: Payloads<'_>,
) -> Result<Vec<ObjectPut>, WriteError> {
    let mut together: BTreeMap<String, Vec<Coded<'_>>> = BTreeMap::new();
    for (chunk, payload) in column {
        let (codes, rest) = payload.as_chunks();
        rest.is_empty()
            .then_some(())
            .or_bug("codes that are not 4 bytes each")?;
        let codes: Vec<u32> = codes.iter().map(|code| u32::from_le_bytes(*code)).collect();
        if codes.is_empty() {
            continue;
        }
        together
            .entry(cells.key(path, chunk)?)
            .or_default()
            .push(Coded {
                chunk: Cow::Borrowed(chunk),
                codes: codes.into(),
            });
    }
    together
        .into_iter()
        .map(|(key, list)| Ok((key, to_bytes(&list)?)))
        .collect()
}

/// Writes the cells of the categorical attributes of a part, from its folder and the keys of its codes.
///
/// # Cost
/// Memory: the cells of one object for each thread.
pub fn write(
    spec: &StoreSpec,
    below: &Below<'_>,
    (target, cells, threads): (&Target, &LevelCells, usize),
    dictionaries: &[Option<Dictionary>],
    (folder, keys): (&str, Vec<String>),
) -> Result<(), WriteError> {
    if keys.is_empty() {
        return Ok(());
    }
    let mut recoded: BTreeMap<&str, Recoded> = BTreeMap::new();
    let part = read(target, &format!("{folder}/texts"))?;
    for ((one, all), part) in spec.vertex_attributes.iter().zip(dictionaries).zip(part) {
        if let (Some(all), Some(part)) = (all, part) {
            recoded.insert(&one.name, all.recoded(&part.texts)?);
        }
    }
    let codes = format!("{folder}/0/{CODES}/");
    let work = |key: String| {
        let path = key.strip_prefix(&codes);
        let path = path.and_then(|path| path.split('/').next());
        let damaged = || WriteError::data(&*key, "bytes that cannot be read", "codes of texts");
        let (name, recoded) = path
            .and_then(|name| recoded.get_key_value(name))
            .ok_or_else(damaged)?;
        let bytes = target.read(&key)?;
        let coded: Option<Vec<Coded<'_>>> = bytes.and_then(|bytes| from_bytes(&bytes));
        let coded = coded.ok_or_else(damaged)?;
        let mut payloads: Payloads<'_> = Vec::with_capacity(coded.len());
        for one in &coded {
            payloads.push((&one.chunk, recoded.cell(&one.codes)?));
        }
        let path = format!("vertex_attributes/{name}");
        below.put(cells.of_items(recoded.size()).objects(&path, payloads)?)
    };
    parallel::each(threads, keys.into_iter(), work, |()| Ok(()))
}
