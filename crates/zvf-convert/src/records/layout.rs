//! The roles of the columns of a table.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use zvf_encode::error::OrBug;
use zvf_meta::units;
use zvf_query::numbers::elements;
use zvf_write::arrow::{described, stated_axes};
use zvf_write::{AttributeSpec, AttributeType, Axis, Kind, NumberType, Values, WriteError};

use super::attribute::{Absent, AttributeColumn};
use super::columns::{check_exclude, names_of, unnamed};
use super::nodes;
use super::rename::hold;
use super::source;
use super::values::{kind, values};
use crate::axes::UNNAMED_AXES;
use crate::error::{ConvertError, InFile, shown};
use crate::found::Stated;
use crate::numbers::{floats, floats_as_whole, without_points};
use crate::options::{Nulls, Options};
use crate::output::axis_names;

/// An error in a row: the number of the row, and the found and expected texts.
pub(crate) type RowError = (usize, (String, String));

/// The roles of the columns of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnRoles {
    /// One column of lists, or one for each coordinate.
    position: Vec<usize>,
    pub(crate) axes: Vec<Axis>,
    /// The statements of the file about its axes.
    pub(crate) stated: Stated,
    pub(crate) number: NumberType,
    pub(crate) object: Option<usize>,
    /// The columns that determine how links name vertices.
    pub(crate) nodes: Vec<usize>,
    pub(crate) attributes: Vec<AttributeColumn>,
}

/// The columns of a table that are read, by their roles.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Roles {
    pub(crate) position: Vec<usize>,
    pub(crate) object: Option<usize>,
    /// The columns that determine how links name vertices.
    pub(crate) nodes: Vec<usize>,
    pub(crate) attributes: Vec<usize>,
}

impl Roles {
    /// Finds the requested columns in the header of a table of text, which has one column per axis.
    pub(crate) fn of_text(
        file: &Path,
        header: &Schema,
        options: &Options,
    ) -> Result<Self, ConvertError> {
        let names = names_of(header);
        check_exclude(file, &names, options)?;
        let expected = "columns x and y (and z), or other columns named with --position";
        let usual = coordinates(&names).or_else(|| numbered(&names));
        let usual = usual.ok_or_else(|| (names.join(", "), expected));
        Self::find(file, InFile::Line(1), header, options, usual)
    }

    /// All columns of a table, as attributes.
    pub(crate) fn all(_: &Path, header: &Schema, _: &Options) -> Result<Self, ConvertError> {
        Ok(Self {
            position: Vec::new(),
            object: None,
            nodes: Vec::new(),
            attributes: (0..header.fields().len()).collect(),
        })
    }

