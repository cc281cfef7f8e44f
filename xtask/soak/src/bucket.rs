//! An S3 server in memory: as much of the protocol as stores are read and written by. Each request takes effect at one moment, as S3
//! promises. It answers in microseconds, where moto takes milliseconds of one core.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::locks::locked;

/// The objects of all buckets. Buckets are there as soon as they are named.
#[derive(Debug, Default)]
pub struct Bucket {
    /// By bucket and key, `bucket/key`.
    objects: Mutex<BTreeMap<String, Object>>,
}

#[derive(Debug, Clone)]
struct Object {
    bytes: Arc<[u8]>,
    tag: String,
    /// Seconds since 1970.
    modified: u64,
}

impl Object {
    fn new(bytes: &[u8]) -> Self {
        // As S3's: the same bytes have the same ETag.
        let half = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, bytes).hash(&mut hasher);
            hasher.finish()
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            tag: format!("\"{:016x}{:016x}\"", half(0), half(1)),
            bytes: bytes.into(),
            modified: now.map_or(0, |time| time.as_secs()),
        }
    }
}

/// A request in its parts.
struct Request<'r> {
    method: &'r str,
    /// Bucket and key.
    path: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, &'r str>,
    body: &'r [u8],
}

impl<'r> Request<'r> {
    fn parse(bytes: &'r [u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|part| part == b"\r\n\r\n")?;
        let mut lines = std::str::from_utf8(bytes.get(..end)?).ok()?.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let headers = lines.filter_map(|line| line.split_once(':'));
        Some(Self {
            method,
            path: decoded(path.trim_start_matches('/')),
            query: pairs
                .map(|(name, value)| (decoded(name), decoded(value)))
                .collect(),
            headers: headers
                .map(|(name, value)| (name.to_ascii_lowercase(), value.trim()))
                .collect(),
            body: bytes.get(end + 4..)?,
        })
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).copied()
    }

    fn asks(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }
}

impl Bucket {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Object>> {
        locked(&self.objects)
    }

    /// The answer to a request, both as bytes of HTTP/1.1.
    #[must_use]
    pub fn answer(&self, request: &[u8]) -> Vec<u8> {
        let Some(request) = Request::parse(request) else {
            return error("400 Bad Request", "InvalidRequest");
        };
        match request.method {
            "GET" if request.asks("list-type").is_some() => self.list(&request),
            "GET" | "HEAD" => self.get(&request),
            "PUT" if request.asks("uploadId").is_none() => self.put(&request),
            "DELETE" if request.asks("uploadId").is_none() => {
                self.all().remove(&request.path);
                reply("204 No Content", "", b"")
            }
            "POST" if request.asks("delete").is_some() => self.delete(&request),
            _ => error("501 Not Implemented", "NotImplemented"),
        }
    }

    /// The objects whose bucket and key begin like this.
    #[must_use]
    pub fn objects(&self, prefix: &str) -> Vec<(String, Arc<[u8]>)> {
        let all = self.all();
        let found = all.range(prefix.to_owned()..);
        let found = found.take_while(|(path, _)| path.starts_with(prefix));
        found
            .map(|(path, object)| (path.clone(), Arc::clone(&object.bytes)))
            .collect()
    }

    /// Removes the objects whose bucket and key begin like this.
    pub fn remove(&self, prefix: &str) {
        self.all().retain(|path, _| !path.starts_with(prefix));
    }

    fn get(&self, request: &Request<'_>) -> Vec<u8> {
        let Some(object) = self.all().get(&request.path).cloned() else {
            return error("404 Not Found", "NoSuchKey");
        };
        let is = |name| request.header(name).is_some_and(|tag| tag == object.tag);
        if request.header("if-match").is_some() && !is("if-match") {
            return error("412 Precondition Failed", "PreconditionFailed");
        }
        let mut heads = format!(
            "ETag: {}\r\nLast-Modified: {}\r\nAccept-Ranges: bytes\r\n",
            object.tag,
            date(object.modified, true)
        );
        if is("if-none-match") {
            return reply("304 Not Modified", &heads, b"");
        }
        let size = object.bytes.len();
        let (status, bytes) = match request.header("range").map(|range| part(range, size)) {
            None => ("200 OK", object.bytes.get(..)),
            Some(Some((from, to))) => {
                let _ = write!(heads, "Content-Range: bytes {from}-{}/{size}\r\n", to - 1);
                ("206 Partial Content", object.bytes.get(from..to))
            }
            Some(None) => return error("416 Range Not Satisfiable", "InvalidRange"),
        };
        let mut answer = reply(status, &heads, bytes.unwrap_or_default());
        if request.method == "HEAD" {
            answer.truncate(answer.len() - bytes.map_or(0, <[u8]>::len));
        }
        answer
    }

