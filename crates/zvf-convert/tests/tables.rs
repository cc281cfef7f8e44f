//! CSV and NDJSON.

use zvf_convert::{Nulls, Options};
use zvf_store::Class;
use zvf_write::Kind;

use crate::support::{Folder, column, open, refused, rows, small, sorted, texts};

const TABLE: &str = "\u{feff}id, x ,y,z,kind,big,score,ok,note
1,0.5,2,-3,axon,5000000000,0.25,true,
2,10.5,2,-3,\"den, drite\",-1,,False,\"two
lines\"
3,-0.5,22,3,axon,0,125e-3,TRUE,\"a \"\"b\"\"\"
4,1,2,3,,7,0.5,false,c
";

#[test]
fn rows_become_points_with_all_their_columns() {
    let folder = Folder::new();
    let import = open(&[folder.file("a.csv", TABLE)], &small());
    assert_eq!((import.vertices(), import.objects()), (4, 0));
    assert_eq!(
        import.notes(),
        ["column \"score\": 1 empty fields become NaN"]
    );
    let got = folder.store(&import, |spec| {
        (spec.chunk_shape, spec.bin_shape) = (vec![10.0; 3], None)
    });
    assert!(got.objects.is_none());
    let want = vec![
        texts([
            "1",
            "0.5 2.0 -3.0",
            "axon",
            "5000000000",
            "0.25",
            "1",
            "null",
        ]),
        texts([
            "2",
            "10.5 2.0 -3.0",
            "den, drite",
            "-1",
            "nan",
            "0",
            "two\nlines",
        ]),
        texts(["3", "-0.5 22.0 3.0", "axon", "0", "0.125", "1", "a \"b\""]),
        texts(["4", "1.0 2.0 3.0", "null", "7", "0.5", "0", "c"]),
    ];
    let names = ["id", "position", "kind", "big", "score", "ok", "note"];
    assert_eq!(rows(&got.vertices, &names), want);
    let types: Vec<String> = got
        .vertices
        .schema()
        .fields()
        .iter()
        .filter(|field| ["id", "big", "score"].contains(&field.name().as_str()))
        .map(|field| format!("{} {}", field.name(), field.data_type()))
        .collect();
    assert_eq!(sorted(types), ["big Int64", "id Int32", "score Float32"]);
}

#[test]
fn columns_of_positions_objects_and_attributes_can_be_named() {
    let folder = Folder::new();
    let file = folder.file("a.csv", "a;b;cell;rest\n1;2;-9;x\n3;4;8;y\n5;6;-9;z\n");
    let mut options = small();
    options.delimiter = Some(b';');
    options.position = Some(vec!["b".into(), "a".into()]);
    options.object_column = Some("cell".into());
    options.attributes = Some(Vec::new());
    let import = open(&[file], &options);
    assert_eq!(
        (import.spec().axes[0].name.as_str(), import.objects()),
        ("b", 2)
    );
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![2.0; 2]);
    assert_eq!(got.vertices.num_columns(), 1);
    assert_eq!(column(&got.objects.unwrap(), "object_id"), ["-9", "8"]);
    assert_eq!(
        sorted(column(&folder.objects(&[-9]), "position")),
        ["2.0 1.0", "6.0 5.0"]
    );
}

#[test]
fn rows_of_an_object_become_a_chain() {
    let folder = Folder::new();
    let mut text = "t\tx\ty\n".to_owned();
    for at in 0..11 {
        text.push_str(&format!("{}\t{at}\t{}\n", 5 - at / 7, at % 3));
    }
    let mut options = small();
    options.kind = Some(Kind::Polyline);
    options.object_column = Some("t".into());
    let import = open(&[folder.file("a.tsv", text)], &options);
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![4.0; 2]);
    assert_eq!(got.links.unwrap().num_rows(), 6 + 3);
    let want: Vec<String> = (0..7).map(|at| format!("{at}.0 {}.0", at % 3)).collect();
    assert_eq!(column(&folder.objects(&[5]), "position"), want);
    let want: Vec<String> = (7..11).map(|at| format!("{at}.0 {}.0", at % 3)).collect();
    assert_eq!(column(&folder.objects(&[4]), "position"), want);
}