    /// Finds the requested columns. `usual` has the default position columns, or the error if there are none.
    fn find(
        file: &Path,
        place: InFile,
        schema: &Schema,
        options: &Options,
        usual: Result<Vec<usize>, (String, &str)>,
    ) -> Result<Self, ConvertError> {
        let names = names_of(schema);
        let name = |at: usize| names.get(at).copied().unwrap_or_default();
        let find = |what: &str, name: &str| {
            names
                .iter()
                .position(|column| *column == name)
                .ok_or_else(|| {
                    let all = names.join(", ");
                    let expected = format!("one of the columns of {}: {all}", file.display());
                    ConvertError::usage(what, shown(name), expected)
                })
        };
        let mut others = HashSet::new();
        for name in &names {
            if !name.is_empty() && !others.insert(name) {
                let found = format!("a second column {}", shown(name));
                let expected = "different names";
                return Err(ConvertError::malformed(file, place, found, expected));
            }
        }
        let position = match &options.position {
            Some(asked) => asked
                .iter()
                .map(|name| find("position", name))
                .collect::<Result<Vec<_>, _>>()?,
            None => usual.map_err(|(found, expected)| {
                ConvertError::malformed(file, place, found, expected)
            })?,
        };
        if !(1..=4).contains(&position.len()) {
            let found = format!("{} columns", position.len());
            return Err(ConvertError::usage("position", found, "1 to 4"));
        }
        for (at, column) in position.iter().enumerate() {
            if position.iter().take(at).any(|other| other == column) {
                let found = format!("column {} twice", shown(name(*column)));
                return Err(ConvertError::usage("position", found, "different columns"));
            }
        }
        let is_excluded = |at: &&usize| options.exclude.iter().any(|one| one == name(**at));
        if let Some(at) = position.iter().find(is_excluded) {
            let expected = "columns that are not part of the position (--position names the axes)";
            return Err(ConvertError::usage("exclude", shown(name(*at)), expected));
        }
        let object = options.object_column.as_deref();
        let object = object.or_else(|| schema.metadata().get(source::OBJECT).map(String::as_str));
        let object = object.map(|name| find("object column", name)).transpose()?;
        let object = object.or_else(|| own_object(schema, &position, options));
        if object.is_none() {
            check_object(file, schema, &position, options)?;
        }
        if let Some(at) = object.filter(|at| position.contains(at)) {
            let expected = "a column that is not part of the position";
            return Err(ConvertError::usage(
                "object column",
                shown(name(at)),
                expected,
            ));
        }
        let nodes = nodes::watched(schema, options)?;
        let id = nodes.first().copied().filter(|_| options.node_id.is_some());
        let free = |at: &usize| !position.contains(at) && object != Some(*at);
        let attributes = match &options.attributes {
            None => {
                let kept = |at: &usize| {
                    let name = name(*at);
                    free(at) && !options.exclude.iter().any(|one| one == name) && !unnamed(name)
                };
                (0..names.len()).filter(kept).collect()
            }
            Some(asked) => {
                let asked = asked.iter().map(|name| find("attributes", name));
                let mut asked = asked.collect::<Result<Vec<usize>, _>>()?;
                if let Some(at) = asked.iter().find(|at| !free(at)) {
                    let expected = "columns that are neither position nor object";
                    return Err(ConvertError::usage(
                        "attributes",
                        shown(name(*at)),
                        expected,
                    ));
                }
                let kept =
                    |at: &usize| free(at) && !options.exclude.iter().any(|one| one == name(*at));
                if let Some(at) = asked.iter().find(is_excluded) {
                    let expected = "columns that --attributes does not name";
                    return Err(ConvertError::usage("exclude", shown(name(*at)), expected));
                }
                asked.extend(id.filter(kept));
                asked.sort_unstable();
                asked.dedup();
                asked
            }
        };
        Ok(Self {
            position,
            object,
            nodes,
            attributes,
        })
    }
}

/// The column with the object of each row, in tables that queries and exports write.
const OBJECT_ID: &str = "object_id";

/// The default column of objects, unless it is excluded or has another role. Columns of text tables have no types here.
fn own_object(schema: &Schema, position: &[usize], options: &Options) -> Option<usize> {
    let named = |list: &Vec<String>| list.iter().any(|one| one == OBJECT_ID);
    if named(&options.exclude) || options.attributes.as_ref().is_some_and(named) {
        return None;
    }
    let (at, field) = schema.column_with_name(OBJECT_ID)?;
    let kind = field.data_type();
    let number = kind.is_integer() || kind.is_floating() || *kind == DataType::Null;
    (number && !position.contains(&at)).then_some(at)
}

/// Fails if a kind with objects was requested and the default column of objects has no whole numbers: all rows would become one object.
///
/// # Errors
///
/// Misuse: such a column, which is neither excluded nor requested as an attribute.
fn check_object(
    file: &Path,
    schema: &Schema,
    position: &[usize],
    options: &Options,
) -> Result<(), ConvertError> {
    let named = |list: &Vec<String>| list.iter().any(|one| one == OBJECT_ID);
    let has_role = named(&options.exclude)
        || options.attributes.as_ref().is_some_and(named)
        || options.object_column.is_some();
    let Some((at, field)) = schema.column_with_name(OBJECT_ID) else {
        return Ok(());
    };
    let joins = !matches!(options.kind, None | Some(Kind::PointCloud));
    if !joins || has_role || position.contains(&at) {
        return Ok(());
    }
    let found = format!("column {OBJECT_ID} of {}", field.data_type());
    let expected = "whole numbers: the ids of objects; --exclude object_id leaves out the column, --attributes object_id,.. makes it an attribute";
    Err(ConvertError::usage(
        file.display().to_string(),
        found,
        expected,
    ))
}

