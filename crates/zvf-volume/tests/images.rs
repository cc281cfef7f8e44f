//! Compares NIfTI and MGH files with arrays in the order of the file. `python/tests/test_images.py` compares files that nibabel
//! wrote.

use std::io::Write;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use zvf_store::blocking::Runtime;
use zvf_store::{Class, IoOptions};
use zvf_volume::{Axis, Selection, Volume, VolumeError, VolumeFormat};

/// A NIfTI-1 file. `at` lists bytes to replace, by position.
fn nifti(
    shape: &[i16],
    datatype: i16,
    big: bool,
    elements: &[u8],
    at: &[(usize, &[u8])],
) -> Vec<u8> {
    let mut file = vec![0; 352];
    let order = |mut bytes: Vec<u8>| {
        if big {
            bytes.reverse();
        }
        bytes
    };
    let mut put = |at: usize, bytes: Vec<u8>| {
        let bytes = order(bytes);
        file[at..at + bytes.len()].copy_from_slice(&bytes);
    };
    put(0, 348_i32.to_le_bytes().to_vec());
    put(
        40,
        i16::try_from(shape.len()).unwrap().to_le_bytes().to_vec(),
    );
    for (axis, extent) in shape.iter().enumerate() {
        put(42 + 2 * axis, extent.to_le_bytes().to_vec());
    }
    put(70, datatype.to_le_bytes().to_vec());
    put(108, 352_f32.to_le_bytes().to_vec());
    put(254, 1_i16.to_le_bytes().to_vec());
    for axis in 0..3 {
        put(280 + 20 * axis, 2_f32.to_le_bytes().to_vec());
    }
    file[123] = 2 + 8;
    file[344..348].copy_from_slice(b"n+1\0");
    for (at, bytes) in at {
        let bytes = order(bytes.to_vec());
        file[*at..*at + bytes.len()].copy_from_slice(&bytes);
    }
    file.extend(elements);
    file
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn open(address: &str) -> Result<Volume, VolumeError> {
    Runtime::new()
        .unwrap()
        .wait(Volume::open(address, &IoOptions::new()))
}

fn read(volume: &Volume, selection: &Selection) -> Result<Vec<u8>, VolumeError> {
    let read = Runtime::new().unwrap().wait(volume.read(selection));
    read.map(|(bytes, _)| bytes)
}

#[test]
fn selections_are_those_of_the_array_whose_first_axis_is_the_fastest() {
    let folder = tempfile::tempdir().unwrap();
    // Long rows that are read in parts, and short ones with gaps.
    for (number, (shape, step)) in [
        (vec![40_i16, 7, 5, 3], 1),
        (vec![1500, 2, 3], 400),
        (vec![9, 4], 1),
    ]
    .into_iter()
    .enumerate()
    {
        let count: usize = shape
            .iter()
            .map(|one| usize::try_from(*one).unwrap())
            .product();
        let elements: Vec<u8> = (0..u16::try_from(count).unwrap())
            .flat_map(u16::to_le_bytes)
            .collect();
        let bytes = nifti(&shape, 512, false, &elements, &[]);
        for (ending, bytes) in [("nii", bytes.clone()), ("nii.gz", gzip(&bytes))] {
            let path = folder.path().join(format!("{number}.{ending}"));
            std::fs::write(&path, bytes).unwrap();
            let volume = open(path.to_str().unwrap()).unwrap();
            let mut wanted: Vec<u64> = shape
                .iter()
                .map(|one| u64::try_from(*one).unwrap())
                .collect();
            wanted.resize(wanted.len().max(3), 1);
            let info = volume.info();
            assert_eq!(
                (&info.shape[..], info.form),
                (&wanted[..], VolumeFormat::Nifti)
            );
            assert_eq!(info.element.text, "<u2");
            let mut runner = TestRunner::new(Config::with_cases(24));
            let ranges: Vec<_> = wanted
                .iter()
                .map(|&extent| (0..=extent, 0..=extent, 1..4_u64))
                .collect();
            runner
                .run(&ranges, |ranges| {
                    let axes: Vec<Axis> = ranges
                        .iter()
                        .enumerate()
                        .map(|(at, (a, b, by))| {
                            let by = if at == 0 { by * step } else { *by };
                            Axis::new(*a.min(b), *a.max(b), by)
                        })
                        .collect();
                    let selection = Selection::new(&axes, &volume.info().shape).unwrap();
                    let mut places = vec![0_u64];
                    let mut stride = 1;
                    let strides: Vec<u64> = wanted
                        .iter()
                        .map(|extent| {
                            let this = stride;
                            stride *= extent;
                            this
                        })
                        .collect();
                    for (axis, stride) in axes.iter().zip(&strides) {
                        let by = usize::try_from(axis.step).unwrap();
                        places = places
                            .iter()
                            .flat_map(|place| {
                                (axis.start..axis.stop)
                                    .step_by(by)
                                    .map(move |at| place + at * stride)
                            })
                            .collect();
                    }
                    let expected: Vec<u8> = places
                        .iter()
                        .flat_map(|place| u16::try_from(*place).unwrap().to_le_bytes())
                        .collect();
                    prop_assert_eq!(read(&volume, &selection).unwrap(), expected);
                    Ok(())
                })
                .unwrap();
        }
    }
}

#[test]
fn values_colours_and_positions_are_those_of_the_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii");
    let address = path.to_str().unwrap();
    // Big-endian numbers with a slope of 0.5 and an intercept of 10, at times from 3 on, 2 seconds apart.
    let stored: Vec<u8> = [1_i16, -2, 300]
        .iter()
        .flat_map(|one| {
            let mut bytes = one.to_le_bytes();
            bytes.reverse();
            bytes
        })
        .collect();
    let fields: [(usize, &[u8]); 4] = [
        (112, &0.5_f32.to_le_bytes()),
        (116, &10_f32.to_le_bytes()),
        (136, &3_f32.to_le_bytes()),
        (92, &2_f32.to_le_bytes()),
    ];
    std::fs::write(&path, nifti(&[1, 1, 1, 3], 4, true, &stored, &fields)).unwrap();
    let volume = open(address).unwrap();
    let info = volume.info();
    assert_eq!(info.element.text, "<f8");
    assert!(
        info.notes[0].contains("0.5 * element + 10"),
        "{:?}",
        info.notes
    );
    let time = &info.axes[3];
    assert_eq!(
        (time.place, time.unit.as_deref()),
        (Some((3.0, 2.0)), Some("second"))
    );
    let affine = info.affine.as_ref().unwrap();
    assert_eq!(
        (affine.affine.at(1, 1), affine.unit),
        (2.0, Some("millimeter"))
    );
    assert_eq!(affine.source.as_deref(), Some("sform (scanner)"));
    let values = read(&volume, &Selection::all(&info.shape).unwrap()).unwrap();
    let wanted: Vec<u8> = [10.5_f64, 9.0, 160.0]
        .iter()
        .flat_map(|one| one.to_le_bytes())
        .collect();
    assert_eq!(values, wanted);
    // Without sform and qform, and with sizes that are not positive: the affine that nibabel 5.4 states.
    let fields: [(usize, &[u8]); 4] = [
        (254, &[0, 0]),
        (80, &(-2_f32).to_le_bytes()),
        (84, &3_f32.to_le_bytes()),
        (88, &0_f32.to_le_bytes()),
    ];
    std::fs::write(&path, nifti(&[4, 3, 2], 2, false, &[0; 24], &fields)).unwrap();
    let volume = open(address).unwrap();
    let affine = &volume.info().affine.as_ref().unwrap().affine;
    let wanted = [
        vec![-2.0, 0.0, 0.0, 3.0],
        vec![0.0, 3.0, 0.0, -3.0],
        vec![0.0, 0.0, 1.0, -0.5],
        vec![0.0, 0.0, 0.0, 1.0],
    ];
    assert_eq!(affine.rows(), wanted);
    let notes = &volume.info().notes;
    assert!(notes[0].contains("voxel sizes of 0"), "{notes:?}");
    // Colours are the last axis.
    let stored: Vec<u8> = (0..24).collect();
    std::fs::write(&path, nifti(&[2, 4, 1], 128, false, &stored, &[])).unwrap();
    let volume = open(address).unwrap();
    assert_eq!(&volume.info().shape[..], [2, 4, 1, 3]);
    let axes = [
        Axis::at(1),
        Axis::new(0, 4, 3),
        Axis::at(0),
        Axis::new(0, 3, 2),
    ];
    let part = Selection::new(&axes, &volume.info().shape).unwrap();
    assert_eq!(read(&volume, &part).unwrap(), [3, 5, 21, 23]);
}

