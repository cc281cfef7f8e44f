//! Files of made data of any size, at one vertex a unit of volume. An object is computed from its number, so that nothing is held but one object.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;

use crate::Outcome;

/// A kind of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Points,
    Lines,
    Skeletons,
    Meshes,
    Graphs,
}

/// Sides of the tori that meshes are: around the hole, around the tube.
const TORUS: (u32, u32) = (25, 20);

impl Kind {
    pub(super) const ALL: [Self; 5] = [
        Self::Points,
        Self::Lines,
        Self::Skeletons,
        Self::Meshes,
        Self::Graphs,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Points => "points",
            Self::Lines => "lines",
            Self::Skeletons => "skeletons",
            Self::Meshes => "meshes",
            Self::Graphs => "graphs",
        }
    }

    /// The ending of its files.
    pub(super) fn ending(self) -> &'static str {
        match self {
            Self::Points => "npy",
            Self::Lines => "tck",
            // PLY has no skeletons.
            Self::Skeletons => "csv",
            Self::Meshes | Self::Graphs => "ply",
        }
    }

    /// Whether its vertices belong to objects.
    pub(super) fn has_objects(self) -> bool {
        self != Self::Points
    }

    /// Vertices of an object; of points, of what is computed at a time.
    pub(super) fn vertices(self) -> u32 {
        match self {
            Self::Lines => 100,
            Self::Points | Self::Skeletons => 1000,
            Self::Meshes | Self::Graphs => TORUS.0 * TORUS.1,
        }
    }

    /// The vertex before `vertex` of a skeleton: mostly the one with the number before, of each hundredth any earlier one.
    fn parent(vertex: u32) -> u32 {
        match vertex % 100 {
            0 => (Draw(u64::from(vertex)).next() % u64::from(vertex)) as u32,
            _ => vertex - 1,
        }
    }

    /// Links of one object, by its vertices; of points and lines none.
    fn links(self) -> Vec<Vec<u32>> {
        let others = 1..self.vertices();
        match self {
            Self::Points | Self::Lines => Vec::new(),
            Self::Skeletons => others.map(|one| vec![one, Self::parent(one)]).collect(),
            Self::Meshes => {
                let at = |i: u32, j: u32| (i % TORUS.0) * TORUS.1 + j % TORUS.1;
                let quads = (0..TORUS.0).flat_map(|i| (0..TORUS.1).map(move |j| (i, j)));
                let faces = quads.flat_map(|(i, j)| {
                    let (a, b, c, d) = (at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
                    [vec![a, b, c], vec![a, c, d]]
                });
                faces.collect()
            }
            Self::Graphs => others
                .flat_map(|one| {
                    let far = (one > 2).then(|| vec![one, one / 2]);
                    std::iter::once(vec![one, one - 1]).chain(far)
                })
                .collect(),
        }
    }
}

/// Data of a kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Data {
    pub(super) kind: Kind,
    /// Vertices, rounded to whole objects.
    vertices: u64,
}

impl Data {
    pub(super) fn new(kind: Kind, vertices: u64) -> Self {
        let object = u64::from(kind.vertices());
        Self {
            kind,
            vertices: vertices.next_multiple_of(object),
        }
    }

    pub(super) fn objects(&self) -> u64 {
        self.vertices / u64::from(self.kind.vertices())
    }

    /// Edge of the cube in which objects begin.
    pub(super) fn edge(&self) -> f64 {
        (self.vertices as f64).cbrt()
    }

