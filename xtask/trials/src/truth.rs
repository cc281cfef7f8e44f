//! Answers compared with what went into the store.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use zvf_testkit::{Case, Column, Truth, Values};

use zvf_testkit::text::{column, float};

use crate::answers::{Told, rows};
use crate::questions::Question;

/// The input of one bundled store and the questions that are asked of it.
#[derive(Debug)]
pub struct Known {
    /// Questions and rows.
    pub case: Case,
    truth: Truth,
    /// Every vertex as text, by row.
    vertices: Vec<String>,
}

impl Known {
    /// Reads the input of a bundled store.
    ///
    /// # Errors
    ///
    /// As the test kit.
    pub fn of(case: &str) -> Result<Self> {
        let truth = zvf_testkit::truth(case)?;
        let vertices = (0..truth.positions.rows())
            .map(|row| vertex(&truth, row))
            .collect();
        Ok(Self {
            case: zvf_testkit::case(case)?,
            truth,
            vertices,
        })
    }

    /// Names of the vertex attributes.
    #[must_use]
    pub fn attributes(&self) -> Vec<String> {
        self.truth.attributes.keys().cloned().collect()
    }

    /// Compares an answer with the input: rows with their attributes, objects, links without their attributes.
    ///
    /// # Errors
    ///
    /// Where they differ.
    pub fn check(&self, question: &Question, told: &Told) -> Result<()> {
        let inside = self.check_rows_of(question, told)?;
        self.check_links(told, &inside)
    }

    /// As [`Self::check`], without the links; returns the input rows of the answer.
    ///
    /// # Errors
    ///
    /// Where they differ.
    pub fn check_rows_of(&self, question: &Question, told: &Told) -> Result<BTreeSet<usize>> {
        let case = &self.case;
        let object = |id: &i64| case.objects.get(id).with_context(|| format!("object {id}"));
        let mut ids: Option<Vec<i64>> = None;
        let expected: Vec<usize> = match question {
            Question::Box(asked) => asked.rows.clone(),
            Question::Objects(asked) => {
                ids = Some(asked.clone());
                let lists: Vec<&Vec<usize>> = asked.iter().map(object).collect::<Result<_>>()?;
                lists.into_iter().flatten().copied().collect()
            }
            Question::Group(group) => {
                let members = case.groups.get(group).context("group")?;
                let members: BTreeSet<i64> = members.iter().copied().collect();
                let lists: Vec<&Vec<usize>> = members.iter().map(object).collect::<Result<_>>()?;
                ids = Some(members.iter().copied().collect());
                lists.into_iter().flatten().copied().collect()
            }
        };
        self.check_rows(told, &expected, ids.is_some())?;
        if let Some(ids) = ids {
            let batch = told.objects.as_ref().context("no object table")?;
            let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
            ensure!(column(batch, "object_id")? == ids, "other objects");
        }
        Ok(expected.into_iter().collect())
    }

    fn is_line(&self) -> bool {
        matches!(self.case.kind.as_str(), "line" | "polyline" | "streamline")
    }

    fn check_rows(&self, told: &Told, expected: &[usize], by_object: bool) -> Result<()> {
        let names: Vec<String> = self
            .truth
            .attributes
            .keys()
            .cloned()
            .chain(["position".to_owned()])
            .collect();
        let batch = told.vertices.as_ref().context("no vertex table")?;
        let mut found = rows(batch, &names)?;
        let mut expected: Vec<String> = expected
            .iter()
            .map(|row| self.vertices.get(*row).cloned().unwrap_or_default())
            .collect();
        if !(by_object && self.is_line()) {
            found.sort();
            expected.sort();
        }
        ensure!(
            found == expected,
            "{} rows, expected {}: {:?}",
            found.len(),
            expected.len(),
            found.iter().zip(&expected).find(|(a, b)| a != b)
        );
        Ok(())
    }

