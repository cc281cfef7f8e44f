//! The table of all checks: rule, severity, source and hint of each.
//!
//! For rules about documents, `zvf-meta` defines rule, severity and source; this file adds level, number, versions and hint.

use std::fmt;

use zvf_meta::rules::{RULES, Rule, Severity};

/// The level of a check, which determines what is read. Each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Depth {
    /// The tree: required folders and documents exist.
    Structure,
    /// The contents of documents, and whether documents agree.
    Metadata,
    /// The contents of cells, and whether they agree with documents and other cells.
    Consistency,
    /// The meaning of cells: positions and kinds of geometry.
    Conformance,
    /// Relations between levels.
    Multiscale,
}

impl Depth {
    /// All levels, in ascending order.
    pub const ALL: [Self; 5] = [
        Self::Structure,
        Self::Metadata,
        Self::Consistency,
        Self::Conformance,
        Self::Multiscale,
    ];

    /// The number: 1 to 5.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Structure => 1,
            Self::Metadata => 2,
            Self::Consistency => 3,
            Self::Conformance => 4,
            Self::Multiscale => 5,
        }
    }

    /// The level with this number; `None` outside of 1 to 5.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.number() == number)
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{}", self.number())
    }
}

/// A check's stable code, such as `ZVF-L3-0040`. Codes are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code {
    pub(crate) depth: Depth,
    pub(crate) number: u16,
}

impl Code {
    /// The level of the check.
    #[must_use]
    pub const fn depth(self) -> Depth {
        self.depth
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ZVF-{}-{:04}", self.depth, self.number)
    }
}

/// The description of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckInfo {
    /// The check.
    pub check: Check,
    /// Its code.
    pub code: Code,
    /// The severity of a violation.
    pub severity: Severity,
    /// A stable name.
    pub title: &'static str,
    /// The rule in one sentence.
    pub rule: &'static str,
    /// Format specification and section.
    pub source: &'static str,
    /// Versions of the format that it applies to.
    pub versions: &'static str,
    /// Kinds of geometry that it applies to.
    pub kinds: &'static str,
    /// How to repair a violation.
    pub hint: &'static str,
}

macro_rules! checks {
    ($($variant:ident $depth:ident $number:literal $severity:ident $title:literal $versions:literal $kinds:literal $source:literal
        $rule:literal $hint:literal;)*) => {
        /// One check. [`CheckInfo`] describes it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Check {
            /// A rule about documents.
            Document(Rule),
            $(#[doc = $rule] #[doc = concat!("\n\nSource: ", $source, ".")] $variant,)*
        }

        /// The checks other than rules about documents.
        const OWN: &[CheckInfo] = &[
            $(CheckInfo {
                check: Check::$variant,
                code: Code { depth: Depth::$depth, number: $number },
                severity: Severity::$severity,
                title: $title,
                rule: $rule,
                source: $source,
                versions: $versions,
                kinds: $kinds,
                hint: $hint,
            },)*
        ];
    };
}

impl Check {
    /// All checks, by code.
    #[must_use]
    pub fn all() -> Vec<CheckInfo> {
        let rules = RULES.iter().map(|rule| Self::Document(rule.rule).info());
        let mut all: Vec<CheckInfo> = OWN.iter().copied().chain(rules).collect();
        all.sort_by_key(|one| one.code);
        all
    }

    /// The check of a code, such as `ZVF-L3-0040`.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        let found = Self::all()
            .into_iter()
            .find(|one| one.code.to_string() == code)?;
        Some(found.check)
    }

    /// Its description.
    #[must_use]
    pub fn info(self) -> CheckInfo {
        if let Self::Document(rule) = self {
            let (code, since, hint) = RULE_CHECKS.iter().find(|(one, ..)| *one == rule).map_or(
                (
                    Code {
                        depth: Depth::Metadata,
                        number: 0,
                    },
                    Since::New,
                    "",
                ),
                |(_, depth, number, since, hint)| {
                    let code = Code {
                        depth: *depth,
                        number: *number,
                    };
                    (code, *since, *hint)
                },
            );
            return CheckInfo {
                check: self,
                code,
                severity: rule.severity(),
                title: rule.name(),
                rule: rule.title(),
                source: rule.source(),
                versions: match since {
                    Since::All => "0.6 to 0.9",
                    Since::New => "0.9",
                },
                kinds: "all",
                hint,
            };
        }
        OWN.iter()
            .find(|one| one.check == self)
            .copied()
            .unwrap_or(LOST)
    }

    /// Its code.
    #[must_use]
    pub fn code(self) -> Code {
        self.info().code
    }

    /// The severity of a violation.
    #[must_use]
    pub fn severity(self) -> Severity {
        self.info().severity
    }

    /// The level of the check.
    #[must_use]
    pub fn depth(self) -> Depth {
        self.info().code.depth
    }
}

