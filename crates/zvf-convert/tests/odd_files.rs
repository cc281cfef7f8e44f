//! Files whose values could be mistaken for others: they come back as they are, are refused, or a note says what became of them.

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, Date64Array, Decimal128Array, DictionaryArray, Float64Array, Int64Array, StringArray,
    TimestampMicrosecondArray,
};
use zvf_convert::export::ExportOptions;
use zvf_convert::{Nulls, Options};
use zvf_write::Kind;

use crate::las;
use crate::records::{ipc, npy, npz, table, zip};
use crate::support::{Folder, column, ends, open, refused, rows, small, texts};

fn plain() -> Options {
    Options::default()
}

fn drop_rows() -> Options {
    let mut options = Options::default();
    options.nulls = Nulls::DropRow;
    options
}

#[test]
fn texts_whose_dictionary_has_a_missing_one_are_missing() {
    let folder = Folder::new();
    let words: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("c")]));
    let word = DictionaryArray::<Int8Type>::new(vec![0_i8, 1, 2, 0].into(), words);
    let place = || Arc::new(Float64Array::from(vec![0.0, 1.0, 2.0, 3.0])) as ArrayRef;
    let columns = vec![
        ("x", place()),
        ("y", place()),
        ("word", Arc::new(word) as ArrayRef),
    ];
    let file = ipc(&folder, "d.arrow", &[table(columns)]);
    let (_, text) = refused(std::slice::from_ref(&file), &{
        let mut options = plain();
        options.nulls = Nulls::Error;
        options
    });
    assert!(
        text.contains("row 1: column \"word\" with no value"),
        "{text}"
    );
    let import = open(&[file], &drop_rows());
    assert_eq!(import.vertices(), 3);
    let note = "1 rows with missing values are left out".to_owned();
    assert!(import.notes().contains(&note), "{:?}", import.notes());
}

#[test]
fn axes_are_columns_of_one_case() {
    let folder = Folder::new();
    for (header, names) in [
        ("Z,x,y,z", "x y z"),
        ("X,x,y,z", "x y z"),
        ("x,X,Y,Z", "X Y Z"),
    ] {
        let import = open(
            &[folder.file("a.csv", format!("{header}\n6,1.5,2.5,3.5\n"))],
            &small(),
        );
        let axes = import.spec().axes.iter();
        let axes: Vec<&str> = axes.map(|axis| axis.name.as_str()).collect();
        assert_eq!(axes.join(" "), names);
        let got = folder.store(&import, |_| {});
        assert_eq!(
            column(&got.vertices, "position"),
            ["1.5 2.5 3.5"],
            "{header}"
        );
    }
}

