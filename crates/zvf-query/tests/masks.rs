//! Masks and conditions on several regions against brute force over the input voxels and objects.

use std::collections::BTreeSet;

use proptest::prelude::*;
use zvf_query::{ObjectPlaces, ObjectRelation, Outputs, Query, QuerySpec, Region, Select, Target};
use zvf_store::meta::Affine;

use crate::make::Made;
use crate::support::{ask, block_on, column, memory, sorted};

const XYZ: [&str; 3] = ["x", "y", "z"];

/// The test's own model of a volume. The numbers of the map are doubled, so that they are whole.
#[derive(Debug, Clone)]
struct Volume {
    shape: [i64; 3],
    /// Whether each element belongs to the mask, in C order.
    belongs: Vec<bool>,
    /// The doubled matrix, by rows; then the doubled offset.
    matrix: [[i64; 3]; 3],
    offset: [i64; 3],
}

impl Volume {
    fn determinant(&self) -> i64 {
        let [a, b, c] = self.matrix;
        a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0])
            + a[2] * (b[0] * c[1] - b[1] * c[0])
    }

    fn has(&self, [i, j, k]: [i64; 3]) -> bool {
        let [_, rows, columns] = self.shape;
        let inside = [i, j, k]
            .iter()
            .zip(self.shape)
            .all(|(at, extent)| (0..extent).contains(at));
        inside && self.belongs[usize::try_from((i * rows + j) * columns + k).unwrap()]
    }

    /// Whether a position at half steps is in a voxel of the mask, by Cramer's rule with whole numbers; `None` on a border of voxels.
    fn holds(&self, p: [f32; 3]) -> Option<bool> {
        let right = [0, 1, 2].map(|axis| (f64::from(p[axis]) * 2.0) as i64 - self.offset[axis]);
        let det = self.determinant();
        let mut element = [0; 3];
        let mut border = false;
        for (axis, slot) in element.iter_mut().enumerate() {
            let mut replaced = self.clone();
            for (row, one) in replaced.matrix.iter_mut().zip(right) {
                row[axis] = one;
            }
            // The element is numerator / det; its voxel is the floor of this quotient plus a half.
            let (above, below) = (2 * replaced.determinant() + det, 2 * det);
            let (above, below) = if below < 0 {
                (-above, -below)
            } else {
                (above, below)
            };
            *slot = above.div_euclid(below);
            border |= above.rem_euclid(below) == 0;
        }
        // A diagonal matrix of powers of two is inverted exactly: borders belong to the upper voxel.
        (!border || self.is_exact()).then(|| self.has(element))
    }

    fn is_exact(&self) -> bool {
        let mut all = self.matrix.iter().flatten();
        let zeros = all.clone().filter(|one| **one == 0).count();
        zeros == 6 && all.all(|one| *one == 0 || one.unsigned_abs().is_power_of_two())
    }

    fn region(&self) -> Region {
        let mut rows = Vec::new();
        for (row, offset) in self.matrix.iter().zip(self.offset) {
            rows.extend(row.iter().map(|one| *one as f64 / 2.0));
            rows.push(offset as f64 / 2.0);
        }
        let map = Affine::from_rows(&rows, 3).unwrap();
        let runs = self
            .belongs
            .iter()
            .enumerate()
            .filter(|(_, belongs)| **belongs);
        let runs: Vec<(u64, u64)> = runs.map(|(at, _)| (at as u64, 1)).collect();
        Region::mask(&XYZ, &self.shape.map(|one| one as u64), &map, &runs).unwrap()
    }

    /// The doubled position of a place at half steps among the elements; `place` is doubled, too.
    fn twice(&self, place: [i64; 3]) -> [f64; 3] {
        [0, 1, 2].map(|row| {
            let sum: i64 = self.matrix[row].iter().zip(place).map(|(a, b)| a * b).sum();
            sum as f64 / 2.0 + self.offset[row] as f64
        })
    }

    /// Elements that belong to the mask.
    fn elements(&self) -> Vec<[i64; 3]> {
        let [planes, rows, columns] = self.shape;
        let all = (0..planes)
            .flat_map(move |i| (0..rows).flat_map(move |j| (0..columns).map(move |k| [i, j, k])));
        all.filter(|element| self.has(*element)).collect()
    }

    /// Whether a box around a voxel meets a chunk; exact if the axes of the volume are axes of the store.
    fn may_meet(&self, low: [f64; 3]) -> bool {
        self.elements().into_iter().any(|element| {
            let corners =
                (0..8).map(|corner| {
                    self.twice([0, 1, 2].map(|axis| {
                        2 * element[axis] + if corner >> axis & 1 == 1 { 1 } else { -1 }
                    }))
                });
            let corners: Vec<[f64; 3]> = corners.collect();
            (0..3).all(|axis| {
                let ends = corners.iter().map(|corner| corner[axis] / 2.0);
                let (least, most) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), one| {
                    (a.min(one), b.max(one))
                });
                least <= low[axis] + 10.0 && low[axis] <= most
            })
        })
    }
}

