//! Values of options with more than one notation: text on the command line; text, numbers or lists in job files.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use zvf_codec::Compression;
use zvf_convert::{Format, Nulls, Space};
use zvf_encode::{AttributeSpec, AttributeType, Kind, NumberType, ShardShape, TargetVersion};
use zvf_neuroglancer::Shards;
use zvf_query::{BBox, PieceOf, StatisticsBy};
use zvf_validate::Check;

written! {
    /// A geometry by its name, such as `point_cloud`.
    KindName(Kind): {"type": "string"}, |value| text(value, kind);
    /// A format of files by an ending, such as `csv`, or `precomputed`.
    FormatName(Format): {"type": "string"}, |value| text(value, format);
    /// `keep`, `error`, `drop-row`, or a whole number.
    NullsName(Nulls): {"anyOf": [{"enum": ["keep", "error", "drop-row"]}, {"type": "integer"}]}, nulls, default "keep": Nulls::Keep;
    /// One character between columns; `tab` is a tab.
    Delimiter(u8): {"type": "string"}, |value| text(value, delimiter);
    /// The decimal point of numbers, `.` or `,`; whether it is a comma.
    DecimalMark(bool): {"enum": [".", ","]}, |value| text(value, decimal), default ".": false;
    /// `text`, `bool`, or a type of numbers such as `int64`.
    ColumnType(AttributeType): {"type": "string"}, |value| text(value, column_type);
    /// A new name of a column.
    ColumnName(String): {"type": "string", "minLength": 1}, |value| text(value, column_name);
    /// A value of an attribute.
    FillValue(String): {"type": ["string", "number", "boolean"]}, fill;
    /// A type of numbers, such as `float32`.
    NumberName(NumberType): {"type": "string"}, |value| text(value, number), default "float32": NumberType::F32;
    /// A number, also `nan`, `inf` or `-inf` as a text.
    OutsideValue(OutsideNumber): {"type": ["number", "string"]}, outside;
    /// An attribute as `NAME:TYPE` or `NAME:TYPE:CHANNELS`.
    AttributeText(AttributeSpec): {"type": "string"}, |value| text(value, attribute);
    /// A check of the validator by its code or name.
    CheckName(Check): {"type": "string"}, |value| text(value, check);
    /// `object` or `group`.
    StatisticsUnit(StatisticsBy): {"enum": ["object", "group"]}, |value| text(value, |text| text.parse().map_err(|_| "object or group"));
    /// Two corners, as `0,0,0:90,90,9`.
    Corners(BBox): {"type": "string"}, |value| text(value, corners);
    /// A box on the axes x, y and z: two corners, or ranges of some axes.
    SpaceBox(BBox): {"type": "string"}, |value| text(value, space_box);
    /// How chunks are compressed: a text such as `zstd:3`, or a list of codecs.
    CodecChoice(Compression): {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": ["string", "object"]}}]}, codec, default "auto": Compression::Auto;
    /// Levels that links span, such as `+1`.
    DeltaText(i32): {"type": ["string", "integer"]}, |value| {
        let number = value.is_number().then(|| json!(value.to_string()));
        // `1` means `+1`.
        text(number.as_ref().unwrap_or(value), |text| {
            text.parse().map_err(|_| "0, +1, -1 and the like")
        })
    }, default "0": 0;
    /// A piece of a selection, `I/N` or `I/N@TAG`.
    PieceText(PieceOf): {"type": "string"}, |value| text(value, |text| {
        text.parse().map_err(|_| "I/N with I from 0 and below N, e.g. 3/16, or I/N@TAG with a tag of `zvf splits`")
    });
    /// The shards of views for Neuroglancer: `auto`, `none`, or the number of bits that number them.
    ViewShards(Shards): {"anyOf": [{"enum": ["auto", "none"]}, {"type": "integer", "minimum": 0, "maximum": 20}]}, |value| {
        let number = value.is_number().then(|| json!(value.to_string()));
        text(number.as_ref().unwrap_or(value), view_shards)
    }, default "auto": Shards::Auto;
    /// Chunks of a shard along each axis, `auto` or `none`.
    ShardChoice(ShardShape): {"anyOf": [
        {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1},
        {"enum": ["auto", "none"]},
    ]}, shards, default "auto": ShardShape::Auto;
}

/// Reads a text; the error of `read` states what is expected.
fn text<T, E: Display>(
    value: &Value,
    read: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, String> {
    let text = value.as_str().ok_or("expected a text")?;
    read(text).map_err(|expected| format!("found {text:?}, expected {expected}"))
}

fn kind(text: &str) -> Result<Kind, String> {
    let names = || Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>();
    Kind::from_name(text).ok_or_else(|| format!("one of {}", names().join(", ")))
}

fn format(text: &str) -> Result<Format, &'static str> {
    Format::from_name(text.trim_start_matches('.'))
        .ok_or("an ending such as csv, ndjson, arrow, parquet, npy, swc or trk, or precomputed")
}

fn view_shards(text: &str) -> Result<Shards, &'static str> {
    const MOST: u32 = 20;
    let bits = |text: &str| text.parse().ok().filter(|bits| *bits <= MOST);
    match text {
        "auto" => Ok(Shards::Auto),
        "none" => Ok(Shards::None),
        text => (bits(text).map(Shards::Bits)).ok_or("auto, none, or a number of bits up to 20"),
    }
}

