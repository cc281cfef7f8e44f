//! Chunks that are also split by the value of an attribute: the rank of the value is the first component of keys (0.9 §10.3).

mod listed;

use std::collections::{BTreeSet, HashMap};

use arrow_array::{Array, LargeStringArray};
use serde_json::Value;
use zvf_meta::moments::MISSING;
use zvf_meta::space::Grid;
use zvf_meta::{Kind, LevelDoc};
use zvf_store::ChunkCoord;

use crate::WriteError;
use crate::error::OrBug;
use crate::records::bucket::Bucket;
use crate::spec::store::{AttributeSpec, AttributeType, ChunkBy, StoreSpec};
use crate::values::column::Values;
use crate::values::number::NumberType;
use zvf_format::int::{signed, wide};

/// The largest number of values that may split chunks: the document of the level lists all of them.
const MOST_VALUES: usize = 1 << 20;

impl StoreSpec {
    /// Also splits chunks by the value of a vertex attribute: vertices at one position with different values are stored in different
    /// chunks. Every batch has the attribute, like the vertex attributes; no value may be missing.
    ///
    /// Useful if there are few values and most queries select one of them, such as a gene: each box of the grid has a chunk, with its own cells, for each
    /// value of its vertices.
    ///
    /// Source: 0.9 §10.3.
    #[must_use]
    pub fn with_attribute_chunks(mut self, attribute: AttributeSpec) -> Self {
        let values = self.chunk_by.and_then(|one| one.values);
        self.chunk_by = Some(ChunkBy {
            attribute,
            values,
            stored: false,
        });
        self
    }

    /// Declares the values of the attribute of [`with_attribute_chunks`](Self::with_attribute_chunks), in any order, including values that no vertex
    /// will have; other values are refused. Distributed writes need this.
    #[must_use]
    pub fn with_attribute_chunk_values(mut self, values: impl Into<Values>) -> Self {
        if let Some(one) = &mut self.chunk_by {
            one.values = Some(values.into());
        }
        self
    }

    /// Components of a chunk's key: the axes, and one more before them if an attribute splits chunks.
    #[must_use]
    pub fn key_rank(&self) -> usize {
        self.dims() + usize::from(self.chunk_by.is_some())
    }

    /// The attributes with a value per vertex in each batch: the vertex attributes, and the one that splits chunks.
    pub fn batch_attributes(&self) -> impl Iterator<Item = &AttributeSpec> + Clone {
        let key = self.chunk_by.iter().filter(|one| !one.stored);
        let key = key.map(|one| &one.attribute);
        self.vertex_attributes.iter().chain(key)
    }

    pub(crate) fn check_chunk_by(&self) -> Result<(), WriteError> {
        let Some(ChunkBy {
            attribute,
            values,
            stored,
        }) = &self.chunk_by
        else {
            return Ok(());
        };
        let here = |part: &str| format!("chunk_by/{}/{part}", attribute.name);
        let mut others = self.vertex_attributes.iter();
        if !stored && others.any(|one| one.name == attribute.name) {
            let expected = "a name that no vertex attribute has: its values are stored in chunk keys, not in an array";
            return Err(WriteError::spec(
                here("name"),
                "a vertex attribute",
                expected,
            ));
        }
        if self.axes.iter().any(|axis| axis.name == attribute.name) {
            let expected = "a name that no axis has, since both name components of chunk keys";
            return Err(WriteError::spec(here("name"), "an axis", expected));
        }
        if attribute.channels != 1 {
            let found = attribute.channels.to_string();
            return Err(WriteError::spec(here("channels"), found, "1"));
        }
        if self.kind == Kind::PointCloud && self.bin_shape.is_some() {
            // The released readers look up bins by keys that have only one component per axis.
            let expected = "none in a store whose chunks are divided by an attribute";
            return Err(WriteError::spec("bin_shape", "bins", expected));
        }
        let Some(values) = values else {
            return Ok(());
        };
        SplitKeys::new(attribute, None)
            .codes(values)
            .map_err(|wrong| WriteError::spec(here("values"), wrong.found, wrong.expected))
            .and_then(|codes| {
                let distinct: BTreeSet<i64> = codes.iter().copied().collect();
                if codes.is_empty() || distinct.len() != codes.len() {
                    let found = format!("{} values, {} different", codes.len(), distinct.len());
                    return Err(WriteError::spec(
                        here("values"),
                        found,
                        "at least one, each once",
                    ));
                }
                check_count(codes.len())
            })
    }

    /// Checks the type of the attribute, like the types of the others.
    pub(crate) fn chunk_by_type(values: AttributeType) -> Result<(), &'static str> {
        match values {
            AttributeType::Number(number) if number.is_float() => {
                Err("booleans, whole numbers or `Category`")
            }
            AttributeType::Number(_) | AttributeType::Category => Ok(()),
            AttributeType::Text => Err("booleans, whole numbers or `Category`"),
        }
    }
}

