//! Frames of tractograms and affines of other files. The expected positions were computed from the same bytes by nibabel 5.4.2.

use serde_json::{Value, json};
use zvf_convert::export::ExportOptions;
use zvf_convert::{ConvertError, Options, Space};
use zvf_write::{JsonObject, NumberType};

use crate::parse;
use crate::records::zip;
use crate::support::{Folder, column, open, refused, small};

const AFFINE: [[f32; 4]; 3] = [
    [-1.5395, -0.9289, -0.4644, 88.5],
    [-1.078, 1.1407, -1.0866, -120.25],
    [-0.684, 0.2931, 2.7575, -60.0],
];
const POINTS: [[f32; 3]; 4] = [
    [10.5, 20.25, 31.0],
    [100.0, 55.5, 7.125],
    [0.0, 0.0, 0.0],
    [181.75, 163.0, 179.5],
];

/// Voxel order, version of TRK, and the positions of the points in scanner space.
type Case = (&'static str, i32, [[f64; 3]; 4]);

#[rustfmt::skip]
const CASES: [Case; 5] = [
    ("LAS", 2, [[64.5451, -121.2263, -32.3233], [-22.4809, -134.0128, -77.9895], [89.9664, -119.7381, -61.1833], [-178.6628, -158.7601, 73.4988]]),
    ("RPI", 2, [[-153.8209, -157.2075, 45.1106], [-66.795, -144.421, 90.7768], [-179.2422, -158.6957, 73.9706], [89.3869, -119.6737, -60.7115]]),
    ("SLA", 2, [[62.9121, -139.5578, -29.4863], [22.6823, -105.4675, 53.8747], [89.9664, -119.7381, -61.1833], [-137.0256, -198.6545, 224.1745]]),
    ("", 2, [[-11.6247, -27.6889, -8.2891], [-54.9923, -94.0883, -67.731], [-11.2837, 4.5982, -29.2354], [-78.0319, -282.336, 41.7463]]),
    ("LPS", 1, [[85.25, 95.0, 9.8333], [40.5, 71.5, 1.875], [90.5, 108.5, -0.5], [-0.375, -0.1667, 59.3333]]),
];

/// The header of an image as runs of bytes that are not 0, and the position of voxel 1, 2, 3.
struct Image {
    name: &'static str,
    size: usize,
    bytes: &'static [(usize, &'static [u8])],
    place: [f64; 3],
}

