//! `zvf import` in parts: programs are killed at any moment, or started twice for one part, with different data.
//!
//! In all cases, each part of a committed store must be complete and written by one program: one that ended with success, or that was killed
//! after its part was finished. A sample run has 50 kills and duplicates, a full run 200; `ZVF_PART_TRIALS` sets another number, `ZVF_PART_SEED`
//! repeats a store.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::run::{Home, command, zvf_in};
use zvf_testkit::sample::{self, Sample};

const STORE: &str = "s.zv";
const STEPS: [&str; 4] = ["--chunk-shape", "10,10,10", "--bounds", "0,0,0:99,9,9"];
const PARTS: usize = 3;
const INPUTS: usize = 3;
const ROWS: usize = 40;

/// Pseudo-random numbers, reproducible from a seed.
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var(name).ok();
    given
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

fn file(part: usize, input: usize) -> String {
    format!("p{part}-{input}.csv")
}

fn text(part: usize, input: usize, row: usize) -> String {
    format!("t{part}-{input}-{}", row % 7)
}

/// Number of rows of an object.
const OF_ONE: usize = 7;

/// Tables with the same positions, but other values, numbers of rows, texts and objects.
fn inputs(home: &Path) -> Result<()> {
    for part in 0..PARTS {
        for input in 0..INPUTS {
            let mut lines = "x,y,z,v,t,o\n".to_owned();
            for row in 0..ROWS + input {
                let (x, y, z) = (part * 30 + row % 20, row % 9, row / 9);
                let v = (part * INPUTS + input) * 1000 + row;
                let object = (part * INPUTS + input) * 100 + row / OF_ONE;
                writeln!(lines, "{x},{y},{z},{v},{},{object}", text(part, input, row))?;
            }
            fs::write(home.join(file(part, input)), lines)?;
        }
    }
    Ok(())
}

/// The kind of the rows: points with a number of an object, or lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    Points,
    Lines,
}

impl Rows {
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Points => &[],
            Self::Lines => &["--kind", "polyline", "--object-column", "o"],
        }
    }
}

fn start(home: &Path, rows: Rows, words: &[&str]) -> Result<Child> {
    let args = [&["import"], words, &STEPS, rows.options()].concat();
    let mut command = command(home, &args);
    Ok(command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?)
}

/// The exit code of a program, or `None` if it was killed.
fn end(mut child: Child) -> Result<(Option<i32>, String)> {
    let mut told = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        std::io::Read::read_to_string(&mut stderr, &mut told)?;
    }
    Ok((child.wait()?.code(), told))
}

fn status(home: &Path) -> Result<Value> {
    let ran = zvf_in(home, &["import", STORE, "--status", "--json"])?;
    ensure!(ran.code == 0, "status: {}", ran.stderr);
    Ok(serde_json::from_slice(&ran.stdout)?)
}

/// Values and texts by part and input.
type RowsOfInputs = BTreeMap<(usize, usize), BTreeSet<(usize, String)>>;

/// Checks that each line has the vertices of a single input, in their order.
fn check_lines(home: &Path) -> Result<()> {
    let args = ["query", STORE, "--select", "objects", "--format", "ndjson"];
    let ran = zvf_in(home, &[&args[..], &["--columns", "object_id,v"]].concat())?;
    ensure!(ran.code == 0, "query: {}", ran.stderr);
    let mut lines: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for line in String::from_utf8(ran.stdout)?.lines() {
        let row: Value = serde_json::from_str(line)?;
        let number = |name: &str| row[name].as_u64().context(line.to_owned());
        lines
            .entry(number("object_id")?)
            .or_default()
            .push(number("v")?);
    }
    for (id, found) in lines {
        let (which, line) = (id / 100, usize::try_from(id % 100)?);
        let rows = ROWS + usize::try_from(which)? % INPUTS;
        let rows = line * OF_ONE..((line + 1) * OF_ONE).min(rows);
        let expected: Vec<u64> = rows.map(|row| which * 1000 + row as u64).collect();
        ensure!(
            found == expected,
            "line {id}: found {found:?}, expected {expected:?}"
        );
    }
    Ok(())
}

