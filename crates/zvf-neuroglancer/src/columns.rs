//! Attributes of vertices and objects as properties of annotations and attributes of skeletons.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use serde_json::{Value, json};
use zvf_meta::moments::Moments;
use zvf_query::is_placed;
use zvf_query::numbers::{floats, measured, shape};

use crate::error::{Result, ViewError};
use crate::precomputed::{Property, PropertyType, PropertyValues, SkeletonAttribute};
use crate::units::identifier;

/// Largest number of components of a shown attribute.
const MOST: usize = 8;

/// Largest number of names of a categorical attribute, enough for a list of genes. A viewer reads all names before it draws.
const MOST_LABELS: usize = 65_536;

/// The prefix of the column of an attribute that has the name of another column.
const ATTRIBUTE: &str = "attribute:";

/// The name of the attribute of a column.
fn plain(column: &str) -> &str {
    column.strip_prefix(ATTRIBUTE).unwrap_or(column)
}

/// The code of a missing category.
const NO_CATEGORY: f64 = 4_294_967_295.0;

/// An attribute that can be shown.
///
/// Whole numbers of up to 32 bits and float32 keep their type; all other numbers become float32. Categories become numbers with
/// names. A missing number is NaN, a missing whole number 0.
#[derive(Debug, Clone)]
pub(crate) struct ShownAttribute {
    name: String,
    /// Identifier for Neuroglancer.
    id: String,
    kind: PropertyType,
    /// Number of components of a row.
    width: usize,
    description: Option<String>,
    labels: Vec<(u32, String)>,
    /// Names that are not among the labels.
    more_labels: usize,
}

/// All attributes of a table that can be shown, and the names of those that cannot be shown, or not exactly.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShownAttributes {
    pub(crate) shown: Vec<ShownAttribute>,
    pub(crate) left_out: Vec<String>,
    /// Numbers of 64 bits, which are shown as float32: whole ones are exact up to 2^24.
    pub(crate) rounded: Vec<String>,
    /// Dates, times and durations, each with its unit. They are shown as numbers without the unit.
    pub(crate) moments: Vec<[String; 2]>,
    /// Names that are not identifiers, each with the identifier that is shown.
    pub(crate) renamed: Vec<[String; 2]>,
}

impl ShownAttributes {
    /// Derives the attributes from the schema of a table, and the names of categories from any batch of it. `skip` names columns that
    /// are not attributes.
    pub(crate) fn of(schema: &Schema, batch: Option<&RecordBatch>, skip: &[&str]) -> Self {
        let mut found = Self::default();
        let valid = valid_names(schema);
        for field in schema.fields() {
            if is_placed(field) || skip.contains(&field.name().as_str()) {
                continue;
            }
            let column = batch.and_then(|batch| batch.column_by_name(field.name()));
            let name = plain(field.name());
            let mut taken = found.ids();
            taken.extend(
                valid
                    .iter()
                    .filter(|name| *name != field.name())
                    .map(|name| (*name).to_owned()),
            );
            let taken: Vec<&str> = taken.iter().map(String::as_str).collect();
            match ShownAttribute::of(field, column, &taken) {
                Some(attribute) => {
                    let element = shape(field.data_type()).map(|(_, element)| element);
                    let unit = field.metadata().get("zvf.unit");
                    let unit = unit.filter(|_| element == Some(&DataType::Int64));
                    if let Some(unit) = unit.filter(|unit| Moments::kind_of_unit(unit).is_some()) {
                        found.moments.push([name.to_owned(), unit.clone()]);
                    }
                    if attribute.id != name {
                        found.renamed.push([name.to_owned(), attribute.id.clone()]);
                    }
                    let is_wide = matches!(
                        element,
                        Some(DataType::Int64 | DataType::UInt64 | DataType::Float64)
                    );
                    if is_wide {
                        found.rounded.push(name.to_owned());
                    }
                    found.shown.push(attribute);
                }
                None => found.left_out.push(name.to_owned()),
            }
        }
        found
    }

