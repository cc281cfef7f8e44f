//! Every output format is written and read back.

use std::fs::{self, File};

use anyhow::{Context, Result};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_ipc::reader::FileReader;
use serde_json::Value;

use crate::run::{Home, STORE, command};

/// All batches of an Arrow file.
fn arrow(home: &Home, name: &str) -> Result<Vec<RecordBatch>> {
    let file = File::open(home.file(name)).with_context(|| name.to_owned())?;
    Ok(FileReader::try_new(file, None)?.collect::<Result<_, _>>()?)
}

fn rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

#[test]
fn a_directory_holds_the_tables_of_the_geometry() -> Result<()> {
    for case in zvf_testkit::cases()? {
        let home = Home::new(&case)?;
        let summary = home.json(&["query", STORE, "-o", "out", "--json"])?;
        let truth = zvf_testkit::truth(&case)?;
        let vertices = rows(&arrow(&home, "out/vertices.arrow")?);
        assert_eq!(vertices, truth.positions.rows(), "{case}");
        let files: Vec<&str> = summary["files"]
            .as_array()
            .context("files")?
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let has = |name: &str| home.file("out").join(name).is_file();
        assert_eq!(has("links.arrow"), !summary["links"].is_null(), "{case}");
        assert_eq!(
            has("objects.arrow"),
            !summary["objects"].is_null(),
            "{case}"
        );
        assert_eq!(
            files.len(),
            fs::read_dir(home.file("out"))?.count(),
            "{case}: {files:?}"
        );
        if let Some(table) = truth.edges.as_ref().or(truth.faces.as_ref()) {
            let batches = arrow(&home, "out/links.arrow")?;
            assert_eq!(rows(&batches), table.rows(), "{case}");
            for batch in &batches {
                let ends = batch
                    .column_by_name("vertices")
                    .context("vertices")?
                    .as_fixed_size_list();
                assert_eq!(ends.value_length() as usize, table.width(), "{case}");
                let ends = ends.values().as_primitive::<UInt64Type>();
                assert!(
                    ends.values().iter().all(|row| *row < vertices as u64),
                    "{case}"
                );
            }
        }
        if let Some(ids) = &truth.object_ids {
            let batches = arrow(&home, "out/objects.arrow")?;
            let distinct: std::collections::BTreeSet<i64> = ids.i64s()?.into_iter().collect();
            assert!(
                rows(&batches) <= distinct.len() || distinct.len() < 2,
                "{case}"
            );
            assert!(
                batches
                    .iter()
                    .all(|batch| batch.column_by_name("object_id").is_some())
            );
        }
    }
    Ok(())
}

#[test]
fn csv_ndjson_arrow_and_npy_say_the_same() -> Result<()> {
    let home = Home::new("points_ids")?;
    let base = ["query", STORE, "--bbox", "-60,-60,-60:80,80,80", "-o"];
    let with = |out: &str| -> Result<String> {
        let mut args = base.to_vec();
        args.push(out);
        home.text(&args)
    };
    for out in ["t.csv", "t.ndjson", "t.arrow", "t.npy"] {
        assert_eq!(with(out)?, "", "{out}: data goes to the file");
    }
    let batches = arrow(&home, "t.arrow")?;
    let count = rows(&batches);
    assert!(count > 20);
    let csv = fs::read_to_string(home.file("t.csv"))?;
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().context("a header")?.split(',').collect();
    assert_eq!(header.get(..3), Some(&["x", "y", "z"][..]), "{header:?}");
    let ndjson = fs::read_to_string(home.file("t.ndjson"))?;
    assert_eq!(
        (csv.lines().count() - 1, ndjson.lines().count()),
        (count, count)
    );
    let npy = fs::read(home.file("t.npy"))?;
    assert_eq!(npy.get(..8), Some(&b"\x93NUMPY\x01\x00"[..]));
    let head = String::from_utf8_lossy(npy.get(10..128).context("a head")?).into_owned();
    assert_eq!(
        head.trim(),
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, 3), }}")
    );
    let (positions, rest) = npy.get(128..).context("rows")?.as_chunks::<12>();
    assert_eq!((positions.len(), rest.len()), (count, 0));
    for ((line, object), position) in lines.zip(ndjson.lines()).zip(positions) {
        let floats: Vec<f32> = position
            .as_chunks::<4>()
            .0
            .iter()
            .map(|b| f32::from_le_bytes(*b))
            .collect();
        let fields: Vec<f32> = line
            .split(',')
            .take(3)
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        let object: Value = serde_json::from_str(object)?;
        let listed: Vec<f32> = object["position"]
            .as_array()
            .context("position")?
            .iter()
            .filter_map(Value::as_f64)
            .map(|v| v as f32)
            .collect();
        assert_eq!((&floats, &floats), (&fields, &listed));
        assert_eq!(
            header.len() - 2,
            object.as_object().map_or(0, serde_json::Map::len)
        );
    }
    Ok(())
}

