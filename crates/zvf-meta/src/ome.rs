//! The `ome` member: a description of the store for other tools, derived from the other documents.

use serde_json::Value;

use crate::document::{Defaulted, Optional, document};
use crate::json::{FromJson, JsonObject, Pointer, ToJson};
use crate::multiscales::Axis;

document! {
    /// `attributes.ome`: an OME-Zarr collection node. Readers of the format do not use it.
    ///
    /// Source: 0.9 §5.3.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Ome {
        /// The reference writes `0.6`.
        pub version: Option<String> = Optional("version"),
        /// The reference writes `collection`.
        pub type_: Option<String> = Optional("type"),
        /// Name of the store.
        pub name: Option<String> = Optional("name"),
        /// `attributes`: the scene with its coordinate systems, and foreign entries.
        pub attributes: Option<JsonObject> = Optional("attributes"),
        /// One node for each level, in increasing order.
        pub nodes: Vec<OmeNode> = Defaulted("nodes"),
    }
}

document! {
    /// One entry of [`Ome::nodes`].
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct OmeNode {
        /// `zv:level` for a level.
        pub type_: Option<String> = Optional("type"),
        /// Group name of the level.
        pub name: Option<String> = Optional("name"),
    }
}

impl Ome {
    /// Returns the names of the nodes that are levels, in document order.
    pub fn level_names(&self) -> impl Iterator<Item = &str> {
        self.nodes
            .iter()
            .filter(|node| node.type_.as_deref() == Some("zv:level"))
            .filter_map(|node| node.name.as_deref())
    }

    /// Returns the node as a JSON value.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.to_json()
    }

    /// Returns the axes of the first coordinate system of the scene, or `None` if they are absent or malformed.
    #[must_use]
    pub fn scene_axes(&self) -> Option<Vec<Axis>> {
        let scene = self.attributes.as_ref()?.get("scene")?;
        let axes = scene.pointer("/coordinateSystems/0/axes")?;
        FromJson::from_json(axes.clone(), &Pointer::Prefix("/attributes/ome")).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::MetaError;
    use serde_json::json;

    #[test]
    fn levels_and_axes_are_found() -> Result<(), MetaError> {
        let value = json!({"version": "0.6", "type": "collection", "name": "s",
            "attributes": {"scene": {"coordinateSystems": [{"name": "world", "axes": [{"name": "x", "type": "space"}]}],
                "coordinateTransformations": []}, "mine": 1},
            "nodes": [{"type": "zv:level", "name": "0"}, {"type": "image", "name": "i", "path": "i.zarr"},
                {"type": "zv:level", "name": "1"}], "foreign": []});
        let ome = Ome::from_json(value.clone(), &Pointer::Prefix("/attributes/ome"))?;
        assert_eq!(ome.level_names().collect::<Vec<_>>(), ["0", "1"]);
        assert_eq!(ome.scene_axes(), Some(vec![Axis::new("x", "space")]));
        assert_eq!(ome.to_json(), value);
        Ok(())
    }
}
