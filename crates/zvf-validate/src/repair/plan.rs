//! Computes the members that change, in rounds: validates the store, derives changes, and validates the changed store, until no change can be derived.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Check, Finding, Measured, Repairable, Report, ValidateOptions, validate};
use futures::future::BoxFuture;
use serde_json::Value;
use zvf_edit::DocumentChange;
use zvf_encode::Holder;
use zvf_meta::rules::Severity;
use zvf_meta::version::is_ruled;
use zvf_store::writing::MARKER;
use zvf_store::writing::Redo;
use zvf_store::{OpenOptions, RawStore, Store};

use super::documents::{self, Look, ROOT, RepairState};
use super::edit::{Drafts, Fix, Tier};
use super::error::RepairError;
use super::options::RepairOptions;
use super::{lists, nodes, root, scales};

/// Maximum number of rounds in one attempt. Rebuilding a list takes three, an unreadable root two more.
const ROUNDS: usize = 10;

/// A planned repair.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RepairPlan {
    /// The address of the store.
    pub store: String,
    /// Members that change, by document.
    pub changes: Vec<MemberChange>,
    /// Findings that remain, by code.
    pub left: Vec<Unrepaired>,
    /// Lost cells that are removed from lists, with [`RepairOptions::accept_loss`]; their values read as missing.
    pub given_up: Vec<Finding>,
    /// The report of the unchanged store.
    pub before: Report,
    /// The report of the store after the changes.
    pub after: Report,
    /// The documents that change, by key.
    pub documents: Vec<DocumentChange>,
}

/// A member of a document that changes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MemberChange {
    /// Key of the document.
    pub document: String,
    /// JSON pointer of the member.
    pub pointer: String,
    /// The old value; `None` if the member is absent.
    pub old: Option<Value>,
    /// The new value; `None` if the member is removed.
    pub new: Option<Value>,
    /// The checks whose findings it resolves.
    pub checks: Vec<Check>,
    /// The source of the new value, in words.
    pub why: String,
}

/// A finding that a repair does not resolve.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Unrepaired {
    /// The finding.
    pub finding: Finding,
    /// The reason.
    pub why: String,
}

/// Computes the changes that repair a store. Writes nothing.
///
/// # Cost
/// A store without findings is validated once. Otherwise it is validated again after every round of changes, two or three times for most damage, and
/// more often if a change causes a new finding: then up to two further attempts omit some changes. Memory: as for one validation, and every document, and
/// every unlisted cell of damaged presence lists.
///
/// # Errors
/// Misuse: a version before 0.9, an unfinished change, storage that cannot list. Otherwise as [`validate`]: a defect of the store is not an error.
pub fn plan<'a>(
    url: &'a str,
    options: &'a RepairOptions,
) -> BoxFuture<'a, Result<RepairPlan, RepairError>> {
    Box::pin(async move {
        let open = &options.write.open;
        let raw = RawStore::open(url, &open.io)?;
        check_finished(&raw, url, open).await?;
        let before = look(url, options, &Drafts::default()).await?;
        let measured = before.measured.clone().unwrap_or_default();
        check_version(&before, &measured, url)?;
        let mut chosen = None;
        let mut tried: Option<Vec<Tier>> = None;
        for way in Way::ALL {
            // If a strategy only omits tiers that the last attempt did not use, it gives the same plan.
            let other = |tiers: &Vec<Tier>| way.left_out().iter().any(|one| tiers.contains(one));
            if !tried.as_ref().is_none_or(other) {
                continue;
            }
            let work = work(url, options, &before, way).await?;
            if work.is_better() {
                chosen = Some(work);
                break;
            }
            tried = Some(work.tiers);
        }
        let work = chosen.unwrap_or_else(|| RepairAttempt::nothing(before.clone()));
        check_finished(&raw, url, open).await?;
        Ok(work.into_plan(url, before, &measured, options))
    })
}

/// Which of the derived edits an attempt makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// All.
    All,
    /// All except the removal of listed cells that do not exist: they may be lost, and other cells or objects refer to them.
    KeepingLost,
    /// All except edits that add cells to presence lists or remove missing ones.
    KeepingLists,
}

