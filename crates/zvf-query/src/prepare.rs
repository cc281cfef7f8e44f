//! Prepares a query for reading: documents, columns, filter, rules.

use std::collections::HashMap;
use std::sync::Arc;

use futures::FutureExt;
use futures_channel::oneshot;
use zvf_store::format::dtype::DType;
use zvf_store::meta::rules::{self, LevelAt};
use zvf_store::meta::{Kind, Refinement, RootDoc};
use zvf_store::owners::{OWNER_COLUMN, OwnerColumn};
use zvf_store::{ChunkParts, Class, Deltas, Level, Names, Need, Store, VertexAttribute};

use crate::axes::{axis_number, bound_region, narrowed, operand};
use crate::columns::arrow;
use crate::columns::attribute::ColumnSpec;
use crate::columns::point::{GEOMETRY, Points};
use crate::columns::position::PositionSpec;
use crate::error::{Place, existing_attributes, nearest};
use crate::filter::{BoundFilter, BoundJoint, Expr};
use crate::links::Rule;
use crate::links::records::{Family, LinkCellRef};
use crate::plan::candidates::Grid;
use crate::plan::chunks::ChunkTable;
use crate::reader::{Reader, RowTest, What};
use crate::stale::stale_level;
use crate::vertex_table::{Out, TablePlan};
use crate::{Column, Filter, Query, QueryError, Select};
use zvf_store::format::int;

/// A query, resolved with the documents of a level.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) query: Query,
    pub(crate) level: Level,
    /// Level 0 with its groups, if groups of a coarser level are requested.
    pub(crate) base: Option<Level>,
    /// The reader of every chunk table of this query; its own table is empty.
    pub(crate) reader: Reader,
    pub(crate) table: TablePlan,
    pub(crate) rule: Rule,
    pub(crate) family: Option<Arc<Family>>,
    pub(crate) warnings: Vec<String>,
    /// Round of the first requests for data.
    pub(crate) round: u32,
    /// Whether the object table lists chosen objects without rows in the answer: objects that the caller named, or that conditions on objects alone chose.
    pub(crate) empty_objects: bool,
    /// Set if the level is part of a chain.
    pub(crate) part: Option<Part>,
}

/// The role of a level in the answer of a chain of levels.
#[derive(Debug, Default)]
pub(crate) struct Part {
    /// Receives the remaining limit after the previous levels. Only in chunk order, with a limit.
    pub(crate) gate: Option<oneshot::Receiver<u64>>,
    /// The grid of the first level of the chain, whose selected chunks determine the selection here.
    pub(crate) first: Option<Grid>,
}

impl Prepared {
    /// The cells of each chunk to read for a table of vertices, and for the filter if rows are `tested`.
    pub(crate) fn what(&self, table: &TablePlan, fragments: bool, tested: bool) -> What {
        let filter = self.query.filter.as_ref().filter(|_| tested);
        let names = filter.map_or_else(Vec::new, crate::Filter::names_of_rows);
        let columns = self.reader.columns.iter().enumerate();
        let wanted = columns.map(|(index, column)| {
            names.contains(&column.name) || table.has(Out::Attribute(index))
        });
        let shown = table.has_positions() || self.table.has_positions();
        What {
            vertices: true,
            positions: shown || self.reader.tests_positions(&names),
            fragments,
            attributes: wanted.collect(),
        }
    }

    /// Link cells in groups that are read together, with their family.
    pub(crate) fn link_parts(
        &self,
        cells: Vec<LinkCellRef>,
    ) -> (Option<Arc<Family>>, Vec<Vec<LinkCellRef>>) {
        let parts = |family: &Arc<Family>| family.parts(cells, self.query.memory_budget);
        let parts = self.family.as_ref().map_or_else(Vec::new, parts);
        (self.family.clone(), parts)
    }
}

/// Largest number of levels of one chain.
pub(crate) const MOST_LEVELS: usize = 64;

