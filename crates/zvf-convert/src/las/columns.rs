//! Converts points to columns.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, FixedSizeListArray, PrimitiveArray, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use zvf_write::arrow::DESCRIPTION;

use super::fields::{self, FieldLocation, I4, U1};
use super::header::LasHeader;
use super::origin::{ExtraDoc, OFFSET, SCALED};

/// The columns of a file.
#[derive(Debug)]
pub(super) struct PointColumns {
    pub(super) schema: SchemaRef,
    cells: Vec<FieldLocation>,
    length: usize,
}

impl PointColumns {
    pub(super) fn of(header: &LasHeader) -> Self {
        let mut all: Vec<(String, FieldLocation)> = Vec::new();
        let mut add = |name: &str, cell: FieldLocation| all.push((name.to_owned(), cell));
        let axes = ["x", "y", "z"].into_iter();
        let maps = header.scale.into_iter().zip(header.offset);
        for (axis, (name, (scale, offset))) in axes.zip(maps).enumerate() {
            add(
                name,
                FieldLocation::Scaled {
                    at: 4 * axis,
                    kind: I4,
                    count: 1,
                    scale: [scale; 3],
                    offset: [offset; 3],
                },
            );
        }
        for (name, cell) in fields::of_format(header.format) {
            add(name, cell);
        }
        let mut at = header.own;
        for extra in &header.extra {
            let (kind, count) = (extra.kind(), extra.count());
            let is_scaled = extra.data_type != 0 && extra.options & (SCALED | OFFSET) != 0;
            let of = |bit: u8, list: [zerocopy::little_endian::F64; 3], none: f64| {
                list.map(|one| {
                    if extra.options & bit != 0 {
                        one.get()
                    } else {
                        none
                    }
                })
            };
            let (scale, offset) = (of(SCALED, extra.scale, 1.0), of(OFFSET, extra.offset, 0.0));
            let cell = match is_scaled {
                true => FieldLocation::Scaled {
                    at,
                    kind,
                    count,
                    scale,
                    offset,
                },
                false => FieldLocation::Numbers { at, kind, count },
            };
            if count > 0 {
                add(&extra.name(), cell);
            }
            at += extra.size();
        }
        if let Some(count) = header.length.checked_sub(at).filter(|count| *count > 0) {
            let kind = U1;
            add("extra_bytes", FieldLocation::Numbers { at, kind, count });
        }
        let fields = all.iter().map(|(name, cell)| {
            let text = match name.as_str() {
                fields::CLASS => Some(classes(header)),
                _ => {
                    let mut extra = header.extra.iter();
                    let extra = extra.find(|extra| extra.name() == *name);
                    extra.and_then(ExtraDoc::of).and_then(|one| one.text())
                }
            };
            let metadata = text.map(|text| (DESCRIPTION.to_owned(), text));
            let field = Field::new(name, cell.column(), false);
            field.with_metadata(metadata.into_iter().collect())
        });
        Self {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            cells: all.into_iter().map(|(_, cell)| cell).collect(),
            length: header.length,
        }
    }

    /// The first `count` columns. Columns 0 to 2 are x, y and z.
    pub(super) fn first(&self, count: usize) -> Self {
        let fields = self.schema.fields().iter().take(count).cloned();
        Self {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            cells: self.cells.iter().take(count).copied().collect(),
            length: self.length,
        }
    }

    /// Whether there are columns after x, y and z.
    pub(super) fn has_attributes(&self) -> bool {
        self.cells.len() > 3
    }

    /// The columns of whole points.
    pub(super) fn batch(&self, points: &[u8]) -> Result<RecordBatch, ArrowError> {
        let columns = self.cells.iter().map(|cell| cell.read(points, self.length));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }
}

/// The numbers and names of classes: the standard names of the point format, replaced by those in the file.
fn classes(header: &LasHeader) -> String {
    let mut names = fields::classes(header.format);
    names.extend(header.origin.classes.clone());
    let names: Vec<String> = names
        .iter()
        .map(|(class, name)| format!("{class} {name}"))
        .collect();
    names.join(", ")
}

