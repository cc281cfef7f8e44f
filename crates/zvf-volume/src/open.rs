//! Opens an address. The container is detected from the first bytes of the file, not from its name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use zvf_caterva::{Array, Frame, Geometry, NdKind};
use zvf_format::dtype::DType;
use zvf_store::io::ObjectLocation;
use zvf_store::{FileLocation, IoError, IoOptions};
use zvf_sys::{FileAt, ReadAt};
use zvf_tet::TetFile;

use crate::blocking::blocking;
use crate::image::{self, ZarrArray};
use crate::image_file::{self, ImageFile};
use crate::{AxisInfo, Element, VolumeError, VolumeFormat, VolumeInfo, VolumePick};

/// The open file or array that a volume is read from.
#[derive(Debug, Clone)]
pub(crate) enum VolumeSource {
    Tet(Arc<TetFile>, usize),
    Caterva(Arc<Array>),
    Zarr(Arc<ZarrArray>),
    Image(Arc<ImageFile>),
}

/// Opens all volumes at an address. If `pick` is a name, only that array of a Zarr hierarchy is opened.
pub(crate) async fn all(
    address: &str,
    pick: Option<&VolumePick>,
    options: &IoOptions,
) -> Result<Vec<(VolumeInfo, VolumeSource)>, VolumeError> {
    let location = FileLocation::resolve(address, options)?;
    let most = options.limits.cell_bytes;
    let (found, failed) = match location {
        FileLocation::Local(path) => (blocking(move || local(&path, most)).await?, None),
        FileLocation::Object(place) => remote(address, &place, most).await?,
    };
    if let Some(found) = found {
        return Ok(found);
    }
    let arrays = image::arrays(address, pick, options).await?;
    let arrays = arrays.unwrap_or_default();
    if let Some(failed) = failed.filter(|_| arrays.is_empty()) {
        return Err(failed.into());
    }
    if arrays.is_empty() {
        let expected =
            "a TET file, a Caterva or b2nd frame, a NIfTI or MGH file, a Zarr array, or an image";
        return Err(VolumeError::malformed(
            address,
            "something else, or nothing",
            expected,
        ));
    }
    let arrays = arrays.into_iter();
    Ok(arrays
        .map(|(info, array)| (info, VolumeSource::Zarr(Arc::new(array))))
        .collect())
}

type FoundVolumes = Option<Vec<(VolumeInfo, VolumeSource)>>;

/// The volumes of a file or a sparse frame; `None` for another folder.
fn local(path: &Path, most: u64) -> Result<FoundVolumes, VolumeError> {
    if path.is_dir() {
        if !path.join(Frame::HEAD).is_file() {
            return Ok(None);
        }
        return Ok(Some(vec![frame(Frame::open(path)?, true)?]));
    }
    let name = path.display().to_string();
    let file = FileAt::open(path);
    let file = file.map_err(VolumeError::file(format!("reading {name}")))?;
    match container(Box::new(file), &name, most)? {
        None => Err(VolumeError::malformed(
            name,
            "another file",
            "a TET file, a Caterva or b2nd frame, a NIfTI or MGH file, or the folder of a Zarr array or image",
        )),
        found => Ok(found),
    }
}

/// The volumes of a file; the container is detected from its first bytes. `None` for other files. `most` limits the bytes of a tile in memory.
fn container(file: Box<dyn ReadAt>, name: &str, most: u64) -> Result<FoundVolumes, VolumeError> {
    let failed = || VolumeError::file(format!("reading {name}"));
    let mut first = [0; 16];
    let size = file.size().map_err(failed())?;
    let length = usize::try_from(size).map_or(16, |size| size.min(16));
    let first = first.get_mut(..length).unwrap_or_default();
    file.read_at(0, first).map_err(failed())?;
    if first.starts_with(&zvf_tet::layout::MAGIC) {
        // The caller's limit replaces the budget that the file requests.
        let budget = zvf_tet::Budget {
            bytes: Some(most),
            ..zvf_tet::Budget::default()
        };
        let open = zvf_tet::OpenOptions::default().with_budget(budget);
        let file = Arc::new(TetFile::from_source_with(file, open)?);
        let mut codecs = codecs(file.entries());
        let infos: Vec<VolumeInfo> = file
            .datasets()
            .iter()
            .map(|one| VolumeInfo {
                codecs: codecs.remove(&one.number()).unwrap_or_default(),
                ..dataset(one, file.footer())
            })
            .collect();
        let volumes = infos.into_iter().enumerate();
        let of_it = |(number, info)| (info, VolumeSource::Tet(Arc::clone(&file), number));
        return Ok(Some(volumes.map(of_it).collect()));
    }
    if first
        .get(zvf_caterva::MAGIC_AT..)
        .is_some_and(|rest| rest.starts_with(zvf_caterva::MAGIC))
    {
        return Ok(Some(vec![frame(Frame::from_source(file, 0)?, false)?]));
    }
    if zvf_meta::ImageHeader::is_candidate(first) {
        let (info, image) = image_file::open(name, file)?;
        return Ok(Some(vec![(info, VolumeSource::Image(image))]));
    }
    Ok(None)
}

