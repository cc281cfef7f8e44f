//! Listings of an `object_store` backend.

use std::collections::BTreeSet;

use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{Error, ListResult, ObjectMeta};

use crate::classify::{Failure, sort};
use crate::context::Context;
use crate::remote::{Remote, state_of};
use crate::versions::ReportedState;
use crate::{Cap, IoError, Method, Usage};
use zvf_grid::int::wide;

impl Remote {
    /// Counts the objects below a prefix and their bytes; `None` when the backend cannot list.
    pub(crate) async fn usage(
        &self,
        context: &Context,
        prefix: &str,
    ) -> Result<Option<Usage>, IoError> {
        let cap = Cap::cells(context.limits());
        let mut usage = Usage::default();
        let mut add = |meta: ObjectMeta| usage.add(prefix, meta.size, cap);
        let walked = self.walk(context, prefix, &mut add).await?;
        Ok(walked.then_some(usage))
    }

    /// The keys of all objects below a prefix, relative to it; `None` when the backend cannot list.
    pub(crate) async fn keys(
        &self,
        context: &Context,
        prefix: &str,
    ) -> Result<Option<Vec<String>>, IoError> {
        let cap = Cap::cells(context.limits());
        let path = self.path(prefix)?;
        let mut keys = Vec::new();
        let mut add = |meta: ObjectMeta| {
            let location = meta.location.as_ref();
            if let Some(key) = location.strip_prefix(path.as_ref()) {
                keys.push(key.trim_start_matches('/').to_owned());
            }
            cap.check(prefix, wide(keys.len()))
        };
        let walked = self.walk(context, prefix, &mut add).await?;
        if let Some(overlay) = self.overlay() {
            overlay.correct_keys(prefix, &mut keys);
        }
        Ok(walked.then_some(keys))
    }

    /// All objects with their states; `None` when the backend cannot list.
    pub(crate) async fn objects(
        &self,
        context: &Context,
    ) -> Result<Option<Vec<(String, ReportedState)>>, IoError> {
        let cap = Cap::cells(context.limits());
        let path = self.path("")?;
        let mut found = Vec::new();
        let mut add = |meta: ObjectMeta| {
            if let Some(key) = meta.location.as_ref().strip_prefix(path.as_ref()) {
                let key = key.trim_start_matches('/').to_owned();
                found.push((key, state_of(&meta)));
            }
            cap.check("", wide(found.len()))
        };
        let walked = self.walk(context, "", &mut add).await?;
        // Empty objects with the name of a folder are markers of programs that show buckets as folders.
        let keys: BTreeSet<String> = found.iter().map(|(key, _)| key.clone()).collect();
        found.retain(|(key, state)| {
            let below = format!("{key}/");
            let next = keys.range(below.clone()..).next();
            let is_folder = key.is_empty() || next.is_some_and(|next| next.starts_with(&below));
            state.size > 0 || !is_folder
        });
        Ok(walked.then_some(found))
    }

    /// The names of the folders below a prefix, ascending; `None` when the backend cannot list.
    pub(crate) async fn folders(
        &self,
        context: &Context,
        prefix: &str,
        cap: Cap,
    ) -> Result<Option<Vec<String>>, IoError> {
        let Some(listing) = self.delimited(context, prefix).await? else {
            return Ok(None);
        };
        let mut names = names(prefix, &listing.common_prefixes, cap)?;
        if let Some(overlay) = self.overlay() {
            overlay.correct_folders(prefix, &mut names);
        }
        Ok(Some(names))
    }

