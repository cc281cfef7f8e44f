//! Level 0 as it is: vertices by object, links, attributes, groups.

use std::collections::{BTreeMap, HashSet};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch};
use tokio::runtime::Handle;
use zvf_meta::{Kind, LinkStore, LinksConvention};
use zvf_query::{Column, Query, Table, query};
use zvf_store::{ChunkCoord, Deltas, Names, Need, Store};

use super::{Geometry, Numbered, State, tables};
use crate::int::{narrow, to_index};
use crate::number::NumberType;
use crate::spec::LinkSpec;
use crate::{AttributeSpec, Groups, StoreSpec, Values, WriteError};

/// Everything of level 0 that coarse levels are made of.
#[derive(Debug)]
pub(crate) struct Source {
    /// What levels are, but for chunks and storage.
    pub(super) spec: StoreSpec,
    pub(super) position: ArrayRef,
    pub(super) numbers: Vec<f64>,
    pub(super) attributes: Vec<ArrayRef>,
    pub(super) link_attributes: Vec<ArrayRef>,
    /// Ids of the objects that exist, in the order of the object index.
    pub(super) ids: Vec<i64>,
    /// Their rows in the object index: those of deleted objects are between them.
    pub(super) index_rows: Vec<usize>,
    pub(super) groups: Groups<'static>,
    /// Attributes of a type that is not written.
    pub(crate) left_out: Vec<String>,
    /// Level 0 itself.
    pub(crate) state: State,
    /// Where its vertices lie, if that was asked for.
    pub(crate) places: Option<Numbered>,
}

impl Source {
    /// Reads level 0, with the places of its vertices if `placed`.
    ///
    /// # Cost
    /// The whole level, in memory.
    ///
    /// # Errors
    /// Misuse: what a level of this method cannot hold, by its name. Malformed data. I/O.
    pub(crate) fn read(store: &Store, handle: &Handle, placed: bool) -> Result<Self, WriteError> {
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
        let mut asked = Query {
            objects: level.object_index().map(|_| ids.clone()),
            ..Query::default()
        };
        if placed {
            asked.columns = vec![
                Column::Position,
                Column::Attributes,
                Column::Chunk,
                Column::Row,
            ];
        }
        let answer = handle.block_on(async { query(store, asked).await?.collect().await })?;
        let none = || WriteError::data("level 0", "no table of vertices", "one");
        let vertices = answer.table(Table::Vertices)?.ok_or_else(none)?;
        narrow("vertices", vertices.num_rows())?;
        let links = answer.table(Table::Links)?;
        let column = |batch: &RecordBatch, name: &str| {
            let missing = || WriteError::data(name, "no column", "one");
            batch.column_by_name(name).cloned().ok_or_else(missing)
        };
        let position = column(&vertices, "position")?;
        let numbers = tables::to_f64(&position)?;
        let mut spec = StoreSpec::new(kind, root.zarr_vectors.chunk_shape.clone());
        spec.axes = root.multiscales.axes().to_vec();
        spec.objects = level.object_index().is_some();
        spec.positions =
            tables::number_of(&tables::declare("position", &position)?).unwrap_or(NumberType::F32);
        let (mut attributes, mut left_out) = (Vec::new(), Vec::new());
        for one in level.vertex_attributes() {
            let values = column(&vertices, &one.name)?;
            let Ok(mut declared) = tables::declare(&one.name, &values) else {
                left_out.push(one.name.clone());
                continue;
            };
            declared.unit.clone_from(&one.unit);
            declared.description.clone_from(&one.description);
            let names = one.channel_names.clone();
            declared.channel_names = names.filter(|names| names.len() == declared.channels);
            spec.vertex_attributes.push(declared);
            attributes.push(values);
        }
        let convention = root.zarr_vectors.links_convention.as_deref();
        let explicit = convention == Some(LinksConvention::Explicit.name());
        let mut link_attributes = Vec::new();
        let mut state = State::default();
        if spec.takes_links() {
            let family = level.links(0);
            spec.links = LinkSpec {
                width: family.map_or(spec.links.width, |family| family.width()),
                directed: explicit && family.is_some_and(|family| family.directed()),
                store: family
                    .filter(|_| explicit)
                    .map_or(LinkStore::Canonical, |family| family.store()),
                explicit,
                attributes: Vec::new(),
            };
            if let Some(links) = &links {
                let (ends, width) = tables::elements(&column(links, "vertices")?);
                spec.links.width = width;
                let ends = ends.as_primitive::<UInt64Type>().values();
                for &end in ends {
                    state
                        .links
                        .push(narrow("vertices", to_index("vertices", end)?)?);
                }
                state.links_of = (0..narrow("links", links.num_rows())?).collect();
                let named = family.into_iter().flat_map(|family| family.attributes());
                for name in named.map(|one| &one.name).filter(|_| explicit) {
                    let values = column(links, name)?;
                    let declared = tables::declare(name, &values).ok().filter(is_number);
                    let Some(declared) = declared else {
                        left_out.push(name.clone());
                        continue;
                    };
                    spec.links.attributes.push(declared);
                    link_attributes.push(values);
                }
            }
        }
        state.rows = (0..narrow("vertices", vertices.num_rows())?).collect();
        if spec.objects {
            let objects = answer.table(Table::Objects)?.ok_or_else(none)?;
            let lengths = column(&objects, "length")?;
            let lengths = lengths.as_primitive::<UInt64Type>();
            let found = column(&objects, "object_id")?;
            let found = found.as_primitive::<Int64Type>();
            for (row, (&id, &length)) in found.values().iter().zip(lengths.values()).enumerate() {
                if ids.get(row) != Some(&id) {
                    return Err(WriteError::data(
                        "object index",
                        format!("object {id}"),
                        "each id once",
                    ));
                }
                state.runs.push((row, to_index("vertices", length)?));
            }
        }
        let groups = groups(&level, &ids, handle)?;
        let places = if placed {
            Some(places(
                &column(&vertices, "chunk")?,
                &column(&vertices, "row")?,
                spec.dims(),
            )?)
        } else {
            None
        };
        Ok(Self {
            places,
            spec,
            position,
            numbers,
            attributes,
            link_attributes,
            ids,
            index_rows,
            groups,
            left_out,
            state,
        })
    }