    /// All identifiers in use: of the attributes, and of their components.
    fn ids(&self) -> Vec<String> {
        let properties = self.shown.iter().flat_map(ShownAttribute::properties);
        let own = self.shown.iter().map(|one| one.id.clone());
        properties.map(|one| one.id).chain(own).collect()
    }

    /// The member `zvf` of a document: attributes that are not shown, or not exactly. `named`: the document has names of categories.
    pub(crate) fn remarks(&self, named: bool) -> Value {
        let mut remarks = json!({"left_out": self.left_out, "rounded": self.rounded});
        let unnamed = self.shown.iter().map(|one| match named {
            true => (one.name(), one.more_labels),
            false => (one.name(), one.more_labels.saturating_add(one.labels.len())),
        });
        let unnamed: Vec<_> = unnamed.filter(|(_, count)| *count > 0).collect();
        if !unnamed.is_empty() {
            remarks["unnamed"] = json!(unnamed);
        }
        if !self.moments.is_empty() {
            remarks["moments"] = json!(self.moments);
        }
        if !self.renamed.is_empty() {
            remarks["renamed"] = json!(self.renamed);
        }
        remarks
    }
}

/// Names of columns that are valid identifiers already. Other columns must not be renamed to them.
pub(crate) fn valid_names(schema: &Schema) -> Vec<&str> {
    let names = schema.fields().iter().map(|field| field.name().as_str());
    names
        .filter(|name| identifier(name, &[]) == *name)
        .collect()
}

impl ShownAttribute {
    fn of(field: &Field, column: Option<&ArrayRef>, taken: &[&str]) -> Option<Self> {
        let (mut labels, mut more_labels) = (Vec::new(), 0);
        let (kind, width) = match field.data_type() {
            DataType::Dictionary(_, values) if matches!(**values, DataType::Utf8) => {
                if let Some(dictionary) = column.and_then(|column| column.as_any_dictionary_opt()) {
                    let names = dictionary.values().as_string_opt::<i32>()?;
                    more_labels = names.len().saturating_sub(MOST_LABELS);
                    let named = names.iter().take(MOST_LABELS).zip(0u32..);
                    labels.extend(named.filter_map(|(name, code)| Some((code, name?.to_owned()))));
                }
                (PropertyType::Uint32, 1)
            }
            other => {
                let (width, element) = shape(other)?;
                let kind = match element {
                    DataType::Boolean | DataType::UInt8 => PropertyType::Uint8,
                    DataType::Int8 => PropertyType::Int8,
                    DataType::Int16 => PropertyType::Int16,
                    DataType::UInt16 => PropertyType::Uint16,
                    DataType::Int32 => PropertyType::Int32,
                    DataType::UInt32 => PropertyType::Uint32,
                    _ => PropertyType::Float32,
                };
                (kind, width)
            }
        };
        let metadata = |key: &str| field.metadata().get(key).cloned();
        let description = match (metadata("zvf.description"), metadata("zvf.unit")) {
            (Some(text), Some(unit)) => Some(format!("{text} ({unit})")),
            (text, unit) => text.or(unit),
        };
        let name = plain(field.name());
        if !(1..=MOST).contains(&width) {
            return None;
        }
        let mut shown = Self {
            name: name.to_owned(),
            id: identifier(name, taken),
            kind,
            width,
            description,
            labels,
            more_labels,
        };
        // The identifiers of components must not be in use, either.
        let mut tried: Vec<String> = Vec::new();
        let is_taken = |property: &Property| taken.contains(&property.id.as_str());
        while shown.properties().iter().any(is_taken) {
            tried.push(shown.id);
            let all = taken
                .iter()
                .copied()
                .chain(tried.iter().map(String::as_str));
            shown.id = identifier(name, &all.collect::<Vec<_>>());
        }
        Some(shown)
    }