#[test]
fn several_files_are_objects_and_have_the_same_columns() {
    let folder = Folder::new();
    let files = [
        folder.file("3.csv", "x,y,v\n1,2,a\n"),
        folder.file("2.csv", "x,y,v\n3,4,b\n5,6,a\n"),
    ];
    let import = open(&files, &Options::default());
    let got = folder.store(&import, |_| {});
    assert_eq!(column(&got.objects.unwrap(), "object_id"), ["2", "3"]);
    assert_eq!(column(&folder.objects(&[3]), "v"), ["a"]);
    assert_eq!(
        sorted(column(&folder.objects(&[2]), "position")),
        ["3.0 4.0", "5.0 6.0"]
    );
}

#[test]
fn columns_of_several_files_get_one_type() {
    let folder = Folder::new();
    let files = [
        folder.file("3.csv", "x,y,v,w\n1,2,1,\n"),
        folder.file("2.csv", "x,y,v,w\n3,4,0.5,7\n5,6,,8\n"),
    ];
    let import = open(&files, &Options::default());
    assert!(
        import
            .notes()
            .contains(&"column \"v\": 1 empty fields become NaN".to_owned()),
        "{:?}",
        import.notes()
    );
    let got = folder.store(&import, |_| {});
    assert_eq!(sorted(column(&got.vertices, "v")), ["0.5", "1.0", "nan"]);
    assert_eq!(sorted(column(&got.vertices, "w")), ["7.0", "8.0", "nan"]);
}

