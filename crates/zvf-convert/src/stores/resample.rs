//! Resamples lines and skeletons: places new points along them.

use std::collections::BTreeSet;
use std::ops::Range;

use futures::future::BoxFuture;
use serde::Serialize;
use zvf_encode::batches::Owners;
use zvf_encode::error::{OrBug, internal};
use zvf_meta::{LinksConvention, Metric};
use zvf_query::{Query, length_metric};
use zvf_store::Store;
use zvf_store::format::int::wide;
use zvf_write::{
    AttributeType, Batch, Groups, Kind, NumberType, ObjectTable, StoreSpec, StoreWriter, Values,
    WriteError, WriteOptions,
};

use super::arc_length::{ArcLength, NewPoints, OnSegment};
use super::{describe, pass};
use crate::answered::groups_of;
use crate::{ConvertError, Sink};

/// New points that are collected before they are pushed.
const PIECE: usize = 1 << 16;

/// How a store is resampled.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ResampleOptions {
    /// The positions of the new points.
    pub points: NewPoints,
    /// How the store is written. With a [journal](WriteOptions::journal) the same call continues an interrupted one: the source is read again, and
    /// data that is in the journal is skipped.
    pub write: WriteOptions,
    /// Memory of the query of the source.
    pub query_budget: Option<u64>,
}

impl ResampleOptions {
    /// Default options with these points.
    #[must_use]
    pub fn new(points: NewPoints) -> Self {
        Self {
            points,
            write: WriteOptions::default(),
            query_budget: None,
        }
    }
}

/// The result of [`resample`].
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Resampled {
    /// Vertices of the source.
    pub vertices_before: u64,
    /// Vertices of the new store.
    pub vertices: u64,
    /// Its objects.
    pub objects: u64,
    /// Objects with one vertex, which are unchanged.
    pub kept: u64,
    /// Its groups.
    pub groups: u64,
    /// The length of all lines of the source, in units of the axes.
    pub length_before: f64,
    /// The length of all new lines.
    pub length: f64,
    /// Notes about conversions, data that is left out, and defects of the source.
    pub notes: Vec<String>,
}