fn check_count(count: usize) -> Result<(), WriteError> {
    if count > MOST_VALUES {
        let what = "values by which chunks are divided";
        return Err(WriteError::limit(what, wide(count), wide(MOST_VALUES)));
    }
    Ok(())
}

/// A value that has no key.
#[derive(Debug)]
pub struct Unkeyed {
    /// The row, if one row is the cause.
    pub row: Option<usize>,
    /// What was given.
    pub found: String,
    /// The valid values.
    pub expected: String,
}

/// Numbers the values that split chunks while batches arrive. If all values were declared in advance, the number of a value is its rank. Otherwise
/// an integer is its own number, and texts are numbered in the order of their first occurrence.
#[derive(Debug, Clone)]
pub struct SplitKeys {
    /// `None`: texts.
    number: Option<NumberType>,
    /// Whether the numbers are dates, moments or durations.
    moments: bool,
    texts: HashMap<String, i64>,
    /// Ranks by number, and all values, if they were known in advance.
    known: Option<ChunkSplit>,
}

impl SplitKeys {
    /// The keys of a store; `None` if chunks are split only by position.
    pub(crate) fn of(spec: &StoreSpec) -> Option<Self> {
        let one = spec.chunk_by.as_ref()?;
        Some(Self::new(&one.attribute, one.values.as_ref()))
    }

    fn new(attribute: &AttributeSpec, values: Option<&Values>) -> Self {
        let mut keys = Self {
            number: attribute.values.number(),
            moments: attribute.has_moments(),
            texts: HashMap::new(),
            known: None,
        };
        if let Some(values) = values {
            // The codes exist, because the values were checked with the specification. Without codes, every value would be refused.
            let codes = keys.codes(values).unwrap_or_default();
            keys.known = Some(keys.ranked(codes.into_iter().collect()));
        }
        keys
    }

    /// The number of each value of a column.
    ///
    /// # Errors
    /// The first value without a number, because it is missing or was not declared; a column of another type.
    pub fn codes(&mut self, values: &Values) -> Result<Vec<i64>, Unkeyed> {
        let wrong_type = |expected: String| Unkeyed {
            row: None,
            found: values.type_name(),
            expected,
        };
        let mut codes = match (self.number, values) {
            (None, Values::Text(texts)) => self.text_codes(texts)?,
            (None, _) => return Err(wrong_type("text".to_owned())),
            (Some(number), values) => {
                whole(values, number).ok_or_else(|| wrong_type(number.to_string()))?
            }
        };
        let missing = codes
            .iter()
            .position(|code| self.moments && *code == MISSING);
        if let Some(row) = missing {
            return Err(Unkeyed {
                row: Some(row),
                found: "a missing value".to_owned(),
                expected: "a value, since it is part of the chunk's key".to_owned(),
            });
        }
        if let Some(known) = &self.known {
            for (row, code) in codes.iter_mut().enumerate() {
                *code = *known.ranks.get(code).ok_or_else(|| Unkeyed {
                    row: Some(row),
                    found: self.value(*code).to_string(),
                    expected: "one of the values of the specification".to_owned(),
                })?;
            }
        }
        Ok(codes)
    }

    fn text_codes(&mut self, texts: &LargeStringArray) -> Result<Vec<i64>, Unkeyed> {
        let mut codes = Vec::with_capacity(texts.len());
        for (row, text) in texts.iter().enumerate() {
            let lacking = |found: String, expected: &str| Unkeyed {
                row: Some(row),
                found,
                expected: expected.to_owned(),
            };
            let text =
                text.ok_or_else(|| lacking("no value".to_owned(), "a text for every vertex"))?;
            codes.push(match self.texts.get(text) {
                Some(&code) => code,
                None if self.known.is_some() => {
                    let expected = "one of the values of the specification";
                    return Err(lacking(format!("{text:?}"), expected));
                }
                None => {
                    let code = signed(self.texts.len());
                    self.texts.insert(text.to_owned(), code);
                    code
                }
            });
        }
        Ok(codes)
    }

    /// The value of a number, for messages and documents.
    fn value(&self, code: i64) -> Value {
        match self.number {
            Some(NumberType::Bool) => Value::from(code != 0),
            Some(NumberType::U64) => Value::from(code.cast_unsigned()),
            Some(_) => Value::from(code),
            None => self
                .texts
                .iter()
                .find(|(_, known)| **known == code)
                .map_or(Value::Null, |(text, _)| Value::from(text.as_str())),
        }
    }