/// Returned for a check without a description. A test ensures that every check has one.
const LOST: CheckInfo = CheckInfo {
    check: Check::StoreOpens,
    code: Code {
        depth: Depth::Structure,
        number: 0,
    },
    severity: Severity::Error,
    title: "",
    rule: "",
    source: "",
    versions: "",
    kinds: "",
    hint: "",
};

checks! {
    StoreOpens Structure 1 Error "store-opens" "0.6 to 0.9" "all" "0.9 §5"
        "The root document exists and names a version of the format that this program reads."
        "Check the address; restore the root's zarr.json from a copy.";
    DocumentReads Structure 2 Error "document-reads" "0.6 to 0.9" "all" "0.9 §4.1"
        "Every document is valid JSON of a Zarr v3 node and has the members that are required at its path."
        "Restore the document, or remove the node if nothing refers to it.";
    LevelThere Structure 3 Error "level-there" "0.6 to 0.9" "all" "0.9 §3"
        "The store has a level 0."
        "Restore the level's zarr.json.";
    LevelOpens Structure 4 Error "level-opens" "0.6 to 0.9" "all" "0.9 §6"
        "The documents of a level are consistent enough to read the level."
        "Repair the document that the finding names.";
    NodeRead Structure 5 Warning "node-read" "0.6 to 0.9" "all" "0.9 §7.1"
        "Every array and every link family of a level can be read."
        "Repair the document that the finding names; until then its array or family is not checked.";
    NodeKnown Structure 6 Note "node-known" "0.6 to 0.9" "all" "0.9 §3"
        "The store contains only folders that the format defines."
        "Nothing, if another tool stores its data there.";
    Unfinished Structure 7 Warning "unfinished" "0.6 to 0.9" "all" "0.9 §22 T34"
        "No change of the store is unfinished."
        "Run `zvf edit STORE resume`, or repeat the interrupted command with `--clear-leftovers`; a commit of parts is repeated as it was.";
    LinksHaveFamilies Structure 8 Warning "links-have-families" "0.6 to 0.9" "all" "0.9 §19"
        "A links group contains at least one family, named by its delta."
        "Remove the empty group.";
    NodeDamaged Structure 10 Error "node-damaged" "0.6 to 0.9" "all" "0.9 §7.1"
        "The documents of attributes, tables and link families are intact; a level is read without those that are damaged."
        "Restore the document that the finding names.";
    NodeMembers Structure 9 Error "node-members" "0.6 to 0.9" "all" "Zarr v3 core, array and group metadata"
        "A document has the members that Zarr requires; additional members are marked `must_understand: false`."
        "Correct the name of the member, or remove the member.";

    LinkGroupCapability Metadata 115 Warning "link-group-capability" "0.9" "all" "0.9 §E"
        "The root lists the capability `fragment_link_groups` if and only if a level claims it."
        "Set format_capabilities.";

    PresenceDeferred Metadata 116 Note "presence-deferred" "0.9" "all" "0.9 §E"
        "A level has its presence lists; no member marks them as deferred."
        "Nothing, while writers run: their coordinator builds the lists at the end.";

    CellReads Consistency 1 Error "cell-reads" "0.6 to 0.9" "all" "0.9 §4.2"
        "Every cell in a presence list exists and can be decoded."
        "Restore the stored object; if the cell is empty, remove it from the presence list.";
    CellListed Consistency 2 Error "cell-listed" "0.8.1 to 0.9" "all" "0.9 §7.4"
        "Every existing cell is in the presence list."
        "Rebuild the presence list.";
    CellEmpty Consistency 3 Error "cell-empty" "0.8.1 to 0.9" "all" "0.9 §7.4"
        "Every cell in a presence list has content; readers reject a listed cell that is missing."
        "Restore the cell; if no data was lost, rebuild the presence list.";
    ObjectStray Consistency 4 Warning "object-stray" "0.9" "all" "0.9 §4.2"
        "Every stored object of an array has a key inside the array's grid."
        "Remove the object.";
    LevelHasChunks Consistency 5 Warning "level-has-chunks" "0.6 to 0.9" "all" "0.9 §19"
        "A level has chunks, or its vertex_count is 0."
        "Set vertex_count to 0 if the level is empty on purpose.";

    VertexRows Consistency 10 Error "vertex-rows" "0.6 to 0.9" "all" "0.9 §8.1"
        "A vertex cell contains a whole number of rows."
        "Restore the cell, or correct the dtype of the array.";
    Finite Consistency 11 Warning "finite" "0.6 to 0.9" "all" "0.9 §19"
        "All coordinates are finite."
        "Write the store again without these vertices.";
    VertexCount Consistency 12 Error "vertex-count" "0.6 to 0.9" "all" "0.9 §6"
        "vertex_count equals the number of rows of the level; 0 means that they were not counted."
        "Set vertex_count.";
    FragmentIndex Consistency 20 Error "fragment-index" "0.6 to 0.9" "all" "0.9 §9.1"
        "A fragment index has a valid magic number, version, counts and tables."
        "Restore the cell.";
    FragmentRows Consistency 21 Error "fragment-rows" "0.6 to 0.9" "all" "0.9 §9.3"
        "Fragments refer to existing rows of their chunk."
        "Restore the older of the two: the vertex cell or the fragment index.";
    FragmentPadding Consistency 22 Warning "fragment-padding" "0.6 to 0.9" "all" "0.9 §9.1"
        "The padding of a fragment index is zero, and no bytes follow its last table."
        "Write the cell again.";
    FragmentThere Consistency 23 Error "fragment-there" "0.6 to 0.9" "all" "0.9 §9.3"
        "A chunk with vertices has a fragment index; a chunk whose fragments have rows has vertices."
        "Restore the missing cell.";
    FragmentsTile Consistency 24 Error "fragments-tile" "0.9" "all" "0.9 §9.4"
        "If a level claims fragments_tile, the fragments of every chunk tile its rows."
        "If every row is in one fragment, remove fragments_tile; otherwise a fragment is damaged: restore the fragment index.";
    RowsCovered Consistency 25 Warning "rows-covered" "0.6 to 0.9" "all" "0.9 §9.5"
        "Every row of a chunk belongs to a fragment."
        "Rows outside all fragments belong to no object; `zvf rechunk` drops them.";
    BinFragments Consistency 26 Error "bin-fragments" "0.6 to 0.9" "point_cloud" "0.9 §19"
        "A chunk of points that is divided into bins has at most one fragment per bin."
        "Correct base_bin_shape.";

    AttributeRows Consistency 30 Error "attribute-rows" "0.6 to 0.9" "all" "0.9 §12.1"
        "A vertex attribute cell has one row for each vertex of its chunk."
        "Restore the cell, or write the attribute again.";
    AttributeThere Consistency 31 Warning "attribute-there" "0.6 to 0.9" "all" "0.9 §22 T10"
        "A vertex attribute has a cell for every chunk that has vertices."
        "Write the attribute again, with the sentinel for missing values.";
    AttributeWidth Consistency 32 Error "attribute-width" "0.6 to 0.9" "all" "0.9 §12.1"
        "Every cell of an attribute has the declared number of values per row."
        "Correct row_shape.";
    AttributeOrphan Consistency 33 Error "attribute-orphan" "0.6 to 0.9" "all" "0.9 §12.1"
        "An attribute has cells only where the vertices, fragments or links that it describes have cells."
        "Restore the missing cell, or remove the attribute cell.";
    CategoryCode Consistency 34 Error "category-code" "0.9" "all" "0.9 §12.3"
        "Every code of a categorical attribute is the number of a category or the code of a missing value."
        "Restore the categories.";
    FragmentAttributeRows Consistency 35 Error "fragment-attribute-rows" "0.8.1 to 0.9" "all" "0.9 §12.2"
        "A fragment attribute cell has one row for each fragment of its chunk."
        "Restore the cell, or write the attribute again.";
    OwnerColumn Consistency 36 Error "owner-column" "0.9" "all" "0.9 §11.7"
        "The owner column of a fragment contains the objects whose manifests list the fragment."
        "Make the column again: `zvf edit STORE add-owners`.";
    ObjectIdsRows Consistency 53 Error "object-ids-rows" "0.9" "all" "docs/writing.md"
        "If a table of ids states that ids are row numbers, or the first id of each chunk (`zvf_ids`), its ids agree."
        "Remove the attribute zvf_ids of object_index/object_ids.";
    OwnerColumnCurrent Consistency 39 Warning "owner-column-current" "0.9" "all" "docs/writing.md"
        "An owner column that names a document of the object index names the one that is stored."
        "Make the column again: `zvf edit STORE add-owners`; until then queries read all manifests.";
    MomentRange Consistency 37 Error "moment-range" "0.9" "all" "docs/files.md"
        "Numbers that are dates or times of day, according to the unit of their attribute, are in the valid range."
        "Set the values again (`zvf edit set-attribute`).";
    TextCodePoints Consistency 38 Error "text-code-points" "0.6 to 0.9" "all" "0.9 §8.2"
        "Texts of a fixed width contain only Unicode code points."
        "Restore the cell, or write the attribute again.";

    LinkCell Consistency 40 Error "link-cell" "0.6 to 0.9" "all" "0.9 §13.4"
        "A link cell contains a whole number of records, its groups match them, and all permutation codes are in range."
        "Restore the cell.";
    LinkRow Consistency 41 Error "link-row" "0.6 to 0.9" "all" "0.9 §13.3"
        "Every endpoint of a link is an existing row of its chunk."
        "Restore the older of the two: the link cell or the vertex cell.";
    LinkChunk Consistency 42 Error "link-chunk" "0.6 to 0.9" "all" "0.9 §19"
        "Every endpoint of a link is in a chunk that has vertices."
        "Restore the chunk, or remove the links.";
    LinkPlacement Consistency 43 Error "link-placement" "0.8 to 0.9" "all" "0.9 §13.3"
        "Every record of a canonical undirected family is stored in its canonical cell, with its canonical permutation."
        "Write the family again (`zvf rechunk`).";
    LinkCount Consistency 44 Error "link-count" "0.8 to 0.9" "all" "0.9 §13.2"
        "The counts of a family equal the number of its links and records."
        "Set num_links and num_physical_records.";
    LinkCopies Consistency 45 Error "link-copies" "0.8 to 0.9" "all" "0.9 §13.3"
        "A family with the policy duplicate stores each record once in every chunk that the link touches."
        "Write the family again (`zvf rechunk`).";
    LinkAttributeRows Consistency 46 Error "link-attribute-rows" "0.6 to 0.9" "all" "0.9 §13.8"
        "A link attribute cell has one row for each record of its link cell."
        "Restore the cell, or write the attribute again.";
    LinkAttributeThere Consistency 47 Error "link-attribute-there" "0.6 to 0.9" "all" "0.9 §13.8"
        "A link attribute has a cell wherever its family has one, unless its document declares `links_without_values`."
        "Write the attribute again.";
    LinkFragments Consistency 48 Error "link-fragments" "0.6 to 0.9" "all" "0.9 §13.7"
        "The groups of a chunk's links are a valid fragment index over its link records."
        "Write the family again (`zvf rechunk`).";
    LinkFragmentsThere Consistency 49 Warning "link-fragments-there" "0.6 to 0.9" "all" "0.9 §13.7"
        "Links inside a chunk have groups."
        "Write the family again (`zvf rechunk`).";
    LinkGroupCount Consistency 50 Error "link-group-count" "0.9" "all" "0.9 §E"
        "If a level claims `fragment_link_groups`, every chunk has one link group per fragment."
        "Remove fragment_link_groups.";
    LinkGroupRows Consistency 51 Error "link-group-rows" "0.9" "all" "0.9 §E"
        "If a level claims `fragment_link_groups`, the fragments of a chunk share no rows, and each link inside the chunk is in exactly one group."
        "Remove fragment_link_groups.";
    LinkGroupFragment Consistency 52 Error "link-group-fragment" "0.9" "all" "0.9 §E"
        "If a level claims `fragment_link_groups`, all endpoints of a group's links are in the fragment with the same number."
        "Remove fragment_link_groups.";

    ManifestReads Consistency 60 Error "manifest-reads" "0.6 to 0.9" "all" "0.9 §11.3"
        "Every manifest can be decoded and has no trailing bytes."
        "Restore the chunk of manifests.";
    ManifestChunk Consistency 61 Error "manifest-chunk" "0.6 to 0.9" "all" "0.9 §19"
        "Manifests refer only to chunks that have fragments."
        "Restore the chunk, or the manifests.";
    ManifestFragment Consistency 62 Error "manifest-fragment" "0.6 to 0.9" "all" "0.9 §19"
        "Manifests refer only to existing fragments of a chunk."
        "Restore the fragment index, or the manifests.";
    PresentCount Consistency 63 Error "present-count" "0.9" "all" "0.9 §11.1"
        "num_present equals the number of objects that have a manifest."
        "Set num_present.";
    ObjectIdUnique Consistency 64 Error "object-id-unique" "0.9" "all" "0.9 §11.2"
        "No two rows of the object index have the same id."
        "Assign a different id to one of the objects.";
    ObjectIdsSorted Consistency 65 Error "object-ids-sorted" "0.9" "all" "0.9 §11.2"
        "Object ids are ascending if the index claims object_ids_sorted."
        "Remove object_ids_sorted.";
    ObjectTableReads Consistency 66 Error "object-table-reads" "0.6 to 0.9" "all" "0.9 §11"
        "The tables of ids, objects and groups can be decoded."
        "Restore the table.";
    ObjectAttributeRows Consistency 67 Error "object-attribute-rows" "0.6 to 0.9" "all" "0.9 §11.4"
        "An object attribute has one row for each row of the object index."
        "Write the attribute again.";
    FragmentOwner Consistency 68 Note "fragment-owner" "0.6 to 0.9" "all" "0.9 §11.3"
        "In a store with objects, every fragment with rows belongs to an object."
        "`zvf rechunk` drops fragments without an object.";
    ChunkStored Consistency 69 Warning "chunk-stored" "0.6 to 0.9" "all" "docs/writing.md"
        "Every chunk of ids, of groups and of the tables of objects and groups is stored, and so is the chunk of every blob."
        "Restore the chunk: without it, all of its values read as the fill value. If that is correct, `zvf rechunk` makes a copy that stores and records all chunks.";
    GroupMember Consistency 70 Error "group-member" "0.6 to 0.9" "all" "0.9 §11.5"
        "Every member of a group is the id of an object."
        "Write the groups again.";
    GroupMembersRead Consistency 71 Error "group-members-read" "0.6 to 0.9" "all" "0.9 §11.5"
        "The members of every group can be decoded."
        "Restore the groups.";
    GroupAttributeRows Consistency 72 Error "group-attribute-rows" "0.6 to 0.9" "all" "0.9 §11.6"
        "A group attribute has one row for each group."
        "Write the attribute again.";
    DeletedEmpty Consistency 73 Error "deleted-empty" "0.9" "all" "docs/editing.md"
        "The manifest of an object that is listed as deleted is empty."
        "Remove the id from zvf_deleted, or delete the object again (`zvf edit`).";
    SideReads Consistency 80 Error "side-reads" "0.6 to 0.9" "all" "0.9 §16"
        "The documents of parametric objects, headers and additional kinds of geometry can be decoded."
        "Restore the node that the finding names.";

    VertexChunk Conformance 1 Error "vertex-chunk" "0.6 to 0.9" "all" "0.9 §10.1"
        "Every vertex is inside its chunk, within one rounding step of its number type."
        "Correct chunk_shape, or write the store again (`zvf rechunk`).";
    VertexBin Conformance 2 Warning "vertex-bin" "0.6 to 0.9" "point_cloud" "0.9 §10.2"
        "If fragments are bins, every point is inside its bin, within one rounding step of its number type."
        "Correct base_bin_shape, or write the store again (`zvf rechunk`).";
    VertexBounds Conformance 3 Error "vertex-bounds" "0.6 to 0.9" "all" "0.9 §5.1"
        "The bounds contain every vertex of level 0."
        "Set bounds.";
    ChunkAttribute Conformance 4 Error "chunk-attribute" "0.8.1 to 0.9" "all" "0.9 §10.3"
        "The first component of a chunk coordinate is a valid position in chunk_attribute_values."
        "Restore chunk_attribute_values.";
    FaceWidth Conformance 10 Error "face-width" "0.6 to 0.9" "mesh" "0.9 §19"
        "The links of a mesh have at least three endpoints."
        "Correct link_width or the kind of geometry.";
    FaceDegenerate Conformance 11 Note "face-degenerate" "0.6 to 0.9" "mesh" "0.8 §16.2"
        "The corners of a face are different vertices, except that the last of four or more corners may repeat the one before it."
        "Nothing, if the mesh is meant to have such faces.";
    SelfLoop Conformance 12 Note "self-loop" "0.6 to 0.9" "graph" "0.8 §16.2"
        "The two ends of an edge are different vertices."
        "Nothing, if the graph is meant to have such edges.";
    TreeParent Conformance 13 Error "tree-parent" "0.6 to 0.9" "skeleton" "0.9 §14.3"
        "A vertex of a skeleton has at most one parent."
        "Write the edges again.";
    TreeLoop Conformance 14 Error "tree-loop" "0.6 to 0.9" "skeleton" "0.9 §14.3"
        "The edges of a skeleton form no loop."
        "Write the edges again.";
    LineEnds Conformance 15 Error "line-ends" "0.6 to 0.9" "line" "0.9 §14.2"
        "A line of level 0 has two vertices."
        "Write the object again, or store it as a polyline.";
    ChainLink Conformance 16 Warning "chain-link" "0.9" "line, polyline, streamline" "0.9 §14.2"
        "If a line continues in another chunk, a link joins the two vertices."
        "Write the family again (`zvf rechunk`).";
    PointLinks Conformance 17 Warning "point-links" "0.6 to 0.9" "point_cloud" "0.9 §19"
        "A store that has only points has no links within a level."
        "Correct the kinds of geometry.";
    FamilyThere Conformance 18 Error "family-there" "0.9" "graph, mesh" "0.9 §15"
        "Graphs and meshes have a link family at level 0."
        "Restore the family's zarr.json.";
    ParentThere Conformance 20 Warning "parent-there" "0.9" "all" "upstream page on links, coverage"
        "In every family to a coarser level, every vertex has a parent. Checked only on request."
        "Nothing, if objects were left out on purpose.";

    CountsFall Multiscale 1 Error "counts-fall" "0.6 to 0.9" "all" "0.9 §19"
        "No level has more vertices than the next finer level."
        "Make the coarse levels again.";
    IdsKept Multiscale 2 Error "ids-kept" "0.9" "all" "0.9 §6"
        "If a level claims to preserve object ids, its object rows have the same ids as those of its parent level."
        "Make the coarse levels again.";
    InheritedCount Multiscale 3 Error "inherited-count" "0.9" "all" "0.9 §6"
        "The inherited number of objects equals the number of object rows of the parent level."
        "Make the coarse levels again.";
    CrossTarget Multiscale 4 Error "cross-target" "0.6 to 0.9" "all" "0.9 §13.6"
        "The target level of a family between levels exists."
        "Restore the level, or remove the family.";
    CrossMirror Multiscale 5 Error "cross-mirror" "0.9" "all" "0.9 §17"
        "If links to a coarser level are stored in both directions, both families contain the same links."
        "Make the coarse levels again.";
    CrossCapability Multiscale 6 Warning "cross-capability" "0.6 to 0.9" "all" "0.9 §5.5"
        "The root lists the capability multiscale_links if and only if the store has families between levels."
        "Set format_capabilities.";
    SharedCapability Multiscale 7 Warning "shared-capability" "0.6 to 0.9" "all" "0.9 §5.5"
        "If a level has shared fragments, the root lists the capability `shared_fragments`."
        "Set format_capabilities.";
    LevelStale Multiscale 8 Warning "level-stale" "0.9" "all" "0.9 §17"
        "The coarse levels were made from the current level 0."
        "Run `zvf pyramid STORE --refresh`.";

    ViewerVersion Metadata 901 Warning "viewer-version" "0.6 to 0.9" "all" "upstream viewer, README"
        "Viewers can read the version of the store."
        "Copy it with `zvf migrate STORE NEW`.";
    ViewerAxes Metadata 902 Warning "viewer-axes" "0.6 to 0.9" "all" "upstream viewer, README"
        "The store has three axes, as viewers require."
        "Import the positions again with a third column of zeros, or export three of the axes.";
    ViewerUnit Metadata 903 Warning "viewer-unit" "0.6 to 0.9" "all" "Neuroglancer, coordinate spaces"
        "Every axis has a unit of length, so that viewers show stores and images at the same scale."
        "Set `unit` of the axes in `multiscales` of the root document and run `zvf repair STORE --apply`, or import with `--unit`.";
    ViewerCodec Metadata 904 Warning "viewer-codec" "0.6 to 0.9" "all" "upstream viewer, README"
        "Cells are compressed with codecs that viewers can decode."
        "Copy the store with `zvf rechunk STORE NEW --codec zstd`.";
    ViewerCount Metadata 905 Warning "viewer-count" "0.6 to 0.9" "all" "upstream viewer, README"
        "Every level has a vertex_count, which viewers use to select a level."
        "Copy the store with `zvf migrate STORE NEW`, which counts the vertices.";
    ViewerLevels Metadata 906 Warning "viewer-levels" "0.6 to 0.9" "all" "docs/pyramids.md"
        "A store with more than 5,000,000 vertices has coarse levels, because viewers load a whole level when zoomed out."
        "Run `zvf pyramid STORE`.";
    ViewerMeshChunks Metadata 907 Warning "viewer-mesh-chunks" "0.6 to 0.9" "mesh" "upstream viewer, README"
        "The chunks of a coarse level of a mesh are twice as long as those of the next finer level."
        "Make the levels again: `zvf pyramid STORE --replace --factors 2,2 --chunk-scale 2`.";
    ViewerColumns Metadata 908 Note "viewer-columns" "0.6 to 0.9" "all" "upstream tools, visualise"
        "A vertex attribute has one value per row, because viewers colour by single numbers."
        "Store each value as a separate attribute.";
    ViewerNumbers Metadata 909 Note "viewer-numbers" "0.6 to 0.9" "all" "Neuroglancer, precomputed annotations"
        "Vertex attributes have numbers of at most 32 bits; viewers show wider numbers rounded or not at all."
        "Nothing, if rounded numbers are precise enough; otherwise store a narrower type.";
}

