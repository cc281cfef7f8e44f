//! LAS and LAZ export: files that laspy wrote are imported and exported again. `testdata/las/README.md` has their numbers;
//! `python/tests/test_las.py` reads the exported files with laspy.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::json;
use zvf_convert::export::{ExportOptions, Exported};
use zvf_query::BBox;
use zvf_store::{Class, Names};

use crate::las::file;
use crate::support::{Folder, Got, column, open, small};

/// The header of a file, with members at the bytes that the specification of LAS states.
struct Head(Vec<u8>);

impl Head {
    fn of(path: &Path) -> Self {
        Self(std::fs::read(path).unwrap())
    }

    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        self.0[at..at + N].try_into().unwrap()
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.bytes(at))
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes(at))
    }

    fn version(&self) -> [u8; 2] {
        self.bytes(24)
    }

    fn format(&self) -> u8 {
        self.0[104] & 0x3f
    }

    /// Version, point format and length, counts by return, scale, offset and bounds.
    fn facts(&self) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let counts = match self.version() {
            [1, 4] => self.0[247..375].to_vec(),
            _ => Vec::new(),
        };
        let format = [
            self.version().as_slice(),
            &[self.format()],
            &self.0[105..107],
        ]
        .concat();
        (format, self.0[107..227].to_vec(), counts)
    }

    /// User, number and data of the records, except the record of laszip.
    fn records(&self) -> Vec<(String, u16, Vec<u8>)> {
        let mut at = usize::from(self.u16(94));
        let mut all = Vec::new();
        for _ in 0..self.u32(100) {
            let user = self.0[at + 2..at + 18].to_vec();
            let user = String::from_utf8(user).unwrap();
            let (id, length) = (self.u16(at + 18), usize::from(self.u16(at + 20)));
            let data = self.0[at + 54..at + 54 + length].to_vec();
            at += 54 + length;
            all.push((user.trim_end_matches('\0').to_owned(), id, data));
        }
        all.retain(|(_, id, _)| *id != 22204);
        all.sort();
        all
    }

    /// The points of a LAS file by their intensity, without waveforms.
    fn points(&self) -> Vec<Vec<u8>> {
        let (first, length) = (self.u32(96) as usize, usize::from(self.u16(105)));
        let wave = match self.format() {
            4 => 28..57,
            5 => 34..63,
            9 => 30..59,
            10 => 38..67,
            _ => 0..0,
        };
        let points = self.0[first..].chunks_exact(length).map(|point| {
            let mut point = point.to_vec();
            point[wave.clone()].fill(0);
            point
        });
        let mut points: Vec<_> = points.collect();
        points.sort_by_key(|point| u16::from_le_bytes(point[12..14].try_into().unwrap()));
        points
    }
}

/// Endings that this build writes.
const ENDINGS: &[&str] = if cfg!(feature = "laz") {
    &["las", "laz"]
} else {
    &["las"]
};

/// All columns as texts, by intensity.
fn sorted(got: &Got) -> Vec<(String, Vec<String>)> {
    let order: Vec<u32> = column(&got.vertices, "intensity")
        .iter()
        .map(|one| one.parse().unwrap())
        .collect();
    let schema = got.vertices.schema();
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for field in schema.fields() {
        let values = column(&got.vertices, field.name());
        let mut rows: Vec<_> = order.iter().zip(values).collect();
        rows.sort();
        all.push((
            field.name().clone(),
            rows.into_iter().map(|(_, value)| value).collect(),
        ));
    }
    all
}

fn lost(done: &Exported) -> Vec<&str> {
    done.notes.iter().map(String::as_str).collect()
}

