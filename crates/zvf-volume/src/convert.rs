//! Converts between containers, chunk by chunk.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use zarrs::array::{Array, ArrayBytes, ArrayMetadata, ArraySubset};
use zarrs::filesystem::FilesystemStore;
use zvf_caterva::{Codec, Writer};
use zvf_codec::isolate::isolate;
use zvf_format::dtype::{ByteOrder, DType, DTypeKind};
use zvf_grid::int::wide;
use zvf_grid::{Axis, Cells, Dims, Selection};
use zvf_tet::{DatasetSpec, TetWriter};

use crate::blocking::blocking;
use crate::open::VolumeSource;
use crate::{Counts, Element, Volume, VolumeError, VolumeFormat, VolumeInfo};

/// Options of [`convert`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ConvertOptions {
    /// Extents of a tile or chunk. Default: as in the source.
    pub chunk: Option<Vec<u64>>,
    /// Extents of a block, for Caterva. Default: as in the source, or at most 32 along each axis, more if a block then has at most 256 KiB.
    pub block: Option<Vec<u64>>,
    /// Stores the elements without compression. Default Zstandard.
    pub raw: bool,
    /// Name of the dataset in a TET file. Default the name of the source, or `data`.
    pub name: Option<String>,
    /// Replaces an existing file or folder.
    pub overwrite: bool,
}

/// The result of a conversion.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Converted {
    /// The container that was written.
    pub form: VolumeFormat,
    /// Elements.
    pub elements: u64,
    /// The cost of the reads.
    pub counts: Counts,
    /// Properties of the source that the new container cannot store.
    pub lost: Vec<String>,
}

/// Writes a volume to a local path. Its ending selects the container: `.tet`, `.b2nd` (`.b2frame`) or `.zarr`.
///
/// The file, or the folder of a Zarr array, is renamed to its final name when it is complete. Until then, a previous one remains. `progress` is
/// called with the number of written chunks and their total.
///
/// # Cost
/// Reads every element once, by chunks of the new volume. Memory: one new chunk, and the chunks of the source that are read for it. If the chunks of
/// the two volumes do not match, a chunk of the source is decoded once for each new chunk that it intersects.
///
/// # Errors
/// Misuse: an unknown ending, a type or shape that the container does not support, an existing file. I/O; malformed source.
pub async fn convert(
    volume: &Volume,
    out: &Path,
    options: &ConvertOptions,
    progress: impl Fn(u64, u64),
) -> Result<Converted, VolumeError> {
    let info = volume.info();
    let form = form_of(out)?;
    if !options.overwrite && out.exists() {
        return Err(VolumeError::misuse(format!(
            "{} exists already",
            out.display()
        )));
    }
    if form != VolumeFormat::Zarr && out.is_dir() {
        return Err(VolumeError::misuse(format!(
            "{} is a folder, which is not replaced by a file: remove it, or choose another name",
            out.display()
        )));
    }
    if options.name.is_some() && form != VolumeFormat::Tet {
        return Err(VolumeError::misuse(
            "a name (--name): only datasets of .tet have one",
        ));
    }
    if options.block.is_some() && form != VolumeFormat::Caterva {
        return Err(VolumeError::misuse(
            "extents of blocks (--block-shape): only .b2nd has blocks",
        ));
    }
    let chunk = match &options.chunk {
        Some(chunk) => Dims::new(chunk)?,
        None => chunk_of(info)?,
    };
    let total = Selection::all(&info.shape)?
        .cells(&chunk)?
        .total()
        .unwrap_or(u64::MAX);
    let mut lost = lost(volume, form);
    let mut sink = VolumeSink::new(form, out, volume, &chunk, options, &mut lost)?;
    let (mut counts, mut done) = (Counts::default(), 0_u64);
    while let Some(region) = sink.next()? {
        let (mut bytes, took) = volume.read(&region).await?;
        counts.add(took);
        sink = blocking(move || {
            sink.write(&region, &mut bytes)?;
            Ok(sink)
        })
        .await?;
        done = done.saturating_add(1);
        progress(done, total);
    }
    blocking(move || sink.finish()).await?;
    Ok(Converted {
        form,
        elements: info.shape.count().unwrap_or(u64::MAX),
        counts,
        lost,
    })
}

