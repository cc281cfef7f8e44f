//! The input of writers: batches of vertices, tables of objects, groups.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use zvf_meta::Affine;

use crate::spec::store::AttributeSpec;
use crate::values::column::{Values, packed};
use crate::values::number::{NumberType, narrow};

/// Some vertices, with everything that belongs to them.
///
/// A batch may be of any size; its borders leave no trace in the store. How objects are given in batches depends on the kind:
///
/// | kind | objects | links |
/// |---|---|---|
/// | points | none, or an id a vertex, in any order | none |
/// | lines | two vertices after each other; the id is the number of the line if none is given | the two vertices |
/// | polylines, streamlines | the vertices of an object after each other, through as many batches as it takes | each vertex and the next |
/// | graphs, meshes | an id a vertex, in any order; all are object 0 if none is given | any vertices pushed so far |
/// | skeletons | as graphs; an object is whole in one batch | (child, parent) of this batch, each child once, no cycle |
///
/// # Shape
/// `N` vertices, `D` axes: positions are `N * D` numbers, an attribute of `C` channels `N * C`, `M` links of `L`
/// endpoints `M * L` vertex numbers.
///
/// # Examples
///
/// ```
/// use zvf_encode::Batch;
///
/// let graph = Batch::new(&[0.0_f32, 0.0, 3.0, 4.0, 5.0, 1.0][..]) // three vertices of a plane
///     .with_attribute("radius", &[0.5_f32, 0.4, 0.1][..])
///     .with_links(&[0, 1, 1, 2][..]);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Batch<'a> {
    /// Positions, row by row: `N * D` numbers.
    pub positions: Values<'a>,
    /// The object of each vertex.
    pub objects: Owners<'a>,
    /// Attributes by name, a row a vertex.
    pub attributes: Vec<(String, Values<'a>)>,
    /// Attributes of fragments by name, a row a vertex.
    pub fragment_attributes: Vec<(String, Values<'a>)>,
    /// Endpoints of links, link by link, as [`numbering`](Self::numbering) counts them.
    #[serde(with = "packed")]
    pub links: Cow<'a, [u64]>,
    /// The meaning of the numbers of endpoints.
    pub numbering: Numbering,
    /// Attributes of links by name, a row a link.
    pub link_attributes: Vec<(String, Values<'a>)>,
}

/// Which object each vertex belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Owners<'a> {
    /// None given: the kind determines them, see [`Batch`].
    None,
    /// One id a vertex.
    Each(#[serde(with = "packed")] Cow<'a, [i64]>),
    /// Runs of vertices: an id, and how many vertices are its.
    Runs(Cow<'a, [(i64, usize)]>),
}

/// The meaning of the vertex numbers of links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Numbering {
    /// Vertices of this batch, from 0.
    Batch,
    /// Vertices of all batches, in the order in which they are pushed.
    All,
}

impl<'a> Batch<'a> {
    /// Vertices at positions, row by row.
    #[must_use]
    pub fn new(positions: impl Into<Values<'a>>) -> Self {
        Self {
            positions: positions.into(),
            objects: Owners::None,
            attributes: Vec::new(),
            fragment_attributes: Vec::new(),
            links: Cow::Borrowed(&[]),
            numbering: Numbering::Batch,
            link_attributes: Vec::new(),
        }
    }

    /// The positions, row by row.
    #[must_use]
    pub const fn positions(&self) -> &Values<'a> {
        &self.positions
    }

    /// The same batch at other positions.
    #[must_use]
    pub fn with_positions(mut self, positions: impl Into<Values<'a>>) -> Self {
        self.positions = positions.into();
        self
    }

    /// Replaces the values of a vertex attribute by the result of a function.
    #[must_use]
    pub fn map_attribute(mut self, name: &str, map: impl Fn(&Values<'a>) -> Values<'a>) -> Self {
        for (_, values) in self.attributes.iter_mut().filter(|(one, _)| one == name) {
            *values = map(values);
        }
        self
    }

    /// The same batch with mapped positions, computed in float64 and rounded once to `positions`: float32, or else float64. `lengths` is the
    /// factor of the attribute `radius`, which is a length.
    #[must_use]
    pub fn mapped(&self, map: &Affine, positions: NumberType, lengths: Option<f64>) -> Self {
        let from = self.positions.to_f64();
        let rank = map.rank().max(1);
        let mut to = vec![0.0; from.len()];
        for (to, from) in to.chunks_exact_mut(rank).zip(from.chunks_exact(rank)) {
            map.apply(from, to);
        }
        let mapped = self.clone().with_positions(match positions {
            NumberType::F32 => Values::from(to.into_iter().map(narrow).collect::<Vec<_>>()),
            _ => Values::from(to),
        });
        let Some(factor) = lengths else {
            return mapped;
        };
        mapped.map_attribute("radius", |values| values.scaled(factor))
    }

    /// Says to which object each vertex belongs: one id a vertex. Any 64-bit number is an id.
    #[must_use]
    pub fn with_object_ids(mut self, ids: impl Into<Cow<'a, [i64]>>) -> Self {
        self.objects = Owners::Each(ids.into());
        self
    }

    /// Says to which object each vertex belongs: pairs of an id and how many vertices are its.
    #[must_use]
    pub fn with_object_runs(mut self, runs: impl Into<Cow<'a, [(i64, usize)]>>) -> Self {
        self.objects = Owners::Runs(runs.into());
        self
    }

    /// Adds an attribute of the vertices. Every batch has all attributes of the specification, that by which chunks are
    /// cut included.
    #[must_use]
    pub fn with_attribute(
        mut self,
        name: impl Into<String>,
        values: impl Into<Values<'a>>,
    ) -> Self {
        self.attributes.push((name.into(), values.into()));
        self
    }

    /// Adds an attribute of fragments, one value per vertex: a fragment ends where the value changes. Every batch has all fragment
    /// attributes of the specification.
    #[must_use]
    pub fn with_fragment_attribute(
        mut self,
        name: impl Into<String>,
        values: impl Into<Values<'a>>,
    ) -> Self {
        self.fragment_attributes.push((name.into(), values.into()));
        self
    }

    /// Adds links. Vertices are numbered from 0 in this batch.
    #[must_use]
    pub fn with_links(mut self, vertices: impl Into<Cow<'a, [u64]>>) -> Self {
        self.links = vertices.into();
        self.numbering = Numbering::Batch;
        self
    }

    /// Adds links. Vertices are numbered through all batches, in the order in which they were pushed, including those of this
    /// batch.
    #[must_use]
    pub fn with_links_between_batches(mut self, vertices: impl Into<Cow<'a, [u64]>>) -> Self {
        self.links = vertices.into();
        self.numbering = Numbering::All;
        self
    }

    /// Adds an attribute of the links, in their order.
    #[must_use]
    pub fn with_link_attribute(
        mut self,
        name: impl Into<String>,
        values: impl Into<Values<'a>>,
    ) -> Self {
        self.link_attributes.push((name.into(), values.into()));
        self
    }
}

/// Objects with their attributes. An object without vertices is kept.
///
/// An object that is in no table has no object attributes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectTable<'a> {
    /// Ids of objects, one a row.
    #[serde(with = "packed")]
    pub ids: Cow<'a, [i64]>,
    /// Attributes by name, a row an object.
    pub attributes: Vec<(String, Values<'a>)>,
}

impl<'a> ObjectTable<'a> {
    /// Objects, one a row.
    #[must_use]
    pub fn new(ids: impl Into<Cow<'a, [i64]>>) -> Self {
        Self {
            ids: ids.into(),
            attributes: Vec::new(),
        }
    }

    /// The ids, one a row.
    #[must_use]
    pub fn ids(&self) -> &[i64] {
        &self.ids
    }

    /// The attributes, by name.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &Values<'a>)> {
        self.attributes
            .iter()
            .map(|(name, values)| (&**name, values))
    }

    /// Adds an attribute. Every table has all object attributes of the specification.
    #[must_use]
    pub fn with_attribute(
        mut self,
        name: impl Into<String>,
        values: impl Into<Values<'a>>,
    ) -> Self {
        self.attributes.push((name.into(), values.into()));
        self
    }
}

/// All groups of a store, with their attributes.
///
/// # Shape
/// A group is a list of object ids, in the order that it shall keep. The attributes have a row a group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Groups<'a> {
    /// Ids of the members of each group, in the order that is stored.
    pub members: Vec<Vec<i64>>,
    /// One name a group, or none at all.
    pub names: Vec<String>,
    /// Attributes by name, a row a group.
    pub attributes: Vec<(String, Values<'a>)>,
}

impl<'a> Groups<'a> {
    /// Groups by their members; the number of a group is its place in the list.
    #[must_use]
    pub fn new(members: Vec<Vec<i64>>) -> Self {
        Self {
            members,
            names: Vec::new(),
            attributes: Vec::new(),
        }
    }

    /// The members of each group.
    #[must_use]
    pub fn members(&self) -> &[Vec<i64>] {
        &self.members
    }

    /// The names of the groups, in their order; none where groups have no names.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The attributes, by name.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &Values<'a>)> {
        let attributes = self.attributes.iter();
        attributes.map(|(name, values)| (&**name, values))
    }

    /// The specifications of the attributes, in their order, with as many channels as each group has values.
    #[must_use]
    pub fn attribute_specs(&self) -> Vec<AttributeSpec> {
        let rows = self.members.len();
        let one = |(name, values): &(String, Values<'_>)| {
            let channels = values.len().checked_div(rows).unwrap_or(1);
            match values.number_type() {
                Some(number) => AttributeSpec::number(name, number).with_channels(channels),
                None => AttributeSpec::text(name).with_channels(channels),
            }
        };
        self.attributes.iter().map(one).collect()
    }

    /// Names the groups, in their order.
    #[must_use]
    pub fn with_names<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds an attribute of the groups.
    #[must_use]
    pub fn with_attribute(
        mut self,
        name: impl Into<String>,
        values: impl Into<Values<'a>>,
    ) -> Self {
        self.attributes.push((name.into(), values.into()));
        self
    }
}
