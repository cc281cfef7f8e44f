//! The rules of the format about a store's documents.
//!
//! Each rule is one function that takes parsed documents and appends violations to a list; none reads a file. A validator loads the documents and calls
//! [`check_documents`], which returns every violation with rule, severity, place, found and expected value. A reader checks only the rules that it
//! depends on: [`check_root_for`], [`check_level_for`].
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

use array::*;
use axes::*;
use declared::*;
use grid::*;
use level::*;
use links::*;
use objects::*;
use ome::*;
use root::*;
pub use store::{Checked, check_documents};
pub use table::{RULES, Rule, RuleInfo};
use vlen::*;

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
        Problems::of_document(format!("{}/zarr.json", self.name))
    }

    fn problems_at(&self, path: &str) -> Problems {
        Problems::of_document(format!("{}/{path}/zarr.json", self.name))
    }
}

/// An array in its level, with the family documents that some rules need.
#[derive(Clone, Copy)]
struct ArrayAt<'a> {
    level: LevelAt<'a>,
    /// Path of the array inside the level.
    path: &'a str,
    /// What the array is; [`Role::of`] the path.
    role: Role<'a>,
    doc: &'a ArrayDoc,
    /// The document of `links/<delta>`, for links and their attributes; rules that need it are silent without it.
    family: Option<&'a LinkFamilyDoc>,
    /// The document of `object_index`; rules that need it are silent without it.
    index: Option<&'a ObjectIndexDoc>,
}

/// Largest number of problems that one rule reports about one document: a list of a hundred thousand bad keys is one defect.
pub const MOST_PROBLEMS: usize = 16;

/// Collects the problems of one document.
struct Problems {
    document: String,
    /// The rule that is checked.
    rule: Rule,
    /// Problems against it.
    count: usize,
    list: Vec<Problem>,
}

impl Problems {
    fn of_document(document: impl Into<String>) -> Self {
        Self {
            document: document.into(),
            rule: Rule::Version,
            count: 0,
            list: Vec::new(),
        }
    }

    fn of_root() -> Self {
        Self::of_document("zarr.json")
    }

    /// Problems that are added from here on are against this rule.
    fn of(&mut self, rule: Rule) -> &mut Self {
        self.rule = rule;
        self.count = 0;
        self
    }

    /// Whether the rule has all problems that are reported.
    fn is_full(&self) -> bool {
        self.count >= MOST_PROBLEMS
    }

