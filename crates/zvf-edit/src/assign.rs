//! Values of tables for vertices, objects and links: the rows are matched, then the values are set, or become a new attribute.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use futures::future::BoxFuture;

use super::matching::{Coding, Given, KeyColumn, KeyState, Keys, Matching, Scope, listed, show};
use super::scan::Stored;
use super::{At, Edit, ops, tabular};
use zvf_format::int::wide;
use zvf_write::WriteError;
use zvf_write::batch::ObjectTable;
use zvf_write::error::{OrBug, to_index};
use zvf_write::number::NumberType;
use zvf_write::spec::AttributeSpec;
use zvf_write::tables::Held;
use zvf_write::values::Values;

/// The three ways, for messages.
const WAYS: &str = "a column that every vertex has another value of (--key COLUMN), the columns chunk and row (or vertex and object_id) of a query, or the positions; \
    --by-order takes the rows in the order of a query of the whole store";

/// Values for an attribute of vertices, objects or links.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SetAttribute {
    /// What has the attribute.
    pub scope: Scope,
    /// Its name.
    pub name: String,
    /// How the rows of the table find theirs.
    pub matching: Matching,
    /// Adds the attribute, with this specification.
    pub new: Option<AttributeSpec>,
    /// The value of what has none in the table, where the attribute is new, and of gaps in the table. It is recorded with the attribute, as
    /// the value of vertices and links that are appended later without one.
    pub fill: Option<String>,
}

impl SetAttribute {
    /// Values of an attribute that is there, by columns of the table.
    #[must_use]
    pub fn new(scope: Scope, name: impl Into<String>) -> Self {
        Self {
            scope,
            name: name.into(),
            matching: Matching::new(),
            new: None,
            fill: None,
        }
    }

    /// Sets how the rows of the table find theirs.
    #[must_use]
    pub fn with_matching(mut self, matching: Matching) -> Self {
        self.matching = matching;
        self
    }

    /// Adds the attribute.
    #[must_use]
    pub fn with_new(mut self, spec: AttributeSpec) -> Self {
        self.new = Some(spec);
        self
    }

    /// Adds the attribute, with a type by its name: `float32`, `int64`, … or `text`; so many numbers a row.
    ///
    /// # Errors
    /// Misuse: no such type.
    pub fn with_type(self, type_: &str, channels: usize) -> Result<Self, WriteError> {
        let name = self.name.clone();
        let spec = match (type_, self.scope) {
            ("text", Scope::Object) => AttributeSpec::text(name),
            ("text", _) => AttributeSpec::category(name),
            _ => {
                let expected = "text or a number type such as float32";
                let number = NumberType::from_name(type_).ok_or_else(|| {
                    WriteError::input("type of the attribute", format!("{type_:?}"), expected)
                })?;
                AttributeSpec::number(name, number).with_channels(channels)
            }
        };
        Ok(self.with_new(spec))
    }

    /// Sets the value of what has none.
    #[must_use]
    pub fn with_fill(mut self, fill: impl Into<String>) -> Self {
        self.fill = Some(fill.into());
        self
    }
}

/// What became of the rows of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Matched {
    /// How they were matched: the columns, for people.
    pub by: String,
    /// Vertices, objects or links that the store has.
    pub of: u64,
    /// How many of these have a row in the table.
    pub found: u64,
    /// Rows that are not in the store, and were left out.
    pub ignored: u64,
}

impl Matched {
    /// What people should know: of vertices, objects or links without a row, and of rows that were left out.
    #[must_use]
    pub fn remarks(&self, change: &SetAttribute) -> Vec<String> {
        let mut remarks = Vec::new();
        let lacking = self.of.saturating_sub(self.found);
        if lacking > 0 {
            let (of, things) = (self.of, change.scope.plural());
            let result = match (&change.new, &change.fill) {
                (None, _) => "they keep their values".to_owned(),
                (Some(_), Some(fill)) => format!("they have {fill}"),
                (Some(_), None) => "they have none".to_owned(),
            };
            remarks.push(format!(
                "{lacking} of {of} {things} have no row in the table: {result}"
            ));
        }
        if self.ignored > 0 {
            let rows = rows(self.ignored);
            remarks.push(format!(
                "left out, since the store does not have them: {rows}"
            ));
        }
        remarks
    }
}

/// Rows of the store with their rows of the table.
#[derive(Debug)]
struct Pairs {
    /// Rows of the store, ascending, each once.
    rows: Vec<u64>,
    /// The row of the table of each.
    from: Vec<usize>,
    matched: Matched,
}

impl Pairs {
    /// Sorts pairs; each row of the store gets one row of the table.
    ///
    /// # Errors
    /// Misuse: a row of the store that has several rows of the table, which are not the `same`.
    fn new(
        mut pairs: Vec<(u64, usize)>,
        scope: Scope,
        (by, of): (String, u64),
        same: impl Fn(usize, usize) -> bool,
    ) -> Result<Self, WriteError> {
        pairs.sort_unstable();
        let twice = |pair: &[(u64, usize)]| match pair {
            [(a, first), (b, again)] if a == b && !same(*first, *again) => {
                Some((*a, *first, *again))
            }
            _ => None,
        };
        let twice: Vec<_> = pairs.windows(2).filter_map(twice).collect();
        if !twice.is_empty() {
            let twice = twice.iter();
            let twice =
                twice.map(|(row, a, b)| format!("{} {row} in rows {a} and {b}", scope.name()));
            let expected = format!("one value for each {}", scope.name());
            return Err(WriteError::input(
                format!("rows by {by}"),
                listed(twice),
                expected,
            ));
        }
        pairs.dedup_by_key(|(row, _)| *row);
        let (rows, from): (Vec<u64>, Vec<usize>) = pairs.into_iter().unzip();
        let matched = Matched {
            by,
            of,
            found: wide(rows.len()),
            ignored: 0,
        };
        Ok(Self {
            rows,
            from,
            matched,
        })
    }

