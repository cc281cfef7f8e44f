//! SWC: a node a line, `id type x y z radius parent`.

use std::io::Write;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use zvf_query::Table;

use super::{ALL, Batches, Job, Schemas};
use crate::numbers::{floats, positions, put, put_all, single, whole};
use crate::output::raw::elements;
use crate::{ConvertError, Place};

/// Columns that a line has a place for.
const OWN: [&str; 3] = ["node_id", "type", "radius"];

pub(super) async fn write(job: &mut Job<'_>) -> Result<(), ConvertError> {
    let mut query = job.flat(false);
    query.outputs = ALL;
    let mut nodes = Nodes {
        path: job.path,
        limit: job.options.limits.held,
        ..Nodes::empty(job.path)
    };
    job.run(query, &mut nodes).await?;
    let count = nodes.positions.len() / 3;
    let parents = parents(count, &nodes.links).ok_or_else(|| {
        let expected = "a tree: every node has one parent at most, and no edges make a ring";
        ConvertError::usage("SWC", "a graph with a ring", expected)
    })?;
    let named = nodes.ids.len() == count && distinct(&nodes.ids);
    let order = if named {
        let mut order: Vec<(i64, usize)> = nodes.ids.iter().copied().zip(0..).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, node)| node).collect()
    } else {
        if !nodes.ids.is_empty() {
            job.note("node ids are not all different numbers of 0 or more: nodes are numbered from 1, parents first");
        } else {
            job.note("the store has no `node_id`: nodes are numbered from 1, parents first");
        }
        let order = downwards(&parents);
        nodes.ids = vec![0; count];
        for (id, &node) in (1..).zip(&order) {
            if let Some(slot) = nodes.ids.get_mut(node) {
                *slot = id;
            }
        }
        order
    };
    nodes.write(job, &order, &parents)?;
    job.done.vertices = count as u64;
    job.done.links = parents.iter().flatten().count() as u64;
    job.done.objects = nodes.objects;
    if let Some(schemas) = &nodes.schemas {
        job.tables_lost(schemas, &OWN);
    }
    job.owners_lost(nodes.objects);
    Ok(())
}

/// All nodes, by row of the answer.
struct Nodes<'a> {
    path: &'a Path,
    limit: u64,
    positions: Vec<f64>,
    radii: Vec<f64>,
    types: Vec<i64>,
    ids: Vec<i64>,
    /// (child, parent).
    links: Vec<[usize; 2]>,
    objects: u64,
    /// Positions, radii.
    single: [bool; 2],
    schemas: Option<Schemas>,
}

impl<'a> Nodes<'a> {
    fn empty(path: &'a Path) -> Self {
        Self {
            path,
            limit: 0,
            positions: Vec::new(),
            radii: Vec::new(),
            types: Vec::new(),
            ids: Vec::new(),
            links: Vec::new(),
            objects: 0,
            single: [true; 2],
            schemas: None,
        }
    }

    fn write(
        &self,
        job: &mut Job<'_>,
        order: &[usize],
        parents: &[Option<usize>],
    ) -> Result<(), ConvertError> {
        let count = parents.len();
        let (radii, types) = (self.radii.len() == count, self.types.len() == count);
        if !radii {
            job.note("the store has no numbers `radius`: every radius is 0");
        }
        if !types {
            job.note("the store has no whole numbers `type`: every type is 0");
        }
        let mut file = job.create()?;
        let mut text = String::from("# id type x y z radius parent\n");
        let [single, single_radius] = self.single;
        for &node in order {
            let id = |node: usize| self.ids.get(node).copied().unwrap_or_default();
            let start = node.saturating_mul(3);
            let position = self.positions.get(start..start.saturating_add(3));
            let kind = self.types.get(node).copied().unwrap_or_default();
            text.push_str(&format!("{} {kind}", id(node)));
            put_all(&mut text, position.unwrap_or_default(), single);
            text.push(' ');
            match self.radii.get(node) {
                Some(&radius) if radii => put(&mut text, radius, single_radius),
                _ => text.push('0'),
            }
            let parent = parents.get(node).copied().flatten().map_or(-1, id);
            text.push_str(&format!(" {parent}\n"));
            file.write_all(text.as_bytes())
                .map_err(|error| job.failed(error))?;
            text.clear();
        }
        file.flush().map_err(|error| job.failed(error))
    }

    fn vertices(&mut self, batch: &RecordBatch) -> Result<(), ConvertError> {
        self.positions.extend(positions(batch).values);
        if (self.positions.len() / 3) as u64 > self.limit {
            return Err(ConvertError::limit(
                self.path,
                Place::Whole,
                "nodes of a file",
                self.limit,
            ));
        }
        if let Some(column) = batch.column_by_name("radius") {
            self.radii.extend(floats(column).values);
        }
        for (name, list) in [("node_id", &mut self.ids), ("type", &mut self.types)] {
            if let Some(column) = batch.column_by_name(name) {
                list.extend(whole(column).into_iter().flatten());
            }
        }
        Ok(())
    }
}

