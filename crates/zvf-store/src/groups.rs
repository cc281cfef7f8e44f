//! Groups of objects.
//!
//! Source: specification 0.9, section 11.5.

use std::sync::Arc;

use crate::StoreError;
use crate::kv::Kv;
use crate::ragged::RaggedArray;

/// The groups of one level: lists of object ids.
#[derive(Debug)]
pub struct Groups {
    kv: Kv,
    round: u32,
    members: Arc<RaggedArray>,
    names: Vec<String>,
}

impl Groups {
    pub(crate) fn new(kv: &Kv, round: u32, members: RaggedArray) -> Self {
        let names = members
            .doc()
            .attributes
            .group_names
            .clone()
            .unwrap_or_default();
        Self {
            kv: kv.clone(),
            round,
            members: Arc::new(members),
            names,
        }
    }

    /// Number of groups.
    pub fn len(&self) -> u64 {
        self.members.rows()
    }

    /// Whether there are no groups.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Name of group `g`: the stored one, else `group_<g>`.
    pub fn name(&self, g: u64) -> String {
        match usize::try_from(g).ok().and_then(|i| self.names.get(i)) {
            Some(name) => name.clone(),
            None => format!("group_{g}"),
        }
    }

    /// The number of the group with that name, the first one.
    pub fn find(&self, name: &str) -> Option<u64> {
        (0..self.len()).find(|g| self.name(*g) == name)
    }

    /// The object ids of group `g`, ranges expanded, in stored order.
    ///
    /// # Cost
    /// At most one request; all members of a chunk of groups are loaded once.
    ///
    /// # Errors
    /// [`Class::Misuse`](crate::Class::Misuse) for a group that does not exist; I/O; a damaged list; a range beyond
    /// `object_rows`.
    pub async fn members(&self, g: u64) -> Result<Vec<i64>, StoreError> {
        self.members_in(self.round, g).await
    }

    /// As [`members`](Self::members), as part of the given round of requests.
    ///
    /// # Errors
    /// As [`members`](Self::members).
    pub async fn members_in(&self, round: u32, g: u64) -> Result<Vec<i64>, StoreError> {
        if g >= self.len() {
            return Err(StoreError::misuse(format!(
                "no group {g}: the level has {} groups",
                self.len()
            )));
        }
        let ranges = self
            .members
            .doc()
            .attributes
            .group_ranges
            .as_deref()
            .unwrap_or_default();
        if let Some(range) = ranges.iter().find(|range| range.group == g) {
            let count = range
                .stop
                .checked_sub(range.start)
                .and_then(|n| u64::try_from(n).ok())
                .unwrap_or(0);
            let limit = self.kv.limits.object_rows;
            if count > limit {
                return Err(StoreError::limit(
                    self.members.path(),
                    "object_rows",
                    count,
                    limit,
                ));
            }
            return Ok((range.start..range.stop).collect());
        }
        let chunk = self
            .members
            .chunk(&self.kv, round, self.members.chunk_of(g))
            .await?;
        let inside = usize::try_from(g.saturating_sub(chunk.first)).unwrap_or(usize::MAX);
        let blob = chunk.get(inside).unwrap_or_default();
        let (ids, rest) = blob.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(StoreError::malformed(
                format!("{} group {g}", self.members.path()),
                format!("{} bytes found, expected a multiple of 8", blob.len()),
            ));
        }
        Ok(ids.iter().map(|id| i64::from_le_bytes(*id)).collect())
    }
}
