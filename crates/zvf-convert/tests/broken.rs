//! An error about a file names the line or byte, and no bytes cause a panic of a reader.

use proptest::prelude::*;
use zvf_convert::{ConvertError, Import, Options};
use zvf_store::Class;
use zvf_write::Kind;

use crate::meshes::{stl_binary, stl_text};
use crate::streamlines::{Out, tck, trk, trk_header};
use crate::support::{Folder, refused};

/// Checks that a file is malformed, and the text of the error.
fn wrong(name: &str, bytes: impl AsRef<[u8]>, said: &str) {
    let folder = Folder::new();
    let (error, text) = refused(&[folder.file(name, bytes)], &Options::default());
    assert_eq!(text, said);
    assert_eq!(error.class(), Class::Malformed);
}

#[test]
fn lines_of_swc() {
    let fields = "7: id, type, x, y, z, radius, parent";
    wrong(
        "a.swc",
        "1 0 0 0 0 1\n",
        &format!("a.swc, line 1: found 6 fields, expected {fields}"),
    );
    wrong(
        "a.swc",
        "# c\n1 0 0 0 0 1 -1 9\n",
        &format!("a.swc, line 2: found 8 fields, expected {fields}"),
    );
    wrong(
        "a.swc",
        "1 0 0 nan 0 1 -1\n",
        "a.swc, line 1: found \"nan\", expected y, a finite number",
    );
    wrong(
        "a.swc",
        "1 0.5 0 0 0 1 -1\n",
        "a.swc, line 1: found \"0.5\", expected a type, a whole number",
    );
    wrong(
        "a.swc",
        "1 0 0 0 0 1 -1\n1 0 0 0 0 1 1\n",
        "a.swc, line 2: found a second node 1, expected different ids",
    );
    wrong(
        "a.swc",
        "1 0 0 0 0 1 2\n",
        "a.swc, line 1: found parent 2, expected the id of a node of this file, or -1",
    );
    wrong(
        "a.swc",
        "9 0 0 0 0 1 -1\n1 0 0 0 0 1 2\n2 0 0 0 0 1 1\n",
        "a.swc, line 2: found node 1 as an ancestor of itself, expected a tree",
    );
    wrong(
        "a.swc",
        "1 0 0 0 0 1 1\n",
        "a.swc, line 1: found node 1 as an ancestor of itself, expected a tree",
    );
    wrong(
        "a.swc",
        b"1 0 0 0 \xff 1 -1\n",
        "a.swc, line 1: found bytes that are not UTF-8, expected text",
    );
    wrong(
        "a.swc",
        "# only\n",
        "a.swc: found no vertex, expected at least one vertex: a store without any has no bounds",
    );
}

#[test]
fn lines_of_obj() {
    let number = "the number of a vertex, from 1, or from -1 backwards";
    wrong(
        "a.obj",
        "v 1 2\n",
        "a.obj, line 1: found 2 numbers of a vertex, expected 3 numbers, 4 with a weight, or 6 with a colour",
    );
    wrong(
        "a.obj",
        "v 1 2 3\nf 1 1 2\n",
        "a.obj, line 2: found vertex 2, expected one of the 1 of the file",
    );
    wrong(
        "a.obj",
        "v 1 2 3\nf 1 1 0\n",
        &format!("a.obj, line 2: found \"0\", expected {number}"),
    );
    wrong(
        "a.obj",
        "v 1 2 3\nf 1 1 -2\n",
        &format!("a.obj, line 2: found \"-2\", expected {number}"),
    );
    wrong(
        "a.obj",
        "v 1 2 3\nf 1 1 1/x\n",
        &format!("a.obj, line 2: found \"1/x\", expected {number}"),
    );
    wrong(
        "a.obj",
        "v 1 2 3\nf 1 1\n",
        "a.obj, line 2: found 2 corners of a face, expected 3 or more",
    );
    wrong(
        "a.obj",
        "v 1 2 3\nface 1 1 1\n",
        "a.obj, line 2: found \"face\", expected v, f, or another statement of OBJ",
    );
    wrong(
        "a.obj",
        "v 1 2 inf\n",
        "a.obj, line 1: found \"inf\", expected a coordinate, a finite number",
    );
    wrong(
        "a.obj",
        "v 1 2 3 0 0 0\nv 1 2 3\n",
        "a.obj: found 1 vertices with a colour and others without, expected a colour for all or for none",
    );
}