#[test]
fn objects_of_ndjson_are_rows() {
    let folder = Folder::new();
    let text = "{\"position\":[0.5,2,3],\"id\":9007199254740993,\"word\":\"a\",\"w\":[0.5,1]}
{\"word\":null,\"position\":[4,5.5,6],\"w\":[0.25,2],\"id\":-1,\"ok\":true,\"score\":\"Infinity\"}
";
    let import = open(&[folder.file("a.ndjson", text)], &small());
    let axes: Vec<&str> = import
        .spec()
        .axes
        .iter()
        .map(|axis| axis.name.as_str())
        .collect();
    assert_eq!(axes, ["x", "y", "z"]);
    let got = folder.store(&import, |spec| {
        (spec.chunk_shape, spec.bin_shape) = (vec![10.0; 3], None)
    });
    let want = vec![
        texts([
            "0.5 2.0 3.0",
            "9007199254740993",
            "a",
            "0.5",
            "1",
            "null",
            "nan",
        ]),
        texts(["4.0 5.5 6.0", "-1", "null", "0.25", "2", "true", "inf"]),
    ];
    let names = ["position", "id", "word", "w_0", "w_1", "ok", "score"];
    assert_eq!(sorted(rows(&got.vertices, &names)), want);
}

#[test]
fn objects_may_lack_columns_that_later_ones_have() {
    let folder = Folder::new();
    let text = "{\"y\":1,\"x\":2}\n{\"x\":3,\"y\":4,\"n\":7}\n{\"late\":\"a\",\"x\":5,\"y\":6}\n";
    let file = folder.file("a.ndjson", text);
    let import = open(std::slice::from_ref(&file), &small());
    let got = folder.store(&import, |_| {});
    let want = vec![
        texts(["2.0 1.0", "nan", "null"]),
        texts(["3.0 4.0", "7.0", "null"]),
        texts(["5.0 6.0", "nan", "a"]),
    ];
    assert_eq!(
        sorted(rows(&got.vertices, &["position", "n", "late"])),
        want
    );
    // The last row lacks a value, too: none is left.
    let mut options = small();
    options.nulls = Nulls::DropRow;
    let (_, text) = refused(std::slice::from_ref(&file), &options);
    assert!(text.contains("found no vertex"), "{text}");
    options.exclude = vec!["late".into()];
    let import = open(std::slice::from_ref(&file), &options);
    assert_eq!(import.notes(), ["2 rows with missing values are left out"]);
    options.nulls = Nulls::Error;
    let (_, text) = refused(std::slice::from_ref(&file), &options);
    assert!(
        text.contains("a.ndjson, line 1: found column \"n\" with no value"),
        "{text}"
    );
    let late = folder.file("b.ndjson", "{\"x\":1,\"y\":2}\n{\"x\":1,\"y\":2,\"z\":3}\n");
    let (_, text) = refused(&[late], &small());
    assert!(
        text.ends_with("b.ndjson, line 1: found \"\", expected a finite number in column \"z\""),
        "{text}"
    );
    let other = folder.file("c.ndjson", "{\"y\":1,\"x\":2,\"n\":1}\n{\"x\":\"no\"}\n");
    let (_, text) = refused(&[file, other], &small());
    assert!(
        text.ends_with("found y, x, n, expected the columns of the first file: y, x, n, late"),
        "{text}"
    );
}

/// The bytes that this thread has read, as Linux counts them.
#[cfg(target_os = "linux")]
fn bytes_read() -> Option<u64> {
    let counters = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    let read = counters
        .lines()
        .find_map(|line| line.strip_prefix("rchar: "))?;
    read.parse().ok()
}

#[cfg(target_os = "linux")]
#[test]
fn tables_of_text_are_read_twice() {
    use std::fmt::Write;

    struct Nothing;
    impl zvf_convert::Sink for Nothing {
        fn batch(&mut self, _: &zvf_write::Batch<'_>) -> Result<(), zvf_write::WriteError> {
            Ok(())
        }
        fn objects(&mut self, _: &zvf_write::ObjectTable<'_>) -> Result<(), zvf_write::WriteError> {
            Ok(())
        }
        fn groups(&mut self, _: &zvf_write::Groups<'_>) -> Result<(), zvf_write::WriteError> {
            Ok(())
        }
    }

    let (mut objects, mut lines) = (String::new(), "x,y,n\n".to_owned());
    for row in 0..50_000 {
        writeln!(lines, "{row},1,2").unwrap();
        // A column that comes late does not cost a reading.
        let n = if row > 40_000 { ",\"n\":2" } else { "" };
        writeln!(objects, "{{\"x\":{row},\"y\":1{n}}}").unwrap();
    }
    let folder = Folder::new();
    for (name, text) in [("a.ndjson", objects), ("a.csv", lines)] {
        let file = folder.file(name, &text);
        let Some(before) = bytes_read() else { return };
        open(&[file], &Options::default())
            .read(&mut Nothing)
            .unwrap();
        let read = bytes_read().unwrap() - before;
        let size = text.len() as u64;
        assert!(
            (2 * size..3 * size).contains(&read),
            "{name}: {read} of {size}"
        );
    }
}

#[test]
fn a_column_has_one_use() {
    let folder = Folder::new();
    let file = folder.file("a.csv", "x,y,n\n1,2,3\n");
    let check = |change: &dyn Fn(&mut Options), said: &str| {
        let mut options = small();
        change(&mut options);
        let (error, text) = refused(std::slice::from_ref(&file), &options);
        assert_eq!(text, said);
        assert_eq!(error.class(), Class::Misuse);
    };
    check(
        &|options| options.attributes = Some(vec!["x".into()]),
        "attributes: found \"x\", expected columns that are neither position nor object",
    );
    check(
        &|options| options.object_column = Some("x".into()),
        "object column: found \"x\", expected another column than those of the position",
    );
    check(
        &|options| options.position = Some(vec!["x".into(), "x".into()]),
        "position: found \"x\" again, expected another column",
    );
}
