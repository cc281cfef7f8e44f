//! The JSON documents of the Zarr Vectors Format.

mod array;
mod attributes;
pub mod capabilities;
mod codec;
mod error;
mod family;
mod json;
mod key_encoding;
mod keylist;
mod level;
mod multiscales;
mod names;
mod node;
mod ome;
mod role;
mod root;
pub mod rules;
pub mod space;
mod text;
pub mod version;

pub use array::{ArrayDoc, DataType};
pub use attributes::{ArrayAttributes, GroupRange};
pub use codec::{Codec, Sharding};
pub use error::MetaError;
pub use family::{LinkAttributeFamilyDoc, LinkFamilyDoc, ObjectIndexDoc, group_discriminator};
pub use json::JsonObject;
pub use key_encoding::{KeyEncoding, KeyScheme};
pub use keylist::{KeyIter, KeyList, KeyListFull};
pub use level::LevelDoc;
pub use multiscales::{Axis, Dataset, LevelTransform, Multiscale, Multiscales, Transform};
pub use names::{
    CrossChunkStrategy, CrossLevelStorage, Kind, LinkStore, LinksConvention, ObjectIndexConvention,
    ObjectLayout,
};
pub use node::{GroupDoc, NodeKind, node_kind};
pub use ome::{Ome, OmeNode};
pub use role::Role;
pub use root::{RootDoc, ZarrVectors};
