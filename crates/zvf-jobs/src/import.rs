//! The job `import`: makes a new store from files, in one run or in parts by several programs.

mod parts;
mod report;

use std::collections::BTreeMap;
use std::path::PathBuf;

use zvf_convert::{ConvertError, Import, Options, Sink};
use zvf_encode::parallel::blocking;
use zvf_encode::{Batch, Groups, ObjectTable, ShardShape, StoreSpec, WriteError};
use zvf_store::io::Stop;
use zvf_write::StoreWriter;

use crate::checks::{at_most_one, needs, outside, sizes};
use crate::input_files::expanded;
use crate::local_files::{LocalFiles, check_endings};
use crate::values::pairs;
use crate::{
    CodecChoice, ColumnOptions, Context, Corners, FormatName, IdOptions, JobError, JobEvent,
    JobProgress, KindName, MapOptions, NewVersion, NullsName, PartOptions, ShardChoice, SpaceName,
};
pub use report::{AttributeImported, ImportReport, StoreImported};

options! {
    /// Makes a new store from files: SWC, CSV, Arrow, Parquet, NPY, NPZ, LAS, LAZ, OBJ, PLY, STL, TRK, TCK or TRX
    ImportJob {
        /// Files of one format, as paths or URLs, or one precomputed folder, which has a file `info`; none with --status and --discard-parts
        #[arg(skip)]
        files: Vec<PathBuf>,
        /// Path or URL of the new store; it must not exist
        #[arg(skip)]
        store: String,
        /// The geometry, e.g. point_cloud, polyline, streamline, graph, skeleton, mesh
        #[arg(long, value_name = "KIND")]
        kind: Option<KindName>,
        /// Tables: the columns of a position, one for each axis [default: x,y and, if present, z]
        #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
        position: Option<Vec<String>>,
        /// Tables: the column with the object of a row, a whole number [default: object_id, if present]
        #[arg(long, value_name = "COLUMN")]
        object_column: Option<String>,
        /// Which ids objects get.
        #[command(flatten)]
        #[serde(flatten)]
        ids: IdOptions,
        /// Tables: which of the other columns become attributes: all, none or names [default: all]
        #[arg(long, value_name = "all|none|NAME,..", value_delimiter = ',')]
        attributes: Option<Vec<String>>,
        /// Tables: columns that are ignored
        #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
        exclude: Vec<String>,
        /// Tables: the treatment of missing values: keep (whole numbers become float64 with NaN if float64 holds all of them, booleans become the
        /// texts true and false), error, drop-row, or a whole number that no row has. Missing floats become NaN, missing texts stay missing
        #[arg(long, value_name = "keep|error|drop-row|NUMBER", default_value = "keep", allow_negative_numbers = true)]
        nulls: NullsName,
        /// The format of the files, e.g. csv, parquet, arrow [default: by their endings]; needed where FILE is - (standard input)
        #[arg(long, value_name = "FORMAT")]
        format: Option<FormatName>,
        /// How the columns of tables are read.
        #[command(flatten)]
        #[serde(flatten)]
        columns: ColumnOptions,
        /// Tables: another table with edges, one row for each edge; path or URL
        #[arg(long, value_name = "FILE")]
        #[schemars(extend("format" = "path"))]
        edges: Option<PathBuf>,
        /// Tables: another table with faces, one row for each face of three or four corners; path or URL
        #[arg(long, value_name = "FILE")]
        #[schemars(extend("format" = "path"))]
        faces: Option<PathBuf>,
        /// Unit of all axes of space, e.g. micrometer, um, nm; 8nm multiplies positions by 8; t=second is the unit of one axis, um,t=second both
        /// [default: as the format, the table or the image of --affine states]
        #[arg(long, value_name = "UNIT,..")]
        unit: Option<String>,
        /// Coordinate reference system of the positions, e.g. EPSG:25832, or WKT [default: as LAS files state]
        #[arg(long, value_name = "CRS")]
        crs: Option<String>,
        /// Types of axes: space, time or channel [default: time for t, time and frame, space for all others]
        #[arg(long = "axis", value_name = "NAME:TYPE,..", value_delimiter = ',', value_parser = crate::values::parse_axis_type)]
        #[serde(with = "pairs")]
        #[schemars(with = "BTreeMap<String, String>")]
        axis_types: Vec<(String, String)>,
        /// Tractograms: the frame in which positions are stored [default: rasmm]
        #[arg(long, value_enum, value_name = "FRAME")]
        space: Option<SpaceName>,
        /// The map of the positions.
        #[command(flatten)]
        #[serde(flatten)]
        map: MapOptions,
        /// Which part of the files.
        #[command(flatten)]
        #[serde(flatten)]
        points: PartOptions,
        /// Size of a chunk on each axis [default: chosen from the data and printed]
        #[arg(long, value_name = "X,Y,..", value_delimiter = ',', value_parser = crate::parse_size)]
        chunk_shape: Option<Vec<f64>>,
        /// Size of a bin on each axis; the size of a chunk must be a multiple of it [default: chosen for points without objects]
        #[arg(long, value_name = "X,Y,..", value_delimiter = ',', value_parser = crate::parse_size)]
        bin_shape: Option<Vec<f64>>,
        /// How chunks are compressed: auto (a codec is chosen for each array from its data), none, zstd, zstd:LEVEL, gzip, gzip:LEVEL, blosc (LZ4
        /// over shuffled bytes: faster to read and write), or a list of Zarr codecs in JSON
        #[arg(long, value_name = "CODEC", default_value = "auto")]
        codec: CodecChoice,
        /// Chunks of a shard along each axis; auto: some hundred files if there are 2000 cells or more, and more files in stores of gigabytes; none:
        /// every chunk is a file of its own, so that an edit writes fewer bytes
        #[arg(long, value_name = "X,Y,..|auto|none", default_value = "auto")]
        shard_shape: ShardChoice,
        /// Also divides chunks by the value of a vertex attribute: booleans, whole numbers or texts. The value is part of the chunk keys; useful if queries ask for one of few values
        #[arg(long, value_name = "NAME")]
        chunk_by: Option<String>,
        /// Version of the format
        #[arg(id = "target", long, value_enum, value_name = "VERSION", default_value = "0.9.2")]
        version: NewVersion,
        /// Keeps the data that was read in the journal FILE until the store is complete: after a crash, the same command resumes if the input files are the same
        #[arg(long, value_name = "FILE")]
        #[schemars(extend("format" = "path"))]
        journal: Option<PathBuf>,
        /// Removes what an interrupted import left at STORE; a finished store or finished parts are never touched
        #[arg(long)]
        clear_leftovers: bool,
        /// Begins a store that several programs write: each writes a --part, then one runs --commit, all with the same options. The
        /// columns of FILE define the attributes of the store. Can be repeated
        #[arg(long)]
        begin: bool,
        /// With --begin: the expected parts, as their number (20 is 0 to 19), names, or a file of names at a path or URL (@FILE), one a line. Other parts are
        /// refused, and so is --commit while a part is missing
        #[arg(long, value_name = "N|NAME,..|@FILE", value_delimiter = ',')]
        parts: Option<Vec<String>>,
        /// Writes the files as the part of that name; no other part may have the same chunks. Can be repeated after an interruption; a finished part is not written again
        #[arg(long, value_name = "NAME")]
        part: Option<String>,
        /// With --part: replaces the part if it is already finished
        #[arg(long)]
        redo: bool,
        /// Completes the store from its parts. Can be repeated after an interruption
        #[arg(long)]
        commit: bool,
        /// With --commit: leaves out declared or begun parts that are not finished; the store lists them in its root, as `zvf_absent_parts`. If a
        /// part was begun again with --redo and not finished, its earlier data is used
        #[arg(long)]
        allow_missing: bool,
        /// Lists the parts of a store that was begun with --begin: which are waiting, begun (by whom and when) or finished. STORE is the only path
        #[arg(long)]
        status: bool,
        /// Removes all parts of a store that was begun with --begin, also finished ones, and lists them. STORE is the only path
        #[arg(long)]
        discard_parts: bool,
        /// Lowest and highest corner of the positions of all parts
        #[arg(long, value_name = "LO:HI", allow_hyphen_values = true)]
        bounds: Option<Corners>,
    }
}

