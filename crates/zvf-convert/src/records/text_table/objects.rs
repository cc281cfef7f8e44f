//! NDJSON: an object a line. The members of all objects are columns, as a CSV file has them: a list is a column for each of its values.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::rows::Rows;
use crate::error::{ConvertError, Place, shown};
use crate::options::{Limits, Options};
use crate::text::Lines;

/// The objects of a file.
#[derive(Debug)]
pub(super) struct Objects {
    lines: Lines,
    limits: Limits,
    /// The names of the columns that lines had so far, and their numbers.
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    /// By column.
    values: Vec<Option<String>>,
    /// Whether the next row was read already.
    ready: bool,
}

impl Objects {
    /// Opens a file and reads its first line.
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self, ConvertError> {
        let mut objects = Self {
            lines: Lines::open(path, options.limits.line)?,
            limits: options.limits,
            names: Vec::new(),
            numbers: HashMap::new(),
            values: Vec::new(),
            ready: false,
        };
        objects.ready = objects.step()?;
        Ok(objects)
    }

    fn start_over(&mut self) -> Result<(), ConvertError> {
        self.lines = Lines::open(self.lines.path(), self.limits.line)?;
        self.ready = false;
        Ok(())
    }

    /// Sets a value of the row.
    fn set(&mut self, name: String, value: Option<String>) -> Result<(), ConvertError> {
        let at = self.numbers.get(&name);
        if let Some(slot) = at.and_then(|at| self.values.get_mut(*at)) {
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

    /// The text of a value; `None` where it is missing.
    fn text(&self, name: &str, value: Value) -> Result<Option<String>, ConvertError> {
        Ok(match value {
            Value::Null => None,
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Number(number) => Some(number.to_string()),
            Value::String(text) => Some(text),
            Value::Array(_) | Value::Object(_) => {
                let found = format!("member {} with a list or an object in it", shown(name));
                return Err(self.lines.bad(found, "a value or a list of values"));
            }
        })
    }
}

impl Rows for Objects {
    fn path(&self) -> &Path {
        self.lines.path()
    }

    /// In the order in which the file has them first.
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
        if !self.lines.step()? {
            return Ok(false);
        }
        let members: Map<String, Value> = serde_json::from_slice(self.lines.bytes())
            .map_err(|error| self.lines.bad(error.to_string(), "an object of JSON"))?;
        for (name, value) in members {
            match value {
                // Lists of owners are one text.
                Value::Array(list) if name == "object_ids" => {
                    let texts = list.into_iter().map(|one| self.text(&name, one));
                    let texts = texts.map(|one| one.map(Option::unwrap_or_default));
                    let texts = texts.collect::<Result<Vec<String>, _>>()?;
                    self.set(name, Some(texts.join(" ")))?;
                }
                Value::Array(list) => {
                    for (channel, one) in list.into_iter().enumerate() {
                        self.set(format!("{name}_{channel}"), self.text(&name, one)?)?;
                    }
                }
                value => {
                    let text = self.text(&name, value)?;
                    self.set(name, text)?;
                }
            }
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
