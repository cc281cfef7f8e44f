//! The selection of vertices and objects of a store that a job reads, which becomes a [`QuerySpec`].

use std::convert::Infallible;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::{JsonSchema, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use zvf_convert::{MaskSource, Options, RegionSource};
use zvf_query::{
    IdRanges, ObjectRelation, Query, QueryError, QuerySpec, Region, Select, label_ranges,
};
use zvf_store::{Class, Need, Store};

#[cfg(feature = "volumes")]
use crate::JobEvent;
use crate::checks::{at_most_one, needs};
use crate::error::Result;
use crate::local_files::{LocalFiles, read_list};
use crate::members::shown;
use crate::{Context, JobError};

/// A member of a query as it was written: the text of a flag, or JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Term(pub(crate) Value);

impl FromStr for Term {
    type Err = Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Infallible> {
        Ok(Self(text.into()))
    }
}

impl Term {
    /// The term `all`.
    pub(crate) fn all() -> Self {
        Self("all".into())
    }
}

impl JsonSchema for Term {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Term".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        json_schema!({"type": ["string", "integer", "array", "object"]})
    }
}

/// One item of a list.
fn word(text: &str) -> std::result::Result<Term, Infallible> {
    text.trim().parse()
}

/// A list or a number in JSON, or a text with items between commas.
pub(crate) fn listed<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<Option<Vec<Term>>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::Array(items) => Ok(Some(items.into_iter().map(Term).collect())),
        one @ Value::Number(_) => Ok(Some(vec![Term(one)])),
        Value::String(words) => {
            let words = words
                .split(',')
                .map(word)
                .collect::<std::result::Result<_, _>>();
            words.map(Some).map_err(D::Error::custom)
        }
        _ => Err(D::Error::custom("expected a number, a list, or a text")),
    }
}

/// The unit of a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum SelectName {
    /// Rows inside the box
    Vertices,
    /// Whole objects with at least one vertex inside
    Objects,
    /// Whole chunks that meet the box
    Chunks,
}

impl From<SelectName> for Select {
    fn from(select: SelectName) -> Self {
        match select {
            SelectName::Vertices => Self::Vertices,
            SelectName::Objects => Self::Objects,
            SelectName::Chunks => Self::Chunks,
        }
    }
}

options! {
    /// The terms of a selection, which combine with AND
    SelectionOptions {
        /// Vertices inside this box, both ends included: components in axis order (inf and -inf allowed), or ranges of some axes such as x=0:10,y=5:
        #[arg(long, value_name = "LO:HI|AXIS=LO:HI,..", allow_hyphen_values = true)]
        bbox: Option<Term>,
        /// Other parts of space
        #[command(flatten)]
        #[serde(flatten)]
        place: RegionOptions,
        /// Whole objects by id, in the given order: ids and ranges such as 0-9,12, or @FILE (a path or URL) of ids and ranges, separated by blanks, commas or
        /// line breaks
        #[arg(long, value_name = "ID,..|@FILE", allow_hyphen_values = true)]
        objects: Option<Term>,
        /// Whole objects of these groups, by name or number; name:WORD or number:N if the name of a group is the number of another one
        #[arg(long, value_name = "NAME|N,..", value_delimiter = ',', value_parser = word)]
        #[serde(deserialize_with = "listed")]
        #[schemars(with = "Option<Term>")]
        groups: Option<Vec<Term>>,
        /// A condition, e.g. 'intensity > 0.5 and x < 10 and label in (3, 4)'; `zvf query --help` has all forms
        #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
        r#where: Option<String>,
        /// Leaves out ids that the store does not have, instead of failing
        #[arg(long)]
        ignore_missing: bool,
    }
}

