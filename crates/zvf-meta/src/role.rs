//! The role of an array inside a level, derived from its path.

/// The role of an array, from its path inside the level group.
///
/// Source: 0.9 §3 and §7.1.
///
/// # Examples
///
/// ```
/// use zvf_meta::Role;
/// assert_eq!(Role::of("links/0/+1.0.0"), Some(Role::Links { delta: "0", segment: "+1.0.0" }));
/// assert_eq!(Role::of("links/0"), None); // a group
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role<'a> {
    /// `vertices`.
    Vertices,
    /// `vertices_<kind>` of a composite store.
    CompositeVertices {
        /// Geometry kind.
        kind: &'a str,
    },
    /// `links_<kind>` of a composite store: a typed array whose numbers cannot be resolved (trap T23).
    CompositeLinks {
        /// Geometry kind.
        kind: &'a str,
    },
    /// `vertex_fragments`.
    VertexFragments,
    /// `link_fragments`.
    LinkFragments,
    /// `vertex_attributes/<name>`.
    VertexAttribute {
        /// Name of the attribute.
        name: &'a str,
    },
    /// `fragment_attributes/<name>`.
    FragmentAttribute {
        /// Name of the attribute.
        name: &'a str,
    },
    /// `links/<delta>/<offsets>`.
    Links {
        /// Levels spanned, as text.
        delta: &'a str,
        /// Offsets of the further endpoints, as text.
        segment: &'a str,
    },
    /// `link_attributes/<name>/<delta>/<offsets>`.
    LinkAttribute {
        /// Name of the attribute.
        name: &'a str,
        /// Levels spanned, as text.
        delta: &'a str,
        /// Offsets of the further endpoints, as text.
        segment: &'a str,
    },
    /// `object_index/object_ids`.
    ObjectIds,
    /// `object_index/manifests`.
    Manifests,
    /// `object_index/manifest_spans`: first block and number of blocks of each object.
    ManifestSpans,
    /// `object_index/manifest_blocks`: chunk coordinate and fragment of each block.
    ManifestBlocks,
    /// `object_attributes/<name>`.
    ObjectAttribute {
        /// Name of the attribute.
        name: &'a str,
    },
    /// `groups`.
    Groups,
    /// `group_attributes/<name>`.
    GroupAttribute {
        /// Name of the attribute.
        name: &'a str,
    },
}

impl<'a> Role<'a> {
    /// Derives the role of a path inside a level, or `None` for a group or a foreign array.
    #[must_use]
    pub fn of(path: &'a str) -> Option<Self> {
        let mut parts = path.split('/');
        let parts = [
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
        ];
        if parts.iter().flatten().any(|part| part.is_empty()) {
            return None;
        }
        match parts {
            [Some("vertices"), None, ..] => Some(Self::Vertices),
            [Some("vertex_fragments"), None, ..] => Some(Self::VertexFragments),
            [Some("link_fragments"), None, ..] => Some(Self::LinkFragments),
            [Some("groups"), None, ..] => Some(Self::Groups),
            [Some(one), None, ..] => {
                match (one.strip_prefix("vertices_"), one.strip_prefix("links_")) {
                    (Some(kind), _) => Some(Self::CompositeVertices { kind }),
                    (_, Some(kind)) => Some(Self::CompositeLinks { kind }),
                    _ => None,
                }
            }
            [Some("object_index"), Some("object_ids"), None, ..] => Some(Self::ObjectIds),
            [Some("object_index"), Some("manifests"), None, ..] => Some(Self::Manifests),
            [Some("object_index"), Some("manifest_spans"), None, ..] => Some(Self::ManifestSpans),
            [Some("object_index"), Some("manifest_blocks"), None, ..] => Some(Self::ManifestBlocks),
            [Some("vertex_attributes"), Some(name), None, ..] => {
                Some(Self::VertexAttribute { name })
            }
            [Some("fragment_attributes"), Some(name), None, ..] => {
                Some(Self::FragmentAttribute { name })
            }
            [Some("object_attributes"), Some(name), None, ..] => {
                Some(Self::ObjectAttribute { name })
            }
            [Some("group_attributes"), Some(name), None, ..] => Some(Self::GroupAttribute { name }),
            [Some("links"), Some(delta), Some(segment), None, ..] => {
                Some(Self::Links { delta, segment })
            }
            [
                Some("link_attributes"),
                Some(name),
                Some(delta),
                Some(segment),
                None,
            ] => Some(Self::LinkAttribute {
                name,
                delta,
                segment,
            }),
            _ => None,
        }
    }

    /// Returns whether the array has one cell for each chunk of the level's grid.
    ///
    /// Source: 0.9 §7.1.
    #[must_use]
    pub fn is_chunk_grid(self) -> bool {
        matches!(
            self,
            Self::Vertices
                | Self::CompositeVertices { .. }
                | Self::VertexFragments
                | Self::LinkFragments
                | Self::VertexAttribute { .. }
                | Self::FragmentAttribute { .. }
                | Self::Links { .. }
                | Self::LinkAttribute { .. }
        )
    }

    /// Returns whether elements are byte strings: all chunk-grid arrays, manifests and groups.
    ///
    /// Source: 0.9 §4.2.
    #[must_use]
    pub fn is_vlen(self) -> bool {
        self.is_chunk_grid() || matches!(self, Self::Manifests | Self::Groups)
    }

