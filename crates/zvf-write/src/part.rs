//! One part of a store: the chunks that one program writes, and the note of them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zvf_store::ChunkCoord;

use crate::batch::ObjectTable;
use crate::cell::Encoder;
use crate::chunk_by::Split;
use crate::commit::{self, MARKER};
use crate::error::OrBug;
use crate::finish::{self, Level, LevelInput, RowsWritten, Summary};
use crate::frames::to_bytes;
use crate::layout::Layout;
use crate::prepare::Corners;
use crate::shard::{Cells, Container};
use crate::sorter::Placed;
use crate::spec::StoreSpec;
use crate::target::Target;
use crate::values::packed;
use crate::{WriteError, documents};
use zvf_format::int::wide;

/// Where parts note what they do.
pub(crate) const CLAIMS: &str = "zvf-unfinished/claims";

pub(crate) const PARTS: &str = "zvf-unfinished/parts";

/// Whether a store of these parts was begun here and is not there yet.
pub(crate) fn check_begun(
    target: &Target,
    address: &str,
    details: &Value,
) -> Result<(), WriteError> {
    let exists = |what: &str| Err(WriteError::exists(address, what));
    if target.exists(commit::ROOT)? {
        return exists("the store, or another one, is there already");
    }
    let marker: Option<Value> = target
        .read(MARKER)?
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    match marker.as_ref().and_then(|marker| marker.get("details")) {
        Some(found) if found == details => Ok(()),
        Some(_) => exists(
            "parts of another specification, or of another version of this library, are written there",
        ),
        None => exists("no store was begun there"),
    }
}

/// The bounds, which were asked for in the beginning.
pub(crate) fn bounds(spec: &StoreSpec) -> Result<Corners, WriteError> {
    spec.bounds
        .clone()
        .or_bug("a store in parts without bounds")
}

pub(crate) fn cells(spec: &StoreSpec) -> Result<Cells, WriteError> {
    let bounds = bounds(spec)?;
    Ok(Cells {
        grid: Split::grid(
            Split::known(spec).as_ref(),
            documents::grid(&bounds, &spec.chunk_shape)?,
        ),
        shards: spec.shard_shape.clone(),
        compression: spec.compression.clone(),
        container: Container::Grid,
    })
}

pub(crate) fn encoder(spec: &StoreSpec) -> Result<Encoder<'_>, WriteError> {
    let dictionaries = spec.vertex_attributes.iter().map(|_| None).collect();
    Encoder::new(spec, Layout::new(spec), dictionaries)
}

/// What a part notes for the commit.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Note<'n> {
    pub(crate) name: String,
    pub(crate) vertices: u64,
    pub(crate) extent: Option<Corners>,
    #[serde(with = "packed")]
    pub(crate) chunks: Cow<'n, [i64]>,
    pub(crate) placed: Vec<Placed>,
    pub(crate) objects: ObjectTable<'n>,
    pub(crate) links: u64,
    pub(crate) records: u64,
    /// Keys of the cells of links.
    #[serde(with = "packed")]
    pub(crate) cells: Cow<'n, [i64]>,
    /// Whether groups of links follow fragments in every chunk of the part; `None` where they are not to.
    pub(crate) link_groups: Option<bool>,
}

/// Which part a writer writes.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) details: Value,
}

impl Part {
    /// Writes the cells of a part, and the note of them.
    pub(crate) fn write(
        self,
        input: LevelInput,
        target: &Target,
        address: &str,
    ) -> Result<Summary, WriteError> {
        check_begun(target, address, &self.details)?;
        let key = format!("{PARTS}/{}", self.name);
        let again = || {
            let what = format!("part {} was finished before", self.name);
            WriteError::exists(address, what)
        };
        if target.exists(&key)? {
            return Err(again());
        }
        let (note, summary) = self.fill(input, target, address)?;
        target.barrier()?;
        if target.put_new(&key, note)? {
            Ok(summary)
        } else {
            Err(again())
        }
    }

