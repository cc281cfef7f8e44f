//! Rows that go to other chunks: where vertices move, or get another value of what chunks are cut by.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use zvf_meta::Kind;
use zvf_meta::space::{bins_per_chunk, chunk_at};

use super::append::{add_fragment, insert};
use super::links::records_near;
use super::ops::Spot;
use super::state::{Block, Row, Vertex};
use super::{At, Edit};
use crate::WriteError;
use crate::batch::Batch;
use crate::int::{index, to_index, wide};
use crate::values::Values;

impl Edit {
    /// Moves vertices.
    pub(super) async fn shift(
        &mut self,
        at: &At<'_>,
        positions: &Values<'_>,
    ) -> Result<(), WriteError> {
        let spots = self.find(at).await?;
        let (dims, number) = (self.state.spec.dims(), self.state.spec.positions);
        let bytes = positions
            .bytes_as(number)
            .filter(|_| Some(positions.len()) == spots.len().checked_mul(dims));
        let Some(bytes) = bytes else {
            let found = format!("{} values of {}", positions.len(), positions.type_name());
            return Err(WriteError::input(
                "positions",
                found,
                format!("{} rows of {dims} {number}", spots.len()),
            ));
        };
        let values = number.to_f64(&bytes);
        let mut chunks = Vec::new();
        for (row, (position, spot)) in values.chunks_exact(dims.max(1)).zip(&spots).enumerate() {
            let mut chunk: Vec<i64> = self.state.lead(spot.0).into_iter().collect();
            for (value, size) in position.iter().zip(&self.state.spec.chunk_shape) {
                let at = Some(*value)
                    .filter(|value| value.is_finite())
                    .and_then(|value| chunk_at(value, *size));
                chunk.push(at.ok_or_else(|| {
                    let what = format!("positions, row {row}");
                    WriteError::input(what, value.to_string(), "a number that lies in a chunk")
                })?);
            }
            chunks.push(self.state.slot(&chunk)?);
        }
        self.relocate(&spots, &chunks, Some(&bytes)).await
    }

    /// Brings rows to chunks, and gives them positions there, if they get others.
    pub(super) async fn relocate(
        &mut self,
        spots: &[Spot],
        chunks: &[u32],
        positions: Option<&[u8]>,
    ) -> Result<(), WriteError> {
        let unique: BTreeSet<&Spot> = spots.iter().collect();
        if unique.len() != spots.len() {
            return Err(WriteError::input(
                "vertices",
                "a vertex twice",
                "each vertex once",
            ));
        }
        self.state.load(chunks.iter().copied()).await?;
        let away: Vec<bool> = spots
            .iter()
            .zip(chunks)
            .map(|(spot, to)| spot.0 != *to)
            .collect();
        let kind = self.state.spec.kind;
        let chains = matches!(kind, Kind::Line | Kind::Polyline | Kind::Streamline);
        let ordered = chains || (kind == Kind::Skeleton && !self.state.spec.links.explicit);
        // Whose order of rows means something is taken out as a whole, before its rows get new positions.
        let mut whole = BTreeMap::new();
        if ordered && away.contains(&true) {
            let leaving: Vec<Spot> = spots
                .iter()
                .zip(&away)
                .filter(|(_, away)| **away)
                .map(|(spot, _)| *spot)
                .collect();
            whole = self.owners(&leaving).await?;
        }
        if let Some(bytes) = positions {
            self.state.reach_of(bytes);
            let width = self.state.columns.first().map_or(0, ExactSizeIterator::len);
            self.overwrite(0, spots, bytes, width)?;
        }
        let moving: HashMap<Vertex, u32> = spots
            .iter()
            .zip(chunks)
            .filter_map(|(spot, to)| Some((self.row(*spot)?.vertex, *to)))
            .collect();
        if ordered {
            for row in whole.into_keys() {
                self.replace_object(row, &moving).await?;
            }
            return Ok(());
        }
        if self.index.is_some() {
            self.move_rows(spots, &away, &moving).await
        } else {
            self.move_points(spots, &moving)
        }
    }

    pub(super) fn row(&self, (slot, fragment, at): Spot) -> Option<&Row> {
        self.state
            .chunk(slot)?
            .fragments
            .get(index(fragment))?
            .get(at)
    }

