//! SWC: one node per line, `id type x y z radius parent`.
//!
//! The query runs twice: first for links and node ids, which determine the row of each node in the file; then for the nodes themselves,
//! which are sorted by that row with temporary files.

use std::io::Write;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use zvf_encode::error::OrBug;
use zvf_encode::records::Sorter;
use zvf_meta::{Affine, radius_factor};
use zvf_query::{Column, Table};
use zvf_store::Names;
use zvf_store::format::int::index;
use zvf_write::Axis;
use zvf_write::arrow::UNIT;

use crate::export::job::{ALL, BatchReceiver, ExportState, VERTICES, unit_of_swc};
use crate::export::links::ends;
use crate::export::schemas::ExportSchemas;
use crate::numbers::{Floats, check_finite, floats, positions, put, put_all, single, whole};
use crate::{ConvertError, Format, InFile};

/// Attributes with a column in the file.
const OWN: [&str; 3] = ["node_id", "type", "radius"];

/// Bytes of nodes that are sorted in memory before they go to a temporary file.
const SORTED: usize = 16 << 20;

pub(crate) async fn write(job: &mut ExportState<'_>) -> Result<(), ConvertError> {
    let mut query = job.flat(false);
    let names = job.vertex_attributes().await?;
    let named = query.attributes.wants("node_id") && names.iter().any(|name| name == "node_id");
    query.outputs = ALL;
    query.attributes = match named {
        true => Names::List(vec!["node_id".to_owned()]),
        false => Names::None,
    };
    if named {
        query.columns = vec![Column::Attributes];
    }
    let limit = job.options.limits.held.min(u64::from(NONE) - 1);
    let mut topology = Topology {
        path: job.path,
        limit,
        rows: 0,
        ids: Some(Vec::new()),
        links: Vec::new(),
        objects: 0,
        schemas: None,
    };
    job.run(query, &mut topology).await?;
    let Topology {
        rows,
        ids,
        links,
        objects,
        schemas: linked,
        ..
    } = topology;
    let count = usize::try_from(rows).or_bug("more nodes than the limit")?;
    let parents = parents(count, &links).ok_or_else(|| {
        let expected = "a tree: each node has at most one parent, and no edges form a ring";
        ConvertError::usage("SWC", "a graph with a ring", expected)
    })?;
    drop(links);
    let has_ids = ids.as_ref().is_none_or(|ids| !ids.is_empty());
    let named = ids.filter(|ids| ids.len() == count && distinct(ids));
    let order = match &named {
        Some(ids) => {
            let mut order: Vec<u32> = (0..NONE).take(count).collect();
            order.sort_unstable_by_key(|row| ids.get(index(*row)));
            order
        }
        None => {
            job.note(match has_ids {
                true => "node ids are not all different numbers of 0 or more: nodes are numbered from 1, parents first",
                false => "the store has no `node_id`: nodes are numbered from 1, parents first",
            });
            downwards(&parents)
        }
    };
    let mut places = vec![NONE; count];
    for (place, row) in (0..NONE).zip(order) {
        *places.get_mut(index(row)).or_bug("a node without a row")? = place;
    }
    let mut nodes = NodeSorter {
        path: job.path,
        row: 0,
        places,
        parents,
        ids: named,
        sorter: Sorter::new(SORTED, &std::env::temp_dir()),
        radii: true,
        types: true,
        single: [true; 2],
        exact: true,
        exact_radii: true,
        missing: 0,
        axes: job.store.root().axes().to_vec(),
        own_unit: None,
        factor: None,
        schemas: None,
    };
    let mut query = job.flat(false);
    query.outputs = VERTICES;
    job.run(query, &mut nodes).await?;
    if nodes.row != count {
        return Err(nodes.changed(nodes.row));
    }
    job.done.vertices = rows;
    job.done.links = nodes.parents.iter().filter(|one| **one != NONE).count() as u64;
    job.done.objects = objects;
    if let (Some(linked), Some(vertices)) = (linked, nodes.schemas.take()) {
        let vertices = vertices.vertices;
        job.tables_lost(&ExportSchemas { vertices, ..linked }, &OWN);
    }
    job.owners_lost(objects);
    nodes.write(job)
}

/// The number of nodes, their ids and their links, by row of the answer.
struct Topology<'a> {
    path: &'a Path,
    limit: u64,
    rows: u64,
    /// `None` if an id is missing or not a number.
    ids: Option<Vec<i64>>,
    /// (child, parent).
    links: Vec<[u32; 2]>,
    objects: u64,
    schemas: Option<ExportSchemas>,
}