#[test]
fn files_of_all_point_formats_come_back_as_they_were() {
    let mut files: Vec<PathBuf> = [0, 2, 4, 5, 6, 7, 9]
        .map(|number| file(&format!("format-{number}.las")))
        .into();
    files.push(file("gps-1.2.las"));
    if cfg!(feature = "laz") {
        files.extend(["rgb-1.2.laz", "nir-extra-1.4.laz", "wave-1.4.laz"].map(file));
    }
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let folder = Folder::new();
        let first = folder.store(&open(std::slice::from_ref(&path), &small()), |_| {});
        let source = Head::of(&path);
        for ending in ENDINGS {
            let (out, done) = folder.export(&format!("out.{ending}"), &ExportOptions::default());
            assert_eq!(
                (done.vertices, done.links, done.objects),
                (20, 0, 0),
                "{name}"
            );
            let waves = ["waveforms are not kept"];
            let wanted = if matches!(source.format(), 4 | 5 | 9 | 10) {
                &waves[..]
            } else {
                &[]
            };
            assert_eq!(lost(&done), wanted, "{name}");
            let head = Head::of(&out);
            assert_eq!(head.facts(), source.facts(), "{name} {ending}");
            assert_eq!(head.0[104] & 0x80 != 0, *ending == "laz");
            assert_eq!(
                head.u16(6) & 1,
                source.u16(6) & 1,
                "{name}: the kind of time"
            );
            let (records, wanted) = (head.records(), source.records());
            assert_eq!(records.len(), wanted.len(), "{name}");
            for (ours, theirs) in records.iter().zip(wanted) {
                assert_eq!((&ours.0, ours.1), (&theirs.0, theirs.1), "{name}");
                match ours.1 {
                    // Type, options and name of each entry; for integers also the ranges, because laspy writes zeros as ranges of floats.
                    4 => {
                        let stated = |data: &[u8]| {
                            data.chunks_exact(192)
                                .map(|one| match one[2] % 10 {
                                    0 | 9 => one[2..36].to_vec(),
                                    _ => [&one[2..36], &one[64..112]].concat(),
                                })
                                .collect::<Vec<_>>()
                        };
                        assert_eq!(stated(&ours.2), stated(&theirs.2), "{name}");
                    }
                    _ => assert_eq!(ours.2, theirs.2, "{name}"),
                }
            }
            if source.0[104] & 0x80 == 0 && *ending == "las" {
                assert_eq!(head.points(), source.points(), "{name}");
            }
            let again = Folder::new();
            let second = again.store(&open(&[out], &small()), |_| {});
            assert_eq!(sorted(&second), sorted(&first), "{name} {ending}");
        }
    }
}

/// A file with all members of a header, and with scaled extra bytes that have a description and a value for no data.
fn described(folder: &Folder) -> PathBuf {
    let mut bytes = std::fs::read(file("format-5.las")).unwrap();
    let mut put = |at: usize, new: &[u8]| bytes[at..at + new.len()].copy_from_slice(new);
    put(4, &700_u16.to_le_bytes());
    put(8, &(1..=16).collect::<Vec<u8>>());
    put(26, &[0; 64]);
    put(26, b"scanner 7");
    put(58, b"a program");
    // Day 60 of a leap year.
    put(90, &[60_u16.to_le_bytes(), 2024_u16.to_le_bytes()].concat());
    // Two entries, after the header and the head of the record: float32, and two of uint16.
    let pair = bytes.windows(5).position(|name| name == b"pair\0").unwrap() - 4;
    assert_eq!(bytes[pair + 2], 13);
    let mut put =
        |at: usize, new: &[u8]| bytes[pair + at..pair + at + new.len()].copy_from_slice(new);
    put(3, &[1 | 2 | 4 | 8 | 16]);
    put(40, &[0_u64, 8, 0].map(u64::to_le_bytes).concat());
    // Point i has the numbers i and i + 1. Without the no-data values 0 and 8, the ranges are 1 to 19 and 1 to 20.
    let range = [1_u64, 1, 0, 19, 20, 0];
    put(64, &range.map(u64::to_le_bytes).concat());
    put(112, &[0.5_f64, 0.1, 0.0].map(f64::to_le_bytes).concat());
    put(136, &[3_f64, -100.0, 0.0].map(f64::to_le_bytes).concat());
    put(160, &[0; 32]);
    put(160, b"two heights");
    folder.file("described.las", bytes)
}

