//! The columns of an answer.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use zvf_encode::arrow::is_place;
use zvf_query::{Answer, Table};

/// The schemas of an answer.
#[derive(Debug, Clone)]
pub(crate) struct ExportSchemas {
    pub(crate) vertices: SchemaRef,
    pub(crate) links: Option<SchemaRef>,
    pub(crate) objects: Option<SchemaRef>,
}

impl ExportSchemas {
    pub(crate) fn of(answer: &Answer) -> Self {
        let empty = || Arc::new(Schema::empty());
        Self {
            vertices: answer
                .schema(Table::Vertices)
                .cloned()
                .unwrap_or_else(empty),
            links: answer.schema(Table::Links).cloned(),
            objects: answer.schema(Table::Objects).cloned(),
        }
    }

    /// Attributes of the links.
    pub(crate) fn link_attributes(&self) -> impl Iterator<Item = &str> {
        own(self.links.as_ref(), &["vertices"])
    }

    /// Attributes of the objects.
    pub(crate) fn object_attributes(&self) -> impl Iterator<Item = &str> {
        own(self.objects.as_ref(), &["object_id"])
    }

    /// The attributes of vertices, links and objects that have a unit: `name (unit)`.
    pub(crate) fn units(&self) -> impl Iterator<Item = String> {
        let tables = [
            Some(&self.vertices),
            self.links.as_ref(),
            self.objects.as_ref(),
        ];
        let fields = tables
            .into_iter()
            .flatten()
            .flat_map(|table| table.fields().iter());
        fields.filter_map(|field| {
            let unit = field.metadata().get("zvf.unit")?;
            Some(format!("{} ({unit})", attribute(field.name())))
        })
    }

    /// Attributes of the vertices.
    pub(crate) fn vertex_attributes(&self) -> impl Iterator<Item = &str> {
        own(Some(&self.vertices), &["position", "object_id"])
    }
}

/// The columns of a table that are attributes, by the attribute's name: all but those in `not` and those that state the place of a row.
fn own<'s>(
    schema: Option<&'s SchemaRef>,
    not: &'static [&'static str],
) -> impl Iterator<Item = &'s str> {
    let fields = schema.into_iter().flat_map(|schema| schema.fields().iter());
    fields
        .filter(|field| !is_place(field))
        .map(|field| field.name().as_str())
        .filter(|name| !not.contains(name))
        .map(attribute)
}

/// The name of an attribute, from the name of its column.
pub(crate) fn attribute(column: &str) -> &str {
    column.strip_prefix("attribute:").unwrap_or(column)
}
