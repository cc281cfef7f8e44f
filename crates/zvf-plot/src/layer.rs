//! Layers: the level of a store, the links of its vertices, and its colour rule.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use rustc_hash::{FxHashMap, FxHashSet};
use zvf_meta::{Axis, Kind, LinksConvention, axes_of_space, units};
use zvf_query::numbers::shape;
use zvf_query::{
    Answer, Column, Expression, Names, Outputs, Query, Select, Table, list_objects, query,
};
use zvf_store::{Level, Need, Store};

use crate::PlotError;
use crate::camera::{Bounds, Orientation};
use crate::color::{ColorBy, Colormap, Rgb, of_few};
use crate::draw::HeldVertices;
use crate::extent::FarthestVertices;
use crate::level::{self, LevelChoice};
use crate::rows::{self, DrawnColumns, ObjectTexts, Paint, TextColors};

/// A store with the selection and the style in which it is drawn.
#[derive(Debug, Clone)]
pub struct Layer {
    /// The store.
    pub store: Store,
    /// Its name in the legend.
    pub name: String,
    /// The selection: box, objects, groups, filter, limit. The picture chooses level, columns and outputs.
    pub query: Query,
    /// The rows that the selection returns. `None`: whole objects of lines, polylines and streamlines, else vertices.
    pub select: Option<Select>,
    /// The level to draw.
    pub level: LevelChoice,
    /// The colour rule.
    pub color: ColorBy,
    /// Colour map of numbers. `None`: viridis, and magma for densities.
    pub colormap: Option<Colormap>,
    /// The numbers at the ends of the colour map. `None`: the smallest and the largest one.
    pub range: Option<(f64, f64)>,
    /// Diameter of points in pixels. `None`: depends on their number.
    pub point_size: Option<f32>,
    /// Width of lines in pixels. `None`: 1, or the radius of the vertices.
    pub line_width: Option<f32>,
    /// The vertex attribute that is the radius of lines. `None`: `radius` of skeletons, unless a width is given.
    pub radius: Option<String>,
}

impl Layer {
    /// A layer with all of a store and default style.
    pub fn new(store: Store, name: impl Into<String>) -> Self {
        Self {
            store,
            name: name.into(),
            query: Query::default(),
            select: None,
            level: LevelChoice::Auto,
            color: ColorBy::Auto,
            colormap: None,
            range: None,
            point_size: None,
            line_width: None,
            radius: None,
        }
    }
}

/// The shapes of vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shapes {
    Points,
    /// Consecutive rows of an object are linked.
    Chains,
    /// The link table defines which vertices are linked.
    Edges,
    Faces,
}

/// A layer whose query is running.
#[derive(Debug)]
pub(crate) struct OpenLayer {
    pub(crate) answer: Answer,
    pub(crate) kind: Kind,
    pub(crate) shapes: Shapes,
    pub(crate) columns: DrawnColumns,
    /// Batches that were read to compute the extent of the vertices.
    pub(crate) early: Vec<RecordBatch>,
    /// All vertices, if links need them.
    pub(crate) held: HeldVertices,
    /// The first batch of links.
    pub(crate) links: Option<RecordBatch>,
    pub(crate) density: bool,
    /// Name and unit of the numbers.
    pub(crate) title: String,
    /// Colours and names of groups or categories.
    pub(crate) names: Vec<(Rgb, String)>,
    pub(crate) level: u32,
    /// Approximate number of vertices.
    pub(crate) vertices: u64,
}

/// Axes and unit of the space that all layers share: axes of different units of length are drawn in the unit of the first one.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlotSpace {
    pub(crate) names: [String; 3],
    pub(crate) unit: Option<String>,
}

/// A unit, or `no unit`.
fn unit_name(unit: Option<&str>) -> &str {
    unit.unwrap_or("no unit")
}

/// Number of vertices above which points are drawn as densities.
const MANY: u64 = 200_000;

/// Number of rows that are read before drawing, so that the view covers them.
const EARLY: usize = 1_000_000;