impl ImportJob {
    /// Whether the job is a step of a store in parts.
    #[must_use]
    pub fn is_step(&self) -> bool {
        self.begin || self.commit || self.part.is_some()
    }

    /// Whether the job lists or removes the parts of a store, and reads no files.
    #[must_use]
    pub fn is_about_parts(&self) -> bool {
        self.status || self.discard_parts
    }

    pub(crate) fn check(&self) -> Result<(), JobError> {
        if self.is_about_parts() {
            return self.check_alone();
        }
        if self.files.is_empty() {
            return Err(JobError::option(
                "files",
                "an empty list",
                "at least one file",
            ));
        }
        sizes("chunk_shape", self.chunk_shape.as_deref())?;
        sizes("bin_shape", self.bin_shape.as_deref())?;
        self.ids.check()?;
        self.points.check()?;
        self.columns.check()?;
        at_most_one(&[
            ("edges", self.edges.is_some()),
            ("faces", self.faces.is_some()),
        ])?;
        let (begin, commit) = (("begin", self.begin), ("commit", self.commit));
        let part = ("part", self.part.is_some());
        let bounds = ("bounds", self.bounds.is_some());
        let shape = ("chunk_shape", self.chunk_shape.is_some());
        at_most_one(&[begin, part, commit, ("journal", self.journal.is_some())])?;
        at_most_one(&[part, commit, ("clear_leftovers", self.clear_leftovers)])?;
        for step in [begin, part, commit] {
            needs(step, &[bounds, shape])?;
        }
        if self.ids.new_ids && self.is_step() {
            let expected = "ids of the files or another `id_offset` in each part: every part would count from 0, so objects of different parts would be joined";
            return Err(JobError::option("new_ids", "a store in parts", expected));
        }
        needs(("parts", self.parts.is_some()), &[begin])?;
        needs(("redo", self.redo), &[part])?;
        needs(("allow_missing", self.allow_missing), &[commit])?;
        if self.bounds.is_some() && !self.is_step() {
            let found = "none of `begin`, `part` and `commit`";
            return Err(JobError::option("bounds", found, "one of them as well"));
        }
        Ok(())
    }

