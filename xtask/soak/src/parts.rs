//! Stores that several processes import by parts. A part is written by one run, by two at the same time, from the same file or from
//! another one, and once more with `--redo`; each run is started again until it ends well or is refused. Before the commit there is
//! no store; after it there is one with the rows of every part, each whole and from a file whose run ended with success.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;
use zvf_soak::draw::Draw;
use zvf_soak::locks::locked;

use super::Soak;
use super::model::Model;
use super::objects::{Object, Row, State};
use super::place::{Epoch, Storage};
use super::program::{Ended, Fault, Outcome, of_change};
use super::question::{COLUMNS, Question, TEXTS, whole_table};

/// How long one step may be repeated.
const PATIENCE: Duration = Duration::from_secs(600);

/// The width of a part along the first axis, in quarters.
const WIDTH: i32 = 40;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A file, and the objects in it.
#[derive(Debug, Clone)]
struct Input {
    path: String,
    state: State,
}

/// One part: the file that it is first written from, and another one with the same columns and chunks.
#[derive(Debug)]
struct Part {
    name: String,
    inputs: [Input; 2],
}

/// How a step ended for good.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Last {
    Done,
    /// Refused, as what came before explains.
    Refused(String),
    /// An anomaly, which was reported.
    Odd,
}

/// Imports one store by parts.
pub(super) fn run(soak: &Soak, draw: &mut Draw, storage: &Storage) -> Result<()> {
    let number = soak.number();
    let name = format!("parts-{number}.zarrvectors");
    let mut epoch = Epoch::new(storage, 0, number, draw);
    epoch.kind = "point_cloud";
    epoch.address = storage.address(&name);
    epoch.name.clone_from(&name);
    let count = 2 + i32::try_from(draw.below(4))?;
    let mut parts = Vec::new();
    for part in 0..count {
        let mut input = || -> Result<Input> {
            let state = rows(part, draw);
            let path = soak.program.fresh(".csv");
            std::fs::write(&path, whole_table(&state))?;
            let path = path.display().to_string();
            Ok(Input { path, state })
        };
        parts.push(Part {
            name: part.to_string(),
            inputs: [input()?, input()?],
        });
    }
    let one = Import {
        soak,
        storage,
        epoch: &epoch,
        declared: draw.below(3) > 0,
        parts: &parts,
    };
    let done = one.all(draw);
    for input in parts.iter().flat_map(|part| &part.inputs) {
        std::fs::remove_file(&input.path)?;
    }
    done?;
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
            t: usize::try_from(place(0, 6)).map_or("a", |at| TEXTS[at % TEXTS.len()]),
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
    /// Whether the names of the parts are declared.
    declared: bool,
    parts: &'i [Part],
}

