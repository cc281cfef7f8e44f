//! `zvf group`, by the labels at the ends of lines.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::masks::{F32, TURNED, U8, at, labels, nifti};
use crate::resample::{Lines, length, lines, near};
use crate::run::{Home, STORE, command};

const AFFINE: &str = "0,20,0,10,20,0,0,10,0,0,20,10";

/// Ids, lengths and means of `fa` by pair of labels.
type Pairs = BTreeMap<(u8, u8), Vec<(i64, f64, f64)>>;

/// The pairs of all lines, the number of lines without a pair, and the number of ends outside.
fn pairs(all: &Lines) -> Result<(Pairs, u64, u64)> {
    let (mut found, mut none, mut outside) = (Pairs::new(), 0, 0);
    for (id, rows) in all {
        let of = |row: Option<&(Vec<f64>, Vec<String>)>| -> Result<Option<u8>> {
            let (place, _) = row.context("a row")?;
            Ok(at([place[0], place[1], place[2]]))
        };
        let ends = [of(rows.first())?, of(rows.last())?];
        outside += ends.iter().filter(|end| end.is_none()).count() as u64;
        let [a, b] = ends.map(|end| end.unwrap_or(0));
        if a == 0 || b == 0 {
            none += 1;
            continue;
        }
        let whole = length(rows.iter().map(|(place, _)| place));
        let values = rows.iter().map(|(_, values)| values[0].parse::<f64>());
        let values: Vec<f64> = values.collect::<Result<_, _>>()?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let own = found.entry((a.min(b), a.max(b))).or_default();
        own.push((*id, whole, mean));
    }
    Ok((found, none, outside))
}

fn members(home: &Home, group: &str) -> Result<Vec<i64>> {
    let text = home.text(&[
        "query",
        STORE,
        "--groups",
        group,
        "--columns",
        "object_id",
        "--format",
        "csv",
    ])?;
    let mut ids: Vec<i64> = text
        .lines()
        .skip(1)
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// A store of many short lines with the attribute `fa` in a volume of labels, and the volume in several forms.
fn made() -> Result<Home> {
    let mut table = String::from("x,y,z,id,fa\n");
    let mut state = 11_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 40) as f64 / (1_u64 << 24) as f64
    };
    for id in 0..400_i64 {
        let mut place = [
            random() * 160.0 - 5.0,
            random() * 180.0 - 5.0,
            random() * 130.0 - 5.0,
        ];
        for _ in 0..2 + id % 5 {
            let [x, y, z] = place;
            table.push_str(&format!(
                "{x:.3},{y:.3},{z:.3},{},{:.4}\n",
                3 * id - 50,
                random()
            ));
            place
                .iter_mut()
                .for_each(|one| *one += random() * 40.0 - 20.0);
        }
    }
    let floats = labels().into_iter().flat_map(|one| match one {
        0 => f32::NAN.to_le_bytes(),
        one => f32::from(one).to_le_bytes(),
    });
    let files = [
        ("../t.csv", table.into_bytes()),
        ("../labels.nii", nifti(&[8, 7, 6], U8, &labels(), TURNED, 2)),
        (
            "../floats.nii",
            nifti(&[8, 7, 6], F32, &floats.collect::<Vec<u8>>(), TURNED, 2),
        ),
    ];
    let home = Home::made(&files)?;
    let import = [
        "import",
        "t.csv",
        STORE,
        "--kind",
        "streamline",
        "--object-column",
        "id",
    ];
    home.text(&[&import[..], &["--unit", "millimeter", "-q"]].concat())?;
    for form in ["labels.tet", "labels.b2nd"] {
        home.text(&["volume", "convert", "labels.nii", form, "-q"])?;
    }
    Ok(home)
}