    /// Refuses files, and options that cannot be combined with `status` or `discard_parts`.
    fn check_alone(&self) -> Result<(), JobError> {
        at_most_one(&[
            ("status", self.status),
            ("discard_parts", self.discard_parts),
            ("begin", self.begin),
            ("part", self.part.is_some()),
            ("commit", self.commit),
            ("bounds", self.bounds.is_some()),
            ("journal", self.journal.is_some()),
            ("clear_leftovers", self.clear_leftovers),
            ("parts", self.parts.is_some()),
            ("redo", self.redo),
            ("allow_missing", self.allow_missing),
        ])?;
        match self.files.len() {
            0 => Ok(()),
            count => {
                let found = format!("{count} with `status` or `discard_parts`");
                Err(JobError::option("files", found, "none"))
            }
        }
    }

    /// How the files are read.
    fn options(&self, context: &Context) -> Options {
        let mut options = Options::default();
        options.kind = self.kind.as_ref().map(|kind| *kind.value());
        options.position.clone_from(&self.position);
        options.object_column.clone_from(&self.object_column);
        options.attributes = match self.attributes.as_deref() {
            Some([one]) if one == "all" => None,
            Some([one]) if one == "none" => Some(Vec::new()),
            names => names.map(<[_]>::to_vec),
        };
        options.exclude.clone_from(&self.exclude);
        // Parts count their files from 1, as `append` does.
        options.ids = self.ids.rule(i64::from(self.part.is_some()));
        options.part = self.is_step();
        options.nulls = *self.nulls.value();
        options.format = self.format.as_ref().map(|format| *format.value());
        self.columns.apply(&mut options, context.memory_budget);
        options.edges.clone_from(&self.edges);
        options.faces.clone_from(&self.faces);
        options.unit.clone_from(&self.unit);
        options.crs.clone_from(&self.crs);
        options.axis_types.clone_from(&self.axis_types);
        options.space = self.space.map(Into::into);
        self.map.apply(&mut options);
        self.points.apply(&mut options);
        options.stop = Some(context.write.open.io.stop.clone());
        options
    }

