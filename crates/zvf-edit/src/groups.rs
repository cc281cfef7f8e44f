//! Groups of objects under an edit: members, names, and the attributes of groups.

use std::collections::{BTreeSet, HashMap, HashSet};

use futures::future::BoxFuture;
use zvf_encode::error::OrBug;
use zvf_encode::tables::TableOf;
use zvf_encode::{Groups, WriteError};
use zvf_format::int::wide;
use zvf_meta::ArrayDoc;

use super::documents::document;
use super::edit::Edit;
use super::group_table::{GroupTable, PATH, check_name, expected_names};
use super::ops;
use super::tables::AttributeTable;

/// The parts of added groups that were not stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AddedGroups {
    /// Attributes that the groups of the store do not have.
    pub unknown: BTreeSet<String>,
    /// Notes about values that were left out because the group exists in the store with another value, or with none.
    pub kept: Vec<String>,
}

impl Edit {
    /// The names and members of all groups after the operations so far, without attributes of groups.
    ///
    /// # Cost
    /// Reads all groups and their attributes, once.
    ///
    /// # Errors
    /// Misuse: a store without objects. I/O.
    pub fn groups(&mut self) -> BoxFuture<'_, Result<Groups, WriteError>> {
        Box::pin(async move {
            let table = self.loaded_groups().await?;
            Ok(Groups::new(table.members.clone()).with_names(table.names.clone()))
        })
    }

    /// Adds objects to a group, after its members; existing members keep their place. A missing group is created, without values of the attributes of
    /// groups.
    ///
    /// `group` is the name of a group, or its number. If it is the name of one group and the number of another, `name:WORD` or `number:N` states
    /// which is meant.
    ///
    /// # Errors
    /// Misuse: a store without objects, an id that does not exist, a number without a group, an empty name, a word that is the name of one group and
    /// the number of another. I/O.
    pub fn add_to_group<'a>(
        &'a mut self,
        group: &'a str,
        ids: &'a [i64],
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            self.usable()?;
            self.rows_of(ids)?;
            let table = self.loaded_groups().await?;
            let at = match table.find(group)? {
                Some(at) => at,
                None => {
                    let name = group.strip_prefix("name:");
                    let number = group.strip_prefix("number:").unwrap_or(group);
                    if name.is_none() && number.parse::<u64>().is_ok() {
                        let expected = format!(
                            "{}; name:{number} creates a group of that name",
                            expected_names(&table.names)
                        );
                        return Err(WriteError::input(
                            format!("group {group}"),
                            "nothing",
                            expected,
                        ));
                    }
                    table.create(name.unwrap_or(group))?
                }
            };
            let done = table.join(at, ids);
            self.note(done)
        })
    }

    /// Removes objects from a group; the group remains, even without members. `group` is as for [`add_to_group`](Self::add_to_group).
    ///
    /// # Errors
    /// Misuse: a store without objects, a group that does not exist, an object that is not a member. I/O.
    pub fn remove_from_group<'a>(
        &'a mut self,
        group: &'a str,
        ids: &'a [i64],
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            self.usable()?;
            let table = self.loaded_groups().await?;
            let at = table.known(group)?;
            let members = table.members.get_mut(at);
            let members = members.or_bug(format_args!("no group {at}"))?;
            let known: HashSet<i64> = members.iter().copied().collect();
            if let Some(other) = ids.iter().find(|id| !known.contains(id)) {
                let what = format!("object {other}");
                let expected = format!("a member of group {group}");
                return Err(WriteError::input(what, "no member", expected));
            }
            let gone: HashSet<i64> = ids.iter().copied().collect();
            if !gone.is_empty() {
                members.retain(|id| !gone.contains(id));
                table.changed.insert(at);
            }
            Ok(())
        })
    }

    /// Renames a group. `group` is as for [`add_to_group`](Self::add_to_group).
    ///
    /// # Errors
    /// Misuse: a store without objects, a group that does not exist, an empty name, a name that another group has. I/O.
    pub fn rename_group<'a>(
        &'a mut self,
        group: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            self.usable()?;
            check_name(name)?;
            let table = self.loaded_groups().await?;
            let at = table.known(group)?;
            if let Some(other) = table.names.iter().position(|one| one == name) {
                if other == at {
                    return Ok(());
                }
                let found = format!("the name of group {other}");
                let expected = "a name that no other group has";
                return Err(WriteError::input(format!("name {name}"), found, expected));
            }
            let old = table.names.get_mut(at);
            name.clone_into(old.or_bug(format_args!("no group {at}"))?);
            table.changed.insert(at);
            Ok(())
        })
    }

    /// Deletes a group; its members stay as objects. The numbers of later groups decrease by one. `group` is as for
    /// [`add_to_group`](Self::add_to_group).
    ///
    /// # Errors
    /// Misuse: a store without objects, a group that does not exist. I/O.
    pub fn delete_group<'a>(&'a mut self, group: &'a str) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            self.usable()?;
            let table = self.loaded_groups().await?;
            let at = table.known(group)?;
            table.delete(&BTreeSet::from([at]));
            Ok(())
        })
    }

    /// Deletes all groups whose names begin with `start`, and returns how many there were; see [`delete_group`](Self::delete_group).
    ///
    /// # Errors
    /// Misuse: a store without objects. I/O.
    pub fn delete_groups_below<'a>(
        &'a mut self,
        start: &'a str,
    ) -> BoxFuture<'a, Result<u64, WriteError>> {
        Box::pin(async move {
            self.usable()?;
            let table = self.loaded_groups().await?;
            let names = table.names.iter().enumerate();
            let gone = names.filter(|(_, name)| name.starts_with(start));
            let gone: BTreeSet<usize> = gone.map(|(at, _)| at).collect();
            table.delete(&gone);
            Ok(wide(gone.len()))
        })
    }

    /// The object with this name: the value of the object attribute `name`.
    ///
    /// # Cost
    /// Reads all object attributes, once.
    ///
    /// # Errors
    /// Misuse: a store whose objects have no names, a name that no object or several objects have. I/O.
    pub fn object_named<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<i64, WriteError>> {
        Box::pin(async move {
            self.load_tables().await?;
            let index = self.index.as_ref().ok_or_else(ops::no_objects)?;
            let rows = match self.tables.get("name") {
                Some(table) => table.rows_of_text(name),
                None => Vec::new(),
            };
            let ids = rows.iter().filter_map(|row| index.ids.get(*row).copied());
            let ids: Vec<i64> = ids.filter(|id| !index.deleted.contains(id)).collect();
            match *ids {
                [id] => Ok(id),
                [] => Err(WriteError::input(
                    format!("object {name}"),
                    "nothing",
                    "an id, or a value of the object attribute name",
                )),
                [first, second, ..] => {
                    let found = format!(
                        "{} objects with this name, such as {first} and {second}",
                        ids.len()
                    );
                    Err(WriteError::input(
                        format!("object {name}"),
                        found,
                        "one object: select it by its id",
                    ))
                }
            }
        })
    }

    /// Adds groups of other files or stores by name: the members of a group with an existing name are added to that group, other groups are created.
    /// Attribute values of created groups are stored if the store has an attribute of that name, or had no groups before. Returns the values that were
    /// left out.
    ///
    /// # Errors
    /// Misuse: a store without objects, a member that is not an object of the store, groups without names, values of another type. I/O.
    pub fn add_groups<'a>(
        &'a mut self,
        groups: &'a Groups,
    ) -> BoxFuture<'a, Result<AddedGroups, WriteError>> {
        Box::pin(async move {
            self.usable()?;
            self.begin_step();
            let done = self.take_groups(groups).await;
            self.note(done)
        })
    }

    async fn take_groups(&mut self, groups: &Groups) -> Result<AddedGroups, WriteError> {
        let count = groups.members().len();
        if groups.names().len() != count {
            let found = format!("{} names", groups.names().len());
            let expected =
                format!("one for each of {count} groups, since groups are matched by name");
            return Err(WriteError::input("group names", found, expected));
        }
        for members in groups.members() {
            self.rows_of(members)?;
        }
        let table = self.loaded_groups().await?;
        let first = table.names.is_empty();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (at, name) in table.names.iter().enumerate() {
            places.entry(name.clone()).or_insert(at);
        }
        if first {
            for spec in groups.attribute_specs() {
                let name = spec.name.clone();
                zvf_encode::spec::check_name(&format!("group attribute {name}"), &name)?;
                let new = || AttributeTable::new(spec, TableOf::Groups, 0);
                table.tables.entry(name).or_insert_with(new);
            }
        }
        // Rows in `groups` and in the store: of new groups, and of existing ones.
        let mut new: Vec<(usize, usize)> = Vec::new();
        let mut old: Vec<(usize, usize)> = Vec::new();
        for (row, (name, members)) in groups.names().iter().zip(groups.members()).enumerate() {
            let at = match places.get(name) {
                Some(at) => {
                    old.push((row, *at));
                    *at
                }
                None => {
                    let at = table.create(name)?;
                    places.insert(name.clone(), at);
                    new.push((row, at));
                    at
                }
            };
            table.join(at, members)?;
        }
        let mut left = AddedGroups::default();
        for (name, values) in groups.attributes() {
            let Some(of_one) = table.tables.get_mut(name) else {
                left.unknown.insert(name.to_owned());
                continue;
            };
            let new = new.iter().filter(|(row, _)| !groups.lacks(name, *row));
            let (rows, places): (Vec<usize>, Vec<usize>) = new.copied().unzip();
            let values = values.fitted(&of_one.spec)?;
            of_one.set(&places, &values.of_rows(&rows, of_one.spec.channels)?)?;
            if old.is_empty() {
                continue;
            }
            let held = of_one.held().values();
            for (row, at) in old.iter().filter(|(row, _)| !groups.lacks(name, *row)) {
                let given = values.of_rows(&[*row], of_one.spec.channels)?;
                if let Some(has) = of_one.other_value(&held, *at, &given)? {
                    let group = groups.names().get(*row).map_or("", String::as_str);
                    left.kept.push(format!(
                        "left out: attribute {name:?} of group {group:?}, which {has} in the store"
                    ));
                }
            }
        }
        Ok(left)
    }

    /// Reads all groups and their attributes, once.
    async fn loaded_groups(&mut self) -> Result<&mut GroupTable, WriteError> {
        self.load_groups().await?;
        self.groups.as_mut().or_bug("groups that were not read")
    }

    /// Reads all groups and their attributes, once. Deleted objects are not members.
    pub(super) async fn load_groups(&mut self) -> Result<(), WriteError> {
        let index = self.index.as_ref().ok_or_else(ops::no_objects)?;
        if self.groups.is_some() {
            return Ok(());
        }
        let mut table = GroupTable::default();
        let level = &self.state.level;
        if let Some(groups) = level.groups() {
            for number in 0..groups.len() {
                table.names.push(groups.name(number));
                let members = groups.members(number).await?.into_iter();
                let (gone, members) = members.partition(|id| index.deleted.contains(id));
                table.hidden.extend::<Vec<i64>>(gone);
                table.members.push(members);
            }
            let Some(bytes) = document(&self.target, format!("{PATH}/zarr.json")).await? else {
                return Err(WriteError::unsupported(PATH, "nothing", "an array"));
            };
            table.doc = Some(ArrayDoc::parse(&bytes)?);
            let count = table.names.len();
            for array in self.state.level.group_attributes() {
                let values = AttributeTable::read(array, TableOf::Groups, count).await?;
                table.tables.insert(array.name().to_owned(), values);
            }
        }
        self.groups = Some(table);
        Ok(())
    }

    /// Removes ids from all groups, because new objects use the ids of deleted ones.
    pub(super) async fn leave_groups(&mut self, ids: &BTreeSet<i64>) -> Result<(), WriteError> {
        if ids.is_empty() || (self.groups.is_none() && self.state.level.groups().is_none()) {
            return Ok(());
        }
        self.loaded_groups().await?.forget(ids);
        Ok(())
    }
}
