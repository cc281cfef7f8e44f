//! Merges several stores: unites their specifications, and pushes their contents to one writer.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use futures::future::BoxFuture;
use zvf_encode::batches::Owners;
use zvf_encode::error::OrBug;
use zvf_meta::Affine;
use zvf_meta::moments::{MomentScale, Moments};
use zvf_query::Query;
use zvf_store::Store;
use zvf_write::{
    AttributeSpec, AttributeType, Batch, Groups, NumberType, ObjectTable, StoreSpec, StoreWriter,
    Values, WriteError, WriteOptions,
};

use super::meanings::{OTHER_WAYS, check_meanings};
use super::types::{after_conversion, convert_radius, in_common_unit, wider};
use super::{StoreDescription, describe, nothing, pass};
use crate::answered::groups_of;
use crate::error::shown;
use crate::frame::{SourceHeader, Space, same};
use crate::store_frame::GPS_TIME;
use crate::{ConvertError, IdMap, ObjectIds, Options, Sink, StoreFrame};

/// How stores are merged.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MergeOptions {
    /// How the store is written.
    pub write: WriteOptions,
    /// The ids of the objects. Default: unchanged; an id that two stores share is an error.
    pub ids: ObjectIds,
    /// Memory limit of the queries of the stores, in bytes.
    pub query_budget: Option<u64>,
}

/// The result of [`merge`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Merged {
    /// Vertices of each store, in the order given.
    pub vertices: Vec<u64>,
    /// Objects of each store.
    pub objects: Vec<u64>,
    /// Groups of the new store.
    pub groups: u64,
    /// Notes about conversions, data that is left out, and defects of the stores.
    pub notes: Vec<String>,
}

/// Checks that the data of one store can be added to the other. Both must have the same kind, axes and frame. Attributes that both have must
/// agree in channel names and numbers for missing values, if both state them. Units of positions may differ.
///
/// # Cost
/// Reads the documents of level 0 of both stores.
///
/// # Errors
/// Misuse: the stores differ; the message names the difference. The errors of the stores.
pub fn check_joinable<'a>(
    store: &'a Store,
    own: &'a Store,
) -> BoxFuture<'a, Result<(), ConvertError>> {
    Box::pin(async move {
        check_frames(store, own).await?;
        check_meanings(store, own).await
    })
}

/// Checks that two stores have the same kind, axes and frame.
async fn check_frames(store: &Store, own: &Store) -> Result<(), ConvertError> {
    let refused = |what: &str, found: String, expected: String| {
        Err(ConvertError::usage(
            format!("{}: {what}", store.url()),
            found,
            expected,
        ))
    };
    if store.url() == own.url() {
        return refused(
            "store",
            "the same store twice".to_owned(),
            "another store".to_owned(),
        );
    }
    if store.kind() != own.kind() {
        let (found, expected) = (store.kind().to_string(), own.kind().to_string());
        return refused("kind", found, format!("{expected} as in {}", own.url()));
    }
    let names = |store: &Store| {
        let axes = store.root().axes().iter().map(|axis| axis.name.clone());
        axes.collect::<Vec<_>>().join(", ")
    };
    if names(store) != names(own) {
        let expected = format!("{} as in the store {}", names(own), own.url());
        return refused("axes", names(store), expected);
    }
    let (theirs, ours) = (
        SourceHeader::of_store(store).await?,
        SourceHeader::of_store(own).await?,
    );
    for (frame, store) in [(&theirs, store), (&ours, own)] {
        if let Some(problem) = frame.as_ref().and_then(SourceHeader::problem) {
            let what = format!("{}: frame", store.url());
            return Err(ConvertError::usage(
                what,
                problem,
                "the frame of its positions",
            ));
        }
    }
    let space = |frame: &Option<SourceHeader>| {
        frame
            .as_ref()
            .and_then(SourceHeader::space)
            .map(Space::name)
    };
    if let (Some(found), Some(expected)) = (space(&theirs), space(&ours))
        && found != expected
    {
        let expected = format!("{expected} as in the store {}", own.url());
        return refused("frame", format!("positions in {found}"), expected);
    }
    let map = |frame: &Option<SourceHeader>| frame.as_ref()?.frame_of_axes()?.1;
    if let (Some(found), Some(expected)) = (map(&theirs), map(&ours))
        && !same(&found, &expected)
    {
        let found = "positions in voxel millimetres of another image".to_owned();
        let expected = format!("the same affine as in the store {}", own.url());
        return refused("frame", found, expected);
    }
    let (found, expected) = (
        StoreFrame::of_store(store).await?.gps_time,
        StoreFrame::of_store(own).await?.gps_time,
    );
    if let (Some(found), Some(expected)) = (found, expected)
        && found != expected
    {
        let expected = format!("{expected} as in the store {}", own.url());
        return refused(GPS_TIME, format!("times of {found}"), expected);
    }
    let crs = |store: &Store| store.root().zarr_vectors.crs.clone();
    if let (Some(found), Some(expected)) = (crs(store), crs(own))
        && found != expected
    {
        return refused("crs", found.to_string(), expected.to_string());
    }
    Ok(())
}

