//! The specification of a store, and the consequences of its format version.
//!
//! [`StoreSpec::check`] checks a [`StoreSpec`] as a whole; no other code in this crate refuses its members. [`VersionRules`] has the
//! four choices that depend on the format version; other code in this crate depends only on these choices.

mod meaning;
pub(crate) mod names;
pub(crate) mod parametric;
pub(crate) mod shard_shape;
pub(crate) mod store;
pub(crate) mod target_version;

pub use names::{check_name, is_name};
pub use parametric::{Parametric, ParametricType};
pub use shard_shape::ShardShape;
pub use store::{
    AttributeSpec, AttributeType, ChunkBy, LinkSpec, Outside, StoreSpec, TargetVersion,
    check_bin_count,
};
pub use target_version::{
    DocumentMembers, ID_END, ID_IS_ROW, IdsIn, LinksBy, MOST_ROWS, VersionRules,
};
