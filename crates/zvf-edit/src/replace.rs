//! Replaces documents of an existing store, all at once, and keeps copies of the old and new ones in a backup.
//!
//! ```text
//! <kept>/backup.json        the list of documents, put first and only if absent
//! <kept>/before/<key>       each old document
//! <kept>/after/<key>        each new document
//! ── the kept documents are durable ──
//! the store                 changed as by an edit: `zvf_encode::transaction::Transaction`
//! ```
//!
//! An unreadable root cannot name an edit. So if the root is unreadable before or after the change, it is replaced alone: after the other documents
//! if it was readable before, otherwise before them. Only documents, objects named `zarr.json`, are ever changed.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use zvf_meta::RootDoc;

use zvf_encode::parallel::blocking;
use zvf_encode::target::{ObjectPut, Target, unique};
use zvf_encode::transaction::{Change, LEASE, ROOT, Take, Transaction};
use zvf_encode::{StaleFiles, WriteError, WriteOptions};

/// The key of the list of documents.
const LIST: &str = "backup.json";

/// A document of a store, before and after the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentChange {
    /// Its key: `zarr.json`, or a key that ends with it.
    pub key: String,
    /// The current bytes.
    pub was: Vec<u8>,
    /// The new bytes.
    pub now: Vec<u8>,
}

/// An address for a backup next to a store, with a unique name.
///
/// # Errors
/// Misuse: a store at the root of a bucket or disk, or at `.` or `..`, has no place next to it.
pub fn backup_address(store: &str) -> Result<String, WriteError> {
    let (scheme, path) = store
        .split_once("://")
        .map_or(("", store), |(scheme, _)| store.split_at(scheme.len() + 3));
    let (path, query) = match path.find(['?', '#']).filter(|_| !scheme.is_empty()) {
        Some(at) => path.split_at(at),
        None => (path, ""),
    };
    let path = path.trim_end_matches(['/', '\\']);
    // The first part after a scheme is a bucket or host, which may be empty.
    let named = match scheme {
        "" => !path.is_empty() && !matches!(path, "." | ".."),
        _ => path.split_once('/').is_some_and(|(_, key)| !key.is_empty()),
    };
    if !named {
        return Err(WriteError::spec(
            "backup",
            format!("{store:?}, which has no place for a backup next to it"),
            "an address for the backup of the documents",
        ));
    }
    Ok(format!("{scheme}{path}.backup-{:x}{query}", unique()))
}

/// Copies documents to `backup`, then replaces them. Returns how many were replaced. If the options have a history entry, the root is replaced, too.
///
/// Either all documents are replaced, or none. Exception: if the root is unreadable before or after the change, it and the other documents are replaced
/// in two steps, and only the first may be done. [`Edit::resume`](crate::Edit::resume) finishes an interrupted change or rolls it back.
///
/// # Cost
/// A second copy of every old and new document in memory, and several requests for each.
///
/// # Errors
/// [`WriteError::Changed`]: a document differs from `was`; nothing was replaced. Misuse: a key that is not a document, an
/// existing backup. [`WriteError::Busy`]: another change in progress. I/O.
pub fn replace_documents<'a>(
    address: &'a str,
    mut changes: Vec<DocumentChange>,
    backup: &'a str,
    options: &'a WriteOptions,
) -> BoxFuture<'a, Result<usize, WriteError>> {
    Box::pin(async move {
        let places = StoreAndBackup::new(address, backup, options);
        blocking(move || {
            check_keys(&changes)?;
            let (target, kept) = (places.target()?, places.kept()?);
            check_unchanged(&target, &changes, &places.address)?;
            if let Some(entry) = places.options.history.clone() {
                record(&target, &mut changes, entry)?;
            }
            keep(&kept, &changes, &places)?;
            let count = changes.len();
            replace(&Arc::new(target), &places.address, changes)?;
            Ok(count)
        })
        .await
    })
}

