//! `cargo xtask demo`: a short tour of the program on real bundled data.

use std::path::{Path, PathBuf};

use crate::{Outcome, sh};

/// Columns and rows of the picture.
const PICTURE: (usize, usize) = (96, 40);

/// Darkness of a cell of the picture, from empty to full.
const INK: &[u8] = b" .:-=+*#%@";

/// Unpacks two real stores, builds `zvf`, and asks it a few questions, showing each command.
pub(crate) fn run(_: &[String]) -> Outcome {
    let folder = sh::target().join("demo");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let neuron = unpack("real_skeleton", &folder.join("neuron.zarrvectors"))?;
    let tracts = unpack("real_tractogram", &folder.join("tracts.zarrvectors"))?;
    println!("building zvf");
    let tour = Tour {
        program: sh::build_lean_zvf()?,
        folder,
    };

    tour.heading("A neuron of the fly's brain (hemibrain, Janelia FlyEM)");
    tour.zvf(&["info", &neuron])?;
    tour.zvf(&[
        "query",
        &neuron,
        "--columns",
        "position",
        "-o",
        "neuron.csv",
    ])?;
    tour.picture(
        "neuron.csv",
        View {
            across: 0,
            down: 2,
            flip: false,
        },
    )?;

    tour.zvf(&["plot", &neuron, "--view", "x-z", "-o", "neuron.png"])?;

    tour.heading("A box out of it: vertices, their radius, the edges between them");
    tour.zvf(&[
        "query",
        &neuron,
        "--bbox",
        "15000,34000,24000:17000,35000,25000",
    ])?;
    let thick = [
        "query",
        &neuron,
        "--where",
        "radius > 200",
        "--limit",
        "5",
        "--format",
        "csv",
    ];
    tour.zvf(&thick)?;

    tour.heading("A human tractogram: the streamlines that pass a small box, whole");
    tour.zvf(&["info", &tracts])?;
    tour.zvf(&[
        "query",
        &tracts,
        "--columns",
        "position",
        "-o",
        "tracts.csv",
    ])?;
    tour.picture(
        "tracts.csv",
        View {
            across: 1,
            down: 2,
            flip: true,
        },
    )?;
    tour.zvf(&["plot", &tracts, "--view", "yz", "-o", "tracts.png"])?;
    let bundle = ["--bbox", "92,82,80:101,92,92", "--select", "objects"];
    let mut query = vec!["query", tracts.as_str()];
    query.extend(bundle);
    tour.zvf(&query)?;
    query.extend(["--columns", "position", "-o", "bundle.csv"]);
    tour.zvf(&query)?;
    tour.picture(
        "bundle.csv",
        View {
            across: 1,
            down: 2,
            flip: true,
        },
    )?;

    tour.heading("One streamline by its id, and how it lies in the store");
    tour.zvf(&["get", &tracts, "42", "--limit", "1000"])?;
    tour.zvf(&[
        "inspect",
        &tracts,
        "0/object_index/manifests",
        "42",
        "--rows",
        "2",
    ])?;
    tour.zvf(&[
        "inspect",
        &tracts,
        "0/vertex_fragments",
        "4.5.3",
        "--rows",
        "6",
    ])?;

    println!(
        "\nThe stores lie in {}, with pictures of them (neuron.png, tracts.png). Try `zvf --help`.",
        tour.folder.display()
    );
    Ok(())
}

/// Unpacks a bundled store to `to`.
pub(crate) fn unpack(case: &str, to: &Path) -> Outcome<String> {
    for (key, bytes) in zvf_testkit::files(case)? {
        let path = to.join(key);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, bytes)?;
    }
    Ok(to
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned())
}

/// The built program and the folder that it runs in.
struct Tour {
    program: PathBuf,
    folder: PathBuf,
}

impl Tour {
    fn heading(&self, text: &str) {
        println!("\n{text}\n{}", "=".repeat(text.chars().count()));
    }

