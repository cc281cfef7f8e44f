//! `cargo xtask conformance`: stores of the released Python packages, read by us, and ours, read by them; compared with
//! what went in.

use crate::{Outcome, caterva, python, sh, test, tet};

/// Runs `python/conformance.py` with the built `zvf` in both environments, stores of format 0.9, then of 0.7; then
/// `python/written.py`, the other direction, for format 0.9, `python/edited.py`, stores that `zvf edit` has changed,
/// `python/migrated.py`, and `python/pyramids.py`, coarse levels made by both. Arguments are passed on; `--written`, `--edited`,
/// `--migrated` and `--pyramids` run those alone, as do `--sampled`, and `--tet` and `--caterva` for the
/// neighbouring formats.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if let Some((_, rest)) = arguments
        .split_first()
        .filter(|(first, _)| *first == "--written")
    {
        return written(rest);
    }
    if let Some((_, rest)) = arguments
        .split_first()
        .filter(|(first, _)| *first == "--edited")
    {
        return edited(rest);
    }
    if arguments.first().is_some_and(|first| first == "--caterva") {
        return caterva::conformance(arguments.get(1..).unwrap_or_default());
    }
    if arguments.first().is_some_and(|first| first == "--sampled") {
        return sampled();
    }
    if arguments.first().is_some_and(|first| first == "--migrated") {
        return migrated(arguments.get(1..).unwrap_or_default());
    }
    if let Some((_, rest)) = arguments
        .split_first()
        .filter(|(first, _)| *first == "--pyramids")
    {
        return levels(&sh::build_zvf()?, rest);
    }
    if let Some((_, rest)) = arguments
        .split_first()
        .filter(|(first, _)| *first == "--tet")
    {
        return tet::conformance(rest);
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
    // Kinds have other names in the other direction.
    let shared: Vec<String> = match arguments.iter().position(|one| one == "--only") {
        Some(at) => arguments
            .iter()
            .take(at)
            .chain(arguments.iter().skip(at + 2))
            .cloned()
            .collect(),
        None => arguments.to_vec(),
    };
    written(&shared)?;
    edited(&shared)?;
    migrated(&[])?;
    levels(&program, &shared)?;
    sampled()?;
    tet::conformance(&[])?;
    caterva::conformance(&[])
}

/// Volumes of three forms at the vertices of a real tractogram, beside NumPy.
fn sampled() -> Outcome {
    sh::run(
        python::run("sampled.py")?
            .arg(sh::build_zvf()?)
            .arg(sh::root().join("testdata/real/tracks300.trk"))
            .arg(sh::target().join("conformance-sampled")),
    )
}

/// Copies of the bundled stores by `zvf migrate` and `zvf rechunk`, judged by the package.
fn migrated(arguments: &[String]) -> Outcome {
    let program = sh::build_zvf()?;
    sh::run(
        python::run("migrated.py")?
            .arg(&program)
            .arg(sh::target().join("conformance-migrated"))
            .args(arguments),
    )
}

/// Coarse levels that both make of the same stores.
fn levels(program: &std::path::Path, arguments: &[String]) -> Outcome {
    sh::run(
        python::run("pyramids.py")?
            .arg(program)
            .arg(sh::target().join("conformance-pyramids"))
            .args(arguments),
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