#[rustfmt::skip]
const IMAGES: [Image; 6] = [
    Image { name: "s big False second False", size: 348, bytes: &[(0, &[92, 1]), (40, &[3]), (42, &[4]), (44, &[5]), (46, &[6]), (48, &[1]), (50, &[1]), (52, &[1]), (54, &[1]), (70, &[16]), (72, &[32]), (78, &[128, 63]), (83, &[64]), (86, &[192, 63]), (90, &[64, 64]), (94, &[128, 63]), (98, &[128, 63]), (102, &[128, 63]), (106, &[128, 63]), (114, &[192, 127]), (118, &[192, 127]), (123, &[2]), (254, &[1]), (280, &[86, 14, 197, 191, 100, 204, 109, 191, 214, 197, 237, 190]), (294, &[177, 66, 231, 251, 137, 191, 117, 2, 146, 63, 181, 21, 139, 191]), (309, &[128, 240, 194, 160, 26, 47, 191, 52, 17, 150, 62, 225, 122, 48, 64]), (326, &[112, 194]), (344, &[110, 43, 49])], place: [83.7095, -122.3064, -51.8253] },
    Image { name: "s big True second False", size: 348, bytes: &[(2, &[1, 92]), (41, &[3]), (43, &[4]), (45, &[5]), (47, &[6]), (49, &[1]), (51, &[1]), (53, &[1]), (55, &[1]), (71, &[16]), (73, &[32]), (76, &[63, 128]), (80, &[64]), (84, &[63, 192]), (88, &[64, 64]), (92, &[63, 128]), (96, &[63, 128]), (100, &[63, 128]), (104, &[63, 128]), (112, &[127, 192]), (116, &[127, 192]), (123, &[2]), (255, &[1]), (280, &[191, 197, 14, 86, 191, 109, 204, 100, 190, 237, 197, 214, 66, 177]), (296, &[191, 137, 251, 231, 63, 146, 2, 117, 191, 139, 21, 181, 194, 240, 128]), (312, &[191, 47, 26, 160, 62, 150, 17, 52, 64, 48, 122, 225, 194, 112]), (344, &[110, 43, 49])], place: [83.7095, -122.3064, -51.8253] },
    Image { name: "s big False second True", size: 540, bytes: &[(0, &[28, 2]), (4, &[110, 43, 50]), (8, &[13, 10, 26, 10, 16]), (14, &[32]), (16, &[3]), (24, &[4]), (32, &[5]), (40, &[6]), (48, &[1]), (56, &[1]), (64, &[1]), (72, &[1]), (110, &[240, 63]), (119, &[64]), (126, &[248, 63]), (134, &[8, 64]), (142, &[240, 63]), (150, &[240, 63]), (158, &[240, 63]), (166, &[240, 63]), (182, &[248, 127]), (190, &[248, 127]), (348, &[1]), (400, &[111, 18, 131, 192, 202, 161, 248, 191, 11, 36, 40, 126, 140, 185, 237, 191, 41, 203, 16, 199, 186, 184, 221, 191]), (429, &[32, 86, 64, 115, 104, 145, 237, 124, 63, 241, 191, 85, 193, 168, 164, 78, 64, 242, 63, 109, 86, 125, 174, 182, 98, 241, 191]), (461, &[16, 94, 192, 23, 217, 206, 247, 83, 227, 229, 191, 82, 73, 157, 128, 38, 194, 210, 63, 143, 194, 245, 40, 92, 15, 6, 64]), (494, &[78, 192]), (500, &[2])], place: [83.7095, -122.3064, -51.8253] },
    Image { name: "q big False second False", size: 348, bytes: &[(0, &[92, 1]), (40, &[3]), (42, &[4]), (44, &[5]), (46, &[6]), (48, &[1]), (50, &[1]), (52, &[1]), (54, &[1]), (70, &[16]), (72, &[32]), (78, &[128, 191]), (83, &[64]), (86, &[192, 63]), (90, &[64, 64]), (94, &[128, 63]), (98, &[128, 63]), (102, &[128, 63]), (106, &[128, 63]), (114, &[192, 127]), (118, &[192, 127]), (123, &[2]), (252, &[1]), (256, &[176, 167, 159, 190, 86, 186, 109, 63, 167, 181, 25, 62]), (270, &[160, 64]), (274, &[192, 192]), (278, &[224, 64]), (344, &[110, 43, 49])], place: [0.2095, -8.0564, 15.1745] },
    Image { name: "q big True second True", size: 540, bytes: &[(2, &[2, 28, 110, 43, 50]), (8, &[13, 10, 26, 10]), (13, &[16]), (15, &[32]), (23, &[3]), (31, &[4]), (39, &[5]), (47, &[6]), (55, &[1]), (63, &[1]), (71, &[1]), (79, &[1]), (104, &[191, 240]), (112, &[63, 255, 255, 255, 255, 255, 255, 254, 63, 247, 255, 255, 255, 255, 255, 255, 64, 7, 255, 255, 255, 255, 255, 255, 63, 240]), (144, &[63, 240]), (152, &[63, 240]), (160, &[63, 240]), (176, &[127, 248]), (184, &[127, 248]), (347, &[1]), (352, &[191, 211, 244, 245, 242, 89, 250, 30, 63, 237, 183, 74, 183, 84, 108, 176, 63, 195, 54, 180, 215, 196, 54, 255, 64, 20]), (384, &[192, 24]), (392, &[64, 28]), (503, &[2])], place: [0.2095, -8.0564, 15.1745] },
    Image { name: "n big False second False", size: 348, bytes: &[(0, &[92, 1]), (40, &[3]), (42, &[4]), (44, &[5]), (46, &[6]), (48, &[1]), (50, &[1]), (52, &[1]), (54, &[1]), (70, &[16]), (72, &[32]), (78, &[128, 63]), (83, &[64]), (86, &[192, 63]), (90, &[64, 64]), (94, &[128, 63]), (98, &[128, 63]), (102, &[128, 63]), (106, &[128, 63]), (114, &[192, 127]), (118, &[192, 127]), (123, &[2]), (344, &[110, 43, 49])], place: [1.0, 0.0, 1.5] },
];