    /// The ranks of some values: whole numbers by size, texts by code point.
    fn ranked(&self, codes: BTreeSet<i64>) -> ChunkSplit {
        let (sorted, values): (Vec<i64>, Vec<Value>) = if self.number.is_some() {
            let mut codes: Vec<i64> = codes.into_iter().collect();
            if self.number == Some(NumberType::U64) {
                codes.sort_unstable_by_key(|code| code.cast_unsigned());
            }
            let values = codes.iter().map(|&code| self.value(code)).collect();
            (codes, values)
        } else {
            let texts = self.texts.iter().filter(|(_, code)| codes.contains(code));
            let mut texts: Vec<(&String, i64)> = texts.map(|(text, code)| (text, *code)).collect();
            texts.sort_unstable();
            let values = texts.iter().map(|(text, _)| Value::from(text.as_str()));
            let values = values.collect();
            (texts.into_iter().map(|(_, code)| code).collect(), values)
        };
        ChunkSplit {
            ranks: sorted.into_iter().zip(0..).collect(),
            values,
        }
    }

    /// Replaces the first component of each chunk's key, the number of a value, by the rank of that value; returns the values.
    ///
    /// # Errors
    /// Misuse: no value at all. Limit: too many.
    pub(crate) fn finish(
        self,
        spec: &StoreSpec,
        chunks: &mut [(ChunkCoord, Bucket)],
    ) -> Result<ChunkSplit, WriteError> {
        if let Some(known) = self.known {
            return Ok(known);
        }
        let codes = chunks
            .iter()
            .map(|(chunk, _)| chunk.as_slice().first().copied());
        let codes = codes
            .collect::<Option<BTreeSet<i64>>>()
            .or_bug("a chunk without a key")?;
        check_count(codes.len())?;
        if codes.is_empty() {
            let key = spec.chunk_by.as_ref().or_bug("keys of no attribute")?;
            let what = format!("attribute {}", key.attribute.name);
            let expected = "vertices, or values in the specification";
            return Err(WriteError::input(what, "no value", expected));
        }
        let split = self.ranked(codes);
        for (chunk, _) in chunks {
            let mut components = chunk.as_slice().to_vec();
            if let Some(code) = components.first_mut() {
                let rank = split.ranks.get(code).copied();
                *code = rank.or_bug(format_args!("key {code} has no rank"))?;
            }
            *chunk = ChunkCoord::new(&components);
        }
        Ok(split)
    }
}

/// The whole numbers of a column, if it has the type `wanted`.
fn whole(values: &Values, wanted: NumberType) -> Option<Vec<i64>> {
    if values.number_type() != Some(wanted) {
        return None;
    }
    macro_rules! widen {
        ($list:expr) => {
            $list.iter().map(|&value| i64::from(value)).collect()
        };
    }
    Some(match values {
        Values::Bool(list) => list.iter().map(i64::from).collect(),
        Values::I8(list) => widen!(list),
        Values::I16(list) => widen!(list),
        Values::I32(list) => widen!(list),
        Values::I64(list) => list.to_vec(),
        Values::U8(list) => widen!(list),
        Values::U16(list) => widen!(list),
        Values::U32(list) => widen!(list),
        Values::U64(list) => list.iter().map(|value| value.cast_signed()).collect(),
        Values::F16(_) | Values::F32(_) | Values::F64(_) | Values::Text(_) => return None,
    })
}

/// The values that split chunks, in the order of their ranks: the first component of chunk keys.
#[derive(Debug, Clone)]
pub struct ChunkSplit {
    ranks: HashMap<i64, i64>,
    values: Vec<Value>,
}

impl ChunkSplit {
    /// The values that a specification declares; `None` if it declares none.
    pub fn known(spec: &StoreSpec) -> Option<Self> {
        SplitKeys::of(spec)?.known
    }

    /// Returns the grid of chunk keys: the grid of the axes, with a component for the values before it if an attribute splits chunks.
    pub fn grid(split: Option<&Self>, axes: Grid) -> Grid {
        match split {
            Some(split) => axes.with_bins(wide(split.values.len())),
            None => axes,
        }
    }

    /// Adds the attribute and its values to the document of a level, so that readers can split keys.
    pub fn describe(split: Option<Self>, spec: &StoreSpec, doc: LevelDoc) -> LevelDoc {
        let (Some(split), Some(one)) = (split, &spec.chunk_by) else {
            return doc;
        };
        let name = one.attribute.name.clone();
        let axes = spec.axes.iter().map(|axis| axis.name.clone());
        LevelDoc {
            chunk_dims: Some(std::iter::once(name.clone()).chain(axes).collect()),
            chunk_attribute_name: Some(name),
            chunk_attribute_values: Some(split.values),
            ..doc
        }
    }
}
