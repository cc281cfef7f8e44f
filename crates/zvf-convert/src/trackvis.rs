//! The map from TrackVis millimetres (from the corner of the first voxel, along the axes of the image) to scanner RAS+ millimetres, as in
//! nibabel.

use zvf_meta::Affine;

/// An axis of a voxel grid: the scanner axis (right, front, top) nearest to it, and its sign.
type VoxelAxis = (usize, f64);

/// The voxel grid that a header states.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VoxelGrid {
    /// From voxels to scanner millimetres: three rows of four.
    pub(crate) affine: [[f64; 4]; 3],
    pub(crate) dimensions: [f64; 3],
    pub(crate) sizes: [f64; 3],
    /// Three letters of `RLAPSI`; empty if the file states none.
    pub(crate) order: String,
}

/// The affine that TRK assumes if the file states none.
pub(crate) const IDENTITY: [[f64; 4]; 3] = [
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0, 0.0],
];

/// The voxel order that TRK assumes if the file states none.
pub(crate) const ORDER: &str = "LPS";

impl VoxelGrid {
    /// The map from TrackVis millimetres to scanner millimetres.
    ///
    /// # Errors
    /// A text that describes what is wrong with the header.
    pub(crate) fn to_rasmm(&self) -> Result<Affine, String> {
        if let Some(size) = self
            .sizes
            .iter()
            .find(|size| **size == 0.0 || !size.is_finite())
        {
            return Err(format!("a voxel size of {size}"));
        }
        let voxel_to_rasmm = Affine::from_rows(&self.affine.concat(), 3)
            .map_err(|error| format!("the affine from voxels to millimetres: {error}"))?;
        // Voxel coordinates have their origin in the centre of the first voxel.
        let mut numbers = Affine::of_scale(&self.sizes.map(|size| 1.0 / size))
            .rows()
            .concat();
        for number in numbers.iter_mut().skip(3).step_by(4).take(3) {
            *number = -0.5;
        }
        let to_voxel = Affine::from_rows(&numbers, 3).map_err(|error| error.to_string())?;
        let stated = self.stated_axes()?;
        let meant = axes(&voxel_to_rasmm, &stated)?;
        let turned = turn(&stated, &meant, &self.dimensions);
        let all = voxel_to_rasmm.after(&turned.after(&to_voxel));
        // Also fails if numbers overflow.
        all.inverse().map_err(|error| error.to_string())?;
        Ok(all)
    }

    /// The axes that the header names, in its order.
    fn stated_axes(&self) -> Result<[VoxelAxis; 3], String> {
        axes_of_order(match self.order.as_str() {
            "" => ORDER,
            order => order,
        })
    }

    /// The voxel order of the affine, as letters.
    ///
    /// # Errors
    /// A text that describes what is wrong with the affine.
    pub(crate) fn order_of_affine(&self) -> Result<String, String> {
        let map = Affine::from_rows(&self.affine.concat(), 3).map_err(|error| error.to_string())?;
        let letters = axes(&map, &[(0, 1.0), (1, 1.0), (2, 1.0)])?.map(|(axis, sign)| {
            let pair = ["LR", "PA", "IS"].get(axis).copied().unwrap_or_default();
            pair.chars().nth(usize::from(sign > 0.0)).unwrap_or('?')
        });
        Ok(letters.iter().collect())
    }

    /// The dimensions in the order of the axes of the affine, which may differ from that of the header.
    ///
    /// # Errors
    /// As [`to_rasmm`](Self::to_rasmm).
    pub(crate) fn dimensions_of_affine(&self) -> Result<[f64; 3], String> {
        let stated = self.stated_axes()?;
        let map = Affine::from_rows(&self.affine.concat(), 3).map_err(|error| error.to_string())?;
        Ok(axes(&map, &stated)?.map(|(axis, _)| {
            let pairs = stated.iter().zip(self.dimensions);
            let found = pairs.filter(|((other, _), _)| *other == axis);
            found.map(|(_, dimension)| dimension).sum()
        }))
    }

    /// The lengths of the columns of an affine.
    pub(crate) fn sizes_of(affine: &[[f64; 4]; 3]) -> [f64; 3] {
        [0, 1, 2].map(|column| {
            let squares = affine
                .iter()
                .filter_map(|row| row.get(column))
                .map(|one| one * one);
            squares.sum::<f64>().sqrt()
        })
    }
}

