"""Measured facts: the certificate, drift, symplecticity, order of convergence."""

from taut.diagnose.certificate import Certificate, certify
from taut.diagnose.drift import Drift, drift_of

__all__ = ["Certificate", "Drift", "certify", "drift_of"]
