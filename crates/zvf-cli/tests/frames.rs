//! Frames of tractograms, maps of positions, and units, as the program reads and shows them.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use zvf_caterva::{WriteOptions, Writer};

use crate::run::Home;

const SIZES: [f32; 3] = [2.0, 1.5, 3.0];
/// Axes to the left, front and top, with the middle of the first voxel at 5, -6, 7.
const AFFINE: [f32; 16] = [
    -2.0, 0.0, 0.0, 5.0, 0.0, 1.5, 0.0, -6.0, 0.0, 0.0, 3.0, 7.0, 0.0, 0.0, 0.0, 1.0,
];
/// Positions in voxels, from the middle of the first one.
const VOXELS: [[f32; 3]; 3] = [[0.0, 0.0, 0.0], [4.5, 1.25, 2.0], [1.0, 3.5, 0.75]];
/// The same positions in scanner millimetres: 5 - 2x, -6 + 1.5y, 7 + 3z.
const PLACES: [&str; 3] = ["5.0,-6.0,7.0", "-4.0,-4.125,13.0", "3.0,-0.75,9.25"];
/// The values of the volume there: 100x + 10y + z.
const VALUES: [&str; 3] = ["0.0", "464.5", "135.75"];

/// One streamline, in an image of 6 x 5 x 4 voxels.
fn trk() -> Vec<u8> {
    let mut bytes = vec![0; 1000];
    let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
    put(0, b"TRACK");
    for (at, extent) in [6_i16, 5, 4].into_iter().enumerate() {
        put(6 + 2 * at, &extent.to_le_bytes());
    }
    for (at, size) in SIZES.into_iter().enumerate() {
        put(12 + 4 * at, &size.to_le_bytes());
    }
    for (at, number) in AFFINE.into_iter().enumerate() {
        put(440 + 4 * at, &number.to_le_bytes());
    }
    put(948, b"LAS");
    for (at, number) in [1_i32, 2, 1000].into_iter().enumerate() {
        put(988 + 4 * at, &number.to_le_bytes());
    }
    bytes.extend(3_i32.to_le_bytes());
    for voxel in VOXELS {
        let corner = voxel.iter().zip(SIZES).map(|(at, size)| (at + 0.5) * size);
        bytes.extend(corner.flat_map(f32::to_le_bytes));
    }
    bytes
}

