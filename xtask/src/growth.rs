//! `cargo xtask growth`: what questions and changes cost in stores of growing size, when the density and the answers stay the same.

mod data;
mod far;
mod measure;
mod report;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::{Outcome, sh};
use data::{Data, Kind};
use far::Distance;
use measure::{Program, size};
use report::Row;

/// Vertices of the smallest stores; each next one has ten times as many.
const LEAST: u64 = 100_000;

/// Edge of the box that is asked for; at one vertex a unit of volume, it holds some 10,000.
const BOX: f64 = 21.5;

/// Objects that are asked for together.
const SCATTERED: u64 = 200;

/// Measures the kinds of `--kinds A,B` (all) up to `--max N` (1,000,000) vertices, each question `--times N` (3) times; with `--remote` also
/// through a server that is `--ms N` (30) away, at `--mbs N` (50) MB/s a connection. `--questions` leaves out validation, edits and coarse
/// levels. `--import WORDS` adds options to every import. `--zvf FILE` takes a program that was built before, else the release program is
/// built. Writes `growth.csv`, `growth.md` and `growth.svg` to `--out DIR`, else below the target folder.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if !cfg!(target_os = "linux") {
        return Err("the peak of a process is only known in KiB on Linux".into());
    }
    let most = sh::option(arguments, "--max")?.unwrap_or(1_000_000_u64);
    let kinds: Option<String> = sh::option(arguments, "--kinds")?;
    let kinds = match &kinds {
        None => Kind::ALL.to_vec(),
        Some(names) => {
            let find = |name: &str| Kind::ALL.into_iter().find(|kind| kind.name() == name);
            let kinds = names
                .split(',')
                .map(|name| find(name).ok_or_else(|| format!("no kind {name}")));
            kinds.collect::<Result<_, _>>()?
        }
    };
    let zvf = match sh::option::<String>(arguments, "--zvf")? {
        Some(program) => std::path::absolute(program)?,
        None => {
            sh::run(
                sh::cargo()
                    .args(sh::BUILD_ZVF)
                    .args(["--release", "--quiet"]),
            )?;
            sh::release("zvf")
        }
    };
    let folder = sh::target().join("growth");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let out = match sh::option::<String>(arguments, "--out")? {
        Some(out) => std::path::absolute(out)?,
        None => sh::target().join("growth-report"),
    };
    std::fs::create_dir_all(&out)?;
    let remote = sh::flag(arguments, "--remote");
    let (ms, mbs) = (
        sh::option(arguments, "--ms")?.unwrap_or(30_u64),
        sh::option(arguments, "--mbs")?.unwrap_or(50_u64),
    );
    let trials = Trials {
        changes: !sh::flag(arguments, "--questions"),
        program: Program {
            zvf,
            trace: folder.join("trace.ndjson"),
        },
        folder: folder.clone(),
        import: sh::option::<String>(arguments, "--import")?
            .map(|words| words.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default(),
        times: sh::option(arguments, "--times")?.unwrap_or(3_u32).max(1),
        distance: remote.then(|| Distance {
            latency: Duration::from_millis(ms),
            bandwidth: mbs as f64 * 1e6,
        }),
    };
    let mut rows = Vec::new();
    for kind in kinds {
        let sizes = std::iter::successors(Some(LEAST), |size| size.checked_mul(10));
        for vertices in sizes.take_while(|size| *size <= most) {
            println!("{} {vertices}", kind.name());
            trials.store(Data::new(kind, vertices), vertices, &mut rows)?;
            // What was measured stays if a later store fails.
            report::write(&out, &rows)?;
        }
    }
    std::fs::remove_dir_all(&folder)?;
    print!("{}", report::table(&rows));
    println!("{}", out.display());
    Ok(())
}

/// What all stores have in common.
struct Trials {
    program: Program,
    folder: PathBuf,
    times: u32,
    /// Options of every import.
    import: Vec<String>,
    /// Whether stores are also validated and changed.
    changes: bool,
    distance: Option<Distance>,
}

