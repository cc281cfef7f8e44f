//! A table of links beside a table of vertices: edges or faces, one row for each link. Ends are rows of
//! the vertex table, from 0, or ids in a column of it.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, SchemaRef};
use zvf_encode::error::OrBug;
use zvf_query::numbers::elements;
use zvf_write::arrow::described;
use zvf_write::{AttributeType, Kind, StoreSpec, Values};

use super::attribute::{AttributeColumn, Decided, ValueCensus};
use super::columns::{names_of, refused};
use super::nodes::{Naming, NodeIds, doubtful};
use super::open::{self, source};
use super::rename::{self, hold};
use super::source::TableSource;
use super::values::kind;
use crate::Format;
use crate::error::{ConvertError, InFile, shown};
use crate::numbers::{whole, without_points};
use crate::options::{Nulls, Options};
use crate::table::text::OpenTextTable;

/// The default columns of ends: first a column of lists, then one column per end.
const LISTED: &str = "vertices";
const EDGES: [[&str; 2]; 4] = [
    ["vertices_0", "vertices_1"],
    ["source", "target"],
    ["from", "to"],
    ["child", "parent"],
];
const FACES: [[&str; 4]; 2] = [
    ["vertices_0", "vertices_1", "vertices_2", "vertices_3"],
    ["a", "b", "c", "d"],
];

/// Ends of links, one link after another, and their attributes.
pub(crate) type Links = (Vec<u64>, Vec<(String, Values)>);

/// Receives the ends of some links, and their attributes.
type TakeLinks<'a> = dyn FnMut(Vec<u64>, Vec<(String, Values)>) -> Result<(), ConvertError> + 'a;

/// Receives the number of the first row of a batch, the batch, and the ends of its links.
type TakeRows<'a> = dyn FnMut(u64, &RecordBatch, Vec<u64>) -> Result<(), ConvertError> + 'a;

/// A table of links after the first pass.
#[derive(Debug)]
pub(crate) struct SurveyedLinks {
    path: PathBuf,
    options: Options,
    source: Box<dyn TableSource>,
    schema: SchemaRef,
    /// One column of lists, or one for each end.
    ends: Vec<usize>,
    attributes: Vec<AttributeColumn>,
    /// How attributes are stored; empty during the first pass.
    decided: Vec<Decided>,
    /// The number of ends of a link.
    pub(crate) width: usize,
    /// The number of rows.
    pub(crate) links: u64,
    /// Notes about data of the file that is not stored.
    pub(crate) notes: Vec<String>,
    /// The ids of vertices to which ends refer, unless they refer to rows.
    ids: Option<NodeIds>,
}

/// Links that occur more than once, or that connect a vertex to itself.
struct Repeated {
    faces: bool,
    /// The two ends of each edge, the smaller one first; `None` once there are too many to hold.
    ends: Option<Vec<u64>>,
    /// The number of links that name a vertex twice.
    degenerate: u64,
}

impl Repeated {
    /// Most edges that are held in memory.
    const MOST: usize = 1 << 24;

    fn new(faces: bool, vertices: u64) -> Self {
        Self {
            faces,
            ends: (!faces && vertices <= 1 << 32).then(Vec::new),
            degenerate: 0,
        }
    }

    fn see(&mut self, ends: &[u64], width: usize) {
        for link in ends.chunks(width.max(1)) {
            let twice =
                (1..link.len()).any(|at| link.iter().take(at).any(|end| link.get(at) == Some(end)));
            self.degenerate = self.degenerate.saturating_add(u64::from(twice));
            if let (Some(all), [from, to]) = (&mut self.ends, link) {
                all.push(from.min(to) << 32 | from.max(to));
            }
        }
        if self
            .ends
            .as_ref()
            .is_some_and(|ends| ends.len() > Self::MOST)
        {
            self.ends = None;
        }
    }

    fn notes(self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.degenerate > 0 {
            notes.push(match self.faces {
                true => format!("{} faces name a vertex twice", self.degenerate),
                false => format!("{} edges begin and end at the same vertex", self.degenerate),
            });
        }
        if let Some(mut ends) = self.ends {
            let all = ends.len();
            ends.sort_unstable();
            ends.dedup();
            if all > ends.len() {
                notes.push(format!(
                    "{} edges have the same ends as another edge: all are kept",
                    all - ends.len()
                ));
            }
        }
        notes
    }
}

