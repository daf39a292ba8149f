//! Rotations as the three smallest components of a unit quaternion.

use std::f64::consts::FRAC_1_SQRT_2;

/// In which order Euler angles turn: about the axes of the body, the first named first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axes([u8; 3]);

impl Axes {
    /// The six orders of three different axes, by their names.
    pub(crate) const ALL: [(&'static str, Axes); 6] = [
        ("xyz", Axes([0, 1, 2])),
        ("xzy", Axes([0, 2, 1])),
        ("yxz", Axes([1, 0, 2])),
        ("yzx", Axes([1, 2, 0])),
        ("zxy", Axes([2, 0, 1])),
        ("zyx", Axes([2, 1, 0])),
    ];

    /// `xyz`, `zyx`, ...
    pub fn name(self) -> &'static str {
        let found = Axes::ALL.iter().find(|(_, axes)| *axes == self);
        found.map_or("xyz", |(name, _)| name)
    }
}

impl Default for Axes {
    fn default() -> Axes {
        Axes([0, 1, 2])
    }
}

/// The quaternion x, y, z, w: two bits of `raw` say which component is the largest, the others
/// follow in order, each from -1/sqrt(2) to 1/sqrt(2) in this many bits. The largest is positive.
pub(crate) fn quaternion(raw: u64, bits: u8) -> [f64; 4] {
    let largest = (raw & 3) as usize;
    let mask = u64::MAX >> (64 - u32::from(bits.clamp(1, 20)));
    let mut shift = 2;
    let mut sum = 0.0;
    let mut parts = [0.0; 4];
    for (place, part) in parts.iter_mut().enumerate() {
        if place != largest {
            let step = (raw >> shift & mask) as f64 / mask as f64;
            *part = (2.0 * step - 1.0) * FRAC_1_SQRT_2;
            sum += *part * *part;
            shift += u32::from(bits);
        }
    }
    parts[largest] = (1.0 - sum).max(0.0).sqrt();
    parts
}

/// What a writer makes of a quaternion; `None` where it is not one of unit length, give or take a
/// hundredth.
pub(crate) fn raw(parts: [f64; 4], bits: u8) -> Option<u64> {
    let length = parts.iter().map(|part| part * part).sum::<f64>().sqrt();
    if !(0.99..=1.01).contains(&length) {
        return None;
    }
    let by_size = |a: &usize, b: &usize| parts[*a].abs().total_cmp(&parts[*b].abs());
    // Of equal ones the first.
    let largest = (0..4).rev().max_by(by_size)?;
    let sign = if parts[largest] < 0.0 { -1.0 } else { 1.0 };
    let mask = u64::MAX >> (64 - u32::from(bits.clamp(1, 20)));
    let mut raw = largest as u64;
    let mut shift = 2;
    for (place, part) in parts.iter().enumerate() {
        if place != largest {
            let step = (sign * part / length / FRAC_1_SQRT_2 + 1.0) / 2.0;
            raw |= ((step.clamp(0.0, 1.0) * mask as f64).round() as u64) << shift;
            shift += u32::from(bits);
        }
    }
    Some(raw)
}

/// The Euler angles of a quaternion in degrees, in the order of the axes: the rotation is the first
/// about the body's first axis, then about its second, then about its third (Tait-Bryan angles,
/// intrinsic). Where the second is a right angle, the third is 0.
pub fn euler_degrees(parts: [f64; 4], axes: Axes) -> [f64; 3] {
    let [i, j, k] = axes.0.map(usize::from);
    let even = (i + 1) % 3 == j;
    let sign = if even { 1.0 } else { -1.0 };
    let (w, a, b, c) = (parts[3], parts[i], parts[j], sign * parts[k]);
    // Rows and columns of the rotation matrix with the axes renamed to 0, 1, 2.
    let sine = (2.0 * (a * c + w * b)).clamp(-1.0, 1.0);
    let second = sine.asin();
    let (first, third) = if sine.abs() > 1.0 - 1e-9 {
        (
            (2.0 * (b * c + w * a)).atan2(1.0 - 2.0 * (a * a + c * c)),
            0.0,
        )
    } else {
        (
            (2.0 * (w * a - b * c)).atan2(1.0 - 2.0 * (a * a + b * b)),
            (2.0 * (w * c - a * b)).atan2(1.0 - 2.0 * (b * b + c * c)),
        )
    };
    [first, second, sign * third].map(f64::to_degrees)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn product(p: [f64; 4], q: [f64; 4]) -> [f64; 4] {
        let ([a, b, c, d], [e, f, g, h]) = (p, q);
        [
            d * e + a * h + b * g - c * f,
            d * f - a * g + b * h + c * e,
            d * g + a * f - b * e + c * h,
            d * h - a * e - b * f - c * g,
        ]
    }

    fn about(axis: u8, degrees: f64) -> [f64; 4] {
        let half = degrees.to_radians() / 2.0;
        let mut parts = [0.0, 0.0, 0.0, half.cos()];
        parts[usize::from(axis)] = half.sin();
        parts
    }

    /// Whether two quaternions are the same rotation.
    fn same(p: [f64; 4], q: [f64; 4], within: f64) -> bool {
        let dot: f64 = p.iter().zip(q).map(|(a, b)| a * b).sum();
        1.0 - dot.abs() < within
    }

    #[test]
    fn a_quarter_turn_about_an_axis_is_one_angle() {
        for (_, axes) in Axes::ALL {
            for axis in 0..3u8 {
                let angles = euler_degrees(about(axis, 30.0), axes);
                for (place, angle) in angles.into_iter().enumerate() {
                    let expected = if axes.0[place] == axis { 30.0 } else { 0.0 };
                    assert!(
                        (angle - expected).abs() < 1e-9,
                        "{axes:?} {axis} {angles:?}"
                    );
                }
            }
        }
    }

    proptest! {
        #[test]
        fn turning_by_the_angles_gives_the_rotation(
            first in -179.0..179.0, second in -90.0..=90.0, third in -179.0..179.0,
            (_, axes) in prop::sample::select(Axes::ALL.to_vec()),
        ) {
            let turn = |angles: [f64; 3]| {
                let [i, j, k] = axes.0;
                product(product(about(i, angles[0]), about(j, angles[1])), about(k, angles[2]))
            };
            let rotation = turn([first, second, third]);
            let again = turn(euler_degrees(rotation, axes));
            prop_assert!(same(rotation, again, 1e-7), "{:?}", euler_degrees(rotation, axes));
        }

        #[test]
        fn a_rotation_comes_back_within_its_bits(
            parts in [-1.0..1.0f64, -1.0..1.0, -1.0..1.0, -1.0..1.0], bits in 6..=20u8,
        ) {
            let length = parts.iter().map(|part| part * part).sum::<f64>().sqrt();
            prop_assume!(length > 0.1);
            let parts = parts.map(|part| part / length);
            let Some(raw) = raw(parts, bits) else {
                return Err(TestCaseError::fail("a unit quaternion has a raw integer"));
            };
            let step = 2.0 / f64::from(1 << bits);
            prop_assert!(same(parts, quaternion(raw, bits), 4.0 * step * step));
        }
    }
}
