//! Capability tokens of the root document.
//!
//! `format_capabilities` is a hint: it lists the features that the writer used. Readers ignore it, and unknown tokens are preserved.
//! `required_capabilities` is a demand: a reader that does not support one of its tokens must not read the store,
//! regardless of the version. Additive levels use it, and so can later formats.

use crate::error::{MetaError, shorten};

/// Several manifests may name the same fragment.
pub const SHARED_FRAGMENTS: &str = "shared_fragments";
/// Dropped objects keep an empty row at coarser levels, so rows and ids agree across levels.
pub const PRESERVED_OBJECT_IDS: &str = "preserved_object_ids";
/// Link families between levels exist.
pub const MULTISCALE_LINKS: &str = "multiscale_links";
/// Has no meaning: fragments are always in the fragment index. Defined, but never written.
pub const FRAGMENT_INDEX: &str = "fragment_index";
/// A level with `refinement` `add` holds only the data that the next coarser level lacks.
pub const ADDITIVE_LEVELS: &str = "additive_levels";
/// An object index of numeric arrays exists: layout `dense_manifests_v1`.
pub const DENSE_MANIFESTS: &str = "dense_manifests";
/// A level has one link group for each vertex fragment, in the same order. A hint for readers that decode parts of cells.
pub const FRAGMENT_LINK_GROUPS: &str = "fragment_link_groups";
/// A link layout of 0.8 that 0.9 dropped. The token is known, but never required in 0.9.
pub const PARTITIONED_CROSS_CHUNK_LINKS: &str = "partitioned_cross_chunk_links";

/// Description of one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    /// The token, as stored in the document.
    pub token: &'static str,
    /// Its meaning for readers, in one sentence.
    pub meaning: &'static str,
    /// Whether this crate reads stores that require it.
    pub supported: bool,
    /// Format page and section.
    pub source: &'static str,
}

/// All tokens of all known versions.
pub const KNOWN: &[Capability] = &[
    Capability {
        token: SHARED_FRAGMENTS,
        meaning: "several manifests may name the same fragment",
        supported: true,
        source: "0.9 §5.5",
    },
    Capability {
        token: PRESERVED_OBJECT_IDS,
        meaning: "dropped objects keep an empty row at coarser levels",
        supported: true,
        source: "0.9 §5.5",
    },
    Capability {
        token: MULTISCALE_LINKS,
        meaning: "link families with a delta other than 0 exist",
        supported: true,
        source: "0.9 §5.5",
    },
    Capability {
        token: FRAGMENT_INDEX,
        meaning: "fragments are held by the fragment index, as always",
        supported: true,
        source: "0.9 §5.5",
    },
    Capability {
        token: ADDITIVE_LEVELS,
        meaning: "the complete content of a level marked so is its own and that of the next coarser level",
        supported: true,
        source: "0.9.4 §additive levels",
    },
    Capability {
        token: DENSE_MANIFESTS,
        meaning: "an object index holds spans of blocks in numeric arrays",
        supported: true,
        source: "0.9.4 §dense manifests",
    },
    Capability {
        token: FRAGMENT_LINK_GROUPS,
        meaning: "a level has one link group for each vertex fragment",
        supported: true,
        source: "0.9.4 §fragment link groups",
    },
    Capability {
        token: PARTITIONED_CROSS_CHUNK_LINKS,
        meaning: "links between chunks are partitioned in the manner of two dialects of 0.8",
        supported: false,
        source: "0.8 §14",
    },
];

/// Looks a token up in [`KNOWN`].
#[must_use]
pub fn find(token: &str) -> Option<&'static Capability> {
    KNOWN.iter().find(|known| known.token == token)
}

/// Checks the tokens that a store requires of its readers.
///
/// # Errors
///
/// [`MetaError::Capability`] with the first token that is unknown or not supported.
pub fn check_required<T: AsRef<str>>(tokens: &[T]) -> Result<(), MetaError> {
    for token in tokens {
        let token = token.as_ref();
        if !find(token).is_some_and(|known| known.supported) {
            let supported: Vec<_> = KNOWN
                .iter()
                .filter(|known| known.supported)
                .map(|known| known.token)
                .collect();
            return Err(MetaError::Capability {
                token: shorten(token).to_owned(),
                expected: supported.join(", "),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_demands_are_refused_by_name() {
        assert!(check_required::<&str>(&[]).is_ok());
        assert!(check_required(&[SHARED_FRAGMENTS, MULTISCALE_LINKS]).is_ok());
        let error = check_required(&[SHARED_FRAGMENTS, "draco_cells"]).expect_err("unknown");
        assert!(error.to_string().contains("\"draco_cells\""));
        assert!(error.is_unsupported());
        assert!(check_required(&[PARTITIONED_CROSS_CHUNK_LINKS]).is_err());
    }

    #[test]
    fn tokens_are_unique() {
        for (index, known) in KNOWN.iter().enumerate() {
            assert_eq!(
                KNOWN.iter().position(|other| other.token == known.token),
                Some(index)
            );
        }
    }
}
