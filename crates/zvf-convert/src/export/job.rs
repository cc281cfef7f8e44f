//! The state of one export: its queries, its notes, and the frame of the file.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use serde_json::Value;
use zvf_encode::error::OrBug;
use zvf_meta::{Affine, Axis, map_of_axes, unit_of_space};
use zvf_query::{Answer, Column, Outputs, Query, Select, Table, list_objects, query};
use zvf_store::format::int;
use zvf_store::{Names, Need, Store};
use zvf_write::Kind;

use super::options::{ExportOptions, Exported, chained};
use super::schemas::{ExportSchemas, attribute};
use crate::frame::{SourceHeader, Space};
use crate::numbers::places_of_xyz;
use crate::transform::MILLIMETER;
use crate::{ConvertError, Format};

/// The state of one export.
pub(crate) struct ExportState<'a> {
    pub(crate) store: &'a Store,
    pub(crate) options: &'a ExportOptions,
    pub(crate) format: Format,
    pub(crate) path: &'a Path,
    pub(crate) kind: Kind,
    /// The header of the file that the store was made from.
    pub(crate) frame: Option<Arc<SourceHeader>>,
    /// The map from stored positions to positions in the file; `None` if they are equal.
    pub(crate) map: Option<Affine>,
    /// Whether the file stores the frame.
    pub(crate) framed: bool,
    /// Whether the file stores the groups.
    pub(crate) grouped: bool,
    /// Whether the file stores the CRS, which implies the unit of its positions.
    pub(crate) referenced: bool,
    /// Whether the limit cut off rows.
    pub(crate) truncated: bool,
    /// The attributes that were read and have a unit, with their units.
    units: BTreeSet<String>,
    /// The number of vertex rows of the selection, if the store states it.
    stated: Option<u64>,
    /// The number of rows that were read, and the number of rows that all queries so far return.
    read: [u64; 2],
    pub(crate) done: Exported,
    pub(crate) warnings: BTreeSet<String>,
}

