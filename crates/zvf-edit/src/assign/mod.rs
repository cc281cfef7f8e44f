//! Sets values from tables for vertices, objects and links: matches the rows, then sets the values or adds an attribute.

mod links;
mod objects;
mod stated;
mod vertices;

use std::collections::{BTreeSet, HashSet};

use arrow_array::RecordBatch;
use futures::future::BoxFuture;

use super::matching::{
    Coding, KeyColumn, KeyState, Matching, Scope, TableKeys, TableValues, listed,
};
use super::{Edit, tabular};
use zvf_encode::arrow::{in_stored_units, values_with_gaps};
use zvf_encode::error::{OrBug, to_index};
use zvf_encode::{AttributeSpec, NumberType, ObjectTable, Values, WriteError};
use zvf_format::int::wide;
use zvf_meta::moments::Moments;

/// The ways to match vertices, for messages.
const WAYS: &str = "a column with a different value for each vertex (--key COLUMN), the columns chunk and row (or vertex and object_id) of a query, or the positions; \
    --by-order takes the rows in the order of a query of the whole store, --by-object-order object after object";

/// Values for an attribute of vertices, objects or links.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SetAttribute {
    /// The owner of the attribute: vertices, objects or links.
    pub scope: Scope,
    /// Its name.
    pub name: String,
    /// How the rows of the table are matched.
    pub matching: Matching,
    /// Adds the attribute, with this specification.
    pub new: Option<AttributeSpec>,
    /// The value for vertices, objects and links without a row in the table, if the attribute is new, and for gaps in the table. It is recorded with
    /// the attribute as the default for vertices, links and objects that are appended later without a value.
    pub fill: Option<String>,
}

impl SetAttribute {
    /// Values of an existing attribute, by columns of the table.
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

    /// Sets how the rows of the table are matched.
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

    /// Adds the attribute, with a type by its name: `float32`, `int64`, …, `text`, or a type of dates or durations ([`Moments::unit_of_type`]), and
    /// `channels` values per row.
    ///
    /// # Errors
    /// Misuse: no such type.
    pub fn with_type(self, type_: &str, channels: usize) -> Result<Self, WriteError> {
        let name = self.name.clone();
        let spec = match (type_, self.scope, Moments::unit_of_type(type_)) {
            ("text", Scope::Object, _) => AttributeSpec::text(name),
            ("text", ..) => AttributeSpec::category(name),
            (.., Some(unit)) => AttributeSpec::number(name, NumberType::I64)
                .with_channels(channels)
                .with_unit(unit),
            (.., None) => {
                let number = NumberType::from_name(type_).ok_or_else(|| {
                    let expected = "text, date, datetime64[s], timedelta64[ms] or a number type such as float32";
                    WriteError::input("type of the attribute", format!("{type_:?}"), expected)
                })?;
                AttributeSpec::number(name, number).with_channels(channels)
            }
        };
        Ok(self.with_new(spec))
    }

    /// Sets the value for rows without one.
    #[must_use]
    pub fn with_fill(mut self, fill: impl Into<String>) -> Self {
        self.fill = Some(fill.into());
        self
    }
}

/// The outcome for the rows of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Matched {
    /// How the rows were matched: the columns, for messages.
    pub by: String,
    /// Vertices, objects or links that the store has.
    pub of: u64,
    /// The number of these that have a row in the table.
    pub found: u64,
    /// Rows of the table that the store does not have, and that were left out.
    pub ignored: u64,
}

