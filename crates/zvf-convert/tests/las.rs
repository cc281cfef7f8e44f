//! LAS and LAZ files that laspy 2.7 and lazrs wrote; values follow from the number of a point, as `testdata/las/README.md` says.
//! `python/tests/test_las.py` compares all point formats with laspy.

use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use serde_json::json;
#[cfg(feature = "laz")]
use zvf_convert::Import;
use zvf_convert::Options;
use zvf_store::Class;
#[cfg(feature = "laz")]
use zvf_testkit::sample::Sample;

use crate::support::{Folder, column, open, refused, small};

pub(crate) fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/las")
        .join(name)
}

/// Numbers of a column in the order of the file, which `intensity` states.
fn in_order(batch: &arrow_array::RecordBatch, name: &str) -> Vec<String> {
    let order = column(batch, "intensity");
    let values = column(batch, name);
    let mut all: Vec<(u32, String)> = order
        .iter()
        .map(|one| one.parse().unwrap())
        .zip(values)
        .collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, value)| value).collect()
}

fn texts<T: ToString>(value: impl Fn(i64) -> T) -> Vec<String> {
    (0..20).map(|i| value(i).to_string()).collect()
}

#[test]
fn points_are_those_of_the_file() {
    for (name, format, crs) in [
        ("gps-1.2.las", 1, json!(null)),
        #[cfg(feature = "laz")]
        ("rgb-1.2.laz", 3, json!("EPSG:25832")),
        #[cfg(feature = "laz")]
        ("nir-extra-1.4.laz", 8, json!("PROJCS[\"UTM 32N\"]")),
        #[cfg(feature = "laz")]
        ("wave-1.4.laz", 10, json!(null)),
    ] {
        let folder = Folder::new();
        let import = open(&[file(name)], &small());
        assert_eq!(import.vertices(), 20);
        assert_eq!(json!(import.spec().crs), crs, "{name}");
        let header = import.frame().unwrap();
        assert_eq!(header["scale"], json!([0.01, 0.001, 0.5]));
        assert_eq!(header["point_format"], json!(format));
        let lost = import.notes().iter().any(|note| note.contains("waveforms"));
        assert_eq!(lost, format == 10, "{:?}", import.notes());
        let vertices = folder.store(&import, |_| {}).vertices;
        let positions = vertices
            .column_by_name("position")
            .unwrap()
            .as_fixed_size_list();
        let positions = positions
            .values()
            .as_primitive::<Float64Type>()
            .values()
            .to_vec();
        let order = column(&vertices, "intensity");
        for (row, order) in order.iter().enumerate() {
            let i = f64::from(order.parse::<i32>().unwrap() / 1000);
            let wanted = [
                (i * 7.0 - 30.0) * 0.01 + 1000.0,
                i * i * 0.001 - 50.0,
                (100.0 - i) * 0.5,
            ];
            assert_eq!(positions[3 * row..3 * row + 3], wanted, "{name} {i}");
        }
        let same = |column: &str, wanted: Vec<String>| {
            assert_eq!(in_order(&vertices, column), wanted, "{name} {column}");
        };
        same("classification", texts(|i| i % 19));
        same("return_number", texts(|i| 1 + i % 3));
        same("number_of_returns", texts(|_| 3));
        same("withheld", texts(|i| i % 2));
        same("user_data", texts(|i| i + 200));
        same("point_source_id", texts(|i| i + 60000));
        let seconds = in_order(&vertices, "gps_time").into_iter();
        let seconds: Vec<f64> = seconds.map(|one| one.parse().unwrap()).collect();
        let wanted: Vec<f64> = (0..20).map(|i| f64::from(i) * 0.25 + 1e5).collect();
        assert_eq!(seconds, wanted);
        match format {
            1 | 3 => same("scan_angle_rank", texts(|i| -i)),
            _ => {
                same("scan_angle", texts(|i| i * -100));
                same("overlap", texts(|i| i64::from(i % 5 == 0)));
                same("nir", texts(|i| i * 11));
                let heights = in_order(&vertices, "height").into_iter();
                let heights: Vec<f64> = heights.map(|one| one.parse().unwrap()).collect();
                assert_eq!(
                    heights,
                    (0..20).map(|i| f64::from(i) * 0.5).collect::<Vec<_>>()
                );
                assert!(vertices.column_by_name("pair").is_some());
            }
        }
        if format != 1 {
            same("blue", texts(|i| i * 3000));
        }
    }
}

