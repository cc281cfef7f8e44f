//! Meshes: the legacy form, a manifest and fragments; and the finest level of the multi-resolution form.

use std::path::{Path, PathBuf};

use draco_core::{DecodeLimits, DecoderBuffer, GeometryAttributeType, Mesh, MeshDecoder};
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::collect::CollectedObject;
use super::info::JsonFile;
use super::record::{ObjectBytes, most};
use super::source::ShardFile;
use crate::error::{ConvertError, InFile};
use crate::isolate::isolate;
use crate::options::FileLimits;

/// How meshes are stored.
#[derive(Debug, Clone)]
pub(super) enum Meshes {
    /// Manifests `ID:0` that name fragments.
    Legacy,
    /// Manifests in files `ID.index` or in shards, and fragments that Draco encoded.
    MultiLod {
        folder: PathBuf,
        /// The greatest stored coordinate in a fragment.
        greatest: f64,
    },
}

/// Merges the fragments of a mesh: vertices of different fragments at equal positions become one.
#[derive(Debug, Default)]
struct MeshMerger {
    positions: Vec<f64>,
    links: Vec<u64>,
    /// Vertices of previous fragments, by their coordinates.
    known: FxHashMap<[u64; 3], u64>,
}

impl MeshMerger {
    /// Adds a fragment. Its vertices at positions of earlier fragments are reused; vertices within a fragment are not merged.
    fn add(&mut self, positions: &[f64], links: &[u64]) -> Option<()> {
        let (points, _) = positions.as_chunks::<3>();
        let bits = |point: &[f64; 3]| point.map(|value| (value + 0.0).to_bits());
        let mut numbers = Vec::with_capacity(points.len());
        let first = (self.positions.len() / 3) as u64;
        let mut fresh = first;
        for point in points {
            if let Some(known) = self.known.get(&bits(point)) {
                numbers.push(*known);
                continue;
            }
            self.positions.extend_from_slice(point);
            numbers.push(fresh);
            fresh = fresh.saturating_add(1);
        }
        for (point, number) in points.iter().zip(&numbers) {
            if *number >= first {
                self.known.entry(bits(point)).or_insert(*number);
            }
        }
        for link in links {
            self.links.push(*numbers.get(usize::try_from(*link).ok()?)?);
        }
        Some(())
    }
}

impl Meshes {
    /// Decodes the mesh of one record.
    ///
    /// # Errors
    /// Malformed, by file and byte; I/O; limits.
    pub(super) fn decode(
        &self,
        record: &ObjectBytes,
        limits: &FileLimits,
    ) -> Result<CollectedObject, ConvertError> {
        let merged = match self {
            Self::Legacy => legacy(record, limits)?,
            Self::MultiLod { folder, greatest } => multi(record, folder, *greatest, limits)?,
        };
        Ok(CollectedObject {
            key: record.key,
            positions: merged.positions,
            links: merged.links,
            ..CollectedObject::default()
        })
    }
}

fn check_held(path: &Path, merged: &MeshMerger, limits: &FileLimits) -> Result<(), ConvertError> {
    let held = (merged.positions.len() / 3).max(merged.links.len() / 3) as u64;
    match held > limits.held {
        true => {
            let what = "vertices or triangles of a mesh";
            Err(ConvertError::limit(path, InFile::Whole, what, limits.held))
        }
        false => Ok(()),
    }
}