/// Writes level 0 of a store of polylines, streamlines or skeletons as a new store with other points along the same lines.
///
/// With [`NewPoints::Tolerance`] the points are vertices of the source, with their values. Otherwise the ends of lines, and the roots, branching
/// points and tips of skeletons are kept exactly, and new points are placed between them: floating-point attributes are interpolated linearly,
/// other values are copied from the nearest vertex of the line. Object attributes, ids, groups, axes, units, chunk shape, headers and frame are
/// copied from the source.
///
/// # Units
/// Arc lengths are measured in stored world coordinates along the axes of space, which must share one unit.
///
/// # Cost
/// Reads the store once. Memory: the budgets of the query and the writer, the tables of objects, and the largest object; for skeletons also its
/// new points, which must fit into half of the writer's budget.
///
/// # Errors
/// Misuse: another kind, skeletons with link attributes or with [`NewPoints::Count`], an invalid spacing. Malformed data: positions that are not
/// finite, links that do not form trees. Limit: new points of a skeleton beyond the budget. The errors of the query and the writer. After an
/// error there is no store.
pub fn resample<'a>(
    store: &'a Store,
    address: &'a str,
    options: ResampleOptions,
) -> BoxFuture<'a, Result<Resampled, ConvertError>> {
    Box::pin(async move {
        let metric = check(store, options.points)?;
        let described = describe(store).await?;
        described.check_owned(store).await?;
        let mut done = Resampled {
            notes: described.notes.clone(),
            ..Resampled::default()
        };
        let mut spec = described.spec.clone();
        if let Some(one) = spec.links.attributes.first() {
            let expected = "skeletons without link attributes, since new links have no values: `zvf export SRC -o '{id}.swc'` writes files without these, \
                            which `zvf import` reads";
            return Err(ConvertError::usage(
                store.url(),
                format!("attribute {} of links", one.name),
                expected,
            ));
        }
        let between = !matches!(options.points, NewPoints::Tolerance(_));
        if between && !spec.positions.is_float() {
            done.notes.push(format!(
                "positions of {} become float64, since points between them are not whole numbers",
                spec.positions
            ));
            spec.positions = NumberType::F64;
        }
        // Several new points would get the id of the same node.
        let named = spec.vertex_attributes.len();
        if between && spec.kind == Kind::Skeleton {
            spec.vertex_attributes.retain(|one| one.name != "node_id");
        }
        if spec.vertex_attributes.len() < named {
            done.notes.push(
                "left out: attribute node_id: the new points are other nodes than those of the source".to_owned(),
            );
        }
        let mut asked = described.query(&Query::default());
        asked.memory_budget = options.query_budget.unwrap_or(asked.memory_budget);
        let row = row_bytes(&spec);
        let most = (options.write.memory_budget / 2).checked_div(row);
        let mut writer = StoreWriter::create(address, spec.clone(), options.write).await?;
        if writer.batches() > 0 {
            let vertices = writer.vertices();
            done.notes.push(format!(
                "continued after {vertices} vertices of the journal"
            ));
        }
        let mut resampling = Resampling {
            metric,
            spec: &spec,
            sink: &mut writer,
            points: options.points,
            most: most.or_bug("points without bytes")?.max(PIECE),
            id: None,
            line: ObjectRows::of(&spec),
            out: ObjectRows::of(&spec),
            owners: Vec::new(),
            links: Vec::new(),
            done: &mut done,
        };
        let passed = pass(store, asked, &described, 0, &mut resampling).await?;
        resampling.end_line()?;
        resampling.flush()?;
        done.vertices_before = passed.vertices;
        done.vertices = writer.vertices();
        done.objects = wide(passed.ids.len());
        done.notes.extend(passed.warnings);
        if let Some((groups, left)) = groups_of(store, 0, Some(&passed.ids)).await? {
            done.notes.extend(left);
            // Without groups, their attributes are dropped.
            if !groups.members().is_empty() {
                done.groups = wide(groups.members().len());
                writer.groups(&groups)?;
            }
        }
        if !writer.is_caught_up() {
            let found = "more data than this source has";
            let expected = "a journal that was begun with the same source and points";
            return Err(ConvertError::usage("journal", found, expected));
        }
        writer.finish().await?;
        let mut seen = BTreeSet::new();
        done.notes.retain(|note| seen.insert(note.clone()));
        Ok(done)
    })
}

/// Bytes of a new point in memory.
fn row_bytes(spec: &StoreSpec) -> usize {
    let values = spec.vertex_attributes.iter();
    let values = values.map(|one| match one.values {
        AttributeType::Number(number) => one.channels.saturating_mul(number.size().max(8)),
        _ => size_of::<Option<String>>() + 16,
    });
    let fixed = spec.dims() * size_of::<f64>() + 2 * size_of::<u64>();
    values.fold(fixed, usize::saturating_add)
}

