//! Stores that are broken in one way each, and the check that has to say so.
//!
//! What is wrong with each store is what the line of the table did to it: nothing here asks the validator what to expect.

use std::collections::BTreeMap;
use std::error::Error;

use serde_json::{Value, json};
use zvf_store::Limits;
use zvf_validate::Check;

use crate::support::checked;

type Outcome = Result<(), Box<dyn Error>>;

/// The objects of a store by key.
struct Files(BTreeMap<String, Vec<u8>>);

impl Files {
    fn of(case: &str) -> Result<Self, Box<dyn Error>> {
        Ok(Self(zvf_testkit::files(case)?))
    }

    /// Changes a member of a document.
    fn set(&mut self, key: &str, pointer: &str, value: Value) -> Outcome {
        self.edit(key, |document| {
            let (parent, name) = pointer
                .rsplit_once('/')
                .ok_or("a pointer without a slash")?;
            let parent = document
                .pointer_mut(parent)
                .ok_or_else(|| format!("{key} has no {parent}"))?;
            match parent {
                Value::Array(list) => {
                    let at: usize = name.parse()?;
                    *list.get_mut(at).ok_or("a place beyond the list")? = value;
                }
                Value::Object(members) => {
                    members.insert(name.to_owned(), value);
                }
                _ => return Err("no place for a member".into()),
            }
            Ok(())
        })
    }

    /// Removes a member of a document.
    fn unset(&mut self, key: &str, pointer: &str) -> Outcome {
        self.edit(key, |document| {
            let (parent, name) = pointer
                .rsplit_once('/')
                .ok_or("a pointer without a slash")?;
            let parent = document.pointer_mut(parent).and_then(Value::as_object_mut);
            let removed = parent.ok_or("no such parent")?.shift_remove(name);
            removed
                .map(|_| ())
                .ok_or_else(|| format!("{key} has no {pointer}").into())
        })
    }

    fn edit(&mut self, key: &str, f: impl FnOnce(&mut Value) -> Outcome) -> Outcome {
        let bytes = self.0.get_mut(key).ok_or_else(|| format!("no {key}"))?;
        let mut document: Value = serde_json::from_slice(bytes)?;
        f(&mut document)?;
        *bytes = serde_json::to_vec(&document)?;
        Ok(())
    }

    /// Changes the payload of a cell: one element of variable length, compressed or not.
    fn cell(&mut self, key: &str, f: impl FnOnce(&mut Vec<u8>)) -> Outcome {
        let bytes = self.0.get_mut(key).ok_or_else(|| format!("no {key}"))?;
        let (mut payload, packed) = payload(bytes)?;
        f(&mut payload);
        let mut plain = 1_u32.to_le_bytes().to_vec();
        plain.extend(u32::try_from(payload.len())?.to_le_bytes());
        plain.extend(payload);
        *bytes = if packed {
            zstd::encode_all(&plain[..], 3)?
        } else {
            plain
        };
        Ok(())
    }

    /// The first object of an array whose first payload is at least so long.
    fn first(&self, array: &str, least: usize) -> Result<String, Box<dyn Error>> {
        let prefix = format!("{array}/c/");
        let key = self.0.iter().find(|(key, bytes)| {
            key.starts_with(&prefix)
                && payload(bytes).is_ok_and(|(payload, _)| payload.len() >= least)
        });
        Ok(key
            .ok_or_else(|| format!("{array} has no such cell"))?
            .0
            .clone())
    }

    fn remove(&mut self, key: &str) -> Outcome {
        self.0
            .remove(key)
            .map(|_| ())
            .ok_or_else(|| format!("no {key}").into())
    }
}

/// What a cell holds behind its head, and whether it is compressed.
fn payload(bytes: &[u8]) -> Result<(Vec<u8>, bool), Box<dyn Error>> {
    let packed = bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    let plain = if packed {
        zstd::decode_all(bytes)?
    } else {
        bytes.to_vec()
    };
    Ok((
        plain.get(8..).ok_or("a cell without a head")?.to_vec(),
        packed,
    ))
}