/// Reads the documents for a query and resolves the query: one element, or for an additive level one for each level of its chain.
///
/// # Cost
///
/// One round of requests; one more for the levels of a chain, all at once.
///
/// # Errors
///
/// Misuse: a box with another number of axes than the store, unknown names, a filter or region that does not fit the columns or axes. Malformed: an
/// additive level without next level. Limit: more than [`MOST_LEVELS`] levels. Unsupported: encodings, types of positions. I/O.
pub(crate) async fn prepare(store: &Store, query: Query) -> Result<Vec<Prepared>, QueryError> {
    let dims = store.root().dims();
    if let Some(bbox) = query.bbox.as_ref().filter(|bbox| bbox.dims() != dims) {
        return Err(QueryError::misuse(format!(
            "the box has {} axes, the store has {dims}",
            bbox.dims()
        )));
    }
    let wanted = wanted_names(&query);
    let need = query.need();
    let base = async {
        if query.groups.is_none() || query.level == 0 || !store.levels().contains(&0) {
            return Ok(None);
        }
        // Level 0 has the groups if the coarse level has none.
        let groups = Need {
            groups: true,
            ..Need::default()
        };
        Box::pin(store.level(0, &groups)).await.map(Some)
    };
    let (levels, base) = futures::try_join!(
        chain(store, query.level, query.own_level_only, &need),
        async { Ok(base.await?) }
    )?;
    let mut found = Vec::with_capacity(levels.len());
    let mut unknown: Option<Vec<String>> = None;
    for level in &levels {
        let mut warnings = Vec::new();
        let (columns, missing) = columns(level, &query, &wanted, &mut warnings)?;
        unknown = Some(match unknown {
            None => missing,
            Some(before) => before
                .into_iter()
                .filter(|name| missing.contains(name))
                .collect(),
        });
        found.push((columns, warnings));
    }
    // Names in a condition and of columns may be axes.
    let output = output_names(&query);
    let shown = |name: &String| match &output {
        Names::List(names) => names.contains(name),
        _ => false,
    };
    let is_column = |name: &String| query.columns.contains(&Column::Attribute(name.clone()));
    let is_axis = |name: &String| {
        let axis = axis_number(store, name).is_some() && (is_column(name) || !shown(name));
        axis || (name == GEOMETRY && is_column(name))
    };
    if let Some(name) = unknown.iter().flatten().find(|name| !is_axis(name)) {
        return Err(unknown_name(store, &query, name).await);
    }
    share(&mut found);
    let round = levels
        .iter()
        .chain(&base)
        .map(Level::next_round)
        .max()
        .unwrap_or(0);
    let many = u64::try_from(levels.len()).unwrap_or(u64::MAX).max(1);
    let mut base = base;
    levels
        .into_iter()
        .zip(found)
        .map(|(level, (columns, warnings))| {
            let own = Query {
                level: level.number(),
                memory_budget: query.memory_budget / many,
                ..query.clone()
            };
            let mut prepared = tie(store, own, level, columns, warnings)?;
            prepared.base = base.take();
            prepared.round = round;
            Ok(prepared)
        })
        .collect()
}

