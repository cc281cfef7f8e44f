//! PLY, NPY and Arrow tables, imported and exported.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int16Array, Int64Array,
    IntervalYearMonthArray, RecordBatch, StringArray,
};
use proptest::prelude::*;
use zvf_convert::export::ExportOptions;
use zvf_convert::{Format, Options};
use zvf_write::{Kind, NumberType};

use crate::parse;
use crate::support::{Folder, column, ends, open, refused, rows, small, sorted, texts};
use zvf_testkit::sample::Sample;

/// Vertices: x, y, z, shade, flag.
const VERTICES: [([f32; 3], i16, f64); 5] = [
    ([0.0, 0.0, 0.5], -7, 0.1),
    ([4.0, 0.0, 0.5], 300, 1.0 / 3.0),
    ([4.0, 4.0, -0.5], 0, -2.0),
    ([0.0, 4.0, 0.5], 1, 1e300),
    ([9.0, 9.0, 9.0], 2, 0.0),
];

fn header(form: &str, rest: &str) -> String {
    format!(
        "ply\nformat {form} 1.0\ncomment made here\nobj_info none\nelement extra 1\nproperty list uchar short odd\n\
         element vertex 5\nproperty float x\nproperty float y\nproperty short shade\nproperty float z\nproperty double weight\n{rest}\
         end_header\n"
    )
}

/// The file, with faces of three or four corners, or edges.
fn ply(form: &str, links: &[&[i32]]) -> Vec<u8> {
    let faces = links.iter().any(|link| link.len() > 2);
    let rest = if faces {
        format!(
            "element face {}\nproperty uchar group\nproperty list uchar int vertex_indices\n",
            links.len()
        )
    } else {
        format!(
            "element edge {}\nproperty int vertex1\nproperty int vertex2\n",
            links.len()
        )
    };
    let mut out = header(form, &rest).into_bytes();
    if form == "ascii" {
        let mut text = "2 7 8\n".to_owned();
        for ([x, y, z], shade, weight) in VERTICES {
            text.push_str(&format!("{x} {y}  {shade} {z} {weight:?}\r\n\n"));
        }
        for link in links {
            let words: Vec<String> = link.iter().map(ToString::to_string).collect();
            let count = if faces {
                format!("3 {} ", link.len())
            } else {
                String::new()
            };
            text.push_str(&format!("{count}{}\n", words.join(" ")));
        }
        out.extend(text.bytes());
        return out;
    }
    let big = form == "binary_big_endian";
    let mut put = |mut bytes: Vec<u8>| {
        if big {
            bytes.reverse();
        }
        out.extend(bytes);
    };
    put(vec![2]);
    put(7_i16.to_le_bytes().to_vec());
    put(8_i16.to_le_bytes().to_vec());
    for ([x, y, z], shade, weight) in VERTICES {
        put(x.to_le_bytes().to_vec());
        put(y.to_le_bytes().to_vec());
        put(shade.to_le_bytes().to_vec());
        put(z.to_le_bytes().to_vec());
        put(weight.to_le_bytes().to_vec());
    }
    for link in links {
        if faces {
            put(vec![3]);
            put(vec![u8::try_from(link.len()).unwrap()]);
        }
        link.iter().for_each(|end| put(end.to_le_bytes().to_vec()));
    }
    out
}

const FORMS: [&str; 3] = ["ascii", "binary_little_endian", "binary_big_endian"];