    /// For each row of the store its row of the table.
    fn all(&self) -> Result<Vec<Option<usize>>, WriteError> {
        let mut all = vec![None; to_index("rows", self.matched.of)?];
        for (row, from) in self.rows.iter().zip(&self.from) {
            let place = all.get_mut(to_index("rows", *row)?);
            *place.or_bug("a row that the store does not have")? = Some(*from);
        }
        Ok(all)
    }

    /// Whether every row of the store has one of the table.
    fn is_whole(&self) -> bool {
        self.matched.found == self.matched.of
    }
}

/// Refuses rows of a table that the store does not have, unless they may be left out; returns how many were.
fn unmatched(
    what: &str,
    unknown: &[usize],
    show: impl Fn(usize) -> String,
    matching: &Matching,
) -> Result<u64, WriteError> {
    if unknown.is_empty() || matching.ignore_missing {
        return Ok(wide(unknown.len()));
    }
    let shown = listed(unknown.iter().map(|row| show(*row)));
    let found = format!(
        "{} that the store does not have: {shown}",
        rows(wide(unknown.len()))
    );
    let expected = "rows of the store (--ignore-missing leaves out all others)";
    Err(WriteError::input(what, found, expected))
}

fn rows(count: u64) -> String {
    format!("{count} {}", if count == 1 { "row" } else { "rows" })
}

impl Keys {
    /// Makes the keys findable, each once.
    ///
    /// # Errors
    /// Misuse: rows without a key, rows with the same key that are not the `same` otherwise.
    fn checked(mut self, same: impl Fn(usize, usize) -> bool) -> Result<Self, WriteError> {
        let what = || format!("column {}", self.names());
        let missing: Vec<usize> = self.rows(KeyState::Missing).collect();
        if !missing.is_empty() {
            let shown = listed(missing.iter().map(|row| format!("row {row}")));
            let found = format!("{} without a value: {shown}", rows(wide(missing.len())));
            return Err(WriteError::data(what(), found, "a value in every row"));
        }
        let what = what();
        let twice = self.index(same)?;
        if !twice.is_empty() {
            let shown = twice.iter();
            let shown = shown.map(|(a, b)| format!("{} (rows {a} and {b})", self.show(*b)));
            let found = format!("what other rows have, too: {}", listed(shown));
            return Err(WriteError::data(
                what,
                found,
                "each once, or with the same value",
            ));
        }
        Ok(self)
    }
}

/// Rows of the table that were found in the store, while the store is read.
#[derive(Debug)]
struct Search<'k> {
    keys: &'k Keys,
    /// By row of the table: how often it was found.
    hits: Vec<u32>,
    pairs: Vec<(u64, usize)>,
}

impl<'k> Search<'k> {
    fn new(keys: &'k Keys, rows: usize) -> Self {
        Self {
            keys,
            hits: vec![0; rows],
            pairs: Vec::new(),
        }
    }

    fn take(&mut self, row: u64, key: &[u8]) -> Result<(), WriteError> {
        if let Some(from) = self.keys.find(key)? {
            let hits = self.hits.get_mut(from).or_bug("a row behind its table")?;
            *hits = hits.saturating_add(1);
            self.pairs.push((row, from));
        }
        Ok(())
    }

    /// The pairs; refuses keys that several rows of the store have, unless it may be `several`.
    fn finish(
        self,
        scope: Scope,
        several: bool,
        of: u64,
        matching: &Matching,
    ) -> Result<Pairs, WriteError> {
        let Self { keys, hits, pairs } = self;
        let what = format!("column {}", keys.names());
        if !several {
            let again = |(row, hits): (usize, &u32)| (*hits > 1).then_some((row, *hits));
            let again: Vec<(usize, u32)> = hits.iter().enumerate().filter_map(again).collect();
            if !again.is_empty() {
                let shown = again.iter();
                let shown = shown
                    .map(|(row, hits)| format!("{} of {hits} {}", keys.show(*row), scope.plural()));
                let found = listed(shown);
                let expected = format!(
                    "a key that every {} of the store has another value of; several columns together may be one (--key A,B)",
                    scope.name()
                );
                return Err(WriteError::input(what, found, expected));
            }
        }
        let mut unknown: Vec<usize> = keys.rows(KeyState::Unknown).collect();
        for (row, _) in hits.iter().enumerate().filter(|(_, hits)| **hits == 0) {
            let Some((KeyState::Given, key)) = keys.row(row) else {
                continue;
            };
            // Of rows with the same key the first one is found.
            let first = keys.find(key)?;
            let first = first.and_then(|first| hits.get(first));
            if first == Some(&0) {
                unknown.push(row);
            }
        }
        unknown.sort_unstable();
        let ignored = unmatched(&what, &unknown, |row| keys.show(row), matching)?;
        let mut pairs = Pairs::new(pairs, scope, (keys.names(), of), |_, _| true)?;
        pairs.matched.ignored = ignored;
        Ok(pairs)
    }
}

/// The number type of an attribute of links, and its bytes in a row of all of them.
type StoredField = (NumberType, std::ops::Range<usize>);

