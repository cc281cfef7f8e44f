//! Every container gives the same elements, and conversions lose no elements.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use zvf_store::IoOptions;
use zvf_store::blocking::Runtime;
use zvf_tet::{DType, DatasetSpec, TetWriter, WriteOptions};
use zvf_volume::{
    Axis, AxisRanges, ConvertOptions, Selection, Volume, VolumeError, VolumeFormat, convert,
};

fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata")
        .join(path)
}

fn open(address: &str) -> Result<Volume, VolumeError> {
    Runtime::new()
        .unwrap()
        .wait(Volume::open(address, &IoOptions::new()))
}

fn read(volume: &Volume, selection: &Selection) -> Vec<u8> {
    Runtime::new()
        .unwrap()
        .wait(volume.read(selection))
        .unwrap()
        .0
}

fn whole(volume: &Volume) -> Vec<u8> {
    read(volume, &Selection::all(&volume.info().shape).unwrap())
}

/// The elements of a selection, picked one by one from all elements.
fn picked(all: &[u8], item: usize, shape: &[u64], axes: &[Axis]) -> Vec<u8> {
    let mut places = vec![0_u64];
    for (axis, extent) in axes.iter().zip(shape) {
        places = places
            .iter()
            .flat_map(|place| {
                (axis.start..axis.stop)
                    .step_by(usize::try_from(axis.step).unwrap())
                    .map(move |at| place * extent + at)
            })
            .collect();
    }
    places
        .into_iter()
        .flat_map(|place| {
            let at = usize::try_from(place).unwrap() * item;
            all[at..at + item].to_vec()
        })
        .collect()
}

fn selections(shape: &[u64]) -> impl Strategy<Value = Vec<Axis>> + use<> {
    shape
        .iter()
        .map(|&extent| {
            (0..=extent, 0..=extent, 1..4_u64)
                .prop_map(|(a, b, step)| Axis::new(a.min(b), a.max(b), step))
        })
        .collect::<Vec<_>>()
}

/// Compares random selections of a volume with its elements.
fn check(volume: &Volume, all: &[u8]) {
    let info = volume.info();
    let mut runner = TestRunner::new(Config::with_cases(12));
    let strategy = selections(&info.shape);
    runner
        .run(&strategy, |axes| {
            let selection = Selection::new(&axes, &info.shape).unwrap();
            let wanted = picked(all, info.element.size, &info.shape, &axes);
            prop_assert_eq!(read(volume, &selection), wanted);
            Ok(())
        })
        .unwrap();
}

#[test]
fn bundled_volumes_stay_the_same_through_all_forms() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    let mut seen = 0;
    for file in [
        "tet/f64_2d_edge_zstd.tet",
        "tet/f32_special_values.tet",
        "tet/rank3_rank4_edges.tet#@0",
        "tet/rank3_rank4_edges.tet#@1",
        "caterva/b02_f8_2d_lz4_truncprec_shuffle.b2nd",
        "caterva/b13_f4_2d_bigendian.b2nd",
        "caterva/c06_i4_2d_zstd_delta_shuffle.b2frame",
        "caterva/b19_f4_3d_sparse",
    ] {
        let source = open(testdata(file).to_str().unwrap()).unwrap();
        let all = whole(&source);
        check(&source, &all);
        // Elements without a number type are not converted here.
        if source.info().element.number.is_none() {
            continue;
        }
        // As little-endian numbers, which the other containers store.
        let mut little = all.clone();
        if source.info().element.text.starts_with('>') {
            little
                .chunks_exact_mut(source.info().element.size)
                .for_each(<[u8]>::reverse);
        }
        let mut before = source;
        for (step, ending) in ["tet", "zarr", "b2nd", "zarr", "tet", "b2nd"]
            .iter()
            .enumerate()
        {
            let out = folder.path().join(format!("{seen}-{step}.{ending}"));
            let mut options = ConvertOptions::default();
            options.raw = step % 2 == 1;
            if step == 3 {
                options.chunk = Some(vec![3; before.info().shape.len()]);
            }
            let done = runtime
                .wait(convert(&before, &out, &options, |_, _| {}))
                .unwrap();
            assert_eq!(
                done.form.name(),
                if *ending == "b2nd" { "caterva" } else { ending }
            );
            let after = open(out.to_str().unwrap()).unwrap();
            assert_eq!(after.info().shape, before.info().shape, "{file}, {ending}");
            assert_eq!(whole(&after), little, "{file}, {ending}");
            check(&after, &little);
            before = after;
        }
        seen += 1;
    }
    assert!(seen >= 6);
}

