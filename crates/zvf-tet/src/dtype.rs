//! Element types, `spec/tet-v1.md` 4.4.

use core::fmt;

/// Type of the elements of a dataset; little-endian in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DType {
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 8-bit integer.
    U8,
    /// Unsigned 16-bit integer.
    U16,
    /// Signed 16-bit integer.
    I16,
    /// Unsigned 32-bit integer.
    U32,
    /// 16-bit float (IEEE binary16).
    F16,
    /// Unsigned 64-bit integer.
    U64,
}

impl DType {
    /// Every type, in the order of the tags 1 to 10.
    pub const ALL: [Self; 10] = [
        Self::F32,
        Self::F64,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::F16,
        Self::U64,
    ];

    /// The type of a tag.
    #[must_use]
    pub fn from_tag(tag: u32) -> Option<Self> {
        let place = usize::try_from(tag).ok()?.checked_sub(1)?;
        Self::ALL.get(place).copied()
    }

    /// The tag in the file.
    #[must_use]
    pub const fn tag(self) -> u32 {
        match self {
            Self::F32 => 1,
            Self::F64 => 2,
            Self::I32 => 3,
            Self::I64 => 4,
            Self::U8 => 5,
            Self::U16 => 6,
            Self::I16 => 7,
            Self::U32 => 8,
            Self::F16 => 9,
            Self::U64 => 10,
        }
    }

    /// Bytes of one element.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    /// The usual short name, such as `f32`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::F16 => "f16",
            Self::U64 => "u64",
        }
    }

    /// The type of a short name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
