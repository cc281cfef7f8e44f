//! Exports of a store that was made from files equal these files; `parse` reads both, without the readers of the crate.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use zvf_convert::export::ExportOptions;
use zvf_convert::{ConvertError, Options};
use zvf_query::{BBox, Select};
use zvf_store::Names;
use zvf_write::Kind;

use crate::parse;
use crate::streamlines::{Out, tck, trk, trk_header};
use crate::support::{Folder, filed, open, small};

fn real(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/real")
        .join(name)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// A folder with the store of some files, in chunks of one size.
fn stored(files: &[PathBuf], side: f64) -> Folder {
    let folder = Folder::new();
    let import = open(files, &Options::default());
    folder.store(&import, |spec| {
        spec.chunk_shape = vec![side; spec.chunk_shape.len()];
        spec.bin_shape = None;
    });
    folder
}

#[test]
fn a_real_skeleton_comes_back_node_for_node() {
    let file = real("1734350788.swc");
    let folder = stored(std::slice::from_ref(&file), 5000.0);
    let (out, done) = folder.export("out.swc", &ExportOptions::default());
    let want = parse::swc(&text(&file));
    assert_eq!(parse::swc(&text(&out)), want);
    assert_eq!(done.vertices, want.len() as u64);
    assert_eq!(
        done.links,
        want.values().filter(|node| node.3 >= 0).count() as u64
    );
    assert_eq!(done.notes, ["attributes of objects are not kept: name"]);
}

#[test]
fn a_real_mesh_comes_back_face_for_face() {
    let file = real("1734350788.obj");
    let folder = stored(std::slice::from_ref(&file), 5000.0);
    let (out, done) = folder.export("out.obj", &ExportOptions::default());
    let want = parse::obj(&text(&file));
    assert!(parse::obj(&text(&out)) == want);
    assert_eq!(
        (done.vertices, done.links),
        (want.0.len() as u64, want.1.len() as u64)
    );
    let (out, done) = folder.export("out.stl", &ExportOptions::default());
    assert!(parse::stl(&std::fs::read(out).unwrap()) == want.1);
    assert_eq!(done.notes, ["attributes of objects are not kept: name"]);
}

#[test]
fn a_real_table_comes_back_row_for_row() {
    let file = real("1734350788.csv");
    let folder = stored(std::slice::from_ref(&file), 5000.0);
    let want = parse::table(&text(&file), ',');
    let (out, done) = folder.export("out.csv", &ExportOptions::default());
    assert!(parse::table(&text(&out), ',') == want);
    assert_eq!((done.vertices, done.notes.len()), (want.len() as u64, 0));
    let mut tabs = ExportOptions::default();
    tabs.delimiter = Some(b'\t');
    let (out, _) = folder.export("out.tsv", &tabs);
    assert!(parse::table(&text(&out), '\t') == want);
}

#[test]
fn a_real_tractogram_comes_back_byte_for_byte() {
    let file = real("tracks300.trk");
    let folder = stored(std::slice::from_ref(&file), 20.0);
    let (out, done) = folder.export("out.trk", &ExportOptions::default());
    let (got, want) = (std::fs::read(out).unwrap(), std::fs::read(&file).unwrap());
    assert!(got == want);
    assert_eq!(done.objects, 300);
    assert!(done.notes.is_empty(), "{:?}", done.notes);
    // Voxels are 1 mm and the affine is the identity: scanner coordinates begin in the middle of the first voxel.
    let middle = |bits: u32| (f32::from_bits(bits) - 0.5).to_bits();
    let lines: Vec<Vec<_>> = parse::trk(&want)
        .into_iter()
        .map(|(points, _)| {
            points
                .into_iter()
                .map(|point| point.into_iter().map(middle).collect::<Vec<_>>())
                .collect()
        })
        .collect();
    let (out, done) = folder.export("out.tck", &ExportOptions::default());
    assert!(parse::tck(&std::fs::read(out).unwrap()).1 == lines);
    assert_eq!(done.notes, ["the frame (`headers/trk`) is not kept"]);
}

#[test]
fn stores_of_before_have_the_header_in_their_crs() {
    for name in ["a.trk", "a.tck"] {
        let folder = Folder::new();
        let bytes = if name == "a.trk" {
            trk(false, 3)
        } else {
            tck("Float32LE")
        };
        let import = open(&[folder.file(name, bytes)], &filed());
        let format = name.rsplit('.').next().unwrap();
        let change = |older: bool| {
            folder.store(&import, |spec| {
                spec.chunk_shape = vec![5.0; 3];
                if older {
                    spec.crs = import.frame().cloned();
                    spec.headers.clear();
                }
            });
            let (out, done) =
                folder.export(&format!("{older}.{format}"), &ExportOptions::default());
            assert!(done.notes.is_empty(), "{:?}", done.notes);
            let (_, done) = folder.export("o.csv", &ExportOptions::default());
            (std::fs::read(out).unwrap(), done.notes)
        };
        let (new, said) = change(false);
        assert!(
            said.contains(&format!("the frame (`headers/{format}`) is not kept")),
            "{said:?}"
        );
        let (old, said) = change(true);
        assert!(
            said.contains(&"the frame (`crs`) is not kept".to_owned()),
            "{said:?}"
        );
        assert!(new == old);
    }
}

#[test]
fn scalars_properties_frames_and_empty_streamlines_are_written() {
    let folder = Folder::new();
    let file = folder.file("a.trk", trk(false, 3));
    folder.store(&open(std::slice::from_ref(&file), &filed()), |spec| {
        spec.chunk_shape = vec![5.0; 3]
    });
    let (out, done) = folder.export("out.trk", &ExportOptions::default());
    // Scalars and properties are in alphabetical order, like attributes.
    let got = std::fs::read(&out).unwrap();
    let lines = parse::trk(&got);
    assert_eq!(lines.len(), 3);
    for ((points, properties), (line, count)) in
        lines.iter().zip([(0.0_f32, 5), (1.0, 0), (2.0, 2)])
    {
        let point = |point: f32| [point * 4.0, line, -0.5, 1.0, point, line, point / 8.0];
        let want = (0_u8..count)
            .map(f32::from)
            .map(|at| point(at).map(f32::to_bits).to_vec());
        assert_eq!(points, &want.collect::<Vec<_>>());
        assert_eq!(
            properties,
            &[(line + 0.25).to_bits(), (line + 100.0).to_bits()]
        );
    }
    assert_eq!(got[38..44], *b"color\0");
    assert_eq!(got[44..46], *b"3\0");
    assert!(done.notes.is_empty(), "{:?}", done.notes);
    let mut head = Out::new(false);
    trk_header(
        &mut head,
        [&[b"color\x003", b"fa"], &[b"length", b"properties"]],
        [4, 2],
        3,
    );
    assert_eq!(got[..1000], head.bytes);
    let again = Folder::new();
    again.store(&open(&[out], &filed()), |spec| {
        spec.chunk_shape = vec![7.0; 3]
    });
    let (out, _) = again.export("out.trk", &ExportOptions::default());
    assert_eq!(std::fs::read(out).unwrap(), got);
}

#[test]
fn headers_of_tck_come_back() {
    for kind in ["Float32LE", "Float32BE"] {
        let folder = Folder::new();
        let file = folder.file("a.tck", tck(kind));
        folder.store(&open(&[file], &small()), |spec| {
            spec.chunk_shape = vec![5.0; 3]
        });
        let (out, done) = folder.export("out.tck", &ExportOptions::default());
        let (head, lines) = parse::tck(&std::fs::read(out).unwrap());
        assert!(
            head.contains("\nmethod: by\nhand\n") && head.contains("\ncount: 3"),
            "{head}"
        );
        assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [2, 0, 5]);
        assert_eq!(lines[2][4], [12.0_f32, 5.0, 0.125].map(f32::to_bits));
        assert!(done.notes.is_empty(), "{:?}", done.notes);
    }
}

