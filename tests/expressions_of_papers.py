"""Forward and inverse dynamics as the papers print them, corrected [004-I sections 4, 5]."""

from phipsi.operators import (
    C,
    D,
    E,
    G,
    H,
    I,
    K,
    M,
    Mass,
    P,
    T,
    a,
    b,
    beta_dot,
    gravity,
    phi,
    psi,
    psi_tilde,
    tau_bar,
)

a_g = a + E @ gravity
WHITENING = I - H @ psi @ K

INVERSE_DYNAMICS = Mass @ beta_dot + C  # [001 (23)]
FD1 = WHITENING.T @ D.inv @ WHITENING @ (T - H @ phi @ (M @ phi.T @ a_g + b))  # (4.17), (4.18)
NU_2 = D.inv @ WHITENING @ (T - H @ phi @ (M @ phi.T @ a_g + b))  # (5.5)
FD2 = NU_2 - K.T @ psi.T @ H.T @ NU_2  # (5.7)
FD3 = WHITENING.T @ D.inv @ (T - H @ psi @ (K @ T + M @ phi.T @ a_g + b))  # (5.8)-(5.10)
NU = D.inv @ (T - H @ (psi @ (K @ T + b) + psi_tilde @ P @ a_g))  # (5.14)
FD4 = WHITENING.T @ NU - K.T @ psi.T @ tau_bar.T @ a_g - G.T @ a_g  # (5.15)