/// The levels whose own data together are the complete content of a level, finest first.
///
/// # Errors
///
/// Misuse: no such level. Malformed: an additive level without next level. Limit: more than [`MOST_LEVELS`] levels. I/O.
pub(crate) async fn chain(
    store: &Store,
    number: u32,
    own_level_only: bool,
    need: &Need,
) -> Result<Vec<Level>, QueryError> {
    // Boxed, because the future that loads a level is large and would be part of the caller's.
    let first = Box::pin(store.level(number, need)).await?;
    let additive = |level: &Level| level.doc().refinement == Refinement::Add;
    let mut levels = vec![first];
    if own_level_only || !levels.last().is_some_and(additive) {
        return Ok(levels);
    }
    // Requested together. An error fails the query only if the result is needed, and the request is not repeated.
    let coarser = store.levels().iter().filter(|level| **level > number);
    let ahead = coarser
        .take(8)
        .map(|level| async move { (*level, store.level(*level, need).await) }.boxed());
    let mut ahead: HashMap<u32, _> = futures::future::join_all(ahead).await.into_iter().collect();
    while let Some(last) = levels
        .last()
        .filter(|last| additive(last))
        .map(Level::number)
    {
        let place = Place {
            level: Some(last),
            ..Place::default()
        };
        let next = last.saturating_add(1);
        if !store.levels().contains(&next) {
            let what =
                format!("refinement is \"add\", and there is no level {next} to complete it");
            return Err(QueryError::malformed(place, what));
        }
        if levels.len() >= MOST_LEVELS {
            let found = int::wide(store.levels().len());
            return Err(QueryError::limit(
                place,
                "additive levels",
                found,
                int::wide(MOST_LEVELS),
            ));
        }
        let loaded = match ahead.remove(&next) {
            Some(loaded) => loaded,
            None => Box::pin(store.level(next, need)).await,
        };
        levels.push(loaded?);
    }
    Ok(levels)
}

impl Query {
    /// Whether the answer depends on the objects of rows that are selected by position.
    fn asks_for_owners(&self) -> bool {
        if self.is_by_id_alone() {
            return self.outputs.vertices && self.columns.contains(&Column::ObjectIds);
        }
        let owned = match self.columns.is_empty() {
            true => self.owners,
            false => [Column::ObjectId, Column::ObjectIds]
                .iter()
                .any(|one| self.columns.contains(one)),
        };
        let vertices = self.outputs.vertices && owned;
        vertices || self.outputs.objects || self.outputs.links || self.select == Select::Objects
    }

    /// The documents of the level that the query reads, for [`OpenOptions::with_prefetch`](zvf_store::OpenOptions::with_prefetch).
    pub fn need(&self) -> Need {
        let links = self.outputs.links;
        Need {
            vertex_attributes: wanted_names(self),
            object_attributes: if self.outputs.objects {
                Names::All
            } else {
                Names::None
            },
            link_attributes: if links { Names::All } else { Names::None },
            link_deltas: if links {
                Deltas::List(vec![0])
            } else {
                Deltas::None
            },
            skip_implied_links: true,
            fragment_attributes: if self.asks_for_owners() {
                Names::List(vec![OWNER_COLUMN.to_owned()])
            } else {
                Names::None
            },
            objects: true,
            // The owner column has the ids of rows that are selected by position; without it, ids are read together with the manifests.
            skip_ids: self.objects.is_none() && self.groups.is_none(),
            groups: self.groups.is_some(),
            ..Need::default()
        }
    }
}

/// Gives all levels of a chain the same columns in the same order; columns that a level lacks are marked absent.
fn share(levels: &mut [(Vec<ColumnSpec>, Vec<String>)]) {
    let mut all: Vec<ColumnSpec> = Vec::new();
    for column in levels.iter().flat_map(|(columns, _)| columns) {
        if all.iter().all(|known| known.name != column.name) {
            all.push(ColumnSpec {
                array: None,
                absent: true,
                ..column.clone()
            });
        }
    }
    for (columns, _) in levels {
        let mut own = std::mem::take(columns);
        columns.extend(all.iter().map(|column| {
            let at = own.iter().position(|own| own.name == column.name);
            at.map_or_else(|| column.clone(), |at| own.swap_remove(at))
        }));
    }
}