    /// The objects of rows, with their fragments there.
    async fn owners(
        &mut self,
        spots: &[Spot],
    ) -> Result<BTreeMap<usize, BTreeSet<Block>>, WriteError> {
        let wanted: BTreeSet<Block> = spots.iter().map(|spot| (spot.0, spot.1)).collect();
        let mut owners: BTreeMap<usize, BTreeSet<Block>> = BTreeMap::new();
        let Some(index) = &mut self.index else {
            return Ok(owners);
        };
        // Nothing says whose a fragment is but the manifests: those that were read are looked at first.
        let mut left = wanted;
        let known: Vec<usize> = index.known().collect();
        index.owners(&known, &mut left, &mut owners);
        if !left.is_empty() {
            let all: BTreeSet<usize> = (0..index.ids.len()).collect();
            index.peek(&mut self.state, &all).await?;
            let all: Vec<usize> = all.into_iter().collect();
            index.owners(&all, &mut left, &mut owners);
        }
        let rows: BTreeSet<usize> = owners.keys().copied().collect();
        index.load(&mut self.state, &rows).await?;
        match left.first() {
            None => Ok(owners),
            Some((slot, fragment)) => {
                let found = format!(
                    "fragment {fragment} of chunk {:?}, which is nobody's",
                    self.state.coord(*slot)
                );
                Err(WriteError::unsupported(
                    "0/object_index/manifests",
                    found,
                    "fragments of objects",
                ))
            }
        }
    }

    /// Takes an object out, and in again by its new positions. `moving` says which rows get another value of what chunks
    /// are cut by: that of their new chunk.
    async fn replace_object(
        &mut self,
        row: usize,
        moving: &HashMap<Vertex, u32>,
    ) -> Result<(), WriteError> {
        let Some(index) = &mut self.index else {
            return Ok(());
        };
        index.load(&mut self.state, &BTreeSet::from([row])).await?;
        let Some(&id) = index.ids.get(row) else {
            return Ok(());
        };
        let blocks = index.blocks(row).to_vec();
        let mut rows: Vec<Row> = Vec::new();
        // Child and parent, as places in `rows`.
        let mut edges: Vec<(usize, usize)> = Vec::new();
        let mut place: HashMap<Vertex, usize> = HashMap::new();
        let mut leads: Vec<i64> = Vec::new();
        for block in &blocks {
            for (at, one) in self.state.fragment(*block)?.iter().enumerate() {
                if at > 0 {
                    edges.push((rows.len(), rows.len().saturating_sub(1)));
                }
                place.insert(one.vertex, rows.len());
                let slot = moving.get(&one.vertex).unwrap_or(&block.0);
                leads.extend(self.state.lead(*slot));
                rows.push(one.clone());
            }
        }
        let mut links: Vec<u64> = Vec::new();
        if self.state.spec.kind == Kind::Skeleton {
            let near: BTreeSet<u32> = blocks.iter().map(|block| block.0).collect();
            let mut stored: HashMap<usize, usize> = HashMap::new();
            for ends in records_near(&mut self.state, &near).await? {
                let known: Vec<usize> = ends
                    .iter()
                    .filter_map(|end| place.get(end).copied())
                    .collect();
                if let [child, parent] = *known {
                    stored.insert(child, parent);
                }
            }
            // What is stored counts more than the order of rows.
            let implied = edges
                .into_iter()
                .filter(|(child, _)| !stored.contains_key(child))
                .collect::<Vec<_>>();
            let mut all: Vec<(usize, usize)> = implied.into_iter().chain(stored).collect();
            all.sort_unstable();
            links.extend(
                all.into_iter()
                    .flat_map(|(child, parent)| [wide(child), wide(parent)]),
            );
        }
        for block in blocks {
            self.state.empty_fragment(block)?;
        }
        index.set(row, Vec::new());
        let spec = self.state.spec.clone();
        let column = |at: usize| -> Vec<u8> {
            let range = self.state.columns.get(at).cloned().unwrap_or_default();
            rows.iter()
                .filter_map(|row| row.bytes.get(range.clone()))
                .flatten()
                .copied()
                .collect()
        };
        let positions = Values::of_bytes(spec.positions, &column(0));
        let count = to_index("vertices", wide(rows.len()))?;
        let mut batch = Batch::new(positions)
            .with_object_runs(vec![(id, count)])
            .with_links(links);
        for (at, one) in (1_usize..).zip(&spec.vertex_attributes) {
            if let crate::AttributeType::Number(number) = one.values {
                batch = batch.with_attribute(&one.name, Values::of_bytes(number, &column(at)));
            }
        }
        let by = spec.chunk_by.as_ref().filter(|by| !by.stored);
        if let (Some(keys), Some(by)) = (&self.state.keys, by) {
            batch = batch.with_attribute(&by.attribute.name, keys.column(&leads));
        }
        // Values are codes already.
        Box::pin(self.take_coded(&batch)).await
    }

