//! PLY: elements with properties, as text or as binary numbers in either byte order.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::PrimitiveBuilder;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use zvf_encode::error::OrBug;
use zvf_write::decimal::out_of_range;
use zvf_write::{Kind, narrow};

use crate::bytes::Bytes;
use crate::error::{ConvertError, InFile, shown};
use crate::numbers::whole_number;
use crate::options::{FileLimits, Options};
use crate::records::source::{TableSource, TakeBatch, TakeLink};

/// Most elements of a file, and most properties of an element.
const MOST: usize = 4096;

/// The number types; each has two names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScalarType {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl ScalarType {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "char" | "int8" => Self::I8,
            "uchar" | "uint8" => Self::U8,
            "short" | "int16" => Self::I16,
            "ushort" | "uint16" => Self::U16,
            "int" | "int32" => Self::I32,
            "uint" | "uint32" => Self::U32,
            "float" | "float32" => Self::F32,
            "double" | "float64" => Self::F64,
            _ => return None,
        })
    }

    fn column(self) -> DataType {
        match self {
            Self::I8 => DataType::Int8,
            Self::U8 => DataType::UInt8,
            Self::I16 => DataType::Int16,
            Self::U16 => DataType::UInt16,
            Self::I32 => DataType::Int32,
            Self::U32 => DataType::UInt32,
            Self::F32 => DataType::Float32,
            Self::F64 => DataType::Float64,
        }
    }

    fn float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Whether a value is in the range of the type and, for integer types, a whole number.
    fn holds(self, value: f64) -> bool {
        let (low, high) = match self {
            Self::I8 => (-128.0, 127.0),
            Self::U8 => (0.0, 255.0),
            Self::I16 => (-32768.0, 32767.0),
            Self::U16 => (0.0, 65535.0),
            Self::I32 => (-2_147_483_648.0, 2_147_483_647.0),
            Self::U32 => (0.0, 4_294_967_295.0),
            Self::F32 | Self::F64 => return true,
        };
        (low..=high).contains(&value) && value.fract() == 0.0
    }

    /// The value after rounding to this type.
    fn stored(self, value: f64) -> f64 {
        match self {
            Self::F32 => f64::from(narrow(value)),
            _ => value,
        }
    }

    fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct ElementProperty {
    name: String,
    /// The type of the count of a list; `None` for a scalar property.
    count: Option<ScalarType>,
    scalar: ScalarType,
}

#[derive(Debug, Clone, PartialEq)]
struct PlyElement {
    name: String,
    count: u64,
    properties: Vec<ElementProperty>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlyEncoding {
    Text,
    Binary { big: bool },
}

#[derive(Debug, Clone, PartialEq)]
struct PlyHeader {
    form: PlyEncoding,
    elements: Vec<PlyElement>,
}

/// An open file.
#[derive(Debug)]
pub(crate) struct Ply {
    path: PathBuf,
    header: PlyHeader,
    schema: SchemaRef,
    limits: FileLimits,
    /// The kind that the options state.
    kind: Option<Kind>,
}

/// The numbers of a file, in order. A line of text is one row of an element.
struct PlyNumbers<'a> {
    bytes: &'a mut Bytes,
    form: PlyEncoding,
    limits: FileLimits,
    words: Vec<String>,
    next: usize,
}