impl Edit {
    /// Sets values of an attribute of vertices, objects or links by a table, or adds the attribute. The table has the columns of queries, or a
    /// column an axis, and the values in a column of the name of the attribute (or `attribute:NAME`, or `NAME_0`, `NAME_1`, …); other columns
    /// are ignored. What has no row in the table keeps its value; of a new attribute it gets [`SetAttribute::fill`], else none (NaN, no text).
    ///
    /// Without a table: only the fill is recorded, or every vertex or link gets it in a new attribute.
    ///
    /// # Cost
    /// What is compared is read chunk by chunk: 13 bytes and the key for each row of the table are held, 16 for each row that is found. Setting
    /// the values costs what [`set_vertex_attribute`](Self::set_vertex_attribute), [`put_objects`](Self::put_objects) and
    /// [`set_link_attribute`](Self::set_link_attribute) cost.
    ///
    /// # Errors
    /// Misuse: a table that says in no way what its rows are for; rows that are not in the store, or that are for the same vertex with another
    /// value; columns that contradict each other; values that do not fit. I/O.
    pub fn set_attribute<'a>(
        &'a mut self,
        change: &'a SetAttribute,
        table: Option<&'a RecordBatch>,
    ) -> BoxFuture<'a, Result<Matched, WriteError>> {
        Box::pin(async move {
            self.usable()?;
            let done = Box::pin(self.assign(change, table)).await;
            if let Err(error) = &done {
                self.broken = Some(error.to_string());
            }
            done
        })
    }

    /// The specification of an attribute that is there, as values are given for it.
    async fn known(&mut self, scope: Scope, name: &str) -> Result<AttributeSpec, WriteError> {
        let known = match scope {
            Scope::Vertex => self.vertex_attributes(),
            Scope::Object => self.object_attributes().await?,
            Scope::Link => self.state.spec.links.attributes.clone(),
        };
        let found = known.iter().find(|one| one.name == name).cloned();
        found.ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|one| one.name.as_str()).collect();
            let what = format!("{} attribute {name}", scope.name());
            let expected = match names.is_empty() {
                true => "one that is there; --type adds it".to_owned(),
                false => format!("one of {}; --type adds another one", names.join(", ")),
            };
            WriteError::input(what, "nothing", expected)
        })
    }

    async fn assign(
        &mut self,
        change: &SetAttribute,
        table: Option<&RecordBatch>,
    ) -> Result<Matched, WriteError> {
        let (scope, name) = (change.scope, change.name.as_str());
        if change.matching.key.iter().any(|key| key == name) {
            let expected = "other attributes: its values are to be replaced";
            return Err(WriteError::input(
                format!("key {name}"),
                "the attribute itself",
                expected,
            ));
        }
        let one = match &change.new {
            Some(new) => new.clone(),
            None => self.known(scope, name).await?,
        };
        let fill = change.fill.as_deref();
        if scope == Scope::Object && fill.is_some() {
            let expected = "none: an object may have no value";
            return Err(WriteError::input(
                format!("object attribute {name}"),
                "a fill",
                expected,
            ));
        }
        let fill = fill
            .map(|text| super::fill::value(&one, text))
            .transpose()?;
        let fill = fill.map(|one_row| (one_row, change.fill.as_deref().unwrap_or_default()));
        let given = fill.as_ref();
        let given = given
            .map(|(values, _)| Given::new(values, one.channels))
            .transpose()?;
        let matched = match table {
            Some(table) => {
                let values = tabular::fitted(table, &one, given.as_ref())?;
                self.assign_values(change, (&one, &values, given.as_ref()), table)
                    .await?
            }
            None if given.is_none() => {
                return Err(WriteError::input(
                    "values",
                    "no table",
                    "a table, or a fill",
                ));
            }
            None => self.assign_fill(change, &one, given.as_ref()).await?,
        };
        if let Some((_, text)) = &fill {
            self.record_fill(scope, &one, text);
        }
        Ok(matched)
    }

    /// Adds an attribute that has the fill everywhere; nothing of one that is there.
    async fn assign_fill(
        &mut self,
        change: &SetAttribute,
        one: &AttributeSpec,
        fill: Option<&Given<'_>>,
    ) -> Result<Matched, WriteError> {
        let of = match change.scope {
            Scope::Link => wide(self.all_links().await?.len()),
            _ => self.first_rows().await?.1,
        };
        if change.new.is_some() {
            let none = super::fill::none(one);
            let none = Given::new(&none, one.channels)?;
            let rows = std::iter::repeat_n(None, to_index("rows", of)?);
            let all = none.take(rows, fill)?;
            match change.scope {
                Scope::Link => self.add_link_attribute(one.clone(), &all).await?,
                _ => self.add_vertex_attribute(one.clone(), &all).await?,
            }
        }
        Ok(Matched {
            by: "fill".to_owned(),
            of,
            found: of,
            ignored: 0,
        })
    }

    async fn assign_values(
        &mut self,
        change: &SetAttribute,
        (one, values, fill): (&AttributeSpec, &Values<'_>, Option<&Given<'_>>),
        table: &RecordBatch,
    ) -> Result<Matched, WriteError> {
        let given = Given::new(values, one.channels)?;
        if values.len() != table.num_rows() * one.channels {
            let found = format!("{} values in {} rows", values.len(), table.num_rows());
            let expected = format!("{} a row", one.channels);
            return Err(WriteError::input(
                format!("column {}", one.name),
                found,
                expected,
            ));
        }
        let (scope, how) = (change.scope, &change.matching);
        if scope == Scope::Object {
            if let Some(new) = &change.new {
                self.add_object_attribute(new.clone()).await?;
            }
            let (ids, from, matched) = self
                .match_objects(table, how, |a, b| given.same(a, b))
                .await?;
            let taken = given.take(from.into_iter().map(Some), None)?;
            let objects = ObjectTable::new(ids).with_attribute(&one.name, taken);
            self.put_objects(&objects).await?;
            return Ok(matched);
        }
        let (pairs, found) = match scope {
            Scope::Link => self.match_links(table, how, change.new.is_some()).await?,
            _ => {
                let same = |a: usize, b: usize| given.same(a, b);
                (
                    self.match_vertices(table, how, true, &same).await?,
                    Vec::new(),
                )
            }
        };
        if change.new.is_none() {
            let taken = given.take(pairs.from.iter().copied().map(Some), None)?;
            match scope {
                Scope::Link => self.set_found_links(&one.name, found, &taken)?,
                _ => self.set_rows(&one.name, &pairs, &taken).await?,
            }
            return Ok(pairs.matched);
        }
        let absent = match fill {
            None if pairs.is_whole() => None,
            None => Some(Values::absent(one, one.channels).map_err(|_numbers| {
                let found = format!(
                    "rows for {} of {} {}",
                    pairs.matched.found,
                    pairs.matched.of,
                    scope.plural()
                );
                let expected = format!(
                    "one for each: {} has no value for a missing one; --fill VALUE gives the others one",
                    one.values.name()
                );
                WriteError::input(format!("{} attribute {}", scope.name(), one.name), found, expected)
            })?),
            Some(_) => None,
        };
        let absent = absent.as_ref();
        let absent = absent
            .map(|absent| Given::new(absent, one.channels))
            .transpose()?;
        let all = given.take(pairs.all()?.into_iter(), fill.or(absent.as_ref()))?;
        match scope {
            Scope::Link => self.add_link_attribute(one.clone(), &all).await?,
            _ => self.add_vertex_attribute(one.clone(), &all).await?,
        }
        Ok(pairs.matched)
    }

    async fn set_rows(
        &mut self,
        name: &str,
        pairs: &Pairs,
        values: &Values<'_>,
    ) -> Result<(), WriteError> {
        let at = match pairs.is_whole() {
            true => At::All,
            false => At::Rows(&pairs.rows),
        };
        self.set_vertex_attribute(name, at, values).await
    }

    /// Sets values of several attributes of vertices; the columns of the key are none.
    pub(super) async fn set_vertices(
        &mut self,
        table: &RecordBatch,
        how: &Matching,
        given: &[(String, Values<'_>)],
    ) -> Result<Matched, WriteError> {
        let mut columns = Vec::new();
        for (name, values) in given {
            let channels = values.len().checked_div(table.num_rows()).unwrap_or(1);
            columns.push((name, Given::new(values, channels)?));
        }
        let same = |a: usize, b: usize| columns.iter().all(|(_, given)| given.same(a, b));
        let pairs = self.match_vertices(table, how, true, &same).await?;
        for (name, given) in &columns {
            let taken = given.take(pairs.from.iter().copied().map(Some), None)?;
            self.set_rows(name, &pairs, &taken).await?;
        }
        Ok(pairs.matched)
    }

    /// Sets values of several attributes of objects.
    pub(super) async fn put_object_columns(
        &mut self,
        table: &RecordBatch,
        how: &Matching,
        given: &[(String, Values<'_>)],
    ) -> Result<Matched, WriteError> {
        let mut columns = Vec::new();
        for (name, values) in given {
            let channels = values.len().checked_div(table.num_rows()).unwrap_or(1);
            columns.push((name, Given::new(values, channels)?));
        }
        let same = |a: usize, b: usize| columns.iter().all(|(_, given)| given.same(a, b));
        let (ids, from, matched) = self.match_objects(table, how, same).await?;
        let mut objects = ObjectTable::new(ids);
        for (name, given) in &columns {
            let taken = given.take(from.iter().copied().map(Some), None)?;
            objects = objects.with_attribute(name.as_str(), taken);
        }
        self.put_objects(&objects).await?;
        Ok(matched)
    }

    /// Moves vertices to the positions of a table.
    pub(super) async fn move_matched(
        &mut self,
        table: &RecordBatch,
        how: &Matching,
        positions: &Values<'_>,
    ) -> Result<Matched, WriteError> {
        let given = Given::new(positions, self.state.spec.dims())?;
        let same = |a: usize, b: usize| given.same(a, b);
        let pairs = self.match_vertices(table, how, false, &same).await?;
        let taken = given.take(pairs.from.iter().copied().map(Some), None)?;
        self.move_vertices(At::Rows(&pairs.rows), &taken).await?;
        Ok(pairs.matched)
    }

    /// Sets values of several attributes of links; the columns of the key are none.
    pub(super) async fn set_link_columns(
        &mut self,
        table: &RecordBatch,
        how: &Matching,
        given: &[(String, Values<'_>)],
    ) -> Result<Matched, WriteError> {
        let (pairs, found) = self.match_links(table, how, false).await?;
        for (name, values) in given {
            let channels = values.len().checked_div(table.num_rows()).unwrap_or(1);
            let given = Given::new(values, channels)?;
            let taken = given.take(pairs.from.iter().copied().map(Some), None)?;
            self.set_found_links(name, found.clone(), &taken)?;
        }
        Ok(pairs.matched)
    }

    /// Where the store has the columns of a key of vertices.
    fn vertex_key(
        &self,
        table: &RecordBatch,
        names: &[String],
    ) -> Result<(Vec<Stored>, Vec<KeyColumn>), WriteError> {
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
                    (Stored::Attribute(at), coding)
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
                    (Stored::Rank, Coding::Words(coded(&texts), NumberType::I64))
                }
                None if name == "object_id" && self.index.is_some() => {
                    (Stored::Owner, Coding::Number(NumberType::I64))
                }
                None => {
                    let known = self.vertex_attributes();
                    let known: Vec<&str> = known.iter().map(|one| one.name.as_str()).collect();
                    return Err(not_a_key(Scope::Vertex, name, &known));
                }
            };
            let dims = match stored {
                Stored::Attribute(at) => self.state.spec.vertex_attributes.get(at),
                _ => None,
            };
            let dims = dims.map_or(1, |one| one.channels);
            columns.push(key_column(table, name, coding, dims)?);
            parts.push(stored);
        }
        Ok((parts, columns))
    }

    /// Which rows of the table are for which vertices; by positions only if `by_position`.
    async fn match_vertices(
        &mut self,
        table: &RecordBatch,
        how: &Matching,
        by_position: bool,
        same: &(dyn Fn(usize, usize) -> bool + Sync),
    ) -> Result<Pairs, WriteError> {
        let rows = table.num_rows();
        if !how.key.is_empty() {
            exclusive(how)?;
            let (parts, columns) = self.vertex_key(table, &how.key)?;
            let keys = Keys::new(columns, rows)?.checked(|_, _| false)?;
            return self.search(&parts, &keys, rows, false, how).await;
        }
        let axes = match by_position {
            true => tabular::positions(table, &self.state.spec.axes),
            false => Vec::new(),
        };
        let owned = self.index.is_some() && table.column_by_name("object_id").is_some();
        let addresses = self.addresses(table).await?;
        let primary = match addresses.first() {
            _ if how.by_order => None,
            Some((by, rows)) => Some((by, rows)),
            None if !axes.is_empty() => {
                let (parts, columns) = self.place_key(table, &axes, owned)?;
                let keys = Keys::new(columns, rows)?.checked(same)?;
                return self.search(&parts, &keys, rows, true, how).await;
            }
            None => return Err(no_way(Scope::Vertex, rows)),
        };
        let (_, total) = self.first_rows().await?;
        let mut pairs = match primary {
            None => in_order(Scope::Vertex, rows, total)?,
            Some((by, found)) => {
                let lost = found.iter().enumerate().filter(|(_, at)| at.is_none());
                let lost: Vec<usize> = lost.map(|(row, _)| row).collect();
                let show = |row| self.show_address(table, row);
                let ignored = unmatched(&format!("columns {by}"), &lost, show, how)?;
                let all = found.iter().enumerate();
                let all = all.filter_map(|(row, at)| Some(((*at)?, row))).collect();
                let mut pairs = Pairs::new(all, Scope::Vertex, (by.clone(), total), same)?;
                pairs.matched.ignored = ignored;
                pairs
            }
        };
        for (by, found) in &addresses {
            let other = pairs.rows.iter().zip(&pairs.from);
            let mut other = other.filter(|(row, from)| found.get(**from) != Some(&Some(**row)));
            if let Some((row, from)) = other.next() {
                let found = format!("another vertex than {row} in row {from}");
                let expected = format!("the same as by {}", pairs.matched.by);
                return Err(WriteError::input(format!("columns {by}"), found, expected));
            }
        }
        if !axes.is_empty() || owned {
            self.check_places(table, &axes, owned, &mut pairs).await?;
        }
        Ok(pairs)
    }

    async fn search(
        &mut self,
        parts: &[Stored],
        keys: &Keys,
        rows: usize,
        several: bool,
        how: &Matching,
    ) -> Result<Pairs, WriteError> {
        let mut search = Search::new(keys, rows);
        self.scan(parts, None, |row, key| search.take(row, key))
            .await?;
        let (_, total) = self.first_rows().await?;
        search.finish(Scope::Vertex, several, total, how)
    }

    /// Positions as a key, with the object where the table has it.
    fn place_key(
        &self,
        table: &RecordBatch,
        axes: &[arrow_array::ArrayRef],
        owned: bool,
    ) -> Result<(Vec<Stored>, Vec<KeyColumn>), WriteError> {
        let spec = &self.state.spec;
        let (mut parts, mut columns) = (Vec::new(), Vec::new());
        if owned {
            parts.push(Stored::Owner);
            let coding = Coding::Number(NumberType::I64);
            columns.push(key_column(table, "object_id", coding, 1)?);
        }
        if !axes.is_empty() {
            parts.push(Stored::Position);
            let names: Vec<&str> = spec.axes.iter().map(|axis| axis.name.as_str()).collect();
            columns.push(KeyColumn {
                name: names.join(","),
                columns: axes.to_vec(),
                coding: Coding::Number(spec.positions),
            });
        }
        Ok((parts, columns))
    }

    /// Refuses rows whose positions or objects are not those of their vertices.
    async fn check_places(
        &mut self,
        table: &RecordBatch,
        axes: &[arrow_array::ArrayRef],
        owned: bool,
        pairs: &mut Pairs,
    ) -> Result<(), WriteError> {
        let (parts, columns) = self.place_key(table, axes, owned)?;
        let keys = Keys::new(columns, table.num_rows())?;
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
            self::rows(wide(wrong.len())),
            listed(shown)
        );
        let expected = format!(
            "those of the vertices that the rows are for, by {}",
            pairs.matched.by
        );
        Err(WriteError::input(
            format!("columns {}", keys.names()),
            found,
            expected,
        ))
    }

    /// What the columns of a table that say where a vertex lies are, for messages.
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

    /// The vertices that the columns of a table name, in each way that it has: by name of the columns, for each row the number of the vertex.
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
                    ("object_id, vertex".to_owned(), found)
                }
                None => {
                    let (_, total) = self.first_rows().await?;
                    let found = places.into_iter().map(|place| {
                        let place = u64::try_from(place?).ok();
                        place.filter(|place| *place < total)
                    });
                    ("vertex".to_owned(), found.collect())
                }
            });
        }
        Ok(all)
    }

    async fn by_chunk(
        &mut self,
        chunks: &[arrow_array::ArrayRef],
        row: &arrow_array::ArrayRef,
    ) -> Result<Vec<Option<u64>>, WriteError> {
        let rows = tabular::wholes("row", row)?;
        let components = row_major("chunk", chunks, rows.len())?;
        self.at_chunks(&components, &rows).await
    }

    /// The vertices of rows of chunks; the chunks by the components of their coordinates, one after another.
    async fn at_chunks(
        &mut self,
        components: &[Option<i128>],
        rows: &[Option<i128>],
    ) -> Result<Vec<Option<u64>>, WriteError> {
        let (firsts, _) = self.first_rows().await?;
        let mut known: HashMap<&[i64], (u64, u64)> = HashMap::new();
        for (first, slot) in &firsts {
            let count = wide(self.state.sizes(*slot).iter().sum());
            known.insert(self.state.coord(*slot)?, (*first, count));
        }
        let rank = components.len().checked_div(rows.len()).unwrap_or(1).max(1);
        let mut found = Vec::with_capacity(rows.len());
        let mut coord = Vec::new();
        for (row, components) in rows.iter().zip(components.chunks(rank)) {
            coord.clear();
            let all = components.iter();
            coord.extend(all.filter_map(|one| i64::try_from((*one)?).ok()));
            let place = known.get(coord.as_slice()).and_then(|(first, count)| {
                let row = u64::try_from((*row)?).ok()?;
                (row < *count).then_some(first + row)
            });
            found.push(place);
        }
        Ok(found)
    }

    async fn by_object(
        &mut self,
        ids: &[Option<i128>],
        places: &[Option<i128>],
    ) -> Result<Vec<Option<u64>>, WriteError> {
        let named = |(id, place): (&Option<i128>, &Option<i128>)| {
            let id = i64::try_from((*id)?).ok()?;
            Some((id, u64::try_from((*place)?).ok()?))
        };
        let named: Vec<Option<(i64, u64)>> = ids.iter().zip(places).map(named).collect();
        let spots = self.spots_in_objects(&named).await?;
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

    /// The objects of the rows of a table, with the rows.
    pub(super) async fn match_objects(
        &mut self,
        table: &RecordBatch,
        how: &Matching,
        same: impl Fn(usize, usize) -> bool + Send,
    ) -> Result<(Vec<i64>, Vec<usize>, Matched), WriteError> {
        self.load_tables().await?;
        let rows = table.num_rows();
        let index = self.index.as_ref().ok_or_else(ops::no_objects)?;
        let live = index.ids.iter().copied().enumerate();
        let live: Vec<(usize, i64)> = live.filter(|(_, id)| !index.deleted.contains(id)).collect();
        let of = wide(live.len());
        let by_id = how.key.is_empty() || how.key == ["object_id"];
        let column = tabular::plain(table, "object_id").filter(|_| by_id);
        let pairs = match column {
            Some(column) => {
                let given = tabular::wholes("object_id", &column)?;
                let mut known: HashMap<i64, usize> = HashMap::new();
                known.extend(live.iter().map(|(_, id)| *id).zip(0..));
                let (mut all, mut unknown, mut fresh) = (Vec::new(), Vec::new(), Vec::new());
                for (row, id) in given.iter().enumerate() {
                    let id = id.and_then(|id| i64::try_from(id).ok());
                    match id.map(|id| (id, known.get(&id))) {
                        Some((_, Some(at))) => all.push((wide(*at), row)),
                        Some((id, None)) if how.new_objects => {
                            known.insert(id, live.len() + fresh.len());
                            all.push((wide(live.len() + fresh.len()), row));
                            fresh.push(id);
                        }
                        _ => unknown.push(row),
                    }
                }
                let show = |row: usize| match given.get(row) {
                    Some(Some(id)) => format!("object {id}"),
                    _ => format!("no id in row {row}"),
                };
                let ignored = no_objects_of(&unknown, show, how)?;
                let mut pairs = Pairs::new(all, Scope::Object, ("object_id".to_owned(), of), same)?;
                pairs.matched.ignored = ignored;
                if how.by_order && (rows != live.len() || !pairs.from.is_sorted()) {
                    let expected = "the objects in the order of the store";
                    return Err(WriteError::input(
                        "column object_id",
                        "another order",
                        expected,
                    ));
                }
                let ids: Vec<i64> = live.iter().map(|(_, id)| *id).chain(fresh).collect();
                return named(&ids, pairs);
            }
            None if !how.key.is_empty() => {
                exclusive(how)?;
                self.search_objects(table, how, &live)?
            }
            None if how.by_order => in_order(Scope::Object, rows, of)?,
            None => return Err(no_way(Scope::Object, rows)),
        };
        let ids: Vec<i64> = live.iter().map(|(_, id)| *id).collect();
        named(&ids, pairs)
    }

    /// The objects that have the key of a row, among those that have a row in the index.
    fn search_objects(
        &self,
        table: &RecordBatch,
        how: &Matching,
        live: &[(usize, i64)],
    ) -> Result<Pairs, WriteError> {
        let mut columns = Vec::new();
        let mut stored: Vec<Vec<Option<Vec<u8>>>> = Vec::new();
        for name in &how.key {
            if name == "object_id" && !self.tables.contains_key(name) {
                columns.push(key_column(table, name, Coding::Number(NumberType::I64), 1)?);
                let ids = live.iter().map(|(_, id)| Some(id.to_le_bytes().to_vec()));
                stored.push(ids.collect());
                continue;
            }
            let Some(of) = self.tables.get(name) else {
                let known: Vec<&str> = self.tables.keys().map(String::as_str).collect();
                return Err(not_a_key(Scope::Object, name, &known));
            };
            let mut codes: HashMap<String, i64> = HashMap::new();
            let mut values = Vec::with_capacity(live.len());
            for (row, _) in live {
                let value = of.value(*row);
                values.push(match value {
                    Some(Value::Number(bytes)) => Some(bytes.to_vec()),
                    Some(Value::Text(text)) => {
                        let next = zvf_format::int::signed(codes.len());
                        let code = *codes.entry(text.to_owned()).or_insert(next);
                        Some(code.to_le_bytes().to_vec())
                    }
                    None => None,
                });
            }
            let coding = match of.spec.values.number() {
                Some(number) => Coding::Number(number),
                None => Coding::Words(codes, NumberType::I64),
            };
            columns.push(key_column(table, name, coding, of.spec.channels)?);
            stored.push(values);
        }
        let numbers: Vec<NumberType> = columns.iter().map(|one| one.coding.number()).collect();
        let keys = Keys::new(columns, table.num_rows())?.checked(|_, _| false)?;
        let mut search = Search::new(&keys, table.num_rows());
        let mut key = Vec::new();
        for at in 0..live.len() {
            key.clear();
            let mut is_key = true;
            for (values, number) in stored.iter().zip(&numbers) {
                let start = key.len();
                match values.get(at) {
                    Some(Some(value)) => key.extend_from_slice(value),
                    _ => is_key = false,
                }
                let part = key.get_mut(start..).or_bug("a part of a key")?;
                is_key &= super::matching::normalize(*number, part);
            }
            if is_key {
                search.take(wide(at), &key)?;
            }
        }
        search.finish(Scope::Object, false, wide(live.len()), how)
    }

    /// The links of the rows of a table, in the order of the pairs; numbered among all links if `whole`.
    async fn match_links(
        &mut self,
        table: &RecordBatch,
        how: &Matching,
        whole: bool,
    ) -> Result<(Pairs, Vec<super::link_values::Found>), WriteError> {
        let rows = table.num_rows();
        let ends = match how.key.is_empty() {
            true => self.ends(table).await?,
            false => None,
        };
        let names = match &ends {
            Some((_, ends)) => Some(self.end_names(ends).await?),
            None => None,
        };
        // Values of links by their ends need only the links that are near them.
        let all = match &names {
            Some(names) if !whole => self.links_near(names).await?,
            _ => self.all_links().await?,
        };
        let of = wide(all.len());
        let pairs = match ends.zip(names) {
            Some(((by, _), names)) => {
                let at = self.places_of_links(&all, &names);
                let lost = at.iter().enumerate().filter(|(_, at)| at.is_none());
                let lost: Vec<usize> = lost.map(|(row, _)| row).collect();
                let message = |row: usize| {
                    let columns = tabular::columns(table, &by);
                    format!("link {row} ({})", show(&by, &columns, row))
                };
                let ignored = no_links_of(&lost, message, how)?;
                let found = at.iter().enumerate();
                let found = found.filter_map(|(row, at)| Some((wide((*at)?), row)));
                let found: Vec<(u64, usize)> = found.collect();
                let of = if whole { of } else { wide(found.len()) };
                let mut pairs = Pairs::new(found, Scope::Link, (by, of), |_, _| false)?;
                pairs.matched.ignored = ignored;
                pairs
            }
            None if !how.key.is_empty() => {
                exclusive(how)?;
                let (keys, ranges) = self.link_key(table, how)?;
                let mut search = Search::new(&keys, rows);
                let mut key = Vec::new();
                for (at, (_, link)) in all.iter().enumerate() {
                    key.clear();
                    let mut is_key = true;
                    for (number, range) in &ranges {
                        let start = key.len();
                        let value = link.attributes.get(range.clone());
                        key.extend_from_slice(value.or_bug("a link without this value")?);
                        let part = key.get_mut(start..).or_bug("a part of a key")?;
                        is_key &= super::matching::normalize(*number, part);
                    }
                    if is_key {
                        search.take(wide(at), &key)?;
                    }
                }
                search.finish(Scope::Link, false, of, how)?
            }
            None if how.by_order => in_order(Scope::Link, rows, of)?,
            None => return Err(no_way(Scope::Link, rows)),
        };
        let mut all: Vec<Option<super::link_values::Found>> = all.into_iter().map(Some).collect();
        let mut found = Vec::with_capacity(pairs.rows.len());
        for row in &pairs.rows {
            let one = all.get_mut(to_index("links", *row)?).and_then(Option::take);
            found.push(one.or_bug("a link that is there twice")?);
        }
        Ok((pairs, found))
    }

    /// The columns of a key of links, and where their stored values are.
    fn link_key(
        &self,
        table: &RecordBatch,
        how: &Matching,
    ) -> Result<(Keys, Vec<StoredField>), WriteError> {
        let attributes = &self.state.spec.links.attributes;
        let (mut columns, mut ranges) = (Vec::new(), Vec::new());
        for name in &how.key {
            let mut start = 0;
            let mut part = None;
            for one in attributes {
                let end = start + zvf_write::layout::row_size(one);
                if one.name == *name {
                    part = Some((one, start..end));
                }
                start = end;
            }
            let Some((one, range)) = part else {
                let known: Vec<&str> = attributes.iter().map(|one| one.name.as_str()).collect();
                return Err(not_a_key(Scope::Link, name, &known));
            };
            let number = one.values.number().or_bug("links with texts")?;
            columns.push(key_column(
                table,
                name,
                Coding::Number(number),
                one.channels,
            )?);
            ranges.push((number, range));
        }
        let keys = Keys::new(columns, table.num_rows())?.checked(|_, _| false)?;
        Ok((keys, ranges))
    }

    /// The ends of links in a table, one link after another, with the name of their column; `None`: it has none.
    async fn ends(
        &mut self,
        table: &RecordBatch,
    ) -> Result<Option<(String, super::link_values::Ends)>, WriteError> {
        let width = self.state.spec.links.width;
        let count = table.num_rows();
        // As `zvf links` writes them.
        let (chunks, rows) = (
            tabular::columns(table, "chunks"),
            tabular::columns(table, "rows"),
        );
        let rank = self.state.level.key_rank();
        let placed = tabular::width(&rows)? == width && tabular::width(&chunks)? == width * rank;
        if placed && width > 0 && tabular::columns(table, "vertices").is_empty() {
            let chunks = row_major("chunks", &chunks, count)?;
            let rows = row_major("rows", &rows, count)?;
            let ends = self.at_chunks(&chunks, &rows).await?;
            let ends = super::link_values::Ends { ids: None, ends };
            return Ok(Some(("rows".to_owned(), ends)));
        }
        for by in ["vertices", "vertex"] {
            let columns = tabular::columns(table, by);
            let ids = tabular::plain(table, "object_id");
            if columns.is_empty() || (by == "vertex" && ids.is_none()) {
                continue;
            }
            let found = tabular::width(&columns)?;
            if found != width {
                let expected = format!("{width} for each link");
                return Err(WriteError::input(
                    format!("column {by}"),
                    format!("{found} ends"),
                    expected,
                ));
            }
            let ends = row_major(by, &columns, count)?.into_iter();
            let ends = ends.map(|end| u64::try_from(end?).ok()).collect();
            let ids = match (by, ids) {
                ("vertex", Some(ids)) => {
                    let ids = tabular::wholes("object_id", &ids)?.into_iter();
                    Some(ids.map(|id| i64::try_from(id?).ok()).collect())
                }
                _ => None,
            };
            let ends = super::link_values::Ends { ids, ends };
            return Ok(Some((by.to_owned(), ends)));
        }
        Ok(None)
    }
}

