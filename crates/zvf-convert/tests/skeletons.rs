//! SWC.

use zvf_convert::{Format, Options};
use zvf_write::{Kind, NumberType};

use crate::support::{Folder, column, ends, open, rows, small, sorted, texts};

/// Nodes of one tree: id, type, x, y, z, radius, parent. A parent may follow its children.
const NODES: [(i64, i32, [f64; 3], f64, i64); 7] = [
    (10, 1, [0.5, 1.0, -2.0], 3.5, -1),
    (12, 3, [4.0, 1.0, -2.0], 1.25, 11),
    (11, 3, [2.0, 1.0, -2.0], 2.5, 10),
    (20, 3, [14.0, 1.5, 8.0], 0.75, 12),
    (21, 6, [24.0, -1.5, 8.0], 0.5, 20),
    (22, 6, [14.0, 9.5, 8.0], 0.5, 20),
    (30, 2, [-7.0, -9.0, 0.0], 0.25, -1),
];

fn text() -> String {
    let mut text = "# made here\n\n".to_owned();
    for (id, label, [x, y, z], radius, parent) in NODES {
        text.push_str(&format!(
            "{id} {label} {x} {y}\t{z} {radius} {parent}   # a node\r\n"
        ));
    }
    text
}

#[test]
fn nodes_edges_and_attributes_are_those_of_the_file() {
    let folder = Folder::new();
    let file = folder.file("4711.swc", text());
    let import = open(&[file], &small());
    assert_eq!(import.format(), Format::Swc);
    assert_eq!(
        (import.vertices(), import.objects(), import.links()),
        (7, 1, 5)
    );
    assert_eq!(
        import.corners(),
        (&[-7.0, -9.0, -2.0][..], &[24.0, 9.5, 8.0][..])
    );
    assert_eq!(import.spec().kind, Kind::Skeleton);
    assert_eq!(import.spec().positions, NumberType::F32);
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![10.0; 3]);
    let want = NODES.iter().map(|(id, label, [x, y, z], radius, _)| {
        texts([
            &id.to_string(),
            &format!("{x:?} {y:?} {z:?}"),
            &format!("{radius:?}"),
            &label.to_string(),
        ])
    });
    assert_eq!(
        rows(&got.vertices, &["node_id", "position", "radius", "type"]),
        sorted(want.collect())
    );
    let edges = NODES.iter().filter(|node| node.4 != -1);
    let edges = edges.map(|node| texts([&node.0.to_string(), &node.4.to_string()]));
    assert_eq!(sorted(ends(&got, "node_id")), sorted(edges.collect()));
    let objects = got.objects.unwrap();
    assert_eq!(column(&objects, "object_id"), ["4711"]);
    assert_eq!(column(&objects, "name"), ["4711"]);
}

#[test]
fn several_files_are_several_objects() {
    let folder = Folder::new();
    let files = [
        folder.file("b.swc", text()),
        folder.file("a.swc", "1 0 0.125 0 0 1 -1\n"),
    ];
    let import = open(&files, &small());
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![10.0; 3]);
    let objects = got.objects.unwrap();
    assert_eq!(column(&objects, "object_id"), ["0", "1"]);
    assert_eq!(column(&objects, "name"), ["b", "a"]);
    assert_eq!(column(&folder.objects(&[1]), "position"), ["0.125 0.0 0.0"]);
    assert_eq!(folder.objects(&[0]).num_rows(), NODES.len());
}

#[test]
fn as_a_graph_every_edge_is_stored() {
    let folder = Folder::new();
    let file = folder.file("a.swc", text());
    let mut options = Options::default();
    options.kind = Some(Kind::Graph);
    let import = open(&[file], &options);
    let got = folder.store(&import, |spec| spec.chunk_shape = vec![5.0; 3]);
    let edges = NODES.iter().filter(|node| node.4 != -1);
    let edges = edges.map(|node| texts([&node.0.to_string(), &node.4.to_string()]));
    assert_eq!(sorted(ends(&got, "node_id")), sorted(edges.collect()));
}

#[test]
fn numbers_that_float32_cannot_hold_stay_whole() {
    let folder = Folder::new();
    let file = folder.file("a.swc", "1 0 16777217 0 0 0.5 -1\n");
    let import = open(&[file], &small());
    assert_eq!(import.spec().positions, NumberType::F64);
    let got = folder.store(&import, |_| {});
    assert_eq!(column(&got.vertices, "position"), ["16777217.0 0.0 0.0"]);
}