#[test]
fn files_that_are_not_allowed_are_errors_with_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii");
    let address = path.to_str().unwrap();
    let elements = [0; 8];
    let broken = |at: usize, bytes: &[u8]| nifti(&[2, 2, 2], 2, false, &elements, &[(at, bytes)]);
    let longest: Vec<u8> = [7_i16, 32767, 32767, 32767, 32767, 32767, 32767, 32767]
        .iter()
        .flat_map(|one| one.to_le_bytes())
        .collect();
    let mut half = gzip(&broken(42, &[200]));
    half.truncate(half.len() / 2);
    for (bytes, wanted) in [
        (broken(40, &[0]), "byte 40 (dim[0]): found 0"),
        (broken(40, &[8]), "byte 40 (dim[0]): found 8"),
        (broken(44, &[0xff, 0xff]), "byte 44 (dim): found -1"),
        (broken(70, &[1]), "byte 70 (datatype): found code 1"),
        (
            broken(108, &10_f32.to_le_bytes()),
            "byte 108 (vox_offset): found 10",
        ),
        (
            broken(108, &f32::NAN.to_le_bytes()),
            "byte 108 (vox_offset): found NaN",
        ),
        (broken(280, &0_f32.to_le_bytes()), "byte 280 (srow)"),
        (broken(344, b"ni1\0"), "second file (.img)"),
        (broken(344, b"none"), "another file"),
        (broken(40, &longest), "extents beyond 64 bits"),
        (
            broken(42, &[200]),
            "byte 360: found the end of the file, expected 1152 bytes",
        ),
        (half, "found"),
        (gzip(b"no image"), "expected the header of NIfTI or MGH"),
        (vec![0x1f, 0x8b, 9], "expected the header of NIfTI or MGH"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let opened = open(address).and_then(|volume| {
            let all = Selection::all(&volume.info().shape).unwrap();
            read(&volume, &all)
        });
        let error = opened.expect_err(wanted);
        assert!(error.to_string().contains(wanted), "{wanted}: {error}");
        assert_eq!(error.class(), Class::Malformed, "{error}");
    }
    // With a slope of 0, the intercept is not used.
    std::fs::write(&path, broken(116, &f32::INFINITY.to_le_bytes())).unwrap();
    let volume = open(address).unwrap();
    let all = Selection::all(&volume.info().shape).unwrap();
    assert_eq!(read(&volume, &all).unwrap(), elements);
    // A file that ends inside its elements after decompression, and one whose checksum is wrong.
    let whole = broken(42, &[2]);
    let mut damaged = gzip(&whole);
    let end = damaged.len() - 8;
    damaged[end] ^= 1;
    for bytes in [gzip(&whole[..whole.len() - 1]), damaged] {
        std::fs::write(&path, bytes).unwrap();
        let volume = open(address).unwrap();
        let all = Selection::all(&volume.info().shape).unwrap();
        assert_eq!(read(&volume, &all).unwrap_err().class(), Class::Malformed);
    }
}

