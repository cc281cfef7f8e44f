//! Files with values only, beside a tractogram: each value is assigned to its point or streamline, or the file is refused.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::run::Home;

/// Number of points of each streamline, in the order of the file.
const LENGTHS: [usize; 4] = [5, 2, 9, 4];

/// The value of point `number`, exact in float32.
fn value(number: usize) -> f32 {
    f32::from(u16::try_from(number).unwrap_or(0)) * 0.25 - 1.5
}

/// A store of streamlines that cross chunks back and forth; an attribute numbers their points as in the file.
fn streamlines() -> Result<Home> {
    let (mut text, mut number) = ("object_id,x,y,z,number\n".to_owned(), 0);
    for (at, length) in LENGTHS.iter().enumerate() {
        for point in 0..*length {
            let x = (point * 17 + at * 5) % 40;
            text += &format!("{},{x},{point},{at},{number}\n", 10 + at * 3);
            number += 1;
        }
    }
    let home = Home::made(&[("../s.csv", text.into())])?;
    let shape = ["--chunk-shape", "10,10,10", "-q"];
    home.text(
        &[
            &["import", "s.csv", "s.zv", "--kind", "streamline"],
            &shape[..],
        ]
        .concat(),
    )?;
    Ok(home)
}

/// An array of NumPy.
fn npy(rows: usize, width: usize, values: impl Iterator<Item = f32>) -> Vec<u8> {
    let shape = match width {
        1 => format!("({rows},)"),
        width => format!("({rows}, {width})"),
    };
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap_or(0).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(values.flat_map(f32::to_le_bytes));
    bytes
}

/// Track scalars as MRtrix writes them, for streamlines of these lengths.
fn tsf(lengths: &[usize], count: usize) -> Vec<u8> {
    let header =
        format!("mrtrix track scalars\ndatatype: Float32LE\ncount: {count}\nfile: . 90\nEND\n");
    let mut bytes = format!("{header:<90}").into_bytes();
    let mut values = (0..).map(value);
    for length in lengths {
        let own = values.by_ref().take(*length).chain([f32::NAN]);
        bytes.extend(own.flat_map(f32::to_le_bytes));
    }
    bytes.extend(f32::INFINITY.to_le_bytes());
    bytes
}

/// Sets an attribute of a new type from a file.
fn set(home: &Home, name: &str, file: &str, more: &[&str]) -> Result<crate::run::Ran> {
    let args = [
        "edit",
        "s.zv",
        "set-attribute",
        name,
        "--type",
        "float32",
        "--from",
        file,
    ];
    home.zvf(&[&args[..], more].concat())
}

/// Lines of values: one for each streamline.
fn lines(lengths: &[usize]) -> String {
    let (mut text, mut values) = (
        "# command_history: tcksample\n".to_owned(),
        (0..).map(value),
    );
    for length in lengths {
        let own: Vec<String> = values
            .by_ref()
            .take(*length)
            .map(|one| one.to_string())
            .collect();
        text += &(own.join(" ") + "\n");
    }
    text
}

/// Asserts that each point has the value of its number.
fn check(home: &Home) -> Result<()> {
    let text = home.text(&["query", "s.zv", "--format", "csv", "--columns", "number,fa"])?;
    let mut seen = Vec::new();
    for row in text.lines().skip(1) {
        let (number, found) = row.split_once(',').context("a row of one column")?;
        let number = number.parse()?;
        assert_eq!(found.parse::<f32>()?, value(number), "{row}");
        seen.push(number);
    }
    // Rows are in the order of chunks, not of the file.
    assert!(!seen.is_sorted());
    assert_eq!(seen.len(), LENGTHS.iter().sum::<usize>());
    home.text(&["validate", "s.zv", "--level", "5"])?;
    Ok(())
}

