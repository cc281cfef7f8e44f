//! Imports files of one format.

use std::path::PathBuf;

use serde_json::Value;
use zvf_meta::Affine;
use zvf_write::{Kind, StoreSpec};

use crate::error::{ConvertError, InFile};
use crate::format::Format;
use crate::found::{FirstPass, Stated};
use crate::frame::SourceHeader;
use crate::ids::ObjectIds;
use crate::options::{self, Options};
use crate::shape::ChunkChoice;
use crate::sink::Sink;
use crate::store_frame::StoreFrame;
use crate::transform::{self, ImportTransform, Moved, PositionOptions};
use crate::{axes, frame, las, names, obj, precomputed, records, stl, swc, tck, trk, trx};

/// The reader of one format, with the state that it needs for the second pass.
#[derive(Debug)]
enum FormatReader {
    Swc(swc::read::Swc),
    Obj(obj::read::Obj),
    Stl(stl::read::Stl),
    Trk(trk::read::Trk),
    Tck(tck::read::Tck),
    Trx(trx::read::Trx),
    Records(Box<records::read::RecordFiles>),
    Precomputed(Box<precomputed::read::Precomputed>),
}

impl FormatReader {
    fn read(&self, sink: &mut dyn Sink) -> Result<(), ConvertError> {
        match self {
            FormatReader::Swc(reader) => reader.read(sink),
            FormatReader::Obj(reader) => reader.read(sink),
            FormatReader::Stl(reader) => reader.read(sink),
            FormatReader::Trk(reader) => reader.read(sink),
            FormatReader::Tck(reader) => reader.read(sink),
            FormatReader::Trx(reader) => reader.read(sink),
            FormatReader::Records(reader) => reader.read(sink),
            FormatReader::Precomputed(reader) => reader.read(sink),
        }
    }
}

/// Files that were read once and can be imported.
#[derive(Debug)]
pub struct Import {
    reader: FormatReader,
    format: Format,
    spec: StoreSpec,
    vertices: u64,
    objects: u64,
    links: u64,
    corners: (Vec<f64>, Vec<f64>),
    reason: String,
    frame: Option<Value>,
    notes: Vec<String>,
    placement: Vec<String>,
    named: bool,
    transform: Option<ImportTransform>,
}