/// Resolves a query for one level.
fn tie(
    store: &Store,
    mut query: Query,
    level: Level,
    columns: Vec<ColumnSpec>,
    mut warnings: Vec<String>,
) -> Result<Prepared, QueryError> {
    check_encoding(&level)?;
    let offset = store
        .root()
        .zarr_vectors
        .coordinate_offset
        .clone()
        .unwrap_or_default();
    let position =
        PositionSpec::new(level.vertices().dtype(), level.dims(), &offset).ok_or_else(|| {
            let what = format!("positions of dtype {}", level.vertices().dtype());
            QueryError::unsupported(Place::array(query.level, "vertices"), what)
        })?;
    if let Some(bbox) = narrowed(store, &query, &columns, &position) {
        query.bbox = Some(bbox);
    }
    let region = bound_region(store, &query)?;
    if let Some(region) = &region {
        // Chunks and rows are first tested against the box around the region.
        query.bbox = Some(region.bounds(query.bbox.as_ref())?);
    }
    let find = |name: &str| operand(store, &columns, &position, name);
    let of_rows = query.filter.as_ref().and_then(Filter::of_rows);
    let filter = of_rows.map(|condition| BoundFilter::bind(condition, &find));
    let filter = filter.transpose()?;
    let joint = query.filter.as_ref().and_then(Filter::joint);
    let joint = joint.map(|joint| BoundJoint::bind(joint, columns.len(), &find));
    let joint = joint.transpose()?;
    warnings.extend(stale_level(store, query.level));
    let remarks = filter.iter().flat_map(|filter| &filter.remarks);
    let remarks = remarks.chain(joint.iter().flat_map(BoundJoint::remarks));
    warnings.extend(remarks.cloned());
    if joint.is_some() && may_be_unowned(store.kind()) {
        warnings.push(
            "where: a part refers to vertices and to objects: vertices of no object are not in the answer".to_owned(),
        );
    }
    let bins = level.bin_shape().filter(|_| query.level == 0);
    let grid = Grid::new(level.chunk_shape(), bins);
    let outs = outs(store, &query, &columns, level.object_index().is_some());
    let table = TablePlan {
        points: (outs.contains(&Out::Geometry).then(|| Points::of(store))).transpose()?,
        outs,
        metadata: arrow::about_source(store, &query),
        axes: (store.root().axes().iter())
            .map(|axis| axis.name.clone())
            .collect(),
    };
    let rule = Rule::of_store(store);
    if query.outputs.links {
        // Links in an unsupported form are missing in the answer.
        let refused = level.refused().iter();
        let refused: Vec<_> = refused.filter(|one| one.delta == Some(0)).collect();
        if let (Rule::Branches, Some(first)) = (rule, refused.first()) {
            let what = format!(
                "reading trees without some of their links ({first}), where a vertex would be linked to the one before it instead of its parent,"
            );
            return Err(QueryError::unsupported(
                Place::array(query.level, "links"),
                what,
            ));
        }
        let left_out = refused.iter();
        warnings.extend(left_out.map(|refused| format!("links are left out: {refused}")));
    }
    let family = level
        .links(0)
        .filter(|links| links.width() > 0 && query.outputs.links)
        // Records with incorrect rows are not links: the manifests of objects define the links of such stores.
        .filter(|links| links.rows_trusted())
        // Families without arrays store no links; the order of rows implies them.
        .filter(|links| rule != Rule::Sequential || !links.arrays().is_empty());
    let family = match family {
        Some(links) if rule != Rule::Stored && links.width() != 2 => {
            let place = Place::array(query.level, "links/0");
            let what = format!("link_width is {}, expected 2", links.width());
            return Err(QueryError::malformed(place, what));
        }
        Some(links) => {
            let family = Family::new(links.clone(), query.level);
            for name in family.unreadable() {
                warnings.push(format!("unreadable link attribute {name:?} is left out"));
            }
            Some(Arc::new(family))
        }
        None => None,
    };
    let round = level.next_round();
    let arrays = columns.iter().filter_map(|column| column.array.as_ref());
    let attributes = level.vertex_attributes().iter();
    let attributes: Vec<VertexAttribute> = arrays
        .filter_map(|array| {
            attributes
                .clone()
                .find(|one| Arc::ptr_eq(&one.array, array))
        })
        .cloned()
        .collect();
    let chunks = level.chunks(ChunkParts {
        attributes: &attributes,
        ..ChunkParts::GEOMETRY
    })?;
    let mut next = 0..chunks.columns().len();
    let stored = columns
        .iter()
        .map(|column| column.array.as_ref().and_then(|_| next.next()));
    let stored = stored.collect();
    let names = of_rows.map_or_else(Vec::new, Expr::plain_names);
    let tested = columns
        .iter()
        .map(|column| names.contains(&column.name))
        .collect();
    let reader = Reader {
        chunks,
        stored,
        tested,
        short: Arc::default(),
        probe: None,
        displaced: Arc::default(),
        number: query.level,
        table: ChunkTable::default(),
        position,
        grid,
        columns,
        filter,
        joint,
        test: RowTest {
            bbox: query.bbox.clone(),
            region: region.map(Arc::new),
            whole_chunks: query.select == Select::Chunks,
            placed: query.bbox.is_some(),
            worthless_keys: false,
        },
        level: level.clone(),
    };
    check_presence(&level, query.bbox.is_some(), &mut warnings)?;
    let unusable = match level.owner_column() {
        OwnerColumn::Stale(column) => Some((
            column,
            "is out of date, since another program changed the object index",
        )),
        OwnerColumn::Contradictory(column) => Some((column, "lists cells outside of its shape")),
        OwnerColumn::Current(_) | OwnerColumn::None => None,
    };
    warnings.extend(unusable.map(|(column, why)| {
        let path = column.array.path();
        format!("{path} {why}: manifests are read instead; `zvf edit add-owners` writes it again")
    }));
    if query.bbox.is_some() {
        warnings.extend(doubts(store.root(), &level));
    }
    Ok(Prepared {
        query,
        level,
        base: None,
        reader,
        table,
        rule,
        family,
        warnings,
        round,
        empty_objects: false,
        part: None,
    })
}

