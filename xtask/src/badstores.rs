//! `cargo xtask badstores`: stores that are broken on purpose, and how many of random damages the validator finds.

use std::path::PathBuf;

use crate::{Outcome, python, sh, test};

/// Writes every store of the table of breaks below `--out DIR`, with `--random N` as many random damages, of `--seed S` (1),
/// and an index, as JSON and as a table.
///
/// `--detect N` does N random damages in memory and prints what the validator finds of them beside what it should; with
/// `--python` also what the validator of the Python package finds of those of 0.9.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let seed = sh::option(arguments, "--seed")?
        .unwrap_or(1_u64)
        .to_string();
    if let Some(count) = sh::option::<usize>(arguments, "--detect")? {
        return detect(count, &seed, sh::flag(arguments, "--python"));
    }
    let out: PathBuf = sh::option(arguments, "--out")?.ok_or("--out DIR, or --detect N")?;
    let random = sh::option(arguments, "--random")?
        .unwrap_or(0_usize)
        .to_string();
    if out
        .read_dir()
        .is_ok_and(|mut entries| entries.next().is_some())
    {
        return Err(format!("{} is not empty", out.display()).into());
    }
    std::fs::create_dir_all(&out)?;
    sh::run(
        sh::command(example("badstores")?)
            .arg(out)
            .args([random, seed]),
    )
}

fn detect(count: usize, seed: &str, python: bool) -> Outcome {
    let mut command = sh::command(example("detect")?);
    command.args([&count.to_string(), seed]);
    if !python {
        return sh::run(&mut command);
    }
    let folder = sh::target().join("badstores");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    sh::run(command.arg(&folder))?;
    sh::run(python::run("badstores.py")?.arg(&folder))?;
    Ok(std::fs::remove_dir_all(&folder)?)
}

/// The built example of one name.
fn example(name: &str) -> Outcome<PathBuf> {
    sh::run(sh::cargo().args([
        // As the tests are built, so that nothing is compiled twice.
        "build",
        "--quiet",
        "--workspace",
        "--example",
        name,
        "--features",
        test::FEATURES,
    ]))?;
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    Ok(sh::target().join("debug").join("examples").join(name))
}
