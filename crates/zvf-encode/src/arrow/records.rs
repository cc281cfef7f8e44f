//! Arrow output: batches, objects and groups as the tables that queries return.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray, Float16Array, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema};
use serde_json::json;
use zvf_format::int::wide;

use super::{OF_GROUPS, OF_LINKS, OF_OBJECTS, OF_VERTICES, attribute_name, with_nulls};
use crate::WriteError;
use crate::batches::batch::{Batch, Groups, ObjectTable};
use crate::batches::prepare::{BatchContext, PreparedColumn};
use crate::error::OrBug;
use crate::spec::store::{AttributeSpec, AttributeType, StoreSpec};
use crate::values::column::Values;

/// Most bytes of the texts of a column, and most ids in all groups: the largest 32-bit offset.
const MOST: u64 = (1 << 31) - 1;

/// A column of numbers or texts, `width` per row: as lists of fixed size, unless `width` is 1.
///
/// # Cost
/// None for numbers; one copy of texts.
///
/// # Errors
/// Limit: 2 GiB of texts, or 2^31 values per row. Bug: values that are not whole rows.
pub fn array(values: Values, width: usize) -> Result<ArrayRef, WriteError> {
    let items: ArrayRef = match values {
        Values::Bool(list) => Arc::new(BooleanArray::new(list, None)),
        Values::I8(list) => Arc::new(Int8Array::new(list, None)),
        Values::I16(list) => Arc::new(Int16Array::new(list, None)),
        Values::I32(list) => Arc::new(Int32Array::new(list, None)),
        Values::I64(list) => Arc::new(Int64Array::new(list, None)),
        Values::U8(list) => Arc::new(UInt8Array::new(list, None)),
        Values::U16(list) => Arc::new(UInt16Array::new(list, None)),
        Values::U32(list) => Arc::new(UInt32Array::new(list, None)),
        Values::U64(list) => Arc::new(UInt64Array::new(list, None)),
        Values::F16(list) => Arc::new(Float16Array::new(list, None)),
        Values::F32(list) => Arc::new(Float32Array::new(list, None)),
        Values::F64(list) => Arc::new(Float64Array::new(list, None)),
        Values::Text(texts) => text_array(&texts, AttributeType::Text)?,
    };
    match width {
        1 => Ok(items),
        _ => list(items, width),
    }
}

/// A column of texts; categories become a dictionary array. Builders of arrays panic if offsets overflow, so the size is checked first.
fn text_array(texts: &LargeStringArray, kind: AttributeType) -> Result<ArrayRef, WriteError> {
    // Of a slice of a column only its own texts.
    let offsets = texts.value_offsets();
    let ends = offsets.first().zip(offsets.last());
    let bytes = ends.map_or(0, |(first, last)| last.abs_diff(*first));
    if bytes > MOST {
        return Err(WriteError::limit("bytes of texts of a batch", bytes, MOST));
    }
    Ok(match kind {
        AttributeType::Category => Arc::new(texts.iter().collect::<DictionaryArray<Int32Type>>()),
        _ => Arc::new(texts.iter().collect::<StringArray>()),
    })
}

/// A column of lists of fixed size.
fn list(items: ArrayRef, width: usize) -> Result<ArrayRef, WriteError> {
    let size = i32::try_from(width);
    let size = size.map_err(|_| WriteError::limit("numbers of a row", wide(width), MOST))?;
    let item = Arc::new(Field::new("item", items.data_type().clone(), false));
    let list = FixedSizeListArray::try_new(item, size, items, None);
    Ok(Arc::new(list.or_bug("values that are not whole rows")?))
}

fn column(one: &AttributeSpec, stored: &PreparedColumn<'_>) -> Result<ArrayRef, WriteError> {
    match (stored, one.values, one.channels) {
        (PreparedColumn::Texts(texts), kind, 1) => text_array(texts, kind),
        (PreparedColumn::Bytes(bytes), AttributeType::Number(number), width) => {
            array(Values::of_bytes(number, bytes), width)
        }
        (_, _, width) => {
            let found = format!("{width} texts per row");
            Err(WriteError::input(&one.name, found, "one"))
        }
    }
}

