//! CSV and NDJSON.

use proptest::prelude::*;
use zvf_convert::{Nulls, Options};
use zvf_store::Class;
use zvf_write::{AttributeType, Kind, NumberType};

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
    // The last row lacks a value, too, so no row is left.
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
        text.contains("found y, x, n, expected the columns of the first file: y, x, n, late;"),
        "{text}"
    );
}

/// The bytes that this thread has read, by the counter of Linux.
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
        fn batch(&mut self, _: &zvf_write::Batch) -> Result<(), zvf_write::WriteError> {
            Ok(())
        }
        fn objects(&mut self, _: &zvf_write::ObjectTable) -> Result<(), zvf_write::WriteError> {
            Ok(())
        }
        fn groups(&mut self, _: &zvf_write::Groups) -> Result<(), zvf_write::WriteError> {
            Ok(())
        }
    }

    let (mut objects, mut lines) = (String::new(), "x,y,n\n".to_owned());
    for row in 0..50_000 {
        writeln!(lines, "{row},1,2").unwrap();
        // A column that first occurs in a later line does not require another pass.
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
        "object column: found \"x\", expected a column that is not part of the position",
    );
    check(
        &|options| options.position = Some(vec!["x".into(), "x".into()]),
        "position: found column \"x\" twice, expected different columns",
    );
}

/// The columns of a store, by name, as texts sorted by the first one.
fn read_back(
    folder: &Folder,
    name: &str,
    text: &str,
    options: &Options,
    names: &[&str],
) -> Vec<Vec<String>> {
    let import = open(&[folder.file(name, text)], options);
    rows(&folder.store(&import, |_| {}).vertices, names)
}

#[test]
fn errors_name_the_line_of_a_file() {
    let folder = Folder::new();
    for (text, line) in [
        ("x,y,v\n1,2,3\n1,a,3\n", 3),
        ("x,y,v\n1,2,3\n1,a,3", 3),
        ("x,y,v\r\n1,2,3\r\n1,a,3\r\n", 3),
        ("x,y,v\r\n1,2,3\r\n1,a,3", 3),
        ("x,y,v\n1,2,3\n\n\n1,a,3\n", 5),
        ("x,y,v\r\n1,2,3\r\n\r\n1,a,3\r\n", 4),
        ("x,y,v\n1,2,\"b\nc\"\n1,a,d", 4),
        ("# note\r\n\r\nx,y,v\r\n1,2,\"b\r\nc\"\r\n1,a,d\r\n", 6),
    ] {
        let (_, said) = refused(&[folder.file("a.csv", text)], &small());
        let start = format!("a.csv, line {line}: found \"a\"");
        assert!(said.starts_with(&start), "{text:?}: {said}");
    }
    let latin = folder.file("b.csv", b"x,y,v\r\n1,2,a\r\n1,2,\xfc\r\n");
    let (_, said) = refused(&[latin], &small());
    assert!(said.starts_with("b.csv, line 3: "), "{said}");
}

#[test]
fn a_quote_that_is_never_closed_is_refused_with_its_line() {
    let folder = Folder::new();
    for (name, text, line, start) in [
        ("a.csv", "x,y,v\n1,2,\"abc\n2,2,b\n3,3,c\n", 2, "abc"),
        ("b.csv", "x,y,v\r\n1,2,a\r\n2,2,\"b", 3, "b"),
        (
            "c.csv",
            "# note\n\nx,y,v\n\n1,2,\"two\nlines\"\n3,4,\"c\n",
            7,
            "c",
        ),
        ("d.tsv", "x\ty\tv\n1\t2\t\"\n", 2, ""),
        ("e.csv", "x,y,\"v\n1,2,3\n", 1, "v"),
        ("f.csv", "v,x,y\n\"a\"\"\n,1,2\n", 2, "a\\\""),
    ] {
        let (error, said) = refused(&[folder.file(name, text)], &small());
        let want = format!(
            "{name}, line {line}: found a quote before \"{start}\" that is never closed, expected a quote at the end of the field"
        );
        assert_eq!(said, want);
        assert_eq!(error.class(), Class::Malformed);
        let error = zvf_convert::read_table(&folder.file(name, text), &Options::default());
        assert!(
            error.unwrap_err().to_string().contains("never closed"),
            "{name}"
        );
    }
    // Closed quotes at the end of a file are valid, with and without a line end.
    for text in [
        "x,y,v\n1,2,\"a\"",
        "x,y,v\n1,2,\"a\"\r\n",
        "x,y,v\n1,2,\"a\"\n\n\n",
        "x,y,v\n1,2,a",
    ] {
        assert_eq!(read_back(&folder, "g.csv", text, &small(), &["v"]), [["a"]]);
    }
}

