//! Members of a query that restrict where rows and objects are. The files that they name are read here.

use std::fmt;

use pyo3::prelude::*;
use serde_json::Value;
use zvf_convert::{ConvertError, MaskSource, RegionSource};
use zvf_query::{QuerySpec, Region};
use zvf_store::{IoOptions, Store};

use crate::errors::{Failure, misuse};
use crate::run::{OnInterrupt, wait};

/// Returns the store of a query, in whose coordinates masks are placed, and the options for reading volumes.
type Open<'a> = &'a dyn Fn() -> PyResult<(Store, IoOptions)>;

/// Sets members of a query; reads the files that they name.
pub(crate) struct Masks<'a> {
    pub(crate) py: Python<'a>,
    pub(crate) open: Open<'a>,
}

/// An exception that is passed through a parser as its error.
struct PlaceError(PyErr);

impl From<ConvertError> for PlaceError {
    fn from(error: ConvertError) -> Self {
        Self(Failure::from(error).into())
    }
}

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Masks<'_> {
    /// Sets a member that restricts where rows and objects are.
    pub(crate) fn set_place(&self, spec: &mut QuerySpec, member: &str, text: &str) -> PyResult<()> {
        let mut read = |source: RegionSource| match source {
            RegionSource::Mask(mask) => self.of_volume(&mask).map_err(PlaceError),
            file => file.read().map_err(PlaceError::from),
        };
        let region = match member {
            "polygon" => zvf_convert::polygon_region(text).map_err(PlaceError::from),
            "mesh" if !text.starts_with("mesh(") => {
                zvf_convert::mesh_region(text.as_ref()).map_err(PlaceError::from)
            }
            "hull" if !text.starts_with("hull(") => {
                zvf_convert::hull_region(text.as_ref()).map_err(PlaceError::from)
            }
            "mask" => self.of_json(text).map_err(PlaceError),
            "mesh" | "hull" | "region" => zvf_convert::region(text, &mut read),
            "passing" => {
                let places = zvf_convert::object_places(text, &mut read);
                spec.pass(places.map_err(|error| error.0)?);
                return Ok(());
            }
            _ => return Ok(spec.set(member, text).map_err(Failure::from)?),
        };
        spec.intersect(region.map_err(|error| error.0)?);
        Ok(())
    }

    /// Reads a mask from the JSON of `_region.py`: a volume, or runs of an array.
    fn of_json(&self, text: &str) -> PyResult<Region> {
        let json: Value = serde_json::from_str(text)
            .map_err(|error| misuse(format!("mask: found {text:?}: {error}")))?;
        let wrong = || {
            misuse(format!(
                "mask: found {text:?}, expected a volume or an array"
            ))
        };
        if let Some(volume) = json.get("volume").and_then(Value::as_str) {
            let labels = json.get("labels").and_then(Value::as_array);
            let labels = labels.ok_or_else(wrong)?.iter().map(|range| {
                let ends = range.as_array().map(Vec::as_slice);
                let Some([first, last]) = ends else {
                    return Err(wrong());
                };
                let label = |label: &Value| {
                    let expected = "a whole number from -2^63 to 2^63 - 1";
                    let found = || misuse(format!("labels: found {label}, expected {expected}"));
                    label.as_i64().ok_or_else(found)
                };
                Ok(label(first)?..=label(last)?)
            });
            return self.of_volume(&MaskSource {
                volume: volume.to_owned(),
                labels: labels.collect::<PyResult<_>>()?,
                affine: json
                    .get("affine")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            });
        }
        let runs = json.as_object().ok_or_else(wrong)?;
        let (store, _) = (self.open)()?;
        wait(
            self.py,
            OnInterrupt::Drop,
            zvf_jobs::mask_of_array(runs, &store),
        )
    }

    fn of_volume(&self, source: &MaskSource) -> PyResult<Region> {
        let (store, io) = (self.open)()?;
        let read = async {
            let read = zvf_convert::mask_region(&store, source, &io).await;
            read.map_err(|error| Failure::from(error).at(&source.volume))
        };
        // The notes about converted units are dropped; the guide describes the conversion.
        let (region, _) = wait(self.py, OnInterrupt::Drop, read)?;
        Ok(region)
    }
}
