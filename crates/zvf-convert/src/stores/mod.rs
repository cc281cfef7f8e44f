//! Makes stores from stores: selections ([`split`]), unions ([`merge`]), lines with other points ([`resample`]).
//!
//! Each runs a query of the old store and pushes the answer to a writer. So sources of any version can be read, the result has level 0 in the
//! newest version, and memory is bounded by the budgets of the query and the writer, and by the tables of objects.

pub(crate) mod arc_length;
mod meanings;
pub(crate) mod merge;
mod names;
pub(crate) mod resample;
pub(crate) mod split;
pub(crate) mod types;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use futures::future::BoxFuture;
use zvf_encode::arrow::{attribute_column, column_type, values_with_gaps};
use zvf_encode::batches::Numbering;
use zvf_encode::error::{OrBug, internal};
use zvf_meta::{FILL, LinksConvention, Refinement};
use zvf_query::{Outputs, Query, Select, Table, list_objects, query};
use zvf_store::{Level, Need, Store};
use zvf_write::{
    AttributeSpec, AttributeType, Batch, Kind, NumberType, ObjectTable, Outside, StoreSpec,
    StoreWriter, Values, WriteError, WriteOptions,
};

use crate::answered::{count_owners, groups_of};
use crate::export::schemas::ExportSchemas;
use crate::output::text_of_number;
use crate::{ConvertError, Sink};

/// The description of level 0 of a store, from which a new store is made.
#[derive(Debug)]
pub(crate) struct StoreDescription {
    /// The specification of a store with its contents.
    pub(crate) spec: StoreSpec,
    /// Notes about data that is not copied.
    pub(crate) notes: Vec<String>,
    /// The objects with their numbers of vertices, in the order of the index; empty without objects.
    pub(crate) objects: Vec<(i64, u64)>,
    /// The rows of the object table for objects without vertices.
    bare: Vec<RecordBatch>,
    /// The columns of the vertices.
    pub(crate) vertices: SchemaRef,
    /// The number of vertices in the document of the level.
    stated: u64,
    /// Object attributes of booleans that some objects lack: they become float64.
    partial: BTreeSet<String>,
}

impl StoreDescription {
    /// The object attributes in the types of this store, also booleans that some objects lack.
    pub(crate) fn stored_object_attributes(&self) -> Vec<AttributeSpec> {
        let mut all = self.spec.object_attributes.clone();
        for one in &mut all {
            if self.has_gaps(&one.name) {
                one.values = AttributeType::Number(NumberType::Bool);
            }
        }
        all
    }

    /// Whether some objects lack an attribute of booleans.
    pub(crate) fn has_gaps(&self, name: &str) -> bool {
        self.partial.contains(name)
    }
}