/// A value of an object.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'t> {
    Number(&'t [u8]),
    Text(&'t str),
}

impl super::tables::Table {
    /// The value of the object of a row.
    fn value(&self, row: usize) -> Option<Value<'_>> {
        let place = self.place(row)?;
        match self.held() {
            Held::Numbers(number, bytes) => {
                let width = number.size() * self.spec.channels;
                bytes
                    .get(place * width..(place + 1) * width)
                    .map(Value::Number)
            }
            Held::Texts(texts) => texts.get(place)?.as_deref().map(Value::Text),
        }
    }
}

/// The whole numbers of some columns, all of a row together.
fn row_major(
    name: &str,
    columns: &[arrow_array::ArrayRef],
    rows: usize,
) -> Result<Vec<Option<i128>>, WriteError> {
    let mut lists = Vec::new();
    for column in columns {
        lists.push((
            tabular::width(std::slice::from_ref(column))?,
            tabular::wholes(name, column)?,
        ));
    }
    let mut all = Vec::new();
    for row in 0..rows {
        for (width, list) in &lists {
            let some = list.get(row * width..(row + 1) * width);
            all.extend_from_slice(some.unwrap_or_default());
        }
    }
    Ok(all)
}

/// Codes of texts, by text.
fn coded(texts: &[String]) -> HashMap<String, i64> {
    texts.iter().cloned().zip(0..).collect()
}

