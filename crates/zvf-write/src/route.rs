//! Step 1: vertices go to the bucket of their chunk, links to a queue.

use std::collections::HashSet;
use std::path::Path;

use zvf_meta::Kind;
use zvf_store::ChunkCoord;

use crate::WriteError;
use crate::batch::Batch;
use crate::bucket::Buckets;
use crate::categories::Categories;
use crate::int::wide;
use crate::layout::Layout;
use crate::prepare::{Column, Context, Corners, Prepared};
use crate::spec::{AttributeType, Outside, StoreSpec};
use crate::spill::Spool;

/// Everything that was pushed so far.
#[derive(Debug)]
pub(crate) struct Router {
    pub(crate) layout: Layout,
    pub(crate) rows: Buckets<ChunkCoord>,
    /// Links: endpoints as u64, then attributes.
    pub(crate) links: Spool,
    pub(crate) link_count: u64,
    /// One for each vertex attribute; empty for those that are numbers.
    pub(crate) categories: Vec<Categories>,
    /// Corners of all positions.
    pub(crate) extent: Option<Corners>,
    pub(crate) vertices: u64,
    /// Corners beyond which a vertex is refused.
    reach: Option<Corners>,
    batches: u64,
    /// Skeletons: objects of earlier batches.
    whole: HashSet<i64>,
}

impl Router {
    pub(crate) fn new(spec: &StoreSpec, budget: usize, folder: &Path) -> Self {
        Self {
            layout: Layout::new(spec),
            rows: Buckets::new(budget / 2, folder),
            links: Spool::new(budget / 16, folder),
            link_count: 0,
            categories: spec
                .vertex_attributes
                .iter()
                .map(|_| Categories::default())
                .collect(),
            extent: None,
            vertices: 0,
            reach: spec.reach().filter(|_| spec.outside == Outside::Refuse),
            batches: 0,
            whole: HashSet::new(),
        }
    }

    /// Takes one batch, or nothing of it.
    ///
    /// # Errors
    /// Misuse before anything was taken; `Io` of spill files after that.
    pub(crate) fn push(&mut self, spec: &StoreSpec, batch: &Batch<'_>) -> Result<(), WriteError> {
        let context = Context {
            spec,
            reach: self.reach.as_ref(),
            batch: self.batches,
            first: self.vertices,
        };
        let prepared = context.prepare(batch)?;
        if spec.kind == Kind::Skeleton {
            self.check_whole(&prepared)?;
        }
        let columns = self.coded(spec, &prepared)?;
        self.append_rows(spec, &prepared, &columns)?;
        self.append_links(spec, &prepared)?;
        if let Some((low, high)) = prepared.extent {
            let (all_low, all_high) = self
                .extent
                .get_or_insert_with(|| (low.clone(), high.clone()));
            all_low
                .iter_mut()
                .zip(low)
                .for_each(|(all, one)| *all = all.min(one));
            all_high
                .iter_mut()
                .zip(high)
                .for_each(|(all, one)| *all = all.max(one));
        }
        self.vertices = self.vertices.saturating_add(wide(prepared.rows));
        self.batches = self.batches.saturating_add(1);
        Ok(())
    }

    /// A skeleton that comes again would have its trees walked in two halves.
    fn check_whole(&mut self, prepared: &Prepared<'_>) -> Result<(), WriteError> {
        let mut new = HashSet::new();
        let mut before = None;
        for &object in prepared.objects.iter() {
            if before.replace(object) == Some(object) {
                continue;
            }
            if self.whole.contains(&object) {
                return Err(WriteError::Batch {
                    batch: self.batches,
                    column: format!("objects, id {object}"),
                    found: "a skeleton of an earlier batch".to_owned(),
                    expected: "each skeleton whole in one batch".to_owned(),
                });
            }
            new.insert(object);
        }
        self.whole.extend(new);
        Ok(())
    }