impl SurveyedLinks {
    /// Reads the table of links in the options, if there is one; `vertices` is the number of rows of the vertex table, and `naming` how links
    /// refer to them.
    pub(crate) fn survey(
        options: &Options,
        vertices: u64,
        naming: Naming,
    ) -> Result<Option<Self>, ConvertError> {
        let Some((path, faces)) = options.links() else {
            return Ok(None);
        };
        let format = Format::of(path)?;
        if !format.is_table() {
            let found = format!("{}, for a table of links", format.name());
            let what = path.display().to_string();
            return Err(ConvertError::usage(
                what,
                found,
                "a table: CSV, NPY, Arrow or Parquet",
            ));
        }
        // Most options describe the columns of the vertex table.
        let mut own = options.clone();
        (own.position, own.object_column, own.attributes) = (None, None, None);
        (own.exclude, own.columns_in) = (Vec::new(), None);
        // Ends refer to the vertex table: this table has neither links nor ids of its own.
        (own.edges, own.faces, own.node_id) = (None, None, None);
        if own.nulls == Nulls::DropRow {
            own.nulls = Nulls::Keep;
        }
        if format.is_text() && !own.attribute_types.is_empty() {
            // Drops the types of columns that only the vertex table has.
            let columns = OpenTextTable::texts(path, format, &own)?.schema();
            let names = names_of(&columns);
            own.attribute_types
                .retain(|(name, _)| names.contains(&name.as_str()));
        }
        let mut source = source(path, format, &own)?;
        let schema = source.schema();
        let ends = link_ends(path, &schema, faces, options.link_columns.as_deref())?;
        let name = |at: &usize| schema.fields().get(*at).map_or("", |field| field.name());
        let own_names: Vec<&str> = ends.iter().map(name).collect();
        let ids = match naming {
            Naming::Rows => None,
            Naming::Ids(ids) => Some(ids),
            // Exports write row numbers into columns of these names.
            Naming::Doubtful { .. } if own_names.iter().all(|name| name.starts_with(LISTED)) => {
                None
            }
            Naming::Doubtful { name, row, value } => {
                let ends = match format {
                    Format::Npy => "an array".to_owned(),
                    _ => format!("columns {}", own_names.join(", ")),
                };
                return Err(doubtful(&name, row, &value, &ends));
            }
        };
        if format.is_text() && ids.as_ref().is_some_and(NodeIds::are_texts) {
            // Ends are read as texts, even if they are numbers.
            let texts = own_names
                .iter()
                .map(|name| ((*name).to_owned(), AttributeType::Category));
            own.attribute_types.extend(texts);
            source = open::source(path, format, &own)?;
        }
        let schema = source.schema();
        let width = match (
            ends.as_slice(),
            ends.first().and_then(|at| schema.fields().get(*at)),
        ) {
            ([_], Some(field)) => kind(field.data_type()).map_or(0, |(_, width)| width),
            _ => ends.len(),
        };
        if ends.len() > 1 && ends.iter().any(|at| is_listed(&schema, &[*at])) {
            return Err(ConvertError::usage(
                "link columns",
                "a column of lists beside others",
                "one column of lists, or a column of numbers for each end",
            ));
        }
        let legal = if faces { 3..=4 } else { 2..=2 };
        // Without rows, the length of Parquet's lists is unknown, because the schema does not fix it.
        let width = match width {
            1 if is_listed(&schema, &ends) && !has_rows(source.as_ref())? => *legal.start(),
            width => width,
        };
        if !legal.contains(&width) {
            let found = format!("{width} ends of a link");
            let expected = if faces {
                "3 or 4, for faces"
            } else {
                "2, for edges"
            };
            return Err(ConvertError::malformed(
                path,
                InFile::Whole,
                found,
                expected,
            ));
        }
        let (mut attributes, mut notes) = (Vec::new(), source.notes());
        for (column, field) in schema.fields().iter().enumerate() {
            let number = AttributeColumn::of(field, column).filter(|one| !one.is_text());
            match number {
                _ if ends.contains(&column) => {}
                Some(attribute) if !field.name().is_empty() => attributes.push(attribute),
                _ => notes.push(format!(
                    "column {} of links is not kept: only numbers can be attributes of links",
                    shown(field.name())
                )),
            }
        }
        let mut table = Self {
            path: path.to_owned(),
            options: own,
            source,
            schema,
            ends,
            attributes,
            decided: Vec::new(),
            width,
            links: 0,
            notes,
            ids,
        };
        hold(&mut table.attributes, &table.schema);
        table
            .notes
            .extend(rename::notes(&table.attributes, &table.schema));
        let mut repeated = Repeated::new(faces, vertices);
        let mut seen: Vec<ValueCensus> = Vec::new();
        seen.resize_with(table.attributes.len(), ValueCensus::default);
        table.links = table.visit_links(vertices, &mut |first, batch, ends| {
            repeated.see(&ends, table.width);
            for (one, census) in table.attributes.iter().zip(&mut seen) {
                let column = batch.columns().get(one.column);
                let column = column.ok_or_else(|| table.changed())?;
                one.see(column, table.options.nulls, census)
                    .map_err(|(row, found)| {
                        let (found, expected) = refused(&one.name, found);
                        table.bad(first, row, &found, &expected)
                    })?;
            }
            Ok(())
        })?;
        table.notes.extend(repeated.notes());
        for (one, census) in table.attributes.iter().zip(&seen) {
            let (mut decided, note) = one.decide(census, table.options.nulls).map_err(|found| {
                let (found, expected) = refused(&one.name, found);
                ConvertError::malformed(path, InFile::Whole, found, expected)
            })?;
            let field = table.schema.fields().get(one.column);
            decided.spec = described(decided.spec, field.or_bug("a column without a field")?)?;
            if !matches!(decided.spec.values, AttributeType::Number(_)) {
                let found = "booleans, some of them missing".to_owned();
                let (found, expected) = refused(&one.name, found);
                return Err(ConvertError::malformed(
                    path,
                    InFile::Whole,
                    found,
                    expected,
                ));
            }
            table.decided.push(decided);
            table.notes.extend(note);
        }
        Ok(Some(table))
    }

