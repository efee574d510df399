"""The market of expressions: each is lowered, and held against its dense meaning.

`MARKET` has them by name: the letters, the papers' equations as they are
printed, the same operators in disguise, and what a user may type beside them.
`FAMILIES` has the same in groups. `points_on` and `values_for` give points and
values of the free symbols on a machine.
"""

import numpy as np
from expressions_of_papers import FD1, FD3, FD4, INVERSE_DYNAMICS, WHITENING, a_g
from symbols import MEANT, A, L, N, k, m, x, y

import phipsi as pp
from phipsi.operators import (
    HH,
    B,
    C,
    D,
    Delta_phi,
    E,
    E_phi,
    E_psi,
    Gamma_delta,
    H,
    H_dot,
    HH_delta,
    HH_s,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    Omega,
    P,
    Q,
    R,
    S,
    S_q,
    T,
    U,
    V,
    X,
    Y,
    a,
    alpha,
    b,
    beta,
    beta_dot,
    blockdiag,
    c,
    cross,
    f,
    f0,
    gravity,
    operator,
    phi,
    phi_tilde,
    pose,
    psi,
    psi_tilde,
    tau_bar,
    vector,
)

F = operator("F", "point", "point")
W = operator("W", "coordinate", "coordinate")
s = vector("s", "coordinate")
O = operator("O", "base", "base")
w = vector("w", "base")
r = vector("r", "point")
Z = operator("Z", "pose", "pose")
p = vector("p", "pose")

whiten = WHITENING
colour = I + H @ phi @ K
FD = Mass.inv @ (T - C)
tip_force = K @ T + M @ phi.T @ a_g + b + B @ f0

# -- the papers, as they are printed -----------------------------------------------------

VECTORS_OF_THE_PAPERS = {
    "FD": FD,
    "FD1": FD1,
    "FD3": FD3,
    "FD4": FD4,
    "FD with a tip force": Mass.inv @ (T - C - J.T @ f0),
    "FD3 with a tip force": whiten.T @ D.inv @ (T - H @ psi @ tip_force),
    "FD of independent coordinates": (S_q.T @ Mass @ S_q).inv @ (S_q.T @ (T - C)),
    "ID": INVERSE_DYNAMICS,
    "ID by forces": H @ f + Jm @ beta_dot,
    "ID with a tip force": Mass @ beta_dot + C + J.T @ f0,
    "innovations": whiten @ T,
    "residuals": D.inv @ whiten @ (T - C),
    "diagonalized speeds": D.sqrt.T @ colour.T @ beta,
    "body accelerations": phi.T @ (H.T @ FD + a_g),
    "momentum": E.T @ phi @ M @ V,
    "speeds of points": X @ J @ beta,
    "classical accelerations of points": X @ (B.T @ alpha + c),
    "bias accelerations of points": X @ (B.T @ phi.T @ a + c),
    "forces of points": J.T @ X.T @ f0,
    "free accelerations of points": J @ FD + B.T @ phi.T @ a_g,
    "damped operational force": (J @ Mass.inv @ J.T + 0.1 * I).inv @ f0,
    "constrained accelerations": Mass.inv @ (T - J.T @ (J @ Mass.inv @ J.T + I).inv @ J @ FD),
}

SCALARS = {
    "kinetic energy": 0.5 * V.T @ M @ V,
    "kinetic energy by joints": 0.5 * beta.T @ Mass @ beta,
    "total energy": 0.5 * beta.T @ Mass @ beta + U,
    "power": T.T @ beta,
    "power of the base": w.T @ E.T @ phi @ M @ V,
    "power of points": f0.T @ J @ beta,
    "number times numbers": k * (m * (x.T @ x)),
    "ratio of energies": (V.T @ M @ V + m @ m).inv * (beta.T @ Jm @ beta),
    "length": (V.T @ V + x.T @ x).sqrt,
    "norm in point space": r.T @ r,
    "norm in coordinate space": s.T @ s,
    "norm in base space": w.T @ w,
    "Gauss' least constraint": (T - C).T @ Mass.inv @ (T - C),
    "blockdiag of a number": blockdiag(k) + 2 * k,
    "product of dot products": (x.T @ V) @ (y.T @ beta),
}