options! {
    /// Parts of space, which combine with AND, also with a box
    RegionOptions {
        /// Vertices at most R from a point: its coordinates in axis order, then R
        #[arg(long, value_name = "X,Y,Z,R", allow_hyphen_values = true)]
        sphere: Option<Term>,
        /// Vertices at most DISTANCE from the plane where the coordinate of AXIS is V
        #[arg(long, value_name = "AXIS=V,DISTANCE")]
        near: Option<String>,
        /// Vertices in the prism over polygons: POLYGON or MULTIPOLYGON of well-known text, GeoJSON, or a file of either
        #[arg(long, value_name = "WKT|FILE")]
        polygon: Option<Term>,
        /// The axes of --polygon, which may be followed by ranges of others: xz, lon,lat or xy,z=0:10 [default: x and y, else the first two]
        #[arg(long, value_name = "AXES")]
        plane: Option<String>,
        /// Vertices inside of the closed mesh of a file: .obj, .ply or .stl
        #[arg(long, value_name = "FILE")]
        #[schemars(extend("format" = "path"))]
        mesh: Option<PathBuf>,
        /// With --mesh: its convex hull, also of a mesh that is not closed
        #[arg(long, requires = "mesh")]
        hull: bool,
        /// Vertices in the voxels of a volume that are neither 0 nor NaN, or have one of --labels. Any volume that `zvf sample` reads; #NAME or #@N selects one of several datasets or levels
        #[arg(long, value_name = "VOLUME")]
        mask: Option<Term>,
        /// With --mask: the values of the selected voxels, and ranges such as 1001-1035; each value, and at least one value of each range, must occur [default: all but 0]
        #[arg(long, value_name = "N,..", requires = "mask", allow_hyphen_values = true)]
        labels: Option<Term>,
        /// With --mask: the map from element indices to the axes of the store: numbers by rows, a file with them, or a NIfTI or MGH image
        /// [default: as the volume states]
        #[arg(long, value_name = "NUMBERS|FILE", requires = "mask", allow_hyphen_values = true)]
        mask_affine: Option<String>,
        /// Vertices in a region, e.g. 'sphere(1,2,3,4) and not near(x=0,1)'; `zvf query --help` has all forms
        #[arg(long, value_name = "REGION")]
        region: Option<String>,
        /// Objects by several regions, e.g. 'sphere(1,2,3,4) and ending(mask(@labels.nii.gz, 12)) and not box(x=0:1)'; repeatable, all must hold
        #[arg(long, value_name = "EXPR")]
        passing: Vec<String>,
        /// Whole objects with at least one vertex inside
        #[arg(long, conflicts_with_all = ["inside", "starting", "ending"])]
        touching: bool,
        /// Whole objects with every vertex inside
        #[arg(long, conflicts_with_all = ["starting", "ending"])]
        inside: bool,
        /// Whole objects with their first vertex inside
        #[arg(long, conflicts_with = "ending")]
        starting: bool,
        /// Whole objects with their last vertex inside
        #[arg(long)]
        ending: bool,
    }
}

options! {
    /// Which level is read
    LevelOptions {
        /// Resolution level; 0 is the finest
        #[arg(long, value_name = "N", default_value_t = 0)]
        level: u32,
        /// Reads only the own content of an additive level, without the coarser levels that complete it
        #[arg(long)]
        own_level_only: bool,
    }
}

/// Converts an error about a member of a query to an error about the option with its path.
pub(crate) fn of_member(error: QueryError) -> JobError {
    let said = error.to_string();
    match said.split_once(": ") {
        Some((path, what)) if error.class() == Class::Misuse => JobError::Option {
            path: path.to_owned(),
            what: what.to_owned(),
        },
        _ => JobError::query("")(error),
    }
}

/// Sets a member of a query, if it is given.
pub(crate) fn set(spec: &mut QuerySpec, member: &str, term: Option<&Term>) -> Result<()> {
    let set = term.map_or(Ok(()), |Term(value)| spec.set_json(member, value));
    set.map_err(of_member)
}

/// Sets the columns of the vertex table, if some are named.
pub(crate) fn set_columns(spec: &mut QuerySpec, columns: &[String]) -> Result<()> {
    let columns = (!columns.is_empty()).then(|| columns.join(","));
    set_text(spec, "columns", columns.as_deref())
}

fn set_text(spec: &mut QuerySpec, member: &str, text: Option<&str>) -> Result<()> {
    let set = text.map_or(Ok(()), |text| spec.set(member, text));
    set.map_err(of_member)
}

/// Ids and ranges of ids between commas, or of `@FILE`, where FILE is a path or a URL.
///
/// # Errors
///
/// Misuse; I/O; limit: a list at a URL of more than 256 MiB.
pub async fn read_ids(text: &str, context: &Context) -> Result<IdRanges> {
    let Some(file) = text.strip_prefix('@') else {
        return IdRanges::parse(text).map_err(of_member);
    };
    let text = read_list(file, "read ids from", context).await?;
    IdRanges::parse(&text).map_err(|error| of_member(error).at(file))
}