#[test]
fn what_lies_there_is_not_replaced_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    let source = open(testdata("tet/f64_2d_edge_zstd.tet").to_str().unwrap()).unwrap();
    for ending in ["tet", "zarr", "b2nd"] {
        let out = folder.path().join(format!("a.{ending}"));
        let mut options = ConvertOptions::default();
        runtime
            .wait(convert(&source, &out, &options, |_, _| {}))
            .unwrap();
        let refused = runtime.wait(convert(&source, &out, &options, |_, _| {}));
        assert!(refused.is_err(), "{ending}");
        options.overwrite = true;
        runtime
            .wait(convert(&source, &out, &options, |_, _| {}))
            .unwrap();
        assert_eq!(whole(&open(out.to_str().unwrap()).unwrap()), whole(&source));
    }
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 3, "something stays behind: {names:?}");
}

/// An image of OME-Zarr 0.4 in Zarr v2, written by hand: two levels of 4 x 6, 16-bit numbers, chunks of 3 x 4.
fn image(folder: &Path) {
    let put = |path: &str, bytes: &[u8]| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    put(".zgroup", br#"{"zarr_format": 2}"#);
    put(
        ".zattrs",
        br#"{"multiscales": [{"version": "0.4", "axes": [
            {"name": "y", "type": "space", "unit": "micrometer"}, {"name": "x", "type": "space"}],
            "coordinateTransformations": [{"type": "scale", "scale": [10.0, 1.0]}],
            "datasets": [
              {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [2.0, 0.5]}]},
              {"path": "1", "coordinateTransformations": [{"type": "scale", "scale": [4.0, 1.0]},
                                                          {"type": "translation", "translation": [1.0, 0.25]}]}]}]}"#,
    );
    for level in ["0", "1"] {
        put(
            &format!("{level}/.zarray"),
            br#"{"zarr_format": 2, "shape": [4, 6], "chunks": [3, 4], "dtype": ">u2", "compressor": null,
                "fill_value": 7, "order": "C", "filters": null}"#,
        );
        // The chunk at (1, 1) is missing: its elements have the fill value.
        for (row, column) in [(0_u16, 0_u16), (0, 1), (1, 0)] {
            let mut bytes = Vec::new();
            for r in 0..3 {
                for c in 0..4 {
                    let mut number = (100 * (row * 3 + r) + column * 4 + c).to_le_bytes();
                    // Big-endian, as the type `>u2` states.
                    number.reverse();
                    bytes.extend(number);
                }
            }
            put(&format!("{level}/{row}.{column}"), &bytes);
        }
    }
}

#[test]
fn an_image_with_other_axes_than_its_array_is_malformed() {
    let folder = tempfile::tempdir().unwrap();
    image(folder.path());
    let place = folder.path().join(".zattrs");
    let text = std::fs::read_to_string(&place).unwrap();
    let fewer = text.replace(
        r#"{"name": "y", "type": "space", "unit": "micrometer"}, "#,
        "",
    );
    let fewer = fewer
        .replace("[10.0, 1.0]", "[1.0]")
        .replace("[2.0, 0.5]", "[0.5]");
    let fewer = fewer
        .replace("[4.0, 1.0]", "[1.0]")
        .replace("[1.0, 0.25]", "[0.25]");
    std::fs::write(&place, fewer).unwrap();
    let error = open(folder.path().to_str().unwrap())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("1 axes") && error.contains("the 2 dimensions"),
        "{error}"
    );
}

