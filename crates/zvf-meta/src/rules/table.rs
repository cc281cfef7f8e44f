//! The list of all rules.

use std::fmt;

/// The severity of a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Information; the store is valid.
    Note,
    /// The store breaks the format, but readers handle it.
    Warning,
    /// Some readers get wrong data, or no data.
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

/// Description of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleInfo {
    /// The rule.
    pub rule: Rule,
    /// Stable name, for reports and for switching a rule off.
    pub name: &'static str,
    /// Severity of a violation.
    pub severity: Severity,
    /// The rule in one sentence.
    pub title: &'static str,
    /// Format page and section.
    pub source: &'static str,
}

macro_rules! rules {
    ($($variant:ident $name:literal $severity:ident $source:literal $title:literal;)*) => {
        /// A rule of the format; [`RULES`] describes each one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $title] #[doc = concat!("\n\nSource: ", $source, ".")] $variant,)*
        }

        /// All rules, grouped by the document that they are about.
        pub const RULES: &[RuleInfo] = &[
            $(RuleInfo {
                rule: Rule::$variant,
                name: $name,
                severity: Severity::$severity,
                title: $title,
                source: $source,
            },)*
        ];

        impl Rule {
            /// Returns the stable name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the severity of a violation.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// Returns the rule in one sentence.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }

            /// The specification version and section that state the rule.
            #[must_use]
            pub const fn source(self) -> &'static str {
                match self { $(Self::$variant => $source,)* }
            }
        }
    };
}