#[test]
fn lines_of_csv() {
    wrong(
        "a.csv",
        "",
        "a.csv: found nothing, expected a line of column names",
    );
    wrong(
        "a.csv",
        "x,b\n1,2\n",
        "a.csv, line 1: found x, b, expected columns x and y (and z), or other columns named with --position",
    );
    wrong(
        "a.csv",
        "x,y\n1,2\n1,2,3\n",
        "a.csv, line 3: found 3 fields, expected 2, as in the header",
    );
    wrong(
        "a.csv",
        "x,y\n1,2\n1,\n",
        "a.csv, line 3: found \"\", expected a finite number in column \"y\"",
    );
    wrong(
        "a.csv",
        "x,y,x\n1,2,3\n",
        "a.csv, line 1: found a second column \"x\", expected different names",
    );
    wrong(
        "a.csv",
        b"x,y\n1,\xff\n",
        "a.csv, line 2: found bytes that are not UTF-8, expected text",
    );
}

#[test]
fn lines_of_ndjson() {
    for (text, said) in [
        ("[1,2]", "a.ndjson, line 1: found invalid type"),
        (
            "{\"x\":1,\"y\":2}\n{\"x\":1,\"y\":{\"a\":1}}",
            "a.ndjson, line 2: found member \"y\" with a list or an object in it, expected a value or a list of values",
        ),
        (
            "{\"x\":1,\"y\":2}\n{\"x\":1}\n",
            "a.ndjson, line 2: found \"\", expected a finite number in column \"y\"",
        ),
        (
            "{\"n\":1}\n",
            "a.ndjson, line 1: found n, expected columns x and y (and z)",
        ),
    ] {
        let folder = Folder::new();
        let (error, text) = refused(&[folder.file("a.ndjson", text)], &Options::default());
        assert!(text.starts_with(said), "{text}");
        assert_eq!(error.class(), Class::Malformed);
    }
}

#[test]
fn bytes_of_streamlines() {
    let whole = trk(false, 3);
    wrong(
        "a.trk",
        &whole[..999],
        "a.trk, byte 0: found the end of the file after 999 bytes, expected the header, 1000 bytes",
    );
    wrong(
        "a.trk",
        &whole[..whole.len() - 1],
        &format!(
            "a.trk, byte {}: found the end of the file after 3 bytes, expected a property, 4 bytes",
            whole.len() - 4
        ),
    );
    wrong(
        "a.trk",
        [&whole[..], b"x"].concat(),
        &format!(
            "a.trk, byte {}: found more bytes after the last of 3 streamlines, expected the end of the file",
            whole.len() + 1
        ),
    );
    wrong(
        "a.trk",
        trk(false, 4),
        &format!(
            "a.trk, byte {}: found the end of the file after 3 streamlines, expected 4, as the header states",
            whole.len()
        ),
    );
    let mut magic = whole.clone();
    magic[0] = b'X';
    wrong(
        "a.trk",
        magic,
        "a.trk, byte 0: found \"XRACK\", expected \"TRACK\"",
    );
    let mut out = Out::new(false);
    trk_header(&mut out, [&[], &[]], [0, 0], 1);
    out.i32(i32::MAX);
    wrong(
        "a.trk",
        &out.bytes,
        "a.trk, byte 1004: found the end of the file, expected a coordinate, 4 bytes",
    );

    let whole = tck("Float32LE");
    let end = whole.len() - 12;
    wrong(
        "a.tck",
        &whole[..end],
        &format!(
            "a.tck, byte {end}: found the end of the file, expected a coordinate, or the infinities that end the file, 4 bytes"
        ),
    );
    wrong(
        "a.tck",
        "mrtrix tracks\ndatatype: Int8\n",
        "a.tck, line 2: found \"Int8\", expected Float32LE, Float32BE, Float64LE or Float64BE",
    );
    wrong(
        "a.tck",
        "mrtrix tracks\nfile: . 10\nEND\n",
        "a.tck: found no line `datatype`, expected one in the header",
    );
    wrong(
        "a.tck",
        "mrtrix tracks\ndatatype: Float32LE\nfile: . 10\nEND\n",
        "a.tck, line 3: found points from byte 10, expected 49 or more: the header ends there",
    );
}

