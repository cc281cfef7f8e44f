//! Whether what was read can have been, given what was written.
//!
//! Every edit of a store reads, while nobody else may change it, the value that the edit before it left in the register,
//! notes it, and puts its own there. From the last value back, these notes are the order in which edits counted: one chain,
//! without the edits that did not count. An edit of which nobody knows what became of it counted if it is in the chain.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::place::{self, REGISTER, State};

/// An edit, or the making of a store.
#[derive(Debug, Clone, Default)]
struct Change {
    store: String,
    /// The value in the register before it.
    after: i64,
    set: Vec<(i64, i64)>,
    gone: Vec<i64>,
    from: u64,
    /// When its end was known; `None` if its worker was killed.
    to: Option<u64>,
    /// `yes`, `no` or `unknown`.
    outcome: String,
}

#[derive(Debug, Clone)]
struct Read {
    store: String,
    from: u64,
    to: u64,
    state: State,
}

/// What workers noted.
#[derive(Debug, Default)]
pub(super) struct History {
    edits: BTreeMap<i64, Change>,
    makes: BTreeMap<i64, Change>,
    reads: Vec<Read>,
    /// What cannot be explained.
    pub(super) anomalies: Vec<String>,
    pub(super) counts: BTreeMap<&'static str, u64>,
}

fn whole(line: &Value, name: &str) -> Result<i64> {
    let found = line.get(name).and_then(Value::as_i64);
    found.with_context(|| format!("{line}: no number {name}"))
}

fn time(line: &Value, name: &str) -> Result<u64> {
    let found = line.get(name).and_then(Value::as_u64);
    found.with_context(|| format!("{line}: no time {name}"))
}

fn text(line: &Value, name: &str) -> String {
    let found = line.get(name).and_then(Value::as_str);
    found.unwrap_or_default().to_owned()
}

impl History {
    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// Reads the notes of one worker.
    pub(super) fn take(&mut self, log: &Path) -> Result<()> {
        let notes = std::fs::read_to_string(log)?;
        // A kill in the middle of a write may leave part of a line.
        for line in notes
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
        {
            let line: Value = serde_json::from_str(line)?;
            self.line(&line)?;
        }
        Ok(())
    }

    fn line(&mut self, line: &Value) -> Result<()> {
        if let Some(odd) = line.get("odd") {
            self.anomalies.push(format!("{odd} in {line}"));
        }
        let change = || -> Result<Change> {
            Ok(Change {
                store: text(line, "store"),
                from: time(line, "from")?,
                outcome: "unknown".to_owned(),
                ..Change::default()
            })
        };
        if line.get("edit").is_some() {
            let edit = Change {
                after: whole(line, "after")?,
                set: serde_json::from_value(line["set"].clone())?,
                gone: serde_json::from_value(line["gone"].clone())?,
                ..change()?
            };
            self.edits.insert(whole(line, "edit")?, edit);
            return Ok(());
        }
        if line.get("make").is_some() {
            self.makes.insert(whole(line, "make")?, change()?);
            return Ok(());
        }
        let told = line.get("told").is_some();
        match text(line, "op").as_str() {
            "read" => {
                self.count(if told { "reads that failed" } else { "reads" });
                if let Some(state) = line.get("state") {
                    let state: Vec<(i64, i64)> = serde_json::from_value(state.clone())?;
                    self.reads.push(Read {
                        store: text(line, "store"),
                        from: time(line, "from")?,
                        to: time(line, "to")?,
                        state: state.into_iter().collect(),
                    });
                }
            }
            "change" => {
                let token = whole(line, "token")?;
                let edits = self.edits.get_mut(&token);
                let is_edit = edits.is_some();
                let one = edits.or_else(|| self.makes.get_mut(&token));
                let one = one.with_context(|| format!("{line}: of nothing"))?;
                (one.to, one.outcome) = (Some(time(line, "to")?), text(line, "outcome"));
                let outcome = one.outcome.clone();
                self.count(match (is_edit, outcome.as_str()) {
                    (true, "yes") => "edits",
                    (true, "no") => "edits refused",
                    (true, _) => "edits of unknown end",
                    (false, "yes") => "new stores",
                    (false, "no") => "new stores refused",
                    (false, _) => "new stores of unknown end",
                });
            }
            "vacuum" if !told => self.count("vacuums"),
            "resume" if !told => self.count("resumed"),
            "edit" => self.count("edits refused"),
            _ => self.count("other operations refused"),
        }
        Ok(())
    }

