//! Bundled stores: two ways to draw the same lines, and batches of any size.

use anyhow::{Result, anyhow};
use zvf_plot::{Drawing, Layer, Orientation, Picture, PlotOptions, plot};
use zvf_query::Select;
use zvf_store::Store;
use zvf_store::blocking::Runtime;

/// A picture of a bundled store.
pub(crate) fn draw(
    case: &str,
    options: &PlotOptions,
    change: impl Fn(&mut Layer) -> Result<()>,
) -> Result<Drawing<Picture>> {
    let url = zvf_testkit::unpacked(case)?.url()?;
    Runtime::new()?.wait(async {
        let mut layer = Layer::new(Store::open(&url).await?, "bundled");
        change(&mut layer)?;
        Ok(plot(&[layer], options).await?)
    })
}

fn options() -> Result<PlotOptions> {
    Ok(PlotOptions {
        size: [200, 150],
        view: Orientation::from_angles(30.0, 20.0, zvf_plot::UpAxis::default())?,
        ..PlotOptions::default()
    })
}

/// Stores whose lines follow from the order of rows.
const SEQUENTIAL: [&str; 8] = [
    "0.9/real_tractogram",
    "0.9/streamlines",
    "0.9/lines",
    "0.8/streamlines",
    "0.8/lines",
    "0.7/streamlines",
    "0.6/streamlines",
    "0.9.4/additive_streamlines",
];

#[test]
fn lines_in_the_order_of_rows_are_the_lines_of_the_link_table() -> Result<()> {
    for case in SEQUENTIAL {
        let chained = draw(case, &options()?, |_| Ok(()))?;
        let linked = draw(case, &options()?, |layer| {
            layer.select = Some(Select::Vertices);
            Ok(())
        })?;
        assert!(chained.layers[0].vertices > 0, "{case}");
        let (one, other) = (chained.picture.rgba(), linked.picture.rgba());
        let differ = one
            .iter()
            .zip(other)
            .filter(|(a, b)| a.abs_diff(**b) > 8)
            .count();
        // Positions that are kept for links are rounded to 32 bits.
        assert!(
            differ * 200 < one.len(),
            "{case}: {differ} of {}",
            one.len()
        );
        let dark = one
            .chunks_exact(4)
            .filter(|pixel| pixel[..3] == [0, 0, 0])
            .count();
        assert!(dark * 4 < one.len() - 400, "{case}: nothing is drawn");
    }
    Ok(())
}

#[test]
fn the_picture_does_not_depend_on_batches_and_budgets() -> Result<()> {
    for case in [
        "real_tractogram",
        "real_synapses",
        "real_skeleton",
        "real_mesh",
        "graph",
    ] {
        let usual = draw(case, &options()?, |_| Ok(()))?;
        for (rows, budget) in [(7, 1 << 20), (100, 40_000), (1 << 16, 1 << 30)] {
            let other = draw(case, &options()?, |layer| {
                layer.query.batch_rows = rows;
                layer.query.memory_budget = budget;
                Ok(())
            })?;
            assert!(usual.picture == other.picture, "{case}, batches of {rows}");
        }
    }
    Ok(())
}

#[test]
fn level_auto_takes_the_finest_level_within_the_budget() -> Result<()> {
    for (vertices, level, drawn) in [(2_705, 0, 2_705), (2_704, 1, 30), (30, 1, 30), (5, 1, 30)] {
        let options = PlotOptions {
            vertices,
            ..options()?
        };
        let found = draw("real_synapses", &options, |_| Ok(()))?;
        assert_eq!(
            (found.layers[0].level, found.layers[0].vertices),
            (level, drawn)
        );
    }
    Ok(())
}

#[test]
fn selections_are_drawn_alone() -> Result<()> {
    let covered = |drawn: &Drawing<Picture>| {
        let pixels = drawn.picture.rgba().chunks_exact(4);
        pixels.filter(|pixel| pixel[..3] != [0, 0, 0]).count()
    };
    let all = draw("real_tractogram", &options()?, |_| Ok(()))?;
    let camera = all.camera;
    let same = PlotOptions {
        decorated: false,
        look_at: Some((camera.target(), camera.units_per_pixel())),
        ..options()?
    };
    let all = covered(&draw("real_tractogram", &same, |_| Ok(()))?);
    let few = draw("real_tractogram", &same, |layer| {
        layer.query.objects = Some(vec![42, 42, 7]);
        Ok(())
    })?;
    // One object has 36 vertices, the other 74; the object that is named twice is drawn once.
    assert_eq!(few.layers[0].vertices, 110);
    assert!(
        covered(&few) * 5 < all && covered(&few) > 50,
        "{} of {all}",
        covered(&few)
    );
    let text = draw("real_tractogram", &same, |layer| {
        layer.query.objects = Some(vec![999_999]);
        Ok(())
    });
    let text = text
        .err()
        .ok_or_else(|| anyhow!("an unknown object was drawn"))?;
    assert!(text.to_string().contains("999999"), "{text}");
    Ok(())
}
