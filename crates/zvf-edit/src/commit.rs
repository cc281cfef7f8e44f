//! Turns the state in memory into the objects of an edit, and commits them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use zvf_meta::{ArrayAttributes, KeyList, LevelDoc, LinkAttributeFamilyDoc, RootDoc, STALE};
use zvf_meta::{FILL, space::Grid};
use zvf_store::owners::index_document;
use zvf_store::{GridArray, Need};

use super::counts::recount;
use super::documents::{document, index_doc};
use super::edit::{Edit, EditSummary};
use super::grid::{GridEdit, cells_of, document_of, packing};
use super::group_table::GroupTable;
use super::state::index_cell;
use super::{Scope, between, fill, links, owner_column};
use zvf_encode::documents::grid_doc;
use zvf_encode::error::OrBug;
use zvf_encode::error::signed64;
use zvf_encode::level::{LevelCells, stored_link_shards};
use zvf_encode::parallel::blocking;
use zvf_encode::target::{ObjectPut, node};
use zvf_encode::transaction::Transaction;
use zvf_encode::{WriteError, batches, documents};
use zvf_format::int::wide;

impl Edit {
    /// Abandons the edit: the store is unchanged.
    ///
    /// # Errors
    /// The worker was shut down.
    pub fn abandon(self) -> BoxFuture<'static, Result<(), WriteError>> {
        Box::pin(async move {
            let journal = self.journal;
            blocking(move || {
                journal.abandon();
                Ok(())
            })
            .await
        })
    }

    /// Commits the edit.
    ///
    /// # Errors
    /// Misuse: an earlier operation failed, or a link attribute was added and the store has no links. [`WriteError::Changed`]. I/O; malformed data.
    /// The store is unchanged, unless [`WriteError::is_committed`].
    pub fn commit(self) -> BoxFuture<'static, Result<EditSummary, WriteError>> {
        Box::pin(commit(self))
    }
}

/// Records in the root that level 0 changed since the coarse levels were built: its changed chunks, or with `objects` an empty list if no chunk
/// changed.
pub(crate) fn mark_stale<'c>(
    root: &mut RootDoc,
    chunks: impl Iterator<Item = &'c [i64]>,
    objects: bool,
) {
    let mut keys: BTreeSet<String> = BTreeSet::new();
    if let Some(Value::Array(old)) = root.extra.get(STALE).and_then(|stale| stale.get("chunks")) {
        keys.extend(old.iter().filter_map(Value::as_str).map(str::to_owned));
    }
    keys.extend(chunks.map(|chunk| zvf_format::keys::format_key(chunk).to_string()));
    if objects || !keys.is_empty() {
        let list: Vec<String> = keys.into_iter().collect();
        root.extra.insert(
            STALE.to_owned(),
            serde_json::json!({"level": 0, "chunks": list}),
        );
    }
}

/// All objects that an edit writes.
#[derive(Debug)]
pub(super) struct CommitPlan {
    pub(super) arrays: Vec<GridEdit>,
    pub(super) objects: Vec<ObjectPut>,
    /// Keys to be removed, unless they are put.
    pub(super) old: BTreeSet<String>,
    pub(super) root: RootDoc,
    pub(super) summary: EditSummary,
}

pub(super) async fn commit(mut edit: Edit) -> Result<EditSummary, WriteError> {
    let planned = match edit.usable() {
        Ok(()) => plan(&mut edit).await,
        Err(error) => Err(error),
    };
    let journal = edit.journal;
    let plan = match planned {
        Ok(Some(plan)) => plan,
        Ok(None) => {
            blocking(move || {
                journal.abandon();
                Ok(())
            })
            .await?;
            return Ok(EditSummary::default());
        }
        Err(error) => return blocking(move || Err(journal.fail(error))).await,
    };
    make(journal, plan).await
}

/// Writes a plan.
pub(super) async fn make(
    journal: Transaction,
    plan: CommitPlan,
) -> Result<EditSummary, WriteError> {
    blocking(move || {
        let CommitPlan {
            arrays,
            objects,
            mut old,
            root,
            mut summary,
        } = plan;
        for array in &arrays {
            old.extend(array.old().iter().cloned());
        }
        let target = journal.target();
        let changed = arrays.into_iter().flat_map(|array| {
            // An array that cannot be packed ends the commit with its error.
            let (objects, error) = match array.objects(Arc::clone(&target)) {
                Ok(objects) => (Some(objects), None),
                Err(error) => (None, Some(Err(error))),
            };
            objects.into_iter().flatten().chain(error)
        });
        let written = journal.commit(changed.chain(std::iter::once(Ok(objects))), old, &root)?;
        summary.put = written.put;
        summary.removed = written.removed;
        Ok(summary)
    })
    .await
}