/// The rows of the store: values and texts of each part and input.
fn rows(home: &Path) -> Result<RowsOfInputs> {
    let ran = zvf_in(
        home,
        &["query", STORE, "--format", "ndjson", "--columns", "v,t"],
    )?;
    ensure!(ran.code == 0, "query: {}", ran.stderr);
    let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for line in String::from_utf8(ran.stdout)?.lines() {
        let row: Value = serde_json::from_str(line)?;
        let v = usize::try_from(row["v"].as_u64().context("no number")?)?;
        let which = v / 1000;
        let t = row["t"].as_str().context("no text")?.to_owned();
        let new = found
            .entry((which / INPUTS, which % INPUTS))
            .or_default()
            .insert((v % 1000, t));
        ensure!(new, "a row twice: {line}");
    }
    Ok(found)
}

/// A store in parts that is made while its programs are killed and duplicated.
struct Trial<'r> {
    home: tempfile::TempDir,
    rows: Rows,
    random: &'r mut Random,
    /// The latest time at which programs are killed, in microseconds.
    latest: u64,
    /// Number of programs that were killed or duplicated.
    events: u64,
    /// For each part, the inputs of programs that ended with success; for a part that was written again, only the last one.
    done: Vec<BTreeSet<usize>>,
    /// Whether a program that wrote a part again may have been killed: then the part counts as not finished.
    redone: bool,
}

