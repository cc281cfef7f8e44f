//! Compares the layouts with their specification: hashes and codes that other programs computed, and objects that a reader finds in shards.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use draco_core::{DecoderBuffer, GeometryAttributeType, Mesh, MeshDecoder};
use flate2::read::GzDecoder;
use proptest::prelude::*;

use super::murmur::murmur;
use super::*;
use crate::precomputed::{DRACO_BITS, encode_draco};

/// As `ShardingSpecification.hashfn` of cloud-volume computes it.
#[test]
fn the_hash_is_murmur_hash_3() {
    for (key, hash) in [
        (0, 5_148_371_408_780_832_321),
        (1, 16_770_674_756_601_302_682),
        (7, 15_959_679_207_757_848_918),
        (1 << 32, 13_524_640_716_595_723_620),
        (1_734_350_788, 7_715_152_132_933_788_294),
        (u64::MAX, 6_291_360_166_951_214_362),
    ] {
        assert_eq!(murmur(key), hash, "{key}");
    }
}

#[test]
fn codes_skip_bits_that_no_cell_has() {
    // The rule of the specification, bit by bit: x has three bits, y none, z one.
    let shape = [5, 1, 2];
    assert_eq!(morton_bits(&shape), Some(4));
    assert_eq!(morton(&[4, 0, 1], &shape), 0b1010);
    assert_eq!(morton(&[3, 0, 1], &shape), 0b0111);
    assert_eq!(morton_bits(&[1 << 40, 1 << 40]), None);
    assert_eq!(morton(&[7, 7, 7], &[8, 8, 8]), 0o777);
}

#[test]
fn names_have_a_digit_for_every_four_bits() {
    let layout = |shard_bits| ShardBits {
        preshift_bits: 0,
        hash: Hash::Identity,
        minishard_bits: 0,
        shard_bits,
    };
    assert_eq!(layout(0).file_name(0), "0.shard");
    assert_eq!(layout(4).file_name(10), "a.shard");
    assert_eq!(layout(5).file_name(10), "0a.shard");
    assert_eq!(layout(64).place(u64::MAX), (u64::MAX, 0));
}

#[test]
fn descriptions_are_read_as_they_are_written() {
    for (hash, packed) in [(Hash::Identity, true), (Hash::Murmur, false)] {
        let sharding = ShardingSpec {
            layout: ShardBits {
                preshift_bits: 3,
                hash,
                minishard_bits: 4,
                shard_bits: 11,
            },
            packed_index: packed,
            packed_data: !packed,
        };
        let mut document = sharding.document();
        assert_eq!(ShardingSpec::parse(&document), Ok(sharding));
        document["minishard_bits"] = 33.into();
        assert!(ShardingSpec::parse(&document).is_err());
        document["minishard_bits"] = 4.into();
        document["hash"] = "sha".into();
        assert!(ShardingSpec::parse(&document).is_err());
    }
}

/// Finds the object of a key as the documentation of the format describes; also returns the bytes of the shard before it.
fn found(folder: &Path, sharding: &ShardingSpec, key: u64) -> Option<(Vec<u8>, Vec<u8>)> {
    let (shard, minishard) = sharding.layout.place(key);
    let bytes = fs::read(folder.join(sharding.layout.file_name(shard))).ok()?;
    let number = |bytes: &[u8], at: usize| {
        u64::from_le_bytes(bytes.get(at * 8..at * 8 + 8).unwrap().try_into().unwrap()) as usize
    };
    let minishard = minishard as usize;
    let list = 16 << sharding.layout.minishard_bits;
    let (start, end) = (
        number(&bytes, 2 * minishard),
        number(&bytes, 2 * minishard + 1),
    );
    if start == end {
        return None;
    }
    let mut index = Vec::new();
    let mut packed = GzDecoder::new(&bytes[list + start..list + end]);
    packed.read_to_end(&mut index).unwrap();
    let count = index.len() / 24;
    let (mut at, mut id) = (list, 0);
    for place in 0..count {
        id += number(&index, place) as u64;
        at += number(&index, count + place);
        let size = number(&index, 2 * count + place);
        if id == key {
            let stored = &bytes[at..at + size];
            let mut object = Vec::new();
            match sharding.packed_data {
                true => {
                    GzDecoder::new(stored).read_to_end(&mut object).unwrap();
                }
                false => object.extend_from_slice(stored),
            }
            return Some((object, bytes[..at].to_vec()));
        }
        at += size;
    }
    None
}

