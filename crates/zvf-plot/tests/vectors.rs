//! SVG files.

use anyhow::{Context, Result};
use zvf_plot::{ColorBy, PlotOptions, Rgb, plot_svg};
use zvf_query::Class;

use crate::made::{Made, plain};

#[test]
fn shapes_are_where_the_formulas_say() -> Result<()> {
    let made = Made::points(&[[10.5, 20.5, 3.0], [-30.5, -5.5, 9.0]])?;
    let mut layer = made.layer()?;
    layer.color = ColorBy::Solid(Rgb(255, 0, 0));
    layer.point_size = Some(4.0);
    let svg = made.wait(plot_svg(&[layer], &plain(100, 80)))?.picture;
    let near = "<circle cx=\"19.50\" cy=\"45.50\" r=\"2.00\" fill=\"#ff0000\"/>";
    let far = "<circle cx=\"60.50\" cy=\"19.50\" r=\"2.00\" fill=\"#ff0000\"/>";
    // Shapes are sorted from far to near, so that near ones are drawn over far ones.
    let places = [far, near].map(|circle| svg.find(circle));
    assert!(places[0].is_some() && places[0] < places[1], "{svg}");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    Ok(())
}

#[test]
fn a_chain_of_one_color_is_one_path() -> Result<()> {
    let made = Made::lines(
        &[
            [0.0, 0.0, 0.0],
            [10.0, 0.0, 0.0],
            [10.0, 10.0, 0.0],
            [-5.0, 0.0, 1.0],
            [-5.0, 9.0, 1.0],
        ],
        &[3, 2],
    )?;
    let mut layer = made.layer()?;
    layer.color = ColorBy::Solid(Rgb(0, 0, 255));
    let svg = made
        .wait(plot_svg(&[layer.clone()], &plain(100, 80)))?
        .picture;
    assert_eq!(svg.matches("<path").count(), 2, "{svg}");
    assert!(
        svg.contains("d=\"M50.00 40.00L60.00 40.00L60.00 30.00\""),
        "{svg}"
    );
    layer.color = ColorBy::Direction;
    let svg = made.wait(plot_svg(&[layer], &plain(100, 80)))?.picture;
    assert_eq!(svg.matches("<path").count(), 3);
    assert!(svg.contains("stroke=\"#ff0000\"") && svg.contains("stroke=\"#00ff00\""));
    Ok(())
}

#[test]
fn faces_are_polygons_with_light_and_names_are_escaped() -> Result<()> {
    let made = Made::mesh(
        &[[-9.0, -9.0, 5.0], [9.0, -9.0, 5.0], [0.0, 9.0, 5.0]],
        &[0, 1, 2],
    )?;
    let (mut one, mut other) = (made.layer()?, made.layer()?);
    one.name = "a < b & c".into();
    other.name = "d\u{ffff}e".into();
    let options = PlotOptions {
        decorated: true,
        background: Some(Rgb::WHITE),
        ..plain(300, 300)
    };
    let svg = made.wait(plot_svg(&[one, other], &options))?.picture;
    assert_eq!(svg.matches("<polygon").count(), 2);
    assert!(svg.contains(">a &lt; b &amp; c</text>"), "{svg}");
    assert!(svg.contains(">d e</text>"), "{svg}");
    Ok(())
}

#[test]
fn too_many_shapes_are_an_error_that_says_what_helps() -> Result<()> {
    let made = Made::points(&[[0.0; 3]; 11])?;
    let options = |shapes| PlotOptions {
        shapes,
        ..plain(20, 20)
    };
    made.wait(plot_svg(&[made.layer()?], &options(11)))?;
    let error = made.wait(plot_svg(&[made.layer()?], &options(10))).err();
    let error = error.context("more shapes than allowed were written")?;
    assert_eq!(error.class(), Class::Limit);
    assert!(
        error.to_string().contains("a PNG file takes any number"),
        "{error}"
    );
    let mut layer = made.layer()?;
    layer.color = ColorBy::Density;
    let error = made.wait(plot_svg(&[layer], &options(11))).err();
    let error = error.context("a density was written")?;
    assert_eq!(error.class(), Class::Misuse);
    Ok(())
}
