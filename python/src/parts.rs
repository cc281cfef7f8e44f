//! Stores that several processes write, each its parts.

use pyo3::prelude::*;
use serde_json::json;
use zvf_store::Stop;
use zvf_write::{Groups, PartedStore, StoreSpec};

use crate::errors::Failure;
use crate::run::{OnInterrupt, wait};
use crate::table::Table;
use crate::writer::{Wanted, Writer, Writing};

/// A store that was begun and is not there before it is committed.
#[pyclass(frozen, module = "zvf._zvf")]
#[derive(Debug)]
pub(crate) struct Parts {
    url: String,
    spec: StoreSpec,
    writing: Writing,
}

impl Parts {
    /// Joins the store, with the options of a writer that ends when `stop` is asked.
    fn join(&self, py: Python<'_>, stop: &Stop) -> PyResult<PartedStore> {
        let options = self.writing.options(stop)?;
        let join = async {
            let store = PartedStore::join(&self.url, self.spec.clone(), options).await;
            store.map_err(|error| Failure::from(error).at(&self.url))
        };
        wait(py, OnInterrupt::Ask(stop), join)
    }
}

#[pymethods]
impl Parts {
    /// What a store in parts shall be; the tables say by their columns what it holds. Nothing is asked of the storage.
    #[staticmethod]
    fn describe(
        url: String,
        wanted: Wanted,
        writing: Writing,
        vertices: PyRef<'_, Table>,
        links: Option<PyRef<'_, Table>>,
        objects: Option<PyRef<'_, Table>>,
    ) -> PyResult<Self> {
        let spec = wanted.spec(&vertices, links.as_deref(), objects.as_deref())?;
        Ok(Self { url, spec, writing })
    }

    /// Marks the place.
    fn begin(&self, py: Python<'_>) -> PyResult<()> {
        let stop = Stop::default();
        let options = self.writing.options(&stop)?;
        let begin = async {
            let store = PartedStore::begin(&self.url, self.spec.clone(), options).await;
            store.map_err(|error| Failure::from(error).at(&self.url))
        };
        wait(py, OnInterrupt::Ask(&stop), begin).map(drop)
    }

    /// A writer of one part.
    fn writer(
        &self,
        py: Python<'_>,
        name: &str,
        links: Option<PyRef<'_, Table>>,
    ) -> PyResult<Writer> {
        let stop = Stop::default();
        let store = self.join(py, &stop)?;
        let writer = store.writer(name).map_err(Failure::from)?;
        Ok(Writer::of(self.url.clone(), stop, writer, links.as_deref()))
    }

    /// Puts the parts together: the store is there after that. Returns counts as JSON.
    fn commit(&self, py: Python<'_>, groups: Vec<(String, Vec<i64>)>) -> PyResult<String> {
        let stop = Stop::default();
        let store = self.join(py, &stop)?;
        let (names, members): (Vec<_>, Vec<_>) = groups.into_iter().unzip();
        let groups = Groups::new(members).with_names(names);
        let commit = async {
            let done = store.commit(&groups).await;
            done.map_err(|error| Failure::from(error).at(&self.url))
        };
        let done = wait(py, OnInterrupt::Ask(&stop), commit)?;
        Ok(json!({
            "store": self.url,
            "vertices": done.vertices,
            "chunks": done.chunks,
            "objects": done.objects,
            "links": done.links,
        })
        .to_string())
    }
}