#[test]
fn triangles_of_stl() {
    let text = stl_text();
    let cut = text.replace("endloop", "endlop");
    wrong(
        "a.stl",
        cut,
        "a.stl, line 7: found \"endlop\", expected endloop",
    );
    let lines = text.replacen("VERTEX 0e0 0 0", "VERTEX 0 0", 1);
    wrong(
        "a.stl",
        lines,
        "a.stl, line 4: found \"VERTEX 0 0\", expected vertex and three numbers",
    );
    wrong(
        "a.stl",
        "solid\n",
        "a.stl, line 2: found the end of the file, expected facet normal, or endsolid",
    );
    wrong(
        "a.stl",
        "sol",
        "a.stl: found 3 bytes, expected \"solid\", or a header of 84 bytes",
    );
    let mut bytes = stl_binary();
    bytes[0] = b'S' + 1;
    bytes.pop();
    wrong(
        "a.stl",
        &bytes,
        "a.stl, byte 80: found 283 bytes, expected 284, for 4 triangles",
    );
    bytes.push(0);
    bytes[84 + 12..84 + 16].copy_from_slice(&f32::NAN.to_le_bytes());
    wrong(
        "a.stl",
        &bytes,
        "a.stl, byte 100: found NaN, expected a finite coordinate",
    );
}

#[test]
fn options_and_limits() {
    let folder = Folder::new();
    let swc = folder.file("a.swc", "1 0 0 0 0 1 -1\n2 0 0 0 0 1 1\n");
    let csv = folder.file("a.csv", "x,y,t,s\n1,2,3,a\n1,2,4,b\n1,2,3,c\n");
    let check =
        |files: &[std::path::PathBuf], class: Class, said: &str, change: &dyn Fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            let (error, text) = refused(files, &options);
            assert_eq!((error.class(), text.as_str()), (class, said));
        };
    let both = [swc.clone(), csv.clone()];
    check(
        &both,
        Class::Misuse,
        "a.csv: found CSV beside SWC, expected files of one format",
        &|_| {},
    );
    check(
        &[],
        Class::Misuse,
        "files: found none, expected at least one",
        &|_| {},
    );
    let swc = [swc];
    check(
        &swc,
        Class::Misuse,
        "kind: found mesh, expected skeleton or graph for SWC",
        &|o| o.kind = Some(Kind::Mesh),
    );
    check(
        &swc,
        Class::Misuse,
        "position: found one for SWC, expected none: it is for tables",
        &|o| o.position = Some(vec![]),
    );
    check(
        &swc,
        Class::Limit,
        "a.swc, line 2: more than 1 nodes of a skeleton",
        &|o| o.limits.held = 1,
    );
    check(&swc, Class::Limit, "a.swc: more than 1 vertices", &|o| {
        o.limits.vertices = 1
    });
    check(
        &swc,
        Class::Limit,
        "a.swc, line 1: more than 5 bytes in a line",
        &|o| o.limits.line = 5,
    );
    let csv = [csv];
    check(
        &csv,
        Class::Limit,
        "a.csv, line 4: more than 2 different texts in column \"s\": leave it out with --exclude s",
        &|o| o.limits.categories = 2,
    );
    check(
        &csv,
        Class::Limit,
        "a.csv, line 1: more than 3 columns",
        &|o| o.limits.columns = 3,
    );
    check(
        &csv,
        Class::Malformed,
        "a.csv, line 4: found rows of object 3 before and after those of others, expected the rows of an object one after another: sort the rows by column \"t\"",
        &|o| {
            o.kind = Some(Kind::Polyline);
            o.object_column = Some("t".into());
        },
    );
    let endless = [folder.file("q.csv", format!("x,y\n1,2\n\"{}", "a".repeat(400_000)))];
    check(
        &endless,
        Class::Limit,
        "q.csv, line 3: more than 1000 bytes in a record",
        &|o| o.limits.line = 1000,
    );
    let none = [folder.file("a.abc", "")];
    check(
        &none,
        Class::Misuse,
        "a.abc: found .abc, expected a file that ends in .swc, .csv, .tsv, .txt, .obj, .stl, .trk, .tck, .trx, .ply, .las, .laz, .npy, .npz, .arrow, .feather, .ipc, .arrows, .parquet, .ndjson, .jsonl, .xyz",
        &|_| {},
    );
    let missing = [none[0].with_file_name("b.swc")];
    assert_eq!(refused(&missing, &Options::default()).0.class(), Class::Io);
}