#[test]
fn a_selection_by_box_takes_whole_streamlines() {
    let folder = Folder::new();
    let file = folder.file("a.trk", trk(false, 3));
    folder.store(&open(&[file], &filed()), |spec| {
        spec.chunk_shape = vec![5.0; 3]
    });
    let mut options = ExportOptions::default();
    options.query.bbox = Some(BBox::parse("-1,1.5,-1:1,9,9").unwrap());
    let (out, done) = folder.export("out.tck", &options);
    assert_eq!((done.objects, done.vertices), (1, 2));
    assert_eq!(parse::tck(&std::fs::read(out).unwrap()).1[0].len(), 2);
    options.query.bbox = None;
    options.query.objects = Some(vec![2, 0, 2]);
    let (out, done) = folder.export("out.trk", &options);
    assert_eq!(done.objects, 3);
    let lengths = parse::trk(&std::fs::read(out).unwrap());
    assert_eq!(
        lengths.iter().map(|line| line.0.len()).collect::<Vec<_>>(),
        [2, 5, 2]
    );
    options.select = Some(Select::Vertices);
    let error = folder.export_error("out.trk", &options);
    assert!(matches!(error, ConvertError::Usage { .. }), "{error}");
}

#[test]
fn what_a_format_cannot_hold_is_refused_or_named() {
    let folder = Folder::new();
    let file = folder.file("a.csv", "x,y,t,label\n1,2,3,a\n4,5,6,b\n");
    folder.store(&open(&[file], &small()), |_| {});
    for name in ["o.swc", "o.obj", "o.stl", "o.trk", "o.tck"] {
        let error = folder.export_error(name, &ExportOptions::default());
        assert!(matches!(error, ConvertError::Usage { .. }), "{error}");
    }
    let (_, done) = folder.export("o.npy", &ExportOptions::default());
    assert_eq!(
        done.notes,
        ["attributes of vertices are not kept: label, t"]
    );
    let swc = folder.file("a.swc", "1 0 0 0 0 1 -1\n2 0 1 0 0 1 1\n");
    folder.store(&open(&[swc], &small()), |_| {});
    let (out, done) = folder.export("o.csv", &ExportOptions::default());
    assert!(
        text(&out).starts_with("x,y,z,node_id,radius,type,object_id\n"),
        "{}",
        text(&out)
    );
    assert_eq!(
        done.notes,
        [
            "attributes of objects are not kept: name",
            "links are not kept: a table has one row for each vertex"
        ]
    );
    let (out, _) = folder.export("o.obj", &ExportOptions::default());
    assert_eq!(text(&out), "v 0.0 0.0 0.0\nv 1.0 0.0 0.0\nl 2 1\n");
}

