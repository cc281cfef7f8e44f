//! The known part of a store's tree: documents and names, each requested once.
//!
//! A level is loaded by repeating one step: plan, without I/O, every document and listing that has a known key and was not requested yet; then
//! request all of them together. Most levels need two such rounds: the first while
//! the root is read, with the keys that every store has, and the second for attributes and link arrays.

mod blobs;
mod build;
mod crosslinks;
mod damaged;
mod declared;
mod denied;
mod families;
pub(crate) mod levels;
mod linkattributes;
mod linkplan;
mod links;
mod listed;
mod objects;
mod padded;
pub(crate) mod plan;
mod probe;

pub use links::chunk_factors;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use zvf_format::dtype::{DType, DTypeKind};
use zvf_meta::version::is_ruled;
use zvf_meta::{ArrayAttributes, ArrayDoc, GroupDoc, MetaError, NodeKind, RootDoc, node_kind};

use crate::container::blob::CHUNK;
use crate::container::{GridArray, SharedArray};
use crate::groups::Groups;
use crate::level::Refused;
use crate::links::records::RecordsByCell;
use crate::objects::ObjectIndex;
use crate::warnings::Warnings;
use crate::{IoError, KnownNames, OpenOptions, StoreError};
use zvf_io::Once;
use zvf_io::{Kv, Object, Question, Reply};

/// The type of a grid array if its document states none.
const MISSING: DType = DType::little(DTypeKind::F32);

/// The answers to all requests so far.
#[derive(Debug)]
pub(crate) struct SnapshotTree {
    pub(crate) kv: Kv,
    pub(crate) address: String,
    pub(crate) names: Option<KnownNames>,
    pub(crate) warnings: Arc<Warnings>,
    /// Whether damaged nodes are left out, see [`OpenOptions::leave_out_damaged`].
    leave_out_damaged: bool,
    state: Mutex<SnapshotState>,
    /// Held while answers are recorded or arrays are built, see [`alone`](Self::alone).
    alone: Mutex<()>,
}

#[derive(Debug, Default)]
pub(crate) struct SnapshotState {
    documents: HashMap<String, SeenDocument>,
    /// `None`: the backend cannot list.
    folders: HashMap<String, Option<Arc<Vec<String>>>>,
    objects: HashMap<String, Option<Arc<Vec<String>>>>,
    pub(crate) root: Option<Arc<RootDoc>>,
    pub(crate) levels: Vec<u32>,
    pub(crate) grids: HashMap<String, SharedArray>,
    pub(crate) object_indexes: HashMap<u32, Arc<ObjectIndex>>,
    pub(crate) groups: HashMap<u32, Arc<Groups>>,
    /// Damage that was found by reading cells.
    pub(crate) left_out: Vec<Refused>,
    /// How the flat records of a family were divided into cells, by path.
    pub(crate) cuts: HashMap<String, Arc<RecordsByCell>>,
    pub(crate) rounds: u32,
    /// Levels whose stated type of vertices was compared with a chunk.
    probed: HashMap<u32, Arc<Once<probe::ProbeResult, StoreError>>>,
    /// Facts that the arrays of each level share.
    pub(crate) facts: HashMap<u32, blobs::LevelArrayFacts>,
    etags: BTreeMap<String, Option<String>>,
}

/// One document, as first seen. Never read again.
#[derive(Debug, Clone)]
enum SeenDocument {
    Absent,
    Denied(IoError),
    Bytes(Bytes),
    /// Replaced by its parsed form.
    Used,
}

impl SnapshotTree {
    pub(crate) fn new(kv: Kv, address: String, options: &OpenOptions) -> Self {
        Self {
            kv,
            address,
            names: options.names.clone(),
            warnings: Arc::default(),
            leave_out_damaged: options.leave_out_damaged,
            state: Mutex::default(),
            alone: Mutex::default(),
        }
    }

    /// Lets one caller at a time record answers or build arrays: all documents that a listing names are requested before arrays are built, and the bytes of a
    /// document are dropped when its array is stored. A caller in between would find neither the array nor its document.
    fn alone(&self) -> MutexGuard<'_, ()> {
        self.alone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, SnapshotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a round of requests that did not come from questions.
    pub(crate) fn made_round(&self, round: u32) {
        let mut state = self.state();
        state.rounds = state.rounds.max(round);
    }

    /// Sends the questions that have no answer yet, in one round. Returns whether there were any.
    pub(crate) async fn ask(&self, questions: Vec<Question>) -> Result<bool, StoreError> {
        let (round, questions) = {
            let state = self.state();
            let mut fresh: Vec<Question> =
                questions.into_iter().filter(|q| !state.knows(q)).collect();
            fresh.sort_unstable_by(|a, b| key_of(a).cmp(&key_of(b)));
            fresh.dedup();
            (state.rounds.saturating_add(1), fresh)
        };
        if questions.is_empty() {
            return Ok(false);
        }
        let replies = self.kv.in_round(round).ask_all(questions).await?;
        let _alone = self.alone();
        let mut state = self.state();
        state.rounds = state.rounds.max(round);
        for (question, reply) in replies {
            state.learn(question, reply, &self.warnings)?;
        }
        Ok(true)
    }

