//! The jobs `volume-info`, `volume-slice` and `volume-convert`, for dense volumes in TET files, Caterva and b2nd frames, Zarr images, NIfTI and MGH files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use zvf_store::format::int::wide;
use zvf_volume::{AxisRanges, ConvertOptions, Counts, Volume, VolumeError, VolumeInfo};

use crate::checks::outside;
use crate::error::Result;
use crate::{Context, JobError, JobEvent, Staged, is_special};

/// Bytes of a result that are read at a time.
const PIECE: u64 = 64 << 20;

options! {
    /// Shows the contents of a file or image: datasets, types, shapes, chunks, blocks, codecs, filters, axes
    VolumeInfoJob {
        /// File, folder or URL; #NAME or #@N selects one of several datasets or levels
        volume: String,
    }
}

options! {
    /// Reads a box, with strides, into a NumPy file or as bare elements
    VolumeSliceJob {
        /// File, folder or URL; #NAME or #@N selects one of several datasets or levels
        volume: String,
        /// The range to read
        #[arg(long, value_name = "R", default_value = "", allow_hyphen_values = true)]
        range: String,
        /// A name that ends in .npy, or in .raw for the bytes of the elements in C order, without a header; `volume info` shows their type
        #[arg(short, long, value_name = "OUT")]
        #[schemars(extend("format" = "path"))]
        output: PathBuf,
    }
}

options! {
    /// Writes a volume in another form: .tet, .b2nd or .zarr, by the ending of OUT
    VolumeConvertJob {
        /// File, folder or URL; #NAME or #@N selects one of several datasets or levels
        volume: String,
        /// Local path that ends in .tet, .b2nd or .zarr
        #[arg(value_name = "OUT")]
        #[schemars(extend("format" = "path"))]
        output: PathBuf,
        /// Extents of a tile or chunk
        #[arg(long, value_name = "N,..", value_delimiter = ',')]
        chunk_shape: Option<Vec<u64>>,
        /// Extents of a block, only for .b2nd
        #[arg(long, value_name = "N,..", value_delimiter = ',')]
        block_shape: Option<Vec<u64>>,
        /// Name of the dataset, only for .tet
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Does not compress
        #[arg(long)]
        raw: bool,
        /// Replaces an existing file at OUT; if OUT ends in .zarr, also an existing folder
        #[arg(long)]
        overwrite: bool,
    }
}

impl VolumeInfoJob {
    pub(crate) fn check(&self) -> Result<()> {
        Ok(())
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<VolumeInfoReport> {
        let listed = Volume::list(&self.volume, &context.write.open.io).await;
        let volumes = listed.map_err(JobError::volume(&self.volume))?;
        let datasets = volumes.iter().map(|volume| volume.info().clone());
        Ok(VolumeInfoReport {
            volume: self.volume.clone(),
            datasets: datasets.collect(),
        })
    }
}

impl VolumeSliceJob {
    pub(crate) fn check(&self) -> Result<()> {
        self.is_npy().map(|_| ())
    }

    /// Whether the output is a NumPy file; otherwise it has bare elements.
    fn is_npy(&self) -> Result<bool> {
        match self.output.extension().and_then(|one| one.to_str()) {
            Some("npy") => Ok(true),
            Some("raw") => Ok(false),
            _ => {
                let found = self.output.display();
                let expected = "a name that ends in .npy or .raw";
                Err(JobError::option("output", found, expected))
            }
        }
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<VolumeSliceReport> {
        let failed = || JobError::volume(&self.volume);
        let volume = opened(&self.volume, context).await?;
        let info = volume.info();
        let range = AxisRanges::parse(&self.range, &info.shape).map_err(failed())?;
        let shape = range.result_shape().map_err(failed())?;
        let elements = range.selection.count();
        let bytes = elements.and_then(|count| count.checked_mul(wide(info.element.size)));
        let bytes = bytes.ok_or_else(|| {
            let expected = "fewer bytes than 64 bits count";
            JobError::option("range", format!("{:?}", self.range), expected)
        })?;
        context.total(bytes);
        let write = |error| JobError::file("write", &self.output)(error);
        let staged = match is_special(&self.output) {
            true => None,
            false => Some(Staged::file(&self.output)?),
        };
        let path: &Path = staged.as_ref().map_or(&self.output, |one| one.path());
        let mut file = BufWriter::new(File::create(path).map_err(write)?);
        if self.is_npy()? {
            let header = zvf_volume::npy_header(&info.element, &shape);
            file.write_all(&header).map_err(write)?;
        }
        let (mut read, progress) = (Counts::default(), context.progress());
        // Pieces are written one after another, so only one is in memory.
        for piece in range.selection.slabs(&info.chunk, bytes.div_ceil(PIECE)) {
            let reading = volume.read(&piece);
            let (elements, took) = unless_stopped(&self.volume, context, reading).await?;
            file.write_all(&elements).map_err(write)?;
            progress(wide(elements.len()));
            read.add(took);
        }
        file.flush().map_err(write)?;
        drop(file);
        if let Some(staged) = staged {
            staged.commit()?;
        }
        Ok(VolumeSliceReport {
            volume: self.volume.clone(),
            output: self.output.display().to_string(),
            dtype: info.element.text.clone(),
            shape: shape.to_vec(),
            bytes,
            read,
            chunks: read.chunks,
            blocks: read.blocks,
        })
    }
}

impl VolumeConvertJob {
    pub(crate) fn check(&self) -> Result<()> {
        for (member, extents) in [
            ("chunk_shape", &self.chunk_shape),
            ("block_shape", &self.block_shape),
        ] {
            let zero = extents.as_deref().unwrap_or_default();
            if let Some(at) = zero.iter().position(|extent| *extent == 0) {
                let expected = "a whole number above 0";
                return Err(JobError::option(&format!("{member}[{at}]"), 0, expected));
            }
        }
        Ok(())
    }