#[test]
fn headers_and_descriptions_of_extra_bytes_come_back() {
    let folder = Folder::new();
    let path = described(&folder);
    let import = open(std::slice::from_ref(&path), &small());
    let header = import.frame().unwrap();
    for (member, value) in [
        ("file_source_id", json!(700)),
        ("guid", json!("04030201-0605-0807-090a-0b0c0d0e0f10")),
        ("system_identifier", json!("scanner 7")),
        ("generating_software", json!("a program")),
        ("created", json!("2024-02-29")),
        (
            "extra_bytes",
            json!([{"name": "pair", "data_type": 13, "description": "two heights", "scale": [0.5, 0.1, 0.0], "offset": [3.0, -100.0, 0.0], "no_data": [0, 8, 0], "range": true}]),
        ),
    ] {
        let found = match member {
            "extra_bytes" => json!(
                header[member]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|one| one["name"] == "pair")
                    .collect::<Vec<_>>()
            ),
            _ => header[member].clone(),
        };
        assert_eq!(found, value, "{member}");
    }
    let attributes = &import.spec().vertex_attributes;
    let text = |name: &str| {
        let one = attributes.iter().find(|one| one.name == name).unwrap();
        one.description.clone().unwrap()
    };
    assert_eq!(text("pair"), "two heights; 3, -99.2 is a missing value");
    assert!(text("classification").contains("2 ground, "));
    let got = folder.store(&import, |_| {});
    let (order, pair) = (
        column(&got.vertices, "intensity"),
        column(&got.vertices, "pair"),
    );
    for (order, pair) in order.iter().zip(pair) {
        let i = order.parse::<f64>().unwrap() / 1000.0;
        let wanted = [i * 0.5 + 3.0, (i + 1.0) * 0.1 - 100.0];
        let numbers: Vec<f64> = pair.split(' ').map(|one| one.parse().unwrap()).collect();
        assert_eq!(numbers, wanted);
    }
    let source = Head::of(&path);
    for ending in ENDINGS {
        folder.export(&format!("out.{ending}"), &ExportOptions::default());
        let out = Head::of(&folder.place(&format!("out.{ending}")));
        assert_eq!(out.0[4..6], source.0[4..6]);
        assert_eq!(out.0[8..94], source.0[8..94]);
        let mut wanted = source.records();
        let spec = wanted.iter_mut().find(|(_, id, _)| *id == 4).unwrap();
        let descriptions = out
            .records()
            .into_iter()
            .find(|(_, id, _)| *id == 4)
            .unwrap();
        assert_eq!(descriptions.2.len(), spec.2.len());
        let at = spec
            .2
            .windows(5)
            .position(|name| name == b"pair\0")
            .unwrap()
            - 4;
        let new = descriptions
            .2
            .windows(5)
            .position(|name| name == b"pair\0")
            .unwrap()
            - 4;
        assert_eq!(
            descriptions.2[new..new + 192],
            spec.2[at..at + 192],
            "{ending}"
        );
        // The range of a float32 is stored as float64.
        let height = descriptions
            .2
            .windows(7)
            .position(|name| name == b"height\0");
        let height = &descriptions.2[height.unwrap() - 4..];
        assert_eq!(height[3], 2 | 4);
        for (at, wanted) in [(64, 0.0), (88, 9.5)] {
            let found = height[at..at + 8].try_into().unwrap();
            assert_eq!(f64::from_le_bytes(found), wanted);
        }
        if *ending == "las" {
            assert_eq!(out.points(), source.points());
        }
    }
}

/// Renamed because a store cannot hold the name, or on request.
#[test]
fn renamed_extra_bytes_keep_their_descriptions() {
    let folder = Folder::new();
    let path = described(&folder);
    let plain = folder.store(&open(std::slice::from_ref(&path), &small()), |_| {});
    let mut bytes = std::fs::read(path).unwrap();
    let at = bytes.windows(5).position(|name| name == b"pair\0").unwrap();
    bytes[at..at + 4].copy_from_slice(b"pa/r");
    let path = folder.file("renamed.las", bytes);
    for (rename, name) in [(None, "pa_r"), (Some("far"), "far")] {
        let mut options = small();
        let rename = rename.map(|new: &str| ("pa/r".to_owned(), new.to_owned()));
        options.rename.extend(rename);
        let import = open(std::slice::from_ref(&path), &options);
        let got = folder.store(&import, |_| {});
        assert_eq!(column(&got.vertices, name), column(&plain.vertices, "pair"));
        folder.export("out.las", &ExportOptions::default());
        let out = std::fs::read(folder.place("out.las")).unwrap();
        let name = [name.as_bytes(), b"\0"].concat();
        let entry = out.windows(name.len()).position(|one| one == name).unwrap() - 4;
        assert_eq!(
            out[entry + 2..entry + 4],
            [13, 1 | 2 | 4 | 8 | 16],
            "{name:?}"
        );
        assert!(out[entry + 160..].starts_with(b"two heights\0"), "{name:?}");
    }
}

