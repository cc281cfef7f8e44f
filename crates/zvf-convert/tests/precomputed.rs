//! Folders of Neuroglancer's precomputed formats, written here by the documentation of the formats.

use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use zvf_convert::export::ExportOptions;
use zvf_convert::{Format, Import, Options};
use zvf_store::Class;
use zvf_write::Kind;

use crate::broken;
use crate::support::{Folder, column, ends, open, refused, rows, small, sorted, texts};

/// Bytes of numbers, little-endian.
#[derive(Default, Clone)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u32s(mut self, numbers: &[u32]) -> Self {
        numbers
            .iter()
            .for_each(|one| self.0.extend(one.to_le_bytes()));
        self
    }

    fn u64s(mut self, numbers: &[u64]) -> Self {
        numbers
            .iter()
            .for_each(|one| self.0.extend(one.to_le_bytes()));
        self
    }

    fn f32s(mut self, numbers: &[f32]) -> Self {
        numbers
            .iter()
            .for_each(|one| self.0.extend(one.to_le_bytes()));
        self
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// Writes files to a new folder: `NAME/FILE`.
fn folder_of(folder: &Folder, name: &str, files: &[(&str, &[u8])]) -> PathBuf {
    let top = folder.place(name);
    for (file, bytes) in files {
        let path = top.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    top
}

/// A shard of two minishards, the first one empty. Before each object are the bytes that only this object refers to.
fn shard(objects: &[(u64, &[u8], &[u8])], packed: bool) -> Vec<u8> {
    let pack = |bytes: &[u8]| match packed {
        true => gzip(bytes),
        false => bytes.to_vec(),
    };
    let (mut data, mut keys, mut gaps, mut sizes) = (Vec::new(), vec![], vec![], vec![]);
    let mut before = 0;
    for (key, front, object) in objects {
        let object = pack(object);
        keys.push(key - before);
        gaps.push(front.len() as u64);
        sizes.push(object.len() as u64);
        data.extend_from_slice(front);
        data.extend(object);
        before = *key;
    }
    let index = pack(&Bytes::default().u64s(&keys).u64s(&gaps).u64s(&sizes).0);
    let (start, end) = (data.len() as u64, (data.len() + index.len()) as u64);
    let list = Bytes::default().u64s(&[0, 0, start, end]);
    list.raw(&data).raw(&index).0
}

fn sharding(packed: bool) -> String {
    let encoding = if packed { "gzip" } else { "raw" };
    format!(
        r#"{{"@type":"neuroglancer_uint64_sharded_v1","preshift_bits":0,"hash":"identity","minishard_bits":1,"shard_bits":0,
            "minishard_index_encoding":"{encoding}","data_encoding":"{encoding}"}}"#
    )
}

const ATTRIBUTES: &str = r#"[{"id":"radius","data_type":"float32","num_components":1},
    {"id":"kind","data_type":"uint8","num_components":2}]"#;

fn skeleton_info(sharding: &str) -> String {
    format!(
        r#"{{"@type":"neuroglancer_skeletons","transform":[8,0,0,100,0,8,0,0,0,0,8,0],
            "vertex_attributes":{ATTRIBUTES},"segment_properties":"props","sharding":{sharding}}}"#
    )
}

const PROPS: &str = r#"{"@type":"neuroglancer_segment_properties","inline":{"ids":["17","9","5"],"properties":[
    {"id":"label","type":"label","values":["a","b","c"]},
    {"id":"size","type":"number","data_type":"uint16","values":[1,65535,3],"description":"how large"},
    {"id":"tags","type":"tags","tags":["left","right"],"values":[[0],[0,1],[1]]}]}}"#;

/// Three vertices in a row; the radius is a quarter of x.
fn neuron() -> Vec<u8> {
    let bytes = Bytes::default().u32s(&[3, 2]);
    let bytes = bytes.f32s(&[1.0, 2.0, 3.0, 2.0, 2.0, 3.0, 4.0, 2.0, 3.0]);
    let bytes = bytes.u32s(&[1, 0, 2, 1]).f32s(&[0.25, 0.5, 1.0]);
    bytes.raw(&[1, 2, 3, 4, 5, 6]).0
}