impl<'a> ExportState<'a> {
    pub(crate) fn new(
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
            Format::Las | Format::Laz => kind == Kind::PointCloud,
            Format::Obj => kind != Kind::PointCloud,
            Format::Trk | Format::Tck | Format::Trx => chained(kind),
            _ => true,
        };
        if !fits {
            let found = format!("a store of kind {kind}");
            let expected = match format {
                Format::Swc => "skeleton or graph",
                Format::Stl => "mesh",
                Format::Las | Format::Laz => "point_cloud",
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
            let expected = "none: only separated values are compressed";
            return Err(ConvertError::usage(
                "gzip",
                format!("one for {}", format.name()),
                expected,
            ));
        }
        let dims = root.chunk_shape.len();
        // NDJSON and XYZ are not written: `run` refuses them.
        let any = matches!(
            format,
            Format::Csv
                | Format::Npy
                | Format::Npz
                | Format::Arrow
                | Format::Parquet
                | Format::Ply
                | Format::Ndjson
                | Format::Xyz
        );
        if !any && dims != 3 {
            let found = format!("a store of {dims} axes");
            return Err(ConvertError::usage(format.name(), found, "3 axes"));
        }
        let mut axes = store.root().axes().iter();
        if let Some(axis) = axes.find(|axis| !any && !axis.is_space()) {
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
            referenced: false,
            truncated: false,
            units: BTreeSet::new(),
            stated: None,
            read: [0; 2],
            done: Exported::default(),
            warnings: BTreeSet::new(),
        })
    }

    /// Looks up how many rows the selection has, for the progress.
    pub(crate) async fn look_up_rows(&mut self) -> Result<(), ConvertError> {
        self.stated = self.options.query.stated_rows(self.store).await?;
        Ok(())
    }

    /// Chooses the frame of the file, and the map to it: for TRK the frame of the stored header, if it is a header of TRK or has voxels;
    /// otherwise scanner millimetres.
    pub(crate) fn choose_frame(&mut self) -> Result<(), ConvertError> {
        // The frame may be one of no tractogram: a coordinate reference system.
        let Some(frame) = self.frame.clone().filter(|frame| frame.is_tractogram()) else {
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
                self.note("positions are written as they are stored, but programs that read the file interpret them as scanner millimetres");
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
            // Without a voxel frame to restore, the header declares positions to be scanner millimetres.
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

    /// Sets the map to millimetres, the unit of tractograms, for a store that was not made from tractograms.
    fn choose_unit(&mut self) -> Result<(), ConvertError> {
        if self.options.keep_frame {
            return Ok(());
        }
        let axes = self.store.root().axes();
        // In the order in which positions are written.
        let places = places_of_xyz(axes).unwrap_or([0, 1, 2]);
        let axes = places.iter().filter_map(|at| axes.get(*at));
        let axes: Vec<Axis> = axes.cloned().collect();
        let units: BTreeSet<&str> = axes
            .iter()
            .filter_map(|axis| axis.unit.as_deref())
            .collect();
        let in_millimeters = |axis: &Axis| Axis {
            unit: Some(MILLIMETER.to_owned()),
            ..axis.clone()
        };
        let to: Vec<Axis> = axes.iter().map(in_millimeters).collect();
        let map = map_of_axes(&axes, &to).map_err(|differ| {
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

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.done.notes.contains(&note) {
            self.done.notes.push(note);
        }
    }

    /// Adds a note on missing integers of a column, which are written as 0.
    pub(crate) fn written_as_zero(&mut self, column: &str, count: u64) {
        let name = attribute(column);
        match count {
            0 => {}
            1 => self.note(format!("1 missing value of {name} is written as 0")),
            more => self.note(format!("{more} missing values of {name} are written as 0")),
        }
    }

    /// Adds a note on a column of integers that float64 does not represent.
    pub(crate) fn whole_rounded(&mut self, column: &str) {
        let name = attribute(column);
        self.note(format!("whole numbers of {name} were rounded to float64"));
    }

    /// Records that the file states the unit of an attribute.
    pub(crate) fn unit_kept(&mut self, name: &str, unit: &str) {
        self.units.remove(&format!("{name} ({unit})"));
    }

    /// Adds a note that lists columns which the format cannot store.
    pub(crate) fn not_kept<'n>(&mut self, what: &str, names: impl Iterator<Item = &'n str>) {
        let names: Vec<&str> = names.collect();
        if !names.is_empty() {
            let list = names.join(", ");
            self.note(format!("{what} are not kept: {list}"));
        }
    }

    /// Adds notes on attributes that the format cannot store: of vertices except `kept`, of links and of objects.
    pub(crate) fn tables_lost(&mut self, schemas: &ExportSchemas, kept: &[&str]) {
        let vertices = schemas.vertex_attributes();
        self.not_kept(
            "attributes of vertices",
            vertices.filter(|name| !kept.contains(name)),
        );
        self.not_kept("attributes of links", schemas.link_attributes());
        self.not_kept("attributes of objects", schemas.object_attributes());
    }

    /// Adds notes on units that the file does not state, of axes and of attributes (dates, if the format has them as numbers), and on the CRS.
    pub(crate) fn units_lost(&mut self) {
        use Format::{Arrow, Csv, Las, Laz, Npz, Obj, Parquet, Stl, Swc};
        let root = self.store.root();
        let is_lost = |unit: &&str| match self.format {
            Arrow | Parquet | Npz => false,
            Swc => unit_of_swc(root.axes()).is_none(),
            format if format.is_tractogram() => self.options.keep_frame && *unit != MILLIMETER,
            // A CRS implies one of these units.
            Las | Laz => !self.referenced || !["meter", "foot", "degree", "radian"].contains(unit),
            _ => true,
        };
        let unit = |axis: &Axis| {
            let unit = axis.unit.as_deref().filter(is_lost)?;
            Some(format!("{} ({unit})", axis.name))
        };
        let axes: Vec<String> = root.axes().iter().filter_map(unit).collect();
        self.not_kept("units of axes", axes.iter().map(String::as_str));
        if let Some(Value::String(crs)) = &root.zarr_vectors.crs
            && !matches!(self.format, Arrow | Parquet | Las | Laz)
        {
            self.crs_lost(crs, None);
        }
        // In text, dates are written as dates. OBJ and STL files do not store attributes that have units.
        if !matches!(self.format, Csv | Arrow | Parquet | Obj | Stl) {
            let units = std::mem::take(&mut self.units);
            self.not_kept("units of attributes", units.iter().map(String::as_str));
        }
    }

    /// Adds a note that the CRS is not in the file.
    pub(crate) fn crs_lost(&mut self, crs: &str, why: Option<&str>) {
        let crs: String = crs.chars().take(80).collect();
        self.note(match why {
            Some(why) => format!("the CRS {crs} is not kept: {why}"),
            None => format!("the CRS {crs} is not kept"),
        });
    }

    /// Adds a note that the file numbers its objects from 0, unless these numbers are their ids.
    pub(crate) fn ids_lost(&mut self, ids: &[i64]) {
        if ids.iter().zip(0..).any(|(id, number)| *id != number) {
            self.note("ids of objects are not kept: the file has their order only");
        }
    }

    /// Adds a note that the format cannot separate objects, if there are several.
    pub(crate) fn owners_lost(&mut self, objects: u64) {
        if objects > 1 {
            self.note(format!(
                "the object of each vertex is not kept ({objects} objects)"
            ));
        }
    }

    /// Creates the output file.
    pub(crate) fn create(&self) -> Result<BufWriter<File>, ConvertError> {
        create(self.path).map_err(|error| self.failed(error))
    }

    #[cold]
    pub(crate) fn failed(&self, error: io::Error) -> ConvertError {
        ConvertError::io(self.path, error)
    }

    /// Whether the query selects rows or objects; a limit alone is not a selection.
    pub(crate) fn selects(&self) -> bool {
        let query = &self.options.query;
        query.is_spatial()
            || query.objects.is_some()
            || query.groups.is_some()
            || query.filter.is_some()
            || query.passing.is_some()
    }

    /// The query for rows in chunk order, or for whole objects if ids are given.
    pub(crate) fn flat(&self, object_id: bool) -> Query {
        let mut query = self.options.query.clone();
        query.select = self.options.select.unwrap_or(Select::Vertices);
        query.columns = vec![Column::Position, Column::Attributes];
        if object_id {
            query.columns.push(Column::ObjectId);
        }
        query
    }

    /// The query for all rows: of lines, polylines and streamlines whole objects one after another, else in chunk order.
    pub(crate) async fn rows(&mut self, object_id: bool) -> Result<Query, ConvertError> {
        if !chained(self.kind) {
            return Ok(self.flat(object_id));
        }
        let mut query = self.whole_objects(object_id)?;
        if !self.selects() {
            let Some(ids) = self.ids().await? else {
                return Ok(self.flat(object_id));
            };
            query.objects = Some(ids);
        }
        Ok(query)
    }

    /// The query for the whole objects that the selection names or intersects.
    pub(crate) fn whole_objects(&self, object_id: bool) -> Result<Query, ConvertError> {
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
                "objects: this format holds whole objects",
            ));
        }
        let mut query = self.flat(object_id);
        query.select = Select::Objects;
        Ok(query)
    }

    /// The ids of all objects of the level; `None` if it has no object index.
    pub(crate) async fn ids(&mut self) -> Result<Option<Vec<i64>>, ConvertError> {
        let mut ids = SelectedIds(None);
        self.list(&mut ids).await?;
        Ok(ids.0)
    }

    /// Lists all objects of the level.
    pub(crate) async fn list(&mut self, sink: &mut dyn BatchReceiver) -> Result<(), ConvertError> {
        let query = &self.options.query;
        let answer = list_objects(self.store, query.level, query.own_level_only).await?;
        self.drain(answer, sink).await
    }

    /// The names of all vertex attributes of the level.
    pub(crate) async fn vertex_attributes(&self) -> Result<Vec<String>, ConvertError> {
        let need = Need {
            vertex_attributes: Names::All,
            ..Need::nothing()
        };
        let level = self.store.level(self.options.query.level, &need).await?;
        let names = level.vertex_attributes().iter();
        Ok(names.map(|attribute| attribute.name.clone()).collect())
    }

    /// Runs a query and passes its batches to `sink`.
    pub(crate) async fn run(
        &mut self,
        query_: Query,
        sink: &mut dyn BatchReceiver,
    ) -> Result<(), ConvertError> {
        let has_rows = query_.outputs.vertices;
        let answer = query(self.store, query_).await?;
        if let Some(rows) = self.stated.filter(|_| has_rows) {
            let [_, total] = &mut self.read;
            *total = total.saturating_add(rows);
        }
        self.drain(answer, sink).await
    }

    pub(crate) async fn drain(
        &mut self,
        mut answer: Answer,
        sink: &mut dyn BatchReceiver,
    ) -> Result<(), ConvertError> {
        let schemas = ExportSchemas::of(&answer);
        self.units.extend(schemas.units());
        sink.schemas(&schemas)?;
        while let Some((table, batch)) = answer.next().await? {
            if table == Table::Vertices {
                let [read, total] = &mut self.read;
                *read = read.saturating_add(int::wide(batch.num_rows()));
                let progress = &self.options.progress;
                progress.tell(*read, self.stated.map(|_| *total));
            }
            sink.batch(table, &batch)?;
        }
        let summary = answer.summary();
        self.truncated |= summary.truncated;
        self.warnings.extend(summary.warnings.iter().cloned());
        Ok(())
    }
}

