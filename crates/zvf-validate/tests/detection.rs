//! Random damages, the validator's findings, and the oracle's verdicts. Used by the tests and the example `detect`.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::time::Duration;

use zvf_badstores::{
    Damage, DamageKind, Objects, Random, Verdict, array_of, damage, is_plain, judge, members,
};
use zvf_store::Limits;
use zvf_validate::Report;

use crate::support::checked;

/// The maximum time for one store.
const PATIENCE: Duration = Duration::from_secs(60);

/// The target of a damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// Data of an uncompressed array.
    Plain,
    /// Data of a compressed array.
    Packed,
    /// A document of a store without compressed data.
    Metadata,
    /// A document of a store with some compressed data.
    PackedMetadata,
    /// Data and documents of additional geometries and of parametric objects before 0.9: these are listed, but never read.
    Side,
}

/// A damage and its result.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) case: String,
    pub(crate) target: Target,
    pub(crate) damage: Damage,
    pub(crate) verdict: Verdict,
    /// The members of documents that changed.
    pub(crate) members: Vec<String>,
    /// The first finding that the good store does not have.
    pub(crate) found: Option<String>,
}

impl Trial {
    pub(crate) fn kind(&self) -> DamageKind {
        self.damage.kind
    }

    /// Whether a rule is violated without a finding.
    pub(crate) fn is_missed(&self) -> bool {
        self.found.is_none() && matches!(self.verdict, Verdict::Broken(_))
    }

    pub(crate) fn line(&self) -> String {
        let Self {
            case,
            damage,
            verdict,
            members,
            ..
        } = self;
        let (kind, key, what) = (damage.kind.name(), &damage.key, &damage.what);
        format!("{case}: {kind}, {key}: {what} {members:?}: {verdict:?}")
    }
}

/// The bundled stores by version.
pub(crate) fn versions() -> Result<Vec<Vec<String>>, Box<dyn Error>> {
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for case in zvf_testkit::all_cases()? {
        let version = case.split('/').next().unwrap_or_default().to_owned();
        versions.entry(version).or_default().push(case);
    }
    Ok(versions.into_values().collect())
}

/// Good stores with their findings.
#[derive(Default)]
pub(crate) struct Bases(BTreeMap<String, Base>);

type Known = BTreeSet<String>;

/// A store, its findings, and whether all of it is read.
type Base = (Objects, Known, bool);

fn lines(report: &Report) -> Known {
    let dropped = report.dropped();
    let dropped = dropped
        .iter()
        .map(|(check, more)| format!("{}: {more} more", check.code()));
    report
        .findings
        .iter()
        .map(ToString::to_string)
        .chain(dropped)
        .collect()
}

/// Whether an object belongs to content that is never read.
fn is_side(case: &str, key: &str) -> bool {
    let older = ["0.6/", "0.7/", "0.8/"]
        .iter()
        .any(|one| case.starts_with(one));
    let mut parts = key.split('/');
    let first = parts.next().unwrap_or_default();
    let second = parts.next().unwrap_or_default();
    let mesh = second.starts_with("vertices_") || second.starts_with("links_");
    older && (first == "parametric" || second == "geometry_index" || mesh)
}

/// Whether data of some array is compressed.
fn is_compressed(objects: &Objects) -> bool {
    objects
        .keys()
        .filter(|key| !key.ends_with(".json"))
        .filter_map(|key| array_of(objects, key))
        .any(|(_, document)| !is_plain(&document))
}

/// Findings that a part of a good store was not read: there, damage cannot be recognized. Stores with such findings are not used.
const REFUSED: &[&str] = &["node-read", "index-layout", "version-newer"];

/// Limits that a damaged byte count exceeds soon.
fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.cell_bytes = 1 << 26;
    limits.document_bytes = 1 << 26;
    limits
}

impl Bases {
    /// Makes `count` damages, with equal probability for every version; passes each with the good store to `told`.
    pub(crate) async fn run(
        &mut self,
        count: usize,
        seed: u64,
        mut told: impl FnMut(Trial, &Objects) -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        let versions = versions()?;
        let mut random = Random::new(seed);
        for number in 0..count {
            let (case, (objects, known, _)) = loop {
                let version = random.choose(&versions).ok_or("no versions")?;
                let case = random.choose(version).ok_or("no cases")?.clone();
                if self.is_read(&case).await? {
                    break (case.clone(), self.of(&case).await?);
                }
            };
            let damage = damage(objects, &mut random);
            let verdict = judge(objects, &damage);
            let members = members(objects, &damage);
            let target = if is_side(&case, &damage.key) {
                Target::Side
            } else if damage.is_metadata() {
                if is_compressed(objects) {
                    Target::PackedMetadata
                } else {
                    Target::Metadata
                }
            } else if array_of(objects, &damage.key)
                .is_some_and(|(_, document)| is_plain(&document))
            {
                Target::Plain
            } else {
                Target::Packed
            };
            let after = damage.apply(objects);
            let report = tokio::time::timeout(PATIENCE, checked(&after, limits())).await;
            let report = report
                .map_err(|_| format!("{number}: {case}, {} {}: no end", damage.key, damage.what))?;
            let report = report.map_err(|error| {
                format!("{number}: {case}, {} {}: {error}", damage.key, damage.what)
            })?;
            let found = lines(&report)
                .into_iter()
                .find(|line| !known.contains(line));
            let trial = Trial {
                case,
                target,
                damage,
                verdict,
                members,
                found,
            };
            told(trial, objects)?;
        }
        Ok(())
    }

    /// Whether every part of a good store is read.
    async fn is_read(&mut self, case: &str) -> Result<bool, Box<dyn Error>> {
        Ok(self.of(case).await?.2)
    }

    async fn of(&mut self, case: &str) -> Result<&Base, Box<dyn Error>> {
        if !self.0.contains_key(case) {
            let objects = zvf_testkit::files(case)?;
            let report = checked(&objects, limits()).await?;
            let refused = report
                .counts
                .keys()
                .any(|check| REFUSED.contains(&check.info().title));
            let base = (objects, lines(&report), !refused);
            self.0.insert(case.to_owned(), base);
        }
        self.0
            .get(case)
            .ok_or_else(|| "it was just put there".into())
    }
}
