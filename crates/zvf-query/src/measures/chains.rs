//! Measures lines, polylines and streamlines chunk by chunk, in one pass.

use std::collections::{HashMap, HashSet};

use futures::stream::TryStreamExt;
use zvf_store::format::int;
use zvf_store::meta::Metric;
use zvf_store::{Names, Store};

use super::measured::Measured;
use crate::answer::or_changed;
use crate::error::OrBug;
use crate::gather::fold::{EntryRows, Fold};
use crate::object_counts::no_fragment;
use crate::prepare::prepare;
use crate::statistics::CompensatedSum;
use crate::{Column, Outputs, Query, QueryError};

/// The measures of some chains, by their index in the requested ids.
#[derive(Debug)]
pub(super) struct ChainMeasures {
    dims: usize,
    metric: Metric,
    points: Vec<u64>,
    lengths: Vec<CompensatedSum>,
    /// The first and the last position of each chain.
    ends: Vec<f64>,
    /// The minimum and maximum of each chain on each axis; empty if bounds are not requested.
    bounds: Vec<(f64, f64)>,
    /// Chains with a manifest entry that has no rows. The distance across such an entry is not measured here: the caller measures these chains row
    /// by row.
    pub(super) with_empty_entries: HashSet<usize>,
}

/// The measures of the manifest entries in some chunks.
#[derive(Debug, Default)]
struct EntryMeasures {
    /// The number of each entry, its object, and its number of rows.
    entries: Vec<(u32, u32, u64)>,
    /// For each entry: first position, last position, length; then, if bounds are requested, the smallest and the largest coordinates.
    values: Vec<f64>,
}

/// Bytes of memory for each measured object.
pub(super) fn object_bytes(dims: usize, bounds: bool) -> u64 {
    let sides = if bounds { 4 } else { 2 };
    24 + 8 * int::wide(dims.saturating_mul(sides))
}

impl ChainMeasures {
    /// Measures chains whose vertices are all on the level of the query.
    ///
    /// # Cost
    ///
    /// Reads each chunk of the objects once. Memory: 72 bytes for each object in three dimensions, 120 with bounds, and a position for each pair of
    /// consecutive entries while only one of them has been read.
    ///
    /// # Errors
    ///
    /// Misuse: unknown objects. I/O; malformed cells and manifests; the store changed.
    pub(super) async fn read(
        store: &Store,
        query: &Query,
        ids: &[i64],
        bounds: bool,
    ) -> Result<Self, QueryError> {
        let asked = Query {
            level: query.level,
            own_level_only: query.own_level_only,
            memory_budget: query.memory_budget,
            objects: Some(ids.to_vec()),
            columns: vec![Column::Position],
            attributes: Names::None,
            outputs: Outputs {
                vertices: true,
                links: false,
                objects: false,
            },
            ..Query::default()
        };
        let mut levels = Box::pin(prepare(store, asked)).await?;
        let prepared = levels.pop().filter(|_| levels.is_empty());
        let prepared = prepared.or_bug("chains of several levels in one pass")?;
        let round = prepared.round.saturating_add(2);
        let found = async {
            let fold = Fold::start(&prepared).await?;
            let plan = fold.plan();
            (plan.ids == ids)
                .then_some(())
                .or_bug("other objects than asked for")?;
            let metric = Metric::of(store.root().axes());
            Self::of(fold, (store.root().dims(), metric), bounds).await
        };
        let found = or_changed(found.await, store, round).await?;
        store.verify(round).await?;
        Ok(found)
    }

    async fn of(
        mut fold: Fold,
        (dims, metric): (usize, Metric),
        bounds: bool,
    ) -> Result<Self, QueryError> {
        let (plan, objects) = (fold.plan(), fold.objects());
        let count = plan.ids.len();
        let mut all = Self {
            dims,
            metric,
            points: vec![0; count],
            lengths: vec![CompensatedSum::default(); count],
            ends: vec![f64::NAN; count.saturating_mul(2 * dims)],
            bounds: match bounds {
                true => vec![(f64::INFINITY, f64::NEG_INFINITY); count.saturating_mul(dims)],
                false => Vec::new(),
            },
            with_empty_entries: HashSet::new(),
        };
        let width = dims * if bounds { 4 } else { 2 } + 1;
        let mut parts = fold
            .parts(move |entry, part: &mut EntryMeasures| part.add(entry, (dims, metric, width)));
        // By the number of an entry: its last position, or the first position of the next entry, until the other one is known.
        let mut open: HashMap<usize, Vec<f64>> = HashMap::new();
        while let Some(part) = parts.try_next().await? {
            for ((number, object, rows), values) in
                part.entries.iter().zip(part.values.chunks_exact(width))
            {
                let (number, object) = (int::index(*number), int::index(*object));
                if *rows == 0 {
                    all.with_empty_entries.insert(object);
                    continue;
                }
                let (first, last, length) = all.add(object, *rows, values)?;
                let sum = all
                    .lengths
                    .get_mut(object)
                    .or_bug("an object that is not asked for")?;
                sum.add(length);
                let mut join = |before: usize, position: &[f64]| match open.remove(&before) {
                    Some(other) => sum.add(metric.distance(&other, position)),
                    None => {
                        open.insert(before, position.to_vec());
                    }
                };
                let ends = plan
                    .starts
                    .get(object)
                    .zip(plan.starts.get(object.saturating_add(1)));
                let (start, end) = ends.or_bug("an object without entries")?;
                let own = object.saturating_mul(2 * dims);
                match number.checked_sub(1).filter(|_| number > *start) {
                    Some(before) => join(before, first),
                    None => set(&mut all.ends, own, first)?,
                }
                match number.saturating_add(1) < *end {
                    true => join(number, last),
                    false => set(&mut all.ends, own.saturating_add(dims), last)?,
                }
            }
        }
        for number in open.into_keys() {
            let object = objects.get(number).or_bug("an entry of no object")?;
            all.with_empty_entries.insert(int::index(*object));
        }
        Ok(all)
    }

