//! Data of coarse levels that does not depend on which vertices are kept.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::Schema;
use tokio::runtime::Handle;
use zvf_meta::{Kind, LinkStore, LinksConvention};
use zvf_query::{Answer, BBox, Column, Query, QueryError, Table, query};
use zvf_store::{ChunkCoord, Deltas, Level, Names, Need, Store};

use super::{Reading, tables};
use zvf_encode::error::{OrBug, narrow, to_index};
use zvf_encode::{AttributeSpec, Groups, StoreSpec, WriteError, arrow};
use zvf_format::int::index;

/// Most objects that are queried to detect the number of values in a row of an attribute.
const LOOKED_AT: usize = 16;

/// The data of level 0 besides its vertices and links.
#[derive(Debug)]
pub(crate) struct LevelMetadata {
    /// The specification of levels, without chunks and storage. Positions, attributes and links are declared from the columns of a query.
    pub(super) spec: StoreSpec,
    /// Ids of the objects that exist, in the order of the object index.
    pub(crate) ids: Vec<i64>,
    /// The rows of these objects in the object index, which also has rows of deleted objects.
    pub(super) index_rows: Vec<usize>,
    pub(super) groups: Groups,
    /// Attributes of a type that is not written.
    pub(crate) left_out: Vec<String>,
    left_out_of_groups: Vec<String>,
    /// The level itself.
    pub(crate) level: Level,
    /// Columns of vertices and of links without rows, after the first query.
    pub(super) no_vertices: RecordBatch,
    pub(super) no_links: RecordBatch,
}

impl LevelMetadata {
    /// Reads the metadata of level 0: documents, ids, groups.
    ///
    /// # Errors
    /// Misuse: data that this method does not support; the message names it. Malformed data. I/O.
    pub(crate) fn read(store: &Store, handle: &Handle) -> Result<Self, WriteError> {
        let root = store.root();
        if root.world_offset().is_some() {
            let expected = "none, or the reference method";
            return Err(WriteError::input("store", "a coordinate offset", expected));
        }
        let need = Need {
            vertex_attributes: Names::All,
            group_attributes: Names::All,
            link_attributes: Names::All,
            link_deltas: Deltas::List(vec![0]),
            objects: true,
            groups: true,
            ..Need::nothing()
        };
        let level = handle.block_on(store.level(0, &need))?;
        let kind = store.kind();
        if level.object_index().is_none() && kind != Kind::PointCloud {
            let expected = "an object index, which this kind has";
            return Err(WriteError::data("level 0", "no objects", expected));
        }
        let (mut ids, mut index_rows) = (Vec::new(), Vec::new());
        if let Some(found) = level.object_index() {
            for (row, id) in handle.block_on(found.ids())?.objects() {
                ids.push(id);
                index_rows.push(to_index("objects", row)?);
            }
        }
        let mut spec = StoreSpec::new(kind, root.zarr_vectors.chunk_shape.clone());
        spec.axes = root.multiscales.axes().to_vec();
        spec.objects = level.object_index().is_some();
        let (groups, left_out) = groups(&level, &ids, handle)?;
        Ok(Self {
            groups,
            spec,
            ids,
            index_rows,
            left_out: left_out.clone(),
            left_out_of_groups: left_out,
            level,
            no_vertices: RecordBatch::new_empty(Arc::new(Schema::empty())),
            no_links: RecordBatch::new_empty(Arc::new(Schema::empty())),
        })
    }

    /// Whether level 0 has links though the kind of the store has none.
    pub(crate) fn loses_links(&self) -> bool {
        let points = self.spec.kind == Kind::PointCloud;
        let family = self.level.links(0).filter(|_| points);
        let mut arrays = family.iter().flat_map(|family| family.arrays());
        arrays.any(|one| !one.array.presence().is_empty())
    }

