//! The steps of a break, as `breaks.txt` lists them.

use serde_json::Value;

use crate::files::{Files, Outcome, list, put};
use crate::made;

/// Applies one step to a store.
pub(crate) fn step(files: &mut Files, line: &str) -> Outcome {
    let words: Vec<&str> = line.split(' ').collect();
    match words.as_slice() {
        ["set", key, pointer, json] => {
            files.set(key, &full(key, pointer), serde_json::from_str(json)?)
        }
        ["unset", key, pointer] => files.unset(key, &full(key, pointer)),
        ["list", key, pointer, edit @ ..] => files.edit(key, |document| {
            edit_list(list(document, &full(key, pointer))?, edit)
        }),
        ["write", key, text @ ..] => {
            files
                .objects
                .insert((*key).to_owned(), text.concat().into());
            Ok(())
        }
        ["gone", prefix] => files.gone(prefix),
        ["copy", from, to] => files.copy(from, to),
        ["rename", from, to] => files.rename(from, to),
        ["unlist", key] => files.unlist(key),
        ["object", key, edit @ ..] => {
            edit_bytes(files.objects.get_mut(*key).ok_or("no such object")?, edit)
        }
        ["plain", key, edit @ ..] => files.plain(key, |bytes| edit_bytes(bytes, edit)),
        ["cell", key, edit @ ..] => files.payloads_of(key, |payloads| {
            edit_bytes(payloads.first_mut().ok_or("no payload")?, edit)
        }),
        ["blob", path, edit @ ..] => files.blob(path, |bytes| edit_bytes(bytes, edit)),
        ["split"] => made::split(files),
        ["other-value"] => made::other_value(files),
        ["fragment-column", name, rows, byte] => {
            made::fragment_column(files, name, rows.parse()?, u8::from_str_radix(byte, 16)?)
        }
        ["join-manifests", key] => made::join_manifests(files, key),
        _ => Err("no such step".into()),
    }
}

/// Expands a shortened pointer: `@` stands for the attributes, or for the ZVF block in the attributes of a root or level.
fn full(key: &str, pointer: &str) -> String {
    let Some(rest) = pointer.strip_prefix('@') else {
        return pointer.to_owned();
    };
    let block = match key.split('/').count() {
        1 => "/zarr_vectors",
        2 => "/zarr_vectors_level",
        _ => "",
    };
    format!("/attributes{block}{rest}")
}

fn edit_list(list: &mut Vec<Value>, edit: &[&str]) -> Outcome {
    match edit {
        ["reverse"] => list.reverse(),
        ["keep", count] => list.truncate(count.parse()?),
        ["remove", at] => drop(list.remove(at.parse()?)),
        ["double", at] => {
            let at: usize = at.parse()?;
            let item = list.get(at).cloned().ok_or("no such item")?;
            list.insert(at, item);
        }
        ["add", json] => list.push(serde_json::from_str(json)?),
        _ => return Err("no such edit of a list".into()),
    }
    Ok(())
}

fn edit_bytes(bytes: &mut Vec<u8>, edit: &[&str]) -> Outcome {
    match edit {
        ["cut", count] => bytes.truncate(bytes.len() - count.parse::<usize>()?),
        ["resize", length] => bytes.resize(length.parse()?, 0),
        ["add", hex] => bytes.extend(from_hex(hex)?),
        ["repeat", count] => bytes.extend_from_within(..count.parse::<usize>()?),
        ["put", at, hex] => put(bytes, at.parse()?, &from_hex(hex)?)?,
        ["number", at, value] => {
            put(bytes, at.parse()?, &value.parse::<i64>()?.to_le_bytes())?;
        }
        ["flip", at, bit] => bytes[at.parse::<usize>()?] ^= 1 << bit.parse::<u8>()?,
        ["copy", from, to, length] => {
            let from: usize = from.parse()?;
            bytes.copy_within(from..from + length.parse::<usize>()?, to.parse()?);
        }
        ["swap", one, other] => {
            let (one, other): (usize, usize) = (one.parse()?, other.parse()?);
            for byte in 0..8 {
                bytes.swap(one + byte, other + byte);
            }
        }
        _ => return Err("no such edit of bytes".into()),
    }
    Ok(())
}

/// Parses bytes of two hexadecimal digits each.
fn from_hex(hex: &str) -> Outcome<Vec<u8>> {
    (0..hex.len())
        .step_by(2)
        .map(|at| {
            let digits = hex.get(at..at + 2).ok_or("half a byte")?;
            Ok(u8::from_str_radix(digits, 16)?)
        })
        .collect()
}