fn volume() -> impl Strategy<Value = Volume> {
    let diagonal = ([0_u32..4, 0..4, 0..4], any::<[bool; 3]>(), 0_usize..6).prop_map(
        |(powers, signs, order)| {
            const ORDERS: [[usize; 3]; 6] = [
                [0, 1, 2],
                [0, 2, 1],
                [1, 0, 2],
                [1, 2, 0],
                [2, 0, 1],
                [2, 1, 0],
            ];
            let mut matrix = [[0; 3]; 3];
            for (axis, row) in ORDERS[order].iter().enumerate() {
                matrix[*row][axis] = if signs[axis] { -1 } else { 1 } << powers[axis];
            }
            matrix
        },
    );
    let whole = [
        [-9_i64..10, -9..10, -9..10],
        [-9..10, -9..10, -9..10],
        [-9..10, -9..10, -9..10],
    ];
    let matrix = prop_oneof![diagonal, whole];
    let shape = [1_i64..6, 1..6, 1..6];
    (
        shape,
        matrix,
        [-80_i64..80, -80..80, -80..80],
        proptest::collection::vec(any::<bool>(), 216),
    )
        .prop_map(|(shape, matrix, offset, mut belongs)| {
            belongs.truncate(usize::try_from(shape.iter().product::<i64>()).unwrap());
            // The mask has at least one element.
            if !belongs.contains(&true) {
                belongs[0] = true;
            }
            Volume {
                shape,
                belongs,
                matrix,
                offset,
            }
        })
        .prop_filter("a map has an inverse", |volume| volume.determinant() != 0)
}

fn half() -> impl Strategy<Value = f32> {
    (-80_i16..80).prop_map(|at| f32::from(at) / 2.0)
}