impl Trial<'_> {
    fn home(&self) -> &Path {
        self.home.path()
    }

    fn moment(&mut self) -> Duration {
        Duration::from_micros(self.random.next(self.latest))
    }

    fn start(&self, words: &[&str]) -> Result<Child> {
        start(self.home(), self.rows, words)
    }

    fn step(&self, words: &[&str]) -> Result<(Option<i32>, String)> {
        end(self.start(words)?)
    }

    /// Begins the store; sometimes after a program that was killed while it did so.
    fn begin(&mut self) -> Result<()> {
        let (path, parts) = (file(0, 0), PARTS.to_string());
        let begin = [path.as_str(), STORE, "--begin", "--parts", parts.as_str()];
        if self.random.next(3) == 0 {
            let mut child = self.start(&begin)?;
            std::thread::sleep(self.moment());
            child.kill()?;
            end(child)?;
            self.events += 1;
        }
        let (code, told) = self.step(&begin)?;
        if code != Some(0) {
            // A program that was killed while it wrote its first file left no marker.
            let (code, again) = self.step(&[&begin[..], &["--clear-leftovers"]].concat())?;
            ensure!(code == Some(0), "begin: {told}; {again}");
        }
        self.done = vec![BTreeSet::new(); PARTS];
        Ok(())
    }

    /// Runs programs concurrently and kills some of them; returns part, input and exit code of each.
    fn run(&mut self, programs: &[(usize, usize)], more: &[&str]) -> Result<Vec<Ended>> {
        let mut running = Vec::new();
        for &(part, input) in programs {
            let (path, name) = (file(part, input), part.to_string());
            let words = [&[path.as_str(), STORE, "--part", &name], more].concat();
            let child = self.start(&words)?;
            let killed = (self.random.next(5) < 2).then(|| self.moment());
            self.events += u64::from(killed.is_some());
            running.push((part, input, killed, child));
        }
        running.sort_by_key(|(_, _, killed, _)| killed.unwrap_or(Duration::MAX));
        let begun = Instant::now();
        let mut ended = Vec::new();
        for (part, input, killed, mut child) in running {
            if let Some(killed) = killed {
                std::thread::sleep(killed.saturating_sub(begun.elapsed()));
                child.kill()?;
            }
            let (code, told) = end(child)?;
            let known = ["with other data", "from another input"];
            match code {
                Some(2) => {
                    let known = known.iter().any(|known| told.contains(known));
                    ensure!(known, "part {part}: {told}");
                }
                Some(0) | None => {}
                Some(code) => anyhow::bail!("part {part}: exit code {code}: {told}"),
            }
            ended.push((part, input, code));
        }
        Ok(ended)
    }

    /// Runs programs for each part until one ends with success.
    fn parts(&mut self) -> Result<()> {
        while self.done.iter().any(BTreeSet::is_empty) {
            let mut programs = Vec::new();
            for part in 0..PARTS {
                let doubled = self.random.next(2) == 0;
                if !self.done[part].is_empty() && !doubled {
                    continue;
                }
                for _ in 0..=u64::from(doubled) {
                    let input = usize::try_from(self.random.next(INPUTS as u64))?;
                    programs.push((part, input));
                }
                self.events += u64::from(doubled);
            }
            for (part, input, code) in self.run(&programs, &[])? {
                if code == Some(0) {
                    self.done[part].insert(input);
                }
            }
            // Finished parts are listed as finished, and a part is finished only if a program can have finished it.
            let status = status(self.home())?;
            for part in 0..PARTS {
                let done = &self.done[part];
                ensure!(
                    done.len() <= 1,
                    "part {part}: {done:?} all ended with success"
                );
                let state = status["parts"][part]["state"]
                    .as_str()
                    .context("no state")?;
                ensure!(
                    state == "finished" || done.is_empty(),
                    "part {part}: {state}"
                );
                if state == "finished" && done.is_empty() {
                    // The program that finished the part was killed before it ended: a second run succeeds only with the same input.
                    for input in 0..INPUTS {
                        let (path, name) = (file(part, input), part.to_string());
                        if self.step(&[&path, STORE, "--part", &name])?.0 == Some(0) {
                            self.done[part].insert(input);
                        }
                    }
                    let done = &self.done[part];
                    ensure!(done.len() == 1, "part {part}: {done:?}");
                }
            }
        }
        Ok(())
    }

    /// Writes a finished part again, from other inputs: the part then has one of these inputs, or the previous one.
    fn redo(&mut self) -> Result<()> {
        let part = usize::try_from(self.random.next(PARTS as u64))?;
        let mut programs = Vec::new();
        for _ in 0..=self.random.next(2) {
            programs.push((part, usize::try_from(self.random.next(INPUTS as u64))?));
        }
        self.events += programs.len() as u64 - 1;
        let ended = self.run(&programs, &["--redo"])?;
        let success = ended.iter().any(|(_, _, code)| *code == Some(0));
        let mut may: BTreeSet<usize> = ended
            .iter()
            .filter(|(_, _, code)| *code != Some(2))
            .map(|(_, input, _)| *input)
            .collect();
        if !success {
            may.extend(&self.done[part]);
        }
        let status = status(self.home())?;
        let counted = status["parts"][part]["finished"]["vertices"].as_u64();
        // Each input has another number of rows.
        let input = usize::try_from(counted.context("no count")?)? - ROWS;
        ensure!(may.contains(&input), "part {part}: {input} of {ended:?}");
        self.done[part] = BTreeSet::from([input]);
        self.redone = true;
        Ok(())
    }

    /// Discards all parts, and begins again.
    fn discard(&mut self) -> Result<()> {
        let discard = ["import", STORE, "--discard-parts"];
        let mut child = command(self.home(), &discard)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        std::thread::sleep(self.moment());
        child.kill()?;
        child.wait()?;
        self.events += 1;
        if self.home().join(STORE).join("zvf-unfinished.json").exists() {
            let ran = zvf_in(self.home(), &discard)?;
            ensure!(ran.code == 0, "discard: {}", ran.stderr);
        }
        // A program that was killed in its last step leaves an empty folder.
        let left = fs::read_dir(self.home().join(STORE));
        let left = left.map_or(0, Iterator::count);
        ensure!(left == 0, "{left} files of discarded parts");
        self.begin()?;
        self.parts()
    }

    /// Runs the commit until the store exists.
    fn commit(&mut self) -> Result<()> {
        let path = file(0, 0);
        let mut commit = vec![path.as_str(), STORE, "--commit"];
        if self.redone {
            commit.push("--allow-missing");
        }
        for tries in 0..20 {
            let mut committers = Vec::new();
            for _ in 0..=self.random.next(2) {
                committers.push(self.start(&commit)?);
            }
            self.events += u64::try_from(committers.len())? - 1;
            if tries < 6 && self.random.next(3) > 0 {
                std::thread::sleep(self.moment());
                committers[0].kill()?;
                self.events += 1;
            }
            let mut codes = Vec::new();
            for child in committers {
                codes.push(end(child)?);
            }
            let there = self.home().join(STORE).join("zarr.json").exists();
            if there && !self.home().join(STORE).join("zvf-unfinished.json").exists() {
                return Ok(());
            }
            let status = status(self.home())?;
            let state = status["state"].as_str().context("no state")?;
            ensure!(
                (state == "committed") == there,
                "{state}, while the root is there: {there}; {codes:?}"
            );
        }
        anyhow::bail!("never committed")
    }

    /// Compares the store with the inputs of its parts.
    fn compare(&self) -> Result<()> {
        let found = rows(self.home())?;
        let mut expected: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (part, done) in self.done.iter().enumerate() {
            let input = *done.first().context("no input")?;
            let rows = (0..ROWS + input).map(|row| (row, text(part, input, row)));
            expected.insert((part, input), rows.collect());
        }
        ensure!(found == expected, "found {found:?}, expected {expected:?}");
        if self.rows == Rows::Lines {
            check_lines(self.home())?;
        }
        let left = fs::read_dir(self.home().join(STORE))?
            .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
            .filter(|name| name.contains("unfinished"))
            .count();
        ensure!(left == 0, "{left} files of parts are left");
        let ran = zvf_in(self.home(), &["validate", STORE, "--level", "5", "--quiet"])?;
        ensure!(ran.code == 0, "validate: {}", ran.stderr);
        Ok(())
    }
}

