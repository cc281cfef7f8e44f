//! `zvf volume` and `zvf sample`: the real binary on bundled volumes, and on a volume whose values are a formula.

use anyhow::Result;
use serde_json::json;
use zvf_caterva::{WriteOptions, Writer};

use crate::run::Home;

/// Points inside and outside of the volume, of two objects.
const POINTS: &str =
    "x,y,z,cell\n0,0,0,1\n2.5,1.25,3,1\n4.75,4,0.5,2\n5,4,3,2\n5.5,1,1,2\n-3,0,0,2\n";

/// A volume of 6 x 5 x 4 elements with the values 100 x + 10 y + z, which linear sampling reproduces exactly.
fn home() -> Result<Home> {
    let home = Home::made(&[("../points.csv", POINTS.into())])?;
    home.text(&[
        "import",
        "points.csv",
        "made.zv",
        "--object-column",
        "cell",
        "--chunk-shape",
        "3,3,3",
    ])?;
    let mut bytes = Vec::new();
    for x in 0..6_u16 {
        for y in 0..5_u16 {
            for z in 0..4_u16 {
                bytes.extend(f32::from(100 * x + 10 * y + z).to_le_bytes());
            }
        }
    }
    let options = WriteOptions::new(4, &[4, 4, 4], &[2, 2, 2]).with_dtype("<f4");
    let mut writer = Writer::create(home.file("v.b2nd"), &[6, 5, 4], options)?;
    writer.write_all(&bytes)?;
    writer.finish()?;
    Ok(home)
}

/// One column of all vertices by position.
fn values(home: &Home, name: &str) -> Result<Vec<String>> {
    let columns = format!("position,{name}");
    let text = home.text(&["query", "made.zv", "--format", "csv", "--columns", &columns])?;
    let mut rows: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
    rows.sort_unstable();
    Ok(rows)
}

/// Checks that the store has no errors.
fn is_sound(home: &Home) -> Result<()> {
    let report = home.json(&["validate", "made.zv", "--level", "5", "--json"])?;
    assert_eq!(
        (&report["errors"], &report["warnings"]),
        (&json!(0), &json!(0)),
        "{report:#}"
    );
    Ok(())
}

#[test]
fn a_volume_of_each_form_gives_the_same_samples() -> Result<()> {
    let home = home()?;
    home.text(&["volume", "convert", "v.b2nd", "v.tet"])?;
    home.text(&[
        "volume",
        "convert",
        "v.tet",
        "v.zarr",
        "--chunk-shape",
        "2,3,4",
    ])?;
    for form in ["b2nd", "tet", "zarr"] {
        let volume = format!("v.{form}");
        let name = format!("of_{form}");
        let done = home.json(&[
            "sample", "made.zv", "--volume", &volume, "--as", &name, "--json",
        ])?;
        assert_eq!(
            (&done["vertices"], &done["outside"], &done["dtype"]),
            (&json!(6), &json!(2), &json!("float32")),
            "{form}"
        );
        assert_eq!(
            values(&home, &name)?,
            [
                "-3.0,0.0,0.0,NaN",
                "0.0,0.0,0.0,0.0",
                "2.5,1.25,3.0,265.5",
                "4.75,4.0,0.5,515.5",
                "5.0,4.0,3.0,543.0",
                "5.5,1.0,1.0,NaN"
            ],
            "{form}"
        );
    }
    is_sound(&home)
}

