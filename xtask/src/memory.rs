//! `cargo xtask memory`: the most memory that full scans of large stores take, coarse levels, copies and edits of them.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::{Outcome, python, sh};

/// What a job may take: 256 MB of resident memory.
const MOST: u64 = 256_000_000;

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
    let result = scans(&programs, &folder, divide)
        .and_then(|()| levels(&programs, &folder, divide))
        .and_then(|()| changes(&programs, &folder, divide));
    std::fs::remove_dir_all(&folder)?;
    result
}

fn scans(programs: &Path, folder: &Path, divide: u32) -> Outcome {
    println!(
        "| job | vertices | bytes of cells | seconds | peak resident |\n|---|---:|---:|---:|---:|"
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
        let output: Option<PathBuf> = (!scan.output.is_empty()).then(|| folder.join(scan.output));
        let mut arguments: Vec<&Path> = [Path::new("query"), &store].to_vec();
        match &output {
            Some(output) => arguments.extend([Path::new("-o"), output]),
            None => arguments.extend(["--format", "arrow"].map(Path::new)),
        }
        let sizes = format!("{vertices} | {bytes}");
        worst = worst.max(job(programs, scan.name, &sizes, &arguments)?);
        if let Some(output) = output {
            std::fs::remove_file(output)?;
        }
    }
    small_enough(worst)
}

/// Makes coarse levels with a quarter of the usual budget: of the points that were scanned, and of a mesh of one object that is
/// imported.
fn levels(programs: &Path, folder: &Path, divide: u32) -> Outcome {
    // A square of a hundredth of the vertices has a tenth of the side.
    let side = if divide > 1 { 200 } else { 2000 };
    let (file, mesh) = (folder.join("mesh.obj"), folder.join("mesh"));
    sheet(&file, side)?;
    let sizes = format!("{} | ", u64::from(side) * u64::from(side));
    let points = folder.join("grid");
    let said = std::fs::read_to_string(folder.join("grid.txt"))?;
    let (vertices, _) = said.trim().split_once(' ').ok_or("no sizes")?;
    let budget = ["--memory-budget", "64MiB"].map(Path::new);
    let factors = ["--factors", "2,2"].map(Path::new);
    let import = [Path::new("import"), &file, &mesh].to_vec();
    let pyramid = |store| [[Path::new("pyramid"), store].to_vec(), factors.to_vec()].concat();
    let jobs = [
        ("import of a mesh", &*sizes, import),
        ("two levels of the mesh", &*sizes, pyramid(&mesh)),
        (
            "two levels of the points",
            &*format!("{vertices} | "),
            pyramid(&points),
        ),
    ];
    let mut worst = 0;
    for (name, sizes, mut arguments) in jobs {
        arguments.extend(budget);
        worst = worst.max(job(programs, name, sizes, &arguments)?);
    }
    small_enough(worst)
}

/// The budget of copies and edits.
const BUDGET: u64 = 32 << 20;

