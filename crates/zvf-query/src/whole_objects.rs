//! Whole objects with their positions and links in memory, for computations on each object.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, RecordBatch};
use zvf_store::meta::Metric;
use zvf_store::{Names, Store};

use crate::error::OrBug;
use crate::{Column, Outputs, Query, QueryError, Table, numbers};

/// Some objects, with their vertices and links.
#[derive(Debug)]
pub(crate) struct WholeObjects {
    dims: usize,
    metric: Metric,
    /// Row-major.
    positions: Vec<f64>,
    /// The first row and the number of rows of each object.
    pub(crate) rows: Vec<(usize, usize)>,
    /// The number of vertices of a link, and for each object the rows of its links; `None` if the store has no links, or they were not requested.
    /// Links between two objects are left out: the answer has them only for objects that happen to be read together.
    pub(crate) links: Option<(usize, Vec<Vec<usize>>)>,
    /// The vertex table: positions and attributes.
    pub(crate) vertices: RecordBatch,
    /// The warnings of the answer.
    pub(crate) warnings: Vec<String>,
}

impl WholeObjects {
    /// Reads objects of the level of a query, within its memory budget.
    ///
    /// # Errors
    ///
    /// Misuse: ids that no object has. I/O; malformed data.
    pub(crate) async fn read(
        store: &Store,
        query: &Query,
        ids: &[i64],
        links: bool,
        attributes: Names,
    ) -> Result<Self, QueryError> {
        let mut columns = vec![Column::Position];
        columns.extend((attributes != Names::None).then_some(Column::Attributes));
        let asked = Query {
            level: query.level,
            own_level_only: query.own_level_only,
            objects: Some(ids.to_vec()),
            columns,
            attributes,
            outputs: Outputs {
                vertices: true,
                links,
                objects: true,
            },
            memory_budget: query.memory_budget,
            ..Query::default()
        };
        let answer = Box::pin(crate::query(store, asked))
            .await?
            .collect()
            .await?;
        let vertices = answer
            .table(Table::Vertices)?
            .or_bug("an answer without vertices")?;
        let objects = answer
            .table(Table::Objects)?
            .or_bug("objects without a table")?;
        let positions = vertices
            .column_by_name("position")
            .or_bug("vertices without positions")?;
        let starts = whole(objects.column_by_name("start"))?;
        let counts = whole(objects.column_by_name("length"))?;
        (starts.len() == ids.len())
            .then_some(())
            .or_bug("requested objects are missing")?;
        let rows: Vec<(usize, usize)> = starts.into_iter().zip(counts).collect();
        let links = match answer.table(Table::Links)? {
            None => None,
            Some(links) => {
                let ends = links
                    .column_by_name("vertices")
                    .or_bug("links without vertices")?;
                let (items, width) = numbers::elements(ends);
                let width = width.max(1);
                Some((width, by_object(&rows, width, &whole(Some(&items))?)?))
            }
        };
        Ok(Self {
            dims: store.root().dims().max(1),
            metric: Metric::of(store.root().axes()),
            positions: numbers::floats(positions).values,
            rows,
            links,
            vertices,
            warnings: answer.summary.warnings,
        })
    }

    /// The number of axes.
    pub(crate) fn dims(&self) -> usize {
        self.dims
    }

    /// How distances are measured.
    pub(crate) fn metric(&self) -> Metric {
        self.metric
    }

    /// The position of a row.
    pub(crate) fn position(&self, row: usize) -> Option<&[f64]> {
        let start = row.checked_mul(self.dims)?;
        self.positions.get(start..start.checked_add(self.dims)?)
    }

    /// The positions of both ends of a link of two vertices. A missing row is a bug.
    pub(crate) fn ends(&self, a: usize, b: usize) -> Result<(&[f64], &[f64]), QueryError> {
        let ends = self.position(a).zip(self.position(b));
        ends.or_bug("a link of rows that are not returned")
    }
}

/// Assigns each link to the object that has all its vertices; links between two objects are left out.
fn by_object(
    rows: &[(usize, usize)],
    width: usize,
    links: &[usize],
) -> Result<Vec<Vec<usize>>, QueryError> {
    let object_of = |row: &usize| {
        let after = rows.partition_point(|(start, _)| start <= row);
        // Objects without rows have the same start as the next object.
        let mut before = rows.iter().enumerate().take(after).rev();
        let found = before.find(|(_, (_, count))| *count > 0);
        let (object, (start, count)) = found.or_bug("a link of no object")?;
        (row - start < *count)
            .then_some(object)
            .or_bug("a link of rows that are not returned")
    };
    let mut of_objects = vec![Vec::new(); rows.len()];
    for link in links.chunks_exact(width) {
        let objects = link.iter().map(object_of);
        let objects = objects.collect::<Result<Vec<usize>, QueryError>>()?;
        if let [first, rest @ ..] = objects.as_slice()
            && rest.iter().all(|other| other == first)
        {
            let own = of_objects.get_mut(*first);
            own.or_bug("a link of no object")?.extend_from_slice(link);
        }
    }
    Ok(of_objects)
}

/// How lengths are measured in a store: along its axes of space, which must have the same unit.
///
/// # Errors
///
/// Misuse: axes of space with different units; an axis of time or channels that follows one of space (0.9 §5.1).
pub fn length_metric(store: &Store) -> Result<Metric, QueryError> {
    Metric::of_lengths(store.root().axes()).map_err(|differ| {
        let url = store.url();
        QueryError::misuse(format!(
            "{url}: lengths and distances: {differ}: `zvf export {url} t.csv` and `zvf import t.csv COPY --scale X,Y,Z --unit UNIT` convert positions"
        ))
    })
}

/// The values of a column of row numbers or row counts.
fn whole(column: Option<&ArrayRef>) -> Result<Vec<usize>, QueryError> {
    let numbers = column.and_then(|column| column.as_primitive_opt::<UInt64Type>());
    let numbers = numbers.or_bug("rows that are not numbers")?.values().iter();
    let numbers = numbers.map(|number| usize::try_from(*number));
    numbers
        .collect::<Result<_, _>>()
        .ok()
        .or_bug("rows beyond the memory")
}