/// Reads everything, as record batches.
pub(crate) fn read(import: &Import) -> Result<(), ConvertError> {
    import.record_batches(|_| Ok(()))
}

/// Reads any file: opening may fail, but a file that was opened can be read.
fn survive(name: &str, bytes: &[u8]) {
    let folder = Folder::new();
    let mut options = Options::default();
    options.batch = 2;
    if let Ok(import) = Import::open(&[folder.file(name, bytes)], &options) {
        read(&import).unwrap();
    }
}

const SWC: &str = "# c\n1 0 1.5 2 3 1 -1\n2 3 2.5 2 3 1e-3 1\n3 3 2.5 -2 3 1 2\n";
const OBJ: &str = "o a\nv 1 2 3\nv 2 3.5 4\nv 0 0 0\nvn 1 2 3\nf 1 2 3\nf 1/1 -1//2 2/3/4 1\n";
const CSV: &str = "x,y,z,t\n1,2,3,a\n4,5.5,6,\"b \"\" c\"\n1e9,-0.0,7,\n";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn cut_and_changed_files_are_read_or_refused(
        which in 0_usize..7, cut in 0_usize..2000, at in 0_usize..2000, byte: u8, insert: bool,
    ) {
        let (name, bytes) = match which {
            0 => ("a.swc", SWC.as_bytes().to_vec()),
            1 => ("a.obj", OBJ.as_bytes().to_vec()),
            2 => ("a.csv", CSV.as_bytes().to_vec()),
            5 => ("a.stl", stl_text().into_bytes()),
            6 => ("a.stl", stl_binary()),
            3 => ("a.trk", trk(byte & 1 == 0, 3)),
            _ => ("a.tck", tck(if byte & 1 == 0 { "Float32LE" } else { "Float64BE" })),
        };
        let length = bytes.len();
        survive(name, &bytes[..cut % (length + 1)]);
        let mut changed = bytes;
        if insert {
            changed.insert(at % length, byte);
        } else {
            changed[at % length] = byte;
        }
        survive(name, &changed);
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..400), head in 0_usize..3) {
        for name in ["a.swc", "a.obj", "a.stl", "a.csv", "a.tsv", "a.ndjson", "a.trk", "a.tck"] {
            survive(name, &bytes);
        }
        // Random bytes after a valid header.
        let mut out = Out::new(false);
        trk_header(&mut out, [&[], &[]], [i16::try_from(head).unwrap(), 0], 0);
        out.bytes.extend(&bytes);
        survive("a.trk", &out.bytes);
        let mut text = b"mrtrix tracks\ndatatype: Float32LE\nfile: . 49\nEND\n".to_vec();
        text.append(&mut bytes);
        survive("a.tck", &text);
    }

    #[test]
    fn any_lines_of_words_are_read_or_refused(
        lines in prop::collection::vec(
            prop::collection::vec(prop::sample::select(vec!["v", "f", "l", "1", "2", "-1", "0", "1.5", "1e400", "1/2", "x", "y", ",", "\"", "#", "nan", ""]), 0..9),
            0..8,
        ),
        comma: bool,
    ) {
        let lines: Vec<String> = lines.iter().map(|words| words.join(if comma { "," } else { " " })).collect();
        let text = lines.join("\n");
        survive("a.swc", text.as_bytes());
        survive("a.obj", text.as_bytes());
        survive("a.csv", format!("x,y\n{text}").as_bytes());
    }
}
