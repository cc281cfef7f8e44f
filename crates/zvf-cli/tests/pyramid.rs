//! `zvf pyramid`: levels that the other commands can read.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::run::{Home, files};

/// A grid of points, one unit apart, as a table.
fn table() -> String {
    let rows = (0..400).map(|n| format!("{},{},{n}\n", n % 20, n / 20));
    std::iter::once("x,y,n\n".to_owned()).chain(rows).collect()
}

fn home() -> Result<Home> {
    let home = Home::made(&[("../points.csv", table().into())])?;
    home.text(&[
        "import",
        "points.csv",
        "made.zv",
        "--chunk-shape",
        "10,10",
        "--bin-shape",
        "2,2",
    ])?;
    Ok(home)
}

#[test]
fn levels_are_made_once_and_found() -> Result<()> {
    let home = home()?;
    let factors = ["pyramid", "made.zv", "--factors", "2,2.5"];
    let bins = ["--bin-shape", "2,2", "--json"];
    let made = home.json(&[&factors[..], &bins].concat())?;
    assert_eq!(made["method"], json!("density"));
    let levels = made["levels"].as_array().map_or(&[][..], Vec::as_slice);
    // A vertex of level 1 represents 4 by 4 points, one of level 2 10 by 10 points.
    for (level, (vertices, bin)) in levels.iter().zip([(25, 4.0), (4, 10.0)]) {
        assert_eq!(level["vertices"], json!(vertices));
        assert_eq!(level["bin_shape"], json!([bin, bin]));
        assert!(
            level["error_bound"]
                .as_f64()
                .is_some_and(|bound| bound <= 2.0 * bin)
        );
    }
    assert_eq!(levels.len(), 2);
    let info = home.json(&["info", "made.zv", "--json", "--count"])?;
    assert_eq!(info["levels"][2]["vertices"], json!(4), "{info}");
    let rows = home.text(&["query", "made.zv", "--level", "1", "--format", "csv"])?;
    assert_eq!(rows.lines().count(), 26);
    for row in rows.lines().skip(1) {
        let numbers: Vec<f64> = row
            .split(',')
            .map(|v| v.parse().unwrap_or(f64::NAN))
            .collect();
        assert_eq!(numbers[2], numbers[0] + 20.0 * numbers[1], "{row}");
    }
    let again = home.text(&["pyramid", "made.zv", "--factors", "2"]);
    assert!(again.is_err_and(|error| error.to_string().contains("level 0 alone")));
    Ok(())
}

#[test]
fn bins_of_points_are_those_of_the_data_and_not_of_storage() -> Result<()> {
    let home = Home::made(&[("../points.csv", table().into())])?;
    // There are a hundred points in a bin. With bins of 10, the first level would have bins of 20 by 20.
    let import = ["import", "points.csv", "made.zv", "--bin-shape", "10,10"];
    home.text(&[&import[..], &["--chunk-shape", "10,10"]].concat())?;
    let made = home.json(&["pyramid", "made.zv", "--factors", "2", "--json"])?;
    // Halves of 10 with one or two positions are 1.25; twice that is 8 by 8 bins over 20 by 20 points.
    assert_eq!(made["levels"][0]["bin_shape"], json!([2.5, 2.5]));
    assert_eq!(made["levels"][0]["vertices"], json!(64));
    home.text(&[
        "validate",
        "made.zv",
        "--level",
        "5",
        "--fail-on",
        "warning",
    ])?;
    let once = ["pyramid", "made.zv", "--replace", "--factors", "20"];
    let ran = home.zvf(&[&once[..], &["--bin-shape", "1,1"]].concat())?;
    // One vertex represents 400 points.
    assert!(ran.stderr.contains("400.0 times fewer"), "{}", ran.stderr);
    Ok(())
}

#[test]
fn the_reference_method_takes_means_and_links_levels() -> Result<()> {
    let home = home()?;
    let text = home.text(&[
        "pyramid",
        "made.zv",
        "--factors",
        "2",
        "--method",
        "reference",
        "--chunk-scale",
        "2",
    ])?;
    assert!(text.contains("level") && text.contains("25"), "{text}");
    let rows = home.text(&[
        "query",
        "made.zv",
        "--level",
        "1",
        "--format",
        "csv",
        "--columns",
        "position",
    ])?;
    let mut found: Vec<&str> = rows.lines().skip(1).collect();
    found.sort_unstable();
    let mut wanted: Vec<String> = (0..25)
        .map(|n| {
            format!(
                "{:.1},{:.1}",
                1.5 + f64::from(n % 5) * 4.0,
                1.5 + f64::from(n / 5) * 4.0
            )
        })
        .collect();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    home.text(&["links", "made.zv", "--delta", "1", "-o", "links.csv"])?;
    let links = std::fs::read_to_string(home.file("links.csv"))?;
    assert_eq!(links.lines().count(), 401);
    Ok(())
}