/// Streamlines of three points and of one, with voxels of 2 x 1.5 x 3 mm.
fn trk(order: &str, version: i32, sizes: [f32; 3]) -> Vec<u8> {
    let mut bytes = vec![0; 1000];
    let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
    put(0, b"TRACK");
    for (at, extent) in [91_i16, 109, 60].into_iter().enumerate() {
        put(6 + 2 * at, &extent.to_le_bytes());
    }
    for (at, size) in sizes.into_iter().enumerate() {
        put(12 + 4 * at, &size.to_le_bytes());
    }
    let rows = AFFINE.iter().flatten().chain(&[0.0, 0.0, 0.0, 1.0]);
    for (at, number) in rows.enumerate() {
        put(440 + 4 * at, &number.to_le_bytes());
    }
    put(948, order.as_bytes());
    for (at, number) in [2_i32, version, 1000].into_iter().enumerate() {
        put(988 + 4 * at, &number.to_le_bytes());
    }
    for (count, line) in [(3_i32, &POINTS[..3]), (1, &POINTS[3..])] {
        bytes.extend(count.to_le_bytes());
        bytes.extend(
            line.iter()
                .flatten()
                .flat_map(|number| number.to_le_bytes()),
        );
    }
    bytes
}

fn in_space(space: Space) -> Options {
    let mut options = small();
    options.space = Some(space);
    options
}

/// The points of the store, in the order of its streamlines.
fn stored(folder: &Folder) -> Vec<Vec<f64>> {
    let rows = column(&folder.objects(&[0, 1]), "position");
    let row = |row: &String| row.split(' ').map(|one| one.parse().unwrap()).collect();
    rows.iter().map(row).collect()
}

fn floats(lines: Vec<Vec<Vec<u32>>>) -> Vec<Vec<f64>> {
    let points = lines.into_iter().flatten();
    points
        .map(|point| {
            point
                .into_iter()
                .map(|bits| f64::from(f32::from_bits(bits)))
                .collect()
        })
        .collect()
}

fn of_trk(bytes: &[u8]) -> Vec<Vec<f64>> {
    floats(parse::trk(bytes).into_iter().map(|line| line.0).collect())
}

fn of_tck(bytes: &[u8]) -> Vec<Vec<f64>> {
    floats(parse::tck(bytes).1)
}

/// The positions and the header of a TRX.
fn of_trx(bytes: &[u8]) -> (Vec<Vec<f64>>, serde_json::Value) {
    let members = parse::members(bytes);
    let numbers: Vec<f64> = members["positions.3.float32"]
        .chunks(4)
        .map(|four| f64::from(f32::from_le_bytes(four.try_into().unwrap())))
        .collect();
    let head = serde_json::from_slice(&members["header.json"]).unwrap();
    (numbers.chunks(3).map(<[f64]>::to_vec).collect(), head)
}

/// Checks that positions are equal, up to the precision of float32 and of the four decimals of the tables.
#[track_caller]
fn near<A: AsRef<[f64]>, B: AsRef<[f64]>>(found: &[A], wanted: &[B]) {
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        for (one, other) in found.as_ref().iter().zip(wanted.as_ref()) {
            assert!(
                (one - other).abs() < 1e-4,
                "{:?} {:?}",
                found.as_ref(),
                wanted.as_ref()
            );
        }
    }
}

fn filed() -> Vec<Vec<f64>> {
    POINTS
        .iter()
        .map(|point| point.map(f64::from).to_vec())
        .collect()
}

#[test]
fn trk_is_stored_where_nibabel_loads_it_and_goes_back() {
    for (order, version, wanted) in CASES {
        let folder = Folder::new();
        let bytes = trk(order, version, [2.0, 1.5, 3.0]);
        let file = folder.file("a.trk", &bytes);
        let import = open(&[file], &small());
        let (low, high) = import.corners();
        for axis in 0..3 {
            let on = wanted.map(|point| point[axis]);
            assert!((low[axis] - on.into_iter().fold(f64::MAX, f64::min)).abs() < 1e-4);
            assert!((high[axis] - on.into_iter().fold(f64::MIN, f64::max)).abs() < 1e-4);
        }
        let notes = import.notes().join("\n");
        assert_eq!(notes.contains("no affine"), version == 1, "{notes}");
        assert_eq!(notes.contains("LPS was taken"), order.is_empty(), "{notes}");
        let header = &import.spec().headers["trk"];
        assert_eq!(header["space"], json!("rasmm"));
        for name in ["voxelmm_to_rasmm", "rasmm_to_voxelmm"] {
            assert_eq!(header[name].as_array().map(Vec::len), Some(4), "{name}");
        }
        folder.store(&import, |spec| spec.chunk_shape = vec![50.0; 3]);
        near(&stored(&folder), &wanted);
        let (out, done) = folder.export("out.trk", &ExportOptions::default());
        assert!(done.notes.is_empty(), "{:?}", done.notes);
        let got = std::fs::read(out).unwrap();
        near(&of_trk(&got), &filed());
        // The header is the header of the file, in version 2.
        assert_eq!(
            got[440..504],
            if version == 1 {
                [0; 64]
            } else {
                bytes[440..504].try_into().unwrap()
            }
        );
        assert_eq!(got[948..952], bytes[948..952]);
        let (out, _) = folder.export("out.tck", &ExportOptions::default());
        near(&of_tck(&std::fs::read(out).unwrap()), &wanted);
        let (out, done) = folder.export("out.trx", &ExportOptions::default());
        assert!(done.notes.is_empty(), "{:?}", done.notes);
        let (points, head) = of_trx(&std::fs::read(out).unwrap());
        near(&points, &wanted);
        assert_eq!(head["DIMENSIONS"], json!(dimensions(order, version)));
    }
}

