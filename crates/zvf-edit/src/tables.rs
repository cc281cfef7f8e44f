//! Attributes of objects and groups while a store is edited.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::Array;
use zvf_meta::ArrayDoc;
use zvf_store::TypedArray;
use zvf_store::format::dtype::DTypeKind;

use super::index::table_codecs;
use zvf_codec::Compression;
use zvf_encode::error::{OrBug, to_index};
use zvf_encode::spec::IdsIn;
use zvf_encode::tables::{ElementType, HeldColumn, ROWS, TableOf, Typed, column, described};
use zvf_encode::target::{ObjectPut, node};
use zvf_encode::{AttributeSpec, NumberType, Values, WriteError};
use zvf_format::int::wide;

/// A table of one attribute of objects or groups, with one row for each of them.
#[derive(Debug)]
pub(crate) struct AttributeTable {
    pub(crate) spec: AttributeSpec,
    of: TableOf,
    /// The stored document; `None` if the table is new.
    doc: Option<ArrayDoc>,
    /// Values, in the order in which they were read and set. Replaced ones are not removed.
    held: HeldColumn,
    /// The row of `held` with the value of each object or group; `None` if it has no value.
    places: Vec<Option<usize>>,
    /// Whether the stored table declares a fill value for missing values. True for new tables.
    absence: bool,
    /// Rows that differ from the stored table.
    changed: BTreeSet<usize>,
}

/// The specification of a stored attribute of objects or groups.
///
/// # Errors
/// Unsupported: values that are neither numbers nor texts, or several texts per row.
pub(crate) fn described_by(array: &TypedArray) -> Result<AttributeSpec, WriteError> {
    let dtype = array.dtype();
    let text = matches!(dtype.kind, DTypeKind::Utf32 { .. });
    let mut spec = match NumberType::from_name(&dtype.to_string()) {
        Some(number) => AttributeSpec::number(array.name(), number),
        None if text && array.width() == 1 => AttributeSpec::text(array.name()),
        None => {
            return Err(WriteError::unsupported(
                array.path(),
                dtype.to_string(),
                "numbers or texts",
            ));
        }
    };
    spec.channels = to_index("channels", array.width())?;
    spec.unit.clone_from(&array.attributes().unit);
    Ok(spec)
}

impl AttributeTable {
    /// Reads a table.
    pub(crate) async fn read(
        array: &TypedArray,
        of: TableOf,
        rows: usize,
    ) -> Result<Self, WriteError> {
        let path = array.path().to_owned();
        let Some(doc) = array.doc() else {
            return Err(WriteError::unsupported(
                path,
                "the layout of another version",
                "an array of version 0.9",
            ));
        };
        table_codecs(&path, doc)?;
        let spec = described_by(array)?;
        let found = array.read().await?;
        if found.rows != rows {
            let found = format!("{} rows", found.rows);
            let expected = match of {
                TableOf::Objects => "a row for each object",
                TableOf::Groups => "a row for each group",
            };
            return Err(WriteError::unsupported(path, found, expected));
        }
        let absence = found.sentinel.is_some();
        let held = HeldColumn::stored(&found).or_bug("a table of neither numbers nor texts")?;
        let place = |row: usize| (!found.is_absent(row)).then_some(row);
        Ok(Self {
            spec,
            of,
            doc: Some(doc.clone()),
            held,
            places: (0..rows).map(place).collect(),
            absence,
            changed: BTreeSet::new(),
        })
    }

    /// A new table, without values.
    pub(crate) fn new(spec: AttributeSpec, of: TableOf, rows: usize) -> Self {
        Self {
            held: HeldColumn::new(spec.values),
            spec,
            of,
            doc: None,
            places: vec![None; rows],
            absence: true,
            changed: BTreeSet::new(),
        }
    }

    /// The row of [`held`](Self::held) with the value of an object or group; `None` if it has no value.
    pub(crate) fn place(&self, row: usize) -> Option<usize> {
        self.places.get(row).copied().flatten()
    }

