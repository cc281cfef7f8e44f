//! Links under an edit: the links that touch a changed chunk are read, and placed again together with the new links.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use zvf_meta::{ArrayDoc, LinkAttributeFamilyDoc, LinkFamilyDoc};
use zvf_store::{CellWant, ChunkCoord, Chunks, Endpoint, GridArray, LinkArray, Touch};

use super::counts::recount;
use super::grid::GridEdit;
use super::state::EditState;
use super::vertex::{LinkAt, NewLink, Vertex, stored};
use zvf_encode::error::{OrBug, narrow};
use zvf_encode::level::LevelCells;
use zvf_encode::links::{ChunkFragments, FamilySpec, FragmentRows, LinkPlacer};
use zvf_encode::records::row_of;
use zvf_encode::{WriteError, documents};
use zvf_format::int::{index, wide};

/// Chunks of the level.
struct Set<'s>(&'s BTreeSet<ChunkCoord>);

impl Chunks for Set<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn visit(&self, each: &mut dyn FnMut(&[i64])) {
        self.0.iter().for_each(|chunk| each(chunk));
    }

    fn has(&self, chunk: &[i64]) -> bool {
        self.0.contains(chunk)
    }
}

/// One stored cell of links.
#[derive(Debug)]
pub(super) struct StoredLinkCell {
    pub(super) array: usize,
    pub(super) chunk: ChunkCoord,
    /// Whether its records are copies of records in another cell.
    pub(super) copies: bool,
    pub(super) records: Vec<NewLink>,
}

/// Reads all cells with links that touch the chunks. Links have the values that the edit set, except for copies, which have their stored values.
pub(super) async fn near(
    state: &mut EditState,
    slots: &BTreeSet<u32>,
) -> Result<Vec<StoredLinkCell>, WriteError> {
    let level = state.level.clone();
    let Some(family) = level.links(0) else {
        return Ok(Vec::new());
    };
    let chunks: BTreeSet<ChunkCoord> = slots
        .iter()
        .map(|&slot| Ok(ChunkCoord::new(state.coord(slot)?)))
        .collect::<Result<_, WriteError>>()?;
    let attributes: Vec<&[Option<Arc<GridArray>>]> = family
        .attributes()
        .iter()
        .map(|one| one.arrays.as_slice())
        .collect();
    let sizes: Vec<usize> = state
        .spec
        .links
        .attributes
        .iter()
        .map(zvf_encode::batches::row_size)
        .collect();
    let mut cells: Vec<(usize, ChunkCoord, Vec<i64>)> = Vec::new();
    for (number, array) in family.arrays().iter().enumerate() {
        array.cells_near(&Set(&chunks), Touch::Any, |chunk, ends| {
            cells.push((number, chunk, ends.to_vec()));
        })?;
    }
    let mut wants = Vec::new();
    for (number, chunk, _) in &cells {
        let array = family.arrays().get(*number);
        let array = array.or_bug(format_args!("no array {number} of links"))?;
        wants.push(CellWant::new(&array.array, chunk.as_slice()));
        for of_one in &attributes {
            let Some(Some(values)) = of_one.get(*number) else {
                let found = "no array of values for these links".to_owned();
                return Err(WriteError::unsupported(
                    array.array.path(),
                    found,
                    "a value for every link: `zvf query STORE -o DIR` and `zvf import DIR/vertices.arrow NEW --edges DIR/links.arrow` make a store with them",
                ));
            };
            wants.push(CellWant::new(values, chunk.as_slice()));
        }
    }
    let found = level.store().fetch(level.next_round(), wants).await?;
    let mut found = found.into_iter();
    let mut all = Vec::new();
    for (number, chunk, ends) in cells {
        let array = family.arrays().get(number);
        let array = array.or_bug(format_args!("no array {number} of links"))?;
        let payload = next_cell(&mut found)?;
        let mut columns = Vec::new();
        for _ in &attributes {
            columns.push(next_cell(&mut found)?);
        }
        let mut records = decode(state, array, &chunk, &ends, &payload, (&columns, &sizes))?;
        if !state.link_values.is_empty() {
            revalue(state, number, &chunk, &mut records)?;
        }
        all.push(StoredLinkCell {
            array: number,
            copies: array.is_copy(&ends),
            chunk,
            records,
        });
    }
    Ok(all)
}