/// Writes level 0 of several stores of the same kind as one new store.
///
/// Positions are converted to the units of the first store, and with them the attribute `radius` of skeletons and graphs, unless it states a unit of its
/// own. Dates, times and durations get the finer unit of two stores. Number types become the smallest that represent the values of all stores; converted
/// values become float32 or float64. Attributes, categories and groups are united by name. If a store lacks an attribute, its vertices get a missing value
/// (NaN or no text), and its objects no value. Axes, chunks, headers and frame are copied from the first store.
///
/// # Cost
/// Reads each store once, and the list of its objects. Memory: the budgets of the queries and the writer, the tables of objects and some 50
/// bytes for each object.
///
/// # Errors
/// Misuse: fewer than two stores, stores of other kinds, axes or frames, ids or attributes that contradict each other. The errors of the
/// queries and the writer. After an error there is no store.
pub fn merge<'a>(
    stores: &'a [Store],
    address: &'a str,
    options: MergeOptions,
) -> BoxFuture<'a, Result<Merged, ConvertError>> {
    Box::pin(async move {
        let (Some(first), [_, _, ..]) = (stores.first(), stores) else {
            let found = format!("{} of them", stores.len());
            return Err(ConvertError::usage("stores", found, "at least two"));
        };
        let mut frame = StoreFrame::of_store(first).await?;
        let mut merged = Merged::default();
        let (mut described, mut maps) = (Vec::new(), Vec::new());
        // The first store, and those that first state a CRS, a frame or the meaning of times.
        let (mut references, mut stated): (Vec<&Store>, _) = (Vec::new(), [false; 3]);
        for (at, store) in stores.iter().enumerate() {
            if let Some(before) = stores.iter().take(at).find(|one| one.url() == store.url()) {
                check_frames(store, before).await?;
            }
            for reference in &references {
                check_frames(store, reference).await?;
            }
            let states = [
                store.root().zarr_vectors.crs.is_some(),
                SourceHeader::of_store(store).await?.is_some(),
                StoreFrame::of_store(store).await?.gps_time.is_some(),
            ];
            if at == 0 || states.iter().zip(stated).any(|(own, known)| *own && !known) {
                references.push(store);
                stated = std::array::from_fn(|one| stated[one] || states[one]);
            }
            zvf_query::check_links_found(store, 0).await?;
            let one = describe(store).await?;
            one.check_owned(store).await?;
            described.push(one);
        }
        // The new store has the unit of the first store that states one.
        let mut radii = described.iter().filter_map(|one| radius_of(&one.spec));
        frame.radius = radii.find_map(|one| one.unit.clone());
        for (store, one) in stores.iter().zip(&described) {
            let placed = frame.place_table(&one.vertices, &Options::default())?;
            merged.note(store, one.notes.iter().chain(&placed.remarks));
            maps.push((placed.map, placed.lengths));
        }
        let spec = unite(stores, &described, &maps, &mut merged.notes)?;
        let files: Vec<PathBuf> = stores.iter().map(|one| PathBuf::from(one.url())).collect();
        let mut ids = IdMap::new(options.ids, &files)?;
        let mut groups = UnitedGroups::default();
        let mut writer = StoreWriter::create(address, spec.clone(), options.write).await?;
        let mut mapped = stores
            .iter()
            .zip(&maps)
            .filter(|(_, (map, _))| map.is_some());
        let converted = mapped.next().map(|(store, _)| store);
        let parts = stores.iter().zip(&described).zip(maps);
        for (file, ((store, one), (map, lengths))) in parts.enumerate() {
            let mut asked = one.query(&Query::default());
            asked.memory_budget = options.query_budget.unwrap_or(asked.memory_budget);
            let before = writer.vertices();
            let mut fitting = Fitting {
                store,
                converted: converted.map_or("", Store::url),
                spec: &spec,
                own: &one.spec,
                sink: &mut writer,
                ids: &mut ids,
                file,
                map,
                lengths,
            };
            let passed = pass(store, asked, one, before, &mut fitting).await?;
            merged.vertices.push(passed.vertices);
            merged.objects.push(passed.ids.len() as u64);
            merged.note(store, passed.warnings.iter());
            if spec.has_objects()
                && let Some((found, left)) = groups_of(store, 0, Some(&passed.ids)).await?
            {
                merged.note(store, left.iter());
                groups.add(&found, &mut |id| ids.id(file, id), &mut merged.notes)?;
            }
        }
        merged.groups = groups.names.len() as u64;
        if merged.groups > 0 {
            writer.set_groups(&groups.finish(&mut merged.notes)?)?;
        }
        writer.finish().await?;
        let mut seen = BTreeSet::new();
        merged.notes.retain(|note| seen.insert(note.clone()));
        Ok(merged)
    })
}