/// The dimensions of the file along the axes of its affine; the header states them in its voxel order.
fn dimensions(order: &str, version: i32) -> [i32; 3] {
    let order = if order.is_empty() { "LPS" } else { order };
    let stated = |axis: usize| {
        order.find(["RL", "AP", "SI"].map(|pair| pair.chars().collect::<Vec<_>>())[axis].as_slice())
    };
    [0, 1, 2].map(|column| {
        let size = |axis: &usize| AFFINE[*axis][column].abs();
        // Version 1 has no affine: that is the identity.
        let axis = match version {
            1 => column,
            _ => (0..3).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap(),
        };
        [91, 109, 60][stated(axis).unwrap()]
    })
}

#[test]
fn stores_in_another_frame_are_converted() {
    for (order, version, wanted) in CASES {
        let folder = Folder::new();
        let bytes = trk(order, version, [2.0, 1.5, 3.0]);
        let file = folder.file("a.trk", &bytes);
        for (space, told) in [
            (Space::File, true),
            (Space::Voxelmm, true),
            (Space::File, false),
        ] {
            let import = open(std::slice::from_ref(&file), &in_space(space));
            assert_eq!(import.spec().headers["trk"]["space"], json!("voxelmm"));
            folder.store(&import, |spec| {
                spec.chunk_shape = vec![50.0; 3];
                let header = spec.headers.get_mut("trk").unwrap();
                if !told {
                    // Earlier builds wrote such headers.
                    for name in ["space", "voxelmm_to_rasmm", "rasmm_to_voxelmm"] {
                        header.remove(name).unwrap();
                    }
                }
            });
            assert_eq!(stored(&folder), filed());
            let (out, done) = folder.export("out.tck", &ExportOptions::default());
            assert_eq!(done.notes, ["the frame (`headers/trk`) is not kept"]);
            near(&of_tck(&std::fs::read(out).unwrap()), &wanted);
            let (out, _) = folder.export("out.trx", &ExportOptions::default());
            near(&of_trx(&std::fs::read(out).unwrap()).0, &wanted);
            let (out, _) = folder.export("out.trk", &ExportOptions::default());
            let got = std::fs::read(out).unwrap();
            assert!(got[1000..] == bytes[1000..]);
            let mut kept = ExportOptions::default();
            kept.keep_frame = true;
            let (out, done) = folder.export("kept.tck", &kept);
            assert_eq!(of_tck(&std::fs::read(out).unwrap()), filed());
            assert!(
                done.notes.join("").contains("as they are stored"),
                "{:?}",
                done.notes
            );
            let (out, _) = folder.export("kept.trk", &kept);
            assert!(std::fs::read(out).unwrap() == got);
        }
    }
}

#[test]
fn frames_that_cannot_be_known_are_refused() {
    let folder = Folder::new();
    let odd = folder.file("odd.trk", trk("LAS", 2, [2.0, 0.0, 3.0]));
    let (error, text) = refused(std::slice::from_ref(&odd), &small());
    assert!(matches!(error, ConvertError::Malformed { .. }), "{error}");
    assert!(
        text.starts_with("odd.trk, byte 440: found a voxel size of 0")
            && text.contains("--space file"),
        "{text}"
    );
    let import = open(&[odd], &in_space(Space::File));
    assert!(import.notes().join("").contains("no usable affine"));
    folder.store(&import, |_| {});
    let error = folder
        .export_error("out.tck", &ExportOptions::default())
        .to_string();
    assert!(
        error.contains("voxel size of 0") && error.contains("--keep-frame"),
        "{error}"
    );
    let mut kept = ExportOptions::default();
    kept.keep_frame = true;
    let (out, _) = folder.export("kept.tck", &kept);
    assert_eq!(of_tck(&std::fs::read(out).unwrap()), filed());
    // A TRK, the format of the source, can still be written.
    folder.export("out.trk", &ExportOptions::default());

    // Headers of other programs, and unknown words.
    let file = folder.file("a.trk", trk("LAS", 2, [2.0, 1.5, 3.0]));
    for (name, value) in [
        ("magic_number", json!("TRACK")),
        ("space", json!("elsewhere")),
        ("space", json!(3)),
    ] {
        folder.store(
            &open(std::slice::from_ref(&file), &in_space(Space::File)),
            |spec| {
                let header = spec.headers.get_mut("trk").unwrap();
                header.remove("space");
                header.insert(name.to_owned(), value);
            },
        );
        for out in ["out.tck", "out.trx", "out.trk"] {
            let error = folder
                .export_error(out, &ExportOptions::default())
                .to_string();
            assert!(error.contains("expected rasmm or voxelmm"), "{error}");
        }
        folder.export("kept.trx", &kept);
    }
}

