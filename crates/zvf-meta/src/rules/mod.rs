//! The rules of the format about a store's documents.
//!
//! Each rule is one function that takes parsed documents and returns the places where they break it; none reads a
//! file. A validator loads the documents and calls [`check_documents`] (or, piece by piece, [`check_root`],
//! [`check_store`], [`check_level`], [`check_array`] and the like), which return every problem with its rule, severity, place, found and
//! expected value. A reader calls single functions if it depends on a rule.
//!
//! Violations of a document's types (a missing required member, a text instead of a number) are a
//! [`MetaError`](crate::MetaError) of parsing and no rule here. Properties of cells (row bounds, tiling, sizes)
//! cannot be checked from documents.
//!
//! [`RULES`] lists all rules with one sentence and the section of the format page.

use std::fmt;

mod array;
mod axes;
mod declared;
mod grid;
mod level;
mod links;
mod objects;
mod ome;
mod root;
mod store;
mod table;
mod vlen;

pub use array::*;
pub use axes::*;
pub use declared::*;
pub use grid::*;
pub use level::*;
pub use links::*;
pub use objects::*;
pub use ome::*;
pub use root::*;
pub use store::*;
pub use table::{RULES, Rule, RuleInfo};
pub use vlen::*;

use crate::array::ArrayDoc;
use crate::family::{LinkAttributeFamilyDoc, LinkFamilyDoc, ObjectIndexDoc};
use crate::level::LevelDoc;
use crate::role::Role;
use crate::root::RootDoc;

/// How much a broken rule matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Information; the store is valid.
    Note,
    /// The store breaks the format, but readers handle it.
    Warning,
    /// Some reader gets wrong data, or none.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One place where a rule is broken.
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
    fn key_rank(&self) -> usize {
        self.doc.key_rank(self.root.dims())
    }

    fn problems(&self) -> Problems {
        Problems::of(format!("{}/zarr.json", self.name))
    }

    fn problems_at(&self, path: &str) -> Problems {
        Problems::of(format!("{}/{path}/zarr.json", self.name))
    }
}

/// An array in its level, with the family documents that some rules need.
#[derive(Clone, Copy, Debug)]
pub struct ArrayAt<'a> {
    /// The level.
    pub level: LevelAt<'a>,
    /// Path of the array inside the level.
    pub path: &'a str,
    /// The role of the array; [`Role::of`] the path.
    pub role: Role<'a>,
    /// The array's document.
    pub doc: &'a ArrayDoc,
    /// The document of `links/<delta>`, for links and their attributes; without it rules that need it report nothing.
    pub family: Option<&'a LinkFamilyDoc>,
    /// The document of `object_index`; without it rules that need it report nothing.
    pub index: Option<&'a ObjectIndexDoc>,
}

impl<'a> ArrayAt<'a> {
    /// Combines an array with its level; `None` if the path is no array of this format.
    #[must_use]
    pub fn new(level: LevelAt<'a>, path: &'a str, doc: &'a ArrayDoc) -> Option<Self> {
        Some(Self {
            level,
            path,
            role: Role::of(path)?,
            doc,
            family: None,
            index: None,
        })
    }

    fn problems(&self) -> Problems {
        self.level.problems_at(self.path)
    }
}

/// Largest number of problems that one rule reports about one document: a list of a hundred thousand bad keys is one defect.
pub const MOST_PROBLEMS: usize = 16;

/// Collects the problems of one document.
struct Problems {
    document: String,
    list: Vec<Problem>,
}

impl Problems {
    fn of(document: impl Into<String>) -> Self {
        Self {
            document: document.into(),
            list: Vec::new(),
        }
    }

    fn root() -> Self {
        Self::of("zarr.json")
    }

    fn is_full(&self) -> bool {
        self.list.len() >= MOST_PROBLEMS
    }

    #[cold]
    fn add(
        &mut self,
        rule: Rule,
        pointer: impl fmt::Display,
        found: impl fmt::Display,
        expected: impl fmt::Display,
    ) {
        if self.is_full() {
            return;
        }
        self.list.push(Problem {
            rule,
            severity: rule.severity(),
            path: format!("{}#{pointer}", self.document),
            found: cut(found.to_string()),
            expected: cut(expected.to_string()),
        });
    }

