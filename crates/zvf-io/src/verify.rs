//! Checks at the end of an answer that the documents of a snapshot are still unchanged.

use std::sync::Arc;

use futures::future::BoxFuture;
#[cfg(feature = "backends")]
use futures::future::try_join;
use futures::future::try_join_all;

use crate::context::Context;
use crate::kv::{Backend, Kv};
#[cfg(feature = "backends")]
use crate::remote::{Remote, Use, WantedPart};
use crate::task::{driven, on_worker};
#[cfg(feature = "backends")]
use crate::versions::{ListingDigest, Pinned};
use crate::versions::{changed, state_text};
#[cfg(feature = "backends")]
use crate::{Ask, Cap};
use crate::{IoError, local};

impl Kv {
    /// Checks the documents on which answers depend; for a local store, on the calling thread if `here` is set.
    ///
    /// # Errors
    /// I/O: a document or listing changed ([`IoError::SourceChanged`]), or cannot be read.
    pub fn verify(&self, here: bool) -> BoxFuture<'_, Result<(), IoError>> {
        Box::pin(async move {
            match self.backend() {
                Backend::Local(root) => {
                    let Some(looks) = self.versions().to_verify(true) else {
                        return Ok(());
                    };
                    let (root, context) = (Arc::clone(root), Context::clone(self));
                    let look = move || {
                        for (key, first) in looks.documents {
                            let first = first.map(|pinned| pinned.state);
                            let now = local::state(&root, &context, &key)?;
                            if now != first {
                                let (first, now) =
                                    (state_text(first.as_ref()), state_text(now.as_ref()));
                                return Err(changed(&key, first, now));
                            }
                        }
                        Ok(())
                    };
                    if here {
                        return look();
                    }
                    on_worker(look).await?
                }
                #[cfg(feature = "backends")]
                Backend::Remote(remote) => {
                    let Some(looks) = self.versions().to_verify(false) else {
                        return Ok(());
                    };
                    let (context, remote) = (Context::clone(self), remote.clone());
                    driven(async move {
                        let documents = looks
                            .documents
                            .iter()
                            .map(|(key, first)| remote.look(&context, key, first.as_ref()));
                        let listings = looks.listings.iter().map(|(prefix, first)| {
                            remote.look_at_listing(&context, prefix, *first)
                        });
                        try_join(try_join_all(documents), try_join_all(listings)).await?;
                        context.versions().verified(looks.reads);
                        Ok(())
                    })
                    .await
                }
                Backend::Caller(caller) => {
                    let Some(looks) = self.versions().to_verify(false) else {
                        return Ok(());
                    };
                    let (context, caller) = (Context::clone(self), caller.clone());
                    driven(async move {
                        let documents = looks
                            .documents
                            .iter()
                            .map(|(key, first)| caller.look(&context, key, first.as_ref()));
                        try_join_all(documents).await?;
                        context.versions().verified(looks.reads);
                        Ok(())
                    })
                    .await
                }
            }
        })
    }
}

#[cfg(feature = "backends")]
impl Remote {
    /// Compares one document with its earlier state `first`; `None`: it was absent.
    ///
    /// If HEAD reports another state, the document is requested, because some servers answer HEAD wrongly or not at all. Servers that deny listings
    /// answer "denied" for missing documents.
    async fn look(
        &self,
        context: &Context,
        key: &str,
        first: Option<&Pinned>,
    ) -> Result<(), IoError> {
        let purpose = Use {
            cap: Cap::document(context.limits()),
            role: None,
        };
        let state = first.map(|first| &first.state);
        if first.is_none_or(Pinned::is_identified_by_state) {
            match self.send(context, key, WantedPart::State, purpose).await {
                Ok(now) if now.as_ref().map(|now| &now.state) == state => return Ok(()),
                Err(IoError::Denied { .. }) if state.is_none() => return Ok(()),
                Err(error) if error.is_transient() => return Err(error),
                _ => {}
            }
        }
        let now = match self
            .send(context, key, WantedPart::Bytes(Ask::Whole), purpose)
            .await
        {
            Err(IoError::Denied { .. }) if state.is_none() => return Ok(()),
            now => now?,
        };
        let found = now.as_ref().map(|now| &now.state);
        if found != state {
            return Err(changed(key, state_text(state), state_text(found)));
        }
        match (first, now) {
            (Some(first), Some(now))
                if !context.versions().same_bytes(first, &now.object.bytes) =>
            {
                Err(changed(key, &first.state, &"other bytes"))
            }
            _ => Ok(()),
        }
    }

    /// Lists the folders below a prefix again and compares them with the first listing.
    async fn look_at_listing(
        &self,
        context: &Context,
        prefix: &str,
        first: ListingDigest,
    ) -> Result<(), IoError> {
        let cap = Cap::names(context.limits());
        match self.folders(context, prefix, cap).await? {
            Some(names) if context.versions().listed(&names) != first => {
                Err(changed(prefix, &first, &context.versions().listed(&names)))
            }
            _ => Ok(()),
        }
    }
}
