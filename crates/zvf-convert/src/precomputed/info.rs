//! Documents of precomputed folders.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use zvf_meta::Affine;
use zvf_write::NumberType;

use super::record::ObjectBytes;
use crate::error::{ConvertError, InFile, shown};

/// Size of the longest document, in bytes.
const LONGEST: u64 = 64 << 20;

/// A JSON document of a folder.
#[derive(Debug)]
pub(super) struct JsonFile {
    pub(super) path: PathBuf,
    pub(super) value: Value,
}

impl JsonFile {
    /// Reads a document.
    ///
    /// # Errors
    /// I/O; malformed: not JSON; a limit: more than 64 MiB.
    pub(super) fn read(path: &Path) -> Result<Self, ConvertError> {
        Self::of(&ObjectBytes::read(path, 0, LONGEST)?)
    }

    /// Parses the document in a record.
    ///
    /// # Errors
    /// Malformed: not JSON.
    pub(super) fn of(record: &ObjectBytes) -> Result<Self, ConvertError> {
        let value = serde_json::from_slice(&record.bytes)
            .map_err(|error| record.bad(0, error.to_string(), "JSON"))?;
        Ok(Self {
            path: record.path.to_path_buf(),
            value,
        })
    }

    #[cold]
    pub(super) fn bad(
        &self,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> ConvertError {
        ConvertError::malformed(&self.path, InFile::Whole, found, expected)
    }

    /// A member that must be a string.
    pub(super) fn text<'v>(&self, value: &'v Value, key: &str) -> Result<&'v str, ConvertError> {
        let text = value.get(key).and_then(Value::as_str);
        text.ok_or_else(|| self.bad(format!("no {key}"), "a text"))
    }

    /// A member that is a list; an absent one is empty.
    pub(super) fn list<'v>(
        &self,
        value: &'v Value,
        key: &str,
    ) -> Result<&'v [Value], ConvertError> {
        match value.get(key) {
            None | Some(Value::Null) => Ok(&[]),
            Some(Value::Array(list)) => Ok(list),
            Some(_) => Err(self.bad(format!("{key} that is not a list"), "a list")),
        }
    }

    /// The path of a file or folder that a member of the document names, relative to the document.
    ///
    /// # Errors
    /// Malformed: an empty name, or one that leads out of the folder of the document.
    pub(super) fn below(&self, name: &str) -> Result<PathBuf, ConvertError> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let inside = Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        match inside && !name.is_empty() {
            true => Ok(folder.join(name)),
            false => Err(self.bad(shown(name), "a name below the folder of the document")),
        }
    }

    /// The member `transform`: three rows of four numbers, to nanometres; `None` for the identity.
    pub(super) fn transform(&self) -> Result<Option<Affine>, ConvertError> {
        let list = self.list(&self.value, "transform")?;
        if list.is_empty() {
            return Ok(None);
        }
        let numbers: Vec<f64> = list.iter().filter_map(Value::as_f64).collect();
        let map = match numbers.len() == list.len() && list.len() == 12 {
            true => Affine::from_rows(&numbers, 3).map_err(|error| error.what),
            false => Err(format!("a transform of {} numbers", list.len())),
        };
        let map = map.map_err(|found| self.bad(found, "a transform of 12 numbers"))?;
        Ok((!map.is_identity()).then_some(map))
    }
}

/// A number type by its name.
pub(super) fn number_type(name: &str) -> Option<NumberType> {
    Some(match name {
        "float32" => NumberType::F32,
        "uint32" => NumberType::U32,
        "int32" => NumberType::I32,
        "uint16" => NumberType::U16,
        "int16" => NumberType::I16,
        "uint8" => NumberType::U8,
        "int8" => NumberType::I8,
        _ => return None,
    })
}
