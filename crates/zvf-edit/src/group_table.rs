//! The groups of a level under an edit.

use std::collections::{BTreeSet, HashSet};

use zvf_codec::Compression;
use zvf_encode::WriteError;
use zvf_encode::error::{OrBug, to_index};
use zvf_encode::target::{ObjectPut, node};
use zvf_format::int::wide;
use zvf_meta::{ArrayAttributes, ArrayDoc, KeyEncoding};
use zvf_store::group_of;

use super::tables::AttributeTables;

/// The array of the members, below the level.
pub(crate) const PATH: &str = "0/groups";

/// All groups of the level, in memory.
#[derive(Debug, Default)]
pub(crate) struct GroupTable {
    /// The stored document; `None` if there are no groups yet.
    pub(crate) doc: Option<ArrayDoc>,
    pub(crate) names: Vec<String>,
    pub(crate) members: Vec<Vec<i64>>,
    pub(crate) tables: AttributeTables,
    /// New groups and groups with changed members or names; after a deletion also every later group.
    pub(crate) changed: BTreeSet<usize>,
    pub(crate) deleted: u64,
    /// Deleted objects that are still in the stored lists.
    pub(crate) hidden: BTreeSet<i64>,
    /// Whether the stored lists name a deleted id that a new object now uses: they must be written without it.
    pub(crate) outdated: bool,
}

impl GroupTable {
    /// The group with this name or number.
    pub(crate) fn find(&self, word: &str) -> Result<Option<usize>, WriteError> {
        let number = group_of(&self.names, word)?;
        number.map(|number| to_index("groups", number)).transpose()
    }

    /// The group with this name or number; it must exist.
    pub(crate) fn known(&self, word: &str) -> Result<usize, WriteError> {
        self.find(word)?.ok_or_else(|| {
            let what = format!("group {word}");
            WriteError::input(what, "nothing", expected_names(&self.names))
        })
    }

    /// Adds a group without members and attribute values; returns its number.
    pub(crate) fn create(&mut self, name: &str) -> Result<usize, WriteError> {
        check_name(name)?;
        let at = self.names.len();
        self.names.push(name.to_owned());
        self.members.push(Vec::new());
        self.changed.insert(at);
        for table in self.tables.values_mut() {
            table.grow(self.names.len());
        }
        Ok(at)
    }

    /// Adds members that the group does not have yet, in the order of `ids`.
    pub(crate) fn join(&mut self, group: usize, ids: &[i64]) -> Result<(), WriteError> {
        let members = self.members.get_mut(group);
        let members = members.or_bug(format_args!("no group {group}"))?;
        let mut known: HashSet<i64> = members.iter().copied().collect();
        let before = members.len();
        members.extend(ids.iter().filter(|id| known.insert(**id)));
        if members.len() != before {
            self.changed.insert(group);
        }
        Ok(())
    }

    /// Deletes groups by their numbers.
    pub(crate) fn delete(&mut self, gone: &BTreeSet<usize>) {
        let Some(first) = gone.first().copied() else {
            return;
        };
        let mut at = 0..;
        self.names
            .retain(|_| at.next().is_none_or(|at| !gone.contains(&at)));
        let mut at = 0..;
        self.members
            .retain(|_| at.next().is_none_or(|at| !gone.contains(&at)));
        for values in self.tables.values_mut() {
            values.retain(|row| !gone.contains(&row));
        }
        let before = self.changed.range(..first).copied();
        self.changed = (first..self.names.len()).chain(before).collect();
        self.deleted += wide(gone.len());
    }

    /// Removes objects from all groups.
    pub(crate) fn forget(&mut self, gone: &BTreeSet<i64>) {
        for (at, members) in self.members.iter_mut().enumerate() {
            let before = members.len();
            members.retain(|id| !gone.contains(id));
            if members.len() != before {
                self.changed.insert(at);
            }
        }
        self.outdated |= !self.hidden.is_disjoint(gone);
    }

