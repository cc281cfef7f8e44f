//! Facts about a cell from the documents around it: types, widths, names, chunks of the endpoints of links.

use std::sync::Arc;

use serde_json::Value;
use zvf_codec::Data;
use zvf_format::U64;
use zvf_format::dtype::{DType, DTypeKind};
use zvf_format::keys::parse_delta;
use zvf_format::layout::Wire as _;
use zvf_io::Cap;
use zvf_meta::{ArrayAttributes, ArrayDoc, LevelDoc, LinkFamilyDoc, ObjectIndexDoc, RootDoc};

use super::kind::CellKind;
use super::numbers::{elements, sized};
use crate::container::blob::decode_child;
use crate::coord::Dotted;
use crate::layout::object_key;
use crate::{Placement, RawStore, StoreError, chunk_factors};

/// Keys of a packed chunk, each with the offset and the number of its bytes, in the order of the bytes.
pub(super) type PackedKeys = Vec<(String, u64, u64)>;

/// Facts about a cell or blob besides its bytes.
#[derive(Debug, Clone, Default)]
pub struct CellFacts {
    /// Components of a chunk key.
    pub key_rank: Option<usize>,
    /// Columns of a row, without a permutation column.
    pub width: Option<usize>,
    /// Element type of rows.
    pub dtype: Option<DType>,
    /// Whether link rows begin with a permutation column.
    pub perm: Option<bool>,
    /// Names of the columns: axes, channels.
    pub columns: Vec<String>,
    /// Values of dictionary codes.
    pub categories: Vec<String>,
    /// The chunk that the cell belongs to.
    pub chunk: Option<Vec<i64>>,
    /// Chunks of the endpoints of a link row, in stored order: `chunk 0.0.0`, `chunk 1.0.0 of level 1`.
    pub endpoints: Vec<String>,
    /// Levels of the first and of the other endpoints of the application; `None` if all are in one level, or `endpoints` has the levels.
    pub levels: Option<(i64, i64)>,
    /// Byte offsets of the rows of a blob, from the table in the same group.
    pub offsets: Vec<u64>,
    /// Keys of a packed chunk, each with the offset and the number of its bytes.
    pub packed: PackedKeys,
    /// Elements of a variable-length chunk, if its array states them.
    pub elements: Option<u64>,
    /// The requested element of a variable-length chunk, entry of a shard or key of a packed chunk.
    pub element: Option<u64>,
    /// Rows before the requested one.
    pub first_row: u64,
    /// Rows of this chunk that the array has; the others are padding.
    pub real_rows: Option<u64>,
    /// Entries of a shard's index.
    pub entries: Option<u64>,
}

/// A blob that is a separate array: its name in the group, and its bytes (specification 0.7, section 2).
type Child<'c> = (&'c str, u64);

impl CellFacts {
    /// The level of an endpoint, as text to append to the name of its chunk; empty if all endpoints are in one level.
    #[must_use]
    pub fn level_of(&self, endpoint: usize) -> String {
        match self.levels {
            Some((near, _)) if endpoint == 0 => format!(" of level {near}"),
            Some((_, far)) => format!(" of level {far}"),
            None => String::new(),
        }
    }

    /// Facts about a cell of the array or the family of blobs at `path`, from its attributes and the documents around it.
    pub(super) async fn read(
        raw: &RawStore,
        path: &str,
        attributes: &ArrayAttributes,
        kind: CellKind,
        chunk: Option<Vec<i64>>,
        child: Option<Child<'_>>,
    ) -> Self {
        let number = |name| attributes.extra.get(name).and_then(Value::as_u64);
        let text = |value: &Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        let dtype = attributes.dtype.as_deref();
        // A larger number of endpoints is invalid, and would produce huge names of chunks.
        let width = attributes.link_width.filter(|width| *width < 256);
        let mut facts = Self {
            dtype: dtype.and_then(|name| DType::parse(name).ok()),
            perm: attributes.has_perm,
            width: width.and_then(sized),
            key_rank: number("sid_ndim").and_then(sized),
            columns: attributes.channel_names.clone().unwrap_or_default(),
            categories: attributes.categories.iter().flatten().map(text).collect(),
            chunk,
            ..Self::default()
        };
        match kind {
            CellKind::Vertices => {
                if let Some(root) = raw.known("", RootDoc::parse).await {
                    facts.columns = root.axes().iter().map(|axis| axis.name.clone()).collect();
                }
            }
            CellKind::Manifest => {
                let group = path.trim_end_matches("/manifests");
                let index = raw.known(group, ObjectIndexDoc::parse).await;
                facts.key_rank = index.and_then(|index| sized(index.sid_ndim?));
            }
            CellKind::Manifests | CellKind::Group if child.is_some() => {
                let offsets = offsets(raw, path).await;
                facts.offsets = offsets.ok().flatten().unwrap_or_default();
            }
            CellKind::Attribute => {
                let stated = attributes.row_shape.is_some() || attributes.channel_names.is_some();
                let columns = attributes.declared_width().filter(|_| stated);
                let rows = attributes.shape.as_deref();
                let columns = columns.or_else(|| Some(elements(rows?.get(1..)?)));
                let columns = columns.or_else(|| number("max_row_length"));
                let columns = match (columns, child.zip(facts.dtype)) {
                    (None, Some((child, dtype))) => by_division(raw, path, child, dtype).await,
                    (columns, _) => columns,
                };
                facts.width = columns.and_then(sized);
            }
            CellKind::Links | CellKind::RaggedLinks | CellKind::Records => {
                facts.dtype = facts.dtype.or(Some(DType::little(DTypeKind::I64)));
                facts.real_rows = number("num_links").filter(|_| kind == CellKind::Records);
                facts.links(raw, path, attributes).await;
            }
            _ => {}
        }
        facts
    }

