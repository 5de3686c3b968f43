//! The common layout of `.proto` texts: as in `tests/proto/format`, without a change of meaning.

use std::path::Path;

use tidemill_diag::{FileId, Sources};
use tidemill_support::cases::{self, Unpacked};
use tidemill_support::golden;
use tidemill_wire::proto::{Folders, Texts, compile, format};

const FILE: FileId = FileId(0);

#[test]
fn the_layout() {
    golden::check_cases("tests/proto/format", 10, |case, _, _| {
        let found = format(FILE, &case.source).unwrap_or_else(|errors| {
            let mut sources = Sources::new();
            sources.add(case.name.as_str(), case.source.as_str());
            errors.iter().map(|error| sources.render(error)).collect()
        });
        case.set_section("out", found);
    });
}

/// Each text of the corpus has the same descriptor when it is formatted.
#[test]
fn the_meaning_stays_and_the_layout_is_final() {
    let files = cases::folder("tests/proto/right", 100);
    let folder = Unpacked::new("format", files.iter().flat_map(|(_, cases)| cases));
    let set_of = |root: &Path, name: &str| {
        compile(&[name], &Folders { roots: vec![root.to_owned()] })
            .schema
            .map(|schema| schema.descriptor_set())
    };
    let (mut compared, mut changed) = (0, 0);
    for case in files.iter().flat_map(|(_, cases)| cases) {
        let path = folder.path().join(&case.name);
        let text = std::fs::read_to_string(&path).expect("the text of the case");
        let before = set_of(folder.path(), &case.name);
        let once = format(FILE, &text).unwrap_or_else(|found| panic!("{}: {found:?}", case.name));
        assert_eq!(format(FILE, &once).as_ref(), Ok(&once), "{} changes again", case.name);
        std::fs::write(&path, &once).expect("it is written");
        assert_eq!(set_of(folder.path(), &case.name), before, "{}:\n{once}", case.name);
        compared += 1;
        changed += usize::from(once != text);
    }
    assert!(compared > 100 && changed > 10, "{compared} {changed}");
}

/// Comments and white space in all places change neither errors nor the meaning.
#[test]
fn comments_stay_where_they_are() {
    let text =
        "/* a */syntax/* b */=\"proto3\"/* c */;// d\nmessage/*e*/M{// f\n//g\nint32 a=1;/*h*/}//i";
    let once = format(FILE, text).expect("no errors");
    for letter in 'a'..='i' {
        let found = once.matches(letter).count() > 0;
        assert!(found, "{letter} is missing:\n{once}");
    }
    let set = |text: &str| {
        compile(&["a.proto"], &Texts::from_iter([("a.proto", text)]))
            .schema
            .map(|it| it.descriptor_set())
    };
    assert!(set(text).is_some());
    assert_eq!(set(&once), set(text), "{once}");
}
