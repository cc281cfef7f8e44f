//! Shapes compared with plain loops over every pixel, and with areas that were computed by hand.

use anyhow::Result;
use zvf_plot::{ColorBy, PlotOptions, Projection, Rgb};

use crate::made::{Made, coverage, noise, pixel, plain};

/// The number of pixels that both pictures cover, as a share of the pixels that at least one of them covers.
fn overlap(found: &[f64], wanted: &[bool]) -> f64 {
    let pairs = || found.iter().zip(wanted);
    let both = pairs()
        .filter(|(found, wanted)| **found >= 0.5 && **wanted)
        .count();
    let any = pairs()
        .filter(|(found, wanted)| **found >= 0.5 || **wanted)
        .count();
    both as f64 / any as f64
}

/// The distance of the middle of a pixel from a line between two positions.
fn distance(x: f64, y: f64, a: [f64; 2], b: [f64; 2]) -> f64 {
    let way = [b[0] - a[0], b[1] - a[1]];
    let square = way[0] * way[0] + way[1] * way[1];
    let share = ((x - a[0]) * way[0] + (y - a[1]) * way[1]) / square;
    let share = share.clamp(0.0, 1.0);
    (x - a[0] - share * way[0]).hypot(y - a[1] - share * way[1])
}

#[test]
fn a_triangle_has_its_area() -> Result<()> {
    // The legs are 40 and 30 units long.
    let made = Made::mesh(
        &[[-15.0, -10.0, 2.0], [25.0, -10.0, 2.0], [-15.0, 20.0, 2.0]],
        &[0, 1, 2],
    )?;
    let covered = coverage(&made.plot(&[made.layer()?], &plain(100, 80))?.picture);
    let area: f64 = covered.iter().sum();
    assert!((area - 600.0).abs() < 6.0, "{area}");
    // A unit is half a pixel, so that the area is a quarter.
    let half = PlotOptions {
        look_at: Some(([0.0; 3], 2.0)),
        ..plain(100, 80)
    };
    let area: f64 = coverage(&made.plot(&[made.layer()?], &half)?.picture)
        .iter()
        .sum();
    assert!((area - 150.0).abs() < 4.0, "{area}");
    Ok(())
}

#[test]
fn faces_that_share_an_edge_leave_no_gap() -> Result<()> {
    let mut next = noise(11);
    // A sheet of 8 by 8 squares, each of two triangles, with uneven corners.
    let mut corners = Vec::new();
    for y in 0..9 {
        for x in 0..9 {
            let inner = (1..8).contains(&x) && (1..8).contains(&y);
            let mut off = || {
                if inner {
                    next() as f32 * 4.0 - 2.0
                } else {
                    0.0
                }
            };
            corners.push([
                x as f32 * 7.0 - 28.0 + off(),
                y as f32 * 7.0 - 28.0 + off(),
                off(),
            ]);
        }
    }
    let mut faces = Vec::new();
    for y in 0..8_u64 {
        for x in 0..8_u64 {
            let at = y * 9 + x;
            faces.extend([at, at + 1, at + 10, at, at + 10, at + 9]);
        }
    }
    let made = Made::mesh(&corners, &faces)?;
    let covered = coverage(&made.plot(&[made.layer()?], &plain(80, 80))?.picture);
    for y in 13..67 {
        for x in 13..67 {
            assert_eq!(covered[y * 80 + x], 1.0, "{x}, {y}");
        }
    }
    let area: f64 = covered.iter().sum();
    assert!((area - 56.0 * 56.0).abs() < 60.0, "{area}");
    Ok(())
}

