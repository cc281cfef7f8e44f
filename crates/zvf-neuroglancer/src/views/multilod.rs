//! Objects as multi-resolution meshes: the levels of the store as levels of detail, one to one.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use zvf_meta::Refinement;
use zvf_query::Column;

use super::content::ViewContent;
use super::skeletons::{SegmentSkeleton, check_space, transform};
use crate::columns::ShownAttributes;
use crate::error::Result;
use crate::plan::{need, number};
use crate::precomputed::{Detail, multilod_info, multilod_mesh};
use crate::viewed_store::ViewedStore;

/// Largest number of levels of detail.
const MOST_LEVELS: usize = 12;

/// The two files of one mesh.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    /// The file `ID.index`.
    pub(crate) manifest: Bytes,
    /// The file `ID`.
    pub(crate) fragments: Bytes,
    /// Number of faces of level 0, before they are cut.
    pub(crate) faces: u64,
}

/// The document `info`.
///
/// # Errors
/// Not found for stores without two or three axes of space.
pub(crate) fn info(opened: &ViewedStore) -> Result<Value> {
    check_space(opened)?;
    Ok(super::meshes::left_out(
        multilod_info(&transform(opened), Some("properties")),
        opened,
    ))
}

/// The key of a cached file.
fn kept(key: &str) -> String {
    format!("multilod/{key}")
}

/// A cached file.
pub(crate) fn made(opened: &ViewedStore, key: &str) -> Option<ViewContent> {
    opened.rendered(&kept(key)).map(ViewContent::File)
}

/// A manifest, `ID.index`, or the fragments that it describes, `ID`. Both are cached: viewers request many fragments of a mesh.
///
/// # Errors
/// As [`files`].
pub(crate) async fn file(opened: &Arc<ViewedStore>, budget: u64, key: &str) -> Result<ViewContent> {
    let (id, manifest) = match key.strip_suffix(".index") {
        Some(id) => (id, true),
        None => (key, false),
    };
    let segment = number(id)?;
    if let Some(made) = made(opened, key) {
        return Ok(made);
    }
    let files = files(opened, budget, segment).await?;
    opened.keep(kept(&format!("{segment}.index")), files.manifest.clone());
    opened.keep(kept(&segment.to_string()), files.fragments.clone());
    Ok(ViewContent::File(match manifest {
        true => files.manifest,
        false => files.fragments,
    }))
}

/// Encodes both files.
///
/// # Errors
/// Not found for an id that no object has; Limit for a mesh that is too large; the errors of the query.
pub(crate) async fn files(opened: &ViewedStore, budget: u64, segment: u64) -> Result<Files> {
    check_space(opened)?;
    let mut details: Vec<Detail> = Vec::new();
    let mut faces = 0;
    for level in levels(opened).await? {
        let columns = vec![Column::Position];
        let shape = SegmentSkeleton::read(
            opened,
            budget,
            (segment, level),
            columns,
            &ShownAttributes::default(),
        )
        .await?;
        if level == 0 {
            faces = shape.link_count();
        }
        let detail = Detail {
            triangles: shape.triangles(),
            positions: shape.positions,
        };
        // Coarser levels do not have the object either.
        if !details.is_empty() && detail.triangles.is_empty() {
            break;
        }
        details.push(detail);
    }
    let root = opened.store.root();
    let offset = root.zarr_vectors.coordinate_offset.clone();
    let offset = offset.unwrap_or_default();
    let finest = opened.store.level(0, &need()).await?;
    let (mut cell, mut corner) = ([1.0; 3], [0.0; 3]);
    let of_space = |list: &[f64], to: &mut [f64; 3]| {
        let values = opened.space.iter().map(|at| list.get(*at));
        for (to, value) in to.iter_mut().zip(values) {
            *to = value.copied().unwrap_or(*to);
        }
    };
    of_space(finest.chunk_shape(), &mut cell);
    of_space(&offset, &mut corner);
    let made = multilod_mesh(&details, cell, corner)?;
    super::content::check_size(made.fragments.len())?;
    Ok(Files {
        manifest: made.manifest.into(),
        fragments: made.fragments.into(),
        faces,
    })
}

/// The levels that become levels of detail: level 0 and, if all levels replace each other, the coarser levels that have an object index, with the
/// same ids, exactly if level 0 has one; at most [`MOST_LEVELS`].
async fn levels(opened: &ViewedStore) -> Result<Vec<u32>> {
    let mut found = vec![0];
    let objects = opened.objects().await?;
    for &number in opened.store.levels() {
        let level = opened.store.level(number, &need()).await?;
        if level.doc().refinement != Refinement::Replace {
            return Ok(vec![0]);
        }
        // Objects of other levels may have other ids.
        let same_ids = !objects.exist || number == 0 || level.doc().preserves_object_ids;
        let whole = objects.exist == level.object_index().is_some() && same_ids;
        if number > 0 && whole && found.len() < MOST_LEVELS {
            found.push(number);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meshes_without_levels_have_one_level_of_detail() {
        let store = zvf_testkit::unpack("mesh").unwrap();
        let address = store.path().display().to_string();
        let runtime = zvf_store::blocking::Runtime::new().unwrap();
        runtime.wait(async {
            let store = zvf_store::Store::open(&address).await.unwrap();
            let opened = Arc::new(ViewedStore::new(store));
            assert_eq!(levels(&opened).await.unwrap(), [0]);
            let id = opened.objects().await.unwrap().first(1);
            let key = id.first().unwrap().to_string();
            let ViewContent::File(fragments) = file(&opened, 1 << 24, &key).await.unwrap() else {
                panic!("a document");
            };
            assert!(fragments.starts_with(b"DRACO"));
            assert_eq!(opened.rendered(&format!("multilod/{key}")), Some(fragments));
            assert!(file(&opened, 1 << 24, "99999").await.is_err());
            assert!(file(&opened, 1 << 24, "1.inde").await.is_err());
        });
    }
}