/// Number of groups that have their own colours in a table.
const GROUPS: u64 = 100_000;

impl PlotSpace {
    /// The columns of positions that are used as x, y and z: the first three axes of space, in the order of [`axes_of_space`]. If no axis is of space,
    /// the first three of all axes.
    pub(crate) fn columns(store: &Store) -> Vec<usize> {
        let dims = store.root().dims();
        let mut columns = axes_of_space(store.root().axes(), dims);
        if columns.is_empty() {
            columns.extend(0..dims);
        }
        columns.truncate(3);
        columns
    }

    /// The axes that are used as x, y and z.
    fn axes(store: &Store) -> Vec<&Axis> {
        let axes = store.root().axes();
        let columns = Self::columns(store).into_iter();
        columns.filter_map(|number| axes.get(number)).collect()
    }

    /// The space of a store.
    pub(crate) fn of(store: &Store) -> Self {
        let found = Self::axes(store);
        let unit = found.first().and_then(|axis| axis.unit.clone());
        let convertible = found
            .iter()
            .all(|axis| factor(axis.unit.as_deref(), unit.as_deref()).is_some());
        Self {
            names: std::array::from_fn(|axis| {
                found
                    .get(axis)
                    .map(|one| one.name.clone())
                    .unwrap_or_default()
            }),
            unit: unit.filter(|_| convertible),
        }
    }

    /// The sizes of a store's units along x, y and z in units of this space, and a warning if a unit cannot be converted.
    fn scale(&self, store: &Store, name: &str) -> ([f64; 3], Option<String>) {
        let axes = Self::axes(store);
        let own: Vec<Option<&str>> = axes.iter().map(|axis| axis.unit.as_deref()).collect();
        let mine = self.unit.as_deref();
        let found: Option<Vec<f64>> = own.iter().map(|unit| factor(*unit, mine)).collect();
        if let Some(found) = found {
            let of = |axis: usize| found.get(axis).copied().unwrap_or(1.0);
            return (std::array::from_fn(of), None);
        }
        let first = own.first().copied().flatten();
        let text = match own.iter().all(|unit| *unit == first) {
            true => format!(
                "{name}: found {}, expected {} as in the first store; its positions are drawn unconverted",
                unit_name(first),
                unit_name(mine)
            ),
            false => {
                let listed = axes.iter().zip(&own);
                let listed =
                    listed.map(|(axis, unit)| format!("{} in {}", axis.name, unit_name(*unit)));
                format!(
                    "{name}: found axes {}, expected axes with convertible units; its positions are drawn unconverted",
                    listed.collect::<Vec<_>>().join(", ")
                )
            }
        };
        ([1.0; 3], Some(text))
    }

    /// The length of one unit of radii in the units of the picture. The unit is stated by the attribute, or else is the unit of positions; if axes have
    /// different units, it is their geometric mean.
    fn radius_scale(&self, store: &Store, level: &Level, radius: Option<&str>) -> f64 {
        let mut attributes = level.vertex_attributes().iter();
        let stated = radius.and_then(|name| attributes.find(|one| one.name == name)?.unit.clone());
        let stated = stated.zip(self.unit.as_deref());
        if let Some(factor) = stated.and_then(|(unit, of)| units::factor(&unit, of)) {
            return factor;
        }
        let axes = Self::columns(store).len();
        let (scale, _) = self.scale(store, "");
        let volume: f64 = scale.iter().product();
        match axes {
            1 => volume,
            2 => volume.sqrt(),
            _ => volume.cbrt(),
        }
    }
}

/// The size of a unit in another one; `None` unless they are the same, or can be converted into each other.
fn factor(unit: Option<&str>, of: Option<&str>) -> Option<f64> {
    match (unit, of) {
        (unit, of) if unit == of => Some(1.0),
        (Some(unit), Some(of)) => units::factor(unit, of),
        _ => None,
    }
}