#[test]
fn lines_cover_what_is_near_them() -> Result<()> {
    let mut next = noise(3);
    let mut positions = Vec::new();
    for _ in 0..12 {
        let mut place = [next() * 100.0 - 50.0, next() * 80.0 - 40.0, next() * 40.0];
        for _ in 0..10 {
            positions.push(place.map(|one| one as f32));
            // Some lines leave the picture.
            place = [
                place[0] + next() * 40.0 - 20.0,
                place[1] + next() * 40.0 - 20.0,
                place[2] + next() * 20.0 - 10.0,
            ];
        }
    }
    let made = Made::lines(&positions, &[10; 12])?;
    for (distance_to, projection) in [
        (None, Projection::Orthographic),
        // Half of the height is 60 units, under half of 60 degrees.
        (Some(60.0 * 3.0_f64.sqrt()), Projection::Perspective(60.0)),
    ] {
        let place = |at: usize| {
            let [x, y, z] = positions[at].map(f64::from);
            let size = distance_to.map_or(1.0, |far| far / (far - z));
            [80.0 + x * size, 60.0 - y * size]
        };
        for width in [2.0, 9.0] {
            let mut wanted = vec![false; 160 * 120];
            for at in (0..120).filter(|at| at % 10 != 9) {
                let (a, b) = (place(at), place(at + 1));
                for (number, wanted) in wanted.iter_mut().enumerate() {
                    let (x, y) = ((number % 160) as f64 + 0.5, (number / 160) as f64 + 0.5);
                    *wanted |= distance(x, y, a, b) <= width / 2.0;
                }
            }
            let mut layer = made.layer()?;
            layer.line_width = Some(width as f32);
            let options = PlotOptions {
                projection,
                ..plain(160, 120)
            };
            let found = coverage(&made.plot(&[layer], &options)?.picture);
            let share = overlap(&found, &wanted);
            // Thin lines are stamped along their longer axis, which makes slanted ones a little thinner.
            let least = if width < 4.0 { 0.72 } else { 0.95 };
            assert!(share > least, "{width} {projection:?}: {share}");
        }
    }
    Ok(())
}

#[test]
fn wide_lines_are_lit_and_thin_ones_have_their_color() -> Result<()> {
    let made = Made::lines(&[[-30.0, 0.0, 0.0], [30.0, 0.0, 0.0]], &[2])?;
    let mut layer = made.layer()?;
    layer.color = ColorBy::Solid(Rgb(200, 200, 200));
    layer.line_width = Some(2.0);
    let thin = made.plot(&[layer.clone()], &plain(80, 40))?.picture;
    assert_eq!(pixel(&thin, 40, 20).0, Rgb(200, 200, 200));
    layer.line_width = Some(20.0);
    let wide = made.plot(&[layer], &plain(80, 40))?.picture;
    // Light is from above: the upper side is brighter than the lower one.
    let (upper, lower) = (pixel(&wide, 40, 13).0, pixel(&wide, 40, 27).0);
    assert!(
        upper.luminance() > 1.3 * lower.luminance(),
        "{upper} {lower}"
    );
    Ok(())
}

#[test]
fn a_ball_is_as_bright_as_its_formula() -> Result<()> {
    let made = Made::points(&[[0.0; 3]])?;
    let mut layer = made.layer()?;
    layer.color = ColorBy::Solid(Rgb::WHITE);
    layer.point_size = Some(60.0);
    let picture = made.plot(&[layer], &plain(80, 80))?.picture;
    let (mut sum, mut wanted) = (0.0, 0.0);
    for y in 0..80 {
        for x in 0..80 {
            let (right, up) = (
                (x as f64 + 0.5 - 40.0) / 30.0,
                (40.0 - y as f64 - 0.5) / 30.0,
            );
            let off = right * right + up * up;
            if off < 0.9 {
                let light = [-0.39736, 0.4967, 0.7716];
                let cosine = right * light[0] + up * light[1] + (1.0 - off).sqrt() * light[2];
                // A surface that faces the viewer has its full colour.
                let full = 0.35 + 0.65 * light[2];
                wanted += f64::min(1.0, (0.35 + 0.65 * f64::max(cosine, 0.0)) / full);
                sum += f64::from(pixel(&picture, x, y).0.luminance());
            }
        }
    }
    assert!((0.98..1.01).contains(&(sum / wanted)), "{}", sum / wanted);
    Ok(())
}