/// Restores the documents that were kept at `backup`. Returns the number of changed documents.
///
/// # Errors
/// Misuse: no backup at this address; a missing document; a document that is neither in its old nor in its new state, unless `force` allows this.
/// Malformed data: an incomplete backup, or one that lists keys outside of the store. Nothing is replaced in these cases. The errors of
/// [`replace_documents`].
pub fn restore_documents<'a>(
    address: &'a str,
    backup: &'a str,
    force: bool,
    options: &'a WriteOptions,
) -> BoxFuture<'a, Result<usize, WriteError>> {
    Box::pin(async move {
        let places = StoreAndBackup::new(address, backup, options);
        blocking(move || {
            let (target, kept) = (places.target()?, places.kept()?);
            let mut changes = Vec::new();
            for key in listed(&kept, &places.backup)? {
                let before = kept_document(&kept, "before", &key)?;
                let after = kept_document(&kept, "after", &key)?;
                let Some(now) = target.read(&key)? else {
                    let expected = "the document that is to be replaced";
                    return Err(WriteError::input(key, "nothing", expected));
                };
                if now == before {
                    continue;
                }
                if !force && !same(&now, &after) {
                    let found = "a document that was changed after the repair";
                    let expected = "the document that the repair wrote; `--force` also replaces documents that were changed later";
                    return Err(WriteError::input(key, found, expected));
                }
                changes.push(DocumentChange {
                    key,
                    was: now,
                    now: before,
                });
            }
            let count = changes.len();
            if count > 0 {
                replace(&Arc::new(target), &places.address, changes)?;
            }
            Ok(count)
        })
        .await
    })
}

/// The addresses of the store and of its backup.
struct StoreAndBackup {
    address: String,
    backup: String,
    options: WriteOptions,
}

impl StoreAndBackup {
    fn new(address: &str, backup: &str, options: &WriteOptions) -> Self {
        Self {
            address: address.to_owned(),
            backup: backup.to_owned(),
            options: options.clone(),
        }
    }

    fn target(&self) -> Result<Target, WriteError> {
        Target::new(&self.address, &self.options.open, self.options.durable)
    }

    fn kept(&self) -> Result<Target, WriteError> {
        Target::new(&self.backup, &self.options.open, self.options.durable)
    }
}

/// Whether two documents are equal as JSON. An interrupted writer may have formatted one differently.
fn same(a: &[u8], b: &[u8]) -> bool {
    let value = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
    a == b || value(a).is_some_and(|one| value(b) == Some(one))
}

fn check_keys(changes: &[DocumentChange]) -> Result<(), WriteError> {
    let is_document = |key: &str| key == ROOT || key.ends_with("/zarr.json");
    match changes.iter().find(|one| !is_document(&one.key)) {
        Some(one) => Err(WriteError::input(
            one.key.clone(),
            "a key that does not belong to a document",
            "a key that ends in zarr.json",
        )),
        None => Ok(()),
    }
}

fn check_unchanged(
    target: &Target,
    changes: &[DocumentChange],
    address: &str,
) -> Result<(), WriteError> {
    for one in changes {
        if target.read(&one.key)?.as_deref() != Some(&*one.was) {
            return Err(WriteError::changed(address));
        }
    }
    Ok(())
}

/// Adds an entry to the history in the root document, which becomes one of the changes. An unreadable root gets no entry.
fn record(
    target: &Target,
    changes: &mut Vec<DocumentChange>,
    entry: Value,
) -> Result<(), WriteError> {
    let recorded = |root: &[u8]| {
        let mut root = RootDoc::parse(root).ok()?;
        root.record(Some(entry));
        Some(root.to_json().into_bytes())
    };
    if let Some(root) = changes.iter_mut().find(|one| one.key == ROOT) {
        root.now = recorded(&root.now).unwrap_or_else(|| root.now.clone());
    } else if let Some(was) = target.read(ROOT)?
        && let Some(now) = recorded(&was)
    {
        let key = ROOT.to_owned();
        changes.push(DocumentChange { key, was, now });
    }
    Ok(())
}

/// Stores the old and the new documents.
fn keep(
    kept: &Target,
    changes: &[DocumentChange],
    places: &StoreAndBackup,
) -> Result<(), WriteError> {
    let keys: Vec<&str> = changes.iter().map(|one| one.key.as_str()).collect();
    let list = json!({
        "what": "documents of a Zarr Vectors store that were replaced; `zvf repair STORE --undo` puts them back",
        "store": places.address,
        // Makes the list unique, even if two repairs have the same documents.
        "repair": format!("{:x}", unique()),
        "documents": keys,
    });
    if !kept.put_new(LIST, list.to_string().into_bytes())? {
        return Err(WriteError::Exists {
            store: places.backup.clone(),
            what: format!(
                "{LIST} exists, expected none: it belongs to another repair, or to an interrupted one; use another address, or remove it first"
            ),
            root: false,
        });
    }
    let copies = changes.iter().flat_map(|one| {
        [
            (format!("before/{}", one.key), one.was.clone()),
            (format!("after/{}", one.key), one.now.clone()),
        ]
    });
    kept.put(copies.collect())?;
    kept.barrier()
}

