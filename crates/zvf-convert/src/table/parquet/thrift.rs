//! A parser of the compact protocol of Thrift, which Parquet uses for headers. It allocates nothing.

/// Codes of types.
pub(super) const I32: u8 = 5;
pub(super) const LIST: u8 = 9;
pub(super) const STRUCT: u8 = 12;

/// Deepest nesting of structs. Parquet has four levels.
const DEEPEST: u32 = 16;

/// A forward reader of bytes. All methods return `None` at the end of the bytes or at a violation of the protocol.
#[derive(Debug)]
pub(super) struct ThriftReader<'b> {
    bytes: &'b [u8],
    taken: usize,
}

impl<'b> ThriftReader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, taken: 0 }
    }

    /// The number of bytes read so far.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (head, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        self.taken = self.taken.saturating_add(count);
        Some(head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// An unsigned number of variable length, seven bits in each byte.
    pub(super) fn unsigned(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        // The tenth byte has one bit left.
        let last = self.byte().filter(|last| *last < 2)?;
        Some(number | u64::from(last) << 63)
    }

    /// A signed number in zigzag encoding: even codes are positive, odd ones negative.
    pub(super) fn int(&mut self) -> Option<i64> {
        let number = self.unsigned()?;
        let half = i64::try_from(number >> 1).ok()?;
        Some(if number & 1 == 0 { half } else { !half })
    }

    /// The number and type of the next field of a struct; `Some(None)` at the end of the struct.
    pub(super) fn field(&mut self, last: &mut i64) -> Option<Option<(i64, u8)>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        let step = i64::from(head >> 4);
        *last = match step {
            0 => self.int()?,
            step => last.checked_add(step)?,
        };
        Some(Some((*last, head & 0x0f)))
    }

    /// The type and number of a list's elements; at most the number of remaining bytes.
    pub(super) fn list(&mut self) -> Option<(u8, usize)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => usize::try_from(self.unsigned()?).ok()?,
            count => usize::from(count),
        };
        (count <= self.bytes.len()).then_some((head & 0x0f, count))
    }

    /// Skips the value of a field.
    pub(super) fn skip(&mut self, kind: u8) -> Option<()> {
        self.pass(kind, 0, true)
    }

    fn pass(&mut self, kind: u8, depth: u32, field: bool) -> Option<()> {
        match kind {
            // In a struct, the type of a boolean field is its value; in a list, booleans are bytes.
            1 | 2 if field => Some(()),
            1..=3 => self.byte().map(drop),
            4 | I32 | 6 => self.int().map(drop),
            7 => self.take(8).map(drop),
            8 => {
                let length = usize::try_from(self.unsigned()?).ok()?;
                self.take(length).map(drop)
            }
            LIST if depth < DEEPEST => {
                let (kind, count) = self.list()?;
                (0..count).try_for_each(|_| self.pass(kind, depth.saturating_add(1), false))
            }
            STRUCT if depth < DEEPEST => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.pass(kind, depth.saturating_add(1), true)?;
                }
                Some(())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fields_and_lists() {
        let mut walk =
            ThriftReader::new(&[0x96, 0x01, 0x03, 0x15, 0x04, 0x29, 0x25, 0x02, 0x04, 0x00]);
        assert_eq!(walk.unsigned(), Some(150));
        assert_eq!(walk.int(), Some(-2));
        let mut last = 0;
        assert_eq!(walk.field(&mut last), Some(Some((1, I32))));
        assert_eq!(walk.int(), Some(2));
        assert_eq!(walk.field(&mut last), Some(Some((3, LIST))));
        assert_eq!(walk.skip(LIST), Some(()));
        assert_eq!(walk.field(&mut last), Some(None));
        assert_eq!((walk.taken(), walk.field(&mut last)), (10, None));
    }

    #[test]
    fn counts_and_depths_beyond_the_bytes_end_the_walk() {
        // A list that states almost 2^31 numbers, in six bytes; then structs that are nested too deeply.
        assert_eq!(
            ThriftReader::new(&[0xf5, 0xff, 0xff, 0xff, 0xff, 0x07]).skip(LIST),
            None
        );
        assert_eq!(ThriftReader::new(&[0x1c; 100]).skip(STRUCT), None);
        assert_eq!(ThriftReader::new(&[0xff; 10]).unsigned(), None);
        assert_eq!(ThriftReader::new(&[0x18, 0xff, 0x7f]).skip(STRUCT), None);
    }
}
