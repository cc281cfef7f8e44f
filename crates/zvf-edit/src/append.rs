//! Appends vertices: the code of the writer divides them into chunks and fragments, and their rows are added after the existing rows of the chunk.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use zvf_meta::Kind;
use zvf_store::{CheckedFragments, ChunkCoord, StoreError};

use super::edit::Edit;
use super::index::EditedIndex;
use super::rows::VertexRows;
use super::state::{EditState, FragmentAt};
use super::vertex::{NewLink, Vertex};
use zvf_encode::batches::{Owners, Router, VertexLayout, include};
use zvf_encode::error::{OrBug, narrow};
use zvf_encode::level::{ChunkEncoder, check_chain};
use zvf_encode::links::{queued_size, split};
use zvf_encode::records::{PlacedRows, records, row_of};
use zvf_encode::{Batch, WriteError};
use zvf_format::int::index;

/// New rows of one chunk, in fragments.
#[derive(Debug)]
struct AppendedChunk {
    chunk: ChunkCoord,
    fragments: Vec<VertexRows>,
    /// The owner and order of each fragment, if the store has objects.
    placed: Vec<PlacedRows>,
}

/// Batches, divided into chunks.
#[derive(Debug, Default)]
struct CutBatch {
    parts: Vec<AppendedChunk>,
    /// The new vertices by their number in the batches; empty if the store takes no links.
    vertices: HashMap<u64, Vertex>,
    /// Pairs of a vertex and the vertex directly before it in its fragment: skeletons do not store an edge from such a child to its parent.
    implied: BTreeSet<(Vertex, Vertex)>,
}

/// Divides batches into chunks and fragments, as for a new store.
fn cut(state: &mut EditState, batches: &[Batch]) -> Result<(CutBatch, Vec<NewLink>), WriteError> {
    for batch in batches {
        state.learn(batch)?;
    }
    let spec = state.spec.clone();
    let folder = std::env::temp_dir();
    // Everything is already in memory, so nothing is spilled.
    let mut router = Router::new(&spec, usize::MAX, &folder);
    router.keys.clone_from(&state.keys);
    for batch in batches {
        router.push(&spec, batch)?;
    }
    let layout = router.layout.clone();
    let dictionaries = spec.vertex_attributes.iter().map(|_| None).collect();
    let encoder = ChunkEncoder::new(&spec, router.layout, dictionaries)?;
    let (mut buckets, file) = router.rows.finish();
    buckets.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    let mut cut = CutBatch::default();
    for (number, (chunk, bucket)) in buckets.into_iter().enumerate() {
        let records = bucket.read(&file)?;
        let part = narrow("chunks of an edit", number)?;
        let encoded = encoder.encode(&chunk, part, &records)?;
        let mut rows = 0_usize;
        let mut fragments = Vec::new();
        let decode = |source| StoreError::Decode {
            key: "vertex_fragments".to_owned(),
            source,
        };
        let stored = CheckedFragments::decode(&encoded.fragments, None).map_err(decode)?;
        for fragment in stored.iter() {
            let end = rows + fragment.len();
            fragments.push(new_rows(state, &layout, &encoded, rows..end)?);
            rows = end;
        }
        if spec.takes_links() {
            let names = fragments.iter().flat_map(VertexRows::names).copied();
            cut.vertices
                .extend(encoded.vertices.iter().copied().zip(names));
        }
        if spec.kind == Kind::Skeleton && !spec.links.explicit {
            for pair in fragments.iter().flat_map(|rows| rows.names().windows(2)) {
                if let [parent, child] = *pair {
                    cut.implied.insert((child, parent));
                }
            }
        }
        cut.parts.push(AppendedChunk {
            chunk,
            fragments,
            placed: encoded.placed,
        });
    }
    let mut links = Vec::new();
    let size = queued_size(&spec);
    for piece in router.links.pieces() {
        for record in records(&piece?, size)? {
            let (numbers, attributes) = split(record, spec.links.width)?;
            let ends: Option<Vec<Vertex>> = numbers
                .iter()
                .map(|n| cut.vertices.get(n).copied())
                .collect();
            let ends = ends.or_bug(format_args!(
                "a link of vertices {numbers:?} that are in no batch"
            ))?;
            let implied =
                matches!(&*ends, &[child, parent] if cut.implied.contains(&(child, parent)));
            if !implied {
                links.push(NewLink {
                    ends,
                    attributes: attributes.to_vec(),
                });
            }
        }
    }
    Ok((cut, links))
}

