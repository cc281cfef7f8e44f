//! Arrays of an archive as columns.

use zvf_write::{AttributeSpec, AttributeType};

use crate::archive::Member;
use crate::npy::Header;
use crate::records::values;

/// An array of numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) member: Member,
    pub(super) array: Header,
}

impl Column {
    pub(super) fn spec(&self) -> Option<AttributeSpec> {
        match values::kind(&self.array.column())? {
            (AttributeType::Number(number), channels) => {
                Some(AttributeSpec::number(&self.name, number).with_channels(channels))
            }
            _ => None,
        }
    }
}

impl Column {
    pub(super) fn is_whole(&self) -> bool {
        self.array.column().is_integer()
    }
}
