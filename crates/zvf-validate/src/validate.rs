//! The order of a validation: tree and documents, the chunks of every level, then for each level presence lists, objects, tables and links, and finally
//! relations between levels.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::future::BoxFuture;
use zvf_meta::Refinement;
use zvf_meta::rules::Severity;
use zvf_store::writing::MARKER;
use zvf_store::{IoError, Need, RawStore, Store, StoreError};

use crate::check::{Check, Depth};
use crate::documents::{StoreDocuments, version_of};
use crate::error::ValidateError;
use crate::finding::{Finding, Findings, Place};
use crate::journal::ValidationJournal;
use crate::level::LevelState;
use crate::measured::Measured;
use crate::options::{Profile, ValidateOptions};
use crate::report::{Report, Seen};
use crate::run::Session;
use crate::{chunks, links, multiscale, objects, presence, stored, tables, viewer};

/// The document that every change of a store replaces.
const ROOT: &str = "zarr.json";

/// Fails if the root changed since it was read: then a concurrent change of the store may have caused the findings.
async fn unchanged(
    url: &str,
    options: &ValidateOptions,
    first: Option<Bytes>,
) -> Result<(), ValidateError> {
    let mut io = options.open.io.clone();
    io.verify = false;
    let now = RawStore::open(url, &io)?.read(ROOT).await;
    // A root that cannot be read has a separate finding.
    let (Some(first), Ok(Some(now))) = (first, now) else {
        return Ok(());
    };
    if first == now {
        return Ok(());
    }
    let bytes = |root: &[u8]| format!("a root of {} bytes", root.len());
    Err(ValidateError::Store(StoreError::Io(
        IoError::SourceChanged {
            key: ROOT.to_owned(),
            first: bytes(&first),
            now: format!("another one, {}", bytes(&now)),
        },
    )))
}

/// Validates a store.
///
/// Defects are findings in the report, even if the store cannot be opened.
///
/// # Cost
/// Depths 1 and 2 read every document and list every folder except those of cells; the number of requests does not depend on the number of chunks.
/// Greater depths list the objects of each array and read every cell once. Memory: the documents, the presence lists, about 80 bytes for each chunk, one
/// batch of chunks for each worker; for objects 1 bit for each fragment (8 bytes with an owner column); 8 bytes for each fragment of lines and skeletons;
/// from depth 4 on, for skeletons, about 4 bytes for each vertex and 8 bytes for each stored edge.
///
/// # Errors
/// I/O, nothing at the address, an invalid address, an option that names a missing level, a journal that cannot be used. [`IoError::SourceChanged`] if
/// there are warnings or errors and the root changed during the validation: validate again.
pub fn validate<'a>(
    url: &'a str,
    options: &'a ValidateOptions,
) -> BoxFuture<'a, Result<Report, ValidateError>> {
    Box::pin(async move {
        let mut run = Session {
            options,
            findings: Findings::new(options.most),
            seen: Seen::default(),
            is_unfinished: false,
            skipped: Vec::new(),
            measured: Measured::default(),
            between: BTreeMap::new(),
            journal: None,
        };
        // Listed objects that are missing are findings, not errors.
        let mut open = options.open.clone();
        open.io.verify = false;
        open.leave_out_damaged = true;
        let raw = RawStore::open(url, &open.io)?;
        // Read before all other documents, so that `unchanged` detects every change of the root during the validation.
        let first = raw.read(ROOT).await.ok().flatten();
        let under = raw.clone().under_edits(&open.io).await;
        let raw = run
            .keep(Check::Unfinished, || Place::at("zarr.json"), under)?
            .unwrap_or(raw);
        let tree = StoreDocuments::read(&raw, &mut run.findings).await?;
        if tree.documents.is_empty()
            && raw.folders("").await?.unwrap_or_default().is_empty()
            && let Err(error) = Store::open_with(url, open.clone()).await
            && error.is_not_found()
        {
            // Nothing is at the address.
            return Err(error.into());
        }
        run.seen.documents = u64::try_from(tree.documents.len()).unwrap_or(u64::MAX);
        check_arrays(options, &tree)?;
        let marker = match raw.read(MARKER).await {
            // A bucket that cannot be listed denies access to absent objects.
            Err(error) if error.is_denied() => None,
            found => found?,
        };
        if marker.is_some() {
            let found = "the marker of a writer";
            run.is_unfinished = true;
            run.findings
                .add(Check::Unfinished, Place::at(MARKER), found, "none");
        }
        if let Some(path) = &options.journal {
            run.journal = Some(ValidationJournal::open(path, url, (options, &tree))?);
        }
        let readable = tree.check(options.depth, &mut run.findings);
        let version = tree
            .documents
            .get("zarr.json")
            .and_then(|root| version_of(root));
        let mut kind = None;
        if readable && options.depth >= Depth::Structure {
            let opened = Store::open_with(url, open).await;
            if let Some(store) = run.keep(Check::StoreOpens, || Place::at("zarr.json"), opened)? {
                kind = Some(store.kind().name().to_owned());
                run.store(&store, &tree).await?;
            }
        }
        if let Some(why) = run.journal.as_ref().and_then(ValidationJournal::end) {
            run.skipped.push(why);
        }
        if options.measure {
            run.measured.documents = tree.documents;
            run.measured.folders = tree.listed.then_some(tree.folders);
        }
        let (findings, counts) = run.findings.finish();
        let damaged = |finding: &Finding| {
            finding.check != Check::Unfinished && finding.severity() >= Severity::Warning
        };
        if findings.iter().any(damaged) {
            unchanged(url, options, first).await?;
        }
        Ok(Report {
            store: url.to_owned(),
            version,
            kind,
            depth: options.depth,
            findings,
            counts,
            skipped: run.skipped,
            seen: run.seen,
            measured: options.measure.then_some(run.measured),
        })
    })
}

