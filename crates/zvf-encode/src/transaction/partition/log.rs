//! Which commit, or removal, of parts takes effect: a list of decisions, each put if absent.
//!
//! ```text
//! commits/N        put by a commit or removal before it lists the finished parts
//! commits/N.done   the outcome: the chosen parts, nothing, or that all are discarded
//! ```
//!
//! A commit puts `N` before it lists the finished parts; a part looks for `N` after it recorded that it is finished. So every later commit sees a
//! part that saw no `N`, and a part that sees `N` waits for `N.done`. A part that waits too long (the committer was killed, or sleeps) puts `N.done`
//! itself, with the outcome nothing: the first put decides, and a late committer begins again with the next number. The result does not depend on
//! clocks or leases.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::folder::PartitionFolder;
use crate::WriteError;
use crate::error::OrBug;
use crate::target::{Target, unique};
use crate::transaction::holder::Holder;

/// How long a part waits for a commit.
const PATIENCE: Duration = Duration::from_secs(10);

/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(50);

/// The outcome of a commit or removal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Nothing: further parts may be added.
    Nothing,
    /// The store consists of these parts.
    Chosen(ChosenParts),
    /// All parts are removed.
    Discarded,
}

/// The parts of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenParts {
    /// The chosen parts.
    pub parts: Vec<ChosenPart>,
    /// Parts that were declared or begun, but are not finished.
    pub absent: Vec<String>,
    /// Chosen parts that a program began to replace, but did not replace.
    #[serde(default)]
    pub begun_again: Vec<String>,
}

/// A part that was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenPart {
    /// Its name.
    pub name: String,
    /// The random number of the program that wrote it.
    pub owner: String,
    /// How often the part was restarted.
    pub round: u32,
}

impl ChosenParts {
    /// Whether the work of an owner was chosen for a part.
    pub fn has(&self, name: &str, owner: &str) -> bool {
        let found = self.parts.iter().find(|part| part.name == name);
        found.is_some_and(|part| part.owner == owner)
    }
}

/// The state after the last entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionState {
    /// Parts may be added.
    Open,
    /// A commit or removal is running, with this number.
    Looking(u32),
    /// The parts are chosen.
    Chosen(ChosenParts),
    /// All parts are removed.
    Discarded,
}

/// The list of decisions of an unfinished store.
#[derive(Debug, Clone, Copy)]
pub struct PartitionLog<'l> {
    /// Where the store is written.
    pub target: &'l Target,
    /// The folder of the records of its parts.
    pub folder: &'l PartitionFolder,
}

impl PartitionLog<'_> {
    fn group(&self) -> String {
        self.folder.below("commits")
    }

    /// The last number and its outcome.
    fn last(&self) -> Result<(Option<u32>, PartitionState), WriteError> {
        let names = self.target.names(&self.group())?;
        let Some(last) = names
            .iter()
            .filter_map(|name| name.parse::<u32>().ok())
            .max()
        else {
            return Ok((None, PartitionState::Open));
        };
        let state = match self.outcome(last)? {
            None => PartitionState::Looking(last),
            Some(Outcome::Nothing) => PartitionState::Open,
            Some(Outcome::Chosen(choice)) => PartitionState::Chosen(choice),
            Some(Outcome::Discarded) => PartitionState::Discarded,
        };
        Ok((Some(last), state))
    }

    /// The state of the last entry.
    ///
    /// # Errors
    /// I/O. Malformed data: an invalid entry.
    pub fn state(&self) -> Result<PartitionState, WriteError> {
        Ok(self.last()?.1)
    }

    fn outcome(&self, number: u32) -> Result<Option<Outcome>, WriteError> {
        let key = format!("{}/{number}.done", self.group());
        let Some(bytes) = self.target.read(&key)? else {
            return Ok(None);
        };
        // The first element only makes the bytes of each decision unique.
        match serde_json::from_slice::<(String, Outcome)>(&bytes) {
            Ok((_, outcome)) => Ok(Some(outcome)),
            Err(_) => Err(WriteError::data(
                key,
                "a document that cannot be parsed",
                "a decision about parts",
            )),
        }
    }

    /// Begins a commit or removal, or joins a running one, and returns its number. Only parts that are listed after this call can be chosen under that
    /// number. Returns the state as the inner error if the parts are already chosen or discarded.
    pub fn look(&self) -> Result<std::result::Result<u32, PartitionState>, WriteError> {
        loop {
            let number = match self.last()? {
                (_, PartitionState::Looking(number)) => return Ok(Ok(number)),
                (None, PartitionState::Open) => 0,
                (Some(last), PartitionState::Open) => last
                    .checked_add(1)
                    .or_bug("more than 2^32 commits of one store")?,
                (_, decided) => return Ok(Err(decided)),
            };
            let by = Holder::current().document().to_string().into_bytes();
            self.target
                .put_new(&format!("{}/{number}", self.group()), by)?;
        }
    }

    /// Decides the outcome of a commit, unless another program did; returns the decided outcome.
    pub fn decide(&self, number: u32, outcome: &Outcome) -> Result<Outcome, WriteError> {
        // Two programs with the same decision must not both take it for their own.
        let entry = (format!("{:x}", unique()), outcome);
        let bytes = serde_json::to_vec(&entry).or_bug("a decision about parts")?;
        let key = format!("{}/{number}.done", self.group());
        if self.target.put_new(&key, bytes)? {
            return Ok(outcome.clone());
        }
        // The record was removed meanwhile: the decision was already applied.
        Ok(self.outcome(number)?.unwrap_or(Outcome::Nothing))
    }

    /// Whether the program that began a commit has certainly ended.
    fn has_ended(&self, number: u32) -> Result<bool, WriteError> {
        let key = format!("{}/{number}", self.group());
        let by = self.target.read(&key)?;
        let by: Option<Holder> = by.and_then(|by| serde_json::from_slice(&by).ok());
        Ok(by.is_some_and(|by| by.has_ended()))
    }

    /// Waits until no commit or removal is running, and returns the state. Decides the outcome `Nothing` for one that takes too long, or whose
    /// program has ended.
    pub fn settled(&self) -> Result<PartitionState, WriteError> {
        let mut waited = Duration::ZERO;
        loop {
            match self.last()? {
                (_, PartitionState::Looking(number))
                    if waited >= PATIENCE || self.has_ended(number)? =>
                {
                    self.decide(number, &Outcome::Nothing)?;
                }
                (_, PartitionState::Looking(_)) => {
                    std::thread::sleep(PAUSE);
                    waited += PAUSE;
                }
                (_, state) => return Ok(state),
            }
        }
    }
}
