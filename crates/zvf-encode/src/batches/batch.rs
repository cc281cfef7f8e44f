//! The input of writers: batches of vertices, tables of objects, groups.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use arrow_buffer::ScalarBuffer;
use serde::{Deserialize, Serialize};

use zvf_meta::Affine;
use zvf_store::TypedValues;

use crate::error::WriteError;
use crate::spec::store::AttributeSpec;
use crate::tables::HeldColumn;
use crate::values::column::{Values, packed};
use crate::values::number::{NumberType, narrow};

/// Vertices with their objects, attributes and links.
///
/// A batch may be of any size; the store does not depend on how vertices are divided into batches. The kind determines how objects are given:
///
/// | kind | objects | links |
/// |---|---|---|
/// | points | none, or an id for each vertex, in any order | none |
/// | lines | two consecutive vertices; without ids, the number of the line is its id | the two vertices |
/// | polylines, streamlines | the vertices of an object are consecutive, over any number of batches | each vertex and the next |
/// | graphs, meshes | an id for each vertex, in any order; without ids, all belong to object 0 | any vertices pushed so far |
/// | skeletons | as graphs; an object must be complete in one batch | (child, parent) of this batch, each child once, no cycle |
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
pub struct Batch {
    /// Positions, row by row: `N * D` numbers.
    pub positions: Values,
    /// The object of each vertex.
    pub objects: Owners,
    /// Attributes by name, a row for each vertex.
    pub attributes: Vec<(String, Values)>,
    /// Attributes of fragments by name, a row for each vertex.
    pub fragment_attributes: Vec<(String, Values)>,
    /// Endpoints of links, link by link; [`numbering`](Self::numbering) defines their meaning.
    #[serde(with = "packed")]
    pub links: ScalarBuffer<u64>,
    /// The meaning of the numbers of endpoints.
    pub numbering: Numbering,
    /// Attributes of links by name, a row for each link.
    pub link_attributes: Vec<(String, Values)>,
}

/// The object of each vertex.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Owners {
    /// Not given; the kind determines the objects, see [`Batch`].
    None,
    /// An id for each vertex.
    Each(#[serde(with = "packed")] ScalarBuffer<i64>),
    /// Runs of consecutive vertices: an id, and the number of its vertices.
    Runs(Vec<(i64, usize)>),
}

/// The meaning of the vertex numbers of links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Numbering {
    /// Vertices of this batch, from 0.
    Batch,
    /// Vertices of all batches, in the order in which they are pushed.
    All,
}

impl Batch {
    /// Vertices at positions, row by row.
    #[must_use]
    pub fn new(positions: impl Into<Values>) -> Self {
        Self {
            positions: positions.into(),
            objects: Owners::None,
            attributes: Vec::new(),
            fragment_attributes: Vec::new(),
            links: ScalarBuffer::default(),
            numbering: Numbering::Batch,
            link_attributes: Vec::new(),
        }
    }

    /// The positions, row by row.
    #[must_use]
    pub const fn positions(&self) -> &Values {
        &self.positions
    }

    /// The same batch at other positions.
    #[must_use]
    pub fn with_positions(mut self, positions: impl Into<Values>) -> Self {
        self.positions = positions.into();
        self
    }

    /// Replaces the values of a vertex attribute by the result of a function.
    #[must_use]
    pub fn map_attribute(mut self, name: &str, map: impl Fn(&Values) -> Values) -> Self {
        for (_, values) in self.attributes.iter_mut().filter(|(one, _)| one == name) {
            *values = map(values);
        }
        self
    }

    /// The same batch with mapped positions, computed in float64. They are rounded to float32 if `positions` is float32, otherwise they stay float64.
    /// The attribute `radius`, which is a length, is multiplied by `lengths`, if given.
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

