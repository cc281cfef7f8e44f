//! Stores with one damaged file of data: cells, and above all the tables of objects, groups and categories.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use zvf_codec::Compression;
use zvf_write::{
    AttributeSpec, Batch, Groups, Kind, NumberType, ObjectTable, StoreSpec, StoreWriter,
    TargetVersion, Values, WriteOptions,
};

use crate::alter::Case;
use crate::base::{Base, read_folder};

/// Stores by the writer with every table that it has, of both versions, with checksums: every changed byte is damage.
pub(crate) async fn bases() -> Result<Vec<Arc<Base>>> {
    let mut bases = Vec::new();
    for kind in [Kind::PointCloud, Kind::Polyline, Kind::Graph] {
        for target in [TargetVersion::V0_9_2, TargetVersion::V0_8_1] {
            let folder = tempfile::tempdir()?;
            let path = folder.path().join("own.zarrvectors");
            write(&path, kind, target).await?;
            let mut files = BTreeMap::new();
            read_folder(&path, &path, &mut files)?;
            let name = format!("tables/{}-{}", kind.name(), target.version());
            bases.push(Arc::new(Base::of(&name, files).await?));
        }
    }
    Ok(bases)
}

async fn write(path: &Path, kind: Kind, target: TargetVersion) -> Result<()> {
    let mut spec = StoreSpec::new(kind, [10.0; 3])
        .with_objects()
        .with_compression(Compression::Checksum(Box::default()))
        .with_vertex_attribute(AttributeSpec::category("label"))
        .with_vertex_attribute(AttributeSpec::number("v", NumberType::F32))
        .with_vertex_attribute(
            AttributeSpec::number("day", NumberType::I64).with_unit("days since 1970-01-01"),
        )
        .with_object_attribute(AttributeSpec::number("n", NumberType::I32))
        .with_object_attribute(
            AttributeSpec::number("time", NumberType::I64).with_unit("seconds since midnight"),
        )
        .with_object_attribute(AttributeSpec::number("axis", NumberType::F64).with_channels(2))
        .with_object_attribute(AttributeSpec::text("name"));
    if kind == Kind::Graph {
        spec = spec.with_link_attribute(AttributeSpec::number("w", NumberType::F32));
    }
    spec.target = target;
    let address = path.to_str().context("not UTF-8")?;
    let mut writer = StoreWriter::create(address, spec, WriteOptions::new()).await?;
    let count = 24_u16;
    let positions = (0..count).flat_map(|at| [f32::from(at), f32::from(at % 5), 1.0]);
    let words = ["axon", "dendrite", "größe"];
    let labels = (0..usize::from(count)).map(|at| words[at % 3]);
    let mut batch = Batch::new(positions.collect::<Vec<f32>>())
        .with_object_runs(vec![(0, 8), (1, 8), (2, 8)])
        .with_attribute("label", Values::texts(labels))
        .with_attribute("v", (0..count).map(f32::from).collect::<Vec<f32>>())
        .with_attribute(
            "day",
            (0..count)
                .map(|at| i64::from(at) * 999)
                .collect::<Vec<i64>>(),
        );
    if kind == Kind::Graph {
        let links = (0..u64::from(count) - 1).flat_map(|at| [at, at + 1]);
        let links: Vec<u64> = links.filter(|at| *at < u64::from(count)).collect();
        let weights = vec![0.5_f32; links.len() / 2];
        batch = batch.with_links(links).with_link_attribute("w", weights);
    }
    writer.push(&batch)?;
    let table = ObjectTable::new(vec![0_i64, 1, 2])
        .with_attribute("n", vec![5_i32, 6, 7])
        .with_attribute("time", vec![0_i64, 86_399, 1])
        .with_attribute("axis", vec![0.5, 1.5, 2.5, 3.5, 4.5, 5.5])
        .with_attribute("name", Values::texts(["a", "bb", "größe"]));
    writer.push_objects(&table)?;
    let groups = Groups::new(vec![vec![0, 2], vec![1]])
        .with_names(["left", "right"])
        .with_attribute("size", vec![2_i32, 1]);
    writer.set_groups(&groups)?;
    writer.finish().await?;
    Ok(())
}

/// Every file of data is lost, cut, emptied, and has a bit flipped at its begin, in its middle and at its end.
pub(crate) fn cases(files: &BTreeMap<String, Vec<u8>>) -> Vec<Case> {
    let mut all = Vec::new();
    for (key, bytes) in files.iter().filter(|(key, _)| !key.ends_with(".json")) {
        let mut add = |what: &str, bytes: Option<Vec<u8>>| {
            all.push(Case {
                key: key.clone(),
                pointer: String::new(),
                what: what.to_owned(),
                bytes,
            });
        };
        add("is gone", None);
        add("is cut", Some(bytes[..bytes.len() / 2].to_vec()));
        add("is empty", Some(Vec::new()));
        for (at, what) in [
            (0, "has another first byte"),
            (bytes.len() / 2, "has another byte in its middle"),
            (bytes.len().saturating_sub(1), "has another last byte"),
        ] {
            let mut flipped = bytes.clone();
            if let Some(byte) = flipped.get_mut(at) {
                *byte ^= 0x40;
                add(what, Some(flipped));
            }
        }
    }
    all
}

/// Values that no reader could read, without a checksum that shows it: the tables are stored as they are.
pub(crate) fn odd_values(files: &BTreeMap<String, Vec<u8>>) -> Vec<Case> {
    let mut all = Vec::new();
    let mut add = |key: &str, what: &str, odd: &[u8]| {
        for (key, bytes) in files.iter().filter(|(one, _)| one.starts_with(key)) {
            if !key.contains("/c/") || bytes.len() < odd.len() {
                continue;
            }
            let mut bytes = bytes.clone();
            bytes[..odd.len()].copy_from_slice(odd);
            all.push(Case {
                key: key.clone(),
                pointer: String::new(),
                what: what.to_owned(),
                bytes: Some(bytes),
            });
        }
    };
    for code in [0xD800_u32, 0x0011_0000, u32::MAX] {
        let what = format!("has the text {code:#x}");
        add("0/object_attributes/name/", &what, &code.to_le_bytes());
    }
    for time in [-1_i64, 86_401, i64::MAX] {
        let what = format!("has the time {time}");
        add("0/object_attributes/time/", &what, &time.to_le_bytes());
    }
    all
}

/// A store without codecs, whose bytes are those of its values.
pub(crate) async fn plain() -> Result<Arc<Base>> {
    let folder = tempfile::tempdir()?;
    let (path, plain) = (
        folder.path().join("own.zarrvectors"),
        folder.path().join("plain.zarrvectors"),
    );
    write(&path, Kind::Polyline, TargetVersion::V0_9_2).await?;
    let store = zvf_store::Store::open(path.to_str().context("not UTF-8")?).await?;
    let options = zvf_migrate::MigrateOptions::new().with_compression(Compression::None);
    zvf_migrate::migrate(&store, plain.to_str().context("not UTF-8")?, options).await?;
    let mut files = BTreeMap::new();
    read_folder(&plain, &plain, &mut files)?;
    Ok(Arc::new(Base::of("tables/plain", files).await?))
}
