//! Stores of every generation: boxes, objects and links compared with the input, and named refusals.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};

use crate::additive::bbox;
use crate::run::{Home, STORE};

/// Stores that together have all containers, kinds and object indexes.
const STORES: [&str; 14] = [
    "0.6/points",
    "0.6/streamlines",
    "0.7/graph",
    "0.7/mesh",
    "0.7/packed_points",
    "0.7/points_ids",
    "0.7/real_skeleton",
    "0.8/duplicate_graph",
    "0.8/graph_080",
    "0.8/mesh",
    "0.8/native_graph",
    "0.8/packed_graph",
    "0.9.4/dense_points",
    "padded/points",
];

/// A row of numbers as text, for comparing and sorting.
fn words(numbers: &[f64]) -> String {
    let words: Vec<String> = numbers.iter().map(|number| format!("{number:?}")).collect();
    words.join(" ")
}

/// The input positions of a store.
struct Input {
    axes: usize,
    /// Whether they are float32.
    single: bool,
    positions: Vec<String>,
    edges: Vec<Vec<usize>>,
}

impl Input {
    fn of(name: &str) -> Result<Self> {
        let truth = zvf_testkit::truth(name)?;
        let axes = truth.positions.width();
        let positions = truth.positions.f64s()?;
        let mut pairs = Vec::new();
        if let Some(edges) = &truth.edges {
            for pair in edges.i64s()?.chunks(edges.width()) {
                pairs.push(
                    pair.iter()
                        .map(|end| usize::try_from(*end))
                        .collect::<Result<_, _>>()?,
                );
            }
        }
        Ok(Self {
            axes,
            single: truth.positions.dtype.ends_with("f4"),
            positions: positions.chunks(axes).map(words).collect(),
            edges: pairs,
        })
    }

    /// The positions of some rows, sorted.
    fn sorted(&self, rows: &[usize]) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for row in rows {
            found.push(self.positions.get(*row).context("no such row")?.clone());
        }
        found.sort();
        Ok(found)
    }
}

/// The positions in a CSV: its first columns, as numbers of the stored type.
fn positions(csv: &str, input: &Input) -> Result<Vec<String>> {
    let mut rows = Vec::new();
    for line in csv.lines().skip(1) {
        let mut row = Vec::new();
        for word in line.split(',').take(input.axes) {
            let number = if input.single {
                f64::from(word.parse::<f32>()?)
            } else {
                word.parse()?
            };
            row.push(number);
        }
        rows.push(words(&row));
    }
    Ok(rows)
}

#[test]
fn boxes_hold_the_positions_that_went_in() -> Result<()> {
    for name in STORES {
        let home = Home::new(name)?;
        let input = Input::of(name)?;
        let case = zvf_testkit::case(name)?;
        for query in case.queries.iter().filter(|query| query.level == 0).take(3) {
            let bbox = bbox(&query.lo, &query.hi);
            let csv = home.text(&[
                "query",
                STORE,
                &bbox,
                "--attributes",
                "none",
                "--format",
                "csv",
                "-q",
            ])?;
            let mut found = positions(&csv, &input)?;
            found.sort();
            assert_eq!(found, input.sorted(&query.rows)?, "{name}: {bbox}");
        }
    }
    Ok(())
}

#[test]
fn objects_are_whole() -> Result<()> {
    for name in STORES {
        let home = Home::new(name)?;
        let case = zvf_testkit::case(name)?;
        let input = Input::of(name)?;
        for (id, rows) in case.objects.iter().take(3) {
            let id = id.to_string();
            let csv = home.text(&[
                "get",
                STORE,
                &id,
                "--attributes",
                "none",
                "--format",
                "csv",
                "-q",
            ])?;
            let mut found = positions(&csv, &input)?;
            found.sort();
            assert_eq!(found, input.sorted(rows)?, "{name}: object {id}");
        }
    }
    Ok(())
}

