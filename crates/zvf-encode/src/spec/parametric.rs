//! Objects given by coefficients (0.9 §16.1).

use std::collections::HashSet;

use serde::Serialize;

use crate::WriteError;
use crate::spec::names::check_name;
use crate::values::column::Values;

/// A type of parametric object, with the names of its coefficients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ParametricType {
    /// Number of the type in the rows of objects.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Names of the coefficients, in the order of a row.
    pub coefficients: Vec<String>,
}

impl ParametricType {
    /// A user-defined type. Numbers 0 to 2 are used by `plane`, `line` and `sphere`.
    #[must_use]
    pub fn new<T: Into<String>>(
        id: u32,
        name: impl Into<String>,
        coefficients: impl IntoIterator<Item = T>,
    ) -> Self {
        Self {
            id,
            name: name.into(),
            coefficients: coefficients.into_iter().map(Into::into).collect(),
        }
    }
}

/// Objects given by coefficients: planes, lines, spheres, and user-defined types (0.9 §16.1).
///
/// # Examples
///
/// ```
/// use zvf_encode::{Kind, Parametric, StoreSpec, Values};
///
/// let shapes = Parametric::new()
///     .with_object("sphere", [1.0, 2.0, 3.0, 10.0], Some("soma"))
///     .with_object("plane", [0.0, 0.0, 1.0, -5.0], None)
///     .with_attribute("confidence", Values::from(vec![0.9_f32, 0.5]))
///     .with_group([0, 1]);
/// let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3]).with_parametric(shapes);
/// assert!(spec.check().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Parametric {
    pub(crate) types: Vec<ParametricType>,
    pub(crate) objects: Vec<(String, Vec<f64>, Option<String>)>,
    pub(crate) attributes: Vec<(String, Values)>,
    pub(crate) groups: Vec<Vec<i64>>,
    pub(crate) group_attributes: Vec<(String, Values)>,
}

impl Parametric {
    /// No objects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Defines a type.
    #[must_use]
    pub fn with_type(mut self, kind: ParametricType) -> Self {
        self.types.push(kind);
        self
    }

    /// Adds an object, by the name of its type. An object without a name gets the name `TYPE_INDEX`, such as `plane_1`.
    #[must_use]
    pub fn with_object(
        mut self,
        kind: impl Into<String>,
        coefficients: impl Into<Vec<f64>>,
        name: Option<&str>,
    ) -> Self {
        self.objects.push((
            kind.into(),
            coefficients.into(),
            name.map(ToOwned::to_owned),
        ));
        self
    }

    /// Adds an attribute with one row per object.
    #[must_use]
    pub fn with_attribute(mut self, name: impl Into<String>, values: Values) -> Self {
        self.attributes.push((name.into(), values));
        self
    }

    /// Adds a group of objects, by their indices from 0.
    #[must_use]
    pub fn with_group(mut self, members: impl Into<Vec<i64>>) -> Self {
        self.groups.push(members.into());
        self
    }

    /// Adds an attribute with one row per group.
    #[must_use]
    pub fn with_group_attribute(mut self, name: impl Into<String>, values: Values) -> Self {
        self.group_attributes.push((name.into(), values));
        self
    }

    /// The built-in types, and the types that the caller declared.
    pub(crate) fn registry(&self) -> Vec<ParametricType> {
        let mut all = vec![
            ParametricType::new(0, "plane", ["A", "B", "C", "D"]),
            ParametricType::new(1, "line", ["x0", "y0", "z0", "dx", "dy", "dz"]),
            ParametricType::new(2, "sphere", ["cx", "cy", "cz", "r"]),
        ];
        all.extend(self.types.iter().cloned());
        all
    }

    pub(crate) fn check(&self) -> Result<(), WriteError> {
        let registry = self.registry();
        let (mut ids, mut names) = (HashSet::new(), HashSet::new());
        for kind in &registry {
            if !(ids.insert(kind.id) & names.insert(&kind.name)) {
                let member = format!("parametric/types/{}", kind.name);
                let found = format!("number {} or its name twice", kind.id);
                return Err(WriteError::spec(
                    member,
                    found,
                    "a number and a name that no other type has",
                ));
            }
        }
        for (at, (name, coefficients, _)) in self.objects.iter().enumerate() {
            let member = || format!("parametric/objects/{at}");
            let Some(kind) = registry.iter().find(|kind| kind.name == *name) else {
                return Err(WriteError::spec(
                    member(),
                    format!("type {name:?}"),
                    "a type that is defined",
                ));
            };
            if kind.coefficients.len() != coefficients.len() {
                let expected = format!(
                    "{}: {}",
                    kind.coefficients.len(),
                    kind.coefficients.join(", ")
                );
                let found = format!("{} coefficients", coefficients.len());
                return Err(WriteError::spec(member(), found, expected));
            }
        }
        let count = self.objects.len();
        for (at, members) in self.groups.iter().enumerate() {
            let outside = |member: &&i64| !usize::try_from(**member).is_ok_and(|m| m < count);
            if let Some(member) = members.iter().find(outside) {
                let path = format!("parametric/groups/{at}");
                return Err(WriteError::spec(
                    path,
                    format!("object {member}"),
                    format!("below {count}"),
                ));
            }
        }
        let lists = [
            ("attributes", &self.attributes, count),
            (
                "group_attributes",
                &self.group_attributes,
                self.groups.len(),
            ),
        ];
        for (list, attributes, rows) in lists {
            let mut names = HashSet::new();
            for (name, values) in attributes {
                let member = format!("parametric/{list}/{name}");
                check_name(&member, name)?;
                if !names.insert(name) {
                    return Err(WriteError::spec(member, "two columns", "one"));
                }
                if matches!(values, Values::Text(texts) if texts.iter().any(|text| text.is_none()))
                {
                    return Err(WriteError::spec(
                        member,
                        "a missing text",
                        "a text in each row",
                    ));
                }
                if rows == 0 || !values.len().is_multiple_of(rows) || values.is_empty() {
                    let found = format!("{} values", values.len());
                    let expected = format!("values for each of {rows} rows");
                    return Err(WriteError::spec(member, found, expected));
                }
            }
        }
        Ok(())
    }
}
