//! Typed arrays: ids, attributes of objects and groups (0.9 §4.5).

use serde_json::{Value, json};
use zvf_format::dtype::{DType, DTypeKind};
use zvf_meta::{ABSENT_TEXTS, ArrayAttributes, ArrayDoc, Codec, DataType};

use crate::WriteError;
use crate::documents::array::array_doc;
use crate::error::{OrBug, to_index};
use crate::target::ObjectPut;
use crate::values::number::{Fill, NumberType};
use zvf_codec::{CodecSample, Compression};
use zvf_format::int::{index, wide};

/// Rows per chunk of object attributes.
pub const ROWS: u64 = 65_536;

/// Fewest rows per chunk of a table of ids that is divided into chunks: readers decode a whole chunk to look up an id.
const ID_ROWS: usize = 1 << 14;

/// Most chunks of a table of ids. The document of the array lists the first id of each chunk, and is then up to 64 KiB long.
const ID_CHUNKS: usize = 3_500;

/// Most ids of a table that is always one chunk. Readers load such a short table together with the documents.
const UNDIVIDED_IDS: usize = 1 << 17;

/// Most bytes of a chunk of several rows: it is padded to its full length.
const CHUNK: u64 = 64 << 20;

/// Rows per chunk of a divided table of `ids` ids.
fn id_rows(ids: usize) -> usize {
    let least = ids.div_ceil(ID_CHUNKS).max(ID_ROWS);
    least.checked_next_power_of_two().unwrap_or(least)
}

/// The type of the elements of a typed array.
#[derive(Debug, Clone, PartialEq)]
pub enum ElementType {
    /// Numbers.
    Number(NumberType),
    /// Texts of at most this number of code points, as UTF-32.
    Text(usize),
    /// Any other type of a copied array.
    Other {
        /// The name of the type in documents.
        data_type: Box<DataType>,
        /// Bytes of an element.
        size: usize,
        /// The name of the type in numpy.
        dtype: String,
        /// The fill of the copied array.
        fill: Fill,
    },
}

impl ElementType {
    /// Numbers or texts; `None` for any other type.
    pub fn of(dtype: DType) -> Option<Self> {
        match dtype.kind {
            DTypeKind::Utf32 { chars } => Some(Self::Text(index(chars))),
            kind => NumberType::from_kind(kind).map(Self::Number),
        }
    }

    /// The zero or the empty text of the type; for any other type, the fill of the copied array.
    pub fn zero(&self) -> Fill {
        let zeros = |json| (vec![0; self.size()], json);
        match self {
            Self::Number(number) => zeros(number.zero()),
            Self::Text(_) => zeros(json!("")),
            Self::Other { fill, .. } => fill.clone(),
        }
    }

    /// The element that means absence (0.9 §11.4); `None` for booleans, which have no such element.
    pub fn absent(&self) -> Option<Fill> {
        match self {
            Self::Number(number) => number.absent(),
            Self::Text(_) | Self::Other { .. } => Some(self.zero()),
        }
    }

    /// Elements that could mean absence, the usual one first.
    pub fn fills(&self) -> Vec<Fill> {
        match self {
            Self::Number(number) => number.fills(),
            Self::Text(_) => {
                let fill = |text: &str| {
                    let mut bytes = Vec::new();
                    self.text(text, &mut bytes);
                    (bytes, json!(text))
                };
                ABSENT_TEXTS.map(fill).into()
            }
            Self::Other { .. } => vec![self.zero()],
        }
    }

    /// Bytes of one element.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Number(number) => number.size(),
            Self::Text(chars) => chars * 4,
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
            Self::Other { data_type, .. } => data_type.as_ref().clone(),
        }
    }

    /// The value of the attribute `dtype`.
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

    /// Appends a text to `out` in its stored form: UTF-32, padded with zeros.
    pub(crate) fn text(&self, text: &str, out: &mut Vec<u8>) {
        let end = out.len() + self.size();
        text.chars()
            .for_each(|c| out.extend_from_slice(&u32::from(c).to_le_bytes()));
        out.resize(end, 0);
    }
}

/// A typed array in memory, of ids or of a table.
#[derive(Debug)]
pub struct Typed {
    /// The type of the elements.
    pub element: ElementType,
    /// Rows, or rows and channels.
    pub(crate) shape: Vec<u64>,
    /// Rows of one chunk, reduced for very wide rows; `None` for a single chunk.
    pub chunk_rows: Option<u64>,
    /// The element that readers use for chunks that are not stored.
    pub fill: Fill,
    /// Whether rows that equal the fill have no value.
    pub absent: bool,
    /// All elements.
    pub(crate) bytes: Vec<u8>,
}

