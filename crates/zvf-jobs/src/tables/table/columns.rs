//! Finds the columns of attributes by their names.

use arrow_schema::DataType;
use zvf_convert::held_names;
use zvf_write::AttributeSpec;
use zvf_write::arrow::{OF_EDITS, is_place};

use super::EditTable;

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

    /// Whether a column is the place of its row in a store or an answer, as queries mark it: it is not an attribute, whatever its name.
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
            // The list `position` is that of the coordinates.
            let mut columns = match OF_EDITS.contains(&name) {
                true => Vec::new(),
                false => self.list(name),
            };
            columns.retain(|at| !self.is_place(*at));
            // Text files have the values of `v` as `v[0]`, `v[1]`, … if other columns are called `v_0`, `v_1`, …
            for form in [["[", "]"], ["_", ""]] {
                if columns.is_empty() {
                    columns = numbered(name, form, find);
                }
            }
            match count.unwrap_or(columns.len()) {
                0 | 1 => Vec::new(),
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
        // Names that a store cannot hold, such as `gene/name`, are changed as an import does.
        let names: Vec<&str> = self
            .columns
            .iter()
            .map(|(name, ..)| name.as_str())
            .collect();
        let held = held_names(&names);
        of(name, &|name| held.iter().position(|one| one == name))
    }

    /// Whether the table has an attribute of a store.
    pub(crate) fn has(&self, one: &AttributeSpec) -> bool {
        !self.own_columns(one).is_empty()
    }

    /// The columns of an attribute of a store.
    pub(super) fn own_columns(&self, one: &AttributeSpec) -> Vec<usize> {
        self.channels(&one.name, Some(one.channels))
    }
}

/// The columns `name_0`, `name_1`, … that exist, with the texts before and after the number.
fn numbered(
    name: &str,
    [before, after]: [&str; 2],
    find: impl Fn(&str) -> Option<usize>,
) -> Vec<usize> {
    (0_usize..)
        .map_while(|channel| find(&format!("{name}{before}{channel}{after}")))
        .collect()
}
