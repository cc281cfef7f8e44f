//! Counts the ends of the links of a file, and decides the width of links in the store.

use zvf_write::Kind;

use crate::error::ConvertError;

/// Numbers of links, by their number of ends.
#[derive(Debug, Default)]
pub(crate) struct Widths {
    two: u64,
    three: u64,
    four: u64,
    more: u64,
    /// The number of triangles if all faces are cut into triangles.
    cut: u64,
}

impl Widths {
    /// Counts a link by its ends.
    pub(crate) fn see(&mut self, ends: usize) {
        let slot = match ends {
            0..=2 => &mut self.two,
            3 => &mut self.three,
            4 => &mut self.four,
            _ => &mut self.more,
        };
        *slot = slot.saturating_add(1);
        if ends > 2 {
            self.cut = self.cut.saturating_add(ends as u64 - 2);
        }
    }

    /// The number of ends of a link in the store, and the number of links.
    pub(crate) fn decide(
        &self,
        kind: Kind,
        linked: Option<Kind>,
        notes: &mut Vec<String>,
    ) -> Result<(usize, u64), ConvertError> {
        let what = match linked {
            Some(Kind::Mesh) => "faces",
            _ => "edges",
        };
        match (kind, linked) {
            (Kind::Graph, Some(Kind::Graph)) => Ok((2, self.two)),
            (Kind::Mesh, Some(Kind::Mesh))
                if self.three == 0 && self.more == 0 && self.four > 0 =>
            {
                Ok((4, self.four))
            }
            (Kind::Mesh, Some(Kind::Mesh)) => {
                let larger = self.four.saturating_add(self.more);
                if larger > 0 {
                    notes.push(format!(
                        "{larger} faces of four or more corners beside {} triangles: cut into triangles from their first corner",
                        self.three
                    ));
                }
                Ok((3, self.cut))
            }
            (Kind::Graph | Kind::Mesh, _) => {
                let (found, expected) = if kind == Kind::Mesh {
                    ("a file without faces", "faces for a mesh")
                } else {
                    ("a file without edges", "edges for a graph")
                };
                Err(ConvertError::usage("kind", found, expected))
            }
            // The edges of chains are implied.
            (_, Some(Kind::Graph)) if kind.is_chain() => Ok((0, 0)),
            (_, Some(_)) => {
                notes.push(format!("{what} are not kept"));
                Ok((0, 0))
            }
            (_, None) => Ok((0, 0)),
        }
    }
}
