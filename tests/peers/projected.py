"""What the peers compute, as operator expressions in the independent coordinates.

Where joints follow others, all is projected by S_q; elsewhere S_q is the identity.
"""

from phipsi.operators import C, E, H, M, Mass, S_q, gravity, phi, vector

vdot, force = vector("vdot", "coordinate"), vector("force", "coordinate")

MASS = S_q.T @ Mass @ S_q
BIAS = S_q.T @ C
GRAVITY = S_q.T @ H @ phi @ M @ phi.T @ E @ gravity
INVERSE = S_q.T @ (Mass @ S_q @ vdot + C)
FORWARD = MASS.inv @ (force - BIAS)
