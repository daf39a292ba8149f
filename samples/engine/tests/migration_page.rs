//! `docs/migration.md` has the figures that the example `migrations` prints.

#[path = "../examples/migrations/costs.rs"]
mod costs;
#[path = "../examples/migrations/orders.rs"]
mod orders;
#[path = "../examples/migrations/page.rs"]
mod page;

const PAGE: &str = "../../docs/migration.md";
const BEGIN: &str = "<!-- printed by the example -->\n";
const END: &str = "<!-- end -->\n";

/// `NETREEL_ANSWERS=write` writes them anew.
#[test]
fn the_page_has_the_figures_that_the_example_prints() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let kept = std::fs::read_to_string(&file).expect("the page is in docs");
    let (before, rest) = kept.split_once(BEGIN).expect("the figures begin");
    let (told, after) = rest.split_once(END).expect("the figures end");
    let tables = page::tables();
    if std::env::var("NETREEL_ANSWERS").is_ok_and(|how| how == "write") {
        let anew = format!("{before}{BEGIN}{tables}{END}{after}");
        std::fs::write(&file, anew).expect("written");
        return;
    }
    assert_eq!(told, tables, "write it anew with NETREEL_ANSWERS=write");
}