#[test]
fn trx_can_be_stored_in_voxel_millimetres_and_tck_cannot() {
    let affine: Vec<Vec<f64>> = AFFINE
        .iter()
        .map(|row| row.map(f64::from).to_vec())
        .chain([vec![0.0, 0.0, 0.0, 1.0]])
        .collect();
    let (_, _, wanted) = CASES[0];
    #[expect(clippy::cast_possible_truncation, reason = "a file of float32")]
    let positions = wanted
        .iter()
        .flatten()
        .flat_map(|one| (*one as f32).to_le_bytes());
    let head = json!({"DIMENSIONS": [91, 109, 60], "VOXEL_TO_RASMM": affine, "NB_VERTICES": 4, "NB_STREAMLINES": 2});
    let offsets = [0_u64, 3, 4]
        .iter()
        .flat_map(|one| one.to_le_bytes())
        .collect();
    let members = [
        ("header.json".to_owned(), head.to_string().into_bytes()),
        ("positions.3.float32".to_owned(), positions.collect()),
        ("offsets.uint64".to_owned(), offsets),
    ];
    let folder = Folder::new();
    let file = folder.file("a.trx", zip(&members, false));
    for space in [Space::Rasmm, Space::File, Space::Voxelmm] {
        let import = open(std::slice::from_ref(&file), &in_space(space));
        folder.store(&import, |spec| spec.chunk_shape = vec![50.0; 3]);
        match space {
            // Voxel sizes are the lengths of the columns of the affine, which equal the sizes of the file above to four decimals.
            Space::Voxelmm => {
                for (found, wanted) in stored(&folder).iter().zip(filed()) {
                    assert!(
                        found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 0.02),
                        "{found:?} {wanted:?}"
                    );
                }
            }
            _ => near(&stored(&folder), &wanted),
        }
        let (out, _) = folder.export("out.trx", &ExportOptions::default());
        near(&of_trx(&std::fs::read(out).unwrap()).0, &wanted);
        let (out, _) = folder.export("out.tck", &ExportOptions::default());
        near(&of_tck(&std::fs::read(out).unwrap()), &wanted);
        // The exported TRK has the voxels of the TRX; reading it gives the same positions.
        let (out, _) = folder.export("out.trk", &ExportOptions::default());
        let again = Folder::new();
        let bytes = std::fs::read(out).unwrap();
        assert_eq!(
            (&bytes[948..952], i16::from_le_bytes([bytes[6], bytes[7]])),
            (&b"LAS\0"[..], 91)
        );
        again.store(&open(&[again.file("b.trk", bytes)], &small()), |spec| {
            spec.chunk_shape = vec![50.0; 3]
        });
        near(&stored(&again), &wanted);
    }
    let tck = folder.file("a.tck", crate::streamlines::tck("Float32LE"));
    let (_, text) = refused(&[tck], &in_space(Space::Voxelmm));
    assert!(
        text.contains("voxelmm") && text.contains("no voxels"),
        "{text}"
    );
}

/// Positions of a table of points.
fn points(folder: &Folder, file: &str, bytes: &[u8], options: &Options) -> Vec<String> {
    let import = open(&[folder.file(file, bytes)], options);
    let found = column(&folder.store(&import, |_| {}).vertices, "position");
    let (low, high) = import.corners();
    let numbers =
        |row: &String| -> Vec<f64> { row.split(' ').map(|one| one.parse().unwrap()).collect() };
    for axis in 0..low.len() {
        let on: Vec<f64> = found.iter().map(|row| numbers(row)[axis]).collect();
        let lowest = on.iter().copied().fold(f64::MAX, f64::min);
        let highest = on.iter().copied().fold(f64::MIN, f64::max);
        // A float32 is shown with fewer digits than it has as float64.
        let same = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs();
        assert!(
            same(low[axis], lowest) && same(high[axis], highest),
            "{low:?} {high:?} {found:?}"
        );
    }
    found
}

