//! Splits a store by group, by the values of an attribute, into a number of parts, or by object.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use futures::future::BoxFuture;
use zvf_encode::arrow::{elements, texts, values, without_nulls};
use zvf_encode::error::OrBug;
use zvf_format::int::index;
use zvf_meta::{Kind, LinksConvention};
use zvf_query::{Column, Filter, Outputs, Query, Select, Table, Target, list_objects, query};
use zvf_store::{Names, Need, Store};
use zvf_write::Values;

use super::names::{file_name, folded, unique};
use super::{attribute_column, counts_of, ids_of, may_lack_objects, quoted};
use crate::ConvertError;
use crate::answered::{count_owners, of_one_state};
use crate::error::shown;
use crate::output::{Style, batch_with_times, write_value};

/// The criterion by which a store is split.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SplitBy {
    /// By the groups of objects; an object in several groups is in several parts.
    Group,
    /// By the value of an attribute of objects, or of vertices in a store without objects.
    Attribute(String),
    /// Into this number of parts with about the same number of vertices; objects are not divided.
    Count(u32),
}

/// One part of a store.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SplitPart {
    /// A name for its file, without an ending: legal on every system, and different from the other parts' names without regard to case.
    pub name: String,
    /// The name of the group, the value, or the number of the part.
    pub of: String,
    /// The query for its contents.
    pub query: Query,
}

/// The parts, and notes about data in none of them.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SplitParts {
    /// The parts, in the order of groups, values or numbers.
    pub parts: Vec<SplitPart>,
    /// Notes about data in no part.
    pub notes: Vec<String>,
}

/// Most parts by the values of an attribute.
const MOST: usize = 1 << 16;

/// Cuts a selection of level 0 of a store into parts.
///
/// # Cost
/// The list of objects, or the members of all groups, or one pass over an attribute of vertices; for links that may join objects also one pass over the
/// owners of vertices and the links. Memory: about 50 bytes an object, 8 bytes a vertex with such links.
///
/// # Errors
/// Misuse: no such attribute, an attribute of floats, no groups, more than 65,536 values or parts. The errors of the query.
pub fn split_parts<'a>(
    store: &'a Store,
    selection: &'a Query,
    by: &'a SplitBy,
) -> BoxFuture<'a, Result<SplitParts, ConvertError>> {
    Box::pin(async move {
        let mut notes = Vec::new();
        if let SplitBy::Count(count) = by
            && (*count == 0 || usize::try_from(*count).is_ok_and(|count| count > MOST))
        {
            let expected = format!("1 to {MOST} parts");
            return Err(ConvertError::usage("count", count.to_string(), expected));
        }
        notes.extend(owned_by_none(store, selection).await?);
        let found = match by {
            SplitBy::Group => {
                let found = by_group(store, selection, &mut notes).await;
                of_one_state(store, found).await?
            }
            SplitBy::Attribute(name) => by_attribute(store, selection, name, &mut notes).await?,
            SplitBy::Count(count) => by_count(store, selection, *count).await?,
        };
        let queries: Vec<&Query> = found.iter().map(|(_, query)| query).collect();
        notes.extend(links_in_no_part(store, selection, &queries).await?);
        Ok(SplitParts {
            notes,
            ..named_parts(found)
        })
    })
}

/// Parts with these names and queries.
#[must_use]
pub fn named_parts(parts: Vec<(String, Query)>) -> SplitParts {
    let names = unique(parts.iter().map(|(of, _)| file_name(of)).collect());
    let parts = names.into_iter().zip(parts);
    let parts = parts.map(|(name, (of, query))| SplitPart { name, of, query });
    SplitParts {
        parts: parts.collect(),
        notes: Vec::new(),
    }
}

