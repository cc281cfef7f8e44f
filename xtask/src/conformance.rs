//! `cargo xtask conformance`: stores of the released Python packages, read by us, and ours, read by them; compared with
//! what went in.

use crate::{Outcome, caterva, python, sh, test, tet};

/// One comparison that can be run alone, by `--NAME`.
struct Direction {
    name: &'static str,
    run: fn(&[String]) -> Outcome,
}

/// In the order in which all of them run, behind the reading of both packages' stores.
const DIRECTIONS: &[Direction] = &[
    Direction {
        name: "written",
        run: written,
    },
    Direction {
        name: "edited",
        run: edited,
    },
    Direction {
        name: "matched",
        run: |arguments| alone("matched", arguments),
    },
    Direction {
        name: "migrated",
        run: |arguments| alone("migrated", arguments),
    },
    Direction {
        name: "pyramids",
        run: |arguments| alone("pyramids", arguments),
    },
    Direction {
        name: "sampled",
        run: sampled,
    },
    Direction {
        name: "frames",
        run: |arguments| alone("frames", arguments),
    },
    Direction {
        name: "files",
        run: |arguments| alone("files", arguments),
    },
    Direction {
        name: "tet",
        run: tet::conformance,
    },
    Direction {
        name: "caterva",
        run: caterva::conformance,
    },
];

/// Directions that take the options of the whole task (`--seed`, `--stores`, `--quick`).
const SHARED: &[&str] = &["written", "edited", "pyramids"];

/// Runs `python/conformance.py` with the built `zvf` in both environments, stores of format 0.9, then of 0.7, then every one of
/// [`DIRECTIONS`]. `--NAME` as the first argument runs that direction alone, with the arguments behind it.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if let Some((first, rest)) = arguments.split_first()
        && let Some(direction) = DIRECTIONS
            .iter()
            .find(|direction| first.strip_prefix("--") == Some(direction.name))
    {
        return (direction.run)(rest);
    }
    let program = sh::build_zvf()?;
    for (environment, folder) in [
        (python::NEW, "conformance"),
        (python::OLD, "conformance-0.2"),
    ] {
        sh::run(
            python::run_in(environment, "conformance.py")?
                .arg(&program)
                .arg(sh::target().join(folder))
                .args(arguments),
        )?;
    }
    // Kinds have other names in the other directions.
    let shared: Vec<String> = match arguments.iter().position(|one| one == "--only") {
        Some(at) => arguments
            .iter()
            .take(at)
            .chain(arguments.iter().skip(at + 2))
            .cloned()
            .collect(),
        None => arguments.to_vec(),
    };
    for direction in DIRECTIONS {
        let options = if SHARED.contains(&direction.name) {
            &shared[..]
        } else {
            &[]
        };
        (direction.run)(options)?;
    }
    Ok(())
}

/// A script that takes the program and a folder, and makes its own input.
fn alone(name: &str, arguments: &[String]) -> Outcome {
    sh::run(
        python::run(&format!("{name}.py"))?
            .arg(sh::build_zvf()?)
            .arg(sh::target().join(format!("conformance-{name}")))
            .args(arguments),
    )
}

/// Volumes of three forms at the vertices of a real tractogram, beside NumPy.
fn sampled(_: &[String]) -> Outcome {
    sh::run(
        python::run("sampled.py")?
            .arg(sh::build_zvf()?)
            .arg(sh::root().join("testdata/real/tracks300.trk"))
            .arg(sh::target().join("conformance-sampled")),
    )
}

/// Stores that `zvf-write` makes from random input, read by the package.
fn written(arguments: &[String]) -> Outcome {
    sh::run(
        python::run("written.py")?
            .arg(writer()?)
            .arg(sh::build_zvf()?)
            .arg(sh::target().join("conformance-written"))
            .args(arguments),
    )
}

/// Such stores, edited by `zvf edit`, read by the package.
fn edited(arguments: &[String]) -> Outcome {
    sh::run(
        python::run("edited.py")?
            .arg(sh::build_zvf()?)
            .arg(writer()?)
            .arg(sh::target().join("conformance-edited"))
            .args(arguments),
    )
}

/// The built program that writes a store from raw files.
fn writer() -> Outcome<std::path::PathBuf> {
    sh::run(sh::cargo().args([
        // As the tests are built, so that nothing is compiled twice.
        "build",
        "--quiet",
        "--workspace",
        "--example",
        "write_raw",
        "--features",
        test::FEATURES,
    ]))?;
    let name = format!("write_raw{}", std::env::consts::EXE_SUFFIX);
    Ok(sh::target().join("debug").join("examples").join(name))
}
