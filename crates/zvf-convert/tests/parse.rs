//! Reads files with minimal parsers that share no code with the readers under test.

use std::collections::BTreeMap;

/// Nodes by id: type, position, radius, parent.
pub(crate) type Nodes = BTreeMap<i64, (i64, [u32; 3], u32, i64)>;

/// float32 numbers as bits, so that equality means the same number.
pub(crate) fn bits(text: &str) -> u32 {
    text.parse::<f32>().unwrap().to_bits()
}

pub(crate) fn swc(text: &str) -> Nodes {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut nodes = Nodes::new();
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let f: Vec<&str> = line.split_whitespace().collect();
        let node = (
            f[1].parse().unwrap(),
            [bits(f[2]), bits(f[3]), bits(f[4])],
            bits(f[5]),
            f[6].parse().unwrap(),
        );
        assert!(nodes.insert(f[0].parse().unwrap(), node).is_none());
    }
    nodes
}

/// The sorted positions, and the faces by the positions of their corners, each beginning at its lowest corner.
pub(crate) fn obj(text: &str) -> (Vec<Vec<u32>>, Vec<Vec<Vec<u32>>>) {
    let words = |word: &'static str| {
        text.lines()
            .filter_map(move |line| line.strip_prefix(word))
            .map(|rest| rest.split_whitespace().collect::<Vec<_>>())
    };
    let vertices: Vec<Vec<u32>> = words("v ")
        .map(|fields| fields.into_iter().map(bits).collect())
        .collect();
    let corner = |field: &str| {
        let number = field.split('/').next().unwrap().parse::<usize>().unwrap();
        vertices[number - 1].clone()
    };
    let faces = words("f ")
        .map(|fields| turned(fields.into_iter().map(corner).collect()))
        .collect();
    (sorted(vertices), sorted(faces))
}

/// A ring, rotated so that it begins at its lowest member.
pub(crate) fn turned<T: Ord + Clone>(mut ring: Vec<T>) -> Vec<T> {
    let lowest = (0..ring.len()).min_by_key(|&at| {
        let mut ring = ring.clone();
        ring.rotate_left(at);
        ring
    });
    ring.rotate_left(lowest.unwrap_or(0));
    ring
}

/// Triangles of a binary file.
pub(crate) fn stl(bytes: &[u8]) -> Vec<Vec<Vec<u32>>> {
    let count = u32::from_le_bytes(bytes[80..84].try_into().unwrap()) as usize;
    assert_eq!(bytes.len(), 84 + 50 * count);
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let triangle = |at: usize| {
        let corner = |corner: usize| (0..3).map(move |axis| word(at + 12 + 12 * corner + 4 * axis));
        turned((0..3).map(|at| corner(at).collect()).collect())
    };
    sorted(
        (0..count)
            .map(|number| triangle(84 + 50 * number))
            .collect(),
    )
}

/// Streamlines: the points with their scalars, then the properties.
pub(crate) type Lines = Vec<(Vec<Vec<u32>>, Vec<u32>)>;

/// The streamlines of a little-endian file.
pub(crate) fn trk(bytes: &[u8]) -> Lines {
    let short = |at: usize| i16::from_le_bytes(bytes[at..at + 2].try_into().unwrap());
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let scalars = usize::try_from(short(36)).unwrap();
    let properties = usize::try_from(short(238)).unwrap();
    let mut at = 1000;
    let mut take = |count: usize| -> Vec<u32> {
        let words = (0..count).map(|number| word(at + 4 * number)).collect();
        at += 4 * count;
        words
    };
    let mut lines = Vec::new();
    for _ in 0..word(988) {
        let count = take(1)[0];
        let points = (0..count).map(|_| take(3 + scalars)).collect();
        lines.push((points, take(properties)));
    }
    assert_eq!(at, bytes.len());
    lines
}

/// The streamlines of a float32 file, and its header.
pub(crate) fn tck(bytes: &[u8]) -> (String, Vec<Vec<Vec<u32>>>) {
    let end = bytes
        .windows(5)
        .position(|five| five == b"\nEND\n")
        .unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let place = head.lines().find_map(|line| line.strip_prefix("file: . "));
    let points = &bytes[place.unwrap().parse::<usize>().unwrap()..];
    let mut lines = vec![Vec::new()];
    for point in points.chunks(12) {
        let words: Vec<f32> = point
            .chunks(4)
            .map(|word| f32::from_le_bytes(word.try_into().unwrap()))
            .collect();
        if words.iter().all(|word| word.is_infinite()) {
            break;
        }
        if words.iter().all(|word| word.is_nan()) {
            lines.push(Vec::new());
        } else {
            let point = words.iter().map(|word| word.to_bits()).collect();
            lines.last_mut().unwrap().push(point);
        }
    }
    assert!(lines.pop().unwrap().is_empty());
    (head, lines)
}

