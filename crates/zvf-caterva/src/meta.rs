//! The metalayer sections of header and trailer (`spec/caterva-b2nd.md` 3.2, 3.5).
//!
//! ```text
//! 93
//! cd SSSS                     bytes up to the end of the map; from `93` in the header, from `cd` in the trailer
//! de NNNN                     N entries: (a0+k) name[k], d2 position
//! dc NNNN                     N values:  c6 length, content
//! ```

use zvf_blosc::{DecodeError, Expected};

use crate::marked::MarkedFields;
use zvf_grid::int::{index, wide};

/// Most metalayers of a header.
pub const MOST_FIXED: u16 = 16;
/// Most variable-length metalayers.
pub const MOST_VARIABLE: u16 = 8192;
/// Most bytes of a name.
const MOST_NAME: u8 = 31;

/// A section of metalayers, read in place without copying.
#[derive(Debug, Clone, Copy)]
pub struct Metalayers<'a> {
    fields: MarkedFields<'a>,
    /// Offset of the first entry in `fields`.
    entries: usize,
    count: u16,
    /// Stored positions are this much larger than offsets in `fields`.
    shift: usize,
}

/// One metalayer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metalayer<'a> {
    /// The name, up to 31 bytes, UTF-8 in all files seen.
    pub name: &'a [u8],
    /// The content. In a trailer it is a Blosc chunk, which [`zvf_blosc::Chunk`] decodes.
    pub content: &'a [u8],
}

impl<'a> Metalayers<'a> {
    /// The section of a header: `header` is the first `header_len` bytes of the frame.
    ///
    /// # Errors
    ///
    /// Truncated; malformed: a marker, a position, the size of the map, the number of values, or a duplicate name; limit:
    /// more than 16.
    pub fn of_header(header: &'a [u8]) -> Result<Self, DecodeError> {
        let base = crate::HEADER;
        let bytes = header.get(base..).unwrap_or_default();
        Self::parse(MarkedFields::new(bytes, wide(base)), 0, base, MOST_FIXED)
    }

    /// The section of a trailer, which begins at byte `at` of the frame.
    ///
    /// # Errors
    ///
    /// As [`Self::of_header`], but with a limit of 8192.
    pub fn of_trailer(trailer: &'a [u8], at: u64) -> Result<Self, DecodeError> {
        let fields = MarkedFields::new(trailer, at);
        fields.marker("trailer", 0, 0x94)?;
        fields.marker("trailer version", 1, 1)?;
        // The section ends before the tail, which has a fixed size.
        let end = trailer.len().saturating_sub(crate::TrailerTail::LEN);
        let section = trailer.get(2..end.max(2)).unwrap_or_default();
        Self::parse(
            MarkedFields::new(section, at.saturating_add(2)),
            1,
            2,
            MOST_VARIABLE,
        )
    }

    fn parse(
        fields: MarkedFields<'a>,
        counted_from: usize,
        shift: usize,
        most: u16,
    ) -> Result<Self, DecodeError> {
        fields.marker("metalayer section", 0, 0x93)?;
        let length = fields.u16("metalayer map size", 1, 0xcd)?;
        let count = fields.u16("metalayer count", 4, 0xde)?;
        if count > most {
            let at = fields.position(5);
            return Err(DecodeError::limit(
                "metalayer count",
                at,
                count.into(),
                most.into(),
            ));
        }
        let layers = Self {
            fields,
            entries: 7,
            count,
            shift,
        };
        let mut at = layers.entries;
        for i in 0..count {
            let (layer, next) = layers.entry(at)?;
            let mut before = layers.entries;
            for _ in 0..i {
                let (other, after) = layers.name(before)?;
                if other == layer.name {
                    let expected = Expected::Text("unique names");
                    let place = fields.position(at);
                    return Err(DecodeError::malformed(
                        "metalayer name",
                        place,
                        i.into(),
                        expected,
                    ));
                }
                before = after + 5;
            }
            at = next;
        }
        if at.checked_sub(counted_from) != Some(usize::from(length)) {
            let expected =
                Expected::Exactly(crate::header::signed(wide(at.saturating_sub(counted_from))));
            let place = fields.position(2);
            return Err(DecodeError::malformed(
                "metalayer map size",
                place,
                length.into(),
                expected,
            ));
        }
        let values = fields.u16("metalayer values", at, 0xdc)?;
        if values != count {
            let expected = Expected::Exactly(count.into());
            let place = fields.position(at + 1);
            return Err(DecodeError::malformed(
                "metalayer values",
                place,
                values.into(),
                expected,
            ));
        }
        Ok(layers)
    }

    /// The name of the entry at `at`, and its end.
    fn name(&self, at: usize) -> Result<(&'a [u8], usize), DecodeError> {
        let fields = &self.fields;
        let marker = fields.byte("metalayer name", at)?;
        let length = marker.wrapping_sub(0xa0);
        if length > MOST_NAME {
            let expected = Expected::Text("a name of up to 31 bytes");
            let place = fields.position(at);
            return Err(DecodeError::malformed(
                "metalayer name",
                place,
                marker.into(),
                expected,
            ));
        }
        let name = fields.slice("metalayer name", at + 1, usize::from(length))?;
        Ok((name, at + 1 + usize::from(length)))
    }

    /// The entry at `at` and the start of the next one.
    fn entry(&self, at: usize) -> Result<(Metalayer<'a>, usize), DecodeError> {
        let fields = &self.fields;
        let (name, after) = self.name(at)?;
        let position = fields.i32("metalayer position", after, 0)?;
        let Some(value) = index(position).checked_sub(self.shift) else {
            let expected = Expected::AtLeast(crate::header::signed(wide(self.shift)));
            let place = fields.position(after + 1);
            return Err(DecodeError::malformed(
                "metalayer position",
                place,
                position.into(),
                expected,
            ));
        };
        let length = fields.u32("metalayer content", value, 0xc6)?;
        let content = fields.slice("metalayer content", value + 5, index(length))?;
        Ok((Metalayer { name, content }, after + 5))
    }

    /// How many metalayers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether there are no metalayers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All metalayers, in the order of the file, which has no meaning.
    pub fn iter(&self) -> impl Iterator<Item = Metalayer<'a>> + use<'a> {
        let layers = *self;
        let mut at = layers.entries;
        (0..layers.count).map_while(move |_| {
            let (layer, next) = layers.entry(at).ok()?;
            at = next;
            Some(layer)
        })
    }

    /// The content of the metalayer with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.iter()
            .find(|layer| layer.name == name.as_bytes())
            .map(|layer| layer.content)
    }
}
