//! Breaks of objects, groups, links between chunks and what lies beside the levels.

use serde_json::json;

use super::Change::{Gone, Run};
use super::{Break, of};
use crate::files::{Files, Outcome, put, unpacked};

const MANIFESTS: &str = "0/object_index/manifests/c/0";
const IDS: &str = "0/object_index/object_ids/c/0";

/// Breaks of objects and links.
pub(super) const OBJECTS: &[Break] = &[
    of(
        "0.9/lines",
        "an object in a chunk that is not there",
        "manifest-chunk",
        Run(|files| manifest(files, |bytes| put(bytes, 4, 1000))),
    ),
    of(
        "0.9/lines",
        "an object of a fragment that is not there",
        "manifest-fragment",
        Run(|files| manifest(files, |bytes| put(bytes, 4 + 3 * 8 + 1, 1 << 20))),
    ),
    of(
        "0.9/graph",
        "a manifest of a mode that is none",
        "manifest-reads",
        Run(|files| {
            manifest(files, |bytes| {
                if let Some(mode) = bytes.get_mut(4 + 3 * 8) {
                    *mode = 9;
                }
            })
        }),
    ),
    of(
        "0.9/skeleton",
        "a manifest with more behind its end",
        "manifest-reads",
        Run(|files| manifest(files, |bytes| bytes.push(0))),
    ),
    of(
        "0.9/lines",
        "an object of no fragments",
        "fragment-owner",
        Run(|files| manifest(files, |bytes| *bytes = vec![0; 4])),
    ),
    of(
        "0.9/points_ids",
        "two objects of one id",
        "object-id-unique",
        Run(|files| {
            files.plain(IDS, |ids| {
                ids.copy_within(..8, 8);
                Ok(())
            })
        }),
    ),
    of(
        "0.9/points_ids",
        "an object that is listed as deleted and is still there",
        "deleted-empty",
        Run(|files| {
            let (ids, _) = unpacked(files.objects.get(IDS).ok_or("no ids")?)?;
            let (first, _) = ids.split_first_chunk().ok_or("no first id")?;
            let list = json!([i64::from_le_bytes(*first)]);
            files.set("0/object_index/zarr.json", "/attributes/zvf_deleted", list)
        }),
    ),
    of(
        "0.9/points_ids",
        "ids in another order than stated",
        "object-ids-sorted",
        Run(|files| {
            files.plain(IDS, |ids| {
                ids.get_mut(..16).ok_or("no two ids")?.rotate_left(8);
                Ok(())
            })
        }),
    ),
    of(
        "0.9/points_ids",
        "values of fewer objects than there are",
        "object-attribute-rows",
        Run(|files| {
            let key = "0/object_attributes/score/zarr.json";
            files.set(key, "/attributes/shape", json!([4]))?;
            files.set(key, "/shape", json!([4]))
        }),
    ),
    of(
        "0.9/points_ids",
        "a member of a group that is no object",
        "group-member",
        Run(|files| {
            files.elements("0/groups/c/0", |groups| {
                put(groups.first_mut().ok_or("no groups")?, 0, 999_999);
                Ok(())
            })
        }),
    ),
    of(
        "0.9/points_ids",
        "half a member of a group",
        "group-members-read",
        Run(|files| {
            files.elements("0/groups/c/0", |groups| {
                groups.first_mut().ok_or("no groups")?.truncate(7);
                Ok(())
            })
        }),
    ),
    of(
        "0.9/points_ids",
        "values of more groups than there are",
        "group-attribute-rows",
        Run(|files| {
            let key = "0/group_attributes/size/zarr.json";
            files.copy("0/object_attributes/score/", "0/group_attributes/size/")?;
            files.set(key, "/attributes", json!({"zv_array": "groupings_attribute", "name": "size", "dtype": "float32", "shape": [5]}))?;
            files.set(key, "/fill_value", json!(0.0))
        }),
    ),
    of(
        "0.9/mesh",
        "corners of one chunk that are not in order",
        "link-placement",
        Run(|files| {
            let key = files.first("0/links/0/0.0.0_0.0.+1", 48)?;
            files.cell(&key, |payload| {
                // Head of one group, permutation, then the two corners in the cell's own chunk.
                if let Some(corners) = payload.get_mut(24..40) {
                    corners.rotate_left(8);
                }
            })
        }),
    ),
    of(
        "0.8/duplicate_graph",
        "copies of links that are gone",
        "link-copies",
        Gone("0/cross_chunk_links/0/-1.-1.0.-1.-2.0/"),
    ),
    of(
        "0.9/graph",
        "links of a chunk without vertices",
        "link-chunk",
        Run(|files| {
            let key = files.first("0/links/0/0.0.0", 16)?;
            let place = key
                .strip_prefix("0/links/0/0.0.0")
                .ok_or("a key of another array")?
                .to_owned();
            for array in ["0/vertices", "0/vertex_fragments", "0/vertex_attributes/r"] {
                files.unlisted(array, &format!("{array}{place}"))?;
            }
            Ok(())
        }),
    ),
    of(
        "0.7/sides",
        "parametric objects whose document is cut",
        "side-reads",
        Run(|files| {
            files
                .objects
                .insert("parametric/objects/zarr.json".to_owned(), b"{".to_vec());
            Ok(())
        }),
    ),
    of(
        "0.7/sides",
        "a header that is no JSON",
        "side-reads",
        Run(|files| {
            files
                .objects
                .insert("headers/trk/zarr.json".to_owned(), b"TRACK".to_vec());
            Ok(())
        }),
    ),
    of(
        "0.8/points_ids",
        "ids of members in an older store that are none",
        "group-member",
        Run(|files| {
            files.elements("0/groups/c/0", |groups| {
                put(groups.first_mut().ok_or("no groups")?, 0, 999_999);
                Ok(())
            })
        }),
    ),
];

/// Changes the first manifest.
fn manifest(files: &mut Files, f: impl FnOnce(&mut Vec<u8>)) -> Outcome {
    files.elements(MANIFESTS, |manifests| {
        f(manifests.first_mut().ok_or("no manifests")?);
        Ok(())
    })
}