# -- the operators of the papers, as matrices ---------------------------------------------

MATRICES_OF_THE_PAPERS = {
    "Newton-Euler": H @ phi @ M @ phi.T @ H.T,
    "Newton-Euler with rotors": H @ phi @ M @ phi.T @ H.T + Jm,
    "innovations factorization": colour @ D @ colour.T,
    "whiten": whiten,
    "colour": colour,
    "whiten star": whiten.T,
    "inverse innovations factorization": whiten.T @ D.inv @ whiten,
    "Cholesky factor": colour @ D.sqrt,
    "inverse Cholesky factor": D.sqrt.inv @ whiten,
    "Lemma 4": whiten @ H @ phi,
    "Lemma 5": phi @ K @ H @ psi + psi,
    "Lemma 5 starred": psi.T @ H.T @ K.T @ phi.T,
    "phi M phi*": phi @ M @ phi.T,
    "psi M phi*": psi @ M @ phi.T,
    "psi M psi*": psi @ M @ psi.T,
    "phi M psi*": phi @ M @ psi.T,
    "composite decomposition": R + phi_tilde @ R + R @ phi_tilde.T,
    "articulated decomposition": P + phi_tilde @ P + P @ phi_tilde.T + phi @ K @ D @ K.T @ phi.T,
    "mixed decomposition": P + psi_tilde @ P + P @ phi_tilde.T,
    "Riccati": P - E_phi @ tau_bar @ P @ E_phi.T,
    "Riccati with psi": P - E_psi @ P @ E_psi.T,
    "E_phi M E_phi*": E_phi @ M @ E_phi.T,
    "E_phi M phi*": E_phi @ M @ phi.T,
    "phi M E_phi*": phi @ M @ E_phi.T,
    "K* Omega K": K.T @ Omega @ K,
    "Mass^-1 by Omega": D.inv - D.inv @ H @ psi @ K - (D.inv @ H @ psi @ K).T + K.T @ Omega @ K,
    "H Omega H*": H @ Omega @ H.T,
    "Omega by Y": blockdiag(Omega) - Y,
    "shift": S @ Delta_phi,
    "shift to the left": S.T @ E_phi,
}

AT_POINTS = {
    "J": J,
    "X J": X @ J,
    "J Mass^-1": J @ Mass.inv,
    "compliance": J @ Mass.inv @ J.T,
    "compliance in world axes": X @ J @ Mass.inv @ J.T @ X.T,
    "B* Omega B": B.T @ Omega @ B,
    "B* phi*": B.T @ phi.T,
    "psi B": psi @ B,
    "B* B": B.T @ B,
    "B B*": B @ B.T,
    "X": X,
    "points of one body": B.T @ A @ B,
    "F": F,
    "point identity": F + I,
    "J J*": J @ J.T,
    "J* J": J.T @ J,
    "J* F J": J.T @ F @ J,
    "F J": F @ J,
    "X F J Mass^-1": X @ F @ J @ Mass.inv,
    "B F": B @ F,
    "products of inverses": F @ (B.T @ Omega @ B + F).inv @ X.T,
    "scaled by a solution": (r.T @ (J @ Mass.inv @ J.T + I).inv @ r) * J,
    "blockdiag of J J*": blockdiag(J @ J.T),
    "blockdiag of points of one body": blockdiag(B.T @ B),
    "root at points": (F @ F.T).sqrt,
    "compliance and F": J @ Mass.inv @ J.T + F,
}

# -- inverses -----------------------------------------------------------------------------

