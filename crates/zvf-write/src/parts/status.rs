//! The state of the parts of a distributed write.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use zvf_encode::target::Target;
use zvf_encode::transaction::ROOT;
use zvf_encode::transaction::partition::{
    BegunPart, BegunStore, FinishedPart, PartitionFolder, PartitionLog, PartitionState,
};
use zvf_encode::{Holder, WriteError};

/// The state of a distributed write.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartsStatus {
    /// The stage of the store.
    pub stage: PartsStage,
    /// The program that began it.
    pub by: Option<Holder>,
    /// Whether the names of parts were declared at the beginning.
    pub declared: bool,
    /// The parts, in the order of declaration, otherwise by name.
    pub parts: Vec<PartStatus>,
}

/// The stage of a distributed write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartsStage {
    /// Parts are being written.
    Begun,
    /// The parts that the store contains are decided; a commit is running, or was interrupted.
    Committing,
    /// The store exists; only notes of its parts are left.
    Committed,
    /// The parts are being removed, or their removal was interrupted.
    Discarded,
}

impl PartsStage {
    /// Its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Committing => "committing",
            Self::Committed => "committed",
            Self::Discarded => "discarded",
        }
    }
}

/// One part.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartStatus {
    /// Its name.
    pub name: String,
    /// Its counts, if it is finished.
    pub finished: Option<FinishedPart>,
    /// Programs that began it and have not finished it: they are running, or were interrupted. If the part is finished, only programs that would
    /// replace it; a commit then treats the part as unfinished.
    pub begun: Vec<Attempt>,
}

/// A program that began a part.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// Its random id.
    pub owner: String,
    /// The process; `None` if the note that it wrote cannot be read.
    pub by: Option<Holder>,
}

impl PartStatus {
    /// `waiting`, `begun` or `finished`.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match (&self.finished, self.begun.is_empty()) {
            (Some(_), _) => "finished",
            (None, false) => "begun",
            (None, true) => "waiting",
        }
    }
}

/// Sorts names that are numbers by value, before other names.
fn order(name: &str) -> (u8, u64, &str) {
    match name.parse() {
        Ok(number) => (0, number, name),
        Err(_) => (1, 0, name),
    }
}

impl PartsStatus {
    pub(crate) fn read(target: &Target, address: &str) -> Result<Option<Self>, WriteError> {
        let Some(marker) = BegunStore::read(target)? else {
            return Ok(None);
        };
        let mut status = Self {
            stage: PartsStage::Begun,
            by: marker.by(),
            declared: marker.names.is_some(),
            parts: Vec::new(),
        };
        let mut begun: BTreeMap<String, Vec<(u32, Attempt)>> = BTreeMap::new();
        let mut finished = BTreeMap::new();
        if let Some(folder) = &marker.folder {
            // A part that is finished between the two listings is in both, so none is missed.
            for (name, owner) in PartitionFolder::owners(target, &folder.begun())? {
                let Some(bytes) = target.read(&folder.begun_by(&name, &owner))? else {
                    continue;
                };
                let note: Option<BegunPart> = serde_json::from_slice(&bytes).ok();
                let (round, by) = note.map(|note| (note.round, note.by)).unzip();
                let attempt = Attempt { owner, by };
                let all = begun.entry(name).or_default();
                // A record that cannot be read counts as an attempt of the first round.
                all.push((round.unwrap_or(0), attempt));
            }
            for (name, round) in folder.rounds(target)? {
                if let Some(note) = folder.note(target, address, (&name, round))? {
                    finished.insert(name, (round, note));
                }
            }
            if let PartitionState::Chosen(_) = (PartitionLog { target, folder }).state()? {
                status.stage = PartsStage::Committing;
            }
        }
        if marker.discarded {
            status.stage = PartsStage::Discarded;
        }
        if target.exists(ROOT)? {
            status.stage = PartsStage::Committed;
        }
        let mut names: Vec<String> = marker.names.unwrap_or_default();
        if !status.declared {
            let known: BTreeSet<&String> = begun.keys().chain(finished.keys()).collect();
            names = known.into_iter().cloned().collect();
            names.sort_by(|a, b| order(a).cmp(&order(b)));
        }
        for name in names {
            let finished = finished.remove(&name);
            let mut begun = begun.remove(&name).unwrap_or_default();
            if let Some((last, _)) = &finished {
                begun.retain(|(round, _)| round > last);
            }
            status.parts.push(PartStatus {
                name,
                finished: finished.map(|(_, found)| found),
                begun: begun.into_iter().map(|(_, attempt)| attempt).collect(),
            });
        }
        Ok(Some(status))
    }

    /// Names of the parts in a state: `waiting`, `begun` or `finished`.
    #[must_use]
    pub fn names(&self, state: &str) -> Vec<&str> {
        let parts = self.parts.iter().filter(|part| part.state() == state);
        parts.map(|part| &*part.name).collect()
    }

    /// The whole status as a document.
    #[must_use]
    pub fn document(&self) -> Value {
        let holder = |by: &Holder| json!({"host": by.host, "pid": by.pid, "since": by.since(), "ended": by.has_ended()});
        let part = |part: &PartStatus| {
            let begun = part
                .begun
                .iter()
                .map(|one| json!({"owner": one.owner, "by": one.by.as_ref().map(holder)}));
            let mut document = json!({
                "name": part.name,
                "state": part.state(),
                "begun": begun.collect::<Value>(),
            });
            if let Some(found) = &part.finished {
                document["finished"] = json!({
                    "owner": found.owner,
                    "by": holder(&found.by),
                    "vertices": found.vertices,
                    "chunks": found.chunks,
                    "objects": found.objects,
                    "links": found.links,
                });
            }
            document
        };
        json!({
            "state": self.stage.name(),
            "declared": self.declared,
            "by": self.by.as_ref().map(holder),
            "waiting": self.names("waiting").len(),
            "begun": self.names("begun").len(),
            "finished": self.names("finished").len(),
            "parts": self.parts.iter().map(part).collect::<Value>(),
        })
    }
}
