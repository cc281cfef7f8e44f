//! Moves rows to other chunks, if vertices move or get another value of the attribute that splits chunks.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use zvf_meta::Kind;
use zvf_meta::space::{bins_per_chunk, chunk_at};

use super::append::{add_fragment, insert};
use super::edit::Edit;
use super::links::records_near;
use super::ops::Spot;
use super::rows::VertexRows;
use super::state::{EditState, FragmentAt};
use super::vertex::{FRESH, NewLink, Vertex, parts};
use zvf_encode::error::{OrBug, narrow, to_index};
use zvf_encode::{Values, WriteError};
use zvf_format::int::wide;

impl Edit {
    /// Moves vertices.
    pub(super) async fn shift(
        &mut self,
        spots: Vec<Spot>,
        positions: &Values,
    ) -> Result<(), WriteError> {
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
            let mut chunk: Vec<i64> = self.state.lead(spot.0)?.into_iter().collect();
            for (value, size) in position.iter().zip(&self.state.spec.chunk_shape) {
                let at = Some(*value)
                    .filter(|value| value.is_finite())
                    .and_then(|value| chunk_at(value, *size));
                chunk.push(at.ok_or_else(|| {
                    let what = format!("positions, row {row}");
                    WriteError::input(
                        what,
                        value.to_string(),
                        "a finite number whose chunk coordinate fits 64 bits",
                    )
                })?);
            }
            chunks.push(self.state.slot(&chunk)?);
        }
        self.relocate(&spots, &chunks, Some(&bytes)).await
    }

    /// Moves rows to chunks, and sets their positions if `positions` are given.
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
        self.load_spots(spots).await?;
        self.state.load(chunks.iter().copied()).await?;
        let away: Vec<bool> = spots
            .iter()
            .zip(chunks)
            .map(|(spot, to)| spot.0 != *to)
            .collect();
        let kind = self.state.spec.kind;
        let chains = kind.is_chain();
        let ordered = chains || (kind == Kind::Skeleton && !self.state.spec.links.explicit);
        let leaving = std::iter::zip(spots, &away).filter_map(|(spot, away)| away.then_some(*spot));
        let leaving: Vec<Spot> = leaving.collect();
        if let Some(bytes) = positions {
            self.state.reach_of(bytes);
            self.state.set_values(0, spots, bytes)?;
        }
        let moving = spots.iter().zip(chunks);
        let moving = moving.map(|(spot, to)| Ok((self.name(*spot)?, *to)));
        let moving = moving.collect::<Result<HashMap<Vertex, u32>, WriteError>>()?;
        if chains {
            Box::pin(self.move_in_chains(&leaving, &moving)).await
        } else if ordered {
            Box::pin(self.move_in_trees(&leaving, &moving)).await
        } else if self.index.is_some() {
            Box::pin(self.move_rows(&leaving, &moving)).await
        } else {
            self.move_points(spots, &moving)
        }
    }

    /// The name of a row.
    pub(super) fn name(&self, (slot, fragment, at): Spot) -> Result<Vertex, WriteError> {
        let name = self.state.fragment((slot, fragment))?.names().get(at);
        let missing = || WriteError::bug(format!("row {at} of fragment {fragment} is gone"));
        name.copied().ok_or_else(missing)
    }

    /// The objects of rows, each with its fragments that contain these rows.
    async fn owners(
        &mut self,
        spots: &[Spot],
    ) -> Result<BTreeMap<usize, BTreeSet<FragmentAt>>, WriteError> {
        let wanted: BTreeSet<FragmentAt> = spots.iter().map(|spot| (spot.0, spot.1)).collect();
        let mut owners: BTreeMap<usize, BTreeSet<FragmentAt>> = BTreeMap::new();
        let Some(index) = &mut self.index else {
            return Ok(owners);
        };
        // Only the manifests state the owner of a fragment; manifests that are already in memory are searched first.
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
        index.peek_apart(&mut self.state, &rows).await?;
        match left.first() {
            None => Ok(owners),
            Some((slot, fragment)) => {
                let found = format!(
                    "fragment {fragment} of chunk {:?}, which belongs to no object",
                    self.state.coord(*slot)?
                );
                Err(WriteError::unsupported(
                    "0/object_index/manifests",
                    found,
                    "fragments of objects",
                ))
            }
        }
    }

    /// Moves vertices of chains to other chunks: a chain is split at such a vertex, which is joined to a neighbour that is in the new chunk.
    ///
    /// Links of moved vertices are dropped; new links connect the parts.
    async fn move_in_chains(
        &mut self,
        leaving: &[Spot],
        moving: &HashMap<Vertex, u32>,
    ) -> Result<(), WriteError> {
        for (owner, touched) in self.owners(leaving).await? {
            let blocks = self.blocks(owner);
            let mut chain = RejoinedChain::with_capacity(blocks.len());
            for block in blocks {
                if !touched.contains(&block) {
                    chain.push_block(&mut self.state, block).await?;
                    continue;
                }
                let rows = self.state.take_fragment(block)?;
                let mut home = Some(block);
                for (to, rows) in runs(&rows, block.0, moving)? {
                    let leaves = to != block.0;
                    let rows = if leaves {
                        renamed(&mut self.state, &rows)?
                    } else {
                        rows
                    };
                    let home = home.take_if(|_| !leaves);
                    chain
                        .push_rows(&mut self.state, (to, leaves), rows, home)
                        .await?;
                }
            }
            self.set_blocks(owner, chain.blocks);
        }
        Ok(())
    }

    /// Moves vertices of trees with implied edges to other chunks: the runs of rows are split there, and edges that the order no longer implies
    /// become links.
    async fn move_in_trees(
        &mut self,
        leaving: &[Spot],
        moving: &HashMap<Vertex, u32>,
    ) -> Result<(), WriteError> {
        let owners = self.owners(leaving).await?;
        let mut near = BTreeSet::new();
        for block in owners.values().flatten() {
            let names = self.state.fragment(*block)?.names().iter();
            near.extend(names.map(|name| parts(*name).0));
        }
        near.remove(&FRESH);
        // Stored links take precedence over the order of rows.
        let stored: HashSet<Vertex> = records_near(&mut self.state, &near)
            .await?
            .into_iter()
            .filter_map(|ends| ends.first().copied())
            .collect();
        for (owner, touched) in owners {
            let mut blocks = self.blocks(owner);
            blocks.retain(|block| !touched.contains(block));
            for block in touched {
                let rows = self.state.take_fragment(block)?;
                let mut home = Some(block);
                let mut before: Option<Vertex> = None;
                for (to, rows) in runs(&rows, block.0, moving)? {
                    let first = rows.names().first().copied();
                    if let (Some(child), Some(parent)) = (first, before)
                        && !stored.contains(&child)
                    {
                        self.state.links.push(NewLink::step(child, parent));
                    }
                    before = rows.names().last().copied();
                    let new = match home.take_if(|home| home.0 == to) {
                        Some(home) => {
                            self.state.extend_fragment(home, rows)?;
                            home
                        }
                        None => add_fragment(&mut self.state, to, rows)?,
                    };
                    insert(&self.state, &mut blocks, new)?;
                }
            }
            self.set_blocks(owner, blocks);
        }
        Ok(())
    }

    /// The fragments of an object whose manifest was read.
    fn blocks(&self, row: usize) -> Vec<FragmentAt> {
        let index = self.index.as_ref();
        index.map_or(Vec::new(), |index| index.blocks(row).to_vec())
    }

    fn set_blocks(&mut self, row: usize, blocks: Vec<FragmentAt>) {
        if let Some(index) = &mut self.index {
            index.set(row, blocks);
        }
    }

    /// Moves rows into fragments of their objects in the new chunks.
    async fn move_rows(
        &mut self,
        leaving: &[Spot],
        moving: &HashMap<Vertex, u32>,
    ) -> Result<(), WriteError> {
        let owners = self.owners(leaving).await?;
        let left = leaving.iter().map(|spot| self.name(*spot));
        let left = left.collect::<Result<BTreeSet<Vertex>, _>>()?;
        for (owner, from) in owners {
            let mut blocks = self.blocks(owner);
            let mut gone = VertexRows::default();
            for block in from {
                let mut rows = self.state.take_fragment(block)?;
                gone.append(rows.take_out(|name| !left.contains(&name))?)?;
                if rows.is_empty() {
                    blocks.retain(|other| *other != block);
                }
                self.state.extend_fragment(block, rows)?;
            }
            for (name, bytes) in gone.iter() {
                let to = moving.get(&name).copied();
                let to = to.or_bug("a moved row without a target chunk")?;
                let row = VertexRows::of(name, bytes);
                match blocks.iter().rev().find(|block| block.0 == to).copied() {
                    Some(block) => self.state.extend_fragment(block, row)?,
                    None => {
                        let block = add_fragment(&mut self.state, to, row)?;
                        insert(&self.state, &mut blocks, block)?;
                    }
                }
            }
            self.set_blocks(owner, blocks);
        }
        Ok(())
    }

    /// Moves points into the bins of their new chunks.
    fn move_points(
        &mut self,
        spots: &[Spot],
        moving: &HashMap<Vertex, u32>,
    ) -> Result<(), WriteError> {
        let from: BTreeSet<FragmentAt> = spots.iter().map(|spot| (spot.0, spot.1)).collect();
        let mut gone: Vec<(VertexRows, FragmentAt)> = Vec::new();
        for block in from {
            let fragment = self.state.fragment(block)?.clone();
            let mut stay = VertexRows::default();
            for (name, bytes) in fragment.iter() {
                let target = match moving.get(&name) {
                    Some(&to) => self.bin(bytes, to)?,
                    None => block,
                };
                if target == block {
                    stay.push(name, [bytes])?;
                } else {
                    gone.push((VertexRows::of(name, bytes), target));
                }
            }
            if stay.len() != fragment.len() {
                *self.state.fragment_mut(block)? = stay;
            }
        }
        for (row, (slot, bin)) in gone {
            let bins = self.bins()?;
            let chunk = self.state.chunk_mut(slot)?;
            chunk.moved = true;
            if chunk.fragments.is_empty() {
                let count = to_index("bins", bins.iter().product::<u64>())?;
                chunk.fragments.resize(count, VertexRows::default());
            }
            self.state.extend_fragment((slot, bin), row)?;
        }
        Ok(())
    }

    fn bins(&self) -> Result<Vec<u64>, WriteError> {
        let spec = &self.state.spec;
        let bins = spec.bin_shape.as_ref().unwrap_or(&spec.chunk_shape);
        bins_per_chunk(&spec.chunk_shape, bins).or_bug("bins that do not divide the chunk")
    }

    /// The fragment for a point in a chunk.
    fn bin(&self, row: &[u8], slot: u32) -> Result<FragmentAt, WriteError> {
        let bins = self.bins()?;
        let count = self
            .state
            .chunk(slot)
            .map_or(0, |chunk| chunk.fragments.len());
        if count != 0 && wide(count) != bins.iter().product::<u64>() {
            // The fragments of this chunk are not bins.
            return Ok((slot, narrow("fragments of one chunk", count - 1)?));
        }
        let bytes = self
            .state
            .columns
            .first()
            .and_then(|range| row.get(range.clone()));
        let bytes = bytes.or_bug("a row without a position")?;
        let position = self.state.spec.positions.to_f64(bytes);
        let spec = &self.state.spec;
        let sizes = spec.bin_shape.as_ref().unwrap_or(&spec.chunk_shape);
        let bin = zvf_encode::level::bin_of(&position, sizes, self.state.coord(slot)?, &bins)?;
        let bin = u32::try_from(bin).or_bug(format_args!("bin {bin} of a chunk"))?;
        Ok((slot, bin))
    }
}

