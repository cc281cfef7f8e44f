//! The first pass over files of vertices: determines the specification of the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use serde_json::Value;
use zvf_encode::error::OrBug;
use zvf_write::arrow::described;
use zvf_write::{AttributeSpec, Kind, NumberType};

use super::attribute::ValueCensus;
use super::chains::ChainRows;
use super::chosen::left_out;
use super::columns::{check_exclude, names_of, refused, too_many_texts};
use super::layout::{ColumnRoles, Roles};
use super::links::SurveyedLinks;
use super::nodes::NodeCensus;
use super::open::source;
use super::read::{RecordFiles, RowNumbers, RowOwners, whole_in_memory};
use super::source::TableSource;
use super::tally::{VertexTally, kind_of};
use super::widths::Widths;
use super::{geometry, rename};
use crate::Format;
use crate::answered::is_in_chunk_order;
use crate::error::{ConvertError, InFile, shown};
use crate::found::{FirstPass, draft, float_type};
use crate::frame::{SourceHeader, Space};
use crate::ids::IdMap;
use crate::names;
use crate::options::Options;
use crate::store_frame::GPS_TIME;
use crate::table::text::{self, OpenTextTable};

/// The result of the first pass over all files.
#[derive(Debug)]
struct Looked {
    layout: ColumnRoles,
    /// The columns of the first file.
    schema: SchemaRef,
    /// The first file, if it is a table of text.
    text: Option<OpenTextTable>,
    /// The number type of positions in a store.
    positions: NumberType,
    /// The census of each attribute of the layout.
    seen: Vec<ValueCensus>,
    /// The kind that the links of the files imply.
    linked: Option<Kind>,
    widths: Widths,
    /// The number of rows that are left out.
    dropped: u64,
    nodes: NodeCensus,
    /// The coordinate reference system, which must be the same in all files.
    crs: Option<Value>,
    /// The members of the header that are the same in all files.
    header: Option<Value>,
}

