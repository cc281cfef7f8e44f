//! Copies links: their families, with ends mapped to the new rows.

use std::path::PathBuf;

use zvf_format::dtype::{DType, DTypeKind};
use zvf_format::keys::format_delta;
use zvf_meta::{ArrayAttributes, Kind, LinkStore};
use zvf_store::{LinkAttribute, LinkFamily, LinkReader};

use super::migration_run::{LevelCopy, MigrationRun};
use super::new_level::NewLevel;
use super::reading;
use super::rechunk::CutEdges;
use super::report::Notes;
use super::source::SourceLevel;
use zvf_encode::WriteError;
use zvf_encode::error::{OrBug, to_index};
use zvf_encode::links::{LinkColumn, LinkEnd, LinkPlacer, Policy};
use zvf_encode::spec::LinksBy;
use zvf_format::int::{index, wide};

impl MigrationRun {
    /// A placer for links that are made from the manifests.
    pub(super) fn chains(&self, stage: &LevelCopy) -> Option<LinkPlacer> {
        self.makes_chains(stage)
            .then(|| self.pairs(&stage.source, false))
    }

    /// A placer of pairs without attributes.
    pub(super) fn pairs(&self, source: &SourceLevel, inner: bool) -> LinkPlacer {
        let policy = Policy::pairs(source.level.key_rank(), inner, self.rules().links);
        self.placer_of(policy, Vec::new())
    }

    fn placer_of(&self, policy: Policy, columns: Vec<LinkColumn>) -> LinkPlacer {
        let budget = self.options.write.memory_budget / 8;
        let family = zvf_encode::links::FamilySpec::new(policy, columns);
        LinkPlacer::new(family, budget, &self.folder())
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.options.write.folder()
    }

    /// Places the links of one family.
    pub(super) fn family(
        &self,
        stages: &[LevelCopy],
        new_level: &mut [NewLevel],
        at: usize,
        links: &LinkFamily,
        cut: &mut Option<CutEdges>,
    ) -> Result<Option<LinkPlacer>, WriteError> {
        let stage = stages.get(at).or_bug(format_args!("no level {at}"))?;
        let source = &stage.source;
        let number = source.level.number();
        let path = format!("{number}/links/{}", format_delta(links.delta()));
        if links.width() == 0 {
            return Ok(None);
        }
        if !links.rows_trusted() {
            if source.level.object_index().is_none() {
                self.notes.lost(
                    path,
                    "the rows of the links are placeholders, and there are no manifests to rebuild them from",
                );
            }
            return Ok(None);
        }
        if links.delta() == 0 && self.makes_chains(stage) {
            if !links.attributes().is_empty() {
                self.notes
                    .lost(path, "attributes of links that are rebuilt are not copied");
            }
            return Ok(None);
        }
        let there = self.other_level(stages, at, links.delta());
        let Some(there) = there else {
            self.notes
                .lost(path, "links to a level that does not exist");
            return Ok(None);
        };
        let reader = source.level.link_reader(links);
        for attribute in links.attributes() {
            if attribute.dtype.kind == DTypeKind::Object {
                let name = &attribute.name;
                self.notes.lost(
                    format!("{path}, attribute {name}"),
                    "holds memory addresses instead of values",
                );
            }
        }
        let kind = self.store.kind();
        if kind == Kind::Mesh && links.delta() == 0 && links.width() < 3 && has_no_cells(links) {
            self.notes.repaired(
                &path,
                "a family without links, whose links would have fewer than three endpoints, is not copied",
                1,
            );
            return Ok(None);
        }
        let mut placer = self.placer(stage, stages.get(there), links, &reader)?;
        let mut gone = 0_u64;
        let mut ends: Vec<(u32, u32)> = Vec::new();
        let rank = source.level.key_rank().max(1);
        let tree = self.store.implies_edges() && links.delta() == 0;
        let mut children: Vec<u64> = Vec::new();
        let (mut turned, mut counted) = (0_u64, 0_u64);
        reading::each_link(&reader, &source.handle, |cell, record| {
            turned += u64::from(cell.turned);
            let array = links.arrays().get(cell.array);
            counted += u64::from(array.is_some_and(|array| links.counts(array)));
            ends.clear();
            for (which, (chunk, &row)) in record.chunks.chunks(rank).zip(record.rows).enumerate() {
                let level = if which == 0 { at } else { there };
                let stage = stages.get(level).or_bug(format_args!("no level {level}"))?;
                let new_level = new_level
                    .get_mut(level)
                    .or_bug(format_args!("no level {level}"))?;
                // A link with an end that does not exist is counted as removed below.
                let Some(slot) = stage.source.slot(chunk) else {
                    continue;
                };
                if u64::from(row) >= old_rows(new_level, slot)? {
                    continue;
                }
                if tree && which == 0 {
                    note_child(&mut children, new_level, slot, row)?;
                }
                ends.push(new_level.place(slot, row)?);
            }
            if ends.len() != record.rows.len() {
                gone += 1;
                return Ok(());
            }
            let end = |(which, &(slot, row)): (usize, &(u32, u32))| {
                let level = if which == 0 { at } else { there };
                let new_level = new_level
                    .get(level)
                    .or_bug(format_args!("no level {level}"))?;
                Ok((new_level.chunk(slot)?, row))
            };
            let ends = ends.iter().enumerate().map(end);
            let ends = ends.collect::<Result<Vec<LinkEnd<'_>>, WriteError>>()?;
            placer.push(&ends, record.values)
        })?;
        // Trap T5.
        let what = "pairs from parent to child were reversed";
        self.notes.repaired(&path, what, turned);
        if let Some(stated) = links.stated_links().filter(|&stated| counted < stated) {
            let what = format!("num_links is {stated}, but there are {counted} links");
            if links.is_guessed() {
                let what = format!(
                    "{counted} of {stated} links are found: arrays of links between distant chunks have names that only a listing gives"
                );
                let help = "download the store, or serve it from a bucket";
                return Err(WriteError::source(path, format!("{what}; {help}")));
            }
            if links.by_offsets() {
                let help = "restore what is missing, or accept the loss with `zvf repair STORE --apply --accept-loss`";
                return Err(WriteError::source(path, format!("{what}: {help}")));
            }
            // `repair` does not change the counts of older stores.
            self.notes.lost(path.clone(), what);
        }
        if gone > 0 {
            let what = format!("{gone} links to vertices that do not exist were left out");
            self.notes.lost(path, what);
        }
        if tree && let Some(cut) = cut.take() {
            let new_level = new_level
                .get_mut(at)
                .or_bug(format_args!("no level {at}"))?;
            push_cut(cut, new_level, &children, &mut placer)?;
        }
        Ok(Some(placer))
    }

