//! One level of a store and of its copy.

use std::hash::{DefaultHasher, Hash, Hasher};

use zvf_format::dtype::DTypeKind;

use super::source::Source;

/// One level of both stores.
pub(super) struct Pair {
    pub(super) old: Source,
    pub(super) new: Source,
    pub(super) number: u32,
}

impl Pair {
    pub(super) fn place(&self, what: impl std::fmt::Display) -> String {
        format!("level {}, {what}", self.number)
    }
}

pub(super) fn hash(part: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    part.hash(&mut hasher);
    hasher.finish()
}

/// Whether the bytes of a value are the word for absence.
pub(super) fn is_absent(kind: Option<DTypeKind>, value: &[u8]) -> bool {
    let nan = match kind {
        Some(DTypeKind::F16) => half::f16::NAN.to_le_bytes().to_vec(),
        Some(DTypeKind::F32) => f32::NAN.to_le_bytes().to_vec(),
        Some(DTypeKind::F64) => f64::NAN.to_le_bytes().to_vec(),
        _ => return false,
    };
    value.chunks(nan.len()).all(|one| one == nan)
}
