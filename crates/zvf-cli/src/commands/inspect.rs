//! `zvf inspect`: prints the fields of one blob.

use std::path::Path;

use bytes::Bytes;
use clap::ValueEnum;
use zvf_format::dtype::DType;
use zvf_meta::Codec;
use zvf_store::{
    CellFacts, ChunkCoord, Limits, Located, LocatedObject, RawStore, store_around, undo_codecs,
};

use crate::args::{BlobArg, InspectArgs};
use crate::context::Context;
use crate::error::{Class, CliError, Result};
use crate::inspect::dump::{Dump, Walk};
use crate::inspect::{guess, render, take_apart};
use crate::output::table::size;
use crate::output::{print_json, print_text};

/// Runs `zvf inspect`.
///
/// # Errors
///
/// Usage: the path does not exist. Limit: the file is too large. I/O. Malformed, after the dump: the blob is damaged.
pub(crate) fn run(args: &InspectArgs, context: &mut Context<'_>) -> Result<()> {
    let file = Path::new(&args.target);
    let is_file = args.path.is_none() && file.is_file();
    let around = match is_file && args.blob.is_none() {
        true => store_around(file),
        false => None,
    };
    let dump = match (around, is_file) {
        (Some((root, path)), _) => in_store(args, context, &root.to_string_lossy(), &path, None)?,
        (None, true) => bare(args, file)?,
        (None, false) => {
            let path = args.path.as_deref().unwrap_or_default();
            in_store(args, context, &args.target, path, args.key.as_deref())?
        }
    };
    match context.common.json {
        true => print_json(&dump)?,
        false => print_text(&render::text(&dump))?,
    }
    let Some(fault) = &dump.fault else {
        return Ok(());
    };
    let place = dump.head.iter().map(|(_, value)| value.as_str());
    Err(CliError::malformed(format!(
        "{}: {} at byte {}: {}",
        place.take(2).collect::<Vec<_>>().join(", "),
        dump.kind.as_deref().unwrap_or("bytes"),
        fault.at,
        fault.message
    )))
}

/// The name of a kind of blob, as `--as` takes it.
fn name_of(blob: BlobArg) -> String {
    let value = blob.to_possible_value();
    value.map_or_else(|| "packed".to_owned(), |value| value.get_name().to_owned())
}

/// The facts about the cell: those that flags state, otherwise the detected ones.
fn overridden(args: &InspectArgs, mut known: CellFacts) -> Result<CellFacts> {
    let number = |flag: Option<u32>| flag.and_then(|number| usize::try_from(number).ok());
    known.key_rank = number(args.key_rank).or(known.key_rank);
    if let Some(width) = number(args.width) {
        known.width = Some(width);
        known.columns.clear();
    }
    if let Some(name) = &args.dtype {
        let dtype = DType::parse(name);
        let wrong = |e| CliError::usage(format!("--dtype {name:?}: {e}"));
        known.dtype = Some(dtype.map_err(wrong)?);
    }
    if args.perm {
        known.perm = Some(true);
    }
    Ok(known)
}

/// Dumps a file that is not inside a store.
fn bare(args: &InspectArgs, file: &Path) -> Result<Dump> {
    let failed = |e: std::io::Error| CliError::file("read", file, &e);
    let length = std::fs::metadata(file).map_err(failed)?.len();
    let limit = Limits::default().cell_bytes;
    let name = file.display().to_string();
    if length > limit {
        let message = format!("{name}: found {length} bytes, expected at most {limit}");
        return Err(CliError::new(Class::Limit, message));
    }
    let mut read = Vec::new();
    let opened = zvf_store::open_file(file);
    opened
        .and_then(|mut file| std::io::Read::read_to_end(&mut file, &mut read))
        .map_err(failed)?;
    let mut bytes = Bytes::from(read);
    let mut dump = Dump::new(args.rows);
    dump.say("file", name.as_str());
    dump.length = length;
    dump.say("size", size(length));
    if let (None, Some(codec)) = (args.blob, guess::compression(&bytes)) {
        match decode(&mut dump, &name, &Codec::named(codec), &bytes) {
            Some(decoded) => bytes = decoded,
            None => return Ok(dump),
        }
    }
    let known = overridden(args, CellFacts::default())?;
    let Some(blob) = args.blob.or_else(|| guess::guess(&bytes)) else {
        first(&mut dump, "bytes", 64, &bytes, length, "");
        let expected = "found no magic and no structure of a known blob, expected one or --as TYPE";
        dump.fault(0, expected);
        return Ok(dump);
    };
    dump.kind = Some(name_of(blob));
    dump.say("type", name_of(blob));
    let element = take_apart(&mut dump, &bytes, blob, &known);
    // Also dumps the first element, if its kind can be detected.
    let element = element.filter(|_| blob == BlobArg::Vlen && args.blob.is_none());
    if let Some(element) = element
        && let Some(blob) = guess::guess(element)
        && !matches!(blob, BlobArg::Vlen | BlobArg::Shard)
    {
        take_apart(&mut dump, element, blob, &known);
    }
    Ok(dump)
}