fn position() -> impl Strategy<Value = [f32; 3]> {
    [half(), half(), half()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn masks_hold_what_their_voxels_do(
        volume in volume(), others in proptest::collection::vec(position(), 1..40)
    ) {
        block_on(async {
            // Positions in and around the voxels, whose borders are at half elements.
            let near = volume.elements().into_iter().take(20).flat_map(|element| {
                [[0, 0, 0], [1, 0, 0], [0, -1, 1], [-1, 1, 0]].map(|step: [i64; 3]| {
                    volume.twice([0, 1, 2].map(|axis| 2 * element[axis] + step[axis])).map(|one| (one / 2.0) as f32)
                })
            });
            let halves = near.filter(|p| p.iter().all(|one| (one * 2.0).fract() == 0.0));
            let positions: Vec<[f32; 3]> = halves.chain(others.iter().copied()).filter(|p| volume.holds(*p).is_some()).collect();
            if positions.is_empty() {
                return;
            }
            let store = memory(&Made::points(&positions).files()).await;
            let region = volume.region();
            let text = region.to_string();
            assert_eq!(Region::parse(&text).unwrap(), region);
            let spec = QuerySpec::new().with_region(region.clone());
            let json = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<QuerySpec>(&json).unwrap(), spec);
            let numbers = |wanted: bool| -> Vec<String> {
                let hits = positions.iter().enumerate().filter(|(_, p)| volume.holds(**p) == Some(wanted));
                sorted(hits.map(|(at, _)| at.to_string()).collect())
            };
            let query = Query { region: Some(region.clone()), ..Query::default() };
            let got = ask(&store, query.clone()).await.unwrap();
            assert_eq!(sorted(got.column("n")), numbers(true), "{text}");
            // The chunks that are read have rows in the mask, or meet a voxel.
            let chunks: BTreeSet<[i64; 3]> = positions.iter().map(|p| Made::chunk_of(*p, 10.0)).collect();
            let perhaps = chunks.iter().filter(|chunk| volume.may_meet(chunk.map(|at| at as f64 * 10.0))).count();
            let read = got.all.summary.chunks_read;
            assert!(read <= perhaps as u64, "{text}: {read} of {perhaps}");
            let got = ask(&store, Query { region: Some(!region), ..Query::default() }).await.unwrap();
            assert_eq!(sorted(got.column("n")), numbers(false), "not {text}");
            let pieces = Query { outputs: Outputs { vertices: true, links: false, objects: false }, ..query };
            let mut found = Vec::new();
            for split in pieces.splits(&store, Target::Count(3)).await.unwrap() {
                found.extend(ask(&store, split.query().unwrap()).await.unwrap().column("n"));
            }
            assert_eq!(sorted(found), numbers(true), "{text}");
        });
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]

    #[test]
    fn objects_pass_regions_as_brute_force_finds(
        lines in proptest::collection::vec(proptest::collection::vec(position(), 1..12), 1..10),
        ends in [half(), half(), half()]
    ) {
        block_on(async {
            let lines: Vec<(i64, Vec<[f32; 3]>)> = (0..).map(|at: i64| at * 3 - 4).zip(lines).collect();
            let store = memory(&Made::streamlines(&lines).files()).await;
            let [a, b, c] = ends;
            let (a, b, c) = (format!("box(x={a}:)"), format!("box(y=:{b})"), format!("box(z={c}:)"));
            let above = |p: &[f32; 3]| p[0] >= ends[0];
            let below = |p: &[f32; 3]| p[1] <= ends[1];
            let far = |p: &[f32; 3]| p[2] >= ends[2];
            type Holds<'h> = &'h dyn Fn(&[[f32; 3]]) -> bool;
            let cases: [(String, Holds<'_>); 6] = [
                (format!("{a} and {b}"), &|line| line.iter().any(above) && line.iter().any(below)),
                (format!("touching({a} and {b})"), &|line| line.iter().any(|p| above(p) && below(p))),
                (format!("not {a}"), &|line| !line.iter().any(above)),
                (format!("{a} and not {b} or inside({c})"), &|line| {
                    line.iter().any(above) && !line.iter().any(below) || line.iter().all(far)
                }),
                (format!("starting({a}) and ending({b}) or starting({b}) and ending({a})"), &|line| {
                    let (first, last) = (&line[0], &line[line.len() - 1]);
                    above(first) && below(last) || below(first) && above(last)
                }),
                (format!("not ({a} or not {c})"), &|line| !line.iter().any(above) && line.iter().any(far)),
            ];
            for (text, holds) in cases {
                let places = ObjectPlaces::parse(&text).unwrap();
                assert_eq!(ObjectPlaces::parse(&places.to_string()).unwrap(), places, "{text}");
                let spec = QuerySpec::new().with_passing(places);
                let json = serde_json::to_string(&spec).unwrap();
                assert_eq!(serde_json::from_str::<QuerySpec>(&json).unwrap(), spec);
                let query = spec.plain().unwrap();
                let expected: Vec<&(i64, Vec<[f32; 3]>)> = lines.iter().filter(|(_, line)| holds(line)).collect();
                let wanted: Vec<String> = expected.iter().map(|(id, _)| id.to_string()).collect();
                let got = ask(&store, query.clone()).await.unwrap();
                assert_eq!(column(got.objects.as_ref().unwrap(), "object_id"), wanted, "{text}");
                let rows: usize = expected.iter().map(|(_, line)| line.len()).sum();
                assert_eq!(got.all.summary.vertices, rows as u64, "{text}");
                // Combined with a region, a relation and ids, and in pieces.
                let region = Some(Region::parse(&c).unwrap());
                let got = ask(&store, Query { region: region.clone(), ..query.clone() }).await.unwrap();
                let rows = expected.iter().flat_map(|(_, line)| line).filter(|p| far(p)).count();
                assert_eq!(got.all.summary.vertices, rows as u64, "{text}");
                let relation = Some(ObjectRelation::Ending);
                let got = ask(&store, Query { region, relation, ..query.clone() }).await.unwrap();
                let wanted: Vec<String> = expected.iter().filter(|(_, line)| far(&line[line.len() - 1])).map(|(id, _)| id.to_string()).collect();
                assert_eq!(column(got.objects.as_ref().unwrap(), "object_id"), wanted, "{text}");
                let ids: Vec<i64> = lines.iter().rev().map(|(id, _)| *id).step_by(2).collect();
                let got = ask(&store, Query { objects: Some(ids.clone()), ..query.clone() }).await.unwrap();
                let wanted: Vec<String> = ids.iter().filter(|id| expected.iter().any(|(one, _)| one == *id)).map(ToString::to_string).collect();
                assert_eq!(column(got.objects.as_ref().unwrap(), "object_id"), wanted, "{text}");
                let mut count = 0;
                for split in query.splits(&store, Target::Count(2)).await.unwrap() {
                    count += ask(&store, split.query().unwrap()).await.unwrap().objects.map_or(0, |objects| objects.num_rows());
                }
                assert_eq!(count, expected.len(), "{text}");
                // An unknown id is an error, as without the condition.
                let unknown = Query { objects: Some(vec![1_000_000]), ..query.clone() };
                assert!(ask(&store, unknown.clone()).await.is_err(), "{text}");
                let ignored = Query { ignore_missing: true, ..unknown };
                assert_eq!(ask(&store, ignored).await.unwrap().all.summary.vertices, 0, "{text}");
            }
        });
    }
}

/// A mask far from all rows reads nothing. A mask that contains a whole chunk returns all of its rows without testing them.
#[test]
fn masks_far_away_and_around_everything() {
    block_on(async {
        let positions: Vec<[f32; 3]> = (0..100_i16).map(|at| [f32::from(at), 0.0, 0.0]).collect();
        let store = memory(&Made::points(&positions).files()).await;
        for (text, rows, chunks) in [
            ("mask(x y z; 2 2 2; 1 0 0 500, 0 1 0 0, 0 0 1 0; 0 8)", 0, 0),
            (
                "mask(x y z; 1 1 1; 2000 0 0 0, 0 2000 0 0, 0 0 2000 0; 0 1)",
                100,
                10,
            ),
            // Elements 3, 4 and 55 along x, whose voxels begin half an element before them.
            ("mask(x; 100; 1 0; 3 2,50 1)", 3, 2),
            ("mask(y x; 1 100; 0 4 0, 4 0 0; 4 3)", 0, 0),
            ("mask(x y; 100 1; 1 0 0, 0 9 0; 3 2)", 2, 1),
        ] {
            let region = Some(Region::parse(text).unwrap());
            let query = Query {
                region,
                ..Query::default()
            };
            let got = ask(&store, query).await.unwrap();
            let summary = &got.all.summary;
            assert_eq!(
                (summary.vertices, summary.chunks_read),
                (rows, chunks),
                "{text}"
            );
        }
    });
}

#[test]
fn masks_that_cannot_be_are_refused() {
    for (text, message) in [
        (
            "mask(x y z; 2 2 2; 1 0 0 0, 0 1 0 0, 0 0 1 0; 0 9)",
            "mask: found a run of 9 elements at 0",
        ),
        (
            "mask(x y z; 2 2 2; 1 0 0 0, 0 1 0 0, 1 1 0 0; 0 8)",
            "no inverse",
        ),
        (
            "mask(x y z; 2 2 2; 1 0 0 0, 0 1 0 0, 1 1 1e-14 0; 0 8)",
            "nearly in one plane",
        ),
        (
            "mask(x y z; 2 2 2; 1 0 0 0, 0 1 0 0, 0 0 1 0; 0 0)",
            "mask: found a run of 0 elements",
        ),
        (
            "mask(x y z; 2 2 2; 1 0 0 0, 0 1 0 0, 0 0 1 0; )",
            "expected a distance",
        ),
        (
            "mask(x y z; 2 2; 1 0 0 0, 0 1 0 0, 0 0 1 0; 0 1)",
            "mask: found a volume of 2 axes",
        ),
        (
            "mask(x x; 2 2; 1 0 0, 0 1 0; 0 1)",
            "mask: found the axis \"x\" twice",
        ),
        (
            "mask(x y z t; 2 2 2 2; 1; 0 1)",
            "expected `;` after three axes",
        ),
        (
            "mask(x y z; 0 2 2; 1 0 0 0, 0 1 0 0, 0 0 1 0; 0 1)",
            "expected 1 to",
        ),
        (
            "mask(x y z; 1048576 1048576 2; 1 0 0 0, 0 1 0 0, 0 0 1 0; 0 1)",
            "a coarser level",
        ),
        (
            "mask(x; 18446744073709551615; 1 0; 18446744073709551615 18446744073709551615)",
            "expected a run inside of the volume",
        ),
        (
            "mask(x y z; 100000 100000 2; 1 0 0 0, 0 1 0 0, 0 0 1 0; 0 20000000000)",
            "rows in the box",
        ),
        (
            "mask(@labels.nii.gz, 12)",
            "found a file, expected the shape itself",
        ),
        (
            "mask(@labels.nii.gz, twelve)",
            "expected a label, found \"twelve",
        ),
    ] {
        let error = Region::parse(text).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
    block_on(async {
        let store = memory(&Made::points(&[[0.0; 3]]).files()).await;
        let region = Some(Region::parse("mask(x t; 2 2; 1 0 0, 0 1 0; 0 1)").unwrap());
        let query = Query {
            region,
            ..Query::default()
        };
        let error = ask(&store, query).await.err().unwrap().to_string();
        assert!(error.starts_with("mask: no axis \"t\""), "{error}");
        // Points without objects cannot pass a region.
        let query = QuerySpec::new().with_passing(ObjectPlaces::parse("box(x=0:)").unwrap());
        let error = ask(&store, query.plain().unwrap())
            .await
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("no object index"), "{error}");
        let spec = QuerySpec::new().with_passing(ObjectPlaces::parse("box(x=0:)").unwrap());
        let error = spec
            .with_select(Select::Chunks)
            .plain()
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "passing: found select chunks as well, expected select vertices or objects"
        );
    });
    let error = ObjectPlaces::parse("sphere(1,2,3,4) and endin(box(x=0:))")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with(
            "passing, at byte 20: expected touching, inside, starting, ending, sphere"
        ),
        "{error}"
    );
    assert!(error.contains("did you mean \"ending\"?"), "{error}");
}
