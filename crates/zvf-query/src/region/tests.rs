use proptest::prelude::*;

use zvf_store::meta::Axis;

use super::*;

fn bound(text: &str, axes: &[&str]) -> BoundRegion {
    Region::parse(text).unwrap().bind(&named(axes)).unwrap()
}

const XYZ: [&str; 3] = ["x", "y", "z"];

fn named(axes: &[&str]) -> Vec<Axis> {
    axes.iter().map(|name| Axis::named(*name)).collect()
}

#[test]
fn spheres_are_in_space_and_in_one_unit() {
    let txy = bound("sphere(1,2,5)", &["t", "x", "y"]);
    for (position, inside) in [([1e9, 4.0, 6.0], true), ([0.0, 4.1, 6.0], false)] {
        assert_eq!(txy.contains(&position), inside);
        let expected = if inside {
            Overlap::Inside
        } else {
            Overlap::Outside
        };
        assert_eq!(txy.overlap(&position, &position), expected);
    }
    let around = txy.bounds(None).unwrap();
    assert_eq!(around.lo()[0], f64::NEG_INFINITY);
    assert!(around.lo()[1] <= -4.0 && around.lo()[1] > -4.1);
    let mut axes = named(&XYZ);
    for (axis, unit) in axes.iter_mut().zip(["nm", "nanometer", "um"]) {
        axis.unit = Some(unit.to_owned());
    }
    let region = Region::parse("sphere(1,2,3,4) or near(x=0,1)").unwrap();
    let error = region.bind(&axes).unwrap_err().to_string();
    assert!(error.contains("axis x in nm and axis z in um"), "{error}");
    assert!(Region::parse("near(x=0,1)").unwrap().bind(&axes).is_ok());
    axes[2].unit = None;
    assert!(region.bind(&axes).is_ok());
}