/// The default chunk shape: that of the source, limited to the shape of the volume, because some containers store the part of a chunk that is outside
/// the volume. At least 1 on each axis, even if the axis has no elements.
fn chunk_of(info: &VolumeInfo) -> Result<Dims, VolumeError> {
    let extents = info.chunk.iter().zip(info.shape.iter());
    let extents = extents.map(|(chunk, shape)| (*chunk).min(*shape).max(1));
    Ok(Dims::new(&extents.collect::<Vec<_>>())?)
}

fn form_of(out: &Path) -> Result<VolumeFormat, VolumeError> {
    let ending = out
        .extension()
        .map(|one| one.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("tet") => Ok(VolumeFormat::Tet),
        Some("b2nd" | "b2frame" | "caterva") => Ok(VolumeFormat::Caterva),
        Some("zarr") => Ok(VolumeFormat::Zarr),
        _ => Err(VolumeError::misuse(format!(
            "{}: an ending .tet, .b2nd or .zarr is needed",
            out.display()
        ))),
    }
}

/// The properties of the source that the container cannot store, or that are not converted. [`VolumeSink::new`] adds those that it cannot write.
fn lost(volume: &Volume, form: VolumeFormat) -> Vec<String> {
    let info = volume.info();
    let mut lost = Vec::new();
    if info.axes.iter().any(|axis| axis.place.is_some()) {
        lost.push("positions of the elements (scale and translation of the image)".to_owned());
    } else if info.affine.is_some() {
        lost.push("positions of the elements (the affine of the image)".to_owned());
    }
    let named = info.axes.iter().any(|axis| axis.name.is_some());
    if named && form == VolumeFormat::Caterva {
        lost.push("names of axes".to_owned());
    }
    if info.axes.iter().any(|axis| axis.unit.is_some()) {
        lost.push("units of axes".to_owned());
    }
    if info.axes.iter().any(|axis| axis.kind.is_some()) {
        lost.push("types of axes (space, time, channel)".to_owned());
    }
    match volume.source() {
        VolumeSource::Tet(file, _) => {
            let footer = file.footer();
            let metadata = footer.and_then(|footer| footer.metadata.as_ref());
            if metadata.is_some_and(|one| one.file.is_some() || !one.other.is_empty()) {
                lost.push("the description of the file".to_owned());
            }
            if form != VolumeFormat::Tet {
                let own = metadata.and_then(|one| one.datasets.get(&info.name));
                if let Some(own) = own {
                    let names = own.attrs.keys().chain(own.other.keys());
                    lost.extend(listed("attributes", names));
                    lost.extend(listed("labels of the axes", own.coords.keys()));
                }
                if footer.is_some_and(|footer| !footer.history.is_empty()) {
                    lost.push("the history".to_owned());
                }
            }
        }
        VolumeSource::Caterva(array) => {
            if form != VolumeFormat::Caterva {
                let names: Vec<String> = layers(array).collect();
                lost.extend(listed("metalayers", names.iter()));
            }
        }
        VolumeSource::Zarr(array) => {
            lost.extend(listed("attributes of the image", array.of_image().iter()));
            if form != VolumeFormat::Zarr {
                let names = array.attributes().as_object();
                lost.extend(listed("attributes", names.into_iter().flat_map(Map::keys)));
                if !is_zero(array.fill()) {
                    lost.push(lost_fill(array.fill()));
                }
            }
        }
        VolumeSource::Image(_) => lost.push("other fields of the header".to_owned()),
    }
    lost
}

/// `what`, followed by the first names in brackets; `None` without names.
fn listed<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Option<String> {
    /// Maximum number of names in a message.
    const MOST: usize = 8;
    let mut names: Vec<&str> = names.map(String::as_str).collect();
    let more = names.len() > MOST;
    names.truncate(MOST);
    if more {
        names.push("…");
    }
    (!names.is_empty()).then(|| format!("{what} ({})", names.join(", ")))
}

/// Whether a fill value is zero, which is the fill value of containers that do not state one.
fn is_zero(fill: &Value) -> bool {
    matches!(fill, Value::Null | Value::Bool(false)) || fill.as_f64() == Some(0.0)
}

fn lost_fill(fill: &Value) -> String {
    format!("the fill value {fill}; elements that have it stay as they are")
}

