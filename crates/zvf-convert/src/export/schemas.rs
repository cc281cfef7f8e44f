//! The columns of an answer.

use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
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
        let fields = self.objects.iter().flat_map(|schema| schema.fields());
        let fields = fields.filter(|field| is_attribute(field));
        fields.map(|field| attribute(field.name()))
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

/// Whether a column of a table of objects is an attribute. The others, such as `start` of an answer by object and `vertices` of a list, are marked:
/// an attribute of this name keeps it in tables that lack the column.
pub(crate) fn is_attribute(field: &Field) -> bool {
    field.name() != "object_id" && !is_place(field)
}

/// Whether a column says where rows are.
pub(crate) fn is_place(field: &Field) -> bool {
    field.metadata().get("zvf.column").map(String::as_str) == Some("place")
}

/// The columns of a table that are attributes, by the attribute's name.
fn own<'s>(
    schema: Option<&'s SchemaRef>,
    not: &'static [&'static str],
) -> impl Iterator<Item = &'s str> {
    let fields = schema.into_iter().flat_map(|schema| schema.fields().iter());
    fields
        .map(|field| field.name().as_str())
        .filter(|name| !not.contains(name))
        .map(attribute)
}

/// The name of an attribute, from the name of its column.
pub(crate) fn attribute(column: &str) -> &str {
    column.strip_prefix("attribute:").unwrap_or(column)
}