    /// Adds the number of rows and the bounds of an entry; returns its first position, last position and length.
    fn add<'v>(
        &mut self,
        object: usize,
        rows: u64,
        values: &'v [f64],
    ) -> Result<(&'v [f64], &'v [f64], f64), QueryError> {
        let points = self.points.get_mut(object);
        *points.or_bug("an object that is not asked for")? += rows;
        let dims = self.dims;
        let parts = values.split_at_checked(dims).and_then(|(first, rest)| {
            let (last, rest) = rest.split_at_checked(dims)?;
            let (length, rest) = rest.split_first()?;
            let (low, high) = rest.split_at_checked(rest.len() / 2)?;
            Some((first, last, *length, low, high))
        });
        let (first, last, length, low, high) = parts.or_bug("measures of another width")?;
        let start = object.saturating_mul(dims);
        let bounds = self.bounds.iter_mut().skip(start).take(dims);
        for ((bounds, low), high) in bounds.zip(low).zip(high) {
            *bounds = (bounds.0.min(*low), bounds.1.max(*high));
        }
        Ok((first, last, length))
    }

    /// How many objects were measured.
    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    /// The measures of one object.
    pub(super) fn measured(&self, number: usize, id: i64) -> Result<Measured, QueryError> {
        let points = self.points.get(number).copied();
        let points = points.or_bug("an object that was not measured")?;
        if points == 0 {
            return Ok(Measured::empty(id));
        }
        let length = self.lengths.get(number).copied();
        let length = length.or_bug("an object without a length")?.value();
        let own = |from: usize| {
            let ends = self.ends.get(from..from.saturating_add(self.dims));
            ends.map(<[f64]>::to_vec).or_bug("an object without ends")
        };
        let start = number.saturating_mul(2 * self.dims);
        let bounds = self.bounds.iter().skip(number.saturating_mul(self.dims));
        Ok(Measured {
            bounds: bounds.take(self.dims).copied().collect(),
            ..Measured::chain(
                (id, points, length),
                self.metric,
                own(start)?,
                own(start.saturating_add(self.dims))?,
            )
        })
    }
}

/// Copies `values` into `all` from index `at`.
fn set(all: &mut [f64], at: usize, values: &[f64]) -> Result<(), QueryError> {
    let own = all.get_mut(at..at.saturating_add(values.len()));
    own.or_bug("an object without ends")?
        .copy_from_slice(values);
    Ok(())
}

impl EntryMeasures {
    /// Measures the rows of an entry.
    fn add(
        &mut self,
        of: EntryRows<'_>,
        (dims, metric, width): (usize, Metric, usize),
    ) -> Result<(), QueryError> {
        let EntryRows {
            plan,
            chunk,
            number,
            entry,
            object,
        } = of;
        let at = self.values.len();
        self.values.resize(at.saturating_add(width), f64::NAN);
        if chunk.absent {
            plan.check_listed(chunk, int::index(number))?;
            self.entries.push((number, object, 0));
            return Ok(());
        }
        let reader = &plan.reader;
        let fragments = chunk.fragments.as_deref();
        let (mut rows, mut length) = (0_u64, CompensatedSum::default());
        let (mut position, mut last) = (vec![0.0; dims], vec![0.0; dims]);
        let values = self
            .values
            .get_mut(at..)
            .or_bug("an entry without values")?;
        let (first, rest) = values
            .split_at_mut_checked(dims)
            .or_bug("an entry without values")?;
        let (until, rest) = rest
            .split_at_mut_checked(dims)
            .or_bug("an entry without values")?;
        let (sum, bounds) = rest.split_first_mut().or_bug("an entry without values")?;
        let (low, high) = bounds.split_at_mut(bounds.len() / 2);
        for fragment in entry.fragments() {
            let Some(found) = fragments.and_then(|fragments| fragments.get(fragment)) else {
                let count = fragments.map_or(0, |fragments| fragments.len());
                let id = plan.ids.get(int::index(object));
                return Err(no_fragment(
                    reader,
                    chunk.slot,
                    fragment,
                    count,
                    id.copied(),
                ));
            };
            for row in found.iter() {
                let stored = chunk
                    .positions
                    .row(row)
                    .or_bug("a row without a position")?;
                reader.position.read(stored, &mut position);
                match rows {
                    0 => first.copy_from_slice(&position),
                    _ => length.add(metric.distance(&last, &position)),
                }
                for ((low, high), value) in low.iter_mut().zip(high.iter_mut()).zip(&position) {
                    (*low, *high) = (low.min(*value), high.max(*value));
                }
                std::mem::swap(&mut last, &mut position);
                rows += 1;
            }
        }
        until.copy_from_slice(&last);
        *sum = length.value();
        self.entries.push((number, object, rows));
        Ok(())
    }
}