#[test]
fn ply_of_every_form_is_read_and_written() {
    for form in FORMS {
        let folder = Folder::new();
        let file = folder.file("12.ply", ply(form, &[&[0, 1, 2], &[2, 3, 0]]));
        let import = open(&[file], &small());
        assert_eq!(
            (import.format(), import.spec().kind),
            (Format::Ply, Kind::Mesh)
        );
        assert_eq!(
            (import.vertices(), import.links(), import.objects()),
            (5, 2, 1)
        );
        assert_eq!(import.spec().positions, NumberType::F32);
        assert!(
            import.notes().iter().any(|note| note.contains("extra")),
            "{:?}",
            import.notes()
        );
        let got = folder.store(&import, |spec| spec.chunk_shape = vec![3.0; 3]);
        let want = VERTICES.iter().map(|([x, y, z], shade, weight)| {
            texts([
                &format!("{x:?} {y:?} {z:?}"),
                &shade.to_string(),
                &format!("{weight:?}"),
            ])
        });
        let want = sorted(want.collect());
        assert_eq!(
            rows(&got.vertices, &["position", "shade", "weight"]),
            want,
            "{form}"
        );
        let faces = ends(&got, "shade").into_iter().map(parse::turned).collect();
        let want: Vec<Vec<String>> = vec![
            texts(["-7", "300", "0"]).to_vec(),
            texts(["-7", "0", "1"]).to_vec(),
        ];
        assert_eq!(sorted(faces), sorted(want));
        let (out, done) = folder.export("out.ply", &ExportOptions::default());
        let (vertices, faces) = parse::ply(&std::fs::read(&out).unwrap());
        assert_eq!((vertices.len(), faces.len(), done.links), (5, 2, 2));
        let weights: Vec<&String> = vertices.iter().map(|row| &row["weight"]).collect();
        assert_eq!(
            sorted(weights),
            ["-2.0", "0.0", "0.1", "0.3333333333333333", "1e300"]
        );
        // An import of the written file has the same values.
        let again = Folder::new();
        let got = again.store(&open(&[out], &small()), |spec| {
            spec.chunk_shape = vec![50.0; 3]
        });
        let want = VERTICES.iter().map(|([x, y, z], shade, _)| {
            texts([&format!("{x:?} {y:?} {z:?}"), &shade.to_string()])
        });
        assert_eq!(
            rows(&got.vertices, &["position", "shade"]),
            sorted(want.collect())
        );
        assert_eq!(
            parse::ply(
                &std::fs::read(again.export("out.ply", &ExportOptions::default()).0).unwrap()
            )
            .1,
            faces
        );
    }
}

#[test]
fn ply_edges_make_a_graph_and_nothing_makes_points() {
    let folder = Folder::new();
    let import = open(
        &[folder.file("a.ply", ply("ascii", &[&[0, 1], &[4, 1]]))],
        &small(),
    );
    assert_eq!((import.spec().kind, import.links()), (Kind::Graph, 2));
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![3.0; 3]);
    assert_eq!(sorted(ends(&got, "shade")), [["-7", "300"], ["2", "300"]]);
    let (out, _) = folder.export("o.ply", &ExportOptions::default());
    assert_eq!(parse::ply(&std::fs::read(out).unwrap()).1.len(), 2);
    let import = open(&[folder.file("b.ply", ply("ascii", &[]))], &small());
    assert_eq!(
        (import.spec().kind, import.objects()),
        (Kind::PointCloud, 0)
    );
    let mut options = small();
    options.kind = Some(Kind::PointCloud);
    let import = open(
        &[folder.file("c.ply", ply("ascii", &[&[0, 1, 2, 3]]))],
        &options,
    );
    assert_eq!((import.spec().kind, import.links()), (Kind::PointCloud, 0));
    assert!(import.notes().contains(&"faces are not kept".to_owned()));
}

#[test]
fn ply_faces_of_four_stay_or_are_cut() {
    let folder = Folder::new();
    let import = open(
        &[folder.file("a.ply", ply("binary_big_endian", &[&[0, 1, 2, 3]]))],
        &small(),
    );
    assert_eq!((import.spec().links.width, import.links()), (4, 1));
    let import = open(
        &[folder.file("a.ply", ply("ascii", &[&[0, 1, 2, 3], &[0, 1, 4]]))],
        &small(),
    );
    assert_eq!((import.spec().links.width, import.links()), (3, 3));
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![3.0; 3]);
    assert_eq!(got.links.unwrap().num_rows(), 3);
}