impl Merged {
    fn note<'n>(&mut self, store: &Store, notes: impl Iterator<Item = &'n String>) {
        let notes = notes.map(|note| format!("{}: {note}", store.url()));
        self.notes.extend(notes);
    }
}

/// The attribute whose values are lengths, which are converted with the positions.
fn radius_of(spec: &StoreSpec) -> Option<&AttributeSpec> {
    let mut attributes = spec.vertex_attributes.iter();
    attributes.find(|one| one.name == "radius")
}

/// The specification of the merged store.
fn unite(
    stores: &[Store],
    described: &[StoreDescription],
    maps: &[(Option<Affine>, Option<f64>)],
    notes: &mut Vec<String>,
) -> Result<StoreSpec, ConvertError> {
    let all: Vec<(&str, &StoreSpec)> = stores
        .iter()
        .zip(described)
        .map(|(store, one)| (store.url(), &one.spec))
        .collect();
    let first = described.first().or_bug("no store to merge")?;
    let mut spec = first.spec.clone();
    for (url, other) in all.iter().skip(1) {
        let differs = |what: &str, found: String, expected: String| {
            let expected = format!(
                "{expected} as in the store {}",
                stores.first().map_or("", Store::url)
            );
            Err(ConvertError::usage(
                format!("{url}: {what}"),
                found,
                expected,
            ))
        };
        if other.has_objects() != spec.has_objects() {
            let word = |has: bool| {
                if has {
                    "points of objects"
                } else {
                    "points without objects"
                }
            };
            let (found, expected) = (word(other.has_objects()), word(spec.has_objects()));
            return differs("points", found.to_owned(), expected.to_owned());
        }
        if other.links.width != spec.links.width {
            let (found, expected) = (other.links.width, spec.links.width);
            return differs("links", format!("{found} ends"), format!("{expected} ends"));
        }
        if other.links.directed != spec.links.directed {
            let word = |directed: bool| if directed { "directed" } else { "undirected" };
            let (found, expected) = (word(other.links.directed), word(spec.links.directed));
            return differs("links", found.to_owned(), expected.to_owned());
        }
        spec.links.explicit |= other.links.explicit;
        let Some(positions) = wider(spec.positions, other.positions) else {
            let (found, expected) = (other.positions.to_string(), spec.positions.to_string());
            return differs("positions", found, expected);
        };
        spec.positions = positions;
        spec.crs = spec.crs.take().or_else(|| other.crs.clone());
        for (namespace, members) in &other.user_metadata {
            let own = spec.user_metadata.entry(namespace.clone());
            if *own.or_insert_with(|| members.clone()) != *members {
                notes.push(format!(
                    "{url}: left out: user metadata of {}",
                    shown(namespace)
                ));
            }
        }
        let headers: Vec<&str> = other.headers.keys().map(String::as_str).collect();
        if !headers.is_empty() {
            notes.push(format!(
                "{url}: left out: headers of source files: {}",
                headers.join(", ")
            ));
        }
    }
    // Only a store without vertices states bounds.
    let all_empty = described.iter().all(|one| one.spec.bounds.is_some());
    spec.bounds = spec.bounds.filter(|_| all_empty);
    if maps.iter().any(|(map, _)| map.is_some()) {
        spec.positions = after_conversion(spec.positions);
    }
    let places: Vec<String> = stores.iter().map(place_of_attributes).collect();
    let lists = |pick: fn(&StoreSpec) -> &Vec<AttributeSpec>| {
        let lists = places.iter().zip(described);
        let lists = lists.map(|(place, one)| (place.as_str(), pick(&one.spec)));
        lists.collect::<Vec<_>>()
    };
    spec.vertex_attributes = attributes(
        "vertices",
        &lists(|one| &one.vertex_attributes),
        false,
        notes,
    )?;
    if maps.iter().any(|(_, lengths)| lengths.is_some()) {
        convert_radius(&mut spec);
    }
    spec.links.attributes = attributes("links", &lists(|one| &one.links.attributes), false, notes)?;
    let of_objects = described
        .iter()
        .map(StoreDescription::stored_object_attributes);
    let of_objects: Vec<Vec<AttributeSpec>> = of_objects.collect();
    let of_objects = places.iter().map(String::as_str).zip(&of_objects);
    let of_objects: Vec<(&str, &Vec<AttributeSpec>)> = of_objects.collect();
    spec.object_attributes = attributes("objects", &of_objects, true, notes)?;
    for one in &mut spec.object_attributes {
        if one.values == AttributeType::Number(NumberType::Bool)
            && described.iter().any(|store| store.has_gaps(&one.name))
        {
            one.values = AttributeType::Number(NumberType::F64);
        }
    }
    Ok(spec)
}

