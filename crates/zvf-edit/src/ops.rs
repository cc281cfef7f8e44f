//! Deletes vertices, finds them, and sets values.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::edit::{At, Edit};
use super::state::{EditState, FragmentAt};
use super::vertex::{Vertex, stored};
use zvf_encode::error::{OrBug, narrow, to_index};
use zvf_encode::{AttributeSpec, Values, WriteError};
use zvf_format::int::wide;

/// The error for ids of objects in a store without objects.
#[cold]
pub(super) fn no_objects() -> WriteError {
    WriteError::input("objects", "ids", "none: this store has no objects")
}

/// A row among the fragments of a chunk: chunk, fragment, place in it.
pub(super) type Spot = (u32, u32, usize);

/// Consecutive fragments, to find rows by their position among all rows.
#[derive(Debug, Default)]
struct FragmentSequence {
    /// The fragments with rows, each with the number of its first row.
    blocks: Vec<(u64, FragmentAt)>,
    len: u64,
}

impl FragmentSequence {
    fn push(&mut self, block: FragmentAt, count: usize) {
        if count > 0 {
            self.blocks.push((self.len, block));
            self.len += wide(count);
        }
    }

    fn spot(&self, row: u64) -> Option<Spot> {
        let behind = self.blocks.partition_point(|(first, _)| *first <= row);
        let (first, (slot, fragment)) = *self.blocks.get(behind.checked_sub(1)?)?;
        let at = usize::try_from(row.checked_sub(first)?).ok()?;
        (row < self.len).then_some((slot, fragment, at))
    }
}

impl Edit {
    /// The rows of objects in the index, whether or not their manifests were read.
    pub(super) fn rows_of(&self, ids: &[i64]) -> Result<Vec<usize>, WriteError> {
        let index = self.index.as_ref().ok_or_else(no_objects)?;
        let row = |id: &i64| {
            let found = index.row(*id).filter(|_| !index.deleted.contains(id));
            found.ok_or_else(|| {
                WriteError::input(format!("object {id}"), "nothing", "an object of this store")
            })
        };
        ids.iter().map(row).collect()
    }

    pub(super) async fn drop_objects(&mut self, ids: &[i64]) -> Result<(), WriteError> {
        let rows: BTreeSet<usize> = self.rows_of(ids)?.into_iter().collect();
        let index = self.index.as_mut().or_bug("rows of no objects")?;
        index.load(&mut self.state, &rows).await?;
        for &row in &rows {
            for &block in index.blocks(row) {
                self.state.take_fragment(block)?;
            }
            index.set(row, Vec::new());
        }
        index.deleted.extend(ids);
        if let Some(groups) = &mut self.groups {
            groups.forget(&ids.iter().copied().collect());
        }
        // Every table has a row for each object; the row of a deleted object gets no value.
        self.load_tables().await?;
        for table in self.tables.values_mut() {
            rows.iter().for_each(|&row| table.clear(row));
        }
        Ok(())
    }

    pub(super) async fn drop_points(&mut self, rows: &[(Vec<i64>, u64)]) -> Result<(), WriteError> {
        if self.index.is_some() {
            let expected = "a store without objects: vertices of objects are deleted with their object, by its id";
            return Err(WriteError::input(
                "vertices",
                "rows of a store with objects",
                expected,
            ));
        }
        let mut by_chunk: BTreeMap<&[i64], BTreeSet<u64>> = BTreeMap::new();
        for (chunk, row) in rows {
            by_chunk.entry(chunk).or_default().insert(*row);
        }
        let mut given: Vec<(u32, BTreeSet<u64>)> = Vec::new();
        for (chunk, rows) in by_chunk {
            given.push((self.state.slot(chunk)?, rows));
        }
        self.state.load(given.iter().map(|(slot, _)| *slot)).await?;
        let places = self.state.places()?;
        // Grouped by the current chunk of each point.
        let mut gone: BTreeMap<u32, BTreeSet<Vertex>> = BTreeMap::new();
        for (slot, rows) in given {
            let before = self.state.opened_len(slot);
            for row in rows {
                let missing = |expected: String| {
                    let place = format!("row {row} of chunk {:?}", self.state.coord(slot)?);
                    Err(WriteError::input(place, "nothing", expected))
                };
                if row >= before {
                    return missing(format!("below {before}"));
                }
                let name = stored(
                    slot,
                    narrow("rows of one chunk", to_index("rows of one chunk", row)?)?,
                );
                let Some((now, _)) = self.state.place(&places, name) else {
                    return missing("a point that this edit has not deleted".to_owned());
                };
                gone.entry(now).or_default().insert(name);
            }
        }
        for (slot, names) in gone {
            let chunk = self.state.chunk_mut(slot)?;
            chunk.moved = true;
            for fragment in &mut chunk.fragments {
                let _gone = fragment.take_out(|name| !names.contains(&name))?;
            }
        }
        Ok(())
    }

