//! Compares with pictures that were reviewed; a failure shows the paths of both pictures. `ZVF_BLESS=1` rewrites them; review that like code.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use zvf_plot::{Layer, Picture, PlotOptions, Projection};

use crate::bundled::draw;

/// A PNG file as a picture.
fn read(path: &Path) -> Result<Picture> {
    let file = std::fs::File::open(path)
        .with_context(|| format!("{}: run with ZVF_BLESS=1", path.display()))?;
    let mut decoder = png::Decoder::new(std::io::BufReader::new(file));
    decoder.set_transformations(png::Transformations::ALPHA);
    let mut reader = decoder.read_info()?;
    let mut rgba = vec![0; reader.output_buffer_size().context("a size")?];
    let info = reader.next_frame(&mut rgba)?;
    Ok(Picture::of_rgba(info.width, info.height, rgba)?)
}

/// The mean difference of two pictures by channel, and the share of pixels that differ by more than a fifth.
fn difference(a: &Picture, b: &Picture) -> (f64, f64) {
    let pairs = a.rgba().chunks_exact(4).zip(b.rgba().chunks_exact(4));
    let (mut sum, mut far, mut count) = (0_u64, 0_u64, 0_u64);
    for (one, other) in pairs {
        let steps = one
            .iter()
            .zip(other)
            .map(|(a, b)| u64::from(a.abs_diff(*b)));
        sum += steps.clone().sum::<u64>();
        far += u64::from(steps.max().unwrap_or(0) > 51);
        count += 1;
    }
    (sum as f64 / (4 * count) as f64, far as f64 / count as f64)
}

fn golden(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    folder.join(format!("{name}.png"))
}

/// Compares a picture of a bundled store with the one in `tests/golden`.
fn compare(
    name: &str,
    case: &str,
    view: &str,
    adjust: impl Fn(&mut Layer, &mut PlotOptions) -> Result<()>,
) -> Result<()> {
    let mut options = PlotOptions {
        size: [160, 120],
        view: view.parse()?,
        ..PlotOptions::default()
    };
    let probe = zvf_testkit::unpacked(case)?.url()?;
    let store = zvf_store::blocking::Runtime::new()?.wait(zvf_store::Store::open(&probe))?;
    adjust(&mut Layer::new(store, case), &mut options)?;
    let drawn = draw(case, &options, |layer| adjust(layer, &mut options.clone()))?;
    let path = golden(name);
    if std::env::var_os("ZVF_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().context("a folder")?)?;
        return Ok(std::fs::write(path, drawn.picture.to_png()?)?);
    }
    let wanted = read(&path)?;
    let sizes = [&wanted, &drawn.picture].map(|one| [one.width(), one.height()]);
    ensure!(
        sizes[0] == sizes[1],
        "{name}: found {:?} pixels, expected {:?}",
        sizes[1],
        sizes[0]
    );
    let (mean, far) = difference(&wanted, &drawn.picture);
    if mean > 0.5 || far > 0.004 {
        let found = std::env::temp_dir().join(format!("zvf-plot-{name}.png"));
        std::fs::write(&found, drawn.picture.to_png()?)?;
        anyhow::bail!(
            "{name}: a mean difference of {mean:.2} of 255, and {:.2} % of the pixels changed; compare {} with {}",
            far * 100.0,
            found.display(),
            path.display()
        );
    }
    Ok(())
}

#[test]
fn points() -> Result<()> {
    compare("points", "real_synapses", "xz", |_, _| Ok(()))?;
    compare(
        "points-attribute",
        "real_synapses",
        "yz",
        |layer, options| {
            layer.color = "confidence".parse()?;
            options.size = [400, 300];
            Ok(())
        },
    )?;
    compare("points-density", "points_bins", "xy", |layer, _| {
        layer.color = "density".parse()?;
        Ok(())
    })?;
    compare("points-2d", "points_2d_f8", "xy", |_, _| Ok(()))
}

#[test]
fn lines() -> Result<()> {
    compare("lines", "lines", "iso", |_, _| Ok(()))?;
    compare("streamlines", "real_tractogram", "yz", |_, _| Ok(()))?;
    compare(
        "streamlines-object",
        "real_tractogram",
        "iso",
        |layer, options| {
            layer.color = "object".parse()?;
            options.projection = Projection::Perspective(40.0);
            Ok(())
        },
    )?;
    compare(
        "streamlines-length",
        "real_tractogram",
        "xz",
        |layer, options| {
            layer.color = "length".parse()?;
            layer.colormap = Some("turbo".parse()?);
            options.size = [400, 300];
            Ok(())
        },
    )?;
    compare("streamlines-box", "real_tractogram", "yz", |layer, _| {
        layer.query.bbox = Some(zvf_query::BBox::parse("92,82,80:101,92,92")?);
        Ok(())
    })
}

#[test]
fn linked() -> Result<()> {
    compare("graph", "graph", "xy", |_, _| Ok(()))?;
    compare("skeleton", "real_skeleton", "x-z", |_, _| Ok(()))?;
    compare(
        "skeleton-width",
        "real_skeleton",
        "60,20",
        |layer, options| {
            layer.line_width = Some(1.0);
            options.background = Some(zvf_plot::Rgb::WHITE);
            Ok(())
        },
    )
}

#[test]
fn meshes() -> Result<()> {
    compare("mesh", "real_mesh", "xz", |_, _| Ok(()))?;
    compare("quads-direction", "0.8/quads", "iso", |layer, options| {
        layer.color = "direction".parse()?;
        options.projection = Projection::Perspective(60.0);
        Ok(())
    })?;
    compare("mesh-transparent", "mesh", "yz", |_, options| {
        options.background = None;
        Ok(())
    })
}

#[test]
fn differences_are_seen() -> Result<()> {
    let black = Picture::of_rgba(10, 10, [0, 0, 0, 255].repeat(100))?;
    let mut pixels = [0, 0, 0, 255].repeat(100);
    pixels[..4].copy_from_slice(&[255, 255, 255, 255]);
    let dotted = Picture::of_rgba(10, 10, pixels)?;
    assert_eq!(difference(&black, &black), (0.0, 0.0));
    assert_eq!(difference(&black, &dotted), (3.0 * 255.0 / 400.0, 0.01));
    Ok(())
}
