//! Reads the files with a parser that follows the documentation of the format; the crate `zvf-convert` has another reader, see `tests/export.rs`.

use draco_check::triangles;

use super::*;

/// Reads a fragment with the Draco decoder of the importer's crate.
mod draco_check {
    use draco_core::{DecoderBuffer, GeometryAttributeType, Mesh, MeshDecoder};

    pub(super) fn triangles(bytes: &[u8]) -> Vec<[[u32; 3]; 3]> {
        let mut mesh = Mesh::new();
        let mut buffer = DecoderBuffer::new(bytes);
        MeshDecoder::new().decode(&mut buffer, &mut mesh).unwrap();
        let attribute = mesh
            .named_attribute(GeometryAttributeType::Position)
            .unwrap();
        let floats = attribute.read_f32s(mesh.num_points(), 3);
        let place = |corner: u32| {
            let at = corner as usize * 3;
            [
                floats[at] as u32,
                floats[at + 1] as u32,
                floats[at + 2] as u32,
            ]
        };
        let faces = mesh.faces().iter();
        faces
            .map(|face| face.map(|corner| place(corner.0)))
            .collect()
    }
}

/// Three corners in whole coordinates.
type Whole = [[u32; 3]; 3];

struct Read {
    shape: [f64; 3],
    origin: [f64; 3],
    scales: Vec<f32>,
    /// By level: places and triangles in whole coordinates.
    levels: Vec<Vec<([u32; 3], Vec<Whole>)>>,
}

fn read(mesh: &MultiLodMesh) -> Read {
    let numbers: Vec<[u8; 4]> = mesh
        .manifest
        .chunks(4)
        .map(|four| four.try_into().unwrap())
        .collect();
    let mut numbers = numbers.into_iter();
    let mut floats = |count: usize| -> Vec<f32> {
        numbers
            .by_ref()
            .take(count)
            .map(f32::from_le_bytes)
            .collect()
    };
    let shape = floats(3);
    let origin = floats(3);
    let count = floats(1)[0].to_bits() as usize;
    let scales = floats(count);
    assert!(floats(3 * count).iter().all(|offset| *offset == 0.0));
    let mut whole = |count: usize| -> Vec<u32> {
        numbers
            .by_ref()
            .take(count)
            .map(u32::from_le_bytes)
            .collect()
    };
    let counts = whole(count);
    let mut at = 0;
    let mut levels = Vec::new();
    for count in counts {
        let count = count as usize;
        let (x, y, z) = (whole(count), whole(count), whole(count));
        let sizes = whole(count);
        let mut level = Vec::new();
        for fragment in 0..count {
            let end = at + sizes[fragment] as usize;
            let found = match sizes[fragment] {
                0 => Vec::new(),
                _ => triangles(&mesh.fragments[at..end]),
            };
            level.push(([x[fragment], y[fragment], z[fragment]], found));
            at = end;
        }
        levels.push(level);
    }
    assert_eq!(at, mesh.fragments.len());
    assert!(whole(1).is_empty());
    let three = |list: &[f32]| [list[0], list[1], list[2]].map(f64::from);
    Read {
        shape: three(&shape),
        origin: three(&origin),
        scales,
        levels,
    }
}

/// A sheet with hills, of `side` by `side` squares of the size `step`.
fn sheet(side: u32, step: f64, offset: f64) -> Detail {
    let row = side + 1;
    let mut detail = Detail::default();
    for y in 0..row {
        for x in 0..row {
            let (x, y) = (f64::from(x) * step, f64::from(y) * step);
            let z = 40.0 * (x / 37.0).sin() * (y / 23.0).cos();
            detail.positions.push([x + offset, y - offset, z]);
        }
    }
    for y in 0..side {
        for x in 0..side {
            let a = y * row + x;
            detail.triangles.push([a, a + 1, a + row]);
            detail.triangles.push([a + 1, a + row + 1, a + row]);
        }
    }
    detail
}

fn area(triangle: &[[f64; 3]; 3]) -> f64 {
    let [a, b, c] = triangle;
    let side = |p: &[f64; 3]| [p[0] - a[0], p[1] - a[1], p[2] - a[2]];
    let (u, v) = (side(b), side(c));
    let cross = [
        u[1] * v[2] - u[2] * v[1],
        u[2] * v[0] - u[0] * v[2],
        u[0] * v[1] - u[1] * v[0],
    ];
    cross.iter().map(|x| x * x).sum::<f64>().sqrt() / 2.0
}

fn placed(read: &Read, level: usize) -> Vec<[[f64; 3]; 3]> {
    let times = f64::from(1 << level);
    let mut found = Vec::new();
    for (cell, triangles) in &read.levels[level] {
        for triangle in triangles {
            found.push(triangle.map(|corner| {
                let mut place = [0.0; 3];
                for axis in 0..3 {
                    let share = f64::from(corner[axis]) / 65_535.0;
                    place[axis] = read.origin[axis]
                        + read.shape[axis] * times * (f64::from(cell[axis]) + share);
                }
                place
            }));
        }
    }
    found
}

fn total(triangles: &[[[f64; 3]; 3]]) -> f64 {
    triangles.iter().map(area).sum()
}

fn of(detail: &Detail) -> Vec<[[f64; 3]; 3]> {
    let place = |corner: u32| detail.positions[corner as usize];
    detail
        .triangles
        .iter()
        .map(|corners| corners.map(place))
        .collect()
}