    /// Shows and runs one command.
    fn zvf(&self, arguments: &[&str]) -> Outcome {
        let shown: Vec<String> = arguments.iter().map(|argument| quoted(argument)).collect();
        println!("\n$ zvf {}", shown.join(" "));
        sh::run(
            sh::command(&self.program)
                .current_dir(&self.folder)
                .args(arguments),
        )
    }

    /// Draws the points of a csv file.
    fn picture(&self, file: &str, view: View) -> Outcome {
        let text = std::fs::read_to_string(self.folder.join(file))?;
        let points = positions(&text)?;
        println!();
        for line in draw(&points, view) {
            println!("  {line}");
        }
        Ok(())
    }
}

/// Which axes of the data lie across and down the picture.
#[derive(Clone, Copy)]
struct View {
    across: usize,
    down: usize,
    /// The smallest coordinate is at the bottom.
    flip: bool,
}

fn quoted(argument: &str) -> String {
    if argument.contains([' ', '>', '<']) {
        format!("'{argument}'")
    } else {
        argument.to_owned()
    }
}

/// The first three numbers of every line after the first.
fn positions(csv: &str) -> Outcome<Vec<[f64; 3]>> {
    let mut points = Vec::new();
    for line in csv.lines().skip(1) {
        let mut fields = line
            .split(',')
            .map(|field| field.trim_matches(['"', '[', ']', ' ']).parse::<f64>());
        let mut point = [0.0; 3];
        for value in &mut point {
            *value = fields.next().ok_or("a line is short")??;
        }
        points.push(point);
    }
    if points.is_empty() {
        Err("no points to draw".into())
    } else {
        Ok(points)
    }
}

/// Counts points in a grid and turns the counts into ink. Both axes keep one scale; a character is twice as high as wide.
fn draw(points: &[[f64; 3]], view: View) -> Vec<String> {
    let range = |axis: usize| {
        let low = points
            .iter()
            .map(|point| point[axis])
            .fold(f64::INFINITY, f64::min);
        let high = points
            .iter()
            .map(|point| point[axis])
            .fold(f64::NEG_INFINITY, f64::max);
        (low, (high - low).max(f64::MIN_POSITIVE))
    };
    let ((left, width), (top, height)) = (range(view.across), range(view.down));
    let (columns, rows) = PICTURE;
    let scale = (columns as f64 / width).min(2.0 * rows as f64 / height);
    let mut counts = vec![vec![0_u32; columns]; rows];
    for point in points {
        let column = (((point[view.across] - left) * scale) as usize).min(columns - 1);
        let row = (((point[view.down] - top) * scale / 2.0) as usize).min(rows - 1);
        counts[row][column] += 1;
    }
    let used = counts
        .iter()
        .rposition(|row| row.iter().any(|count| *count > 0))
        .map_or(0, |last| last + 1);
    counts.truncate(used);
    if view.flip {
        counts.reverse();
    }
    let ink = |count: &u32| {
        let step = (f64::from(*count).sqrt() * 2.5).ceil() as usize;
        char::from(INK[step.min(INK.len() - 1)])
    };
    counts
        .iter()
        .map(|row| {
            row.iter()
                .map(ink)
                .collect::<String>()
                .trim_end()
                .to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_of_the_data_are_corners_of_the_picture() {
        let lines = draw(
            &[[0.0, 0.0, 0.0], [96.0, 0.0, 80.0]],
            View {
                across: 0,
                down: 2,
                flip: false,
            },
        );
        assert_eq!(lines.len(), 40);
        assert!(
            lines[0].starts_with('-') && lines[39].ends_with('-'),
            "{lines:?}"
        );
        assert_eq!(lines[39].len(), 96);
    }

    #[test]
    fn csv_is_read() {
        assert_eq!(positions("x,y,z\n1,2,3.5\n").unwrap(), [[1.0, 2.0, 3.5]]);
    }
}
