//! `cargo xtask bench`: whole jobs beside the Python package and beside the floor.
//!
//! Two processes stay open for the whole run, one in Python and one of ours. Rounds alternate between them, so that both
//! see the same machine; every time is taken inside its process, without start-up. The floor of reading is reading and
//! decompressing the objects that the job needs, with plain file reads on one and on two threads; that of writing is
//! compressing the same cells and creating the same files.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::{Outcome, caterva, python, sh, tet};

/// One job: its name in both processes, what it does, its arguments in each round.
struct Job {
    name: &'static str,
    what: &'static str,
    arguments: fn(u64) -> String,
    /// The package returns more than was asked for (polylines that only share a chunk with the box).
    package_returns_more: bool,
}

const JOBS: &[Job] = &[
    Job {
        name: "object",
        what: "one streamline by id",
        arguments: |round| (1234 + 577 * round).to_string(),
        package_returns_more: false,
    },
    Job {
        name: "points-box",
        what: "1 % box of points",
        arguments: small_box,
        package_returns_more: false,
    },
    Job {
        name: "lines-box",
        what: "1 % box of streamlines, whole lines",
        arguments: small_box,
        package_returns_more: true,
    },
    Job {
        name: "lines-vertices",
        what: "1 % box of streamlines, vertices inside",
        arguments: small_box,
        package_returns_more: true,
    },
    Job {
        name: "points-all",
        what: "all points",
        arguments: |_| String::new(),
        package_returns_more: false,
    },
    Job {
        name: "lines-all",
        what: "all streamlines",
        arguments: |_| String::new(),
        package_returns_more: false,
    },
];

const WRITES: &[Job] = &[
    Job {
        name: "points-write",
        what: "writing 1 000 000 points, bins, two attributes",
        arguments: |_| String::new(),
        package_returns_more: false,
    },
    Job {
        name: "lines-write",
        what: "writing 10 000 streamlines",
        arguments: |_| String::new(),
        package_returns_more: false,
    },
];

const PYRAMIDS: &[Job] = &[Job {
    name: "points-pyramid",
    what: "two coarse levels of 1 000 000 points, linked both ways",
    arguments: |_| String::new(),
    package_returns_more: false,
}];

const VALIDATIONS: &[Job] = &[
    Job {
        name: "points-validate",
        what: "validating 1 000 000 points at level 5",
        arguments: |_| String::new(),
        package_returns_more: false,
    },
    Job {
        name: "lines-validate",
        what: "validating 10 000 streamlines at level 5",
        arguments: |_| String::new(),
        package_returns_more: false,
    },
];

/// A column of a table: which process, which variant, title.
type Column = (Side, &'static str, &'static str);

/// A quotient of two columns, by their titles; of several divisors the least.
type Ratio = (&'static str, &'static str, &'static [&'static str]);

const FLOOR: (&str, &str) = ("floor, 1 thread", "floor, 2 threads");

/// Columns of the jobs that read.
const READING: &[Column] = &[
    (Side::Python, "warm", "Python"),
    (Side::Ours, "warm", "ours"),
    (Side::Ours, "floor1", FLOOR.0),
    (Side::Ours, "floor2", FLOOR.1),
    (Side::Python, "open", "Python with open"),
    (Side::Ours, "open", "ours with open"),
];

const READING_RATIOS: &[Ratio] = &[
    ("Python / ours", "Python", &["ours"]),
    ("with open", "Python with open", &["ours with open"]),
    ("ours / floor", "ours", &[FLOOR.0, FLOOR.1]),
];

/// Columns of the jobs that write. The floor creates the files of the store that lies there, so it comes after ours.
const WRITING: &[Column] = &[
    (Side::Python, "warm", "Python"),
    (Side::Ours, "durable", "ours, synced"),
    (Side::Ours, "warm", "ours"),
    (Side::Ours, "floor1", FLOOR.0),
    (Side::Ours, "floor2", FLOOR.1),
];

/// Columns of the jobs that validate. The floor reads and decompresses every object of the store.
const VALIDATING: &[Column] = &[
    (Side::Python, "warm", "Python"),
    (Side::Ours, "warm", "ours"),
    (Side::Ours, "floor1", FLOOR.0),
    (Side::Ours, "floor2", FLOOR.1),
];