/// The axes that three letters name.
fn axes_of_order(order: &str) -> Result<[VoxelAxis; 3], String> {
    let wrong =
        || format!("the voxel order {order:?}, which is not one letter of each pair RL, AP and SI");
    let axis = |letter: char| {
        Some(match letter.to_ascii_uppercase() {
            'R' => (0, 1.0),
            'L' => (0, -1.0),
            'A' => (1, 1.0),
            'P' => (1, -1.0),
            'S' => (2, 1.0),
            'I' => (2, -1.0),
            _ => return None,
        })
    };
    let axes: Option<Vec<VoxelAxis>> = order.chars().map(axis).collect();
    let axes: [VoxelAxis; 3] = axes
        .and_then(|axes| axes.try_into().ok())
        .ok_or_else(wrong)?;
    match (0..3).all(|wanted| axes.iter().any(|(axis, _)| *axis == wanted)) {
        true => Ok(axes),
        false => Err(wrong()),
    }
}

/// Components of an axis whose sizes differ by less count as equal; the order in the header then decides.
const TIE: f64 = 1e-6;

/// The scanner axis of each voxel axis, from the rotation that is nearest to the affine.
fn axes(map: &Affine, stated: &[VoxelAxis; 3]) -> Result<[VoxelAxis; 3], String> {
    let flat = || "an affine without an inverse: its axes lie in one plane".to_owned();
    let mut turn = rotation(map).ok_or_else(flat)?;
    let column = |turn: &[[f64; 3]; 3], at: usize| {
        [0, 1, 2].map(|row: usize| {
            turn.get(row)
                .and_then(|row| row.get(at))
                .copied()
                .unwrap_or(0.0)
        })
    };
    // The axis with the largest component first.
    let mut order = [0, 1, 2];
    let largest = |at: usize| {
        column(&turn, at)
            .iter()
            .fold(0.0_f64, |most, one| most.max(one.abs()))
    };
    let clear = [0, 1, 2].map(largest);
    let clear = |at: usize| clear.get(at).copied().unwrap_or(0.0);
    order.sort_by(|&a, &b| match (clear(a) - clear(b)).abs() < TIE {
        true => std::cmp::Ordering::Equal,
        false => clear(b).total_cmp(&clear(a)),
    });
    let mut axes = [(0, 1.0); 3];
    for at in order {
        let shares = column(&turn, at);
        let most = shares.iter().fold(0.0_f64, |most, one| most.max(one.abs()));
        let preferred = stated.get(at).map(|(axis, _)| *axis);
        let near = |axis: &usize| shares.get(*axis).is_some_and(|one| most - one.abs() < TIE);
        let axis = preferred
            .filter(near)
            .or_else(|| (0..3).find(near))
            .ok_or_else(flat)?;
        let share = shares.get(axis).copied().unwrap_or(0.0);
        if share == 0.0 {
            return Err(flat());
        }
        if let Some(slot) = axes.get_mut(at) {
            *slot = (axis, share.signum());
        }
        if let Some(row) = turn.get_mut(axis) {
            *row = [0.0; 3];
        }
    }
    Ok(axes)
}

/// The rotation (or reflection) nearest to the directions of a map, by the iteration of Newton and Higham.
fn rotation(map: &Affine) -> Option<[[f64; 3]; 3]> {
    const STEPS: usize = 100;
    let lengths = [0, 1, 2].map(|column| {
        let length = (0..3)
            .map(|row| map.at(row, column).powi(2))
            .sum::<f64>()
            .sqrt();
        if length == 0.0 { 1.0 } else { length }
    });
    let length = |column: usize| lengths.get(column).copied().unwrap_or(1.0);
    let mut turn =
        [0, 1, 2].map(|row| [0, 1, 2].map(|column| map.at(row, column) / length(column)));
    for _ in 0..STEPS {
        let rows: Vec<f64> = turn
            .iter()
            .flat_map(|[a, b, c]| [*a, *b, *c, 0.0])
            .collect();
        let inverse = Affine::from_rows(&rows, 3).ok()?.inverse().ok()?;
        let mut change = 0.0_f64;
        for (row, numbers) in turn.iter_mut().enumerate() {
            for (column, number) in numbers.iter_mut().enumerate() {
                let next = f64::midpoint(*number, inverse.at(column, row));
                change = change.max((next - *number).abs());
                *number = next;
            }
        }
        if change < 1e-15 {
            break;
        }
    }
    turn.iter()
        .flatten()
        .all(|one| one.is_finite())
        .then_some(turn)
}