#[test]
fn what_makes_no_sense_is_usage() -> Result<()> {
    let home = home()?;
    for flags in [
        &["--factors", "0.5"][..],
        &["--factors", "x"],
        &["--factors", "1e308,1e308"],
        &["--factors", "2,2", "--sparsity", "1,2,3"],
        &["--factors", "2", "--chunk-scale", "0"],
        &["--factors", "2", "--chunk-scale", "2x2x2"],
        &["--factors", "2", "--bin-shape", "4,4"],
        &["--factors", "2", "--bin-shape", "2"],
        &["--factors", "2", "--add", "--method", "density"],
        &["--factors", "2", "--add", "--replace"],
        &["--factors", "2", "--refresh"],
        &["--refresh", "--remove"],
        &["--refresh"],
        &["--remove"],
        &[
            "--factors",
            "2",
            "--cross-depth",
            "-2",
            "--method",
            "reference",
        ],
        &[],
    ] {
        let arguments = [&["pyramid", "made.zv"][..], flags].concat();
        assert_eq!(home.zvf(&arguments)?.code, 2, "{flags:?}");
    }
    Ok(())
}

#[test]
fn levels_are_refreshed_replaced_and_removed() -> Result<()> {
    let home = home()?;
    let bins = ["--bin-shape", "2,2"];
    home.text(&[&["pyramid", "made.zv", "--factors", "2"][..], &bins].concat())?;
    let text = home.text(&["pyramid", "made.zv", "--refresh"])?;
    assert!(
        text.contains("1 coarse level, nothing out of date"),
        "{text}"
    );
    // Adds a point in a new bin.
    std::fs::write(home.file("more.csv"), "x,y,n\n33,33,400\n")?;
    home.text(&["edit", "made.zv", "append", "more.csv"])?;
    let done = home.json(&["pyramid", "made.zv", "--refresh", "--json"])?;
    assert_eq!(
        (&done["levels"][0]["vertices"], &done["method"]),
        (&json!(26), &json!("density"))
    );
    assert_eq!(
        (&done["stale_chunks"], &done["seed"]),
        (&json!(1), &json!(null))
    );
    let rows = home.text(&["query", "made.zv", "--level", "1", "--format", "csv"])?;
    assert!(rows.contains(",400\n"), "{rows}");
    // Adds a level with bins of 8.
    let added = home.json(&["pyramid", "made.zv", "--add", "--factors", "2", "--json"])?;
    assert_eq!(added["levels"][1]["bin_shape"], json!([8.0, 8.0]));
    assert_eq!(
        (&added["levels"][0], &added["levels_before"]),
        (&done["levels"][0], &json!(1))
    );
    let other = home.json(&[
        "pyramid",
        "made.zv",
        "--replace",
        "--factors",
        "5",
        "--bin-shape",
        "2,2",
        "--json",
    ])?;
    assert_eq!(other["levels"].as_array().map(Vec::len), Some(1));
    assert_eq!(other["levels"][0]["vertices"], json!(5));
    let text = home.text(&["pyramid", "made.zv", "--remove"])?;
    assert!(text.contains("1 coarse level removed"), "{text}");
    let info = home.json(&["info", "made.zv", "--json"])?;
    assert_eq!(info["levels"].as_array().map(Vec::len), Some(1));
    assert!(!home.file("made.zv/1").exists());
    Ok(())
}

#[test]
fn a_tractogram_needs_no_flags() -> Result<()> {
    let home = Home::made(&[])?;
    let file =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/real/tracks300.trk");
    home.text(&["import", &file.to_string_lossy(), "made.zv"])?;
    let text = home.text(&["pyramid", "made.zv", "--factors", "2,2"])?;
    assert!(
        text.contains("half of the steps between neighbours are"),
        "{text}"
    );
    let info = home.json(&["info", "made.zv", "--json", "--count"])?;
    let counts: Vec<u64> = (0..3)
        .filter_map(|level| info["levels"][level]["vertices"].as_u64())
        .collect();
    // Each level has fewer vertices, but more than the two ends of 300 lines.
    assert_eq!(counts[0], 14_576);
    assert!(
        counts[1] * 3 < counts[0] && counts[2] < counts[1] && counts[2] > 600,
        "{counts:?}"
    );
    // The next levels are computed from the declared bins.
    let again = home.json(&[
        "pyramid",
        "made.zv",
        "--replace",
        "--factors",
        "2,2",
        "--json",
    ])?;
    assert_eq!(again["levels"][1]["vertices"], json!(counts[2]));
    Ok(())
}