    /// Declares positions and attributes before vertices are read.
    pub(super) fn declare_first(&mut self, from: Reading<'_>) -> Result<(), WriteError> {
        // A query of no object, or of a box far from all data, gives the columns before cells are read. If a document does not state the number of
        // values in a row, or states one that some writers use for any number (trap T8), the width is taken from a cell.
        let attributes = self.level.vertex_attributes();
        let declared = attributes.iter().all(|one| one.declared_width.is_some());
        let objects = if declared {
            0
        } else {
            self.ids.len().min(LOOKED_AT)
        };
        let mut asked = self.ask(0..objects, from.placed);
        if !self.spec.objects && declared {
            let far: Vec<f64> = self
                .spec
                .chunk_shape
                .iter()
                .map(|axis| axis * 1e12)
                .collect();
            asked.bbox = BBox::new(far.clone(), far).ok();
        }
        let answer = start(from.store, asked, from.handle)?;
        let none = || WriteError::data("level 0", "no table of vertices", "one");
        let schema = answer.schema(Table::Vertices).cloned().ok_or_else(none)?;
        let links = answer.schema(Table::Links).cloned();
        drop(answer);
        self.no_vertices = RecordBatch::new_empty(schema);
        self.declare(&self.no_vertices.clone())?;
        if self.spec.takes_links() {
            let links = links.map(RecordBatch::new_empty);
            self.declare_links(from.store, links.as_ref())?;
            self.no_links = links.unwrap_or_else(|| self.no_links.clone());
        }
        Ok(())
    }

    /// The query of level 0 for these objects, or for everything; with the places of vertices if `placed`.
    pub(super) fn ask(&self, objects: Range<usize>, placed: bool) -> Query {
        let ids = self
            .ids
            .iter()
            .copied()
            .skip(objects.start)
            .take(objects.len());
        let mut asked = Query {
            objects: self.spec.objects.then(|| ids.collect()),
            ..Query::default()
        };
        if placed {
            asked.columns = vec![
                Column::Position,
                Column::Chunk,
                Column::Row,
                Column::Attributes,
            ];
        }
        asked
    }

    /// Declares positions and attributes from the columns of a result.
    pub(super) fn declare(&mut self, vertices: &RecordBatch) -> Result<(), WriteError> {
        self.spec.vertex_attributes.clear();
        self.left_out.clone_from(&self.left_out_of_groups);
        let position = column(vertices, "position")?;
        let declared = tables::declare("position", &position)?;
        let texts = || WriteError::data("position", "texts", "numbers");
        self.spec.positions = declared.values.number().ok_or_else(texts)?;
        // The attribute that splits chunks is in their keys; some released writers also write an array of it.
        let key = self.level.doc().chunk_attribute_name.clone();
        let key = key.filter(|_| self.level.key_rank() > self.level.dims());
        self.spec.chunk_by = None;
        if let Some(name) = &key {
            let mut declared = tables::declare(name, &attribute(vertices, name)?)?;
            if let Some(key) = self.level.key_attribute() {
                describe(&mut declared, key.unit, key.description, None);
            }
            self.spec = self.spec.clone().with_attribute_chunks(declared);
        }
        let attributes = self.level.vertex_attributes().iter();
        for one in attributes.filter(|one| Some(&one.name) != key.as_ref()) {
            let Ok(mut declared) = tables::declare(&one.name, &attribute(vertices, &one.name)?)
            else {
                self.left_out.push(one.name.clone());
                continue;
            };
            let (unit, description) = (one.unit.as_deref(), one.description.as_deref());
            describe(
                &mut declared,
                unit,
                description,
                one.channel_names.as_deref(),
            );
            self.spec.vertex_attributes.push(declared);
        }
        Ok(())
    }

