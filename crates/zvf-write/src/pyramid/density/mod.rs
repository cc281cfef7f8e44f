//! The density method: real vertices are kept, so that a level is of the kind of the store and holds all that belongs to them.

mod about;
mod chains;
mod cloud;
mod contract;
mod ends;
mod finest;
mod net;
mod points;
mod read;
mod sheet;
mod simplify;
mod stand_ins;
mod tables;
mod thin;
mod write;

use tokio::runtime::Handle;
use zvf_meta::{Kind, LevelDoc};
use zvf_store::Store;

use super::base::{self, ChosenBins};
use super::bins::{Means, NONE, compose};
use super::plan::Planned;
use super::reference::ObjectColumn;
use super::sample;
use crate::WriteError;
use crate::int::{index, narrow, wide};
pub(crate) use about::About;
use about::Places;
use chains::Chains;
use cloud::Cloud;
use net::Net;
use read::Source;
use write::Writing;
pub(crate) use write::{Numbered, Target, Written};

/// The levels of one store, each made of the one before, and level 0 before the first of them.
pub(crate) trait Thinning {
    fn about(&self) -> &About;

    /// Where the vertices of level 0 lie, if that was asked for; once.
    ///
    /// # Errors
    /// I/O.
    fn places(&mut self) -> Result<Option<Numbered>, WriteError>;

    /// Chooses bins of level 0.
    ///
    /// # Errors
    /// Positions that lie in no bin. I/O.
    fn choose(&mut self, chunk_shape: &[f64]) -> Result<ChosenBins, WriteError>;

    /// Makes the next level, and writes all of it but its document.
    ///
    /// # Errors
    /// Positions that lie in no bin. I/O.
    fn coarsen(
        &mut self,
        step: &Planned,
        columns: &mut [ObjectColumn],
        doc: LevelDoc,
        to: Target<'_>,
    ) -> Result<Coarse, WriteError>;

    /// Bytes of vertices that were held at the most.
    fn most_held(&self) -> u64;
}

/// What a level is that was made.
#[derive(Debug)]
pub(crate) struct Coarse {
    /// Vertices of the finer level.
    pub(crate) before: u64,
    /// Objects with vertices.
    pub(crate) objects: u64,
    /// How far at most anything of level 0 is from what is left.
    pub(crate) error: f64,
    /// For each vertex of the finer level the number of the one that stands for it, [`NONE`] where none does; if places
    /// were asked for.
    pub(crate) stand_ins: Vec<u32>,
    pub(crate) written: Written,
}

/// What is known of a level before it is written.
#[derive(Debug)]
struct Found {
    /// Vertices of the finer level.
    before: u64,
    /// Objects with vertices.
    objects: u64,
    stand_ins: Vec<u32>,
}

impl Found {
    fn written(self, error: f64, written: Written) -> Coarse {
        let Self {
            before,
            objects,
            stand_ins,
        } = self;
        Coarse {
            before,
            objects,
            error,
            stand_ins,
            written,
        }
    }
}

/// What levels are made with.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'r> {
    pub(crate) store: &'r Store,
    /// Opens the store once more, if it is still the same but for levels that were begun.
    pub(crate) again: &'r dyn Fn() -> Result<Store, WriteError>,
    pub(crate) handle: &'r Handle,
    pub(crate) means: Means<'r>,
    /// Whether it is asked for where vertices lie.
    pub(crate) placed: bool,
}

impl std::fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading")
            .field("means", &self.means)
            .field("placed", &self.placed)
            .finish_non_exhaustive()
    }
}