INVERSES = {
    "Mass.inv": Mass.inv,
    "2 Mass": (2 * Mass).inv,
    "k Mass": (k * Mass).inv,
    "Newton-Euler inverse": (H @ phi @ M @ phi.T @ H.T + Jm).inv,
    "disguised by parentheses": (H @ (phi @ (M @ (H @ phi).T)) + Jm).inv,
    "disguised by a star": (H @ phi @ M @ (H @ phi).T + Jm).T.inv,
    "disguised by a scale": (0.5 * H @ phi @ (2 * M) @ phi.T @ H.T + Jm).inv,
    "disguised by halves": (
        H @ phi @ (0.5 * M) @ phi.T @ H.T + 0.5 * (H @ phi @ M @ phi.T @ H.T) + Jm
    ).inv,
    "disguised by innovations": (colour @ D @ colour.T).inv,
    "disguised by an inverse": ((I - E_phi).inv @ M @ (I - E_phi.T).inv).inv,
    "disguised by the shift": (
        H @ (I - S @ Delta_phi).inv @ M @ (I - S @ Delta_phi).inv.T @ H.T + Jm
    ).inv,
    "coordinates": (S_q.T @ Mass @ S_q).inv,
    "coordinates and back": S_q @ (S_q.T @ Mass @ S_q).inv @ S_q.T,
    "coordinates with W": (S_q.T @ Mass @ S_q + W).inv,
    "whiten.inv": whiten.inv,
    "colour.inv": colour.inv,
    "colour.T.inv": colour.T.inv,
    "(psi M phi*).inv": (psi @ M @ phi.T).inv,
    "phi.inv": phi.inv,
    "psi.inv": psi.inv,
    "psi.T.inv": psi.T.inv,
    "phi.inv.T": phi.inv.T,
    "own joint inertia": (Mass + N @ N.T).inv,
    "own body inertia": (H @ phi @ (M + A @ A.T) @ phi.T @ H.T + Jm).inv,
    "own hinges": (L @ phi @ A @ A.T @ phi.T @ L.T + N @ N.T).inv,
    "own hinges without joint inertia": (L @ phi @ A @ A.T @ phi.T @ L.T).inv,
    "own inertia, two cores": (
        H @ phi @ M @ phi.T @ H.T + H @ phi @ A @ A.T @ phi.T @ H.T + Jm
    ).inv,
    "bodies on springs": (phi @ M @ phi.T + A @ A.T).inv,
    "bodies on springs, two cores": (
        A @ phi @ A @ A.T @ phi.T @ A.T + A @ phi @ (M + I) @ phi.T @ A.T
    ).inv,
    "own propagator in the middle": (
        H @ (I - E_phi @ A).inv @ A @ A.T @ (I - E_phi @ A).inv.T @ H.T + Jm + N @ N.T
    ).inv,
    "compliance.inv": (J @ Mass.inv @ J.T + F).inv,
    "compliance.inv in world axes": (X @ (J @ Mass.inv @ J.T + F) @ X.T).inv,
    "F.inv": F.inv,
    "M.inv": (M + I).inv,
    "A.inv": A.inv,
    "N.inv": N.inv,
    "(A + A.T).inv": (A + A.T).inv,
    "(A @ M).inv": (A @ (M + I)).inv,
    "(H A H*).inv": (H @ A @ A.T @ H.T).inv,
    "(H A H*).inv of no symmetry": (H @ A @ H.T + N).inv,
    "D.inv": D.inv,
    "P.inv": P.inv,
    "R.inv": R.inv,
    "blockdiag.inv": blockdiag(H @ phi @ M @ phi.T @ H.T + Jm).inv,
    "blockdiag of no symmetry, inverted": (blockdiag(phi @ A @ psi.T) + I).inv,
    "cross.inv": (cross[x] + I).inv,
    "tau_bar.inv": (I + tau_bar).inv,
    "causal, half a step": (I - 0.5 * E_phi).inv,
    "causal, a step to the left": (I - A @ E_phi).inv,
    "causal, two steps": (I - E_phi - E_phi @ E_phi).inv,
    "causal, phi inside": (I + phi).inv,
    "causal, A on the diagonal": (A - E_phi).inv,
    "causal, phi + A": (phi + A).inv,
    "causal, phi A psi": (3 * I + phi @ A @ psi).inv,
    "causal of joints": (I + H @ phi @ L.T).inv,
    "causal of joints, strict": (N + H @ phi @ K).inv,
    "anticausal": (I - 0.5 * E_phi.T).inv,
    "anticausal, psi* + A": (psi.T + A).inv,
    "anticausal of joints": (N + K.T @ psi.T @ H.T).inv,
    "a recursion in a recursion": (I - E_phi @ (I + A) @ phi).inv,
    "an inverse in a recursion": (I - E_phi @ A.inv).inv,
    "shift.inv": (I - S).inv,
    "scalar.inv": k.inv * M,
    "2 k Mass and more": (2 * k * Mass + m * N @ N.T).inv,
    "own inertia, negative": (H @ phi @ (-M) @ phi.T @ H.T - Jm - N @ N.T).inv,
    "own stiffness at points": (Mass + J.T @ (F + F.T + 4 * I) @ J).inv,
    "points on bodies": (M + I + B @ F @ B.T).inv,
    "Mass N": (Mass @ N).inv,
    "N Mass N*": (N @ Mass @ N.T).inv,
    "causal, scaled by a number": (I - k * E_phi).inv,
    "causal, an inverse inside": (I + (A - E_phi).inv).inv,
    "causal, points": (M + I + E_phi + B @ F @ B.T).inv,
    "base": (E.T @ phi @ M @ phi.T @ E + I).inv,
    "base, own": O.inv,
    "pointwise": (X @ F @ F.T @ X.T).inv,
    "damped coordinates": (S_q.T @ Mass @ S_q + 0.1 * I).inv,
    "no symmetry by counting": (A + A + A.T).inv,
}
SINGULAR = {  # on every machine
    "strictly causal": E_phi.inv @ x,
    "strictly anticausal": phi_tilde.T.inv @ x,
    "compliance of too many points": (J @ Mass.inv @ J.T).inv @ f0,
    "projection": (I - H.T @ (H @ H.T).inv @ H).inv @ x,
    "difference": (A - A).inv @ x,
    "number": (k - k).inv,
    "square root of no symmetry": (I + cross[x]).sqrt,
    "square root of what is negative": (-(A @ A.T)).sqrt @ x,
    "square root of a negative number": (k - 3 * k).sqrt,
    "points of one body": (B.T @ B).inv,
}