/// Text of a region.
fn text() -> impl Strategy<Value = String> {
    let number = || {
        prop_oneof![
            (-9_i32..9).prop_map(f64::from),
            -9.0..9.0_f64,
            Just(1e-20),
            Just(1e30)
        ]
    };
    let leaf = prop_oneof![
        (number(), number(), number(), 0.0..9.0_f64)
            .prop_map(|(x, y, z, r)| format!("sphere({x},{y},{z},{r})")),
        (number(), 0.0..9.0_f64).prop_map(|(v, d)| format!("near(`z`={v},{d})")),
        (number(), 0.0..9.0_f64).prop_map(|(v, d)| format!("box(x={v}:{},y=:{d})", v + d)),
        (number(), number(), 0.5..9.0_f64).prop_map(|(x, y, s)| {
            let (a, b) = (x + s, y + s);
            format!("polygon(POLYGON (({x} {y}, {a} {y}, {a} {b}, {x} {y})), x, z)")
        }),
        [number(), number(), number(), number()].prop_map(|[x, y, z, s]| {
            format!("mesh({x} {y} {z}, {s} {y} {z}, {x} {s} {z}, {y} {x} {s}; 0 2 1, 0 1 3, 1 2 3, 0 3 2)")
        }).prop_filter("a tetrahedron has four faces", |text| Region::parse(text).is_ok()),
    ];
    leaf.prop_recursive(4, 12, 3, |part| {
        prop_oneof![
            part.clone().prop_map(|one| format!("not ({one})")),
            (part.clone(), part.clone()).prop_map(|(a, b)| format!("({a} and {b})")),
            (part.clone(), part).prop_map(|(a, b)| format!("({a}) or {b}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_text_of_a_region_is_parsed_to_the_region(text in text()) {
        let region = Region::parse(&text).unwrap();
        let written = region.to_string();
        prop_assert_eq!(&Region::parse(&written).unwrap(), &region);
        prop_assert_eq!(Region::parse(&written).unwrap().to_string(), written);
    }

    #[test]
    fn boxes_are_where_their_points_are(
        text in text(), low in [-9.0_f64..9.0, -9.0..9.0, -9.0..9.0], size in [0.0_f64..5.0, 0.0..5.0, 0.0..5.0],
        shares in proptest::collection::vec([0.0_f64..=1.0, 0.0..=1.0, 0.0..=1.0], 20)
    ) {
        let region = bound(&text, &XYZ);
        let high: Vec<f64> = low.iter().zip(size).map(|(low, size)| low + size).collect();
        let overlap = region.overlap(&low, &high);
        let bounds = region.bounds(None).unwrap();
        for share in shares {
            let point: Vec<f64> = (0..3).map(|at| (low[at] + share[at] * size[at]).clamp(low[at], high[at])).collect();
            let inside = region.contains(&point);
            prop_assert!(overlap == Overlap::Crosses || inside == (overlap == Overlap::Inside), "{point:?} {overlap:?}");
            prop_assert!(!inside || bounds.contains(&point), "{point:?} {bounds}");
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in any::<String>(), start in 0_usize..6) {
        let start = ["", "polygon(", "POLYGON ((", "sphere(1,", "not (((", "{\"type\":"][start];
        let text = format!("{start}{text}");
        for member in ["region", "polygon", "sphere", "near"] {
            if let Ok(region) = Region::of_member(member, &text) {
                prop_assert_eq!(Region::parse(&region.to_string()).unwrap(), region);
            }
        }
        let _ = Plane::parse(&text);
    }

    #[test]
    fn texts_with_a_byte_changed_are_parsed_or_refused(text in text(), at in any::<prop::sample::Index>(), with in any::<char>()) {
        let mut letters: Vec<char> = text.chars().collect();
        let at = at.index(letters.len());
        letters[at] = with;
        let text: String = letters.into_iter().collect();
        if let Ok(region) = Region::parse(&text) {
            prop_assert_eq!(Region::parse(&region.to_string()).unwrap(), region);
        }
    }

    /// Counts the edges that a ray crosses to decide whether a point is inside. Vertices are on a grid, so that many points are on edges and
    /// vertices.
    #[test]
    fn polygons_cover_what_their_crossings_say(
        ring in proptest::collection::vec((-6_i32..6, -6_i32..6), 3..12),
        point in (-7_i32..7, -7_i32..7)
    ) {
        let mut ring: Vec<[f64; 2]> = ring.iter().map(|(x, y)| [f64::from(*x), f64::from(*y)]).collect();
        ring.push(ring[0]);
        let polygons = Polygons::new(vec![vec![ring.clone()]]).unwrap();
        let point = [f64::from(point.0), f64::from(point.1)];
        // The determinant is exact for such small integers.
        let on_edge = ring.windows(2).any(|pair| {
            let [a, b] = [pair[0], pair[1]];
            let cross = (b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0]);
            let between = |axis: usize| a[axis].min(b[axis]) <= point[axis] && point[axis] <= a[axis].max(b[axis]);
            cross == 0.0 && between(0) && between(1)
        });
        // The slope is chosen so that the ray meets no vertex of the grid within reach.
        let (far, slope) = (1000.0, 0.001_123_7);
        let crossings = ring.windows(2).filter(|pair| {
            let side = |p: [f64; 2]| (p[1] - point[1]) - slope * (p[0] - point[0]);
            let (a, b) = (side(pair[0]), side(pair[1]));
            if (a > 0.0) == (b > 0.0) { return false; }
            let at = pair[0][0] + (pair[1][0] - pair[0][0]) * a / (a - b);
            at > point[0] && at < far
        }).count();
        prop_assert_eq!(polygons.covers(point), on_edge || crossings % 2 == 1);
    }
}

#[test]
fn boundaries_are_inside_and_outside_of_not() {
    for (text, inside, outside) in [
        ("sphere(0,0,0,5)", [3.0, 4.0, 0.0], [3.0, 4.0, 1e-7]),
        // The square of this radius is less than the sum of the squares.
        (
            "sphere(-8,-14,-16.430353399951443,23.78931619967198)",
            [-2.0, 7.0, -7.0],
            [-2.0, 7.0, -6.999_999],
        ),
        ("near(x=1,2)", [3.0, 9.0, 9.0], [3.000_000_1, 0.0, 0.0]),
        ("box(x=0:1,z=2:)", [1.0, 0.0, 2.0], [1.0, 0.0, 1.9]),
        (
            "polygon(POLYGON ((0 0, 4 0, 0 4, 0 0)))",
            [2.0, 2.0, 7.0],
            [2.0, 2.000_000_1, 7.0],
        ),
        // A point on the edge of a hole, and a point in a hole.
        (
            "polygon(POLYGON ((0 0, 9 0, 9 9, 0 9, 0 0), (2 2, 4 2, 4 4, 2 2)))",
            [3.0, 3.0, 0.0],
            [3.5, 3.0, 0.0],
        ),
        // Overlapping parts form a union.
        (
            "polygon(MULTIPOLYGON (((0 0, 4 0, 4 4, 0 0)), ((0 0, 4 0, 4 4, 0 0))))",
            [3.0, 1.0, 0.0],
            [1.0, 3.0, 0.0],
        ),
        (
            "polygon(POLYGON ((0 0, 4 0, 4 4, 0 0)), y, z)",
            [99.0, 3.0, 1.0],
            [0.0, 1.0, 3.0],
        ),
        (
            "polygon(POLYGON ((0 0, 4 0, 4 4, 0 0)), xy, z=0:1)",
            [3.0, 1.0, 1.0],
            [3.0, 1.0, 1.1],
        ),
    ] {
        let region = bound(text, &XYZ);
        assert!(region.contains(&inside), "{text} {inside:?}");
        assert!(!region.contains(&outside), "{text} {outside:?}");
        let not = bound(&format!("not ({text})"), &XYZ);
        assert!(
            !not.contains(&inside) && not.contains(&outside),
            "not {text}"
        );
    }
    assert!(!bound("polygon(POLYGON EMPTY)", &XYZ).contains(&[0.0; 3]));
    assert_eq!(
        bound("polygon(POLYGON EMPTY)", &XYZ).overlap(&[0.0; 3], &[1.0; 3]),
        Overlap::Outside
    );
}

#[test]
fn many_polygons_cover_what_one_of_them_covers() {
    let square = |x: f64, y: f64, width: f64, height: f64| {
        let (a, b) = (x + width, y + height);
        vec![vec![[x, y], [a, y], [a, b], [x, b], [x, y]]]
    };
    // Squares with gaps between them, one that is as high as all, one without height.
    let mut parts: Vec<_> = (0..12)
        .flat_map(|x| (0..12).map(move |y| [x, y].map(|n| 2.0 * f64::from(n))))
        .map(|[x, y]| square(x, y, 1.0, 1.0))
        .collect();
    parts.extend([square(30.0, 0.0, 1.0, 23.0), square(40.0, 5.5, 3.0, 0.0)]);
    let all = Polygons::new(parts.clone()).unwrap();
    let single: Vec<Polygons> = parts
        .into_iter()
        .map(|part| Polygons::new(vec![part]).unwrap())
        .collect();
    let ends = [
        f64::NEG_INFINITY,
        -1.0,
        0.0,
        0.5,
        1.0,
        1.5,
        5.5,
        22.5,
        23.0,
        24.0,
        f64::INFINITY,
    ];
    for x in [-1.0, 0.0, 0.5, 1.5, 22.5, 23.0, 30.5, 41.0, 44.0] {
        for (number, y) in ends.into_iter().enumerate() {
            let point = [x, y];
            let one = single.iter().any(|one| one.covers(point));
            assert_eq!(all.covers(point), one, "{point:?}");
            for high in ends.into_iter().skip(number) {
                let rectangle = [(x, x + 0.25), (y, high)];
                let one = Overlap::any(single.iter().map(|one| one.overlap(&rectangle)));
                assert_eq!(all.overlap(&rectangle), one, "{rectangle:?}");
            }
        }
    }
}

#[test]
fn geojson_is_the_same_polygon_as_text() {
    let text = "MULTIPOLYGON (((0 0, 4 0, 4 4, 0 0)), ((9 9, 10 9, 10 10, 9 9)))";
    let collection = r#"{"type": "FeatureCollection", "features": [
        {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [[[0, 0, 7], [4, 0], [4, 4], [0, 0]]]}},
        {"type": "Feature", "geometry": null},
        {"type": "GeometryCollection", "geometries": [{"type": "MultiPolygon", "coordinates": [[[[9, 9], [10, 9], [10, 10], [9, 9]]]]}]}
    ]}"#;
    assert_eq!(
        Region::polygon(collection).unwrap(),
        Region::polygon(text).unwrap()
    );
    assert_eq!(
        Region::polygon("polygon Z((0 0 1, 4 0 1, 4 4 1, 0 0 1))")
            .unwrap()
            .to_string(),
        "polygon(POLYGON ((0 0, 4 0, 4 4, 0 0)))"
    );
}

#[test]
fn what_is_no_region_is_refused_with_its_place() {
    for (member, text, message) in [
        (
            "region",
            "",
            "region, at byte 0: expected sphere, near, box, polygon, mesh, hull, mask, `not` or `(`, found the end",
        ),
        (
            "region",
            "spere(1,2)",
            "region, at byte 0: expected sphere, near, box, polygon, mesh, hull, mask, `not` or `(` (did you mean \"sphere\"?), found",
        ),
        (
            "region",
            "sphere(1,2,3,-4)",
            "region, at byte 0: sphere: found the radius -4, expected one that is not negative",
        ),
        (
            "region",
            "sphere(4)",
            "region, at byte 0: sphere: found no centre",
        ),
        (
            "region",
            "sphere(1,2,inf)",
            "region, at byte 11: expected a number of at most 1e100",
        ),
        (
            "region",
            "near(x=nan,1)",
            "region, at byte 7: expected a number, found",
        ),
        (
            "region",
            "box(x=2:1)",
            "region, at byte 6: found 2:1, expected a lower end",
        ),
        (
            "region",
            "near(x=0,1) near(x=0,1)",
            "region, at byte 12: expected `and`, `or` or the end",
        ),
        (
            "region",
            "polygon(@area.geojson)",
            "region, at byte 9: found a file",
        ),
        (
            "region",
            "polygon(POLYGON ((0 0, 1 0, 1 1, 0 0)), xx)",
            "region, at byte 40: expected two different axes",
        ),
        (
            "polygon",
            "POLYGON ((0 0, 1 0, 1 1, 0 1))",
            "polygon, at byte 0: polygon 0, ring 0: found a ring that is not closed",
        ),
        (
            "polygon",
            "POLYGON ((0 0, 1 0, x 1, 0 0))",
            "polygon, at byte 20: expected a number, found",
        ),
        (
            "polygon",
            "POINT (1 2)",
            "polygon, at byte 0: expected POLYGON or MULTIPOLYGON",
        ),
        (
            "polygon",
            "{\"type\": 3}",
            "polygon: type: expected Polygon",
        ),
        (
            "polygon",
            "{\"type\": \"Polygon\", \"coordinates\": [[[1, 2], [3]]]}",
            "polygon: coordinates[0][1]: expected two numbers",
        ),
        ("polygon", "{", "polygon: expected GeoJSON: "),
    ] {
        let error = Region::of_member(member, text).unwrap_err();
        assert_eq!(error.class(), zvf_store::Class::Misuse, "{text}");
        assert!(error.to_string().starts_with(message), "{text}: {error}");
    }
    for (text, axes, message) in [
        (
            "sphere(1,2,3)",
            &XYZ[..],
            "sphere: found a centre of 2 numbers, expected 3",
        ),
        ("near(t=0,1)", &XYZ, "near: no axis \"t\""),
        (
            "polygon(POLYGON EMPTY, x, z)",
            &XYZ[..2],
            "plane: no axis \"z\"",
        ),
        (
            "polygon(POLYGON EMPTY)",
            &XYZ[..1],
            "polygon: found a store of 1 axes of space",
        ),
    ] {
        let error = Region::parse(text)
            .unwrap()
            .bind(&named(axes))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(message), "{text}: {error}");
    }
}

