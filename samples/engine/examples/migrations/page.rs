//! The tables, as the page has them.

use netreel_sample_engine::Mode;

use super::{costs, orders};

/// Both tables, in Markdown.
pub fn tables() -> String {
    let mut text = String::from(
        "| mode | extra messages | extra bytes | B owns it | X has B's first UPDATE | without an owner | \
         two owners |\n|---|---|---|---|---|---|---|\n",
    );
    for mode in Mode::ALL {
        let cost = costs::of_migration(mode);
        let ms = |ticks: u64| match ticks {
            0 => "0".to_owned(),
            ticks => format!("{} ms", (ticks * 50).div_ceil(3)),
        };
        text += &format!(
            "| `{mode}` | {} | {} | {} | {} | {} | {} |\n",
            cost.messages,
            cost.bytes,
            ms(cost.owned_after),
            ms(cost.seen_after),
            ms(cost.without_owner),
            ms(cost.two_owners),
        );
    }
    text += "\n| mode |";
    for scene in orders::Scene::ALL {
        text += &format!(" {} |", scene.words());
    }
    text += " played by chance |\n|---|---|---|---|---|---|\n";
    for mode in Mode::ALL {
        text += &format!("| `{mode}` |");
        for scene in orders::Scene::ALL {
            let (tried, broken) = orders::tried(mode, scene);
            text += &format!(" {broken} of {tried} |");
        }
        let (tried, broken) = orders::by_chance(mode);
        text += &format!(" {broken} of {tried} |\n");
    }
    text
}
