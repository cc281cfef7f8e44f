//! Objects that were deleted and still have a row.
//!
//! An edit keeps the row of a deleted object, because otherwise all later rows of the index and of tables with the same rows would shift.
//! The document of the index lists the ids in `zvf_deleted`; for readers these objects do not exist. Their manifests are
//! empty. Listed ids without a row are ignored: another writer may have dropped the row.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use zvf_meta::ObjectIndexDoc;

use super::ObjectIndex;
use crate::StoreError;

impl ObjectIndex {
    /// The attribute of the index's document that lists the ids of deleted objects.
    pub const DELETED: &str = "zvf_deleted";

    /// The ids that the document lists as deleted, ascending, each once. Some may have no row.
    pub fn deleted(&self) -> &[i64] {
        &self.source.deleted
    }

    /// Sets the list in a document; removes the member if there are no ids.
    pub fn list_deleted(doc: &mut ObjectIndexDoc, ids: impl IntoIterator<Item = i64>) {
        let list: BTreeSet<i64> = ids.into_iter().collect();
        if list.is_empty() {
            doc.extra.remove(Self::DELETED);
        } else {
            let list: Vec<i64> = list.into_iter().collect();
            doc.extra
                .insert(Self::DELETED.to_owned(), Value::from(list));
        }
    }
}

/// Reads the list of deleted ids from a document with the key `key`, of an index of `rows` rows.
///
/// # Errors
/// Malformed: no list of integers of 64 bits, or one that is longer than the index.
pub(super) fn parse(doc: &ObjectIndexDoc, rows: u64, key: &str) -> Result<Arc<[i64]>, StoreError> {
    let malformed = |what: String| {
        let name = ObjectIndex::DELETED;
        StoreError::malformed(key, format!("attribute {name} {what}"))
    };
    let list = match doc.extra.get(ObjectIndex::DELETED) {
        None => return Ok(Arc::default()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(malformed("is not a list of ids".to_owned())),
    };
    if u64::try_from(list.len()).map_or(true, |count| count > rows) {
        let found = list.len();
        return Err(malformed(format!(
            "names {found} objects, the index has {rows} rows"
        )));
    }
    let ids: Option<BTreeSet<i64>> = list.iter().map(Value::as_i64).collect();
    let ids = ids.ok_or_else(|| {
        malformed("holds a value that is not an id, a whole number of 64 bits".to_owned())
    })?;
    Ok(ids.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ObjectIndex, ObjectIndexDoc, parse};

    fn doc(list: Value) -> ObjectIndexDoc {
        let mut doc = ObjectIndexDoc::default();
        doc.extra.insert("zvf_deleted".to_owned(), list);
        doc
    }

    #[test]
    fn a_list_is_read_as_it_was_set() {
        let mut one = ObjectIndexDoc::default();
        assert!(parse(&one, 0, "k").unwrap().is_empty());
        ObjectIndex::list_deleted(&mut one, [9, -4, 9]);
        assert_eq!(*parse(&one, 3, "k").unwrap(), [-4, 9]);
        ObjectIndex::list_deleted(&mut one, []);
        assert_eq!(one, ObjectIndexDoc::default());
    }

    #[test]
    fn anything_but_a_list_of_ids_is_malformed() {
        for list in [
            json!(7),
            json!({"7": 7}),
            json!(null),
            json!([7, "8"]),
            json!([0.5]),
            json!([u64::MAX]),
            json!([[7]]),
            json!([1, 2, 3]),
            json!([1, 1, 1]),
        ] {
            let error = parse(&doc(list.clone()), 2, "0/object_index/zarr.json").unwrap_err();
            assert_eq!(error.class(), crate::Class::Malformed, "{list}");
            assert!(error.to_string().contains("0/object_index/zarr.json"));
        }
    }
}