impl Matched {
    /// Remarks for users: about vertices, objects or links without a row, and about rows that were left out.
    #[must_use]
    pub fn remarks(&self, change: &SetAttribute) -> Vec<String> {
        let mut remarks = Vec::new();
        let lacking = self.of.saturating_sub(self.found);
        if lacking > 0 {
            let (of, things) = (self.of, change.scope.plural());
            let result = match (&change.new, &change.fill) {
                (None, _) => "they keep their values".to_owned(),
                (Some(_), Some(fill)) => format!("they get {fill}"),
                (Some(_), None) => "they have no value".to_owned(),
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

/// Rows of the store, paired with rows of the table.
#[derive(Debug)]
struct PairedRows {
    /// Rows of the store, ascending, each once.
    rows: Vec<u64>,
    /// The row of the table for each row of the store.
    from: Vec<usize>,
    matched: Matched,
}

impl PairedRows {
    fn new(
        pairs: Vec<(u64, usize)>,
        scope: Scope,
        by: (String, u64),
        same: impl Fn(usize, usize) -> bool,
    ) -> Result<Self, WriteError> {
        Self::named(pairs, scope, by, same, |row| row.to_string())
    }

    /// Sorts pairs; each row of the store gets one row of the table.
    ///
    /// # Errors
    /// Misuse: a row of the store with several rows of the table that are not the `same`.
    fn named(
        mut pairs: Vec<(u64, usize)>,
        scope: Scope,
        (by, of): (String, u64),
        same: impl Fn(usize, usize) -> bool,
        name: impl Fn(u64) -> String,
    ) -> Result<Self, WriteError> {
        pairs.sort_unstable();
        let twice = |pair: &[(u64, usize)]| match pair {
            [(a, first), (b, again)] if a == b && !same(*first, *again) => {
                let (of, name) = (scope.name(), name(*a));
                Some(format!("{of} {name} in rows {first} and {again}"))
            }
            _ => None,
        };
        let twice: Vec<String> = pairs.windows(2).filter_map(twice).collect();
        if !twice.is_empty() {
            let expected = format!("one value for each {}", scope.name());
            return Err(WriteError::input(
                format!("rows by {by}"),
                listed(twice.into_iter()),
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

    /// For each row of the store, its row of the table.
    fn all(&self) -> Result<Vec<Option<usize>>, WriteError> {
        let mut all = vec![None; to_index("rows", self.matched.of)?];
        for (row, from) in self.rows.iter().zip(&self.from) {
            let place = all.get_mut(to_index("rows", *row)?);
            *place.or_bug("a row that the store does not have")? = Some(*from);
        }
        Ok(all)
    }

    /// Whether every row of the store has a row of the table.
    fn is_whole(&self) -> bool {
        self.matched.found == self.matched.of
    }
}

/// Refuses rows of a table that the store does not have, unless they may be left out; returns their number.
fn unmatched(
    what: &str,
    unknown: &[usize],
    show: impl Fn(usize) -> String,
    matching: &Matching,
) -> Result<u64, WriteError> {
    let lacks = format!(
        "{} that the store does not have: ",
        rows(wide(unknown.len()))
    );
    let expected = "rows of the store (--ignore-missing leaves out all others)";
    ignored((what, &lacks, expected), unknown, show, matching)
}

fn rows(count: u64) -> String {
    format!("{count} {}", if count == 1 { "row" } else { "rows" })
}

impl TableKeys {
    /// Indexes the keys, each once.
    ///
    /// # Errors
    /// Misuse: rows without a key, rows with the same key that otherwise are not the `same`.
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
            let found = format!("values that several rows have: {}", listed(shown));
            return Err(WriteError::data(
                what,
                found,
                "each key once, or rows with the same key and the same value",
            ));
        }
        Ok(self)
    }
}

/// Rows of the table that are found in the store while it is read.
#[derive(Debug)]
struct Search<'k> {
    keys: &'k TableKeys,
    /// The number of rows of the store that were found for each row of the table.
    hits: Vec<u32>,
    pairs: Vec<(u64, usize)>,
}

impl<'k> Search<'k> {
    fn new(keys: &'k TableKeys, rows: usize) -> Self {
        Self {
            keys,
            hits: vec![0; rows],
            pairs: Vec::new(),
        }
    }

    fn take(&mut self, row: u64, key: &[u8]) -> Result<(), WriteError> {
        if let Some(from) = self.keys.find(key) {
            let hits = self
                .hits
                .get_mut(from)
                .or_bug("a row after the end of its table")?;
            *hits = hits.saturating_add(1);
            self.pairs.push((row, from));
        }
        Ok(())
    }

    /// The pairs; refuses keys of several rows of the store, unless `several` is set.
    fn finish(
        self,
        scope: Scope,
        several: bool,
        of: u64,
        matching: &Matching,
    ) -> Result<PairedRows, WriteError> {
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
                    "a key with a different value for each {} of the store; several columns together can be a key (--key A,B)",
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
            // Of rows with the same key, only the first one is found.
            let first = keys.find(key).and_then(|first| hits.get(first));
            if first == Some(&0) {
                unknown.push(row);
            }
        }
        unknown.sort_unstable();
        let ignored = unmatched(&what, &unknown, |row| keys.show(row), matching)?;
        let mut pairs = PairedRows::new(pairs, scope, (keys.names(), of), |_, _| true)?;
        pairs.matched.ignored = ignored;
        Ok(pairs)
    }
}

impl Edit {
    /// Sets values of an attribute of vertices, objects or links from a table, or adds the attribute. The table has the columns of queries, or one
    /// column per axis, and the values in a column with the name of the attribute (or `attribute:NAME`, or `NAME_0`, `NAME_1`, …); other columns are
    /// ignored. Vertices, objects and links without a row keep their value; in a new attribute they get [`SetAttribute::fill`], else none (NaN, no
    /// text).
    ///
    /// Without a table: only the fill is recorded, or every vertex, link or object gets it in a new attribute.
    ///
    /// # Cost
    /// Compared values are read chunk by chunk: for each row of the table 13 bytes and the key are held, for each row that is found 16 bytes. Setting
    /// the values has the cost of [`set_vertex_attribute`](Self::set_vertex_attribute), [`put_objects`](Self::put_objects) and
    /// [`set_link_attribute`](Self::set_link_attribute).
    ///
    /// # Errors
    /// Misuse: a table without columns to match its rows; rows that are not in the store, or that have another value for the same vertex; columns
    /// that contradict each other; values that do not fit. I/O.
    pub fn set_attribute<'a>(
        &'a mut self,
        change: &'a SetAttribute,
        table: Option<&'a RecordBatch>,
    ) -> BoxFuture<'a, Result<Matched, WriteError>> {
        Box::pin(async move {
            self.usable()?;
            let done = Box::pin(self.assign(change, table)).await;
            self.note(done)
        })
    }

    /// The specification of an existing attribute, in the form in which values are given.
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
                true => "an existing attribute; --type adds one".to_owned(),
                false => format!("one of {}; --type adds another one", names.join(", ")),
            };
            WriteError::input(what, "nothing", expected)
        })
    }

    /// Converts a table to the axes and units of the store: its column `position`, and the attributes that are `used`. `new` is an attribute that the
    /// store may not have yet.
    ///
    /// # Errors
    /// Misuse: attributes in another unit; positions in one column per axis, if the schema states other axes or units.
    pub(crate) async fn in_stored_units(
        &mut self,
        (scope, used): (Scope, impl Fn(&str) -> bool),
        new: Option<&AttributeSpec>,
        table: &RecordBatch,
    ) -> Result<RecordBatch, WriteError> {
        let mut table = table.clone();
        let known = match scope {
            Scope::Vertex => {
                table = self.spec().in_stored_axes(&table)?;
                self.check_axis_columns(&table)?;
                self.vertex_attributes()
            }
            Scope::Object => self.object_attributes().await?,
            Scope::Link => self.state.spec.links.attributes.clone(),
        };
        in_stored_units(&table, |name| {
            let mut all = new.into_iter().chain(&known);
            all.find(|one| one.name == name && used(name))
        })
    }

    /// Refuses positions in one column per axis that would have to be converted.
    fn check_axis_columns(&self, table: &RecordBatch) -> Result<(), WriteError> {
        let has = |name: &str| table.column_by_name(name).is_some();
        let names = tabular::axis_columns(self.spec(), true, has);
        if has("position") || names.is_empty() {
            return Ok(());
        }
        match self.spec().map_of_records(table.schema_ref())? {
            None => Ok(()),
            Some(_) => Err(WriteError::input(
                format!("columns {}", names.join(", ")),
                "positions in other units than those of the store",
                "those of the store, or one column `position`, which is converted",
            )),
        }
    }

    async fn assign(
        &mut self,
        change: &SetAttribute,
        table: Option<&RecordBatch>,
    ) -> Result<Matched, WriteError> {
        let (scope, name) = (change.scope, change.name.as_str());
        if scope == Scope::Link {
            self.check_links_stored()?;
        }
        if change.matching.key.iter().any(|key| key == name) {
            let expected = "another attribute: the values of this one are replaced";
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
        let fill = fill
            .map(|text| Ok::<_, WriteError>((super::fill::value(&one, text)?, text)))
            .transpose()?;
        let given = fill.as_ref();
        let given = given
            .map(|(values, _)| TableValues::new(values, one.channels))
            .transpose()?;
        let matched = match table {
            Some(table) => {
                let used = |column: &str| {
                    column == name || change.matching.key.iter().any(|key| key == column)
                };
                let table = self.in_stored_units((scope, used), Some(&one), table);
                let table = table.await?;
                let own = tabular::attribute(&table, name, one.channels);
                let (values, gaps) = match (scope, &given, own.as_slice()) {
                    (Scope::Object, None, [column]) if one.is_whole() => {
                        let (values, gaps) = values_with_gaps(name, column)?;
                        (values.fitted(&one)?, gaps)
                    }
                    _ => {
                        let values = tabular::fitted(&table, &one, given.as_ref())?;
                        (values, BTreeSet::new())
                    }
                };
                let given = (&one, &values, given.as_ref());
                self.assign_values(change, given, (&table, &gaps)).await?
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

    /// Adds an attribute with the fill as every value; does nothing if the attribute exists.
    async fn assign_fill(
        &mut self,
        change: &SetAttribute,
        one: &AttributeSpec,
        fill: Option<&TableValues<'_>>,
    ) -> Result<Matched, WriteError> {
        let of = match change.scope {
            Scope::Link => wide(self.all_links().await?.len()),
            Scope::Object => self.object_count(),
            Scope::Vertex => self.first_rows().await?.1,
        };
        if change.new.is_some() {
            let none = super::fill::none(one);
            let none = TableValues::new(&none, one.channels)?;
            let rows = std::iter::repeat_n(None, to_index("rows", of)?);
            let all = none.take(rows, fill)?;
            match change.scope {
                Scope::Link => self.add_link_attribute(one.clone(), &all).await?,
                Scope::Object => {
                    self.add_object_attribute(one.clone()).await?;
                    let ids: Vec<i64> = self.object_ids().collect();
                    let objects = ObjectTable::new(ids).with_attribute(&one.name, all);
                    self.put_objects(&objects).await?;
                }
                Scope::Vertex => self.add_vertex_attribute(one.clone(), &all).await?,
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
        (one, values, fill): (&AttributeSpec, &Values, Option<&TableValues<'_>>),
        (table, gaps): (&RecordBatch, &BTreeSet<usize>),
    ) -> Result<Matched, WriteError> {
        let given = TableValues::new(values, one.channels)?;
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
            let same =
                |a: usize, b: usize| given.same(a, b) && gaps.contains(&a) == gaps.contains(&b);
            let (ids, from, matched) = self.match_objects(table, how, same).await?;
            let absent = objects::taken_gaps(&from, gaps);
            let others: Vec<i64> = match (&change.new, fill) {
                (Some(_), Some(_)) => {
                    let with_rows: HashSet<i64> = ids.iter().copied().collect();
                    let all = self.object_ids();
                    all.filter(|id| !with_rows.contains(id)).collect()
                }
                _ => Vec::new(),
            };
            let rows = from.into_iter().map(Some);
            let rows = rows.chain(std::iter::repeat_n(None, others.len()));
            let taken = given.take(rows.collect::<Vec<_>>().into_iter(), fill)?;
            let ids: Vec<i64> = ids.into_iter().chain(others).collect();
            let objects = ObjectTable::new(ids).with_gaps(&one.name, taken, absent);
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
                    "one for each: type {} has no value that means missing; --fill VALUE sets a value for the others",
                    one.values.name()
                );
                WriteError::input(format!("{} attribute {}", scope.name(), one.name), found, expected)
            })?),
            Some(_) => None,
        };
        let absent = absent.as_ref();
        let absent = absent
            .map(|absent| TableValues::new(absent, one.channels))
            .transpose()?;
        let all = given.take(pairs.all()?.into_iter(), fill.or(absent.as_ref()))?;
        match scope {
            Scope::Link => self.add_link_attribute(one.clone(), &all).await?,
            _ => self.add_vertex_attribute(one.clone(), &all).await?,
        }
        Ok(pairs.matched)
    }
}

/// The whole numbers of some columns, row by row.
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
            all.extend_from_slice(some.or_bug("a column of fewer rows than its table")?);
        }
    }
    Ok(all)
}

