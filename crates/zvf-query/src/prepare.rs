//! From a query to a level that is ready to be read: documents, columns, filter, rules.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;
use zvf_store::{Class, Deltas, Level, Names, Need, Store, VertexAttribute};

use crate::columns::arrow;
use crate::columns::attribute::ColumnSpec;
use crate::columns::position::PositionSpec;
use crate::error::{Place, existing};
use crate::filter::BoundFilter;
use crate::grouped::select::base_need;
use crate::links::Rule;
use crate::links::records::Family;
use crate::plan::candidates::Grid;
use crate::plan::chunks::ChunkTable;
use crate::reader::{Reader, RowTest};
use crate::vertex_table::{Out, TablePlan};
use crate::{Column, Query, QueryError, Select};

/// A query with everything that the documents say.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) query: Query,
    pub(crate) level: Level,
    /// Level 0 with its groups, where groups are asked of a level above it.
    pub(crate) base: Option<Level>,
    /// The reader of every chunk table of this query; its own table is empty.
    pub(crate) reader: Reader,
    pub(crate) table: TablePlan,
    pub(crate) rule: Rule,
    pub(crate) family: Option<Arc<Family>>,
    pub(crate) warnings: Vec<String>,
    /// Round of the first requests for data.
    pub(crate) round: u32,
}

/// Reads the documents a query needs, in one round, and ties the query to them.
///
/// # Errors
///
/// Misuse: a box of other dimensions, names that do not exist, a filter that does not fit, objects where there are
/// none. Unsupported encodings. I/O.
pub(crate) async fn prepare(store: &Store, query: Query) -> Result<Prepared, QueryError> {
    let dims = store.root().dims();
    if let Some(bbox) = query.bbox.as_ref().filter(|bbox| bbox.dims() != dims) {
        return Err(QueryError::misuse(format!(
            "the box has {} axes, the store has {dims}",
            bbox.dims()
        )));
    }
    let wanted = wanted_names(&query);
    let need = Need {
        vertex_attributes: wanted.clone(),
        object_attributes: if query.outputs.objects {
            Names::All
        } else {
            Names::None
        },
        link_attributes: if query.outputs.links {
            Names::All
        } else {
            Names::None
        },
        link_deltas: if query.outputs.links {
            Deltas::List(vec![0])
        } else {
            Deltas::None
        },
        objects: true,
        groups: query.groups.is_some(),
        ..Need::default()
    };
    let base = async {
        if query.groups.is_none() || query.level == 0 || !store.levels().contains(&0) {
            return Ok(None);
        }
        store.level(0, &base_need()).await.map(Some)
    };
    let (level, base) = futures::try_join!(store.level(query.level, &need), base)?;
    let mut warnings = Vec::new();
    check_encoding(&level)?;
    let columns = columns(store, &level, &query, &wanted, &mut warnings).await?;
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
    let filter = match &query.filter {
        Some(filter) => Some(BoundFilter::bind(filter, &|name| {
            let found = columns
                .iter()
                .enumerate()
                .find(|(_, column)| column.name == name);
            let found = found.map(|(index, column)| (index, column.operand_type()));
            found.ok_or_else(|| {
                QueryError::misuse(format!(
                    "the filter names attribute {name:?}, which is not there"
                ))
            })
        })?),
        None => None,
    };
    let bins = level.bin_shape().filter(|_| query.level == 0);
    let grid = Grid::new(level.chunk_shape(), bins);
    let table = TablePlan {
        outs: outs(&query, &columns),
        metadata: metadata(store, &query),
    };
    let convention = store.root().links_convention().ok();
    let rule = Rule::of(store.kind(), convention);
    let family = level
        .links(0)
        .filter(|links| links.width() > 0 && query.outputs.links);
    let family = match family {
        Some(links) if rule != Rule::Stored && links.width() != 2 => {
            let place = Place::array(query.level, "links/0");
            let what = format!("link_width is {}, expected 2", links.width());
            return Err(QueryError::malformed(place, what));
        }
        Some(links) => {
            let family = Family::new(links.clone(), query.level);
            for name in family.unreadable() {
                warnings.push(format!("link attribute {name:?} has no values to read"));
            }
            Some(Arc::new(family))
        }
        None => None,
    };
    let round = level
        .next_round()
        .max(base.as_ref().map_or(0, Level::next_round));
    let reader = Reader {
        number: query.level,
        table: ChunkTable::default(),
        position,
        grid,
        columns,
        filter,
        test: RowTest {
            bbox: query.bbox.clone(),
            whole_chunks: query.select == Select::Chunks,
            placed: query.bbox.is_some(),
            worthless_keys: false,
        },
        level: level.clone(),
    };
    check_presence(&level, query.bbox.is_some(), &mut warnings)?;
    Ok(Prepared {
        query,
        level,
        base,
        reader,
        table,
        rule,
        family,
        warnings,
        round,
    })
}

/// Every attribute name that the documents must be read of.
fn wanted_names(query: &Query) -> Names {
    let mut names = match output_names(query) {
        Names::All => return Names::All,
        Names::None => Vec::new(),
        Names::List(names) => names,
    };
    names.extend(query.filter.iter().flat_map(crate::Filter::names));
    if names.is_empty() {
        Names::None
    } else {
        Names::List(names)
    }
}

/// The attributes that come out.
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

