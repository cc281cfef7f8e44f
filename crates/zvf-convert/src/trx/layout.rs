//! The names of the members of an archive. Arrays have no header; the name `NAME.TYPE` or `NAME.WIDTH.TYPE` declares their type. Numbers are
//! little-endian.

use arrow_schema::DataType;

/// Counts, and the affine and dimensions of the reference image.
pub(super) const HEADER: &str = "header.json";
/// The array of positions, and the array with the first point of each streamline.
pub(super) const POSITIONS: &str = "positions";
pub(super) const OFFSETS: &str = "offsets";
/// Folders with attributes of points, attributes of streamlines, groups, and attributes of groups.
pub(super) const OF_POINTS: &str = "dpv";
pub(super) const OF_LINES: &str = "dps";
pub(super) const GROUPS: &str = "groups";
pub(super) const OF_GROUPS: &str = "dpg";

/// The Arrow type of each ending of a name.
const TYPES: [(&str, DataType); 12] = [
    ("bool", DataType::Boolean),
    ("uint8", DataType::UInt8),
    ("int8", DataType::Int8),
    ("int16", DataType::Int16),
    ("int32", DataType::Int32),
    ("int64", DataType::Int64),
    ("uint16", DataType::UInt16),
    ("uint32", DataType::UInt32),
    ("uint64", DataType::UInt64),
    ("float16", DataType::Float16),
    ("float32", DataType::Float32),
    ("float64", DataType::Float64),
];

/// The Arrow type of an ending.
pub(super) fn number_type(ending: &str) -> Option<DataType> {
    let mut types = TYPES.iter();
    let (_, number) = types.find(|(one, _)| *one == ending)?;
    Some(number.clone())
}

/// The ending that is written for an Arrow type; booleans are written as `uint8`.
pub(super) fn ending(number: &DataType) -> Option<&'static str> {
    let number = match number {
        DataType::Boolean => &DataType::UInt8,
        other => other,
    };
    let mut types = TYPES.iter();
    let (ending, _) = types.find(|(_, one)| one == number)?;
    Some(ending)
}

/// The name of an array, without its folder: a width of 1 is not stated.
pub(super) fn file_name(name: &str, width: usize, ending: &str) -> String {
    match width {
        1 => format!("{name}.{ending}"),
        width => format!("{name}.{width}.{ending}"),
    }
}

/// Splits a file name: the text before the type, the name of the array, its width if stated, and the type.
pub(super) fn parts(file: &str) -> Option<(&str, &str, Option<usize>, &str)> {
    let (rest, ending) = file.rsplit_once('.')?;
    let (name, width) = match rest.rsplit_once('.') {
        Some((name, width)) if width.bytes().all(|byte| byte.is_ascii_digit()) => {
            (name, Some(width.parse().ok()?))
        }
        _ => (rest, None),
    };
    (!name.is_empty()).then_some((rest, name, width, ending))
}
