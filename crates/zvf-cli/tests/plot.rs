//! `zvf plot`: pictures in files, on stdout and in the terminal.

use anyhow::{Context, Result};
use serde_json::json;

use crate::run::Home;

/// Width and height of a PNG file, from its header.
fn size(png: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| {
        let bytes = png.get(at..at + 4)?;
        bytes
            .iter()
            .try_fold(0_u32, |sum, byte| Some(sum * 256 + u32::from(*byte)))
    };
    png.starts_with(b"\x89PNG\r\n\x1a\n").then_some(())?;
    Some((number(16)?, number(20)?))
}

#[test]
fn a_picture_is_a_file_and_its_camera_is_told() -> Result<()> {
    let home = Home::new("real_tractogram")?;
    let said = home.json(&[
        "plot",
        "store.zarrvectors",
        "-o",
        "out.png",
        "--view",
        "yz",
        "--size",
        "320,240",
        "--json",
    ])?;
    assert_eq!(
        size(&std::fs::read(home.file("out.png"))?),
        Some((320, 240))
    );
    assert_eq!(said["file"], json!("out.png"));
    assert_eq!(said["camera"]["right"], json!([0.0, 1.0, 0.0]));
    assert_eq!(said["camera"]["up"], json!([0.0, 0.0, 1.0]));
    assert_eq!(said["layers"][0]["vertices"], json!(7236));
    // Draws the picture again over the old one, with the reported camera.
    let target = said["camera"]["target"].to_string();
    let target = target.trim_matches(['[', ']']);
    let units = said["camera"]["units_per_pixel"].to_string();
    let line = [
        "plot",
        "store.zarrvectors",
        "-o",
        "out.png",
        "--center",
        target,
        "--units-per-pixel",
        &units,
        "--view",
        "yz",
    ];
    let ran = home.zvf(&line)?;
    assert_eq!((ran.code, ran.stdout.len()), (0, 0), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("drew store.zarrvectors: 7 236 vertices of level 0"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        size(&std::fs::read(home.file("out.png"))?),
        Some((1200, 900))
    );
    assert_eq!(home.names()?, ["out.png", "store.zarrvectors"]);
    Ok(())
}

#[test]
fn stdout_and_the_terminal_get_pictures() -> Result<()> {
    let home = Home::new("real_skeleton")?;
    let ran = home.zvf(&[
        "plot",
        "store.zarrvectors",
        "-o",
        "-",
        "--size",
        "64x48",
        "-q",
    ])?;
    assert_eq!(
        (ran.code, size(&ran.stdout)),
        (0, Some((64, 48))),
        "{}",
        ran.stderr
    );
    let svg = home.text(&[
        "plot",
        "store.zarrvectors",
        "-o",
        "-",
        "--format",
        "svg",
        "-q",
    ])?;
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    // The skeleton has 4,465 vertices.
    assert!(svg.matches("<path").count() > 1000);
    let text = home.text(&["plot", "store.zarrvectors", "--show", "--view", "x-z", "-q"])?;
    assert!(text.lines().count() > 20 && text.contains('@'), "{text}");
    assert!(text.is_ascii() && !text.contains('\x1b'));
    let kitty = home.text(&["plot", "store.zarrvectors", "--show=kitty", "-q"])?;
    assert!(kitty.starts_with("\x1b_Ga=T,f=100,m=1;iVBORw0KGgo"));
    let both = home.text(&[
        "plot",
        "store.zarrvectors",
        "--show=text",
        "-o",
        "out.svg",
        "-q",
    ])?;
    assert!(both.lines().count() > 20);
    assert!(std::fs::read_to_string(home.file("out.svg"))?.starts_with("<svg "));
    Ok(())
}

/// The picture that a terminal draws for sixels on an empty screen: width, height, and red, green and blue of each pixel, in percent.
fn drawn(text: &str) -> Result<(usize, usize, Vec<[u32; 3]>)> {
    let body = text
        .strip_prefix("\x1bP")
        .context("no device control string")?;
    let (body, rest) = body.split_once("\x1b\\").context("no end")?;
    anyhow::ensure!(
        rest == "\n" && body.is_ascii(),
        "{rest:?} behind the picture"
    );
    let (_, body) = body.split_once('q').context("no sixels")?;
    let mut rest = body.as_bytes();
    let (mut size, mut pixels) = ([0; 4], Vec::new());
    let (mut colors, mut color) = (std::collections::BTreeMap::new(), [0; 3]);
    let (mut x, mut y, mut repeat) = (0, 0, 1);
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        // The parameters of a command.
        let mut numbers: Vec<u32> = Vec::new();
        if matches!(byte, b'"' | b'#' | b'!') {
            let end = rest
                .iter()
                .position(|one| !one.is_ascii_digit() && *one != b';');
            let (digits, after) = rest.split_at(end.unwrap_or(rest.len()));
            rest = after;
            for number in std::str::from_utf8(digits)?.split(';') {
                numbers.push(number.parse()?);
            }
        }
        match (byte, numbers.as_slice()) {
            (b'"', [high, wide, width, height]) => {
                size = [*high, *wide, *width, *height];
                pixels = vec![[0; 3]; usize::try_from(width * height)?];
            }
            (b'#', [register, 2, red, green, blue]) => {
                anyhow::ensure!(*register < 256 && red.max(green).max(blue) <= &100);
                colors.insert(*register, [*red, *green, *blue]);
            }
            (b'#', [register]) => color = *colors.get(register).context("an unknown colour")?,
            (b'!', [count]) => repeat = usize::try_from(*count)?,
            (b'$', []) => x = 0,
            (b'-', []) => (x, y) = (0, y + 6),
            (b'?'..=b'~', []) => {
                let width = usize::try_from(size[2])?;
                for x in x..x + repeat {
                    anyhow::ensure!(x < width, "beyond the right edge");
                    for row in (0..6).filter(|row| (byte - b'?') >> row & 1 == 1) {
                        *pixels
                            .get_mut((y + row) * width + x)
                            .context("below the picture")? = color;
                    }
                }
                (x, repeat) = (x + repeat, 1);
            }
            _ => anyhow::bail!("unknown: {byte} {numbers:?}"),
        }
    }
    anyhow::ensure!(size[..2] == [1, 1], "pixels that are not square");
    Ok((usize::try_from(size[2])?, usize::try_from(size[3])?, pixels))
}