/// Reads tables of text.
fn look_at_text(
    files: &[PathBuf],
    format: Format,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<(Looked, VertexTally), ConvertError> {
    let (survey, table) = text::Survey::of(files, format, options, Roles::of_text)?;
    let path = files.first().map_or(Path::new(""), PathBuf::as_path);
    let seen = survey.seen();
    notes.extend(survey.notes());
    let layout = ColumnRoles::new(path, &table.schema(), survey.roles, options)?;
    let tally = match survey.tally {
        Some(tally) => tally,
        None => {
            let map = IdMap::new(options.ids, files)?;
            VertexTally::new(layout.axes.len(), None, map, options)
        }
    };
    let looked = Looked {
        layout,
        schema: table.schema(),
        text: Some(table),
        positions: float_type(!survey.double),
        seen,
        linked: None,
        widths: Widths::default(),
        dropped: survey.dropped,
        nodes: survey
            .nodes
            .unwrap_or_else(|| NodeCensus::new(Vec::new(), options)),
        crs: None,
        header: None,
    };
    Ok((looked, tally))
}

/// Reads files with typed columns.
fn look_at_columns(
    files: &[PathBuf],
    format: Format,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<(Looked, VertexTally), ConvertError> {
    let linked = linked(files, format, options)?;
    let mut known: Option<(Looked, VertexTally)> = None;
    for (number, file) in files.iter().enumerate() {
        let source = source(file, format, options)?;
        for note in source.notes() {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        let schema = source.schema();
        if !matches!(format, Format::Arrow | Format::Parquet) {
            check_exclude(file, &names_of(&schema), options)?;
        }
        let own = ColumnRoles::of(file, &schema, options)?;
        if let Some((looked, _)) = &known {
            looked.layout.same(&looked.schema, &own, (file, &schema))?;
        }
        let (looked, tally) = match &mut known {
            Some(known) => known,
            None => {
                let fields = own.nodes.iter().filter_map(|at| schema.fields().get(*at));
                let names = fields.map(|field| field.name().clone()).collect();
                let own_nodes = NodeCensus::new(names, options);
                let map = IdMap::new(options.ids, files)?;
                let tally = VertexTally::new(own.axes.len(), linked, map, options);
                let mut seen = Vec::new();
                seen.resize_with(own.attributes.len(), ValueCensus::default);
                let looked = Looked {
                    positions: own.number,
                    layout: own,
                    schema: Arc::clone(&schema),
                    text: None,
                    seen,
                    linked,
                    widths: Widths::default(),
                    dropped: 0,
                    nodes: own_nodes,
                    crs: source.crs(),
                    header: source.header(),
                };
                known.insert((looked, tally))
            }
        };
        looked.same_system(file, source.as_ref(), options)?;
        let kind = kind_of(options, looked.linked);
        if kind.is_chain() && looked.layout.object.is_some() && is_in_chunk_order(&schema) {
            let expected = "the rows of an object one after another, as `zvf query --select objects` and `zvf export` write them";
            return Err(ConvertError::malformed(
                file,
                InFile::Whole,
                "rows in the order of chunks",
                expected,
            ));
        }
        tally.begin(number);
        // Edges of polylines and streamlines are implied by the order of rows. The two ends of a line are a single edge.
        let implied = kind.is_chain() && kind != Kind::Line && source.linked() == Some(Kind::Graph);
        let mut chains = implied.then(ChainRows::default);
        let of_rows = (tally, chains.as_mut());
        let dropped = looked.dropped;
        let vertices = looked.vertices(source.as_ref(), &schema, file, options, of_rows)?;
        let dropped = looked.dropped - dropped;
        if dropped > 0 && source.linked().is_some() && kind != Kind::PointCloud {
            let found = format!(
                "drop-row, which leaves out {dropped} rows of {}",
                file.display()
            );
            let expected = "another value: the links of the file refer to rows by number";
            return Err(ConvertError::usage("nulls", found, expected));
        }
        // Links refer to rows of the file, including rows that were left out. Only points may leave out rows, and points have no links.
        let vertices = vertices + dropped;
        source.links(&mut |link, place| {
            if let Some(&end) = link.iter().find(|end| **end >= vertices) {
                let found = format!("vertex {end}");
                let expected = format!("one of the {vertices} vertices of the file, from 0");
                return Err(ConvertError::malformed(file, place, found, expected));
            }
            looked.widths.see(link.len());
            match &mut chains {
                Some(chains) => chains.see(link, file, place),
                None => Ok(()),
            }
        })?;
        if let Some(chains) = &chains {
            chains.finish(file)?;
        }
    }
    known.ok_or_else(|| ConvertError::usage("files", "none", "at least one"))
}

/// The kind that the links of the files imply; `None` without links. Fails if the store would keep links and the files have links of different
/// kinds.
fn linked(
    files: &[PathBuf],
    format: Format,
    options: &Options,
) -> Result<Option<Kind>, ConvertError> {
    let mut known: Option<(Kind, &Path)> = None;
    // Other formats have no links.
    let files = files
        .iter()
        .filter(|_| matches!(format, Format::Ply | Format::Npz));
    for file in files {
        let Some(own) = source(file, format, options)?.linked() else {
            continue;
        };
        let (kind, first) = *known.get_or_insert((own, file));
        if own != kind && matches!(options.kind, None | Some(Kind::Graph | Kind::Mesh)) {
            let what = |kind| if kind == Kind::Mesh { "faces" } else { "edges" };
            let expected = format!(
                "{}, as in {}: a store has only edges or only faces (--kind graph takes the edges of files with both; --kind point_cloud leaves both out)",
                what(kind),
                first.display()
            );
            return Err(ConvertError::malformed(
                file,
                InFile::Whole,
                what(own),
                expected,
            ));
        }
    }
    Ok(known.map(|(kind, _)| kind))
}

impl Looked {
    /// Refuses a file with another coordinate reference system, frame of positions or kind of GPS times than the first file or the store. Keeps only
    /// the members of the header that this file also states.
    fn same_system(
        &mut self,
        file: &Path,
        source: &dyn TableSource,
        options: &Options,
    ) -> Result<(), ConvertError> {
        let own = source.crs();
        if own != self.crs && options.crs.is_none() {
            let text = |crs: &Option<Value>| {
                let text = crs
                    .as_ref()
                    .map_or("none", |crs| crs.as_str().unwrap_or("?"));
                shown(text)
            };
            let found = format!("the CRS {}", text(&own));
            let expected = format!(
                "{} as in the first file; --crs names one for all",
                text(&self.crs)
            );
            return Err(ConvertError::malformed(
                file,
                InFile::Whole,
                found,
                expected,
            ));
        }
        let other = source.header().unwrap_or_default();
        let frame = |header: &Value| SourceHeader::of_stated(header)?.frame_of_axes();
        let (ours, theirs) = (self.header.as_ref().and_then(frame), frame(&other));
        if ours != theirs {
            let text = |frame: Option<(Space, _)>| {
                frame.map_or("in no stated frame", |(space, _)| space.name())
            };
            let found = format!("positions {}", text(theirs));
            let expected = format!(
                "{}, with the same affine, as in the first file; `zvf append` adds files one by one",
                text(ours)
            );
            return Err(ConvertError::malformed(
                file,
                InFile::Whole,
                found,
                expected,
            ));
        }
        let times = |header: &Value| Some(header.get(GPS_TIME)?.as_str()?.to_owned());
        let (own, whose) = match &options.into {
            Some(store) => (
                store.gps_time.clone(),
                "in the store: `zvf import --exclude gps_time` makes a store of the file without GPS times, which can be appended",
            ),
            None => (
                self.header.as_ref().and_then(times),
                "in the first file; --exclude gps_time leaves them out",
            ),
        };
        let has = self
            .layout
            .attributes
            .iter()
            .any(|one| one.name == GPS_TIME);
        let both = own
            .zip(times(&other))
            .filter(|(own, found)| has && own != found);
        if let Some((own, found)) = both {
            return Err(ConvertError::malformed(
                file,
                InFile::Whole,
                format!("{GPS_TIME} of {found}"),
                format!("{own}, as {whose}"),
            ));
        }
        // Only members that all files state are kept.
        if let Some(Value::Object(own)) = &mut self.header {
            own.retain(|name, value| other.get(name) == Some(value));
        }
        Ok(())
    }

    /// Reads the vertices of a file and returns their number.
    fn vertices(
        &mut self,
        source: &dyn TableSource,
        schema: &Schema,
        file: &Path,
        options: &Options,
        (tally, mut chains): (&mut VertexTally, Option<&mut ChainRows>),
    ) -> Result<u64, ConvertError> {
        let (layout, nodes) = (&self.layout, &mut self.nodes);
        let columns = layout.surveyed(schema, options.nulls);
        let mut vertices = 0_u64;
        source.first_columns(options.batch, columns, &mut |batch| {
            options.check_stop()?;
            let rows = RowNumbers {
                file,
                first: vertices,
            };
            let whole = layout.whole(batch, options.nulls)?;
            let dropped = batch.num_rows() - whole.num_rows();
            self.dropped = self.dropped.saturating_add(dropped as u64);
            vertices = vertices.saturating_add(whole.num_rows() as u64);
            let positions = layout.positions(&whole);
            let positions = positions.map_err(|(row, what)| rows.bad(row, what))?;
            tally.extent.add_all(&positions);
            tally.check(file, InFile::Whole)?;
            for (attribute, census) in layout.attributes.iter().zip(&mut self.seen) {
                let Some(column) = whole.columns().get(attribute.column) else {
                    continue;
                };
                attribute
                    .see(column, options.nulls, census)
                    .map_err(|(row, found)| rows.bad(row, refused(&attribute.name, found)))?;
                if census.texts() > options.limits.categories {
                    return Err(too_many_texts(
                        file,
                        InFile::Whole,
                        &attribute.name,
                        options,
                    ));
                }
            }
            for (number, column) in layout.nodes.iter().enumerate() {
                let column = whole.columns().get(*column);
                let seen = column.map_or(Ok(()), |column| nodes.column(number, column));
                seen.map_err(|(row, what)| rows.bad(row, what))?;
            }
            let objects = layout.objects(&whole, options);
            let objects = objects.map_err(|(row, what)| rows.bad(row, what))?;
            if let Some(chains) = &mut chains {
                chains.push(whole.num_rows(), &objects);
            }
            for (row, id) in objects.into_iter().enumerate() {
                tally.object(id).map_err(|what| rows.bad(row, what))?;
            }
            Ok(())
        })?;
        Ok(vertices)
    }
}

impl RecordFiles {
    pub(crate) fn survey(
        files: &[PathBuf],
        format: Format,
        options: &Options,
    ) -> Result<(Self, FirstPass), ConvertError> {
        let mut notes = Vec::new();
        let (looked, tally) = match format {
            _ if format.is_text() => look_at_text(files, format, options, &mut notes)?,
            _ => look_at_columns(files, format, options, &mut notes)?,
        };
        let Looked { layout, linked, .. } = looked;
        if let Some(table) = &looked.text {
            notes.extend(left_out(&table.schema(), options));
        }
        notes.extend(rename::notes(&layout.attributes, &looked.schema));
        notes.extend(geometry::note(&looked.schema, options));
        let kind = kind_of(options, linked);
        let naming = looked.nodes.finish()?;
        let table = SurveyedLinks::survey(options, tally.extent.count(), naming)?;
        let linked_schema = table.iter().map(SurveyedLinks::schema);
        let schemas: Vec<_> = std::iter::once(&*looked.schema)
            .chain(linked_schema)
            .collect();
        rename::check_named(&schemas, options)?;
        let (width, links) = match &table {
            Some(table) => (table.width, table.links),
            None => looked.widths.decide(kind, linked, &mut notes)?,
        };
        notes.extend(table.iter().flat_map(|table| table.notes.iter().cloned()));
        if kind == Kind::Skeleton {
            whole_in_memory(files, tally.extent.count(), options)?;
        }
        let mut objects = tally.ids.len() as u64;
        let owners = if layout.object.is_some() {
            RowOwners::Column
        } else if files.len() == 1 && kind == Kind::PointCloud {
            RowOwners::None
        } else {
            let (ids, by_name) = names::ids(files, options.ids)?;
            notes.push(names::note(&ids, by_name, options.ids));
            objects = ids.len() as u64;
            RowOwners::Files(ids)
        };
        let mut spec = draft(kind, &[], looked.positions);
        spec.crs = looked.crs;
        spec.chunk_shape = vec![1.0; layout.axes.len()];
        spec.axes.clone_from(&layout.axes);
        if kind == Kind::PointCloud && !matches!(owners, RowOwners::None) {
            spec = spec.with_objects();
        }
        match &table {
            Some(table) => spec = table.specify(spec),
            None if width > 2 => spec = spec.with_link_width(width),
            None => {}
        }
        let path = files.first().map_or(Path::new(""), PathBuf::as_path);
        let mut decided = Vec::new();
        for (attribute, census) in layout.attributes.iter().zip(&looked.seen) {
            let (mut one, note) = attribute.decide(census, options.nulls).map_err(|found| {
                let (found, expected) = refused(&attribute.name, found);
                ConvertError::malformed(path, InFile::Whole, found, expected)
            })?;
            let field = looked.schema.fields().get(attribute.column);
            one.spec = described(one.spec, field.or_bug("a column without a field")?)?;
            spec = spec.with_vertex_attribute(one.spec.clone());
            decided.push(one);
            notes.extend(note);
        }
        if looked.dropped > 0 {
            let dropped = looked.dropped;
            notes.push(format!("{dropped} rows with missing values are left out"));
        }
        if matches!(owners, RowOwners::Files(_)) {
            spec = spec.with_object_attribute(AttributeSpec::text("name"));
        }
        let found = FirstPass {
            extent: tally.extent,
            objects,
            links,
            spec,
            frame: looked.header,
            stated: layout.stated,
            notes,
        };
        let reader = Self {
            files: files.to_vec(),
            format,
            options: options.clone(),
            kind,
            text: looked.text,
            layout,
            decided,
            owners,
            width,
            table,
        };
        Ok((reader, found))
    }
}
