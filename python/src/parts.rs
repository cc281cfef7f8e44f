//! Distributed writes: several processes write parts of one store.

use pyo3::prelude::*;
use serde_json::json;
use zvf_store::Stop;
use zvf_write::{Groups, PartOptions, PartStart, PartedStore, StoreSpec};

use crate::errors::Failure;
use crate::run::{OnInterrupt, wait};
use crate::table::Table;
use crate::writer::{Wanted, Writer, Writing};

/// A distributed write of a store, which does not exist before the commit.
#[pyclass(frozen, module = "zvf._zvf")]
#[derive(Debug)]
pub(crate) struct Parts {
    url: String,
    spec: StoreSpec,
    writing: Writing,
}

impl Parts {
    /// Joins the write, with options of a writer that ends when `stop` is requested.
    fn join(&self, py: Python<'_>, stop: &Stop) -> PyResult<PartedStore> {
        let options = self.writing.called("zvf.write", stop)?;
        let join = async {
            let store = PartedStore::join(&self.url, self.spec.clone(), options).await;
            store.map_err(|error| Failure::from(error).at(&self.url))
        };
        wait(py, OnInterrupt::Ask(stop), join)
    }
}

#[pymethods]
impl Parts {
    /// Describes the store; the columns of the tables define its attributes. Sends no requests.
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

    /// Begins the write; if names of parts are given, no other parts are accepted. Returns whether the same write was begun before.
    fn begin(&self, py: Python<'_>, parts: Option<Vec<String>>) -> PyResult<bool> {
        let stop = Stop::default();
        let options = self.writing.options(&stop)?;
        let begin = async {
            let spec = self.spec.clone();
            let store = PartedStore::begin_parts(&self.url, spec, parts, options).await;
            store.map_err(|error| Failure::from(error).at(&self.url))
        };
        let store = wait(py, OnInterrupt::Ask(&stop), begin)?;
        Ok(store.was_begun_before())
    }

    /// Returns a writer of a part and 0; for a part that is finished, no writer and its number of vertices.
    fn writer(
        &self,
        py: Python<'_>,
        name: &str,
        links: Option<PyRef<'_, Table>>,
        redo: bool,
    ) -> PyResult<(Option<Writer>, u64)> {
        let stop = Stop::default();
        let store = self.join(py, &stop)?;
        let options = PartOptions::new().with_redo(redo);
        let start = async {
            let start = store.part(name, options).await;
            start.map_err(|error| Failure::from(error).at(&self.url))
        };
        match wait(py, OnInterrupt::Ask(&stop), start)? {
            PartStart::Finished(found) => Ok((None, found.vertices)),
            PartStart::Writer(writer) => {
                let url = self.url.clone();
                let kind = self.spec.kind;
                let writer = Writer::of(url, stop, kind, writer, links.as_deref());
                Ok((Some(writer), 0))
            }
        }
    }

    /// The state of the parts, as JSON; `None` if no write is in progress.
    fn status(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let stop = Stop::default();
        let options = self.writing.options(&stop)?;
        let status = async {
            let status = PartedStore::status(&self.url, &options).await;
            status.map_err(|error| Failure::from(error).at(&self.url))
        };
        let status = wait(py, OnInterrupt::Ask(&stop), status)?;
        Ok(status.map(|status| status.document().to_string()))
    }

    /// Removes all parts; returns the names of those that were finished.
    fn discard(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let stop = Stop::default();
        let options = self.writing.options(&stop)?;
        let discard = async {
            let done = PartedStore::discard(&self.url, options).await;
            done.map_err(|error| Failure::from(error).at(&self.url))
        };
        wait(py, OnInterrupt::Ask(&stop), discard)
    }

    /// Joins the parts to the store, which exists from then on. Returns counts and names of parts as JSON.
    fn commit(
        &self,
        py: Python<'_>,
        groups: Vec<(String, Vec<i64>)>,
        allow_missing: bool,
    ) -> PyResult<String> {
        let stop = Stop::default();
        let store = self.join(py, &stop)?;
        let (names, members): (Vec<_>, Vec<_>) = groups.into_iter().unzip();
        let groups = Groups::new(members).with_names(names);
        let commit = async {
            let done = store.commit_with(&groups, allow_missing).await;
            done.map_err(|error| Failure::from(error).at(&self.url))
        };
        let done = wait(py, OnInterrupt::Ask(&stop), commit)?;
        Ok(json!({
            "store": self.url,
            "vertices": done.summary.map(|one| one.vertices),
            "chunks": done.summary.map(|one| one.chunks),
            "objects": done.summary.map(|one| one.objects),
            "links": done.summary.map(|one| one.links),
            "parts": done.parts,
            "absent": done.absent,
            "begun_again": done.begun_again,
        })
        .to_string())
    }
}
