"""Energy over a long time: four integrators on the same tumbling chain.

python examples/05_energy_preserving.py

Implicit midpoint keeps the energy, whatever the step. Runge-Kutta is more
accurate for a while, and drifts. Dormand and Prince keep the error of every
step within a tolerance, and what is left adds up. Semi-implicit Euler is for
games and for short times.
"""

from time import perf_counter

import numpy as np

import phipsi as pp

chain = pp.chain(4)
q0 = chain.random(np.random.default_rng(1))
scale = np.ptp([pp.potential_energy(chain, q) for q in (q0, np.array([np.pi / 2, 0, 0, 0]))])

print(f"{chain}, 100 s from rest, {scale:.0f} J above its lowest state\n")
print("integrator    step       drift of energy    time")
runs = {}
for integrator, dt in (
    ("euler", 1e-3),
    ("rk4", 1e-3),
    ("rk4", 4e-3),
    ("midpoint", 1e-3),
    ("midpoint", 4e-3),
    ("dopri", 4e-3),
):
    pp.simulate(chain, q0, duration=dt, integrator=integrator, dt=dt)  # compiles
    start = perf_counter()
    motion = pp.simulate(chain, q0, duration=100.0, integrator=integrator, dt=dt)
    seconds = perf_counter() - start
    drift = np.abs(motion.energy - motion.energy[0]).max() / scale
    print(f"{integrator:10} {1e3 * dt:5.0f} ms       {drift:12.1e}    {seconds:6.2f} s")
    runs[integrator, dt] = motion

# Energy is not everything: such chains are chaotic, and soon no two runs agree.
one, other = (runs["rk4", dt] for dt in (1e-3, 4e-3))
apart = np.degrees(np.abs(one.q[::4] - other.q)).max(axis=1)
parted = other.times[np.argmax(apart > 1.0)]
print(f"\nrk4 with both steps agrees to a degree for {parted:.1f} s")

runs["midpoint", 4e-3].plot("energy", path="energy_preserving.png")
print("see energy_preserving.png: potential and kinetic energy trade, their sum stays")
