//! Which members change, worked out in rounds: look, derive, look at the store as it would be, until nothing follows any more.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Check, Finding, Measured, Repairable, Report, ValidateOptions, validate};
use futures::future::BoxFuture;
use serde_json::Value;
use zvf_edit::DocumentChange;
use zvf_encode::Holder;
use zvf_meta::rules::Severity;
use zvf_meta::version::is_ruled;
use zvf_store::RawStore;
use zvf_store::writing::MARKER;
use zvf_store::writing::Redo;

use super::documents::{self, Look, Memory, ROOT};
use super::edit::{Drafts, Edit, Tier};
use super::error::RepairError;
use super::options::RepairOptions;
use super::{lists, nodes, root, scales};

/// Looks at one store. A list that is rebuilt takes three, a root that cannot be read two more.
const ROUNDS: usize = 10;

/// What would be done to a store.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    /// The address of the store.
    pub store: String,
    /// Members that change, by document.
    pub changes: Vec<Change>,
    /// Findings that stay, by code.
    pub left: Vec<Left>,
    /// Lost cells that are given up, as [`RepairOptions::accept_loss`] allows: what was in them reads as missing.
    pub given_up: Vec<Finding>,
    /// What was found in the store as it is.
    pub before: Report,
    /// What would be found in it then.
    pub after: Report,
    /// The documents that change, by key.
    pub documents: Vec<DocumentChange>,
}

/// A member of a document that changes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// Key of the document.
    pub document: String,
    /// JSON pointer of the member.
    pub pointer: String,
    /// What stands there; `None`: nothing.
    pub old: Option<Value>,
    /// What will stand there; `None`: nothing.
    pub new: Option<Value>,
    /// The checks whose findings it settles.
    pub checks: Vec<Check>,
    /// From what it follows.
    pub why: String,
}

/// A finding that a repair does not settle.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Left {
    /// The finding.
    pub finding: Finding,
    /// Why it stays.
    pub why: String,
}

/// Works out what a repair would do. Writes nothing.
///
/// # Cost
/// A store without findings is looked at once, as [`validate`] does at that depth. Else once more for every round of changes
/// (two or three looks for most damage), and again where a change that may be left out makes findings of its own. Memory: that
/// of one validation, every document, and for damaged presence lists every cell that is not listed.
///
/// # Errors
/// Misuse: a version before 0.9, a writer's unfinished change, storage that does not list. Otherwise as [`validate`]:
/// what is wrong with the store is no error.
pub fn plan<'a>(
    url: &'a str,
    options: &'a RepairOptions,
) -> BoxFuture<'a, Result<Plan, RepairError>> {
    Box::pin(async move {
        let open = &options.write.open;
        let raw = RawStore::open(url, &open.io)?;
        check_finished(&raw, url).await?;
        let before = look(url, options, &Drafts::default()).await?;
        let measured = before.measured.clone().unwrap_or_default();
        check_version(&before, &measured, url)?;
        let mut chosen = None;
        let mut tried: Option<Vec<Tier>> = None;
        for way in Way::ALL {
            // A way that leaves out only tiers that the last attempt did not use gives the same plan.
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
        let work = chosen.unwrap_or_else(|| Work::nothing(before.clone()));
        check_finished(&raw, url).await?;
        Ok(work.into_plan(url, before, &measured, options))
    })
}

/// How much of what follows is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// All of it.
    All,
    /// Cells that are listed and not there stay listed: they may be lost, and others refer to them.
    KeepingLost,
    /// Lists keep their cells.
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

