//! The owner column of level 0: an edit updates it together with the manifests, or writes it again.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use zvf_meta::KeyList;
use zvf_store::owners::{
    NOBODY, OWNER_COLUMN, OwnerColumn, SEVERAL, is_owner_column, owners_in, state_owners_of,
    withdraw_owners,
};
use zvf_store::{CellWant, ChunkCoord, VertexAttribute};

use super::edit::Edit;
use super::grid::GridEdit;
use super::index::EditedIndex;
use super::ops::no_objects;
use super::state::EditState;
use zvf_encode::WriteError;
use zvf_encode::documents::grid_doc;
use zvf_encode::error::OrBug;
use zvf_encode::level::LevelCells;
use zvf_encode::level::owners::{self, enter, is_distinct, payload};

/// Owners by chunk number; trailing fragments without an owner are left out.
type ByChunk = BTreeMap<u32, Vec<i64>>;

/// Whether the level has an owner column, current or not. A column of plain ids under the same name does not count.
pub(super) fn is_there(state: &EditState) -> bool {
    column_of(state).is_some()
}

fn column_of(state: &EditState) -> Option<&VertexAttribute> {
    let all = state.level.fragment_attributes();
    all.iter().find(|one| is_owner_column(one))
}

impl Edit {
    /// Checks that the level can have an owner column, and writes it again with the commit.
    pub(super) fn renew_owners(&mut self) -> Result<(), WriteError> {
        self.index.as_ref().ok_or_else(no_objects)?;
        let attributes = self.state.level.fragment_attributes();
        let mut others = attributes.iter().filter(|one| !is_owner_column(one));
        if let Some(other) = others.find(|one| one.name == OWNER_COLUMN) {
            let found = format!("an attribute of type {}", other.dtype);
            let expected = "none, or an owner column of type int64";
            return Err(WriteError::unsupported(other.array.path(), found, expected));
        }
        self.new_owners = true;
        Ok(())
    }
}

/// Determines the owners after an edit, if the level has or gets the column. `index_document` is the new document of the object index.
///
/// # Cost
/// The cells of the column in chunks with changed owners. All manifests, if the column is new or did not agree with them.
pub(super) async fn place(
    edit: &mut Edit,
    template: &LevelCells,
    index_document: &str,
    arrays: &mut BTreeMap<String, GridEdit>,
) -> Result<(), WriteError> {
    let Some(index) = &mut edit.index else {
        return Ok(());
    };
    let state = &mut edit.state;
    let kept = match (edit.new_owners, state.level.owner_column()) {
        (false, OwnerColumn::Current(_)) => kept(state, index).await?,
        _ => None,
    };
    let (changed, whole) = match kept {
        Some(changed) => (changed, false),
        None => (made(state, index).await?, true),
    };
    // The object whose id is a marker of the column may have got its first vertices.
    let distinct = index.ids.iter().all(|id| is_distinct(*id));
    // A column whose presence list contradicts its shape is replaced.
    let usable = |column: &&VertexAttribute| column.array.check_presence().is_ok();
    let mut column = match column_of(state).filter(usable) {
        Some(column) => GridEdit::of(&column.array)?,
        None => {
            let cells = owners::cells_of(template);
            let path = format!("0/{}", owners::path());
            let doc = grid_doc(&cells, &path, KeyList::new(), owners::attributes());
            GridEdit::new(path, doc)?
        }
    };
    if whole && let Some(stored) = column_of(state) {
        // Cells of chunks that no longer have owners are removed.
        for chunk in stored.array.presence().iter() {
            column.set(chunk, Vec::new());
        }
    }
    for (slot, owners) in &changed {
        column.set(state.coord(*slot)?, payload(owners));
    }
    match distinct {
        true => state_owners_of(column.attributes(), index_document.as_bytes()),
        false => withdraw_owners(column.attributes()),
    }
    arrays.insert(column.path().to_owned(), column);
    Ok(())
}

/// The owners in changed chunks, from a column that agrees with the manifests; `None` if it does not agree.
async fn kept(state: &mut EditState, index: &EditedIndex) -> Result<Option<ByChunk>, WriteError> {
    let changed: HashSet<i64> = index.ids_of_changed().collect();
    let mut named: HashMap<u32, Vec<(u32, i64)>> = HashMap::new();
    let mut slots: BTreeSet<u32> = index.left.clone();
    for &row in &index.changed {
        let id = index.ids.get(row).copied();
        let id = id.or_bug(format_args!("no object in row {row}"))?;
        for &(slot, fragment) in index.blocks(row) {
            slots.insert(slot);
            named.entry(slot).or_default().push((fragment, id));
        }
    }
    let Some(column) = column_of(state) else {
        return Ok(None);
    };
    let array = &column.array;
    let mut stored = Vec::new();
    for &slot in &slots {
        let chunk = state.coord(slot)?;
        if array.presence().contains(chunk) {
            stored.push((slot, ChunkCoord::new(chunk)));
        }
    }
    let wants = stored.iter();
    let wants = wants.map(|(_, chunk)| CellWant::new(array, chunk.as_slice()));
    let store = state.level.store();
    let cells = store
        .fetch(state.level.next_round(), wants.collect())
        .await?;
    let mut before: HashMap<u32, Vec<i64>> = HashMap::new();
    for ((slot, chunk), cell) in stored.iter().zip(cells) {
        before.insert(*slot, owners_in(array, chunk, cell.as_deref())?);
    }
    let mut after = ByChunk::new();
    for slot in slots {
        let old = before.remove(&slot).unwrap_or_default();
        let mut new = old.clone();
        for owner in &mut new {
            match *owner {
                SEVERAL => return Ok(None),
                one if changed.contains(&one) => *owner = NOBODY,
                _ => {}
            }
        }
        for (fragment, id) in named.remove(&slot).into_iter().flatten() {
            enter(&mut new, fragment, id);
        }
        trim(&mut new);
        if new.contains(&SEVERAL) {
            return Ok(None);
        }
        if new != old {
            after.insert(slot, new);
        }
    }
    Ok(Some(after))
}

/// The owners in all chunks, from the manifests.
async fn made(state: &mut EditState, index: &mut EditedIndex) -> Result<ByChunk, WriteError> {
    let all: BTreeSet<usize> = (0..index.ids.len()).collect();
    index.peek(state, &all).await?;
    let mut owners = ByChunk::new();
    for (row, id) in index.ids.iter().enumerate() {
        for &(slot, fragment) in index.blocks(row) {
            enter(owners.entry(slot).or_default(), fragment, *id);
        }
    }
    Ok(owners)
}

fn trim(owners: &mut Vec<i64>) {
    while owners.last() == Some(&NOBODY) {
        owners.pop();
    }
}
