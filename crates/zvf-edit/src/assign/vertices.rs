//! Matches the rows of a table with vertices: by a key, by their address in the store, by their positions, or in order.

use std::collections::HashMap;

use arrow_array::{ArrayRef, RecordBatch};
use zvf_encode::error::OrBug;
use zvf_encode::{NumberType, Values, WriteError};
use zvf_format::int::wide;

use super::stated::{check_level, check_order};
use super::{
    Matched, PairedRows, Search, by_rows, exclusive, in_order, key_column, no_way, not_a_key,
    row_major, unmatched,
};
use crate::edit::{At, Edit};
use crate::matching::{
    Coding, KeyColumn, KeyState, Matching, Scope, TableKeys, TableValues, listed, show,
};
use crate::scan::KeySource;
use crate::{ops, tabular};

/// The columns that name a vertex by its object and its place in the object.
const BY_OBJECT: &str = "object_id, vertex";

impl Edit {
    pub(super) async fn set_rows(
        &mut self,
        name: &str,
        pairs: &PairedRows,
        values: &Values,
    ) -> Result<(), WriteError> {
        if self.is_key(name) {
            self.check_structure().await?;
        }
        let spots = match pairs.is_whole() {
            true => self.find(&At::All).await?,
            false => self.spots(&pairs.rows).await?,
        };
        self.begin_step();
        let done = Box::pin(self.set_column(name, spots, values)).await;
        self.note(done)
    }

    /// Sets values of several attributes of vertices; columns of the key are not set.
    pub(crate) async fn set_vertices(
        &mut self,
        table: &RecordBatch,
        how: &Matching,
        given: &[(String, Values)],
    ) -> Result<Matched, WriteError> {
        let columns = by_rows(table, given)?;
        let same = |a: usize, b: usize| columns.iter().all(|(_, given)| given.same(a, b));
        let pairs = self.match_vertices(table, how, true, &same).await?;
        for (name, given) in &columns {
            let taken = given.take(pairs.from.iter().copied().map(Some), None)?;
            self.set_rows(name, &pairs, &taken).await?;
        }
        Ok(pairs.matched)
    }

    /// Moves vertices to the positions of a table.
    pub(crate) async fn move_matched(
        &mut self,
        table: &RecordBatch,
        how: &Matching,
        positions: &Values,
    ) -> Result<Matched, WriteError> {
        let given = TableValues::new(positions, self.state.spec.dims())?;
        let same = |a: usize, b: usize| given.same(a, b);
        let pairs = self.match_vertices(table, how, false, &same).await?;
        let taken = given.take(pairs.from.iter().copied().map(Some), None)?;
        self.check_structure().await?;
        let spots = self.spots(&pairs.rows).await?;
        self.begin_step();
        let done = Box::pin(self.shift(spots, &taken)).await;
        self.note(done)?;
        Ok(pairs.matched)
    }

    /// For each column of a key of vertices, its source in the store and its column of the table.
    fn vertex_key(
        &self,
        table: &RecordBatch,
        names: &[String],
    ) -> Result<(Vec<KeySource>, Vec<KeyColumn>), WriteError> {
        let (mut parts, mut columns) = (Vec::new(), Vec::new());
        for name in names {
            let (stored, coding) = match self.state.attribute(name) {
                Some(at) => {
                    let one = self.state.spec.vertex_attributes.get(at);
                    let number = one.and_then(|one| one.values.number());
                    let number = number.or_bug("an attribute without a type")?;
                    let words = self.words.get(at).and_then(|words| words.texts.as_ref());
                    let coding = match words {
                        Some(texts) => Coding::Words(coded(texts), number),
                        None => Coding::Number(number),
                    };
                    (KeySource::Attribute(at), coding)
                }
                None if self.is_key(name) => {
                    let values = self.state.listed().unwrap_or_default().iter();
                    let texts: Vec<String> = values
                        .map(|value| {
                            value
                                .as_str()
                                .map_or_else(|| value.to_string(), str::to_owned)
                        })
                        .collect();
                    (
                        KeySource::Rank,
                        Coding::Words(coded(&texts), NumberType::I64),
                    )
                }
                None if name == "object_id" && self.index.is_some() => {
                    (KeySource::Owner, Coding::Number(NumberType::I64))
                }
                None => {
                    let known = self.vertex_attributes();
                    let known: Vec<&str> = known.iter().map(|one| one.name.as_str()).collect();
                    return Err(not_a_key(Scope::Vertex, name, &known));
                }
            };
            let dims = match stored {
                KeySource::Attribute(at) => self.state.spec.vertex_attributes.get(at),
                _ => None,
            };
            let dims = dims.map_or(1, |one| one.channels);
            columns.push(key_column(table, name, coding, dims)?);
            parts.push(stored);
        }
        Ok((parts, columns))
    }