/// Ends of edges that do not have a triangle on both sides.
fn open_edges(triangles: &[[[f64; 3]; 3]]) -> usize {
    let mut count: BTreeMap<[[i64; 3]; 2], i32> = BTreeMap::new();
    let key = |place: &[f64; 3]| place.map(|at| (at * 1e4).round() as i64);
    for [a, b, c] in triangles {
        for (from, to) in [(a, b), (b, c), (c, a)] {
            let (from, to) = (key(from), key(to));
            if from != to {
                *count.entry([from, to]).or_default() += 1;
                *count.entry([to, from]).or_default() -= 1;
            }
        }
    }
    count.values().filter(|sides| **sides != 0).count() / 2
}

#[test]
fn levels_keep_their_surface_and_are_cut_by_the_grid() {
    let details = [
        sheet(160, 2.0, 1000.5),
        sheet(80, 4.0, 1000.5),
        sheet(20, 16.0, 1000.5),
    ];
    let mesh = multilod_mesh(&details, [32.0, 40.0, 50.0], [0.5, 0.0, -3.0]).unwrap();
    let read = read(&mesh);
    assert_eq!(read.levels.len(), 3);
    assert!(read.levels[0].len() > 1, "{}", read.levels[0].len());
    assert!(
        read.scales.windows(2).all(|pair| pair[0] < pair[1]),
        "{:?}",
        read.scales
    );
    for (number, (level, detail)) in read.levels.iter().zip(&details).enumerate() {
        let cells: Vec<GridCell> = level.iter().map(|(at, _)| GridCell::new(*at)).collect();
        assert!(cells.is_sorted());
        let found = placed(&read, number);
        let wanted = of(detail);
        assert!(found.len() >= wanted.len());
        let share = total(&found) / total(&wanted);
        assert!((share - 1.0).abs() < 1e-3, "level {number}: {share}");
        // The sheet has four sides, which the grid cuts; inside, no edge is open.
        let open = open_edges(&found);
        let most = 4 * detail.positions.len().isqrt() + 4 * 20;
        assert!(open <= most, "level {number}: {open} open edges");
        if number > 0 {
            for (_, triangles) in level {
                for triangle in triangles {
                    for axis in 0..3 {
                        let below = triangle.iter().all(|corner| corner[axis] <= 32_768);
                        let above = triangle.iter().all(|corner| corner[axis] >= 32_768);
                        assert!(below || above, "{triangle:?}");
                    }
                }
            }
            let finer: Vec<[u32; 3]> = read.levels[number - 1].iter().map(|(at, _)| *at).collect();
            for at in finer {
                let parent = at.map(|coordinate| coordinate / 2);
                assert!(level.iter().any(|(at, _)| *at == parent), "{at:?} is lost");
            }
        }
    }
}

#[test]
fn meshes_of_one_cell_keep_their_vertices() {
    let detail = sheet(10, 2.0, 0.0);
    let mesh = multilod_mesh(std::slice::from_ref(&detail), [64.0; 3], [0.0; 3]).unwrap();
    let read = read(&mesh);
    assert_eq!(read.levels.len(), 1);
    assert_eq!(read.levels[0].len(), 1);
    let step = read.shape[0] / 65_535.0;
    let round = |triangles: Vec<[[f64; 3]; 3]>| {
        let mut all: Vec<[[i64; 3]; 3]> = triangles
            .into_iter()
            .map(|corners| {
                let corners =
                    corners.map(|place| place.map(|at| (at / (step * 8.0)).round() as i64));
                let [a, b, c] = corners;
                [[a, b, c], [b, c, a], [c, a, b]].into_iter().min().unwrap()
            })
            .collect();
        all.sort_unstable();
        all
    };
    let (found, wanted) = (round(placed(&read, 0)), round(of(&detail)));
    let same = found.iter().zip(&wanted).filter(|(a, b)| a == b).count();
    assert_eq!(found.len(), wanted.len());
    // Rounding may move a number across a boundary of the coarse steps that are compared.
    assert!(same * 10 > wanted.len() * 8, "{same} of {}", wanted.len());
}

#[test]
fn triangles_across_thousands_of_cells_get_larger_cells() {
    let mut detail = Detail::default();
    for number in 0..300 {
        let at = f64::from(number) * 1e-3;
        detail
            .positions
            .extend([[at, 0.0, 0.0], [1e6, at, 1e6], [0.0, 1e6, at]]);
        detail
            .triangles
            .push([3 * number, 3 * number + 1, 3 * number + 2]);
    }
    let mesh = multilod_mesh(&[detail], [1.0; 3], [0.0; 3]).unwrap();
    let read = read(&mesh);
    let pieces: usize = read.levels[0].iter().map(|(_, list)| list.len()).sum();
    assert!(pieces < 200_000, "{pieces}");
}

#[test]
fn what_cannot_be_placed_is_an_error() {
    let mut detail = sheet(2, 1.0, 0.0);
    for (cell, wrong) in [(1.0, f64::NAN), (1.0, 1e300), (0.0, 0.0), (f64::NAN, 0.0)] {
        detail.positions[0][1] = wrong;
        let made = multilod_mesh(std::slice::from_ref(&detail), [cell; 3], [0.0; 3]);
        assert!(matches!(made, Err(MultiLodError::Place(_))), "{made:?}");
    }
    detail.positions[0][1] = 0.0;
    detail.triangles.push([0, 1, 9]);
    assert!(multilod_mesh(&[detail], [1.0; 3], [0.0; 3]).is_err());
    let empty = multilod_mesh(&[Detail::default()], [1.0; 3], [0.0; 3]).unwrap();
    assert_eq!(empty.manifest.len(), 24 + 4 + 4 + 12 + 4);
}