/// Determines the objects to be written; `None` if there are none.
async fn plan(edit: &mut Edit) -> Result<Option<CommitPlan>, WriteError> {
    let (moved, changed) = edit.state.touched();
    let tables = edit
        .tables
        .values()
        .any(super::tables::AttributeTable::is_changed);
    let indexed = edit
        .index
        .as_ref()
        .is_some_and(|index| !index.changed.is_empty());
    let relinked = std::mem::take(&mut edit.state.relinked);
    let grouped = edit.groups.as_ref().filter(|groups| groups.is_changed());
    let grouped = grouped.map(GroupTable::touched);
    let same = moved.is_empty() && changed.is_empty() && relinked.is_empty();
    if same
        && !tables
        && !indexed
        && grouped.is_none()
        && edit.added.is_empty()
        && edit.recorded.is_empty()
        && !edit.new_owners
    {
        return Ok(None);
    }
    let mut root = edit.root.clone();
    let grid = grow(edit, &mut root)?;
    let template = template(edit, grid.as_ref())?;
    let docs = attribute_families(edit).await?;
    let touched: BTreeSet<u32> = moved.union(&relinked).copied().collect();
    let linked = links::place(&mut edit.state, &touched, &template, &docs).await?;
    for added in edit.added.iter().filter(|added| added.scope == Scope::Link) {
        let name = &added.spec.name;
        let path = format!("0/link_attributes/{name}/");
        if !linked
            .arrays
            .iter()
            .any(|one| one.path().starts_with(&path))
        {
            let found = "no links in the store after this edit";
            let expected = "links: an attribute without links is not stored";
            return Err(WriteError::input(
                format!("link attribute {name}"),
                found,
                expected,
            ));
        }
    }
    let mut arrays: BTreeMap<String, GridEdit> = linked
        .arrays
        .into_iter()
        .map(|array| (array.path().to_owned(), array))
        .collect();
    let mut objects: Vec<ObjectPut> = linked
        .groups
        .into_iter()
        .map(|(path, doc)| node(path, doc))
        .collect();
    let mut old = BTreeSet::new();
    if !moved.is_empty() {
        let levels = between::levels(&edit.state).await?;
        let places = edit.state.places()?;
        let followed = between::follow(&mut edit.state, &levels, &places).await?;
        arrays.extend(followed.arrays);
        let groups = followed.groups.into_iter();
        objects.extend(groups.map(|(path, doc)| node(path, doc)));
    }
    let vertices = vertex_cells(edit, &template, &mut arrays)?;
    let owned = edit.new_owners || indexed && owner_column::is_there(&edit.state);
    let index_text = match &edit.index {
        Some(index) if owned => Some(index_document(&index.doc()?)),
        Some(index) if indexed => Some(index.doc()?.to_json()),
        _ => None,
    };
    if let Some(text) = index_text.as_ref().filter(|_| owned) {
        owner_column::place(edit, &template, text, &mut arrays).await?;
    }
    let known: Vec<Arc<GridArray>> = cells_of(&edit.state.level).await?;
    if let Some(grid) = &grid {
        for array in &known {
            if !arrays.contains_key(array.path()) {
                let of_one = GridEdit::of(array)?;
                if of_one.is_needed(grid)? {
                    arrays.insert(array.path().to_owned(), of_one);
                }
            }
        }
    }
    let mut families: BTreeSet<String> = arrays
        .keys()
        // Writers of links to other levels do not list them.
        .filter(|path| !path.starts_with("0/links/+"))
        .filter_map(|path| path.strip_prefix("0/")?.split('/').next())
        .map(str::to_owned)
        .collect();
    for array in arrays.values_mut() {
        // Other levels have grids of their own.
        let own = array.path().starts_with("0/");
        array.prepare(grid.as_ref().filter(|_| own))?;
    }
    let mut owners = 0_u64;
    if let Some(index) = &edit.index {
        owners = wide(index.changed.len());
        if !index.changed.is_empty() {
            let (manifests, ids) = (
                index_doc(&edit.target, "manifests").await?,
                index_doc(&edit.target, "object_ids").await?,
            );
            objects.extend(index.manifest_objects(&edit.state, &manifests).await?);
            objects.extend(index.id_objects(&ids)?);
            families.insert("object_index".to_owned());
        }
        objects.extend(index_text.map(|text| node("0/object_index", text)));
        if index.ids.len() > index.before {
            edit.load_tables().await?;
        }
    }
    objects.extend(group_docs(edit, &arrays).await?);
    finish_tables(edit, &template, &mut objects, &mut old, &mut families)?;
    finish_groups(edit, &template, &mut objects, &mut old, &mut families)?;
    declare(edit, &mut root)?;
    if edit.state.level.store().levels().len() > 1 {
        let slots = touched.iter().chain(&changed);
        let chunks = slots.map(|&slot| edit.state.coord(slot));
        let chunks = chunks.collect::<Result<Vec<_>, _>>()?;
        mark_stale(
            &mut root,
            chunks.into_iter(),
            tables || indexed || grouped.is_some(),
        );
    }
    root.record(edit.history.clone());
    let mut doc = level_doc(edit, vertices, &families)?;
    if linked.ungrouped {
        doc.fragment_link_groups = false;
        let claimed = others_claim(edit).await?;
        documents::claim_link_groups(&mut root, claimed);
    }
    objects.push(node(0, doc.to_json()));
    edit.state
        .level
        .store()
        .verify(edit.state.level.next_round())
        .await?;
    let links = |count: u64| signed64("links", count);
    Ok(Some(CommitPlan {
        arrays: arrays.into_values().collect(),
        objects,
        old,
        root,
        summary: EditSummary {
            vertices: signed64("vertices", vertices.1)? - signed64("vertices", vertices.0)?,
            objects: owners,
            groups: grouped.unwrap_or(0),
            chunks: wide(touched.union(&changed).count()),
            links: links(linked.added)? - links(linked.removed)?,
            ..EditSummary::default()
        },
    }))
}

