//! Writes what a query of a store finds as a file of another format.
//!
//! ```
//! use zvf_convert::export::{ExportOptions, export};
//! use zvf_convert::{Format, Import, Options};
//! use zvf_store::{Store, blocking::Runtime};
//! use zvf_write::{StoreWriter, WriteOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let address = folder.path().join("made.zarrvectors").to_string_lossy().into_owned();
//! # let swc = folder.path().join("7.swc");
//! # std::fs::write(&swc, "1 1 0.5 0 0 2 -1\n2 3 4 0 0 1.5 1\n")?;
//! # let import = Import::open(&[swc], &Options::default())?;
//! let out = folder.path().join("out.swc");
//! Runtime::new()?.wait(async {
//! #   let mut writer = StoreWriter::create(&address, import.spec().clone(), WriteOptions::new()).await?;
//! #   import.read(&mut writer)?;
//! #   writer.finish().await?;
//!     let store = Store::open(&address).await?;
//!     let done = export(&store, Format::of(&out)?, &out, &ExportOptions::default()).await?;
//!     assert_eq!(done.vertices, 2);
//!     Ok::<_, Box<dyn std::error::Error>>(())
//! })?;
//! assert!(std::fs::read_to_string(&out)?.ends_with("1 1 0.5 0.0 0.0 2.0 -1\n2 3 4.0 0.0 0.0 1.5 1\n"));
//! # Ok(())
//! # }
//! ```
//!
//! # What a format holds
//!
//! | format | kinds | order | attributes | memory |
//! |---|---|---|---|---|
//! | CSV, TSV | all | by object for lines, polylines and streamlines, else by chunk | of vertices, `object_id` | a batch |
//! | Arrow, Parquet | all | the same | the same, typed | a batch; of Parquet a row group |
//! | NPY | all | the same | none | a batch |
//! | NPZ | all | the same | numbers, `object_id`; `edges` or `faces` | a batch, and temporary files |
//! | SWC | skeleton, graph without cycles | by `node_id`, else parents first | `type`, `radius`, `node_id` | 40 bytes a node, and temporary files |
//! | OBJ | mesh; edges and chains as `l` | by chunk | `color` of three channels | a batch |
//! | PLY | all | by chunk; faces, or edges | numbers, `object_id` where there are several | a batch |
//! | STL | mesh | faces as stored | none | all positions |
//! | TRK | line, polyline, streamline | by object | numbers, as float32 | an object table |
//! | TCK | line, polyline, streamline | by object | none | an object table |
//! | TRX | line, polyline, streamline | by object | numbers, of their type | an object table, and temporary files |
//!
//! Tables may have a table of links beside them: [`ExportOptions::links`].
//!
//! Positions and numbers come out as they are stored, but for the frame of tractograms: TCK and TRX hold millimetres of the scanner, TRK
//! what its header asks for, and positions of a store in another frame are converted. Text has the fewest digits that read back as the same number. Whatever
//! the format has no place for is named in [`Exported::notes`], and so is every number that it had to round.

mod chains;
mod links;
mod mesh;
mod npz;
mod ply;
mod stl;
mod swc;
mod table;
mod tck;
mod trk;
mod trx;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{Schema, SchemaRef};
use futures::future::BoxFuture;
use zvf_meta::{Affine, Axis, map_of_axes};
use zvf_query::{Answer, Column, Outputs, Query, Select, Table, list_objects, query};
use zvf_store::{Names, Need, Store};
use zvf_write::Kind;

use crate::frame::{Frame, Space};
use crate::options::Limits;
use crate::transform::MILLIMETER;
use crate::{ConvertError, Format};

pub use links::LinksFile;

/// What of a store is written.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ExportOptions {
    /// Level, box, objects, groups, filter, limit and vertex attributes. Its select, columns and outputs are not looked at.
    pub query: Query,
    /// What a hit brings along. Default: whole objects where the format or the kind has them in a row (lines, polylines,
    /// streamlines), else the vertices alone.
    pub select: Option<Select>,
    /// Separated values: what separates columns. Default: a comma.
    pub delimiter: Option<u8>,
    /// Tables: another table for the links of a graph, skeleton or mesh. Default: none, and that they are not kept is said.
    pub links: Option<LinksFile>,
    /// Separated values: the file is packed by gzip.
    pub gzip: bool,
    /// TRK, TCK and TRX: positions are written as they are stored, in whatever frame that is. Default: no, they become those that
    /// the format asks for.
    pub keep_frame: bool,
    /// How much may be held.
    pub limits: Limits,
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// Vertices of the file.
    pub vertices: u64,
    /// Edges or faces of the file; those of chains are implied by the order of vertices and not counted.
    pub links: u64,
    /// Objects of the selection, where the store has any.
    pub objects: u64,
    /// What the format does not hold, and what else was decided.
    pub notes: Vec<String>,
    /// What the store gets wrong.
    pub warnings: Vec<String>,
}

