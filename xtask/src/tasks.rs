//! `cargo xtask tasks`: the examples of `docs/tasks`, each in three languages, which must print the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, demo, python, sh, test, wheel};

/// The examples: their name, and what the page says of them.
const TASKS: &[(&str, &str)] = &[
    ("open", "Open a store, and print its version and kind."),
    (
        "box",
        "Find the vertices in a box, and the objects that they belong to.",
    ),
    (
        "object",
        "Read objects by id, in the given order, and count the vertices of each.",
    ),
    (
        "condition",
        "Count the vertices that satisfy a condition on attributes.",
    ),
    ("write", "Write a new store of points with an attribute."),
    (
        "append",
        "Append points to an existing store, in one atomic change.",
    ),
    (
        "levels",
        "Add two coarse levels, and count the vertices of each level.",
    ),
    (
        "validate",
        "Validate a store, damage it, and validate it again.",
    ),
    (
        "sample",
        "Store the value of a volume at each vertex as an attribute.",
    ),
    ("picture", "Draw a store as a picture."),
    ("sql", "Count the vertices of each category."),
    (
        "parts",
        "Write one store with several programs: each writes a part, and one of them commits all parts.",
    ),
];

/// Language, extension, and how Markdown calls it.
const LANGUAGES: [(&str, &str, &str); 3] = [
    ("Shell", "sh", "sh"),
    ("Python", "py", "python"),
    ("Rust", "rs", "rust"),
];

/// `--write` writes `docs/tasks.md` instead of comparing it with the examples. Then runs all examples.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let page = sh::root().join("docs").join("tasks.md");
    let text = text()?;
    if sh::flag(arguments, "--write") {
        fs::write(&page, text)?;
    } else if fs::read_to_string(&page)? != text {
        return Err("docs/tasks.md differs from docs/tasks: `cargo xtask tasks --write`".into());
    }
    let python = wheel::environment()?;
    let programs = python
        .parent()
        .ok_or("the interpreter is in no folder")?
        .to_owned();
    // As tests are built, and with them the programs of their package: nothing is compiled twice.
    sh::run(sh::cargo().args([
        "test",
        "--workspace",
        "--features",
        test::FEATURES,
        "--test",
        "faults",
        "--no-run",
        "--quiet",
    ]))?;
    let inputs = inputs(&programs)?;
    let mut different = Vec::new();
    for (name, _) in TASKS {
        let source = |ending: &str| source(name, ending);
        let mut shell = Command::new("sh");
        shell.arg("-eu").arg(source("sh"));
        let mut script = Command::new(&python);
        script.arg(source("py"));
        let mut rust = Command::new(sh::debug("zvf-tasks"));
        rust.arg(name);
        let mut found = Vec::new();
        for command in [&mut shell, &mut script, &mut rust] {
            found.push(outcome(command, &inputs, &programs)?);
        }
        let [shell, script, rust] = found.as_slice() else {
            return Err("three languages".into());
        };
        println!("{name}: {}", shell.lines.join(" | "));
        for (language, other) in [("Python", script), ("Rust", rust)] {
            if other != shell {
                different.push(format!(
                    "{name}: {language} prints {:?}, the shell {:?}, or their pictures differ",
                    other.lines, shell.lines
                ));
            }
        }
    }
    match different.is_empty() {
        true => Ok(()),
        false => Err(different.join("\n").into()),
    }
}

fn source(name: &str, ending: &str) -> PathBuf {
    sh::root()
        .join("docs")
        .join("tasks")
        .join(format!("{name}.{ending}"))
}

/// The page with all examples.
fn text() -> Outcome<String> {
    let mut text = String::from(
        "# Twelve tasks\n\n\
         Each task in the shell, in Python and in Rust; all three print the same. `cargo xtask tasks` runs them on bundled data, and writes this\n\
         page from the files in `docs/tasks` (`--write`).\n",
    );
    for (name, about) in TASKS {
        text.push_str(&format!("\n## {name}\n\n{about}\n"));
        for (language, ending, word) in LANGUAGES {
            let code = fs::read_to_string(source(name, ending))?;
            let code = format!("```{word}\n{code}```");
            text.push_str(&match ending {
                "rs" => {
                    format!("\n<details><summary>{language}</summary>\n\n{code}\n\n</details>\n")
                }
                _ => format!("\n{language}:\n\n{code}\n"),
            });
        }
    }
    Ok(text)
}

/// The folder with the data of the examples.
fn inputs(programs: &Path) -> Outcome<PathBuf> {
    let folder = sh::target().join("tasks").join("inputs");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    demo::unpack("real_tractogram", &folder.join("tracts.zarrvectors"))?;
    let data = sh::root().join("testdata");
    let volume = data
        .join("caterva")
        .join("b01_f4_3d_zstd_split_vlmeta.b2nd");
    fs::copy(volume, folder.join("volume.b2nd"))?;
    let table = data.join("real").join("1734350788.csv");
    sh::run(
        Command::new(programs.join("zvf"))
            .args(["import", "--quiet"])
            .arg(table)
            .arg(folder.join("synapses.zarrvectors")),
    )?;
    Ok(folder)
}

/// What an example printed, without differences in blanks, and the pictures that it drew.
#[derive(Debug, PartialEq, Eq)]
struct Outcomes {
    lines: Vec<String>,
    pictures: Vec<Vec<u8>>,
}

/// Runs an example in a copy of the data.
fn outcome(command: &mut Command, inputs: &Path, programs: &Path) -> Outcome<Outcomes> {
    let folder = inputs.with_file_name("run");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    copy(inputs, &folder)?;
    let mut path = vec![programs.to_owned()];
    path.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    command
        .current_dir(&folder)
        .env("PATH", std::env::join_paths(path)?);
    let printed = sh::capture(python::cached(command))?;
    let lines = printed
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut pictures = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "png") {
            pictures.push(fs::read(path)?);
        }
    }
    Ok(Outcomes {
        lines: lines.collect(),
        pictures,
    })
}

fn copy(from: &Path, to: &Path) -> Outcome {
    for path in sh::files(from)? {
        let to = to.join(path.strip_prefix(from)?);
        fs::create_dir_all(to.parent().ok_or("a file in no folder")?)?;
        fs::copy(path, to)?;
    }
    Ok(())
}
