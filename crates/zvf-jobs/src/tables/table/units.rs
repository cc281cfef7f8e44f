//! Metadata of columns, such as their unit, and notes on columns without a unit.

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field};
use zvf_encode::arrow::{DELTA, LEVEL, ORDER, SELECTED, described, elements, texts};
use zvf_encode::error::OrBug;
use zvf_store::meta::moments::Moments;
use zvf_write::{AttributeSpec, NumberType};

use super::{EditColumn, EditTable};
use crate::error::Result;

impl EditTable {
    /// The day of a moment at midnight, such as `2024-05-31T00:00:00.000`.
    pub(super) fn day_at_midnight(text: &str) -> Option<&str> {
        let (day, time) = text.trim().split_once(['T', ' '])?;
        let rest = time.strip_prefix("00:00")?;
        let rest = rest.strip_prefix(":00").unwrap_or(rest);
        let zeros = |digits: &str| !digits.is_empty() && digits.bytes().all(|one| one == b'0');
        let midnight = rest.is_empty() || rest.strip_prefix('.').is_some_and(zeros);
        midnight.then_some(day)
    }

    /// A table of columns. Its metadata states what the file states about its rows: their level, their order, whether they were selected and, for links,
    /// the number of levels that they span.
    pub(super) fn on_its_level(&self, columns: Vec<EditColumn>) -> Result<RecordBatch> {
        let table = RecordBatch::try_from_iter(columns).or_bug("columns of different lengths")?;
        let stated = self.batch.schema_ref().metadata();
        let stated = [LEVEL, DELTA, ORDER, SELECTED].map(|key| stated.get_key_value(key));
        let stated = stated.into_iter().flatten();
        let stated = stated.map(|(key, text)| (key.clone(), text.clone()));
        let schema = table.schema_ref().as_ref().clone();
        let schema = schema.with_metadata(stated.collect());
        Ok(table.with_schema(schema.into()).or_bug("other metadata")?)
    }

    /// The field of the batch with the values of a column.
    pub(super) fn field(&self, column: usize) -> Option<&Field> {
        let (_, at, _) = self.columns.get(column)?;
        let fields = self.batch.schema_ref().fields();
        fields.get(*at).map(AsRef::as_ref)
    }

    /// Whether the first of these columns has this Arrow type.
    pub(super) fn is_of(&self, columns: &[usize], kind: &DataType) -> bool {
        let column = columns.first().and_then(|first| self.columns.get(*first));
        let column = column.and_then(|(_, at, _)| self.batch.columns().get(*at));
        column.is_some_and(|column| column.data_type() == kind)
    }

    /// The unit that the first of these columns states.
    pub(super) fn unit(&self, columns: &[usize]) -> Option<String> {
        let field = self.field(*columns.first()?)?;
        field.metadata().get("zvf.unit").cloned()
    }

    /// Adds the unit, the description and the names of channels that the columns state to a new attribute, as an import does. A unit of dates, times or
    /// durations is kept only for 64-bit integers.
    ///
    /// # Errors
    ///
    /// Misuse: names of channels that are not a JSON list.
    pub(crate) fn described(&self, new: AttributeSpec, columns: &[usize]) -> Result<AttributeSpec> {
        let Some(field) = columns.first().and_then(|first| self.field(*first)) else {
            return Ok(new);
        };
        // Names of channels are kept only if the attribute has all channels of the list.
        let mut field = field.clone();
        if self.list(field.name()) != columns {
            field.metadata_mut().remove("zvf.channel_names");
        }
        let mut spec = described(new, &field)?;
        let wide = spec.values.number() == Some(NumberType::I64);
        spec.unit = spec
            .unit
            .filter(|unit| wide || Moments::of_unit(unit).is_none());
        Ok(spec)
    }

    /// Notes on attributes of dates, times and durations for which the table has numbers without a unit.
    pub(crate) fn unstated_units(&self, attributes: &[AttributeSpec]) -> Vec<String> {
        let note = |one: &AttributeSpec| {
            let unit = one.unit.as_deref().filter(|_| one.has_moments())?;
            let (file, name, columns) = (&self.file, &one.name, self.own_columns(one));
            let first = *columns.first()?;
            let (_, at, _) = self.columns.get(first)?;
            let (items, _) = elements(self.batch.columns().get(*at)?).ok()?;
            let is_number = |text: &str| text.trim().parse::<i64>().is_ok();
            let numbers = items.data_type().is_numeric()
                || texts(items)
                    .is_some_and(|texts| texts.iter().flatten().any(|one| is_number(one)));
            (numbers && self.unit(&columns).is_none()).then(|| {
                format!("{file}: column {name} states no unit: its numbers are taken as {unit}")
            })
        };
        attributes.iter().filter_map(note).collect()
    }
}
