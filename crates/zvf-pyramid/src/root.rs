//! The root document's members about coarse levels (0.9 §5.2, §5.3 and §5.5).

use zvf_meta::capabilities::{
    FRAGMENT_LINK_GROUPS, MULTISCALE_LINKS, PRESERVED_OBJECT_IDS, SHARED_FRAGMENTS,
};
use zvf_meta::{Dataset, JsonObject, LevelDoc, RootDoc, Transform};

use zvf_encode::documents::level_node;
use zvf_meta::STALE;

/// Adds levels with their bins to a root document, or replaces its members about them, and removes the mark that levels are out of date.
pub(crate) fn add_levels(root: &mut RootDoc, levels: &[(LevelDoc, Vec<f64>)]) {
    root.extra.remove(STALE);
    let base = root.base_bin_shape().to_vec();
    for (doc, bins) in levels {
        let path = doc.level.to_string();
        let ratio = bins.iter().zip(&base).map(|(bin, base)| bin / base);
        let mut dataset = Dataset {
            path: path.clone(),
            transforms: vec![
                Transform::Scale {
                    scale: ratio.collect(),
                    extra: JsonObject::new(),
                },
                Transform::Translation {
                    translation: bins.iter().map(|bin| bin / 2.0).collect(),
                    extra: JsonObject::new(),
                },
            ],
            extra: JsonObject::new(),
        };
        if let Some(entry) = root.multiscales.entries.first_mut() {
            // A removed level may have left its entry.
            for mut old in entry.datasets.extract_if(.., |one| one.path == path) {
                let others = old.transforms.drain(..);
                let others = others.filter(|one| matches!(one, Transform::Other(_)));
                dataset.transforms.extend(others);
                dataset.extra.append(&mut old.extra);
            }
            entry.datasets.push(dataset);
            entry
                .datasets
                .sort_by_key(|one| one.path.parse::<u64>().unwrap_or(u64::MAX));
        }
        if let Some(ome) = &mut root.ome {
            ome.nodes.retain(|node| node.name.as_ref() != Some(&path));
            ome.nodes.push(level_node(path));
        }
        for (said, token) in [
            (doc.preserves_object_ids, PRESERVED_OBJECT_IDS),
            // A level without vertices has no shared fragments.
            (
                doc.shared_fragments && doc.vertex_count > 0,
                SHARED_FRAGMENTS,
            ),
            (doc.fragment_link_groups, FRAGMENT_LINK_GROUPS),
        ] {
            if said {
                add_capability(root, token);
            }
        }
    }
}

/// Removes all members about coarse levels from a root document. `finest` is level 0's document.
pub(crate) fn drop_levels(root: &mut RootDoc, finest: &LevelDoc) {
    let is_coarse = |name: &str| name.parse::<u32>().is_ok_and(|level| level > 0);
    root.extra.remove(STALE);
    for entry in &mut root.multiscales.entries {
        entry.datasets.retain(|one| !is_coarse(&one.path));
    }
    if let Some(ome) = &mut root.ome {
        ome.nodes.retain(|node| {
            let level = node.type_.as_deref() == Some("zv:level");
            !(level && node.name.as_deref().is_some_and(is_coarse))
        });
    }
    let about = &mut root.zarr_vectors;
    (about.cross_level_depth, about.cross_level_storage) = (None, None);
    drop_capabilities(root, finest);
}

/// Removes the capabilities that only coarse levels need; rebuilt levels may need fewer than before.
pub(crate) fn drop_capabilities(root: &mut RootDoc, finest: &LevelDoc) {
    root.zarr_vectors
        .format_capabilities
        .retain(|token| match token.as_str() {
            MULTISCALE_LINKS | PRESERVED_OBJECT_IDS => false,
            SHARED_FRAGMENTS => finest.shared_fragments,
            FRAGMENT_LINK_GROUPS => finest.fragment_link_groups,
            _ => true,
        });
}

/// Declares the bins of level 0, for a kind whose chunks are not divided by them.
pub(crate) fn declare_bins(root: &mut RootDoc, bins: &[f64]) {
    root.zarr_vectors.base_bin_shape = Some(bins.to_vec());
    let halves: Vec<f64> = bins.iter().map(|bin| bin / 2.0).collect();
    let entries = root.multiscales.entries.first_mut();
    let finest = entries.and_then(|entry| entry.datasets.iter_mut().find(|one| one.path == "0"));
    let Some(finest) = finest else { return };
    for transform in &mut finest.transforms {
        if let Transform::Translation { translation, .. } = transform {
            *translation = halves;
            return;
        }
    }
    finest.transforms.push(Transform::Translation {
        translation: halves,
        extra: JsonObject::new(),
    });
}

/// States how many levels a link between levels may span, and whether each is stored at both of its ends.
pub(crate) fn state_links(root: &mut RootDoc, depth: i64, storage: &str, any: bool) {
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