impl FieldLocation {
    fn item(self) -> DataType {
        match self {
            Self::Bits { .. } => DataType::UInt8,
            Self::Scaled { .. } => DataType::Float64,
            Self::Numbers { kind, .. } => match kind {
                1 => DataType::UInt8,
                2 => DataType::Int8,
                3 => DataType::UInt16,
                4 => DataType::Int16,
                5 => DataType::UInt32,
                6 => DataType::Int32,
                7 => DataType::UInt64,
                8 => DataType::Int64,
                9 => DataType::Float32,
                _ => DataType::Float64,
            },
        }
    }

    fn count(self) -> usize {
        match self {
            Self::Bits { .. } => 1,
            Self::Numbers { count, .. } | Self::Scaled { count, .. } => count,
        }
    }

    fn column(self) -> DataType {
        match i32::try_from(self.count()) {
            Ok(1) | Err(_) => self.item(),
            Ok(count) => {
                let item = Field::new_list_field(self.item(), false);
                DataType::FixedSizeList(Arc::new(item), count)
            }
        }
    }

    fn read(self, points: &[u8], length: usize) -> Result<ArrayRef, ArrowError> {
        let items: ArrayRef = match self {
            Self::Bits { at, shift, mask } => {
                let stored =
                    list::<UInt8Type, 1>(points, length, at, 1, |[byte]| byte >> shift & mask);
                Arc::new(stored)
            }
            Self::Numbers { at, kind, count } => numbers(points, length, at, kind, count),
            Self::Scaled {
                at,
                kind,
                count,
                scale,
                offset,
            } => {
                let stored = numbers(points, length, at, kind, count);
                let mut values = crate::numbers::floats(&stored).values;
                for values in values.chunks_exact_mut(count.max(1)) {
                    let factors = scale.into_iter().zip(offset);
                    for (value, (scale, offset)) in values.iter_mut().zip(factors) {
                        *value = *value * scale + offset;
                    }
                }
                Arc::new(PrimitiveArray::<Float64Type>::new(values.into(), None))
            }
        };
        match self.column() {
            DataType::FixedSizeList(item, count) => Ok(Arc::new(FixedSizeListArray::try_new(
                item, count, items, None,
            )?)),
            _ => Ok(items),
        }
    }
}

/// A column of `count` numbers for each point, stored from byte `at` of the point.
fn numbers(points: &[u8], length: usize, at: usize, kind: u8, count: usize) -> ArrayRef {
    macro_rules! list {
        ($type:ty, $number:ty) => {
            Arc::new(list::<$type, { size_of::<$number>() }>(
                points,
                length,
                at,
                count,
                |bytes| <$number>::from_le_bytes(bytes),
            ))
        };
    }
    match kind {
        1 => list!(UInt8Type, u8),
        2 => list!(Int8Type, i8),
        3 => list!(UInt16Type, u16),
        4 => list!(Int16Type, i16),
        5 => list!(UInt32Type, u32),
        6 => list!(Int32Type, i32),
        7 => list!(UInt64Type, u64),
        8 => list!(Int64Type, i64),
        9 => list!(Float32Type, f32),
        _ => list!(Float64Type, f64),
    }
}

/// As [`numbers`], for one type. Points that are too short give too few values; the lengths of columns then differ, which is an error.
fn list<T: ArrowPrimitiveType, const N: usize>(
    points: &[u8],
    length: usize,
    at: usize,
    count: usize,
    number: impl Fn([u8; N]) -> T::Native + Copy,
) -> PrimitiveArray<T> {
    let points = points.chunks_exact(length);
    let mut values = Vec::with_capacity(points.len() * count);
    for point in points {
        let bytes = point.get(at..at + N * count).unwrap_or_default();
        values.extend(bytes.as_chunks::<N>().0.iter().map(|bytes| number(*bytes)));
    }
    PrimitiveArray::new(values.into(), None)
}