    /// Matches rows of the table with vertices; by positions only if `by_position`.
    pub(super) async fn match_vertices(
        &mut self,
        table: &RecordBatch,
        how: &Matching,
        by_position: bool,
        same: &(dyn Fn(usize, usize) -> bool + Sync),
    ) -> Result<PairedRows, WriteError> {
        let rows = table.num_rows();
        exclusive(Scope::Vertex, how)?;
        if !how.key.is_empty() {
            let (parts, columns) = self.vertex_key(table, &how.key)?;
            let keys = TableKeys::new(columns, rows)?.checked(|_, _| false)?;
            return self.search(&parts, &keys, rows, false, how).await;
        }
        let axes = match by_position {
            true => tabular::positions(table, &self.state.spec),
            false => Vec::new(),
        };
        let owned = self.index.is_some() && table.column_by_name("object_id").is_some();
        let addresses = self.addresses(table).await?;
        match addresses.first() {
            _ if how.by_order => {
                check_level(table, "order")?;
                check_order(table, Scope::Vertex)?;
            }
            _ if how.by_object_order => check_level(table, "object order")?,
            Some((by, _)) => check_level(table, by)?,
            None => {}
        }
        let primary = match addresses.first() {
            _ if how.by_order || how.by_object_order => None,
            Some((by, rows)) => Some((by, rows)),
            None if !axes.is_empty() => {
                let (parts, columns) = self.place_key(table, &axes, owned)?;
                let keys = TableKeys::new(columns, rows)?.checked(same)?;
                return self.search(&parts, &keys, rows, true, how).await;
            }
            None => return Err(no_way(Scope::Vertex, rows)),
        };
        let (_, total) = self.first_rows().await?;
        let mut pairs = match primary {
            None if how.by_object_order => self.along_objects(rows, total, same).await?,
            None => self.in_opened_order(rows, how, same).await?,
            Some((by, found)) => {
                let lost = found.iter().enumerate().filter(|(_, at)| at.is_none());
                let lost: Vec<usize> = lost.map(|(row, _)| row).collect();
                let show = |row| self.show_address(table, row);
                let ignored = unmatched(&format!("columns {by}"), &lost, show, how)?;
                let all = found.iter().enumerate();
                let all = all.filter_map(|(row, at)| Some(((*at)?, row))).collect();
                let mut pairs = PairedRows::new(all, Scope::Vertex, (by.clone(), total), same)?;
                pairs.matched.ignored = ignored;
                pairs
            }
        };
        for (by, found) in &addresses {
            let other = pairs.rows.iter().zip(&pairs.from);
            let mut other = other.filter(|(row, from)| found.get(**from) != Some(&Some(**row)));
            if let Some((row, from)) = other.next() {
                let found = format!("another vertex than {row} in row {from}");
                let expected = format!("the same vertex as by {}", pairs.matched.by);
                return Err(WriteError::input(format!("columns {by}"), found, expected));
            }
        }
        // A vertex that is found in its object belongs to it; otherwise its owner is looked up in the manifests of all objects.
        let owned = owned && addresses.iter().all(|(by, _)| by != BY_OBJECT);
        if !axes.is_empty() || owned {
            self.check_places(table, &axes, owned, &mut pairs).await?;
        }
        Ok(pairs)
    }

    async fn search(
        &mut self,
        parts: &[KeySource],
        keys: &TableKeys,
        rows: usize,
        several: bool,
        how: &Matching,
    ) -> Result<PairedRows, WriteError> {
        let mut search = Search::new(keys, rows);
        self.scan(parts, None, |row, key| search.take(row, key))
            .await?;
        let (_, total) = self.first_rows().await?;
        search.finish(Scope::Vertex, several, total, how)
    }

    /// Positions as a key, with the object if the table has it.
    fn place_key(
        &self,
        table: &RecordBatch,
        axes: &[ArrayRef],
        owned: bool,
    ) -> Result<(Vec<KeySource>, Vec<KeyColumn>), WriteError> {
        let spec = &self.state.spec;
        let (mut parts, mut columns) = (Vec::new(), Vec::new());
        if owned {
            parts.push(KeySource::Owner);
            // An attribute with this name would have the prefix `attribute:`.
            columns.push(KeyColumn {
                name: "object_id".to_owned(),
                columns: tabular::plain(table, "object_id").into_iter().collect(),
                coding: Coding::Number(NumberType::I64),
            });
        }
        if !axes.is_empty() {
            parts.push(KeySource::Position);
            let names: Vec<&str> = spec.axes.iter().map(|axis| axis.name.as_str()).collect();
            columns.push(KeyColumn {
                name: names.join(","),
                columns: axes.to_vec(),
                coding: Coding::Number(spec.positions),
            });
        }
        Ok((parts, columns))
    }