/// Reads the description of level 0 of a store.
///
/// # Errors
/// Misuse: no index of objects although the kind needs it; a coordinate offset; a line with vertices in several levels. The errors of the store.
pub(crate) async fn describe(store: &Store) -> Result<StoreDescription, ConvertError> {
    let level = store.level(0, &Need::all()).await?;
    level.check_complete()?;
    let (kind, root) = (store.kind(), store.root());
    let has_objects = level.object_index().is_some();
    let refused =
        |found: String, expected: &str| Err(ConvertError::usage(store.url(), found, expected));
    if kind != Kind::PointCloud && !has_objects {
        return refused(
            format!("a {kind} without an index of objects"),
            "an index of objects",
        );
    }
    let offset = root.zarr_vectors.coordinate_offset.iter().flatten();
    if offset.into_iter().any(|part| *part != 0.0) {
        return refused(
            "a coordinate_offset".to_owned(),
            "none: positions are copied as they are stored",
        );
    }
    let mut spec =
        StoreSpec::new(kind, level.chunk_shape().to_vec()).with_axes(root.axes().to_vec());
    spec.crs.clone_from(&root.zarr_vectors.crs);
    let (mut objects, mut partial) = (Vec::new(), BTreeSet::new());
    let mut bare = Vec::new();
    // Older documents do not state the number of values of a row; the query determines it from cells.
    let columns = Query {
        owners: has_objects,
        ..everything(&spec, false, None)
    };
    let schemas = ExportSchemas::of(&query(store, columns).await?);
    spec = spec.with_vertex_records(&schemas.vertices)?;
    spec.objects = has_objects;
    if has_objects {
        let mut list = list_objects(store, 0, false).await?;
        let schema = list.schema(Table::Objects).cloned();
        let schema = schema.or_bug("a list of objects without columns")?;
        spec = spec.with_object_records(&schema)?;
        while let Some((_, batch)) = list.next().await? {
            let (ids, counts) = (ids_of(&batch)?, counts_of(&batch)?);
            objects.extend(ids.iter().copied().zip(counts.iter().copied()));
            if counts.contains(&0) {
                bare.push(rows_where(&batch, |row| counts.get(row) == Some(&0))?);
            }
            let is_bool =
                |one: &&AttributeSpec| one.values == AttributeType::Number(NumberType::Bool);
            for one in spec.object_attributes.iter().filter(is_bool) {
                let column = attribute_column(&batch, &one.name).filter(|one| is_written(one));
                if column.is_some_and(|column| column.null_count() > 0) {
                    partial.insert(one.name.clone());
                }
            }
        }
        for one in &mut spec.object_attributes {
            if partial.contains(&one.name) {
                one.values = AttributeType::Number(NumberType::F64);
            }
        }
    } else if kind == Kind::PointCloud {
        let bins = level.bin_shape().map(<[f64]>::to_vec);
        spec.bin_shape = bins.filter(|bins| bins.as_slice() != level.chunk_shape());
    }
    if level.doc().vertex_count == 0 && objects.iter().all(|(_, count)| *count == 0) {
        // A new store without vertices states its bounds, as this one does.
        let (low, high) = root.zarr_vectors.bounds.clone();
        spec = spec.with_bounds(low, high, Outside::Grow);
    }
    let explicit = root.links_convention().ok() == Some(LinksConvention::Explicit);
    if kind.is_chain() && explicit {
        return Err(ConvertError::usage(
            format!("{}: links", store.url()),
            "explicit links of lines",
            "links that follow from the order of rows",
        ));
    }
    if spec.takes_links() {
        if let Some(links) = &schemas.links {
            spec = spec.with_link_records(links)?;
        }
        spec.links.explicit = kind != Kind::Skeleton || explicit;
        if let Some(family) = level.links(0) {
            spec.links.directed = family.directed();
            spec.links.store = family.store();
        }
    }
    let mut notes: Vec<String> = partial
        .iter()
        .map(|name| {
            format!("attribute {name} of objects becomes float64: some objects have no value")
        })
        .collect();
    let family = level.links(0);
    if kind.is_chain() && family.is_some_and(|links| !links.attributes().is_empty()) {
        notes.push("left out: attributes of links".to_owned());
    }
    let (stated, levels) = complete_level(store, 0).await?;
    beside(store, (&level, levels), &mut spec, &mut notes).await?;
    notes.extend(store.names_unknown());
    let held: u64 = objects.iter().map(|(_, size)| size).sum();
    if let Some(shared @ 1..) = held.checked_sub(stated) {
        notes.push(format!(
            "vertices that several objects share: each object gets its own, {shared} more in all"
        ));
    }
    Ok(StoreDescription {
        spec,
        notes,
        objects,
        bare,
        vertices: schemas.vertices,
        stated,
        partial,
    })
}

/// The number of vertices in a level and the coarser levels that complete it, as their documents state it, and the number of these levels.
///
/// # Errors
/// Misuse: a line with vertices in several of these levels. A line is one list of vertices, but vertices of different
/// levels are not linked. The errors of the store.
pub(crate) async fn complete_level(
    store: &Store,
    number: u32,
) -> Result<(u64, usize), ConvertError> {
    let need = Need {
        objects: true,
        ..Need::nothing()
    };
    let (mut vertices, mut levels, mut known) = (0_u64, 0, HashSet::new());
    for number in store.levels().iter().filter(|level| **level >= number) {
        let level = store.level(*number, &need).await?;
        vertices = vertices.saturating_add(level.doc().vertex_count);
        levels += 1;
        let last = level.doc().refinement != Refinement::Add;
        if last && levels == 1 {
            break;
        }
        if let Some(index) = level.object_index().filter(|_| store.kind().is_chain()) {
            let ids = index.ids().await?;
            if let Some((_, id)) = ids.objects().find(|(_, id)| !known.insert(*id)) {
                return Err(ConvertError::usage(
                    store.url(),
                    format!("vertices of line {id} in several levels that complete each other"),
                    "lines in one level each (`zvf query STORE -o DIR` writes all vertices and links)",
                ));
            }
        }
        if last {
            break;
        }
    }
    Ok((vertices, levels))
}