const VALIDATING_RATIOS: &[Ratio] = &[
    ("Python / ours", "Python", &["ours"]),
    ("ours / floor", "ours", &[FLOOR.0, FLOOR.1]),
];

/// Columns of the jobs that add levels. The other method makes other levels, by other rules.
const COARSENING: &[Column] = &[
    (Side::Python, "warm", "Python"),
    (Side::Ours, "warm", "ours"),
];

const COARSENING_RATIOS: &[Ratio] = &[("Python / ours", "Python", &["ours"])];

const WRITING_RATIOS: &[Ratio] = &[
    ("Python / ours", "Python", &["ours"]),
    ("Python / synced", "Python", &["ours, synced"]),
    ("ours / floor", "ours", &[FLOOR.0, FLOOR.1]),
];

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Python,
    Ours,
}

/// A cube of 1 % of the data's volume, at another place each round.
fn small_box(round: u64) -> String {
    let corner = |axis: u64| 2.5 + ((round * 7 + axis * 3) % 15) as f64 * 5.0;
    let low: Vec<String> = (0..3).map(|axis| corner(axis).to_string()).collect();
    let high: Vec<String> = (0..3)
        .map(|axis| (corner(axis) + 21.544).to_string())
        .collect();
    format!("{} {}", low.join(","), high.join(","))
}

/// Runs every job `--rounds N` times (7) on every column, or those whose name contains `--only TEXT`. Jobs
/// that write do so below `--folder PATH` (the target folder). `--check` only compares the counts, on an unoptimised
/// build. `--only tet` is the table of TET beside its reference, and nothing else.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let only: String = sh::option(arguments, "--only")?.unwrap_or_default();
    match only.as_str() {
        "tet" => return tet::bench(arguments),
        "caterva" => return caterva::bench(arguments),
        _ => {}
    }
    let check = sh::flag(arguments, "--check");
    let rounds = if check {
        1
    } else {
        sh::option(arguments, "--rounds")?.unwrap_or(7_u64).max(1)
    };
    let folder = stores()?;
    let (points, lines) = (
        folder.join("points.zarrvectors"),
        folder.join("streamlines.zarrvectors"),
    );
    let mut python = Server::start(python::run("bench_serve.py")?.args([&points, &lines]))?;
    let mut ours = Server::start(sh::command(build(check)?).args([&points, &lines]))?;
    println!(
        "{}; {}; {rounds} rounds, medians, files in the page cache\n",
        python.greeting, ours.greeting
    );

    let written: Option<PathBuf> = sh::option(arguments, "--folder")?;
    let written = written
        .unwrap_or_else(|| sh::target().join("bench"))
        .join("written");
    let tables = [
        (JOBS, READING, READING_RATIOS),
        (WRITES, WRITING, WRITING_RATIOS),
        (PYRAMIDS, COARSENING, COARSENING_RATIOS),
        (VALIDATIONS, VALIDATING, VALIDATING_RATIOS),
    ];
    for (jobs, columns, ratios) in tables {
        let mut lines = Vec::new();
        for job in jobs.iter().filter(|job| job.name.contains(&only)) {
            lines.push(measure(
                job,
                columns,
                rounds,
                &written,
                &mut python,
                &mut ours,
            )?);
        }
        if !lines.is_empty() {
            print_table(&lines, columns, ratios);
        }
    }
    Ok(())
}

/// Medians of one job, one a column, in nanoseconds.
struct Line {
    what: &'static str,
    vertices: u64,
    medians: Vec<u64>,
}

