//! Object stores, by URL and options.

use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use ::url::Url;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::list::PaginatedListStore;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ClientConfigKey, ObjectStore, ObjectStoreScheme};
use percent_encoding::percent_decode_str;

use super::super::object::ObjectStoreBackend;
use super::super::{StorageError, Store, StoreOptions};
use super::invalid;

/// The schemes of object stores, in lower case.
pub(super) const SCHEMES: [&str; 10] = [
    "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", "http", "https",
];

/// What all `memory:` URLs of the process share.
static MEMORY: LazyLock<Arc<InMemory>> = LazyLock::new(|| Arc::new(InMemory::new()));

/// A store, and its listing by pages where an offset and a delimiter work together in it.
type Opened = (Arc<dyn ObjectStore>, Option<Arc<dyn PaginatedListStore>>);

/// Refuses an option that no object store knows, which `object_store` itself would ignore. An
/// option of another kind of store than the table's passes: it may be for an allowed prefix.
pub(super) fn check_options(options: &StoreOptions) -> Result<(), StorageError> {
    let is_known = |key: &str| {
        AmazonS3ConfigKey::from_str(key).is_ok()
            || AzureConfigKey::from_str(key).is_ok()
            || GoogleConfigKey::from_str(key).is_ok()
            || ClientConfigKey::from_str(key).is_ok()
    };
    match options
        .pairs
        .iter()
        .find(|(key, _)| !is_known(&key.to_ascii_lowercase()))
    {
        None => Ok(()),
        Some((key, _)) => Err(StorageError::UnknownOption {
            option: key.clone(),
        }),
    }
}

/// Opens the `memory:` URL whose part behind the colon is `rest`.
pub(super) fn open_memory(location: &str, rest: &str) -> Result<Arc<dyn Store>, StorageError> {
    let decoded = percent_decode_str(rest).decode_utf8();
    let decoded = decoded.map_err(|error| invalid(location, error.to_string()))?;
    let prefix = prefix(location, &decoded)?;
    let root = format!("memory:///{prefix}");
    let store: Arc<dyn ObjectStore> = MEMORY.clone();
    let backend = ObjectStoreBackend::new(&root, &prefix, store, None);
    Ok(Arc::new(backend.in_process()))
}

