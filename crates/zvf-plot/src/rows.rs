//! Rows of the vertex table as positions, values and ids.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use rustc_hash::{FxHashMap, FxHashSet};
use zvf_query::numbers::{elements, floats, measured, shape};
use zvf_query::{Query, VertexExpression};

use crate::PlotError;
use crate::camera::Point3;
use crate::color::{Rgb, of_few, of_id};
use crate::pool::{DrawnRange, union};

/// The colour of missing values.
pub(crate) const MISSING: Rgb = Rgb(128, 128, 128);

/// The source of a vertex's colour.
#[derive(Debug, Clone)]
pub(crate) enum Paint {
    /// One colour.
    Solid(Rgb),
    /// A channel of a column of numbers, drawn with a colour map.
    Column { name: String, channel: usize },
    /// Numbers that an expression computes, drawn with a colour map.
    Expression(Arc<VertexExpression>),
    /// A column of texts, drawn with a few colours.
    Texts(String),
    /// A colour for each object.
    Object,
    /// A colour for each object, from a table by id.
    Colors(Arc<FxHashMap<i64, u32>>),
    /// A number for each object, from a table by id, less the origin; drawn with a colour map.
    Numbers(Arc<FxHashMap<i64, f64>>),
    /// The direction of the line or surface; vertices have no colour of their own.
    Direction,
}

impl Paint {
    /// Whether the object of every vertex is needed.
    pub(crate) fn by_object(&self) -> bool {
        matches!(self, Self::Object | Self::Colors(_) | Self::Numbers(_))
    }

    /// Whether values are numbers.
    pub(crate) fn numeric(&self) -> bool {
        matches!(
            self,
            Self::Column { .. } | Self::Numbers(_) | Self::Expression(_)
        )
    }
}

/// The columns of the vertex table that are drawn, and their conversion.
#[derive(Debug, Clone)]
pub(crate) struct DrawnColumns {
    /// The columns of positions that are used as x, y and z; a store of two axes has no third one.
    pub(crate) axes: Vec<usize>,
    /// Factors of x, y and z: units of the picture in one unit of the store.
    pub(crate) scale: [f64; 3],
    /// Units of the picture in one unit of radii.
    pub(crate) radius_scale: f64,
    /// Whether the rows have the ids of their objects.
    pub(crate) by_object: bool,
    pub(crate) paint: Paint,
    /// The number that is subtracted from numbers before they are rounded to float32; `None` until one is known.
    pub(crate) origin: Option<f64>,
    /// Whether numbers that float32 cannot represent are outside the range of the colour map, so that they get the colour of its nearer end.
    pub(crate) clipped: bool,
    /// The column with the radius of lines.
    pub(crate) radius: Option<String>,
    /// The texts that were read so far, if colours show texts.
    pub(crate) texts: Arc<TextColors>,
}

/// Texts with colours: categories in the order of their codes, other texts in the order in which they occur.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextColors {
    names: Vec<String>,
    numbers: FxHashMap<String, usize>,
}

impl TextColors {
    /// Names and their colours.
    pub(crate) fn legend(&self) -> impl Iterator<Item = (Rgb, String)> {
        let names = self.names.iter().enumerate();
        names.map(|(number, name)| (of_few(number), name.clone()))
    }

    fn add(&mut self, text: &str) {
        if self.names.len() < MOST_TEXTS && !self.numbers.contains_key(text) {
            self.numbers.insert(text.to_owned(), self.names.len());
            self.names.push(text.to_owned());
        }
    }

    /// Adds the texts of a column in the order in which they occur, of `listed` rows only; categories in the order of their codes, all of them.
    pub(crate) fn add_all(&mut self, column: &ArrayRef, listed: &[bool]) -> Result<(), PlotError> {
        if let Some(coded) = column.as_any_dictionary_opt() {
            let texts = texts_of(coded.values())?.into_iter().flatten();
            texts.for_each(|text| self.add(text));
            return Ok(());
        }
        let texts = texts_of(column)?.into_iter().zip(listed);
        let texts = texts.filter(|(_, listed)| **listed);
        texts
            .filter_map(|(text, _)| text)
            .for_each(|text| self.add(text));
        Ok(())
    }

    /// The colour of a text. The letters of an unknown text determine its colour.
    fn color(&self, text: &str) -> Rgb {
        of_few(self.numbers.get(text).copied().unwrap_or_else(|| {
            let sum = text
                .bytes()
                .fold(5381_u32, |sum, byte| sum.wrapping_mul(33) ^ u32::from(byte));
            sum as usize
        }))
    }
}

