//! Tables of separated values: a vertex a row.

pub(crate) mod column;
pub(crate) mod rows;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use zvf_write::{AttributeSpec, Batch, Kind, ObjectTable, Values};

use crate::error::{ConvertError, Place, shown};
use crate::names;
use crate::options::{Nulls, Options};
use crate::records::links::LinkTable;
use crate::records::{index_note, refused, too_many_texts, unnamed, whole_in_memory};
use crate::shape::Extent;
use crate::text::single_holds;
use crate::{Found, Sink, draft, float_type};
use column::{Census, Filling, Type};
use rows::Rows;

/// Files to be read again.
#[derive(Debug)]
pub(crate) struct Tables {
    files: Vec<PathBuf>,
    options: Options,
    layout: Layout,
    types: Vec<Type>,
    owners: Owners,
    links: Option<LinkTable>,
    /// Whether all rows and links are one batch.
    whole: bool,
}

/// Which object a row belongs to.
#[derive(Debug)]
enum Owners {
    None,
    /// The one of its file.
    Files(Vec<i64>),
    /// The one that its column says.
    Column(usize),
}

/// Which column is what.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Layout {
    header: Vec<String>,
    position: Vec<usize>,
    object: Option<usize>,
    attributes: Vec<usize>,
}

impl Layout {
    fn name(&self, at: usize) -> &str {
        self.header.get(at).map_or("", String::as_str)
    }

    /// The first column that is read whose field is empty.
    fn gap(&self, rows: &Rows) -> Option<usize> {
        let read = self
            .position
            .iter()
            .chain(&self.object)
            .chain(&self.attributes);
        read.copied().find(|at| rows.field(*at).trim().is_empty())
    }

    /// Remarks on columns that become nothing without being asked for.
    fn left_out(&self, options: &Options) -> Vec<String> {
        let names = self.header.iter().filter(|name| {
            options.attributes.is_none() && unnamed(name) && !options.exclude.contains(name)
        });
        names.map(|name| index_note(name)).collect()
    }
}

