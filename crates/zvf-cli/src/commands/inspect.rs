//! `zvf inspect`: prints the fields of one blob.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::ValueEnum;
use zvf_format::dtype::DType;
use zvf_meta::{Codec, RootDoc};
use zvf_store::{Limits, RawStore, undo_codecs};

use crate::args::{BlobArg, InspectArgs};
use crate::context::Context;
use crate::error::{Class, CliError, Result};
use crate::inspect::dump::{Dump, Walk};
use crate::inspect::locate::locate;
use crate::inspect::place::{Known, ObjectPlace, Place, Reader, key};
use crate::inspect::{guess, render, take_apart};
use crate::output::table::size;
use crate::output::{print_json, print_text};

/// The output: origin, description, and the dump.
struct Shown {
    head: Vec<(String, String)>,
    blob: Option<BlobArg>,
    length: u64,
    dump: Dump,
}

impl Shown {
    fn new(args: &InspectArgs, origin: &str, place: impl Into<String>) -> Self {
        Self {
            head: vec![(origin.to_owned(), place.into())],
            blob: None,
            length: 0,
            dump: Dump::new(args.rows),
        }
    }

    fn say(&mut self, name: impl Into<String>, what: impl Into<String>) {
        self.head.push((name.into(), what.into()));
    }
}

/// Runs `zvf inspect`.
///
/// # Errors
///
/// Usage: nothing of that name exists. I/O. Malformed, after the dump: the blob is damaged.
pub(crate) fn run(args: &InspectArgs, context: &mut Context<'_>) -> Result<()> {
    let file = Path::new(&args.target);
    let shown = match (&args.path, file.is_file()) {
        (None, true) if args.blob.is_some() => bare(args, file)?,
        (None, true) => match inside_a_store(file) {
            Some((root, path)) => in_store(args, context, &root.to_string_lossy(), &path, None)?,
            None => bare(args, file)?,
        },
        (path, _) => in_store(
            args,
            context,
            &args.target,
            path.as_deref().unwrap_or_default(),
            args.key.as_deref(),
        )?,
    };
    let name = shown.blob.map(name_of);
    if context.common.json {
        print_json(&render::document(
            &shown.head,
            name.as_deref(),
            shown.length,
            &shown.dump,
        ))?;
    } else {
        print_text(&render::text(&shown.head, &shown.dump))?;
    }
    match shown.dump.fault {
        None => Ok(()),
        Some(fault) => {
            let place = shown.head.iter().map(|(_, value)| value.as_str());
            let place = place.take(2).collect::<Vec<_>>().join(", ");
            Err(CliError::malformed(format!(
                "{place}: {} at byte {}: {}",
                name.as_deref().unwrap_or("bytes"),
                fault.at,
                fault.message
            )))
        }
    }
}

/// The name of a kind of blob, as `--as` has it.
fn name_of(blob: BlobArg) -> String {
    let value = blob.to_possible_value();
    value.map_or_else(|| "packed".to_owned(), |value| value.get_name().to_owned())
}

/// The description of the blob, with the flags taking precedence over the detected one.
fn overridden(args: &InspectArgs, mut known: Known) -> Result<Known> {
    if let Some(rank) = args.key_rank {
        known.key_rank = usize::try_from(rank).ok();
    }
    if let Some(width) = args.width {
        known.width = usize::try_from(width).ok();
        known.columns.clear();
    }
    if let Some(name) = &args.dtype {
        let dtype =
            DType::parse(name).map_err(|e| CliError::usage(format!("--dtype {name:?}: {e}")))?;
        known.dtype = Some(dtype);
    }
    if args.perm {
        known.perm = Some(true);
    }
    Ok(known)
}

