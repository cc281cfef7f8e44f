//! Declarative layouts: for each wire structure, a struct with an asserted size, and a table of its fields.
//!
//! Decoders use the struct; programs that print bytes use the table. [`layout!`](crate::layout!) generates both from one declaration, so they
//! cannot disagree: the compiler computes offsets and widths, and a field's rule is its documentation.

use zerocopy::byteorder::{big_endian as be, little_endian as le};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A type that can be read in place, at any alignment.
pub trait Wire: FromBytes + KnownLayout + Immutable + Unaligned + Sized + 'static {
    /// The first `count` values in `bytes`. `None` if there are fewer.
    #[must_use]
    fn several(bytes: &[u8], count: usize) -> Option<&[Self]> {
        let (values, _) = <[Self]>::ref_from_prefix_with_elems(bytes, count).ok()?;
        Some(values)
    }
}
impl<T: FromBytes + KnownLayout + Immutable + Unaligned + 'static> Wire for T {}

/// A wire structure with the table of its fields, in stored order.
pub trait Layout: Wire {
    /// The fields.
    const FIELDS: &'static [Field];

    /// The structure with the bytes of every number reversed, for formats whose files may have either byte order.
    #[must_use]
    fn byte_swapped(&self) -> Self
    where
        Self: IntoBytes + Copy,
    {
        let mut swapped = *self;
        for field in Self::FIELDS {
            let end = field.at.saturating_add(field.width);
            if let Some(bytes) = swapped.as_mut_bytes().get_mut(field.at..end) {
                let numbers = bytes.chunks_exact_mut(field.numbers.width.max(1));
                numbers.for_each(<[u8]>::reverse);
            }
        }
        swapped
    }
}

/// One field of a wire structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name in the specification of the format.
    pub name: &'static str,
    /// First byte, from the start of the structure.
    pub at: usize,
    /// Bytes.
    pub width: usize,
    /// The numbers in this field.
    pub numbers: Numbers,
    /// Its meaning, and the legal values.
    pub rule: &'static str,
}

/// One number, or several adjacent ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    /// Bytes of each number.
    pub width: usize,
    /// Whether numbers are in two's complement.
    pub signed: bool,
    /// Whether the most significant byte comes first.
    pub big_endian: bool,
}

impl Field {
    /// The numbers in the bytes of this field; for floats, their bits.
    pub fn numbers(self, bytes: &[u8]) -> impl Iterator<Item = i128> {
        let Numbers {
            width,
            signed,
            big_endian,
        } = self.numbers;
        bytes.chunks_exact(width.max(1)).map(move |bytes| {
            let push = |number: i128, byte: &u8| number << 8 | i128::from(*byte);
            let number = match big_endian {
                true => bytes.iter().fold(0, push),
                false => bytes.iter().rev().fold(0, push),
            };
            let above = 1_i128 << (8 * width.min(8));
            if signed && number >= above / 2 {
                number - above
            } else {
                number
            }
        })
    }
}

/// A type that a field can have.
pub trait Value: Wire {
    /// The numbers in a value.
    const NUMBERS: Numbers;
    /// Bytes of the encoding before the first number.
    const MARKER: usize = 0;
}

macro_rules! values {
    ($($type:ty: $signed:literal $big:literal,)+) => {$(
        impl Value for $type {
            const NUMBERS: Numbers = Numbers {
                width: size_of::<Self>(),
                signed: $signed,
                big_endian: $big,
            };
        }
    )+};
}
values! {
    u8: false false,
    le::U16: false false,
    le::U32: false false,
    le::U64: false false,
    le::F32: false false,
    le::F64: false false,
    le::I16: true false,
    le::I32: true false,
    le::I64: true false,
    be::U16: false true,
    be::U32: false true,
    be::F32: false true,
    be::I16: true true,
    be::I32: true true,
    be::I64: true true,
}

impl<T: Value, const N: usize> Value for [T; N] {
    const NUMBERS: Numbers = T::NUMBERS;
}

/// The first of `names`: the label given to [`layout!`](crate::layout!), or else the member's name.
#[doc(hidden)]
#[must_use]
pub const fn first(names: &[&'static str]) -> &'static str {
    match names {
        [name, ..] => name,
        [] => "",
    }
}

/// Declares wire structures: `pub struct Name: BYTES { /// rule  pub member: Type, .. }`, each with [`Layout`] and the assertion of its size.
///
/// `member as "F"` is a field that the format calls F. Members have unaligned types: [`Value`]s.
///
/// ```
/// use zvf_format::layout::Layout;
///
/// zvf_format::layout! {
///     /// Head of a blob.
///     pub struct Head: 6 {
///         /// things that follow
///         pub count as "N": zvf_format::U32,
///         /// reserved, 0
///         pub flags: [u8; 2],
///     }
/// }
/// let (count, flags) = (Head::FIELDS[0], Head::FIELDS[1]);
/// assert_eq!((count.name, count.at, count.width, count.rule), ("N", 0, 4, "things that follow"));
/// assert_eq!((flags.name, flags.at, flags.width), ("flags", 4, 2));
/// assert_eq!(count.numbers(&[2, 1, 0, 0]).collect::<Vec<_>>(), [258]);
/// ```
#[macro_export]
macro_rules! layout {
    ($(
        $(#[$about:meta])*
        pub struct $name:ident: $bytes:literal {
            $($(#[doc = $rule:literal])+ $vis:vis $member:ident $(as $label:literal)?: $type:ty,)+
        }
    )+) => {$(
        $(#[$about])*
        #[derive(
            Debug,
            Clone,
            Copy,
            PartialEq,
            Eq,
            ::zerocopy::FromBytes,
            ::zerocopy::IntoBytes,
            ::zerocopy::KnownLayout,
            ::zerocopy::Immutable,
            ::zerocopy::Unaligned,
        )]
        #[repr(C)]
        pub struct $name {
            $($(#[doc = $rule])+ $vis $member: $type,)+
        }
        const _: () = assert!(size_of::<$name>() == $bytes && align_of::<$name>() == 1);
        impl $crate::layout::Layout for $name {
            const FIELDS: &'static [$crate::layout::Field] = &[$({
                const MARKER: usize = <$type as $crate::layout::Value>::MARKER;
                $crate::layout::Field {
                    name: $crate::layout::first(&[$($label,)? stringify!($member)]),
                    at: ::core::mem::offset_of!($name, $member) + MARKER,
                    width: size_of::<$type>() - MARKER,
                    numbers: <$type as $crate::layout::Value>::NUMBERS,
                    rule: concat!($($rule),+).trim_ascii(),
                }
            }),+];
        }
    )+};
}
