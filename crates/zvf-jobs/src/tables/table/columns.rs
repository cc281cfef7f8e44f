//! Finds the columns of attributes by their names.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type};
use arrow_array::{Array, ArrayRef, Float64Array};
use arrow_schema::DataType;
use zvf_convert::output::{Style, write_value};
use zvf_convert::{Fields, held_names, unread_type};
use zvf_write::arrow::{OF_EDITS, array, elements, is_place, values};
use zvf_write::{AttributeSpec, AttributeType, NumberType};

use super::EditTable;
use crate::JobError;
use crate::error::Result;

impl EditTable {
    /// The columns `name_0`, `name_1`, …
    pub(super) fn numbered(&self, name: &str) -> Vec<usize> {
        numbered(name, ["_", ""], |name| self.column(name))
    }

    /// The columns of the values of a list, by the name of the list.
    pub(super) fn list(&self, name: &str) -> Vec<usize> {
        let schema = self.batch.schema_ref();
        let found = schema.column_with_name(name);
        let list =
            found.filter(|(_, field)| matches!(field.data_type(), DataType::FixedSizeList(..)));
        let columns = self.columns.iter().enumerate();
        let columns = columns.filter(|(_, (_, at, _))| list.is_some_and(|(list, _)| list == *at));
        columns.map(|(column, _)| column).collect()
    }

    /// Whether queries marked a column as the place of its row in a store or an answer. Such a column is not an attribute, whatever its name.
    pub(super) fn is_place(&self, column: usize) -> bool {
        self.field(column).is_some_and(is_place)
    }

    /// The columns of an attribute: one, or `name_0`, `name_1`, … for its channels. Without a number of channels these are at least two: a
    /// column `name_0` alone is not `name`. Names with another meaning in tables have the prefix `attribute:`.
    pub(crate) fn channels(&self, name: &str, count: Option<usize>) -> Vec<usize> {
        let of = |name: &str, find: &dyn Fn(&str) -> Option<usize>| {
            let find = |name: &str| find(name).filter(|at| !self.is_place(*at));
            if let Some(at) = find(name) {
                return vec![at];
            }
            // A list with a name such as `position` is not an attribute.
            let mut columns = match OF_EDITS.contains(&name) {
                true => Vec::new(),
                false => self.list(name),
            };
            columns.retain(|at| !self.is_place(*at));
            // A list of one value is a single value, as for an import.
            let is_single = columns.len() == 1;
            // Text files have the values of `v` as `v[0]`, `v[1]`, … if other columns are called `v_0`, `v_1`, …
            for form in [["[", "]"], ["_", ""]] {
                if columns.is_empty() {
                    columns = numbered(name, form, find);
                }
            }
            match count.unwrap_or(columns.len()) {
                0 | 1 if !is_single => Vec::new(),
                _ => columns,
            }
        };
        let named = |name: &str| self.column(name);
        let renamed = of(&format!("attribute:{name}"), &named);
        if !renamed.is_empty() {
            return renamed;
        }
        let own = of(name, &named);
        if !own.is_empty() {
            return own;
        }
        // Names that a store cannot hold, such as `gene/name`, are changed as in an import.
        let names: Vec<&str> = self
            .columns
            .iter()
            .map(|(name, ..)| name.as_str())
            .collect();
        let held = held_names(&names);
        of(name, &|name| held.iter().position(|one| one == name))
    }

    /// The values of columns as texts, row by row, with the numbers of their rows. `is_exact`: floats are written with the digits of a float64, since the
    /// shortest text of the float32 nearest to 0.1 is that of another float64.
    pub(super) fn cells(
        &self,
        columns: &[usize],
        is_exact: bool,
    ) -> impl Iterator<Item = (usize, Option<Cow<'_, str>>)> {
        let list = |at: &usize| {
            let digits = is_exact.then(|| self.digits(*at)).flatten();
            digits.unwrap_or_else(|| self.texts(*at)).into_iter()
        };
        let mut lists: Vec<_> = columns.iter().map(list).collect();
        let rows = (0..self.batch.num_rows()).flat_map({
            let width = lists.len();
            move |row| (0..width).map(move |channel| (row, channel))
        });
        rows.map(move |(row, channel)| {
            let next = lists.get_mut(channel).and_then(Iterator::next);
            (row, next.flatten())
        })
    }

    /// Whether columns are floats of a typed table.
    pub(super) fn are_floats(&self, columns: &[usize]) -> bool {
        let is_float = |at: &usize| {
            let (_, at, _) = self.columns.get(*at)?;
            let (items, _) = elements(self.batch.columns().get(*at)?).ok()?;
            Some(items.data_type().is_floating())
        };
        columns.iter().all(|at| is_float(at) == Some(true))
    }

