//! The colours of numbers that float32 does not hold, of missing numbers, and of channels.

use anyhow::Result;
use zvf_plot::{ColorBy, Layer, PlotOptions, plot_svg};
use zvf_write::{AttributeSpec, Batch, Kind, NumberType, ObjectTable, StoreSpec, Values};

use crate::made::{Made, plain};

/// Points in a row with an attribute `v`.
fn made(attribute: AttributeSpec, values: Values, count: u8) -> Result<(Made, Layer)> {
    let positions: Vec<f32> = (0..count)
        .flat_map(|at| [f32::from(at), 0.0, 0.0])
        .collect();
    let spec = StoreSpec::new(Kind::PointCloud, [100.0; 3]).with_vertex_attribute(attribute);
    let made = Made::new(spec, &Batch::new(&positions).with_attribute("v", values))?;
    let mut layer = made.layer()?;
    layer.color = ColorBy::Attribute("v".into(), None);
    Ok((made, layer))
}

fn number(kind: NumberType) -> AttributeSpec {
    AttributeSpec::number("v", kind)
}

/// The parts of an SVG file between two texts.
fn parts<'s>(svg: &'s str, from: &str, to: &str) -> Vec<&'s str> {
    let parts = svg.split(from).skip(1);
    parts
        .filter_map(|part| Some(part.split_once(to)?.0))
        .collect()
}

/// The colours of the points, from left to right, and the texts.
fn drawn(made: &Made, layer: &Layer) -> Result<(Vec<String>, Vec<String>)> {
    let options = PlotOptions {
        decorated: true,
        ..plain(300, 300)
    };
    let svg = made
        .wait(plot_svg(std::slice::from_ref(layer), &options))?
        .picture;
    let mut points: Vec<(f32, String)> = Vec::new();
    for circle in parts(&svg, "<circle cx=\"", "/>") {
        let (x, rest) = circle.split_once('"').unwrap_or_default();
        points.push((x.parse()?, parts(rest, "fill=\"", "\"").concat()));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let texts = parts(&svg, "<text", "</text>").into_iter();
    let texts = texts.filter_map(|text| Some(text.split_once('>')?.1.to_owned()));
    Ok((
        points.into_iter().map(|(_, color)| color).collect(),
        texts.collect(),
    ))
}

/// Five steps of viridis, from matplotlib.
const STEPS: [&str; 5] = ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"];

/// Whether colours are equal up to rounding.
fn alike(colors: &[String], expected: &[&str]) -> bool {
    let near = |(a, b): (&String, &&str)| {
        (1..7).step_by(2).all(|at| {
            let channel = |text: &str| i32::from_str_radix(&text[at..at + 2], 16).unwrap_or(999);
            (channel(a) - channel(b)).abs() <= 2
        })
    };
    colors.len() == expected.len() && colors.iter().zip(expected).all(near)
}

#[test]
fn numbers_of_64_bits_keep_their_differences() -> Result<()> {
    const ID: i64 = 720_575_940_610_000_001;
    let times: Vec<f64> = (0_u8..5).map(|at| 3e8 + f64::from(at) * 5.0).collect();
    let small: Vec<f64> = (0_u8..5).map(|at| 1.0 + f64::from(at) * 1e-9).collect();
    let ids: Vec<i64> = (0..5).map(|at| ID + at).collect();
    let large: Vec<u64> = (0..5).map(|at| u64::MAX - 4 + at).collect();
    let short: Vec<i32> = (0..5).map(|at| 2_000_000_001 + at).collect();
    for (kind, values, base) in [
        (NumberType::F64, Values::from(times), "300000000"),
        (NumberType::F64, small.into(), "1"),
        (NumberType::I64, ids.into(), "720575940610000001"),
        (NumberType::U64, large.into(), "18446744073709551611"),
        (NumberType::I32, short.into(), "2000000001"),
    ] {
        let (made, layer) = made(number(kind), values, 5)?;
        let (colors, texts) = drawn(&made, &layer)?;
        assert!(alike(&colors, &STEPS), "{base}: {colors:?}");
        assert!(texts.contains(&base.to_owned()), "{texts:?}");
        let mut ticks: Vec<&String> = texts.iter().filter(|text| text.starts_with('+')).collect();
        let all = ticks.len();
        ticks.dedup();
        assert!(all >= 4 && ticks.len() == all, "{texts:?}");
    }
    Ok(())
}

#[test]
fn a_range_is_as_exact() -> Result<()> {
    let times: Vec<f64> = [0.0, 3e8, 3e8 + 5.0, 3e8 + 10.0, 4e8].to_vec();
    let (made, mut layer) = made(number(NumberType::F64), times.into(), 5)?;
    layer.range = Some((3e8, 3e8 + 10.0));
    let (colors, _) = drawn(&made, &layer)?;
    let expected = [STEPS[0], STEPS[0], STEPS[2], STEPS[4], STEPS[4]];
    assert!(alike(&colors, &expected), "{colors:?}");
    let drawing = made.wait(plot_svg(&[layer], &plain(300, 300)))?;
    assert_eq!(drawing.layers[0].range, Some((3e8, 3e8 + 10.0)));
    Ok(())
}

#[test]
fn missing_dates_are_grey_and_in_no_range() -> Result<()> {
    const GREY: &str = "#808080";
    for unit in [
        "days since 1970-01-01",
        "microseconds since 1970-01-01T00:00:00",
        "seconds since midnight",
    ] {
        let attribute = || number(NumberType::I64).with_unit(unit);
        let dates = vec![i64::MIN, 19_000, 19_100, 19_200];
        let (made_dates, layer) = made(attribute(), dates.into(), 4)?;
        let (colors, _) = drawn(&made_dates, &layer)?;
        assert!(
            alike(&colors, &[GREY, STEPS[0], STEPS[2], STEPS[4]]),
            "{colors:?}"
        );
        let (none, layer) = made(attribute(), vec![i64::MIN; 2].into(), 2)?;
        assert_eq!(drawn(&none, &layer)?.0, [GREY; 2]);
    }
    let (nan, layer) = made(number(NumberType::F32), vec![f32::NAN; 2].into(), 2)?;
    assert_eq!(drawn(&nan, &layer)?.0, [GREY; 2]);
    Ok(())
}

#[test]
fn channels_are_named() -> Result<()> {
    let values = vec![0.0_f32, 5.0, 1.0, 4.0];
    let attribute = number(NumberType::F32).with_channels(2);
    let (made, mut layer) = made(attribute, values.into(), 2)?;
    for (channel, title, said) in [
        (None, "v[0]", true),
        (Some(0), "v[0]", false),
        (Some(1), "v[1]", false),
    ] {
        layer.color = ColorBy::Attribute("v".into(), channel);
        let (_, texts) = drawn(&made, &layer)?;
        assert!(texts.contains(&title.to_owned()), "{texts:?}");
        let warnings = made
            .wait(plot_svg(&[layer.clone()], &plain(300, 300)))?
            .warnings;
        let found = warnings
            .iter()
            .any(|text| text.contains("v has 2 channels"));
        assert_eq!(found, said, "{warnings:?}");
    }
    Ok(())
}

#[test]
fn differences_beyond_float32_are_refused_or_clipped() -> Result<()> {
    let values: Vec<f64> = (0_u8..5).map(|at| (f64::from(at) + 1.0) * 1e39).collect();
    let (made, mut layer) = made(number(NumberType::F64), values.into(), 5)?;
    let error = made
        .wait(plot_svg(&[layer.clone()], &plain(300, 300)))
        .unwrap_err();
    assert!(error.to_string().contains("3.4e38"), "{error}");
    // All but the first are above the range.
    layer.range = Some((1e39, 1.1e39));
    let (colors, _) = drawn(&made, &layer)?;
    let expected = [STEPS[0], STEPS[4], STEPS[4], STEPS[4], STEPS[4]];
    assert!(alike(&colors, &expected), "{colors:?}");
    layer.range = Some((1e39, 5e39));
    assert!(made.wait(plot_svg(&[layer], &plain(300, 300))).is_err());
    Ok(())
}

/// Without objects, `object_id` is an attribute as any other.
#[test]
fn an_attribute_may_be_called_object_id() -> Result<()> {
    let positions = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 0.0, 0.0];
    let attribute = AttributeSpec::number("object_id", NumberType::F64);
    let spec = StoreSpec::new(Kind::PointCloud, [100.0; 3]).with_vertex_attribute(attribute);
    let batch = Batch::new(&positions[..]).with_attribute("object_id", vec![1.5, 2.5, 3.5]);
    let made = Made::new(spec, &batch)?;
    let mut layer = made.layer()?;
    layer.color = ColorBy::Attribute("object_id".into(), None);
    let (colors, _) = drawn(&made, &layer)?;
    assert!(
        alike(&colors, &[STEPS[0], STEPS[2], STEPS[4]]),
        "{colors:?}"
    );
    Ok(())
}