/// Reads a manifest, which lists the names of fragments, and the fragments.
fn legacy(record: &ObjectBytes, limits: &FileLimits) -> Result<MeshMerger, ConvertError> {
    let manifest = JsonFile::of(record)?;
    let mut merged = MeshMerger::default();
    for name in manifest.list(&manifest.value, "fragments")? {
        let name = name.as_str();
        let name =
            name.ok_or_else(|| manifest.bad("a fragment without a name", "names as texts"))?;
        let file = manifest.below(name)?;
        let fragment = ObjectBytes::read(&file, record.key, most(limits.held))?;
        let mut cursor = fragment.cursor();
        let vertices = cursor.count("a number of vertices")?;
        let positions = cursor.floats(vertices.saturating_mul(3), "positions of vertices")?;
        let corners = cursor.remaining() / 12;
        let links = cursor.vertices(corners.saturating_mul(3), vertices, "corners of triangles")?;
        cursor.end()?;
        let added = merged.add(&positions, &links);
        added.ok_or_else(|| {
            fragment.bad(
                0,
                "a corner that is not a vertex".to_owned(),
                "triangles".to_owned(),
            )
        })?;
        check_held(&file, &merged, limits)?;
    }
    Ok(merged)
}

/// The finest level of a manifest: positions and sizes of its fragments.
#[derive(Debug)]
struct FinestLod {
    shape: [f64; 3],
    /// The corner of the grid plus the offset of the level.
    origin: [f64; 3],
    fragments: Vec<([u32; 3], u64)>,
    /// Bytes of the fragments of all levels.
    total: u64,
}

impl FinestLod {
    fn read(record: &ObjectBytes) -> Result<Self, ConvertError> {
        let mut cursor = record.cursor();
        let mut triple = |what: &str| {
            let numbers = cursor.floats(3, what)?;
            numbers
                .try_into()
                .map_err(|_| cursor.bad("another number of values", what.to_owned()))
        };
        let shape: [f64; 3] = triple("the shape of chunks")?;
        let mut origin: [f64; 3] = triple("the origin of the grid")?;
        let lods = cursor.count("a number of levels")?;
        cursor.take(lods, 4, "scales of levels")?;
        let offsets = cursor.floats(lods.saturating_mul(3), "offsets of levels")?;
        for (origin, offset) in origin.iter_mut().zip(&offsets) {
            *origin += offset;
        }
        let counts = cursor.take(lods, 4, "numbers of fragments")?;
        let (counts, _) = counts.as_chunks::<4>();
        let (mut fragments, mut total) = (Vec::new(), 0_u64);
        for (lod, count) in counts.iter().enumerate() {
            let count = u32::from_le_bytes(*count);
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let mut column = |what: &str| {
                let (numbers, _) = cursor.take(count, 4, what)?.as_chunks::<4>();
                Ok::<_, ConvertError>(numbers.iter().map(|bytes| u32::from_le_bytes(*bytes)))
            };
            let x = column("positions of fragments along x")?;
            let y = column("positions of fragments along y")?;
            let z = column("positions of fragments along z")?;
            let sizes = column("sizes of fragments")?;
            for (((x, y), z), size) in x.zip(y).zip(z).zip(sizes) {
                let size = u64::from(size);
                total = total.saturating_add(size);
                if lod == 0 {
                    fragments.push(([x, y, z], size));
                }
            }
        }
        cursor.end()?;
        Ok(Self {
            shape,
            origin,
            fragments,
            total,
        })
    }
}

