//! Where a store lies, for those who write one: addresses mean the same to readers and writers.

use std::path::PathBuf;
use std::sync::Arc;

use object_store::ObjectStore;
use zvf_meta::Codec;

use crate::codec::Chain;
use crate::location::Location;
use crate::{OpenOptions, StoreError};

pub use crate::kv::{Answer, Requests};
pub use crate::redo::Redo;

/// A codec of the `zarrs` crate that makes bytes of bytes, for the encoder of those that have no encoder of their own.
///
/// # Errors
/// The name of the codec, and why it cannot be.
#[cfg(feature = "zarrs")]
pub fn zarrs_codec(
    codec: &Codec,
) -> Result<Arc<dyn zarrs::array::BytesToBytesCodecTraits>, String> {
    crate::codec::foreign::make(codec)
}

/// The checksum that `numcodecs.fletcher32` appends, little-endian.
#[must_use]
pub fn fletcher32(data: &[u8]) -> u32 {
    crate::codec::fletcher32::sum(data)
}

/// Whether cells behind these bytes-to-bytes codecs are read without the generic reader: in every layout then, blobs of
/// their own included.
#[must_use]
pub fn reads_plainly(codecs: &[Codec]) -> bool {
    Chain::new(codecs).is_ok()
}

/// Where the objects of a store go.
#[derive(Debug, Clone)]
pub enum Place {
    /// A folder of the local disk.
    Folder(PathBuf),
    /// A prefix of an object store, without slashes at its ends; its client sends no request twice.
    Prefix {
        /// The backend.
        store: Arc<dyn ObjectStore>,
        /// What every key begins with; may be empty.
        prefix: String,
    },
}

impl Place {
    /// Resolves an address, as [`Store::open`](crate::Store::open) does. Sends nothing.
    ///
    /// # Errors
    /// Misuse: an address that is none, or of a backend that is not compiled in.
    pub fn of(address: &str, options: &OpenOptions) -> Result<Self, StoreError> {
        Ok(match Location::resolve(address, options)? {
            Location::Local(folder) => Self::Folder(folder),
            Location::Remote { store, prefix, .. } => Self::Prefix { store, prefix },
        })
    }
}
