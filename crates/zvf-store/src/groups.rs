//! Groups of objects.
//!
//! A group is a list of object ids. Lists are elements of one variable-length array (0.8.1, 0.9), pieces of one blob
//! with a blob of byte offsets (0.6 to 0.8.0), or rows of a padded table (page "Chunk arrays").
//!
//! Sources: specification 0.9, section 11.5; 0.8, section 10.3; 0.7, section 10.4.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use zvf_meta::ArrayAttributes;

use crate::StoreError;
use crate::blob_array::BlobArray;
use crate::ragged::RaggedArray;
use crate::typed::TypedArray;
use zvf_io::{Cap, Kv};

/// The groups of one level: lists of object ids.
#[derive(Debug)]
pub struct Groups {
    kv: Kv,
    attributes: ArrayAttributes,
    members: MemberLists,
}

/// How the lists of members are stored.
#[derive(Debug)]
pub(crate) enum MemberLists {
    /// An element for each group.
    Ragged(Arc<RaggedArray>),
    /// Ids of all groups, and where each group starts.
    Split {
        data: Arc<BlobArray>,
        offsets: Arc<BlobArray>,
    },
    /// A row for each group, filled up with -1.
    Padded(Box<TypedArray>),
}

impl MemberLists {
    fn path(&self) -> &str {
        match self {
            Self::Ragged(array) => array.path(),
            Self::Split { data, .. } => data.path(),
            Self::Padded(table) => table.path(),
        }
    }
}

impl Groups {
    /// Creates the groups of a level.
    ///
    /// # Errors
    /// Of lists in blobs: offsets that are not 8 bytes for each stated group (and 8 for the end of the last one, if stored), or more groups
    /// than the limit allows.
    pub(crate) fn new(
        kv: &Kv,
        attributes: ArrayAttributes,
        members: MemberLists,
    ) -> Result<Self, StoreError> {
        if let MemberLists::Split { offsets, .. } = &members {
            let found = offsets.length();
            Cap::rows(kv.limits()).check(offsets.path(), found / 8)?;
            let stated = attributes.num_groups.unwrap_or(found / 8);
            // A table may also have the end of the last group.
            let fits = [stated, stated.saturating_add(1)].contains(&(found / 8));
            if !found.is_multiple_of(8) || !fits {
                return Err(StoreError::malformed(
                    offsets.path(),
                    format!("{found} bytes found, expected 8 for each of {stated} groups"),
                ));
            }
        }
        Ok(Self {
            kv: kv.clone(),
            attributes,
            members,
        })
    }

    /// The attributes of the array, or of the group that represents it.
    pub fn attributes(&self) -> &ArrayAttributes {
        &self.attributes
    }

    /// Number of groups.
    pub fn len(&self) -> u64 {
        match &self.members {
            MemberLists::Ragged(array) => array.rows(),
            MemberLists::Split { offsets, .. } => {
                let stated = self.attributes.num_groups;
                stated.unwrap_or_else(|| offsets.length() / 8)
            }
            MemberLists::Padded(table) => table.rows(),
        }
    }

    /// Whether there are no groups.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Name of group `g`: the stored one, else `group_<g>`.
    pub fn name(&self, g: u64) -> String {
        let names = self.attributes.group_names.as_deref().unwrap_or_default();
        match usize::try_from(g).ok().and_then(|i| names.get(i)) {
            Some(name) => name.clone(),
            None => format!("group_{g}"),
        }
    }

    /// The number of the first group with that name.
    pub fn find(&self, name: &str) -> Option<u64> {
        (0..self.len()).find(|g| self.name(*g) == name)
    }

    /// The number of the group that has this name or number; see [`group_of`].
    ///
    /// # Errors
    /// [`Class::Misuse`](crate::Class::Misuse): `word` refers to no group, or to two.
    pub fn number(&self, word: &str) -> Result<u64, StoreError> {
        const MOST: u64 = 20;
        // The least memory of a name.
        let bytes = self.len().saturating_mul(32);
        Cap::cell(self.kv.limits()).check(self.members.path(), bytes)?;
        let names: Vec<String> = (0..self.len()).map(|g| self.name(g)).collect();
        group_of(&names, word)?.ok_or_else(|| {
            let shown = (0..self.len().min(MOST)).map(|g| self.name(g));
            let shown = shown.collect::<Vec<_>>().join(", ");
            let expected = match self.len() {
                0 => "none: the level has no groups".to_owned(),
                count if count > MOST => format!("one of {count} groups: {shown}, .."),
                _ => format!("one of {shown}"),
            };
            StoreError::misuse(format!("groups: found {word:?}, expected {expected}"))
        })
    }

    /// The object ids of group `g`, ranges expanded, in stored order.
    ///
    /// # Cost
    /// At most one request; all members of a chunk of groups are loaded once. Two requests if the lists are stored in blobs.
    ///
    /// # Errors
    /// [`Class::Misuse`](crate::Class::Misuse) for a group that does not exist; I/O; a damaged list; a range beyond
    /// `object_rows`.
    pub async fn members(&self, g: u64) -> Result<Vec<i64>, StoreError> {
        self.members_in(self.kv.round(), g).await
    }