impl Typed {
    /// Encodes the table of object ids at `path`. It is divided into chunks if there are more than 2^17 ids, and they ascend and are not row numbers.
    ///
    /// # Errors
    /// As [`objects`](Self::objects).
    pub fn ids(
        ids: &[i64],
        fill: i64,
        path: &str,
        compression: &Compression,
        mut attributes: ArrayAttributes,
    ) -> Result<(ArrayDoc, Vec<ObjectPut>), WriteError> {
        let ascending = || ids.is_sorted_by(|a, b| a < b);
        let divided = ids.len() > UNDIVIDED_IDS && !zvf_store::are_rows(ids) && ascending();
        let chunk_rows = divided.then(|| id_rows(ids.len()));
        zvf_store::state_ids(&mut attributes, ids, chunk_rows.unwrap_or(ids.len()));
        let typed = Self {
            element: ElementType::Number(NumberType::I64),
            shape: vec![wide(ids.len())],
            chunk_rows: chunk_rows.map(wide),
            fill: (fill.to_le_bytes().to_vec(), Value::from(fill)),
            absent: false,
            bytes: ids.iter().flat_map(|id| id.to_le_bytes()).collect(),
        };
        typed.objects(path, compression, attributes)
    }

    fn row_bytes(&self) -> Result<usize, WriteError> {
        let mut channels = self.shape.iter().skip(1);
        let width = channels.try_fold(wide(self.element.size()), |size, &n| size.checked_mul(n));
        let what = "bytes of a row";
        match width {
            Some(width) => to_index(what, width),
            None => Err(WriteError::limit(what, u64::MAX, i64::MAX.unsigned_abs())),
        }
    }

    /// Encodes the array at `path`: its document and its chunks. Every chunk is stored, even if it contains only the fill, and the document states the
    /// number of stored chunks, so that a lost chunk is not read as one without values.
    ///
    /// # Errors
    /// Limit: the bytes of a row or a chunk. The errors of the codecs.
    pub fn objects(
        &self,
        path: &str,
        compression: &Compression,
        attributes: ArrayAttributes,
    ) -> Result<(ArrayDoc, Vec<ObjectPut>), WriteError> {
        let rows = *self.shape.first().or_bug("a table without a shape")?;
        let width = self.row_bytes()?;
        let chunk_rows = match self.chunk_rows {
            Some(most) => most.min(CHUNK / wide(width).max(1)).max(1),
            None => rows.max(1),
        };
        let chunk_bytes = chunk_rows.checked_mul(wide(width)).ok_or_else(|| {
            WriteError::limit("rows of a table", chunk_rows, u64::MAX / wide(width))
        })?;
        let mut objects = Vec::new();
        let step = to_index("bytes of a chunk", chunk_bytes)?.max(1);
        let chunks: Vec<&[u8]> = self.bytes.chunks(step).collect();
        let sizes = chunks.iter().map(|chunk| chunk.len());
        let sample = CodecSample::of(sizes, |at, most| {
            let chunk = chunks.get(at).or_bug("a chunk beyond those of a sample")?;
            Ok::<_, WriteError>(chunk.get(..most).unwrap_or(chunk).to_vec())
        })?;
        let compression = compression.chosen(self.element.size(), &sample)?;
        for (at, part) in chunks.into_iter().enumerate() {
            let mut chunk = part.to_vec();
            while chunk.len() < step && !self.fill.0.is_empty() {
                chunk.extend_from_slice(&self.fill.0);
            }
            let zeros = "/0".repeat(self.shape.len() - 1);
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
            ArrayAttributes {
                stored_chunks: Some(wide(objects.len())),
                ..attributes
            },
        );
        Ok((doc, objects))
    }
}

#[cfg(test)]
mod tests {
    use super::id_rows;

    #[test]
    fn chunks_of_ids_stay_few() {
        assert_eq!(id_rows(200_000), 16_384);
        assert_eq!(id_rows(16_384 * 3_500), 16_384);
        assert_eq!(id_rows(16_384 * 3_500 + 1), 32_768);
        assert_eq!(id_rows(100_000_000), 32_768);
        assert_eq!(
            id_rows(usize::MAX),
            usize::MAX.div_ceil(3_500).next_power_of_two()
        );
    }
}
