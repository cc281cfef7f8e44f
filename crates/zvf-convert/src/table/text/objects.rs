//! NDJSON: one object per line. Each member is a column, as in a CSV file; a list has a column for each of its values.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::rows::TextRows;
use crate::error::{ConvertError, InFile, shown};
use crate::options::{FileLimits, Options};
use crate::text::TextLines;

/// The objects of a file.
#[derive(Debug)]
pub(super) struct ObjectLines {
    lines: TextLines,
    limits: FileLimits,
    /// The names of the columns so far, and their indices.
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    /// New names of columns, by the old ones.
    rename: HashMap<String, String>,
    /// The values of the row, by column.
    values: Vec<Option<String>>,
    /// Whether the next row is already read.
    ready: bool,
}

impl ObjectLines {
    /// Opens a file and reads its first line.
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self, ConvertError> {
        let mut objects = Self {
            lines: TextLines::open(path, options.limits.line)?,
            limits: options.limits,
            names: Vec::new(),
            numbers: HashMap::new(),
            rename: options.rename.iter().cloned().collect(),
            values: Vec::new(),
            ready: false,
        };
        objects.ready = objects.step()?;
        Ok(objects)
    }

    fn start_over(&mut self) -> Result<(), ConvertError> {
        self.lines = TextLines::open(self.lines.path(), self.limits.line)?;
        self.ready = false;
        Ok(())
    }

    /// Sets a value of the row.
    fn set(&mut self, name: String, value: Option<String>) -> Result<(), ConvertError> {
        let name = match self.rename.get(&name) {
            Some(new) => new.clone(),
            None => name,
        };
        let at = self.numbers.get(&name);
        if let Some(slot) = at.and_then(|at| self.values.get_mut(*at)) {
            if slot.is_some() {
                let found = format!("a second column {}", shown(&name));
                return Err(self.lines.bad(found, "different names"));
            }
            *slot = value;
            return Ok(());
        }
        let (next, limit) = (self.names.len(), self.limits.columns);
        if next as u64 >= limit {
            let (path, place) = (self.path(), self.place());
            return Err(ConvertError::limit(path, place, "columns", limit));
        }
        self.numbers.insert(name.clone(), next);
        self.names.push(name);
        self.values.push(value);
        Ok(())
    }

    /// The text of a value; `None` if it is missing.
    fn text(
        &self,
        name: &str,
        value: Value,
        digits: &mut Digits,
    ) -> Result<Option<String>, ConvertError> {
        Ok(match value {
            Value::Null => None,
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Number(number) => Some(match digits.next(&number) {
                Some(text) => text,
                None => number.to_string(),
            }),
            Value::String(text) => Some(text),
            Value::Array(_) | Value::Object(_) => {
                let found = format!("member {} with a list or an object in it", shown(name));
                return Err(self.lines.bad(found, "a value or a list of values"));
            }
        })
    }
}

/// The members of an object. A repeated one is an error.
struct Members(Map<String, Value>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Members;

            fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
                text.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Members, A::Error> {
                let mut members = Map::new();
                while let Some((name, value)) = from.next_entry::<String, Value>()? {
                    if members.contains_key(&name) {
                        let found = format!("a second member {name:?}");
                        return Err(A::Error::custom(found));
                    }
                    members.insert(name, value);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Visit)
    }
}

/// The texts of the numbers of a line, if a parsed number may be inexact: a float of 2^53 or more (integers beyond 64 bits are parsed as floats), or 0.
struct Digits {
    texts: std::vec::IntoIter<String>,
}

