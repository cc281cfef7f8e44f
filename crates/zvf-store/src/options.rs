//! How a store is opened, and which parts of a level are loaded.

use std::collections::BTreeMap;
#[cfg(feature = "backends")]
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
#[cfg(feature = "backends")]
use object_store::ObjectStore;
use zvf_io::{CallerStore, IoOptions, IoTrace, Limits, Merge, Retry, Stop};

/// How a store is opened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpenOptions {
    /// How its address is opened: backend, limits, retries, trace.
    pub io: IoOptions,
    /// The level to prefetch: its documents and listings are requested in the first round, with the root. Default 0.
    pub prefetch_level: u32,
    /// Which parts of that level are requested in the first round. Default [`Need::all`].
    pub prefetch_need: Need,
    /// Names, for backends that cannot list.
    pub names: Option<KnownNames>,
    /// Whether a level is loaded without its damaged attributes, tables and links, which are then listed in
    /// [`Level::refused`](crate::Level::refused). Default false: damage in a requested part is an error.
    ///
    /// For programs that report on damaged stores. Other programs must return complete results or an error.
    pub leave_out_damaged: bool,
    /// Bytes of decoded cells that are kept in memory, shared by all clones of the store. Default 0: none.
    pub cell_cache_bytes: u64,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            io: IoOptions::default(),
            prefetch_level: 0,
            prefetch_need: Need::all(),
            names: None,
            leave_out_damaged: false,
            cell_cache_bytes: 0,
        }
    }
}

impl From<IoOptions> for OpenOptions {
    fn from(io: IoOptions) -> Self {
        Self {
            io,
            ..Self::default()
        }
    }
}

impl OpenOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.io = self.io.with_limits(limits);
        self
    }

    /// Records requests in `trace`.
    #[must_use]
    pub fn with_trace(mut self, trace: IoTrace) -> Self {
        self.io = self.io.with_trace(trace);
        self
    }

    /// Requests `need` of `level` in the first round.
    #[must_use]
    pub fn with_prefetch(mut self, level: u32, need: Need) -> Self {
        self.prefetch_level = level;
        self.prefetch_need = need;
        self
    }

    /// Lets the calling program fetch the objects: see [`CallerStore`].
    #[must_use]
    pub fn with_caller_store(mut self, store: CallerStore) -> Self {
        self.io = self.io.with_caller_store(store);
        self
    }

    /// Reads from `backend` instead of the backend that the address names.
    #[cfg(feature = "backends")]
    #[must_use]
    pub fn with_object_store(mut self, backend: Arc<dyn ObjectStore>) -> Self {
        self.io = self.io.with_object_store(backend);
        self
    }

    /// Sets whether requests are sent without credentials.
    #[must_use]
    pub fn with_anonymous(mut self, anonymous: bool) -> Self {
        self.io = self.io.with_anonymous(anonymous);
        self
    }

    /// Adds one key-value pair for the backend.
    #[must_use]
    pub fn with_backend_option(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.io = self.io.with_backend_option(key, value);
        self
    }

    /// Replaces the number of requests in flight.
    #[must_use]
    pub fn with_concurrency(mut self, requests: usize) -> Self {
        self.io = self.io.with_concurrency(requests);
        self
    }

    /// Replaces the rules by which failed requests are sent again.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.io = self.io.with_retry(retry);
        self
    }

    /// Replaces the time that a request may take without progress.
    #[must_use]
    pub fn with_request_timeout(mut self, timeout: Duration) -> Self {
        self.io = self.io.with_request_timeout(timeout);
        self
    }

    /// Replaces the rules by which neighbouring byte ranges are merged into one request.
    #[must_use]
    pub fn with_merge(mut self, merge: Merge) -> Self {
        self.io = self.io.with_merge(merge);
        self
    }

    /// Sets whether changes of the store are detected.
    #[must_use]
    pub fn with_verify(mut self, verify: bool) -> Self {
        self.io = self.io.with_verify(verify);
        self
    }

    /// Caches decoded cells, up to `bytes` bytes.
    #[must_use]
    pub fn with_cell_cache(mut self, bytes: u64) -> Self {
        self.cell_cache_bytes = bytes;
        self
    }

    /// Reads the objects in `drafts` instead of the stored ones.
    #[must_use]
    pub fn with_drafts(mut self, drafts: BTreeMap<String, Bytes>) -> Self {
        self.io = self.io.with_drafts(drafts);
        self
    }

    /// Ends reads and writes at their next request once `stop` is set.
    #[must_use]
    pub fn with_stop(mut self, stop: Stop) -> Self {
        self.io = self.io.with_stop(stop);
        self
    }

    /// Sets names for backends that cannot list.
    #[must_use]
    pub fn with_names(mut self, names: KnownNames) -> Self {
        self.names = Some(names);
        self
    }
}