impl Way {
    const ALL: [Self; 3] = [Self::All, Self::KeepingLost, Self::KeepingLists];

    fn left_out(self) -> &'static [Tier] {
        match self {
            Self::All => &[],
            Self::KeepingLost => &[Tier::Dropping],
            Self::KeepingLists => &[Tier::Dropping, Tier::Listing],
        }
    }
}

/// The phases of edits. A round makes the edits of the first phase that changes something; later phases wait for the next validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Opening,
    Derived,
    Counted,
}

impl Phase {
    fn of(tier: Tier) -> Self {
        match tier {
            Tier::Opening => Self::Opening,
            Tier::Derived | Tier::Listing | Tier::Dropping => Self::Derived,
            Tier::Counted => Self::Counted,
        }
    }
}

async fn check_finished(raw: &RawStore, url: &str, open: &OpenOptions) -> Result<(), RepairError> {
    let unfinished = |marker, by: Option<Holder>| RepairError::Unfinished {
        store: url.to_owned(),
        marker,
        by: by.map(Box::new),
    };
    if let Some(found) = raw.read(MARKER).await? {
        // Without a root, a new store is being written, possibly in parts.
        if raw.read(ROOT).await?.is_none()
            && let Err(error) = Store::open_with(url, open.clone()).await
        {
            return Err(error.into());
        }
        return Err(unfinished(MARKER, Holder::of_marker(&found)));
    }
    let root = raw.read(ROOT).await.unwrap_or(None).unwrap_or_default();
    let root: Value = serde_json::from_slice(&root).unwrap_or_default();
    let attributes = root.get("attributes");
    if attributes.is_some_and(|all| all.get(Redo::ATTRIBUTE).is_some()) {
        return Err(unfinished(Redo::ATTRIBUTE, None));
    }
    Ok(())
}

fn check_version(report: &Report, measured: &Measured, url: &str) -> Result<(), RepairError> {
    if let Some(version) = &report.version
        && zvf_meta::version::Version::parse(version).is_some()
        && !is_ruled(version)
    {
        return Err(RepairError::Version {
            store: url.to_owned(),
            version: version.clone(),
        });
    }
    if measured.documents.contains_key(ROOT) && measured.folders.is_none() {
        return Err(RepairError::Unlisted {
            store: url.to_owned(),
        });
    }
    Ok(())
}

/// Validates a store with the changed documents.
async fn look(url: &str, options: &RepairOptions, drafts: &Drafts) -> Result<Report, RepairError> {
    let open = options.write.open.clone();
    let mut wanted = ValidateOptions::new(options.depth)
        .with_most(options.most)
        .with_measure(true)
        .with_open(open.with_drafts(drafts.changed.clone()));
    wanted.progress = options.progress.clone();
    Ok(validate(url, &wanted).await?)
}

/// The findings, apart from notes, by check and path.
type KnownFindings = BTreeSet<(Check, String)>;

fn known(report: &Report) -> KnownFindings {
    let severe = report
        .findings
        .iter()
        .filter(|one| one.severity() >= Severity::Warning);
    let mut known: KnownFindings = severe
        .map(|one| (one.check, one.place.path.clone()))
        .collect();
    // Rows without a fragment are not reported while the level declares that fragments tile; if the declaration is false, there may be such rows.
    let behind: Vec<(Check, String)> = known
        .iter()
        .filter(|(check, _)| *check == Check::FragmentsTile)
        .map(|(_, path)| (Check::RowsCovered, path.clone()))
        .collect();
    known.extend(behind);
    known
}

/// The result of one attempt at a repair.
struct RepairAttempt {
    edits: Vec<Fix>,
    drafts: Drafts,
    tiers: Vec<Tier>,
    /// The findings before the first change, and those that became visible when unreadable documents were replaced.
    known: KnownFindings,
    memory: RepairState,
    after: Report,
}

