//! Builds link families from documents.

use std::sync::Arc;

use zvf_format::dtype::{DType, DTypeKind};
use zvf_format::keys::format_delta;
use zvf_meta::{ArrayDoc, Kind, LevelDoc, LinkFamilyDoc, RootDoc};

use super::MISSING;
use super::plan::NameFamily;
use super::{ArrayOrGroup, SnapshotTree, document_at};
use crate::container::{ContainerKind, GridArray};
use crate::level::Refused;
use crate::links::{LinkArray, LinkFamily};
use crate::{Need, StoreError};
use zvf_format::int::wide;
use zvf_io::{Cap, Question};

/// The type of a link array if its document states none.
pub(super) const MISSING_LINK: DType = DType::little(DTypeKind::I64);

/// The level of the links.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinksLevel<'a> {
    pub(super) root: &'a RootDoc,
    pub(super) level: u32,
    pub(super) key_rank: usize,
    pub(super) chunk_shape: &'a [f64],
}

/// A node that represents a link family or a part of one.
#[derive(Debug)]
pub(super) enum LinkNode {
    Array(Box<ArrayDoc>),
    Group(Box<LinkFamilyDoc>),
}

impl LinkNode {
    /// The family's policy, from the node's attributes.
    pub(super) fn policy(&self, path: &str) -> Result<LinkFamilyDoc, StoreError> {
        match self {
            Self::Group(doc) => Ok(doc.as_ref().clone()),
            Self::Array(doc) => LinkFamilyDoc::from_array(&doc.attributes)
                .map_err(|e| StoreError::document(format!("{path}/zarr.json"), e)),
        }
    }
}

impl SnapshotTree {
    /// The link families of a level that are wanted and exist.
    pub(super) fn links(
        &self,
        place: LinksLevel<'_>,
        need: &Need,
        refused: &mut Vec<Refused>,
        more: &mut Vec<Question>,
    ) -> Result<Vec<LinkFamily>, StoreError> {
        let level = place.level;
        let deltas = self
            .deltas_of(&self.state(), level, need)
            .unwrap_or_default();
        let mut families = Vec::new();
        for delta in deltas {
            let path = format!("{level}/links/{}", format_delta(delta));
            let built = match self.link_node(&path) {
                Ok(None) if self.ask_for_links(place, more) => Ok(None),
                Ok(None) => self.check_there(&path).map(|()| None),
                Ok(Some(LinkNode::Group(doc))) if !is_same_key(&doc) => self
                    .at_offsets(place, &path, delta, *doc, need, more)
                    .map(Some),
                Ok(Some(node)) => self.same_key(place, &path, delta, &node, more).map(Some),
                Err(error) => Err(error),
            };
            let mut family = match built {
                Ok(family) => family,
                Err(error) => {
                    self.leave_out(&path, Some(delta), error, refused)?;
                    None
                }
            };
            self.cross_chunk(place, delta, &mut family, refused, more)?;
            let Some(mut family) = family else {
                continue;
            };
            family.rows_trusted = delta != 0 || !is_line(place.root) || !has_tuples(&family);
            self.link_attributes(place, need, &mut family, refused, more)?;
            families.push(family);
        }
        Ok(families)
    }

    /// For kinds whose stores have links: requests the names of a level's link families if the level has a folder of links and the names are unknown.
    /// Returns whether it did.
    fn ask_for_links(&self, place: LinksLevel<'_>, more: &mut Vec<Question>) -> bool {
        if !matches!(
            place.root.kind(),
            Ok(Kind::Graph | Kind::Skeleton | Kind::Mesh)
        ) {
            return false;
        }
        let level = place.level.to_string();
        let there = self.state().lists(&level, "links");
        there && self.kv.can_list() && self.asks(Question::Names(format!("{level}/links")), more)
    }