/// The next cell of a result. A cell that is not stored is empty.
pub(super) fn next_cell(
    found: &mut impl Iterator<Item = Option<Bytes>>,
) -> Result<Bytes, WriteError> {
    let cell = found.next().or_bug("the result of a cell is missing")?;
    Ok(cell.unwrap_or_default())
}

/// Replaces the values of records in a cell by those that were set.
fn revalue(
    state: &EditState,
    array: usize,
    chunk: &ChunkCoord,
    records: &mut [NewLink],
) -> Result<(), WriteError> {
    let first = |record| LinkAt {
        array,
        chunk: chunk.clone(),
        record,
    };
    for (at, values) in state.link_values.range(first(0)..=first(u32::MAX)) {
        let link = records.get_mut(index(at.record));
        let link = link.or_bug(format_args!("no link {} of a cell", at.record))?;
        link.attributes.clone_from(values);
    }
    Ok(())
}

fn decode(
    state: &mut EditState,
    array: &LinkArray,
    chunk: &ChunkCoord,
    ends: &[i64],
    payload: &[u8],
    (columns, sizes): (&[Bytes], &[usize]),
) -> Result<Vec<NewLink>, WriteError> {
    let mut slots = Vec::new();
    for end in ends.chunks_exact(array.chunk_rank().max(1)) {
        slots.push(state.slot(end)?);
    }
    let cell = array.decode(chunk, payload)?;
    for (column, size) in columns.iter().zip(sizes) {
        if Some(column.len()) != cell.len().checked_mul(*size) {
            let found = format!(
                "{} bytes for {} links at {:?}",
                column.len(),
                cell.len(),
                chunk.as_slice()
            );
            return Err(WriteError::unsupported(
                array.array.path(),
                found,
                "a value for every link",
            ));
        }
    }
    let mut record = vec![Endpoint::default(); array.width()];
    let mut records = Vec::new();
    for at in 0..cell.len() {
        if !cell.record(at, &mut record) {
            let place = format!("{} at {:?}", array.array.path(), chunk.as_slice());
            let what = format!("record {at} cannot be read");
            return Err(WriteError::source(place, what));
        }
        let mut vertices = Vec::with_capacity(record.len());
        for end in &record {
            let row = u32::try_from(end.row);
            let row = row.map_err(|_| {
                WriteError::limit("rows of one chunk", u64::MAX, u64::from(u32::MAX))
            })?;
            let slot = slots
                .get(end.which)
                .or_bug("a link with more ends than chunks")?;
            vertices.push(stored(*slot, row));
        }
        let mut attributes = Vec::new();
        for (column, &size) in columns.iter().zip(sizes) {
            let value = row_of(column, at, size);
            attributes.extend_from_slice(value.or_bug("a link without a value")?);
        }
        records.push(NewLink {
            ends: vertices,
            attributes,
        });
    }
    Ok(records)
}

/// The ends of the stored links that touch chunks, and of all new links; each link once.
pub(super) async fn records_near(
    state: &mut EditState,
    slots: &BTreeSet<u32>,
) -> Result<Vec<Vec<Vertex>>, WriteError> {
    let stored = near(state, slots).await?;
    let stored = stored
        .into_iter()
        .filter(|cell| !cell.copies)
        .flat_map(|cell| cell.records);
    let all: Vec<NewLink> = stored.chain(state.links.iter().cloned()).collect();
    Ok(all.into_iter().map(|link| link.ends).collect())
}

