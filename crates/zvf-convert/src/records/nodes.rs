//! How links refer to the vertices of a table: by rows, from 0, or by ids from a column of the table.

use std::borrow::Cow;
use std::collections::BTreeSet;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema};

use super::values::{texts, wide};
use crate::error::{ConvertError, shown};
use crate::numbers::without_points;
use crate::options::Options;

/// Usual names of columns with ids of vertices, in lower case and without `_`, `-` and blanks.
const USUAL: [&str; 12] = [
    "id", "idx", "index", "nid", "node", "nodeid", "osmid", "pointid", "spotid", "vertex",
    "vertexid", "vid",
];

/// Most ids in a message.
const LISTED: usize = 5;

/// Whether a column of this name may have ids that links refer to.
pub(crate) fn names_nodes(name: &str) -> bool {
    let name: String = name
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    USUAL.contains(&&*name)
}

/// The columns of a vertex table that links may use to name vertices: the id column, or candidates.
pub(crate) fn watched(schema: &Schema, options: &Options) -> Result<Vec<usize>, ConvertError> {
    if options.links().is_none() || options.links_by_row {
        return Ok(Vec::new());
    }
    let names = super::columns::names_of(schema);
    if let Some(id) = &options.node_id {
        let found = names.iter().position(|name| name == id);
        return found.map(|at| vec![at]).ok_or_else(|| {
            let expected = format!(
                "one of the columns of the vertex table: {}",
                names.join(", ")
            );
            ConvertError::usage("node id", shown(id), expected)
        });
    }
    let columns = names.iter().enumerate();
    let columns = columns.filter(|(_, name)| {
        names_nodes(name)
            && options.object_column.as_deref() != Some(**name)
            && !options.position.iter().flatten().any(|one| one == *name)
    });
    Ok(columns.map(|(at, _)| at).collect())
}

/// Whether a column must be read because of the links.
pub(crate) fn is_watched(name: &str, column: &DataType, options: &Options) -> bool {
    let known = column.is_integer()
        || super::values::kind(column).is_some_and(|(kind, _)| kind.number().is_none());
    options.links().is_some()
        && !options.links_by_row
        && match &options.node_id {
            Some(id) => id == name,
            None => known && names_nodes(name),
        }
}

/// The census of the watched columns of a vertex table.
#[derive(Debug)]
pub(crate) enum NodeCensus {
    /// Ids by which links name vertices.
    Ids(NodeIds),
    /// Columns that may be such ids.
    Counted(Vec<RowNumberColumn>),
}

/// A column that may count rows from 0.
#[derive(Debug)]
pub(crate) struct RowNumberColumn {
    name: String,
    rows: u64,
    /// The first value that is not its row number, and the row.
    other: Option<(u64, String)>,
}

impl NodeCensus {
    /// An empty census of columns with these names.
    pub(crate) fn new(names: Vec<String>, options: &Options) -> Self {
        if let Some(id) = &options.node_id {
            return Self::Ids(NodeIds::new(id, options.limits.ids));
        }
        let counted = names.into_iter().map(|name| RowNumberColumn {
            name,
            rows: 0,
            other: None,
        });
        Self::Counted(counted.collect())
    }

    /// Adds a field of a table of text, from the watched column `number`. An error has two texts: what was found and what is expected.
    pub(crate) fn field(
        &mut self,
        number: usize,
        field: Option<&str>,
    ) -> Result<(), (String, String)> {
        match self {
            Self::Ids(ids) => ids.add_text(field.unwrap_or_default().trim()),
            Self::Counted(counted) => {
                if let Some(one) = counted.get_mut(number) {
                    let text = field.unwrap_or_default().trim();
                    one.see(text.parse() == Ok(one.rows), || text.to_owned());
                }
                Ok(())
            }
        }
    }

    /// Adds a watched column of a batch. An error has the row, what was found and what is expected.
    pub(crate) fn column(
        &mut self,
        number: usize,
        column: &ArrayRef,
    ) -> Result<(), (usize, (String, String))> {
        match self {
            Self::Ids(ids) => ids.add(column),
            Self::Counted(counted) => {
                let Some(one) = counted.get_mut(number) else {
                    return Ok(());
                };
                if column.data_type().is_integer() && column.null_count() == 0 {
                    for number in wide(column) {
                        one.see(number == i128::from(one.rows), || number.to_string());
                    }
                } else {
                    for text in values_of(column) {
                        let text = text.unwrap_or_default();
                        one.see(text.parse() == Ok(one.rows), || text.into_owned());
                    }
                }
                Ok(())
            }
        }
    }