    /// Width, permutation and endpoint chunks of link rows.
    async fn links(&mut self, raw: &RawStore, path: &str, attributes: &ArrayAttributes) {
        let mut segments = path.split('/');
        let level: Option<i64> = segments.next().and_then(|level| level.parse().ok());
        let named = segments.nth(1).and_then(|delta| parse_delta(delta).ok());
        let delta = attributes.level_delta.or(named).unwrap_or(0);
        let far = level.map(|level| level.saturating_add(i64::from(delta)));
        let levels = level.zip(far).filter(|_| delta != 0);
        let tuple = path.contains("/cross_chunk_links/");
        let offsets = attributes.offsets.as_deref();
        if tuple {
            // The level of a chunk depends on the order of the endpoints (spec 0.8 §13).
            (self.perm, self.levels) = (Some(true), levels);
        } else {
            let family = path.rsplit_once('/').map_or("", |(family, _)| family);
            let family = raw.known(family, LinkFamilyDoc::parse).await;
            let family = family.unwrap_or_default();
            let zero = offsets.is_none_or(|all| all.iter().flatten().all(|part| *part == 0));
            let others = offsets.map(|offsets| offsets.len() + 1);
            self.width = self.width.or(family.link_width.and_then(sized)).or(others);
            self.perm = self.perm.or(Some(family.has_perm(delta, zero)));
        }
        let Some(chunk) = self.chunk.as_deref() else {
            return;
        };
        let placement = match offsets {
            // One cell for each tuple of chunks (spec 0.8 §9.1).
            _ if tuple => Placement::Tuple,
            // All links of one chunk, or of the chunks of two levels with its key (spec 0.7 §9.1, 0.8 §3.4).
            None => Placement::SameKey,
            Some(offsets) => {
                let factors = match levels {
                    Some(levels) => factors(raw, levels, chunk.len()).await,
                    None => None,
                };
                if delta != 0 && factors.is_none() {
                    // Without the documents of the root and the level, the chunks of the other endpoints are unknown.
                    return;
                }
                Placement::Offsets {
                    offsets: offsets.concat(),
                    anchor: factors.map(Arc::new),
                }
            }
        };
        let (mut chunks, width) = (Vec::new(), self.width.unwrap_or(2));
        let placed = placement.endpoint_chunks(chunk, width, &mut chunks);
        let rank = chunks.len().checked_div(width).unwrap_or(0);
        if placed.is_err() || rank == 0 || rank.checked_mul(width) != Some(chunks.len()) {
            return;
        }
        let name = |(endpoint, chunk): (usize, &[i64])| match levels {
            Some((_, far)) if endpoint > 0 && !tuple => {
                format!("chunk {} of level {far}", Dotted(chunk))
            }
            _ => format!("chunk {}", Dotted(chunk)),
        };
        self.endpoints = chunks.chunks_exact(rank).enumerate().map(name).collect();
        if tuple {
            self.chunk = None;
        }
    }
}

/// Columns of a vertex attribute whose document does not state them (spec 0.7 §8.2).
async fn by_division(
    raw: &RawStore,
    family: &str,
    (leaf, length): Child<'_>,
    dtype: DType,
) -> Option<u64> {
    let (level, rest) = family.split_once('/')?;
    rest.strip_prefix("vertex_attributes/")?;
    let vertices = format!("{level}/vertices");
    let stored = format!("{vertices}/{leaf}");
    let stored = elements(&raw.known(&stored, ArrayDoc::parse).await?.shape);
    let axes = raw.known("", RootDoc::parse).await?.dims() as u64;
    let positions = raw.family(&vertices).await.dtype;
    let position = positions.and_then(|name| DType::parse(&name).ok());
    let position = position.unwrap_or(DType::DEFAULT).size() as u64;
    let rows = stored.checked_div(axes.checked_mul(position)?)?;
    let row = length.checked_div(rows).filter(|row| *row > 0)?;
    let item = dtype.size() as u64;
    (row.checked_rem(item)? == 0).then_some(row / item)
}

/// The chunk shapes of two levels as multiples of the root's. If the second level is unknown, the shape of the first is used for it.
async fn factors(
    raw: &RawStore,
    (near, far): (i64, i64),
    key_rank: usize,
) -> Option<(Vec<i64>, Vec<i64>)> {
    let root = raw.known("", RootDoc::parse).await?;
    let base = &root.zarr_vectors.chunk_shape;
    let [near, far] = [near, far].map(|level| level.to_string());
    let of = |doc: LevelDoc| chunk_factors(root.chunk_shape(&doc), base, key_rank);
    let own = of(raw.known(&near, LevelDoc::parse).await?);
    let other = raw.known(&far, LevelDoc::parse).await.map(of);
    Some((own.clone(), other.unwrap_or(own)))
}

/// The byte offsets of a `data` blob, if they exist and have the usual form.
async fn offsets(raw: &RawStore, family: &str) -> Result<Option<Vec<u64>>, StoreError> {
    let path = format!("{family}/offsets");
    let Some(doc) = raw.array(&path).await? else {
        return Ok(None);
    };
    let object = raw.read(&object_key(&path, &doc, &[0])).await?;
    let bytes = decode_child(
        &path,
        &doc,
        object.map(Data::Shared),
        Cap::cell(raw.limits()),
    )?;
    let numbers = U64::several(&bytes, bytes.len() / size_of::<U64>());
    Ok(numbers.map(|numbers| numbers.iter().map(|n| n.get()).collect()))
}