/// The versions that a rule about documents applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    /// Every version: rules about the root.
    All,
    /// From 0.9 on: rules about arrays and families of that layout.
    New,
}

macro_rules! rules {
    ($($rule:ident $depth:ident $number:literal $since:ident $hint:literal;)*) => {
        /// Each rule once. Numbers are never reused or changed.
        const RULE_CHECKS: &[(Rule, Depth, u16, Since, &str)] =
            &[$((Rule::$rule, Depth::$depth, $number, Since::$since, $hint),)*];
    };
}

rules! {
    Version Metadata 10 All "Restore zv_version.";
    VersionNewer Metadata 11 All "Use a newer release of `zvf`.";
    RequiredCapabilities Metadata 12 All "Use a newer release of `zvf`.";
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
    MultiscalesFormat Metadata 34 All "Nothing; readers of this format ignore the member.";
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
    LevelName Structure 21 New "Rename the folder; not all readers find levels with such names.";
    LevelsConsecutive Multiscale 22 New "Restore the missing level, or make all coarse levels again.";
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
    LevelFragments Structure 23 New "Restore the array; without it, only whole chunks can be read.";
    StorageTransformers Metadata 65 New "Correct the member that the finding names.";
    KeyEncoding Metadata 66 New "Correct the member that the finding names.";
    VlenDataType Metadata 67 New "Correct the member that the finding names.";
    VlenFill Metadata 68 New "Correct the member that the finding names.";
    VlenCodecs Metadata 69 New "Correct the member that the finding names.";
    GridChunks Metadata 70 New "Correct the member that the finding names.";
    GridRank Metadata 71 New "Correct the member that the finding names.";
    GridExtent Metadata 72 New "Correct the member that the finding names.";
    GridOriginLength Metadata 73 New "Correct the member that the finding names.";
    GridOriginZero Metadata 74 New "Nothing; readers accept the value.";
    GridBounds Metadata 75 New "Nothing; readers use the grid of each array.";
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
    EncodingReadable Metadata 87 New "Write the store again with the raw encoding.";
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_titles_are_given_once() {
        let all = Check::all();
        assert!(all.len() > 150, "{}", all.len());
        for pair in all.windows(2) {
            assert!(
                pair[0].code < pair[1].code,
                "{} {}",
                pair[0].code,
                pair[1].code
            );
        }
        for info in &all {
            assert!(info.code.number > 0, "{} has no code", info.title);
            assert_eq!(Check::from_code(&info.code.to_string()), Some(info.check));
            assert_eq!(
                all.iter().filter(|one| one.title == info.title).count(),
                1,
                "{}",
                info.title
            );
            assert!(
                info.rule.ends_with('.') && info.hint.ends_with('.'),
                "{}",
                info.title
            );
        }
    }
}