    /// Checks that positions and objects of rows agree with their vertices.
    async fn check_places(
        &mut self,
        table: &RecordBatch,
        axes: &[ArrayRef],
        owned: bool,
        pairs: &mut PairedRows,
    ) -> Result<(), WriteError> {
        let (parts, columns) = self.place_key(table, axes, owned)?;
        let keys = TableKeys::new(columns, table.num_rows())?;
        let (rows, from) = (&pairs.rows, &pairs.from);
        let (mut next, mut wrong) = (0, Vec::new());
        let check = |row: u64, key: &[u8]| {
            while rows.get(next).is_some_and(|wanted| *wanted < row) {
                next += 1;
            }
            if rows.get(next) == Some(&row) {
                let from = *from.get(next).or_bug("a pair without a row")?;
                let same = keys.row(from) == Some((KeyState::Given, key));
                if !same {
                    wrong.push((from, row));
                }
            }
            Ok(())
        };
        self.scan(&parts, Some(rows), check).await?;
        if wrong.is_empty() {
            return Ok(());
        }
        let shown = wrong.iter();
        let shown = shown
            .map(|(from, row)| format!("{} in row {from}, for vertex {row}", keys.show(*from)));
        let found = format!(
            "{} with other values than the store: {}",
            super::rows(wide(wrong.len())),
            listed(shown)
        );
        let expected = format!(
            "the values of the vertices to which the rows are assigned by {}",
            pairs.matched.by
        );
        Err(WriteError::input(
            format!("columns {}", keys.names()),
            found,
            expected,
        ))
    }

    /// The columns that locate a vertex, for messages.
    fn show_address(&self, table: &RecordBatch, row: usize) -> String {
        let mut shown = Vec::new();
        for name in ["chunk", "row", "object_id", "vertex"] {
            let columns = tabular::columns(table, name);
            if !columns.is_empty() {
                shown.push(show(name, &columns, row));
            }
        }
        shown.join(", ")
    }

    /// The vertices that a table names by `chunk` and `row`, and by `vertex`: the names of the columns, and the number of the vertex in each row.
    async fn addresses(
        &mut self,
        table: &RecordBatch,
    ) -> Result<Vec<(String, Vec<Option<u64>>)>, WriteError> {
        let mut all = Vec::new();
        let (chunks, row) = (
            tabular::columns(table, "chunk"),
            tabular::plain(table, "row"),
        );
        if let (false, Some(row)) = (chunks.is_empty(), row) {
            let rank = self.state.level.key_rank();
            if tabular::width(&chunks)? != rank {
                let found = format!("{} numbers", tabular::width(&chunks)?);
                return Err(WriteError::input("column chunk", found, format!("{rank}")));
            }
            all.push(("chunk, row".to_owned(), self.by_chunk(&chunks, &row).await?));
        }
        if let Some(vertex) = tabular::plain(table, "vertex") {
            let places = tabular::wholes("vertex", &vertex)?;
            let ids = tabular::plain(table, "object_id").filter(|_| self.index.is_some());
            all.push(match ids {
                Some(ids) => {
                    let ids = tabular::wholes("object_id", &ids)?;
                    let found = self.by_object(&ids, &places).await?;
                    (BY_OBJECT.to_owned(), found)
                }
                None => {
                    let numbers = places.into_iter();
                    let numbers = numbers.map(|place| u64::try_from(place?).ok());
                    let numbers: Vec<Option<u64>> = numbers.collect();
                    ("vertex".to_owned(), self.numbered(numbers).await?)
                }
            });
        }
        Ok(all)
    }

    async fn by_chunk(
        &mut self,
        chunks: &[ArrayRef],
        row: &ArrayRef,
    ) -> Result<Vec<Option<u64>>, WriteError> {
        let rows = tabular::wholes("row", row)?;
        let components = row_major("chunk", chunks, rows.len())?;
        self.at_chunks(&components, &rows).await
    }