VECTOR_OF = {"body": x, "joint": y, "point": r, "coordinate": s, "base": w}
APPLIED_INVERSES = {
    f"{name} @ vector": expression @ VECTOR_OF[expression.source.name]
    for name, expression in INVERSES.items()
}

# -- what else can be typed ---------------------------------------------------------------

OTHERS = {
    "phi psi x": phi @ psi @ x,
    "phi psi* x": phi @ psi.T @ x,
    "phi* psi A phi x": phi.T @ psi @ A @ phi @ x,
    "many sweeps": Omega @ phi @ M @ psi.T @ phi_tilde @ x,
    "sums of sweeps": (phi + psi + A) @ (M + P) @ (phi.T - 2 * psi.T) @ x,
    "one of everything": k * phi @ (A @ x + V) - m * psi @ K @ (N @ y + T) + L.T @ beta,
    "cancels": phi @ x - phi @ x,
    "cancels in part": phi @ x - phi @ x + psi @ x,
    "doubles": phi @ x + phi @ x + x + x,
    "zero times": 0 * phi @ x + H.T @ y,
    "thirds": (phi @ x) / 3 - x / 3,
    "scalars of vectors": (x.T @ V) * (phi @ x) + (V.T @ M @ V) @ (y.T @ y) * x,
    "vector times a scalar product": x @ (y.T @ beta),
    "vector and its multiple": x + x @ (y.T @ beta),
    "outer product applied": phi @ x @ (V.T @ psi @ x),
    "brackets": S[V] @ M @ V - cross[x] @ x + Q[b] @ phi.T @ x,
    "bracket of a sweep": S[phi @ x] @ psi.T @ x,
    "bracket of a bracket": cross[S[x] @ V] @ x,
    "gyroscopic force": S[V] @ M @ V - b,
    "Coriolis acceleration": cross[V] @ H.T @ beta + H_dot.T @ beta - a,
    "rate of the map": H_dot @ x,
    "motion of the base": phi.T @ E @ w,
    "base and gravity": E @ (w + gravity),
    "force on the base": E.T @ psi @ x,
    "base and back": E.T @ phi @ M @ phi.T @ E @ w,
    "base, apart": E.T @ (E @ w),
    "coordinates": S_q.T @ S_q @ s,
    "coordinates of joints": S_q.T @ H @ phi @ x,
    "joints of coordinates": phi.T @ H.T @ S_q @ s,
    "coordinates, own": W @ s,
    "coordinates, alone": s,
    "points, alone": r,
    "points, own": F @ r,
    "base, alone": w,
    "points, turned": X.T @ X @ r,
    "points, sums": r + 2 * f0 - B.T @ V,
    "points, through a body": B.T @ A @ B @ r,
    "points, back and forth": X @ B.T @ phi.T @ psi @ B @ X.T @ r,
    "letters of joints": HH(0) @ phi @ x + HH_s(0).T @ x - HH_delta(0) @ V,
    "derivative of Mass applied": (
        (H @ phi_tilde @ HH_delta(0) + Gamma_delta(0).T) @ phi @ M @ phi.T @ H.T @ y
    ),
    "shift": S @ x + S.T @ V + Delta_phi @ x - Delta_phi.T @ x,
    "blockdiag applied": blockdiag(phi @ M @ phi.T) @ x,
    "blockdiag of joints applied": blockdiag(colour @ D @ colour.T) @ y,
    "root applied": D.sqrt @ y,
    "root of a body applied": (M + I).sqrt.T @ x,
    "a user's own sum": (A + k * I + M) @ x,
    "a user's own product": (A @ M @ A.T @ L.T) @ y,
    "identity": I @ x + 2 * I @ x,
    "poses": Z @ pose + 2 * p - Z.inv @ p,
    "scaled by poses": (p.T @ pose) * x,
    "base, own": O.T @ w + O @ E.T @ x,
    "base, through the world": E @ O @ E.T @ phi @ x,
    "coordinates, there and back": S_q @ W @ S_q.T @ y,
    "coordinates, sums": s - 2 * (W @ s) + S_q.T @ y,
    "points, blocks": blockdiag(B.T @ A @ B) @ r,
    "points, own twice": F @ X @ r - X.T @ F.T @ r,
    "points, the user's own": B @ F @ B.T @ V,
    "blockdiag of an inverse applied": blockdiag((A - E_phi).inv) @ x,
    "number of a solution": (r.T @ (J @ Mass.inv @ J.T + I).inv @ r) * x,
}

