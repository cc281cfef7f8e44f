//! Item types, parsed from the text in a `b2nd` metalayer (`spec/caterva-b2nd.md` 5.3).

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ItemKind {
    /// `b`: one byte, 0 or 1.
    Bool,
    /// `i`: signed integer.
    Int,
    /// `u`: unsigned integer.
    Uint,
    /// `f`: IEEE 754.
    Float,
    /// `c`: two floats.
    Complex,
    /// `m`: a time span; the unit is in brackets.
    TimeDelta,
    /// `M`: a point in time; the unit is in brackets.
    DateTime,
    /// `S`: bytes, padded with zeros.
    Bytes,
    /// `U`: code points of four bytes.
    Unicode,
    /// `V`: uninterpreted bytes.
    Void,
    /// A list of named fields; see [`Dtype::fields`].
    Record,
    /// No text, or a text that this crate does not understand. Only the size of an item is known.
    Opaque,
}

/// An item type.
///
/// # Examples
///
/// ```
/// use zvf_caterva::dtype::{Dtype, ItemKind};
///
/// let dtype = Dtype::new(">f4", 4);
/// assert_eq!((dtype.kind(), dtype.size(), dtype.big_endian()), (ItemKind::Float, 4, true));
///
/// let record = Dtype::new("[('a', '<i4'), ('b', '<f8')]", 12);
/// let names: Vec<&str> = record.fields().map(|(name, _)| name).collect();
/// assert_eq!(names, ["a", "b"]);
///
/// assert_eq!(Dtype::new("bfloat16", 2).kind(), ItemKind::Opaque);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dtype<'a> {
    text: &'a str,
    kind: ItemKind,
    size: usize,
    big_endian: bool,
}

impl<'a> Dtype<'a> {
    /// Parses the item type `text` of items of `size` bytes. A text that is not understood, or that describes items of
    /// another size, gives an opaque type, not an error.
    #[must_use]
    pub fn new(text: &'a str, size: usize) -> Self {
        let found = plain(text).or_else(|| record(text));
        match found {
            Some((kind, found, big_endian)) if found == size => Self {
                text,
                kind,
                size,
                big_endian,
            },
            _ => Self {
                text,
                kind: ItemKind::Opaque,
                size,
                big_endian: false,
            },
        }
    }

    /// The text, as stored.
    #[must_use]
    pub const fn text(&self) -> &'a str {
        self.text
    }

    /// The kind of item.
    #[must_use]
    pub const fn kind(&self) -> ItemKind {
        self.kind
    }

    /// Bytes of an item.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Whether the numbers are big-endian. In a record, each field has its own byte order.
    #[must_use]
    pub const fn big_endian(&self) -> bool {
        self.big_endian
    }

    /// Names and types of a record's fields, in order; empty for other types.
    pub fn fields(&self) -> impl Iterator<Item = (&'a str, Dtype<'a>)> + use<'a> {
        let text = if self.kind == ItemKind::Record {
            self.text
        } else {
            ""
        };
        FieldTuples { rest: inner(text) }.filter_map(|(name, dtype)| {
            let (kind, size, big_endian) = plain(dtype)?;
            Some((
                name,
                Dtype {
                    text: dtype,
                    kind,
                    size,
                    big_endian,
                },
            ))
        })
    }
}

/// Bytes of an item of the type `text`; `None` for a text that is not understood.
#[must_use]
pub fn size_of(text: &str) -> Option<usize> {
    plain(text)
        .or_else(|| record(text))
        .map(|(_, size, _)| size)
}

/// Kind, size and byte order of NumPy's short form.
fn plain(text: &str) -> Option<(ItemKind, usize, bool)> {
    let (order, rest) = text.split_at_checked(1)?;
    let big_endian = match order {
        "<" | "|" | "=" => false,
        ">" => true,
        _ => return None,
    };
    let (code, rest) = rest.split_at_checked(1)?;
    let digits = rest.find('[').unwrap_or(rest.len());
    let (number, unit) = rest.split_at_checked(digits)?;
    let number: usize = number.parse().ok()?;
    let (kind, unit_size, sizes): (_, _, &[usize]) = match code {
        "b" => (ItemKind::Bool, 1, &[1]),
        "i" => (ItemKind::Int, 1, &[1, 2, 4, 8]),
        "u" => (ItemKind::Uint, 1, &[1, 2, 4, 8]),
        "f" => (ItemKind::Float, 1, &[2, 4, 8, 12, 16]),
        "c" => (ItemKind::Complex, 1, &[8, 16, 24, 32]),
        "m" => (ItemKind::TimeDelta, 1, &[8]),
        "M" => (ItemKind::DateTime, 1, &[8]),
        "S" => (ItemKind::Bytes, 1, &[]),
        "U" => (ItemKind::Unicode, 4, &[]),
        "V" => (ItemKind::Void, 1, &[]),
        _ => return None,
    };
    let timed = matches!(kind, ItemKind::TimeDelta | ItemKind::DateTime);
    let unit_fits = unit.is_empty() || (timed && unit.ends_with(']'));
    let size_fits = sizes.is_empty() || sizes.contains(&number);
    let size = number.checked_mul(unit_size)?;
    (unit_fits && size_fits).then_some((kind, size, big_endian))
}

/// Kind, size and byte order of a list of fields in the short form.
fn record(text: &str) -> Option<(ItemKind, usize, bool)> {
    let rest = inner(text);
    if rest.is_empty() {
        return None;
    }
    let mut fields = FieldTuples { rest };
    let mut size = 0usize;
    for (_, dtype) in &mut fields {
        size = size.checked_add(plain(dtype)?.1)?;
    }
    fields
        .rest
        .trim()
        .is_empty()
        .then_some((ItemKind::Record, size, false))
}

/// The text between the brackets of a list.
fn inner(text: &str) -> &str {
    let list = text
        .trim()
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    list.unwrap_or_default()
}

/// Iterates over the tuples of two quoted texts at the start of `rest`; stops before other text.
struct FieldTuples<'a> {
    rest: &'a str,
}

impl<'a> Iterator for FieldTuples<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.trim_start().strip_prefix('(')?;
        let (name, rest) = quoted(rest)?;
        let rest = rest.trim_start().strip_prefix(',')?;
        let (dtype, rest) = quoted(rest)?;
        let rest = rest.trim_start().strip_prefix(')')?.trim_start();
        self.rest = rest.strip_prefix(',').unwrap_or(rest);
        Some((name, dtype))
    }
}

/// A quoted text without escapes, and the rest after it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (inside, rest) = text.get(1..)?.split_once(quote)?;
    (!inside.contains('\\')).then_some((inside, rest))
}
