//! What a store holds beside its levels: headers of source files, metadata of users, parametric objects (0.9 §16).

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};
use zvf_format::vlen::VlenBuilder;
use zvf_meta::{ArrayAttributes, ArrayDoc, DataType, GroupDoc, JsonObject};

use crate::WriteError;
use crate::codec::Compression;
use crate::columns::Columns;
use crate::describe::numbers;
use crate::documents::array_doc;
use crate::error::OrBug;
use crate::int::wide;
use crate::number::NumberType;
use crate::objects::plain_column;
use crate::shard::{Object, vlen_codecs};
use crate::spec::{StoreSpec, check_name};
use crate::target::Target;
use crate::typed::{Element, Typed};
use crate::values::Values;

/// A type of parametric object: what its coefficients are called.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// A type of one's own. Numbers 0 to 2 are taken by `plane`, `line` and `sphere`.
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

/// Objects given by coefficients: planes, lines, spheres, and types of one's own (0.9 §16.1).
///
/// # Examples
///
/// ```
/// use zvf_write::{Kind, Parametric, StoreSpec, Values};
///
/// let shapes = Parametric::new()
///     .with_object("sphere", [1.0, 2.0, 3.0, 10.0], Some("soma"))
///     .with_object("plane", [0.0, 0.0, 1.0, -5.0], None)
///     .with_attribute("confidence", Values::from(vec![0.9_f32, 0.5]))
///     .with_group([0, 1]);
/// let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3]).with_parametric(shapes);
/// assert!(spec.check().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parametric {
    types: Vec<ParametricType>,
    objects: Vec<(String, Vec<f64>, Option<String>)>,
    attributes: Vec<(String, Values<'static>)>,
    groups: Vec<Vec<i64>>,
    group_attributes: Vec<(String, Values<'static>)>,
}

impl Parametric {
    /// Everything that it consists of; see [`describe`](crate::describe).
    pub(crate) fn describe(&self, columns: &mut Columns) -> Result<Value, WriteError> {
        let Self {
            types,
            objects,
            attributes,
            groups,
            group_attributes,
        } = self;
        let types = types.iter().map(|kind| {
            let ParametricType {
                id,
                name,
                coefficients,
            } = kind;
            json!([id, name, coefficients])
        });
        let objects = objects.iter().map(|(kind, coefficients, name)| {
            Ok(json!([kind, numbers(columns, Some(coefficients))?, name]))
        });
        Ok(json!({
            "types": types.collect::<Vec<_>>(),
            "objects": objects.collect::<Result<Vec<_>, WriteError>>()?,
            "attributes": columns.add_all(attributes)?,
            "groups": groups,
            "group_attributes": columns.add_all(group_attributes)?,
        }))
    }

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

    /// Adds an object, by the name of its type. Without a name it is called by its type and place.
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

    /// Adds an attribute with a row an object.
    #[must_use]
    pub fn with_attribute(mut self, name: impl Into<String>, values: Values<'static>) -> Self {
        self.attributes.push((name.into(), values));
        self
    }

    /// Adds a group of objects, by their places from 0.
    #[must_use]
    pub fn with_group(mut self, members: impl Into<Vec<i64>>) -> Self {
        self.groups.push(members.into());
        self
    }

    /// Adds an attribute with a row a group.
    #[must_use]
    pub fn with_group_attribute(
        mut self,
        name: impl Into<String>,
        values: Values<'static>,
    ) -> Self {
        self.group_attributes.push((name.into(), values));
        self
    }

    /// The built-in types, and those of the caller.
    fn registry(&self) -> Vec<ParametricType> {
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
                let found = format!("number {} or its name again", kind.id);
                return Err(WriteError::spec(
                    member,
                    found,
                    "a number and name of its own",
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
            for (name, values) in attributes {
                let member = format!("parametric/{list}/{name}");
                check_name(&member, name)?;
                if rows == 0 || !values.len().is_multiple_of(rows) || values.is_empty() {
                    let found = format!("{} values", values.len());
                    return Err(WriteError::spec(member, found, format!("rows for {rows}")));
                }
            }
        }
        Ok(())
    }

    /// All documents and chunks.
    fn objects(&self, compression: &Compression) -> Result<Vec<Object>, WriteError> {
        let registry = self.registry();
        let lengths = registry.iter().map(|kind| kind.coefficients.len());
        let width = lengths.fold(0, usize::max) + 1;
        let count = wide(self.objects.len());
        let mut types = JsonObject::new();
        for kind in &registry {
            let one = json!({"name": kind.name, "coefficients": kind.coefficients});
            types.insert(kind.id.to_string(), one);
        }
        let mut out = Vec::new();
        group(&mut out, "parametric", json!({"parametric_types": types}));

        let mut rows = Vec::new();
        let mut names = VlenBuilder::new();
        let failed = |source| WriteError::encode("parametric/names", source);
        for (at, (kind, coefficients, name)) in self.objects.iter().enumerate() {
            let id = registry.iter().find(|one| one.name == *kind);
            let id = f64::from(id.or_bug("a curve of no type")?.id);
            let padding = std::iter::repeat(f64::NAN);
            let row = std::iter::once(id)
                .chain(coefficients.iter().copied())
                .chain(padding);
            row.take(width)
                .for_each(|number| rows.extend_from_slice(&number.to_le_bytes()));
            let name = name.clone().unwrap_or_else(|| format!("{kind}_{at}"));
            names.push(name.as_bytes()).map_err(failed)?;
        }
        let typed = Typed {
            element: Element::Number(NumberType::F64),
            shape: vec![count, wide(width)],
            chunk_rows: None,
            fill: (vec![0; 8], Value::from(0.0)),
            bytes: rows,
        };
        let attributes = ArrayAttributes {
            zv_array: Some("parametric_objects".to_owned()),
            dtype: Some("float64".to_owned()),
            extra: extra(json!({"num_objects": count, "max_row_length": width})),
            ..ArrayAttributes::default()
        };
        array(
            &mut out,
            "parametric/objects",
            typed.objects("parametric/objects", compression, attributes)?,
        );
        let attributes = ArrayAttributes {
            zv_array: Some("parametric_names".to_owned()),
            extra: extra(json!({"num_objects": count})),
            ..ArrayAttributes::default()
        };
        lists(
            &mut out,
            "parametric/names",
            names,
            count,
            compression,
            attributes,
        )?;
        for (folder, list, rows) in [
            ("object_attributes", &self.attributes, self.objects.len()),
            (
                "group_attributes",
                &self.group_attributes,
                self.groups.len(),
            ),
        ] {
            if !list.is_empty() {
                group(&mut out, &format!("parametric/{folder}"), json!({}));
            }
            for (name, values) in list {
                let path = format!("parametric/{folder}/{name}");
                let typed = plain_column(&path, values, rows)?;
                let attributes = ArrayAttributes {
                    dtype: Some(typed.element.dtype()),
                    shape: Some(typed.shape.clone()),
                    ..ArrayAttributes::default()
                };
                let made = typed.objects(&path, compression, attributes)?;
                array(&mut out, &path, made);
            }
        }
        if !self.groups.is_empty() {
            let mut members = VlenBuilder::new();
            let failed = |source| WriteError::encode("parametric/groups", source);
            for group in &self.groups {
                let bytes: Vec<u8> = group.iter().flat_map(|id| id.to_le_bytes()).collect();
                members.push(&bytes).map_err(failed)?;
            }
            let attributes = ArrayAttributes {
                num_groups: Some(wide(self.groups.len())),
                ..ArrayAttributes::default()
            };
            let count = wide(self.groups.len());
            lists(
                &mut out,
                "parametric/groups",
                members,
                count,
                compression,
                attributes,
            )?;
        }
        Ok(out)
    }
}

fn extra(members: Value) -> JsonObject {
    match members {
        Value::Object(members) => members,
        _ => JsonObject::new(),
    }
}

fn group(out: &mut Vec<Object>, path: &str, attributes: Value) {
    let doc = GroupDoc {
        attributes: extra(attributes),
        ..GroupDoc::default()
    };
    out.push((format!("{path}/zarr.json"), doc.to_json().into_bytes()));
}

fn array(out: &mut Vec<Object>, path: &str, (doc, chunks): (ArrayDoc, Vec<Object>)) {
    out.extend(chunks);
    out.push((format!("{path}/zarr.json"), doc.to_json().into_bytes()));
}

/// A list of byte strings in one chunk.
fn lists(
    out: &mut Vec<Object>,
    path: &str,
    rows: VlenBuilder,
    count: u64,
    compression: &Compression,
    attributes: ArrayAttributes,
) -> Result<(), WriteError> {
    let doc = array_doc(
        vec![count],
        DataType::named("variable_length_bytes"),
        vec![count.max(1)],
        Value::from(""),
        vlen_codecs(compression),
        attributes,
    );
    let chunk = (format!("{path}/c/0"), compression.encode(rows.finish())?);
    let chunks = if count > 0 { vec![chunk] } else { Vec::new() };
    array(out, path, (doc, chunks));
    Ok(())
}

/// The members that have to be JSON objects, each below a name that is one path segment.
pub(crate) fn check_named(
    member: &str,
    named: &BTreeMap<String, JsonObject>,
) -> Result<(), WriteError> {
    named
        .keys()
        .try_for_each(|name| check_name(&format!("{member}/{name}"), name))
}

/// Writes everything that lies beside the levels.
pub(crate) fn write(spec: &StoreSpec, target: &Target) -> Result<(), WriteError> {
    let mut out = Vec::new();
    if !spec.headers.is_empty() {
        group(&mut out, "headers", json!({}));
    }
    for (format, members) in &spec.headers {
        group(
            &mut out,
            &format!("headers/{format}"),
            Value::Object(members.clone()),
        );
    }
    if let Some(parametric) = &spec.parametric {
        out.extend(parametric.objects(&spec.compression)?);
    }
    target.put(out)
}