/// Names of the metalayers of a frame, except for those that describe its array.
fn layers(array: &zvf_caterva::Array) -> impl Iterator<Item = String> {
    let frame = array.frame();
    let layers = [frame.metalayers(), frame.vlmetalayers()];
    let layers = layers.into_iter().flatten().flat_map(|one| one.iter());
    let names = layers.map(|layer| String::from_utf8_lossy(layer.name).into_owned());
    names.filter(|name| !is_of_array(name))
}

/// Whether a metalayer describes the array: its shape, chunks and type. Writers create this layer themselves.
fn is_of_array(layer: &str) -> bool {
    matches!(layer, "b2nd" | "caterva")
}

/// Adds the metalayers of a frame to the options. Adds those that cannot be copied to `lost`.
fn with_layers(
    mut write: zvf_caterva::WriteOptions,
    array: &zvf_caterva::Array,
    lost: &mut Vec<String>,
) -> Result<zvf_caterva::WriteOptions, VolumeError> {
    /// Maximum size of all metalayers, in bytes.
    const MOST: usize = 64 << 20;
    let mut left = MOST;
    let frame = array.frame();
    for layer in frame.metalayers()?.iter() {
        match std::str::from_utf8(layer.name) {
            Ok(name) if is_of_array(name) => {}
            Ok(name) => write = write.with_metalayer(name, layer.content),
            Err(_) => lost.push("a metalayer whose name is not UTF-8".to_owned()),
        }
    }
    for layer in frame.vlmetalayers()?.iter() {
        let name = String::from_utf8_lossy(layer.name);
        match frame.vlmeta(&name, left) {
            Ok(Some(content)) => {
                left = left.saturating_sub(content.len());
                write = write.with_vlmetalayer(&name, &content);
            }
            Ok(None) => lost.push("a metalayer whose name is not UTF-8".to_owned()),
            Err(error) => lost.push(format!("the metalayer {name}: {error}")),
        }
    }
    Ok(write)
}

enum VolumeSink {
    Tet(Box<TetWriter<zvf_tet::WriteTarget>>, Element),
    Caterva(Box<Writer>, Dims),
    Zarr(Box<ZarrSink>),
}

impl VolumeSink {
    fn new(
        form: VolumeFormat,
        out: &Path,
        volume: &Volume,
        chunk: &Dims,
        options: &ConvertOptions,
        lost: &mut Vec<String>,
    ) -> Result<Self, VolumeError> {
        let info = volume.info();
        let name = || match (&options.name, info.name.as_str()) {
            (Some(name), _) => name.clone(),
            (None, "") => "data".to_owned(),
            (None, name) => name.to_owned(),
        };
        match form {
            VolumeFormat::Tet => {
                let dtype = tet_type(&info.element)?;
                let codec = if options.raw {
                    zvf_tet::TileCodec::Raw
                } else {
                    zvf_tet::TileCodec::Zstd
                };
                let spec = DatasetSpec::new(name(), dtype, &info.shape, chunk).with_codec(codec);
                let write =
                    zvf_tet::WriteOptions::default().with_footer(footer(volume, &name(), lost));
                let writer = TetWriter::create(out, vec![spec], write)?;
                Ok(Self::Tet(Box::new(writer), info.element.clone()))
            }
            VolumeFormat::Caterva => {
                let block = block(info, chunk, options)?;
                let codec = (!options.raw).then_some(Codec::Zstd);
                let mut write = zvf_caterva::WriteOptions::new(info.element.size, chunk, &block)
                    .with_dtype(&info.element.text)
                    .with_codec(codec, 3);
                if let VolumeSource::Caterva(array) = volume.source() {
                    write = with_layers(write, array, lost)?;
                }
                let writer = Writer::create(out, &info.shape, write)?;
                Ok(Self::Caterva(Box::new(writer), info.shape))
            }
            VolumeFormat::Zarr => Ok(Self::Zarr(Box::new(ZarrSink::new(
                out, volume, chunk, options, lost,
            )?))),
            VolumeFormat::Nifti | VolumeFormat::Mgh => {
                Err(VolumeError::misuse(format!("{form} is not written")))
            }
        }
    }

