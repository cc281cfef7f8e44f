//! How the columns of tables are read.

use clap::Args;
use zvf_convert::Options;
use zvf_write::{AttributeType, NumberType};

/// How a table is read.
#[derive(Debug, Default, Args)]
pub(crate) struct TableArgs {
    /// Tables: the one character between columns; `tab` for a tab [default: a comma, or ; or a tab if the first line has no
    /// comma; a tab in .tsv; the separator of the first line in .txt; blanks in .xyz]
    #[arg(long, value_name = "C", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// Tables of text: the decimal point of numbers, `.` or `,`
    #[arg(long, value_name = "C", value_parser = ["." , ","], default_value = ".")]
    pub(crate) decimal: String,
    /// Tables of separated values: the names of the columns, of a file without a header line
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    pub(crate) columns_in: Option<Vec<String>>,
    /// Tables of text: the words for missing values, in every column; an empty field is always missing, with --na '' only an empty one
    /// [default: NA, NaN and null, in columns whose other values are not texts]
    #[arg(
        long,
        value_name = "WORD,..",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub(crate) na: Option<Vec<String>>,
    /// Tables: another name for a column; all other options use the new one
    #[arg(long, value_name = "OLD=NEW", value_parser = pair)]
    pub(crate) rename: Vec<(String, String)>,
    /// Tables of text: the type of a column: text, bool, int32, float64 and so on [default: a type that holds all its values]
    #[arg(long, value_name = "NAME=TYPE", value_parser = typed)]
    pub(crate) attribute_type: Vec<(String, AttributeType)>,
}

/// How tables of vertices and links are read.
#[derive(Debug, Default, Args)]
pub(crate) struct ColumnArgs {
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// Tables with links: the column of the vertex table whose values name vertices in the links: whole numbers or texts, each once
    /// [default: links name rows, from 0]
    #[arg(long, value_name = "COLUMN", conflicts_with = "links_by_row")]
    pub(crate) node_id: Option<String>,
    /// Tables with links: they name rows of the vertex table, from 0, whatever its columns id, node_id or index have
    #[arg(long)]
    pub(crate) links_by_row: bool,
    /// Tables with links: the columns of the links that name vertices [default: vertices, or vertices_0, vertices_1, ..; source, target;
    /// from, to; child, parent; a, b, c]
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    pub(crate) link_columns: Option<Vec<String>>,
}

impl TableArgs {
    /// Whether any of them is given.
    fn any(&self) -> bool {
        let Self {
            delimiter,
            decimal,
            columns_in,
            na,
            rename,
            attribute_type,
        } = self;
        delimiter.is_some()
            || decimal == ","
            || columns_in.is_some()
            || na.is_some()
            || !rename.is_empty()
            || !attribute_type.is_empty()
    }

    /// Sets them in the options of a reader.
    pub(crate) fn apply(&self, options: &mut Options) {
        options.delimiter = self.delimiter.or(options.delimiter);
        options.decimal_comma = self.decimal == ",";
        options.columns_in.clone_from(&self.columns_in);
        options.na = self.na.as_ref().map(|words| {
            let words = words.iter().filter(|word| !word.is_empty());
            words.cloned().collect()
        });
        options.rename.clone_from(&self.rename);
        options.attribute_types.clone_from(&self.attribute_type);
    }

    /// The options of a reader.
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::default();
        self.apply(&mut options);
        options
    }
}

impl ColumnArgs {
    /// Whether any of them is given.
    pub(crate) fn any(&self) -> bool {
        self.table.any()
            || self.node_id.is_some()
            || self.links_by_row
            || self.link_columns.is_some()
    }

    /// Sets them in the options of a reader; ids of vertices keep to the memory budget.
    pub(crate) fn apply(&self, options: &mut Options, memory_budget: Option<u64>) {
        self.table.apply(options);
        options.node_id.clone_from(&self.node_id);
        options.links_by_row = self.links_by_row;
        options.link_columns.clone_from(&self.link_columns);
        if let Some(bytes) = memory_budget {
            options.limits.ids = bytes;
        }
    }
}

/// One character of one byte.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err(format!(
            "found {text:?}, expected one character such as ; or the word tab"
        )),
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() => {
            Ok((old.to_owned(), new.to_owned()))
        }
        _ => Err(format!(
            "found {text:?}, expected the old name, = and the new name"
        )),
    }
}

fn typed(text: &str) -> Result<(String, AttributeType), String> {
    let (name, word) = pair(text).map_err(|_| {
        format!("found {text:?}, expected a name, = and a type such as text or int64")
    })?;
    if word == "text" {
        return Ok((name, AttributeType::Category));
    }
    let number = NumberType::from_name(&word).map(AttributeType::Number);
    let number = number.ok_or_else(|| {
        format!("found {word:?}, expected text, bool, or a type of numbers such as int64")
    })?;
    Ok((name, number))
}