#[test]
fn links_join_the_positions_that_went_in() -> Result<()> {
    for name in [
        "0.7/graph",
        "0.8/duplicate_graph",
        "0.8/graph_080",
        "0.8/native_graph",
        "0.8/packed_graph",
    ] {
        let home = Home::new(name)?;
        let input = Input::of(name)?;
        // The position in each row of each chunk.
        let columns = ["--columns", "position,chunk,row", "--attributes", "none"];
        let mut args = vec!["query", STORE, "--format", "csv", "-q"];
        args.extend(columns);
        let csv = home.text(&args)?;
        let mut places = BTreeMap::new();
        for (line, position) in csv.lines().skip(1).zip(positions(&csv, &input)?) {
            let rest: Vec<i64> = line
                .split(',')
                .skip(input.axes)
                .map(str::parse)
                .collect::<Result<_, _>>()?;
            places.insert(rest, position);
        }
        let listed = home.json(&["links", STORE, "--json", "-q"])?;
        let mut found = Vec::new();
        for link in listed["links"].as_array().context("links")? {
            let mut ends = Vec::new();
            for end in link["endpoints"].as_array().context("endpoints")? {
                let mut place: Vec<i64> = serde_json::from_value(end["chunk"].clone())?;
                place.push(end["row"].as_i64().context("row")?);
                ends.push(places.get(&place).context("no such row")?.clone());
            }
            ends.sort();
            found.push(ends);
        }
        found.sort();
        let mut wanted = Vec::new();
        for edge in &input.edges {
            wanted.push(input.sorted(edge)?);
        }
        wanted.sort();
        assert_eq!(found, wanted, "{name}");
    }
    Ok(())
}

#[test]
fn what_cannot_be_read_is_refused_by_name_with_code_4() -> Result<()> {
    // An unsupported feature in the root prevents all commands; in a level, only commands that read the level.
    let cases = [
        ("version_05", "info"),
        ("version_05", "query"),
        ("capability", "info"),
        ("capability", "query"),
        ("additive_end", "query"),
        ("group_offsets", "query"),
        ("newer_unknown", "query"),
    ];
    let whole = zvf_testkit::refused_cases()?;
    for name in &whole {
        let named = cases.iter().any(|(case, _)| name.ends_with(case));
        assert_eq!(named, zvf_testkit::case(name)?.queries.is_empty(), "{name}");
    }
    for (name, command) in cases {
        let name = format!("refused/{name}");
        let home = Home::new(&name)?;
        let ran = home.zvf(&[command, STORE, "-q"])?;
        assert_eq!(ran.code, 4, "{name}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{name}: {}", ran.stderr);
        for word in zvf_testkit::case(&name)?.expect {
            assert!(
                ran.stderr.contains(&word),
                "{name}: {word:?} in {}",
                ran.stderr
            );
        }
    }
    Ok(())
}

#[test]
fn a_refused_family_warns_in_queries_and_is_an_error_when_it_is_asked_for() -> Result<()> {
    for name in [
        "refused/k_dialect",
        "refused/leaf_dialect",
        "refused/two_forms",
        "padded/graph",
    ] {
        let home = Home::new(name)?;
        let rows = zvf_testkit::truth(name)?.positions.rows() as u64;
        let found = home.json(&["query", STORE, "--json", "-q", "-o", "all"])?;
        assert_eq!(found["vertices"], rows, "{name}");
        let warnings = found["warnings"].to_string();
        assert!(
            warnings.contains("0/cross_chunk_links"),
            "{name}: {warnings}"
        );
        let ran = home.zvf(&["links", STORE, "-q"])?;
        assert_eq!(ran.code, 4, "{name}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("0/cross_chunk_links"),
            "{name}: {}",
            ran.stderr
        );
    }
    Ok(())
}

#[test]
fn damage_in_a_blob_names_the_blob() -> Result<()> {
    let home = Home::to_damage("0.7/points_bins")?;
    let folder = home.file(STORE).join("0/vertices");
    let mut blobs: Vec<_> = fs::read_dir(&folder)?
        .filter_map(|entry| Some(entry.ok()?.path().join("c/0")))
        .filter(|path| path.is_file())
        .collect();
    blobs.sort();
    let path = blobs.first().context("no blob")?;
    let bytes = fs::read(path)?;
    fs::write(path, bytes.get(..bytes.len() - 1).context("short")?)?;
    let ran = home.zvf(&["query", STORE, "-q"])?;
    assert_eq!(
        (ran.code, ran.stderr.lines().count()),
        (4, 1),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("0/vertices"), "{}", ran.stderr);
    Ok(())
}
