//! The frame of an existing store: its axes, and the map that was applied when it was made.

use arrow_schema::Schema;
use serde_json::Value;
use zvf_meta::{Affine, Axis};
use zvf_store::{Names, Need, Store};
use zvf_write::{JsonObject, Kind};

use crate::frame::{SourceHeader, numbers};
use crate::{ConvertError, Format};

/// Member of a header: the map that an import applied to positions of files that state no frame.
pub(crate) const APPLIED: &str = "applied_affine";
/// Member of a header of formats with a map of their own: the map that the user gave, as a part of the applied map.
pub(crate) const GIVEN: &str = "given_affine";

/// Member of the header of a store from LAS files: the meaning of the attribute of the same name.
pub(crate) const GPS_TIME: &str = "gps_time";

/// A map that was applied to positions when a store was made, as a header records it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedMap {
    pub(crate) format: Format,
    /// The path of the header in the store.
    pub(crate) place: String,
    /// The map, or why it cannot be used.
    pub(crate) map: Result<Affine, String>,
}

/// The frame of the positions of an existing store, to which positions of files are converted.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreFrame {
    pub(crate) kind: Kind,
    pub(crate) axes: Vec<Axis>,
    /// Skeletons and graphs: the unit that the attribute `radius` states.
    pub(crate) radius: Option<String>,
    pub(crate) recorded: Vec<RecordedMap>,
    /// The header of a tractogram.
    pub(crate) frame: Option<SourceHeader>,
    pub(crate) crs: Option<Value>,
    /// The meaning of `gps_time`, if the store was made from LAS files.
    pub(crate) gps_time: Option<String>,
}

/// The conversion of positions of files for a store.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PositionConversion {
    /// The map from positions of the files to positions of the store; `None` for the identity.
    pub map: Option<Affine>,
    /// Skeletons and graphs: the factor that converts the attribute `radius`, from its own unit or from the unit of the positions.
    pub lengths: Option<f64>,
    /// Remarks for the user.
    pub remarks: Vec<String>,
}

impl StoreFrame {
    /// The frame of a store.
    ///
    /// # Cost
    /// One request for each format that may have a header, all sent concurrently. For skeletons, graphs and stores from LAS files also the documents
    /// of vertex attributes.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn of_store(store: &Store) -> Result<Self, ConvertError> {
        let formats = Format::ALL.iter().filter(|one| !one.is_tractogram());
        let names: Vec<(Format, String)> = formats.map(|one| (*one, one.header())).collect();
        let asked: Vec<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
        let headers = store.headers(&asked).await?;
        let recorded = names.iter().filter_map(|(format, name)| {
            let map = recorded(headers.get(name)?, *format, store.root().axes().len())?;
            let place = format!("headers/{name}");
            Some(RecordedMap {
                format: *format,
                place,
                map,
            })
        });
        let las = headers.get(&Format::Las.header());
        let gps_time = las.and_then(|header| header.get(GPS_TIME)?.as_str());
        let gps_time = match gps_time {
            Some(gps_time) if has_times(store).await? => Some(gps_time),
            _ => None,
        };
        Ok(Self {
            gps_time: gps_time.map(str::to_owned),
            kind: store.kind(),
            axes: store.root().axes().to_vec(),
            radius: unit_of_radius(store).await?,
            recorded: recorded.collect(),
            frame: SourceHeader::of_store(store).await?,
            crs: store.root().zarr_vectors.crs.clone(),
        })
    }

    /// The axes of the store.
    #[must_use]
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The map that was applied when the store was made, if one is recorded.
    ///
    /// # Errors
    /// Misuse: headers record different maps.
    pub(crate) fn recorded_map(&self) -> Result<Option<&RecordedMap>, ConvertError> {
        let Some(first) = self.recorded.first() else {
            return Ok(None);
        };
        match self.recorded.iter().find(|other| other.map != first.map) {
            None => Ok(Some(first)),
            Some(other) => Err(ConvertError::usage(
                "the map of the store",
                format!("one in {} and another in {}", first.place, other.place),
                "a single one; --unit, --scale or --affine state the map of the files",
            )),
        }
    }

    /// A note if the schema of a table has no `zvf.frame`, but the store states the frame of its tractogram; otherwise `None`.
    #[must_use]
    pub fn unstated_by(&self, schema: &Schema) -> Option<String> {
        match SourceHeader::of_schema(schema) {
            Some(_) => None,
            None => self.unstated_frame(),
        }
    }

    /// A note for files that state no frame, if the store states the frame of its tractogram; otherwise `None`.
    pub(crate) fn unstated_frame(&self) -> Option<String> {
        let space = self.frame.as_ref().and_then(SourceHeader::space)?.name();
        Some(format!(
            "positions are taken as {space}, the frame of the store: the file does not state its own"
        ))
    }

    /// The map from scanner millimetres to the positions of a store with voxel millimetres; `None` for other stores.
    ///
    /// # Errors
    /// Misuse: a header without a usable map.
    pub(crate) fn rasmm_to_store(&self) -> Result<Option<Affine>, ConvertError> {
        match &self.frame {
            Some(frame) if frame.problem().is_none() => {
                let map = frame.to_rasmm()?.map(|map| map.inverse());
                let map = map.transpose();
                map.map_err(|error| {
                    ConvertError::usage(frame.place(), error.what, "a map with an inverse")
                })
            }
            _ => Ok(None),
        }
    }
}

/// Whether the vertices have the attribute [`GPS_TIME`].
async fn has_times(store: &Store) -> Result<bool, ConvertError> {
    let need = Need {
        vertex_attributes: Names::All,
        ..Need::nothing()
    };
    let level = store.level(0, &need).await?;
    let mut attributes = level.vertex_attributes().iter();
    Ok(attributes.any(|one| one.name == GPS_TIME))
}

/// The unit that the attribute `radius` of skeletons and graphs states.
async fn unit_of_radius(store: &Store) -> Result<Option<String>, ConvertError> {
    if !matches!(store.kind(), Kind::Skeleton | Kind::Graph) {
        return Ok(None);
    }
    let need = Need {
        vertex_attributes: Names::All,
        ..Need::nothing()
    };
    let level = store.level(0, &need).await?;
    let mut attributes = level.vertex_attributes().iter();
    let radius = attributes.find(|one| one.name == "radius");
    Ok(radius.and_then(|one| one.unit.clone()))
}

/// The map of the user in a header, without the map of the format.
fn recorded(header: &JsonObject, format: Format, dims: usize) -> Option<Result<Affine, String>> {
    let value = match (header.get(GIVEN), format) {
        (Some(given), _) => given,
        // Earlier builds that did not record the user's map applied the map of the folder.
        (None, Format::Precomputed) => return None,
        (None, _) => header.get(APPLIED)?,
    };
    if value.is_null() {
        return None;
    }
    let numbers = numbers(value).ok_or_else(|| format!("{value}, which is not a list of rows"));
    Some(numbers.and_then(|list| Affine::from_rows(&list, dims).map_err(|error| error.what)))
}
