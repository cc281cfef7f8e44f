//! The views of the kinds of geometry.

use zvf_meta::Kind;

/// A view of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Annotations, one for each point.
    Points,
    /// Annotations, one for each polyline.
    Lines,
    /// Skeletons.
    Skeletons,
    /// Multi-resolution meshes.
    Multilod,
    /// Legacy meshes.
    Meshes,
}

impl View {
    pub(crate) const ALL: [Self; 5] = [
        Self::Points,
        Self::Lines,
        Self::Skeletons,
        Self::Multilod,
        Self::Meshes,
    ];

    /// The folder of the view.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Points => "points",
            Self::Lines => "lines",
            Self::Skeletons => "skeletons",
            Self::Multilod => "multilod",
            Self::Meshes => "meshes",
        }
    }

    /// The views of a kind of geometry. For lines the first one is the overview.
    #[must_use]
    pub fn of(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::PointCloud => &[Self::Points],
            Kind::Line | Kind::Polyline | Kind::Streamline => &[Self::Lines, Self::Skeletons],
            Kind::Graph | Kind::Skeleton => &[Self::Skeletons],
            Kind::Mesh => &[Self::Multilod, Self::Meshes],
        }
    }
}
