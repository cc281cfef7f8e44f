//! Derives the specification that a store could have been written with; fails if there is none.

use std::sync::Arc;

use serde_json::Value;
use zvf_meta::{Kind, LinksConvention, Refinement, RootDoc};
use zvf_store::{
    CellWant, CheckedFragments, GridArray, Level, Need, Store, StoreError, VertexAttribute,
};

use super::grid::GridEdit;
use zvf_encode::batches::SplitKeys;
use zvf_encode::error::to_index;
use zvf_encode::{AttributeSpec, AttributeType, ChunkBy, NumberType, StoreSpec, WriteError};
use zvf_format::int::wide;

/// The parts of the level that an edit needs.
pub(crate) fn need() -> Need {
    Need::all()
}

#[cold]
fn refused(path: &str, found: impl Into<String>, expected: &str) -> WriteError {
    WriteError::unsupported(path, found, expected)
}

/// The number type of an attribute.
fn number(path: &str, name: &str) -> Result<NumberType, WriteError> {
    let number = NumberType::from_name(name);
    number.ok_or_else(|| refused(path, name, "little-endian numbers"))
}

/// Derives the specification from a store.
///
/// # Errors
/// [`WriteError::Unsupported`]: the first part of the store that an edit could not preserve.
pub(crate) async fn read(
    root: &RootDoc,
    store: &Store,
    level: &Level,
) -> Result<(StoreSpec, Option<SplitKeys>), WriteError> {
    check_root(root)?;
    check_level(level)?;
    let kind = store.kind();
    let mut spec =
        StoreSpec::new(kind, level.chunk_shape().to_vec()).with_axes(root.axes().to_vec());
    spec.bounds = None;
    spec.crs.clone_from(&root.zarr_vectors.crs);
    spec.objects = level.object_index().is_some() || kind != Kind::PointCloud;
    if kind != Kind::PointCloud && level.object_index().is_none() {
        return Err(refused("0/object_index", "nothing", "an index of objects"));
    }
    let vertices = level.vertices();
    spec.positions = number(vertices.path(), &vertices.dtype().to_string())?;
    if kind == Kind::PointCloud && !spec.objects {
        let bins = level.bin_shape().map(<[f64]>::to_vec);
        spec.bin_shape = bins.filter(|bins| bins.as_slice() != level.chunk_shape());
    }
    let widths = widths(store, level, &spec).await?;
    for (one, width) in level.vertex_attributes().iter().zip(widths) {
        let mut attribute =
            AttributeSpec::number(&one.name, number(one.array.path(), &one.dtype.to_string())?);
        attribute.channels = width;
        attribute.unit.clone_from(&one.unit);
        attribute.channel_names.clone_from(&one.channel_names);
        attribute.channel_names = attribute.channel_names.filter(|names| names.len() == width);
        spec.vertex_attributes.push(attribute);
    }
    let keys = read_key(root, level, &mut spec)?;
    read_links(root, level, &mut spec)?;
    // Fails before any change if an array cannot be written again.
    let mut arrays: Vec<&Arc<GridArray>> = vec![vertices];
    arrays.extend(level.vertex_fragments());
    arrays.extend(level.vertex_attributes().iter().map(|one| &one.array));
    for family in level.link_families() {
        arrays.extend(family.arrays().iter().map(|one| &one.array));
    }
    for array in arrays {
        GridEdit::of(array)?;
    }
    spec.check()?;
    Ok((spec, keys))
}

fn check_root(root: &RootDoc) -> Result<(), WriteError> {
    let block = &root.zarr_vectors;
    let version = &block.zv_version;
    if !zvf_meta::version::is_editable(version) {
        return Err(refused(
            "zarr.json",
            format!("version {version}"),
            "version 0.9: migrate the store first",
        ));
    }
    if let [_, _, ..] = block.geometry_types.as_slice() {
        return Err(refused(
            "zarr.json",
            format!("kinds {:?}", block.geometry_types),
            "one kind",
        ));
    }
    if !block.required_capabilities.is_empty() {
        let found = format!("required_capabilities {:?}", block.required_capabilities);
        return Err(refused("zarr.json", found, "none"));
    }
    if block
        .coordinate_offset
        .as_ref()
        .is_some_and(|offset| offset.iter().any(|&o| o != 0.0))
    {
        return Err(refused("zarr.json", "a coordinate_offset", "none"));
    }
    Ok(())
}