/// Largest number of texts that have colours by their position in the list.
const MOST_TEXTS: usize = 1000;

/// Rows of a batch, converted for drawing.
#[derive(Debug, Default)]
pub(crate) struct DrawnRows {
    pub(crate) positions: Vec<Point3>,
    /// Colours, or bits of numbers less the origin; one for all rows, or one for each.
    pub(crate) values: Vec<u32>,
    /// Whether the single value is that of all rows, in every batch.
    pub(crate) uniform: bool,
    /// The smallest and the largest number, less the origin.
    pub(crate) range: DrawnRange,
    /// One for each row, or none.
    pub(crate) radii: Vec<f32>,
    /// One for each row, or none.
    pub(crate) ids: Vec<i64>,
}

impl DrawnRows {
    /// The colour or number of a row.
    pub(crate) fn value(&self, row: usize) -> u32 {
        let one = self.values.get(row).or(self.values.first());
        one.copied().unwrap_or(MISSING.bits())
    }

    /// Sets the values and their range from numbers less the origin.
    ///
    /// # Errors
    ///
    /// Misuse: a number that float32 cannot represent, unless numbers are `clipped`.
    fn take_numbers(
        &mut self,
        numbers: impl Iterator<Item = f64> + Clone,
        clipped: bool,
    ) -> Result<(), PlotError> {
        let finite = numbers.clone().filter(|one| one.is_finite());
        self.range = finite.fold(None, |range, one| union(range, Some((one, one))));
        let held = |one: f64| one.abs() <= f64::from(f32::MAX);
        if let Some((low, high)) = self.range
            && !clipped
            && !(held(low) && held(high))
        {
            return Err(PlotError::usage(
                "color: found numbers that differ by more than 3.4e38, expected differences that float32 can represent: --range LOW,HIGH with a smaller \
                 span draws the numbers in it, and an attribute of their logarithms or fractions draws all",
            ));
        }
        self.values = numbers.map(|one| (one as f32).to_bits()).collect();
        Ok(())
    }
}

impl DrawnColumns {
    /// Takes the first number of a batch as the origin, unless there is one, and adds the texts of a batch to the known ones.
    pub(crate) fn settle(&mut self, batch: &RecordBatch) -> Result<(), PlotError> {
        if let Paint::Texts(name) = &self.paint {
            let (_, column) = column(batch, name)?;
            let listed = vec![true; batch.num_rows()];
            Arc::make_mut(&mut self.texts).add_all(&column, &listed)?;
        }
        if let (Paint::Column { name, channel }, None) = (&self.paint, self.origin) {
            self.origin = first_number(batch, name, *channel)?;
        }
        if let (Paint::Expression(expression), None) = (&self.paint, self.origin) {
            let numbers = computed(expression, batch, 0.0)?;
            self.origin = numbers.into_iter().find(|one| one.is_finite());
        }
        Ok(())
    }

    /// Reads the rows of a batch.
    ///
    /// # Errors
    ///
    /// Misuse: a column of colours or radii that is not numeric, too few channels, numbers that float32 cannot represent.
    pub(crate) fn rows(&self, batch: &RecordBatch) -> Result<DrawnRows, PlotError> {
        let mut rows = DrawnRows {
            positions: self.positions(batch)?,
            ..DrawnRows::default()
        };
        // A store without objects may have an attribute of this name.
        let ids = batch.column_by_name("object_id");
        if let Some(ids) = ids.filter(|_| self.by_object) {
            let ids = ids
                .as_primitive_opt::<Int64Type>()
                .ok_or_else(|| PlotError::bug("object_id is not Int64"))?;
            // Rows without an object get an id that no object has in practice; it only affects colours.
            rows.ids = ids.iter().map(|id| id.unwrap_or(i64::MIN)).collect();
        }
        self.paint_rows(batch, &mut rows)?;
        if let Some(name) = &self.radius {
            let (numbers, width) = numbers(batch, name, 0.0)?;
            rows.radii = numbers
                .chunks(width)
                .map(|row| row.first().copied().unwrap_or(0.0) as f32)
                .collect();
        }
        Ok(rows)
    }