impl BatchReceiver for Topology<'_> {
    fn schemas(&mut self, schemas: &ExportSchemas) -> Result<(), ConvertError> {
        self.schemas = Some(schemas.clone());
        Ok(())
    }

    fn batch(&mut self, table: Table, batch: &RecordBatch) -> Result<(), ConvertError> {
        match table {
            Table::Vertices => {
                self.rows += batch.num_rows() as u64;
                if self.rows > self.limit {
                    let what = "nodes of a file";
                    return Err(ConvertError::limit(
                        self.path,
                        InFile::Whole,
                        what,
                        self.limit,
                    ));
                }
                if let Some(column) = batch.column_by_name("node_id") {
                    match (whole(column), &mut self.ids) {
                        (Some(list), Some(ids)) => ids.extend(list),
                        _ => self.ids = None,
                    }
                }
            }
            Table::Links => {
                let (ends, width) = ends(batch)?;
                let ends = (width == 2).then_some(ends);
                for pair in ends
                    .or_bug("links that are not pairs of rows")?
                    .values()
                    .as_chunks::<2>()
                    .0
                {
                    let [child, parent] = pair.map(u32::try_from);
                    let (child, parent) = (child.or_bug("a row")?, parent.or_bug("a row")?);
                    self.links.push([child, parent]);
                }
            }
            Table::Objects => self.objects += batch.num_rows() as u64,
        }
        Ok(())
    }
}

/// A node: its row in the file, position, radius, type, id, and the id of the parent, each as 64 bits.
type SwcNode = [u64; 8];

/// Sorts nodes into the order of the file.
struct NodeSorter<'a> {
    path: &'a Path,
    /// The row of the next node.
    row: usize,
    places: Vec<u32>,
    parents: Vec<u32>,
    /// `None`: ids are rows of the file, from 1.
    ids: Option<Vec<i64>>,
    sorter: Sorter<SwcNode>,
    /// Whether all batches have radii, and whether all have types.
    radii: bool,
    types: bool,
    /// Whether positions, and radii, are written with the digits of float32.
    single: [bool; 2],
    /// Whether float64 represents every coordinate, and every radius.
    exact: bool,
    exact_radii: bool,
    /// Nodes without a radius, though others have one.
    missing: u64,
    axes: Vec<Axis>,
    /// The unit that `radius` itself states.
    own_unit: Option<String>,
    /// The factor that converts radii to the unit of the positions.
    factor: Option<f64>,
    schemas: Option<ExportSchemas>,
}

impl NodeSorter<'_> {
    fn id(&self, row: usize) -> Result<i64, ConvertError> {
        let id = match &self.ids {
            Some(ids) => ids.get(row).copied(),
            None => self.places.get(row).map(|place| i64::from(*place) + 1),
        };
        Ok(id.or_bug("a node without an id")?)
    }

    /// The error for a second answer that differs from the first.
    #[cold]
    fn changed(&self, found: usize) -> ConvertError {
        let found = format!("{found} nodes, or other ids");
        let expected = format!(
            "the {} nodes of the first pass: the store changed during the export",
            self.places.len()
        );
        ConvertError::malformed(self.path, InFile::Whole, found, expected)
    }

    fn write(self, job: &mut ExportState<'_>) -> Result<(), ConvertError> {
        let Self {
            sorter,
            radii,
            types,
            single: [single, single_radius],
            places,
            parents,
            ids,
            exact,
            exact_radii,
            missing,
            own_unit,
            factor,
            ..
        } = self;
        drop((places, parents, ids));
        if !exact {
            job.whole_rounded("position");
        }
        if radii {
            if !exact_radii {
                job.whole_rounded("radius");
            }
            job.written_as_zero("radius", missing);
            match (own_unit, factor) {
                (Some(unit), Some(_)) => job.unit_kept("radius", &unit),
                (Some(unit), None) => job.note(format!(
                    "radius is written in {unit}, though SWC has radii in the unit of the positions: these units cannot be converted"
                )),
                (None, _) => {}
            }
        }
        if !radii {
            job.note("the store has no numbers `radius`: every radius is 0");
        }
        if !types {
            job.note("the store has no whole numbers `type`: every type is 0");
        }
        let mut file = job.create()?;
        let mut text = String::from("# id type x y z radius parent\n");
        // In the form of navis, which `zvf import` reads.
        if let Some(unit) = unit_of_swc(job.store.root().axes()) {
            text.push_str(&format!("# Meta: {}\n", serde_json::json!({"units": unit})));
        }
        let mut sorted = sorter.finish()?;
        while let Some([_, x, y, z, radius, kind, id, parent]) = sorted.pop()? {
            let kind = if types { kind.cast_signed() } else { 0 };
            text.push_str(&format!("{} {kind}", id.cast_signed()));
            put_all(&mut text, &[x, y, z].map(f64::from_bits), single);
            text.push(' ');
            match radii {
                true => put(&mut text, f64::from_bits(radius), single_radius),
                false => text.push('0'),
            }
            text.push_str(&format!(" {}\n", parent.cast_signed()));
            file.write_all(text.as_bytes())
                .map_err(|error| job.failed(error))?;
            text.clear();
        }
        // Without nodes, the file has only these comments.
        file.write_all(text.as_bytes())
            .and_then(|()| file.flush())
            .map_err(|error| job.failed(error))
    }
}