    /// How links name vertices, after the whole table was read.
    pub(crate) fn finish(self) -> Result<Naming, ConvertError> {
        Ok(match self {
            Self::Ids(mut ids) => {
                ids.sort()?;
                Naming::Ids(ids)
            }
            Self::Counted(counted) => {
                let mut others = counted.into_iter();
                let other = others.find_map(|one| Some((one.name, one.other?)));
                match other {
                    Some((name, (row, value))) => Naming::Doubtful { name, row, value },
                    None => Naming::Rows,
                }
            }
        })
    }
}

impl RowNumberColumn {
    fn see(&mut self, counts: bool, value: impl FnOnce() -> String) {
        if !counts && self.other.is_none() {
            self.other = Some((self.rows, value()));
        }
        self.rows = self.rows.saturating_add(1);
    }
}

/// How links name the vertices of a table.
#[derive(Debug)]
pub(crate) enum Naming {
    Rows,
    Ids(NodeIds),
    /// Either by rows, or by the column `name`, which may have ids; `value` in `row` is the first one that is not its row number.
    Doubtful {
        name: String,
        row: u64,
        value: String,
    },
}

/// The error of links that may name rows or ids.
#[cold]
pub(crate) fn doubtful(name: &str, row: u64, value: &str, ends: &str) -> ConvertError {
    let found = format!(
        "{ends} beside a column {} that does not count rows from 0: row {row} has {}",
        shown(name),
        shown(value)
    );
    let expected = format!(
        "an option that states what the ends are: --node-id {name} for values of that column, or --links-by-row for rows of the vertex table, from 0"
    );
    ConvertError::usage("ends of links", found, expected)
}

/// Ids of the vertices of a table, by which links name them: whole numbers or texts, each once.
///
/// # Cost
/// 16 bytes for each id that is a whole number; 40 bytes plus its length for each text.
#[derive(Debug)]
pub struct NodeIds {
    name: String,
    ids: SortedNodeIds,
    /// Bytes of the ids so far, and the limit on them.
    held: u64,
    most: u64,
}

/// The ids with their rows, sorted at the end. Whole numbers, unless one of them is a text.
#[derive(Debug)]
enum SortedNodeIds {
    Whole(Vec<(i64, u64)>),
    Texts(Vec<(Box<str>, u64)>),
}

/// The number in a text if it is in canonical form: no leading zeros, no plus sign.
fn whole(text: &str) -> Option<i64> {
    let bare = text.strip_prefix('-').unwrap_or(text);
    let plain = match bare.as_bytes() {
        [b'0'] => bare == text,
        [b'1'..=b'9', ..] => true,
        _ => false,
    };
    plain.then(|| text.parse().ok())?
}

/// The whole numbers or texts of a column, as texts; empty for a column of another type.
fn values_of(column: &ArrayRef) -> Vec<Option<Cow<'_, str>>> {
    if !column.data_type().is_integer() {
        return texts(column);
    }
    let numbers = wide(column).enumerate();
    let texts =
        numbers.map(|(row, number)| column.is_valid(row).then(|| Cow::Owned(number.to_string())));
    texts.collect()
}

impl NodeIds {
    /// An empty set of ids from a column of that name.
    fn new(name: &str, most: u64) -> Self {
        Self {
            name: name.to_owned(),
            ids: SortedNodeIds::Whole(Vec::new()),
            held: 0,
            most,
        }
    }

    /// The ids of a whole column.
    ///
    /// # Errors
    /// Misuse: a missing or repeated id; a column of another type; more than `most` bytes of ids.
    pub fn of(name: &str, column: &ArrayRef, most: u64) -> Result<Self, ConvertError> {
        let mut ids = Self::new(name, most);
        ids.add(column).map_err(|(row, (found, expected))| {
            ConvertError::usage("node id", format!("in row {row}: {found}"), expected)
        })?;
        ids.sort()?;
        Ok(ids)
    }

    /// Whether the ids are texts.
    pub(crate) const fn are_texts(&self) -> bool {
        matches!(self.ids, SortedNodeIds::Texts(_))
    }

    fn len(&self) -> usize {
        match &self.ids {
            SortedNodeIds::Whole(list) => list.len(),
            SortedNodeIds::Texts(list) => list.len(),
        }
    }