/// The name of a store in messages about its attributes.
fn place_of_attributes(store: &Store) -> String {
    match store.names_unknown().is_empty() {
        true => store.url().to_owned(),
        false => format!(
            "{} (which cannot be listed, and may have attributes whose names are not known)",
            store.url()
        ),
    }
}

/// The attributes of all stores. Refuses whole numbers that a store lacks, except dates, times and durations, unless rows may lack values (`gaps`).
/// Refuses booleans that a store lacks.
fn attributes(
    of: &str,
    lists: &[(&str, &Vec<AttributeSpec>)],
    gaps: bool,
    notes: &mut Vec<String>,
) -> Result<Vec<AttributeSpec>, ConvertError> {
    let mut out: Vec<AttributeSpec> = Vec::new();
    for (url, list) in lists {
        for one in *list {
            match out.iter_mut().find(|own| own.name == one.name) {
                None => out.push(one.clone()),
                Some(own) => join(of, url, own, one, notes)?,
            }
        }
    }
    for own in &out {
        let lacks = |list: &[AttributeSpec]| !list.iter().any(|one| one.name == own.name);
        let without: Vec<&str> = lists
            .iter()
            .filter(|(_, list)| lacks(list))
            .map(|(url, _)| *url)
            .collect();
        if without.is_empty() {
            continue;
        }
        let what = format!("attribute {} of {of}", shown(&own.name));
        match own.values {
            // The smallest number of dates, times and durations means missing.
            AttributeType::Number(number)
                if !(number.is_float()
                    || own.has_moments()
                    || (gaps && number != NumberType::Bool)) =>
            {
                let (flag, other) = match of {
                    "objects" => (" --object", ""),
                    "links" => (" --link", ", `zvf query --attributes` leaves it out"),
                    _ => ("", ", `zvf query --attributes` leaves it out"),
                };
                let expected = format!(
                    "values: {number} cannot be missing (`zvf edit STORE set-attribute {}{flag} --type {number} --fill VALUE` adds them{other})",
                    own.name
                );
                return Err(ConvertError::usage(
                    without.join(", "),
                    format!("no {what}"),
                    expected,
                ));
            }
            _ => notes.push(format!("{what} is not found in {}", without.join(", "))),
        }
    }
    Ok(out)
}

