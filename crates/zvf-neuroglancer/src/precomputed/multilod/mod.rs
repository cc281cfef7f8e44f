//! Multi-resolution meshes: levels of detail, each cut by a grid into fragments with integer coordinates, encoded by Draco.
//!
//! A fragment of level *k* is a cell of `2^k` cells of level 0 on each axis. Vertices are 16-bit numbers from 0, the lower side of their
//! cell, to 65535, its upper side: triangles are cut at the borders of their cell. Above level 0 they are also cut at the middle of their
//! cell, because viewers replace a fragment by its finer ones one by one; the middle is 32768, where Neuroglancer divides.

mod cut;
mod detail;
mod grid;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use self::cut::Cutter;
use self::detail::precise;
pub use self::detail::{Detail, MultiLodError};
use self::grid::{CellScaling, FinestGrid};
use super::draco::{DRACO_BITS, encode_draco};
use super::{EncodeError, count, put_floats};

/// Average number of pieces of a triangle above which larger cells are used.
const PIECES: usize = 4;

/// Number of pieces that is always allowed.
const FEW_PIECES: usize = 1 << 16;

/// The two files of a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MultiLodMesh {
    /// The manifest, `ID.index`.
    pub manifest: Vec<u8>,
    /// The fragments of all levels, `ID`.
    pub fragments: Vec<u8>,
}

/// The document `info` of multi-resolution meshes. `transform` is an affine map from stored positions to nanometres, three rows of four.
#[must_use]
pub fn multilod_info(transform: &[f64; 12], segment_properties: Option<&str>) -> Value {
    let mut info = json!({
        "@type": "neuroglancer_multilod_draco",
        "vertex_quantization_bits": DRACO_BITS,
        "transform": transform,
        "lod_scale_multiplier": 1,
    });
    if let Some(folder) = segment_properties {
        info["segment_properties"] = json!(folder);
    }
    info
}

/// The files of one segment, for levels of detail from fine to coarse. Cells are `cell` wide, doubled or halved to improve
/// the number of fragments; one cell begins at `corner`.
///
/// # Cost
/// Holds the fragments of one level.
///
/// # Errors
/// Corners that are not vertices, positions that are not finite; a failure of the encoder.
pub fn multilod_mesh(
    details: &[Detail],
    cell: [f64; 3],
    corner: [f64; 3],
) -> Result<MultiLodMesh, MultiLodError> {
    for detail in details {
        for corner in detail.triangles.iter().flatten() {
            let corner = usize::try_from(*corner).unwrap_or(usize::MAX);
            if corner >= detail.positions.len() {
                let (what, found) = ("vertices of a triangle", detail.positions.len());
                let expected = corner.saturating_add(1);
                return Err(EncodeError {
                    what,
                    found,
                    expected,
                }
                .into());
            }
        }
    }
    let triangles = details.iter().map(|detail| detail.triangles.len());
    let most = triangles.sum::<usize>().saturating_mul(PIECES);
    let most = most.saturating_add(FEW_PIECES);
    let mut grid = FinestGrid::of(details, cell, corner)?;
    loop {
        let mut left = most;
        let mut levels = Vec::with_capacity(details.len());
        for (number, detail) in details.iter().enumerate() {
            let Some(level) = EncodedLod::cut(detail, &grid, number, &mut left)? else {
                break;
            };
            levels.push(level);
        }
        if levels.len() == details.len() {
            return written(&grid, levels);
        }
        // The triangles are much larger than the cells.
        grid = grid.resized(CellScaling::Twice)?;
    }
}

/// The grid position of a fragment, compared in Z order, x least significant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct GridCell {
    order: u128,
    at: [u32; 3],
}

impl GridCell {
    fn new(at: [u32; 3]) -> Self {
        let mut order = 0;
        for bit in (0..u32::BITS).rev() {
            for coordinate in at.iter().rev() {
                order = order << 1 | u128::from((coordinate >> bit) & 1);
            }
        }
        Self { order, at }
    }

    /// The cell of the next level that contains this one.
    fn parent(&self) -> Self {
        Self::new(self.at.map(|coordinate| coordinate >> 1))
    }
}

/// An encoded level of detail.
#[derive(Debug, Default)]
struct EncodedLod {
    fragments: BTreeMap<GridCell, Vec<u8>>,
    /// Average length of an edge.
    scale: f64,
}

/// A fragment that is not encoded yet.
#[derive(Debug, Default)]
struct FragmentMesh {
    /// Numbers of the level's points in this fragment.
    numbers: BTreeMap<u32, u32>,
    positions: Vec<[u32; 3]>,
    triangles: Vec<[u32; 3]>,
}

