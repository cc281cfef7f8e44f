//! Links of a result: stored ones, and links that are implied by the conventions.

pub(crate) mod branches;
pub(crate) mod explicit;
pub(crate) mod groups;
pub(crate) mod records;
pub(crate) mod sequential;
pub(crate) mod table;

use zvf_store::Store;
use zvf_store::meta::{Kind, LinksConvention};

/// How the links of a level are determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// From stored records.
    Stored,
    /// From the order of rows inside objects.
    Sequential,
    /// From the order of rows inside fragments, and from stored records for rows with another parent.
    Branches,
}

impl Rule {
    /// The rule for a store.
    pub(crate) fn of_store(store: &Store) -> Self {
        Self::of(store.kind(), store.root().links_convention().ok())
    }

    /// The rule for a kind of geometry and the convention of the store.
    pub(crate) fn of(kind: Kind, convention: Option<LinksConvention>) -> Self {
        let explicit = convention == Some(LinksConvention::Explicit);
        match kind {
            Kind::Line | Kind::Polyline | Kind::Streamline if !explicit => Self::Sequential,
            Kind::Skeleton if !explicit => Self::Branches,
            _ => Self::Stored,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_and_convention_decide() {
        assert_eq!(
            Rule::of(Kind::Graph, Some(LinksConvention::ImplicitSequential)),
            Rule::Stored
        );
        assert_eq!(
            Rule::of(Kind::Skeleton, Some(LinksConvention::Explicit)),
            Rule::Stored
        );
        assert_eq!(Rule::of(Kind::Skeleton, None), Rule::Branches);
        assert_eq!(
            Rule::of(Kind::Streamline, Some(LinksConvention::ImplicitSequential)),
            Rule::Sequential
        );
        assert_eq!(Rule::of(Kind::PointCloud, None), Rule::Stored);
    }
}