impl PlyNumbers<'_> {
    /// Begins a row; in text, reads its line.
    fn row(&mut self) -> Result<(), ConvertError> {
        if self.form != PlyEncoding::Text {
            return Ok(());
        }
        loop {
            let Some(line) = self.bytes.line(self.limits.line)? else {
                return Err(self.bytes.bad("the end of the file", "another row"));
            };
            let Ok(text) = std::str::from_utf8(&line) else {
                return Err(self
                    .bytes
                    .bad("bytes that are not UTF-8", "a line of numbers"));
            };
            self.words = text.split_ascii_whitespace().map(str::to_owned).collect();
            self.next = 0;
            if !self.words.is_empty() {
                return Ok(());
            }
        }
    }

    /// Ends a row; fails if its line has more fields.
    fn end(&mut self) -> Result<(), ConvertError> {
        match self.words.get(self.next) {
            Some(word) if self.form == PlyEncoding::Text => {
                Err(self.bytes.bad(shown(word), "the end of the line"))
            }
            _ => Ok(()),
        }
    }

    /// Fails if more rows follow: in text a line that begins with a number, in binary anything but padding with zeros or white space.
    fn last(&mut self) -> Result<(), ConvertError> {
        let expected = "the end of the file, after as many rows as the header states";
        if self.form == PlyEncoding::Text {
            while let Some(line) = self.bytes.line(self.limits.line)? {
                let text = String::from_utf8_lossy(&line);
                let word = text.split_ascii_whitespace().next();
                if let Some(word) = word.filter(|word| word.parse::<f64>().is_ok()) {
                    return Err(self.bytes.bad(shown(word), expected));
                }
            }
            return Ok(());
        }
        let mut block = Vec::new();
        loop {
            self.bytes.block(1 << 16, &mut block)?;
            if block.is_empty() {
                return Ok(());
            }
            let pads = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
            if !block.iter().all(pads) {
                return Err(self.bytes.bad("more bytes", expected));
            }
        }
    }

    /// The next number.
    fn take(&mut self, scalar: ScalarType, what: &str) -> Result<f64, ConvertError> {
        let PlyEncoding::Binary { big } = self.form else {
            let Some(word) = self.words.get(self.next) else {
                return Err(self
                    .bytes
                    .bad("the end of the line", format!("{what}, a number")));
            };
            self.next = self.next.saturating_add(1);
            return match word.parse::<f64>() {
                Ok(value)
                    if scalar.holds(value)
                        && !out_of_range(word, value)
                        && scalar.stored(value).is_finite() == value.is_finite() =>
                {
                    Ok(value)
                }
                _ => Err(self
                    .bytes
                    .bad(shown(word), format!("{what}, a number of its type"))),
            };
        };
        macro_rules! number {
            ($type:ty) => {{
                let mut raw: [u8; size_of::<$type>()] = self.bytes.take(what)?;
                if big {
                    raw.reverse();
                }
                f64::from(<$type>::from_le_bytes(raw))
            }};
        }
        Ok(match scalar {
            ScalarType::I8 => number!(i8),
            ScalarType::U8 => number!(u8),
            ScalarType::I16 => number!(i16),
            ScalarType::U16 => number!(u16),
            ScalarType::I32 => number!(i32),
            ScalarType::U32 => number!(u32),
            ScalarType::F32 => number!(f32),
            ScalarType::F64 => number!(f64),
        })
    }

    /// Reads the number of values in a list.
    fn count(&mut self, scalar: ScalarType, what: &str) -> Result<u64, ConvertError> {
        let count = self.take(scalar, what)?;
        let most = self.limits.held;
        match whole_number(count) {
            Some(count) if count <= most => Ok(count),
            Some(_) => {
                let place = InFile::Byte(self.bytes.at());
                let what = format!("numbers of {what}");
                Err(ConvertError::limit(&self.bytes.path, place, what, most))
            }
            None => Err(self
                .bytes
                .bad(format!("{count} numbers of {what}"), "0 or more")),
        }
    }

    /// Skips a property.
    fn skip(&mut self, property: &ElementProperty) -> Result<(), ConvertError> {
        let count = match property.count {
            Some(scalar) => self.count(scalar, &property.name)?,
            None => 1,
        };
        if self.form == PlyEncoding::Text {
            for _ in 0..count {
                self.take(property.scalar, &property.name)?;
            }
            return Ok(());
        }
        let size = count.saturating_mul(property.scalar.size() as u64);
        self.bytes
            .skip(size, &format!("{}, {size} bytes", property.name))
    }
}