fn nulls(value: &Value) -> Result<Nulls, String> {
    let number = value.is_number().then(|| json!(value.to_string()));
    text(number.as_ref().unwrap_or(value), |text| {
        let nulls = text.parse();
        nulls.map_err(|_| "keep, error, drop-row or a whole number")
    })
}

fn delimiter(text: &str) -> Result<u8, &'static str> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err("one character such as ; or the word tab"),
    }
}

fn decimal(text: &str) -> Result<bool, &'static str> {
    match text {
        "." | "," => Ok(text == ","),
        _ => Err(". or ,"),
    }
}

fn column_type(text: &str) -> Result<AttributeType, &'static str> {
    if text == "text" {
        return Ok(AttributeType::Category);
    }
    let number = NumberType::from_name(text).map(AttributeType::Number);
    number.ok_or("text, bool, or a type of numbers such as int64")
}

fn column_name(text: &str) -> Result<String, &'static str> {
    let name = (!text.is_empty()).then(|| text.to_owned());
    name.ok_or("a name")
}

fn fill(value: &Value) -> Result<String, String> {
    match value {
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        _ => text(value, |text| Ok::<_, String>(text.to_owned())),
    }
}

/// A number whose type is known later. Whole numbers keep all their digits, which float64 does not hold beyond 2^53.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OutsideNumber {
    /// A whole number, written without an exponent.
    Whole(i128),
    /// Any other number.
    Real(f64),
}

fn outside(value: &Value) -> Result<OutsideNumber, String> {
    // JSON numbers with a point or an exponent were already rounded to float64 by the parser.
    if let Some(real) = value.as_f64().filter(|_| value.is_f64()) {
        return Ok(OutsideNumber::Real(real));
    }
    let number = value.is_number().then(|| json!(value.to_string()));
    text(number.as_ref().unwrap_or(value), |text| {
        // `3.0` counts as the whole number `3`.
        let digits = text.split_once('.').map_or(text, |(whole, rest)| {
            match rest.bytes().all(|byte| byte == b'0') {
                true => whole,
                false => text,
            }
        });
        if let Ok(whole) = digits.parse::<i128>() {
            // Negative zero is a float.
            let is_zero = whole == 0 && text.starts_with('-');
            return Ok(match is_zero {
                true => OutsideNumber::Real(-0.0),
                false => OutsideNumber::Whole(whole),
            });
        }
        let real: f64 = text.parse().map_err(|_| "a number")?;
        match real.is_infinite() && text.bytes().any(|byte| byte.is_ascii_digit()) {
            true => Err("a number in the range of float64"),
            false => Ok(OutsideNumber::Real(real)),
        }
    })
}

fn number(text: &str) -> Result<NumberType, &'static str> {
    NumberType::from_name(text).ok_or("a number type such as float32")
}

