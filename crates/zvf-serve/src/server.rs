//! The server: connections, routes, limits.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::future::BoxFuture;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower::ServiceExt;
use tower_http::cors::{Any, CorsLayer};
use zvf_store::{OpenOptions, StoreError};

use crate::base::Base;
use crate::http_error::HttpError;
use crate::log::Log;
use crate::sources::Sources;
use crate::token::AccessToken;
use crate::{page, query, store_files, views};

/// Options of a server.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServeOptions {
    /// The address that is bound. Default 127.0.0.1.
    pub host: IpAddr,
    /// The port; 0 selects a free one. Default 0.
    pub port: u16,
    /// The secret first segment of every path. Default none; a server on another address than a loopback one always has one.
    pub token: Option<AccessToken>,
    /// Options with which stores are opened.
    pub open: OpenOptions,
    /// Connections at one time; further ones wait. Default 1024.
    pub connections: usize,
    /// Views and queries that are computed at one time; further ones wait. Default 4.
    pub work: usize,
    /// Decoded bytes of one view or query. Default 16 MiB.
    pub memory_budget: u64,
    /// How long requests may take to end when the server stops. Default 10 s.
    pub grace: Duration,
    /// Receives one line for each request. Default: no log.
    pub log: Option<Log>,
    /// Receives each warning about a store or an answer, after the name of the store, once for each state of the store. Default: warnings are
    /// dropped.
    pub warn: Option<Log>,
}

impl std::fmt::Debug for ServeOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServeOptions")
            .field("host", &self.host)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
            token: None,
            open: OpenOptions::default(),
            connections: 1024,
            work: 4,
            memory_budget: 16 << 20,
            grace: Duration::from_secs(10),
            log: None,
            warn: None,
        }
    }
}

impl ServeOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// Why a server does not start, or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// An address of a store is wrong.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The address cannot be bound, or there is no source of random numbers.
    #[error("{address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: std::io::Error,
    },
}

/// A server that is bound to its address.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    base: Base,
    app: Router,
    connections: usize,
    grace: Duration,
}

impl Server {
    /// Binds the address. Stores are not opened yet.
    ///
    /// # Errors
    /// An address of a store without a backend; an address that cannot be bound; a token is needed and the system has no random numbers.
    pub fn bind<'a>(
        stores: &'a [String],
        options: ServeOptions,
    ) -> BoxFuture<'a, Result<Self, ServeError>> {
        Box::pin(async move {
            let wanted = SocketAddr::new(options.host, options.port);
            let failed = |source| ServeError::Bind {
                address: wanted,
                source,
            };
            let token = match options.token {
                None if !options.host.is_loopback() => Some(AccessToken::new().map_err(failed)?),
                token => token,
            };
            let (work, budget) = (options.work, options.memory_budget);
            let mut sources = Sources::new(stores, &options.open, work, budget)?;
            sources.warn = options.warn;
            let sources = Arc::new(sources);
            let listener = TcpListener::bind(wanted).await.map_err(failed)?;
            let address = listener.local_addr().map_err(failed)?;
            let prefix = token.as_ref().map(|token| format!("/{}", token.digits()));
            let base = Base {
                address,
                prefix: prefix.unwrap_or_default().into(),
            };
            let app = app(sources, base.clone(), token, options.log);
            Ok(Self {
                listener,
                base,
                app,
                connections: options.connections.max(1),
                grace: options.grace,
            })
        })
    }

    /// The URL for clients, including the token.
    #[must_use]
    pub fn url(&self) -> String {
        self.base.url()
    }

    /// The address that is bound.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.base.address
    }

    /// Serves until `stop` is ready, then waits for the requests in flight, at most [`ServeOptions::grace`].
    ///
    /// # Cost
    /// Memory is bounded by the connections: about 1 MiB for each that reads an object, and for each view or query that is
    /// computed its memory budget and its answer, of at most 64 MiB.
    pub fn run<'a>(self, stop: impl Future<Output = ()> + Send + 'a) -> BoxFuture<'a, ()> {
        let stop: BoxFuture<'a, ()> = Box::pin(stop);
        Box::pin(async move {
            let graceful = GracefulShutdown::new();
            let permits = Arc::new(Semaphore::new(self.connections));
            let mut stop = pin!(stop);
            loop {
                let next = async {
                    let permit = Arc::clone(&permits).acquire_owned().await.ok()?;
                    Some((permit, self.listener.accept().await))
                };
                let accepted = tokio::select! {
                    () = &mut stop => break,
                    accepted = next => accepted,
                };
                let (permit, stream) = match accepted {
                    Some((permit, Ok((stream, _)))) => (permit, stream),
                    // The connection was closed before it was accepted, or file handles are exhausted: other connections may end meanwhile.
                    Some((_, Err(_))) => {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        continue;
                    }
                    None => break,
                };
                let service = TowerToHyperService::new(self.app.clone());
                let connection = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(Duration::from_secs(30))
                    .max_buf_size(64 << 10)
                    .half_close(false)
                    .serve_connection(TokioIo::new(stream), service);
                let connection = graceful.watch(connection);
                tokio::spawn(async move {
                    // A client that disconnects is not an error of the server.
                    let _ = connection.await;
                    drop(permit);
                });
            }
            drop(self.listener);
            let _ = tokio::time::timeout(self.grace, graceful.shutdown()).await;
        })
    }
}