#[test]
fn hostile_texts_are_bounded() {
    let deep = "not ".repeat(200_000) + "near(x=0,1)";
    assert!(
        Region::parse(&deep)
            .unwrap_err()
            .to_string()
            .contains("nested too deeply")
    );
    let wide = vec!["near(x=0,1)"; 5000].join(" or ");
    assert!(
        Region::parse(&wide)
            .unwrap_err()
            .to_string()
            .contains("more than 4096 shapes")
    );
    let vertices = vec!["0 0"; (1 << 18) + 1].join(",");
    let error = Region::polygon(&format!("POLYGON (({vertices}))")).unwrap_err();
    assert!(
        error.to_string().contains("more than 262144 vertices"),
        "{}",
        &error.to_string()[..100]
    );
    // Every edge spans the whole height; the index stays small nevertheless.
    let zigzag: Vec<[f64; 2]> = (0..50_000)
        .map(|at| [f64::from(at), f64::from(at % 2)])
        .collect();
    let ring: Vec<[f64; 2]> = zigzag.iter().copied().chain([[0.0, 0.0]]).collect();
    assert!(Polygons::new(vec![vec![ring]]).unwrap().covers([0.5, 0.25]));
}

#[test]
fn the_plane_is_that_of_x_and_y_or_the_first_two() {
    let polygon = "polygon(POLYGON ((0 0, 4 0, 4 4, 0 0)))";
    assert!(bound(polygon, &["z", "y", "x"]).contains(&[9.0, 1.0, 3.0]));
    assert!(bound(polygon, &["a", "b"]).contains(&[3.0, 1.0]));
    let other = Region::parse(polygon)
        .unwrap()
        .with_plane("lon,lat,h=1:")
        .unwrap();
    assert_eq!(
        other.to_string(),
        "polygon(POLYGON ((0 0, 4 0, 4 4, 0 0)), lon, lat) and box(h=1:)"
    );
    for wrong in ["x", "xyz", "", "x,y,z", "xy,z=", "x,x"] {
        assert!(
            Region::parse(polygon).unwrap().with_plane(wrong).is_err(),
            "{wrong}"
        );
    }
}

