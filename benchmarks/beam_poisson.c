/* The Poisson integrator of Chen & Shi 2025, (53), (54) and (55) with the new velocities, for one
 * case only: a free beam of constant section, both end nodes of full weight, gamma = 0 beyond
 * both ends, D1 and D2 diagonal.  Written by hand to be as fast as C goes on one core; it is the
 * yardstick the compiled beams of taut are held against.
 *
 *     mu1 - mu       = dt (force(gamma) + [zeta', mu']*)             mu' = (mu + mu1)/2
 *     gamma1 - gamma = dt ((z_{j+1} - z_j)/ds + [gamma' + e2, z''])  gamma' = (gamma + gamma1)/2
 *     g1             = g cay(dt z)                                   z = D1^-1 mu1
 *
 * Units are such that dt = 4, ds = 2 and the mass per length is 1, which removes most factors, and
 * nodes carry velocities in place of momenta: zeta = (omega, v), and P = v.  The mass has no
 * direction (d1[3] = d1[4] = d1[5]), so that P x v = 0, and the velocities in the middle of the
 * step come one after the other:
 *
 *     omega' = b - (c1 omega2' omega3', c2 omega3' omega1', c3 omega1' omega2')   by sweeps
 *     v' + w x v' = b, w = 2 omega'                                               in closed form
 *
 * Lanes of a vector are neighbouring nodes, and one pass over the beam makes a whole step: edge
 * j + 1/2 is kept with node j, a block of nodes needs the old strains of its own edges and the last
 * of the block before, and its new velocities allow new strains in the block before.
 *
 * LANES is the number of doubles in a vector, 4 or 8: 8 with AVX-512, otherwise 4, unless given.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef __AVX__
#include <immintrin.h>
#endif

#ifndef LANES
#ifdef __AVX512F__
#define LANES 8
#else
#define LANES 4
#endif
#endif

typedef double vec __attribute__((vector_size(8 * LANES)));

enum { AHEAD = 4, SWEEP_LIMIT = 100 }; /* blocks to fetch ahead; sweeps that are too many */

/* LANES neighbouring nodes, the edges behind them, and the poses of the nodes. */
typedef struct {
    vec spin[3], pace[3]; /* zeta = (omega, v) */
    vec bend[3], slip[3]; /* gamma = (kappa, epsilon) */
    vec frame[3][3], place[3];
} Block;

/* What a block leaves to the next. */
typedef struct {
    vec after[6];           /* what its edges do to the nodes behind them */
    vec kinetic, potential; /* twice the energies so far, per length */
} Front;

typedef struct {
    double inertia[3], per_inertia[3], gyration[3]; /* J, 1/J, (c1, c2, c3) */
    double stiffness[6];
    vec still; /* a change of omega' after which the next is below round-off */
} Beam;

#define INLINE static inline __attribute__((always_inline))

/* Lanes moved by one: the last of a and those of b, or those of a and the first of b. */
#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef long long mask __attribute__((vector_size(8 * LANES)));
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (mask){__VA_ARGS__})
#endif
#if LANES == 8
#define FROM_LEFT(a, b) SHUFFLE(a, b, 7, 8, 9, 10, 11, 12, 13, 14)
#define FROM_RIGHT(a, b) SHUFFLE(a, b, 1, 2, 3, 4, 5, 6, 7, 8)
#else
#define FROM_LEFT(a, b) SHUFFLE(a, b, 3, 4, 5, 6)
#define FROM_RIGHT(a, b) SHUFFLE(a, b, 1, 2, 3, 4)
#endif

INLINE vec magnitude(vec a)
{
#if LANES == 8 && defined __AVX512F__
    return _mm512_abs_pd(a);
#elif LANES == 4 && defined __AVX__
    return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a);
#else
    for (int i = 0; i < LANES; i++)
        a[i] = fabs(a[i]);
    return a;
#endif
}

/* Whether a <= b fails in any lane, be it because a is not a number. */
INLINE int any_above(vec a, vec b)
{
#if LANES == 8 && defined __AVX512F__
    return _mm512_cmp_pd_mask(a, b, _CMP_NLE_UQ) != 0;
#elif LANES == 4 && defined __AVX__
    return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_NLE_UQ)) != 0;