#[test]
fn maps_orders_and_values_outside_are_as_asked() -> Result<()> {
    let home = home()?;
    // Element i is at 2 i + 1 along x, and in the opposite direction along y.
    let affine = "2,0,0,1, 0,-1,0,4, 0,0,1,0";
    home.text(&[
        "sample",
        "made.zv",
        "--volume",
        "v.b2nd",
        "--as",
        "v",
        "--affine",
        affine,
        "--outside",
        "-1",
    ])?;
    assert_eq!(
        values(&home, "v")?,
        [
            "-3.0,0.0,0.0,-1.0",
            "0.0,0.0,0.0,-1.0",
            // x 0.75, y 2.75, z 3
            "2.5,1.25,3.0,105.5",
            // x 1.875, y 0, z 0.5
            "4.75,4.0,0.5,188.0",
            "5.0,4.0,3.0,203.0",
            // x 2.25, y 3, z 1
            "5.5,1.0,1.0,256.0"
        ]
    );
    // An existing attribute is replaced only on request, also by another type.
    let twice = [
        "sample", "made.zv", "--volume", "v.b2nd", "--as", "v", "--order", "nearest",
    ];
    assert!(home.text(&twice).is_err());
    std::fs::write(
        home.file("affine.txt"),
        "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n",
    )?;
    home.text(&[&twice[..], &["--replace", "--affine", "affine.txt"]].concat())?;
    assert_eq!(
        values(&home, "v")?,
        [
            "-3.0,0.0,0.0,NaN",
            "0.0,0.0,0.0,0.0",
            "2.5,1.25,3.0,313.0",
            "4.75,4.0,0.5,541.0",
            "5.0,4.0,3.0,543.0",
            // 5.5 is the border of the last voxel, which is outside.
            "5.5,1.0,1.0,NaN"
        ]
    );
    is_sound(&home)
}