#[test]
fn lines_are_grouped_by_the_labels_at_their_ends() -> Result<()> {
    let home = made()?;
    home.text(&["edit", STORE, "group", "add", "kept", "1"])?;
    let (wanted, none, outside) = pairs(&lines(&home, STORE, &["fa"])?)?;
    ensure!(
        wanted.len() == 6 && none > 50 && outside > 5,
        "{wanted:?} {none} {outside}"
    );
    for (volume, more) in [
        ("labels.nii", &[][..]),
        ("floats.nii", &["--replace"]),
        ("labels.tet", &["--affine", AFFINE, "--replace"]),
        ("labels.b2nd", &["--affine", "labels.nii", "--replace"]),
    ] {
        let line = [
            "group", STORE, "net", "--ends", volume, "--matrix", "m.csv", "--mean", "fa", "--json",
            "-q",
        ];
        let told = home.json(&[&line[..], more].concat())?;
        assert_eq!(told["objects"], json!(400), "{volume}");
        assert_eq!(
            (&told["background"], &told["ends_outside"]),
            (&json!(none), &json!(outside))
        );
        assert_eq!(
            (&told["groups"], &told["grouped"]),
            (&json!(6), &json!(400 - none))
        );
        let replaced = if more.is_empty() { 0 } else { 6 };
        assert_eq!(told["groups_replaced"], json!(replaced), "{volume}");
        let text = fs::read_to_string(home.file("m.csv"))?;
        let mut rows = text.lines();
        assert_eq!(
            rows.next(),
            Some("label_a,label_b,count,mean_length,mean_fa")
        );
        for ((a, b), own) in &wanted {
            let ids: Vec<i64> = own.iter().map(|(id, _, _)| *id).collect();
            assert_eq!(
                members(&home, &format!("net/{a}-{b}"))?,
                ids,
                "{volume} {a} {b}"
            );
            let row: Vec<f64> = rows
                .next()
                .context("a row")?
                .split(',')
                .map(str::parse)
                .collect::<Result<_, _>>()?;
            let count = own.len() as f64;
            let sum = |pick: fn(&(i64, f64, f64)) -> f64| own.iter().map(pick).sum::<f64>();
            let expected = [
                f64::from(*a),
                f64::from(*b),
                count,
                sum(|one| one.1) / count,
                sum(|one| one.2) / count,
            ];
            ensure!(near(&row, &expected), "{volume}: {row:?} {expected:?}");
        }
        assert_eq!(rows.next(), None);
    }
    assert_eq!(members(&home, "kept")?, [1]);
    home.validates(STORE)?;
    Ok(())
}

#[test]
fn groups_that_are_there_are_an_error_and_stay() -> Result<()> {
    let home = made()?;
    let line = ["group", STORE, "net", "--ends", "labels.nii"];
    home.text(&line)?;
    let before = members(&home, "net/3-12")?;
    let ran = home.zvf(&[&line[..], &["--matrix", "again.csv"]].concat())?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    ensure!(ran.stderr.contains("--replace"), "{}", ran.stderr);
    ensure!(!home.file("again.csv").exists());
    assert_eq!(members(&home, "net/3-12")?, before);
    // Another name makes separate groups.
    home.text(&["group", STORE, "net2", "--ends", "labels.nii"])?;
    assert_eq!(members(&home, "net2/3-12")?, before);
    assert_eq!(members(&home, "net/3-12")?, before);
    // If the volume is far away, no line ends in it, which is reported.
    let far = "1,0,0,9000,0,1,0,9000,0,0,1,9000";
    let ran = home.zvf(&[
        "group",
        STORE,
        "far",
        "--ends",
        "labels.b2nd",
        "--affine",
        far,
    ])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ensure!(
        ran.stderr.contains("is the affine right?"),
        "{}",
        ran.stderr
    );
    Ok(())
}