impl EncodedLod {
    /// Cuts and encodes a level; `None` if that takes more than `left` cuts.
    fn cut(
        detail: &Detail,
        grid: &FinestGrid,
        number: usize,
        left: &mut usize,
    ) -> Result<Option<Self>, MultiLodError> {
        let view = grid.level(number);
        let points = detail.positions.iter().map(|place| view.place(place));
        let mut cutter = Cutter::new(points.collect());
        let mut fragments: BTreeMap<GridCell, FragmentMesh> = BTreeMap::new();
        let mut length = 0.0;
        let mut pieces = Vec::new();
        for triangle in &detail.triangles {
            let [a, b, c] = triangle;
            if a == b || b == c || a == c {
                continue;
            }
            length += edges(detail, triangle);
            pieces.clear();
            if !cutter.cut(*triangle, left, &mut pieces)? {
                return Ok(None);
            }
            for piece in &pieces {
                let at = view.cell(&cutter.middle(piece));
                let fragment = fragments.entry(GridCell::new(at)).or_default();
                let [first, rest @ ..] = piece.as_slice() else {
                    continue;
                };
                for pair in rest.windows(2) {
                    let [b, c] = pair else { continue };
                    let corners = [*first, *b, *c];
                    let mut triangle = [0; 3];
                    for (number, corner) in triangle.iter_mut().zip(corners) {
                        *number = fragment.vertex(corner, at, &view, &cutter)?;
                    }
                    fragment.triangles.push(triangle);
                }
            }
        }
        let count = precise(detail.triangles.len().max(1));
        let mut level = Self {
            fragments: BTreeMap::new(),
            scale: length / (3.0 * count),
        };
        for (cell, fragment) in fragments {
            let bytes = encode_draco(&fragment.positions, &fragment.triangles)?;
            level.fragments.insert(cell, bytes);
        }
        Ok(Some(level))
    }
}

impl FragmentMesh {
    /// The number of a point in the fragment at `at`.
    fn vertex(
        &mut self,
        point: u32,
        at: [u32; 3],
        view: &grid::LodGrid,
        cutter: &Cutter,
    ) -> Result<u32, MultiLodError> {
        if let Some(number) = self.numbers.get(&point) {
            return Ok(*number);
        }
        let number = count("vertices of a fragment", self.positions.len())?;
        self.positions
            .push(view.coordinates(&cutter.point(point)?, at));
        self.numbers.insert(point, number);
        Ok(number)
    }
}

/// The total length of the edges of a triangle.
fn edges(detail: &Detail, [a, b, c]: &[u32; 3]) -> f64 {
    let place = |corner: &u32| {
        let corner = usize::try_from(*corner).unwrap_or(usize::MAX);
        detail.positions.get(corner).copied().unwrap_or_default()
    };
    let length = |a: &u32, b: &u32| {
        let axes = place(a).into_iter().zip(place(b));
        axes.map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    };
    length(a, b) + length(b, c) + length(c, a)
}

/// The manifest and the fragments, from fine to coarse.
fn written(grid: &FinestGrid, mut levels: Vec<EncodedLod>) -> Result<MultiLodMesh, MultiLodError> {
    // Each cell must have a parent in every coarser level, even if that is empty.
    let mut parents: BTreeSet<GridCell> = BTreeSet::new();
    for level in &mut levels {
        for parent in &parents {
            level.fragments.entry(*parent).or_default();
        }
        parents = level.fragments.keys().map(GridCell::parent).collect();
    }
    let mut found = MultiLodMesh::default();
    let manifest = &mut found.manifest;
    put_floats(manifest, &grid.shape);
    put_floats(manifest, &grid.origin);
    manifest.extend_from_slice(&count("levels of detail", levels.len())?.to_le_bytes());
    // Scales must not decrease from level to level, and must not be 0, which means a missing level.
    let mut scale = grid.least();
    for level in &levels {
        scale = scale.max(grid::single(level.scale)?);
        put_floats(manifest, &[scale]);
    }
    for _ in &levels {
        put_floats(manifest, &[0.0; 3]);
    }
    for level in &levels {
        let number = count("fragments of a level", level.fragments.len())?;
        manifest.extend_from_slice(&number.to_le_bytes());
    }
    for level in levels {
        for axis in 0..3 {
            for cell in level.fragments.keys() {
                let at = cell.at.get(axis).copied().unwrap_or(0);
                manifest.extend_from_slice(&at.to_le_bytes());
            }
        }
        for bytes in level.fragments.values() {
            let size = count("bytes of a fragment", bytes.len())?;
            manifest.extend_from_slice(&size.to_le_bytes());
        }
        for bytes in level.fragments.into_values() {
            found.fragments.extend_from_slice(&bytes);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