/// Opens a URL whose scheme is one of [`SCHEMES`].
pub(super) fn open(location: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StorageError> {
    let malformed = |error: &dyn std::error::Error| {
        let error = chain(error);
        invalid(
            location,
            format!("write a URL as in s3://BUCKET/PATH ({error})"),
        )
    };
    let mut url = Url::parse(location).map_err(|error| malformed(&error))?;
    if !location.contains("://") {
        return Err(invalid(
            location,
            "two slashes stand before the bucket, container or host, as in s3://BUCKET/PATH"
                .to_owned(),
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid(
            location,
            "a table's URL has no query and no fragment; write ? as %3F and # as %23".to_owned(),
        ));
    }
    if url.password().is_some() {
        return Err(invalid(
            url.host_str().unwrap_or_default(),
            "a URL holds no password; give credentials by options or the environment".to_owned(),
        ));
    }
    // As Spark does with a path: slashes that follow each other are one.
    let path: Vec<&str> = url
        .path()
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    let path = format!("/{}", path.join("/"));
    url.set_path(&path);

    let (scheme, prefix) = ObjectStoreScheme::parse(&url)
        .map_err(|error| malformed(&object_store::Error::from(error)))?;
    let opened = build(&url, &scheme, &settings(&scheme, options));
    let (store, pages) = opened.map_err(|error| {
        let mut said = chain(&error);
        if scheme == ObjectStoreScheme::MicrosoftAzure && said.contains("Account must be specified")
        {
            said.push_str("; set AZURE_STORAGE_ACCOUNT_NAME, or give -o account_name=NAME");
        }
        invalid(location, said)
    })?;
    let root = location.trim_end_matches('/');
    Ok(Arc::new(ObjectStoreBackend::new(
        root, &prefix, store, pages,
    )))
}

/// Keys in lower case and values for a store: those of the environment first, so that what follows
/// wins.
fn settings(scheme: &ObjectStoreScheme, options: &StoreOptions) -> Vec<(String, String)> {
    let (prefix, others): (&str, &[(&str, &str)]) = match scheme {
        ObjectStoreScheme::AmazonS3 => ("AWS_", &[]),
        ObjectStoreScheme::MicrosoftAzure => {
            ("AZURE_", &[("IDENTITY_ENDPOINT", "azure_msi_endpoint")])
        }
        ObjectStoreScheme::GoogleCloudStorage => {
            ("GOOGLE_", &[("SERVICE_ACCOUNT", "google_service_account")])
        }
        _ => ("", &[]),
    };
    let mut settings = Vec::new();
    for (variable, key) in others {
        if let Ok(value) = std::env::var(variable) {
            settings.push(((*key).to_owned(), value));
        }
    }
    let variables = std::env::vars_os().filter_map(|(key, value)| {
        let (key, value) = (key.into_string().ok()?, value.into_string().ok()?);
        (!prefix.is_empty() && key.starts_with(prefix)).then(|| (key.to_ascii_lowercase(), value))
    });
    settings.extend(variables);
    let given = options.pairs.iter();
    settings.extend(given.map(|(key, value)| (key.to_ascii_lowercase(), value.clone())));
    // Who writes http: means it; `allow_http` behind it can still say no.
    let is_store = |key: &str| {
        (key.contains("endpoint") || key.contains("base_url"))
            && !key.contains("metadata")
            && !key.contains("msi")
    };
    if settings
        .iter()
        .any(|(key, value)| is_store(key) && value.starts_with("http://"))
    {
        settings.insert(0, ("allow_http".to_owned(), "true".to_owned()));
    }
    settings
}

/// Folds the settings that a builder knows into it; the others are another store's.
macro_rules! configured {
    ($builder:expr, $settings:expr) => {
        $settings
            .iter()
            .fold($builder, |builder, (key, value)| match key.parse() {
                Ok(key) => builder.with_config(key, value),
                Err(_) => builder,
            })
    };
}

fn build(
    url: &Url,
    scheme: &ObjectStoreScheme,
    settings: &[(String, String)],
) -> Result<Opened, object_store::Error> {
    match scheme {
        ObjectStoreScheme::AmazonS3 => {
            let builder = AmazonS3Builder::new().with_url(url.as_str());
            let store: AmazonS3 = configured!(builder, settings).build()?;
            let store = Arc::new(store);
            // Directory buckets know no offset.
            let is_express = url.host_str().is_some_and(|host| host.ends_with("--x-s3"));
            let pages = (!is_express).then(|| store.clone() as Arc<dyn PaginatedListStore>);
            Ok((store, pages))
        }
        ObjectStoreScheme::MicrosoftAzure => {
            let builder = MicrosoftAzureBuilder::new().with_url(url.as_str());
            let builder = configured!(builder, settings);
            // The emulator ignores an offset.
            let emulated = builder.get_config_value(&AzureConfigKey::UseEmulator);
            let is_emulated = emulated.is_some_and(|value| value.eq_ignore_ascii_case("true"));
            let store = Arc::new(builder.build()?);
            let pages = (!is_emulated).then(|| store.clone() as Arc<dyn PaginatedListStore>);
            Ok((store, pages))
        }
        ObjectStoreScheme::GoogleCloudStorage => {
            let builder = GoogleCloudStorageBuilder::new().with_url(url.as_str());
            let store = Arc::new(configured!(builder, settings).build()?);
            Ok((store.clone(), Some(store)))
        }
        _ => {
            // Who writes http: means it.
            let allow = (
                "allow_http".to_owned(),
                (url.scheme() == "http").to_string(),
            );
            let settings = std::iter::once(allow).chain(settings.iter().cloned());
            let (store, _) = object_store::parse_url_opts(url, settings)?;
            Ok((Arc::from(store), None))
        }
    }
}

/// The key prefix that a decoded path stands for.
fn prefix(location: &str, path: &str) -> Result<Path, StorageError> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    Path::parse(parts.join("/")).map_err(|error| invalid(location, error.to_string()))
}

/// An error with its causes, which `object_store` leaves out of its own text in places.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}
