//! Affines that users give: a table of numbers, or the header of an image.

use std::io::{BufReader, Read};
use std::path::Path;

use zvf_meta::{Affine, ImageHeader, StatedAffine};

use crate::error::{ConvertError, InFile, shown};
use crate::gzip::GzipMembers;
use crate::text::without_bom;

/// Largest text file with an affine, in bytes.
const LONGEST: u64 = 1 << 20;

/// Reads an affine of `rank` axes. The file is either text (numbers in row order, separated by blanks or commas, with or without a last
/// row `0 … 0 1`; `#` begins a comment) or the header of an image (`.nii`, `.nii.gz`, `.hdr`, `.mgh`, `.mgz`; `rank` must be 3): see
/// [`ImageHeader::affine`].
///
/// # Errors
/// I/O; malformed files; misuse: an image for another number of axes.
pub fn read_affine(path: &Path, rank: usize) -> Result<StatedAffine, ConvertError> {
    let io = |error| ConvertError::io(path, error);
    let bad = |found: String, expected: &str| {
        ConvertError::malformed(path, InFile::Whole, found, expected)
    };
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err(bad("no regular file".to_owned(), "a file with an affine"));
    }
    let mut head = [0; 2];
    let start = zvf_store::open_file(path)
        .map_err(io)?
        .read(&mut head)
        .map_err(io)?;
    let file = zvf_store::open_file(path).map_err(io)?;
    let mut reader: Box<dyn Read> = match (start, head) {
        (2, [0x1f, 0x8b]) => Box::new(GzipMembers::new(BufReader::new(file))),
        _ => Box::new(file),
    };
    let mut bytes = Vec::new();
    // Reads no more than the longest image header, unless the file is not an image.
    let first = ImageHeader::LENGTH as u64;
    reader
        .by_ref()
        .take(first)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if let Some(header) = ImageHeader::parse(&bytes) {
        if rank != 3 {
            let what = path.display().to_string();
            return Err(ConvertError::usage(
                what,
                "an image, whose affine has 3 axes",
                format!("an affine of {rank} axes"),
            ));
        }
        return header.affine().map_err(|error| {
            let place = InFile::Byte(error.at as u64);
            let found = format!("{}: {}", error.field, error.found);
            ConvertError::malformed(path, place, found, error.expected)
        });
    }
    reader
        .by_ref()
        .take(LONGEST)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if bytes.len() as u64 > LONGEST {
        return Err(ConvertError::limit(
            path,
            InFile::Whole,
            "bytes of an affine",
            LONGEST,
        ));
    }
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return Err(bad(
            "bytes that are neither an image nor text".to_owned(),
            "an affine",
        ));
    };
    let affine = parse_affine(without_bom(text), rank).map_err(|why| {
        let (found, expected) = why
            .split_once(", expected ")
            .unwrap_or((&why, "rows of numbers"));
        bad(found.to_owned(), expected)
    })?;
    Ok(StatedAffine::of_numbers(affine))
}

/// Parses an affine of `rank` axes: numbers in row order.
///
/// # Errors
/// A message about the first text that is not a number, or about numbers that are not an affine.
pub fn parse_affine(text: &str, rank: usize) -> Result<Affine, String> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    let words = lines.flat_map(|line| {
        line.split(|one: char| matches!(one, ',' | ';' | '[' | ']') || one.is_whitespace())
    });
    let numbers: Result<Vec<f64>, String> = words
        .filter(|word| !word.is_empty())
        .map(|word| {
            word.parse()
                .map_err(|_| format!("{} is not a number", shown(word)))
        })
        .collect();
    Affine::from_rows(&numbers?, rank).map_err(|error| error.what)
}

/// An affine of `rank` axes, from a text of numbers by rows or from a file: see [`parse_affine`] and [`read_affine`].
///
/// # Errors
/// Misuse: neither numbers nor a file; the errors of [`read_affine`].
pub fn stated_affine(text: &str, rank: usize) -> Result<StatedAffine, ConvertError> {
    let path = Path::new(text);
    if path.exists() {
        return read_affine(path, rank);
    }
    let affine = parse_affine(text, rank).map_err(|why| {
        let found = format!("{text:?}, which is not a file, and {why}");
        ConvertError::usage(
            "affine",
            found,
            "numbers by rows, or a file with them or an image",
        )
    })?;
    Ok(StatedAffine::of_numbers(affine))
}