    fn add_text(&mut self, text: &str) -> Result<(), (String, String)> {
        let row = self.len() as u64;
        if text.is_empty() {
            let expected = format!("an id in column {}", shown(&self.name));
            return Err(("nothing".to_owned(), expected));
        }
        if let (SortedNodeIds::Whole(list), None) = (&self.ids, whole(text)) {
            let list = list.iter().map(|(id, row)| (id.to_string().into(), *row));
            self.ids = SortedNodeIds::Texts(list.collect());
            self.held = self.held.saturating_mul(4);
        }
        self.held = self.held.saturating_add(match &mut self.ids {
            SortedNodeIds::Whole(list) => {
                list.extend(whole(text).map(|id| (id, row)));
                16
            }
            SortedNodeIds::Texts(list) => {
                list.push((text.into(), row));
                text.len() as u64 + 40
            }
        });
        self.check()
    }

    fn check(&self) -> Result<(), (String, String)> {
        if self.held > self.most {
            let expected = format!("at most {} bytes of ids (--memory-budget)", self.most);
            return Err((format!("{} bytes of ids", self.held), expected));
        }
        Ok(())
    }

    fn add(&mut self, column: &ArrayRef) -> Result<(), (usize, (String, String))> {
        let column = &without_points(column);
        let known = column.data_type().is_integer() || column.is_empty();
        if known && column.null_count() == 0 && !self.are_texts() {
            let numbers = wide(column).map(|number| i64::try_from(number).ok());
            if let Some(numbers) = numbers.collect::<Option<Vec<_>>>()
                && let SortedNodeIds::Whole(list) = &mut self.ids
            {
                let first = list.len() as u64;
                list.extend(numbers.into_iter().zip(first..));
                self.held = (list.len() as u64).saturating_mul(16);
                return self.check().map_err(|wrong| (0, wrong));
            }
        }
        let values = values_of(column);
        if values.len() != column.len() {
            let found = format!("column {} of {}", shown(&self.name), column.data_type());
            return Err((0, (found, "ids that are whole numbers or texts".to_owned())));
        }
        for (row, value) in values.into_iter().enumerate() {
            let value = value.unwrap_or_default();
            self.add_text(&value).map_err(|wrong| (row, wrong))?;
        }
        Ok(())
    }

    /// Sorts the ids; fails if one occurs twice.
    fn sort(&mut self) -> Result<(), ConvertError> {
        fn twice<T: Ord + Clone>(list: &mut [(T, u64)]) -> (usize, BTreeSet<T>) {
            list.sort_unstable();
            let pairs = list.windows(2).filter_map(|pair| match pair {
                [(one, _), (other, _)] if one == other => Some(one),
                _ => None,
            });
            let mut ids = BTreeSet::new();
            let mut count = 0;
            for id in pairs {
                count += 1;
                if ids.len() < LISTED {
                    ids.insert(id.clone());
                }
            }
            (count, ids)
        }
        let (count, ids) = match &mut self.ids {
            SortedNodeIds::Whole(list) => {
                let (count, ids) = twice(list);
                (
                    count,
                    ids.iter().map(ToString::to_string).collect::<Vec<_>>(),
                )
            }
            SortedNodeIds::Texts(list) => {
                let (count, ids) = twice(list);
                (count, ids.iter().map(|id| shown(id)).collect())
            }
        };
        if count == 0 {
            return Ok(());
        }
        let more = if count > ids.len() { ", …" } else { "" };
        let found = format!(
            "{count} rows with an id of another row in column {}: {}{more}",
            shown(&self.name),
            ids.join(", ")
        );
        Err(ConvertError::usage(
            "node id",
            found,
            "different ids for all vertices",
        ))
    }

    /// The row of a vertex.
    fn row(&self, end: &str) -> Option<u64> {
        match &self.ids {
            SortedNodeIds::Whole(list) => self.row_of(whole(end)?, list),
            SortedNodeIds::Texts(list) => {
                let at = list.binary_search_by(|(id, _)| (**id).cmp(end)).ok()?;
                list.get(at).map(|(_, row)| *row)
            }
        }
    }

    #[expect(clippy::unused_self, reason = "a search of the ids")]
    fn row_of(&self, id: i64, list: &[(i64, u64)]) -> Option<u64> {
        let at = list.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        list.get(at).map(|(_, row)| *row)
    }

