//! Positions and colours in a picture, compared with values that were computed by hand.

use anyhow::Result;
use zvf_plot::{ColorBy, LevelChoice, PlotOptions, Projection, Rgb};
use zvf_query::{BBox, Class};
use zvf_write::{AttributeSpec, Batch, Kind, NumberType, StoreSpec};

use crate::made::{Made, coverage, noise, pixel, plain};

#[test]
fn points_are_where_the_formulas_say() -> Result<()> {
    let made = Made::points(&[[10.5, 20.5, 3.0], [-30.5, -5.5, 9.0], [0.5, 0.5, -4.0]])?;
    let mut layer = made.layer()?;
    layer.color = ColorBy::Solid(Rgb(255, 0, 0));
    layer.point_size = Some(1.0);
    // The middle of the picture is at 50, 40: x grows to the right, the second axis of the view upwards.
    for (view, wanted) in [
        ("xy", [(60, 19), (19, 45), (50, 39)]),
        ("x-y", [(60, 60), (19, 34), (50, 40)]),
        ("xz", [(60, 37), (19, 31), (50, 44)]),
        ("yz", [(70, 37), (44, 31), (50, 44)]),
    ] {
        let options = PlotOptions {
            view: view.parse()?,
            ..plain(100, 80)
        };
        let drawn = made.plot(std::slice::from_ref(&layer), &options)?;
        assert_eq!(drawn.layers[0].vertices, 3);
        let covered = coverage(&drawn.picture);
        for (x, y) in wanted {
            // z is an integer, so that it is on the border of two pixels.
            let found = [y - 1, y].map(|y| covered[y * 100 + x]).iter().sum::<f64>();
            assert!(found > 0.2, "{view}: {x}, {y}");
        }
        let total: f64 = covered.iter().sum();
        assert!((0.7..=3.1).contains(&total), "{view}: {total}");
    }
    Ok(())
}

#[test]
fn perspective_is_what_similar_triangles_give() -> Result<()> {
    // Half of the height is 40 units, under 45 degrees: the viewer is at z = 40.
    let made = Made::points(&[
        [10.0, 0.0, 0.0],
        [10.0, 0.0, 20.0],
        [10.0, 0.0, -40.0],
        [0.0, 0.0, 50.0],
    ])?;
    let mut layer = made.layer()?;
    layer.point_size = Some(3.0);
    let options = PlotOptions {
        projection: Projection::Perspective(90.0),
        ..plain(100, 80)
    };
    let covered = coverage(&made.plot(&[layer], &options)?.picture);
    for (x, y) in [(60, 40), (70, 40), (55, 40)] {
        assert!(covered[y * 100 + x] > 0.4, "{x}, {y}");
    }
    // The point behind the viewer is not drawn: three dots of seven pixels remain.
    let total: f64 = covered.iter().sum();
    assert!((15.0..28.0).contains(&total), "{total}");
    Ok(())
}

