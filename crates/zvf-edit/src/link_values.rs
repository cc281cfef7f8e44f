//! Sets values of attributes of existing links.

use std::collections::{BTreeSet, HashMap, VecDeque};

use zvf_format::keys::format_key;

use super::Scope;
use super::edit::{Added, At, Edit};
use super::links::near;
use super::ops::{Spot, column_bytes};
use super::vertex::{FRESH, LinkAt, NewLink, Vertex, parts};
use zvf_encode::batches::row_size;
use zvf_encode::error::{OrBug, narrow};
use zvf_encode::{AttributeSpec, AttributeType, Values, WriteError};

/// A stored link, and its place.
pub(super) type FoundLink = (LinkAt, NewLink);

/// Ends of links from a table.
#[derive(Debug)]
pub(super) struct LinkEndColumns {
    /// For each link, the object whose vertices `ends` count; `None` if they are current vertex numbers.
    pub(super) ids: Option<Vec<Option<i64>>>,
    /// The ends of all links, one link after another; `None` for a missing or negative number.
    pub(super) ends: Vec<Option<u64>>,
}

/// The ends of a link, in the order in which the caller gives them; `None` if one is not in the store.
type ResolvedEnds = Option<Vec<Vertex>>;

/// Links between the same vertices: for each order of their ends, the links that are not taken yet.
type ParallelLinks<'l> = Vec<(&'l [Vertex], VecDeque<usize>)>;

impl Edit {
    /// Sets the values of an existing attribute.
    pub(super) async fn set_links(
        &mut self,
        name: &str,
        at: &At<'_>,
        values: &Values,
    ) -> Result<(), WriteError> {
        let found = self.links_at(at).await?;
        self.set_found_links(name, found, values)
    }

    /// Sets the values of links that were found.
    pub(super) fn set_found_links(
        &mut self,
        name: &str,
        found: Vec<FoundLink>,
        values: &Values,
    ) -> Result<(), WriteError> {
        let attributes = &self.state.spec.links.attributes;
        let number = attributes.iter().position(|one| one.name == name);
        let spec = number.and_then(|number| attributes.get(number)).cloned();
        let (Some(number), Some(spec)) = (number, spec) else {
            let expected = "an attribute of this store's links";
            return Err(WriteError::input(what(name), "nothing", expected));
        };
        let bytes = column_bytes("link attribute", &spec, values, found.len())?;
        let before = self.state.spec.links.attributes.iter().take(number);
        let start: usize = before.map(row_size).sum();
        let width = row_size(&spec);
        let range = start..start + width;
        for ((at, link), value) in found.into_iter().zip(bytes.chunks_exact(width.max(1))) {
            self.relink(&link);
            let stored = self.state.link_values.entry(at).or_insert(link.attributes);
            let place = stored.get_mut(range.clone());
            place
                .or_bug("a link without this value")?
                .copy_from_slice(value);
        }
        Ok(())
    }

    /// Adds an attribute to all links.
    pub(super) async fn add_links(
        &mut self,
        spec: AttributeSpec,
        values: &Values,
    ) -> Result<(), WriteError> {
        if !matches!(spec.values, AttributeType::Number(_)) {
            let found = spec.values.name();
            return Err(WriteError::input(what(&spec.name), found, "numbers"));
        }
        if !self.state.links.is_empty() {
            let expected = "the attribute to be added before any link";
            return Err(WriteError::input(
                what(&spec.name),
                "links added by this edit",
                expected,
            ));
        }
        let mut checked = self.state.spec.clone();
        checked.links.attributes.push(spec.clone());
        checked.check()?;
        let found = self.links_at(&At::All).await?;
        if found.is_empty() {
            return Err(WriteError::input(what(&spec.name), "no links", "links"));
        }
        let bytes = column_bytes("link attribute", &spec, values, found.len())?;
        let width = row_size(&spec).max(1);
        for ((at, link), value) in found.into_iter().zip(bytes.chunks_exact(width)) {
            self.relink(&link);
            let stored = self.state.link_values.entry(at).or_insert(link.attributes);
            stored.extend_from_slice(value);
        }
        self.state.spec = checked;
        self.added.push(Added {
            scope: Scope::Link,
            spec,
        });
        Ok(())
    }

    /// Records that a link is stored again.
    fn relink(&mut self, link: &NewLink) {
        let slots = link.ends.iter().map(|end| parts(*end).0);
        self.state
            .relinked
            .extend(slots.take(1).filter(|&slot| slot != FRESH));
    }

    /// The links that an address selects.
    async fn links_at(&mut self, at: &At<'_>) -> Result<Vec<FoundLink>, WriteError> {
        if let At::All = at {
            return self.all_links().await;
        }
        let mut ends: Vec<Vertex> = Vec::new();
        let spots = self.find(at).await?;
        self.load_spots(&spots).await?;
        for spot in spots {
            ends.push(self.name(spot)?);
        }
        let width = self.state.spec.links.width.max(1);
        if !ends.len().is_multiple_of(width) {
            let found = format!("{} of them", ends.len());
            let expected = format!("{width} for each link");
            return Err(WriteError::input("ends of links", found, expected));
        }
        let ends: Vec<ResolvedEnds> = ends
            .chunks_exact(width)
            .map(|ends| Some(ends.to_vec()))
            .collect();
        let mut known: Vec<Option<FoundLink>> = self
            .links_near(&ends)
            .await?
            .into_iter()
            .map(Some)
            .collect();
        let places = {
            let known: Vec<&FoundLink> = known.iter().flatten().collect();
            self.places_among(&known, &ends)
        };
        let mut links = Vec::new();
        for (number, place) in places.into_iter().enumerate() {
            let next = place.and_then(|place| known.get_mut(place)?.take());
            links.push(next.ok_or_else(|| {
                let found = "no (further) link between its vertices";
                WriteError::input(format!("link {number}"), found, "a link of this store")
            })?);
        }
        Ok(links)
    }