impl Tables {
    pub(crate) fn survey(
        files: &[PathBuf],
        kind: Kind,
        options: &Options,
    ) -> Result<(Self, Found), ConvertError> {
        let mut known: Option<Layout> = None;
        let mut extent = Extent::new(1);
        let mut columns: Vec<Census> = Vec::new();
        let (mut single, mut ids, mut last) = (true, HashSet::new(), None);
        let mut dropped = 0_u64;
        for file in files {
            let mut rows = Rows::open(file, options)?;
            let header = rows.header()?;
            let layout = match &known {
                None => {
                    let layout = layout(file, header, options)?;
                    extent = Extent::new(layout.position.len());
                    columns.resize_with(layout.attributes.len(), Census::default);
                    known.insert(layout)
                }
                Some(layout) if layout.header == header => layout,
                Some(layout) => {
                    let expected = format!(
                        "the columns of the first file: {}",
                        layout.header.join(", ")
                    );
                    let place = Place::Line(1);
                    return Err(ConvertError::malformed(
                        file,
                        place,
                        header.join(", "),
                        expected,
                    ));
                }
            };
            let mut position = Vec::new();
            while rows.step()? {
                if options.nulls == Nulls::DropRow && layout.gap(&rows).is_some() {
                    dropped = dropped.saturating_add(1);
                    continue;
                }
                if let Some(at) = layout.gap(&rows).filter(|_| options.nulls == Nulls::Error) {
                    let (found, expected) = refused(layout.name(at), "no value".to_owned());
                    return Err(rows.bad(found, expected));
                }
                position.clear();
                for &at in &layout.position {
                    let value = coordinate(&rows, layout, at)?;
                    single &= single_holds(rows.field(at).trim(), value);
                    position.push(value);
                }
                extent.add(&position);
                if extent.count() > options.limits.vertices {
                    let limit = options.limits.vertices;
                    return Err(ConvertError::limit(file, rows.place(), "rows", limit));
                }
                if let Some(at) = layout.object {
                    let id = object(&rows, layout, at)?;
                    let chain = matches!(kind, Kind::Polyline | Kind::Streamline);
                    if last != Some(id) && !ids.insert(id) && chain {
                        let expected = "the rows of an object one after another";
                        return Err(rows.bad(format!("object {id} again, after others"), expected));
                    }
                    last = Some(id);
                }
                for (census, &at) in columns.iter_mut().zip(&layout.attributes) {
                    if !census.see(rows.field(at), options.limits.categories, options.nulls) {
                        return Err(too_many_texts(file, rows.place(), layout.name(at), options));
                    }
                }
            }
        }
        let Some(layout) = known else {
            return Err(ConvertError::usage("files", "none", "at least one"));
        };
        let types = columns.iter().map(|census| census.decide(options.nulls));
        let types: Vec<Type> = types.collect();
        let mut texts = types.iter().zip(&columns).zip(&layout.attributes);
        // Whole numbers that no number type holds all of: they are texts only now.
        if let Some((_, &at)) =
            texts.find(|((kind, census), _)| **kind == Type::Text && census.overflows())
        {
            let path = files.first().map_or(Path::new(""), PathBuf::as_path);
            let name = layout.name(at);
            return Err(too_many_texts(path, Place::Whole, name, options));
        }
        let mut notes = layout.left_out(options);
        if dropped > 0 {
            notes.push(format!("{dropped} rows with empty fields are left out"));
        }
        let mut objects = ids.len() as u64;
        let owners = match (layout.object, files.len()) {
            (Some(at), _) => Owners::Column(at),
            (None, 1) if kind == Kind::PointCloud => Owners::None,
            (None, _) => {
                let (ids, by_name) = names::ids(files);
                notes.push(names::note(&ids, by_name));
                objects = ids.len() as u64;
                Owners::Files(ids)
            }
        };
        let links = LinkTable::survey(options, extent.count())?;
        notes.extend(links.iter().flat_map(|links| links.notes.iter().cloned()));
        let whole = kind == Kind::Skeleton;
        if whole {
            whole_in_memory(files, extent.count(), options)?;
        }
        let axes: Vec<&str> = layout.position.iter().map(|&at| layout.name(at)).collect();
        let mut spec = draft(kind, &axes, float_type(single));
        if kind == Kind::PointCloud && !matches!(owners, Owners::None) {
            spec = spec.with_objects();
        }
        if let Some(links) = &links {
            spec = links.specify(spec);
        }
        for ((&at, kind), census) in layout.attributes.iter().zip(&types).zip(&columns) {
            let name = layout.name(at);
            if let (Nulls::Value(fill), true) =
                (options.nulls, kind.is_whole() && census.has_gaps())
            {
                if census.taken() {
                    let found = format!("missing values, and the number {fill} itself");
                    let (found, expected) = refused(name, found);
                    let path = files.first().map_or(Path::new(""), PathBuf::as_path);
                    return Err(ConvertError::malformed(path, Place::Whole, found, expected));
                }
                notes.push(format!(
                    "column {}: empty fields become {fill}",
                    shown(name)
                ));
                let attribute = kind.spec(name, true);
                let said = format!("{fill} is a missing value");
                spec = spec.with_vertex_attribute(attribute.with_description(said));
                continue;
            }
            spec = spec.with_vertex_attribute(kind.spec(name, census.has_gaps()));
            notes.extend(
                census
                    .note(*kind)
                    .map(|note| format!("column {}: {note}", shown(name))),
            );
        }
        if matches!(owners, Owners::Files(_)) {
            spec = spec.with_object_attribute(AttributeSpec::text("name"));
        }
        let found = Found {
            extent,
            objects,
            links: links.as_ref().map_or(0, |links| links.links),
            spec,
            frame: None,
            notes,
        };
        let reader = Self {
            files: files.to_vec(),
            options: options.clone(),
            layout,
            types,
            owners,
            links,
            whole,
        };
        Ok((reader, found))
    }

