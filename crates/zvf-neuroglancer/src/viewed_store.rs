//! An open store, and cached data for its views.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::future::BoxFuture;
use tokio::sync::OnceCell;
use zvf_meta::Kind;
use zvf_query::{Outputs, Query, Table, query};
use zvf_store::{Need, Store};

use crate::columns::{Properties, ShownAttributes};
use crate::error::Result;
use crate::plan::lines::LinesPlan;
use crate::plan::objects::ObjectSegments;
use crate::plan::points::PointsPlan;
use crate::precomputed::Dimension;
use crate::units;

/// Largest number of bytes of cached files.
const KEPT: usize = 32 << 20;

/// An open store with views. Caches data that views derive from it: documents that were read when it was opened, objects, plans, some encoded
/// meshes.
#[derive(Debug)]
pub struct ViewedStore {
    pub(crate) store: Store,
    pub(crate) dimensions: Vec<Dimension>,
    /// The axes of space, in the order x, y, z if these are their names: coordinates of skeletons and meshes have no names.
    pub(crate) space: Vec<usize>,
    attributes: OnceCell<Arc<ShownAttributes>>,
    objects: OnceCell<Arc<ObjectSegments>>,
    points: OnceCell<Arc<PointsPlan>>,
    lines: OnceCell<Arc<LinesPlan>>,
    rendered: Mutex<Rendered>,
}

#[derive(Debug, Default)]
struct Rendered {
    list: VecDeque<(String, Bytes)>,
    bytes: usize,
}

impl ViewedStore {
    /// Wraps a store; views are made on demand.
    #[must_use]
    pub fn new(store: Store) -> Self {
        let axes = store.root().axes();
        let dimensions = units::dimensions(axes);
        let space = axes.iter().enumerate().filter(|(_, axis)| axis.is_space());
        let mut space: Vec<usize> = space.map(|(at, _)| at).collect();
        let name = |at: &usize| axes.get(*at).map(|axis| axis.name.as_str());
        if space
            .iter()
            .all(|at| matches!(name(at), Some("x" | "y" | "z")))
        {
            space.sort_by(|one, other| name(one).cmp(&name(other)));
        }
        Self {
            store,
            dimensions,
            space,
            attributes: OnceCell::new(),
            objects: OnceCell::new(),
            points: OnceCell::new(),
            lines: OnceCell::new(),
            rendered: Mutex::default(),
        }
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The axes, in units of Neuroglancer.
    #[must_use]
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Whether an axis, given by its number, is an axis of space.
    #[must_use]
    pub fn is_space(&self, axis: usize) -> bool {
        self.space.contains(&axis)
    }

    /// The kind of geometry, which decides what views there are: [`View::of`](crate::View::of).
    #[must_use]
    pub fn kind(&self) -> Kind {
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
    #[must_use]
    pub fn other_axes(&self) -> Vec<String> {
        let axes = self.store.root().axes().iter();
        let others = axes.filter(|axis| !axis.is_space());
        others.map(|axis| format!("axis {}", axis.name)).collect()
    }

    /// The vertex attributes of level 0.
    ///
    /// # Errors
    /// The errors of a query for one vertex.
    pub(crate) async fn attributes(&self) -> Result<Arc<ShownAttributes>> {
        let read = || async {
            let one = Query {
                limit: Some(1),
                outputs: VERTICES,
                ..Query::default()
            };
            let answer = query(&self.store, one).await?.collect().await?;
            let batch = answer.table(Table::Vertices)?;
            let need = Need {
                objects: true,
                ..Need::nothing()
            };
            // Without objects, the column of this name is an attribute.
            let columns: &[&str] = match self.store.level(0, &need).await?.object_index() {
                Some(_) => &["position", "object_id"],
                None => &["position"],
            };
            let found = batch.as_ref();
            let found =
                found.map(|batch| ShownAttributes::of(&batch.schema(), Some(batch), columns));
            Ok(Arc::new(found.unwrap_or_default()))
        };
        self.attributes.get_or_try_init(read).await.cloned()
    }

    /// The objects of level 0.
    ///
    /// # Errors
    /// The errors of the list of objects.
    pub(crate) async fn objects(&self) -> Result<Arc<ObjectSegments>> {
        let read = || async { ObjectSegments::read(&self.store).await.map(Arc::new) };
        self.objects.get_or_try_init(read).await.cloned()
    }

    /// The plan of the view of points.
    ///
    /// # Errors
    /// The errors of the [`attributes`](Self::attributes), and of reading the levels.
    pub(crate) async fn points(&self) -> Result<Arc<PointsPlan>> {
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
    /// Not found for a store without an object index; the errors of the list of objects and of [`points`](Self::points).
    pub(crate) async fn lines(&self) -> Result<Arc<LinesPlan>> {
        let read = || async {
            let (objects, points) = (self.objects().await?, self.points().await?);
            LinesPlan::read(&objects, &points).map(Arc::new)
        };
        self.lines.get_or_try_init(read).await.cloned()
    }

    /// Pixels between lines in the viewer's state, for stores with more vertices than it should draw at once.
    ///
    /// # Errors
    /// Not found, for a store without an object index; the errors of the list of objects.
    pub fn line_spacing(&self) -> BoxFuture<'_, Result<Option<f64>>> {
        Box::pin(async { Ok(self.lines().await?.spacing) })
    }

    /// The segments of the first objects with vertices, `most` or fewer.
    ///
    /// # Errors
    /// The errors of the list of objects.
    pub fn segments(&self, most: usize) -> BoxFuture<'_, Result<Vec<u64>>> {
        Box::pin(async move { Ok(self.objects().await?.first(most)) })
    }

    /// A cached file.
    pub(crate) fn rendered(&self, key: &str) -> Option<Bytes> {
        let kept = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.list.iter().find(|(name, _)| name == key);
        found.map(|(_, bytes)| bytes.clone())
    }

    /// Caches a file and evicts the oldest ones.
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
