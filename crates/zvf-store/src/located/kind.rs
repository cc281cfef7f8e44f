//! The content of the cells of arrays and of the blobs of families.

use zvf_format::keys::parse_delta;
use zvf_meta::ArrayDoc;

/// The content of a cell or blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CellKind {
    /// The fragments of one chunk.
    FragmentIndex,
    /// The fragments of one object.
    Manifest,
    /// Link rows without a header (intra-chunk links).
    Links,
    /// Link rows after a group table (cross-chunk and cross-level links).
    RaggedLinks,
    /// Positions.
    Vertices,
    /// Rows of an attribute.
    Attribute,
    /// Object ids of one group, or of all groups one after another.
    Group,
    /// Link records with the chunks of their endpoints, without a header (cross-chunk links before 0.8).
    Records,
    /// Manifests back to back (object index of 0.6).
    Manifests,
    /// Byte offsets of rows.
    Offsets,
    /// One byte per row: whether it has a value.
    Mask,
    /// Names, one per line.
    Names,
    /// Several elements: a count, then length and bytes of each.
    Vlen,
    /// Several chunks packed into one; their index is in the document.
    Packed,
}

impl CellKind {
    /// The content of an array's cells, from the member `zv_array` of its document, else from its path.
    pub(super) fn of_array(path: &str, doc: &ArrayDoc) -> Self {
        let attributes = &doc.attributes;
        let family = path.split('/').nth(1).unwrap_or_default();
        match attributes.zv_array.as_deref().unwrap_or(family) {
            "vertices" => Self::Vertices,
            "vertex_fragments" | "link_fragments" => Self::FragmentIndex,
            "links" => {
                let mut offsets = attributes.offsets.iter().flatten().flatten();
                match attributes.level_delta.unwrap_or(0) == 0 && offsets.all(|part| *part == 0) {
                    true => Self::Links,
                    false => Self::RaggedLinks,
                }
            }
            "cross_chunk_links" => Self::RaggedLinks,
            "object_index" if attributes.zv_array.is_none() && path.ends_with("/manifests") => {
                Self::Manifest
            }
            "groups" => Self::Group,
            _ => Self::Attribute,
        }
    }

    /// The kind of the blobs of a family, by the path of one of them; `None` if the family has no blobs.
    pub(super) fn of_blob(path: &str) -> Option<Self> {
        let fits = |(pattern, _): &&(&str, Self)| {
            let (mut names, mut wanted) = (path.split('/'), pattern.split('/'));
            let all = wanted.all(|wanted| {
                names
                    .next()
                    .is_some_and(|name| match wanted.strip_suffix('*') {
                        _ if wanted == "±" => parse_delta(name).is_ok(),
                        Some(start) => name.starts_with(start),
                        None => name == wanted,
                    })
            });
            all && names.next().is_none()
        };
        BLOBS.iter().find(fits).map(|(_, kind)| *kind)
    }
}

/// The kinds of blobs by their paths: `*` is any name or the rest of a name, `±` a level delta.
const BLOBS: [(&str, CellKind); 22] = [
    ("*/vertices/*", CellKind::Vertices),
    ("*/vertices_*/*", CellKind::Vertices),
    ("*/vertex_fragments/*", CellKind::FragmentIndex),
    ("*/link_fragments/*", CellKind::FragmentIndex),
    ("*/vertex_attributes/*/*", CellKind::Attribute),
    ("*/fragment_attributes/*/*", CellKind::Attribute),
    ("*/links/0/*", CellKind::Links),
    ("*/links/±/*", CellKind::RaggedLinks),
    ("*/links_*/data", CellKind::Links),
    ("*/link_attributes/*/±/*", CellKind::Attribute),
    ("*/cross_chunk_links/±/data", CellKind::Records),
    ("*/cross_chunk_links/±/*", CellKind::RaggedLinks),
    ("*/cross_chunk_link_attributes/*/±/*", CellKind::Attribute),
    ("*/object_index/data", CellKind::Manifests),
    ("*/object_index/offsets", CellKind::Offsets),
    ("*/object_attributes/*/present_mask", CellKind::Mask),
    ("*/object_attributes/*/data", CellKind::Attribute),
    ("*/groups/data", CellKind::Group),
    ("*/groups/offsets", CellKind::Offsets),
    ("*/group_attributes/*/data", CellKind::Attribute),
    ("parametric/objects/data", CellKind::Attribute),
    ("parametric/names/data", CellKind::Names),
];

#[cfg(test)]
mod tests {
    use super::CellKind;

    #[test]
    fn families_are_detected_from_their_paths() {
        for (path, kind) in [
            ("0/vertices/0.1.2", Some(CellKind::Vertices)),
            ("12/vertex_fragments/-1.0", Some(CellKind::FragmentIndex)),
            ("0/links/0/0.0.0", Some(CellKind::Links)),
            ("0/links/+1/0.0.0", Some(CellKind::RaggedLinks)),
            ("0/links/1/0.0.0", None),
            ("0/cross_chunk_links/0/data", Some(CellKind::Records)),
            (
                "0/cross_chunk_links/-1/0.0.1.0",
                Some(CellKind::RaggedLinks),
            ),
            (
                "0/cross_chunk_link_attributes/w/0/data",
                Some(CellKind::Attribute),
            ),
            ("0/object_index/data", Some(CellKind::Manifests)),
            ("0/object_index/offsets", Some(CellKind::Offsets)),
            (
                "0/object_attributes/score/present_mask",
                Some(CellKind::Mask),
            ),
            ("0/object_attributes/score", None),
            ("0/groups/data", Some(CellKind::Group)),
            ("0/vertices_mesh/0.0.0", Some(CellKind::Vertices)),
            ("0/links_mesh/data", Some(CellKind::Links)),
            ("parametric/names/data", Some(CellKind::Names)),
            ("0", None),
            ("", None),
        ] {
            assert_eq!(CellKind::of_blob(path), kind, "{path}");
        }
    }
}
