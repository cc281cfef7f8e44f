//! Tables of vertices and links.

use std::collections::BTreeSet;
use std::path::Path;

use zvf_convert::{NodeIds, Options, check_named};
use zvf_edit::{Edit, NotGiven, Scope};

use super::fills::shown_fill;
use super::table::EditTable;
use crate::error::Result;

/// A table of vertices, with one of links, as input of an edit.
#[derive(Debug)]
pub(crate) struct EditTables {
    /// The vertices.
    pub(crate) vertices: EditTable,
    /// The links, if there are any.
    pub(crate) links: Option<EditTable>,
    /// The ids of the vertices, if links refer to vertices by id and not by row.
    pub(crate) ids: Option<NodeIds>,
}

impl EditTables {
    /// Reads the tables. The format of the table of vertices is the given one, or follows from its ending.
    ///
    /// # Errors
    ///
    /// I/O; files that are not such tables; misuse: options that do not fit them.
    pub(crate) fn read(
        vertices: &Path,
        format: Option<&str>,
        links: Option<&Path>,
        options: &Options,
    ) -> Result<Self> {
        let mut own = options.clone();
        own.columns_in = None;
        let links = links.map(|links| EditTable::read_as(links, None, &own));
        let links = links.transpose()?;
        let vertices = EditTable::read_as(vertices, format, options)?;
        let ids = links
            .as_ref()
            .map(|links| vertices.node_ids(links, options));
        let ids = ids.transpose()?.flatten();
        Ok(Self {
            vertices,
            links,
            ids,
        })
    }

    /// Refuses renames and types of columns that none of the tables has.
    ///
    /// # Errors
    ///
    /// Misuse: the first such rename or type.
    pub(crate) fn check_named(all: &[Self], options: &Options) -> Result<()> {
        let tables = all
            .iter()
            .flat_map(|one| std::iter::once(&one.vertices).chain(&one.links));
        let schemas = tables.map(|table| table.batch().schema_ref().as_ref());
        Ok(check_named(&schemas.collect::<Vec<_>>(), options)?)
    }
}

/// The usual reason why an attribute of the store has no new values, for notes.
pub(crate) const FILES_LACK: &str = "the files have no such attribute";

/// Notes about attributes that only the files have (`unknown`), or only the vertices and links of the store (`lacking`).
#[must_use]
pub fn edit_remarks(
    edit: &Edit,
    unknown: &BTreeSet<String>,
    lacking: [&NotGiven; 2],
) -> Vec<String> {
    remarks_since(edit, unknown, lacking, FILES_LACK)
}

/// As [`edit_remarks`], with another reason why attributes of the store have no new values.
pub(crate) fn remarks_since(
    edit: &Edit,
    unknown: &BTreeSet<String>,
    [vertices, links]: [&NotGiven; 2],
    why: &str,
) -> Vec<String> {
    let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
    let mut remarks = Vec::new();
    if !unknown.is_empty() {
        remarks.push(format!(
            "left out, since the store has no such attribute: {}",
            list(unknown)
        ));
    }
    for (scope, lacking, known) in [
        (Scope::Vertex, vertices, edit.vertex_attributes()),
        (Scope::Link, links, edit.spec().links.attributes.clone()),
    ] {
        let of = scope.plural();
        if !lacking.missing.is_empty() {
            let names = list(&lacking.missing);
            remarks.push(format!("missing for the new {of}, since {why}: {names}"));
        }
        for name in &lacking.filled {
            let one = known.iter().find(|one| one.name == *name);
            let fill = shown_fill(one, edit.fill(scope, name).unwrap_or_default());
            remarks.push(format!("{fill:?} for the new {of}, since {why}: {name}"));
        }
    }
    remarks
}