#else
    int any = 0;
    for (int i = 0; i < LANES; i++)
        any |= !(a[i] <= b[i]);
    return any;
#endif
}

INLINE double sum(vec a)
{
    double total = 0;
    for (int i = 0; i < LANES; i++)
        total += a[i];
    return total;
}

INLINE vec dot(const vec a[3], const vec b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* (1 + |w|^2) x with x + w x x = b:  b - w x b + (w.b) w */
INLINE void unturn(const vec w[3], const vec b[3], vec x[3])
{
    const vec along = dot(w, b);
    x[0] = b[0] + along * w[0] - w[1] * b[2] + w[2] * b[1];
    x[1] = b[1] + along * w[1] - w[2] * b[0] + w[0] * b[2];
    x[2] = b[2] + along * w[2] - w[0] * b[1] + w[1] * b[0];
}

/* What the edges of a block do to the nodes before (+) and behind (-) them in half a step:
 * n -+ [gamma + e2, n]* with n = D2 gamma = (m, f),
 * [gamma + e2, n]* = (m x kappa + f x (epsilon + E2), f x kappa).  Returns gamma.n. */
INLINE vec stresses(const Beam *o, const Block *at, vec before[6], vec after[6])
{
    const vec *k = at->bend, *s = at->slip;
    vec m[3], f[3], a[6];
    for (int i = 0; i < 3; i++)
        m[i] = o->stiffness[i] * k[i], f[i] = o->stiffness[3 + i] * s[i];
    a[0] = m[1] * k[2] - m[2] * k[1] + f[1] * s[2] - f[2] * s[1] - f[2];
    a[1] = m[2] * k[0] - m[0] * k[2] + f[2] * s[0] - f[0] * s[2];
    a[2] = m[0] * k[1] - m[1] * k[0] + f[0] * s[1] - f[1] * s[0] + f[0];
    a[3] = f[1] * k[2] - f[2] * k[1];
    a[4] = f[2] * k[0] - f[0] * k[2];
    a[5] = f[0] * k[1] - f[1] * k[0];
    for (int i = 0; i < 3; i++) {
        before[i] = m[i] - a[i], before[3 + i] = f[i] - a[3 + i];
        after[i] = m[i] + a[i], after[3 + i] = f[i] + a[3 + i];
    }
    return dot(m, k) + dot(f, s);
}

/* omega' from b; returns the number of sweeps.  After a sweep the last equation holds, and the
 * others lack what omega2' and omega3' have changed behind them, times c omega': when this is
 * below 1e-15 omega', no sweep is needed any more. */
INLINE int swept(const Beam *o, const vec b[3], vec x[3])
{
    vec second = b[1], third = b[2];
    int sweeps = 0, more;
    x[0] = b[0], x[1] = b[1], x[2] = b[2];
    do {
        x[0] = b[0] - o->gyration[0] * x[1] * x[2];
        x[1] = b[1] - o->gyration[1] * x[2] * x[0];
        x[2] = b[2] - o->gyration[2] * x[0] * x[1];
        more = any_above(magnitude(x[1] - second) + magnitude(x[2] - third), o->still);
        second = x[1], third = x[2];
        sweeps++;
    } while (more && sweeps < SWEEP_LIMIT);
    return sweeps;
}

/* New poses of a block whose velocities are new.  With w = 2 omega and u = 2 v,
 * x += 2 R (u + w x u)/(1 + |w|^2) and R += R D, D = 2 (w^ + w^ w^)/(1 + |w|^2). */
INLINE void move(Block *at)
{
    vec w[3], u[3], t[3], d[3][3], x[3];
    for (int i = 0; i < 3; i++)
        w[i] = at->spin[i] + at->spin[i], u[i] = at->pace[i] + at->pace[i];
    const vec twice = 2.0 / (1.0 + dot(w, w));
    for (int i = 0; i < 3; i++)
        t[i] = twice * w[i];
    const vec square[3] = {t[0] * w[0], t[1] * w[1], t[2] * w[2]};
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        d[i][i] = -square[j] - square[k];
        d[i][j] = t[i] * w[j] - t[k];
        d[j][i] = t[i] * w[j] + t[k];
        x[i] = twice * u[i] + t[j] * u[k] - t[k] * u[j];
    }
    for (int i = 0; i < 3; i++) {
        vec *const row = at->frame[i], r[3] = {row[0], row[1], row[2]};
        at->place[i] += dot(r, x);
        for (int j = 0; j < 3; j++)
            row[j] = r[j] + r[0] * d[0][j] + r[1] * d[1][j] + r[2] * d[2][j];
    }
}