/// The advice for a problem with a column of objects that the user did not name.
pub(crate) fn if_unnamed(options: &Options) -> &'static str {
    match options.object_column {
        Some(_) => "",
        None => {
            "; --nulls drop-row leaves out rows without one, --exclude object_id leaves out the column, --attributes object_id,.. makes it an \
             attribute"
        }
    }
}

impl ColumnRoles {
    /// Finds the requested columns.
    pub(crate) fn of(
        file: &Path,
        schema: &SchemaRef,
        options: &Options,
    ) -> Result<Self, ConvertError> {
        let names = names_of(schema);
        let expected =
            "a column position, or x and y (and z), or other columns named with --position";
        let found = usual(&names, schema).ok_or_else(|| (shown(&names.join(", ")), expected));
        let roles = Roles::find(file, InFile::Whole, schema, options, found)?;
        Self::new(file, schema, roles, options)
    }

    /// Determines axes, number type and attributes from the types of the columns with these roles.
    pub(crate) fn new(
        file: &Path,
        schema: &Schema,
        roles: Roles,
        options: &Options,
    ) -> Result<Self, ConvertError> {
        let named = options.position.is_some();
        let (axes, number) = axes(file, schema, &roles.position, named)?;
        let (axes, stated) = states(schema, axes)?;
        if let Some(field) = roles.object.and_then(|at| schema.fields().get(at))
            && !(field.data_type().is_integer() || field.data_type().is_floating())
        {
            let expected = "a column of whole numbers that is not part of the position";
            return Err(ConvertError::usage(
                "object column",
                shown(field.name()),
                expected,
            ));
        }
        let mut attributes = Vec::new();
        for at in roles.attributes {
            let Some(field) = schema.fields().get(at) else {
                continue;
            };
            let Some(attribute) = AttributeColumn::of(field, at) else {
                let found = format!("column {} of {}", shown(field.name()), field.data_type());
                let expected = format!(
                    "numbers, booleans, texts, dates or times: leave it out with --exclude {}",
                    field.name()
                );
                let what = file.display().to_string();
                return Err(ConvertError::usage(what, found, expected));
            };
            attributes.push(attribute);
        }
        hold(&mut attributes, schema);
        Ok(Self {
            position: roles.position,
            axes,
            stated,
            number,
            object: roles.object,
            nodes: roles.nodes,
            attributes,
        })
    }