impl BatchReceiver for NodeSorter<'_> {
    fn schemas(&mut self, schemas: &ExportSchemas) -> Result<(), ConvertError> {
        self.single = ["position", "radius"].map(|name| single(&schemas.vertices, name));
        let field = schemas.vertices.field_with_name("radius").ok();
        self.own_unit = field.and_then(|field| field.metadata().get(UNIT)).cloned();
        let (equal, axes) = (Affine::identity(self.axes.len()), &*self.axes);
        self.factor = radius_factor(&equal, (axes, self.own_unit.as_deref()), (axes, None));
        self.schemas = Some(schemas.clone());
        Ok(())
    }

    fn batch(&mut self, table: Table, batch: &RecordBatch) -> Result<(), ConvertError> {
        if table != Table::Vertices {
            return Ok(());
        }
        let rows = batch.num_rows();
        if rows > self.places.len().saturating_sub(self.row) {
            return Err(self.changed(self.row.saturating_add(rows)));
        }
        let Floats {
            values: positions,
            exact,
        } = positions(batch)?;
        self.exact &= exact;
        check_finite(Format::Swc, &positions, &DataType::Float64)?;
        let positions = positions.as_chunks::<3>().0;
        if positions.len() != rows {
            return Err(zvf_write::WriteError::bug("positions that are not triplets").into());
        }
        let column = |name| batch.column_by_name(name);
        let radii = column("radius").map(floats);
        let radii = radii.filter(|found| found.values.len() == rows);
        let radii = radii.map(|found| {
            self.exact_radii &= found.exact;
            found.values
        });
        let types = column("type").and_then(whole);
        if let (Some(ids), Some(column)) = (&self.ids, column("node_id"))
            && whole(column).as_deref() != ids.get(self.row..self.row + rows)
        {
            return Err(self.changed(self.places.len()));
        }
        self.radii &= radii.is_some();
        self.types &= types.is_some();
        for (number, position) in positions.iter().enumerate() {
            let row = self.row;
            let parent = match *self.parents.get(row).or_bug("a node of no row")? {
                NONE => -1,
                parent => self.id(index(parent))?,
            };
            let radius = radii.as_ref().and_then(|list| list.get(number).copied());
            let missing = radius.is_some_and(f64::is_nan);
            self.missing += u64::from(missing);
            let radius = radius.filter(|_| !missing);
            let radius = radius.map(|radius| radius * self.factor.unwrap_or(1.0));
            if let Some(bad) = radius.filter(|radius| radius.is_infinite()) {
                let expected = "finite radii: --attributes chooses the attributes of the file";
                return Err(ConvertError::usage("radius", bad.to_string(), expected));
            }
            let kind = types.as_ref().and_then(|list| list.get(number));
            if let Some(bad) = kind.filter(|kind| i32::try_from(**kind).is_err()) {
                let expected = "types of 32 bits: --attributes chooses the attributes of the file";
                return Err(ConvertError::usage("type", bad.to_string(), expected));
            }
            let [x, y, z] = position.map(f64::to_bits);
            self.sorter.push([
                u64::from(*self.places.get(row).or_bug("a node of no place")?),
                x,
                y,
                z,
                radius.map_or(0, |radius| radius.to_bits()),
                kind.map_or(0, |kind| kind.cast_unsigned()),
                self.id(row)?.cast_unsigned(),
                i64::cast_unsigned(parent),
            ])?;
            self.row += 1;
        }
        Ok(())
    }
}