/// The routes, below the token if there is one.
fn app(sources: Arc<Sources>, base: Base, token: Option<AccessToken>, log: Option<Log>) -> Router {
    let pages = Router::new()
        .route("/stores", get(page::stores))
        .route("/state.json", get(page::state));
    #[cfg(not(feature = "viewer"))]
    let pages = pages.route("/", get(page::stores));
    let pages = pages.with_state((Arc::clone(&sources), base));
    #[cfg(feature = "viewer")]
    let pages = pages.merge(crate::viewer::routes());
    let routes = Router::new()
        .route("/query", get(query::answer).post(query::answer_body))
        .route(
            "/store/{*path}",
            get(store_files::answer).head(store_files::answer),
        )
        .route("/precomputed/{*path}", get(views::answer))
        .with_state(sources)
        .merge(pages)
        .fallback(async || HttpError::not_found("no such page"));
    let guarded = match token.clone() {
        None => routes,
        Some(token) => Router::new().fallback(move |request: Request| {
            let (routes, token) = (routes.clone(), token.clone());
            async move { behind(&token, routes, request).await }
        }),
    };
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::OPTIONS])
        .allow_headers(Any)
        .allow_private_network(true)
        .expose_headers([
            header::ACCEPT_RANGES,
            header::CONTENT_LENGTH,
            header::CONTENT_RANGE,
            header::CONTENT_TYPE,
            header::ETAG,
        ]);
    let app = guarded.layer(cors);
    match log {
        None => app,
        Some(log) => app.layer(from_fn(move |request: Request, next: Next| {
            logged(Arc::clone(&log), token.clone(), request, next)
        })),
    }
}

/// Removes the token from the beginning of the path and answers the request; 404 for paths without the token.
async fn behind(token: &AccessToken, routes: Router, mut request: Request) -> Response {
    let refused = || HttpError::not_found("no such page").into_response();
    if token.is_whole(request.uri().path()) {
        return below(token);
    }
    let Some(path) = token.strip(request.uri().path()) else {
        return refused();
    };
    let query = request.uri().query();
    let whole = match query {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let Ok(uri) = whole.parse::<Uri>() else {
        return refused();
    };
    *request.uri_mut() = uri;
    match routes.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Redirects clients from `/TOKEN` to `/TOKEN/`, because links in the pages are relative to `/TOKEN/`.
fn below(token: &AccessToken) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    // The link is relative, because a proxy may serve it below another path.
    if let Ok(link) = HeaderValue::from_str(&format!("{}/", token.digits())) {
        response.headers_mut().insert(header::LOCATION, link);
    }
    response
}

/// Logs one request: method, path without the token before it, range, status, length, and milliseconds until the answer began.
async fn logged(log: Log, token: Option<AccessToken>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let path = request.uri().path();
    let path = token.and_then(|token| token.strip(path)).unwrap_or(path);
    let (method, path) = (request.method().clone(), path.to_owned());
    let range = request.headers().get(header::RANGE).cloned();
    let response = next.run(request).await;
    let text = |value: Option<&HeaderValue>| {
        let text = value.and_then(|value| value.to_str().ok());
        text.unwrap_or("-").to_owned()
    };
    let length = match response.headers().get(header::CONTENT_LENGTH) {
        Some(length) => text(Some(length)),
        None => body_size(response.body()),
    };
    log(&format!(
        "{method} {path} {} {} {length} {:.1}",
        text(range.as_ref()),
        response.status().as_u16(),
        begun.elapsed().as_secs_f64() * 1e3,
    ));
    response
}

fn body_size(body: &Body) -> String {
    use axum::body::HttpBody;
    match body.size_hint().exact() {
        Some(size) => size.to_string(),
        None => "-".to_owned(),
    }
}