    /// The texts of a column of float16 or float32 values, written as float64; `None` for other columns.
    fn digits(&self, at: usize) -> Option<Vec<Option<Cow<'_, str>>>> {
        let (_, at, channel) = self.columns.get(at)?;
        let column = self.batch.columns().get(*at)?;
        let (items, width) = elements(column).ok()?;
        let wide: Float64Array = match items.data_type() {
            DataType::Float16 => items.as_primitive_opt::<Float16Type>()?.unary(f64::from),
            DataType::Float32 => items.as_primitive_opt::<Float32Type>()?.unary(f64::from),
            _ => return None,
        };
        let text = |row: usize| {
            let at = row.saturating_mul(width).saturating_add(*channel);
            let is_there = column.is_valid(row) && at < wide.len() && wide.is_valid(at);
            is_there.then(|| {
                let mut text = String::new();
                write_value(&mut text, &wide, at, Style::Text);
                Cow::Owned(text)
            })
        };
        Some((0..column.len()).map(text).collect())
    }

    /// The values of columns for an attribute of texts. As in an import of all files together, a missing float has no text; and columns of booleans in
    /// files without types are read as such if the attribute has [boolean texts](AttributeSpec::boolean_texts).
    pub(super) fn text_values(
        &self,
        one: &AttributeSpec,
        columns: &[usize],
    ) -> Vec<Option<Cow<'_, str>>> {
        let mut texts: Vec<_> = self.cells(columns, false).map(|(_, text)| text).collect();
        if self.are_floats(columns) {
            texts
                .iter_mut()
                .for_each(|text| *text = text.take_if(|text| text != "NaN"));
            return texts;
        }
        let given = texts.iter().flatten();
        let mut given = given.filter_map(|text| self.fields.value(Some(text), false));
        let is_boolean = |text: &str| Fields::boolean(text).is_some();
        if self.is_untyped && one.has_boolean_texts() && given.all(is_boolean) {
            let boolean = |text: Cow<'_, str>| {
                let boolean = Fields::boolean(self.fields.value(Some(&text), false)?)?;
                Some(Cow::Borrowed(if boolean { "true" } else { "false" }))
            };
            texts
                .iter_mut()
                .for_each(|text| *text = text.take().and_then(boolean));
        }
        texts
    }

    /// The values of an attribute of the store. The attribute `radius` is scaled as the positions are.
    pub(super) fn own_array(&self, one: &AttributeSpec, fill: Option<&str>) -> Result<ArrayRef> {
        let lengths = self.placed.as_ref().and_then(|placed| placed.lengths);
        let columns = self.own_columns(one);
        let Some(factor) = lengths.filter(|_| one.name == "radius") else {
            return self.array(one, &columns, None, fill);
        };
        let mut wide = one.clone();
        wide.values = AttributeType::Number(NumberType::F64);
        let radii = self.array(&wide, &columns, None, fill)?;
        let scaled = values(&one.name, &radii)?.scaled(factor);
        Ok(array(scaled.fitted(one)?, one.channels)?)
    }

    /// Whether the table has an attribute of a store.
    pub(crate) fn has(&self, one: &AttributeSpec) -> bool {
        !self.own_columns(one).is_empty()
    }

    /// Refuses a column with the name of an attribute whose values the attribute cannot have. Otherwise they would count as missing.
    ///
    /// # Errors
    ///
    /// Usage.
    pub(super) fn check_is_read(&self, name: &str) -> Result<()> {
        let is_list = || {
            let mut columns = self.list(name).into_iter();
            !OF_EDITS.contains(&name) && columns.any(|at| !self.is_place(at))
        };
        let (found, expected) = match unread_type(self.batch.schema_ref(), name) {
            Some(found) => (found, "numbers, booleans, texts, dates or times"),
            None if is_list() => ("lists", "single values, as in the store"),
            None => return Ok(()),
        };
        Err(JobError::usage(format!(
            "{}: found column {name} of {found}, expected {expected}; --rename {name}=OTHER leaves the column out",
            self.file
        )))
    }

    /// The columns of an attribute of a store.
    pub(super) fn own_columns(&self, one: &AttributeSpec) -> Vec<usize> {
        self.channels(&one.name, Some(one.channels))
    }
}

/// The columns `name_0`, `name_1`, … up to the first that does not exist. `before` and `after` are the texts around the number.
fn numbered(
    name: &str,
    [before, after]: [&str; 2],
    find: impl Fn(&str) -> Option<usize>,
) -> Vec<usize> {
    (0_usize..)
        .map_while(|channel| find(&format!("{name}{before}{channel}{after}")))
        .collect()
}