impl Batches for Nodes<'_> {
    fn schemas(&mut self, schemas: &Schemas) -> Result<(), ConvertError> {
        self.single = ["position", "radius"].map(|name| single(&schemas.vertices, name));
        self.schemas = Some(schemas.clone());
        Ok(())
    }

    fn batch(&mut self, table: Table, batch: &RecordBatch) -> Result<(), ConvertError> {
        match table {
            Table::Vertices => self.vertices(batch)?,
            Table::Links => {
                let Some(column) = batch.column_by_name("vertices") else {
                    return Ok(());
                };
                let (ends, width) = elements(column);
                if let (Some(ends), 2) = (ends.as_primitive_opt::<UInt64Type>(), width) {
                    for ends in ends.values().chunks_exact(2) {
                        if let &[child, parent] = ends {
                            let row = |row: u64| usize::try_from(row).unwrap_or(usize::MAX);
                            self.links.push([row(child), row(parent)]);
                        }
                    }
                }
            }
            Table::Objects => {
                self.objects = self.objects.saturating_add(batch.num_rows() as u64);
            }
        }
        Ok(())
    }
}

fn distinct(ids: &[i64]) -> bool {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.first().is_none_or(|&first| first >= 0)
        && sorted.windows(2).all(|pair| pair.first() != pair.last())
}

/// The parent of every node: that of (child, parent) pairs where they make trees, else any orientation that does.
fn parents(count: usize, links: &[[usize; 2]]) -> Option<Vec<Option<usize>>> {
    let mut parents = vec![None; count];
    let mut twice = false;
    for &[child, parent] in links {
        match parents.get_mut(child) {
            Some(slot @ None) => *slot = Some(parent),
            _ => twice = true,
        }
    }
    if !twice && downwards(&parents).len() == count {
        return Some(parents);
    }
    // Edges without a direction: each part is walked from its first node.
    let pairs = links.iter().flat_map(|&[a, b]| [(a, b), (b, a)]);
    let near = Grouped::new(count, pairs);
    let mut seen = vec![false; count];
    let (mut parents, mut used) = (vec![None; count], 0_usize);
    for root in 0..count {
        let mut open = vec![root];
        if seen.get(root).copied().unwrap_or(true) {
            continue;
        }
        if let Some(seen) = seen.get_mut(root) {
            *seen = true;
        }
        while let Some(node) = open.pop() {
            for &next in near.of(node) {
                let Some(seen) = seen.get_mut(next).filter(|seen| !**seen) else {
                    continue;
                };
                *seen = true;
                if let Some(slot) = parents.get_mut(next) {
                    *slot = Some(node);
                }
                used = used.saturating_add(1);
                open.push(next);
            }
        }
    }
    // A tree uses every edge; one that is left closes a ring.
    (used == links.len()).then_some(parents)
}

/// Nodes by another one, ascending: where those of each begin, and all of them.
#[derive(Debug)]
struct Grouped {
    starts: Vec<usize>,
    nodes: Vec<usize>,
}

impl Grouped {
    /// Sorts pairs (node, other) by node, of `count` nodes.
    fn new(count: usize, pairs: impl Iterator<Item = (usize, usize)> + Clone) -> Self {
        let mut starts = vec![0_usize; count.saturating_add(1)];
        for (node, _) in pairs.clone() {
            if let Some(start) = starts.get_mut(node.saturating_add(1)) {
                *start = start.saturating_add(1);
            }
        }
        let mut sum = 0_usize;
        for start in &mut starts {
            sum = sum.saturating_add(*start);
            *start = sum;
        }
        let mut next = starts.clone();
        let mut nodes = vec![0; sum];
        for (node, other) in pairs {
            let place = next.get_mut(node).filter(|_| node < count);
            if let Some(place) = place {
                if let Some(slot) = nodes.get_mut(*place) {
                    *slot = other;
                }
                *place = place.saturating_add(1);
            }
        }
        Self { starts, nodes }
    }

    /// Those of one node.
    fn of(&self, node: usize) -> &[usize] {
        let bounds = self
            .starts
            .get(node)
            .zip(self.starts.get(node.saturating_add(1)));
        bounds
            .and_then(|(start, end)| self.nodes.get(*start..*end))
            .unwrap_or_default()
    }
}

/// All nodes that come from a root, every parent before its children. Nodes of a ring are missing.
fn downwards(parents: &[Option<usize>]) -> Vec<usize> {
    let pairs = parents.iter().enumerate();
    let pairs = pairs.filter_map(|(node, parent)| Some(((*parent)?, node)));
    let children = Grouped::new(parents.len(), pairs);
    let roots = (0..parents.len()).filter(|node| parents.get(*node) == Some(&None));
    let mut open: Vec<usize> = roots.collect();
    open.reverse();
    let mut order = Vec::with_capacity(parents.len());
    while let Some(node) = open.pop() {
        order.push(node);
        open.extend(children.of(node).iter().rev());
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_keep_their_direction_and_get_one_where_they_have_none() {
        assert_eq!(
            parents(3, &[[0, 1], [1, 2]]),
            Some(vec![Some(1), Some(2), None])
        );
        // 1 has two parents as the pairs say, but as edges they are a tree.
        let got = parents(3, &[[1, 0], [1, 2]]).unwrap();
        assert_eq!(got, [None, Some(0), Some(1)]);
        assert_eq!(parents(3, &[[0, 1], [1, 2], [2, 0]]), None);
        assert_eq!(parents(2, &[[0, 1], [1, 0]]), None);
        assert_eq!(parents(0, &[]), Some(Vec::new()));
    }

    #[test]
    fn parents_come_before_their_children() {
        assert_eq!(downwards(&[Some(2), Some(0), None, None]), [2, 0, 1, 3]);
        assert_eq!(downwards(&[Some(1), Some(0)]), [0_usize; 0]);
    }
}
