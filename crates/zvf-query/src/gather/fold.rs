//! Reads the chunks of some objects once, in the order of chunks, for results that do not need the rows in the order of objects.

use std::collections::HashMap;
use std::sync::Arc;

use futures::stream::BoxStream;
use zvf_store::format::int;

use super::plan::Run;
use super::select;
use super::step::GatherPlan;
use crate::QueryError;
use crate::by_slot::BySlot;
use crate::error::{OrBug, Place, internal};
use crate::manifests::Entry;
use crate::plan::chunks::Slot;
use crate::prepare::Prepared;
use crate::reader::Decoded;
use crate::scan::plan::Load;

/// The manifests of some objects, and the reads that they need.
pub(crate) struct Fold {
    run: Run,
    entries: Arc<BySlot<u32>>,
    /// The index of the object of each entry.
    objects: Arc<Vec<u32>>,
}

/// An entry, its number, and its decoded chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryRows<'a> {
    pub(crate) plan: &'a GatherPlan,
    pub(crate) chunk: &'a Decoded,
    pub(crate) number: u32,
    pub(crate) entry: Entry,
    /// The index of its object.
    pub(crate) object: u32,
}

impl Fold {
    /// Reads the manifests of the objects that a query names, which has no other conditions.
    ///
    /// # Errors
    ///
    /// Misuse: unknown objects, no object index. Limit: more than 2^32 fragments. I/O; malformed manifests.
    pub(crate) async fn start(p: &Prepared) -> Result<Self, QueryError> {
        let index = Arc::clone(select::index(p)?);
        let named = select::picks(p, &index).await?;
        let picks = named.or_bug("objects by neither id nor group")?;
        let run = Run::plan(p, picks, None, HashMap::new(), false).await?;
        let (entries, chunks) = (&run.plan.entries, run.reader.table.len());
        if u32::try_from(entries.len()).is_err() {
            let place = Place::array(p.query.level, "object_index/manifests");
            let found = int::wide(entries.len());
            let most = u64::from(u32::MAX);
            return Err(QueryError::limit(
                place,
                "fragments of objects",
                found,
                most,
            ));
        }
        let slots = || entries.iter(0).map(|entry| entry.slot);
        let entries = BySlot::new(chunks, || slots().zip(0..));
        let entries = Arc::new(entries);
        let ends = run.plan.starts.iter().skip(1);
        let counts = run.plan.starts.iter().zip(ends);
        let counts = (0_u32..).zip(counts.map(|(start, end)| end.abs_diff(*start)));
        let objects = counts.flat_map(|(object, count)| std::iter::repeat_n(object, count));
        let objects: Vec<u32> = objects.collect();
        internal!(
            objects.len() == run.plan.entries.len(),
            "entries of no object"
        );
        Ok(Self {
            run,
            entries,
            objects: Arc::new(objects),
        })
    }

    /// The index of the object of each entry.
    pub(crate) fn objects(&self) -> Arc<Vec<u32>> {
        Arc::clone(&self.objects)
    }

    /// The objects with their entries.
    pub(crate) fn plan(&self) -> Arc<GatherPlan> {
        Arc::clone(&self.run.plan)
    }

    /// Calls `work` with the rows of each entry on worker threads; returns a result for each group of chunks, in order.
    pub(crate) fn parts<R: Default + Send + 'static>(
        &mut self,
        work: impl Fn(EntryRows<'_>, &mut R) -> Result<(), QueryError> + Send + Sync + 'static,
    ) -> BoxStream<'static, Result<R, QueryError>> {
        let load = self.run.load;
        let pace = self.run.pace(Load {
            budget: load.budget / 8,
            ..load
        });
        let (plan, entries) = (self.plan(), Arc::clone(&self.entries));
        let objects = self.objects();
        let fold = move |chunks: Vec<Decoded>| {
            let mut part = R::default();
            for chunk in &chunks {
                for number in entries.of(chunk.slot) {
                    let at = int::index(*number);
                    let found = plan.entries.get(at).zip(objects.get(at).copied());
                    let (entry, object) = found.or_bug("an entry that is not there")?;
                    let entry = EntryRows {
                        plan: &plan,
                        chunk,
                        number: *number,
                        entry,
                        object,
                    };
                    work(entry, &mut part)?;
                }
            }
            Ok(part)
        };
        let entries = Arc::clone(&self.entries);
        let wanted = move |slot: Slot| !entries.of(slot).is_empty();
        self.run.groups(pace, wanted, Arc::new(fold))
    }
}