    /// The index in `stages` of the level that a family of links refers to.
    fn other_level(&self, stages: &[LevelCopy], at: usize, delta: i32) -> Option<usize> {
        let stage = stages.get(at)?;
        let number = i64::from(stage.source.level.number()).checked_add(i64::from(delta))?;
        let found = |one: &LevelCopy| {
            i64::from(one.source.level.number()) == number
                && one.source.level.key_rank() == stage.source.level.key_rank()
        };
        stages.iter().position(found)
    }

    fn placer(
        &self,
        stage: &LevelCopy,
        there: Option<&LevelCopy>,
        links: &LinkFamily,
        reader: &LinkReader<'_>,
    ) -> Result<LinkPlacer, WriteError> {
        let source = &stage.source;
        let tree = self.store.implies_edges() && links.delta() == 0;
        let dtypes: Vec<_> = links
            .arrays()
            .iter()
            .map(|array| array.form().dtype)
            .collect();
        // A family without arrays has no type yet.
        let dtype = dtypes.first().copied().unwrap_or(DType::I64);
        let same = dtypes.iter().all(|one| *one == dtype);
        let columns = reader.attributes().iter().map(|one| column(one, links));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let kind = self.store.kind();
        let by = self.rules().links;
        let inner = match links.delta() {
            0 => matches!(kind, Kind::Graph | Kind::Skeleton | Kind::Mesh),
            // The root still declares links between levels after edits removed all of them; without an array the family would not exist.
            _ => by == LinksBy::Offsets && has_no_cells(links),
        };
        let policy = Policy {
            delta: links.delta(),
            width: links.width(),
            directed: links.directed() && !tree,
            store: if tree {
                LinkStore::Canonical
            } else {
                links.store()
            },
            dtype: if same {
                DType::little(dtype.kind)
            } else {
                DType::I64
            },
            factors: match links.delta() {
                0 => None,
                _ => Some(self.factors(stage, there)?),
            },
            ..Policy::pairs(source.level.key_rank(), inner, by)
        };
        Ok(self.placer_of(policy, columns))
    }

