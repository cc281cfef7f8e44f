//! Random input of every kind: what was pushed is what is read.

use proptest::prelude::*;
use zvf_migrate::MigrateOptions;
use zvf_testkit::sample;
use zvf_write::{
    AttributeSpec, AttributeType, Compression, Kind, LinkStore, NumberType, ShardShape, StoreSpec,
};

use crate::model::Model;
use crate::support::block_on;

/// Positions at multiples of 1/4, so that every float type can represent them and many are on borders.
fn positions(dims: usize, whole: bool) -> impl Strategy<Value = Vec<Vec<f64>>> {
    let number = (-120_i32..120).prop_map(move |n| {
        if whole {
            f64::from(n / 4)
        } else {
            f64::from(n) / 4.0
        }
    });
    prop::collection::vec(prop::collection::vec(number, dims), 1..80)
}

#[derive(Debug, Clone)]
pub(crate) struct Shape {
    spec: StoreSpec,
    cuts: Vec<usize>,
    budget: usize,
    pub(crate) bbox: (Vec<f64>, Vec<f64>),
}

/// Chunks that are split by an attribute, and fragments that are split by values.
fn with_cuts(mut spec: StoreSpec, by: Option<AttributeType>, fragments: u8) -> StoreSpec {
    if let Some(values) = by {
        spec = spec.with_attribute_chunks(match values {
            AttributeType::Number(number) => AttributeSpec::number("gene", number),
            _ => AttributeSpec::category("gene"),
        });
        if spec.kind == Kind::PointCloud {
            spec.bin_shape = None;
        }
        if let ShardShape::Cells(shards) = &mut spec.shard_shape {
            shards.insert(0, 2);
        }
    }
    if fragments % 2 == 1 && (spec.kind != Kind::PointCloud || spec.bin_shape.is_none()) {
        spec = spec
            .with_fragment_attribute(AttributeSpec::number("run", NumberType::U16))
            .with_fragment_attribute(
                AttributeSpec::number("pair", NumberType::F32).with_channels(2),
            );
    }
    if fragments >= 2 && spec.has_objects() {
        spec = spec.with_fragment_owners();
    }
    spec
}

/// Chunks, bins, shards, number types and batches of a store.
fn shape(kind: Kind, objects: bool) -> impl Strategy<Value = Shape> {
    let number = prop::sample::select(vec![
        NumberType::F32,
        NumberType::F64,
        NumberType::F16,
        NumberType::I8,
        NumberType::I16,
        NumberType::I64,
    ]);
    let compression = prop::sample::select(vec![
        Compression::None,
        Compression::Zstd,
        Compression::Gzip(1),
    ]);
    let dims = if kind == Kind::PointCloud {
        1..=4_usize
    } else {
        2..=4
    };
    (dims, number, compression, any::<bool>()).prop_flat_map(
        move |(dims, number, compression, sharded)| {
            let size = prop::sample::select(vec![0.75, 2.5, 8.0, 10.0, 1000.0]);
            let corner = (-30.0_f64..30.0, 0.0_f64..40.0);
            let by = vec![
                None,
                None,
                Some(AttributeType::Category),
                Some(AttributeType::Number(NumberType::Bool)),
                Some(AttributeType::Number(NumberType::I16)),
                Some(AttributeType::Number(NumberType::U64)),
            ];
            (
                prop::collection::vec(size, dims),
                prop::collection::vec(1_u8..4, dims),
                prop::collection::vec(1_u64..4, dims),
                prop::collection::vec(0_usize..80, 0..5),
                prop::sample::select(vec![0, 1 << 20]),
                prop::collection::vec(corner, dims),
                (prop::sample::select(by), 0_u8..4),
            )
                .prop_map(
                    move |(chunk, bins, shards, cuts, budget, corners, (by, fragments))| {
                        let mut spec = StoreSpec::new(kind, chunk.clone())
                            .with_positions(number)
                            .with_compression(compression.clone());
                        if objects {
                            spec = spec.with_objects();
                        } else if kind == Kind::PointCloud {
                            spec.bin_shape = Some(
                                chunk
                                    .iter()
                                    .zip(&bins)
                                    .map(|(c, b)| c / f64::from(*b))
                                    .collect(),
                            );
                        }
                        spec.shard_shape = sharded.then_some(shards).into();
                        let spec = with_cuts(spec, by, fragments);
                        let low: Vec<f64> = corners.iter().map(|(low, _)| *low).collect();
                        let high = corners.iter().map(|(low, size)| low + size).collect();
                        Shape {
                            spec,
                            cuts,
                            budget,
                            bbox: (low, high),
                        }
                    },
                )
        },
    )
}

/// A model of a shape, with one of a few objects for each vertex.
pub(crate) fn model(kind: Kind, objects: bool) -> impl Strategy<Value = (Model, Shape, Vec<u64>)> {
    shape(kind, objects).prop_flat_map(|shape| {
        let whole = !shape.spec.positions.is_float();
        let draws = prop::collection::vec(any::<u64>(), 200);
        (positions(shape.spec.dims(), whole), Just(shape), draws).prop_map(
            |(positions, shape, draws)| {
                let mut model = Model::new(shape.spec.clone(), positions);
                model.cuts = shape.cuts.clone();
                model.budget = shape.budget;
                (model, shape, draws)
            },
        )
    })
}

const IDS: [i64; 5] = [0, -7, 1 << 40, 3, i64::MIN];

pub(crate) fn pick(draw: u64, of: usize) -> usize {
    usize::try_from(draw % of as u64).unwrap()
}