/// One vertex.
fn cell() -> Vec<u8> {
    let bytes = Bytes::default().u32s(&[1, 0]).f32s(&[-1.0, 0.0, 0.5]);
    bytes.f32s(&[2.0]).raw(&[7, 8]).0
}

fn check_skeletons(folder: &Folder, path: PathBuf) {
    let import = open(&[path], &small());
    assert_eq!(import.format(), Format::Precomputed);
    assert_eq!(
        (import.vertices(), import.objects(), import.links()),
        (4, 2, 2)
    );
    assert_eq!(import.spec().kind, Kind::Skeleton);
    assert!(import.names_objects());
    assert_eq!(
        import.corners(),
        (&[92.0, 0.0, 4.0][..], &[132.0, 16.0, 24.0][..])
    );
    let unit = |unit: &str| {
        import
            .spec()
            .axes
            .iter()
            .all(|axis| axis.unit.as_deref() == Some(unit))
    };
    assert!(unit("nanometer"));
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![10.0; 3]);
    let want = [
        texts(["108.0 16.0 24.0", "2.0", "1 2"]),
        texts(["116.0 16.0 24.0", "4.0", "3 4"]),
        texts(["132.0 16.0 24.0", "8.0", "5 6"]),
        texts(["92.0 0.0 4.0", "16.0", "7 8"]),
    ];
    let columns = ["position", "radius", "kind"];
    assert_eq!(rows(&got.vertices, &columns), sorted(want.to_vec()));
    let neuron = column(&folder.objects(&[17]), "radius");
    assert_eq!(sorted(neuron), ["2.0", "4.0", "8.0"]);
    let edges = [texts(["4.0", "2.0"]), texts(["8.0", "4.0"])];
    assert_eq!(sorted(ends(&got, "radius")), sorted(edges.to_vec()));
    let objects = rows(&folder.listed(), &["object_id", "name", "size"]);
    assert_eq!(
        objects,
        [texts(["17", "a", "1"]), texts(["9", "b", "65535"])]
    );
    let refused = folder.export_error("skeletons", &ExportOptions::default());
    let want = "found a folder with `info`, expected a file: `--format precomputed` writes folders";
    assert!(refused.to_string().ends_with(want), "{refused}");
    let notes = import.notes().join("\n");
    assert!(notes.contains("radii multiplied by 8"), "{notes}");
    assert!(
        notes.contains("properties of 1 segments without an object are not kept"),
        "{notes}"
    );
}

#[test]
fn skeletons_with_attributes_and_segment_properties() {
    let folder = Folder::new();
    let info = skeleton_info("null");
    let files: [(&str, &[u8]); 5] = [
        ("info", info.as_bytes()),
        ("props/info", PROPS.as_bytes()),
        ("17", &neuron()),
        ("9", &cell()),
        ("README.md", b"of no meaning"),
    ];
    let path = folder_of(&folder, "skeletons", &files);
    check_skeletons(&folder, path);
}

#[test]
fn whole_radii_become_floats_when_they_are_converted() {
    let cell = Bytes::default().u32s(&[1, 0]).f32s(&[1.0, 2.0, 3.0]);
    let cell = cell.raw(&7_u16.to_le_bytes()).0;
    for (scale, radius) in [("0.5", "3.5"), ("8", "56.0")] {
        let info = format!(
            r#"{{"@type":"neuroglancer_skeletons","transform":[{scale},0,0,0,0,{scale},0,0,0,0,{scale},0],
                "vertex_attributes":[{{"id":"radius","data_type":"uint16","num_components":1}}]}}"#
        );
        let folder = Folder::new();
        let files: [(&str, &[u8]); 2] = [("info", info.as_bytes()), ("9", &cell)];
        let import = open(&[folder_of(&folder, "skeletons", &files)], &small());
        let got = folder.store(&import, |_| {});
        assert_eq!(column(&got.vertices, "radius"), [radius]);
    }
}