/// Some rows of a new chunk, each with a new [`Vertex`] as its name.
fn new_rows(
    state: &mut EditState,
    layout: &VertexLayout,
    encoded: &zvf_encode::level::EncodedChunk,
    range: std::ops::Range<usize>,
) -> Result<VertexRows, WriteError> {
    // The position, then the attributes. The other members of a row of the router are not needed.
    let cells = std::iter::once(&encoded.positions).chain(&encoded.attributes);
    let widths = std::iter::once(&layout.position).chain(&layout.attributes);
    let columns: Vec<(&Vec<u8>, usize)> = cells.zip(widths.map(ExactSizeIterator::len)).collect();
    let width = columns.iter().map(|(_, width)| width).sum();
    let mut rows = VertexRows::with_capacity(range.len(), width);
    let mut parts = Vec::with_capacity(columns.len());
    for row in range {
        parts.clear();
        for (column, width) in &columns {
            parts.push(row_of(column, row, *width).or_bug(format_args!(
                "row {row} is not in a column of {} bytes",
                column.len()
            ))?);
        }
        rows.push(state.fresh()?, parts.iter().copied())?;
    }
    Ok(rows)
}

impl Edit {
    /// Adds new vertices.
    pub(super) async fn take(&mut self, batches: &[Batch]) -> Result<(), WriteError> {
        let ids = batches
            .iter()
            .flat_map(|batch| named_ids(&self.state, batch))
            .collect();
        self.check_owners(&ids).await?;
        let batches = batches.iter().map(|batch| self.coded(batch));
        let batches = &batches.collect::<Result<Vec<_>, _>>()?;
        let before = self.state.links.len();
        let (cut, links) = cut(&mut self.state, batches)?;
        let mut slots = Vec::new();
        for part in &cut.parts {
            slots.push(self.state.slot(&part.chunk)?);
        }
        self.state.load(slots.iter().copied()).await?;
        self.reach(&cut)?;
        self.revive(ids.iter().copied()).await?;
        match &mut self.index {
            Some(index) => {
                check_chains(&self.state, &cut)?;
                place_objects(&mut self.state, index, cut, &slots, &ids)?;
            }
            None => place_points(&mut self.state, cut, &slots)?,
        }
        // `place_objects` has added the links of chains. They precede the links of the batches, as in a new store.
        debug_assert!(self.state.links.len() >= before);
        self.state.links.extend(links);
        Ok(())
    }

    /// Reads the existing objects that the batches extend, and refuses objects that share fragments
    /// or whose kind cannot be extended.
    async fn check_owners(&mut self, ids: &BTreeSet<i64>) -> Result<(), WriteError> {
        let Some(index) = &mut self.index else {
            return Ok(());
        };
        let rows: BTreeSet<usize> = ids.iter().filter_map(|id| index.row(*id)).collect();
        index.peek_apart(&mut self.state, &rows).await?;
        if self.state.spec.kind.is_chain() {
            // New vertices are appended to the last fragments of these objects.
            let last = rows.iter().filter_map(|&row| index.blocks(row).last());
            let last: BTreeSet<u32> = last.map(|block| block.0).collect();
            self.state.load(last).await?;
        }
        let grows = matches!(
            self.state.spec.kind,
            Kind::PointCloud | Kind::Polyline | Kind::Streamline
        );
        for id in ids {
            let full = index
                .row(*id)
                .is_some_and(|row| !index.blocks(row).is_empty());
            if full && !grows {
                let expected = "a new object: objects of this kind cannot be continued";
                return Err(WriteError::input(
                    format!("object {id}"),
                    "an object with vertices",
                    expected,
                ));
            }
        }
        Ok(())
    }

    /// The batch with category codes instead of texts.
    fn coded(&mut self, batch: &Batch) -> Result<Batch, WriteError> {
        let mut batch = batch.clone();
        for (name, values) in &mut batch.attributes {
            if let Some(codes) = self.codes(name, values)? {
                *values = codes;
            }
        }
        Ok(batch)
    }

    /// Extends the bounds by new rows.
    fn reach(&mut self, cut: &CutBatch) -> Result<(), WriteError> {
        let rows = cut.parts.iter().flat_map(|part| &part.fragments);
        let rows = rows.flat_map(VertexRows::iter);
        let positions: Vec<u8> = rows
            .filter_map(|(_, row)| row.get(self.state.columns.first()?.clone()))
            .flatten()
            .copied()
            .collect();
        self.state.reach_of(&positions);
        Ok(())
    }
}

impl EditState {
    /// Extends the bounds by stored positions.
    pub(super) fn reach_of(&mut self, positions: &[u8]) {
        let values = self.spec.positions.to_f64(positions);
        for position in values.chunks_exact(self.spec.dims().max(1)) {
            include(&mut self.extent, (position, position));
        }
    }
}

/// The ids in a batch, including those that its kind implies.
fn named_ids(state: &EditState, batch: &Batch) -> BTreeSet<i64> {
    match &batch.objects {
        Owners::Each(ids) => ids.iter().copied().collect(),
        Owners::Runs(runs) => runs.iter().map(|(id, _)| *id).collect(),
        Owners::None => match state.spec.kind {
            Kind::Graph | Kind::Skeleton | Kind::Mesh => BTreeSet::from([0]),
            Kind::Line => {
                let lines = batch.positions.len() / state.spec.dims().max(1) / 2;
                (0..).take(lines).collect()
            }
            _ => BTreeSet::new(),
        },
    }
}

