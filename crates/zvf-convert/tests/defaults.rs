//! Files as data frames and arrays write them by default: dates and times, missing values, packed buffers, indexes, Fortran order.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int32Array, ListArray,
    RecordBatch, StringViewArray, UInt8Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat_batches;
use zvf_convert::export::ExportOptions;
use zvf_convert::{Import, Nulls, Options};
use zvf_store::Class;

use crate::support::{Folder, column, open, refused, small};
use zvf_testkit::sample::Sample;

const ROWS: usize = 40;

fn made(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/tables");
    PathBuf::from(folder).join(name)
}

fn without(names: &[&str]) -> Options {
    let mut options = small();
    options.exclude = names.iter().map(|name| (*name).to_owned()).collect();
    options
}

/// Values with the missing ones of `xtask/python/tables.py`, in the order of the rows.
fn gaps(value: impl Fn(usize) -> String, none: &str) -> Vec<String> {
    let one = |row| match row % 7 {
        3 => none.to_owned(),
        _ => value(row),
    };
    (0..ROWS).map(one).collect()
}

/// A column of a written file, in the order of the column `row`.
fn ordered(batch: &RecordBatch, name: &str) -> Vec<String> {
    let rows = column(batch, "row")
        .into_iter()
        .map(|row| row.parse::<usize>().unwrap());
    let mut all: Vec<(usize, String)> = rows.zip(column(batch, name)).collect();
    all.sort();
    all.into_iter().map(|(_, value)| value).collect()
}

fn read_arrow(path: &PathBuf) -> RecordBatch {
    let file = std::fs::File::open(path).unwrap();
    let reader = arrow_ipc::reader::FileReader::try_new(file, None).unwrap();
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.unwrap()).collect();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

/// The files of pyarrow have the values of `tables.py`; the export has the same types.
fn check_moments(name: &str) {
    let folder = Folder::new();
    let import = open(&[made(name)], &without(&["path"]));
    let notes = import.notes().join("\n");
    for said in [
        "column \"gap\": 6 values are missing, so its whole numbers become float64 with NaN (--nulls VALUE keeps int16)",
        "column \"flag\": 6 booleans are missing",
        "column \"nothing\": no values",
        "column \"price\": 6 missing values become NaN",
    ] {
        assert!(notes.contains(said), "{notes}");
    }
    let got = folder.store(&import, |spec| {
        (spec.chunk_shape, spec.bin_shape) = (vec![4.0; 2], None);
    });
    let stored = |name: &str| ordered(&got.vertices, name);
    let lowest = i64::MIN.to_string();
    let start = 1_709_251_200_usize;
    assert_eq!(
        stored("t"),
        gaps(|r| (start * 1_000_000 + r).to_string(), &lowest)
    );
    assert_eq!(stored("day"), gaps(|r| (19_783 + r).to_string(), &lowest));
    assert_eq!(stored("lasted"), gaps(|r| (r * 1000).to_string(), &lowest));
    assert_eq!(
        stored("price"),
        gaps(|r| format!("{:?}", r as f64 / 4.0), "nan")
    );
    assert_eq!(stored("gap"), gaps(|r| format!("{r}.0"), "nan"));
    assert_eq!(stored("flag"), gaps(|r| (r % 2 == 0).to_string(), "null"));
    assert!(stored("nothing").iter().all(|value| value == "nan"));

    let (out, done) = folder.export("out.arrow", &ExportOptions::default());
    assert!(done.notes.is_empty(), "{:?}", done.notes);
    let back = read_arrow(&out);
    // The coarsest unit of Parquet for times of day is milliseconds.
    let clock = if name.ends_with(".parquet") {
        "Time32(ms)"
    } else {
        "Time32(s)"
    };
    for (name, kind) in [
        ("t", "Timestamp(µs)"),
        ("zone", "Timestamp(ms, \"Europe/Berlin\")"),
        ("day", "Date32"),
        ("clock", clock),
        ("lasted", "Duration(ns)"),
    ] {
        let column = back.column_by_name(name).unwrap();
        assert_eq!(column.data_type().to_string(), kind, "{name}");
        assert_eq!(column.null_count(), 6, "{name}");
    }
    let (out, _) = folder.export("out.csv", &ExportOptions::default());
    let text = std::fs::read_to_string(out).unwrap();
    let first = text
        .lines()
        .find(|line| line.starts_with("0.0,-0.0,") || line.starts_with("0.0,0.0,"));
    let first = first.unwrap();
    for said in [
        "2024-03-01T00:00:00.000000,",
        ",2024-03-01T00:00:00.000Z",
        ",2024-03-01,",
        if name.ends_with(".parquet") {
            ",00:00:00.000,"
        } else {
            ",00:00:00,"
        },
    ] {
        assert!(first.contains(said), "{first}");
    }
    // An import of this text makes the same store again.
    let again = Folder::new();
    let got = again.store(&open(&[folder.file("again.csv", text)], &small()), |spec| {
        (spec.chunk_shape, spec.bin_shape) = (vec![4.0; 2], None);
    });
    assert_eq!(
        ordered(&got.vertices, "t"),
        gaps(|r| (start * 1_000_000 + r).to_string(), &lowest)
    );
    assert_eq!(
        ordered(&got.vertices, "day"),
        gaps(|r| (19_783 + r).to_string(), &lowest)
    );
}