/// Keys outside the grid are no cells: reading everything would leave something out.
fn check_presence(
    level: &Level,
    boxed: bool,
    warnings: &mut Vec<String>,
) -> Result<(), QueryError> {
    let Some(problem) = level.vertices().presence().problems().first() else {
        return Ok(());
    };
    if !boxed {
        level.vertices().check_presence()?;
    }
    warnings.push(format!(
        "{}: nonempty_chunks: {problem}",
        level.vertices().path()
    ));
    Ok(())
}

/// The attributes that are read: those that come out, then those that only the filter names.
async fn columns(
    store: &Store,
    level: &Level,
    query: &Query,
    wanted: &Names,
    warnings: &mut Vec<String>,
) -> Result<Vec<ColumnSpec>, QueryError> {
    let key = key_column(level);
    let mut found: Vec<ColumnSpec> = Vec::new();
    match wanted {
        Names::None => {}
        Names::All => {
            for attribute in level.vertex_attributes() {
                if arrow::element_type(attribute.dtype).is_none() {
                    let name = &attribute.name;
                    warnings.push(format!(
                        "attribute {name:?} of dtype {} has no values to read",
                        attribute.dtype
                    ));
                    continue;
                }
                found.push(spec(attribute));
            }
            found.extend(key.filter(|key| found.iter().all(|column| column.name != key.name)));
            for name in query.filter.iter().flat_map(crate::Filter::names) {
                if found.iter().all(|column| column.name != name) {
                    return Err(unknown_name(store, query.level, &name).await);
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
                        let place = Place::array(query.level, &format!("vertex_attributes/{name}"));
                        return Err(QueryError::unsupported(
                            place,
                            format!("dtype {}", attribute.dtype),
                        ));
                    }
                    (Some(attribute), _) => found.push(spec(attribute)),
                    (None, Some(key)) if key.name == *name => found.push(key.clone()),
                    _ => return Err(unknown_name(store, query.level, name).await),
                }
            }
        }
    }
    Ok(found)
}

/// Says which names there are.
async fn unknown_name(store: &Store, number: u32, name: &str) -> QueryError {
    let need = Need {
        vertex_attributes: Names::All,
        ..Need::default()
    };
    let level = match store.level(number, &need).await {
        Ok(level) => level,
        Err(error) if error.class() == Class::Io => return error.into(),
        Err(_) => return QueryError::misuse(format!("no vertex attribute {name:?}")),
    };
    let key = level.doc().chunk_attribute_name.as_deref();
    let names = level
        .vertex_attributes()
        .iter()
        .map(|attribute| attribute.name.as_str())
        .chain(key);
    QueryError::misuse(format!(
        "no vertex attribute {name:?} on level {number}: {}",
        existing(names)
    ))
}

fn spec(attribute: &VertexAttribute) -> ColumnSpec {
    let mut metadata = HashMap::new();
    if let Some(unit) = &attribute.unit {
        metadata.insert("zvf.unit".to_owned(), unit.clone());
    }
    if let Some(description) = &attribute.description {
        metadata.insert("zvf.description".to_owned(), description.clone());
    }
    if let Some(names) = &attribute.channel_names {
        metadata.insert("zvf.channel_names".to_owned(), json!(names).to_string());
    }
    ColumnSpec {
        name: attribute.name.clone(),
        array: Some(Arc::clone(&attribute.array)),
        dtype: attribute.dtype,
        declared: attribute
            .declared_width
            .and_then(|width| usize::try_from(width).ok()),
        categories: attribute.categories.clone(),
        dictionary: attribute
            .categories
            .as_ref()
            .map(|categories| arrow::categories(categories)),
        fill_code: attribute.fill_code,
        metadata,
    }
}

/// The attribute that the first component of the keys stands for.
fn key_column(level: &Level) -> Option<ColumnSpec> {
    let doc = level.doc();
    let (name, values) = (
        doc.chunk_attribute_name.as_ref()?,
        doc.chunk_attribute_values.as_ref()?,
    );
    (level.key_rank() > level.dims()).then(|| ColumnSpec::of_key(name, values))
}

/// The columns of the vertex table.
fn outs(query: &Query, columns: &[ColumnSpec]) -> Vec<Out> {
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
        return std::iter::once(Out::Position).chain(selected()).collect();
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
            Column::Attribute(name) => outs.extend(named(name)),
        }
    }
    // The first of equal columns counts.
    let mut once = Vec::with_capacity(outs.len());
    for out in outs {
        if !once.contains(&out) {
            once.push(out);
        }
    }
    once
}

/// What every table says about where it comes from.
fn metadata(store: &Store, query: &Query) -> HashMap<String, String> {
    let root = store.root();
    let axes: Vec<_> = root
        .axes()
        .iter()
        .map(|axis| json!({ "name": axis.name, "type": axis.kind(), "unit": axis.unit }))
        .collect();
    let units: Vec<_> = root.axes().iter().map(|axis| axis.unit.clone()).collect();
    HashMap::from([
        ("zvf.axes".to_owned(), json!(axes).to_string()),
        ("zvf.units".to_owned(), json!(units).to_string()),
        ("zvf.kind".to_owned(), store.kind().name().to_owned()),
        ("zvf.level".to_owned(), query.level.to_string()),
        (
            "zvf.version".to_owned(),
            root.zarr_vectors.zv_version.clone(),
        ),
    ])
}