    /// The next elements to write; `None` when all are written.
    fn next(&mut self) -> Result<Option<Selection>, VolumeError> {
        match self {
            Self::Tet(writer, _) => Ok(writer.next_tile()?.map(|(_, tile)| tile)),
            Self::Caterva(writer, shape) => {
                let Some(region) = writer.next_region()? else {
                    return Ok(None);
                };
                let ranges = region.origin.iter().zip(region.extent.iter());
                let axes: Vec<Axis> = ranges
                    .map(|(start, extent)| Axis::new(*start, start.saturating_add(*extent), 1))
                    .collect();
                Ok(Some(Selection::new(&axes, shape)?))
            }
            Self::Zarr(sink) => sink.next(),
        }
    }

    fn write(&mut self, region: &Selection, bytes: &mut [u8]) -> Result<(), VolumeError> {
        match self {
            Self::Tet(writer, element) => {
                element.to_order(ByteOrder::Little, bytes);
                Ok(writer.write_tile(bytes)?)
            }
            Self::Caterva(writer, _) => Ok(writer.write_chunk(bytes)?),
            Self::Zarr(sink) => sink.write(region, bytes),
        }
    }

    fn finish(self) -> Result<(), VolumeError> {
        match self {
            Self::Tet(writer, _) => Ok(writer.finish()?),
            Self::Caterva(writer, _) => Ok(writer.finish().map(|_| ())?),
            Self::Zarr(sink) => sink.finish(),
        }
    }
}

/// The element type in a TET file.
fn tet_type(element: &Element) -> Result<zvf_tet::DType, VolumeError> {
    let found = element.number.and_then(|dtype| match dtype.kind {
        // Converters of the format store booleans as `u8`.
        DTypeKind::Bool => Some(zvf_tet::DType::U8),
        _ if dtype.is_float() => zvf_tet::DType::from_name(&format!("f{}", dtype.size() * 8)),
        _ => zvf_tet::DType::from_name(&short(dtype)),
    });
    found.ok_or_else(|| {
        VolumeError::misuse(format!(
            "elements {}: TET files hold f16 to f64, i16 to i64 and u8 to u64 only",
            element.text
        ))
    })
}

fn short(dtype: DType) -> String {
    let letter = match dtype.kind {
        DTypeKind::U8 | DTypeKind::U16 | DTypeKind::U32 | DTypeKind::U64 => 'u',
        _ => 'i',
    };
    format!("{letter}{}", dtype.size() * 8)
}

/// The footer of the new file. If the source is a TET file, it has the attributes, labels and axis names of the dataset, and the history; otherwise
/// the names of the axes, if every axis has one.
fn footer(volume: &Volume, name: &str, lost: &mut Vec<String>) -> zvf_tet::Footer {
    let info = volume.info();
    let of = |history: Vec<zvf_tet::HistoryRow>, own: zvf_tet::DatasetMetadata| {
        let metadata = (own != zvf_tet::DatasetMetadata::default()).then(|| {
            let mut metadata = zvf_tet::Metadata::default();
            metadata.datasets.insert(name.to_owned(), own);
            metadata
        });
        zvf_tet::Footer {
            history,
            metadata,
            ..zvf_tet::Footer::default()
        }
    };
    if let VolumeSource::Tet(file, _) = volume.source()
        && let Some(footer) = file.footer()
    {
        let metadata = footer.metadata.as_ref();
        let own = metadata.and_then(|one| one.datasets.get(&info.name));
        let kept = of(footer.history.clone(), own.cloned().unwrap_or_default());
        match kept.check() {
            Ok(()) => return kept,
            Err(error) => lost.push(format!("attributes, labels and history ({error})")),
        }
    }
    let names: Option<Vec<String>> = info.axes.iter().map(|axis| axis.name.clone()).collect();
    if let Some(names) = names {
        let own = zvf_tet::DatasetMetadata {
            dim_names: names,
            ..zvf_tet::DatasetMetadata::default()
        };
        let named = of(Vec::new(), own);
        match named.check() {
            Ok(()) => return named,
            Err(error) => lost.push(format!("names of axes ({error})")),
        }
    } else if info.axes.iter().any(|axis| axis.name.is_some()) {
        lost.push("names of axes (one of them has none)".to_owned());
    }
    zvf_tet::Footer::default()
}

