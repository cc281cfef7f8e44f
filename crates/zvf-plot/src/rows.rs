//! Rows of the vertex table as positions, values and ids.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use rustc_hash::FxHashMap;

use crate::PlotError;
use crate::camera::Point3;
use crate::color::{Rgb, of_few, of_id};

/// The colour of missing values.
pub(crate) const MISSING: Rgb = Rgb(128, 128, 128);

/// The source of a vertex's colour.
#[derive(Debug, Clone)]
pub(crate) enum Paint {
    /// One colour.
    Solid(Rgb),
    /// A channel of a column of numbers, drawn with a colour map; for texts, a few colours.
    Column { name: String, channel: usize },
    /// The object.
    Object,
    /// The object, with a table of colours or of the bits of numbers.
    Table {
        of: Arc<FxHashMap<i64, u32>>,
        numeric: bool,
    },
    /// The direction of the line or surface; vertices have no colour of their own.
    Direction,
}

impl Paint {
    /// Whether the object of every vertex is needed.
    pub(crate) fn by_object(&self) -> bool {
        matches!(self, Self::Object | Self::Table { .. })
    }
}

/// The columns of the vertex table that are drawn, and their conversion.
#[derive(Debug, Clone)]
pub(crate) struct DrawnColumns {
    /// The columns of positions that are used as x, y and z; a store of two axes has no third one.
    pub(crate) axes: Vec<usize>,
    /// Factor of positions: units of the picture in one unit of the store.
    pub(crate) scale: f64,
    pub(crate) paint: Paint,
    /// The column with the radius of lines.
    pub(crate) radius: Option<String>,
}

/// Rows of a batch, converted for drawing.
#[derive(Debug, Default)]
pub(crate) struct DrawnRows {
    pub(crate) positions: Vec<Point3>,
    /// Colours, or bits of numbers; one for all rows, or one for each.
    pub(crate) values: Vec<u32>,
    pub(crate) numeric: bool,
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

    /// The smallest and the largest number.
    pub(crate) fn range(&self) -> Option<(f32, f32)> {
        if !self.numeric {
            return None;
        }
        let numbers = self.values.iter().map(|bits| f32::from_bits(*bits));
        range_of(numbers)
    }
}

/// The smallest and the largest of numbers that are finite.
pub(crate) fn range_of(numbers: impl Iterator<Item = f32>) -> Option<(f32, f32)> {
    let finite = numbers.filter(|one| one.is_finite());
    finite.fold(None, |range, one| match range {
        None => Some((one, one)),
        Some((low, high)) => Some((one.min(low), one.max(high))),
    })
}

impl DrawnColumns {
    /// Reads the rows of a batch.
    ///
    /// # Errors
    ///
    /// Misuse: colours by a column that has no numbers, or not so many channels.
    pub(crate) fn rows(&self, batch: &RecordBatch) -> Result<DrawnRows, PlotError> {
        let mut rows = DrawnRows {
            positions: self.positions(batch)?,
            ..DrawnRows::default()
        };
        if let Some(ids) = batch.column_by_name("object_id") {
            let ids = ids
                .as_primitive_opt::<Int64Type>()
                .ok_or_else(|| PlotError::bug("object_id is no Int64"))?;
            // Rows without an object get an id that no object has in practice; it only affects colours.
            rows.ids = ids.iter().map(|id| id.unwrap_or(i64::MIN)).collect();
        }
        self.paint_rows(batch, &mut rows)?;
        if let Some(name) = &self.radius {
            let (numbers, width) = numbers(&column(batch, name)?)?;
            rows.radii = numbers
                .chunks(width)
                .map(|row| row.first().copied().unwrap_or(0.0) as f32)
                .collect();
        }
        Ok(rows)
    }

    fn paint_rows(&self, batch: &RecordBatch, rows: &mut DrawnRows) -> Result<(), PlotError> {
        match &self.paint {
            Paint::Solid(color) => rows.values.push(color.bits()),
            Paint::Direction => rows.values.push(MISSING.bits()),
            Paint::Object => {
                let color = |id: &i64| match *id {
                    i64::MIN => MISSING,
                    id => of_id(id),
                };
                rows.values = rows.ids.iter().map(|id| color(id).bits()).collect();
            }
            Paint::Table { of, numeric } => {
                let missing = if *numeric {
                    f32::NAN.to_bits()
                } else {
                    MISSING.bits()
                };
                let value = |id: &i64| of.get(id).copied().unwrap_or(missing);
                rows.values = rows.ids.iter().map(value).collect();
                rows.numeric = *numeric;
            }
            Paint::Column { name, channel } => {
                let found = column(batch, name)?;
                if is_text(found.data_type()) {
                    if *channel > 0 {
                        return Err(no_channel(name, *channel, 1));
                    }
                    rows.values = texts(&found)?;
                    return Ok(());
                }
                let (numbers, width) = numbers(&found)?;
                if *channel >= width {
                    return Err(no_channel(name, *channel, width));
                }
                rows.values = numbers
                    .chunks(width)
                    .map(|row| (row.get(*channel).copied().unwrap_or(f64::NAN) as f32).to_bits())
                    .collect();
                rows.numeric = true;
            }
        }
        Ok(())
    }

