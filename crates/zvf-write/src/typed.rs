//! Typed arrays: ids, attributes of objects and groups (0.9 §4.5).

use serde_json::{Value, json};
use zvf_meta::{ArrayAttributes, ArrayDoc, Codec, DataType};

use crate::WriteError;
use crate::codec::Compression;
use crate::documents::array_doc;
use crate::int::{to_index, wide};
use crate::number::NumberType;
use crate::shard::Object;

/// Rows of a chunk of object attributes.
pub(crate) const ROWS: u64 = 65_536;

/// Bytes of a chunk from which on it gets fewer rows: it is padded to its whole length.
const CHUNK: u64 = 64 << 20;

/// What the elements of a typed array are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Element {
    /// Numbers.
    Number(NumberType),
    /// Texts of so many code points at most, as UTF-32.
    Text(usize),
    /// Anything else, as the array says that it was copied from.
    Other {
        /// Its name in documents.
        data_type: DataType,
        /// Bytes of one.
        size: usize,
        /// Its name as numpy spells it.
        dtype: String,
    },
}

impl Element {
    /// Bytes of one element.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Number(number) => number.size(),
            Self::Text(chars) => chars.saturating_mul(4),
            Self::Other { size, .. } => *size,
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::Number(number) => DataType::named(number.to_string()),
            Self::Text(_) => {
                let mut one = DataType::named("fixed_length_utf32");
                one.configuration
                    .insert("length_bytes".to_owned(), Value::from(wide(self.size())));
                one
            }
            Self::Other { data_type, .. } => data_type.clone(),
        }
    }

    /// The text of the attribute `dtype`.
    pub(crate) fn dtype(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(chars) => format!("<U{chars}"),
            Self::Other { dtype, .. } => dtype.clone(),
        }
    }

    fn codec(&self) -> Codec {
        let bytes = Codec::named("bytes");
        if *self != Self::Text(0) && self.size() == 1 {
            return bytes;
        }
        Codec {
            configuration: json!({"endian": "little"}),
            ..bytes
        }
    }

    /// A text in its stored form.
    pub(crate) fn text(&self, text: &str, out: &mut Vec<u8>) {
        let end = out.len().saturating_add(self.size());
        text.chars()
            .for_each(|c| out.extend_from_slice(&u32::from(c).to_le_bytes()));
        out.resize(end, 0);
    }
}

/// A typed array in memory.
#[derive(Debug)]
pub(crate) struct Typed {
    pub(crate) element: Element,
    /// Rows, or rows and channels.
    pub(crate) shape: Vec<u64>,
    /// Rows of one chunk, fewer where rows are very wide; none: all of them.
    pub(crate) chunk_rows: Option<u64>,
    /// The element that stands for what is not stored.
    pub(crate) fill: (Vec<u8>, Value),
    /// All elements.
    pub(crate) bytes: Vec<u8>,
}

impl Typed {
    /// The document and the chunks of the array. A chunk of nothing but fill is not stored.
    pub(crate) fn objects(
        &self,
        path: &str,
        compression: &Compression,
        attributes: ArrayAttributes,
    ) -> Result<(ArrayDoc, Vec<Object>), WriteError> {
        let rows = self.shape.first().copied().unwrap_or(0);
        let width = self
            .shape
            .iter()
            .skip(1)
            .try_fold(wide(self.element.size()), |size, &n| size.checked_mul(n));
        let width = to_index("bytes of a row", width.unwrap_or(u64::MAX))?;
        let chunk_rows = match self.chunk_rows {
            Some(most) => most.min(CHUNK / wide(width).max(1)).max(1),
            None => rows.max(1),
        };
        let chunk_bytes = chunk_rows.saturating_mul(wide(width));
        let mut objects = Vec::new();
        let step = to_index("bytes of a chunk", chunk_bytes)?.max(1);
        for (at, part) in self.bytes.chunks(step).enumerate() {
            let mut chunk = part.to_vec();
            while chunk.len() < step && !self.fill.0.is_empty() {
                chunk.extend_from_slice(&self.fill.0);
            }
            if chunk
                .chunks_exact(self.fill.0.len().max(1))
                .all(|element| element == self.fill.0)
            {
                continue;
            }
            let zeros = "/0".repeat(self.shape.len().saturating_sub(1));
            objects.push((format!("{path}/c/{at}{zeros}"), compression.encode(chunk)?));
        }
        let chunk_shape = std::iter::once(chunk_rows)
            .chain(self.shape.iter().skip(1).copied())
            .collect();
        let codecs = std::iter::once(self.element.codec())
            .chain(compression.codecs())
            .collect();
        let doc = array_doc(
            self.shape.clone(),
            self.element.data_type(),
            chunk_shape,
            self.fill.1.clone(),
            codecs,
            attributes,
        );
        Ok((doc, objects))
    }
}
