//! Opens an address. The container is detected from the first bytes of the file, not from its name.

use std::path::Path;
use std::sync::Arc;

use object_store::{ObjectStore, ObjectStoreExt};
use zvf_caterva::{Array, Geometry, NdKind, ObjectArray};
use zvf_format::dtype::DType;
use zvf_store::{FileLocation, IoError, IoOptions};
use zvf_tet::{RemoteTet, TetFile};

use crate::blocking::blocking;
use crate::image::{self, ZarrArray};
use crate::image_file::{self, ImageFile};
use crate::{AxisInfo, Element, Form, VolumeError, VolumeInfo};

/// The head of a sparse frame.
const SPARSE: &str = "chunks.b2frame";

/// Where the bytes come from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Tet(Arc<TetFile>, usize),
    RemoteTet(Arc<RemoteTet>, usize),
    Caterva(Arc<Array>),
    RemoteCaterva(Arc<ObjectArray>),
    Zarr(Arc<ZarrArray>),
    Image(Arc<ImageFile>),
}

/// Everything that an address holds.
pub(crate) async fn all(
    address: &str,
    options: &IoOptions,
) -> Result<Vec<(VolumeInfo, Source)>, VolumeError> {
    let location = FileLocation::resolve(address, options)?;
    let (found, failed) = match &location {
        FileLocation::Local(path) => (local(path.clone()).await?, None),
        FileLocation::Object(store, path) => remote(store, path).await?,
    };
    if let Some(found) = found {
        return Ok(found);
    }
    let arrays = image::arrays(address, options).await?.unwrap_or_default();
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
        .map(|(info, array)| (info, Source::Zarr(Arc::new(array))))
        .collect())
}

/// The container that begins with these bytes.
enum Magic {
    Tet,
    Frame,
    Image,
    Other,
}

impl Magic {
    fn of(first: &[u8]) -> Self {
        if first.starts_with(b"TETR") {
            Self::Tet
        } else if first.get(2..10) == Some(zvf_caterva::MAGIC.as_slice()) {
            Self::Frame
        } else if zvf_meta::ImageHeader::is_candidate(first) {
            Self::Image
        } else {
            Self::Other
        }
    }
}

type Found = Option<Vec<(VolumeInfo, Source)>>;

async fn local(path: std::path::PathBuf) -> Result<Found, VolumeError> {
    blocking(move || {
        if path.is_dir() {
            if !path.join(SPARSE).is_file() {
                return Ok(None);
            }
            return Ok(Some(vec![frame(Array::open(&path)?, true)]));
        }
        let read = first_bytes(&path);
        let first = read.map_err(VolumeError::file(format!("reading {}", path.display())))?;
        match Magic::of(&first) {
            Magic::Tet => {
                let file = Arc::new(TetFile::open(&path)?);
                let infos: Vec<VolumeInfo> = file
                    .datasets()
                    .iter()
                    .map(|one| VolumeInfo {
                        codecs: codecs(file.entries(), one.number()),
                        ..dataset(one, file.footer())
                    })
                    .collect();
                let volumes = infos.into_iter().enumerate();
                Ok(Some(
                    volumes
                        .map(|(number, info)| (info, Source::Tet(Arc::clone(&file), number)))
                        .collect(),
                ))
            }
            Magic::Frame => Ok(Some(vec![frame(Array::open(&path)?, false)])),
            Magic::Image => {
                let (info, image) = image_file::local(&path)?;
                Ok(Some(vec![(info, Source::Image(image))]))
            }
            Magic::Other => Err(VolumeError::malformed(
                path.display().to_string(),
                "another file",
                "a TET file, a Caterva or b2nd frame, a NIfTI or MGH file, or the folder of a Zarr array or image",
            )),
        }
    })
    .await
}

fn first_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut first = Vec::new();
    zvf_store::open_file(path)?
        .take(16)
        .read_to_end(&mut first)?;
    Ok(first)
}