/// Extends the bounds in `root` by the edit. Returns the new grid if the bounds grew or the edit added values that split chunks; else `None`.
fn grow(edit: &Edit, root: &mut RootDoc) -> Result<Option<Grid>, WriteError> {
    let bounds = &mut root.zarr_vectors.bounds;
    let before = bounds.clone();
    if let Some((low, high)) = &edit.state.extent {
        batches::grow((&mut bounds.0, &mut bounds.1), (low, high));
    }
    if *bounds == before && !edit.state.is_wider() {
        return Ok(None);
    }
    edit.state.grid(bounds).map(Some)
}

/// How new arrays of the level are packed: like the vertices. Arrays of links get larger shards, as in an import, if the stored links have them or if
/// the level has no stored links yet.
fn template(edit: &Edit, grid: Option<&Grid>) -> Result<LevelCells, WriteError> {
    let level = &edit.state.level;
    let array = level.vertices();
    let cells = packing(array.path(), document_of(array)?)?;
    let mut arrays = level.links(0).into_iter().flat_map(|one| one.arrays());
    let first = arrays.all(|one| one.array.presence().is_empty());
    let mut cells = cells.with_link_shards(first || stored_link_shards(level)?);
    cells.grid = match grid {
        Some(grid) => grid.clone(),
        None => edit.state.grid(&edit.root.zarr_vectors.bounds)?,
    };
    Ok(cells)
}

/// The documents of the families of link attributes.
async fn attribute_families(
    edit: &Edit,
) -> Result<BTreeMap<String, LinkAttributeFamilyDoc>, WriteError> {
    let mut docs = BTreeMap::new();
    for one in &edit.state.spec.links.attributes {
        let key = format!("0/link_attributes/{}/0/zarr.json", one.name);
        if let Some(bytes) = document(&edit.target, key).await? {
            docs.insert(one.name.clone(), LinkAttributeFamilyDoc::parse(&bytes)?);
        }
    }
    Ok(docs)
}

