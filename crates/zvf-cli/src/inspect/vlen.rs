//! The framing of a `vlen-bytes` chunk: a count, then length and bytes of each element.

use super::Context;
use super::dump::{Dump, Stopped, Walk};

/// Takes the framing apart; the elements stay bytes.
pub(crate) fn walk(dump: &mut Dump, bytes: &[u8], context: &Context) {
    let _ = elements(&mut Walk::new(dump, bytes), context);
}

/// Walks the framing; gives the element asked for, the first when none is, if there is such an element.
pub(crate) fn elements<'a>(
    walk: &mut Walk<'_, 'a>,
    context: &Context,
) -> Result<Option<&'a [u8]>, Stopped> {
    walk.section("vlen-bytes chunk: n elements, each a length and that many bytes");
    let n = u64::from(walk.u32("n")?);
    walk.note(
        4,
        "n",
        n.to_string(),
        "elements in this chunk; 1 in the arrays of the chunk grid",
    );
    if let Some(expected) = context.elements.filter(|expected| *expected != n) {
        return Err(walk.fault_back(
            4,
            format!("n: found {n}, expected {expected}, the elements of a chunk of this array"),
        ));
    }
    let wanted = context.element.unwrap_or(0);
    let shown = walk.shown();
    let mut found = None;
    let mut hidden = 0u64;
    for i in 0..n {
        let length = u64::from(walk.u32("len")?);
        let show = i < shown || i == wanted;
        if show && hidden > 0 {
            walk.dump()
                .remark("…", format!("{hidden} more"), "elements");
            hidden = 0;
        }
        if show {
            walk.note(
                4,
                "len",
                length.to_string(),
                format!("bytes of element {i}"),
            );
        }
        let bytes = walk.take(length, "element")?;
        if show {
            let meaning = match length {
                0 => "empty: as if it were not there".to_owned(),
                _ if i == wanted => "taken apart below".to_owned(),
                _ => String::new(),
            };
            walk.note(
                length,
                &format!("element {i}"),
                format!("{length} bytes"),
                meaning,
            );
        } else {
            hidden += 1;
        }
        if i == wanted {
            found = Some(bytes);
        }
    }
    if hidden > 0 {
        walk.dump()
            .remark("…", format!("{hidden} more"), "elements");
    }
    walk.trailing("after the last element; readers ignore it");
    Ok(found)
}
