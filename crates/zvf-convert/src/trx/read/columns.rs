//! Arrays of an archive as columns.

use zvf_write::{AttributeSpec, AttributeType};

use crate::archive::ArchiveMember;
use crate::npy::NpyHeader;
use crate::records::values;

/// An array of numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TrxArray {
    pub(super) name: String,
    pub(super) member: ArchiveMember,
    pub(super) array: NpyHeader,
}

impl TrxArray {
    pub(super) fn spec(&self) -> Option<AttributeSpec> {
        match values::kind(&self.array.column())? {
            (AttributeType::Number(number), channels) => {
                Some(AttributeSpec::number(&self.name, number).with_channels(channels))
            }
            _ => None,
        }
    }
}

impl TrxArray {
    pub(super) fn is_whole(&self) -> bool {
        self.array.column().is_integer()
    }
}