/// The parser joins such a text to the field: two quotes that are not meant as such swallowed the rows between them.
#[test]
fn text_behind_a_closed_field_is_refused_with_its_line() {
    let folder = Folder::new();
    for (text, line) in [
        ("x,y,v\n1,2,a\n1,2,\"b\n3,4,c\n5,6,\"d\n7,8,e\n", 3),
        ("x,y,v\r\n1,2,\"19\" rack\"\r\n", 2),
        ("v,x,y\n\"O\"Brien\",1,2\n", 2),
        ("x,y,v\n1,2,\"a\" \"b\"\n", 2),
    ] {
        let (error, said) = refused(&[folder.file("a.csv", text)], &small());
        let start = format!("a.csv, line {line}: found text after the closing quote of a field");
        assert!(said.starts_with(&start), "{text:?}: {said}");
        assert_eq!(error.class(), Class::Malformed);
    }
    for (text, value) in [
        ("x,y,v\n1,2,\"a\"\"b\"\n", "a\"b"),
        ("x,y,v\n1,2,5\"\n", "5\""),
        ("x,y,v\n1,2,\"a,\nb\"\n", "a,\nb"),
    ] {
        let read = read_back(&folder, "b.csv", text, &small(), &["v"]);
        assert_eq!(read, [[value]], "{text:?}");
    }
}