/// Divides a fragment of chunk `own` into runs by their target chunk.
fn runs(
    rows: &VertexRows,
    own: u32,
    moving: &HashMap<Vertex, u32>,
) -> Result<Vec<(u32, VertexRows)>, WriteError> {
    let mut runs: Vec<(u32, VertexRows)> = Vec::new();
    for (name, bytes) in rows.iter() {
        let to = moving.get(&name).copied().unwrap_or(own);
        match runs.last_mut() {
            Some((last, run)) if *last == to => run.push(name, [bytes])?,
            _ => runs.push((to, VertexRows::of(name, bytes))),
        }
    }
    Ok(runs)
}

/// The same rows under new names, so that their links are dropped.
fn renamed(state: &mut EditState, rows: &VertexRows) -> Result<VertexRows, WriteError> {
    let mut new = VertexRows::with_capacity(rows.len(), rows.width());
    for (old, bytes) in rows.iter() {
        let name = state.fresh()?;
        state.renamed.insert(old, name);
        new.push(name, [bytes])?;
    }
    Ok(new)
}

/// The fragments of a chain, rebuilt while its rows move to other chunks.
#[derive(Debug)]
struct RejoinedChain {
    blocks: Vec<FragmentAt>,
    /// Whether the last vertex so far has left its chunk.
    left: bool,
}