/// The kinds whose objects are rows one after another.
pub fn chained(kind: Kind) -> bool {
    matches!(kind, Kind::Line | Kind::Polyline | Kind::Streamline)
}

/// Writes a selection to the file at `path`, which is replaced. The format is given and not read from the name, so that the
/// file may have a temporary one.
///
/// # Cost
/// As the query; by object, for boxes by object and to SWC, the query twice. Memory: see the table of the module.
///
/// # Errors
/// Misuse: a kind or number of axes that the format does not hold, a query that does not fit the store. I/O; malformed data; a
/// limit. What was written by then stays at `path`.
pub fn export<'a>(
    store: &'a Store,
    format: Format,
    path: &'a Path,
    options: &'a ExportOptions,
) -> BoxFuture<'a, Result<Exported, ConvertError>> {
    Box::pin(async move {
        let frame = Frame::of(store, format).await?;
        let mut job = Job::new(store, format, path, options)?;
        job.frame = frame.map(Arc::new);
        if format.is_tractogram() {
            job.choose_frame()?;
        }
        match format {
            Format::Csv | Format::Npy | Format::Arrow | Format::Parquet => {
                table::write(&mut job).await?;
            }
            Format::Swc => swc::write(&mut job).await?,
            Format::Obj => mesh::write(&mut job).await?,
            Format::Npz => npz::write(&mut job).await?,
            Format::Ply => ply::write(&mut job).await?,
            Format::Stl => stl::write(&mut job).await?,
            Format::Trk => trk::write(&mut job).await?,
            Format::Tck => tck::write(&mut job).await?,
            Format::Trx => trx::write(&mut job).await?,
            Format::Xyz => {
                let what = path.display().to_string();
                let expected = "another format: those of separated values and PLY hold points with their names";
                return Err(ConvertError::usage(what, "XYZ", expected));
            }
            Format::Ndjson => {
                let what = path.display().to_string();
                let expected = "another table: `zvf query -o` writes NDJSON";
                return Err(ConvertError::usage(what, "NDJSON", expected));
            }
            Format::Precomputed => {
                let what = path.display().to_string();
                let expected = "a file: `--format precomputed` writes folders";
                return Err(ConvertError::usage(what, "a folder with `info`", expected));
            }
        }
        let groups = Need {
            groups: true,
            ..Need::nothing()
        };
        let level = store.level(options.query.level, &groups).await?;
        let groups = level.groups().is_some_and(|groups| !groups.is_empty());
        if groups && !job.grouped {
            job.note("groups are not kept");
        }
        if let Some(frame) = job.frame.clone().filter(|_| !job.framed) {
            job.note(format!("the frame (`{}`) is not kept", frame.place));
        }
        if let (Some(limit), true, 0) = (options.query.limit, job.truncated, job.done.vertices) {
            job.note(format!(
            "nothing is written: objects are written as a whole, and the first one has more vertices than the limit of {limit}"
        ));
        }
        let mut warnings = store.warnings();
        warnings.extend(job.warnings);
        warnings.dedup();
        job.done.warnings = warnings;
        Ok(job.done)
    })
}

/// One export under way.
struct Job<'a> {
    store: &'a Store,
    options: &'a ExportOptions,
    format: Format,
    path: &'a Path,
    kind: Kind,
    /// The header of the file that the store was made from.
    frame: Option<Arc<Frame>>,
    /// From stored positions to those of the file; none where they are the same.
    map: Option<Affine>,
    /// Whether the file has it.
    framed: bool,
    /// Whether the file has the groups.
    grouped: bool,
    /// Whether the limit left something out.
    truncated: bool,
    done: Exported,
    warnings: BTreeSet<String>,
}

