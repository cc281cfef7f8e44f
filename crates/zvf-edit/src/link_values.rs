//! Values of attributes of links that are there.

use std::collections::{BTreeSet, HashMap, VecDeque};

use zvf_format::keys::format_key;

use super::links::near;
use super::ops::column_bytes;
use super::vertex::{FRESH, LinkAt, NewLink, Vertex, parts};
use super::{Added, At, Edit};
use zvf_write::WriteError;
use zvf_write::error::{OrBug, narrow};
use zvf_write::layout::row_size;
use zvf_write::spec::{AttributeSpec, AttributeType};
use zvf_write::values::Values;

/// A link that is stored, and where.
type Found = (LinkAt, NewLink);

impl Edit {
    /// Sets the values of an attribute that is there.
    pub(super) async fn set_links(
        &mut self,
        name: &str,
        at: &At<'_>,
        values: &Values<'_>,
    ) -> Result<(), WriteError> {
        let attributes = &self.state.spec.links.attributes;
        let number = attributes.iter().position(|one| one.name == name);
        let spec = number.and_then(|number| attributes.get(number)).cloned();
        let (Some(number), Some(spec)) = (number, spec) else {
            let expected = "an attribute of this store's links";
            return Err(WriteError::input(what(name), "nothing", expected));
        };
        let found = self.links_at(at).await?;
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
        values: &Values<'_>,
    ) -> Result<(), WriteError> {
        if !matches!(spec.values, AttributeType::Number(_)) {
            let found = spec.values.name();
            return Err(WriteError::input(what(&spec.name), found, "numbers"));
        }
        if !self.state.links.is_empty() {
            let expected = "the attribute first, then batches with values of it";
            return Err(WriteError::input(
                what(&spec.name),
                "links that this edit adds",
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
            scope: "link",
            spec,
        });
        Ok(())
    }

    /// Notes that a link is stored again.
    fn relink(&mut self, link: &NewLink) {
        let slots = link.ends.iter().map(|end| parts(*end).0);
        self.state
            .relinked
            .extend(slots.take(1).filter(|&slot| slot != FRESH));
    }

    /// The links that an address means.
    async fn links_at(&mut self, at: &At<'_>) -> Result<Vec<Found>, WriteError> {
        if let At::All = at {
            return self.all_links().await;
        }
        let mut ends: Vec<Vertex> = Vec::new();
        for spot in self.find(at).await? {
            ends.extend(self.name(spot));
        }
        let width = self.state.spec.links.width.max(1);
        if !ends.len().is_multiple_of(width) {
            let found = format!("{} of them", ends.len());
            let expected = format!("{width} for each link");
            return Err(WriteError::input("ends of links", found, expected));
        }
        // Stored links name a vertex by the chunk in which it was stored.
        let slots: BTreeSet<u32> = ends
            .chunks_exact(width)
            .filter_map(|ends| ends.first())
            .map(|end| parts(*end).0)
            .filter(|&slot| slot != FRESH)
            .collect();
        let directed = self.state.spec.links.directed;
        let key = |ends: &[Vertex]| {
            let mut key = ends.to_vec();
            if !directed {
                key.sort_unstable();
            }
            key
        };
        let mut known: HashMap<Vec<Vertex>, VecDeque<Found>> = HashMap::new();
        for found in self.stored_links(&slots).await? {
            known
                .entry(key(&found.1.ends))
                .or_default()
                .push_back(found);
        }
        let mut links = Vec::new();
        for (number, ends) in ends.chunks_exact(width).enumerate() {
            // Ends that come again mean the next link between them.
            let next = known.get_mut(&key(ends)).and_then(VecDeque::pop_front);
            links.push(next.ok_or_else(|| {
                let found = "no (further) link between its vertices";
                WriteError::input(format!("link {number}"), found, "a link of this store")
            })?);
        }
        Ok(links)
    }

    /// All links of the store, in the order of lists, without those that go with this edit.
    async fn all_links(&mut self) -> Result<Vec<Found>, WriteError> {
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

    /// The links that touch chunks, in the order of lists: arrays, cells by the text of their key, records.
    async fn stored_links(&mut self, slots: &BTreeSet<u32>) -> Result<Vec<Found>, WriteError> {
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
