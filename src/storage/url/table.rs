//! A table argument of the command line.

/// A table argument split into its store and the optional `@version` behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableUrl {
    /// The location, as given.
    pub location: String,
    /// The text behind the last `@`, without it, when the argument has the form `TABLE@vN` or
    /// `TABLE@TIME`.
    pub at: Option<String>,
}

impl TableUrl {
    /// Splits `TABLE`, `TABLE@v12` or `TABLE@2024-01-15`. The last `@` splits when a table stands
    /// before it and behind it `v` or `V` and digits, or what begins with a digit and has no `/`;
    /// any other belongs to the location: `s3://user@bucket/x`, `/data/me@home/t`. So does that of
    /// an Azure URL without a path, `abfss://container@1account.dfs.core.windows.net`. A directory
    /// whose name ends like a version can be given with a slash behind it.
    pub fn parse(argument: &str) -> TableUrl {
        match argument.rsplit_once('@') {
            Some((location, at))
                if !location.is_empty() && is_at(at) && !is_azure_container(location) =>
            {
                TableUrl {
                    location: location.to_owned(),
                    at: Some(at.to_owned()),
                }
            }
            _ => TableUrl {
                location: argument.to_owned(),
                at: None,
            },
        }
    }
}

/// Whether `text` names a version or begins as a time does.
fn is_at(text: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_version = text.strip_prefix(['v', 'V']).is_some_and(is_digits);
    let begins_as_time = text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains('/');
    is_version || begins_as_time
}

/// Whether `text` is an Azure URL up to the `@` between container and account.
fn is_azure_container(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let schemes = ["az", "azure", "adl", "abfs", "abfss"];
    schemes.contains(&scheme.to_ascii_lowercase().as_str()) && !rest.contains('/')
}