/// Names that are in no document, for backends that cannot list.
///
/// Used for every level; a name that a level does not have is skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownNames {
    /// Level numbers; if empty, those of `multiscales`.
    pub levels: Vec<u32>,
    /// Vertex attributes; if empty, those of `attribute_specs`.
    pub vertex_attributes: Vec<String>,
    /// Fragment attributes.
    pub fragment_attributes: Vec<String>,
    /// Object attributes; if empty, those of `attribute_specs`.
    pub object_attributes: Vec<String>,
    /// Group attributes.
    pub group_attributes: Vec<String>,
    /// Link attributes; if empty, those of `attribute_specs`.
    pub link_attributes: Vec<String>,
    /// Offset segments of each link family.
    pub links: Vec<(i32, Vec<String>)>,
}

/// Which names of a level are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Names {
    /// No name.
    #[default]
    None,
    /// All names.
    All,
    /// These names; one that does not exist is skipped.
    List(Vec<String>),
}

impl Names {
    /// Whether no name is wanted.
    pub fn is_none(&self) -> bool {
        match self {
            Self::None => true,
            Self::All => false,
            Self::List(names) => names.is_empty(),
        }
    }

    /// Whether `name` is wanted.
    pub fn wants(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::List(names) => names.iter().any(|n| n == name),
        }
    }
}

/// Which link families are wanted, by how many levels they span.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Deltas {
    /// No family.
    #[default]
    None,
    /// All families.
    All,
    /// These families; one that does not exist is skipped.
    List(Vec<i32>),
}

impl Deltas {
    /// Whether no family is wanted.
    pub fn is_none(&self) -> bool {
        match self {
            Self::None => true,
            Self::All => false,
            Self::List(deltas) => deltas.is_empty(),
        }
    }

    /// Whether the family `delta` is wanted.
    pub fn wants(&self, delta: i32) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::List(deltas) => deltas.contains(&delta),
        }
    }
}

/// Which parts of a level a caller needs besides its vertices and fragments. The default is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Need {
    /// Vertex attributes.
    pub vertex_attributes: Names,
    /// Fragment attributes.
    pub fragment_attributes: Names,
    /// Object attributes.
    pub object_attributes: Names,
    /// Group attributes.
    pub group_attributes: Names,
    /// Link attributes of the wanted link families.
    pub link_attributes: Names,
    /// Link families.
    pub link_deltas: Deltas,
    /// Whether the arrays of links inside a level are left out if manifests and the order of rows imply the links, and no link has attributes: lines,
    /// polylines and streamlines with an object index, unless their convention is `explicit`. The family is then present, without arrays.
    pub skip_implied_links: bool,
    /// Whether the object index is wanted.
    pub objects: bool,
    /// Whether the object index is loaded without its table of ids, which has 8 bytes per object.
    pub skip_ids: bool,
    /// Whether the groups are wanted.
    pub groups: bool,
}

impl Need {
    /// Nothing besides vertices and fragments.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Everything a level can have.
    pub fn all() -> Self {
        Self {
            vertex_attributes: Names::All,
            fragment_attributes: Names::All,
            object_attributes: Names::All,
            group_attributes: Names::All,
            link_attributes: Names::All,
            link_deltas: Deltas::All,
            skip_implied_links: false,
            objects: true,
            skip_ids: false,
            groups: true,
        }
    }
}