#[test]
fn whole_numbers_are_kept_or_refused() {
    let folder = Folder::new();
    let table = |values: &[&str]| {
        let rows = values.iter().map(|value| format!("1,2,{value}\n"));
        format!("x,y,v\n{}", rows.collect::<String>())
    };
    for values in [
        ["123456789012345678", ""],
        ["18446744073709551615", ""],
        ["-1", "18446744073709551615"],
        ["18446744073709551617", "1"],
        ["9007199254740993", "0.5"],
        ["1e400", "1"],
        ["0.5", "1e-400"],
        ["1,234", "5"],
    ] {
        let quoted = values.map(|value| {
            if value.contains(',') {
                format!("\"{value}\"")
            } else {
                value.to_owned()
            }
        });
        let quoted: Vec<&str> = quoted.iter().map(String::as_str).collect();
        let (error, text) = refused(&[folder.file("a.csv", table(&quoted))], &small());
        assert_eq!(error.class(), Class::Malformed, "{text}");
        assert!(
            text.contains("--exclude v") || text.contains("--attribute-type v=text"),
            "{text}"
        );
        // The same with NDJSON, in which numbers are not texts.
        if values.contains(&"1,234") {
            continue;
        }
        let lines = values.iter().map(|value| match *value {
            "" => "{\"x\":1,\"y\":2}\n".to_owned(),
            value => format!("{{\"x\":1,\"y\":2,\"v\":{value}}}\n"),
        });
        refused(
            &[folder.file("a.ndjson", lines.collect::<String>())],
            &small(),
        );
    }
    let mut options = small();
    options.nulls = Nulls::Value(-1);
    let text = table(&["123456789012345678", ""]);
    assert_eq!(
        read_back(&folder, "a.csv", &text, &options, &["v"]),
        [["-1"], ["123456789012345678"]]
    );
    options.nulls = Nulls::DropRow;
    assert_eq!(
        read_back(&folder, "a.csv", &text, &options, &["v"]),
        [["123456789012345678"]]
    );
    let mut options = small();
    let ask = |kind| vec![("v".to_owned(), kind)];
    options.attribute_types = ask(AttributeType::Category);
    let text = table(&["-1", "18446744073709551615"]);
    assert_eq!(
        read_back(&folder, "a.csv", &text, &options, &["v"]),
        [["-1"], ["18446744073709551615"]]
    );
    options.attribute_types = ask(AttributeType::Number(NumberType::F64));
    let text = table(&["9007199254740993", "0.5"]);
    assert_eq!(
        read_back(&folder, "a.csv", &text, &options, &["v"]),
        [["0.5"], ["9007199254740992.0"]]
    );
    options.attribute_types = ask(AttributeType::Number(NumberType::U8));
    let (_, text) = refused(&[folder.file("a.csv", table(&["7", "256"]))], &options);
    assert_eq!(
        text,
        "a.csv, line 3: found \"256\" in column \"v\", expected a value of UInt8, the requested type"
    );
    options.attribute_types = ask(AttributeType::Number(NumberType::I64));
    let text = table(&["9007199254740993.0", "-3.00"]);
    assert_eq!(
        read_back(&folder, "a.csv", &text, &options, &["v"]),
        [["-3"], ["9007199254740993"]]
    );
    let wrong = table(&["3.5"]);
    refused(&[folder.file("a.csv", wrong)], &options);
    // A coordinate must be exact as a float64.
    let (_, text) = refused(
        &[folder.file("a.csv", "x,y\n1,9007199254740993\n")],
        &small(),
    );
    assert!(
        text.ends_with(
            "found \"9007199254740993\", expected a number that float64 holds in column \"y\""
        ),
        "{text}"
    );
}

#[test]
fn words_blanks_and_zeros() {
    let folder = Folder::new();
    let text = "x,y,n,t,zip,b\n1,1,1,NA,00123,\" \"\n2,2,NA,b,7,a\n3,3,2.5,null,,\n";
    let file = folder.file("a.csv", text);
    let import = open(std::slice::from_ref(&file), &small());
    assert_eq!(
        import.notes(),
        [
            "column \"n\": 1 fields such as \"NA\" are missing values, so it becomes numbers (--na '' reads them as texts)",
            "column \"zip\": numbers such as 00123 begin with zeros, so they stay texts (--attribute-type zip=int64 reads numbers)",
            "column \"n\": 1 missing values become NaN",
        ]
    );
    let got = folder.store(&import, |_| {});
    let want = vec![
        texts(["1.0", "NA", "00123", " "]),
        texts(["2.5", "null", "null", "null"]),
        texts(["nan", "b", "7", "a"]),
    ];
    assert_eq!(rows(&got.vertices, &["n", "t", "zip", "b"]), want);
    let mut options = small();
    options.na = Some(vec!["null".to_owned(), "NA".to_owned()]);
    let got = folder.store(&open(std::slice::from_ref(&file), &options), |_| {});
    assert_eq!(
        column(&got.vertices, "t")
            .iter()
            .filter(|text| *text == "null")
            .count(),
        2
    );
    options.na = Some(Vec::new());
    let got = folder.store(&open(std::slice::from_ref(&file), &options), |_| {});
    assert_eq!(sorted(column(&got.vertices, "n")), ["1", "2.5", "NA"]);
    // Rows with missing values are left out: in a column of numbers a word marks a missing value, in a column of texts it does not.
    let mut options = small();
    options.nulls = Nulls::DropRow;
    let text = "x,y,n,t\n1,1,1,NA\n2,2,NA,b\nnan,3,3,c\n4,,4,d\n5,NA,5,e\n6,6,NaN,f\n7,7,7, \n";
    let file = folder.file("b.csv", text);
    let import = open(std::slice::from_ref(&file), &options);
    assert!(
        import
            .notes()
            .contains(&"5 rows with missing values are left out".to_owned()),
        "{:?}",
        import.notes()
    );
    let got = folder.store(&import, |_| {});
    assert_eq!(
        rows(&got.vertices, &["n", "t"]),
        [texts(["1", "NA"]), texts(["7", " "])]
    );
    options.nulls = Nulls::Error;
    let (_, text) = refused(&[file], &options);
    assert!(text.contains(" with no value"), "{text}");
}

