//! Requests of decoders, and their results.

use zvf_codec::Data;
use zvf_io::{Ask, Cap, Object};

/// A request of a decoder: a whole object or a range.
#[derive(Debug)]
pub(super) struct Get {
    pub(super) key: String,
    pub(super) ask: Ask,
    pub(super) cap: Cap,
    /// Whether access that is denied means that the object does not exist.
    pub(super) denied_is_absent: bool,
    /// Whether a failure counts only if the previous request found its object.
    pub(super) depends: bool,
    /// Whether the decoder accepts a reader of ranges instead of the bytes. Stores on a local disk provide it.
    pub(super) in_ranges: bool,
}

impl Get {
    /// An independent request.
    pub(super) fn new(key: impl Into<String>, ask: Ask, cap: Cap) -> Self {
        Self {
            key: key.into(),
            ask,
            cap,
            denied_is_absent: false,
            depends: false,
            in_ranges: false,
        }
    }
}

/// The size of the whole object in bytes and its ETag, if a request returned them.
pub(super) type SizeAndTag = Option<(u64, Option<String>)>;

/// The bytes of a request.
#[derive(Debug)]
pub(super) struct RequestBytes<'b> {
    pub(super) data: Data<'b>,
    /// Where they start in the object.
    pub(super) start: u64,
    /// The state of the object.
    pub(super) state: SizeAndTag,
}

impl From<Object> for RequestBytes<'_> {
    fn from(object: Object) -> Self {
        Self {
            data: Data::Shared(object.bytes),
            start: object.start,
            state: Some((object.size, object.etag)),
        }
    }
}