    /// Ratios of the chunk shapes of two levels to the chunk shape of the root, padded with ones to K (0.9 §13.6).
    fn factors(
        &self,
        here: &LevelCopy,
        there: Option<&LevelCopy>,
    ) -> Result<(Vec<i64>, Vec<i64>), WriteError> {
        let base = self.base_shape();
        let of = |stage: &LevelCopy| -> Result<Vec<i64>, WriteError> {
            let lead = stage.source.level.key_rank().checked_sub(base.len());
            let lead = lead.or_bug("keys of chunks with fewer components than axes")?;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a float saturates, and a factor below 1 is refused where it is used"
            )]
            let factor = |(own, root): (&f64, &f64)| (own / root).round_ties_even() as i64;
            let own = stage.chunk_shape.iter().zip(&base).map(factor);
            Ok(std::iter::repeat_n(1, lead).chain(own).collect())
        };
        Ok((of(here)?, of(there.unwrap_or(here))?))
    }
}

/// Whether no cell of any array is stored.
fn has_no_cells(links: &LinkFamily) -> bool {
    let mut arrays = links.arrays().iter();
    arrays.all(|one| one.array.presence().is_empty())
}

/// The new column for an attribute of links.
fn column(attribute: &LinkAttribute, family: &LinkFamily) -> Result<LinkColumn, WriteError> {
    let old = attribute.stated().map(super::documents::carried);
    // An attribute without arrays has no array attributes.
    let old = old.unwrap_or_default();
    let dtype = DType::little(attribute.dtype.kind);
    let width = attribute.width;
    let names = old.channel_names.clone();
    Ok(LinkColumn {
        name: attribute.name.clone(),
        size: attribute.row_bytes()?,
        absent: attribute.absent_row(),
        complete: attribute.is_complete(family),
        attributes: ArrayAttributes {
            dtype: Some(dtype.to_string()),
            row_shape: Some(if width == 1 { Vec::new() } else { vec![width] }),
            channel_names: names.filter(|names| wide(names.len()) == width),
            ..old
        },
    })
}

/// Reports the links of a cell that have no value.
pub(super) fn report_missing(one: &LinkColumn, missing: usize, links: usize, notes: &Notes) {
    let path = format!("link_attributes/{}", one.name);
    if one.complete {
        let what = "some links have no values, and no document declares that they have none";
        notes.lost(path.as_str(), what);
    }
    if missing == links {
        return;
    }
    // If the type has no value that means missing, the encoder fails.
    let what = "links without a value got the value that means missing";
    notes.repaired(&path, what, wide(missing));
}

/// Records, if rows move, that the parent of an old row is stored; one bit per vertex.
fn note_child(
    children: &mut Vec<u64>,
    new_level: &NewLevel,
    slot: u32,
    row: u32,
) -> Result<(), WriteError> {
    let Some(moved) = &new_level.moved else {
        return Ok(());
    };
    let vertex = moved.vertex(slot, row)?;
    let word = to_index("vertices", vertex / 64)?;
    if children.len() <= word {
        children.resize(word + 1, 0);
    }
    *children.get_mut(word).or_bug("no word of a vertex")? |= 1 << (vertex % 64);
    Ok(())
}

/// Stores edges that were implied by the old order of rows and are not implied by the new one, except for children with a stored parent.
pub(super) fn push_cut(
    cut: CutEdges,
    new_level: &mut NewLevel,
    children: &[u64],
    placer: &mut LinkPlacer,
) -> Result<(), WriteError> {
    let mut cut = cut.finish()?;
    while let Some([child, parent]) = cut.pop()? {
        // The bits end with the last recorded child.
        let word = children.get(to_index("vertices", child / 64)?);
        if word.is_some_and(|word| (word >> (child % 64)) & 1 == 1) {
            continue;
        }
        let mut place = |vertex: u64| {
            let place = new_level.vertex(vertex)?;
            place.or_bug(format_args!("vertex {vertex} has no place"))
        };
        let (child, parent) = (place(child)?, place(parent)?);
        let end = |(slot, row): (u32, u32)| Ok::<_, WriteError>((new_level.chunk(slot)?, row));
        let ends = [end(child)?, end(parent)?];
        let none = vec![None; placer.family().columns()];
        placer.push(&ends, &none)?;
    }
    Ok(())
}

/// Rows of a chunk of the old level.
fn old_rows(new_level: &NewLevel, slot: u32) -> Result<u64, WriteError> {
    match &new_level.moved {
        Some(moved) => moved.rows(slot),
        None => {
            let rows = new_level.chunk_rows.get(index(slot)).copied();
            Ok(u64::from(rows.or_bug(format_args!("no chunk {slot}"))?))
        }
    }
}
