//! The rules about documents as checks: level, number and hint of each. Rule, severity and source are those of `zvf-meta`.

use zvf_meta::rules::Rule;

use crate::check::Depth;

/// To which versions a rule about documents applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// Every version: rules about the root.
    All,
    /// From 0.9 on: rules about arrays and families of that layout.
    New,
}

use Since::{All, New};

macro_rules! rules {
    ($($rule:ident $depth:ident $number:literal $since:ident $hint:literal;)*) => {
        /// Each rule once. Numbers are never given twice and never changed.
        pub(crate) const RULE_CHECKS: &[(Rule, Depth, u16, Since, &str)] =
            &[$((Rule::$rule, Depth::$depth, $number, $since, $hint),)*];
    };
}

rules! {
    Version Metadata 10 All "Restore zv_version.";
    VersionNewer Metadata 11 All "Use a newer release of this program.";
    RequiredCapabilities Metadata 12 All "Use a newer release of this program.";
    Capabilities Metadata 13 All "Nothing, if a newer writer made the store.";
    ChunkShapeLength Metadata 14 All "Correct the member that the finding names.";
    ChunkShapePositive Metadata 15 All "Correct the member that the finding names.";
    BoundsLength Metadata 16 All "Set bounds.";
    BoundsOrder Metadata 17 All "Set bounds.";
    GeometryPresent Metadata 18 All "Correct the member that the finding names.";
    GeometryFirst Metadata 19 All "Correct the member that the finding names.";
    GeometryKnown Metadata 20 All "Correct the member that the finding names.";
    LinksConvention Metadata 21 All "Correct the member that the finding names.";
    LinksConventionFits Metadata 22 All "Correct the member that the finding names.";
    ObjectIndexConvention Metadata 23 All "Correct the member that the finding names.";
    CrossChunkStrategy Metadata 24 All "Correct the member that the finding names.";
    CrossLevelStorage Metadata 25 All "Correct the member that the finding names.";
    CrossLevelDepth Metadata 26 All "Correct the member that the finding names.";
    ReductionFactor Metadata 27 All "Correct the member that the finding names.";
    BinShapeLength Metadata 28 All "Correct the member that the finding names.";
    BinShapePositive Metadata 29 All "Correct the member that the finding names.";
    BinsDivideChunk Metadata 30 All "Correct the member that the finding names.";
    CoordinateOffset Metadata 31 All "Correct the member that the finding names.";
    AttributeSpecs Metadata 32 All "Correct the member that the finding names.";
    MultiscalesSingle Metadata 33 All "Correct the member that the finding names.";
    MultiscalesFormat Metadata 34 All "Nothing; readers of this format do not look.";
    AxesPresent Metadata 35 All "Correct the member that the finding names.";
    AxesCount Metadata 36 All "Correct the member that the finding names.";
    AxesSpace Metadata 37 All "Correct the member that the finding names.";
    AxesUnique Metadata 38 All "Correct the member that the finding names.";
    AxesOrder Metadata 39 All "Correct the member that the finding names.";
    DatasetPath Metadata 40 All "Rebuild multiscales.";
    DatasetUnique Metadata 41 All "Rebuild multiscales.";
    DatasetOrder Metadata 42 All "Rebuild multiscales.";
    TransformLength Metadata 43 All "Correct the member that the finding names.";
    ScalePositive Metadata 44 All "Correct the member that the finding names.";
    ScaleBase Metadata 45 All "Correct the member that the finding names.";
    TranslationBase Metadata 46 All "Correct the member that the finding names.";
    TranslationCoarse Multiscale 20 All "Correct the member that the finding names.";
    ScaleMatchesBins Multiscale 21 All "Correct the member that the finding names.";
    OmePresent Structure 20 All "Add the node.";
    OmeType Metadata 47 All "Rebuild the node.";
    OmeAxes Metadata 48 All "Rebuild the node.";
    UserMetadata Metadata 49 All "Correct the member that the finding names.";
    LevelName Structure 21 New "Rename the folder; readers disagree about such names.";
    LevelsConsecutive Multiscale 22 New "Restore the missing level, or make the coarse levels again.";
    DatasetPresent Multiscale 23 New "Rebuild multiscales.";
    DatasetStale Multiscale 24 New "Rebuild multiscales.";
    OmeLevels Metadata 50 New "Rebuild the node.";
    LevelNumber Metadata 51 New "Correct the member that the finding names.";
    LevelChunkLength Metadata 52 New "Correct the member that the finding names.";
    LevelChunkPositive Metadata 53 New "Correct the member that the finding names.";
    LevelChunkNests Multiscale 25 New "Correct the member that the finding names.";
    LevelChunkBins Metadata 54 New "Correct the member that the finding names.";
    LevelParentAbsent Metadata 55 New "Correct the member that the finding names.";
    LevelParent Multiscale 26 New "Correct the member that the finding names.";
    LevelSparsity Metadata 56 New "Correct the member that the finding names.";
    LevelSplitPair Metadata 57 New "Correct the member that the finding names.";
    LevelSplitValues Metadata 58 New "Correct the member that the finding names.";
    LevelSplitDims Metadata 59 New "Correct the member that the finding names.";
    LevelPreservesIds Multiscale 27 New "Correct the member that the finding names.";
    LevelBinLength Metadata 60 New "Correct the member that the finding names.";
    LevelBinPositive Metadata 61 New "Correct the member that the finding names.";
    LevelBinRatio Metadata 62 New "Correct the member that the finding names.";
    LevelZeroBins Metadata 63 New "Correct the member that the finding names.";
    LevelBinsKnown Metadata 64 New "Correct the member that the finding names.";
    LevelVertices Structure 22 New "Restore the array, or remove the level.";
    LevelFragments Structure 23 New "Restore the array; without it only whole chunks can be read.";
    StorageTransformers Metadata 65 New "Correct the member that the finding names.";
    KeyEncoding Metadata 66 New "Correct the member that the finding names.";
    VlenDataType Metadata 67 New "Correct the member that the finding names.";
    VlenFill Metadata 68 New "Correct the member that the finding names.";
    VlenCodecs Metadata 69 New "Correct the member that the finding names.";
    GridChunks Metadata 70 New "Correct the member that the finding names.";
    GridRank Metadata 71 New "Correct the member that the finding names.";
    GridExtent Metadata 72 New "Correct the member that the finding names.";
    GridOriginLength Metadata 73 New "Correct the member that the finding names.";
    GridOriginZero Metadata 74 New "Nothing; readers do not mind.";
    GridBounds Metadata 75 New "Nothing; readers take each array by its own grid.";
    GridSplit Metadata 76 New "Correct the member that the finding names.";
    PresenceThere Metadata 77 New "Rebuild the presence list.";
    PresenceKeys Metadata 78 New "Rebuild the presence list.";
    PresenceOrder Metadata 79 New "Rebuild the presence list.";
    PresenceUnique Metadata 80 New "Rebuild the presence list.";
    PresenceInGrid Metadata 81 New "Rebuild the presence list.";
    DiscriminatorThere Metadata 82 New "Correct the member that the finding names.";
    Discriminator Metadata 83 New "Correct the member that the finding names.";
    DtypeThere Metadata 84 New "Correct the member that the finding names.";
    DtypeObject Metadata 85 New "The values are lost; remove the attribute.";
    Encoding Metadata 86 New "Correct the member that the finding names.";
    EncodingReadable Metadata 87 New "Write the store again, raw.";
    AttributeName Metadata 88 New "Correct the member that the finding names.";
    RowShape Metadata 89 New "Correct the member that the finding names.";
    Categories Metadata 90 New "Correct the member that the finding names.";
    LinkDeltaName Metadata 91 New "Correct the member that the finding names.";
    LinkDelta Metadata 92 New "Correct the member that the finding names.";
    LinkSegment Metadata 93 New "Correct the member that the finding names.";
    LinkOffsets Metadata 94 New "Correct the member that the finding names.";
    LinkWidth Metadata 95 New "Correct the member that the finding names.";
    LinkPerm Metadata 96 New "Correct the member that the finding names.";
    LinkCanonical Metadata 97 New "Correct the member that the finding names.";
    ObjectIds Metadata 98 New "Correct the member that the finding names.";
    Manifests Metadata 99 New "Correct the member that the finding names.";
    TypedCodecs Metadata 100 New "Correct the member that the finding names.";
    TypedRank Metadata 101 New "Correct the member that the finding names.";
    TypedShape Metadata 102 New "Correct the member that the finding names.";
    TypedDtype Metadata 103 New "Correct the member that the finding names.";
    Sentinel Metadata 104 New "Correct the member that the finding names.";
    GroupCount Metadata 105 New "Set num_groups to the length of the array.";
    GroupRanges Metadata 106 New "Correct the member that the finding names.";
    GroupNames Metadata 107 New "Correct the member that the finding names.";
    IndexLayout Metadata 108 New "Correct the member that the finding names.";
    IndexRank Metadata 109 New "Correct the member that the finding names.";
    IndexCounts Metadata 110 New "Set the counts.";
    FamilyPolicy Metadata 111 New "Correct the member that the finding names.";
    FamilyRank Metadata 112 New "Correct the member that the finding names.";
    FamilyDirected Metadata 113 New "Correct the member that the finding names.";
    FamilyCounts Metadata 114 New "Set the counts.";
}
