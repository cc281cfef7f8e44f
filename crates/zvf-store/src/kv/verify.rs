//! Looking again: whether the documents of a snapshot are what they were.

use std::sync::Arc;

use super::pins::{Pinned, changed};
use super::remote::{Part, Remote, Use};
use super::{Backend, Cap, Kv, blocking, driven, local};
use crate::StoreError;

impl Kv {
    /// Looks again at the documents above what was read.
    pub(crate) async fn verify(&self, round: u32) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Local(root) => {
                let Some((_, wanted)) = self.pins.to_verify(true) else {
                    return Ok(());
                };
                let (root, trace) = (Arc::clone(root), self.trace.clone());
                let look = move || {
                    for (key, pinned) in wanted {
                        let now = local::state(&root, round, &key, &trace)?;
                        if now.as_ref() != Some(&pinned.state) {
                            return Err(match now {
                                Some(now) => changed(&key, &pinned.state, &now),
                                None => changed(&key, &pinned.state, &"absent"),
                            });
                        }
                    }
                    Ok(())
                };
                blocking(look).await?
            }
            Backend::Remote(remote) => {
                let Some((reads, wanted)) = self.pins.to_verify(false) else {
                    return Ok(());
                };
                let (kv, remote) = (self.clone(), remote.clone());
                driven(async move {
                    let looks = wanted
                        .iter()
                        .map(|(key, pinned)| remote.look(&kv, round, key, pinned));
                    futures::future::try_join_all(looks).await?;
                    kv.pins.verified(reads);
                    Ok(())
                })
                .await
            }
        }
    }
}

impl Remote {
    /// Looks again at one document.
    ///
    /// What HEAD says differently is not believed at once: some servers answer it carelessly, or not at all. The
    /// head of the document itself decides.
    async fn look(
        &self,
        kv: &Kv,
        round: u32,
        key: &str,
        pinned: &Pinned,
    ) -> Result<(), StoreError> {
        let purpose = Use {
            round,
            cap: Cap::document(&kv.limits),
            role: None,
        };
        if pinned.state.is_telling() {
            match self.send(kv, key, Part::State, purpose).await {
                Ok(Some(got)) if got.state == pinned.state => return Ok(()),
                Err(error) if error.is_transient() => return Err(error),
                _ => {}
            }
        }
        match self.send(kv, key, Part::Whole, purpose).await? {
            Some(got) if got.state != pinned.state => Err(changed(key, &pinned.state, &got.state)),
            Some(got) if !kv.pins.same_bytes(pinned, &got.object.bytes) => {
                Err(changed(key, &pinned.state, &"other bytes"))
            }
            Some(_) => Ok(()),
            None => Err(changed(key, &pinned.state, &"absent")),
        }
    }
}
