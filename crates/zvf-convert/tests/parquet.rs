//! Parquet: files of PyArrow with known values, and files that this crate wrote.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use zvf_convert::export::ExportOptions;
use zvf_convert::{Format, Import, Options};
use zvf_write::{Kind, NumberType};

use crate::broken;
use crate::support::{Folder, column, open, refused, rows, small, sorted, texts};
use zvf_testkit::sample::Sample;

const ROWS: i16 = 40;
const NAMES: [&str; 7] = [
    "position", "cell", "kind", "flag", "score", "small", "color",
];

fn made(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/tables")
        .join(name)
}

/// The rows of the files, as `xtask/python/tables.py` states them.
fn want() -> Vec<Vec<String>> {
    let row = |r: i16| {
        let at = f32::from(r);
        let score = f64::from(r) / 8.0;
        texts([
            &format!(
                "{:?} {:?} {:?}",
                at * 0.5 - 4.0,
                f32::from(r * 7 % 11),
                f32::from(r % 3) - 0.25
            ),
            &(r / 8 - 2).to_string(),
            ["axon", "null", "soma"][usize::try_from(r % 3).unwrap()],
            if r % 4 == 0 { "1" } else { "0" },
            &if r % 5 == 2 {
                "nan".to_owned()
            } else {
                format!("{score:?}")
            },
            &(3 * r - 50).to_string(),
            &format!("{} {} {}", r, 2 * r, 255 - r),
        ])
        .to_vec()
    };
    sorted((0..ROWS).map(row).collect())
}

fn chunks(spec: &mut zvf_write::StoreSpec) {
    (spec.chunk_shape, spec.bin_shape) = (vec![3.0; 3], None);
}

fn check(vertices: &RecordBatch) {
    assert_eq!(rows(vertices, &NAMES), want());
}

#[test]
fn files_of_pyarrow_are_read_as_they_were_written() {
    for (name, small_type) in [
        ("points", NumberType::I16),
        ("split", NumberType::I16),
        ("plain", NumberType::I16),
    ] {
        let folder = Folder::new();
        let import = open(&[made(&format!("{name}.parquet"))], &small());
        assert_eq!(
            (import.format(), import.vertices()),
            (Format::Parquet, 40),
            "{name}"
        );
        let spec = import.spec();
        assert_eq!(
            (spec.kind, spec.positions),
            (Kind::PointCloud, NumberType::F32)
        );
        let types = spec.vertex_attributes.iter();
        let types: Vec<_> = types
            .map(|one| (one.name.as_str(), one.values, one.channels))
            .collect();
        assert!(
            types.contains(&("small", zvf_write::AttributeType::Number(small_type), 1)),
            "{types:?}"
        );
        assert!(
            types.contains(&("color", zvf_write::AttributeType::Number(NumberType::U8), 3)),
            "{types:?}"
        );
        assert_eq!(
            import.notes(),
            ["column \"score\": 8 missing values become NaN"]
        );
        check(&folder.store(&import, chunks).vertices);
    }
}

#[test]
fn a_store_comes_back_through_parquet() {
    let folder = Folder::new();
    folder.store(&open(&[made("points.parquet")], &small()), chunks);
    let (out, done) = folder.export("out.parquet", &ExportOptions::default());
    assert!(done.notes.is_empty(), "{:?}", done.notes);
    assert_eq!(done.vertices, 40);
    let again = Folder::new();
    let import = open(&[out], &small());
    let axes: Vec<&str> = import
        .spec()
        .axes
        .iter()
        .map(|axis| axis.name.as_str())
        .collect();
    assert_eq!(axes, ["x", "y", "z"]);
    check(&again.store(&import, chunks).vertices);
}

#[test]
fn columns_that_are_not_asked_for_are_not_read() {
    let folder = Folder::new();
    let mut options = small();
    options.object_column = Some("cell".to_owned());
    options.kind = Some(Kind::Polyline);
    options.attributes = Some(vec!["small".to_owned()]);
    let import = open(&[made("points.parquet")], &options);
    assert_eq!(import.objects(), 5);
    let got = folder.store(&import, chunks);
    assert_eq!(got.vertices.num_columns(), 2);
    let third = folder.objects(&[0]);
    let want: Vec<String> = (16..24).map(|r| (3 * r - 50).to_string()).collect();
    assert_eq!(column(&third, "small"), want);
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    let folder = Folder::new();
    // Delta pages are read.
    let import = open(&[made("delta.parquet")], &Options::default());
    let got = folder.store(&import, |spec| {
        (spec.chunk_shape, spec.bin_shape) = (vec![4.0; 2], None);
    });
    let mut small: Vec<i32> = column(&got.vertices, "small")
        .iter()
        .map(|number| number.parse().unwrap())
        .collect();
    small.sort_unstable();
    assert_eq!(small, (0..40).map(|r| 3 * r - 50).collect::<Vec<_>>());
    let whole = std::fs::read(made("edges.parquet")).unwrap();
    for (bytes, said) in [
        (b"PAR2".to_vec(), "byte 0: found other first bytes"),
        (whole[..whole.len() - 1].to_vec(), "found other last bytes"),
        (
            [&whole[..4], &[0xff; 4], b"PAR1"].concat(),
            "found a footer that does not fit",
        ),
        (
            [&whole[..4], &[9; 8], &[8, 0, 0, 0], b"PAR1"].concat(),
            "found bytes that cannot be decoded, expected a footer",
        ),
    ] {
        let (_, text) = refused(&[folder.file("a.parquet", bytes)], &Options::default());
        assert!(text.contains(said), "{text}");
    }
    let (_, text) = refused(&[folder.file("a.parquet", &whole)], &Options::default());
    assert!(
        text.contains("expected a column position, or x and y"),
        "{text}"
    );
}