MATRICES = {
    "E_phi A": E_phi @ A,
    "phi + phi*": phi + phi.T,
    "phi A psi": phi @ A @ psi,
    "phi A phi": phi @ A @ phi @ L.T,
    "phi A phi*": phi @ A @ phi.T,
    "phi* A phi": phi.T @ A @ phi,
    "phi* A psi": phi.T @ A @ psi,
    "phi* phi": phi.T @ phi,
    "phi phi*": phi @ phi.T,
    "psi* phi~": psi.T @ phi_tilde,
    "E_phi* E_phi": E_phi.T @ E_phi,
    "E_phi* phi": E_phi.T @ phi,
    "phi* E_phi": phi.T @ E_phi,
    "phi* E_phi E_phi": phi.T @ E_phi @ E_phi,
    "E_phi* E_phi* A E_phi": E_phi.T @ E_phi.T @ A @ E_phi,
    "phi~ R": phi_tilde @ R,
    "L phi M phi* L*": L @ phi @ M @ phi.T @ L.T,
    "H phi A psi* H*": H @ phi @ A @ psi.T @ H.T,
    "E_phi E_phi": E_phi @ E_phi,
    "E_phi E_phi A E_phi*": E_phi @ E_phi @ A @ E_phi.T,
    "E_phi A E_phi* E_phi*": E_phi @ A @ E_phi.T @ E_phi.T,
    "S phi": S @ phi,
    "S A S*": S @ A @ S.T,
    "S* A S": S.T @ A @ S,
    "S + E_phi": S + E_phi,
    "shift and step": (I - S).inv @ A @ phi.T,
    "shift outward": (I - S).inv.T @ A @ (I - S).inv,
    "two kinds of steps": (I - E_phi - A @ E_phi).inv @ M @ phi.T,
    "a block before a step, outward": (I - A @ E_phi).inv.T @ M @ (I - A @ E_phi).inv,
    "blockdiag of shifts": blockdiag(S.T @ A @ S),
    "(I - S) turned": (I - S).inv @ M @ (I - S).inv.T,
    "Mass Mass": Mass @ Mass,
    "Mass applied to Omega": phi @ M @ Omega,
    "identity of bodies": 2 * I.at(A.source) + A,
    "identity of joints": Jm + I,
    "coordinates": S_q.T @ S_q,
    "coordinates of Mass": S_q.T @ Mass @ S_q,
    "S_q": S_q,
    "Mass S_q": Mass @ S_q,
    "S_q* H phi": S_q.T @ H @ phi,
    "W": W + S_q.T @ N @ S_q,
    "base": E.T @ phi @ M @ phi.T @ E,
    "base of forces": E.T @ phi,
    "base of joints": H @ psi @ K @ H @ E,
    "base of momenta": E.T @ phi @ M @ phi.T @ H.T,
    "E E*": E @ E.T,
    "base, own": E.T @ A @ E,
    "outer product": b @ V.T,
    "outer product in the middle": phi @ x @ V.T @ phi.T,
    "symmetric outer product": x @ x.T + M,
    "outer product of joints": T @ beta.T,
    "outer product of bodies and joints": x @ y.T @ H,
    "outer product of points": f0 @ y.T,
    "outer product of coordinates": s @ s.T,
    "outer product with a number": k * (x @ y.T),
    "scaled by a number": k * phi + m * M,
    "scaled by an energy": (V.T @ M @ V) * Mass,
    "scaled inside": H @ (k * phi) @ (m * M) @ phi.T @ H.T,
    "negative": -Mass,
    "cancels": phi - phi,
    "cancels in part": phi - phi + psi,
    "zero": 0 * phi,
    "sum of everything": A + phi @ M @ phi.T - 2 * Omega + psi_tilde + E_phi.T,
    "products of sums": (phi + psi.T) @ (M + P) @ (I + phi.T),
    "bracket": S[V],
    "bracket in a product": S[V] @ M - M @ cross[V],
    "bracket between sweeps": phi @ S[V] @ phi.T,
    "Q": Q[b].T @ phi.T,
    "HH": HH(0),
    "HH_s": HH_s(0),
    "HH_delta in a product": phi_tilde @ HH_delta(0) @ phi,
    "Gamma_delta": Gamma_delta(0),
    "derivative of Mass": (
        (H @ phi_tilde @ HH_delta(0) + Gamma_delta(0).T) @ phi @ M @ phi.T @ H.T
        + ((H @ phi_tilde @ HH_delta(0) + Gamma_delta(0).T) @ phi @ M @ phi.T @ H.T).T
    ),
    "H_dot": H_dot,
    "rate of Mass, in part": H_dot @ phi @ M @ phi.T @ H.T,
    "blockdiag of phi M phi*": blockdiag(phi @ M @ phi.T),
    "blockdiag of Omega": blockdiag(Omega),
    "blockdiag of K* Omega K": blockdiag(K.T @ Omega @ K),
    "blockdiag of Mass": blockdiag(Mass),
    "blockdiag of Mass^-1": blockdiag(Mass.inv),
    "blockdiag of phi": blockdiag(phi),
    "blockdiag of E_phi": blockdiag(E_phi @ A),
    "blockdiag of E_phi M E_phi*": blockdiag(E_phi @ M @ E_phi.T),
    "blockdiag of E_phi* M E_phi": blockdiag(E_phi.T @ M @ E_phi),
    "blockdiag of E_psi* Y E_psi": blockdiag(E_psi.T @ Y @ E_psi),
    "blockdiag of phi* A psi": blockdiag(phi.T @ A @ psi),
    "blockdiag of phi* E_phi": blockdiag(phi.T @ E_phi),
    "blockdiag of E_phi* phi": blockdiag(E_phi.T @ phi),
    "blockdiag of phi~* M phi~": blockdiag(phi_tilde.T @ M @ phi_tilde),
    "blockdiag between spaces": blockdiag(H @ phi @ M @ phi.T),
    "blockdiag of an outer product": blockdiag(C @ (C + T).T) + blockdiag(H @ x @ beta.T),
    "outer product in a sum": phi @ (x @ V.T + A) @ phi @ M @ psi.T,
    "blockdiag of a sum": blockdiag(k * phi @ M @ phi.T - 2 * Omega + A),
    "blockdiag twice": blockdiag(blockdiag(phi @ M @ phi.T) @ psi),
    "blockdiag of an inverse": blockdiag((A - E_phi.T).inv @ phi.T @ L.T),
    "blockdiag of coordinates": blockdiag(S_q.T @ Mass @ S_q),
    "blockdiag inside": phi @ blockdiag(phi @ M @ phi.T) @ phi.T,
    "composite by blockdiag": R - blockdiag(E_phi @ R @ E_phi.T) - M,
    "D.sqrt": D.sqrt,
    "(M + I).sqrt": (M + I).sqrt,
    "(M + I).sqrt.T": (M + I).sqrt.T @ phi,
    "symmetric product of roots": (M + I).sqrt @ (M + I).sqrt.T,
}