    #[cold]
    fn add(
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

    /// One number an axis. Without axes there is nothing to compare with; [`Rule::AxesPresent`] reports it.
    fn per_axis(&mut self, root: &RootDoc, pointer: impl fmt::Display, numbers: &[f64]) {
        let (found, dims) = (numbers.len(), root.dims());
        if dims > 0 && found != dims {
            let found = format_args!("of {found} numbers");
            self.add(pointer, found, format_args!("{dims}, one an axis"));
        }
    }

    /// Finite sizes above 0.
    fn positive(&mut self, pointer: impl fmt::Display, sizes: &[f64]) {
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

/// Whether a number can be the size of something.
fn is_size(size: f64) -> bool {
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
    apply(Problems::of_root(), ROOT_RULES, |rule, problems| {
        rule(root, problems)
    })
}

/// Applies the listed rules about the root document.
#[must_use]
pub fn check_root_for(root: &RootDoc, only: &[Rule]) -> Vec<Problem> {
    let rules: Vec<_> = listed(ROOT_RULES, only);
    apply(Problems::of_root(), &rules, |rule, problems| {
        rule(root, problems)
    })
}

/// Applies the listed rules about one level document.
#[must_use]
pub fn check_level_for(level: LevelAt<'_>, only: &[Rule]) -> Vec<Problem> {
    let rules: Vec<_> = listed(LEVEL_RULES, only);
    apply(level.problems(), &rules, |rule, problems| {
        rule(level, problems)
    })
}

fn listed<F: Copy>(rules: &[(Rule, F)], only: &[Rule]) -> Vec<(Rule, F)> {
    let rules = rules.iter().copied();
    rules.filter(|(rule, _)| only.contains(rule)).collect()
}

/// Applies rules to one document, each with the function that checks it.
fn apply<F>(
    mut problems: Problems,
    rules: &[(Rule, F)],
    check: impl Fn(&F, &mut Problems),
) -> Vec<Problem> {
    for (rule, function) in rules {
        check(function, problems.of(*rule));
    }
    problems.list
}

/// Applies all rules about the root document and the names of the level groups in the store.
fn check_store(root: &RootDoc, levels: &[&str]) -> Vec<Problem> {
    let mut list = level_names(levels);
    let mut problems = Problems::of_root();
    levels_consecutive(levels, problems.of(Rule::LevelsConsecutive));
    dataset_present(root, levels, problems.of(Rule::DatasetPresent));
    dataset_stale(root, levels, problems.of(Rule::DatasetStale));
    ome_levels(root, levels, problems.of(Rule::OmeLevels));
    list.extend(problems.list);
    list
}

/// Applies all rules about one level document.
fn check_level(level: LevelAt<'_>) -> Vec<Problem> {
    apply(level.problems(), LEVEL_RULES, |rule, problems| {
        rule(level, problems)
    })
}

/// Applies all rules about one array document: linear in the presence list, with one small buffer.
fn check_array(array: ArrayAt<'_>) -> Vec<Problem> {
    let problems = array.level.problems_at(array.path);
    apply(problems, ARRAY_RULES, |rule, problems| {
        rule(array, problems)
    })
}

/// Applies all rules about the document of `object_index`.
fn check_object_index(level: LevelAt<'_>, index: &ObjectIndexDoc) -> Vec<Problem> {
    let mut problems = level.problems_at("object_index");
    says_that_it_is("object_index", index.zv_array.as_deref(), &mut problems);
    index_layout(index, problems.of(Rule::IndexLayout));
    key_rank(level, index.sid_ndim, problems.of(Rule::IndexRank));
    index_counts(index, problems.of(Rule::IndexCounts));
    problems.list
}

/// Applies all rules about the document of `links/<delta>`; `delta` is the group's name.
fn check_link_family(level: LevelAt<'_>, delta: &str, family: &LinkFamilyDoc) -> Vec<Problem> {
    let mut problems = level.problems_at(&format!("links/{delta}"));
    says_that_it_is("links_family", family.zv_array.as_deref(), &mut problems);
    family_delta(delta, family.level_delta, &mut problems);
    family_policy(level, family, problems.of(Rule::FamilyPolicy));
    key_rank(level, family.sid_ndim, problems.of(Rule::FamilyRank));
    family_directed(delta, family, problems.of(Rule::FamilyDirected));
    family_counts(family, problems.of(Rule::FamilyCounts));
    problems.list
}

/// Applies all rules about the document of `link_attributes/<name>/<delta>`.
fn check_link_attribute_family(
    level: LevelAt<'_>,
    name: &str,
    delta: &str,
    family: &LinkAttributeFamilyDoc,
) -> Vec<Problem> {
    let mut problems = level.problems_at(&format!("link_attributes/{name}/{delta}"));
    let word = "link_attribute_family";
    says_that_it_is(word, family.zv_array.as_deref(), &mut problems);
    has_name(
        name,
        family.name.as_deref(),
        problems.of(Rule::AttributeName),
    );
    family_delta(delta, family.level_delta, &mut problems);
    problems.list
}

type RootRule = fn(&RootDoc, &mut Problems);
type LevelRule = fn(LevelAt<'_>, &mut Problems);
type ArrayRule = fn(ArrayAt<'_>, &mut Problems);

const ROOT_RULES: &[(Rule, RootRule)] = &[
    (Rule::Version, version),
    (Rule::VersionNewer, version_newer),
    (Rule::RequiredCapabilities, required_capabilities),
    (Rule::Capabilities, capabilities),
    (Rule::ChunkShapeLength, chunk_shape_length),
    (Rule::ChunkShapePositive, chunk_shape_positive),
    (Rule::BoundsLength, bounds_length),
    (Rule::BoundsOrder, bounds_order),
    (Rule::GeometryPresent, geometry_present),
    (Rule::GeometryFirst, geometry_first),
    (Rule::GeometryKnown, geometry_known),
    (Rule::LinksConvention, links_convention),
    (Rule::LinksConventionFits, links_convention_fits),
    (Rule::ObjectIndexConvention, object_index_convention),
    (Rule::CrossChunkStrategy, cross_chunk_strategy),
    (Rule::CrossLevelStorage, cross_level_storage),
    (Rule::CrossLevelDepth, cross_level_depth),
    (Rule::ReductionFactor, reduction_factor),
    (Rule::BinShapeLength, bin_shape_length),
    (Rule::BinShapePositive, bin_shape_positive),
    (Rule::BinsDivideChunk, bins_divide_chunk),
    (Rule::CoordinateOffset, coordinate_offset),
    (Rule::AttributeSpecs, attribute_specs),
    (Rule::UserMetadata, user_metadata),
    (Rule::MultiscalesSingle, multiscales_single),
    (Rule::MultiscalesFormat, multiscales_format),
    (Rule::AxesPresent, axes_present),
    (Rule::AxesCount, axes_count),
    (Rule::AxesSpace, axes_space),
    (Rule::AxesUnique, axes_unique),
    (Rule::AxesOrder, axes_order),
    (Rule::DatasetPath, dataset_path),
    (Rule::DatasetUnique, dataset_unique),
    (Rule::DatasetOrder, dataset_order),
    (Rule::TransformLength, transform_length),
    (Rule::ScalePositive, scale_positive),
    (Rule::ScaleBase, scale_base),
    (Rule::TranslationBase, translation_base),
    (Rule::TranslationCoarse, translation_coarse),
    (Rule::ScaleMatchesBins, scale_matches_bins),
    (Rule::OmePresent, ome_present),
    (Rule::OmeType, ome_type),
    (Rule::OmeAxes, ome_axes),
];

const LEVEL_RULES: &[(Rule, LevelRule)] = &[
    (Rule::LevelNumber, level_number),
    (Rule::LevelChunkLength, level_chunk_length),
    (Rule::LevelChunkPositive, level_chunk_positive),
    (Rule::LevelChunkNests, level_chunk_nests),
    (Rule::LevelChunkBins, level_chunk_bins),
    (Rule::LevelParentAbsent, level_parent_absent),
    (Rule::LevelParent, level_parent),
    (Rule::LevelSparsity, level_sparsity),
    (Rule::LevelSplitPair, level_split_pair),
    (Rule::LevelSplitValues, level_split_values),
    (Rule::LevelSplitDims, level_split_dims),
    (Rule::LevelPreservesIds, level_preserves_ids),
    (Rule::LevelBinLength, level_bin_length),
    (Rule::LevelBinPositive, level_bin_positive),
    (Rule::LevelBinRatio, level_bin_ratio),
    (Rule::LevelZeroBins, level_zero_bins),
    (Rule::LevelBinsKnown, level_bins_known),
    (Rule::UserMetadata, level_user_metadata),
];

const ARRAY_RULES: &[(Rule, ArrayRule)] = &[
    (Rule::StorageTransformers, no_storage_transformers),
    (Rule::KeyEncoding, key_encoding),
    (Rule::VlenDataType, vlen_data_type),
    (Rule::VlenFill, vlen_fill),
    (Rule::VlenCodecs, vlen_codecs),
    (Rule::GridChunks, grid_chunks),
    (Rule::GridRank, grid_rank),
    (Rule::GridExtent, grid_extent),
    (Rule::GridOriginLength, grid_origin_length),
    (Rule::GridOriginZero, grid_origin_zero),
    (Rule::GridBounds, grid_bounds),
    (Rule::GridSplit, grid_split),
    (Rule::PresenceThere, presence_there),
    (Rule::PresenceKeys, presence_keys),
    (Rule::PresenceOrder, presence_order),
    (Rule::PresenceUnique, presence_unique),
    (Rule::PresenceInGrid, presence_in_grid),
    (Rule::Discriminator, discriminator),
    (Rule::DtypeThere, dtype_there),
    (Rule::DtypeObject, dtype_object),
    (Rule::Encoding, encoding),
    (Rule::EncodingReadable, encoding_readable),
    (Rule::AttributeName, attribute_name),
    (Rule::RowShape, row_shape),
    (Rule::Categories, categories),
    (Rule::LinkDeltaName, link_delta_name),
    (Rule::LinkDelta, link_delta),
    (Rule::LinkSegment, link_segment),
    (Rule::LinkOffsets, link_offsets),
    (Rule::LinkWidth, link_width),
    (Rule::LinkPerm, link_perm),
    (Rule::LinkCanonical, link_canonical),
    (Rule::ObjectIds, object_ids),
    (Rule::Manifests, manifests),
    (Rule::TypedCodecs, typed_codecs),
    (Rule::TypedRank, typed_rank),
    (Rule::TypedShape, typed_shape),
    (Rule::TypedDtype, typed_dtype),
    (Rule::Sentinel, sentinel),
    (Rule::GroupCount, group_count),
    (Rule::GroupRanges, group_ranges),
    (Rule::GroupNames, group_names),
];
