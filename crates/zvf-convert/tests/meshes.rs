//! OBJ, STL, and headers of PLY.

use zvf_convert::export::ExportOptions;
use zvf_store::Class;
use zvf_write::{Kind, NumberType};

use crate::parse;
use crate::support::{Folder, Got, column, ends, open, refused, rows, small, sorted, texts};

/// Faces as cycles that begin at their smallest corner: the winding matters, the first corner does not.
fn cycles(got: &Got) -> Vec<Vec<String>> {
    sorted(ends(got, "position").into_iter().map(turned).collect())
}

fn turned(mut face: Vec<String>) -> Vec<String> {
    let least = (0..face.len()).min_by_key(|&at| face[at].clone()).unwrap();
    face.rotate_left(least);
    face
}

fn wanted(positions: &[[f64; 3]], faces: &[&[usize]]) -> Vec<Vec<String>> {
    let name = |&at: &usize| {
        let [x, y, z] = positions[at];
        format!("{x:?} {y:?} {z:?}")
    };
    sorted(
        faces
            .iter()
            .map(|face| turned(face.iter().map(name).collect()))
            .collect(),
    )
}

const CORNERS: [[f64; 3]; 6] = [
    [0.0, 0.0, 0.0],
    [12.0, 0.0, 0.0],
    [12.0, 12.0, 0.5],
    [0.0, 12.0, -0.5],
    [24.0, 0.0, 0.25],
    [24.0, 12.0, 0.25],
];

fn corners() -> String {
    CORNERS
        .iter()
        .map(|[x, y, z]| format!("v {x} {y} {z}\n"))
        .collect()
}

#[test]
fn triangles_keep_their_winding() {
    let folder = Folder::new();
    // All ways to write a corner; the first face is before its vertices.
    let text = format!(
        "# made\no thing\nf 1 2 3\n{}vn 0 0 1\nf 1//1 3//1 4/2/1\nf -5/1 -2 -4\n",
        corners()
    );
    let import = open(&[folder.file("a.obj", text)], &small());
    assert_eq!((import.vertices(), import.links()), (6, 3));
    assert_eq!(
        import.notes(),
        [
            "the file is object 0",
            "names of objects are not kept",
            "normals are not kept"
        ]
    );
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![10.0; 3]);
    assert_eq!(got.vertices.num_rows(), 6);
    assert_eq!(
        cycles(&got),
        wanted(&CORNERS, &[&[0, 1, 2], &[0, 2, 3], &[1, 4, 2]])
    );
    assert_eq!(column(&got.objects.unwrap(), "name"), ["a"]);
}

#[test]
fn quads_stay_quads_alone_and_are_cut_beside_others() {
    let folder = Folder::new();
    let quads = format!("{}f 1 2 3 4\nf 2 5 6 3\n", corners());
    let import = open(&[folder.file("a.obj", &quads)], &small());
    assert_eq!((import.spec().links.width, import.links()), (4, 2));
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![10.0; 3]);
    assert_eq!(
        cycles(&got),
        wanted(&CORNERS, &[&[0, 1, 2, 3], &[1, 4, 5, 2]])
    );

    let mixed = format!("{quads}f 1 2 5\nf 1 2 5 6 3\n");
    let import = open(&[folder.file("a.obj", mixed)], &small());
    assert_eq!((import.spec().links.width, import.links()), (3, 8));
    assert!(import.notes()[1].starts_with("3 faces of four or more corners beside 1 triangles"));
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![10.0; 3]);
    let faces: [&[usize]; 8] = [
        &[0, 1, 2],
        &[0, 2, 3],
        &[1, 4, 5],
        &[1, 5, 2],
        &[0, 1, 4],
        &[0, 1, 4],
        &[0, 4, 5],
        &[0, 5, 2],
    ];
    assert_eq!(cycles(&got), wanted(&CORNERS, &faces));
}

#[test]
fn several_files_keep_their_own_faces_and_colours() {
    let folder = Folder::new();
    let text = |at: f64| {
        format!(
            "v {at} 0 0 1 0 0.5\nv {at} 1 0 0 1 0\nv {at} 0 1 0 0 1\nv {at} 1 1 0 0 1\nf 1 2 3\nf 2 4 3\n"
        )
    };
    let files = [
        folder.file("7.obj", text(1.0)),
        folder.file("5.obj", text(21.0)),
    ];
    let import = open(&files, &small());
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![10.0; 3]);
    let mut want = Vec::new();
    let mut faces = Vec::new();
    for at in ["1.0", "21.0"] {
        let p = |y: &str, z: &str| format!("{at} {y} {z}");
        let [a, b, c, d] = [
            p("0.0", "0.0"),
            p("1.0", "0.0"),
            p("0.0", "1.0"),
            p("1.0", "1.0"),
        ];
        want.push(texts([&a, "1.0 0.0 0.5"]));
        want.push(texts([&b, "0.0 1.0 0.0"]));
        want.push(texts([&c, "0.0 0.0 1.0"]));
        want.push(texts([&d, "0.0 0.0 1.0"]));
        faces.push(turned(vec![a, b.clone(), c.clone()]));
        faces.push(turned(vec![b, d, c]));
    }
    assert_eq!(rows(&got.vertices, &["position", "color"]), sorted(want));
    assert_eq!(cycles(&got), sorted(faces));
    assert_eq!(column(&got.objects.unwrap(), "object_id"), ["5", "7"]);
    assert_eq!(import.spec().vertex_attributes[0].channels, 3);
    assert_eq!(import.spec().positions, NumberType::F32);
    let seven = column(&folder.objects(&[7]), "position");
    assert!(seven.len() == 4 && seven.iter().all(|position| position.starts_with("1.0 ")));
}

