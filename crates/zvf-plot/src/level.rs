//! Chooses the level to draw, and estimates its number of vertices.

use zvf_meta::Refinement;
use zvf_query::Query;
use zvf_store::{Level, Need, Store};

use crate::PlotError;

/// The choice of the level to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LevelChoice {
    /// The finest level with at most as many vertices in the selection as the budget, else the coarsest one.
    #[default]
    Auto,
    /// The level with this number.
    Number(u32),
}

/// A level and its size.
#[derive(Debug)]
pub(crate) struct DrawnLevel {
    pub(crate) level: Level,
    /// Approximate number of vertices of the selection.
    pub(crate) vertices: u64,
    /// Whether the level is drawn together with the coarser levels that complete it.
    pub(crate) additive: bool,
}

/// Chooses the level to draw for a selection.
///
/// # Cost
///
/// Reads the documents of the levels from the finest one to the chosen one.
pub(crate) async fn choose(
    store: &Store,
    query: &Query,
    choice: LevelChoice,
    budget: u64,
) -> Result<DrawnLevel, PlotError> {
    let need = Need {
        objects: true,
        ..Need::nothing()
    };
    if let LevelChoice::Number(number) = choice {
        return measured(store, query, number, &need).await;
    }
    let mut last = None;
    for number in store.levels() {
        let found = measured(store, query, *number, &need).await?;
        // Requested objects may have other ids on a coarser level.
        let by_id = query.objects.is_some() && *number != 0;
        if by_id && last.is_some() && !found.level.doc().preserves_object_ids {
            break;
        }
        if found.vertices <= budget {
            return Ok(found);
        }
        last = Some(found);
    }
    last.ok_or_else(|| PlotError::usage("the store has no levels"))
}

async fn measured(
    store: &Store,
    query: &Query,
    number: u32,
    need: &Need,
) -> Result<DrawnLevel, PlotError> {
    let level = store.level(number, need).await?;
    let share = share(store, &level, query)?;
    let mut vertices = level.doc().vertex_count;
    let mut next = number;
    let mut above = level.clone();
    // An additive level is drawn with the levels that complete it.
    while above.doc().refinement == Refinement::Add && !query.own_level_only {
        let Some(coarser) = next
            .checked_add(1)
            .filter(|one| store.levels().contains(one))
        else {
            break;
        };
        next = coarser;
        above = store.level(next, need).await?;
        vertices = vertices.saturating_add(above.doc().vertex_count);
    }
    Ok(DrawnLevel {
        level,
        vertices: (vertices as f64 * share).ceil() as u64,
        additive: next != number,
    })
}

/// Estimates the share of a level's vertices in a selection from its box and objects, without its conditions.
fn share(store: &Store, level: &Level, query: &Query) -> Result<f64, PlotError> {
    let mut share: f64 = 1.0;
    let bbox = query.around(store.root().axes())?;
    let presence = level.vertices().presence();
    if let Some(bbox) = &bbox
        && level.key_rank() == level.dims()
        && bbox.dims() == level.dims()
        && !presence.is_empty()
    {
        let offset = store.root().zarr_vectors.coordinate_offset.clone();
        let offset = offset.unwrap_or_else(|| vec![0.0; level.dims()]);
        let chunk = |corner: &[f64]| -> Vec<i64> {
            let axes = corner.iter().zip(&offset).zip(level.chunk_shape());
            axes.map(|((value, offset), size)| ((value - offset) / size).floor() as i64)
                .collect()
        };
        let (low, high) = (chunk(bbox.lo()), chunk(bbox.hi()));
        let inside = presence.in_box(&low, &high).count();
        share = inside as f64 / presence.len() as f64;
    }
    if let (Some(ids), Some(index)) = (&query.objects, level.object_index()) {
        let all = index.len().max(1) as f64;
        share = share.min(ids.len() as f64 / all);
    }
    Ok(share)
}