    /// Positions of one object.
    fn object(&self, number: u64) -> Vec<[f32; 3]> {
        let mut draw = Draw(number);
        let edge = self.edge();
        let start = [0; 3].map(|_: u8| draw.unit() * edge);
        let count = self.kind.vertices();
        let moved = |by: [f64; 3]| std::array::from_fn(|axis| (start[axis] + by[axis]) as f32);
        match self.kind {
            Kind::Points => {
                let mut place = || [0; 3].map(|_: u8| (draw.unit() * edge) as f32);
                (0..count).map(|_| place()).collect()
            }
            Kind::Lines => {
                let mut way = [0; 3].map(|_: u8| draw.centred());
                let mut at = [0.0; 3];
                let mut step = || {
                    way = way.map(|value| value + 0.2 * draw.centred());
                    let length = way.iter().map(|value| value * value).sum::<f64>().sqrt();
                    let here = at;
                    for (value, by) in at.iter_mut().zip(way) {
                        *value += 0.25 * by / length.max(1e-3);
                    }
                    moved(here)
                };
                (0..count).map(|_| step()).collect()
            }
            Kind::Skeletons => {
                let mut places: Vec<[f32; 3]> = vec![moved([0.0; 3])];
                let mut way = [0; 3].map(|_: u8| draw.centred());
                for vertex in 1..count {
                    let parent = Kind::parent(vertex);
                    if parent + 1 != vertex {
                        way = [0; 3].map(|_: u8| draw.centred());
                    }
                    way = way.map(|value| value + 0.2 * draw.centred());
                    let before = places[parent as usize];
                    places.push(std::array::from_fn(|axis| {
                        before[axis] + (0.2 * way[axis]) as f32
                    }));
                }
                places
            }
            Kind::Meshes => {
                let turn =
                    |part: u32, of: u32| std::f64::consts::TAU * f64::from(part) / f64::from(of);
                let corner = |number: u32| {
                    let (around, tube) = (number / TORUS.1, number % TORUS.1);
                    let (around, tube) = (turn(around, TORUS.0), turn(tube, TORUS.1));
                    let out = 4.0 + 1.5 * tube.cos();
                    moved([out * around.cos(), out * around.sin(), 1.5 * tube.sin()])
                };
                (0..count).map(corner).collect()
            }
            Kind::Graphs => {
                let mut place = || moved([0; 3].map(|_: u8| 8.0 * draw.unit()));
                (0..count).map(|_| place()).collect()
            }
        }
    }

    /// Writes all objects to a folder, in the order of their numbers, which are random in space. Returns what `zvf import` is told of the files.
    pub(super) fn write(&self, folder: &Path) -> Outcome<Vec<String>> {
        let mut words = self.write_objects(folder, 0..self.objects())?;
        if self.kind == Kind::Skeletons {
            words.extend(["--kind", "skeleton", "--edges"].map(str::to_owned));
            words.push(folder.join(EDGES).display().to_string());
        }
        Ok(words)
    }

    /// Writes one more object, or one more point. Returns what `zvf append` is told of the files.
    pub(super) fn write_next(&self, folder: &Path) -> Outcome<Vec<String>> {
        let next = self.objects();
        if self.kind == Kind::Points {
            let file = folder.join("data.npy");
            let mut out = BufWriter::new(File::create(&file)?);
            npy_head(&mut out, "<f4", (1, 3))?;
            triple(&mut out, self.object(next)[0])?;
            out.flush()?;
            return Ok(vec![file.display().to_string()]);
        }
        let mut words = self.write_objects(folder, next..next + 1)?;
        if self.kind == Kind::Skeletons {
            words.push("--links".to_owned());
            words.push(folder.join(EDGES).display().to_string());
        }
        Ok(words)
    }

    fn write_objects(&self, folder: &Path, numbers: Range<u64>) -> Outcome<Vec<String>> {
        let file = folder.join(format!("data.{}", self.kind.ending()));
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&file)?);
        let objects = numbers.end - numbers.start;
        let rows = objects * u64::from(self.kind.vertices());
        match self.kind {
            Kind::Points => npy_head(&mut out, "<f4", (rows, 3))?,
            Kind::Lines => tck_head(&mut out, objects)?,
            Kind::Skeletons => writeln!(out, "object_id,x,y,z")?,
            Kind::Meshes | Kind::Graphs => self.ply_head(&mut out, objects)?,
        }
        for number in numbers {
            for place in self.object(number) {
                if self.kind == Kind::Skeletons {
                    let [x, y, z] = place;
                    writeln!(out, "{number},{x},{y},{z}")?;
                    continue;
                }
                triple(&mut out, place)?;
                if matches!(self.kind, Kind::Meshes | Kind::Graphs) {
                    out.write_all(&u32::try_from(number)?.to_le_bytes())?;
                }
            }
            if self.kind == Kind::Lines {
                triple(&mut out, [f32::NAN; 3])?;
            }
        }
        match self.kind {
            Kind::Points => {}
            Kind::Lines => triple(&mut out, [f32::INFINITY; 3])?,
            Kind::Skeletons => {
                let mut edges = BufWriter::new(File::create(folder.join(EDGES))?);
                let links = objects * self.kind.links().len() as u64;
                npy_head(&mut edges, "<u4", (links, 2))?;
                self.write_links(&mut edges, objects)?;
                edges.flush()?;
            }
            Kind::Meshes | Kind::Graphs => self.write_links(&mut out, objects)?,
        }
        out.flush()?;
        Ok(vec![file.display().to_string()])
    }

    /// Links of objects, by rows of the file.
    fn write_links(&self, out: &mut impl Write, objects: u64) -> Outcome {
        let links = self.kind.links();
        for object in 0..objects {
            let first = u32::try_from(object * u64::from(self.kind.vertices()))?;
            for link in &links {
                if self.kind == Kind::Meshes {
                    out.write_all(&[3])?;
                }
                for end in link {
                    out.write_all(&(first + end).to_le_bytes())?;
                }
            }
        }
        Ok(())
    }

    fn ply_head(&self, out: &mut impl Write, objects: u64) -> Outcome {
        let vertices = objects * u64::from(self.kind.vertices());
        let links = objects * self.kind.links().len() as u64;
        let link = match self.kind {
            Kind::Meshes => format!("face {links}\nproperty list uchar uint vertex_indices"),
            _ => format!("edge {links}\nproperty uint vertex1\nproperty uint vertex2"),
        };
        write!(
            out,
            "ply\nformat binary_little_endian 1.0\nelement vertex {vertices}\nproperty float x\nproperty float y\n\
             property float z\nproperty uint object_id\nelement {link}\nend_header\n"
        )?;
        Ok(())
    }
}