#[test]
fn moments_of_feather_are_kept_and_given_back() {
    check_moments("moments.feather");
}

#[test]
#[cfg(feature = "parquet")]
fn moments_of_parquet_are_kept_and_given_back() {
    check_moments("moments.parquet");
}

#[test]
fn missing_values_become_what_is_asked_for() {
    let file = || [made("moments.feather")];
    let (_, text) = refused(&file(), &small());
    assert!(
        text.contains("column \"path\" with lists of other lengths"),
        "{text}"
    );
    assert!(text.contains("--exclude"), "{text}");
    let mut options = without(&["path", "nothing"]);
    options.nulls = Nulls::Error;
    let (error, text) = refused(&file(), &options);
    assert_eq!(error.class(), Class::Malformed);
    assert!(
        text.contains("found in row 3: column \"t\" with no value"),
        "{text}"
    );
    options.nulls = Nulls::DropRow;
    let import = open(&file(), &options);
    assert_eq!(import.vertices(), 34);
    assert!(
        import
            .notes()
            .contains(&"6 rows with missing values are left out".to_owned())
    );
    let got = Folder::new().store(&import, |_| {});
    let want: Vec<String> = (0..ROWS)
        .filter(|row| row % 7 != 3)
        .map(|row| row.to_string())
        .collect();
    assert_eq!(ordered(&got.vertices, "gap"), want);
    options.nulls = Nulls::Value(-1);
    let got = Folder::new().store(&open(&file(), &options), |_| {});
    assert_eq!(
        ordered(&got.vertices, "gap"),
        gaps(|row| row.to_string(), "-1")
    );
    options.nulls = Nulls::Value(5);
    let (_, text) = refused(&file(), &options);
    assert!(
        text.contains("column \"gap\" with 6 missing values, and values 5"),
        "{text}"
    );
    options.exclude = vec!["paths".into()];
    let (_, text) = refused(&file(), &options);
    assert!(
        text.starts_with("exclude: found \"paths\", expected one of the columns of"),
        "{text}"
    );
}