    /// Finds rows by their address, without reading chunks.
    pub(super) async fn find(&mut self, at: &At<'_>) -> Result<Vec<Spot>, WriteError> {
        match at {
            At::All => self.all().await,
            At::Rows(rows) => {
                let found = self.numbered(rows.iter().copied().map(Some)).await?;
                let (_, total) = self.opened_rows().await?;
                let present = found.into_iter().zip(rows.iter()).map(|(found, row)| {
                    let missing = || {
                        let expected = match *row < total {
                            true => "one that this edit has not deleted".to_owned(),
                            false => format!("below {total}"),
                        };
                        WriteError::input(format!("vertex {row}"), "nothing", expected)
                    };
                    found.ok_or_else(missing)
                });
                let present = present.collect::<Result<Vec<u64>, _>>()?;
                self.spots(&present).await
            }
            At::Objects(places) => Box::pin(self.find_in_objects(places)).await,
        }
    }

    /// Finds rows by their current numbers, without reading chunks.
    pub(super) async fn spots(&mut self, rows: &[u64]) -> Result<Vec<Spot>, WriteError> {
        let slots = self.state.all_slots()?;
        self.state.measure(slots.iter().copied()).await?;
        let mut all = FragmentSequence::default();
        for slot in slots {
            for (fragment, count) in (0_u32..).zip(self.state.sizes(slot)) {
                all.push((slot, fragment), count);
            }
        }
        let spot = |row: &u64| all.spot(*row).or_bug(format_args!("no vertex {row}"));
        rows.iter().map(spot).collect()
    }

    /// Reads the chunks that contain rows.
    pub(super) async fn load_spots(&mut self, spots: &[Spot]) -> Result<(), WriteError> {
        let slots: BTreeSet<u32> = spots.iter().map(|spot| spot.0).collect();
        self.state.load(slots).await
    }

    async fn find_in_objects(&mut self, places: &[(i64, u64)]) -> Result<Vec<Spot>, WriteError> {
        let ids: BTreeSet<i64> = places.iter().map(|(id, _)| *id).collect();
        let ids: Vec<i64> = ids.into_iter().collect();
        // Reports the first object that does not exist.
        self.rows_of(&ids)?;
        let named: Vec<Option<(i64, u64)>> = places.iter().copied().map(Some).collect();
        let spots = self.spots_in_objects(&named).await?;
        let all = spots.into_iter().zip(places);
        all.map(|(spot, (id, at))| {
            let missing = || {
                let what = format!("vertex {at} of object {id}");
                WriteError::input(what, "nothing", "a vertex that the object has")
            };
            spot.ok_or_else(missing)
        })
        .collect()
    }

    /// The rows at places in objects, without reading chunks; `None` if an object or vertex does not exist.
    pub(super) async fn spots_in_objects(
        &mut self,
        places: &[Option<(i64, u64)>],
    ) -> Result<Vec<Option<Spot>>, WriteError> {
        let ids: BTreeSet<i64> = places.iter().flatten().map(|(id, _)| *id).collect();
        let ids = ids.into_iter().collect();
        let objects: HashMap<i64, FragmentSequence> =
            self.sequences(ids).await?.into_iter().collect();
        let spot = |place: &Option<(i64, u64)>| {
            let (id, at) = (*place)?;
            objects.get(&id)?.spot(at)
        };
        Ok(places.iter().map(spot).collect())
    }

    /// Every vertex of the objects, object by object in the order of the index, and within an object in the order of query results.
    pub(super) async fn spots_along_objects(&mut self) -> Result<Vec<Spot>, WriteError> {
        let ids = self.object_ids().collect();
        let mut all = Vec::new();
        for (_, object) in self.sequences(ids).await? {
            for (slot, fragment) in object.blocks.into_iter().map(|(_, block)| block) {
                let count = self.state.fragment_len((slot, fragment))?;
                all.extend((0..count).map(|at| (slot, fragment, at)));
            }
        }
        Ok(all)
    }