#[test]
#[cfg(feature = "laz")]
fn files_of_other_systems_are_refused_unless_one_is_named() {
    let files = [file("rgb-1.2.laz"), file("rgb-1.2.laz")];
    assert_eq!(open(&files, &small()).vertices(), 40);
    let folder = Folder::new();
    let mut bytes = std::fs::read(&files[0]).unwrap();
    let key = bytes
        .windows(2)
        .position(|two| two == 25832_u16.to_le_bytes())
        .unwrap();
    bytes[key..key + 2].copy_from_slice(&25833_u16.to_le_bytes());
    let other = folder.file("other.laz", bytes);
    let both = [files[0].clone(), other];
    let (error, text) = refused(&both, &small());
    assert_eq!(error.class(), Class::Malformed);
    assert!(
        text.contains("EPSG:25833") && text.contains("EPSG:25832"),
        "{text}"
    );
    let mut options = small();
    options.crs = Some("EPSG:4978".to_owned());
    assert_eq!(open(&both, &options).spec().crs, Some(json!("EPSG:4978")));
}

#[test]
fn damage_is_an_error_with_a_place() {
    let folder = Folder::new();
    let good = std::fs::read(file("gps-1.2.las")).unwrap();
    for (at, bytes, wanted) in [
        (0, &b"LASX"[..], "byte 0: found \"LASX\""),
        (24, &[2, 0], "byte 24: found version 2.0"),
        (104, &[11], "byte 104: found point format 11"),
        (
            104,
            &[129],
            "byte 104: found compressed points without a record of laszip",
        ),
        (105, &[27, 0], "byte 105: found points of 27 bytes"),
        (
            107,
            &[21, 0, 0, 0],
            "the end of the file, expected 21 points",
        ),
        (131, &f64::NAN.to_le_bytes(), "byte 131: found NaN"),
        (100, &[255, 255], "the end of the file"),
    ] {
        let mut damaged = good.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        let (error, text) = refused(&[folder.file("a.las", damaged)], &Options::default());
        assert!(text.contains(wanted), "{wanted}: {text}");
        assert_eq!(error.class(), Class::Malformed, "{text}");
    }
}

/// Bytes of compressed files changed one at a time: an error or other points, and neither a panic nor more memory than the file justifies.
#[test]
#[cfg(feature = "laz")]
fn damaged_compressed_files_are_errors_or_other_points() {
    let folder = Folder::new();
    for name in ["rgb-1.2.laz", "wave-1.4.laz"] {
        let good = std::fs::read(file(name)).unwrap();
        let mut errors = 0;
        for at in Sample::new(name).some(0..good.len(), 24) {
            let mut damaged = good.clone();
            damaged[at] ^= 0xff;
            let path = folder.file("a.laz", damaged);
            errors += usize::from(Import::open(&[path], &small()).is_err());
        }
        assert!(errors > 5, "{name}: {errors}");
        // A table that states more chunks than the file has bytes, for which the decoder would reserve 64 GiB.
        let first = u32::from_le_bytes(good[96..100].try_into().unwrap()) as usize;
        let table = u64::from_le_bytes(good[first..first + 8].try_into().unwrap()) as usize;
        let mut damaged = good.clone();
        damaged[table + 4..table + 8].fill(0xff);
        let (_, text) = refused(&[folder.file("a.laz", damaged)], &small());
        assert!(
            text.contains("found 4294967295 chunks, expected at most"),
            "{text}"
        );
        for end in Sample::new(name).some(0..good.len(), 96) {
            let path = folder.file("short.laz", &good[..end]);
            assert!(Import::open(&[path], &small()).is_err(), "{name} {end}");
        }
    }
}
