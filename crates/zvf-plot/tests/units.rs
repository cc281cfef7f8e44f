//! Axes of different units.

use anyhow::Result;
use zvf_plot::{Layer, Orientation, PlotOptions, plot_svg};
use zvf_write::{Axis, Batch, Kind, StoreSpec};

use crate::made::{Made, plain};

/// Points in a store whose axes have units.
fn made(units: [Option<&str>; 3], positions: &[[f32; 3]]) -> Result<Made> {
    let axes = ["x", "y", "z"].iter().zip(units).map(|(name, unit)| {
        let mut axis = Axis::new(*name, "space");
        axis.unit = unit.map(str::to_owned);
        axis
    });
    let spec = StoreSpec::new(Kind::PointCloud, [1e6; 3]).with_axes(axes.collect());
    Made::new(spec, &Batch::new(positions.as_flattened()))
}

/// The places of the points in a picture of one unit for a pixel, each layer's in their order, and the warnings.
fn drawn(made: &Made, layers: &[Layer], view: &str) -> Result<(Vec<[f64; 2]>, Vec<String>)> {
    let options = PlotOptions {
        view: view.parse::<Orientation>()?,
        ..plain(400, 400)
    };
    let drawing = made.wait(plot_svg(layers, &options))?;
    let number = |text: &str, name: &str| -> Result<f64> {
        let rest = text.split_once(&format!("{name}=\"")).unwrap_or_default().1;
        Ok(rest.split_once('"').unwrap_or_default().0.parse()?)
    };
    let circles = drawing.picture.split("<circle ").skip(1);
    let places = circles.map(|circle| Ok([number(circle, "cx")?, number(circle, "cy")?]));
    let mut places = places.collect::<Result<Vec<_>>>()?;
    places.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    Ok((places, drawing.warnings))
}

const UM: Option<&str> = Some("micrometer");
const NM: Option<&str> = Some("nanometer");

fn near(found: &[[f64; 2]], expected: &[[f64; 2]]) -> bool {
    let pairs = found.iter().flatten().zip(expected.iter().flatten());
    found.len() == expected.len() && pairs.into_iter().all(|(a, b)| (a - b).abs() < 0.1)
}

#[test]
fn every_axis_is_converted_by_its_own_unit() -> Result<()> {
    let places = [[0.0, 0.0, 0.0], [100.0, 0.0, 0.0], [0.0, 0.0, 100_000.0]];
    let one = made([UM, UM, NM], &places)?;
    let (found, warnings) = drawn(&one, &[one.layer()?], "xz")?;
    assert!(warnings.is_empty(), "{warnings:?}");
    let expected = [[200.0, 100.0], [200.0, 200.0], [300.0, 200.0]];
    assert!(near(&found, &expected), "{found:?}");

    // The same points in other units.
    let places = [[0.0, 0.0, 0.0], [100_000.0, 0.0, 0.0], [0.0, 0.0, 100.0]];
    let other = made([NM, NM, UM], &places)?;
    let (both, warnings) = drawn(&one, &[one.layer()?, other.layer()?], "xz")?;
    assert!(warnings.is_empty(), "{warnings:?}");
    let twice: Vec<[f64; 2]> = expected.iter().flat_map(|place| [*place, *place]).collect();
    assert!(near(&both, &twice), "{both:?}");
    Ok(())
}

#[test]
fn units_that_cannot_be_converted_are_a_warning() -> Result<()> {
    let places = [[0.0, 0.0, 0.0], [100.0, 0.0, 0.0], [0.0, 0.0, 50.0]];
    for units in [[UM, UM, None], [UM, UM, Some("second")], [None, UM, UM]] {
        let made = made(units, &places)?;
        let (found, warnings) = drawn(&made, &[made.layer()?], "xz")?;
        let expected = [[200.0, 150.0], [200.0, 200.0], [300.0, 200.0]];
        assert!(near(&found, &expected), "{found:?}");
        let told = warnings
            .iter()
            .filter(|text| text.contains("are drawn unconverted"));
        assert_eq!(told.count(), 1, "{warnings:?}");
    }
    for units in [[None; 3], [Some("voxel"); 3]] {
        let made = made(units, &places)?;
        let (_, warnings) = drawn(&made, &[made.layer()?], "xz")?;
        assert!(warnings.is_empty(), "{warnings:?}");
    }
    Ok(())
}

/// x points right and y up, in whatever order the store has its two axes.
#[test]
fn two_axes_are_told_by_their_names() -> Result<()> {
    let axes = ["y", "x"].map(|name| Axis::new(name, "space"));
    let spec = StoreSpec::new(Kind::PointCloud, [100.0; 2]).with_axes(axes.to_vec());
    let made = Made::new(spec, &Batch::new(&[0.0_f32, 0.0, 10.0, 50.0][..]))?;
    let (found, _) = drawn(&made, &[made.layer()?], "xy")?;
    assert!(near(&found, &[[200.0, 200.0], [250.0, 190.0]]), "{found:?}");
    Ok(())
}