fn check_level(level: &Level) -> Result<(), WriteError> {
    let doc = level.doc();
    let path = "0/zarr.json";
    for (flag, what) in [
        (doc.shared_fragments, "shared_fragments"),
        (doc.refinement == Refinement::Add, "refinement \"add\""),
    ] {
        if flag {
            return Err(refused(path, what, "a level without it"));
        }
    }
    level.store().check_levels()?;
    level.check_complete()?;
    let encoding = level.vertices().attributes().encoding.as_deref();
    if let Some(other) = encoding.filter(|encoding| *encoding != "raw") {
        return Err(refused(level.vertices().path(), other, "encoding raw"));
    }
    let Some(fragments) = level.vertex_fragments() else {
        return Err(refused("0/vertex_fragments", "nothing", "fragment indexes"));
    };
    // Concurrent writers may lose entries of a presence list (trap T34). An edit would drop the vertices of the missing chunks.
    let listed = level.vertices().presence();
    let attributes = level.vertex_attributes().iter().map(|one| &one.array);
    // Arrays that list the same chunks share the list.
    let others = std::iter::once(fragments).chain(attributes);
    for array in others.filter(|array| !std::ptr::eq(array.presence(), listed)) {
        let mut own = array.presence().iter();
        if let Some(chunk) = own.find(|chunk| !listed.contains(chunk)) {
            let what = format!(
                "lists chunk {chunk:?}, which nonempty_chunks of vertices does not list: `zvf repair` restores the list; nothing was changed"
            );
            return Err(WriteError::source(array.path(), what));
        }
    }
    Ok(())
}

/// The attribute that splits chunks, if there is one, and its values by rank.
fn read_key(
    root: &RootDoc,
    level: &Level,
    spec: &mut StoreSpec,
) -> Result<Option<SplitKeys>, WriteError> {
    let (doc, path) = (level.doc(), "0/zarr.json");
    let rank = level.key_rank();
    let (name, values) = match (&doc.chunk_attribute_name, &doc.chunk_attribute_values) {
        (None, None) if rank == level.dims() => return Ok(None),
        (Some(name), Some(values)) if rank == level.dims() + 1 => (name, values),
        _ => {
            let found =
                "chunks that are divided by something other than space and a vertex attribute";
            let expected = "chunks that are divided by space, or by space and a vertex attribute";
            return Err(refused(path, found, expected));
        }
    };
    if spec.bin_shape.is_some() {
        let expected = "none in a store whose chunks are divided by an attribute";
        return Err(refused("zarr.json", "bins", expected));
    }
    let beside = spec.vertex_attributes.iter().find(|one| one.name == *name);
    let specs = root.zarr_vectors.attribute_specs.as_ref();
    let declared = specs.and_then(|specs| specs.get("vertex")?.get(name)?.get("dtype")?.as_str());
    let declared = match (beside, declared) {
        (Some(array), _) => Some(array.values),
        (None, declared) => declared
            .and_then(NumberType::from_name)
            .map(AttributeType::Number),
    };
    let mut attribute = AttributeSpec::category(name);
    if let Some(key) = level.key_attribute() {
        attribute.unit = key.unit.map(str::to_owned);
        attribute.description = key.description.map(str::to_owned);
    }
    let (attribute, keys) = SplitKeys::listed(attribute, declared, values).map_err(|found| {
        let expected = "booleans, whole numbers or texts, each once";
        refused(
            path,
            format!("chunk_attribute_values with {found}"),
            expected,
        )
    })?;
    let stored = beside.is_some();
    if beside.is_some_and(|array| array.values != attribute.values || array.channels != 1) {
        let found = "another type than chunk_attribute_values";
        let path = format!("0/vertex_attributes/{name}");
        return Err(refused(&path, found, "the same type"));
    }
    spec.chunk_by = Some(ChunkBy::found(attribute, stored));
    Ok(Some(keys))
}