fn written(
    folder: &Path,
    objects: &BTreeMap<u64, (Vec<u8>, Vec<u8>)>,
    packed: bool,
    size: ShardSize,
) -> Sharded {
    let mut writer = ShardWriter::by_id(folder, packed).unwrap();
    for (key, (before, object)) in objects.iter().rev() {
        writer.put(*key, before, object).unwrap();
    }
    writer.finish(size).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn readers_find_every_object(
        objects in prop::collection::btree_map(
            prop_oneof![any::<u64>(), 0..40u64],
            (prop::collection::vec(any::<u8>(), 0..20), prop::collection::vec(any::<u8>(), 1..60)),
            0..300,
        ),
        packed in any::<bool>(),
        bits in prop_oneof![Just(ShardSize::Auto), (0..10u32).prop_map(ShardSize::Bits)],
    ) {
        let home = tempfile::tempdir().unwrap();
        let done = written(home.path(), &objects, packed, bits);
        let files = fs::read_dir(home.path()).unwrap().count() as u64;
        prop_assert_eq!(files, done.files);
        let mut bytes = 0;
        for entry in fs::read_dir(home.path()).unwrap() {
            bytes += entry.unwrap().metadata().unwrap().len();
        }
        prop_assert_eq!(bytes, done.bytes);
        for (key, (before, object)) in &objects {
            let (found, in_front) = found(home.path(), &done.sharding, *key).unwrap();
            prop_assert_eq!(&found, object);
            prop_assert!(in_front.ends_with(before));
        }
        prop_assert!(objects.contains_key(&77) || found(home.path(), &done.sharding, 77).is_none());
    }

    #[test]
    fn draco_keeps_every_triangle(
        positions in prop::collection::vec(prop::array::uniform3(0..1u32 << DRACO_BITS), 3..60),
        corners in prop::collection::vec(prop::array::uniform3(any::<prop::sample::Index>()), 1..120),
    ) {
        let triangles: Vec<[u32; 3]> = corners
            .iter()
            .map(|corners| corners.map(|corner| corner.index(positions.len()) as u32))
            .filter(|[a, b, c]| a != b && b != c && a != c)
            .collect();
        prop_assume!(!triangles.is_empty());
        let bytes = encode_draco(&positions, &triangles).unwrap();
        prop_assert_eq!(sorted(&decoded(&bytes)), sorted(&places(&positions, &triangles)));
    }
}

type Corners = [[u32; 3]; 3];

fn places(positions: &[[u32; 3]], triangles: &[[u32; 3]]) -> Vec<Corners> {
    let place = |corner: u32| positions[corner as usize];
    triangles.iter().map(|corners| corners.map(place)).collect()
}

/// Triangles, each rotated so that its least corner is first, in order. The rotation keeps the orientation.
fn sorted(triangles: &[Corners]) -> Vec<Corners> {
    let mut all: Vec<Corners> = triangles
        .iter()
        .map(|[a, b, c]| [[*a, *b, *c], [*b, *c, *a], [*c, *a, *b]])
        .filter_map(|turned| turned.into_iter().min())
        .collect();
    all.sort_unstable();
    all
}

