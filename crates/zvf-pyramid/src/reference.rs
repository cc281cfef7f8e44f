//! The method of the released package, `per_object` (0.9 §17): one vertex per bin, the mean of its members.

use std::sync::Arc;

use zvf_format::manifest::ManifestBuilder;
use zvf_meta::{ArrayAttributes, ArrayDoc, JsonObject, LevelDoc};
use zvf_store::{ChunkCoord, ObjectIndex, TypedArray, TypedValues};

use super::bin::Means;
use super::bins::{CoarseParents, Metas, gather};
use super::fine::{Fine, ObjectFragments, rows_of};
use super::sample;
use zvf_encode::documents::{Docs, Nodes};
use zvf_encode::error::OrBug;
use zvf_encode::level::{LevelCells, ManifestArray, fragment_index, index_doc};
use zvf_encode::parallel::{Turn, pack};
use zvf_encode::tables::{Absence, ElementType, EncodedRows, ROWS, TableOf};
use zvf_encode::target::{Below, ObjectPut, Payloads};
use zvf_encode::values::NumberType;
use zvf_encode::{WriteError, documents, parallel};
use zvf_format::int::{index, wide};

/// One step.
#[derive(Debug, Clone)]
pub(crate) struct ReferenceStep {
    pub(crate) level: u32,
    /// The share of the objects that is kept.
    pub(crate) share: f64,
    pub(crate) seed: u64,
    pub(crate) chunk_shape: Vec<f64>,
    pub(crate) bin_shape: Vec<f64>,
    /// Whether the chunk shape differs from the root's.
    pub(crate) own_chunks: bool,
    pub(crate) root_shape: Vec<f64>,
    /// Members of the level's document that are not in the format.
    pub(crate) extra: JsonObject,
}

/// An attribute of objects, with its values.
#[derive(Debug, Clone)]
pub(crate) struct ObjectColumn {
    pub(crate) array: TypedArray,
    pub(crate) values: TypedValues,
    /// For each row, whether it has no value on a finer level.
    pub(crate) lost: Vec<bool>,
}

/// A written level, as input of the next step.
#[derive(Debug)]
pub(crate) struct FinishedLevel {
    pub(crate) fine: Fine,
    pub(crate) starts: Vec<u32>,
    pub(crate) parents: CoarseParents,
    pub(crate) vertices: u64,
    pub(crate) chunks: u64,
    /// Objects with vertices.
    pub(crate) present: u64,
    pub(crate) doc: LevelDoc,
}

/// Computes and writes one level except for its document, which is returned.
pub(crate) fn coarsen(
    fine: &Fine,
    step: &ReferenceStep,
    columns: &mut [ObjectColumn],
    (cells, root_cells): (&LevelCells, &LevelCells),
    target: &Below<'_>,
    means: Means<'_>,
) -> Result<FinishedLevel, WriteError> {
    let rows = fine.objects.as_ref().map_or(0, |objects| objects.len());
    if fine.objects.is_some() && rows == 0 {
        let expected = "at least one, or no object index";
        return Err(WriteError::input(
            format!("level {}", fine.number),
            "no objects",
            expected,
        ));
    }
    let kept: Vec<usize> = if step.share < 1.0 && rows > 1 {
        sample::draw(rows, sample::kept_count(rows, step.share), step.seed)?
    } else {
        (0..rows).collect()
    };
    let chosen = fine.objects.is_some().then_some(&*kept);
    let grid = (&cells.grid, &*step.chunk_shape);
    let (metas, parents) = gather(fine, chosen, &step.bin_shape, grid, means)?;
    // A level without vertices has the chunks of the root, and no attributes (0.9 §17, last but one paragraph).
    let empty = metas.len()? == 0 && fine.objects.is_some();
    let (cells, own_chunks) = if empty {
        (root_cells, false)
    } else {
        (cells, step.own_chunks)
    };
    write_vertices(&metas, cells, target, means.threads)?;
    let mut nodes = vertex_nodes(&metas, cells)?;
    let (mut objects, mut present) = (None, 0);
    if let Some(given) = &fine.objects {
        let docs = &mut nodes.arrays;
        let (coarse, count) = write_objects(given, &kept, &metas, &parents, cells, target, docs)?;
        present = count;
        let mut doc = index_doc(fine.dims, &coarse.ids, present);
        ObjectIndex::list_deleted(&mut doc, coarse.deleted.iter().copied());
        let doc = doc.to_group().to_json_line();
        nodes.groups.insert("object_index".to_owned(), doc);
        objects = Some(Arc::new(coarse));
        let order: Vec<usize> = (0..rows).collect();
        for column in columns.iter_mut().filter(|_| !empty) {
            let column = write_column(column, &kept, &order, cells, target)?;
            nodes.arrays.push(column);
        }
    }
    nodes.put(target)?;
    let vertices = u64::from(metas.len()?);
    let mut families = vec!["vertices".to_owned()];
    families.extend(objects.is_some().then(|| "object_index".to_owned()));
    let doc = LevelDoc {
        level: step.level,
        vertex_count: vertices,
        arrays_present: families,
        object_sparsity: step.share,
        coarsening_method: Some("per_object".to_owned()),
        parent_level: Some(fine.number),
        chunk_shape: own_chunks.then(|| step.chunk_shape.clone()),
        preserves_object_ids: objects.is_some(),
        inherited_num_objects: Some(wide(rows)),
        shared_fragments: true,
        extra: step.extra.clone(),
        ..LevelDoc::default()
    };
    let chunk_shape = if empty {
        &step.root_shape
    } else {
        &step.chunk_shape
    };
    let chunk_shape = chunk_shape.clone();
    let (starts, chunks) = (metas.starts.clone(), wide(metas.chunks.len()));
    Ok(FinishedLevel {
        fine: Fine::held(
            step.level,
            chunk_shape,
            metas.chunks,
            metas.starts,
            metas.positions,
            objects,
        ),
        starts,
        parents,
        vertices,
        chunks,
        present,
        doc,
    })
}