    /// Number of groups that changed, are new or were deleted.
    pub(crate) fn touched(&self) -> u64 {
        wide(self.changed.len()) + self.deleted
    }

    /// Whether anything has to be written.
    pub(crate) fn is_changed(&self) -> bool {
        self.outdated || self.touched() > 0
    }

    /// Whether the level already had attributes of groups.
    pub(crate) fn has_attributes(&self) -> bool {
        !self.tables.is_empty()
    }

    /// Returns the objects to write, and the keys that may be removed. Members are stored as lists of ids, even if they were stored as a range.
    pub(crate) fn finish(
        self,
        compression: &Compression,
    ) -> Result<(Vec<ObjectPut>, BTreeSet<String>), WriteError> {
        let mut old = BTreeSet::new();
        let named = |names: Vec<String>| {
            let usual = names.iter().zip(0_u64..);
            let mut usual = usual.map(|(name, number)| *name == format!("group_{number}"));
            (!usual.all(|usual| usual)).then_some(names)
        };
        let count = self.names.len();
        let members = self.members.iter().map(Ok);
        let mut objects = Vec::new();
        match self.doc {
            None => {
                let attributes = ArrayAttributes {
                    group_names: named(self.names),
                    ..ArrayAttributes::default()
                };
                let (doc, chunks) =
                    zvf_encode::documents::groups(members, compression, attributes)?;
                objects.extend(
                    chunks
                        .into_iter()
                        .map(|(key, bytes)| (format!("0/{key}"), bytes)),
                );
                objects.push(node(PATH, doc.to_json()));
            }
            Some(mut doc) => {
                let own = Compression::behind("vlen-bytes", &doc.codecs);
                let plain = doc.key_encoding == KeyEncoding::default();
                let (&[rows], &[chunk]) = (&*doc.shape, &*doc.chunk_shape) else {
                    return Err(unwritten());
                };
                let own = own.filter(|_| plain && chunk > 0).ok_or_else(unwritten)?;
                old.extend((0..rows.div_ceil(chunk)).map(|at| format!("{PATH}/c/{at}")));
                let keep = doc.attributes.group_names.is_some();
                let attributes = ArrayAttributes {
                    group_names: match keep {
                        true => Some(self.names),
                        false => named(self.names),
                    },
                    // Ranges become lists, because the remaining ids may have gaps.
                    group_ranges: None,
                    ..doc.attributes.clone()
                };
                let (new, chunks) = zvf_encode::documents::groups(members, &own, attributes)?;
                objects.extend(
                    chunks
                        .into_iter()
                        .map(|(key, bytes)| (format!("0/{key}"), bytes)),
                );
                doc.shape = new.shape;
                doc.chunk_shape = new.chunk_shape;
                doc.attributes = new.attributes;
                objects.push(node(PATH, doc.to_json()));
            }
        }
        let numbers: Vec<i64> = (0..).take(count).collect();
        for (_, table) in self.tables {
            if table.is_changed() {
                let (new, keys) = table.finish(&numbers, compression)?;
                objects.extend(new);
                old.extend(keys);
            }
        }
        Ok((objects, old))
    }
}

#[cold]
pub(crate) fn unwritten() -> WriteError {
    let expected = "lists of ids in a layout and with codecs that this build writes";
    WriteError::unsupported(PATH, "groups in another layout", expected)
}

/// Possible names, shortened if there are many.
pub(crate) fn expected_names(names: &[String]) -> String {
    const MOST: usize = 20;
    match names.len() {
        0 => "a group: the store has none (adding objects to a group creates it)".to_owned(),
        more => {
            let shown = names
                .iter()
                .take(MOST)
                .cloned()
                .collect::<Vec<_>>()
                .join(", ");
            let dots = if more > MOST { ", .." } else { "" };
            format!("one of the groups {shown}{dots}")
        }
    }
}

pub(crate) fn check_name(name: &str) -> Result<(), WriteError> {
    match name.is_empty() {
        true => Err(WriteError::input(
            "name of a group",
            "an empty text",
            "a name",
        )),
        false => Ok(()),
    }
}
