//! Data that is used in place, `spec/tet-v1.md` 13.

use zvf_grid::Selection;

use super::catalog::{Catalog, Dataset};
use super::plan::{PlannedTiles, TilePlan};
use super::tile::side_by_side;
use crate::layout::TileCodec;
use zvf_grid::int::wide;

/// One run of the file that holds each byte of a dataset exactly once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawSpan {
    /// Where it begins.
    pub offset: u64,
    /// Its length in bytes: the size of the dataset.
    pub len: u64,
    /// Whether the run is the dataset in C order. Otherwise it is tile after tile, which suffices for sums and extremes.
    pub row_major: bool,
}

/// The run of all tiles of a dataset, if they are raw and follow each other in the order of the grid.
pub(crate) fn whole(catalog: &Catalog, front: &[u8], dataset: &Dataset) -> Option<RawSpan> {
    let plan = TilePlan::new(catalog, front, dataset, &dataset.all()).ok()?;
    let mut span: Option<(u64, u64)> = None;
    for tile in plan {
        if tile.codec != TileCodec::Raw || tile.stored_byte_len != tile.raw_byte_len {
            return None;
        }
        let start = match span {
            None => tile.payload_offset,
            Some((start, next)) if next == tile.payload_offset => start,
            Some(_) => return None,
        };
        span = Some((start, tile.payload_offset.checked_add(tile.raw_byte_len)?));
    }
    let (offset, stop) = span?;
    let len = stop.checked_sub(offset)?;
    (len == dataset.geometry().bytes && len != 0).then_some(RawSpan {
        offset,
        len,
        row_major: dataset.geometry().tiles_are_row_major(),
    })
}

/// Returns the range of the file that equals the result of a selection, if there is one. The wanted part of each tile
/// must be contiguous both in the tile and in the result, and the distance between the two positions must be the same for
/// all tiles.
pub(crate) fn of_selection(
    catalog: &Catalog,
    front: &[u8],
    dataset: &Dataset,
    selection: &Selection,
) -> Option<(u64, u64)> {
    let len = dataset.result_bytes(selection).ok()?;
    let item = wide(dataset.item());
    let shape = selection.shape();
    let mut base: Option<u64> = None;
    for tile in PlannedTiles::new(catalog, front, dataset, selection, u64::MAX).ok()? {
        let tile = tile.ok()?;
        let runs = tile.part.runs();
        let taken = runs.iter().map(|run| (run.src, run.step, run.count));
        let src = side_by_side(taken, &tile.extent)?.checked_mul(item)?;
        let dst = side_by_side(runs.iter().map(|run| (run.dst, 1, run.count)), &shape)?;
        let from = tile.entry.payload_offset.get().checked_add(src)?;
        let start = from.checked_sub(dst.checked_mul(item)?)?;
        if tile.entry.codec() != Some(TileCodec::Raw) || base.is_some_and(|base| base != start) {
            return None;
        }
        base = Some(start);
    }
    Some((base?, len))
}
