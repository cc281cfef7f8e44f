//! The framing of a `vlen-bytes` chunk: a count, then length and bytes of each element.

use zvf_format::vlen::{ElementHead, VlenChunk, VlenHead};

use super::dump::{Dump, Stopped, Walk};
use super::place::Known;

/// Takes the framing apart, but not the elements. Returns the requested element, by default the first, if it exists.
pub(crate) fn walk<'a>(
    dump: &mut Dump,
    bytes: &'a [u8],
    known: &Known,
) -> Result<Option<&'a [u8]>, Stopped> {
    let expected = known.elements.or_else(|| VlenChunk::count(bytes));
    let verdict = VlenChunk::parse(bytes, expected.unwrap_or(0));
    let mut found = None;
    Walk::new(dump, bytes).judged(verdict, |walk| {
        found = elements(walk, known)?;
        Ok(())
    });
    if verdict.is_ok() {
        Ok(found)
    } else {
        Err(Stopped)
    }
}

fn elements<'a>(walk: &mut Walk<'_, 'a>, known: &Known) -> Result<Option<&'a [u8]>, Stopped> {
    walk.section("vlen-bytes chunk: n elements, each a length and that many bytes");
    let head = walk.structure::<VlenHead>(true, |_, _| {})?;
    let (wanted, shown) = (known.element.unwrap_or(0), walk.shown());
    let (mut found, mut hidden) = (None, 0u64);
    for i in 0..u64::from(head.count.get()) {
        let show = i < shown || i == wanted;
        if show {
            walk.more(std::mem::take(&mut hidden), "elements")?;
        }
        let head = walk.structure::<ElementHead>(show, |_, field| {
            field.meaning += &format!(" of element {i}");
        })?;
        let bytes = walk.take(u64::from(head.length.get()), "element")?;
        if show {
            let meaning = match bytes.len() {
                0 => "empty: as if it were not there",
                _ if i == wanted => "taken apart below",
                _ => "",
            };
            walk.note(
                &format!("element {i}"),
                format!("{} bytes", bytes.len()),
                meaning,
            );
        } else {
            hidden += 1;
        }
        if i == wanted {
            found = Some(bytes);
        }
    }
    walk.more(hidden, "elements")?;
    walk.trailing("after the last element; readers ignore it")?;
    Ok(found)
}
