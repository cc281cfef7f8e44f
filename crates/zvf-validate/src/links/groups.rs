//! The declaration `fragment_link_groups` of a level: groups of links inside a chunk follow its fragments (0.9, appendix E).

use std::sync::Arc;

use bytes::Bytes;
use futures::{FutureExt, TryStreamExt};
use zvf_format::links::lehmer::MAX_WIDTH;
use zvf_store::{
    CheckedFragments, ChunkCoord, Endpoint, GridArray, LinkArray, LinkCell, ReadCell, StoreError,
};

use crate::check::{Check, Depth};
use crate::finding::{Findings, Place};
use crate::level::LevelState;
use crate::ordered::in_turn;
use crate::run::Session;
use zvf_format::int::{index, wide};

/// Number of chunks that are read together.
const BATCH: usize = 32;

/// No fragment, or no group.
const NONE: u32 = u32::MAX;

/// Compares the capabilities of levels with the list of the root.
pub(crate) fn capability(run: &mut Session<'_>, states: &[LevelState]) {
    let Some(store) = states.first().map(|state| state.level.store()) else {
        return;
    };
    if run.options.depth < Depth::Metadata {
        return;
    }
    let token = zvf_meta::capabilities::FRAGMENT_LINK_GROUPS;
    let tokens = &store.root().zarr_vectors.format_capabilities;
    let listed = tokens.iter().any(|one| one == token);
    let claims = |state: &&LevelState| state.level.doc().fragment_link_groups;
    let (found, expected) = match (states.iter().find(claims), listed) {
        (Some(state), false) => (
            format!("no {token}"),
            format!(
                "{token}, since level {} declares such groups",
                state.number()
            ),
        ),
        (None, true) => (
            token.to_owned(),
            "a level that declares such groups".to_owned(),
        ),
        _ => return,
    };
    let place = Place::at("zarr.json").pointer("/attributes/zarr_vectors/format_capabilities");
    run.findings
        .add(Check::LinkGroupCapability, place, found, expected);
}

/// The inputs of the check of a chunk.
struct GroupCheckInput<'s> {
    state: &'s LevelState,
    fragments: Option<Arc<GridArray>>,
    groups: Option<Arc<GridArray>>,
    links: Option<&'s LinkArray>,
    findings: Findings,
}

/// Checks the declaration in every chunk, if the level makes it.
///
/// # Cost
/// Reads the fragments, groups and links inside chunks again.
///
/// # Errors
/// Failed requests. Defects of the store are findings.
pub(super) async fn check(run: &mut Session<'_>, state: &LevelState) -> Result<(), StoreError> {
    let path = state.path("link_fragments");
    if !state.level.doc().fragment_link_groups || !run.options.wants_array(&path) {
        return Ok(());
    }
    let store = state.level.store();
    let groups = match store.grid_array(state.number(), "link_fragments").await {
        Ok(groups) => groups,
        // This defect already has a finding.
        Err(error) if error.is_defect() => None,
        Err(error) => return Err(error),
    };
    let arrays = state.level.links(0).map(|family| family.arrays());
    let claim = GroupCheckInput {
        state,
        fragments: state.level.vertex_fragments().cloned(),
        groups,
        links: arrays.and_then(|arrays| arrays.iter().find(|array| array.is_intra())),
        findings: run.findings.like(),
    };
    let slots: Vec<usize> = (0..state.chunks.len())
        .filter(|&slot| state.rows_of(slot).is_some())
        .collect();
    let work = slots.chunks(BATCH).map(|slots| claim.batch(slots).boxed());
    let mut work = in_turn(work.collect(), run.batches());
    while let Some(findings) = work.try_next().await? {
        run.findings.merge(findings);
    }
    Ok(())
}