/// Puts a number of 64 bits into a cell.
fn put(payload: &mut [u8], at: usize, number: i64) {
    if let Some(place) = payload.get_mut(at..at + 8) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

/// Puts a number of 32 bits into a cell.
fn put32(payload: &mut [u8], at: usize, bytes: [u8; 4]) {
    if let Some(place) = payload.get_mut(at..at + 4) {
        place.copy_from_slice(&bytes);
    }
}

type Break = fn(&mut Files) -> Outcome;

/// Case, what is done to it, what has to be found.
const BROKEN: &[(&str, &str, Break, &str)] = &[
    (
        "0.9/graph",
        "no root",
        |files| files.remove("zarr.json"),
        "store-opens",
    ),
    (
        "0.9/graph",
        "a root that is no JSON",
        |files| {
            files.0.insert("zarr.json".to_owned(), b"{".to_vec());
            Ok(())
        },
        "store-opens",
    ),
    (
        "0.9/graph",
        "no version",
        |files| files.unset("zarr.json", "/attributes/zarr_vectors/zv_version"),
        "store-opens",
    ),
    (
        "0.9/graph",
        "a foreign version",
        |files| {
            files.set(
                "zarr.json",
                "/attributes/zarr_vectors/zv_version",
                json!("abc"),
            )
        },
        "version",
    ),
    (
        "0.9/graph",
        "a level that is no JSON",
        |files| {
            files.0.insert("0/zarr.json".to_owned(), b"[".to_vec());
            Ok(())
        },
        "document-reads",
    ),
    (
        "0.9/graph",
        "an array that is no JSON",
        |files| {
            files
                .0
                .insert("0/vertex_fragments/zarr.json".to_owned(), b"\xff".to_vec());
            Ok(())
        },
        "document-reads",
    ),
    (
        "0.9/graph",
        "no vertices",
        |files| {
            files.0.retain(|key, _| !key.starts_with("0/vertices/"));
            Ok(())
        },
        "level-vertices",
    ),
    (
        "0.9/graph",
        "the marker of a writer",
        |files| {
            files
                .0
                .insert("zvf-unfinished.json".to_owned(), b"{}".to_vec());
            Ok(())
        },
        "unfinished",
    ),
    (
        "0.9/graph",
        "a family that is gone",
        |files| {
            files.0.retain(|key, _| !key.starts_with("0/links/0/"));
            Ok(())
        },
        "links-have-families",
    ),
    (
        "0.9/graph",
        "no links",
        |files| {
            files.0.retain(|key, _| !key.starts_with("0/links/"));
            Ok(())
        },
        "family-there",
    ),
    (
        "0.9/lines",
        "bounds that are too small",
        |files| {
            files.set(
                "zarr.json",
                "/attributes/zarr_vectors/bounds/1/0",
                json!(0.5),
            )
        },
        "vertex-bounds",
    ),
    (
        "0.9/lines",
        "a chunk shape that is another",
        |files| {
            let shape = json!([0.001, 0.001, 0.001]);
            files.set("zarr.json", "/attributes/zarr_vectors/chunk_shape", shape)
        },
        "vertex-chunk",
    ),
    (
        "0.9/lines",
        "half a row",
        |files| {
            let key = files.first("0/vertices", 20)?;
            files.cell(&key, |payload| payload.truncate(payload.len() - 2))
        },
        "vertex-rows",
    ),
    (
        "0.9/lines",
        "a row less",
        |files| {
            let key = files.first("0/vertices", 20)?;
            files.cell(&key, |payload| payload.truncate(payload.len() - 12))
        },
        "fragment-rows",
    ),
    (
        "0.9/lines",
        "a row more",
        |files| {
            let key = files.first("0/vertices", 20)?;
            files.cell(&key, |payload| payload.extend_from_within(..12))
        },
        "fragments-tile",
    ),
    (
        "0.9/lines",
        "a coordinate that is no number",
        |files| {
            let key = files.first("0/vertices", 20)?;
            files.cell(&key, |payload| put32(payload, 0, f32::NAN.to_le_bytes()))
        },
        "finite",
    ),
    (
        "0.9/lines",
        "a vertex in a foreign chunk",
        |files| {
            let key = files.first("0/vertices", 20)?;
            files.cell(&key, |payload| put32(payload, 0, 1e9_f32.to_le_bytes()))
        },
        "vertex-chunk",
    ),
    (
        "0.9/lines",
        "a cell that is gone",
        |files| {
            let key = files.first("0/vertices", 20)?;
            files.remove(&key)
        },
        "cell-empty",
    ),
    (
        "0.9/lines",
        "a cell that is cut",
        |files| {
            let key = files.first("0/vertices", 20)?;
            files.0.entry(key).and_modify(|bytes| bytes.truncate(9));
            Ok(())
        },
        "cell-reads",
    ),
    (
        "0.9/graph",
        "a frame with a flipped bit",
        |files| {
            let key = files.first("0/vertices", 20)?;
            files.0.entry(key).and_modify(|bytes| bytes[5] ^= 0x40);
            Ok(())
        },
        "cell-reads",
    ),
    (
        "0.9/lines",
        "a fragment index that is gone",
        |files| {
            let key = files.first("0/vertex_fragments", 20)?;
            files.remove(&key)
        },
        "fragment-there",
    ),
    (
        "0.9/lines",
        "another magic",
        |files| {
            let key = files.first("0/vertex_fragments", 20)?;
            files.cell(&key, |payload| payload[0] ^= 1)
        },
        "fragment-index",
    ),
    (
        "0.9/lines",
        "a count of ranges that is wrong",
        |files| {
            let key = files.first("0/vertex_fragments", 40)?;
            files.cell(&key, |payload| payload[16] ^= 1)
        },
        "fragment-index",
    ),
    (
        "0.9/lines",
        "padding that is not zero",
        |files| {
            let key = files.first("0/vertex_fragments", 40)?;
            files.cell(&key, |payload| payload[23] ^= 0x80)
        },
        "fragment-padding",
    ),
    (
        "0.9/lines",
        "a byte too many",
        |files| {
            let key = files.first("0/vertex_fragments", 40)?;
            files.cell(&key, |payload| payload.push(0))
        },
        "fragment-padding",
    ),
    (
        "0.9/lines",
        "a range that ends too early",
        |files| {
            files.unset(
                "0/zarr.json",
                "/attributes/zarr_vectors_level/fragments_tile",
            )?;
            let key = files.first("0/vertex_fragments", 40)?;
            files.cell(&key, |payload| put(payload, 32, 0))
        },
        "rows-covered",
    ),
    (
        "0.9/lines",
        "a vertex count that is wrong",
        |files| {
            files.set(
                "0/zarr.json",
                "/attributes/zarr_vectors_level/vertex_count",
                json!(7),
            )
        },
        "vertex-count",
    ),
    (
        "0.9/lines",
        "a chunk that is not listed",
        |files| {
            files.edit("0/vertices/zarr.json", |document| {
                let list = document
                    .pointer_mut("/attributes/nonempty_chunks")
                    .and_then(Value::as_array_mut);
                list.ok_or("no list")?.remove(0);
                Ok(())
            })
        },
        "cell-listed",
    ),
    (
        "0.9/lines",
        "an object outside the grid",
        |files| {
            let key = files.first("0/vertices", 20)?;
            let bytes = files.0.get(&key).cloned().ok_or("no cell")?;
            files.0.insert("0/vertices/c/90/0/0".to_owned(), bytes);
            Ok(())
        },
        "object-stray",
    ),
    (
        "0.9/graph",
        "values of vertices that lack a row",
        |files| {
            let key = files.first("0/vertex_attributes/r", 10)?;
            files.cell(&key, |payload| payload.truncate(payload.len() - 1))
        },
        "attribute-rows",
    ),
    (
        "0.9/graph",
        "values of vertices that are gone",
        |files| {
            let key = files.first("0/vertex_attributes/r", 10)?;
            files.remove(&key)
        },
        "attribute-there",
    ),
    (
        "0.9/graph",
        "a link to a row that is not there",
        |files| {
            let key = files.first("0/links/0/0.0.0", 16)?;
            files.cell(&key, |payload| put(payload, 0, 1 << 40))
        },
        "link-row",
    ),
    (
        "0.9/graph",
        "a link with a negative row",
        |files| {
            let key = files.first("0/links/0/0.0.0", 16)?;
            files.cell(&key, |payload| put(payload, 8, -1))
        },
        "link-cell",
    ),
    (
        "0.9/graph",
        "half a record",
        |files| {
            let key = files.first("0/links/0/0.0.0", 16)?;
            files.cell(&key, |payload| payload.truncate(payload.len() - 8))
        },
        "link-cell",
    ),
    (
        "0.9/graph",
        "a permutation that is none",
        |files| {
            let key = files.first("0/links/0/0.0.+1", 20)?;
            files.cell(&key, |payload| put(payload, 16, 2))
        },
        "link-cell",
    ),
    (
        "0.9/graph",
        "a count of links that is wrong",
        |files| files.set("0/links/0/zarr.json", "/attributes/num_links", json!(3)),
        "link-count",
    ),
    (
        "0.9/graph",
        "a record that is gone",
        |files| {
            let key = files.first("0/links/0/0.0.0", 16)?;
            files.cell(&key, |payload| payload.truncate(payload.len() - 16))
        },
        "link-attribute-rows",
    ),
    (
        "0.9/graph",
        "values of links that are gone",
        |files| {
            let key = files.first("0/link_attributes/weight/0/0.0.0", 1)?;
            files.remove(&key)
        },
        "link-attribute-there",
    ),
    (
        "0.9/graph",
        "groups of links that are too large",
        |files| {
            let key = files.first("0/link_fragments", 1)?;
            files.cell(&key, |payload| put(payload, 32, 1 << 20))
        },
        "link-fragments",
    ),
    (
        "0.9/graph",
        "groups of links that are gone",
        |files| {
            let key = files.first("0/link_fragments", 1)?;
            files.remove(&key)
        },
        "link-fragments-there",
    ),
    (
        "0.9/graph",
        "an edge from a vertex to itself",
        |files| {
            let key = files.first("0/links/0/0.0.0", 16)?;
            files.cell(&key, |payload| {
                let end: Vec<u8> = payload[..8].to_vec();
                payload[8..16].copy_from_slice(&end);
            })
        },
        "self-loop",
    ),
    (
        "0.9/mesh",
        "a face with a corner twice",
        |files| {
            let key = files.first("0/links/0/0.0.0_0.0.0", 24)?;
            files.cell(&key, |payload| {
                let end: Vec<u8> = payload[..8].to_vec();
                payload[8..16].copy_from_slice(&end);
            })
        },
        "face-degenerate",
    ),
    (
        "0.9/graph",
        "objects present that are none",
        |files| {
            files.set(
                "0/object_index/zarr.json",
                "/attributes/num_present",
                json!(0),
            )
        },
        "present-count",
    ),
    (
        "0.9/lines",
        "manifests that are cut",
        |files| {
            let key = files.first("0/object_index/manifests", 1)?;
            files.0.entry(key).and_modify(|bytes| bytes.truncate(7));
            Ok(())
        },
        "manifest-reads",
    ),
    (
        "0.9/lines",
        "a value table that is gone wrong",
        |files| {
            let key = files.first("0/object_index/object_ids", 1)?;
            files.0.entry(key).and_modify(|bytes| bytes.truncate(3));
            Ok(())
        },
        "object-table-reads",
    ),
    (
        "0.9/skeleton",
        "bounds that are reversed",
        |files| {
            files.edit("zarr.json", |document| {
                let bounds = document
                    .pointer_mut("/attributes/zarr_vectors/bounds")
                    .and_then(Value::as_array_mut);
                bounds.ok_or("no bounds")?.reverse();
                Ok(())
            })
        },
        "bounds-order",
    ),
    (
        "0.9/points_ids",
        "a mesh in name",
        |files| {
            files.set(
                "zarr.json",
                "/attributes/zarr_vectors/geometry_types",
                json!(["mesh"]),
            )
        },
        "links-convention-fits",
    ),
    (
        "0.9/lines",
        "links that are gone",
        |files| {
            files.0.retain(|key, _| !key.starts_with("0/links/"));
            Ok(())
        },
        "chain-link",
    ),
    (
        "0.9/lines",
        "coarse levels that are out of date",
        |files| files.set("zarr.json", "/attributes/zvf_stale", json!(["0.0.0"])),
        "level-stale",
    ),
    (
        "0.9/lines",
        "a claim about levels",
        |files| {
            files.set(
                "0/zarr.json",
                "/attributes/zarr_vectors_level/shared_fragments",
                json!(true),
            )
        },
        "shared-capability",
    ),
    (
        "0.9/graph",
        "a folder that nobody knows",
        |files| {
            files.0.insert(
                "0/odd/zarr.json".to_owned(),
                br#"{"zarr_format":3,"node_type":"group","attributes":{}}"#.to_vec(),
            );
            Ok(())
        },
        "node-known",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_break_is_found() -> Outcome {
    let mut missed = Vec::new();
    for (case, what, break_it, title) in BROKEN {
        let mut files = Files::of(case)?;
        if let Err(error) = break_it(&mut files) {
            missed.push(format!("{case}, {what}: {error}"));
            continue;
        }
        let report = checked(&files.0, Limits::default()).await?;
        let wanted = Check::all().into_iter().find(|info| info.title == *title);
        let wanted = wanted.ok_or_else(|| format!("no check is called {title}"))?;
        if report.count_of(wanted.check) == 0 {
            let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
            missed.push(format!("{case}, {what}: no {title}, but {found:#?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    Ok(())
}
