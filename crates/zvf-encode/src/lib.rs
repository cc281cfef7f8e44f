//! The encode side of Zarr Vectors stores: what writers, edits, copies and pyramids share.

pub mod arrow;
#[doc(hidden)]
pub mod batches;
#[doc(hidden)]
pub mod documents;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod level;
#[doc(hidden)]
pub mod links;
mod options;
#[doc(hidden)]
pub mod parallel;
#[doc(hidden)]
pub mod records;
#[doc(hidden)]
pub mod spec;
#[doc(hidden)]
pub mod tables;
#[doc(hidden)]
pub mod target;
#[doc(hidden)]
pub mod transaction;
#[doc(hidden)]
pub mod values;

pub use batches::{Batch, Groups, ObjectTable};
pub use documents::{name_of as store_name, renew_ome};
pub use error::WriteError;
pub use level::{Progress, Step, Summary};
pub use options::WriteOptions;
pub use spec::{
    AttributeSpec, AttributeType, ChunkBy, LinkSpec, Outside, Parametric, ParametricType,
    StoreSpec, TargetVersion, is_name,
};
pub use transaction::{Holder, StaleFiles};
pub use values::{NumberType, TextSet, Values, decimal, narrow};
pub use zvf_codec::Compression;
pub use zvf_meta::{Axis, JsonObject, Kind, LinkStore};
pub use zvf_store::Class;