impl<'a> Job<'a> {
    fn new(
        store: &'a Store,
        format: Format,
        path: &'a Path,
        options: &'a ExportOptions,
    ) -> Result<Self, ConvertError> {
        let kind = store.kind();
        let root = &store.root().zarr_vectors;
        let fits = match format {
            Format::Swc => matches!(kind, Kind::Skeleton | Kind::Graph),
            Format::Stl => kind == Kind::Mesh,
            Format::Obj => kind != Kind::PointCloud,
            Format::Trk | Format::Tck | Format::Trx => chained(kind),
            _ => true,
        };
        if !fits {
            let found = format!("a store of kind {kind}");
            let expected = match format {
                Format::Swc => "skeleton or graph",
                Format::Stl => "mesh",
                Format::Obj => "one with faces or edges",
                _ => "line, polyline or streamline",
            };
            return Err(ConvertError::usage(format.name(), found, expected));
        }
        if let Some(links) = &options.links {
            links.fits(format, kind)?;
        }
        let links = options.links.as_ref();
        let packed = [(options.gzip, format)].into_iter();
        let mut packed = packed.chain(links.map(|links| (links.gzip, links.format)));
        if let Some((_, format)) = packed.find(|(gzip, format)| *gzip && *format != Format::Csv) {
            let expected = "none: only separated values are packed";
            return Err(ConvertError::usage(
                "gzip",
                format!("one for {}", format.name()),
                expected,
            ));
        }
        let dims = root.chunk_shape.len();
        let any = matches!(
            format,
            Format::Csv | Format::Npy | Format::Npz | Format::Arrow | Format::Parquet | Format::Ply
        );
        if !any && dims != 3 {
            let found = format!("a store of {dims} axes");
            return Err(ConvertError::usage(format.name(), found, "3 axes"));
        }
        if let Some(axis) = store
            .root()
            .axes()
            .iter()
            .find(|axis| !any && !axis.is_space())
        {
            let found = format!("axis {} of type {}", axis.name, axis.kind());
            return Err(ConvertError::usage(format.name(), found, "3 axes of space"));
        }
        Ok(Self {
            store,
            options,
            format,
            path,
            kind,
            frame: None,
            map: None,
            framed: false,
            grouped: false,
            truncated: false,
            done: Exported::default(),
            warnings: BTreeSet::new(),
        })
    }

    /// Chooses the frame of the file, and the map to it. A file of TRK has the frame of the header that the store keeps, if it is one of
    /// TRK or has voxels; all others have scanner millimetres.
    fn choose_frame(&mut self) -> Result<(), ConvertError> {
        let Some(frame) = self.frame.clone() else {
            return self.choose_unit();
        };
        if !self.options.keep_frame {
            frame.check()?;
        }
        let as_in_file = self.format == Format::Trk
            && frame.source == "trk"
            && frame.space() == Some(Space::Voxelmm);
        if as_in_file {
            return Ok(());
        }
        if self.options.keep_frame {
            if frame.space() != Some(Space::Rasmm) {
                self.note("positions are as they are stored: programs that read the file take them for those of the scanner");
            }
            return Ok(());
        }
        let to_rasmm = frame.to_rasmm()?;
        let own = match self.format {
            Format::Trk => frame.as_trk(),
            _ => None,
        };
        let Some(own) = own else {
            self.map = to_rasmm;
            return Ok(());
        };
        let to_file = own.voxelmm_to_rasmm().and_then(|map| {
            let inverse = map.inverse();
            inverse.map_err(|error| error.what)
        });
        match to_file {
            Ok(to_file) => {
                self.map = Some(match &to_rasmm {
                    Some(to_rasmm) => to_file.after(to_rasmm),
                    None => to_file,
                });
            }
            // No voxels to go back to: the header places positions as those of the scanner.
            Err(why) => {
                self.note(format!(
                    "the header of TRK (`{}`) is not used: {why}",
                    frame.place
                ));
                self.frame = None;
                return Ok(());
            }
        }
        self.frame = Some(Arc::new(own));
        Ok(())
    }

    /// The map to millimetres, which tractograms are in, from the unit of a store that was made of other files.
    fn choose_unit(&mut self) -> Result<(), ConvertError> {
        if self.options.keep_frame {
            return Ok(());
        }
        let axes = self.store.root().axes();
        let units: BTreeSet<&str> = axes
            .iter()
            .filter_map(|axis| axis.unit.as_deref())
            .collect();
        let in_millimeters = |axis: &Axis| Axis {
            unit: Some(MILLIMETER.to_owned()),
            ..axis.clone()
        };
        let to: Vec<Axis> = axes.iter().map(in_millimeters).collect();
        let map = map_of_axes(axes, &to).map_err(|differ| {
            let expected = format!(
                "{}; --keep-frame writes the numbers of the store",
                differ.expected
            );
            ConvertError::usage(
                format!("unit of {}", self.format.name()),
                differ.found,
                expected,
            )
        })?;
        if !map.is_identity() {
            let units: Vec<&str> = units.into_iter().collect();
            self.note(format!(
                "positions were converted from {} to {MILLIMETER}, the unit of the format",
                units.join(", ")
            ));
            self.map = Some(map);
        }
        Ok(())
    }

    fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.done.notes.contains(&note) {
            self.done.notes.push(note);
        }
    }

    /// Says which columns of a table the format has no place for.
    fn not_kept<'n>(&mut self, what: &str, names: impl Iterator<Item = &'n str>) {
        let names: Vec<&str> = names.collect();
        if !names.is_empty() {
            let list = names.join(", ");
            self.note(format!("{what} are not kept: {list}"));
        }
    }

    /// Says what of tables a format without them loses: attributes of vertices but `kept`, of links and of objects.
    fn tables_lost(&mut self, schemas: &Schemas, kept: &[&str]) {
        let vertices = schemas.vertex_attributes();
        self.not_kept(
            "attributes of vertices",
            vertices.filter(|name| !kept.contains(name)),
        );
        self.not_kept("attributes of links", schemas.link_attributes());
        self.not_kept("attributes of objects", schemas.object_attributes());
    }

    /// Says that a format does not tell objects apart, where there are several.
    fn owners_lost(&mut self, objects: u64) {
        if objects > 1 {
            self.note(format!(
                "which of the {objects} objects a vertex belongs to is not kept"
            ));
        }
    }

    /// A new file at the place of the export.
    fn create(&self) -> Result<BufWriter<File>, ConvertError> {
        create(self.path).map_err(|error| self.failed(error))
    }

    #[cold]
    fn failed(&self, error: io::Error) -> ConvertError {
        ConvertError::io(self.path, error)
    }

    /// Whether the selection names or meets something, instead of being everything.
    fn selects(&self) -> bool {
        let query = &self.options.query;
        query.bbox.is_some()
            || query.objects.is_some()
            || query.groups.is_some()
            || query.filter.is_some()
    }

    /// The query of rows as they lie in chunks, or of whole objects where they are named.
    fn flat(&self, object_id: bool) -> Query {
        let mut query = self.options.query.clone();
        query.select = self.options.select.unwrap_or(Select::Vertices);
        query.columns = vec![Column::Position, Column::Attributes];
        if object_id {
            query.columns.push(Column::ObjectId);
        }
        query
    }

    /// The query of whole objects one after another; `None` where the level has no objects.
    async fn by_object(&mut self, object_id: bool) -> Result<Option<Query>, ConvertError> {
        let mut query = self.whole_objects(object_id)?;
        if !self.selects() {
            let Some(ids) = self.ids().await? else {
                return Ok(None);
            };
            query.objects = Some(ids);
        }
        Ok(Some(query))
    }

    /// The query of whole objects that the selection names or meets.
    fn whole_objects(&self, object_id: bool) -> Result<Query, ConvertError> {
        if self
            .options
            .select
            .is_some_and(|select| select != Select::Objects)
        {
            let found = format!("{:?}", self.options.select.unwrap_or_default()).to_lowercase();
            let what = format!("select, for {}", self.format.name());
            return Err(ConvertError::usage(
                what,
                found,
                "objects: their rows make no sense alone",
            ));
        }
        let mut query = self.flat(object_id);
        query.select = Select::Objects;
        Ok(query)
    }

    /// The ids of all objects of the level; `None` where it has no object index.
    async fn ids(&mut self) -> Result<Option<Vec<i64>>, ConvertError> {
        let mut ids = Ids(None);
        self.list(&mut ids).await?;
        Ok(ids.0)
    }

    /// Lists all objects of the level.
    async fn list(&mut self, sink: &mut dyn Batches) -> Result<(), ConvertError> {
        let query = &self.options.query;
        let answer = list_objects(self.store, query.level, query.own_level_only).await?;
        self.drain(answer, sink).await
    }

    /// The names of all vertex attributes of the level.
    async fn vertex_attributes(&self) -> Result<Vec<String>, ConvertError> {
        let need = Need {
            vertex_attributes: Names::All,
            ..Need::nothing()
        };
        let level = self.store.level(self.options.query.level, &need).await?;
        let names = level.vertex_attributes().iter();
        Ok(names.map(|attribute| attribute.name.clone()).collect())
    }

    /// Runs a query and hands its batches over.
    async fn run(&mut self, query_: Query, sink: &mut dyn Batches) -> Result<(), ConvertError> {
        let answer = query(self.store, query_).await?;
        self.drain(answer, sink).await
    }

    async fn drain(
        &mut self,
        mut answer: Answer,
        sink: &mut dyn Batches,
    ) -> Result<(), ConvertError> {
        sink.schemas(&Schemas::of(&answer))?;
        while let Some((table, batch)) = answer.next().await? {
            sink.batch(table, &batch)?;
        }
        let summary = answer.summary();
        self.truncated |= summary.truncated;
        self.warnings.extend(summary.warnings.iter().cloned());
        Ok(())
    }
}

