//! `zvf inspect`: prints the fields of one blob.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::ValueEnum;
use zvf_format::dtype::DType;
use zvf_meta::{Codec, RootDoc};
use zvf_store::{Limits, RawStore, undo_codecs};

use crate::args::{BlobArg, InspectArgs};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::inspect::dump::{Dump, Walk};
use crate::inspect::locate::locate;
use crate::inspect::place::{Known, ObjectPlace, Place, Reader, key};
use crate::inspect::{guess, render, shard, tables, take_apart, vlen};
use crate::output::table::size;
use crate::output::{print_json, print_text};

/// The output: origin, description, and the dump.
struct Shown {
    head: Vec<(String, String)>,
    blob: Option<BlobArg>,
    length: u64,
    dump: Dump,
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
            let place = shown
                .head
                .iter()
                .map(|(_, value)| value.as_str())
                .take(2)
                .collect::<Vec<_>>()
                .join(", ");
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
        return Err(CliError::new(
            crate::error::Class::Limit,
            format!(
                "{}: found {length} bytes, expected at most {limit}",
                file.display()
            ),
        ));
    }
    let mut bytes = Bytes::from(read_file(file).map_err(failed)?);
    let mut head = vec![
        ("file".to_owned(), file.display().to_string()),
        ("size".to_owned(), size(length)),
    ];
    let mut dump = Dump::new(args.rows);
    if let (None, Some(compression)) = (args.blob, guess::compression(&bytes)) {
        let codec = Codec::named(compression.codec());
        if let Some(decoded) = undo(
            &mut dump,
            &mut head,
            &file.display().to_string(),
            &codec,
            &bytes,
        ) {
            bytes = decoded;
        } else {
            return Ok(Shown {
                head,
                blob: None,
                length,
                dump,
            });
        }
    }
    let known = overridden(args, Known::default())?;
    let Some(blob) = args.blob.or_else(|| guess::guess(&bytes)) else {
        let mut walk = Walk::new(&mut dump, &bytes);
        walk.section("bytes");
        let shown = walk.left().min(64);
        if walk.take(shown, "bytes").is_ok() {
            walk.note("bytes", format!("first {shown} of {length}"), "");
        }
        dump.fault(
            0,
            "found no magic and no structure of a known blob, expected one or --as TYPE",
        );
        return Ok(Shown {
            head,
            blob: None,
            length,
            dump,
        });
    };
    head.push(("type".into(), name_of(blob)));
    take_apart(&mut dump, &bytes, blob, &known);
    if blob == BlobArg::Vlen && args.blob.is_none() {
        nested(&mut dump, &bytes, &known);
    }
    Ok(Shown {
        head,
        blob: Some(blob),
        length,
        dump,
    })
}