/// A file that no store around it explains.
fn bare(args: &InspectArgs, file: &Path) -> Result<Shown> {
    let failed = |e: std::io::Error| CliError::file("read", file, &e);
    let length = std::fs::metadata(file).map_err(failed)?.len();
    let limit = Limits::default().cell_bytes;
    if length > limit {
        let file = file.display();
        let message = format!("{file}: found {length} bytes, expected at most {limit}");
        return Err(CliError::new(Class::Limit, message));
    }
    let mut bytes = Bytes::from(read_file(file).map_err(failed)?);
    let name = file.display().to_string();
    let mut shown = Shown::new(args, "file", &name);
    shown.length = length;
    shown.say("size", size(length));
    if let (None, Some(codec)) = (args.blob, guess::compression(&bytes)) {
        let codec = Codec::named(codec);
        match undo(&mut shown, &name, &codec, &bytes) {
            Some(decoded) => bytes = decoded,
            None => return Ok(shown),
        }
    }
    let known = overridden(args, Known::default())?;
    shown.blob = args.blob.or_else(|| guess::guess(&bytes));
    let Some(blob) = shown.blob else {
        first(&mut shown.dump, "bytes", 64, &bytes, length, "");
        shown.dump.fault(
            0,
            "found no magic and no structure of a known blob, expected one or --as TYPE",
        );
        return Ok(shown);
    };
    shown.say("type", name_of(blob));
    let element = take_apart(&mut shown.dump, &bytes, blob, &known);
    // The first element, if its kind can be detected.
    let element = element.filter(|_| blob == BlobArg::Vlen && args.blob.is_none());
    if let Some(element) = element
        && let Some(blob) = guess::guess(element)
        && !matches!(blob, BlobArg::Vlen | BlobArg::Shard)
    {
        take_apart(&mut shown.dump, element, blob, &known);
    }
    Ok(shown)
}

/// Shows the first of some bytes.
fn first(dump: &mut Dump, title: &str, most: u64, bytes: &[u8], length: u64, meaning: &str) {
    let mut walk = Walk::new(dump, bytes);
    walk.section(title);
    let shown = walk.left().min(most);
    if walk.take(shown, "bytes").is_ok() {
        walk.note("bytes", format!("first {shown} of {length}"), meaning);
    }
}

/// The bytes of a regular file.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut zvf_store::open_file(path)?, &mut bytes)?;
    Ok(bytes)
}

/// The store around a chunk file, and the file's key in it.
fn inside_a_store(file: &Path) -> Option<(PathBuf, String)> {
    let file = file.canonicalize().ok()?;
    let is_chunks = |folder: &&Path| folder.file_name().is_some_and(|name| name == "c");
    let chunks = file.ancestors().take(25).find(is_chunks)?;
    let array = chunks.parent()?;
    let below = file.strip_prefix(chunks).ok()?.to_str()?;
    let is_separator = |letter: u8| std::path::is_separator(letter.into());
    let numbers = below
        .bytes()
        .all(|letter| letter.is_ascii_digit() || is_separator(letter));
    if below.is_empty() || !numbers || !array.join("zarr.json").is_file() {
        return None;
    }
    let is_root = |folder: &&Path| {
        read_file(&folder.join("zarr.json")).is_ok_and(|bytes| RootDoc::parse(&bytes).is_ok())
    };
    let root = array.ancestors().skip(1).take(8).find(is_root)?;
    let path = file.strip_prefix(root).ok()?.to_str()?.to_owned();
    Some((root.to_owned(), path))
}