    /// Rows that change their chunk go into a fragment of their object there.
    async fn move_rows(
        &mut self,
        spots: &[Spot],
        away: &[bool],
        moving: &HashMap<Vertex, u32>,
    ) -> Result<(), WriteError> {
        let leaving: Vec<Spot> = spots
            .iter()
            .zip(away)
            .filter(|(_, away)| **away)
            .map(|(spot, _)| *spot)
            .collect();
        let owners = self.owners(&leaving).await?;
        let left: BTreeSet<Vertex> = leaving
            .iter()
            .filter_map(|spot| Some(self.row(*spot)?.vertex))
            .collect();
        for (owner, from) in owners {
            let Some(index_) = &mut self.index else {
                return Ok(());
            };
            let mut blocks = index_.blocks(owner).to_vec();
            let mut gone: Vec<Row> = Vec::new();
            for block in from {
                let chunk = self.state.chunk_mut(block.0)?;
                chunk.moved = true;
                if let Some(fragment) = chunk.fragments.get_mut(index(block.1)) {
                    let (out, stay) = std::mem::take(fragment)
                        .into_iter()
                        .partition(|row| left.contains(&row.vertex));
                    *fragment = stay;
                    gone.extend(out);
                    if fragment.is_empty() {
                        blocks.retain(|other| *other != block);
                    }
                }
            }
            for row in gone {
                let Some(&to) = moving.get(&row.vertex) else {
                    continue;
                };
                match blocks.iter().rev().find(|block| block.0 == to).copied() {
                    Some(block) => {
                        let chunk = self.state.chunk_mut(to)?;
                        chunk.moved = true;
                        if let Some(fragment) = chunk.fragments.get_mut(index(block.1)) {
                            fragment.push(row);
                        }
                    }
                    None => {
                        let block = add_fragment(&mut self.state, to, vec![row])?;
                        insert(&self.state, &mut blocks, block);
                    }
                }
            }
            index_.set(owner, blocks);
        }
        Ok(())
    }

    /// Points go into the bin of their chunk.
    fn move_points(
        &mut self,
        spots: &[Spot],
        moving: &HashMap<Vertex, u32>,
    ) -> Result<(), WriteError> {
        let from: BTreeSet<Block> = spots.iter().map(|spot| (spot.0, spot.1)).collect();
        let mut gone: Vec<(Row, Block)> = Vec::new();
        for block in from {
            let fragments = self.state.fragment(block)?.to_vec();
            let mut stay = Vec::new();
            for row in fragments {
                let target = match moving.get(&row.vertex) {
                    Some(&to) => self.bin(&row, to)?,
                    None => block,
                };
                if target == block {
                    stay.push(row);
                } else {
                    gone.push((row, target));
                }
            }
            let chunk = self.state.chunk_mut(block.0)?;
            if let Some(fragment) = chunk.fragments.get_mut(index(block.1)) {
                chunk.moved |= stay.len() != fragment.len();
                *fragment = stay;
            }
        }
        for (row, (slot, bin)) in gone {
            let bins = self.bins();
            let chunk = self.state.chunk_mut(slot)?;
            chunk.moved = true;
            if chunk.fragments.is_empty() {
                let count = to_index("bins", bins.iter().product::<u64>())?;
                chunk.fragments.resize(count, Vec::new());
            }
            if let Some(fragment) = chunk.fragments.get_mut(index(bin)) {
                fragment.push(row);
            }
        }
        Ok(())
    }

    fn bins(&self) -> Vec<u64> {
        let spec = &self.state.spec;
        let bins = spec.bin_shape.as_ref().unwrap_or(&spec.chunk_shape);
        bins_per_chunk(&spec.chunk_shape, bins).unwrap_or_default()
    }

    /// The fragment that a point belongs to in a chunk.
    fn bin(&self, row: &Row, slot: u32) -> Result<Block, WriteError> {
        let bins = self.bins();
        let count = self
            .state
            .chunk(slot)
            .map_or(0, |chunk| chunk.fragments.len());
        if count != 0 && wide(count) != bins.iter().product::<u64>() {
            // Fragments that are no bins.
            return Ok((
                slot,
                u32::try_from(count.saturating_sub(1)).unwrap_or(u32::MAX),
            ));
        }
        let range = self.state.columns.first().cloned().unwrap_or_default();
        let position = self
            .state
            .spec
            .positions
            .to_f64(row.bytes.get(range).unwrap_or_default());
        let bin = crate::cell::bin(&self.state.spec, self.state.coord(slot), &bins, &position);
        Ok((slot, u32::try_from(bin).unwrap_or(u32::MAX)))
    }
}
