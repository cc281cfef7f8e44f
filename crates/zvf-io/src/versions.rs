//! Records the states of objects that were read, to detect a store that changes while it is read.
//!
//! Three checks: an object that is read twice must be in the same state; an object must not be newer than the snapshot; and the documents that an
//! answer uses must be unchanged when it ends. Only the last check, `verify`, costs requests.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat};

use crate::trace::HAS_CLOCK;
use crate::{IoError, STAGING};

/// The state of an object, as the backend reports it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ReportedState {
    /// The ETag; on a local disk inode and time of the last write.
    pub(crate) etag: Option<String>,
    /// Time of the last write, in microseconds since 1970; 0 if the backend does not state it.
    pub(crate) modified: i64,
    /// Bytes of the whole object.
    pub(crate) size: u64,
}

impl ReportedState {
    /// Whether the state has a value that changes with the content.
    pub(crate) fn identifies_content(&self) -> bool {
        self.etag.is_some() || self.modified != 0
    }
}

impl fmt::Display for ReportedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.size)?;
        if let Some(etag) = &self.etag {
            write!(f, " with etag {etag}")?;
        }
        if self.modified != 0 {
            write!(f, " of ")?;
            write_time(f, self.modified)?;
        }
        Ok(())
    }
}

/// Writes microseconds since 1970 as date and time (UTC).
fn write_time(f: &mut fmt::Formatter<'_>, micros: i64) -> fmt::Result {
    let Some(time) = DateTime::from_timestamp_micros(micros) else {
        return write!(f, "{micros} microseconds since 1970");
    };
    let precision = match micros % 1_000_000 {
        0 => SecondsFormat::Secs,
        _ => SecondsFormat::Micros,
    };
    f.write_str(&time.to_rfc3339_opts(precision, true))
}

/// The role of an object in the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SnapshotRole {
    /// A document of the snapshot.
    Document,
    /// An object that documents refer to: a cell, a shard, a chunk of a table.
    Content,
}

/// A document as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Pinned {
    pub(crate) state: ReportedState,
    /// A hash of the bytes, if they may change while the state stays the same.
    digest: Option<u64>,
    /// Whether it was read before the snapshot was complete.
    early: bool,
}

#[cfg(any(feature = "backends", test))]
impl Pinned {
    /// Whether an equal state means equal bytes.
    pub(crate) fn is_identified_by_state(&self) -> bool {
        self.digest.is_none()
    }
}

/// The digest of a listing of folder names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListingDigest {
    names: usize,
    digest: u64,
}

impl fmt::Display for ListingDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a listing of {} names ({:x})", self.names, self.digest)
    }
}

/// The documents and listings to check at the end of an answer.
#[derive(Debug, Default)]
pub(crate) struct DocumentChecks {
    /// The number of objects that had been read when this list was made.
    pub(crate) reads: u64,
    /// Documents by key, as they were read; `None` if absent.
    pub(crate) documents: Vec<(String, Option<Pinned>)>,
    /// Listings by prefix.
    #[cfg_attr(
        not(feature = "backends"),
        expect(dead_code, reason = "only backends list")
    )]
    pub(crate) listings: Vec<(String, ListingDigest)>,
}

/// The states of all objects that were read.
#[derive(Debug)]
pub struct Versions {
    /// Whether changes are also detected by checks other than repeated reads.
    on: bool,
    opened: i64,
    inner: Mutex<VersionsInner>,
}

#[derive(Debug, Default)]
struct VersionsInner {
    /// Documents by the path of their node: the key without `zarr.json`.
    documents: BTreeMap<String, Pinned>,
    /// Nodes without a document, as requested together with the root.
    absent: BTreeSet<String>,
    /// Listings that were requested together with the root, by prefix.
    listed: BTreeMap<String, ListingDigest>,
    /// Documents of arrays with cells that were read, and of all nodes above them.
    used: BTreeSet<String>,
    /// The levels of answers, as written in keys.
    levels: BTreeSet<String>,
    /// States of content objects: ETag (hashed), time, size. The map uses two hashes of the key, because there may be millions of objects.
    content: HashMap<(u64, u64), (Option<u64>, i64, u64)>,
    hashes: (RandomState, RandomState),
    /// Objects that were written after this time do not belong to the snapshot. `None` while the snapshot is taken.
    horizon: Option<i64>,
    /// Objects read so far.
    reads: u64,
    /// The number of reads when the documents were last found unchanged.
    verified: Option<u64>,
}