/// A blob of a store.
fn in_store(
    args: &InspectArgs,
    context: &mut Context<'_>,
    url: &str,
    path: &str,
    element: Option<&str>,
) -> Result<Shown> {
    let options = context.options();
    let raw = RawStore::open(url, &options.io).map_err(|e| CliError::from(e).at(url))?;
    let raw = context.wait_at(url, raw.under_edits(&options.io))?;
    let mut reader = Reader { context, raw };
    let place = locate(&mut reader, path, element).map_err(|e| e.at(url))?;
    let mut shown = Shown::new(args, "store", url);
    let mut place = match place {
        Place::Document(key) => {
            let bytes = reader.read(&key).map_err(|e| e.at(url))?;
            let bytes = bytes
                .ok_or_else(|| CliError::new(Class::Io, format!("{url}: no object {key:?}")))?;
            shown.say("document", key);
            take_apart(&mut shown.dump, &bytes, BlobArg::Json, &Known::default());
            shown.blob = Some(BlobArg::Json);
            shown.length = bytes.len() as u64;
            return Ok(shown);
        }
        Place::Object(place) => place,
    };
    place.known = overridden(args, place.known)?;
    place.blob = args.blob.unwrap_or(place.blob);
    let chunk = place.known.chunk.as_deref();
    let chunk = chunk.map(|chunk| format!(", chunk {}", key(chunk)));
    shown.say("array", place.array.clone() + &chunk.unwrap_or_default());
    shown.say("object", place.key.clone());
    shown.blob = Some(place.blob);
    let mut object = reader.read(&place.key).map_err(|e| e.at(url))?;
    if let (None, Some(stated)) = (&object, place.stated) {
        object = zeros(&mut shown, stated);
        place.codecs.clear();
    }
    match object {
        None => shown
            .dump
            .conclude("no such object: every element in it is empty"),
        Some(bytes) => {
            shown.length = bytes.len() as u64;
            shown.say("size", size(shown.length));
            layers(&mut shown, &place, &bytes);
        }
    }
    Ok(shown)
}

/// The content of a blob without a stored object: the fill value, zero (spec 0.7 §2.3).
fn zeros(shown: &mut Shown, stated: u64) -> Option<Bytes> {
    let length = usize::try_from(stated).ok();
    let length = length.filter(|_| stated <= Limits::default().cell_bytes)?;
    let what = match length {
        0 => "none: the blob is empty".to_owned(),
        _ => format!("none: the blob is {stated} zero bytes"),
    };
    shown.say("stored", what);
    Some(vec![0; length].into())
}

/// Dumps an object layer by layer: shard, codecs, container, payload. Offsets begin at 0 in each layer.
fn layers(shown: &mut Shown, place: &ObjectPlace, object: &Bytes) {
    let mut bytes = object.clone();
    if let Some(shard) = &place.shard {
        let dump = &mut shown.dump;
        if !place.index_at_end {
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
    for codec in place.codecs.iter().skip(1).rev() {
        match undo(shown, &place.key, codec, &bytes) {
            Some(decoded) => bytes = decoded,
            None => return,
        }
    }
    let (dump, length) = (&mut shown.dump, bytes.len() as u64);
    if let Some(stated) = place.stated.filter(|stated| *stated != length) {
        dump.section("blob");
        let found = format!("found {length} bytes, expected {stated} as its document says");
        dump.fault(stated.min(length), found);
        return;
    }
    let payload = match place.container {
        None => Some(&bytes[..]),
        Some(container) => take_apart(dump, &bytes, container, &place.known),
    };
    match payload {
        Some([]) if place.container.is_some() => dump.conclude("the element is empty"),
        Some(payload) => drop(take_apart(dump, payload, place.blob, &place.known)),
        None if dump.fault.is_none() && place.container == Some(BlobArg::Vlen) => {
            dump.conclude("the element is not in this chunk");
        }
        None => {}
    }
}

/// Decodes one codec and describes the change of size.
fn undo(shown: &mut Shown, key: &str, codec: &Codec, bytes: &Bytes) -> Option<Bytes> {
    let codecs = std::slice::from_ref(codec);
    match undo_codecs(key, codecs, bytes.clone(), &Limits::default()) {
        Ok(decoded) => {
            let change = format!("{} bytes become {}", bytes.len(), decoded.len());
            shown.say(codec.name.clone(), change);
            Some(decoded)
        }
        Err(error) => {
            let (title, length) = (format!("{} bytes", codec.name), bytes.len() as u64);
            first(&mut shown.dump, &title, 32, bytes, length, "compressed");
            let text = crate::error::fold(&error);
            let text = text.strip_prefix(&format!("{key}: ")).unwrap_or(&text);
            shown.dump.fault(0, text);
            None
        }
    }
}
