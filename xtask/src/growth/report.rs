//! What was measured, as CSV, as tables, and as curves.

use std::fmt::Write;
use std::path::Path;

use super::measure::Cost;
use crate::Outcome;

/// One job on one store.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) kind: &'static str,
    pub(super) vertices: u64,
    /// `local` or `remote`.
    pub(super) place: &'static str,
    pub(super) job: &'static str,
    pub(super) cost: Cost,
    /// Vertices and objects of the answer.
    pub(super) answer: (u64, Option<u64>),
    /// Files of the store, and their bytes, after the job.
    pub(super) files: u64,
    pub(super) stored: u64,
}

/// A number of a row.
type Measure = fn(&Row) -> f64;

/// The numbers whose growth is of interest.
const MEASURES: [(&str, Measure); 5] = [
    ("time", |row| row.cost.wall),
    ("CPU", |row| row.cost.cpu),
    ("memory", |row| row.cost.memory),
    ("requests", |row| row.cost.requests),
    ("bytes", |row| row.cost.bytes),
];

/// Writes `growth.csv`, `growth.md` and `growth.svg`.
pub(super) fn write(folder: &Path, rows: &[Row]) -> Outcome {
    std::fs::write(folder.join("growth.csv"), csv(rows))?;
    std::fs::write(folder.join("growth.md"), table(rows))?;
    Ok(std::fs::write(folder.join("growth.svg"), picture(rows))?)
}

fn csv(rows: &[Row]) -> String {
    let mut out = "kind,vertices,place,job,seconds,cpu_seconds,peak_bytes,requests,rounds,bytes_read,answer_vertices,\
                   answer_objects,files,stored_bytes\n"
        .to_owned();
    for row in rows {
        let Cost {
            wall,
            cpu,
            memory,
            requests,
            rounds,
            bytes,
        } = row.cost;
        let objects = row.answer.1.map(|count| count.to_string());
        let _ = writeln!(
            out,
            "{},{},{},{},{wall:.4},{cpu:.4},{memory},{requests},{rounds},{bytes},{},{},{},{}",
            row.kind,
            row.vertices,
            row.place,
            row.job.replace(',', ""),
            row.answer.0,
            objects.unwrap_or_default(),
            row.files,
            row.stored
        );
    }
    out
}

/// The curves: rows of one job on one kind in one place, in ascending size.
fn curves(rows: &[Row]) -> Vec<Vec<&Row>> {
    let mut curves: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        let same = |one: &&mut Vec<&Row>| {
            one.first().is_some_and(|first| {
                (first.kind, first.place, first.job) == (row.kind, row.place, row.job)
            })
        };
        match curves.iter_mut().find(same) {
            Some(curve) => curve.push(row),
            None => curves.push(vec![row]),
        }
    }
    curves
}

/// The exponent of the power law that fits points best; `None` if all are of one size, or a value is 0.
fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    if points.iter().any(|(x, y)| *x <= 0.0 || *y <= 0.0) {
        return None;
    }
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let (x, y) = (
        logs.iter().map(|(x, _)| x).sum::<f64>() / count,
        logs.iter().map(|(_, y)| y).sum::<f64>() / count,
    );
    let spread: f64 = logs.iter().map(|(one, _)| (one - x) * (one - x)).sum();
    let common: f64 = logs.iter().map(|(a, b)| (a - x) * (b - y)).sum();
    (spread > 0.0).then(|| common / spread)
}