    fn check_links(&self, told: &Told, inside: &BTreeSet<usize>) -> Result<()> {
        let mut expected = self.links(inside);
        expected.sort();
        let mut found = self.found_links(told)?;
        found.sort();
        ensure!(
            found == expected,
            "{} links, expected {}",
            found.len(),
            expected.len()
        );
        Ok(())
    }

    fn position(&self, row: usize) -> String {
        cell(&self.truth.positions, row)
    }

    /// Links between rows, each as its ends' positions.
    fn links(&self, inside: &BTreeSet<usize>) -> Vec<String> {
        let tuples: Vec<Vec<usize>> = match self.case.kind.as_str() {
            "graph" | "skeleton" => tuples(self.truth.edges.as_ref()),
            "mesh" => tuples(self.truth.faces.as_ref()),
            _ if self.is_line() => {
                let lines = self.case.objects.values();
                lines
                    .flat_map(|line| line.windows(2).map(<[usize]>::to_vec))
                    .collect()
            }
            _ => Vec::new(),
        };
        tuples
            .iter()
            .filter(|ends| ends.iter().all(|row| inside.contains(row)))
            .map(|ends| self.link(ends.iter().map(|row| self.position(*row)).collect()))
            .collect()
    }

    fn found_links(&self, told: &Told) -> Result<Vec<String>> {
        let Some(batch) = &told.links else {
            return Ok(Vec::new());
        };
        let vertices = told.vertices.as_ref().context("no vertex table")?;
        let positions = column(vertices, "position")?;
        let lists = batch.column_by_name("vertices").context("no ends")?;
        let lists = lists.as_fixed_size_list();
        let mut found = Vec::new();
        for row in 0..lists.len() {
            let ends = lists.value(row);
            let ends = ends.as_primitive::<UInt64Type>().values().iter();
            let ends: Vec<String> = ends
                .map(|end| {
                    positions
                        .get(usize::try_from(*end)?)
                        .cloned()
                        .context("end")
                })
                .collect::<Result<_>>()?;
            found.push(self.link(ends));
        }
        Ok(found)
    }

    /// A link as text. Faces begin with their smallest end.
    fn link(&self, mut ends: Vec<String>) -> String {
        if self.case.kind == "mesh" {
            let turned = |at: &usize| {
                let mut ends = ends.clone();
                ends.rotate_left(*at);
                ends
            };
            let least = (0..ends.len()).min_by_key(turned).unwrap_or(0);
            ends.rotate_left(least);
        }
        ends.join(" | ")
    }
}

fn vertex(truth: &Truth, row: usize) -> String {
    let mut parts: BTreeMap<&str, String> = BTreeMap::new();
    for (name, values) in &truth.attributes {
        parts.insert(name, cell(values, row));
    }
    parts.insert("position", cell(&truth.positions, row));
    let parts = parts.iter().map(|(name, value)| format!("{name}={value}"));
    parts.collect::<Vec<_>>().join("; ")
}

/// A row of a column as text.
fn cell(column: &Column, row: usize) -> String {
    let width = column.width();
    let text = |at: usize| -> Option<String> {
        Some(match &column.values {
            Values::Float(values) => float(*values.get(at)?),
            Values::Int(values) => values.get(at)?.to_string(),
            Values::Uint(values) => values.get(at)?.to_string(),
            Values::Text(values) => values.get(at)?.clone(),
        })
    };
    let values: Vec<String> = (row * width..(row + 1) * width).filter_map(text).collect();
    values.join(" ")
}

fn tuples(column: Option<&Column>) -> Vec<Vec<usize>> {
    let Some(column) = column else {
        return Vec::new();
    };
    let rows = |values: &[i64]| {
        values
            .iter()
            .filter_map(|row| usize::try_from(*row).ok())
            .collect()
    };
    let values = column.i64s().unwrap_or_default();
    values.chunks(column.width().max(1)).map(rows).collect()
}
