//! `/stores` and `/state.json`: the list of stores, and a viewer's state that shows all of them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::{Map, Value, json};
use zvf_neuroglancer::precomputed::Dimension;
use zvf_neuroglancer::{View, ViewedStore};

use crate::base::Base;
use crate::http_error::HandlerResult;
use crate::path::escaped;
use crate::reply::with_tag;
use crate::sources::{ServedStore, Sources};

/// Largest number of segments that are shown at first.
const MOST_SEGMENTS: usize = 200;

/// The paragraph with the link that shows all stores.
#[cfg(feature = "viewer")]
fn all_stores(_: &str) -> String {
    "<a href=\"./\">Open all stores in Neuroglancer</a> (<a href=\"LICENSES.txt\">licences</a>), or paste \
     <a href=\"state.json\">the state</a> into a viewer of your own."
        .to_owned()
}

/// The paragraph with the link that shows all stores, in the viewer hosted by its authors.
#[cfg(not(feature = "viewer"))]
fn all_stores(root: &str) -> String {
    format!(
        "<a href=\"https://neuroglancer-demo.appspot.com/#!{root}/state.json\">Open all stores in Neuroglancer</a> (hosted by \
         its authors; the data come from this server), or paste <a href=\"state.json\">the state</a> into a viewer of your own. \
         A <code>zvf</code> built with the feature <code>viewer</code> has Neuroglancer in it and needs no other server."
    )
}

/// Answers `/stores`.
pub(crate) async fn stores(
    State((sources, base)): State<(Arc<Sources>, Base)>,
    request: Request,
) -> HandlerResult {
    let _permit = sources.permit().await?;
    let root = base.of(request.headers());
    let mut rows = String::new();
    for source in sources.iter() {
        let name = source.name();
        let opened = source.with_current(|_| std::future::ready(Ok(())));
        let what = match opened.await {
            Ok(((), opened)) => {
                let views = View::of(opened.views.kind()).iter().map(|view| {
                    let (view, without) = (view.name(), without(*view, &opened.views));
                    format!(
                        "<a href=\"precomputed/{name}/{view}/info\">{view}</a>{}",
                        escaped(&without)
                    )
                });
                let views: Vec<String> = views.collect();
                format!(
                    "<td>{}</td><td>{}</td>",
                    opened.views.kind(),
                    views.join(", ")
                )
            }
            Err(_) => "<td>cannot be opened</td><td></td>".to_owned(),
        };
        rows.push_str(&format!(
            "<tr><td><a href=\"store/{name}/\">{name}</a></td><td>{}</td>{what}<td><code>{root}/store/{name}/|zarr-vectors:</code></td></tr>\n",
            escaped(&source.shown_address()),
        ));
    }
    let html = format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>zvf serve</title></head><body>\n\
         <h1>zvf serve</h1>\n\
         <p>{}</p>\n\
         <table border=\"1\" cellpadding=\"4\">\n\
         <tr><th>store</th><th>address</th><th>kind</th><th>views</th><th>source for viewers that read stores</th></tr>\n\
         {rows}</table>\n\
         <p><code>query?store=NAME&amp;bbox=LO:HI&amp;format=json</code> answers queries, in Arrow without <code>format</code>.</p>\n\
         </body></html>\n",
        all_stores(&root),
    );
    Ok(respond(html, "text/html; charset=utf-8"))
}

