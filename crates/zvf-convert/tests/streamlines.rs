//! TRK and TCK.

use serde_json::json;

use crate::support::{Folder, column, filed, open, small};

/// Numbers of one byte order.
pub(crate) struct Out {
    big: bool,
    pub(crate) bytes: Vec<u8>,
}

impl Out {
    pub(crate) fn new(big: bool) -> Self {
        Self {
            big,
            bytes: Vec::new(),
        }
    }

    fn put<const N: usize>(&mut self, mut little: [u8; N]) {
        if self.big {
            little.reverse();
        }
        self.bytes.extend(little);
    }

    pub(crate) fn f32(&mut self, value: f32) {
        self.put(value.to_le_bytes());
    }

    pub(crate) fn i32(&mut self, value: i32) {
        self.put(value.to_le_bytes());
    }

    fn i16(&mut self, value: i16) {
        self.put(value.to_le_bytes());
    }

    fn name(&mut self, name: &[u8]) {
        self.bytes.extend(name);
        self.bytes.extend(vec![0; 20 - name.len()]);
    }
}

/// A header of 1000 bytes, field by field.
pub(crate) fn trk_header(out: &mut Out, names: [&[&[u8]]; 2], widths: [i16; 2], count: i32) {
    out.bytes.extend(b"TRACK\0");
    [50, 60, 70].into_iter().for_each(|extent| out.i16(extent));
    [1.0, 2.0, 0.5].into_iter().for_each(|size| out.f32(size));
    [0.0; 3].into_iter().for_each(|origin| out.f32(origin));
    for (names, width) in names.iter().zip(widths) {
        out.i16(width);
        names.iter().for_each(|name| out.name(name));
        (names.len()..10).for_each(|_| out.name(b""));
    }
    for row in 0..4 {
        for at in 0..4 {
            out.f32(if row == at {
                1.5
            } else {
                f32::from(i16::try_from(at).unwrap())
            });
        }
    }
    out.bytes.extend([0; 444]);
    out.bytes.extend(b"LPS\0\0\0\0\0");
    [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
        .into_iter()
        .for_each(|cosine| out.f32(cosine));
    out.bytes.extend([0; 8]);
    out.i32(count);
    out.i32(2);
    out.i32(1000);
    assert_eq!(out.bytes.len(), 1000);
}

/// Streamlines of 5, 0 and 2 points, with four scalars a point and two properties.
pub(crate) fn trk(big: bool, count: i32) -> Vec<u8> {
    let mut out = Out::new(big);
    trk_header(
        &mut out,
        [&[b"fa", b"color\x003"], &[b"length"]],
        [4, 2],
        count,
    );
    for (line, points) in [5_u8, 0, 2].into_iter().enumerate() {
        let line = f32::from(u8::try_from(line).unwrap());
        out.i32(i32::from(points));
        for point in (0..points).map(f32::from) {
            [point * 4.0, line, -0.5]
                .into_iter()
                .for_each(|value| out.f32(value));
            [point / 8.0, 1.0, point, line]
                .into_iter()
                .for_each(|value| out.f32(value));
        }
        [line + 0.25, line + 100.0]
            .into_iter()
            .for_each(|value| out.f32(value));
    }
    out.bytes
}

#[test]
fn trk_points_scalars_properties_and_frame_are_kept() {
    for (big, count) in [(false, 3), (true, 3), (false, 0)] {
        let folder = Folder::new();
        let import = open(&[folder.file("a.trk", trk(big, count))], &filed());
        assert_eq!((import.vertices(), import.objects()), (7, 3));
        let frame = import.frame().unwrap();
        assert_eq!(frame["voxel_to_rasmm"][1], json!([0.0, 1.5, 2.0, 3.0]));
        assert_eq!(frame["voxel_sizes"], json!([1.0, 2.0, 0.5]));
        assert_eq!(frame["dimensions"], json!([50, 60, 70]));
        assert_eq!(frame["voxel_order"], json!("LPS"));
        // The header of the store has the name of the format.
        let mut header = frame.as_object().unwrap().clone();
        header.remove("source");
        assert_eq!(import.spec().headers, [("trk".to_owned(), header)].into());
        assert_eq!(import.spec().crs, None);
        assert_eq!(import.spec().axes[0].unit.as_deref(), Some("millimeter"));
        let got = folder.store(&import, |spec| spec.chunk_shape = vec![5.0; 3]);
        assert_eq!(got.links.unwrap().num_rows(), 4 + 1);
        let objects = folder.listed();
        assert_eq!(column(&objects, "object_id"), ["0", "1", "2"]);
        assert_eq!(column(&objects, "length"), ["0.25", "1.25", "2.25"]);
        assert_eq!(column(&objects, "properties"), ["100.0", "101.0", "102.0"]);
        let first = folder.objects(&[0]);
        let points = [0, 1, 2, 3, 4].map(f64::from);
        assert_eq!(
            column(&first, "position"),
            points.map(|p| format!("{:?} 0.0 -0.5", p * 4.0))
        );
        assert_eq!(
            column(&first, "fa"),
            points.map(|p| format!("{:?}", p / 8.0))
        );
        assert_eq!(
            column(&first, "color"),
            points.map(|p| format!("1.0 {p:?} 0.0"))
        );
        assert_eq!(folder.objects(&[1]).num_rows(), 0);
        assert_eq!(
            column(&folder.objects(&[2]), "position"),
            ["0.0 2.0 -0.5", "4.0 2.0 -0.5"]
        );
    }
}

#[test]
fn several_trk_files_are_numbered_through() {
    let folder = Folder::new();
    let files = [
        folder.file("a.trk", trk(false, 3)),
        folder.file("b.trk", trk(true, 3)),
    ];
    let import = open(&files, &filed());
    assert_eq!((import.vertices(), import.objects()), (14, 6));
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![5.0; 3]);
    assert_eq!(got.vertices.num_rows(), 14);
    assert_eq!(
        column(&folder.objects(&[5]), "position"),
        ["0.0 2.0 -0.5", "4.0 2.0 -0.5"]
    );
}