/// Extends the specification `own` of an attribute by that of another store.
fn join(
    of: &str,
    url: &str,
    own: &mut AttributeSpec,
    one: &AttributeSpec,
    notes: &mut Vec<String>,
) -> Result<(), ConvertError> {
    let differs = |found: String, expected: String| {
        let what = format!("{url}: attribute {} of {of}", shown(&one.name));
        Err(ConvertError::usage(
            what,
            found,
            format!("{expected} as in the stores before"),
        ))
    };
    if own.channels != one.channels {
        return differs(
            format!("{} channels", one.channels),
            own.channels.to_string(),
        );
    }
    if let (Some(found), Some(expected)) = (&one.unit, &own.unit)
        && found != expected
    {
        let what = format!("{url}: attribute {} of {of}", shown(&one.name));
        let both = own.has_moments() && one.has_moments();
        let common = MomentScale::common_unit(expected, found).filter(|_| both);
        let Some(common) = common else {
            let expected = format!("{expected} as in the stores before");
            let found = format!("the unit {found}");
            return Err(ConvertError::usage(what, found, expected));
        };
        notes.push(format!(
            "{what}: of {found} and {expected}, the unit becomes {common}"
        ));
        own.unit = Some(common);
    }
    own.values = match (own.values, one.values) {
        (AttributeType::Number(a), AttributeType::Number(b)) => match wider(a, b) {
            Some(number) => AttributeType::Number(number),
            None => return differs(b.to_string(), a.to_string()),
        },
        (a, b) if a == b => a,
        (a, b) => return differs(b.name(), a.name()),
    };
    // A number without a unit is not a date.
    let is_moment = |unit: &Option<String>| unit.as_deref().and_then(Moments::of_unit).is_some();
    if is_moment(&own.unit) != is_moment(&one.unit) {
        let name = |unit: &Option<String>| match unit {
            Some(unit) => format!("the unit {unit}"),
            None => "no unit".to_owned(),
        };
        return differs(name(&one.unit), name(&own.unit));
    }
    if let Some((found, expected)) = one.other_meaning(own) {
        let what = format!("{url}: attribute {} of {of}", shown(&one.name));
        let expected = format!("{expected} as in the stores before ({OTHER_WAYS})");
        return Err(ConvertError::usage(what, found, expected));
    }
    let texts = (own.description.as_deref(), one.description.as_deref());
    let note = match texts {
        (Some(kept), Some(other)) if kept != other => Some(format!(
            "of two descriptions the first is kept: {}, and not {}",
            shown(kept),
            shown(other)
        )),
        (Some(mark), None) if own.missing_mark().is_some() => Some(format!(
            "states no number for missing values, and gets the one of the stores before: {mark}"
        )),
        (None, Some(mark)) if one.missing_mark().is_some() => Some(format!(
            "{mark}; this now also applies to the stores before, which state no such number"
        )),
        _ => None,
    };
    let what = || format!("{url}: attribute {} of {of}", shown(&one.name));
    notes.extend(note.map(|note| format!("{}: {note}", what())));
    own.unit = own.unit.take().or_else(|| one.unit.clone());
    own.description = own.description.take().or_else(|| one.description.clone());
    own.channel_names = match own.stated_channels() {
        Some(_) => own.channel_names.take(),
        None => one.channel_names.clone().or(own.channel_names.take()),
    };
    Ok(())
}

/// A sink that converts the data of one store to the specification of the merged store.
struct Fitting<'s> {
    store: &'s Store,
    /// The address of a store whose positions are converted; empty if there is none.
    converted: &'s str,
    spec: &'s StoreSpec,
    /// The specification of the store's own data.
    own: &'s StoreSpec,
    sink: &'s mut StoreWriter,
    ids: &'s mut IdMap,
    file: usize,
    map: Option<Affine>,
    lengths: Option<f64>,
}

impl Fitting<'_> {
    fn id(&mut self, id: i64) -> Result<i64, WriteError> {
        let found = self.ids.id(self.file, id);
        found.map_err(|(found, expected)| WriteError::input("objects", found, expected))
    }
}

/// The attributes of the merged store in their types, with missing values for attributes that this store lacks.
fn columns(
    wanted: &[AttributeSpec],
    given: &[(String, Values)],
    (url, own): (&str, &[AttributeSpec]),
    rows: usize,
) -> Result<Vec<(String, Values)>, WriteError> {
    let mut columns = Vec::new();
    for one in wanted {
        let stored = own.iter().find(|own| own.name == one.name);
        let values = match given.iter().find(|(name, _)| *name == one.name) {
            Some((_, values)) => match in_common_unit(values, (url, stored), one)? {
                Some(converted) => converted,
                None => values.fitted(one)?,
            },
            None if rows == 0 => nothing(one.values),
            None => Values::absent(one, rows * one.channels)?,
        };
        columns.push((one.name.clone(), values));
    }
    Ok(columns)
}