impl OpenLayer {
    /// Starts the query of a layer and reads its first rows, or all if vertices are linked.
    ///
    /// # Errors
    ///
    /// Misuse: the layer lacks data for its colours or radius. Limit: more linked vertices than the budget, too many groups. The errors of the query.
    pub(crate) async fn begin(
        layer: &Layer,
        space: &PlotSpace,
        budget: u64,
        warnings: &mut Vec<String>,
    ) -> Result<Self, PlotError> {
        let store = &layer.store;
        let kind = store.kind();
        let chosen = level::choose(store, &layer.query, layer.level, budget).await?;
        let need = Need {
            vertex_attributes: Names::All,
            object_attributes: Names::All,
            objects: true,
            groups: layer.color == ColorBy::Group,
            ..Need::nothing()
        };
        let number = chosen.level.number();
        let level = store.level(number, &need).await?;
        let objects = level.object_index().map_or(0, |index| index.len());
        let sequential = kind.is_chain();
        let convention = store.root().links_convention().ok();
        let implied = convention == Some(LinksConvention::ImplicitSequential);
        let whole = matches!(layer.select, None | Some(Select::Objects));
        let shapes = match kind {
            Kind::PointCloud => Shapes::Points,
            Kind::Mesh => Shapes::Faces,
            _ if sequential && implied && whole && objects > 0 && !chosen.additive => {
                Shapes::Chains
            }
            _ => Shapes::Edges,
        };
        let color = match &layer.color {
            ColorBy::Auto if sequential => ColorBy::Direction,
            ColorBy::Auto if kind == Kind::PointCloud && chosen.vertices > MANY => ColorBy::Density,
            ColorBy::Auto if kind != Kind::PointCloud && objects > 1 => ColorBy::Object,
            ColorBy::Auto => ColorBy::Solid(plain(kind)),
            given => given.clone(),
        };
        let mut colors = Colors::of(&color, layer, &level, shapes).await?;
        let (scale, odd) = space.scale(store, &layer.name);
        warnings.extend(odd);
        let radius = match (&layer.radius, layer.line_width) {
            (Some(name), _) => Some(known(&level, name)?),
            (None, None) if kind == Kind::Skeleton => known(&level, "radius").ok(),
            _ => None,
        };
        let mut columns = DrawnColumns {
            axes: PlotSpace::columns(store),
            scale,
            radius_scale: space.radius_scale(store, &level, radius.as_deref()),
            by_object: shapes == Shapes::Chains || colors.paint.by_object(),
            paint: colors.paint.clone(),
            origin: colors.origin,
            clipped: layer
                .range
                .is_some_and(|(low, high)| (high - low).abs() <= f64::from(f32::MAX)),
            radius,
            texts: Arc::new(TextColors::default()),
        };
        let asked = layer_query(layer, &columns, shapes, number);
        let answer = query(store, asked).await?;
        if let (Paint::Column { name, .. }, Some(schema)) =
            (&columns.paint, answer.schema(Table::Vertices))
        {
            let (_, field) = rows::field(schema, name)?;
            match shape(field.data_type()) {
                Some((channels, _)) => colors.channel(&color, channels),
                None => columns.paint = colors.texts(&color)?,
            }
        }
        warnings.extend(
            colors
                .warning
                .take()
                .map(|text| format!("{}: {text}", layer.name)),
        );
        let mut opened = Self {
            answer,
            kind,
            shapes,
            columns,
            early: Vec::new(),
            held: HeldVertices::default(),
            links: None,
            density: color == ColorBy::Density,
            title: std::mem::take(&mut colors.title),
            names: colors.groups,
            level: number,
            vertices: chosen.vertices,
        };
        opened.read(budget, &layer.name).await?;
        opened.names.extend(opened.columns.texts.legend());
        let of: FxHashSet<u32> = opened.names.iter().map(|(color, _)| color.bits()).collect();
        let (names, of) = (opened.names.len(), of.len());
        if of < names {
            let noun = match color {
                ColorBy::Group => "groups",
                _ => "categories",
            };
            warnings.push(format!(
                "{}: {names} {noun} have {of} colours: some have the same one",
                layer.name
            ));
        }
        Ok(opened)
    }

