//! The futures of this crate can move to another thread, so that a server or a viewer can run them on its thread pool. Compiling is the test: nothing
//! is called.

use std::sync::Arc;

use zvf_edit::{At, Edit, vacuum};
use zvf_migrate::{MigrateOptions, migrate};
use zvf_pyramid::{PyramidSpec, build_pyramid};
use zvf_query::{Answer, Query, query};
use zvf_store::Store;
use zvf_write::{AttributeSpec, Batch, ObjectTable, StoreSpec, StoreWriter, Values, WriteOptions};

fn sendable<T: Send>(_: T) {}

fn reading(store: &Store, answer: &mut Answer, other: Answer) {
    sendable(Store::open("store"));
    sendable(query(store, Query::default()));
    sendable(answer.next());
    sendable(other.collect());
}

fn writing(store: &Store, spec: StoreSpec, writer: StoreWriter) {
    sendable(StoreWriter::create("store", spec, WriteOptions::default()));
    sendable(writer.finish());
    sendable(migrate(store, "copy", MigrateOptions::default()));
    let (levels, options) = (PyramidSpec::new([]), WriteOptions::default());
    sendable(build_pyramid("store", &levels, &options, Arc::new(|_| ())));
    sendable(vacuum("store", WriteOptions::default()));
}

fn editing(edit: &mut Edit, batch: &Batch, objects: &ObjectTable, one: AttributeSpec) {
    sendable(Edit::open("store", WriteOptions::default()));
    sendable(Edit::resume("store", WriteOptions::default()));
    sendable(edit.append(batch));
    sendable(edit.put_objects(objects));
    sendable(edit.delete(&[1]));
    sendable(edit.add_object_attribute(one));
}

fn changing(edit: &mut Edit, values: &Values, one: AttributeSpec, other: AttributeSpec) {
    sendable(edit.move_vertices(At::All, values));
    sendable(edit.set_vertex_attribute("n", At::All, values));
    sendable(edit.add_vertex_attribute(one, values));
    sendable(edit.set_link_attribute("w", At::All, values));
    sendable(edit.add_link_attribute(other, values));
}

fn ending(edit: Edit, other: Edit) {
    sendable(edit.commit());
    sendable(other.abandon());
}

#[test]
fn futures_can_go_to_other_threads() {
    let _: fn(&Store, &mut Answer, Answer) = reading;
    let _: fn(&Store, StoreSpec, StoreWriter) = writing;
    let _: fn(&mut Edit, &Batch, &ObjectTable, AttributeSpec) = editing;
    let _: fn(&mut Edit, &Values, AttributeSpec, AttributeSpec) = changing;
    let _: fn(Edit, Edit) = ending;
}
