//! Stores that several processes import by parts. The rows of a part are those of one of its files; a part is started again until it
//! ends well, and so is the commit. Before the commit there is no store, after it one with the rows of every part.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use anyhow::Result;
use zvf_soak::draw::Draw;

use super::Soak;
use super::model::Model;
use super::objects::{Object, Row, State};
use super::place::{Epoch, Storage};
use super::program::{Ended, Fault, Outcome, of_change};
use super::question::{Question, whole_table};

/// How long one step may be repeated.
const PATIENCE: Duration = Duration::from_secs(600);

/// The width of a part along the first axis, in quarters.
const WIDTH: i32 = 40;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Imports one store by parts.
pub(super) fn run(soak: &Soak, draw: &mut Draw, storage: &Storage) -> Result<()> {
    let number = soak.number();
    let name = format!("parts-{number}.zarrvectors");
    let mut epoch = Epoch::new(storage, 0, number, draw);
    epoch.address = storage.address(&name);
    let count = 2 + i32::try_from(draw.below(4))?;
    let mut files = Vec::new();
    let mut whole = State::new();
    for part in 0..count {
        let state = rows(part, draw);
        let path = soak.program.fresh(".csv");
        std::fs::write(&path, whole_table(&state))?;
        files.push(path.display().to_string());
        whole.extend(state);
    }
    let one = Import {
        soak,
        storage,
        epoch: &epoch,
    };
    let done = one.all(draw, &files);
    for file in &files {
        std::fs::remove_file(file)?;
    }
    if done? {
        *epoch.model() = Model::new(false, &whole);
        one.compare(Some(()))?;
    }
    storage.remove(&name);
    Ok(())
}

/// Objects of a part: points in its chunks.
fn rows(part: i32, draw: &mut Draw) -> State {
    let mut place = |low: i32, width: i32| {
        let width = u64::try_from(width).unwrap_or(1);
        low + i32::try_from(draw.below(width)).unwrap_or(0)
    };
    let objects = (0..3).map(|object| {
        let rows = (0..4).map(|_| Row {
            at: [place(part * WIDTH, WIDTH), place(0, 400), place(0, 400)],
            n: i64::from(place(0, 1000)),
            w: place(0, 400),
            t: "",
        });
        let rows = rows.collect();
        (i64::from(part * 10 + object), Object { rows, v: None })
    });
    objects.collect()
}

/// One import.
struct Import<'i> {
    soak: &'i Soak,
    storage: &'i Storage,
    epoch: &'i Epoch,
}

impl Import<'_> {
    /// Begins, writes all parts at the same time, and commits. Whether the store should be there.
    fn all(&self, draw: &mut Draw, files: &[String]) -> Result<bool> {
        let Some(first) = files.first() else {
            return Ok(false);
        };
        if !self.step(draw, "import --begin", first, &["--begin"])? {
            return Ok(false);
        }
        let ended: Vec<Result<bool>> = std::thread::scope(|scope| {
            let parts = files.iter().zip(0_u64..).map(|(file, part)| {
                let mut own = Draw::new(&[draw.below(u64::MAX), part]);
                scope.spawn(move || {
                    let name = part.to_string();
                    self.step(&mut own, "import --part", file, &["--part", &name])
                })
            });
            let parts: Vec<_> = parts.collect();
            let join = |part: std::thread::ScopedJoinHandle<'_, Result<bool>>| {
                part.join().unwrap_or(Ok(false))
            };
            parts.into_iter().map(join).collect()
        });
        for part in ended {
            if !part? {
                return Ok(false);
            }
        }
        self.compare(None)?;
        self.step(draw, "import --commit", first, &["--commit"])
    }

    /// Runs one step until it ends well. `false`: it cannot, which has been reported.
    fn step(&self, draw: &mut Draw, name: &'static str, file: &str, way: &[&str]) -> Result<bool> {
        let mut arguments = words(&["import", file, &self.epoch.address, "--kind", "point_cloud"]);
        arguments.extend(words(&[
            "--object-column",
            "object_id",
            "--chunk-shape",
            "10,50,50",
        ]));
        arguments.extend(words(&[
            "--bounds",
            "0,0,0:60,100,100",
            "--attributes",
            "n,w",
        ]));
        arguments.extend(words(way));
        let end = Instant::now() + PATIENCE;
        loop {
            let fault = of_change(draw, 60);
            let (endpoint, faulty) = (self.storage.endpoint(), self.storage.is_faulty());
            let ended = self.soak.program.run(endpoint, &arguments, fault)?;
            self.epoch.note(&ended, None);
            let outcome = ended.outcome(faulty);
            self.soak.count(name, outcome.clone().ok());
            match outcome {
                Ok(Outcome::Done) => return Ok(true),
                // A step that was killed, or whose answer was lost, may have been done.
                Err(_) if self.is_done(&ended, name)? => return Ok(true),
                Err(odd) => {
                    self.soak.anomaly(self.epoch, &odd);
                    return Ok(false);
                }
                Ok(_) if Instant::now() > end => {
                    let odd = ended.odd();
                    self.soak
                        .anomaly(self.epoch, &format!("{name} never ends well: {odd}"));
                    return Ok(false);
                }
                Ok(_) => {}
            }
            if name == "import --begin" && !arguments.iter().any(|word| word == "--clear-leftovers")
            {
                arguments.push("--clear-leftovers".into());
            }
        }
    }

    /// Whether a commit that is refused now was made before.
    fn is_done(&self, ended: &Ended, name: &str) -> Result<bool> {
        if name != "import --commit" || !ended.stderr.contains("store") {
            return Ok(false);
        }
        Ok(self.query()?.code == Some(0))
    }

    fn query(&self) -> Result<Ended> {
        let address = &self.epoch.address;
        let all = words(&[
            "query",
            address,
            "--format",
            "ndjson",
            "--columns",
            "position,object_id,n,w",
        ]);
        self.soak
            .program
            .run(self.storage.endpoint(), &all, Fault::None)
    }

    /// Compares the store with its parts; without a store, looks that none is there.
    fn compare(&self, made: Option<()>) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        let mut ended = self.query()?;
        while made.is_some() && ended.code != Some(0) && self.storage.is_faulty() {
            if Instant::now() > end {
                break;
            }
            ended = self.query()?;
        }
        let wrong = match (made, ended.code) {
            (None, Some(0)) => Some("a store before the commit".to_owned()),
            (None, _) => None,
            (Some(()), Some(0)) => {
                let answer = Question::All.ndjson(false, &ended.stdout);
                let answer = answer.map_err(|error| format!("{error:#}"));
                let checked = answer.and_then(|answer| {
                    let mut model = self
                        .epoch
                        .model
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner);
                    model.check(&Question::All, &answer, ended.from, ended.to)
                });
                checked.err()
            }
            (Some(()), _) => Some(ended.odd()),
        };
        if let Some(wrong) = wrong {
            self.soak
                .anomaly(self.epoch, &format!("import by parts: {wrong}"));
        }
        Ok(())
    }
}
