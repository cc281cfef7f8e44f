//! Findings: the violations that checks report, and their places.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use zvf_meta::rules::Severity;
use zvf_store::ChunkCoord;

use crate::check::Check;

/// The place of a finding. Members that do not apply are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// Path of the array, or key of the document, inside the store; empty for the store itself.
    pub path: String,
    /// The level.
    pub level: Option<u32>,
    /// JSON pointer inside the document.
    pub pointer: Option<String>,
    /// The chunk, or the key of a cell of links.
    pub chunk: Option<ChunkCoord>,
    /// Number of the fragment in its chunk.
    pub fragment: Option<u64>,
    /// Row of vertices, links or a table.
    pub row: Option<u64>,
    /// Id of the object.
    pub object: Option<i64>,
    /// Byte inside the decoded cell.
    pub byte: Option<u64>,
}

impl Place {
    /// A node or document of the store, by its path.
    #[must_use]
    pub fn at(path: impl Into<String>) -> Self {
        let path = path.into();
        let level = path.split('/').next().and_then(|first| first.parse().ok());
        Self {
            path,
            level,
            ..Self::default()
        }
    }

    /// A member of a document.
    #[must_use]
    pub fn pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into()).filter(|one| !one.is_empty());
        self
    }

    /// A cell.
    #[must_use]
    pub fn chunk(mut self, chunk: &[i64]) -> Self {
        self.chunk = Some(ChunkCoord::new(chunk));
        self
    }

    /// A fragment of the cell.
    #[must_use]
    pub fn fragment(mut self, fragment: u64) -> Self {
        self.fragment = Some(fragment);
        self
    }

    /// A row of the cell or table.
    #[must_use]
    pub fn row(mut self, row: u64) -> Self {
        self.row = Some(row);
        self
    }

    /// An object.
    #[must_use]
    pub fn object(mut self, id: i64) -> Self {
        self.object = Some(id);
        self
    }

    /// A byte of the cell.
    #[must_use]
    pub fn byte(mut self, byte: u64) -> Self {
        self.byte = Some(byte);
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.path.is_empty() {
            "store"
        } else {
            &self.path
        })?;
        if let Some(pointer) = &self.pointer {
            write!(f, "#{pointer}")?;
        }
        if let Some(chunk) = &self.chunk {
            write!(f, " at {chunk}")?;
        }
        if let Some(object) = self.object {
            write!(f, ", object {object}")?;
        }
        if let Some(fragment) = self.fragment {
            write!(f, ", fragment {fragment}")?;
        }
        if let Some(row) = self.row {
            write!(f, ", row {row}")?;
        }
        if let Some(byte) = self.byte {
            write!(f, ", byte {byte}")?;
        }
        Ok(())
    }
}

/// One violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The check.
    pub check: Check,
    /// The place.
    pub place: Place,
    /// What was found.
    pub found: String,
    /// The expected value.
    pub expected: String,
}

impl Finding {
    /// The severity of the check.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.check.severity()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            check,
            place,
            found,
            expected,
        } = self;
        write!(
            f,
            "{} {}: {place}: found {found}, expected {expected}",
            check.severity(),
            check.code()
        )
    }
}

/// Maximum length of the found and the expected value in a finding, in bytes. Longer ones are cut: documents may contain texts of any length.
const LONGEST: usize = 400;

fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    text
}

/// Findings in the order of reporting, at most `most` per check, and the number of findings of each check.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(into = "KeptFindings", try_from = "KeptFindings")]
pub(crate) struct Findings {
    most: usize,
    list: Vec<Finding>,
    counts: BTreeMap<Check, u64>,
}

impl Findings {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    /// An empty list with the same limit.
    pub(crate) fn like(&self) -> Self {
        Self::new(self.most)
    }

    #[cold]
    pub(crate) fn add(
        &mut self,
        check: Check,
        place: Place,
        found: impl fmt::Display,
        expected: impl fmt::Display,
    ) {
        let count = self.counts.entry(check).or_default();
        *count = count.saturating_add(1);
        if usize::try_from(*count).is_ok_and(|count| count <= self.most) {
            self.list.push(Finding {
                check,
                place,
                found: cut(found.to_string()),
                expected: cut(expected.to_string()),
            });
        }
    }

    /// Appends other findings, up to the limit for each check, and adds their counts.
    pub(crate) fn merge(&mut self, other: Self) {
        let mut room: BTreeMap<Check, usize> = BTreeMap::new();
        for (check, count) in other.counts {
            let mine = self.counts.entry(check).or_default();
            let used = usize::try_from(*mine).unwrap_or(usize::MAX);
            room.insert(check, self.most.saturating_sub(used));
            *mine = mine.saturating_add(count);
        }
        for finding in other.list {
            if let Some(left) = room.get_mut(&finding.check).filter(|left| **left > 0) {
                *left -= 1;
                self.list.push(finding);
            }
        }
    }

    /// The findings, sorted by code and then in the order of reporting, and the counts of all checks.
    pub(crate) fn finish(self) -> (Vec<Finding>, BTreeMap<Check, u64>) {
        let mut list = self.list;
        list.sort_by_key(|finding| finding.check.code());
        (list, self.counts)
    }
}

/// [`Findings`] in a journal.
#[derive(Serialize, Deserialize)]
struct KeptFindings {
    most: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    list: Vec<KeptFinding>,
    /// By code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    counts: BTreeMap<String, u64>,
}

#[derive(Serialize, Deserialize)]
struct KeptFinding {
    code: String,
    path: String,
    pointer: Option<String>,
    chunk: Option<Vec<i64>>,
    fragment: Option<u64>,
    row: Option<u64>,
    object: Option<i64>,
    byte: Option<u64>,
    found: String,
    expected: String,
}

impl From<Findings> for KeptFindings {
    fn from(findings: Findings) -> Self {
        let list = findings.list.into_iter().map(|one| KeptFinding {
            code: one.check.code().to_string(),
            path: one.place.path,
            pointer: one.place.pointer,
            chunk: one.place.chunk.map(|chunk| chunk.as_slice().to_vec()),
            fragment: one.place.fragment,
            row: one.place.row,
            object: one.place.object,
            byte: one.place.byte,
            found: one.found,
            expected: one.expected,
        });
        let counts = findings.counts.into_iter();
        Self {
            most: findings.most,
            list: list.collect(),
            counts: counts
                .map(|(check, count)| (check.code().to_string(), count))
                .collect(),
        }
    }
}

/// The check with this code; an error if there is none.
fn check_of(code: &str) -> Result<Check, String> {
    Check::from_code(code).ok_or_else(|| format!("no check {code}"))
}

impl TryFrom<KeptFindings> for Findings {
    type Error = String;

    fn try_from(kept: KeptFindings) -> Result<Self, String> {
        let list = kept.list.into_iter().map(|one| {
            Ok(Finding {
                check: check_of(&one.code)?,
                place: Place {
                    pointer: one.pointer,
                    chunk: one.chunk.map(|chunk| ChunkCoord::new(&chunk)),
                    fragment: one.fragment,
                    row: one.row,
                    object: one.object,
                    byte: one.byte,
                    ..Place::at(one.path)
                },
                found: one.found,
                expected: one.expected,
            })
        });
        let counts = kept.counts.into_iter();
        Ok(Self {
            most: kept.most,
            list: list.collect::<Result<_, String>>()?,
            counts: counts
                .map(|(code, count)| Ok((check_of(&code)?, count)))
                .collect::<Result<_, String>>()?,
        })
    }
}
