//! When a commit, or a removal, of parts counts: a list of decisions, each put if absent.
//!
//! ```text
//! commits/N        a commit, or a removal, looks at the parts that are finished from here on
//! commits/N.done   the outcome: the chosen parts, nothing, or that all are discarded
//! ```
//!
//! A commit puts `N` before it lists the finished parts; a part looks for `N` after it noted that it is finished. So a part
//! that sees no `N` is seen by every later commit, and one that sees `N` waits for `N.done`. One that waits too
//! long (the committer was killed, or sleeps) puts `N.done` itself, as nothing: whoever puts it first decides, and a committer
//! that comes late begins again with the next number. No clock and no lease decides anything.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::folder::PartitionFolder;
use crate::WriteError;
use crate::error::OrBug;
use crate::target::{Target, unique};
use crate::transaction::holder::Holder;

/// How long a part waits for a commit that looks at the parts.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// The outcome of a commit or removal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Nothing: parts may come still.
    Nothing,
    /// These parts are the store.
    Chosen(ChosenParts),
    /// All parts are removed.
    Discarded,
}

/// The parts of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenParts {
    /// The parts that are the store.
    pub parts: Vec<ChosenPart>,
    /// Parts that were declared or begun, and are not finished.
    pub absent: Vec<String>,
}

/// A part that was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenPart {
    /// Its name.
    pub name: String,
    /// The random number of the program that wrote it.
    pub owner: String,
    /// How often the part was started again before.
    pub round: u32,
}

impl ChosenParts {
    /// Whether the work of an owner was chosen for a part.
    pub fn has(&self, name: &str, owner: &str) -> bool {
        let found = self.parts.iter().find(|part| part.name == name);
        found.is_some_and(|part| part.owner == owner)
    }
}

/// The last entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionState {
    /// Parts come.
    Open,
    /// The parts are being looked at, under this number.
    Looking(u32),
    /// It is decided.
    Chosen(ChosenParts),
    /// All parts are removed.
    Discarded,
}

/// The list of a begun store.
#[derive(Debug, Clone, Copy)]
pub struct PartitionLog<'l> {
    /// The place of the store.
    pub target: &'l Target,
    /// Where its parts are noted.
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
    /// I/O. Malformed data: an entry that is no decision.
    pub fn state(&self) -> Result<PartitionState, WriteError> {
        Ok(self.last()?.1)
    }

    fn outcome(&self, number: u32) -> Result<Option<Outcome>, WriteError> {
        let key = format!("{}/{number}.done", self.group());
        let Some(bytes) = self.target.read(&key)? else {
            return Ok(None);
        };
        // The member before it is there to make the bytes of each decision others.
        match serde_json::from_slice::<(String, Outcome)>(&bytes) {
            Ok((_, outcome)) => Ok(Some(outcome)),
            Err(_) => Err(WriteError::data(key, "a text", "a decision about parts")),
        }
    }

    /// Begins a look at the parts, or takes part in one that was begun: what is listed after this call is all that
    /// can be chosen under the number that is returned.
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

    /// Decides the outcome of a commit, unless another program did; returns the outcome that was decided.
    pub fn decide(&self, number: u32, outcome: &Outcome) -> Result<Outcome, WriteError> {
        // Two programs that decide the same must not both take the decision for their own.
        let entry = (format!("{:x}", unique()), outcome);
        let bytes = serde_json::to_vec(&entry).or_bug("a decision about parts")?;
        let key = format!("{}/{number}.done", self.group());
        if self.target.put_new(&key, bytes)? {
            return Ok(outcome.clone());
        }
        // A removed record was decided and carried out.
        Ok(self.outcome(number)?.unwrap_or(Outcome::Nothing))
    }

    /// Whether the program that began a look has certainly ended.
    fn has_ended(&self, number: u32) -> Result<bool, WriteError> {
        let key = format!("{}/{number}", self.group());
        let by = self.target.read(&key)?;
        let by: Option<Holder> = by.and_then(|by| serde_json::from_slice(&by).ok());
        Ok(by.is_some_and(|by| by.has_ended()))
    }

    /// What is decided, after no look is under way any more: one that takes too long is ended.
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