#[test]
fn skeletons_in_files_that_are_gzip_by_their_name_or_by_their_bytes() {
    let info = skeleton_info("null");
    let (neuron, cell, props) = (gzip(&neuron()), gzip(&cell()), gzip(PROPS.as_bytes()));
    for [a, b, c] in [
        ["17.gz", "9.gz", "props/info.gz"],
        ["17", "9.gz", "props/info"],
    ] {
        let folder = Folder::new();
        let files: [(&str, &[u8]); 4] = [
            ("info", info.as_bytes()),
            (a, &neuron),
            (b, &cell),
            (c, &props),
        ];
        check_skeletons(&folder, folder_of(&folder, "skeletons", &files));
    }
    let folder = Folder::new();
    let info: &[u8] = br#"{"@type":"neuroglancer_skeletons"}"#;
    let twice = folder_of(
        &folder,
        "s",
        &[("info", info), ("9", &cell), ("9.gz", &cell)],
    );
    let (error, text) = refused(&[twice], &Options::default());
    assert_eq!(error.class(), Class::Malformed);
    assert_eq!(text, "s: found 9 and 9.gz, expected one of the two");
    let raw = said(
        r#"{"@type":"neuroglancer_skeletons"}"#,
        "9.gz",
        &[1, 0, 0, 0],
    );
    assert!(
        raw.starts_with("s/9.gz, byte 0: found bytes that cannot be decompressed"),
        "{raw}"
    );
    // The first bytes of gzip as a number of vertices.
    let vertices = said(
        r#"{"@type":"neuroglancer_skeletons"}"#,
        "9",
        &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0],
    );
    assert_eq!(
        vertices,
        "s/9, byte 8: found the end after 0 bytes, expected positions of vertices: 1679709 of 4 bytes"
    );
}

#[test]
fn skeletons_in_shards_packed_and_raw() {
    for packed in [false, true] {
        let folder = Folder::new();
        let info = skeleton_info(&sharding(packed));
        let shard = shard(&[(9, &[], &cell()), (17, b"unused", &neuron())], packed);
        let files: [(&str, &[u8]); 3] = [
            ("info", info.as_bytes()),
            ("props/info", PROPS.as_bytes()),
            ("0.shard", &shard),
        ];
        let path = folder_of(&folder, "skeletons", &files);
        check_skeletons(&folder, path);
    }
}

