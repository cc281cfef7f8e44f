//! Removes the remains of edits: rows of deleted objects, and unreferenced Zarr objects.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use zvf_meta::ArrayDoc;
use zvf_store::owners::{index_document, state_owners_of};
use zvf_store::writing::Redo;
use zvf_store::{GridArray, Level, Need, ObjectIndex, Store};

use super::commit::{CommitPlan, make};
use super::documents::{document, index_doc};
use super::edit::{Edit, EditSummary};
use super::grid::{cells_of, document_of, packing};
use super::index::{EditedIndex, manifest_layout, table_of_ids};
use zvf_codec::Compression;
use zvf_encode::error::to_index;
use zvf_encode::parallel::blocking;
use zvf_encode::target::{ObjectPut, Target, is_temporary, node};
use zvf_encode::{WriteError, WriteOptions};
use zvf_format::int::wide;

/// The result of [`vacuum`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VacuumSummary {
    /// Rows of deleted objects that were dropped.
    pub rows: u64,
    /// Unreferenced Zarr objects and temporary files that were removed.
    pub leftovers: u64,
    /// The edit that dropped the rows.
    pub edit: EditSummary,
}

/// Removes the rows of deleted objects, and objects that no reader uses: cells outside the presence list of their array, chunks outside a table,
/// folders of edits and temporary files of writers that have ended.
///
/// No other writer may run in the meantime: objects that it has put, but not listed yet, look unreferenced.
///
/// # Cost
/// One listing of the whole store; with deleted objects all manifests, ids, object attributes and groups.
///
/// # Errors
/// As [`Edit::open`]. Malformed data: a presence list that lacks a stored cell of vertices. Unsupported: coarse levels that also have rows of deleted
/// objects. Nothing is removed in these cases.
pub fn vacuum<'a>(
    address: &'a str,
    options: WriteOptions,
) -> BoxFuture<'a, Result<VacuumSummary, WriteError>> {
    Box::pin(async move {
        let mut edit = Edit::open(address, options).await?;
        let work = async {
            let own = Redo::folder_of(edit.journal.id());
            let leftovers = leftovers(edit.state.level.store(), &edit.target, &own).await?;
            let plan = drop_rows(&mut edit).await?;
            Ok((leftovers, plan))
        };
        let (leftovers, plan) = match work.await {
            Ok(done) => done,
            Err(error) => {
                edit.abandon().await?;
                return Err(error);
            }
        };
        let mut summary = VacuumSummary {
            leftovers: wide(leftovers.len()),
            ..VacuumSummary::default()
        };
        // No other edit begins while this program holds the marker. If the program was paused, another program may have taken the marker over and written to
        // these keys.
        edit.journal.fence();
        let target = Arc::clone(&edit.target);
        let remove = move |key: &String| target.may_write().and_then(|()| target.remove(key));
        let removed = blocking(move || leftovers.iter().try_for_each(remove)).await;
        if let Err(error) = removed {
            edit.abandon().await?;
            return Err(error);
        }
        match plan {
            Some((rows, plan)) => {
                summary.rows = rows;
                summary.edit = make(edit.journal, plan).await?;
            }
            None => edit.abandon().await?,
        }
        Ok(summary)
    })
}

/// Keys of the objects that [`vacuum`] would remove, not counting the rows of deleted objects. Nothing is changed.
///
/// Includes objects of a running writer.
///
/// # Cost
/// One listing of the whole store.
///
/// # Errors
/// I/O. Malformed data: a damaged level, or a presence list that lacks a stored cell of vertices.
pub fn find_leftovers(
    store: &Store,
    options: WriteOptions,
) -> BoxFuture<'_, Result<Vec<String>, WriteError>> {
    Box::pin(async move {
        let place = store.url().to_owned();
        let target = blocking(move || Target::new(&place, &options.open, options.durable)).await?;
        // Readers use the files of a committed edit until the next writer moves them to their final keys.
        let named = Redo::named(&store.root().extra)?;
        let own = named.map_or_else(String::new, |id| Redo::folder_of(&id));
        leftovers(store, &Arc::new(target), &own).await
    })
}

