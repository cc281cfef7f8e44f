//! Breaks of cells, and of what documents say about them.

use serde_json::{Value, json};

use super::Change::{Run, Set};
use super::{Break, of};
use crate::files::{Files, Outcome, payload, put, put32};

/// Breaks of cells.
pub(super) const CELLS: &[Break] = &[
    of(
        "0.9/lines",
        "half a row",
        "vertex-rows",
        Run(|files| {
            let key = files.first("0/vertices", 20)?;
            files.cell(&key, |payload| payload.truncate(payload.len() - 2))
        }),
    ),
    of(
        "0.9/lines",
        "a row less",
        "fragment-rows",
        Run(|files| {
            let key = files.first("0/vertices", 20)?;
            files.cell(&key, |payload| payload.truncate(payload.len() - 12))
        }),
    ),
    of(
        "0.9/lines",
        "a row more",
        "fragments-tile",
        Run(|files| {
            let key = files.first("0/vertices", 20)?;
            files.cell(&key, |payload| payload.extend_from_within(..12))
        }),
    ),
    of(
        "0.9/lines",
        "a coordinate that is no number",
        "finite",
        Run(|files| {
            let key = files.first("0/vertices", 20)?;
            files.cell(&key, |payload| put32(payload, 0, f32::NAN.to_le_bytes()))
        }),
    ),
    of(
        "0.9/lines",
        "a cell that is gone",
        "cell-empty",
        Run(|files| {
            let key = files.first("0/vertices", 20)?;
            files.remove(&key)
        }),
    ),
    of(
        "0.9/lines",
        "a cell that is cut",
        "cell-reads",
        Run(|files| {
            let key = files.first("0/vertices", 20)?;
            files
                .objects
                .entry(key)
                .and_modify(|bytes| bytes.truncate(9));
            Ok(())
        }),
    ),
    of(
        "0.9/graph",
        "a frame with a flipped bit",
        "cell-reads",
        Run(|files| {
            let key = files.first("0/vertices", 20)?;
            files
                .objects
                .entry(key)
                .and_modify(|bytes| bytes[5] ^= 0x40);
            Ok(())
        }),
    ),
    of(
        "0.9/lines",
        "a fragment index that is gone",
        "fragment-there",
        Run(|files| {
            let key = files.first("0/vertex_fragments", 20)?;
            files.remove(&key)
        }),
    ),
    of(
        "0.9/lines",
        "another magic",
        "fragment-index",
        Run(|files| {
            let key = files.first("0/vertex_fragments", 20)?;
            files.cell(&key, |payload| payload[0] ^= 1)
        }),
    ),
    of(
        "0.9/lines",
        "a count of ranges that is wrong",
        "fragment-index",
        Run(|files| {
            let key = files.first("0/vertex_fragments", 40)?;
            files.cell(&key, |payload| payload[16] ^= 1)
        }),
    ),
    of(
        "0.9/lines",
        "padding that is not zero",
        "fragment-padding",
        Run(|files| {
            let key = files.first("0/vertex_fragments", 40)?;
            files.cell(&key, |payload| payload[23] ^= 0x80)
        }),
    ),
    of(
        "0.9/lines",
        "a byte too many",
        "fragment-padding",
        Run(|files| {
            let key = files.first("0/vertex_fragments", 40)?;
            files.cell(&key, |payload| payload.push(0))
        }),
    ),
    of(
        "0.9/lines",
        "a range that ends too early",
        "rows-covered",
        Run(|files| {
            files.unset(
                "0/zarr.json",
                "/attributes/zarr_vectors_level/fragments_tile",
            )?;
            let key = files.first("0/vertex_fragments", 40)?;
            files.cell(&key, |payload| put(payload, 32, 0))
        }),
    ),
    of(
        "0.9/lines",
        "a vertex count that is wrong",
        "vertex-count",
        Run(|files| {
            files.set(
                "0/zarr.json",
                "/attributes/zarr_vectors_level/vertex_count",
                json!(7),
            )
        }),
    ),
    of(
        "0.9/lines",
        "a chunk that is not listed",
        "cell-listed",
        Run(|files| {
            files.edit("0/vertices/zarr.json", |document| {
                let list = document
                    .pointer_mut("/attributes/nonempty_chunks")
                    .and_then(Value::as_array_mut);
                list.ok_or("no list")?.remove(0);
                Ok(())
            })
        }),
    ),
    of(
        "0.9/lines",
        "an object outside the grid",
        "object-stray",
        Run(|files| {
            let key = files.first("0/vertices", 20)?;
            let bytes = files.objects.get(&key).cloned().ok_or("no cell")?;
            files
                .objects
                .insert("0/vertices/c/90/0/0".to_owned(), bytes);
            Ok(())
        }),
    ),
    of(
        "0.9/graph",
        "values of vertices that lack a row",
        "attribute-rows",
        Run(|files| {
            let key = files.first("0/vertex_attributes/r", 10)?;
            files.cell(&key, |payload| payload.truncate(payload.len() - 1))
        }),
    ),
    of(
        "0.9/graph",
        "values of vertices that are gone",
        "attribute-there",
        Run(|files| {
            let key = files.first("0/vertex_attributes/r", 10)?;
            files.remove(&key)
        }),
    ),
    of(
        "0.9/graph",
        "a link to a row that is not there",
        "link-row",
        Run(|files| {
            let key = files.first("0/links/0/0.0.0", 16)?;
            files.cell(&key, |payload| put(payload, 0, 1 << 40))
        }),
    ),
    of(
        "0.9/graph",
        "a link with a negative row",
        "link-cell",
        Run(|files| {
            let key = files.first("0/links/0/0.0.0", 16)?;
            files.cell(&key, |payload| put(payload, 8, -1))
        }),
    ),
    of(
        "0.9/graph",
        "half a record",
        "link-cell",
        Run(|files| {
            let key = files.first("0/links/0/0.0.0", 16)?;
            files.cell(&key, |payload| payload.truncate(payload.len() - 8))
        }),
    ),
    of(
        "0.9/graph",
        "a permutation that is none",
        "link-cell",
        Run(|files| {
            let key = files.first("0/links/0/0.0.+1", 20)?;
            files.cell(&key, |payload| put(payload, 16, 2))
        }),
    ),
    of(
        "0.9/graph",
        "a count of links that is wrong",
        "link-count",
        Run(|files| files.set("0/links/0/zarr.json", "/attributes/num_links", json!(3))),
    ),
    of(
        "0.9/graph",
        "a record that is gone",
        "link-attribute-rows",
        Run(|files| {
            let key = files.first("0/links/0/0.0.0", 16)?;
            files.cell(&key, |payload| payload.truncate(payload.len() - 16))
        }),
    ),
    of(
        "0.9/graph",
        "values of links that are gone",
        "link-attribute-there",
        Run(|files| {
            let key = files.first("0/link_attributes/weight/0/0.0.0", 1)?;
            files.remove(&key)
        }),
    ),
    of(
        "0.9/graph",
        "groups of links that are too large",
        "link-fragments",
        Run(|files| {
            let key = files.first("0/link_fragments", 1)?;
            files.cell(&key, |payload| put(payload, 32, 1 << 20))
        }),
    ),
    of(
        "0.9/graph",
        "groups of links that are gone",
        "link-fragments-there",
        Run(|files| {
            let key = files.first("0/link_fragments", 1)?;
            files.remove(&key)
        }),
    ),
    of(
        "0.9/graph",
        "groups of links that are said to follow fragments",
        "link-group-count",
        Run(claim_groups),
    ),
    of(
        "0.9/graph",
        "groups said to follow fragments that leave a link out",
        "link-group-rows",
        Run(|files| {
            claim_groups(files)?;
            let key = files.first("0/link_fragments", 1)?;
            files.cell(&key, |payload| put(payload, 32, 0))
        }),
    ),
    of(
        "0.9/graph",
        "groups said to follow fragments with a link of another one",
        "link-group-fragment",
        Run(|files| {
            claim_groups(files)?;
            // The chunk has six fragments, and one link in the first of them.
            let key = files.first("0/link_fragments", 1)?;
            files.cell(&key, |payload| {
                payload.truncate(8);
                for head in [6_u32, 6, 0b11_1111, 0] {
                    payload.extend(head.to_le_bytes());
                }
                for links in [0_i64, 0, 0, 0, 0, 1] {
                    payload.extend(0_i64.to_le_bytes());
                    payload.extend(links.to_le_bytes());
                }
                payload.extend([0; 4]);
            })
        }),
    ),
    of(
        "0.9/graph",
        "objects present that are none",
        "present-count",
        Run(|files| {
            files.set(
                "0/object_index/zarr.json",
                "/attributes/num_present",
                json!(0),
            )
        }),
    ),
    of(
        "0.9/lines",
        "manifests that are cut",
        "manifest-reads",
        Run(|files| {
            let key = files.first("0/object_index/manifests", 1)?;
            files
                .objects
                .entry(key)
                .and_modify(|bytes| bytes.truncate(7));
            Ok(())
        }),
    ),
    of(
        "0.9/lines",
        "a value table that is gone wrong",
        "object-table-reads",
        Run(|files| {
            let key = files.first("0/object_index/object_ids", 1)?;
            files
                .objects
                .entry(key)
                .and_modify(|bytes| bytes.truncate(3));
            Ok(())
        }),
    ),
    of(
        "0.9/lines",
        "a level of no chunks",
        "level-has-chunks",
        Run(|files| {
            files.gone("0/vertices/c/")?;
            files.set(
                "0/vertices/zarr.json",
                "/attributes/nonempty_chunks",
                json!([]),
            )
        }),
    ),
    of(
        "0.9/points_bins",
        "more fragments than bins",
        "bin-fragments",
        Set("zarr.json", "@/base_bin_shape", "[25.0,25.0,25.0]"),
    ),
    of(
        "0.9/graph",
        "a cell of an attribute with twice the values",
        "attribute-width",
        Run(|files| {
            let key = files.first("0/vertex_attributes/r", 10)?;
            files.cell(&key, |payload| payload.extend_from_within(..))
        }),
    ),
    of(
        "0.9/graph",
        "values of a chunk without vertices",
        "attribute-orphan",
        Run(|files| {
            let key = files.first("0/vertices", 10)?;
            let place = key
                .strip_prefix("0/vertices")
                .ok_or("a key of another array")?
                .to_owned();
            files.unlisted("0/vertices", &key)?;
            files.unlisted("0/vertex_fragments", &format!("0/vertex_fragments{place}"))
        }),
    ),
    of(
        "0.9/points_ids",
        "codes of no category",
        "category-code",
        Run(|files| {
            let key = "0/vertex_attributes/count/zarr.json";
            files.set(key, "/attributes/encoding", "dictionary".into())?;
            files.set(key, "/attributes/categories", json!([]))
        }),
    ),
    of(
        "0.9/skeleton",
        "values of fragments that are too many",
        "fragment-attribute-rows",
        Run(|files| fragment_column(files, "f", |fragments| vec![0; (fragments + 1) * 8])),
    ),
    of(
        "0.9/graph",
        "fragments that belong to nobody, as they say",
        "owner-column",
        Run(|files| fragment_column(files, "object_id", |fragments| vec![0xff; fragments * 8])),
    ),
    of(
        "0.7/lines",
        "half a row of an older store",
        "vertex-rows",
        Run(|files| {
            let path = files.first_blob("0/vertices/", 20)?;
            files.blob(&path, |bytes| bytes.truncate(bytes.len() - 2))
        }),
    ),
    of(
        "0.8/streamlines",
        "a row less of an older store",
        "fragment-rows",
        Run(|files| {
            let path = files.first_blob("0/vertices/", 20)?;
            files.blob(&path, |bytes| bytes.truncate(bytes.len() - 12))
        }),
    ),
    of(
        "0.7/mesh",
        "a row of nobody in an older store",
        "rows-covered",
        Run(|files| {
            let path = files.first_blob("0/vertices/", 20)?;
            files.blob(&path, |bytes| bytes.extend_from_within(..12))
        }),
    ),
    of(
        "0.6/points",
        "another number at the head of a fragment index",
        "fragment-index",
        Run(|files| {
            let path = files.first_blob("0/vertex_fragments/", 20)?;
            files.blob(&path, |bytes| put32(bytes, 0, *b"GFVX"))
        }),
    ),
    of(
        "0.8/points_ids",
        "values of an older store with a row too many",
        "attribute-rows",
        Run(|files| {
            let path = files.first_blob("0/vertex_attributes/count/", 8)?;
            files.blob(&path, |bytes| bytes.extend([0; 2]))
        }),
    ),
    of(
        "0.8/graph",
        "another vertex count in an older store",
        "vertex-count",
        Set("0/zarr.json", "@/vertex_count", "3"),
    ),
    of(
        "0.7/skeleton",
        "a blob of an older store that is gone",
        "cell-reads",
        Run(|files| {
            let path = files.first_blob("0/vertices/", 20)?;
            files.objects.insert(format!("{path}/c/0"), Vec::new());
            Ok(())
        }),
    ),
    of(
        "0.8/shared_nodes",
        "a fragment index of polylines that is cut",
        "fragment-index",
        Run(|files| {
            let path = files.first_blob("0/vertex_fragments/", 20)?;
            files.blob(&path, |bytes| bytes.truncate(12))
        }),
    ),
];