/// The block shape: as requested; else as in the source, if the chunk shape was not requested; else at most the chunk.
fn block(info: &VolumeInfo, chunk: &Dims, options: &ConvertOptions) -> Result<Dims, VolumeError> {
    /// Minimum number of elements of a block on each axis, unless the chunk has fewer.
    const LEAST: u64 = 32;
    /// Maximum number of bytes of a block that has more than `LEAST` elements on an axis.
    const BYTES: u64 = 256 << 10;
    if let Some(block) = &options.block {
        if block.len() != chunk.len() || block.contains(&0) {
            return Err(VolumeError::misuse(format!(
                "extents of blocks (--block-shape): found {block:?}, expected {} numbers of at least 1",
                chunk.len()
            )));
        }
        return Ok(Dims::new(block)?);
    }
    let of_source = info.block.filter(|_| options.chunk.is_none());
    let block: Vec<u64> = match of_source {
        Some(block) => {
            let extents = block.iter().zip(chunk.iter());
            extents
                .map(|(one, chunk)| (*one).clamp(1, *chunk))
                .collect()
        }
        // Small blocks compress badly: with one axis, 32 elements are too few.
        None => {
            let bytes = |most: u64| {
                let element = wide(info.element.size).max(1);
                chunk
                    .iter()
                    .try_fold(element, |bytes, _| bytes.checked_mul(most))
            };
            let mut most = LEAST;
            while !chunk.is_empty() && bytes(2 * most).is_some_and(|bytes| bytes <= BYTES) {
                most *= 2;
            }
            chunk.iter().map(|one| (*one).clamp(1, most)).collect()
        }
    };
    Ok(Dims::new(&block)?)
}

/// An unfinished Zarr array: a temporary folder beside its target.
struct ZarrSink {
    folder: tempfile::TempDir,
    out: PathBuf,
    overwrite: bool,
    element: Element,
    array: Array<FilesystemStore>,
    cells: Cells,
    chunk: Dims,
    shape: Dims,
}