/// Keys of unreferenced objects; objects in the folder `own` of an edit do not count.
async fn leftovers(
    store: &Store,
    target: &Arc<Target>,
    own: &str,
) -> Result<Vec<String>, WriteError> {
    let listed = Arc::clone(target);
    let keys = blocking(move || listed.keys()).await?;
    // For each array: its folder of chunks, and its referenced objects.
    let mut arrays: Vec<(String, BTreeSet<String>)> = Vec::new();
    for &number in store.levels() {
        let level = store.level(number, &Need::all()).await?;
        level.check_complete()?;
        for array in cells_of(&level).await? {
            if let Some(known) = expected_cells(&array)? {
                arrays.push((format!("{}/c/", array.path()), known));
            }
        }
        let tables = level
            .object_attributes()
            .iter()
            .chain(level.group_attributes());
        let mut docs: Vec<(String, ArrayDoc)> = tables
            .filter_map(|table| Some((table.path().to_owned(), table.doc()?.clone())))
            .collect();
        for name in ["object_index/manifests", "object_index/object_ids"] {
            let path = format!("{number}/{name}");
            if let Some(bytes) = document(target, format!("{path}/zarr.json")).await?
                && let Ok(doc) = ArrayDoc::parse(&bytes)
            {
                docs.push((path, doc));
            }
        }
        arrays.extend(docs.into_iter().filter_map(|(path, doc)| {
            let known = expected_chunks(&path, &doc)?;
            Some((format!("{path}/c/"), known))
        }));
    }
    let is_left = |key: &String| {
        if is_temporary(key) {
            return true;
        }
        // Ids of edits are hexadecimal numbers.
        if let Some((folder, _)) = key.split_once('/')
            && let Some(id) = folder.strip_prefix(Redo::FOLDER)
            && id.bytes().all(|digit| digit.is_ascii_hexdigit())
        {
            return folder != own;
        }
        arrays
            .iter()
            .any(|(folder, known)| key.starts_with(folder.as_str()) && !known.contains(key))
    };
    let left: Vec<String> = keys.into_iter().filter(is_left).collect();
    check_lists(&arrays, &left)?;
    for &number in store.levels() {
        check_manifests(&store.level(number, &Need::all()).await?, &left).await?;
    }
    Ok(left)
}

/// Fails if an unlisted cell belongs to a chunk that the presence list of another array names: no edit leaves such a cell, so a list is wrong.
fn check_lists(arrays: &[(String, BTreeSet<String>)], left: &[String]) -> Result<(), WriteError> {
    for key in left {
        let Some((level, rows, cell)) = cell_of(key) else {
            continue;
        };
        let mut lists = arrays.iter().filter(|(folder, _)| {
            cell_of(folder).is_some_and(|(own, of, _)| (own, of) == (level, rows))
                && !key.starts_with(folder.as_str())
        });
        if lists.any(|(folder, known)| known.contains(&format!("{folder}{cell}"))) {
            return Err(lost_entry(key, "those of other arrays list its chunk"));
        }
    }
    Ok(())
}

/// Fails if manifests name the chunk of an unlisted cell: released readers find it by its coordinate (0.9, section 7.4).
async fn check_manifests(level: &Level, left: &[String]) -> Result<(), WriteError> {
    let own = level.number().to_string();
    let mut keys = left.iter().filter_map(|key| cell_of(key));
    let Some(index) = level
        .object_index()
        .filter(|_| keys.any(|(level, rows, _)| level == own && rows.is_empty()))
    else {
        return Ok(());
    };
    let left: BTreeSet<&str> = left.iter().map(String::as_str).collect();
    let arrays = level.arrays();
    let packed = arrays.iter().filter_map(|array| {
        // The chunk of this key does not matter: only arrays whose cells belong to vertices are checked.
        let key = format!("{}/c/", array.path());
        cell_of(&key).filter(|(_, rows, _)| rows.is_empty())?;
        let cells = packing(array.path(), array.doc()?).ok()?;
        Some((array.path(), cells))
    });
    let packed: Vec<_> = packed.collect();
    let mut checked = BTreeSet::new();
    for number in 0..index.manifest_chunks() {
        let part = index.manifest_chunk(number).await?;
        let first = part.first_slot();
        for row in first..(first + wide(part.len())).min(index.len()) {
            for (chunk, _) in index.entries(row, part.blob(row))? {
                if checked.contains(&chunk) {
                    continue;
                }
                let cells = packed.iter();
                for (path, cells) in cells.filter(|(_, cells)| cells.grid.index(&chunk).is_some()) {
                    let key = cells.key(path, &chunk)?;
                    if left.contains(key.as_str()) {
                        return Err(lost_entry(&key, "manifests name its chunk"));
                    }
                }
                checked.insert(chunk);
            }
        }
    }
    Ok(())
}

