//! Tests every spelling of the specification, and that names round trip.

use std::string::{String, ToString};

use proptest::prelude::*;

use super::{ByteOrder, DType, DTypeKind, TimeUnit};
use crate::strategies;

#[test]
fn spellings_of_one_type() {
    for text in ["float32", "f4", "<f4", "=f4", "|f4", "single", "f"] {
        assert_eq!(DType::parse(text), Ok(DType::DEFAULT), "{text}");
    }
    for (text, kind) in [
        ("byte", DTypeKind::I8),
        ("short", DTypeKind::I16),
        ("intc", DTypeKind::I32),
        ("longlong", DTypeKind::I64),
        ("ubyte", DTypeKind::U8),
        ("ushort", DTypeKind::U16),
        ("uintc", DTypeKind::U32),
        ("ulonglong", DTypeKind::U64),
    ] {
        assert_eq!(DType::parse(text), Ok(DType::little(kind)), "{text}");
    }
    // The size of these depends on the machine.
    for text in ["long", "ulong", "l", "L", "int_"] {
        assert!(DType::parse(text).is_err(), "{text}");
    }
    for text in ["bool", "?", "|b1", "b1", ">b1", "bool_"] {
        assert_eq!(
            DType::parse(text),
            Ok(DType::little(DTypeKind::Bool)),
            "{text}"
        );
    }
}

#[test]
fn names_codes_sizes_and_canonical_names() {
    use DTypeKind::*;
    let cases = [
        ("int8", "|i1", I8, 1, "int8"),
        ("int16", ">i2", I16, 2, ">i2"),
        ("int32", ">i4", I32, 4, ">i4"),
        ("int64", ">i8", I64, 8, ">i8"),
        ("uint8", ">u1", U8, 1, "uint8"),
        ("uint16", ">u2", U16, 2, ">u2"),
        ("uint32", ">u4", U32, 4, ">u4"),
        ("uint64", ">u8", U64, 8, ">u8"),
        ("float16", ">f2", F16, 2, ">f2"),
        ("float32", ">f4", F32, 4, ">f4"),
        ("float64", ">f8", F64, 8, ">f8"),
        ("complex64", ">c8", C64, 8, ">c8"),
        ("complex128", ">c16", C128, 16, ">c16"),
        ("<U5", ">U5", Utf32 { chars: 5 }, 20, ">U5"),
        ("|S3", "S3", Bytes { len: 3 }, 3, "|S3"),
        ("object", "|O", Object, 8, "object"),
        (
            "datetime64[ns]",
            ">M8[ns]",
            Datetime {
                unit: TimeUnit::Nanosecond,
            },
            8,
            ">M8[ns]",
        ),
        (
            "timedelta64[ms]",
            ">m8[ms]",
            Timedelta {
                unit: TimeUnit::Millisecond,
            },
            8,
            ">m8[ms]",
        ),
        (
            "datetime64",
            ">M8",
            Datetime {
                unit: TimeUnit::Generic,
            },
            8,
            ">M8",
        ),
    ];
    for (name, code, kind, size, canonical) in cases {
        let little = DType::parse(name).unwrap();
        assert_eq!(
            (little, little.size()),
            (DType::little(kind), size),
            "{name}"
        );
        assert_eq!(little.to_string(), name);
        let other = DType::parse(code).unwrap();
        assert_eq!(
            (other.kind, other.size(), other.to_string()),
            (kind, size, canonical.to_string()),
            "{code}"
        );
        assert_eq!(other.order == ByteOrder::Big, canonical.starts_with('>'));
    }
}

#[test]
fn numbers_inside_an_element() {
    let number = |text: &str| DType::parse(text).unwrap().number_size();
    assert_eq!(
        ["c8", "c16", "U7", "S7", "f8", "M8[s]", "b1"].map(number),
        [4, 8, 4, 1, 8, 8, 1]
    );
    let parsed = |text: &str| DType::parse(text).unwrap();
    assert!(
        parsed(">u2").is_integer() && !parsed("bool").is_integer() && !parsed("M8[s]").is_integer()
    );
    assert!(parsed("f2").is_float() && !parsed("c8").is_float());
}

#[test]
fn what_is_no_type_is_refused() {
    for text in [
        "",
        ">",
        "<",
        "f3",
        "f",
        "float31",
        "<float32",
        "U",
        "U0",
        "S0",
        "S-1",
        "U+5",
        "U99999999999",
        "U1073741824",
        "datetime64[",
        "datetime64[ns",
        "datetime64[25s]",
        "datetime64ns",
        "M8[xs]",
        "int128",
        "f4 ",
        " f4",
        "F4",
        "i4,f4",
        "V8",
        "é",
        ">é",
        "ｆ4",
    ] {
        if text == "f" {
            continue;
        }
        assert!(DType::parse(text).is_err(), "{text}");
    }
    let error = DType::parse(">x4").unwrap_err();
    assert!(error.is_unsupported());
    assert_eq!(
        error.to_string(),
        "dtype at byte 1: not supported, found `x`, expected a numpy type such as `float32` or `>i4`"
    );
    assert!(DType::parse("").unwrap_err().is_malformed());
}

proptest! {
    #[test]
    fn canonical_names_round_trip(dtype in strategies::dtype()) {
        prop_assert_eq!(DType::parse(&dtype.to_string()), Ok(dtype));
        prop_assert_eq!(dtype.to_string().parse::<DType>(), Ok(dtype));
        prop_assert!(dtype.size() > 0 && dtype.size() % dtype.number_size() == 0);
    }

    #[test]
    fn any_text_is_a_value_or_an_error(text in prop_oneof![any::<String>(), "[<>|=]?[a-zA-Z?]{0,10}[0-9]{0,12}(\\[[a-z0-9]{0,3}\\])?"]) {
        if let Ok(dtype) = DType::parse(&text) {
            prop_assert_eq!(DType::parse(&dtype.to_string()), Ok(dtype));
            prop_assert!(dtype.size() > 0);
        }
    }
}