    /// The node at a path, if it exists.
    pub(super) fn link_node(&self, path: &str) -> Result<Option<LinkNode>, StoreError> {
        let key = format!("{path}/zarr.json");
        let policy = match (self.document(&key), self.built(path)) {
            (Some(bytes), _) => match ArrayOrGroup::parse(&bytes) {
                Ok(ArrayOrGroup::Array(doc)) => return Ok(Some(LinkNode::Array(doc))),
                Ok(ArrayOrGroup::Group(_)) => LinkFamilyDoc::parse(&bytes),
                Err(error) => Err(error),
            },
            // The document of an array that is built is kept in parsed form only.
            (None, Some(array)) => match array.doc() {
                Some(doc) => return Ok(Some(LinkNode::Array(Box::new(doc.clone())))),
                None => LinkFamilyDoc::from_array(array.attributes()),
            },
            (None, None) => return Ok(None),
        };
        let policy = policy.map_err(|e| StoreError::document(key, e))?;
        Ok(Some(LinkNode::Group(Box::new(policy))))
    }

    /// A family of 0.9: one array for each set of offsets.
    fn at_offsets(
        &self,
        place: LinksLevel<'_>,
        folder: &str,
        delta: i32,
        doc: LinkFamilyDoc,
        need: &Need,
        more: &mut Vec<Question>,
    ) -> Result<LinkFamily, StoreError> {
        let key = format!("{folder}/zarr.json");
        let mut family = empty(delta, doc);
        let (Some(width), Some(rank)) = (family.doc.link_width, family.doc.sid_ndim) else {
            self.check_empty(place, folder, delta, &family.doc)?;
            return Ok(family);
        };
        check_rank(&key, rank, place.key_rank)?;
        family.width = check_width(&key, width, 1)?;
        let anchor = match delta {
            0 => None,
            _ => Some(Arc::new(self.factors(place, delta)?)),
        };
        let segments = {
            let state = self.state();
            let names = self.names_of(&state, place.level, NameFamily::Link, need)?;
            if delta == 0 && self.skips_implied(&state, place.level, names.as_deref(), need) {
                return Ok(family);
            }
            family.guessed = family.width > 1 && self.guesses(&state, folder, delta);
            self.segments_of(&state, place.level, delta)
                .unwrap_or_default()
        };
        Cap::names(self.kv.limits()).check(folder, wide(segments.len()))?;
        for segment in segments {
            let path = format!("{folder}/{segment}");
            let array = self.grid(&path, MISSING_LINK, place.key_rank, more);
            let Some(array) = array.map_err(|error| self.link_type_error(&path, error))? else {
                continue;
            };
            check_array(&array, delta, family.width)?;
            let array = LinkArray::at_offsets(
                segment,
                array,
                delta,
                &family.doc,
                family.width,
                place.key_rank,
                anchor.clone(),
            )?;
            family.arrays.push(array);
        }
        Ok(family)
    }

    /// The error for an array of links of an unsupported type. A name that is not a type is damage, since rows are whole numbers.
    #[cold]
    fn link_type_error(&self, path: &str, error: StoreError) -> StoreError {
        let doc = self.array_doc(path).ok().flatten();
        let stated = doc.and_then(|doc| doc.attributes.dtype);
        match stated.filter(|stated| error.is_unsupported() && DType::parse(stated).is_err()) {
            Some(stated) => {
                let what = format!("dtype is {stated:?}, expected a type of whole numbers");
                StoreError::malformed(format!("{path}/zarr.json"), what)
            }
            None => error,
        }
    }