    /// Describes how a row differs from the value `given`, for a message. `None` if it is equal, or if `given` is missing (null or NaN). `held` are
    /// the [held](Self::held) values.
    pub(crate) fn other_value(
        &self,
        held: &Values,
        row: usize,
        given: &Values,
    ) -> Result<Option<&'static str>, WriteError> {
        let is_float = self.spec.values.number().is_some_and(NumberType::is_float);
        let missing = match given {
            Values::Text(texts) => texts.iter().all(|text| text.is_none()),
            numbers => is_float && numbers.to_f64().iter().all(|value| value.is_nan()),
        };
        let Some(place) = self.place(row).filter(|_| !missing) else {
            return Ok((!missing).then_some("has no value"));
        };
        let own = held.of_rows(&[place], self.spec.channels)?;
        Ok((own != *given).then_some("keeps its value"))
    }

    /// The values, in the order in which they were read and set. [`place`](Self::place) returns the place of a row's value.
    pub(crate) fn held(&self) -> &HeldColumn {
        &self.held
    }

    fn path(&self) -> String {
        format!("0/{}", self.of.path(&self.spec.name))
    }

    /// The name of the table, for messages.
    fn what(&self) -> String {
        format!("{} {}", self.kind(), self.spec.name)
    }

    fn kind(&self) -> &'static str {
        match self.of {
            TableOf::Objects => "object attribute",
            TableOf::Groups => "group attribute",
        }
    }

    /// Adds rows without values until there are `objects`, the number of all objects or groups.
    pub(crate) fn grow(&mut self, objects: usize) {
        self.changed.extend(self.places.len()..objects);
        if objects > self.places.len() {
            self.places.resize(objects, None);
        }
    }

    /// Removes the value of a row, if the table can store that it is missing.
    pub(crate) fn clear(&mut self, row: usize) {
        if self.absence {
            self.forget(row);
        }
    }

    /// Removes the value of a row. [`finish`](Self::finish) fails if the type cannot store that it is missing.
    pub(crate) fn forget(&mut self, row: usize) {
        // A row that the table does not have yet has no value.
        if let Some(value) = self.places.get_mut(row) {
            *value = None;
            self.changed.insert(row);
        }
    }

    /// Sets the rows of deleted objects that have no value to false if the type is bool, which cannot store missing values. These rows are never read.
    pub(crate) fn occupy(&mut self, rows: impl Iterator<Item = usize>) -> Result<(), WriteError> {
        if self.spec.values.number() != Some(NumberType::Bool) {
            return Ok(());
        }
        let open: Vec<usize> = rows.filter(|row| self.place(*row).is_none()).collect();
        let any = vec![false; open.len() * self.spec.channels];
        self.set(&open, &Values::from(any))
    }

    /// Sets values of rows.
    ///
    /// # Errors
    /// Misuse: another number of values, or values of another type.
    pub(crate) fn set(&mut self, rows: &[usize], values: &Values) -> Result<(), WriteError> {
        let what = self.what();
        if Some(values.len()) != rows.len().checked_mul(self.spec.channels) {
            let expected = format!("{} per row for {} rows", self.spec.channels, rows.len());
            return Err(WriteError::input(
                what,
                format!("{} values", values.len()),
                expected,
            ));
        }
        self.spec.check_values(self.kind(), values)?;
        let start = self.held.count().checked_div(self.spec.channels);
        if !self.held.push(values) {
            let (found, expected) = (values.type_name(), self.spec.values.name());
            return Err(WriteError::input(what, found, expected));
        }
        let start = start.or_bug("a table without channels")?;
        for (at, row) in rows.iter().enumerate() {
            let missing =
                matches!(values, Values::Text(texts) if at < texts.len() && texts.is_null(at));
            let place = self.places.get_mut(*row);
            *place.or_bug(format_args!("no row {row} of a table"))? =
                (!missing).then_some(start + at);
            self.changed.insert(*row);
        }
        Ok(())
    }

    /// The rows whose value is this text.
    pub(crate) fn rows_of_text(&self, text: &str) -> Vec<usize> {
        let HeldColumn::Texts(texts) = &self.held else {
            return Vec::new();
        };
        let value = |place: &Option<usize>| texts.get((*place)?)?.as_deref();
        let rows = self.places.iter().enumerate();
        let rows = rows.filter(|(_, place)| value(place) == Some(text));
        rows.map(|(row, _)| row).collect()
    }

    /// Keeps the rows for which `keep` is true, in their order.
    pub(crate) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let places = std::mem::take(&mut self.places);
        let kept = (0..).zip(places).filter(|(row, _)| keep(*row));
        self.places = kept.map(|(_, place)| place).collect();
        self.changed = (0..self.places.len()).collect();
    }

    /// Whether anything has to be written.
    pub(crate) fn is_changed(&self) -> bool {
        let stored = self.doc.as_ref().and_then(|doc| doc.shape.first());
        // If all rows were dropped, `changed` is empty.
        stored != Some(&wide(self.places.len())) || !self.changed.is_empty()
    }

    /// Encodes the table. Returns the objects to write, which are the changed chunks and the document, and the keys of stored chunks that are replaced
    /// or no longer needed.
    pub(crate) fn finish(
        self,
        ids: &[i64],
        compression: &Compression,
    ) -> Result<(Vec<ObjectPut>, BTreeSet<String>), WriteError> {
        let path = self.path();
        let what = self.what();
        let rows = (&*self.places, ids);
        let mut typed = column(&what, &self.spec, &self.held, rows, IdsIn::Table)?;
        let compression = match &self.doc {
            Some(doc) => table_codecs(&path, doc)?,
            None => compression.clone(),
        };
        // Chunks that are not rewritten are still encoded with the old fill and width.
        let same = self
            .doc
            .as_ref()
            .is_some_and(|doc| chunks_stay_valid(doc, &typed));
        let rows = self
            .doc
            .as_ref()
            .and_then(|doc| doc.chunk_shape.first().copied())
            .unwrap_or(ROWS)
            .max(1);
        typed.chunk_rows = Some(rows);
        let given = match &self.doc {
            Some(doc) => doc.attributes.clone(),
            None => described(&self.spec),
        };
        let attributes = typed.attributes(self.of, &self.spec.name, given);
        let (mut new, objects) = typed.objects(&path, &compression, attributes)?;
        // Chunks of very wide rows have fewer rows than requested, and a single channel needs no axis.
        let was = self.doc.as_ref().map(|doc| doc.chunk_shape.get(1..));
        let chunk = new.chunk_shape.first().copied().unwrap_or(1).max(1);
        let same = same && chunk == rows && was == Some(new.chunk_shape.get(1..));
        let unknown = |doc: &ArrayDoc| doc.attributes.stored_chunks.is_none();
        if same && self.doc.as_ref().is_some_and(unknown) {
            // It is unknown whether the chunks that are not rewritten are stored.
            new.attributes.stored_chunks = None;
        }
        let doc = match self.doc.clone() {
            Some(doc) => ArrayDoc {
                shape: new.shape,
                data_type: if same {
                    doc.data_type.clone()
                } else {
                    new.data_type
                },
                chunk_shape: new.chunk_shape,
                fill_value: if same {
                    doc.fill_value.clone()
                } else {
                    new.fill_value
                },
                attributes: new.attributes,
                ..doc
            },
            None => new,
        };
        let touched: BTreeSet<u64> = if same {
            self.changed
                .iter()
                .filter_map(|row| wide(*row).checked_div(chunk))
                .collect()
        } else {
            (0..wide(self.places.len()).div_ceil(chunk)).collect()
        };
        let key_of = |doc: &ArrayDoc, at: u64| {
            let index = (0..doc.shape.len()).map(|axis| if axis == 0 { at } else { 0 });
            let index: Vec<u64> = index.collect();
            format!("{path}/{}", doc.key_encoding.object_key(&index))
        };
        let objects = (0..).zip(objects);
        let objects = objects.filter(|(at, _)| touched.contains(at));
        let mut objects: Vec<ObjectPut> = objects
            .map(|(at, (_, bytes))| (key_of(&doc, at), bytes))
            .collect();
        let mut old = BTreeSet::new();
        if let Some(was) = &self.doc {
            let stored = was.shape.first().map_or(0, |before| before.div_ceil(rows));
            let first = match same {
                true => wide(self.places.len()).div_ceil(rows),
                // All stored chunks are replaced.
                false => 0,
            };
            old.extend(objects.iter().map(|(key, _)| key.clone()));
            old.extend((first..stored).map(|at| key_of(was, at)));
        }
        objects.push(node(path, doc.to_json()));
        Ok((objects, old))
    }
}

/// Whether chunks that were written with the old document are valid under the new one.
fn chunks_stay_valid(doc: &ArrayDoc, typed: &Typed) -> bool {
    let was = doc.attributes.fill_sentinel_meaning.as_deref() == Some("absent");
    let width = match &typed.element {
        ElementType::Number(_) => true,
        // Tables of an edit have only numbers and texts.
        ElementType::Other { .. } => false,
        ElementType::Text(chars) => doc.data_type.length_bytes() == Some(wide(*chars) * 4),
    };
    let fill = doc.fill_value == typed.fill.1
        || matches!((doc.fill_number(), typed.fill.1.as_f64()), (Some(a), Some(b)) if a == b && a.abs() < 1e15);
    let columns = doc.chunk_shape.get(1..) == doc.shape.get(1..);
    was == typed.absent && width && fill && columns
}

/// Tables by name.
pub(crate) type AttributeTables = BTreeMap<String, AttributeTable>;