/// The cells of vertices, fragments and attributes. Returns the numbers of vertices in changed chunks, before and after the edit.
fn vertex_cells(
    edit: &Edit,
    template: &LevelCells,
    arrays: &mut BTreeMap<String, GridEdit>,
) -> Result<(u64, u64), WriteError> {
    let state = &edit.state;
    let level = &state.level;
    let mut columns = vec![GridEdit::of(level.vertices())?];
    let mut dirty = vec![false];
    for (at, one) in state.spec.vertex_attributes.iter().enumerate() {
        let known = level.vertex_attributes().get(at);
        columns.push(match known {
            Some(known) => GridEdit::of(&known.array)?,
            None => {
                let path = format!("0/vertex_attributes/{}", one.name);
                let mut added = edit
                    .added
                    .iter()
                    .filter(|added| added.scope == Scope::Vertex);
                // Indices after the attributes of the level are new attributes.
                let shown = added.nth(at - level.vertex_attributes().len());
                let attributes = ArrayAttributes {
                    zv_array: Some("attribute".to_owned()),
                    dtype: Some(one.values.name()),
                    ..documents::channels(shown.map_or(one, |added| &added.spec))
                };
                let document = grid_doc(template, &path, KeyList::new(), attributes);
                GridEdit::new(path, document)?
            }
        });
        let words = edit.words.get(at);
        let mut is_dirty = known.is_none();
        if let (Some(words), Some(column)) =
            (words.filter(|words| words.changed), columns.last_mut())
        {
            is_dirty = true;
            let attributes = column.attributes();
            let texts = words.texts.iter().flatten();
            attributes.categories = Some(texts.map(|text| text.as_str().into()).collect());
            attributes.encoding = Some("dictionary".to_owned());
            attributes.ordered = attributes.ordered.or(Some(false));
            attributes.fill_code = words.missing;
        }
        dirty.push(is_dirty);
    }
    let mut fragments = match level.vertex_fragments() {
        Some(array) => GridEdit::of(array)?,
        None => {
            return Err(WriteError::unsupported(
                "0/vertex_fragments",
                "nothing",
                "fragment indexes",
            ));
        }
    };
    let (mut before, mut after, mut cut) = (0, 0, false);
    for (coord, chunk) in &state.chunks {
        let Some(chunk) = chunk else { continue };
        if chunk.moved {
            cut = true;
            dirty.iter_mut().for_each(|dirty| *dirty = true);
            before += wide(chunk.before);
            after += wide(chunk.count());
            let index = if chunk.is_empty() {
                Vec::new()
            } else {
                index_cell(chunk)?
            };
            fragments.set(coord, index);
        }
        for (at, (column, dirty)) in columns.iter_mut().zip(&mut dirty).enumerate() {
            if chunk.moved || chunk.changed.contains(&at) {
                column.set(coord, state.column(chunk, at)?);
                *dirty = true;
            }
        }
    }
    for (slot, at, bytes) in state.attribute_columns.iter() {
        let column = columns.get_mut(at).zip(dirty.get_mut(at));
        let (column, dirty) = column.or_bug(format_args!("no column {at}"))?;
        column.set(state.coord(slot)?, bytes.to_vec());
        *dirty = true;
    }
    for (column, dirty) in columns.into_iter().zip(dirty) {
        if dirty {
            arrays.insert(column.path().to_owned(), column);
        }
    }
    if cut {
        arrays.insert(fragments.path().to_owned(), fragments);
    }
    Ok((before, after))
}

/// Documents of plain groups above new arrays.
async fn group_docs(
    edit: &Edit,
    arrays: &BTreeMap<String, GridEdit>,
) -> Result<Vec<ObjectPut>, WriteError> {
    let level = &edit.state.level;
    let mut groups = Vec::new();
    let mut add = |path: &str| groups.push(node(path, documents::plain_group()));
    if level.vertex_attributes().is_empty()
        && arrays
            .keys()
            .any(|path| path.starts_with("0/vertex_attributes/"))
    {
        add("0/vertex_attributes");
    }
    if level.fragment_attributes().is_empty()
        && arrays
            .keys()
            .any(|path| path.starts_with("0/fragment_attributes/"))
    {
        add("0/fragment_attributes");
    }
    if level.object_attributes().is_empty() && !edit.tables.is_empty() {
        add("0/object_attributes");
    }
    let of_objects = edit.groups.as_ref();
    if level.group_attributes().is_empty() && of_objects.is_some_and(GroupTable::has_attributes) {
        add("0/group_attributes");
    }
    let new = edit.added.iter().filter(|added| added.scope == Scope::Link);
    let mut above: BTreeSet<String> = new
        .map(|added| format!("0/link_attributes/{}", added.spec.name))
        .collect();
    if !above.is_empty() {
        above.insert("0/link_attributes".to_owned());
    }
    for path in above {
        if document(&edit.target, format!("{path}/zarr.json"))
            .await?
            .is_none()
        {
            add(&path);
        }
    }
    Ok(groups)
}