/// A program that wrote a part: the part, its input, and the exit code, or `None` if it was killed.
type Ended = (usize, usize, Option<i32>);

/// Makes one store; returns how many programs were killed or duplicated.
fn trial(random: &mut Random, usual: Duration) -> Result<u64> {
    let home = tempfile::tempdir()?;
    inputs(home.path())?;
    let rows = match random.next(2) {
        0 => Rows::Points,
        _ => Rows::Lines,
    };
    let micros = u64::try_from(usual.as_micros())?.max(1);
    let mut trial = Trial {
        home,
        rows,
        random,
        latest: micros * 5 / 4,
        events: 0,
        done: Vec::new(),
        redone: false,
    };
    trial.begin()?;
    trial.parts()?;
    if trial.random.next(6) == 0 {
        trial.discard()?;
    }
    while trial.random.next(2) == 0 {
        trial.redo()?;
    }
    trial.commit()?;
    trial.compare()?;
    Ok(trial.events)
}

#[test]
fn kills_and_doublings_leave_whole_parts_of_programs_that_succeeded() -> Result<()> {
    let home = tempfile::tempdir()?;
    inputs(home.path())?;
    let path = file(0, 0);
    let (code, told) = end(start(
        home.path(),
        Rows::Points,
        &[&path, STORE, "--begin"],
    )?)?;
    ensure!(code == Some(0), "{told}");
    let part = Instant::now();
    let words = [&path, STORE, "--part", "0"];
    let (code, told) = end(start(home.path(), Rows::Points, &words)?)?;
    ensure!(code == Some(0), "{told}");
    let usual = part.elapsed();
    let wanted = number("ZVF_PART_TRIALS", u64::from(sample::cases(200, 50)));
    let mut random = Random(number("ZVF_PART_SEED", Sample::new("parts").seed()));
    let mut events = 0;
    while events < wanted {
        let seed = random.0;
        events += trial(&mut random, usual).with_context(|| format!("ZVF_PART_SEED={seed}"))?;
    }
    Ok(())
}

#[test]
fn a_busy_store_has_a_code_of_its_own() -> Result<()> {
    let home = Home::to_damage("streamlines")?;
    let marker = home.file(crate::run::STORE).join("zvf-unfinished.json");
    let held = |length: u64| {
        format!(
            "{{\"details\": {{\"edit\": \"1f\"}}, \"lease_ms\": {length}, \"by\": {{\"host\": \"node7\", \"pid\": 4711, \"since\": 0}}}}"
        )
    };
    fs::write(&marker, held(600_000))?;
    fs::write(home.file("ids.csv"), "object_id,x,y,z\n1,1,1,1\n")?;
    for args in [
        &["append", crate::run::STORE, "ids.csv"][..],
        &["edit", crate::run::STORE, "delete", "0"],
        &["pyramid", crate::run::STORE, "--factors", "2,2,2"],
        &["vacuum", crate::run::STORE],
    ] {
        let ran = home.zvf(args)?;
        ensure!(ran.code == 75, "{args:?}: {} {}", ran.code, ran.stderr);
        for part in ["node7:4711", "1970-01-01T00:00:00Z", "try again"] {
            ensure!(ran.stderr.contains(part), "{args:?}: {}", ran.stderr);
        }
    }
    Ok(())
}