#[test]
fn rings_of_edges_make_graphs() {
    let folder = Folder::new();
    let ring = Bytes::default().u32s(&[3, 3]);
    let ring = ring.f32s(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let ring = ring.u32s(&[0, 1, 1, 2, 2, 0]).0;
    let info: &[u8] = br#"{"@type":"neuroglancer_skeletons"}"#;
    let path = folder_of(&folder, "rings", &[("info", info), ("1", &ring)]);
    let import = open(std::slice::from_ref(&path), &Options::default());
    assert_eq!((import.spec().kind, import.links()), (Kind::Graph, 3));
    let got = folder.store(&import, |_| {});
    assert_eq!(got.links.unwrap().num_rows(), 3);
    let mut options = Options::default();
    options.kind = Some(Kind::Skeleton);
    let (error, text) = refused(&[path], &options);
    assert_eq!(error.class(), Class::Malformed);
    assert_eq!(
        text,
        "rings: found 1 skeletons with rings of edges, expected trees"
    );
}

#[test]
fn fragments_of_legacy_meshes_share_their_common_vertices() {
    let folder = Folder::new();
    let left = Bytes::default()
        .u32s(&[3])
        .f32s(&[0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0, 0.0]);
    let left = left.u32s(&[0, 1, 2]).0;
    // Two vertices of the first fragment, and two vertices at the same position.
    let right = Bytes::default().u32s(&[4]);
    let right = right.f32s(&[2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 2.0, 2.0, 0.0, 2.0, 2.0, 0.0]);
    let right = right.u32s(&[0, 2, 1, 3, 1, 0]).0;
    let files: [(&str, &[u8]); 4] = [
        ("info", br#"{"@type":"neuroglancer_legacy_mesh"}"#),
        ("7:0", br#"{"fragments":["7:0:a","7:0:b"]}"#),
        ("7:0:a", &left),
        ("7:0:b", &right),
    ];
    let import = open(&[folder_of(&folder, "mesh", &files)], &small());
    assert_eq!(import.spec().kind, Kind::Mesh);
    assert_eq!(
        (import.vertices(), import.objects(), import.links()),
        (5, 1, 3)
    );
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![1.5; 3]);
    let faces = [
        texts(["0.0 0.0 0.0", "2.0 0.0 0.0", "0.0 2.0 0.0"]),
        texts(["2.0 0.0 0.0", "2.0 2.0 0.0", "0.0 2.0 0.0"]),
        texts(["2.0 2.0 0.0", "0.0 2.0 0.0", "2.0 0.0 0.0"]),
    ];
    assert_eq!(sorted(ends(&got, "position")), sorted(faces.to_vec()));
    assert_eq!(folder.objects(&[7]).num_rows(), 5);
}

/// `DracoPy.encode([[0, 0, 0], [1023, 0, 0], [0, 1023, 0], [1023, 1023, 512]] as uint32, [[0, 1, 2], [2, 1, 3]])`, by edgebreaker and
/// with `preserve_order`.
const DRACO: [&str; 2] = [
    "445241434f02020101000000040200020000011fff011101ff000001000603000001010101000b03012001101b0110030030904a0008e07f0000000000ff030000",
    "445241434f0202010000000204010001020201030101000603000001000101000b03012001101b01100300a09088110000ff0300000000ff030000",
];

/// Two levels; the finest has two fragments side by side in x, and an empty one.
fn manifest(sizes: [u32; 2]) -> Vec<u8> {
    let bytes = Bytes::default()
        .f32s(&[10.0, 20.0, 30.0, 100.0, 0.0, 0.0])
        .u32s(&[2]);
    let bytes = bytes
        .f32s(&[1.0, 2.0])
        .f32s(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        .u32s(&[3, 1]);
    // x of the three fragments, y, z, then their sizes.
    let bytes = bytes
        .u32s(&[0, 1, 2, 0, 0, 0, 0, 0, 0])
        .u32s(&[sizes[0], 0, sizes[1]]);
    bytes.u32s(&[0, 0, 0]).u32s(&[4]).0
}

const MULTI: &str = r#""@type":"neuroglancer_multilod_draco","vertex_quantization_bits":10,"lod_scale_multiplier":1,
    "transform":[2,0,0,0,0,1,0,0,0,0,1,0]"#;

/// Corners in nanometres: x is twice 101 + 10 (fragment + stored / 1023), z of the last corner 30 * 512 / 1023.
fn check_multi(folder: &Folder, path: PathBuf) {
    let import = open(&[path], &small());
    assert_eq!((import.objects(), import.links()), (1, 4));
    let got = folder.store(&import, |_| {});
    let z = format!("{:?}", f64::from((30.0_f64 * (512.0 / 1023.0)) as f32));
    let mut want = Vec::new();
    for (left, right) in [("202.0", "222.0"), ("242.0", "262.0")] {
        let corners = [
            format!("{left} 0.0 0.0"),
            format!("{right} 0.0 0.0"),
            format!("{left} 20.0 0.0"),
            format!("{right} 20.0 {z}"),
        ];
        want.push(sorted(vec![
            corners[0].clone(),
            corners[1].clone(),
            corners[2].clone(),
        ]));
        want.push(sorted(vec![
            corners[2].clone(),
            corners[1].clone(),
            corners[3].clone(),
        ]));
    }
    let faces = ends(&got, "position").into_iter().map(sorted);
    assert_eq!(sorted(faces.collect()), sorted(want));
}

/// A folder `files` with the multi-resolution mesh 12.
fn multi_in_files(folder: &Folder, manifest: &[u8], data: &[u8]) -> PathBuf {
    let info = format!("{{{MULTI}}}");
    let files: [(&str, &[u8]); 3] = [
        ("info", info.as_bytes()),
        ("12.index", manifest),
        ("12", data),
    ];
    folder_of(folder, "files", &files)
}

#[test]
fn the_finest_level_of_draco_meshes_in_files_and_shards() {
    let fragments = DRACO.map(hex);
    let manifest = manifest([fragments[0].len() as u32, fragments[1].len() as u32]);
    let data = [&fragments[0][..], &fragments[1], b"0000"].concat();
    let folder = Folder::new();
    check_multi(&folder, multi_in_files(&folder, &manifest, &data));
    let info = format!("{{{MULTI},\"sharding\":{}}}", sharding(false));
    let bytes = shard(&[(12, &data, &manifest)], false);
    let files: [(&str, &[u8]); 2] = [("info", info.as_bytes()), ("0.shard", &bytes)];
    check_multi(&folder, folder_of(&folder, "shards", &files));
}

#[test]
fn positions_beyond_the_grid_of_a_fragment_are_refused() {
    // `DracoPy.encode([[0, 0, 0], [2048, 0, 0], [0, 1023, 0]] as uint32, [[0, 1, 2]])`.
    let fragment = hex(
        "445241434f020201010000000301000100000107ff011101ff000001000603000001000101000c03551523ad2a030470811180ff010080fe03000000000000080000",
    );
    let manifest = manifest([fragment.len() as u32, 0]);
    let data = [&fragment[..], b"0000"].concat();
    let folder = Folder::new();
    let path = multi_in_files(&folder, &manifest, &data);
    let (error, text) = refused(&[path], &small());
    assert_eq!(error.class(), Class::Malformed);
    assert_eq!(
        text,
        "files/12, byte 0: found the position 2048 in a fragment, expected 0 to 1023, by vertex_quantization_bits"
    );
}

const POINTS: &str = r#"{"@type":"neuroglancer_annotations_v1","dimensions":{"x":[4e-9,"m"],"y":[4e-9,"m"],"t":[0.001,"s"]},
    "lower_bound":[0,0,0],"upper_bound":[10,10,10],"annotation_type":"POINT",
    "properties":[{"id":"colour","type":"rgb"},{"id":"kind","type":"uint16","enum_values":[1,2],"enum_labels":["axon","soma"]},
        {"id":"score","type":"float32","description":"of the detector"}],
    "relationships":[REL],"by_id":{"key":"by_id"},"spatial":[{"key":"s0","grid_shape":[1,1,1],"chunk_size":[10,10,10],"limit":1},
    {"key":"s1","grid_shape":[2,1,1],"chunk_size":[5,10,10],"limit":2}]}"#;

/// The bytes of x, score, kind and colour; then the padding.
fn point(x: f32, score: f32, kind: u16) -> Vec<u8> {
    let bytes = Bytes::default().f32s(&[x, 2.0, 3.0, score]);
    bytes.raw(&kind.to_le_bytes()).raw(&[10, 20, 30, 0, 0, 0]).0
}

fn list(annotations: &[Vec<u8>], ids: &[u64]) -> Vec<u8> {
    let bytes = Bytes::default().u64s(&[ids.len() as u64]);
    bytes.raw(&annotations.concat()).u64s(ids).0
}

#[test]
fn points_of_a_spatial_index() {
    let folder = Folder::new();
    let info = POINTS.replace("REL", "");
    let coarse = list(&[point(1.0, 0.5, 1)], &[u64::MAX]);
    let fine = list(&[point(6.0, -0.5, 2), point(7.0, 1.5, 9)], &[4, 5]);
    let files: [(&str, &[u8]); 3] = [
        ("info", info.as_bytes()),
        ("s0/0_0_0", &coarse),
        ("s1/1_0_0", &fine),
    ];
    let import = open(&[folder_of(&folder, "points", &files)], &small());
    assert_eq!(import.spec().kind, Kind::PointCloud);
    let axes = import.spec().axes.iter();
    let axes: Vec<_> = axes
        .map(|axis| (axis.name.as_str(), axis.unit.as_deref()))
        .collect();
    let nanometers = Some("nanometer");
    assert_eq!(
        axes,
        [
            ("t", Some("millisecond")),
            ("x", nanometers),
            ("y", nanometers)
        ]
    );
    let got = folder.store(&import, |_| {});
    let columns = ["annotation_id", "position", "score", "kind", "colour"];
    let want = [
        texts([
            "18446744073709551615",
            "3.0 4.0 8.0",
            "0.5",
            "axon",
            "10 20 30",
        ]),
        texts(["4", "3.0 24.0 8.0", "-0.5", "soma", "10 20 30"]),
        texts(["5", "3.0 28.0 8.0", "1.5", "9", "10 20 30"]),
    ];
    assert_eq!(rows(&got.vertices, &columns), sorted(want.to_vec()));
    assert!(got.objects.is_none());
}

#[test]
fn labels_of_floats_are_found_although_json_has_more_digits() {
    let folder = Folder::new();
    let labels = r#""type":"float32","enum_values":[0.1,0],"enum_labels":["tenth","none"]"#;
    let info = POINTS
        .replace("REL", "")
        .replace(r#""type":"float32""#, labels);
    let cell = list(
        &[point(1.0, 0.1, 1), point(2.0, -0.0, 1), point(3.0, 0.5, 1)],
        &[4, 5, 6],
    );
    let files: [(&str, &[u8]); 2] = [("info", info.as_bytes()), ("s0/0_0_0", &cell)];
    let import = open(&[folder_of(&folder, "points", &files)], &small());
    let got = folder.store(&import, |_| {});
    let want = [
        texts(["4", "tenth"]),
        texts(["5", "none"]),
        texts(["6", "0.5"]),
    ];
    assert_eq!(rows(&got.vertices, &["annotation_id", "score"]), want);
}

#[test]
fn points_by_id_belong_to_the_objects_of_their_relationship() {
    let folder = Folder::new();
    let info = POINTS.replace(
        "REL",
        r#"{"id":"object","key":"by_object"},{"id":"partners","key":"by_partners"}"#,
    );
    let by_id = |x: f32, object: u64, partners: &[u64]| {
        let bytes = Bytes(point(x, 0.0, 1)).u32s(&[1]).u64s(&[object]);
        bytes.u32s(&[partners.len() as u32]).u64s(partners).0
    };
    let files: [(&str, &[u8]); 4] = [
        ("info", info.as_bytes()),
        ("by_id/1", &by_id(1.0, 70, &[])),
        ("by_id/2", &by_id(2.0, 71, &[8, 9])),
        ("by_id/3", &by_id(3.0, 70, &[5])),
    ];
    let path = folder_of(&folder, "points", &files);
    let import = open(std::slice::from_ref(&path), &small());
    assert_eq!((import.vertices(), import.objects()), (3, 2));
    let got = folder.store(&import, |_| {});
    let want = [
        texts(["1", "0 0"]),
        texts(["2", "8 9"]),
        texts(["3", "5 0"]),
    ];
    let columns = ["annotation_id", "partners"];
    assert_eq!(rows(&got.vertices, &columns), want);
    let of_70 = column(&folder.objects(&[70]), "annotation_id");
    assert_eq!(sorted(of_70), ["1", "3"]);
    let mut options = Options::default();
    options.object_column = Some("partners".into());
    assert_eq!(refused(&[path], &options).0.class(), Class::Misuse);
}

fn line_info(kind: &str, sharding: &str) -> String {
    format!(
        r#"{{"@type":"neuroglancer_annotations_v1","dimensions":{{"x":[1e-6,"m"],"y":[1e-6,"m"]}},"lower_bound":[0,0],
            "upper_bound":[9,9],"annotation_type":"{kind}","properties":[{{"id":"label","type":"uint8","enum_values":[0],"enum_labels":["a"]}}],
            "relationships":[],"by_id":{{"key":"by_id","sharding":{sharding}}},
            "spatial":[{{"key":"s0","grid_shape":[2,1],"chunk_size":[5,9],"limit":1}}]}}"#
    )
}

#[test]
fn lines_by_id_in_a_shard_and_polylines_of_cells() {
    let folder = Folder::new();
    let line = |x: f32, label: u8| {
        Bytes::default()
            .f32s(&[x, 0.0, x, 1.0])
            .raw(&[label, 0, 0, 0])
            .0
    };
    let info = line_info("LINE", &sharding(true));
    let bytes = shard(&[(3, &[], &line(3.0, 0)), (8, &[], &line(8.0, 7))], true);
    let files: [(&str, &[u8]); 2] = [("info", info.as_bytes()), ("by_id/0.shard", &bytes)];
    let import = open(&[folder_of(&folder, "lines", &files)], &small());
    assert_eq!(
        (import.spec().kind, import.vertices(), import.objects()),
        (Kind::Line, 4, 2)
    );
    let got = folder.store(&import, |_| {});
    let unit = |batch: &str| texts([batch]);
    let position = rows(&got.vertices, &["position"]);
    assert_eq!(
        position,
        ["3.0 0.0", "3.0 1.0", "8.0 0.0", "8.0 1.0"].map(unit)
    );
    let objects = rows(&folder.listed(), &["object_id", "label"]);
    assert_eq!(objects, [texts(["3", "a"]), texts(["8", "7"])]);

    // The second polyline is in both cells.
    let polyline = |xs: &[f32]| {
        let points = xs.iter().flat_map(|x| [*x, 2.0]).collect::<Vec<_>>();
        let bytes = Bytes::default().u32s(&[xs.len() as u32]).f32s(&points);
        bytes.raw(&[0, 0, 0, 0]).0
    };
    let (a, b) = (polyline(&[1.0, 2.0]), polyline(&[4.0, 6.0, 7.0]));
    let info = line_info("POLYLINE", "null");
    let files: [(&str, &[u8]); 3] = [
        ("info", info.as_bytes()),
        ("s0/0_0", &list(&[a, b.clone()], &[1, 2])),
        ("s0/1_0", &list(&[b], &[2])),
    ];
    let import = open(&[folder_of(&folder, "polylines", &files)], &small());
    assert_eq!(
        (import.spec().kind, import.vertices(), import.objects()),
        (Kind::Polyline, 5, 2)
    );
    folder.store(&import, |_| {});
    let second = folder.objects(&[2]);
    assert_eq!(
        column(&second, "position"),
        ["4.0 2.0", "6.0 2.0", "7.0 2.0"]
    );
}

/// The error for a folder of skeletons with this `info` and this file.
fn said(info: &str, file: &str, bytes: &[u8]) -> String {
    let folder = Folder::new();
    let path = folder_of(&folder, "s", &[("info", info.as_bytes()), (file, bytes)]);
    refused(&[path], &Options::default()).1
}

#[test]
fn what_is_wrong_is_named_by_file_and_byte() {
    let info = r#"{"@type":"neuroglancer_skeletons"}"#;
    let head = Bytes::default().u32s(&[2, 1]).f32s(&[0.0; 6]);
    let cases: [(Vec<u8>, &str); 5] = [
        (vec![1, 0], "s/4: byte"),
        (
            head.clone().0,
            "s/4, byte 32: found the end after 0 bytes, expected ends of edges: 2 of 4 bytes",
        ),
        (
            head.clone().u32s(&[0, 2]).0,
            "s/4, byte 36: found vertex 2, expected ends of edges: one of the 2 vertices, from 0",
        ),
        (
            head.u32s(&[0, 1, 5]).0,
            "s/4, byte 40: found 4 more bytes, expected the end of the object",
        ),
        (
            Bytes::default().u32s(&[1, 0]).f32s(&[0.0, f32::NAN, 0.0]).0,
            "s/4, byte 12: found NaN, expected positions of vertices, finite numbers",
        ),
    ];
    for (bytes, want) in &cases[1..] {
        assert_eq!(said(info, "4", bytes), *want);
    }
    let short = said(info, "4", &cases[0].0);
    assert_eq!(
        short,
        "s/4, byte 0: found the end after 2 bytes, expected a number of vertices: 4 bytes"
    );
    let large = said(info, "18446744073709551615", &cell()[..20]);
    assert!(
        large.ends_with(
            "found the id 18446744073709551615, expected an id below 2^63, as in stores"
        ),
        "{large}"
    );
    let volume = said(r#"{"type":"segmentation","mesh":"mesh"}"#, "x", b"");
    assert!(
        volume
            .starts_with("s/info: found a volume: its mesh are in \"mesh\", expected a folder of"),
        "{volume}"
    );
    let boxes = line_info("AXIS_ALIGNED_BOUNDING_BOX", "null");
    let boxes = said(&boxes, "x", b"");
    assert!(
        boxes.ends_with("expected POINT, LINE or POLYLINE"),
        "{boxes}"
    );
    let outside = r#"{"@type":"neuroglancer_skeletons","segment_properties":"../props"}"#;
    let outside = said(outside, "4", &cell()[..20]);
    assert_eq!(
        outside,
        "s/info: found \"../props\", expected a name below the folder of the document"
    );
    let unclear = r#"{"@type":"neuroglancer_skeletons","sharding":{"@type":"neuroglancer_uint64_sharded_v1","minishard_bits":1}}"#;
    assert_eq!(
        said(unclear, "0.shard", &[]),
        "s/info: found the hash \"\", expected identity or murmurhash3_x86_128"
    );
    let shards = format!(
        r#"{{"@type":"neuroglancer_skeletons","sharding":{}}}"#,
        sharding(false)
    );
    let beyond = Bytes::default().u64s(&[0, 0, 0, 900]).0;
    let beyond = said(&shards, "0.shard", &beyond);
    assert_eq!(
        beyond,
        "s/0.shard, byte 16: found a minishard index from Some(32) to 900, expected a range of the file that no other part uses"
    );
    let mut options = Options::default();
    options.unit = Some("8nm".into());
    let folder = Folder::new();
    let path = folder_of(
        &folder,
        "s",
        &[("info", info.as_bytes()), ("4", &cell()[..20])],
    );
    let (error, _) = refused(std::slice::from_ref(&path), &options);
    assert_eq!(error.class(), Class::Misuse);
    options.unit = None;
    options.limits.held = 0;
    assert_eq!(refused(&[path], &options).0.class(), Class::Limit);
}

/// Reads any folder: opening may fail, but a folder that was opened can be read.
fn survive(files: &[(&str, &[u8])]) {
    let folder = Folder::new();
    let mut options = Options::default();
    (options.batch, options.limits.held) = (2, 1 << 12);
    if let Ok(import) = Import::open(&[folder_of(&folder, "p", files)], &options) {
        broken::read(&import).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn cut_and_changed_folders_are_read_or_refused(which in 0_usize..8, cut: prop::sample::Index, byte: u8, at: prop::sample::Index) {
        let draco = DRACO.map(hex);
        let data = [&draco[0][..], &draco[1]].concat();
        let index = manifest([draco[0].len() as u32, draco[1].len() as u32]);
        let mesh = Bytes::default().u32s(&[3]).f32s(&[1.0; 9]).u32s(&[0, 1, 2]).0;
        let lines = line_info("POLYLINE", "null");
        let polyline = Bytes::default().u32s(&[1]).f32s(&[1.0, 2.0]).raw(&[0; 4]).0;
        // The last file is damaged.
        let files: Vec<(&str, Vec<u8>)> = match which {
            0 => vec![("info", skeleton_info("null").into()), ("props/info", PROPS.into()), ("17", neuron())],
            1 => vec![("17", neuron()), ("props/info", PROPS.into()), ("info", skeleton_info("null").into())],
            2 => vec![("17", neuron()), ("info", skeleton_info("null").into()), ("props/info", PROPS.into())],
            3 => vec![("info", skeleton_info(&sharding(byte & 1 == 0)).into()), ("props/info", PROPS.into()),
                ("0.shard", shard(&[(9, &[], &cell()), (17, &[], &neuron())], byte & 1 == 0))],
            4 => vec![("info", format!("{{{MULTI}}}").into()), ("12.index", index), ("12", data)],
            5 => vec![("info", format!("{{{MULTI}}}").into()), ("12", data), ("12.index", index)],
            6 => vec![("info", br#"{"@type":"neuroglancer_legacy_mesh"}"#.to_vec()), ("7:0", br#"{"fragments":["a"]}"#.to_vec()), ("a", mesh)],
            _ => vec![("info", lines.into()), ("s0/0_0", list(&[polyline], &[2]))],
        };
        let borrowed = |files: &[(&'static str, Vec<u8>)]| survive(&files.iter().map(|(name, bytes)| (*name, &bytes[..])).collect::<Vec<_>>());
        let mut short = files.clone();
        let last = short.last_mut().unwrap();
        let length = cut.index(last.1.len());
        last.1.truncate(length);
        borrowed(&short);
        let mut changed = files;
        let last = changed.last_mut().unwrap();
        let place = at.index(last.1.len());
        last.1[place] = byte;
        borrowed(&changed);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let plain = skeleton_info("null");
        survive(&[("info", plain.as_bytes()), ("props/info", PROPS.as_bytes()), ("1", &bytes)]);
        let packed = skeleton_info(&sharding(true));
        survive(&[("info", packed.as_bytes()), ("props/info", PROPS.as_bytes()), ("0.shard", &bytes)]);
        let multi = format!("{{{MULTI}}}");
        survive(&[("info", multi.as_bytes()), ("1.index", &bytes), ("1", &bytes)]);
        let points = POINTS.replace("REL", "");
        survive(&[("info", points.as_bytes()), ("s0/0_0_0", &bytes)]);
        survive(&[("info", &bytes)]);
    }
}
