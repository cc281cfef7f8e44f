//! LAS and LAZ files that laspy 2.7 and lazrs wrote. Values follow from the number of a point, as `testdata/las/README.md` states.
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

/// Numbers of a column in the order of the file, by `intensity`.
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
fn files_of_other_point_formats_name_the_columns_that_differ() {
    let files = [file("gps-1.2.las"), file("format-0.las")];
    let (error, text) = refused(&files, &small());
    assert_eq!(error.class(), Class::Malformed);
    assert!(text.contains("found no columns gps_time,"), "{text}");
    assert!(text.contains("--attributes"), "{text}");
    let (_, text) = refused(&[files[1].clone(), files[0].clone()], &small());
    assert!(text.contains("found new columns gps_time,"), "{text}");
    let mut options = small();
    options.attributes = Some(vec!["intensity".to_owned()]);
    options.crs = Some("EPSG:25832".to_owned());
    assert_eq!(open(&files, &options).vertices(), 40);
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

/// Of a file without points lazrs writes a table of one chunk, with the end of its coder alone.
#[test]
#[cfg(feature = "laz")]
fn a_compressed_file_without_points_is_one_of_several() {
    let folder = Folder::new();
    let whole = std::fs::read(file("rgb-1.2.laz")).unwrap();
    let first = whole[96..100].try_into().map(u32::from_le_bytes).unwrap();
    let mut empty = whole[..first as usize].to_vec();
    empty[107..131].fill(0);
    let table = u64::from(first) + 12;
    empty.extend(table.to_le_bytes());
    empty.extend([1, 0, 0, 0]);
    empty.extend([0, 0, 0, 0, 1, 0, 0, 0, 0x15, 0xd3, 0, 0]);
    let empty = folder.file("empty.laz", empty);
    let (_, text) = refused(std::slice::from_ref(&empty), &small());
    assert!(text.contains("found no vertex"), "{text}");
    for files in [
        [empty.clone(), file("rgb-1.2.laz")],
        [file("rgb-1.2.laz"), empty],
    ] {
        assert_eq!(open(&files, &small()).vertices(), 20);
    }
}

/// Changes single bytes of compressed files: the result is an error or other points, but no panic, and memory is bounded by the file.
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

/// Point `i` of `octree.copc.laz`: its position, and its level in the octree.
#[cfg(feature = "laz")]
fn of_octree(i: u32) -> ([f64; 3], u32) {
    let steps = [i % 8, i / 8 % 8, i / 64];
    let level = match steps {
        _ if steps.iter().all(|step| step % 4 == 0) => 0,
        _ if steps.iter().all(|step| step % 2 == 0) => 1,
        _ => 2,
    };
    let [x, y, z] = steps.map(|step| f64::from(step) * 0.5);
    ([1000.0 + x, -50.0 + y, 10.0 + z], level)
}

/// The points that an import reads, by their numbers.
#[cfg(feature = "laz")]
fn taken(path: &std::path::Path, bbox: Option<&str>, resolution: Option<f64>) -> Vec<u32> {
    let mut options = small();
    options.bbox = bbox.map(|text| zvf_query::BBox::parse_on(text, &["x", "y", "z"]).unwrap());
    options.resolution = resolution;
    let import = open(&[path.to_owned()], &options);
    let vertices = Folder::new().store(&import, |_| {}).vertices;
    let numbers = column(&vertices, "intensity").into_iter();
    let mut numbers: Vec<u32> = numbers.map(|one| one.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(import.vertices(), numbers.len() as u64);
    let note = "a part of the 512 points of the file";
    assert!(import.notes().iter().any(|one| one.contains(note)));
    numbers
}

#[test]
#[cfg(feature = "laz")]
fn a_part_of_a_copc_file_is_a_box_and_a_resolution() {
    let path = file("octree.copc.laz");
    for (bbox, lo, hi) in [
        (
            "1000.5,-49.5,10.5:1001,-48,11",
            [1000.5, -49.5, 10.5],
            [1001.0, -48.0, 11.0],
        ),
        (
            "x=1003.5:,z=:10",
            [1003.5, f64::MIN, f64::MIN],
            [f64::MAX, f64::MAX, 10.0],
        ),
        // A box on the border of nodes, and one in the octant whose entries are in a separate page.
        (
            "1002,-48,12:1002,-48,12",
            [1002.0, -48.0, 12.0],
            [1002.0, -48.0, 12.0],
        ),
        (
            "1002.1,-47.9,12.1:1009,9,19",
            [1002.1, -47.9, 12.1],
            [1009.0, 9.0, 19.0],
        ),
        ("x=-inf:inf", [f64::MIN; 3], [f64::MAX; 3]),
    ] {
        for (resolution, deepest) in [
            (None, 2),
            (Some(9.0), 0),
            (Some(2.0), 0),
            (Some(1.5), 1),
            (Some(1.0), 1),
            (Some(0.01), 2),
        ] {
            let inside = |position: [f64; 3]| {
                (0..3).all(|axis| (lo[axis]..=hi[axis]).contains(&position[axis]))
            };
            let wanted: Vec<u32> = (0..512)
                .filter(|i| {
                    let (position, level) = of_octree(*i);
                    inside(position) && level <= deepest
                })
                .collect();
            if wanted.is_empty() {
                let mut options = small();
                options.bbox = Some(zvf_query::BBox::parse_on(bbox, &["x", "y", "z"]).unwrap());
                options.resolution = resolution;
                let (_, text) = refused(std::slice::from_ref(&path), &options);
                assert!(text.contains("no vertex"), "{text}");
                continue;
            }
            assert_eq!(
                taken(&path, Some(bbox), resolution),
                wanted,
                "{bbox} {resolution:?}"
            );
        }
    }
    assert_eq!(taken(&path, None, Some(2.0)).len(), 8);
}

#[test]
fn a_box_takes_points_of_files_without_an_index() {
    let mut options = small();
    let bbox = zvf_query::BBox::parse_on("x=1000:1000.5", &["x", "y", "z"]);
    options.bbox = Some(bbox.unwrap());
    let names = ["gps-1.2.las", "rgb-1.2.laz"];
    let built = if cfg!(feature = "laz") { 2 } else { 1 };
    for name in names.into_iter().take(built) {
        let import = open(&[file(name)], &options);
        let vertices = Folder::new().store(&import, |_| {}).vertices;
        let mut numbers: Vec<f64> = column(&vertices, "intensity")
            .iter()
            .map(|one| one.parse::<f64>().unwrap() / 1000.0)
            .collect();
        numbers.sort_unstable_by(f64::total_cmp);
        let wanted: Vec<f64> = (0..20)
            .map(f64::from)
            .filter(|i| (0.0..=50.0).contains(&(i * 7.0 - 30.0)))
            .collect();
        assert_eq!(numbers, wanted, "{name}");
    }
    options.resolution = Some(1.0);
    let (error, text) = refused(&[file("gps-1.2.las")], &options);
    assert_eq!(error.class(), Class::Misuse);
    assert!(text.contains("index of COPC"), "{text}");
    let folder = Folder::new();
    let (error, text) = refused(&[folder.file("a.csv", "x,y,z\n1,2,3\n")], &options);
    assert_eq!(error.class(), Class::Misuse);
    assert!(
        text.contains("found one for CSV, expected none: it is for LAS and LAZ"),
        "{text}"
    );
}

/// A part can be read although all chunks outside its box and levels are damaged.
#[test]
#[cfg(feature = "laz")]
fn only_chunks_of_the_part_are_read() {
    let folder = Folder::new();
    let good = std::fs::read(file("octree.copc.laz")).unwrap();
    let near = "1000,-50,10:1000.6,-49.4,10.6";
    let mut damaged = good.clone();
    let mut left = 0;
    for at in entries(&good) {
        let number =
            |from: usize| i32::from_le_bytes(good[at + from..at + from + 4].try_into().unwrap());
        let (level, node) = (number(0), [number(4), number(8), number(12)]);
        let from = u64::from_le_bytes(good[at + 16..at + 24].try_into().unwrap()) as usize;
        // The box is in the node 0, 0, 0 of each level.
        if number(28) > 0 && node != [0; 3] && level > 0 {
            damaged[from..from + number(24) as usize].fill(0xff);
            left += 1;
        }
    }
    assert!(left > 60, "{left}");
    let path = folder.file("a.copc.laz", &damaged);
    let all = taken(&file("octree.copc.laz"), Some(near), None);
    assert_eq!(all.len(), 8);
    assert_eq!(taken(&path, Some(near), None), all);
    assert!(Import::open(&[path], &small()).is_err());
}

/// The positions of the entries of nodes.
#[cfg(feature = "laz")]
fn entries(file: &[u8]) -> Vec<usize> {
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    // After the header, the head of the record, centre, half and spacing.
    let info = 375 + 54;
    let mut pages = vec![(number(info + 40), number(info + 48))];
    let mut found = Vec::new();
    while let Some((at, size)) = pages.pop() {
        for entry in (at..at + size).step_by(32) {
            let half = |from: usize| i32::from_le_bytes(file[from..from + 4].try_into().unwrap());
            match half(entry + 28) {
                -1 => pages.push((number(entry + 16), half(entry + 24) as usize)),
                _ => found.push(entry),
            }
        }
    }
    found
}

#[test]
#[cfg(feature = "laz")]
fn a_damaged_octree_is_an_error_with_a_place() {
    let folder = Folder::new();
    let good = std::fs::read(file("octree.copc.laz")).unwrap();
    let info = 375 + 54;
    let root = u64::from_le_bytes(good[info + 40..info + 48].try_into().unwrap());
    let bytes = u64::from_le_bytes(good[info + 48..info + 56].try_into().unwrap());
    let entry = entries(&good)[0];
    let page = i32::try_from(bytes).unwrap().to_le_bytes();
    let itself = [&root.to_le_bytes()[..], &page, &(-1_i32).to_le_bytes()].concat();
    for (at, new, wanted) in [
        (
            info,
            &f64::NAN.to_le_bytes()[..],
            "an octree of COPC without extent or spacing",
        ),
        (info + 24, &0_f64.to_le_bytes(), "without extent"),
        (info + 40, &[0xff; 8], "a page of the hierarchy"),
        (
            info + 48,
            &33_u64.to_le_bytes(),
            "a page of the hierarchy of 33 bytes",
        ),
        (entry, &99_i32.to_le_bytes(), "of level 99"),
        (entry + 4, &7_i32.to_le_bytes(), "the node [7"),
        (entry + 16, &u64::MAX.to_le_bytes(), "a chunk of"),
        (entry + 24, &(-7_i32).to_le_bytes(), "-7 bytes"),
        (entry + 28, &(-2_i32).to_le_bytes(), "a node of -2 points"),
        (entry + 28, &i32::MAX.to_le_bytes(), "bytes of a chunk"),
        (
            entry + 28,
            &513_i32.to_le_bytes(),
            "points in nodes, expected at most 512",
        ),
        (entry + 16, &itself, "points in nodes, expected at most 512"),
    ] {
        let mut damaged = good.clone();
        damaged[at..at + new.len()].copy_from_slice(new);
        let path = folder.file("a.copc.laz", damaged);
        let mut options = small();
        options.resolution = Some(1e-9);
        let (error, text) = refused(&[path], &options);
        assert!(text.contains(wanted), "{wanted}: {text}");
        assert!(
            matches!(error.class(), Class::Malformed | Class::Limit),
            "{text}"
        );
    }
    // A page that is too large for memory. The file is sparse, so that the bytes of the page exist.
    let mut large = good.clone();
    large[info + 48..info + 56].copy_from_slice(&(1_u64 << 38).to_le_bytes());
    let large = folder.file("a.copc.laz", large);
    let sparse = std::fs::OpenOptions::new().write(true).open(&large);
    sparse.unwrap().set_len(1 << 40).unwrap();
    let mut options = small();
    options.resolution = Some(1e-9);
    let (error, text) = refused(&[large], &options);
    assert_eq!(error.class(), Class::Limit);
    let wanted = "more than 268435456 bytes of a page of the hierarchy";
    assert!(text.contains(wanted), "{text}");
    // A page with one entry, which refers to the same page.
    let mut circle = good.clone();
    circle[info + 48..info + 56].copy_from_slice(&32_u64.to_le_bytes());
    let at = root as usize;
    circle[at + 16..at + 24].copy_from_slice(&root.to_le_bytes());
    circle[at + 24..at + 28].copy_from_slice(&32_i32.to_le_bytes());
    circle[at + 28..at + 32].copy_from_slice(&(-1_i32).to_le_bytes());
    let mut options = small();
    options.resolution = Some(1e-9);
    let (error, text) = refused(&[folder.file("a.copc.laz", circle)], &options);
    assert_eq!(error.class(), Class::Malformed);
    let wanted = "pages of the hierarchy that are longer than the file";
    assert!(text.contains(wanted), "{text}");
    for at in Sample::new("octree").some(info..good.len(), 48) {
        let mut damaged = good.clone();
        damaged[at] ^= 0xff;
        let mut options = small();
        options.resolution = Some(1.0);
        let _ = Import::open(&[folder.file("a.copc.laz", damaged)], &options);
    }
}