    /// The names and types of the columns that are read.
    fn types<'s>(&self, schema: &'s Schema) -> BTreeMap<&'s str, &'s DataType> {
        let attributes = self.attributes.iter().map(|one| one.column);
        let read = self.position.iter().copied().chain(self.object);
        let fields = read
            .chain(attributes)
            .filter_map(|at| schema.fields().get(at));
        fields
            .map(|field| (field.name().as_str(), field.data_type()))
            .collect()
    }

    /// Refuses a file that states another unit for an attribute than the first file, other names of channels, or another number for missing values. A
    /// file that states none of these agrees with the first.
    fn same_meanings(
        &self,
        first: &Schema,
        own: &Self,
        (file, schema): (&Path, &Schema),
    ) -> Result<(), ConvertError> {
        let stated = |name: &str, schema: &Schema, column: usize| {
            let field = schema.fields().get(column);
            let stated = field.map(|field| described(AttributeSpec::text(name), field));
            stated.transpose()
        };
        for one in &own.attributes {
            let Some(named) = self.attributes.iter().find(|other| other.name == one.name) else {
                continue;
            };
            let expected = stated(&one.name, first, named.column)?;
            let Some((found, expected)) = stated(&one.name, schema, one.column)?.zip(expected)
            else {
                continue;
            };
            let units = found.unit.as_ref().zip(expected.unit.as_ref());
            let units = units.filter(|(found, expected)| !units::same(found, expected));
            let units = units.map(|(found, expected)| {
                (format!("the unit {found}"), format!("the unit {expected}"))
            });
            if let Some((found, expected)) = units.or_else(|| found.other_meaning(&expected)) {
                return Err(ConvertError::malformed(
                    file,
                    InFile::Whole,
                    format!("column {}: {found}", shown(&one.name)),
                    format!("{expected} as in the first file"),
                ));
            }
        }
        Ok(())
    }

    /// Refuses a file whose columns `own` differ from these columns of the first file.
    pub(crate) fn same(
        &self,
        first: &Schema,
        own: &Self,
        (file, schema): (&Path, &Schema),
    ) -> Result<(), ConvertError> {
        self.same_meanings(first, own, (file, schema))?;
        if own == self {
            return Ok(());
        }
        if own.axes != self.axes {
            let described = |axes: &[Axis]| {
                let axes = axes.iter().map(|axis| match &axis.unit {
                    Some(unit) => format!("{} in {unit}", axis.name),
                    None => axis.name.clone(),
                });
                axes.collect::<Vec<_>>().join(", ")
            };
            let expected = format!(
                "{} as in the first file; `zvf append` converts units",
                described(&self.axes)
            );
            let found = format!("axes {}", described(&own.axes));
            return Err(ConvertError::malformed(
                file,
                InFile::Whole,
                found,
                expected,
            ));
        }
        let (ours, theirs) = (self.types(first), own.types(schema));
        let absent = |from: &BTreeMap<&str, &DataType>, of: &BTreeMap<&str, &DataType>| {
            let names = of.keys().filter(|name| !from.contains_key(*name));
            names.copied().collect::<Vec<_>>().join(", ")
        };
        let (lacks, new) = (absent(&theirs, &ours), absent(&ours, &theirs));
        let listed = [("no columns", lacks), ("new columns", new)].into_iter();
        let listed = listed.filter(|(_, names)| !names.is_empty());
        let mut differences: Vec<String> = listed
            .map(|(what, names)| format!("{what} {names}"))
            .collect();
        for (name, kind) in &theirs {
            if let Some(other) = ours.get(name).filter(|other| *other != kind) {
                differences.push(format!("column {name} of {kind}, not {other}"));
            }
        }
        let mut expected = "the columns of the first file: --attributes A,B takes only columns that all files have, `zvf append` adds a file with other columns";
        if differences.is_empty() {
            let same = own.position == self.position && own.attributes == self.attributes;
            differences.push(match same {
                true => "other axes".to_owned(),
                false => "the columns in another order".to_owned(),
            });
            expected = "those of the first file; `zvf append` adds this one, whatever its order";
        }
        Err(ConvertError::malformed(
            file,
            InFile::Whole,
            differences.join("; "),
            expected,
        ))
    }

    /// The number of leading columns that the survey reads: all up to the last one with positions, objects, nodes, or values that determine how an
    /// attribute is stored.
    pub(crate) fn surveyed(&self, schema: &Schema, nulls: Nulls) -> usize {
        let open = self.attributes.iter().filter(|one| {
            let field = schema.fields().get(one.column);
            field.is_none_or(|field| !one.is_decided(field, nulls))
        });
        let open = open.map(|one| one.column);
        let read = self.position.iter().chain(&self.object).chain(&self.nodes);
        let last = read.copied().chain(open).max();
        last.map_or(0, |last| last + 1)
    }

    /// The rows of a batch that are read: all, or with [`Nulls::DropRow`] those without a missing value.
    ///
    /// # Errors
    ///
    /// Bug: a mask that does not fit the batch.
    pub(crate) fn whole(
        &self,
        batch: &RecordBatch,
        nulls: Nulls,
    ) -> Result<RecordBatch, WriteError> {
        if nulls != Nulls::DropRow {
            return Ok(batch.clone());
        }
        let attributes = self.attributes.iter().map(|one| one.column);
        let read = self
            .position
            .iter()
            .copied()
            .chain(self.object)
            .chain(attributes);
        let columns = read.filter_map(|at| batch.columns().get(at));
        let absent = columns.map(|column| {
            let (items, width) = elements(column);
            Absent::of(column, &items, width)
        });
        let absent: Vec<Absent> = absent.collect();
        // A NaN coordinate counts as missing.
        let places: Vec<Vec<f64>> = self.columns(batch).map(|one| floats(one).values).collect();
        let lost = |list: &Vec<f64>, row: usize| {
            let width = list.len().checked_div(batch.num_rows()).unwrap_or(1);
            let own = list.iter().skip(row.saturating_mul(width)).take(width);
            { own }.any(|value| value.is_nan())
        };
        let kept = (0..batch.num_rows()).map(|row| {
            !absent.iter().any(|one| one.in_row(row)) && !places.iter().any(|one| lost(one, row))
        });
        let kept = BooleanArray::from(kept.collect::<Vec<bool>>());
        filter_record_batch(batch, &kept).or_bug("rows without a gap")
    }

    /// The coordinates of a batch, row by row, checked.
    pub(crate) fn positions(&self, batch: &RecordBatch) -> Result<Vec<f64>, RowError> {
        let dims = self.axes.len();
        let columns: Vec<Vec<f64>> = self
            .columns(batch)
            .map(|column| {
                let floats = floats(column);
                if self.number == NumberType::F64 && !floats.exact {
                    let found = format!(
                        "positions of {} that float64 does not represent exactly",
                        column.data_type()
                    );
                    return Err((
                        0,
                        (
                            found,
                            "positions that float64 represents exactly".to_owned(),
                        ),
                    ));
                }
                Ok(floats.values)
            })
            .collect::<Result<_, RowError>>()?;
        let out = match <[Vec<f64>; 1]>::try_from(columns) {
            Ok([list]) => list,
            Err(columns) => {
                let mut out = vec![0.0; columns.iter().map(Vec::len).sum()];
                for (axis, column) in columns.iter().enumerate() {
                    let places = out.iter_mut().skip(axis).step_by(columns.len());
                    places
                        .zip(column)
                        .for_each(|(place, value)| *place = *value);
                }
                out
            }
        };
        let rows = batch.num_rows();
        if dims == 0 || out.len() != rows.saturating_mul(dims) {
            let found = format!("{} coordinates of {rows} rows", out.len());
            return Err((0, (found, format!("{dims} for each row"))));
        }
        let mut values = out.iter().copied().enumerate();
        let Some((at, value)) = values.find(|(_, value)| !value.is_finite()) else {
            return Ok(out);
        };
        let axis = self.axes.get(at % dims);
        let axis = axis.map_or("", |axis| axis.name.as_str());
        let found = format!("{value} as {axis}");
        Err((at / dims, (found, "a finite number".to_owned())))
    }

    fn columns<'b>(&self, batch: &'b RecordBatch) -> impl Iterator<Item = &'b ArrayRef> {
        let columns = self
            .position
            .iter()
            .filter_map(|at| batch.columns().get(*at));
        columns.collect::<Vec<_>>().into_iter()
    }

    /// The positions in the number type of the store; `checked` are the positions of the batch as float64.
    pub(crate) fn values(&self, batch: &RecordBatch, checked: Vec<f64>) -> Option<Values> {
        if self.number == NumberType::F64 {
            return Some(checked.into());
        }
        let columns: Vec<Values> = self.columns(batch).map(values).collect::<Option<_>>()?;
        if let [one] = columns.as_slice() {
            return Some(one.clone());
        }
        macro_rules! woven {
            ($($variant:ident),*) => {
                match self.number {
                    $(NumberType::$variant => {
                        let mut lists = Vec::new();
                        for column in &columns {
                            match column {
                                Values::$variant(list) => lists.push(list.as_ref()),
                                _ => return None,
                            }
                        }
                        let rows = batch.num_rows();
                        let woven = (0..rows).flat_map(|row| lists.iter().filter_map(move |list| list.get(row)));
                        Some(woven.copied().collect::<Vec<_>>().into())
                    })*
                    NumberType::Bool => None,
                }
            };
        }
        woven!(I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64)
    }

    /// The object of every row; empty if there is no column of objects.
    pub(crate) fn objects(
        &self,
        batch: &RecordBatch,
        options: &Options,
    ) -> Result<Vec<i64>, RowError> {
        let Some(column) = self.object.and_then(|at| batch.columns().get(at)) else {
            return Ok(Vec::new());
        };
        if let Some(row) = (0..column.len()).find(|row| column.is_null(*row)) {
            let expected = format!("the id of an object{}", if_unnamed(options));
            return Err((row, ("no object".to_owned(), expected)));
        }
        if let Some(ids) = floats_as_whole(column)
            && let Some(row) = ids.iter().position(Option::is_none)
        {
            let found = format!("an id of {} that is not a whole number", column.data_type());
            let expected = format!("the id of an object{}", if_unnamed(options));
            return Err((row, (found, expected)));
        }
        let column = &without_points(column);
        let whole = crate::numbers::whole(column);
        whole.ok_or_else(|| {
            let unsigned = column.as_primitive_opt::<UInt64Type>();
            let large = unsigned.and_then(|ids| {
                let mut ids = ids.values().iter().enumerate();
                ids.find(|(_, id)| i64::try_from(**id).is_err())
            });
            let (row, found) = match large {
                Some((row, id)) => (row, format!("the id {id}")),
                None => (0, format!("an id of {}", column.data_type())),
            };
            let expected = format!("ids of at most {}{}", i64::MAX, if_unnamed(options));
            (row, (found, expected))
        })
    }
}

