//! The findings that `zvf repair` can resolve, and the reasons for the others.

use std::fmt;

use zvf_meta::rules::Rule;

use crate::check::Check;

/// Whether findings of a check can be resolved by changing documents alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Repairable {
    /// Always, if the cells from which the value is derived can be read.
    Always,
    /// Under a condition: a text that continues a sentence after "where".
    Where(&'static str),
    /// Never, with the reason.
    Never(&'static str),
}

impl fmt::Display for Repairable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("yes"),
            Self::Where(what) => write!(f, "where {what}"),
            Self::Never(why) => write!(f, "no: {why}"),
        }
    }
}

/// The cell, table or object itself would have to change.
const PAYLOAD: Repairable = Repairable::Never("the data itself would have to change");
/// The member is not repeated anywhere.
const MEANING: Repairable = Repairable::Never("nothing else in the store determines the value");
/// Two members contradict each other.
const EITHER: Repairable = Repairable::Never("either side may be the wrong one");
/// Whole objects would have to be added or removed.
const OBJECTS: Repairable = Repairable::Never("objects would have to be removed or restored");
/// The document states how bytes are stored.
const STORED: Repairable = Repairable::Never("the document determines how the bytes are read");
/// Coarse levels that were made from the level have to be built again.
const LEVELS: Repairable = Repairable::Never("coarse levels have to be made again");
/// The store is valid; viewers have other requirements.
const VIEWED: Repairable = Repairable::Never(
    "the store breaks no rule of the format; a copy or new levels suit viewers better",
);
/// The difference is known, or needs no repair.
const FINE: Repairable = Repairable::Never("readers do not depend on it");

impl Check {
    /// Whether `zvf repair` can resolve findings of the check.
    #[must_use]
    pub fn repairable(self) -> Repairable {
        match self {
            Self::Document(rule) => of_rule(rule),
            Self::StoreOpens => Repairable::Where("nothing but the bounds is missing in the root"),
            Self::DocumentReads => Repairable::Where(
                "a level lacks nothing but its number, count or list of arrays, or a presence list is not a list of texts",
            ),
            Self::LevelThere
            | Self::LinksHaveFamilies
            | Self::ObjectStray
            | Self::CrossTarget
            | Self::FamilyThere
            | Self::AttributeOrphan
            | Self::AttributeThere
            | Self::LinkAttributeThere
            | Self::LinkFragmentsThere
            | Self::ChunkStored => OBJECTS,
            Self::LevelOpens | Self::NodeRead | Self::NodeDamaged => Repairable::Never(
                "the document that it names has a finding of its own, or is not understood",
            ),
            Self::NodeKnown | Self::LevelHasChunks | Self::PresenceDeferred => FINE,
            Self::NodeMembers => Repairable::Never("the member's name is unknown"),
            Self::Unfinished => Repairable::Never("the writer's own command finishes it"),
            Self::CellListed => Repairable::Where("the cell can be read and fits the others"),
            Self::CellEmpty => Repairable::Where(
                "no other array lists its chunk; a lost cell stays listed, unless --accept-loss is given",
            ),
            Self::VertexCount | Self::LinkCount | Self::PresentCount => Repairable::Where(
                "there are more than the document states; fewer may mean lost data, and need --accept-loss",
            ),
            Self::CrossCapability => Repairable::Where(
                "there are links between levels; if there are none, they may be lost, which needs --accept-loss",
            ),
            Self::FragmentsTile => Repairable::Where(
                "every row is in one fragment, in another order; otherwise a fragment may be damaged, which needs --accept-loss",
            ),
            Self::ObjectIdsSorted
            | Self::VertexBounds
            | Self::SharedCapability
            | Self::LinkGroupCapability
            | Self::LinkGroupCount
            | Self::LinkGroupRows
            | Self::LinkGroupFragment => Repairable::Always,
            Self::CellReads
            | Self::VertexRows
            | Self::Finite
            | Self::FragmentIndex
            | Self::FragmentRows
            | Self::FragmentPadding
            | Self::FragmentThere
            | Self::RowsCovered
            | Self::AttributeRows
            | Self::FragmentAttributeRows
            | Self::OwnerColumn
            | Self::OwnerColumnCurrent
            | Self::ObjectIdsRows
            | Self::TextCodePoints
            | Self::LinkCell
            | Self::LinkRow
            | Self::LinkChunk
            | Self::LinkPlacement
            | Self::LinkCopies
            | Self::LinkAttributeRows
            | Self::LinkFragments
            | Self::ManifestReads
            | Self::ManifestChunk
            | Self::ManifestFragment
            | Self::ObjectIdUnique
            | Self::ObjectTableReads
            | Self::ObjectAttributeRows
            | Self::FragmentOwner
            | Self::GroupMember
            | Self::GroupMembersRead
            | Self::GroupAttributeRows
            | Self::SideReads
            | Self::FaceDegenerate
            | Self::SelfLoop
            | Self::TreeParent
            | Self::TreeLoop
            | Self::LineEnds
            | Self::ChainLink
            | Self::ParentThere => PAYLOAD,
            Self::BinFragments
            | Self::VertexChunk
            | Self::VertexBin
            | Self::AttributeWidth
            | Self::ChunkAttribute
            | Self::FaceWidth
            | Self::PointLinks
            | Self::DeletedEmpty => EITHER,
            Self::CategoryCode | Self::MomentRange => MEANING,
            Self::ViewerVersion
            | Self::ViewerAxes
            | Self::ViewerUnit
            | Self::ViewerCodec
            | Self::ViewerCount
            | Self::ViewerLevels
            | Self::ViewerMeshChunks
            | Self::ViewerColumns
            | Self::ViewerNumbers => VIEWED,
            Self::CountsFall
            | Self::IdsKept
            | Self::InheritedCount
            | Self::CrossMirror
            | Self::LevelStale => LEVELS,
        }
    }
}

