//! How the cells of an array lie in stored objects: one small file for each container.

pub(crate) mod blob;
