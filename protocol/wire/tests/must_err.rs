//! Wrong wires and what is said of them. Every file in `must_err/` has a snapshot in `snapshots/`.

use std::path::Path;

use netreel_wire::Wire;

#[test]
fn every_wrong_wire_is_refused_with_its_message() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/must_err");
    let mut names: Vec<String> = std::fs::read_dir(folder.clone())
        .expect("the folder of wrong wires")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    assert!(names.len() > 40, "the folder has its wires");
    for name in names {
        let text = std::fs::read_to_string(folder.join(&name)).expect("a wire's text");
        let Err(error) = Wire::compile(&name, &text) else {
            panic!("{name} compiles")
        };
        assert!(
            !error.reports().is_empty(),
            "{name} is refused with a report"
        );
        for report in error.reports() {
            assert!(
                text.get(report.span.clone()).is_some(),
                "{name}: {report:?}"
            );
        }
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| {
            insta::assert_snapshot!(name.trim_end_matches(".wire"), error.to_string());
        });
    }
}

#[test]
fn a_report_says_where_in_lines_and_columns() {
    let text = "wire w { version = 1; byte_order = big; bit_order = msb; root = P; }\n\
                struct P {\n    größe: u8;\n}\n";
    let error = Wire::compile("w.wire", text).expect_err("an umlaut is no letter of a name");
    let report = &error.reports()[0];
    assert_eq!((report.line, report.column), (3, 7));
    assert_eq!(error.file(), "w.wire");
    assert!(error.to_string().contains("w.wire:3:7"), "{error}");
}

#[test]
fn a_text_that_is_too_long_is_refused() {
    let text = " ".repeat((1 << 20) + 1);
    let error = Wire::compile("long.wire", &text).expect_err("a text of more than 1 MiB");
    assert_eq!(
        error.reports()[0].message,
        "the file has more than 1048576 bytes"
    );
}

#[test]
fn a_field_called_like_a_word_of_the_language_is_told_another_name() {
    for word in ["if", "switch", "default", "else", "true"] {
        let text = format!(
            "wire w {{ byte_order = little; bit_order = lsb; root = P; }} struct P {{ {word}: u8; }}"
        );
        let error = Wire::compile("words.wire", &text).expect_err("a mistake");
        let help = format!("`{word}` cannot be a name; `{word}_` can");
        assert!(error.to_string().contains(&help), "{error}");
    }
}