#[test]
fn levels_that_an_edit_left_behind_are_stale_and_no_errors() -> Result<()> {
    let home = home()?;
    std::fs::write(
        home.file("lines.csv"),
        "object_id,x,y\n1,0,0\n1,1,3\n1,2,0\n2,5,5\n2,6,8\n2,7,5\n",
    )?;
    let import = [
        &["import", "lines.csv", "lines.zv", "--kind", "polyline"][..],
        &["--object-column", "object_id", "--chunk-shape", "10,10"],
    ];
    home.text(&import.concat())?;
    std::fs::write(home.file("more.csv"), "object_id,x,y\n9,1,1\n9,2,2\n")?;
    let bins = ["--factors", "1", "--bin-shape", "2.5,2.5"];
    home.text(&[&["pyramid", "lines.zv"][..], &bins].concat())?;
    // First level 0 gets more objects than the coarse level, whose ids and object count are unchanged. Then it has fewer vertices than that level.
    for edit in [
        &["edit", "lines.zv", "append", "more.csv"][..],
        &["edit", "lines.zv", "delete", "1", "9"],
    ] {
        home.text(edit)?;
        let found = home.json(&["validate", "lines.zv", "--level", "5", "--json"])?;
        let titles = found["findings"].as_array().map_or(&[][..], Vec::as_slice);
        assert!(!titles.is_empty(), "{found}");
        assert!(
            titles
                .iter()
                .all(|one| one["title"] == json!("level-stale")),
            "{found}"
        );
    }
    home.text(&["pyramid", "lines.zv", "--refresh"])?;
    let whole = [
        "validate",
        "lines.zv",
        "--level",
        "5",
        "--fail-on",
        "warning",
    ];
    home.text(&whole)?;
    Ok(())
}

/// A square sheet of triangles, as object 2, and beside it a strip, 152 long and 1 wide, as object 1. With bins of 8, no face of the strip
/// has three different vertices.
#[test]
fn the_bound_of_a_mesh_includes_parts_that_vanished() -> Result<()> {
    let (mut vertices, mut faces) = ("object_id,x,y,z\n".to_owned(), "a,b,c\n".to_owned());
    let mut positions = Vec::new();
    for n in 0..20 {
        for y in [1, 2] {
            positions.push((1, [n * 8 + 1, y, 1]));
        }
        if n < 19 {
            let [a, b, c, d] = [0, 1, 2, 3].map(|corner| 2 * n + corner);
            faces.push_str(&format!("{a},{b},{c}\n{b},{d},{c}\n"));
        }
    }
    for n in 0..400 {
        positions.push((2, [n % 20 * 2, n / 20 * 2, 40]));
        if n % 20 < 19 && n < 380 {
            let [a, b, c, d] = [0, 1, 20, 21].map(|corner| 40 + n + corner);
            faces.push_str(&format!("{a},{b},{c}\n{b},{d},{c}\n"));
        }
    }
    for (object, [x, y, z]) in &positions {
        vertices.push_str(&format!("{object},{x},{y},{z}\n"));
    }
    let files = [("../v.csv", vertices.into()), ("../f.csv", faces.into())];
    let home = Home::made(&files)?;
    home.text(&[
        "import",
        "v.csv",
        "m.zv",
        "--faces",
        "f.csv",
        "--chunk-shape",
        "64,64,64",
    ])?;
    let line = ["pyramid", "m.zv", "--factors", "2", "--bin-shape", "4,4,4"];
    let made = home.json(&[&line[..], &["--cross-links", "implicit", "--json"]].concat())?;
    let level = &made["levels"][0];
    let bound = level["error_bound"].as_f64().unwrap_or_default();
    let rows = home.text(&[
        "query",
        "m.zv",
        "--level",
        "1",
        "--columns",
        "object_id,position",
        "--format",
        "csv",
    ])?;
    let rows: Vec<Vec<f64>> = rows
        .lines()
        .skip(1)
        .map(|row| row.split(',').filter_map(|one| one.parse().ok()).collect())
        .collect();
    let mut farthest = 0.0_f64;
    for (object, position) in &positions {
        let own = rows.iter().filter(|row| row[0] == f64::from(*object));
        let far = own.map(|row| {
            let axes = row.iter().skip(1).zip(position);
            let sum: f64 = axes.map(|(a, b)| (a - f64::from(*b)).powi(2)).sum();
            sum.sqrt()
        });
        farthest = farthest.max(far.fold(f64::INFINITY, f64::min));
    }
    // One vertex of the strip remains, at one of its ends.
    assert!(
        farthest >= 152.0 && farthest <= bound && bound < 153.0,
        "{farthest}, {made}"
    );
    let warnings = made["warnings"].to_string();
    assert!(
        warnings.contains(
            "level 1: 38 of 440 vertices in the finer level, of 1 object, are in parts of the mesh"
        ),
        "{made}"
    );
    // The vertices that vanished have no links.
    let links = home.json(&["links", "m.zv", "--delta", "1", "--limit", "0", "--json"])?;
    assert_eq!(links["records"], json!(402));
    // If nothing vanishes, nothing is reported.
    home.text(&[
        "import",
        "v.csv",
        "whole.zv",
        "--faces",
        "f.csv",
        "--chunk-shape",
        "64,64,64",
    ])?;
    home.text(&["edit", "whole.zv", "delete", "1"])?;
    let line = [
        "pyramid",
        "whole.zv",
        "--factors",
        "2",
        "--bin-shape",
        "4,4,4",
    ];
    let made = home.json(&[&line[..], &["--json"]].concat())?;
    assert_eq!(made["warnings"], json!([]), "{made}");
    Ok(())
}

