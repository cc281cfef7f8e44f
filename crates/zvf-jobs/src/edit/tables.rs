//! The jobs `edit-append`, `edit-move` and `edit-set-attribute`, which read tables.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::slice;

use futures::FutureExt;
use futures::future::BoxFuture;
use zvf_convert::{Options, check_named};
use zvf_edit::{Edit, Matching, Scope, SetAttribute};
use zvf_query::Expression;
use zvf_store::Need;

use super::computed::computed;
use super::{EditNotes, EditReport, begin, report};
use crate::checks::{at_most_one, needs};
use crate::chunk_size::small_chunks;
use crate::error::Result;
use crate::local_files::{LocalFiles, check_endings};
use crate::selection::of_member;
use crate::tables::{EditPlace, EditTable, EditTables, edit_remarks, fill_text, set_fills};
use crate::values::pairs;
use crate::{ColumnOptions, Context, FillValue, JobError, JobEvent, PlaceOptions, TableOptions};

edit_options! {
    /// Adds vertices: new objects, or more vertices of existing points, polylines and streamlines
    EditAppendJob {
        /// A table of vertices; path or URL
        #[schemars(extend("format" = "path"))]
        file: PathBuf,
        /// A table of links, path or URL: a column for each end (a row of the table of vertices, counted from 0), then one for each link attribute
        #[arg(long, value_name = "FILE")]
        #[schemars(extend("format" = "path"))]
        links: Option<PathBuf>,
        /// How the columns of tables are read.
        #[command(flatten)]
        #[serde(flatten)]
        columns: ColumnOptions,
        /// Where the positions of the table belong.
        #[command(flatten)]
        #[serde(flatten)]
        place: PlaceOptions,
        /// Value of the attribute NAME for new vertices or objects without one in FILE; repeatable
        #[arg(long, value_name = "NAME=VALUE", value_parser = crate::parse_pair::<FillValue>, allow_hyphen_values = true)]
        #[serde(with = "pairs")]
        #[schemars(with = "BTreeMap<String, FillValue>")]
        fill: Vec<(String, FillValue)>,
    }
}

edit_options! {
    /// Moves vertices to new positions
    EditMoveJob {
        /// A table of positions; path or URL
        #[arg(long, value_name = "FILE")]
        #[schemars(extend("format" = "path"))]
        from: PathBuf,
        /// How its columns are read
        #[command(flatten)]
        #[serde(flatten)]
        columns: TableOptions,
        /// How its rows find their vertices
        #[command(flatten)]
        #[serde(flatten)]
        matching: MatchOptions,
    }
}

edit_options! {
    /// Replaces values of an attribute, or adds one
    EditSetAttributeJob {
        /// The attribute
        name: String,
        /// A table of values, path or URL, or values alone: .npy, track scalars (.tsf), a text of numbers without a header line
        #[arg(long, value_name = "FILE", required_unless_present_any = ["fill", "expr"])]
        #[schemars(extend("format" = "path"))]
        from: Option<PathBuf>,
        /// Computes the values in the arithmetic of conditions, e.g. `sqrt(vx * vx + vy * vy)`, `fa - object.mean_fa`, or `fa > 0.5`; with --object
        /// from values of the object, such as `length() / count()`, with --link from attributes of the link
        #[arg(long, value_name = "EXPR", conflicts_with_all = ["from", "key", "by_order", "by_object_order", "ignore_missing", "new_objects"], allow_hyphen_values = true)]
        expr: Option<String>,
        /// How its columns are read
        #[command(flatten)]
        #[serde(flatten)]
        columns: TableOptions,
        /// How its rows find their vertices, objects or links
        #[command(flatten)]
        #[serde(flatten)]
        matching: MatchOptions,
        /// The attribute belongs to objects and not to vertices; a row names its object by `object_id`
        #[arg(long)]
        object: bool,
        /// The attribute belongs to links and not to vertices; a row names its link by the ends
        #[arg(long, conflicts_with = "object")]
        link: bool,
        /// Adds the attribute, with this type: float32, int64, …, text, date, `datetime64[s]`, `timedelta64[ms]`, …
        #[arg(long, value_name = "TYPE")]
        r#type: Option<String>,
        /// The value where the table has none; it is recorded, and later used for appended vertices, links and objects without a value
        #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
        fill: Option<FillValue>,
        /// With --object: creates objects that the store does not have, without vertices
        #[arg(long = "new", requires = "object")]
        new_objects: bool,
    }
}