/// The column of this name, or else the first one whose name differs only in case.
fn one(names: &[&str], name: &str) -> Option<usize> {
    let exact = names.iter().position(|column| *column == name);
    exact.or_else(|| {
        let mut columns = names.iter();
        columns.position(|column| column.eq_ignore_ascii_case(name))
    })
}

/// The default position columns: one column of lists, or one column for each axis, or else a column `position` of single numbers.
fn usual(names: &[&str], schema: &Schema) -> Option<Vec<usize>> {
    let stated = schema.metadata().get(source::POSITION);
    let stated = stated.and_then(|stated| names.iter().position(|name| name == stated));
    let named = ["position", "positions"].map(|name| one(names, name));
    let mut named = stated.into_iter().chain(named.into_iter().flatten());
    let is_list = |at: &usize| {
        let field = schema.fields().get(*at);
        field.is_some_and(|field| field.data_type().is_nested())
    };
    let listed = named.clone().find(is_list).map(|at| vec![at]);
    let axis = || named.next().map(|at| vec![at]);
    listed.or_else(|| coordinates(names)).or_else(axis)
}

/// The columns x, y and, if it exists, z. Columns of the same case are preferred: beside x, y and z, Z is not an axis.
fn coordinates(names: &[&str]) -> Option<Vec<usize>> {
    for axes in [["x", "y", "z"], ["X", "Y", "Z"]] {
        let exact = |axis: &str| names.iter().position(|column| *column == axis);
        if let [Some(x), Some(y), Some(z)] = axes.map(exact) {
            return Some(vec![x, y, z]);
        }
    }
    match (one(names, "x"), one(names, "y"), one(names, "z")) {
        (Some(x), Some(y), Some(z)) => Some(vec![x, y, z]),
        (Some(x), Some(y), None) => Some(vec![x, y]),
        _ => None,
    }
}

