//! Sets the members of a description of a query from texts and from JSON.

use serde_json::{Map, Value};
use zvf_store::Names;

use super::ids::{IdRanges, range};
use super::{GroupRef, QuerySpec};
use crate::error::nearest;
use crate::{
    BBox, ChunkRange, Column, Filter, ObjectRelation, Outputs, QueryError, Region, Select,
};

/// The members, by name.
const MEMBERS: [&str; 26] = [
    "level",
    "bbox",
    "region",
    "sphere",
    "near",
    "polygon",
    "plane",
    "touching",
    "inside",
    "starting",
    "ending",
    "passing",
    "objects",
    "groups",
    "where",
    "limit",
    "select",
    "attributes",
    "columns",
    "tables",
    "owners",
    "own_level_only",
    "ignore_missing",
    "split",
    "batch_rows",
    "memory_budget",
];

/// The error for a member.
pub(super) fn wrong(member: &str, found: &str, expected: &str) -> QueryError {
    QueryError::misuse(format!("{member}: found {found}, expected {expected}"))
}

/// A value for a message, shortened if it is long.
pub(super) fn shown(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}..", text.get(..at).unwrap_or("")),
        None => text,
    }
}

fn whole(member: &str, text: &str) -> Result<u64, QueryError> {
    let number = text.trim().parse();
    number.map_err(|_| wrong(member, text, "a whole number that is not negative"))
}

pub(super) fn truth(member: &str, text: &str) -> Result<bool, QueryError> {
    match text.trim() {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(wrong(member, &format!("{other:?}"), "true or false")),
    }
}

/// The items between commas, none of them empty.
fn words<'t>(member: &str, text: &'t str, expected: &str) -> Result<Vec<&'t str>, QueryError> {
    let words: Vec<&str> = text.split(',').map(str::trim).collect();
    if words.iter().any(|word| word.is_empty()) {
        return Err(wrong(member, &format!("{text:?}"), expected));
    }
    Ok(words)
}

fn tables<'t>(names: impl IntoIterator<Item = &'t str>) -> Result<Outputs, QueryError> {
    let mut found = Outputs {
        vertices: false,
        links: false,
        objects: false,
    };
    for name in names {
        match name {
            "vertices" => found.vertices = true,
            "links" => found.links = true,
            "objects" => found.objects = true,
            other => {
                let expected = "vertices, links or objects";
                return Err(wrong("tables", &format!("{other:?}"), expected));
            }
        }
    }
    Ok(found)
}

impl QuerySpec {
    /// Sets a member from its text form, as in flags and query strings.
    ///
    /// # Errors
    ///
    /// Misuse: an unknown member, an invalid value; the message begins with the name of the member.
    ///
    /// ```
    /// # fn main() -> Result<(), zvf_query::QueryError> {
    /// let mut spec = zvf_query::QuerySpec::new();
    /// spec.set("objects", "1-3,7")?;
    /// assert_eq!(spec.objects, Some(vec![1, 2, 3, 7].into()));
    /// assert_eq!(spec.set("limit", "x").unwrap_err().to_string(), "limit: found x, expected a whole number that is not negative");
    /// # Ok(())
    /// # }
    /// ```
    pub fn set(&mut self, member: &str, text: &str) -> Result<(), QueryError> {
        match member {
            "level" => {
                self.level = u32::try_from(whole(member, text)?)
                    .map_err(|_| wrong(member, text, "the number of a level"))?;
            }
            "bbox" if text.contains('=') => self.intersect(Region::of_member(member, text)?),
            "bbox" => self.bbox = Some(BBox::parse(text)?),
            "objects" => self.objects = Some(IdRanges::parse(text)?),
            "groups" => {
                let words = words(member, text, "names or numbers between commas")?;
                let words = words
                    .into_iter()
                    .map(|word| GroupRef::Word(word.to_owned()));
                self.groups = Some(words.collect());
            }
            "where" => self.condition = Some(Filter::parse(text)?),
            "limit" => self.limit = Some(whole(member, text)?),
            "select" => self.select = text.parse::<Select>()?,
            "attributes" => {
                self.attributes = match text.trim() {
                    "all" => Names::All,
                    "none" => Names::None,
                    list => {
                        let words = words(member, list, "all, none or names between commas")?;
                        Names::List(words.into_iter().map(str::to_owned).collect())
                    }
                };
            }
            "columns" => {
                let words = words(member, text, "names between commas")?;
                let columns = words.into_iter().map(str::parse::<Column>);
                self.columns = columns.collect::<Result<_, _>>()?;
            }
            "tables" => self.tables = tables(words(member, text, "names between commas")?)?,
            "owners" => self.owners = truth(member, text)?,
            "own_level_only" => self.own_level_only = truth(member, text)?,
            "ignore_missing" => self.ignore_missing = truth(member, text)?,
            "split" => {
                let piece = text.parse();
                let piece = piece.map_err(|error| QueryError::misuse(format!("split: {error}")))?;
                self.split = Some(piece);
            }
            "batch_rows" => {
                let rows = whole(member, text)?;
                self.batch_rows = usize::try_from(rows).unwrap_or(usize::MAX);
            }
            "memory_budget" => self.memory_budget = whole(member, text)?,
            other => {
                if !self.set_place(other, text)? {
                    return Err(unknown(other));
                }
            }
        }
        Ok(())
    }