    /// The specification for the files, changed by the options.
    fn spec(&self, import: &Import) -> Result<StoreSpec, JobError> {
        let mut spec = import.spec().clone();
        if let Some(shape) = &self.chunk_shape {
            if shape.len() != spec.axes.len() {
                let names: Vec<&str> = spec.axes.iter().map(|axis| axis.name.as_str()).collect();
                let found = match shape.len() {
                    1 => "1 size".to_owned(),
                    count => format!("{count} sizes"),
                };
                let expected = format!("{}, for {}", names.len(), names.join(", "));
                return Err(JobError::option("chunk_shape", found, &expected));
            }
            spec.chunk_shape.clone_from(shape);
            // The bins were chosen for the chunk shape that the option replaces.
            spec.bin_shape = None;
        }
        if self.bin_shape.is_some() {
            spec.bin_shape.clone_from(&self.bin_shape);
        }
        spec.shard_shape = self.shard_shape.value().clone();
        if let Some(name) = &self.chunk_by {
            spec = chunked_by(spec, name, self.bin_shape.is_some())?;
        }
        spec.compression = self.codec.value().clone();
        spec.target = self.version.into();
        Ok(spec)
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<ImportReport, JobError> {
        if self.is_about_parts() {
            return self.of_parts(context).await;
        }
        outside("journal", self.journal.as_deref())?;
        let mut options = self.options(context);
        let any_ending = options.format.is_some();
        let mut files = expanded(&self.files, any_ending, context).await?;
        if options.format.is_none() {
            check_endings(&files)?;
        }
        check_endings(options.edges.iter().chain(&options.faces))?;
        let mut local = LocalFiles::default();
        let tables = [&mut options.edges, &mut options.faces, &mut options.affine];
        let tables = tables.into_iter().flatten().collect();
        local.fetch(tables, &Options::default(), context).await?;
        let all = files.iter_mut().collect();
        local.fetch(all, &options, context).await?;
        let made = self.make(files, options, &local, context).await;
        made.map_err(|error| local.named(error))
    }

    /// Imports local files.
    async fn make(
        &self,
        files: Vec<PathBuf>,
        options: Options,
        local: &LocalFiles,
        context: &Context,
    ) -> Result<ImportReport, JobError> {
        let tables = options.edges.iter().chain(&options.faces);
        let inputs = files.iter().chain(tables).cloned().collect();
        let opened = blocking(move || Ok(Import::open(&files, &options))).await;
        let import = opened.map_err(JobError::write(&self.store))??;
        let spec = self.spec(&import)?;
        match self.is_step() {
            true => {
                let notes = local.named_notes(import.notes());
                self.step(import, spec, inputs, notes, context).await
            }
            false => self.whole(import, spec, local, context).await,
        }
    }

    /// Writes a store that no other program writes.
    async fn whole(
        &self,
        import: Import,
        spec: StoreSpec,
        local: &LocalFiles,
        context: &Context,
    ) -> Result<ImportReport, JobError> {
        let chosen = self.chunk_shape.is_none();
        if chosen {
            let reason = import.reason();
            context.event(&JobEvent::ChunksChosen {
                spec: &spec,
                reason,
            });
        }
        let notes = local.named_notes(import.notes());
        for note in &notes {
            context.event(&JobEvent::Note(note));
        }
        let failed = || JobError::write(&self.store);
        let mut write = context.writing(self.clear_leftovers);
        write.journal.clone_from(&self.journal);
        let writer = StoreWriter::create(&self.store, spec.clone(), write).await;
        let writer = writer.map_err(failed())?;
        let (batches, vertices) = (writer.batches(), writer.vertices());
        if batches > 0 {
            context.event(&JobEvent::Resumed { batches, vertices });
        }
        let (import, writer, read) = self.read(import, writer, context).await?;
        read?;
        if !writer.is_caught_up() {
            let found = format!("{} vertices", writer.vertices());
            let expected = "the journal has more, so it was begun with other files";
            let expected = format!("{}: {expected}", import.vertices());
            return Err(JobError::option("journal", found, &expected));
        }
        context.event(&JobEvent::Writing);
        let summary = match writer.finish().await {
            Ok(summary) => Some(summary),
            Err(error) if error.is_committed() => {
                // The store is complete, but the numbers of its chunks and links are unknown.
                context.warn(&error.to_string());
                None
            }
            Err(error) => return Err(failed()(error)),
        };
        let of = (self.store.as_str(), self.files.as_slice());
        let report = StoreImported::new(of, &import, spec, summary, chosen, notes);
        Ok(ImportReport::Store(Box::new(report)))
    }

    /// Reads the files into a writer, which skips the data that its journal holds. Returns the import, the writer, and the result.
    async fn read(
        &self,
        import: Import,
        mut writer: StoreWriter,
        context: &Context,
    ) -> Result<(Import, StoreWriter, Result<(), ConvertError>), JobError> {
        let (progress, stop) = (context.progress(), context.write.open.io.stop.clone());
        let done = blocking(move || {
            let writing = &mut writer;
            let read = import.read(&mut CountingSink {
                writing,
                progress,
                stop,
            });
            Ok((import, writer, read))
        });
        done.await.map_err(JobError::write(&self.store))
    }
}

/// Passes data on to a writer; reports progress, and fails once the caller stops the job.
struct CountingSink<'w> {
    writing: &'w mut StoreWriter,
    progress: JobProgress,
    stop: Stop,
}