/// Dumps the first element of a bare vlen chunk if its kind can be detected.
fn nested(dump: &mut Dump, bytes: &[u8], known: &Known) {
    let mut scratch = Dump::new(1);
    let element = vlen::walk(&mut scratch, bytes, known);
    let Ok(Some(element)) = element else { return };
    if let Some(blob) =
        guess::guess(element).filter(|blob| !matches!(blob, BlobArg::Vlen | BlobArg::Shard))
    {
        take_apart(dump, element, blob, known);
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
    let numeric = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&Path> = file.ancestors().skip(1).take(24).collect();
    let chunks = parts
        .iter()
        .position(|folder| folder.file_name().is_some_and(|name| name == "c"))?;
    let named = |folder: &&Path| {
        folder
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(numeric)
    };
    let below = parts.get(..chunks)?;
    if !below.iter().all(named)
        || !file
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(numeric)
    {
        return None;
    }
    let is_root = |folder: &Path| {
        read_file(&folder.join("zarr.json")).is_ok_and(|bytes| RootDoc::parse(&bytes).is_ok())
    };
    let array = parts.get(chunks + 1)?;
    if !array.join("zarr.json").is_file() {
        return None;
    }
    let root = array
        .ancestors()
        .skip(1)
        .take(8)
        .find(|folder| is_root(folder))?;
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
    let mut head = vec![("store".to_owned(), url.to_owned())];
    let mut dump = Dump::new(args.rows);
    match place {
        Place::Document { key } => {
            let missing =
                || CliError::new(crate::error::Class::Io, format!("{url}: no object {key:?}"));
            let bytes = reader
                .read(&key)
                .map_err(|e| e.at(url))?
                .ok_or_else(missing)?;
            head.push(("document".into(), key));
            take_apart(&mut dump, &bytes, BlobArg::Json, &Known::default());
            Ok(Shown {
                head,
                blob: Some(BlobArg::Json),
                length: bytes.len() as u64,
                dump,
            })
        }
        Place::Object(mut place) => {
            place.known = overridden(args, place.known)?;
            if let Some(blob) = args.blob {
                place.blob = blob;
            }
            let chunk = place
                .known
                .chunk
                .as_deref()
                .map(|chunk| format!(", chunk {}", key(chunk)))
                .unwrap_or_default();
            head.push(("array".into(), format!("{}{chunk}", place.array)));
            head.push(("object".into(), place.key.clone()));
            let blob = Some(place.blob);
            let mut object = reader.read(&place.key).map_err(|e| e.at(url))?;
            if let (None, Some(child)) = (&object, &place.child) {
                object = zeros(&mut head, child.stated);
                place.codecs.clear();
            }
            match object {
                None => {
                    dump.conclude("no such object: every element in it is empty");
                    Ok(Shown {
                        head,
                        blob,
                        length: 0,
                        dump,
                    })
                }
                Some(bytes) => {
                    head.push(("size".into(), size(bytes.len() as u64)));
                    layers(&mut dump, &mut head, &place, &bytes);
                    Ok(Shown {
                        head,
                        blob,
                        length: bytes.len() as u64,
                        dump,
                    })
                }
            }
        }
    }
}

/// The content of a blob without a stored object: the fill value, zero (spec 0.7 §2.3).
fn zeros(head: &mut Vec<(String, String)>, stated: u64) -> Option<Bytes> {
    let length = usize::try_from(stated).ok();
    let length = length.filter(|_| stated <= Limits::default().cell_bytes)?;
    let what = match length {
        0 => "none: the blob is empty".to_owned(),
        _ => format!("none: the blob is {stated} zero bytes"),
    };
    head.push(("stored".into(), what));
    Some(vec![0; length].into())
}

/// Dumps an object layer by layer: shard, codecs, framing, payload. Offsets begin at 0 in each layer.
fn layers(dump: &mut Dump, head: &mut Vec<(String, String)>, place: &ObjectPlace, object: &Bytes) {
    let mut bytes = object.clone();
    if let Some(entries) = place.entries {
        if !place.index_at_end {
            dump.fault(0, "index_location start is not supported");
            return;
        }
        let known = Known {
            entries: Some(entries),
            element: place.inner,
            ..Known::default()
        };
        match shard::walk(dump, object, &known) {
            Err(_) => return,
            Ok(Some(inner)) => bytes = object.slice_ref(inner),
            Ok(None) if place.inner.is_some() => {
                dump.conclude("the inner chunk is absent: its element is empty");
                return;
            }
            Ok(None) => return,
        }
    }
    // The first codec converts elements to bytes; the others are decoded before it, last to first.
    for codec in place.codecs.iter().skip(1).rev() {
        match undo(dump, head, &place.key, codec, &bytes) {
            Some(decoded) => bytes = decoded,
            None => return,
        }
    }
    if let Some(child) = &place.child {
        if bytes.len() as u64 != child.stated {
            let found = format!(
                "found {} bytes, expected {} as its document says",
                bytes.len(),
                child.stated
            );
            dump.section("blob");
            dump.fault(child.stated.min(bytes.len() as u64), found);
            return;
        }
        if child.packed.is_some() {
            if let Ok(Some(part)) = tables::packed(&mut Walk::new(dump, &bytes), child) {
                take_apart(dump, part, place.blob, &place.known);
            }
            return;
        }
    }
    if !place.doc.data_type.is_vlen_bytes() {
        take_apart(dump, &bytes, place.blob, &place.known);
        return;
    }
    match vlen::walk(dump, &bytes, &place.known) {
        Ok(Some([])) => dump.conclude("the element is empty"),
        Ok(Some(payload)) => take_apart(dump, payload, place.blob, &place.known),
        Ok(None) => dump.conclude("the element is not in this chunk"),
        Err(_) => {}
    }
}

/// Decodes one codec and describes the change of size.
fn undo(
    dump: &mut Dump,
    head: &mut Vec<(String, String)>,
    key: &str,
    codec: &Codec,
    bytes: &Bytes,
) -> Option<Bytes> {
    match undo_codecs(
        key,
        std::slice::from_ref(codec),
        bytes.clone(),
        &Limits::default(),
    ) {
        Ok(decoded) => {
            head.push((
                codec.name.clone(),
                format!("{} bytes become {}", bytes.len(), decoded.len()),
            ));
            Some(decoded)
        }
        Err(error) => {
            dump.section(format!("{} bytes", codec.name));
            let mut walk = Walk::new(dump, bytes);
            let shown = walk.left().min(32);
            if walk.take(shown, "bytes").is_ok() {
                walk.note(
                    "bytes",
                    format!("first {shown} of {}", bytes.len()),
                    "compressed",
                );
            }
            let text = crate::error::fold(&error);
            dump.fault(0, text.strip_prefix(&format!("{key}: ")).unwrap_or(&text));
            None
        }
    }
}
