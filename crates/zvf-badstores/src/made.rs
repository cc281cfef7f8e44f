//! Steps that create stores and arrays of kinds that are not bundled.

use serde_json::{Value, json};

use crate::files::{Files, Outcome, payload, put};

/// Converts level 0 of a 0.9 store to chunks by an attribute with a single value: adds an axis in front.
///
/// Only for stores without objects and links.
pub(crate) fn split(files: &mut Files) -> Outcome {
    for key in files.below("0/") {
        let Some(array) = key.strip_suffix("/zarr.json") else {
            continue;
        };
        files.edit(&key, |document| {
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
        if !files.below(&format!("{array}/c/")).is_empty() {
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

/// Moves the vertices of a split store to the chunks of a second value.
pub(crate) fn other_value(files: &mut Files) -> Outcome {
    files.rename("0/vertices/c/0/", "0/vertices/c/1/")?;
    let key = "0/vertices/zarr.json";
    files.set(key, "/shape/0", json!(2))?;
    files.list(key, "/attributes/nonempty_chunks", |chunks| {
        for chunk in chunks {
            let name = chunk.as_str().unwrap_or_default();
            *chunk = name.replacen('0', "1", 1).into();
        }
    })
}

/// Makes a fragment attribute. Each of its cells has a row for each fragment and `more` extra rows; all bytes are `byte`.
pub(crate) fn fragment_column(files: &mut Files, name: &str, more: usize, byte: u8) -> Outcome {
    let model = "0/vertex_fragments";
    let array = format!("0/fragment_attributes/{name}");
    let attributes =
        json!({"zv_array": "fragment_attribute", "name": name, "dtype": "int64", "row_shape": []});
    files.array_like(model, &array, attributes)?;
    let cells = files.below(&format!("{model}/c/"));
    for object in cells {
        let (blob, _) = payload(files.objects.get(&object).ok_or("no cell")?)?;
        let count = blob.get(8..).and_then(|rest| rest.first_chunk());
        let count = usize::try_from(u32::from_le_bytes(*count.ok_or("no index")?))?;
        files.cell_like(model, &array, &object, &vec![byte; (count + more) * 8])?;
    }
    Ok(())
}

/// Appends the blocks of the second manifest to the first.
pub(crate) fn join_manifests(files: &mut Files, key: &str) -> Outcome {
    files.payloads_of(key, |manifests| {
        let [first, other, ..] = manifests.as_mut_slice() else {
            return Err("fewer than two manifests".into());
        };
        let blocks = |manifest: &[u8]| {
            let count = manifest.first_chunk().copied();
            count.map_or(0, u32::from_le_bytes)
        };
        let all = blocks(first) + blocks(other);
        first.extend_from_slice(&other[4..]);
        put(first, 0, &all.to_le_bytes())
    })
}