/// A Markdown table for each kind: the smallest store, the largest, and exponents.
pub(super) fn table(rows: &[Row]) -> String {
    let mut out = String::new();
    let mut kind = "";
    for curve in curves(rows) {
        let (Some(first), Some(last)) = (curve.first(), curve.last()) else {
            continue;
        };
        if first.kind != kind {
            kind = first.kind;
            let _ = write!(
                out,
                "\n{kind}, {} to {} vertices\n\n\
                 | job | rows | time | memory | requests | bytes read | exponents of time | CPU | memory | requests | bytes |\n\
                 |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
                first.vertices, last.vertices
            );
        }
        let far = if first.place == "remote" {
            ", remote"
        } else {
            ""
        };
        let both = |of: Measure, shown: fn(f64) -> String| {
            format!("{} to {}", shown(of(first)), shown(of(last)))
        };
        let _ = write!(
            out,
            "| {}{far} | {} | {} | {} | {} | {} |",
            first.job,
            match (first.answer.0, last.answer.0) {
                (0, 0) => String::new(),
                (small, large) => format!("{small} to {large}"),
            },
            both(|row| row.cost.wall, seconds),
            both(|row| row.cost.memory, bytes),
            both(|row| row.cost.requests, |count| count.to_string()),
            both(|row| row.cost.bytes, bytes),
        );
        for (_, of) in MEASURES {
            let points: Vec<(f64, f64)> = curve
                .iter()
                .map(|row| (row.vertices as f64, of(row)))
                .collect();
            let text = exponent(&points).map(|value| format!("{value:.2}"));
            let _ = write!(out, " {} |", text.unwrap_or_default());
        }
        out.push('\n');
    }
    out
}

fn seconds(value: f64) -> String {
    match value {
        value if value < 0.1 => format!("{:.1} ms", value * 1e3),
        value if value < 1.0 => format!("{:.0} ms", value * 1e3),
        value => format!("{value:.1} s"),
    }
}

fn bytes(value: f64) -> String {
    match value {
        value if value < 1e6 => format!("{:.0} KB", value / 1e3),
        value => format!("{:.1} MB", value / 1e6),
    }
}

/// Size of a panel, and the space around it.
const PANEL: (f64, f64) = (190.0, 150.0);
const SPACE: (f64, f64) = (52.0, 40.0);

const COLORS: [&str; 10] = [
    "#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#9d755d", "#bab0ac",
    "#eeca3b", "#ff9da6",
];

/// A range of powers of ten.
fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let logs = values.filter(|value| *value > 0.0).map(f64::log10);
    let (low, high) = logs.fold((f64::MAX, f64::MIN), |(low, high), log| {
        (low.min(log), high.max(log))
    });
    if low > high {
        return (0.0, 1.0);
    }
    let low = low.floor();
    (low, high.ceil().max(low + 1.0))
}

/// The curves as SVG: a column for each kind and place, a row for time, bytes, memory and requests, logarithmic on both axes.
fn picture(rows: &[Row]) -> String {
    let curves = curves(rows);
    let mut columns: Vec<(&str, &str)> = Vec::new();
    let mut jobs: Vec<&str> = Vec::new();
    for first in curves.iter().filter_map(|curve| curve.first()) {
        if !columns.contains(&(first.kind, first.place)) {
            columns.push((first.kind, first.place));
        }
        if !jobs.contains(&first.job) {
            jobs.push(first.job);
        }
    }
    let measures: Vec<_> = MEASURES.iter().filter(|(name, _)| *name != "CPU").collect();
    let place = |column: usize, line: usize| {
        (
            SPACE.0 + column as f64 * (PANEL.0 + SPACE.0),
            SPACE.1 + line as f64 * (PANEL.1 + SPACE.1),
        )
    };
    let (width, height) = place(columns.len(), measures.len());
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {:.0}\" font-family=\"sans-serif\" font-size=\"10\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        height + 24.0
    );
    let x_range = decades(rows.iter().map(|row| row.vertices as f64));
    for (line, (name, of)) in measures.iter().enumerate() {
        let y_range = decades(rows.iter().map(of));
        for (column, (kind, site)) in columns.iter().enumerate() {
            let (left, top) = place(column, line);
            let on = |value: f64, (low, high): (f64, f64)| (value.log10() - low) / (high - low);
            let _ = writeln!(
                out,
                "<rect x=\"{left:.0}\" y=\"{top:.0}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n\
                 <text x=\"{left:.0}\" y=\"{:.0}\">{kind}, {site}: {name}</text>",
                PANEL.0,
                PANEL.1,
                top - 5.0
            );
            axes(&mut out, name, (left, top), (x_range, y_range));
            for curve in &curves {
                let Some(first) = curve.first() else { continue };
                if (first.kind, first.place) != (*kind, *site) {
                    continue;
                }
                let job = jobs.iter().position(|job| *job == first.job).unwrap_or(0);
                let color = COLORS[job % COLORS.len()];
                let points = curve.iter().filter(|row| of(row) > 0.0).map(|row| {
                    let x = left + PANEL.0 * on(row.vertices as f64, x_range);
                    let y = top + PANEL.1 * (1.0 - on(of(row), y_range));
                    format!("{x:.1},{y:.1}")
                });
                let points: Vec<String> = points.collect();
                let _ = writeln!(
                    out,
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>",
                    points.join(" ")
                );
            }
        }
    }
    let mut left = SPACE.0;
    for (job, color) in jobs.iter().zip(COLORS.iter().cycle()) {
        let _ = writeln!(
            out,
            "<rect x=\"{left:.0}\" y=\"{:.0}\" width=\"12\" height=\"4\" fill=\"{color}\"/><text x=\"{:.0}\" y=\"{:.0}\">{job}</text>",
            height - 4.0,
            left + 16.0,
            height + 2.0
        );
        left += 30.0 + 6.0 * job.len() as f64;
    }
    out.push_str("</svg>\n");
    out
}