    /// Sets the object of each vertex, by an id for each. Any 64-bit integer can be an id.
    #[must_use]
    pub fn with_object_ids<'v>(mut self, ids: impl Into<Cow<'v, [i64]>>) -> Self {
        self.objects = Owners::Each(ids.into().into_owned().into());
        self
    }

    /// Sets the object of each vertex, by pairs of an id and the number of consecutive vertices.
    #[must_use]
    pub fn with_object_runs<'v>(mut self, runs: impl Into<Cow<'v, [(i64, usize)]>>) -> Self {
        self.objects = Owners::Runs(runs.into().into_owned());
        self
    }

    /// Adds an attribute of the vertices. Every batch must have all attributes of the specification, including the attribute that splits chunks.
    #[must_use]
    pub fn with_attribute(mut self, name: impl Into<String>, values: impl Into<Values>) -> Self {
        self.attributes.push((name.into(), values.into()));
        self
    }

    /// Adds an attribute of fragments, one value per vertex: a fragment ends where the value changes. Every batch has all fragment
    /// attributes of the specification.
    #[must_use]
    pub fn with_fragment_attribute(
        mut self,
        name: impl Into<String>,
        values: impl Into<Values>,
    ) -> Self {
        self.fragment_attributes.push((name.into(), values.into()));
        self
    }

    /// Sets the links, replacing earlier ones. Vertices are numbered from 0 in this batch.
    #[must_use]
    pub fn with_links<'v>(mut self, vertices: impl Into<Cow<'v, [u64]>>) -> Self {
        self.links = vertices.into().into_owned().into();
        self.numbering = Numbering::Batch;
        self
    }

    /// Sets the links, replacing earlier ones. Vertices are numbered through all batches, in the order in which they were pushed, including those of this
    /// batch.
    #[must_use]
    pub fn with_links_between_batches<'v>(mut self, vertices: impl Into<Cow<'v, [u64]>>) -> Self {
        self.links = vertices.into().into_owned().into();
        self.numbering = Numbering::All;
        self
    }

    /// Adds an attribute of the links, in their order.
    #[must_use]
    pub fn with_link_attribute(
        mut self,
        name: impl Into<String>,
        values: impl Into<Values>,
    ) -> Self {
        self.link_attributes.push((name.into(), values.into()));
        self
    }
}

/// Objects with their attributes. Objects without vertices are stored, too.
///
/// An object that is in no table has no object attributes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectTable {
    /// Ids of objects, one for each row.
    #[serde(with = "packed")]
    pub ids: ScalarBuffer<i64>,
    /// Attributes by name, a row for each object.
    pub attributes: Vec<(String, Values)>,
    /// The rows without a value of an attribute of numbers, by its name; their values in [`attributes`](Self::attributes) are ignored. Missing texts
    /// are null in their column.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, BTreeSet<usize>>,
}

impl ObjectTable {
    /// A table of objects, one for each row.
    #[must_use]
    pub fn new<'v>(ids: impl Into<Cow<'v, [i64]>>) -> Self {
        Self {
            ids: ids.into().into_owned().into(),
            attributes: Vec::new(),
            absent: BTreeMap::new(),
        }
    }

    /// The ids, one for each row.
    #[must_use]
    pub fn ids(&self) -> &[i64] {
        &self.ids
    }

    /// The attributes, by name.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &Values)> {
        self.attributes
            .iter()
            .map(|(name, values)| (&**name, values))
    }

    /// Adds an attribute. Every table has all object attributes of the specification.
    #[must_use]
    pub fn with_attribute(mut self, name: impl Into<String>, values: impl Into<Values>) -> Self {
        self.attributes.push((name.into(), values.into()));
        self
    }

    /// Adds an attribute of numbers. The rows in `absent` have no value; their entries in `values` are ignored.
    #[must_use]
    pub fn with_gaps(
        mut self,
        name: impl Into<String>,
        values: impl Into<Values>,
        absent: BTreeSet<usize>,
    ) -> Self {
        let name = name.into();
        if !absent.is_empty() {
            self.absent.insert(name.clone(), absent);
        }
        self.with_attribute(name, values)
    }

    /// The rows without a value of an attribute of numbers.
    #[must_use]
    pub fn gaps(&self, name: &str) -> BTreeSet<usize> {
        self.absent.get(name).cloned().unwrap_or_default()
    }
}