/// Reads any file: values may differ, but nothing may panic.
fn survive(folder: &Folder, bytes: &[u8]) {
    let mut options = Options::default();
    options.batch = 7;
    if let Ok(import) = Import::open(&[folder.file("b.parquet", bytes)], &options) {
        let _ = broken::read(&import);
    }
}

#[test]
fn damaged_files_are_errors_or_other_values() {
    let folder = Folder::new();
    for (name, step) in [("points", 5), ("split", 2), ("plain", 2), ("delta", 5)] {
        let whole = std::fs::read(made(&format!("{name}.parquet"))).unwrap();
        for at in Sample::new(name).some((0..whole.len()).step_by(step), 10) {
            let mut bytes = whole.clone();
            bytes[at] ^= [0x01, 0x10, 0x80, 0xff][at / step % 4];
            survive(&folder, &bytes);
            if at % 64 == 0 {
                survive(&folder, &whole[..at]);
            }
        }
    }
}

#[test]
fn heads_of_pages_that_promise_too_much_are_errors() {
    let folder = Folder::new();
    let whole = std::fs::read(made("plain.parquet")).unwrap();
    // The first page begins after the magic: type 0, then two sizes, each a field of 32 bits.
    assert_eq!(
        (&whole[..4], &whole[4..6], whole[6]),
        (&b"PAR1"[..], &[0x15, 0x00][..], 0x15)
    );
    for (at, byte) in [
        (5, 0x06),
        (5, 0x04),
        (5, 0x02),
        (5, 0x01),
        (7, 0x01),
        (4, 0x25),
    ] {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        let (error, text) = refused(&[folder.file("a.parquet", bytes)], &Options::default());
        assert_eq!(error.class(), zvf_store::Class::Malformed, "{text}");
    }
}

#[test]
fn missing_lists_are_missing_values() {
    use std::sync::Arc;

    use arrow_array::types::{Float32Type, Int16Type};
    use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, ListArray};

    let place: ArrayRef = Arc::new(Float32Array::from(vec![0.0, 1.0, 2.0, 3.0]));
    let floats = vec![
        None,
        Some(vec![Some(1.5), None]),
        None,
        Some(vec![Some(2.5), Some(3.0)]),
    ];
    let floats = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(floats, 2);
    let whole = vec![None, None, Some(vec![Some(1), Some(2), Some(3)]), None];
    let whole = ListArray::from_iter_primitive::<Int16Type, _, _>(whole);
    let none = FixedSizeListArray::from_iter_primitive::<Float32Type, Vec<_>, _>(vec![None; 4], 2);
    let columns: [(&str, ArrayRef); 5] = [
        ("x", Arc::clone(&place)),
        ("y", place),
        ("f", Arc::new(floats)),
        ("w", Arc::new(whole)),
        ("none", Arc::new(none)),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, column)| (name, column, true)),
    );
    let batch = batch.unwrap();
    let mut bytes = Vec::new();
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let folder = Folder::new();
    let file = folder.file("a.parquet", bytes);
    let got = folder.store(&open(&[file], &small()), |_| {});
    let want = vec![
        texts(["0.0 0.0", "nan nan", "nan nan nan"]),
        texts(["1.0 1.0", "1.5 nan", "nan nan nan"]),
        texts(["2.0 2.0", "nan nan", "1.0 2.0 3.0"]),
        texts(["3.0 3.0", "2.5 3.0", "nan nan nan"]),
    ];
    assert_eq!(rows(&got.vertices, &["position", "f", "w"]), want);
    assert!(
        column(&got.vertices, "none")
            .iter()
            .all(|text| text.starts_with("nan"))
    );
}

/// The unit of a vertex attribute.
fn unit(import: &Import, name: &str) -> Option<String> {
    let mut all = import.spec().vertex_attributes.iter();
    all.find(|one| one.name == name)?.unit.clone()
}

#[test]
fn moments_in_seconds_keep_their_time_zone() {
    let import = open(&[made("zones.parquet")], &small());
    let zone = "milliseconds since 1970-01-01T00:00:00";
    for (name, of) in [("s", "Z in Europe/Berlin"), ("utc", "Z"), ("local", "")] {
        assert_eq!(unit(&import, name), Some(format!("{zone}{of}")), "{name}");
    }
}

/// Whole numbers of 128 bits, of Polars, are refused as columns, and not with their file.
#[test]
fn columns_of_128_bits_are_left_out() {
    let (_, text) = refused(&[made("wide.parquet")], &small());
    assert!(text.contains("leave it out with --exclude wide"), "{text}");
    let mut options = small();
    options.exclude = vec!["wide".into()];
    let import = open(&[made("wide.parquet")], &options);
    let names = import.spec().vertex_attributes.iter();
    let names: Vec<&str> = names.map(|one| one.name.as_str()).collect();
    assert_eq!((import.vertices(), names), (2, vec!["small", "t"]));
    let moments = "milliseconds since 1970-01-01T00:00:00";
    assert_eq!(unit(&import, "t").as_deref(), Some(moments));
    let (_, text) = refused(&[made("wide.arrow")], &options);
    let says = [
        "column \"wide\" of whole numbers of more than 64 bits",
        "as Int64",
    ];
    assert!(says.iter().all(|one| text.contains(one)), "{text}");
}