#[test]
fn names_of_ply_properties_are_words_and_changed_ones_are_named() {
    let folder = Folder::new();
    let file = folder.file(
        "a.csv",
        "x,y,z,x y,x_y,a b c\n0,0,0,1,100,7\n1,1,1,2,200,8\n",
    );
    folder.store(&open(&[file], &small()), |_| {});
    let (out, done) = folder.export("o.ply", &ExportOptions::default());
    let (vertices, _) = parse::ply(&std::fs::read(out).unwrap());
    let row: Vec<(&str, &str)> = vertices[1]
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    assert!(row.contains(&("x_y", "200")), "{row:?}");
    assert!(row.contains(&("attribute_x_y", "2")), "{row:?}");
    assert!(row.contains(&("a_b_c", "8")), "{row:?}");
    let words = "properties need different names of one word in ASCII";
    for note in [
        "x y is written as attribute_x_y",
        "a b c is written as a_b_c",
    ] {
        assert!(
            done.notes.contains(&format!("{note}: {words}")),
            "{:?}",
            done.notes
        );
    }
    assert_eq!(done.notes.len(), 2, "{:?}", done.notes);
}

#[test]
fn ids_that_a_file_does_not_have_are_named() {
    const LOST: &str = "ids of objects are not kept: the file has their order only";
    let chains = "object_id,x,y,z\n7,0,0,0\n7,1,1,1\n3,5,5,5\n3,6,6,6\n";
    let one = "object_id,x,y,z\n7,0,0,0\n7,1,1,1\n";
    for (rows, kind, names, lost) in [
        (
            chains.to_owned(),
            Kind::Streamline,
            &["o.trk", "o.tck", "o.trx"][..],
            true,
        ),
        (
            chains.replace('7', "0").replace("3,", "1,"),
            Kind::Streamline,
            &["o.trk", "o.tck", "o.trx"],
            false,
        ),
        (one.to_owned(), Kind::PointCloud, &["o.ply", "o.las"], true),
        (
            one.replace("7,", "0,"),
            Kind::PointCloud,
            &["o.ply", "o.las"],
            false,
        ),
        (
            chains.to_owned(),
            Kind::PointCloud,
            &["o.ply", "o.las"],
            false,
        ),
    ] {
        let folder = Folder::new();
        let mut options = small();
        options.kind = Some(kind);
        folder.store(&open(&[folder.file("a.csv", rows)], &options), |_| {});
        for name in names {
            let (_, done) = folder.export(name, &ExportOptions::default());
            assert_eq!(
                done.notes.contains(&LOST.to_owned()),
                lost,
                "{name}: {:?}",
                done.notes
            );
        }
    }
}