#[test]
fn tables_without_a_header_and_with_comments() {
    let folder = Folder::new();
    let check = |name: &str, text: &str, options: &Options, want: &[[&str; 2]]| {
        let got = read_back(&folder, name, text, options, &["position", "v"]);
        assert_eq!(got, want, "{name}");
    };
    let mut named = small();
    named.columns_in = Some(texts(["x", "y", "v"]).to_vec());
    let want = [["1.0 2.0", "3"], ["4.0 5.0", "6"]];
    check("a.csv", "1,2,3\n4,5,6\n", &named, &want);
    check("a.tsv", "# c\n1\t2\t3\n4\t5\t6", &named, &want);
    check("a.txt", "  1   2 3\n4 5\t6  \n", &named, &want);
    check(
        "b.csv",
        "# made by hand\n#\n\nx,y,v\n1,2,3\n4,5,6\n",
        &small(),
        &want,
    );
    check("c.csv", "# x, y ,v\n1,2,3\n4,5,6\n", &small(), &want);
    check("d.txt", "\u{feff}//X Y v\n1 2 3\n4 5 6\n", &small(), &want);
    check("e.csv", "x;y;v\n1;2;3\n4;5;6\n", &small(), &want);
    let mut comma = small();
    comma.decimal_comma = true;
    check(
        "f.csv",
        "x;y;v\n1,5;2;0,25\n",
        &comma,
        &[["1.5 2.0", "0.25"]],
    );
    check(
        "g.csv",
        "x,y,v\n\"1,5\",2,\"0,25\"\n",
        &comma,
        &[["1.5 2.0", "0.25"]],
    );
    let (_, text) = refused(&[folder.file("h.csv", "x;y;v\n1,5;2;0,25\n")], &small());
    assert!(
        text.contains("line 2: found \"1,5\"") && text.contains("--decimal ,"),
        "{text}"
    );
    let (_, text) = refused(&[folder.file("i.csv", "x;y;v\n1;2;0.25\n")], &comma);
    assert!(text.contains("found \"0.25\" in column \"v\""), "{text}");
    let (_, text) = refused(&[folder.file("j.csv", "1,2,3,4\n")], &named);
    assert_eq!(
        text,
        "j.csv, line 1: found 4 fields, expected 3, one for each column name"
    );
    let (_, text) = refused(&[folder.file("k.csv", "x,y,v\n1,2,3\n")], &named);
    assert!(
        text.starts_with("k.csv, line 1: found \"x\", expected a finite number"),
        "{text}"
    );
    // .xyz
    let got = read_back(
        &folder,
        "a.xyz",
        "# scan\n 1.5  2\t3   7 0.5\n4 5 6 8 1\n",
        &small(),
        &["position", "extra_0", "extra_1"],
    );
    assert_eq!(
        got,
        [
            texts(["1.5 2.0 3.0", "7", "0.5"]),
            texts(["4.0 5.0 6.0", "8", "1.0"])
        ]
    );
    let got = read_back(
        &folder,
        "b.xyz",
        "X Y Z I\n1 2 3 7\n",
        &small(),
        &["position", "I"],
    );
    assert_eq!(got, [texts(["1.0 2.0 3.0", "7"])]);
    let (_, text) = refused(&[folder.file("c.xyz", "1 2 3\n4 5\n")], &small());
    assert!(text.starts_with("c.xyz, line 2: found 2 fields"), "{text}");
}