/// Channels of the vertex attributes, from the bytes of one chunk, since documents are sometimes wrong (trap T8).
async fn widths(store: &Store, level: &Level, spec: &StoreSpec) -> Result<Vec<usize>, WriteError> {
    let declared = |one: &VertexAttribute| one.declared_width.unwrap_or(1);
    let attributes = level.vertex_attributes();
    let fragments = level.vertex_fragments();
    let (Some(chunk), Some(fragments), false) = (
        level.vertices().presence().get(0),
        fragments,
        attributes.is_empty(),
    ) else {
        let all = attributes
            .iter()
            .map(|one| to_index("channels", declared(one)));
        return all.collect();
    };
    let arrays = [level.vertices(), fragments].into_iter();
    let wants = arrays
        .chain(attributes.iter().map(|one| &one.array))
        .map(|array| CellWant::new(array, chunk))
        .collect();
    let cells = store.fetch(level.next_round(), wants).await?;
    let size = spec.positions.size() * spec.dims();
    let rows = cells
        .first()
        .and_then(Option::as_ref)
        .map_or(0, |cell| cell.len() / size.max(1));
    if let Some(Some(index)) = cells.get(1) {
        let decode = |source| StoreError::Decode {
            key: fragments.path().to_owned(),
            source,
        };
        CheckedFragments::extent_of(index).map_err(decode)?;
    }
    let mut widths = Vec::new();
    for (one, cell) in attributes.iter().zip(cells.iter().skip(2)) {
        let bytes = cell.as_ref().map_or(0, |cell| cell.len());
        let row = rows * one.dtype.size();
        let width = match bytes.checked_div(row) {
            Some(width) if width > 0 && bytes.is_multiple_of(row) => width,
            _ => to_index("channels", declared(one))?,
        };
        widths.push(width);
    }
    Ok(widths)
}

fn read_links(root: &RootDoc, level: &Level, spec: &mut StoreSpec) -> Result<(), WriteError> {
    let convention = root.links_convention()?;
    spec.links.explicit = spec.takes_links() && convention == LinksConvention::Explicit;
    if spec.convention() != convention {
        let found = format!("links_convention {}", convention.name());
        return Err(refused("zarr.json", found, spec.convention().name()));
    }
    let Some(family) = level.links(0) else {
        return Ok(());
    };
    if spec.kind == Kind::PointCloud {
        return Err(refused("0/links/0", "links of points", "none"));
    }
    if family.width() == 0 {
        return Err(refused("0/links/0", "no link_width or sid_ndim", "both"));
    }
    spec.links.width = family.width();
    spec.links.directed = family.directed();
    spec.links.store = family.store();
    for array in family.arrays() {
        let form = array.form();
        if form.dtype != zvf_format::dtype::DType::I64 {
            let found = format!("rows of type {}", form.dtype);
            return Err(refused(array.array.path(), found, "rows of type int64"));
        }
    }
    for one in family.attributes() {
        let path = format!("0/link_attributes/{}", one.name);
        let mut attribute =
            AttributeSpec::number(&one.name, number(&path, &one.dtype.to_string())?);
        attribute.channels = to_index("channels", one.width)?;
        attribute.unit.clone_from(&one.unit);
        let stated = one.stated();
        attribute.description = stated.and_then(|stated| stated.description.clone());
        let names = one.stated().and_then(|stated| stated.channel_names.clone());
        attribute.channel_names = names.filter(|names| wide(names.len()) == one.width);
        spec.links.attributes.push(attribute);
    }
    Ok(())
}

/// The texts of a categorical attribute: `Some(None)` if it has no categories, `None` if a category is not a text.
pub(crate) fn category_texts(one: &VertexAttribute) -> Option<Option<Vec<String>>> {
    let Some(categories) = &one.categories else {
        return Some(None);
    };
    let texts = categories.iter().map(|value| match value {
        Value::String(text) => Some(text.clone()),
        _ => None,
    });
    texts.collect::<Option<Vec<_>>>().map(Some)
}