/// The pieces of each object, in the order of its vertices.
fn pieces(cut: &CutBatch) -> BTreeMap<i64, Vec<(usize, PlacedRows)>> {
    let mut pieces: BTreeMap<i64, Vec<(usize, PlacedRows)>> = BTreeMap::new();
    for (at, part) in cut.parts.iter().enumerate() {
        for placed in &part.placed {
            pieces.entry(placed.object).or_default().push((at, *placed));
        }
    }
    for of_one in pieces.values_mut() {
        of_one.sort_unstable_by_key(|(_, placed)| placed.order);
    }
    pieces
}

/// Checks the vertices of each chain in the batch, as [`check_chain`] does.
fn check_chains(state: &EditState, cut: &CutBatch) -> Result<(), WriteError> {
    let kind = state.spec.kind;
    if !kind.is_chain() {
        return Ok(());
    }
    pieces(cut).into_iter().try_for_each(|(id, pieces)| {
        let placed: Vec<PlacedRows> = pieces.into_iter().map(|(_, placed)| placed).collect();
        check_chain(kind, id, &placed)
    })
}

/// Adds points to their chunks in the order of bins.
fn place_points(state: &mut EditState, cut: CutBatch, slots: &[u32]) -> Result<(), WriteError> {
    for (part, &slot) in cut.parts.into_iter().zip(slots) {
        let chunk = state.chunk_mut(slot)?;
        chunk.moved = true;
        if chunk.fragments.is_empty() || chunk.is_empty() {
            chunk.fragments = part.fragments;
        } else if chunk.fragments.len() == part.fragments.len() {
            for (fragment, rows) in chunk.fragments.iter_mut().zip(part.fragments) {
                fragment.append(rows)?;
            }
        } else {
            // These fragments are not bins. The new rows are added to the last one, because readers may interpret a new fragment as a bin.
            let mut all = chunk.fragments.pop().or_bug("a chunk without fragments")?;
            for rows in part.fragments {
                all.append(rows)?;
            }
            chunk.fragments.push(all);
        }
    }
    Ok(())
}

/// Adds the pieces of objects to their chunks, and their fragments to manifests.
fn place_objects(
    state: &mut EditState,
    index_: &mut EditedIndex,
    mut cut: CutBatch,
    slots: &[u32],
    ids: &BTreeSet<i64>,
) -> Result<(), WriteError> {
    let kind = state.spec.kind;
    for id in ids {
        if index_.row(*id).is_none() {
            index_.add(*id);
        }
    }
    for (id, pieces) in pieces(&cut) {
        let row = index_
            .row(id)
            .or_bug(format_args!("object {id} has no row"))?;
        let mut blocks = index_.blocks(row).to_vec();
        for (at, placed) in pieces {
            let slot = *slots.get(at).or_bug("a part without a chunk")?;
            let rows = cut
                .parts
                .get_mut(at)
                .and_then(|part| part.fragments.get_mut(index(placed.fragment)))
                .map(std::mem::take)
                .or_bug(format_args!("no fragment {} of a part", placed.fragment))?;
            let extended = match kind {
                Kind::PointCloud => blocks.iter().rev().find(|block| block.0 == slot).copied(),
                _ if kind.is_chain() => blocks.last().filter(|block| block.0 == slot).copied(),
                _ => None,
            };
            if kind.is_chain()
                && extended.is_none()
                && let (Some(last), Some(&first)) = (blocks.last(), rows.names().first())
            {
                let last = state.fragment(*last)?.names().last().copied();
                state
                    .links
                    .extend(last.map(|last| NewLink::step(last, first)));
            }
            match extended {
                Some(block) => state.extend_fragment(block, rows)?,
                None => {
                    let block = add_fragment(state, slot, rows)?;
                    insert(state, &mut blocks, block)?;
                }
            }
        }
        index_.set(row, blocks);
    }
    Ok(())
}

/// Adds a fragment to a chunk, and returns its place.
pub(super) fn add_fragment(
    state: &mut EditState,
    slot: u32,
    rows: VertexRows,
) -> Result<FragmentAt, WriteError> {
    let chunk = state.chunk_mut(slot)?;
    chunk.moved = true;
    let number = narrow("fragments of one chunk", chunk.fragments.len())?;
    chunk.fragments.push(rows);
    Ok((slot, number))
}

/// Inserts a fragment into a manifest: at the end for chains, whose fragments are in the order of vertices, and otherwise in the order of chunks.
pub(super) fn insert(
    state: &EditState,
    blocks: &mut Vec<FragmentAt>,
    block: FragmentAt,
) -> Result<(), WriteError> {
    if state.spec.kind.is_chain() {
        blocks.push(block);
        return Ok(());
    }
    let new = (state.coord(block.0)?, block.1);
    let mut at = blocks.len();
    for (number, old) in blocks.iter().enumerate() {
        if (state.coord(old.0)?, old.1) > new {
            at = number;
            break;
        }
    }
    blocks.insert(at, block);
    Ok(())
}