/// Checks the terms of a list, except those that name files. An error names the list and the position of the term in it; `first` is the position of the first
/// term.
pub(crate) fn check_ids(terms: &[Term], (list, first): (&str, usize)) -> Result<()> {
    for (at, term) in (first..).zip(terms) {
        plain_ids(term).map_err(|error| of_list(error, list, at))?;
    }
    Ok(())
}

/// The ids of terms: numbers, and texts as in [`read_ids`]. Errors are as those of [`check_ids`].
pub(crate) async fn ids_of(
    terms: &[Term],
    (list, first): (&str, usize),
    context: &Context,
) -> Result<IdRanges> {
    let mut found = IdRanges::default();
    for (at, term) in (first..).zip(terms) {
        let ids = match (plain_ids(term), &term.0) {
            (Ok(None), Value::String(text)) => read_ids(text, context).await,
            (ids, _) => ids.map(Option::unwrap_or_default),
        };
        found.append(&ids.map_err(|error| of_list(error, list, at))?);
    }
    Ok(found)
}

/// The ids of a term; `None` if it names a file.
fn plain_ids(Term(term): &Term) -> Result<Option<IdRanges>> {
    match term {
        Value::String(text) if text.starts_with('@') => Ok(None),
        Value::String(text) => IdRanges::parse(text).map(Some).map_err(of_member),
        other => match other.as_i64() {
            Some(id) => Ok(Some(vec![id].into())),
            None => {
                let expected = "an id of an object, or a text of ids";
                Err(JobError::option("objects", shown(other), expected))
            }
        },
    }
}

/// The error of a term of a list, by its position.
fn of_list(error: JobError, list: &str, at: usize) -> JobError {
    match error {
        JobError::Option { path, what } if path == "objects" => JobError::Option {
            path: format!("{list}[{at}]"),
            what,
        },
        other => other,
    }
}

impl SelectionOptions {
    /// Checks the terms that name no files.
    pub(crate) fn check(&self) -> Result<()> {
        let mut spec = self.spec()?;
        self.place.check()?;
        self.place.add(&mut spec, None)?;
        match self.place.names_files() {
            true => Ok(()),
            false => spec.check().map_err(of_member),
        }
    }

    /// The terms of `objects`, if all of them are texts.
    fn ids(&self) -> Option<Vec<&str>> {
        match &self.objects.as_ref()?.0 {
            Value::String(text) => Some(vec![text]),
            Value::Array(items) => items.iter().map(Value::as_str).collect(),
            _ => None,
        }
    }

    /// Selects objects by several arguments, each with ids and ranges, or `@FILE`.
    pub fn set_objects(&mut self, words: &[String]) {
        let is_file = |word: &String| word.starts_with('@');
        let words: Value = match words {
            [word] => word.as_str().into(),
            several if several.iter().any(is_file) => several.into(),
            several => several.join(",").into(),
        };
        self.objects = Some(Term(words));
    }

    /// The terms of `objects`, if all of them are texts and some name files.
    fn ids_in_files(&self) -> Option<Vec<&str>> {
        let is_file = |word: &&str| word.starts_with('@');
        self.ids().filter(|words| words.iter().any(is_file))
    }

    /// A description with all terms except parts of space and ids in files.
    fn spec(&self) -> Result<QuerySpec> {
        let mut spec = QuerySpec::new();
        if self.ids_in_files().is_none() {
            set(&mut spec, "objects", self.objects.as_ref())?;
        }
        set(&mut spec, "bbox", self.bbox.as_ref())?;
        let groups = self.groups.as_ref();
        let groups = groups.map(|all| Term(all.iter().map(|Term(item)| item.clone()).collect()));
        set(&mut spec, "groups", groups.as_ref())?;
        set_text(&mut spec, "where", self.r#where.as_deref())?;
        spec.ignore_missing = self.ignore_missing;
        Ok(spec)
    }

    /// The description of a query of a store; reads the files that terms name.
    ///
    /// # Errors
    ///
    /// Misuse; I/O.
    pub fn read<'a>(
        &'a self,
        store: &'a str,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<QuerySpec>> {
        async move {
            let mut spec = self.spec()?;
            if let Some(words) = self.ids_in_files() {
                let mut ids = IdRanges::default();
                for word in words {
                    ids.append(&read_ids(word, context).await?);
                }
                spec.objects = Some(ids);
            }
            self.place.read(spec, store, context).await
        }
        .boxed()
    }