    /// The vertices that the store had in rows of chunks when the edit began. Chunks are given by the components of their coordinates, one after
    /// another.
    pub(super) async fn at_chunks(
        &mut self,
        components: &[Option<i128>],
        rows: &[Option<i128>],
    ) -> Result<Vec<Option<u64>>, WriteError> {
        let (firsts, _) = self.opened_rows().await?;
        let mut known: HashMap<&[i64], (u32, u64)> = HashMap::new();
        for (_, slot) in &firsts {
            let count = self.state.opened_len(*slot);
            known.insert(self.state.coord(*slot)?, (*slot, count));
        }
        let rank = components.len().checked_div(rows.len()).unwrap_or(1).max(1);
        let mut found = Vec::with_capacity(rows.len());
        let mut coord = Vec::new();
        for (row, components) in rows.iter().zip(components.chunks(rank)) {
            coord.clear();
            let all = components.iter();
            coord.extend(all.filter_map(|one| i64::try_from((*one)?).ok()));
            let place = known.get(coord.as_slice()).and_then(|(slot, count)| {
                let row = u32::try_from((*row)?).ok()?;
                (u64::from(row) < *count).then_some((*slot, row))
            });
            found.push(place);
        }
        self.present(&found).await
    }

    async fn by_object(
        &mut self,
        ids: &[Option<i128>],
        places: &[Option<i128>],
    ) -> Result<Vec<Option<u64>>, WriteError> {
        self.check_places_in_objects()?;
        let named = |(id, place): (&Option<i128>, &Option<i128>)| {
            let id = i64::try_from((*id)?).ok()?;
            Some((id, u64::try_from((*place)?).ok()?))
        };
        let named: Vec<Option<(i64, u64)>> = ids.iter().zip(places).map(named).collect();
        let spots = self.spots_in_objects(&named).await?;
        self.rows_at(spots).await
    }

    /// Pairs the rows of a table with the vertices that the store had at the beginning of the edit, in order.
    async fn in_opened_order(
        &mut self,
        rows: usize,
        how: &Matching,
        same: &(dyn Fn(usize, usize) -> bool + Sync),
    ) -> Result<PairedRows, WriteError> {
        let (_, before) = self.opened_rows().await?;
        let pairs = in_order(Scope::Vertex, rows, before)?;
        if !self.state.has_moved_rows() {
            return Ok(pairs);
        }
        let found = self.numbered((0..before).map(Some)).await?;
        let lost = found.iter().enumerate().filter(|(_, at)| at.is_none());
        let lost: Vec<usize> = lost.map(|(row, _)| row).collect();
        let ignored = unmatched("rows by order", &lost, |row| format!("row {row}"), how)?;
        let all = found.into_iter().enumerate();
        let all = all.filter_map(|(row, at)| Some((at?, row))).collect();
        let (_, total) = self.first_rows().await?;
        let mut pairs = PairedRows::new(all, Scope::Vertex, (pairs.matched.by, total), same)?;
        pairs.matched.ignored = ignored;
        Ok(pairs)
    }

    /// Pairs the rows of a table with the vertices of each object, in order.
    async fn along_objects(
        &mut self,
        rows: usize,
        total: u64,
        same: impl Fn(usize, usize) -> bool,
    ) -> Result<PairedRows, WriteError> {
        self.check_unmoved("rows by object order")?;
        let spots = self.spots_along_objects().await?;
        if spots.len() != rows {
            let expected = format!("{}: one for each vertex of each object", spots.len());
            let found = super::rows(wide(rows));
            return Err(WriteError::input("rows by object order", found, expected));
        }
        let found = self.rows_at(spots.into_iter().map(Some).collect()).await?;
        let pair = |(row, at): (usize, Option<u64>)| {
            Ok((
                at.or_bug("a vertex of an object outside of the chunks")?,
                row,
            ))
        };
        let all = found.into_iter().enumerate().map(pair);
        let all = all.collect::<Result<_, WriteError>>()?;
        PairedRows::new(all, Scope::Vertex, ("object order".to_owned(), total), same)
    }

    /// The numbers of vertices from their places in chunks.
    async fn rows_at(
        &mut self,
        spots: Vec<Option<ops::Spot>>,
    ) -> Result<Vec<Option<u64>>, WriteError> {
        // The first row of each fragment.
        let (firsts, _) = self.first_rows().await?;
        let mut blocks = HashMap::new();
        for (first, slot) in firsts {
            let mut first = first;
            for (fragment, size) in (0_u32..).zip(self.state.sizes(slot)) {
                blocks.insert((slot, fragment), first);
                first += wide(size);
            }
        }
        let row = |spot: Option<ops::Spot>| {
            let (slot, fragment, at) = spot?;
            Some(blocks.get(&(slot, fragment))? + wide(at))
        };
        Ok(spots.into_iter().map(row).collect())
    }
}

/// The code of each text: its index.
fn coded(texts: &[String]) -> HashMap<String, i64> {
    texts.iter().cloned().zip(0..).collect()
}
