//! Regions of mesh files, compared with the input vertices and faces.

use std::fmt::Write as _;

use zvf_convert::mesh_region;
use zvf_query::Region;

/// Cells of a face of a cube along each edge: an import reads its vertices in two batches.
const CELLS: u32 = 110;

#[test]
fn faces_of_a_second_batch_have_their_vertices() {
    let (mut vertices, mut quads) = (Vec::new(), Vec::new());
    for axis in 0..3 {
        for side in [0, CELLS] {
            let first = u32::try_from(vertices.len()).unwrap();
            for u in 0..=CELLS {
                for v in 0..=CELLS {
                    let mut corner = [f64::from(side), f64::from(u), f64::from(v)];
                    corner.rotate_right(axis);
                    vertices.push(corner);
                }
            }
            let at = |u: u32, v: u32| first + u * (CELLS + 1) + v;
            for u in 0..CELLS {
                for v in 0..CELLS {
                    quads.push([at(u, v), at(u + 1, v), at(u + 1, v + 1), at(u, v + 1)]);
                }
            }
        }
    }
    assert!(vertices.len() > 1 << 16);
    let mut text = String::new();
    for [x, y, z] in &vertices {
        writeln!(text, "v {x} {y} {z}").unwrap();
    }
    for [a, b, c, d] in &quads {
        writeln!(text, "f {} {} {} {}", a + 1, b + 1, c + 1, d + 1).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cube.obj");
    std::fs::write(&file, text).unwrap();
    let cut = quads
        .iter()
        .flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]);
    let triangles: Vec<[u32; 3]> = cut.collect();
    assert_eq!(
        mesh_region(&file).unwrap(),
        Region::mesh(&vertices, &triangles).unwrap()
    );
}
