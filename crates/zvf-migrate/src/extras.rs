//! Groups outside the levels: headers of source files, parametric objects, composite geometry, unknown folders.
//!
//! Since 0.8.1 these are plain Zarr nodes, and each object is copied unchanged. Before, they were blobs below groups, which the new version
//! does not support: they are reported.

use tokio::runtime::Handle;
use zvf_meta::{ArrayDoc, NodeKind, node_kind};
use zvf_store::writing::{MARKER, Redo};
use zvf_store::{Listing, RawStore, Store};

use super::report::Notes;
use zvf_encode::WriteError;
use zvf_encode::documents::plain_group;
use zvf_encode::spec::VersionRules;
use zvf_encode::target::{Target, is_temporary, node};
use zvf_encode::transaction::ROOT;

/// Deepest nesting of groups.
const DEPTH: usize = 8;
/// Most chunks of one array.
const MOST: u64 = 1 << 20;

struct Copy<'c> {
    raw: RawStore,
    handle: &'c Handle,
    target: &'c Target,
    notes: &'c Notes,
}

/// Copies everything outside the levels; returns the kinds of composite geometry that cannot be copied.
pub(super) fn copy(
    store: &Store,
    handle: &Handle,
    rules: VersionRules,
    target: &Target,
    notes: &Notes,
) -> Result<Vec<String>, WriteError> {
    let side = handle.block_on(store.side_groups())?;
    let copy = Copy {
        raw: store.raw(),
        handle,
        target,
        notes,
    };
    if !side.listed {
        notes.lost(
            "the old store",
            "it cannot be listed: headers, attributes of fragments and unknown folders are not copied",
        );
    }
    // A header that cannot be read fails the copy: it may hold the frame of all positions.
    let formats: Vec<&str> = side.headers.iter().map(|one| one.format.as_str()).collect();
    handle.block_on(store.headers(&formats))?;
    let (mut paths, mut gone, mut optional) = (Vec::new(), Vec::new(), Vec::new());
    if !side.headers.is_empty() {
        paths.push("headers".to_owned());
    }
    if side.parametric.is_some() {
        if copy.is_array("parametric/objects")? || !copy.exists("parametric/objects")? {
            paths.push("parametric".to_owned());
        } else {
            notes.lost(
                "parametric",
                "parametric objects in blobs of an old version are not copied",
            );
        }
    }
    for composite in &side.composite {
        let (level, kind) = (composite.level, &composite.kind);
        let vertices = format!("{level}/vertices_{kind}");
        let links = format!("{level}/links_{kind}");
        if let Some(what) = copy.refused(&vertices, &links, rules)? {
            gone.push(kind.clone());
            notes.lost(vertices, what);
            continue;
        }
        paths.push(vertices);
        optional.extend([links, format!("{level}/geometry_index")]);
    }
    let of_edits = |path: &&String| path.starts_with(Redo::FOLDER);
    paths.extend(side.unknown.iter().filter(|path| !of_edits(path)).cloned());
    paths.sort_unstable();
    paths.dedup();
    for path in optional {
        copy.tree(&path, 0)?;
    }
    for path in paths {
        if !copy.tree(&path, 0)? {
            notes.lost(
                path,
                "holds no Zarr node, so its files are unknown: not copied",
            );
        }
    }
    let levels = store.levels().iter().map(u32::to_string);
    for group in std::iter::once(String::new()).chain(levels) {
        copy.loose(&group, &copy.below(&group)?);
    }
    for problem in side.problems {
        notes.lost("the old store", problem);
    }
    Ok(gone)
}

