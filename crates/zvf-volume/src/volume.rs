//! The common interface to all containers.

use std::sync::Arc;

use futures::future::BoxFuture;
use zvf_grid::Selection;
use zvf_store::IoOptions;

use crate::blocking::blocking;
use crate::open::{VolumeSource, all};
use crate::{Axis, Counts, VolumeAddress, VolumeError, VolumeInfo, VolumePick};

/// A dense array from which boxes can be read, in any container and storage. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Volume {
    address: String,
    info: Arc<VolumeInfo>,
    source: VolumeSource,
}

impl Volume {
    /// All volumes at an address, in order, or the one that the text after `#` selects.
    ///
    /// # Errors
    /// I/O; no volume at the address, or a damaged one.
    pub fn list<'a>(
        address: &'a str,
        options: &'a IoOptions,
    ) -> BoxFuture<'a, Result<Vec<Self>, VolumeError>> {
        Box::pin(async move {
            let place = VolumeAddress::parse(address);
            let found = all(&place.file, place.pick.as_ref(), options).await?;
            let count = found.len();
            let volumes = found.into_iter().map(|(info, source)| Self {
                address: place.file.clone(),
                info: Arc::new(info),
                source,
            });
            let volumes: Vec<Self> = match &place.pick {
                None => volumes.collect(),
                Some(VolumePick::Number(number)) => volumes.skip(*number).take(1).collect(),
                // Names need not be unique; the first match is selected.
                Some(VolumePick::Name(name)) => volumes
                    .filter(|one| one.info.name == *name)
                    .take(1)
                    .collect(),
            };
            if volumes.is_empty() {
                let file = &place.file;
                return Err(VolumeError::misuse(format!(
                    "{address}: {file} has no such volume; it holds {count}, see `zvf volume info {file}`"
                )));
            }
            Ok(volumes)
        })
    }

    /// Opens one volume: the one that `#` selects, the only one, or the first level of an image.
    ///
    /// # Errors
    /// As [`Self::list`]; misuse if a file has several datasets and none is selected.
    pub fn open<'a>(
        address: &'a str,
        options: &'a IoOptions,
    ) -> BoxFuture<'a, Result<Self, VolumeError>> {
        Box::pin(async move {
            let mut found = Self::list(address, options).await?;
            let is_image = found
                .first()
                .is_some_and(|one| one.info.axes.iter().any(|axis| axis.place.is_some()));
            if found.len() > 1 && !is_image {
                let names: Vec<String> = found
                    .iter()
                    .map(|one| format!("#{}", one.info.name))
                    .collect();
                return Err(VolumeError::misuse(format!(
                    "{address} holds {} volumes, select one: {}",
                    found.len(),
                    names.join(", ")
                )));
            }
            Ok(found.swap_remove(0))
        })
    }

    /// Its properties.
    #[must_use]
    pub fn info(&self) -> &VolumeInfo {
        &self.info
    }

    pub(crate) const fn source(&self) -> &VolumeSource {
        &self.source
    }

    /// The file, folder or URL that holds it.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Reads the box from `low` to `high` (exclusive), in C order. Returns the same bytes as [`Self::read`].
    ///
    /// # Cost
    /// As [`Self::read`].
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_box<'a>(
        &'a self,
        low: &'a [u64],
        high: &'a [u64],
    ) -> BoxFuture<'a, Result<Vec<u8>, VolumeError>> {
        Box::pin(async move {
            if low.len() != high.len() {
                return Err(VolumeError::misuse("a box with corners of different ranks"));
            }
            let axes: Vec<Axis> = low
                .iter()
                .zip(high)
                .map(|(&low, &high)| Axis::new(low, high, 1))
                .collect();
            let selection = Selection::new(&axes, &self.info.shape)?;
            Ok(self.read(&selection).await?.0)
        })
    }

    /// Reads a selection: elements in C order, of the type of [`VolumeInfo::element`]: TET and Caterva as stored, Zarr in the byte order of this machine, image
    /// files with a slope as float64; also returns the cost.
    ///
    /// # Cost
    /// Reads each tile, chunk or block that the selection intersects once; the result is in memory.
    ///
    /// # Errors
    /// I/O; malformed payloads, by tile, chunk and block; a result that does not fit in memory.
    pub fn read<'a>(
        &'a self,
        selection: &'a Selection,
    ) -> BoxFuture<'a, Result<(Vec<u8>, Counts), VolumeError>> {
        Box::pin(async move {
            let selection = *selection;
            let chunks = || -> Result<u64, VolumeError> {
                Ok(selection
                    .cells(&self.info.chunk)?
                    .total()
                    .unwrap_or(u64::MAX))
            };
            match &self.source {
                VolumeSource::Tet(file, number) => {
                    let (file, number) = (Arc::clone(file), *number);
                    // The caller chose the size of the result; the budget limits tiles only.
                    let mut bytes = self.buffer(&selection)?;
                    let (bytes, stats) = blocking(move || {
                        let dataset = file.datasets().get(number);
                        let dataset =
                            dataset.ok_or_else(|| VolumeError::misuse("no such dataset"))?;
                        let stats = file.read_into(dataset, &selection, &mut bytes);
                        Ok((bytes, stats.map_err(of_tile)?))
                    })
                    .await?;
                    Ok((bytes, tet_counts(stats)))
                }
                VolumeSource::Caterva(array) => {
                    let array = Arc::clone(array);
                    let (bytes, before, after) = blocking(move || {
                        let before = array.frame().counts();
                        let bytes = array.read(&selection)?;
                        Ok((bytes, before, array.frame().counts()))
                    })
                    .await?;
                    Ok((bytes, caterva_counts(chunks()?, before, after)))
                }
                VolumeSource::Image(image) => {
                    let out = self.buffer(&selection)?;
                    image.read(selection, self.info.element.size, out).await
                }
                VolumeSource::Zarr(array) => {
                    let mut out = self.buffer(&selection)?;
                    let counts = Counts {
                        chunks: array.read(&self.info, &selection, &mut out).await?,
                        ..Counts::default()
                    };
                    Ok((out, counts))
                }
            }
        })
    }

    /// Allocates the zeroed result of a selection.
    #[expect(
        clippy::slow_vector_initialization,
        reason = "an allocation failure is an error, not an abort"
    )]
    fn buffer(&self, selection: &Selection) -> Result<Vec<u8>, VolumeError> {
        let bytes = selection
            .count()
            .and_then(|count| usize::try_from(count).ok())
            .and_then(|count| count.checked_mul(self.info.element.size));
        let mut out = Vec::new();
        match bytes {
            Some(bytes) if out.try_reserve_exact(bytes).is_ok() => {
                out.resize(bytes, 0);
                Ok(out)
            }
            _ => Err(VolumeError::Limit {
                what: "the result".to_owned(),
                found: bytes
                    .and_then(|one| u64::try_from(one).ok())
                    .unwrap_or(u64::MAX),
                limit: u64::try_from(isize::MAX).unwrap_or(u64::MAX),
            }),
        }
    }
}

/// Converts the error of a tile; if the tile exceeds the memory budget, the message names the option that sets the budget.
fn of_tile(error: zvf_tet::Error) -> VolumeError {
    match error {
        zvf_tet::Error::Limit { what, found, limit } => VolumeError::Limit {
            what: format!("{what} (the limit is the memory budget, --memory-budget)"),
            found,
            limit,
        },
        error => error.into(),
    }
}

fn tet_counts(stats: zvf_tet::ReadStats) -> Counts {
    Counts {
        chunks: stats.tiles,
        blocks: 0,
        bytes: stats.bytes,
        requests: stats.requests,
    }
}

/// Concurrent reads of the same array are included in each other's counts.
fn caterva_counts(
    chunks: u64,
    before: zvf_caterva::ReadCounts,
    after: zvf_caterva::ReadCounts,
) -> Counts {
    Counts {
        chunks,
        blocks: after.blocks.saturating_sub(before.blocks),
        bytes: after.bytes.saturating_sub(before.bytes),
        requests: after.reads.saturating_sub(before.reads),
    }
}