/// Copies and edits: of one polyline of 5,000,000 vertices, of 5,000 of 1,000 each, of a mesh of one object, and of
/// 20,000,000 points. Each may take twice its budget and 64 MB.
fn changes(programs: &Path, folder: &Path, divide: u32) -> Outcome {
    let at = |name: &str| folder.join(name);
    let (line, lines) = (at("line.csv"), at("lines.csv"));
    chains(&line, 1, 5_000_000 / divide)?;
    chains(&lines, 5_000 / divide, 1_000)?;
    std::fs::write(at("move.csv"), "object_id,vertex,x,y,z\n0,1000,55,66,77\n")?;
    std::fs::write(
        at("more.csv"),
        "object_id,x,y,z,value\n0,1,2,3,4\n0,5,6,7,8\n",
    )?;
    std::fs::write(at("set.csv"), "object_id,vertex,value\n0,1000,7\n")?;
    let points = sh::capture(
        sh::command(programs.join("zvf-trials"))
            .args(["make", "grid", "10", &(20_000 / divide).to_string()])
            .arg(at("points")),
    )?;
    let points = points
        .trim()
        .split(' ')
        .next()
        .unwrap_or_default()
        .to_owned();
    let count = (5_000_000 / divide).to_string();
    let chains = "--kind polyline --object-column object_id --chunk-shape 200,200,200";
    let jobs = [
        (
            "import of a line",
            &count,
            format!("import line.csv line {chains}"),
        ),
        (
            "import of lines",
            &count,
            format!("import lines.csv lines {chains}"),
        ),
        (
            "rechunk of the line",
            &count,
            "rechunk line a --chunk-shape 300,300,300".into(),
        ),
        (
            "rechunk of the lines",
            &count,
            "rechunk lines b --chunk-shape 500,500,500".into(),
        ),
        (
            "rechunk of the mesh",
            &String::new(),
            "rechunk mesh c --chunk-shape 300,300,300".into(),
        ),
        (
            "bins of the points",
            &points,
            "rechunk points d --bin-shape 5,5,5".into(),
        ),
        ("line to 0.8.1", &count, "migrate line e --to 0.8.1".into()),
        (
            "points to 0.8.1",
            &points,
            "migrate points f --to 0.8.1".into(),
        ),
        (
            "mesh to 0.8.1",
            &String::new(),
            "migrate mesh g --to 0.8.1".into(),
        ),
        (
            "a vertex of the line moves",
            &count,
            "edit line move --from move.csv".into(),
        ),
        (
            "a vertex of the mesh moves",
            &String::new(),
            "edit mesh move --from move.csv".into(),
        ),
        (
            "the line goes on",
            &count,
            "edit line append more.csv".into(),
        ),
        (
            "a value of the line",
            &count,
            "edit line set-attribute value --from set.csv".into(),
        ),
        ("a line is deleted", &count, "edit lines delete 3".into()),
        ("vacuum of the lines", &count, "vacuum lines".into()),
    ];
    let (mut worst, most) = ((0, ""), 2 * BUDGET + 64_000_000);
    for (name, vertices, line) in &jobs {
        let mut arguments: Vec<PathBuf> = Vec::new();
        for word in line.split(' ') {
            // Files and stores lie in the folder; all other words are what they are.
            let file = at(word);
            let is_letter = |c: char| c.is_ascii_lowercase();
            let is_new = (word.len() == 1 && word.chars().all(is_letter))
                || matches!(word, "line" | "lines");
            let is_file = is_new || file.exists();
            arguments.push(if is_file { file } else { word.into() });
        }
        arguments.extend(["--memory-budget".into(), BUDGET.to_string().into()]);
        let arguments: Vec<&Path> = arguments.iter().map(PathBuf::as_path).collect();
        let peak = job(programs, name, &format!("{vertices} | "), &arguments)?;
        worst = worst.max((peak, *name));
    }
    if worst.0 > most {
        return Err(format!(
            "{}: {} bytes resident, expected at most {most}",
            worst.1, worst.0
        )
        .into());
    }
    Ok(())
}

/// A table of random walks.
fn chains(file: &Path, objects: u32, vertices: u32) -> Outcome {
    let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
    writeln!(out, "object_id,x,y,z,value")?;
    let mut seed = 1_u64;
    let mut draw = || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 40) as f64 / f64::from(1 << 24)
    };
    for object in 0..objects {
        let mut at = [0; 3].map(|_: u8| draw() * 1000.0);
        for vertex in 0..vertices {
            at = at.map(|value| value + draw() * 4.0 - 2.0);
            let [x, y, z] = at;
            writeln!(out, "{object},{x:.3},{y:.3},{z:.3},{vertex}")?;
        }
    }
    Ok(out.flush()?)
}

/// A bumpy sheet of triangles.
fn sheet(file: &Path, side: u32) -> Outcome {
    let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
    for (x, y) in (0..side).flat_map(|x| (0..side).map(move |y| (x, y))) {
        let z = (f64::from(x) * 0.03).sin() * 30.0 + (f64::from(y) * 0.02).cos() * 20.0;
        writeln!(out, "v {x} {y} {z:.3}")?;
    }
    // Vertices are counted from 1.
    for (x, y) in (1..side).flat_map(|x| (1..side).map(move |y| (x, y))) {
        let (a, d) = ((x - 1) * side + y, x * side + y);
        writeln!(out, "f {a} {} {}\nf {a} {} {d}", a + 1, d + 1, d + 1)?;
    }
    out.flush()?;
    Ok(())
}

fn small_enough(worst: u64) -> Outcome {
    if worst >= MOST {
        return Err(format!("{worst} bytes resident, expected less than {MOST}").into());
    }
    Ok(())
}

/// Runs the program and prints a row of the table; returns how many bytes it had resident at the most.
fn job(programs: &Path, name: &str, sizes: &str, arguments: &[&Path]) -> Outcome<u64> {
    let mut command = sh::command("python3");
    command.arg(python::script("measured.py"));
    command.arg(programs.join("zvf")).args(arguments);
    let said = sh::capture(command.arg("--quiet"))?;
    let (code, seconds, _, kibibytes, errors): (i32, f64, f64, u64, String) =
        serde_json::from_str(said.trim())?;
    if code != 0 {
        return Err(format!("{name}: exit code {code}\n{errors}").into());
    }
    let peak = kibibytes * 1024;
    println!(
        "| {name} | {sizes} | {seconds:.1} | {:.1} MB |",
        peak as f64 / 1e6
    );
    Ok(peak)
}