#[test]
fn other_files_are_scaled_and_mapped_once() {
    let folder = Folder::new();
    let csv = b"x,y,z,n\n1,2,3,7\n-4,0.5,10,8\n";
    let mut options = small();
    options.scale = Some(vec![2.0, 10.0, -1.0]);
    assert_eq!(
        points(&folder, "a.csv", csv, &options),
        ["-8.0 5.0 -10.0", "2.0 20.0 -3.0"]
    );
    let matrix = folder.file(
        "m.txt",
        "# a turn about z\n0 -1 0 100\n1 0 0 200\n0 0 1 300\n0 0 0 1\n",
    );
    options.affine = Some(matrix.clone());
    let mut found = points(&folder, "a.csv", csv, &options);
    found.sort();
    assert_eq!(found, ["80.0 202.0 297.0", "95.0 192.0 290.0"]);
    let header = open(&[folder.place("a.csv")], &options);
    assert_eq!(
        header.spec().headers["csv"]["applied_affine"],
        json!([
            [0.0, -10.0, 0.0, 100.0],
            [2.0, 0.0, 0.0, 200.0],
            [0.0, 0.0, -1.0, 300.0],
            [0.0, 0.0, 0.0, 1.0]
        ])
    );
    // Integers become floats that hold all integers of their type.
    for (word, number) in [
        ("<i2", NumberType::F32),
        ("<i4", NumberType::F64),
        ("<f8", NumberType::F64),
    ] {
        let mut half = small();
        half.scale = Some(vec![0.5]);
        let list = [1, 2, 3];
        let bytes: Vec<u8> = list
            .iter()
            .flat_map(|one: &i16| match word {
                "<i2" => one.to_le_bytes().to_vec(),
                "<i4" => i32::from(*one).to_le_bytes().to_vec(),
                _ => f64::from(*one).to_le_bytes().to_vec(),
            })
            .collect();
        let head = format!("{{'descr': '{word}', 'fortran_order': False, 'shape': (1, 3), }}");
        let mut npy = b"\x93NUMPY\x01\x00".to_vec();
        npy.extend(118_u16.to_le_bytes());
        npy.extend(format!("{head:<117}\n").bytes());
        npy.extend(bytes);
        assert_eq!(
            points(&folder, "p.npy", &npy, &half),
            ["0.5 1.0 1.5"],
            "{word}"
        );
        let import = open(&[folder.place("p.npy")], &half);
        assert_eq!(import.spec().positions, number, "{word}");
    }
    // Two axes.
    let mut plane = small();
    plane.affine = Some(folder.file("p.txt", "1,0,5, 0,2,6"));
    assert_eq!(
        points(&folder, "b.csv", b"x,y\n1,2\n", &plane),
        ["6.0 10.0"]
    );
    plane.affine = Some(matrix);
    let (_, text) = refused(&[folder.place("b.csv")], &plane);
    assert!(text.contains("2 rows of 3 numbers"), "{text}");
}

#[test]
fn a_number_before_the_unit_scales_positions_and_radii() {
    let folder = Folder::new();
    let file = folder.file("7.swc", "1 1 1 2 3 0.5 -1\n2 3 2 2 3 1.5 1\n");
    let mut options = small();
    options.unit = Some("8nm".to_owned());
    let import = open(&[file], &options);
    assert_eq!(import.spec().axes[2].unit.as_deref(), Some("nanometer"));
    let got = folder.store(&import, |_| {});
    assert_eq!(
        column(&got.vertices, "position"),
        ["8.0 16.0 24.0", "16.0 16.0 24.0"]
    );
    assert_eq!(column(&got.vertices, "radius"), ["4.0", "12.0"]);
    for (unit, name) in [
        ("um", "micrometer"),
        ("\u{3bc}m", "micrometer"),
        ("Millimeters", "millimeter"),
    ] {
        options.unit = Some(unit.to_owned());
        let import = open(&[folder.place("7.swc")], &options);
        assert_eq!(import.spec().axes[0].unit.as_deref(), Some(name));
        assert!(import.spec().headers.is_empty());
    }
    for unit in ["foo", "8", "-8nm"] {
        options.unit = Some(unit.to_owned());
        let (error, text) = refused(&[folder.place("7.swc")], &options);
        assert!(
            matches!(error, ConvertError::Usage { .. }) && text.contains("nanometer, parsec"),
            "{text}"
        );
    }
}