async fn work(
    url: &str,
    options: &RepairOptions,
    before: &Report,
    way: Way,
) -> Result<RepairAttempt, RepairError> {
    let mut work = RepairAttempt::nothing(before.clone());
    if options.accept_loss {
        // The loss of a cell was accepted, including the findings that it causes.
        let lost = before
            .findings
            .iter()
            .filter(|one| one.check == Check::CellEmpty);
        let missing = |one: &Finding| (Check::AttributeThere, one.place.path.clone());
        work.known.extend(lost.map(missing));
    }
    for _ in 0..ROUNDS {
        let measured = work.after.measured.take().unwrap_or_default();
        let mut edits = {
            let look = Look::new(&work.after, &measured);
            derive(&look, &mut work.memory, options)
        };
        edits.retain(|edit| !way.left_out().contains(&edit.tier));
        let was_made = |tier| work.tiers.contains(&tier);
        if !options.accept_loss && (was_made(Tier::Dropping) || !was_made(Tier::Listing)) {
            // A count that agreed with the cells before this repair is not changed. If it disagrees now, either another change of the repair is wrong,
            // or cells were removed from lists, and the count is the only record of the loss.
            edits.retain(|edit| {
                work.is_known(edit) || !edit.checks.iter().all(|one| is_count(*one))
            });
        }
        let mut made = Vec::new();
        let mut opening = false;
        for phase in [Phase::Opening, Phase::Derived, Phase::Counted] {
            let (now, later) = edits
                .into_iter()
                .partition(|edit: &Fix| Phase::of(edit.tier) == phase);
            edits = later;
            made = work.drafts.make(&measured.documents, now);
            if !made.is_empty() {
                opening = phase == Phase::Opening;
                break;
            }
        }
        work.after.measured = Some(measured);
        if made.is_empty() {
            break;
        }
        work.tiers.extend(made.iter().map(|edit| edit.tier));
        work.edits.extend(made);
        work.after = look(url, options, &work.drafts).await?;
        if opening {
            // Findings that become visible now have existed before.
            work.known.extend(known(&work.after));
        }
    }
    Ok(work)
}

/// All changes that can be derived from one validation.
fn derive(look: &Look<'_>, memory: &mut RepairState, options: &RepairOptions) -> Vec<Fix> {
    let earlier = memory.lists.clone();
    let mut edits = documents::openings(look, memory);
    edits.extend(lists::normal(look, memory));
    edits.extend(lists::cells(look, memory, options));
    edits.extend(nodes::edits(look, memory, options));
    edits.extend(root::edits(look, memory, options));
    edits.extend(scales::edits(look, options));
    let begun = |edit: &Fix| earlier.contains(&edit.key) && edit.tier == Tier::Opening;
    edits.retain(|edit| edit.checks.iter().any(|one| options.wants(*one)) || begun(edit));
    let wanted = |key: &String| edits.iter().any(|edit| edit.key == *key);
    memory
        .lists
        .retain(|key| earlier.contains(key) || wanted(key));
    edits
}

/// Whether a check compares a stated count with the counted one.
fn is_count(check: Check) -> bool {
    matches!(check, Check::VertexCount | Check::LinkCount)
}

impl RepairAttempt {
    /// Whether a finding that the edit resolves existed before the first change.
    fn is_known(&self, edit: &Fix) -> bool {
        let path = edit.key.trim_end_matches("/zarr.json");
        let mut checks = edit.checks.iter();
        checks.any(|check| {
            let mut known = self.known.iter();
            known.any(|(of, at)| of == check && at.trim_end_matches("/zarr.json") == path)
        })
    }

    fn nothing(before: Report) -> Self {
        Self {
            edits: Vec::new(),
            drafts: Drafts::default(),
            tiers: Vec::new(),
            known: known(&before),
            memory: RepairState::default(),
            after: before,
        }
    }

    /// Whether there are no new findings and no placeholders.
    fn is_better(&self) -> bool {
        known(&self.after).is_subset(&self.known) && !self.is_unfinished()
    }

