//! The futures of the libraries can be sent to another thread, so that a server can run them on its pool. Compiling
//! is the test: nothing is called. `zvf-write` has its own tests.

use std::path::Path;

use zvf_convert::Format;
use zvf_convert::export::{ExportOptions, export};
use zvf_query::{list_links, list_objects};
use zvf_store::{OpenOptions, Store};
use zvf_validate::repair::{RepairOptions, RepairPlan, apply, plan, undo};
use zvf_validate::{ValidateOptions, validate};
use zvf_volume::{Selection, Volume};

fn sendable<T: Send>(_: T) {}

fn reading(store: &Store, format: Format, options: &ExportOptions) {
    sendable(list_objects(store, 0, false));
    sendable(list_links(store, 0, 0, false));
    sendable(export(store, format, Path::new("file"), options));
}

fn checking(options: &ValidateOptions, repair: &RepairOptions, found: &RepairPlan) {
    sendable(validate("store", options));
    sendable(plan("store", repair));
    sendable(apply(found, None, repair));
    sendable(undo("store", "backup", false, repair));
}

fn volumes(volume: &Volume, options: &OpenOptions, selection: &Selection) {
    sendable(Volume::open("volume", &options.io));
    sendable(Volume::list("volume", &options.io));
    sendable(volume.read_box(&[], &[]));
    sendable(volume.read(selection));
}

#[test]
fn futures_can_go_to_other_threads() {
    let _: fn(&Store, Format, &ExportOptions) = reading;
    let _: fn(&ValidateOptions, &RepairOptions, &RepairPlan) = checking;
    let _: fn(&Volume, &OpenOptions, &Selection) = volumes;
}