#[test]
fn millimetres_are_not_taken_for_micrometres() -> Result<()> {
    let home = home()?;
    let import =
        "import points.csv mm.zv --object-column cell --chunk-shape 3,3,3 --unit millimeter";
    home.text(&import.split(' ').collect::<Vec<_>>())?;
    home.text(&["volume", "convert", "v.b2nd", "v.zarr"])?;
    std::fs::create_dir(home.file("image"))?;
    std::fs::rename(home.file("v.zarr"), home.file("image/0"))?;
    let image = |unit: &str| {
        let axes = ["x", "y", "z"].map(|name| json!({"name": name, "type": "space", "unit": unit}));
        let scale = json!({"type": "scale", "scale": [1.0, 1.0, 1.0]});
        let level = json!({"path": "0", "coordinateTransformations": [scale]});
        let ome = json!({"version": "0.5", "multiscales": [{"axes": axes, "datasets": [level]}]});
        let document = json!({"zarr_format": 3, "node_type": "group", "attributes": {"ome": ome}});
        std::fs::write(home.file("image/zarr.json"), document.to_string())
    };
    let sample = |name: &str, more: &[&str]| {
        let given = ["sample", "mm.zv", "--volume", "image", "--as", name];
        home.text(&[&given[..], more].concat())
    };
    let values = |name: &str| {
        let columns = [
            "query",
            "mm.zv",
            "--columns",
            "attributes",
            "--attributes",
            name,
        ];
        home.text(&[&columns[..], &["--format", "csv"]].concat())
    };
    image("millimeter")?;
    sample("own", &[])?;
    sample("rows", &["--affine", "1,0,0,0,0,1,0,0,0,0,1,0"])?;
    // Element i is at i micrometers, a thousandth of the millimeters of the store.
    image("micrometer")?;
    let ran = home.zvf(&["sample", "mm.zv", "--volume", "image", "--as", "um"])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let wanted = "places in micrometer: they were converted to millimeter";
    assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
    let thousandth = "0.001,0,0,0,0,0.001,0,0,0,0,0.001,0";
    sample("wanted", &["--affine", thousandth])?;
    let data = |name: &str| {
        Ok::<_, anyhow::Error>(
            values(name)?
                .lines()
                .skip(1)
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(data("um")?, data("wanted")?);
    assert_eq!(data("own")?, data("rows")?);
    assert_ne!(data("own")?, data("um")?);
    image("blob")?;
    let error = format!("{:#}", sample("no", &[]).unwrap_err());
    assert!(
        error.contains("blob") && error.contains("millimeter"),
        "{error}"
    );
    Ok(())
}

/// A NIfTI-1 header with voxels of one unit at the origin; `unit` is the code of `xyzt_units`.
fn nifti(unit: u8) -> Vec<u8> {
    let mut header = vec![0; 352];
    header[..4].copy_from_slice(&348_i32.to_le_bytes());
    for (at, size) in [3_i16, 3, 3, 3].iter().enumerate() {
        header[40 + 2 * at..42 + 2 * at].copy_from_slice(&size.to_le_bytes());
    }
    header[254..256].copy_from_slice(&1_i16.to_le_bytes());
    for axis in 0..3 {
        let at = 280 + 16 * axis + 4 * axis;
        header[at..at + 4].copy_from_slice(&1_f32.to_le_bytes());
    }
    header[123] = unit;
    header[344..348].copy_from_slice(b"n+1\0");
    header
}

#[test]
fn units_of_a_nifti_image_are_compared_and_labels_are_not_mixed() -> Result<()> {
    let home = Home::made(&[
        ("../p.csv", "x,y,z\n0.4,1,1\n1,1,1\n".into()),
        ("../um.csv", "x,y,z\n400,1000,1000\n1000,1000,1000\n".into()),
        ("../mm.nii", nifti(2)),
        ("../none.nii", nifti(0)),
    ])?;
    // 3 x 3 x 3 labels: 1000 in the middle plane, else 0.
    let zarr = json!({"zarr_format": 3, "node_type": "array", "shape": [3, 3, 3], "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 3, 3]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {}});
    std::fs::create_dir_all(home.file("lab.zarr/c/0/0"))?;
    std::fs::write(home.file("lab.zarr/zarr.json"), zarr.to_string())?;
    let labels = (0..27_u16).map(|at| if at / 9 == 1 { 1000_u16 } else { 0 });
    let labels: Vec<u8> = labels.flat_map(u16::to_le_bytes).collect();
    std::fs::write(home.file("lab.zarr/c/0/0/0"), labels)?;
    home.text(&["import", "p.csv", "mm.zv", "--unit", "mm"])?;
    home.text(&["import", "um.csv", "um.zv", "--unit", "um"])?;
    home.text(&["import", "p.csv", "none.zv"])?;
    let sample = |store: &str, name: &str, image: &str, more: &[&str]| -> Result<String> {
        let line = [
            "sample", store, "--volume", "lab.zarr", "--as", name, "--affine", image,
        ];
        let ran = home.zvf(&[&line[..], more].concat())?;
        anyhow::ensure!(ran.code == 0, "{}", ran.stderr);
        Ok(ran.stderr)
    };
    let values = |store: &str, name: &str| -> Result<Vec<String>> {
        let text = home.text(&[
            "query",
            store,
            "--columns",
            "attributes",
            "--attributes",
            name,
            "--format",
            "csv",
        ])?;
        Ok(text.lines().skip(1).map(str::to_owned).collect())
    };
    // The first point is nearest to a voxel with 0, the second to one with 1000.
    for (store, image, remark) in [
        ("mm.zv", "mm.nii", "nearest one is taken"),
        (
            "um.zv",
            "mm.nii",
            "millimeter: they were converted to micrometer",
        ),
        ("none.zv", "mm.nii", "the store states no unit"),
        ("mm.zv", "none.nii", "states no unit"),
    ] {
        let name = format!("of_{}", &image[..2]);
        let said = sample(store, &name, image, &[])?;
        assert!(said.contains(remark), "{store} {image}: {said}");
        assert!(said.contains("--order linear"), "{said}");
        assert_eq!(values(store, &name)?, ["0", "1000"], "{store} {image}");
    }
    sample("mm.zv", "mixed", "mm.nii", &["--order", "linear"])?;
    assert_eq!(values("mm.zv", "mixed")?, ["400.0", "1000.0"]);
    Ok(())
}

#[test]
fn slices_are_the_elements_and_say_what_they_read() -> Result<()> {
    let home = home()?;
    let done = home.json(&[
        "volume",
        "slice",
        "v.b2nd",
        "--range",
        "1:3,-1,::2",
        "-o",
        "part.npy",
        "--json",
    ])?;
    assert_eq!(
        (&done["shape"], &done["dtype"]),
        (&json!([2, 2]), &json!("<f4"))
    );
    // x 1 and 2 are in different blocks, y 4 is in the second chunk, z 0 and 2 are in different blocks.
    assert_eq!((&done["chunks"], &done["blocks"]), (&json!(1), &json!(4)));
    let bytes = std::fs::read(home.file("part.npy"))?;
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    assert_eq!(
        ((10 + length) % 64, &bytes[..8]),
        (0, &b"\x93NUMPY\x01\x00"[..])
    );
    let header = std::str::from_utf8(&bytes[10..10 + length])?;
    assert_eq!(
        header.trim_end(),
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2,), }"
    );
    let found: Vec<f32> = bytes[10 + length..]
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
        .collect();
    assert_eq!(found, [140.0, 142.0, 240.0, 242.0]);
    home.text(&[
        "volume",
        "slice",
        "v.b2nd",
        "--range",
        "1:3,-1,::2",
        "-o",
        "part.raw",
    ])?;
    assert_eq!(std::fs::read(home.file("part.raw"))?, bytes[10 + length..]);
    for bad in [["--range", "9"], ["--range", "1,2,3,4"], ["--range", "a"]] {
        assert!(
            home.text(&[&["volume", "slice", "v.b2nd", "-o", "x.npy"], &bad[..]].concat())
                .is_err()
        );
        assert!(!home.file("x.npy").exists());
    }
    assert!(
        home.text(&["volume", "slice", "v.b2nd", "-o", "x.txt"])
            .is_err()
    );
    Ok(())
}

#[test]
fn info_says_what_is_stored() -> Result<()> {
    let home = home()?;
    home.text(&[
        "volume", "convert", "v.b2nd", "v.tet", "--name", "fa", "--raw",
    ])?;
    let of = |name: &str| home.json(&["volume", "info", name, "--json"]);
    let frame = &of("v.b2nd")?["datasets"][0];
    assert_eq!(
        (
            &frame["layout"],
            &frame["shape"],
            &frame["chunks"],
            &frame["blocks"],
            &frame["dtype"]
        ),
        (
            &json!("b2nd"),
            &json!([6, 5, 4]),
            &json!([4, 4, 4]),
            &json!([2, 2, 2]),
            &json!("<f4")
        )
    );
    assert_eq!(
        (&frame["codecs"], &frame["filters"]),
        (&json!(["zstd"]), &json!(["shuffle"]))
    );
    let file = &of("v.tet#fa")?["datasets"][0];
    assert_eq!(
        (
            &file["name"],
            &file["form"],
            &file["codecs"],
            &file["blocks"]
        ),
        (&json!("fa"), &json!("tet"), &json!(["raw"]), &json!(null))
    );
    let text = home.text(&["volume", "info", "v.tet"])?;
    assert!(text.contains("6 x 5 x 4 of <f4 (480 B)"), "{text}");
    assert!(home.text(&["volume", "info", "v.tet#nothing"]).is_err());
    assert!(home.text(&["volume", "info", "points.csv"]).is_err());
    Ok(())
}

/// A command of `zvf volume` is a job: the file that `--print-job` prints gives the same report and the same bytes.
#[test]
fn volume_commands_are_jobs() -> Result<()> {
    let home = home()?;
    for (args, out) in [
        (&["info", "v.b2nd"][..], None),
        (
            &["slice", "v.b2nd", "--range", "1:3,::2,-1", "-o", "part.npy"],
            Some("part.npy"),
        ),
        (
            &["convert", "v.b2nd", "v.tet", "--chunk-shape", "3,5,4"],
            Some("v.tet"),
        ),
    ] {
        let line = |more: &'static str| [&["volume"], args, &[more]].concat();
        let job = home.text(&line("--print-job"))?;
        assert!(out.is_none_or(|out| !home.file(out).exists()), "{args:?}");
        std::fs::write(home.file("job.json"), &job)?;
        let report = home.json(&line("--json"))?;
        let bytes = out.map(|out| std::fs::read(home.file(out))).transpose()?;
        if let Some(out) = out {
            std::fs::remove_file(home.file(out))?;
        }
        assert_eq!(home.json(&["run", "job.json", "--json"])?, report, "{job}");
        let again = out.map(|out| std::fs::read(home.file(out))).transpose()?;
        assert_eq!(again, bytes, "{job}");
    }
    Ok(())
}