/// Values that are not multiples of the scale are written unchanged.
#[test]
fn other_values_of_scaled_extra_bytes_are_floats() {
    let folder = Folder::new();
    let import = open(&[described(&folder)], &small());
    let mut header = import.frame().unwrap().clone();
    header["extra_bytes"][0]["scale"] = json!([0.4, 0.1, 0.0]);
    let members = header.as_object().unwrap().clone();
    folder.store(&import, |spec| {
        spec.headers.insert("las".to_owned(), members.clone());
    });
    folder.export("out.las", &ExportOptions::default());
    let again = Folder::new();
    let got = again.store(&open(&[folder.place("out.las")], &small()), |_| {});
    let pair = column(&got.vertices, "pair");
    let order = column(&got.vertices, "intensity");
    for (order, pair) in order.iter().zip(pair) {
        let i = order.parse::<f64>().unwrap() / 1000.0;
        let numbers: Vec<f64> = pair.split(' ').map(|one| one.parse().unwrap()).collect();
        assert_eq!(numbers, [i * 0.5 + 3.0, (i + 1.0) * 0.1 - 100.0]);
    }
}

fn table(folder: &Folder, columns: &str, rows: &[&str]) -> PathBuf {
    folder.file(
        "points.csv",
        format!("x,y,z,{columns}\n{}\n", rows.join("\n")),
    )
}

#[test]
fn tables_become_the_smallest_point_format_that_holds_their_fields() {
    for (columns, row, version, format, extra) in [
        ("intensity,classification", "7,31", [1, 2], 0, 0),
        ("intensity,classification", "7,200", [1, 4], 6, 0),
        ("intensity,return_number", "7,8", [1, 4], 6, 0),
        ("intensity,gps_time", "7,0.5", [1, 2], 1, 0),
        ("intensity,red,green,blue", "7,1,2,65535", [1, 2], 2, 0),
        (
            "intensity,red,gps_time,scan_angle_rank",
            "7,1,2.5,-90",
            [1, 2],
            3,
            0,
        ),
        ("intensity,scan_angle", "7,-30000", [1, 4], 6, 0),
        ("intensity,overlap,blue", "7,1,9", [1, 4], 7, 0),
        ("intensity,nir", "7,9", [1, 4], 8, 0),
        ("intensity,nir,scan_angle_rank", "7,9,5", [1, 4], 8, 4),
        ("intensity,height,X", "7,0.5,3", [1, 2], 0, 8),
    ] {
        let folder = Folder::new();
        let path = table(
            &folder,
            columns,
            &[&format!("1.5,2,3,{row}"), &format!("4,5.25,-6,{row}")],
        );
        let first = folder.store(&open(&[path], &small()), |_| {});
        let (out, done) = folder.export("out.las", &ExportOptions::default());
        let head = Head::of(&out);
        assert_eq!(
            (head.version(), head.format()),
            (version, format),
            "{columns}"
        );
        let sizes = [20, 28, 26, 34, 57, 63, 30, 36, 38];
        assert_eq!(
            head.u16(105),
            sizes[usize::from(format)] + extra,
            "{columns}"
        );
        let scale = |at| f64::from_le_bytes(head.bytes(at));
        assert_eq!([scale(131), scale(139), scale(147)], [0.1, 0.01, 1.0]);
        let noted = done
            .notes
            .iter()
            .any(|note| note.contains("are 0: ") && note.contains("user_data"));
        assert!(noted, "{:?}", done.notes);
        let again = Folder::new();
        let second = again.store(&open(&[out], &small()), |_| {});
        let numbers = |got: &Got, name: &str| -> Vec<f64> {
            let mut all: Vec<f64> = column(&got.vertices, name)
                .iter()
                .flat_map(|text| text.split(' '))
                .map(|one| one.parse().unwrap())
                .collect();
            all.sort_by(f64::total_cmp);
            all
        };
        for name in columns.split(',').chain(["position"]) {
            let back = if name == "X" { "attribute_X" } else { name };
            assert_eq!(
                numbers(&second, back),
                numbers(&first, name),
                "{columns}: {name}"
            );
        }
        if !columns.contains("return_number") {
            // A pulse without a stated number of returns has one return.
            assert_eq!(numbers(&second, "return_number"), [1.0, 1.0]);
            assert_eq!(head.u32(111), if format < 6 { 2 } else { 0 });
            assert!(
                lost(&done)
                    .iter()
                    .any(|note| note.ends_with("every point is return 1 of 1"))
            );
        }
    }
}