#[test]
fn columns_get_names_that_a_store_holds() {
    let folder = Folder::new();
    let text = "Cx,Cy,gene/name,gene_name,a\\b\n1,2,p,q,3\n";
    let mut options = small();
    options.rename = vec![
        ("Cx".into(), "x".into()),
        ("Cy".into(), "y".into()),
        ("a\\b".into(), "ab".into()),
    ];
    let import = open(&[folder.file("a.csv", text)], &options);
    assert_eq!(
        import.notes(),
        [
            "column \"gene/name\" becomes the attribute gene_name_2: a store cannot hold its name (--rename gives another one)"
        ]
    );
    let got = folder.store(&import, |_| {});
    assert_eq!(
        rows(&got.vertices, &["gene_name", "gene_name_2", "ab"]),
        [texts(["q", "p", "3"])]
    );
    let lines = "{\"Cx\":1,\"Cy\":2,\"gene/name\":\"p\",\"a\\\\b\":3}\n";
    let got = folder.store(&open(&[folder.file("a.ndjson", lines)], &options), |_| {});
    assert_eq!(
        rows(&got.vertices, &["gene_name", "ab"]),
        [texts(["p", "3"])]
    );
    options.rename.push(("no".into(), "such".into()));
    let (_, text) = refused(&[folder.file("a.csv", text)], &options);
    assert!(
        text.starts_with("rename: found \"no\", expected one of the columns: x, y"),
        "{text}"
    );
    options.rename = vec![("Cx".into(), "x".into()), ("Cy".into(), "x".into())];
    let (_, text) = refused(&[folder.file("a.csv", "Cx,Cy,y\n1,2,3\n")], &options);
    assert!(text.contains("a second column \"x\""), "{text}");
}

#[test]
fn ndjson_may_have_a_mark_and_empty_lines() {
    let folder = Folder::new();
    let text = "\u{feff}\n{\"x\":1,\"y\":2,\"v\":\" \"}\n\n  \r\n{\"x\":3,\"y\":4,\"v\":\"\"}\n\n";
    let got = read_back(&folder, "a.ndjson", text, &small(), &["v"]);
    assert_eq!(got, [[""], [" "]]);
    let (_, text) = refused(
        &[folder.file("b.ndjson", "\n{\"x\":1,\"y\":2}\n\n{\"x\":}\n")],
        &small(),
    );
    assert!(text.starts_with("b.ndjson, line 4: "), "{text}");
    // The error has the number as it is in the line, although texts of the line look like numbers.
    let text = "{\"x\":1,\"y\":2,\"t\":\"\\\"9e9\\\\\",\"v\":18446744073709551617}\n";
    let (_, text) = refused(&[folder.file("c.ndjson", text)], &small());
    assert!(
        text.contains("found \"18446744073709551617\" in column \"v\""),
        "{text}"
    );
}