impl Copy<'_> {
    fn read(&self, key: &str) -> Result<Option<Vec<u8>>, WriteError> {
        let bytes = self.handle.block_on(self.raw.read(key))?;
        Ok(bytes.map(|bytes| bytes.to_vec()))
    }

    fn exists(&self, path: &str) -> Result<bool, WriteError> {
        Ok(self.read(&format!("{path}/zarr.json"))?.is_some())
    }

    /// The reason why composite geometry cannot be copied, if there is one.
    fn refused(
        &self,
        vertices: &str,
        links: &str,
        rules: VersionRules,
    ) -> Result<Option<&'static str>, WriteError> {
        let document = self.read(&format!("{vertices}/zarr.json"))?;
        let array = document.and_then(|bytes| ArrayDoc::parse(&bytes).ok());
        let Some(array) = array else {
            // 0.8.1 stores this geometry as blobs, but not its links (0.8 §11).
            let links = self.is_array(links)? || !self.exists(links)?;
            let carried = rules.takes_blobs() && links;
            return Ok(
                (!carried).then_some("composite geometry in blobs of an old version is not copied")
            );
        };
        let moved = array.attributes.chunk_grid_origin.is_some();
        Ok((moved && rules.takes_blobs())
            .then_some("composite geometry in a grid that does not begin at chunk 0 is not copied"))
    }

    fn is_array(&self, path: &str) -> Result<bool, WriteError> {
        let document = self.read(&format!("{path}/zarr.json"))?;
        Ok(document.is_some_and(|bytes| matches!(node_kind(&bytes), Ok(NodeKind::Array))))
    }

    /// The folders and objects directly below a path; none if the store cannot be listed.
    fn below(&self, path: &str) -> Result<Listing, WriteError> {
        let listing = self.handle.block_on(self.raw.listing(path))?;
        Ok(listing.unwrap_or_default())
    }

    /// Reports the objects beside the document of a group: Zarr does not know them.
    fn loose(&self, path: &str, below: &Listing) {
        let of_writers =
            |name: &str| name == ROOT || is_temporary(name) || (path.is_empty() && name == MARKER);
        for name in below.objects.iter().filter(|name| !of_writers(name)) {
            let key = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}/{name}")
            };
            self.notes
                .lost(key, "is not part of a Zarr node: not copied");
        }
    }

    /// Copies a node and everything below it; returns whether it exists.
    fn tree(&self, path: &str, depth: usize) -> Result<bool, WriteError> {
        if depth > DEPTH {
            self.notes.lost(path, "is nested too deeply to be copied");
            return Ok(true);
        }
        let key = format!("{path}/zarr.json");
        let document = self.read(&key)?;
        let named = document.is_some();
        let mut any = named;
        let mut is_array = false;
        if let Some(document) = document {
            is_array = matches!(node_kind(&document), Ok(NodeKind::Array));
            if is_array && !self.array(path, &document)? {
                return Ok(true);
            }
            self.target.put(vec![(key, document)])?;
        }
        if is_array {
            return Ok(true);
        }
        let below = self.below(path)?;
        for name in &below.folders {
            any |= self.tree(&format!("{path}/{name}"), depth + 1)?;
        }
        if any {
            self.loose(path, &below);
        }
        if any && !named {
            // Old writers omit the documents of intermediate groups (0.7 §2.4).
            self.target.put(vec![node(path, plain_group())])?;
        }
        Ok(any)
    }

    /// Copies the chunks of an array; returns false, and records a loss, if their keys cannot be determined or there are too many.
    fn array(&self, path: &str, document: &[u8]) -> Result<bool, WriteError> {
        let doc = match ArrayDoc::parse(document) {
            Ok(doc) => doc,
            Err(error) => {
                self.notes
                    .lost(path, format!("has a document that cannot be read: {error}"));
                return Ok(false);
            }
        };
        let counts: Vec<u64> = doc
            .shape
            .iter()
            .zip(&doc.chunk_shape)
            .map(|(shape, chunk)| shape.div_ceil((*chunk).max(1)))
            .collect();
        let all = counts
            .iter()
            .try_fold(1_u64, |all, count| all.checked_mul(*count));
        let Some(all) = all.filter(|all| *all <= MOST) else {
            self.notes
                .lost(path, format!("has more than {MOST} chunks: not copied"));
            return Ok(false);
        };
        let mut index = vec![0_u64; counts.len()];
        for _ in 0..all {
            let key = format!("{path}/{}", doc.key_encoding.object_key(&index));
            if let Some(bytes) = self.read(&key)? {
                self.target.put(vec![(key, bytes)])?;
            }
            for (at, count) in index.iter_mut().zip(&counts).rev() {
                *at += 1;
                if *at < *count {
                    break;
                }
                *at = 0;
            }
        }
        Ok(true)
    }
}