/// The surface of a set of unit cubes, as triangles. A map with integer coefficients moves each point, so that coordinates are exact.
fn surface(
    cubes: &[[i32; 3]],
    map: impl Fn([i32; 3]) -> [f64; 3],
) -> (Vec<[f64; 3]>, Vec<[u32; 3]>) {
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for cube in cubes {
        for axis in 0..3 {
            for end in [0, 1] {
                let mut other = *cube;
                other[axis] += 2 * end - 1;
                if cubes.contains(&other) {
                    continue;
                }
                let first = u32::try_from(vertices.len()).unwrap();
                for (u, v) in [(0, 0), (1, 0), (1, 1), (0, 1)] {
                    let mut corner = *cube;
                    corner[axis] += end;
                    corner[(axis + 1) % 3] += u;
                    corner[(axis + 2) % 3] += v;
                    vertices.push(map(corner.map(|one| one * 2)));
                }
                triangles.push([first, first + 1, first + 2]);
                triangles.push([first, first + 2, first + 3]);
            }
        }
    }
    (vertices, triangles)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Points at half steps are in cubes, on faces, on edges and at corners, and rays from them meet edges and corners of other cubes.
    #[test]
    fn meshes_cover_what_their_cubes_do(
        cubes in proptest::collection::btree_set([0_i32..4, 0..4, 0..4], 1..20), shear in [-2_i32..3, -2..3, -2..3], flip in any::<bool>()
    ) {
        let cubes: Vec<[i32; 3]> = cubes.into_iter().collect();
        let map = |[x, y, z]: [i32; 3]| {
            let x = x + shear[0] * y;
            let z = z + shear[1] * x + shear[2] * y;
            let place = if flip { [z, x, y] } else { [x, y, z] };
            place.map(f64::from)
        };
        let (vertices, triangles) = surface(&cubes, map);
        let region = Region::mesh(&vertices, &triangles).unwrap();
        prop_assert_eq!(&Region::parse(&region.to_string()).unwrap(), &region);
        let region = region.bind(&named(&XYZ)).unwrap();
        for x in -1..10 {
            for y in -1..10 {
                for z in -1..10 {
                    // Along each axis, a point is inside one cube or between two.
                    let within = |cube: &[i32; 3]| cube.iter().zip([x, y, z]).all(|(low, at)| low * 2 <= at && at <= low * 2 + 2);
                    let point = map([x, y, z]);
                    prop_assert_eq!(region.contains(&point), cubes.iter().any(within), "{:?}", [x, y, z]);
                    if region.contains(&point) {
                        prop_assert!(region.bounds(None).unwrap().contains(&point));
                        prop_assert!(region.overlap(&point, &point) != Overlap::Outside);
                    }
                }
            }
        }
    }
}