#[test]
fn values_that_a_field_does_not_hold_are_refused_with_row_and_column() {
    for (columns, row, wanted) in [
        (
            "classification",
            "300",
            "classification: found 300 in row 0 at [1.5, 2.0, 3.0], expected whole numbers from 0 to 255",
        ),
        (
            "intensity",
            "-1",
            "intensity: found -1 in row 0 at [1.5, 2.0, 3.0], expected whole numbers from 0 to 65535",
        ),
        ("intensity", "0.5", "intensity: found 0.5 in row 0"),
        ("return_number", "16", "return_number: found 16 in row 0"),
        (
            "number_of_returns",
            "-3",
            "number_of_returns: found -3 in row 0",
        ),
        ("withheld", "2", "expected whole numbers from 0 to 1"),
        (
            "scan_angle_rank",
            "128",
            "expected whole numbers from -128 to 127",
        ),
        ("user_data", "NaN", "user_data: found NaN in row 0"),
        (
            "a_name_with_more_than_32_bytes_xyz",
            "1",
            "expected at most 32 bytes",
        ),
        ("classification", "ground", "classification: found "),
    ] {
        let folder = Folder::new();
        let path = table(&folder, columns, &[&format!("1.5,2,3,{row}")]);
        folder.store(&open(&[path], &small()), |_| {});
        let error = folder.export_error("out.las", &ExportOptions::default());
        let text = error.to_string();
        assert!(
            text.contains(wanted) && text.contains("--attributes leaves columns out"),
            "{wanted}: {text}"
        );
        assert_eq!(error.class(), Class::Misuse);
        let mut options = ExportOptions::default();
        options.query.attributes = Names::None;
        folder.export("without.las", &options);
    }
}

/// A NumPy array of int64 positions.
fn whole(folder: &Folder, rows: &[[i64; 3]]) -> PathBuf {
    let head = format!(
        "{{'descr': '<i8', 'fortran_order': False, 'shape': ({}, 3), }}",
        rows.len()
    );
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{head:117}\n").bytes());
    bytes.extend(
        rows.iter()
            .flatten()
            .flat_map(|number| number.to_le_bytes()),
    );
    folder.file("points.npy", bytes)
}

/// Ranges that fit into 32 bits with all decimals of the numbers, with fewer decimals, or not at all.
#[test]
fn coordinates_are_within_a_stated_bound_or_refused() {
    for (x, is_whole, outcome) in [
        ([0.0, 4_294_967_000.0], true, Ok(1.0)),
        ([700_000.123, 700_001.5], false, Ok(0.001)),
        ([5_000_000.123, 5_000_001.5], false, Ok(0.001)),
        ([0.123_456_789_012, 4000.0], false, Ok(0.000_001)),
        (
            [0.0, 4_294_967_296.0],
            true,
            Err(
                "x: found coordinates from 0 to 4294967296 of Int64, expected a range that 32-bit integers represent to within 0: ",
            ),
        ),
        (
            [0.123_456_789, 9_000_000.0],
            false,
            Err("to within 0.0005: export a part of the store (--bbox), or to another format"),
        ),
    ] {
        let folder = Folder::new();
        let path = match is_whole {
            true => whole(&folder, &x.map(|x| [x as i64, 1, 2])),
            false => table(
                &folder,
                "intensity",
                &x.map(|x| format!("{x},1,2,5"))
                    .each_ref()
                    .map(String::as_str),
            ),
        };
        folder.store(&open(&[path], &small()), |_| {});
        let scale: f64 = match outcome {
            Ok(scale) => scale,
            Err(words) => {
                let text = folder
                    .export_error("out.las", &ExportOptions::default())
                    .to_string();
                assert!(text.contains(words), "{text}");
                continue;
            }
        };
        let (out, done) = folder.export("out.las", &ExportOptions::default());
        let head = Head::of(&out);
        assert_eq!(f64::from_le_bytes(head.bytes(131)), scale, "{x:?}");
        let offset = f64::from_le_bytes(head.bytes(155));
        let read = [0, 1].map(|row| {
            let at = head.u32(96) as usize + row * usize::from(head.u16(105));
            f64::from(i32::from_le_bytes(head.bytes(at))) * scale + offset
        });
        let off = read
            .iter()
            .zip(x)
            .map(|(read, x)| (read - x).abs())
            .fold(0.0, f64::max);
        assert!(off <= scale / 2.0, "{read:?} {x:?}");
        let rounded =
            format!("coordinates are rounded to the scale of the file, by at most x {off:.1e}");
        assert_eq!(done.notes.contains(&rounded), off > 0.0, "{:?}", done.notes);
        assert!(off == 0.0 || !is_whole);
    }
}