/// The columns `position_0`, `position_1`, …, as which tables of text hold a column of lists.
fn numbered(names: &[&str]) -> Option<Vec<usize>> {
    let place = |axis: usize| {
        let name = format!("position_{axis}");
        names.iter().position(|column| *column == name)
    };
    let columns: Vec<usize> = (0..UNNAMED_AXES.len()).map_while(place).collect();
    (!columns.is_empty()).then_some(columns)
}

/// The axes with these names, with the types and units that the table states. They are matched by name, or by order if the names differ. Also
/// returns which facts about axes the table states.
fn states(schema: &Schema, names: Vec<String>) -> Result<(Vec<Axis>, Stated), ConvertError> {
    let stated = stated_axes(schema)?.filter(|stated| stated.len() == names.len());
    let Some(stated) = stated else {
        let own = match names_of_axes(schema) {
            Some(own) if own.is_empty() => Stated::Nothing,
            _ => Stated::Names,
        };
        return Ok((names.into_iter().map(Axis::named).collect(), own));
    };
    let by_name = |name: &String| stated.iter().find(|one| one.name == *name).cloned();
    let named: Option<Vec<Axis>> = names.iter().map(by_name).collect();
    let axes = named.unwrap_or_else(|| {
        let pairs = names.into_iter().zip(stated);
        pairs.map(|(name, one)| Axis { name, ..one }).collect()
    });
    Ok((axes, Stated::Units))
}