fn key_column(
    table: &RecordBatch,
    name: &str,
    coding: Coding,
    channels: usize,
) -> Result<KeyColumn, WriteError> {
    let mut columns = tabular::attribute(table, name);
    if name == "object_id" && columns.is_empty() {
        columns.extend(tabular::plain(table, name));
    }
    let found = tabular::width(&columns)?;
    if found != channels {
        let what = format!("key {name}");
        let found = match found {
            0 => "no such column in the table".to_owned(),
            found => format!("{found} values a row in the table"),
        };
        return Err(WriteError::input(what, found, channels.to_string()));
    }
    Ok(KeyColumn {
        name: name.to_owned(),
        columns,
        coding,
    })
}

#[cold]
fn not_a_key(scope: Scope, name: &str, known: &[&str]) -> WriteError {
    let what = format!("key {name}");
    let found = format!("no {} attribute of this name", scope.name());
    let expected = match known.is_empty() {
        true => format!("an attribute of the {}: there is none", scope.plural()),
        false => format!("one or several of {}", known.join(", ")),
    };
    WriteError::input(what, found, expected)
}

/// Refuses a key beside the order.
fn exclusive(how: &Matching) -> Result<(), WriteError> {
    match how.by_order {
        true => Err(WriteError::input(
            "matching",
            "a key and the order",
            "one of them",
        )),
        false => Ok(()),
    }
}