/// The level, the rows, and the chunk or shard of a cell of vertices, their fragments, links, or attributes of these, by its key `LEVEL/ARRAY/c/CHUNK`. The rows are empty for
/// vertices, and the delta and the name of the array for links; all arrays with the same rows have the same chunks.
fn cell_of(key: &str) -> Option<(&str, &str, &str)> {
    let (level, rest) = key.split_once('/')?;
    let (array, cell) = rest.split_once("/c/")?;
    let (family, name) = array.split_once('/').unwrap_or((array, ""));
    let rows = match family {
        "vertices" | "vertex_fragments" | "link_fragments" if name.is_empty() => "",
        "vertex_attributes" | "fragment_attributes" if !name.contains('/') => "",
        "links" => name,
        "link_attributes" => name.split_once('/')?.1,
        _ => return None,
    };
    Some((level, rows, cell))
}

#[cold]
fn lost_entry(key: &str, why: &str) -> WriteError {
    let what = format!(
        "nonempty_chunks of the array does not list this cell, but {why}: `zvf repair` restores the list; nothing was removed"
    );
    WriteError::source(key, what)
}

/// The listed objects of an array of cells; `None` if they cannot be determined.
fn expected_cells(array: &GridArray) -> Result<Option<BTreeSet<String>>, WriteError> {
    let Some(doc) = array.doc() else {
        return Ok(None);
    };
    if array.attributes().nonempty_chunks.is_none() || array.check_presence().is_err() {
        return Ok(None);
    }
    let Ok(cells) = packing(array.path(), doc) else {
        return Ok(None);
    };
    let mut known = BTreeSet::new();
    for chunk in array.presence().iter() {
        known.insert(cells.key(array.path(), chunk)?);
    }
    Ok(Some(known))
}

/// The keys of the chunks of a table; `None` for more than 2^24 chunks, shards, several chunks per row, or another key encoding.
fn expected_chunks(path: &str, doc: &ArrayDoc) -> Option<BTreeSet<String>> {
    let plain =
        doc.sharding().ok()?.is_none() && doc.key_encoding == zvf_meta::KeyEncoding::default();
    let counts: Option<Vec<u64>> = doc
        .shape
        .iter()
        .zip(&doc.chunk_shape)
        .map(|(extent, chunk)| (*chunk > 0).then(|| extent.div_ceil(*chunk)))
        .collect();
    let counts = counts.filter(|_| plain)?;
    let [rows, columns @ ..] = counts.as_slice() else {
        return None;
    };
    if *rows > 1 << 24 || columns.iter().any(|&n| n > 1) || columns.len() > 1 {
        return None;
    }
    let zeros = "/0".repeat(columns.len());
    Some(
        (0..*rows)
            .map(|at| format!("{path}/c/{at}{zeros}"))
            .collect(),
    )
}