fn measure(
    job: &Job,
    columns: &[Column],
    rounds: u64,
    written: &Path,
    python: &mut Server,
    ours: &mut Server,
) -> Outcome<Line> {
    let mut times = vec![Vec::new(); columns.len()];

    let mut vertices = 0;
    // Round 0 warms the page cache, compares the counts and is not counted.
    for round in 0..=rounds {
        let mut arguments = (job.arguments)(round);
        if job.name.ends_with("-write") || job.name.ends_with("-pyramid") {
            arguments = written.display().to_string();
        }
        let mut counts = [None, None];
        for (column, (side, variant, _)) in columns.iter().enumerate() {
            let server = if *side == Side::Python {
                &mut *python
            } else {
                &mut *ours
            };
            // The package has no selection of single vertices: it gives whole lines either way.
            let name = if *side == Side::Python && job.name == "lines-vertices" {
                "lines-box"
            } else {
                job.name
            };
            let (nanoseconds, count) = server.ask(&format!("{name} {variant} {arguments}"))?;
            if round > 0 {
                times[column].push(nanoseconds);
            }
            if !variant.starts_with("floor") {
                counts[usize::from(*side == Side::Ours)] = Some(count);
            }
        }
        if let [Some(theirs), Some(found)] = counts {
            let agree = if job.package_returns_more {
                theirs >= found
            } else {
                theirs == found
            };
            if !agree {
                return Err(format!(
                    "{}: the package finds {theirs} vertices, we find {found}",
                    job.what
                )
                .into());
            }
            vertices = found;
        }
    }
    Ok(Line {
        what: job.what,
        vertices,
        medians: times.iter_mut().map(|times| median(times)).collect(),
    })
}

fn median(times: &mut [u64]) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}

fn print_table(lines: &[Line], columns: &[Column], ratios: &[Ratio]) {
    print!("| job | vertices |");
    columns
        .iter()
        .for_each(|(_, _, title)| print!(" {title} |"));
    ratios.iter().for_each(|(title, ..)| print!(" {title} |"));
    println!(
        "\n|---|---:|{}",
        "---:|".repeat(columns.len() + ratios.len())
    );
    for line in lines {
        let at = |title: &str| {
            let column = columns.iter().position(|(_, _, found)| *found == title);
            column
                .and_then(|column| line.medians.get(column))
                .map_or(f64::NAN, |time| *time as f64)
        };
        print!("| {} | {} |", line.what, line.vertices);
        line.medians
            .iter()
            .for_each(|time| print!(" {} |", duration(*time)));
        for (_, top, below) in ratios {
            let least = below.iter().map(|title| at(title)).fold(f64::MAX, f64::min);
            print!(" {:.2} |", at(top) / least);
        }
        println!();
    }
    println!();
}

fn duration(nanoseconds: u64) -> String {
    let micros = nanoseconds as f64 / 1e3;
    if micros < 1e3 {
        format!("{micros:.0} µs")
    } else {
        format!("{:.2} ms", micros / 1e3)
    }
}

/// The stores, made once and kept below the target folder.
fn stores() -> Outcome<PathBuf> {
    let folder = sh::target().join("bench").join("stores-3");
    let done = folder.join("done");
    if !done.is_file() {
        println!("writing the stores (1 000 000 points, 10 000 streamlines)");
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        sh::run(python::run("bench_make.py")?.arg(&folder))?;
        std::fs::write(done, "")?;
    }
    Ok(folder)
}

/// Builds the benchmark program and returns its path.
fn build(check: bool) -> Outcome<PathBuf> {
    let mut command = sh::cargo();
    command.args(["build", "--quiet", "--package", "zvf-bench"]);
    if !check {
        command.arg("--release");
    }
    sh::run(&mut command)?;
    let profile = if check { "debug" } else { "release" };
    Ok(sh::target()
        .join(profile)
        .join(format!("zvf-bench{}", std::env::consts::EXE_SUFFIX)))
}

/// A process that answers one line with one line.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    greeting: String,
}

impl Server {
    fn start(command: &mut Command) -> Outcome<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("no stdin")?;
        let output = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        let program = Path::new(command.get_program())
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let mut server = Self {
            child,
            input,
            output,
            greeting: String::new(),
        };
        server.greeting = format!("{program} {}", server.line()?);
        Ok(server)
    }

    fn line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(format!("a benchmark process ended: {:?}", self.child.wait()?).into());
        }
        Ok(line.trim().to_owned())
    }

    /// Sends a job; returns nanoseconds and vertices.
    fn ask(&mut self, job: &str) -> Outcome<(u64, u64)> {
        writeln!(self.input, "{job}")?;
        self.input.flush()?;
        let answer = self.line()?;
        let (time, count) = answer
            .split_once(' ')
            .ok_or_else(|| format!("{job}: {answer}"))?;
        Ok((time.parse()?, count.parse()?))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended by itself; there is nothing to say about it then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
