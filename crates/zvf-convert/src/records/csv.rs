//! Separated values as typed columns. Types are found by a first reading, as for vertices.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use zvf_write::narrow;

use super::{Source, TakeBatch};
use crate::error::{ConvertError, shown};
use crate::options::Options;
use crate::table::column::{Census, Filling, Type};
use crate::table::rows::Rows;
use crate::time;

/// An open table.
#[derive(Debug)]
pub(super) struct Csv {
    path: PathBuf,
    options: Options,
    header: Vec<String>,
    types: Vec<Type>,
    schema: SchemaRef,
}

impl Csv {
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self, ConvertError> {
        let mut rows = Rows::open(path, options)?;
        let header = rows.header()?;
        let mut columns: Vec<Census> = Vec::new();
        columns.resize_with(header.len(), Census::default);
        let most = options.limits.categories;
        while rows.step()? {
            for (at, census) in columns.iter_mut().enumerate() {
                if !census.see(rows.field(at), most, options.nulls) {
                    let name = header.get(at).map_or("", String::as_str);
                    let what = format!("different texts in column {}", shown(name));
                    return Err(ConvertError::limit(path, rows.place(), what, most));
                }
            }
        }
        let types: Vec<Type> = columns
            .iter()
            .map(|census| census.decide(options.nulls))
            .collect();
        Ok(Self::of(path, options, header, types))
    }

    /// As texts, whatever they are.
    pub(super) fn texts(path: &Path, options: &Options) -> Result<Self, ConvertError> {
        let header = Rows::open(path, options)?.header()?;
        let types = vec![Type::Text; header.len()];
        Ok(Self::of(path, options, header, types))
    }

    fn of(path: &Path, options: &Options, header: Vec<String>, types: Vec<Type>) -> Self {
        let fields = header
            .iter()
            .zip(&types)
            .map(|(name, kind)| Field::new(name, data_type(*kind), true));
        Self {
            path: path.to_owned(),
            options: options.clone(),
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            header,
            types,
        }
    }

    fn batch(&self, columns: Vec<Filling>, rows: &Rows) -> Result<RecordBatch, ConvertError> {
        let columns = columns.into_iter().zip(&self.types);
        let columns = columns.map(|(column, kind)| array(column, *kind));
        RecordBatch::try_new(Arc::clone(&self.schema), columns.collect())
            .map_err(|error| rows.bad(error.to_string(), "rows of a table"))
    }
}

impl Source for Csv {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn vertices(&self, most: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError> {
        let mut rows = Rows::open(&self.path, &self.options)?;
        let changed = "what was there when the file was looked at";
        if rows.header()? != self.header {
            return Err(rows.bad("other columns", changed));
        }
        let empty = || self.types.iter().map(|kind| kind.filling()).collect();
        let (mut columns, mut held): (Vec<Filling>, usize) = (empty(), 0);
        while rows.step()? {
            for (at, column) in columns.iter_mut().enumerate() {
                if !column.take(rows.field(at)) {
                    return Err(rows.bad(shown(rows.field(at)), changed));
                }
            }
            held = held.saturating_add(1);
            if held >= most {
                take(&self.batch(std::mem::replace(&mut columns, empty()), &rows)?)?;
                held = 0;
            }
        }
        if held > 0 {
            take(&self.batch(columns, &rows)?)?;
        }
        Ok(())
    }
}

fn data_type(kind: Type) -> DataType {
    match kind {
        Type::Bool => DataType::Boolean,
        Type::I32 => DataType::Int32,
        Type::I64 => DataType::Int64,
        Type::U64 => DataType::UInt64,
        Type::F32 => DataType::Float32,
        Type::F64 => DataType::Float64,
        Type::Text | Type::Truths => DataType::Utf8,
        Type::Time { .. } => kind.time().unwrap_or(DataType::Int64),
    }
}

fn array(column: Filling, kind: Type) -> ArrayRef {
    match column {
        Filling::Bool(list) => Arc::new(BooleanArray::from(list)),
        Filling::I32(list) => Arc::new(Int32Array::from(list)),
        Filling::I64(list) => Arc::new(Int64Array::from(list)),
        Filling::U64(list) => Arc::new(UInt64Array::from(list)),
        Filling::Float(list) if kind == Type::F32 => Arc::new(
            list.into_iter()
                .map(|value| Some(narrow(value)))
                .collect::<Float32Array>(),
        ),
        Filling::Float(list) => Arc::new(Float64Array::from(list)),
        Filling::Text(list) | Filling::Truths(list) => Arc::new(StringArray::from(list)),
        Filling::Time(list, kind) => {
            let list = Int64Array::from(list);
            time::column(&list, &kind).unwrap_or_else(|| Arc::new(list))
        }
    }
}