impl Import {
    /// Reads files of one format to the end and determines the store that they need.
    ///
    /// # Cost
    /// The files once, with an affine or a scale twice; memory for one batch, or one skeleton. A file of NDJSON is read up to three times
    /// if its first line lacks columns that later lines have, and they change which rows are read.
    ///
    /// # Errors
    /// I/O; malformed files, by line or byte; misuse: options that do not fit the format; limits.
    pub fn open(files: &[PathBuf], options: &Options) -> Result<Self, ConvertError> {
        let Some(first) = files.first() else {
            return Err(ConvertError::usage("files", "none", "at least one"));
        };
        let of = |file| {
            let format = options.format.map_or_else(|| Format::of(file), Ok);
            format.map(Format::as_read)
        };
        let format = of(first)?;
        for file in files {
            let other = of(file)?;
            if other != format {
                let found = format!("{} beside {}", other.name(), format.name());
                let what = file.display().to_string();
                return Err(ConvertError::usage(what, found, "files of one format"));
            }
        }
        let kind = options::kind(format, files.len(), options)?;
        let mut own = None;
        let (reader, mut found) = match format {
            Format::Swc => {
                let (reader, found, map) = swc::read::Swc::survey(files, kind, options)?;
                own = map;
                (FormatReader::Swc(reader), found)
            }
            Format::Obj => {
                let (reader, found) = obj::read::Obj::survey(files, options)?;
                (FormatReader::Obj(reader), found)
            }
            Format::Stl => {
                let (reader, found) = stl::read::Stl::survey(files, options)?;
                (FormatReader::Stl(reader), found)
            }
            Format::Trk => {
                let (reader, found) = trk::read::Trk::survey(files, kind, options)?;
                (FormatReader::Trk(reader), found)
            }
            Format::Tck => {
                let (reader, found) = tck::read::Tck::survey(files, kind, options)?;
                (FormatReader::Tck(reader), found)
            }
            Format::Trx => {
                let (reader, found) = trx::read::Trx::survey(files, kind, options)?;
                (FormatReader::Trx(reader), found)
            }
            Format::Csv
            | Format::Ndjson
            | Format::Xyz
            | Format::Ply
            | Format::Las
            | Format::Laz
            | Format::Npy
            | Format::Npz
            | Format::Arrow
            | Format::Parquet => {
                let (reader, found) = records::read::RecordFiles::survey(files, format, options)?;
                (FormatReader::Records(Box::new(reader)), found)
            }
            Format::Precomputed => {
                let (reader, found, map) = precomputed::read::Precomputed::survey(files, options)?;
                own = map;
                (FormatReader::Precomputed(Box::new(reader)), found)
            }
        };
        axes::set_types(&mut found.spec.axes, &options.axis_types)?;
        let (mut units, mut placement) = (Vec::new(), Vec::new());
        let transform = match &options.into {
            None => {
                axes::check(&found.spec.axes)?;
                let given = options.position.is_some() || !options.axis_types.is_empty();
                if found.stated != Stated::Units && !given && axes::are_four(&found.spec.axes) {
                    found.notes.push(axes::UNNAMED.to_owned());
                }
                found
                    .notes
                    .extend(axes::perhaps_time(&found.spec.axes, &options.axis_types));
                let given = if format.is_tractogram() {
                    transform::of_tractogram(format, options, &found)?
                } else {
                    let axes = &found.spec.axes;
                    let stated = (found.stated == Stated::Units).then_some(axes.as_slice());
                    let given = transform::given(format, options, axes, stated)?;
                    units = given.units;
                    found.notes.extend(given.notes);
                    given.map
                };
                ImportTransform::new(given, own, &found.spec, format)
            }
            Some(store) => {
                let (transform, remarks) = into_store(store, format, own, options, &mut found)?;
                placement = remarks;
                transform
            }
        };
        if !format.is_tractogram() && transform.is_some() {
            // The header describes the positions of the file, not the mapped positions.
            found.frame = None;
        }
        if let Some(crs) = &options.crs {
            found.spec.crs = Some(Value::from(crs.as_str()));
        }
        if let Some(transform) = &transform {
            found.extent = transform.survey(|sink| reader.read(sink))?;
            transform.set_types(&mut found.spec);
            if options.into.is_none() && found.frame.is_none() {
                found
                    .notes
                    .extend(transform.notes(found.spec.kind == Kind::Mesh));
                found.frame = Some(transform.document(format));
            } else if options.into.is_none() {
                found.notes.push(frame::NOT_SCANNER.to_owned());
            }
        }
        let dims = found.spec.axes.len();
        let none = options.part.then(|| (vec![0.0; dims], vec![0.0; dims]));
        let Some(corners) = found.extent.corners().or(none) else {
            let expected = "at least one vertex: a store without any has no bounds";
            return Err(ConvertError::malformed(
                first,
                InFile::Whole,
                "no vertex",
                expected,
            ));
        };
        let mut spec = found.spec;
        if !spec.has_objects()
            && matches!(options.ids, ObjectIds::FromFile | ObjectIds::Offset { .. })
        {
            let expected = "none: points of a file without a column of objects belong to no object";
            return Err(ConvertError::usage(
                "ids",
                "a rule for ids of objects",
                expected,
            ));
        }
        let bins = spec.kind == Kind::PointCloud && !spec.objects;
        let ChunkChoice { chunk, bin, reason } = found.extent.choose(bins, &spec.axes);
        (spec.chunk_shape, spec.bin_shape) = (chunk, bin);
        if let Some((format, mut header)) = found.frame.as_ref().and_then(frame::split) {
            if options.part {
                header.retain(|name, _| !las::OF_ONE_FILE.contains(&name.as_str()));
            }
            spec = spec.with_header(format, header);
        }
        for (axis, unit) in spec.axes.iter_mut().zip(units) {
            axis.unit = unit.or(axis.unit.take());
        }
        let named = match &reader {
            _ if options.ids == ObjectIds::New => false,
            _ if options.ids != ObjectIds::Kept => true,
            FormatReader::Trk(_) | FormatReader::Tck(_) | FormatReader::Trx(_) => false,
            FormatReader::Records(records) if records.has_object_column() => true,
            FormatReader::Precomputed(reader) => reader.names_objects(),
            _ => names::ids(files, options.ids)?.1,
        };
        Ok(Self {
            named,
            reader,
            format,
            vertices: found.extent.count(),
            objects: found.objects,
            links: found.links,
            corners,
            reason,
            frame: found.frame,
            notes: found.notes,
            placement,
            transform,
            spec,
        })
    }

    /// Reads the files again, into a sink. The same files and options always give the same batches and tables, in the same order.
    ///
    /// # Cost
    /// As for [`open`](Self::open); meshes are read twice, vertices first.
    ///
    /// # Errors
    /// As [`open`](Self::open), also if a file changed in between; and the errors of the sink.
    pub fn read(&self, sink: &mut dyn Sink) -> Result<(), ConvertError> {
        match &self.transform {
            None => self.reader.read(sink),
            Some(transform) => self.reader.read(&mut Moved { transform, sink }),
        }
    }

