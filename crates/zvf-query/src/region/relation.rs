//! Relations of whole objects to a region.

/// The relation of a whole object to the box and the region of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectRelation {
    /// At least one vertex is inside.
    Touching,
    /// All vertices are inside, and there is at least one.
    Inside,
    /// The first vertex is inside, in the order of the object's rows: where a line starts.
    Starting,
    /// The last vertex is inside.
    Ending,
}

impl ObjectRelation {
    /// All relations.
    pub(crate) const ALL: [Self; 4] = [Self::Touching, Self::Inside, Self::Starting, Self::Ending];

    /// The name in the text form of conditions.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Touching => "touching",
            Self::Inside => "inside",
            Self::Starting => "starting",
            Self::Ending => "ending",
        }
    }
}