/// Cells of positions, and of fragments: one fragment per vertex.
fn write_vertices(
    metas: &Metas,
    cells: &LevelCells,
    target: &Below<'_>,
    threads: usize,
) -> Result<(), WriteError> {
    let mut items = Vec::new();
    for (slot, chunk) in metas.chunks.iter().enumerate() {
        let bytes = wide(rows_of(&metas.starts, slot)?.len()) * 28;
        items.push((cells.object_index(chunk)?, bytes, slot));
    }
    let dims = metas.chunks.first().map_or(1, |chunk| chunk.len());
    let work = |job: Vec<usize>, turn: Turn<'_>| {
        let (mut positions, mut fragments): (Payloads<'_>, Payloads<'_>) = (Vec::new(), Vec::new());
        for slot in job {
            let chunk = metas.chunks.get(slot).map(ChunkCoord::as_slice);
            let chunk = chunk.or_bug(format_args!("no chunk {slot}"))?;
            let rows = rows_of(&metas.starts, slot)?;
            let values = metas.positions.get(rows.start * dims..rows.end * dims);
            let values = values.or_bug("a chunk without positions")?;
            positions.push((
                chunk,
                values
                    .iter()
                    .flat_map(|value| value.to_le_bytes())
                    .collect(),
            ));
            let ones = rows.map(|_| 1);
            fragments.push((chunk, fragment_index("vertex_fragments", ones)?));
        }
        let positions_of = cells.of_items(size_of::<f32>());
        let fragments_of = cells.of_items(documents::INDEX);
        turn.take(|| {
            positions_of.choose("vertices", &positions)?;
            fragments_of.choose("vertex_fragments", &fragments)
        })?;
        let mut objects: Vec<ObjectPut> = positions_of.objects("vertices", positions)?;
        objects.extend(fragments_of.objects("vertex_fragments", fragments)?);
        target.put(objects)
    };
    parallel::each_in_turn(threads, pack(items).into_iter(), work, |()| Ok(()))
}

fn vertex_nodes(metas: &Metas, cells: &LevelCells) -> Result<Nodes, WriteError> {
    let present = documents::presence(metas.chunks.iter().map(ChunkCoord::as_slice))?;
    let vertices = ArrayAttributes {
        zv_array: Some("vertices".to_owned()),
        dtype: Some("float32".to_owned()),
        encoding: Some("raw".to_owned()),
        ..ArrayAttributes::default()
    };
    let fragments = documents::fragments("vertex_fragments");
    let mut nodes = Nodes::default();
    nodes.cells(cells, "vertices", present.clone(), vertices);
    nodes.cells(cells, "vertex_fragments", present, fragments);
    Ok(nodes)
}

