//! Which messages tell of something that their sender did.

use netreel_wire::Role;

/// What messages say that tell of something which their sender did.
pub(super) const ACTS: [Role; 5] = [
    Role::Create,
    Role::Migrate,
    Role::MigrateOrder,
    Role::Destroy,
    Role::Disconnect,
];

/// Whether messages of a role tell of something that their sender did, or may, where they are put together.
pub(super) fn may_tell(role: Role) -> bool {
    role == Role::Fragment || ACTS.contains(&role)
}

/// Whether messages of this role change what a node believes of an object.
pub(crate) fn is_about_object(role: Role) -> bool {
    matches!(
        role,
        Role::Create | Role::Update | Role::Destroy | Role::Migrate | Role::MigrateOrder
    )
}