#[test]
fn an_image_of_version_2_is_read_with_its_transforms() {
    let folder = tempfile::tempdir().unwrap();
    image(folder.path());
    let address = folder.path().to_str().unwrap();
    let runtime = Runtime::new().unwrap();
    let levels = runtime
        .wait(Volume::list(address, &IoOptions::new()))
        .unwrap();
    assert_eq!(levels.len(), 2);
    let places = |volume: &Volume| -> Vec<_> {
        volume
            .info()
            .axes
            .iter()
            .map(|axis| axis.place.unwrap())
            .collect()
    };
    assert_eq!(places(&levels[0]), [(0.0, 20.0), (0.0, 0.5)]);
    // The transforms of the whole image are applied after the transforms of the level.
    assert_eq!(places(&levels[1]), [(10.0, 40.0), (0.25, 1.0)]);
    assert_eq!(levels[0].info().axes[0].unit.as_deref(), Some("micrometer"));
    // Without a pick, the first level is opened.
    let first = open(address).unwrap();
    assert_eq!(
        (first.info().name.as_str(), first.info().form),
        ("0", VolumeFormat::Zarr)
    );
    assert_eq!(open(&format!("{address}#1")).unwrap().info().name, "1");
    assert_eq!(open(&format!("{address}#@1")).unwrap().info().name, "1");
    assert!(open(&format!("{address}#2")).is_err());

    let range = AxisRanges::parse("1:, ::2", &first.info().shape).unwrap();
    let found: Vec<u16> = read(&first, &range.selection)
        .chunks_exact(2)
        .map(|two| u16::from_le_bytes([two[0], two[1]]))
        .collect();
    assert_eq!(found, [100, 102, 104, 200, 202, 204, 300, 302, 7]);
}

