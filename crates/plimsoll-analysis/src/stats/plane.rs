//! A plane through points over two variables, with slopes whose intervals hold where neighbours are alike.

use std::f64::consts::PI;

use super::exact::student_quantile;

/// Parameters of the plane: its height and two slopes.
const PARAMETERS: usize = 3;

/// y = height + a · x₁ + b · x₂ by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegressionPlane {
    /// The slopes; `None` along a variable that does not vary.
    pub slopes: [Option<Slope>; 2],
    /// Correlation of the two variables; 0 where one does not vary.
    pub correlation: f64,
    means: [f64; 3],
}

/// A slope with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Increase of y for each x.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
    freedom: f64,
}

impl Slope {
    /// Its two-sided interval of this `confidence`, with Student's t.
    ///
    /// # Panics
    /// When `confidence` is not between 0 and 1.
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        assert!(
            confidence > 0.0 && confidence < 1.0,
            "confidence {confidence}"
        );
        let quantile = student_quantile(self.freedom, confidence).unwrap_or(f64::INFINITY);
        let half = quantile * self.error;
        (self.value - half, self.value + half)
    }
}

impl RegressionPlane {
    /// The means of the two variables.
    pub fn middle(&self) -> [f64; 2] {
        [self.means[0], self.means[1]]
    }

    /// Its height over a point.
    pub fn height(&self, x: [f64; 2]) -> f64 {
        let along = |index: usize| {
            let slope = self.slopes[index].map_or(0.0, |slope| slope.value);
            slope * (x[index] - self.means[index])
        };
        self.means[2] + along(0) + along(1)
    }
}

/// The plane through points (x₁, x₂, y) in the order of time; `None` for fewer than four, where no variable varies, or
/// where one determines the other.
///
/// The errors of the slopes come from the equally weighted cosines of Lazarus, Lewis, Stock and Watson (Journal of Business
/// and Economic Statistics 36, 2018): as many of the lowest frequencies as Student's t has degrees of freedom, and as there are slopes.
pub fn plane_through(points: &[[f64; 3]]) -> Option<RegressionPlane> {
    let count = points.len() as f64;
    if points.len() <= PARAMETERS {
        return None;
    }
    let means = [0, 1, 2].map(|index| points.iter().map(|point| point[index]).sum::<f64>() / count);
    let centred: Vec<[f64; 3]> = points
        .iter()
        .map(|point| [0, 1, 2].map(|index| point[index] - means[index]))
        .collect();
    let varies =
        [0, 1].map(|index| product(&centred, index, index) > 1e-12 * count * means[index].powi(2));
    if !varies[0] && !varies[1] {
        return None;
    }
    // A variable that does not vary has no slope: it is left out.
    let spread = [0, 1].map(|index| {
        if varies[index] {
            product(&centred, index, index)
        } else {
            1.0
        }
    });
    let mixed = if varies[0] && varies[1] {
        product(&centred, 0, 1)
    } else {
        0.0
    };
    let determinant = spread[0] * spread[1] - mixed * mixed;
    if determinant <= 1e-9 * spread[0] * spread[1] {
        return None;
    }
    let inverse = [
        [spread[1] / determinant, -mixed / determinant],
        [-mixed / determinant, spread[0] / determinant],
    ];
    let with_y = [0, 1].map(|index| {
        if varies[index] {
            product(&centred, index, 2)
        } else {
            0.0
        }
    });
    let values = inverse.map(|row| row[0] * with_y[0] + row[1] * with_y[1]);
    let scores = scores(&centred, values, varies);
    let freedom = freedom(points.len());
    let slopes_fitted = u32::from(varies[0]) + u32::from(varies[1]);
    let middle = covariance(&scores, freedom, slopes_fitted);
    let left = count - PARAMETERS as f64;
    let slopes = [0, 1].map(|index| {
        let row = inverse[index];
        let mut variance = 0.0;
        for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            variance += row[a] * middle[a][b] * row[b];
        }
        varies[index].then(|| Slope {
            value: values[index],
            error: (variance * count / left).max(0.0).sqrt(),
            freedom: f64::from(freedom),
        })
    });
    Some(RegressionPlane {
        slopes,
        correlation: mixed / (spread[0] * spread[1]).sqrt(),
        means,
    })
}

/// The sum of the products of two coordinates.
fn product(points: &[[f64; 3]], a: usize, b: usize) -> f64 {
    points.iter().map(|point| point[a] * point[b]).sum()
}