/// Creates a file or truncates an existing one.
pub(crate) fn create(path: &Path) -> io::Result<BufWriter<File>> {
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)?;
    Ok(BufWriter::with_capacity(1 << 18, file))
}

/// A consumer of the batches of an answer.
pub(crate) trait BatchReceiver: Send {
    fn schemas(&mut self, schemas: &ExportSchemas) -> Result<(), ConvertError>;
    fn batch(&mut self, table: Table, batch: &RecordBatch) -> Result<(), ConvertError>;
}

/// The ids of an object table; `None` if there is no table.
struct SelectedIds(Option<Vec<i64>>);

impl BatchReceiver for SelectedIds {
    fn schemas(&mut self, schemas: &ExportSchemas) -> Result<(), ConvertError> {
        self.0 = schemas.objects.as_ref().map(|_| Vec::new());
        Ok(())
    }

    fn batch(&mut self, _: Table, batch: &RecordBatch) -> Result<(), ConvertError> {
        if let Some(ids) = &mut self.0 {
            let column = batch.column_by_name("object_id");
            let column = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
            ids.extend(column.or_bug("a table of objects without ids")?.values());
        }
        Ok(())
    }
}

/// All tables.
pub(crate) const ALL: Outputs = Outputs {
    vertices: true,
    links: true,
    objects: true,
};
pub(crate) const VERTICES: Outputs = Outputs {
    vertices: true,
    links: false,
    objects: false,
};
pub(crate) const OBJECTS: Outputs = Outputs {
    vertices: false,
    links: false,
    objects: true,
};

/// The unit that an SWC file states: the unit of the axes, if all are axes of space and it is a length.
pub(crate) fn unit_of_swc(axes: &[Axis]) -> Option<&str> {
    unit_of_space(axes).filter(|unit| zvf_meta::units::name(unit).is_some())
}