/* New velocities of a block; returns the sweeps made.  The poses of the block before move here,
 * when they fill the time in which the velocities wait for each other. */
INLINE int push(const Beam *o, Block *at, Front *front, int first, int watch)
{
    vec force[6], after[6], b[3], mid[3], w[3], x[3];
    const vec potential = stresses(o, at, force, after);
    for (int i = 0; i < 6; i++) {
        force[i] -= FROM_LEFT(front->after[i], after[i]);
        front->after[i] = after[i];
    }
    for (int i = 0; i < 3; i++)
        b[i] = at->spin[i] + o->per_inertia[i] * force[i];
    const int sweeps = swept(o, b, mid);

    if (!first)
        move(at - 1);

    for (int i = 0; i < 3; i++) {
        b[i] = at->pace[i] + force[3 + i];
        w[i] = mid[i] + mid[i];
    }
    unturn(w, b, x);
    const vec twice = 2.0 / (1.0 + dot(w, w));
    for (int i = 0; i < 3; i++) {
        at->spin[i] = w[i] - at->spin[i];
        at->pace[i] = twice * x[i] - at->pace[i];
        if (watch)
            front->kinetic += o->inertia[i] * at->spin[i] * at->spin[i] + at->pace[i] * at->pace[i];
    }
    if (watch)
        front->potential += potential;
    return sweeps;
}

/* New strains of a block whose velocities are new, and those of the next block. */
INLINE void strain(Block *at)
{
    vec turn[3], slide[3], known[6], k[3], s[3];
    for (int i = 0; i < 3; i++) {
        const vec right = FROM_RIGHT(at->spin[i], at[1].spin[i]);
        const vec ahead = FROM_RIGHT(at->pace[i], at[1].pace[i]);
        turn[i] = right + at->spin[i], slide[i] = ahead + at->pace[i];
        known[i] = at->bend[i] + (right - at->spin[i]);
        known[3 + i] = at->slip[i] + (ahead - at->pace[i]);
    }
    const vec per = 1.0 / (1.0 + dot(turn, turn));
    unturn(turn, known, k);
    for (int i = 0; i < 3; i++) {
        k[i] *= per;
        at->bend[i] = k[i] + (k[i] - at->bend[i]);
    }
    known[3] += k[1] * slide[2] - k[2] * slide[1] + turn[2]; /* kappa' x v and E2 x omega */
    known[4] += k[2] * slide[0] - k[0] * slide[2];
    known[5] += k[0] * slide[1] - k[1] * slide[0] - turn[0];
    unturn(turn, known + 3, s);
    for (int i = 0; i < 3; i++)
        at->slip[i] = (per + per) * s[i] - at->slip[i];
}

/* One step of `count` blocks, and what it adds to twice the energies if these are wanted: the
 * kinetic energy at its end, the potential energy at its start.  `keep` is 0 where the last block
 * has no edges.  Returns the sweeps, or -1 if the velocities of a node did not converge. */
INLINE long step(const Beam *o, Block *blocks, long count, vec keep, double *kinetic,
                 double *potential)
{
    Front front = {0};
    Block *const end = blocks + count - 1;
    long sweeps = 0;
    int most = 0;
    for (Block *at = blocks; at <= end; at++) {
        for (size_t i = 0; i < sizeof(Block); i += 64)
            __builtin_prefetch((char *)(at + AHEAD) + i, 1);
        const int made = push(o, at, &front, at == blocks, kinetic != NULL);
        if (at > blocks)
            strain(at - 1);
        sweeps += made;
        most = made > most ? made : most;
    }
    move(end);
    strain(end);
    for (int i = 0; i < 3; i++)
        end->bend[i] *= keep, end->slip[i] *= keep;
    if (kinetic)
        *kinetic = sum(front.kinetic), *potential = sum(front.potential);
    return most < SWEEP_LIMIT ? sweeps : -1;
}

/* Units of time, of length, and of mass per length. */
typedef struct {
    double time, length, mass;
} Units;