impl Ply {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, ConvertError> {
        let mut bytes = Bytes::open(path)?;
        let header = header(&mut bytes, options.limits.line)?;
        let Some(vertex) = header
            .elements
            .iter()
            .find(|element| element.name == "vertex")
        else {
            return Err(bytes.bad("no element vertex", "one in the header"));
        };
        let fields = vertex
            .properties
            .iter()
            .filter(|property| property.count.is_none());
        let fields =
            fields.map(|property| Field::new(&property.name, property.scalar.column(), false));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Self {
            path: path.to_owned(),
            header,
            schema,
            limits: options.limits,
            kind: options.kind,
        })
    }

    /// The element that holds links, and the kind that it implies. An element without rows counts only if the options state its kind.
    fn link(&self) -> Option<(&PlyElement, Kind)> {
        let of = |name: &str, kind: Kind| {
            let counts = |element: &PlyElement| element.count > 0 || self.kind == Some(kind);
            let mut elements = self.header.elements.iter();
            elements.find(|element| element.name == name && counts(element))
        };
        let faces = of("face", Kind::Mesh).filter(|faces| faces.properties.iter().any(corners));
        let faces = faces.map(|faces| (faces, Kind::Mesh));
        let ends = |edges: &&PlyElement| {
            ["vertex1", "vertex2"].iter().all(|name| {
                edges
                    .properties
                    .iter()
                    .any(|property| property.name == *name && property.count.is_none())
            })
        };
        let edges = of("edge", Kind::Graph)
            .filter(ends)
            .map(|edges| (edges, Kind::Graph));
        match self.kind {
            None | Some(Kind::Mesh | Kind::PointCloud) => faces.or(edges),
            Some(_) => edges.or(faces),
        }
    }

    /// Reads the file and calls `take` at each row of the element `name`. Reads to the end of the file, unless another element holds the links.
    fn walk(
        &self,
        name: &str,
        take: &mut dyn FnMut(&mut PlyNumbers<'_>) -> Result<(), ConvertError>,
    ) -> Result<(), ConvertError> {
        let mut bytes = Bytes::open(&self.path)?;
        if header(&mut bytes, self.limits.line)? != self.header {
            return Err(bytes.bad(
                "another header",
                "that of the first pass: the file changed while it was read",
            ));
        }
        let mut numbers = PlyNumbers {
            bytes: &mut bytes,
            form: self.header.form,
            limits: self.limits,
            words: Vec::new(),
            next: 0,
        };
        for element in &self.header.elements {
            // Rows without properties have no bytes, so their count cannot be checked.
            if element.properties.is_empty() {
                continue;
            }
            for _ in 0..element.count {
                numbers.row()?;
                if element.name == name {
                    take(&mut numbers)?;
                } else {
                    element
                        .properties
                        .iter()
                        .try_for_each(|property| numbers.skip(property))?;
                }
                numbers.end()?;
            }
            // The rest of the file is read with the links.
            if element.name == name && self.link().is_some_and(|(link, _)| link.name != name) {
                return Ok(());
            }
        }
        numbers.last()
    }
}

/// The names of properties that list the corners of a face.
const CORNERS: [&str; 2] = ["vertex_indices", "vertex_index"];

/// Whether a property holds the corners of a face.
fn corners(property: &ElementProperty) -> bool {
    property.count.is_some()
        && !property.scalar.float()
        && CORNERS.contains(&property.name.as_str())
}

