//! `cargo xtask memory`: the most memory that full scans of large stores take.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::{Outcome, sh};

/// What a scan may take: 256 MB of resident memory.
const MOST: u64 = 256_000_000;

/// Runs a program and says on the last line of stdout how many KiB it had resident at the most.
const PEAK: &str = "\
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
";

/// One scan: name, form of the store, vertices of each of its thousand chunks, where the result goes.
struct Scan {
    name: &'static str,
    form: &'static str,
    rows: u32,
    output: &'static str,
}

const SCANS: &[Scan] = &[
    Scan {
        name: "0.9, 2 GB, to a file",
        form: "grid",
        rows: 100_000,
        output: "all.arrow",
    },
    Scan {
        name: "0.9, 2 GB, to nowhere",
        form: "grid",
        rows: 100_000,
        output: "",
    },
    Scan {
        name: "0.7, 300 MB, to a file",
        form: "blobs",
        rows: 15_000,
        output: "all.arrow",
    },
    Scan {
        name: "0.7, 300 MB, to nowhere",
        form: "blobs",
        rows: 15_000,
        output: "",
    },
];

/// Makes the stores below the target folder, scans them with the release program, removes them; `--small` makes them a
/// hundred times smaller and only shows that it works, `--debug` builds without optimisation.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if !cfg!(target_os = "linux") {
        return Err("the peak of a process is only known in KiB on Linux".into());
    }
    let divide = if sh::flag(arguments, "--small") {
        100
    } else {
        1
    };
    let profile = if sh::flag(arguments, "--debug") {
        "debug"
    } else {
        "release"
    };
    let mut build = sh::cargo();
    build.args(["build", "--quiet", "--package", "zvf-cli", "--bin", "zvf"]);
    build.args(["--package", "zvf-trials", "--bin", "zvf-trials"]);
    if profile == "release" {
        build.arg("--release");
    }
    sh::run(&mut build)?;
    let programs = sh::target().join(profile);
    let folder = sh::target().join("memory");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let result = scans(&programs, &folder, divide);
    std::fs::remove_dir_all(&folder)?;
    result
}

fn scans(programs: &Path, folder: &Path, divide: u32) -> Outcome {
    println!(
        "| scan | vertices | bytes of cells | seconds | peak resident |\n|---|---:|---:|---:|---:|"
    );
    let mut worst = 0;
    for scan in SCANS {
        let store = folder.join(scan.form);
        if !store.exists() {
            let rows = scan.rows / divide;
            let said = sh::capture(
                sh::command(programs.join("zvf-trials"))
                    .args(["make", scan.form, "10", &rows.to_string()])
                    .arg(&store),
            )?;
            std::fs::write(folder.join(format!("{}.txt", scan.form)), said)?;
        }
        let said = std::fs::read_to_string(folder.join(format!("{}.txt", scan.form)))?;
        let (vertices, bytes) = said.trim().split_once(' ').ok_or("no sizes")?;
        let start = Instant::now();
        let peak = peak(programs, &store, scan, folder)?;
        println!(
            "| {} | {vertices} | {bytes} | {:.1} | {:.1} MB |",
            scan.name,
            start.elapsed().as_secs_f64(),
            peak as f64 / 1e6
        );
        worst = worst.max(peak);
    }
    if worst >= MOST {
        return Err(format!("{worst} bytes resident, expected less than {MOST}").into());
    }
    Ok(())
}

/// Bytes that one scan had resident at the most.
fn peak(programs: &Path, store: &Path, scan: &Scan, folder: &Path) -> Outcome<u64> {
    let mut command = sh::command("python3");
    command.args(["-c", PEAK]).arg(programs.join("zvf"));
    command.arg("query").arg(store).arg("--quiet");
    let output: Option<PathBuf> = (!scan.output.is_empty()).then(|| folder.join(scan.output));
    match &output {
        Some(output) => command.arg("-o").arg(output),
        None => command.args(["--format", "arrow"]),
    };
    let said = sh::capture(&mut command)?;
    if let Some(output) = output {
        std::fs::remove_file(output)?;
    }
    let kibibytes: u64 = said.lines().last().unwrap_or_default().trim().parse()?;
    Ok(kibibytes * 1024)
}