/// The changes that the edit makes to links.
#[derive(Debug, Default)]
pub(super) struct LinkEdits {
    pub(super) arrays: Vec<GridEdit>,
    /// Documents of new or changed groups, by path.
    pub(super) groups: Vec<(String, String)>,
    /// Links after the edit minus those before it, if positive; else 0.
    pub(super) added: u64,
    /// Links before the edit minus those after it, if positive; else 0.
    pub(super) removed: u64,
    /// The level claims that groups of links follow fragments, but after the edit they do not.
    pub(super) ungrouped: bool,
}

/// Places the links that touch chunks: links of moved rows, and links with new values.
///
/// `family_docs` are the stored documents of `link_attributes/<name>/0`.
pub(super) async fn place(
    state: &mut EditState,
    touched: &BTreeSet<u32>,
    template: &LevelCells,
    family_docs: &BTreeMap<String, LinkAttributeFamilyDoc>,
) -> Result<LinkEdits, WriteError> {
    let level = state.level.clone();
    let cells = near(state, touched).await?;
    let new = std::mem::take(&mut state.links);
    let claimed = level.doc().fragment_link_groups;
    if cells.is_empty() && new.is_empty() && (touched.is_empty() || !claimed) {
        return Ok(LinkEdits::default());
    }
    let places = state.places()?;
    let spec = state.spec.clone();
    let coords: Vec<ChunkCoord> = state
        .chunks
        .iter()
        .map(|(coord, _)| coord.clone())
        .collect();
    let chunks: Vec<&[i64]> = coords.iter().map(ChunkCoord::as_slice).collect();
    let mut placer = LinkPlacer::new(FamilySpec::of(&spec), usize::MAX, &std::env::temp_dir());
    let (mut before, mut rows_before, mut kept) = (0_u64, 0_u64, 0_u64);
    let old = cells
        .iter()
        .filter(|cell| !cell.copies)
        .flat_map(|cell| &cell.records);
    for (is_old, link) in old
        .map(|link| (true, link))
        .chain(new.iter().map(|link| (false, link)))
    {
        before += u64::from(is_old);
        let ends: Option<Vec<(u32, u32)>> = link
            .ends
            .iter()
            .map(|end| state.place(&places, *end))
            .collect();
        // A link is removed if one of its ends is.
        if let Some(ends) = ends {
            placer.push_rows(&chunks, &ends, &link.attributes)?;
            kept += 1;
        }
    }
    for cell in &cells {
        rows_before += wide(cell.records.len());
    }
    let fragments = if claimed {
        Some(fragments_of(state, touched).await?)
    } else {
        None
    };
    let (mut new_cells, made) = placer.encode(fragments.as_ref())?;
    let sizes = new_cells
        .iter()
        .map(|cell| (&*cell.key, wide(cell.rows.len())));
    made.family.choose_shards(template, sizes)?;
    let nodes = made.nodes(template)?;
    let mut edits: BTreeMap<String, GridEdit> = BTreeMap::new();
    let stored = level.links(0);
    // Existing cells become empty unless links are placed there again.
    let link_fragments = level.store().grid_array(0, "link_fragments").await?;
    for cell in &cells {
        let of_family = stored.or_bug("cells of no family")?;
        let array = of_family.arrays().get(cell.array);
        let array = array.or_bug("cells of no array")?;
        let fragments = link_fragments.as_ref().filter(|_| array.is_intra());
        let columns = of_family.attributes().iter();
        let values = columns.filter_map(|one| one.arrays.get(cell.array)?.as_ref());
        for array in values.chain(fragments).chain([&array.array]) {
            entry(&mut edits, array)?.set(&cell.chunk, Vec::new());
        }
    }
    if claimed && let Some(fragments) = &link_fragments {
        // Chunks without links have groups, too.
        for &slot in touched {
            let chunk = ChunkCoord::new(state.coord(slot)?);
            if fragments.presence().contains(&chunk) {
                entry(&mut edits, fragments)?.set(&chunk, Vec::new());
            }
        }
    }
    let mut known: BTreeMap<&str, &Arc<GridArray>> = BTreeMap::new();
    let families = stored.into_iter();
    let links = families.clone().flat_map(|family| family.arrays());
    let columns = families.flat_map(|family| family.attributes());
    let columns = columns.flat_map(|one| one.arrays.iter().flatten());
    let arrays = links.map(|one| &one.array).chain(columns);
    let arrays = arrays.chain(&link_fragments);
    // An array without cells gets a new document, since its shards were chosen before there were links.
    let arrays = arrays.filter(|one| !template.has_link_shards() || !one.presence().is_empty());
    known.extend(arrays.map(|one| (one.path(), one)));
    let mut docs: BTreeMap<String, ArrayDoc> = nodes.arrays.into_iter().collect();
    for (name, (_, payloads)) in made.family.payloads(&mut new_cells)? {
        let path = format!("0/{name}");
        let edit = match known.get(&*path) {
            Some(array) => entry(&mut edits, array)?,
            None => {
                let doc = docs.remove(&name);
                let doc = doc.or_bug(format_args!("no document of {path}"))?;
                edits
                    .entry(path.clone())
                    .or_insert(GridEdit::new(path, doc)?)
            }
        };
        for (chunk, payload) in payloads {
            edit.set(chunk, payload);
        }
    }
    let mut groups: BTreeMap<String, String> = nodes
        .groups
        .into_iter()
        .map(|(path, doc)| (format!("0/{path}"), doc))
        .collect();
    let change = |name, count: Option<u64>, before, now| {
        let changed = |count| recount("0/links/0", name, count, before, now);
        count.map(changed).transpose()
    };
    match stored {
        Some(stored) => {
            let doc = LinkFamilyDoc {
                num_links: change("num_links", stored.doc().num_links, before, kept)?,
                num_physical_records: change(
                    "num_physical_records",
                    stored.doc().num_physical_records,
                    rows_before,
                    made.records,
                )?,
                ..stored.doc().clone()
            };
            groups.insert("0/links/0".to_owned(), doc.to_group().to_json_line());
        }
        None if groups.is_empty() => {}
        None => {
            groups.insert("0/links".to_owned(), documents::plain_group());
        }
    }
    for (name, doc) in family_docs {
        let doc = LinkAttributeFamilyDoc {
            num_links: change("num_links", doc.num_links, before, kept)?,
            ..doc.clone()
        };
        let path = format!("0/link_attributes/{name}/0");
        groups.insert(path, doc.to_group().to_json_line());
    }
    Ok(LinkEdits {
        arrays: edits.into_values().collect(),
        groups: groups.into_iter().collect(),
        added: kept.saturating_sub(before),
        removed: before.saturating_sub(kept),
        ungrouped: made.groups.is_some_and(|groups| !groups.everywhere),
    })
}

/// The fragments of the touched chunks that have rows after the edit.
async fn fragments_of(
    state: &mut EditState,
    touched: &BTreeSet<u32>,
) -> Result<ChunkFragments, WriteError> {
    state.measure(touched.iter().copied()).await?;
    let mut rows = FragmentRows::new(usize::MAX, &std::env::temp_dir());
    for &slot in touched {
        let sizes = state.sizes(slot);
        if sizes.iter().any(|size| *size > 0) {
            let sizes = sizes.into_iter();
            let sizes = sizes.map(|size| narrow("rows of one chunk", size));
            let sizes = sizes.collect::<Result<Vec<u32>, _>>()?;
            rows.note(state.coord(slot)?, sizes)?;
        }
    }
    Ok(rows.seal())
}

/// The edit of a stored array.
pub(super) fn entry<'e>(
    edits: &'e mut BTreeMap<String, GridEdit>,
    array: &Arc<GridArray>,
) -> Result<&'e mut GridEdit, WriteError> {
    use std::collections::btree_map::Entry;
    Ok(match edits.entry(array.path().to_owned()) {
        Entry::Occupied(there) => there.into_mut(),
        Entry::Vacant(place) => place.insert(GridEdit::of(array)?),
    })
}
