//! The type of the elements of a volume.

use zvf_format::dtype::{ByteOrder, DType, DTypeKind};

/// The type of the elements of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// The type in NumPy's notation, for example `<f4`; for other types the stored text.
    pub text: String,
    /// Bytes of an element.
    pub size: usize,
    /// The number type; `None` for texts, records and opaque bytes.
    pub number: Option<DType>,
}

impl Element {
    /// The byte order of this machine.
    pub(crate) const NATIVE: ByteOrder = if cfg!(target_endian = "big") {
        ByteOrder::Big
    } else {
        ByteOrder::Little
    };

    /// A number type.
    #[must_use]
    pub fn number(dtype: DType) -> Self {
        Self {
            text: numpy(dtype),
            size: dtype.size(),
            number: Some(dtype),
        }
    }

    /// Parses the name of a NumPy or Zarr type, for elements of `size` bytes; opaque if the name is
    /// unknown.
    pub(crate) fn parse(text: &str, size: usize) -> Self {
        let number = DType::parse(text)
            .ok()
            .filter(|dtype| dtype.size() == size && is_number(*dtype));
        // A type of another size does not describe the elements.
        let other = zvf_caterva::dtype::size_of(text).is_some_and(|found| found != size);
        Self {
            text: if text.is_empty() || other {
                format!("|V{size}")
            } else {
                text.to_owned()
            },
            size,
            number,
        }
    }

    /// Converts elements to another byte order, in place. Records and texts do not change.
    pub(crate) fn to_order(&self, order: ByteOrder, bytes: &mut [u8]) {
        let Some(dtype) = self.number.filter(|one| one.order != order) else {
            return;
        };
        for number in bytes.chunks_exact_mut(dtype.number_size().max(1)) {
            number.reverse();
        }
    }
}

fn is_number(dtype: DType) -> bool {
    dtype.is_integer() || dtype.is_float() || dtype.kind == DTypeKind::Bool
}

/// The name of a number type in NumPy's notation.
fn numpy(dtype: DType) -> String {
    let order = match (dtype.size(), dtype.order) {
        (1, _) => '|',
        (_, ByteOrder::Big) => '>',
        _ => '<',
    };
    let letter = match dtype.kind {
        DTypeKind::Bool => 'b',
        _ if dtype.is_float() => 'f',
        DTypeKind::U8 | DTypeKind::U16 | DTypeKind::U32 | DTypeKind::U64 => 'u',
        _ => 'i',
    };
    format!("{order}{letter}{}", dtype.size())
}

/// The number in these bytes; NaN if there are too few bytes or the type is not a number.
#[expect(
    clippy::cast_precision_loss,
    reason = "the nearest float64 is what linear values are made of"
)]
pub(crate) fn number(dtype: DType, bytes: &[u8]) -> f64 {
    macro_rules! stored {
        ($type:ty) => {
            match bytes.first_chunk::<{ size_of::<$type>() }>() {
                Some(bytes) => {
                    let mut bytes = *bytes;
                    if dtype.order == ByteOrder::Big {
                        bytes.reverse();
                    }
                    <$type>::from_le_bytes(bytes)
                }
                None => return f64::NAN,
            }
        };
    }
    match dtype.kind {
        DTypeKind::F16 => half::f16::to_f64(stored!(half::f16)),
        DTypeKind::F32 => f64::from(stored!(f32)),
        DTypeKind::F64 => stored!(f64),
        DTypeKind::I8 => f64::from(stored!(i8)),
        DTypeKind::I16 => f64::from(stored!(i16)),
        DTypeKind::I32 => f64::from(stored!(i32)),
        DTypeKind::I64 => stored!(i64) as f64,
        DTypeKind::U16 => f64::from(stored!(u16)),
        DTypeKind::U32 => f64::from(stored!(u32)),
        DTypeKind::U64 => stored!(u64) as f64,
        DTypeKind::Bool | DTypeKind::U8 => f64::from(stored!(u8)),
        _ => f64::NAN,
    }
}