    /// The name of the attribute.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The column of the attribute, even if other columns of the batch have its name.
    pub(crate) fn column<'b>(&self, batch: &'b RecordBatch) -> Option<(&'b Field, &'b ArrayRef)> {
        let schema = batch.schema_ref();
        let is_own = |at: &usize| {
            schema
                .fields()
                .get(*at)
                .is_some_and(|field| !is_placed(field))
        };
        let beside = schema.index_of(&format!("{ATTRIBUTE}{}", self.name)).ok();
        let at = beside.or_else(|| schema.index_of(&self.name).ok().filter(is_own))?;
        Some((schema.fields().get(at)?, batch.columns().get(at)?))
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn kind(&self) -> PropertyType {
        self.kind
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Bytes of a row.
    pub(crate) fn row_bytes(&self) -> usize {
        self.kind.size().saturating_mul(self.width)
    }

    /// The type, if the attribute is a colour of three or four bytes.
    fn color(&self) -> Option<PropertyType> {
        match (self.kind, self.width) {
            (PropertyType::Uint8, 3) => Some(PropertyType::Rgb),
            (PropertyType::Uint8, 4) => Some(PropertyType::Rgba),
            _ => None,
        }
    }

    /// As properties of annotations: one for each component, or a colour.
    fn properties(&self) -> Vec<Property> {
        let property = |id: String, kind| Property {
            id,
            kind,
            description: self.description.clone(),
            labels: self.labels.clone(),
        };
        match (self.color(), self.width) {
            (Some(kind), _) => vec![property(self.id.clone(), kind)],
            (None, 1) => vec![property(self.id.clone(), self.kind)],
            (None, width) => (0..width)
                .map(|part| property(format!("{}_{part}", self.id), self.kind))
                .collect(),
        }
    }

    /// As an attribute of skeletons.
    pub(crate) fn skeleton_attribute(&self) -> SkeletonAttribute {
        SkeletonAttribute {
            id: self.id.clone(),
            kind: self.kind,
            components: self.width,
        }
    }

    /// The numbers of a batch, row-major; all missing if the batch does not have the column.
    ///
    /// # Errors
    /// Malformed: the column does not have the expected number of values in a row.
    pub(crate) fn numbers(&self, batch: &RecordBatch) -> Result<Vec<f64>> {
        let Some((field, column)) = self.column(batch) else {
            let missing = match self.labels.is_empty() {
                true => f64::NAN,
                false => NO_CATEGORY,
            };
            return Ok(vec![missing; batch.num_rows().saturating_mul(self.width)]);
        };
        let numbers = match column.as_any_dictionary_opt() {
            Some(dictionary) => {
                let keys = dictionary.keys();
                let mut codes = floats(&keys.slice(0, keys.len())).values;
                for (row, code) in codes.iter_mut().enumerate() {
                    if column.is_null(row) {
                        *code = NO_CATEGORY;
                    }
                }
                codes
            }
            None => measured(field, column, 0.0).values,
        };
        let expected = batch.num_rows().saturating_mul(self.width);
        if numbers.len() != expected {
            return Err(ViewError::malformed(format!(
                "attribute {}: found {} values for {} rows, expected {expected}",
                self.name,
                numbers.len(),
                batch.num_rows()
            )));
        }
        Ok(numbers)
    }

    /// Appends the values of a batch as bytes.
    ///
    /// # Errors
    /// As [`numbers`](Self::numbers).
    pub(crate) fn append(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        put(self.kind, &self.numbers(batch)?, out);
        Ok(())
    }
}

/// Numbers as bytes of a type. The values are of that type, or missing.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole numbers of the type itself, and NaN, which becomes 0; other numbers are rounded to float32"
)]
fn put(kind: PropertyType, numbers: &[f64], out: &mut Vec<u8>) {
    for &number in numbers {
        match kind {
            PropertyType::Float32 => out.extend_from_slice(&(number as f32).to_le_bytes()),
            PropertyType::Uint32 => out.extend_from_slice(&(number as u32).to_le_bytes()),
            PropertyType::Int32 => out.extend_from_slice(&(number as i32).to_le_bytes()),
            PropertyType::Uint16 => out.extend_from_slice(&(number as u16).to_le_bytes()),
            PropertyType::Int16 => out.extend_from_slice(&(number as i16).to_le_bytes()),
            PropertyType::Int8 => out.extend_from_slice(&(number as i8).to_le_bytes()),
            PropertyType::Uint8 | PropertyType::Rgb | PropertyType::Rgba => {
                out.push(number as u8);
            }
        }
    }
}

