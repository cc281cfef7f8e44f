//! Options about files, which jobs and commands that read files share.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use zvf_convert::{ObjectIds, Options};

use crate::checks::at_most_one;
use crate::values::pairs;
use crate::{ColumnName, ColumnType, DecimalMark, Delimiter, JobError, SpaceBox, SpaceName};

options! {
    /// How a table is read.
    TableOptions {
        /// Tables: the one character between columns; `tab` for a tab [default: a comma, or ; or a tab if the first line has no
        /// comma; a tab in .tsv; the separator of the first line in .txt; blanks in .xyz]
        #[arg(long, value_name = "C")]
        delimiter: Option<Delimiter>,
        /// Tables of text: the decimal point of numbers, `.` or `,`
        #[arg(long, value_name = "C", default_value = ".")]
        decimal: DecimalMark,
        /// Tables of separated values: the names of the columns, of a file without a header line
        #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
        columns_in: Option<Vec<String>>,
        /// Tables of text: the words for missing values, in every column; an empty field is always missing, and with --na '' nothing else [default:
        /// NA, NaN and null, except in columns of texts]
        #[arg(long, value_name = "WORD,..", value_delimiter = ',', allow_hyphen_values = true)]
        na: Option<Vec<String>>,
        /// Tables: another name for a column; all other options use the new one
        #[arg(long, value_name = "OLD=NEW", value_parser = crate::parse_pair::<ColumnName>)]
        #[serde(with = "pairs")]
        #[schemars(with = "BTreeMap<String, ColumnName>")]
        rename: Vec<(String, ColumnName)>,
        /// Tables of text: the type of a column: text, bool, int32, float64 and so on [default: a type that holds all its values]
        #[arg(long = "attribute-type", value_name = "NAME=TYPE", value_parser = crate::parse_pair::<ColumnType>)]
        #[serde(with = "pairs")]
        #[schemars(with = "BTreeMap<String, ColumnType>")]
        attribute_types: Vec<(String, ColumnType)>,
    }
}

/// Refuses a name that is given twice.
fn once<V>(member: &str, pairs: &[(String, V)]) -> Result<(), JobError> {
    let mut known = HashSet::new();
    match pairs.iter().find(|(name, _)| !known.insert(name)) {
        Some((name, _)) => {
            let found = format!("{name:?} twice");
            Err(JobError::option(member, found, "each name once"))
        }
        None => Ok(()),
    }
}

impl TableOptions {
    pub(crate) fn check(&self) -> Result<(), JobError> {
        once("rename", &self.rename)?;
        once("attribute_types", &self.attribute_types)
    }

    /// Sets these options in the options of a reader.
    pub fn apply(&self, options: &mut Options) {
        options.delimiter = self.delimiter.as_ref().map(|one| *one.value());
        options.decimal_comma = *self.decimal.value();
        options.columns_in.clone_from(&self.columns_in);
        options.na = self.na.as_ref().map(|words| {
            let words = words.iter().filter(|word| !word.is_empty());
            words.cloned().collect()
        });
        let names = self.rename.iter();
        let names = names.map(|(old, new)| (old.clone(), new.value().clone()));
        options.rename = names.collect();
        let types = self.attribute_types.iter();
        let types = types.map(|(name, kind)| (name.clone(), *kind.value()));
        options.attribute_types = types.collect();
    }

    /// The options of a reader.
    #[must_use]
    pub fn options(&self) -> Options {
        let mut options = Options::default();
        self.apply(&mut options);
        options
    }
}

options! {
    /// How tables of vertices and links are read.
    ColumnOptions {
        /// How each of them is read.
        #[command(flatten)]
        #[serde(flatten)]
        table: TableOptions,
        /// Tables with links: the column of the vertex table by which links name vertices: whole numbers or texts without repeats [default: links name rows, from 0]
        #[arg(long, value_name = "COLUMN", conflicts_with = "links_by_row")]
        node_id: Option<String>,
        /// Tables with links: links name rows of the vertex table, counted from 0, even if it has a column id, node_id or index
        #[arg(long)]
        links_by_row: bool,
        /// Tables with links: the columns of the links that name vertices [default: vertices, or vertices_0, vertices_1, ..; source, target;
        /// from, to; child, parent; a, b, c]
        #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
        link_columns: Option<Vec<String>>,
    }
}

impl ColumnOptions {
    pub(crate) fn check(&self) -> Result<(), JobError> {
        self.table.check()?;
        let by_row = ("links_by_row", self.links_by_row);
        at_most_one(&[("node_id", self.node_id.is_some()), by_row])
    }

