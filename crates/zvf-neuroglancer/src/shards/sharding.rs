//! The layout `neuroglancer_uint64_sharded_v1`: which object is in which minishard of which shard.
//!
//! A shard begins with the ranges of its minishard indexes, 16 bytes each, relative to the end of that list; a minishard index is three rows
//! of `u64`: key deltas, gaps before the objects, and object sizes.

use serde_json::{Value, json};
use zvf_meta::shown;

use super::murmur::murmur;

/// The `@type` of the layout.
const KIND: &str = "neuroglancer_uint64_sharded_v1";

/// Largest supported `minishard_bits`.
const MOST_MINISHARD_BITS: u32 = 32;

/// The hash of a key, from which its shard and minishard are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    /// The key unchanged.
    Identity,
    /// The first eight bytes of the MurmurHash3_x86_128 of the key; key and hash are little-endian.
    Murmur,
}

impl Hash {
    fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Murmur => "murmurhash3_x86_128",
        }
    }
}

/// How the shard and the minishard of a key are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardBits {
    /// Number of low bits of a key that are ignored, so that neighbouring keys share a minishard.
    pub preshift_bits: u32,
    /// The hash of the remaining bits.
    pub hash: Hash,
    /// Number of low bits of the hash that give the minishard.
    pub minishard_bits: u32,
    /// Number of bits above those that give the shard.
    pub shard_bits: u32,
}

/// The layout and compression of shards: the member `sharding` of an `info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardingSpec {
    /// How the shard and minishard of an object are computed.
    pub layout: ShardBits,
    /// Whether minishard indexes are compressed with gzip.
    pub packed_index: bool,
    /// Whether objects are compressed with gzip; fragments of meshes never are.
    pub packed_data: bool,
}

/// An invalid member `sharding`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found {found}, expected {expected}")]
pub struct ShardingError {
    /// The value found.
    pub found: String,
    /// The value expected.
    pub expected: &'static str,
}

impl ShardBits {
    /// The numbers of the shard and of the minishard of a key.
    #[must_use]
    pub fn place(&self, key: u64) -> (u64, u64) {
        let shifted = key.checked_shr(self.preshift_bits).unwrap_or(0);
        let hashed = match self.hash {
            Hash::Identity => shifted,
            Hash::Murmur => murmur(shifted),
        };
        let minishard = hashed & low_bits(self.minishard_bits);
        let rest = hashed.checked_shr(self.minishard_bits).unwrap_or(0);
        (rest & low_bits(self.shard_bits), minishard)
    }

    /// The name of the file of a shard.
    #[must_use]
    pub fn file_name(&self, shard: u64) -> String {
        let digits = usize::try_from(self.shard_bits.div_ceil(4)).unwrap_or(16);
        format!("{shard:0digits$x}.shard")
    }

    /// Size in bytes of the list of minishards at the start of a shard.
    #[must_use]
    pub fn list_bytes(&self) -> u64 {
        16_u64.checked_shl(self.minishard_bits).unwrap_or(u64::MAX)
    }
}

/// A number with the `bits` least significant bits set.
fn low_bits(bits: u32) -> u64 {
    1_u64.checked_shl(bits).map_or(u64::MAX, |end| end - 1)
}

impl ShardingSpec {
    /// Parses the member `sharding` of an `info`.
    ///
    /// # Errors
    /// Another `@type`; a member that is absent or out of range; an unknown hash or encoding.
    pub fn parse(value: &Value) -> Result<Self, ShardingError> {
        let wrong = |found: String, expected| ShardingError { found, expected };
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let kind = text("@type");
        if kind != Some(KIND) {
            let found = format!("sharding of the type {}", shown(kind.unwrap_or_default()));
            return Err(wrong(found, KIND));
        }
        let bits = |key: &str, most: u32, expected| {
            let bits = value.get(key).and_then(Value::as_u64);
            let bits = bits.and_then(|bits| u32::try_from(bits).ok());
            let bits = bits.filter(|bits| *bits <= most);
            bits.ok_or_else(|| {
                wrong(
                    format!("sharding with an absent or invalid {key}"),
                    expected,
                )
            })
        };
        let packed = |key: &str| match (value.get(key), text(key)) {
            (None, _) | (_, Some("raw")) => Ok(false),
            (_, Some("gzip")) => Ok(true),
            (Some(other), _) => Err(wrong(
                format!("{key} {}", shown(&other.to_string())),
                "raw or gzip",
            )),
        };
        let hash = match text("hash") {
            Some("identity") => Hash::Identity,
            Some("murmurhash3_x86_128") => Hash::Murmur,
            other => {
                let found = format!("the hash {}", shown(other.unwrap_or_default()));
                return Err(wrong(found, "identity or murmurhash3_x86_128"));
            }
        };
        Ok(Self {
            layout: ShardBits {
                preshift_bits: bits("preshift_bits", 64, "preshift_bits, at most 64")?,
                hash,
                minishard_bits: bits(
                    "minishard_bits",
                    MOST_MINISHARD_BITS,
                    "minishard_bits, at most 32",
                )?,
                shard_bits: bits("shard_bits", 64, "shard_bits, at most 64")?,
            },
            packed_index: packed("minishard_index_encoding")?,
            packed_data: packed("data_encoding")?,
        })
    }

    /// The member `sharding` of an `info`.
    #[must_use]
    pub fn document(&self) -> Value {
        let packed = |packed: bool| if packed { "gzip" } else { "raw" };
        json!({
            "@type": KIND,
            "preshift_bits": self.layout.preshift_bits,
            "hash": self.layout.hash.name(),
            "minishard_bits": self.layout.minishard_bits,
            "shard_bits": self.layout.shard_bits,
            "minishard_index_encoding": packed(self.packed_index),
            "data_encoding": packed(self.packed_data),
        })
    }
}

/// Bits of a compressed Morton code of a grid; `None` if there are more than 64.
#[must_use]
pub fn morton_bits(shape: &[u64]) -> Option<u32> {
    let bits = shape.iter().map(|cells| axis_bits(*cells));
    Some(bits.sum()).filter(|bits| *bits <= u64::BITS)
}

/// Bits of the greatest coordinate of an axis.
fn axis_bits(cells: u64) -> u32 {
    u64::BITS - cells.saturating_sub(1).leading_zeros()
}

/// The compressed Morton code of a cell: the interleaved bits of its coordinates, without bits that are 0 in all cells of the grid.
#[must_use]
pub fn morton(cell: &[u64], shape: &[u64]) -> u64 {
    let mut code = 0;
    let mut at = 0;
    for bit in 0..u64::BITS {
        for (coordinate, cells) in cell.iter().zip(shape) {
            if bit < axis_bits(*cells) {
                code |= ((coordinate >> bit) & 1).checked_shl(at).unwrap_or(0);
                at += 1;
            }
        }
    }
    code
}
