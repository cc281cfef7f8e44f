//! The client of all network backends. It checks XML responses before the backend parses them.
//!
//! Every member of a listing is optional. An error page of a proxy, or a truncated document, would therefore be parsed as an empty listing, or as
//! complete success of a request that removes objects. So a response that is not the expected, complete document counts as a failed request, which is
//! retried.

use async_trait::async_trait;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};

/// Creates clients that check responses.
#[derive(Debug, Default)]
pub(crate) struct XmlConnector(ReqwestConnector);

impl HttpConnector for XmlConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        crate::tls::use_ring();
        Ok(HttpClient::new(XmlClient(self.0.connect(options)?)))
    }
}

#[derive(Debug)]
struct XmlClient(HttpClient);

#[async_trait]
impl HttpService for XmlClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let query = request.uri().query().unwrap_or_default();
        let expected = expected(request.method().as_str(), query);
        let answer = self.0.execute(request).await?;
        let Some(root) = expected.filter(|_| answer.status().is_success()) else {
            return Ok(answer);
        };
        let (parts, body) = answer.into_parts();
        let bytes = body.bytes().await?;
        match check(root, &bytes) {
            Ok(()) => Ok(HttpResponse::from_parts(parts, bytes.into())),
            Err(what) => Err(HttpError::new(
                HttpErrorKind::Interrupted,
                std::io::Error::new(std::io::ErrorKind::InvalidData, what),
            )),
        }
    }
}

/// The root element of the expected response; `None` if the response is not XML.
fn expected(method: &str, query: &str) -> Option<&'static str> {
    let has = |name: &str| {
        let mut pairs = query.split('&');
        pairs.any(|pair| pair == name || pair.split_once('=').is_some_and(|(key, _)| key == name))
    };
    match method {
        // S3 and Google.
        "GET" if has("list-type") => Some("ListBucketResult"),
        "GET" if query.split('&').any(|pair| pair == "comp=list") => Some("EnumerationResults"),
        "POST" if has("delete") => Some("DeleteResult"),
        // WebDAV.
        "PROPFIND" => Some("multistatus"),
        _ => None,
    }
}

/// Checks that these bytes are one complete XML document with this root element.
fn check(root: &str, bytes: &[u8]) -> Result<(), String> {
    let wrong = |found: &str| Err(format!("the response is {found}, expected <{root}>"));
    let Ok(text) = std::str::from_utf8(bytes) else {
        return wrong("not UTF-8");
    };
    let mut rest = text.trim_start_matches('\u{feff}').trim();
    while let Some(inside) = rest
        .strip_prefix("<?")
        .or_else(|| rest.strip_prefix("<!--"))
    {
        let end = if rest.starts_with("<?") { "?>" } else { "-->" };
        match inside.split_once(end) {
            Some((_, behind)) => rest = behind.trim_start(),
            None => return wrong("cut short"),
        }
    }
    if rest.is_empty() {
        return wrong("empty");
    }
    let name = rest.strip_prefix('<').unwrap_or_default();
    let end = name.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/'));
    let name = name.get(..end.unwrap_or(0)).unwrap_or_default();
    let local = name.rsplit(':').next().unwrap_or_default();
    if local != root {
        let start: String = rest.chars().take(40).collect();
        return wrong(&format!("{start:?}"));
    }
    let alone = rest.ends_with("/>") && rest.matches('<').count() == 1;
    let ended = rest
        .strip_suffix('>')
        .and_then(|rest| rest.trim_end().strip_suffix(name))
        .is_some_and(|rest| rest.ends_with("</"));
    if !alone && !ended {
        return wrong("cut short");
    }
    // The client takes a page without a token for the last one. Keys cannot imitate these elements, because `<` is escaped in them.
    let part = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        let (value, _) = rest.split_once("</")?;
        Some(value.trim())
    };
    let no_token = part("NextContinuationToken").is_none_or(str::is_empty);
    if root == "ListBucketResult" && part("IsTruncated") == Some("true") && no_token {
        let found = "a page that is not the last one and has no NextContinuationToken (the server may support only version 1 of listings)";
        return Err(format!("the response is {found}, expected one"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{check, expected};

    #[test]
    fn documents_are_told_from_pages_errors_and_halves() {
        let list = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
                    <Name>data</Name><KeyCount>0</KeyCount></ListBucketResult>\n";
        for right in [
            list,
            "<ListBucketResult/>",
            "<ListBucketResult xmlns='x' />",
            "\u{feff}<?xml version='1.0'?><!-- one --><ListBucketResult></ListBucketResult >",
        ] {
            assert_eq!(
                check("ListBucketResult", right.as_bytes()),
                Ok(()),
                "{right}"
            );
        }
        let halves = (0..list.trim_end().len()).map(|length| &list[..length]);
        let others = [
            "<html><body>503, please wait</body></html>",
            "<!DOCTYPE html><html></html>",
            "{\"error\": 1}",
            "<Error><Code>SlowDown</Code></Error>",
            "<ListBucketResult/",
            "<ListBucketResult><Contents/>",
            "<ListBucketResultV2></ListBucketResultV2>",
            "ListBucketResult",
        ];
        for wrong in halves.chain(others) {
            let told = check("ListBucketResult", wrong.as_bytes()).unwrap_err();
            assert!(told.contains("expected <ListBucketResult>"), "{told}");
            assert!(told.len() < 200);
        }
        let page = |token: &str| {
            format!("<ListBucketResult><IsTruncated>true</IsTruncated>{token}</ListBucketResult>")
        };
        for token in [
            "",
            "<NextContinuationToken/>",
            "<NextContinuationToken></NextContinuationToken>",
            "<NextMarker>a/b</NextMarker>",
        ] {
            let told = check("ListBucketResult", page(token).as_bytes()).unwrap_err();
            assert!(told.contains("NextContinuationToken"), "{told}");
        }
        let token = "<NextContinuationToken>1a==</NextContinuationToken>";
        assert_eq!(check("ListBucketResult", page(token).as_bytes()), Ok(()));
        assert!(check("ListBucketResult", &[0xff, 0xfe]).is_err());
        let dav = "<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\"></D:multistatus>";
        assert_eq!(check("multistatus", dav.as_bytes()), Ok(()));
    }

    #[test]
    fn only_answers_in_xml_are_looked_at() {
        let list = Some("ListBucketResult");
        assert_eq!(expected("GET", "list-type=2&prefix=a%2F"), list);
        assert_eq!(expected("GET", "prefix=a&list-type=2"), list);
        assert_eq!(
            expected("GET", "restype=container&comp=list"),
            Some("EnumerationResults")
        );
        assert_eq!(expected("POST", "delete"), Some("DeleteResult"));
        assert_eq!(expected("POST", "delete="), Some("DeleteResult"));
        for (method, query) in [
            ("GET", ""),
            ("PUT", "list-type=2"),
            ("POST", "uploads"),
            ("GET", "x=list-type"),
        ] {
            assert_eq!(expected(method, query), None, "{method} {query}");
        }
    }
}