/// The field of an attribute. It has the name of the attribute, unless that is the name of another column of the table.
fn field(one: &AttributeSpec, kind: &DataType, other: &[&str]) -> Field {
    let name = match other.contains(&&*one.name) {
        true => format!("attribute:{}", one.name),
        false => one.name.clone(),
    };
    let names = one.channel_names.as_ref();
    let names = names.map(|names| json!(names).to_string());
    let about = [
        ("zvf.unit", one.unit.clone()),
        ("zvf.description", one.description.clone()),
        ("zvf.channel_names", names),
    ];
    let about = about.into_iter();
    let about = about.filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Field::new(name, kind.clone(), true).with_metadata(about.collect())
}

impl<'s> BatchContext<'s> {
    /// A batch that begins at vertex `first`.
    const fn at(spec: &'s StoreSpec, first: u64) -> Self {
        Self {
            spec,
            reach: None,
            batch: 0,
            first,
            keys: None,
            threads: 1,
        }
    }

    /// A table of the columns in `own`, followed by the attributes in the order of their declaration.
    fn table<'d>(
        &self,
        own: Vec<(&str, ArrayRef)>,
        (what, other): (&str, &[&str]),
        given: &[(String, Values)],
        declared: impl Iterator<Item = &'d AttributeSpec> + Clone,
        rows: usize,
    ) -> Result<RecordBatch, WriteError> {
        self.names(what, given, declared.clone())?;
        let own = own.into_iter();
        let own = own.map(|(name, it)| (Field::new(name, it.data_type().clone(), false), it));
        let (mut fields, mut columns): (Vec<Field>, Vec<ArrayRef>) = own.unzip();
        for one in declared {
            let stored = self.column(what, one, given, rows)?;
            let found = column(one, &stored)?;
            fields.push(field(one, found.data_type(), other));
            columns.push(found);
        }
        let axes = self.spec.axes.iter();
        let axes = axes
            .map(|axis| json!({ "name": axis.name, "type": axis.kind(), "unit": axis.unit }))
            .collect::<Vec<_>>();
        let about = [
            ("zvf.axes".to_owned(), json!(axes).to_string()),
            ("zvf.kind".to_owned(), self.spec.kind.name().to_owned()),
        ];
        let schema = Schema::new_with_metadata(fields, about.into());
        RecordBatch::try_new(Arc::new(schema), columns).or_bug("columns of different lengths")
    }
}

impl Batch {
    /// The vertices and links as the tables that queries return, in the types of a specification. The metadata has the names, units and types of axes
    /// and attributes, so that [`StoreSpec::with_vertex_records`] declares the same. The tables of all batches that fit the specification have the
    /// same schema. Links are `None` for kinds in which the order of the vertices implies them.
    ///
    /// `first` is the number of vertices in earlier batches: links are numbered through all of them. Vertices without an id get the id that the
    /// writer would give them.
    ///
    /// # Cost
    /// One copy of each column; floats that are converted are copied twice.
    ///
    /// # Errors
    /// Misuse: a batch that does not fit the specification, with the column and row; attributes of fragments, which tables cannot have. Limit: 2 GiB
    /// of texts in one column.
    pub fn to_records(
        &self,
        spec: &StoreSpec,
        first: u64,
    ) -> Result<(RecordBatch, Option<RecordBatch>), WriteError> {
        if let Some((name, _)) = self.fragment_attributes.first() {
            let what = format!("fragment attribute {name}");
            let expected = "none: tables have no attributes of fragments";
            return Err(WriteError::input(what, "values", expected));
        }
        let context = BatchContext::at(spec, first);
        let (positions, rows) = context.positions(self)?;
        let positions = array(Values::of_bytes(spec.positions, &positions), 1)?;
        let mut own = vec![("position", list(positions, spec.dims())?)];
        let owners = context.owners(&self.objects, rows)?;
        if spec.has_objects() {
            own.push(("object_id", array(Values::from(&*owners), 1)?));
        }
        let (what, given) = (("attribute", &OF_VERTICES[..]), &self.attributes);
        let vertices = context.table(own, what, given, spec.batch_attributes(), rows)?;

        let (ends, _) = context.links(self, rows)?;
        let (what, given) = (("link attribute", &OF_LINKS[..]), &self.link_attributes);
        if !spec.takes_links() {
            context.names(what.0, given, &[])?;
            return Ok((vertices, None));
        }
        let (declared, width) = (spec.links.attributes.iter(), spec.links.width);
        let count = ends.len().checked_div(width).unwrap_or(0);
        let own = vec![("vertices", list(array(Values::from(ends), 1)?, width)?)];
        let links = context.table(own, what, given, declared, count)?;
        Ok((vertices, Some(links)))
    }
}