    /// The error for a document that has to exist.
    #[cold]
    pub(crate) fn missing(&self, key: &str) -> StoreError {
        match self.state().documents.get(key) {
            Some(SeenDocument::Denied(error)) => error.clone().into(),
            _ => StoreError::NotFound {
                key: key.to_owned(),
                store: self.address.clone(),
            },
        }
    }

    /// The bytes of a document; `None` if it does not exist, was not requested, or was replaced by its parsed form.
    pub(crate) fn document(&self, key: &str) -> Option<Bytes> {
        self.state().bytes(key)
    }

    /// The parsed document of an array; `None` if there are no [bytes](Self::document).
    pub(crate) fn array_doc(&self, path: &str) -> Result<Option<ArrayDoc>, StoreError> {
        let key = format!("{path}/zarr.json");
        match self.document(&key) {
            Some(bytes) => ArrayDoc::parse(&bytes)
                .map(Some)
                .map_err(|e| StoreError::document(key, e)),
            None => Ok(None),
        }
    }

    /// The parsed node at a path; `None` if it does not exist.
    fn node(&self, path: &str) -> Result<Option<ArrayOrGroup>, StoreError> {
        let key = format!("{path}/zarr.json");
        let Some(bytes) = self.document(&key) else {
            return self.check_there(path).map(|()| None);
        };
        let node = ArrayOrGroup::parse(&bytes).map(Some);
        node.map_err(|e| StoreError::document(key, e))
    }

    /// Refuses a group without blobs in place of an array. It is an empty placeholder only before 0.9 (0.8, sections 10.2 and 10.3).
    fn check_placeholder(&self, path: &str) -> Result<(), StoreError> {
        match self.is_ruled() {
            true => Err(StoreError::malformed(
                format!("{path}/zarr.json"),
                "node_type is group, expected array",
            )),
            false => Ok(()),
        }
    }

    /// Whether the store is of 0.9 or later, where every table and every family is one array.
    fn is_ruled(&self) -> bool {
        let state = self.state();
        let root = state.root.as_deref();
        root.is_some_and(|root| is_ruled(&root.zarr_vectors.zv_version))
    }

    /// The attributes of a group that represents one array; none if it has no document.
    fn group_attributes(&self, path: &str) -> Result<ArrayAttributes, StoreError> {
        let key = format!("{path}/zarr.json");
        match self.document(&key) {
            Some(bytes) => attributes_of_group(&bytes).map_err(|e| StoreError::document(key, e)),
            None => Ok(ArrayAttributes::default()),
        }
    }

    /// An array that is already built.
    fn built(&self, path: &str) -> Option<SharedArray> {
        self.state().grids.get(path).cloned()
    }

    /// Stores a complete array, and drops the bytes of its document.
    fn keep(&self, path: &str, array: GridArray) -> SharedArray {
        // Most arrays of a level have cells in the same chunks as its vertices.
        let level = path.split('/').next().unwrap_or_default();
        let vertices = self.built(&format!("{level}/vertices"));
        let array = Arc::new(array.beside(vertices));
        let mut state = self.state();
        state.forget(&format!("{path}/zarr.json"));
        state.grids.insert(path.to_owned(), Arc::clone(&array));
        array
    }

    /// Stores an array that was built from the blob at `path`, and drops the bytes of the blob.
    fn keep_blob(&self, path: &str, array: GridArray) -> SharedArray {
        let array = Arc::new(array);
        let mut state = self.state();
        state.forget(&format!("{path}/{CHUNK}"));
        state.grids.insert(path.to_owned(), Arc::clone(&array));
        array
    }

    /// Adds a question to `more` unless it was answered already. Returns whether it did.
    fn asks(&self, question: Question, more: &mut Vec<Question>) -> bool {
        let asks = !self.state().knows(&question);
        more.extend(asks.then_some(question));
        asks
    }

    /// The store, for requests of the next round.
    fn next_kv(&self) -> Kv {
        let round = self.state().rounds.saturating_add(1);
        self.kv.in_round(round)
    }
}

impl SnapshotState {
    /// Drops the bytes of a document whose parsed form is stored.
    fn forget(&mut self, key: &str) {
        if let Some(document) = self.documents.get_mut(key) {
            *document = SeenDocument::Used;
        }
    }

    /// Whether a folder was listed and has a child of that name.
    fn lists(&self, folder: &str, name: &str) -> bool {
        let names = self.folders.get(folder).and_then(Option::as_ref);
        names.is_some_and(|names| names.iter().any(|one| one == name))
    }

    /// Whether a folder has a child of that name, or may have it because the backend cannot list.
    fn may_have(&self, folder: &str, name: &str) -> bool {
        self.lists(folder, name) || matches!(self.folders.get(folder), Some(None))
    }