    pub(crate) async fn run(&self, context: &Context) -> Result<VolumeConvertReport> {
        outside("output", Some(&self.output))?;
        let volume = opened(&self.volume, context).await?;
        let mut options = ConvertOptions::default();
        options.chunk.clone_from(&self.chunk_shape);
        options.block.clone_from(&self.block_shape);
        options.name.clone_from(&self.name);
        options.raw = self.raw;
        options.overwrite = self.overwrite;
        let progress = context.progress();
        let told = |done, total| {
            if done == 1 {
                context.total(total);
            }
            progress(1);
        };
        let converting = zvf_volume::convert(&volume, &self.output, &options, told);
        let done = unless_stopped(&self.volume, context, converting).await?;
        let output = self.output.display().to_string();
        let lost = done.lost.iter();
        let warnings = lost.map(|what| format!("{output} does not hold {what}"));
        Ok(VolumeConvertReport {
            volume: self.volume.clone(),
            warnings: warnings.collect(),
            output,
            form: done.form.name(),
            elements: done.elements,
            read: done.counts,
            lost: done.lost,
        })
    }
}

/// Waits for work on the volume at an address. If the job is stopped, the work is dropped, which removes the files it has written.
async fn unless_stopped<T>(
    address: &str,
    context: &Context,
    work: impl Future<Output = std::result::Result<T, VolumeError>>,
) -> Result<T> {
    let done = context.write.open.io.stop.or(work).await;
    let done = done.map_err(VolumeError::from).and_then(|done| done);
    done.map_err(JobError::volume(address))
}

/// Opens a volume, and reports the remarks about it.
async fn opened(address: &str, context: &Context) -> Result<Volume> {
    let volume = Volume::open(address, &context.write.open.io).await;
    let volume = volume.map_err(JobError::volume(address))?;
    for note in &volume.info().notes {
        context.event(&JobEvent::Note(&format!("{address}: {note}")));
    }
    Ok(volume)
}

/// The report of `volume-info`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VolumeInfoReport {
    /// The address.
    pub volume: String,
    /// Its volumes: all of them, or the selected one.
    #[serde(serialize_with = "described")]
    pub datasets: Vec<VolumeInfo>,
}

/// Serializes volumes; members have the names of NumPy and Zarr.
fn described<S: Serializer>(all: &[VolumeInfo], to: S) -> std::result::Result<S::Ok, S::Error> {
    let one = |info: &VolumeInfo| {
        let axes = info.axes.iter().map(|axis| {
            json!({
                "name": axis.name,
                "type": axis.kind,
                "unit": axis.unit,
                "offset": axis.place.map(|(offset, _)| offset),
                "scale": axis.place.map(|(_, scale)| scale),
            })
        });
        let affine = info.affine.as_ref();
        json!({
            "name": info.name,
            "form": info.form.name(),
            "layout": info.layout,
            "dtype": info.element.text,
            "itemsize": info.element.size,
            "shape": &info.shape[..],
            "chunks": &info.chunk[..],
            "blocks": info.block.as_ref().map(|block| block.to_vec()),
            "codecs": info.codecs,
            "filters": info.filters,
            "axes": axes.collect::<Vec<_>>(),
            "affine": affine.map(|stated| stated.affine.rows()),
            "affine_from": affine.and_then(|stated| stated.source.as_ref()),
            "affine_unit": affine.and_then(|stated| stated.unit),
            "notes": info.notes,
        })
    };
    all.iter().map(one).collect::<Vec<Value>>().serialize(to)
}

/// The report of `volume-slice`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VolumeSliceReport {
    /// The address of the volume.
    pub volume: String,
    /// The file.
    pub output: String,
    /// The type of its elements, as NumPy writes it.
    pub dtype: String,
    /// Its extents; an axis with a single index is left out.
    pub shape: Vec<u64>,
    /// Bytes of its elements.
    pub bytes: u64,
    /// Counts of the reads from the volume.
    pub read: Counts,
    /// Tiles or chunks that were read.
    pub chunks: u64,
    /// Blocks that were decoded.
    pub blocks: u64,
}

/// The report of `volume-convert`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VolumeConvertReport {
    /// The address of the volume.
    pub volume: String,
    /// The new file or folder.
    pub output: String,
    /// Its container: `tet`, `caterva` or `zarr`.
    pub form: &'static str,
    /// Elements.
    pub elements: u64,
    /// Counts of the reads from the volume.
    pub read: Counts,
    /// Properties of the volume that the container cannot hold.
    pub lost: Vec<String>,
    /// A warning for each of these properties.
    #[serde(skip)]
    pub warnings: Vec<String>,
}
