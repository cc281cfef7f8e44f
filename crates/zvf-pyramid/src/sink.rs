//! The target of levels: their final place if there are none yet, or a staging folder until they replace the existing ones.

use std::sync::Arc;

use zvf_encode::WriteError;
use zvf_encode::target::{Below, Stage, Target};

/// A store, and whether objects are staged in the folder of a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoreSink<'t> {
    pub(crate) target: &'t Arc<Target>,
    pub(crate) stage: Option<&'t Stage>,
}

impl<'t> StoreSink<'t> {
    /// The part of the store below a level.
    pub(crate) fn below(self, level: u32) -> Below<'t> {
        let below = self.target.below(level.to_string());
        match self.stage {
            Some(stage) => below.staged(stage),
            // A folder without a document is not an array to readers of level 0.
            None => below.unseen(),
        }
    }

    /// Whether a level has an object: in level 0 the stored one, in others the staged one.
    pub(crate) fn has(self, level: u32, key: &str) -> Result<bool, WriteError> {
        let key = format!("{level}/{key}");
        match self.stage {
            Some(stage) if level > 0 || stage.has(&key) => Ok(stage.has(&key)),
            _ => self.target.exists(&key),
        }
    }
}