/// The metric of distances. Refuses kinds without lines, invalid spacings, and axes of several units.
fn check(store: &Store, spacing: NewPoints) -> Result<Metric, ConvertError> {
    let kind = store.kind();
    let refused =
        |found: String, expected: &str| Err(ConvertError::usage(store.url(), found, expected));
    let wanted = "polylines, streamlines or skeletons";
    match kind {
        Kind::Polyline | Kind::Streamline | Kind::Skeleton => {}
        Kind::Line => {
            let expected = format!(
                "{wanted}: a line has two vertices; `zvf export SRC lines.csv` and `zvf import lines.csv SRC2 --kind polyline --object-column object_id` make polylines of them"
            );
            return refused("lines".to_owned(), &expected);
        }
        Kind::Graph => {
            let expected = format!(
                "{wanted}: the links of a graph have no order along a line; of trees `zvf export SRC -o '{{id}}.swc'` and `zvf import` make skeletons"
            );
            return refused("a graph".to_owned(), &expected);
        }
        Kind::Mesh => {
            return refused("a mesh".to_owned(), wanted);
        }
        Kind::PointCloud => {
            let expected = format!(
                "{wanted}: points are not joined; `zvf sample-rows` and `zvf pyramid` thin them"
            );
            return refused("points".to_owned(), &expected);
        }
    }
    let explicit = store.root().links_convention().ok() == Some(LinksConvention::Explicit);
    if kind.is_chain() && explicit {
        let expected = "links that follow from the order of rows: `zvf query SRC --select objects -o DIR` and `zvf append NEW DIR` put the rows in that order";
        return refused("explicit links of lines".to_owned(), expected);
    }
    let skeletons = || {
        let expected = "a step: paths between branching points have different lengths";
        ("points", "skeletons".to_owned(), expected)
    };
    let counted = kind == Kind::Skeleton && matches!(spacing, NewPoints::Count(_));
    match counted.then(skeletons).or_else(|| spacing.problem()) {
        Some((what, found, expected)) => Err(ConvertError::usage(what, found, expected)),
        None => Ok(length_metric(store)?),
    }
}

/// Rows with their attributes, as numbers that can be interpolated or copied.
#[derive(Debug)]
struct ObjectRows {
    dims: usize,
    positions: Vec<f64>,
    /// In the order of the specification, each with the number of values of a row.
    columns: Vec<(usize, ResampledValues)>,
}

/// The values of one column of resampled vertices.
#[derive(Debug)]
enum ResampledValues {
    Floats(Vec<f64>),
    /// The bytes of numbers, with the size of one.
    Whole(usize, Vec<u8>),
    Texts(Vec<Option<String>>),
}

impl ResampledValues {
    fn clear(&mut self) {
        match self {
            Self::Floats(list) => list.clear(),
            Self::Whole(_, bytes) => bytes.clear(),
            Self::Texts(list) => list.clear(),
        }
    }

    /// Adds rows of the same column.
    fn extend(
        &mut self,
        from: &Self,
        rows: Range<usize>,
        channels: usize,
    ) -> Result<(), WriteError> {
        let scaled = |size: usize| rows.start * size..rows.end * size;
        let lost = "rows that a column does not have";
        match (self, from) {
            (Self::Floats(to), Self::Floats(from)) => {
                to.extend_from_slice(from.get(scaled(channels)).or_bug(lost)?);
            }
            (Self::Whole(size, to), Self::Whole(_, from)) => {
                to.extend_from_slice(from.get(scaled(*size * channels)).or_bug(lost)?);
            }
            (Self::Texts(to), Self::Texts(from)) => {
                to.extend_from_slice(from.get(scaled(channels)).or_bug(lost)?);
            }
            _ => return Err(WriteError::bug("a column of another type")),
        }
        Ok(())
    }

    /// Adds the value at a position of the same column.
    fn add(&mut self, from: &Self, place: OnSegment, channels: usize) -> Result<(), WriteError> {
        if place.share > 0.0
            && let (Self::Floats(to), Self::Floats(from)) = (&mut *self, from)
        {
            return between(from, place, channels, to);
        }
        let row = place.nearest();
        self.extend(from, row..row + 1, channels)
    }
}

/// Interpolates the values of a row.
fn between(
    from: &[f64],
    place: OnSegment,
    width: usize,
    to: &mut Vec<f64>,
) -> Result<(), WriteError> {
    let of = |row: usize| from.get(row * width..(row + 1) * width);
    let ends = of(place.from).zip(of(place.to));
    let (a, b) = ends.or_bug("a position outside the rows")?;
    let share = place.share;
    match share > 0.0 {
        // Because of rounding, the shares of two equal numbers may not add up to the number.
        true => to.extend(a.iter().zip(b).map(|(a, b)| match a == b {
            true => *a,
            false => a * (1.0 - share) + b * share,
        })),
        false => to.extend_from_slice(a),
    }
    Ok(())
}

