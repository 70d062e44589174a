use super::*;

fn parsed(text: &str) -> MountSettings {
    let mut settings = MountSettings::default();
    settings
        .take(text, Unknown::Refused)
        .expect("all options are right");
    settings
}

fn error(text: &str) -> OptionError {
    MountSettings::default()
        .take(text, Unknown::Refused)
        .expect_err("an option is wrong")
}

#[test]
fn commas_and_backslashes_are_escaped() {
    assert_eq!(split("a,b=c"), ["a", "b=c"]);
    assert_eq!(
        split(r"a=1\,2,b=3\\,c=\d%20,,"),
        ["a=1,2", r"b=3\", r"c=\d%20"]
    );
    assert_eq!(split(""), Vec::<String>::new());
    assert_eq!(split("\\"), ["\\"]);
}

#[test]
fn every_option_has_its_effect() {
    let settings = parsed(
        "allow_other,view=raw,layout=hive,list=50,refresh=0.5,allow_path=/x,allow_path=s3://b/y,\
         cache_dir=/var/c,cache_size=1.5G,\
         timezone=Europe/Berlin,uid=1000,gid=100,log_file=/var/log/x\\,y,umask=027,\
         file_mode=0440,dir_mode=550,no_passthrough,fast_open,noexec,noatime,nodiratime,fsname=orders",
    );
    let expected = MountSettings {
        access: Access::Everyone,
        uid: Some(1000),
        gid: Some(100),
        file_mode: Some(0o440),
        dir_mode: Some(0o550),
        umask: 0o027,
        view: View::Raw,
        layout: Layout::Hive,
        list_limit: Some(50),
        refresh: Duration::from_millis(500),
        allow_paths: vec!["/x".into(), "s3://b/y".into()],
        cache_dir: Some("/var/c".into()),
        cache_size: 3 << 29,
        timezone: TimeZone::get("Europe/Berlin").expect("tzdata is installed"),
        log_file: Some("/var/log/x,y".into()),
        passthrough: false,
        fast_open: true,
        no_exec: true,
        no_atime: true,
        no_diratime: true,
        fs_name: Some("orders".into()),
        staging_dir: None,
        read_only: false,
        store: StoreOptions::default(),
    };
    assert_eq!(settings, expected);
    assert_eq!(parsed("list=all").list_limit, None);
    assert_eq!(parsed("allow_root").access, Access::OwnerAndRoot);
    assert_eq!(parsed("allow-root").access, Access::OwnerAndRoot);
}

/// G20 (rclone#5808, s3fs#2219): rows of fstab as people have them.
#[test]
fn g20_rows_of_fstab_are_accepted() {
    let rows = [
        "defaults",
        "rw,_netdev,nofail,x-systemd.automount",
        "ro,noauto,user,x-systemd.idle-timeout=60,x-systemd.device-timeout=10s",
        "noauto,users,owner,group,nouser,comment=our lake,x-gvfs-show,x-gvfs-name=Lake",
        "rw,nosuid,nodev,noexec,noatime,user=alice",
        "dev,suid,exec,async,atime,relatime,diratime,silent,iversion,lazytime,strictatime",
        "allow_other,default_permissions,big_writes,fsname=lake,subtype=deltafs,X-mount.mkdir=0755",
        "_netdev,allow_other,uid=1000,gid=1000,aws_region=eu-central-1,endpoint=http://h:9000,\
         allow_http=true,azure_storage_account_name=a,google_service_account=/etc/k.json",
    ];
    for row in rows {
        assert_eq!(
            MountSettings::default().take(row, Unknown::Refused),
            Ok(()),
            "{row}"
        );
    }
    assert!(!parsed("rw").read_only);
    assert!(!parsed("ro,rw").read_only);
    assert!(parsed("rw,ro").read_only);
    assert!(!parsed("noexec,exec").no_exec);
}

#[test]
fn options_of_stores_are_passed_on() {
    let settings = parsed(r"aws_region=eu-west-1,region=a\,b,allow_http=true");
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(
        settings.store.pairs,
        [
            pair("aws_region", "eu-west-1"),
            pair("region", "a,b"),
            pair("allow_http", "true")
        ]
    );
    assert!(matches!(
        error("aws_region"),
        OptionError::MissingValue { .. }
    ));
}

#[test]
fn an_unknown_option_is_named_and_the_known_are_listed() {
    let unknown = error("ro,stage_dir=/x");
    assert_eq!(
        unknown,
        OptionError::Unknown {
            option: "stage_dir".into()
        }
    );
    let message = unknown.to_string();
    assert!(message.contains("\"stage_dir\""), "{message}");
    assert!(message.contains("view=logical|raw"), "{message}");
    let mut sloppy = MountSettings::default();
    assert_eq!(
        sloppy.take("nonsense,uid=5,more=1", Unknown::Ignored),
        Ok(())
    );
    assert_eq!(sloppy.uid, Some(5));
}

#[test]
fn wrong_values_say_what_is_right() {
    let bad = |text: &str| match error(text) {
        OptionError::BadValue { option, found, .. } => (option, found),
        other => panic!("{text}: {other:?}"),
    };
    for text in [
        "uid=root",
        "uid=-1",
        "gid=4294967296",
        "umask=8",
        "file_mode=1777",
        "dir_mode=+7",
        "view=both",
        "layout=deep",
        "list=0",
        "list=-1",
        "list=many",
        "refresh=-1",
        "refresh=nan",
        "refresh=1e9",
        "timezone=Mars/Olympus",
    ] {
        let (option, found) = bad(text);
        assert_eq!(format!("{option}={found}"), text);
    }
    assert!(matches!(error("view"), OptionError::MissingValue { .. }));
    assert!(matches!(error("view="), OptionError::MissingValue { .. }));
    assert!(matches!(error("ro=1"), OptionError::UnexpectedValue { .. }));
    assert!(matches!(
        error("nofail=1"),
        OptionError::UnexpectedValue { .. }
    ));
    assert_eq!(error("remount,ro"), OptionError::Remount);
    assert!(matches!(
        error("allow_other,allow_root"),
        OptionError::Exclusive { .. }
    ));
}

#[test]
fn relative_paths_become_absolute() {
    let here = std::env::current_dir().expect("there is a working directory");
    let settings = parsed("allow_path=data/x,log_file=log");
    assert_eq!(
        settings.allow_paths,
        [here.join("data/x").to_str().expect("UTF-8")]
    );
    assert_eq!(settings.log_file, Some(here.join("log")));
}