FAMILIES = {
    "letters": MEANT,
    "starred letters": {f"{name}.T": letter.T for name, letter in MEANT.items()},
    "the user's own": {
        str(letter): letter for letter in (A, N, L, x, y, k, m, F, W, O, Z, s, w, r, p)
    },
    "vectors of the papers": VECTORS_OF_THE_PAPERS,
    "scalars": SCALARS,
    "matrices of the papers": MATRICES_OF_THE_PAPERS,
    "at points": AT_POINTS,
    "inverses": INVERSES,
    "inverses applied": APPLIED_INVERSES,
    "vectors": OTHERS,
    "matrices": MATRICES,
}
MARKET = {
    f"{family}: {name}": expression
    for family, members in FAMILIES.items()
    for name, expression in members.items()
}


def points_on(model):
    """Points on the last, the first and a middle body, the last twice, and on the world."""
    last, first, middle = (model.bodies[i].name for i in (-1, 0, len(model.bodies) // 2))
    return [
        pp.point(last, (0.1, -0.2, 0.3)),
        pp.point(first, (0.3, 0.2, 0.3)),
        pp.point(middle),
        pp.point(last, (-0.3, 0.1, 0.0)),
        pp.point("world", (1.0, 2.0, 3.0)),
    ]


def values_for(model, rng, points=5):
    """A value of every free symbol of the market; operators are near the identity."""
    bodies, speeds = len(model.bodies), [joint.kind.nv for joint in model.joints]

    def near_identity(n):
        return np.eye(n) + 0.2 * rng.normal(size=(n, n))

    return {
        "A": [near_identity(6) for _ in range(bodies)],
        "N": [near_identity(n) for n in speeds],
        "L": [rng.normal(size=(n, 6)) for n in speeds],
        "F": [near_identity(6) for _ in range(points)],
        "W": [near_identity(model.nv)],
        "O": [near_identity(6)],
        "Z": [near_identity(16) for _ in range(bodies)],
        "p": rng.normal(size=16 * bodies),
        "x": rng.normal(size=6 * bodies),
        "s": rng.normal(size=model.nv),
        "w": rng.normal(size=6),
        "r": rng.normal(size=6 * points),
        "f0": rng.normal(size=6 * points),
        **{name: rng.normal(size=sum(speeds)) for name in ("y", "T", "beta_dot")},
        "k": rng.uniform(0.5, 2.0),
        "m": rng.uniform(0.5, 2.0),
    }