impl Sink for Fitting<'_> {
    fn batch(&mut self, batch: &Batch) -> Result<(), WriteError> {
        let (spec, own, url) = (self.spec, self.own, self.store.url());
        let batch = match (&self.map, self.lengths) {
            (Some(map), lengths) => Cow::Owned(batch.mapped(map, spec.positions, lengths)),
            (None, Some(factor)) => {
                let radii = |values: &Values| values.scaled(factor);
                Cow::Owned(batch.clone().map_attribute("radius", radii))
            }
            (None, None) => Cow::Borrowed(batch),
        };
        let rows = batch.positions.len() / spec.dims().max(1);
        let links = batch.links.len() / spec.links.width.max(1);
        let positions = batch.positions.exactly(spec.positions).ok_or_else(|| {
            let expected = format!(
                "numbers up to 2^53, since the positions of {converted} are converted to the unit of the first store as {}: give {converted} as the first store",
                spec.positions,
                converted = self.converted
            );
            let found = format!("larger numbers of {}", batch.positions.type_name());
            WriteError::input(format!("positions of {}", self.store.url()), found, expected)
        })?;
        let mut fitted = Batch::new(positions);
        fitted.numbering = batch.numbering;
        fitted.links = batch.links.clone();
        fitted.objects = match &batch.objects {
            Owners::None => Owners::None,
            Owners::Each(ids) => {
                let ids = ids.iter().map(|id| self.id(*id));
                Owners::Each(ids.collect::<Result<Vec<_>, _>>()?.into())
            }
            Owners::Runs(runs) => {
                let runs = runs.iter().map(|(id, rows)| Ok((self.id(*id)?, *rows)));
                Owners::Runs(runs.collect::<Result<_, WriteError>>()?)
            }
        };
        let stored = (url, &*own.vertex_attributes);
        fitted.attributes = columns(&spec.vertex_attributes, &batch.attributes, stored, rows)?;
        let stored = (url, &*own.links.attributes);
        let given = &batch.link_attributes;
        fitted.link_attributes = columns(&spec.links.attributes, given, stored, links)?;
        self.sink.batch(&fitted)
    }

    fn objects(&mut self, table: &ObjectTable) -> Result<(), WriteError> {
        let ids = table.ids().iter().map(|id| self.id(*id));
        let mut fitted = ObjectTable::new(ids.collect::<Result<Vec<_>, _>>()?);
        let mut given = table.attributes.clone();
        let (wanted, rows) = (&self.spec.object_attributes, table.ids().len());
        for one in wanted {
            let lacks = !given.iter().any(|(name, _)| *name == one.name);
            let bytes = |number: NumberType| vec![0; rows * one.channels * number.size()];
            if let (true, AttributeType::Number(number)) = (lacks, one.values) {
                let zeros = Values::of_bytes(number, &bytes(number));
                given.push((one.name.clone(), zeros));
            }
        }
        let stored = (self.store.url(), &*self.own.object_attributes);
        for (name, values) in columns(wanted, &given, stored, rows)? {
            let absent = match table.attributes().any(|(own, _)| own == name) {
                true => table.gaps(&name),
                false if values.number_type().is_some() => (0..rows).collect(),
                false => BTreeSet::new(),
            };
            fitted = fitted.with_gaps(name, values, absent);
        }
        self.sink.objects(&fitted)
    }

    fn groups(&mut self, groups: &Groups) -> Result<(), WriteError> {
        self.sink.groups(groups)
    }
}

/// One attribute of groups: its values by group, and the number of values of a group.
#[derive(Debug, Default)]
struct GroupColumn {
    channels: usize,
    values: BTreeMap<usize, Values>,
}

/// Groups of several stores, joined by name.
#[derive(Debug, Default)]
struct UnitedGroups {
    names: Vec<String>,
    members: Vec<Vec<i64>>,
    known: HashMap<String, usize>,
    columns: BTreeMap<String, GroupColumn>,
}

