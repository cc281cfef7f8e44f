//! What is damaged: an error, or left out where the caller wants what remains of a damaged store.

use zvf_meta::version::Gate;

use super::plan::Family;
use super::{Document, Tree};
use crate::level::Refused;
use crate::missing::UNFINISHED;
use crate::{Class, Names, Need, StoreError};

impl Tree {
    /// Decides about an attribute or table that cannot be read. One that is named, or damaged, is an error; one of a kind
    /// that is not supported, or that may not be read, is left out with a warning.
    pub(super) fn skip(
        &self,
        family: Family,
        need: &Need,
        path: &str,
        error: StoreError,
        refused: &mut Vec<Refused>,
    ) -> Result<(), StoreError> {
        if matches!(family.wanted(need), Names::List(_)) {
            return Err(error);
        }
        self.leave_out(path, None, error, refused)
    }

    /// Decides about a node that cannot be read, as [`skip`](Self::skip) does for one that is not named.
    pub(super) fn leave_out(
        &self,
        path: &str,
        delta: Option<i32>,
        error: StoreError,
        refused: &mut Vec<Refused>,
    ) -> Result<(), StoreError> {
        let newer = {
            let state = self.state();
            let root = state.root.as_deref();
            root.is_some_and(|root| matches!(root.gate(), Gate::Newer(_)))
        };
        let damaged = error.class() != Class::Io && !error.is_unsupported() && !newer;
        if damaged && !self.leave_out_damaged {
            return Err(if delta.is_none() { named(error) } else { error });
        }
        refused.push(self.left_out(path, delta, &error, damaged));
        Ok(())
    }

    /// Warns that a node is left out.
    pub(super) fn left_out(
        &self,
        path: &str,
        delta: Option<i32>,
        error: &StoreError,
        damaged: bool,
    ) -> Refused {
        self.warnings.add(format!("left out: {error}"));
        Refused {
            path: path.to_owned(),
            delta,
            why: without_key(error),
            damaged,
        }
    }

    /// Refuses a node whose folder is listed while it has no document. Where the marker of a writer was read, such a node is being
    /// written: it is not a part of the store yet.
    pub(super) fn check_there(&self, path: &str) -> Result<(), StoreError> {
        let state = self.state();
        let absent = matches!(
            state.documents.get(&format!("{path}/zarr.json")),
            Some(Document::Absent)
        );
        let named = path.rsplit_once('/').is_some_and(|(above, name)| {
            let listed = state.folders(above).flatten();
            listed.is_some_and(|names| names.iter().any(|one| one == name))
        });
        let writing = matches!(
            state.documents.get(UNFINISHED),
            Some(Document::Bytes(_) | Document::Used)
        );
        if absent && named && !writing {
            return Err(StoreError::malformed(
                format!("{path}/zarr.json"),
                "the document is missing, but its folder is there",
            ));
        }
        Ok(())
    }
}

/// The text of an error without the key that it begins with.
fn without_key(error: &StoreError) -> String {
    let text = error.to_string();
    let key = error.key().unwrap_or_default();
    let rest = text.strip_prefix(&format!("{key}: "));
    rest.unwrap_or(&text).to_owned()
}

/// Adds to the error of an attribute how the rest of the level can be read.
fn named(error: StoreError) -> StoreError {
    let Some(key) = error.key().filter(|_| error.class() == Class::Malformed) else {
        return error;
    };
    let what = without_key(&error);
    StoreError::malformed(
        key,
        format!("{what}; restore it, or name the attributes to read without this one"),
    )
}