/// `NAME:TYPE`, `NAME:TYPE:3` or `NAME:TYPE:r,g,b`.
fn attribute(text: &str) -> Result<AttributeSpec, &'static str> {
    const EXPECTED: &str =
        "NAME:TYPE or NAME:TYPE:CHANNELS, such as fa:float32 or color:uint8:r,g,b";
    let mut parts = text.splitn(3, ':');
    let (name, values) = (parts.next().unwrap_or_default(), parts.next());
    let spec = match (name, values.ok_or(EXPECTED)?) {
        ("", _) => return Err(EXPECTED),
        (name, "category") => AttributeSpec::category(name),
        (name, "text") => AttributeSpec::text(name),
        (name, other) => AttributeSpec::number(name, NumberType::from_name(other).ok_or(EXPECTED)?),
    };
    Ok(match parts.next() {
        None => spec,
        Some(channels) => match channels.parse::<usize>() {
            Ok(count) => spec.with_channels(count),
            Err(_) => spec.with_channel_names(channels.split(',')),
        },
    })
}

fn check(text: &str) -> Result<Check, &'static str> {
    let named = Check::all().into_iter().find(|info| info.title == text);
    let found = named.map(|info| info.check);
    found
        .or_else(|| Check::from_code(text))
        .ok_or("the code or name of a check: `zvf validate --list-checks` lists them")
}

fn corners(text: &str) -> Result<BBox, &'static str> {
    BBox::parse(text).map_err(|_| "LO:HI, each with one number per axis, such as 0,0,0:90,90,9")
}

fn space_box(text: &str) -> Result<BBox, String> {
    let parsed = BBox::parse_on(text, &["x", "y", "z"]);
    parsed.map_err(|error| error.to_string())
}

fn codec(value: &Value) -> Result<Compression, String> {
    let read = match value {
        Value::String(text) => text.parse(),
        Value::Array(_) => Compression::from_codecs(value.clone()),
        _ => return Err("expected a text such as zstd:3, or a list of codecs".to_owned()),
    };
    read.map_err(|error| error.to_string())
}

fn shards(value: &Value) -> Result<ShardShape, String> {
    let cells: Option<Vec<u64>> = match value {
        Value::String(text) => return text.parse(),
        Value::Array(items) => items.iter().map(Value::as_u64).collect(),
        _ => None,
    };
    let cells = cells.filter(|cells| !cells.is_empty() && !cells.contains(&0));
    cells.map(ShardShape::Cells).ok_or_else(|| {
        "expected a whole number of chunks per axis, such as [4, 4, 2], or \"auto\" or \"none\""
            .to_owned()
    })
}

/// Frames of tractograms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum SpaceName {
    /// Scanner RAS+ millimetres, as nibabel loads them
    Rasmm,
    /// TrackVis millimetres: from the corner of the first voxel, along the axes of the image
    Voxelmm,
    /// As in the file: voxelmm for TRK, rasmm for TCK and TRX
    File,
}

impl From<SpaceName> for Space {
    fn from(space: SpaceName) -> Self {
        match space {
            SpaceName::Rasmm => Self::Rasmm,
            SpaceName::Voxelmm => Self::Voxelmm,
            SpaceName::File => Self::File,
        }
    }
}

/// Names with values: a list on a command line, an object in JSON.
pub(crate) mod pairs {
    use serde::de::{DeserializeOwned, Error};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::{Map, Value};

    pub(crate) fn serialize<S: Serializer, V: Serialize>(
        pairs: &[(String, V)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(pairs.iter().map(|(name, value)| (name, value)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, V: DeserializeOwned>(
        from: D,
    ) -> Result<Vec<(String, V)>, D::Error> {
        let pairs = Map::<String, Value>::deserialize(from)?.into_iter();
        let pair = |(name, value)| Ok((name, V::deserialize(value).map_err(Error::custom)?));
        pairs.map(pair).collect()
    }
}

/// Parses `NAME=VALUE` of a command line.
///
/// # Errors
///
/// A message, if there is no `=`, the name is empty, or the value is invalid.
#[cfg(feature = "clap")]
pub fn parse_pair<V: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<(String, V), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            let value = value.parse().map_err(|error: V::Err| error.to_string())?;
            Ok((name.to_owned(), value))
        }
        _ => Err(format!("found {text:?}, expected a name, = and a value")),
    }
}

/// Reads `AXIS=N` of a command line.
#[cfg(all(feature = "clap", feature = "volumes"))]
pub(crate) fn parse_index(text: &str) -> Result<(String, u64), String> {
    let found = parse_pair::<u64>(text);
    found.map_err(|_| format!("found {text:?}, expected AXIS=N, where N is a whole number from 0"))
}

/// Reads `NAME:TYPE` of a command line.
#[cfg(feature = "clap")]
pub(crate) fn parse_axis_type(text: &str) -> Result<(String, String), String> {
    let (name, kind) = text.rsplit_once(':').ok_or("expected NAME:TYPE")?;
    Ok((name.to_owned(), kind.to_owned()))
}

/// The version of the format of a new store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum NewVersion {
    /// 0.9.2
    #[default]
    #[serde(rename = "0.9.2")]
    #[cfg_attr(feature = "clap", value(name = "0.9.2"))]
    V0_9_2,
    /// 0.8.1, flat: an array for every chunk; ids of objects are row numbers
    #[serde(rename = "0.8.1")]
    #[cfg_attr(feature = "clap", value(name = "0.8.1"))]
    V0_8_1,
}