/// The names that the reader of a format gives the axes of its positions.
fn names_of_axes(schema: &Schema) -> Option<Vec<String>> {
    serde_json::from_str(schema.metadata().get(source::AXES)?).ok()
}

/// The names of the axes and the number type of coordinates; `named` columns name their axes.
fn axes(
    file: &Path,
    schema: &Schema,
    position: &[usize],
    named: bool,
) -> Result<(Vec<String>, NumberType), ConvertError> {
    let fields: Vec<_> = position
        .iter()
        .filter_map(|at| schema.fields().get(*at))
        .collect();
    let bad = |found: String, expected: &str| {
        Err(ConvertError::usage(
            format!("position of {}", file.display()),
            found,
            expected,
        ))
    };
    let mut axes = Vec::new();
    let mut number = None;
    for field in &fields {
        let (own, width) = match (kind(field.data_type()), field.data_type()) {
            (Some((AttributeType::Number(own), width)), _) if own != NumberType::Bool => {
                (own, width)
            }
            (
                None,
                DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..),
            ) => (NumberType::F64, 1),
            _ => {
                let found = format!("column {} of {}", shown(field.name()), field.data_type());
                return bad(found, "numbers");
            }
        };
        // Mixed types become float64; a value that float64 cannot represent is an error.
        number = match number {
            Some(number) if number != own => Some(NumberType::F64),
            _ => Some(own),
        };
        let listed = matches!(field.data_type(), DataType::FixedSizeList(..));
        if listed && fields.len() == 1 {
            let own = names_of_axes(schema).unwrap_or_else(|| axis_names(schema));
            let names = if own.len() == width {
                own
            } else {
                UNNAMED_AXES.map(str::to_owned).to_vec()
            };
            axes.extend(names.into_iter().take(width));
            if axes.len() != width {
                return bad(format!("{width} coordinates"), "1 to 4");
            }
        } else if width == 1 {
            let name = field.name();
            let number = name.strip_prefix("position_").filter(|_| !named);
            let number = number.and_then(|number| number.parse::<usize>().ok());
            let axis = number.and_then(|number| UNNAMED_AXES.get(number).copied());
            axes.push(axis.unwrap_or(name).to_owned());
        } else {
            return bad(
                format!("column {} of lists beside others", shown(field.name())),
                "one column of lists, or numbers",
            );
        }
    }
    match number {
        Some(number) if (1..=4).contains(&axes.len()) => Ok((axes, number)),
        _ => bad(format!("{} columns", axes.len()), "1 to 4"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::Field;

    use super::*;

    /// The number of surveyed columns for x, y and z, followed by columns of these types, nullable or not.
    fn surveyed(columns: &[(DataType, bool)], nulls: Nulls) -> usize {
        let axes = ["x", "y", "z"].map(|name| Field::new(name, DataType::Float64, false));
        let others = columns.iter().enumerate();
        let others =
            others.map(|(at, (kind, null))| Field::new(at.to_string(), kind.clone(), *null));
        let schema = Arc::new(Schema::new(
            axes.into_iter().chain(others).collect::<Vec<_>>(),
        ));
        let layout = ColumnRoles::of(Path::new("a.las"), &schema, &Options::default()).unwrap();
        layout.surveyed(&schema, nulls)
    }

    #[test]
    fn a_survey_reads_columns_whose_values_decide() {
        let (narrow, wide) = ((DataType::UInt16, false), (DataType::UInt64, false));
        let float = (DataType::Float32, false);
        assert_eq!(surveyed(&[narrow.clone(), float.clone()], Nulls::Error), 3);
        // Whole numbers beyond float64, the number for missing values, missing values, texts.
        assert_eq!(
            surveyed(&[narrow.clone(), wide, float.clone()], Nulls::Error),
            5
        );
        assert_eq!(surveyed(&[narrow, float.clone()], Nulls::Value(7)), 4);
        assert_eq!(
            surveyed(&[float.clone(), (DataType::Float32, true)], Nulls::Error),
            5
        );
        assert_eq!(surveyed(&[(DataType::Utf8, false), float], Nulls::Error), 4);
    }
}