    fn knows(&self, question: &Question) -> bool {
        match question {
            Question::Document(key) => self.documents.contains_key(key),
            Question::Names(prefix) | Question::Cells(prefix) => self.folders.contains_key(prefix),
            Question::Keys(prefix) => self.objects.contains_key(prefix),
        }
    }

    /// The folders below a prefix: not requested yet, not known because the backend cannot list, or the names.
    pub(crate) fn folders(&self, prefix: &str) -> Option<Option<Arc<Vec<String>>>> {
        self.folders.get(prefix).cloned()
    }

    pub(crate) fn objects(&self, prefix: &str) -> Option<Arc<Vec<String>>> {
        self.objects.get(prefix).cloned().flatten()
    }

    /// The documents that were read, with the ETags they had.
    pub(crate) fn etags(&self) -> Vec<(String, Option<String>)> {
        self.etags
            .iter()
            .map(|(key, etag)| (key.clone(), etag.clone()))
            .collect()
    }

    fn bytes(&self, key: &str) -> Option<Bytes> {
        match self.documents.get(key) {
            Some(SeenDocument::Bytes(bytes)) => Some(bytes.clone()),
            _ => None,
        }
    }

    /// Whether a document is known to exist.
    pub(crate) fn exists(&self, key: &str) -> bool {
        matches!(
            self.documents.get(key),
            Some(SeenDocument::Bytes(_) | SeenDocument::Used)
        )
    }

    fn learn(
        &mut self,
        question: Question,
        reply: Result<Reply, IoError>,
        warnings: &Warnings,
    ) -> Result<(), StoreError> {
        match (question, reply) {
            (Question::Document(key), Ok(Reply::Document(object))) => {
                let document = match object {
                    Some(Object { bytes, etag, .. }) => {
                        self.etags.insert(key.clone(), etag);
                        SeenDocument::Bytes(bytes)
                    }
                    None => SeenDocument::Absent,
                };
                self.documents.insert(key, document);
            }
            // Buckets that forbid listing answer "denied" for objects that do not exist. Whether that matters is known only if the document turns out
            // to be needed.
            (Question::Document(key), Err(error @ IoError::Denied { .. })) => {
                self.documents.insert(key, SeenDocument::Denied(error));
            }
            (Question::Document(_), Err(error)) => return Err(error.into()),
            (Question::Names(prefix) | Question::Cells(prefix), Ok(Reply::Names(names))) => {
                self.folders.insert(prefix, names.map(Arc::new));
            }
            (Question::Keys(prefix), Ok(Reply::Names(keys))) => {
                self.objects.insert(prefix, keys.map(Arc::new));
            }
            // A refused listing is not needed if names are known. After a failed one, nodes could be left out, and the result would be wrong.
            (_, Err(error)) if !refuses_listing(&error) => return Err(error.into()),
            (Question::Names(prefix) | Question::Cells(prefix), failed) => {
                if let Err(error) = failed {
                    warnings.add(format!("cannot list {prefix:?}: {error}"));
                }
                self.folders.insert(prefix, None);
            }
            (Question::Keys(prefix), failed) => {
                if let Err(error) = failed {
                    warnings.add(format!("cannot list {prefix:?}: {error}"));
                }
                self.objects.insert(prefix, None);
            }
            (Question::Document(key), Ok(Reply::Names(_))) => {
                self.documents.insert(key, SeenDocument::Absent);
            }
        }
        Ok(())
    }
}

/// The document of the node at a path, as a question.
pub(crate) fn document_at(path: impl std::fmt::Display) -> Question {
    Question::Document(format!("{path}/zarr.json"))
}

/// A node that may be an array, or a group that represents one.
#[derive(Debug)]
enum ArrayOrGroup {
    Array(Box<ArrayDoc>),
    Group(Box<GroupDoc>),
}

impl ArrayOrGroup {
    fn parse(bytes: &[u8]) -> Result<Self, MetaError> {
        // Documents of arrays can be long, so they are parsed only once.
        if let Ok(array) = ArrayDoc::parse(bytes) {
            return Ok(Self::Array(Box::new(array)));
        }
        Ok(match node_kind(bytes)? {
            NodeKind::Array => Self::Array(Box::new(ArrayDoc::parse(bytes)?)),
            NodeKind::Group => Self::Group(Box::new(GroupDoc::parse(bytes)?)),
        })
    }
}

/// The attributes of a group that represents one array.
fn attributes_of_group(bytes: &[u8]) -> Result<ArrayAttributes, MetaError> {
    ArrayAttributes::from_group(&GroupDoc::parse(bytes)?)
}

/// Whether an error means that the backend cannot list, or does not allow this caller to list.
fn refuses_listing(error: &IoError) -> bool {
    match error {
        IoError::Denied { .. } | IoError::NotSupported { .. } => true,
        // Any other error that a retry would not change.
        IoError::Backend { transient, .. } => !transient,
        _ => false,
    }
}

fn key_of(question: &Question) -> (u8, &str) {
    match question {
        Question::Document(key) => (0, key),
        Question::Names(prefix) => (1, prefix),
        Question::Keys(prefix) => (2, prefix),
        Question::Cells(prefix) => (3, prefix),
    }
}