    fn paint_rows(&self, batch: &RecordBatch, rows: &mut DrawnRows) -> Result<(), PlotError> {
        match &self.paint {
            Paint::Solid(color) => {
                rows.uniform = true;
                rows.values.push(color.bits());
            }
            Paint::Direction => {
                rows.uniform = true;
                rows.values.push(MISSING.bits());
            }
            Paint::Object => {
                let color = |id: &i64| match *id {
                    i64::MIN => MISSING,
                    id => of_id(id),
                };
                rows.values = rows.ids.iter().map(|id| color(id).bits()).collect();
            }
            Paint::Colors(of) => {
                let color = |id: &i64| of.get(id).copied().unwrap_or(MISSING.bits());
                rows.values = rows.ids.iter().map(color).collect();
            }
            Paint::Numbers(of) => {
                let ids = std::mem::take(&mut rows.ids);
                let numbers = ids.iter().map(|id| of.get(id).copied().unwrap_or(f64::NAN));
                rows.take_numbers(numbers, self.clipped)?;
                rows.ids = ids;
            }
            Paint::Expression(expression) => {
                let numbers = computed(expression, batch, self.origin.unwrap_or_default())?;
                rows.take_numbers(numbers.into_iter(), self.clipped)?;
            }
            Paint::Texts(name) => {
                rows.values = text_colors(&column(batch, name)?.1, &self.texts)?;
            }
            Paint::Column { name, channel } => {
                let origin = self.origin.unwrap_or_default();
                let (numbers, width) = numbers(batch, name, origin)?;
                if *channel >= width {
                    return Err(no_channel(name, *channel, width));
                }
                let numbers = numbers.iter().copied().skip(*channel).step_by(width);
                rows.take_numbers(numbers, self.clipped)?;
            }
        }
        Ok(())
    }

    /// Reads the positions of a batch, in units of the picture.
    ///
    /// # Errors
    ///
    /// Bug: a batch without positions.
    pub(crate) fn positions(&self, batch: &RecordBatch) -> Result<Vec<Point3>, PlotError> {
        let (flat, width) = elements(&column(batch, "position")?.1);
        let gather = |of: &dyn Fn(Range<usize>, usize) -> f64| -> Vec<Point3> {
            (0..batch.num_rows())
                .map(|row| {
                    let cells = row * width..(row + 1) * width;
                    let mut point = [0.0; 3];
                    let axes = self.axes.iter().zip(self.scale);
                    for (value, (axis, scale)) in point.iter_mut().zip(axes) {
                        *value = of(cells.clone(), *axis) * scale;
                    }
                    point
                })
                .collect()
        };
        // The usual type, without a copy of the table.
        if let Some(found) = flat.as_primitive_opt::<Float32Type>() {
            let found = found.values();
            return Ok(gather(&|cells, axis| {
                f64::from(found.get(cells.start + axis).copied().unwrap_or(f32::NAN))
            }));
        }
        let found = floats(&flat).values;
        Ok(gather(&|cells, axis| {
            found.get(cells.start + axis).copied().unwrap_or(f64::NAN)
        }))
    }
}

/// A column that must exist.
pub(crate) fn column<'b>(
    batch: &'b RecordBatch,
    name: &str,
) -> Result<(&'b Field, ArrayRef), PlotError> {
    let (at, field) = field(batch.schema_ref(), name)?;
    let column = batch.columns().get(at).cloned();
    let column = column.ok_or_else(|| PlotError::bug("a field without a column"))?;
    Ok((field, column))
}

/// The field of a column that must exist, and its number.
pub(crate) fn field<'s>(schema: &'s Schema, name: &str) -> Result<(usize, &'s Field), PlotError> {
    // An attribute with the name of another column has a prefix.
    let found = schema.column_with_name(&format!("attribute:{name}"));
    found
        .or_else(|| schema.column_with_name(name))
        .ok_or_else(|| PlotError::bug(format!("the answer has no column {name}")))
}

/// A channel that an attribute does not have.
#[cold]
pub(crate) fn no_channel(name: &str, channel: usize, width: usize) -> PlotError {
    let most = width.saturating_sub(1);
    PlotError::usage(format!(
        "color: attribute {name} has {width} {}, found channel {channel}, expected at most {most}",
        if width == 1 { "channel" } else { "channels" }
    ))
}

/// Colours of objects by an attribute of texts.
pub(crate) struct ObjectTexts<'q> {
    /// The objects that are drawn; `None`: all that the rest of the query selects.
    drawn: Option<FxHashSet<&'q i64>>,
    known: TextColors,
    /// Colours by the ids of objects; missing texts have the colour of missing values.
    colors: FxHashMap<i64, u32>,
}

impl<'q> ObjectTexts<'q> {
    pub(crate) fn new(query: &'q Query) -> Self {
        let objects = query.objects.as_ref();
        Self {
            drawn: objects.map(|ids| ids.iter().collect()),
            known: TextColors::default(),
            colors: FxHashMap::default(),
        }
    }