#[test]
fn broken_ply_is_refused_where_it_breaks() {
    let folder = Folder::new();
    let good = String::from_utf8(ply("ascii", &[&[0, 1, 2]])).unwrap();
    let cases: [(&str, &str, &str); 9] = [
        ("ply\n", "plx\n", "found \"plx\", expected ply"),
        ("format ascii 1.0\n", "", "a line format before it"),
        (
            "element vertex 5",
            "element vertex 99999999999",
            "found the end of the file, expected another row",
        ),
        (
            "element vertex 5",
            "element vertex -5",
            "a number of elements",
        ),
        (
            "property float z\n",
            "property vec z\n",
            "`property TYPE NAME`",
        ),
        ("300", "70000", "shade, a number of its type"),
        (
            "3 3 0 1 2",
            "3 3 0 1 5",
            "found vertex 5, expected one of the 5 vertices",
        ),
        (
            "3 3 0 1 2",
            "3 2 0 1",
            "found 2 corners of a face, expected 3 or more",
        ),
        (
            "4 0  300 0.5",
            "nan 0  300 0.5",
            "found in row 1: NaN as x, expected a finite number",
        ),
    ];
    for (from, to, said) in cases {
        assert!(good.contains(from), "{from}");
        let (_, text) = refused(
            &[folder.file("a.ply", good.replace(from, to))],
            &Options::default(),
        );
        assert!(text.contains(said), "{to}: {text}");
    }
    let whole = ply("binary_little_endian", &[&[0, 1, 2]]);
    for length in 0..whole.len() {
        let _ = refused(
            &[folder.file("a.ply", &whole[..length])],
            &Options::default(),
        );
    }
}

/// An array as NumPy writes it.
pub(crate) fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    while !(text.len() + 11).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
    out.extend(text.bytes());
    out.extend(data);
    out
}

#[test]
fn npy_positions_keep_their_type() {
    let folder = Folder::new();
    let data: Vec<u8> = [1.5_f64, -2.0, 0.1, 3.0]
        .into_iter()
        .flat_map(f64::to_be_bytes)
        .collect();
    let import = open(
        &[folder.file("a.npy", npy(">f8", "(2, 2)", &data))],
        &small(),
    );
    assert_eq!(import.spec().positions, NumberType::F64);
    let got = folder.store(&import, |_| {});
    assert_eq!(
        sorted(column(&got.vertices, "position")),
        ["0.1 3.0", "1.5 -2.0"]
    );
    let data: Vec<u8> = [7_i16, -8, 9, 1, 2, 3]
        .into_iter()
        .flat_map(i16::to_le_bytes)
        .collect();
    let file = npy("<i2", "(2, 3)", &data);
    let import = open(&[folder.file("b.npy", &file)], &small());
    assert_eq!(import.spec().positions, NumberType::I16);
    folder.store(&import, |spec| spec.chunk_shape = vec![100.0; 3]);
    let (out, _) = folder.export("out.npy", &ExportOptions::default());
    let bytes = std::fs::read(out).unwrap();
    assert!(
        String::from_utf8_lossy(&bytes[..128])
            .contains("'<i2', 'fortran_order': False, 'shape': (2, 3)")
    );
    let (_, text) = refused(
        &[folder.file("c.npy", npy("<f4", "(2,)", &[0; 8]))],
        &Options::default(),
    );
    assert!(text.contains("expected positions, `(N, D)`"), "{text}");
    let (_, text) = refused(
        &[folder.file("c.npy", npy("<f4", "(99999999999, 3)", &[0; 24]))],
        &Options::default(),
    );
    assert!(text.contains("expected 1200000000"), "{text}");
    for length in 0..file.len() {
        let _ = refused(
            &[folder.file("c.npy", &file[..length])],
            &Options::default(),
        );
    }
}

pub(crate) fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

pub(crate) fn ipc(folder: &Folder, name: &str, batches: &[RecordBatch]) -> PathBuf {
    let mut bytes = Vec::new();
    let options = arrow_ipc::writer::IpcWriteOptions::default()
        .with_dictionary_handling(arrow_ipc::writer::DictionaryHandling::Delta);
    let mut writer = arrow_ipc::writer::FileWriter::try_new_with_options(
        &mut bytes,
        &batches[0].schema(),
        options,
    )
    .unwrap();
    batches
        .iter()
        .for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    folder.file(name, bytes)
}