#[test]
fn meshes_that_are_no_surface_are_refused() {
    let (vertices, mut triangles) = surface(&[[0, 0, 0]], |point| point.map(f64::from));
    triangles.pop();
    let error = Region::mesh(&vertices, &triangles).unwrap_err().to_string();
    assert_eq!(error, "mesh: found 3 open edges, expected a closed mesh");
    for (vertices, triangles, message) in [
        (&vertices[..], &[][..], "mesh: found no triangles"),
        (
            &vertices,
            &[[0, 1, 99]],
            "mesh: found the vertex 99, expected a number below 24",
        ),
        (
            &[[f64::NAN, 0.0, 0.0]],
            &[[0, 0, 0]],
            "mesh: found the coordinate NaN",
        ),
    ] {
        let error = Region::mesh(vertices, triangles).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
    let flat = "mesh(0 0 0, 1 0 0, 0 1 0; 0 1 2, 2 1 0)";
    let flat = bound(flat, &XYZ);
    assert!(flat.contains(&[0.25, 0.25, 0.0]) && !flat.contains(&[0.25, 0.25, -1e-9]));
    let error = Region::parse("mesh(0 0 0, 1 0 0, 0 1 0; 0 1 2, 2 1 0)")
        .unwrap()
        .bind(&named(&["x", "y"]));
    assert_eq!(
        error.unwrap_err().to_string(),
        "mesh: found a store of 2 axes of space, expected three or more"
    );
}

/// Polygons and meshes are in space, x or longitude first, as the column of points is.
#[test]
fn polygons_and_meshes_are_in_space() {
    let square = "polygon(POLYGON ((10 47, 13 47, 13 49, 10 49, 10 47)))";
    let cases = [
        (&["t", "lon", "lat"][..], &[100.0, 11.0, 48.0][..]),
        (&["lat", "lon"], &[48.0, 11.0]),
        (&["t", "Y", "X"], &[100.0, 48.0, 11.0]),
        (&["a", "b", "c"], &[11.0, 48.0, 0.0]),
    ];
    for (axes, position) in cases {
        assert!(bound(square, axes).contains(position), "{axes:?}");
    }
    let corner = "mesh(0 0 0, 9 0 0, 0 9 0, 0 0 9; 0 2 1, 0 1 3, 1 2 3, 0 3 2)";
    for axes in [["t", "X", "Y", "Z"], ["time", "Z", "Y", "X"]] {
        assert!(
            bound(corner, &axes).contains(&[99.0, 1.0, 2.0, 3.0]),
            "{axes:?}"
        );
        assert!(
            !bound(corner, &axes).contains(&[1.0, 1.0, 1.0, 50.0]),
            "{axes:?}"
        );
    }
}

/// Blocks inside and outside are recognized; blocks at the surface cross it.
#[test]
fn blocks_lie_in_a_mesh_as_their_points_do() {
    let cubes: Vec<[i32; 3]> = (0..64).map(|at| [at % 4, at / 4 % 4, at / 16]).collect();
    let (vertices, triangles) = surface(&cubes, |point| point.map(f64::from));
    let region = Region::mesh(&vertices, &triangles)
        .unwrap()
        .bind(&named(&XYZ))
        .unwrap();
    for (low, high, overlap) in [
        ([1.0; 3], [7.0; 3], Overlap::Inside),
        ([1.0; 3], [9.0; 3], Overlap::Crosses),
        ([9.0; 3], [10.0; 3], Overlap::Outside),
        ([-1.0; 3], [9.0; 3], Overlap::Crosses),
        ([f64::NEG_INFINITY; 3], [f64::INFINITY; 3], Overlap::Crosses),
        ([8.0; 3], [9.0; 3], Overlap::Crosses),
        ([f64::NEG_INFINITY; 3], [-1.0; 3], Overlap::Outside),
    ] {
        assert_eq!(region.overlap(&low, &high), overlap, "{low:?} {high:?}");
    }
}

/// On which side of the plane through three points another point is, exactly.
fn side([a, b, c]: [[i64; 3]; 3], point: [i64; 3]) -> i64 {
    let minus = |one: [i64; 3]| [0, 1, 2].map(|axis| one[axis] - a[axis]);
    let ([u, v], w) = ([minus(b), minus(c)], minus(point));
    (u[1] * v[2] - u[2] * v[1]) * w[0]
        + (u[2] * v[0] - u[0] * v[2]) * w[1]
        + (u[0] * v[1] - u[1] * v[0]) * w[2]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A point is in the hull unless a plane through three of the points has the point on one side and all of the points on the other.
    #[test]
    fn hulls_hold_what_no_plane_separates(
        points in proptest::collection::vec([-3_i64..4, -3..4, -3..4], 4..14), scale in 0_i32..40
    ) {
        let count = points.len();
        let triples = (0..count).flat_map(|a| (0..a).flat_map(move |b| (0..b).map(move |c| [a, b, c])));
        // Planes with all points on one side. A triple whose points are on a line defines no plane.
        let planes: Vec<([[i64; 3]; 3], i64)> = triples.filter_map(|triple| {
            let plane = triple.map(|at| points[at]);
            let sides: Vec<i64> = points.iter().map(|point| side(plane, *point).signum()).collect();
            let (some, none) = (sides.iter().copied().find(|side| *side != 0)?, -sides.iter().copied().find(|side| *side != 0)?);
            (!sides.contains(&none)).then_some((plane, some))
        }).collect();
        // The distances are so small that differences of rounded numbers would not distinguish them.
        let place = |point: [i64; 3]| point.map(|one| 1.0 + one as f64 * 2.0_f64.powi(-scale));
        let placed: Vec<[f64; 3]> = points.iter().map(|point| place(*point)).collect();
        let hull = Region::hull(&placed);
        let flat = points.iter().all(|point| {
            let triples = (0..count).flat_map(|a| (0..a).map(move |b| (a, b)));
            triples.into_iter().all(|(a, b)| points.iter().all(|c| side([points[a], points[b], *c], *point) == 0))
        });
        prop_assert_eq!(flat, hull.is_err(), "{:?}", hull);
        let Ok(hull) = hull else { return Ok(()) };
        prop_assert_eq!(&Region::parse(&hull.to_string()).unwrap(), &hull);
        let bound = hull.bind(&named(&XYZ)).unwrap();
        for at in 0..9 * 9 * 9 {
            let point = [at / 81 - 4, at / 9 % 9 - 4, at % 9 - 4];
            let inside = planes.iter().all(|(plane, some)| side(*plane, point).signum() * some >= 0);
            prop_assert_eq!(bound.contains(&place(point)), inside, "{:?}", point);
        }
    }
}

#[test]
fn hulls_of_many_points_and_of_none() {
    // A sphere, a grid whose faces have hundreds of points in one plane, and a needle.
    let sphere = (0..2000).map(|at| {
        let (turn, height) = (f64::from(at) * 2.4, f64::from(at) / 1000.0 - 0.9995);
        let width = (1.0 - height * height).sqrt();
        [width * turn.cos(), width * turn.sin(), height]
    });
    let sphere: Vec<[f64; 3]> = sphere.collect();
    let bound = Region::hull(&sphere).unwrap().bind(&named(&XYZ)).unwrap();
    assert!(sphere.iter().all(|point| bound.contains(point)));
    assert!(bound.contains(&[0.57; 3]) && !bound.contains(&[0.58; 3]));
    let grid: Vec<[f64; 3]> = (0..1000)
        .map(|at| [at / 100, at / 10 % 10, at % 10].map(f64::from))
        .collect();
    let bound = Region::hull(&grid).unwrap().bind(&named(&XYZ)).unwrap();
    assert!(bound.contains(&[9.0; 3]) && bound.contains(&[0.0, 4.5, 9.0]));
    assert!(!bound.contains(&[9.000_000_1, 5.0, 5.0]));
    let few = "expected at least four points that are not in one plane";
    for (points, found) in [
        (&[][..], "0 points"),
        (&[[0.0; 3], [1.0; 3], [2.0; 3]], "3 points"),
        (&[[1.0; 3]; 5], "one point, repeated"),
        (
            &[[0.0; 3], [1.0; 3], [2.0; 3], [3.0; 3]],
            "points on one line",
        ),
        (
            &[
                [0.0; 3],
                [1.0, 0.0, 0.1],
                [0.0, 1.0, 0.2],
                [2.0, 0.0, 0.2],
                [0.0, 2.0, 0.4],
            ],
            "points in one plane",
        ),
    ] {
        let error = Region::hull(points).unwrap_err().to_string();
        assert_eq!(error, format!("hull: found {found}, {few}"));
    }
    let error = Region::hull(&[[f64::NAN; 3]; 4]).unwrap_err().to_string();
    assert!(
        error.starts_with("hull: found the coordinate NaN"),
        "{error}"
    );
    let error = Region::parse("hull(0 0 0, 1 1 1)").unwrap_err().to_string();
    assert!(error.contains("found 2 points"), "{error}");
}