#[test]
fn mgh_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = vec![0; 284];
    let big = |number: i32| {
        let mut bytes = number.to_le_bytes();
        bytes.reverse();
        bytes
    };
    for (at, number) in [1, 3, 2, 1, 1, 4].into_iter().enumerate() {
        file[4 * at..4 * at + 4].copy_from_slice(&big(number));
    }
    file.extend((0..6_u8).flat_map(|one| [0, one]));
    for (name, bytes) in [("a.mgh", file.clone()), ("a.mgz", gzip(&file))] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let volume = open(path.to_str().unwrap()).unwrap();
        let info = volume.info();
        assert_eq!(
            (info.form, &info.shape[..]),
            (VolumeFormat::Mgh, &[3, 2, 1][..])
        );
        assert_eq!(info.element.text, ">i2");
        let affine = &info.affine.as_ref().unwrap().affine;
        // Coronal: i to the left, j to the bottom, k to the front, and the middle at 0.
        let mut place = [0.0; 3];
        affine.apply(&[1.5, 1.0, 0.5], &mut place);
        assert_eq!(place, [0.0; 3]);
        assert_eq!(
            (affine.at(0, 0), affine.at(2, 1), affine.at(1, 2)),
            (-1.0, -1.0, 1.0)
        );
        let all = read(&volume, &Selection::all(&info.shape).unwrap()).unwrap();
        assert_eq!(all, [0, 0, 0, 3, 0, 1, 0, 4, 0, 2, 0, 5]);
    }
}
