//! What a store holds, in one document.

use serde_json::{Value, json};
use zvf_cli::fold;
use zvf_convert::SourceHeader;
use zvf_meta::Refinement;
use zvf_store::{Class, Level, Need, Store};

use crate::errors::Failure;

/// The document: the root's facts, and those of each level.
///
/// # Cost
/// The documents of every level, and the headers of tractograms; no cell.
pub(crate) async fn document(store: &Store) -> Result<Value, Failure> {
    let root = store.root();
    let zv = &root.zarr_vectors;
    let mut levels = Vec::new();
    let need = Need::all();
    for &number in store.levels() {
        let level = store.level(number, &need).await;
        levels.push(facts(&level.map_err(|e| Failure::from(e).at(store.url()))?));
    }
    let axes = root.axes().iter();
    let axes = axes
        .map(|axis| json!({"name": axis.name, "type": axis.kind(), "unit": axis.unit}))
        .collect::<Vec<_>>();
    let frame = match SourceHeader::of_store(store).await {
        Ok(frame) => frame.map(|frame| frame.document()),
        Err(error) if error.class() == Class::Io => {
            return Err(Failure::from(error).at(store.url()));
        }
        // What a damaged header says of the positions is not known; everything else is.
        Err(error) => Some(json!({"space": null, "problem": fold(&error)})),
    };
    Ok(json!({
        "store": store.url(),
        "version": zv.zv_version,
        "kind": store.kind().to_string(),
        "axes": axes,
        "bounds": [zv.bounds.0, zv.bounds.1],
        "chunk_shape": zv.chunk_shape,
        "bin_shape": zv.base_bin_shape,
        "coordinate_offset": zv.coordinate_offset,
        "crs": zv.crs,
        "capabilities": zv.format_capabilities,
        "levels": levels,
        "frame": frame,
        "warnings": store.warnings(),
    }))
}

fn facts(level: &Level) -> Value {
    let doc = level.doc();
    let vertex_attributes = level.vertex_attributes().iter().map(|one| &one.name);
    let object_attributes = level.object_attributes().iter().map(|one| one.name());
    let links = level.link_families().iter().map(|family| {
        json!({
            "delta": family.delta(),
            "width": family.width(),
            "directed": family.directed(),
            "links": family.stated_links(),
        })
    });
    let groups = level.groups().map(|groups| {
        (0..groups.len())
            .map(|g| groups.name(g))
            .collect::<Vec<_>>()
    });
    json!({
        "level": level.number(),
        "vertices": doc.vertex_count,
        "chunks": level.vertices().presence().len(),
        "chunk_shape": level.chunk_shape(),
        "bin_shape": level.bin_shape(),
        "method": doc.coarsening_method,
        "parent": doc.parent_level,
        "additive": doc.refinement == Refinement::Add,
        "objects": level
            .object_index()
            .map(|index| index.len().saturating_sub(index.deleted().len() as u64)),
        "vertex_attributes": vertex_attributes.collect::<Vec<_>>(),
        "object_attributes": object_attributes.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
        "groups": groups,
    })
}