/// Begins with level 0. What is larger than the budget is not held, where the kind allows.
///
/// # Errors
/// Misuse: what a level of this method cannot hold, by its name. Malformed data. I/O.
pub(crate) fn begin(from: Reading<'_>) -> Result<Box<dyn Thinning + '_>, WriteError> {
    let about = About::read(from.store, from.handle)?;
    let large = about.memory() > wide(from.means.budget);
    Ok(match about.spec.kind {
        Kind::PointCloud if large => Box::new(Cloud::new(from, about)?),
        Kind::Polyline | Kind::Streamline | Kind::Skeleton if large => {
            Box::new(Chains::new(from, about)?)
        }
        Kind::Line | Kind::Graph | Kind::Mesh if large => Box::new(Net::new(from, about)?),
        _ => Box::new(Held::new(from, about)?),
    })
}

/// Levels of a level 0 that is held.
#[derive(Debug)]
struct Held {
    about: About,
    source: Source,
    places: Option<Numbered>,
    /// The level that was made last.
    state: Option<State>,
    error: f64,
}

impl Held {
    fn new(from: Reading<'_>, mut about: About) -> Result<Self, WriteError> {
        let mut places = from.placed.then(Places::default);
        let objects = 0..about.ids.len();
        let source = Source::read(
            (from.store, from.handle),
            &mut about,
            objects,
            places.as_mut(),
        )?;
        Ok(Self {
            about,
            source,
            places: places.map(Places::finish).transpose()?,
            state: None,
            error: 0.0,
        })
    }
}

impl Thinning for Held {
    fn about(&self) -> &About {
        &self.about
    }

    fn places(&mut self) -> Result<Option<Numbered>, WriteError> {
        Ok(self.places.take())
    }

    fn choose(&mut self, chunk_shape: &[f64]) -> Result<ChosenBins, WriteError> {
        let geometry = self.source.geometry(&self.about);
        base::choose(geometry, &self.source.state, chunk_shape)
    }

    fn coarsen(
        &mut self,
        step: &Planned,
        columns: &mut [ObjectColumn],
        doc: LevelDoc,
        to: Target<'_>,
    ) -> Result<Coarse, WriteError> {
        let fine = self.state.as_ref().unwrap_or(&self.source.state);
        let before = wide(fine.rows.len());
        let kept = draw(fine.runs.len(), step)?;
        let geometry = self.source.geometry(&self.about);
        let mut next = coarsen(geometry, fine, &step.bin_shape, kept.as_deref())?;
        self.error += next.moved;
        let mut writing = Writing::new(&self.about, to)?;
        writing.push_state(&self.about, &self.source, &next)?;
        let made = Coarse {
            before,
            objects: next.present(),
            error: self.error,
            stand_ins: std::mem::take(&mut next.stand_ins),
            written: writing.finish(&self.about, columns, doc)?,
        };
        self.state = Some(next);
        Ok(made)
    }

    fn most_held(&self) -> u64 {
        self.source.held()
    }
}

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
    /// How far at most anything of the finer state is from what is left.
    pub(crate) moved: f64,
    /// For each place of the finer state the place here that stands for it; [`NONE`] where none does.
    pub(crate) stand_ins: Vec<u32>,
}

impl State {
    /// Objects with vertices.
    fn present(&self) -> u64 {
        wide(self.runs.iter().filter(|(_, count)| *count > 0).count())
    }
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

/// The objects of a level that the next one keeps, ascending; `None` for all of them.
///
/// Objects without vertices are there, and are drawn like others: the same objects as by the other method.
fn draw(objects: usize, step: &Planned) -> Result<Option<Vec<usize>>, WriteError> {
    let some = step.share < 1.0 && objects > 1;
    let keep = || sample::draw(objects, sample::kept_count(objects, step.share), step.seed);
    some.then(keep).transpose()
}

/// As [`draw`]: for each object whether it is kept.
fn draw_flags(objects: usize, step: &Planned) -> Result<Option<Vec<bool>>, WriteError> {
    let drawn = draw(objects, step)?;
    Ok(drawn.map(|drawn| {
        let mut kept = vec![false; objects];
        for object in drawn {
            kept.get_mut(object).into_iter().for_each(|one| *one = true);
        }
        kept
    }))
}

/// The next coarser state: bins of this size, these of the objects.
///
/// # Errors
/// Positions that lie in no bin.
fn coarsen(
    geometry: Geometry<'_>,
    state: &State,
    bins: &[f64],
    kept: Option<&[usize]>,
) -> Result<State, WriteError> {
    let sparse;
    let mut state = state;
    let mut dropped = None;
    if let Some(kept) = kept {
        sparse = drop_objects(state, kept, geometry.width)?;
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
            moved: self.moved,
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

impl<'g> Geometry<'g> {
    /// The position of a vertex of level 0.
    pub(crate) fn position(&self, row: u32) -> &'g [f64] {
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