    /// Sets a member from JSON. Texts are handled as in [`set`](Self::set); null leaves a member unchanged, except for `chunks`, which it removes.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set); the message begins with the path of the member.
    pub fn set_json(&mut self, member: &str, value: &Value) -> Result<(), QueryError> {
        match (member, value) {
            ("chunks", Value::Null) => self.chunks = None,
            ("chunks", given) => self.chunks = Some(chunk_range(given)?),
            // Null changes nothing, but the name must be known.
            (_, Value::Null) if MEMBERS.contains(&member) => {}
            (_, Value::String(text)) => return self.set(member, text),
            ("bbox", Value::Array(corners)) => self.bbox = Some(corners_of(corners)?),
            ("bbox", Value::Object(ranges)) => self.intersect(ranges_of(ranges)?),
            ("objects" | "groups", Value::Number(_)) => {
                return self.set_json(member, &Value::Array(vec![value.clone()]));
            }
            ("objects", Value::Array(items)) => {
                let mut ids = IdRanges::default();
                for (at, item) in items.iter().enumerate() {
                    let id = item.as_i64().map(|id| (id, id));
                    let id = id.or_else(|| range(item.as_str()?)).ok_or_else(|| {
                        let expected = "a whole number of 64 bits, or two as in \"1-5\"";
                        wrong(&format!("objects[{at}]"), &shown(item), expected)
                    })?;
                    ids.push(id);
                }
                self.objects = Some(ids);
            }
            ("groups", Value::Array(items)) => {
                let group = |(at, item): (usize, &Value)| match item {
                    Value::String(word) if !word.is_empty() => Ok(GroupRef::Word(word.clone())),
                    other => (other.as_u64().map(GroupRef::Number)).ok_or_else(|| {
                        wrong(&format!("groups[{at}]"), &shown(item), "a name or a number")
                    }),
                };
                let groups = items.iter().enumerate().map(group);
                self.groups = Some(groups.collect::<Result<_, _>>()?);
            }
            ("attributes", Value::Array(_)) => {
                self.attributes = match texts(member, value)? {
                    names if names.is_empty() => Names::None,
                    names => Names::List(names.into_iter().map(str::to_owned).collect()),
                };
            }
            ("columns", Value::Array(names)) if names.is_empty() => {
                let expected = "names of columns; without the member, all columns";
                return Err(wrong(member, "[]", expected));
            }
            ("columns", Value::Array(_)) => {
                let columns = texts(member, value)?.into_iter().map(str::parse::<Column>);
                self.columns = columns.collect::<Result<_, _>>()?;
            }
            ("tables", Value::Array(_)) => self.tables = tables(texts(member, value)?)?,
            ("level" | "limit" | "batch_rows" | "memory_budget", Value::Number(number)) => {
                return self.set(member, &number.to_string());
            }
            ("owners" | "own_level_only" | "ignore_missing", Value::Bool(truth)) => {
                return self.set(member, if *truth { "true" } else { "false" });
            }
            (other, _) if !MEMBERS.contains(&other) => return Err(unknown(other)),
            (other, value) if self.set_place_json(other, value)? => {}
            (_, other) => {
                let expected = match member {
                    "level" | "limit" | "batch_rows" | "memory_budget" => {
                        "a whole number that is not negative"
                    }
                    "owners" | "own_level_only" | "ignore_missing" => "true or false",
                    "bbox" => "two corners, ranges of axes, or the text LO:HI",
                    "where" | "select" | "split" => "a text",
                    "objects" | "groups" => "a number, a list, or a text",
                    _ => "a list, or a text",
                };
                return Err(wrong(member, &shown(other), expected));
            }
        }
        Ok(())
    }