/// All groups of a store, with their attributes.
///
/// # Shape
/// A group is a list of object ids, whose order is preserved. The attributes have a row for each group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Groups {
    /// Ids of the members of each group, in stored order.
    pub members: Vec<Vec<i64>>,
    /// A name for each group, or empty.
    pub names: Vec<String>,
    /// Attributes by name, a row for each group.
    pub attributes: Vec<(String, Values)>,
    /// The groups without a value of an attribute of numbers, by its name; their values in [`attributes`](Self::attributes) are ignored. Missing texts
    /// are null in their column.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, BTreeSet<usize>>,
}

impl Groups {
    /// Groups by their members; the number of a group is its index in the list.
    #[must_use]
    pub fn new(members: Vec<Vec<i64>>) -> Self {
        Self {
            members,
            names: Vec::new(),
            attributes: Vec::new(),
            absent: BTreeMap::new(),
        }
    }

    /// The members of each group.
    #[must_use]
    pub fn members(&self) -> &[Vec<i64>] {
        &self.members
    }

    /// The names of the groups, in their order; empty if groups have no names.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The attributes, by name.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &Values)> {
        let attributes = self.attributes.iter();
        attributes.map(|(name, values)| (&**name, values))
    }

    /// The specifications of the attributes, in their order; the channels are the values per group.
    #[must_use]
    pub fn attribute_specs(&self) -> Vec<AttributeSpec> {
        let rows = self.members.len();
        let one = |(name, values): &(String, Values)| {
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
    pub fn with_attribute(mut self, name: impl Into<String>, values: impl Into<Values>) -> Self {
        self.attributes.push((name.into(), values.into()));
        self
    }

    /// Adds an attribute of numbers. The groups in `absent` have no value; their entries in `values` are ignored.
    #[must_use]
    pub fn with_gaps(
        mut self,
        name: impl Into<String>,
        values: impl Into<Values>,
        absent: impl IntoIterator<Item = usize>,
    ) -> Self {
        let name = name.into();
        self.absent
            .insert(name.clone(), absent.into_iter().collect());
        self.with_attribute(name, values)
    }

    /// Adds an attribute from the table of another store; `rows` are the rows of these groups in that table.
    ///
    /// Returns `false` if the attribute was not added: only numbers, texts, and booleans without gaps can be written.
    ///
    /// # Errors
    ///
    /// Bug: a row outside the table.
    pub fn add_stored(
        &mut self,
        name: &str,
        stored: &TypedValues,
        rows: &[usize],
    ) -> Result<bool, WriteError> {
        let Some(held) = HeldColumn::stored(stored) else {
            return Ok(false);
        };
        let absent = |row: &usize| stored.is_absent(*row);
        let missing = rows.iter().any(absent);
        let values = match held.values().of_rows(rows, stored.width.max(1))? {
            Values::Text(texts) => {
                let texts = texts.iter().zip(rows);
                Values::optional_texts(texts.map(|(text, row)| text.filter(|_| !absent(row))))
            }
            numbers => {
                let number = numbers.number_type();
                if missing && number == Some(NumberType::Bool) {
                    return Ok(false);
                }
                if missing {
                    let gaps = (0..).zip(rows).filter(|(_, row)| absent(row));
                    let gaps = gaps.map(|(at, _)| at).collect();
                    self.absent.insert(name.to_owned(), gaps);
                }
                numbers
            }
        };
        self.attributes.push((name.to_owned(), values));
        Ok(true)
    }

    /// Whether a group has no value of an attribute of numbers.
    #[must_use]
    pub fn lacks(&self, name: &str, group: usize) -> bool {
        let rows = self.absent.get(name);
        rows.is_some_and(|rows| rows.contains(&group))
    }
}