/// A part for each object of a selection of level 0. Its name is made from a template: `{id}` is replaced by the id of the object, `{NAME}` by the
/// value of an object attribute. Characters in these values that are not legal in file names on every system are replaced.
///
/// # Cost
/// As [`split_parts`].
///
/// # Errors
/// Misuse: a template without braces, or with an unknown name; two objects with the same file; a store without objects. The errors of the query.
pub fn object_parts<'a>(
    store: &'a Store,
    selection: &'a Query,
    template: &'a str,
) -> BoxFuture<'a, Result<SplitParts, ConvertError>> {
    Box::pin(async move {
        let template = Template::parse(template)?;
        let wanted = selected_ids(store, selection).await?;
        let mut list = list_objects(store, 0, false).await?;
        let (mut parts, mut taken) = (Vec::new(), HashMap::new());
        while let Some((_, batch)) = list.next().await? {
            let filled = template.fill(store, &batch)?;
            for (id, name) in ids_of(&batch)?.iter().zip(filled) {
                if !wanted.as_ref().is_none_or(|wanted| wanted.contains(id)) {
                    continue;
                }
                if let Some(other) = taken.insert(folded(&name), *id) {
                    let found = format!("{} for the objects {other} and {id}", shown(&name));
                    let expected = "a different name for each object: {id} makes names unique";
                    return Err(ConvertError::usage("names of files", found, expected));
                }
                parts.push(SplitPart {
                    name,
                    of: id.to_string(),
                    query: of_objects(selection, vec![*id]),
                });
            }
        }
        if !has_objects(store).await? {
            let expected = "a store with objects";
            return Err(ConvertError::usage(store.url(), "no objects", expected));
        }
        let queries: Vec<&Query> = parts.iter().map(|part| &part.query).collect();
        let mut notes: Vec<String> = links_in_no_part(store, selection, &queries)
            .await?
            .into_iter()
            .collect();
        notes.extend(owned_by_none(store, selection).await?);
        Ok(SplitParts { parts, notes })
    })
}

/// Whether a path is a template for [`object_parts`]: a name between braces.
#[must_use]
pub fn is_template(path: &str) -> bool {
    let after = path.split_once('{').map(|(_, after)| after);
    after.is_some_and(|after| after.contains('}'))
}

/// Parts of a template: texts, each with the name between braces after it, and the text at the end.
#[derive(Debug, PartialEq, Eq)]
struct Template {
    places: Vec<(String, String)>,
    end: String,
}

impl Template {
    fn parse(text: &str) -> Result<Self, ConvertError> {
        let mut places = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                let expected = "a closing brace for each opening brace";
                return Err(ConvertError::usage("template", shown(text), expected));
            };
            places.push((before.to_owned(), name.to_owned()));
            rest = after;
        }
        if places.is_empty() {
            let expected = "{id} or the name of an attribute of objects between braces";
            return Err(ConvertError::usage("template", shown(text), expected));
        }
        Ok(Self {
            places,
            end: rest.to_owned(),
        })
    }

    /// The names for the objects of a list.
    fn fill(&self, store: &Store, batch: &RecordBatch) -> Result<Vec<String>, ConvertError> {
        let mut names = vec![String::new(); batch.num_rows()];
        for (before, name) in &self.places {
            let filled: Vec<Option<String>> = if name == "id" {
                ids_of(batch)?
                    .iter()
                    .map(|id| Some(id.to_string()))
                    .collect()
            } else {
                value_texts(store, batch, name)?
            };
            for (out, word) in names.iter_mut().zip(filled) {
                out.push_str(before);
                out.push_str(&word.map_or_else(|| "none".to_owned(), |word| file_name(&word)));
            }
        }
        names.iter_mut().for_each(|name| name.push_str(&self.end));
        Ok(names)
    }
}

/// Values as texts, and as literals of conditions; `None` for missing values.
#[derive(Debug)]
struct ValueTexts {
    texts: Vec<Option<String>>,
    literals: Vec<Option<String>>,
}

impl ValueTexts {
    /// The literals of the texts are in quotes if `are_quoted`.
    fn new(texts: Vec<Option<String>>, are_quoted: bool) -> Self {
        let literal = |text: &String| match are_quoted {
            true => quoted(text, '\'').into_owned(),
            false => text.clone(),
        };
        let literals = texts.iter().map(|text| text.as_ref().map(literal));
        Self {
            literals: literals.collect(),
            texts,
        }
    }
}

