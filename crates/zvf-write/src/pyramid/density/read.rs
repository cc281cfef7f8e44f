//! Level 0 as it is, or some objects of it, in memory: vertices by object, links, attributes.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use tokio::runtime::Handle;
use zvf_query::Table;
use zvf_store::Store;

use super::about::{About, Places, column, start};
use super::{Geometry, State, tables};
use crate::int::{narrow, to_index, wide};
use crate::{Values, WriteError};

/// Everything of level 0 that coarse levels are made of.
#[derive(Debug)]
pub(crate) struct Source {
    pub(super) position: ArrayRef,
    pub(super) numbers: Vec<f64>,
    pub(super) attributes: Vec<ArrayRef>,
    pub(super) link_attributes: Vec<ArrayRef>,
    /// Level 0 itself.
    pub(super) state: State,
}

impl Source {
    /// Reads level 0, or some of its objects; notes in `places` where its vertices lie.
    ///
    /// # Cost
    /// All of it, in memory.
    ///
    /// # Errors
    /// Malformed data. I/O.
    pub(super) fn read(
        (store, handle): (&Store, &Handle),
        about: &mut About,
        objects: Range<usize>,
        places: Option<&mut Places>,
    ) -> Result<Self, WriteError> {
        let first = objects.start;
        let answer = start(store, about.ask(objects, places.is_some()), handle)?;
        let answer = handle.block_on(answer.collect())?;
        let none = || WriteError::data("level 0", "no table of vertices", "one");
        let vertices = answer.table(Table::Vertices)?.ok_or_else(none)?;
        about.declare(&vertices)?;
        let position = column(&vertices, "position")?;
        let declared = about.spec.batch_attributes();
        let attributes = declared.map(|one| column(&vertices, &one.name));
        let mut source = Self {
            numbers: tables::to_f64(&position)?,
            position,
            attributes: attributes.collect::<Result<_, _>>()?,
            link_attributes: Vec::new(),
            state: State {
                rows: (0..narrow("vertices", vertices.num_rows())?).collect(),
                ..State::default()
            },
        };
        if about.spec.takes_links() {
            let links = answer.table(Table::Links)?;
            source.links(store, about, links.as_ref())?;
        }
        if about.spec.objects {
            let objects = answer.table(Table::Objects)?.ok_or_else(none)?;
            source.runs(about, first, &objects)?;
        }
        if let Some(places) = places {
            places.push(&vertices, about.spec.dims())?;
        }
        Ok(source)
    }

    fn links(
        &mut self,
        store: &Store,
        about: &mut About,
        links: Option<&RecordBatch>,
    ) -> Result<(), WriteError> {
        about.declare_links(store, links)?;
        let Some(links) = links else { return Ok(()) };
        let (ends, _) = tables::elements(&column(links, "vertices")?);
        for &end in ends.as_primitive::<UInt64Type>().values() {
            let end = narrow("vertices", to_index("vertices", end)?)?;
            self.state.links.push(end);
        }
        self.state.links_of = (0..narrow("links", links.num_rows())?).collect();
        let declared = about.spec.links.attributes.iter();
        let values = declared.map(|one| column(links, &one.name));
        self.link_attributes = values.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// `first` is the number of the first object that was asked for.
    fn runs(
        &mut self,
        about: &About,
        first: usize,
        objects: &RecordBatch,
    ) -> Result<(), WriteError> {
        let lengths = column(objects, "length")?;
        let lengths = lengths.as_primitive::<UInt64Type>();
        let found = column(objects, "object_id")?;
        let found = found.as_primitive::<Int64Type>();
        for (row, (&id, &length)) in (first..).zip(found.values().iter().zip(lengths.values())) {
            if about.ids.get(row) != Some(&id) {
                return Err(repeated(id));
            }
            self.state.runs.push((row, to_index("vertices", length)?));
        }
        Ok(())
    }

    pub(super) fn geometry(&self, about: &About) -> Geometry<'_> {
        let spec = &about.spec;
        Geometry {
            kind: spec.kind,
            dims: spec.dims(),
            positions: &self.numbers,
            width: spec.links.width,
            directed: spec.links.directed,
        }
    }

    /// Bytes of its columns.
    pub(super) fn held(&self) -> u64 {
        let columns = std::iter::once(&self.position).chain(&self.attributes);
        let columns = columns.chain(&self.link_attributes);
        let columns = columns.map(|column| column.get_array_memory_size());
        let links =
            size_of_val(&*self.state.links).saturating_add(size_of_val(&*self.state.links_of));
        let numbers = size_of_val(&*self.numbers).saturating_add(links);
        wide(columns.fold(numbers, usize::saturating_add))
    }

    /// Attributes of the given links of level 0.
    pub(super) fn link_columns(
        &self,
        about: &About,
        links: &[u32],
    ) -> Result<Vec<Values<'static>>, WriteError> {
        let declared = about.spec.links.attributes.iter();
        let pairs = declared.zip(&self.link_attributes);
        pairs
            .map(|(one, column)| tables::rows(&one.name, column, links))
            .collect()
    }
}

/// An id that is there twice, or where it should not be.
pub(super) fn repeated(id: i64) -> WriteError {
    WriteError::data("object index", format!("object {id}"), "each id once")
}