/// Streamlines of 2, 0 and 5 points.
pub(crate) fn tck(kind: &str) -> Vec<u8> {
    let head = format!(
        "mrtrix tracks\ndatatype: {kind}\ncount: 3\nmethod: by\n  hand\nfile: . 100\nEND\n"
    );
    let mut bytes = head.into_bytes();
    bytes.resize(100, b' ');
    let mut put = |value: f64| {
        #[expect(clippy::cast_possible_truncation, reason = "the values are small")]
        let mut number = if kind.starts_with("Float32") {
            (value as f32).to_le_bytes().to_vec()
        } else {
            value.to_le_bytes().to_vec()
        };
        if kind.ends_with("BE") {
            number.reverse();
        }
        bytes.extend(number);
    };
    for points in [2, 0, 5] {
        for point in 0..points {
            [f64::from(point) * 3.0, f64::from(points), 0.125]
                .into_iter()
                .for_each(&mut put);
        }
        [f64::NAN; 3].into_iter().for_each(&mut put);
    }
    [f64::INFINITY; 3].into_iter().for_each(&mut put);
    bytes
}

#[test]
fn tck_of_every_number_type_gives_the_same_streamlines() {
    for kind in ["Float32LE", "Float32BE", "Float64LE", "Float64BE"] {
        let folder = Folder::new();
        let import = open(&[folder.file("a.tck", tck(kind))], &small());
        assert_eq!((import.vertices(), import.objects()), (7, 3), "{kind}");
        assert_eq!(
            import.frame().unwrap()["headers"][0]["method"],
            json!("by\nhand")
        );
        let got = folder.store(&import, |spec| spec.chunk_shape = vec![5.0; 3]);
        assert_eq!(got.vertices.num_rows(), 7);
        assert_eq!(
            column(&folder.objects(&[0]), "position"),
            ["0.0 2.0 0.125", "3.0 2.0 0.125"]
        );
        assert_eq!(folder.objects(&[1]).num_rows(), 0);
        let want = [0, 1, 2, 3, 4].map(|p| format!("{:?} 5.0 0.125", f64::from(p) * 3.0));
        assert_eq!(column(&folder.objects(&[2]), "position"), want);
    }
}