/// The message for a table that says in no way what its rows are for.
#[cold]
fn no_way(scope: Scope, rows: usize) -> WriteError {
    let found = format!(
        "{} that do not say which {} they are for",
        self::rows(wide(rows)),
        scope.plural()
    );
    let expected = match scope {
        Scope::Vertex => WAYS.to_owned(),
        Scope::Object => "a column object_id, or one that every object has another value of (--key COLUMN); \
            --by-order takes the rows in the order of `zvf objects`"
            .to_owned(),
        Scope::Link => "the ends vertices_0, vertices_1, … (or object_id and vertex_0, vertex_1, …), or a column that every link has \
            another value of (--key COLUMN); --by-order takes the rows in the order of `zvf links`"
            .to_owned(),
    };
    WriteError::input("the table", found, expected)
}

fn in_order(scope: Scope, rows: usize, of: u64) -> Result<Pairs, WriteError> {
    if wide(rows) != of {
        let expected = format!("{of}: one for each {}", scope.name());
        return Err(WriteError::input(
            "rows by order",
            self::rows(wide(rows)),
            expected,
        ));
    }
    Ok(Pairs {
        rows: (0..of).collect(),
        from: (0..rows).collect(),
        matched: Matched {
            by: "order".to_owned(),
            of,
            found: of,
            ignored: 0,
        },
    })
}

