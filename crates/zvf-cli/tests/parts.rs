//! `zvf import` in parts: programs that are killed at any moment and begun twice, with other data under one name.
//!
//! Whatever happens, a store that is committed has each part as a whole, as one program wrote it that ended with success.
//! `ZVF_PART_TRIALS` says how many kills and doublings there are at least (200), `ZVF_PART_SEED` which ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::run::{Home, command, zvf_in};

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

/// Tables of the same places with other values, more or fewer rows, and other texts.
fn inputs(home: &Path) -> Result<()> {
    for part in 0..PARTS {
        for input in 0..INPUTS {
            let mut lines = "x,y,z,v,t\n".to_owned();
            for row in 0..ROWS + input {
                let (x, y, z) = (part * 30 + row % 20, row % 9, row / 9);
                let v = (part * INPUTS + input) * 1000 + row;
                writeln!(lines, "{x},{y},{z},{v},{}", text(part, input, row))?;
            }
            fs::write(home.join(file(part, input)), lines)?;
        }
    }
    Ok(())
}

fn start(home: &Path, words: &[&str]) -> Result<Child> {
    let args: Vec<&str> = ["import"]
        .iter()
        .chain(words)
        .chain(&STEPS)
        .copied()
        .collect();
    let mut command = command(home, &args);
    Ok(command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?)
}

/// The exit code of a program, or none if it was killed.
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

/// One store: returns how many programs were killed or doubled.
fn trial(random: &mut Random, usual: Duration) -> Result<u64> {
    let home = tempfile::tempdir()?;
    let home = home.path();
    inputs(home)?;
    let mut events = 0;
    let micros = u64::try_from(usual.as_micros())?.max(1);
    let moment = |random: &mut Random| Duration::from_micros(random.next(micros * 5 / 4));
    let parts = PARTS.to_string();
    let begin = [
        file(0, 0),
        STORE.into(),
        "--begin".into(),
        "--parts".into(),
        parts,
    ];
    let begin: Vec<&str> = begin.iter().map(String::as_str).collect();
    if random.next(3) == 0 {
        let mut child = start(home, &begin)?;
        std::thread::sleep(moment(random));
        child.kill()?;
        end(child)?;
        events += 1;
    }
    let (code, told) = end(start(home, &begin)?)?;
    if code != Some(0) {
        // A program that was killed at its very first file left no marker.
        let cleared: Vec<&str> = begin.iter().copied().chain(["--clear-leftovers"]).collect();
        let (code, again) = end(start(home, &cleared)?)?;
        ensure!(code == Some(0), "begin: {told}; {again}");
    }
    // What ended with success, for each part.
    let mut done: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); PARTS];
    while done.iter().any(BTreeSet::is_empty) {
        let mut running = Vec::new();
        for (part, done) in done.iter().enumerate() {
            let doubled = random.next(2) == 0;
            if !done.is_empty() && !doubled {
                continue;
            }
            for _ in 0..=u64::from(doubled) {
                let input = usize::try_from(random.next(INPUTS as u64))?;
                let (path, name) = (file(part, input), part.to_string());
                let child = start(home, &[&path, STORE, "--part", &name])?;
                let killed = (random.next(5) < 2).then(|| moment(random));
                events += u64::from(killed.is_some());
                running.push((part, input, killed, child));
            }
            events += u64::from(doubled);
        }
        running.sort_by_key(|(_, _, killed, _)| killed.unwrap_or(Duration::MAX));
        let begun = Instant::now();
        for (part, input, killed, mut child) in running {
            if let Some(killed) = killed {
                std::thread::sleep(killed.saturating_sub(begun.elapsed()));
                child.kill()?;
            }
            let (code, told) = end(child)?;
            match code {
                Some(0) => {
                    done[part].insert(input);
                }
                Some(2) => {
                    let known =
                        told.contains("with other data") || told.contains("from another input");
                    ensure!(known, "part {part}: {told}");
                }
                None => {}
                Some(code) => anyhow::bail!("part {part}: exit code {code}: {told}"),
            }
        }
        // Finished parts are listed as such, and no part is finished that has no program which could have done it.
        let status = status(home)?;
        for (part, done) in done.iter_mut().enumerate() {
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
                // The program that finished it was killed before it ended: again, it is success of that input alone.
                for input in 0..INPUTS {
                    let (path, name) = (file(part, input), part.to_string());
                    if end(start(home, &[&path, STORE, "--part", &name])?)?.0 == Some(0) {
                        done.insert(input);
                    }
                }
                ensure!(done.len() == 1, "part {part}: {done:?}");
            }
        }
    }
    let commit = [file(0, 0), STORE.into(), "--commit".into()];
    let commit: Vec<&str> = commit.iter().map(String::as_str).collect();
    let mut tries = 0;
    loop {
        let mut committers = Vec::new();
        for _ in 0..=random.next(2) {
            committers.push(start(home, &commit)?);
        }
        events += u64::try_from(committers.len())? - 1;
        let killed = (tries < 6 && random.next(3) > 0).then(|| moment(random));
        if let Some(killed) = killed {
            std::thread::sleep(killed);
            committers[0].kill()?;
            events += 1;
        }
        let mut codes = Vec::new();
        for child in committers {
            codes.push(end(child)?);
        }
        if home.join(STORE).join("zarr.json").exists()
            && !home.join(STORE).join("zvf-unfinished.json").exists()
        {
            break;
        }
        let (there, status) = (home.join(STORE).join("zarr.json").exists(), status(home)?);
        let state = status["state"].as_str().context("no state")?;
        ensure!(
            (state == "committed") == there,
            "{state}, while the root is there: {there}"
        );
        tries += 1;
        ensure!(tries < 20, "never committed: {codes:?}");
    }
    let found = rows(home)?;
    let mut expected: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (part, done) in done.iter().enumerate() {
        let input = *done.first().context("no input")?;
        let rows = (0..ROWS + input).map(|row| (row, text(part, input, row)));
        expected.insert((part, input), rows.collect());
    }
    ensure!(found == expected, "found {found:?}, expected {expected:?}");
    let left = fs::read_dir(home.join(STORE))?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| name.contains("unfinished"))
        .count();
    ensure!(left == 0, "{left} files of parts are left");
    let ran = zvf_in(home, &["validate", STORE, "--level", "5", "--quiet"])?;
    ensure!(ran.code == 0, "validate: {}", ran.stderr);
    Ok(events)
}