/// Texts of objects are coloured like texts of vertices.
#[test]
fn texts_of_objects_are_coloured() -> Result<()> {
    const FEW: [&str; 3] = ["#5b9bd5", "#f28e2b", "#59a14f"];
    let positions: Vec<f32> = (0_u8..4).flat_map(|at| [f32::from(at), 0.0, 0.0]).collect();
    let spec = StoreSpec::new(Kind::PointCloud, [100.0; 3])
        .with_objects()
        .with_object_attribute(AttributeSpec::text("kind"));
    let batch = Batch::new(&positions[..]).with_object_ids(&[1, 2, 3, 1][..]);
    let objects = ObjectTable::new(&[1, 2, 3][..])
        .with_attribute("kind", Values::texts(["axon", "soma", "axon"]));
    let made = Made::with_objects(spec, &batch, Some(&objects))?;
    let mut layer = made.layer()?;
    layer.color = ColorBy::Attribute("kind".into(), None);
    let (colors, texts) = drawn(&made, &layer)?;
    assert_eq!(colors, [FEW[0], FEW[1], FEW[0], FEW[0]]);
    for name in ["soma", "axon"] {
        assert!(texts.contains(&name.to_owned()), "{texts:?}");
    }
    layer.color = ColorBy::Attribute("kind".into(), Some(1));
    assert!(made.wait(plot_svg(&[layer], &plain(300, 300))).is_err());
    Ok(())
}