    /// The attribute columns as bytes, texts as codes.
    fn coded<'p>(
        &mut self,
        spec: &StoreSpec,
        prepared: &'p Prepared<'_>,
    ) -> Result<Vec<std::borrow::Cow<'p, [u8]>>, WriteError> {
        let mut columns = Vec::new();
        for (column, categories) in prepared.attributes.iter().zip(&mut self.categories) {
            columns.push(match column {
                Column::Bytes(bytes) => std::borrow::Cow::Borrowed(bytes.as_slice()),
                Column::Texts(texts) => {
                    let mut codes = Vec::with_capacity(texts.len().saturating_mul(4));
                    for text in *texts {
                        codes.extend_from_slice(&categories.code(text.as_deref())?.to_le_bytes());
                    }
                    std::borrow::Cow::Owned(codes)
                }
            });
        }
        debug_assert!(
            spec.vertex_attributes
                .iter()
                .all(|one| one.values != AttributeType::Text)
        );
        Ok(columns)
    }

    fn append_rows(
        &mut self,
        spec: &StoreSpec,
        prepared: &Prepared<'_>,
        columns: &[std::borrow::Cow<'_, [u8]>],
    ) -> Result<(), WriteError> {
        let dims = spec.dims();
        let position = self.layout.position.len();
        let widths: Vec<usize> = self
            .layout
            .attributes
            .iter()
            .map(ExactSizeIterator::len)
            .collect();
        // Rows after each other are often neighbours: the bucket of the last one is tried first.
        let mut last: Option<(&[i64], usize)> = None;
        let mut rows: Vec<(usize, usize)> = Vec::with_capacity(prepared.rows);
        for (row, chunk) in prepared.chunks.chunks_exact(dims).enumerate() {
            let bucket = match last {
                Some((before, bucket)) if before == chunk => bucket,
                _ => self.rows.number(chunk, ChunkCoord::new),
            };
            last = Some((chunk, bucket));
            rows.push((bucket, row));
        }
        // Looking up and appending wait for memory where chunks are many: each is quicker on its own and in order.
        rows.sort_unstable();
        for (at, (bucket, row)) in rows.into_iter().enumerate() {
            let place = prepared
                .walk
                .as_ref()
                .and_then(|walk| walk.place.get(row))
                .copied()
                .unwrap_or(row);
            let number = self.vertices.saturating_add(wide(place));
            self.rows.push(bucket, |out| {
                out.extend_from_slice(&number.to_le_bytes());
                if let Some(object) = prepared.objects.get(row) {
                    out.extend_from_slice(&object.to_le_bytes());
                }
                if let Some(walk) = &prepared.walk {
                    out.push(u8::from(walk.root.get(row).copied().unwrap_or(false)));
                }
                out.extend_from_slice(part(&prepared.positions, row, position));
                for (column, &width) in columns.iter().zip(&widths) {
                    out.extend_from_slice(part(column, row, width));
                }
            });
            // Looking is cheap, but not every row needs it.
            if at.is_multiple_of(1024) {
                self.rows.relieve()?;
            }
        }
        self.rows.relieve()
    }

    fn append_links(
        &mut self,
        spec: &StoreSpec,
        prepared: &Prepared<'_>,
    ) -> Result<(), WriteError> {
        let widths: Vec<usize> = spec
            .links
            .attributes
            .iter()
            .map(crate::layout::row_size)
            .collect();
        let mut record = Vec::new();
        for (at, ends) in prepared.links.chunks_exact(spec.links.width).enumerate() {
            record.clear();
            ends.iter()
                .for_each(|vertex| record.extend_from_slice(&vertex.to_le_bytes()));
            for (column, &width) in prepared.link_attributes.iter().zip(&widths) {
                record.extend_from_slice(part(column, at, width));
            }
            self.links.push(&record)?;
            self.link_count = self.link_count.saturating_add(1);
        }
        Ok(())
    }
}

/// Row `at` of a column of rows of `width` bytes.
fn part(column: &[u8], at: usize, width: usize) -> &[u8] {
    let start = at.saturating_mul(width);
    column
        .get(start..start.saturating_add(width))
        .unwrap_or_default()
}