#[test]
fn units_and_systems_that_a_file_does_not_state_are_named() {
    const UNITS: &str =
        "units of axes are not kept: x (micrometer), y (micrometer), z (micrometer)";
    const CRS: &str = "the CRS EPSG:25832 is not kept";
    let folder = Folder::new();
    let mut options = small();
    options.unit = Some("um".to_owned());
    options.crs = Some("EPSG:25832".to_owned());
    let file = folder.file("a.csv", "x,y,z\n0,0,0\n1,1,1\n");
    folder.store(&open(std::slice::from_ref(&file), &options), |_| {});
    for (name, units, crs) in [
        ("o.csv", true, true),
        ("o.npy", true, true),
        ("o.ply", true, true),
        ("o.npz", false, true),
        ("o.arrow", false, false),
        ("o.las", true, false),
    ] {
        let (_, done) = folder.export(name, &ExportOptions::default());
        let has = |note: &str| done.notes.iter().any(|one| one == note);
        assert_eq!(
            (has(UNITS), has(CRS)),
            (units, crs),
            "{name}: {:?}",
            done.notes
        );
    }
    options.unit = Some("m".to_owned());
    folder.store(&open(&[file], &options), |_| {});
    let (_, done) = folder.export("o.las", &ExportOptions::default());
    assert!(
        !done.notes.iter().any(|note| note.contains("units")),
        "{:?}",
        done.notes
    );
}

/// Without `node_id`, or if it is not selected, nodes are numbered from 1, parents first.
#[test]
fn nodes_without_ids_are_numbered() {
    let folder = Folder::new();
    let swc = folder.file("a.swc", "7 2 0 0 0 1 9\n9 3 1 0 0 2 -1\n");
    folder.store(&open(&[swc], &small()), |_| {});
    let mut options = ExportOptions::default();
    options.query.attributes = Names::List(vec!["radius".to_owned()]);
    let (out, done) = folder.export("o.swc", &options);
    let lines = "1 0 1.0 0.0 0.0 2.0 -1\n2 0 0.0 0.0 0.0 1.0 1\n";
    assert!(text(&out).ends_with(lines), "{}", text(&out));
    let note = "the store has no `node_id`: nodes are numbered from 1, parents first";
    assert!(done.notes.iter().any(|one| one == note), "{:?}", done.notes);
}

