//! The rules of each document, and the functions that check them.

use super::array::*;
use super::axes::*;
use super::declared::*;
use super::grid::*;
use super::level::*;
use super::links::*;
use super::objects::*;
use super::ome::*;
use super::problem::{ArrayAt, LevelAt, Problem, ProblemList};
use super::root::*;
use super::table::Rule;
use super::vlen::*;
use crate::family::{LinkAttributeFamilyDoc, LinkFamilyDoc, ObjectIndexDoc};
use crate::root::RootDoc;

/// Applies all rules that need only the root document.
#[must_use]
pub fn check_root(root: &RootDoc) -> Vec<Problem> {
    apply(ProblemList::of_root(), ROOT_RULES, |rule, problems| {
        rule(root, problems)
    })
}

/// Applies the listed rules to the root document.
#[must_use]
pub fn check_root_for(root: &RootDoc, only: &[Rule]) -> Vec<Problem> {
    let rules: Vec<_> = listed(ROOT_RULES, only);
    apply(ProblemList::of_root(), &rules, |rule, problems| {
        rule(root, problems)
    })
}

/// Applies the listed rules to one level document.
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
    mut problems: ProblemList,
    rules: &[(Rule, F)],
    check: impl Fn(&F, &mut ProblemList),
) -> Vec<Problem> {
    for (rule, function) in rules {
        check(function, problems.of(*rule));
    }
    problems.list
}

/// Applies all rules about the root document and the names of the level groups in the store.
pub(super) fn check_store(root: &RootDoc, levels: &[&str]) -> Vec<Problem> {
    let mut list = level_names(levels);
    let mut problems = ProblemList::of_root();
    levels_consecutive(levels, problems.of(Rule::LevelsConsecutive));
    dataset_present(root, levels, problems.of(Rule::DatasetPresent));
    dataset_stale(root, levels, problems.of(Rule::DatasetStale));
    ome_levels(root, levels, problems.of(Rule::OmeLevels));
    list.extend(problems.list);
    list
}

/// Applies all rules about one level document.
pub(super) fn check_level(level: LevelAt<'_>) -> Vec<Problem> {
    apply(level.problems(), LEVEL_RULES, |rule, problems| {
        rule(level, problems)
    })
}

/// Applies all rules to one array document. Linear in a sorted presence list; for an unsorted one, a set of its keys is built.
pub(super) fn check_array(array: ArrayAt<'_>) -> Vec<Problem> {
    let problems = array.level.problems_at(array.path);
    apply(problems, ARRAY_RULES, |rule, problems| {
        rule(array, problems)
    })
}

/// Applies all rules about the document of `object_index`.
pub(super) fn check_object_index(level: LevelAt<'_>, index: &ObjectIndexDoc) -> Vec<Problem> {
    let mut problems = level.problems_at("object_index");
    says_that_it_is("object_index", index.zv_array.as_deref(), &mut problems);
    index_layout(index, problems.of(Rule::IndexLayout));
    key_rank(level, index.sid_ndim, problems.of(Rule::IndexRank));
    index_counts(index, problems.of(Rule::IndexCounts));
    problems.list
}

/// Applies all rules about the document of `links/<delta>`; `delta` is the group's name.
pub(super) fn check_link_family(
    level: LevelAt<'_>,
    delta: &str,
    family: &LinkFamilyDoc,
) -> Vec<Problem> {
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
pub(super) fn check_link_attribute_family(
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

type RootRule = fn(&RootDoc, &mut ProblemList);
type LevelRule = fn(LevelAt<'_>, &mut ProblemList);
type ArrayRule = fn(ArrayAt<'_>, &mut ProblemList);

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