impl ObjectRows {
    /// An empty table.
    fn of(spec: &StoreSpec) -> Self {
        let columns = spec.vertex_attributes.iter();
        let columns = columns.map(|one| {
            let values = match one.values {
                AttributeType::Number(number) if number.is_float() => {
                    ResampledValues::Floats(Vec::new())
                }
                AttributeType::Number(number) => ResampledValues::Whole(number.size(), Vec::new()),
                _ => ResampledValues::Texts(Vec::new()),
            };
            (one.channels, values)
        });
        Self {
            dims: spec.dims(),
            positions: Vec::new(),
            columns: columns.collect(),
        }
    }

    /// The rows of a batch.
    fn of_batch(spec: &StoreSpec, batch: &Batch) -> Result<Self, WriteError> {
        let mut rows = Self::of(spec);
        // Whole numbers beyond 2^53 may be rounded, so the conversion back is checked, too.
        let returns =
            |wide: &Values| spec.positions.is_float() || wide.exactly(spec.positions).is_some();
        let wide = batch.positions.exactly(NumberType::F64);
        rows.positions = match wide.filter(returns) {
            Some(wide) => wide.to_f64(),
            None => {
                return Err(WriteError::input(
                    "positions",
                    format!(
                        "whole numbers of {} beyond 2^53",
                        batch.positions.type_name()
                    ),
                    "numbers that float64 represents",
                ));
            }
        };
        let count = rows.len();
        for ((channels, column), one) in rows.columns.iter_mut().zip(&spec.vertex_attributes) {
            let found = batch.attributes.iter().find(|(name, _)| *name == one.name);
            let (_, values) = found.or_bug("a batch without one of its attributes")?;
            internal!(
                values.len() == count * *channels,
                "{} values of {} for {count} rows",
                values.len(),
                one.name
            );
            *column = match (one.values, values) {
                (AttributeType::Number(number), values) if number.is_float() => {
                    ResampledValues::Floats(values.to_f64())
                }
                (AttributeType::Number(number), values) => {
                    let bytes = values.bytes_as(number);
                    let bytes = bytes.or_bug("numbers of another type than declared")?;
                    ResampledValues::Whole(number.size(), bytes.into_owned())
                }
                (_, Values::Text(texts)) => ResampledValues::Texts(
                    texts.iter().map(|text| text.map(str::to_owned)).collect(),
                ),
                (_, other) => {
                    return Err(WriteError::bug(format!("{} for texts", other.type_name())));
                }
            };
        }
        Ok(rows)
    }

    fn len(&self) -> usize {
        self.positions.len() / self.dims.max(1)
    }

    fn position(&self, row: usize) -> Result<&[f64], WriteError> {
        let found = self.positions.get(row * self.dims..(row + 1) * self.dims);
        found.or_bug("a row without a position")
    }

    fn clear(&mut self) {
        self.positions.clear();
        self.columns.iter_mut().for_each(|(_, one)| one.clear());
    }

    /// Appends a range of other rows.
    fn extend(&mut self, from: &Self, rows: Range<usize>) -> Result<(), WriteError> {
        let places = rows.start * self.dims..rows.end * self.dims;
        let places = from.positions.get(places).or_bug("rows beyond the last")?;
        self.positions.extend_from_slice(places);
        for ((channels, to), (_, from)) in self.columns.iter_mut().zip(&from.columns) {
            to.extend(from, rows.clone(), *channels)?;
        }
        Ok(())
    }

    /// Appends an interpolated row.
    fn add(&mut self, from: &Self, place: OnSegment) -> Result<(), WriteError> {
        between(&from.positions, place, self.dims, &mut self.positions)?;
        for ((channels, to), (_, from)) in self.columns.iter_mut().zip(&from.columns) {
            to.add(from, place, *channels)?;
        }
        Ok(())
    }

