//! `cargo xtask ci`: every check, in the order that fails soonest, with the time of each.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Child;

use crate::{
    Outcome, browser, conformance, cortex_m, demo, dependencies, features, fixtures, history,
    no_std, package, pictures, release, semver, sh, site, stages, targets, tasks, test, tet, tidy,
    wheel,
};

/// One stage of CI.
struct Stage {
    name: &'static str,
    run: fn() -> Outcome,
}

const STAGES: &[Stage] = &[
    Stage {
        name: "tidy",
        run: || tidy::run(&[]),
    },
    Stage {
        name: "fmt",
        run: fmt,
    },
    Stage {
        name: "deny",
        run: || dependencies::check().and_then(|()| release::check_notice()),
    },
    Stage {
        name: "test",
        run: || test::run(&[]),
    },
    Stage {
        name: "clippy",
        run: clippy,
    },
    Stage {
        name: "docs",
        run: docs,
    },
    Stage {
        name: "features",
        run: || features::run(&[]),
    },
    Stage {
        name: "no-std",
        run: || no_std::run(&[]),
    },
    Stage {
        name: "cortex-m",
        run: || cortex_m::run(&[]),
    },
    Stage {
        name: "targets",
        run: || targets::run(&[]),
    },
    Stage {
        name: "package",
        run: || package::run(&[]),
    },
    Stage {
        name: "demo",
        run: || demo::run(&[]),
    },
    Stage {
        name: "pictures",
        run: || pictures::run(&["--check".to_owned()]),
    },
    Stage {
        name: "history",
        run: || history::run(&["--operations", "8000"].map(str::to_owned)),
    },
    Stage {
        name: "python",
        run: || wheel::run(&[]),
    },
    Stage {
        name: "tasks",
        run: || tasks::run(&[]),
    },
    Stage {
        name: "site",
        run: || site::run(&[]),
    },
    Stage {
        name: "conformance",
        run: || conformance::run(&["--quick".to_owned()]),
    },
    Stage {
        name: "browser",
        run: || browser::run(&[]),
    },
    Stage {
        name: "fixtures",
        run: || fixtures::run(&[]),
    },
];

/// What a submission does not wait for: all cases of the tests of which [`STAGES`] try a part, and what only new dependencies, other
/// machines or many hours bring to light. Each is a task of its own.
const WEEKLY: &[Stage] = &[
    Stage {
        name: "test-whole",
        run: || task(&["test", "--whole"]),
    },
    Stage {
        name: "conformance-whole",
        run: || task(&["conformance"]),
    },
    Stage {
        name: "history-whole",
        run: || task(&["history"]),
    },
    Stage {
        name: "features-whole",
        run: || task(&["features", "--whole"]),
    },
    Stage {
        name: "targets-whole",
        run: || task(&["targets", "--all"]),
    },
    Stage {
        name: "big-endian",
        run: || task(&["targets", "--tests"]),
    },
    Stage {
        name: "minimal-versions",
        run: || task(&["minimal"]),
    },
    Stage {
        name: "msrv-all",
        run: || task(&["msrv", "--all"]),
    },
    Stage {
        name: "package-all",
        run: || task(&["package", "--all"]),
    },
    Stage {
        name: "semver",
        run: semver::of_last_release,
    },
    Stage {
        name: "size",
        run: size,
    },
    Stage {
        name: "wasm",
        run: || task(&["wasm"]),
    },
    Stage {
        name: "soak",
        run: || task(&["soak", "--minutes", "60"]),
    },
    Stage {
        name: "peers",
        run: || task(&["peers"]),
    },
];

/// The stages that ask the program. They take the one that was built with the tests: building it alone would compile most of the
/// workspace a second time. The stage `features` says that the two are the same.
const ASK_ZVF: &[&str] = &["demo", "pictures", "browser", "conformance"];

/// These stages mostly wait for a browser and for programs in Python, which use one core. A process of its own runs one after the other, while this
/// one runs the stages from [`FROM`] on. In [`STAGES`] nothing stands between them.
const BESIDE: &[&str] = &["conformance", "browser"];

/// The stages of [`BESIDE`] start together with this one.
const FROM: &str = "clippy";

/// Stages that run beside others; what they say goes to a file.
struct Beside {
    child: Child,
    log: PathBuf,
}

impl Beside {
    fn start(stages: &[&str], times: &Path) -> Outcome<Self> {
        let stages = stages.join(",");
        let log = sh::target().join(format!("{stages}.log"));
        let file = File::create(&log)?;
        let mut command = sh::command(std::env::current_exe()?);
        command.args(["ci", "--only", &stages]);
        command.env(stages::FILE, times);
        command.stdout(file.try_clone()?).stderr(file);
        Ok(Self {
            child: sh::in_group(&mut command).spawn()?,
            log,
        })
    }

    /// Waits for their end and prints what they said.
    fn finish(mut self) -> Outcome {
        let status = self.child.wait()?;
        print!("{}", std::fs::read_to_string(&self.log)?);
        match status.success() {
            true => Ok(()),
            false => Err(format!("ended with {status}").into()),
        }
    }
}

impl Drop for Beside {
    /// Another stage failed: it is not waited for.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            sh::end_group(self.child.id());
        }
    }
}

/// Another task of this program, in a process of its own.
fn task(words: &[&str]) -> Outcome {
    sh::run(sh::command(std::env::current_exe()?).args(words))
}

/// Most bytes of the program that users install.
const LARGEST: u64 = 45_000_000;