#[test]
fn a_graph_with_a_ring_is_no_tree() {
    let folder = Folder::new();
    let swc = folder.file("a.swc", "1 0 0 0 0 1 -1\n2 0 1 0 0 1 1\n");
    let mut options = Options::default();
    options.kind = Some(Kind::Graph);
    folder.store(&open(&[swc], &options), |_| {});
    let (out, _) = folder.export("o.swc", &ExportOptions::default());
    assert_eq!(parse::swc(&text(&out)).len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn any_tree_comes_back(
        nodes in prop::collection::vec((-40.0_f32..40.0, -40.0_f32..40.0, any::<i16>(), 0.0_f32..9.0, any::<u16>()), 1..60),
    ) {
        let mut lines = String::new();
        for (at, (x, y, z, radius, up)) in nodes.iter().enumerate() {
            let parent = if at == 0 || *up < 5000 { -1 } else { i64::try_from(usize::from(*up) % at).unwrap() * 3 };
            lines.push_str(&format!("{} {} {x:?} {y:?} {z} {radius:?} {parent}\n", at * 3, up % 7));
        }
        let folder = Folder::new();
        let file = folder.file("5.swc", &lines);
        folder.store(&open(&[file], &small()), |spec| spec.chunk_shape = vec![40.0; 3]);
        let (out, _) = folder.export("out.swc", &ExportOptions::default());
        prop_assert_eq!(parse::swc(&text(&out)), parse::swc(&lines));
    }

    #[test]
    fn any_mesh_comes_back(
        points in prop::collection::vec([-40.0_f32..40.0, -40.0_f32..40.0, -40.0_f32..40.0], 4..40),
        faces in prop::collection::vec(any::<[prop::sample::Index; 4]>(), 1..50),
        quads: bool,
    ) {
        let mut lines = String::new();
        for [x, y, z] in &points {
            lines.push_str(&format!("v {x:?} {y:?} {z:?}\n"));
        }
        for face in &faces {
            // The corners of a face must differ.
            let mut corners: Vec<usize> = face.iter().map(|corner| corner.index(points.len()) + 1).collect();
            corners.sort_unstable();
            corners.dedup();
            let wanted = if quads { 4 } else { 3 };
            if corners.len() >= wanted {
                let corners: Vec<String> = corners[..wanted].iter().map(ToString::to_string).collect();
                lines.push_str(&format!("f {}\n", corners.join(" ")));
            }
        }
        let folder = Folder::new();
        let file = folder.file("a.obj", &lines);
        folder.store(&open(&[file], &small()), |spec| spec.chunk_shape = vec![40.0; 3]);
        let (out, _) = folder.export("out.obj", &ExportOptions::default());
        let want = parse::obj(&lines);
        prop_assert_eq!(&parse::obj(&text(&out)), &want);
        if !quads {
            let (out, _) = folder.export("out.stl", &ExportOptions::default());
            prop_assert_eq!(parse::stl(&std::fs::read(out).unwrap()), want.1);
        }
    }

    #[test]
    fn any_streamlines_come_back(
        lines in prop::collection::vec(prop::collection::vec([-40.0_f32..40.0, -40.0_f32..40.0, -40.0_f32..40.0], 0..12), 1..12),
    ) {
        prop_assume!(lines.iter().any(|line| !line.is_empty()));
        let mut bytes = b"mrtrix tracks\ndatatype: Float32LE\nfile: . 64\nEND\n".to_vec();
        bytes.resize(64, b' ');
        let mut put = |point: [f32; 3]| bytes.extend(point.into_iter().flat_map(f32::to_le_bytes));
        for line in &lines {
            line.iter().copied().for_each(&mut put);
            put([f32::NAN; 3]);
        }
        put([f32::INFINITY; 3]);
        let folder = Folder::new();
        let file = folder.file("a.tck", &bytes);
        folder.store(&open(&[file], &small()), |spec| spec.chunk_shape = vec![40.0; 3]);
        let want: Vec<Vec<Vec<u32>>> = lines
            .iter()
            .map(|line| line.iter().map(|point| point.map(f32::to_bits).to_vec()).collect())
            .collect();
        let (out, _) = folder.export("out.tck", &ExportOptions::default());
        prop_assert_eq!(&parse::tck(&std::fs::read(out).unwrap()).1, &want);
        let (out, _) = folder.export("out.trk", &ExportOptions::default());
        let got: Vec<_> = parse::trk(&std::fs::read(out).unwrap()).into_iter().map(|line| line.0).collect();
        prop_assert_eq!(got, want);
    }

    #[test]
    fn any_table_comes_back(
        rows in prop::collection::vec((any::<[i16; 2]>(), -4.0_f32..4.0, any::<i64>(), "[a-c]{0,2}"), 1..60),
    ) {
        let mut lines = "x,y,value,number,label\n".to_owned();
        for ([x, y], value, number, label) in &rows {
            lines.push_str(&format!("{x},{y},{value:?},{number},l{label}\n"));
        }
        let folder = Folder::new();
        let file = folder.file("a.csv", &lines);
        folder.store(&open(&[file], &small()), |spec| spec.chunk_shape = vec![30_000.0; 2]);
        let (out, _) = folder.export("out.csv", &ExportOptions::default());
        prop_assert_eq!(parse::table(&text(&out), ','), parse::table(&lines, ','));
    }
}

#[test]
fn separated_values_are_packed_by_gzip() {
    let folder = Folder::new();
    let rows: String = (0..3000)
        .map(|n| format!("{n},{},0,{}\n", n % 7, n * 3))
        .collect();
    let file = folder.file("a.csv", format!("x,y,z,v\n{rows}"));
    folder.store(&open(&[file], &small()), |_| {});
    let (plain, _) = folder.export("plain.csv", &ExportOptions::default());
    let mut options = ExportOptions::default();
    options.gzip = true;
    let (packed, done) = folder.export("packed.csv", &options);
    assert_eq!(done.vertices, 3000);
    let mut text = Vec::new();
    let packed = std::fs::File::open(packed).unwrap();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(packed), &mut text).unwrap();
    assert!(text == std::fs::read(plain).unwrap());
    assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 3001);
    let error = folder.export_error("out.ply", &options).to_string();
    assert!(
        error.contains("only separated values are compressed"),
        "{error}"
    );
}