    /// The rows as a batch without owners, in the types of the specification.
    fn batch(&self, spec: &StoreSpec) -> Result<Batch, WriteError> {
        let rounded = |list: &[f64], number: NumberType| {
            let rounded = Values::from(list).exactly(number);
            rounded.or_bug("interpolated numbers that their type does not represent")
        };
        let mut batch = Batch::new(rounded(&self.positions, spec.positions)?);
        for (one, (_, column)) in spec.vertex_attributes.iter().zip(&self.columns) {
            let values = match (column, one.values) {
                (ResampledValues::Floats(list), AttributeType::Number(number)) => {
                    rounded(list, number)?
                }
                (ResampledValues::Whole(_, bytes), AttributeType::Number(number)) => {
                    Values::of_bytes(number, bytes)
                }
                (ResampledValues::Texts(texts), _) => {
                    Values::optional_texts(texts.iter().map(Option::as_deref))
                }
                _ => return Err(WriteError::bug("numbers of an attribute of texts")),
            };
            batch = batch.with_attribute(&one.name, values);
        }
        Ok(batch)
    }
}

/// A sink that replaces the points of lines and skeletons before it passes them to a writer.
struct Resampling<'s> {
    metric: Metric,
    spec: &'s StoreSpec,
    sink: &'s mut StoreWriter,
    points: NewPoints,
    /// Most new points of a skeleton.
    most: usize,
    /// The object of the incomplete line.
    id: Option<i64>,
    line: ObjectRows,
    /// New points that are not pushed yet.
    out: ObjectRows,
    owners: Vec<(i64, usize)>,
    links: Vec<u64>,
    done: &'s mut Resampled,
}