    /// Adds the rows of a batch; the texts of objects that are not drawn are not listed.
    pub(crate) fn add(&mut self, ids: &[i64], texts: &ArrayRef) -> Result<(), PlotError> {
        let drawn = |id: &i64| self.drawn.as_ref().is_none_or(|drawn| drawn.contains(id));
        let listed: Vec<bool> = ids.iter().map(drawn).collect();
        self.known.add_all(texts, &listed)?;
        let colors = text_colors(texts, &self.known)?;
        self.colors.extend(ids.iter().copied().zip(colors));
        Ok(())
    }

    /// Whether no object was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.colors.is_empty()
    }

    /// Names and their colours, and the colours by the ids of objects.
    pub(crate) fn finish(self) -> (Vec<(Rgb, String)>, FxHashMap<i64, u32>) {
        (self.known.legend().collect(), self.colors)
    }
}

/// A colour for each row of texts.
fn text_colors(column: &ArrayRef, known: &TextColors) -> Result<Vec<u32>, PlotError> {
    if let Some(coded) = column.as_any_dictionary_opt() {
        if coded.values().is_empty() {
            return Ok(vec![MISSING.bits(); coded.len()]);
        }
        let colors = text_colors(coded.values(), known)?;
        let keys = coded.normalized_keys().into_iter().enumerate();
        return Ok(keys
            .map(|(row, key)| match coded.is_null(row) {
                true => MISSING.bits(),
                false => colors.get(key).copied().unwrap_or(MISSING.bits()),
            })
            .collect());
    }
    let color = |text: Option<&str>| text.map_or(MISSING, |text| known.color(text)).bits();
    Ok(texts_of(column)?.into_iter().map(color).collect())
}

/// The texts of a column.
fn texts_of(column: &ArrayRef) -> Result<Vec<Option<&str>>, PlotError> {
    if let Some(found) = column.as_string_opt::<i32>() {
        return Ok(found.iter().collect());
    }
    if let Some(found) = column.as_string_opt::<i64>() {
        return Ok(found.iter().collect());
    }
    match column.as_string_view_opt() {
        Some(found) => Ok(found.iter().collect()),
        None => Err(PlotError::usage(format!(
            "found values of type {}, expected numbers or texts",
            column.data_type()
        ))),
    }
}

/// Numbers row by row, less an origin, and the number of values in a row; missing ones are NaN.
pub(crate) fn numbers(
    batch: &RecordBatch,
    name: &str,
    origin: f64,
) -> Result<(Vec<f64>, usize), PlotError> {
    let (field, column) = column(batch, name)?;
    let Some((width, _)) = shape(column.data_type()) else {
        return Err(PlotError::usage(format!(
            "attribute {name}: found values of type {}, expected numbers",
            column.data_type()
        )));
    };
    Ok((measured(field, &column, origin).values, width.max(1)))
}

/// The numbers of an expression, less an origin; missing ones are NaN.
fn computed(
    expression: &VertexExpression,
    batch: &RecordBatch,
    origin: f64,
) -> Result<Vec<f64>, PlotError> {
    let (field, column) = expression.evaluate(batch, &DataType::Float64)?;
    match shape(column.data_type()) {
        Some(_) => Ok(measured(&field, &column, origin).values),
        None => Err(PlotError::usage(format!(
            "color: found an expression of values of type {}, expected numbers or a condition",
            column.data_type()
        ))),
    }
}

/// The first finite number of a channel; 0 if float32 represents all numbers of the type.
pub(crate) fn first_number(
    batch: &RecordBatch,
    name: &str,
    channel: usize,
) -> Result<Option<f64>, PlotError> {
    let (numbers, width) = numbers(batch, name, 0.0)?;
    let (_, column) = column(batch, name)?;
    let single =
        |(_, element): (usize, &DataType)| matches!(element, DataType::Float16 | DataType::Float32);
    if shape(column.data_type()).is_some_and(single) {
        return Ok(Some(0.0));
    }
    let mut numbers = numbers.into_iter().skip(channel).step_by(width);
    Ok(numbers.find(|one| one.is_finite()))
}

/// Links as rows of the vertex table, and the number of vertices of a link.
pub(crate) fn links(batch: &RecordBatch) -> Result<(Vec<u64>, usize), PlotError> {
    let (flat, width) = elements(&column(batch, "vertices")?.1);
    let flat = flat
        .as_primitive_opt::<UInt64Type>()
        .ok_or_else(|| PlotError::bug("links are not UInt64"))?;
    Ok((flat.values().to_vec(), width))
}
