//! The names of options.

/// Our own, with what their values are like.
const OWN: &[(&str, Option<&str>)] = &[
    ("ro", None),
    ("rw", None),
    ("allow_other", None),
    ("allow_root", None),
    ("uid", Some("UID")),
    ("gid", Some("GID")),
    ("file_mode", Some("OCTAL")),
    ("dir_mode", Some("OCTAL")),
    ("umask", Some("OCTAL")),
    ("view", Some("logical|raw")),
    ("layout", Some("flat|hive")),
    ("list", Some("N|all")),
    ("refresh", Some("SECONDS")),
    ("allow_path", Some("PREFIX")),
    ("cache_dir", Some("DIR")),
    ("cache_size", Some("SIZE")),
    ("staging_dir", Some("DIR")),
    ("timezone", Some("TZ")),
    ("log_file", Some("FILE")),
    ("no_passthrough", None),
    ("fast_open", None),
];

/// Options of fstab(5), mount(8) and FUSE that change nothing here: the mount has no devices, no set-uid
/// programs and its permissions checked by the kernel, always. Some are for mount(8) and systemd, who
/// pass them on.
const FSTAB: &[&str] = &[
    "async",
    "auto",
    "big_writes",
    "default_permissions",
    "defaults",
    "dev",
    "dirsync",
    "group",
    "iversion",
    "lazytime",
    "loud",
    "mand",
    "noauto",
    "nodev",
    "nofail",
    "noiversion",
    "nolazytime",
    "nomand",
    "nonempty",
    "norelatime",
    "nostrictatime",
    "nosuid",
    "nouser",
    "owner",
    "silent",
    "suid",
    "sync",
    "users",
    "_netdev",
    "_rnetdev",
];

/// The same with a value.
const FSTAB_VALUES: &[&str] = &["comment", "subtype"];

/// Options of object stores that do not begin with the name of one.
const STORE: &[&str] = &[
    "access_key",
    "access_key_id",
    "account_key",
    "account_name",
    "allow_http",
    "allow_invalid_certificates",
    "authority_id",
    "bearer_token",
    "bucket",
    "bucket_name",
    "client_id",
    "client_secret",
    "conditional_put",
    "connect_timeout",
    "container_name",
    "copy_if_not_exists",
    "default_region",
    "endpoint",
    "endpoint_url",
    "http1_only",
    "http2_only",
    "imdsv1_fallback",
    "metadata_endpoint",
    "object_store_sas_token",
    "proxy_url",
    "region",
    "request_payer",
    "s3_express",
    "sas_key",
    "sas_token",
    "secret_access_key",
    "secret_key",
    "service_account",
    "service_account_key",
    "service_account_path",
    "session_token",
    "skip_signature",
    "tenant_id",
    "timeout",
    "token",
    "unsigned_payload",
    "use_azure_cli",
    "use_emulator",
    "use_fabric_endpoint",
    "user_agent",
    "virtual_hosted_style_request",
];

const STORE_PREFIXES: &[&str] = &["aws_", "azure_", "google_"];

/// Whether an option is an object store's.
pub(super) fn is_for_the_store(option: &str) -> bool {
    STORE_PREFIXES
        .iter()
        .any(|prefix| option.starts_with(prefix))
        || STORE.contains(&option)
}

/// Whether an option is one that is accepted and changes nothing, and if so, whether it may have a
/// value. `x-...` and `X-...` are comments by convention; `user` is written by mount(8) with a name.
pub(super) fn fstab(option: &str) -> Option<bool> {
    if option.starts_with("x-") || option.starts_with("X-") || option == "user" {
        return Some(true);
    }
    if FSTAB_VALUES.contains(&option) {
        return Some(true);
    }
    FSTAB.contains(&option).then_some(false)
}

/// Our own options as a list for a message.
pub(super) fn listed() -> String {
    let words: Vec<String> = OWN
        .iter()
        .map(|(name, value)| match value {
            Some(value) => format!("{name}={value}"),
            None => (*name).to_owned(),
        })
        .collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::{MountSettings, OptionError, Unknown};
    use super::*;

    #[test]
    fn every_listed_option_is_accepted() {
        for (name, value) in OWN {
            let example = value.map(|value| match value {
                "UID" | "GID" | "SECONDS" | "SIZE" | "N|all" => "1",
                "OCTAL" => "0444",
                "TZ" => "UTC",
                "PREFIX" | "FILE" | "DIR" => "/x",
                choice => choice.split('|').next().unwrap_or(choice),
            });
            let mut settings = MountSettings::default();
            assert_eq!(settings.set(name, example), Ok(()), "{name}");
            if value.is_some() {
                let error = settings.set(name, None);
                assert!(
                    matches!(error, Err(OptionError::MissingValue { .. })),
                    "{name}"
                );
            }
        }
        for name in FSTAB {
            assert_eq!(
                MountSettings::default().take(name, Unknown::Refused),
                Ok(()),
                "{name}"
            );
        }
    }
}