impl RejoinedChain {
    fn with_capacity(blocks: usize) -> Self {
        Self {
            blocks: Vec::with_capacity(blocks),
            left: false,
        }
    }

    /// The last fragment with rows so far, and its last vertex.
    async fn last(
        &self,
        state: &mut EditState,
    ) -> Result<Option<(FragmentAt, Vertex)>, WriteError> {
        for &block in self.blocks.iter().rev() {
            state.load([block.0]).await?;
            if let Some(&last) = state.fragment(block)?.names().last() {
                return Ok(Some((block, last)));
            }
        }
        Ok(None)
    }

    /// Adds a fragment without moved rows. After a moved vertex, its rows are joined to the fragment before if that is in the same chunk; otherwise a
    /// link connects them.
    async fn push_block(
        &mut self,
        state: &mut EditState,
        block: FragmentAt,
    ) -> Result<(), WriteError> {
        if !self.left {
            self.blocks.push(block);
            return Ok(());
        }
        state.load([block.0]).await?;
        let Some(&first) = state.fragment(block)?.names().first() else {
            self.blocks.push(block);
            return Ok(());
        };
        self.left = false;
        match self.last(state).await? {
            Some((last, _)) if last.0 == block.0 => {
                let rows = state.take_fragment(block)?;
                return state.extend_fragment(last, rows);
            }
            Some((_, last)) => state.links.push(NewLink::step(last, first)),
            None => {}
        }
        self.blocks.push(block);
        Ok(())
    }

    /// Adds rows of a divided fragment to chunk `to`. Next to a moved vertex, they are joined to the fragment before if that is in this chunk, or linked to
    /// it. Rows that are not joined go to the fragment `home`, or to a new one.
    async fn push_rows(
        &mut self,
        state: &mut EditState,
        (to, leaves): (u32, bool),
        rows: VertexRows,
        home: Option<FragmentAt>,
    ) -> Result<(), WriteError> {
        let before = if self.left || leaves {
            self.last(state).await?
        } else {
            None
        };
        self.left = leaves;
        if let (Some((last, vertex)), Some(&first)) = (before, rows.names().first()) {
            if last.0 == to {
                return state.extend_fragment(last, rows);
            }
            state.links.push(NewLink::step(vertex, first));
        }
        let block = match home {
            Some(home) => {
                state.extend_fragment(home, rows)?;
                home
            }
            None => add_fragment(state, to, rows)?,
        };
        self.blocks.push(block);
        Ok(())
    }
}
