//! Compares groups of objects.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::ArrayRef;
use arrow_schema::{Field, Schema};
use zvf_store::{Level, Names, Need};

use super::hashes::{self, hash};
use super::{Comparison, Pair};
use crate::QueryError;
use crate::error::OrBug;
use crate::group_terms::attribute_rows;
use crate::groups::level_with_groups;

/// A group without its name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    members: Vec<i64>,
    /// The hash of the values of its attributes, and these as a text.
    hash: u64,
    text: String,
}

/// Attributes of all groups of a store. An array may have fewer rows than there are groups.
type Attributes = BTreeMap<String, (Field, ArrayRef)>;

impl Pair<'_> {
    /// Compares names, members and attributes of groups, in any order.
    pub(super) async fn groups(&mut self, found: &mut Comparison) -> Result<(), QueryError> {
        let need = Need {
            groups: true,
            objects: true,
            group_attributes: Names::All,
            ..Need::nothing()
        };
        let (mut levels, mut schemas) = (Vec::new(), Vec::new());
        for (_, store) in self.stores {
            let level = level_with_groups(store, self.level, &need).await?;
            let attributes = attributes(&level).await?;
            let fields = attributes.values().map(|(field, _)| field.clone());
            schemas.push(Some(Schema::new(fields.collect::<Vec<_>>())));
            levels.push((level, attributes));
        }
        if levels.iter().all(|(level, _)| level.number() != self.level) {
            // Both levels use the groups of level 0, which were compared with that level.
            return Ok(());
        }
        let schemas: [Option<Schema>; 2] =
            schemas.try_into().ok().or_bug("other than two stores")?;
        let columns = self.columns(found, "groups", &schemas);
        let mut both = Vec::new();
        for (level, attributes) in &levels {
            both.push(by_name(level, attributes, &columns).await?);
        }
        let (Some(mut new), Some(old)) = (both.pop(), both.pop()) else {
            return Ok(());
        };
        for (name, groups) in old {
            let place = format!("level {}, group {name:?}", self.level);
            let Some(others) = new.remove(&name) else {
                found.add(place, "in the first store only");
                continue;
            };
            let members = [&groups, &others].map(|all| {
                let members = all.iter().map(|group| group.members.as_slice());
                members.collect::<Vec<_>>()
            });
            let [these, those] = &members;
            if these != those {
                let [these, those] = members.map(|all| all.concat().len());
                found.add(place, format!("{these} and {those} members"));
            } else if groups != others {
                let [these, those] = [&groups, &others].map(|all| {
                    let texts = all.iter().map(|group| group.text.as_str());
                    texts.collect::<Vec<_>>().join("; ")
                });
                found.add(place, format!("{these} and {those}"));
            }
        }
        for name in new.into_keys() {
            found.add(
                format!("level {}, group {name:?}", self.level),
                "in the second store only",
            );
        }
        Ok(())
    }
}

async fn attributes(level: &Level) -> Result<Attributes, QueryError> {
    let mut all = Attributes::new();
    let count = level.groups().map_or(0, |groups| groups.len());
    for attribute in level.group_attributes() {
        let name = attribute.name();
        let column = attribute_rows(level, attribute, count).await?;
        let mut field = Field::new(name, column.data_type().clone(), true);
        if let Some(unit) = &attribute.attributes().unit {
            field = field.with_metadata([("zvf.unit".to_owned(), unit.clone())].into());
        }
        all.insert(name.to_owned(), (field, column));
    }
    Ok(all)
}

/// The groups of a level by name, with some attributes. Deleted objects are members of none.
async fn by_name(
    level: &Level,
    attributes: &Attributes,
    columns: &[String],
) -> Result<BTreeMap<String, Vec<Group>>, QueryError> {
    let mut all: BTreeMap<String, Vec<Group>> = BTreeMap::new();
    let Some(groups) = level.groups() else {
        return Ok(all);
    };
    let deleted: BTreeSet<i64> = match level.object_index() {
        Some(index) => index.deleted().iter().copied().collect(),
        None => BTreeSet::new(),
    };
    let mut values = Vec::new();
    for name in columns {
        let (_, column) = attributes.get(name).or_bug("a column of no attribute")?;
        values.push((name, column, hashes::values(column)?));
    }
    for (row, number) in (0..groups.len()).enumerate() {
        let mut members = groups.members(number).await?;
        members.retain(|id| !deleted.contains(id));
        members.sort_unstable();
        members.dedup();
        let (mut rows, mut texts) = (Vec::new(), Vec::new());
        for (name, column, of_rows) in &values {
            let value = of_rows.get(row).copied();
            rows.push(value.unwrap_or(hashes::MISSING));
            let text = value.map(|_| hashes::value_text(column, row));
            texts.push(format!("{name} {}", text.as_deref().unwrap_or("null")));
        }
        all.entry(groups.name(number)).or_default().push(Group {
            members,
            hash: hash(&rows),
            text: texts.join(", "),
        });
    }
    for groups in all.values_mut() {
        groups.sort_unstable();
    }
    Ok(all)
}