    fn put(&self, request: &Request<'_>) -> Vec<u8> {
        let mut all = self.all();
        let there = all.get(&request.path).map(|object| object.tag.clone());
        if request.header("if-none-match") == Some("*") && there.is_some() {
            return error("412 Precondition Failed", "PreconditionFailed");
        }
        match (request.header("if-match"), there) {
            (Some(_), None) => return error("404 Not Found", "NoSuchKey"),
            (Some(tag), Some(there)) if tag != there => {
                return error("412 Precondition Failed", "PreconditionFailed");
            }
            _ => {}
        }
        let source = request.header("x-amz-copy-source");
        let source = source.map(|path| decoded(path.trim_start_matches('/')));
        let bytes = match &source {
            None => Arc::from(request.body),
            Some(path) => match all.get(path) {
                Some(object) => Arc::clone(&object.bytes),
                None => return error("404 Not Found", "NoSuchKey"),
            },
        };
        let object = Object::new(&bytes);
        let heads = format!("ETag: {}\r\n", object.tag);
        let body = match source {
            None => String::new(),
            Some(_) => format!(
                "{XML}<CopyObjectResult><ETag>{}</ETag><LastModified>{}</LastModified></CopyObjectResult>",
                escaped(&object.tag),
                date(object.modified, false)
            ),
        };
        all.insert(request.path.clone(), object);
        reply("200 OK", &heads, body.as_bytes())
    }

    fn delete(&self, request: &Request<'_>) -> Vec<u8> {
        let list = String::from_utf8_lossy(request.body);
        let bucket = request.path.trim_end_matches('/');
        let mut all = self.all();
        let mut body = format!("{XML}<DeleteResult>");
        for key in list.split("<Key>").skip(1) {
            let key = key.split("</Key>").next().unwrap_or_default();
            all.remove(&format!("{bucket}/{}", unescaped(key)));
            let _ = write!(body, "<Deleted><Key>{key}</Key></Deleted>");
        }
        body.push_str("</DeleteResult>");
        reply("200 OK", "", body.as_bytes())
    }

    fn list(&self, request: &Request<'_>) -> Vec<u8> {
        let bucket = request.path.trim_end_matches('/');
        let prefix = request.asks("prefix").unwrap_or_default();
        let delimiter = request.asks("delimiter").filter(|text| !text.is_empty());
        let after = request
            .asks("continuation-token")
            .or(request.asks("start-after"))
            .unwrap_or_default();
        let most = request.asks("max-keys").and_then(|most| most.parse().ok());
        let most: usize = most.unwrap_or(1000).min(1000);
        let start = format!("{bucket}/{prefix}");
        let (mut found, mut folders) = (String::new(), String::new());
        let (mut count, mut last) = (0, String::new());
        let mut more = false;
        for (path, object) in self.all().range(start.clone()..) {
            let Some(rest) = path.strip_prefix(&start) else {
                break;
            };
            let folder = delimiter.and_then(|mark| rest.find(mark).map(|at| at + mark.len()));
            let end = folder.map_or(path.len(), |at| start.len() + at);
            let key = path.get(bucket.len() + 1..end).unwrap_or_default();
            if key <= after || key == last {
                continue;
            }
            if count == most {
                more = true;
                break;
            }
            count += 1;
            key.clone_into(&mut last);
            let key = escaped(key);
            let _ = match folder {
                Some(_) => write!(
                    folders,
                    "<CommonPrefixes><Prefix>{key}</Prefix></CommonPrefixes>"
                ),
                None => write!(
                    found,
                    "<Contents><Key>{key}</Key><LastModified>{}</LastModified><ETag>{}</ETag><Size>{}</Size></Contents>",
                    date(object.modified, false),
                    escaped(&object.tag),
                    object.bytes.len()
                ),
            };
        }
        let next = match more {
            true => format!(
                "<NextContinuationToken>{}</NextContinuationToken>",
                escaped(&last)
            ),
            false => String::new(),
        };
        let body = format!(
            "{XML}<ListBucketResult><Name>{bucket}</Name><Prefix>{}</Prefix><KeyCount>{count}</KeyCount><MaxKeys>{most}</MaxKeys>\
             <IsTruncated>{more}</IsTruncated>{next}{found}{folders}</ListBucketResult>",
            escaped(prefix)
        );
        reply(
            "200 OK",
            "Content-Type: application/xml\r\n",
            body.as_bytes(),
        )
    }
}

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

fn reply(status: &str, heads: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut answer =
        format!("HTTP/1.1 {status}\r\n{heads}Content-Length: {length}\r\n\r\n").into_bytes();
    answer.extend_from_slice(body);
    answer
}

fn error(status: &str, code: &str) -> Vec<u8> {
    let body = format!("{XML}<Error><Code>{code}</Code><Message>{status}</Message></Error>");
    reply(status, "Content-Type: application/xml\r\n", body.as_bytes())
}

