//! The density method: real vertices are kept, so that a level is of the kind of the store and holds all that belongs to them.

mod contract;
mod read;
mod simplify;
mod tables;
mod thin;
mod write;

use zvf_meta::Kind;

use super::bins::{NONE, compose};
use super::sample;
use crate::WriteError;
use crate::int::{index, narrow};
pub(crate) use read::Source;
pub(crate) use write::{Numbered, Target, write};

/// What is left of level 0: which of its vertices, and how they hang together.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    /// Vertices of level 0, ascending within their object.
    pub(crate) rows: Vec<u32>,
    /// Objects one after the other: row of the object index, and how many of `rows` are its. Empty where there are none.
    pub(crate) runs: Vec<(usize, usize)>,
    /// Links: places in `rows`, `width` of each link together.
    pub(crate) links: Vec<u32>,
    /// Which link of level 0 each link is, or came from.
    pub(crate) links_of: Vec<u32>,
    /// How far at most anything of level 0 is from what is left.
    pub(crate) error: f64,
    /// For each place of the finer state the place here that stands for it; [`NONE`] where none does.
    pub(crate) stand_ins: Vec<u32>,
}

/// The geometry that levels are made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Geometry<'g> {
    pub(crate) kind: Kind,
    pub(crate) dims: usize,
    /// Positions of level 0.
    pub(crate) positions: &'g [f64],
    /// Endpoints of a link.
    pub(crate) width: usize,
    /// Whether (a, b) and (b, a) are two links.
    pub(crate) directed: bool,
}

/// The next coarser state: bins of this size, this share of the objects.
///
/// # Errors
/// Positions that lie in no bin.
pub(crate) fn coarsen(
    geometry: Geometry<'_>,
    state: &State,
    bins: &[f64],
    share: f64,
    seed: u64,
) -> Result<State, WriteError> {
    let sparse;
    let mut state = state;
    let mut dropped = None;
    // Objects without vertices are there, and are drawn like others: the same objects as by the other method.
    if share < 1.0 && state.runs.len() > 1 {
        let count = state.runs.len();
        let kept = sample::draw(count, sample::kept_count(count, share), seed)?;
        sparse = drop_objects(state, &kept, geometry.width)?;
        state = &sparse;
        dropped = Some(&sparse.stand_ins);
    }
    let mut found = match geometry.kind {
        Kind::PointCloud => thin::points(geometry, state, bins)?,
        Kind::Line => thin::lines(geometry, state, bins)?,
        Kind::Polyline | Kind::Streamline => simplify::chains(geometry, state, bins)?,
        Kind::Graph | Kind::Skeleton => contract::graph(geometry, state, bins)?,
        Kind::Mesh => contract::mesh(geometry, state, bins)?,
    };
    if let Some(dropped) = dropped {
        found.stand_ins = compose(dropped, &found.stand_ins);
    }
    Ok(found)
}

/// Which places of a state stay, and what the state is then.
#[derive(Debug)]
pub(crate) struct Kept {
    /// For each place, whether it stays.
    pub(crate) stays: Vec<bool>,
    /// For each place, which one stands for it; one that does not stay stands for nothing.
    pub(crate) stand_ins: Vec<u32>,
    /// Links between places that stay.
    pub(crate) links: Vec<u32>,
    pub(crate) links_of: Vec<u32>,
    /// How far anything is from what stays.
    pub(crate) moved: f64,
}

impl Kept {
    /// Of vertices alone; `moved` is a square.
    fn vertices(stays: Vec<bool>, stand_ins: Vec<u32>, moved: f64) -> Self {
        Self {
            stays,
            stand_ins,
            links: Vec::new(),
            links_of: Vec::new(),
            moved: moved.sqrt(),
        }
    }

    /// The state of what stays.
    fn apply(self, state: &State) -> Result<State, WriteError> {
        let mut place = Vec::with_capacity(self.stays.len());
        let mut rows = Vec::new();
        for (&row, &stays) in state.rows.iter().zip(&self.stays) {
            place.push(narrow("vertices", rows.len())?);
            if stays {
                rows.push(row);
            }
        }
        let mut runs = Vec::with_capacity(state.runs.len());
        let mut start = 0_usize;
        for &(object, count) in &state.runs {
            let end = start.saturating_add(count);
            let here = self.stays.get(start..end).unwrap_or_default();
            runs.push((object, here.iter().filter(|stays| **stays).count()));
            start = end;
        }
        let new = |kept: &u32| {
            let stays = self.stays.get(index(*kept)) == Some(&true);
            let place = place.get(index(*kept)).copied();
            place.filter(|_| stays).unwrap_or(NONE)
        };
        let stand_ins = self.stand_ins.iter().map(new).collect();
        let links = self.links.iter();
        Ok(State {
            rows,
            runs,
            stand_ins,
            links: links
                .map(|&end| place.get(index(end)).copied().unwrap_or(u32::MAX))
                .collect(),
            links_of: self.links_of,
            error: state.error + self.moved,
        })
    }
}

/// A state of some of its objects; the others are left without vertices.
fn drop_objects(state: &State, kept: &[usize], width: usize) -> Result<State, WriteError> {
    let mut stays = Vec::with_capacity(state.rows.len());
    let mut kept = kept.iter().copied().peekable();
    for (at, &(_, count)) in state.runs.iter().enumerate() {
        let here = kept.next_if_eq(&at).is_some();
        stays.extend(std::iter::repeat_n(here, count));
    }
    let (mut links, mut links_of) = (Vec::new(), Vec::new());
    for (link, &of) in state.links.chunks_exact(width.max(1)).zip(&state.links_of) {
        if link.iter().all(|&end| stays.get(index(end)) == Some(&true)) {
            links.extend_from_slice(link);
            links_of.push(of);
        }
    }
    let moved = 0.0;
    let kept = Kept {
        stand_ins: (0..narrow("vertices", stays.len())?).collect(),
        stays,
        links,
        links_of,
        moved,
    };
    kept.apply(state)
}

impl Geometry<'_> {
    /// The position of a vertex of level 0.
    pub(crate) fn position(&self, row: u32) -> &[f64] {
        let start = index(row).saturating_mul(self.dims);
        let end = start.saturating_add(self.dims);
        self.positions.get(start..end).unwrap_or_default()
    }
}

/// The square of the distance of two positions.
pub(crate) fn square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The object of each place of a state, by its number in `runs`; 0 where there are none.
pub(crate) fn owners(state: &State) -> Vec<u32> {
    if state.runs.is_empty() {
        return vec![0; state.rows.len()];
    }
    let runs = (0_u32..).zip(&state.runs);
    runs.flat_map(|(number, &(_, count))| std::iter::repeat_n(number, count))
        .collect()
}