fn of_rule(rule: Rule) -> Repairable {
    match rule {
        Rule::BoundsLength | Rule::BoundsOrder => {
            Repairable::Where("positions are not stored with an offset")
        }
        Rule::DatasetPath => {
            Repairable::Where("every level also has a dataset with its own number")
        }
        Rule::DatasetOrder
        | Rule::DatasetPresent
        | Rule::ScaleBase
        | Rule::TranslationBase
        | Rule::OmePresent
        | Rule::OmeType
        | Rule::OmeAxes
        | Rule::OmeLevels
        | Rule::LevelNumber
        | Rule::LevelParentAbsent
        | Rule::GridOriginZero
        | Rule::PresenceKeys
        | Rule::PresenceOrder
        | Rule::PresenceUnique
        | Rule::Discriminator
        | Rule::DiscriminatorThere
        | Rule::VlenFill
        | Rule::LinkDelta
        | Rule::LinkOffsets
        | Rule::LinkPerm
        | Rule::IndexRank
        | Rule::FamilyRank
        | Rule::FamilyDirected => Repairable::Always,
        Rule::AttributeName => Repairable::Where(
            "no other attribute of its kind has the stated name; otherwise their folders may be swapped",
        ),
        Rule::DatasetUnique => Repairable::Where("the datasets of the level are equal"),
        Rule::DatasetStale => Repairable::Where(
            "there is no folder of that level either; if the ome node or links also name the level, it may be lost, which needs --accept-loss",
        ),
        Rule::PresenceInGrid => Repairable::Where(
            "no other array lists the key, and it is outside the bounds of the store; otherwise the shape or the origin may be wrong",
        ),
        Rule::TypedShape => Repairable::Where(
            "the number of objects or groups, and the names of channels, confirm what differs",
        ),
        Rule::TypedDtype => Repairable::Where(
            "the root's attribute_specs, or else the fill value, confirm the data type",
        ),
        Rule::GroupCount => Repairable::Where(
            "as many names or rows of attributes confirm the length; otherwise groups may be lost, which needs --accept-loss",
        ),
        Rule::IndexCounts => Repairable::Where(
            "index, manifests and ids agree on the number of rows; otherwise objects may be lost, which needs --accept-loss",
        ),
        Rule::FamilyCounts => Repairable::Where(
            "the cells have as many links as the family states, or more; fewer may mean lost links, and need --accept-loss",
        ),
        Rule::TransformLength | Rule::ScalePositive => {
            Repairable::Where("the bins of the level are stated elsewhere")
        }
        Rule::TranslationCoarse | Rule::LevelBinsKnown => {
            Repairable::Where("the fold or the bins of the level are stated elsewhere")
        }
        Rule::ScaleMatchesBins => Repairable::Where("the level's own document states its bins"),
        Rule::PresenceThere => Repairable::Where("the storage lists its objects"),
        Rule::LevelZeroBins => Repairable::Where("the bins are those of the root"),
        Rule::LevelSplitDims => Repairable::Where("the level names its attribute"),
        Rule::LevelPreservesIds => Repairable::Where("level 0 claims it"),
        Rule::Encoding => {
            Repairable::Where("the array holds fragments: there is one encoding of them")
        }
        Rule::DtypeThere => Repairable::Where(
            "the array is a table, whose node states its type, and nothing contradicts it",
        ),
        Rule::RowShape => {
            Repairable::Where("the cells have as many values a row as there are names of channels")
        }
        Rule::LinkWidth | Rule::FamilyPolicy => {
            Repairable::Where("the paths of the family's arrays state how many ends a link has")
        }
        Rule::ObjectIds | Rule::Manifests => Repairable::Where(
            "manifests and ids agree on the number of rows, the index does not, and it counts no more present objects",
        ),
        _ => of_other(rule),
    }
}

/// Rules that are not repaired.
fn of_other(rule: Rule) -> Repairable {
    match rule {
        Rule::Version | Rule::VersionNewer | Rule::RequiredCapabilities | Rule::Capabilities => {
            Repairable::Never("a newer program may know the value")
        }
        Rule::MultiscalesFormat | Rule::GridBounds | Rule::KeyEncoding => FINE,
        Rule::LevelName | Rule::LevelsConsecutive | Rule::LevelVertices | Rule::LevelFragments => {
            OBJECTS
        }
        Rule::LinksConventionFits
        | Rule::MultiscalesSingle
        | Rule::BinsDivideChunk
        | Rule::LevelChunkNests
        | Rule::LevelChunkBins
        | Rule::GridSplit
        | Rule::LinkSegment
        | Rule::LinkDeltaName
        | Rule::LinkCanonical
        | Rule::GroupNames => EITHER,
        Rule::StorageTransformers
        | Rule::VlenDataType
        | Rule::VlenCodecs
        | Rule::GridChunks
        | Rule::GridRank
        | Rule::GridExtent
        | Rule::GridOriginLength
        | Rule::DtypeObject
        | Rule::EncodingReadable
        | Rule::TypedCodecs
        | Rule::TypedRank
        | Rule::Sentinel
        | Rule::IndexLayout => STORED,
        _ => MEANING,
    }
}
