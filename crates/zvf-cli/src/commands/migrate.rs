//! The report of `zvf migrate` and `zvf rechunk` as text.

use zvf_migrate::MigrationReport;

use crate::output::table::{count, counted, tally};

/// The report of a copy.
pub(super) fn text(from: &str, to: &str, report: &MigrationReport) -> String {
    let mut out = format!(
        "{to}: version {}, from {from}, version {}\n",
        report.to, report.from
    );
    for level in &report.levels {
        let mut parts = vec![
            counted(level.vertices, "vertex"),
            counted(level.chunks, "chunk"),
            counted(level.fragments, "fragment"),
        ];
        let more = [
            (level.objects, "object"),
            (level.links, "link"),
            (level.groups, "group"),
        ];
        parts.extend(tally(more));
        out.push_str(&format!("  level {}: {}\n", level.level, parts.join(", ")));
    }
    for repair in &report.repairs {
        let (place, what) = (&repair.place, &repair.what);
        out.push_str(&format!(
            "  repaired: {place}: {what} ({})\n",
            count(repair.count)
        ));
    }
    for note in &report.notes {
        out.push_str(&format!("  note: {note}\n"));
    }
    if let Some(verified) = report.verified {
        let parts = [
            counted(verified.vertices, "vertex"),
            counted(verified.objects, "object"),
            counted(verified.links, "link"),
            counted(verified.values, "value"),
        ];
        out.push_str(&format!(
            "  compared: {}; no difference\n",
            parts.join(", ")
        ));
    }
    out
}