/// A volume with the values 100 x + 10 y + z, which linear sampling reproduces exactly.
fn home() -> Result<Home> {
    let home = Home::made(&[("../a.trk", trk())])?;
    let options = WriteOptions::new(4, &[4, 4, 4], &[2, 2, 2]).with_dtype("<f4");
    let mut writer = Writer::create(home.file("v.b2nd"), &[6, 5, 4], options)?;
    let mut bytes = Vec::new();
    for x in 0..6_u16 {
        for y in 0..5_u16 {
            for z in 0..4_u16 {
                bytes.extend(f32::from(100 * x + 10 * y + z).to_le_bytes());
            }
        }
    }
    writer.write_all(&bytes)?;
    writer.finish()?;
    let rows: Vec<String> = AFFINE
        .chunks(4)
        .map(|row| {
            row.iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    std::fs::write(home.file("affine.txt"), rows.join("\n"))?;
    Ok(home)
}

/// One column of the streamline, in its order.
fn column(home: &Home, store: &str, name: &str) -> Result<Vec<String>> {
    let text = home.text(&["get", store, "0", "--format", "csv", "--columns", name])?;
    Ok(text.lines().skip(1).map(str::to_owned).collect())
}

/// Removes the members that earlier builds did not write from a header.
fn as_before(home: &Home, store: &str) -> Result<()> {
    let path = home.file(&format!("{store}/headers/trk/zarr.json"));
    let mut document: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    for name in ["space", "voxelmm_to_rasmm", "rasmm_to_voxelmm"] {
        let members = document["attributes"].as_object_mut();
        assert!(members.and_then(|members| members.remove(name)).is_some());
    }
    Ok(std::fs::write(path, document.to_string())?)
}

#[test]
fn every_store_of_a_tractogram_samples_and_exports_the_same() -> Result<()> {
    let home = home()?;
    for (store, flags) in [
        ("rasmm.zv", &[][..]),
        ("voxelmm.zv", &["--space", "voxelmm"]),
        ("before.zv", &["--space", "file"]),
    ] {
        home.text(&[&["import", "a.trk", store][..], flags].concat())?;
        if store == "before.zv" {
            as_before(&home, store)?;
        }
        let mut points = column(&home, store, "position")?;
        if store != "rasmm.zv" {
            assert_eq!(points, ["1.0,0.75,1.5", "10.0,2.625,7.5", "3.0,6.0,3.75"]);
            home.text(&["export", store, "o.tck"])?;
            home.text(&["import", "o.tck", &format!("again-{store}")])?;
            points = column(&home, &format!("again-{store}"), "position")?;
        }
        assert_eq!(points, PLACES, "{store}");
        let sample = [
            "sample",
            store,
            "--volume",
            "v.b2nd",
            "--affine",
            "affine.txt",
        ];
        home.text(&[&sample[..], &["--as", "value"]].concat())?;
        assert_eq!(column(&home, store, "value")?, VALUES, "{store}");
        home.text(&[&sample[..], &["--as", "kept", "--keep-frame"]].concat())?;
        let kept = column(&home, store, "kept")?;
        assert_eq!(kept == VALUES, store == "rasmm.zv", "{kept:?}");
        home.text(&["export", store, "o.trk", "--attributes", "none"])?;
        assert!(
            std::fs::read(home.file("o.trk"))?[1000..] == trk()[1000..],
            "{store}"
        );
        let report = home.json(&["validate", store, "--level", "5", "--json"])?;
        assert_eq!(
            (&report["errors"], &report["warnings"]),
            (&json!(0), &json!(0)),
            "{report:#}"
        );
    }
    // If the header does not state the frame, nothing is guessed.
    let path = home.file("voxelmm.zv/headers/trk/zarr.json");
    let text = std::fs::read_to_string(&path)?.replace("\"voxelmm\"", "\"elsewhere\"");
    std::fs::write(path, text)?;
    let refused = [
        &["export", "voxelmm.zv", "o.trx"][..],
        &[
            "sample",
            "voxelmm.zv",
            "--volume",
            "v.b2nd",
            "--as",
            "more",
            "--affine",
            "affine.txt",
        ],
    ];
    for words in refused {
        let ran = home.zvf(words)?;
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(
            ran.stderr.contains("elsewhere") && ran.stderr.contains("--keep-frame"),
            "{}",
            ran.stderr
        );
        home.text(&[words, &["--keep-frame"]].concat())?;
    }
    Ok(())
}

#[test]
fn info_shows_the_frame_and_its_matrix() -> Result<()> {
    let home = home()?;
    let made = home.json(&["import", "a.trk", "made.zv", "--json"])?;
    assert_eq!(made["frame"]["space"], json!("rasmm"));
    let frame = home.json(&["info", "made.zv", "--json"])?["frame"].clone();
    assert_eq!(
        frame["voxel_to_rasmm"],
        json!([
            [-2.0, 0.0, 0.0, 5.0],
            [0.0, 1.5, 0.0, -6.0],
            [0.0, 0.0, 3.0, 7.0],
            [0.0, 0.0, 0.0, 1.0]
        ])
    );
    // 5 - 2 (x / 2 - 0.5), and so on.
    assert_eq!(
        frame["voxelmm_to_rasmm"],
        json!([
            [-1.0, 0.0, 0.0, 6.0],
            [0.0, 1.0, 0.0, -6.75],
            [0.0, 0.0, 1.0, 5.5],
            [0.0, 0.0, 0.0, 1.0]
        ])
    );
    for (key, value) in [
        ("source", json!("trk")),
        ("space", json!("rasmm")),
        ("dimensions", json!([6, 5, 4])),
        ("voxel_sizes", json!([2.0, 1.5, 3.0])),
        ("voxel_order", json!("LAS")),
    ] {
        assert_eq!(frame[key], value, "{key}");
    }
    let text = home.text(&["info", "made.zv"])?;
    for words in [
        "frame        rasmm, scanner RAS+ millimetres, voxels of 2.0 x 1.5 x 3.0 mm, image of 6 x 5 x 4, order LAS (headers/trk)",
        "voxel→rasmm  -2.0  0.0  0.0   5.0\n              0.0  1.5  0.0  -6.0\n              0.0  0.0  3.0   7.0\n",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    home.text(&["import", "a.trk", "filed.zv", "--space", "file"])?;
    let text = home.text(&["info", "filed.zv"])?;
    assert!(
        text.contains("frame        voxelmm, TrackVis millimetres from the corner"),
        "{text}"
    );
    Ok(())
}

#[test]
fn the_bundled_tractogram_is_in_the_frame_of_the_scanner() -> Result<()> {
    let home = Home::made(&[])?;
    let file =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/real/tracks300.trk");
    let file = file.to_string_lossy().into_owned();
    for (store, space) in [("rasmm.zv", "rasmm"), ("file.zv", "file")] {
        home.text(&["import", &file, store, "--space", space])?;
        home.text(&["export", store, "out.trk"])?;
        assert!(
            std::fs::read(home.file("out.trk"))? == std::fs::read(&file)?,
            "{space}"
        );
    }
    // Voxels are 1 mm and the affine is the identity: the middle of the first voxel is half a millimetre from its corner.
    let first = |store: &str| -> Result<Vec<f32>> {
        let rows = column(&home, store, "position")?;
        Ok(rows[0]
            .split(',')
            .map(str::parse)
            .collect::<Result<_, _>>()?)
    };
    let moved: Vec<f32> = first("file.zv")?.iter().map(|one| one - 0.5).collect();
    assert_eq!(first("rasmm.zv")?, moved);
    Ok(())
}

#[test]
fn other_files_are_mapped_by_flags_and_the_map_is_shown() -> Result<()> {
    let home = Home::made(&[
        ("../a.csv", "x,y,z\n1,2,3\n".into()),
        ("../b.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".into()),
        ("../m.txt", "1 0 0 10\n0 1 0 20\n0 0 1 30\n0 0 0 1\n".into()),
    ])?;
    let rows =
        |store: &str| home.text(&["query", store, "--format", "csv", "--columns", "position"]);
    home.text(&[
        "import", "a.csv", "a.zv", "--scale", "2,-3,4", "--affine", "m.txt", "--unit", "um",
    ])?;
    assert_eq!(rows("a.zv")?, "x,y,z\n12.0,14.0,42.0\n");
    assert_eq!(rows_in(&home, "a.zv", "12,14,42:12,14,42")?, 1);
    let info = home.json(&["info", "a.zv", "--json"])?;
    assert_eq!(info["axes"][0]["unit"], json!("micrometer"));
    assert_eq!(
        info["bounds"],
        json!([[12.0, 14.0, 42.0], [12.0, 14.0, 42.0]])
    );
    assert_eq!(
        info["applied_affine"]["csv"],
        json!([
            [2.0, 0.0, 0.0, 10.0],
            [0.0, -3.0, 0.0, 20.0],
            [0.0, 0.0, 4.0, 30.0],
            [0.0, 0.0, 0.0, 1.0]
        ])
    );
    let text = home.text(&["info", "a.zv"])?;
    assert!(
        text.contains(
            "transformed  positions of csv files, by\n             2.0   0.0  0.0  10.0\n"
        ),
        "{text}"
    );
    home.text(&["import", "b.obj", "b.zv", "--unit", "8nm"])?;
    assert_eq!(rows("b.zv")?.lines().max(), Some("x,y,z"));
    assert_eq!(rows_in(&home, "b.zv", "8,0,0:8,0,0")?, 1);
    Ok(())
}

/// Vertices in a box.
fn rows_in(home: &Home, store: &str, bbox: &str) -> Result<usize> {
    let text = home.text(&["query", store, "--format", "csv", "--bbox", bbox])?;
    Ok(text.lines().skip(1).count())
}

#[test]
fn units_are_those_of_ome_zarr_everywhere() -> Result<()> {
    let home = Home::made(&[("../a.csv", "x,y,z\n1,2,3\n".into())])?;
    let create = [
        "create",
        "c.zv",
        "--kind",
        "point_cloud",
        "--chunk-shape",
        "1,1,1",
        "--bounds",
        "0,0,0:1,1,1",
    ];
    for flags in [&["import", "a.csv", "no.zv"][..], &create] {
        let ran = home.zvf(&[flags, &["--unit", "foo"]].concat())?;
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(
            ran.stderr.contains("\"foo\"") && ran.stderr.contains("micrometer, mile, millimeter"),
            "{}",
            ran.stderr
        );
    }
    let ran = home.zvf(&[&create[..], &["--unit", "8nm"]].concat())?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    home.text(&[&create[..], &["--unit", "µm"]].concat())?;
    assert_eq!(
        home.json(&["info", "c.zv", "--json"])?["axes"][1]["unit"],
        json!("micrometer")
    );
    // A store and an image whose axes have other words for the same unit, or another unit of length; other units must be equal.
    let home = self::home()?;
    std::fs::write(home.file("a.csv"), "x,y,z\n4.5,1.25,2\n")?;
    home.text(&["volume", "convert", "v.b2nd", "v.zarr"])?;
    std::fs::create_dir(home.file("image"))?;
    std::fs::rename(home.file("v.zarr"), home.file("image/0"))?;
    home.text(&["import", "a.csv", "made.zv", "--unit", "micrometer"])?;
    let stored = home.file("made.zv/zarr.json");
    let document = std::fs::read_to_string(&stored)?;
    for (unit, image, good) in [
        ("micrometer", "um", true),
        ("um", "micrometers", true),
        ("um", "mm", true),
        ("blob", "blob", true),
        ("blob", "um", false),
    ] {
        std::fs::write(
            &stored,
            document.replace("\"micrometer\"", &format!("{unit:?}")),
        )?;
        let axes =
            ["x", "y", "z"].map(|name| json!({"name": name, "type": "space", "unit": image}));
        let scale = json!({"type": "scale", "scale": [1.0, 1.0, 1.0]});
        let level = json!({"path": "0", "coordinateTransformations": [scale]});
        let ome = json!({"version": "0.5", "multiscales": [{"axes": axes, "datasets": [level]}]});
        let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {"ome": ome}});
        std::fs::write(home.file("image/zarr.json"), group.to_string())?;
        home.text(&["info", "made.zv"])?;
        let ran = home.zvf(&[
            "sample",
            "made.zv",
            "--volume",
            "image",
            "--as",
            "value",
            "--replace",
        ])?;
        assert_eq!(ran.code == 0, good, "{unit} {image}: {}", ran.stderr);
    }
    Ok(())
}

/// Changes members of `headers/trk`.
fn header(
    home: &Home,
    store: &str,
    change: impl FnOnce(&mut serde_json::Map<String, Value>),
) -> Result<()> {
    let path = home.file(&format!("{store}/headers/trk/zarr.json"));
    let mut document: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    change(
        document["attributes"]
            .as_object_mut()
            .context("attributes")?,
    );
    Ok(std::fs::write(path, document.to_string())?)
}

#[test]
fn a_frame_that_was_damaged_is_never_guessed() -> Result<()> {
    let home = home()?;
    home.text(&["import", "a.trk", "made.zv"])?;
    home.text(&["export", "made.zv", "b.tck"])?;
    for (at, said) in ["no member `space`", "null", "contradicts", "contradicts"]
        .into_iter()
        .enumerate()
    {
        let store = format!("s{at}.zv");
        home.text(&["import", "a.trk", &store])?;
        header(&home, &store, |members| {
            let identity = json!([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]);
            match at {
                0 => drop(members.remove("space")),
                1 => drop(members.insert("space".into(), Value::Null)),
                2 => drop(members.insert("voxelmm_to_rasmm".into(), identity)),
                _ => drop(members.insert("voxel_to_rasmm".into(), Value::Null)),
            }
        })?;
        let sample = [
            "sample",
            &store,
            "--volume",
            "v.b2nd",
            "--as",
            "v",
            "--affine",
            "affine.txt",
        ];
        for words in [
            &["export", &store, "o.tck", "-q"][..],
            &["export", &store, "o.trk", "-q"],
            &["query", &store, "-o", "o.trx", "-q"],
            &[&sample[..], &["-q"]].concat(),
            &["append", &store, "b.tck", "-q"],
        ] {
            let ran = home.zvf(words)?;
            assert_eq!(ran.code, 2, "{words:?}: {}", ran.stderr);
            assert!(
                ran.stderr.contains(said) && ran.stderr.contains("headers/trk"),
                "{words:?}: {}",
                ran.stderr
            );
        }
        home.text(&[&sample[..], &["--keep-frame"]].concat())?;
        let text = home.text(&["info", &store])?;
        assert!(
            text.contains("frame        unknown: ") && text.contains(said),
            "{text}"
        );
    }
    assert!(!home.names()?.iter().any(|name| name.starts_with("o.")));
    Ok(())
}

#[test]
fn copies_refuse_a_header_that_cannot_be_read() -> Result<()> {
    let home = home()?;
    home.text(&["import", "a.trk", "made.zv"])?;
    let path = home.file("made.zv/headers/trk/zarr.json");
    let whole = std::fs::read(&path)?;
    for copy in [
        &["rechunk", "--chunk-shape", "3,3,3"][..],
        &["migrate", "--to", "0.9.2"],
    ] {
        let words = [&copy[..1], &["made.zv", "copy.zv"], &copy[1..]].concat();
        let copy = copy[0];
        std::fs::write(&path, &whole[..whole.len() / 2])?;
        let ran = home.zvf(&words)?;
        assert_eq!(ran.code, 4, "{copy}: {}", ran.stderr);
        assert!(ran.stderr.contains("headers/trk"), "{copy}: {}", ran.stderr);
        assert!(!home.file("copy.zv").exists(), "{copy}");
        std::fs::write(&path, &whole)?;
        home.text(&words)?;
        home.text(&["export", "copy.zv", "o.trk"])?;
        assert!(
            std::fs::read(home.file("o.trk"))?[..1000] == trk()[..1000],
            "{copy}"
        );
        std::fs::remove_dir_all(home.file("copy.zv"))?;
    }
    Ok(())
}

#[test]
fn tables_of_a_tractogram_state_its_frame() -> Result<()> {
    let home = Home::made(&[("../a.trk", trk())])?;
    for space in ["rasmm", "voxelmm"] {
        home.text(&["import", "a.trk", &format!("{space}.zv"), "--space", space])?;
    }
    home.text(&["query", "voxelmm.zv", "-o", "v", "--select", "objects"])?;
    for file in ["v.arrow", "v.parquet", "v.csv"] {
        home.text(&["query", "voxelmm.zv", "-o", file, "--select", "objects"])?;
    }
    home.text(&["export", "voxelmm.zv", "e.parquet"])?;
    home.text(&[
        "query",
        "rasmm.zv",
        "-o",
        "r.parquet",
        "--select",
        "objects",
    ])?;
    for from in ["v", "v.arrow", "v.parquet", "e.parquet", "voxelmm.zv"] {
        let ran = home.zvf(&["append", "rasmm.zv", from, "--new-ids"])?;
        let stated = ran.stderr.contains("positions in voxelmm");
        ensure!(ran.code == 2 && stated, "{from}: {}", ran.stderr);
        let ran = home.zvf(&["append", "voxelmm.zv", from, "--new-ids"])?;
        if from == "voxelmm.zv" {
            continue;
        }
        ensure!(ran.code == 0, "{from}: {}", ran.stderr);
        ensure!(!ran.stderr.contains("taken as"), "{from}: {}", ran.stderr);
        // A new store that is made from the table is in the same frame.
        if from != "v" {
            let new = format!("{from}.zv");
            home.text(&["import", from, &new, "--kind", "streamline"])?;
            home.text(&["export", &new, "new.trk"])?;
            let written = std::fs::read(home.file("new.trk"))?;
            ensure!(written[..1000] == trk()[..1000], "{from}");
        }
    }
    let table = [
        "edit",
        "rasmm.zv",
        "set-attribute",
        "w",
        "--from",
        "v.parquet",
    ];
    let ran = home.zvf(&[&table[..], &["--type", "float32"]].concat())?;
    ensure!(ran.code == 2, "{}", ran.stderr);
    // A CSV has no metadata.
    let ran = home.zvf(&["append", "rasmm.zv", "v.csv", "--new-ids"])?;
    ensure!(ran.code == 0, "{}", ran.stderr);
    ensure!(ran.stderr.contains("taken as rasmm"), "{}", ran.stderr);
    // A store has a single frame.
    let files = ["v.parquet", "r.parquet"];
    let ran = home.zvf(&[&["import"], &files[..], &["both.zv", "--new-ids"]].concat())?;
    ensure!(
        ran.code != 0 && ran.stderr.contains("as in the first file"),
        "{}",
        ran.stderr
    );
    Ok(())
}

#[test]
fn a_table_with_a_crs_beside_a_store_without_one_is_remarked() -> Result<()> {
    let home = Home::made(&[])?;
    std::fs::create_dir_all(home.path())?;
    std::fs::write(home.file("p.csv"), "x,y,z\n1,2,3\n")?;
    home.text(&["import", "p.csv", "crs.zv", "--crs", "EPSG:25832"])?;
    home.text(&["import", "p.csv", "none.zv"])?;
    for store in ["crs", "none"] {
        let table = format!("{store}.parquet");
        home.text(&["query", &format!("{store}.zv"), "-o", &table])?;
    }
    for (store, from, expected) in [
        ("none.zv", "crs.parquet", "the store states no CRS"),
        ("none.zv", "crs.zv", "the store states no CRS"),
        (
            "crs.zv",
            "none.parquet",
            "states no CRS: \"EPSG:25832\" is assumed",
        ),
        (
            "crs.zv",
            "none.zv",
            "states no CRS: \"EPSG:25832\" is assumed",
        ),
    ] {
        let ran = home.zvf(&["append", store, from])?;
        ensure!(ran.code == 0, "{store} {from}: {}", ran.stderr);
        ensure!(
            ran.stderr.contains(expected),
            "{store} {from}: {}",
            ran.stderr
        );
    }
    let ran = home.zvf(&["merge", "crs.zv", "none.zv", "both.zv"])?;
    ensure!(ran.stderr.contains("states no CRS"), "{}", ran.stderr);
    Ok(())
}