/// What the plane does not explain of each point, times where the point lies.
fn scores(points: &[[f64; 3]], slopes: [f64; 2], varies: [bool; 2]) -> Vec<[f64; 2]> {
    let all = points.iter().map(|point| {
        let left = point[2] - slopes[0] * point[0] - slopes[1] * point[1];
        [0, 1].map(|index| {
            if varies[index] {
                left * point[index]
            } else {
                0.0
            }
        })
    });
    all.collect()
}

/// The covariance of the sum of scores whose neighbours are alike, from their lowest frequencies: one for each degree of
/// freedom, and one for each slope, since what a slope explains is missing in them.
fn covariance(scores: &[[f64; 2]], freedom: u32, slopes: u32) -> [[f64; 2]; 2] {
    let count = scores.len() as f64;
    let mut sum = [[0.0; 2]; 2];
    for frequency in 1..=freedom + slopes {
        let mut weighted = [0.0; 2];
        for (place, score) in scores.iter().enumerate() {
            let angle = PI * f64::from(frequency) * (place as f64 + 0.5) / count;
            for index in [0, 1] {
                weighted[index] += angle.cos() * score[index];
            }
        }
        for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            sum[a][b] += 2.0 * weighted[a] * weighted[b] / f64::from(freedom);
        }
    }
    sum
}

/// Degrees of freedom of the variance in the long run, for so many points: ⌊0.4 n^(2/3)⌋.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded down, and small: two thirds of the digits of a length"
)]
fn freedom(points: usize) -> u32 {
    (0.4 * (points as f64).powf(2.0 / 3.0)).floor().max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use plimsoll_model::seed::Seed;
    use plimsoll_testkit::normal::standard_normal;

    use super::*;

    #[test]
    fn a_plane_without_noise_is_found() {
        let points: Vec<[f64; 3]> = (0..20_u32)
            .map(|index| {
                let (x, y) = (f64::from(index), f64::from(index * index % 7));
                [x, y, 5.0 + 2.0 * x - 3.0 * y]
            })
            .collect();
        let plane = plane_through(&points).unwrap();
        let [a, b] = plane.slopes.map(Option::unwrap);
        assert!(
            (a.value - 2.0).abs() < 1e-9 && (b.value + 3.0).abs() < 1e-9,
            "{plane:?}"
        );
        assert!(a.error < 1e-9 && (plane.height([10.0, 1.0]) - 22.0).abs() < 1e-9);
    }

    #[test]
    fn what_does_not_vary_has_no_slope() {
        let flat: Vec<[f64; 3]> = (0..9_u32).map(|x| [50.0, f64::from(x), 4.0]).collect();
        let plane = plane_through(&flat).unwrap();
        assert_eq!(plane.slopes[0], None);
        assert!(plane.slopes[1].unwrap().value.abs() < 1e-12);
        let same: Vec<[f64; 3]> = (0..9_u32)
            .map(|x| [f64::from(x), f64::from(2 * x), 1.0])
            .collect();
        assert_eq!(plane_through(&same), None);
        assert_eq!(plane_through(&flat[..3]), None);
        assert_eq!(plane_through(&[[1.0, 2.0, 3.0]; 9]), None);
    }

    /// The interval holds the true slope nearly as often as it claims, although each error is like the one before it
    /// (correlation 0.4): 380 of 400 times, less five standard errors and the bias of short series.
    #[test]
    fn intervals_hold_the_slope_where_neighbours_are_alike() {
        let mut random = Seed(7).generator();
        let mut held = [0; 2];
        for _ in 0..400 {
            let mut error = 0.0;
            let points: Vec<[f64; 3]> = (0..80_u32)
                .map(|index| {
                    error = 0.4 * error + standard_normal(&mut random);
                    let (x, t) = (f64::from(index / 8 * 5 % 7), f64::from(index));
                    [x, t, 3.0 + 2.0 * x + 0.5 * t + error]
                })
                .collect();
            let plane = plane_through(&points).unwrap();
            for (index, right) in [2.0, 0.5].into_iter().enumerate() {
                let (low, high) = plane.slopes[index].unwrap().interval(0.95);
                held[index] += u32::from((low..=high).contains(&right));
            }
        }
        assert!(
            held.iter().all(|&held| (358..=400).contains(&held)),
            "{held:?} of 400"
        );
    }
}