/// Powers of ten along both axes.
fn axes(
    out: &mut String,
    name: &str,
    (left, top): (f64, f64),
    (x_range, y_range): ((f64, f64), (f64, f64)),
) {
    let ticks = |(low, high): (f64, f64)| {
        let steps = ((high - low) / 6.0).ceil().max(1.0) as usize;
        (low as i32..=high as i32).step_by(steps)
    };
    for power in ticks(x_range) {
        let x = left + PANEL.0 * (f64::from(power) - x_range.0) / (x_range.1 - x_range.0);
        let _ = writeln!(
            out,
            "<text x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\">1e{power}</text>",
            top + PANEL.1 + 12.0
        );
    }
    for power in ticks(y_range) {
        let y = top + PANEL.1 * (y_range.1 - f64::from(power)) / (y_range.1 - y_range.0);
        let value = 10f64.powi(power);
        let label = match name {
            "time" => seconds(value),
            "requests" => format!("{value}"),
            _ if value < 1e3 => format!("{value} B"),
            _ => bytes(value),
        };
        let _ = writeln!(
            out,
            "<line x1=\"{left:.0}\" x2=\"{:.0}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\n\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            left + PANEL.0,
            left - 3.0,
            y + 3.0
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(vertices: u64, bytes: f64) -> Row {
        Row {
            kind: "lines",
            vertices,
            place: "local",
            job: "box, rows",
            cost: Cost {
                wall: 0.01,
                cpu: 0.01,
                memory: 1e7,
                requests: 40.0,
                rounds: 3.0,
                bytes,
            },
            answer: (10_000, Some(520)),
            files: 7,
            stored: 1_000_000,
        }
    }

    #[test]
    fn exponents_are_those_of_power_laws() {
        let law = |power: f64| [1e5, 1e6, 1e7].map(|x: f64| (x, 3.0 * x.powf(power)));
        for power in [0.0, 0.5, 1.0] {
            let found = exponent(&law(power)).unwrap();
            assert!((found - power).abs() < 1e-9, "{found}");
        }
        assert_eq!(exponent(&[(1e5, 2.0)]), None);
        assert_eq!(exponent(&[(1e5, 2.0), (1e6, 0.0)]), None);
    }

    #[test]
    fn tables_and_pictures_have_every_job() {
        let rows = [row(100_000, 1e6), row(1_000_000, 1e7)];
        let table = table(&rows);
        assert!(
            table
                .ends_with("| 40 to 40 | 1.0 MB to 10.0 MB | 0.00 | 0.00 | 0.00 | 0.00 | 1.00 |\n"),
            "{table}"
        );
        let picture = picture(&rows);
        assert_eq!(picture.matches("<polyline").count(), 4);
        assert!(picture.contains(">box, rows</text>"));
        assert_eq!(csv(&rows).lines().count(), 3);
    }
}
