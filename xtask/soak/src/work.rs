//! What one thread does: it starts programs that read and change stores, and compares what they say with the model.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use zvf_soak::draw::Draw;
use zvf_soak::locks::locked;

use super::Soak;
use super::change::{self, TABLE};
use super::objects::Answer;
use super::parts;
use super::place::{Epoch, Place, Storage};
use super::program::{Ended, Fault, Outcome, of_change, of_read};
use super::question::{COLUMNS, Question, whole_table};
use super::serve::{Door, Reply, Served};

/// How long a store may stay locked by a change that is known to be interrupted.
const PATIENCE: Duration = Duration::from_secs(600);

/// One thread.
pub(super) struct Worker<'s> {
    pub(super) soak: &'s Soak,
    pub(super) draw: Draw,
}

/// What a run for an answer gave.
enum Fetched {
    Answer(Answer, Ended),
    /// A fault or a change of the store kept it from answering.
    Nothing,
    /// An anomaly, which has been reported.
    Odd,
}

/// Whether a store with coarse levels is refused, as documented: by a copy to chunks that do not fit their bins, and by a vacuum if they
/// keep the rows of level 0.
fn refused(name: &str, ended: &Ended) -> bool {
    let text = match name {
        "rechunk" => "since chunks of coarse levels are whole multiples of their bins",
        "vacuum" => "expected no coarse level that keeps them",
        _ => return false,
    };
    ended.code == Some(2) && ended.stderr.contains(text)
}

/// Where stores are, by what their operations cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    Disk,
    Memory,
    Moto,
}