fn finish_tables(
    edit: &mut Edit,
    template: &LevelCells,
    objects: &mut Vec<ObjectPut>,
    old: &mut BTreeSet<String>,
    families: &mut BTreeSet<String>,
) -> Result<(), WriteError> {
    let Some(index) = &edit.index else {
        return Ok(());
    };
    for table in edit.tables.values_mut() {
        table.grow(index.ids.len());
    }
    let new = index.before..index.ids.len();
    edit.fill_objects(new)?;
    let index = edit.index.as_ref().or_bug("tables of no objects")?;
    for (_, mut table) in std::mem::take(&mut edit.tables) {
        if table.is_changed() {
            table.occupy(index.deleted.iter().filter_map(|id| index.row(*id)))?;
            let (new, keys) = table.finish(&index.ids, &template.compression)?;
            objects.extend(new);
            old.extend(keys);
            families.insert("object_attributes".to_owned());
        }
    }
    Ok(())
}

/// The objects of the groups, if any group changed.
fn finish_groups(
    edit: &mut Edit,
    template: &LevelCells,
    objects: &mut Vec<ObjectPut>,
    old: &mut BTreeSet<String>,
    families: &mut BTreeSet<String>,
) -> Result<(), WriteError> {
    let Some(groups) = edit.groups.take().filter(GroupTable::is_changed) else {
        return Ok(());
    };
    families.insert("groups".to_owned());
    if groups.has_attributes() {
        families.insert("group_attributes".to_owned());
    }
    let (new, keys) = groups.finish(&template.compression)?;
    objects.extend(new);
    old.extend(keys);
    Ok(())
}

/// Adds new attributes to the declared ones, which readers that cannot list need, unless the store has attributes and declares none.
///
/// # Errors
/// As [`declare_fills`](Edit::declare_fills).
pub(super) fn declare(edit: &Edit, root: &mut RootDoc) -> Result<(), WriteError> {
    use serde_json::{Value, json};
    let level = &edit.state.level;
    let mut families = level.link_families().iter();
    let none = level.vertex_attributes().is_empty()
        && level.object_attributes().is_empty()
        && families.all(|family| family.attributes().is_empty());
    // If only the new ones were declared, readers would miss the others.
    let declares = none || root.zarr_vectors.attribute_specs.is_some();
    for added in edit.added.iter().filter(|_| declares) {
        let one = &added.spec;
        let specs = root.zarr_vectors.attribute_specs.get_or_insert_default();
        let scope = specs.entry(added.scope.name()).or_insert_with(|| json!({}));
        if let Value::Object(names) = scope {
            let mut member = documents::declared(one);
            // A replaced attribute keeps its fill, if it is a value of the new type.
            let fill = names.get(&one.name).and_then(|old| old.get(FILL)).cloned();
            let text = edit.fill(added.scope, &one.name);
            let is_value = text.is_some_and(|text| fill::value(one, text).is_ok());
            if let (Some(fill), Value::Object(member)) = (fill.filter(|_| is_value), &mut member) {
                member.insert(FILL.to_owned(), fill);
            }
            names.insert(one.name.clone(), member);
        }
    }
    edit.declare_fills(root)
}

/// Whether a coarse level claims that groups of links follow fragments.
async fn others_claim(edit: &Edit) -> Result<bool, WriteError> {
    let store = edit.state.level.store();
    for &number in store.levels().iter().filter(|number| **number > 0) {
        let level = store.level(number, &Need::nothing()).await?;
        if level.doc().fragment_link_groups {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The document of level 0 after the edit.
pub(super) fn level_doc(
    edit: &Edit,
    (gone, added): (u64, u64),
    families: &BTreeSet<String>,
) -> Result<LevelDoc, WriteError> {
    let doc = edit.state.level.doc();
    let mut present = doc.arrays_present.clone();
    for family in families {
        // Writers never list fragment indexes.
        let listed = !matches!(family.as_str(), "vertex_fragments" | "link_fragments");
        if listed && !present.contains(family) {
            present.push(family.clone());
        }
    }
    // 0 on a level with chunks means that its writer did not state the number.
    let uncounted = doc.vertex_count == 0 && !edit.state.level.vertices().presence().is_empty();
    let vertex_count = if uncounted {
        0
    } else {
        recount("0/zarr.json", "vertex_count", doc.vertex_count, gone, added)?
    };
    Ok(LevelDoc {
        vertex_count,
        arrays_present: present,
        chunk_attribute_values: edit.state.listed().map(<[_]>::to_vec),
        ..doc.clone()
    })
}