impl From<NewVersion> for TargetVersion {
    fn from(version: NewVersion) -> Self {
        match version {
            NewVersion::V0_9_2 => Self::V0_9_2,
            NewVersion::V0_8_1 => Self::V0_8_1,
        }
    }
}

/// The factors by which chunks become larger: one for all axes, or one for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkScale(Vec<u32>);

impl ChunkScale {
    /// The factors of `dims` axes: a single factor is repeated; several are returned as written, even if they are not `dims`.
    #[must_use]
    pub fn of_axes(&self, dims: usize) -> Vec<u32> {
        match self.0.as_slice() {
            [one] => vec![*one; dims],
            all => all.to_vec(),
        }
    }

    fn new(factors: Option<Vec<u32>>) -> Option<Self> {
        factors
            .filter(|all| !all.is_empty() && !all.contains(&0))
            .map(Self)
    }
}

impl FromStr for ChunkScale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let factors = text.split('x').map(|one| one.parse().ok()).collect();
        Self::new(factors)
            .ok_or_else(|| format!("found {text:?}, expected a number or one per axis as in 2x2x1"))
    }
}

impl Serialize for ChunkScale {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(to),
            all => all.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for ChunkScale {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let factors = match Value::deserialize(from)? {
            Value::Array(items) => items.iter().map(number).collect(),
            one => number(&one).map(|one| vec![one]),
        };
        Self::new(factors).ok_or_else(|| {
            D::Error::custom("expected a number of 1 or more, or one per axis as in [2, 2, 1]")
        })
    }
}

impl JsonSchema for ChunkScale {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ChunkScale".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let factor = serde_json::json!({"type": "integer", "minimum": 1, "maximum": u32::MAX});
        json_schema!({"anyOf": [factor, {"type": "array", "items": factor, "minItems": 1}]})
    }
}

/// Reads one size of a list, in the unit of an axis.
///
/// # Errors
///
/// A message with the text, if it is not a number.
#[cfg(feature = "clap")]
pub fn parse_size(text: &str) -> Result<f64, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("found {text:?}, expected one number per axis, such as 100,100,50"))
}

#[cfg(test)]
mod tests {
    use super::{OutsideNumber, OutsideValue};
    use OutsideNumber::{Real, Whole};

    #[test]
    fn whole_numbers_outside_keep_all_digits() {
        for (text, wanted) in [
            ("9007199254740993", Whole(9_007_199_254_740_993)),
            ("18446744073709551615", Whole(i128::from(u64::MAX))),
            ("-9223372036854775808", Whole(i128::from(i64::MIN))),
            ("3.0", Whole(3)),
            ("-0.0", Real(0.0)),
            ("0.5", Real(0.5)),
            ("1e3", Real(1000.0)),
            ("-inf", Real(f64::NEG_INFINITY)),
        ] {
            let found: OutsideValue = text.parse().unwrap();
            assert_eq!(*found.value(), wanted, "{text}");
        }
        for (text, wanted) in [
            ("18446744073709551615", Whole(i128::from(u64::MAX))),
            ("-9223372036854775808", Whole(i128::from(i64::MIN))),
            ("3.0", Real(3.0)),
        ] {
            let found: OutsideValue = serde_json::from_str(text).unwrap();
            assert_eq!(*found.value(), wanted, "{text}");
        }
        for text in ["1e400", "-1e400", "", "label", ".", "1.2.0"] {
            assert!(text.parse::<OutsideValue>().is_err(), "{text}");
        }
        let nan: OutsideValue = "nan".parse().unwrap();
        assert!(matches!(*nan.value(), Real(number) if number.is_nan()));
    }
}
