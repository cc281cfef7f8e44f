//! Notes on columns that state no unit.

use zvf_encode::arrow::{elements, texts};
use zvf_write::AttributeSpec;

use super::EditTable;

impl EditTable {
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
