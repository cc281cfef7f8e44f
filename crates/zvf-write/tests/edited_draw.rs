//! Random numbers from a seed, and specifications of stores drawn with them.

use zvf_write::{AttributeSpec, Compression, Kind, LinkStore, NumberType, StoreSpec};

/// Random numbers from one seed (splitmix64).
#[derive(Debug, Clone)]
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// A multiple of 1/4 in a box around zero.
    pub(crate) fn coordinate(&mut self, reach: i64) -> f64 {
        (self.next() % (8 * reach as u64 + 1)) as f64 / 4.0 - reach as f64
    }
}

pub(crate) const KINDS: usize = 9;

/// The kinds, each with chunks split by position alone, also by a text, and also by a number.
pub(crate) const STORES: usize = 3 * KINDS;

/// A specification of each kind.
pub(crate) fn spec(which: usize, draw: &mut Draw) -> StoreSpec {
    let kind = [
        Kind::PointCloud,
        Kind::PointCloud,
        Kind::Streamline,
        Kind::Graph,
        Kind::Graph,
        Kind::Mesh,
        Kind::Skeleton,
        Kind::Skeleton,
        Kind::Line,
    ][which % KINDS];
    let dims = if draw.below(3) == 0 { 2 } else { 3 };
    let mut spec = StoreSpec::new(kind, vec![5.0; dims])
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I64))
        .with_vertex_attribute(AttributeSpec::number("vector", NumberType::F32).with_channels(2))
        .with_vertex_attribute(AttributeSpec::category("word"));
    match which % KINDS {
        0 if draw.below(2) == 0 => spec = spec.with_bin_shape(vec![2.5; dims]),
        1 => spec = spec.with_objects(),
        3 => spec = spec.with_link_attribute(AttributeSpec::number("w", NumberType::U32)),
        4 => {
            let (directed, store) =
                [(true, LinkStore::Canonical), (false, LinkStore::Duplicate)][draw.below(2)];
            spec = spec
                .with_link_policy(directed, store)
                .with_link_attribute(AttributeSpec::number("w", NumberType::U32));
        }
        7 => {
            spec = spec
                .with_explicit_links()
                .with_link_attribute(AttributeSpec::number("w", NumberType::U32))
        }
        _ => {}
    }
    if spec.has_objects() {
        spec = spec.with_object_attribute(AttributeSpec::number("size", NumberType::F32));
    }
    spec = match which / KINDS {
        0 => spec,
        1 => spec.with_attribute_chunks(AttributeSpec::category("gene")),
        _ => spec.with_attribute_chunks(AttributeSpec::number("gene", NumberType::I16)),
    };
    if spec.chunk_by.is_some() {
        // Points in chunks that are split by an attribute have no bins.
        spec.bin_shape = None;
    }
    match draw.below(4) {
        0 => spec.shard_shape = vec![2; spec.key_rank()].into(),
        1 => spec = spec.with_compression(Compression::None),
        // Codecs that this crate supports only through another crate.
        2 if cfg!(feature = "zarrs") => {
            let codecs = serde_json::json!([
                {"name": "zstd", "configuration": {"level": 1, "checksum": true}},
                {"name": "numcodecs.adler32"},
            ]);
            spec = spec.with_compression(Compression::from_codecs(codecs).unwrap());
        }
        _ => {}
    }
    if draw.below(3) == 0 {
        spec = spec.with_positions(NumberType::F64);
    }
    spec
}