    pub(crate) fn read(&self, sink: &mut dyn Sink) -> Result<(), ConvertError> {
        for (number, file) in self.files.iter().enumerate() {
            let mut rows = Rows::open(file, &self.options)?;
            let header = rows.header()?;
            if header != self.layout.header {
                let expected = "those of when the file was looked at";
                return Err(ConvertError::malformed(
                    file,
                    Place::Line(1),
                    "other columns",
                    expected,
                ));
            }
            let mut held = Held::new(self);
            let fill = match self.options.nulls {
                Nulls::Value(fill) => Some(fill.to_string()),
                _ => None,
            };
            let mut vertices = 0_u64;
            while rows.step()? {
                if self.options.nulls == Nulls::DropRow && self.layout.gap(&rows).is_some() {
                    continue;
                }
                vertices = vertices.saturating_add(1);
                for &at in &self.layout.position {
                    held.positions.push(coordinate(&rows, &self.layout, at)?);
                }
                match &self.owners {
                    Owners::None => {}
                    Owners::Files(ids) => held.owner(ids.get(number).copied().unwrap_or_default()),
                    Owners::Column(at) => held.owner(object(&rows, &self.layout, *at)?),
                }
                for (filling, &at) in held.columns.iter_mut().zip(&self.layout.attributes) {
                    let text = match (&fill, rows.field(at)) {
                        (Some(fill), text) if text.trim().is_empty() && filling.is_whole() => fill,
                        (_, text) => text,
                    };
                    if !filling.take(text) {
                        let what =
                            format!("{} in column {}", shown(text), shown(self.layout.name(at)));
                        return Err(rows.bad(what, "what was there when the file was looked at"));
                    }
                }
                held.rows += 1;
                if held.rows >= self.options.batch && !self.whole {
                    held.push(self, sink)?;
                }
            }
            match &self.links {
                Some(links) if self.whole => {
                    (held.links, held.link_columns) = links.all(vertices)?;
                    held.push(self, sink)?;
                }
                Some(links) => {
                    held.push(self, sink)?;
                    links.read(vertices, &mut |ends, columns| {
                        let mut batch =
                            Held::new(self).batch(self).with_links_between_batches(ends);
                        for (name, values) in columns {
                            batch = batch.with_link_attribute(name, values);
                        }
                        Ok(sink.batch(&batch)?)
                    })?;
                }
                None => held.push(self, sink)?,
            }
            if let Owners::Files(ids) = &self.owners
                && let Some(&id) = ids.get(number)
            {
                let table = ObjectTable::new(vec![id])
                    .with_attribute("name", Values::texts([names::stem(file)]));
                sink.objects(&table)?;
            }
        }
        Ok(())
    }
}

/// Rows on their way.
struct Held {
    rows: usize,
    positions: Vec<f64>,
    runs: Vec<(i64, usize)>,
    columns: Vec<Filling>,
    links: Vec<u64>,
    link_columns: Vec<(String, Values<'static>)>,
}

impl Held {
    fn new(tables: &Tables) -> Self {
        Self {
            rows: 0,
            positions: Vec::new(),
            runs: Vec::new(),
            columns: tables.types.iter().map(|kind| kind.filling()).collect(),
            links: Vec::new(),
            link_columns: Vec::new(),
        }
    }

    fn owner(&mut self, id: i64) {
        match self.runs.last_mut() {
            Some((last, rows)) if *last == id => *rows += 1,
            _ => self.runs.push((id, 1)),
        }
    }

    fn push(&mut self, tables: &Tables, sink: &mut dyn Sink) -> Result<(), ConvertError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut full = std::mem::replace(self, Self::new(tables));
        let (links, mut columns) = (
            std::mem::take(&mut full.links),
            std::mem::take(&mut full.link_columns),
        );
        let mut batch = full.batch(tables);
        if let Some(table) = &tables.links {
            if columns.is_empty() {
                columns = table.none();
            }
            batch = batch.with_links(links);
            for (name, values) in columns {
                batch = batch.with_link_attribute(name, values);
            }
        }
        Ok(sink.batch(&batch)?)
    }

    /// The rows as a batch, without links.
    fn batch(self, tables: &Tables) -> Batch<'static> {
        let mut batch = Batch::new(self.positions);
        if !matches!(tables.owners, Owners::None) {
            batch = batch.with_object_runs(self.runs);
        }
        for (filling, &at) in self.columns.into_iter().zip(&tables.layout.attributes) {
            batch = batch.with_attribute(tables.layout.name(at), filling.into_values());
        }
        batch
    }
}