impl GroupCheckInput<'_> {
    async fn batch(&self, slots: &[usize]) -> Result<Findings, StoreError> {
        let chunks = slots.iter().filter_map(|&slot| {
            let chunk = self.state.chunks.get(slot)?;
            Some((chunk, self.state.rows_of(slot)?))
        });
        let chunks: Vec<(&ChunkCoord, u32)> = chunks.collect();
        let keys: Vec<&[i64]> = chunks.iter().map(|(chunk, _)| chunk.as_slice()).collect();
        let links = self.links.map(|links| &links.array);
        let arrays = [self.fragments.as_ref(), self.groups.as_ref(), links];
        let read: Vec<_> = arrays.into_iter().flatten().collect();
        let read = self.state.level.cells_each(&read, &keys).await?;
        let mut findings = self.findings.like();
        for ((chunk, rows), cells) in chunks.into_iter().zip(read) {
            let mut cells = cells.into_iter();
            let cells = arrays.map(|array| match array {
                Some(_) => cells.next().flatten().unwrap_or(Ok(None)),
                None => Ok(None),
            });
            self.chunk(chunk, rows, cells, &mut findings);
        }
        Ok(findings)
    }

    /// Checks one chunk. Cells that cannot be read have separate findings.
    fn chunk(&self, chunk: &ChunkCoord, rows: u32, cells: [ReadCell; 3], findings: &mut Findings) {
        let [Ok(fragments), Ok(groups), Ok(links)] =
            cells.map(|cell| cell.map(Option::unwrap_or_default))
        else {
            return;
        };
        let records = match self.links {
            Some(array) => match array.decode(chunk, &links) {
                Ok(records) => Some(records),
                Err(_) => return,
            },
            None => None,
        };
        let count = records.as_ref().map_or(0, LinkCell::len);
        let place = |array: Option<&Arc<GridArray>>, name: &str| {
            let path = array.map_or_else(|| self.state.path(name), |array| array.path().to_owned());
            Place::at(path).chunk(chunk)
        };
        let of_fragments = || place(self.fragments.as_ref(), "vertex_fragments");
        let of_groups = || place(self.groups.as_ref(), "link_fragments");
        let Some(vertices) = (match self.fragments {
            // Without the array, all rows are in one fragment.
            None => Some(FragmentMembers {
                count: 1,
                of_row: vec![0; index(rows)],
                twice: None,
            }),
            Some(_) => FragmentMembers::read(&fragments, rows),
        }) else {
            return;
        };
        let Some(groups) = u32::try_from(count)
            .ok()
            .and_then(|count| FragmentMembers::read(&groups, count))
        else {
            return;
        };
        let same = groups.count == vertices.count;
        if !same {
            let found = format!("{} groups", groups.count);
            let expected = format!("{}, one for each fragment", vertices.count);
            findings.add(Check::LinkGroupCount, of_groups(), found, expected);
        }
        if let Some(row) = vertices.twice {
            let found = "a row in two fragments";
            let place = of_fragments().row(row);
            findings.add(
                Check::LinkGroupRows,
                place,
                found,
                "a row in one fragment, as the level declares",
            );
        }
        let missing = groups.of_row.iter().position(|&group| group == NONE);
        let wrong = match (groups.twice, missing) {
            (Some(row), _) => Some((row, "a link in two groups")),
            (None, Some(row)) => Some((wide(row), "a link in no group")),
            (None, None) => None,
        };
        if let Some((row, found)) = wrong {
            let place = of_groups().row(row);
            findings.add(
                Check::LinkGroupRows,
                place,
                found,
                "a link in one group, as the level declares",
            );
        }
        let Some(records) = records.filter(|_| same) else {
            return;
        };
        let mut record = [Endpoint::default(); MAX_WIDTH];
        let width = self.links.map_or(0, LinkArray::width);
        let Some(record) = record.get_mut(..width) else {
            return;
        };
        for (number, &group) in groups.of_row.iter().enumerate() {
            if group == NONE || !records.record(number, record) {
                continue;
            }
            let other = record.iter().find_map(|end| {
                let row = usize::try_from(end.row).ok()?;
                // A row that does not exist in the chunk has a separate finding.
                let fragment = *vertices.of_row.get(row)?;
                (fragment != group).then_some((end.row, fragment))
            });
            if let Some((row, fragment)) = other {
                let found = match fragment {
                    NONE => {
                        format!("a link in group {group} to row {row}, which is in no fragment")
                    }
                    other => format!("a link in group {group} to row {row} in fragment {other}"),
                };
                let place = of_groups().row(wide(number));
                let expected = format!("ends in fragment {group}");
                findings.add(Check::LinkGroupFragment, place, found, expected);
                return;
            }
        }
    }
}

/// The fragment of each row, according to a fragment index.
struct FragmentMembers {
    /// Number of fragments.
    count: u32,
    /// By row, the first fragment that contains it, or [`NONE`].
    of_row: Vec<u32>,
    /// The first row found in two fragments.
    twice: Option<u64>,
}

impl FragmentMembers {
    /// Reads an index of `rows` rows; `None` if it is invalid.
    fn read(blob: &Bytes, rows: u32) -> Option<Self> {
        let mut members = Self {
            count: 0,
            of_row: vec![NONE; index(rows)],
            twice: None,
        };
        if blob.is_empty() {
            return Some(members);
        }
        let parsed = CheckedFragments::decode(blob, Some(rows)).ok()?;
        members.count = parsed.len();
        for (number, fragment) in (0..).zip(parsed.iter()) {
            for row in fragment.rows() {
                let place = members.of_row.get_mut(index(row))?;
                if *place == NONE {
                    *place = number;
                } else {
                    members.twice.get_or_insert(u64::from(row));
                }
            }
        }
        Some(members)
    }
}