/// Whether stores of this kind may have vertices without an object.
pub(crate) fn may_be_unowned(kind: Kind) -> bool {
    matches!(kind, Kind::PointCloud | Kind::Graph | Kind::Mesh)
}

/// The names of all attributes whose documents are needed.
fn wanted_names(query: &Query) -> Names {
    let mut names = match output_names(query) {
        Names::All => return Names::All,
        Names::None => Vec::new(),
        Names::List(names) => names,
    };
    names.extend(query.filter.iter().flat_map(Filter::names_of_rows));
    if names.is_empty() {
        Names::None
    } else {
        Names::List(names)
    }
}

/// The attributes of the answer.
fn output_names(query: &Query) -> Names {
    if !query.outputs.vertices {
        return Names::None;
    }
    if query.columns.is_empty() {
        return query.attributes.clone();
    }
    let mut names = Vec::new();
    for column in &query.columns {
        match column {
            Column::Attribute(name) => names.push(name.clone()),
            Column::Attributes => match &query.attributes {
                Names::All => return Names::All,
                Names::List(more) => names.extend(more.iter().cloned()),
                Names::None => {}
            },
            _ => {}
        }
    }
    if names.is_empty() {
        Names::None
    } else {
        Names::List(names)
    }
}

fn check_encoding(level: &Level) -> Result<(), QueryError> {
    match level.vertices().attributes().encoding.as_deref() {
        None | Some("raw") => Ok(()),
        Some(other) => Err(QueryError::unsupported(
            Place::array(level.number(), "vertices"),
            format!("encoding {other:?}"),
        )),
    }
}

/// Fails if a presence list or a listing has invalid keys, because a read of the whole level would not be complete.
fn check_presence(
    level: &Level,
    boxed: bool,
    warnings: &mut Vec<String>,
) -> Result<(), QueryError> {
    let Err(problem) = level.vertices().check_presence() else {
        return Ok(());
    };
    if !boxed {
        return Err(problem.into());
    }
    warnings.push(problem.to_string());
    Ok(())
}