    /// Adds these links to the specification.
    pub(crate) fn specify(&self, mut spec: StoreSpec) -> StoreSpec {
        if spec.kind == Kind::Mesh {
            spec = spec.with_link_width(self.width);
        }
        if spec.kind == Kind::Skeleton && !self.attributes.is_empty() {
            // Only stored links have attributes, so they are not implied.
            spec = spec.with_explicit_links();
        }
        for decided in &self.decided {
            spec = spec.with_link_attribute(decided.spec.clone());
        }
        spec
    }

    /// Attributes without values, since every batch must have all attributes.
    pub(crate) fn none(&self) -> Vec<(String, Values)> {
        let decided = self.decided.iter();
        decided
            .map(|one| (one.spec.name.clone(), one.none()))
            .collect()
    }

    /// Reads the table again, batch by batch.
    pub(crate) fn read(&self, vertices: u64, take: &mut TakeLinks<'_>) -> Result<(), ConvertError> {
        let links = self.visit_links(vertices, &mut |_, batch, ends| {
            let mut attributes = Vec::new();
            for (one, decided) in self.attributes.iter().zip(&self.decided) {
                let column = batch.columns().get(one.column);
                let values = column.and_then(|column| one.values(column, decided));
                attributes.push((
                    decided.spec.name.clone(),
                    values.ok_or_else(|| self.changed())?,
                ));
            }
            take(ends, attributes)
        })?;
        match links {
            links if links == self.links => Ok(()),
            _ => Err(self.changed()),
        }
    }

    /// All links in memory, for kinds whose batches have vertices and links together.
    pub(crate) fn all(&self, vertices: u64) -> Result<Links, ConvertError> {
        let none = self.none().into_iter();
        let (names, none): (Vec<String>, Vec<Values>) = none.unzip();
        let mut parts: Vec<Vec<Values>> = none.into_iter().map(|one| vec![one]).collect();
        let mut all = Vec::new();
        self.read(vertices, &mut |ends, more| {
            all.extend(ends);
            for (parts, (_, more)) in parts.iter_mut().zip(more) {
                parts.push(more);
            }
            Ok(())
        })?;
        let whole = parts.iter().map(Values::concat);
        let whole: Option<Vec<Values>> = whole.collect();
        let whole = whole.ok_or_else(|| self.changed())?;
        Ok((all, names.into_iter().zip(whole).collect()))
    }