/// The values of an attribute of dates, times or durations. `None` for another attribute.
///
/// # Errors
/// Misuse: a number that is not a date or time of its unit.
fn moments(
    store: &Store,
    batch: &RecordBatch,
    name: &str,
) -> Result<Option<ValueTexts>, ConvertError> {
    let timed = batch_with_times(batch).map_err(|error| {
        let expected = "dates and times of the units that their attributes state";
        ConvertError::usage(store.url(), error.to_string(), expected)
    })?;
    let names = [format!("attribute:{name}"), name.to_owned()];
    let column = names.iter().find_map(|name| timed.column_by_name(name));
    let Some(column) = column.filter(|column| column.data_type().is_temporal()) else {
        return Ok(None);
    };
    let text = |row: usize| {
        let mut text = String::new();
        write_value(&mut text, column.as_ref(), row, Style::Text);
        column.is_valid(row).then_some(text)
    };
    let texts = (0..column.len()).map(text).collect();
    Ok(Some(match column.data_type() {
        DataType::Duration(_) => ValueTexts::new(texts, false),
        // Conditions compare times of day with numbers only.
        DataType::Time32(_) | DataType::Time64(_) => {
            let stored = attribute_column(batch, name).or_bug("times of no attribute")?;
            ValueTexts {
                literals: numbers(name, stored)?.or_bug("times that are no whole numbers")?,
                texts,
            }
        }
        _ => ValueTexts::new(texts, true),
    }))
}

/// The values of an object attribute as texts; `None` for missing ones.
fn value_texts(
    store: &Store,
    batch: &RecordBatch,
    name: &str,
) -> Result<Vec<Option<String>>, ConvertError> {
    let Some(column) = attribute_column(batch, name) else {
        let schema = batch.schema();
        let known = schema.fields().iter().map(|field| field.name().as_str());
        let known =
            known.filter(|name| !["object_id", "vertices", "chunks", "fragments"].contains(name));
        let known = known.collect::<Vec<_>>().join(", ");
        let unknown = store.names_unknown();
        let expected = match known.is_empty() {
            _ if !unknown.is_empty() => {
                format!("an attribute of objects: {known} ({})", unknown.join("; "))
            }
            true => "an attribute of objects; the store has none".to_owned(),
            false => format!("an attribute of objects: {known}"),
        };
        return Err(ConvertError::usage(store.url(), shown(name), expected));
    };
    if let Some(moments) = moments(store, batch, name)? {
        return Ok(moments.texts);
    }
    if let Some(list) = texts(column) {
        return Ok(list
            .into_iter()
            .map(|text| text.map(|text| text.into_owned()))
            .collect());
    }
    let Some(list) = numbers(name, column)?.filter(|list| list.len() == batch.num_rows()) else {
        let found = format!(
            "{}, which has floats or several values an object",
            shown(name)
        );
        let expected = "an attribute of texts, booleans or whole numbers";
        return Err(ConvertError::usage(store.url(), found, expected));
    };
    Ok(list)
}

/// Whole numbers or booleans of a column as texts, `None` for missing ones; `None` for other types.
fn numbers(name: &str, column: &ArrayRef) -> Result<Option<Vec<Option<String>>>, ConvertError> {
    let plain = without_nulls(column)?;
    let list: Option<Vec<String>> = match values(name, &plain)? {
        Values::Bool(list) => Some(list.iter().map(|one| one.to_string()).collect()),
        numbers => whole(&numbers),
    };
    let valid = |(row, word)| (row >= column.len() || column.is_valid(row)).then_some(word);
    Ok(list.map(|list| list.into_iter().enumerate().map(valid).collect()))
}

/// Whole numbers as texts.
fn whole(numbers: &Values) -> Option<Vec<String>> {
    macro_rules! words {
        ($list:expr) => {
            $list.iter().map(ToString::to_string).collect()
        };
    }
    Some(match numbers {
        Values::I8(list) => words!(list),
        Values::I16(list) => words!(list),
        Values::I32(list) => words!(list),
        Values::I64(list) => words!(list),
        Values::U8(list) => words!(list),
        Values::U16(list) => words!(list),
        Values::U32(list) => words!(list),
        Values::U64(list) => words!(list),
        _ => return None,
    })
}

/// The selection, restricted to some objects.
fn of_objects(selection: &Query, ids: Vec<i64>) -> Query {
    Query {
        objects: Some(ids),
        ..selection.clone()
    }
}

/// The objects that a selection names; `None` for all.
fn wanted(selection: &Query) -> Option<BTreeSet<i64>> {
    let ids = selection.objects.as_ref()?;
    Some(ids.iter().copied().collect())
}

