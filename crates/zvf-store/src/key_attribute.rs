//! The attribute whose value is part of chunk keys.

use serde_json::Value;
use zvf_format::dtype::DType;

use crate::Level;

/// The vertex attribute that divides chunks: the rank of its value is the first component of their keys (0.9 §10.3).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct KeyAttribute<'l> {
    /// Name.
    pub name: &'l str,
    /// The value of each rank.
    pub values: &'l [Value],
    /// Type of the values, as the root declares it; `None` for texts, and without a declaration.
    pub dtype: Option<DType>,
    /// Unit of the values.
    pub unit: Option<&'l str>,
    /// Description of the values.
    pub description: Option<&'l str>,
}

impl Level {
    /// The attribute that divides chunks, with what the root declares about it; `None` if only space divides them.
    pub fn key_attribute(&self) -> Option<KeyAttribute<'_>> {
        let doc = self.doc();
        let name = doc.chunk_attribute_name.as_deref();
        let (name, values) = name.zip(doc.chunk_attribute_values.as_deref())?;
        if self.key_rank() <= self.dims() {
            return None;
        }
        let specs = self.store().root().zarr_vectors.attribute_specs.as_ref();
        let stated = specs.and_then(|specs| specs.get("vertex")?.get(name));
        let text = |member: &str| stated.and_then(|stated| stated.get(member)?.as_str());
        Some(KeyAttribute {
            name,
            values,
            dtype: text("dtype").and_then(|text| DType::parse(text).ok()),
            unit: text("unit"),
            description: text("description"),
        })
    }
}