    /// The vertices of ends; reads their chunks.
    pub(super) async fn end_names(
        &mut self,
        given: &LinkEndColumns,
    ) -> Result<Vec<ResolvedEnds>, WriteError> {
        let width = self.state.spec.links.width.max(1);
        let spots: Vec<Option<Spot>> = match &given.ids {
            Some(ids) => {
                let ids = ids.iter().flat_map(|id| std::iter::repeat_n(*id, width));
                let places = ids.zip(&given.ends).map(|(id, at)| Some((id?, (*at)?)));
                let places: Vec<Option<(i64, u64)>> = places.collect();
                let spots = self.spots_in_objects(&places).await?;
                let found: Vec<Spot> = spots.iter().flatten().copied().collect();
                self.load_spots(&found).await?;
                spots
            }
            None => {
                let rows: Vec<u64> = given.ends.iter().flatten().copied().collect();
                let spots = self.spots(&rows).await?;
                self.load_spots(&spots).await?;
                let mut spots = spots.into_iter();
                let ends = given.ends.iter();
                ends.map(|end| end.and_then(|_| spots.next())).collect()
            }
        };
        let mut names = Vec::with_capacity(spots.len() / width);
        for ends in spots.chunks_exact(width) {
            let mut link = Some(Vec::with_capacity(width));
            for spot in ends {
                match (spot, &mut link) {
                    (Some(spot), Some(link)) => link.push(self.name(*spot)?),
                    _ => link = None,
                }
            }
            names.push(link);
        }
        Ok(names)
    }

    /// The stored links in cells that touch the chunks of the first ends, in the order in which queries return links.
    pub(super) async fn links_near(
        &mut self,
        ends: &[ResolvedEnds],
    ) -> Result<Vec<FoundLink>, WriteError> {
        // Stored links identify a vertex by the chunk in which it was stored.
        let slots: BTreeSet<u32> = ends
            .iter()
            .flatten()
            .filter_map(|ends| ends.first())
            .map(|end| parts(*end).0)
            .filter(|&slot| slot != FRESH)
            .collect();
        self.stored_links(&slots).await
    }

    /// For each row, the index in `known` of the next unmatched link with the same ends in the same order. For undirected links, the order of the ends
    /// does not matter if all links between these vertices store their ends in the same order.
    pub(super) fn places_of_links(
        &self,
        known: &[FoundLink],
        ends: &[ResolvedEnds],
    ) -> Vec<Option<usize>> {
        let known: Vec<&FoundLink> = known.iter().collect();
        self.places_among(&known, ends)
    }

    /// The vertices that a link joins: sorted, unless links are directed.
    pub(super) fn joined(&self, ends: &[Vertex]) -> Vec<Vertex> {
        let mut key = ends.to_vec();
        if !self.state.spec.links.directed {
            key.sort_unstable();
        }
        key
    }

    fn places_among(&self, known: &[&FoundLink], ends: &[ResolvedEnds]) -> Vec<Option<usize>> {
        let key = |ends: &[Vertex]| self.joined(ends);
        let mut groups: HashMap<Vec<Vertex>, ParallelLinks<'_>> = HashMap::new();
        for (at, (_, link)) in known.iter().enumerate() {
            let group = groups.entry(key(&link.ends)).or_default();
            match group.iter_mut().find(|(order, _)| *order == link.ends) {
                Some((_, all)) => all.push_back(at),
                None => group.push((&link.ends, [at].into())),
            }
        }
        let place = |ends: &ResolvedEnds| {
            let ends = ends.as_ref()?;
            let group = groups.get_mut(&key(ends))?;
            let same = group.iter().position(|(order, _)| order == ends);
            let at = same.or((group.len() == 1).then_some(0))?;
            group.get_mut(at)?.1.pop_front()
        };
        ends.iter().map(place).collect()
    }

    /// All links of the store, in the order in which queries return them, without those that this edit removes.
    pub(super) async fn all_links(&mut self) -> Result<Vec<FoundLink>, WriteError> {
        let level = self.state.level.clone();
        let mut slots = BTreeSet::new();
        for chunk in level.vertices().presence().iter() {
            slots.insert(self.state.slot(chunk)?);
        }
        let mut links = self.stored_links(&slots).await?;
        let places = self.state.places()?;
        links.retain(|(_, link)| {
            let mut ends = link.ends.iter();
            ends.all(|end| self.state.place(&places, *end).is_some())
        });
        Ok(links)
    }

    /// The links that touch chunks, in the order in which queries return them: arrays, cells by the text of their key, records.
    async fn stored_links(&mut self, slots: &BTreeSet<u32>) -> Result<Vec<FoundLink>, WriteError> {
        let mut cells = near(&mut self.state, slots).await?;
        cells.retain(|cell| !cell.copies);
        cells.sort_by_cached_key(|cell| (cell.array, format_key(&cell.chunk).to_string()));
        let mut links = Vec::new();
        for cell in cells {
            for (record, link) in cell.records.into_iter().enumerate() {
                let at = LinkAt {
                    array: cell.array,
                    chunk: cell.chunk.clone(),
                    record: narrow("links of one cell", record)?,
                };
                links.push((at, link));
            }
        }
        Ok(links)
    }
}

fn what(name: &str) -> String {
    format!("link attribute {name}")
}