#[test]
fn only_points_of_three_axes_become_las() {
    let folder = Folder::new();
    let lines = folder.file("lines.csv", "x,y,z,object_id\n1,2,3,0\n4,5,6,0\n");
    let mut options = small();
    options.kind = Some(zvf_write::Kind::Polyline);
    folder.store(&open(&[lines], &options), |_| {});
    let text = folder
        .export_error("out.las", &ExportOptions::default())
        .to_string();
    assert_eq!(
        text,
        "LAS: found a store of kind polyline, expected point_cloud"
    );
    let flat = folder.file("flat.csv", "x,y\n1,2\n3,4\n");
    folder.store(&open(&[flat], &small()), |_| {});
    let text = folder
        .export_error("out.las", &ExportOptions::default())
        .to_string();
    assert_eq!(text, "LAS: found a store of 2 axes, expected 3 axes");
}

#[test]
fn objects_of_several_files_and_a_crs_of_codes_are_kept() {
    let folder = Folder::new();
    let files = [file("format-2.las"), file("format-2.las")];
    let import = open(&files, &small());
    assert_eq!(import.spec().crs, Some(json!("EPSG:2056+5728")));
    folder.store(&import, |_| {});
    let (out, done) = folder.export("out.las", &ExportOptions::default());
    assert_eq!((done.vertices, done.objects), (40, 2));
    // Imported GeoTIFF keys are not written if the CRS of the store was changed.
    let again = Folder::new();
    let import = open(&[out], &small());
    assert_eq!(
        (import.objects(), import.spec().crs.clone()),
        (2, Some(json!("EPSG:2056+5728")))
    );
    for (crs, keys) in [
        ("EPSG:25832", Some([1024, 1, 3072, 25832])),
        ("EPSG:4326", Some([1024, 2, 2048, 4326])),
        ("EPSG:3857", Some([1024, 1, 3072, 3857])),
        // A geocentric system and a vertical one.
        ("EPSG:4978", None),
        ("EPSG:5773", None),
        ("a grid of ours", None),
    ] {
        again.store(&import, |spec| {
            spec.crs = Some(json!(crs));
            if crs == "EPSG:4978" {
                let axes = spec.axes.iter_mut();
                axes.for_each(|axis| axis.unit = Some("meter".to_owned()));
            }
        });
        let (out, done) = again.export("out.las", &ExportOptions::default());
        let records = Head::of(&out).records();
        let noted = done
            .notes
            .iter()
            .any(|note| note.starts_with(&format!("the CRS {crs} is not kept: ")));
        assert_eq!(noted, keys.is_none(), "{:?}", done.notes);
        let found = records.iter().find(|(_, id, _)| *id == 34735);
        let found = found.map(|(_, _, data)| {
            let all: Vec<u16> = data
                .as_chunks::<2>()
                .0
                .iter()
                .map(|two| u16::from_le_bytes(*two))
                .collect();
            assert_eq!(all[..4], [1, 1, 0, 2]);
            [all[4], all[7], all[8], all[11]]
        });
        assert_eq!(found, keys, "{crs}");
    }
}

#[test]
fn parts_of_a_store_have_their_own_counts_and_bounds() {
    let folder = Folder::new();
    folder.store(&open(&[file("gps-1.2.las")], &small()), |_| {});
    let mut options = ExportOptions::default();
    options.query.bbox = Some(BBox::parse("999,-60,0:1000,0,100").unwrap());
    let (out, done) = folder.export("out.las", &options);
    let head = Head::of(&out);
    // 7 i - 30 <= 0: points 0 to 4.
    assert_eq!((done.vertices, head.u32(107)), (5, 5));
    assert_eq!([111, 115, 119].map(|at| head.u32(at)), [2, 2, 1]);
    let bounds: Vec<f64> = (0..6)
        .map(|one| f64::from_le_bytes(head.bytes(179 + 8 * one)))
        .collect();
    let x = |i: f64| (i * 7.0 - 30.0) * 0.01 + 1000.0;
    assert_eq!(
        bounds,
        [x(4.0), x(0.0), 16.0 * 0.001 - 50.0, -50.0, 50.0, 48.0]
    );
    options.query.bbox = Some(BBox::parse("5000,5000,5000:6000,6000,6000").unwrap());
    for ending in ENDINGS {
        let (out, done) = folder.export(&format!("none.{ending}"), &options);
        let head = Head::of(&out);
        assert_eq!((done.vertices, head.u32(107)), (0, 0));
        assert_eq!(head.bytes::<48>(179), [0; 48]);
    }
}