#[test]
fn parts_with_gaps_and_objects_of_their_own_are_one_store() -> Result<()> {
    let home = Home::made(&[
        (
            "../a.csv",
            "x,y,z,t,n,day\n1,1,1,red,1,2024-01-02\n2,2,2,blue,2,2024-01-03\n".into(),
        ),
        (
            "../b.csv",
            "x,y,z,t,n,day\n31,1,1,,,\n32,2,2,,4,2024-01-05\n".into(),
        ),
        ("../c.csv", "x,y,z\n1,1,1\n2,2,2\n".into()),
        ("../d.csv", "x,y,z\n31,1,1\n32,2,2\n".into()),
    ])?;
    let step = |words: &[&str]| home.zvf(&[&["import"], words, &STEPS].concat());
    let done = |words: &[&str]| -> Result<String> {
        let ran = step(words)?;
        ensure!(ran.code == 0, "{words:?}: {}", ran.stderr);
        Ok(ran.stderr)
    };
    // If columns of one part are empty or have gaps, the message names the options that help.
    done(&["a.csv", STORE, "--begin"])?;
    let ran = step(&["b.csv", STORE, "--part", "b"])?;
    ensure!(ran.code == 2, "{}", ran.stderr);
    for word in ["--attribute-type", "--nulls"] {
        ensure!(ran.stderr.contains(word), "{}", ran.stderr);
    }
    fs::remove_dir_all(home.file(STORE))?;
    let same = ["--attribute-type", "t=text", "--nulls", "-1"];
    for words in [
        &["a.csv", STORE, "--begin"][..],
        &["b.csv", STORE, "--part", "b"],
        &["a.csv", STORE, "--part", "a"],
        &["a.csv", STORE, "--commit"],
    ] {
        done(&[words, &same].concat())?;
    }
    // After the commit, the error of another step names the store, and no types.
    for words in [
        &["b.csv", STORE, "--part", "b"][..],
        &["b.csv", STORE, "--commit"],
    ] {
        let ran = step(&[words, &same].concat())?;
        ensure!(ran.code == 2, "{words:?}: {}", ran.stderr);
        ensure!(
            ran.stderr.contains("the store already exists"),
            "{}",
            ran.stderr
        );
        ensure!(!ran.stderr.contains("--nulls"), "{}", ran.stderr);
    }
    let text = home.text(&["query", STORE, "--columns", "t,n,day", "--format", "ndjson"])?;
    let mut rows = BTreeSet::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line)?;
        let text = |name: &str| row[name].as_str().map(str::to_owned);
        rows.insert((row["n"].as_i64(), text("t"), text("day")));
    }
    let text = |text: &str| Some(text.to_owned());
    let wanted = [
        (Some(-1), None, None),
        (Some(1), text("red"), text("2024-01-02")),
        (Some(2), text("blue"), text("2024-01-03")),
        (Some(4), None, text("2024-01-05")),
    ];
    assert_eq!(rows, BTreeSet::from(wanted));
    // The files have no ids, so their objects are numbered from 0: a note says this, and an offset keeps the ids of the parts distinct.
    let lines = ["--kind", "polyline"];
    done(&[&["c.csv", "l.zv", "--begin"][..], &lines].concat())?;
    let told = done(&[&["c.csv", "l.zv", "--part", "c"][..], &lines].concat())?;
    ensure!(told.contains("--id-offset"), "{told}");
    let offset = [
        &["d.csv", "l.zv", "--part", "d", "--id-offset", "7"][..],
        &lines,
    ]
    .concat();
    let told = done(&offset)?;
    ensure!(!told.contains("--id-offset"), "{told}");
    done(&[&["c.csv", "l.zv", "--commit"][..], &lines].concat())?;
    let list = home.json(&["objects", "l.zv", "--json"])?;
    let list = list["objects"].as_array().context("objects")?.clone();
    let ids: Vec<_> = list.iter().map(|one| one["object_id"].as_i64()).collect();
    assert_eq!(ids, [Some(0), Some(7)]);
    Ok(())
}