    /// Parses a description from JSON.
    ///
    /// # Errors
    ///
    /// Misuse: JSON that is not an object, unknown members, invalid values; the message begins with the path of the member.
    pub fn from_json(value: &Value) -> Result<Self, QueryError> {
        let members = value
            .as_object()
            .ok_or_else(|| wrong("query", &shown(value), "an object"))?;
        let mut spec = Self::default();
        for (member, value) in members {
            spec.set_json(member, value)?;
        }
        spec.check()?;
        Ok(spec)
    }

    /// The description as JSON, without members that have their default.
    pub(super) fn to_json(&self) -> Value {
        let default = Self::default();
        let mut found = Map::new();
        let mut put = |member: &str, differs: bool, value: &dyn Fn() -> Value| {
            if differs {
                found.insert(member.to_owned(), value());
            }
        };
        put("level", self.level != default.level, &|| self.level.into());
        put("bbox", self.bbox.is_some(), &|| {
            self.bbox.as_ref().map(ToString::to_string).into()
        });
        put("region", self.region.is_some(), &|| {
            self.region.as_ref().map(ToString::to_string).into()
        });
        put("plane", self.plane.is_some(), &|| {
            self.plane.as_ref().map(ToString::to_string).into()
        });
        let relation = self.relation.map_or("", ObjectRelation::name);
        put(relation, self.relation.is_some(), &|| true.into());
        put("passing", self.passing.is_some(), &|| {
            self.passing.as_ref().map(ToString::to_string).into()
        });
        put("objects", self.objects.is_some(), &|| {
            self.objects.as_ref().map(IdRanges::to_json).into()
        });
        put("groups", self.groups.is_some(), &|| {
            let groups = self.groups.iter().flatten();
            let written = groups.map(|group| match group {
                GroupRef::Number(number) => Value::from(*number),
                GroupRef::Word(word) => Value::from(word.as_str()),
            });
            written.collect()
        });
        put("where", self.condition.is_some(), &|| {
            self.condition.as_ref().map(ToString::to_string).into()
        });
        put("limit", self.limit.is_some(), &|| self.limit.into());
        put("select", self.select != default.select, &|| {
            self.select.name().into()
        });
        let attributes = self.attributes != default.attributes;
        put("attributes", attributes, &|| match &self.attributes {
            Names::All => "all".into(),
            Names::None => Value::Array(Vec::new()),
            Names::List(names) => names.clone().into(),
        });
        put("columns", !self.columns.is_empty(), &|| {
            let columns = self.columns.iter().map(ToString::to_string);
            columns.collect::<Vec<_>>().into()
        });
        put("tables", self.tables != default.tables, &|| {
            let Outputs {
                vertices,
                links,
                objects,
            } = self.tables;
            let all = [
                (vertices, "vertices"),
                (links, "links"),
                (objects, "objects"),
            ];
            let some = all.into_iter().filter_map(|(on, name)| on.then_some(name));
            some.map(Value::from).collect()
        });
        put("owners", self.owners, &|| true.into());
        put("own_level_only", self.own_level_only, &|| true.into());
        put("ignore_missing", self.ignore_missing, &|| true.into());
        put("split", self.split.is_some(), &|| {
            self.split.map(|piece| piece.to_string()).into()
        });
        put("chunks", self.chunks.is_some(), &|| {
            let range = self.chunks.clone().unwrap_or_default();
            serde_json::json!({ "from": range.from, "until": range.until })
        });
        let rows = self.batch_rows != default.batch_rows;
        put("batch_rows", rows, &|| self.batch_rows.into());
        let budget = self.memory_budget != default.memory_budget;
        put("memory_budget", budget, &|| self.memory_budget.into());
        Value::Object(found)
    }
}