/// Copies headers and user metadata into the specification, and adds notes about data that is left out.
async fn beside(
    store: &Store,
    (level, levels): (&Level, usize),
    spec: &mut StoreSpec,
    notes: &mut Vec<String>,
) -> Result<(), ConvertError> {
    let side = store.side_groups().await?;
    let formats: Vec<&str> = side.headers.iter().map(|one| one.format.as_str()).collect();
    for (format, members) in store.headers(&formats).await? {
        spec.headers.insert(format, members);
    }
    let own = store.root().user_metadata.as_ref();
    for (namespace, members) in own.and_then(|own| own.as_object()).into_iter().flatten() {
        if let Some(members) = members.as_object() {
            spec.user_metadata
                .insert(namespace.clone(), members.clone());
        }
    }
    let specs = store.root().zarr_vectors.attribute_specs.as_ref();
    for (scope, attributes) in specs.into_iter().flatten() {
        let flag = match scope.as_str() {
            "vertex" => String::new(),
            other => format!(" --{other}"),
        };
        let known = match scope.as_str() {
            "object" => &spec.object_attributes,
            "link" => &spec.links.attributes,
            _ => &spec.vertex_attributes,
        };
        for (name, members) in attributes.as_object().into_iter().flatten() {
            let one = known.iter().find(|one| one.name == *name);
            let unit = one.filter(|one| one.has_moments());
            let unit = unit.and_then(|one| one.unit.as_deref());
            let fill = members.get(FILL).map(|fill| {
                let text = fill
                    .as_str()
                    .map_or_else(|| fill.to_string(), str::to_owned);
                let moment = unit.and_then(|unit| text_of_number(&text, unit));
                moment.unwrap_or(text)
            });
            notes.extend(fill.map(|fill| {
                format!(
                    "left out: {fill:?} as the value of attribute {name} for new rows without one (`zvf edit NEW set-attribute {name}{flag} --fill` records it)"
                )
            }));
        }
    }
    let mut left = |what: &str| notes.push(format!("left out: {what}"));
    if store.levels().len() > levels {
        left("coarse levels (`zvf pyramid` makes them)");
    }
    if side.parametric.is_some() {
        left("parametric objects");
    }
    if !side.composite.is_empty() {
        left("further kinds of geometry");
    }
    if !side.unknown.is_empty() {
        left("folders that no version of the format defines");
    }
    if !side.listed {
        left("headers of source files, since the store cannot be listed");
    }
    let fragments = level.fragment_attributes().iter();
    if fragments.filter(|one| one.name != "object_id").count() > 0 {
        left("attributes of fragments");
    }
    if level.doc().chunk_attribute_name.is_some() {
        left("the division of chunks by an attribute");
    }
    Ok(())
}

/// The query for all of level 0, by object if there are objects.
fn everything(spec: &StoreSpec, has_objects: bool, objects: Option<Vec<i64>>) -> Query {
    Query {
        objects: objects.filter(|_| has_objects),
        select: match has_objects {
            true => Select::Objects,
            false => Select::Vertices,
        },
        owners: has_objects,
        outputs: Outputs {
            vertices: true,
            links: spec.takes_links(),
            objects: has_objects,
        },
        ..Query::default()
    }
}