    fn done(self) -> Vec<Problem> {
        self.list
    }
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

/// Shows a list of numbers as `[1, 2.5]`.
fn list<T: fmt::Display>(items: &[T]) -> String {
    let items: Vec<_> = items
        .iter()
        .take(MOST_PROBLEMS)
        .map(ToString::to_string)
        .collect();
    format!("[{}]", items.join(", "))
}

/// Returns whether `a / b` is a whole number of 1 or more, within 1e-9.
fn divides(a: f64, b: f64) -> bool {
    let fold = a / b;
    fold.is_finite() && fold.round() >= 1.0 && (fold - fold.round()).abs() <= 1e-9
}

/// Returns whether two numbers are equal within 1e-9 of their size.
fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// Applies all rules about the root document alone.
#[must_use]
pub fn check_root(root: &RootDoc) -> Vec<Problem> {
    ROOT_RULES.iter().flat_map(|rule| rule(root)).collect()
}

/// Applies all rules about the root document and the names of the level groups in the store.
#[must_use]
pub fn check_store(root: &RootDoc, levels: &[&str]) -> Vec<Problem> {
    STORE_RULES
        .iter()
        .flat_map(|rule| rule(root, levels))
        .collect()
}

/// Applies all rules about one level document.
#[must_use]
pub fn check_level(level: LevelAt<'_>) -> Vec<Problem> {
    LEVEL_RULES.iter().flat_map(|rule| rule(level)).collect()
}

/// Applies all rules about one array document.
///
/// # Cost
///
/// Linear in the presence list; one small buffer.
#[must_use]
pub fn check_array(array: ArrayAt<'_>) -> Vec<Problem> {
    ARRAY_RULES.iter().flat_map(|rule| rule(array)).collect()
}

/// Applies all rules about the document of `object_index`.
#[must_use]
pub fn check_object_index(level: LevelAt<'_>, index: &ObjectIndexDoc) -> Vec<Problem> {
    INDEX_RULES
        .iter()
        .flat_map(|rule| rule(level, index))
        .collect()
}

/// Applies all rules about the document of `links/<delta>`; `delta` is the group's name.
#[must_use]
pub fn check_link_family(level: LevelAt<'_>, delta: &str, family: &LinkFamilyDoc) -> Vec<Problem> {
    FAMILY_RULES
        .iter()
        .flat_map(|rule| rule(level, delta, family))
        .collect()
}

/// Applies all rules about the document of `link_attributes/<name>/<delta>`.
#[must_use]
pub fn check_link_attribute_family(
    level: LevelAt<'_>,
    name: &str,
    delta: &str,
    family: &LinkAttributeFamilyDoc,
) -> Vec<Problem> {
    link_attribute_family(level, name, delta, family)
}

type RootRule = fn(&RootDoc) -> Vec<Problem>;
type StoreRule = fn(&RootDoc, &[&str]) -> Vec<Problem>;
type LevelRule = fn(LevelAt<'_>) -> Vec<Problem>;
type ArrayRule = fn(ArrayAt<'_>) -> Vec<Problem>;
type IndexRule = fn(LevelAt<'_>, &ObjectIndexDoc) -> Vec<Problem>;
type FamilyRule = fn(LevelAt<'_>, &str, &LinkFamilyDoc) -> Vec<Problem>;

const ROOT_RULES: &[RootRule] = &[
    version,
    version_newer,
    required_capabilities,
    capabilities,
    chunk_shape_length,
    chunk_shape_positive,
    bounds_length,
    bounds_order,
    geometry_present,
    geometry_first,
    geometry_known,
    links_convention,
    links_convention_fits,
    object_index_convention,
    cross_chunk_strategy,
    cross_level_storage,
    cross_level_depth,
    reduction_factor,
    bin_shape_length,
    bin_shape_positive,
    bins_divide_chunk,
    coordinate_offset,
    attribute_specs,
    user_metadata,
    multiscales_single,
    multiscales_format,
    axes_present,
    axes_count,
    axes_space,
    axes_unique,
    axes_order,
    dataset_path,
    dataset_unique,
    dataset_order,
    transform_length,
    scale_positive,
    scale_base,
    translation_base,
    translation_coarse,
    scale_matches_bins,
    ome_present,
    ome_type,
    ome_axes,
];

const STORE_RULES: &[StoreRule] = &[
    level_names,
    levels_consecutive,
    dataset_present,
    dataset_stale,
    ome_levels,
];

const LEVEL_RULES: &[LevelRule] = &[
    level_number,
    level_chunk_length,
    level_chunk_positive,
    level_chunk_nests,
    level_chunk_bins,
    level_parent_absent,
    level_parent,
    level_sparsity,
    level_split_pair,
    level_split_values,
    level_split_dims,
    level_preserves_ids,
    level_bin_length,
    level_bin_positive,
    level_bin_ratio,
    level_zero_bins,
    level_bins_known,
    level_user_metadata,
];

const ARRAY_RULES: &[ArrayRule] = &[
    no_storage_transformers,
    key_encoding,
    vlen_data_type,
    vlen_fill,
    vlen_codecs,
    grid_chunks,
    grid_rank,
    grid_extent,
    grid_origin_length,
    grid_origin_zero,
    grid_bounds,
    grid_split,
    presence_there,
    presence_keys,
    presence_order,
    presence_unique,
    presence_in_grid,
    discriminator_there,
    discriminator,
    dtype_there,
    dtype_object,
    encoding,
    encoding_readable,
    attribute_name,
    row_shape,
    categories,
    link_delta_name,
    link_delta,
    link_segment,
    link_offsets,
    link_width,
    link_perm,
    link_canonical,
    object_ids,
    manifests,
    typed_codecs,
    typed_rank,
    typed_shape,
    typed_dtype,
    sentinel,
    group_count,
    group_ranges,
    group_names,
];

const INDEX_RULES: &[IndexRule] = &[index_discriminator, index_layout, index_rank, index_counts];

const FAMILY_RULES: &[FamilyRule] = &[
    family_discriminator,
    family_delta,
    family_policy,
    family_rank,
    family_directed,
    family_counts,
];