#[test]
fn kills_and_doublings_leave_whole_parts_of_programs_that_succeeded() -> Result<()> {
    let home = tempfile::tempdir()?;
    inputs(home.path())?;
    let begun = Instant::now();
    let path = file(0, 0);
    let (code, told) = end(start(home.path(), &[&path, STORE, "--begin"])?)?;
    ensure!(code == Some(0), "{told}");
    let part = Instant::now();
    let (code, told) = end(start(home.path(), &[&path, STORE, "--part", "0"])?)?;
    ensure!(code == Some(0), "{told}");
    let usual = part.elapsed();
    let wanted = number("ZVF_PART_TRIALS", 200);
    let mut random = Random(number("ZVF_PART_SEED", 37));
    let (mut events, mut stores) = (0, 0);
    while events < wanted {
        let seed = random.0;
        events += trial(&mut random, usual).with_context(|| format!("ZVF_PART_SEED={seed}"))?;
        stores += 1;
    }
    println!(
        "{events} kills and doublings, {stores} stores, {:?}",
        begun.elapsed()
    );
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
        ("../a.csv", "x,y,z,t,n\n1,1,1,red,1\n2,2,2,blue,2\n".into()),
        ("../b.csv", "x,y,z,t,n\n31,1,1,,\n32,2,2,,4\n".into()),
        ("../c.csv", "x,y,z\n1,1,1\n2,2,2\n".into()),
        ("../d.csv", "x,y,z\n31,1,1\n32,2,2\n".into()),
    ])?;
    let step = |words: &[&str]| home.zvf(&[&["import"], words, &STEPS].concat());
    let done = |words: &[&str]| -> Result<String> {
        let ran = step(words)?;
        ensure!(ran.code == 0, "{words:?}: {}", ran.stderr);
        Ok(ran.stderr)
    };
    // Columns that are empty in one part, or have gaps there: the message names what helps.
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
    let text = home.text(&["query", STORE, "--columns", "t,n", "--format", "ndjson"])?;
    let mut rows = BTreeSet::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line)?;
        rows.insert((row["n"].as_i64(), row["t"].as_str().map(str::to_owned)));
    }
    let text = |text: &str| Some(text.to_owned());
    let wanted = [
        (Some(-1), None),
        (Some(1), text("red")),
        (Some(2), text("blue")),
        (Some(4), None),
    ];
    assert_eq!(rows, BTreeSet::from(wanted));
    // Objects that files only number: said, and kept apart by an offset.
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