    /// Refuses a family with links and without policy: without policy a family reads as empty (13.2).
    fn check_empty(
        &self,
        place: LinksLevel<'_>,
        folder: &str,
        delta: i32,
        doc: &LinkFamilyDoc,
    ) -> Result<(), StoreError> {
        let missing = match doc.link_width {
            None => "link_width",
            Some(_) => "sid_ndim",
        };
        let wrong = |what: String| {
            let what = format!("{missing} is missing, {what}: the links cannot be read");
            Err(StoreError::malformed(format!("{folder}/zarr.json"), what))
        };
        if let Some(links) = doc.num_links.or(doc.num_physical_records)
            && links > 0
        {
            return wrong(format!("but num_links is {links}"));
        }
        let arrays = self.segments_of(&self.state(), place.level, delta);
        if let Some(arrays) = arrays.as_ref().filter(|arrays| !arrays.is_empty()) {
            return wrong(format!("but there are {} arrays of links", arrays.len()));
        }
        if !self.kv.can_list() && (doc.link_width.is_some() || doc.sid_ndim.is_some()) {
            return wrong("and the backend cannot list".to_owned());
        }
        Ok(())
    }

    /// The links of a family inside one chunk, or between chunks with the same key at two levels: `links/<delta>/<key>` (0.7, sections 9.1 and 9.3),
    /// one array (0.8, section 3.4), or one padded array.
    fn same_key(
        &self,
        place: LinksLevel<'_>,
        path: &str,
        delta: i32,
        node: &LinkNode,
        more: &mut Vec<Question>,
    ) -> Result<LinkFamily, StoreError> {
        let key = format!("{path}/zarr.json");
        let mut family = empty(delta, node.policy(path)?);
        let Some(array) = self.grid(path, MISSING_LINK, place.key_rank, more)? else {
            return Ok(family);
        };
        if array.container() == ContainerKind::Grid {
            array.check_presence()?;
            if delta == 0 {
                self.compare_groups(place, &array, more)?;
            }
        }
        let padded = array.container() == ContainerKind::Padded;
        if !padded && array.dtype() != MISSING_LINK {
            self.warnings.add(format!(
                "{path}: dtype is {}, but writers of these versions write only {MISSING_LINK}: the links may be wrong",
                array.dtype()
            ));
        }
        let width = match (&family.doc.link_width, node) {
            (_, LinkNode::Array(doc)) if padded => {
                doc.shape.last().and_then(|n| u32::try_from(*n).ok())
            }
            (stated, _) => *stated,
        };
        let Some(width) = width else {
            return Err(StoreError::malformed(
                key,
                "link_width is missing: the links cannot be read",
            ));
        };
        family.width = check_width(&key, width, 2)?;
        family
            .arrays
            .push(LinkArray::same_key(array, delta, family.width, padded)?);
        Ok(family)
    }

    /// Warns if groups of links are stored for more chunks than links are, because before 0.9 no document counts the links inside chunks. Requests the
    /// groups only if fewer chunks have links than vertices.
    fn compare_groups(
        &self,
        place: LinksLevel<'_>,
        links: &GridArray,
        more: &mut Vec<Question>,
    ) -> Result<(), StoreError> {
        let vertices = self.built(&format!("{}/vertices", place.level));
        let cells = links.presence().len();
        if vertices.is_none_or(|vertices| vertices.presence().len() <= cells) {
            return Ok(());
        }
        let path = format!("{}/link_fragments", place.level);
        if self.asks(document_at(&path), more) {
            return Ok(());
        }
        let groups = self.grid(&path, MISSING, place.key_rank, more)?;
        let groups = groups.map_or(0, |groups| groups.presence().len());
        if groups > cells {
            self.warnings.add(format!(
                "{}: {cells} cells of links, but {groups} cells of {path}: links are lost",
                links.path()
            ));
        }
        Ok(())
    }

    /// Chunk shapes of this level and the target level as multiples of the root's, with leading ones up to K (13.6).
    fn factors(
        &self,
        place: LinksLevel<'_>,
        delta: i32,
    ) -> Result<(Vec<i64>, Vec<i64>), StoreError> {
        let base = &place.root.zarr_vectors.chunk_shape;
        let factors = |shape: &[f64]| chunk_factors(shape, base, place.key_rank);
        let source = factors(place.chunk_shape);
        let target = u32::try_from(i64::from(place.level) + i64::from(delta)).ok();
        let key = target.map(|t| format!("{t}/zarr.json"));
        let target = match key.as_ref().and_then(|key| self.document(key)) {
            None => source.clone(),
            Some(bytes) => {
                let key = key.unwrap_or_default();
                let doc =
                    LevelDoc::parse(&bytes).map_err(|e| StoreError::document(key.clone(), e))?;
                factors(&self.chunk_shape(place.root, &doc, &key)?)
            }
        };
        Ok((source, target))
    }
}