    /// The folders and objects directly below a prefix, as the backend lists them; `None` when it cannot list.
    pub(crate) async fn delimited(
        &self,
        context: &Context,
        prefix: &str,
    ) -> Result<Option<ListResult>, IoError> {
        let path = self.path(prefix)?;
        let below = (!path.is_root()).then_some(&path);
        let mut tries = self.tries();
        let _turn = self.turn(context).await?;
        while self.lists() {
            tries.made = tries.made.saturating_add(1);
            let start = context.trace().start();
            let listing = match tries.step(0, self.store.list_with_delimiter(below)).await {
                Ok(Ok(listing)) => Ok(listing),
                Ok(Err(Error::NotFound { .. })) => Ok(ListResult {
                    common_prefixes: Vec::new(),
                    objects: Vec::new(),
                    extensions: Default::default(),
                }),
                Ok(Err(error)) => Err(sort(prefix, error)),
                Err(silent) => Err(silent),
            };
            let outcome = match &listing {
                Ok(found) => (Some(wide(found.common_prefixes.len())), tries.made, None),
                Err(failure) => (None, tries.made, Some(failure.to_string())),
            };
            context.record_try(start, Method::List, prefix, (None, None), outcome);
            match listing {
                Ok(found) => return Ok(Some(found)),
                Err(failure) if self.refuses(prefix, &failure) => {}
                Err(failure) => tries.after(prefix, failure).await?,
            }
        }
        Ok(None)
    }

    /// Visits all objects below a prefix. Returns false if the backend cannot list.
    ///
    /// An interrupted listing continues after its last object if the backend returns objects in order, and fails otherwise.
    async fn walk(
        &self,
        context: &Context,
        prefix: &str,
        visit: &mut (dyn FnMut(ObjectMeta) -> Result<(), IoError> + Send),
    ) -> Result<bool, IoError> {
        let path = self.path(prefix)?;
        let below = (!path.is_root()).then_some(&path);
        let mut tries = self.tries();
        let mut last: Option<Path> = None;
        let mut ordered = true;
        let _turn = self.turn(context).await?;
        while self.lists() {
            tries.made = tries.made.saturating_add(1);
            let (start, attempt) = (context.trace().start(), tries.made);
            let mut found = 0u64;
            let mut list = match &last {
                None => self.store.list(below),
                Some(last) => self.store.list_with_offset(below, last),
            };
            let end = loop {
                let meta = match tries.step(0, list.try_next()).await {
                    Ok(Ok(Some(meta))) => meta,
                    Ok(Ok(None) | Err(Error::NotFound { .. })) => break Ok(()),
                    Ok(Err(error)) => break Err(sort(prefix, error)),
                    Err(silent) => break Err(silent),
                };
                // The time-out applies to each page, not to the whole listing.
                tries.restart();
                found = found.saturating_add(1);
                ordered = ordered && last.as_ref().is_none_or(|last| *last < meta.location);
                last = Some(meta.location.clone());
                visit(meta)?;
            };
            let failed = end.as_ref().err().map(ToString::to_string);
            let outcome = (failed.is_none().then_some(found), attempt, failed);
            context.record_try(start, Method::List, prefix, (None, None), outcome);
            let Err(failure) = end else { return Ok(true) };
            match failure {
                failure if self.refuses(prefix, &failure) => {}
                Failure::Passing(source) if !ordered => {
                    return Err(tries.give_up(prefix, source));
                }
                failure => tries.after(prefix, failure).await?,
            }
        }
        Ok(false)
    }

    /// Whether a failure shows that the backend cannot list. After such a failure, or if access to the listing of the root was denied, no more
    /// listings are requested.
    fn refuses(&self, prefix: &str, failure: &Failure) -> bool {
        let unsupported = matches!(failure, Failure::Final(IoError::NotSupported { .. }));
        let denied = matches!(failure, Failure::Final(IoError::Denied { .. }));
        if unsupported || (denied && prefix.is_empty()) {
            self.cannot_list();
        }
        unsupported
    }
}

/// The last segments of folders, ascending.
fn names(prefix: &str, folders: &[Path], cap: Cap) -> Result<Vec<String>, IoError> {
    cap.check(prefix, wide(folders.len()))?;
    let names = folders.iter().filter_map(|path| path.filename());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort_unstable();
    Ok(names)
}