    /// Opens a store and resolves the query of a level, after `more` changed it.
    pub(crate) fn open<'a>(
        &'a self,
        (store, level): (&'a str, &'a LevelOptions),
        context: &'a Context,
        more: impl FnOnce(&mut QuerySpec) + Send + 'a,
    ) -> BoxFuture<'a, Result<(Store, Query)>> {
        async move {
            let mut spec = self.read(store, context).await?;
            level.set(&mut spec);
            more(&mut spec);
            spec.check().map_err(of_member)?;
            let opened = context.open(store, level.level, Need::nothing()).await?;
            let query = spec.resolve(&opened).await;
            Ok((opened, query.map_err(JobError::query(store))?))
        }
        .boxed()
    }
}

/// Opens a store with the documents that a described query needs, and resolves the query.
pub(crate) fn opened<'a>(
    spec: &'a QuerySpec,
    store: &'a str,
    context: &'a Context,
) -> BoxFuture<'a, Result<(Store, Query)>> {
    opened_with(spec, store, context, |_| {})
}

/// Like [`opened`]. If the description can be resolved without the store, `change` may leave out documents that the query would read.
pub(crate) fn opened_with<'a>(
    spec: &'a QuerySpec,
    store: &'a str,
    context: &'a Context,
    change: impl FnOnce(&mut Need) + Send + 'a,
) -> BoxFuture<'a, Result<(Store, Query)>> {
    async move {
        spec.check().map_err(of_member)?;
        if !spec.needs_store() {
            let query = spec.plain().map_err(of_member)?;
            let mut need = query.need();
            change(&mut need);
            let opened = context.open(store, query.level, need).await?;
            return Ok((opened, query));
        }
        let need = Need {
            groups: true,
            ..Need::nothing()
        };
        let opened = context.open(store, spec.level, need).await?;
        let query = spec.resolve(&opened).await;
        Ok((opened, query.map_err(JobError::query(store))?))
    }
    .boxed()
}

impl SelectName {
    /// Checks that a relation is used only to select whole objects.
    ///
    /// # Errors
    ///
    /// Misuse.
    pub fn check(select: Option<Self>, relation: Option<ObjectRelation>) -> Result<()> {
        let other = match select {
            Some(Self::Vertices) => "vertices",
            Some(Self::Chunks) => "chunks",
            Some(Self::Objects) | None => return Ok(()),
        };
        let Some(relation) = relation else {
            return Ok(());
        };
        let found = format!("`select` {other} as well");
        let expected = "whole objects: `select` objects, or none";
        Err(JobError::option(relation.name(), found, expected))
    }
}

impl LevelOptions {
    /// Sets these options in the description of a query.
    pub fn set(&self, spec: &mut QuerySpec) {
        spec.level = self.level;
        spec.own_level_only = self.own_level_only;
    }
}

/// Returns the region of a file.
type ReadRegion<'m> = &'m mut dyn FnMut(RegionSource) -> Result<Region>;

impl RegionOptions {
    /// The requested relation of whole objects.
    #[must_use]
    pub fn relation(&self) -> Option<ObjectRelation> {
        let mut given = self.relations().into_iter().filter(|(_, given)| *given);
        given.next().map(|(relation, _)| relation)
    }