#[test]
fn stdout_has_the_bytes_of_the_file() -> Result<()> {
    let home = Home::new("points_2d_f8")?;
    for format in ["csv", "ndjson", "arrow", "npy"] {
        let name = format!("t.{format}");
        home.text(&["query", STORE, "-o", &name])?;
        let ran = home.zvf(&["query", STORE, "--format", format])?;
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        assert!(ran.stdout == fs::read(home.file(&name))?, "{format}");
    }
    let bytes = fs::read(home.file("t.npy"))?;
    assert!(String::from_utf8_lossy(&bytes).contains("'<f8'"));
    Ok(())
}

#[test]
fn the_same_query_gives_the_same_bytes() -> Result<()> {
    for case in ["graph", "real_tractogram", "real_synapses"] {
        let home = Home::new(case)?;
        for round in ["a", "b"] {
            home.text(&[
                "query",
                STORE,
                "-o",
                round,
                "--columns",
                "position,chunk,row,fragment,object_id,attributes",
            ])?;
        }
        for entry in fs::read_dir(home.file("a"))? {
            let name = entry?.file_name();
            assert!(
                fs::read(home.file("a").join(&name))? == fs::read(home.file("b").join(&name))?,
                "{case} {name:?}"
            );
        }
        let once = home.text(&["query", STORE, "--json", "--concurrency", "1"])?;
        assert_eq!(once, home.text(&["query", STORE, "--json"])?, "{case}");
    }
    Ok(())
}

#[test]
fn what_fails_leaves_nothing_behind() -> Result<()> {
    let home = Home::to_damage("points_ids")?;
    // One cell is damaged; it is read after others were written.
    let cells = fs::read_dir(home.file("store.zarrvectors/0/vertices/c/6/6"))?;
    let cell = cells
        .filter_map(|entry| Some(entry.ok()?.path()))
        .max()
        .context("a cell")?;
    fs::write(&cell, b"not zstd")?;
    let before = home.names()?;
    for out in ["t.csv", "t.npy", "t.arrow", "dir"] {
        let ran = home.zvf(&["query", STORE, "-o", out])?;
        assert_eq!(ran.code, 4, "{out}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("vertices") && ran.stderr.lines().count() == 1,
            "{}",
            ran.stderr
        );
        assert_eq!(home.names()?, before, "{out}");
    }
    // An existing target is unchanged.
    fs::write(home.file("t.csv"), "old")?;
    assert_eq!(home.zvf(&["query", STORE, "-o", "t.csv"])?.code, 4);
    assert_eq!(fs::read_to_string(home.file("t.csv"))?, "old");
    Ok(())
}

#[test]
fn directories_of_others_are_not_touched() -> Result<()> {
    let home = Home::new("graph")?;
    fs::create_dir(home.file("thesis"))?;
    fs::write(home.file("thesis/chapter.tex"), "…")?;
    let ran = home.zvf(&["query", STORE, "-o", "thesis"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(home.file("thesis/chapter.tex").is_file());
    // An earlier result is replaced.
    home.text(&["query", STORE, "-o", "out"])?;
    home.text(&["query", STORE, "-o", "out", "--limit", "3"])?;
    assert_eq!(rows(&arrow(&home, "out/vertices.arrow")?), 3);
    Ok(())
}

#[test]
fn a_reader_that_goes_away_is_no_failure() -> Result<()> {
    let home = Home::new("real_tractogram")?;
    for args in [
        &["query", STORE, "--format", "csv"][..],
        &["info", STORE],
        &["inspect", STORE],
    ] {
        let mut child = command(&home.path(), args)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()?;
        drop(child.stdout.take());
        let output = child.wait_with_output()?;
        assert_eq!(
            (
                output.status.code(),
                String::from_utf8(output.stderr)?.as_str()
            ),
            (Some(0), ""),
            "{args:?}"
        );
    }
    Ok(())
}