#[test]
fn sixels_are_the_picture_in_256_colours() -> Result<()> {
    for case in ["real_skeleton", "real_tractogram", "real_mesh"] {
        let home = Home::new(case)?;
        // The height is not a multiple of six.
        let line = [
            "plot",
            "store.zarrvectors",
            "--size",
            "160,131",
            "-q",
            "--show=sixel",
        ];
        let text = home.text(&[&line[..], &["-o", "out.png"]].concat())?;
        let (width, height, pixels) = drawn(&text)?;
        assert_eq!((width, height), (160, 131), "{case}");
        let file = std::io::BufReader::new(std::fs::File::open(home.file("out.png"))?);
        let mut reader = png::Decoder::new(file).read_info()?;
        let mut samples = vec![0; reader.output_buffer_size().context("size")?];
        let channels = reader.next_frame(&mut samples)?.color_type.samples();
        assert_eq!(samples.len(), width * height * channels);
        let mut colours = std::collections::BTreeSet::new();
        let (mut sum, mut far) = (0, 0);
        for (found, wanted) in pixels.iter().zip(samples.chunks_exact(channels)) {
            colours.insert(*found);
            for (found, wanted) in found.iter().zip(wanted) {
                let step = (found * 255 / 100).abs_diff(u32::from(*wanted));
                (sum, far) = (sum + step, far.max(step));
            }
        }
        let mean = f64::from(sum) / f64::from(160 * 131 * 3);
        println!(
            "{case}: {} colours, {mean:.2} of 255 on average, {far} at most",
            colours.len()
        );
        assert!(
            (8..=256).contains(&colours.len()),
            "{case}: {} colours",
            colours.len()
        );
        assert!(
            mean < 2.0 && far <= 40,
            "{case}: {mean} of 255 on average, {far} at most"
        );
    }
    Ok(())
}