/// Warnings about contradictions to the chunk shape: with a wrong shape, chunks with matching rows would not be read.
fn doubts(root: &RootDoc, level: &Level) -> Vec<String> {
    let name = level.number().to_string();
    let at = LevelAt {
        root,
        name: &name,
        doc: level.doc(),
    };
    let own = [rules::Rule::LevelChunkNests, rules::Rule::LevelChunkBins];
    let mut problems = rules::check_level_for(at, &own);
    if level.number() == 0 || level.doc().chunk_shape.is_none() {
        let mut of_root = vec![rules::Rule::BinsDivideChunk];
        // A missing transform is not a contradiction.
        let base = root.level_transform(0);
        if base.is_some_and(|base| base.translation().is_some()) {
            of_root.push(rules::Rule::TranslationBase);
        }
        problems.extend(rules::check_root_for(root, &of_root));
    }
    let shape = level.chunk_shape();
    let warning = |one: rules::Problem| {
        format!(
            "level {name}: chunk_shape is {shape:?}, but {} is {}, expected {}: if chunk_shape is wrong, rows of the box are missing; \
             `zvf validate` compares it with the rows",
            one.path, one.found, one.expected
        )
    };
    problems.into_iter().map(warning).collect()
}

/// The attributes to read: first the attributes of the answer, then attributes that only the filter names. Also returns the missing names.
fn columns(
    level: &Level,
    query: &Query,
    wanted: &Names,
    warnings: &mut Vec<String>,
) -> Result<(Vec<ColumnSpec>, Vec<String>), QueryError> {
    let mut unknown = Vec::new();
    let key = key_column(level);
    let mut found: Vec<ColumnSpec> = Vec::new();
    match wanted {
        Names::None => {}
        Names::All => {
            for attribute in level.vertex_attributes() {
                if arrow::element_type(attribute.dtype).is_none() {
                    let name = &attribute.name;
                    warnings.push(format!(
                        "attribute {name:?} is left out: values of dtype {} cannot be read",
                        attribute.dtype
                    ));
                    continue;
                }
                found.push(spec(attribute));
            }
            found.extend(key.filter(|key| found.iter().all(|column| column.name != key.name)));
            let asked = query.columns.iter().filter_map(|column| match column {
                Column::Attribute(name) => Some(name.clone()),
                _ => None,
            });
            for name in (query.filter.iter().flat_map(Filter::names_of_rows)).chain(asked) {
                if found.iter().all(|column| column.name != name) {
                    unknown.push(name);
                }
            }
        }
        Names::List(names) => {
            for name in names {
                if found.iter().any(|column| column.name == *name) {
                    continue;
                }
                let attribute = level
                    .vertex_attributes()
                    .iter()
                    .find(|attribute| attribute.name == *name);
                match (attribute, &key) {
                    (Some(attribute), _) if arrow::element_type(attribute.dtype).is_none() => {
                        let place =
                            Place::array(level.number(), &format!("vertex_attributes/{name}"));
                        return Err(QueryError::unsupported(
                            place,
                            format!("dtype {}", attribute.dtype),
                        ));
                    }
                    (Some(attribute), _) => found.push(spec(attribute)),
                    (None, Some(key)) if key.name == *name => found.push(key.clone()),
                    _ => unknown.push(name.clone()),
                }
            }
        }
    }
    Ok((found, unknown))
}

