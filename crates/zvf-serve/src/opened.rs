//! An open store, and cached data for its views.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::HeaderValue;
use bytes::Bytes;
use tokio::sync::OnceCell;
use zvf_meta::Kind;
use zvf_query::{Outputs, Query, Table, query};
use zvf_store::Store;

use crate::columns::{Attributes, Properties};
use crate::http_error::Answer;
use crate::plan::lines::LinesPlan;
use crate::plan::objects::Objects;
use crate::plan::points::PointsPlan;
use crate::precomputed::Dimension;
use crate::units;

/// Bytes of cached answers.
const KEPT: usize = 32 << 20;

/// An open store. Derived data is cached as long as the store does not change.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) store: Store,
    pub(crate) dimensions: Vec<Dimension>,
    /// The axes of space.
    pub(crate) space: Vec<usize>,
    tag: Option<HeaderValue>,
    attributes: OnceCell<Arc<Attributes>>,
    objects: OnceCell<Arc<Objects>>,
    points: OnceCell<Arc<PointsPlan>>,
    lines: OnceCell<Arc<LinesPlan>>,
    rendered: Mutex<Rendered>,
}

#[derive(Debug, Default)]
struct Rendered {
    list: VecDeque<(String, Bytes)>,
    bytes: usize,
}

impl Opened {
    pub(crate) fn new(store: Store) -> Self {
        let axes = store.root().axes();
        let dimensions = units::dimensions(axes);
        let space = axes.iter().enumerate().filter(|(_, axis)| axis.is_space());
        let space = space.map(|(at, _)| at).collect();
        // Of this opening: what views show follows from the documents that were read now.
        let mut nonce = [0u8; 8];
        let tag = getrandom::fill(&mut nonce).ok().and_then(|()| {
            HeaderValue::from_str(&format!("\"{:016x}\"", u64::from_le_bytes(nonce))).ok()
        });
        Self {
            store,
            dimensions,
            space,
            tag,
            attributes: OnceCell::new(),
            objects: OnceCell::new(),
            points: OnceCell::new(),
            lines: OnceCell::new(),
            rendered: Mutex::default(),
        }
    }

    /// The ETag of every view of this snapshot.
    pub(crate) fn tag(&self) -> Option<&HeaderValue> {
        self.tag.as_ref()
    }

    pub(crate) fn kind(&self) -> Kind {
        self.store.kind()
    }

    /// Number of axes.
    pub(crate) fn dims(&self) -> usize {
        self.dimensions.len()
    }

    /// The dimensions of space.
    pub(crate) fn space(&self) -> impl Iterator<Item = &Dimension> {
        self.space.iter().filter_map(|at| self.dimensions.get(*at))
    }

    /// Axes that views in space cannot show.
    pub(crate) fn other_axes(&self) -> Vec<String> {
        let axes = self.store.root().axes().iter();
        let others = axes.filter(|axis| !axis.is_space());
        others.map(|axis| format!("axis {}", axis.name)).collect()
    }

    /// The vertex attributes of level 0.
    ///
    /// # Errors
    /// The errors of a query for one vertex.
    pub(crate) async fn attributes(&self) -> Answer<Arc<Attributes>> {
        let read = || async {
            let one = Query {
                limit: Some(1),
                outputs: VERTICES,
                ..Query::default()
            };
            let answer = query(&self.store, one).await?.collect().await?;
            let batch = answer.table(Table::Vertices)?;
            let found = batch.as_ref().map(|batch| {
                Attributes::of(&batch.schema(), Some(batch), &["position", "object_id"])
            });
            Ok(Arc::new(found.unwrap_or_default()))
        };
        self.attributes.get_or_try_init(read).await.cloned()
    }

    /// The objects of level 0.
    ///
    /// # Errors
    /// The errors of the list of objects.
    pub(crate) async fn objects(&self) -> Answer<Arc<Objects>> {
        let read = || async { Objects::read(&self.store).await.map(Arc::new) };
        self.objects.get_or_try_init(read).await.cloned()
    }

    /// The plan of the view of points.
    ///
    /// # Errors
    /// The errors of reading the documents of the levels.
    pub(crate) async fn points(&self) -> Answer<Arc<PointsPlan>> {
        let read = || async {
            let attributes = self.attributes().await?;
            let properties = Properties::of(&attributes.shown).row_bytes() as u64;
            // Coordinates, properties up to a multiple of four, an id.
            let row = (4 * self.dims() as u64).saturating_add(properties.next_multiple_of(4));
            let row = row.saturating_add(8);
            PointsPlan::read(&self.store, self.dims(), row)
                .await
                .map(Arc::new)
        };
        self.points.get_or_try_init(read).await.cloned()
    }

    /// The plan of the view of lines.
    ///
    /// # Errors
    /// The errors of the list of objects.
    pub(crate) async fn lines(&self) -> Answer<Arc<LinesPlan>> {
        let read = || async {
            let (objects, points) = (self.objects().await?, self.points().await?);
            LinesPlan::read(&objects, &points).map(Arc::new)
        };
        self.lines.get_or_try_init(read).await.cloned()
    }

    /// A cached answer.
    pub(crate) fn rendered(&self, key: &str) -> Option<Bytes> {
        let kept = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.list.iter().find(|(name, _)| name == key);
        found.map(|(_, bytes)| bytes.clone())
    }

    /// Caches an answer and evicts the oldest ones.
    pub(crate) fn keep(&self, key: String, bytes: Bytes) {
        let mut kept = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes.len() > KEPT || kept.list.iter().any(|(name, _)| *name == key) {
            return;
        }
        kept.bytes = kept.bytes.saturating_add(bytes.len());
        kept.list.push_back((key, bytes));
        while kept.bytes > KEPT {
            let Some((_, oldest)) = kept.list.pop_front() else {
                break;
            };
            kept.bytes = kept.bytes.saturating_sub(oldest.len());
        }
    }
}

/// Selects only the vertex table.
pub(crate) const VERTICES: Outputs = Outputs {
    vertices: true,
    links: false,
    objects: false,
};