    /// Reads the positions of a batch, in units of the picture.
    ///
    /// # Errors
    ///
    /// A bug of the query: no positions.
    pub(crate) fn positions(&self, batch: &RecordBatch) -> Result<Vec<Point3>, PlotError> {
        let (flat, width) = values_of(&column(batch, "position")?);
        let scale = self.scale;
        let gather = |of: &dyn Fn(Range<usize>, usize) -> f64| -> Vec<Point3> {
            (0..batch.num_rows())
                .map(|row| {
                    let cells = row * width..(row + 1) * width;
                    std::array::from_fn(|axis| match self.axes.get(axis) {
                        Some(axis) => of(cells.clone(), *axis) * scale,
                        None => 0.0,
                    })
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
        let found = as_f64(&flat)?;
        Ok(gather(&|cells, axis| {
            found.get(cells.start + axis).copied().unwrap_or(f64::NAN)
        }))
    }
}

/// A column that must exist.
pub(crate) fn column(batch: &RecordBatch, name: &str) -> Result<ArrayRef, PlotError> {
    // An attribute with the name of another column has a prefix.
    let found = batch.column_by_name(&format!("attribute:{name}"));
    found
        .or_else(|| batch.column_by_name(name))
        .cloned()
        .ok_or_else(|| PlotError::bug(format!("the answer has no column {name}")))
}

/// The values of a fixed-size list, and its size; for other columns the column and 1.
fn values_of(column: &ArrayRef) -> (ArrayRef, usize) {
    match column.as_fixed_size_list_opt() {
        Some(list) => {
            let width = usize::try_from(list.value_length()).unwrap_or(0).max(1);
            (Arc::clone(list.values()), width)
        }
        None => (Arc::clone(column), 1),
    }
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

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_text(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        _ => false,
    }
}

/// A colour for each text: the same text has the same colour in all batches and pictures.
fn texts(column: &ArrayRef) -> Result<Vec<u32>, PlotError> {
    let color = |text: Option<&str>| match text {
        None => MISSING.bits(),
        Some(text) => {
            let sum = text
                .bytes()
                .fold(5381_u32, |sum, byte| sum.wrapping_mul(33) ^ u32::from(byte));
            of_few(sum as usize).bits()
        }
    };
    if let Some(coded) = column.as_any_dictionary_opt() {
        let known = texts(coded.values())?;
        let keys = coded.normalized_keys().into_iter().enumerate();
        return Ok(keys
            .map(|(row, key)| match coded.is_null(row) {
                true => MISSING.bits(),
                false => known.get(key).copied().unwrap_or(MISSING.bits()),
            })
            .collect());
    }
    if let Some(found) = column.as_string_opt::<i32>() {
        return Ok(found.iter().map(color).collect());
    }
    if let Some(found) = column.as_string_opt::<i64>() {
        return Ok(found.iter().map(color).collect());
    }
    let found = column.as_string_view_opt();
    let found = found.ok_or_else(|| PlotError::bug("texts of no known type"))?;
    Ok(found.iter().map(color).collect())
}

/// Numbers row by row, and the number of values in a row; absent values are NaN.
pub(crate) fn numbers(column: &ArrayRef) -> Result<(Vec<f64>, usize), PlotError> {
    let (flat, width) = values_of(column);
    let mut found = as_f64(&flat)?;
    if let Some(absent) = column.nulls().filter(|_| width > 1) {
        for (row, cells) in found.chunks_mut(width).enumerate() {
            if absent.is_null(row) {
                cells.fill(f64::NAN);
            }
        }
    }
    Ok((found, width))
}

/// Numbers of any type; absent ones are NaN.
fn as_f64(flat: &ArrayRef) -> Result<Vec<f64>, PlotError> {
    fn of<T: ArrowPrimitiveType>(array: &ArrayRef, number: impl Fn(T::Native) -> f64) -> Vec<f64> {
        let Some(array) = array.as_primitive_opt::<T>() else {
            return Vec::new();
        };
        match array.null_count() {
            0 => array.values().iter().map(|one| number(*one)).collect(),
            _ => array
                .iter()
                .map(|one| one.map_or(f64::NAN, &number))
                .collect(),
        }
    }
    Ok(match flat.data_type() {
        DataType::Float64 => of::<Float64Type>(flat, |one| one),
        DataType::Float32 => of::<Float32Type>(flat, f64::from),
        DataType::Float16 => of::<Float16Type>(flat, f64::from),
        DataType::Int8 => of::<Int8Type>(flat, f64::from),
        DataType::Int16 => of::<Int16Type>(flat, f64::from),
        DataType::Int32 => of::<Int32Type>(flat, f64::from),
        DataType::Int64 => of::<Int64Type>(flat, |one| one as f64),
        DataType::UInt8 => of::<UInt8Type>(flat, f64::from),
        DataType::UInt16 => of::<UInt16Type>(flat, f64::from),
        DataType::UInt32 => of::<UInt32Type>(flat, f64::from),
        DataType::UInt64 => of::<UInt64Type>(flat, |one| one as f64),
        DataType::Boolean => flat
            .as_boolean()
            .iter()
            .map(|one| one.map_or(f64::NAN, |one| f64::from(u8::from(one))))
            .collect(),
        other => {
            return Err(PlotError::usage(format!(
                "found values of type {other}, expected numbers or texts"
            )));
        }
    })
}

/// Links as rows of the vertex table, and the number of vertices of a link.
pub(crate) fn links(batch: &RecordBatch) -> Result<(Vec<u64>, usize), PlotError> {
    let (flat, width) = values_of(&column(batch, "vertices")?);
    let flat = flat
        .as_primitive_opt::<UInt64Type>()
        .ok_or_else(|| PlotError::bug("links are no UInt64"))?;
    Ok((flat.values().to_vec(), width))
}