/// Age of a document, in microseconds, beyond which it was certainly not written again in the second in which it was read, and beyond which listings
/// that were requested with the root need no check. It allows for differences between clocks: buckets refuse signed requests with a larger difference.
const SETTLED: i64 = 15 * 60 * 1_000_000;

/// Most objects, besides documents, with recorded states. Further objects are not compared when they are read again.
const MOST_CONTENT: usize = 1 << 18;

/// Microseconds since 1970, if there is a clock; WebAssembly has none.
fn now() -> Option<i64> {
    if !HAS_CLOCK {
        return None;
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    i64::try_from(now.ok()?.as_micros()).ok()
}

impl Versions {
    pub(crate) fn new(on: bool) -> Self {
        Self {
            on,
            // Without a clock no object counts as newer than the snapshot; ETags and sizes show changes.
            opened: now().unwrap_or(i64::MAX),
            inner: Mutex::default(),
        }
    }

    /// Whether changes are detected.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Whether a document may change without a change of its state: the backend states neither ETag nor time; or it states times in whole seconds (and
    /// web servers derive ETags from them), and the document is so new that it may be written again within the same second.
    fn is_ambiguous(&self, state: &ReportedState) -> bool {
        let seconds = state.modified % 1_000_000 == 0;
        let young = state.modified > self.opened.saturating_sub(SETTLED);
        !state.identifies_content() || (seconds && young)
    }

    fn inner(&self) -> MutexGuard<'_, VersionsInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Completes the snapshot: objects that are written later do not belong to it.
    pub fn settle(&self) {
        let mut inner = self.inner();
        let newest = inner.documents.values().map(|p| p.state.modified).max();
        inner.horizon = Some(newest.unwrap_or(0).max(self.opened));
    }

    /// Records the state of an object that was read.
    ///
    /// # Errors
    /// [`IoError::SourceChanged`] if it was read in another state before, or was written after the snapshot.
    pub(crate) fn note(
        &self,
        key: &str,
        state: &ReportedState,
        role: SnapshotRole,
        bytes: &[u8],
    ) -> Result<(), IoError> {
        let mut inner = self.inner();
        inner.reads = inner.reads.saturating_add(1);
        if self.on
            && let Some(horizon) = inner.horizon
            && state.modified > horizon
        {
            return Err(changed(
                key,
                &TimedEvent("the snapshot was taken", horizon),
                &TimedEvent("the object was written", state.modified),
            ));
        }
        // Objects that are requested with the documents but are not documents, such as the records of links, are content.
        let role = if key.ends_with("zarr.json") {
            role
        } else {
            SnapshotRole::Content
        };
        match role {
            SnapshotRole::Document => {
                let path = node_of(key);
                if let Some(first) = inner.documents.get(path) {
                    return match first.state == *state {
                        true => Ok(()),
                        false => Err(changed(key, &first.state, state)),
                    };
                }
                let digest = self.is_ambiguous(state).then(|| inner.digest(bytes));
                let pinned = Pinned {
                    state: state.clone(),
                    digest,
                    early: inner.horizon.is_none(),
                };
                inner.documents.insert(path.to_owned(), pinned);
            }
            SnapshotRole::Content => {
                inner.use_documents_of(key);
                let id = (inner.hashes.0.hash_one(key), inner.hashes.1.hash_one(key));
                let etag = state.etag.as_ref().map(|e| inner.hashes.0.hash_one(e));
                let now = (etag, state.modified, state.size);
                match inner.content.get(&id) {
                    Some(first) if *first == now => {}
                    Some((first, modified, size)) => {
                        let named = (*first == etag).then(|| state.etag.clone()).flatten();
                        let first = ReportedState {
                            etag: named.or(first.map(|_| "not this".to_owned())),
                            modified: *modified,
                            size: *size,
                        };
                        return Err(changed(key, &first, state));
                    }
                    None if inner.content.len() < MOST_CONTENT => {
                        inner.content.insert(id, now);
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Records that an answer uses a level, so that its documents are verified even if no cell is read. The first use counts as a read: a check that another
    /// answer began before did not include these documents.
    pub fn use_level(&self, level: u32) {
        let mut inner = self.inner();
        if inner.levels.insert(level.to_string()) {
            inner.reads = inner.reads.saturating_add(1);
        }
    }

    /// Records that a requested document does not exist.
    ///
    /// # Errors
    /// [`IoError::SourceChanged`] if it was read before.
    pub(crate) fn note_absent(&self, key: &str) -> Result<(), IoError> {
        let mut inner = self.inner();
        let path = node_of(key);
        if let Some(first) = inner.documents.get(path) {
            return Err(changed(key, &first.state, &ABSENT));
        }
        if inner.horizon.is_none() {
            inner.absent.insert(path.to_owned());
        }
        Ok(())
    }

    /// Records the folders below a prefix.
    #[cfg_attr(
        not(feature = "backends"),
        expect(dead_code, reason = "only backends list")
    )]
    pub(crate) fn note_listed(&self, prefix: &str, names: &[String]) {
        let listed = self.listed(names);
        let mut inner = self.inner();
        if inner.horizon.is_none() {
            inner.listed.insert(prefix.to_owned(), listed);
        }
    }

    /// The part of a listing that is compared. Staging folders of edits are left out: they are not part of the store until the root names them.
    pub(crate) fn listed(&self, names: &[String]) -> ListingDigest {
        let known = names.iter().filter(|name| !name.starts_with(STAGING));
        let known: Vec<&String> = known.collect();
        ListingDigest {
            names: known.len(),
            digest: self.inner().hashes.0.hash_one(&known),
        }
    }

    /// The documents and listings to check: all, or those on which the answer depends. If nothing was read since the last check, the root is
    /// enough, because cached data is not newer than that check. `None` if changes are not detected.
    ///
    /// Objects that were requested after the root was read belong to the same state of the store, as long as the root is unchanged. Objects that
    /// were requested together with the root may be older: if the store was replaced at that moment, an old or absent document is combined with the
    /// new root. Therefore these documents, including absent ones, are checked; and also the listings, if the root is so new that this may have
    /// happened.
    pub(crate) fn to_verify(&self, all: bool) -> Option<DocumentChecks> {
        let inner = self.inner();
        if !self.on {
            return None;
        }
        let root_alone = !all && inner.verified == Some(inner.reads);
        let level = |path: &str| {
            let first = path.split_once('/').map_or(path, |(first, _)| first);
            path.is_empty() || inner.levels.contains(first)
        };
        let wanted = |path: &str, early: bool| {
            let part = inner.used.contains(path) || (early && level(path));
            all || path.is_empty() || (part && !root_alone)
        };
        let documents = inner
            .documents
            .iter()
            .filter(|(path, pinned)| wanted(path, pinned.early))
            .map(|(path, pinned)| (key_of(path), Some(pinned.clone())));
        let absent = inner.absent.iter().filter(|path| wanted(path, true));
        let documents = documents.chain(absent.map(|path| (key_of(path), None)));
        let root = inner.documents.get("").map_or(0, |p| p.state.modified);
        let young = root == 0 || root > self.opened.saturating_sub(SETTLED);
        let listings = inner
            .listed
            .iter()
            .filter(|(prefix, _)| young && !root_alone && level(prefix));
        Some(DocumentChecks {
            reads: inner.reads,
            documents: documents.collect(),
            listings: listings.map(|(prefix, l)| (prefix.clone(), *l)).collect(),
        })
    }

    /// Records that the documents were unchanged after `reads` reads.
    pub(crate) fn verified(&self, reads: u64) {
        let mut inner = self.inner();
        inner.verified = inner.verified.max(Some(reads));
    }

    /// Whether bytes have the recorded hash of a document.
    pub(crate) fn same_bytes(&self, pinned: &Pinned, bytes: &[u8]) -> bool {
        pinned
            .digest
            .is_none_or(|d| d == self.inner().digest(bytes))
    }
}

impl VersionsInner {
    fn digest(&self, bytes: &[u8]) -> u64 {
        self.hashes.0.hash_one(bytes)
    }

    /// Marks the documents of the array that an object belongs to, and of the nodes above it.
    fn use_documents_of(&mut self, key: &str) {
        let mut path = key;
        while let Some((above, _)) = path.rsplit_once('/') {
            path = above;
            if self.documents.contains_key(path) && !self.used.contains(path) {
                self.used.insert(path.to_owned());
            }
        }
    }
}

/// The state of a missing document, in messages.
pub(crate) const ABSENT: &str = "absent";

/// A state as text, for messages.
pub(crate) fn state_text(state: Option<&ReportedState>) -> &dyn fmt::Display {
    match state {
        Some(state) => state,
        None => &ABSENT,
    }
}

/// The error for two states of one object.
#[cold]
pub(crate) fn changed(key: &str, first: &dyn fmt::Display, now: &dyn fmt::Display) -> IoError {
    IoError::SourceChanged {
        key: key.to_owned(),
        first: first.to_string(),
        now: now.to_string(),
    }
}

/// An event and its time.
struct TimedEvent(&'static str, i64);

impl fmt::Display for TimedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at ", self.0)?;
        write_time(f, self.1)
    }
}

/// The node that a document describes.
fn node_of(key: &str) -> &str {
    match key.strip_suffix("zarr.json") {
        Some(path) => path.trim_end_matches('/'),
        None => key,
    }
}

fn key_of(path: &str) -> String {
    if path.is_empty() {
        "zarr.json".to_owned()
    } else {
        format!("{path}/zarr.json")
    }
}

#[cfg(test)]
mod tests {
    use super::{ReportedState, SETTLED, SnapshotRole, Versions};

    fn state(etag: &str, modified: i64, size: u64) -> ReportedState {
        ReportedState {
            etag: (!etag.is_empty()).then(|| etag.to_owned()),
            modified,
            size,
        }
    }

    #[test]
    fn times_are_dates() {
        let text = |micros| state("", micros, 3).to_string();
        assert_eq!(text(0), "3 bytes");
        assert_eq!(text(1), "3 bytes of 1970-01-01T00:00:00.000001Z");
        assert_eq!(text(951_782_400_000_000), "3 bytes of 2000-02-29T00:00:00Z");
        assert_eq!(
            text(1_795_147_199_000_000),
            "3 bytes of 2026-11-20T03:59:59Z"
        );
        assert_eq!(text(-1_000_000), "3 bytes of 1969-12-31T23:59:59Z");
        assert!(text(i64::MAX).len() > 20 && text(i64::MIN).len() > 20);
    }

    #[test]
    fn another_state_is_a_change() {
        let pins = Versions::new(false);
        for role in [SnapshotRole::Document, SnapshotRole::Content] {
            let key = format!("{role:?}/zarr.json");
            let first = state("a", 5, 9);
            for _ in 0..2 {
                pins.note(&key, &first, role, b"").unwrap();
            }
            for other in [
                state("b", 5, 9),
                state("a", 6, 9),
                state("a", 5, 8),
                state("", 5, 9),
            ] {
                let error = pins.note(&key, &other, role, b"").unwrap_err().to_string();
                assert!(
                    error.starts_with(&key) && error.contains("changed"),
                    "{error}"
                );
            }
        }
    }

    #[test]
    fn what_is_newer_than_the_snapshot_does_not_belong_to_it() {
        let pins = Versions::new(true);
        let (old, new) = (state("", 1, 1), state("", i64::MAX, 1));
        let soon = state("", pins.opened + 60_000_000, 1);
        pins.note("zarr.json", &soon, SnapshotRole::Document, b"")
            .unwrap();
        pins.settle();
        pins.note("0/a/c/0", &old, SnapshotRole::Content, b"")
            .unwrap();
        // Clocks differ, so the times of the documents themselves count as part of the snapshot.
        pins.note("0/a/c/1", &soon, SnapshotRole::Content, b"")
            .unwrap();
        for role in [SnapshotRole::Document, SnapshotRole::Content] {
            let error = pins.note("0/a/c/2", &new, role, b"").unwrap_err();
            assert!(
                error.to_string().contains("the snapshot was taken at 20"),
                "{error}"
            );
        }
        let blind = Versions::new(false);
        blind.settle();
        blind
            .note("0/a/c/2", &new, SnapshotRole::Content, b"")
            .unwrap();
    }

    fn keys(pins: &Versions, all: bool) -> Vec<String> {
        let looks = pins.to_verify(all).unwrap();
        looks.documents.into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn only_documents_above_what_was_read_are_looked_at_again() {
        let pins = Versions::new(true);
        let told = state("a", 1, 1);
        let note = |key, role| pins.note(key, &told, role, b"").unwrap();
        note("zarr.json", SnapshotRole::Document);
        pins.settle();
        for key in [
            "0/zarr.json",
            "0/a/zarr.json",
            "0/b/zarr.json",
            "1/zarr.json",
        ] {
            note(key, SnapshotRole::Document);
        }
        pins.note_absent("0/groups/zarr.json").unwrap();
        assert_eq!(keys(&pins, false), ["zarr.json"]);
        note("0/a/c/0/1", SnapshotRole::Content);
        let above = ["zarr.json", "0/zarr.json", "0/a/zarr.json"];
        assert_eq!(keys(&pins, false), above);
        assert_eq!(keys(&pins, true).len(), 5);
        let reads = pins.to_verify(false).unwrap().reads;
        pins.verified(reads);
        assert_eq!(keys(&pins, false), ["zarr.json"]);
        note("0/a/c/0/2", SnapshotRole::Content);
        assert_eq!(keys(&pins, false), above);
    }

    #[test]
    fn a_check_that_began_before_a_level_was_used_does_not_count_for_it() {
        let pins = Versions::new(true);
        let told = state("a", 1, 1);
        for key in ["0/zarr.json", "1/zarr.json", "zarr.json"] {
            pins.note(key, &told, SnapshotRole::Document, b"").unwrap();
        }
        pins.settle();
        pins.use_level(1);
        let reads = pins.to_verify(false).unwrap().reads;
        // Another answer uses level 0, whose documents came with the root.
        pins.use_level(0);
        pins.verified(reads);
        assert_eq!(
            keys(&pins, false),
            ["zarr.json", "0/zarr.json", "1/zarr.json"]
        );
        pins.use_level(0);
        let reads = pins.to_verify(false).unwrap().reads;
        pins.verified(reads);
        pins.use_level(0);
        assert_eq!(keys(&pins, false), ["zarr.json"]);
    }

    #[test]
    fn an_edit_that_gets_ready_changes_no_listing() {
        let pins = Versions::new(true);
        let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let before = pins.listed(&names(&["0"]));
        assert_eq!(pins.listed(&names(&["0", "zvf-edit-1f"])), before);
        assert_ne!(pins.listed(&names(&["0", "1"])), before);
    }

    #[test]
    fn what_was_asked_for_together_with_the_root_is_looked_at_again() {
        let young = i64::MAX / 2;
        for (written, listings) in [(1, 0), (young, 2), (0, 2)] {
            let pins = Versions::new(true);
            let told = state("a", written, 1);
            for key in [
                "0/zarr.json",
                "0/a/zarr.json",
                "0/b/zarr.json",
                "1/zarr.json",
            ] {
                pins.note(key, &told, SnapshotRole::Document, b"").unwrap();
            }
            for key in ["0/groups/zarr.json", "1/groups/zarr.json"] {
                pins.note_absent(key).unwrap();
            }
            for prefix in ["", "0/links", "1/links"] {
                pins.note_listed(prefix, &["x".to_owned()]);
            }
            pins.note("zarr.json", &told, SnapshotRole::Document, b"")
                .unwrap();
            pins.settle();
            pins.use_level(0);
            assert_eq!(
                keys(&pins, false),
                [
                    "zarr.json",
                    "0/zarr.json",
                    "0/a/zarr.json",
                    "0/b/zarr.json",
                    "0/groups/zarr.json"
                ]
            );
            assert_eq!(pins.to_verify(false).unwrap().listings.len(), listings);
            assert_eq!(keys(&pins, true).len(), 7);
            let error = pins.note_absent("0/b/zarr.json").unwrap_err().to_string();
            assert!(error.contains("absent"), "{error}");
        }
    }

    #[test]
    fn bytes_stand_in_for_times_in_whole_seconds_of_a_new_document() {
        let pins = Versions::new(true);
        let second = pins.opened / 1_000_000 * 1_000_000;
        for (path, written, by_state) in [
            ("0/a", second, false),
            ("0/b", second + 1, true),
            ("0/c", second - SETTLED - 1_000_000, true),
        ] {
            let key = format!("{path}/zarr.json");
            let told = state("1f-2", written, 2);
            pins.note(&key, &told, SnapshotRole::Document, b"ab")
                .unwrap();
            let list = pins.to_verify(true).unwrap().documents;
            let pinned = list.iter().find(|(found, _)| *found == key);
            let pinned = pinned.unwrap().1.as_ref().unwrap();
            assert_eq!(pinned.is_identified_by_state(), by_state, "{path}");
            assert_eq!(pins.same_bytes(pinned, b"ba"), by_state, "{path}");
        }
    }

    #[test]
    fn bytes_stand_in_for_a_backend_that_tells_nothing() {
        let pins = Versions::new(true);
        pins.note("zarr.json", &state("", 0, 2), SnapshotRole::Document, b"ab")
            .unwrap();
        let list = pins.to_verify(false).unwrap().documents;
        let pinned = list[0].1.as_ref().unwrap();
        assert!(pins.same_bytes(pinned, b"ab") && !pins.same_bytes(pinned, b"ba"));
    }
}
