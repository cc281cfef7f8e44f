//! Everything that is not the product: tests, checks, fixtures, conformance, benchmarks.
//!
//! `cargo xtask` lists the tasks. A task is a function in a file of its own and a line in `TASKS`; CI calls
//! these tasks and nothing else, so that a failure repeats on any machine.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tasks talk to the person at the terminal"
)]

mod accelerate;
mod against;
mod badstores;
mod bench;
mod browser;
mod caterva;
mod ci;
mod conformance;
mod cortex_m;
mod cost;
mod cycles;
mod damage;
mod demo;
mod dependencies;
mod features;
mod fixtures;
mod fuzz;
mod growth;
mod history;
mod install;
mod latency;
mod levels;
mod links;
mod lock;
mod memory;
mod messages;
mod minimal;
mod msrv;
mod mutants;
mod no_std;
mod package;
mod packages;
mod peers;
mod pictures;
mod published;
mod python;
mod release;
mod sbom;
mod scratch;
mod semver;
mod sh;
mod site;
mod soak;
mod stages;
mod targets;
mod tasks;
mod test;
mod tet;
mod tidy;
mod timings;
mod tools;
mod viewer;
mod wasm;
mod wheel;

use std::process::ExitCode;

/// What a task returns; the message is for a person.
type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// One task.
struct Task {
    name: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Outcome,
}

