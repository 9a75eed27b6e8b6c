"""Measured facts: the certificate, drift, symplecticity, order of convergence."""

from taut.diagnose.certificate import Certificate, certify
from taut.diagnose.drift import Drift, drift_of
from taut.diagnose.verification import Verified, verify

__all__ = ["Certificate", "Drift", "Verified", "certify", "drift_of", "verify"]