/// From voxels in the order that a header states to voxels in the order of the affine.
fn turn(stated: &[VoxelAxis; 3], meant: &[VoxelAxis; 3], dimensions: &[f64; 3]) -> Affine {
    let mut rows = Vec::with_capacity(12);
    for ((axis, sign), dimension) in stated.iter().zip(dimensions) {
        let to = meant
            .iter()
            .position(|(other, _)| other == axis)
            .unwrap_or(0);
        let same = meant.get(to).is_some_and(|(_, other)| other == sign);
        let factor = if same { 1.0 } else { -1.0 };
        rows.extend((0..3).map(|column| if column == to { factor } else { 0.0 }));
        rows.push(if same { 0.0 } else { dimension - 1.0 });
    }
    Affine::from_rows(&rows, 3).unwrap_or_else(|_| Affine::identity(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a map for the order of a header.
    type Case = (&'static str, [[f64; 4]; 3]);

    const STRAIGHT: [[f64; 4]; 3] = [
        [-2.0, 0.0, 0.0, 90.0],
        [0.0, 1.5, 0.0, -126.0],
        [0.0, 0.0, 3.0, -72.0],
    ];
    const OBLIQUE: [[f64; 4]; 3] = [
        [-1.5395, -0.9289, -0.4644, 88.5],
        [-1.078, 1.1407, -1.0866, -120.25],
        [-0.684, 0.2931, 2.7575, -60.0],
    ];
    const OF_STRAIGHT: &[Case] = &[
        (
            "LAS",
            [
                [-1.0, 0.0, 0.0, 91.0],
                [0.0, 1.0, 0.0, -126.75],
                [0.0, 0.0, 1.0, -73.5],
            ],
        ),
        (
            "RAS",
            [
                [1.0, 0.0, 0.0, -91.0],
                [0.0, 1.0, 0.0, -126.75],
                [0.0, 0.0, 1.0, -73.5],
            ],
        ),
        (
            "LPS",
            [
                [-1.0, 0.0, 0.0, 91.0],
                [0.0, -1.0, 0.0, 36.75],
                [0.0, 0.0, 1.0, -73.5],
            ],
        ),
        (
            "LPI",
            [
                [-1.0, 0.0, 0.0, 91.0],
                [0.0, -1.0, 0.0, 36.75],
                [0.0, 0.0, -1.0, 106.5],
            ],
        ),
        (
            "ASL",
            [
                [0.0, -1.3333334, 0.0, 91.0],
                [0.0, 0.0, 0.5, -126.75],
                [1.5, 0.0, 0.0, -73.5],
            ],
        ),
        (
            "SRP",
            [
                [0.0, 0.0, -0.6666667, 91.0],
                [-0.75, 0.0, 0.0, 36.75],
                [0.0, -2.0, 0.0, 106.5],
            ],
        ),
        (
            "",
            [
                [-1.0, 0.0, 0.0, 91.0],
                [0.0, -1.0, 0.0, 36.75],
                [0.0, 0.0, 1.0, -73.5],
            ],
        ),
    ];
    const OF_OBLIQUE: &[Case] = &[
        (
            "LAS",
            [
                [-0.76975, -0.6192667, -0.1548, 89.9664001],
                [-0.539, 0.7604667, -0.3622, -119.7380524],
                [-0.342, 0.1954, 0.9191667, -61.1833],
            ],
        ),
        (
            "RPI",
            [
                [0.76975, 0.6192667, 0.1548, -179.2422028],
                [0.539, -0.7604667, 0.3622, -158.695755],
                [0.342, -0.1954, -0.9191667, 73.9705963],
            ],
        ),
        (
            "SLA",
            [
                [-0.46445, -0.3096, -0.5131667, 89.9664001],
                [0.57035, -0.7244, -0.3593333, -119.7380524],
                [0.14655, 1.8383334, -0.228, -61.1833],
            ],
        ),
        (
            "PIR",
            [
                [0.2322, 1.0263333, 0.3096333, -179.2422028],
                [0.5433, 0.7186667, -0.3802333, -158.695755],
                [-1.37875, 0.456, -0.0977, 73.9705963],
            ],
        ),
    ];

    #[test]
    fn maps_are_those_of_nibabel() {
        for (affine, cases) in [(STRAIGHT, OF_STRAIGHT), (OBLIQUE, OF_OBLIQUE)] {
            for (order, wanted) in cases {
                let grid = VoxelGrid {
                    affine,
                    dimensions: [91.0, 109.0, 60.0],
                    sizes: [2.0, 1.5, 3.0],
                    order: (*order).to_owned(),
                };
                let map = grid.to_rasmm().unwrap();
                for (row, wanted) in map.rows().iter().zip(wanted) {
                    for (one, other) in row.iter().zip(wanted) {
                        // nibabel rounds its result to float32.
                        let near = (one - other).abs() <= 1e-6 * other.abs().max(1.0);
                        assert!(near, "{order}: {map:?}, {wanted:?}");
                    }
                }
                assert_eq!(grid.order_of_affine().unwrap(), "LAS");
            }
        }
    }

    #[test]
    fn a_turn_by_half_a_right_angle_keeps_the_order_of_the_header() {
        let half = 0.5_f64.sqrt();
        for order in ["RAS", "ARS", "ALS"] {
            let grid = VoxelGrid {
                affine: [
                    [half, half, 0.0, 0.0],
                    [half, -half, 0.0, 0.0],
                    [0.0, 0.0, 1.0, 0.0],
                ],
                dimensions: [10.0; 3],
                sizes: [1.0; 3],
                order: order.to_owned(),
            };
            // If the signs agree too, header and affine have the same first voxel.
            let mut middle = [0.0; 3];
            let map = grid.to_rasmm().unwrap();
            map.apply(&[0.5; 3], &mut middle);
            let first = middle.iter().all(|one| one.abs() < 1e-9);
            assert_eq!(first, order == "ARS", "{order} {middle:?}");
        }
    }

    /// As in nibabel: the first dimension of a header in the order ASL is along A, the second axis of an affine LAS.
    #[test]
    fn dimensions_follow_the_axes_of_the_affine() {
        let affine = [
            [-2.0, 0.0, 0.0, 90.0],
            [0.0, 2.0, 0.0, -126.0],
            [0.0, 0.0, 2.0, -72.0],
        ];
        for (order, wanted) in [
            ("LAS", [60.0, 91.0, 109.0]),
            ("ASL", [109.0, 60.0, 91.0]),
            ("SLA", [91.0, 109.0, 60.0]),
            ("PIR", [109.0, 60.0, 91.0]),
        ] {
            let grid = VoxelGrid {
                affine,
                dimensions: [60.0, 91.0, 109.0],
                sizes: [2.0; 3],
                order: order.to_owned(),
            };
            assert_eq!(grid.dimensions_of_affine().unwrap(), wanted, "{order}");
        }
    }

    #[test]
    fn headers_without_a_map_say_why() {
        let grid = |affine, sizes, order: &str| VoxelGrid {
            affine,
            dimensions: [10.0; 3],
            sizes,
            order: order.to_owned(),
        };
        let flat = [
            [1.0, 1.0, 0.0, 0.0],
            [1.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0],
        ];
        for (grid, wanted) in [
            (grid(flat, [1.0; 3], "RAS"), "one plane"),
            (grid([[0.0; 4]; 3], [1.0; 3], "RAS"), "one plane"),
            (grid(IDENTITY, [1.0, 0.0, 1.0], "RAS"), "voxel size of 0"),
            (grid(IDENTITY, [1.0; 3], "RRS"), "voxel order \"RRS\""),
            (grid(IDENTITY, [1.0; 3], "XYZ"), "voxel order \"XYZ\""),
            (grid(IDENTITY, [1.0; 3], "RA"), "voxel order \"RA\""),
        ] {
            let error = grid.to_rasmm().unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
        let mut odd = IDENTITY;
        odd[1][3] = f64::NAN;
        assert!(grid(odd, [1.0; 3], "RAS").to_rasmm().is_err());
    }
}