/// Other chunks, bins, shards and codecs, each with a certain probability.
pub(crate) fn reshape(model: &Model, draws: &[u64]) -> MigrateOptions {
    let mut draws = draws.iter().rev().copied();
    let mut draw = |of: usize| pick(draws.next().unwrap(), of);
    let mut options = MigrateOptions::new();
    let mut chunk = model.spec.chunk_shape.clone();
    if draw(5) > 0 {
        let factors = [0.5, 1.0, 1.7, 3.0, 40.0];
        chunk.iter_mut().for_each(|size| *size *= factors[draw(5)]);
        options = options.with_chunk_shape(chunk.clone());
    }
    let binned = model.spec.kind == Kind::PointCloud && !model.spec.has_objects();
    if binned && model.spec.chunk_by.is_none() && draw(2) > 0 {
        let bins: Vec<f64> = chunk
            .iter()
            .map(|size| size / [1.0, 2.0, 3.0][draw(3)])
            .collect();
        options = options.with_bin_shape(bins);
    }
    match draw(3) {
        0 => options = options.with_shard_shape(Vec::new()),
        1 => options = options.with_shard_shape(vec![1 + draw(3) as u64; chunk.len()]),
        _ => {}
    }
    match draw(3) {
        0 => options.with_compression(Compression::None),
        1 => options.with_compression(Compression::Zstd),
        _ => options,
    }
}

/// Joins the vertices of a model into trees of some objects.
pub(crate) fn grow_trees(model: &mut Model, draws: &[u64], explicit: bool, numbers: [i64; 5]) {
    let count = model.positions.len();
    if explicit {
        let number = AttributeSpec::number("w", NumberType::U32);
        model.spec = model
            .spec
            .clone()
            .with_explicit_links()
            .with_link_attribute(number);
    }
    model.cuts = Vec::new();
    // Node n is the child of an earlier node, or a root; then the numbers are shuffled.
    let order: Vec<usize> = {
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|n| draws[n % draws.len()].rotate_left(*n as u32));
        order
    };
    let mut ids = vec![0; count];
    for n in 0..count {
        let draw = draws[n % draws.len()];
        if n == 0 || draw.is_multiple_of(7) {
            ids[order[n]] = numbers[pick(draw >> 9, 5)];
        } else {
            let back = if draw.is_multiple_of(3) {
                pick(draw >> 20, n) + 1
            } else {
                1
            };
            ids[order[n]] = ids[order[n - back]];
            model.links.push(vec![order[n], order[n - back]]);
        }
    }
    model.ids = Some(ids);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sample::cases(64, 12), ..ProptestConfig::default() })]

    #[test]
    fn points_in_bins((model, shape, draws) in model(Kind::PointCloud, false)) {
        block_on(model.round_trip(std::slice::from_ref(&shape.bbox)));
        // A copy takes fragments of points without objects for bins and splits them again: their values are lost, which is reported.
        if model.spec.fragment_attributes.is_empty() {
            block_on(model.rechunked(reshape(&model, &draws), &[shape.bbox]));
        }
    }

    #[test]
    fn points_of_objects((mut model, shape, draws) in model(Kind::PointCloud, true)) {
        let ids = draws.iter().cycle().take(model.positions.len()).map(|draw| IDS[pick(*draw, 5)]);
        model.ids = Some(ids.collect());
        block_on(model.round_trip(std::slice::from_ref(&shape.bbox)));
        block_on(model.rechunked(reshape(&model, &draws), &[shape.bbox]));
    }

    #[test]
    fn streamlines((mut model, shape, draws) in model(Kind::Streamline, false)) {
        // Sometimes a new object begins; ids are negative and positive.
        let mut objects = 0_i64;
        let ids: Vec<i64> = draws
            .iter()
            .cycle()
            .take(model.positions.len())
            .map(|draw| {
                objects += i64::from(draw % 6 == 0);
                if objects % 2 == 0 { objects * 1000 } else { -3 - objects * 7919 }
            })
            .collect();
        model.ids = Some(ids);
        block_on(model.round_trip(std::slice::from_ref(&shape.bbox)));
        block_on(model.rechunked(reshape(&model, &draws), &[shape.bbox]));
    }

    #[test]
    fn graphs((mut model, shape, draws) in model(Kind::Graph, false), policy in 0_u8..3) {
        let count = model.positions.len();
        model.spec = model.spec.with_link_policy(policy == 1, if policy == 2 { LinkStore::Duplicate } else { LinkStore::Canonical });
        model.ids = Some(draws.iter().cycle().take(count).map(|draw| IDS[pick(draw >> 8, 5)]).collect());
        model.links = draws.chunks(2).map(|pair| pair.iter().map(|draw| pick(*draw, count)).collect()).collect();
        block_on(model.round_trip(std::slice::from_ref(&shape.bbox)));
        block_on(model.rechunked(reshape(&model, &draws), &[shape.bbox]));
    }

    #[test]
    fn meshes((mut model, shape, draws) in model(Kind::Mesh, false), width in 3_usize..5) {
        let count = model.positions.len();
        model.spec = model.spec.with_link_width(width);
        model.ids = Some(draws.iter().cycle().take(count).map(|draw| IDS[pick(draw >> 8, 5)]).collect());
        model.links = draws.chunks_exact(width).map(|ends| ends.iter().map(|draw| pick(*draw, count)).collect()).collect();
        block_on(model.round_trip(std::slice::from_ref(&shape.bbox)));
        block_on(model.rechunked(reshape(&model, &draws), &[shape.bbox]));
    }

    #[test]
    fn skeletons((mut model, shape, draws) in model(Kind::Skeleton, false), explicit in any::<bool>()) {
        grow_trees(&mut model, &draws, explicit, IDS);
        block_on(model.round_trip(std::slice::from_ref(&shape.bbox)));
        block_on(model.rechunked(reshape(&model, &draws), &[shape.bbox]));
    }
}
