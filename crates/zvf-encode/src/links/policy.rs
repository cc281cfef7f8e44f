//! How the links of a family are stored, and which arrays it has.

use zvf_format::dtype::DType;
use zvf_format::keys::{format_delta, format_offsets};
use zvf_format::links::CellForm;
use zvf_meta::{ArrayAttributes, LinkStore};

use crate::batches::layout::row_size;
use crate::error::OrBug;
use crate::spec::store::{AttributeSpec, StoreSpec};
use crate::spec::target_version::LinksBy;
use crate::{WriteError, documents};

/// How the links of a family are stored.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The level of all other ends minus the level of the first end.
    pub delta: i32,
    /// Ends of a link.
    pub width: usize,
    /// Whether ends keep the order of the application.
    pub directed: bool,
    /// Whether a link is stored once, or once for each chunk that it touches.
    pub store: LinkStore,
    /// Type of the columns, little-endian.
    pub dtype: DType,
    /// Chunk shapes of this level and of the target level as multiples of the root's; for families between levels.
    pub factors: Option<(Vec<i64>, Vec<i64>)>,
    /// Components of a chunk coordinate.
    pub rank: usize,
    /// Whether the array of links inside chunks exists even if there is no such link.
    pub inner: bool,
    /// How links between chunks are stored: by offsets or by chunks.
    pub by: LinksBy,
}

impl Policy {
    /// Undirected pairs of one level.
    pub fn pairs(rank: usize, inner: bool, by: LinksBy) -> Self {
        Self {
            delta: 0,
            width: 2,
            directed: false,
            store: LinkStore::Canonical,
            dtype: DType::I64,
            factors: None,
            rank,
            inner,
            by,
        }
    }
}

/// An attribute of the links of a family.
#[derive(Debug, Clone)]
pub struct LinkColumn {
    /// The name of the attribute.
    pub name: String,
    /// Bytes of a value.
    pub size: usize,
    /// The value that marks absence, if the type has one.
    pub absent: Option<Vec<u8>>,
    /// Whether every link should have a value.
    pub complete: bool,
    /// Type, width and channels, as documents state them.
    pub attributes: ArrayAttributes,
}

impl LinkColumn {
    fn of(one: &AttributeSpec) -> Self {
        Self {
            name: one.name.clone(),
            size: row_size(one),
            absent: None,
            complete: true,
            attributes: ArrayAttributes {
                dtype: Some(one.values.name()),
                ..documents::channels(one)
            },
        }
    }
}

/// An array of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArrayKey<'k> {
    /// The chunks of all ends but the first, relative to the first (0.9 §13.1).
    Offsets(&'k [i64]),
    /// All ends in one chunk (0.8 §8.4).
    Inside,
    /// Ends in several chunks (0.8 §9).
    Across,
}

/// The links of one level with the same delta: how they are stored, and their attributes.
#[derive(Debug, Clone)]
pub struct FamilySpec {
    pub(super) policy: Policy,
    pub(super) columns: Vec<LinkColumn>,
}

impl FamilySpec {
    /// A family with a policy. Members of the policy that the version or the delta prescribes are replaced.
    pub fn new(mut policy: Policy, columns: Vec<LinkColumn>) -> Self {
        let by_chunks = policy.by == LinksBy::Chunks;
        if policy.delta != 0 {
            policy.directed = true;
        }
        if by_chunks {
            policy.dtype = DType::I64;
            if policy.delta != 0 {
                // Ends of links between levels are sorted, too (0.8 §9.3).
                policy.directed = false;
                policy.store = LinkStore::Canonical;
            }
        }
        Self { policy, columns }
    }

    /// The family of the links inside a level, as a specification describes it.
    pub fn of(spec: &StoreSpec) -> Self {
        let by = spec.target.rules().links;
        let policy = Policy {
            width: spec.links.width,
            directed: spec.links.directed,
            store: spec.links.store,
            ..Policy::pairs(spec.key_rank(), spec.takes_links(), by)
        };
        let columns = spec.links.attributes.iter().map(LinkColumn::of);
        Self::new(policy, columns.collect())
    }

    /// Whether all ends are in one level, so that links may be inside chunks.
    pub fn is_inside(&self) -> bool {
        self.policy.delta == 0
    }

    /// Number of attributes.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Whether a link is stored once for each chunk that it touches.
    pub(super) fn copies(&self) -> bool {
        self.policy.delta == 0 && self.policy.store == LinkStore::Duplicate
    }

    /// Returns the array of a bucket, and the key of the cell in it.
    pub fn array<'k>(&self, key: &'k [i64]) -> Result<(ArrayKey<'k>, &'k [i64]), WriteError> {
        let (chunk, offsets) = key
            .split_at_checked(self.policy.rank)
            .or_bug(format_args!("links of chunk {key:?}"))?;
        Ok(match self.policy.by {
            LinksBy::Offsets => (ArrayKey::Offsets(offsets), chunk),
            LinksBy::Chunks if offsets.is_empty() => (ArrayKey::Inside, chunk),
            LinksBy::Chunks => (ArrayKey::Across, key),
        })
    }

    /// The path of an array in its level, or of the array with its values of an attribute.
    pub(crate) fn path(&self, array: ArrayKey<'_>, attribute: Option<&str>) -> String {
        let family = match attribute {
            None => "links".to_owned(),
            Some(name) => format!("link_attributes/{name}"),
        };
        let family = format!("{family}/{}", format_delta(self.policy.delta));
        match array {
            ArrayKey::Offsets(offsets) => {
                format!("{family}/{}", format_offsets(offsets, self.policy.rank))
            }
            ArrayKey::Inside => family,
            ArrayKey::Across => format!("cross_chunk_{family}"),
        }
    }

    /// The form of an array's cells. Cells that are not ragged have their groups in `link_fragments`.
    pub fn form(&self, array: ArrayKey<'_>) -> CellForm {
        let Policy {
            delta,
            width,
            directed,
            dtype,
            ..
        } = self.policy;
        let offsets = match array {
            ArrayKey::Offsets(offsets) => offsets,
            ArrayKey::Inside | ArrayKey::Across => &[],
        };
        let form = CellForm::derive(width, delta, offsets, directed, self.copies(), dtype);
        let across = array == ArrayKey::Across;
        CellForm {
            has_perm: form.has_perm || across,
            ragged: form.ragged || across,
            ..form
        }
    }
}