/// Sets the coordinate `mark` of a store without compression, which occurs once, to NaN, as only other programs write it.
fn plant_nan(store: &Path, mark: f32) {
    let mut folders = vec![store.join("0/vertices/c")];
    let mut planted = 0;
    while let Some(path) = folders.pop() {
        if path.is_dir() {
            folders.extend(
                std::fs::read_dir(&path)
                    .unwrap()
                    .map(|one| one.unwrap().path()),
            );
            continue;
        }
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some(at) = bytes.windows(4).position(|four| four == mark.to_le_bytes()) {
            bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
            std::fs::write(&path, bytes).unwrap();
            planted += 1;
        }
    }
    assert_eq!(planted, 1);
}

#[test]
fn positions_that_a_format_cannot_hold_are_refused() {
    let swc = "1 1 77.125 2 3 1 -1\n2 1 4 5 6 1 1\n3 1 7 8 9 1 2\n";
    let obj = "v 77.125 2 3\nv 4 5 6\nv 7 8 10\nf 1 2 3\n";
    let lines = "line,x,y,z\n0,77.125,2,3\n0,4,5,6\n";
    for (name, content, outputs) in [
        ("a.swc", swc, &["swc"][..]),
        ("a.obj", obj, &["obj", "stl"]),
        ("a.csv", lines, &["trk", "tck", "trx"]),
    ] {
        let folder = Folder::new();
        let file = folder.file(name, content);
        let mut options = Options::default();
        if name == "a.csv" {
            options.kind = Some(Kind::Polyline);
            options.object_column = Some("line".to_owned());
        }
        let import = open(&[file], &options);
        folder.store(&import, |spec| {
            spec.chunk_shape = vec![1e6; 3];
            spec.bin_shape = None;
            spec.compression = "none".parse().unwrap();
        });
        plant_nan(&folder.place("made.zarrvectors"), 77.125);
        for output in outputs {
            let error = folder.export_error(&format!("out.{output}"), &ExportOptions::default());
            let text = error.to_string();
            assert!(
                text.contains("found the coordinate NaN, expected coordinates of"),
                "{output}: {text}"
            );
        }
        // Tables hold it.
        let (out, _) = folder.export("out.csv", &ExportOptions::default());
        assert!(text(&out).contains("NaN") || text(&out).contains("nan"));
    }
}