impl StoreDescription {
    /// The query for a selection: `base` with the tables, columns and selection mode of this store; all objects, if none are named.
    pub(crate) fn query(&self, base: &Query) -> Query {
        let has_objects = self.spec.has_objects();
        let all = || self.objects.iter().map(|(id, _)| *id).collect();
        let objects = base.objects.clone().unwrap_or_else(all);
        let all = everything(&self.spec, has_objects, Some(objects));
        Query {
            level: all.level,
            objects: all.objects,
            limit: all.limit,
            select: all.select,
            attributes: all.attributes,
            columns: all.columns,
            owners: all.owners,
            own_level_only: all.own_level_only,
            outputs: all.outputs,
            batch_rows: all.batch_rows,
            ..base.clone()
        }
    }
}

/// Whether vertices of this kind may belong to no object in a store with objects.
pub(crate) fn may_lack_objects(kind: Kind) -> bool {
    matches!(kind, Kind::PointCloud | Kind::Graph | Kind::Mesh)
}

impl StoreDescription {
    /// Checks that every vertex belongs to an object, if there are objects: by counts, else by a pass over the owners of all rows.
    ///
    /// # Errors
    /// Misuse: vertices without an object. The errors of the query.
    pub(crate) async fn check_owned(&self, store: &Store) -> Result<(), ConvertError> {
        let held: u64 = self.objects.iter().map(|(_, size)| size).sum();
        // A smaller count is out of date, and shared vertices hide others without an object.
        let is_sure = !may_lack_objects(self.spec.kind) && self.stated == held && held > 0;
        if !self.spec.has_objects() || is_sure {
            return Ok(());
        }
        let (_, orphans) = count_owners(store, &Query::default()).await?;
        if orphans == 0 {
            return Ok(());
        }
        let found = format!("{orphans} vertices that belong to no object");
        let expected =
            "only vertices of objects: `zvf split STORE DIR --by count 1` leaves the others out";
        Err(ConvertError::usage(store.url(), found, expected))
    }
}

/// Most vertices of skeletons in memory, except for larger trees: a tree is pushed as a whole, with its edges.
const WINDOW: u64 = 1 << 18;

/// Counts of the pushed data, and warnings.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    pub(crate) vertices: u64,
    pub(crate) ids: BTreeSet<i64>,
    pub(crate) warnings: BTreeSet<String>,
}

/// Pushes the answer to a query of [`StoreDescription::query`]. Ends of links are offset by `first`, the number of vertices that the sink has.
pub(crate) async fn pass(
    store: &Store,
    asked: Query,
    described: &StoreDescription,
    first: u64,
    sink: &mut (dyn Sink + Send),
) -> Result<Passed, ConvertError> {
    let mut passed = Passed::default();
    let wanted = bare_of(&asked);
    if described.spec.kind != Kind::Skeleton {
        let mut answer = query(store, asked).await?;
        let mut lines = WholeLines(None);
        while let Some((table, mut batch)) = answer.next().await? {
            if described.spec.kind == Kind::Line && table == Table::Vertices {
                batch = lines.whole(batch)?;
                if batch.num_rows() == 0 {
                    continue;
                }
            }
            described.push(table, &batch, first, &mut passed, sink)?;
        }
        if let Some(half) = lines.0 {
            described.push(Table::Vertices, &half, first, &mut passed, sink)?;
        }
        passed
            .warnings
            .extend(answer.summary().warnings.iter().cloned());
        described.push_bare(&wanted, &mut passed, sink)?;
        return Ok(passed);
    }
    let sizes: BTreeMap<i64, u64> = described.objects.iter().copied().collect();
    let ids = asked.objects.clone().or_bug("skeletons without objects")?;
    let mut left = ids.as_slice();
    while !left.is_empty() {
        let mut held = 0u64;
        let fits = left.iter().take_while(|id| {
            let before = held;
            held = held.saturating_add(sizes.get(*id).copied().unwrap_or(0));
            before == 0 || held <= WINDOW
        });
        let (now, after) = left.split_at(fits.count().max(1));
        left = after;
        let window = Query {
            objects: Some(now.to_vec()),
            ..asked.clone()
        };
        let answer = query(store, window).await?.collect().await?;
        passed
            .warnings
            .extend(answer.summary.warnings.iter().cloned());
        let objects = answer.table(Table::Objects)?;
        if let Some(vertices) = answer
            .table(Table::Vertices)?
            .filter(|one| one.num_rows() > 0)
        {
            let links = answer.table(Table::Links)?;
            let mut batch = Batch::from_records(&vertices)?;
            if let Some(links) = &links {
                batch = batch.with_link_records(links)?;
            }
            batch.numbering = Numbering::Batch;
            described.complete(&mut batch);
            sink.batch(&batch)?;
            passed.vertices += vertices.num_rows() as u64;
        }
        if let Some(objects) = objects {
            described.push(Table::Objects, &objects, first, &mut passed, sink)?;
        }
    }
    described.push_bare(&wanted, &mut passed, sink)?;
    Ok(passed)
}

