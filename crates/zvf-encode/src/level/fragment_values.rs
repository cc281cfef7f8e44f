//! Attributes of fragments, which end where the values change (0.9 §11.7 and §12.2).

use zvf_meta::{ArrayAttributes, Kind};
use zvf_store::owners::OWNER_COLUMN;

use crate::WriteError;
use crate::documents::build::channels;
use crate::spec::store::{AttributeSpec, AttributeType, StoreSpec, check_list};
use crate::spec::target_version::IdsIn;

impl StoreSpec {
    /// Declares an attribute of fragments: numbers, one row per fragment. Batches give a [value for each
    /// vertex](crate::Batch::with_fragment_attribute), and a fragment ends where any of them changes. So a caller can choose where fragments end
    /// inside an object, such as at the branches of a tree.
    ///
    /// Not for point clouds with bins, whose fragments are the bins.
    #[must_use]
    pub fn with_fragment_attribute(mut self, attribute: AttributeSpec) -> Self {
        self.fragment_attributes.push(attribute);
        self
    }

    /// Stores the object of each fragment, for readers that start from a chunk instead of an object. Stores of 0.9 with objects have it by default.
    #[must_use]
    pub fn with_fragment_owners(mut self) -> Self {
        self.fragment_owners = Some(true);
        self
    }

    /// Does not store the objects of fragments: a query of a box then reads all manifests.
    #[must_use]
    pub fn without_fragment_owners(mut self) -> Self {
        self.fragment_owners = Some(false);
        self
    }

    /// Whether the objects of fragments are stored.
    #[must_use]
    pub fn stores_owners(&self) -> bool {
        let by_default = || {
            // Readers of older versions do not support such a column, and an attribute may have its name.
            let free = self
                .fragment_attributes
                .iter()
                .all(|one| one.name != OWNER_COLUMN);
            self.has_objects() && self.target.rules().ids == IdsIn::Table && free
        };
        self.fragment_owners.unwrap_or_else(by_default)
    }

    /// Whether fragments end where values of their attributes change.
    pub(crate) fn cuts_by_value(&self) -> bool {
        !self.fragment_attributes.is_empty()
    }

    pub(crate) fn check_fragments(&self) -> Result<(), WriteError> {
        let member = "fragment_attributes";
        check_list(
            member,
            &self.fragment_attributes,
            AttributeType::numbers_only,
        )?;
        let binned = self.kind == Kind::PointCloud && self.bin_shape.is_some();
        if binned && self.cuts_by_value() {
            let found = format!("{} of them", self.fragment_attributes.len());
            let expected = "none, because the fragments of a point cloud with bins are the bins";
            return Err(WriteError::spec(member, found, expected));
        }
        if self.fragment_owners != Some(true) {
            return Ok(());
        }
        if !self.has_objects() {
            let expected = "false for a store without objects";
            return Err(WriteError::spec("fragment_owners", "true", expected));
        }
        if self
            .fragment_attributes
            .iter()
            .any(|one| one.name == OWNER_COLUMN)
        {
            let member = format!("{member}/{OWNER_COLUMN}");
            let expected = "another name, because `fragment_owners` uses this one";
            return Err(WriteError::spec(member, "declared", expected));
        }
        Ok(())
    }
}

/// Attributes of `fragment_attributes/<name>`.
pub(crate) fn document(one: &AttributeSpec) -> ArrayAttributes {
    ArrayAttributes {
        zv_array: Some("fragment_attribute".to_owned()),
        dtype: Some(one.values.name()),
        ..channels(one)
    }
}
