//! Chunk coordinates.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

const INLINE: usize = 5;

/// The absolute coordinate of a chunk: signed integers, one for each component of the key.
///
/// Ordered component by component (lex order, not the ASCII order of keys). Up to five components are stored inline.
#[derive(Clone)]
pub struct ChunkCoord(Repr);

#[derive(Clone)]
enum Repr {
    Inline(u8, [i64; INLINE]),
    Heap(Box<[i64]>),
}

impl ChunkCoord {
    /// Copies a coordinate.
    pub fn new(components: &[i64]) -> Self {
        let mut inline = [0; INLINE];
        match (
            inline.get_mut(..components.len()),
            u8::try_from(components.len()),
        ) {
            (Some(head), Ok(rank)) => {
                head.copy_from_slice(components);
                Self(Repr::Inline(rank, inline))
            }
            _ => Self(Repr::Heap(components.into())),
        }
    }

    /// The components.
    pub fn as_slice(&self) -> &[i64] {
        match &self.0 {
            Repr::Inline(rank, inline) => inline.get(..usize::from(*rank)).unwrap_or(inline),
            Repr::Heap(all) => all,
        }
    }
}

impl Deref for ChunkCoord {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        self.as_slice()
    }
}

impl From<&[i64]> for ChunkCoord {
    fn from(components: &[i64]) -> Self {
        Self::new(components)
    }
}

impl<const N: usize> From<[i64; N]> for ChunkCoord {
    fn from(components: [i64; N]) -> Self {
        Self::new(&components)
    }
}

impl PartialEq for ChunkCoord {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for ChunkCoord {}

impl PartialOrd for ChunkCoord {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ChunkCoord {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl Hash for ChunkCoord {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl std::borrow::Borrow<[i64]> for ChunkCoord {
    fn borrow(&self) -> &[i64] {
        self.as_slice()
    }
}

impl fmt::Display for ChunkCoord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Dotted(self.as_slice()), f)
    }
}

impl fmt::Debug for ChunkCoord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChunkCoord({self})")
    }
}

/// Writes a coordinate as its key: `-1.0.12`.
pub(crate) struct Dotted<'a>(pub(crate) &'a [i64]);

impl fmt::Display for Dotted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (axis, component) in self.0.iter().enumerate() {
            if axis > 0 {
                f.write_str(".")?;
            }
            write!(f, "{component}")?;
        }
        Ok(())
    }
}

/// The number of elements of a shape; `None` if it exceeds 64 bits.
pub(crate) fn product(counts: &[u64]) -> Option<u64> {
    counts.iter().try_fold(1u64, |n, c| n.checked_mul(*c))
}

#[cfg(test)]
mod tests {
    use super::ChunkCoord;

    #[test]
    fn order_is_numeric_and_text_is_the_key() {
        let mut all = [
            ChunkCoord::from([10, 0]),
            ChunkCoord::from([2, 0]),
            ChunkCoord::from([-1, 5]),
        ];
        all.sort();
        let text: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(text, ["-1.5", "2.0", "10.0"]);
    }

    #[test]
    fn long_and_empty_coordinates_work() {
        let long = ChunkCoord::from([1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(long.as_slice(), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(ChunkCoord::new(&[]).as_slice(), [0i64; 0]);
    }
}