impl Sink for CountingSink<'_> {
    fn batch(&mut self, batch: &Batch) -> Result<(), WriteError> {
        self.stop.check()?;
        let before = self.writing.vertices();
        self.writing.batch(batch)?;
        (self.progress)(self.writing.vertices().saturating_sub(before));
        Ok(())
    }

    fn objects(&mut self, table: &ObjectTable) -> Result<(), WriteError> {
        self.stop.check()?;
        self.writing.objects(table)
    }

    fn groups(&mut self, groups: &Groups) -> Result<(), WriteError> {
        self.writing.groups(groups)
    }
}

/// Also divides chunks by the value of an attribute. Bins are removed unless an option set them; the chunks of a shard have the same value.
fn chunked_by(mut spec: StoreSpec, name: &str, bins: bool) -> Result<StoreSpec, JobError> {
    let all = &mut spec.vertex_attributes;
    let Some(at) = all.iter().position(|one| one.name == name) else {
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        let expected = match names.is_empty() {
            true => "a vertex attribute: there are none".to_owned(),
            false => format!("one of the vertex attributes: {}", names.join(", ")),
        };
        return Err(JobError::option("chunk_by", format!("{name:?}"), &expected));
    };
    let attribute = all.remove(at);
    if !bins {
        spec.bin_shape = None;
    }
    if let ShardShape::Cells(cells) = &mut spec.shard_shape {
        cells.insert(0, 1);
    }
    Ok(spec.with_attribute_chunks(attribute))
}
