"""[001] Rodriguez and Kreutz-Delgado, factorization and inversion of the mass matrix.

One test per printed result. The paper states them for serial arms of revolute
joints; they hold on any tree and forest, with joints of any kind and free
bases, and with rotor inertia where `Mass` and `D` carry Jm. Where that is not
so, the test says it. The paper's letters in ours: r is R, Phi is phi_tilde,
Psi is psi E_phi, theta_ddot is beta_dot. Gravity enters as the base's
acceleration: where the paper has a, here stands a + E gravity, `a_g`.
"""

from phipsi.operators import E_phi, phi_tilde, psi

Phi = phi_tilde
Psi = psi @ E_phi