/// First and last of the bytes of a range, the last one not included.
fn part(range: &str, size: usize) -> Option<(usize, usize)> {
    let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
    let (from, to) = match (from.parse::<usize>().ok(), to.parse::<usize>().ok()) {
        (Some(from), Some(to)) => (from, to.checked_add(1)?.min(size)),
        (Some(from), None) => (from, size),
        (None, Some(last)) => (size.saturating_sub(last), size),
        (None, None) => return None,
    };
    (from < to).then_some((from, to))
}

/// A time, as headers (`true`) or documents have it.
fn date(seconds: u64, header: bool) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    // Days since the first of March of the year 0, in cycles of 400 years.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let of = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * of + of / 4 - of / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + of + u64::from(month <= 2);
    if !header {
        return format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z");
    }
    let name = |names: &'static str, number: u64| {
        let at = usize::try_from(number).unwrap_or(0) * 3;
        names.get(at..at + 3).unwrap_or_default()
    };
    let weekday = name("ThuFriSatSunMonTueWed", days % 7);
    let month = name("JanFebMarAprMayJunJulAugSepOctNovDec", month - 1);
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

/// A part of an address without its escapes.
fn decoded(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let digits = piece.get(..2).unwrap_or_default();
        match u8::from_str_radix(digits, 16) {
            Ok(byte) => {
                bytes.push(byte);
                bytes.extend(piece.bytes().skip(2));
            }
            Err(_) => {
                bytes.push(b'%');
                bytes.extend(piece.bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

fn unescaped(text: &str) -> String {
    let text = text.replace("&quot;", "\"").replace("&apos;", "'");
    let text = text.replace("&gt;", ">").replace("&lt;", "<");
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(bucket: &Bucket, head: &str, body: &str) -> String {
        let answer = bucket.answer(format!("{head}\r\n\r\n{body}").as_bytes());
        String::from_utf8(answer).unwrap()
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(date(0, true), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(date(951_868_799, true), "Tue, 29 Feb 2000 23:59:59 GMT");
        assert_eq!(date(1_795_147_199, false), "2026-11-20T03:59:59.000Z");
    }

    #[test]
    fn puts_have_conditions() {
        let bucket = Bucket::default();
        let new = "PUT /b/k HTTP/1.1\r\nIf-None-Match: *";
        let first = ask(&bucket, new, "one");
        assert!(first.starts_with("HTTP/1.1 200"), "{first}");
        assert!(ask(&bucket, new, "two").starts_with("HTTP/1.1 412"));
        let tag = first
            .split("ETag: ")
            .nth(1)
            .unwrap()
            .lines()
            .next()
            .unwrap();
        let replace = format!("PUT /b/k HTTP/1.1\r\nIf-Match: {tag}");
        assert!(ask(&bucket, &replace, "two").starts_with("HTTP/1.1 200"));
        assert!(ask(&bucket, &replace, "three").starts_with("HTTP/1.1 412"));
        let copy = "PUT /b/other%20one HTTP/1.1\r\nx-amz-copy-source: /b/k";
        assert!(ask(&bucket, copy, "").contains("<CopyObjectResult>"));
        let part = ask(
            &bucket,
            "GET /b/other%20one HTTP/1.1\r\nRange: bytes=-2",
            "",
        );
        assert!(part.contains("Content-Range: bytes 1-2/3") && part.ends_with("wo"));
        let head = ask(&bucket, "HEAD /b/k HTTP/1.1", "");
        assert!(head.contains("Content-Length: 3") && head.ends_with("\r\n\r\n"));
        let delete = "<Delete><Object><Key>k</Key></Object></Delete>";
        ask(&bucket, "POST /b?delete HTTP/1.1", delete);
        assert!(ask(&bucket, "GET /b/k HTTP/1.1", "").starts_with("HTTP/1.1 404"));
    }

    #[test]
    fn listings_have_folders_and_pages() {
        let bucket = Bucket::default();
        for key in ["a/1", "a/2", "b", "c/d/e"] {
            ask(&bucket, &format!("PUT /x/{key} HTTP/1.1"), "");
        }
        let list = |query: &str| ask(&bucket, &format!("GET /x?list-type=2&{query} HTTP/1.1"), "");
        let keys = |text: &str| {
            let found = text.split("<Key>").skip(1);
            let found = found.map(|key| key.split('<').next().unwrap().to_owned());
            found.collect::<Vec<_>>()
        };
        assert_eq!(keys(&list("prefix=")), ["a/1", "a/2", "b", "c/d/e"]);
        let folders = list("prefix=&delimiter=%2F");
        assert_eq!(keys(&folders), ["b"]);
        assert!(folders.contains("<Prefix>a/</Prefix>") && folders.contains("<Prefix>c/</Prefix>"));
        assert_eq!(keys(&list("prefix=a%2F&delimiter=%2F")), ["a/1", "a/2"]);
        let first = list("prefix=&max-keys=2");
        assert!(first.contains("<NextContinuationToken>a/2<"), "{first}");
        assert_eq!(
            keys(&list("prefix=&continuation-token=a%2F2")),
            ["b", "c/d/e"]
        );
    }
}