fn decoded(bytes: &[u8]) -> Vec<Corners> {
    let mut mesh = Mesh::new();
    let mut buffer = DecoderBuffer::new(bytes);
    MeshDecoder::new().decode(&mut buffer, &mut mesh).unwrap();
    let attribute = mesh
        .named_attribute(GeometryAttributeType::Position)
        .unwrap();
    let floats = attribute.read_f32s(mesh.num_points(), 3);
    let positions: Vec<[u32; 3]> = floats
        .chunks(3)
        .map(|point| [point[0] as u32, point[1] as u32, point[2] as u32])
        .collect();
    let faces: Vec<[u32; 3]> = mesh
        .faces()
        .iter()
        .map(|face| face.map(|corner| corner.0))
        .collect();
    places(&positions, &faces)
}

#[test]
fn draco_refuses_what_is_out_of_range() {
    let positions = [[0, 0, 0], [1, 0, 0], [0, 1, 65_535]];
    assert!(encode_draco(&positions, &[[0, 1, 2]]).is_ok());
    assert!(encode_draco(&positions, &[[0, 1, 3]]).is_err());
    assert!(encode_draco(&[[0, 0, 65_536]], &[]).is_err());
}

#[test]
fn more_entries_than_are_sorted_in_memory_go_through_files() {
    let home = tempfile::tempdir().unwrap();
    let keys = 0..70_000_u64;
    let mut writer = ShardWriter::by_id(home.path(), false).unwrap();
    for key in keys.clone() {
        writer.put(key * 7, &[], &key.to_le_bytes()).unwrap();
    }
    let done = writer.finish(ShardSize::Bits(9)).unwrap();
    assert_eq!(done.files, 512);
    for key in keys.step_by(997) {
        let (object, _) = found(home.path(), &done.sharding, key * 7).unwrap();
        assert_eq!(object, key.to_le_bytes());
    }
    assert!(found(home.path(), &done.sharding, 3).is_none());
}

#[test]
fn many_shards_of_few_objects_are_few_files() {
    let home = tempfile::tempdir().unwrap();
    let objects = (0..5).map(|key| (key, (Vec::new(), vec![7])));
    let done = written(home.path(), &objects.collect(), true, ShardSize::Bits(20));
    assert!(done.files <= 5);
    assert_eq!(done.sharding.layout.shard_bits, 20);
}

#[test]
fn two_objects_of_one_key_are_an_error() {
    let home = tempfile::tempdir().unwrap();
    let mut writer = ShardWriter::by_id(home.path(), true).unwrap();
    for _ in 0..2 {
        writer.put(5, &[], b"object").unwrap();
    }
    assert_eq!(writer.len(), 2);
    let error = writer.finish(ShardSize::Auto).unwrap_err();
    assert_eq!(error.class(), zvf_store::Class::Malformed);
}

#[test]
fn many_objects_get_many_minishards() {
    let home = tempfile::tempdir().unwrap();
    let objects = (0..5000).map(|key| (key, (Vec::new(), vec![7])));
    let done = written(home.path(), &objects.collect(), false, ShardSize::Auto);
    assert_eq!(done.files, 1);
    assert_eq!(done.sharding.layout.minishard_bits, 4);
    assert_eq!(done.sharding.layout.hash, Hash::Murmur);

    let home = tempfile::tempdir().unwrap();
    let mut writer = ShardWriter::by_cell(home.path(), 15).unwrap();
    for cell in 0..5000 {
        writer.put(cell, &[], b"cell").unwrap();
    }
    let done = writer.finish(ShardSize::Bits(2)).unwrap();
    // 5000 cells are ten blocks; four neighbouring blocks are in a shard.
    assert_eq!(done.files, 3);
    let layout = done.sharding.layout;
    assert_eq!(
        (
            layout.hash,
            layout.preshift_bits,
            layout.shard_bits,
            layout.minishard_bits
        ),
        (Hash::Identity, 9, 2, 2)
    );
    assert!(found(home.path(), &done.sharding, 4999).is_some());
}