    /// The format of the files.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The specification of a store for the files. Chunk size, bins, codec and similar settings may be replaced.
    #[must_use]
    pub fn spec(&self) -> &StoreSpec {
        &self.spec
    }

    /// Vertices of all files.
    #[must_use]
    pub fn vertices(&self) -> u64 {
        self.vertices
    }

    /// Objects of all files; 0 for points without objects.
    #[must_use]
    pub fn objects(&self) -> u64 {
        self.objects
    }

    /// Whether the files name their objects, by a column or by the names of the files; else they are numbered from 0.
    #[must_use]
    pub fn names_objects(&self) -> bool {
        self.named
    }

    /// Edges and faces of the files. Implied links of streamlines are not counted.
    #[must_use]
    pub fn links(&self) -> u64 {
        self.links
    }

    /// Lowest and highest corner of the positions in the store.
    #[must_use]
    pub fn corners(&self) -> (&[f64], &[f64]) {
        (&self.corners.0, &self.corners.1)
    }

    /// The reason for the chunk size of [`spec`](Self::spec).
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The header and the map that was applied, as stored in `headers/<format>`; the member `source` names the format.
    #[must_use]
    pub fn frame(&self) -> Option<&Value> {
        self.frame.as_ref()
    }

    /// Remarks on how positions were mapped into an existing store ([`Options::into`]); empty for a new store, and if there is nothing to report.
    #[must_use]
    pub fn placement(&self) -> &[String] {
        &self.placement
    }

    /// Notes about data that will not be stored, and about automatic choices.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// The map of files into a store. The specification gets the axes of the store.
fn into_store(
    store: &StoreFrame,
    format: Format,
    own: Option<Affine>,
    options: &Options,
    found: &mut FirstPass,
) -> Result<(Option<ImportTransform>, Vec<String>), ConvertError> {
    let mut remarks = Vec::new();
    if found.spec.axes.len() != store.axes().len() {
        let expected = format!("{}, as the store has", store.axes().len());
        let found = found.spec.axes.len().to_string();
        return Err(ConvertError::usage("axes of positions", found, expected));
    }
    if options.position.as_ref().map(Vec::len) == Some(store.axes().len()) {
        // The positions are read from columns that the user listed in the order of the store's axes, so the axes get the names in the store.
        for (axis, own) in found.spec.axes.iter_mut().zip(store.axes()) {
            axis.name.clone_from(&own.name);
        }
    }
    let order = match found.stated {
        Stated::Nothing => None,
        Stated::Names | Stated::Units => axes::order(&found.spec.axes, store.axes()),
    };
    let stated = (found.stated == Stated::Units).then(|| found.spec.axes.clone());
    let stated = match &order {
        Some(_) => stated.map(|axes| store.in_order(axes)),
        None => stated,
    };
    let mut first = own;
    let mut attributes = found.spec.vertex_attributes.iter();
    let radii = attributes.find(|one| one.name == "radius");
    let unit = radii.and_then(|one| one.unit.clone());
    let placed = if format.is_tractogram() {
        let mut map = transform::of_tractogram(format, options, found)?;
        if let Some(frame) = &found.frame {
            remarks.extend(store.compare_spaces(frame, options)?);
        }
        if options.space.is_none() {
            map = map.or(store.rasmm_to_store()?);
        }
        first = map;
        let options = PositionOptions::default();
        store.place(format, &options, stated.as_deref(), unit.as_deref())?
    } else {
        let given = transform::given(format, options, store.axes(), stated.as_deref())?;
        remarks.extend(given.notes.iter().cloned());
        match found.frame.as_ref().and_then(SourceHeader::of_stated) {
            Some(theirs) => store.check_frame(&theirs)?,
            None => remarks.extend(store.unstated_frame().filter(|_| !given.explicit)),
        }
        store.place(format, &given, stated.as_deref(), unit.as_deref())?
    };
    let radius = first.as_ref().filter(|_| format.has_radii());
    let radius = radius.map(|map| map.mean_scale(&found.spec.axes));
    if let Some(order) = order {
        first = Some(first.map_or_else(|| order.clone(), |map| order.after(&map)));
    }
    let stated = options.crs.clone().map(Value::from);
    let system = stated.or(found.spec.crs.take());
    if let (Some(system), Some(own)) = (&system, store.crs.as_ref().filter(|own| own.is_string()))
        && system != own
    {
        let expected = format!("that of the store, {own}: positions are not projected");
        return Err(ConvertError::usage("crs", system.to_string(), expected));
    }
    found.spec.axes = store.axes().to_vec();
    remarks.extend(placed.remarks.iter().cloned());
    Ok((
        ImportTransform::into_store(placed, first, radius, found.spec.axes.len()),
        remarks,
    ))
}