options! {
    /// How the rows of a table are matched with the rows of a store.
    MatchOptions {
        /// Attributes that together identify a vertex (object, link); the table has columns with the same names
        #[arg(long, value_name = "COLUMN[,COLUMN..]", value_delimiter = ',', conflicts_with = "by_order")]
        key: Vec<String>,
        /// One row for each vertex (object, link), in the order of `zvf query STORE` (`zvf objects`, `zvf links`)
        #[arg(long)]
        by_order: bool,
        /// One row for each vertex: object by object in the order of `zvf objects`, and along each object, as in files of values for a tractogram
        #[arg(long, conflicts_with_all = ["key", "by_order"])]
        by_object_order: bool,
        /// Leaves out rows that are not in the store
        #[arg(long)]
        ignore_missing: bool,
    }
}

impl MatchOptions {
    fn check(&self) -> Result<()> {
        at_most_one(&[
            ("key", !self.key.is_empty()),
            ("by_order", self.by_order),
            ("by_object_order", self.by_object_order),
        ])
    }

    fn matching(&self) -> Matching {
        let mut how = Matching::by_key(self.key.clone()).with_ignore_missing(self.ignore_missing);
        how.by_order = self.by_order;
        how.by_object_order = self.by_object_order;
        how
    }
}

/// Reads the frame of a store, in which positions of tables are placed.
async fn place_of(store: &str, options: &PlaceOptions, context: &Context) -> Result<EditPlace> {
    let opened = context.open(store, 0, Need::nothing()).await?;
    let place = EditPlace::of(&opened, options).await;
    place.map_err(|error| error.at(store))
}