#[test]
fn levels_that_the_root_does_not_name_are_removed() -> Result<()> {
    let rows: String = (0..40).map(|row| format!("{row},{row},1\n")).collect();
    let home = Home::made(&[("../p.csv", format!("x,y,z\n{rows}").into_bytes())])?;
    let shape = ["--chunk-shape", "20,20,20"];
    home.text(&[&["import", "p.csv", "p.zv"][..], &shape].concat())?;
    home.text(&["pyramid", "p.zv", "--factors", "2"])?;
    let path = home.file("p.zv/zarr.json");
    let mut root: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    let datasets = root["attributes"]["multiscales"][0]["datasets"].as_array_mut();
    datasets.context("datasets")?.truncate(1);
    std::fs::write(&path, root.to_string())?;
    home.text(&["pyramid", "p.zv", "--remove"])?;
    ensure!(!home.file("p.zv/1").exists());
    home.text(&["validate", "p.zv", "--level", "5"])?;
    Ok(())
}

/// A kill while another program takes the change over can leave cells of a level without its document and without the marker.
#[test]
fn what_is_left_of_a_level_is_removed() -> Result<()> {
    let home = home()?;
    let made = ["--factors", "2", "--bin-shape", "2,2"];
    home.text(&["copy", "made.zv", "levels.zv", "-q"])?;
    home.text(&[&["pyramid", "levels.zv"][..], &made].concat())?;
    for change in [&["--remove"][..], &["--replace", "--factors", "2"]] {
        for (key, bytes) in files(&home.file("levels.zv/1"))? {
            if key == "zarr.json" {
                continue;
            }
            let path = home.file("made.zv/1").join(key);
            std::fs::create_dir_all(path.parent().context("no folder")?)?;
            std::fs::write(path, bytes)?;
        }
        let ran = home.zvf(&[&["pyramid", "made.zv"][..], &made].concat())?;
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        ensure!(ran.stderr.contains("--replace"), "{}", ran.stderr);
        home.text(&[&["pyramid", "made.zv"][..], change].concat())?;
        home.validates("made.zv")?;
    }
    let info = home.json(&["info", "made.zv", "--json"])?;
    assert_eq!(info["levels"].as_array().map(Vec::len), Some(2));
    Ok(())
}

/// Leaves the marker of a run that was killed after its commit.
fn marked(home: &Home) -> Result<()> {
    let root: Value = serde_json::from_slice(&std::fs::read(home.file("made.zv/zarr.json"))?)?;
    let id = root["attributes"]["zvf_edited"].as_str();
    let marker = json!({"details": {"edit": id.context("no edit")?}});
    let path = home.file("made.zv/zvf-unfinished.json");
    Ok(std::fs::write(path, marker.to_string())?)
}

#[test]
fn a_committed_run_is_completed_and_not_repeated() -> Result<()> {
    let home = home()?;
    let bins = ["--bin-shape", "2,2"];
    home.text(&[&["pyramid", "made.zv", "--factors", "2"][..], &bins].concat())?;
    let add = ["pyramid", "made.zv", "--add", "--factors", "2"];
    let clear = ["--clear-leftovers", "--json"];
    home.text(&add)?;
    marked(&home)?;
    let done = home.json(&[&add[..], &clear].concat())?;
    assert_eq!(
        (&done["completed"], &done["levels_before"]),
        (&json!(true), &json!(2))
    );
    // Another job follows what it completes.
    marked(&home)?;
    let other = ["pyramid", "made.zv", "--replace", "--factors", "5"];
    let done = home.json(&[&other[..], &bins, &clear].concat())?;
    assert_eq!(done["completed"], json!(false));
    assert_eq!(done["levels"].as_array().map(Vec::len), Some(1));
    let remove = ["pyramid", "made.zv", "--remove"];
    home.text(&remove)?;
    marked(&home)?;
    let text = home.text(&[&remove[..], &["--clear-leftovers"]].concat())?;
    ensure!(text.contains("is completed now"), "{text}");
    home.validates("made.zv")?;
    Ok(())
}