/// The error for an unknown name, with the existing names.
async fn unknown_name(store: &Store, query: &Query, name: &str) -> QueryError {
    let number = query.level;
    let mark = |filter: &Filter| filter.marked(name);
    let mark = query.filter.as_ref().map_or_else(String::new, mark);
    let need = Need {
        vertex_attributes: Names::All,
        ..Need::default()
    };
    let level = match Box::pin(store.level(number, &need)).await {
        Ok(level) => level,
        Err(error) if error.class() == Class::Io => return error.into(),
        Err(_) => return QueryError::misuse(format!("no vertex attribute {name:?}{mark}")),
    };
    let key = level.doc().chunk_attribute_name.as_deref();
    let names = level
        .vertex_attributes()
        .iter()
        .map(|attribute| attribute.name.as_str())
        .chain(key);
    let near = nearest(name, names.clone());
    let near = near.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
    QueryError::misuse(format!(
        "no vertex attribute {name:?} on level {number}{near}: {}{mark}",
        existing_attributes(store, names)
    ))
}

fn spec(attribute: &VertexAttribute) -> ColumnSpec {
    let declared = attribute
        .declared_width
        .and_then(|width| usize::try_from(width).ok());
    // Writers of graphs, meshes and polylines declare one value even if there are several (trap T8).
    let states_one = declared.is_none()
        && (attribute.array.attributes().row_shape.as_ref()).is_some_and(Vec::is_empty);
    let (unit, description) = (attribute.unit.as_deref(), attribute.description.as_deref());
    ColumnSpec {
        name: attribute.name.clone(),
        array: Some(Arc::clone(&attribute.array)),
        absent: false,
        // The type after decoding.
        dtype: DType::little(attribute.dtype.kind),
        declared,
        wider: states_one.then(Arc::default),
        categories: attribute.categories.clone(),
        dictionary: attribute
            .categories
            .as_ref()
            .map(|categories| arrow::categories(categories)),
        fill_code: attribute.fill_code,
        metadata: arrow::metadata(unit, description, attribute.channel_names.as_deref()),
    }
}

/// The attribute that the first component of the keys encodes.
fn key_column(level: &Level) -> Option<ColumnSpec> {
    let key = level.key_attribute()?;
    let mut column = ColumnSpec::of_key(key.name, key.values);
    if let Some(values) = key
        .dtype
        .and_then(|dtype| arrow::whole_numbers(dtype, key.values))
    {
        column.dictionary = Some(values);
    }
    column.metadata = arrow::metadata(key.unit, key.description, None);
    Some(column)
}

/// The columns of the vertex table.
fn outs(store: &Store, query: &Query, columns: &[ColumnSpec], objects: bool) -> Vec<Out> {
    let named = |name: &str| {
        columns
            .iter()
            .position(|column| column.name == name)
            .map(Out::Attribute)
    };
    let selected = || -> Vec<Out> {
        match &query.attributes {
            Names::None => Vec::new(),
            Names::All => (0..columns.len()).map(Out::Attribute).collect(),
            Names::List(names) => {
                let mut outs: Vec<Out> = Vec::new();
                for out in names.iter().filter_map(|name| named(name)) {
                    if !outs.contains(&out) {
                        outs.push(out);
                    }
                }
                outs
            }
        }
    };
    if !query.outputs.vertices {
        return Vec::new();
    }
    if query.columns.is_empty() {
        let owner = (query.owners && objects).then_some(Out::ObjectId);
        let outs = std::iter::once(Out::Position).chain(selected());
        return outs.chain(owner).collect();
    }
    let mut outs = Vec::new();
    for column in &query.columns {
        match column {
            Column::Position => outs.push(Out::Position),
            Column::Chunk => outs.push(Out::Chunk),
            Column::Row => outs.push(Out::Row),
            Column::Fragment => outs.push(Out::Fragment),
            Column::ObjectId => outs.push(Out::ObjectId),
            Column::ObjectIds => outs.push(Out::ObjectIds),
            Column::Attributes => outs.extend(selected()),
            Column::Attribute(name) => {
                let found = named(name).or_else(|| axis_number(store, name).map(Out::Axis));
                outs.extend(found.or((name == GEOMETRY).then_some(Out::Geometry)));
            }
        }
    }
    let mut once = Vec::with_capacity(outs.len());
    for out in outs {
        if !once.contains(&out) {
            once.push(out);
        }
    }
    once
}