    /// Declares links and their attributes from the columns of a result.
    pub(super) fn declare_links(
        &mut self,
        store: &Store,
        links: Option<&RecordBatch>,
    ) -> Result<(), WriteError> {
        let convention = store.root().zarr_vectors.links_convention.as_deref();
        let explicit = convention == Some(LinksConvention::Explicit.name());
        let family = self.level.links(0);
        let mut spec = self.spec.links.clone();
        if let Some(family) = family {
            spec.width = family.width();
        }
        spec.directed = explicit && family.is_some_and(|family| family.directed());
        spec.store = family
            .filter(|_| explicit)
            .map_or(LinkStore::Canonical, |family| family.store());
        spec.explicit = explicit;
        spec.attributes.clear();
        if let Some(links) = links {
            (_, spec.width) = arrow::elements(&column(links, "vertices")?)?;
            let named = family.into_iter().flat_map(|family| family.attributes());
            for one in named.filter(|_| explicit) {
                let name = &one.name;
                let declared = tables::declare(name, &attribute(links, name)?).ok();
                match declared.filter(|one| one.values.number().is_some()) {
                    Some(mut declared) => {
                        let stated = one.stated();
                        let description = stated.and_then(|stated| stated.description.as_deref());
                        let names = stated.and_then(|stated| stated.channel_names.as_deref());
                        describe(&mut declared, one.unit.as_deref(), description, names);
                        spec.attributes.push(declared);
                    }
                    None => self.left_out.push(name.clone()),
                }
            }
        }
        self.spec.links = spec;
        Ok(())
    }
}

/// Copies unit, description and channel names of an attribute. Channel names are left out if their number is not the number of channels.
fn describe(
    spec: &mut AttributeSpec,
    unit: Option<&str>,
    description: Option<&str>,
    channel_names: Option<&[String]>,
) {
    spec.unit = unit.map(str::to_owned);
    spec.description = description.map(str::to_owned);
    let names = channel_names.filter(|names| names.len() == spec.channels);
    spec.channel_names = names.map(<[String]>::to_vec);
}

fn failed(error: QueryError) -> WriteError {
    match error {
        QueryError::Store(source) => source.into(),
        other => WriteError::Query {
            class: other.class(),
            source: Box::new(other),
        },
    }
}

/// Starts a query.
pub(super) fn start(store: &Store, asked: Query, handle: &Handle) -> Result<Answer, WriteError> {
    handle.block_on(query(store, asked)).map_err(failed)
}

/// Applies `take` to the batches of a result of one table.
pub(super) fn each_batch(
    mut answer: Answer,
    handle: &Handle,
    mut take: impl FnMut(RecordBatch) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    while let Some((_, batch)) = handle.block_on(answer.next()).map_err(failed)? {
        take(batch)?;
    }
    Ok(())
}

/// A column of a result.
pub(super) fn column(batch: &RecordBatch, name: &str) -> Result<ArrayRef, WriteError> {
    let missing = || WriteError::data(name, "no column", "one");
    batch.column_by_name(name).cloned().ok_or_else(missing)
}

/// The column of an attribute.
pub(super) fn attribute(batch: &RecordBatch, name: &str) -> Result<ArrayRef, WriteError> {
    let missing = || WriteError::data(name, "no column", "one");
    arrow::attribute_column(batch, name)
        .cloned()
        .ok_or_else(missing)
}

/// The columns of a result that state the place of a vertex.
#[derive(Debug, Default)]
pub(super) struct PlaceColumns {
    /// Chunks in the order of their first occurrence.
    slots: BTreeMap<ChunkCoord, u32>,
    places: Vec<(u32, u32)>,
}