/// Reads a manifest and its fragments, which are in the file `ID`, or before the manifest in its shard.
fn multi(
    record: &ObjectBytes,
    folder: &Path,
    greatest: f64,
    limits: &FileLimits,
) -> Result<MeshMerger, ConvertError> {
    let finest = FinestLod::read(record)?;
    let sharded = record
        .path
        .extension()
        .is_some_and(|ending| ending == "shard");
    let (path, mut at) = match sharded {
        true => {
            let start = record.start.checked_sub(finest.total);
            let start = start.ok_or_else(|| {
                let found = format!("fragments of {} bytes", finest.total);
                record.bad(
                    0,
                    found,
                    format!("at most {}, the bytes before the manifest", record.start),
                )
            })?;
            (record.path.to_path_buf(), start)
        }
        false => (folder.join(record.key.to_string()), 0),
    };
    let mut merged = MeshMerger::default();
    if finest.fragments.is_empty() {
        return Ok(merged);
    }
    let mut file = ShardFile::open(&path)?;
    for (place, size) in &finest.fragments {
        // An empty fragment is a grid cell without triangles at this level.
        if *size > 0 {
            let bytes = file.range(at, *size, "a fragment", most(limits.held))?;
            let (mut positions, links) = isolate(&path, || draco(&path, at, &bytes, limits))?;
            // Draco may quantize positions itself, which moves them by less than 1. Positions farther outside are on another grid than the one in `info`.
            let beyond = |value: &&f64| !(-1.0..=greatest + 1.0).contains(*value);
            if let Some(value) = positions.iter().find(beyond) {
                let found = format!("the position {value} in a fragment");
                let expected = format!("0 to {greatest}, by vertex_quantization_bits");
                return Err(ConvertError::malformed(
                    &path,
                    InFile::Byte(at),
                    found,
                    expected,
                ));
            }
            let (points, _) = positions.as_chunks_mut::<3>();
            for point in points {
                let axes = point
                    .iter_mut()
                    .zip(place)
                    .zip(&finest.shape)
                    .zip(&finest.origin);
                for (((value, place), shape), origin) in axes {
                    *value = origin + shape * (f64::from(*place) + *value / greatest);
                }
            }
            let added = merged.add(&positions, &links);
            added.ok_or_else(|| damaged(&path, at, "a corner that is not a vertex"))?;
            check_held(&path, &merged, limits)?;
        }
        at = at.saturating_add(*size);
    }
    Ok(merged)
}

#[cold]
fn damaged(path: &Path, at: u64, found: &str) -> ConvertError {
    let found = format!("a fragment that cannot be decoded ({found})");
    ConvertError::malformed(path, InFile::Byte(at), found, "triangles encoded by Draco")
}

/// Decodes a fragment: its positions as they are stored, and the corners of its triangles.
fn draco(
    path: &Path,
    at: u64,
    bytes: &[u8],
    limits: &FileLimits,
) -> Result<(Vec<f64>, Vec<u64>), ConvertError> {
    let bounds = DecodeLimits::default()
        .with_max_points(limits.held)
        .with_max_faces(limits.held)
        .with_max_decoded_bytes(most(limits.held));
    let mut buffer = DecoderBuffer::new(bytes).with_limits(bounds);
    let mut mesh = Mesh::new();
    let decoded = MeshDecoder::new().decode(&mut buffer, &mut mesh);
    decoded.map_err(|error| damaged(path, at, &error.to_string()))?;
    let attribute = mesh.named_attribute(GeometryAttributeType::Position);
    let attribute = attribute.filter(|one| one.num_components() == 3);
    let attribute = attribute.ok_or_else(|| damaged(path, at, "no positions of three axes"))?;
    // float32 represents the stored numbers exactly: they have at most 16 bits.
    let positions = attribute.read_f32s(mesh.num_points(), 3);
    if positions.iter().any(|value| !value.is_finite()) {
        return Err(damaged(path, at, "a position that is not finite"));
    }
    let positions = positions.into_iter().map(f64::from).collect();
    let corners = mesh.faces().iter().flatten();
    Ok((
        positions,
        corners.map(|corner| u64::from(corner.0)).collect(),
    ))
}

/// Meshes of the multi-resolution form, with the greatest coordinate from `info`.
///
/// # Errors
/// Malformed documents.
pub(super) fn multi_lod(info: &JsonFile, folder: &Path) -> Result<Meshes, ConvertError> {
    let bits = info
        .value
        .get("vertex_quantization_bits")
        .and_then(Value::as_u64);
    let greatest = match bits {
        Some(10) => 1023.0,
        Some(16) => 65_535.0,
        _ => return Err(info.bad("vertex_quantization_bits", "10 or 16")),
    };
    Ok(Meshes::MultiLod {
        folder: folder.to_owned(),
        greatest,
    })
}
