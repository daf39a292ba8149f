//! What frames of the whole window consist of: triangles, not time.

#[path = "../model/tests/fixture/mod.rs"]
mod fixture;

use egui::epaint::Primitive;
use netreel_inspector::{Answer, Command, Inspector, Model, Stage, Staged, Workspace};

const SIZE: (u32, u32) = (1600, 1000);
/// More corners than this take longer to lay out than a frame has.
const CORNERS_MAX: usize = 160_000;

fn open(packets: usize, workspace: Workspace) -> Inspector {
    let model = || {
        let (session, history) = fixture::long(packets);
        let mut model = Model::new(session, history);
        model.finish();
        model
    };
    let mut inspector = Inspector::new(model(), workspace);
    if workspace == Workspace::Compare {
        inspector.hear(Answer::Compared {
            model: Box::new(model()),
            title: "the same".to_owned(),
        });
    }
    inspector
}

/// The last of a few frames.
fn settle(inspector: &mut Inspector, stage: &mut Stage) -> Staged {
    let mut frame = || {
        let mut staged = stage.frame(Vec::new(), &mut |ui| inspector.show(ui));
        staged.textures.clear();
        inspector.model_mut().finish_beside();
        staged
    };
    for _ in 0..6 {
        frame();
    }
    frame()
}

fn corners(staged: &Staged) -> usize {
    let meshes = staged.primitives.iter().map(|it| match &it.primitive {
        Primitive::Mesh(mesh) => mesh.vertices.len(),
        Primitive::Callback(_) => 0,
    });
    meshes.sum()
}

/// Corners of frames of a session in a workspace: of all of it, of a second, of a millisecond.
fn frames(packets: usize, workspace: Workspace) -> [usize; 3] {
    let mut inspector = open(packets, workspace);
    [None, Some(500..1_500), Some(500..501)].map(|visible| {
        inspector.model_mut().apply(match visible {
            Some(range) => Command::Show(fixture::ms(range)),
            None => Command::ShowAll,
        });
        let staged = settle(&mut inspector, &mut Stage::new(SIZE.0, SIZE.1));
        corners(&staged)
    })
}

#[test]
fn a_frame_is_no_larger_in_a_larger_session() {
    for (name, workspace) in Workspace::ALL {
        let [small, large] = [60_000, 120_000].map(|packets| frames(packets, workspace));
        for (small, large) in small.into_iter().zip(large) {
            let said = format!("{name}: {small} corners, then {large}");
            assert!(large < CORNERS_MAX, "{said}");
            // A pyramid shows from an eighth of what fits to all of it.
            assert!(large < small + small / 3 + 24_000, "{said}");
        }
    }
}

#[test]
fn a_window_that_nobody_touches_draws_no_further_frame() {
    for (name, workspace) in Workspace::ALL {
        let mut inspector = open(20_000, workspace);
        let staged = settle(&mut inspector, &mut Stage::new(SIZE.0, SIZE.1));
        assert_eq!(staged.again, None, "{name}");
    }
}

#[test]
fn who_lets_the_cursor_go_on_has_further_frames() {
    let mut inspector = open(20_000, Workspace::State);
    let mut stage = Stage::new(SIZE.0, SIZE.1);
    settle(&mut inspector, &mut stage);
    let key = egui::Event::Key {
        key: egui::Key::Space,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers: egui::Modifiers::NONE,
    };
    let mut staged = stage.frame(vec![key], &mut |ui| inspector.show(ui));
    staged.textures.clear();
    assert_eq!(staged.again, Some(std::time::Duration::ZERO));
}