#[test]
fn links_by_row_are_not_moved_by_rows_that_are_left_out() {
    let folder = Folder::new();
    let mesh = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n\
        property list uchar int vertex_indices\nend_header\nnan 0 0\n1 0 0\n2 0 0\n3 1 0\n3 1 2 3\n";
    let (_, text) = refused(&[folder.file("a.ply", mesh)], &drop_rows());
    assert!(text.contains("drop-row, which leaves out 1 rows"), "{text}");
    let mut points = drop_rows();
    points.kind = Some(Kind::PointCloud);
    open(&[folder.file("a.ply", mesh)], &points);
    let floats = |list: &[f32]| {
        list.iter()
            .flat_map(|one| one.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let positions = npy(
        "<f4",
        "(3, 2)",
        &floats(&[f32::NAN, 0.0, 1.0, 1.0, 2.0, 2.0]),
    );
    let ends: Vec<u8> = [1_i64, 2]
        .iter()
        .flat_map(|one| one.to_le_bytes())
        .collect();
    let graph = npz(
        &[
            ("positions", positions),
            ("edges", npy("<i8", "(1, 2)", &ends)),
        ],
        false,
    );
    let (_, text) = refused(&[folder.file("a.npz", graph)], &drop_rows());
    assert!(
        text.contains("links of the file refer to rows by number"),
        "{text}"
    );
}

#[test]
fn positions_of_npz_are_its_array_positions() {
    let folder = Folder::new();
    let floats = |list: &[f32]| {
        list.iter()
            .flat_map(|one| one.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let arrays = [
        (
            "position",
            npy("<f4", "(2, 2)", &floats(&[9.0, 9.0, 9.0, 9.0])),
        ),
        (
            "positions",
            npy("<f4", "(2, 2)", &floats(&[1.0, 2.0, 3.0, 4.0])),
        ),
        ("x", npy("<f4", "(2,)", &floats(&[7.0, 8.0]))),
        ("y", npy("<f4", "(2,)", &floats(&[7.0, 8.0]))),
    ];
    let import = open(&[folder.file("a.npz", npz(&arrays, false))], &small());
    let got = folder.store(&import, |_| {});
    let found = rows(&got.vertices, &["position", "x"]);
    assert_eq!(
        found,
        [texts(["1.0 2.0", "7.0"]), texts(["3.0 4.0", "8.0"])]
    );
}

#[test]
fn a_ply_with_more_rows_than_its_header_states_is_refused() {
    let head = |format: &str| {
        format!(
            "ply\nformat {format} 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nend_header\n"
        )
    };
    let folder = Folder::new();
    let text = format!("{}0 0 0\n1 1 1\n", head("ascii"));
    for end in ["\n \n", "# made by hand\n", "\u{1a}"] {
        open(&[folder.file("a.ply", format!("{text}{end}"))], &plain());
    }
    let (_, found) = refused(&[folder.file("a.ply", format!("{text}2 2 2\n"))], &plain());
    assert!(
        found.contains("as many rows as the header states"),
        "{found}"
    );
    let mut bytes = head("binary_little_endian").into_bytes();
    bytes.extend([0; 24]);
    open(&[folder.file("a.ply", &bytes)], &plain());
    bytes.extend([0; 37]);
    open(&[folder.file("a.ply", &bytes)], &plain());
    bytes.extend([1; 12]);
    let (_, found) = refused(&[folder.file("a.ply", &bytes)], &plain());
    assert!(
        found.contains("as many rows as the header states"),
        "{found}"
    );
}

#[test]
fn numbers_of_ply_that_their_type_does_not_hold_are_refused() {
    let folder = Folder::new();
    for (kind, number, fits) in [
        ("float", "1e39", false),
        ("float", "1e400", false),
        ("double", "1e400", false),
        ("double", "1e39", true),
        ("float", "inf", true),
        ("float", "1e-50", true),
    ] {
        let text = format!(
            "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nproperty {kind} q\n\
             end_header\n0 0 0 {number}\n"
        );
        let file = folder.file("a.ply", text);
        if fits {
            open(&[file], &plain());
        } else {
            let (_, found) = refused(&[file], &plain());
            assert!(
                found.contains("q, a number of its type"),
                "{kind} {number}: {found}"
            );
        }
    }
}

#[test]
fn two_lists_of_corners_are_refused() {
    let folder = Folder::new();
    let text = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n\
        property list uchar int vertex_indices\nproperty list uchar int vertex_index\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2 3 2 1 0\n";
    let (_, found) = refused(&[folder.file("a.ply", text)], &plain());
    assert!(found.contains("a second property"), "{found}");
}

/// Some programs pad files, others do not count their points.
#[test]
fn bytes_after_the_points_of_a_las_are_noted() {
    let folder = Folder::new();
    let bytes = std::fs::read(las::file("gps-1.2.las")).unwrap();
    for (more, noted) in [(0, false), (10, false), (28, true), (512, true)] {
        let mut padded = bytes.clone();
        padded.extend(vec![0; more]);
        let import = open(&[folder.file("a.las", padded)], &plain());
        assert_eq!(import.vertices(), 20);
        let note = format!("{more} bytes after the 20 points of the header are not read");
        assert_eq!(
            import.notes().contains(&note),
            noted,
            "{:?}",
            import.notes()
        );
    }
}

/// A file whose times are of the other kind.
fn other_times() -> Vec<u8> {
    let mut bytes = std::fs::read(las::file("gps-1.2.las")).unwrap();
    bytes[6] ^= 1;
    bytes
}

#[test]
fn times_of_las_files_are_of_one_kind() {
    let folder = Folder::new();
    let other = folder.file("b.las", other_times());
    let (_, text) = refused(&[las::file("gps-1.2.las"), other.clone()], &plain());
    assert!(text.contains("found gps_time of "), "{text}");
    assert!(
        text.contains("as in the first file; --exclude gps_time"),
        "{text}"
    );
    let mut without = plain();
    without.exclude = vec!["gps_time".to_owned()];
    open(&[las::file("gps-1.2.las"), other], &without);
}

#[test]
fn members_and_arrays_are_there_once() {
    let folder = Folder::new();
    let text = "{\"x\":1,\"y\":2,\"z\":3,\"a\":1,\"a\":2}\n";
    let (_, found) = refused(&[folder.file("a.ndjson", text)], &plain());
    assert!(
        found.contains("found a second member \"a\"") && !found.contains("found found"),
        "{found}"
    );
    let mut arrays = crate::trx::arrays(true);
    arrays.push(("positions.3.float16".to_owned(), vec![0; 30]));
    let (_, found) = refused(&[folder.file("a.trx", zip(&arrays, false))], &plain());
    assert!(found.contains("a second array of positions"), "{found}");
}

#[test]
fn scales_and_units_of_swc_comments_that_are_not_applied_are_noted() {
    let folder = Folder::new();
    for (comment, noted) in [
        ("SCALE 0.5 0.5 0.5", true),
        ("SCALE 1.0 1.0 1.0", false),
        ("units: pixel", true),
        ("units: um", false),
        ("made by hand", false),
    ] {
        let text = format!("# {comment}\n1 1 0 0 0 1 -1\n2 1 1 0 0 1 1\n");
        let import = open(&[folder.file("a.swc", text)], &plain());
        let found = import
            .notes()
            .iter()
            .any(|note| note.contains("is not applied"));
        assert_eq!(found, noted, "{comment}: {:?}", import.notes());
    }
}

#[test]
fn swc_says_which_radii_are_missing_and_reads_its_own_file() {
    let folder = Folder::new();
    let vertices = folder.file(
        "v.csv",
        "x,y,z,radius,type\n0,0,0,1.5,1\n1,0,0,,3\n2,3,0,2.5,3\n",
    );
    let mut options = small();
    options.kind = Some(Kind::Skeleton);
    options.edges = Some(folder.file("e.csv", "child,parent\n1,0\n2,1\n"));
    let import = open(&[vertices], &options);
    folder.store(&import, |_| {});
    let (out, done) = folder.export("o.swc", &ExportOptions::default());
    let said = "1 missing value of radius is written as 0";
    assert!(
        done.notes.iter().any(|note| note == said),
        "{:?}",
        done.notes
    );
    open(&[out], &plain());
}

#[test]
fn rounded_whole_numbers_are_said_by_swc_and_obj() {
    let folder = Folder::new();
    let far = 1_i64 << 53;
    let x: ArrayRef = Arc::new(Int64Array::from(vec![far + 1, far + 3, far + 5]));
    let y: ArrayRef = Arc::new(Int64Array::from(vec![0, 1, 2]));
    let points = ipc(
        &folder,
        "v.arrow",
        &[table(vec![
            ("x", Arc::clone(&x)),
            ("y", Arc::clone(&y)),
            ("z", y),
        ])],
    );
    for (kind, links, output) in [
        (Kind::Skeleton, "child,parent\n1,0\n2,1\n", "o.swc"),
        (Kind::Mesh, "a,b,c\n0,1,2\n", "o.obj"),
    ] {
        let mut options = small();
        options.kind = Some(kind);
        let links = Some(folder.file("links.csv", links));
        match kind {
            Kind::Mesh => options.faces = links,
            _ => options.edges = links,
        }
        let import = open(std::slice::from_ref(&points), &options);
        folder.store(&import, |spec| spec.chunk_shape = vec![1e9; 3]);
        let (_, done) = folder.export(output, &ExportOptions::default());
        let said = "whole numbers of position were rounded to float64";
        assert!(
            done.notes.iter().any(|note| note == said),
            "{output}: {:?}",
            done.notes
        );
    }
}

#[test]
fn missing_dates_are_no_numbers_in_las_and_are_said_in_npz() {
    let folder = Folder::new();
    let axis: ArrayRef = Arc::new(Float64Array::from(vec![0.0, 1.0, 2.0]));
    let when: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![
        Some(5),
        None,
        Some(7),
    ]));
    let points = table(vec![
        ("x", Arc::clone(&axis)),
        ("y", Arc::clone(&axis)),
        ("z", axis),
        ("when", when),
    ]);
    let import = open(&[ipc(&folder, "v.arrow", &[points])], &small());
    folder.store(&import, |spec| spec.chunk_shape = vec![10.0; 3]);
    let error = folder
        .export_error("o.las", &ExportOptions::default())
        .to_string();
    assert!(error.contains("no value in row 1 "), "{error}");
    let (_, done) = folder.export("o.npz", &ExportOptions::default());
    assert!(
        done.notes
            .iter()
            .any(|note| note.starts_with("1 missing values of when are written as NaT")),
        "{:?}",
        done.notes
    );
}

#[cfg(feature = "parquet")]
#[test]
fn dates_in_milliseconds_are_dates_in_parquet() {
    use arrow_schema::DataType;
    use parquet::arrow::parquet_to_arrow_schema;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    let folder = Folder::new();
    let axis: ArrayRef = Arc::new(Float64Array::from(vec![0.0, 1.0]));
    let day = 86_400_000;
    let dates: ArrayRef = Arc::new(Date64Array::from(vec![Some(20_000 * day), None]));
    let points = table(vec![("x", Arc::clone(&axis)), ("y", axis), ("d", dates)]);
    let import = open(&[ipc(&folder, "v.arrow", &[points])], &small());
    folder.store(&import, |spec| spec.chunk_shape = vec![10.0; 2]);
    let (out, _) = folder.export("o.parquet", &ExportOptions::default());
    let reader = SerializedFileReader::new(std::fs::File::open(&out).unwrap()).unwrap();
    let file = reader.metadata().file_metadata();
    // As programs see it that do not know the Arrow schema.
    let schema = parquet_to_arrow_schema(file.schema_descr(), None).unwrap();
    let field = schema
        .field_with_name("attribute:d")
        .or_else(|_| schema.field_with_name("d"));
    assert_eq!(*field.unwrap().data_type(), DataType::Date32);
    let again = open(&[out], &small());
    let got = folder.store(&again, |spec| spec.chunk_shape = vec![10.0; 2]);
    assert_eq!(column(&got.vertices, "d")[0], "20000");
}

#[cfg(feature = "parquet")]
#[test]
fn timestamps_of_96_bits_keep_all_years() {
    use parquet::data_type::{DoubleType, Int96, Int96Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    // Days from the first of January 4713 BC to 1970-01-01, 9999-12-31, 0001-01-01.
    let moments = |days: &[u32]| -> Vec<Int96> {
        let one = |day: &u32| {
            let mut moment = Int96::new();
            moment.set_data(7_000, 0, *day);
            moment
        };
        days.iter().map(one).collect()
    };
    let folder = Folder::new();
    for (days, unit, first) in [
        (
            [2_440_588, 2_440_589],
            "nanoseconds since 1970-01-01T00:00:00",
            "7000",
        ),
        (
            [5_373_484, 1_721_426],
            "microseconds since 1970-01-01T00:00:00",
            "253402214400000007",
        ),
    ] {
        let schema = "message m { REQUIRED DOUBLE x; REQUIRED DOUBLE y; REQUIRED INT96 when; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut bytes = Vec::new();
        let properties = Arc::new(WriterProperties::builder().build());
        let mut file = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
        let mut group = file.next_row_group().unwrap();
        for _ in 0..2 {
            let mut writer = group.next_column().unwrap().unwrap();
            writer
                .typed::<DoubleType>()
                .write_batch(&[0.0, 1.0], None, None)
                .unwrap();
            writer.close().unwrap();
        }
        let mut writer = group.next_column().unwrap().unwrap();
        writer
            .typed::<Int96Type>()
            .write_batch(&moments(&days), None, None)
            .unwrap();
        writer.close().unwrap();
        group.close().unwrap();
        file.close().unwrap();
        let import = open(&[folder.file("a.parquet", &bytes)], &small());
        assert_eq!(
            import.spec().vertex_attributes[0].unit.as_deref(),
            Some(unit)
        );
        let got = folder.store(&import, |spec| spec.chunk_shape = vec![10.0; 2]);
        assert_eq!(column(&got.vertices, "when")[0], first);
        let coarse = import
            .notes()
            .iter()
            .any(|note| note.contains("read with microseconds"));
        assert_eq!(coarse, unit.starts_with("micro"), "{:?}", import.notes());
    }
}

/// Lists of objects and answers by object have other columns of places: attributes called like these are attributes.
#[test]
fn attributes_called_like_columns_of_objects_are_exported() {
    let folder = Folder::new();
    let mut arrays = crate::trx::arrays(true);
    let floats = |list: [f32; 3]| {
        list.iter()
            .flat_map(|one| one.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let names = ["start", "length", "vertices", "chunks", "fragments"];
    for name in names {
        arrays.push((format!("dps/{name}.float32"), floats([7.0, 8.5, -9.0])));
    }
    let import = open(&[folder.file("a.trx", zip(&arrays, false))], &small());
    folder.store(&import, |spec| spec.chunk_shape = vec![5.0; 3]);
    for output in ["o.trx", "o.trk"] {
        let (out, _) = folder.export(output, &ExportOptions::default());
        let again = open(&[out], &small());
        let found: Vec<&str> = again
            .spec()
            .object_attributes
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        for name in names {
            assert!(found.contains(&name), "{output}: {name} of {found:?}");
        }
    }
}

#[test]
fn ids_with_blanks_are_other_ids() {
    let folder = Folder::new();
    let axis: ArrayRef = Arc::new(Float64Array::from(vec![0.0, 1.0, 2.0]));
    let ids: ArrayRef = Arc::new(StringArray::from(vec!["a", "c ", "c"]));
    let points = table(vec![
        ("x", Arc::clone(&axis)),
        ("y", Arc::clone(&axis)),
        ("z", axis),
        ("id", ids),
    ]);
    let end = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let edges = table(vec![("source", end("a")), ("target", end("c "))]);
    let mut options = small();
    options.kind = Some(Kind::Graph);
    options.node_id = Some("id".to_owned());
    options.edges = Some(ipc(&folder, "e.arrow", &[edges]));
    let import = open(&[ipc(&folder, "v.arrow", &[points])], &options);
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![10.0; 3]);
    assert_eq!(
        ends(&got, "position"),
        [texts(["0.0 0.0 0.0", "1.0 1.0 1.0"])]
    );
}

#[test]
fn nan_among_truth_values_is_missing_as_other_words_are() {
    let folder = Folder::new();
    for word in ["NaN", "nan", "NA", ""] {
        let file = folder.file("t.csv", format!("x,y,v\n1,2,true\n3,4,{word}\n5,6,FALSE\n"));
        let import = open(&[file], &plain());
        let note = "column \"v\": 1 booleans are missing, so it becomes the texts true and false, some of them missing";
        assert!(
            import.notes().contains(&note.to_owned()),
            "{:?}",
            import.notes()
        );
        let got = folder.store(&import, |_| {});
        let want = [
            ["1.0 2.0", "true"],
            ["3.0 4.0", "null"],
            ["5.0 6.0", "false"],
        ];
        assert_eq!(rows(&got.vertices, &["position", "v"]), want, "{word}");
    }
}

#[test]
fn gaps_of_decimal_numbers_are_noted() {
    let folder = Folder::new();
    let place = || Arc::new(Float64Array::from(vec![0.0, 1.0])) as ArrayRef;
    let prices = Decimal128Array::from(vec![Some(125_i128), None]);
    let prices = prices.with_precision_and_scale(10, 2).unwrap();
    let columns = vec![
        ("x", place()),
        ("y", place()),
        ("price", Arc::new(prices) as ArrayRef),
    ];
    let import = open(&[ipc(&folder, "d.arrow", &[table(columns)])], &plain());
    let note = "column \"price\": 1 missing values become NaN".to_owned();
    assert!(import.notes().contains(&note), "{:?}", import.notes());
}

#[test]
fn columns_in_another_order_have_a_way_out_that_helps() {
    let folder = Folder::new();
    let place = || Arc::new(Float64Array::from(vec![0.0, 1.0])) as ArrayRef;
    let file = |name: &str, columns: [&'static str; 3]| {
        let columns = columns.map(|name| (name, place()));
        ipc(&folder, name, &[table(columns.to_vec())])
    };
    let files = [
        file("1.arrow", ["x", "y", "n"]),
        file("2.arrow", ["n", "y", "x"]),
    ];
    let (_, text) = refused(&files, &plain());
    let says = "2.arrow: found the columns in another order, expected those of the first file; `zvf append` adds this one";
    assert!(text.contains(says), "{text}");
}