    #[cold]
    fn changed(&self) -> ConvertError {
        ConvertError::file_changed(&self.path, "other links")
    }

    /// Checks the links and passes them on; returns their number.
    fn visit_links(&self, vertices: u64, take: &mut TakeRows<'_>) -> Result<u64, ConvertError> {
        let mut first = 0_u64;
        self.source.vertices(self.options.batch, &mut |batch| {
            let ends = self.ends(batch, first, vertices)?;
            let start = first;
            first = first.saturating_add(batch.num_rows() as u64);
            take(start, batch, ends)
        })?;
        Ok(first)
    }

    /// The ends of a batch's links, one link after another.
    fn ends(
        &self,
        batch: &RecordBatch,
        first: u64,
        vertices: u64,
    ) -> Result<Vec<u64>, ConvertError> {
        if let Some(ids) = &self.ids {
            return self.ends_by_ids(ids, batch, first);
        }
        let mut columns: Vec<Vec<i64>> = Vec::new();
        for at in &self.ends {
            let column = batch.columns().get(*at).ok_or_else(|| self.changed())?;
            let numbers = whole(&without_points(&elements(column).0));
            let numbers = numbers.filter(|_| column.null_count() == 0);
            let Some(numbers) = numbers else {
                let name = self
                    .schema
                    .fields()
                    .get(*at)
                    .map_or("", |field| field.name());
                let found = format!("column {} of {}", shown(name), column.data_type());
                let expected = format!(
                    "whole numbers, none missing: rows of the vertex table, from 0 (--node-id COLUMN, if they are values of that column of the vertex table){}",
                    self.way_out()
                );
                return Err(self.bad(first, 0, &found, &expected));
            };
            columns.push(numbers);
        }
        let count = batch.num_rows().saturating_mul(self.width);
        let mut ends = Vec::with_capacity(count);
        for row in 0..batch.num_rows() {
            for end in 0..self.width {
                let number = match columns.as_slice() {
                    [list] => list.get(row.saturating_mul(self.width).saturating_add(end)),
                    columns => columns.get(end).and_then(|column| column.get(row)),
                };
                let vertex = number.and_then(|number| u64::try_from(*number).ok());
                match vertex.filter(|vertex| *vertex < vertices) {
                    Some(vertex) => ends.push(vertex),
                    None => {
                        let found = number.map_or_else(String::new, ToString::to_string);
                        let way_out = self.way_out();
                        let expected = format!("one of the {vertices} vertices, from 0{way_out}");
                        return Err(self.bad(first, row, &format!("vertex {found}"), &expected));
                    }
                }
            }
        }
        Ok(ends)
    }

    /// Advice for errors about faces, if their fourth column was found by its name and may be an attribute.
    fn way_out(&self) -> String {
        let fields = self.schema.fields();
        let names = self.ends.iter().filter_map(|at| fields.get(*at));
        let names: Vec<&str> = names.map(|field| field.name().as_str()).collect();
        match (names.as_slice(), &self.options.link_columns) {
            ([a, b, c, d], None) => {
                format!(" (--link-columns {a},{b},{c} names the corners if {d} is an attribute)")
            }
            _ => String::new(),
        }
    }

    /// The ends of a batch's links, from ids of vertices.
    fn ends_by_ids(
        &self,
        ids: &NodeIds,
        batch: &RecordBatch,
        first: u64,
    ) -> Result<Vec<u64>, ConvertError> {
        let mut columns = Vec::new();
        for at in &self.ends {
            let column = batch.columns().get(*at).ok_or_else(|| self.changed())?;
            // The items of a missing list may have values.
            if let Some(row) = (0..column.len()).find(|row| column.is_null(*row)) {
                return Err(self.bad(first, row, "a missing value", "ids of vertices"));
            }
            let (items, width) = elements(column);
            let rows = ids.rows(&items).map_err(|(at, (found, expected))| {
                let row = at.checked_div(width).unwrap_or(0);
                self.bad(first, row, &found, &expected)
            })?;
            columns.push(rows);
        }
        if let [list] = columns.as_mut_slice() {
            return Ok(std::mem::take(list));
        }
        let rows = 0..batch.num_rows();
        let ends = rows.flat_map(|row| columns.iter().filter_map(move |one| one.get(row)));
        Ok(ends.copied().collect())
    }

