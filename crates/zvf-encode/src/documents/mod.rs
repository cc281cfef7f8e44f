//! Documents of the arrays of a level, of the level, and of the root (0.9 §5 to §7).
//!
//! [`Nodes`] collects the documents of a level until its cells are written, and then writes the documents. The functions make the members that the
//! format defines: the presence list of an array ([`presence`]), attributes of arrays of cells ([`vertices`], [`fragments`], [`channels`]), the [`root`]
//! and its OME metadata ([`renew_ome`]).

pub(crate) mod array;
pub(crate) mod build;
pub(crate) mod extras;
pub(crate) mod nodes;

pub use array::{INDEX, groups};
pub(crate) use build::vertex_attribute;
pub use build::{
    Docs, channels, claim_link_groups, declared, fragments, grid, grid_doc, level_node, name_of,
    plain_group, presence, renew_ome, root, vertices,
};
pub use extras::write_extras;
pub use nodes::Nodes;