impl UnitedGroups {
    /// Adds the groups of a store, with the new ids of their members.
    fn add(
        &mut self,
        groups: &Groups,
        id: &mut dyn FnMut(i64) -> Result<i64, (String, String)>,
        notes: &mut Vec<String>,
    ) -> Result<(), ConvertError> {
        let mut places = Vec::new();
        let members = groups.members().iter();
        let none = String::new();
        for (at, ids) in members.enumerate() {
            let name = groups.names().get(at).unwrap_or(&none);
            let known = self.known.get(name).copied().filter(|_| !name.is_empty());
            let place = known.unwrap_or(self.names.len());
            if known.is_none() {
                self.names.push(name.clone());
                self.members.push(Vec::new());
                self.known.insert(name.clone(), place);
            }
            let new = ids
                .iter()
                .map(|one| id(*one))
                .collect::<Result<Vec<_>, _>>();
            let new =
                new.map_err(|(found, expected)| ConvertError::usage("groups", found, expected))?;
            self.members
                .get_mut(place)
                .or_bug("a group that was just added")?
                .extend(new);
            places.push(place);
        }
        for (name, values) in groups.attributes() {
            let channels = values.len().checked_div(places.len()).unwrap_or(1).max(1);
            let column = self.columns.entry(name.to_owned()).or_default();
            if column.values.is_empty() {
                column.channels = channels;
            }
            let kinds = column.values.values().next();
            let other = kinds.is_some_and(|own| own.type_name() != values.type_name());
            if column.channels != channels || other {
                notes.push(format!(
                    "left out: values of attribute {} of groups, of another type in one of the stores",
                    shown(name)
                ));
                continue;
            }
            let with_value = places.iter().enumerate();
            for (row, place) in with_value.filter(|(row, _)| !groups.lacks(name, *row)) {
                let one = values.of_rows(&[row], channels)?;
                let missing = match &one {
                    Values::Text(texts) => texts.iter().all(|text| text.is_none()),
                    one if one.number_type().is_some_and(NumberType::is_float) => {
                        one.to_f64().iter().all(|value| value.is_nan())
                    }
                    _ => false,
                };
                if missing {
                    continue;
                }
                match column.values.get(place) {
                    None => {
                        column.values.insert(*place, one);
                    }
                    Some(own) if *own == one => {}
                    Some(_) => notes.push(format!(
                        "left out: attribute {} of group {}, which has another value in a store before",
                        shown(name),
                        shown(self.names.get(*place).map_or("", String::as_str))
                    )),
                }
            }
        }
        Ok(())
    }

    /// All groups. An attribute of booleans that some groups lack is left out.
    fn finish(self, notes: &mut Vec<String>) -> Result<Groups, ConvertError> {
        let count = self.names.len();
        let mut out = Groups::new(self.members).with_names(self.names);
        for (name, column) in self.columns {
            let Some(first) = column.values.values().next() else {
                continue;
            };
            let rows = (0..count).map(|row| column.values.get(&row));
            let values = match first.number_type() {
                None => {
                    let none = Values::absent(&AttributeSpec::text(&name), column.channels)?;
                    together(rows.map(|row| row.unwrap_or(&none)))?
                }
                Some(number) => {
                    let mut one = AttributeSpec::number(&name, number);
                    one.channels = column.channels;
                    if column.values.len() == count {
                        out = out.with_attribute(&name, together(rows.flatten())?);
                        continue;
                    }
                    if number == NumberType::Bool {
                        notes.push(format!(
                            "left out: attribute {} of groups: some have no value, and booleans cannot be missing",
                            shown(&name)
                        ));
                        continue;
                    }
                    let bytes = number.size().checked_mul(column.channels);
                    let zeros = vec![0; bytes.or_bug("a row of too many channels")?];
                    let zeros = Values::of_bytes(number, &zeros);
                    let none = Values::absent(&one, column.channels).unwrap_or(zeros);
                    let values = together(rows.map(|row| row.unwrap_or(&none)))?;
                    let absent = (0..count).filter(|row| !column.values.contains_key(row));
                    out = out.with_gaps(&name, values, absent);
                    continue;
                }
            };
            out = out.with_attribute(&name, values);
        }
        Ok(out)
    }
}

/// Concatenates lists of values of the same type.
fn together<'v>(lists: impl Iterator<Item = &'v Values> + Clone) -> Result<Values, WriteError> {
    Values::concat(lists).or_bug("values of different types")
}