/// The volumes of an object or a sparse frame, and the error of reading it. Servers also answer with errors for folders and
/// empty objects, so the caller returns the error only if there is no Zarr node at the address.
async fn remote(
    address: &str,
    place: &ObjectLocation,
    most: u64,
) -> Result<(FoundVolumes, Option<IoError>), VolumeError> {
    let mut failed = None;
    let mut answered = |answer| match answer {
        // All attempts of the request failed: no other container is tried.
        Err(error) if IoError::is_transient(&error) => Err(error),
        Err(error) => {
            failed = Some(error);
            Ok(None)
        }
        found => found,
    };
    if let Some(file) = answered(place.open().await)? {
        let name = address.to_owned();
        let found = blocking(move || container(Box::new(file), &name, most));
        if let Some(found) = found.await? {
            return Ok((Some(found), None));
        }
    }
    let Some(head) = answered(place.join(Frame::HEAD).open().await)? else {
        return Ok((None, failed));
    };
    let folder = Box::new(place.folder()?);
    let found = blocking(move || frame(Frame::from_folder(Box::new(head), folder)?, true));
    Ok((Some(vec![found.await?]), None))
}

/// The codecs of the tiles, by the number of the dataset: one pass over the index.
fn codecs(entries: &[zvf_tet::IndexEntry]) -> BTreeMap<u64, Vec<String>> {
    let pairs = entries
        .iter()
        .map(|entry| (entry.dataset_id.get(), entry.codec.get()));
    let mut codecs: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (number, codec) in pairs.collect::<BTreeSet<(u64, u32)>>() {
        let name = if codec == 1 { "zstd" } else { "raw" };
        codecs.entry(number).or_default().push(name.to_owned());
    }
    codecs
}

fn dataset(dataset: &zvf_tet::Dataset, footer: Option<&zvf_tet::Footer>) -> VolumeInfo {
    let geometry = dataset.geometry();
    let dtype = DType::parse(&format!("<{}", numpy(geometry.dtype)));
    let names = footer
        .and_then(|footer| footer.metadata.as_ref())
        .and_then(|metadata| metadata.datasets.get(dataset.name()))
        .map(|one| one.dim_names.clone())
        .unwrap_or_default();
    VolumeInfo {
        name: dataset.name().to_owned(),
        form: VolumeFormat::Tet,
        layout: "tet layout 1".to_owned(),
        element: dtype.map_or_else(
            |_| Element::parse("", geometry.dtype.size()),
            Element::number,
        ),
        shape: geometry.shape,
        chunk: geometry.chunk_shape,
        block: None,
        codecs: Vec::new(),
        filters: Vec::new(),
        axes: (0..geometry.shape.len())
            .map(|axis| AxisInfo {
                name: names.get(axis).cloned(),
                ..AxisInfo::default()
            })
            .collect(),
        affine: None,
        notes: Vec::new(),
    }
}

/// NumPy's letters for a type, without byte order.
fn numpy(dtype: zvf_tet::DType) -> String {
    let letter = dtype.name().get(..1).unwrap_or_default();
    format!("{letter}{}", dtype.size())
}

fn frame(frame: Frame, sparse: bool) -> Result<(VolumeInfo, VolumeSource), VolumeError> {
    let array = frame.into_array()?;
    let info = nd(
        array.geometry(),
        array.kind(),
        array.dtype().text(),
        array.frame().header(),
        sparse,
    );
    Ok((info, VolumeSource::Caterva(Arc::new(array))))
}

fn nd(
    geometry: &Geometry,
    kind: NdKind,
    dtype: &str,
    header: &zvf_caterva::FrameHeader,
    sparse: bool,
) -> VolumeInfo {
    let kind = match kind {
        NdKind::B2nd => "b2nd",
        _ => "caterva",
    };
    let (codec, filters) = described(header);
    VolumeInfo {
        name: String::new(),
        form: VolumeFormat::Caterva,
        layout: if sparse {
            format!("sparse {kind}")
        } else {
            kind.to_owned()
        },
        element: Element::parse(dtype, geometry.item),
        shape: geometry.shape,
        chunk: geometry.chunk,
        block: Some(geometry.block),
        codecs: vec![codec],
        filters,
        axes: vec![AxisInfo::default(); geometry.shape.len()],
        affine: None,
        notes: Vec::new(),
    }
}

/// Codec and filters as stated by the frame; chunks may have others.
fn described(header: &zvf_caterva::FrameHeader) -> (String, Vec<String>) {
    let codec = match header.codec & 0x0F {
        0 => "blosclz".to_owned(),
        1 => "lz4".to_owned(),
        2 => "lz4hc".to_owned(),
        4 => "zlib".to_owned(),
        5 => "zstd".to_owned(),
        other => format!("codec {other}"),
    };
    let filters = header.filters.iter().filter(|id| **id != 0);
    let filters = filters.map(|id| match id {
        1 => "shuffle".to_owned(),
        2 => "bitshuffle".to_owned(),
        3 => "delta".to_owned(),
        4 => "truncprec".to_owned(),
        35 => "bytedelta".to_owned(),
        other => format!("filter {other}"),
    });
    (codec, filters.collect())
}