#[test]
fn objects_are_added_by_name_and_id() -> Result<()> {
    let home = made()?;
    home.text(&["group", STORE, "few", "--add", "-50", "-47", "1"])?;
    home.text(&["group", STORE, "few", "--add", "4"])?;
    assert_eq!(members(&home, "few")?, [-50, -47, 1, 4]);
    for line in [
        &["few", "--add", "2"][..],
        &["few"],
        &["few", "--add", "1", "--ends", "labels.nii"],
        &["few", "--add", "1", "--replace"],
        &["few", "--ends", "labels.nii", "--mean", "fa"],
        &["few", "--ends", "labels.nii", "--matrix", "m.txt"],
        &[
            "few",
            "--ends",
            "labels.nii",
            "--matrix",
            "m.csv",
            "--mean",
            "no_such",
        ],
        &["", "--ends", "labels.nii"],
    ] {
        let ran = home.zvf(&[&["group", STORE], line].concat())?;
        assert_eq!(ran.code, 2, "{line:?}: {}", ran.stderr);
    }
    assert_eq!(members(&home, "few")?, [-50, -47, 1, 4]);
    Ok(())
}

#[test]
fn what_has_no_ends_or_no_labels_is_refused() -> Result<()> {
    for case in ["skeleton", "points_ids", "mesh", "graph"] {
        let home = Home::to_damage(case)?;
        fs::write(
            home.file("labels.nii"),
            nifti(&[8, 7, 6], U8, &labels(), TURNED, 2),
        )?;
        let ran = home.zvf(&["group", STORE, "net", "--ends", "labels.nii"])?;
        assert_eq!(ran.code, 2, "{case}: {}", ran.stderr);
        ensure!(
            ran.stderr.contains("lines, polylines or streamlines"),
            "{case}: {}",
            ran.stderr
        );
    }
    let home = made()?;
    // Values such as 3.5 are not labels.
    let halves: Vec<u8> = labels()
        .into_iter()
        .flat_map(|one| (f32::from(one) + 0.5).to_le_bytes())
        .collect();
    fs::write(
        home.file("halves.nii"),
        nifti(&[8, 7, 6], F32, &halves, TURNED, 2),
    )?;
    let ran = home.zvf(&["group", STORE, "net", "--ends", "halves.nii"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    ensure!(ran.stderr.contains("whole numbers"), "{}", ran.stderr);
    // The store has no unfinished edit.
    home.text(&["group", STORE, "net", "--ends", "labels.nii"])?;
    Ok(())
}

#[test]
fn groups_of_a_killed_program_have_their_table() -> Result<()> {
    let home = made()?;
    let line = ["--ends", "labels.nii", "--matrix", "m.csv", "-q"];
    let mut is_made = Vec::new();
    for moment in 0..12 {
        home.text(&["copy", STORE, "again.zv", "-q"])?;
        let mut child = command(
            &home.path(),
            &[&["group", "again.zv", "net"], &line[..]].concat(),
        )
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
        // The last one ends by itself.
        if moment < 11 {
            std::thread::sleep(Duration::from_millis(8 * moment));
            child.kill()?;
        }
        child.wait()?;
        home.text(&["edit", "again.zv", "resume", "-q"])?;
        let ran = home.zvf(&["query", "again.zv", "--groups", "net/3-12", "-q"])?;
        is_made.push(ran.code == 0);
        ensure!(
            ran.code != 0 || home.file("m.csv").exists(),
            "moment {moment}: groups without a table"
        );
        fs::remove_dir_all(home.file("again.zv"))?;
        let _ = fs::remove_file(home.file("m.csv"));
    }
    assert_eq!(is_made.last(), Some(&true));
    Ok(())
}

#[test]
fn the_marker_of_a_dead_writer_is_said_with_what_helps() -> Result<()> {
    let home = made()?;
    let marker = home.file(STORE).join("zvf-unfinished.json");
    fs::write(&marker, r#"{"details": {"edit": "a1"}}"#)?;
    for line in [
        &["group", STORE, "few", "--add", "1"][..],
        &["sample", STORE, "--volume", "labels.nii", "--as", "label"],
    ] {
        let ran = home.zvf(line)?;
        assert_eq!(ran.code, 75, "{line:?}: {}", ran.stderr);
        ensure!(
            ran.stderr.contains("`zvf edit STORE resume`"),
            "{line:?}: {}",
            ran.stderr
        );
    }
    home.text(&["edit", STORE, "resume"])?;
    home.text(&["sample", STORE, "--volume", "labels.nii", "--as", "label"])?;
    Ok(())
}