#[test]
fn affines_of_images_are_those_of_nibabel() {
    let folder = Folder::new();
    for image in &IMAGES {
        let mut bytes = vec![0; image.size];
        for (at, run) in image.bytes {
            bytes[*at..*at + run.len()].copy_from_slice(run);
        }
        let plain = folder.file("i.nii", &bytes);
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, &bytes).unwrap();
        let packed = folder.file("i.nii.gz", packed.finish().unwrap());
        for path in [plain, packed] {
            let mut options = small();
            options.affine = Some(path);
            let file = folder.file("v.csv", "x,y,z\n1,2,3\n");
            let import = open(&[file], &options);
            assert_eq!(import.spec().axes[0].unit.as_deref(), Some("millimeter"));
            near(&[import.corners().0], &[image.place]);
            let short = folder.file("short.nii", &bytes[..image.size - 1]);
            options.affine = Some(short);
            refused(&[folder.place("v.csv")], &options);
        }
        assert!(!image.name.is_empty());
    }
}

#[test]
fn maps_are_refused_where_they_mean_nothing() {
    let folder = Folder::new();
    let csv = folder.file("a.csv", "x,y,z\n1,2,3\n");
    let trk = folder.file("a.trk", trk("LAS", 2, [2.0, 1.5, 3.0]));
    let flat = folder.file("flat.txt", "1 0 0 0 1 0 0 0 0 0 1 0");
    let words = folder.file("words.txt", "one two");
    type Change<'a> = &'a dyn Fn(&mut Options);
    let cases: [(&std::path::PathBuf, Change<'_>, &str); 11] = [
        (
            &csv,
            &|o| o.space = Some(Space::File),
            "only TRK, TCK and TRX have it",
        ),
        (
            &trk,
            &|o| o.scale = Some(vec![2.0]),
            "the format fixes the frame",
        ),
        (
            &trk,
            &|o| o.unit = Some("8nm".to_owned()),
            "the format fixes the frame",
        ),
        (
            &trk,
            &|o| o.affine = Some(csv.clone()),
            "the format fixes the frame",
        ),
        (&csv, &|o| o.scale = Some(vec![2.0, 3.0]), "1 or 3"),
        (
            &csv,
            &|o| o.scale = Some(vec![0.0]),
            "a number that is not 0",
        ),
        (
            &csv,
            &|o| o.scale = Some(vec![f64::NAN]),
            "a number that is not 0",
        ),
        (&csv, &|o| o.affine = Some(flat.clone()), "one plane"),
        (
            &csv,
            &|o| o.affine = Some(words.clone()),
            "\"one\" is not a number",
        ),
        (
            &csv,
            &|o| o.affine = Some(folder.place("")),
            "no regular file",
        ),
        (
            &csv,
            &|o| o.scale = Some(vec![1e300]),
            "positions that exceed the range",
        ),
    ];
    for (file, change, wanted) in cases {
        let mut options = small();
        change(&mut options);
        let (_, text) = refused(std::slice::from_ref(file), &options);
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let mut both = small();
    both.unit = Some("8nm".to_owned());
    both.scale = Some(vec![2.0]);
    assert!(refused(&[csv], &both).1.contains("before the unit"));
}

/// A change of the header of a store, and the text of the error.
type Damage = (fn(&mut JsonObject), &'static str);

const DAMAGE: [Damage; 9] = [
    (|header| drop(header.remove("space")), "no member `space`"),
    (
        |header| drop(header.insert("space".into(), Value::Null)),
        "found null",
    ),
    (
        |header| drop(header.insert("voxelmm_to_rasmm".into(), identity())),
        "contradicts",
    ),
    (
        |header| drop(header.insert("voxelmm_to_rasmm".into(), Value::Null)),
        "no voxelmm_to_rasmm",
    ),
    (
        |header| drop(header.insert("voxelmm_to_rasmm".into(), json!("x"))),
        "four rows of four numbers",
    ),
    (
        |header| drop(header.insert("voxel_to_rasmm".into(), Value::Null)),
        "voxelmm_to_rasmm",
    ),
    (
        |header| drop(header.remove("voxel_to_rasmm")),
        "voxelmm_to_rasmm",
    ),
    (
        |header| drop(header.insert("voxel_to_rasmm".into(), identity())),
        "contradicts",
    ),
    (
        |header| drop(header.insert("dimensions".into(), json!([92, 109]))),
        "dimensions",
    ),
];

fn identity() -> Value {
    json!([
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 1.0]
    ])
}

/// No exported file has positions in a frame other than the one that it states.
#[test]
fn headers_that_lost_a_member_are_refused() {
    let folder = Folder::new();
    let file = folder.file("a.trk", trk("RPI", 2, [2.0, 1.5, 3.0]));
    folder.store(&open(std::slice::from_ref(&file), &small()), |_| {});
    let (made, _) = folder.export("a.trx", &ExportOptions::default());
    let mut kept = ExportOptions::default();
    kept.keep_frame = true;
    for (file, format) in [(file, "trk"), (made, "trx")] {
        for space in [Space::Rasmm, Space::Voxelmm] {
            let import = open(std::slice::from_ref(&file), &in_space(space));
            for (damage, said) in DAMAGE {
                folder.store(&import, |spec| {
                    spec.chunk_shape = vec![50.0; 3];
                    damage(spec.headers.get_mut(format).unwrap());
                });
                for out in ["out.tck", "out.trx", "out.trk"] {
                    let error = folder.export_error(out, &ExportOptions::default());
                    let text = error.to_string();
                    assert!(matches!(error, ConvertError::Usage { .. }), "{text}");
                    assert!(
                        text.contains(&format!("headers/{format}: the frame of the positions"))
                            && text.contains(said)
                            && text.contains("--keep-frame"),
                        "{said}: {text}"
                    );
                }
                let (out, _) = folder.export("kept.tck", &kept);
                near(&of_tck(&std::fs::read(out).unwrap()), &stored(&folder));
            }
        }
    }
}

#[test]
fn tractograms_are_in_millimetres() {
    let folder = Folder::new();
    let file = folder.file("a.trk", trk("LAS", 2, [2.0, 1.5, 3.0]));
    folder.store(&open(std::slice::from_ref(&file), &small()), |_| {});
    let (tck, _) = folder.export("a.tck", &ExportOptions::default());
    let (trx, _) = folder.export("a.trx", &ExportOptions::default());
    for (file, name) in [(file, "TRK"), (tck, "TCK"), (trx, "TRX")] {
        let mut options = small();
        for unit in ["um", "meter", "1000um"] {
            options.unit = Some(unit.to_owned());
            let (error, text) = refused(std::slice::from_ref(&file), &options);
            assert!(matches!(error, ConvertError::Usage { .. }), "{error}");
            assert!(
                text.contains(name) && text.contains("the format fixes"),
                "{text}"
            );
        }
        options.unit = Some("mm".to_owned());
        let import = open(std::slice::from_ref(&file), &options);
        for axis in &import.spec().axes {
            assert_eq!(axis.unit.as_deref(), Some("millimeter"));
        }
    }
}

#[test]
fn units_in_comments_of_swc_are_read() {
    let folder = Folder::new();
    let nodes = "1 1 1 2 3 0.5 -1\n2 3 2 2 3 1.5 1\n";
    for (name, comment, unit, factor) in [
        ("1.swc", "# units: um", Some("micrometer"), 1.0),
        ("2.swc", "# UNIT = nm", Some("nanometer"), 1.0),
        (
            "3.swc",
            "# Meta: {\"name\": \"a\", \"units\": \"8 nanometer\"}",
            Some("nanometer"),
            8.0,
        ),
        ("4.swc", "# Meta: {\"units\": null}", None, 1.0),
        ("5.swc", "# units of this file are unknown", None, 1.0),
    ] {
        let file = folder.file(name, format!("{comment}\n{nodes}"));
        let import = open(std::slice::from_ref(&file), &small());
        assert_eq!(import.spec().axes[0].unit.as_deref(), unit, "{comment}");
        let got = folder.store(&import, |_| {});
        let scaled = |list: [f64; 3]| {
            let list = list.map(|one| format!("{:?}", one * factor));
            list.join(" ")
        };
        assert_eq!(
            column(&got.vertices, "position"),
            [scaled([1.0, 2.0, 3.0]), scaled([2.0, 2.0, 3.0])],
            "{comment}"
        );
        assert_eq!(
            column(&got.vertices, "radius"),
            [0.5 * factor, 1.5 * factor].map(|one| format!("{one:?}")),
            "{comment}"
        );
        // The option has priority.
        let mut options = small();
        options.unit = Some("2mm".to_owned());
        let import = open(&[file], &options);
        assert_eq!(import.spec().axes[0].unit.as_deref(), Some("millimeter"));
        assert_eq!(import.corners().1[0], 4.0);
        let said = import
            .notes()
            .iter()
            .any(|note| note.contains("header states"));
        assert_eq!(said, unit.is_some(), "{comment}");
    }
}
