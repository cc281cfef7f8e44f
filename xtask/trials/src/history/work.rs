//! A program that reads and writes stores until it is told to end, or killed.
//!
//! What it is about to do, and what came of it, goes to a file line by line; a line is one write, so that a kill leaves no
//! half of one.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use zvf_edit::{At, Edit, vacuum};
use zvf_soak::draw::Draw;
use zvf_store::Class;
use zvf_write::{StaleFiles, Values, WriteError};

use super::place::{self, IDS, REGISTER, State, VERTICES};

/// What a worker is started with.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) log: String,
    pub(super) seed: u64,
    /// Unique among all workers that ever run.
    pub(super) number: i64,
    /// Process numbers of workers that were killed.
    pub(super) dead: Vec<String>,
    /// Of the bucket; empty for the local disk.
    pub(super) endpoint: String,
    /// Where new stores are made.
    pub(super) slots: String,
    pub(super) stores: Vec<String>,
}

struct Worker {
    job: Job,
    log: File,
    draw: Draw,
    made: i64,
}

/// Nanoseconds, by a clock that all workers share.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

/// Works until the end of its input.
pub(super) fn run(job: Job) -> Result<()> {
    let over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&over);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        told.store(true, Ordering::Relaxed);
    });
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&job.log)?;
    let mut worker = Worker {
        draw: Draw::new(&[job.seed]),
        job,
        log,
        made: 0,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        worker.resume().await?;
        while !over.load(Ordering::Relaxed) {
            worker.step().await?;
        }
        Ok(())
    })
}

impl Worker {
    fn say(&mut self, line: &Value) -> Result<()> {
        let text = format!("{line}\n");
        self.log.write_all(text.as_bytes())?;
        if line.get("op").is_some() {
            // One line for each operation, for whoever counts them.
            std::io::stdout().write_all(b"\n")?;
        }
        Ok(())
    }

    /// A value that no other edit or writer has.
    fn token(&mut self) -> i64 {
        self.made += 1;
        self.job.number * 1_000_000_000 + self.made
    }

    /// Resumes edits of workers that are known to be dead, some of them: others are left to whoever comes.
    async fn resume(&mut self) -> Result<()> {
        for store in self.job.stores.clone() {
            let marker = std::fs::read(format!("{store}/zvf-unfinished.json")).unwrap_or_default();
            let marker: Value = serde_json::from_slice(&marker).unwrap_or_default();
            let writer = marker.get("writer").and_then(Value::as_str);
            let writer = writer.and_then(|writer| writer.split('-').next());
            let dead = writer.is_some_and(|writer| self.job.dead.iter().any(|dead| dead == writer));
            if dead && self.draw.below(2) == 0 {
                let options = place::write_options(&self.job.endpoint);
                let done = Edit::resume(&store, options).await;
                self.settled("resume", done.map(|_| ()))?;
            }
        }
        Ok(())
    }

    async fn step(&mut self) -> Result<()> {
        let store = self.draw.one(&self.job.stores).context("no store")?.clone();
        match self.draw.below(100) {
            0..83 => self.read(&store).await.map(|_| ()),
            83..96 => self.edit(&store).await,
            96..98 => {
                let options = place::write_options(&self.job.endpoint);
                let done = vacuum(&store, options).await;
                self.settled("vacuum", done.map(|_| ()))
            }
            _ => self.make().await,
        }
    }

    /// What came of an operation that changes nothing that is read.
    fn settled(&mut self, what: &str, done: Result<(), WriteError>) -> Result<()> {
        let line = match done {
            Ok(()) => json!({"op": what}),
            Err(error) if is_told(&error) => json!({"op": what, "told": error.to_string()}),
            Err(error) => json!({"op": what, "odd": error.to_string()}),
        };
        self.say(&line)
    }