/// The properties of annotations that represent attributes, in the order of encoding.
#[derive(Debug, Clone)]
pub(crate) struct Properties {
    pub(crate) described: Vec<Property>,
    /// For each property: the number of its attribute and of its component, or `None` for all components.
    parts: Vec<(usize, Option<usize>)>,
}

impl Properties {
    pub(crate) fn of(attributes: &[ShownAttribute]) -> Self {
        let mut all = Vec::new();
        for (number, attribute) in attributes.iter().enumerate() {
            let properties = attribute.properties();
            let single = properties.len() == 1;
            for (part, property) in properties.into_iter().enumerate() {
                all.push((property, (number, (!single).then_some(part))));
            }
        }
        // As `AnnotationInfo::sort_properties`, which is stable.
        let described: Vec<Property> = all.iter().map(|(property, _)| property.clone()).collect();
        let order = crate::precomputed::AnnotationInfo::sort_properties(&described);
        let sorted = order.iter().filter_map(|index| all.get(*index)).cloned();
        let (described, parts) = sorted.unzip();
        Self { described, parts }
    }

    pub(crate) fn types(&self) -> Vec<PropertyType> {
        self.described.iter().map(|one| one.kind).collect()
    }

    /// Bytes of all properties of one annotation, with the padding.
    pub(crate) fn row_bytes(&self) -> usize {
        let bytes: usize = self.described.iter().map(|one| one.kind.size()).sum();
        bytes.next_multiple_of(4)
    }

    /// The values of a batch.
    ///
    /// # Errors
    /// As [`ShownAttribute::numbers`].
    pub(crate) fn values(
        &self,
        attributes: &[ShownAttribute],
        batch: &RecordBatch,
    ) -> Result<Vec<PropertyValues>> {
        let mut numbers = Vec::with_capacity(attributes.len());
        for attribute in attributes {
            numbers.push(attribute.numbers(batch)?);
        }
        let mut values = Vec::with_capacity(self.parts.len());
        for (property, (number, part)) in self.described.iter().zip(&self.parts) {
            let (Some(attribute), Some(numbers)) = (attributes.get(*number), numbers.get(*number))
            else {
                return Err(ViewError::malformed("a property without an attribute"));
            };
            let mut bytes = Vec::new();
            match part {
                None => put(attribute.kind, numbers, &mut bytes),
                Some(part) => {
                    let column: Vec<f64> = numbers
                        .chunks(attribute.width.max(1))
                        .filter_map(|row| row.get(*part).copied())
                        .collect();
                    put(attribute.kind, &column, &mut bytes);
                }
            }
            values.push(PropertyValues::new(property.kind.size(), bytes)?);
        }
        Ok(values)
    }
}

/// The positions of a batch: `dims` numbers for each row.
///
/// # Errors
/// Malformed: the batch does not have `dims` numbers for each row.
pub(crate) fn positions(batch: &RecordBatch, dims: usize) -> Result<Vec<f64>> {
    let column = batch.column_by_name("position");
    let numbers = column.map(floats).unwrap_or_default().values;
    let expected = batch.num_rows().saturating_mul(dims);
    match numbers.len() == expected {
        true => Ok(numbers),
        false => Err(ViewError::malformed(format!(
            "found {} coordinates for {} vertices, expected {expected}",
            numbers.len(),
            batch.num_rows()
        ))),
    }
}

/// Coordinates as float32, as in Neuroglancer's formats.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the formats have float32 only"
)]
pub(crate) fn single(numbers: &[f64]) -> Vec<f32> {
    numbers.iter().map(|&number| number as f32).collect()
}