    /// Returns the value of `zv_array` for this role; `None` if the reference writes none.
    ///
    /// Source: 0.9 §7.3 and §11.
    #[must_use]
    pub fn discriminator(self) -> Option<&'static str> {
        match self {
            Self::Vertices | Self::CompositeVertices { .. } => Some("vertices"),
            Self::VertexFragments => Some("vertex_fragments"),
            Self::LinkFragments => Some("link_fragments"),
            Self::VertexAttribute { .. } => Some("attribute"),
            Self::FragmentAttribute { .. } => Some("fragment_attribute"),
            Self::Links { .. } => Some("links"),
            Self::LinkAttribute { .. } => Some("link_attribute"),
            Self::ObjectAttribute { .. } => Some("object_attribute"),
            Self::Groups => Some("groups"),
            Self::GroupAttribute { .. } => Some("groupings_attribute"),
            Self::ObjectIds
            | Self::Manifests
            | Self::ManifestSpans
            | Self::ManifestBlocks
            | Self::CompositeLinks { .. } => None,
        }
    }

    /// Returns the attribute's name, for the arrays that are attributes.
    #[must_use]
    pub fn attribute_name(self) -> Option<&'a str> {
        match self {
            Self::VertexAttribute { name }
            | Self::FragmentAttribute { name }
            | Self::LinkAttribute { name, .. }
            | Self::ObjectAttribute { name }
            | Self::GroupAttribute { name } => Some(name),
            _ => None,
        }
    }

    /// Returns delta and offsets segment, for links and their attributes.
    #[must_use]
    pub fn link_path(self) -> Option<(&'a str, &'a str)> {
        match self {
            Self::Links { delta, segment } | Self::LinkAttribute { delta, segment, .. } => {
                Some((delta, segment))
            }
            _ => None,
        }
    }
}

/// Returns whether a level may have a child with this name, in any known version.
///
/// A store of a later version is read only if every node is a known one. Otherwise it is refused, and the first
/// unknown node is named: its content may change the meaning of the others.
///
/// Source: 0.9 §3; 0.8 §4; 0.7 §3.
#[must_use]
pub fn is_known_family(name: &str) -> bool {
    const KNOWN: &[&str] = &[
        "attributes",
        "cross_chunk_link_attributes",
        "cross_chunk_links",
        "fragment_attributes",
        "geometry_index",
        "group_attributes",
        "groupings",
        "groups",
        "link_attributes",
        "link_fragments",
        "links",
        "object_attributes",
        "object_index",
        "vertex_attributes",
        "vertex_fragments",
        "vertices",
    ];
    KNOWN.binary_search(&name).is_ok()
        || name.starts_with("vertices_")
        || name.starts_with("links_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_tells_arrays_from_groups() {
        for group in [
            "links",
            "links/0",
            "link_attributes/w/0",
            "vertex_attributes",
            "object_index",
            "",
            "/",
            "x",
        ] {
            assert_eq!(Role::of(group), None, "{group}");
        }
        for deep in [
            "vertices/0",
            "links/0/self/c",
            "link_attributes/w/0/self/c",
            "groups/c",
            "links//self",
        ] {
            assert_eq!(Role::of(deep), None, "{deep}");
        }
    }

    #[test]
    fn families_of_every_version_are_known() {
        for name in [
            "vertices",
            "cross_chunk_links",
            "groupings",
            "attributes",
            "vertices_mesh",
            "links_mesh",
        ] {
            assert!(is_known_family(name), "{name}");
        }
        for name in ["", "surfaces", "vertex", "vertices2", "link"] {
            assert!(!is_known_family(name), "{name}");
        }
    }

    #[test]
    fn every_role_has_its_path() {
        let w = Role::LinkAttribute {
            name: "w",
            delta: "+1",
            segment: "0.0",
        };
        for (path, role, grid) in [
            ("vertices", Role::Vertices, true),
            (
                "vertices_mesh",
                Role::CompositeVertices { kind: "mesh" },
                true,
            ),
            ("links_mesh", Role::CompositeLinks { kind: "mesh" }, false),
            ("vertex_fragments", Role::VertexFragments, true),
            ("link_fragments", Role::LinkFragments, true),
            (
                "vertex_attributes/a",
                Role::VertexAttribute { name: "a" },
                true,
            ),
            (
                "fragment_attributes/a",
                Role::FragmentAttribute { name: "a" },
                true,
            ),
            (
                "links/0/self",
                Role::Links {
                    delta: "0",
                    segment: "self",
                },
                true,
            ),
            ("link_attributes/w/+1/0.0", w, true),
            ("object_index/object_ids", Role::ObjectIds, false),
            ("object_index/manifests", Role::Manifests, false),
            ("object_index/manifest_spans", Role::ManifestSpans, false),
            ("object_index/manifest_blocks", Role::ManifestBlocks, false),
            (
                "object_attributes/a",
                Role::ObjectAttribute { name: "a" },
                false,
            ),
            ("groups", Role::Groups, false),
            (
                "group_attributes/a",
                Role::GroupAttribute { name: "a" },
                false,
            ),
        ] {
            assert_eq!(Role::of(path), Some(role), "{path}");
            assert_eq!(role.is_chunk_grid(), grid, "{path}");
        }
        assert_eq!(w.link_path(), Some(("+1", "0.0")));
        assert_eq!(w.attribute_name(), Some("w"));
        assert!(Role::Manifests.is_vlen() && !Role::ObjectIds.is_vlen());
    }
}