    /// The columns of the table.
    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    #[cold]
    fn bad(&self, first: u64, row: usize, found: &str, expected: &str) -> ConvertError {
        let row = first.saturating_add(row as u64);
        let found = format!("in row {row}: {found}");
        ConvertError::malformed(&self.path, InFile::Whole, found, expected)
    }
}

/// Whether columns have the same type, or are all numbers.
fn alike(schema: &SchemaRef, columns: &[usize]) -> bool {
    let mut types = columns
        .iter()
        .filter_map(|at| schema.fields().get(*at))
        .map(|field| field.data_type());
    let first = types.next();
    types.all(|one| {
        first.is_some_and(|first| one == first || one.is_numeric() && first.is_numeric())
    })
}

/// Whether the ends are one column of lists.
fn is_listed(schema: &Schema, ends: &[usize]) -> bool {
    let [at] = ends else {
        return false;
    };
    let field = schema.fields().get(*at);
    field.is_some_and(|field| matches!(field.data_type(), DataType::FixedSizeList(..)))
}

fn has_rows(source: &dyn TableSource) -> Result<bool, ConvertError> {
    let mut rows = 0;
    source.vertices(1 << 10, &mut |batch| {
        rows += batch.num_rows();
        Ok(())
    })?;
    Ok(rows > 0)
}

/// The columns with the ends of links: the `named` ones, else the only column, a list `vertices`, or columns with usual names, such as
/// `vertices_0` and `vertices_1`, or `source` and `target`.
///
/// # Errors
/// Misuse: a named column does not exist. Malformed data: none of the default columns exists.
pub fn link_ends(
    path: &Path,
    schema: &SchemaRef,
    faces: bool,
    named: Option<&[String]>,
) -> Result<Vec<usize>, ConvertError> {
    let names = names_of(schema);
    let find = |name: &str| names.iter().position(|column| *column == name);
    if let Some(named) = named {
        let ends = named.iter().map(|name| {
            find(name).ok_or_else(|| {
                let all = names.join(", ");
                let expected = format!("one of the columns of {}: {all}", path.display());
                ConvertError::usage("link columns", shown(name), expected)
            })
        });
        return ends.collect();
    }
    if schema.fields().len() == 1 {
        return Ok(vec![0]);
    }
    if let Some(at) = find(LISTED).filter(|at| is_listed(schema, &[*at])) {
        return Ok(vec![at]);
    }
    let all = |set: &[&str]| {
        set.iter()
            .map(|name| find(name))
            .collect::<Option<Vec<_>>>()
    };
    let found = if faces {
        let sets = FACES.iter();
        // Faces have a fourth corner if a column has the name, and numbers or the same type as the others. A column of dates or booleans is not a corner.
        sets.clone()
            .find_map(|set| all(set))
            .filter(|ends| alike(schema, ends))
            .or_else(|| FACES.iter().find_map(|set| all(set.split_last()?.1)))
    } else {
        EDGES.iter().find_map(|set| all(set))
    };
    found.ok_or_else(|| {
        let expected = if faces {
            "columns vertices_0 to vertices_2 (or vertices_3), or a to c (or d), or other columns named with --link-columns"
        } else {
            "columns vertices_0 and vertices_1, source and target, from and to, or child and parent, or other columns named with --link-columns"
        };
        let found = match schema.column_with_name(LISTED) {
            Some((_, field)) => format!("column {LISTED} of {}", field.data_type()),
            None => shown(&names.join(", ")),
        };
        let expected = match schema.column_with_name(LISTED) {
            Some(_) => format!("a column of lists of whole numbers of one length, or {expected}"),
            None => expected.to_owned(),
        };
        ConvertError::malformed(path, InFile::Whole, found, expected)
    })
}
