//! Checks a batch against the specification and converts it to stored form. No row is pushed before the whole batch is checked.

use std::borrow::Cow;

use arrow_array::LargeStringArray;
use zvf_meta::Kind;

use crate::batches::batch::{Batch, Numbering, Owners};
use crate::batches::block;
use crate::batches::block::{SortedBlock, Unplaced};
use crate::batches::layout::row_size;
use crate::batches::walk::{NoTree, walk};
use crate::error::{OrBug, signed64};
use crate::links::CUT;
use crate::records::record::row_of;
use crate::spec::store::{AttributeSpec, AttributeType, StoreSpec};
use crate::values::column::Values;
use crate::{WriteError, parallel};
use zvf_format::int::wide;

/// The lowest and the highest corner of a box, one number per axis, in world units.
pub type Corners = (Vec<f64>, Vec<f64>);

/// Endpoints as vertex numbers over all batches, and as pairs of rows of this batch.
type Linked = (Vec<u64>, Vec<(usize, usize)>);

/// A column in stored form.
#[derive(Debug)]
pub(crate) enum PreparedColumn<'b> {
    /// Rows of fixed size.
    Bytes(Cow<'b, [u8]>),
    /// Texts that get codes later.
    Texts(&'b LargeStringArray),
}

/// A batch that fits the specification.
#[derive(Debug)]
pub(crate) struct PreparedBatch<'b> {
    pub(crate) rows: usize,
    pub(crate) positions: Cow<'b, [u8]>,
    /// All rows by chunk, in blocks: consecutive parts of the batch.
    pub(crate) blocks: Vec<SortedBlock>,
    /// Corners of the positions; `None` without rows.
    pub(crate) extent: Option<Corners>,
    pub(crate) objects: Cow<'b, [i64]>,
    /// Vertices in depth-first order: place and root flag. Skeletons only.
    pub(crate) walk: Option<crate::batches::walk::TreeWalk>,
    pub(crate) attributes: Vec<PreparedColumn<'b>>,
    pub(crate) fragment_attributes: Vec<Cow<'b, [u8]>>,
    /// Endpoints as vertex numbers over all batches, in the order of the application.
    pub(crate) links: Vec<u64>,
    pub(crate) link_attributes: Vec<Cow<'b, [u8]>>,
}

/// The state that a batch is checked against.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchContext<'s> {
    pub(crate) spec: &'s StoreSpec,
    /// Corners beyond which a vertex is refused.
    pub(crate) reach: Option<&'s Corners>,
    /// Number of the batch.
    pub(crate) batch: u64,
    /// Vertices before it.
    pub(crate) first: u64,
    /// The first component of the chunk key of each row, if an attribute splits chunks.
    pub(crate) keys: Option<&'s [i64]>,
    /// Most threads for a large batch.
    pub(crate) threads: usize,
}

