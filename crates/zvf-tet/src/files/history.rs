//! The footer's JSON: history and metadata, `spec/tet-v1.md` 8.4 to 8.6. Unknown members are kept.

use std::collections::BTreeMap;
use std::fmt;
use std::string::String;
use std::vec::Vec;

use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// History and metadata of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Footer {
    /// 1 or 2 in files that were read; writers write 1.
    pub version: u32,
    /// The processing steps, oldest first.
    pub history: Vec<HistoryRow>,
    /// Descriptions of the file and its datasets.
    pub metadata: Option<Metadata>,
}

/// One step of the history. `op`, `source` and `at` are always present.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct HistoryRow {
    /// The operation.
    pub op: String,
    /// The object of the operation; this crate never writes a local path.
    pub source: String,
    /// The time: by convention Unix seconds in decimal.
    pub at: String,
    /// The inputs of the step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<String>,
    /// The settings of the operation.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
    /// Other members, such as `agent`, `activity`, `entity`.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl HistoryRow {
    /// A row with the three members that every row has.
    #[must_use]
    pub fn new(op: impl Into<String>, source: impl Into<String>, at: impl Into<String>) -> Self {
        Self {
            op: op.into(),
            source: source.into(),
            at: at.into(),
            ..Self::default()
        }
    }
}

/// The row as an object; the older form is an array of three strings.
#[derive(Deserialize)]
struct RowObject {
    op: String,
    source: String,
    at: String,
    #[serde(default)]
    parents: Vec<String>,
    #[serde(default)]
    params: BTreeMap<String, String>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl<'de> Deserialize<'de> for HistoryRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Row;

        impl<'de> Visitor<'de> for Row {
            type Value = HistoryRow;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a history row: an object, or three strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HistoryRow, A::Error> {
                let row = RowObject::deserialize(de::value::MapAccessDeserializer::new(map))?;
                for key in ["agent", "activity", "entity"] {
                    if row
                        .other
                        .get(key)
                        .is_some_and(|value| !value.is_string() && !value.is_null())
                    {
                        return Err(de::Error::custom(format_args!("{key} is not a string")));
                    }
                }
                Ok(HistoryRow {
                    op: row.op,
                    source: row.source,
                    at: row.at,
                    parents: row.parents,
                    params: row.params,
                    other: row.other,
                })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<HistoryRow, A::Error> {
                let mut next = |number| {
                    seq.next_element::<String>()?
                        .ok_or_else(|| de::Error::invalid_length(number, &Row))
                };
                let row = HistoryRow::new(next(0)?, next(1)?, next(2)?);
                match seq.next_element::<de::IgnoredAny>()? {
                    None => Ok(row),
                    Some(_) => Err(de::Error::invalid_length(4, &Row)),
                }
            }
        }

        deserializer.deserialize_any(Row)
    }
}

/// Descriptions of the file and, by name, of datasets. They are not checked against the datasets.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Metadata {
    /// The file's description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileMetadata>,
    /// The datasets' descriptions, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub datasets: BTreeMap<String, DatasetMetadata>,
    /// Other members.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Who wrote the file, and when.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FileMetadata {
    /// The program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library_version: Option<String>,
    /// The time: by convention Unix seconds in decimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Other members.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Attributes and axes of one dataset.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DatasetMetadata {
    /// Text attributes: units, fill values and the like.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attrs: BTreeMap<String, String>,
    /// Names of the axes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dim_names: Vec<String>,
    /// Labels, by axis.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub coords: BTreeMap<String, Coords>,
    /// Other members.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Labels of one axis.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Coords {
    /// One text for each index.
    pub labels: Vec<String>,
    /// Other members.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

#[derive(Deserialize)]
struct HistoryDocument {
    #[serde(default)]
    history: Vec<HistoryRow>,
    #[serde(default)]
    metadata: Option<Metadata>,
    // With a flattened member, serde refuses an array where this object is expected.
    #[serde(flatten)]
    _rest: BTreeMap<String, de::IgnoredAny>,
}

#[derive(Serialize)]
struct WrittenHistory<'a> {
    history: &'a [HistoryRow],
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Metadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata_ref: Option<Ref>,
}

#[derive(Serialize)]
struct Ref {
    offset: u64,
    len: u64,
}

impl Footer {
    /// Parses the footer's JSON, which was scanned before.
    pub(crate) fn parse(text: &[u8], version: u32) -> Result<Self, serde_json::Error> {
        let document: HistoryDocument = serde_json::from_slice(text)?;
        Ok(Self {
            version,
            history: document.history,
            metadata: document.metadata,
        })
    }

    /// Compact JSON in the member order of the reference. `spilled` is the offset and length of metadata that is
    /// stored beside the footer.
    pub(crate) fn to_json(
        &self,
        spilled: Option<(u64, u64)>,
    ) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&WrittenHistory {
            history: &self.history,
            metadata: self.metadata.as_ref().filter(|_| spilled.is_none()),
            metadata_ref: spilled.map(|(offset, len)| Ref { offset, len }),
        })
    }

    /// The labels of axis `axis` of a dataset, by the rules of `spec/tet-v1.md` 8.6. `extent` is the extent of the
    /// axis.
    #[must_use]
    pub fn labels(&self, dataset: &str, axis: usize, extent: u64) -> Option<&[String]> {
        let entry = self.metadata.as_ref()?.datasets.get(dataset)?;
        let named = entry
            .dim_names
            .get(axis)
            .and_then(|name| entry.coords.get(name));
        let numbered = || entry.coords.get(&std::format!("{axis}"));
        let only = || {
            let mut fitting = entry
                .coords
                .values()
                .filter(|coords| zvf_grid::int::wide(coords.labels.len()) == extent);
            fitting.next().filter(|_| fitting.next().is_none())
        };
        named
            .or_else(numbered)
            .or_else(only)
            .map(|coords| coords.labels.as_slice())
    }
}