    /// Adds the parts of space to the description of a query of a store, within the memory budget; reads the files that they name.
    ///
    /// # Errors
    ///
    /// Misuse; I/O.
    pub fn read<'a>(
        &'a self,
        spec: QuerySpec,
        store: &'a str,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<QuerySpec>> {
        async move {
            self.check()?;
            // Parsers request files one by one and cannot wait for I/O, so parsing starts again after each file that was read.
            let mut known: Vec<(RegionSource, Region)> = Vec::new();
            loop {
                let mut missing = None;
                let mut spec = spec.clone();
                let added = self.add(
                    &mut spec,
                    Some(&mut |source| {
                        let found = known.iter().find(|(one, _)| *one == source);
                        found.map(|(_, region)| region.clone()).ok_or_else(|| {
                            missing = Some(source);
                            JobError::usage("a file that is not read yet")
                        })
                    }),
                );
                let Some(source) = missing else {
                    added?;
                    if let Some(Term(Value::Object(runs))) = &self.mask {
                        let opened = context.open(store, 0, Need::nothing()).await?;
                        spec.intersect(mask_of_array(runs, &opened).await?);
                    }
                    if let Some(bytes) = context.memory_budget {
                        spec.memory_budget = bytes;
                    }
                    return Ok(spec);
                };
                let region = read_region(&source, store, context).await?;
                known.push((source, region));
            }
        }
        .boxed()
    }

    fn relations(&self) -> [(ObjectRelation, bool); 4] {
        [
            (ObjectRelation::Touching, self.touching),
            (ObjectRelation::Inside, self.inside),
            (ObjectRelation::Starting, self.starting),
            (ObjectRelation::Ending, self.ending),
        ]
    }

    fn names_files(&self) -> bool {
        let polygon = matches!(&self.polygon, Some(Term(Value::String(_))));
        let mut texts = self.passing.iter().chain(&self.region);
        polygon
            || self.mesh.is_some()
            || self.mask.is_some()
            || texts.any(|text| text.contains('@'))
    }

    fn check(&self) -> Result<()> {
        let relations = self.relations();
        at_most_one(&relations.map(|(relation, given)| (relation.name(), given)))?;
        needs(("hull", self.hull), &[("mesh", self.mesh.is_some())])?;
        let mask = ("mask", self.mask.is_some());
        needs(("labels", self.labels.is_some()), &[mask])?;
        needs(("mask_affine", self.mask_affine.is_some()), &[mask])?;
        self.volume().map(|_| ())
    }

    /// The volume of the mask.
    fn volume(&self) -> Result<Option<MaskSource>> {
        let volume = match &self.mask {
            None => return Ok(None),
            Some(Term(Value::String(volume))) => volume.clone(),
            Some(Term(Value::Object(_))) => {
                let runs = ("mask", true);
                at_most_one(&[runs, ("labels", self.labels.is_some())])?;
                at_most_one(&[runs, ("mask_affine", self.mask_affine.is_some())])?;
                return Ok(None);
            }
            Some(Term(other)) => {
                let expected = "a volume, or shape, starts, lengths and affine of an array";
                return Err(JobError::option("mask", shown(other), expected));
            }
        };
        let labels = self.labels.as_ref().map(|Term(value)| {
            labels_of(value).ok_or_else(|| {
                let expected = "whole numbers below 2^63 and ranges such as 1-5";
                JobError::option("labels", shown(value), expected)
            })
        });
        let labels = labels.transpose()?;
        if labels.as_ref().is_some_and(Vec::is_empty) {
            return Err(JobError::option("labels", "none", "at least one"));
        }
        Ok(Some(MaskSource {
            volume,
            labels: labels.unwrap_or_default(),
            affine: self.mask_affine.clone(),
        }))
    }

    /// Adds the parts to a description; without `read`, only the parts that name no files.
    fn add(&self, spec: &mut QuerySpec, read: Option<ReadRegion<'_>>) -> Result<()> {
        set(spec, "sphere", self.sphere.as_ref())?;
        set_text(spec, "near", self.near.as_deref())?;
        let polygon = match &self.polygon {
            Some(Term(Value::String(text))) => Some(text),
            other => {
                set(spec, "polygon", other.as_ref())?;
                None
            }
        };
        spec.relation = self.relation();
        let Some(read) = read else {
            set_text(spec, "plane", self.plane.as_deref())?;
            let plain = |text: &&String| !text.contains('@');
            for (member, text) in (self.region.iter().map(|text| ("region", text)))
                .chain(self.passing.iter().map(|text| ("passing", text)))
                .filter(|(_, text)| plain(text))
            {
                set_text(spec, member, Some(text))?;
            }
            return Ok(());
        };
        if let Some(text) = polygon {
            spec.intersect(read(RegionSource::Polygon(text.clone()))?);
        }
        set_text(spec, "plane", self.plane.as_deref())?;
        if let Some(file) = self.mesh.clone() {
            spec.intersect(read(match self.hull {
                true => RegionSource::Hull(file),
                false => RegionSource::Mesh(file),
            })?);
        }
        if let Some(source) = self.volume()? {
            spec.intersect(read(RegionSource::Mask(source))?);
        }
        if let Some(text) = &self.region {
            spec.intersect(zvf_convert::region(text, read)?);
        }
        for text in &self.passing {
            spec.pass(zvf_convert::object_places(text, read)?);
        }
        Ok(())
    }
}