    async fn read(&mut self, store: &str) -> Result<Option<State>> {
        let from = now();
        let found = place::read(store, &self.job.endpoint).await;
        let mut line = json!({"op": "read", "store": store, "from": from, "to": now()});
        let state = match found {
            Ok(Ok(state)) => {
                line["state"] = json!(state.iter().collect::<Vec<_>>());
                Some(state)
            }
            Ok(Err(torn)) => {
                line["odd"] = json!(torn.to_string());
                None
            }
            Err(error) if error.class() == Class::Io => {
                line["told"] = json!(error.to_string());
                None
            }
            Err(error) => {
                line["odd"] = json!(error.to_string());
                None
            }
        };
        self.say(&line)?;
        Ok(state)
    }

    async fn edit(&mut self, store: &str) -> Result<()> {
        let from = now();
        let options = place::write_options(&self.job.endpoint);
        let mut edit = match Edit::open(store, options).await {
            Ok(edit) => edit,
            Err(error) => return self.settled("edit", Err(error)),
        };
        // Nobody else changes the store now: this edit comes right after the one that is read.
        let Some(state) = self.read(store).await? else {
            edit.abandon().await?;
            return Ok(());
        };
        let (token, before) = (self.token(), state.get(&REGISTER).copied());
        let mut set = State::from([(REGISTER, token)]);
        let mut gone = Vec::new();
        let id = IDS.start() + i64::try_from(self.draw.below(12))?;
        let done = match (state.contains_key(&id), self.draw.below(2)) {
            (false, _) => {
                set.insert(id, token);
                edit.append(&place::batch(&State::from([(id, token)])))
                    .await
            }
            (true, 0) => {
                gone.push(id);
                edit.delete(&[id]).await
            }
            (true, _) => {
                set.insert(id, token);
                self.set(&mut edit, id, token).await
            }
        };
        let done = match done {
            Ok(()) => self.set(&mut edit, REGISTER, token).await,
            failed => failed,
        };
        if let Err(error) = done {
            edit.abandon().await?;
            return self.settled("edit", Err(error));
        }
        self.say(&json!({
            "edit": token, "store": store, "after": before, "from": from,
            "set": set.iter().collect::<Vec<_>>(), "gone": gone,
        }))?;
        let outcome = edit.commit().await.map(|_| ());
        self.outcome(token, outcome)
    }

    async fn set(&self, edit: &mut Edit, id: i64, value: i64) -> Result<(), WriteError> {
        let at: Vec<(i64, u64)> = (0..).take(VERTICES).map(|place| (id, place)).collect();
        let values = Values::from(vec![value; VERTICES]);
        edit.set_vertex_attribute("n", At::Objects(&at), &values)
            .await
    }

    /// Makes a new store where others may do so, too.
    async fn make(&mut self) -> Result<()> {
        let token = self.token();
        // Workers that run at one time come for the same places.
        let slot = self.job.number / 6 * 8 + i64::try_from(self.draw.below(8))?;
        let address = format!("{}/{slot}.zarrvectors", self.job.slots);
        let from = now();
        self.say(&json!({"make": token, "store": address, "from": from}))?;
        let state = place::made(token);
        let done = place::make(&address, &self.job.endpoint, &state, StaleFiles::Refuse).await;
        self.outcome(token, done)
    }

    fn outcome(&mut self, token: i64, done: Result<(), WriteError>) -> Result<()> {
        let mut line = json!({"op": "change", "token": token, "to": now()});
        let outcome = match done {
            Ok(()) => "yes",
            Err(error) if error.is_committed() => {
                line["told"] = json!(error.to_string());
                "yes"
            }
            Err(error) => {
                let name = if is_told(&error) { "told" } else { "odd" };
                line[name] = json!(error.to_string());
                match error {
                    WriteError::Lost { .. } => "no",
                    error if error.class() == Class::Io => "unknown",
                    _ => "no",
                }
            }
        };
        line["outcome"] = json!(outcome);
        self.say(&line)
    }
}

/// Whether an error is one that others, faults and kills explain.
fn is_told(error: &WriteError) -> bool {
    error.class() == Class::Io
        || matches!(
            error,
            WriteError::Busy { .. } | WriteError::Changed { .. } | WriteError::Exists { .. }
        )
}