/// Plans the store without the rows of deleted objects; `None` if there are none.
async fn drop_rows(edit: &mut Edit) -> Result<Option<(u64, CommitPlan)>, WriteError> {
    let Some(index) = &mut edit.index else {
        return Ok(None);
    };
    let deleted: BTreeSet<usize> = index
        .deleted
        .iter()
        .filter_map(|id| index.row(*id))
        .collect();
    index.peek(&mut edit.state, &deleted).await?;
    // An object that another writer has given vertices again is not deleted.
    let gone: BTreeSet<usize> = deleted
        .into_iter()
        .filter(|row| index.blocks(*row).is_empty())
        .collect();
    if gone.is_empty() && index.deleted.is_empty() {
        return Ok(None);
    }
    let store = edit.state.level.store().clone();
    let rows = wide(index.ids.len() - gone.len());
    let need = Need {
        objects: true,
        ..Need::nothing()
    };
    let kept = (0..).zip(&index.ids);
    let kept: Vec<i64> = kept
        .filter(|(row, _)| !gone.contains(row))
        .map(|(_, id)| *id)
        .collect();
    for &number in store.levels().iter().filter(|&&number| number != 0) {
        let level = store.level(number, &need).await?;
        // As many objects may have been added as deleted.
        let other = match level.object_index() {
            Some(index) if level.doc().preserves_object_ids => {
                !index.ids().await?.iter().eq(kept.iter().copied())
            }
            _ => false,
        };
        if other || !level.fits_objects(rows) {
            let path = format!("{number}/object_index");
            let found = "rows of deleted objects";
            let expected = "no coarse level that keeps them: `zvf pyramid STORE --refresh` makes the levels again without them, `zvf pyramid STORE --remove` removes the levels";
            return Err(WriteError::unsupported(path, found, expected));
        }
    }
    edit.load_tables().await?;
    let Some(index) = &edit.index else {
        return Ok(None);
    };
    let ids = kept;
    let (manifests, ids_doc) = (
        index_doc(&edit.target, "manifests").await?,
        index_doc(&edit.target, "object_ids").await?,
    );
    let mut objects =
        all_manifests(index, &manifests, &gone, edit.state.level.next_round()).await?;
    objects.extend(table_of_ids(&ids, &ids_doc)?);
    let mut doc = index.doc()?;
    doc.num_objects = Some(wide(ids.len()));
    ObjectIndex::list_deleted(&mut doc, []);
    if doc.object_ids_sorted.is_some() {
        doc.object_ids_sorted = Some(ids.is_sorted());
    }
    // Owners are ids, which do not change.
    let level = &edit.state.level;
    let document = match level.owner_column().current() {
        Some(column) => {
            let (array, document) = (&column.array, index_document(&doc));
            let mut of_column = document_of(array)?.clone();
            state_owners_of(&mut of_column.attributes, document.as_bytes());
            objects.push(node(array.path(), of_column.to_json()));
            document
        }
        None => doc.to_json(),
    };
    objects.push(node("0/object_index", document));
    let dropped: BTreeSet<i64> = gone
        .iter()
        .filter_map(|row| index.ids.get(*row))
        .copied()
        .collect();
    let mut old: BTreeSet<String> = (0..wide(index.ids.len())
        .div_ceil(wide(manifest_layout(&manifests)?.rows()?)))
        .map(|at| format!("0/object_index/manifests/c/{at}"))
        .chain(expected_chunks("0/object_index/object_ids", &ids_doc).unwrap_or_default())
        .collect();
    // Groups are read without deleted objects.
    edit.load_groups().await?;
    if let Some(mut groups) = edit.groups.take() {
        groups.forget(&dropped);
        if groups.is_changed() {
            let (new, keys) = groups.finish(&Compression::default())?;
            objects.extend(new);
            old.extend(keys);
        }
    }
    for (_, mut table) in std::mem::take(&mut edit.tables) {
        table.retain(|row| !gone.contains(&row));
        let (new, keys) = table.finish(&ids, &Compression::default())?;
        objects.extend(new);
        old.extend(keys);
    }
    store.verify(edit.state.level.next_round()).await?;
    let mut root = edit.root.clone();
    root.record(edit.history.clone());
    let plan = CommitPlan {
        arrays: Vec::new(),
        objects,
        old,
        root,
        summary: EditSummary {
            objects: wide(gone.len()),
            ..EditSummary::default()
        },
    };
    Ok(Some((wide(gone.len()), plan)))
}

/// The manifests of all rows except `gone`, and their document.
async fn all_manifests(
    index: &EditedIndex,
    doc: &ArrayDoc,
    gone: &BTreeSet<usize>,
    round: u32,
) -> Result<Vec<ObjectPut>, WriteError> {
    let layout = manifest_layout(doc)?;
    let bucket = layout.rows()?;
    let stored = index.stored();
    let (mut objects, mut doc) = (Vec::new(), doc.clone());
    doc.attributes.shard_lengths = None;
    let (mut kept, mut rows, mut number) = (Vec::new(), 0_u64, 0_u64);
    let mut put = |kept: &mut Vec<Bytes>, doc: &mut ArrayDoc| -> Result<(), WriteError> {
        let encoded = layout.encode(kept.drain(..).map(Ok))?;
        encoded.list(number, &mut doc.attributes);
        objects.push((
            format!("0/object_index/manifests/c/{number}"),
            encoded.bytes,
        ));
        number += 1;
        Ok(())
    };
    for chunk in 0..stored.manifest_chunks() {
        let chunk = stored.manifest_chunk_in(round, chunk).await?;
        for slot in (chunk.first_slot()..).take(chunk.len()) {
            if gone.contains(&to_index("objects", slot)?) {
                continue;
            }
            kept.push(chunk.blob_shared(slot));
            rows += 1;
            if kept.len() == bucket {
                put(&mut kept, &mut doc)?;
            }
        }
    }
    if !kept.is_empty() {
        put(&mut kept, &mut doc)?;
    }
    doc.attributes.stored_chunks = Some(wide(objects.len()));
    doc.shape = vec![rows];
    objects.push(node("0/object_index/manifests", doc.to_json()));
    Ok(objects)
}
