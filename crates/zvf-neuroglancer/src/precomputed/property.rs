//! Values of annotations and vertices.

use serde_json::{Value, json};

use super::EncodeError;

/// Type of a property of annotations or of an attribute of skeleton vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PropertyType {
    /// IEEE 754, 4 bytes.
    Float32,
    /// 4 bytes.
    Uint32,
    /// 4 bytes.
    Int32,
    /// 2 bytes.
    Uint16,
    /// 2 bytes.
    Int16,
    /// 1 byte.
    Uint8,
    /// 1 byte.
    Int8,
    /// Red, green and blue, one byte each. Annotations only.
    Rgb,
    /// Red, green, blue and opacity, one byte each. Annotations only.
    Rgba,
}

impl PropertyType {
    /// The name in `info`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Float32 => "float32",
            Self::Uint32 => "uint32",
            Self::Int32 => "int32",
            Self::Uint16 => "uint16",
            Self::Int16 => "int16",
            Self::Uint8 => "uint8",
            Self::Int8 => "int8",
            Self::Rgb => "rgb",
            Self::Rgba => "rgba",
        }
    }

    /// Bytes of one value.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::Float32 | Self::Uint32 | Self::Int32 | Self::Rgba => 4,
            Self::Rgb => 3,
            Self::Uint16 | Self::Int16 => 2,
            Self::Uint8 | Self::Int8 => 1,
        }
    }

    /// Position among the properties of an annotation: 4-byte numbers first, then 2-byte numbers, then bytes and colours.
    pub(super) fn rank(self) -> u8 {
        match self {
            Self::Float32 | Self::Uint32 | Self::Int32 => 0,
            Self::Uint16 | Self::Int16 => 1,
            Self::Uint8 | Self::Int8 | Self::Rgb | Self::Rgba => 2,
        }
    }
}

/// One property of annotations, as in `info`.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    /// Identifier: `[a-z][a-zA-Z0-9_]*`.
    pub id: String,
    /// Type of the values.
    pub kind: PropertyType,
    /// Description of the values.
    pub description: Option<String>,
    /// Names of values: the value and its name. Numbers only.
    pub labels: Vec<(u32, String)>,
}

impl Property {
    pub(super) fn document(&self) -> Value {
        let mut document = json!({"id": self.id, "type": self.kind.name()});
        if let Some(description) = &self.description {
            document["description"] = json!(description);
        }
        if !self.labels.is_empty() {
            let (values, labels): (Vec<u32>, Vec<&String>) = self
                .labels
                .iter()
                .map(|(value, label)| (value, label))
                .unzip();
            document["enum_values"] = json!(values);
            document["enum_labels"] = json!(labels);
        }
        document
    }
}

/// The values of one property or attribute for a run of rows, little-endian.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyValues {
    /// Bytes of one row.
    row: usize,
    bytes: Vec<u8>,
}

impl PropertyValues {
    /// Makes values with `row` bytes for each row.
    ///
    /// # Errors
    /// If the bytes are not a whole number of rows.
    pub fn new(row: usize, bytes: Vec<u8>) -> Result<Self, EncodeError> {
        let over = bytes.len().checked_rem(row).unwrap_or(bytes.len());
        EncodeError::check("bytes after the last value", over, 0)?;
        Ok(Self { row, bytes })
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len().checked_div(self.row).unwrap_or(0)
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes of one row.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        self.row
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes of one row.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let start = index.checked_mul(self.row)?;
        self.bytes.get(start..start.checked_add(self.row)?)
    }
}