    /// Like [`members`](Self::members), as part of the given round of requests.
    ///
    /// # Errors
    /// As [`members`](Self::members).
    pub fn members_in(&self, round: u32, g: u64) -> BoxFuture<'_, Result<Vec<i64>, StoreError>> {
        Box::pin(async move {
            if g >= self.len() {
                return Err(StoreError::misuse(format!(
                    "no group {g}: the level has {} groups",
                    self.len()
                )));
            }
            // Ranges come first: the element of such a group is empty (0.8, section 10.3).
            if let Some(ids) = self.range_of(g)? {
                return Ok(ids);
            }
            let kv = &self.kv.in_round(round);
            let wrong = |what: String| {
                StoreError::malformed(format!("{} group {g}", self.members.path()), what)
            };
            let blob = match &self.members {
                MemberLists::Ragged(array) => array.element(kv, g).await?,
                MemberLists::Split { data, offsets } => {
                    let (data, offsets) = futures::try_join!(data.load(kv), offsets.load(kv))?;
                    cut(&data, &offsets, g).map_err(wrong)?
                }
                MemberLists::Padded(table) => {
                    let row = table
                        .read_rows_in(round, g..g.saturating_add(1))
                        .await?
                        .to_i64();
                    let ids = row.ok_or_else(|| {
                        wrong(format!(
                            "ids are {}, expected integers within 64 bits",
                            table.dtype()
                        ))
                    })?;
                    // Ids are not below zero; the rest of the row is -1.
                    return Ok(ids.into_iter().take_while(|id| *id >= 0).collect());
                }
            };
            let (ids, rest) = blob.as_chunks::<8>();
            if !rest.is_empty() {
                let found = blob.len();
                return Err(wrong(format!(
                    "{found} bytes found, expected a multiple of 8"
                )));
            }
            Ok(ids.iter().map(|id| i64::from_le_bytes(*id)).collect())
        })
    }

    /// The members of a group that is stored as a range of ids; `None` for other groups.
    fn range_of(&self, g: u64) -> Result<Option<Vec<i64>>, StoreError> {
        let ranges = self.attributes.group_ranges.as_deref().unwrap_or_default();
        let Some(range) = ranges.iter().find(|range| range.group == g) else {
            return Ok(None);
        };
        let count = match range.start < range.stop {
            true => range.start.abs_diff(range.stop),
            false => 0,
        };
        Cap::rows(self.kv.limits()).check(self.members.path(), count)?;
        Cap::cell(self.kv.limits()).check(self.members.path(), count.saturating_mul(8))?;
        Ok(Some((range.start..range.stop).collect()))
    }
}

/// The number of the group that `word` refers to. `word` is the name of a group (if several have this name, the first one), else the number of a group.
/// `name:WORD` and `number:N` state which of the two is meant, unless a group has exactly that text as its name. `None`: no such group.
///
/// ```
/// use zvf_store::group_of;
/// # fn main() -> Result<(), zvf_store::StoreError> {
/// let names = ["AF".to_owned(), "0".to_owned()];
/// assert_eq!(group_of(&names, "AF")?, Some(0));
/// assert_eq!(group_of(&names, "1")?, Some(1));
/// assert_eq!((group_of(&names, "name:0")?, group_of(&names, "number:0")?), (Some(1), Some(0)));
/// assert!(group_of(&names, "0").is_err());
/// assert_eq!(group_of(&names, "2")?, None);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Class::Misuse`](crate::Class::Misuse): `word` is the name of one group and the number of another.
pub fn group_of(names: &[String], word: &str) -> Result<Option<u64>, StoreError> {
    let named = |word: &str| {
        let mut numbered = (0_u64..).zip(names);
        numbered.find(|(_, name)| *name == word).map(|(g, _)| g)
    };
    let numbered = |word: &str| {
        let digits = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let number = word.parse::<u64>().ok().filter(|_| digits);
        number.filter(|g| usize::try_from(*g).is_ok_and(|g| g < names.len()))
    };
    match (named(word), numbered(word)) {
        (Some(own), Some(other)) if own != other => Err(StoreError::misuse(format!(
            "groups: found {word}, which is the name of group {own} and the number of another one, expected name:{word} or number:{word}"
        ))),
        (Some(g), _) | (None, Some(g)) => Ok(Some(g)),
        (None, None) => Ok(
            match (word.strip_prefix("name:"), word.strip_prefix("number:")) {
                (Some(name), _) => named(name),
                (_, Some(number)) => numbered(number),
                _ => None,
            },
        ),
    }
}

/// The ids of group `g`: offsets count bytes, and the last group ends with the data (0.7, section 10.4).
fn cut(data: &Bytes, offsets: &[u8], g: u64) -> Result<Bytes, String> {
    let (offsets, _) = offsets.as_chunks::<8>();
    let at = usize::try_from(g).unwrap_or(usize::MAX);
    let number = |i: usize| offsets.get(i).map(|bytes| i64::from_le_bytes(*bytes));
    let from = number(at).ok_or("no offset is stored")?;
    let to = match at.checked_add(1).and_then(number) {
        Some(to) => usize::try_from(to).ok(),
        None => Some(data.len()),
    };
    usize::try_from(from)
        .ok()
        .zip(to)
        .filter(|(from, to)| from <= to && *to <= data.len())
        .map(|(from, to)| data.slice(from..to))
        .ok_or_else(|| format!("it starts at byte {from} of {}", data.len()))
}