    /// Sets these options in the options of a reader. The ids of vertices in memory take at most `memory_budget` bytes.
    pub fn apply(&self, options: &mut Options, memory_budget: Option<u64>) {
        self.table.apply(options);
        options.node_id.clone_from(&self.node_id);
        options.links_by_row = self.links_by_row;
        options.link_columns.clone_from(&self.link_columns);
        if let Some(bytes) = memory_budget {
            options.limits.ids = bytes;
        }
    }
}

options! {
    /// Which ids the objects of several files get.
    IdOptions {
        /// Gives all objects new ids, counted from 0, or from the largest id of the store plus 1
        #[arg(long, group = "rule")]
        new_ids: bool,
        /// Adds N to the ids of one file, 2 N to those of the next, and so on. `import` and `merge` begin with the second file, `append` and
        /// --part with the first
        #[arg(long, value_name = "N", group = "rule", allow_negative_numbers = true)]
        id_offset: Option<i64>,
        /// Each file is one object, by the only number in its name, such as 17 of sub-017.csv
        #[arg(long, group = "rule")]
        id_from_file: bool,
    }
}

impl IdOptions {
    pub(crate) fn check(&self) -> Result<(), JobError> {
        at_most_one(&[
            ("new_ids", self.new_ids),
            ("id_offset", self.id_offset.is_some()),
            ("id_from_file", self.id_from_file),
        ])
    }

    /// The rule for the ids. `first` is the number of the first file, by which offsets are multiplied.
    #[must_use]
    pub fn rule(&self, first: i64) -> ObjectIds {
        match (self.id_offset, self.id_from_file, self.new_ids) {
            (Some(step), _, _) => ObjectIds::Offset { step, first },
            (_, true, _) => ObjectIds::FromFile,
            (_, _, true) => ObjectIds::New,
            _ => ObjectIds::Kept,
        }
    }
}

options! {
    /// The part of files of points that is read.
    PartOptions {
        /// LAS and LAZ: only the points in this box, both ends included, in coordinates of the file: x,y,z of both corners, or ranges such as x=0:10,y=5:;
        /// only the chunks of a COPC file that meet it are read
        #[arg(long, value_name = "LO:HI|AXIS=LO:HI,..", allow_hyphen_values = true)]
        bbox: Option<SpaceBox>,
        /// COPC: only the points of the levels down to the first one with a spacing of at most R, in units of the file
        #[arg(long, value_name = "R")]
        resolution: Option<f64>,
    }
}

impl PartOptions {
    pub(crate) fn check(&self) -> Result<(), JobError> {
        match self.resolution {
            Some(one) if one.is_nan() || one <= 0.0 => Err(JobError::option(
                "resolution",
                one.to_string(),
                "a number above 0",
            )),
            _ => Ok(()),
        }
    }

    /// Sets these options in the options of a reader.
    pub fn apply(&self, options: &mut Options) {
        options.bbox = self.bbox.as_ref().map(|bbox| bbox.value().clone());
        options.resolution = self.resolution;
    }
}

options! {
    /// The map of the positions of files.
    MapOptions {
        /// Positions are mapped by the affine of FILE, a path or URL of an image (.nii, .nii.gz, .mgz) or of a text of 4x4 numbers; not for tractograms
        #[arg(long, value_name = "FILE")]
        #[schemars(extend("format" = "path"))]
        affine: Option<PathBuf>,
        /// Positions are multiplied by S, before --affine; one number for all axes of space; not for tractograms
        #[arg(long, value_name = "S|SX,SY,..", value_delimiter = ',', allow_hyphen_values = true)]
        scale: Option<Vec<f64>>,
    }
}

impl MapOptions {
    /// Sets these options in the options of a reader.
    pub fn apply(&self, options: &mut Options) {
        options.affine.clone_from(&self.affine);
        options.scale.clone_from(&self.scale);
    }
}

options! {
    /// Unit, frame and map of the positions of files that are added to a store.
    PlaceOptions {
        /// Units of the files, e.g. micrometer, um, nm; 8nm multiplies positions by 8; t=ms is the unit of an axis of time. Positions are
        /// converted to the units of the store [default: as the files state, else the map with which the store was made]
        #[arg(long, value_name = "UNIT,..")]
        unit: Option<String>,
        /// The map of the positions.
        #[command(flatten)]
        #[serde(flatten)]
        map: MapOptions,
        /// Tractograms: the frame in which positions are stored [default: the frame of the store]
        #[arg(long, value_enum, value_name = "FRAME")]
        space: Option<SpaceName>,
    }
}

impl PlaceOptions {
    /// Sets these options in the options of a reader.
    pub fn apply(&self, options: &mut Options) {
        options.unit.clone_from(&self.unit);
        self.map.apply(options);
        options.space = self.space.map(Into::into);
    }
}
