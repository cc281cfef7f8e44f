//! Families of a level that are not read, and whether the others can be read without them.

use zvf_meta::version::{Gate, NEWEST, OLDER};
use zvf_meta::{RootDoc, is_known_family};

use super::SnapshotTree;
use crate::{Class, StoreError};

impl SnapshotTree {
    /// Refuses a level of an unsupported generation: a level with families from before 0.6, regardless of the stated version, or with an unknown family in a
    /// store of a later version, because the family may change the meaning of the others.
    ///
    /// # Errors
    /// Unsupported, with the path of that family.
    pub(super) fn check_families(&self, root: &RootDoc, level: u32) -> Result<(), StoreError> {
        let listed = self.state().folders(&level.to_string()).flatten();
        let Some(names) = listed else {
            return Ok(());
        };
        let has = |name: &str| names.iter().any(|one| one == name);
        if has("vertex_group_offsets") && !has("vertex_fragments") {
            let what = format!("a level without vertex_fragments (expected {OLDER})");
            return Err(StoreError::unsupported(
                format!("{level}/vertex_group_offsets"),
                what,
            ));
        }
        if let Gate::Newer(version) = root.gate()
            && let Some(unknown) = names.iter().find(|name| !is_known_family(name))
        {
            let what = format!("a node of version {version}, which is later than {NEWEST},");
            return Err(StoreError::unsupported(format!("{level}/{unknown}"), what));
        }
        Ok(())
    }

    /// Adds to an error in a store of a later version that the version may be the cause.
    pub(super) fn of_version(&self, root: &RootDoc, error: StoreError) -> StoreError {
        match (root.gate(), error.class()) {
            (Gate::Newer(version), Class::Malformed) => {
                let key = error.key().unwrap_or_default().to_owned();
                let text = error.to_string();
                let what = text
                    .strip_prefix(&format!("{key}: "))
                    .unwrap_or(&text)
                    .to_owned();
                StoreError::unsupported(
                    key,
                    format!("a node of version {version}, which is later than {NEWEST} ({what}),"),
                )
            }
            _ => error,
        }
    }
}
