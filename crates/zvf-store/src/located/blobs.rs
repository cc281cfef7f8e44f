//! Blobs of families: each in a separate array, or several packed into one (versions before 0.9).
//!
//! Source: specification 0.7, sections 2 and 3; 0.8, section 3.1.

use zvf_meta::ArrayDoc;

use super::facts::{CellFacts, PackedKeys};
use super::kind::CellKind;
use super::numbers::{coordinate, elements};
use super::object::{Located, LocatedObject};
use crate::container::blobs::{is_pack, packed_part, shard_index};
use crate::layout::object_key;
use crate::{RawStore, StoreError};

/// Whether the array at `path` is a blob of a family.
pub(super) fn is_blob(path: &str, doc: &ArrayDoc) -> bool {
    doc.data_type.name == "uint8" && doc.shape.len() == 1 && CellKind::of_blob(path).is_some()
}

/// The blob at `path`, which `doc` describes; `element` is a key of a packed chunk or a row of a table.
pub(super) async fn blob(
    raw: &RawStore,
    path: &str,
    doc: &ArrayDoc,
    element: Option<&str>,
) -> Result<Located, StoreError> {
    let stated = elements(&doc.shape);
    let packed = packed(path, doc)?;
    let (family, leaf) = path.rsplit_once('/').unwrap_or(("", path));
    let mut kind = CellKind::of_blob(path).unwrap_or(CellKind::Attribute);
    let (mut name, mut length, mut at) = (leaf, stated, None);
    let mut first_row = 0;
    match (&packed, element) {
        (Some(keys), Some(wanted)) => {
            let mut numbered = (0..).zip(keys);
            let found = numbered.find(|(_, (key, ..))| key == wanted);
            let (number, entry) = found.ok_or_else(|| {
                StoreError::misuse(format!(
                    "{path}: the packed chunk has no key {wanted:?}, but {} other keys",
                    keys.len()
                ))
            })?;
            (name, length, at) = (wanted, entry.2, Some(number));
            kind = CellKind::of_blob(&format!("{family}/{wanted}")).unwrap_or(kind);
        }
        (Some(_), None) => kind = CellKind::Packed,
        (None, Some(row)) => {
            let wrong = format!("{path}: found {row:?}, expected a row number");
            first_row = row.parse().map_err(|_| StoreError::misuse(wrong))?;
        }
        (None, None) => {}
    }
    let attributes = raw.family(family).await;
    let (chunk, child) = (coordinate(name), Some((name, length)));
    let facts = CellFacts::read(raw, family, &attributes, kind, chunk, child).await;
    Ok(Located::Object(Box::new(LocatedObject {
        array: path.into(),
        key: object_key(path, doc, &[0]),
        shard: None,
        index_at_end: true,
        codecs: doc.codecs.clone(),
        stated: Some(stated),
        container: packed.is_some().then_some(CellKind::Packed),
        kind,
        facts: CellFacts {
            packed: packed.unwrap_or_default(),
            element: at,
            first_row,
            ..facts
        },
    })))
}

/// The blob of a family with the given key, a separate child or part of a packed one; or the row of a table with all rows in one blob. `None` if
/// there is neither.
pub(super) async fn of_family(
    raw: &RawStore,
    family: &str,
    element: &str,
) -> Result<Option<Located>, StoreError> {
    let path = format!("{family}/{element}");
    if CellKind::of_blob(&path).is_some() {
        if let Some(doc) = raw.array(&path).await? {
            return match is_blob(&path, &doc) {
                true => blob(raw, &path, &doc, None).await.map(Some),
                false => Ok(None),
            };
        }
        let folders = raw.folders(family).await?.unwrap_or_default();
        for name in folders.iter().filter(|name| is_pack(name)) {
            let path = format!("{family}/{name}");
            let Some(doc) = raw.array(&path).await? else {
                continue;
            };
            let keys = packed(&path, &doc)?.unwrap_or_default();
            if keys.iter().any(|(key, ..)| key == element) {
                return blob(raw, &path, &doc, Some(element)).await.map(Some);
            }
        }
    }
    let data = format!("{family}/data");
    if element.bytes().all(|byte| byte.is_ascii_digit())
        && CellKind::of_blob(&data).is_some()
        && let Some(doc) = raw.array(&data).await?
    {
        return blob(raw, &data, &doc, Some(element)).await.map(Some);
    }
    Ok(None)
}

/// The index of a packed chunk.
fn packed(path: &str, doc: &ArrayDoc) -> Result<Option<PackedKeys>, StoreError> {
    let leaf = path.rsplit('/').next().unwrap_or_default();
    let Some(index) = shard_index(doc).filter(|_| is_pack(leaf)) else {
        return Ok(None);
    };
    let part = |(key, value): (&String, _)| -> Result<_, StoreError> {
        let (offset, length) = packed_part(value).ok_or_else(|| {
            let what = format!("shard_index of {key:?}: found {value}, expected [offset, length]");
            StoreError::malformed(format!("{path}/zarr.json"), what)
        })?;
        Ok((key.clone(), offset, length))
    };
    let mut keys = index.iter().map(part).collect::<Result<PackedKeys, _>>()?;
    keys.sort_by(|(a, from, _), (b, to, _)| (from, a).cmp(&(to, b)));
    Ok(Some(keys))
}