/// Makes a column of fragments, each cell with what the number of fragments gives.
fn fragment_column(files: &mut Files, name: &str, of: fn(usize) -> Vec<u8>) -> Outcome {
    let (model, array) = (
        "0/vertex_fragments",
        format!("0/fragment_attributes/{name}"),
    );
    let attributes =
        json!({"zv_array": "fragment_attribute", "name": name, "dtype": "int64", "row_shape": []});
    files.array_like(model, &array, attributes)?;
    let cells: Vec<String> = files
        .objects
        .keys()
        .filter(|key| key.starts_with(&format!("{model}/c/")))
        .cloned()
        .collect();
    for object in cells {
        let (blob, _) = payload(files.objects.get(&object).ok_or("no cell")?)?;
        let count = blob
            .get(8..)
            .and_then(|rest| rest.first_chunk::<4>())
            .ok_or("no index")?;
        let count = usize::try_from(u32::from_le_bytes(*count))?;
        files.cell_like(model, &array, &object, &of(count))?;
    }
    Ok(())
}

/// Claims that groups of links follow the fragments of vertices.
fn claim_groups(files: &mut Files) -> Outcome {
    let member = "/attributes/zarr_vectors_level/fragment_link_groups";
    files.set("0/zarr.json", member, json!(true))?;
    let member = "/attributes/zarr_vectors/format_capabilities";
    files.set("zarr.json", member, json!(["fragment_link_groups"]))
}
