"""What comes of an implicit step."""

DONE, SLOW, HALF_TURN, NOT_FINITE, SINGULAR = range(5)
FAILURES = {
    SLOW: "Newton's method does not converge",
    HALF_TURN: "two neighbouring nodes are turned against each other by half a turn",
    NOT_FINITE: "a number is not finite",
    SINGULAR: "Newton's matrix is singular",
}