fn respond(text: String, kind: &'static str) -> Response {
    let mut response = with_tag(StatusCode::OK, None, Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let policy = HeaderValue::from_static("default-src 'none'");
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

/// Answers `/state.json`.
pub(crate) async fn state(
    State((sources, base)): State<(Arc<Sources>, Base)>,
    request: Request,
) -> HandlerResult {
    let _permit = sources.permit().await?;
    let document = document(&sources, &base, request.headers()).await?;
    Ok(respond(document.to_string(), "application/json"))
}

async fn document(sources: &Sources, base: &Base, headers: &HeaderMap) -> HandlerResult<Value> {
    let root = base.of(headers);
    let mut space = PageSpace::default();
    let mut layers = Vec::new();
    for source in sources.iter() {
        let root = &root;
        let made = source.with_current(|opened| async move {
            let layers = store_layers(root, source, &opened.views).await;
            // Layers may be missing or without segments because the store has changed.
            match opened.store().verify(1).await {
                Err(changed) if changed.is_changed() => Err(changed.into()),
                _ => Ok(layers),
            }
        });
        match made.await {
            Ok((made, opened)) => {
                space.add(&opened.views);
                layers.extend(made);
            }
            Err(error) if error.is_changed() => return Err(error),
            // A store that cannot be opened is named on the page; the others are shown.
            Err(_) => {}
        }
    }
    let mut state = json!({
        "dimensions": space.dimensions(),
        "layout": "3d",
        "showSlices": false,
        "layers": layers,
    });
    if let Some((position, extent)) = space.view() {
        state["position"] = json!(position);
        state["projectionScale"] = json!(extent);
    }
    Ok(state)
}

/// Shader that draws lines without the viewer's default marker at each vertex.
const LINES_ALONE: &str = "void main() {\n  setColor(defaultColor());\n  setEndpointMarkerSize(0.0);\n  setEndpointMarkerBorderWidth(0.0);\n}\n";

/// The axes that a view in space leaves out, as text.
fn without(view: View, store: &ViewedStore) -> String {
    let axes = store.other_axes();
    match view {
        View::Skeletons | View::Multilod | View::Meshes if !axes.is_empty() => {
            format!(" (without {})", axes.join(", "))
        }
        _ => String::new(),
    }
}

/// The layers of one store.
async fn store_layers(root: &str, source: &ServedStore, store: &ViewedStore) -> Vec<Value> {
    let name = source.name();
    let mut layers = Vec::new();
    let views = View::of(store.kind());
    for (number, view) in views.iter().enumerate() {
        let title = |view: View| format!("{name} {}{}", view.name(), without(view, store));
        let url = format!("precomputed://{root}/precomputed/{name}/{}", view.name());
        let layer = match view {
            View::Points => json!({
                "type": "annotation",
                "name": title(*view),
                "source": annotation_source(&url, store),
            }),
            View::Lines => {
                let Ok(spacing) = store.line_spacing().await else {
                    continue;
                };
                let mut layer = json!({
                    "type": "annotation",
                    "name": title(*view),
                    "source": annotation_source(&url, store),
                    "linkedSegmentationLayer": {"object": title(View::Skeletons)},
                    "shader": LINES_ALONE,
                });
                if let Some(spacing) = spacing {
                    layer["projectionAnnotationSpacing"] = json!(spacing.round());
                }
                layer
            }
            // The multi-resolution meshes already show the same objects.
            View::Meshes => continue,
            View::Skeletons | View::Multilod => {
                // If another layer shows an overview, segments are shown when they are selected.
                let segments = match (number, store.segments(MOST_SEGMENTS).await) {
                    (0, Ok(segments)) => segments,
                    _ => Vec::new(),
                };
                let segments: Vec<String> = segments.iter().map(u64::to_string).collect();
                json!({
                    "type": "segmentation",
                    "name": title(*view),
                    "source": url,
                    "segments": segments,
                })
            }
        };
        layers.push(layer);
    }
    layers
}

/// The source of a layer of annotations. Positions without a unit are shown as nanometres, as skeletons and meshes are.
fn annotation_source(url: &str, store: &ViewedStore) -> Value {
    let mut dimensions = store.dimensions().iter().enumerate();
    if dimensions.all(|(number, one)| !store.is_space(number) || one.unit == "m") {
        return json!(url);
    }
    let mut dimensions = Map::new();
    for (number, one) in store.dimensions().iter().enumerate() {
        let shown = shown(store, number, one);
        dimensions.insert(shown.name, json!([shown.scale, shown.unit]));
    }
    // Input and output dimensions together keep the numbers and change only their unit; output dimensions alone would convert the numbers.
    json!({"url": url, "transform": {"inputDimensions": dimensions, "outputDimensions": dimensions}})
}

/// A dimension of the viewer's state: an axis of space without a unit is assumed to be in nanometres.
fn shown(store: &ViewedStore, number: usize, dimension: &Dimension) -> Dimension {
    match dimension.unit.is_empty() && store.is_space(number) {
        true => Dimension {
            name: dimension.name.clone(),
            scale: 1e-9,
            unit: "m",
        },
        false => dimension.clone(),
    }
}

/// The space of all stores: their axes, each once by name and unit, and the box around all stores.
#[derive(Debug, Default)]
struct PageSpace {
    /// Axes of space first.
    axes: Vec<(Dimension, f64, f64)>,
    /// Number of axes of space.
    of_space: usize,
}

impl PageSpace {
    fn add(&mut self, store: &ViewedStore) {
        let root = store.store().root();
        let (lo, hi) = &root.zarr_vectors.bounds;
        let offset = root.zarr_vectors.coordinate_offset.as_deref();
        for (number, one) in store.dimensions().iter().enumerate() {
            let one = shown(store, number, one);
            let offset = offset.and_then(|offset| offset.get(number)).unwrap_or(&0.0);
            let bound = |list: &[f64]| list.get(number).map(|bound| (bound + offset) * one.scale);
            let (Some(lo), Some(hi)) = (bound(lo), bound(hi)) else {
                continue;
            };
            if !lo.is_finite() || !hi.is_finite() {
                continue;
            }
            let mut axes = self.axes.iter_mut();
            match axes.find(|axis| axis.0.name == one.name) {
                // The page has one axis of each name, in the unit of the first store.
                Some((known, ..)) if known.unit != one.unit => {}
                Some((_, least, greatest)) => {
                    *least = least.min(lo);
                    *greatest = greatest.max(hi);
                }
                // The viewer displays the first three axes, so axes of space are before axes of time.
                None if store.is_space(number) => {
                    self.axes.insert(self.of_space, (one, lo, hi));
                    self.of_space += 1;
                }
                None => self.axes.push((one, lo, hi)),
            }
        }
    }

    fn dimensions(&self) -> Value {
        let axes = self.axes.iter();
        let axes = axes.map(|(one, ..)| (one.name.clone(), json!([one.scale, one.unit])));
        Value::Object(axes.collect())
    }

    /// The centre, and the largest extent in units of the first axis.
    fn view(&self) -> Option<(Vec<f64>, f64)> {
        let (first, ..) = self.axes.first()?;
        let centre = self
            .axes
            .iter()
            .map(|(one, lo, hi)| (lo + hi) / 2.0 / one.scale);
        let extents = self.axes.iter().filter(|(one, ..)| one.unit == first.unit);
        let extent = extents
            .map(|(_, lo, hi)| (hi - lo) / first.scale)
            .fold(0.0, f64::max);
        let extent = if extent > 0.0 { extent * 1.3 } else { 1.0 };
        Some((centre.collect(), extent))
    }
}