impl Resampling<'_> {
    /// Adds a new point of an object.
    fn add(&mut self, id: i64, from: &ObjectRows, place: OnSegment) -> Result<(), WriteError> {
        self.out.add(from, place)?;
        match self.owners.last_mut() {
            Some((last, count)) if *last == id => *count += 1,
            _ => self.owners.push((id, 1)),
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        if self.out.len() == 0 {
            return Ok(());
        }
        let owners = std::mem::take(&mut self.owners);
        let batch = self.out.batch(self.spec)?.with_object_runs(owners);
        let links = std::mem::take(&mut self.links);
        self.sink.batch(&batch.with_links(links))?;
        self.out.clear();
        Ok(())
    }

    /// Measures the arc length up to each row of a line.
    fn way(
        &self,
        id: i64,
        rows: &ObjectRows,
        along: impl Iterator<Item = usize>,
    ) -> Result<ArcLength, WriteError> {
        let (mut way, mut before) = (ArcLength::default(), None);
        for row in along {
            let position = rows.position(row)?;
            way.add(
                row,
                before.map_or(0.0, |before| self.metric.distance(before, position)),
            );
            before = Some(position);
        }
        if !way.length().is_finite() {
            let found = format!("a line of the length {}", way.length());
            return Err(WriteError::data(
                format!("object {id}"),
                found,
                "positions that are finite numbers",
            ));
        }
        Ok(way)
    }

    /// The positions of the new points on a line, and their number.
    fn places<'w>(
        &self,
        id: i64,
        way: &'w ArcLength,
        rows: &ObjectRows,
    ) -> Result<(u64, Box<dyn Iterator<Item = OnSegment> + 'w>), WriteError> {
        if let NewPoints::Tolerance(tolerance) = self.points {
            let line = way.rows().iter().map(|row| rows.position(*row));
            let line = line.collect::<Result<Vec<_>, _>>()?;
            let mut marks = vec![false; line.len()];
            self.metric
                .simplify(&line, tolerance * tolerance, &mut marks);
            let kept = way.rows().iter().zip(marks).filter(|(_, kept)| *kept);
            let places: Vec<OnSegment> = kept.map(|(row, _)| OnSegment::at(*row)).collect();
            return Ok((wide(places.len()), Box::new(places.into_iter())));
        }
        let count = way.count(self.points).ok_or_else(|| {
            let found = format!("more than 2^31 points on a line of {}", way.length());
            WriteError::input(
                format!("object {id}"),
                found,
                "a longer step or fewer points",
            )
        })?;
        Ok((count, Box::new(way.places(self.points, count))))
    }

    /// Resamples the collected line, which is complete.
    fn end_line(&mut self) -> Result<(), WriteError> {
        let Some(id) = self.id.take() else {
            return Ok(());
        };
        let line = std::mem::replace(&mut self.line, ObjectRows::of(self.spec));
        if line.len() < 2 {
            self.done.kept += 1;
            for row in 0..line.len() {
                self.add(id, &line, OnSegment::at(row))?;
            }
        } else {
            let way = self.way(id, &line, 0..line.len())?;
            let (_, places) = self.places(id, &way, &line)?;
            self.done.length_before += way.length();
            let mut before = Vec::new();
            for place in places {
                self.add(id, &line, place)?;
                let position = self.out.position(self.out.len() - 1)?;
                if !before.is_empty() {
                    self.done.length += self.metric.distance(&before, position);
                }
                before.clear();
                before.extend_from_slice(position);
                if self.out.len() >= PIECE {
                    self.flush()?;
                }
            }
        }
        self.line = line;
        self.line.clear();
        match self.out.len() >= PIECE {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Collects rows of lines, one object after another.
    fn lines(&mut self, rows: &ObjectRows, runs: &[(i64, usize)]) -> Result<(), WriteError> {
        let mut start = 0;
        for (id, count) in runs {
            if self.id != Some(*id) {
                self.end_line()?;
                self.id = Some(*id);
            }
            self.line.extend(rows, start..start + count)?;
            start += count;
        }
        Ok(())
    }

    /// Resamples whole skeletons; their links are pairs of child and parent.
    fn skeletons(
        &mut self,
        rows: &ObjectRows,
        runs: &[(i64, usize)],
        links: &[u64],
    ) -> Result<(), WriteError> {
        let forest = Forest::of(rows.len(), runs, links)?;
        let mut start = 0;
        for (id, count) in runs {
            let (mut seen, begin) = (0, self.out.len());
            let roots = (start..start + count).filter(|row| forest.is_root(*row));
            for root in roots {
                seen += self.tree(*id, rows, &forest, (root, begin))?;
            }
            if seen != *count {
                let what = format!("object {id}");
                let found = "links that form a ring";
                return Err(WriteError::data(what, found, "trees"));
            }
            self.done.kept += u64::from(*count == 1);
            start += count;
            if self.out.len() >= PIECE {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Resamples the branches of a tree, parents first; returns the number of its rows. `begin` is the first new point of its skeleton.
    fn tree(
        &mut self,
        id: i64,
        rows: &ObjectRows,
        forest: &Forest,
        (root, begin): (usize, usize),
    ) -> Result<usize, WriteError> {
        let mut seen = 1;
        let first = self.out.len();
        self.add(id, rows, OnSegment::at(root))?;
        // Stack of branches: the start row, its new point, and the next row.
        let mut open: Vec<(usize, usize, usize)> = Vec::new();
        open.extend(forest.children(root).map(|child| (root, first, child)));
        open.reverse();
        while let Some((from, mut before, next)) = open.pop() {
            let mut along = vec![from, next];
            let mut end = next;
            while let Some(only) = forest.only_child(end) {
                along.push(only);
                end = only;
            }
            seen += along.len() - 1;
            let way = self.way(id, rows, along.into_iter())?;
            let (count, places) = self.places(id, &way, rows)?;
            self.done.length_before += way.length();
            let points = wide(self.out.len().saturating_sub(begin)).saturating_add(count);
            if points > wide(self.most) {
                return Err(WriteError::limit(
                    "points of a skeleton in memory (a longer step makes fewer, a larger memory budget allows more)",
                    points,
                    wide(self.most),
                ));
            }
            for place in places.skip(1) {
                let row = self.out.len();
                self.add(id, rows, place)?;
                self.links.extend([wide(row), wide(before)]);
                let ends = (self.out.position(row)?, self.out.position(before)?);
                self.done.length += self.metric.distance(ends.0, ends.1);
                before = row;
            }
            let at = open.len();
            open.extend(forest.children(end).map(|child| (end, before, child)));
            open.get_mut(at..)
                .or_bug("branches that were just added")?
                .reverse();
        }
        Ok(seen)
    }
}

/// The parent and the children of each row.
struct Forest {
    parents: Vec<Option<usize>>,
    first: Vec<Option<usize>>,
    after: Vec<Option<usize>>,
}

impl Forest {
    /// Builds the forest from pairs of child and parent. Fails if a link joins two objects, or if a row has two parents.
    fn of(count: usize, runs: &[(i64, usize)], links: &[u64]) -> Result<Self, WriteError> {
        let mut owners = Vec::with_capacity(count);
        for (id, rows) in runs {
            owners.extend(std::iter::repeat_n(*id, *rows));
        }
        let mut parents: Vec<Option<usize>> = vec![None; count];
        for (child, parent) in links.iter().zip(links.iter().skip(1)).step_by(2) {
            let ends = usize::try_from(*child)
                .ok()
                .zip(usize::try_from(*parent).ok());
            let (child, parent) = ends.or_bug("a link beyond the memory")?;
            let ids = owners.get(child).zip(owners.get(parent));
            let (own, other) = ids.or_bug("a link of rows that are not there")?;
            let wrong = |found: &str| {
                let what = format!("object {own}");
                Err(WriteError::data(what, found, "trees"))
            };
            if own != other {
                return wrong("a link to another object");
            }
            let place = parents.get_mut(child).or_bug("a link without a child")?;
            if place.replace(parent).is_some() {
                return wrong("a vertex with two parents");
            }
        }
        let (mut first, mut after) = (vec![None; count], vec![None; count]);
        for (child, parent) in parents.iter().enumerate().rev() {
            let Some(parent) = parent else { continue };
            let head: &mut Option<usize> = first.get_mut(*parent).or_bug("no such parent")?;
            let next = after.get_mut(child).or_bug("no such child")?;
            *next = head.replace(child);
        }
        Ok(Self {
            parents,
            first,
            after,
        })
    }

    fn is_root(&self, row: usize) -> bool {
        self.parents.get(row) == Some(&None)
    }

    fn children(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        let first = self.first.get(row).copied().flatten();
        std::iter::successors(first, |child| self.after.get(*child).copied().flatten())
    }

    /// The child of a row that has exactly one child.
    fn only_child(&self, row: usize) -> Option<usize> {
        let mut children = self.children(row);
        children.next().filter(|_| children.next().is_none())
    }
}

/// Runs of rows of one object.
fn runs(owners: &Owners) -> Result<Vec<(i64, usize)>, WriteError> {
    Ok(match owners {
        Owners::Runs(runs) => runs.to_vec(),
        Owners::Each(ids) => {
            let runs = ids.chunk_by(|a, b| a == b);
            let runs = runs.filter_map(|run| Some((*run.first()?, run.len())));
            runs.collect()
        }
        Owners::None => return Err(WriteError::bug("rows of objects without ids")),
    })
}

impl Sink for Resampling<'_> {
    fn batch(&mut self, batch: &Batch) -> Result<(), WriteError> {
        let rows = ObjectRows::of_batch(self.spec, batch)?;
        let runs = runs(&batch.objects)?;
        let owned: usize = runs.iter().map(|(_, count)| count).sum();
        internal!(owned == rows.len(), "{} rows of {owned} owners", rows.len());
        match self.spec.kind {
            Kind::Skeleton => self.skeletons(&rows, &runs, &batch.links),
            _ => self.lines(&rows, &runs),
        }
    }

    fn objects(&mut self, table: &ObjectTable) -> Result<(), WriteError> {
        self.sink.objects(table)
    }

    fn groups(&mut self, groups: &Groups) -> Result<(), WriteError> {
        self.sink.groups(groups)
    }
}