#[test]
fn nearer_things_hide_farther_ones() -> Result<()> {
    let near = Made::mesh(
        &[[-9.0, -9.0, 5.0], [9.0, -9.0, 5.0], [0.0, 9.0, 5.0]],
        &[0, 1, 2],
    )?;
    let far = Made::mesh(
        &[[-9.0, -9.0, -5.0], [9.0, -9.0, -5.0], [0.0, 9.0, -5.0]],
        &[0, 1, 2],
    )?;
    let (mut red, mut blue) = (near.layer()?, far.layer()?);
    red.color = ColorBy::Solid(Rgb(255, 0, 0));
    blue.color = ColorBy::Solid(Rgb(0, 0, 255));
    for projection in [Projection::Orthographic, Projection::Perspective(30.0)] {
        for (view, front) in [("xy", 'r'), ("-xy", 'b')] {
            for layers in [[red.clone(), blue.clone()], [blue.clone(), red.clone()]] {
                let options = PlotOptions {
                    view: view.parse()?,
                    projection,
                    ..plain(40, 40)
                };
                let (color, opaque) = pixel(&near.plot(&layers, &options)?.picture, 20, 20);
                assert_eq!(opaque, 255);
                let found = if color.0 > color.2 { 'r' } else { 'b' };
                assert_eq!(found, front, "{view} {projection:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn numbers_have_the_colors_of_the_map() -> Result<()> {
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3])
        .with_vertex_attribute(AttributeSpec::number("fa", NumberType::F32).with_unit("percent"));
    let positions = [
        -20.0_f32, 0.0, 0.0, 0.0, 0.0, 0.0, 20.0, 0.0, 0.0, 0.0, 15.0, 0.0,
    ];
    let batch = Batch::new(&positions[..]).with_attribute("fa", &[2.0_f32, 3.0, 4.0, f32::NAN][..]);
    let made = Made::new(spec, &batch)?;
    let mut layer = made.layer()?;
    layer.color = "fa".parse()?;
    layer.point_size = Some(3.0);
    let drawn = made.plot(&[layer.clone()], &plain(80, 60))?;
    assert_eq!(drawn.layers[0].range, Some((2.0, 4.0)));
    let color = |x, y| pixel(&drawn.picture, x, y).0;
    // Entries 0, 127 or 128, and 255 of viridis, and grey for missing values.
    let near = |a: Rgb, b: Rgb| {
        a.0.abs_diff(b.0)
            .max(a.1.abs_diff(b.1))
            .max(a.2.abs_diff(b.2))
            <= 2
    };
    assert!(near(color(20, 30), Rgb(68, 1, 84)), "{}", color(20, 30));
    assert!(near(color(40, 30), Rgb(33, 145, 140)), "{}", color(40, 30));
    assert!(near(color(60, 30), Rgb(253, 231, 37)), "{}", color(60, 30));
    assert!(near(color(40, 15), Rgb(128, 128, 128)), "{}", color(40, 15));
    layer.range = Some((2.0, 6.0));
    let drawn = made.plot(&[layer], &plain(80, 60))?;
    assert!(near(pixel(&drawn.picture, 60, 30).0, Rgb(33, 145, 140)));
    Ok(())
}

#[test]
fn directions_are_red_green_and_blue() -> Result<()> {
    let made = Made::lines(
        &[
            [-20.0, 10.0, 0.0],
            [20.0, 10.0, 0.0],
            [-10.0, -15.0, 3.0],
            [-10.0, 5.0, 3.0],
            [5.0, -5.0, 0.0],
            [15.0, -15.0, 0.0],
        ],
        &[2, 2, 2],
    )?;
    let mut layer = made.layer()?;
    layer.line_width = Some(3.0);
    let picture = made.plot(&[layer], &plain(60, 60))?.picture;
    assert_eq!(pixel(&picture, 30, 20), (Rgb(255, 0, 0), 255));
    assert_eq!(pixel(&picture, 20, 35), (Rgb(0, 255, 0), 255));
    assert_eq!(pixel(&picture, 40, 40), (Rgb(180, 180, 0), 255));
    Ok(())
}

#[test]
fn densities_count() -> Result<()> {
    let mut positions = vec![[0.5_f32, 0.5, 0.0]; 100];
    positions.extend([[5.5, 0.5, 0.0]; 10]);
    positions.push([-5.5, 0.5, 0.0]);
    let made = Made::points(&positions)?;
    let mut layer = made.layer()?;
    layer.color = ColorBy::Density;
    let drawn = made.plot(&[layer], &plain(20, 20))?;
    assert_eq!(drawn.layers[0].range, Some((1.0, 100.0)));
    let covered = coverage(&drawn.picture);
    assert_eq!(covered.iter().sum::<f64>(), 3.0);
    let light = [4, 15, 10].map(|x| pixel(&drawn.picture, x, 9).0.luminance());
    assert!(light[0] < light[1] && light[1] < light[2], "{light:?}");
    // The brightest colour of magma.
    assert_eq!(pixel(&drawn.picture, 10, 9).0, Rgb(252, 253, 191));
    Ok(())
}

#[test]
fn lengths_of_other_units_are_converted() -> Result<()> {
    let spec = |unit| StoreSpec::new(Kind::PointCloud, [1e5; 3]).with_unit(unit);
    let nano = Made::new(
        spec("nanometer"),
        &Batch::new(&[10_000.0_f32, 0.0, 0.0][..]),
    )?;
    let micro = Made::new(spec("micrometer"), &Batch::new(&[10.0_f32, 0.0, 0.0][..]))?;
    let options = PlotOptions {
        look_at: Some(([0.0; 3], 1000.0)),
        ..plain(40, 40)
    };
    let alone = nano.plot(&[nano.layer()?], &options)?;
    let mut both = nano.plot(&[nano.layer()?, micro.layer()?], &options)?;
    assert_eq!(coverage(&both.picture), coverage(&alone.picture));
    assert!(both.warnings.is_empty(), "{:?}", both.warnings);
    let none = Made::points(&[[10_000.0, 0.0, 0.0]])?;
    both = nano.plot(&[nano.layer()?, none.layer()?], &options)?;
    assert!(
        both.warnings[0].contains("found no unit, expected nanometer"),
        "{:?}",
        both.warnings
    );
    Ok(())
}

#[test]
fn everything_is_in_the_picture_and_fills_it() -> Result<()> {
    let mut next = noise(5);
    let positions: Vec<[f32; 3]> = (0..500)
        .map(|_| {
            [
                next() as f32 * 900.0,
                next() as f32 * 50.0 - 1e4,
                next() as f32 * 20.0,
            ]
        })
        .collect();
    let made = Made::points(&positions)?;
    for (view, projection) in [
        ("xy", Projection::Orthographic),
        ("iso", Projection::Perspective(50.0)),
    ] {
        let options = PlotOptions {
            size: [200, 150],
            view: view.parse()?,
            projection,
            decorated: false,
            ..PlotOptions::default()
        };
        let drawn = made.plot(&[made.layer()?], &options)?;
        let seen: Vec<_> = positions
            .iter()
            .filter_map(|one| drawn.camera.project(one.map(f64::from)))
            .collect();
        assert_eq!(seen.len(), 500);
        let inside = |x: f64, y: f64| (2.0..198.0).contains(&x) && (2.0..148.0).contains(&y);
        assert!(seen.iter().all(|one| inside(one.x, one.y)), "{view}");
        let wide = seen.iter().map(|one| one.x).fold(0.0, f64::max);
        assert!(wide > 190.0, "{view}: {wide}");
    }
    Ok(())
}

#[test]
fn what_cannot_be_drawn_is_an_error_of_its_class() -> Result<()> {
    let points = Made::points(&[[0.0; 3], [1.0; 3]])?;
    let mesh = Made::mesh(&[[0.0; 3], [1.0; 3], [2.0, 0.0, 0.0]], &[0, 1, 2])?;
    let fails = |made: &Made,
                 change: fn(&mut zvf_plot::Layer),
                 options: &PlotOptions|
     -> Result<(Class, String)> {
        let mut layer = made.layer()?;
        change(&mut layer);
        let error = made.plot(&[layer], options).err();
        Ok(error.map_or((Class::Bug, "drawn".into()), |error| {
            (error.class(), error.to_string())
        }))
    };
    let options = plain(10, 10);
    let (class, what) = fails(&points, |layer| layer.color = ColorBy::Direction, &options)?;
    assert!(
        class == Class::Misuse && what.contains("points have no direction"),
        "{what}"
    );
    let (class, what) = fails(&points, |layer| layer.color = ColorBy::Object, &options)?;
    assert!(
        class == Class::Misuse && what.contains("no object index"),
        "{what}"
    );
    let (class, what) = fails(
        &points,
        |layer| layer.color = ColorBy::Attribute("fa".into(), None),
        &options,
    )?;
    assert!(
        class == Class::Misuse && what.contains("there is none"),
        "{what}"
    );
    let (class, what) = fails(
        &points,
        |layer| layer.level = LevelChoice::Number(7),
        &options,
    )?;
    assert!(class == Class::Misuse, "{what}");
    let few = PlotOptions {
        vertices: 2,
        ..options.clone()
    };
    let (class, what) = fails(&mesh, |_| {}, &few)?;
    assert!(
        class == Class::Limit && what.contains("--vertices"),
        "{what}"
    );
    let large = PlotOptions {
        size: [20_000, 20_000],
        ..options.clone()
    };
    let (class, what) = fails(&points, |_| {}, &large)?;
    assert!(class == Class::Misuse && what.contains("pixels"), "{what}");
    let mut layer = points.layer()?;
    layer.query.bbox = Some(BBox::parse("50,50,50:60,60,60")?);
    let drawn = points.plot(&[layer], &options)?;
    assert_eq!(drawn.warnings, ["nothing to draw: no vertex is selected"]);
    assert_eq!(coverage(&drawn.picture).iter().sum::<f64>(), 0.0);
    Ok(())
}

#[test]
fn faces_that_reach_far_out_of_the_picture_are_cut() -> Result<()> {
    let made = Made::mesh(
        &[
            [0.0, 0.0, 0.0],
            [8.0, 0.0, 0.0],
            [0.0, 8.0, 0.0],
            [1e15, -1e15, 1e15],
        ],
        &[0, 1, 2, 0, 1, 3],
    )?;
    let mut layer = made.layer()?;
    layer.color = ColorBy::Direction;
    for projection in [Projection::Orthographic, Projection::Perspective(60.0)] {
        let options = PlotOptions {
            projection,
            ..plain(40, 40)
        };
        let drawn = made.plot(&[layer.clone()], &options)?;
        assert!(coverage(&drawn.picture).iter().sum::<f64>() >= 30.0);
    }
    Ok(())
}