    /// Whether a placeholder remains, because its value could not be derived.
    fn is_unfinished(&self) -> bool {
        let settled = |key: &str, member: &str| {
            let edits = self.edits.iter();
            let mut of_member = edits.filter(|one| one.key == key && one.pointer.ends_with(member));
            // The first edit sets the placeholder, the next one the value.
            of_member.next().is_none() || of_member.next().is_some() || self.is_empty_store()
        };
        let partly = |key: &String| {
            let path = key.trim_end_matches("/zarr.json");
            let mut skipped = self.after.skipped.iter();
            skipped.any(|one| one.starts_with(path))
        };
        // A list of which cells were not found, or not read, would hide them from readers.
        let incomplete = |key: &String| {
            let path = key.trim_end_matches("/zarr.json");
            let measured = self.after.measured.as_ref();
            let is_searched = measured.is_some_and(|all| all.searched.contains(path));
            let mut findings = self.after.findings.iter();
            let is_unread =
                |one: &Finding| one.check == Check::CellListed && one.place.path == path;
            !is_searched || findings.any(is_unread)
        };
        let mut lists = self.memory.lists.iter();
        (self.memory.bounds && !settled(ROOT, "/bounds"))
            || lists.any(|key| partly(key) || incomplete(key))
    }

    fn is_empty_store(&self) -> bool {
        let measured = self.after.measured.as_ref();
        let level = measured.and_then(|all| all.levels.get(&0));
        level.is_some_and(|level| level.vertices == Some(0))
    }

    fn into_plan(
        self,
        url: &str,
        before: Report,
        measured: &Measured,
        options: &RepairOptions,
    ) -> RepairPlan {
        let documents: Vec<DocumentChange> = self
            .drafts
            .changed
            .iter()
            .filter_map(|(key, now)| {
                let was = measured.documents.get(key)?;
                (was != now).then(|| DocumentChange {
                    key: key.clone(),
                    was: was.to_vec(),
                    now: now.to_vec(),
                })
            })
            .collect();
        let lost = |one: &&Finding| {
            one.check == Check::CellEmpty && !self.after.findings.iter().any(|left| left == *one)
        };
        let given_up = match options.accept_loss {
            true => before.findings.iter().filter(lost).cloned().collect(),
            false => Vec::new(),
        };
        let left = self.after.findings.iter().map(|finding| Unrepaired {
            finding: finding.clone(),
            why: why_left(finding, options),
        });
        RepairPlan {
            store: url.to_owned(),
            changes: changes(&documents, self.edits),
            left: left.collect(),
            given_up,
            before,
            after: self.after,
            documents,
        }
    }
}

fn why_left(finding: &Finding, options: &RepairOptions) -> String {
    match finding.check.repairable() {
        _ if !options.wants(finding.check) => "its check was not selected".to_owned(),
        Repairable::Never(why) => why.to_owned(),
        Repairable::Where(what) => format!("repaired only where {what}"),
        Repairable::Always => {
            "the data that determine it cannot be read completely, or the change would cause another finding"
                .to_owned()
        }
    }
}

/// The members that differ after all rounds, each once, with all checks that the change resolves.
fn changes(documents: &[DocumentChange], edits: Vec<Fix>) -> Vec<MemberChange> {
    let mut by_member: BTreeMap<(String, String), (Vec<Check>, String)> = BTreeMap::new();
    for edit in edits {
        let member = by_member.entry((edit.key, edit.pointer)).or_default();
        for check in edit.checks {
            if !member.0.contains(&check) {
                member.0.push(check);
            }
        }
        // The last edit states the source of the final value.
        member.1 = edit.why;
    }
    let mut changes = Vec::new();
    for one in documents {
        let parsed = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap_or_default();
        let (was, now) = (parsed(&one.was), parsed(&one.now));
        let members = by_member.iter().filter(|((key, _), _)| *key == one.key);
        for ((key, pointer), (checks, why)) in members {
            let (old, new) = (was.pointer(pointer), now.pointer(pointer));
            if old != new {
                changes.push(MemberChange {
                    document: key.clone(),
                    pointer: pointer.clone(),
                    old: old.cloned(),
                    new: new.cloned(),
                    checks: checks.clone(),
                    why: why.clone(),
                });
            }
        }
    }
    changes
}
