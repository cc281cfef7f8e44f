//! Finds the columns of attributes by their names.

use zvf_convert::held_names;
use zvf_write::AttributeSpec;

use super::EditTable;

impl EditTable {
    /// The columns `name_0`, `name_1`, …
    pub(super) fn numbered(&self, name: &str) -> Vec<usize> {
        (0..)
            .map_while(|channel: usize| self.column(&format!("{name}_{channel}")))
            .collect()
    }

    /// The columns of an attribute: one, or `name_0`, `name_1`, … for its channels. Without a number of channels these are at least two: a
    /// column `name_0` alone is not `name`. Names with another meaning in tables have the prefix `attribute:`.
    pub(crate) fn channels(&self, name: &str, count: Option<usize>) -> Vec<usize> {
        let numbered = |columns: Vec<usize>| match count.unwrap_or(columns.len()) {
            0 | 1 => Vec::new(),
            _ => columns,
        };
        let of = |name: &str| match self.column(name) {
            Some(at) => vec![at],
            None => numbered(self.numbered(name)),
        };
        let renamed = of(&format!("attribute:{name}"));
        if !renamed.is_empty() {
            return renamed;
        }
        let own = of(name);
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
        let find = |name: &str| held.iter().position(|one| one == name);
        match find(name) {
            Some(at) => vec![at],
            None => numbered(
                (0..)
                    .map_while(|channel: usize| find(&format!("{name}_{channel}")))
                    .collect(),
            ),
        }
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