async fn check_finished(raw: &RawStore, url: &str) -> Result<(), RepairError> {
    let unfinished = |marker, by: Option<Holder>| RepairError::Unfinished {
        store: url.to_owned(),
        marker,
        by: by.map(Box::new),
    };
    if let Some(found) = raw.read(MARKER).await? {
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

/// Looks at a store as it would be.
async fn look(url: &str, options: &RepairOptions, drafts: &Drafts) -> Result<Report, RepairError> {
    let open = options.write.open.clone();
    let mut wanted = ValidateOptions::new(options.depth)
        .with_most(options.most)
        .with_measure(true)
        .with_open(open.with_drafts(drafts.changed.clone()));
    wanted.progress = options.progress.clone();
    Ok(validate(url, &wanted).await?)
}

/// Which findings there are, apart from notes: check and path.
type Known = BTreeSet<(Check, String)>;

fn known(report: &Report) -> Known {
    let severe = report
        .findings
        .iter()
        .filter(|one| one.severity() >= Severity::Warning);
    let mut known: Known = severe
        .map(|one| (one.check, one.place.path.clone()))
        .collect();
    // Rows of no fragment are reported unless a claim denies them: behind a false claim there may be some.
    let behind: Vec<(Check, String)> = known
        .iter()
        .filter(|(check, _)| *check == Check::FragmentsTile)
        .map(|(_, path)| (Check::RowsCovered, path.clone()))
        .collect();
    known.extend(behind);
    known
}

/// What one way comes to.
struct Work {
    edits: Vec<Edit>,
    drafts: Drafts,
    tiers: Vec<Tier>,
    /// What was found before anything but what had to be opened was changed.
    known: Known,
    memory: Memory,
    after: Report,
}

async fn work(
    url: &str,
    options: &RepairOptions,
    before: &Report,
    way: Way,
) -> Result<Work, RepairError> {
    let mut work = Work::nothing(before.clone());
    if options.accept_loss {
        // What a cell that is given up leaves behind was accepted with it.
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
        if !options.accept_loss && work.tiers.contains(&Tier::Dropping) {
            // A count that was right before cells were dropped states what was lost.
            edits.retain(|edit| {
                work.is_known(edit) || !edit.checks.iter().all(|one| is_count(*one))
            });
        }
        let opens = |edit: &Edit| edit.tier == Tier::Opening;
        let opening = edits.iter().any(opens);
        if opening {
            edits.retain(opens);
        }
        let made = work.drafts.make(&measured.documents, edits);
        work.after.measured = Some(measured);
        if made.is_empty() {
            break;
        }
        work.tiers.extend(made.iter().map(|edit| edit.tier));
        work.edits.extend(made);
        work.after = look(url, options, &work.drafts).await?;
        if opening {
            // What can be seen only now was there before.
            work.known.extend(known(&work.after));
        }
    }
    Ok(work)
}

/// Everything that follows from one look.
fn derive(look: &Look<'_>, memory: &mut Memory, options: &RepairOptions) -> Vec<Edit> {
    let wants = |check: Check| options.wants(check);
    let mut edits = documents::openings(look, memory);
    edits.extend(lists::normal(look, memory));
    edits.extend(lists::cells(look, memory, options));
    edits.extend(nodes::edits(look, memory, options));
    edits.extend(root::edits(look, memory, wants));
    edits.extend(scales::edits(look, wants));
    let begun = |edit: &Edit| memory.lists.contains(&edit.key) && edit.tier == Tier::Opening;
    edits.retain(|edit| edit.checks.iter().any(|one| options.wants(*one)) || begun(edit));
    edits
}

/// Whether a check compares a stated count with what is there.
fn is_count(check: Check) -> bool {
    matches!(check, Check::VertexCount | Check::LinkCount)
}

impl Work {
    /// Whether what an edit settles was found before anything was changed.
    fn is_known(&self, edit: &Edit) -> bool {
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
            memory: Memory::default(),
            after: before,
        }
    }

    /// Whether nothing is found that was not there before, and nothing stands that was to be derived later.
    fn is_better(&self) -> bool {
        known(&self.after).is_subset(&self.known) && !self.is_unfinished()
    }

    /// Whether a value stands for one that could not be derived in the end.
    fn is_unfinished(&self) -> bool {
        let settled = |key: &str, member: &str| {
            let edits = self.edits.iter();
            let mut of_member = edits.filter(|one| one.key == key && one.pointer.ends_with(member));
            // The first stands for the value, another one is it.
            of_member.next().is_none() || of_member.next().is_some() || self.is_empty_store()
        };
        let partly = |key: &String| {
            let path = key.trim_end_matches("/zarr.json");
            let mut skipped = self.after.skipped.iter();
            skipped.any(|one| one.starts_with(path))
        };
        (self.memory.bounds && !settled(ROOT, "/bounds")) || self.memory.lists.iter().any(partly)
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
    ) -> Plan {
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
        let left = self.after.findings.iter().map(|finding| Left {
            finding: finding.clone(),
            why: why_left(finding, options),
        });
        Plan {
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
        _ if !options.wants(finding.check) => "it was not asked for".to_owned(),
        Repairable::Never(why) => why.to_owned(),
        Repairable::Where(what) => format!("settled only where {what}"),
        Repairable::Always => {
            "what it follows from cannot be read whole, or a change would make another finding"
                .to_owned()
        }
    }
}

/// The members that differ in the end, each once, with everything that it settles.
fn changes(documents: &[DocumentChange], edits: Vec<Edit>) -> Vec<Change> {
    let mut by_member: BTreeMap<(String, String), (Vec<Check>, String)> = BTreeMap::new();
    for edit in edits {
        let member = by_member.entry((edit.key, edit.pointer)).or_default();
        for check in edit.checks {
            if !member.0.contains(&check) {
                member.0.push(check);
            }
        }
        // The last one says from what the value follows.
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
                changes.push(Change {
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