/// A new file, or one that is there, emptied.
fn create(path: &Path) -> io::Result<BufWriter<File>> {
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)?;
    Ok(BufWriter::with_capacity(1 << 18, file))
}

/// The schemas of an answer.
#[derive(Debug, Clone)]
struct Schemas {
    vertices: SchemaRef,
    links: Option<SchemaRef>,
    objects: Option<SchemaRef>,
}

impl Schemas {
    fn of(answer: &Answer) -> Self {
        let empty = || Arc::new(Schema::empty());
        Self {
            vertices: answer
                .schema(Table::Vertices)
                .cloned()
                .unwrap_or_else(empty),
            links: answer.schema(Table::Links).cloned(),
            objects: answer.schema(Table::Objects).cloned(),
        }
    }

    /// Attributes of the links.
    fn link_attributes(&self) -> impl Iterator<Item = &str> {
        own(self.links.as_ref(), &["vertices"])
    }

    /// Attributes of the objects.
    fn object_attributes(&self) -> impl Iterator<Item = &str> {
        let not = self
            .objects
            .as_ref()
            .map_or(&[][..], |schema| own_columns(schema));
        own(self.objects.as_ref(), not)
    }

    /// Attributes of the vertices.
    fn vertex_attributes(&self) -> impl Iterator<Item = &str> {
        own(Some(&self.vertices), &["position", "object_id"])
    }
}

/// The columns of an object table that are no attributes: that of an answer by object, by vertices, or that of a list.
fn own_columns(schema: &Schema) -> &'static [&'static str] {
    if schema.field_with_name("start").is_ok() {
        &["object_id", "start", "length"]
    } else {
        &["object_id", "vertices", "chunks", "fragments"]
    }
}

/// The columns of a table that are attributes, by the attribute's name.
fn own<'s>(
    schema: Option<&'s SchemaRef>,
    not: &'static [&'static str],
) -> impl Iterator<Item = &'s str> {
    let fields = schema.into_iter().flat_map(|schema| schema.fields().iter());
    fields
        .map(|field| field.name().as_str())
        .filter(|name| !not.contains(name))
        .map(attribute)
}

/// The name of an attribute, from that of its column.
fn attribute(column: &str) -> &str {
    column.strip_prefix("attribute:").unwrap_or(column)
}

/// What takes the batches of an answer.
trait Batches: Send {
    fn schemas(&mut self, schemas: &Schemas) -> Result<(), ConvertError>;
    fn batch(&mut self, table: Table, batch: &RecordBatch) -> Result<(), ConvertError>;
}

/// The ids of an object table; `None` where there is no table.
struct Ids(Option<Vec<i64>>);

impl Batches for Ids {
    fn schemas(&mut self, schemas: &Schemas) -> Result<(), ConvertError> {
        self.0 = schemas.objects.as_ref().map(|_| Vec::new());
        Ok(())
    }

    fn batch(&mut self, _: Table, batch: &RecordBatch) -> Result<(), ConvertError> {
        let column = batch.column_by_name("object_id");
        let column = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
        if let (Some(ids), Some(column)) = (&mut self.0, column) {
            ids.extend(column.values());
        }
        Ok(())
    }
}

/// All tables, or one of them.
const ALL: Outputs = Outputs {
    vertices: true,
    links: true,
    objects: true,
};
const VERTICES: Outputs = Outputs {
    vertices: true,
    links: false,
    objects: false,
};
const OBJECTS: Outputs = Outputs {
    vertices: false,
    links: false,
    objects: true,
};
