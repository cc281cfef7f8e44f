//! `cargo xtask ci`: every check, in the order that fails soonest, with the time of each.

use std::time::Instant;

use crate::{
    Outcome, conformance, demo, dependencies, features, fixtures, history, no_std, sh, targets,
    test, tidy, wheel,
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
        run: features::check,
    },
    Stage {
        name: "no-std",
        run: || no_std::run(&[]),
    },
    Stage {
        name: "targets",
        run: || targets::run(&[]),
    },
    Stage {
        name: "demo",
        run: || demo::run(&[]),
    },
    Stage {
        name: "history",
        run: || history::run(&[]),
    },
    Stage {
        name: "python",
        run: || wheel::run(&[]),
    },
    Stage {
        name: "conformance",
        run: || conformance::run(&["--quick".to_owned()]),
    },
    Stage {
        name: "fixtures",
        run: || fixtures::run(&[]),
    },
    Stage {
        name: "deny",
        run: dependencies::check,
    },
];

/// The stages that ask the program. They take the one that was built with the tests: building it alone would compile most of the
/// workspace a second time. The stage `features` says that the two are the same.
const ASK_ZVF: &[&str] = &["demo", "conformance"];

/// Runs all stages, those from `--from STAGE` on, or `--only STAGE`; `--skip STAGE` leaves one out.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let from: Option<String> = sh::option(arguments, "--from")?;
    let only: Option<String> = sh::option(arguments, "--only")?;
    let skip: Option<String> = sh::option(arguments, "--skip")?;
    for name in [&from, &only, &skip].into_iter().flatten() {
        if !STAGES.iter().any(|stage| stage.name == name) {
            return Err(format!("no stage {name}").into());
        }
    }
    let first = from
        .and_then(|name| STAGES.iter().position(|stage| stage.name == name))
        .unwrap_or(0);
    let mut times = Vec::new();
    for stage in STAGES.iter().skip(first) {
        if only.as_ref().is_some_and(|name| name != stage.name)
            || skip.as_deref() == Some(stage.name)
        {
            continue;
        }
        println!("\n== {}", stage.name);
        let start = Instant::now();
        if ASK_ZVF.contains(&stage.name) && !sh::has_zvf() {
            sh::use_zvf(test::build_zvf()?);
        }
        (stage.run)().map_err(|error| format!("stage {}: {error}", stage.name))?;
        times.push((stage.name, start.elapsed()));
    }
    println!("\nall stages passed");
    for (name, time) in times {
        println!("  {name:<12} {:>7.1} s", time.as_secs_f64());
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
    ]))
}

fn docs() -> Outcome {
    sh::run(sh::cargo().env("RUSTDOCFLAGS", "-D warnings").args([
        "doc",
        "--workspace",
        "--features",
        test::FEATURES,
        "--no-deps",
        "--quiet",
    ]))
}
