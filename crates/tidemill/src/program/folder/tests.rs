//! Folders with settings, right and wrong.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::devices::SimDevice;

struct TestFolder(PathBuf);

impl TestFolder {
    fn new(name: &str, settings: Option<&str>) -> TestFolder {
        let name = format!("tidemill-folder-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("below.olg")).expect("a folder");
        for file in ["b.olg", "a.COM", "readme.md", "below.olg/c.olg"] {
            fs::write(folder.join(file), "").expect("written");
        }
        if let Some(text) = settings {
            fs::write(folder.join(SETTINGS), text).expect("written");
        }
        TestFolder(folder)
    }

    fn errors(&self) -> String {
        let wrong = Folder::read(&self.0);
        let lines = wrong.diagnostics.iter().map(|one| wrong.sources.render(one));
        lines.collect::<String>().replace(&format!("{}/", self.0.display()), "")
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The options of a verb, as words.
fn words(folder: &Folder, verb: &str) -> Vec<String> {
    let settings = folder.section(verb).into_iter().flat_map(|section| &section.settings);
    let words = settings.map(|Setting { name, value, .. }| match value {
        SettingValue::Flag(flag) => format!("{name} {flag}"),
        SettingValue::Words(words) => {
            let words: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
            format!("{name} {}", words.join("|"))
        }
    });
    words.collect()
}

#[test]
fn without_settings_it_is_all_sources_by_name() {
    let place = TestFolder::new("plain", None);
    let folder = Folder::read(&place.0);
    assert_eq!(folder.files, [place.0.join("a.COM"), place.0.join("b.olg")]);
    assert!(folder.sections.is_empty() && folder.diagnostics.is_empty());
}

#[test]
fn settings_name_files_and_have_options_by_verb() {
    let text = "[program]\nfiles = [\"b.olg\", \"below.olg/c.olg\"]\n\
        [run]\nnodes = 3\njson = true\nstats = false\nfact = [\"p(1)\", \"p(2)\"]\n\
        D = \"A=1\"\narguments = [\"x\", 7]\n[sim]\nloss = 0.5\n\
        [sim.devices]\neth0 = \"link:lan\"\n\"eth1.7\" = \"pcap:b.olg\"\n";
    let place = TestFolder::new("settings", Some(text));
    let folder = Folder::read(&place.0);
    assert!(folder.diagnostics.is_empty(), "{}", place.errors());
    assert_eq!(folder.files, [place.0.join("b.olg"), place.0.join("below.olg/c.olg")]);
    let expected =
        ["nodes 3", "json true", "stats false", "fact p(1)|p(2)", "D A=1", "arguments x|7"];
    assert_eq!(words(&folder, "run"), expected);
    assert_eq!(words(&folder, "sim"), ["loss 0.5"]);
    let nodes = &folder.section("run").expect("a section").settings[0];
    assert_eq!(folder.sources.slice(nodes.key), "nodes");
    assert_eq!(folder.sources.slice(nodes.span), "3");
    let capture = SimDevice::Capture(place.0.join("b.olg"));
    let link = SimDevice::Link("lan".to_owned());
    let devices = [("eth0".to_owned(), link), ("eth1.7".to_owned(), capture)];
    assert_eq!(folder.devices, devices.into());
}

#[test]
fn all_that_is_wrong_is_found_with_its_place() {
    let text = "nodes = 3\n[run]\nnodes = {}\n[simm]\nx = 1\n\
                [program]\nfile = []\nfiles = [\"bb.olg\", 7, \"readme.md\"]\n";
    let place = TestFolder::new("wrong", Some(text));
    assert_eq!(
        place.errors(),
        "tidemill.toml:1:1: error[settings]: `nodes` is outside of a section\n  \
         help: options are in the section of their verb: [run], [sim], [test] or [explore]\n\
         tidemill.toml:3:9: error[settings]: a table is no value of an option\n  \
         help: an option has a text, a number, true, or a list\n\
         tidemill.toml:4:2: error[settings]: there is no section [simm]\n  \
         help: is [sim] meant?\n\
         tidemill.toml:7:1: error[settings]: [program] has no key `file`\n  \
         help: is files meant?\n\
         tidemill.toml:8:11: error[settings]: there is no file `bb.olg`\n  \
         help: is b.olg meant?\n\
         tidemill.toml:8:20: error[settings]: a file is named by a text, not by a number\n  \
         help: write \"a.olg\"\n\
         tidemill.toml:8:24: error[settings]: the ending of `readme.md` names no kind of source\n  \
         help: rules are in files that end in `.olg`, components in `.com` and `.cl`, packet \
         graphs in `.flow`, schemas in `.proto` and `.fds`\n"
    );
    let place = TestFolder::new("empty", Some("[program]\nfiles = []\n"));
    assert!(place.errors().contains("the program has no files"), "{}", place.errors());
}

#[test]
fn devices_have_replacements_that_exist() {
    let text = "[sim.devices]\neth0 = \"lan\"\neth1 = \"pcap:b.pcap\"\n";
    let place = TestFolder::new("devices", Some(text));
    let errors = place.errors();
    let expected = "tidemill.toml:2:9: error[settings]: not a stand-in for a device\n  \
                    help: write \"link:NAME\" or \"pcap:FILE\"\n\
                    tidemill.toml:3:9: error[settings]: there is no file `b.pcap`\n";
    assert!(errors.starts_with(expected), "{errors}");
    let place = TestFolder::new("no-devices", Some("[sim]\ndevices = 3\n"));
    assert!(place.errors().contains("`devices` is a section, not a number"), "{}", place.errors());
}

#[test]
fn what_is_there_twice_names_both_places() {
    let place = TestFolder::new("twice", Some("[run]\nnodes = 1\nnodes = 2\n"));
    assert_eq!(
        place.errors(),
        "tidemill.toml:3:1: error[settings]: the key `nodes` is here twice\n  \
         tidemill.toml:2:1: note: it is also here\n"
    );
    let place = TestFolder::new("sections", Some("[run]\nnodes = 1\n[run]\nfor = 2\n"));
    let errors = place.errors();
    assert!(errors.contains("error[settings]: the section [run] is here twice"), "{errors}");
    assert!(errors.contains("tidemill.toml:1:"), "{errors}");
    let place = TestFolder::new("broken", Some("[run\n"));
    assert!(place.errors().starts_with("tidemill.toml:1:"), "{}", place.errors());
}
