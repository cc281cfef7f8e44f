//! Compares samples with an interpolation over the corners of each voxel, on the whole array.

use proptest::prelude::*;
use zvf_caterva::{WriteOptions, Writer};
use zvf_store::IoOptions;
use zvf_store::blocking::Runtime;
use zvf_volume::{Affine, AxisUse, Interpolation, Sampler, Volume};

/// A volume of numbers in a frame.
fn volume(folder: &std::path::Path, shape: &[u64], values: &[f32]) -> Volume {
    let path = folder.join("v.b2nd");
    let chunk: Vec<u64> = shape.iter().map(|_| 4).collect();
    let block: Vec<u64> = shape.iter().map(|_| 2).collect();
    let options = WriteOptions::new(4, &chunk, &block).with_dtype("<f4");
    let mut writer = Writer::create(&path, shape, options).unwrap();
    let bytes: Vec<u8> = values.iter().flat_map(|one| one.to_le_bytes()).collect();
    writer.write_all(&bytes).unwrap();
    writer.finish().unwrap();
    Runtime::new()
        .unwrap()
        .wait(Volume::open(path.to_str().unwrap(), &IoOptions::new()))
        .unwrap()
}

fn element(shape: &[u64], values: &[f32], at: &[u64]) -> f64 {
    let mut place = 0;
    for (c, extent) in at.iter().zip(shape) {
        place = place * extent + c;
    }
    f64::from(values[usize::try_from(place).unwrap()])
}

/// Linear interpolation on each axis in turn: the recursive definition.
fn linear(shape: &[u64], values: &[f32], voxel: &[f64], at: &mut Vec<u64>) -> f64 {
    let axis = at.len();
    if axis == shape.len() {
        return element(shape, values, at);
    }
    let low = voxel[axis].floor();
    let share = voxel[axis] - low;
    let mut sum = 0.0;
    for (step, weight) in [(0, 1.0 - share), (1, share)] {
        if weight > 0.0 {
            at.push(low as u64 + step);
            sum += weight * linear(shape, values, voxel, at);
            at.pop();
        }
    }
    sum
}

fn inside(shape: &[u64], voxel: &[f64], slack: f64) -> bool {
    voxel
        .iter()
        .zip(shape)
        .all(|(v, extent)| *v >= -slack && *v <= *extent as f64 - 1.0 + slack)
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes(four.try_into().unwrap()))
        .collect()
}

