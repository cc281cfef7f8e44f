//! Types of the options of `plot`. Values are texts, and some may also be numbers or lists.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use zvf_plot::{ColorBy, Colormap, LevelChoice, PlotError, Rgb, UpAxis};

/// Legal widths and heights.
const SIDES: RangeInclusive<u32> = 1..=32_768;

/// Formats of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum PictureFormat {
    /// Pixels
    Png,
    /// Paths, circles and polygons
    Svg,
}

written! {
    /// `auto`, or the number of a level.
    DrawnLevel(LevelChoice): {"type": ["string", "integer"]}, level, default "auto": LevelChoice::Auto;
    /// A rule of colours: a word, the name of an attribute, or a colour.
    ColorText(ColorBy): {"type": "string"}, parsed;
    /// A colour map by its name.
    ColormapName(Colormap): {"type": "string"}, parsed;
    /// The numbers at the ends of a colour map, the smaller one first: a list, or `LO,HI`.
    ColorRange([f64; 2]): {"anyOf": [{"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}, {"type": "string"}]}, range;
    /// The axis that points up, such as `-y`.
    UpText(UpAxis): {"type": "string"}, parsed;
    /// Width and height in pixels: a list, or `W,H`.
    PictureSize([u32; 2]): {"anyOf": [
        {"type": "array", "items": {"type": "integer", "minimum": SIDES.start(), "maximum": SIDES.end()}, "minItems": 2, "maxItems": 2},
        {"type": "string"},
    ]}, size, default "1200,900": [1200, 900];
    /// The background of a picture: a colour, or `transparent`, which is `None`.
    Ground(Option<Rgb>): {"type": "string"}, ground, default "black": Some(Rgb::BLACK);
}

fn parsed<T: FromStr<Err = PlotError>>(value: &Value) -> Result<T, String> {
    let text = value.as_str().ok_or("expected a text")?;
    text.parse().map_err(|error: PlotError| error.to_string())
}

fn level(value: &Value) -> Result<LevelChoice, String> {
    let number = match value {
        Value::String(text) if text == "auto" => return Ok(LevelChoice::Auto),
        Value::String(text) => text.parse().ok(),
        other => other.as_u64().and_then(|number| u32::try_from(number).ok()),
    };
    let level = number.map(LevelChoice::Number);
    level.ok_or_else(|| format!("found {value}, expected auto or the number of a level"))
}

/// Two numbers: a list, or a text in which one of the `signs` separates them.
fn pair<T: FromStr + DeserializeOwned>(value: &Value, signs: &[char]) -> Option<[T; 2]> {
    let Value::String(text) = value else {
        let (first, second) = Deserialize::deserialize(value).ok()?;
        return Some([first, second]);
    };
    let (first, second) = text.split_once(signs)?;
    Some([first.trim().parse().ok()?, second.trim().parse().ok()?])
}

fn range(value: &Value) -> Result<[f64; 2], String> {
    let ends = pair(value, &[','])
        .filter(|[low, high]: &[f64; 2]| low.is_finite() && high.is_finite() && low < high);
    ends.ok_or_else(|| {
        format!("found {value}, expected two numbers such as 0,1, the smaller one first")
    })
}

fn size(value: &Value) -> Result<[u32; 2], String> {
    let sides = pair(value, &[',', 'x']);
    sides
        .filter(|sides: &[u32; 2]| sides.iter().all(|side| SIDES.contains(side)))
        .ok_or_else(|| {
            format!(
                "found {value}, expected width and height from {} to {} pixels, such as 1200,900",
                SIDES.start(),
                SIDES.end()
            )
        })
}

fn ground(value: &Value) -> Result<Option<Rgb>, String> {
    match value.as_str() {
        Some("transparent" | "none") => Ok(None),
        _ => parsed(value).map(Some),
    }
}