impl TableSource for Ply {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn vertices(&self, rows: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError> {
        let Some(vertex) = self
            .header
            .elements
            .iter()
            .find(|element| element.name == "vertex")
        else {
            return Ok(());
        };
        let mut held = BufferedRows::new(vertex);
        let mut flush = |held: &mut BufferedRows| match held.batch(&self.schema)? {
            Some(batch) => take(&batch),
            None => Ok(()),
        };
        self.walk("vertex", &mut |numbers| {
            for (property, column) in vertex.properties.iter().zip(&mut held.columns) {
                match column {
                    Some(column) => {
                        let value = numbers.take(property.scalar, &property.name)?;
                        column.push(value);
                    }
                    None => numbers.skip(property)?,
                }
            }
            held.rows = held.rows.saturating_add(1);
            if held.rows >= rows {
                flush(&mut held)?;
            }
            Ok(())
        })?;
        flush(&mut held)
    }

    fn linked(&self) -> Option<Kind> {
        self.link().map(|(_, kind)| kind)
    }

    fn links(&self, take: &mut TakeLink<'_>) -> Result<(), ConvertError> {
        let Some((element, kind)) = self.link() else {
            return Ok(());
        };
        let of = |name: &str| element.properties.iter().position(|one| one.name == name);
        let reversed = kind == Kind::Graph && of("vertex2") < of("vertex1");
        let mut ends: Vec<u64> = Vec::new();
        self.walk(&element.name, &mut |numbers| {
            let place = InFile::Byte(numbers.bytes.at());
            ends.clear();
            for property in &element.properties {
                let name = property.name.as_str();
                let count = match (kind, property.count) {
                    (Kind::Mesh, Some(scalar)) if corners(property) && ends.is_empty() => {
                        numbers.count(scalar, name)?
                    }
                    (Kind::Graph, None) if matches!(name, "vertex1" | "vertex2") => 1,
                    _ => {
                        numbers.skip(property)?;
                        continue;
                    }
                };
                for _ in 0..count {
                    let end = numbers.take(property.scalar, name)?;
                    let expected = "the number of a vertex, from 0";
                    ends.push(
                        whole_number(end)
                            .ok_or_else(|| numbers.bytes.bad(format!("vertex {end}"), expected))?,
                    );
                }
            }
            if kind == Kind::Mesh && ends.len() < 3 {
                let found = format!("{} corners of a face", ends.len());
                return Err(ConvertError::malformed(
                    &self.path,
                    place,
                    found,
                    "3 or more",
                ));
            }
            if reversed {
                ends.reverse();
            }
            take(&ends, place)
        })
    }

    fn notes(&self) -> Vec<String> {
        let link = self.link();
        let mut notes = Vec::new();
        for element in &self.header.elements {
            let own = link.is_some_and(|(own, _)| own == element);
            if element.name == "vertex" {
                for property in element
                    .properties
                    .iter()
                    .filter(|property| property.count.is_some())
                {
                    notes.push(format!(
                        "lists {} of vertices are not kept",
                        shown(&property.name)
                    ));
                }
            } else if own {
                let ends = |property: &&ElementProperty| {
                    !corners(property) && !matches!(property.name.as_str(), "vertex1" | "vertex2")
                };
                for property in element.properties.iter().filter(ends) {
                    notes.push(format!(
                        "{} of {} elements are not kept",
                        shown(&property.name),
                        element.name
                    ));
                }
            } else if element.count > 0 {
                notes.push(format!("elements {} are not kept", shown(&element.name)));
            }
        }
        notes
    }
}

/// Buffered rows of vertices.
struct BufferedRows {
    rows: usize,
    /// One for each property; `None` for lists.
    columns: Vec<Option<NumberColumn>>,
}

/// Numbers of one type.
struct NumberColumn {
    scalar: ScalarType,
    values: Vec<f64>,
}

impl NumberColumn {
    fn push(&mut self, value: f64) {
        self.values.push(value);
    }

    /// Moves the values into a column. Exact, except for float32 in text, which is rounded.
    fn finish(&mut self) -> ArrayRef {
        macro_rules! whole {
            ($type:ty, $native:ty) => {{
                let mut list = PrimitiveBuilder::<$type>::with_capacity(self.values.len());
                for value in self.values.drain(..) {
                    list.append_value(value as $native);
                }
                Arc::new(list.finish()) as ArrayRef
            }};
        }
        match self.scalar {
            ScalarType::I8 => whole!(Int8Type, i8),
            ScalarType::U8 => whole!(UInt8Type, u8),
            ScalarType::I16 => whole!(Int16Type, i16),
            ScalarType::U16 => whole!(UInt16Type, u16),
            ScalarType::I32 => whole!(Int32Type, i32),
            ScalarType::U32 => whole!(UInt32Type, u32),
            ScalarType::F32 => {
                let mut list = PrimitiveBuilder::<Float32Type>::with_capacity(self.values.len());
                self.values
                    .drain(..)
                    .for_each(|value| list.append_value(narrow(value)));
                Arc::new(list.finish())
            }
            ScalarType::F64 => {
                let mut list = PrimitiveBuilder::<Float64Type>::with_capacity(self.values.len());
                self.values
                    .drain(..)
                    .for_each(|value| list.append_value(value));
                Arc::new(list.finish())
            }
        }
    }
}

impl BufferedRows {
    fn new(vertex: &PlyElement) -> Self {
        let column = |property: &ElementProperty| {
            property.count.is_none().then_some(NumberColumn {
                scalar: property.scalar,
                values: Vec::new(),
            })
        };
        Self {
            rows: 0,
            columns: vertex.properties.iter().map(column).collect(),
        }
    }