    /// Where stores may have been made.
    pub(super) fn slots(&self) -> Vec<String> {
        let mut slots: Vec<String> = self.makes.values().map(|one| one.store.clone()).collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// Compares a place where stores were made with what is there at the end.
    pub(super) fn check_slot(&mut self, store: &str, found: Option<&State>) {
        let makes = || self.makes.iter().filter(|(_, one)| one.store == store);
        let counted: Vec<i64> = makes()
            .filter(|(_, one)| one.outcome == "yes")
            .map(|(token, _)| *token)
            .collect();
        let possible = makes().filter(|(_, one)| one.outcome != "no");
        let wrong = match found {
            _ if counted.len() > 1 => Some(format!("made {} times: {counted:?}", counted.len())),
            None if counted.is_empty() => None,
            None => Some("made, and not there".to_owned()),
            Some(state) => {
                let mut known = possible.map(|(token, _)| *token);
                let of = known.find(|token| place::made(*token) == *state);
                match of {
                    Some(token) if counted.is_empty() || counted == [token] => None,
                    _ => Some(format!("{state:?} is there, made were {counted:?}")),
                }
            }
        };
        self.anomalies
            .extend(wrong.map(|wrong| format!("{store}: {wrong}")));
    }

    /// Compares everything that was done with one store with what is there at the end.
    pub(super) fn check_store(&mut self, store: &str, end: &State) {
        let mut wrong = Vec::new();
        let last = end.get(&REGISTER).copied().unwrap_or(0);
        let mut chain = Vec::new();
        let mut at = last;
        while at != 0 {
            let Some(edit) = self.edits.get(&at).filter(|edit| edit.store == store) else {
                wrong.push(format!("edit {at} counts, and was never made"));
                break;
            };
            chain.push(at);
            at = edit.after;
        }
        chain.reverse();
        let place: HashMap<i64, usize> = chain.iter().copied().zip(1..).collect();
        // The states, in order, and the time before which each cannot have been, and after which it must have been.
        let mut states = vec![place::first()];
        let (mut begun, mut known) = (vec![0_u64], vec![0_u64]);
        for token in &chain {
            let edit = &self.edits[token];
            let mut state = states.last().cloned().unwrap_or_default();
            edit.gone.iter().for_each(|id| {
                state.remove(id);
            });
            state.extend(edit.set.iter().copied());
            states.push(state);
            begun.push(edit.from);
            known.push(match edit.outcome.as_str() {
                "yes" => edit.to.unwrap_or(u64::MAX),
                _ => u64::MAX,
            });
        }
        if states.last() != Some(end) {
            wrong.push(format!("{end:?} at the end, expected {:?}", states.last()));
        }
        for (token, edit) in self.edits.iter().filter(|(_, edit)| edit.store == store) {
            match (edit.outcome.as_str(), place.contains_key(token)) {
                ("yes", false) => wrong.push(format!("edit {token} was made, and is lost")),
                ("no", true) => wrong.push(format!("edit {token} was refused, and counts")),
                _ => {}
            }
        }
        // An edit is known to count, at the latest, when a later one was begun that builds on it.
        for at in (1..known.len()).rev() {
            let later = known.get(at + 1).copied().unwrap_or(u64::MAX);
            known[at] = known[at].min(later);
        }
        let mut reads: Vec<&Read> = self
            .reads
            .iter()
            .filter(|read| read.store == store)
            .collect();
        reads.sort_unstable_by_key(|read| read.from);
        // The newest state that a read showed which had ended before another began.
        let mut ended: Vec<(u64, usize)> = Vec::new();
        for read in &reads {
            let token = read.state.get(&REGISTER).copied().unwrap_or(0);
            let Some(at) = (if token == 0 {
                Some(0)
            } else {
                place.get(&token).copied()
            }) else {
                wrong.push(format!("a read shows edit {token}, which never counted"));
                continue;
            };
            if states[at] != read.state {
                wrong.push(format!(
                    "a read shows {:?}, expected {:?}",
                    read.state, states[at]
                ));
            }
            if begun[at] > read.to {
                wrong.push(format!("a read shows edit {token} before it was begun"));
            }
            let must = known.partition_point(|known| *known < read.from);
            if must > at + 1 {
                let newest = chain[must - 2];
                wrong.push(format!(
                    "a read shows edit {token}, although {newest} had been made before it"
                ));
            }
            ended.push((read.to, at));
        }
        wrong.extend(backwards(&reads, &mut ended));
        self.anomalies
            .extend(wrong.into_iter().map(|wrong| format!("{store}: {wrong}")));
    }
}

/// Reads that show less than one that had ended before they began.
fn backwards(reads: &[&Read], ended: &mut [(u64, usize)]) -> Vec<String> {
    let mut wrong = Vec::new();
    if reads.len() != ended.len() {
        return wrong;
    }
    let shown: Vec<usize> = ended.iter().map(|(_, at)| *at).collect();
    ended.sort_unstable();
    let (mut next, mut newest) = (0, 0);
    for (read, at) in reads.iter().zip(shown) {
        while let Some((to, before)) = ended.get(next).filter(|(to, _)| *to < read.from) {
            newest = newest.max(*before);
            debug_assert!(*to < read.from);
            next += 1;
        }
        if at < newest {
            wrong.push(format!(
                "a read shows state {at}, although another had shown state {newest} before it"
            ));
        }
    }
    wrong
}