impl Where {
    fn of(storage: &Storage) -> Self {
        match storage {
            Storage::Bucket(_, _, Some(_)) => Self::Memory,
            Storage::Bucket(..) => Self::Moto,
            _ => Self::Disk,
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

impl Worker<'_> {
    /// Works until the end of the soak.
    pub(super) fn run(&mut self) -> Result<()> {
        while !self.soak.is_over() {
            self.step()?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<()> {
        let soak = self.soak;
        // Buckets take longer than disks, and moto many times as long.
        let kind = match self.draw.below(400) {
            0 => Where::Moto,
            1..100 => Where::Memory,
            _ => Where::Disk,
        };
        let places = soak.places.iter();
        let places: Vec<&Place> = places
            .filter(|one| kind == Where::of(&one.storage))
            .collect();
        let Some(place) = self.draw.one(&places).copied() else {
            return Ok(());
        };
        {
            let epoch = place.epoch.read().unwrap_or_else(PoisonError::into_inner);
            if !epoch.is_over() {
                return match self.draw.below(1000) {
                    0..250 => self.read(place, &epoch),
                    250..600 => self.requests(place, &epoch),
                    600..615 => self.copy(place, &epoch),
                    615..635 => self.validate(place, &epoch),
                    635..965 => self.change(place, &epoch),
                    965..980 => self.levels(place, &epoch),
                    980..990 => self.vacuum(place, &epoch),
                    _ => parts::run(soak, &mut self.draw, &place.storage),
                };
            }
        }
        let mut epoch = place.epoch.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have come first.
        if epoch.is_over() {
            self.close(place, &epoch)?;
            place.storage.remove(&epoch.name);
            let number = soak.number();
            *epoch = Epoch::new(&place.storage, place.number, number, &mut self.draw);
            self.make(place, &epoch)?;
        }
        Ok(())
    }

    /// Runs the program and counts the run. An outcome of `None` is an anomaly, which has been reported.
    fn ran(
        &self,
        name: &'static str,
        place: &Place,
        epoch: &Epoch,
        arguments: &[String],
        fault: Fault,
    ) -> Result<(Ended, Option<Outcome>)> {
        let soak = self.soak;
        let ended = soak
            .program
            .run(place.storage.endpoint(), arguments, fault)?;
        let outcome = match ended.outcome(place.storage.is_faulty()) {
            Err(_) if refused(name, &ended) => Some(Outcome::Busy),
            Ok(outcome) => Some(outcome),
            Err(odd) => {
                soak.anomaly(epoch, &odd);
                None
            }
        };
        soak.count(name, outcome);
        Ok((ended, outcome))
    }

    /// Reads, and compares with the model.
    fn read(&mut self, place: &Place, epoch: &Epoch) -> Result<()> {
        let question = Question::draw(&mut self.draw);
        let fault = of_read(&mut self.draw, place.typical.load(Ordering::Relaxed));
        self.ask(place, epoch, &epoch.address, &question, fault)?;
        Ok(())
    }

    /// Asks a question of the store, or of a copy of it, and compares the answer with the model. Whether there was one.
    fn ask(
        &mut self,
        place: &Place,
        epoch: &Epoch,
        address: &str,
        question: &Question,
        fault: Fault,
    ) -> Result<bool> {
        let from = self.soak.program.now();
        epoch.model().open_read(from);
        let asked = self.answer(place, epoch, address, question, fault, from);
        epoch.model().close_read(from);
        asked
    }

    fn answer(
        &mut self,
        place: &Place,
        epoch: &Epoch,
        address: &str,
        question: &Question,
        fault: Fault,
        from: u64,
    ) -> Result<bool> {
        let fetched = self.fetch(place, epoch, address, question, fault)?;
        let Fetched::Answer(answer, ended) = fetched else {
            return Ok(false);
        };
        let checked = epoch.model().check(question, &answer, from, ended.to);
        if let Err(wrong) = checked {
            let line = &ended.line;
            self.soak.anomaly(epoch, &format!("{line}: {wrong}"));
        }
        Ok(true)
    }

    /// Runs the program for the answer to a question.
    fn fetch(
        &mut self,
        place: &Place,
        epoch: &Epoch,
        address: &str,
        question: &Question,
        fault: Fault,
    ) -> Result<Fetched> {
        let csv = self.draw.below(2) == 0;
        let (name, arguments) = if matches!(question, Question::List) {
            ("objects", words(&["objects", address, "--json"]))
        } else {
            let format = if csv { "csv" } else { "ndjson" };
            let mut all = words(&["query", address, "--format", format, "--columns", COLUMNS]);
            all.extend(question.arguments());
            ("query", all)
        };
        let (ended, outcome) = self.ran(name, place, epoch, &arguments, fault)?;
        match outcome {
            Some(Outcome::Done) => {}
            Some(_) => return Ok(Fetched::Nothing),
            None => return Ok(Fetched::Odd),
        }
        let ordered = epoch.model().is_ordered();
        let answer = match question {
            Question::List => Question::list(&ended.stdout),
            _ if csv => question.csv(ordered, &ended.stdout),
            _ => question.ndjson(ordered, &ended.stdout),
        };
        Ok(match answer {
            Ok(answer) => Fetched::Answer(answer, ended),
            Err(error) => {
                let line = &ended.line;
                self.soak.anomaly(epoch, &format!("{line}: {error:#}"));
                Fetched::Odd
            }
        })
    }

    /// Asks a server of the store some questions.
    fn requests(&mut self, place: &Place, epoch: &Epoch) -> Result<()> {
        let soak = self.soak;
        let door = {
            let mut served = locked(&epoch.served);
            if self.draw.below(80) == 0 && served.take().is_some() {
                soak.program.count("servers killed");
            }
            if served.as_mut().is_some_and(Served::has_ended) {
                *served = None;
                soak.anomaly(epoch, "zvf serve ended by itself");
                return Ok(());
            }
            if served.is_none() {
                let endpoint = place.storage.endpoint();
                *served = Served::start(&soak.program, endpoint, &epoch.address)?;
                soak.count("serve", served.is_some().then_some(Outcome::Done));
            }
            let Some(served) = served.as_ref() else {
                soak.anomaly(epoch, "zvf serve did not start");
                return Ok(());
            };
            served.door()
        };
        for _ in 0..=self.draw.below(12) {
            if epoch.broken.load(Ordering::Relaxed) {
                break;
            }
            let question = Question::draw(&mut self.draw);
            if let Some(parameters) = question.parameters() {
                self.request(place, epoch, &door, &question, &parameters);
            }
        }
        Ok(())
    }

    /// Asks a server one question.
    fn request(
        &self,
        place: &Place,
        epoch: &Epoch,
        door: &Door,
        question: &Question,
        parameters: &str,
    ) {
        let soak = self.soak;
        let path = door.query(parameters);
        let from = soak.program.now();
        epoch.model().open_read(from);
        let reply = door.get(&path);
        let to = soak.program.now();
        let faulty = place.storage.is_faulty();
        let (outcome, why, wrong) = match reply {
            Reply::Whole(200, body) => {
                let ordered = epoch.model().is_ordered();
                let wrong = match question.ndjson(ordered, &body) {
                    Ok(answer) => epoch.model().check(question, &answer, from, to).err(),
                    Err(error) => Some(format!("{error:#}")),
                };
                (Outcome::Done, None, wrong)
            }
            // The store changed each time that the query was begun, or could not be read.
            Reply::Whole(status @ 502, body)
                if faulty || body.contains("changed while the store was read") =>
            {
                let changed = body.contains("changed while the store was read");
                let why = match changed {
                    true => "the store changed",
                    false => "the storage failed",
                };
                (
                    Outcome::Failed,
                    Some(format!("status {status}, {why}")),
                    None,
                )
            }
            Reply::Whole(status, body) => {
                let wrong = format!("status {status}: {body}");
                (Outcome::Failed, None, Some(wrong))
            }
            Reply::None(_) | Reply::Cut(_) if door.is_closed() => {
                (Outcome::Killed, Some("the server was killed".into()), None)
            }
            // Answers are of one batch: whether the store changed is known before any of it is sent.
            Reply::Cut(why) if !faulty => (Outcome::Failed, None, Some(why)),
            Reply::Cut(_) => (Outcome::Failed, Some("the answer was aborted".into()), None),
            Reply::None(why) => (Outcome::Failed, None, Some(why)),
        };
        epoch.model().close_read(from);
        soak.count("requests to serve", wrong.is_none().then_some(outcome));
        if let Some(why) = why {
            soak.reason(&format!("requests to serve: {why}"));
        }
        if let Some(wrong) = wrong {
            soak.anomaly(epoch, &format!("serve: GET {path}: {wrong}"));
        }
    }

    /// Copies the store to other chunks, and reads the copy.
    fn copy(&mut self, place: &Place, epoch: &Epoch) -> Result<()> {
        let path = self.soak.program.fresh(".zarrvectors");
        let copy = path.display().to_string();
        let shape = if self.draw.below(2) == 0 {
            "40,40,40"
        } else {
            "15,20,25"
        };
        let arguments = words(&["rechunk", &epoch.address, &copy, "--chunk-shape", shape]);
        let from = self.soak.program.now();
        epoch.model().open_read(from);
        let fault = of_read(&mut self.draw, place.typical.load(Ordering::Relaxed));
        let made = self.ran("rechunk", place, epoch, &arguments, fault);
        let asked = match made {
            Ok((_, Some(Outcome::Done))) => {
                self.answer(place, epoch, &copy, &Question::All, Fault::None, from)
            }
            other => other.map(|_| false),
        };
        epoch.model().close_read(from);
        if path.exists() {
            std::fs::remove_dir_all(&path)?;
        }
        asked.map(|_| ())
    }

    fn validate(&mut self, place: &Place, epoch: &Epoch) -> Result<()> {
        let level = if self.draw.below(2) == 0 { "3" } else { "5" };
        let arguments = words(&["validate", &epoch.address, "--level", level]);
        let fault = of_read(&mut self.draw, place.typical.load(Ordering::Relaxed));
        let (ended, outcome) = self.ran("validate", place, epoch, &arguments, fault)?;
        if outcome.is_none() {
            let findings = format!("{}\n{}", ended.line, ended.stdout);
            self.soak.say(&findings);
        }
        Ok(())
    }

    /// Makes a change of one lane.
    fn change(&mut self, place: &Place, epoch: &Epoch) -> Result<()> {
        let soak = self.soak;
        let lane = usize::try_from(self.draw.below(u64::try_from(epoch.lanes.len())?))?;
        let Some(Ok(own)) = epoch.lanes.get(lane).map(|lane| lane.try_lock()) else {
            return Ok(());
        };
        let interrupted = epoch.interrupted.load(Ordering::Relaxed);
        if epoch.model().is_pending(lane) || (interrupted && self.draw.below(3) == 0) {
            return self.settle(place, epoch);
        }
        let (state, ordered) = {
            let model = epoch.model();
            (model.state(lane), model.is_ordered())
        };
        let change = change::draw(&mut self.draw, lane, ordered, &state);
        let path = soak.program.fresh(".csv");
        let table = path.display().to_string();
        let mut arguments = words(&["edit", &epoch.address]);
        arguments.extend(change.words.iter().map(|word| match word.as_str() {
            TABLE => table.clone(),
            _ => word.clone(),
        }));
        if let Some(text) = &change.table {
            std::fs::write(&path, text)?;
        }
        let fault = of_change(&mut self.draw, place.typical.load(Ordering::Relaxed));
        let writing = epoch.writers.read().unwrap_or_else(PoisonError::into_inner);
        epoch.model().begin(lane, change.next, soak.program.now());
        let (ended, outcome) = self.ran(change.name, place, epoch, &arguments, fault)?;
        let counts = match outcome {
            Some(Outcome::Done) => Some(true),
            Some(Outcome::Busy) => Some(false),
            _ => None,
        };
        epoch.note(
            &ended,
            change.table.as_deref().map(|text| (table.as_str(), text)),
        );
        if change.table.is_some() {
            std::fs::remove_file(&path)?;
        }
        if counts == Some(true) && fault == Fault::None {
            place.took(&ended);
        }
        epoch.changes.fetch_add(1, Ordering::Relaxed);
        if counts.is_none() {
            epoch.interrupted.store(true, Ordering::Relaxed);
        }
        let told = epoch.model().end(lane, counts, ended.to);
        if let Err(wrong) = told {
            soak.anomaly(epoch, &format!("{}: {wrong}", ended.line));
        }
        drop(writing);
        drop(own);
        // A marker without a writer may be behind it.
        if outcome == Some(Outcome::Busy) && self.draw.below(12) == 0 {
            self.settle(place, epoch)?;
        }
        Ok(())
    }

    /// Makes, rebuilds or removes coarse levels.
    fn levels(&mut self, place: &Place, epoch: &Epoch) -> Result<()> {
        let ways: [&[&str]; 4] = [
            &["--factors", "2,2"],
            &["--refresh"],
            &["--refresh"],
            &["--remove"],
        ];
        let number = usize::try_from(self.draw.below(4))?;
        // Without levels only the first way does something.
        let number = if epoch.levels.load(Ordering::Relaxed) {
            number
        } else {
            0
        };
        let way = ways[number];
        let fault = of_change(&mut self.draw, place.typical.load(Ordering::Relaxed));
        let _writing = epoch.writers.read().unwrap_or_else(PoisonError::into_inner);
        let done = self.pyramid(place, epoch, way, fault)?;
        epoch.levels.store(number < 3 && done, Ordering::Relaxed);
        Ok(())
    }

    /// Runs `zvf pyramid`; levels that are there, or not, refuse some of its forms.
    fn pyramid(
        &mut self,
        place: &Place,
        epoch: &Epoch,
        way: &[&str],
        fault: Fault,
    ) -> Result<bool> {
        let mut arguments = words(&["pyramid", &epoch.address]);
        arguments.extend(words(way));
        let endpoint = place.storage.endpoint();
        let ended = self.soak.program.run(endpoint, &arguments, fault)?;
        let refused = ended.code == Some(2)
            && [
                "expected level 0 alone",
                "found level 0 alone",
                "no vertices",
                "no vertex",
            ]
            .iter()
            .any(|text| ended.stderr.contains(text));
        let outcome = match ended.outcome(place.storage.is_faulty()) {
            _ if refused => Some(Outcome::Busy),
            Ok(outcome) => Some(outcome),
            // What an interrupted run left has to be removed by name.
            Err(_) if ended.stderr.contains("--clear-leftovers") => Some(Outcome::Busy),
            Err(odd) => {
                self.soak.anomaly(epoch, &odd);
                None
            }
        };
        self.soak.count("pyramid", outcome);
        epoch.note(&ended, None);
        if !matches!(outcome, Some(Outcome::Done | Outcome::Busy)) {
            epoch.interrupted.store(true, Ordering::Relaxed);
        }
        Ok(outcome == Some(Outcome::Done) || refused)
    }

    /// Removes what deleted objects leave. No other writer may run meanwhile.
    fn vacuum(&mut self, place: &Place, epoch: &Epoch) -> Result<()> {
        let fault = of_change(&mut self.draw, place.typical.load(Ordering::Relaxed));
        let _alone = epoch
            .writers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let arguments = words(&["vacuum", &epoch.address]);
        let (ended, outcome) = self.ran("vacuum", place, epoch, &arguments, fault)?;
        epoch.note(&ended, None);
        if outcome != Some(Outcome::Done) {
            epoch.interrupted.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Finishes or takes back what was interrupted, and looks what came of it.
    fn settle(&mut self, place: &Place, epoch: &Epoch) -> Result<()> {
        let _alone = epoch
            .writers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if !epoch.is_over() {
            self.settle_alone(place, epoch)?;
        }
        Ok(())
    }

    fn settle_alone(&mut self, place: &Place, epoch: &Epoch) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        let mut name = "edit resume";
        let mut arguments = words(&["edit", &epoch.address, "resume"]);
        // Or time passes for the storage, until the marker counts for nothing, and the next writer takes it over.
        if let Storage::Disk(folder) | Storage::Small(folder) = &place.storage
            && self.draw.below(3) == 0
        {
            let marker = folder.join(&epoch.name).join("zvf-unfinished.json");
            if let Ok(file) = std::fs::File::options().append(true).open(marker) {
                file.set_modified(SystemTime::now() - Duration::from_secs(86_400))?;
                self.soak.program.count("markers aged by a day");
                (name, arguments) = ("vacuum", words(&["vacuum", &epoch.address]));
            }
        }
        loop {
            let fault = match self.draw.below(6) {
                0 => of_change(&mut self.draw, place.typical.load(Ordering::Relaxed)),
                _ => Fault::None,
            };
            let (ended, outcome) = self.ran(name, place, epoch, &arguments, fault)?;
            epoch.note(&ended, None);
            match outcome {
                Some(Outcome::Done) => break,
                None => return Ok(()),
                Some(_) if Instant::now() > end => {
                    let odd = ended.odd();
                    self.soak
                        .anomaly(epoch, &format!("the store stays locked: {odd}"));
                    return Ok(());
                }
                Some(_) if ended.stderr.contains("--clear-leftovers") => {
                    let way = &["--refresh", "--clear-leftovers"];
                    self.pyramid(place, epoch, way, Fault::None)?;
                }
                Some(_) => std::thread::sleep(Duration::from_millis(50)),
            }
            (name, arguments) = ("edit resume", words(&["edit", &epoch.address, "resume"]));
        }
        let mut answers = Vec::new();
        for question in [Question::All, Question::List] {
            let answer = loop {
                match self.fetch(place, epoch, &epoch.address, &question, Fault::None)? {
                    Fetched::Answer(answer, _) => break answer,
                    Fetched::Nothing if Instant::now() < end => {}
                    Fetched::Nothing => {
                        self.soak
                            .anomaly(epoch, "the store cannot be read any more");
                        return Ok(());
                    }
                    Fetched::Odd => return Ok(()),
                }
            };
            answers.push((question, answer));
        }
        let settled = epoch.model().settle(&answers, self.soak.program.now());
        if let Err(wrong) = settled {
            self.soak.anomaly(epoch, &wrong);
        }
        epoch.interrupted.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Makes the store of a place. It is whole or not there, whenever the program is killed.
    pub(super) fn make(&mut self, place: &Place, epoch: &Epoch) -> Result<()> {
        let soak = self.soak;
        let path = soak.program.fresh(".csv");
        let table = path.display().to_string();
        let text = whole_table(&epoch.first);
        std::fs::write(&path, &text)?;
        let mut arguments = words(&["import", &table, &epoch.address, "--kind", epoch.kind]);
        arguments.extend(words(&["--object-column", "object_id", "--chunk-shape"]));
        let shapes = ["20,20,20", "50,50,50", "15,20,25"];
        arguments.push(self.draw.one(&shapes).copied().unwrap_or("20,20,20").into());
        if self.draw.below(3) == 0 {
            arguments.extend(words(&["--shard-shape", "2,2,2"]));
        }
        let codecs = ["none", "zstd", "gzip", "blosc"];
        let codec = self.draw.one(&codecs).copied().unwrap_or("zstd");
        arguments.extend(words(&["--codec", codec]));
        let end = Instant::now() + PATIENCE;
        let ended = loop {
            let fault = of_change(&mut self.draw, place.typical.load(Ordering::Relaxed));
            let ended = soak
                .program
                .run(place.storage.endpoint(), &arguments, fault)?;
            epoch.note(&ended, Some((&table, &text)));
            let outcome = ended.outcome(place.storage.is_faulty());
            soak.count("import", outcome.clone().ok());
            let made = outcome == Ok(Outcome::Done);
            if made || self.is_made(place, epoch)? || Instant::now() > end {
                break ended;
            }
            if let Err(odd) = outcome {
                soak.anomaly(epoch, &odd);
                break ended;
            }
            if !arguments.iter().any(|word| word == "--clear-leftovers") {
                arguments.push("--clear-leftovers".into());
            }
        };
        std::fs::remove_file(&path)?;
        // Values of objects are no part of an import.
        let values = epoch.first.iter().filter_map(|(id, object)| {
            let value = object.v?;
            Some(format!("{id},{value}\n"))
        });
        let text = format!("object_id,v\n{}", values.collect::<String>());
        std::fs::write(&path, &text)?;
        let mut arguments = words(&["edit", &epoch.address, "set-attribute", "v", "--object"]);
        arguments.extend(words(&["--from", &table, "--type", "int64"]));
        loop {
            let endpoint = place.storage.endpoint();
            let set = soak.program.run(endpoint, &arguments, Fault::None)?;
            epoch.note(&set, Some((&table, &text)));
            if set.code == Some(0) {
                break;
            }
            if Instant::now() > end {
                let (import, set) = (ended.odd(), set.odd());
                soak.anomaly(epoch, &format!("the store cannot be made: {import}; {set}"));
                break;
            }
            let resume = words(&["edit", &epoch.address, "resume"]);
            soak.program.run(endpoint, &resume, Fault::None)?;
        }
        std::fs::remove_file(&path)?;
        Ok(())
    }

    /// Whether an import that was interrupted made its store. If so, the store is compared with what it imported.
    fn is_made(&mut self, place: &Place, epoch: &Epoch) -> Result<bool> {
        let all = words(&[
            "query",
            &epoch.address,
            "--format",
            "ndjson",
            "--columns",
            COLUMNS,
        ]);
        let ended = self
            .soak
            .program
            .run(place.storage.endpoint(), &all, Fault::None)?;
        if ended.code != Some(0) {
            return Ok(false);
        }
        let ordered = epoch.model().is_ordered();
        let answer = Question::All.ndjson(ordered, &ended.stdout);
        let answer = answer.map_err(|error| format!("{error:#}"));
        let checked = answer.and_then(|answer| {
            let mut model = epoch.model();
            model.check(&Question::All, &answer, ended.from, ended.to)
        });
        if let Err(wrong) = checked {
            self.soak
                .anomaly(epoch, &format!("an import that was interrupted: {wrong}"));
        }
        Ok(true)
    }

    /// Runs the program on a store that no other program uses, until it ends well. `None`: it does not, which is an anomaly.
    fn last(
        &self,
        place: &Place,
        epoch: &Epoch,
        arguments: &[&str],
        end: Instant,
    ) -> Result<Option<Ended>> {
        let name = if arguments.first() == Some(&"vacuum") {
            "vacuum"
        } else {
            "validate"
        };
        let arguments = words(arguments);
        loop {
            let (ended, outcome) = self.ran(name, place, epoch, &arguments, Fault::None)?;
            match outcome {
                Some(Outcome::Done) => return Ok(Some(ended)),
                Some(_) if Instant::now() < end => {}
                _ => {
                    let text = format!("at the end {}\n{}", ended.odd(), ended.stdout);
                    self.soak.anomaly(epoch, &text);
                    return Ok(None);
                }
            }
        }
    }

    /// Looks at a store that gets no more changes.
    pub(super) fn close(&mut self, place: &Place, epoch: &Epoch) -> Result<()> {
        drop(locked(&epoch.served).take());
        if epoch.broken.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.settle_alone(place, epoch)?;
        let end = Instant::now() + PATIENCE;
        let strict = [
            "validate",
            &epoch.address,
            "--level",
            "5",
            "--fail-on",
            "warning",
        ];
        // Coarse levels that are up to date, then none: some keep rows of deleted objects, which a vacuum refuses.
        for way in ["--refresh", "--remove"] {
            while !self.pyramid(place, epoch, &[way], Fault::None)? && Instant::now() < end {
                self.settle_alone(place, epoch)?;
            }
            if self.last(place, epoch, &strict, end)?.is_none() {
                return Ok(());
            }
        }
        let vacuum = ["vacuum", &epoch.address, "--json"];
        for arguments in [&vacuum[..], &strict, &vacuum] {
            let Some(ended) = self.last(place, epoch, arguments, end)? else {
                return Ok(());
            };
            epoch.note(&ended, None);
        }
        let again = self.last(place, epoch, &vacuum, end)?;
        if let Some(again) = again
            && !again.stdout.contains("\"leftovers\": 0")
        {
            let text = format!("files are left after a vacuum: {}", again.stdout);
            self.soak.anomaly(epoch, &text);
        }
        for question in [Question::All, Question::List] {
            while !self.ask(place, epoch, &epoch.address, &question, Fault::None)? {
                if Instant::now() > end || epoch.broken.load(Ordering::Relaxed) {
                    break;
                }
            }
        }
        Ok(())
    }
}