fn sample() -> RecordBatch {
    let words = ["roof", "a word that is longer than twelve bytes", "tree"];
    let word = |row: usize| (!row.is_multiple_of(4)).then(|| words[row % 3]);
    let lists = (0..ROWS).map(|row| Some(vec![Some(1); row % 3]));
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "x",
            Arc::new(Float32Array::from_iter_values((0..40_u8).map(f32::from))),
        ),
        (
            "y",
            Arc::new(Float64Array::from_iter_values(
                (0..40_u8).map(|y| f64::from(y) / 8.0),
            )),
        ),
        ("row", Arc::new(Int32Array::from_iter_values(0..40))),
        (
            "word",
            Arc::new((0..ROWS).map(word).collect::<StringViewArray>()),
        ),
        (
            "path",
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists)),
        ),
        (
            "__index_level_0__",
            Arc::new(Int32Array::from_iter_values(0..40)),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn written(stream: bool, packed: Option<CompressionType>) -> Vec<u8> {
    let batch = sample();
    let options = IpcWriteOptions::default()
        .try_with_compression(packed)
        .unwrap();
    let mut bytes = Vec::new();
    let parts = [batch.slice(0, 25), batch.slice(25, 15)];
    if stream {
        let mut writer =
            StreamWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
        parts.iter().for_each(|part| writer.write(part).unwrap());
        writer.finish().unwrap();
    } else {
        let mut writer =
            FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
        parts.iter().for_each(|part| writer.write(part).unwrap());
        writer.finish().unwrap();
    }
    bytes
}

#[test]
fn streams_and_packed_buffers_are_read_and_damage_is_an_error() {
    let folder = Folder::new();
    let sample = Sample::new("bytes of packed files");
    let words = ["roof", "a word that is longer than twelve bytes", "tree"];
    let want: Vec<&str> = (0..ROWS)
        .map(|row| if row % 4 > 0 { words[row % 3] } else { "null" })
        .collect();
    for stream in [false, true] {
        for packed in [
            None,
            Some(CompressionType::LZ4_FRAME),
            Some(CompressionType::ZSTD),
        ] {
            let whole = written(stream, packed);
            let import = open(&[folder.file("a.feather", &whole)], &without(&["path"]));
            assert_eq!(
                import.notes(),
                ["column \"__index_level_0__\" is left out: it is an index without a name"]
            );
            let got = Folder::new().store(&import, |_| {});
            assert_eq!(ordered(&got.vertices, "word"), want);
            assert_eq!(
                got.vertices
                    .column_by_name("position")
                    .unwrap()
                    .data_type()
                    .to_string(),
                "FixedSizeList(2 x non-null Float64)"
            );
            for at in sample.some((0..whole.len()).step_by(3), 6) {
                let mut bytes = whole.clone();
                bytes[at] ^= [0x01, 0x80, 0xff][at % 3];
                survive(&folder, &bytes);
                if at % 63 == 0 {
                    survive(&folder, &whole[..at]);
                }
            }
        }
    }
}

/// Reads any file: values may differ, but nothing may panic.
fn survive(folder: &Folder, bytes: &[u8]) {
    if let Ok(import) = Import::open(&[folder.file("b.arrow", bytes)], &without(&["path"])) {
        let _ = crate::broken::read(&import);
    }
}

/// Writers leave buffers uncompressed that compression would enlarge; their bytes may be a frame of LZ4 themselves.
#[test]
fn an_uncompressed_buffer_may_begin_like_a_compressed_one() {
    let noise: Vec<u8> = (0..200_u64)
        .map(|at| ((at * at * 0x9e37_79b9) >> 7) as u8)
        .collect();
    let mut frame = lz4_flex::frame::FrameEncoder::new(Vec::new());
    std::io::Write::write_all(&mut frame, &noise).unwrap();
    let frame = frame.finish().unwrap();
    let x: Vec<f64> = (0..frame.len()).map(|at| at as f64).collect();
    let rows = Int32Array::from_iter_values((0..).take(frame.len()));
    let columns: [(&str, ArrayRef); 4] = [
        ("row", Arc::new(rows)),
        ("x", Arc::new(Float64Array::from(x.clone()))),
        ("y", Arc::new(Float64Array::from(x))),
        ("raw", Arc::new(UInt8Array::from(frame.clone()))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let options = IpcWriteOptions::default();
    let options = options
        .try_with_compression(Some(CompressionType::LZ4_FRAME))
        .unwrap();
    let mut bytes = Vec::new();
    let mut writer =
        FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let stated = [&(-1_i64).to_le_bytes()[..], &frame[..4]].concat();
    assert!(bytes.windows(12).any(|part| part == stated));
    let folder = Folder::new();
    let import = open(&[folder.file("a.arrow", bytes)], &Options::default());
    let got = folder.store(&import, |_| {});
    let raw: Vec<String> = frame.iter().map(u8::to_string).collect();
    assert_eq!(ordered(&got.vertices, "raw"), raw);
}

#[test]
fn buffers_that_promise_too_much_are_errors() {
    let folder = Folder::new();
    let whole = written(false, Some(CompressionType::LZ4_FRAME));
    // The length of each packed buffer is directly before the magic of its frame.
    let magic = [0x04, 0x22, 0x4d, 0x18];
    let frames = whole
        .windows(4)
        .enumerate()
        .filter(|(_, bytes)| *bytes == magic);
    let frames: Vec<usize> = frames.map(|(at, _)| at).collect();
    assert!(frames.len() >= 6);
    for (claim, said) in [
        (
            1_i64 << 60,
            "more than 8589934592 decompressed bytes of a batch",
        ),
        (
            1,
            "found a compressed buffer of more bytes, expected 1 bytes, the length that it states",
        ),
    ] {
        let mut bytes = whole.clone();
        bytes[frames[0] - 8..frames[0]].copy_from_slice(&claim.to_le_bytes());
        let (_, text) = refused(&[folder.file("c.arrow", bytes)], &without(&["path"]));
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn tables_of_text_as_data_frames_write_them() {
    let table = ",x,y,row,seen,flag,name\n\
        0,0.5,1,0,2024-02-29 12:34:56.25+00:00,True,a\n\
        1,1.5,2,1,,False,b\n\
        2,2.5,3,2,2024-03-01 00:00:00+00:00,,\n";
    let folder = Folder::new();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(table.as_bytes()).unwrap();
    let files = [
        folder.file("a.csv.gz", packed.finish().unwrap()),
        folder.file("a.txt", table.replace(',', "\t")),
        folder.file("a.csv", table),
    ];
    for file in files {
        let import = open(&[file], &without(&["name"]));
        assert_eq!(
            import.notes()[0],
            "column \"\" is left out: it is an index without a name"
        );
        let place = Folder::new();
        let got = place.store(&import, |_| {});
        // Computed by `date -u -d 2024-02-29T12:34:56Z +%s`.
        let want = ["1709210096250", "-9223372036854775808", "1709251200000"];
        assert_eq!(ordered(&got.vertices, "seen"), want);
        assert_eq!(ordered(&got.vertices, "flag"), ["true", "false", "null"]);
        assert!(got.vertices.column_by_name("name").is_none());
        let (out, _) = place.export("out.arrow", &ExportOptions::default());
        let back = read_arrow(&out);
        let kind = DataType::Timestamp(arrow_schema::TimeUnit::Millisecond, Some("UTC".into()));
        assert_eq!(*back.column_by_name("seen").unwrap().data_type(), kind);
    }
    let file = folder.file("g.csv", "x,y,n\n1,2,\n3,4,7\n");
    let mut options = small();
    options.nulls = Nulls::Value(-1);
    let got = Folder::new().store(&open(std::slice::from_ref(&file), &options), |_| {});
    let mut numbers = column(&got.vertices, "n");
    numbers.sort();
    assert_eq!(numbers, ["-1", "7"]);
    options.nulls = Nulls::DropRow;
    assert_eq!(open(std::slice::from_ref(&file), &options).vertices(), 1);
    options.nulls = Nulls::Error;
    let (_, text) = refused(&[file], &options);
    assert!(
        text.starts_with("g.csv, line 2: found column \"n\" with no value"),
        "{text}"
    );
}

#[test]
fn arrays_in_fortran_order_are_the_same_rows() {
    let folder = Folder::new();
    let mut text = "{'descr': '<f4', 'fortran_order': True, 'shape': (5, 3), }".to_owned();
    while !(text.len() + 11).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
    bytes.extend(text.bytes());
    for axis in 0..3_u8 {
        for row in 0..5_u8 {
            bytes.extend(f32::from(row * 10 + axis).to_le_bytes());
        }
    }
    let mut options = Options::default();
    options.batch = 2;
    let got = folder.store(&open(&[folder.file("a.npy", &bytes)], &options), |_| {});
    let mut rows = column(&got.vertices, "position");
    rows.sort();
    assert_eq!(
        rows,
        [
            "0.0 1.0 2.0",
            "10.0 11.0 12.0",
            "20.0 21.0 22.0",
            "30.0 31.0 32.0",
            "40.0 41.0 42.0"
        ]
    );
    for length in 0..bytes.len() {
        let _ = refused(&[folder.file("b.npy", &bytes[..length])], &options);
    }
}

#[test]
fn marks_of_the_byte_order_and_continued_lines() {
    let folder = Folder::new();
    let swc = folder.file("a.swc", "\u{feff}1 1 0 0 0 1 -1\n2 1 3 0 0 1 1\n");
    assert_eq!(open(&[swc], &small()).vertices(), 2);
    let obj = folder.file(
        "a.obj",
        "# \\\nv 0 0 \\\n 0\nv 1 0 0\nv 0 1 0\nf 1 \\\r\n 2 \\\n 3\n",
    );
    let import = open(&[obj], &small());
    assert_eq!((import.vertices(), import.links()), (3, 1));
}

#[test]
fn periods_of_pandas_are_refused_since_only_their_type_states_what_they_count() {
    let folder = Folder::new();
    let period = [
        ("ARROW:extension:name", "pandas.period"),
        ("ARROW:extension:metadata", r#"{"freq": "M"}"#),
    ];
    let period = period.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let field = |name| Field::new(name, DataType::Int32, true);
    let months = field("month").with_metadata(period.into());
    let schema = Arc::new(Schema::new(vec![field("x"), field("y"), months]));
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![648, 649]));
    let table = RecordBatch::try_new(Arc::clone(&schema), vec![numbers; 3]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = FileWriter::try_new(&mut bytes, &schema).unwrap();
    writer.write(&table).unwrap();
    writer.finish().unwrap();
    drop(writer);
    let file = folder.file("p.arrow", bytes);
    let (_, told) = refused(std::slice::from_ref(&file), &small());
    assert!(
        told.contains("column month: found periods of pandas"),
        "{told}"
    );
    assert!(told.contains("dt.to_timestamp()"), "{told}");
    assert_eq!(open(&[file], &without(&["month"])).vertices(), 2);
}

#[test]
fn tensors_with_another_order_of_values_than_the_stored_one_are_refused() {
    let folder = Folder::new();
    let matrix = DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Int32, false)), 4);
    let written = |order: &str| {
        let facts = format!(r#"{{"shape": [2, 2], "permutation": {order}}}"#);
        let tensor = [
            (
                "ARROW:extension:name",
                "arrow.fixed_shape_tensor".to_owned(),
            ),
            ("ARROW:extension:metadata", facts),
        ];
        let tensor = tensor.map(|(key, value)| (key.to_owned(), value));
        let field = |name| Field::new(name, DataType::Int32, true);
        let tensor = Field::new("m", matrix.clone(), true).with_metadata(tensor.into());
        let schema = Arc::new(Schema::new(vec![field("x"), field("y"), tensor]));
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let item = Arc::new(Field::new("item", DataType::Int32, false));
        let values: ArrayRef = Arc::new(Int32Array::from_iter_values(0..8));
        let values: ArrayRef = Arc::new(FixedSizeListArray::new(item, 4, values, None));
        let columns = vec![numbers.clone(), numbers, values];
        let table = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
        let mut bytes = Vec::new();
        let mut writer = FileWriter::try_new(&mut bytes, &schema).unwrap();
        writer.write(&table).unwrap();
        writer.finish().unwrap();
        drop(writer);
        bytes
    };
    let turned = folder.file("turned.arrow", written("[1, 0]"));
    let (_, told) = refused(&[turned], &small());
    assert!(
        told.contains("column m: found tensors whose dimensions are in the order [1,0]"),
        "{told}"
    );
    let broken = folder.file("broken.arrow", written("[1, "));
    let (_, told) = refused(&[broken], &small());
    assert!(
        told.contains("expected the shape of tensors as JSON"),
        "{told}"
    );
    for order in ["[0, 1]", "null"] {
        let plain = folder.file("plain.arrow", written(order));
        assert_eq!(open(&[plain], &small()).vertices(), 2);
    }
}