impl PlaceColumns {
    pub(super) fn push(&mut self, batch: &RecordBatch, dims: usize) -> Result<(), WriteError> {
        let chunks = column(batch, "chunk")?;
        let (axes, rank) = arrow::elements(&chunks)?;
        if rank != dims {
            let expected = "chunks that are divided by position alone";
            let found = "chunks that are divided by an attribute";
            return Err(WriteError::input("level 0", found, expected));
        }
        let coords = axes.as_primitive::<Int64Type>().values();
        let rows = column(batch, "row")?;
        let rows = rows.as_primitive::<UInt64Type>().values();
        let mut last: Option<(&[i64], u32)> = None;
        for (chunk, &row) in coords.chunks_exact(rank.max(1)).zip(rows) {
            let slot = match last {
                Some((known, slot)) if known == chunk => slot,
                _ => {
                    let next = narrow("chunks", self.slots.len())?;
                    let coord = ChunkCoord::new(chunk);
                    *self.slots.entry(coord).or_insert(next)
                }
            };
            last = Some((chunk, slot));
            let row = narrow("rows of one chunk", to_index("rows", row)?)?;
            self.places.push((slot, row));
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Numbered, WriteError> {
        let mut rank = vec![0_u32; self.slots.len()];
        for (slot, came) in (0_u32..).zip(self.slots.values()) {
            *rank
                .get_mut(index(*came))
                .or_bug("a chunk that was not read")? = slot;
        }
        for (slot, _) in &mut self.places {
            *slot = *rank
                .get(index(*slot))
                .or_bug(format_args!("no chunk {slot}"))?;
        }
        Numbered::new(self.slots.into_keys().collect(), &self.places)
    }
}

/// Vertices of a level, numbered chunk by chunk and row by row, as links between levels require.
#[derive(Debug)]
pub(crate) struct Numbered {
    /// Chunks with vertices, in lex order.
    pub(crate) chunks: Arc<Vec<ChunkCoord>>,
    /// The first vertex of each chunk, and the number of all vertices.
    pub(crate) starts: Vec<u32>,
    /// The number of each vertex of the computed level.
    pub(crate) of: Vec<u32>,
}

impl Numbered {
    /// Makes the numbers from the slot and the row of each place. Rows without a place are counted, too.
    pub(crate) fn new(chunks: Vec<ChunkCoord>, places: &[(u32, u32)]) -> Result<Self, WriteError> {
        let mut counts = vec![0_usize; chunks.len()];
        for &(slot, row) in places {
            let count = counts.get_mut(index(slot));
            let count = count.or_bug(format_args!("no chunk {slot}"))?;
            *count = (index(row) + 1).max(*count);
        }
        let (mut starts, mut sum) = (vec![0], 0_usize);
        for count in counts {
            sum += count;
            starts.push(narrow("vertices of a level", sum)?);
        }
        let number = |&(slot, row): &(u32, u32)| {
            let start = starts
                .get(index(slot))
                .or_bug(format_args!("no chunk {slot}"))?;
            Ok(start + row)
        };
        Ok(Self {
            of: places
                .iter()
                .map(number)
                .collect::<Result<_, WriteError>>()?,
            starts,
            chunks: Arc::new(chunks),
        })
    }
}

/// The groups of a level, with the members in `ids`, and the names of attributes that are left out. Coarse levels of the package have no groups
/// (trap T21).
fn groups(
    level: &Level,
    ids: &[i64],
    handle: &Handle,
) -> Result<(Groups, Vec<String>), WriteError> {
    let mut left_out = Vec::new();
    // After the last group is deleted, attributes of groups remain without rows.
    let Some(found) = level.groups().filter(|found| !found.is_empty()) else {
        return Ok((Groups::default(), left_out));
    };
    let known: HashSet<i64> = ids.iter().copied().collect();
    let (mut members, mut names) = (Vec::new(), Vec::new());
    let mut named = false;
    for number in 0..found.len() {
        let mut some = handle.block_on(found.members(number))?;
        some.retain(|id| known.contains(id));
        members.push(some);
        let name = found.name(number);
        named |= name != format!("group_{number}");
        names.push(name);
    }
    let mut groups = Groups::new(members);
    if named {
        groups = groups.with_names(names);
    }
    let rows: Vec<usize> = (0..groups.members().len()).collect();
    for one in level.group_attributes() {
        let values = handle.block_on(one.read())?;
        if !groups.add_stored(one.name(), &values, &rows)? {
            left_out.push(one.name().to_owned());
        }
    }
    Ok((groups, left_out))
}

#[cfg(test)]
mod tests {
    use zvf_store::ChunkCoord;

    use super::Numbered;
    use zvf_encode::WriteError;

    #[test]
    fn vertices_are_numbered_by_chunk_and_row() {
        let chunks = || vec![ChunkCoord::new(&[0]), ChunkCoord::new(&[4])];
        let numbered = Numbered::new(chunks(), &[(1, 0), (0, 2), (1, 1)]).unwrap();
        assert_eq!(
            (numbered.starts, numbered.of),
            (vec![0, 3, 5], vec![3, 2, 4])
        );
        let lost = Numbered::new(chunks(), &[(1, 0), (2, 0)]);
        assert!(matches!(lost, Err(WriteError::Bug { .. })));
    }
}
