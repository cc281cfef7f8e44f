//! What the root document says of coarse levels (0.9 §5.2, §5.3 and §5.5).

use zvf_meta::capabilities::{MULTISCALE_LINKS, PRESERVED_OBJECT_IDS, SHARED_FRAGMENTS};
use zvf_meta::{Dataset, JsonObject, LevelDoc, OmeNode, RootDoc, Transform};

/// Adds levels with their bins to a root document.
pub(crate) fn add_levels(root: &mut RootDoc, levels: &[(LevelDoc, Vec<f64>)]) {
    let base = root.base_bin_shape().to_vec();
    for (doc, bins) in levels {
        let path = doc.level.to_string();
        let transforms = vec![
            Transform::Scale {
                scale: bins
                    .iter()
                    .zip(&base)
                    .map(|(bin, base)| bin / base)
                    .collect(),
                extra: JsonObject::new(),
            },
            Transform::Translation {
                translation: bins.iter().map(|bin| bin / 2.0).collect(),
                extra: JsonObject::new(),
            },
        ];
        let dataset = Dataset {
            path: path.clone(),
            transforms,
            extra: JsonObject::new(),
        };
        if let Some(entry) = root.multiscales.entries.first_mut() {
            // A level that was removed may have left its entry.
            entry.datasets.retain(|one| one.path != path);
            entry.datasets.push(dataset);
            entry
                .datasets
                .sort_by_key(|one| one.path.parse::<u64>().unwrap_or(u64::MAX));
        }
        if let Some(ome) = &mut root.ome {
            ome.nodes.retain(|node| node.name.as_ref() != Some(&path));
            ome.nodes.push(OmeNode {
                type_: Some("zv:level".to_owned()),
                name: Some(path),
                extra: JsonObject::new(),
            });
        }
        for (said, token) in [
            (doc.preserves_object_ids, PRESERVED_OBJECT_IDS),
            // A level without vertices shares nothing.
            (
                doc.shared_fragments && doc.vertex_count > 0,
                SHARED_FRAGMENTS,
            ),
        ] {
            if said {
                add_capability(root, token);
            }
        }
    }
}

/// Says how far links between levels go, and whether each is stored at both of its ends.
pub(crate) fn say_links(root: &mut RootDoc, depth: i64, storage: &str, any: bool) {
    root.zarr_vectors.cross_level_depth = Some(depth);
    root.zarr_vectors.cross_level_storage = Some(storage.to_owned());
    if any {
        add_capability(root, MULTISCALE_LINKS);
    }
}

fn add_capability(root: &mut RootDoc, token: &str) {
    let tokens = &mut root.zarr_vectors.format_capabilities;
    if !tokens.iter().any(|one| one == token) {
        tokens.push(token.to_owned());
    }
}