/// Values by the names of their attributes.
type ValuesByName<'v> = Vec<(&'v String, TableValues<'v>)>;

/// The values of several attributes, by rows of the table.
fn by_rows<'v>(
    table: &RecordBatch,
    given: &'v [(String, Values)],
) -> Result<ValuesByName<'v>, WriteError> {
    let one = |(name, values): &'v (String, Values)| {
        let channels = values.len().checked_div(table.num_rows()).unwrap_or(1);
        Ok((name, TableValues::new(values, channels)?))
    };
    given.iter().map(one).collect()
}

/// Returns the number of rows that are ignored because the store has no target for them. `show` names the target of such a row; in an error, `lacks`
/// precedes it.
///
/// # Errors
/// Misuse: such a row, unless these rows are left out.
fn ignored(
    (what, lacks, expected): (&str, &str, &str),
    unknown: &[usize],
    show: impl Fn(usize) -> String,
    how: &Matching,
) -> Result<u64, WriteError> {
    if unknown.is_empty() || how.ignore_missing {
        return Ok(wide(unknown.len()));
    }
    let shown = listed(unknown.iter().map(|row| show(*row)));
    Err(WriteError::input(what, format!("{lacks}{shown}"), expected))
}

fn key_column(
    table: &RecordBatch,
    name: &str,
    coding: Coding,
    channels: usize,
) -> Result<KeyColumn, WriteError> {
    let mut columns = tabular::attribute(table, name, channels);
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

/// Refuses several ways of matching at once, and a way that `scope` does not have.
fn exclusive(scope: Scope, how: &Matching) -> Result<(), WriteError> {
    let asked = [
        ("a key", !how.key.is_empty()),
        ("the order", how.by_order),
        ("the order of objects", how.by_object_order),
    ];
    let asked: Vec<&str> = asked.iter().filter(|one| one.1).map(|one| one.0).collect();
    if asked.len() > 1 {
        let found = asked.join(" and ");
        return Err(WriteError::input("matching", found, "one of them"));
    }
    if how.by_object_order && scope != Scope::Vertex {
        let found = format!("the order of objects, for {}", scope.plural());
        return Err(WriteError::input("matching", found, "by_order, or a key"));
    }
    Ok(())
}

/// The error for a table whose rows cannot be matched.
#[cold]
fn no_way(scope: Scope, rows: usize) -> WriteError {
    let found = format!(
        "{} without a column that assigns them to {}",
        self::rows(wide(rows)),
        scope.plural()
    );
    let expected = match scope {
        Scope::Vertex => WAYS.to_owned(),
        Scope::Object => "a column object_id, or one with a different value for each object (--key COLUMN); \
            --by-order takes the rows in the order of `zvf objects`"
            .to_owned(),
        Scope::Link => "the ends vertices_0, vertices_1, … (or object_id and vertex_0, vertex_1, …), or a column with a different value for each link (--key COLUMN); --by-order takes the rows in the order of `zvf links`"
            .to_owned(),
    };
    WriteError::input("the table", found, expected)
}

fn in_order(scope: Scope, rows: usize, of: u64) -> Result<PairedRows, WriteError> {
    if wide(rows) != of {
        let expected = format!("{of}: one for each {}", scope.name());
        return Err(WriteError::input(
            "rows by order",
            self::rows(wide(rows)),
            expected,
        ));
    }
    Ok(PairedRows {
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
