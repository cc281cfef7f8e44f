//! Parsers of polygons in well-known text and GeoJSON.

use serde_json::Value;

use super::cursor::TextCursor;
use super::polygon::{MOST_VERTICES, Polygons, Ring};
use crate::filter::SyntaxError;

/// Parses `POLYGON (..)` or `MULTIPOLYGON (..)`. Of each vertex, the numbers after the first two are skipped.
///
/// # Errors
///
/// A syntax error with its position, or invalid polygons with the position of their first byte.
pub(super) fn polygons(text: &mut TextCursor<'_>) -> Result<Polygons, SyntaxError> {
    const KINDS: &str = "POLYGON or MULTIPOLYGON";
    text.peek();
    let start = text.at();
    let several = if text.eat_word("polygon") {
        false
    } else if text.eat_word("multipolygon") {
        true
    } else {
        return Err(text.expected(KINDS));
    };
    for dimensions in ["zm", "z", "m"] {
        if text.eat_word(dimensions) {
            break;
        }
    }
    let mut left = MOST_VERTICES;
    let parts = if text.eat_word("empty") {
        Vec::new()
    } else if several {
        list(text, &mut |text| rings(text, &mut left))?
    } else {
        vec![rings(text, &mut left)?]
    };
    Polygons::new(parts).map_err(|what| SyntaxError { at: start, what })
}

fn rings(text: &mut TextCursor<'_>, left: &mut usize) -> Result<Vec<Ring>, SyntaxError> {
    if text.eat_word("empty") {
        return Ok(Vec::new());
    }
    list(text, &mut |text| {
        list(text, &mut |text| {
            let Some(rest) = left.checked_sub(1) else {
                let what = format!("found more than {MOST_VERTICES} vertices");
                return Err(SyntaxError {
                    at: text.at(),
                    what,
                });
            };
            *left = rest;
            let vertex = [text.coordinate()?, text.coordinate()?];
            for _ in 0..2 {
                if !matches!(text.peek(), Some(',' | ')')) {
                    text.number()?;
                }
            }
            Ok(vertex)
        })
    })
}

/// Parses items between commas, in parentheses.
pub(super) fn list<T>(
    text: &mut TextCursor<'_>,
    item: &mut dyn FnMut(&mut TextCursor<'_>) -> Result<T, SyntaxError>,
) -> Result<Vec<T>, SyntaxError> {
    text.expect('(')?;
    let mut items = vec![item(text)?];
    while text.eat(',') {
        items.push(item(text)?);
    }
    text.expect(')')?;
    Ok(items)
}

/// The polygons in GeoJSON: of a geometry, a feature, or a collection.
///
/// # Errors
///
/// A text with the path and the error.
pub(super) fn of_geojson(json: &Value) -> Result<Polygons, String> {
    let mut parts = Vec::new();
    collect(json, "", &mut parts)?;
    Polygons::new(parts)
}

fn collect(json: &Value, path: &str, into: &mut Vec<Vec<Ring>>) -> Result<(), String> {
    const KINDS: &str = "Polygon, MultiPolygon, Feature, FeatureCollection or GeometryCollection";
    let member = |name: &str| format!("{path}{}{name}", if path.is_empty() { "" } else { "." });
    let list = |name: &str| {
        let items = json.get(name).and_then(Value::as_array);
        items.ok_or_else(|| format!("{}: expected a list", member(name)))
    };
    let each = |name: &str, into: &mut Vec<Vec<Ring>>| {
        let mut items = list(name)?.iter().enumerate();
        items.try_for_each(|(at, item)| collect(item, &format!("{}[{at}]", member(name)), into))
    };
    match json.get("type").and_then(Value::as_str) {
        Some("Polygon") => {
            let path = member("coordinates");
            into.push(rings_of(list("coordinates")?, &path)?);
        }
        Some("MultiPolygon") => {
            for (at, part) in list("coordinates")?.iter().enumerate() {
                let path = format!("{}[{at}]", member("coordinates"));
                let rings = part
                    .as_array()
                    .ok_or_else(|| format!("{path}: expected a list of rings"))?;
                into.push(rings_of(rings, &path)?);
            }
        }
        Some("Feature") => match json.get("geometry") {
            None | Some(Value::Null) => {}
            Some(geometry) => collect(geometry, &member("geometry"), into)?,
        },
        Some("FeatureCollection") => each("features", into)?,
        Some("GeometryCollection") => each("geometries", into)?,
        Some(other) => {
            return Err(format!(
                "{}: found {other:?}, expected {KINDS}",
                member("type")
            ));
        }
        None => return Err(format!("{}: expected {KINDS}", member("type"))),
    }
    Ok(())
}

fn rings_of(rings: &[Value], path: &str) -> Result<Vec<Ring>, String> {
    let vertex = |(at, vertex): (usize, &Value), path: &str| {
        let numbers = vertex.as_array().and_then(|numbers| {
            let number = |at: usize| numbers.get(at)?.as_f64();
            Some([number(0)?, number(1)?])
        });
        numbers.ok_or_else(|| format!("{path}[{at}]: expected two numbers or more"))
    };
    let ring = |(at, ring): (usize, &Value)| {
        let path = format!("{path}[{at}]");
        let vertices = ring
            .as_array()
            .ok_or_else(|| format!("{path}: expected a list of vertices"))?;
        let vertices = vertices.iter().enumerate();
        vertices.map(|one| vertex(one, &path)).collect()
    };
    rings.iter().enumerate().map(ring).collect()
}
