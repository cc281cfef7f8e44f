//! Data of a store outside its levels: headers of source files and parametric objects (0.9 §16).

use serde_json::{Value, json};
use zvf_format::vlen::VlenBuilder;
use zvf_meta::{ArrayAttributes, ArrayDoc, GroupDoc, JsonObject};

use crate::WriteError;
use crate::documents::array::{byte_strings, id_lists};
use crate::error::OrBug;
use crate::spec::parametric::Parametric;
use crate::spec::store::StoreSpec;
use crate::tables::column::plain_column;
use crate::tables::typed::{ElementType, Typed};
use crate::target::{ObjectPut, Target, node};
use crate::values::number::NumberType;
use zvf_codec::Compression;
use zvf_format::int::wide;

impl Parametric {
    /// The documents and chunks of the parametric objects.
    fn objects(&self, compression: &Compression) -> Result<Vec<ObjectPut>, WriteError> {
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
            element: ElementType::Number(NumberType::F64),
            shape: vec![count, wide(width)],
            chunk_rows: None,
            fill: (vec![0; 8], Value::from(0.0)),
            absent: false,
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
        let path = "parametric/names";
        let made = byte_strings(path, names, compression, attributes)?;
        array(&mut out, path, made);
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
            let path = "parametric/groups";
            let attributes = ArrayAttributes {
                num_groups: Some(wide(self.groups.len())),
                ..ArrayAttributes::default()
            };
            let members = id_lists(path, self.groups.iter().map(Ok))?;
            let made = byte_strings(path, members, compression, attributes)?;
            array(&mut out, path, made);
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

fn group(out: &mut Vec<ObjectPut>, path: &str, attributes: Value) {
    let doc = GroupDoc {
        attributes: extra(attributes),
        ..GroupDoc::default()
    };
    out.push(node(path, doc.to_json()));
}

fn array(out: &mut Vec<ObjectPut>, path: &str, (doc, chunks): (ArrayDoc, Vec<ObjectPut>)) {
    out.extend(chunks);
    out.push(node(path, doc.to_json()));
}

/// Writes the data outside levels: headers of source files and parametric objects (0.9 §16).
pub fn write_extras(spec: &StoreSpec, target: &Target) -> Result<(), WriteError> {
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
        out.extend(parametric.objects(&spec.settled_compression())?);
    }
    target.put(out)
}