/// Values by their column.
pub(crate) type Row = BTreeMap<String, String>;

/// Vertices of a binary little-endian file as property to number, and its links by their vertices' positions.
pub(crate) fn ply(bytes: &[u8]) -> (Vec<Row>, Vec<Vec<Vec<String>>>) {
    let end = bytes
        .windows(11)
        .position(|line| line == b"end_header\n")
        .unwrap();
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut at = end + 11;
    let mut take = |kind: &str| {
        let size = match kind {
            "char" | "uchar" => 1,
            "short" | "ushort" => 2,
            "double" => 8,
            _ => 4,
        };
        let raw = &bytes[at..at + size];
        at += size;
        match kind {
            "char" => i8::from_le_bytes(raw.try_into().unwrap()).to_string(),
            "uchar" => raw[0].to_string(),
            "short" => i16::from_le_bytes(raw.try_into().unwrap()).to_string(),
            "ushort" => u16::from_le_bytes(raw.try_into().unwrap()).to_string(),
            "int" => i32::from_le_bytes(raw.try_into().unwrap()).to_string(),
            "uint" => u32::from_le_bytes(raw.try_into().unwrap()).to_string(),
            "float" => format!("{:?}", f32::from_le_bytes(raw.try_into().unwrap())),
            _ => format!("{:?}", f64::from_le_bytes(raw.try_into().unwrap())),
        }
    };
    let (mut vertices, mut places, mut links) = (Vec::new(), Vec::new(), Vec::new());
    for element in head.split("\nelement ").skip(1) {
        let mut lines = element.lines().filter(|line| !line.starts_with("comment"));
        let (name, count) = lines.next().unwrap().split_once(' ').unwrap();
        let properties: Vec<&str> = lines
            .map(|line| line.strip_prefix("property ").unwrap())
            .collect();
        for _ in 0..count.parse::<usize>().unwrap() {
            if name == "vertex" {
                let row = properties
                    .iter()
                    .map(|property| property.split_once(' ').unwrap());
                let row: Vec<_> = row
                    .map(|(kind, name)| (name.to_owned(), take(kind)))
                    .collect();
                places.push(
                    row[..3]
                        .iter()
                        .map(|(_, value)| value.clone())
                        .collect::<Vec<_>>(),
                );
                vertices.push(row.into_iter().collect());
                continue;
            }
            let ends = if name == "face" {
                take("uchar").parse().unwrap()
            } else {
                2
            };
            let link = (0..ends).map(|_| places[take("int").parse::<usize>().unwrap()].clone());
            let link: Vec<Vec<String>> = link.collect();
            links.push(if name == "face" { turned(link) } else { link });
        }
    }
    assert_eq!(at, bytes.len());
    (sorted(vertices), sorted(links))
}

/// Rows of a table without quotes, by the columns' names: numbers as float32 bits, other fields unchanged.
pub(crate) fn table(text: &str, delimiter: char) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(delimiter).collect();
    let value = |text: &str| match text.parse::<f32>() {
        Ok(number) => format!("{:08x}", number.to_bits()),
        Err(_) => text.to_owned(),
    };
    let row = |line: &str| {
        let values = line.split(delimiter).map(value);
        names
            .iter()
            .map(|name| (*name).to_owned())
            .zip(values)
            .collect()
    };
    sorted(lines.map(row).collect())
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort();
    items
}

/// Stored members of an archive with 64-bit sizes, in the order of their heads.
pub(crate) fn members(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let short = |at: usize| usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()));
    let mut members = BTreeMap::new();
    let mut at = 0;
    while bytes[at..].starts_with(b"PK\x03\x04") {
        let (name, extra) = (short(at + 26), short(at + 28));
        let fields = at + 30 + name;
        let size = u64::from_le_bytes(bytes[fields + 4..fields + 12].try_into().unwrap());
        let start = fields + extra;
        let end = start + usize::try_from(size).unwrap();
        let name = String::from_utf8(bytes[at + 30..fields].to_vec()).unwrap();
        members.insert(name, bytes[start..end].to_vec());
        at = end;
    }
    members
}

/// The arrays of an archive: header text, data.
pub(crate) fn npz(bytes: &[u8]) -> BTreeMap<String, (String, Vec<u8>)> {
    let array = |(name, bytes): (String, Vec<u8>)| {
        let data = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let head = String::from_utf8(bytes[10..data].to_vec()).unwrap();
        (name, (head, bytes[data..].to_vec()))
    };
    members(bytes).into_iter().map(array).collect()
}