impl ObjectTable {
    /// The table that queries return, as [`Batch::to_records`] makes it.
    ///
    /// # Errors
    /// As [`Batch::to_records`].
    pub fn to_records(&self, spec: &StoreSpec) -> Result<RecordBatch, WriteError> {
        let own = vec![("object_id", array(self.ids.clone().into(), 1)?)];
        let (what, given) = (("object attribute", &OF_OBJECTS[..]), &self.attributes);
        let declared = spec.object_attributes.iter();
        let table = BatchContext::at(spec, 0).table(own, what, given, declared, self.ids.len())?;
        gapped(&table, &self.attributes, &self.absent)
    }
}

/// The table with nulls for the rows that lack a value of an attribute.
fn gapped(
    table: &RecordBatch,
    attributes: &[(String, Values)],
    absent: &BTreeMap<String, BTreeSet<usize>>,
) -> Result<RecordBatch, WriteError> {
    let fields = table.schema_ref().fields().iter().zip(table.columns());
    let columns = fields.map(|(field, column)| {
        let name = attribute_name(table.schema_ref(), field, &OF_OBJECTS);
        let own = name.filter(|name| attributes.iter().any(|(own, _)| own == name));
        let Some(absent) = own.and_then(|name| absent.get(name)) else {
            return Ok(Arc::clone(column));
        };
        let valid: NullBuffer = (0..column.len())
            .map(|row| !absent.contains(&row))
            .collect();
        with_nulls(column, Some(valid))
    });
    let columns = columns.collect::<Result<Vec<_>, WriteError>>()?;
    let table = RecordBatch::try_new(table.schema(), columns);
    table.or_bug("columns that do not fit their table")
}

impl Groups {
    /// A table with one row per group; see the [module](crate::arrow).
    ///
    /// # Errors
    /// Misuse: names or values do not match the number of groups. Limit: 2^31 ids in all groups, or 2 GiB of texts in one column.
    pub fn to_records(&self, spec: &StoreSpec) -> Result<RecordBatch, WriteError> {
        let rows = self.members.len();
        let ids = self.members.iter().map(|ids| wide(ids.len()));
        let ids = ids.fold(0, u64::saturating_add);
        if ids > MOST {
            return Err(WriteError::limit("ids of groups", ids, MOST));
        }
        let mut members = ListBuilder::new(Int64Builder::new());
        for ids in &self.members {
            members.values().append_slice(ids);
            members.append(true);
        }
        let mut own: Vec<(&str, ArrayRef)> = vec![("object_ids", Arc::new(members.finish()))];
        if !self.names.is_empty() {
            if self.names.len() != rows {
                let (found, expected) = (self.names.len().to_string(), format!("{rows} or none"));
                return Err(WriteError::input("group names", found, expected));
            }
            own.push(("name", array(Values::texts(&self.names), 1)?));
        }
        let declared = self.attribute_specs();
        let (what, given) = (("group attribute", &OF_GROUPS[..]), &self.attributes);
        let table = BatchContext::at(spec, 0).table(own, what, given, declared.iter(), rows)?;
        gapped(&table, &self.attributes, &self.absent)
    }
}