fn unknown(member: &str) -> QueryError {
    let near = nearest(member, MEMBERS.into_iter());
    let near = near.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
    QueryError::misuse(format!(
        "{member}: found a member that is not known{near}, expected {} or chunks",
        MEMBERS.join(", ")
    ))
}

/// The texts of a list, none of them empty.
pub(super) fn texts<'v>(member: &str, value: &'v Value) -> Result<Vec<&'v str>, QueryError> {
    let items = value.as_array().into_iter().flatten().enumerate();
    let text = |(at, item): (usize, &'v Value)| {
        let text = item.as_str().filter(|text| !text.is_empty());
        text.ok_or_else(|| wrong(&format!("{member}[{at}]"), &shown(item), "a name"))
    };
    items.map(text).collect()
}

/// A bound of a box along one axis; infinities are texts, because JSON has no infinite numbers.
fn end_of(path: &str, value: &Value) -> Result<f64, QueryError> {
    match value {
        Value::String(text) if text == "inf" => Ok(f64::INFINITY),
        Value::String(text) if text == "-inf" => Ok(f64::NEG_INFINITY),
        other => other.as_f64().ok_or_else(|| {
            let expected = "a number, \"inf\" or \"-inf\"";
            wrong(path, &shown(other), expected)
        }),
    }
}

/// A box of named axes: `{"x": [0, 10], "y": [5, null]}`.
fn ranges_of(ranges: &Map<String, Value>) -> Result<Region, QueryError> {
    let range = |(axis, ends): (&String, &Value)| {
        let path = format!("bbox.{axis}");
        let [low, high] = ends.as_array().map_or(&[][..], Vec::as_slice) else {
            let expected = "a lower and an upper end: [0, 10], or null for none";
            return Err(wrong(&path, &shown(ends), expected));
        };
        let end = |value: &Value, none: f64| match value {
            Value::Null => Ok(none),
            other => end_of(&path, other),
        };
        let (low, high) = (end(low, f64::NEG_INFINITY)?, end(high, f64::INFINITY)?);
        Ok((axis.clone(), low, high))
    };
    let ranges = ranges.iter().map(range).collect::<Result<Vec<_>, _>>()?;
    Region::between(
        ranges
            .iter()
            .map(|(axis, low, high)| (axis.as_str(), *low, *high)),
    )
}

fn corners_of(corners: &[Value]) -> Result<BBox, QueryError> {
    let [lo, hi] = corners else {
        let found = format!("{} items", corners.len());
        return Err(wrong("bbox", &found, "two corners"));
    };
    let corner = |at: usize, corner: &Value| {
        let path = format!("bbox[{at}]");
        let items = corner
            .as_array()
            .ok_or_else(|| wrong(&path, &shown(corner), "a list of numbers"))?;
        let number = |(axis, item)| end_of(&format!("{path}[{axis}]"), item);
        items.iter().enumerate().map(number).collect()
    };
    let (lo, hi): (Result<Vec<f64>, _>, Result<Vec<f64>, _>) = (corner(0, lo), corner(1, hi));
    BBox::new(lo?, hi?)
}