impl EditAppendJob {
    pub(crate) fn check(&self) -> Result<()> {
        self.columns.check()
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<EditReport>> {
        async move {
            check_endings(std::iter::once(&self.file).chain(&self.links))?;
            let (job, local) = LocalFiles::of_job(
                self,
                |job| {
                    let named = [&mut job.links, &mut job.place.map.affine];
                    let named = named.into_iter().flatten();
                    std::iter::once(&mut job.file).chain(named).collect()
                },
                context,
            )
            .await?;
            let made = job.make(&local, context).await;
            made.map_err(|error| local.named(error))
        }
        .boxed()
    }

    async fn make(&self, local: &LocalFiles, context: &Context) -> Result<EditReport> {
        // The table is read first, so that a table that cannot be read does not leave the store marked as being changed.
        let mut options = Options::default();
        self.columns.apply(&mut options, context.memory_budget);
        let mut tables = EditTables::read(&self.file, None, self.links.as_deref(), &options)?;
        EditTables::check_named(slice::from_ref(&tables), &options)?;
        let place = place_of(&self.store, &self.place, context).await?;
        let placed = place.new_vertices(&mut tables)?;
        let mut edit = begin(&self.store, context).await?;
        let made = self.append(&mut edit, &tables).await.map(|mut notes| {
            notes.extend(local.named_notes(&placed));
            let small = small_chunks(&edit, &self.store);
            if let Some(note) = &small {
                context.event(&JobEvent::Note(note));
            }
            EditNotes {
                notes,
                shown: small.into_iter().collect(),
                ..EditNotes::default()
            }
        });
        report(edit, &self.store, made, context).await
    }

    /// Adds vertices with their links; returns notes for the user.
    async fn append(&self, edit: &mut Edit, tables: &EditTables) -> Result<Vec<String>> {
        set_fills(edit, &self.fill).await?;
        let vertices = tables.vertices.vertices(edit)?;
        let has_objects = edit.spec().has_objects() && edit.object_ids().next().is_some();
        if has_objects && vertices.column_by_name("object_id").is_none() {
            // Without ids, the vertices would become object 0.
            return Err(JobError::usage(
                "found no column object_id, expected one: it states to which object a vertex belongs; `zvf append` gives new objects their ids",
            ));
        }
        let mut unknown = tables.vertices.unknown(edit.spec());
        if let Some(links) = &tables.links {
            unknown.append(&mut links.unknown_of_links(edit.spec())?);
        }
        let links = tables.links.as_ref();
        let ids = tables.ids.as_ref();
        let links = links.map(|links| links.links(edit, ids)).transpose()?;
        let fitted = edit.append_records(&vertices, links.as_ref()).await?;
        let mut notes = edit_remarks(edit, &unknown, [&fitted.vertices, &fitted.links]);
        let attributes = &edit.spec().vertex_attributes;
        notes.extend(tables.vertices.unstated_units(attributes));
        Ok(notes)
    }
}

impl EditMoveJob {
    pub(crate) fn check(&self) -> Result<()> {
        self.matching.check()
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<EditReport>> {
        async move {
            check_endings([&self.from])?;
            let (job, local) = LocalFiles::of_job(self, |job| vec![&mut job.from], context).await?;
            let made = job.make(context).await;
            made.map_err(|error| local.named(error))
        }
        .boxed()
    }

    async fn make(&self, context: &Context) -> Result<EditReport> {
        let options = self.columns.options();
        let mut table = EditTable::read_as(&self.from, None, &options)?;
        check_named(&[table.batch().schema_ref()], &options)?;
        let place = place_of(&self.store, &PlaceOptions::default(), context).await?;
        let notes = place.stored_vertices(&mut table)?;
        let mut edit = begin(&self.store, context).await?;
        let made = self.move_rows(&mut edit, &table).await;
        let made = made.map(|made| EditNotes { notes, ..made });
        report(edit, &self.store, made, context).await
    }

    async fn move_rows(&self, edit: &mut Edit, table: &EditTable) -> Result<EditNotes> {
        let how = self.matching.matching();
        let mut columns = match how.key.is_empty() {
            true => table.places(edit.spec(), false)?,
            false => table.keys(&how.key, &edit.vertex_attributes())?,
        };
        columns.push(table.positions(edit.spec())?);
        let records = table.records(columns, &[], |_| None)?;
        Ok(EditNotes {
            matched: Some(edit.move_records(&records, &how).await?),
            ..EditNotes::default()
        })
    }
}

impl EditSetAttributeJob {
    pub(crate) fn check(&self) -> Result<()> {
        if self.from.is_none() && self.fill.is_none() && self.expr.is_none() {
            let expected = "a file, `expr` or `fill`";
            return Err(JobError::option("from", "nothing", expected));
        }
        let matching = &self.matching;
        for other in [
            ("from", self.from.is_some()),
            ("key", !matching.key.is_empty()),
            ("by_order", matching.by_order),
            ("by_object_order", matching.by_object_order),
            ("ignore_missing", matching.ignore_missing),
            ("new_objects", self.new_objects),
        ] {
            at_most_one(&[("expr", self.expr.is_some()), other])?;
            // `fill` alone sets all values.
            if self.expr.is_none() {
                needs(other, &[("from", self.from.is_some())])?;
            }
        }
        self.columns.check()?;
        if self.from.is_none() && self.columns != TableOptions::default() {
            let expected = "a file, whose columns the other options describe";
            return Err(JobError::option("from", "nothing", expected));
        }
        self.expression()?;
        let object = ("object", self.object);
        at_most_one(&[object, ("link", self.link)])?;
        needs(("new_objects", self.new_objects), &[object])?;
        self.matching.check()
    }

    fn expression(&self) -> Result<Option<Expression>> {
        let expression = self.expr.as_deref().map(Expression::parse);
        expression.transpose().map_err(of_member)
    }

