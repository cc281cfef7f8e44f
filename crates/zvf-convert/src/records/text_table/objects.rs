//! NDJSON: an object a line. The members of all objects are columns, as a CSV file has them: a list is a column for each of its values.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::rows::Rows;
use crate::error::{ConvertError, Place, shown};
use crate::options::Options;
use crate::text::Lines;

/// The objects of a file.
#[derive(Debug)]
pub(super) struct Objects {
    lines: Lines,
    columns: HashMap<String, usize>,
    /// By column.
    values: Vec<Option<String>>,
}

impl Objects {
    /// Opens a file, after a reading for the names of all columns.
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self, ConvertError> {
        let mut lines = Lines::open(path, options.limits.line)?;
        let mut columns = HashMap::new();
        while lines.step()? {
            for (name, _) in members(&lines)? {
                let next = columns.len();
                columns.entry(name).or_insert(next);
            }
            if columns.len() as u64 > options.limits.columns {
                let (place, limit) = (lines.place(), options.limits.columns);
                return Err(ConvertError::limit(path, place, "columns", limit));
            }
        }
        Ok(Self {
            lines: Lines::open(path, options.limits.line)?,
            columns,
            values: Vec::new(),
        })
    }
}

impl Rows for Objects {
    fn path(&self) -> &Path {
        self.lines.path()
    }

    /// In the order in which the file has them first.
    fn header(&mut self) -> Result<Vec<String>, ConvertError> {
        let mut names: Vec<(&String, &usize)> = self.columns.iter().collect();
        names.sort_unstable_by_key(|(_, at)| **at);
        Ok(names.into_iter().map(|(name, _)| name.clone()).collect())
    }

    fn step(&mut self) -> Result<bool, ConvertError> {
        self.values.clear();
        self.values.resize(self.columns.len(), None);
        if !self.lines.step()? {
            return Ok(false);
        }
        for (name, value) in members(&self.lines)? {
            let at = self.columns.get(&name);
            let Some(slot) = at.and_then(|at| self.values.get_mut(*at)) else {
                let expected = "those of when the file was looked at";
                return Err(self.lines.bad(format!("member {}", shown(&name)), expected));
            };
            *slot = value;
        }
        Ok(true)
    }

    fn value(&self, at: usize) -> Option<&str> {
        self.values.get(at)?.as_deref()
    }

    fn place(&self) -> Place {
        self.lines.place()
    }
}

/// The columns of a line with their values, but lists of owners as one text.
fn members(lines: &Lines) -> Result<Vec<(String, Option<String>)>, ConvertError> {
    let members: Map<String, Value> = serde_json::from_slice(lines.bytes())
        .map_err(|error| lines.bad(error.to_string(), "an object of JSON"))?;
    let text = |name: &str, value: Value| match value {
        Value::Null => Ok(None),
        Value::Bool(flag) => Ok(Some(flag.to_string())),
        Value::Number(number) => Ok(Some(number.to_string())),
        Value::String(text) => Ok(Some(text)),
        Value::Array(_) | Value::Object(_) => {
            let found = format!("member {} with a list or an object in it", shown(name));
            Err(lines.bad(found, "a value or a list of values"))
        }
    };
    let mut columns = Vec::new();
    for (name, value) in members {
        match value {
            Value::Array(list) if name == "object_ids" => {
                let texts = list.into_iter().map(|one| text(&name, one));
                let texts: Vec<String> = texts
                    .map(|one| one.map(Option::unwrap_or_default))
                    .collect::<Result<_, _>>()?;
                columns.push((name, Some(texts.join(" "))));
            }
            Value::Array(list) => {
                for (channel, one) in list.into_iter().enumerate() {
                    columns.push((format!("{name}_{channel}"), text(&name, one)?));
                }
            }
            value => {
                let value = text(&name, value)?;
                columns.push((name, value));
            }
        }
    }
    Ok(columns)
}