impl Rule {
    /// Finds a rule by its stable name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        RULES
            .iter()
            .find(|info| info.name == name)
            .map(|info| info.rule)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

rules! {
    Version "version" Error "0.9 §5.4" "The version is a text X[.Y[.Z]] of 0.6.0 or later.";
    VersionNewer "version-newer" Warning "0.9 §5.4" "The version is not later than 0.9.4.";
    RequiredCapabilities "required-capabilities" Error "0.9 §5.5" "Every required capability is known.";
    Capabilities "capabilities" Note "0.9 §5.5" "Every capability token is known.";
    ChunkShapeLength "chunk-shape-length" Error "0.9 §5.1" "The chunk shape has one number per axis.";
    ChunkShapePositive "chunk-shape-positive" Error "0.9 §5.1" "Chunk sizes are finite and above 0.";
    BoundsLength "bounds-length" Error "0.9 §5.1" "Both corners of the bounds have one number per axis.";
    BoundsOrder "bounds-order" Error "0.9 §5.1" "The lower corner is finite and nowhere above the upper one.";
    GeometryPresent "geometry-present" Warning "0.9 §5.1" "The store names a geometry kind.";
    GeometryFirst "geometry-first" Error "0.9 §5.1" "The first geometry kind, which decides how the store is read, is known.";
    GeometryKnown "geometry-known" Warning "0.9 §5.1" "Every further geometry kind is known.";
    LinksConvention "links-convention" Error "0.9 §5.1" "The link convention is a known value.";
    LinksConventionFits "links-convention-fits" Error "0.9 §19" "The link convention is one that the geometry kind may have.";
    ObjectIndexConvention "object-index-convention" Error "0.9 §5.1" "The object index convention is a known value.";
    CrossChunkStrategy "cross-chunk-strategy" Error "0.9 §5.1" "The cross-chunk strategy is a known value.";
    CrossLevelStorage "cross-level-storage" Error "0.9 §5.1" "The cross-level storage is a known value.";
    CrossLevelDepth "cross-level-depth" Error "0.9 §5.1" "The cross-level depth is -1 or more.";
    ReductionFactor "reduction-factor" Error "0.9 §5.1" "The reduction factor is 2 or more.";
    BinShapeLength "bin-shape-length" Error "0.9 §5.1" "The base bin shape has one number per axis.";
    BinShapePositive "bin-shape-positive" Error "0.9 §5.1" "Bin sizes are finite and above 0.";
    BinsDivideChunk "bins-divide-chunk" Error "0.9 §5.1" "Base bins divide the chunk along every axis, within 1e-9.";
    CoordinateOffset "coordinate-offset" Error "0.9 §15.7" "The coordinate offset has one finite number per axis.";
    AttributeSpecs "attribute-specs" Warning "0.9 §5.1" "Declared attributes have a known scope and a dtype.";
    MultiscalesSingle "multiscales-single" Warning "0.9 §5.2" "There is exactly one multiscales entry.";
    MultiscalesFormat "multiscales-format" Note "0.9 §5.2" "The multiscales entry states version 0.4 and format zarr_vectors.";
    AxesPresent "axes-present" Error "0.9 §5.2" "There is at least one axis.";
    AxesCount "axes-count" Warning "0.9 §5.1" "There are at least two axes.";
    AxesSpace "axes-space" Warning "0.9 §5.1" "At least two axes are of type space.";
    AxesUnique "axes-unique" Error "0.9 §5.1" "Axis names are distinct.";
    AxesOrder "axes-order" Error "0.9 §5.1" "Axis types come in the order time, channel, other, space.";
    DatasetPath "dataset-path" Warning "0.9 §5.2" "The path of a dataset is the number of a level.";
    DatasetUnique "dataset-unique" Warning "0.9 §5.2" "Dataset paths are unique; of duplicates, only the first is used.";
    DatasetOrder "dataset-order" Warning "0.9 §5.2" "Datasets are sorted by level number.";
    TransformLength "transform-length" Error "0.9 §5.2" "Scales and translations have one number per axis.";
    ScalePositive "scale-positive" Error "0.9 §5.2" "Scales are finite and above 0.";
    ScaleBase "scale-base" Warning "0.9 §5.2" "The scale of level 0 is 1 along every axis.";
    TranslationBase "translation-base" Warning "0.9 §5.2" "The translation of level 0 is half a base bin, or the coordinate offset.";
    TranslationCoarse "translation-coarse" Error "0.9 §5.2" "The translation of a coarse level, half its bin, is finite and above 0.";
    ScaleMatchesBins "scale-matches-bins" Warning "0.9 §5.2" "The scale of a coarse level is its bin shape divided by the base bin shape.";
    OmePresent "ome-present" Warning "0.9 §5.3" "The root has an ome node.";
    OmeType "ome-type" Warning "0.9 §5.3" "The ome node is a collection of version 0.6 with a name.";
    OmeAxes "ome-axes" Warning "0.9 §5.3" "The axes of the ome scene are those of multiscales.";
    UserMetadata "user-metadata" Warning "0.9 §16.3" "User metadata maps namespaces, not empty and without a slash, to members.";
    LevelName "level-name" Error "0.9 §3" "Names of level groups are plain decimal numbers.";
    LevelsConsecutive "levels-consecutive" Error "0.9 §19" "Levels are numbered from 0 without a gap.";
    DatasetPresent "dataset-present" Warning "0.9 §5.2" "Every level has a dataset.";
    DatasetStale "dataset-stale" Note "0.9 §5.2" "Every dataset has a level.";
    OmeLevels "ome-levels" Warning "0.9 §5.3" "The ome node lists the levels in increasing order.";
    LevelNumber "level-number" Error "0.9 §6" "The level number is the group's name.";
    LevelChunkLength "level-chunk-length" Error "0.9 §6" "The level's chunk shape has one number per axis.";
    LevelChunkPositive "level-chunk-positive" Error "0.9 §6" "The level's chunk sizes are finite and above 0.";
    LevelChunkNests "level-chunk-nests" Error "0.9 §6" "The level's chunk is a whole multiple of the root's along every axis, within 1e-9.";
    LevelChunkBins "level-chunk-bins" Error "0.9 §6" "The level's chunk is a whole multiple of its bin where the bin is not larger.";
    LevelParentAbsent "level-parent-absent" Error "0.9 §6" "Level 0 has no parent.";
    LevelParent "level-parent" Error "0.9 §6" "A coarse level names a finer level as its parent.";
    LevelSparsity "level-sparsity" Error "0.9 §6" "The object sparsity is above 0 and at most 1.";
    LevelSplitPair "level-split-pair" Error "0.9 §6" "Chunk attribute name and values are both there or both absent.";
    LevelSplitValues "level-split-values" Error "0.9 §6" "The chunk attribute has at least one value.";
    LevelSplitDims "level-split-dims" Error "0.9 §6" "The chunk dimensions are the chunk attribute, then the axes.";
    LevelPreservesIds "level-preserves-ids" Error "0.9 §6" "Preserved object ids need a coarse level, a parent and the parent's object count.";
    LevelBinLength "level-bin-length" Error "0.9 §6" "Bin shape and ratio of a level block have one number per axis.";
    LevelBinPositive "level-bin-positive" Error "0.9 §6" "Bin sizes of a level block are finite and above 0.";
    LevelBinRatio "level-bin-ratio" Error "0.9 §6" "Bin ratios of a level block are 1 or more.";
    LevelZeroBins "level-zero-bins" Warning "0.9 §6" "The block of level 0 has no bin shape.";
    LevelBinsKnown "level-bins-known" Warning "0.9 §6" "The bin shape of a coarse level is given by its translation in multiscales or by its level block.";
    LevelVertices "level-vertices" Error "0.9 §19" "A level has vertices.";
    LevelFragments "level-fragments" Error "0.9 §19" "A level has vertex fragments.";
    StorageTransformers "storage-transformers" Error "0.9 §4.2" "Arrays have no storage transformers.";
    KeyEncoding "key-encoding" Warning "0.9 §4.2" "Chunk keys use the default encoding with the separator `/`.";
    VlenDataType "vlen-data-type" Error "0.9 §4.2" "Arrays of payloads have the data type variable_length_bytes.";
    VlenFill "vlen-fill" Error "0.9 §4.2" "The fill value of an array of payloads is the empty byte string.";
    VlenCodecs "vlen-codecs" Error "0.9 §4.3" "The first codec of an array of payloads, inside shards too, is vlen-bytes.";
    GridChunks "grid-chunks" Error "0.9 §4.2" "A stored chunk of a chunk-grid array, inside shards too, is one cell.";
    GridRank "grid-rank" Error "0.9 §7.2" "A chunk-grid array has one axis for each component of a chunk key.";
    GridExtent "grid-extent" Error "0.9 §7.2" "A chunk-grid array has at least one cell along every axis.";
    GridOriginLength "grid-origin-length" Error "0.9 §7.2" "The grid origin has one number for each component of a chunk key.";
    GridOriginZero "grid-origin-zero" Note "0.9 §7.2" "A grid origin of zeros is left out.";
    GridBounds "grid-bounds" Note "0.9 §7.2" "The grid is the one that follows from the declared bounds.";
    GridSplit "grid-split" Error "0.9 §7.2" "The leading axis of an attribute-chunked level starts at 0 and has one cell per value.";
    PresenceThere "presence-there" Warning "0.9 §7.4" "A chunk-grid array lists its non-empty chunks.";
    PresenceKeys "presence-keys" Error "0.9 §7.4" "Listed keys are plain decimal numbers joined by dots, one for each axis of the array.";
    PresenceOrder "presence-order" Error "0.9 §7.4" "Listed keys are in ASCII order.";
    PresenceUnique "presence-unique" Error "0.9 §7.4" "No key is listed twice.";
    PresenceInGrid "presence-in-grid" Error "0.9 §7.4" "Listed keys lie inside the grid.";
    DiscriminatorThere "discriminator-there" Warning "0.9 §7.3" "The document has zv_array, the kind of the array.";
    Discriminator "discriminator" Error "0.9 §7.3" "The kind in zv_array fits the path.";
    DtypeThere "dtype-there" Warning "0.9 §7.3" "Arrays of typed payloads state their dtype.";
    DtypeObject "dtype-object" Error "0.9 §8.2" "The dtype is not object, whose payload is memory addresses.";
    Encoding "encoding" Error "0.9 §7.3" "The encoding is one that the array may have.";
    EncodingReadable "encoding-readable" Warning "0.9 §8.3" "Vertices are raw; no reader decodes draco.";
    AttributeName "attribute-name" Warning "0.9 §7.3" "The name of an attribute is the last part of its path.";
    RowShape "row-shape" Warning "0.9 §12.1" "The row shape has at most one number, and as many channels as there are channel names.";
    Categories "categories" Error "0.9 §12.3" "A dictionary encoding has distinct categories, an integer dtype, and a number for missing values that is the code of no category.";
    LinkDeltaName "link-delta-name" Error "0.9 §13.1" "A delta is 0, or a sign and a number above 0.";
    LinkDelta "link-delta" Error "0.9 §7.3" "The level delta is the one in the path.";
    LinkSegment "link-segment" Error "0.9 §13.1" "The offsets segment has L - 1 offsets of K signed components.";
    LinkOffsets "link-offsets" Error "0.9 §13.1" "The offsets attribute has the offsets of the path.";
    LinkWidth "link-width" Error "0.9 §13.2" "The link width is the same as the family's.";
    LinkPerm "link-perm" Error "0.9 §13.3" "The array has a permutation column exactly when the family's policy gives it one.";
    LinkCanonical "link-canonical" Error "0.9 §13.3" "Offsets of a canonical undirected family are lexicographically non-negative and in ascending order.";
    ObjectIds "object-ids" Error "0.9 §11.2" "The table of ids is one int64 for each row of the index.";
    Manifests "manifests" Error "0.9 §11.2" "There is one manifest for each row of the index.";
    TypedCodecs "typed-codecs" Error "0.9 §4.5" "The first codec of a typed array is bytes.";
    TypedRank "typed-rank" Error "0.9 §11.4" "A typed array has one or two dimensions: rows and, optionally, channels.";
    TypedShape "typed-shape" Warning "0.9 §11.4" "The shape attribute is the shape of the array.";
    TypedDtype "typed-dtype" Error "0.9 §4.5" "The dtype attribute is the data type of the array.";
    Sentinel "sentinel" Warning "0.9 §11.4" "The fill value of an object attribute is the sentinel of its type.";
    GroupCount "group-count" Warning "0.9 §11.5" "The group count is the length of the array.";
    GroupRanges "group-ranges" Error "0.9 §11.5" "Every group range refers to a row of the array, and its end is not below its start.";
    GroupNames "group-names" Warning "0.9 §11.5" "There are no more group names than groups.";
    IndexLayout "index-layout" Error "0.9 §11.2" "The layout of a filled object index is a known value.";
    IndexRank "index-rank" Error "0.9 §11.1" "The object index has the rank of the level's chunk keys.";
    IndexCounts "index-counts" Error "0.9 §11.1" "No more objects are present than there are rows.";
    FamilyPolicy "family-policy" Warning "0.9 §13.2" "A link family states its width, 1 or more, and its rank; without them it reads as empty.";
    FamilyRank "family-rank" Error "0.9 §13.2" "A link family has the rank of the level's chunk keys.";
    FamilyDirected "family-directed" Warning "0.9 §13.6" "A family between levels is directed.";
    FamilyCounts "family-counts" Warning "0.9 §13.2" "A canonical family has as many rows as links, a duplicate one no fewer.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_stable_and_unique() {
        for (index, info) in RULES.iter().enumerate() {
            assert_eq!(
                RULES.iter().position(|other| other.name == info.name),
                Some(index),
                "{}",
                info.name
            );
            assert_eq!(Rule::from_name(info.name), Some(info.rule));
            assert!(
                info.name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
            );
            assert!(info.title.ends_with('.') && info.source.contains('§'));
            assert_eq!(
                (info.rule.title(), info.rule.source()),
                (info.title, info.source)
            );
        }
    }
}