    fn fill(
        &self,
        input: LevelInput,
        target: &Target,
        address: &str,
    ) -> Result<(Vec<u8>, Summary), WriteError> {
        let LevelInput {
            spec,
            router,
            tables,
            groups: _,
            folder,
            budget,
            threads,
            watch,
        } = input;
        let (spec, below) = (&*spec, target.below("0"));
        let cells = cells(spec)?;
        let encoder = encoder(spec)?;
        let (coords, buckets, file, _) = finish::by_chunk(spec, router.rows, router.keys)?;
        let chunks: Vec<&[i64]> = coords.iter().map(ChunkCoord::as_slice).collect();
        self.claim(target, address, &cells, &chunks)?;
        let level = Level {
            spec,
            target: &below,
            cells: &cells,
            chunks: &chunks,
            folder: &folder,
            budget,
            threads,
            watch: &watch,
        };
        let RowsWritten {
            sorter,
            mut places,
            fragments,
        } = level.write_rows(&encoder, buckets, &file, router.vertices)?;
        let queue = (router.links, router.link_count);
        let (placer, fragments) = (level.placer(), fragments.as_ref());
        let stored = level.write_queued(queue, places.as_mut(), placer, fragments)?;
        let mut summary = Summary {
            vertices: router.vertices,
            chunks: wide(chunks.len()),
            links: stored.links,
            ..Summary::default()
        };
        let mut placed = Vec::new();
        let mut sorted = sorter.finish()?;
        let mut some = Vec::new();
        while let Some(object) = sorted.peek() {
            sorted.take(object, &mut some)?;
            placed.append(&mut some);
            summary.objects += 1;
        }
        let keys: Vec<&[i64]> = stored.cells.iter().map(|cell| &*cell.key).collect();
        let (ids, attributes) = tables.columns(spec);
        let note = Note {
            name: self.name.clone(),
            vertices: router.vertices,
            extent: router.extent,
            chunks: chunks.concat().into(),
            placed,
            objects: ObjectTable {
                ids: ids.into(),
                attributes,
            },
            links: stored.links,
            records: stored.records,
            cells: keys.concat().into(),
            link_groups: stored.groups.as_ref().map(|groups| groups.everywhere),
        };
        Ok((to_bytes(&note)?, summary))
    }

    /// Puts the claim of a part and looks at all others.
    fn claim(
        &self,
        target: &Target,
        address: &str,
        cells: &Cells,
        chunks: &[&[i64]],
    ) -> Result<(), WriteError> {
        let mut objects = BTreeSet::new();
        for chunk in chunks {
            objects.insert(cells.object_index(chunk)?);
        }
        let taken = |what: String| WriteError::exists(address, what);
        let key = format!("{CLAIMS}/{}", self.name);
        let claim = json!(objects).to_string().into_bytes();
        let ours = target.put_new(&key, claim.clone())?
            // The part was interrupted, and is written again.
            || target.read(&key)?.is_some_and(|found| found == claim);
        if !ours {
            let what = format!(
                "part {} was begun before, with other chunks: what it left cannot be told from its own",
                self.name
            );
            return Err(taken(what));
        }
        for other in target.names(CLAIMS)? {
            if other == self.name {
                continue;
            }
            let theirs = target.read(&format!("{CLAIMS}/{other}"))?;
            let theirs: Option<BTreeSet<Vec<u64>>> =
                theirs.and_then(|bytes| serde_json::from_slice(&bytes).ok());
            let Some(theirs) = theirs else {
                return Err(taken(format!("the claim of part {other} cannot be read")));
            };
            if let Some(object) = objects.intersection(&theirs).next() {
                // Nothing of this part was written yet.
                target.remove(&key)?;
                let what = format!(
                    "parts {} and {other} both have vertices in cell {object:?} of the grid",
                    self.name
                );
                return Err(taken(what));
            }
        }
        Ok(())
    }
}