fn no_objects_of(
    unknown: &[usize],
    show: impl Fn(usize) -> String,
    how: &Matching,
) -> Result<u64, WriteError> {
    if unknown.is_empty() || how.ignore_missing {
        return Ok(wide(unknown.len()));
    }
    let shown = listed(unknown.iter().map(|row| show(*row)));
    let expected = "objects of this store (--new makes them, --ignore-missing leaves them out)";
    Err(WriteError::input("column object_id", shown, expected))
}

fn no_links_of(
    unknown: &[usize],
    show: impl Fn(usize) -> String,
    how: &Matching,
) -> Result<u64, WriteError> {
    if unknown.is_empty() || how.ignore_missing {
        return Ok(wide(unknown.len()));
    }
    let shown = listed(unknown.iter().map(|row| show(*row)));
    let found = format!("no (further) link between the vertices of {shown}");
    let expected = "links of this store (--ignore-missing leaves out all others)";
    Err(WriteError::input("ends of links", found, expected))
}

/// Ids of objects by their number, in the order of pairs.
fn named(ids: &[i64], pairs: Pairs) -> Result<(Vec<i64>, Vec<usize>, Matched), WriteError> {
    let mut found = Vec::with_capacity(pairs.rows.len());
    for row in &pairs.rows {
        let id = ids.get(to_index("objects", *row)?);
        found.push(*id.or_bug("an object without an id")?);
    }
    Ok((found, pairs.from, pairs.matched))
}