/// Triangles by their corners.
const SOLID: [[[f64; 3]; 3]; 4] = [
    [CORNERS[0], CORNERS[1], CORNERS[2]],
    [CORNERS[0], CORNERS[2], CORNERS[3]],
    [CORNERS[1], CORNERS[4], CORNERS[5]],
    [CORNERS[1], CORNERS[5], CORNERS[2]],
];

pub(crate) fn stl_text() -> String {
    let mut text = "solid made here\n".to_owned();
    for (at, corners) in SOLID.iter().enumerate() {
        if at == 2 {
            text.push_str("endsolid\n\nsolid two\n");
        }
        text.push_str("  facet normal 0 0 1\n    outer loop\n");
        for [x, y, z] in corners {
            text.push_str(&format!("      VERTEX {x:e} {y} {z}\r\n"));
        }
        text.push_str("    endloop\n  endfacet\n");
    }
    text.push_str("endsolid two\n");
    text
}

pub(crate) fn stl_binary() -> Vec<u8> {
    // Headers of binary files may begin like text files.
    let mut bytes = b"solid but binary".to_vec();
    bytes.resize(80, 0);
    bytes.extend(4_u32.to_le_bytes());
    for corners in SOLID {
        bytes.extend([0; 12]);
        for value in corners.as_flattened() {
            #[expect(clippy::cast_possible_truncation, reason = "the values are small")]
            bytes.extend((*value as f32).to_le_bytes());
        }
        bytes.extend([0, 0]);
    }
    bytes
}

#[test]
fn corners_of_stl_at_one_place_are_one_vertex() {
    let mut minus_zero = stl_binary();
    // Negates the first zero of the second triangle.
    minus_zero[84 + 50 + 12 + 3] = 0x80;
    for bytes in [stl_text().into_bytes(), stl_binary(), minus_zero] {
        let folder = Folder::new();
        let files = [
            folder.file("a.stl", &bytes),
            folder.file("b.STL", stl_text()),
        ];
        let import = open(&files, &small());
        assert_eq!(
            (import.vertices(), import.objects(), import.links()),
            (12, 2, 8)
        );
        let got = folder.store(&import, |spec| spec.chunk_shape = vec![10.0; 3]);
        let faces: [&[usize]; 4] = [&[0, 1, 2], &[0, 2, 3], &[1, 4, 5], &[1, 5, 2]];
        let want = wanted(&CORNERS, &faces);
        assert_eq!(cycles(&got), sorted([&want[..], &want[..]].concat()));
        let mut positions = sorted(column(&folder.objects(&[0]), "position"));
        positions.dedup();
        assert_eq!(positions.len(), CORNERS.len());
        assert_eq!(folder.objects(&[1]).num_rows(), CORNERS.len());
    }
}

/// The number of corners is determined in the first pass: later faces with another number are an error, and are not left out.
#[test]
fn faces_that_changed_their_corners_are_refused() {
    let folder = Folder::new();
    let file = |faces: &[&str]| {
        let header = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n";
        let list =
            "property list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n";
        let count = faces.len();
        let faces: String = faces.iter().map(|face| format!("{face}\n")).collect();
        format!("{header}element face {count}\n{list}{faces}")
    };
    let path = folder.file("a.ply", file(&["4 0 1 2 3"]));
    let import = open(&[path], &small());
    assert_eq!(import.links(), 1);
    folder.file("a.ply", file(&["3 0 1 2"]));
    let told = folder.fails(&import).to_string();
    assert!(
        told.contains("a link of 3 ends") && told.contains("expected 4"),
        "{told}"
    );
}

#[test]
fn ply_edges_begin_at_vertex1_whatever_the_order_of_the_properties() {
    let text = |first: u8, second: u8, edges: &str| {
        format!(
            "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement edge 2\n\
             property int vertex{first}\nproperty int vertex{second}\nend_header\n0 0 0\n1 0 0\n0 1 0\n{edges}"
        )
    };
    let exported = |text: String| {
        let folder = Folder::new();
        let mut options = small();
        options.kind = Some(Kind::Graph);
        let import = open(&[folder.file("a.ply", text)], &options);
        folder.store(&import, |spec| spec.links.directed = true);
        let (out, _) = folder.export("o.ply", &ExportOptions::default());
        parse::ply(&std::fs::read(out).unwrap()).1
    };
    let edges = exported(text(1, 2, "2 0\n0 1\n"));
    assert_eq!(exported(text(2, 1, "0 2\n1 0\n")), edges);
    assert_ne!(exported(text(2, 1, "2 0\n0 1\n")), edges);
}

#[test]
fn too_many_elements_or_properties_of_a_ply_are_a_limit() {
    let folder = Folder::new();
    let elements: String = (0..4097).map(|at| format!("element e{at} 0\n")).collect();
    let properties: String = (0..4097)
        .map(|at| format!("property float p{at}\n"))
        .collect();
    for (lines, what) in [
        (elements, "more than 4096 elements"),
        (
            format!("element vertex 1\n{properties}"),
            "more than 4096 properties of an element",
        ),
    ] {
        let text = format!("ply\nformat ascii 1.0\n{lines}end_header\n");
        let (error, text) = refused(&[folder.file("a.ply", text)], &small());
        assert_eq!(error.class(), Class::Limit);
        assert!(text.contains(what), "{text}");
    }
}