/// Multiples of 0.25 are exact in floats, so both computations get the same places.
fn places(rank: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(
        (-12..60_i32).prop_map(|one| f64::from(one) * 0.25),
        rank..rank * 20,
    )
    .prop_map(move |mut all| {
        all.truncate(all.len() / rank * rank);
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn samples_are_those_of_the_whole_array(
        (shape, places) in (1..4_usize).prop_flat_map(|rank| {
            (prop::collection::vec(1..9_u64, rank), places(rank))
        }),
        most in prop::sample::select(vec![1_u64, 64, 1 << 20]),
        seed in 0..1000_u32,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let rank = shape.len();
        let count: u64 = shape.iter().product();
        let values: Vec<f32> = (0..count as u32)
            .map(|at| (at.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 20) as f32 / 64.0)
            .collect();
        let volume = volume(folder.path(), &shape, &values);
        // World coordinates: twice the element index, plus one, on every axis.
        let mut rows = Vec::new();
        for row in 0..rank {
            rows.extend((0..rank).map(|column| if row == column { 2.0 } else { 0.0 }));
            rows.push(1.0);
        }
        let to_world = Affine::from_rows(&rows, rank).unwrap();
        let world: Vec<f64> = places.iter().map(|one| 2.0 * one + 1.0).collect();
        let runtime = Runtime::new().unwrap();
        for order in [Interpolation::Linear, Interpolation::Nearest] {
            let sampler = Sampler::new(volume.clone(), vec![AxisUse::Space; rank], &to_world, order)
                .unwrap()
                .with_outside(-5.0)
                .unwrap()
                .with_box(most);
            let sampled = runtime.wait(sampler.sample(&world)).unwrap();
            let found = numbers(&sampled.bytes);
            prop_assert_eq!(found.len(), places.len() / rank);
            let mut outside = 0;
            for (voxel, found) in places.chunks_exact(rank).zip(found) {
                let wanted = match order {
                    Interpolation::Linear if inside(&shape, voxel, 0.0) => {
                        linear(&shape, &values, voxel, &mut Vec::new())
                    }
                    Interpolation::Nearest if voxel.iter().zip(&shape).all(|(v, n)| {
                        let at = (v + 0.5).floor();
                        at >= 0.0 && at < *n as f64
                    }) => {
                        let at: Vec<u64> = voxel.iter().map(|v| (v + 0.5).floor() as u64).collect();
                        element(&shape, &values, &at)
                    }
                    _ => {
                        outside += 1;
                        -5.0
                    }
                };
                prop_assert!((f64::from(found) - wanted).abs() <= 1e-4, "{voxel:?}: {found}, not {wanted}");
            }
            prop_assert_eq!(sampled.outside, outside);
        }
    }

    #[test]
    fn a_map_and_its_inverse_undo_each_other(
        numbers in prop::collection::vec(-8.0..8.0_f64, 12),
        place in prop::collection::vec(-100.0..100.0_f64, 3),
    ) {
        let map = Affine::from_rows(&numbers, 3).unwrap();
        if let Ok(back) = map.inverse() {
            let (mut there, mut here) = ([0.0; 3], [0.0; 3]);
            map.apply(&place, &mut there);
            back.apply(&there, &mut here);
            // Badly conditioned matrices lose digits, which shows in the inverse of the inverse.
            let size = |one: &Affine| {
                let mut image = [0.0; 3];
                one.apply(&[1.0; 3], &mut image);
                image.iter().fold(1.0_f64, |all, one| all.max(one.abs()))
            };
            let slack = 1e-9 * size(&back) * size(&map) * 1e3;
            for (a, b) in here.iter().zip(&place) {
                prop_assert!((a - b).abs() < slack.max(1e-6), "{here:?} {place:?}");
            }
        }
    }
}

#[test]
fn each_block_is_read_once_for_a_batch() {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<f32> = (0..512).map(|one| one as f32).collect();
    let volume = volume(folder.path(), &[8, 8, 8], &values);
    let sampler = Sampler::new(
        volume,
        vec![AxisUse::Space; 3],
        &Affine::identity(3),
        Interpolation::Linear,
    )
    .unwrap();
    // Many places in one corner: elements 0 to 3 on each axis, which are 2 blocks of 2 elements on
    // each axis.
    let places: Vec<f64> = (0..3000).map(|at| f64::from(at % 29) * 0.1).collect();
    let sampled = Runtime::new()
        .unwrap()
        .wait(sampler.sample(&places))
        .unwrap();
    assert_eq!((sampled.counts.blocks, sampled.counts.chunks), (8, 1));
    assert_eq!(sampled.outside, 0);
}

#[test]
fn what_cannot_be_sampled_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let volume = volume(folder.path(), &[2, 2], &[0.0; 4]);
    let uses = vec![AxisUse::Space; 2];
    let identity = Affine::identity(2);
    assert!(
        Sampler::new(
            volume.clone(),
            uses.clone(),
            &Affine::identity(3),
            Interpolation::Linear
        )
        .is_err()
    );
    assert!(
        Sampler::new(
            volume.clone(),
            vec![AxisUse::Space, AxisUse::Index(2)],
            &Affine::identity(1),
            Interpolation::Linear
        )
        .is_err()
    );
    let flat = Affine::from_rows(&[1.0, 1.0, 0.0, 1.0, 1.0, 0.0], 2).unwrap();
    assert!(Sampler::new(volume.clone(), uses.clone(), &flat, Interpolation::Linear).is_err());
    assert!(Affine::from_rows(&[1.0; 5], 2).is_err());
    assert!(Affine::from_rows(&[f64::NAN; 6], 2).is_err());
    assert!(Affine::from_rows(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0], 2).is_err());
    let sampler = Sampler::new(volume, uses, &identity, Interpolation::Linear).unwrap();
    assert!(sampler.with_outside(0.5).is_ok());
}