    pub(crate) fn geometry(&self) -> Geometry<'_> {
        Geometry {
            kind: self.spec.kind,
            dims: self.spec.dims(),
            positions: &self.numbers,
            width: self.spec.links.width,
            directed: self.spec.links.directed,
        }
    }

    /// The ids of objects by their number in the runs of a state.
    pub(super) fn id(&self, object: usize) -> i64 {
        self.ids.get(object).copied().unwrap_or(0)
    }

    /// Attributes of the given links of level 0.
    pub(super) fn link_columns(&self, links: &[u32]) -> Result<Vec<Values<'static>>, WriteError> {
        let pairs = self.spec.links.attributes.iter().zip(&self.link_attributes);
        pairs
            .map(|(one, column)| tables::rows(&one.name, column, links))
            .collect()
    }
}

/// Where vertices lie, by the columns of a query.
fn places(chunk: &ArrayRef, row: &ArrayRef, dims: usize) -> Result<Numbered, WriteError> {
    let (axes, rank) = tables::elements(chunk);
    if rank != dims {
        let expected = "one whose chunks are cut by space alone";
        let found = "a level that is split by an attribute";
        return Err(WriteError::input("level 0", found, expected));
    }
    let coords = axes.as_primitive::<Int64Type>().values();
    let rows = row.as_primitive::<UInt64Type>().values();
    let mut slots: BTreeMap<&[i64], u32> = coords
        .chunks_exact(rank.max(1))
        .map(|chunk| (chunk, 0))
        .collect();
    for (slot, number) in slots.values_mut().enumerate() {
        *number = narrow("chunks", slot)?;
    }
    let mut places = Vec::with_capacity(rows.len());
    for (chunk, &row) in coords.chunks_exact(rank.max(1)).zip(rows) {
        let row = narrow("rows of one chunk", to_index("rows", row)?)?;
        places.push((slots.get(chunk).copied().unwrap_or(0), row));
    }
    let chunks = slots.into_keys().map(ChunkCoord::new).collect();
    Numbered::new(chunks, &places)
}

fn is_number(spec: &AttributeSpec) -> bool {
    tables::number_of(spec).is_some()
}

/// Groups, which coarse levels of the package do not have (trap T21).
///
/// Members that no object is are left out.
fn groups(
    level: &zvf_store::Level,
    ids: &[i64],
    handle: &Handle,
) -> Result<Groups<'static>, WriteError> {
    let Some(found) = level.groups() else {
        return Ok(Groups::default());
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
    for one in level.group_attributes() {
        let values = handle.block_on(one.read())?;
        groups = groups.with_attribute(one.name(), tables::table(one.name(), &values)?);
    }
    Ok(groups)
}