#[test]
fn several_stores_are_one_picture() -> Result<()> {
    let home = Home::new("real_skeleton")?;
    let mesh = zvf_testkit::unpacked("real_mesh")?.url()?;
    let said = home.json(&[
        "plot",
        "store.zarrvectors",
        &mesh,
        "--color",
        "orange",
        "--color",
        "#8899aa",
        "-o",
        "both.png",
        "--json",
    ])?;
    let vertices: Vec<_> = said["layers"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| &one["vertices"])
        .collect();
    assert_eq!(vertices, [&json!(4465), &json!(6309)]);
    Ok(())
}

#[test]
fn colors_of_an_attribute_have_its_range() -> Result<()> {
    let home = Home::new("real_synapses")?;
    let line = [
        "plot",
        "store.zarrvectors",
        "--color",
        "confidence",
        "-o",
        "out.png",
        "--json",
    ];
    let said = home.json(&line)?;
    let low = said["layers"][0]["range"][0].as_f64();
    assert!(low.is_some_and(|low| (0.0..1.0).contains(&low)), "{said}");
    let said = home.json(&[&line[..], &["--range", "0,2", "--colormap", "turbo"]].concat())?;
    assert_eq!(said["layers"][0]["range"], json!([0.0, 2.0]));
    let few = home.json(&[&line[..], &["--where", "confidence > 0.99"]].concat())?;
    assert!(few["layers"][0]["vertices"].as_u64() < said["layers"][0]["vertices"].as_u64());
    Ok(())
}

#[test]
fn mistakes_are_said_and_leave_what_was_there() -> Result<()> {
    let home = Home::new("real_synapses")?;
    std::fs::write(home.file("out.png"), "old")?;
    let cases: [(&[&str], i32, &str); 18] = [
        (
            &["-o", "out.jpg"],
            2,
            "found .jpg, expected a name that ends in .png or .svg",
        ),
        (&["-o", "out"], 2, "found no ending"),
        (
            &["-o", "out.png", "--format", "svg"],
            2,
            "another ending than that of --format",
        ),
        (&[], 2, "--output <FILE>"),
        (
            &["-o", "store.zarrvectors/out.png"],
            2,
            "expected a place outside of every store",
        ),
        (
            &["-o", "store.zarrvectors/0/zarr.png"],
            2,
            "expected a place outside of every store",
        ),
        (
            &["-o", "out.png", "--color", "fa"],
            2,
            "or an attribute of vertices (confidence, pre)",
        ),
        (
            &["-o", "out.png", "--color", "direction"],
            2,
            "points have no direction",
        ),
        (
            &["-o", "out.png", "--color", "confidence[3]"],
            2,
            "1 channel, found channel 3",
        ),
        (
            &["-o", "out.png", "--view", "xx"],
            2,
            "expected two axes such as xy",
        ),
        (
            &["-o", "out.png", "--size", "0,5"],
            2,
            "expected width and height from 1 to 32768",
        ),
        (&["-o", "out.png", "--level", "9"], 2, "level"),
        (&["-o", "-", "--json"], 2, "both want stdout"),
        (&["-o", "-", "--show"], 2, "both want stdout"),
        (
            &["-o", "-", "--print-job"],
            2,
            "--output: found -, expected a path or URL that ends in .png or .svg",
        ),
        (&["--show", "--print-job"], 2, "cannot be used with"),
        (
            &["-o", "out.png", "--fading", "2"],
            2,
            "found \"2\", expected a number from 0 to 1",
        ),
        (
            &["-o", "out.png", "--color", "red", "--color", "blue"],
            2,
            "--color: found 2 for 1 stores, expected one, or one for each",
        ),
    ];
    for (flags, code, what) in cases {
        let ran = home.zvf(&[&["plot", "store.zarrvectors"], flags].concat())?;
        assert_eq!(ran.code, code, "{flags:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(what), "{flags:?}: {}", ran.stderr);
    }
    let ran = home.zvf(&["plot", "store.zarrvectors", "other.zv", "-o", "out.png"])?;
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let two = [
        "plot",
        "store.zarrvectors",
        "store.zarrvectors",
        "-o",
        "out.png",
    ];
    let ran = home.zvf(&[&two[..], &["--where", "confidence > 0.5"]].concat())?;
    assert!(
        ran.code == 2 && ran.stderr.contains("are for one store"),
        "{}",
        ran.stderr
    );
    assert_eq!(std::fs::read(home.file("out.png"))?, b"old");
    assert_eq!(home.names()?, ["out.png", "store.zarrvectors"]);
    Ok(())
}

#[test]
fn a_mesh_above_the_budget_is_a_limit() -> Result<()> {
    let home = Home::new("real_mesh")?;
    let ran = home.zvf(&[
        "plot",
        "store.zarrvectors",
        "--vertices",
        "100",
        "-o",
        "out.png",
        "--level",
        "0",
    ])?;
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("more than 100 linked vertices"),
        "{}",
        ran.stderr
    );
    assert_eq!(home.names()?, ["store.zarrvectors"]);
    Ok(())
}