impl Session<'_> {
    async fn store(&mut self, store: &Store, tree: &StoreDocuments) -> Result<(), ValidateError> {
        if let Some(wanted) = &self.options.levels
            && let Some(missing) = wanted.iter().find(|one| !store.levels().contains(one))
        {
            let what = format!(
                "there is no level {missing}: levels are {:?}",
                store.levels()
            );
            return Err(ValidateError::Misuse { what });
        }
        if store.levels().is_empty() {
            self.findings
                .add(Check::LevelThere, Place::at(""), "no level", "level 0");
        }
        let side = store.side_groups().await;
        if let Some(side) = self.keep(Check::SideReads, || Place::at(""), side)? {
            for path in side.unknown {
                let expected = "a folder that the format defines";
                self.findings.add(
                    Check::NodeKnown,
                    Place::at(path),
                    "an unknown folder",
                    expected,
                );
            }
            for problem in side.problems {
                let place = Place::at("");
                self.findings
                    .add(Check::SideReads, place, problem, "what the format requires");
            }
        }
        if self.options.depth >= Depth::Multiscale {
            multiscale::stale(self, store);
        }
        let mut told = self.warnings(store, 0);
        let mut states: Vec<LevelState> = Vec::new();
        for &number in store.levels() {
            let level = store.level(number, &Need::all()).await;
            let place = || Place::at(format!("{number}/zarr.json"));
            let level = match self.keep(Check::LevelOpens, place, level)? {
                Some(level) => level,
                // The rest of the level may still be readable.
                None => match store.level(number, &Need::nothing()).await {
                    Ok(level) => level,
                    Err(error) if error.is_defect() => continue,
                    Err(error) => return Err(error.into()),
                },
            };
            for refused in level.refused() {
                let place = Place::at(refused.path.clone());
                let (check, expected) = match refused.damaged {
                    true => (Check::NodeDamaged, "a node that can be read"),
                    false => (Check::NodeRead, "a node of a kind that this program reads"),
                };
                self.findings.add(check, place, &refused.why, expected);
            }
            told = self.warnings(store, told);
            let next = number.checked_add(1);
            let completed = next.is_some_and(|next| store.levels().contains(&next));
            if level.doc().refinement == Refinement::Add && !completed {
                let place = place().pointer("/attributes/zarr_vectors_level/refinement");
                let expected = "replace, or a next coarser level, which completes this one";
                self.findings.add(Check::LevelOpens, place, "add", expected);
            }
            if level.doc().presence_is_deferred() && self.options.depth >= Depth::Metadata {
                let found = "zarr_vectors_presence is deferred";
                self.findings
                    .add(Check::PresenceDeferred, place(), found, "lists");
            }
            states.push(LevelState::new(level));
        }
        if self.options.profile == Some(Profile::Viewer) && self.options.depth >= Depth::Metadata {
            viewer::check(&mut self.findings, tree, store, &states);
        }
        links::capability(self, &states);
        if self.options.depth < Depth::Consistency {
            return Ok(());
        }
        for state in &mut states {
            if self.options.wants_level(state.number()) {
                chunks::check(self, state).await?;
                self.seen.levels = self.seen.levels.saturating_add(1);
            } else {
                self.skipped
                    .push(format!("level {}: not requested", state.number()));
            }
        }
        for at in 0..states.len() {
            let Some(state) = states.get(at) else {
                continue;
            };
            if !self.options.wants_level(state.number()) {
                continue;
            }
            presence::check(self, state).await?;
            let chains = objects::check(self, state).await?;
            tables::check(self, state).await?;
            stored::check(self, state).await?;
            links::check(self, state, &states, chains).await?;
        }
        if self.options.depth >= Depth::Multiscale {
            multiscale::check(self, store, &states).await?;
        }
        Ok(())
    }

    /// Reports the warnings from opening the store, beginning with warning number `from`.
    fn warnings(&mut self, store: &Store, from: usize) -> usize {
        let warnings = store.warnings();
        for warning in warnings.iter().skip(from) {
            let place = Place::at("");
            self.findings
                .add(Check::NodeRead, place, warning, "no warning");
        }
        warnings.len()
    }
}

/// Refuses a requested array that no level has: nothing of it would be checked.
fn check_arrays(options: &ValidateOptions, tree: &StoreDocuments) -> Result<(), ValidateError> {
    for wanted in options.arrays.iter().flatten() {
        let name = wanted.trim_matches('/');
        let is_of = |key: &String| {
            let below = key
                .split_once('/')
                .and_then(|(_, path)| path.strip_prefix(name));
            below.is_some_and(|rest| rest.starts_with('/'))
        };
        if name.is_empty() || !tree.documents.keys().any(is_of) {
            return Err(ValidateError::Misuse {
                what: format!(
                    "arrays: found {wanted:?}, expected the path of an array below a level, such as vertices or vertex_attributes/NAME"
                ),
            });
        }
    }
    Ok(())
}