impl Digits {
    fn of(members: &Map<String, Value>, line: &[u8]) -> Self {
        fn numbers(value: &Value, count: &mut usize, rough: &mut bool) {
            match value {
                Value::Number(number) => {
                    *count += 1;
                    *rough |= is_rough(number);
                }
                Value::Array(list) => list.iter().for_each(|one| numbers(one, count, rough)),
                Value::Object(members) => {
                    members.values().for_each(|one| numbers(one, count, rough))
                }
                _ => {}
            }
        }
        let (mut count, mut rough) = (0, false);
        members
            .values()
            .for_each(|one| numbers(one, &mut count, &mut rough));
        let texts = match rough {
            true => numbers_of(line),
            false => Vec::new(),
        };
        let texts = if texts.len() == count {
            texts
        } else {
            Vec::new()
        };
        Self {
            texts: texts.into_iter(),
        }
    }

    /// The text of the next number, if it is needed.
    fn next(&mut self, number: &Number) -> Option<String> {
        self.texts.next().filter(|_| is_rough(number))
    }
}

/// Whether a number may differ from its text.
fn is_rough(number: &Number) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let value = number.as_f64().filter(|_| number.is_f64());
    value.is_some_and(|value| value == 0.0 || value.abs() >= EXACT)
}

/// The texts of the numbers in a valid line of JSON.
fn numbers_of(line: &[u8]) -> Vec<String> {
    let (mut texts, mut at) = (Vec::new(), 0);
    let digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    while let Some(byte) = line.get(at) {
        let rest = line.get(at..).unwrap_or_default();
        at += match byte {
            b'"' => {
                let mut inside = rest.iter().enumerate().skip(1);
                let mut length = rest.len();
                while let Some((place, byte)) = inside.next() {
                    match byte {
                        b'\\' => {
                            inside.next();
                        }
                        b'"' => {
                            length = place.saturating_add(1);
                            break;
                        }
                        _ => {}
                    }
                }
                length
            }
            b'0'..=b'9' | b'-' => {
                let length = rest.iter().take_while(|byte| digit(byte)).count();
                let text = rest.get(..length).unwrap_or_default();
                texts.push(String::from_utf8_lossy(text).into_owned());
                length
            }
            _ => 1,
        };
    }
    texts
}

impl TextRows for ObjectLines {
    fn path(&self) -> &Path {
        self.lines.path()
    }

    /// In the order of their first occurrence.
    fn columns(&self) -> &[String] {
        &self.names
    }

    fn has_header(&self) -> bool {
        false
    }

    fn find_columns(&mut self) -> Result<(), ConvertError> {
        self.start_over()?;
        while self.step()? {}
        self.start_over()
    }

    fn step(&mut self) -> Result<bool, ConvertError> {
        if std::mem::take(&mut self.ready) {
            return Ok(true);
        }
        self.values.clear();
        self.values.resize(self.names.len(), None);
        loop {
            if !self.lines.step()? {
                return Ok(false);
            }
            if !self.lines.is_blank() {
                break;
            }
        }
        let members: Members = serde_json::from_slice(self.lines.marked())
            .map_err(|error| self.lines.bad(error.to_string(), "an object of JSON"))?;
        let Members(members) = members;
        let mut digits = Digits::of(&members, self.lines.marked());
        for (name, value) in members {
            match value {
                // A list of owners becomes one text.
                Value::Array(list) if name == "object_ids" => {
                    let texts = list
                        .into_iter()
                        .map(|one| self.text(&name, one, &mut digits));
                    let texts = texts.map(|one| one.map(Option::unwrap_or_default));
                    let texts = texts.collect::<Result<Vec<String>, _>>()?;
                    self.set(name, Some(texts.join(" ")))?;
                }
                Value::Array(list) => {
                    for (channel, one) in list.into_iter().enumerate() {
                        let text = self.text(&name, one, &mut digits)?;
                        self.set(format!("{name}_{channel}"), text)?;
                    }
                }
                value => {
                    let text = self.text(&name, value, &mut digits)?;
                    self.set(name, text)?;
                }
            }
        }
        Ok(true)
    }

    fn value(&self, at: usize) -> Option<&str> {
        self.values.get(at)?.as_deref()
    }

    fn place(&self) -> InFile {
        self.lines.place()
    }
}
