//! Good stores that are made of bundled ones, where none of a kind is bundled.

use serde_json::{Value, json};

use crate::files::{Files, Outcome};

/// Makes level 0 of a store of 0.9 one that is chunked by an attribute of a single value: one more axis in front.
///
/// Only for stores without objects and links.
pub(super) fn split(files: &mut Files) -> Outcome {
    let arrays: Vec<String> = files
        .objects
        .keys()
        .filter_map(|key| key.strip_suffix("/zarr.json"))
        .filter(|path| path.starts_with("0/"))
        .map(str::to_owned)
        .collect();
    for array in arrays {
        files.edit(&format!("{array}/zarr.json"), |document| {
            let attributes = &mut document["attributes"];
            if let Some(Value::Array(origin)) = attributes.get_mut("chunk_grid_origin") {
                origin.insert(0, json!(0));
            }
            for key in attributes
                .get_mut("nonempty_chunks")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                *key = format!("0.{}", key.as_str().unwrap_or_default()).into();
            }
            for pointer in ["/shape", "/chunk_grid/configuration/chunk_shape"] {
                if let Some(Value::Array(list)) = document.pointer_mut(pointer) {
                    list.insert(0, json!(1));
                }
            }
            Ok(())
        })?;
        if files
            .objects
            .keys()
            .any(|key| key.starts_with(&format!("{array}/c/")))
        {
            files.rename(&format!("{array}/c/"), &format!("{array}/was/"))?;
            files.rename(&format!("{array}/was/"), &format!("{array}/c/0/"))?;
        }
    }
    files.edit("0/zarr.json", |level| {
        let block = &mut level["attributes"]["zarr_vectors_level"];
        block["chunk_attribute_name"] = "a".into();
        block["chunk_attribute_values"] = json!(["one"]);
        block["chunk_dims"] = json!(["a", "x", "y"]);
        Ok(())
    })
}