    fn scope(&self) -> Scope {
        match (self.object, self.link) {
            (true, _) => Scope::Object,
            (_, true) => Scope::Link,
            _ => Scope::Vertex,
        }
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<EditReport>> {
        async move {
            let (job, local) =
                LocalFiles::of_job(self, |job| job.from.iter_mut().collect(), context).await?;
            let made = job.make(context).await;
            made.map_err(|error| local.named(error))
        }
        .boxed()
    }

    async fn make(&self, context: &Context) -> Result<EditReport> {
        let scope = self.scope();
        let how = self.matching.matching();
        let mut how = how.with_new_objects(self.new_objects);
        // Computed values of vertices and links have no ids: they are matched by their order.
        how.by_order |= self.expr.is_some() && scope != Scope::Object;
        let table = self.from.as_deref().map(|from| {
            let along = how.by_object_order && scope == Scope::Vertex;
            EditTable::of_attribute(from, &self.name, along, &self.columns.options())
        });
        let mut table = table.transpose()?;
        let mut notes = Vec::new();
        let by_position = how.key.is_empty() && !how.by_order && !how.by_object_order;
        if let (Some(table), Scope::Vertex, true) = (&mut table, scope, by_position)
            && !table.is_divided()
        {
            let place = place_of(&self.store, &PlaceOptions::default(), context).await?;
            notes = place.stored_vertices(table)?;
        }
        if let Some(table) = table.as_ref().filter(|table| table.is_divided()) {
            if scope != Scope::Vertex {
                return Err(JobError::usage(format!(
                    "{}: has values of vertices, expected values of {}",
                    table.name(),
                    scope.plural()
                )));
            }
            how.by_object_order |= !how.by_order && how.key.is_empty();
        }
        let mut edit = begin(&self.store, context).await?;
        let set = SetAttribute::new(scope, &self.name).with_matching(how);
        let made = self.set(&mut edit, table.as_ref(), set, context).await;
        let made = made.map(|mut made| {
            made.notes.splice(0..0, notes);
            made
        });
        report(edit, &self.store, made, context).await
    }

    /// Sets values of an attribute, or adds it.
    async fn set(
        &self,
        edit: &mut Edit,
        table: Option<&EditTable>,
        mut set: SetAttribute,
        context: &Context,
    ) -> Result<EditNotes> {
        let (scope, name) = (set.scope, &self.name);
        if let Some(table) = table {
            table.check_lengths(edit).await?;
        }
        let known = match scope {
            Scope::Object => edit.object_attributes().await?,
            Scope::Link => edit.spec().links.attributes.clone(),
            Scope::Vertex => edit.vertex_attributes(),
        };
        let known_one = known.iter().find(|one| one.name == *name);
        if let Some(type_) = &self.r#type {
            if known_one.is_some() {
                let message = format!(
                    "the {} attribute {name} exists: leave out --type, which adds an attribute",
                    scope.name()
                );
                return Err(JobError::usage(message));
            }
            let columns = table.map_or_else(Vec::new, |table| table.channels(name, None));
            set = set.with_type(type_, columns.len().max(1))?;
            if let (Some(new), Some(table)) = (&mut set.new, table) {
                *new = table.described(new.clone(), &columns)?;
            }
        }
        let Some(one) = set.new.as_ref().or(known_one).cloned() else {
            let message = format!(
                "no {} attribute {name}; --type TYPE adds it (float32, text, date, …)",
                scope.name()
            );
            return Err(JobError::usage(message));
        };
        let fill = self.fill.as_ref().map(|fill| fill_text(&one, fill.value()));
        if let Some(fill) = &fill {
            set = set.with_fill(fill);
        }
        let mut warnings = Vec::new();
        let mut made = None;
        if let Some(expression) = self.expression()? {
            let found = computed(&self.store, scope, &expression, &one, context).await?;
            made = Some(found.0);
            warnings = found.1;
        }
        let Some(table) = table.or(made.as_ref()) else {
            let matched = Some(edit.set_attribute(&set, None).await?);
            return Ok(EditNotes {
                matched,
                ..EditNotes::default()
            });
        };
        let mut columns = match (scope, set.matching.key.is_empty()) {
            (_, false) => table.keys(&set.matching.key, &known)?,
            (Scope::Object, _) => Vec::from_iter(table.ids()?),
            (Scope::Link, _) => table.ends(edit.spec().links.width)?,
            (Scope::Vertex, _) => table.places(edit.spec(), true)?,
        };
        let gaps = fill.as_deref().or(edit.fill(scope, name));
        columns.push(match scope {
            Scope::Object => table.given_of_objects(&one, gaps)?,
            Scope::Vertex | Scope::Link => table.given(&one, gaps)?,
        });
        let records = table.records(columns, &[], |_| None)?;
        let matched = edit.set_attribute(&set, Some(&records)).await?;
        let mut notes = matched.remarks(&set);
        if self.expr.is_none() {
            notes.extend(table.unstated_units(std::slice::from_ref(&one)));
        }
        Ok(EditNotes {
            notes,
            warnings,
            matched: Some(matched),
            shown: Vec::new(),
        })
    }
}
