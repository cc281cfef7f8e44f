//! The documents that rules check, and the problems that they find.

use std::fmt;

use super::table::{Rule, Severity};
use crate::array::ArrayDoc;
use crate::family::{LinkFamilyDoc, ObjectIndexDoc};
use crate::level::LevelDoc;
use crate::role::Role;
use crate::root::RootDoc;

/// One violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The rule.
    pub rule: Rule,
    /// The severity of the rule.
    pub severity: Severity,
    /// Key of the document inside the store, `#`, and a JSON pointer: `0/vertices/zarr.json#/attributes/dtype`.
    pub path: String,
    /// The found value.
    pub found: String,
    /// The expected value.
    pub expected: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rule,
            severity,
            path,
            found,
            expected,
        } = self;
        write!(
            f,
            "{severity} {rule}: {path} is {found}, expected {expected}"
        )
    }
}

/// A level in its store.
#[derive(Clone, Copy, Debug)]
pub struct LevelAt<'a> {
    /// The root document.
    pub root: &'a RootDoc,
    /// Name of the level's group.
    pub name: &'a str,
    /// The level's document.
    pub doc: &'a LevelDoc,
}

impl LevelAt<'_> {
    /// `K`, the rank of the level's chunk keys.
    pub(super) fn key_rank(&self) -> usize {
        self.doc.key_rank(self.root.dims())
    }

    pub(super) fn problems(&self) -> ProblemList {
        ProblemList::of_document(format!("{}/zarr.json", self.name))
    }

    pub(super) fn problems_at(&self, path: &str) -> ProblemList {
        ProblemList::of_document(format!("{}/{path}/zarr.json", self.name))
    }
}

/// An array in its level, with the family documents that some rules need.
#[derive(Clone, Copy)]
pub(super) struct ArrayAt<'a> {
    pub(super) level: LevelAt<'a>,
    /// Path of the array inside the level.
    pub(super) path: &'a str,
    /// The role of the array: [`Role::of`] the path.
    pub(super) role: Role<'a>,
    pub(super) doc: &'a ArrayDoc,
    /// The document of `links/<delta>`, for links and their attributes; rules that need it report nothing without it.
    pub(super) family: Option<&'a LinkFamilyDoc>,
    /// The document of `object_index`; rules that need it report nothing without it.
    pub(super) index: Option<&'a ObjectIndexDoc>,
}

/// Largest number of problems that one rule reports about one document: a list of a hundred thousand bad keys is one defect.
pub const MOST_PROBLEMS: usize = 16;

/// Collects the problems of one document.
pub(super) struct ProblemList {
    document: String,
    /// The rule that is checked.
    rule: Rule,
    /// Problems with this rule.
    count: usize,
    pub(super) list: Vec<Problem>,
}

impl ProblemList {
    pub(super) fn of_document(document: impl Into<String>) -> Self {
        Self {
            document: document.into(),
            rule: Rule::Version,
            count: 0,
            list: Vec::new(),
        }
    }

    pub(super) fn of_root() -> Self {
        Self::of_document("zarr.json")
    }

    /// Problems that are added from here on belong to this rule.
    pub(super) fn of(&mut self, rule: Rule) -> &mut Self {
        self.rule = rule;
        self.count = 0;
        self
    }

    /// Whether the rule has reached the largest number of reported problems.
    pub(super) fn is_full(&self) -> bool {
        self.count >= MOST_PROBLEMS
    }

    #[cold]
    pub(super) fn add(
        &mut self,
        pointer: impl fmt::Display,
        found: impl fmt::Display,
        expected: impl fmt::Display,
    ) {
        if self.is_full() {
            return;
        }
        self.count += 1;
        self.list.push(Problem {
            rule: self.rule,
            severity: self.rule.severity(),
            path: format!("{}#{pointer}", self.document),
            found: cut(found.to_string()),
            expected: cut(expected.to_string()),
        });
    }

    /// Checks that there is one number for each axis. Without axes there is nothing to compare with; [`Rule::AxesPresent`]
    /// reports it.
    pub(super) fn per_axis(&mut self, root: &RootDoc, pointer: impl fmt::Display, numbers: &[f64]) {
        let (found, dims) = (numbers.len(), root.dims());
        if dims > 0 && found != dims {
            let found = format_args!("of {found} numbers");
            self.add(pointer, found, format_args!("{dims}, one per axis"));
        }
    }

    /// Checks that sizes are finite and above 0.
    pub(super) fn positive(&mut self, pointer: impl fmt::Display, sizes: &[f64]) {
        for (axis, &size) in sizes.iter().enumerate() {
            if !is_size(size) {
                self.add(
                    format_args!("{pointer}/{axis}"),
                    size,
                    "a finite size above 0",
                );
            }
        }
    }
}

/// Whether a number is a valid size.
pub(super) fn is_size(size: f64) -> bool {
    size > 0.0 && size.is_finite()
}

/// Most bytes of one text in a problem.
const LONGEST: usize = 400;

/// Cuts a text that is too long for a message.
fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push_str("...");
    }
    text
}

/// Shows a list of numbers as `[1, 2.5]`, cut after [`MOST_PROBLEMS`] of them.
pub(super) fn list<T: fmt::Display>(items: &[T]) -> String {
    let items: Vec<_> = items
        .iter()
        .take(MOST_PROBLEMS)
        .map(ToString::to_string)
        .collect();
    format!("[{}]", items.join(", "))
}

/// Returns whether `a / b` is a whole number of 1 or more, within 1e-9.
pub(super) fn divides(a: f64, b: f64) -> bool {
    let fold = a / b;
    fold.is_finite() && fold.round() >= 1.0 && (fold - fold.round()).abs() <= 1e-9
}

/// Returns whether two numbers are equal within 1e-9 of their size, as the rules compare shapes of chunks and bins.
#[must_use]
pub fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}