    /// The rows as a batch; `None` if there are none.
    fn batch(&mut self, schema: &SchemaRef) -> Result<Option<RecordBatch>, ConvertError> {
        let columns = self.columns.iter_mut().flatten();
        let columns: Vec<ArrayRef> = columns.map(NumberColumn::finish).collect();
        if std::mem::take(&mut self.rows) == 0 || columns.is_empty() {
            return Ok(None);
        }
        let batch = RecordBatch::try_new(Arc::clone(schema), columns);
        Ok(Some(batch.or_bug("columns of vertices")?))
    }
}

/// Reads the lines up to `end_header`.
fn header(bytes: &mut Bytes, most: u64) -> Result<PlyHeader, ConvertError> {
    let mut form = None;
    let mut elements: Vec<PlyElement> = Vec::new();
    for number in 1_u64.. {
        let path = bytes.path.clone();
        let bad = |found: String, expected: &str| {
            Err(ConvertError::malformed(
                &path,
                InFile::Line(number),
                found,
                expected,
            ))
        };
        let too_many =
            |what: &str| ConvertError::limit(&path, InFile::Line(number), what, MOST as u64);
        let Some(line) = bytes.line(most)? else {
            return bad("the end of the file".to_owned(), "a line end_header");
        };
        let Ok(line) = std::str::from_utf8(&line) else {
            return bad("bytes that are not UTF-8".to_owned(), "a line of text");
        };
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if number == 1 {
            if words != ["ply"] {
                return bad(shown(line), "ply");
            }
            continue;
        }
        match words.as_slice() {
            [] | ["comment" | "obj_info", ..] => {}
            ["format", name, "1.0"] if form.is_none() => {
                form = Some(match *name {
                    "ascii" => PlyEncoding::Text,
                    "binary_little_endian" => PlyEncoding::Binary { big: false },
                    "binary_big_endian" => PlyEncoding::Binary { big: true },
                    _ => {
                        return bad(
                            shown(name),
                            "ascii, binary_little_endian or binary_big_endian",
                        );
                    }
                });
            }
            ["element", name, count] => {
                let Ok(count) = count.parse::<u64>() else {
                    return bad(shown(count), "a number of elements");
                };
                if elements.len() >= MOST {
                    return Err(too_many("elements"));
                }
                if elements.iter().any(|other| other.name == *name) {
                    return bad(
                        format!("a second element {}", shown(name)),
                        "different names",
                    );
                }
                elements.push(PlyElement {
                    name: (*name).to_owned(),
                    count,
                    properties: Vec::new(),
                });
            }
            ["property", rest @ ..] => {
                let property = match rest {
                    ["list", count, scalar, name] => {
                        let count = ScalarType::of(count).filter(|count| !count.float());
                        count
                            .zip(ScalarType::of(scalar))
                            .map(|(count, scalar)| (Some(count), scalar, *name))
                    }
                    [scalar, name] => ScalarType::of(scalar).map(|scalar| (None, scalar, *name)),
                    _ => None,
                };
                let (Some((count, scalar, name)), Some(element)) = (property, elements.last_mut())
                else {
                    return bad(
                        shown(line),
                        "`property TYPE NAME` or `property list TYPE TYPE NAME`, after an element",
                    );
                };
                let again = element.properties.iter().any(|other| {
                    let both = [other.name.as_str(), name].map(|one| CORNERS.contains(&one));
                    other.name == name || both == [true; 2]
                });
                if element.properties.len() >= MOST {
                    return Err(too_many("properties of an element"));
                }
                if again {
                    return bad(
                        format!("a second property {}", shown(name)),
                        "different names",
                    );
                }
                element.properties.push(ElementProperty {
                    name: name.to_owned(),
                    count,
                    scalar,
                });
            }
            ["end_header"] => {
                let Some(form) = form else {
                    return bad("end_header".to_owned(), "a line format before it");
                };
                return Ok(PlyHeader { form, elements });
            }
            _ => {
                return bad(
                    shown(line),
                    "format, element, property, comment, obj_info or end_header",
                );
            }
        }
    }
    Err(bytes.bad("a header without an end", "end_header"))
}