    /// The rows of the vertices to which a column of ends refers.
    ///
    /// # Errors
    /// A column of another type, or ends that are not ids. The error has the row of the first such end, the first few of them as text, and what is
    /// expected.
    pub(crate) fn rows(&self, ends: &ArrayRef) -> Result<Vec<u64>, (usize, (String, String))> {
        let ends = &without_points(ends);
        let mut rows = Vec::with_capacity(ends.len());
        let (mut lost, mut first, mut count) = (Vec::new(), 0, 0_u64);
        let mut put = |at: usize, row: Option<u64>, text: &dyn Fn() -> String| match row {
            Some(row) => rows.push(row),
            None => {
                count += 1;
                if lost.is_empty() {
                    first = at;
                }
                let text = text();
                if lost.len() < LISTED && !lost.contains(&text) {
                    lost.push(text);
                }
            }
        };
        match &self.ids {
            SortedNodeIds::Whole(list)
                if ends.data_type().is_integer() && ends.null_count() == 0 =>
            {
                for (at, number) in wide(ends).enumerate() {
                    let row = i64::try_from(number).ok();
                    let row = row.and_then(|id| self.row_of(id, list));
                    put(at, row, &|| number.to_string());
                }
            }
            _ => {
                let values = values_of(ends);
                if values.len() != ends.len() {
                    let found = format!("ends of {}", ends.data_type());
                    return Err((0, (found, "whole numbers or texts, as the ids".to_owned())));
                }
                for (at, value) in values.into_iter().enumerate() {
                    let value = value.unwrap_or_default();
                    // Ids of tables of text were read without blanks around them; ids of other tables may have blanks.
                    let row = self.row(&value).or_else(|| self.row(value.trim()));
                    put(at, row, &|| match value.is_empty() {
                        true => "nothing".to_owned(),
                        false => shown(&value),
                    });
                }
            }
        }
        if count == 0 {
            return Ok(rows);
        }
        let more = if count > lost.len() as u64 {
            ", …"
        } else {
            ""
        };
        let found = format!(
            "{count} ends that no vertex has as its id: {}{more}",
            lost.join(", ")
        );
        let expected = format!("values of column {} of the vertex table", shown(&self.name));
        Err((first, (found, expected)))
    }

    /// The rows of the vertices to which a column of ends refers.
    ///
    /// # Errors
    /// Misuse: ends that are not ids, which the message lists; a column of another type.
    pub fn find(&self, ends: &ArrayRef) -> Result<Vec<u64>, ConvertError> {
        self.rows(ends).map_err(|(row, (found, expected))| {
            ConvertError::usage(
                "ends of links",
                format!("from row {row}: {found}"),
                expected,
            )
        })
    }
}

/// Refuses links by row number if the vertex table has a column that may be meant instead: `columns` are names and values of the vertex
/// table, `ends` is a text with the columns of ends.
///
/// # Errors
/// Misuse: a column with a usual name of ids has other values than row numbers.
pub fn check_rows<'a>(
    columns: impl IntoIterator<Item = (&'a str, &'a ArrayRef)>,
    ends: &str,
) -> Result<(), ConvertError> {
    for (name, column) in columns {
        if !names_nodes(name) {
            continue;
        }
        let names = vec![name.to_owned()];
        let mut nodes = NodeCensus::new(names, &Options::default());
        let seen = nodes.column(0, column);
        if seen.is_ok()
            && let Naming::Doubtful { name, row, value } = nodes.finish()?
        {
            return Err(doubtful(&name, row, &value, ends));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, StringArray, UInt64Array};

    use super::*;

    #[test]
    fn ids_are_numbers_or_texts() {
        let ends: ArrayRef = Arc::new(StringArray::from(vec!["7", "18446744073709551615"]));
        let mut ids = NodeIds::new("id", 1 << 20);
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![-5, 7]));
        ids.add(&numbers).unwrap();
        assert!(!ids.are_texts());
        let large: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
        ids.add(&large).unwrap();
        assert!(ids.are_texts());
        ids.sort().unwrap();
        assert_eq!(ids.rows(&ends).unwrap(), [1, 2]);
        let ends: ArrayRef = Arc::new(Int64Array::from(vec![7, 8, 9, 8, -5]));
        let (row, (found, _)) = ids.rows(&ends).unwrap_err();
        assert_eq!(
            (row, &*found),
            (1, "3 ends that no vertex has as its id: \"8\", \"9\", …")
        );
        // `07` is another id than 7.
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["7", "07", "a"]));
        let ids = NodeIds::of("id", &texts, 1 << 20).unwrap();
        assert_eq!(ids.find(&texts).unwrap(), [0, 1, 2]);
        let again: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "a"]));
        let error = NodeIds::of("id", &again, 1 << 20).unwrap_err().to_string();
        assert_eq!(
            error,
            "node id: found 1 rows with an id of another row in column \"id\": \"a\", expected different ids for all vertices"
        );
        assert!(NodeIds::of("id", &texts, 100).is_err());
    }

    #[test]
    fn columns_are_known_by_their_names() {
        for name in ["id", "ID", "node_id", "nodeId", "Index", "SPOT_ID"] {
            assert!(names_nodes(name), "{name}");
        }
        for name in ["object_id", "cell", "idx2", "x"] {
            assert!(!names_nodes(name), "{name}");
        }
    }
}