/// Reads the region of a file; files of polygons and meshes at URLs are downloaded.
async fn read_region(source: &RegionSource, store: &str, context: &Context) -> Result<Region> {
    let (mut source, mut local) = (source.clone(), LocalFiles::default());
    let options = Options::default();
    match &mut source {
        RegionSource::Mask(mask) => {
            let read = read_mask(mask, store, context).await;
            return read.map_err(|error| error.at(&mask.volume));
        }
        RegionSource::Mesh(file) | RegionSource::Hull(file) => {
            local.fetch(vec![file], &options, context).await?;
        }
        // GeoJSON may name a URL of its reference system.
        RegionSource::Polygon(text) if !text.trim_start().starts_with('{') => {
            let mut file = PathBuf::from(&*text);
            local.fetch(vec![&mut file], &options, context).await?;
            *text = file.to_string_lossy().into_owned();
        }
        _ => {}
    }
    source.read().map_err(|error| local.named(error.into()))
}

/// The labels of a mask: a text, a number, or a list of both.
fn labels_of(value: &Value) -> Option<Vec<RangeInclusive<i64>>> {
    let some = |value: &Value| match value {
        Value::String(text) => label_ranges(text),
        other => other.as_i64().map(|label| vec![label..=label]),
    };
    let Value::Array(items) = value else {
        return some(value);
    };
    let all: Option<Vec<_>> = items.iter().map(some).collect();
    all.map(|all| all.concat())
}

/// Reads the mask of a volume.
#[cfg(feature = "volumes")]
async fn read_mask(source: &MaskSource, store: &str, context: &Context) -> Result<Region> {
    let opened = context.open(store, 0, Need::nothing()).await?;
    let io = &context.write.open.io;
    let (region, remarks) = zvf_convert::mask_region(&opened, source, io).await?;
    for remark in &remarks {
        context.event(&JobEvent::Note(remark));
    }
    Ok(region)
}

/// The mask of some elements of an array. `runs` has the `shape` of the array, the `starts` and `lengths` of runs of elements, and as a text `affine`,
/// the map from indices to positions of the store. See [`zvf_convert::mask_of_runs`].
///
/// # Errors
///
/// Misuse: members that are missing or do not fit each other or the store.
#[cfg(feature = "volumes")]
pub async fn mask_of_array(runs: &Map<String, Value>, store: &Store) -> Result<Region> {
    let wrong = |member: &str| {
        let found = runs.get(member).map_or("nothing".to_owned(), shown);
        JobError::option(&format!("mask.{member}"), found, "the numbers of an array")
    };
    let numbers = |member: &str| -> Result<Vec<u64>> {
        let items = runs.get(member).and_then(Value::as_array);
        let numbers = items.and_then(|items| items.iter().map(Value::as_u64).collect());
        numbers.ok_or_else(|| wrong(member))
    };
    let (shape, starts, lengths) = (numbers("shape")?, numbers("starts")?, numbers("lengths")?);
    if starts.len() != lengths.len() {
        return Err(wrong("lengths"));
    }
    let affine = runs.get("affine").and_then(Value::as_str);
    let affine = affine.ok_or_else(|| wrong("affine"))?;
    let affine = zvf_convert::parse_affine(affine, shape.len());
    let affine = affine.map_err(|why| JobError::usage(format!("mask: {why}")))?;
    let runs: Vec<(u64, u64)> = starts.into_iter().zip(lengths).collect();
    Ok(zvf_convert::mask_of_runs(store, &shape, affine, &runs).await?)
}

/// Fails, because this build does not read volumes.
#[cfg(not(feature = "volumes"))]
async fn read_mask(_: &MaskSource, _: &str, _: &Context) -> Result<Region> {
    Err(no_volumes())
}

/// Fails, because this build does not read volumes.
#[cfg(not(feature = "volumes"))]
async fn mask_of_array(_: &Map<String, Value>, _: &Store) -> Result<Region> {
    Err(no_volumes())
}

#[cfg(not(feature = "volumes"))]
fn no_volumes() -> JobError {
    JobError::usage("this program was built without the feature `volumes`, which reads masks")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_list_and_of_a_file() -> std::io::Result<()> {
        let context = Context::new();
        let runtime = zvf_store::blocking::Runtime::new().unwrap();
        let ids = |text: &str| {
            let ids = runtime.wait(read_ids(text, &context));
            ids.map(|ids| ids.listed().unwrap())
        };
        assert_eq!(ids("-4,7, 9").unwrap(), [-4, 7, 9]);
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), "1 2\n3,\t4\n")?;
        let name = format!("@{}", file.path().display());
        assert_eq!(ids(&name).unwrap(), [1, 2, 3, 4]);
        assert!(ids("@/no/such/file").is_err());
        std::fs::write(file.path(), "1 x")?;
        assert_eq!(ids(&name).unwrap_err().place(), file.path().to_str());
        Ok(())
    }
}