    /// Sets one colour for the whole layer.
    pub(crate) fn recolor(&mut self, color: Rgb) {
        self.columns.paint = Paint::Solid(color);
        self.held.recolor(color.bits());
    }

    /// Reads the first rows, or all.
    async fn read(&mut self, budget: u64, name: &str) -> Result<(), PlotError> {
        let linked = matches!(self.shapes, Shapes::Edges | Shapes::Faces);
        let mut rows = 0;
        while linked || rows < EARLY {
            match self.answer.next().await? {
                Some((Table::Vertices, batch)) if linked => {
                    self.columns.settle(&batch)?;
                    self.held.push(&self.columns.rows(&batch)?);
                    if self.held.len() as u64 > budget {
                        return Err(PlotError::limit(format!(
                            "{name}: found more than {budget} linked vertices in level {}, expected no more than the budget: a box or \
                             objects select fewer, `zvf pyramid` makes coarser levels, --vertices N allows more (about 50 bytes each)",
                            self.level
                        )));
                    }
                }
                Some((Table::Vertices, batch)) => {
                    rows += batch.num_rows();
                    self.columns.settle(&batch)?;
                    self.early.push(batch);
                }
                Some((Table::Links, batch)) => {
                    self.links = Some(batch);
                    return Ok(());
                }
                Some((Table::Objects, _)) => {}
                None => {
                    self.vertices = rows.max(self.held.len()) as u64;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The extent of the layer: from its vertices if all of them are in memory, else from the documents or by a separate query.
    ///
    /// By `&mut`, so that the future is `Send`: an answer is not `Sync`.
    pub(crate) async fn extent(
        &mut self,
        layer: &Layer,
        view: &Orientation,
    ) -> Result<FarthestVertices, PlotError> {
        let mut extent = FarthestVertices::new(view);
        self.held.each(|point| extent.add(point));
        for batch in &self.early {
            let positions = self.columns.positions(batch)?;
            positions.into_iter().for_each(|point| extent.add(point));
        }
        let all: usize = self.early.iter().map(RecordBatch::num_rows).sum();
        if matches!(self.shapes, Shapes::Edges | Shapes::Faces) || all < EARLY {
            return Ok(extent);
        }
        let asked = &layer.query;
        let by_rows = asked.filter.is_some()
            || asked.region.is_some()
            || asked.relation.is_some()
            || asked.passing.is_some()
            || asked.objects.is_some()
            || asked.groups.is_some();
        // Whole objects reach beyond the box.
        let whole = self.shapes == Shapes::Chains || layer.select == Some(Select::Objects);
        let by_box = asked.bbox.is_some() && whole;
        // Bounds do not include the offset of positions.
        let is_offset = layer.store.root().zarr_vectors.coordinate_offset.is_some();
        let declared = self.declared(layer).filter(|_| !is_offset);
        match declared.filter(|_| !by_rows && !by_box && asked.limit.is_none()) {
            Some(bounds) => {
                let mut extent = FarthestVertices::new(view);
                extent.add_box(&bounds);
                Ok(extent)
            }
            None => survey(layer, &self.columns, (self.shapes, self.level), extent).await,
        }
    }

    /// The bounds that the store declares, intersected with the requested box.
    fn declared(&self, layer: &Layer) -> Option<Bounds> {
        let mut bounds = Bounds::EMPTY;
        let (low, high) = &layer.store.root().zarr_vectors.bounds;
        let side = |of: &[f64], asked: Option<&[f64]>, tighter: fn(f64, f64) -> f64| {
            let mut corner = [0.0; 3];
            let axes = self.columns.axes.iter().zip(self.columns.scale);
            for (value, (axis, scale)) in corner.iter_mut().zip(axes) {
                let declared = *of.get(*axis)?;
                let asked = asked.and_then(|corner| corner.get(*axis));
                *value = asked.map_or(declared, |asked| tighter(declared, *asked)) * scale;
            }
            Some(corner)
        };
        let asked = layer.query.bbox.as_ref();
        let low = side(low, asked.map(|one| one.lo()), f64::max)?;
        let high = side(high, asked.map(|one| one.hi()), f64::min)?;
        let ordered = low.iter().zip(&high).all(|(low, high)| low <= high);
        let finite = low.iter().chain(&high).all(|one| one.is_finite());
        bounds.add(low);
        bounds.add(high);
        (ordered && finite && low != high).then_some(bounds)
    }
}

/// Reads all positions of a layer once to compute their extent.
async fn survey(
    layer: &Layer,
    columns: &DrawnColumns,
    (shapes, level): (Shapes, u32),
    mut extent: FarthestVertices,
) -> Result<FarthestVertices, PlotError> {
    let mut asked = layer_query(layer, columns, shapes, level);
    asked.columns = vec![Column::Position];
    let mut answer = query(&layer.store, asked).await?;
    while let Some((table, batch)) = answer.next().await? {
        if table == Table::Vertices {
            let positions = columns.positions(&batch)?;
            positions.into_iter().for_each(|point| extent.add(point));
        }
    }
    Ok(extent)
}

/// The query of a layer.
fn layer_query(layer: &Layer, columns: &DrawnColumns, shapes: Shapes, level: u32) -> Query {
    let mut query = layer.query.clone();
    query.level = level;
    query.columns = vec![Column::Position];
    if columns.by_object {
        query.columns.push(Column::ObjectId);
    }
    let mut names: Vec<String> = Vec::new();
    if let Paint::Column { name, .. } = &columns.paint {
        names.push(name.clone());
    }
    names.extend(
        columns
            .radius
            .clone()
            .filter(|radius| !names.contains(radius)),
    );
    let attributes = names.iter().map(|name| Column::Attribute(name.clone()));
    query.columns.extend(attributes);
    if let Paint::Expression(expression) = &columns.paint {
        let needed = expression.columns().into_iter();
        let known = query.columns.clone();
        query
            .columns
            .extend(needed.filter(|one| !known.contains(one)));
    }
    query.attributes = Names::List(names);
    query.outputs = Outputs {
        vertices: true,
        links: matches!(shapes, Shapes::Edges | Shapes::Faces),
        objects: false,
    };
    query.select = layer.select.unwrap_or_default();
    if shapes == Shapes::Chains {
        query.select = Select::Objects;
        // An object that is requested twice would be linked to itself.
        let mut seen = FxHashSet::default();
        if let Some(objects) = &mut query.objects {
            objects.retain(|id| seen.insert(*id));
        }
    }
    query
}

/// The expression of a colour rule. `None` for a plain name, with or without a channel, unless it names an axis or a value of objects.
fn expression(store: &Store, name: &str, channel: Option<usize>) -> Option<Expression> {
    // The end of an expression, as in `a - rgb[2]`, looks like the channel of a name.
    let text = channel.map_or_else(|| name.to_owned(), |channel| format!("{name}[{channel}]"));
    let expression = Expression::parse(&text).ok()?;
    let is_axis = || store.root().axes().iter().any(|axis| axis.name == text);
    let is_name = expression.names().iter().any(|one| one == name);
    (!is_name || is_axis() || expression.is_of_object()).then_some(expression)
}

/// The default colour of a kind.
fn plain(kind: Kind) -> Rgb {
    match kind {
        Kind::Mesh => Rgb(0xd9, 0xc3, 0xa5),
        Kind::PointCloud => Rgb(0xf2, 0xc1, 0x4e),
        _ => Rgb(0x7f, 0xb8, 0xf0),
    }
}

/// Checks that the level has a vertex attribute, and returns its name.
fn known(level: &Level, name: &str) -> Result<String, PlotError> {
    let names: Vec<&str> = level
        .vertex_attributes()
        .iter()
        .map(|one| &*one.name)
        .collect();
    match names.contains(&name) {
        true => Ok(name.to_owned()),
        false => Err(PlotError::usage(format!(
            "radius: found {name:?}, expected a vertex attribute: {}",
            listed(&names)
        ))),
    }
}

fn listed(names: &[&str]) -> String {
    match names.is_empty() {
        true => "there is none".to_owned(),
        false => names.join(", "),
    }
}

/// The colour rule of a layer, resolved for its level.
struct Colors {
    paint: Paint,
    /// The origin of numbers, if it is known.
    origin: Option<f64>,
    title: String,
    /// Channels of an attribute of objects.
    channels: usize,
    groups: Vec<(Rgb, String)>,
    warning: Option<String>,
}

impl Colors {
    async fn of(
        color: &ColorBy,
        layer: &Layer,
        level: &Level,
        shapes: Shapes,
    ) -> Result<Self, PlotError> {
        let mut colors = Self {
            paint: Paint::Solid(Rgb::WHITE),
            origin: layer
                .range
                .map(|(low, _)| low)
                .filter(|low| low.is_finite()),
            title: String::new(),
            channels: 1,
            groups: Vec::new(),
            warning: None,
        };
        let indexed = || match level.object_index() {
            Some(_) => Ok(()),
            None => Err(PlotError::usage(format!(
                "{}: found no object index, expected one for colours by object",
                layer.name
            ))),
        };
        match color {
            ColorBy::Solid(color) => colors.paint = Paint::Solid(*color),
            ColorBy::Density | ColorBy::Auto => {}
            ColorBy::Direction if shapes == Shapes::Points => {
                return Err(PlotError::usage(format!(
                    "{}: found points, expected lines or faces: points have no direction",
                    layer.name
                )));
            }
            ColorBy::Direction => colors.paint = Paint::Direction,
            ColorBy::Object => {
                indexed()?;
                colors.paint = Paint::Object;
            }
            ColorBy::Group => {
                indexed()?;
                colors.group(layer, level).await?;
            }
            ColorBy::Attribute(name, channel) => {
                colors.attribute(layer, level, (name, *channel)).await?;
                if matches!(colors.paint, Paint::Numbers(_)) {
                    colors.channel(color, colors.channels);
                }
            }
        }
        Ok(colors)
    }

    /// Adds the channel to the title, and a warning if it was not requested, for an attribute of several channels.
    fn channel(&mut self, color: &ColorBy, channels: usize) {
        let ColorBy::Attribute(name, channel) = color else {
            return;
        };
        if channels < 2 {
            return;
        }
        let drawn = format!("{name}[{}]", channel.unwrap_or_default());
        self.title = self.title.replacen(name.as_str(), &drawn, 1);
        if channel.is_none() {
            self.warning = Some(format!(
                "attribute {name} has {channels} channels, and the first is drawn: --color {drawn} to {name}[{}] selects one",
                channels.saturating_sub(1)
            ));
        }
    }

    /// The rule of an attribute of texts.
    fn texts(&self, color: &ColorBy) -> Result<Paint, PlotError> {
        match color {
            ColorBy::Attribute(name, Some(channel)) if *channel > 0 => {
                Err(rows::no_channel(name, *channel, 1))
            }
            ColorBy::Attribute(name, _) => Ok(Paint::Texts(name.clone())),
            _ => Err(PlotError::bug("texts without an attribute")),
        }
    }

    async fn group(&mut self, layer: &Layer, level: &Level) -> Result<(), PlotError> {
        let of_base;
        let mut found = level.groups().filter(|groups| !groups.is_empty());
        if found.is_none() && level.number() != 0 && level.doc().preserves_object_ids {
            let need = Need {
                groups: true,
                ..Need::nothing()
            };
            of_base = layer.store.level(0, &need).await?;
            found = of_base.groups().filter(|groups| !groups.is_empty());
        }
        let groups = found.ok_or_else(|| {
            PlotError::usage(format!(
                "{}: found no groups, expected some for colours by group",
                layer.name
            ))
        })?;
        if groups.len() > GROUPS {
            return Err(PlotError::limit(format!(
                "{}: found {} groups, expected at most {GROUPS} for colours by group",
                layer.name,
                groups.len()
            )));
        }
        let mut of = FxHashMap::default();
        for number in 0..groups.len() {
            let color = of_few(usize::try_from(number).unwrap_or(0));
            let members = groups.members(number).await?;
            let chosen = layer.query.groups.as_ref();
            if chosen.is_some_and(|chosen| !chosen.contains(&number)) {
                continue;
            }
            // An object of several groups has the colour of the first one.
            for id in members {
                of.entry(id).or_insert(color.bits());
            }
            self.groups.push((color, groups.name(number)));
        }
        self.paint = Paint::Colors(Arc::new(of));
        Ok(())
    }

    async fn attribute(
        &mut self,
        layer: &Layer,
        level: &Level,
        (name, number): (&str, Option<usize>),
    ) -> Result<(), PlotError> {
        let channel = number.unwrap_or_default();
        let title = |unit: &Option<String>| match unit {
            Some(unit) => format!("{name} ({unit})"),
            None => name.to_owned(),
        };
        let own = level
            .vertex_attributes()
            .iter()
            .find(|one| one.name == name);
        // Queries also return the attribute that divides chunks, although it is not a vertex attribute.
        let divides = level.doc().chunk_attribute_name.as_deref() == Some(name);
        if own.is_some() || divides {
            self.title = title(&own.and_then(|own| own.unit.clone()));
            self.paint = Paint::Column {
                name: name.to_owned(),
                channel,
            };
            return Ok(());
        }
        let objects = level
            .object_attributes()
            .iter()
            .find(|one| one.name() == name);
        let Some(found) = objects else {
            if let Some(expression) = expression(&layer.store, name, number) {
                let mut query = layer.query.clone();
                query.level = level.number();
                self.title = expression.to_string();
                let bound = expression.of_vertices(&layer.store, &query).await?;
                self.paint = Paint::Expression(Arc::new(bound));
                return Ok(());
            }
            let vertices: Vec<&str> = level
                .vertex_attributes()
                .iter()
                .map(|one| &*one.name)
                .collect();
            let objects: Vec<&str> = level
                .object_attributes()
                .iter()
                .map(|one| one.name())
                .collect();
            return Err(PlotError::usage(format!(
                "color: found {name:?}, expected object, group, direction, density, a colour, an expression, or an attribute of vertices ({}) or \
                 of objects ({})",
                listed(&vertices),
                listed(&objects)
            )));
        };
        self.title = title(&found.attributes().unit);
        let mut answer = list_objects(&layer.store, level.number(), false).await?;
        let mut of = FxHashMap::default();
        let mut texts = ObjectTexts::new(&layer.query);
        while let Some((_, batch)) = answer.next().await? {
            // Not by `rows::column`, which prefers an attribute of this name.
            let ids = batch.column_by_name("object_id");
            let ids = ids.and_then(|ids| ids.as_primitive_opt::<Int64Type>());
            let ids = ids.map(|ids| ids.values().to_vec());
            let ids = ids.ok_or_else(|| PlotError::bug("object_id is not Int64"))?;
            let (_, values) = rows::column(&batch, name)?;
            if shape(values.data_type()).is_none() {
                if channel > 0 {
                    return Err(rows::no_channel(name, channel, 1));
                }
                texts.add(&ids, &values)?;
                continue;
            }
            if self.origin.is_none() {
                self.origin = rows::first_number(&batch, name, channel)?;
            }
            let origin = self.origin.unwrap_or_default();
            let (numbers, width) = rows::numbers(&batch, name, origin)?;
            self.channels = width;
            if channel >= width {
                return Err(rows::no_channel(name, channel, width));
            }
            for (id, row) in ids.into_iter().zip(numbers.chunks(width)) {
                of.insert(id, row.get(channel).copied().unwrap_or(f64::NAN));
            }
        }
        self.paint = match texts.is_empty() {
            true => Paint::Numbers(Arc::new(of)),
            false => {
                self.title.clear();
                let colors;
                (self.groups, colors) = texts.finish();
                Paint::Colors(Arc::new(colors))
            }
        };
        Ok(())
    }
}