/// The chunk shape of a level as multiples of the root's, `base`, with leading ones up to the rank of its chunk keys (13.6). A shape that is not a
/// multiple is rounded; [`anchor`](zvf_format::links::anchor) refuses factors below 1.
#[must_use]
pub fn chunk_factors(shape: &[f64], base: &[f64], key_rank: usize) -> Vec<i64> {
    let ones = std::iter::repeat_n(1, key_rank.saturating_sub(shape.len()));
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float saturates, and a factor below 1 is refused"
    )]
    let factors = shape
        .iter()
        .zip(base)
        .map(|(own, root)| (own / root).round_ties_even() as i64);
    ones.chain(factors).collect()
}

/// Refuses an invalid array of links by offsets, one with an invalid list of cells, or one that contradicts its family.
fn check_array(array: &GridArray, delta: i32, width: usize) -> Result<(), StoreError> {
    let wrong = |what: String| {
        let key = format!("{}/zarr.json", array.path());
        Err(StoreError::malformed(key, what))
    };
    if array.container() == ContainerKind::Blobs {
        return wrong("a group, expected an array of links".to_owned());
    }
    let attributes = array.attributes();
    if let Some(stated) = attributes.link_width
        && usize::try_from(stated) != Ok(width)
    {
        return wrong(format!("link_width is {stated}, but {width} in its family"));
    }
    if let Some(stated) = attributes.level_delta
        && stated != delta
    {
        return wrong(format!(
            "level_delta is {stated}, but its family has {delta}"
        ));
    }
    array.check_presence()
}

/// A family without arrays.
pub(super) fn empty(delta: i32, doc: LinkFamilyDoc) -> LinkFamily {
    LinkFamily {
        delta,
        doc,
        width: 0,
        rows_trusted: true,
        arrays: Vec::new(),
        attributes: Vec::new(),
        guessed: false,
    }
}

/// Refuses a rank of chunk coordinates other than the level's.
pub(super) fn check_rank(key: &str, found: u32, key_rank: usize) -> Result<(), StoreError> {
    if usize::try_from(found) == Ok(key_rank) {
        return Ok(());
    }
    Err(StoreError::malformed(
        key,
        format!("sid_ndim is {found}, expected {key_rank}"),
    ))
}

/// The number of endpoints of a link: `least` to 255. Before 0.9 links inside of chunks have two or more (0.8, L2).
pub(super) fn check_width(key: &str, width: u32, least: usize) -> Result<usize, StoreError> {
    match usize::try_from(width) {
        Ok(endpoints) if (least..=255).contains(&endpoints) => Ok(endpoints),
        _ => Err(StoreError::malformed(
            key,
            format!("link_width is {width}, expected {least} to 255"),
        )),
    }
}

/// Whether a group `links/<delta>` has one child for each chunk instead of one for each set of offsets: its role is `links` (a family of 0.9 has
/// `links_family`), or it states the type of its rows and no rank.
pub(super) fn is_same_key(doc: &LinkFamilyDoc) -> bool {
    match doc.zv_array.as_deref() {
        Some(word) => word == "links",
        None => doc.dtype.is_some() && doc.sid_ndim.is_none(),
    }
}

/// Whether the first geometry kind, to which the link convention belongs, is a kind of lines.
fn is_line(root: &RootDoc) -> bool {
    root.kind().is_ok_and(Kind::is_chain)
}

fn has_tuples(family: &LinkFamily) -> bool {
    let tuple = |array: &LinkArray| *array.placement() == crate::links::Placement::Tuple;
    family.arrays.iter().any(tuple)
}