fn chunk_range(value: &Value) -> Result<ChunkRange, QueryError> {
    let members = value
        .as_object()
        .ok_or_else(|| wrong("chunks", &shown(value), "an object with from and until"))?;
    let mut range = ChunkRange::default();
    for (member, value) in members {
        let path = format!("chunks.{member}");
        let into = match member.as_str() {
            "from" => &mut range.from,
            "until" => &mut range.until,
            _ => return Err(wrong(&path, "a member that is not known", "from or until")),
        };
        *into = match value {
            Value::Null => None,
            Value::Array(items) => {
                let numbers = items.iter().map(Value::as_i64);
                let numbers: Option<Vec<i64>> = numbers.collect();
                Some(numbers.ok_or_else(|| wrong(&path, &shown(value), "whole numbers"))?)
            }
            other => return Err(wrong(&path, &shown(other), "a list of whole numbers")),
        };
    }
    Ok(range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_member_comes_back() {
        let all = json!({
            "level": 2,
            "bbox": "-1.5,-inf:2,inf",
            "region": "sphere(1,2,3) and polygon(POLYGON ((0 0, 1 0, 1 1, 0 0)))",
            "plane": "x,y,z=0:10",
            "inside": true,
            "passing": "touching(sphere(1,2,3)) and not ending(box(x=0:1))",
            "objects": [1, "5-9", 7, -3],
            "groups": ["AF_left", 2],
            "where": "fa > 0.5",
            "select": "objects",
            "attributes": ["fa"],
            "columns": ["position", "attribute:row"],
            "tables": ["vertices", "objects"],
            "owners": true,
            "own_level_only": true,
            "ignore_missing": true,
            "split": "3/16",
            "chunks": { "from": [0, -5], "until": null },
            "batch_rows": 10,
            "memory_budget": 99,
        });
        let spec = QuerySpec::from_json(&all).unwrap();
        assert_eq!(spec.to_json(), all);
        let members = all.as_object().unwrap();
        let others = [
            "limit", "sphere", "near", "polygon", "touching", "starting", "ending",
        ];
        for member in MEMBERS.iter().filter(|member| !others.contains(member)) {
            assert!(members.contains_key(*member), "{member}");
        }
        assert_eq!(QuerySpec::default().to_json(), json!({}));
        assert_eq!(
            QuerySpec::from_json(&json!({ "limit": null })).unwrap(),
            QuerySpec::default()
        );
    }

    #[test]
    fn one_number_is_a_list_and_a_list_of_places_holds_together() {
        for (given, wanted) in [
            (json!({ "objects": 7 }), json!({ "objects": [7] })),
            (json!({ "groups": 0 }), json!({ "groups": [0] })),
            (
                json!({ "passing": ["sphere(1,2,3)", "not box(x=0:1)"] }),
                json!({ "passing": "touching(sphere(1,2,3)) and not touching(box(x=0:1))" }),
            ),
        ] {
            let spec = QuerySpec::from_json(&given).unwrap();
            assert_eq!(spec.to_json(), wanted);
        }
    }

    #[test]
    fn boxes_of_named_axes_are_regions() {
        for (bbox, region) in [
            (json!("x=0:10,`the y`=5:"), "box(x=0:10,`the y`=5:)"),
            (json!({ "the y": [5, null] }), "box(`the y`=5:)"),
            (json!({ "x": ["-inf", 10] }), "box(x=:10)"),
        ] {
            let spec = QuerySpec::from_json(&json!({ "bbox": bbox })).unwrap();
            assert_eq!(spec.to_json(), json!({ "region": region }));
        }
        let both = json!({ "bbox": "z=:1", "sphere": [0, 0, 0, 1] });
        let both = QuerySpec::from_json(&both).unwrap().to_json();
        assert_eq!(both, json!({ "region": "box(z=:1) and sphere(0,0,0,1)" }));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_path() {
        for (given, message) in [
            (json!([]), "query: found [], expected an object"),
            (
                json!({ "limits": 3 }),
                "limits: found a member that is not known (did you mean \"limit\"?), expected",
            ),
            (json!({ "nothing": null }), "nothing: found a member"),
            (
                json!({ "limit": 1.5 }),
                "limit: found 1.5, expected a whole number",
            ),
            (
                json!({ "limit": [] }),
                "limit: found [], expected a whole number",
            ),
            (
                json!({ "level": 4_294_967_296_u64 }),
                "level: found 4294967296",
            ),
            (
                json!({ "select": "rows" }),
                "select: found \"rows\", expected vertices, objects or chunks",
            ),
            (json!({ "select": 1 }), "select: found 1, expected a text"),
            (
                json!({ "objects": [1, "x"] }),
                "objects[1]: found \"x\", expected",
            ),
            (
                json!({ "objects": "1,x" }),
                "objects: found \"x\", expected",
            ),
            (
                json!({ "groups": [true] }),
                "groups[0]: found true, expected a name or a number",
            ),
            (json!({ "bbox": [1] }), "bbox: found 1 items, expected two"),
            (
                json!({ "bbox": [[0], ["x"]] }),
                "bbox[1][0]: found \"x\", expected a number",
            ),
            (
                json!({ "bbox": "1,2" }),
                "bbox: found \"1,2\", expected LO:HI",
            ),
            (
                json!({ "bbox": [[2], [1]] }),
                "bbox, axis 0: found 2 to 1, expected",
            ),
            (
                json!({ "bbox": { "x": [2, 1] } }),
                "bbox: found x=2:1, expected an axis",
            ),
            (
                json!({ "bbox": { "x": 2 } }),
                "bbox.x: found 2, expected a lower and an upper end",
            ),
            (
                json!({ "bbox": { "x": [0, "y"] } }),
                "bbox.x: found \"y\", expected a number",
            ),
            (json!({ "bbox": {} }), "bbox: found no axis, expected"),
            (
                json!({ "bbox": "x=0:1,y" }),
                "bbox, at byte 7: expected `=`, found the end",
            ),
            (json!({ "columns": [] }), "columns: found []"),
            (
                json!({ "columns": [""] }),
                "columns[0]: found \"\", expected",
            ),
            (json!({ "columns": "a,,b" }), "columns: found \"a,,b\""),
            (
                json!({ "attributes": "a,,b" }),
                "attributes: found \"a,,b\", expected all, none or names between commas",
            ),
            (
                json!({ "tables": ["rows"] }),
                "tables: found \"rows\", expected vertices",
            ),
            (
                json!({ "owners": 1 }),
                "owners: found 1, expected true or false",
            ),
            (
                json!({ "chunks": { "to": [] } }),
                "chunks.to: found a member",
            ),
            (
                json!({ "chunks": { "from": [0.5] } }),
                "chunks.from: found [0.5]",
            ),
            (
                json!({ "split": "4/4" }),
                "split: found \"4/4\", expected I/N",
            ),
            (
                json!({ "split": "1/4", "limit": 1 }),
                "split: found one with a limit",
            ),
            (
                json!({ "sphere": [1, "x"] }),
                "sphere[1]: found \"x\", expected a number",
            ),
            (
                json!({ "sphere": "1,2,-3" }),
                "sphere: found the radius -3, expected one that is not negative",
            ),
            (
                json!({ "sphere": {} }),
                "sphere: found {}, expected the centre",
            ),
            (
                json!({ "near": "x=0" }),
                "near, at byte 3: expected `,`, found the end",
            ),
            (json!({ "near": 3 }), "near: found 3, expected a text"),
            (
                json!({ "polygon": "POLYGON ((0 0, 1 1))" }),
                "polygon, at byte 0: polygon 0, ring 0: found 2 vertices, expected at least 4",
            ),
            (
                json!({ "polygon": { "type": "Point" } }),
                "polygon: type: found \"Point\", expected Polygon",
            ),
            (
                json!({ "polygon": 1 }),
                "polygon: found 1, expected GeoJSON",
            ),
            (
                json!({ "region": "cube(1)" }),
                "region, at byte 0: expected sphere",
            ),
            (
                json!({ "plane": "xyz" }),
                "plane, at byte 0: expected two axes",
            ),
            (
                json!({ "plane": "xy", "sphere": "1,2,3" }),
                "plane: found a plane, but no polygon",
            ),
            (
                json!({ "inside": true, "touching": true, "sphere": "1,2,3" }),
                "touching: found inside as well, expected one of",
            ),
            (
                json!({ "inside": true }),
                "inside: found neither a box nor a region",
            ),
            (
                json!({ "inside": true, "sphere": "1,2,3", "select": "chunks" }),
                "inside: found select chunks as well",
            ),
            (
                json!({ "ending": 1 }),
                "ending: found 1, expected true or false",
            ),
            (json!({ "batch_rows": 0 }), "batch_rows: found 0"),
            (json!({ "where": "a >" }), "where, at byte 3: expected"),
        ] {
            let error = QuerySpec::from_json(&given).unwrap_err().to_string();
            assert!(error.starts_with(message), "{given}: {error}");
        }
    }
}