/// Several chunks of laszip, the last one shorter.
#[test]
#[cfg(feature = "laz")]
fn points_of_several_chunks_come_back() {
    let folder = Folder::new();
    let rows = 101_000_u32;
    let lines =
        (0..rows).map(|row| format!("{},{},{},{}\n", row % 331, row / 331, row % 7, row % 65_536));
    let path = folder.file(
        "many.csv",
        format!("x,y,z,intensity\n{}", lines.collect::<String>()),
    );
    let mut options = small();
    options.batch = 10_000;
    let import = open(&[path], &options);
    let address = folder
        .place("many.zarrvectors")
        .to_string_lossy()
        .into_owned();
    let out = folder.place("many.laz");
    zvf_store::blocking::Runtime::new().unwrap().wait(async {
        let write = zvf_write::WriteOptions::new().with_durable(false);
        let mut writer = zvf_write::StoreWriter::create(&address, import.spec().clone(), write)
            .await
            .unwrap();
        import.read(&mut writer).unwrap();
        writer.finish().await.unwrap();
        let store = zvf_store::Store::open(&address).await.unwrap();
        let format = zvf_convert::Format::of(&out).unwrap();
        zvf_convert::export::export(&store, format, &out, &ExportOptions::default())
            .await
            .unwrap();
    });
    let head = Head::of(&out);
    assert_eq!(head.u64(107) & 0xffff_ffff, u64::from(rows));
    let back = open(&[out], &options);
    assert_eq!(back.vertices(), u64::from(rows));
    let mut found = vec![false; rows as usize];
    back.record_batches(|part| {
        if let zvf_convert::Imported::Vertices(table, _) = part {
            let numbers =
                |name: &str| zvf_convert::floats(table.column_by_name(name).unwrap()).values;
            let intensity = numbers("intensity");
            for (place, intensity) in numbers("position").chunks_exact(3).zip(intensity) {
                let row = place[1] as usize * 331 + place[0] as usize;
                assert_eq!(
                    (place[2] as usize, intensity as usize),
                    (row % 7, row % 65_536)
                );
                assert!(!std::mem::replace(&mut found[row], true));
            }
        }
        Ok::<_, zvf_convert::ConvertError>(())
    })
    .unwrap();
    assert!(found.iter().all(|one| *one));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// A written file that is imported and exported again is the same, with any values.
    #[test]
    fn written_files_are_written_the_same_again(
        rows in prop::collection::vec((-1e6_f64..1e6, 0_u8..=255, any::<u16>(), any::<i32>(), any::<f32>(), 0_u8..=15), 1..40),
        ending in 0..ENDINGS.len(),
    ) {
        let folder = Folder::new();
        let mut text = "x,y,z,classification,intensity,count,height,return_number\n".to_owned();
        for (row, (x, class, intensity, count, height, number)) in rows.iter().enumerate() {
            text.push_str(&format!("{x:.3},{row},{},{class},{intensity},{count},{height:?},{number}\n", row / 2));
        }
        let name = format!("out.{}", ENDINGS[ending]);
        folder.store(&open(&[folder.file("points.csv", text)], &small()), |_| {});
        let (first, done) = folder.export(&name, &ExportOptions::default());
        prop_assert_eq!(done.vertices, rows.len() as u64);
        let again = Folder::new();
        let stored = again.store(&open(std::slice::from_ref(&first), &small()), |_| {});
        let (second, _) = again.export(&name, &ExportOptions::default());
        let (first, second) = (Head::of(&first), Head::of(&second));
        prop_assert_eq!(first.facts(), second.facts());
        prop_assert_eq!(first.records(), second.records());
        if ending == 0 {
            let (mut ours, mut theirs) = (first.points(), second.points());
            ours.sort();
            theirs.sort();
            prop_assert_eq!(ours, theirs);
        }
        let mut counts: Vec<String> = column(&stored.vertices, "count");
        let mut wanted: Vec<String> = rows.iter().map(|row| row.3.to_string()).collect();
        counts.sort();
        wanted.sort();
        prop_assert_eq!(counts, wanted);
    }
}