/// Builds the program as users get it, which may not be larger than [`LARGEST`].
fn size() -> Outcome {
    sh::run(sh::cargo().args(["build", "--quiet", "--release", "--package", "zvf-cli"]))?;
    let bytes = sh::release("zvf").metadata()?.len();
    println!("zvf has {bytes} bytes, at most {LARGEST} are allowed");
    match bytes > LARGEST {
        true => Err("the program is larger than it may be".into()),
        false => Ok(()),
    }
}

/// Runs the stages of a lane, those from `--from STAGE` on, or `--only STAGE,…`; `--skip STAGE,…` leaves some out. The lane is what a
/// submission needs, or that of `--lane weekly`.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let options = ["--lane", "--from", "--only", "--skip"].map(|name| (name, 2));
    if let Some(other) = sh::without(arguments, &options).first() {
        return Err(format!("found {other}; `cargo xtask ci --help` lists the options").into());
    }
    let lane: Option<String> = sh::option(arguments, "--lane")?;
    let weekly = match lane.as_deref() {
        Some("weekly") => true,
        None | Some("submission") => false,
        Some(other) => {
            return Err(format!("no lane {other}: there are submission and weekly").into());
        }
    };
    let (lane, other) = match weekly {
        true => (WEEKLY, STAGES),
        false => (STAGES, WEEKLY),
    };
    let from: Option<String> = sh::option(arguments, "--from")?;
    let only: Option<String> = sh::option(arguments, "--only")?;
    let skip: Option<String> = sh::option(arguments, "--skip")?;
    let names = |list: &Option<String>| -> Vec<String> {
        let list = list.iter().flat_map(|list| list.split(','));
        list.map(str::to_owned).collect()
    };
    let (some, without) = (names(&only), names(&skip));
    for name in from.iter().chain(&some).chain(&without) {
        if !lane.iter().any(|stage| stage.name == name) {
            return Err(format!("no stage {name} in this lane").into());
        }
    }
    let first = from
        .and_then(|name| lane.iter().position(|stage| stage.name == name))
        .unwrap_or(0);
    let wanted = |name: &str| {
        let asked = only.is_none() || some.iter().any(|one| one == name);
        asked && !without.iter().any(|one| one == name)
    };
    let of_another = stages::given().is_some() && only.is_some();
    let times = stages::file()?;
    let chosen = lane.iter().skip(first).filter(|stage| wanted(stage.name));
    let beside = BESIDE
        .iter()
        .copied()
        .filter(|name| !weekly && wanted(name));
    let done = run_stages(chosen, &beside.collect::<Vec<_>>(), of_another, &times);
    if !of_another {
        if done.is_ok() {
            println!("\nall stages passed");
        }
        let names: Vec<&str> = other.iter().map(|stage| stage.name).collect();
        let (this, that) = if weekly {
            ("weekly", "submission")
        } else {
            ("submission", "weekly")
        };
        println!(
            "this was the lane {this}; not run: the lane {that} ({})",
            names.join(", ")
        );
        println!("{}", times.display());
        print!("{}", stages::table(&std::fs::read_to_string(&times)?));
    }
    done
}

/// Runs stages, and adds to a file what each took. `of_another` says that a stage runs beside those of another command.
fn run_stages<'a>(
    chosen: impl Iterator<Item = &'a Stage>,
    aside: &[&str],
    of_another: bool,
    times: &Path,
) -> Outcome {
    let mut beside = None;
    let mut ran: &[&str] = &[];
    for stage in chosen {
        if stage.name == FROM && !aside.is_empty() {
            beside = Some(Beside::start(aside, times)?);
            ran = aside;
        }
        if beside.is_none() && ran.contains(&stage.name) {
            continue;
        }
        println!("\n== {}", stage.name);
        let running = stages::Running::start()?;
        if ASK_ZVF.contains(&stage.name) && !sh::has_zvf() {
            sh::use_zvf(test::build_zvf()?);
        }
        let started = beside.take_if(|_| ran.contains(&stage.name));
        let name = match (&started, of_another) {
            (Some(_), _) => format!("{}, waiting", ran.join(" and ")),
            (None, true) => format!("{}{}", stage.name, stages::BESIDE),
            (None, false) => stage.name.to_owned(),
        };
        let done = started.map_or_else(stage.run, Beside::finish);
        running.end(times, &name)?;
        done.map_err(|error| format!("stage {}: {error}", stage.name))?;
    }
    Ok(())
}

fn fmt() -> Outcome {
    sh::run(sh::cargo().args(["fmt", "--all", "--check"]))
}

fn clippy() -> Outcome {
    sh::run(sh::cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--features",
        test::FEATURES,
        "--quiet",
        "--",
        "-D",
        "warnings",
    ]))?;
    // A change of a crate's interface or dependencies shows here, not an hour later or only in the weekly lane.
    for outside in ["cortex-m", "no-std-probe", "tetration", "wasm"] {
        let mut locked = sh::cargo();
        locked.current_dir(sh::root().join("xtask").join(outside));
        locked.args(["update", "--workspace", "--locked", "--quiet"]);
        sh::run(&mut locked).map_err(|error| format!("xtask/{outside}/Cargo.lock: {error}"))?;
    }
    tet::clippy()
}

fn docs() -> Outcome {
    // The functions of the extension are documented in Python.
    sh::run(sh::cargo().env("RUSTDOCFLAGS", "-D warnings").args([
        "doc",
        "--workspace",
        "--exclude",
        "zvf-python",
        "--features",
        test::FEATURES,
        "--no-deps",
        "--quiet",
    ]))
}