/// The objects of a selection; `None` for all.
async fn selected_ids(
    store: &Store,
    selection: &Query,
) -> Result<Option<BTreeSet<i64>>, ConvertError> {
    let by_rows = selection.is_spatial() || selection.filter.is_some();
    let by_object =
        selection.groups.is_some() || selection.relation.is_some() || selection.passing.is_some();
    if !by_rows && !by_object {
        return Ok(wanted(selection));
    }
    let of_objects = Query {
        select: Select::Objects,
        outputs: Outputs {
            vertices: false,
            links: false,
            objects: true,
        },
        ..selection.clone()
    };
    let mut ids = BTreeSet::new();
    let mut answer = query(store, of_objects).await?;
    while let Some((table, batch)) = answer.next().await? {
        if table == Table::Objects {
            ids.extend(ids_of(&batch)?);
        }
    }
    Ok(Some(ids))
}

/// A note about vertices without an object, which are in no part, since parts are whole objects.
async fn owned_by_none(store: &Store, selection: &Query) -> Result<Option<String>, ConvertError> {
    if selection.objects.is_some() || !has_objects(store).await? {
        return Ok(None);
    }
    if !may_lack_objects(store.kind()) {
        return Ok(None);
    }
    let (_, left) = count_owners(store, &Query::default()).await?;
    Ok((left > 0).then(|| format!("vertices of no object: {left}; they are in no part")))
}

/// Notes about data that is in no part of a store that is divided by regions: vertices without an object, and links between parts. `all` is the selection
/// that the regions divide.
///
/// # Cost
/// As [`split_parts`], and the objects of each part.
///
/// # Errors
/// The errors of the queries.
pub async fn region_notes(
    store: &Store,
    all: &Query,
    parts: &SplitParts,
) -> Result<Vec<String>, ConvertError> {
    if !has_objects(store).await? {
        return Ok(Vec::new());
    }
    let mut held = Vec::new();
    for part in &parts.parts {
        let ids = selected_ids(store, &part.query).await?;
        let ids = ids.or_bug("a part of a region without a region")?;
        held.push(of_objects(&part.query, ids.into_iter().collect()));
    }
    let held: Vec<&Query> = held.iter().collect();
    let mut notes: Vec<String> = owned_by_none(store, all).await?.into_iter().collect();
    notes.extend(links_in_no_part(store, all, &held).await?);
    Ok(notes)
}

async fn has_objects(store: &Store) -> Result<bool, ConvertError> {
    let need = Need {
        objects: true,
        ..Need::nothing()
    };
    Ok(store.level(0, &need).await?.object_index().is_some())
}

/// A note about links that are in no part, because no part has the objects of all their ends.
async fn links_in_no_part(
    store: &Store,
    selection: &Query,
    parts: &[&Query],
) -> Result<Option<String>, ConvertError> {
    let explicit = || store.root().links_convention().ok() == Some(LinksConvention::Explicit);
    let join_objects = match store.kind() {
        Kind::Graph | Kind::Mesh => true,
        Kind::Skeleton => explicit(),
        _ => false,
    };
    if !join_objects || !has_objects(store).await? {
        return Ok(None);
    }
    let mut parts_of: HashMap<i64, BTreeSet<usize>> = HashMap::new();
    for (number, part) in parts.iter().enumerate() {
        for id in part.objects.iter().flatten() {
            parts_of.entry(*id).or_default().insert(number);
        }
    }
    let mut all = Vec::new();
    let mut list = list_objects(store, 0, false).await?;
    while let Some((_, batch)) = list.next().await? {
        all.extend(ids_of(&batch)?.iter().copied());
    }
    let asked = Query {
        objects: Some(selection.objects.clone().unwrap_or(all)),
        attributes: Names::None,
        columns: vec![Column::ObjectId],
        outputs: Outputs {
            vertices: true,
            links: true,
            objects: false,
        },
        select: Select::Objects,
        ..selection.clone()
    };
    let none = BTreeSet::new();
    let parts_of = |id: &i64| parts_of.get(id).unwrap_or(&none);
    let in_one = |owners: &[i64]| {
        let (first, others) = owners.split_first()?;
        let others = || others.iter().filter(|id| *id != first);
        let has_all = |part: &&usize| others().all(|id| parts_of(id).contains(*part));
        parts_of(first).iter().find(has_all)
    };
    let (mut owners, mut left): (Vec<i64>, u64) = (Vec::new(), 0);
    let mut answer = query(store, asked).await?;
    while let Some((table, batch)) = answer.next().await? {
        match table {
            Table::Vertices => owners.extend_from_slice(ids_of(&batch)?),
            Table::Links => {
                let column = batch.column_by_name("vertices");
                let (ends, width) = elements(column.or_bug("links without ends")?)?;
                let ends = ends.as_primitive_opt::<UInt64Type>();
                let ends = ends.or_bug("ends of links that are no numbers")?.values();
                for link in ends.chunks(width.max(1)) {
                    let owner = |end: &u64| owners.get(usize::try_from(*end).ok()?).copied();
                    let owners = link.iter().map(owner);
                    let owners: Option<Vec<i64>> = owners.collect();
                    let owners = owners.or_bug("a link before its vertices")?;
                    left += u64::from(in_one(&owners).is_none());
                }
            }
            Table::Objects => {}
        }
    }
    Ok((left > 0).then(|| {
        format!("links with ends in different parts, or in none: {left}; they are in no part")
    }))
}