impl Trials {
    /// Makes one store, measures it, and removes it.
    fn store(&self, data: Data, vertices: u64, rows: &mut Vec<Row>) -> Outcome {
        let kind = data.kind;
        let store = self.folder.join("store.zv");
        let path = |path: &Path| path.display().to_string();
        let mut add = |place: &'static str, job, cost, answer: (u64, Option<u64>)| -> Outcome {
            let (files, stored) = size(&store)?;
            rows.push(Row {
                kind: kind.name(),
                vertices,
                place,
                job,
                cost,
                answer,
                files,
                stored,
            });
            Ok(())
        };
        let files = self.folder.join("files");
        std::fs::create_dir_all(&files)?;
        let mut import = data.write(&files)?;
        import.insert(0, "import".to_owned());
        import.insert(2, path(&store));
        import.extend(self.import.iter().cloned());
        add("local", "import", self.program.traced(&import)?, (0, None))?;
        let questions = questions(data);
        for (job, question) in &questions {
            let words = with_store(question, &path(&store));
            let answer = match job {
                &"open" => (0, None),
                _ => self.program.answer(&words)?,
            };
            add(
                "local",
                job,
                self.program.lowest(&shown(job, words), self.times)?,
                answer,
            )?;
        }
        if let Some(distance) = self.distance {
            let mut server = Server::start(&self.program.zvf, &store, distance)?;
            let asked = questions.iter().try_for_each(|(job, question)| {
                let words = shown(job, with_store(question, &server.url));
                let cost = self.program.lowest(&words, self.times)?;
                add("remote", job, cost, (0, None))
            });
            server.child.kill()?;
            server.child.wait()?;
            asked?;
        }
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let place = path(&store);
        let append = [words(&["append", &place]), data.write_next(&files)?].concat();
        let delete = match kind.has_objects() {
            true => words(&["edit", &place, "delete", &(data.objects() / 2).to_string()]),
            false => {
                let small = cube(data.edge(), 1.0);
                words(&["edit", &place, "delete", &format!("--bbox={small}")])
            }
        };
        let changes = [
            ("validate", words(&["validate", &place])),
            ("append one", append),
            ("delete one", delete),
            ("pyramid", words(&["pyramid", &place])),
        ];
        for (job, words) in changes.into_iter().filter(|_| self.changes) {
            add("local", job, self.program.traced(&words)?, (0, None))?;
        }
        std::fs::remove_dir_all(&files)?;
        Ok(std::fs::remove_dir_all(&store)?)
    }
}

/// The questions; STORE stands for the address.
fn questions(data: Data) -> Vec<(&'static str, Vec<String>)> {
    let bbox = format!("--bbox={}", cube(data.edge(), BOX));
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut all = vec![
        ("open", words(&["info", "STORE"])),
        ("box, rows", words(&["query", "STORE", &bbox])),
    ];
    if data.kind.has_objects() {
        let objects = data.objects();
        let count = SCATTERED.min(objects);
        let ids = (0..count).map(|one| (one * objects / count).to_string());
        let ids = ids.collect::<Vec<_>>();
        all.extend([
            (
                "box, objects",
                words(&["query", "STORE", &bbox, "--select", "objects"]),
            ),
            (
                "one object",
                words(&["get", "STORE", &(objects / 3).to_string()]),
            ),
            ("200 objects", [words(&["get", "STORE"]), ids].concat()),
        ]);
    }
    all
}

fn with_store(question: &[String], store: &str) -> Vec<String> {
    let put = |word: &String| match &**word {
        "STORE" => store.to_owned(),
        _ => word.clone(),
    };
    question.iter().map(put).collect()
}

/// The question with its answer as a table, as programs read it; `info` has no table.
fn shown(job: &str, mut words: Vec<String>) -> Vec<String> {
    if job != "open" {
        words.extend(["--format", "arrow"].map(str::to_owned));
    }
    words
}

/// A cube of this edge in the middle of the data.
fn cube(edge: f64, side: f64) -> String {
    let (low, high) = ((edge - side) / 2.0, (edge + side) / 2.0);
    format!("{low},{low},{low}:{high},{high},{high}")
}

/// `zvf serve` behind a distance.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(zvf: &Path, store: &Path, distance: Distance) -> Outcome<Self> {
        let mut command = sh::command(zvf);
        command.arg("serve").arg(store).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let mut line = String::new();
        let said = child.stdout.take().ok_or("no output of the server")?;
        BufReader::new(said).read_line(&mut line)?;
        let address = line.trim().rsplit("http://").next().unwrap_or_default();
        let address = far::start(address.trim_end_matches('/'), distance)?;
        Ok(Self {
            child,
            url: format!("http://{address}/store/store"),
        })
    }
}