fn coordinate(rows: &Rows, layout: &Layout, at: usize) -> Result<f64, ConvertError> {
    let field = rows.field(at).trim();
    match field.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => {
            let expected = format!("a finite number in column {}", shown(layout.name(at)));
            Err(rows.bad(shown(field), expected))
        }
    }
}

fn object(rows: &Rows, layout: &Layout, at: usize) -> Result<i64, ConvertError> {
    let field = rows.field(at).trim();
    field.parse::<i64>().map_err(|_| {
        let expected = format!(
            "the id of an object in column {}, a whole number",
            shown(layout.name(at))
        );
        rows.bad(shown(field), expected)
    })
}

/// Finds the columns that are asked for.
fn layout(file: &Path, header: Vec<String>, options: &Options) -> Result<Layout, ConvertError> {
    let all = header.join(", ");
    let find = |what: &str, name: &str| {
        let found = header.iter().position(|column| column == name);
        found.ok_or_else(|| {
            let expected = format!("one of the columns of {}: {all}", file.display());
            ConvertError::usage(what, shown(name), expected)
        })
    };
    for (at, name) in header.iter().enumerate() {
        if !name.is_empty() && header.iter().take(at).any(|other| other == name) {
            let found = format!("column {} again", shown(name));
            return Err(ConvertError::malformed(
                file,
                Place::Line(1),
                found,
                "a name of its own",
            ));
        }
    }
    for name in &options.exclude {
        find("exclude", name)?;
    }
    let position: Vec<usize> = match &options.position {
        Some(names) => {
            if !(1..=4).contains(&names.len()) {
                let found = format!("{} columns", names.len());
                return Err(ConvertError::usage("position", found, "1 to 4"));
            }
            names
                .iter()
                .map(|name| find("position", name))
                .collect::<Result<_, _>>()?
        }
        None => {
            let axis = |axis: &str| {
                header
                    .iter()
                    .position(|name| name.eq_ignore_ascii_case(axis))
            };
            match (axis("x"), axis("y"), axis("z")) {
                (Some(x), Some(y), Some(z)) => vec![x, y, z],
                (Some(x), Some(y), None) => vec![x, y],
                _ => {
                    let expected =
                        "columns x and y (and z), or others that are named as the position";
                    return Err(ConvertError::malformed(file, Place::Line(1), all, expected));
                }
            }
        }
    };
    for (at, column) in position.iter().enumerate() {
        if position.iter().take(at).any(|other| other == column) {
            let found = header.get(*column).map_or("", String::as_str);
            return Err(ConvertError::usage(
                "position",
                format!("{} again", shown(found)),
                "another column",
            ));
        }
    }
    let object = options.object_column.as_deref();
    let object = object.map(|name| find("object column", name)).transpose()?;
    if let Some(at) = object.filter(|at| position.contains(at)) {
        let found = header.get(at).map_or("", String::as_str);
        return Err(ConvertError::usage(
            "object column",
            shown(found),
            "another column than those of the position",
        ));
    }
    let free = |at: &usize| !position.contains(at) && object != Some(*at);
    let attributes: Vec<usize> = match &options.attributes {
        None => {
            let kept = |at: &usize| {
                let name = header.get(*at).map_or("", String::as_str);
                free(at) && !unnamed(name) && !options.exclude.iter().any(|one| one == name)
            };
            (0..header.len()).filter(kept).collect()
        }
        Some(names) => {
            let asked = names.iter().map(|name| find("attributes", name));
            let mut asked = asked.collect::<Result<Vec<usize>, _>>()?;
            if let Some(at) = asked.iter().find(|at| !free(at)) {
                let found = header.get(*at).map_or("", String::as_str);
                let expected = "columns that are neither position nor object";
                return Err(ConvertError::usage("attributes", shown(found), expected));
            }
            asked.sort_unstable();
            asked.dedup();
            asked
        }
    };
    Ok(Layout {
        header,
        position,
        object,
        attributes,
    })
}