/// The name of each new store, and the query of its rows.
type NamedQueries = Vec<(String, Query)>;

async fn by_group(
    store: &Store,
    selection: &Query,
    notes: &mut Vec<String>,
) -> Result<NamedQueries, ConvertError> {
    let need = Need {
        groups: true,
        objects: true,
        ..Need::nothing()
    };
    let level = store.level(0, &need).await?;
    let Some(groups) = level.groups().filter(|groups| !groups.is_empty()) else {
        return Err(ConvertError::usage(
            store.url(),
            "no groups",
            "a store with groups",
        ));
    };
    let wanted = wanted(selection);
    let mut all = BTreeSet::new();
    let mut list = list_objects(store, 0, false).await?;
    while let Some((_, batch)) = list.next().await? {
        all.extend(ids_of(&batch)?.iter().copied());
    }
    all.retain(|id| wanted.as_ref().is_none_or(|wanted| wanted.contains(id)));
    let (mut found, mut grouped) = (Vec::new(), BTreeSet::new());
    for number in 0..groups.len() {
        let name = groups.name(number);
        let name = if name.is_empty() {
            number.to_string()
        } else {
            name
        };
        let mut ids = groups.members(number).await?;
        ids.retain(|id| all.contains(id));
        if ids.is_empty() {
            notes.push(format!("group {} has no objects: no part", shown(&name)));
            continue;
        }
        grouped.extend(ids.iter().copied());
        found.push((name, of_objects(selection, ids)));
    }
    let left = all.len().saturating_sub(grouped.len());
    if left > 0 {
        notes.push(format!("objects of no group: {left}; they are in no part"));
    }
    Ok(found)
}

async fn by_attribute(
    store: &Store,
    selection: &Query,
    name: &str,
    notes: &mut Vec<String>,
) -> Result<NamedQueries, ConvertError> {
    if !has_objects(store).await? {
        return by_vertices(store, selection, name, notes).await;
    }
    let wanted = wanted(selection);
    let (mut parts, mut none): (BTreeMap<SplitKey, Vec<i64>>, u64) = (BTreeMap::new(), 0);
    let mut list = list_objects(store, 0, false).await?;
    while let Some((_, batch)) = list.next().await? {
        let words = value_texts(store, &batch, name)?;
        for (id, word) in ids_of(&batch)?.iter().zip(words) {
            if !wanted.as_ref().is_none_or(|wanted| wanted.contains(id)) {
                continue;
            }
            match word {
                Some(word) => parts.entry(SplitKey::of(word)).or_default().push(*id),
                None => none += 1,
            }
        }
        check_count(store, name, parts.len())?;
    }
    if none > 0 {
        notes.push(format!(
            "objects without a value of {}: {none}; they are in no part",
            shown(name)
        ));
    }
    let parts = parts.into_iter();
    Ok(parts
        .map(|(key, ids)| (key.text, of_objects(selection, ids)))
        .collect())
}

/// The text of a value. Whole numbers are sorted by value, after other texts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SplitKey {
    number: Option<i128>,
    text: String,
}

impl SplitKey {
    fn of(text: String) -> Self {
        let number = text.parse().ok();
        Self { number, text }
    }
}

fn check_count(store: &Store, name: &str, found: usize) -> Result<(), ConvertError> {
    if found <= MOST {
        return Ok(());
    }
    let found = format!("more than {MOST} values of {}", shown(name));
    Err(ConvertError::usage(
        store.url(),
        found,
        format!("{MOST} parts at most"),
    ))
}