/// Manifests and ids: all rows of the finer level; dropped objects have no vertices.
fn write_objects(
    given: &ObjectFragments,
    kept: &[usize],
    metas: &Metas,
    parents: &CoarseParents,
    cells: &LevelCells,
    target: &Below<'_>,
    docs: &mut Docs,
) -> Result<(ObjectFragments, u64), WriteError> {
    let mut coarse = ObjectFragments::new(given.ids.clone());
    coarse.deleted.clone_from(&given.deleted);
    let mut array = ManifestArray::new(&cells.compression, cells.shards.is_some(), target);
    let (mut present, mut path) = (0_u64, Vec::new());
    let mut kept = kept.iter().copied().peekable();
    let rank = metas
        .chunks
        .first()
        .map_or(cells.grid.shape.len(), |chunk| chunk.len());
    for row in 0..given.len() {
        path.clear();
        if kept.next_if_eq(&row).is_some() {
            parents.of_object(given.entries(row)?.1, &mut path)?;
        }
        let failed = |source| WriteError::encode(format!("manifest of row {row}"), source);
        let mut manifest = ManifestBuilder::new(rank).map_err(failed)?;
        for &vertex in &path {
            let (slot, fragment) = metas.place(vertex)?;
            let chunk = metas.chunks.get(index(slot)).map(ChunkCoord::as_slice);
            manifest
                .push(chunk.or_bug("a vertex in no chunk")?, i64::from(fragment))
                .map_err(failed)?;
            coarse.push_entry(slot, fragment);
        }
        coarse.end_object();
        array.push(&manifest.finish())?;
        present += u64::from(!path.is_empty());
    }
    docs.extend(array.finish(&coarse.ids)?);
    Ok((coarse, present))
}

/// An attribute of objects: kept rows have their values, the others are absent; booleans cannot be absent, and all rows keep theirs. `order` has
/// the row of the finer level for each row, `kept` the rows that keep their value, ascending.
pub(crate) fn write_column(
    column: &mut ObjectColumn,
    kept: &[usize],
    order: &[usize],
    cells: &LevelCells,
    target: &Below<'_>,
) -> Result<(String, ArrayDoc), WriteError> {
    let ObjectColumn {
        array,
        values,
        lost,
    } = column;
    // Rows of deleted objects may be missing.
    let last = order.iter().copied().max();
    lost.resize(last.map_or(0, |last| last + 1), false);
    let Some(element) = ElementType::of(values.dtype) else {
        let path = TableOf::Objects.path(array.name());
        let found = values.dtype.to_string();
        return Err(WriteError::input(path, found, "numbers or texts"));
    };
    let inner = array.shape().into_iter().skip(1).collect();
    let unit = array.attributes().unit.as_deref();
    // Booleans have no missing value, so every object keeps its own.
    let stays = element == ElementType::Number(NumberType::Bool);
    let mut table = EncodedRows::new(element, inner, values.row_size()).of_unit(unit);
    let mut kept = kept.iter().copied().peekable();
    for (row, lost) in lost.iter_mut().enumerate() {
        let dropped = kept.next_if_eq(&row).is_none() && !stays;
        *lost |= dropped || values.is_absent(row);
    }
    for &row in order {
        let lost = *lost.get(row).or_bug(format_args!("no row {row}"))?;
        // Rows after the stored ones have no value.
        table.push(values.row(row).filter(|_| !lost))?;
    }
    let element = table.element();
    // For booleans, one of the two values means absence only if a row has no value.
    let candidates = match stays && table.missing() == 0 {
        true => Vec::new(),
        false => element.fills(),
    };
    // NaN means absence in any case.
    let is_float = matches!(element, ElementType::Number(number) if number.is_float());
    let (fill, absent) = match table.absence(&candidates, false) {
        Absence::Distinct(fill) => (fill, true),
        Absence::Ambiguous { fill, .. } if is_float => (fill, true),
        Absence::Unused(zero) => (zero, false),
        Absence::Ambiguous { .. } | Absence::Impossible => {
            let name = array.name();
            let found = format!(
                "{} objects without a value, and all values of {} in the others",
                table.missing(),
                values.dtype
            );
            let expected = format!(
                "a value that no object has, to mark missing values (the density method keeps the values of all objects; `zvf edit STORE set-attribute {name} --object --fill VALUE` gives every object a value)"
            );
            let path = TableOf::Objects.path(name);
            return Err(WriteError::input(path, found, expected));
        }
    };
    let typed = table.finish(fill, absent, Some(ROWS));
    let given = array.attributes();
    let given = ArrayAttributes {
        unit: given.unit.clone(),
        description: given.description.clone(),
        channel_names: given.channel_names.clone(),
        encoding: given.encoding.clone(),
        categories: given.categories.clone(),
        ordered: given.ordered,
        fill_code: given.fill_code,
        ..ArrayAttributes::default()
    };
    let (of, compression) = (TableOf::Objects, &cells.compression);
    typed.write(of, array.name(), given, compression, target)
}