/// Makes batches of whole lines: holds the first vertex of a line until the next batch, if its second vertex is there.
struct WholeLines(Option<RecordBatch>);

impl WholeLines {
    fn whole(&mut self, batch: RecordBatch) -> Result<RecordBatch, ConvertError> {
        let batch = match self.0.take() {
            None => batch,
            Some(half) => {
                let joined = concat_batches(&batch.schema(), [&half, &batch]);
                joined.or_bug("batches of one answer with different columns")?
            }
        };
        let rows = batch.num_rows();
        if rows.is_multiple_of(2) {
            return Ok(batch);
        }
        self.0 = Some(batch.slice(rows - 1, 1));
        Ok(batch.slice(0, rows - 1))
    }
}

/// The objects that are part of an answer even without vertices: none if the query selects by vertices.
fn bare_of(asked: &Query) -> BTreeSet<i64> {
    let ids = asked.objects.iter().flatten().copied();
    match asked.has_conditions() || asked.groups.is_some() {
        true => BTreeSet::new(),
        false => ids.collect(),
    }
}

/// The rows of a table for which `wanted` is true.
fn rows_where(
    table: &RecordBatch,
    wanted: impl Fn(usize) -> bool,
) -> Result<RecordBatch, ConvertError> {
    let mask: BooleanArray = (0..table.num_rows()).map(|row| Some(wanted(row))).collect();
    Ok(filter_record_batch(table, &mask).or_bug("a mask of another length")?)
}

impl StoreDescription {
    /// Pushes the wanted objects that have no vertices, and were not pushed.
    fn push_bare(
        &self,
        wanted: &BTreeSet<i64>,
        passed: &mut Passed,
        sink: &mut (dyn Sink + Send),
    ) -> Result<(), ConvertError> {
        for table in &self.bare {
            let ids = ids_of(table)?;
            let is_new = |row: usize| {
                let id = ids.get(row);
                id.is_some_and(|id| wanted.contains(id) && !passed.ids.contains(id))
            };
            let new = rows_where(table, is_new)?;
            if new.num_rows() > 0 {
                self.push(Table::Objects, &new, 0, passed, sink)?;
            }
        }
        Ok(())
    }

    /// Pushes one batch of an answer.
    fn push(
        &self,
        table: Table,
        records: &RecordBatch,
        first: u64,
        passed: &mut Passed,
        sink: &mut (dyn Sink + Send),
    ) -> Result<(), ConvertError> {
        match table {
            Table::Vertices => {
                let mut batch = Batch::from_records(records)?;
                self.complete(&mut batch);
                sink.batch(&batch)?;
                passed.vertices += records.num_rows() as u64;
            }
            Table::Links => {
                let mut batch = Batch::new(nothing(AttributeType::Number(self.spec.positions)));
                batch = batch.with_link_records(records)?;
                batch.links = batch.links.iter().map(|end| end + first).collect();
                batch.numbering = Numbering::All;
                if self.spec.has_objects() {
                    batch = batch.with_object_ids(Vec::new());
                }
                self.complete(&mut batch);
                sink.batch(&batch)?;
            }
            Table::Objects => {
                let ids = ids_of(records)?;
                passed.ids.extend(ids.iter().copied());
                let mut table = ObjectTable::new(ids.to_vec());
                for one in &self.spec.object_attributes {
                    let column = attribute_column(records, &one.name).filter(|one| is_written(one));
                    let column = column.or_bug("an attribute that is not in its table")?;
                    let (mut values, absent) = values_with_gaps(&one.name, column)?;
                    if self.has_gaps(&one.name) {
                        let numbers = values.exactly(NumberType::F64);
                        values = numbers.or_bug("booleans that are no numbers")?;
                    }
                    table = table.with_gaps(&one.name, values, absent);
                }
                sink.objects(&table)?;
            }
        }
        Ok(())
    }