/// The keys of the kept documents.
fn listed(kept: &Target, backup: &str) -> Result<Vec<String>, WriteError> {
    let Some(list) = kept.read(LIST)? else {
        return Err(WriteError::input(
            backup,
            "nothing",
            "a backup of documents",
        ));
    };
    let list: Value = serde_json::from_slice(&list).unwrap_or_default();
    let keys = list.get("documents").and_then(Value::as_array);
    let keys: Option<Vec<String>> = keys.and_then(|keys| {
        let text = |key: &Value| Some(key.as_str()?.to_owned());
        keys.iter().map(text).collect()
    });
    let expected = "a list of documents";
    let keys =
        keys.ok_or_else(|| WriteError::data(LIST, "a document without a list of keys", expected))?;
    // The list comes from a file: keys outside of the store, and keys of other objects, are refused.
    let inside = |key: &String| {
        let parts = || key.split('/');
        parts().next_back() == Some("zarr.json")
            && parts().all(|part| !matches!(part, "" | "." | "..") && !part.contains('\\'))
    };
    match keys.iter().find(|key| !inside(key)) {
        Some(key) => Err(WriteError::data(
            LIST,
            format!("{key:?}"),
            "keys of documents",
        )),
        None => Ok(keys),
    }
}

fn kept_document(kept: &Target, part: &str, key: &str) -> Result<Vec<u8>, WriteError> {
    let path = format!("{part}/{key}");
    kept.read(&path)?
        .ok_or_else(|| WriteError::data(path, "nothing", "a document of the backup"))
}

/// Replaces documents in the order that their root requires.
fn replace(
    target: &Arc<Target>,
    address: &str,
    changes: Vec<DocumentChange>,
) -> Result<(), WriteError> {
    let (root, others): (Vec<_>, Vec<_>) = changes.into_iter().partition(|one| one.key == ROOT);
    let root = root.into_iter().next();
    let readable = |bytes: &[u8]| RootDoc::parse(bytes).is_ok();
    let (before, after) = match &root {
        Some(root) => (readable(&root.was), readable(&root.now)),
        None => (true, true),
    };
    match root {
        Some(root) if !(before && after) => {
            if !before {
                alone(target, address, &root)?;
            }
            if !others.is_empty() {
                together(target, address, None, others)?;
            }
            if before {
                alone(target, address, &root)?;
            }
            Ok(())
        }
        root => together(target, address, root, others),
    }
}

/// Replaces only the root.
fn alone(target: &Arc<Target>, address: &str, root: &DocumentChange) -> Result<(), WriteError> {
    let details = json!({"edit": format!("{:x}", unique())});
    let take = (Take::Expired, LEASE);
    let mut change = Change::begin(Arc::clone(target), address, "repair", &details, take)?;
    let replaced = if change.root() == root.was {
        change.replace_root(root.now.clone())
    } else {
        Err(WriteError::changed(address))
    };
    match replaced {
        Ok(()) => tidied(change.finish()),
        Err(error) => {
            change.abandon(&[]);
            Err(error)
        }
    }
}

/// Replaces documents under a redo log.
fn together(
    target: &Arc<Target>,
    address: &str,
    root: Option<DocumentChange>,
    others: Vec<DocumentChange>,
) -> Result<(), WriteError> {
    let journal = Transaction::begin(Arc::clone(target), address, StaleFiles::Refuse, LEASE)?;
    let unchanged = root.as_ref().is_none_or(|one| journal.root() == one.was);
    let checked = if unchanged {
        check_unchanged(target, &others, address)
    } else {
        Err(WriteError::changed(address))
    };
    if let Err(error) = checked {
        journal.abandon();
        return Err(error);
    }
    let root = root.map_or_else(|| journal.root().to_vec(), |one| one.now);
    let objects: Vec<ObjectPut> = others.into_iter().map(|one| (one.key, one.now)).collect();
    tidied(journal.commit_exact(objects, root).map(|_| ()))
}

/// Ignores a failure to clean up after a completed change: the next change cleans up.
fn tidied(done: Result<(), WriteError>) -> Result<(), WriteError> {
    match done {
        Err(WriteError::Tidying { .. }) => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::backup_address;

    #[test]
    fn backups_lie_beside_the_store() {
        for (store, wanted) in [
            ("/data/brain.zv/", "/data/brain.zv.backup-"),
            ("brain.zv", "brain.zv.backup-"),
            ("s3://bucket/a/brain", "s3://bucket/a/brain.backup-"),
            ("memory:///store", "memory:///store.backup-"),
            ("file:///data/brain", "file:///data/brain.backup-"),
        ] {
            let found = backup_address(store).unwrap();
            assert!(found.starts_with(wanted), "{found}");
            assert_ne!(found, backup_address(store).unwrap());
        }
        for nowhere in ["/", ".", "s3://bucket", "s3://bucket/", "memory:///"] {
            assert!(backup_address(nowhere).is_err(), "{nowhere}");
        }
    }
}
