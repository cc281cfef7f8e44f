//! The content of a file of a view.

use bytes::Bytes;
use serde_json::Value;

use crate::error::{Result, ViewError};

/// Largest number of bytes of one file.
const MOST: usize = 64 << 20;

/// Content of a view.
#[derive(Debug)]
pub enum ViewContent {
    /// A file of bytes.
    File(Bytes),
    /// A document.
    Document(Value),
}

impl From<Vec<u8>> for ViewContent {
    fn from(bytes: Vec<u8>) -> Self {
        Self::File(bytes.into())
    }
}

/// Refuses a file that is too large.
///
/// # Errors
/// Limit: more than 64 MiB.
pub(crate) fn check_size(bytes: usize) -> Result<()> {
    match bytes > MOST {
        true => Err(ViewError::too_large(format!(
            "the answer has more than {MOST} bytes"
        ))),
        false => Ok(()),
    }
}