/// The value of a row as a line of JSON has it.
fn json(column: &arrow_array::ArrayRef, row: usize) -> String {
    let mut text = String::new();
    zvf_convert::output::write_value(
        &mut text,
        column.as_ref(),
        row,
        zvf_convert::output::Style::Json,
    );
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn numbers_of_every_type_come_back_through_text(
        whole in prop::collection::vec((any::<i8>(), any::<u16>(), any::<i32>(), any::<u32>(), any::<i64>(), any::<u64>()), 1..20),
        bits in prop::collection::vec((any::<u32>(), any::<u64>(), any::<u16>(), 0_u32..60), 20),
    ) {
        use std::sync::Arc;

        use arrow_array::cast::AsArray;
        use arrow_array::types::Float32Type;
        use arrow_array::{
            ArrayRef, Float16Array, Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, RecordBatch,
            UInt16Array, UInt32Array, UInt64Array,
        };
        let rows = whole.len();
        let bits = &bits[..rows];
        let place: ArrayRef = Arc::new(Float32Array::from_iter_values((0_u8..).take(rows).map(f32::from)));
        // Floats of any bits, and integers of any size.
        let single = bits.iter().map(|(bits, _, _, shift)| match shift % 2 {
            0 => f32::from_bits(*bits),
            _ => (u64::from(*bits) << (shift / 2)) as f32,
        });
        let double = bits.iter().map(|(_, bits, _, shift)| match shift % 2 {
            0 => f64::from_bits(*bits),
            _ => (bits >> shift) as f64,
        });
        let half = bits.iter().map(|(_, _, bits, _)| half::f16::from_bits(*bits));
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("x", Arc::clone(&place)),
            ("y", place),
            ("i8", Arc::new(Int8Array::from_iter_values(whole.iter().map(|one| one.0)))),
            ("u16", Arc::new(UInt16Array::from_iter_values(whole.iter().map(|one| one.1)))),
            ("i32", Arc::new(Int32Array::from_iter_values(whole.iter().map(|one| one.2)))),
            ("u32", Arc::new(UInt32Array::from_iter_values(whole.iter().map(|one| one.3)))),
            ("i64", Arc::new(Int64Array::from_iter_values(whole.iter().map(|one| one.4)))),
            ("u64", Arc::new(UInt64Array::from_iter_values(whole.iter().map(|one| one.5)))),
            ("f16", Arc::new(Float16Array::from_iter_values(half))),
            ("f32", Arc::new(Float32Array::from_iter_values(single))),
            ("f64", Arc::new(Float64Array::from_iter_values(double))),
        ];
        let batch = RecordBatch::try_from_iter(columns.clone()).unwrap();
        let mut bytes = Vec::new();
        let mut writer = arrow_ipc::writer::FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        drop(writer);
        let folder = Folder::new();
        let kept = |spec: &mut zvf_write::StoreSpec| (spec.chunk_shape, spec.bin_shape) = (vec![100.0; 2], None);
        let first = folder.store(&open(&[folder.file("a.arrow", bytes)], &small()), kept).vertices;
        let stored = |name: &str| Arc::clone(first.column_by_name(name).unwrap());
        let mut files = Vec::new();
        for (name, delimiter, gzip) in [
            ("b.csv", None, false),
            ("c.tsv", Some(b'\t'), false),
            ("d.csv.gz", None, true),
        ] {
            let mut options = zvf_convert::export::ExportOptions::default();
            (options.delimiter, options.gzip) = (delimiter, gzip);
            files.push(folder.export(name, &options).0);
        }
        let lines = (0..rows).map(|row| {
            let members = columns[2..].iter().map(|(name, _)| format!(",\"{name}\":{}", json(&stored(name), row)));
            format!("{{\"x\":{row},\"y\":{row}{}}}\n", members.collect::<String>())
        });
        files.push(folder.file("e.ndjson", lines.collect::<String>()));
        // Rows are in the order of the store.
        for file in files {
            let again = Folder::new();
            let back = again.store(&open(std::slice::from_ref(&file), &small()), kept).vertices;
            for (name, _) in &columns[2..8] {
                prop_assert_eq!(column(&back, name), column(&first, name), "{} of {:?}", name, file);
            }
            let wide = |column: &ArrayRef| -> Vec<f64> { zvf_convert::floats(column).values };
            for name in ["f16", "f32", "f64"] {
                let (was, is) = (stored(name), back.column_by_name(name).unwrap());
                for (was, is_now) in wide(&was).into_iter().zip(wide(is)) {
                    // A float64 and a float32 can have the same text, such as 0.1.
                    let text = is.as_primitive_opt::<Float32Type>().is_some()
                        && format!("{was:e}") == format!("{:e}", is_now as f32);
                    prop_assert!(was == is_now || was.is_nan() && is_now.is_nan() || text, "{was} {is_now} {name} {file:?}");
                }
            }
        }
    }
}