fn sample() -> RecordBatch {
    let kinds: DictionaryArray<Int8Type> = vec![Some("axon"), None, Some("soma"), Some("axon")]
        .into_iter()
        .collect();
    table(vec![
        ("x", Arc::new(Float32Array::from(vec![0.5, 1.0, 2.0, 30.0]))),
        ("y", Arc::new(Float32Array::from(vec![0.0, 1.0, -2.0, 0.0]))),
        ("kind", Arc::new(kinds)),
        (
            "name",
            Arc::new(StringArray::from(vec![
                Some("a"),
                Some("b"),
                None,
                Some("a"),
            ])),
        ),
        ("id", Arc::new(Int64Array::from(vec![7, 7, -3, -3]))),
        (
            "flag",
            Arc::new(BooleanArray::from(vec![true, false, true, true])),
        ),
        (
            "score",
            Arc::new(Float64Array::from(vec![
                Some(0.1),
                None,
                Some(3.0),
                Some(-1.0),
            ])),
        ),
        ("small", Arc::new(Int16Array::from(vec![1, 2, 3, 4]))),
    ])
}

#[test]
fn arrow_columns_become_attributes_of_their_type() {
    let folder = Folder::new();
    let batch = sample();
    let file = ipc(&folder, "a.arrow", &[batch.slice(0, 3), batch.slice(3, 1)]);
    let import = open(std::slice::from_ref(&file), &small());
    assert_eq!(
        (import.vertices(), import.spec().kind),
        (4, Kind::PointCloud)
    );
    assert_eq!(
        import.notes(),
        ["column \"score\": 1 missing values become NaN"]
    );
    let got = folder.store(&import, |spec| {
        spec.chunk_shape = vec![3.0; 2];
        spec.bin_shape = None;
    });
    let want = [
        ["0.5 0.0", "axon", "a", "7", "1", "0.1", "1"],
        ["1.0 1.0", "null", "b", "7", "0", "nan", "2"],
        ["2.0 -2.0", "soma", "null", "-3", "1", "3.0", "3"],
        ["30.0 0.0", "axon", "a", "-3", "1", "-1.0", "4"],
    ];
    let names = ["position", "kind", "name", "id", "flag", "score", "small"];
    assert_eq!(
        rows(&got.vertices, &names),
        sorted(want.map(|row| texts(row).to_vec()).to_vec())
    );
    // Exports the store as a table, and imports the table.
    let (out, done) = folder.export("out.arrow", &ExportOptions::default());
    assert!(done.notes.is_empty(), "{:?}", done.notes);
    let again = Folder::new();
    let got = again.store(&open(&[out], &small()), |spec| {
        spec.chunk_shape = vec![9.0; 2];
        spec.bin_shape = None;
    });
    assert_eq!(
        rows(&got.vertices, &names),
        sorted(want.map(|row| texts(row).to_vec()).to_vec())
    );
    let mut chains = small();
    (chains.kind, chains.object_column) = (Some(Kind::Polyline), Some("id".to_owned()));
    let import = open(&[file], &chains);
    assert_eq!(import.objects(), 2);
    let folder = Folder::new();
    folder.store(&import, |spec| spec.chunk_shape = vec![3.0; 2]);
    assert_eq!(
        column(&folder.objects(&[-3]), "position"),
        ["2.0 -2.0", "30.0 0.0"]
    );
}