/// Adds a section with the first bytes, at most `most`, to the dump. `length` is their total number.
fn first(dump: &mut Dump, title: &str, most: u64, bytes: &[u8], length: u64, meaning: &str) {
    let mut walk = Walk::new(dump, bytes);
    walk.dump.section(title);
    let shown = walk.left().min(most);
    if walk.take(shown, "bytes").is_ok() {
        walk.note("bytes", format!("first {shown} of {length}"), meaning);
    }
}

/// Dumps a document or blob of a store.
fn in_store(
    args: &InspectArgs,
    context: &mut Context<'_>,
    url: &str,
    path: &str,
    element: Option<&str>,
) -> Result<Dump> {
    let options = context.options();
    let raw = RawStore::open(url, &options.io).map_err(|e| CliError::from(e).at(url))?;
    let raw = context.wait_at(url, raw.under_edits(&options.io))?;
    let mut dump = Dump::new(args.rows);
    dump.say("store", url);
    let mut found = match context.wait_at(url, raw.locate(path, element))? {
        Located::Document(key) => {
            let bytes = context.wait_at(url, raw.read(&key))?;
            let missing = || CliError::new(Class::Io, format!("{url}: no object {key:?}"));
            let bytes = bytes.ok_or_else(missing)?;
            dump.say("document", key);
            take_apart(&mut dump, &bytes, BlobArg::Json, &CellFacts::default());
            dump.kind = Some(name_of(BlobArg::Json));
            dump.length = bytes.len() as u64;
            return Ok(dump);
        }
        Located::Object(found) => found,
    };
    found.facts = overridden(args, found.facts)?;
    let blob = args.blob.unwrap_or_else(|| found.kind.into());
    let chunk = found.facts.chunk.as_deref();
    let chunk = chunk.map(|chunk| format!(", chunk {}", ChunkCoord::new(chunk)));
    dump.say("array", found.array.clone() + &chunk.unwrap_or_default());
    dump.say("object", found.key.as_str());
    dump.kind = Some(name_of(blob));
    let mut object = context.wait_at(url, raw.read(&found.key))?;
    if let (None, Some(zeros)) = (&object, found.zeros(&Limits::default())) {
        let what = match zeros.len() {
            0 => "none: the blob is empty".to_owned(),
            length => format!("none: the blob is {length} zero bytes"),
        };
        dump.say("stored", what);
        found.codecs.clear();
        object = Some(zeros);
    }
    match object {
        None => dump.conclude("no such object: every element in it is empty"),
        Some(bytes) => {
            dump.length = bytes.len() as u64;
            dump.say("size", size(dump.length));
            layers(&mut dump, &found, blob, &bytes);
        }
    }
    Ok(dump)
}

/// Dumps an object layer by layer: shard, codecs, container, payload. Offsets begin at 0 in each layer.
fn layers(dump: &mut Dump, found: &LocatedObject, blob: BlobArg, object: &Bytes) {
    let mut bytes = object.clone();
    if let Some(shard) = &found.shard {
        if !found.index_at_end {
            dump.fault(0, "index_location start is not supported");
            return;
        }
        match take_apart(dump, object, BlobArg::Shard, shard) {
            Some(inner) => bytes = object.slice_ref(inner),
            None => {
                if dump.fault.is_none() && shard.element.is_some() {
                    dump.conclude("the inner chunk is absent: its element is empty");
                }
                return;
            }
        }
    }
    // The first codec converts elements to bytes; the others are decoded before it, last to first.
    for codec in found.codecs.iter().skip(1).rev() {
        match decode(dump, &found.key, codec, &bytes) {
            Some(decoded) => bytes = decoded,
            None => return,
        }
    }
    let length = bytes.len() as u64;
    if let Some(stated) = found.stated.filter(|stated| *stated != length) {
        dump.section("blob");
        let message = format!("found {length} bytes, expected {stated} as its document states");
        dump.fault(stated.min(length), message);
        return;
    }
    let container = found.container.map(BlobArg::from);
    let payload = match container {
        None => Some(&bytes[..]),
        Some(container) => take_apart(dump, &bytes, container, &found.facts),
    };
    match payload {
        Some([]) if container.is_some() => dump.conclude("the element is empty"),
        Some(payload) => drop(take_apart(dump, payload, blob, &found.facts)),
        None if dump.fault.is_none() && container == Some(BlobArg::Vlen) => {
            dump.conclude("the element is not in this chunk");
        }
        None => {}
    }
}

/// Decodes one codec and describes the change of size.
fn decode(dump: &mut Dump, key: &str, codec: &Codec, bytes: &Bytes) -> Option<Bytes> {
    let codecs = std::slice::from_ref(codec);
    let length = bytes.len() as u64;
    match undo_codecs(key, codecs, bytes.clone(), &Limits::default()) {
        Ok(decoded) => {
            let change = format!("{length} bytes become {}", decoded.len());
            dump.say(codec.name.as_str(), change);
            Some(decoded)
        }
        Err(error) => {
            let title = format!("{} bytes", codec.name);
            first(dump, &title, 32, bytes, length, "compressed");
            let text = zvf_jobs::words::fold(&error);
            let text = text.strip_prefix(&format!("{key}: ")).unwrap_or(&text);
            dump.fault(0, text);
            None
        }
    }
}