    /// The objects with the number of vertices of each, in the order of [`object_ids`](Self::object_ids).
    ///
    /// # Cost
    /// Reads all manifests and fragment indexes of the level.
    ///
    /// # Errors
    /// Misuse: a store without objects; I/O; malformed manifests.
    pub async fn object_lengths(&mut self) -> Result<Vec<(i64, u64)>, WriteError> {
        let ids = self.object_ids().collect();
        let objects = self.sequences(ids).await?.into_iter();
        Ok(objects.map(|(id, object)| (id, object.len)).collect())
    }

    /// The fragments of objects, without reading chunks; none for objects that do not exist.
    async fn sequences(
        &mut self,
        ids: Vec<i64>,
    ) -> Result<Vec<(i64, FragmentSequence)>, WriteError> {
        let index = self.index.as_mut().ok_or_else(no_objects)?;
        let live = ids.into_iter().filter(|id| !index.deleted.contains(id));
        let rows: Vec<(i64, usize)> = live.filter_map(|id| Some((id, index.row(id)?))).collect();
        let all = rows.iter().map(|(_, row)| *row).collect();
        index.peek_apart(&mut self.state, &all).await?;
        self.state.measure(index.slots(&all)).await?;
        let mut objects = Vec::with_capacity(rows.len());
        for (id, row) in rows {
            let mut of_one = FragmentSequence::default();
            for &block in index.blocks(row) {
                of_one.push(block, self.state.fragment_len(block)?);
            }
            objects.push((id, of_one));
        }
        Ok(objects)
    }

    /// Every row, in the order of query results.
    async fn all(&mut self) -> Result<Vec<Spot>, WriteError> {
        let mut all = Vec::new();
        let slots = self.state.all_slots()?;
        self.state.measure(slots.iter().copied()).await?;
        for slot in slots {
            for (fragment, count) in (0_u32..).zip(self.state.sizes(slot)) {
                all.extend((0..count).map(|at| (slot, fragment, at)));
            }
        }
        Ok(all)
    }

    /// Sets the values of an existing attribute.
    pub(super) async fn set_column(
        &mut self,
        name: &str,
        spots: Vec<Spot>,
        values: &Values,
    ) -> Result<(), WriteError> {
        if self.is_key(name) {
            return self.set_key(spots, values).await;
        }
        let Some(number) = self.state.attribute(name) else {
            let what = format!("vertex attribute {name}");
            let expected = "an attribute of this store";
            return Err(WriteError::input(what, "nothing", expected));
        };
        let coded = self.codes(name, values)?;
        let values = coded.as_ref().unwrap_or(values);
        let spec = self.state.spec.vertex_attributes.get(number).cloned();
        let spec = spec.or_bug(format_args!("no vertex attribute {number}"))?;
        let bytes = column_bytes("vertex attribute", &spec, values, spots.len())?;
        let slots = spots.iter().map(|spot| spot.0).collect();
        self.state.load_column(slots, number + 1).await?;
        self.state.set_values(number + 1, &spots, &bytes)
    }
}

/// Bytes of `rows` values of a numeric attribute; `of` names its owner in errors.
///
/// # Errors
/// Misuse: another number of values, or values of another type.
pub(super) fn column_bytes(
    of: &str,
    spec: &AttributeSpec,
    values: &Values,
    rows: usize,
) -> Result<Vec<u8>, WriteError> {
    spec.check_values(of, values)?;
    let fits = Some(values.len()) == rows.checked_mul(spec.channels);
    let bytes = spec.values.number().filter(|_| fits);
    let bytes = bytes.and_then(|number| values.bytes_as(number));
    bytes.map(Cow::into_owned).ok_or_else(|| {
        let found = format!("{} values of {}", values.len(), values.type_name());
        unfit(of, spec, found, rows)
    })
}

/// The error for values that do not match the number of rows of an attribute.
#[cold]
pub(super) fn unfit(of: &str, spec: &AttributeSpec, found: String, rows: usize) -> WriteError {
    let expected = format!("{rows} rows of {} {}", spec.channels, spec.values.name());
    WriteError::input(format!("{of} {}", spec.name), found, expected)
}

impl EditState {
    /// Slots of chunks with moved rows, and of other chunks with changed values.
    pub(super) fn touched(&self) -> (BTreeSet<u32>, BTreeSet<u32>) {
        let (mut moved, mut changed) = (BTreeSet::new(), BTreeSet::new());
        for (slot, (_, chunk)) in (0_u32..).zip(&self.chunks) {
            match chunk {
                Some(chunk) if chunk.moved => moved.insert(slot),
                Some(chunk) if !chunk.changed.is_empty() => changed.insert(slot),
                _ => false,
            };
        }
        changed.extend(self.attribute_columns.slots());
        (moved, changed)
    }
}
