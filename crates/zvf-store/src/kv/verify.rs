//! Looking again: whether the documents of a snapshot are what they were.

use std::fmt;
use std::sync::Arc;

use futures::future::{try_join, try_join_all};

use super::pins::{ABSENT, Listed, Pinned, State, changed};
use super::remote::{Part, Remote, Use};
use super::{Backend, Cap, Kv, blocking, driven, local};
use crate::StoreError;

/// A state in words.
fn told(state: Option<&State>) -> &dyn fmt::Display {
    match state {
        Some(state) => state,
        None => &ABSENT,
    }
}

impl Kv {
    /// Looks again at the documents that answers came from.
    pub(crate) async fn verify(&self, round: u32) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Local(root) => {
                let Some(looks) = self.pins.to_verify(true) else {
                    return Ok(());
                };
                let (root, trace) = (Arc::clone(root), self.trace.clone());
                let look = move || {
                    for (key, first) in looks.documents {
                        let first = first.map(|pinned| pinned.state);
                        let now = local::state(&root, round, &key, &trace)?;
                        if now != first {
                            let (first, now) = (told(first.as_ref()), told(now.as_ref()));
                            return Err(changed(&key, first, now));
                        }
                    }
                    Ok(())
                };
                blocking(look).await?
            }
            Backend::Remote(remote) => {
                let Some(looks) = self.pins.to_verify(false) else {
                    return Ok(());
                };
                let (kv, remote) = (self.clone(), remote.clone());
                driven(async move {
                    let documents = looks
                        .documents
                        .iter()
                        .map(|(key, first)| remote.look(&kv, round, key, first.as_ref()));
                    let listings = looks
                        .listings
                        .iter()
                        .map(|(prefix, first)| remote.look_at_listing(&kv, round, prefix, *first));
                    try_join(try_join_all(documents), try_join_all(listings)).await?;
                    kv.pins.verified(looks.reads);
                    Ok(())
                })
                .await
            }
        }
    }
}

impl Remote {
    /// Looks again at one document, which was in the state `first` or absent.
    ///
    /// What HEAD says differently is not believed at once: some servers answer it carelessly, or not at all. The
    /// head of the document itself decides. Where listings are denied, "denied" is said of what is not there.
    async fn look(
        &self,
        kv: &Kv,
        round: u32,
        key: &str,
        first: Option<&Pinned>,
    ) -> Result<(), StoreError> {
        let purpose = Use {
            round,
            cap: Cap::document(&kv.limits),
            role: None,
        };
        let state = first.map(|first| &first.state);
        if state.is_none_or(State::is_telling) {
            match self.send(kv, key, Part::State, purpose).await {
                Ok(now) if now.as_ref().map(|now| &now.state) == state => return Ok(()),
                Err(StoreError::Denied { .. }) if state.is_none() => return Ok(()),
                Err(error) if error.is_transient() => return Err(error),
                _ => {}
            }
        }
        let now = match self.send(kv, key, Part::Whole, purpose).await {
            Err(StoreError::Denied { .. }) if state.is_none() => return Ok(()),
            now => now?,
        };
        let found = now.as_ref().map(|now| &now.state);
        if found != state {
            return Err(changed(key, told(state), told(found)));
        }
        match (first, now) {
            (Some(first), Some(now)) if !kv.pins.same_bytes(first, &now.object.bytes) => {
                Err(changed(key, &first.state, &"other bytes"))
            }
            _ => Ok(()),
        }
    }

    /// Asks again which folders stand below a prefix.
    async fn look_at_listing(
        &self,
        kv: &Kv,
        round: u32,
        prefix: &str,
        first: Listed,
    ) -> Result<(), StoreError> {
        let limit = ("listed_names", kv.limits.listed_names);
        match self.folders(kv, round, prefix, limit).await? {
            Some(names) if kv.pins.listed(&names) != first => {
                Err(changed(prefix, &first, &kv.pins.listed(&names)))
            }
            _ => Ok(()),
        }
    }
}