impl Import<'_> {
    /// Begins, writes all parts at the same time, and commits.
    fn all(&self, draw: &mut Draw) -> Result<()> {
        if !self.begin(draw)? {
            return Ok(());
        }
        if draw.below(8) == 0 {
            // All is thrown away, and begun again.
            let few = self.parts.get(..1).unwrap_or_default();
            if self.write(draw, few)?.is_none() || !self.discard(draw)? || !self.begin(draw)? {
                return Ok(());
            }
        }
        let left_out = draw.below(6) == 0;
        let kept = self.parts.len() - usize::from(left_out);
        let Some(mut states) = self.write(draw, self.parts.get(..kept).unwrap_or_default())? else {
            return Ok(());
        };
        if !self.refusals(draw)? {
            return Ok(());
        }
        let again = draw.below(u64::try_from(kept)?);
        if draw.below(3) == 0
            && let Some(part) = self.parts.get(usize::try_from(again)?)
        {
            let input = &part.inputs[1];
            if self.part(draw, part, input, &["--redo"])? != Last::Done {
                return Ok(());
            }
            states.insert(part.name.clone(), input.state.clone());
        }
        if self.query()?.code == Some(0) {
            return self.odd("a store before the commit");
        }
        let missing = left_out && self.declared;
        if missing {
            match self.step(
                draw,
                "import --commit",
                0,
                &["--commit"],
                &["--allow-missing"],
            )? {
                Last::Refused(_) => {}
                Last::Done => return self.odd("committed although a part is missing"),
                Last::Odd => return Ok(()),
            }
        }
        if !self.commit(draw, missing)? {
            return Ok(());
        }
        let whole = states.into_values().flatten().collect();
        *self.epoch.model() = Model::new(false, &whole);
        self.compare()
    }

    fn begin(&self, draw: &mut Draw) -> Result<bool> {
        let count = self.parts.len().to_string();
        let mut way = vec!["--begin"];
        if self.declared {
            way.extend(["--parts", &count]);
        }
        // Again it is success, so nothing has to be known of a run that was killed.
        Ok(self.step(draw, "import --begin", 0, &way, &[])? == Last::Done)
    }

    /// Writes parts, each with one run or two at the same time. Returns what each must hold; nothing after an anomaly.
    fn write(
        &self,
        draw: &mut Draw,
        parts: &[Part],
    ) -> Result<Option<std::collections::BTreeMap<String, State>>> {
        let finished = Mutex::new(Vec::new());
        let over = AtomicBool::new(false);
        let mut seeds = Draw::new(&[draw.below(u64::MAX)]);
        let written: Vec<Result<Option<(String, State)>>> = std::thread::scope(|scope| {
            let runs = parts.iter().map(|part| {
                let mut own = Draw::new(&[seeds.below(u64::MAX)]);
                let finished = &finished;
                scope.spawn(move || {
                    let state = self.one(&mut own, part)?;
                    if let Some(state) = &state {
                        let rows: usize = state.values().map(|object| object.rows.len()).sum();
                        locked(finished).push((part.name.clone(), rows));
                    }
                    Ok(state.map(|state| (part.name.clone(), state)))
                })
            });
            let runs: Vec<_> = runs.collect();
            let watch = scope.spawn(|| self.watch(&finished, &over));
            let written = runs.into_iter().map(|run| run.join().unwrap_or(Ok(None)));
            let written: Vec<_> = written.collect();
            over.store(true, Ordering::Relaxed);
            let mut written = written;
            if let Ok(Err(error)) = watch.join() {
                written.push(Err(error));
            }
            written
        });
        let mut states = std::collections::BTreeMap::new();
        for one in written {
            let Some((name, state)) = one? else {
                return Ok(None);
            };
            states.insert(name, state);
        }
        Ok(Some(states))
    }

    /// Writes one part, and returns what it must hold.
    fn one(&self, draw: &mut Draw, part: &Part) -> Result<Option<State>> {
        let [first, second] = &part.inputs;
        let other = match draw.below(10) {
            0..3 => Some(second),
            3..5 => Some(first),
            _ => None,
        };
        let Some(other) = other else {
            let last = self.part(draw, part, first, &[])?;
            return Ok((last == Last::Done).then(|| first.state.clone()));
        };
        let mut own = Draw::new(&[draw.below(u64::MAX)]);
        let (one, two) = std::thread::scope(|scope| {
            let two = scope.spawn(move || self.part(&mut own, part, other, &[]));
            let one = self.part(draw, part, first, &[]);
            (one, two.join().unwrap_or(Ok(Last::Odd)))
        });
        let (one, two) = (one?, two?);
        let same = first.path == other.path;
        self.soak.program.count("parts written twice at once");
        match (&one, &two) {
            (Last::Odd, _) | (_, Last::Odd) => Ok(None),
            (Last::Done, Last::Done) if same => Ok(Some(first.state.clone())),
            (Last::Done, Last::Refused(_)) if !same => Ok(Some(first.state.clone())),
            (Last::Refused(_), Last::Done) if !same => Ok(Some(other.state.clone())),
            _ => {
                let name = &part.name;
                self.odd(&format!(
                    "two runs of part {name}, of the same file: {same}, ended as {one:?} and {two:?}"
                ))?;
                Ok(None)
            }
        }
    }

    /// Runs `--part` to its end.
    fn part(&self, draw: &mut Draw, part: &Part, input: &Input, more: &[&str]) -> Result<Last> {
        let mut way = vec!["--part", &part.name];
        way.extend(more);
        self.repeated(
            draw,
            "import --part",
            &input.path,
            &way,
            &["was finished before"],
        )
    }

    /// Lists the parts until they are written: one whose run has ended with success is finished.
    fn watch(&self, finished: &Mutex<Vec<(String, usize)>>, over: &AtomicBool) -> Result<()> {
        let arguments = words(&["import", &self.epoch.address, "--status", "--json"]);
        let mut last = false;
        while !last {
            last = over.load(Ordering::Relaxed);
            let before = locked(finished).clone();
            let endpoint = self.storage.endpoint();
            let ended = self.soak.program.run(endpoint, &arguments, Fault::None)?;
            let outcome = ended.outcome(self.storage.is_faulty());
            self.soak.count("import --status", outcome.clone().ok());
            match outcome {
                Ok(Outcome::Done) => {}
                Ok(_) => continue,
                Err(odd) => return self.odd(&odd),
            }
            let status: Value = serde_json::from_str(&ended.stdout)?;
            let parts = status["parts"].as_array().into_iter().flatten();
            let parts: Vec<&Value> = parts.collect();
            for (name, rows) in before {
                let part = parts.iter().find(|part| part["name"] == *name);
                let held = part.map(|part| &part["finished"]["vertices"]);
                if held != Some(&Value::from(rows)) {
                    let status = &ended.stdout;
                    return self.odd(&format!(
                        "part {name} ended with success, {rows} rows, and --status says {status}"
                    ));
                }
            }
            if !last {
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        Ok(())
    }

    /// What is refused while parts are finished. Whether it was.
    fn refusals(&self, draw: &mut Draw) -> Result<bool> {
        let (name, way, says): (_, &[&str], _) = match draw.below(6) {
            0 => (
                "import --clear-leftovers",
                &["--begin", "--clear-leftovers"],
                "finished parts are not removed",
            ),
            1 => ("import", &[], "an unfinished store"),
            2 if self.declared => (
                "import --part",
                &["--part", "other"],
                "one of those that --begin declared",
            ),
            _ => return Ok(true),
        };
        match self.step(draw, name, 0, way, &[says])? {
            Last::Refused(_) => Ok(true),
            Last::Odd => Ok(false),
            Last::Done => {
                self.odd(&format!("{name} {way:?} was not refused"))?;
                Ok(false)
            }
        }
    }

    fn discard(&self, draw: &mut Draw) -> Result<bool> {
        let address = &self.epoch.address;
        let arguments = words(&["import", address, "--discard-parts"]);
        let gone = ["no store in parts was begun there"];
        let last = self.until(draw, "import --discard-parts", &arguments, &gone)?;
        let Last::Refused(_) = last else {
            return Ok(last == Last::Done);
        };
        Ok(true)
    }

    /// Commits, sometimes with two runs at the same time.
    fn commit(&self, draw: &mut Draw, missing: bool) -> Result<bool> {
        let mut way = vec!["--commit"];
        if missing {
            way.push("--allow-missing");
        }
        // A commit that was killed may be done, and so may the other one.
        let done = ["the store already exists", "no store was begun there"];
        let mut own = Draw::new(&[draw.below(u64::MAX)]);
        let twice = draw.below(3) == 0;
        let (one, two) = std::thread::scope(|scope| {
            let two = twice.then(|| {
                let way = &way;
                scope.spawn(move || self.step(&mut own, "import --commit", 0, way, &done))
            });
            let one = self.step(draw, "import --commit", 0, &way, &done);
            let two = two.map_or(Ok(Last::Done), |two| two.join().unwrap_or(Ok(Last::Odd)));
            (one, two)
        });
        Ok(one? != Last::Odd && two? != Last::Odd)
    }

    /// Runs a step until it ends well, or is refused by one of these texts.
    fn step(
        &self,
        draw: &mut Draw,
        name: &'static str,
        file: usize,
        way: &[&str],
        refused: &[&str],
    ) -> Result<Last> {
        let file = self.parts.get(file).map(|part| part.inputs[0].path.clone());
        self.repeated(draw, name, &file.unwrap_or_default(), way, refused)
    }

    fn repeated(
        &self,
        draw: &mut Draw,
        name: &'static str,
        file: &str,
        way: &[&str],
        refused: &[&str],
    ) -> Result<Last> {
        let mut arguments = words(&["import", file, &self.epoch.address, "--kind", "point_cloud"]);
        arguments.extend(words(&["--object-column", "object_id"]));
        arguments.extend(words(&["--chunk-shape", "10,50,50"]));
        arguments.extend(words(&["--attributes", "n,w,t"]));
        if !way.is_empty() {
            arguments.extend(words(&["--bounds", "0,0,0:60,100,100"]));
        }
        arguments.extend(words(way));
        self.until(draw, name, &arguments, refused)
    }

    fn until(
        &self,
        draw: &mut Draw,
        name: &'static str,
        arguments: &[String],
        refused: &[&str],
    ) -> Result<Last> {
        let end = Instant::now() + PATIENCE;
        loop {
            let fault = of_change(draw, 60);
            let (endpoint, faulty) = (self.storage.endpoint(), self.storage.is_faulty());
            let ended = self.soak.program.run(endpoint, arguments, fault)?;
            self.epoch.note(&ended, None);
            if ended.code == Some(2) && refused.iter().any(|text| ended.stderr.contains(text)) {
                self.soak.count(name, Some(Outcome::Busy));
                return Ok(Last::Refused(ended.odd()));
            }
            let outcome = ended.outcome(faulty);
            self.soak.count(name, outcome.clone().ok());
            match outcome {
                Ok(Outcome::Done) => return Ok(Last::Done),
                Err(odd) => {
                    self.odd(&odd)?;
                    return Ok(Last::Odd);
                }
                Ok(_) if Instant::now() > end => {
                    let odd = ended.odd();
                    self.odd(&format!("{name} never ends well: {odd}"))?;
                    return Ok(Last::Odd);
                }
                Ok(_) => {}
            }
        }
    }

    fn odd(&self, text: &str) -> Result<()> {
        let text = format!("import by parts: {text}");
        self.soak.anomaly(self.epoch, &text);
        Ok(())
    }

    fn query(&self) -> Result<Ended> {
        let address = &self.epoch.address;
        let all = words(&["query", address, "--format", "ndjson", "--columns", COLUMNS]);
        let endpoint = self.storage.endpoint();
        self.soak.program.run(endpoint, &all, Fault::None)
    }

    /// Compares the store with its parts, and looks for damage.
    fn compare(&self) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        let validate = ["validate", &self.epoch.address, "--level", "5"];
        let (ended, valid) = loop {
            let endpoint = self.storage.endpoint();
            let ended = self.query()?;
            let valid = self
                .soak
                .program
                .run(endpoint, &words(&validate), Fault::None)?;
            let ok = ended.code == Some(0) && valid.code == Some(0);
            if ok || !self.storage.is_faulty() || Instant::now() > end {
                break (ended, valid);
            }
            if valid.code == Some(1) {
                break (ended, valid);
            }
        };
        for one in [&ended, &valid] {
            if one.code != Some(0) {
                return self.odd(&format!("{}\n{}", one.odd(), one.stdout));
            }
        }
        let answer = Question::All.ndjson(false, &ended.stdout);
        let answer = answer.map_err(|error| format!("{error:#}"));
        let checked = answer.and_then(|answer| {
            let mut model = self.epoch.model();
            model.check(&Question::All, &answer, ended.from, ended.to)
        });
        match checked {
            Ok(()) => Ok(()),
            Err(wrong) => self.odd(&wrong),
        }
    }
}