    /// Adds empty columns for attributes that the batch lacks because it has no rows of that table.
    fn complete(&self, batch: &mut Batch) {
        let add = |have: &mut Vec<(String, Values)>, wanted: &[AttributeSpec]| {
            for one in wanted {
                if !have.iter().any(|(name, _)| *name == one.name) {
                    have.push((one.name.clone(), nothing(one.values)));
                }
            }
        };
        add(&mut batch.attributes, &self.spec.vertex_attributes);
        add(&mut batch.link_attributes, &self.spec.links.attributes);
    }
}

/// An empty column of a type.
fn nothing(of: AttributeType) -> Values {
    match of {
        AttributeType::Number(number) => Values::of_bytes(number, &[]),
        _ => Values::texts::<&str>([]),
    }
}

/// Whether the type of a column is one that stores have.
fn is_written(column: &ArrayRef) -> bool {
    column_type(column.data_type()).is_some()
}

fn ids_of(batch: &RecordBatch) -> Result<&[i64], WriteError> {
    let column = batch.column_by_name("object_id");
    let column = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
    Ok(column.or_bug("a table of objects without ids")?.values())
}

fn counts_of(batch: &RecordBatch) -> Result<&[u64], WriteError> {
    let column = batch.column_by_name("vertices");
    let column = column.and_then(|column| column.as_primitive_opt::<UInt64Type>());
    Ok(column.or_bug("a list of objects without counts")?.values())
}

/// The result of [`write_selection`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SelectionWritten {
    /// The number of its vertices; if 0, no store was written.
    pub vertices: u64,
    /// The number of its objects.
    pub objects: u64,
    /// Notes about data that is left out, and defects of the store.
    pub notes: Vec<String>,
}

/// Writes a selection of level 0 of a store as a new store: whole objects if the store has objects, else vertices, with their attributes, links inside
/// the selection, groups, units, headers.
///
/// # Cost
/// One run of the query, and a writer. Memory: their budgets, and the tables of objects.
///
/// # Errors
/// Misuse: no index of objects although the kind needs it; a coordinate offset; a line with vertices in several levels. The errors of the query and
/// the writer. After an error there is no store.
pub fn write_selection<'a>(
    store: &'a Store,
    selection: &'a Query,
    address: &'a str,
    options: WriteOptions,
) -> BoxFuture<'a, Result<SelectionWritten, ConvertError>> {
    Box::pin(async move {
        let described = describe(store).await?;
        let mut writer = StoreWriter::create(address, described.spec.clone(), options).await?;
        let asked = described.query(selection);
        let passed = pass(store, asked, &described, 0, &mut writer).await?;
        internal!(
            passed.vertices == writer.vertices(),
            "{} vertices of {}",
            writer.vertices(),
            passed.vertices
        );
        let mut notes = described.notes.clone();
        notes.extend(passed.warnings);
        if passed.vertices == 0 {
            return Ok(SelectionWritten {
                notes,
                objects: passed.ids.len() as u64,
                ..SelectionWritten::default()
            });
        }
        if described.spec.has_objects()
            && let Some((groups, left)) = groups_of(store, 0, Some(&passed.ids)).await?
        {
            notes.extend(left);
            // Without groups, their attributes are dropped.
            if !groups.members().is_empty() {
                writer.set_groups(&groups)?;
            }
        }
        match writer.finish().await {
            // The store is complete.
            Err(error) if error.is_committed() => notes.push(error.to_string()),
            done => {
                done?;
            }
        }
        Ok(SelectionWritten {
            vertices: passed.vertices,
            objects: passed.ids.len() as u64,
            notes,
        })
    })
}

/// A quoted text; quotes in it are doubled.
pub(crate) fn quoted(text: &str, quote: char) -> Cow<'static, str> {
    let doubled = text.replace(quote, &format!("{quote}{quote}"));
    Cow::Owned(format!("{quote}{doubled}{quote}"))
}