#[test]
fn values_of_points_go_along_their_streamlines() -> Result<()> {
    let points = LENGTHS.iter().sum();
    let flat: String = (0..points)
        .map(|number| format!("{}\n", value(number)))
        .collect();
    for (name, bytes, more) in [
        (
            "fa.npy",
            npy(points, 1, (0..).map(value).take(points)),
            "--by-object-order",
        ),
        ("fa.txt", lines(&LENGTHS).into_bytes(), "--by-object-order"),
        ("fa.csv", flat.into_bytes(), "--by-object-order"),
        // The file states which values belong to one streamline.
        ("fa.tsf", tsf(&LENGTHS, 4), "--quiet"),
    ] {
        let home = streamlines()?;
        std::fs::write(home.file(name), bytes)?;
        let ran = set(&home, "fa", name, &[more])?;
        assert_eq!((ran.code, &*ran.stderr), (0, ""), "{name}");
        check(&home).with_context(|| name.to_owned())?;
    }
    Ok(())
}

#[test]
fn values_of_streamlines_are_those_of_objects() -> Result<()> {
    let weights = [0.5, 1.25, -3.0, 8.0];
    let down = weights.map(|one| one.to_string()).join("\n");
    let across =
        "# command_history: tcksift2\n".to_owned() + &weights.map(|one| one.to_string()).join(" ");
    let array = npy(4, 1, weights.into_iter());
    for (name, bytes) in [
        ("w.txt", down.into_bytes()),
        ("w.csv", across.into_bytes()),
        ("w.npy", array),
    ] {
        let home = streamlines()?;
        std::fs::write(home.file(name), bytes)?;
        let refused = set(&home, "w", name, &["--object"])?;
        assert!(
            refused.code == 2 && refused.stderr.contains("--by-order"),
            "{refused:?}"
        );
        let ran = set(&home, "w", name, &["--object", "--by-order"])?;
        assert_eq!(ran.code, 0, "{ran:?}");
        let text = home.text(&["objects", "s.zv", "--json"])?;
        let text: Value = serde_json::from_str(&text)?;
        let objects = text["objects"].as_array().context("no objects")?;
        assert_eq!(objects.len(), LENGTHS.len());
        for ((at, weight), object) in (0..).zip(weights).zip(objects) {
            let found = (&object["object_id"], &object["w"]);
            assert_eq!(
                found,
                (&json!(10 + at * 3), &json!(weight)),
                "{name}: {object}"
            );
        }
    }
    Ok(())
}

#[test]
fn files_of_another_tractogram_are_refused() -> Result<()> {
    let home = streamlines()?;
    let before = home.text(&["query", "s.zv", "--format", "csv"])?;
    let swapped = [5, 2, 4, 9];
    let short = npy(19, 1, (0..).map(value).take(19));
    let mut cut = tsf(&LENGTHS, 4);
    cut.truncate(cut.len() - 2);
    let mixed = lines(&LENGTHS) + "x\n";
    for (name, bytes, more, wanted) in [
        (
            "a.tsf",
            tsf(&LENGTHS[..3], 3),
            &[][..],
            "values of 3 objects, expected 4",
        ),
        (
            "b.tsf",
            tsf(&swapped, 4),
            &[],
            "4 values of object 16, expected 9",
        ),
        (
            "c.tsf",
            tsf(&LENGTHS, 5),
            &[],
            "found values of 4 streamlines, expected 5",
        ),
        ("d.tsf", cut, &[], "the infinity that ends the file"),
        (
            "e.txt",
            lines(&swapped).into_bytes(),
            &["--by-object-order"],
            "4 values of object 16",
        ),
        (
            "f.npy",
            short,
            &["--by-object-order"],
            "found 19 rows, expected 20",
        ),
        (
            "g.txt",
            mixed.into_bytes(),
            &["--by-object-order"],
            "found \"x\", expected a number",
        ),
        (
            "h.txt",
            lines(&LENGTHS).into_bytes(),
            &["--by-order"],
            "lines of 5 and of 2 values",
        ),
        (
            "i.tsf",
            tsf(&LENGTHS, 4),
            &["--object"],
            "has values of vertices",
        ),
    ] {
        std::fs::write(home.file(name), bytes)?;
        let ran = set(&home, "fa", name, more)?;
        assert!(
            ran.code != 0 && ran.stderr.contains(wanted),
            "{name}: {ran:?}"
        );
    }
    assert_eq!(home.text(&["query", "s.zv", "--format", "csv"])?, before);
    Ok(())
}
