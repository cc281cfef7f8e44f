//! Documents of a level and of its arrays, and small arrays beside the levels.

pub(crate) mod array;
pub(crate) mod build;
pub(crate) mod extras;
pub(crate) mod nodes;

pub use array::{byte_strings, groups, id_lists};
pub use build::{
    Docs, INDEX, STALE, channels, claim_link_groups, declared, fragments, grid, grid_doc,
    level_node, name_of, plain_group, presence, renew_ome, root,
};
pub(crate) use build::{vertex_attribute, vertices};
pub use extras::write_extras;
pub use nodes::Nodes;