/// The container of an object, or the error of reading it. Servers also answer with errors for folders and empty objects, so the error counts only
/// if the address is no Zarr node either.
async fn remote(
    store: &Arc<dyn ObjectStore>,
    path: &object_store::path::Path,
) -> Result<(Found, Option<object_store::Error>), VolumeError> {
    let mut failed = None;
    let mut answered = |error| match (error, &mut failed) {
        (object_store::Error::NotFound { .. }, _) => Ok(()),
        // After the last attempt failed, no other container is tried.
        (error, _) if is_transient(&error) => Err(VolumeError::from(error)),
        (error, failed) => {
            *failed = Some(error);
            Ok(())
        }
    };
    let first = match store.get_range(path, 0..16).await {
        Ok(first) => Some(first),
        Err(error) => answered(error).map(|()| None)?,
    };
    let found = match first.as_deref().map(Magic::of) {
        Some(Magic::Tet) => {
            let file = Arc::new(RemoteTet::open(Arc::clone(store), path).await?);
            let infos: Vec<VolumeInfo> = file
                .datasets()
                .iter()
                .map(|one| dataset(one, file.footer()))
                .collect();
            let volumes = infos.into_iter().enumerate();
            let of_it = |(number, info)| (info, Source::RemoteTet(Arc::clone(&file), number));
            Some(volumes.map(of_it).collect())
        }
        Some(Magic::Frame) => {
            let array = ObjectArray::open(Arc::clone(store), path.clone()).await?;
            Some(vec![remote_frame(array, false)])
        }
        Some(Magic::Image) => {
            let (info, image) = image_file::remote(store, path).await?;
            Some(vec![(info, Source::Image(image))])
        }
        _ => {
            let head = store.head(&path.clone().join(SPARSE)).await;
            match head {
                Err(error) => answered(error).map(|()| None)?,
                Ok(_) => {
                    let array = ObjectArray::open_sparse(Arc::clone(store), path.clone()).await?;
                    Some(vec![remote_frame(array, true)])
                }
            }
        }
    };
    Ok((found, failed))
}

/// Whether an error of a reader of single objects may pass, though not while it was tried.
fn is_transient(error: &object_store::Error) -> bool {
    match error {
        object_store::Error::Generic { source, .. } => source
            .downcast_ref::<IoError>()
            .is_some_and(IoError::is_transient),
        _ => false,
    }
}

/// The codecs that tiles of a dataset have.
fn codecs(entries: &[zvf_tet::Entry], number: u64) -> Vec<String> {
    let of_it = entries
        .iter()
        .filter(|entry| entry.dataset_id.get() == number);
    let codecs: std::collections::BTreeSet<u32> = of_it.map(|entry| entry.codec.get()).collect();
    codecs
        .into_iter()
        .map(|codec| {
            if codec == 1 {
                "zstd".to_owned()
            } else {
                "raw".to_owned()
            }
        })
        .collect()
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
        form: Form::Tet,
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

/// NumPy's letters of a type, without byte order.
fn numpy(dtype: zvf_tet::DType) -> String {
    let letter = dtype.name().get(..1).unwrap_or_default();
    format!("{letter}{}", dtype.size())
}

fn frame(array: Array, sparse: bool) -> (VolumeInfo, Source) {
    let info = nd(
        array.geometry(),
        array.kind(),
        array.dtype().text(),
        array.frame().header(),
        sparse,
    );
    (info, Source::Caterva(Arc::new(array)))
}

fn remote_frame(array: ObjectArray, sparse: bool) -> (VolumeInfo, Source) {
    let info = nd(
        array.geometry(),
        array.kind(),
        array.dtype().text(),
        array.header(),
        sparse,
    );
    (info, Source::RemoteCaterva(Arc::new(array)))
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
        form: Form::Caterva,
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

/// Codec and filters that the frame states; chunks may have others.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use object_store::Error;
    use zvf_store::IoError;

    #[test]
    fn a_failure_after_all_tries_is_not_tried_in_another_way() {
        let failed = |transient| Error::Generic {
            store: "zvf",
            source: Box::new(IoError::Backend {
                key: "a.tet".to_owned(),
                source: std::sync::Arc::new(std::io::Error::other("the line is cut")),
                tries: 3,
                elapsed: Duration::from_secs(1),
                transient,
            }),
        };
        assert!(super::is_transient(&failed(true)));
        assert!(!super::is_transient(&failed(false)));
    }
}
