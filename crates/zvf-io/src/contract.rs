//! A test suite for authors of backends: the behaviour that readers and writers of stores rely on.
//!
//! ```
//! # use object_store::{memory::InMemory, path::Path};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let store = InMemory::new();
//! let breaches = zvf_io::contract::check(&store, &Path::from("contract")).await;
//! assert!(breaches.is_empty(), "{breaches:#?}");
//! # }
//! ```

use std::collections::BTreeSet;
use std::fmt;

use bytes::Bytes;
use futures::future::join_all;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions,
    PutPayload, UpdateVersion,
};

/// The uses of a backend in this workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ability {
    /// Reading a store.
    Read,
    /// Listing: sizes, vacuums, copies, and stores of versions before 0.9. Readers of 0.9 need no listings.
    List,
    /// Writing a new store.
    Write,
    /// Edits, coarse levels and distributed writes, which several programs may attempt at the same time.
    Edit,
}

/// A deviation of a backend from the expected behaviour.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Breach {
    /// The ability that the backend lacks.
    pub ability: Ability,
    /// The attempted operation.
    pub tried: &'static str,
    /// The result.
    pub found: String,
    /// The expected result.
    pub expected: &'static str,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            ability,
            tried,
            found,
            expected,
        } = self;
        write!(
            f,
            "{ability:?}: {tried}: found {found}, expected {expected}"
        )
    }
}

/// Number of concurrent attempts.
const RIVALS: u8 = 12;

/// The content of the object that is read in parts.
const CONTENT: &[u8] = b"0123456789";

/// Tests a backend, and returns its deviations. Objects are written below `below`, which should be empty, and removed at the end.
///
/// # Cost
/// About 120 requests, up to 12 at the same time. Objects have a few bytes.
pub async fn check(store: &dyn ObjectStore, below: &Path) -> Vec<Breach> {
    let mut suite = Suite {
        store,
        below,
        breaches: Vec::new(),
        written: BTreeSet::new(),
    };
    suite.reading().await;
    suite.replacing().await;
    suite.names().await;
    suite.listing().await;
    suite.creating().await;
    suite.updating().await;
    suite.removing().await;
    suite.breaches
}

struct Suite<'s> {
    store: &'s dyn ObjectStore,
    below: &'s Path,
    breaches: Vec<Breach>,
    written: BTreeSet<String>,
}

/// The name of an error's kind.
fn kind(error: &Error) -> String {
    match error {
        Error::NotFound { .. } => "NotFound".to_owned(),
        Error::AlreadyExists { .. } => "AlreadyExists".to_owned(),
        Error::Precondition { .. } => "Precondition".to_owned(),
        Error::NotImplemented { .. } => "NotImplemented".to_owned(),
        other => format!("the error {other}"),
    }
}

/// A short text of a result.
fn shown<T: fmt::Debug>(result: &Result<T, Error>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => kind(error),
    }
}