/// The points of an SVG file have the colours of their categories in order, and the legend has their names.
#[test]
fn categories_have_colours_in_their_order_and_names() -> Result<()> {
    let names: Vec<String> = (0..12).map(|n| format!("type {n}")).collect();
    let rows = |count: usize| -> String {
        let rows = names.iter().take(count).enumerate();
        let rows = rows.map(|(n, name)| format!("{n},0,0,{name}\n"));
        std::iter::once("x,y,z,type\n".to_owned())
            .chain(rows)
            .collect()
    };
    let home = Home::made(&[
        ("../ten.csv", rows(10).into()),
        ("../more.csv", rows(12).into()),
    ])?;
    // The attribute by whose values chunks are divided is none of the vertices.
    let by_chunk = &["--chunk-by", "type"][..];
    for (name, count, flags) in [
        ("ten", 10, &[][..]),
        ("more", 12, &[]),
        ("ten", 10, by_chunk),
    ] {
        let (file, store) = (format!("{name}.csv"), format!("{name}{}.zv", flags.len()));
        home.text(&[&["import", &file, &store], flags].concat())?;
        let ran = home.zvf(&[
            "plot", &store, "--color", "type", "--fading", "0", "-o", "o.svg",
        ])?;
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let shared = ran
            .stderr
            .contains("12 categories have 10 colours: some have the same one");
        assert_eq!(shared, count == 12, "{}", ran.stderr);
        let svg = std::fs::read_to_string(home.file("o.svg"))?;
        let colors: std::collections::BTreeSet<&str> = svg
            .split("<circle")
            .skip(1)
            .filter_map(|circle| circle.split("fill=\"").nth(1)?.split('"').next())
            .collect();
        assert_eq!(colors.len(), 10, "{svg}");
        assert!(
            names
                .iter()
                .take(count)
                .all(|name| svg.contains(name.as_str())),
            "{svg}"
        );
    }
    Ok(())
}

/// East is right and north is up, whichever of the two axes comes first.
#[test]
fn longitude_is_to_the_right() -> Result<()> {
    let table = "lat,lon\n0,0\n1,10\n2,20\n";
    let home = Home::made(&[("../a.csv", table.into())])?;
    for position in ["lat,lon", "lon,lat"] {
        let store = format!("{position}.zv");
        home.text(&["import", "a.csv", &store, "--position", position])?;
        let said = home.json(&["plot", &store, "-o", "p.png", "--json"])?;
        assert_eq!(said["camera"]["target"], json!([10.0, 1.0, 0.0]), "{said}");
    }
    Ok(())
}
