//! The report of `zvf pyramid` as text.

use zvf_jobs::PyramidJobReport;

use crate::output::table::{TextTable, count, counted, joined};

/// The report of the levels of a store.
pub(super) fn text(done: &PyramidJobReport) -> String {
    let (store, report) = (&done.store, &done.report);
    let levels = counted(report.before, "coarse level");
    if report.completed {
        return format!(
            "{store}\n  {levels}: the interrupted run was committed, and is completed now\n"
        );
    }
    if done.removed {
        return format!("{store}\n  {levels} removed\n");
    }
    if done.seed.is_none() && !report.was_stale {
        return format!("{store}\n  {levels}, nothing out of date\n");
    }
    let mut head = String::new();
    if let Some(bins) = &report.chosen {
        head.push_str(&format!(
            "  bins of level 0: {}, since {}\n",
            joined(&bins.shape, ", "),
            bins.reason
        ));
    }
    if report.before > 0 {
        head.push_str(&format!(
            "  {levels} before; {} written, {} removed\n",
            counted(report.put, "object"),
            count(report.removed)
        ));
    }
    let mut table = TextTable::new([
        "level",
        "vertices",
        "chunks",
        "objects",
        "links",
        "bin",
        "error bound",
    ]);
    for one in &report.levels {
        table.row([
            one.level.to_string(),
            count(one.vertices),
            count(one.chunks),
            count(one.objects),
            count(one.links),
            joined(&one.bin_shape, ", "),
            one.error_bound.map_or(String::new(), decimals),
        ]);
    }
    format!("{store}\n{head}{}", table.render(2))
}

/// A distance with six decimals, or in scientific notation below 0.00001.
fn decimals(distance: f64) -> String {
    match distance {
        small if small > 0.0 && small < 1e-5 => format!("{small:.3e}"),
        distance => format!("{distance:.6}"),
    }
}