/// The parts of a store without objects, by the values of a vertex attribute.
async fn by_vertices(
    store: &Store,
    selection: &Query,
    name: &str,
    notes: &mut Vec<String>,
) -> Result<NamedQueries, ConvertError> {
    let asked = Query {
        attributes: Names::List(vec![name.to_owned()]),
        columns: vec![zvf_query::Column::Attributes],
        outputs: Outputs {
            vertices: true,
            links: false,
            objects: false,
        },
        select: Select::Vertices,
        ..selection.clone()
    };
    let (mut parts, mut none) = (BTreeMap::new(), 0u64);
    let mut answer = query(store, asked).await?;
    while let Some((table, batch)) = answer.next().await? {
        if table != Table::Vertices {
            continue;
        }
        let words = match moments(store, &batch, name)? {
            Some(moments) => moments,
            None => {
                let column = attribute_column(&batch, name);
                let are_texts = column.is_some_and(|column| texts(column).is_some());
                ValueTexts::new(value_texts(store, &batch, name)?, are_texts)
            }
        };
        for word in words.texts.into_iter().zip(words.literals) {
            match word {
                (Some(text), Some(literal)) => {
                    parts.insert(SplitKey::of(text), literal);
                }
                _ => none += 1,
            }
        }
        check_count(store, name, parts.len())?;
    }
    if none > 0 {
        notes.push(format!(
            "vertices without a value of {}: {none}; they are in no part",
            shown(name)
        ));
    }
    let mut found = Vec::new();
    for (key, literal) in parts {
        let mut condition = format!("{} == {literal}", quoted(name, '"'));
        if let Some(filter) = &selection.filter {
            condition = format!("({filter}) and {condition}");
        }
        let part = Query {
            filter: Some(Filter::parse(&condition)?),
            ..selection.clone()
        };
        found.push((key.text, part));
    }
    Ok(found)
}

async fn by_count(
    store: &Store,
    selection: &Query,
    count: u32,
) -> Result<NamedQueries, ConvertError> {
    let width = count.saturating_sub(1).to_string().len();
    let name = |number: usize| format!("{number:0width$}");
    if !has_objects(store).await? {
        let splits = selection.splits(store, Target::Count(count)).await?;
        let queries = splits.iter().enumerate();
        let queries = queries.map(|(number, split)| Ok((name(number), split.query()?)));
        return queries.collect();
    }
    let wanted = wanted(selection);
    let mut sizes = Vec::new();
    let mut list = list_objects(store, 0, false).await?;
    while let Some((_, batch)) = list.next().await? {
        let all = ids_of(&batch)?.iter().zip(counts_of(&batch)?);
        let all = all.filter(|(id, _)| wanted.as_ref().is_none_or(|wanted| wanted.contains(id)));
        sizes.extend(all.map(|(id, size)| (*id, *size)));
    }
    let total: u128 = sizes.iter().map(|(_, size)| u128::from(*size)).sum();
    let mut parts: Vec<Vec<i64>> = vec![Vec::new(); index(count)];
    let mut before = 0u128;
    for (id, size) in sizes {
        // An object belongs to the part that contains its middle.
        let middle = 2 * before + u128::from(size);
        let number = (middle * u128::from(count))
            .checked_div(2 * total)
            .unwrap_or(0);
        let last = parts.len().saturating_sub(1);
        let number = usize::try_from(number).unwrap_or(last).min(last);
        parts
            .get_mut(number)
            .or_bug("a part that does not exist")?
            .push(id);
        before += u128::from(size);
    }
    let parts = parts.into_iter().enumerate();
    Ok(parts
        .map(|(number, ids)| (name(number), of_objects(selection, ids)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::{SplitKey, Template, is_template};

    #[test]
    fn templates_have_places() {
        let found = Template::parse("out/{id}-{name}.swc").unwrap();
        let places = [("out/", "id"), ("-", "name")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!((found.places, found.end.as_str()), (places.into(), ".swc"));
        assert!(Template::parse("plain.swc").is_err() && Template::parse("{id.swc").is_err());
        assert!(is_template("{id}.swc") && !is_template("a{.swc") && !is_template("a.swc"));
    }

    #[test]
    fn values_are_in_the_order_of_numbers() {
        let mut keys = ["10", "9", "b", "-1"].map(|text| SplitKey::of(text.to_owned()));
        keys.sort();
        assert_eq!(keys.map(|key| key.text), ["b", "-1", "9", "10"]);
    }
}