impl ZarrSink {
    fn new(
        out: &Path,
        volume: &Volume,
        chunk: &Dims,
        options: &ConvertOptions,
        lost: &mut Vec<String>,
    ) -> Result<Self, VolumeError> {
        let info = volume.info();
        let Some(dtype) = info.element.number else {
            return Err(VolumeError::misuse(format!(
                "elements {}: only numbers are written to Zarr",
                info.element.text
            )));
        };
        let folder = hidden(parent(out))?;
        let mut codecs = vec![json!({"name": "bytes", "configuration": {"endian": "little"}})];
        if !options.raw {
            codecs.push(json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}}));
        }
        let zero = match dtype.kind {
            DTypeKind::Bool => json!(false),
            _ => json!(0),
        };
        let (attributes, fill) = match volume.source() {
            VolumeSource::Zarr(array) => (array.attributes().clone(), array.fill()),
            _ => (Value::Null, &Value::Null),
        };
        let mut document = json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": info.shape.to_vec(),
            "data_type": DType::little(dtype.kind).to_string(),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk.to_vec()}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": zero,
            "codecs": codecs,
            "attributes": attributes.as_object().cloned().unwrap_or_default(),
        });
        if info.axes.iter().any(|axis| axis.name.is_some()) {
            // An axis without a name is null.
            let names = info.axes.iter().map(|axis| axis.name.as_deref());
            document["dimension_names"] = names.collect();
        }
        if !is_zero(fill) {
            // Version 2 may state a fill value that is invalid in version 3.
            let mut filled = document.clone();
            filled["fill_value"] = fill.clone();
            match has_valid_fill(&filled) {
                true => document = filled,
                false => lost.push(lost_fill(fill)),
            }
        }
        let failed = |error: &dyn std::fmt::Display| io(out, error);
        let made = isolate(|| {
            let store = FilesystemStore::new(folder.path()).map_err(|error| failed(&error))?;
            let metadata: ArrayMetadata =
                serde_json::from_value(document).map_err(|error| zarr(&error))?;
            let array = Array::new_with_metadata(Arc::new(store), "/", metadata)
                .map_err(|error| zarr(&error))?;
            array.store_metadata().map_err(|error| failed(&error))?;
            Ok::<_, VolumeError>(array)
        });
        let array = made.map_err(|panic| zarr(&panic))??;
        Ok(Self {
            folder,
            out: out.to_owned(),
            overwrite: options.overwrite,
            element: info.element.clone(),
            array,
            cells: Selection::all(&info.shape)?.cells(chunk)?,
            chunk: *chunk,
            shape: info.shape,
        })
    }

    fn next(&mut self) -> Result<Option<Selection>, VolumeError> {
        let Some(part) = self.cells.next() else {
            return Ok(None);
        };
        let starts = part.coord();
        let axes: Vec<Axis> = part
            .runs()
            .iter()
            .zip(starts.iter().zip(self.chunk.iter()))
            .map(|(run, (at, extent))| {
                let start = at.saturating_mul(*extent);
                Axis::new(start, start.saturating_add(run.count), 1)
            })
            .collect();
        Ok(Some(Selection::new(&axes, &self.shape)?))
    }

    fn write(&mut self, region: &Selection, bytes: &mut [u8]) -> Result<(), VolumeError> {
        // `zarrs` expects elements in the byte order of this machine.
        self.element.to_order(Element::NATIVE, bytes);
        let ranges: Vec<_> = region
            .axes()
            .iter()
            .map(|axis| axis.start..axis.stop)
            .collect();
        let subset = ArraySubset::new_with_ranges(&ranges);
        let elements = ArrayBytes::new_flen(bytes.to_vec());
        isolate(|| self.array.store_array_subset(&subset, elements))
            .map_err(|panic| io(&self.out, &panic))?
            .map_err(|error| io(&self.out, &error))
    }

    fn finish(self) -> Result<(), VolumeError> {
        let out = &self.out;
        let failed = |what: &str| VolumeError::file(format!("{what} {}", out.display()));
        let parent = parent(out);
        sync(self.folder.path()).map_err(failed("writing"))?;
        // The old array is renamed before the new one, so that a complete array, old or new, is on disk at any time.
        let mut aside = None;
        if self.overwrite && out.exists() {
            let folder = hidden(parent)?;
            let old = folder.path().join("old");
            std::fs::rename(out, &old).map_err(failed("replacing"))?;
            aside = Some((folder, old));
        }
        let path = self.folder.keep();
        if let Err(error) = std::fs::rename(&path, out) {
            // The new array is removed in any case.
            let _ = std::fs::remove_dir_all(&path);
            if let Some((folder, old)) = aside
                && std::fs::rename(&old, out).is_err()
            {
                // The old array cannot be renamed back: its temporary folder is kept.
                let _ = folder.keep();
            }
            return Err(failed("writing")(error));
        }
        if cfg!(unix) {
            let synced = File::open(parent).and_then(|folder| folder.sync_all());
            synced.map_err(failed("writing"))?;
        }
        match aside {
            Some((folder, _)) => folder.close().map_err(failed("removing the old")),
            None => Ok(()),
        }
    }
}

/// Whether the fill value in an array's document is valid for its data type.
fn has_valid_fill(document: &Value) -> bool {
    let made = isolate(|| {
        let metadata = serde_json::from_value::<ArrayMetadata>(document.clone()).ok()?;
        let store = Arc::new(zarrs::storage::store::MemoryStore::new());
        Array::new_with_metadata(store, "/", metadata).ok()
    });
    matches!(made, Ok(Some(_)))
}

/// The parent folder of a path.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A temporary folder inside `parent`; removed when the value is dropped.
fn hidden(parent: &Path) -> Result<tempfile::TempDir, VolumeError> {
    let made = tempfile::Builder::new()
        .prefix(".volume-")
        .tempdir_in(parent);
    made.map_err(VolumeError::file(format!(
        "making a folder in {}",
        parent.display()
    )))
}

/// Syncs everything in a folder.
fn sync(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// A disk error, as reported by `zarrs`.
fn io(out: &Path, error: &dyn std::fmt::Display) -> VolumeError {
    let what = format!("writing {}", out.display());
    VolumeError::file(what)(std::io::Error::other(error.to_string()))
}

/// The error for an invalid document.
fn zarr(error: &dyn std::fmt::Display) -> VolumeError {
    VolumeError::misuse(format!("zarr: {error}"))
}
