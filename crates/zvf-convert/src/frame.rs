//! Headers of source files, kept in a store: `headers/<format>` (0.9, section 16.2). Nothing in them is ever applied to positions.

use serde_json::Value;
use zvf_store::Store;
use zvf_write::JsonObject;

use crate::{ConvertError, Format};

/// The formats whose headers are kept.
const FORMATS: [(Format, &str); 3] = [
    (Format::Trk, "trk"),
    (Format::Tck, "tck"),
    (Format::Trx, "trx"),
];

/// The header of a file of one format.
#[derive(Debug)]
pub(crate) struct Frame {
    /// The format, by the name that it has in a store.
    pub(crate) source: String,
    pub(crate) members: JsonObject,
    /// Where in the store it is.
    pub(crate) place: String,
}

impl Frame {
    /// The header that a store keeps: of the format itself, else of another one, else what an import of before wrote as `crs`.
    pub(crate) async fn of(store: &Store, format: Format) -> Result<Option<Self>, ConvertError> {
        let names = FORMATS.map(|(_, name)| name);
        let mut headers = store.headers(&names).await?;
        let own = FORMATS.iter().find(|(known, _)| *known == format);
        for name in own.map(|(_, name)| *name).into_iter().chain(names) {
            if let Some(members) = headers.remove(name) {
                return Ok(Some(Self {
                    source: name.to_owned(),
                    members,
                    place: format!("headers/{name}"),
                }));
            }
        }
        Ok(match &store.root().zarr_vectors.crs {
            None | Some(Value::Null) => None,
            Some(crs) => {
                let members = crs.as_object().cloned().unwrap_or_default();
                let source = members.get("source").and_then(Value::as_str);
                Some(Self {
                    source: source.unwrap_or_default().to_owned(),
                    members,
                    place: "crs".to_owned(),
                })
            }
        })
    }

    /// A member that says something.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.members.get(key).filter(|value| !value.is_null())
    }
}

/// The name of the format, and the members, of a header as [`Import::frame`](crate::Import::frame) has it.
pub(crate) fn split(frame: &Value) -> Option<(String, JsonObject)> {
    let mut members = frame.as_object()?.clone();
    let source = members.shift_remove("source")?;
    Some((source.as_str()?.to_owned(), members))
}