impl BatchContext<'_> {
    #[cold]
    fn bad(
        &self,
        column: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> WriteError {
        WriteError::Batch {
            batch: self.batch,
            column: column.into(),
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// Checks and converts a batch.
    pub(crate) fn prepare<'b>(&self, batch: &'b Batch) -> Result<PreparedBatch<'b>, WriteError> {
        let spec = self.spec;
        let (positions, rows) = self.positions(batch)?;
        if let Some(keys) = self.keys.filter(|keys| keys.len() != rows) {
            let key = spec.chunk_by.as_ref().or_bug("keys of no attribute")?;
            let column = format!("attribute {}", key.attribute.name);
            let expected = format!("1 per row for {rows} rows");
            return Err(self.bad(column, format!("{} values", keys.len()), expected));
        }
        let (blocks, extent) = self.place(&positions)?;
        let objects = self.owners(&batch.objects, rows)?;
        self.names("attribute", &batch.attributes, spec.batch_attributes())?;
        let attributes = spec.vertex_attributes.iter();
        let attributes =
            attributes.map(|one| self.column("attribute", one, &batch.attributes, rows));
        let attributes = attributes.collect::<Result<_, _>>()?;
        let fragment_attributes = self.numbers(
            "fragment attribute",
            &batch.fragment_attributes,
            &spec.fragment_attributes,
            rows,
        )?;
        let (links, pairs) = self.links(batch, rows)?;
        let count = links.len() / spec.links.width.max(1);
        let link_attributes = self.numbers(
            "link attribute",
            &batch.link_attributes,
            &spec.links.attributes,
            count,
        )?;
        let mut prepared = PreparedBatch {
            rows,
            positions,
            blocks,
            extent,
            objects,
            walk: None,
            attributes,
            fragment_attributes,
            links,
            link_attributes,
        };
        if spec.kind == Kind::Skeleton {
            self.trees(&mut prepared, &pairs)?;
        }
        Ok(prepared)
    }

    /// Positions in stored form, and the number of rows.
    pub(crate) fn positions<'b>(
        &self,
        batch: &'b Batch,
    ) -> Result<(Cow<'b, [u8]>, usize), WriteError> {
        let (wanted, dims) = (self.spec.positions, self.spec.dims());
        let Some(positions) = batch.positions.bytes_as(wanted) else {
            return Err(self.bad(
                "positions",
                batch.positions.type_name(),
                format!("{wanted} (float types are converted to each other)"),
            ));
        };
        let numbers = batch.positions.len();
        if !numbers.is_multiple_of(dims) {
            return Err(self.bad(
                "positions",
                format!("{numbers} numbers"),
                format!("a multiple of {dims}"),
            ));
        }
        let rows = numbers.checked_div(dims).unwrap_or(0);
        if self
            .first
            .checked_add(wide(rows))
            .is_none_or(|end| end >= 1 << 62)
        {
            return Err(WriteError::limit("vertices", self.first, 1 << 62));
        }
        Ok((positions, rows))
    }

    /// Rows by chunk, and the corners of positions.
    fn place(&self, positions: &[u8]) -> Result<(Vec<SortedBlock>, Option<Corners>), WriteError> {
        let spec = self.spec;
        let bytes = spec.positions.size() * spec.dims();
        let parts = positions.chunks(bytes * block::ROWS);
        let work = |(number, part): (usize, &[u8])| {
            let start = number * block::ROWS;
            let keys = match self.keys {
                Some(keys) => Some(keys.get(start..).or_bug("rows without a key")?),
                None => None,
            };
            SortedBlock::new(spec, self.reach, start, part, keys)
        };
        let mut blocks = Vec::with_capacity(parts.len());
        let mut corners: Option<Corners> = None;
        let take = |placed: Result<SortedBlock, Unplaced>| {
            let block = placed.map_err(|unplaced| self.unplaced(&unplaced))?;
            include(&mut corners, (&block.low, &block.high));
            blocks.push(block);
            Ok(())
        };
        parallel::ordered(self.threads, parts.enumerate(), work, take)?;
        Ok((blocks, corners))
    }

    #[cold]
    fn unplaced(&self, unplaced: &Unplaced) -> WriteError {
        let column = format!("positions, row {}, axis {}", unplaced.row, unplaced.axis);
        let expected = match unplaced.beyond {
            Some((from, to)) => format!("{from} to {to}, the bounds given"),
            None => "a finite number whose chunk coordinate fits 64 bits".to_owned(),
        };
        self.bad(column, unplaced.value.to_string(), expected)
    }

    /// The object of each row, as the kind requires.
    pub(crate) fn owners<'b>(
        &self,
        owners: &'b Owners,
        rows: usize,
    ) -> Result<Cow<'b, [i64]>, WriteError> {
        let spec = self.spec;
        if !spec.has_objects() {
            return match owners {
                Owners::None => Ok(Cow::Borrowed(&[])),
                _ => Err(self.bad("objects", "object ids", "none, as the specification states")),
            };
        }
        let ids: Cow<'b, [i64]> = match owners {
            Owners::Each(ids) => Cow::Borrowed(ids),
            Owners::Runs(runs) => {
                let total = runs
                    .iter()
                    .try_fold(0_usize, |sum, (_, count)| sum.checked_add(*count));
                if total != Some(rows) {
                    let total =
                        total.map_or("more than 2^64".to_owned(), |total| total.to_string());
                    let found = format!("runs of {total} vertices in all");
                    return Err(self.bad("objects", found, rows.to_string()));
                }
                Cow::Owned(
                    runs.iter()
                        .flat_map(|&(id, count)| std::iter::repeat_n(id, count))
                        .collect(),
                )
            }
            Owners::None => match spec.kind {
                Kind::Graph | Kind::Skeleton | Kind::Mesh => Cow::Owned(vec![0; rows]),
                Kind::Line => {
                    let first = signed64("lines", self.first / 2)?;
                    Cow::Owned((first..).flat_map(|line| [line, line]).take(rows).collect())
                }
                _ => return Err(self.bad("objects", "none", "an object id for every vertex")),
            },
        };
        if ids.len() != rows {
            return Err(self.bad(
                "objects",
                format!("{} ids", ids.len()),
                format!("{rows}, one per vertex"),
            ));
        }
        if spec.kind == Kind::Line {
            if !rows.is_multiple_of(2) {
                return Err(self.bad("positions", format!("{rows} vertices"), "two for each line"));
            }
            let torn = ids
                .chunks_exact(2)
                .position(|pair| matches!(pair, [a, b] if a != b));
            if let Some(line) = torn {
                let column = format!("objects, line {line}");
                return Err(self.bad(column, "two ids", "the same id for both vertices"));
            }
        }
        Ok(ids)
    }

    pub(crate) fn names<'s>(
        &self,
        what: &str,
        given: &[(String, Values)],
        declared: impl IntoIterator<Item = &'s AttributeSpec, IntoIter: Clone>,
    ) -> Result<(), WriteError> {
        let declared = declared.into_iter();
        for (at, (name, _)) in given.iter().enumerate() {
            if !declared.clone().any(|one| one.name == *name) {
                return Err(self.bad(
                    format!("{what} {name}"),
                    "values",
                    "none: the specification has no such name",
                ));
            }
            if given.iter().skip(at + 1).any(|(other, _)| other == name) {
                return Err(self.bad(format!("{what} {name}"), "two columns", "one"));
            }
        }
        Ok(())
    }

    /// The columns of the declared attributes, which must have numbers.
    fn numbers<'b>(
        &self,
        what: &str,
        given: &'b [(String, Values)],
        declared: &[AttributeSpec],
        rows: usize,
    ) -> Result<Vec<Cow<'b, [u8]>>, WriteError> {
        self.names(what, given, declared)?;
        let mut columns = Vec::with_capacity(declared.len());
        for one in declared {
            match self.column(what, one, given, rows)? {
                PreparedColumn::Bytes(bytes) => columns.push(bytes),
                PreparedColumn::Texts(_) => {
                    return Err(self.bad(format!("{what} {}", one.name), "text", "numbers"));
                }
            }
        }
        Ok(columns)
    }

    /// The values of an attribute, found by its name.
    pub(crate) fn column<'b>(
        &self,
        what: &str,
        spec: &AttributeSpec,
        given: &'b [(String, Values)],
        rows: usize,
    ) -> Result<PreparedColumn<'b>, WriteError> {
        let here = || format!("{what} {}", spec.name);
        let Some((_, values)) = given.iter().find(|(name, _)| *name == spec.name) else {
            return Err(self.bad(here(), "nothing", "a value for every row"));
        };
        if Some(values.len()) != rows.checked_mul(spec.channels) {
            let expected = format!("{} per row for {rows} rows", spec.channels);
            return Err(self.bad(here(), format!("{} values", values.len()), expected));
        }
        spec.check_values(what, values)?;
        let stored = match (spec.values, values) {
            (AttributeType::Number(number), values) => {
                values.bytes_as(number).map(PreparedColumn::Bytes)
            }
            (AttributeType::Category | AttributeType::Text, Values::Text(texts)) => {
                Some(PreparedColumn::Texts(texts))
            }
            _ => None,
        };
        stored.ok_or_else(|| self.bad(here(), values.type_name(), spec.values.name()))
    }

    /// Endpoints as vertex numbers over all batches; for skeletons also as pairs of rows of this batch.
    pub(crate) fn links(&self, batch: &Batch, rows: usize) -> Result<Linked, WriteError> {
        let spec = self.spec;
        let given = batch.links.len();
        if !spec.takes_links() {
            return if given == 0 {
                Ok((Vec::new(), Vec::new()))
            } else {
                Err(self.bad(
                    "links",
                    format!("{given} endpoints"),
                    "none: this kind is linked by the order of its rows",
                ))
            };
        }
        if !given.is_multiple_of(spec.links.width) {
            let expected = format!("a multiple of {}", spec.links.width);
            return Err(self.bad("links", format!("{given} endpoints"), expected));
        }
        let end = self.first + wide(rows);
        let base = match batch.numbering {
            Numbering::Batch => self.first,
            Numbering::All => 0,
        };
        let mut links = Vec::with_capacity(given);
        for (at, &vertex) in batch.links.iter().enumerate() {
            match vertex.checked_add(base).filter(|vertex| *vertex < end) {
                Some(vertex) => links.push(vertex),
                None => {
                    let column = format!("links, link {}", at / spec.links.width);
                    return Err(self.bad(
                        column,
                        format!("vertex {vertex}"),
                        format!("below {}", end - base),
                    ));
                }
            }
        }
        if spec.kind != Kind::Skeleton {
            return Ok((links, Vec::new()));
        }
        let mut pairs = Vec::with_capacity(given / 2);
        for (at, pair) in links.as_chunks::<2>().0.iter().enumerate() {
            let inside = pair.map(|vertex| {
                vertex
                    .checked_sub(self.first)
                    .and_then(|v| usize::try_from(v).ok())
            });
            match inside {
                [Some(child), Some(parent)] => pairs.push((child, parent)),
                _ => {
                    return Err(self.bad(
                        format!("links, link {at}"),
                        "a vertex of another batch",
                        "vertices of this batch",
                    ));
                }
            }
        }
        Ok((links, pairs))
    }

    /// Brings the nodes of skeletons into depth-first order.
    fn trees(
        &self,
        prepared: &mut PreparedBatch<'_>,
        pairs: &[(usize, usize)],
    ) -> Result<(), WriteError> {
        for (at, (child, parent)) in pairs.iter().enumerate() {
            if prepared.objects.get(*child) != prepared.objects.get(*parent) {
                return Err(self.bad(
                    format!("links, link {at}"),
                    "two objects",
                    "vertices of one object",
                ));
            }
        }
        let found = walk(prepared.rows, pairs).map_err(|no_tree| match no_tree {
            NoTree::TwoParents(node) => self.bad(
                "links",
                format!("two parents of vertex {node}"),
                "trees, whose vertices have at most one parent",
            ),
            NoTree::Cycle(node) => self.bad(
                "links",
                format!("a cycle through or above vertex {node}"),
                "trees, which have no cycles",
            ),
        })?;
        for (vertex, pair) in prepared
            .links
            .iter_mut()
            .zip(pairs.iter().flat_map(|&(c, p)| [c, p]))
        {
            let place = found
                .place
                .get(pair)
                .or_bug("a vertex without a place in its tree")?;
            *vertex = self.first + wide(*place);
        }
        let cut = |(child, parent): (usize, usize)| {
            let sizes = self.spec.fragment_attributes.iter().map(row_size);
            let mut columns = prepared.fragment_attributes.iter().zip(sizes);
            columns
                .any(|(column, size)| row_of(column, child, size) != row_of(column, parent, size))
        };
        for (pair, ends) in pairs.iter().zip(prepared.links.as_chunks_mut::<2>().0) {
            if !self.spec.links.explicit && cut(*pair) {
                let [child, _] = ends;
                *child |= CUT;
            }
        }
        prepared.walk = Some(found);
        Ok(())
    }
}

/// Enlarges a box so that it contains another one; without a box, the other one is the result.
pub fn include(corners: &mut Option<Corners>, (low, high): (&[f64], &[f64])) {
    let all = corners.get_or_insert_with(|| (low.to_vec(), high.to_vec()));
    grow((&mut all.0, &mut all.1), (low, high));
}

/// Enlarges a box so that it contains another one.
pub fn grow(corners: (&mut [f64], &mut [f64]), others: (&[f64], &[f64])) {
    let (low, high) = corners;
    low.iter_mut()
        .zip(others.0)
        .for_each(|(all, one)| *all = all.min(*one));
    high.iter_mut()
        .zip(others.1)
        .for_each(|(all, one)| *all = all.max(*one));
}
