//! Closed sets of names: geometry kinds and conventions.

use std::fmt;

use serde_json::Value;

use crate::error::{MetaError, quote};
use crate::json::{FromJson, Pointer, ToJson};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$word_doc])* $variant,)*
        }

        impl $name {
            /// All members of the set, in the order of the format page.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Finds the member by its name in documents; `None` for a name outside the set.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Returns the name in documents.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// The expected value for messages: all names of the set, separated by blanks.
            pub(crate) const EXPECTED: &'static str = concat!("one of", $(" ", $word,)*);
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

words! {
    /// A geometry kind. The first entry of `geometry_types` decides how a store is read.
    ///
    /// Source: 0.9 §5.1.
    Kind {
        /// Points without order.
        PointCloud = "point_cloud",
        /// Straight segments.
        Line = "line",
        /// Open or closed chains of points.
        Polyline = "polyline",
        /// Chains of points from tractography.
        Streamline = "streamline",
        /// Trees of points.
        Skeleton = "skeleton",
        /// Points with any edges.
        Graph = "graph",
        /// Points with triangles or larger faces.
        Mesh = "mesh",
    }
}

impl Kind {
    /// Returns whether the vertices of an object form a sequence, each linked to the next.
    #[must_use]
    pub const fn is_chain(self) -> bool {
        matches!(self, Self::Line | Self::Polyline | Self::Streamline)
    }

    /// Returns whether stores of this kind may have this link convention.
    ///
    /// Source: 0.9 §19, level 4.
    #[must_use]
    pub fn allows(self, convention: LinksConvention) -> bool {
        match self {
            Self::PointCloud => true,
            Self::Line | Self::Polyline | Self::Streamline => {
                convention == LinksConvention::ImplicitSequential
            }
            Self::Graph | Self::Mesh => convention == LinksConvention::Explicit,
            Self::Skeleton => convention != LinksConvention::ImplicitSequential,
        }
    }
}

words! {
    /// How the edges of a store are defined.
    ///
    /// Source: 0.9 §5.1 and §14.
    LinksConvention {
        /// Edges are the stored links only.
        Explicit = "explicit",
        /// Consecutive rows of an object are joined. The meaning of an absent `links_convention`.
        ImplicitSequential = "implicit_sequential",
        /// Consecutive rows of a fragment are joined, and stored links define where branches begin.
        ImplicitSequentialWithBranches = "implicit_sequential_with_branches",
    }
}

impl Default for LinksConvention {
    /// The meaning of an absent member: `implicit_sequential`.
    fn default() -> Self {
        Self::ImplicitSequential
    }
}

words! {
    /// The value of `object_index_convention`; no reader uses it.
    ///
    /// Source: 0.9 §5.1 and trap T30.
    ObjectIndexConvention {
        /// Ids are found through the id table. The meaning of an absent member.
        Standard = "standard",
        /// Ids are claimed to be row numbers; not reliable.
        Identity = "identity",
    }
}

words! {
    /// The value of `cross_chunk_strategy`; purely informative.
    ///
    /// Source: 0.9 §5.1.
    CrossChunkStrategy {
        /// Vertices on chunk borders are repeated.
        BoundaryDeduplication = "boundary_deduplication",
        /// Links between chunks are stored. The meaning of an absent member.
        ExplicitLinks = "explicit_links",
        /// Both.
        Both = "both",
    }
}

words! {
    /// The value of `cross_level_storage`, about links between levels.
    ///
    /// Source: 0.9 §5.1.
    CrossLevelStorage {
        /// None are stored.
        None = "none",
        /// They follow from the bins.
        Implicit = "implicit",
        /// They are stored. The meaning of an absent member.
        Explicit = "explicit",
    }
}

words! {
    /// How many copies of a link record are stored.
    ///
    /// Source: 0.9 §13.2 and §13.3.
    LinkStore {
        /// One, at the chunk of the first endpoint in sorted (or, if directed, given) order.
        /// The meaning of an absent member.
        Canonical = "canonical",
        /// One for each distinct chunk among the endpoints.
        Duplicate = "duplicate",
    }
}

impl FromJson for LinkStore {
    const EXPECTED: &'static str = Self::EXPECTED;

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
        let name = String::from_json(value, at)?;
        Self::from_name(&name)
            .ok_or_else(|| MetaError::unexpected(at, quote(&name), Self::EXPECTED))
    }
}

impl ToJson for LinkStore {
    fn to_json(&self) -> Value {
        Value::from(self.name())
    }
}

impl Default for LinkStore {
    /// The meaning of an absent member: `canonical`.
    fn default() -> Self {
        Self::Canonical
    }
}

words! {
    /// How an object index stores manifests, and how its rows are identified.
    ///
    /// An index without this member stores manifests as two blobs, `data` and `offsets` (0.7 §10.2).
    ///
    /// Source: 0.9 §11.2; 0.9.4, dense manifests.
    ObjectLayout {
        /// The row number is the id; a table of ids is ignored even if there is one.
        V1 = "vlen_manifests_v1",
        /// `object_ids` holds the id of each row.
        V2 = "vlen_manifests_v2",
        /// `manifest_spans` and `manifest_blocks` hold the manifests as integers, and `object_ids` the id of each row
        /// if there is such a table.
        Dense = "dense_manifests_v1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for &kind in Kind::ALL {
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
        }
        for &convention in LinksConvention::ALL {
            assert_eq!(
                LinksConvention::from_name(&convention.to_string()),
                Some(convention)
            );
        }
        assert_eq!(Kind::from_name("Mesh"), None);
        assert_eq!(Kind::ALL.len(), 7);
    }

    #[test]
    fn conventions_fit_kinds() {
        assert!(Kind::Skeleton.allows(LinksConvention::Explicit));
        assert!(!Kind::Skeleton.allows(LinksConvention::ImplicitSequential));
        assert!(!Kind::Mesh.allows(LinksConvention::default()));
    }
}