static Beam prepare(Units u, const double *d1, const double *d2)
{
    Beam o;
    const double square = u.length * u.length, pull = u.time * u.time / (u.mass * square);
    double most = 0;
    for (int i = 0; i < 3; i++) {
        const double apart = (d1[(i + 2) % 3] - d1[(i + 1) % 3]) / d1[i];
        o.inertia[i] = d1[i] / (u.mass * square), o.per_inertia[i] = 1.0 / o.inertia[i];
        o.gyration[i] = 2.0 * apart;
        o.stiffness[i] = d2[i] * pull / square, o.stiffness[3 + i] = d2[3 + i] * pull;
        most = fmax(most, fabs(o.gyration[i]));
    }
    o.still = (vec){0} + (most > 0 ? 1e-15 / most : INFINITY);
    return o;
}

/* a = b * unit, or b = a / unit where b is to be written. */
static void carry(double *a, double *b, double unit, int back)
{
    if (back)
        *a = *b * unit;
    else
        *b = *a / unit;
}

/* The state into blocks and units, or back out of them. */
static void pack(int nodes, Units u, const double *d1, double *mu, double *gamma, double *pose,
                 Block *blocks, int back)
{
    for (long j = 0; j < nodes; j++, mu += 6, gamma += 6, pose += 12) {
        double *const at = (double *)(blocks + j / LANES) + j % LANES;
        for (int c = 0; c < 3; c++) {
            carry(mu + c, at + LANES * c, d1[c] / u.time, back);
            carry(mu + 3 + c, at + LANES * (3 + c), u.mass * u.length / u.time, back);
            if (j < nodes - 1) {
                carry(gamma + c, at + LANES * (6 + c), 1.0 / u.length, back);
                carry(gamma + 3 + c, at + LANES * (9 + c), 1.0, back);
            }
            carry(pose + 9 + c, at + LANES * (21 + c), u.length, back);
        }
        for (int c = 0; c < 9; c++)
            carry(pose + c, at + LANES * (12 + c), 1.0, back);
    }
}

/* March `steps` steps of length dt, replacing mu (nodes x 6), gamma (nodes - 1 x 6) and pose
 * (nodes x 12: the frame row by row, then the position) by the last state.  energy[n], n = 0 to
 * `steps`, is the total energy of state n, ds (sum of mu.zeta/2 + sum of gamma.D2 gamma/2); NULL if
 * it is not wanted.  Returns the sweeps of all blocks, or -1 if a node did not converge. */
long run(int nodes, long steps, double dt, double ds, const double *d1, const double *d2,
         double *mu, double *gamma, double *pose, double *energy)
{
    const Units units = {0.25 * dt, 0.5 * ds, d1[3]};
    const Beam beam = prepare(units, d1, d2);
    const long count = (nodes + LANES - 1) / LANES;
    Block *const blocks = aligned_alloc(sizeof(vec), sizeof(Block) * (count + 1));
    if (!blocks)
        return -1;
    memset(blocks, 0, sizeof(Block) * (count + 1));
    pack(nodes, units, d1, mu, gamma, pose, blocks, 0);
    vec keep;
    for (int i = 0; i < LANES; i++)
        keep[i] = (count - 1) * LANES + i < nodes - 1;
    double kinetic = 0, potential = 0;
    for (int i = 0; i < 6 * nodes && energy; i++)
        kinetic += mu[i] * mu[i] / d1[i % 6];
    if (energy)
        energy[0] = 0.5 * ds * kinetic;

    const double speed = units.length / units.time;
    const double unit = 0.5 * ds * units.mass * speed * speed;
    long sweeps = 0;
    for (long n = 0; n < steps && sweeps >= 0; n++) {
        long made;
        if (energy) {
            made = step(&beam, blocks, count, keep, &kinetic, &potential);
            energy[n] += unit * potential, energy[n + 1] = unit * kinetic;
        } else
            made = step(&beam, blocks, count, keep, NULL, NULL);
        sweeps = made < 0 ? -1 : sweeps + made;
    }

    pack(nodes, units, d1, mu, gamma, pose, blocks, 1);
    free(blocks);
    for (int i = 0; i < 6 * (nodes - 1) && energy; i++)
        energy[steps] += 0.5 * ds * d2[i % 6] * gamma[i] * gamma[i];
    return sweeps;
}
