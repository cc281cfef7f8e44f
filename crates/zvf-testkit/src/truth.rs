//! `truth.npz`: the data that a bundled store was made from, in input order.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::archive::side_file;
use crate::npy::Column;
use crate::npz;

/// The data that a bundled store was made from. None of it was read from a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Truth {
    /// Positions, shape `(N, D)`, world units, in the number type that was stored.
    pub positions: Column,
    /// Vertex attributes by name, shape `(N,)` or `(N, C)`.
    pub attributes: BTreeMap<String, Column>,
    /// Edges of graphs and skeletons, shape `(M, 2)`: rows of `positions`.
    pub edges: Option<Column>,
    /// Faces of meshes, shape `(M, L)`: rows of `positions`.
    pub faces: Option<Column>,
    /// Link attributes by name, rows parallel to `edges`.
    pub link_attributes: BTreeMap<String, Column>,
    /// Object ids, shape `(O,)`, if the store has objects with attributes.
    pub object_ids: Option<Column>,
    /// Object attributes by name, rows parallel to `object_ids`.
    pub object_attributes: BTreeMap<String, Column>,
}

/// Reads the input of one case.
///
/// # Errors
///
/// For an unknown case, or an array file of a type that no bundled store uses.
pub fn truth(name: &str) -> Result<Truth> {
    let mut arrays = npz::read(&side_file(name, "truth.npz")?)
        .with_context(|| format!("truth.npz of {name}"))?;
    let positions = arrays
        .remove("positions")
        .with_context(|| format!("{name}: no positions"))?;
    let object_ids = arrays.remove("object_ids");
    Ok(Truth {
        positions,
        edges: arrays.remove("edges"),
        faces: arrays.remove("faces"),
        object_ids,
        attributes: take(&mut arrays, "attr_"),
        link_attributes: take(&mut arrays, "link_"),
        object_attributes: take(&mut arrays, "object_"),
    })
}

/// Removes the arrays whose names start with `prefix`, and returns them by the rest of their names.
fn take(arrays: &mut BTreeMap<String, Column>, prefix: &str) -> BTreeMap<String, Column> {
    let names: Vec<String> = arrays
        .keys()
        .filter(|name| name.starts_with(prefix))
        .cloned()
        .collect();
    let mut taken = BTreeMap::new();
    for name in names {
        if let Some(column) = arrays.remove(&name) {
            taken.insert(name[prefix.len()..].to_owned(), column);
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graph_has_edges_and_weights() {
        let truth = truth("graph").unwrap();
        assert_eq!(truth.positions.dtype, "<f4");
        assert_eq!(truth.edges.unwrap().shape, [155, 2]);
        assert_eq!(truth.link_attributes["weight"].shape, [155]);
    }

    #[test]
    fn objects_come_with_ids_and_attributes() {
        let truth = truth("points_ids").unwrap();
        assert_eq!(
            truth.object_ids.unwrap().i64s().unwrap(),
            [3, 17, 18, 77, 4096]
        );
        assert_eq!(truth.object_attributes["score"].rows(), 5);
        assert_eq!(
            truth.attributes.keys().collect::<Vec<_>>(),
            ["count", "intensity"]
        );
    }

    #[test]
    fn double_precision_is_kept() {
        let truth = truth("points_2d_f8").unwrap();
        assert_eq!(truth.positions.dtype, "<f8");
        assert_eq!(truth.positions.width(), 2);
    }
}