#[test]
fn arrow_tables_that_do_not_fit_are_refused_by_name() {
    let folder = Folder::new();
    let x = || -> (&'static str, ArrayRef) { ("x", Arc::new(Float32Array::from(vec![1.0, 2.0]))) };
    let y = || -> (&'static str, ArrayRef) { ("y", Arc::new(Float32Array::from(vec![1.0, 2.0]))) };
    let cases: [(Vec<(&str, ArrayRef)>, &str); 4] = [
        (
            vec![
                x(),
                y(),
                (
                    "n",
                    Arc::new(Int64Array::from(vec![Some((1 << 53) + 1), None])),
                ),
            ],
            "column \"n\" with 1 missing values, and numbers that float64 does not represent",
        ),
        (
            vec![
                x(),
                y(),
                ("t", Arc::new(IntervalYearMonthArray::from(vec![1, 2]))),
            ],
            "column \"t\" of Interval(YearMonth), expected numbers, booleans, texts, dates or times: leave it out with --exclude t",
        ),
        (vec![x()], "expected a column position, or x and y"),
        (
            vec![
                x(),
                ("y", Arc::new(Float32Array::from(vec![Some(1.0), None]))),
            ],
            "found in row 1: NaN as y",
        ),
    ];
    for (columns, said) in cases {
        let (_, text) = refused(
            &[ipc(&folder, "a.arrow", &[table(columns)])],
            &Options::default(),
        );
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn damaged_arrow_files_are_errors_or_the_same_table() {
    let folder = Folder::new();
    let whole = std::fs::read(ipc(&folder, "a.arrow", &[sample()])).unwrap();
    let sample = Sample::new("bytes of an Arrow file");
    for length in sample.some((0..whole.len()).step_by(7), 8) {
        let _ = refused(
            &[folder.file("b.arrow", &whole[..length])],
            &Options::default(),
        );
    }
    for at in sample.some(0..whole.len(), 16) {
        for change in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            let file = folder.file("b.arrow", bytes);
            // Values may differ, but nothing may panic.
            let _ = zvf_convert::Import::open(&[file], &Options::default());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn any_ply_comes_back(
        points in prop::collection::vec(([-40.0_f32..40.0, -40.0_f32..40.0, -40.0_f32..40.0], any::<i32>()), 3..40),
        faces in prop::collection::vec(any::<[prop::sample::Index; 3]>(), 1..40),
    ) {
        let mut list = Vec::new();
        for face in &faces {
            let mut corners: Vec<usize> = face.iter().map(|corner| corner.index(points.len())).collect();
            corners.sort_unstable();
            corners.dedup();
            if corners.len() == 3 {
                list.push(corners);
            }
        }
        prop_assume!(!list.is_empty());
        let mut bytes = format!(
            "ply\nformat binary_little_endian 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float z\nproperty int n\n\
             element face {}\nproperty list uchar int vertex_indices\nend_header\n", points.len(), list.len()).into_bytes();
        for (position, number) in &points {
            bytes.extend(position.iter().flat_map(|value| value.to_le_bytes()));
            bytes.extend(number.to_le_bytes());
        }
        for face in &list {
            bytes.push(3);
            bytes.extend(face.iter().flat_map(|&corner| i32::try_from(corner).unwrap().to_le_bytes()));
        }
        let folder = Folder::new();
        let file = folder.file("a.ply", &bytes);
        folder.store(&open(&[file], &small()), |spec| spec.chunk_shape = vec![40.0; 3]);
        let (out, _) = folder.export("out.ply", &ExportOptions::default());
        prop_assert_eq!(parse::ply(&std::fs::read(out).unwrap()), parse::ply(&bytes));
    }
}

/// An archive as `numpy.savez` makes one, or as `savez_compressed` does.
pub(crate) fn npz(arrays: &[(&str, Vec<u8>)], deflated: bool) -> Vec<u8> {
    let named = arrays
        .iter()
        .map(|(name, content)| (format!("{name}.npy"), content.clone()));
    zip(&named.collect::<Vec<_>>(), deflated)
}

/// An archive of members, stored or deflated.
pub(crate) fn zip(members: &[(String, Vec<u8>)], deflated: bool) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let mut sum = flate2::Crc::new();
        sum.update(content);
        let packed = if deflated {
            let mut packer =
                flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            std::io::Write::write_all(&mut packer, content).unwrap();
            packer.finish().unwrap()
        } else {
            content.clone()
        };
        let mut fields = vec![20, 0, 0, 0];
        fields.extend(if deflated { [8, 0] } else { [0, 0] });
        fields.extend([0; 4]);
        fields.extend(sum.sum().to_le_bytes());
        for size in [packed.len(), content.len()] {
            fields.extend(u32::try_from(size).unwrap().to_le_bytes());
        }
        fields.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        fields.extend([0; 2]);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&fields);
        directory.extend([0; 10]);
        directory.extend(u32::try_from(out.len()).unwrap().to_le_bytes());
        directory.extend(name.bytes());
        out.extend(b"PK\x03\x04");
        out.extend(&fields);
        out.extend(name.bytes());
        out.extend(&packed);
    }
    let (start, size, count) = (
        out.len(),
        directory.len(),
        u16::try_from(members.len()).unwrap(),
    );
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(u32::try_from(size).unwrap().to_le_bytes());
    out.extend(u32::try_from(start).unwrap().to_le_bytes());
    out.extend([0; 2]);
    out
}

fn mesh(deflated: bool) -> Vec<u8> {
    let positions = VERTICES
        .iter()
        .flat_map(|row| row.0)
        .flat_map(f32::to_le_bytes)
        .collect::<Vec<u8>>();
    let shades = VERTICES
        .iter()
        .flat_map(|row| row.1.to_le_bytes())
        .collect::<Vec<u8>>();
    let weights = VERTICES
        .iter()
        .flat_map(|row| row.2.to_le_bytes())
        .collect::<Vec<u8>>();
    let faces = [0_u32, 1, 2, 2, 3, 4]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect::<Vec<u8>>();
    let ids = [9_i64, 9, 9, 9, 9]
        .into_iter()
        .flat_map(i64::to_le_bytes)
        .collect::<Vec<u8>>();
    npz(
        &[
            ("shade", npy("<i2", "(5,)", &shades)),
            ("positions", npy("<f4", "(5, 3)", &positions)),
            ("weight", npy("<f8", "(5,)", &weights)),
            ("faces", npy("<u4", "(2, 3)", &faces)),
            ("object_id", npy("<i8", "(5,)", &ids)),
            ("title", npy("<U3", "()", &[0; 12])),
        ],
        deflated,
    )
}

#[test]
fn npz_arrays_are_read_and_written_by_name() {
    for deflated in [false, true] {
        let folder = Folder::new();
        let import = open(&[folder.file("a.npz", mesh(deflated))], &small());
        assert_eq!(
            (import.spec().kind, import.vertices(), import.links()),
            (Kind::Mesh, 5, 2)
        );
        assert_eq!(
            import.notes(),
            ["array \"title\" is not kept: it does not hold numbers of one or two axes"]
        );
        let got = folder.store(&import, |spec| spec.chunk_shape = vec![3.0; 3]);
        let want = VERTICES.iter().map(|([x, y, z], shade, weight)| {
            texts([
                &format!("{x:?} {y:?} {z:?}"),
                &shade.to_string(),
                &format!("{weight:?}"),
            ])
        });
        assert_eq!(
            rows(&got.vertices, &["position", "shade", "weight"]),
            sorted(want.collect())
        );
        let faces = ends(&got, "shade")
            .into_iter()
            .map(parse::turned)
            .collect::<Vec<_>>();
        let want: Vec<Vec<String>> = [["-7", "300", "0"], ["0", "1", "2"]]
            .map(|face| face.map(str::to_owned).to_vec())
            .to_vec();
        assert_eq!(sorted(faces), sorted(want));
        assert_eq!(column(&got.objects.unwrap(), "object_id"), ["9"]);
        let (out, done) = folder.export("out.npz", &ExportOptions::default());
        assert!(done.notes.is_empty(), "{:?}", done.notes);
        let arrays = parse::npz(&std::fs::read(&out).unwrap());
        let names: Vec<&str> = arrays.keys().map(String::as_str).collect();
        let wanted = [
            "axes",
            "faces",
            "object_id",
            "positions",
            "shade",
            "units",
            "weight",
        ];
        assert_eq!(names, wanted.map(|name| format!("{name}.npy")));
        let (head, data) = &arrays["shade.npy"];
        assert!(
            head.starts_with("{'descr': '<i2', 'fortran_order': False, 'shape': (5,), }"),
            "{head}"
        );
        let shades = data
            .chunks(2)
            .map(|two| i16::from_le_bytes(two.try_into().unwrap()));
        assert_eq!(sorted(shades.collect()), [-7, 0, 1, 2, 300]);
        let again = Folder::new();
        let got = again.store(&open(&[out], &small()), |spec| {
            spec.chunk_shape = vec![3.0; 3]
        });
        assert_eq!(ends(&got, "shade").len(), 2);
    }
}

/// Texts as NumPy stores them, little-endian.
fn words(words: &[&str]) -> Vec<u8> {
    let longest = words.iter().map(|word| word.chars().count()).max();
    let longest = longest.unwrap_or(1).max(1);
    let mut codes = Vec::new();
    for word in words {
        let own = word.chars().map(u32::from).chain(std::iter::repeat(0));
        codes.extend(own.take(longest).flat_map(u32::to_le_bytes));
    }
    npy(
        &format!("<U{longest}"),
        &format!("({},)", words.len()),
        &codes,
    )
}

#[test]
fn archives_say_what_their_axes_are() {
    let positions: Vec<u8> = (0..8_u8)
        .flat_map(|number| f32::from(number).to_le_bytes())
        .collect();
    let axes = |arrays: &[(&str, &[&str])]| {
        let mut all = vec![("positions", npy("<f4", "(2, 4)", &positions))];
        all.extend(arrays.iter().map(|(name, texts)| (*name, words(texts))));
        let folder = Folder::new();
        let import = open(&[folder.file("a.npz", npz(&all, false))], &small());
        let axes = import.spec().axes.clone().into_iter();
        let axes = axes.map(|axis| (axis.name.clone(), axis.kind().to_owned(), axis.unit));
        (axes.collect::<Vec<_>>(), import.notes().to_vec())
    };
    let texts = |list: &[(&str, &str, &str)]| -> Vec<(String, String, Option<String>)> {
        let unit = |unit: &str| Some(unit.to_owned()).filter(|unit| !unit.is_empty());
        let one = |(name, kind, of): &(&str, &str, &str)| {
            ((*name).to_owned(), (*kind).to_owned(), unit(of))
        };
        list.iter().map(one).collect()
    };
    let names: &[&str] = &["time", "x", "gr\u{f6}\u{df}e", "z"];
    let units: &[&str] = &["second", "", "micrometer", "micrometer"];
    let (found, notes) = axes(&[("axes", names), ("units", units)]);
    let wanted = [
        ("time", "time", "second"),
        ("x", "space", ""),
        ("gr\u{f6}\u{df}e", "space", "micrometer"),
        ("z", "space", "micrometer"),
    ];
    assert_eq!((found, notes.len()), (texts(&wanted), 0));
    let types: &[&str] = &["time", "channel", "space", "space"];
    let (found, _) = axes(&[("axes", names), ("units", units), ("axis_types", types)]);
    assert_eq!(found[1].1, "channel");
    let (found, notes) = axes(&[("axes", names)]);
    assert_eq!((found[0].0.as_str(), found[0].1.as_str()), ("time", "time"));
    assert_eq!((&found[0].2, notes.len()), (&None, 0));
    // Axes that do not fit are reported, and get the usual names.
    let usual = texts(&[
        ("x", "space", ""),
        ("y", "space", ""),
        ("z", "space", ""),
        ("w", "space", ""),
    ]);
    for (arrays, note) in [
        (vec![("axes", &names[..3])], "3 texts"),
        (
            vec![("axes", &["x", "x", "y", "z"][..])],
            "axes need different names",
        ),
        (vec![("units", units)], "there is no array axes"),
    ] {
        let (found, notes) = axes(&arrays);
        assert_eq!(found, usual, "{note}");
        assert!(notes.iter().any(|one| one.contains(note)), "{notes:?}");
    }
}

#[test]
fn damaged_archives_of_arrays_are_errors() {
    let folder = Folder::new();
    let whole = mesh(true);
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x41;
        let _ = zvf_convert::Import::open(&[folder.file("b.npz", bytes)], &Options::default());
        if at % 5 == 0 {
            let _ = refused(&[folder.file("b.npz", &whole[..at])], &Options::default());
        }
    }
    let (_, text) = refused(
        &[folder.file("b.npz", npz(&[("x", npy("<f4", "(0,)", &[]))], false))],
        &Options::default(),
    );
    assert!(text.contains("found no array positions"), "{text}");
}