/// Whether ids are different, and none is negative.
fn distinct(ids: &[i64]) -> bool {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.first().is_none_or(|&first| first >= 0)
        && sorted.windows(2).all(|pair| pair.first() != pair.last())
}

/// Marks a missing parent.
const NONE: u32 = u32::MAX;

/// The parent of every node ([`NONE`] for roots): from (child, parent) pairs if they form trees, else from any orientation that does.
fn parents(count: usize, links: &[[u32; 2]]) -> Option<Vec<u32>> {
    let mut parents = vec![NONE; count];
    let mut twice = false;
    for &[child, parent] in links {
        match parents.get_mut(index(child)) {
            Some(slot) if *slot == NONE => *slot = parent,
            _ => twice = true,
        }
    }
    if !twice && downwards(&parents).len() == count {
        return Some(parents);
    }
    // The edges are undirected: each component is traversed from its first node.
    let pairs = links.iter().flat_map(|&[a, b]| [(a, b), (b, a)]);
    let near = NeighbourLists::new(count, pairs);
    let mut seen = vec![false; count];
    let mut used = 0_usize;
    parents.fill(NONE);
    for root in (0..NONE).take(count) {
        if std::mem::replace(seen.get_mut(index(root))?, true) {
            continue;
        }
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            for &next in near.of(node) {
                if std::mem::replace(seen.get_mut(index(next))?, true) {
                    continue;
                }
                *parents.get_mut(index(next))? = node;
                used += 1;
                open.push(next);
            }
        }
    }
    // If an edge was not used, it closes a ring.
    (used == links.len()).then_some(parents)
}

/// Neighbours of nodes, ascending: the start of the list of each node, and all lists.
#[derive(Debug)]
struct NeighbourLists {
    starts: Vec<usize>,
    nodes: Vec<u32>,
}

impl NeighbourLists {
    /// Sorts pairs (node, other) by node, of `count` nodes. Pairs of other nodes are left out.
    fn new(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0_usize; count + 1];
        let pairs = pairs.filter(|(node, _)| index(*node) < count);
        for (node, _) in pairs.clone() {
            if let Some(start) = starts.get_mut(index(node) + 1) {
                *start += 1;
            }
        }
        let mut sum = 0_usize;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut nodes = vec![0; sum];
        for (node, other) in pairs {
            if let Some(place) = next.get_mut(index(node)) {
                if let Some(slot) = nodes.get_mut(*place) {
                    *slot = other;
                }
                *place += 1;
            }
        }
        Self { starts, nodes }
    }

    /// The list of one node.
    fn of(&self, node: u32) -> &[u32] {
        let node = index(node);
        let bounds = self.starts.get(node).zip(self.starts.get(node + 1));
        bounds
            .and_then(|(start, end)| self.nodes.get(*start..*end))
            .unwrap_or_default()
    }
}

/// All roots and their descendants, parents before children. Nodes on rings are missing.
fn downwards(parents: &[u32]) -> Vec<u32> {
    let pairs = (0..NONE)
        .zip(parents)
        .filter(|(_, parent)| **parent != NONE);
    let children = NeighbourLists::new(parents.len(), pairs.map(|(node, parent)| (*parent, node)));
    let roots = (0..NONE)
        .zip(parents)
        .filter(|(_, parent)| **parent == NONE);
    let mut open: Vec<u32> = roots.map(|(node, _)| node).collect();
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
        assert_eq!(parents(3, &[[0, 1], [1, 2]]), Some(vec![1, 2, NONE]));
        // As pairs, node 1 has two parents; as undirected edges, they form a tree.
        let got = parents(3, &[[1, 0], [1, 2]]).unwrap();
        assert_eq!(got, [NONE, 0, 1]);
        assert_eq!(parents(3, &[[0, 1], [1, 2], [2, 0]]), None);
        assert_eq!(parents(2, &[[0, 1], [1, 0]]), None);
        assert_eq!(parents(0, &[]), Some(Vec::new()));
    }

    #[test]
    fn parents_come_before_their_children() {
        assert_eq!(downwards(&[2, 0, NONE, NONE]), [2, 0, 1, 3]);
        assert_eq!(downwards(&[1, 0]), [0_u32; 0]);
    }
}