const TASKS: &[Task] = &[
    Task {
        name: "demo",
        help: "opens a real neuron and a real tractogram from bundled data",
        run: demo::run,
    },
    Task {
        name: "pictures",
        help: "makes the pictures in docs/pictures from bundled data; with --check compares them with those that are there",
        run: pictures::run,
    },
    Task {
        name: "test",
        help: "runs every test of the workspace, doc tests and tests against real servers included [-p CRATE] [--timings] [--whole] [--seed N] [--jobs N] [-- FILTER]",
        run: test::run,
    },
    Task {
        name: "minimal",
        help: "checks the workspace with the oldest version of each dependency that its Cargo.toml allows",
        run: minimal::run,
    },
    Task {
        name: "no-std",
        help: "builds and links the bare-metal probe, reports its code size",
        run: no_std::run,
    },
    Task {
        name: "cortex-m",
        help: "firmware that decodes a chunk from flash: its size, and its run under QEMU",
        run: cortex_m::run,
    },
    Task {
        name: "wasm",
        help: "a page in WebAssembly that reads a store: the size of its module, and its rows in Chromium beside those of zvf query",
        run: wasm::run,
    },
    Task {
        name: "features",
        help: "compares the features of the program and of the wheel with those of the tests, and checks crates with fewer features: a third of the sets, by the day [--whole] [--seed N]",
        run: features::run,
    },
    Task {
        name: "targets",
        help: "checks the crates for big-endian and wasm32 targets, with --all for 32-bit x86, too; --tests runs the tests of the codecs on a big-endian machine",
        run: targets::run,
    },
    Task {
        name: "msrv",
        help: "checks the crates with the oldest Rust that they promise: those that promise an older one than the workspace, or [--all]",
        run: msrv::run,
    },
    Task {
        name: "package",
        help: "packs the crates as crates.io would get them, and compiles the examples of their READMEs with the packages alone: those of small crates, or [--all]",
        run: package::run,
    },
    Task {
        name: "fixtures",
        help: "writes the bundled stores again from their input or seed and compares; with `write` keeps the made ones",
        run: fixtures::run,
    },
    Task {
        name: "conformance",
        help: "stores of two releases of the Python package, read by us, and ours, read by it [--written|--edited|--matched|--migrated|--pyramids|--sampled|--frames|--files|--tet|--caterva] [--seed N] [--stores N] [--quick]",
        run: conformance::run,
    },
    Task {
        name: "badstores",
        help: "stores that are broken on purpose [--out DIR] [--random N] [--seed S]; how many the validator finds [--detect N] [--python]",
        run: badstores::run,
    },
    Task {
        name: "damage",
        help: "members of documents removed, changed and contradicted: what every read gives then [--cases N] [--seed S]",
        run: damage::run,
    },
    Task {
        name: "bench",
        help: "whole jobs beside the Python package and the floor [--rounds N] [--check] [--only tet|caterva]",
        run: bench::run,
    },
    Task {
        name: "against",
        help: "the same jobs by two builds of the program in turn: OLD [NEW] [--rounds N] [--only NAME] [--small] [--bar PERCENT]",
        run: against::run,
    },
    Task {
        name: "peers",
        help: "points, streamlines, meshes and skeletons by the Python package and by what users would pick instead [--scale S] [--rounds N] [--only points|lines|precomputed] [--without PEER] [--wheel FILE] [--debug]",
        run: peers::run,
    },
    Task {
        name: "memory",
        help: "the most memory that full scans, coarse levels, copies and edits of large stores take [--small] [--debug]",
        run: memory::run,
    },
    Task {
        name: "levels",
        help: "coarse levels of large datasets: time, memory, files, and how alike they look [--small] [--debug] [--only NAME]",
        run: levels::run,
    },
    Task {
        name: "growth",
        help: "imports, questions, edits and coarse levels of stores of growing size: what they cost, how that grows, as tables and curves [--max N] [--kinds points,lines,skeletons,meshes,graphs] [--remote [--ms N] [--mbs N]] [--times N] [--questions] [--import WORDS] [--zvf FILE] [--out DIR]",
        run: growth::run,
    },
    Task {
        name: "latency",
        help: "a cold 1 % box from a bucket whose every request waits [--ms N] [--rounds N]",
        run: latency::run,
    },
    Task {
        name: "tasks",
        help: "the examples of docs/tasks in the shell, Python and Rust, which print the same [--write]",
        run: tasks::run,
    },
    Task {
        name: "history",
        help: "readers, writers, editors and vacuums in many processes, with faults and kills: whether what they saw can be [--operations N] [--seconds T] [--seed S]",
        run: history::run,
    },
    Task {
        name: "soak",
        help: "many processes edit, query, validate, import and serve many stores, with faults, kills, full disks and clock jumps, against a model [--minutes M] [--hours H] [--operations N] [--seed S] [--workers W] [--zvf FILE]",
        run: soak::run,
    },
    Task {
        name: "fuzz",
        help: "runs fuzz targets [TARGET] [--seconds N]",
        run: fuzz::run,
    },
    Task {
        name: "mutants",
        help: "faults in a copy of the sources, and whether the tests find them [--sample N] [--seed S] [--crates A,B] [--list]",
        run: mutants::run,
    },
    Task {
        name: "semver",
        help: "what published crates lost or changed since the last tag v*, by cargo-semver-checks [--against COMMIT] [--crates A,B]",
        run: semver::run,
    },
    Task {
        name: "timings",
        help: "what building costs from an empty target folder [demo|tests|install|CRATE …]",
        run: timings::run,
    },
    Task {
        name: "accelerate",
        help: "the tests of the released Python package, without and with its hot functions answered by ours [--release] [-- PYTEST]",
        run: accelerate::run,
    },
    Task {
        name: "python",
        help: "builds the Python package, installs it into a fresh environment and runs its tests [--release] [--build] [--all] [-- PYTEST ARGUMENTS]",
        run: wheel::run,
    },
    Task {
        name: "browser",
        help: "what `zvf serve` sends, drawn by Neuroglancer in Chromium and read by cloud-volume and the neuroglancer package; `zvf import` of precomputed folders of cloud-volume [--no-browser] [--picture FILE] [--page FILE]",
        run: browser::run,
    },
    Task {
        name: "viewer",
        help: "builds Neuroglancer from npm, for a `zvf` with the feature `viewer`: `cargo build -p zvf-cli --features viewer` embeds it",
        run: viewer::run,
    },
    Task {
        name: "lock",
        help: "requirements.lock of the Python packages, made again from requirements.txt [--upgrade]",
        run: lock::run,
    },
    Task {
        name: "release",
        help: "tries a release on this machine: versions, changelog, NOTICE, packages, archive, SBOM and installer of the program, wheel [--rehearse VERSION [--quick]] [--archive] [--notice]",
        run: release::run,
    },
    Task {
        name: "site",
        help: "the pages of the documentation as a site with search, by mdBook",
        run: site::run,
    },
    Task {
        name: "tidy",
        help: "checks what no compiler checks",
        run: tidy::run,
    },
    Task {
        name: "messages",
        help: "every message of the product crates with its file and line, or those of [CRATE …]",
        run: messages::run,
    },
    Task {
        name: "ci",
        help: "every check that CI makes, in its order, and what each took [--lane submission|weekly] [--from STAGE] [--only STAGE,…] [--skip STAGE,…]",
        run: ci::run,
    },
];

fn main() -> ExitCode {
    if let Some(code) = cost::stand_in() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        help();
        return ExitCode::SUCCESS;
    };
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprintln!("no task {name}");
        help();
        return ExitCode::from(2);
    };
    if rest.iter().any(|argument| argument == "--help") {
        println!("cargo xtask {name}: {}", task.help);
        return ExitCode::SUCCESS;
    }
    match run(task, rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a task. If it is one of the commands of CI, its costs are added to the table; the stages of `ci` do so themselves.
fn run(task: &Task, arguments: &[String]) -> Outcome {
    let Some(file) = stages::given().filter(|_| task.name != "ci") else {
        return (task.run)(arguments);
    };
    let running = stages::Running::start()?;
    let done = (task.run)(arguments);
    running.end(&file, task.name).and(done)
}

fn help() {
    println!("cargo xtask TASK\n");
    for task in TASKS {
        println!("  {:<12} {}", task.name, task.help);
    }
}
