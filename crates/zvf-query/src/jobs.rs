//! Reads the chunks, then the link cells of a query: several requests at a time, with results in order.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use zvf_store::CellWant;

use crate::QueryError;
use crate::links::records::{Family, LinkCellRef, RecordCell};
use crate::reader::Reader;
use zvf_store::format::int;

/// The result of one job.
enum Job<T> {
    Chunks(T),
    /// Records, and the number of requested cells.
    Links(Vec<RecordCell>, u64),
}

/// Chunks, then link cells. The first link cells are requested while the last chunks are read.
pub(crate) struct Jobs<T> {
    stream: BoxStream<'static, Result<Job<T>, QueryError>>,
    /// The first link cells; set after the last chunk.
    links: Option<Vec<RecordCell>>,
    /// Number of link cells that were read.
    pub(crate) link_cells: u64,
}

impl<T: Send + 'static> Jobs<T> {
    /// Reads `chunks`, then `links` of a family, at most `window` of them at a time, in a round of requests.
    pub(crate) fn new(
        reader: &Arc<Reader>,
        round: u32,
        chunks: impl Iterator<Item = BoxFuture<'static, Result<T, QueryError>>> + Send + 'static,
        (family, links): (Option<Arc<Family>>, Vec<Vec<LinkCellRef>>),
        window: usize,
    ) -> Self {
        let reader = Arc::clone(reader);
        let links = links.into_iter().filter_map(move |part| {
            let (family, reader) = (Arc::clone(family.as_ref()?), Arc::clone(&reader));
            let wants = link_wants(&family, &part);
            let count = int::wide(wants.len());
            let store = reader.level.store().clone();
            let run = store.fetch_map(round, wants, move |cells| {
                let mut cells = cells.into_iter();
                let decode = |cell| family.decode(cell, &reader.table, &mut cells);
                part.into_iter().map(decode).collect::<Result<Vec<_>, _>>()
            });
            Some(async move { Ok(Job::Links(run.await??, count)) }.boxed())
        });
        let chunks = chunks.map(|chunks| chunks.map(|done| done.map(Job::Chunks)).boxed());
        Self {
            stream: stream::iter(chunks.chain(links)).buffered(window).boxed(),
            links: None,
            link_cells: 0,
        }
    }

    /// No jobs.
    pub(crate) fn none() -> Self {
        Self {
            stream: stream::empty().boxed(),
            links: None,
            link_cells: 0,
        }
    }

    /// The next chunks; `None` after the last.
    ///
    /// # Errors
    ///
    /// I/O; malformed cells.
    pub(crate) async fn next(&mut self) -> Result<Option<T>, QueryError> {
        if self.links.is_some() {
            return Ok(None);
        }
        Ok(match self.stream.try_next().await? {
            Some(Job::Chunks(chunks)) => Some(chunks),
            Some(Job::Links(cells, count)) => {
                self.link_cells += count;
                self.links = Some(cells);
                None
            }
            None => None,
        })
    }

    /// The next link cells; drops the chunks before them. `None` after the last.
    ///
    /// # Errors
    ///
    /// I/O; malformed cells.
    pub(crate) async fn next_links(&mut self) -> Result<Option<Vec<RecordCell>>, QueryError> {
        while self.links.is_none() && self.next().await?.is_some() {}
        Ok(self.links.take())
    }

    /// All remaining link cells.
    ///
    /// # Errors
    ///
    /// I/O; malformed cells; errors of `check`.
    pub(crate) async fn all_links(
        &mut self,
        check: impl Fn(&RecordCell) -> Result<(), QueryError>,
    ) -> Result<Vec<RecordCell>, QueryError> {
        let mut all = Vec::new();
        while let Some(mut cells) = self.next_links().await? {
            cells.iter().try_for_each(&check)?;
            all.append(&mut cells);
        }
        Ok(all)
    }
}

/// The cells to request for some link cells.
pub(crate) fn link_wants(family: &Family, cells: &[LinkCellRef]) -> Vec<CellWant> {
    let mut wants = Vec::new();
    for cell in cells {
        family.wants(cell, &mut wants);
    }
    wants
}