fn triple(out: &mut impl Write, place: [f32; 3]) -> Outcome {
    for value in place {
        out.write_all(&value.to_le_bytes())?;
    }
    Ok(())
}

/// Name of the file of links of skeletons.
const EDGES: &str = "edges.npy";

fn npy_head(out: &mut impl Write, descr: &str, (rows, columns): (u64, u32)) -> Outcome {
    let head =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    // With the ten bytes before it, the head ends at a multiple of 64.
    let length = (head.len() + 11).next_multiple_of(64) - 10;
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&u16::try_from(length)?.to_le_bytes())?;
    writeln!(out, "{head:<width$}", width = length - 1)?;
    Ok(())
}

fn tck_head(out: &mut impl Write, lines: u64) -> Outcome {
    // Longer than the text, of which only the digits of the count vary.
    const DATA: usize = 128;
    let head = format!("mrtrix tracks\ndatatype: Float32LE\ncount: {lines}\nfile: . {DATA}\nEND\n");
    out.write_all(head.as_bytes())?;
    out.write_all(&[b'\n'; DATA][head.len()..])?;
    Ok(())
}

/// Random numbers: splitmix64.
#[derive(Debug)]
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        // Numbers that follow each other are seeds of sequences that overlap unless the first is scattered, too.
        let mut word = self.0.wrapping_mul(0xD134_2543_DE82_EF95);
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// From 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From -1 to 1.
    fn centred(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_sizes_that_their_heads_say() {
        let folder = std::env::temp_dir().join(format!("zvf-growth-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for kind in Kind::ALL {
            let data = Data::new(kind, 1500);
            let words = data.write(&folder).unwrap();
            let bytes = std::fs::read(&words[0]).unwrap();
            let objects = usize::try_from(data.objects()).unwrap();
            let rows = objects * kind.vertices() as usize;
            let links = objects * kind.links().len();
            let head = || {
                let end = b"end_header\n";
                bytes.windows(end.len()).position(|at| at == end).unwrap() + end.len()
            };
            let edges = || std::fs::metadata(folder.join(EDGES)).unwrap().len();
            let (found, expected) = match kind {
                Kind::Points => (bytes.len(), 128 + rows * 12),
                Kind::Lines => (bytes.len(), 128 + (rows + objects + 1) * 12),
                Kind::Meshes => (bytes.len(), head() + rows * 16 + links * 13),
                Kind::Graphs => (bytes.len(), head() + rows * 16 + links * 8),
                Kind::Skeletons => (edges() as usize, 128 + links * 8),
            };
            assert_eq!(found, expected, "{kind:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn every_vertex_of_a_skeleton_has_an_earlier_parent() {
        let vertices = Kind::Skeletons.vertices();
        assert!((1..vertices).all(|one| Kind::parent(one) < one));
        assert!((1..vertices).any(|one| Kind::parent(one) + 1 != one));
    }
}