#[test]
fn transforms_that_are_not_understood_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    image(folder.path());
    let address = folder.path().to_str().unwrap();
    let document = folder.path().join(".zattrs");
    let good = std::fs::read_to_string(&document).unwrap();
    let first = r#"{"type": "scale", "scale": [2.0, 0.5]}"#;
    assert!(good.contains(first));
    for (step, read) in [
        (r#"{"type": "identity"}"#, true),
        (r#"{"type": "scale", "scale": [2, 1]}"#, true),
        (r#"{"type": "scale", "scale": [2.0]}"#, false),
        (r#"{"type": "scale", "scale": [2.0, 1.0, 1.0]}"#, false),
        (r#"{"type": "scale", "scale": [2.0, "1.0"]}"#, false),
        (r#"{"type": "scale", "path": "scales"}"#, false),
        (
            r#"{"type": "rotation", "rotation": [0.0, 1.0, 1.0, 0.0]}"#,
            false,
        ),
        (r#"{"scale": [2.0, 1.0]}"#, false),
    ] {
        std::fs::write(&document, good.replace(first, step)).unwrap();
        let opened = open(address);
        assert_eq!(opened.is_ok(), read, "{step}");
        if let Err(error) = opened {
            assert_eq!(error.class(), zvf_store::Class::Malformed);
            let said = error.to_string();
            assert!(said.contains("coordinateTransformations"), "{said}");
        }
    }
}

#[test]
fn tiles_that_are_longer_than_the_volume_do_not_grow_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.tet");
    // A tile would have a gibibyte if it were not clipped.
    let spec = DatasetSpec::new("a", DType::U8, &[3, 2], &[1 << 20, 1 << 10]);
    let mut writer = TetWriter::create(&source, vec![spec], WriteOptions::default()).unwrap();
    writer.write_array(&[1, 2, 3, 4, 5, 6]).unwrap();
    writer.finish().unwrap();
    let source = open(source.to_str().unwrap()).unwrap();
    for ending in ["b2nd", "zarr", "tet"] {
        let out = folder.path().join(format!("b.{ending}"));
        Runtime::new()
            .unwrap()
            .wait(convert(
                &source,
                &out,
                &ConvertOptions::default(),
                |_, _| {},
            ))
            .unwrap();
        let copy = open(out.to_str().unwrap()).unwrap();
        assert_eq!(&copy.info().chunk[..], [3, 2], "{ending}");
        assert_eq!(whole(&copy), [1, 2, 3, 4, 5, 6]);
    }
}

/// An array of three float64 in version 2, stored as numbers of another type. Returns the values, or the error.
fn scaled(scale: f64, astype: &str, stored: &[u8]) -> Result<Vec<f64>, String> {
    let folder = tempfile::tempdir().unwrap();
    let filter = serde_json::json!({"id": "fixedscaleoffset", "scale": scale, "offset": 250, "dtype": "<f8", "astype": astype});
    let document = serde_json::json!({"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "<f8", "order": "C", "fill_value": 0,
        "compressor": null, "filters": [filter]});
    std::fs::write(folder.path().join(".zarray"), document.to_string()).unwrap();
    std::fs::write(folder.path().join("0"), stored).unwrap();
    let runtime = Runtime::new().unwrap();
    let address = folder.path().to_string_lossy().into_owned();
    let volume = runtime
        .wait(Volume::open(&address, &IoOptions::new()))
        .unwrap();
    let all = Selection::all(&volume.info().shape).unwrap();
    let (bytes, _) = runtime
        .wait(volume.read(&all))
        .map_err(|error| error.to_string())?;
    let bytes = bytes.as_chunks::<8>().0.iter();
    Ok(bytes.map(|one| f64::from_le_bytes(*one)).collect())
}

/// `zarrs` computes with float32, which holds neither 0.1 nor 205,318,367.
#[test]
fn scaled_numbers_are_exact_or_refused() {
    let short: Vec<u8> = [-3_i16, 0, 301]
        .iter()
        .flat_map(|one| one.to_le_bytes())
        .collect();
    assert_eq!(scaled(4.0, "<i2", &short), Ok(vec![249.25, 250.0, 325.25]));
    let error = scaled(0.1, "<i2", &short).unwrap_err();
    assert!(
        error.contains("the filter fixedscaleoffset with numbers or types that are not decoded"),
        "{error}"
    );
    let long: Vec<u8> = [205_318_367_i32, 1, 2]
        .iter()
        .flat_map(|one| one.to_le_bytes())
        .collect();
    let error = scaled(4.0, "<i4", &long).unwrap_err();
    assert!(
        error.ends_with("(zarr-python copies the array to one without filters) is not supported"),
        "{error}"
    );
}

#[test]
fn an_array_without_axes_is_read_in_either_order() {
    for order in ["C", "F"] {
        let folder = tempfile::tempdir().unwrap();
        let document = format!(
            r#"{{"zarr_format":2,"shape":[],"chunks":[],"dtype":"<f4","order":"{order}","fill_value":0,"compressor":null,"filters":null}}"#
        );
        std::fs::write(folder.path().join(".zarray"), document).unwrap();
        std::fs::write(folder.path().join("0"), 1.5_f32.to_le_bytes()).unwrap();
        let volume = open(&folder.path().to_string_lossy()).unwrap();
        assert_eq!(whole(&volume), 1.5_f32.to_le_bytes(), "{order}");
    }
}

#[test]
fn several_datasets_ask_for_a_pick() {
    let address = testdata("tet/rank3_rank4_edges.tet");
    let error = open(address.to_str().unwrap()).unwrap_err().to_string();
    assert!(error.contains("select one"), "{error}");
}

#[test]
fn what_is_no_volume_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.tet");
    std::fs::write(&file, b"not a volume").unwrap();
    for address in [
        file.to_str().unwrap(),
        folder.path().to_str().unwrap(),
        "/nowhere/at/all.b2nd",
    ] {
        assert!(open(address).is_err(), "{address}");
    }
}