impl Suite<'_> {
    fn path(&self, key: &str) -> Path {
        key.split('/')
            .fold(self.below.clone(), |path, part| path.join(part))
    }

    fn breach(
        &mut self,
        ability: Ability,
        tried: &'static str,
        found: String,
        expected: &'static str,
    ) {
        self.breaches.push(Breach {
            ability,
            tried,
            found,
            expected,
        });
    }

    async fn put(&mut self, key: &str, bytes: &[u8]) -> bool {
        self.written.insert(key.to_owned());
        let done = self
            .store
            .put(&self.path(key), PutPayload::from(bytes.to_vec()))
            .await;
        if let Err(error) = &done {
            self.breach(Ability::Write, "put an object", kind(error), "success");
        }
        done.is_ok()
    }

    async fn get(&self, key: &str) -> Result<(ObjectMeta, Bytes), Error> {
        self.part(key, None).await
    }

    async fn part(&self, key: &str, range: Option<GetRange>) -> Result<(ObjectMeta, Bytes), Error> {
        let options = GetOptions {
            range,
            ..GetOptions::default()
        };
        let found = self.store.get_opts(&self.path(key), options).await?;
        let meta = found.meta.clone();
        Ok((meta, found.bytes().await?))
    }

    async fn reading(&mut self) {
        let missing = self.get("missing/zarr.json").await;
        if !matches!(missing, Err(Error::NotFound { .. })) {
            let found = shown(&missing);
            self.breach(
                Ability::Read,
                "get an object that is not there",
                found,
                "NotFound",
            );
        }
        let missing = self.store.head(&self.path("missing/zarr.json")).await;
        if !matches!(missing, Err(Error::NotFound { .. })) {
            let found = shown(&missing);
            self.breach(
                Ability::Read,
                "head of an object that is not there",
                found,
                "NotFound",
            );
        }
        if !self.put("part", CONTENT).await || !self.put("empty", b"").await {
            return;
        }
        let head = self.store.head(&self.path("part")).await;
        let size = head.map(|meta| meta.size);
        if size.as_ref().ok() != Some(&10) {
            let found = shown(&size);
            self.breach(
                Ability::Read,
                "head of an object of 10 bytes",
                found,
                "the size 10",
            );
        }
        let empty = self.get("empty").await.map(|(_, bytes)| bytes);
        if !empty.as_ref().is_ok_and(Bytes::is_empty) {
            let found = shown(&empty);
            self.breach(
                Ability::Read,
                "get an object of no bytes",
                found,
                "no bytes",
            );
        }
        let parts: [(&'static str, Option<GetRange>, &'static str); 5] = [
            ("get an object", None, "0123456789"),
            ("get the bytes 2..5", Some(GetRange::Bounded(2..5)), "234"),
            (
                "get a range that ends after the end of the object",
                Some(GetRange::Bounded(7..64)),
                "789",
            ),
            ("get the last 3 bytes", Some(GetRange::Suffix(3)), "789"),
            (
                "get the last 64 bytes of fewer",
                Some(GetRange::Suffix(64)),
                "0123456789",
            ),
        ];
        for (tried, range, expected) in parts {
            let found = self.part("part", range).await;
            let is_right =
                matches!(&found, Ok((meta, bytes)) if bytes == expected && meta.size == 10);
            if !is_right {
                let found = found.map(|(meta, bytes)| (bytes, meta.size));
                let found = format!("{} (bytes, size of the object)", shown(&found));
                self.breach(Ability::Read, tried, found, expected);
            }
        }
    }

    /// A changed object is detected by its ETag, or by its time and size.
    async fn replacing(&mut self) {
        if !self.put("replaced", b"before").await {
            return;
        }
        let before = self.get("replaced").await;
        if !self.put("replaced", b"behind").await {
            return;
        }
        let after = self.get("replaced").await;
        let (Ok((before, _)), Ok((after, bytes))) = (&before, &after) else {
            let found = format!("{}, {}", shown(&before), shown(&after));
            self.breach(
                Ability::Read,
                "get an object before and after a put",
                found,
                "both",
            );
            return;
        };
        if bytes != "behind" {
            let found = format!("{bytes:?}");
            self.breach(
                Ability::Read,
                "get an object after a put",
                found,
                "its new bytes",
            );
        }
        let state = |meta: &ObjectMeta| (meta.e_tag.clone(), meta.last_modified);
        if state(before) == state(after) {
            let found = format!("{:?} twice", state(after));
            let tried = "put other bytes of the same number";
            self.breach(Ability::Read, tried, found, "another ETag or time");
        }
    }

    /// Keys of stores: negative chunk coordinates, names of attributes.
    async fn names(&mut self) {
        for key in [
            "0/vertices/c/-1/12",
            "0/vertex_attributes/mean fa (a+b)/zarr.json",
            "0/object_attributes/größe/zarr.json",
        ] {
            if !self.put(key, key.as_bytes()).await {
                continue;
            }
            let found = self.get(key).await.map(|(_, bytes)| bytes);
            if !matches!(&found, Ok(bytes) if bytes == key.as_bytes()) {
                let found = format!("{} at {key:?}", shown(&found));
                self.breach(
                    Ability::Read,
                    "get an object by the key of its put",
                    found,
                    "its bytes",
                );
            }
        }
    }

    async fn listing(&mut self) {
        for key in ["list/a/1", "list/a/b/2", "list/ab/3", "list/4"] {
            if !self.put(key, b"x").await {
                return;
            }
        }
        let prefix = self.path("list/a");
        let names = |metas: Vec<ObjectMeta>| -> BTreeSet<String> {
            metas.iter().map(|meta| meta.location.to_string()).collect()
        };
        let below = |keys: &[&str]| -> BTreeSet<String> {
            keys.iter().map(|key| self.path(key).to_string()).collect()
        };
        let wanted = below(&["list/a/1", "list/a/b/2"]);
        let folders = below(&["list/a", "list/ab"]);
        let objects = below(&["list/4"]);
        let found = self
            .store
            .list(Some(&prefix))
            .try_collect()
            .await
            .map(names);
        if found.as_ref().ok() != Some(&wanted) {
            let found = shown(&found);
            let expected = "list/a/1 and list/a/b/2, and not list/ab/3";
            self.breach(Ability::List, "list what is below list/a", found, expected);
        }
        let prefix = self.path("list");
        let found = self.store.list_with_delimiter(Some(&prefix)).await;
        let found = found.map(|found| {
            let folders: BTreeSet<String> =
                found.common_prefixes.iter().map(Path::to_string).collect();
            (folders, names(found.objects))
        });
        if !matches!(&found, Ok((some, others)) if *some == folders && *others == objects) {
            let found = shown(&found);
            let expected = "the folders list/a and list/ab, and the object list/4";
            self.breach(Ability::List, "list one level below list", found, expected);
        }
        let copied = self
            .store
            .copy(&self.path("list/4"), &self.path("list/5"))
            .await;
        self.written.insert("list/5".to_owned());
        let found = self.get("list/5").await.map(|(_, bytes)| bytes);
        if copied.is_err() || !matches!(&found, Ok(bytes) if bytes == "x") {
            let found = format!("{}, then {}", shown(&copied), shown(&found));
            self.breach(
                Ability::Edit,
                "copy an object and get the copy",
                found,
                "its bytes",
            );
        }
    }

    /// If several programs create the same object, exactly one succeeds.
    async fn creating(&mut self) {
        self.written.insert("created".to_owned());
        let path = self.path("created");
        let create = |rival: u8| {
            let payload = PutPayload::from(vec![rival]);
            let done = self
                .store
                .put_opts(&path, payload, PutOptions::from(PutMode::Create));
            async move { (rival, done.await) }
        };
        let done = join_all((0..RIVALS).map(create)).await;
        let winners: Vec<u8> = done
            .iter()
            .filter(|(_, done)| done.is_ok())
            .map(|(rival, _)| *rival)
            .collect();
        let found = self.get("created").await.map(|(_, bytes)| bytes);
        let tried = "create one object 12 times at once";
        let expected = "one success, whose bytes stay";
        match winners.as_slice() {
            [winner]
                if found
                    .as_ref()
                    .is_ok_and(|bytes| bytes.as_ref() == [*winner]) => {}
            winners => {
                let found = format!("success of {winners:?}, then the bytes {}", shown(&found));
                self.breach(Ability::Write, tried, found, expected);
            }
        }
        let wrong = done.iter().find(|(_, done)| {
            !matches!(
                done,
                Ok(_) | Err(Error::AlreadyExists { .. } | Error::Precondition { .. })
            )
        });
        if let Some((_, wrong)) = wrong {
            let found = shown(wrong);
            self.breach(
                Ability::Write,
                "create an object that exists",
                found,
                "AlreadyExists",
            );
        }
    }

    /// If several programs replace the state that they read, exactly one succeeds.
    async fn updating(&mut self) {
        if !self.put("updated", b"first").await {
            return;
        }
        let Ok((seen, _)) = self.get("updated").await else {
            return;
        };
        let path = self.path("updated");
        let version = UpdateVersion {
            e_tag: seen.e_tag.clone(),
            version: seen.version.clone(),
        };
        let update = |rival: u8| {
            let payload = PutPayload::from(vec![rival]);
            let options = PutOptions::from(PutMode::Update(version.clone()));
            let done = self.store.put_opts(&path, payload, options);
            async move { (rival, done.await) }
        };
        let done = join_all((0..RIVALS).map(update)).await;
        let winners: Vec<u8> = done
            .iter()
            .filter(|(_, done)| done.is_ok())
            .map(|(rival, _)| *rival)
            .collect();
        let found = self.get("updated").await.map(|(_, bytes)| bytes);
        let is_one = matches!((winners.as_slice(), &found), ([winner], Ok(bytes)) if bytes.as_ref() == [*winner]);
        if !is_one {
            let errors = done.iter().find_map(|(_, done)| done.as_ref().err());
            let errors = errors.map_or_else(|| "no error".to_owned(), kind);
            let found = format!(
                "success of {winners:?}, {errors}, then the bytes {}",
                shown(&found)
            );
            let tried = "replace one version of an object 12 times at once";
            self.breach(Ability::Edit, tried, found, "one success, whose bytes stay");
            return;
        }
        let options = PutOptions::from(PutMode::Update(version));
        let stale = self
            .store
            .put_opts(&path, PutPayload::from(vec![0]), options)
            .await;
        if !matches!(stale, Err(Error::Precondition { .. })) {
            let found = shown(&stale);
            self.breach(
                Ability::Edit,
                "replace a version that is gone",
                found,
                "Precondition",
            );
        }
    }

    async fn removing(&mut self) {
        for key in std::mem::take(&mut self.written) {
            let path = self.path(&key);
            let done = self.store.delete(&path).await;
            let found = self.store.head(&path).await;
            if done.is_err() && !matches!(done, Err(Error::NotFound { .. }))
                || !matches!(found, Err(Error::NotFound { .. }))
            {
                let found = format!("{}, then {} at {key:?}", shown(&done), shown(&found));
                self.breach(
                    Ability::Edit,
                    "delete an object",
                    found,
                    "NotFound afterwards",
                );
            }
        }
        let path = self.path("part");
        let again = self.store.delete(&path).await;
        if !matches!(again, Ok(()) | Err(Error::NotFound { .. })) {
            let found = shown(&again);
            let tried = "delete an object that is not there";
            self.breach(Ability::Edit, tried, found, "success or NotFound");
        }
        let left = self.store.list(Some(self.below)).next().await;
        if let Some(Ok(left)) = left {
            let found = left.location.to_string();
            self.breach(
                Ability::List,
                "list after everything was deleted",
                found,
                "nothing",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::sync::Arc;

    use async_trait::async_trait;
    use futures::stream::BoxStream;
    use object_store::local::LocalFileSystem;
    use object_store::memory::InMemory;
    use object_store::{
        CopyOptions, GetResult, ListResult, MultipartUpload, PutMultipartOptions, PutResult, Result,
    };

    use super::*;

    /// A defect of a simulated backend.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Defect {
        Ranges,
        Suffix,
        Missing,
        Create,
        Update,
        Prefix,
        Delete,
        Tags,
    }

    #[derive(Debug)]
    struct Defective {
        inner: Arc<InMemory>,
        defect: Defect,
    }

    impl fmt::Display for Defective {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("defective")
        }
    }

    #[async_trait]
    impl ObjectStore for Defective {
        async fn put_opts(
            &self,
            at: &Path,
            payload: PutPayload,
            mut options: PutOptions,
        ) -> Result<PutResult> {
            match (self.defect, &options.mode) {
                (Defect::Create, PutMode::Create) | (Defect::Update, PutMode::Update(_)) => {
                    options.mode = PutMode::Overwrite;
                }
                _ => {}
            }
            self.inner.put_opts(at, payload, options).await
        }

        async fn put_multipart_opts(
            &self,
            at: &Path,
            options: PutMultipartOptions,
        ) -> Result<Box<dyn MultipartUpload>> {
            self.inner.put_multipart_opts(at, options).await
        }

        async fn get_opts(&self, at: &Path, mut options: GetOptions) -> Result<GetResult> {
            match (self.defect, &options.range) {
                (Defect::Ranges, Some(GetRange::Bounded(range))) => {
                    options.range = Some(GetRange::Bounded(range.start..range.end + 1));
                }
                (Defect::Suffix, Some(GetRange::Suffix(64))) => {
                    return Err(Error::Generic {
                        store: "defective",
                        source: "416".into(),
                    });
                }
                _ => {}
            }
            let found = self.inner.get_opts(at, options).await;
            match (self.defect, found) {
                (Defect::Missing, Err(Error::NotFound { source, .. })) => Err(Error::Generic {
                    store: "defective",
                    source,
                }),
                (Defect::Tags, Ok(mut found)) => {
                    found.meta.e_tag = None;
                    found.meta.last_modified = chrono::DateTime::UNIX_EPOCH;
                    Ok(found)
                }
                (_, found) => found,
            }
        }

        fn delete_stream(
            &self,
            paths: BoxStream<'static, Result<Path>>,
        ) -> BoxStream<'static, Result<Path>> {
            match self.defect {
                Defect::Delete => paths,
                _ => self.inner.delete_stream(paths),
            }
        }

        fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
            let (Defect::Prefix, Some(prefix)) = (self.defect, prefix) else {
                return self.inner.list(prefix);
            };
            // Like a backend that compares keys as text.
            let prefix = prefix.to_string();
            let all = self.inner.list(None);
            let is_below = move |meta: &ObjectMeta| meta.location.as_ref().starts_with(&prefix);
            all.try_filter(move |meta| std::future::ready(is_below(meta)))
                .boxed()
        }

        async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
            self.inner.list_with_delimiter(prefix).await
        }

        async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
            self.inner.copy_opts(from, to, options).await
        }
    }

    async fn breaches(defect: Defect) -> BTreeSet<(Ability, &'static str)> {
        let store = Defective {
            inner: Arc::new(InMemory::new()),
            defect,
        };
        let found = check(&store, &Path::from("a/b")).await;
        found.iter().map(|one| (one.ability, one.tried)).collect()
    }

    #[tokio::test]
    async fn each_defect_is_found() {
        for (defect, expected) in [
            (Defect::Ranges, (Ability::Read, "get the bytes 2..5")),
            (
                Defect::Suffix,
                (Ability::Read, "get the last 64 bytes of fewer"),
            ),
            (
                Defect::Missing,
                (Ability::Read, "get an object that is not there"),
            ),
            (
                Defect::Create,
                (Ability::Write, "create one object 12 times at once"),
            ),
            (
                Defect::Update,
                (
                    Ability::Edit,
                    "replace one version of an object 12 times at once",
                ),
            ),
            (Defect::Prefix, (Ability::List, "list what is below list/a")),
            (Defect::Delete, (Ability::Edit, "delete an object")),
            (
                Defect::Tags,
                (Ability::Read, "put other bytes of the same number"),
            ),
        ] {
            let found = breaches(defect).await;
            assert!(found.contains(&expected), "{defect:?}: {found:?}");
        }
    }

    #[tokio::test]
    async fn object_stores_of_the_library_keep_it() {
        let store = InMemory::new();
        let found = check(&store, &Path::from("contract")).await;
        assert_eq!(found, []);
        // Files cannot be replaced by their version: this workspace edits local stores without object_store.
        let home = tempfile::tempdir().unwrap();
        let store = LocalFileSystem::new_with_prefix(home.path()).unwrap();
        let found = check(&store, &Path::from("contract")).await;
        let tried: Vec<_> = found.iter().map(|one| (one.ability, one.tried)).collect();
        let update = "replace one version of an object 12 times at once";
        assert_eq!(tried, [(Ability::Edit, update)], "{found:?}");
        assert!(found[0].found.contains("NotImplemented"), "{}", found[0]);
    }
}
